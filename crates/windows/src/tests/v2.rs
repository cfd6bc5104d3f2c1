//! Queries and registrations that do not stay what they were.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use perfset_core::{CounterId, Status};
use perfset_engine::{Entry, Snapshot};

use super::{Changed, MULTI, NoObjects, over, script};
use crate::functions::Filled;

/// What three collections of one counter give when the second one's answer is changed, and how many queries were
/// opened.
fn second_is(lie: impl Fn(&mut Filled, &mut [u8]) + Send + Sync + 'static) -> (Vec<String>, usize) {
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

#[test]
fn a_query_that_broke_is_opened_once_more() {
    let all = |value: &str| ["2", value, "2"].map(str::to_owned).to_vec();
    for code in [6, 1722, 1726] {
        let broken = move |filled: &mut Filled, _: &mut [u8]| *filled = Filled::failed(Status(code));
        assert_eq!(second_is(broken), (all("2"), 2), "{code}");
    }
    // The status of the result itself, which is an error then.
    let result = |code: u32| {
        move |filled: &mut Filled, block: &mut [u8]| {
            block[..4].copy_from_slice(&64_u32.to_le_bytes());
            block[48..].fill(0);
            block[48..52].copy_from_slice(&code.to_le_bytes());
            block[56] = 16;
            filled.actual = 64;
        }
    };
    for code in [4200, 4202] {
        assert_eq!(second_is(result(code)), (all("2"), 2), "{code}");
    }
    // Everything else is an answer.
    let busy = |filled: &mut Filled, _: &mut [u8]| *filled = Filled::failed(Status(170));
    assert_eq!(second_is(busy), (all("PerfQueryCounterData: Win32 code 170"), 1));
    assert_eq!(second_is(result(5)), (all("PerfQueryCounterData: ERROR_ACCESS_DENIED (5)"), 1));
    assert_eq!(second_is(result(4201)), (all("no active instance matches"), 1));
}
