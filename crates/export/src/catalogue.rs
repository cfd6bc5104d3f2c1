//! Properties of built-in counters that only exporters need.

use perfset_catalogue as catalogue;
use perfset_core::{CounterId, Guid};

use crate::kind::CounterTraits;
use crate::windows_exporter::{LABELS, METRICS, RISING};

/// Returns the properties of a counter that only exporters need, and that its registration does not contain.
pub(crate) fn known(set: &Guid, counter: CounterId) -> CounterTraits {
    CounterTraits {
        is_built_in: catalogue::by_guid(*set).is_some(),
        rises: RISING.contains(&(*set, counter)),
    }
}

/// Returns the metric that windows_exporter makes of a counter's raw value: its name and fixed labels.
pub(crate) fn curated(set: &Guid, counter: CounterId) -> Option<(&'static str, &'static str)> {
    let found = METRICS.iter().find(|(of, id, ..)| (of, *id) == (set, counter));
    found.map(|(_, _, name, labels)| (*name, *labels))
}

/// Returns the label of a counterset's instances in windows_exporter.
pub(crate) fn curated_label(set: &Guid) -> Option<&'static str> {
    LABELS.iter().find(|(of, _)| of == set).map(|(_, label)| *label)
}
