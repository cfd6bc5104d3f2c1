//! Samples of a table: one counterset at one instant, row by row.

use std::collections::HashMap;
use std::sync::Arc;

use perfset::output::NumberForm;
use perfset::path::{PathQuery, PathValue};
use perfset::{Birth, NoValue};

/// Identity of a row: instances of one name are told apart by id, birth, and number among their name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowIdentity {
    /// Name of the instance; empty for a counterset without instances.
    pub name: Arc<str>,
    /// Id of the instance.
    pub id: Option<u32>,
    /// Start of the instance.
    pub birth: Birth,
    /// Index among instances of that name; 0 for all that have a birth, which tells them apart while others end.
    pub occurrence: usize,
}

/// Value of a counter of one row.
#[derive(Clone, Debug, PartialEq)]
pub enum TableValue {
    /// Formatted number, and the raw one.
    Number {
        /// Number as users see it.
        value: f64,
        /// Raw value, if it was delivered.
        raw: Option<u64>,
    },
    /// Lower bound of a total: parts of it are unknown.
    AtLeast(f64),
    /// Difference of two numbers of which at least one is a lower bound.
    About(f64),
    /// Reason for no number.
    Missing(Arc<NoValue>),
}

impl TableValue {
    /// Returns the number, if there is one.
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
    /// The instance was not there at the begin.
    Began,
    /// The instance was not there at the end.
    Ended,
    /// The instance was there in between only.
    BeganAndEnded,
}

impl RowChange {
    /// Returns the sign before the name.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Began => "+",
            Self::Ended => "-",
            Self::BeganAndEnded => "+-",
        }
    }

    /// Returns the change of the same span from its end to its begin.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Began => Self::Ended,
            Self::Ended => Self::Began,
            Self::BeganAndEnded => Self::BeganAndEnded,
        }
    }
}

/// Row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// Identity of the instance.
    pub identity: RowIdentity,
    /// Index among instances of that name in this sample, from 0.
    pub number: usize,
    /// `true` for a sum over other rows, and for idle time.
    pub sums_up: bool,
    /// Change of the instance, if the table is of a span of time.
    pub change: Option<RowChange>,
    /// Values of the columns, in their order.
    pub values: Box<[TableValue]>,
}

impl SampleRow {
    /// Returns the name of the instance as a counter path has it: with `#1` for the second one of that name.
    #[must_use]
    pub fn path_name(&self) -> String {
        match self.number {
            0 => self.identity.name.to_string(),
            number => format!("{}#{number}", self.identity.name),
        }
    }
}

/// Table of a counterset at one instant, and the strip's counters then.
#[derive(Clone, Debug, Default)]
pub struct TableSample {
    /// Time in 100 ns since 1601 UTC.
    pub time: i64,
    /// Reading and ticks a second of the clock that is never set, if they are known.
    pub perf: Option<(i64, i64)>,
    /// `true` for the first sample of a query, which has no rates. The next one follows sooner than others.
    pub begins: bool,
    /// `true` if the counterset could not be collected: the table has a row that says why.
    pub is_missing: bool,
    /// Time of the collection that the rows are of, if it was before: some countersets are recorded less often.
    pub collected: Option<i64>,
    /// Rows in the order of the source. Rows that equal those of the sample before are shared with it.
    pub rows: Vec<Arc<SampleRow>>,
    /// Values of the strip's counters.
    pub strip: Vec<Option<f64>>,
    /// Memory that the sample uses alone, in bytes: about.
    pub size: usize,
}

impl TableSample {
    /// Reads the last sample of a query, whose first paths are the columns. The other paths have the positions `strip`.
    /// `before` is the previous sample of the same columns.
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

    /// Returns the same sample without its rows.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        Self { rows: Vec::new(), strip: Vec::new(), ..*self }
    }

    /// Returns the seconds since an earlier sample, by the clock that is never set if both have readings of it; 0 if
    /// it is not earlier.
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

/// Reader of a table's rows. A live table has thousands of them every second, so names and rows that are as before are
/// shared with the sample before.
struct SampleReader<'q> {
    query: &'q PathQuery,
    columns: usize,
    before: &'q [Arc<SampleRow>],
    /// Row of the sample before that comes next, if nothing changed.
    next_before: usize,
    rows: Vec<ReadRow>,
    /// Values of all rows, one row after the other.
    values: Vec<TableValue>,
    /// Entry of the first column, and the place of each of its rows. All columns are of one counterset and all its
    /// instances, and such paths of a query have one entry.
    entry: Option<usize>,
    places: Vec<usize>,
    /// Places in the sample before by id and birth, once a row was not the next one.
    places_before: HashMap<(Option<u32>, Birth, usize), usize>,
    reasons: HashMap<NoValue, Arc<NoValue>>,
    missing: Arc<NoValue>,
}

/// Row that is being read.
struct ReadRow {
    identity: RowIdentity,
    number: usize,
    sums_up: bool,
    /// Place of the same instance in the sample before.
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

    /// Returns the rows, and the memory that they need alone.
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

    /// Returns the place of a value's row, which is a new one if no column before had it.
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

    /// Returns the place of an instance in the sample before, wherever it was.
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
