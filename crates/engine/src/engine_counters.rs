//! The engine's own counterset: costs of collections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use perfset_catalogue::perfset_engine as set;
use perfset_core::{Guid, InstanceId, NoValue};

use crate::error::SourceError;
use crate::provider::{Catalogue, CollectRequest, Provider};
use crate::rows::Rows;

/// Totals over all collections of a process, and figures of its last collection.
#[derive(Debug, Default)]
pub(crate) struct CollectionTotals {
    collections: AtomicU64,
    collection_ticks: AtomicU64,
    last_collection_ns: AtomicU64,
    block_bytes: AtomicU64,
    last_block_bytes: AtomicU64,
    source_bytes: AtomicU64,
    missing_values: AtomicU64,
    failed_entries: AtomicU64,
    late_providers: AtomicU64,
    provider_failures: AtomicU64,
    layout_rebuilds: AtomicU64,
    source_layer: AtomicU64,
}

/// Cost and outcome of one collection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CollectionCost {
    pub took: Duration,
    /// Ticks per second of PerfTime, the clock in which the average collection time is counted.
    pub perf_freq: i64,
    pub block_bytes: u64,
    pub source_bytes: u64,
    pub missing_values: u64,
    pub failed_entries: u64,
    pub late_providers: u64,
    pub provider_failures: u64,
    pub laid_out: bool,
    pub source_layer: u32,
}

impl CollectionTotals {
    pub(crate) fn add(&self, account: &CollectionCost) {
        // `Relaxed` below, because collections add and read under the lock of the machine.
        let ns = account.took.as_nanos();
        let freq = u128::try_from(account.perf_freq).unwrap_or(0);
        // PERF_AVERAGE_TIMER counts ticks of PerfTime.
        let ticks = ns.saturating_mul(freq).wrapping_div(1_000_000_000);
        let low = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        self.collections.fetch_add(1, Relaxed);
        self.collection_ticks.fetch_add(low(ticks), Relaxed);
        self.last_collection_ns.store(low(ns), Relaxed);
        self.block_bytes.fetch_add(account.block_bytes, Relaxed);
        self.last_block_bytes.store(account.block_bytes, Relaxed);
        self.source_bytes.fetch_add(account.source_bytes, Relaxed);
        self.missing_values.store(account.missing_values, Relaxed);
        self.failed_entries.store(account.failed_entries, Relaxed);
        self.late_providers.store(account.late_providers, Relaxed);
        self.provider_failures.fetch_add(account.provider_failures, Relaxed);
        self.layout_rebuilds.fetch_add(u64::from(account.laid_out), Relaxed);
        // Most countersets have one collection method: they must not hide the method of another one.
        if account.source_layer > 0 {
            self.source_layer.store(account.source_layer.into(), Relaxed);
        }
    }
}

/// Provider that publishes the totals of a [`CollectionTotals`].
#[derive(Debug)]
pub(crate) struct EngineCounters {
    ledger: Arc<CollectionTotals>,
    catalogue: Arc<Catalogue>,
}

impl EngineCounters {
    pub(crate) fn new(ledger: Arc<CollectionTotals>) -> Self {
        let countersets = vec![Arc::new(set::COUNTERSET.clone())];
        Self { ledger, catalogue: Arc::new(Catalogue { origin: "perfset".into(), countersets }) }
    }
}

impl Provider for EngineCounters {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, _: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        rows.push("", InstanceId(0), None);
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        // The current collection is not in the totals yet: its cost is known only at its end.
        let ledger = &self.ledger;
        let mut row = rows.push("", InstanceId(0), None);
        for (column, counter) in want.counters.iter().enumerate() {
            let value = match *counter {
                set::COLLECTIONS_PER_SEC | set::AVERAGE_COLLECTION_TIME_BASE => &ledger.collections,
                set::AVERAGE_COLLECTION_TIME => &ledger.collection_ticks,
                set::LAST_COLLECTION_NANOSECONDS => &ledger.last_collection_ns,
                set::BLOCK_BYTES_PER_SEC => &ledger.block_bytes,
                set::LAST_BLOCK_BYTES => &ledger.last_block_bytes,
                set::SOURCE_BYTES_READ_PER_SEC => &ledger.source_bytes,
                set::MISSING_VALUES => &ledger.missing_values,
                set::FAILED_ENTRIES => &ledger.failed_entries,
                set::LATE_PROVIDERS => &ledger.late_providers,
                set::PROVIDER_FAILURES_PER_SEC => &ledger.provider_failures,
                set::LAYOUT_REBUILDS_PER_SEC => &ledger.layout_rebuilds,
                set::SOURCE_LAYER => {
                    match ledger.source_layer.load(Relaxed) {
                        0 => row.set_unavailable(
                            column,
                            NoValue::Unavailable("nothing was collected that has layers".into()),
                        ),
                        layer => row.set(column, layer),
                    }
                    continue;
                }
                _ => continue,
            };
            row.set(column, value.load(Relaxed));
        }
        Ok(())
    }
}
