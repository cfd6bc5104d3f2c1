//! Owned query handle of PerfLib, closed on drop.

use std::sync::Arc;

use perfset_core::v2::identifier::{self, Identifiers, NewIdentifier};
use perfset_core::{CounterFilter, Guid, InstanceIdFilter, Status};
use perfset_engine::SourceError;

use crate::buffer::filled;
use crate::functions::{PerfLib, RawQuery};

const INFO: &str = "PerfQueryCounterInfo";

/// Open PerfLib query, which is closed when this value is dropped.
#[derive(Debug)]
pub struct OpenQuery {
    functions: Arc<dyn PerfLib>,
    raw: RawQuery,
    /// Block of the query's last collection, reused by the next.
    block: Vec<u8>,
}

impl Drop for OpenQuery {
    fn drop(&mut self) {
        // There is nothing to do about a handle that cannot be closed.
        let _ = self.functions.close_query(self.raw);
    }
}

impl OpenQuery {
    /// Opens an empty PerfLib query.
    ///
    /// # Errors
    /// If the system refuses the call.
    pub fn open(functions: &Arc<dyn PerfLib>) -> Result<Self, SourceError> {
        let raw = functions.open_query();
        let raw =
            raw.map_err(|status| SourceError::System { function: "PerfOpenQueryHandle".into(), status })?;
        Ok(Self { functions: Arc::clone(functions), raw, block: Vec::new() })
    }

    /// Adds an entry to the query: counters of a counterset, of all its instances if it has several.
    ///
    /// # Errors
    /// If the system refuses the call.
    pub fn add(
        &self,
        counterset: Guid,
        counter: CounterFilter,
        is_multiple: bool,
    ) -> Result<(), SourceError> {
        const FUNCTION: &str = "PerfAddCounters";
        const ALL: &[u16] = &[0x2A]; // *
        let new = NewIdentifier {
            counterset,
            counter,
            instance_id: InstanceIdFilter::Any,
            name: is_multiple.then_some(ALL),
            index: 0,
        };
        let mut block = Vec::new();
        identifier::write(&mut block, &new);
        let refused = |status: Status| match status {
            Status::ERROR_SUCCESS => Ok(()),
            Status::ERROR_WMI_GUID_NOT_FOUND => Err(SourceError::UnknownCounterset(counterset)),
            status => Err(SourceError::System { function: FUNCTION.into(), status }),
        };
        refused(self.functions.add_counters(self.raw, &mut block))?;
        match Identifiers::new(&block).next() {
            Some(Ok(added)) => refused(added.status()),
            _ => Err(SourceError::Failed(format!("{FUNCTION}: it destroyed the entry").into())),
        }
    }

    /// Returns the index of a query entry's result in all later blocks. The system alone chooses the order of
    /// results.
    ///
    /// # Errors
    /// If the system does not list its entries, or this entry is not among them.
    pub fn index(&self, counterset: Guid, counter: CounterFilter) -> Result<u32, SourceError> {
        let entries = self.entries()?;
        let is_it = |entry: &identifier::Identifier<'_>| {
            entry.counterset() == counterset && entry.counter() == counter
        };
        let entry = Identifiers::new(&entries).flatten().find(is_it);
        let index = entry.map(|entry| entry.index());
        index.ok_or_else(|| SourceError::Failed(format!("{INFO}: it does not list the entry").into()))
    }

    /// Returns all entries of the query, each with the index of its result.
    ///
    /// # Errors
    /// If the system does not list its entries.
    pub fn entries(&self) -> Result<Vec<u8>, SourceError> {
        let mut buffer = Vec::new();
        let mut ask = |buffer: &mut [u8]| self.functions.query_info(self.raw, buffer);
        filled(INFO, 1, &mut buffer, &mut ask).map(<[u8]>::to_vec)
    }

    /// Collects all entries of the query, and returns a PERF_DATA_HEADER block that is not checked.
    ///
    /// # Errors
    /// If the system returns no block at all.
    pub fn collect(&mut self) -> Result<&[u8], SourceError> {
        let Self { functions, raw, block } = self;
        filled("PerfQueryCounterData", 1, block, &mut |buffer| functions.query_data(*raw, buffer))
    }

    /// Returns the size of the memory that the query keeps for the next block, in bytes.
    pub fn kept(&self) -> usize {
        self.block.capacity()
    }

    /// Releases the memory that the query keeps for the next block.
    pub fn keep_nothing(&mut self) {
        self.block = Vec::new();
    }
}
