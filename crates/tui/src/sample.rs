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
    /// Seconds that the rates are of, if these are not the time since the sample before: the query is new.
    pub own_seconds: Option<f64>,
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
        let values = query.values();
        let clocks = query.snapshot().clocks();
        let mut sample = Self {
            time: clocks.utc_100ns(),
            perf: (clocks.perf_freq > 0).then_some((clocks.perf_time, clocks.perf_freq)),
            ..Self::default()
        };
        let (cells, others) = values.split_at(values.partition_point(|value| value.path < columns));
        let of_path = |path: usize| others.iter().find(|value| value.path == path);
        let number = |path: &Option<usize>| NumberForm::Formatted.number(of_path((*path)?)?);
        sample.strip = strip.iter().map(number).collect();
        let shared: HashMap<&RowIdentity, &Arc<SampleRow>> =
            before.into_iter().flat_map(|before| &before.rows).map(|row| (&row.identity, row)).collect();
        let mut reasons = HashMap::new();
        for row in rows(query, cells, columns, &mut reasons) {
            let same = shared.get(&row.identity).filter(|same| SampleRow::eq(same, &row));
            sample.size = sample.size.saturating_add(size_of::<Arc<SampleRow>>());
            match same {
                Some(same) => sample.rows.push(Arc::clone(same)),
                None => {
                    let values = row.values.len().saturating_mul(size_of::<TableValue>());
                    let own =
                        size_of::<SampleRow>().saturating_add(values).saturating_add(row.identity.name.len());
                    sample.size = sample.size.saturating_add(own);
                    sample.rows.push(Arc::new(row));
                }
            }
        }
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

/// Groups values by row. All columns are of one counterset, so each has the same rows in the same order, except if an
/// entry failed.
fn rows(
    query: &PathQuery,
    cells: &[PathValue<'_>],
    columns: usize,
    reasons: &mut HashMap<NoValue, Arc<NoValue>>,
) -> Vec<SampleRow> {
    let missing = Arc::new(NoValue::NotGiven);
    let mut rows: Vec<SampleRow> = Vec::new();
    let mut places: HashMap<(Vec<u8>, Option<u32>, usize), usize> = HashMap::new();
    let mut at = 0_usize;
    let mut path = None;
    for cell in cells {
        if path != Some(cell.path) {
            (path, at) = (Some(cell.path), 0);
        }
        let (id, name) = (cell.value.instance_id.map(|id| id.0), cell.value.instance);
        let is_same = |row: &SampleRow| row.identity.id == id && row.number == cell.occurrence;
        let place = match cell.path {
            0 => None,
            _ if rows.get(at).is_some_and(is_same) => Some(at),
            _ => {
                if places.is_empty() {
                    let all = (0..).zip(&rows).map(|(place, row)| {
                        let name = row.identity.name.as_bytes().to_vec();
                        ((name, row.identity.id, row.number), place)
                    });
                    places.extend(all);
                }
                places.get(&(name.to_string().into_bytes(), id, cell.occurrence)).copied()
            }
        };
        let place = place.unwrap_or(rows.len());
        if place == rows.len() {
            let birth = query.birth(cell);
            let occurrence = if birth.is_some() { 0 } else { cell.occurrence };
            let identity = RowIdentity { name: name.to_string().into(), id, birth, occurrence };
            places.clear(); // made again if it is needed
            rows.push(SampleRow {
                identity,
                number: cell.occurrence,
                sums_up: cell.sums_up(),
                change: None,
                values: vec![TableValue::Missing(Arc::clone(&missing)); columns].into(),
            });
        }
        let value = match (NumberForm::Formatted.number(cell), &cell.value.value) {
            (Some(value), _) => TableValue::Number { value, raw: cell.value.counted().map(|raw| raw.get()) },
            (None, Err(reason)) => {
                let shared = reasons.entry(reason.clone()).or_insert_with(|| Arc::new(reason.clone()));
                TableValue::Missing(Arc::clone(shared))
            }
            (None, Ok(_)) => TableValue::Missing(Arc::clone(&missing)),
        };
        if let Some(slot) = rows.get_mut(place).and_then(|row| row.values.get_mut(cell.path)) {
            *slot = value;
        }
        at = place.saturating_add(1);
    }
    rows
}
