//! Fuzz target that passes counter identifiers as a C caller does; names have units of 2 or 4 bytes.

use std::ptr::{null, null_mut};

use perflib::consumer::{
    PerfAddCounters, PerfAddCounters_utf32, PerfCloseQueryHandle, PerfDeleteCounters,
    PerfDeleteCounters_utf32, PerfOpenQueryHandle, PerfQueryCounterInfo,
};
use perfset_core::v2::identifier::Identifiers;

/// Passes counter identifiers to the C functions that add and delete counters. The first byte of the input chooses
/// the units of names, the rest are identifiers. The functions must write nothing, or only the `Status` of each
/// identifier. Added identifiers can be deleted.
pub fn check(input: &[u8]) {
    let Some((units, identifiers)) = input.split_first() else { return };
    let (add, delete): (Function, Function) = match units % 2 {
        0 => (PerfAddCounters, PerfDeleteCounters),
        _ => (PerfAddCounters_utf32, PerfDeleteCounters_utf32),
    };
    let mut query = null_mut();
    // SAFETY: no name, and a place for the handle.
    assert_eq!(unsafe { PerfOpenQueryHandle(null(), &mut query) }, 0);
    let mut added = identifiers.to_vec();
    let len = u32::try_from(added.len()).unwrap();
    // SAFETY: these bytes.
    let code = unsafe { add(query, added.as_mut_ptr(), len) };
    let count = if code == 0 { statuses(&added, identifiers) } else { 0 };
    if code != 0 {
        assert_eq!((code, &*added), (87, identifiers), "nothing is written (R-22)");
    }
    let entries = info(query);
    assert_eq!(entries, count, "what has status 0 is in the query");
    let mut deleted = identifiers.to_vec();
    // SAFETY: these bytes.
    assert_eq!(unsafe { delete(query, deleted.as_mut_ptr(), len) }, code);
    if code == 0 {
        assert_eq!(statuses(&deleted, identifiers), count, "each entry is deleted once");
    }
    assert_eq!(info(query), 0);
    assert_eq!(PerfCloseQueryHandle(query), 0);
}

type Function = unsafe extern "system" fn(*mut std::ffi::c_void, *mut u8, u32) -> u32;

/// Returns the number of counter identifiers with status 0. Only statuses may differ from the passed bytes.
fn statuses(written: &[u8], passed: &[u8]) -> usize {
    let mut like = passed.to_vec();
    let mut succeeded = 0;
    for identifier in Identifiers::new(written) {
        let identifier = identifier.expect("what was walked before");
        let status = identifier.offset + 16..identifier.offset + 20;
        like[status.clone()].copy_from_slice(&written[status]);
        succeeded += usize::from(identifier.status().is_success());
    }
    assert_eq!(like, written, "only statuses are written");
    succeeded
}

/// Returns the number of entries in a PerfLib query.
fn info(query: *mut std::ffi::c_void) -> usize {
    let mut len = 0;
    // SAFETY: no buffer, and a place for the size.
    let code = unsafe { PerfQueryCounterInfo(query, null_mut(), 0, &mut len) };
    assert_eq!(code, if len == 0 { 0 } else { 8 });
    let mut buffer = vec![0; usize::try_from(len).unwrap()];
    // SAFETY: a buffer of that size, and a place for the size.
    assert_eq!(unsafe { PerfQueryCounterInfo(query, buffer.as_mut_ptr(), len, &mut len) }, 0);
    let added = Identifiers::new(&buffer).map(|identifier| identifier.expect("a writer's list is good"));
    added.fold(0, |count, _| count + 1)
}
