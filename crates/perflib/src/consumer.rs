//! PerfLib's nine functions for consumers. Source: MS Learn, "Using the PerfLib Functions to Consume Counter Data",
//! and the pages of the functions.
//!
//! Each exists for UTF-16 text under its own name, and with `_utf32` for UTF-32 text; `perflib.h` chooses. All check
//! in the same order: handle, pointers and sizes, enumerations, look-ups, data, and the buffer's size last.
//! None changes the last error.

use perfset::{Guid, Status, perflib};

use crate::boundary::{Buffer, Handle, check_machine, export, guard, handle, load, number, store};
use crate::past::PastLog;
use crate::process::{OpenQuery, process};
use crate::wide::{TextLocation, TextUnit, data_to_utf32, identifiers_to_utf16, to_utf32};

export! {
    /// Writes the GUIDs of all registered countersets, ascending.
    ///
    /// `len` and `actual` count GUIDs. ERROR_NOT_ENOUGH_MEMORY, ERROR_INVALID_PARAMETER, RPC_S_SERVER_UNAVAILABLE for
    /// another machine.
    ///
    /// # Safety
    /// `machine` is null or a string; `guids` is null or has room for `len`; `actual` is null or may be written. No
    /// pointer needs to be aligned.
    PerfEnumerateCounterSet: TextUnit::Utf16, PerfEnumerateCounterSet_utf32: TextUnit::Utf32 =>
    enumerate(machine: *const u8, guids: *mut [u8; 16], len: u32, actual: *mut u32)
}

/// Body of [`PerfEnumerateCounterSet`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfEnumerateCounterSet`].
unsafe fn enumerate(
    wide: TextUnit,
    machine: *const u8,
    guids: *mut [u8; 16],
    len: u32,
    actual: *mut u32,
) -> Result<(), Status> {
    // SAFETY: the caller promises both.
    let buffer = unsafe { Buffer::new(guids, len, actual) };
    buffer.check()?;
    // SAFETY: the caller promises it.
    unsafe { check_machine(machine, wide) }?;
    let guids: Vec<u8> = process().machine.countersets().iter().flat_map(|guid| guid.to_wire()).collect();
    buffer.fill(&guids)
}

export! {
    /// Writes one of ten properties of a counterset's registration, chosen by a request code.
    ///
    /// ERROR_NOT_ENOUGH_MEMORY, ERROR_INVALID_PARAMETER, ERROR_WMI_GUID_NOT_FOUND, ERROR_WMI_ITEMID_NOT_FOUND,
    /// ERROR_NOT_FOUND, ERROR_RESOURCE_LANG_NOT_FOUND, RPC_S_SERVER_UNAVAILABLE.
    ///
    /// # Safety
    /// `machine` is null or a string; `counterset` is null or a GUID; `info` is null or has room for `len`
    /// bytes; `actual` is null or may be written. No pointer needs to be aligned.
    PerfQueryCounterSetRegistrationInfo: TextUnit::Utf16,
    PerfQueryCounterSetRegistrationInfo_utf32: TextUnit::Utf32 =>
    registration(
        machine: *const u8,
        counterset: *const [u8; 16],
        request_code: u32,
        language_or_id: u32,
        info: *mut u8,
        len: u32,
        actual: *mut u32,
    )
}

/// Body of [`PerfQueryCounterSetRegistrationInfo`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfQueryCounterSetRegistrationInfo`].
#[expect(clippy::too_many_arguments, reason = "the function has them")]
unsafe fn registration(
    wide: TextUnit,
    machine: *const u8,
    counterset: *const [u8; 16],
    request_code: u32,
    language_or_id: u32,
    info: *mut u8,
    len: u32,
    actual: *mut u32,
) -> Result<(), Status> {
    // SAFETY: the caller promises both.
    let buffer = unsafe { Buffer::new(info, len, actual) };
    // SAFETY: the caller promises it.
    let counterset = unsafe { load(counterset) }.ok_or(Status::ERROR_INVALID_PARAMETER)?;
    buffer.check()?;
    let shape = match request_code {
        1 | 2 | 8 => TextLocation::Numbers,
        3 | 4 | 7 | 9 => TextLocation::Text,
        5 | 6 | 10 => TextLocation::Strings,
        _ => return Err(Status::ERROR_INVALID_PARAMETER),
    };
    // SAFETY: the caller promises it.
    unsafe { check_machine(machine, wide) }?;
    let counterset = Guid::from_wire(counterset);
    let answer = perflib::registration_info(&process().machine, &counterset, request_code, language_or_id)?;
    fill(&buffer, wide, &answer, shape)
}

export! {
    /// Writes the active instances of a counterset.
    ///
    /// ERROR_NOT_ENOUGH_MEMORY, ERROR_INVALID_PARAMETER, ERROR_WMI_GUID_NOT_FOUND, ERROR_WMI_INSTANCE_NOT_FOUND,
    /// ERROR_WMI_INVALID_REGINFO, RPC_S_SERVER_UNAVAILABLE, or the code for an error of the kernel.
    ///
    /// # Safety
    /// `machine` is null or a string; `counterset` is null or a GUID; `instances` is null or has room for `len` bytes;
    /// `actual` is null or may be written. No pointer needs to be aligned.
    PerfEnumerateCounterSetInstances: TextUnit::Utf16,
    PerfEnumerateCounterSetInstances_utf32: TextUnit::Utf32 =>
    list_instances(
        machine: *const u8,
        counterset: *const [u8; 16],
        instances: *mut u8,
        len: u32,
        actual: *mut u32,
    )
}

/// Body of [`PerfEnumerateCounterSetInstances`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfEnumerateCounterSetInstances`].
unsafe fn list_instances(
    wide: TextUnit,
    machine: *const u8,
    counterset: *const [u8; 16],
    instances: *mut u8,
    len: u32,
    actual: *mut u32,
) -> Result<(), Status> {
    // SAFETY: the caller promises both.
    let buffer = unsafe { Buffer::new(instances, len, actual) };
    // SAFETY: the caller promises it.
    let counterset = unsafe { load(counterset) }.ok_or(Status::ERROR_INVALID_PARAMETER)?;
    buffer.check()?;
    // SAFETY: the caller promises it.
    unsafe { check_machine(machine, wide) }?;
    let answer = perflib::enumerate_instances(&process().machine, &Guid::from_wire(counterset))?;
    fill(&buffer, wide, &answer, TextLocation::Instances)
}

export! {
    /// Opens an empty query. ERROR_INVALID_PARAMETER, ERROR_NO_SYSTEM_RESOURCES when 65,536 are open,
    /// RPC_S_SERVER_UNAVAILABLE; the handle is then null.
    ///
    /// # Safety
    /// `machine` is null or a string; `query` is null or may be written. No pointer needs to be aligned.
    PerfOpenQueryHandle: TextUnit::Utf16, PerfOpenQueryHandle_utf32: TextUnit::Utf32 =>
    open(machine: *const u8, query: *mut Handle)
}

/// Body of [`PerfOpenQueryHandle`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfOpenQueryHandle`].
unsafe fn open(wide: TextUnit, machine: *const u8, query: *mut Handle) -> Result<(), Status> {
    if query.is_null() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller promises it.
    unsafe { store(query, handle(0)) };
    // SAFETY: the caller promises it.
    unsafe { check_machine(machine, wide) }?;
    let process = process();
    let (query_of_log, past) = process.past()?.map(PastLog::query).transpose()?.unzip();
    let open = OpenQuery {
        query: query_of_log.unwrap_or_else(|| process.machine.query()),
        past,
        snapshot: Default::default(),
        utf32: Vec::new(),
    };
    let opened = process.queries.open(open).ok_or(Status::ERROR_NO_SYSTEM_RESOURCES)?;
    // SAFETY: the caller promises it.
    unsafe { store(query, handle(opened)) };
    Ok(())
}

/// Closes a query handle. ERROR_INVALID_HANDLE if the handle was never opened or is already closed.
#[unsafe(no_mangle)]
pub extern "system" fn PerfCloseQueryHandle(query: Handle) -> u32 {
    guard(|| match process().queries.close(number(query)) {
        Some(_) => Ok(()),
        None => Err(Status::ERROR_INVALID_HANDLE),
    })
}

export! {
    /// Adds entries to a query, and writes the Status of each. ERROR_INVALID_HANDLE; ERROR_INVALID_PARAMETER if the
    /// entries cannot be parsed: nothing is then written or added.
    ///
    /// # Safety
    /// `counters` is null, or `len` bytes there may be read and written; it needs not be aligned.
    PerfAddCounters: TextUnit::Utf16, PerfAddCounters_utf32: TextUnit::Utf32 =>
    add(query: Handle, counters: *mut u8, len: u32)
}

/// Body of [`PerfAddCounters`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfAddCounters`].
unsafe fn add(wide: TextUnit, query: Handle, counters: *mut u8, len: u32) -> Result<(), Status> {
    // SAFETY: the caller promises it.
    unsafe { for_each_entry(wide, query, counters, len, perflib::add_counters) }
}

export! {
    /// Deletes entries of a query, and writes the Status of each. Codes as [`PerfAddCounters`].
    ///
    /// # Safety
    /// As [`PerfAddCounters`].
    PerfDeleteCounters: TextUnit::Utf16, PerfDeleteCounters_utf32: TextUnit::Utf32 =>
    delete(query: Handle, counters: *mut u8, len: u32)
}

/// Body of [`PerfDeleteCounters`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfAddCounters`].
unsafe fn delete(wide: TextUnit, query: Handle, counters: *mut u8, len: u32) -> Result<(), Status> {
    // SAFETY: the caller promises it.
    unsafe { for_each_entry(wide, query, counters, len, perflib::delete_counters) }
}

export! {
    /// Writes the entries of a query, and the index of each one's result. ERROR_NOT_ENOUGH_MEMORY,
    /// ERROR_INVALID_HANDLE, ERROR_INVALID_PARAMETER.
    ///
    /// # Safety
    /// `counters` is null or has room for `len` bytes; `actual` is null or may be written. No pointer needs to
    /// be aligned.
    PerfQueryCounterInfo: TextUnit::Utf16, PerfQueryCounterInfo_utf32: TextUnit::Utf32 =>
    info(query: Handle, counters: *mut u8, len: u32, actual: *mut u32)
}

/// Body of [`PerfQueryCounterInfo`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfQueryCounterInfo`].
unsafe fn info(
    wide: TextUnit,
    query: Handle,
    counters: *mut u8,
    len: u32,
    actual: *mut u32,
) -> Result<(), Status> {
    // SAFETY: the caller promises both.
    let buffer = unsafe { Buffer::new(counters, len, actual) };
    with(query, |open| {
        buffer.check()?;
        fill(&buffer, wide, &perflib::counter_info(&open.query), TextLocation::Identifiers)
    })
}

export! {
    /// Collects all entries of a query once. ERROR_NOT_ENOUGH_MEMORY: the collected data is lost, and the next call
    /// collects again. ERROR_INVALID_HANDLE, ERROR_INVALID_PARAMETER.
    ///
    /// Of a log, each call returns the next sample, and after the last one ERROR_HANDLE_EOF. A sample that did not fit
    /// is returned again.
    ///
    /// # Safety
    /// `block` is null or has room for `len` bytes; `actual` is null or may be written. No pointer needs to be aligned.
    PerfQueryCounterData: TextUnit::Utf16, PerfQueryCounterData_utf32: TextUnit::Utf32 =>
    data(query: Handle, block: *mut u8, len: u32, actual: *mut u32)
}

/// Body of [`PerfQueryCounterData`] for UTF-16 or UTF-32 text.
///
/// # Safety
/// As [`PerfQueryCounterData`].
unsafe fn data(
    wide: TextUnit,
    query: Handle,
    block: *mut u8,
    len: u32,
    actual: *mut u32,
) -> Result<(), Status> {
    // SAFETY: the caller promises both.
    let buffer = unsafe { Buffer::new(block, len, actual) };
    with(query, |OpenQuery { query, past, snapshot, utf32 }| {
        buffer.check()?;
        match past {
            Some(past) => past.next(snapshot)?,
            None => query.collect(snapshot).map_err(|error| error.status())?,
        }
        let filled = match wide {
            TextUnit::Utf16 => buffer.fill(snapshot.block()),
            TextUnit::Utf32 => {
                data_to_utf32(snapshot.block(), utf32);
                buffer.fill(utf32)
            }
        };
        if let (Some(past), Err(_)) = (past, filled) {
            past.keep();
        }
        filled
    })
}

/// Calls a function with the open query that a query handle names.
fn with<R>(query: Handle, act: impl FnOnce(&mut OpenQuery) -> Result<R, Status>) -> Result<R, Status> {
    process().queries.with(number(query), act).unwrap_or(Err(Status::ERROR_INVALID_HANDLE))
}

fn fill(buffer: &Buffer, wide: TextUnit, answer: &[u8], shape: TextLocation) -> Result<(), Status> {
    match wide {
        TextUnit::Utf16 => buffer.fill(answer),
        TextUnit::Utf32 => buffer.fill(&to_utf32(answer, shape)),
    }
}

/// Adds or deletes the query entries in a C caller's blocks, and writes the statuses into the blocks.
///
/// # Safety
/// `counters` is null, or `len` bytes there may be read and written.
unsafe fn for_each_entry(
    wide: TextUnit,
    query: Handle,
    counters: *mut u8,
    len: u32,
    process: impl FnOnce(&mut perfset::Query, &mut [u8]) -> Result<(), Status>,
) -> Result<(), Status> {
    const STATUS_AT: usize = 16;
    with(query, |open| {
        let len = usize::try_from(len).ok().filter(|len| isize::try_from(*len).is_ok());
        let Some(len) = len.filter(|_| !counters.is_null()) else {
            return Err(Status::ERROR_INVALID_PARAMETER);
        };
        // SAFETY: not null, not longer than memory, and the caller promises the bytes for as long as the call lasts.
        let blocks = unsafe { std::slice::from_raw_parts_mut(counters, len) };
        let processed = match wide {
            TextUnit::Utf16 => process(&mut open.query, blocks),
            TextUnit::Utf32 => {
                let (mut utf16, places) =
                    identifiers_to_utf16(blocks).map_err(|_| Status::ERROR_INVALID_PARAMETER)?;
                process(&mut open.query, &mut utf16)?;
                let statuses = perfset::v2::identifier::Identifiers::new(&utf16).flatten();
                for (identifier, at) in statuses.zip(places) {
                    let status = blocks.get_mut(at.saturating_add(STATUS_AT)..);
                    if let Some(status) = status.and_then(|status| status.first_chunk_mut()) {
                        *status = identifier.status().0.to_le_bytes();
                    }
                }
                Ok(())
            }
        };
        if let Some(past) = &mut open.past {
            past.follow(&open.query);
        }
        processed
    })
}
