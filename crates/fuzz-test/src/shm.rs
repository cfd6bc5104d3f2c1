//! Fuzz targets for the shared memory of publishers: published files, definitions and callback messages.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;

use perfset_core::Status;
use perfset_derive::Counterset;
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Provider, Snapshot};
use perfset_shm::callback::{CallbackReply, MOST_REQUEST, RequestMessage};
use perfset_shm::definition::{decode, encode};
use perfset_shm::publish::{Counter64, Gauge, Publisher};
use perfset_shm::read::ApplicationProvider;
use perfset_shm::{Folders, layout};

use crate::input::InputBytes;

/// Checks that the definition of a published counterset keeps its counters and its instance type when it is decoded
/// and encoded again.
pub fn check_definition(input: &[u8]) {
    let Ok(set) = decode(input) else { return };
    assert!(set.counters.len() <= input.len() / 4);
    let again = decode(&encode(&set)).expect("it was read before");
    // Texts that were no Unicode are now.
    assert_eq!(decode(&encode(&again)).expect("it was read before"), again);
    let counters = |set: &perfset_core::Counterset| -> Vec<_> {
        set.counters.iter().map(|counter| (counter.id, counter.counter_type)).collect()
    };
    assert_eq!((counters(&set), set.instance_type), (counters(&again), again.instance_type));
}

/// Checks that a decoded callback request is encoded to the same bytes, except reserved ones.
pub fn check_request(packet: &[u8]) {
    let Ok(request) = RequestMessage::decode(packet) else { return };
    let again = request.encode();
    assert_eq!((&again[..4], &again[8..]), (&packet[..4], &packet[8..]));
    assert!(again.len() <= MOST_REQUEST);
    let _ = (request.entry(), request.machine().to_string());
}

/// Checks that a decoded callback reply survives encoding and decoding, and has no more values than its bytes can
/// hold. The input is packets, each after its length.
pub fn check_answer(input: &[u8]) {
    let (mut input, mut answer, mut bytes) =
        (InputBytes(input), CallbackReply::from(Status::ERROR_SUCCESS), 0);
    let mut has_more = true;
    while has_more && input.has_more() {
        let len = usize::from(input.u16()).min(input.0.len());
        let (packet, rest) = input.0.split_at(len);
        input = InputBytes(rest);
        bytes += len;
        let taken = answer.decode(packet);
        assert!(answer.values.len() <= bytes / 24);
        match taken {
            Ok(more) => has_more = more,
            Err(_) => return,
        }
    }
    let mut again = CallbackReply::from(Status::ERROR_SUCCESS);
    let packets: Vec<_> = answer.encode().collect();
    for (place, packet) in packets.iter().enumerate() {
        assert_eq!(again.decode(packet), Ok(place + 1 < packets.len()));
    }
    assert_eq!(again, answer);
}

/// Checks that a published file has the same instances and values mapped and copied, and no more values than its bytes
/// can hold.
pub fn check_file(input: &[u8]) {
    let place = OneFile::new();
    place.put(input);
    place.check(input.len());
}

/// Changes some words of a real published file while a reader has the file open.
pub fn check_mutated(input: &[u8]) {
    static REAL: OnceLock<Vec<u8>> = OnceLock::new();
    let place = OneFile::new();
    let real = REAL.get_or_init(real);
    place.put(real);
    let mut machine = place.machine();
    read(&mut machine);
    let mut input = InputBytes(input);
    let mut change = 1 << 20;
    while input.has_more() {
        // Header, table, definition and what comes first in the segments: there is nothing in the rest.
        let part = [0, layout::header::TABLE, 1024, 1536, 1600, 3000][input.below(6)];
        let at = (part + usize::from(input.byte())) * layout::WORD;
        let value = match input.below(4) {
            0 => u64::from(input.byte()),
            1 => u64::MAX - u64::from(input.byte()),
            2 => u64::from(input.u16()) << 12,
            _ => input.u64(),
        };
        place.file().write_all_at(&value.to_ne_bytes(), at as u64).expect("there is room");
        change += 2;
        let at = (layout::header::CHANGE * layout::WORD) as u64;
        place.file().write_all_at(&u64::to_ne_bytes(change), at).expect("there is room");
        read(&mut machine);
    }
    place.check(real.len());
}

/// Values of all published instances, sorted: instance name, instance id, counter id and raw value.
type Values = Vec<(String, Option<u32>, u32, Option<u64>)>;

/// Returns the values of all countersets of a machine, without missing ones.
fn read(machine: &mut Machine) -> Values {
    let mut all = Vec::new();
    for guid in machine.countersets() {
        let _ = machine.instances(&guid);
        let mut query = machine.query();
        let _ = query.add(&Entry::all(guid).instance("*"));
        let mut snapshot = Snapshot::default();
        if query.collect(&mut snapshot).is_ok() {
            all.extend(snapshot.values(None).filter_map(|value| {
                let raw = value.raw?.get();
                let id = value.instance_id.map(|id| id.0);
                Some((value.instance.to_string(), id, value.counter.id.0, Some(raw)))
            }));
        }
    }
    all.sort_unstable();
    all
}

/// Directory with one file that looks like the published file of a running program.
struct OneFile {
    folder: PathBuf,
    locked: File,
}

impl OneFile {
    fn new() -> &'static Self {
        static PLACE: OnceLock<OneFile> = OnceLock::new();
        PLACE.get_or_init(|| {
            let folder = PathBuf::from(format!("/dev/shm/perfset-fuzz-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder); // there is none, as a rule
            std::fs::create_dir(&folder).expect("a folder in memory");
            // SAFETY: the handler lives as long as the process.
            unsafe { libc::atexit(remove) };
            let options =
                File::options().read(true).write(true).create_new(true).open(folder.join("1-file.pfs"));
            let locked = options.expect("a file in memory");
            let whole = libc::flock {
                l_type: libc::F_WRLCK as libc::c_short,
                l_whence: libc::SEEK_SET as libc::c_short,
                l_start: 0,
                l_len: 1,
                l_pid: 0,
            };
            // SAFETY: the descriptor is open, and the lock a valid place.
            assert_eq!(unsafe { libc::fcntl(locked.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole) }, 0);
            OneFile { folder, locked }
        })
    }

    fn file(&self) -> &File {
        &self.locked
    }

    /// Replaces the published file while no reader has it mapped.
    fn put(&self, bytes: &[u8]) {
        self.locked.set_len(0).expect("it is ours");
        self.locked.write_all_at(bytes, 0).expect("there is room");
        self.mode(0o600);
    }

    fn mode(&self, mode: u32) {
        self.locked.set_permissions(PermissionsExt::from_mode(mode)).expect("it is ours");
    }

    fn applications(&self) -> ApplicationProvider {
        ApplicationProvider::new(&Folders::only(&self.folder), false, Box::new(|| None))
    }

    fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(FixedClock::default()));
        machine.register(Box::new(self.applications()));
        machine
    }

    fn check(&self, len: usize) {
        self.mode(0o600);
        let mapped = read(&mut self.machine());
        self.mode(0o660);
        let copied = read(&mut self.machine());
        assert!(mapped.len() <= len / layout::WORD, "{} values in {len} bytes", mapped.len());
        // Names of what is copied begin with the user and a slash. Those without a name may be of a counterset with one
        // instance: the first is used, and which one that is depends on the way.
        let bare = |name: &str| name.split_once('/').map_or("", |(_, name)| name).to_owned();
        let copied = copied.into_iter().map(|(name, id, counter, value)| (bare(&name), id, counter, value));
        let named = |all: Values| {
            let mut all: Values = all.into_iter().filter(|(name, ..)| !name.is_empty()).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(named(mapped), named(copied.collect()));
        let mut applications = self.applications();
        let _ = applications.catalogue();
        // One file: at most ten lines of its damage, however many entries its table has. A counterset that is left out
        // has a line of its own.
        let problems = applications.problems();
        let damage: Vec<_> = problems.iter().filter(|problem| !problem.contains(": counterset ")).collect();
        assert!(damage.len() <= 10, "{damage:#?}");
    }
}

extern "C" fn remove() {
    let _ = std::fs::remove_dir_all(&OneFile::new().folder); // a folder that stays is no finding
}

#[derive(Counterset, Debug)]
#[counterset(crate = perfset_shm, provider = "Fuzz", name = "Fuzz Rows", instances = "multiple", stripes = 2)]
struct Many {
    #[counter(name = "Events/sec")]
    events: Counter64,
    #[counter(name = "Level")]
    level: Gauge,
}

#[derive(Counterset, Debug)]
#[counterset(crate = perfset_shm, provider = "Fuzz", name = "Fuzz Single")]
struct SingleCounter {
    #[counter(name = "Level")]
    level: Gauge,
}

/// Returns the published file of a program with `Many` and `SingleCounter`, without the words that identify its
/// process.
fn real() -> Vec<u8> {
    use layout::header;

    let folder = PathBuf::from(format!("/dev/shm/perfset-fuzz-real-{}", std::process::id()));
    let publisher = Publisher::in_folders(Folders::only(&folder));
    let many = ["a", "b", "c"].map(|name| publisher.instance::<Many>(name));
    let single = publisher.instance::<SingleCounter>("");
    for instance in &many {
        instance.events.add(7);
        instance.level.set(11);
    }
    single.level.set(13);
    let mut bytes = std::fs::read(publisher.path().expect("it is in memory")).expect("it is there");
    let _ = std::fs::remove_dir_all(&folder);
    for word in [header::PID_NAMESPACE, header::START_TIME, header::BOOT_ID, header::BOOT_ID + 1] {
        bytes[word * layout::WORD..][..layout::WORD].fill(0);
    }
    bytes
}
