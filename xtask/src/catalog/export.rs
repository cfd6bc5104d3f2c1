//! Generator of two Rust tables with the properties of built-in counters that only exporters need.

use super::check::decimal;
use super::notice;
use super::set::{Counter, Set};

/// Returns the Rust source of the table that exporters need.
pub fn table(sets: &[Set]) -> String {
    let rows = |row: &dyn Fn(&Set, &Counter) -> Option<String>| {
        let rows = sets.iter().flat_map(|set| set.entry.counters.iter().map(move |counter| (set, counter)));
        rows.filter_map(|(set, counter)| row(set, counter)).collect::<String>()
    };
    let constant =
        |set: &Set, counter: &Counter| format!("catalogue::{}::{}", set.module(), counter.symbol());
    let guid = |set: &Set| format!("catalogue::{}::GUID", set.module());
    let metrics = rows(&|set, counter| {
        let metric = counter.windows_exporter.as_deref()?;
        let (name, labels) = metric.split_once('{').map_or((metric, ""), |(name, rest)| (name, rest));
        let labels = labels.trim_end_matches('}');
        Some(format!("({}, {}, {name:?}, {}),", guid(set), constant(set, counter), raw(labels)))
    });
    let rising =
        rows(&|set, counter| counter.rises.then(|| format!("({}, {}),", guid(set), constant(set, counter))));
    let labels = sets.iter().filter_map(|set| {
        let label = set.entry.windows_exporter_label.as_deref()?;
        Some(format!("({}, {label:?}),", guid(set)))
    });
    format!(
        "// {notice}; change that instead.

//! Tables of the catalogue for exporters: metric names of windows_exporter, and counters whose raw values only rise.

use perfset_catalogue as catalogue;
use perfset_core::{{CounterId, Guid}};

/// Counterset and counter, the metric that windows_exporter makes of its raw value, and that metric's fixed labels.
pub(crate) static METRICS: &[(Guid, CounterId, &str, &str)] = &[{metrics}];

/// Counterset, and the label of its instances in windows_exporter.
pub(crate) static LABELS: &[(Guid, &str)] = &[{labels}];

/// Values that only rise, until the counted object restarts.
pub(crate) static RISING: &[(Guid, CounterId)] = &[{rising}];
",
        notice = notice(""),
        labels = labels.collect::<String>(),
    )
}

/// Returns the Rust source of the table with the names of node_exporter.
pub fn node_table(sets: &[Set]) -> String {
    let mut metrics = String::new();
    for set in sets {
        for counter in &set.entry.counters {
            let scale = match counter.node_exporter_factor.as_deref().and_then(decimal) {
                Some((factor, digits)) => format!("Some(({factor}, {digits}))"),
                None => "None".to_owned(),
            };
            let minus = counter.node_exporter_minus.as_deref();
            let mut counters = set.entry.counters.iter();
            let minus = minus.and_then(|name| counters.find(|other| other.name.as_deref() == Some(name)));
            let minus = minus.map_or("None".to_owned(), |other| {
                format!("Some(catalogue::{}::{})", set.module(), other.symbol())
            });
            let offset = counter.node_exporter_offset;
            for metric in counter.node_exporter.node_metrics().unwrap_or_default() {
                metrics.push_str(&format!(
                    "NodeMetric {{ set: catalogue::{module}::GUID, counter: catalogue::{module}::{symbol}, \
                     name: {name:?}, labels: {labels}, instance: {instance:?}, \
                     factor: {scale}, offset: {offset}, minus: {minus}, \
                     is_default: {is_default} }},",
                    module = set.module(),
                    symbol = counter.symbol(),
                    name = metric.name,
                    labels = raw(metric.labels),
                    instance = metric.instance,
                    is_default = !counter.node_exporter_on_request,
                ));
            }
        }
    }
    let labels = sets.iter().filter(|set| !set.entry.node_exporter_labels.is_empty()).map(|set| {
        let pairs = set.entry.node_exporter_labels.iter().filter_map(|label| label.split_once('='));
        let pairs: String = pairs.map(|(key, source)| format!("({key:?}, {source:?}),")).collect();
        let without: String =
            set.entry.node_exporter_without.iter().map(|kind| format!("{kind:?},")).collect();
        format!("(catalogue::{}::GUID, (&[{pairs}], &[{without}])),", set.module())
    });
    format!(
        "// {notice}; change that instead.

//! Names of node_exporter, from the catalogue.

use perfset_catalogue as catalogue;
use perfset_core::Guid;

use crate::catalogue::{{NodeMetric, NodeRows}};

/// Metrics that node_exporter makes of the raw values of counters.
pub(crate) static METRICS: &[NodeMetric] = &[{metrics}];

/// Counterset, labels of its instances in node_exporter, and kinds of devices that node_exporter leaves out.
pub(crate) static LABELS: &[(Guid, NodeRows)] = &[{labels}];
",
        notice = notice(""),
        labels = labels.collect::<String>(),
    )
}

/// Returns a Rust string literal in which quotation marks are not escaped.
fn raw(text: &str) -> String {
    if text.contains('"') { format!("r#\"{text}\"#") } else { format!("{text:?}") }
}
