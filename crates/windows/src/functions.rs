//! The functions that Windows has for consumers, as a seam: what they take and give, and nothing of what it means.

use std::fmt::Debug;
use std::thread;
use std::time::Duration;

use perfset_core::{Guid, Status};

/// What a function that fills a buffer answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Its code.
    pub status: Status,
    /// What it says that it wrote, or needs: GUIDs or bytes. Not to be believed.
    pub actual: u32,
}

impl Filled {
    /// A failure, which says nothing of sizes.
    #[must_use]
    pub const fn failed(status: Status) -> Self {
        Self { status, actual: 0 }
    }
}

/// A query handle: an opaque number, which means something only to the functions that gave it. Any other one is
/// [`Status::ERROR_INVALID_HANDLE`], and so is one that was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawQuery(pub usize);

/// PerfLib's nine functions for consumers, asked of this machine.
///
/// A function that the system does not have answers [`Status::ERROR_CALL_NOT_IMPLEMENTED`]. A buffer of length 0 is how
/// a size is asked for.
pub trait PerfLib: Debug + Send + Sync {
    /// The GUIDs of all registered countersets, 16 bytes each; `actual` counts GUIDs.
    #[doc(alias = "PerfEnumerateCounterSet")]
    fn enumerate_countersets(&self, guids: &mut [u8]) -> Filled;

    /// One of the ten answers about a counterset.
    #[doc(alias = "PerfQueryCounterSetRegistrationInfo")]
    fn registration_info(&self, counterset: &Guid, code: u32, language_or_id: u32, info: &mut [u8])
    -> Filled;

    /// The active instances of a counterset.
    #[doc(alias = "PerfEnumerateCounterSetInstances")]
    fn enumerate_instances(&self, counterset: &Guid, instances: &mut [u8]) -> Filled;

    /// Opens an empty query.
    ///
    /// # Errors
    /// The function's code.
    #[doc(alias = "PerfOpenQueryHandle")]
    fn open_query(&self) -> Result<RawQuery, Status>;

    /// Closes a query.
    #[doc(alias = "PerfCloseQueryHandle")]
    fn close_query(&self, query: RawQuery) -> Status;

    /// Adds the entries of PERF_COUNTER_IDENTIFIER blocks and writes each one's status.
    #[doc(alias = "PerfAddCounters")]
    fn add_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status;

    /// Deletes the entries of PERF_COUNTER_IDENTIFIER blocks and writes each one's status.
    #[doc(alias = "PerfDeleteCounters")]
    fn delete_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status;

    /// The entries of a query, and the position of each one's result.
    #[doc(alias = "PerfQueryCounterInfo")]
    fn query_info(&self, query: RawQuery, identifiers: &mut [u8]) -> Filled;

    /// Collects all entries of a query.
    #[doc(alias = "PerfQueryCounterData")]
    fn query_data(&self, query: RawQuery, block: &mut [u8]) -> Filled;
}

/// Functions that cannot be had: each answers why.
#[derive(Clone, Copy, Debug)]
pub struct Absent(pub Status);

impl PerfLib for Absent {
    fn enumerate_countersets(&self, _: &mut [u8]) -> Filled {
        Filled::failed(self.0)
    }

    fn registration_info(&self, _: &Guid, _: u32, _: u32, _: &mut [u8]) -> Filled {
        Filled::failed(self.0)
    }

    fn enumerate_instances(&self, _: &Guid, _: &mut [u8]) -> Filled {
        Filled::failed(self.0)
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

    fn query_info(&self, _: RawQuery, _: &mut [u8]) -> Filled {
        Filled::failed(self.0)
    }

    fn query_data(&self, _: RawQuery, _: &mut [u8]) -> Filled {
        Filled::failed(self.0)
    }
}

/// The registry's key HKEY_PERFORMANCE_DATA.
pub trait PerformanceKey: Debug + Send + Sync {
    /// The value of a name: a PERF_DATA_BLOCK, or a table of names. `actual` is bytes, and means nothing unless the
    /// code is success.
    #[doc(alias = "RegQueryValueEx")]
    fn query_value(&self, name: &str, value: &mut [u8]) -> Filled;

    /// Gives back what the key keeps: the system unloads the providers' libraries.
    #[doc(alias = "RegCloseKey")]
    fn close(&self);

    /// Waits before the same is asked again.
    fn wait(&self, pause: Duration) {
        thread::sleep(pause);
    }
}
