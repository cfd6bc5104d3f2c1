//! Rows of an entry of a snapshot, with the columns that they go to.

use perfset_core::counter_type::Clock;
use perfset_core::sample::Clocks;
use perfset_core::v2::{BlockValue, Body};
use perfset_core::{Counter, InstanceId, NoValue, RawValue};
use perfset_engine::{EntryMetadata, ResolvedEntry};
use perfset_log::recording::OTHER_TIMES;

use crate::buffer::ExportedIdentity;
use crate::layout::CountersetLayout;

/// Columns of an entry's result: the place of each counter in a file, and its own clock.
#[derive(Debug)]
pub(crate) struct EntryColumns {
    pub columns: Vec<EntryColumn>,
    has_clocks: bool,
}

/// Column of an entry's result.
#[derive(Debug)]
pub(crate) struct EntryColumn {
    pub counter: Counter,
    /// Index of the column in the layout.
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
        Self { has_clocks: columns.iter().any(|column| column.clock.is_some()), columns }
    }

    /// Returns the clocks of a row: those of its sample, or those that its counters bring. Counters with other clocks
    /// than an earlier counter of the row are added to `left_out`.
    pub fn clocks(&self, values: &[Option<u64>], of_sample: Clocks, left_out: &mut Vec<usize>) -> Clocks {
        left_out.clear();
        let mut clocks = of_sample;
        if !self.has_clocks {
            return clocks;
        }
        let mut own: Vec<(Clock, i64, i64)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let Some((time, freq)) = column.clock else { continue };
            let value =
                |at: usize| values.get(at).copied().flatten().and_then(|value| i64::try_from(value).ok());
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
                Some(_) => left_out.push(at),
            }
        }
        clocks
    }
}

/// Function that takes the number, the identity and the values of a row.
type EachRow<'a> = dyn FnMut(usize, &ExportedIdentity, &[Option<u64>]) + 'a;

/// Calls `each` with the identity and the values of each row of a result.
pub(crate) fn each_row(
    body: &Body<'_>,
    metadata: Option<&EntryMetadata>,
    columns: usize,
    each: &mut EachRow<'_>,
) {
    let mut values: Vec<Option<u64>> = Vec::with_capacity(columns);
    let mut identity = ExportedIdentity { name: String::new(), id: 0, birth: 0 };
    let birth = |row: usize| {
        let birth = metadata.and_then(|metadata| metadata.birth(row));
        birth.map_or(0, |birth| birth.get().cast_signed())
    };
    let mut row =
        |number: usize, identity: &ExportedIdentity, cells: &mut dyn Iterator<Item = BlockValue<'_>>| {
            values.clear();
            values.extend(cells.take(columns).map(|value| value.number().map(RawValue::get)));
            values.resize(columns, None); // a row of a foreign block can have fewer
            each(number, identity, &values);
        };
    let table = match body {
        Body::Error => return,
        Body::SingleCounter(value) => {
            single(&mut identity, metadata, birth(0));
            return row(0, &identity, &mut std::iter::once(*value));
        }
        Body::MultipleCounters(_, cells) => {
            single(&mut identity, metadata, birth(0));
            return row(0, &identity, &mut cells.iter());
        }
        Body::MultipleInstances(table) | Body::Counterset(_, table) => table,
    };
    for (number, instance) in table.rows().map_while(Result::ok).enumerate() {
        let InstanceId(id) = instance.id();
        identity.name.clear();
        identity.name.extend(
            char::decode_utf16(instance.name().units())
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
        (identity.id, identity.birth) = (id.cast_signed(), birth(number));
        row(number, &identity, &mut instance.values().iter());
    }
}

fn single(identity: &mut ExportedIdentity, metadata: Option<&EntryMetadata>, birth: i64) {
    let name = metadata.and_then(EntryMetadata::instance);
    identity.name = name.map(|name| name.to_string()).unwrap_or_default();
    let id = metadata.and_then(EntryMetadata::instance_id);
    (identity.id, identity.birth) = (id.map_or(0, |InstanceId(id)| id.cast_signed()), birth);
}

/// Returns the reason for a missing value that belongs into its row; `None` if the counter never has a value here, or
/// was not asked for at that time.
pub(crate) fn row_reason<'a>(counter: &Counter, reason: Option<&'a NoValue>) -> Option<&'a NoValue> {
    match reason {
        // The catalogue and the metadata of the file have this reason, which would be in each row.
        Some(NoValue::Unavailable(_)) if counter.is_never_there() => None,
        Some(NoValue::Unavailable(text)) if &**text == OTHER_TIMES => None,
        Some(reason) => Some(reason),
        None => Some(&NoValue::NotGiven),
    }
}
