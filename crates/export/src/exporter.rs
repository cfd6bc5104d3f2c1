//! Exporter of counters to Prometheus: its bound counters, and the text that a scrape makes of them.

use std::collections::HashSet;

use perfset_core::CounterId;
use perfset_core::sample::Clocks;
use perfset_core::v2::Block;
use perfset_engine::path::{BindError, CounterPath};
use perfset_engine::{NextOutcome, QueryHandle, Snapshot, Source, SourceError};
#[cfg(target_os = "linux")]
use perfset_linux::inventory::InventoryReader;

use crate::binding::{Binding, Families};
use crate::error::ExportError;
use crate::family::Family;
use crate::kind::MetricType;
use crate::limit::limit;
use crate::options::{ExportOptions, ExpositionFormat};
use crate::own::ExporterMetrics;
use crate::selection::MetricSelection;
use crate::table::CollectionClocks;

/// Minimum number of seconds between two searches for missing countersets of exported paths.
const PAUSE: i64 = 10;

/// Exporter of counters as text for Prometheus: paths are bound once, and can be scraped any number of times.
///
/// A scrape is one collection of one query. While the same instances come it allocates nothing of its own.
pub struct Exporter {
    source: Box<dyn Source + Send>,
    query: Box<dyn QueryHandle>,
    snapshot: Snapshot,
    bound: Binding,
    /// Counter paths to export whose counterset does not exist yet.
    waiting: Vec<CounterPath>,
    /// Time of the last search for missing countersets, in ticks of PerfTime; `None` before the first.
    looked: Option<i64>,
    own: ExporterMetrics,
    #[cfg(target_os = "linux")]
    inventory: Option<InventoryReader>,
    series_max: usize,
    /// `true` if metrics about the exporter itself are written.
    shows_own: bool,
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exporter").field("families", &self.bound.families.all.len()).finish_non_exhaustive()
    }
}

impl Exporter {
    /// Creates an exporter, whose paths are bound to a source. A path whose counterset does not exist waits until the
    /// counterset appears.
    ///
    /// # Errors
    /// If a path cannot be bound in its counterset, names only counters without a number, or two counters would be
    /// one metric.
    pub fn open(
        source: impl Source + Send + 'static,
        paths: &[CounterPath],
        options: ExportOptions,
    ) -> Result<Self, ExportError> {
        let mut source: Box<dyn Source + Send> = Box::new(source);
        let (series_max, shows_own) = (options.series_max, options.own);
        let mut bound = Binding::new(options)?;
        let mut waiting = Vec::new();
        for path in paths {
            match bound.add(&mut *source, path) {
                Err(ExportError::Path { error: BindError::NoCounterset { .. }, .. }) => {
                    waiting.push(path.clone())
                }
                other => other?,
            }
        }
        let query = source.open()?;
        let own = ExporterMetrics::new(&bound, &waiting);
        let (snapshot, looked) = (Snapshot::default(), None);
        let mut exporter = Self {
            source,
            query,
            snapshot,
            bound,
            waiting,
            looked,
            own,
            #[cfg(target_os = "linux")]
            inventory: None,
            series_max,
            shows_own,
        };
        exporter.make_ready()?;
        Ok(exporter)
    }

    /// Adds to the metrics the inventory of the machine whose counters are exported, and the resources of this
    /// process.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn with_inventory(mut self, reader: InventoryReader) -> Self {
        self.inventory = Some(reader);
        self
    }

    /// Returns the counter paths to export whose counterset does not exist yet. Scrapes search for these countersets
    /// at most every 10 seconds.
    pub fn waiting(&self) -> impl Iterator<Item = &CounterPath> {
        self.waiting.iter()
    }

    /// Rebuilds the parts of the exporter that depend on all bound paths, and adds changed entries to the query.
    fn make_ready(&mut self) -> Result<(), SourceError> {
        let Self { bound, query, .. } = self;
        self.own = ExporterMetrics::new(bound, &self.waiting);
        // OpenMetrics names the family of a counter without `_total`. A gauge may already have that name.
        let gauges = bound.families.all.iter().filter(|family| family.sort != MetricType::Counter);
        let taken: HashSet<String> = gauges.map(|family| family.name.clone()).collect();
        for family in &mut bound.families.all {
            let is_taken = family.sort == MetricType::Counter && taken.contains(family.stem());
            family.make_heads(&bound.tables, is_taken);
        }
        let mut answer = Ok(());
        for (at, table) in bound.tables.iter_mut().enumerate() {
            let wanted = table.wanted_entry();
            if table.entry.as_ref() == Some(&wanted) {
                continue;
            }
            table.forget();
            // Results come in the order of the entries. A replaced entry moves to the end, and its index with
            // it.
            if let Some(entry) = table.entry.take() {
                bound.results.retain(|of| *of != at);
                let _ = query.delete(&entry); // which was added
            }
            let status = query.add(&wanted);
            if status.is_success() {
                table.entry = Some(wanted);
                bound.results.push(at);
            } else {
                answer = Err(SourceError::Refused(status));
            }
        }
        answer
    }

    /// Searches for missing countersets if a search is due. Returns `true` if any counterset has appeared.
    fn look(&mut self) -> bool {
        // A table without a result has an entry that the query refused: it is added again by the search.
        if self.waiting.is_empty() && self.bound.results.len() == self.bound.tables.len() {
            return false;
        }
        let Clocks { perf_time: now, perf_freq, .. } = Clocks::from(self.snapshot.clocks());
        let pause = perf_freq.saturating_mul(PAUSE);
        if self.looked.is_some_and(|at| (0..pause).contains(&now.saturating_sub(at))) {
            return false;
        }
        self.looked = Some(now);
        let (paths, results) = (self.waiting.len(), self.bound.results.len());
        let mut missing = HashSet::new();
        let Self { waiting, bound, source, .. } = self;
        waiting.retain(|path| {
            // Many paths name the same counterset. A missing one is searched for once.
            if missing.contains(&path.counterset) {
                return true;
            }
            // A path that its counterset does not have waits for another version of the counterset.
            let added = bound.add(&mut **source, path);
            if let Err(ExportError::Path { error: BindError::NoCounterset { .. }, .. }) = &added {
                missing.insert(path.counterset.clone());
            }
            added.is_err()
        });
        if self.waiting.len() == paths && self.bound.results.len() == self.bound.tables.len() {
            return false;
        }
        // An entry that is refused is added again at the next search.
        let _ = self.make_ready();
        self.waiting.len() < paths || self.bound.results.len() > results
    }

    /// Scrapes: collects once, and replaces the content of `out` by the text with all metrics.
    ///
    /// A counterset that fails loses its own metrics and no others: its `exporter_collector_success` is 0.
    ///
    /// # Errors
    /// If the query delivers nothing at all.
    pub fn scrape(&mut self, format: ExpositionFormat, out: &mut Vec<u8>) -> Result<(), SourceError> {
        self.scrape_selected(format, None, out)
    }

    /// Returns the part of the metrics that is selected by names of countersets, and of collectors as node_exporter
    /// and windows_exporter have them.
    ///
    /// # Errors
    /// The known names if one of the names is unknown.
    pub fn selection(&self, names: &[String]) -> Result<MetricSelection, String> {
        let sets: Vec<&str> = self.bound.tables.iter().map(|table| &*table.set.name).collect();
        MetricSelection::new(names, &sets)
    }

    /// Collects once like [`scrape`](Self::scrape), and writes only a part of the metrics, if a part is given. The
    /// metrics about the exporter and its process are always included.
    ///
    /// # Errors
    /// If the query delivers nothing at all.
    pub fn scrape_selected(
        &mut self,
        format: ExpositionFormat,
        part: Option<&MetricSelection>,
        out: &mut Vec<u8>,
    ) -> Result<(), SourceError> {
        out.clear();
        self.collect()?;
        // After the first collection, because `look` reads the time from the snapshot. The second collection
        // puts a counterset that has appeared into this scrape already.
        if self.look() {
            self.collect()?;
        }
        self.bound.read(&self.snapshot, &mut *self.source);
        let Binding { tables, families: Families { all: families, .. }, inventory, .. } = &mut self.bound;
        #[cfg(not(target_os = "linux"))]
        let _ = inventory; // the reader needs Linux
        limit(tables, families, self.series_max);
        let is_selected = |family: &&Family| part.is_none_or(|part| part.has_family(family, tables));
        for family in families.iter().filter(is_selected) {
            family.write(tables, format, out);
        }
        #[cfg(target_os = "linux")]
        if let Some(reader) = &mut self.inventory {
            inventory.write(reader.read(), format, part, out);
        }
        if self.shows_own {
            self.own.write(tables, format, out);
        }
        // The format requires this last line: a text without it counts as truncated.
        if format == ExpositionFormat::OpenMetrics {
            out.extend_from_slice(b"# EOF\n");
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), SourceError> {
        match self.query.next(&mut self.snapshot)? {
            NextOutcome::Sample => Ok(()),
            NextOutcome::End => Err(SourceError::Failed("the log is at its end".into())),
        }
    }
}

impl Binding {
    /// Reads the rows of all exported countersets from a collection. The readers of the metrics compute rates, so no
    /// older sample is needed. The source has the facts about new instances.
    fn read(&mut self, snapshot: &Snapshot, source: &mut dyn Source) {
        let Self { tables, families, results: order, .. } = self;
        let families = &mut families.all;
        let clocks = snapshot.clocks();
        let times = CollectionClocks { clocks: clocks.into(), step: clocks.step_100ns() };
        let mut results = Block::parse(snapshot.block()).map(|block| block.results()).into_iter().flatten();
        let infos =
            snapshot.entries().iter().zip(snapshot.annex().iter().map(Some).chain(std::iter::repeat(None)));
        for (at, (info, annex)) in order.iter().copied().zip(infos) {
            let result = results.next().and_then(Result::ok);
            let Some(table) = tables.get_mut(at) else { continue };
            if table.bind(info, |id| rises(families, at, id)) {
                let members = families.iter_mut().flat_map(|family| &mut family.members);
                members.filter(|member| member.table == at).for_each(|member| member.bind(table));
            }
            table.read(result, annex, info, times, source);
        }
    }
}

/// Returns `true` if a counter's raw value is exported as a metric of type counter, which only rises.
fn rises(families: &[Family], table: usize, id: CounterId) -> bool {
    let counters = families.iter().filter(|family| family.sort == MetricType::Counter);
    let mut members = counters.flat_map(|family| &family.members);
    members.any(|member| member.table == table && member.reading.counter() == id)
}
