//! Tests of V2 queries and registrations that change while they are used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use perfset_core::{CounterId, Counterset, Language, Status};
use perfset_engine::{CollectRequest, Entry, InstanceFilters, Provider, Rows, Snapshot};

use super::{Changed, MULTI, NoObjects, SINGLE, over, script};
use crate::functions::FillResult;
use crate::shared::V2Guids;
use crate::v2::V2Provider;

/// Returns the values of three collections of a counter when the response to the second one is changed, and the
/// number of opened queries.
fn second_is(lie: impl Fn(&mut FillResult, &mut [u8]) + Send + Sync + 'static) -> (Vec<String>, usize) {
    let (machine, _scripts) = script();
    let collected = AtomicU32::new(0);
    let functions = Changed::of(&machine, move |function, filled, buffer| {
        // A call that asks for the size is none.
        if function == "data" && filled.status.is_success() && collected.fetch_add(1, Relaxed) == 1 {
            lie(filled, buffer);
        }
    });
    let open = Arc::clone(&functions.open);
    let windows = over(functions, NoObjects, 0x0409);
    let mut query = windows.query();
    assert!(query.add(&Entry::one(MULTI, CounterId(3)).instance("a")).is_success());
    let mut values = Vec::new();
    for _ in 0..3 {
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        let value = snapshot.values(None).next().unwrap();
        values.push(
            value.raw.map_or_else(|| value.value.unwrap_err().to_string(), |raw| raw.get().to_string()),
        );
    }
    let open = open.lock().unwrap();
    assert_eq!(open.len(), 1, "what broke is closed");
    (values, *open.last().unwrap()) // they are numbered
}

/// Writes a block whose one result is an error with that code.
fn result_of(code: u32, filled: &mut FillResult, block: &mut [u8]) {
    block[..4].copy_from_slice(&64_u32.to_le_bytes());
    block[48..].fill(0);
    block[48..52].copy_from_slice(&code.to_le_bytes());
    block[56] = 16;
    filled.actual = 64;
}

#[test]
fn a_query_that_broke_is_opened_once_more() {
    let all = |value: &str| ["2", value, "2"].map(str::to_owned).to_vec();
    for code in [6, 1722, 1726] {
        let broken = move |filled: &mut FillResult, _: &mut [u8]| *filled = FillResult::failed(Status(code));
        assert_eq!(second_is(broken), (all("2"), 2), "{code}");
    }
    // The status of the result itself, which is an error then.
    let result = |code| move |filled: &mut FillResult, block: &mut [u8]| result_of(code, filled, block);
    for code in [4200, 4202] {
        assert_eq!(second_is(result(code)), (all("2"), 2), "{code}");
    }
    // Everything else is an answer.
    let busy = |filled: &mut FillResult, _: &mut [u8]| *filled = FillResult::failed(Status(170));
    assert_eq!(second_is(busy), (all("PerfQueryCounterData: Win32 code 170"), 1));
    assert_eq!(second_is(result(5)), (all("PerfQueryCounterData: ERROR_ACCESS_DENIED (5)"), 1));
    assert_eq!(second_is(result(4201)), (all("no active instance matches"), 1));
    assert_eq!(second_is(result(0)), (all("PerfQueryCounterData: the result is an error without a code"), 1));
}

#[test]
fn a_registration_is_of_the_counterset_that_was_asked() {
    let (machine, _scripts) = script();
    let functions = Changed::of(&machine, |function, filled, buffer| {
        let multi = MULTI.to_wire();
        if function == "1" && filled.status.is_success() && buffer.starts_with(&multi) {
            buffer[..16].copy_from_slice(&SINGLE.to_wire());
        }
    });
    let windows = over(functions, NoObjects, 0x0409);
    assert!(windows.counterset(&SINGLE).is_ok() && windows.counterset(&MULTI).is_err());
    let problems: Vec<_> = windows.problems().iter().map(ToString::to_string).collect();
    assert!(
        problems.contains(&format!("counterset {MULTI}: the answer is of counterset {SINGLE}")),
        "{problems:?}"
    );
}

/// V2 provider over [`script`]'s functions, where another provider may register [`MULTI`] again, with other counters.
struct Twice {
    v2: V2Provider,
    is_new: Arc<AtomicBool>,
    /// Number of calls of PerfLib's functions since this number was last reset.
    answers: Arc<AtomicU32>,
    start: Instant,
}

impl Twice {
    fn new() -> Self {
        let (machine, _scripts) = script();
        let (is_new, answers) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
        let (new, count) = (Arc::clone(&is_new), Arc::clone(&answers));
        let functions = Changed::of(&machine, move |function, filled, buffer| {
            count.fetch_add(1, Relaxed);
            let is_answer = filled.status.is_success() && new.load(Relaxed);
            if function == "1" && is_answer && buffer.starts_with(&MULTI.to_wire()) {
                buffer[80] = 15; // the id of the second counter
            }
            if function == "data" && is_answer {
                result_of(4202, filled, buffer);
            }
        });
        let v2 = V2Provider::new(Arc::new(functions), Language::ENGLISH, V2Guids::default());
        Self { v2, is_new, answers, start: Instant::now() }
    }

    fn set(&mut self, seconds: u64) -> Arc<Counterset> {
        self.v2.refresh(self.start + Duration::from_secs(seconds));
        let catalogue = self.v2.catalogue().unwrap();
        Arc::clone(catalogue.countersets.iter().find(|set| set.guid == MULTI).unwrap())
    }

    /// Returns the counters of counterset [`MULTI`] after this number of seconds, and the number of calls of
    /// PerfLib's functions.
    fn counters(&mut self, seconds: u64) -> (Vec<u32>, u32) {
        self.answers.store(0, Relaxed);
        let ids = self.set(seconds).counters.iter().map(|counter| counter.id.0).collect();
        (ids, self.answers.load(Relaxed))
    }
}

const OLD: [u32; 4] = [7, 3, 5, 9];
const NEW: [u32; 4] = [7, 15, 5, 9];

#[test]
fn a_counterset_that_was_registered_anew_is_seen() {
    let mut twice = Twice::new();
    assert_eq!(twice.counters(0).0, OLD);
    twice.is_new.store(true, Relaxed);
    assert_eq!(twice.counters(5), (OLD.into(), 0), "nothing is asked");
    assert_eq!(twice.counters(20), (OLD.into(), 1), "the list alone");
    assert_eq!(twice.counters(301).0, NEW);
    assert_eq!(twice.counters(500), (NEW.into(), 1));
    assert_eq!(twice.counters(700), (NEW.into(), 1 + 3), "compared, and the same");
}

#[test]
fn a_counter_that_is_gone_has_registrations_compared() {
    let mut twice = Twice::new();
    let set = twice.set(0);
    twice.is_new.store(true, Relaxed);
    let counters = [CounterId(3)];
    let instances = &InstanceFilters::default();
    let want = CollectRequest::new(&set, &counters, instances).collection(1);
    let mut rows = Rows::new([]);
    rows.start();
    assert_eq!(twice.v2.collect(&want, &mut rows).unwrap_err().status(), Status(4202));
    assert_eq!(
        twice.counters(5),
        (OLD.into(), 0),
        "a system that says so at every collection is not asked each time"
    );
    assert_eq!(twice.counters(20).0, NEW);
}
