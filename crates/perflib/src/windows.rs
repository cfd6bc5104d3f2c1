//! Other Windows functions that PerfLib programs call: clocks and the last error.
//!
//! They are exported as `perflib_*`, so that no generic name conflicts with another library of the process; the
//! shim's `windows.h` gives them their Windows names.

use std::cell::Cell;

use perfset::{Status, computer_name, now, perf_time, time_100ns};

use crate::boundary::store;

thread_local! {
    static LAST_ERROR: Cell<u32> = const { Cell::new(0) };
}

/// `GetLastError`: returns the thread's last error.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_GetLastError() -> u32 {
    // Available even while a thread ends: the value needs no destructor.
    LAST_ERROR.try_with(Cell::get).unwrap_or(0)
}

/// `SetLastError`: sets the thread's last error.
#[unsafe(no_mangle)]
pub extern "system" fn perflib_SetLastError(code: u32) {
    let _ = LAST_ERROR.try_with(|last| last.set(code)); // as above
}

/// `QueryPerformanceCounter`: writes the clock of `PerfTimeStamp`. Returns not 0, or 0 with a last error for a null
/// pointer.
///
/// # Safety
/// `ticks` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_QueryPerformanceCounter(ticks: *mut i64) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { tell(ticks, perf_time()) }
}

/// `QueryPerformanceFrequency`: writes the ticks per second.
///
/// # Safety
/// `ticks` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_QueryPerformanceFrequency(ticks: *mut i64) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { tell(ticks, now().perf_freq) }
}

/// `GetSystemTimeAsFileTime`: writes the clock of `PerfTime100NSec`, as two 4-byte halves.
///
/// # Safety
/// `time` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn perflib_GetSystemTimeAsFileTime(time: *mut i64) {
    // SAFETY: the caller promises it. On a little-endian machine the halves of FILETIME are one number.
    unsafe { store(time, time_100ns()) }
}

/// Writes the computer's name in UTF-8, without a NUL, for `GetComputerName`: the same name that V1 blocks contain.
/// Returns the number of bytes written.
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

/// Stores a number at an address, and returns 1; sets the last error and returns 0 if the address is null.
///
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
