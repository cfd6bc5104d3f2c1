//! Charts of the page's overview, limited to counters that exist on this machine.

use std::borrow::Cow;

use perfset::path::{CounterPath, ExpandOptions, expand};
use perfset::{Attributes, Counter, Counterset, Machine};
use serde::Serialize;

/// Display form of a chart on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// Chart of the parts of a whole, drawn one above the other.
    Stack,
    /// Chart with a separate line for each series.
    Lines,
    /// Chart with a separate line or row for each series of similar things, such as processors.
    Cores,
    /// Chart of the instances with the greatest values.
    Rank,
}

/// Chart of the page's overview: title, unit, display form and counter paths.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    pub title: Cow<'static, str>,
    pub unit: Cow<'static, str>,
    pub paths: Vec<String>,
    pub kind: ChartKind,
}

/// Chart for a machine that has all its counters: title, unit, display form, counter paths.
type Wanted = (&'static str, &'static str, ChartKind, &'static [&'static str]);

const WANTED: [Wanted; 9] = [
    (
        "Processors",
        "%",
        ChartKind::Stack,
        &[
            // Guest time is not stacked: the kernel also counts it as user time.
            r"\Linux Processor(_Total)\% User Time",
            r"\Linux Processor(_Total)\% Nice Time",
            r"\Linux Processor(_Total)\% System Time",
            r"\Linux Processor(_Total)\% IRQ Time",
            r"\Linux Processor(_Total)\% SoftIRQ Time",
            r"\Linux Processor(_Total)\% I/O Wait Time",
            r"\Linux Processor(_Total)\% Steal Time",
        ],
    ),
    ("Each processor", "%", ChartKind::Cores, &[r"\Processor Information(!*_Total)\% Processor Time"]),
    (
        "Memory",
        "By",
        ChartKind::Stack,
        &[
            r"\Linux Memory\AnonPages",
            r"\Linux Memory\Slab",
            r"\Linux Memory\PageTables",
            r"\Linux Memory\KernelStack",
            r"\Linux Memory\Buffers",
            r"\Linux Memory\Cached",
            r"\Linux Memory\MemFree",
        ],
    ),
    ("Pressure", "%", ChartKind::Lines, &[r"\Pressure Stall(*)\% Some Stalled Time"]),
    (
        "Disks",
        "By/s",
        ChartKind::Lines,
        &[r"\PhysicalDisk(_Total)\Disk Read Bytes/sec", r"\PhysicalDisk(_Total)\Disk Write Bytes/sec"],
    ),
    (
        "Network",
        "By/s",
        ChartKind::Lines,
        &[r"\Network Interface(*)\Bytes Received/sec", r"\Network Interface(*)\Bytes Sent/sec"],
    ),
    ("Waiting for a processor", "", ChartKind::Lines, &[r"\System\Processor Queue Length"]),
    ("Processes by processor time", "%", ChartKind::Rank, &[r"\Process V2(*)\% Processor Time"]),
    ("Processes by memory", "By", ChartKind::Rank, &[r"\Process V2(*)\Working Set"]),
];

/// Returns the charts of the page's overview, with the counter paths that this machine has.
pub fn charts(machine: &Machine) -> Vec<Chart> {
    let mut machine = machine.clone();
    let mut exists = |text: &&&str| {
        let path: Option<CounterPath> = text.parse().ok();
        path.is_some_and(|path| expand(&mut machine, &path, ExpandOptions::default()).is_ok())
    };
    let charts = WANTED.iter().map(|(title, unit, kind, paths)| Chart {
        title: Cow::Borrowed(*title),
        unit: Cow::Borrowed(*unit),
        paths: paths.iter().filter(&mut exists).map(|path| (*path).to_owned()).collect(),
        kind: *kind,
    });
    charts.filter(|chart| !chart.paths.is_empty()).collect()
}

/// Returns the charts of the page's overview for a log. A log of another system may have little of the usual charts:
/// its own countersets then follow them.
pub fn charts_of_log(machine: &Machine) -> Vec<Chart> {
    /// Number of usual charts that are enough for the overview of a log; the next constant limits the charts of a log
    /// with fewer.
    const ENOUGH: usize = 4;
    const MOST: usize = 8;
    let mut all = charts(machine);
    if all.len() >= ENOUGH {
        return all;
    }
    let sets = machine.countersets();
    for set in sets.iter().filter_map(|guid| machine.counterset(guid).ok()) {
        let begin = format!("\\{}", set.name);
        let is_shown =
            |path: &String| path.strip_prefix(&begin).is_some_and(|rest| rest.starts_with(['(', '\\']));
        if all.len() < MOST && !all.iter().flat_map(|chart| &chart.paths).any(is_shown) {
            all.extend(chart_of(&set));
        }
    }
    all
}

/// Returns a chart of the first counters of a counterset; `None` if it has no counter to show.
fn chart_of(set: &Counterset) -> Option<Chart> {
    const COUNTERS_MOST: usize = 4;
    let shown = set.counters.iter().filter(|counter| {
        counter.name.is_some()
            && !counter.attributes.contains(Attributes::NO_DISPLAYABLE)
            && !counter.is_never_there()
    });
    let shown: Vec<_> = shown.take(COUNTERS_MOST).collect();
    let instance = set.instance_type.is_multiple().then(|| "*".to_owned());
    let path = |counter: &&Counter| {
        let (counterset, counter) = (set.name.to_string(), counter.shown_name().into_owned());
        // Names of a log are arbitrary texts, and some form another path.
        CounterPath { machine: None, counterset, instance: instance.clone(), counter }.make().ok()
    };
    let paths: Vec<String> = shown.iter().filter_map(path).collect();
    let unit = Cow::Owned(shown.first()?.unit.to_string());
    let title = Cow::Owned(set.name.to_string());
    (!paths.is_empty()).then_some(Chart { title, unit, paths, kind: ChartKind::Lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::catalogue;

    /// Checks that every path of a chart names a counter of the catalogue with a value on this system and the chart's
    /// unit.
    #[test]
    fn the_paths_mean_counters() {
        for (title, unit, _, paths) in WANTED {
            for text in paths {
                let path: CounterPath = text.parse().unwrap();
                let set: &Counterset = catalogue::ALL.iter().find(|set| set.name == path.counterset).unwrap();
                let counter = set.counters.iter().find(|c| c.name.as_deref() == Some(&path.counter)).unwrap();
                assert!(!counter.is_never_there() && counter.unit == unit, "{title}: {text}");
                assert_eq!(path.instance.is_some(), set.instance_type.is_multiple(), "{title}: {text}");
            }
        }
    }
}
