//! Rows of one counterset until they are written as a row group.

use std::collections::HashMap;
use std::hash::Hash;

use parquet::data_type::ByteArray;
use perfset_core::NoValue;
use perfset_core::sample::Clocks;

/// Identity of an instance, with the types of the columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExportedIdentity {
    pub name: String,
    /// Bits of the unsigned id.
    pub id: i32,
    /// Birth; 0 = unknown.
    pub birth: i64,
}

/// Values that all instances of a sample have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleHead {
    /// Microseconds since 1970 UTC, by the wall clock.
    pub time_us: i64,
    pub perf_time_ns: i64,
    /// Time since the sample that this one is compared with, in ns of `perf_time_ns`.
    pub interval_ns: Option<i64>,
    pub clocks: Clocks,
}

/// Position in a list of texts that are stored once.
#[derive(Clone, Debug)]
pub(crate) struct Interned<T> {
    pub all: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    /// Returns the number of a value, which is added if it is new, and `true` then.
    fn number(&mut self, value: T) -> (u32, bool) {
        if let Some(number) = self.numbers.get(&value) {
            return (*number, false);
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        (number, true)
    }
}

/// Values of a column; rows after the last value have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnCells {
    values: Vec<i64>,
    has_value: Vec<bool>,
}

impl ColumnCells {
    fn set(&mut self, row: usize, value: i64) {
        if self.values.len() < row {
            self.values.resize(row, 0);
            self.has_value.resize(row, false);
        }
        self.values.push(value);
        self.has_value.push(true);
    }

    /// Returns the value of a row.
    pub fn get(&self, row: usize) -> Option<i64> {
        self.values.get(row).copied().filter(|_| self.has_value.get(row) == Some(&true))
    }
}

/// Row: numbers of its identity and of its sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowHead {
    pub identity: u32,
    pub head: u32,
}

/// Rows that are not written yet, in the order of samples.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    pub heads: Vec<SampleHead>,
    pub identities: Interned<ExportedIdentity>,
    pub rows: Vec<RowHead>,
    pub columns: Vec<ColumnCells>,
    /// Row, column, and number of the reason of each missing value, ascending by row.
    pub missing: Vec<(u32, u32, u32)>,
    /// Number of missing values before each row.
    missing_before: Vec<u32>,
    /// Last reason of each column, and its number: the next row mostly has the same.
    last_reasons: Vec<Option<(NoValue, u32)>>,
    pub reasons: Interned<String>,
    /// Row and column of each count that began anew, ascending by row.
    pub restarted: Vec<(u32, u32)>,
    bytes: usize,
}

impl RowBuffer {
    pub fn new(columns: usize) -> Self {
        Self { columns: vec![ColumnCells::default(); columns], ..Self::default() }
    }

    /// Returns the memory of the rows in bytes, approximately.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Begins the row of an instance.
    pub fn row(&mut self, identity: &ExportedIdentity, head: &SampleHead) -> BufferedRow<'_> {
        if self.heads.last() != Some(head) {
            self.heads.push(*head);
            self.bytes = self.bytes.saturating_add(size_of::<SampleHead>());
        }
        let head = u32::try_from(self.heads.len().saturating_sub(1)).unwrap_or(u32::MAX);
        // Mostly known, so it is not cloned before it is looked up.
        let identity = match self.identities.numbers.get(identity) {
            Some(number) => *number,
            None => {
                let len = identity.name.len().saturating_add(size_of::<ExportedIdentity>());
                self.bytes = self.bytes.saturating_add(len.saturating_mul(2));
                self.identities.number(identity.clone()).0
            }
        };
        self.rows.push(RowHead { identity, head });
        self.missing_before.push(position(self.missing.len()));
        self.bytes = self.bytes.saturating_add(size_of::<RowHead>().saturating_add(size_of::<u32>()));
        BufferedRow { row: self.rows.len().saturating_sub(1), buffer: self }
    }

    /// Returns the rows sorted by (instance, id, birth, time).
    pub fn sorted(&self) -> Vec<u32> {
        let mut identities: Vec<(&ExportedIdentity, u32)> = self.identities.all.iter().zip(0..).collect();
        identities.sort_unstable();
        let mut ranks = vec![0_u32; identities.len()];
        for ((_, identity), rank) in identities.iter().zip(0..) {
            if let Some(place) = ranks.get_mut(index(*identity)) {
                *place = rank;
            }
        }
        let rank = |row: &RowHead| ranks.get(index(row.identity)).copied().unwrap_or(0);
        let time = |row: &RowHead| self.heads.get(index(row.head)).map_or(0, |head| head.time_us);
        let mut rows: Vec<(u32, i64, u32)> =
            self.rows.iter().zip(0..).map(|(row, at)| (rank(row), time(row), at)).collect();
        // A wall clock that was set back puts samples out of their order, which the last field keeps otherwise.
        rows.sort_unstable();
        rows.into_iter().map(|(_, _, at)| at).collect()
    }

    /// Returns the names of all identities as values of a column.
    pub fn instance_names(&self) -> Vec<ByteArray> {
        self.identities.all.iter().map(|identity| ByteArray::from(&*identity.name)).collect()
    }

    /// Returns the missing values of a row.
    pub fn missing_of(&self, row: u32) -> &[(u32, u32, u32)] {
        let row = index(row);
        let before = |row: usize| self.missing_before.get(row).map(|before| index(*before));
        let end = before(row.saturating_add(1)).unwrap_or(self.missing.len());
        before(row).and_then(|from| self.missing.get(from..end)).unwrap_or_default()
    }

    /// Returns the counts of a row that started again.
    pub fn restarted_of(&self, row: u32) -> &[(u32, u32)] {
        let from = self.restarted.partition_point(|(known, _)| *known < row);
        let rest = self.restarted.get(from..).unwrap_or_default();
        rest.get(..rest.partition_point(|(known, _)| *known == row)).unwrap_or_default()
    }
}

/// Writer of the cells of one row.
pub(crate) struct BufferedRow<'a> {
    buffer: &'a mut RowBuffer,
    row: usize,
}

impl BufferedRow<'_> {
    pub fn set(&mut self, column: usize, value: u64) {
        let Some(cells) = self.buffer.columns.get_mut(column) else { return };
        // Two registered counters can share a column; the first one has it.
        if cells.values.len() > self.row {
            return;
        }
        let added = self.row.saturating_add(1).saturating_sub(cells.values.len());
        cells.set(self.row, value.cast_signed());
        self.buffer.bytes = self.buffer.bytes.saturating_add(added.saturating_mul(9));
    }

    /// Sets a missing value with the reason that it has none.
    pub fn set_no_value(&mut self, column: usize, reason: &NoValue) {
        let known = self.buffer.last_reasons.get(column).and_then(Option::as_ref);
        if let Some((_, number)) = known.filter(|(known, _)| known == reason) {
            let number = *number;
            return self.push_missing(column, number);
        }
        self.set_missing(column, &reason.to_string());
        let number = self.buffer.missing.last().map_or(0, |(_, _, number)| *number);
        if self.buffer.last_reasons.len() <= column {
            self.buffer.last_reasons.resize(column.saturating_add(1), None);
        }
        if let Some(last) = self.buffer.last_reasons.get_mut(column) {
            *last = Some((reason.clone(), number));
        }
    }

    pub fn set_missing(&mut self, column: usize, reason: &str) {
        let number = match self.buffer.reasons.numbers.get(reason) {
            Some(number) => *number,
            None => {
                self.buffer.bytes = self.buffer.bytes.saturating_add(reason.len().saturating_mul(2));
                self.buffer.reasons.number(reason.to_owned()).0
            }
        };
        self.push_missing(column, number);
    }

    fn push_missing(&mut self, column: usize, number: u32) {
        self.buffer.missing.push((position(self.row), position(column), number));
        self.buffer.bytes = self.buffer.bytes.saturating_add(size_of::<(u32, u32, u32)>());
    }

    pub fn set_restarted(&mut self, column: usize) {
        self.buffer.restarted.push((position(self.row), position(column)));
        self.buffer.bytes = self.buffer.bytes.saturating_add(size_of::<(u32, u32)>());
    }
}

/// Widens a position, which is never larger than a `usize`.
pub(crate) fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Shortens a position: row groups have fewer rows, and countersets fewer counters.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
