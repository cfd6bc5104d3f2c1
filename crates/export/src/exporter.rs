//! Paths as metrics, and the text of all of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use perfset_core::sample::Clocks;
use perfset_core::v2::Block;
use perfset_core::{Counter, CounterId, Counterset};
use perfset_engine::path::{CounterPath, Resolved, Selector, resolve};
use perfset_engine::{Entry, Next, QueryHandle, Snapshot, Source, SourceError};

use crate::catalogue::{curated, known};
use crate::error::ExportError;
use crate::family::{Family, Member, line};
use crate::kind::{Metric, Reading, Sort, is_obscure, metrics};
use crate::limit::limit;
use crate::name::{generated, is_prefix, unit_of};
use crate::options::{Format, Options, Profile};
use crate::table::{Outcome, Table};
use crate::text::{escaped_label, real, whole};
use crate::unit::{Scale, base_unit};

/// Counters as text for Prometheus: bound once, scraped as often as anyone asks.
///
/// A scrape is one collection of one query. While the same instances come it allocates nothing of its own.
pub struct Exporter {
    query: Box<dyn QueryHandle>,
    snapshot: Snapshot,
    tables: Vec<Table>,
    families: Vec<Family>,
    own: Own,
    series_max: usize,
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exporter").field("families", &self.families.len()).finish_non_exhaustive()
    }
}

impl Exporter {
    /// Binds paths to a source.
    ///
    /// # Errors
    /// If a path means nothing there, names what has no number, or two counters would be one metric.
    pub fn open(
        source: &mut dyn Source,
        paths: &[CounterPath],
        options: Options,
    ) -> Result<Self, ExportError> {
        let mut binding = Binding::new(&options)?;
        for path in paths {
            binding.add(source, path)?;
        }
        binding.finish(source)
    }

    /// Collects once, and writes the whole text over what is in `out`.
    ///
    /// A counterset that fails costs its own metrics and no others: its `exporter_collector_success` is 0.
    ///
    /// # Errors
    /// If there is nothing to deliver at all.
    pub fn scrape(&mut self, format: Format, out: &mut Vec<u8>) -> Result<(), SourceError> {
        out.clear();
        if self.query.next(&mut self.snapshot)? == Next::End {
            return Err(SourceError::Failed("the log is at its end".into()));
        }
        self.read();
        limit(&mut self.tables, &mut self.families, self.series_max);
        for family in &self.families {
            family.write(&self.tables, format, out);
        }
        self.own.write(&self.tables, format, out);
        if format == Format::OpenMetrics {
            out.extend_from_slice(b"# EOF\n");
        }
        Ok(())
    }

    /// Reads the rows of all countersets.
    fn read(&mut self) {
        let Self { snapshot, tables, families, .. } = self;
        let clocks = Clocks::from(snapshot.clocks());
        let mut results = Block::parse(snapshot.block()).map(|block| block.results()).into_iter().flatten();
        let infos =
            snapshot.entries().iter().zip(snapshot.annex().iter().map(Some).chain(std::iter::repeat(None)));
        for (at, (table, (info, annex))) in tables.iter_mut().zip(infos).enumerate() {
            if table.bind(info, |id| rises(families, at, id)) {
                let members = families.iter_mut().flat_map(|family| &mut family.members);
                members.filter(|member| member.table == at).for_each(|member| member.bind(table));
            }
            table.read(results.next().and_then(Result::ok), annex, info, clocks);
        }
    }
}

/// Whether a counter's raw value is exported as one that rises.
fn rises(families: &[Family], table: usize, id: CounterId) -> bool {
    let counters = families.iter().filter(|family| family.sort == Sort::Counter);
    let mut members = counters.flat_map(|family| &family.members);
    members.any(|member| member.table == table && member.reading.counter() == id)
}

/// Paths on their way to become an exporter.
struct Binding<'o> {
    options: &'o Options,
    /// What generated names begin with, without a `_` at its end.
    prefix: &'o str,
    tables: Vec<Table>,
    /// By table: the counters that its entry asks for.
    counters: Vec<Vec<CounterId>>,
    families: Vec<Family>,
    by_name: HashMap<String, usize>,
}

impl<'o> Binding<'o> {
    fn new(options: &'o Options) -> Result<Self, ExportError> {
        let prefix = options.prefix.as_deref().unwrap_or("perf");
        if !is_prefix(prefix) {
            return Err(ExportError::Prefix(prefix.to_owned()));
        }
        let prefix = prefix.trim_end_matches('_');
        let (tables, counters, families) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { options, prefix, tables, counters, families, by_name: HashMap::new() })
    }

    /// Adds the counters of a path.
    fn add(&mut self, source: &mut dyn Source, path: &CounterPath) -> Result<(), ExportError> {
        let failed = |error| ExportError::Path { path: path.to_string(), error };
        let Resolved { set, counters, instances } = resolve(source, path).map_err(failed)?;
        let is_name = Selector::is_plain(&path.counter) && !path.counter.contains(['*', '?']);
        let wanted = counters.iter().filter_map(|id| set.counter(*id));
        let wanted = wanted.filter(|counter| is_name || !is_obscure(counter.counter_type));
        let metrics: Vec<_> = wanted.map(|counter| (counter, self.metrics_of(&set, counter))).collect();
        if metrics.iter().all(|(_, metrics)| metrics.is_empty()) {
            return Err(ExportError::NoNumber { path: path.to_string() });
        }
        let table = self.table(&set);
        let ask = self.tables.get_mut(table).map(|table| table.ask(instances.as_deref())).unwrap_or_default();
        for (counter, metrics) in metrics {
            if let Some(wanted) = self.counters.get_mut(table).filter(|_| !metrics.is_empty()) {
                wanted.extend(counter.needed());
            }
            let path = path_of(&set, counter);
            for Named { name, sort, reading, labels } in metrics {
                self.member(name, sort, Member::new(table, ask, reading, labels, path.clone()))?;
            }
        }
        Ok(())
    }

    /// The table of a counterset.
    fn table(&mut self, set: &Arc<Counterset>) -> usize {
        let known = self.tables.iter().position(|table| table.set.guid == set.guid);
        known.unwrap_or_else(|| {
            self.tables.push(Table::new(Arc::clone(set), self.options.profile, self.options.totals));
            self.counters.push(Vec::new());
            self.tables.len().saturating_sub(1)
        })
    }

    /// The metrics of a counter, and their names.
    fn metrics_of(&self, set: &Counterset, counter: &Counter) -> Vec<Named> {
        let of_type = metrics(counter, known(&set.guid, counter.id));
        let mut curated = Vec::new();
        if self.options.profile == Profile::WindowsExporter {
            let divisor = counter.divisor().and_then(|id| set.counter(id));
            let both = std::iter::once(counter).chain(divisor);
            curated.extend(both.filter_map(|counter| Named::curated(set, counter)));
            if curated.iter().any(|named| named.reading.counter() == counter.id) {
                return curated;
            }
        }
        let named = |metric: Metric| Named {
            name: generated(self.prefix, set, counter, &metric),
            sort: metric.sort,
            reading: metric.reading,
            labels: "",
        };
        // A divisor alone may have a curated name, as the size that free space is a share of.
        let is_other =
            |metric: &Metric| curated.iter().all(|c| c.reading.counter() != metric.reading.counter());
        let mut all: Vec<_> = of_type.into_iter().filter(is_other).map(named).collect();
        all.append(&mut curated);
        all
    }

    /// Adds a member to its family, unless the family has it.
    fn member(&mut self, name: String, sort: Sort, member: Member) -> Result<(), ExportError> {
        let at = match self.by_name.get(&name) {
            Some(at) => *at,
            None => {
                self.families.push(Family::new(name.clone(), sort));
                let at = self.families.len().saturating_sub(1);
                self.by_name.insert(name, at);
                at
            }
        };
        let Some(family) = self.families.get_mut(at) else { return Ok(()) };
        let same_line = |other: &&mut Member| other.labels == member.labels;
        let Some(other) = family.members.iter_mut().find(same_line) else {
            if family.sort != sort {
                return Err(collision(family, &member));
            }
            family.members.push(member);
            return Ok(());
        };
        if other.table == member.table && other.reading == member.reading {
            other.asks.extend(member.asks.iter().filter(|ask| !other.asks.contains(ask)).collect::<Vec<_>>());
            return Ok(());
        }
        match (other.reading, member.reading) {
            // The same quantity in another unit, as in Available Bytes and Available MBytes.
            (Reading::Raw(_, a), Reading::Raw(_, b)) if other.table == member.table && a != b => {
                if b.factor < a.factor {
                    let mut member = member;
                    member.asks.append(&mut other.asks);
                    *other = member;
                }
                Ok(())
            }
            _ => Err(collision(family, &member)),
        }
    }

    fn finish(mut self, source: &mut dyn Source) -> Result<Exporter, ExportError> {
        let own = Own::new(self.prefix, &self.tables);
        if let Some(family) = self.families.iter().find(|family| own.names().any(|name| *name == family.name))
        {
            let second = family.members.first().map(|member| member.path.clone()).unwrap_or_default();
            let first = "what the exporter says of itself".to_owned();
            return Err(ExportError::Collision { metric: family.name.clone(), first, second });
        }
        let gauges = self.families.iter().filter(|family| family.sort == Sort::Gauge);
        let taken: HashSet<String> = gauges.map(|family| family.name.clone()).collect();
        for family in &mut self.families {
            let is_taken = family.sort == Sort::Counter && taken.contains(family.stem());
            family.make_heads(&self.tables, is_taken);
        }
        let mut query = source.open()?;
        for (table, counters) in self.tables.iter().zip(self.counters) {
            let entry = Entry::several(table.set.guid, counters);
            let entry = match table.pattern() {
                Some(pattern) => entry.instance(pattern),
                None => entry,
            };
            let status = query.add(&entry);
            if !status.is_success() {
                return Err(SourceError::Refused(status).into());
            }
        }
        let series_max = self.options.series_max;
        let (tables, families) = (self.tables, self.families);
        Ok(Exporter { query, snapshot: Snapshot::default(), tables, families, own, series_max })
    }
}

fn collision(family: &Family, member: &Member) -> ExportError {
    let first = family.members.first().map(|member| member.path.clone()).unwrap_or_default();
    ExportError::Collision { metric: family.name.clone(), first, second: member.path.clone() }
}

/// The path of a counter of any instance.
fn path_of(set: &Counterset, counter: &Counter) -> String {
    let name = counter.name.as_deref().map_or_else(|| format!("#{}", counter.id.0), str::to_owned);
    let instance = set.instance_type.is_multiple().then(|| "*".to_owned());
    CounterPath { machine: None, counterset: set.name.to_string(), instance, counter: name }.to_string()
}

/// A metric and its name.
struct Named {
    name: String,
    sort: Sort,
    reading: Reading,
    labels: &'static str,
}

impl Named {
    /// The metric that windows_exporter makes of a counter, in its units: base units, if its name says so.
    fn curated(set: &Counterset, counter: &Counter) -> Option<Self> {
        let (name, labels) = curated(&set.guid, counter.id)?;
        let (stem, sort) = match name.strip_suffix("_total") {
            Some(stem) => (stem, Sort::Counter),
            None => (name, Sort::Gauge),
        };
        let of_type = metrics(counter, known(&set.guid, counter.id));
        let reading = match of_type.first() {
            Some(Metric {
                reading: reading @ (Reading::Ticks(..) | Reading::Start(_) | Reading::Real(_)),
                ..
            }) => *reading,
            _ => {
                let unit = base_unit(&counter.unit, true);
                let said = unit.filter(|unit| unit_of(stem).is_some_and(|said| unit.name.starts_with(said)));
                Reading::Raw(counter.id, said.map_or(Scale::ONE, |unit| unit.scale))
            }
        };
        Some(Self { name: name.to_owned(), sort, reading, labels })
    }
}

/// What the exporter says of itself.
#[derive(Debug)]
struct Own {
    build: [String; 2],
    took: String,
    success: String,
    dropped: String,
    /// By table: its label.
    labels: Vec<String>,
}

impl Own {
    fn new(prefix: &str, tables: &[Table]) -> Self {
        let label = |table: &Table| format!("{{counterset=\"{}\"}} ", escaped_label(&table.set.name));
        Self {
            build: ["_info", ""].map(|end| format!("{prefix}_exporter_build{end}")),
            took: format!("{prefix}_exporter_collector_duration_seconds"),
            success: format!("{prefix}_exporter_collector_success"),
            dropped: format!("{prefix}_exporter_series_dropped"),
            labels: tables.iter().map(label).collect(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.build.iter().chain([&self.took, &self.success, &self.dropped])
    }

    fn write(&self, tables: &[Table], format: Format, out: &mut Vec<u8>) {
        let [info, build] = &self.build;
        let (family, sort) = if format == Format::OpenMetrics { (build, "info") } else { (info, "gauge") };
        head(out, family, sort, "Which perfset this is.");
        out.extend_from_slice(info.as_bytes());
        out.extend_from_slice(concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n").as_bytes());

        head(out, &self.took, "gauge", "How long the collection of a counterset took.");
        if format == Format::OpenMetrics {
            line(out, "UNIT", &self.took, |out| out.extend_from_slice(b"seconds"));
        }
        self.each(&self.took, tables, out, |table, out| real(out, table.took.as_secs_f64()));
        head(out, &self.success, "gauge", "Whether a counterset could be collected.");
        let success = |table: &Table, out: &mut Vec<u8>| whole(out, (table.outcome == Outcome::Good).into());
        self.each(&self.success, tables, out, success);
        head(out, &self.dropped, "gauge", "Series that the limit left out, and such as nothing tells apart.");
        let dropped = |table: &Table, out: &mut Vec<u8>| {
            whole(out, u64::try_from(table.dropped).unwrap_or(u64::MAX));
        };
        self.each(&self.dropped, tables, out, dropped);
    }

    fn each(
        &self,
        name: &str,
        tables: &[Table],
        out: &mut Vec<u8>,
        mut write: impl FnMut(&Table, &mut Vec<u8>),
    ) {
        for (table, label) in tables.iter().zip(&self.labels) {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(label.as_bytes());
            write(table, out);
            out.push(b'\n');
        }
    }
}

fn head(out: &mut Vec<u8>, family: &str, sort: &str, help: &str) {
    line(out, "HELP", family, |out| out.extend_from_slice(help.as_bytes()));
    line(out, "TYPE", family, |out| out.extend_from_slice(sort.as_bytes()));
}
