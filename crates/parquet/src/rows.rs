//! Reading of an exported counterset's rows from a snapshot, with the Parquet columns of their values.

use perfset_core::counter_type::Clock;
use perfset_core::sample::Clocks;
use perfset_core::v2::{BlockValue, Body, Values};
use perfset_core::{Counter, InstanceId, NoValue, RawValue};
use perfset_engine::{EntryMetadata, ResolvedEntry};
use perfset_log::recording::OTHER_TIMES;

use crate::buffer::ReadIdentity;
use crate::layout::CountersetLayout;

/// Columns of a query entry's result, each with its counter's column in Parquet files and its own clock.
#[derive(Debug)]
pub(crate) struct EntryColumns {
    pub columns: Vec<EntryColumn>,
    /// Indexes of the Parquet columns, each with the columns of the result whose values it receives: mostly one.
    pub targets: Vec<(usize, Vec<usize>)>,
    has_clocks: bool,
}

/// Column of a query entry's result: the values of one counter.
#[derive(Debug)]
pub(crate) struct EntryColumn {
    pub counter: Counter,
    /// Index of the Parquet column that receives the counter's values.
    pub target: Option<usize>,
    /// Columns of the result that have the ticks and the frequency of the counter's own clock.
    clock: Option<(usize, Option<usize>)>,
}

impl EntryColumns {
    pub fn new(entry: &ResolvedEntry, layout: &CountersetLayout) -> Self {
        let counters: Vec<&Counter> = entry.counters().collect();
        let place = |id| counters.iter().position(|counter| Some(counter.id) == id);
        let column = |counter: &&Counter| EntryColumn {
            counter: (*counter).clone(),
            target: layout.column_of(counter.id),
            clock: place(counter.perf_time).map(|time| (time, place(counter.perf_freq))),
        };
        let columns: Vec<EntryColumn> = counters.iter().map(column).collect();
        let mut targets: Vec<(usize, Vec<usize>)> = Vec::new();
        for (at, target) in columns.iter().enumerate().filter_map(|(at, column)| Some((at, column.target?))) {
            match targets.iter_mut().find(|(known, _)| *known == target) {
                Some((_, sources)) => sources.push(at),
                None => targets.push((target, vec![at])),
            }
        }
        Self { has_clocks: columns.iter().any(|column| column.clock.is_some()), columns, targets }
    }

    /// Returns the clocks of an exported row: the clocks of its sample, or the own clocks of its counters. Counters
    /// with other clocks than an earlier counter of the row are added to `left_out`, with the number of the row.
    pub fn clocks(
        &self,
        number: usize,
        row: RowValues<'_>,
        of_sample: Clocks,
        left_out: &mut Vec<(usize, usize)>,
    ) -> Clocks {
        let mut clocks = of_sample;
        if !self.has_clocks {
            return clocks;
        }
        let mut own: Vec<(Clock, i64, i64)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let Some((time, freq)) = column.clock else { continue };
            let value = |at: usize| row.number(at).and_then(|value| i64::try_from(value).ok());
            let Some(ticks) = value(time) else { continue };
            let clock = column.counter.counter_type.decode().clock;
            let freq =
                freq.and_then(value).unwrap_or_else(|| of_sample.read(clock).map_or(0, |(_, freq)| freq));
            match own.iter().find(|(known, ..)| *known == clock) {
                None => {
                    own.push((clock, ticks, freq));
                    clocks = clocks.with(clock, ticks, freq);
                }
                Some((_, known, known_freq)) if (*known, *known_freq) == (ticks, freq) => {}
                Some(_) => left_out.push((number, at)),
            }
        }
        clocks
    }
}

/// Values of a row in a V2 block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowValues<'a> {
    One(BlockValue<'a>),
    Several(Values<'a>),
}

impl RowValues<'_> {
    /// Returns the row's raw value in a column; `None` if it is missing. A row of another program's block can have
    /// fewer columns.
    #[inline]
    pub fn number(&self, column: usize) -> Option<u64> {
        let value = match self {
            Self::One(value) => (column == 0).then_some(*value),
            Self::Several(values) => values.get(column),
        };
        value.and_then(BlockValue::number).map(RawValue::get)
    }
}

/// Calls `each` with the index, the identity and the values of each row of a query result.
pub(crate) fn each_row<'a>(
    body: &Body<'a>,
    metadata: Option<&'a EntryMetadata>,
    mut each: impl FnMut(usize, ReadIdentity<'a>, RowValues<'a>),
) {
    let birth = |row: usize| {
        let birth = metadata.and_then(|metadata| metadata.birth(row));
        birth.map_or(0, |birth| birth.get().cast_signed())
    };
    let single = || {
        let name = metadata.and_then(EntryMetadata::instance).unwrap_or_default();
        let id = metadata.and_then(EntryMetadata::instance_id);
        ReadIdentity { name, id: id.map_or(0, |InstanceId(id)| id.cast_signed()), birth: birth(0) }
    };
    let table = match body {
        Body::Error => return,
        Body::SingleCounter(value) => return each(0, single(), RowValues::One(*value)),
        Body::MultipleCounters(_, cells) => return each(0, single(), RowValues::Several(*cells)),
        Body::MultipleInstances(table) | Body::Counterset(_, table) => table,
    };
    for (number, instance) in table.rows().map_while(Result::ok).enumerate() {
        let InstanceId(id) = instance.id();
        let identity = ReadIdentity { name: instance.name(), id: id.cast_signed(), birth: birth(number) };
        each(number, identity, RowValues::Several(instance.values()));
    }
}

/// Returns the reason for a missing value that its exported row stores; `None` if the counter never has a value, or
/// was not requested then.
pub(crate) fn row_reason<'a>(counter: &Counter, reason: Option<&'a NoValue>) -> Option<&'a NoValue> {
    match reason {
        // The catalogue and the metadata of the file have this reason, which would be in each row.
        Some(NoValue::Unavailable(_)) if counter.is_never_there() => None,
        Some(NoValue::Unavailable(text)) if &**text == OTHER_TIMES => None,
        Some(reason) => Some(reason),
        None => Some(&NoValue::NotGiven),
    }
}
