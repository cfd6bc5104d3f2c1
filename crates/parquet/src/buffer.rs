//! Buffer of a counterset's exported rows, until they are written as a row group of a Parquet file.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use parquet::data_type::ByteArray;
use perfset_core::sample::Clocks;
use perfset_core::{Name, NoValue};

/// Identity of an exported instance, in the types of the Parquet columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExportedIdentity {
    pub name: String,
    /// Bits of the instance's unsigned id.
    pub id: i32,
    /// Birth (start time) of the exported instance; 0 = unknown.
    pub birth: i64,
}

/// Identity of a row as the V2 block has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadIdentity<'a> {
    pub name: Name<'a>,
    pub id: i32,
    /// Birth (start time) of the row's instance; 0 = unknown.
    pub birth: i64,
}

impl ReadIdentity<'_> {
    /// Returns `true` if the exported identity is that of this row. A name with an unpaired surrogate is equal to none,
    /// because it is exported as another text.
    #[inline]
    pub fn is(&self, known: &ExportedIdentity) -> bool {
        (self.id, self.birth) == (known.id, known.birth) && self.name == *known.name
    }

    pub fn exported(&self) -> ExportedIdentity {
        ExportedIdentity { name: self.name.to_string(), id: self.id, birth: self.birth }
    }
}

/// Times and clocks of an exported sample, stored once for all of its rows that share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleHead {
    /// Time of the sample in microseconds since 1970 UTC, by the wall clock.
    pub time_us: i64,
    pub perf_time_ns: i64,
    /// Time from the sample that this one is compared with to this one, in ns of `perf_time_ns`.
    pub interval_ns: Option<i64>,
    pub clocks: Clocks,
}

/// List of values that are stored once each, with the number (index) of each value.
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
    /// Returns the index of a value in the list; a new value is added.
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = position(self.all.len());
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// Buffered values of a Parquet column; rows after the last value have no value.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnCells {
    values: Vec<i64>,
    /// Bit set of the rows without a value, up to the last value of the column; empty for most columns.
    gaps: Vec<u64>,
}

impl ColumnCells {
    /// Sets the column's value in a row, unless the row has one: two registered counters can share a column.
    #[inline]
    pub fn set(&mut self, row: usize, value: u64) {
        if self.values.len() > row {
            return;
        }
        if self.values.len() < row {
            self.leave_out(row);
        }
        self.values.push(value.cast_signed());
    }

    /// Adds rows without a value to the column, up to row `end`.
    fn leave_out(&mut self, end: usize) {
        self.gaps.resize(end.div_ceil(64), 0);
        for row in self.values.len()..end {
            if let Some(word) = self.gaps.get_mut(row.wrapping_div(64)) {
                *word |= 1_u64.wrapping_shl(position(row));
            }
        }
        self.values.resize(end, 0);
    }

    /// Returns the column's value in a row; `None` if it is missing.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        let gaps = self.gaps.get(row.wrapping_div(64)).copied().unwrap_or(0);
        let is_gap = gaps.wrapping_shr(position(row)) & 1 == 1;
        self.values.get(row).copied().filter(|_| !is_gap)
    }

    /// Returns the column's values of all `rows` rows; `None` if a row has no value.
    pub fn of_all(&self, rows: usize) -> Option<&[i64]> {
        (self.gaps.is_empty() && self.values.len() == rows).then_some(&*self.values)
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Buffered row: indexes of its identity and of its sample's values in the buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowHead {
    pub identity: u32,
    pub head: u32,
}

/// Exported rows of a counterset that are not written yet, in the order of samples.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    pub heads: Vec<SampleHead>,
    pub identities: Interned<ExportedIdentity>,
    pub rows: Vec<RowHead>,
    pub columns: Vec<ColumnCells>,
    /// Indexes of row, column and reason of each missing value, ascending by row.
    pub missing: Vec<(u32, u32, u32)>,
    /// Number of missing values before each buffered row.
    missing_before: Vec<u32>,
    /// Last reason for a missing value in each column, with the index of the reason: the next row mostly has the
    /// same.
    last_reasons: Vec<Option<(NoValue, u32)>>,
    pub reasons: Interned<String>,
    /// Row and column of each count that started again, ascending by row.
    pub restarted: Vec<(u32, u32)>,
    /// Index of the first row of the last sample in the buffer.
    last_sample: usize,
    /// Rows of the previous sample, from the row that is expected to have the identity of the next row.
    expected: Range<usize>,
    bytes: usize,
    bytes_of_cells: usize,
}

/// Buffered rows sorted as in a Parquet file, with the indexes of their samples and identities.
#[derive(Debug, Default)]
pub(crate) struct SortedRows {
    pub rows: Vec<u32>,
    pub heads: Vec<u32>,
    pub identities: Vec<u32>,
}

impl RowBuffer {
    pub fn new(columns: usize) -> Self {
        Self { columns: vec![ColumnCells::default(); columns], ..Self::default() }
    }

    /// Returns the approximate memory of the buffered rows in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.saturating_add(self.bytes_of_cells)
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Begins to add the rows of a sample to the buffer.
    pub fn begin_sample(&mut self) {
        self.expected = self.last_sample..self.rows.len();
        self.last_sample = self.rows.len();
    }

    /// Ends the rows of a sample, and adds its missing values: indexes of row, column and reason, ascending by row.
    pub fn end_sample(&mut self, missing: impl IntoIterator<Item = (usize, usize, u32)>) {
        let mut missing = missing.into_iter().peekable();
        for row in self.missing_before.len()..self.rows.len() {
            self.missing_before.push(position(self.missing.len()));
            while let Some((row, column, number)) = missing.next_if(|(of, ..)| *of <= row) {
                self.missing.push((position(row), position(column), number));
                self.bytes = self.bytes.saturating_add(size_of::<(u32, u32, u32)>());
            }
        }
        /// Number of bytes of a buffered value, with the bit that shows a missing one.
        const CELL: usize = 9;
        let cells = self.columns.iter().map(|cells| cells.values.len()).fold(0, usize::saturating_add);
        self.bytes_of_cells = cells.saturating_mul(CELL);
    }

    /// Begins the row of an instance in the buffer.
    #[inline]
    pub fn row(&mut self, identity: &ReadIdentity<'_>, head: &SampleHead) {
        if self.heads.last() != Some(head) {
            self.heads.push(*head);
            self.bytes = self.bytes.saturating_add(size_of::<SampleHead>());
        }
        let head = position(self.heads.len().saturating_sub(1));
        let identity = match self.expected_identity(identity) {
            Some(known) => known,
            None => self.looked_up(&identity.exported()),
        };
        self.rows.push(RowHead { identity, head });
        self.bytes = self.bytes.saturating_add(size_of::<RowHead>().saturating_add(size_of::<u32>()));
    }

    /// Returns the index of an identity that is expected next, because it follows in the previous sample, perhaps
    /// after a few ended instances.
    #[inline]
    fn expected_identity(&mut self, identity: &ReadIdentity<'_>) -> Option<u32> {
        const ENDED: usize = 8;
        for row in self.expected.clone().take(ENDED) {
            let number = self.rows.get(row)?.identity;
            if identity.is(self.identities.all.get(index(number))?) {
                self.expected.start = row.saturating_add(1);
                return Some(number);
            }
        }
        None
    }

    fn looked_up(&mut self, identity: &ExportedIdentity) -> u32 {
        // Mostly known, so it is not cloned before it is looked up.
        match self.identities.numbers.get(identity) {
            Some(number) => *number,
            None => {
                let len = identity.name.len().saturating_add(size_of::<ExportedIdentity>());
                self.bytes = self.bytes.saturating_add(len.saturating_mul(2));
                self.identities.number(identity.clone())
            }
        }
    }

    /// Returns the index in the buffer of the reason for a missing value of a column.
    pub fn reason(&mut self, column: usize, reason: &NoValue) -> u32 {
        let known = self.last_reasons.get(column).and_then(Option::as_ref);
        if let Some((_, number)) = known.filter(|(known, _)| known == reason) {
            return *number;
        }
        let number = self.reason_text(&reason.to_string());
        if self.last_reasons.len() <= column {
            self.last_reasons.resize(column.saturating_add(1), None);
        }
        if let Some(last) = self.last_reasons.get_mut(column) {
            *last = Some((reason.clone(), number));
        }
        number
    }

    /// Returns the index in the buffer of a reason for a missing value, given as text.
    pub fn reason_text(&mut self, reason: &str) -> u32 {
        match self.reasons.numbers.get(reason) {
            Some(number) => *number,
            None => {
                self.bytes = self.bytes.saturating_add(reason.len().saturating_mul(2));
                self.reasons.number(reason.to_owned())
            }
        }
    }

    /// Records that a count of the last row has started again.
    pub fn add_restarted(&mut self, column: usize) {
        self.restarted.push((position(self.rows.len().saturating_sub(1)), position(column)));
        self.bytes = self.bytes.saturating_add(size_of::<(u32, u32)>());
    }

    /// Returns the buffered rows sorted by (instance, id, birth, time).
    pub fn sorted(&self) -> SortedRows {
        let mut identities: Vec<(&ExportedIdentity, u32)> = self.identities.all.iter().zip(0..).collect();
        identities.sort_unstable();
        // Rows of an identity are next to each other: they are counted, and then put into their places.
        let mut places = vec![0_usize; identities.len()];
        for row in &self.rows {
            if let Some(count) = places.get_mut(index(row.identity)) {
                *count = count.saturating_add(1);
            }
        }
        let mut end: usize = 0;
        for (_, identity) in &identities {
            if let Some(place) = places.get_mut(index(*identity)) {
                end = end.saturating_add(std::mem::replace(place, end));
            }
        }
        let mut rows = vec![0_u32; self.rows.len()];
        for (row, at) in self.rows.iter().zip(0..) {
            let Some(place) = places.get_mut(index(row.identity)) else { continue };
            if let Some(sorted) = rows.get_mut(*place) {
                *sorted = at;
            }
            *place = place.saturating_add(1);
        }
        let row = |row: &u32| self.rows.get(index(*row)).copied().unwrap_or_default();
        let time = |at: &u32| self.heads.get(index(row(at).head)).map_or(0, |head| head.time_us);
        // A wall clock that was set back puts samples out of their order.
        if !self.heads.is_sorted_by_key(|head| head.time_us) {
            rows.chunk_by_mut(|a, b| row(a).identity == row(b).identity)
                .for_each(|rows| rows.sort_by_key(time));
        }
        let heads = rows.iter().map(|at| row(at).head).collect();
        let identities = rows.iter().map(|at| row(at).identity).collect();
        SortedRows { rows, heads, identities }
    }

    /// Returns the instance names of all identities as values of a Parquet column.
    pub fn instance_names(&self) -> Vec<ByteArray> {
        self.identities.all.iter().map(|identity| ByteArray::from(&*identity.name)).collect()
    }

    /// Returns the missing values of a buffered row: indexes of row, column and reason.
    pub fn missing_of(&self, row: u32) -> &[(u32, u32, u32)] {
        let row = index(row);
        let before = |row: usize| self.missing_before.get(row).map(|before| index(*before));
        let end = before(row.saturating_add(1)).unwrap_or(self.missing.len());
        before(row).and_then(|from| self.missing.get(from..end)).unwrap_or_default()
    }

    /// Returns the row and column of each count of a buffered row that started again.
    pub fn restarted_of(&self, row: u32) -> &[(u32, u32)] {
        let from = self.restarted.partition_point(|(known, _)| *known < row);
        let rest = self.restarted.get(from..).unwrap_or_default();
        rest.get(..rest.partition_point(|(known, _)| *known == row)).unwrap_or_default()
    }
}

/// Widens the index of a row, column or text to `usize`, which never loses bits.
pub(crate) fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Shortens the index of a row, column or text to 32 bits: row groups have fewer rows, and countersets fewer
/// counters.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
