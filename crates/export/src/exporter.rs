//! All counters of an exporter, and the text of them.

use std::collections::HashSet;

use perfset_core::CounterId;
use perfset_core::sample::Clocks;
use perfset_core::v2::Block;
use perfset_engine::path::CounterPath;
use perfset_engine::{Entry, Next, QueryHandle, Snapshot, Source, SourceError};

use crate::binding::Binding;
use crate::error::ExportError;
use crate::family::Family;
use crate::kind::Sort;
use crate::limit::limit;
use crate::options::{Format, Options};
use crate::own::Own;
use crate::table::Table;

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
        Self::finish(binding, source)
    }

    fn finish(mut binding: Binding<'_>, source: &mut dyn Source) -> Result<Self, ExportError> {
        let own = Own::new(binding.prefix, &binding.tables);
        if let Some(family) =
            binding.families.iter().find(|family| own.names().any(|name| *name == family.name))
        {
            let second = family.members.first().map(|member| member.path.clone()).unwrap_or_default();
            let first = "what the exporter says of itself".to_owned();
            return Err(ExportError::Collision { metric: family.name.clone(), first, second });
        }
        let gauges = binding.families.iter().filter(|family| family.sort == Sort::Gauge);
        let taken: HashSet<String> = gauges.map(|family| family.name.clone()).collect();
        for family in &mut binding.families {
            let is_taken = family.sort == Sort::Counter && taken.contains(family.stem());
            family.make_heads(&binding.tables, is_taken);
        }
        let mut query = source.open()?;
        for (table, counters) in binding.tables.iter().zip(binding.counters) {
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
        let series_max = binding.options.series_max;
        let (tables, families) = (binding.tables, binding.families);
        Ok(Self { query, snapshot: Snapshot::default(), tables, families, own, series_max })
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
