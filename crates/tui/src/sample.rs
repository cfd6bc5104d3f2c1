//! Samples of a table: one counterset at one instant, row by row.

use std::collections::HashMap;
use std::sync::Arc;

use perfset::output::NumberForm;
use perfset::path::{PathQuery, PathValue};
use perfset::{Birth, NoValue};

/// Identity of a table's row. Instances with the same name are distinguished by id, birth, and number among the equal
/// names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowIdentity {
    /// Name of the row's instance; empty for a counterset without instances.
    pub name: Arc<str>,
    /// Id of the row's instance.
    pub id: Option<u32>,
    /// Birth of the row's instance, which is its start.
    pub birth: Birth,
    /// Index among instances with the row's name; 0 for an instance with a birth, because the birth distinguishes it
    /// even when others end.
    pub occurrence: usize,
}

/// Value of a counter in one row of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableValue {
    /// Number of a counter as users see it, and its raw value.
    Number {
        /// Formatted value of the counter, as users see it.
        value: f64,
        /// Raw value of the counter, if it was delivered.
        raw: Option<u64>,
    },
    /// Lower bound of a total of which some parts are unknown.
    AtLeast(f64),
    /// Difference of two numbers of which at least one is a lower bound.
    About(f64),
    /// Reason why the table cell has no number.
    Missing(Arc<NoValue>),
}

impl TableValue {
    /// Returns the number in a table's cell, if there is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number { value, .. } | Self::AtLeast(value) | Self::About(value) => Some(*value),
            Self::Missing(_) => None,
        }
    }
}

/// Change of an instance within a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// Begin of an instance, which did not exist at the start of the span.
    Began,
    /// End of an instance, which did not exist at the end of the span.
    Ended,
    /// Begin and end of an instance, which existed neither at the start nor at the end of the span.
    BeganAndEnded,
}

impl RowChange {
    /// Returns the sign of the change that is shown before the instance's name.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Began => "+",
            Self::Ended => "-",
            Self::BeganAndEnded => "+-",
        }
    }

    /// Returns the change of an instance as seen from the end of the span back to its start.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Began => Self::Ended,
            Self::Ended => Self::Began,
            Self::BeganAndEnded => Self::BeganAndEnded,
        }
    }
}

/// Row of a table: the identity of an instance and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// Identity of the row's instance.
    pub identity: RowIdentity,
    /// Index among instances with the row's name in this sample, from 0.
    pub number: usize,
    /// `true` for a row with a sum over other rows, or with idle time.
    pub sums_up: bool,
    /// Change of the row's instance within a span of time; `None` if the table shows an instant.
    pub change: Option<RowChange>,
    /// Values of the row, in the order of the table's columns.
    pub values: Box<[TableValue]>,
}

impl SampleRow {
    /// Returns the name of the row's instance in a counter path: with `#1` for the second instance of that name.
    #[must_use]
    pub fn path_name(&self) -> String {
        match self.number {
            0 => self.identity.name.to_string(),
            number => format!("{}#{number}", self.identity.name),
        }
    }
}

/// Table of a counterset at one instant, and the values of the chart strip's counters at that instant.
#[derive(Clone, Debug, Default)]
pub struct TableSample {
    /// Time of the table's sample in 100 ns since 1601 UTC.
    pub time: i64,
    /// Time and frequency, in ticks per second, of the clock that is never set; `None` if they are unknown.
    pub perf: Option<(i64, i64)>,
    /// `true` for the first sample of a query, which has no rates. The second sample follows sooner than later ones.
    pub begins: bool,
    /// `true` if the counterset could not be collected: the table then has one row with the reason.
    pub is_missing: bool,
    /// Time of the collection that the rows are from, if it is earlier than the sample: some countersets are recorded
    /// less often.
    pub collected: Option<i64>,
    /// Rows of the table in the order of the source. Rows that equal those of the previous sample are shared with it.
    pub rows: Vec<Arc<SampleRow>>,
    /// Values of the chart strip's counters in this sample.
    pub strip: Vec<Option<f64>>,
    /// Approximate number of bytes of memory that only this sample of the table uses.
    pub size: usize,
}

impl TableSample {
    /// Reads the table and the chart strip from the last sample of a query, whose first paths are the table's
    /// columns. `strip` contains the positions of the other paths. `before` is the previous sample of the same
    /// columns.
    #[must_use]
    pub fn read(query: &PathQuery, columns: usize, strip: &[Option<usize>], before: Option<&Self>) -> Self {
        let clocks = query.snapshot().clocks();
        let mut sample = Self {
            time: clocks.utc_100ns(),
            perf: (clocks.perf_freq > 0).then_some((clocks.perf_time, clocks.perf_freq)),
            ..Self::default()
        };
        let number = |path: &Option<usize>| {
            let mut first = None;
            query.for_each_value((*path)?, |value| {
                first = first.or_else(|| Some(NumberForm::Formatted.number(&value)));
            });
            first?
        };
        sample.strip = strip.iter().map(number).collect();
        (sample.rows, sample.size) = SampleReader::new(query, columns, before).rows();
        // A failed entry has one row with the name that was asked for, and the reason in each column.
        sample.is_missing = matches!(&*sample.rows, [row]
            if matches!(&*row.identity.name, "" | "*") && row.values.iter().all(|value| value.number().is_none()));
        sample
    }

    /// Returns the same sample without the table's rows and without the values of the chart strip.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        Self { rows: Vec::new(), strip: Vec::new(), ..*self }
    }

    /// Returns the seconds since an earlier sample, or 0 if the other sample is not earlier. Uses the clock that is
    /// never set if both samples have it.
    #[must_use]
    pub fn seconds_since(&self, earlier: &Self) -> f64 {
        let by_perf = self.perf.zip(earlier.perf).filter(|((_, freq), (_, other))| freq == other);
        let by_perf = by_perf.map(|((now, freq), (before, _))| (now.saturating_sub(before), freq));
        // A machine that started again begins to count anew.
        let by_time = (self.time.saturating_sub(earlier.time), 10_000_000);
        let (ticks, freq) = by_perf.filter(|(ticks, _)| *ticks > 0).unwrap_or(by_time);
        let number = |ticks: Option<i64>| {
            f64::from(ticks.and_then(|ticks| u32::try_from(ticks).ok()).unwrap_or(u32::MAX))
        };
        if ticks <= 0 {
            return 0.0;
        }
        number(ticks.checked_div(freq)) + number(ticks.checked_rem(freq)) / number(Some(freq))
    }
}

/// Reader of a table's rows from a sample. A live table has thousands of rows every second, so unchanged names and
/// rows are shared with the previous sample.
struct SampleReader<'q> {
    query: &'q PathQuery,
    columns: usize,
    before: &'q [Arc<SampleRow>],
    /// Index of the previous sample's row that comes next if no instance began or ended.
    next_before: usize,
    rows: Vec<ReadRow>,
    /// Values of all rows of the table, one row after the other.
    values: Vec<TableValue>,
    /// Query entry of the first column; the next field has, for each row of this entry, the row's index among the
    /// read rows. All columns are of one counterset and all its instances, and such paths of a query have one entry.
    entry: Option<usize>,
    places: Vec<usize>,
    /// Indexes of rows in the previous sample by id, birth and occurrence; filled when a row is not the next one of
    /// that sample.
    places_before: HashMap<(Option<u32>, Birth, usize), usize>,
    reasons: HashMap<NoValue, Arc<NoValue>>,
    missing: Arc<NoValue>,
}

/// Table row that the reader has found so far.
struct ReadRow {
    identity: RowIdentity,
    number: usize,
    sums_up: bool,
    /// Index of the row's instance in the previous sample.
    before: Option<usize>,
}

impl<'q> SampleReader<'q> {
    fn new(query: &'q PathQuery, columns: usize, before: Option<&'q TableSample>) -> Self {
        let before = before.map(|before| &*before.rows).unwrap_or_default();
        Self {
            query,
            columns,
            before,
            next_before: 0,
            rows: Vec::with_capacity(before.len()),
            values: Vec::new(),
            entry: None,
            places: Vec::new(),
            places_before: HashMap::new(),
            reasons: HashMap::new(),
            missing: Arc::new(NoValue::NotGiven),
        }
    }

    /// Returns the rows of the table, and the number of bytes of memory that only these rows use.
    fn rows(mut self) -> (Vec<Arc<SampleRow>>, usize) {
        for path in 0..self.columns {
            self.query.for_each_value(path, |cell| self.add(&cell));
        }
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut size = 0_usize;
        for (row, values) in self.rows.into_iter().zip(self.values.chunks(self.columns.max(1))) {
            let before = row.before.and_then(|at| self.before.get(at));
            let is_same = |before: &&Arc<SampleRow>| {
                (before.number, before.sums_up, before.change) == (row.number, row.sums_up, None)
                    && *before.values == *values
            };
            size = size.saturating_add(size_of::<Arc<SampleRow>>());
            if let Some(same) = before.filter(is_same) {
                rows.push(Arc::clone(same));
                continue;
            }
            let own = size_of::<SampleRow>().saturating_add(size_of_val(values));
            let name = if before.is_some() { 0 } else { row.identity.name.len() };
            size = size.saturating_add(own).saturating_add(name);
            let ReadRow { identity, number, sums_up, .. } = row;
            rows.push(Arc::new(SampleRow { identity, number, sums_up, change: None, values: values.into() }));
        }
        (rows, size)
    }

    fn add(&mut self, cell: &PathValue<'q>) {
        let Some(place) = self.place_of(cell) else { return };
        let value = self.value_of(cell);
        let at = place.saturating_mul(self.columns).saturating_add(cell.path);
        if let Some(slot) = self.values.get_mut(at) {
            *slot = value;
        }
    }

    /// Returns the index of the table row to which a value belongs; adds a new row if no earlier column had it.
    fn place_of(&mut self, cell: &PathValue<'q>) -> Option<usize> {
        // Rows of another entry could be those of other instances: their values stay missing.
        if *self.entry.get_or_insert(cell.value.entry) != cell.value.entry {
            return None;
        }
        let known = self.places.get(cell.row()).copied().filter(|place| *place < self.rows.len());
        Some(known.unwrap_or_else(|| {
            let place = self.new_row(cell);
            if self.places.len() <= cell.row() {
                self.places.resize(cell.row().saturating_add(1), usize::MAX);
            }
            if let Some(known) = self.places.get_mut(cell.row()) {
                *known = place;
            }
            place
        }))
    }

    fn new_row(&mut self, cell: &PathValue<'q>) -> usize {
        let id = cell.value.instance_id.map(|id| id.0);
        let birth = self.query.birth(cell);
        let occurrence = if birth.is_some() { 0 } else { cell.occurrence };
        let is_it = |of: &RowIdentity| {
            (of.id, of.birth, of.occurrence) == (id, birth, occurrence) && cell.value.instance == *of.name
        };
        let next = self.before.get(self.next_before).filter(|row| is_it(&row.identity));
        let at = match next {
            Some(_) => Some(self.next_before),
            None => self.place_before((id, birth, occurrence)),
        };
        let before =
            at.and_then(|at| Some((at, self.before.get(at)?))).filter(|(_, row)| is_it(&row.identity));
        let identity = match before {
            Some((at, row)) => {
                self.next_before = at.saturating_add(1);
                row.identity.clone()
            }
            None => RowIdentity { name: cell.value.instance.to_string().into(), id, birth, occurrence },
        };
        let before = before.map(|(at, _)| at);
        self.rows.push(ReadRow { identity, number: cell.occurrence, sums_up: cell.sums_up(), before });
        let missing = TableValue::Missing(Arc::clone(&self.missing));
        self.values.resize(self.rows.len().saturating_mul(self.columns), missing);
        self.rows.len().saturating_sub(1)
    }

    /// Returns the index of an instance's row in the previous sample, at whatever position the row was.
    fn place_before(&mut self, key: (Option<u32>, Birth, usize)) -> Option<usize> {
        if self.places_before.is_empty() {
            let key = |row: &Arc<SampleRow>| (row.identity.id, row.identity.birth, row.identity.occurrence);
            self.places_before = self.before.iter().map(key).zip(0..).collect();
        }
        self.places_before.get(&key).copied()
    }

    fn value_of(&mut self, cell: &PathValue<'q>) -> TableValue {
        match (NumberForm::Formatted.number(cell), &cell.value.value) {
            (Some(value), _) => TableValue::Number { value, raw: cell.value.counted().map(|raw| raw.get()) },
            (None, Err(reason)) => match self.reasons.get(reason) {
                Some(shared) => TableValue::Missing(Arc::clone(shared)),
                None => {
                    let shared = Arc::new(reason.clone());
                    self.reasons.insert(reason.clone(), Arc::clone(&shared));
                    TableValue::Missing(shared)
                }
            },
            (None, Ok(_)) => TableValue::Missing(Arc::clone(&self.missing)),
        }
    }
}
