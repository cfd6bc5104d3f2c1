//! Rows of a path counterset while a sample is read.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use perfset_core::pdh::RawCounter;
use perfset_core::utf16::upper;
use perfset_core::v2::PERF_MAX_INSTANCE_NAME;
use perfset_core::{InstanceId, Mark, Name, NoValue, Utf16};
use perfset_engine::InstanceFilters;

/// Maximum number of UTF-16 units of an instance name.
const NAME: usize = PERF_MAX_INSTANCE_NAME - 1;

/// Value read from a log for a cell, or the reason for a missing value.
#[derive(Clone, Debug)]
pub(super) enum CellReading {
    Raw(RawCounter),
    /// Value formatted by the log's writer, and its mark.
    Formatted(f64, Mark),
    Missing(NoValue),
}

impl fmt::Display for CellReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raw(raw) if raw.second != 0 => write!(f, "{} (base or time {})", raw.first, raw.second),
            Self::Raw(raw) => write!(f, "{}", raw.first),
            Self::Formatted(value, Mark::Formatted) => write!(f, "{value}"),
            Self::Formatted(value, mark) => write!(f, "{value} ({})", mark.keyword().unwrap_or_default()),
            Self::Missing(reason) => write!(f, "{reason}"),
        }
    }
}

impl CellReading {
    /// Returns `true` if two readings of a cell have the same value, regardless of their times.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Raw(a), Self::Raw(b)) => {
                (a.first, a.second, a.multi_count) == (b.first, b.second, b.multi_count)
            }
            (Self::Formatted(a, a_mark), Self::Formatted(b, b_mark)) => {
                a.to_bits() == b.to_bits() && a_mark == b_mark
            }
            _ => false,
        }
    }
}

/// Contradiction in a log: two different values of one counter of one instance in a sample.
#[derive(Clone, Debug)]
pub(super) struct Contradiction {
    pub row: usize,
    pub used: CellReading,
    pub left_out: CellReading,
}

/// Rows of a path counterset in a sample that is being read; their names are kept from sample to sample.
#[derive(Debug, Default)]
pub(super) struct SampleTable {
    rows: Vec<TableRow>,
    /// Last row for each hash of a name and an occurrence number; each row contains the index of the previous row with
    /// that hash. Names are hashed in upper case, because PDH compares them without case.
    by_name: HashMap<u64, u32>,
    /// Secret key of the hash function for names, so that no log can contain many names with the same hash.
    key: RandomState,
    /// Number of rows for instances that counter lists name. These rows are the first ones, and are kept for all
    /// samples.
    listed: usize,
    width: usize,
    /// Cells of the sample's rows in use, `width` per row.
    cells: Vec<Option<CellReading>>,
    /// Sequence number of the counter list's entry that is being read.
    entry: u64,
    /// Index of the row in which the next name of the current entry is expected.
    expected: usize,
    /// Number of rows that have cells in the current sample.
    used: usize,
    /// Last entry of the list that contains a name, and the next occurrence number of the name in that entry, by name
    /// in upper case.
    next_of_name: HashMap<Utf16, (u64, u32)>,
}

#[derive(Debug)]
struct TableRow {
    name: Utf16,
    /// Occurrence of the row's name, from 0, among equal names of a list entry.
    occurrence: u32,
    /// Sequence number of the last list entry that filled the row.
    entry: u64,
    /// Index of the row among the rows with cells; `None` if the row has no cells in this sample.
    slot: Option<u32>,
    /// Index of the previous row whose name has the same hash.
    before: Option<u32>,
    is_wanted: bool,
}

#[cfg(test)]
thread_local! {
    /// Number of sample rows visited by all tables of this thread.
    pub(super) static LOOKED_AT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a visited row of a sample table. A test checks that the count grows linearly with the rows.
#[inline]
fn count_row() {
    #[cfg(test)]
    LOOKED_AT.with(|rows| rows.set(rows.get() + 1));
}

impl SampleTable {
    /// Returns the index of the row for an instance that a counter list names.
    pub fn listed(&mut self, name: &Utf16) -> usize {
        if let Some(row) = self.find(name.units(), 0).filter(|row| *row < self.listed) {
            return row;
        }
        // Rows from samples will be added again. A list may name any number of instances, so no row may be compared
        // with all others.
        if self.rows.len() > self.listed {
            self.forget_coming();
        }
        let row = self.push(name.clone(), 0);
        self.listed = self.rows.len();
        row
    }

    /// Frees the table's memory that is reserved for more rows than exist.
    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
    }

    fn push(&mut self, name: Utf16, occurrence: u32) -> usize {
        let row = self.rows.len();
        let hash = self.hash(name.units(), occurrence);
        // Rows of one hash form a chain through `before`, the latest first.
        let before = self.by_name.insert(hash, u32::try_from(row).unwrap_or(u32::MAX));
        self.rows.push(TableRow { name, occurrence, entry: 0, slot: None, before, is_wanted: true });
        row
    }

    fn hash(&self, name: &[u16], occurrence: u32) -> u64 {
        let mut hasher = self.key.build_hasher();
        name.iter().for_each(|unit| hasher.write_u16(upper(*unit)));
        hasher.write_u32(occurrence);
        hasher.finish()
    }

    /// Returns the index of the table's row with this name and occurrence.
    fn find(&self, name: &[u16], occurrence: u32) -> Option<usize> {
        let mut next = self.by_name.get(&self.hash(name, occurrence)).copied();
        let capitals = |units: &[u16]| units.iter().map(|unit| upper(*unit)).collect::<Vec<_>>();
        while let Some(row) = next.and_then(|row| usize::try_from(row).ok()) {
            count_row();
            let TableRow { name: known, occurrence: of, before, .. } = self.rows.get(row)?;
            if *of == occurrence && known.len() == name.len() && capitals(known.units()) == capitals(name) {
                return Some(row);
            }
            next = *before;
        }
        None
    }

    fn forget_coming(&mut self) {
        self.next_of_name.clear();
        // From the last row on: `before` restores each chain only in the reverse order of insertion.
        while self.rows.len() > self.listed {
            count_row();
            let Some(row) = self.rows.pop() else { break };
            let hash = self.hash(row.name.units(), row.occurrence);
            match row.before {
                Some(before) => self.by_name.insert(hash, before),
                None => self.by_name.remove(&hash),
            };
        }
    }

    /// Begins to read a new sample with `width` columns into the table.
    pub fn begin(&mut self, width: usize, instances: &InstanceFilters) {
        // A log of a year may contain any number of processes: rows of processes that have exited are removed.
        let coming = self.rows.len().saturating_sub(self.listed);
        if self.used < coming / 2 {
            self.forget_coming();
        }
        self.used = 0;
        self.width = width;
        self.cells.clear();
        let listed = self.listed;
        for (at, row) in self.rows.iter_mut().enumerate() {
            count_row();
            row.slot = None;
            // The engine filters the instances that come from samples.
            row.is_wanted = at >= listed
                || listed == 1
                || instances.wants(row.name.units().iter().copied(), InstanceId(row.occurrence));
        }
    }

    pub fn is_wanted(&self, row: usize) -> bool {
        self.rows.get(row).is_some_and(|row| row.is_wanted)
    }

    /// Begins to read a counter list's entry with a varying number of names.
    pub fn begin_entry(&mut self) {
        self.entry = self.entry.saturating_add(1);
        self.expected = 0;
    }

    /// Returns the row for the next name of an entry with a varying number of names.
    pub fn coming(&mut self, name: Name<'_>) -> usize {
        let entry = self.entry;
        let is_it = |row: &TableRow| {
            row.entry != entry && row.name.units().iter().copied().eq(name.units().take(NAME))
        };
        // Most samples have the names of the sample before in the same order, so the expected row fits
        // without a lookup.
        let row = match self.rows.get(self.expected) {
            Some(row) if is_it(row) && row.occurrence == 0 => self.expected,
            _ => {
                let units: Vec<u16> = name.units().take(NAME).collect();
                let name = Utf16::from(units.as_slice());
                let key = name.capitals();
                // Remembered per name: searching from occurrence 0 would be quadratic for a log with one name
                // many times.
                let (of, next) = self.next_of_name.entry(key.clone()).or_default();
                if *of != entry {
                    (*of, *next) = (entry, 0);
                }
                let mut occurrence = *next;
                let row = loop {
                    match self.find(name.units(), occurrence) {
                        None => break self.push(name, occurrence),
                        Some(row) if self.rows.get(row).is_some_and(|row| row.entry != entry) => break row,
                        Some(_) => occurrence = occurrence.saturating_add(1),
                    }
                };
                if let Some((_, next)) = self.next_of_name.get_mut(&key) {
                    *next = occurrence.saturating_add(1);
                }
                row
            }
        };
        if let Some(row) = self.rows.get_mut(row) {
            row.entry = entry;
        }
        self.expected = row.saturating_add(1);
        row
    }

    /// Fills a cell of a row in the sample table. If several entries have a value for it, the first value is used.
    /// Returns both values if they contradict each other.
    pub fn put(&mut self, row: usize, column: usize, got: CellReading) -> Option<Contradiction> {
        let start = self.use_row(row)?;
        let cell = self.cells.get_mut(start.saturating_add(column))?;
        match cell {
            None | Some(CellReading::Missing(_)) => {
                *cell = Some(got);
                None
            }
            Some(known) if matches!(got, CellReading::Missing(_)) || known.is_same(&got) => None,
            Some(known) => Some(Contradiction { row, used: known.clone(), left_out: got }),
        }
    }

    /// Returns the name of the instance in a row.
    pub fn name(&self, row: usize) -> String {
        self.rows.get(row).map(|row| row.name.to_string()).unwrap_or_default()
    }

    /// Assigns cells to all rows of the table that come from counter lists.
    pub fn use_listed(&mut self) {
        for row in 0..self.listed {
            self.use_row(row);
        }
    }

    /// Assigns cells of the sample table to a row. Returns the index of the first cell.
    fn use_row(&mut self, row: usize) -> Option<usize> {
        let Self { rows, cells, width, used, .. } = self;
        let row = rows.get_mut(row)?;
        let slot = match row.slot {
            Some(slot) => slot,
            None => {
                let slot = u32::try_from(*used).ok()?;
                if cells.is_empty() {
                    cells.reserve_exact(*width); // many tables have one row
                }
                cells.resize(cells.len().saturating_add(*width), None);
                *used = used.saturating_add(1);
                row.slot = Some(slot);
                slot
            }
        };
        usize::try_from(slot).ok()?.checked_mul(*width)
    }

    /// Returns the rows that have cells in the current sample: name, id and cells.
    pub fn used(&self) -> impl Iterator<Item = (&Utf16, InstanceId, &[Option<CellReading>])> {
        self.rows.iter().filter_map(|row| {
            let start = usize::try_from(row.slot?).ok()?.checked_mul(self.width)?;
            let cells = self.cells.get(start..start.saturating_add(self.width))?;
            Some((&row.name, InstanceId(row.occurrence), cells))
        })
    }
}
