//! Properties of built-in counters that only exporters need.

use perfset_catalogue as catalogue;
use perfset_core::{Counter, CounterId, Guid};

use crate::kind::{CounterTraits, MetricType};
use crate::node_exporter;
use crate::unit::UnitConversion;
use crate::windows_exporter::{LABELS, METRICS, RISING};

/// Returns the properties of a counter that only exporters need, and that its registration does not contain.
pub(crate) fn known(set: &Guid, counter: CounterId) -> CounterTraits {
    CounterTraits {
        is_built_in: catalogue::by_guid(*set).is_some(),
        rises: RISING.contains(&(*set, counter)),
    }
}

/// Returns `true` if a built-in counter is an identifier or an address, about which a server has nothing to compute.
/// Its metric is exported only if a path names it in full.
pub(crate) fn is_identifier(set: &Guid, counter: &Counter) -> bool {
    const NAMES: [&str; 7] = [
        "Creating Process ID",
        "ID Process",
        "ID Thread",
        "Process ID",
        "Session ID",
        "Start Address",
        "User ID",
    ];
    let is_one = counter.name.as_deref().is_some_and(|name| NAMES.contains(&name));
    is_one && catalogue::by_guid(*set).is_some()
}

/// Returns the metric that windows_exporter makes of a counter's raw value: its name and fixed labels.
pub(crate) fn curated(set: &Guid, counter: CounterId) -> Option<(&'static str, &'static str)> {
    let found = METRICS.iter().find(|(of, id, ..)| (of, *id) == (set, counter));
    found.map(|(_, _, name, labels)| (*name, *labels))
}

/// Returns the name of the label for a counterset's instances in windows_exporter.
pub(crate) fn curated_label(set: &Guid) -> Option<&'static str> {
    LABELS.iter().find(|(of, _)| of == set).map(|(_, label)| *label)
}

/// Metric that node_exporter makes of a counter's raw value.
#[derive(Debug)]
pub(crate) struct NodeMetric {
    pub set: Guid,
    pub counter: CounterId,
    pub name: &'static str,
    /// Fixed labels of the metric, as in the catalogue.
    pub labels: &'static str,
    /// Name of the only instance that has the metric; empty if all instances have it, except totals.
    pub instance: &'static str,
    /// Factor of the raw value, and the number of decimal places by whose power of ten the product is divided.
    pub factor: Option<(u64, u8)>,
    /// Number that is added to the metric's value if it is a share.
    pub offset: i8,
    /// Id of the counter whose raw value is subtracted from the metric's value.
    pub minus: Option<CounterId>,
    /// `true` if node_exporter exports the metric by default.
    pub is_default: bool,
}

impl NodeMetric {
    /// Returns the conversion of the metric's value that the catalogue names; `None` if the unit decides.
    pub fn scale(&self) -> Option<UnitConversion> {
        self.factor.map(|(factor, digits)| UnitConversion { factor, digits, ..UnitConversion::ONE })
    }

    /// Returns the type that the metric has in node_exporter.
    pub fn sort(&self) -> MetricType {
        // These collectors copy whatever the kernel's files contain.
        let is_copied =
            ["node_netstat_", "node_vmstat_", "node_zfs_"].iter().any(|start| self.name.starts_with(start));
        match self.name.ends_with("_total") {
            _ if is_copied => MetricType::Unknown,
            true => MetricType::Counter,
            false => MetricType::Gauge,
        }
    }
}

/// Returns the metrics that node_exporter makes of a counter's raw value.
pub(crate) fn node_metrics(set: &Guid, counter: CounterId) -> impl Iterator<Item = &'static NodeMetric> {
    node_exporter::METRICS.iter().filter(move |metric| (metric.set, metric.counter) == (*set, counter))
}

/// Returns all metrics that node_exporter makes of counters in the catalogue.
pub(crate) fn all_node_metrics() -> &'static [NodeMetric] {
    node_exporter::METRICS
}

/// Labels of instances in node_exporter, each with the source of its value, and the kinds of devices without metrics.
pub(crate) type NodeRows = (&'static [(&'static str, &'static str)], &'static [&'static str]);

/// Returns the labels of a counterset's instances in node_exporter, and the kinds of devices that it leaves out.
pub(crate) fn node_labels(set: &Guid) -> Option<NodeRows> {
    node_exporter::LABELS.iter().find(|(of, _)| of == set).map(|(_, rows)| *rows)
}
