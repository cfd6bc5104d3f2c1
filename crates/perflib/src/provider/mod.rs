//! PerfLib's functions for providers: a program's own counters, in shared memory that consumers read.
//!
//! Source: MS Learn, "Providing Counter Data Using Version 2.0", and the pages of the functions. The functions with
//! text, and those that take a callback, which receives text, exist for UTF-16 under their own names and with
//! `_utf32` for UTF-32; `perflib.h` chooses. Two return a pointer, and on failure set the last error; the others
//! return a code.

mod control;
mod state;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use perfset::v2::PERF_MAX_INSTANCE_NAME;
use perfset::v2::template::Template;
use perfset::{Guid, Status};

use crate::boundary::{Handle, export, guard, guarded, handle, load, number, read_units, store};
use crate::wide::TextUnit;
use crate::windows::perflib_SetLastError;
pub use control::ControlCallback;
use state::ValueWidth;

/// Settings for starting a provider: PERF_PROVIDER_CONTEXT.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ProviderContext {
    /// `ContextSize`: size of this structure in bytes, or more.
    pub size: u32,
    /// `Reserved`: this field is never read.
    pub reserved: u32,
    /// `ControlCallback`: function for requests of consumers, or null.
    pub callback: Option<ControlCallback>,
    /// `MemAllocRoutine`: never called, because instances are in shared memory.
    pub alloc: *const c_void,
    /// `MemFreeRoutine`: never called, like `MemAllocRoutine`.
    pub free: *const c_void,
    /// `pMemContext`: argument of the memory routines, never used.
    pub memory: *mut c_void,
}

export! {
    /// Starts a provider, with a callback or none. ERROR_INVALID_PARAMETER; the handle is then left as it was.
    ///
    /// # Safety
    /// `guid` is null or a GUID; `callback` is none or a PERFLIBREQUEST that any thread may call until the provider is
    /// stopped; `provider` is null or may be written. No pointer needs to be aligned.
    PerfStartProvider: TextUnit::Utf16, PerfStartProvider_utf32: TextUnit::Utf32 =>
    start(guid: *const [u8; 16], callback: Option<ControlCallback>, provider: *mut Handle)
}

/// Body of [`PerfStartProvider`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// Conditions of [`PerfStartProvider`].
unsafe fn start(
    wide: TextUnit,
    guid: *const [u8; 16],
    callback: Option<ControlCallback>,
    provider: *mut Handle,
) -> Result<(), Status> {
    // SAFETY: the caller promises it.
    let guid =
        unsafe { load(guid) }.filter(|_| !provider.is_null()).ok_or(Status::ERROR_INVALID_PARAMETER)?;
    let started = state::start(Guid::from_wire(guid), wide, callback);
    // SAFETY: the caller promises it.
    unsafe { store(provider, handle(started)) };
    Ok(())
}

export! {
    /// Starts a provider like [`PerfStartProvider`], with a PERF_PROVIDER_CONTEXT, or without one.
    /// ERROR_INVALID_PARAMETER also if the context is too small, or one of its two memory routines is missing.
    ///
    /// # Safety
    /// Conditions of [`PerfStartProvider`]; `context` is null, or points to as many readable bytes as its first 4 bytes
    /// state.
    PerfStartProviderEx: TextUnit::Utf16, PerfStartProviderEx_utf32: TextUnit::Utf32 =>
    start_ex(guid: *const [u8; 16], context: *const ProviderContext, provider: *mut Handle)
}

/// Body of [`PerfStartProviderEx`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfStartProviderEx`].
unsafe fn start_ex(
    wide: TextUnit,
    guid: *const [u8; 16],
    context: *const ProviderContext,
    provider: *mut Handle,
) -> Result<(), Status> {
    // SAFETY: the caller promises it.
    let size = unsafe { load(context.cast::<u32>()) };
    let mut callback = None;
    if let Some(size) = size {
        if usize::try_from(size).is_ok_and(|size| size < size_of::<ProviderContext>()) {
            return Err(Status::ERROR_INVALID_PARAMETER);
        }
        // SAFETY: the caller promises that all of it may be read.
        let context = unsafe { load(context) }.ok_or(Status::ERROR_INVALID_PARAMETER)?;
        if context.alloc.is_null() != context.free.is_null() {
            return Err(Status::ERROR_INVALID_PARAMETER);
        }
        callback = context.callback;
    }
    // SAFETY: the caller promises the rest.
    unsafe { start(wide, guid, callback, provider) }
}

/// Stops a provider: its instances end, and no callback runs any more, unless this function is called from one.
/// ERROR_INVALID_PARAMETER if the handle is not a provider's.
#[unsafe(no_mangle)]
pub extern "system" fn PerfStopProvider(provider: Handle) -> u32 {
    guard(|| state::stop(number(provider)))
}

/// Defines a counterset by a PERF_COUNTERSET_INFO and its PERF_COUNTER_INFO, whose `Offset`s are written.
///
/// ERROR_INVALID_PARAMETER, ERROR_ALREADY_EXISTS.
///
/// # Safety
/// `template` is null, or `len` bytes there may be read, and those of `Offset` written if they are wrong. It needs
/// not be aligned.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PerfSetCounterSetInfo(provider: Handle, template: *mut u8, len: u32) -> u32 {
    guard(|| {
        let len = usize::try_from(len).ok().filter(|len| isize::try_from(*len).is_ok());
        let len = len.filter(|_| !template.is_null()).ok_or(Status::ERROR_INVALID_PARAMETER)?;
        // SAFETY: not null, not longer than memory, and the caller promises the bytes for as long as the call lasts.
        let bytes = unsafe { std::slice::from_raw_parts(template, len) };
        let parsed = Template::parse(bytes).map_err(|_| Status::ERROR_INVALID_PARAMETER)?;
        let counter_count = u32::try_from(parsed.counter_count()).unwrap_or(u32::MAX);
        state::set_counterset(number(provider), parsed.counterset())?;
        let offset = template.wrapping_add(40 + 28).cast::<u32>();
        for index in 0..counter_count {
            let wanted = index.saturating_mul(8);
            let offset = offset.wrapping_byte_add(usize::try_from(index).unwrap_or(0).saturating_mul(32));
            // SAFETY: the offset of a counter that was read above.
            if unsafe { load(offset) } != Some(wanted) {
                // SAFETY: the caller promises that it may be written.
                unsafe { store(offset, wanted) };
            }
        }
        Ok(())
    })
}

/// Creates an instance: a PERF_COUNTERSET_INSTANCE block, aligned to 64 bytes, which the library owns.
///
/// Null with a last error: ERROR_INVALID_PARAMETER (R-38, R-41, or a second one of a single-instance counterset),
/// ERROR_NOT_FOUND if this handle has no such counterset, ERROR_ALREADY_EXISTS, ERROR_OUTOFMEMORY.
///
/// # Safety
/// `counterset` is null or a GUID; `name` is null, or a string whose units may be read up to its NUL or the first 1,024
/// of them. No pointer needs to be aligned.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PerfCreateInstance(
    provider: Handle,
    counterset: *const [u8; 16],
    name: *const u8,
    id: u32,
) -> *mut u8 {
    // SAFETY: the caller keeps the contract of this function.
    pointer(|| unsafe { create(TextUnit::Utf16, provider, counterset, name, id) })
}

/// Creates an instance like [`PerfCreateInstance`], for UTF-32 text.
///
/// # Safety
/// As [`PerfCreateInstance`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PerfCreateInstance_utf32(
    provider: Handle,
    counterset: *const [u8; 16],
    name: *const u8,
    id: u32,
) -> *mut u8 {
    // SAFETY: the caller keeps the contract of this function.
    pointer(|| unsafe { create(TextUnit::Utf32, provider, counterset, name, id) })
}

/// Body of [`PerfCreateInstance`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfCreateInstance`].
unsafe fn create(
    wide: TextUnit,
    provider: Handle,
    counterset: *const [u8; 16],
    name: *const u8,
    id: u32,
) -> Result<*mut u8, Status> {
    // SAFETY: the caller promises both.
    let (counterset, name) = unsafe { named(wide, counterset, name) }?;
    let name =
        name.filter(|name| name.len() < PERF_MAX_INSTANCE_NAME).ok_or(Status::ERROR_INVALID_PARAMETER)?;
    state::create(number(provider), &counterset, &name, id, wide)
}

/// Finds an instance of this handle by its name, in any case, and its id. Returns the pointer that
/// [`PerfCreateInstance`] returned.
///
/// Null with a last error: ERROR_INVALID_PARAMETER, ERROR_NOT_FOUND.
///
/// # Safety
/// As [`PerfCreateInstance`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PerfQueryInstance(
    provider: Handle,
    counterset: *const [u8; 16],
    name: *const u8,
    id: u32,
) -> *mut u8 {
    // SAFETY: the caller keeps the contract of this function.
    pointer(|| unsafe { query(TextUnit::Utf16, provider, counterset, name, id) })
}

/// Finds an instance like [`PerfQueryInstance`], for UTF-32 text.
///
/// # Safety
/// As [`PerfCreateInstance`].
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PerfQueryInstance_utf32(
    provider: Handle,
    counterset: *const [u8; 16],
    name: *const u8,
    id: u32,
) -> *mut u8 {
    // SAFETY: the caller keeps the contract of this function.
    pointer(|| unsafe { query(TextUnit::Utf32, provider, counterset, name, id) })
}

/// Body of [`PerfQueryInstance`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfCreateInstance`].
unsafe fn query(
    wide: TextUnit,
    provider: Handle,
    counterset: *const [u8; 16],
    name: *const u8,
    id: u32,
) -> Result<*mut u8, Status> {
    // SAFETY: the caller promises both.
    let (counterset, name) = unsafe { named(wide, counterset, name) }?;
    // No instance has a name without an end: such a name finds nothing.
    state::find(number(provider), &counterset, name.as_deref(), id)
}

/// Reads the counterset and the instance name that a C caller passes; the name is `None` if it is too long or not
/// Unicode.
///
/// # Safety
/// As [`PerfCreateInstance`].
unsafe fn named(
    wide: TextUnit,
    counterset: *const [u8; 16],
    name: *const u8,
) -> Result<(Guid, Option<Vec<u16>>), Status> {
    // SAFETY: the caller promises it.
    let counterset = unsafe { load(counterset) };
    let counterset = counterset.filter(|_| !name.is_null()).ok_or(Status::ERROR_INVALID_PARAMETER)?;
    // SAFETY: not null, and the caller promises the rest.
    let name = unsafe { read_units(name, wide, PERF_MAX_INSTANCE_NAME) };
    Ok((Guid::from_wire(counterset), name))
}

/// Runs the body of a C function and returns its pointer, or sets the last error and returns null.
fn pointer(body: impl FnOnce() -> Result<*mut u8, Status>) -> *mut u8 {
    guarded(body).unwrap_or_else(|status| {
        perflib_SetLastError(status.0);
        null_mut()
    })
}

/// Ends an instance of a provider. ERROR_INVALID_PARAMETER if it is not an instance of this handle.
#[unsafe(no_mangle)]
pub extern "system" fn PerfDeleteInstance(provider: Handle, instance: *mut u8) -> u32 {
    guard(|| state::delete(number(provider), instance.addr()))
}

/// Sets the address of a counter's value: 4 or 8 bytes, by the counter's type; null for no value. Once this function
/// has returned, the address before is not read any more.
///
/// ERROR_INVALID_PARAMETER (R-38, or the counter is not by reference, R-42), ERROR_NOT_FOUND.
///
/// # Safety
/// `address` is null, or the value there may be read until another is set or the instance is deleted. It needs not be
/// aligned.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn PerfSetCounterRefValue(
    provider: Handle,
    instance: *mut u8,
    counter: u32,
    address: *mut c_void,
) -> u32 {
    guard(|| {
        let address = u64::try_from(address.expose_provenance()).unwrap_or(0);
        state::set_reference(number(provider), instance.addr(), counter, address)
    })
}

/// Exports the C functions that change values of counters; each has an expression that changes the counter's value.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $holds:expr, $act:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// ERROR_INVALID_PARAMETER (R-38, or the counter's type has another size, or it is by reference, R-42),
        /// ERROR_NOT_FOUND.
        #[unsafe(no_mangle)]
        pub extern "system" fn $name(provider: Handle, instance: *mut u8, counter: u32, value: $type) -> u32 {
            guard(|| {
                state::with_value(number(provider), instance.addr(), counter, $holds, |slot| $act(slot, value))
            })
        }
    )*};
}

values! {
    /// Sets the value of a 32-bit counter to `value`.
    PerfSetULongCounterValue: u32, ValueWidth::Four, |slot, value| change_low(slot, |_| value);
    /// Sets the value of a 64-bit counter to `value`.
    PerfSetULongLongCounterValue: u64, ValueWidth::Eight, |slot: &AtomicU64, value| slot.store(value, Relaxed);
    /// Adds `value` to the value of a 32-bit counter, which wraps around.
    PerfIncrementULongCounterValue: u32, ValueWidth::Four,
        |slot, value| change_low(slot, |old| old.wrapping_add(value));
    /// Adds `value` to the value of a 64-bit counter, which wraps around.
    PerfIncrementULongLongCounterValue: u64, ValueWidth::Eight,
        |slot: &AtomicU64, value| { slot.fetch_add(value, Relaxed); };
    /// Subtracts `value` from the value of a 32-bit counter, which wraps around.
    PerfDecrementULongCounterValue: u32, ValueWidth::Four,
        |slot, value| change_low(slot, |old| old.wrapping_sub(value));
    /// Subtracts `value` from the value of a 64-bit counter, which wraps around.
    PerfDecrementULongLongCounterValue: u64, ValueWidth::Eight,
        |slot: &AtomicU64, value| { slot.fetch_sub(value, Relaxed); };
}

/// Changes the first 4 bytes of a counter's value, and leaves the others.
fn change_low(slot: &AtomicU64, change: impl Fn(u32) -> u32) {
    const HIGH: u64 = !0xFFFF_FFFF;
    let new = |old: u64| {
        let low = u32::try_from(old & !HIGH).unwrap_or(0);
        Some((old & HIGH) | u64::from(change(low)))
    };
    let _ = slot.fetch_update(Relaxed, Relaxed, new); // it never refuses
}
