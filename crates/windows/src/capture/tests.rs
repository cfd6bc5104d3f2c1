//! Captures, written and replayed: whole, hidden, damaged.

use std::fmt::Write as _;
use std::path::PathBuf;

use perfset_core::{CounterFilter, NoValue};
use perfset_engine::{Entry, Snapshot, SourceError};

use super::*;
use crate::ours;
use crate::tests::{Vista, rows, script, testdata};

/// A folder for one test, which is gone when the test is.
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

/// Captures the scripted machine, and a key with a real Windows' blocks.
fn captured(name: &str, hide_instances: bool) -> (Scratch, Captures) {
    let scratch = Scratch::new(name);
    let (machine, scripts) = script();
    scripts[1].with(|script| script.rows.push(("Ünicode", 9, vec![Err(NoValue::Late); 4])));
    let functions: Arc<dyn PerfLib> = Arc::new(ours::Functions::new(machine));
    let options = Options {
        by: "a test".into(),
        language: Language(0x0407),
        hide_instances,
        is_costly: false,
        pause: Duration::ZERO,
    };
    let captures = write(&scratch.0, &functions, &Arc::new(Vista::default()), &options).unwrap();
    (scratch, captures)
}

#[test]
fn what_was_captured_is_replayed() {
    let (scratch, captures) = captured("replayed", false);
    let (machine, scripts) = script();
    scripts[1].with(|script| script.rows.push(("Ünicode", 9, vec![Err(NoValue::Late); 4])));
    // 3 sets: names and helps in three languages, 6 answers in one, instances; the list, the info, 2 samples, 2 blocks,
    // 4 tables of which 2 are not there.
    assert_eq!((captures.asked, captures.answered), (3 * (12 + 6 + 1) + 10, 3 * (12 + 6 + 1) + 8));
    let captured = Captured::open(&scratch.0).unwrap();
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
    // The objects of V1 besides, whose machine is not told.
    assert_eq!(replayed.countersets().len(), 3 + 8);
    let v1 = fs::read(scratch.0.join(V1)).unwrap();
    let block = testdata("v1/windows-vista/object2-sample0.bin");
    let host = perfset_core::v1::DataBlock::parse(&block).unwrap().system_name().as_bytes();
    assert!(host.len() > 8 && !v1.windows(host.len()).any(|window| window == host));
    assert!(matches!(write_again(&scratch), Err(error) if error.kind() == io::ErrorKind::AlreadyExists));
}

fn write_again(scratch: &Scratch) -> io::Result<Captures> {
    let functions: Arc<dyn PerfLib> = Arc::new(ours::Functions::new(script().0));
    let options = Options {
        by: String::new(),
        language: Language::ENGLISH,
        hide_instances: false,
        is_costly: false,
        pause: Duration::ZERO,
    };
    write(&scratch.0, &functions, &Arc::new(Vista::default()), &options)
}

/// The first collection is the first sample, the second the second; a counter that was not asked alone is there alone.
#[test]
fn samples_follow_each_other() {
    let (scratch, _) = captured("samples", false);
    let replayed = Captured::open(&scratch.0).unwrap().machine();
    let guid = perfset_core::catalogue::process::GUID;
    let mut query = replayed.query();
    let mut one = Entry::all(guid).instance("*");
    one.counters = CounterFilter::One(perfset_core::catalogue::process::PERCENT_PROCESSOR_TIME).into();
    assert!(query.add(&one).is_success());
    let mut times = Vec::new();
    for _ in 0..3 {
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        assert!(snapshot.values(None).count() > 40);
        times.push(snapshot.annex()[0].clocks().unwrap().time_100ns);
    }
    assert_eq!(times[0], times[1], "the test's key has one Global");
    assert_eq!(times[1], times[2]);
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
    let machines = [&shown, &hidden].map(|folder| Captured::open(&folder.0).unwrap().machine());
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

/// Everything of a capture, for people and for comparison.
fn told(folder: &Path) -> String {
    let captured = match Captured::open(folder) {
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

/// The folders of the repository; of a new one, and of one that means something else now, `UPDATE_SNAPSHOTS=1` writes
/// what is told of it.
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
        Captured::open(&scratch.0).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(opened(&good), Ok(()));
    let first = good.lines().next().unwrap();
    for (text, want) in [
        ("", "manifest.txt: it does not begin with \"perfset capture 1\""),
        ("perfset capture 2\n", "manifest.txt: it does not begin with \"perfset capture 1\""),
        ("perfset capture 1\nx", "manifest.txt: line 2: it has not two fields, and not five"),
        ("perfset capture 1\nx\ty", "manifest.txt: line 2: \"x\" is no code"),
        (
            "perfset capture 1\n0\ty\t../query.bin\t0\t1",
            "manifest.txt: line 2: a capture has no file ../query.bin",
        ),
        ("perfset capture 1\n0\ty\tquery.bin\t-1\t1", "manifest.txt: line 2: -1 and 1 are no place"),
        (
            "perfset capture 1\n0\ty\tquery.bin\t1\t18446744073709551615",
            "manifest.txt: line 2: 1 and 18446744073709551615 are no place",
        ),
    ] {
        assert_eq!(opened(text), Err(want.to_owned()));
    }
    // A place outside of its file is an answer that is not there.
    assert_eq!(opened(&format!("{first}\n0\tcountersets\tquery.bin\t0\t99999999\n")), Ok(()));
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

/// Any byte of the answers may be another, and any of the files may be cut.
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
