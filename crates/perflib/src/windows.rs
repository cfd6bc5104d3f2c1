//! What programs that call PerfLib call besides: clocks and the last error.
//!
//! They are exported as `perflib_*`, so that no other library of a process meets a generic name of ours; the shim's
//! `windows.h` gives them their Windows names.

use std::cell::Cell;

use perfset::{Status, computer_name, now, perf_time, time_100ns};

use crate::boundary::store;

thread_local! {
    static LAST_ERROR: Cell<u32> = const { Cell::new(0) };
}

/// `GetLastError`: the thread's.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_GetLastError() -> u32 {
    // A thread that ends has its still: it needs no destructor.
    LAST_ERROR.try_with(Cell::get).unwrap_or(0)
}

/// `SetLastError`.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_SetLastError(code: u32) {
    let _ = LAST_ERROR.try_with(|last| last.set(code)); // as above
}

/// `QueryPerformanceCounter`: what `PerfTimeStamp` is read from. Not 0, or 0 with a last error for a null pointer.
///
/// # Safety
/// `ticks` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_QueryPerformanceCounter(ticks: *mut i64) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { tell(ticks, perf_time()) }
}

/// `QueryPerformanceFrequency`: ticks a second.
///
/// # Safety
/// `ticks` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_QueryPerformanceFrequency(ticks: *mut i64) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { tell(ticks, now().perf_freq) }
}

/// `GetSystemTimeAsFileTime`: what `PerfTime100NSec` is read from, as two 4-byte halves.
///
/// # Safety
/// `time` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_GetSystemTimeAsFileTime(time: *mut i64) {
    // SAFETY: the caller promises it. On a little-endian machine the halves of FILETIME are one number.
    unsafe { store(time, time_100ns()) }
}

/// The computer's name in UTF-8, without a NUL, for `GetComputerName`: the same that V1 blocks carry. Returns how many
/// bytes were written.
///
/// # Safety
/// `room` bytes may be written at `text`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_computer_name(text: *mut u8, room: u32) -> u32 {
    let name = computer_name();
    let mut written = 0_u32;
    for (byte, at) in name.bytes().zip(0..room) {
        // SAFETY: the caller promises it: `at` is below `room`.
        unsafe { store(text.wrapping_add(usize::try_from(at).unwrap_or(usize::MAX)), byte) };
        written = at.saturating_add(1);
    }
    written
}

/// # Safety
/// `at` is null or may be written.
unsafe fn tell(at: *mut i64, value: i64) -> i32 {
    if at.is_null() {
        perflib_SetLastError(Status::ERROR_INVALID_PARAMETER.0);
        return 0;
    }
    // SAFETY: the caller promises it.
    unsafe { store(at, value) };
    1
}
