//! Tests of programs of several versions, and their registrations, as the command shows them.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use perfset::publish::{
    Average, AverageTimer, BusyTimer, Counter32, Counter64, Counterset, ElapsedTime, Folders, Fraction,
    Gauge, Gauge32, PublishError, PublishedInstance, Publisher, Ratio,
};

use crate::running::{outcome, perfset, scratch};

mod v1 {
    use super::*;

    /// Orders, by the shop that they come from.
    #[derive(Counterset)]
    #[counterset(provider = "Versions", name = "Versions Orders", instances = "multiple")]
    pub struct Orders {
        #[counter(name = "Orders/sec", id = 1)]
        pub taken: Counter64,
        #[expect(dead_code, reason = "it goes by itself")]
        #[counter(name = "Age", id = 2)]
        age: ElapsedTime,
    }
}

mod v2 {
    use super::*;

    /// Orders, by the shop that they come from.
    #[derive(Counterset)]
    #[counterset(provider = "Versions", name = "Versions Orders", instances = "multiple")]
    pub struct Orders {
        #[counter(name = "Orders/sec", id = 1)]
        pub taken: Counter64,
        #[expect(dead_code, reason = "it goes by itself")]
        #[counter(name = "Age", id = 2)]
        age: ElapsedTime,
        /// Orders that wait.
        #[counter(name = "Waiting", id = 3)]
        pub waiting: Gauge,
    }
}

/// Version of the counterset in which the id of a counter has another meaning.
mod other {
    use super::*;

    #[derive(Counterset)]
    #[counterset(provider = "Versions", name = "Versions Orders", instances = "multiple")]
    pub struct Orders {
        #[counter(name = "Orders/sec", id = 1)]
        pub taken: Gauge,
        #[counter(name = "Age", id = 2)]
        pub age: ElapsedTime,
    }
}

/// Counterset with one field of each kind.
#[derive(Counterset)]
#[counterset(provider = "Kinds", name = "Kinds of Fields", instances = "multiple")]
struct Kinds {
    #[counter(name = "Counter64/sec")]
    counter64: Counter64,
    #[counter(name = "Counter32/sec")]
    counter32: Counter32,
    #[counter(name = "Gauge")]
    gauge: Gauge,
    #[counter(name = "Gauge32")]
    gauge32: Gauge32,
    #[counter(name = "Average Timer")]
    average_timer: AverageTimer,
    #[counter(name = "Average")]
    average: Average,
    #[counter(name = "% Ratio")]
    ratio: Ratio,
    #[counter(name = "% Fraction")]
    fraction: Fraction,
    #[counter(name = "% Busy")]
    busy: BusyTimer,
    #[counter(name = "Elapsed Time")]
    elapsed: ElapsedTime,
}

/// Counterset of a program whose name looks like that of a built-in one.
#[derive(Counterset)]
#[counterset(provider = "Mallory", name = "Memory ")]
struct Pretender {
    #[counter(name = "Available Bytes")]
    available: Gauge,
}

/// Directories of a test: one for published counters and one for registrations.
struct Place {
    programs: PathBuf,
    data: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = scratch(&format!("versions-{name}"));
        Self { programs: folder.join("programs"), data: folder.join("data") }
    }

    fn publisher(&self) -> Publisher {
        let publisher = Publisher::in_folders(Folders::only(&self.programs));
        assert_eq!(publisher.problem(), None);
        publisher
    }

    /// Runs the command in the test's directories; returns exit code, standard output and standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = perfset("small-vm", args);
        let command = command.env("PERFSET_RUNTIME_DIR", &self.programs).env("XDG_DATA_HOME", &self.data);
        outcome(command.output().unwrap())
    }

    fn good(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!((code, &*err), (0, ""), "{args:?}: {out}");
        out
    }

    /// Exports the manifest of a counterset, checks it and installs it; returns its path.
    fn register(&self, counterset: &str) -> PathBuf {
        let manifest = self.data.with_extension("man");
        let file = manifest.display().to_string();
        self.good(&["manifest", "export", counterset, "-o", &file]);
        let checked = self.good(&["manifest", "check", &file]);
        assert!(checked.contains("1 counterset, "), "{checked}");
        let folder = self.data.join("perfset/providers");
        self.good(&["provider", "install", &file, "--dir", &folder.display().to_string()]);
        assert!(self.good(&["provider", "list"]).contains(counterset));
        manifest
    }

    fn raw(&self, path: &str) -> String {
        self.good(&["get", "--raw", "--format", "csv", path])
    }
}

/// Returns `true` if the output of `list` has a counterset with these numbers of instances and counters.
fn lists(out: &str, name: &str, instances: usize, counters: usize) -> bool {
    let line = out.lines().find(|line| line.starts_with(&format!("{name}  "))).unwrap_or_default();
    let words: Vec<_> = line[name.len().min(line.len())..].split_whitespace().take(2).collect();
    words == [instances.to_string(), counters.to_string()]
}

fn file_of(publisher: &Publisher) -> String {
    Path::new(&publisher.path().unwrap()).display().to_string()
}

#[test]
fn every_kind_of_field_is_there_when_it_is_registered() {
    let place = Place::new("kinds");
    let publisher = place.publisher();
    let instance: PublishedInstance<Kinds> = publisher.instance("a");
    instance.counter64.add(3);
    instance.counter32.add(5);
    instance.gauge.set(7);
    instance.gauge32.set(11);
    instance.average_timer.record(std::time::Duration::from_nanos(13));
    instance.average.record(17);
    instance.ratio.record(true);
    instance.fraction.set(19, 23);
    instance.busy.record(std::time::Duration::from_nanos(2900));
    instance.elapsed.set(std::time::UNIX_EPOCH);
    // Without the time of the sample, and without the age, which goes on.
    let values = || -> Vec<String> {
        let out = place.raw(r"\Kinds of Fields(*)\*");
        let shown = |line: &str| {
            let fields = line.split(',').enumerate();
            let is_age = line.contains(",Elapsed Time,");
            let kept = fields.filter(|(at, _)| *at != 0 && !(is_age && *at == 6)).map(|(_, field)| field);
            kept.collect::<Vec<_>>().join(",")
        };
        out.lines().map(shown).collect()
    };
    let before = values();
    assert_eq!(before.len(), 11, "{before:?}");
    assert!(lists(&place.good(&["list", "kinds"]), "Kinds of Fields", 1, 14));
    place.register("Kinds of Fields");
    let listed = place.good(&["list", "kinds"]);
    assert!(lists(&listed, "Kinds of Fields", 1, 14), "{listed}");
    assert_eq!(values(), before);
    assert!(before[10].contains(",Elapsed Time,ok,116444736000000000,"), "it is computed: {}", before[10]);
    assert_eq!(publisher.problem(), None);
}

#[test]
fn a_new_version_under_the_manifest_of_the_old_one_and_beside_it() {
    for by_old in [true, false] {
        let place = Place::new(&format!("new-{by_old}"));
        let old = place.publisher();
        let instance = old.instance::<v1::Orders>("old");
        instance.taken.add(3);
        place.register("Versions Orders");
        drop(instance);
        drop(old);
        assert!(lists(&place.good(&["list", "versions"]), "Versions Orders", 0, 4), "as it is registered");
        let [one, other] = [place.publisher(), place.publisher()];
        let (old, new) = if by_old { (one, other) } else { (other, one) };
        let new_one = new.instance::<v2::Orders>("new");
        new_one.taken.add(5);
        new_one.waiting.set(7);
        assert!(lists(&place.good(&["list", "versions"]), "Versions Orders", 1, 3), "alone");
        let old_one = old.instance::<v1::Orders>("old");
        old_one.taken.add(3);
        let listed = place.good(&["list", "versions"]);
        assert!(lists(&listed, "Versions Orders", 2, 3), "{listed}");
        let out = place.raw(r"\Versions Orders(*)\Orders/sec");
        assert!(out.contains("old") && out.contains(",3,") && out.contains(",5,"), "{out}");
        let json = place.good(&["get", "--raw", "--format", "json", r"\Versions Orders(*)\Waiting"]);
        let of = |name: &str| json.lines().find(|line| line.contains(&format!("\"{name}\""))).unwrap();
        assert!(of("new").contains("\"raw\":7"), "{json}");
        assert!(of("old").contains("\"status\":\"unavailable\""), "{json}");
        let table = place.good(&["get", "--raw", r"\Versions Orders(*)\Waiting"]);
        let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("Waiting of old: unavailable: ") && words.contains("has no such counter"),
            "{table}"
        );
        let (_, out, _) = place.run(&["doctor"]);
        assert!(!out.contains("warn  "), "{out}");
        assert_eq!((old.problem(), new.problem()), (None, None));
        drop((old_one, new_one));
    }
}

#[test]
fn conflicting_counter_alone_is_omitted_and_reported() {
    let place = Place::new("contradiction");
    let [one, two] = [place.publisher(), place.publisher()];
    let first = one.instance::<v1::Orders>("first");
    first.taken.add(3);
    let second = two.instance::<other::Orders>("second");
    second.taken.set(1_000_000);
    second.age.set(std::time::UNIX_EPOCH);
    let why = "counter 1 \"Orders/sec\" is left out: the program has it as PERF_COUNTER_LARGE_RAWCOUNT, and ";
    let (code, out, err) = place.run(&["list", "versions"]);
    assert!(code == 0 && lists(&out, "Versions Orders", 2, 2), "{out}");
    let says =
        |text: &str| text.contains(why) && text.contains(&file_of(&two)) && !text.contains(&file_of(&one));
    assert!(says(&err), "list: {err}");
    let (code, out, err) = place.run(&["get", "--raw", r"\Versions Orders(*)\Orders/sec"]);
    assert!(code == 0 && says(&err) && !out.contains("1,000,000"), "get: {out}{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the program has it as PERF_COUNTER_LARGE_RAWCOUNT, and "), "{out}");
    let (_, _, err) = place.run(&["get", r"\Memory\Available Bytes"]);
    assert_eq!(err, "", "of what is not asked nothing is said");
    let (_, out, _) = place.run(&["doctor"]);
    assert!(out.lines().any(|line| line.starts_with("warn  ") && says(line)), "doctor: {out}");
    assert_eq!(one.problem(), None);
    let Some(PublishError::LeftOut(part)) = two.problem() else { panic!("{:?}", two.problem()) };
    assert_eq!(part.counter.as_ref().map(|(id, name)| (id.0, &**name)), Some((1, "Orders/sec")));
    assert!(two.problem().unwrap().to_string().contains(why));
    assert!(two.status().to_string().contains(why) && one.status().problems.is_empty(), "{}", two.status());
    let (_, out, _) = place.run(&["get", "--raw", r"\Versions Orders(second)\Age"]);
    assert!(!out.contains(" - "), "its other counters are there: {out}");
    drop((first, second));
}

#[test]
fn a_name_that_looks_like_a_built_in_one() {
    let place = Place::new("pretender");
    let publisher = place.publisher();
    let pretender = publisher.instance::<Pretender>("");
    pretender.available.set(1);
    let (_, out, err) = place.run(&["list", "memory"]);
    let rows = out.lines().filter(|line| line.to_lowercase().starts_with("memory ")).count();
    assert_eq!(rows, 1, "{out}");
    assert!(err.contains("\"Memory \"") && err.contains("its name is that of "), "{err}");
    let (_, out, err) = place.run(&["get", "--raw", r"\Memory\Available Bytes"]);
    assert!(err.contains("\"Memory \"") && !out.contains(" 1\n"), "{out}{err}");
    let (_, out, _) = place.run(&["doctor"]);
    assert!(out.contains("\"Memory \"") && out.contains("its name is that of "), "{out}");
    let problem = publisher.problem().unwrap().to_string();
    assert!(problem.contains("its name is that of "), "{problem}");
}

/// Checks that a line of metrics has the value of the counter and instance that it names; what a program lacks has
/// none.
#[test]
fn metrics_of_two_versions() {
    let place = Place::new("metrics");
    let publishers = [place.publisher(), place.publisher(), place.publisher()];
    let old = publishers[0].instance::<v1::Orders>("old");
    old.taken.add(3);
    let new = publishers[1].instance::<v2::Orders>("new");
    new.taken.add(5);
    new.waiting.set(7);
    let strange = publishers[2].instance::<other::Orders>("strange");
    strange.taken.set(1_000_000);
    let file = place.programs.with_extension("paths");
    fs::write(&file, "/Versions Orders(*)/*\n").unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0", "--insecure", "--query", file.to_str().unwrap()];
    let mut command = perfset("small-vm", &args);
    command.env("PERFSET_RUNTIME_DIR", &place.programs).env("XDG_DATA_HOME", &place.data);
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address =
        lines.filter_map(|line| Some(line.strip_prefix("metrics  http://")?.to_owned())).next().unwrap();
    let mut stream = TcpStream::connect(address.split('/').next().unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let of = |metric: &str| -> Vec<(String, String)> {
        let begin = format!("{metric}{{");
        let lines = metrics.lines().filter(|line| line.starts_with(&begin));
        let name = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
        lines.map(|line| (name(line), line.rsplit(' ').next().unwrap().to_owned())).collect()
    };
    let is = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(of("perf_versions_orders_orders_total"), [is("old", "3"), is("new", "5")], "{metrics}");
    assert_eq!(of("perf_versions_orders_waiting"), [is("new", "7")], "{metrics}");
    assert!(!metrics.contains(" 1000000\n"), "{metrics}");
}
