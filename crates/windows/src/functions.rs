//! Interface to Windows' functions for consumers of counters: their arguments and results, without the meaning of
//! these.

use std::fmt::Debug;
use std::thread;
use std::time::Duration;

use perfset_core::{Guid, Status};

/// Result of a Windows function that fills a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillResult {
    /// Status code that the Windows function returned.
    pub status: Status,
    /// Number of GUIDs or bytes that the Windows function reports as written or needed. Must not be trusted.
    pub actual: u32,
}

impl FillResult {
    /// Returns the result of a failed function, without a size.
    #[must_use]
    pub const fn failed(status: Status) -> Self {
        Self { status, actual: 0 }
    }
}

/// Handle of a PerfLib query: an opaque number, which is valid only for the functions that returned it. Any other
/// number, and a closed handle, gives [`Status::ERROR_INVALID_HANDLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawQuery(pub usize);

/// PerfLib's nine functions for consumers, on the local machine.
///
/// A function that the system does not have returns [`Status::ERROR_CALL_NOT_IMPLEMENTED`]. A buffer of length 0
/// requests the size that is needed.
pub trait PerfLib: Debug + Send + Sync {
    /// Writes the GUIDs of all registered countersets, 16 bytes each; `actual` counts GUIDs.
    #[doc(alias = "PerfEnumerateCounterSet")]
    fn enumerate_countersets(&self, guids: &mut [u8]) -> FillResult;

    /// Writes one of the ten properties of a counterset's registration.
    #[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
    fn registration_info(
        &self,
        counterset: &Guid,
        code: u32,
        language_or_id: u32,
        info: &mut [u8],
    ) -> FillResult;

    /// Writes the active instances of a counterset.
    #[doc(alias = "PerfEnumerateCounterSetInstances")]
    fn enumerate_instances(&self, counterset: &Guid, instances: &mut [u8]) -> FillResult;

    /// Opens an empty PerfLib query.
    ///
    /// # Errors
    /// The function's code.
    #[doc(alias = "PerfOpenQueryHandle")]
    fn open_query(&self) -> Result<RawQuery, Status>;

    /// Closes a PerfLib query and its handle.
    #[doc(alias = "PerfCloseQueryHandle")]
    fn close_query(&self, query: RawQuery) -> Status;

    /// Adds the entries of PERF_COUNTER_IDENTIFIER blocks to a query, and writes the status of each.
    #[doc(alias = "PerfAddCounters")]
    fn add_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status;

    /// Deletes the entries of PERF_COUNTER_IDENTIFIER blocks from a query, and writes the status of each.
    #[doc(alias = "PerfDeleteCounters")]
    fn delete_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status;

    /// Writes the entries of a PerfLib query, each with the index of its result.
    #[doc(alias = "PerfQueryCounterInfo")]
    fn query_info(&self, query: RawQuery, identifiers: &mut [u8]) -> FillResult;

    /// Collects all entries of a PerfLib query, and writes their block.
    #[doc(alias = "PerfQueryCounterData")]
    fn query_data(&self, query: RawQuery, block: &mut [u8]) -> FillResult;
}

/// Replacement for PerfLib functions that are unavailable: each returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct MissingFunctions(pub Status);

impl PerfLib for MissingFunctions {
    fn enumerate_countersets(&self, _: &mut [u8]) -> FillResult {
        FillResult::failed(self.0)
    }

    fn registration_info(&self, _: &Guid, _: u32, _: u32, _: &mut [u8]) -> FillResult {
        FillResult::failed(self.0)
    }

    fn enumerate_instances(&self, _: &Guid, _: &mut [u8]) -> FillResult {
        FillResult::failed(self.0)
    }

    fn open_query(&self) -> Result<RawQuery, Status> {
        Err(self.0)
    }

    fn close_query(&self, _: RawQuery) -> Status {
        self.0
    }

    fn add_counters(&self, _: RawQuery, _: &mut [u8]) -> Status {
        self.0
    }

    fn delete_counters(&self, _: RawQuery, _: &mut [u8]) -> Status {
        self.0
    }

    fn query_info(&self, _: RawQuery, _: &mut [u8]) -> FillResult {
        FillResult::failed(self.0)
    }

    fn query_data(&self, _: RawQuery, _: &mut [u8]) -> FillResult {
        FillResult::failed(self.0)
    }
}

/// Interface to the registry key HKEY_PERFORMANCE_DATA.
pub trait PerformanceKey: Debug + Send + Sync {
    /// Reads the value of a name of the performance key: a PERF_DATA_BLOCK, or a table of names. `actual` is a number
    /// of bytes, and has a meaning only on success.
    #[doc(alias = "RegQueryValueEx")]
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult;

    /// Releases the resources of the performance key: the system unloads the providers' libraries.
    #[doc(alias = "RegCloseKey")]
    fn close(&self);

    /// Waits for a pause before the same request is sent to the performance key again.
    fn wait(&self, pause: Duration) {
        thread::sleep(pause);
    }
}
