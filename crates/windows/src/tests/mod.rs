//! Tests with correct and wrong responses of the system: an emulated PerfLib, whose responses the tests change.

mod growing;
mod v1;
mod v2;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perfset_core::v1::{NameTable, TitleNames};
use perfset_core::visit::Mode;
use perfset_core::*;
use perfset_engine::testing::{FixedClock, Scripted};
use perfset_engine::v1::Blocks;
use perfset_engine::{Entry, Machine, RegInfo, RegRequest, Snapshot, SourceError};
use proptest::prelude::*;

use crate::functions::{FillResult, MissingFunctions, PerfLib, PerformanceKey, RawQuery};
use crate::{Settings, emulated, machine, machine_of_v2};

const MULTI: Guid = Guid::from_u128(2);
const SINGLE: Guid = Guid::from_u128(1);
const TOTALS: Guid = Guid::from_u128(3);

fn counter(id: u32, name: &'static str, counter_type: CounterType, base: Option<u32>) -> Counter {
    Counter::new(CounterId(id), counter_type)
        .name(name)
        .help(format!("Help of {name}"))
        .base(base.map(CounterId))
        .aggregate(Aggregate::Total)
}

fn set(guid: Guid, name: &'static str, instance_type: InstanceType) -> Counterset {
    let counters = vec![
        counter(7, "Bytes", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
        counter(3, "Items", CounterType::PERF_COUNTER_RAWCOUNT, None),
        counter(5, "Size", CounterType::PERF_AVERAGE_BULK, Some(9)),
        counter(9, "", CounterType::PERF_AVERAGE_BASE, None),
    ];
    let german = Translation {
        language: Language(0x0407),
        name: format!("{name} auf Deutsch").into(),
        help: "Hilfe".into(),
        counters: vec![(CounterId(3), "Posten".into(), "Hilfe zu Posten".into())].into(),
    };
    Counterset::new(guid, name, instance_type)
        .help("Help")
        .provider(Guid::from_u128(11), "Scripted")
        .counters(counters)
        .translations([german])
}

/// Returns a machine with one counterset of each instance type. All have row `a`; all except the single one have row
/// `b`.
pub fn script() -> (Machine, Vec<Scripted>) {
    let machine = Machine::bare(Box::new(FixedClock::default()));
    let mut scripts = Vec::new();
    for (guid, name, kind) in [
        (SINGLE, "One", InstanceType::Single),
        (MULTI, "Many", InstanceType::Multiple),
        (TOTALS, "Totals", InstanceType::MultiAggregate),
    ] {
        let scripted = Scripted::new(vec![set(guid, name, kind)]);
        scripted.with(|script| {
            script.rows = vec![("a", 1, vec![Ok(2), Ok(3), Ok(5), Ok(7)])];
            if kind != InstanceType::Single {
                script.rows.push(("b", 4, vec![Ok(11), Ok(13), Ok(17), Ok(19)]));
            }
        });
        machine.register(Box::new(scripted.clone()));
        scripts.push(scripted);
    }
    (machine, scripts)
}

/// Function that changes a response: by the function's name, its code and size, and the buffer.
type Change = dyn Fn(&'static str, &mut FillResult, &mut [u8]) + Send + Sync;

/// PerfLib's functions with changed responses.
struct Changed {
    inner: emulated::EmulatedPerfLib,
    change: Box<Change>,
    /// Handles of the queries that are open.
    open: Arc<Mutex<BTreeSet<usize>>>,
}

impl fmt::Debug for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changed")
    }
}

impl Changed {
    fn of(
        machine: &Machine,
        change: impl Fn(&'static str, &mut FillResult, &mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: emulated::EmulatedPerfLib::new(machine.clone()),
            change: Box::new(change),
            open: Arc::default(),
        }
    }

    fn after(&self, function: &'static str, mut filled: FillResult, buffer: &mut [u8]) -> FillResult {
        (self.change)(function, &mut filled, buffer);
        filled
    }
}

impl PerfLib for Changed {
    fn enumerate_countersets(&self, guids: &mut [u8]) -> FillResult {
        let filled = self.inner.enumerate_countersets(guids);
        self.after("enumerate", filled, guids)
    }

    fn registration_info(&self, set: &Guid, code: u32, language: u32, info: &mut [u8]) -> FillResult {
        let filled = self.inner.registration_info(set, code, language, info);
        let name = ["", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"][code as usize];
        self.after(name, filled, info)
    }

    fn enumerate_instances(&self, set: &Guid, instances: &mut [u8]) -> FillResult {
        let filled = self.inner.enumerate_instances(set, instances);
        self.after("instances", filled, instances)
    }

    fn open_query(&self) -> Result<RawQuery, Status> {
        let opened = self.inner.open_query()?;
        assert!(self.open.lock().unwrap().insert(opened.0));
        Ok(opened)
    }

    fn close_query(&self, query: RawQuery) -> Status {
        assert!(self.open.lock().unwrap().remove(&query.0), "a handle is closed once");
        self.inner.close_query(query)
    }

    fn add_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        let status = self.inner.add_counters(query, identifiers);
        self.after("add", FillResult::failed(status), identifiers).status
    }

    fn delete_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        self.inner.delete_counters(query, identifiers)
    }

    fn query_info(&self, query: RawQuery, identifiers: &mut [u8]) -> FillResult {
        let filled = self.inner.query_info(query, identifiers);
        self.after("info", filled, identifiers)
    }

    fn query_data(&self, query: RawQuery, block: &mut [u8]) -> FillResult {
        let filled = self.inner.query_data(query, block);
        self.after("data", filled, block)
    }
}

/// Performance key without any objects.
#[derive(Debug, Default)]
pub struct NoObjects;

impl PerformanceKey for NoObjects {
    fn query_value(&self, _: &str, _: &mut [u8]) -> FillResult {
        FillResult::failed(Status(2))
    }

    fn close(&self) {}
}

fn over(functions: impl PerfLib + 'static, key: impl PerformanceKey + 'static, language: u32) -> Machine {
    let settings = Settings { language: Language(language), is_costly: false };
    machine(Box::new(FixedClock::default()), Arc::new(functions), Arc::new(key), &settings)
}

/// Returns the rows of a counterset as texts: names, ids and raw values, or the reason for a missing value.
pub fn rows(machine: &Machine, guid: Guid, counters: &[u32]) -> Vec<String> {
    let mut query = machine.query();
    let is_multiple = machine.counterset(&guid).is_ok_and(|set| set.instance_type.is_multiple());
    let entry = match counters {
        [] => Entry::all(guid),
        ids => {
            let mut entry = Entry::all(guid);
            entry.counters = perfset_engine::Counters::from(CounterFilter::One(CounterId(ids[0])));
            entry
        }
    };
    let status = query.add(&if is_multiple { entry.instance("*") } else { entry });
    if !status.is_success() {
        return vec![status.to_string()];
    }
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    // The name and id of a single instance are not compared: a counter requested alone has none.
    let id = |value: &perfset_engine::Value<'_>| if is_multiple { value.instance_id.unwrap().0 } else { 0 };
    let shown = |value: perfset_engine::Value<'_>| match value.raw {
        Some(raw) => {
            format!("{} {} {}={raw:?}", value.instance, id(&value), value.counter.id.0)
        }
        None => format!("{} {}: {}", value.instance, value.counter.id.0, value.value.unwrap_err()),
    };
    snapshot.values(None).map(shown).collect()
}

#[test]
fn system_countersets_are_unchanged() {
    let (machine, _scripts) = script();
    let windows = over(emulated::EmulatedPerfLib::new(machine.clone()), NoObjects, 0x0409);
    for (guid, kind) in
        [(SINGLE, InstanceType::Single), (MULTI, InstanceType::Multiple), (TOTALS, InstanceType::Multiple)]
    {
        let (own, there) = (machine.counterset(&guid).unwrap(), windows.counterset(&guid).unwrap());
        assert_eq!((&there.name, &there.help, &there.provider), (&own.name, &own.help, &own.provider));
        assert_eq!(there.instance_type, kind, "an aggregate is what it shows");
        let about = |counter: &Counter| {
            (counter.id, counter.name.clone(), counter.help.clone(), counter.counter_type, counter.base)
        };
        let (own, there): (Vec<_>, Vec<_>) =
            (own.counters.iter().map(about).collect(), there.counters.iter().map(about).collect());
        assert_eq!(there, own);
        assert_eq!(windows.instances(&guid), machine.instances(&guid));
        assert_eq!(windows.origin(&guid).unwrap(), "PerfLib V2");
    }
    for (guid, all) in [
        (SINGLE, &[" 0 7=U64(2)", " 0 3=U32(3)", " 0 5=U64(5)", " 0 9=U32(7)"][..]),
        (
            MULTI,
            &[
                "a 1 7=U64(2)",
                "a 1 3=U32(3)",
                "a 1 5=U64(5)",
                "a 1 9=U32(7)",
                "b 4 7=U64(11)",
                "b 4 3=U32(13)",
                "b 4 5=U64(17)",
                "b 4 9=U32(19)",
            ],
        ),
    ] {
        assert_eq!(rows(&windows, guid, &[]), all);
        assert_eq!(rows(&windows, guid, &[3]), rows(&machine, guid, &[3]));
    }
    assert_eq!(rows(&windows, TOTALS, &[]), rows(&machine, TOTALS, &[]), "the system's own total");
    assert_eq!(windows.counterset(&SINGLE).unwrap().counters[0].source.to_string(), "PerfLib V2");
}

#[test]
fn a_value_that_is_missing_says_so() {
    let (machine, scripts) = script();
    let windows = over(emulated::EmulatedPerfLib::new(machine), NoObjects, 0x0409);
    scripts[1].with(|script| {
        script.rows[0].2[1] = Err(NoValue::Late);
        script.rows[1].2[0] = Err(NoValue::Late);
    });
    let found = rows(&windows, MULTI, &[]);
    assert_eq!(found[1], "a 3: no reason was given");
    assert_eq!(found[4], "b 7: no reason was given");
    assert_eq!(found[5], "b 4 3=U32(13)");
    scripts[1].with(|script| script.rows.clear());
    assert_eq!(
        rows(&windows, MULTI, &[]),
        [
            "* 7: no active instance matches",
            "* 3: no active instance matches",
            "* 5: no active instance matches",
            "* 9: no active instance matches"
        ]
        .map(|s| s.to_owned())
    );
    assert_eq!(windows.instances(&MULTI), Err(SourceError::NoInstances(MULTI)));
}

#[test]
fn texts_are_there_in_the_users_language() {
    let (machine, _scripts) = script();
    let windows = over(emulated::EmulatedPerfLib::new(machine), NoObjects, 0x0407);
    let set = windows.counterset(&MULTI).unwrap();
    assert_eq!((&*set.name, &*set.help), ("Many", "Help"));
    assert_eq!(set.translations[0].name, "Many auf Deutsch");
    let ask = |request| windows.registration(&MULTI, request).unwrap();
    assert_eq!(ask(RegRequest::CountersetName(Language::DEFAULT)), RegInfo::Text("Many auf Deutsch".into()));
    assert_eq!(ask(RegRequest::CountersetEnglishName), RegInfo::Text("Many".into()));
    let RegInfo::Texts(names) = ask(RegRequest::CounterNames(Language::DEFAULT)) else { panic!() };
    assert_eq!(names[1], (CounterId(3), Some("Posten".into())));
}

/// Checks that the result of a query entry is found by its index, although the system lists its own entries, too, in
/// any order.
#[test]
fn a_result_is_found_by_the_index_that_the_system_says() {
    let (machine, _scripts) = script();
    let functions = Changed::of(&machine, |function, filled, buffer| {
        let len = filled.actual as usize;
        match function {
            "info" if filled.status.is_success() => {
                buffer[32..36].copy_from_slice(&1_u32.to_le_bytes());
            }
            // A result that was not requested, before the requested one: 16 bytes with status 232.
            "data" if filled.status.is_success() && buffer.len() >= len + 16 => {
                buffer.copy_within(48..len, 64);
                buffer[48..64].copy_from_slice(&[232, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0]);
                buffer[0..4].copy_from_slice(&(filled.actual + 16).to_le_bytes());
                buffer[4..8].copy_from_slice(&2_u32.to_le_bytes());
                filled.actual += 16;
            }
            _ => {}
        }
    });
    let windows = over(functions, NoObjects, 0x0409);
    assert_eq!(rows(&windows, SINGLE, &[3]), rows(&machine, SINGLE, &[3]));
    assert_eq!(rows(&windows, MULTI, &[])[7], "b 4 9=U32(19)");
}

#[test]
fn functions_that_are_missing_take_nothing_else_away() {
    let (machine, _scripts) = script();
    let windows = over(
        MissingFunctions(Status::ERROR_CALL_NOT_IMPLEMENTED),
        emulated::EmulatedPerformanceKey::new(machine, "HOST"),
        0x0409,
    );
    let problems: Vec<_> = windows.problems().iter().map(ToString::to_string).collect();
    let want = "a provider has no catalogue: PerfEnumerateCounterSet: ERROR_CALL_NOT_IMPLEMENTED (120)";
    assert_eq!(problems, [want]);
    let names: Vec<_> =
        windows.countersets().iter().map(|guid| windows.counterset(guid).unwrap().name.to_string()).collect();
    assert_eq!(names.len(), 4, "three objects and the engine's own: {names:?}");
}

pub fn testdata(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Performance key with blocks of a real Windows: each object's next sample at each query.
#[derive(Debug, Default)]
pub struct Vista {
    requests: Mutex<Vec<String>>,
    closed: AtomicU32,
}

const VISTA: [u32; 8] = [2, 4, 230, 234, 236, 238, 510, 638];

impl Vista {
    fn value(&self, name: &str) -> Option<Vec<u8>> {
        let before = self.requests.lock().unwrap().iter().filter(|asked| *asked == name).count();
        let sample = before.saturating_sub(1).min(1);
        let block = |object: u32| testdata(&format!("v1/windows-vista/object{object}-sample{sample}.bin"));
        match name {
            "Counter 009" | "Help 009" => {
                let names = perfset_engine::v1::windows_names();
                Some(perfset_core::v1::name_table(names.iter()))
            }
            // All objects as one block: the first one's header before them.
            "Global" => {
                let blocks: Vec<_> = VISTA.iter().map(|object| block(*object)).collect();
                let header = |block: &[u8]| u32::from_le_bytes(*block[24..].first_chunk().unwrap()) as usize;
                let mut all = blocks[0][..header(&blocks[0])].to_vec();
                for block in &blocks {
                    all.extend_from_slice(&block[header(block)..]);
                }
                let len = all.len() as u32;
                all[20..24].copy_from_slice(&len.to_le_bytes());
                all[28..32].copy_from_slice(&(VISTA.len() as u32).to_le_bytes());
                Some(all)
            }
            index => {
                let object = index.parse().ok().filter(|index| VISTA.contains(index))?;
                Some(block(object))
            }
        }
    }
}

impl PerformanceKey for Arc<Vista> {
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
        self.requests.lock().unwrap().push(name.to_owned());
        let Some(answer) = self.value(name) else { return FillResult::failed(Status(2)) };
        match value.get_mut(..answer.len()) {
            Some(room) => {
                room.copy_from_slice(&answer);
                FillResult { status: Status::ERROR_SUCCESS, actual: answer.len() as u32 }
            }
            None => FillResult { status: Status::ERROR_MORE_DATA, actual: 0 },
        }
    }

    fn close(&self) {
        self.closed.fetch_add(1, Relaxed);
    }
}

/// Checks that values are the same as from the recorded blocks, and that only the requested object is read.
#[test]
fn objects_of_a_real_windows() {
    let vista = Arc::new(Vista::default());
    let windows = over(MissingFunctions(Status::ERROR_CALL_NOT_IMPLEMENTED), Arc::clone(&vista), 0x0409);
    assert_eq!(windows.countersets().len(), VISTA.len() + 1);
    assert_eq!(*vista.requests.lock().unwrap(), ["Global", "Counter 009", "Help 009"]);
    assert_eq!(vista.closed.load(Relaxed), 1, "nobody asks for values yet");
    let guid = perfset_catalogue::process::GUID;
    let set = windows.counterset(&guid).unwrap();
    assert_eq!(windows.origin(&guid).unwrap(), "PerfLib V1");
    assert_eq!(set.counters[0].source.to_string(), "HKEY_PERFORMANCE_DATA, object 230");

    vista.requests.lock().unwrap().clear();
    let mut query = windows.query();
    assert!(query.add(&Entry::all(guid).instance("*")).is_success());
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    query.collect(&mut old).unwrap();
    query.collect(&mut new).unwrap();
    assert_eq!(*vista.requests.lock().unwrap(), ["230", "230"]);

    let recorded = [0, 1].map(|sample| testdata(&format!("v1/windows-vista/object230-sample{sample}.bin")));
    let (mut blocks, _) = Blocks::new(recorded.to_vec(), None, Mode::Strict).unwrap();
    let mut replay = perfset_engine::Source::open(&mut blocks).unwrap();
    assert!(replay.add(&Entry::all(guid).instance("*")).is_success());
    let (mut first, mut second) = (Snapshot::default(), Snapshot::default());
    replay.next(&mut first).unwrap();
    replay.next(&mut second).unwrap();
    let all = |new: &Snapshot, old: &Snapshot| -> Vec<String> {
        new.values(Some(old))
            .map(|v| format!("{} {} {:?} {:?}", v.instance, v.counter.id.0, v.raw, v.value))
            .collect()
    };
    let (there, want) = (all(&new, &old), all(&second, &first));
    assert!(want.len() > 1_000 && want.iter().any(|value| value.contains("Ok")));
    for (there, want) in there.iter().zip(&want) {
        assert_eq!(there, want);
    }
    assert_eq!(there.len(), want.len());
    drop(query);
    let _ = windows.describe(); // which its thread answers after the removal
    assert_eq!(vista.closed.load(Relaxed), 2, "nobody asks any more");
}

#[test]
fn v2_countersets_are_not_duplicated_from_v1() {
    let (machine, _scripts) = script();
    let key = emulated::EmulatedPerformanceKey::new(machine.clone(), "HOST");
    let windows = over(emulated::EmulatedPerfLib::new(machine), key, 0x0409);
    assert_eq!(windows.countersets().len(), 4, "three and the engine's own");
    assert_eq!(windows.problems(), []);
    assert_eq!(windows.origin(&MULTI).unwrap(), "PerfLib V2");
}

#[test]
fn a_v1_provider_that_writes_nonsense() {
    for bytes in [&b""[..], b"PERF", &[0xFF; 200], &testdata("v1/wine8_global_as_returned.bin")] {
        #[derive(Debug)]
        struct Nonsense(Vec<u8>);
        impl PerformanceKey for Nonsense {
            fn query_value(&self, _: &str, value: &mut [u8]) -> FillResult {
                value[..self.0.len()].copy_from_slice(&self.0);
                FillResult { status: Status::ERROR_SUCCESS, actual: self.0.len() as u32 }
            }
            fn close(&self) {}
        }
        let (machine, _scripts) = script();
        let windows = over(emulated::EmulatedPerfLib::new(machine), Nonsense(bytes.to_vec()), 0x0409);
        assert_eq!(rows(&windows, SINGLE, &[3]), [" 0 3=U32(2)"], "V2 is as it was");
    }
}

/// Checks every function's response with any byte changed, or cut anywhere.
fn check_damage(wanted: usize, at: usize, with: u8, cut: Option<usize>) {
    const FUNCTIONS: [&str; 13] =
        ["enumerate", "1", "3", "4", "5", "6", "7", "8", "9", "10", "instances", "info", "data"];
    let wanted = FUNCTIONS[wanted % FUNCTIONS.len()];
    let (machine, _scripts) = script();
    let functions = Changed::of(&machine, move |function, filled, buffer| {
        if function != wanted || !filled.status.is_success() || filled.actual == 0 {
            return;
        }
        let len = if function == "enumerate" { buffer.len() } else { filled.actual as usize };
        buffer[at % len] = with;
        if let Some(cut) = cut {
            filled.actual = (cut % (filled.actual as usize + 1)) as u32;
        }
    });
    let windows = machine_of_v2(Box::new(FixedClock::default()), Arc::new(functions), Language(0x0407));
    for guid in windows.countersets() {
        let _ = windows.instances(&guid);
        rows(&windows, guid, &[]);
        rows(&windows, guid, &[3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_answer_does_harm(
        wanted in any::<usize>(),
        at in any::<usize>(),
        with in any::<u8>(),
        cut in any::<Option<usize>>(),
    ) {
        check_damage(wanted, at, with, cut);
    }

    #[test]
    fn no_answer_is_too_strange(
        answers in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..20),
    ) {
        let (machine, _scripts) = script();
        let next = AtomicU32::new(0);
        let functions = Changed::of(&machine, move |_, filled, buffer| {
            let answer = &answers[next.fetch_add(1, Relaxed) as usize % answers.len()];
            if let Some(room) = buffer.get_mut(..answer.len()) {
                room.copy_from_slice(answer);
                let is_failure = answer.first().is_some_and(|byte| *byte == 0);
                *filled = FillResult { status: Status(is_failure.into()), actual: answer.len() as u32 };
            }
        });
        let windows = over(functions, NoObjects, 0x0407);
        for guid in windows.countersets() {
            let _ = windows.instances(&guid);
            rows(&windows, guid, &[]);
        }
    }
}

/// Checks the seed of fuzzing: correct responses, in the order of the requests. `UPDATE_SNAPSHOTS=1` writes them.
#[test]
fn the_seed_of_fuzzing() {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let seed = Arc::clone(&recorded);
    let (machine, _scripts) = script();
    let functions = Changed::of(&machine, move |_, filled, buffer| {
        let (status, element) = (filled.status.0 as u8, if filled.actual == 3 { 16 } else { 1 });
        let len =
            if filled.status.is_success() { (filled.actual as usize * element).min(buffer.len()) } else { 0 };
        let mut seed = seed.lock().unwrap();
        seed.push(status);
        seed.extend_from_slice(&(filled.actual as u16).to_le_bytes());
        seed.extend_from_slice(&(len as u16).to_le_bytes());
        seed.extend_from_slice(&buffer[..len]);
    });
    let windows = over(functions, NoObjects, 0x0409);
    for guid in windows.countersets() {
        let _ = windows.instances(&guid);
        rows(&windows, guid, &[]);
    }
    let seed = recorded.lock().unwrap();
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/windows_functions/true");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &*seed).unwrap();
    }
    assert!(std::fs::read(&file).unwrap_or_default() == *seed, "UPDATE_SNAPSHOTS=1 cargo test writes it");
}

/// Checks the name tables' texts in a language other than English.
#[test]
fn name_tables_in_the_users_language() {
    let (machine, _scripts) = script();
    let windows = over(
        MissingFunctions(Status(5)),
        emulated::EmulatedPerformanceKey::new(machine.clone(), "HOST"),
        0x0407,
    );
    let answer = perfset_engine::v1::query(&machine, &"Counter 007".parse().unwrap(), "HOST").unwrap();
    let names = TitleNames::read(NameTable::new(&answer.bytes)).0;
    assert!(names.iter().any(|(_, name)| name == "Many auf Deutsch"));
    let guid =
        windows.countersets().into_iter().find(|guid| windows.counterset(guid).unwrap().name == "Many");
    let set = windows.counterset(&guid.unwrap()).unwrap();
    assert_eq!(set.translations[0].name, "Many auf Deutsch");
    assert!(
        set.translations[0]
            .counters
            .iter()
            .any(|(_, name, help)| name == "Posten" && help == "Hilfe zu Posten")
    );
}
