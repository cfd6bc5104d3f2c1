//! Tests of publishers and readers together.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use perfset_core::{CounterId, Guid, Owner};
use perfset_derive::Counterset;
use perfset_engine::testing::FixedClock;
use perfset_engine::{Deadline, Entry, Machine, Query, Snapshot};

use crate::folder::Folders;
use crate::publish::{
    Average, AverageTimer, BusyTimer, Counter32, Counter64, Counterset, ElapsedTime, Fraction, Gauge,
    Gauge32, Publisher, Ratio,
};
use crate::read::ApplicationProvider;

mod versions;

/// One of each kind.
#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Kinds", instances = "multiple")]
pub(crate) struct Kinds {
    /// Events.
    #[counter(name = "Events/sec", unit = "/s")]
    events: Counter64,
    /// Events in
    /// 32 bits.
    ///
    /// Second paragraph.
    #[counter(name = "Small/sec", detail = "advanced", scale = -3)]
    small: Counter32,
    #[counter(name = "Level")]
    level: Gauge,
    #[counter(name = "Small Level", attributes = "displayAsHex", type = "perf_counter_rawcount_hex")]
    small_level: Gauge32,
    #[counter(name = "Latency")]
    latency: AverageTimer,
    #[counter(name = "Size")]
    size: Average,
    #[counter(name = "% Hits")]
    hits: Ratio,
    #[counter(name = "% Full", id = 40, base_id = 50)]
    full: Fraction,
    #[counter(name = "% Busy")]
    busy: BusyTimer,
    #[counter(name = "Age")]
    #[expect(dead_code, reason = "it goes by itself")]
    age: ElapsedTime,
}

/// Counterset of a test whose instances have rows for threads.
#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Stripes", instances = "multiple", stripes = 4)]
pub(crate) struct Striped {
    #[counter(name = "Events/sec")]
    pub events: Counter64,
    #[counter(name = "Latency")]
    pub latency: AverageTimer,
    #[counter(name = "Level")]
    pub level: Gauge,
}

#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Single")]
struct Single {
    #[counter(name = "Level")]
    level: Gauge,
}

/// Deadline that no test reaches, so that no result depends on the load of the machine.
const LONG: Duration = Duration::from_secs(60);

/// Publishers' directory of a test, which creates publishers and readers.
pub(crate) struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Self {
        // Where programs publish as a rule: in memory.
        let memory = Some(PathBuf::from("/dev/shm")).filter(|path| path.is_dir());
        let path = memory.unwrap_or_else(std::env::temp_dir);
        let path = path.join(format!("perfset-shm-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        Self(path)
    }

    /// Uses an existing directory as the publishers' directory of a test.
    pub fn of(path: &std::path::Path) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    pub fn publisher(&self) -> Publisher {
        let publisher = Publisher::in_folders(Folders::only(&self.0));
        assert_eq!(publisher.problem(), None);
        publisher
    }

    pub fn machine(&self) -> Machine {
        self.machine_within(LONG)
    }

    pub fn applications(&self) -> ApplicationProvider {
        ApplicationProvider::new(&Folders::only(&self.0), false, Box::new(|| None))
            .within(&Deadline::new(LONG))
    }

    /// Returns a machine that waits for publishers up to this deadline.
    pub fn machine_within(&self, deadline: Duration) -> Machine {
        let machine = Machine::bare(Box::new(FixedClock::default()));
        machine.set_deadline(deadline);
        let applications = self.applications().within(&Deadline::new(deadline));
        machine.register(Box::new(applications));
        machine
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn query(machine: &Machine, guid: Guid) -> Query {
    let mut query = machine.query();
    assert_eq!(query.add(&Entry::all(guid).instance("*")).0, 0);
    query
}

/// Collects, and returns instance, counter and raw value of each cell.
pub(crate) fn raw(query: &mut Query) -> Vec<(String, u32, Option<u64>)> {
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let value = |value: perfset_engine::Value<'_>| {
        (value.instance.to_string(), value.counter.id.0, value.raw.map(perfset_core::RawValue::get))
    };
    snapshot.values(None).map(value).collect()
}

#[test]
fn all_kinds_of_counters() {
    let place = Place::new("kinds");
    let publisher = place.publisher();
    let machine = place.machine();
    let instance = publisher.instance::<Kinds>("a");
    instance.events.add(5);
    instance.events.increment();
    instance.events.mine().add(1);
    instance.small.add(u64::from(u32::MAX));
    instance.small.add(3);
    instance.level.set(10);
    instance.level.sub(1);
    let entered = (instance.level.enter(), instance.level.enter());
    instance.small_level.set(0xABCD);
    instance.latency.record(Duration::from_micros(3));
    instance.latency.record(Duration::from_micros(4));
    instance.latency.start().cancel();
    instance.size.record(100);
    instance.hits.record(true);
    instance.hits.record(false);
    instance.full.set(3, 4);
    instance.busy.record(Duration::from_nanos(1_299));
    assert_eq!((instance.events.get(), instance.latency.get()), (7, (2, Duration::from_micros(7))));

    let mut query = query(&machine, Kinds::GUID);
    let values = raw(&mut query);
    let values: Vec<_> = values.iter().map(|(_, id, value)| (*id, value.unwrap())).collect();
    let (age, rest) = values.split_last().unwrap();
    let expected = [
        (1, 7),
        (2, 2),
        (3, 11),
        (4, 0xABCD),
        (5, 7000),
        (6, 2),
        (7, 100),
        (8, 1),
        (9, 1),
        (10, 2),
        (40, 3),
        (50, 4),
    ];
    assert_eq!(rest[..12], expected);
    assert_eq!(rest[12..], [(51, 12)]);
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() / 100;
    let now = u64::try_from(since_1970).unwrap() + 116_444_736_000_000_000;
    assert_eq!(age.0, 52);
    assert!(age.1 <= now && age.1 + 100_000_000 > now, "{} at {now}", age.1);
    drop(entered);
    assert_eq!(raw(&mut query)[2], ("a".into(), 3, Some(9)));
}

#[test]
fn macro_definition_is_registered_unchanged() {
    let place = Place::new("registered");
    let publisher = place.publisher();
    publisher.register::<Kinds>();
    let machine = place.machine();
    let set = machine.counterset(&Kinds::GUID).unwrap();
    assert_eq!(&*set, &**Kinds::definition().counterset());
    assert_eq!((&*set.name, &*set.help, &*set.provider.name), ("Test Kinds", "One of each kind.", "Test"));
    let counter = set.counter(CounterId(2)).unwrap();
    assert_eq!(&*counter.help, "Events in 32 bits.\nSecond paragraph.");
    assert_eq!((counter.default_scale, counter.detail.0), (-3, 200));
    assert_eq!(set.counter(CounterId(40)).unwrap().base, Some(CounterId(50)));
    assert_eq!(set.counter(CounterId(5)).unwrap().base, Some(CounterId(6)));
    assert!(machine.instances(&Kinds::GUID).is_err(), "it has none yet");
    // Version 5 of the counterset's name in the provider's GUID, which is version 5 of its name in the project's.
    assert_eq!(Kinds::GUID.to_u128() >> 76 & 0xF, 5);
    assert_ne!(Kinds::GUID, Striped::GUID);
}

#[test]
fn instances_come_and_go() {
    let place = Place::new("come-and-go");
    let publisher = place.publisher();
    let machine = place.machine();
    let names = || -> Vec<String> {
        machine.instances(&Kinds::GUID).unwrap_or_default().iter().map(|i| i.name.to_string()).collect()
    };
    let a = publisher.instance::<Kinds>("a");
    let b = publisher.instance::<Kinds>("b");
    assert_eq!(names(), ["a", "b"]);
    let again = publisher.instance::<Kinds>("a");
    a.events.add(1);
    assert_eq!(again.events.get(), 1, "it is the same one");
    drop(a);
    assert_eq!(names(), ["a", "b"], "somebody still holds it");
    drop(again);
    assert_eq!(names(), ["b"]);
    let a = publisher.instance::<Kinds>("a");
    assert_eq!(a.events.get(), 0, "it is a new one");
    assert_eq!(names(), ["b", "a"], "in the order in which they were made");
    let long = "x".repeat(2000);
    let long = publisher.instance::<Kinds>(&long);
    assert_eq!(names()[2], "x".repeat(1023));
    let cut = publisher.instance::<Kinds>("cut\0here");
    assert_eq!(names()[3], "cut");
    drop((b, long, cut));
    assert_eq!(names(), ["a"]);
}

#[test]
fn an_instance_that_took_the_place_of_another_is_another() {
    let place = Place::new("births");
    let publisher = place.publisher();
    publisher.register::<Kinds>();
    let machine = place.machine();
    let mut query = query(&machine, Kinds::GUID);
    let mut births = std::collections::HashSet::new();
    for _ in 0..5 {
        let _a = publisher.instance::<Kinds>("a");
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        births.insert(snapshot.annex()[0].birth(0).unwrap());
        let pid = std::process::id();
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(snapshot.annex()[0].owner(0), Owner::Process { pid, user });
    }
    assert_eq!(births.len(), 5);
}

/// Counterset of a test for totals of counts.
#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Totals", instances = "multipleAggregate")]
struct Summed {
    /// Number of events that the test counted.
    #[counter(name = "Events/sec", unit = "/s")]
    events: Counter64,
}

/// Clock of this machine, in ns.
struct Monotonic;

impl perfset_engine::Clock for Monotonic {
    fn read(&mut self) -> perfset_core::clock::ClockReading {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let perf_time = now.tv_sec * 1_000_000_000 + now.tv_nsec;
        let time_100ns = perfset_core::clock::UNIX_EPOCH_100NS + perf_time / 100;
        let system_time = perfset_core::clock::SystemTime::from_100ns(time_100ns);
        perfset_core::clock::ClockReading { perf_time, time_100ns, perf_freq: 1_000_000_000, system_time }
    }
}

/// Checks that a total adds counts of new instances, keeps counts of ended ones, and adds no count twice after a
/// program was unreadable.
#[test]
fn totals_of_instances_that_come_and_go() {
    let place = Place::new("totals");
    let machine = Machine::bare(Box::new(Monotonic));
    machine.register(Box::new(place.applications()));
    let publisher = place.publisher();
    let a = publisher.instance::<Summed>("a");
    a.events.add(5);
    let mut query = machine.query();
    assert!(query.add(&Entry::all(Summed::GUID).instance("_Total")).is_success());
    let mut total = || {
        // Longer than what times are taken for the same by.
        std::thread::sleep(std::time::Duration::from_millis(60));
        raw(&mut query).first().and_then(|(_, _, value)| *value)
    };
    assert_eq!(total(), Some(5));
    let b = publisher.instance::<Summed>("b");
    b.events.add(7);
    assert_eq!(total(), Some(12), "another began");
    drop(a);
    assert_eq!(total(), Some(12), "one ended");
    let other = place.publisher();
    let c = other.instance::<Summed>("c");
    c.events.add(9);
    assert_eq!(total(), Some(21), "another program began");
    let a = publisher.instance::<Summed>("a");
    a.events.add(1);
    assert_eq!(total(), Some(22), "one of the same name");

    let files: Vec<_> = std::fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    let away = place.0.with_extension("away");
    std::fs::create_dir(&away).unwrap();
    let hidden = |file: &std::path::PathBuf| away.join(file.file_name().unwrap());
    let (first, rest) = files.split_first().unwrap();
    assert_eq!(rest.len(), 1);
    std::fs::rename(first, hidden(first)).unwrap();
    assert_eq!(total(), Some(22), "one program cannot be read");
    std::fs::rename(hidden(first), first).unwrap();
    assert_eq!(total(), Some(22), "and can again");
    b.events.add(1);
    c.events.add(1);
    assert_eq!(total(), Some(24));
    std::fs::remove_dir(&away).unwrap();
}

#[test]
fn many_instances_over_several_segments() {
    let place = Place::new("many");
    let publisher = place.publisher();
    publisher.register::<Kinds>();
    let machine = place.machine();
    let mut query = query(&machine, Kinds::GUID);
    let mut all: Vec<_> = (0..3000).map(|n| publisher.instance::<Kinds>(&format!("instance {n}"))).collect();
    for (n, instance) in all.iter().enumerate() {
        instance.level.set(u64::try_from(n).unwrap());
    }
    let levels = |query: &mut Query| -> Vec<_> {
        raw(query)
            .into_iter()
            .filter(|(_, id, _)| *id == 3)
            .map(|(name, _, level)| (name, level.unwrap()))
            .collect()
    };
    let expected: Vec<_> = (0..3000).map(|n| (format!("instance {n}"), n)).collect();
    assert_eq!(levels(&mut query), expected);
    all.retain(|instance| instance.level.get() % 3 == 0);
    let expected: Vec<_> = (0..3000).step_by(3).map(|n| (format!("instance {n}"), n)).collect();
    assert_eq!(levels(&mut query), expected);
    let more: Vec<_> = (0..2500).map(|n| publisher.instance::<Kinds>(&format!("more {n}"))).collect();
    let found = levels(&mut query);
    assert_eq!(found[..1000], expected);
    let expected: Vec<_> = (0..2500).map(|n| (format!("more {n}"), 0)).collect();
    assert_eq!(found[1000..], expected);
    drop(more);
}

#[test]
fn threads_add_to_rows_of_their_own() {
    let place = Place::new("stripes");
    let publisher = place.publisher();
    let machine = place.machine();
    let instance = publisher.instance::<Striped>("a");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mine = instance.events.mine();
                for _ in 0..10_000 {
                    instance.events.increment();
                    mine.add(2);
                    instance.latency.record(Duration::from_nanos(5));
                    instance.level.add(1);
                }
            });
        }
    });
    let values: Vec<_> =
        raw(&mut query(&machine, Striped::GUID)).into_iter().map(|(.., value)| value.unwrap()).collect();
    assert_eq!(values, [480_000, 800_000, 160_000, 160_000]);
    assert_eq!(instance.events.get(), 480_000);
}

#[test]
fn a_publisher_that_is_gone_leaves_nothing() {
    let place = Place::new("gone");
    let files = || std::fs::read_dir(place.path()).unwrap().count();
    let machine = place.machine();
    let publisher = place.publisher();
    let instance = publisher.instance::<Kinds>("a");
    assert_eq!((files(), machine.countersets().len()), (1, 1));
    drop(publisher);
    assert_eq!(files(), 1, "its instance lives");
    drop(instance);
    assert_eq!((files(), machine.countersets().len()), (0, 0));
}

/// Checks that an ended publisher has no mapping of its file left, because any mapping would keep the file's space in
/// use.
#[test]
fn a_publisher_that_is_gone_gives_its_space_back() {
    let place = Place::new("space");
    let publisher = place.publisher();
    let inode = std::fs::metadata(publisher.path().unwrap()).unwrap().ino();
    let instance = publisher.instance::<Kinds>("a");
    let of_file = |line: &&str| line.contains(" rw-s ") && line.contains(&format!(" {inode} "));
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(of_file).count();
    assert!(mapped() > 0);
    drop((instance, publisher));
    assert_eq!(mapped(), 0);
}

#[test]
fn several_publishers_of_one_counterset() {
    let place = Place::new("several");
    let machine = place.machine();
    let (one, other) = (place.publisher(), place.publisher());
    let _a = (one.instance::<Kinds>("a"), one.instance::<Single>(""));
    let _b = (other.instance::<Kinds>("a"), other.instance::<Kinds>("b"), other.instance::<Single>(""));
    let names: Vec<_> = machine.instances(&Kinds::GUID).unwrap().iter().map(|i| i.name.to_string()).collect();
    assert_eq!(names, ["a", "a", "b"]);
    assert_eq!(machine.instances(&Single::GUID).unwrap().len(), 1, "the first one's");
    _b.2.level.set(9);
    _a.1.level.set(8);
    assert_eq!(raw(&mut query(&machine, Single::GUID))[0].2, Some(8));
}

#[test]
fn a_program_without_the_single_instance_hides_nobodys() {
    let place = Place::new("single");
    let machine = place.machine();
    let (one, other) = (place.publisher(), place.publisher());
    one.register::<Single>();
    let single = other.instance::<Single>("");
    single.level.set(9);
    assert_eq!(machine.instances(&Single::GUID).unwrap().len(), 1);
    let mut query = query(&machine, Single::GUID);
    assert_eq!(raw(&mut query)[0].2, Some(9));
    let first = one.instance::<Single>("");
    first.level.set(8);
    assert_eq!(raw(&mut query)[0].2, Some(8), "it started first");
}

#[test]
fn counters_count_where_nobody_can_see_them() {
    let nowhere = PathBuf::from("/nonexistent/perfset");
    let publisher = Publisher::in_folders(Folders::only(&nowhere));
    let instance = publisher.instance::<Striped>("a");
    instance.events.add(3);
    assert_eq!(instance.events.get(), 3);
    assert!(Arc::ptr_eq(Striped::definition().counterset(), Striped::definition().counterset()));
    let problem = publisher.problem().unwrap().to_string();
    assert!(problem.contains("/nonexistent/perfset") && problem.contains("No such file"), "{problem}");
}

#[test]
fn files_of_dead_programs_are_cleaned_up_by_the_next() {
    let place = Place::new("clean");
    let dead = place.path().join("1234-00000000deadbeef.pfs");
    std::fs::write(&dead, "whatever").unwrap();
    std::fs::write(place.path().join("readme.txt"), "not ours").unwrap();
    std::os::unix::fs::symlink("/dev/null", place.path().join("link.pfs")).unwrap();
    let first = place.publisher();
    let second = place.publisher();
    assert!(!dead.exists());
    assert!(first.path().unwrap().exists() && second.path().unwrap().exists());
    assert!(place.path().join("readme.txt").exists());
    assert!(place.path().join("link.pfs").symlink_metadata().is_ok(), "who knows whose that is");
}
