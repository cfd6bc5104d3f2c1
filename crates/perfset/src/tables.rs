//! Tables of countersets: the columns that people look at first, and trees of rows.

use std::collections::HashMap;

use crate::{Attributes, Birth, CostClass, Counter, CounterId, Counterset};

/// Names of the counters that contain the id of a process; [`PARENT`] is the counter with the id of the parent
/// process. The second name is that of older logs of Windows.
const NUMBERS: [&str; 2] = ["Process ID", "ID Process"];
const PARENT: &str = "Creating Process ID";

/// Counterset whose instances are paths of control groups.
const GROUPS: &str = "CGroup";

/// Maximum number of parts of a control group's path that are looked up, because a name can have any number of
/// slashes.
const DEEPEST: usize = 256;

/// Preset of a table: a counterset, with the counters that people look at first.
#[derive(Clone, Copy, Debug)]
pub struct TablePreset {
    /// Title of the table, which the option `-c` of screens accepts as a name.
    pub title: &'static str,
    /// Names of countersets with the same meaning; the table shows the first counterset that the source has. Logs of
    /// Windows have older names.
    pub countersets: &'static [&'static str],
    /// Titles and counters of the table's columns; the rows are sorted by the first column.
    pub columns: &'static [(&'static str, &'static str)],
    /// `true` if the rows of the table are sorted with the least value first.
    pub is_ascending: bool,
}

/// Tables of a new screen, in the order of its tabs.
pub const TABLES: [TablePreset; 8] = [
    TablePreset {
        title: "Process",
        countersets: &["Process V2", "Process"],
        columns: &[
            ("%CPU", "% Processor Time"),
            ("USER", "% User Time"),
            ("KERNEL", "% Privileged Time"),
            ("MEM", "Working Set"),
            ("READ/s", "IO Read Bytes/sec"),
            ("WRITE/s", "IO Write Bytes/sec"),
            ("THR", "Thread Count"),
            ("FAULTS/s", "Page Faults/sec"),
            ("PRIV", "Private Bytes"),
        ],
        is_ascending: false,
    },
    TablePreset {
        title: "CGroup",
        countersets: &["CGroup"],
        columns: &[
            ("%CPU", "% Processor Time"),
            ("MEM", "Memory Bytes"),
            ("READ/s", "Storage Read Bytes/sec"),
            ("WRITE/s", "Storage Write Bytes/sec"),
            ("TASKS", "Task Count"),
        ],
        is_ascending: false,
    },
    TablePreset {
        title: "Processor",
        countersets: &["Processor Information", "Processor"],
        columns: &[
            ("%CPU", "% Processor Time"),
            ("USER", "% User Time"),
            ("KERNEL", "% Privileged Time"),
            ("INTR", "% Interrupt Time"),
            ("DPC", "% DPC Time"),
            ("INTR/s", "Interrupts/sec"),
            ("FREQ", "Processor Frequency"),
        ],
        is_ascending: false,
    },
    TablePreset {
        title: "Disk",
        countersets: &["PhysicalDisk", "LogicalDisk"],
        columns: &[
            ("BYTES/s", "Disk Bytes/sec"),
            ("READ/s", "Disk Read Bytes/sec"),
            ("WRITE/s", "Disk Write Bytes/sec"),
            ("OPS/s", "Disk Transfers/sec"),
            ("LATENCY", "Avg. Disk sec/Transfer"),
            ("QUEUE", "Current Disk Queue Length"),
            ("%IDLE", "% Idle Time"),
        ],
        is_ascending: false,
    },
    TablePreset {
        title: "Net",
        countersets: &["Network Interface"],
        columns: &[
            ("BYTES/s", "Bytes Total/sec"),
            ("RECV/s", "Bytes Received/sec"),
            ("SENT/s", "Bytes Sent/sec"),
            ("DROP IN", "Packets Received Discarded"),
            ("ERR IN", "Packets Received Errors"),
            ("PKT IN/s", "Packets Received/sec"),
            ("PKT OUT/s", "Packets Sent/sec"),
        ],
        is_ascending: false,
    },
    TablePreset {
        title: "Memory",
        countersets: &["Memory"],
        columns: &[
            ("Available Bytes", "Available Bytes"),
            ("Committed Bytes", "Committed Bytes"),
            ("% Committed Bytes In Use", "% Committed Bytes In Use"),
            ("Cache Bytes", "Cache Bytes"),
            ("Page Faults/sec", "Page Faults/sec"),
            ("Pages Input/sec", "Pages Input/sec"),
            ("Pages Output/sec", "Pages Output/sec"),
        ],
        is_ascending: false,
    },
    TablePreset {
        title: "Volume",
        countersets: &["LogicalDisk"],
        columns: &[
            ("%FREE", "% Free Space"),
            ("FREE MB", "Free Megabytes"),
            ("BYTES/s", "Disk Bytes/sec"),
            ("OPS/s", "Disk Transfers/sec"),
            ("LATENCY", "Avg. Disk sec/Transfer"),
            ("QUEUE", "Current Disk Queue Length"),
        ],
        is_ascending: true,
    },
    TablePreset {
        title: "Pressure",
        countersets: &["Pressure Stall"],
        columns: &[
            ("%SOME", "% Some Stalled Time"),
            ("%FULL", "% Full Stalled Time"),
            ("SOME 10s", "% Some Stalled Time 10 Seconds"),
            ("SOME 60s", "% Some Stalled Time 60 Seconds"),
            ("SOME 300s", "% Some Stalled Time 300 Seconds"),
            ("FULL 10s", "% Full Stalled Time 10 Seconds"),
        ],
        is_ascending: false,
    },
];

/// Returns the table preset of a counterset, if there is one: preferably a preset that names the counterset first.
#[must_use]
pub fn preset_of(set: &Counterset) -> Option<&'static TablePreset> {
    let first = TABLES.iter().find(|preset| preset.countersets.first().is_some_and(|name| set.name == *name));
    first.or_else(|| TABLES.iter().find(|preset| preset.countersets.iter().any(|name| set.name == *name)))
}

/// Returns the counters of a counterset that a table can show: no bases, and no expensive counters unless `all` is
/// `true`.
#[must_use]
pub fn shown_counters(set: &Counterset, all: bool) -> Vec<&Counter> {
    let is_shown = |counter: &&Counter| {
        !counter.attributes.contains(Attributes::NO_DISPLAYABLE)
            && counter.name.is_some()
            && !counter.is_never_there()
            && (all || counter.cost_class != CostClass::Expensive)
    };
    set.counters.iter().filter(is_shown).collect()
}

/// Relation between parent and child rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// Parents of rows are found by two counters: process id and parent's process id.
    Parents {
        /// Counter that contains the id of the process.
        number: CounterId,
        /// Counter that contains the id of the parent process.
        parent: CounterId,
    },
    /// Parents of rows are found by the instance names, which are paths.
    Paths,
}

impl TreeKind {
    /// Returns the parent relation between the instances of a counterset, if it has one.
    #[must_use]
    pub fn of(set: &Counterset) -> Option<Self> {
        let named = |name: &str| set.counters.iter().find(|counter| counter.shown_name() == name);
        if set.name == GROUPS {
            return Some(Self::Paths);
        }
        let number = NUMBERS.into_iter().find_map(named)?.id;
        Some(Self::Parents { number, parent: named(PARENT)?.id })
    }

    /// Returns the counters whose values the parent relation depends on.
    #[must_use]
    pub fn counters(self) -> Vec<CounterId> {
        match self {
            Self::Parents { number, parent } => vec![number, parent],
            Self::Paths => Vec::new(),
        }
    }
}

/// Row of a table whose parent row is found by a numeric id, such as a process id.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NumberedRow {
    /// Numeric id of the table's row, such as a process id. A row without an id is the parent of no other row.
    pub number: Option<f64>,
    /// Numeric id of the row's parent, such as the id of the parent process.
    pub parent: Option<f64>,
    /// Birth of the row's instance.
    pub birth: Birth,
    /// `true` if the row's instance has ended: of two rows with the same id, the row that has not ended counts.
    pub has_ended: bool,
}

/// Returns the index of each row's parent in a table, found by numeric ids. Rows of a malformed log can be parents of
/// each other.
#[must_use]
pub fn parents_by_number(rows: &[NumberedRow]) -> Vec<Option<usize>> {
    let numbered = |has_ended: bool| {
        let of = rows.iter().enumerate().filter(move |(_, row)| row.has_ended == has_ended);
        of.filter_map(|(at, row)| Some((row.number?.to_bits(), at)))
    };
    let by_number: HashMap<u64, usize> = numbered(true).chain(numbered(false)).collect();
    let parent = |(at, row): (usize, &NumberedRow)| {
        let found = *by_number.get(&row.parent?.to_bits())?;
        // A process that began later than a child has the number of the child's parent, which has ended.
        let began = rows.get(found)?.birth.zip(row.birth).is_none_or(|(parent, child)| parent <= child);
        (found != at && began).then_some(found)
    };
    rows.iter().enumerate().map(parent).collect()
}

/// Returns the index of each row's parent, found by names that are paths: the nearest path above that is a row, or
/// else the root.
#[must_use]
pub fn parents_by_path(names: &[&str]) -> Vec<Option<usize>> {
    let by_name: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let found = |name: &str| {
        let mut path = name;
        for _ in 0..DEEPEST {
            let Some((parent, _)) = path.rsplit_once('/') else { break };
            if let Some(found) = by_name.get(parent) {
                return Some(*found);
            }
            path = parent;
        }
        by_name.get("/").copied()
    };
    names.iter().enumerate().map(|(at, name)| found(name).filter(|parent| *parent != at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    /// Every table preset names counters of the catalogue.
    #[test]
    fn presets_name_counters() {
        for preset in TABLES {
            let name = preset.countersets[0];
            let set: &Counterset = catalogue::ALL.iter().find(|set| set.name == name).unwrap();
            for (_, counter) in preset.columns {
                let is_it = |known: &Counter| known.name.as_deref() == Some(*counter);
                assert!(set.counters.iter().any(is_it), "{name}: {counter}");
            }
            assert!(preset_of(set).is_some_and(|of| of.countersets[0] == name));
        }
    }

    #[test]
    fn parents_are_found_by_numbers() {
        let row = |number: u32, parent: u32, birth: u64, has_ended| NumberedRow {
            number: Some(number.into()),
            parent: Some(parent.into()),
            birth: std::num::NonZeroU64::new(birth),
            has_ended,
        };
        // Numbers that are used again: that of an ended process, and that of one that began later than a child.
        let rows = [
            row(1, 0, 1, false),
            row(7, 1, 5, true),
            row(7, 1, 20, false),
            row(8, 7, 30, false),
            row(9, 7, 10, false),
            row(3, 3, 1, false),
            NumberedRow { parent: Some(1.0), ..NumberedRow::default() },
        ];
        let want = [None, Some(0), Some(0), Some(2), None, None, Some(0)];
        assert_eq!(parents_by_number(&rows), want);
    }

    #[test]
    fn parents_are_found_by_paths() {
        let names = ["/", "a/b/c", "a", "user", "a/x", "user/1/2"];
        assert_eq!(parents_by_path(&names), [None, Some(2), Some(0), Some(0), Some(2), Some(3)]);
        assert_eq!(parents_by_path(&["a", "b/c"]), [None, None]);
    }
}
