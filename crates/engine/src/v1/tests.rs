//! Tests of V1 blocks as a source, on real blocks, and of a machine's V1 responses, read back.

use std::collections::HashMap;
use std::path::PathBuf;

use perfset_core::clock::{ClockReading, UNIX_EPOCH_100NS};
use perfset_core::v1::*;
use perfset_core::visit::Mode;
use perfset_core::*;

use super::*;
use crate::path::PathQuery;
use crate::testing::{FixedClock, Scripted};
use crate::*;

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/v1").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns a log source made of these V1 blocks, which must have no problem.
fn source_of(blocks: &[Vec<u8>]) -> Blocks {
    let (source, problems) = Blocks::new(blocks.to_vec(), None, Mode::Strict).unwrap();
    assert_eq!(problems, []);
    source
}

/// Returns the snapshots of all countersets of a log source, one for each V1 block.
fn played(source: &mut Blocks) -> Vec<Snapshot> {
    let mut query = source.open().unwrap();
    for guid in source.countersets().unwrap() {
        let set = source.machine().counterset(&guid).unwrap();
        let entry = Entry::all(guid);
        let single = set.instance_type == InstanceType::Single;
        assert!(query.add(&if single { entry } else { entry.instance("*") }).is_success());
    }
    let mut all = Vec::new();
    loop {
        let mut snapshot = Snapshot::default();
        match query.next(&mut snapshot).unwrap() {
            NextOutcome::Sample => all.push(snapshot),
            NextOutcome::End => return all,
        }
    }
}

/// Formatted values of every counter of every instance in two real V1 blocks equal the expected values.
#[test]
fn real_windows_blocks_give_the_expected_values() {
    let text = String::from_utf8(file("windows-vista/expected-sample0-to-1.csv")).unwrap();
    let mut expected: HashMap<(u32, String, u32, usize), Vec<String>> = HashMap::new();
    for line in text.lines().skip(1) {
        // No name in these blocks has a comma.
        let cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        let key = (
            cells[0].parse().unwrap(),
            cells[1].clone(),
            cells[2].parse().unwrap(),
            cells[3].parse().unwrap(),
        );
        assert!(expected.insert(key, cells).is_none());
    }
    assert_eq!(expected.len(), 1719);
    let (mut equal, mut new, mut bases) = (0, 0, 0);
    for object in [2, 4, 230, 234, 236, 238, 510, 638] {
        let blocks = [0, 1].map(|sample| file(&format!("windows-vista/object{object}-sample{sample}.bin")));
        let mut source = source_of(&blocks);
        let snapshots = played(&mut source);
        let [old, newer] = &snapshots[..] else { panic!() };
        let mut seen: HashMap<(Utf16, CounterId), u32> = HashMap::new();
        for value in newer.values(Some(old)) {
            let position = value.counterset.counters.iter().position(|c| c.id == value.counter.id).unwrap();
            let occurrence = seen.entry((value.instance.into(), value.counter.id)).or_default();
            let key = (object, value.instance.to_string(), *occurrence, position);
            *occurrence += 1;
            let Some(cells) = expected.remove(&key) else { panic!("{key:?} is not expected") };
            let status = cells[6].as_str();
            match &value.value {
                Ok(formatted) => {
                    assert_eq!(status, "ok", "{key:?}: {formatted:?}");
                    for (want, got) in
                        cells[7..10].iter().zip([formatted.raw, formatted.nocap(), formatted.capped()])
                    {
                        let want: f64 = want.parse().unwrap();
                        assert!((got - want).abs() <= want.abs() * 1e-12, "{key:?}: got {got}, want {want}");
                    }
                    equal += 1;
                }
                Err(NoValue::NotDisplayable) => {
                    assert_eq!(status, "not_displayable", "{key:?}");
                    bases += 1;
                }
                Err(NoValue::NewInstance) => {
                    assert_eq!(status, "needs_two_samples", "{key:?}");
                    new += 1;
                }
                Err(reason) => panic!("{key:?}: {reason}, must be {status}"),
            }
        }
    }
    assert_eq!(expected.len(), 0, "{expected:?}");
    assert_eq!((equal, bases, new), (1652, 55, 12));
}

/// Returns the values of paths in a source's newest sample, one line each: path, and the value or its reason.
fn shown(source: &mut Blocks, paths: &[&str]) -> Vec<String> {
    let mut query = PathQuery::open(source).unwrap();
    for path in paths {
        query.add(source, &path.parse().unwrap()).unwrap();
    }
    while query.collect().unwrap() == NextOutcome::Sample {}
    let value = |v: path::PathValue<'_>| {
        let shown = match &v.value.value {
            Ok(value) => value.raw.to_string(),
            Err(reason) => reason.keyword().to_owned(),
        };
        let instance_id = v.value.instance_id.map_or(0, |id| id.0);
        format!(
            "{}/{instance_id} {} {shown}",
            v.value.instance,
            v.value.counter.name.as_deref().unwrap_or("-")
        )
    };
    query.values().into_iter().map(value).collect()
}

#[test]
fn equal_names_parents_and_empty_objects() {
    let mut source = source_of(&[file("process-thread.bin")]);
    let names: Vec<_> = source
        .countersets()
        .unwrap()
        .iter()
        .map(|guid| source.machine().counterset(guid).unwrap().name.to_string())
        .collect();
    assert!(names.contains(&"Memory".to_owned()) && names.contains(&"Process".to_owned()), "{names:?}");
    assert_eq!(
        shown(
            &mut source,
            &[
                r"\Process(*)\ID Process",
                r"\Process(sh#1)\ID Process",
                r"\Thread(*)\*",
                r"\Memory\Available Bytes"
            ]
        ),
        [
            "idle/0 ID Process 0",
            "sh/0 ID Process 77",
            "sh/1 ID Process 78",
            "sh/1 ID Process 78",
            "sh/0/0 % Processor Time needs_two_samples",
            "sh/0/0 ID Thread 1000",
            "sh/0/1 % Processor Time needs_two_samples",
            "sh/0/1 ID Thread 1001",
            "/0 Available Bytes 8589934592",
        ]
    );
    let empty =
        source.countersets().unwrap().into_iter().find(|guid| source.instances(guid).is_err()).unwrap();
    assert_eq!(source.instances(&empty), Err(SourceError::NoInstances(empty)));
}

#[test]
fn the_catalogue_gives_guids_and_ids_where_it_knows_the_object() {
    let blocks = [0, 1].map(|sample| file(&format!("windows-vista/object238-sample{sample}.bin")));
    let mut source = source_of(&blocks);
    use perfset_catalogue::processor as known;
    assert_eq!(source.countersets().unwrap(), [known::GUID]);
    let set = source.machine().counterset(&known::GUID).unwrap();
    let busy = set.counter(known::PERCENT_PROCESSOR_TIME).unwrap();
    assert_eq!((busy.name.as_deref(), &*busy.unit), (Some("% Processor Time"), "%"));
    // Vista's object has all that the catalogue has, and nothing else.
    assert!(set.counters.iter().all(|counter| counter.id.0 < 0x1_0000));

    let mut unknown = source_of(&[block_of_object(9_998)]);
    let guid = unknown.countersets().unwrap()[0];
    assert_eq!(guid.to_u128() >> 76 & 0xF, 5, "a UUID of version 5");
    let ids: Vec<_> =
        unknown.machine().counterset(&guid).unwrap().counters.iter().map(|counter| counter.id.0).collect();
    assert_eq!(ids, [0, 1, 2], "positions");
}

/// Returns a V1 block with one object of that title index: a fraction, its base, and a count.
fn block_of_object(name_index: u32) -> Vec<u8> {
    let mut builder = BlockBuilder::new(&ClockReading::default(), "HOST");
    let counters = [
        NewCounter::new(10, CounterType::PERF_RAW_FRACTION),
        NewCounter::new(10, CounterType::PERF_RAW_BASE),
        NewCounter::new(12, CounterType::PERF_COUNTER_RAWCOUNT),
    ];
    builder.single(&NewObject::new(name_index), &counters, [1, 4, 9]);
    builder.finish().unwrap()
}

#[test]
fn names_come_from_the_table_if_there_is_one() {
    let table = name_table([(9_998, "Things"), (10, "% Used"), (12, "Count"), (230, "Process")]);
    let (names, _) = TitleNames::read(NameTable::new(&table));
    let bytes = block_of_object(9_998);
    let (mut source, _) = Blocks::new(vec![bytes], Some(&names), Mode::Strict).unwrap();
    assert_eq!(
        shown(&mut source, &[r"\Things\% Used", r"\Things\*"]),
        ["/0 % Used 25", "/0 % Used 25", "/0 Count 9"]
    );
    // An object that the table does not name has its index, also where the catalogue would know it.
    let (mut source, _) = Blocks::new(vec![file("single.bin")], Some(&names), Mode::Strict).unwrap();
    assert!(shown(&mut source, &[r"\#2\% Used"])[0].ends_with("needs_two_samples"));
}

/// Two recorded samples of a machine are paired by identity: one instance ended, one is new, and one was replaced.
#[test]
fn steps_pair_by_identity() {
    type T = CounterType;
    let counters = [
        NewCounter::new(784, T::PERF_COUNTER_RAWCOUNT),
        NewCounter::new(684, T::PERF_ELAPSED_TIME),
        NewCounter::new(9_930, T::PERF_COUNTER_LARGE_DELTA),
    ];
    let block = |time: i64, rows: &[(&str, [u64; 3])], last: T| {
        let clocks = ClockReading {
            perf_time: time,
            perf_freq: 1,
            time_100ns: time * 10_000_000,
            ..ClockReading::default()
        };
        let mut builder = BlockBuilder::new(&clocks, "HOST");
        let mut counters = counters;
        counters[2].counter_type = last;
        let object = NewObject { clock: Some((time * 10, 10)), ..NewObject::new(230) };
        let mut instances = builder.multiple(&object, &counters);
        for (name, values) in rows {
            let name: Vec<u16> = name.encode_utf16().collect();
            instances.instance(&NewInstance::named(&name), *values);
        }
        instances.finish();
        builder.finish().unwrap()
    };
    let old = block(
        100,
        &[("a", [1, 50, 5]), ("b", [2, 60, 5]), ("c", [3, 70, 5]), ("_Total", [0, 0, 15])],
        T::PERF_COUNTER_LARGE_DELTA,
    );
    let new = block(
        101,
        &[("c", [3, 70, 9]), ("a", [7, 1009, 6]), ("d", [4, 900, 1]), ("_Total", [0, 5, 12])],
        T::PERF_COUNTER_LARGE_DELTA,
    );
    let mut both = source_of(&[old.clone(), new]);
    assert_eq!(
        shown(&mut both, &[r"\Process(*)\#9930", r"\Process(*)\Elapsed Time"]),
        [
            "c/0 #9930 4",
            "a/0 #9930 replaced",
            "d/0 #9930 new_instance",
            "_Total/0 #9930 negative_value",
            "c/0 Elapsed Time 94",
            "a/0 Elapsed Time 0.1",
            "d/0 Elapsed Time 11",
            "_Total/0 Elapsed Time 100.5",
        ]
    );
    // A counter that changed its type between the blocks.
    let changed = block(102, &[("a", [1, 50, 5])], T::PERF_COUNTER_BULK_COUNT);
    assert_eq!(
        shown(&mut source_of(&[old.clone(), changed]), &[r"\Process(*)\#9930"]),
        ["a/0 #9930 type_changed"]
    );
    // An object that is not in every block.
    let other = file("single.bin");
    let (mut apart, _) = Blocks::new(vec![old, other], None, Mode::Strict).unwrap();
    let values = shown(&mut apart, &[r"\Process(*)\#9930"]);
    assert_eq!(values[0], "*/0 #9930 failed");
}

#[test]
fn block_problems_are_reported() {
    let mut bytes = file("process-thread.bin");
    bytes[0x14c..0x150].copy_from_slice(&4_u32.to_le_bytes()); // a second object 4
    let (source, problems) = Blocks::new(vec![bytes], None, Mode::Strict).unwrap();
    assert_eq!(problems, [BlockProblem { block: 0, what: ObjectProblem::Repeated(4) }]);
    assert_eq!(source.machine().countersets().len(), 3);

    let mut bytes = file("process-thread.bin");
    bytes[0x268..0x26c].fill(0); // an instance of length 0
    assert!(Blocks::new(vec![bytes.clone()], None, Mode::Strict).is_err());
    let (mut source, problems) = Blocks::new(vec![bytes], None, Mode::Tolerant).unwrap();
    assert_eq!(
        problems[0].to_string(),
        "PERF_INSTANCE_DEFINITION.ByteLength at byte 616: is 0, must be from 24 to 128, R18"
    );
    assert_eq!(shown(&mut source, &[r"\Process(*)\ID Process"]), ["idle/0 ID Process 0"]);

    let (mut nothing, _) = Blocks::new(Vec::new(), None, Mode::Strict).unwrap();
    assert_eq!(nothing.countersets(), Ok(Vec::new()));
    assert_eq!(nothing.open().unwrap().next(&mut Snapshot::default()), Ok(NextOutcome::End));

    let mut builder = BlockBuilder::new(&ClockReading::default(), "HOST");
    let counter = NewCounter::new(2, CounterType::PERF_COUNTER_RAWCOUNT);
    builder.single(&NewObject::new(2), &vec![counter; 4_097], []);
    for index in 0..5_000 {
        builder.multiple(&NewObject::new(index * 2 + 4), &[]).finish();
    }
    let (source, problems) = Blocks::new(vec![builder.finish().unwrap()], None, Mode::Strict).unwrap();
    assert_eq!(source.machine().countersets().len(), 4_096);
    let too_many = problems.iter().filter(|problem| problem.to_string().contains("more than 4096 objects"));
    assert!(too_many.count() > 800, "{} problems", problems.len());
}

#[test]
fn value_names() {
    for (text, want) in [
        ("", Ok(ValueName::Global)),
        ("gLOBAL", Ok(ValueName::Global)),
        ("OLD_Global", Ok(ValueName::Global)),
        (" Costly ", Ok(ValueName::Costly)),
        ("MetadataGlobal", Ok(ValueName::MetadataGlobal)),
        ("238", Ok(ValueName::Objects(vec![238]))),
        ("2  4 238", Ok(ValueName::Objects(vec![2, 4, 238]))),
        ("Counter 009", Ok(ValueName::Names(Language(9)))),
        ("counter 9", Ok(ValueName::Names(Language(9)))),
        ("Help", Ok(ValueName::Helps(Language::ENGLISH))),
        ("EXPLAIN 0804", Ok(ValueName::Helps(Language(0x804)))),
        ("Counter 9x", Err(ParseValueNameError::Language("9x".into()))),
        ("Counter 009 9", Err(ParseValueNameError::Language("009 9".into()))),
        ("Foreign host", Err(ParseValueNameError::Foreign("Foreign host".into()))),
        ("38x", Err(ParseValueNameError::Unknown("38x".into()))),
        ("+238", Err(ParseValueNameError::Unknown("+238".into()))),
        ("Counter +9", Err(ParseValueNameError::Language("+9".into()))),
        ("old_costly", Ok(ValueName::Costly)),
        ("Globally", Err(ParseValueNameError::Unknown("Globally".into()))),
        ("-1", Err(ParseValueNameError::Unknown("-1".into()))),
        ("4294967296", Err(ParseValueNameError::Unknown("4294967296".into()))),
    ] {
        assert_eq!(text.parse(), want, "{text}");
    }
}

fn counter(id: u32, name: &'static str, counter_type: CounterType) -> Counter {
    crate::tests::counter(id, name, counter_type, None)
        .help(if name.is_empty() { Text::default() } else { format!("About {name}.").into() })
        .attributes(if name.is_empty() { Attributes::NO_DISPLAYABLE } else { Attributes::default() })
        .detail(DetailLevel::ADVANCED)
        .default_scale(-1)
        .wraps(false)
        .caps(false)
        .source("script")
}

const MULTIPLE: Guid = Guid::from_u128(5);
const SINGLE: Guid = Guid::from_u128(6);

fn machine() -> (Machine, Scripted) {
    type T = CounterType;
    let mean = counter(3, "Mean", T::PERF_AVERAGE_BULK).base(CounterId(9));
    let activity = counter(5, "Activity", T::PERF_100NSEC_MULTI_TIMER).multi(CounterId(4));
    let counters = vec![
        counter(2, "Size", T::PERF_COUNTER_LARGE_RAWCOUNT),
        mean,
        counter(4, "Items", T::PERF_COUNTER_RAWCOUNT),
        activity,
        counter(6, "Age", T::PERF_ELAPSED_TIME),
        counter(7, "Lacking", T::PERF_COUNTER_BULK_COUNT),
        counter(9, "", T::PERF_AVERAGE_BASE),
    ];
    let set = |guid, name: &'static str, instance_type| {
        Counterset::new(guid, name, instance_type)
            .help(format!("About {name}."))
            .provider(Guid::NIL, "Script")
            .counters(counters.clone())
    };
    let machine = Machine::bare(Box::new(FixedClock::default()));
    let sets =
        vec![set(MULTIPLE, "Several", InstanceType::Multiple), set(SINGLE, "One", InstanceType::Single)];
    let provider = Scripted::new(sets);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

fn asked(machine: &Machine, name: &str) -> V1Response {
    query(machine, &name.parse().unwrap(), "HOST").unwrap()
}

#[test]
fn a_machine_reads_back_from_its_block() {
    let (machine, provider) = machine();
    let lacking = || Err(NoValue::Unavailable("not here".into()));
    let start = u64::try_from(UNIX_EPOCH_100NS).unwrap();
    let row = |n: u64| {
        vec![Ok(n), Ok(n * 100), Ok(4), Ok(n * 10_000_000), Ok(start - 50_000_000), lacking(), Ok(n)]
    };
    let step = |n: u64| {
        provider.with(|s| s.rows = vec![("a", 1, row(n)), ("a", 2, row(n * 2)), ("b", 3, row(n * 3))]);
        asked(&machine, "Global")
    };
    let (old, new) = (step(7), step(9));
    let titles = asked(&machine, "Counter 009");
    let (names, skipped) = TitleNames::read(NameTable::new(&titles.bytes));
    assert!(skipped.is_empty());
    let (mut played, problems) =
        Blocks::new(vec![old.bytes, new.bytes.clone()], Some(&names), Mode::Strict).unwrap();
    assert_eq!(problems, []);
    let values = shown(&mut played, &[r"\Several(*)\*"]);
    assert_eq!(
        values,
        [
            "a/0 Size 9",
            "a/0 Mean 100",
            "a/0 Items 4",
            "a/0 Activity 50",
            "a/0 Age 6",
            "a/1 Size 18",
            "a/1 Mean 100",
            "a/1 Items 4",
            "a/1 Activity 100",
            "a/1 Age 6",
            "b/0 Size 27",
            "b/0 Mean 100",
            "b/0 Items 4",
            "b/0 Activity 150",
            "b/0 Age 6",
        ],
        "what the machine lacks is not there, and is not 0"
    );
    let (block, _) = perfset_core::v1::read(&new.bytes, Mode::Strict).unwrap();
    let index =
        Titles::new([&*machine.counterset(&MULTIPLE).unwrap(), &*machine.counterset(&SINGLE).unwrap()])
            .counterset_title(MULTIPLE)
            .unwrap();
    let object = block.object(index).unwrap();
    let types: Vec<_> = object.definitions().iter().map(|d| (d.counter_type(), d.default_scale())).collect();
    type T = CounterType;
    assert_eq!(types[1..3], [(T::PERF_AVERAGE_BULK, -1), (T::PERF_AVERAGE_BASE, -1)]);
    assert_eq!(types[4..6], [(T::PERF_100NSEC_MULTI_TIMER, -1), (T::PERF_COUNTER_MULTI_BASE, -1)]);
    assert_eq!(object.clock(), (UNIX_EPOCH_100NS + 10_000_000, 10_000_000));
    assert_eq!(block.system_name(), "HOST");

    // Helps are one behind names.
    let (helps, _) = TitleNames::read(NameTable::new(&asked(&machine, "Help 009").bytes));
    let (size, set) = (names.indexes("Size").next().unwrap(), names.indexes("Several").next().unwrap());
    assert_eq!((helps.get(size + 1), helps.get(set + 1)), (Some("About Size."), Some("About Several.")));
    assert_eq!(asked(&machine, "Explain 009"), asked(&machine, "Help 9"));

    let first_pair: Vec<u8> = "1\u{0}1847\u{0}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(titles.bytes.starts_with(&first_pair), "the last index of every system comes first");
    assert_eq!((names.get(1846), helps.get(1847)), (Some("End Marker"), Some("End Marker")));
    assert!(names.iter().all(|(index, text)| index != 0 && !text.is_empty()));
}

#[test]
fn queries_choose_objects() {
    let (machine, provider) = machine();
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(1), Ok(2), Ok(3), Ok(4), Ok(5), Ok(6), Ok(7)])]);
    let sets = [MULTIPLE, SINGLE].map(|guid| machine.counterset(&guid).unwrap());
    let titles = Titles::new(sets.iter().map(|set| &**set));
    let [several, one] = [MULTIPLE, SINGLE].map(|guid| titles.counterset_title(guid).unwrap());
    let objects = |name: &str| {
        let answer = asked(&machine, name);
        assert_eq!(answer.left_out, []);
        let (block, _) = perfset_core::v1::read(&answer.bytes, Mode::Strict).unwrap();
        let mut indexes: Vec<_> = block.objects().map(|object| object.unwrap().name_index()).collect();
        indexes.sort_unstable();
        indexes
    };
    let mut both = vec![several, one];
    both.sort_unstable();
    assert_eq!(objects("Global"), both);
    assert_eq!(objects("MetadataGlobal"), both);
    assert_eq!(objects(&format!("{one} 12")), [one]);
    assert_eq!(objects("1 3 5"), [0; 0]);
    assert_eq!(objects("Costly"), [0; 0]);
    let metadata = asked(&machine, "MetadataGlobal");
    let (block, _) = perfset_core::v1::read(&metadata.bytes, Mode::Strict).unwrap();
    let is_multiple =
        |index| matches!(block.object(index).unwrap().contents(), Contents::Metadata { is_multiple: true });
    assert!(is_multiple(several) && !is_multiple(one));

    // An object of which no counter has a value is not there, as such counters are not.
    provider.with(|s| s.rows = vec![("a", 1, vec![])]);
    assert_eq!(objects("Global"), [0; 0]);

    // A provider that fails is left out, and said.
    provider.with(|s| s.failure = Some(SourceError::Failed("broken".into())));
    let answer = asked(&machine, "Global");
    let left: Vec<_> = answer.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(left, ["One: broken", "Several: broken"]);
    assert_eq!(
        query(&machine, &ValueName::Names(Language(7)), "H"),
        Err(SourceError::LanguageNotFound(Language(7)))
    );
}

#[test]
fn title_indexes_are_even_fixed_and_never_taken_twice() {
    let built_in = Titles::new(perfset_catalogue::ALL.iter().copied());
    assert_eq!(built_in.counterset_title(perfset_catalogue::memory::GUID), Some(4));
    let names = built_in.names();
    assert_eq!((names.get(6), names.get(238)), (Some("% Processor Time"), Some("Processor")));

    let sets: Vec<Counterset> = (0..3_000_u128)
        .map(|guid| {
            let (machine, _) = machine();
            let mut set = Counterset::clone(&machine.counterset(&SINGLE).unwrap());
            set.guid = Guid::from_u128(guid);
            set
        })
        .collect();
    let titles = Titles::new(&sets);
    let again = Titles::new(&sets);
    let mut seen = std::collections::BTreeSet::new();
    for set in &sets {
        for index in set
            .counters
            .iter()
            .filter_map(|c| titles.counter_title(set.guid, c))
            .chain(titles.counterset_title(set.guid))
        {
            assert!(index % 2 == 0 && (1 << 17..1 << 20).contains(&index), "{index}");
            assert!(seen.insert(index), "{index}");
        }
        assert_eq!(titles.counterset_title(set.guid), again.counterset_title(set.guid));
    }
    // Fixed for ever: another number for the same counterset would be another counterset to those who recorded it.
    assert_eq!(Titles::new(&sets[..1]).counterset_title(Guid::NIL), Some(407_010));
}

/// Returns a V1 block with one object without instances: definitions as title index and type, and their values.
fn single(machine: &str, name_index: u32, counters: &[(u32, CounterType)], values: &[u64]) -> Vec<u8> {
    let counters: Vec<_> = counters.iter().map(|(index, t)| NewCounter::new(*index, *t)).collect();
    let mut builder = BlockBuilder::new(&ClockReading::default(), machine);
    builder.single(&NewObject::new(name_index), &counters, values.iter().copied());
    builder.finish().unwrap()
}

#[test]
fn definitions_that_move_between_blocks_are_found_again() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let old = single("A", 9_998, &[(10, raw), (9_920, raw), (9_920, raw)], &[1, 2, 3]);
    let new = single("A", 9_998, &[(9_905, raw), (10, raw), (9_920, raw), (9_920, raw)], &[4, 1, 2, 3]);
    let values: Vec<_> = shown(&mut source_of(&[old, new]), &[r"\#9998\*"])
        .iter()
        .map(|value| value.rsplit(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(values, ["1", "2", "3", "4"]);
}

#[test]
fn blocks_that_do_not_go_together_say_so() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let one = single("A", 9_998, &[(9_920, raw)], &[100]);
    let other = single("B", 9_998, &[(9_920, raw)], &[100]);
    let mut builder = BlockBuilder::new(&ClockReading::default(), "A");
    let mut instances = builder.multiple(&NewObject::new(9_998), &[NewCounter::new(9_920, raw)]);
    instances.instance(&NewInstance::named(&[97]), [600]);
    instances.finish();
    let (mut blocks, problems) =
        Blocks::new(vec![one, other, builder.finish().unwrap()], None, Mode::Strict).unwrap();
    let problems: Vec<_> = problems.iter().map(|problem| (problem.block, problem.to_string())).collect();
    let other = "the block is left out: its machine \"B\" is not that of the earlier blocks".to_owned();
    let changed =
        "object with title index 9998 is left out: it has instances in one block and none in another";
    assert_eq!(problems, [(1, other), (2, changed.to_owned())]);
    assert_eq!(shown(&mut blocks, &[r"\#9998\*"]), ["/0 #9920 failed"]);
}

#[test]
fn only_a_number_of_items_is_one() {
    type T = CounterType;
    let counters = [(9_920, T::PERF_100NSEC_MULTI_TIMER), (9_922, T::PERF_AVERAGE_BASE)];
    let block = |time: i64, busy: u64| {
        let clocks = ClockReading {
            perf_time: time,
            time_100ns: time,
            perf_freq: 10_000_000,
            ..ClockReading::default()
        };
        let mut builder = BlockBuilder::new(&clocks, "A");
        let counters = counters.map(|(index, t)| NewCounter::new(index, t));
        builder.single(&NewObject::new(9_998), &counters, [busy, 9]);
        let mut bytes = builder.finish().unwrap();
        let end = bytes.len();
        bytes[end - 8..end - 4].copy_from_slice(&9_u32.to_le_bytes());
        bytes
    };
    // Behind the value are 4 bytes of the average base: 9, which are its number of items only because of their place.
    let mut blocks = source_of(&[block(0, 0), block(10_000_000, 9_000_000)]);
    assert_eq!(shown(&mut blocks, &[r"\#9998\#9920"]), ["/0 #9920 10"]);
    let set = blocks.machine().counterset(&blocks.machine().countersets()[0]).unwrap();
    assert_eq!(set.counters[0].multi, Some(CounterId(0x2_0000)));
}

/// Names that come from a V1 name table are cut to the maximum length of a name, however long the table's texts are.
#[test]
fn long_titles_are_cut() {
    let raw = CounterType::PERF_COUNTER_RAWCOUNT;
    let block = single("A", 9_998, &[(9_920, raw)], &[1]);
    let mut names = TitleNames::default();
    names.insert(9_920, "x".repeat(100_000));
    let (blocks, _) = Blocks::new(vec![block], Some(&names), Mode::Strict).unwrap();
    let set = blocks.machine().counterset(&blocks.machine().countersets()[0]).unwrap();
    assert_eq!(set.counters[0].name.as_deref().unwrap().len(), 1_023);
}

#[test]
fn counters_of_later_blocks_are_there_too() {
    type T = CounterType;
    let (small, large) = (T::PERF_COUNTER_RAWCOUNT, T::PERF_COUNTER_LARGE_RAWCOUNT);
    let old = single("A", 9_998, &[(9_920, small)], &[1]);
    let new = single(
        "A",
        9_998,
        &[(9_910, T::PERF_RAW_FRACTION), (9_910, T::PERF_RAW_BASE), (9_920, small), (9_922, large)],
        &[1, 4, 2, 3],
    );
    assert_eq!(
        shown(&mut source_of(&[old.clone(), new]), &[r"\#9998\*"]),
        ["/0 #9920 2", "/0 #9910 25", "/0 #9922 3"]
    );
    // Of two with one index the one that stays is known by its type.
    let both = single("A", 9_998, &[(9_920, small), (9_920, large)], &[5, 6]);
    let one = single("A", 9_998, &[(9_920, large)], &[7]);
    assert_eq!(shown(&mut source_of(&[both, one]), &[r"\#9998\*"]), ["/0 #9920 type_changed", "/0 #9920 7"]);
    // A block of another machine has nothing to compare.
    let other = single("B", 9_998, &[(9_920, small)], &[9]);
    let (mut blocks, _) = Blocks::new(vec![old, other], None, Mode::Strict).unwrap();
    assert_eq!(shown(&mut blocks, &[r"\#9998\*"]), ["/0 #9920 failed"]);
}
