//! Binding of counter paths to tables of countersets and families of metrics.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::{Counter, Counterset, Guid};
use perfset_engine::Source;
use perfset_engine::path::{CounterPath, ResolvedPath, Selector, resolve};

use crate::catalogue::{NodeMetric, curated, is_identifier, known, node_metrics};
use crate::error::ExportError;
use crate::family::{Family, FamilyMember};
use crate::inventory::InventoryMetrics;
use crate::kind::{Metric, MetricType, MetricValue, is_obscure, metrics};
use crate::name::{generated, is_prefix, unit_of};
use crate::options::{ExportOptions, Profile};
use crate::own::OwnNames;
use crate::table::{CountersetTable, RowScheme};
use crate::unit::{UnitConversion, base_unit};

/// Tables and metric families that all paths of an exporter are bound to.
pub(crate) struct Binding {
    options: ExportOptions,
    /// Prefix of metric names that are generated from counter names, without a `_` at its end.
    pub prefix: String,
    pub tables: Vec<CountersetTable>,
    pub families: Families,
    /// Index in `tables` of the table for each result of the query.
    pub results: Vec<usize>,
    /// Names of the exported metrics about the exporter itself.
    pub own_names: OwnNames,
    /// Writer of the metrics of the machine's inventory.
    pub inventory: InventoryMetrics,
}

impl Binding {
    pub fn new(options: ExportOptions) -> Result<Self, ExportError> {
        let prefix = options.prefix.as_deref().unwrap_or("perf");
        if !is_prefix(prefix) {
            return Err(ExportError::Prefix(prefix.to_owned()));
        }
        let prefix = prefix.trim_end_matches('_').to_owned();
        let own_names = OwnNames::new(&options.profiles, &prefix);
        let inventory = InventoryMetrics::new(&options.profiles, &prefix);
        let (tables, families, results) = Default::default();
        Ok(Self { options, prefix, tables, families, results, own_names, inventory })
    }

    /// Adds all counters of a path to the bound tables and metric families, or none if that fails.
    pub fn add(&mut self, source: &mut dyn Source, path: &CounterPath) -> Result<(), ExportError> {
        let failed = |error| ExportError::Path { path: path.to_string(), error };
        let ResolvedPath { set, counters, instances } = resolve(source, path).map_err(failed)?;
        let is_name = Selector::is_plain(&path.counter) && !path.counter.contains(['*', '?']);
        let wanted = counters.iter().filter_map(|id| set.counter(*id));
        let wanted = wanted.filter(|counter| {
            is_name || !is_obscure(counter.counter_type) && !is_identifier(&set.guid, counter)
        });
        let known = self.tables.iter().position(|table| table.set.guid == set.guid);
        let table = known.unwrap_or(self.tables.len());
        let instances = instances.as_deref();
        let ask = self.tables.get(table).map_or(0, |table| table.place_of_ask(instances));
        let (mut needed, mut named_metrics) = (Vec::new(), Vec::new());
        for counter in wanted {
            let named = self.metrics_of(&set, counter);
            if !named.is_empty() {
                needed.extend(counter.needed());
                needed.extend(named.iter().filter_map(|metric| metric.reading.second()));
            }
            let path = path_of(&set, counter);
            named_metrics.extend(named.into_iter().map(|metric| (metric, path.clone())));
        }
        if named_metrics.is_empty() {
            return Err(ExportError::NoNumber { path: path.to_string() });
        }
        let mut new = CountersetTable::new(Arc::clone(&set), &self.options.profiles, self.options.totals);
        let of_set = self.tables.get_mut(table).unwrap_or(&mut new);
        let metrics = named_metrics.into_iter().map(|(metric, path)| {
            let rows = match metric.instance {
                Some("") if set.instance_type.is_multiple() => RowScheme::Node,
                None | Some("") => RowScheme::Base,
                Some(instance) => of_set.rows_of(instance),
            };
            let NamedMetric { name, sort, reading, labels, .. } = metric;
            let member = FamilyMember::new(table, ask, reading, (labels, rows), path, Arc::clone(&set));
            (name, sort, member)
        });
        let metrics = metrics.collect();
        // First, because it can fail: a refused path must leave no table behind.
        self.add_members(metrics)?;
        if known.is_none() {
            self.tables.push(new);
        }
        if let Some(table) = self.tables.get_mut(table) {
            table.ask(instances);
            table.wanted.extend(needed);
        }
        Ok(())
    }

    /// Returns the metrics that are exported for a counter, with their names.
    fn metrics_of(&self, set: &Counterset, counter: &Counter) -> Vec<NamedMetric> {
        let profiles = &self.options.profiles;
        let of_type = metrics(counter, known(&set.guid, counter.id));
        let mut curated = Vec::new();
        if profiles.contains(&Profile::WindowsExporter) {
            let divisor = counter.divisor().and_then(|id| set.counter(id));
            let both = std::iter::once(counter).chain(divisor);
            curated.extend(both.filter_map(|counter| NamedMetric::curated(set, counter)));
        }
        if profiles.contains(&Profile::NodeExporter) {
            curated
                .extend(node_metrics(&set.guid, counter.id).map(|metric| NamedMetric::node(metric, counter)));
        }
        let is_named = curated.iter().any(|named| named.reading.counter() == counter.id);
        if is_named && !profiles.contains(&Profile::Perf) {
            return curated;
        }
        let named = |metric: Metric| NamedMetric {
            name: generated(&self.prefix, set, counter, &metric),
            sort: metric.sort,
            reading: metric.reading,
            labels: "",
            instance: None,
        };
        // A divisor alone may have a curated name, as the size that free space is a share of.
        let is_other = |metric: &Metric| {
            profiles.contains(&Profile::Perf)
                || curated.iter().all(|c| c.reading.counter() != metric.reading.counter())
        };
        let mut all: Vec<_> = of_type.into_iter().filter(is_other).map(named).collect();
        all.append(&mut curated);
        all
    }

    /// Adds members (counters) to their metric families: all of them, or none if one cannot be added.
    fn add_members(&mut self, members: Vec<(String, MetricType, FamilyMember)>) -> Result<(), ExportError> {
        let mut alone = Families::default();
        for (name, sort, member) in members {
            if self.own_names.has(&name) || self.inventory.has(&name) {
                let first = "what the exporter says of itself".to_owned();
                return Err(ExportError::Collision { metric: name, first, second: member.path });
            }
            // Counters of the path can collide with earlier ones and among themselves. `self.families` is
            // changed only after all were checked.
            self.families.check(&name, sort, &member)?;
            alone.check(&name, sort, &member)?;
            alone.put(name, sort, member);
        }
        for Family { name, sort, members, .. } in alone.all {
            members.into_iter().for_each(|member| self.families.put(name.clone(), sort, member));
        }
        Ok(())
    }
}

/// Metric families, in the order of their creation and indexed by name.
#[derive(Debug, Default)]
pub(crate) struct Families {
    pub all: Vec<Family>,
    by_name: HashMap<String, usize>,
}

impl Families {
    /// Returns an error if a member cannot be put into its metric family.
    fn check(&self, name: &str, sort: MetricType, member: &FamilyMember) -> Result<(), ExportError> {
        let family = self.by_name.get(name).and_then(|at| self.all.get(*at));
        let Some(family) = family else { return Ok(()) };
        // A family has one `TYPE` line, so all its members have one type. Two counters with equal labels
        // would write the same series twice.
        let is_good = match family.members.iter().find(|other| other.labels == member.labels) {
            None => family.sort == sort,
            Some(other) => other.table == member.table && is_same(other.reading, member.reading),
        };
        let first = || family.members.first().map(|member| member.path.clone()).unwrap_or_default();
        let collision = || ExportError::Collision {
            metric: name.to_owned(),
            first: first(),
            second: member.path.clone(),
        };
        if is_good { Ok(()) } else { Err(collision()) }
    }

    /// Puts a checked member into its metric family, unless the family already has it.
    fn put(&mut self, name: String, sort: MetricType, mut member: FamilyMember) {
        let at = self.by_name.get(&name).copied().unwrap_or_else(|| {
            self.by_name.insert(name.clone(), self.all.len());
            self.all.push(Family::new(name, sort));
            self.all.len().saturating_sub(1)
        });
        let Some(family) = self.all.get_mut(at) else { return };
        let Some(other) = family.members.iter_mut().find(|other| other.labels == member.labels) else {
            family.members.push(member);
            return;
        };
        // Of one quantity in two units, the finer one is exported, because it has more digits.
        if let (MetricValue::Raw(_, a), MetricValue::Raw(_, b)) = (other.reading, member.reading) {
            if b.factor < a.factor {
                std::mem::swap(other, &mut member);
            }
        }
        member.asks.retain(|ask| !other.asks.contains(ask));
        other.asks.append(&mut member.asks);
    }
}

/// Returns `true` if two metric values are equal, or are the same quantity in two units, as Available Bytes and
/// Available MBytes.
fn is_same(a: MetricValue, b: MetricValue) -> bool {
    a == b || matches!((a, b), (MetricValue::Raw(_, a), MetricValue::Raw(_, b)) if a != b)
}

/// Returns the path of a counter, with `*` as instance if the counterset has instances.
fn path_of(set: &Counterset, counter: &Counter) -> String {
    let name = counter.name.as_deref().map_or_else(|| format!("#{}", counter.id.0), str::to_owned);
    let instance = set.instance_type.is_multiple().then(|| "*".to_owned());
    CounterPath { machine: None, counterset: set.name.to_string(), instance, counter: name }.to_string()
}

/// Metric of a counter, with the metric's name.
struct NamedMetric {
    name: String,
    sort: MetricType,
    reading: MetricValue,
    labels: &'static str,
    /// Instance that the metric belongs to, for a metric of node_exporter; empty for all except totals.
    instance: Option<&'static str>,
}

impl NamedMetric {
    /// Returns the metric that node_exporter makes of a counter, in the units of node_exporter.
    fn node(metric: &'static NodeMetric, counter: &Counter) -> Self {
        let stem = metric.name.strip_suffix("_total").unwrap_or(metric.name);
        Self {
            name: metric.name.to_owned(),
            sort: metric.sort(),
            reading: node_reading(stem, metric, counter),
            labels: metric.labels,
            instance: Some(metric.instance),
        }
    }

    /// Returns the metric that windows_exporter makes of a counter, in the units of windows_exporter: base units, if
    /// the metric's name contains the unit.
    fn curated(set: &Counterset, counter: &Counter) -> Option<Self> {
        let (name, labels) = curated(&set.guid, counter.id)?;
        let (stem, sort) = match name.strip_suffix("_total") {
            Some(stem) => (stem, MetricType::Counter),
            None => (name, MetricType::Gauge),
        };
        let reading = reading_for(stem, None, set.guid, counter);
        Some(Self { name: name.to_owned(), sort, reading, labels, instance: None })
    }
}

/// Returns the source of the value for a metric of node_exporter with this name, without `_total`.
fn node_reading(stem: &str, metric: &NodeMetric, counter: &Counter) -> MetricValue {
    let of_type = metrics(counter, known(&metric.set, counter.id));
    if let Some(MetricValue::Share(id, base, times)) = of_type.first().map(|metric| metric.reading) {
        return match metric.scale() {
            Some(scale) => MetricValue::Raw(id, scale),
            None if metric.offset != 0 => MetricValue::Shifted(id, base, metric.offset),
            None => MetricValue::Share(id, base, times),
        };
    }
    match (reading_for(stem, metric.scale(), metric.set, counter), metric.minus) {
        (MetricValue::Raw(id, scale), Some(minus)) => MetricValue::Difference(id, minus, scale),
        (reading, _) => reading,
    }
}

/// Returns the source of the value for a metric of another exporter with this name, without `_total`. Times are in
/// seconds, other raw values with the given scale, or in base units if the name contains the unit.
fn reading_for(stem: &str, scale: Option<UnitConversion>, set: Guid, counter: &Counter) -> MetricValue {
    let of_type = metrics(counter, known(&set, counter.id));
    let reading = of_type.first().map(|metric| metric.reading);
    if let Some(reading @ (MetricValue::Ticks(..) | MetricValue::Start(_))) = reading {
        return reading;
    }
    let unit = base_unit(&counter.unit, true);
    let said = unit.filter(|unit| unit_of(stem).is_some_and(|said| unit.name.starts_with(said)));
    let scale = scale.or(said.map(|unit| unit.scale)).unwrap_or(UnitConversion::ONE);
    match reading {
        Some(MetricValue::Real(id, _)) => MetricValue::Real(id, scale),
        _ => MetricValue::Raw(counter.id, scale),
    }
}
