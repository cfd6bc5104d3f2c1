//! Paths on their way to become metrics.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::{Counter, CounterId, Counterset};
use perfset_engine::Source;
use perfset_engine::path::{CounterPath, Resolved, Selector, resolve};

use crate::catalogue::{curated, known};
use crate::error::ExportError;
use crate::family::{Family, Member};
use crate::kind::{Metric, Reading, Sort, is_obscure, metrics};
use crate::name::{generated, is_prefix, unit_of};
use crate::options::{Options, Profile};
use crate::table::Table;
use crate::unit::{Scale, base_unit};

/// Paths on their way to become an exporter.
pub(crate) struct Binding<'o> {
    pub options: &'o Options,
    /// What generated names begin with, without a `_` at its end.
    pub prefix: &'o str,
    pub tables: Vec<Table>,
    /// By table: the counters that its entry asks for.
    pub counters: Vec<Vec<CounterId>>,
    pub families: Vec<Family>,
    by_name: HashMap<String, usize>,
}

impl<'o> Binding<'o> {
    pub fn new(options: &'o Options) -> Result<Self, ExportError> {
        let prefix = options.prefix.as_deref().unwrap_or("perf");
        if !is_prefix(prefix) {
            return Err(ExportError::Prefix(prefix.to_owned()));
        }
        let prefix = prefix.trim_end_matches('_');
        let (tables, counters, families) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { options, prefix, tables, counters, families, by_name: HashMap::new() })
    }

    /// Adds the counters of a path.
    pub fn add(&mut self, source: &mut dyn Source, path: &CounterPath) -> Result<(), ExportError> {
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
