//! PerfLib's functions over a perfset machine: they respond as Windows' do, by the rules of the engine.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use perfset_core::{Guid, Status};
use perfset_engine::{Machine, Query, Snapshot, SourceError, perflib, v1};

use crate::functions::{FillResult, PerfLib, PerformanceKey, RawQuery};

/// Emulation of PerfLib's functions that respond with the counters of a machine.
#[derive(Debug)]
pub struct EmulatedPerfLib {
    machine: Machine,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    queries: HashMap<RawQuery, (Query, Snapshot)>,
    opened: usize,
}

impl EmulatedPerfLib {
    /// Creates the emulated functions over this machine.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        Self { machine, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // A query is still valid after a panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fills a buffer by the size protocol of PerfLib: a response that does not fit is not written at all.
pub(crate) fn fill(
    buffer: &mut [u8],
    element: usize,
    too_small: Status,
    answer: Result<&[u8], Status>,
) -> FillResult {
    let answer = match answer {
        Ok(answer) => answer,
        Err(status) => return FillResult::failed(status),
    };
    let actual = answer.len().checked_div(element).and_then(|count| u32::try_from(count).ok());
    let Some(actual) = actual else { return FillResult::failed(Status::ERROR_OUTOFMEMORY) };
    match buffer.get_mut(..answer.len()) {
        Some(room) => {
            room.copy_from_slice(answer);
            FillResult { status: Status::ERROR_SUCCESS, actual }
        }
        None => FillResult { status: too_small, actual },
    }
}

fn fill_v2(buffer: &mut [u8], answer: Result<Vec<u8>, Status>) -> FillResult {
    fill(buffer, 1, Status::ERROR_NOT_ENOUGH_MEMORY, answer.as_deref().map_err(|status| *status))
}

impl PerfLib for EmulatedPerfLib {
    fn enumerate_countersets(&self, guids: &mut [u8]) -> FillResult {
        let all = self.machine.countersets();
        let bytes: Vec<u8> = all.into_iter().flat_map(Guid::to_wire).collect();
        fill(guids, 16, Status::ERROR_NOT_ENOUGH_MEMORY, Ok(&bytes))
    }

    fn registration_info(
        &self,
        counterset: &Guid,
        code: u32,
        language_or_id: u32,
        info: &mut [u8],
    ) -> FillResult {
        fill_v2(info, perflib::registration_info(&self.machine, counterset, code, language_or_id))
    }

    fn enumerate_instances(&self, counterset: &Guid, instances: &mut [u8]) -> FillResult {
        fill_v2(instances, perflib::enumerate_instances(&self.machine, counterset))
    }

    fn open_query(&self) -> Result<RawQuery, Status> {
        let mut open = self.lock();
        open.opened = open.opened.wrapping_add(1);
        let raw = RawQuery(open.opened);
        open.queries.insert(raw, (self.machine.query(), Snapshot::default()));
        Ok(raw)
    }

    fn close_query(&self, query: RawQuery) -> Status {
        let closed = self.lock().queries.remove(&query);
        closed.map_or(Status::ERROR_INVALID_HANDLE, |_| Status::ERROR_SUCCESS)
    }

    fn add_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        let mut open = self.lock();
        let Some((query, _)) = open.queries.get_mut(&query) else { return Status::ERROR_INVALID_HANDLE };
        perflib::add_counters(query, identifiers).err().unwrap_or(Status::ERROR_SUCCESS)
    }

    fn delete_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        let mut open = self.lock();
        let Some((query, _)) = open.queries.get_mut(&query) else { return Status::ERROR_INVALID_HANDLE };
        perflib::delete_counters(query, identifiers).err().unwrap_or(Status::ERROR_SUCCESS)
    }

    fn query_info(&self, query: RawQuery, identifiers: &mut [u8]) -> FillResult {
        let open = self.lock();
        let query = open.queries.get(&query).ok_or(Status::ERROR_INVALID_HANDLE);
        fill_v2(identifiers, query.map(|(query, _)| perflib::counter_info(query)))
    }

    fn query_data(&self, query: RawQuery, block: &mut [u8]) -> FillResult {
        let mut open = self.lock();
        let Some((query, snapshot)) = open.queries.get_mut(&query) else {
            return FillResult::failed(Status::ERROR_INVALID_HANDLE);
        };
        let collected = query.collect(snapshot).map_err(|error| error.status());
        fill(block, 1, Status::ERROR_NOT_ENOUGH_MEMORY, collected.map(|()| snapshot.block()))
    }
}

/// Emulation of HKEY_PERFORMANCE_DATA that responds with the counters of a machine.
#[derive(Debug)]
pub struct EmulatedPerformanceKey {
    machine: Machine,
    /// Name of the machine in the emulated key's blocks.
    name: String,
}

impl EmulatedPerformanceKey {
    /// Creates the emulated key over this machine, with this name in its blocks.
    #[must_use]
    pub fn new(machine: Machine, name: impl Into<String>) -> Self {
        Self { machine, name: name.into() }
    }
}

impl PerformanceKey for EmulatedPerformanceKey {
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
        const ERROR_FILE_NOT_FOUND: Status = Status(2);
        let Ok(name) = name.parse() else { return FillResult::failed(ERROR_FILE_NOT_FOUND) };
        let answer = v1::query(&self.machine, &name, &self.name).map_err(|error: SourceError| error.status());
        let answer = answer.as_ref().map(|answer| &*answer.bytes).map_err(|status| *status);
        // The needed size is not reported, as on Windows.
        match fill(value, 1, Status::ERROR_MORE_DATA, answer) {
            FillResult { status: Status::ERROR_MORE_DATA, .. } => FillResult::failed(Status::ERROR_MORE_DATA),
            filled => filled,
        }
    }

    fn close(&self) {}
}
