//! Tests of instance names, of paths that are made and checked, of wildcards, and of lists of names.

use super::*;

#[test]
fn names_of_instances() {
    let max = "a".repeat(259);
    // (text, parent, name, index)
    for (text, parent, name, index) in [
        ("a", "", "a", 0),
        ("a#3", "", "a", 3),
        ("p/a", "p", "a", 0),
        ("p/a#3", "p", "a", 3),
        ("p/a/b#5", "p", "a/b", 5),
        ("p#2/a", "p#2", "a", 0),
        ("a#0", "", "a", 0),
        ("a#", "", "a#", 0),
        ("a#x", "", "a#x", 0),
        ("a#1#2", "", "a#1", 2),
        ("a#*", "", "a#*", 0),
        ("0 C:", "", "0 C:", 0),
        (max.as_str(), "", max.as_str(), 0),
    ] {
        let want = InstanceName {
            parent: (!parent.is_empty()).then(|| parent.to_owned()),
            name: name.to_owned(),
            index,
        };
        assert_eq!(text.parse(), Ok(want), "{text}");
    }
    let long = "a".repeat(260);
    for text in ["", "/", "/a", "a/", "#1", "p/#1", "a#4294967296", long.as_str()] {
        assert_eq!(text.parse::<InstanceName>(), Err(PdhStatus::PDH_INVALID_INSTANCE), "{text}");
    }
    for (index, want) in [(0, "p/a"), (1, "p/a#1"), (u32::MAX, "p/a")] {
        let name = InstanceName { parent: Some("p".into()), name: "a".into(), index };
        assert_eq!(name.to_string(), want);
    }
}

#[test]
fn ambiguous_or_incomplete_path_is_not_made() {
    let path = |machine: Option<&str>, counterset: &str, instance: Option<&str>, counter: &str| CounterPath {
        machine: machine.map(str::to_owned),
        counterset: counterset.to_owned(),
        instance: instance.map(str::to_owned),
        counter: counter.to_owned(),
    };
    for (path, want) in [
        (path(None, "System", None, "Processes"), Ok(r"\System\Processes")),
        (path(Some("H"), "Thread", Some("a/0#2"), "X/sec"), Ok(r"\\H\Thread(a/0#2)\X/sec")),
        (path(None, "", None, "X"), Err(PathError::NoCounterset(r"\\X".into()))),
        (path(None, "System", None, ""), Err(PathError::NoCounter(r"\System\".into()))),
        (path(None, r"a\b", None, "X"), Err(PathError::Ambiguous(r"\a\b\X".into()))),
        (path(None, "a(b)", None, "X"), Err(PathError::Ambiguous(r"\a(b)\X".into()))),
        (path(None, "a", Some(r"b)\c"), "X"), Err(PathError::Ambiguous(r"\a(b)\c)\X".into()))),
    ] {
        assert_eq!(path.make(), want.map(str::to_owned));
    }
}

proptest! {
    #[test]
    fn made_path_parses_back(
        machine in proptest::option::of("[a-z\\\\().]{0,5}"),
        counterset in "[a-z\\\\/()# ]{0,6}",
        instance in proptest::option::of("[a-z\\\\/()#0-9*]{0,8}"),
        counter in "[a-z\\\\/()#]{0,6}",
    ) {
        let path = CounterPath { machine, counterset, instance, counter };
        if let Ok(text) = path.make() {
            prop_assert_eq!(text.parse(), Ok(path));
        }
    }

    #[test]
    fn names_that_are_written_read_back(text in "[ab/#0-9*]{0,9}") {
        if let Ok(name) = text.parse::<InstanceName>() {
            prop_assert!(!name.name.is_empty());
            // A name that ends like an index can be had, and not written.
            if !name.name.contains('#') && name.index != u32::MAX {
                prop_assert_eq!(name.to_string().parse(), Ok(name));
            }
        }
    }

    #[test]
    fn no_text_is_too_much(text in any::<String>(), parts in "[\\\\/()#*?{},!a-z0-9]{0,24}") {
        let (mut machine, provider) = machine();
        provider.with(|s| s.rows = vec![("a", 1, vec![]), ("a", 2, vec![])]);
        for text in [text, parts] {
            let _ = validate(&mut machine, &text);
            let _ = substituted(&text).parse::<InstanceName>();
            if let Ok(path) = text.parse::<CounterPath>() {
                let _ = path.instance_name();
                let _ = expand(&mut machine, &path, ExpandOptions::default());
            }
        }
    }
}

/// Returns a machine with the countersets in the tables of the documents: System without instances, and a counterset
/// with instances.
fn documented() -> Machine {
    let (machine, provider) = machine();
    provider.with(|s| {
        let mut sets: Vec<_> = s.catalogue.countersets.clone();
        let mut system = Counterset::clone(&sets[0]);
        system.guid = Guid::from_u128(7);
        system.name = "System".into();
        system.instance_type = InstanceType::Single;
        system.counters = vec![
            crate::tests::counter(0, "System Up Time", CounterType::PERF_ELAPSED_TIME, None),
            crate::tests::counter(1, "Processes", CounterType::PERF_COUNTER_RAWCOUNT, None)
                .detail(DetailLevel::ADVANCED),
        ]
        .into();
        sets.push(system.into());
        s.catalogue = crate::Catalogue { origin: "Script".into(), countersets: sets }.into();
        s.rows = [("a", 1), ("b", 2), ("a", 3), ("p/a", 5), ("A", 7), ("p/b", 11), ("a", 13)]
            .map(|(name, id)| (name, id, vec![]))
            .into();
    });
    machine
}

#[test]
fn paths_are_validated() {
    use PdhStatus as S;
    let mut machine = documented();
    for (text, want) in [
        ("", Err(S::PDH_INVALID_ARGUMENT)),
        (r"\System", Err(S::PDH_CSTATUS_BAD_COUNTERNAME)),
        ("System Up Time", Err(S::PDH_CSTATUS_BAD_COUNTERNAME)),
        (r"\System\System Down Time", Err(S::PDH_CSTATUS_NO_COUNTER)),
        (r"\System\System Up Time", Ok(())),
        (r"\sYSTEM\sYSTEM uP tIME", Ok(())),
        (r"\Systems\System Up Time", Err(S::PDH_CSTATUS_NO_OBJECT)),
        (r"\System(x)\System Up Time", Err(S::PDH_INVALID_PATH)),
        (r"\Test Set\Size", Err(S::PDH_CSTATUS_NO_INSTANCE)),
        (r"\Test Set(a)\Size", Ok(())),
        (r"\Test Set(a#3)\Size", Ok(())),
        (r"\Test Set(a#4)\Size", Err(S::PDH_CSTATUS_NO_INSTANCE)),
        (r"\Test Set(none)\Size", Err(S::PDH_CSTATUS_NO_INSTANCE)),
        (r"\Test Set(none*)\Size", Ok(())),
        (r"\Test Set(*)\*", Ok(())),
    ] {
        assert_eq!(validate(&mut machine, text), want, "{text}");
    }
    let empty = "".parse::<CounterPath>().unwrap_err();
    assert_eq!(PdhStatus::from(&empty), S::PDH_CSTATUS_NO_COUNTERNAME, "what adding says");
}

#[test]
fn wildcards_are_expanded() {
    let mut machine = documented();
    let mut expanded = |text: &str, unexpanded| {
        let paths = expand(&mut machine, &text.parse().unwrap(), unexpanded);
        paths.map(|paths| paths.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let all = ExpandOptions::default();
    for (text, want) in [
        (r"\System\*", &[r"\System\System Up Time", r"\System\Processes"][..]),
        (r"\system\pro*", &[r"\System\Processes"]),
        (r"\\H\System\Processes", &[r"\\H\System\Processes"]),
        (r"\Test Set(a)\Size", &[r"\Test Set(a)\Size"]),
        (r"\Test Set(b*)\Size", &[r"\Test Set(b)\Size"]),
        (r"\Test Set(b)\*", &[r"\Test Set(b)\Size", r"\Test Set(b)\Bytes/sec", r"\Test Set(b)\Mean Size"]),
        (
            r"\Test Set(a#*)\Size",
            &[r"\Test Set(a)\Size", r"\Test Set(a#1)\Size", r"\Test Set(A#2)\Size", r"\Test Set(a#3)\Size"],
        ),
        (r"\Test Set(a#1)\Size", &[r"\Test Set(a#1)\Size"]),
        (r"\Test Set(?#2)\Size", &[r"\Test Set(A#2)\Size"]),
        (r"\Test Set(*/a)\Size", &[r"\Test Set(p/a)\Size"]),
        (r"\Test Set(p/*)\Size", &[r"\Test Set(p/a)\Size", r"\Test Set(p/b)\Size"]),
        (r"\Test Set(*/*)\Size", &[r"\Test Set(p/a)\Size", r"\Test Set(p/b)\Size"]),
        (r"\Testmenge({b,p/b})\größe", &[r"\Test Set(b)\Size", r"\Test Set(p/b)\Size"]),
        (
            r"\Test Set(*)\Size",
            &[
                r"\Test Set(a)\Size",
                r"\Test Set(b)\Size",
                r"\Test Set(a#1)\Size",
                r"\Test Set(p/a)\Size",
                r"\Test Set(A#2)\Size",
                r"\Test Set(p/b)\Size",
                r"\Test Set(a#3)\Size",
            ],
        ),
    ] {
        assert_eq!(expanded(text, all).unwrap(), want, "{text}");
    }
    for (counters, instances, want) in [
        (true, true, &[r"\Test Set(b*)\*"][..]),
        (true, false, &[r"\Test Set(b)\*"]),
        (false, true, &[r"\Test Set(b*)\Size", r"\Test Set(b*)\Bytes/sec", r"\Test Set(b*)\Mean Size"]),
    ] {
        assert_eq!(expanded(r"\Test Set(b*)\*", ExpandOptions { counters, instances }).unwrap(), want);
    }
    for (text, want) in [
        (r"\Unknown(*)\*", PdhStatus::PDH_CSTATUS_NO_OBJECT),
        (r"\System(*)\*", PdhStatus::PDH_INVALID_PATH),
        (r"\System\x*", PdhStatus::PDH_CSTATUS_NO_COUNTER),
        (r"\Test Set\*", PdhStatus::PDH_CSTATUS_NO_INSTANCE),
        (r"\Test Set(x*)\*", PdhStatus::PDH_CSTATUS_NO_INSTANCE),
    ] {
        assert_eq!(PdhStatus::from(&expanded(text, all).unwrap_err()), want, "{text}");
    }
    let (mut machine, _) = super::machine();
    let empty = expand(&mut machine, &r"\Test Set(*)\*".parse().unwrap(), all).unwrap_err();
    assert_eq!(PdhStatus::from(&empty), PdhStatus::PDH_INVALID_PATH, "none there now");
}

/// Each path to which [`expand`] expands can be added, and selects one instance.
#[test]
fn each_expanded_path_finds_its_instance() {
    let mut machine = documented();
    let paths =
        expand(&mut machine, &r"\Test Set(*)\Size".parse().unwrap(), ExpandOptions::default()).unwrap();
    let mut query = PathQuery::open(&mut machine).unwrap();
    for path in &paths {
        query.add(&mut machine, path).unwrap();
    }
    query.collect().unwrap();
    assert_eq!(query.values().len(), paths.len());
    let found: Vec<_> = query.values().iter().map(|v| v.pdh_path(None).to_string()).collect();
    let asked: Vec<_> = paths.iter().map(|path| path.to_string().replace('/', "_")).collect();
    assert_eq!(found, asked);
}

#[test]
fn objects_and_their_items() {
    let mut machine = documented();
    let names = objects(&mut machine, DetailLevel::WIZARD).unwrap();
    assert_eq!(names, ["Test Set", "System", &own::COUNTERSET.name]);
    assert_eq!(objects(&mut machine, DetailLevel(99)).unwrap(), [""; 0]);
    let mut items = |object, detail| object_items(&mut machine, object, detail).unwrap();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    for (object, detail, counters, instances) in [
        ("system", DetailLevel::WIZARD, &["System Up Time", "Processes"][..], None),
        ("System", DetailLevel::NOVICE, &["System Up Time"], None),
        (
            "Test Set",
            DetailLevel::NOVICE,
            &["Size", "Bytes/sec", "Mean Size"],
            Some(&["a", "b", "p/a", "p/b"][..]),
        ),
    ] {
        let want = ObjectItems { counters: texts(counters), instances: instances.map(texts) };
        assert_eq!(items(object, detail), want, "{object}");
    }
    let (mut machine, _) = super::machine();
    let items = object_items(&mut machine, "Test Set", DetailLevel::NOVICE).unwrap();
    assert_eq!(items.instances, Some(Vec::new()), "there could be some");
    let error = object_items(&mut machine, "No Set", DetailLevel::NOVICE).unwrap_err();
    assert_eq!(PdhStatus::from(&error), PdhStatus::PDH_CSTATUS_NO_OBJECT);
}
