//! Consumer functions over bytes: PerfLib's blocks and codes for each request.
//!
//! With [`Query::collect`], whose [`Snapshot::block`] is a PERF_DATA_HEADER block, these functions do everything that
//! Microsoft's functions do, except for their size protocol and their handles: those belong to C.
//!
//! [`Snapshot::block`]: crate::Snapshot::block

use perfset_core::v2::identifier::{self, Identifiers, NewIdentifier};
use perfset_core::v2::instances;
use perfset_core::{CounterFilter, Guid, Status, Utf16};

use crate::entry::Entry;
use crate::machine::Machine;
use crate::query::Query;
use crate::registration::RegRequest;

/// Returns the response to a registration request for a counterset, as a block.
///
/// # Errors
/// ERROR_INVALID_PARAMETER for a request code outside 1 to 10; the errors of [`Machine::registration`].
#[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
pub fn registration_info(
    machine: &Machine,
    counterset: &Guid,
    request_code: u32,
    language_or_id: u32,
) -> Result<Vec<u8>, Status> {
    let request =
        RegRequest::from_wire(request_code, language_or_id).ok_or(Status::ERROR_INVALID_PARAMETER)?;
    let info = machine.registration(counterset, request).map_err(|error| error.status())?;
    Ok(info.to_block())
}

/// Returns the active instances of a counterset, as PERF_INSTANCE_HEADER blocks.
///
/// # Errors
/// The errors of [`Machine::instances`].
#[doc(alias = "PerfEnumerateCounterSetInstances")]
pub fn enumerate_instances(machine: &Machine, counterset: &Guid) -> Result<Vec<u8>, Status> {
    let found = machine.instances(counterset).map_err(|error| error.status())?;
    let mut list = Vec::new();
    for instance in &found {
        instances::write(&mut list, instance.name.units().iter().copied(), instance.id);
    }
    Ok(list)
}

/// Adds the query entries of PERF_COUNTER_IDENTIFIER blocks and writes the status of each entry.
///
/// # Errors
/// ERROR_INVALID_PARAMETER if the blocks cannot be parsed; then nothing is added and no status written.
#[doc(alias = "PerfAddCounters")]
pub fn add_counters(query: &mut Query, identifiers: &mut [u8]) -> Result<(), Status> {
    for_each_entry(identifiers, |entry, name| query.add_checked(entry, name))
}

/// Deletes the query entries of PERF_COUNTER_IDENTIFIER blocks and writes the status of each entry.
///
/// # Errors
/// As [`add_counters`].
#[doc(alias = "PerfDeleteCounters")]
pub fn delete_counters(query: &mut Query, identifiers: &mut [u8]) -> Result<(), Status> {
    for_each_entry(identifiers, |entry, name| match name {
        Ok(()) => query.delete(entry),
        Err(()) => Status::ERROR_INVALID_PARAMETER,
    })
}

/// Returns a PERF_COUNTER_IDENTIFIER block per query entry, by ascending index; an entry of several counters
/// has one block for each counter.
#[must_use]
#[doc(alias = "PerfQueryCounterInfo")]
pub fn counter_info(query: &Query) -> Vec<u8> {
    let mut list = Vec::new();
    for (index, entry) in query.entries().enumerate() {
        let mut write = |counter| {
            let new = NewIdentifier {
                counterset: entry.counterset,
                counter,
                instance_id: entry.instance_id,
                name: entry.instance.as_ref().map(Utf16::units),
                index: u32::try_from(index).unwrap_or(u32::MAX),
            };
            identifier::write(&mut list, &new);
        };
        match entry.counters.ids() {
            None => write(CounterFilter::All),
            Some(ids) => ids.iter().copied().map(CounterFilter::One).for_each(write),
        }
    }
    list
}

/// Parses all PERF_COUNTER_IDENTIFIER blocks before any entry is processed, then writes the status of each entry.
fn for_each_entry(
    identifiers: &mut [u8],
    mut process: impl FnMut(&Entry, Result<(), ()>) -> Status,
) -> Result<(), Status> {
    // An empty list contains no block that fails, and is an error all the same.
    if identifiers.is_empty() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    let mut entries = Vec::new();
    for identifier in Identifiers::new(identifiers) {
        let identifier = identifier.map_err(|_| Status::ERROR_INVALID_PARAMETER)?;
        let name = identifier.name();
        let entry = Entry {
            counterset: identifier.counterset(),
            counters: identifier.counter().into(),
            instance: name.ok().flatten().map(Utf16::from),
            instance_id: identifier.instance_id(),
        };
        entries.push((identifier.offset, entry, name.map(|_| ()).map_err(|_| ())));
    }
    for (at, entry, name) in entries {
        identifier::set_status(identifiers, at, process(&entry, name));
    }
    Ok(())
}
