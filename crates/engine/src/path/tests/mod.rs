//! Tests of the grammar, binding and values of counter paths.

use perfset_catalogue::perfset_engine as own;
use perfset_core::*;
use proptest::prelude::*;

use super::*;
use crate::testing::{FixedClock, Scripted};
use crate::{Machine, Source};

mod changing;
mod names;
mod pdh;
mod reading;

fn parts(text: &str) -> Result<(Option<String>, String, Option<String>, String), PathError> {
    text.parse::<CounterPath>().map(|p| (p.machine, p.counterset, p.instance, p.counter))
}

#[test]
fn every_legal_shape() {
    // (text, machine, counterset, instance, counter)
    for (text, machine, counterset, instance, counter) in [
        (r"\System\Processes", "", "System", None, "Processes"),
        (r"\\HOST\System\Processes", "HOST", "System", None, "Processes"),
        (r"\Processor(0)\% Processor Time", "", "Processor", Some("0"), "% Processor Time"),
        (r"\\10.0.0.1\Processor(0)\X", "10.0.0.1", "Processor", Some("0"), "X"),
        (r"\Process(a#1)\X", "", "Process", Some("a#1"), "X"),
        (r"\Thread(a/0)\X", "", "Thread", Some("a/0"), "X"),
        (r"\Thread(a/0#2)\X", "", "Thread", Some("a/0#2"), "X"),
        (r"\\H\Thread(a/0#2)\X", "H", "Thread", Some("a/0#2"), "X"),
        (r"\PhysicalDisk(0 C:)\Disk Bytes/sec", "", "PhysicalDisk", Some("0 C:"), "Disk Bytes/sec"),
        (r"\.NET CLR Memory(x)\# Gen 0 Collections", "", ".NET CLR Memory", Some("x"), "# Gen 0 Collections"),
        (r"\Net(a (b) c)\X", "", "Net", Some("a (b) c"), "X"),
        (r"\Net(a)\X (y)", "", "Net", Some("a"), "X (y)"),
        (r"\System\X (y)", "", "System", None, "X (y)"),
        (r"\Diagnostics (Per-CPU)(*)\X", "", "Diagnostics (Per-CPU)", Some("*"), "X"),
        (r"\A (b) c\X", "", "A (b) c", None, "X"),
        ("/A (b) c/X", "", "A (b) c", None, "X"),
        ("/A (b)(c/d)/X", "", "A (b)", Some("c/d"), "X"),
        (r"\Net(a (b)\X", "", "Net", Some("a (b"), "X"),
        (r"\Net()\X", "", "Net", Some(""), "X"),
        (r"\A(*)\*", "", "A", Some("*"), "*"),
        ("/System/Context Switches/sec", "", "System", None, "Context Switches/sec"),
        ("/Block I/O(vda)/X/sec", "", "Block I/O", Some("vda"), "X/sec"),
        ("/block i/o/X", "", "block i/o", None, "X"),
        ("/Block I/Os/X", "", "Block I", None, "Os/X"),
        ("/Process(a)/X/sec", "", "Process", Some("a"), "X/sec"),
        ("//HOST/System/X/sec", "HOST", "System", None, "X/sec"),
        ("/A({a,b})/{x,y}", "", "A", Some("{a,b}"), "{x,y}"),
        (
            r"\{b4fc721a-0378-476f-89ba-a5a79f810b36}(*)\#0",
            "",
            "{b4fc721a-0378-476f-89ba-a5a79f810b36}",
            Some("*"),
            "#0",
        ),
    ] {
        let want = (
            (!machine.is_empty()).then(|| machine.to_owned()),
            counterset.to_owned(),
            instance.map(str::to_owned),
            counter.to_owned(),
        );
        assert_eq!(parts(text), Ok(want), "{text}");
        if !text.starts_with('/') {
            assert_eq!(text.parse::<CounterPath>().unwrap().to_string(), text);
        }
    }
}

#[test]
fn every_bad_path_says_what_is_wrong() {
    for (text, want) in [
        ("", "the path is empty"),
        ("System Up Time", r#""System Up Time" does not begin with \ or /"#),
        (r"\System", r#""\System" names a counterset but no counter"#),
        (r"\System\", r#""\System\" names a counterset but no counter"#),
        (r"\", r#""\" names a counterset but no counter"#),
        (r"\\", r#""\\" names a machine but no counterset"#),
        (r"\\HOST", r#""\\HOST" names a machine but no counterset"#),
        (r"\\HOST\System", r#""\\HOST\System" names a counterset but no counter"#),
        (r"\(a)\X", r#""\(a)\X" names a counterset but no counter"#),
        (r"\Process(a)", r#""\Process(a)" names a counterset but no counter"#),
        (r"\Process(a\X", r#""\Process(a\X" has a bracket that is not closed before the counter"#),
        ("/Process(a/X", r#""/Process(a/X" has a bracket that is not closed before the counter"#),
        ("/System", r#""/System" names a counterset but no counter"#),
        ("//", r#""//" names a machine but no counterset"#),
    ] {
        assert_eq!(parts(text).unwrap_err().to_string(), want, "{text}");
    }
    let long = format!(r"\{}\b", "a".repeat(2046));
    assert_eq!(parts(&long).unwrap_err().to_string(), "the path has 2049 characters, more than 2048");
    assert!(parts(&format!(r"\{}\b", "a".repeat(2045))).is_ok());
}

proptest! {
    #[test]
    fn any_text_is_a_path_or_an_error(text in "[\\\\/()#*a-c{}! ]{0,20}") {
        if let Ok(path) = text.parse::<CounterPath>() {
            prop_assert!(!path.counterset.is_empty() && !path.counter.is_empty());
        }
    }

    #[test]
    fn formatted_path_parses_back(
        machine in proptest::option::of("[a-z.]{1,9}"),
        counterset in "[a-zA-Z .%#/-]{1,9}",
        instance in proptest::option::of("[a-z0-9 #/*?,_]{0,9}(\\([a-z]{0,3}\\))?"),
        counter in "[a-zA-Z .%#/()-]{1,9}",
    ) {
        let path = CounterPath { machine, counterset, instance, counter };
        prop_assert_eq!(path.to_string().parse(), Ok(path));
    }
}

const SET: Guid = Guid::from_u128(5);

fn machine() -> (Machine, Scripted) {
    let counter = |id, name: &'static str, counter_type, base: Option<u32>| {
        crate::tests::counter(id, name, counter_type, base)
            .attributes(if name.is_empty() { Attributes::NO_DISPLAYABLE } else { Attributes::default() })
            .wraps(false)
            .caps(false)
    };
    let set = Counterset::new(SET, "Test Set", InstanceType::Multiple)
        .counters([
            counter(2, "Size", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
            counter(3, "Bytes/sec", CounterType::PERF_COUNTER_BULK_COUNT, None),
            counter(5, "Mean Size", CounterType::PERF_AVERAGE_BULK, Some(7)),
            counter(7, "", CounterType::PERF_AVERAGE_BASE, None),
        ])
        .translations([Translation {
            language: Language(0x0407),
            name: "Testmenge".into(),
            help: Text::default(),
            counters: vec![(CounterId(2), "Größe".into(), Text::default())].into(),
        }]);
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(vec![set]);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

/// Returns the values of one path after two collections, as `name#occurrence counter=value`.
fn values(path: &str) -> Result<Vec<String>, String> {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &path.parse().unwrap()).map_err(|e| e.to_string())?;
    // The wanted columns are known only here; every column gets its own distinct numbers.
    for second in [0, 1] {
        let row = |name, id: u32| (name, id, (1..=4).map(|n| Ok(second * n * u64::from(id))).collect());
        provider.with(|s| s.rows = vec![row("a", 1), row("b", 2), row("a", 3), row("a/b#1", 5)]);
        query.collect().unwrap();
    }
    Ok(query.values().iter().map(line).collect())
}

fn line(v: &PathValue<'_>) -> String {
    let value = match &v.value.value {
        Ok(value) => value.raw.to_string(),
        Err(reason) => reason.keyword().to_owned(),
    };
    format!("{}#{} {}={value}", v.value.instance, v.occurrence, v.value.counter.id.0)
}

#[test]
fn instances_are_selected() {
    for (path, want) in [
        (r"\Test Set(a)\Size", &["a#0 2=1"][..]),
        (r"\TEST set(A)\SIZE", &["a#0 2=1"]),
        (r"\Test Set(*)\Size", &["a#0 2=1", "b#0 2=2", "a#1 2=3", "a/b#1#0 2=5"]),
        (r"\Test Set(?)\Size", &["a#0 2=1", "b#0 2=2", "a#1 2=3"]),
        (r"\Test Set(a#1)\Size", &["a#1 2=3"]),
        (r"\Test Set(a#0)\Size", &["a#0 2=1"]),
        (r"\Test Set(a/b#1)\Size", &["a/b#1#0 2=5"]),
        (r"\Test Set({b,a/*})\Size", &["b#0 2=2", "a/b#1#0 2=5"]),
        (r"\Test Set(!a)\Size", &["b#0 2=2", "a/b#1#0 2=5"]),
        (r"\Test Set({?,!b})\Size", &["a#0 2=1", "a#1 2=3"]),
        (r"\Test Set(none)\Size", &["none#0 2=no_instance"]),
        (r"\Test Set({none,b})\Size", &["b#0 2=2"]),
        (r"\Test Set({none,never})\Size", &["{none,never}#0 2=no_instance"]),
        (r"\Test Set(a#7)\{Size,Bytes/sec}", &["a#7#0 2=no_instance", "a#7#0 3=no_instance"]),
        ("/Test Set(b)/Bytes/sec", &["b#0 3=2"]),
        (r"\{00000000-0000-0000-0000-000000000005}(b)\#2", &["b#0 2=2"]),
        (r"\Testmenge(b)\größe", &["b#0 2=2"]),
        (r"\Perfset Engine\Collections/sec", &["#0 0=1"]),
        (r"\Perfset Engine(*)\Collections/sec", &["#0 0=1"]),
    ] {
        assert_eq!(values(path).unwrap(), want, "{path}");
    }
}

#[test]
fn counters_are_selected_with_their_bases() {
    // Two collections: the average's column is the first that is wanted, its base the second: 1/2 of it each.
    assert_eq!(values(r"\Test Set(b)\Mean Size").unwrap(), ["b#0 5=0.5"]);
    assert_eq!(
        values(r"\Test Set(b)\*").unwrap(),
        ["b#0 2=2", "b#0 3=4", "b#0 5=0.75"],
        "helpers are left out"
    );
    assert_eq!(values(r"\Test Set(b)\*Size").unwrap(), ["b#0 2=2", "b#0 5=0.6666666666666666"]);
    assert_eq!(values(r"\Test Set(b)\{Size,Bytes/sec}").unwrap(), ["b#0 2=2", "b#0 3=4"]);
    assert_eq!(values(r"\Test Set(b)\#7").unwrap(), ["b#0 7=not_displayable"]);
}

#[test]
fn paths_take_few_entries() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    let mut add = |query: &mut PathQuery, path: &str, entries| {
        query.add(&mut machine, &path.parse().unwrap()).unwrap();
        assert_eq!(query.entries_len(), entries, "{path}");
    };
    for (path, entries) in [
        (r"\Test Set(*)\Size", 1),
        (r"\Test Set(*)\Size", 1),
        (r"\Test Set(a)\Bytes/sec", 2),
        (r"\Test Set({a,b})\Size", 2),
        (r"\Test Set(*)\Mean Size", 2),
        (r"\Test Set(*)\{Size,Mean Size}", 2),
        (r"\Test Set(a)\*", 2),
        (r"\Test Set(a)\Size", 2),
        (r"\Test Set(b)\Size", 3),
    ] {
        add(&mut query, path, entries);
    }
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(3), Ok(5), Ok(7), Ok(1)])]);
    query.collect().unwrap();
    add(&mut query, r"\Test Set(a)\Size", 3);
    add(&mut query, r"\Test Set(*)\Bytes/sec", 4); // what has a sample keeps it
    query.collect().unwrap();
    let by_path = |path| query.values().iter().filter(|v| v.path == path).map(line).collect::<Vec<_>>();
    let want: [&[&str]; 11] = [
        &["a#0 2=3"],
        &["a#0 2=3"],
        &["a#0 3=0"],
        &["a#0 2=3"],
        &["a#0 5=0"],
        &["a#0 2=3", "a#0 5=0"],
        &["a#0 2=3", "a#0 3=0", "a#0 5=0"],
        &["a#0 2=3"],
        &["b#0 2=no_instance"],
        &["a#0 2=3"],
        &["a#0 3=needs_two_samples"],
    ];
    for (path, want) in want.into_iter().enumerate() {
        assert_eq!(by_path(path), want, "path {path}");
    }
}

#[test]
fn case_tells_no_instances_apart() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    for path in [r"\Test Set(a)\Size", r"\Test Set(A)\Size", r"\Test Set(A)\Bytes/sec", r"\Test Set(*)\Size"]
    {
        query.add(&mut machine, &path.parse().unwrap()).unwrap();
    }
    assert_eq!(query.entries_len(), 2);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(2), Ok(3)]), ("A", 2, vec![Ok(5), Ok(7)])]);
    query.collect().unwrap();
    let got: Vec<_> = query.values().iter().map(|v| line(v).to_lowercase()).collect();
    assert_eq!(got, ["a#0 2=2", "a#0 2=2", "a#0 3=needs_two_samples", "a#0 2=2", "a#1 2=5"]);
}

#[test]
fn clocks_of_a_countersets_own_are_collected() {
    let (mut machine, provider) = machine();
    provider.with(|s| {
        let mut set = Counterset::clone(&s.catalogue.countersets[0]);
        let counter = crate::tests::counter;
        let elapsed = counter(1, "Elapsed", CounterType::PERF_ELAPSED_TIME, None);
        set.counters = vec![
            elapsed.clock(CounterId(5), CounterId(6)),
            counter(5, "Time", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
            counter(6, "Frequency", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
        ]
        .into();
        s.catalogue = crate::Catalogue { origin: "Script".into(), countersets: vec![set.into()] }.into();
        s.rows = vec![("a", 1, vec![Ok(20), Ok(90), Ok(10)])];
    });
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Test Set(*)\Elapsed".parse().unwrap()).unwrap();
    query.collect().unwrap();
    assert_eq!(query.values().iter().map(line).collect::<Vec<_>>(), ["a#0 1=7"]);
}

#[test]
fn late_instances_are_found() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Test Set(x*)\Size".parse().unwrap()).unwrap();
    assert!(query.values().is_empty(), "nothing was collected yet");
    query.collect().unwrap();
    assert_eq!(query.values().iter().map(line).collect::<Vec<_>>(), ["x*#0 2=no_instance"]);
    provider.with(|s| s.rows = vec![("xy", 1, vec![Ok(11)])]);
    query.collect().unwrap();
    assert_eq!(query.values().iter().map(line).collect::<Vec<_>>(), ["xy#0 2=11"]);
}

#[test]
fn statistics_of_a_run() {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Test Set(*)\Size".parse().unwrap()).unwrap();
    let mut run = Run::default();
    for rows in [vec![("a", 1, vec![Ok(7)])], vec![("a", 1, vec![Ok(2)]), ("b", 2, vec![Ok(5)])], vec![]] {
        provider.with(|s| s.rows = rows);
        query.collect().unwrap();
        run.add(&query.values());
    }
    let got: Vec<_> = run
        .series()
        .iter()
        .map(|(series, s)| (series.instance.to_string(), s.count, s.min, s.max, s.mean()))
        .collect();
    assert_eq!(got, [("a".to_owned(), 2, 2.0, 7.0, 4.5), ("b".to_owned(), 1, 5.0, 5.0, 5.0)]);
}

#[test]
fn bind_error_names_nearest_match() {
    for (path, want) in [
        (r"\Tset Set(a)\Size", "no counterset is named \"Tset Set\""),
        (r"\Test Set(a)\Sise", "\"Test Set\" has no counter \"Sise\""),
        (r"\Test Set(a)\#4", "\"Test Set\" has no counter \"#4\""),
        (r"\Test Set\Size", "\"Test Set\" has instances, but the path names none: try '\\Test Set(*)\\…'"),
        (r"\Perfset Engine(a)\Collections/sec", "\"Perfset Engine\" has no instances; the path names one"),
        (
            r"\{00000000-0000-0000-0000-000000000006}(a)\X",
            "no counterset is named \"{00000000-0000-0000-0000-000000000006}\"",
        ),
    ] {
        assert_eq!(values(path).unwrap_err(), want);
    }
    let (mut machine, _) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    let near = |query: &mut PathQuery, machine: &mut dyn Source, path: &str| match query
        .add(machine, &path.parse().unwrap())
        .unwrap_err()
    {
        BindError::NoCounterset { nearest, .. } | BindError::NoCounter { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(near(&mut query, &mut machine, r"\Tset Set(a)\Size"), ["Test Set"]);
    assert_eq!(near(&mut query, &mut machine, r"\Test Set(a)\Sise"), ["Size"]);
    assert_eq!(near(&mut query, &mut machine, r"\engine\X"), [own::COUNTERSET.name.to_string()]);
}
