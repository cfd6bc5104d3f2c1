//! Tests of V1 with a performance key that does not return all that it should.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perfset_core::{Counterset, Guid, Language, Status};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Catalogue, Entry, Machine, Provider, Snapshot};

use super::{Vista, over};
use crate::Settings;
use crate::functions::{FillResult, MissingFunctions, PerformanceKey};
use crate::shared::V2Guids;
use crate::v1::V1Provider;

type Answers = dyn Fn(&str, Vec<u8>) -> Result<Vec<u8>, u32> + Send + Sync;

/// Performance key that returns the values of a real Windows, changed by a function.
struct Altered {
    answers: Box<Answers>,
    requests: Mutex<Vec<String>>,
}

impl fmt::Debug for Altered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Altered")
    }
}

impl Altered {
    fn by(answers: impl Fn(&str, Vec<u8>) -> Result<Vec<u8>, u32> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answers: Box::new(answers), requests: Mutex::default() })
    }

    /// Returns the number of reads of a value since the last call of this function; reads with too small a buffer do
    /// not count.
    fn asked(&self, name: &str) -> usize {
        let mut requests = self.requests.lock().unwrap();
        let before = requests.len();
        requests.retain(|known| known != name);
        before - requests.len()
    }
}

impl PerformanceKey for Arc<Altered> {
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
        let answer = Vista::default().value(name).ok_or(2);
        let answer = answer.and_then(|bytes| (self.answers)(name, bytes)).map_err(Status);
        let filled = crate::emulated::fill(
            value,
            1,
            Status::ERROR_MORE_DATA,
            answer.as_deref().map_err(|status| *status),
        );
        if filled.status != Status::ERROR_MORE_DATA {
            self.requests.lock().unwrap().push(name.to_owned());
        }
        filled
    }

    fn close(&self) {}

    fn wait(&self, _: Duration) {}
}

fn machine(key: &Arc<Altered>) -> Machine {
    over(MissingFunctions(Status::ERROR_CALL_NOT_IMPLEMENTED), Arc::clone(key), 0x0409)
}

/// Returns the problems that a machine reports about V1.
fn problems(machine: &Machine) -> Vec<String> {
    let all = machine.problems();
    all.iter().map(ToString::to_string).filter(|problem| !problem.contains("PerfEnumerate")).collect()
}

#[test]
fn a_broken_object_is_told_once_and_as_long_as_it_is_broken() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&is_broken);
    let key = Altered::by(move |name, mut bytes| {
        if name == "230" && broken.load(Relaxed) {
            let object = u32::from_le_bytes(*bytes[24..].first_chunk().unwrap()) as usize;
            bytes[object + 4..object + 8].fill(0xFF); // the length of its definitions
        }
        Ok(bytes)
    });
    let machine = machine(&key);
    let guid = perfset_catalogue::process::GUID;
    let mut query = machine.query();
    assert!(query.add(&Entry::all(guid).instance("*")).is_success());
    let mut snapshot = Snapshot::default();
    for _ in 0..3 {
        query.collect(&mut snapshot).unwrap();
    }
    let want = "HKEY_PERFORMANCE_DATA \"230\": PERF_OBJECT_TYPE.DefinitionLength at byte 108: is 4294967295, \
                must be from 64 to 13520, R11";
    assert_eq!(problems(&machine), [want]);
    is_broken.store(false, Relaxed);
    query.collect(&mut snapshot).unwrap();
    assert_eq!(problems(&machine), [""; 0]);
}

#[test]
fn pairs_of_a_name_table_that_are_none_are_told() {
    let key = Altered::by(|name, bytes| match name {
        "Counter 009" => {
            let pairs = ["", "a name", "0", "no name", ""].join("\0");
            let pairs = pairs.encode_utf16().flat_map(u16::to_le_bytes);
            Ok(pairs.chain(bytes).collect())
        }
        _ => Ok(bytes),
    });
    let machine = machine(&key);
    assert_eq!(machine.countersets().len(), 8 + 1, "all others are used");
    let want = "HKEY_PERFORMANCE_DATA \"Counter 009\": pairs that are skipped: 2, the first: name table index at \
                byte 0: is not a decimal number";
    assert_eq!(problems(&machine), [want]);
}

#[test]
fn without_a_name_table_there_are_the_names_that_every_windows_has() {
    let key = Altered::by(|name, bytes| if name == "Counter 009" { Err(1168) } else { Ok(bytes) });
    let machine = machine(&key);
    assert_eq!(machine.countersets().len(), 8 + 1);
    assert_eq!(problems(&machine), ["RegQueryValueEx \"Counter 009\": ERROR_NOT_FOUND (1168)"]);
}

#[test]
fn costly_objects_that_are_not_there_take_no_others_away() {
    let key = Altered::by(|_, bytes| Ok(bytes));
    let settings = Settings { language: Language::ENGLISH, is_costly: true };
    let absent = Arc::new(MissingFunctions(Status::ERROR_CALL_NOT_IMPLEMENTED));
    let machine =
        crate::machine(Box::new(FixedClock::default()), absent, Arc::new(Arc::clone(&key)), &settings);
    assert_eq!(machine.countersets().len(), 8 + 1);
    assert_eq!(problems(&machine), ["RegQueryValueEx \"Costly\": Win32 code 2"]);
    assert_eq!(key.asked("Global"), 1);
}

/// V1 provider over a performance key that fails as long as a code is set.
struct Failing {
    v1: V1Provider,
    key: Arc<Altered>,
    code: Arc<AtomicU32>,
    registered: V2Guids,
    start: Instant,
}

impl Failing {
    /// Creates a V1 provider whose performance key fails with `code` for all values whose names begin with `values`.
    fn new(values: &'static str, code: u32) -> Self {
        let code = Arc::new(AtomicU32::new(code));
        let now = Arc::clone(&code);
        let key = Altered::by(move |name, bytes| match now.load(Relaxed) {
            code if code > 0 && name.starts_with(values) => Err(code),
            _ => Ok(bytes),
        });
        let registered = V2Guids::default();
        let v1 = V1Provider::new(Arc::new(Arc::clone(&key)), Language::ENGLISH, false, registered.clone());
        // However long the test takes, its time is later than the clock's.
        let start = Instant::now() + Duration::from_secs(3_600);
        Self { v1, key, code, registered, start }
    }

    /// Returns the number of countersets after this number of seconds, or the error, and the number of requests for
    /// all objects.
    fn listed(&mut self, seconds: u64) -> (Result<usize, String>, usize) {
        self.key.asked("Global");
        self.v1.refresh(self.start + Duration::from_secs(seconds));
        let catalogue = self.v1.catalogue().map_err(|error| error.to_string());
        (catalogue.map(|catalogue| catalogue.countersets.len()), self.key.asked("Global"))
    }
}

#[test]
fn a_list_that_could_not_be_had_is_tried_again_soon_and_the_last_one_stays() {
    const DENIED: u32 = 5;
    let mut failing = Failing::new("", DENIED);
    let why = "RegQueryValueEx \"Global\": ERROR_ACCESS_DENIED (5)";
    assert_eq!(failing.listed(0), (Err(why.into()), 1));
    failing.code.store(0, Relaxed);
    assert_eq!(failing.listed(5), (Err(why.into()), 0));
    assert_eq!(failing.listed(20), (Ok(8), 1));
    failing.code.store(DENIED, Relaxed);
    assert_eq!(failing.listed(310), (Ok(8), 0));
    assert_eq!(failing.v1.problems(), [""; 0]);
    assert_eq!(failing.listed(330), (Ok(8), 1), "as it was");
    assert_eq!(failing.v1.problems(), [format!("{why}; the objects are those of the last list")]);
    failing.code.store(0, Relaxed);
    assert_eq!(failing.listed(335), (Ok(8), 0));
    assert_eq!(failing.listed(345), (Ok(8), 1));
    assert_eq!(failing.v1.problems(), [""; 0]);
}

/// Checks that an incomplete list of V1 objects is requested again, at growing intervals.
#[test]
fn missing_object_is_retried_with_backoff() {
    let mut failing = Failing::new("Counter", 170);
    let asked: Vec<u64> = (0..2_000).filter(|seconds| failing.listed(*seconds) == (Ok(8), 1)).collect();
    let between: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(between, [10, 20, 40, 80, 160, 300, 300, 300, 300, 300]);
    failing.code.store(0, Relaxed);
    assert_eq!(failing.listed(2_200), (Ok(8), 1));
    assert_eq!(failing.v1.problems(), [""; 0]);
}

/// Checks that V1 objects that were listed before their names could be read have the right names afterwards.
#[test]
fn names_that_come_later_are_taken_over() {
    let is_there = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&is_there);
    let key = Altered::by(move |name, bytes| match name {
        "Counter 009" if there.load(Relaxed) => Ok(perfset_core::v1::name_table([(230, "Renamed")])),
        "Counter 009" => Err(1168),
        _ => Ok(bytes),
    });
    let mut v1 = V1Provider::new(Arc::new(key), Language::ENGLISH, false, V2Guids::default());
    let mut names = |after: u64| -> Vec<String> {
        v1.refresh(Instant::now() + Duration::from_secs(after));
        v1.catalogue().unwrap().countersets.iter().map(|set| set.name.to_string()).collect()
    };
    let before = names(0);
    is_there.store(true, Relaxed);
    let after = names(400);
    let renamed = |name: &String| if name == "Process" { "Renamed".to_owned() } else { name.clone() };
    assert_eq!(after, before.iter().map(renamed).collect::<Vec<_>>());
    assert_ne!(after, before);
}

/// Checks that repeated failures of V2 do not change the V1 objects, and that new countersets of V2 do.
#[test]
fn objects_are_listed_anew_if_v2_has_others() {
    let mut failing = Failing::new("", 0);
    assert_eq!(failing.listed(0), (Ok(8), 1));
    failing.registered.set(&Catalogue::default());
    assert_eq!(failing.listed(10), (Ok(8), 0), "nothing, as before");
    let mut set = Counterset::clone(&failing.v1.catalogue().unwrap().countersets[0]);
    set.guid = Guid::NIL; // the name is enough
    let catalogue = Catalogue::new("", vec![Arc::new(set)]);
    failing.registered.set(&catalogue);
    assert_eq!(failing.listed(20), (Ok(7), 1));
    failing.registered.set(&catalogue);
    assert_eq!(failing.listed(30), (Ok(7), 0));
    failing.registered.set(&Catalogue::default());
    assert_eq!(failing.listed(40), (Ok(8), 1));
}
