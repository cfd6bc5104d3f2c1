//! Tests of the sizes and codes that Windows' functions return, correct and wrong.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use perfset_core::Status;

use super::{Changed, MULTI, NoObjects, SINGLE, TOTALS, over, rows, script};
use crate::buffer::{filled, value};
use crate::functions::{FillResult, PerformanceKey};

/// Returns the rows of a counterset when one of PerfLib's functions always returns a changed response.
fn answered(
    wanted: &'static str,
    lie: impl Fn(&mut FillResult, &mut [u8]) + Send + Sync + 'static,
) -> Vec<String> {
    let (machine, _scripts) = script();
    let functions = Changed::of(&machine, move |function, filled, buffer| {
        if function == wanted {
            lie(filled, buffer);
        }
    });
    let open = Arc::clone(&functions.open);
    let windows = over(functions, NoObjects, 0x0409);
    let found = rows(&windows, MULTI, &[3]);
    drop(windows);
    assert!(open.lock().unwrap().is_empty(), "every handle is closed");
    found
}

#[test]
fn sizes_and_codes_are_not_believed() {
    const DATA: &str = "PerfQueryCounterData";
    let failed = |why: &str| vec![format!("* 3: {why}")];
    let none = || vec!["ERROR_WMI_GUID_NOT_FOUND (4200)".to_owned()];
    let code = |code| move |filled: &mut FillResult, _: &mut [u8]| *filled = FillResult::failed(Status(code));
    let actual = |actual| {
        move |filled: &mut FillResult, _: &mut [u8]| {
            *filled = FillResult { status: Status::ERROR_SUCCESS, actual }
        }
    };
    let needs = |actual| {
        move |filled: &mut FillResult, _: &mut [u8]| {
            *filled = FillResult { status: Status::ERROR_NOT_ENOUGH_MEMORY, actual }
        }
    };
    // Success, and nothing or more than there is room for.
    assert_eq!(answered("data", actual(0)), failed("PERF_DATA_HEADER at byte 0: needs 48 bytes, 0 are left"));
    assert_eq!(
        answered("data", actual(1)),
        failed(&format!("{DATA}: the function claims 1 bytes in a buffer of 0"))
    );
    let all = failed(&format!("{DATA}: the function claims 4294967295 bytes in a buffer of 0"));
    assert_eq!(answered("data", actual(u32::MAX)), all);
    assert_eq!(answered("enumerate", actual(u32::MAX)), none());
    assert_eq!(answered("enumerate", actual(0)), none());
    assert_eq!(answered("1", actual(0)), none());
    assert_eq!(answered("info", actual(0)), failed("PerfQueryCounterInfo: it does not list the entry"));
    // Needed sizes that grow for ever, never suffice, or that no machine has.
    let grows = AtomicU32::new(0);
    let more = move |filled: &mut FillResult, _: &mut [u8]| {
        let actual = grows.fetch_add(24, Relaxed);
        *filled = FillResult { status: Status::ERROR_NOT_ENOUGH_MEMORY, actual };
    };
    let most = 256 << 20;
    assert_eq!(answered("data", more), failed(&format!("{DATA}: the size of the result changed 10 times")));
    assert_eq!(
        answered("data", needs(0)),
        failed(&format!("{DATA}: the size of the result changed 10 times"))
    );
    assert_eq!(
        answered("data", needs(u32::MAX)),
        failed(&format!("{DATA}: the result needs 4294967295 bytes, more than {most}"))
    );
    // Codes, of the documents and others.
    assert_eq!(answered("data", code(120)), failed(&format!("{DATA}: ERROR_CALL_NOT_IMPLEMENTED (120)")));
    assert_eq!(answered("data", code(0xC000_0005)), failed(&format!("{DATA}: Win32 code 3221225477")));
    assert_eq!(answered("enumerate", code(5)), none());
    assert_eq!(answered("1", code(4200)), none());
    assert_eq!(answered("add", code(6)), failed("PerfAddCounters: ERROR_INVALID_HANDLE (6)"));
    assert_eq!(answered("info", code(77)), failed("PerfQueryCounterInfo: Win32 code 77"));
    // The entry itself is refused, or destroyed.
    let refused = |_: &mut FillResult, buffer: &mut [u8]| buffer[16] = 77;
    assert_eq!(answered("add", refused), failed("PerfAddCounters: Win32 code 77"));
    let destroyed = |_: &mut FillResult, buffer: &mut [u8]| buffer.fill(0xFF);
    assert_eq!(answered("add", destroyed), failed("PerfAddCounters: it destroyed the entry"));
    // An index that no block has.
    let elsewhere = |filled: &mut FillResult, buffer: &mut [u8]| {
        if filled.status.is_success() {
            buffer[32] = 9;
        }
    };
    assert_eq!(answered("info", elsewhere), failed(&format!("{DATA}: the block has no result 9")));
    // Texts alone may be missing.
    for text in ["3", "4", "5", "6", "7", "8", "9", "10"] {
        assert_eq!(answered(text, code(5)), ["a 1 3=U32(2)", "b 4 3=U32(11)"], "{text}");
    }
}

/// Performance key that returns a list of error codes, one for each call, and then responds.
#[derive(Debug)]
struct Stubborn {
    codes: Mutex<Vec<u32>>,
    waited: Mutex<Vec<u128>>,
    closed: AtomicU32,
}

impl PerformanceKey for Stubborn {
    fn query_value(&self, _: &str, value: &mut [u8]) -> FillResult {
        match self.codes.lock().unwrap().pop() {
            Some(0) | None if value.len() < 200_000 => FillResult::failed(Status::ERROR_MORE_DATA),
            Some(0) | None => {
                value[..3].copy_from_slice(&[2, 3, 5]);
                FillResult { status: Status::ERROR_SUCCESS, actual: 3 }
            }
            Some(1) => FillResult { status: Status::ERROR_SUCCESS, actual: u32::MAX },
            Some(code) => FillResult::failed(Status(code)),
        }
    }

    fn close(&self) {
        self.closed.fetch_add(1, Relaxed);
    }

    fn wait(&self, pause: Duration) {
        self.waited.lock().unwrap().push(pause.as_millis());
    }
}

#[test]
fn a_key_that_is_busy_is_asked_again() {
    let ask = |codes: &[u32]| {
        let codes = Mutex::new(codes.iter().rev().copied().collect());
        let key = Stubborn { codes, waited: Mutex::default(), closed: AtomicU32::new(0) };
        let answer = value(&key, "x", Vec::new()).map_err(|error| error.to_string());
        (answer, key.waited.into_inner().unwrap(), key.closed.into_inner())
    };
    assert_eq!(ask(&[]), (Ok(vec![2, 3, 5]), vec![], 0), "three sizes are too small");
    assert_eq!(ask(&[170, 21, 258]), (Ok(vec![2, 3, 5]), vec![0, 10, 20], 0));
    assert_eq!(ask(&[6, 1722, 1726]), (Ok(vec![2, 3, 5]), vec![0, 10, 20], 3), "opened anew");
    let never = ask(&[170; 20]);
    assert_eq!(
        never,
        (Err("RegQueryValueEx \"x\": Win32 code 170".into()), vec![0, 10, 20, 40, 80, 160, 320], 0)
    );
    assert_eq!(ask(&[5]).0, Err("RegQueryValueEx \"x\": ERROR_ACCESS_DENIED (5)".into()));
    assert_eq!(
        ask(&[234; 40]).0,
        Err("RegQueryValueEx \"x\": the result needs more than 268435456 bytes".into())
    );
    assert_eq!(
        ask(&[1]).0,
        Err("RegQueryValueEx \"x\": the function claims 4294967295 bytes in a buffer of 65536".into())
    );
}

/// Performance key that reports a buffer as written to its end, and writes nothing.
#[derive(Debug)]
struct Silent;

impl PerformanceKey for Silent {
    fn query_value(&self, _: &str, value: &mut [u8]) -> FillResult {
        FillResult { status: Status::ERROR_SUCCESS, actual: value.len() as u32 }
    }

    fn close(&self) {}
}

#[test]
fn unwritten_buffer_bytes_are_zero() {
    let old = || vec![0xAB; 70_000];
    assert!(value(&Silent, "x", old()).unwrap().iter().all(|byte| *byte == 0));
    let mut buffer = old();
    let mut silent = |buffer: &mut [u8]| Silent.query_value("", buffer);
    assert!(filled("x", 1, &mut buffer, &mut silent).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn endlessly_growing_value_is_limited_and_freed() {
    let mut largest = 0;
    let mut creeps = |buffer: &mut [u8]| {
        largest = largest.max(buffer.len());
        FillResult { status: Status::ERROR_NOT_ENOUGH_MEMORY, actual: buffer.len() as u32 + 8 }
    };
    let mut buffer = vec![0; 100];
    assert!(filled("x", 1, &mut buffer, &mut creeps).is_err());
    assert_eq!((buffer.capacity(), largest), (0, 1 << 20));
    // An honest answer of any size is had, and by few calls.
    for need in [1, 100 << 10, 17 << 20, 40 << 20] {
        let mut calls = 0;
        let mut honest = |buffer: &mut [u8]| {
            calls += 1;
            let is_enough = buffer.len() >= need;
            let status = if is_enough { Status::ERROR_SUCCESS } else { Status::ERROR_NOT_ENOUGH_MEMORY };
            FillResult { status, actual: need as u32 }
        };
        assert_eq!(filled("x", 1, &mut Vec::new(), &mut honest).map(<[u8]>::len), Ok(need));
        assert!(calls <= 5, "{need}: {calls}");
    }
}

/// Checks that of three countersets whose blocks are reported to have 30 MiB each, two keep the memory of their
/// blocks.
#[test]
fn all_queries_together_keep_a_bounded_memory() {
    const LARGE: usize = 30 << 20;
    let first_calls = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&first_calls);
    let (machine, _scripts) = script();
    let functions = Changed::of(&machine, move |function, filled, buffer| {
        if function == "data" {
            seen.lock().unwrap().push(buffer.len());
            let status = if buffer.len() < LARGE { Status::ERROR_NOT_ENOUGH_MEMORY } else { filled.status };
            *filled = FillResult { status, actual: LARGE as u32 };
        }
    });
    let windows = over(functions, NoObjects, 0x0409);
    let mut query = windows.query();
    for guid in [SINGLE, MULTI, TOTALS] {
        let entry = perfset_engine::Entry::all(guid);
        assert!(query.add(&if guid == SINGLE { entry } else { entry.instance("*") }).is_success());
    }
    let mut snapshot = perfset_engine::Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    first_calls.lock().unwrap().clear();
    query.collect(&mut snapshot).unwrap();
    let anew = first_calls.lock().unwrap().iter().filter(|len| **len == 0).count();
    assert_eq!(anew, 1);
    assert_eq!(snapshot.values(None).filter(|value| value.raw.is_some()).count(), 4 + 8 + 12);
}
