//! The consumer functions over bytes: what a C caller gets, with Windows' codes and size protocol.
//!
//! One rule for all buffers: large enough, the amount written; too small, the amount needed now, and nothing is
//! written. The order of checks is R-10: arguments, look-ups, data, and the buffer's size last.

use perfset_core::v2::identifier::{self, Identifiers, NewIdentifier};
use perfset_core::v2::instances;
use perfset_core::{Guid, Status, Utf16};

use crate::entry::Entry;
use crate::machine::Machine;
use crate::query::Query;
use crate::registration::RegRequest;
use crate::snapshot::Snapshot;

/// A function did not fill the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// ERROR_NOT_ENOUGH_MEMORY: the buffer is too small.
    #[error("the buffer is too small: {needed} are needed")]
    TooSmall {
        /// What is needed now: GUIDs for [`enumerate_countersets`], bytes everywhere else.
        needed: usize,
    },
    /// Any other code.
    #[error("{0}")]
    Failed(Status),
}

impl Refused {
    /// The function's code.
    #[must_use]
    pub const fn status(self) -> Status {
        match self {
            Self::TooSmall { .. } => Status::ERROR_NOT_ENOUGH_MEMORY,
            Self::Failed(status) => status,
        }
    }
}

/// The GUIDs of all registered countersets, ascending. Returns how many.
///
/// # Errors
/// [`Refused::TooSmall`].
#[doc(alias = "PerfEnumerateCounterSet")]
pub fn enumerate_countersets(machine: &Machine, out: &mut [Guid]) -> Result<usize, Refused> {
    fill(&machine.countersets(), out)
}

/// The answer to a registration request, as a block. Returns its bytes.
///
/// # Errors
/// ERROR_INVALID_PARAMETER for a request code outside 1 to 10; what [`Machine::registration`] answers;
/// [`Refused::TooSmall`].
#[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
pub fn registration_info(
    machine: &Machine,
    counterset: &Guid,
    request_code: u32,
    language_or_id: u32,
    out: &mut [u8],
) -> Result<usize, Refused> {
    let request = RegRequest::from_wire(request_code, language_or_id)
        .ok_or(Refused::Failed(Status::ERROR_INVALID_PARAMETER))?;
    let info = machine.registration(counterset, request).map_err(|e| Refused::Failed(e.status()))?;
    fill(&info.to_block(), out)
}

/// The active instances of a counterset, as PERF_INSTANCE_HEADER blocks. Returns their bytes.
///
/// # Errors
/// What [`Machine::instances`] answers; [`Refused::TooSmall`].
#[doc(alias = "PerfEnumerateCounterSetInstances")]
pub fn enumerate_instances(machine: &Machine, counterset: &Guid, out: &mut [u8]) -> Result<usize, Refused> {
    let found = machine.instances(counterset).map_err(|e| Refused::Failed(e.status()))?;
    let mut list = Vec::new();
    for instance in &found {
        instances::write(&mut list, instance.name.units().iter().copied(), instance.id);
    }
    fill(&list, out)
}

/// Adds the entries of PERF_COUNTER_IDENTIFIER blocks and writes each one's status.
///
/// # Errors
/// ERROR_INVALID_PARAMETER if the blocks cannot be walked; then nothing is added and no status written.
#[doc(alias = "PerfAddCounters")]
pub fn add_counters(query: &mut Query, identifiers: &mut [u8]) -> Result<(), Status> {
    for_each_entry(identifiers, |entry, name| query.add_checked(entry, name))
}

/// Deletes the entries of PERF_COUNTER_IDENTIFIER blocks and writes each one's status.
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

/// One PERF_COUNTER_IDENTIFIER block an entry, by ascending index. Returns their bytes.
///
/// # Errors
/// [`Refused::TooSmall`].
#[doc(alias = "PerfQueryCounterInfo")]
pub fn counter_info(query: &Query, out: &mut [u8]) -> Result<usize, Refused> {
    let mut list = Vec::new();
    for (index, entry) in query.entries().enumerate() {
        let new = NewIdentifier {
            counterset: entry.counterset,
            counter: entry.counter,
            instance_id: entry.instance_id,
            name: entry.instance.as_ref().map(Utf16::units),
            index: u32::try_from(index).unwrap_or(u32::MAX),
        };
        identifier::write(&mut list, &new);
    }
    fill(&list, out)
}

/// Collects all entries once, as a PERF_DATA_HEADER block. Returns its bytes.
///
/// `scratch` is reused from call to call. A collection that does not fit the buffer is lost: the next call collects
/// again.
///
/// # Errors
/// [`Refused::TooSmall`]; ERROR_OUTOFMEMORY for a block of more than 4 GiB.
#[doc(alias = "PerfQueryCounterData")]
pub fn counter_data(query: &mut Query, scratch: &mut Snapshot, out: &mut [u8]) -> Result<usize, Refused> {
    query.collect(scratch).map_err(|e| Refused::Failed(e.status()))?;
    fill(scratch.block(), out)
}

fn fill<T: Copy>(from: &[T], out: &mut [T]) -> Result<usize, Refused> {
    let needed = from.len();
    let into = out.get_mut(..needed).ok_or(Refused::TooSmall { needed })?;
    into.copy_from_slice(from);
    Ok(needed)
}

/// Walks all blocks before any is processed, then writes the status of each.
fn for_each_entry(
    identifiers: &mut [u8],
    mut process: impl FnMut(&Entry, Result<(), ()>) -> Status,
) -> Result<(), Status> {
    if identifiers.is_empty() {
        return Err(Status::ERROR_INVALID_PARAMETER);
    }
    let mut entries = Vec::new();
    for identifier in Identifiers::new(identifiers) {
        let identifier = identifier.map_err(|_| Status::ERROR_INVALID_PARAMETER)?;
        let name = identifier.name();
        let entry = Entry {
            counterset: identifier.counterset(),
            counter: identifier.counter(),
            instance: name.ok().flatten().map(Utf16::from),
            instance_id: identifier.instance_id(),
        };
        entries.push((identifier.at, entry, name.map(|_| ()).map_err(|_| ())));
    }
    for (at, entry, name) in entries {
        identifier::set_status(identifiers, at, process(&entry, name));
    }
    Ok(())
}
