//! Tests of captures: written and replayed, with hidden names, and damaged.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use perfset_core::v1::{Contents, DataBlock};
use perfset_core::{CounterFilter, NoValue, Status};
use perfset_engine::{Entry, Snapshot, SourceError};

use super::*;
use crate::emulated;
use crate::functions::FillResult;
use crate::tests::{Vista, rows, script, testdata};

/// Directory for the capture of one test, removed after it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("perfset-capture-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder); // of an earlier process of that number
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options(hide_instances: bool) -> CaptureOptions {
    CaptureOptions {
        by: "a test".into(),
        language: Language(0x0407),
        hide_instances,
        is_costly: false,
        pause: Duration::ZERO,
        deadline: Duration::from_secs(2),
    }
}

/// Captures the scripted machine, and a performance key with blocks of a real Windows.
fn captured(name: &str, hide_instances: bool) -> (Scratch, Captures) {
    captured_of(name, hide_instances, Arc::new(Arc::new(Vista::default())))
}

fn captured_of(name: &str, hide_instances: bool, key: Arc<dyn PerformanceKey>) -> (Scratch, Captures) {
    let scratch = Scratch::new(name);
    let (machine, scripts) = script();
    scripts[1].with(|script| script.rows.push(("Ünicode", 9, vec![Err(NoValue::Late); 4])));
    let functions: Arc<dyn PerfLib> = Arc::new(emulated::EmulatedPerfLib::new(machine));
    let captures = write(&scratch.0, &functions, &key, &options(hide_instances)).unwrap();
    (scratch, captures)
}

#[test]
fn capture_replays_the_same_data() {
    let (scratch, captures) = captured("replayed", false);
    let (machine, scripts) = script();
    scripts[1].with(|script| script.rows.push(("Ünicode", 9, vec![Err(NoValue::Late); 4])));
    // 3 sets: names and helps in three languages, 6 answers in one, instances; the list, the info, 2 samples, 2 blocks,
    // 4 tables of which 2 are not there.
    assert_eq!((captures.requests, captures.answered), (3 * (12 + 6 + 1) + 10, 3 * (12 + 6 + 1) + 8));
    let captured = CaptureReplay::open(&scratch.0).unwrap();
    assert_eq!(captured.by(), "a test");
    let replayed = captured.machine();
    assert_eq!(replayed.problems(), []);
    for guid in machine.countersets() {
        assert_eq!(replayed.instances(&guid), machine.instances(&guid));
        let without_reasons = |rows: Vec<String>| -> Vec<String> {
            rows.iter().map(|row| row.split(": ").next().unwrap().to_owned()).collect()
        };
        assert_eq!(without_reasons(rows(&replayed, guid, &[])), without_reasons(rows(&machine, guid, &[])));
    }
    let set = replayed.counterset(&machine.countersets()[1]).unwrap();
    assert_eq!(set.translations[0].name, "Many auf Deutsch");
    // The capture also has the V1 objects, without the name of the machine.
    assert_eq!(replayed.countersets().len(), 3 + 8);
    let v1 = fs::read(scratch.0.join(V1)).unwrap();
    let block = testdata("v1/windows-vista/object2-sample0.bin");
    let host = perfset_core::v1::DataBlock::parse(&block).unwrap().system_name().as_bytes();
    assert!(host.len() > 8 && !v1.windows(host.len()).any(|window| window == host));
    assert!(matches!(write_again(&scratch), Err(error) if error.kind() == io::ErrorKind::AlreadyExists));
}

fn write_again(scratch: &Scratch) -> io::Result<Captures> {
    let functions: Arc<dyn PerfLib> = Arc::new(emulated::EmulatedPerfLib::new(script().0));
    let key: Arc<dyn PerformanceKey> = Arc::new(Arc::new(Vista::default()));
    write(&scratch.0, &functions, &key, &options(false))
}

/// Checks that a replay returns the first captured sample and then the second, whatever was listed before, and also
/// after a time without requests. A counter that was not captured alone is returned alone.
#[test]
fn samples_follow_each_other() {
    let (scratch, _) = captured("samples", false);
    let replayed = CaptureReplay::open(&scratch.0).unwrap().machine();
    let guid = perfset_catalogue::process::GUID;
    for _ in 0..2 {
        assert!(replayed.instances(&guid).unwrap().len() > 40);
        let mut query = replayed.query();
        let mut one = Entry::all(guid).instance("*");
        one.counters = CounterFilter::One(perfset_catalogue::process::PERCENT_PROCESSOR_TIME).into();
        assert!(query.add(&one).is_success());
        let mut snapshots = [const { None }; 3];
        for snapshot in &mut snapshots {
            assert!(replayed.instances(&guid).unwrap().len() > 40);
            query.collect(snapshot.insert(Snapshot::default())).unwrap();
        }
        let [first, second, third] = snapshots.map(Option::unwrap);
        let time = |snapshot: &Snapshot| snapshot.annex()[0].clocks().unwrap().time_100ns;
        let of = |sample| {
            let block = testdata(&format!("v1/windows-vista/object230-sample{sample}.bin"));
            DataBlock::parse(&block).unwrap().clocks().time_100ns
        };
        assert!((time(&first), time(&second)) == (of(0), of(1)) && of(0) < of(1));
        assert_eq!(time(&third), time(&second), "there are two");
        let rates = second.values(Some(&first)).filter(|value| value.value.is_ok()).count();
        assert_eq!((first.values(None).count(), rates), (51, 50));
    }
}

/// Checks that a replay lists costly V1 objects with the other objects, and collects them from the block that has
/// them.
#[test]
fn costly_objects_are_replayed() {
    /// Performance key whose only object costs much: all other values are empty.
    #[derive(Debug)]
    struct Costly(Arc<Vista>);

    impl PerformanceKey for Costly {
        fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
            let is_global = name == "Global";
            let filled = self.0.query_value(if name == "Costly" { "638" } else { name }, value);
            if is_global {
                value[28..32].fill(0); // no objects
            }
            filled
        }

        fn close(&self) {}
    }

    let scratch = Scratch::new("costly");
    let functions: Arc<dyn PerfLib> = Arc::new(emulated::EmulatedPerfLib::new(script().0));
    let key: Arc<dyn PerformanceKey> = Arc::new(Costly(Arc::default()));
    write(&scratch.0, &functions, &key, &CaptureOptions { is_costly: true, ..options(false) }).unwrap();
    let replayed = CaptureReplay::open(&scratch.0).unwrap().machine();
    let guid = perfset_catalogue::tcpv4::GUID;
    let found = rows(&replayed, guid, &[]);
    assert!(found.len() == 9 && found.iter().all(|row| row.contains('=')), "{found:?}");
}

/// Checks that a capture of a replayed capture has the same responses as the first capture.
#[test]
fn a_capture_of_a_capture_has_the_same_answers() {
    let (first, captures) = captured("first", false);
    let second = Scratch::new("second");
    let (functions, key, language) = CaptureReplay::open(&first.0).unwrap().functions();
    let options = CaptureOptions { language, ..options(false) };
    assert_eq!(write(&second.0, &functions, &key, &options).unwrap(), captures);
    for file in [REGISTRATIONS, QUERY, V1] {
        assert!(fs::read(first.0.join(file)).unwrap() == fs::read(second.0.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn hidden_names_are_nowhere() {
    let (shown, captures) = captured("shown", false);
    let (hidden, of_hidden) = captured("hidden", true);
    assert_eq!(captures, of_hidden, "as long as before");
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let has = |folder: &Scratch, name: &str| {
        [QUERY, REGISTRATIONS, V1].iter().any(|file| {
            let bytes = fs::read(folder.0.join(file)).unwrap();
            bytes.windows(utf16(name).len()).any(|window| window == utf16(name))
        })
    };
    for name in ["svchost", "csrss", "Ünicode"] {
        assert!(has(&shown, name) && !has(&hidden, name), "{name}");
    }
    assert!(has(&hidden, "_Total"));
    let machines = [&shown, &hidden].map(|folder| CaptureReplay::open(&folder.0).unwrap().machine());
    let guid = machines[0].countersets()[1];
    let [shown, hidden] = machines.each_ref().map(|machine| machine.instances(&guid).unwrap());
    let about = |instances: &[perfset_core::Instance]| -> Vec<_> {
        instances.iter().map(|instance| (instance.id, instance.name.len())).collect()
    };
    assert_eq!(about(&shown), about(&hidden));
    assert_ne!(shown, hidden);
    // A name is the same wherever it stands: values are found by it.
    let names: Vec<String> = hidden.iter().map(|instance| instance.name.to_string()).collect();
    let found = rows(&machines[1], guid, &[]);
    assert!(
        names.iter().all(|name| found.iter().any(|row| row.starts_with(&format!("{name} ")))),
        "{found:?}"
    );
}

fn has(bytes: &[u8], text: &str) -> bool {
    let text: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.windows(text.len()).any(|window| window == text)
}

fn put(bytes: &mut [u8], at: usize, text: &str) {
    let text: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes[at..at + text.len()].copy_from_slice(&text);
}

/// Returns the responses of two functions: a list of the instances SECRET and b, and a block of them.
fn v2_answers() -> [Vec<u8>; 2] {
    let (machine, scripts) = script();
    scripts[1].with(|script| script.rows[0].0 = "SECRET");
    let functions: Arc<dyn PerfLib> = Arc::new(emulated::EmulatedPerfLib::new(machine));
    let guid = Guid::from_u128(2);
    let mut buffer = Vec::new();
    let mut ask = |buffer: &mut [u8]| functions.enumerate_instances(&guid, buffer);
    let list = filled("", 1, &mut buffer, &mut ask).unwrap().to_vec();
    let mut query = OpenQuery::open(&functions).unwrap();
    query.add(guid, CounterFilter::All, true).unwrap();
    [list, query.collect().unwrap().to_vec()]
}

type Hide = fn(&NameMask, &mut [u8]) -> Result<(), WireError>;

/// Returns the bytes of a changed response after instance names were hidden, and the first field that could not be
/// read.
fn left(mut bytes: Vec<u8>, hide: Hide, change: impl FnOnce(&mut [u8])) -> (Vec<u8>, Option<&'static str>) {
    change(&mut bytes);
    let end = hide(&NameMask::new(), &mut bytes);
    (bytes, end.err().map(|error| error.what))
}

/// Checks that instance names are hidden also in a response that cannot be read to its end, or that contains more
/// than it should.
#[test]
fn names_in_unusual_places_are_hidden() {
    let [list, block] = v2_answers();
    assert!(has(&list, "SECRET") && has(&block, "SECRET"));
    for (answer, hide) in [(&list, NameMask::in_list as Hide), (&block, NameMask::in_v2)] {
        let name = answer.windows(12).position(|window| has(window, "SECRET")).unwrap();
        // The structure with the name, or what is before it, is broken; and behind the name there is more.
        let (bytes, error) = left(answer.clone(), hide, |bytes| bytes[name - 8] = 7);
        assert_eq!((has(&bytes, "SEC"), error), (false, Some("PERF_INSTANCE_HEADER.Size")));
        let (bytes, error) = left(answer.clone(), hide, |bytes| put(bytes, name, "S\0CRET"));
        assert_eq!((has(&bytes, "CRET"), error), (false, None));
        let (bytes, _) = left(answer.clone(), hide, |bytes| put(bytes, name, "\u{4e30}\u{4e31}\u{4e2c}\0"));
        assert!(!has(&bytes, "\u{4e30}\u{4e31}\u{4e2c}"), "they end in the bytes of 0, 1 and a comma");
        let (bytes, _) = left(answer.clone(), hide, |bytes| put(bytes, name, "_Total"));
        assert!(has(&bytes, "_Total"));
        for end in 0..answer.len() {
            assert!(!has(&left(answer[..end].to_vec(), hide, |_| ()).0, "SEC"), "{end}");
            left(answer.clone(), hide, |bytes| bytes[end] ^= 0xFF);
        }
    }
    let (bytes, error) = left(block.clone(), NameMask::in_v2, |bytes| bytes[52] = 77);
    assert_eq!((has(&bytes, "SEC"), error), (false, Some("PERF_COUNTER_HEADER.dwType")));
    assert_eq!(bytes[..48], block[..48], "what comes before is told");
    // A value that is no number: 12 bytes are one, of a structure that has room for 8 and the next one's header.
    let value = block.windows(12).position(|window| has(window, "SECRET")).unwrap() + 16;
    let (bytes, _) = left(block, NameMask::in_v2, |bytes| {
        bytes[value..value + 8].copy_from_slice(&[12, 0, 0, 0, 32, 0, 0, 0]);
        put(bytes, value + 8, "VALUES");
    });
    assert!(!has(&bytes, "VAL"));
}

/// Performance key whose responses a function changes.
#[derive(Debug)]
struct Changed(Arc<Vista>, fn(&str, &mut [u8]));

impl PerformanceKey for Changed {
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
        let filled = self.0.query_value(name, value);
        if filled.status.is_success() {
            (self.1)(name, value);
        }
        filled
    }

    fn close(&self) {}
}

/// Checks that a V1 block that no reader can parse is replaced by zeros in a capture, and that the manifest notes
/// this.
#[test]
fn unreadable_block_is_blanked_and_noted() {
    let signature = |name: &str, value: &mut [u8]| {
        if name == "Global" {
            value[0] = b'Q';
        }
    };
    let (folder, _) = captured_of("blanked", false, Arc::new(Changed(Arc::default(), signature)));
    let manifest = fs::read_to_string(folder.0.join(MANIFEST)).unwrap();
    let noted = "# blanked\tGlobal 0: PERF_DATA_BLOCK.Signature at byte 0: breaks R2: \
        the signature is PERF in UTF-16, and what cannot be read without it\n0\tGlobal 0\t";
    assert!(manifest.contains(noted), "{manifest}");
    let v1 = fs::read(folder.0.join(V1)).unwrap();
    assert!(v1.ends_with(&[0; 20_000]));
    assert!(CaptureReplay::open(&folder.0).is_ok());
}

/// Checks that responses received before a call hangs are in the capture. The key is not closed, because a call on it
/// is still running.
#[test]
fn a_key_that_hangs_is_given_up() {
    #[derive(Debug)]
    struct Hanging(Arc<Vista>, Mutex<Receiver<()>>);

    impl PerformanceKey for Hanging {
        fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
            if name == "Global" {
                let _ = self.1.lock().unwrap().recv(); // until the test ends
            }
            self.0.query_value(name, value)
        }

        fn close(&self) {
            panic!("it is closed");
        }
    }

    let (until, hangs) = channel();
    let (folder, captures) = captured_of("hanging", false, Arc::new(Hanging(Arc::default(), hangs.into())));
    drop(until);
    let manifest = fs::read_to_string(folder.0.join(MANIFEST)).unwrap();
    assert!(manifest.contains("1460\tGlobal 0\n0\tdata 1\t") && manifest.ends_with("\n1460\tGlobal 1\n"));
    assert_eq!((captures.requests - captures.answered), 4, "two tables of another language are not there");
    assert_eq!(CaptureReplay::open(&folder.0).unwrap().machine().countersets().len(), 3);
}

/// Checks that no other user can read the files of a capture, and that responses captured before an error are kept.
#[cfg(unix)]
#[test]
fn a_capture_is_private_and_grows() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, _) = captured("private", false);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    for file in [MANIFEST, QUERY, REGISTRATIONS, V1] {
        assert_eq!(mode(&folder.0.join(file)), 0o600, "{file}");
    }
    #[derive(Debug)]
    struct Seen(PathBuf);

    impl PerformanceKey for Seen {
        fn query_value(&self, _: &str, _: &mut [u8]) -> FillResult {
            let machine = CaptureReplay::open(&self.0).unwrap().machine();
            assert_eq!(machine.countersets().len(), 3, "registrations come before");
            FillResult::failed(Status(2))
        }

        fn close(&self) {}
    }
    let seen = Seen(Scratch::new("grows").0.clone());
    let (folder, _) = captured_of("grows", false, Arc::new(seen));
    let manifest = fs::read_to_string(folder.0.join(MANIFEST)).unwrap();
    assert!(manifest.ends_with("\n2\tGlobal 1\n"), "it was asked to the end: {manifest}");
}

#[test]
fn names_in_unusual_places_of_v1_are_hidden() {
    let global = || {
        let mut bytes = vec![0; 1 << 20];
        let filled = Arc::new(Vista::default()).query_value("Global", &mut bytes);
        bytes.truncate(filled.actual as usize);
        bytes
    };
    let shown = global();
    let block = DataBlock::parse(&shown).unwrap();
    let object = block.object(230).unwrap();
    let at = object.offset();
    let Contents::Multiple(instances) = object.contents() else { panic!() };
    let instance =
        instances.flatten().find(|instance| instance.name().to_string() == "svchost").unwrap().offset();
    let number = |at: usize| u32::from_le_bytes(*shown[at..].first_chunk().unwrap());
    assert_eq!(number(instance + 16), 24, "where its name is");
    let values = instance + number(instance) as usize;
    let objects = |bytes: &[u8]| DataBlock::parse(bytes).unwrap().objects().filter(Result::is_ok).count();
    let hide = |change: &dyn Fn(&mut [u8])| {
        let (bytes, error) = left(global(), NameMask::in_v1, change);
        assert!(!has(&bytes, "svch") && !has(&bytes, "EVIL"));
        assert_eq!(objects(&bytes), if error.is_some_and(|what| what.contains("OBJECT")) { 7 } else { 8 });
        error
    };
    assert_eq!(hide(&|_| ()), None);
    let none = |bytes: &mut [u8], at: usize| bytes[at..at + 4].fill(0);
    assert_eq!(hide(&|bytes| none(bytes, at + 8)), Some("PERF_OBJECT_TYPE.HeaderLength"));
    assert_eq!(hide(&|bytes| none(bytes, instance)), Some("PERF_INSTANCE_DEFINITION.ByteLength"));
    assert_eq!(hide(&|bytes| put(bytes, instance + 24, "a\0EVIL")), None);
    assert_eq!(hide(&|bytes| put(bytes, values - 4, "EV")), None, "padding");
    // The first counter is a text.
    let text = values + number(at + 64 + 36) as usize;
    assert_eq!(hide(&|bytes| put(bytes, text, "IL")), None);
    let as_text = |bytes: &mut [u8]| {
        bytes[at + 64 + 28..at + 64 + 36].copy_from_slice(&[0, 0x0B, 0, 0, 8, 0, 0, 0]);
        put(bytes, text, "EVIL");
    };
    assert_eq!(hide(&as_text), None);
    // What follows the objects, and what is none.
    assert!(!has(&left([global(), b"E\0V\0I\0L\0".to_vec()].concat(), NameMask::in_v1, |_| ()).0, "EVIL"));
    for end in (0..shown.len()).step_by(61) {
        assert!(!has(&left(shown[..end].to_vec(), NameMask::in_v1, |_| ()).0, "svch"), "{end}");
        left(shown.clone(), NameMask::in_v1, |bytes| bytes[end] ^= 0xFF);
    }
    // The machine, which is never told.
    let host = (number(84) as usize, number(80) as usize / 2);
    let machine = |_: &NameMask, bytes: &mut [u8]| hide::machine_in_v1(bytes);
    let (bytes, error) = left(global(), machine, |bytes| put(bytes, host.0, "P\0JOHN"));
    assert_eq!((error, objects(&bytes)), (None, 8));
    let header = &bytes[88..number(24) as usize];
    assert_eq!(header.iter().filter(|byte| **byte != 0).count(), 1, "one X for P, of {} units", host.1);
    assert_eq!(left(global(), machine, |bytes| none(bytes, 12)).1, Some("PERF_DATA_BLOCK.Version"));
}

/// Returns the contents of a capture as text, for people and for comparison.
fn told(folder: &Path) -> String {
    let captured = match CaptureReplay::open(folder) {
        Ok(captured) => captured,
        Err(error) => return format!("{}\n", error.kind()),
    };
    let machine = captured.machine();
    let mut out = String::new();
    for problem in machine.problems() {
        let _ = writeln!(out, "problem: {problem}");
    }
    let mut query = machine.query();
    let mut names = Vec::new();
    for guid in machine.countersets() {
        let set = machine.counterset(&guid).unwrap();
        let entry = Entry::all(guid);
        let multiple = set.instance_type.is_multiple();
        let status = query.add(&if multiple { entry.instance("*") } else { entry });
        let instances = match machine.instances(&guid) {
            Ok(instances) => instances.len().to_string(),
            Err(SourceError::NoInstances(_)) => "0".into(),
            Err(error) => error.to_string(),
        };
        let from = machine.origin(&guid).unwrap_or_default();
        let counters = set.counters.len();
        names.push(format!("{}: {from}, {counters} counters, {instances} instances, {status}", set.name));
    }
    names.sort();
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    query.collect(&mut old).unwrap();
    query.collect(&mut new).unwrap();
    let (mut raw, mut values) = (0, 0);
    for value in new.values(Some(&old)) {
        raw += usize::from(value.raw.is_some());
        values += usize::from(value.value.is_ok());
    }
    for name in names {
        let _ = writeln!(out, "{name}");
    }
    let _ = writeln!(out, "{raw} raw values, {values} formatted");
    out
}

/// Checks the captures of the repository against their descriptions. `UPDATE_SNAPSHOTS=1` writes the description of
/// a new or changed capture.
#[test]
fn captures_of_the_repository() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/captures");
    let vista = all.join("scripted-vista");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() && !vista.exists() {
        fs::rename(&captured("repository", true).0.0, &vista).unwrap();
    }
    let mut count = 0;
    for entry in fs::read_dir(all).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let (now, file) = (told(&folder), folder.join("told.txt"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&file, &now).unwrap();
        }
        assert_eq!(now, fs::read_to_string(&file).unwrap(), "{}", folder.display());
        count += 1;
    }
    assert!(count >= 2);
}

#[test]
fn damaged_manifests() {
    let (scratch, _) = captured("damaged", false);
    let file = scratch.0.join(MANIFEST);
    let good = fs::read_to_string(&file).unwrap();
    let opened = |text: &str| {
        fs::write(&file, text).unwrap();
        CaptureReplay::open(&scratch.0).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(opened(&good), Ok(()));
    let first = good.lines().next().unwrap();
    for (text, want) in [
        ("", "manifest.txt: the first line is not \"perfset capture 1\""),
        ("perfset capture 2\n", "manifest.txt: the first line is not \"perfset capture 1\""),
        ("perfset capture 1\nx", "manifest.txt: line 2: the line has neither two nor five fields"),
        ("perfset capture 1\nx\ty", "manifest.txt: line 2: \"x\" is not a status code"),
        (
            "perfset capture 1\n0\ty\t../query.bin\t0\t1",
            "manifest.txt: line 2: a capture has no file ../query.bin",
        ),
        (
            "perfset capture 1\n0\ty\tquery.bin\t-1\t1",
            "manifest.txt: line 2: -1 and 1 are not an offset and a length",
        ),
        (
            "perfset capture 1\n0\ty\tquery.bin\t1\t18446744073709551615",
            "manifest.txt: line 2: 1 and 18446744073709551615 are not an offset and a length",
        ),
    ] {
        assert_eq!(opened(text), Err(want.to_owned()));
    }
    // What no machine has, before anything of it is read.
    let sets = |count: usize| format!("{first}\n0\tcountersets\tquery.bin\t0\t{}\n", count * 16);
    assert_eq!(opened(&sets(65_536)), Ok(()));
    assert_eq!(
        opened(&sets(65_537)),
        Err("manifest.txt: the capture has more than 65536 countersets".into())
    );
    let long = format!("{good}#{}", " ".repeat(4 << 20));
    assert!(opened(&long).unwrap_err().ends_with("manifest.txt: the file is larger than any capture"));
    // A place outside of its file is an answer that is not there.
    assert_eq!(opened(&format!("{first}\n0\tcountersets\tquery.bin\t0\t999999\n")), Ok(()));
    assert_eq!(
        told(&scratch.0).lines().next(),
        Some(
            "problem: a provider has no catalogue: \
        PerfEnumerateCounterSet: ERROR_INVALID_DATA (13)"
        )
    );
    for end in (0..good.len()).step_by(61) {
        fs::write(&file, &good[..end]).unwrap();
        told(&scratch.0);
    }
}

/// Checks that no reader panics on a capture in which any byte of a response is changed, or any file is cut.
#[test]
fn damaged_answers() {
    let (scratch, _) = captured("changed", false);
    for (name, step) in [(REGISTRATIONS, 397), (QUERY, 61), (V1, 5_003)] {
        let file = scratch.0.join(name);
        let good = fs::read(&file).unwrap();
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 0xFF;
            fs::write(&file, &bad).unwrap();
            told(&scratch.0);
        }
        fs::write(&file, &good[..good.len() / 2]).unwrap();
        told(&scratch.0);
        fs::write(&file, &good).unwrap();
    }
}
