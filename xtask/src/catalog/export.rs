//! What exporters know of the built-in counters: one Rust table, before formatting.

use super::notice;
use super::set::{Counter, Set};

/// Returns the Rust source of the table for exporters.
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

//! What the catalogue says for exporters: names of windows_exporter, and what rises though its type does not say so.

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

/// Returns a Rust string literal in which quotation marks are not escaped.
fn raw(text: &str) -> String {
    if text.contains('"') { format!("r#\"{text}\"#") } else { format!("{text:?}") }
}
