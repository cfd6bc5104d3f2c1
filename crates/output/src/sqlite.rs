//! SQLite output, in the tables of perfmon's SQL logs.

use std::collections::HashMap;
use std::io;

use perfset_core::formula::{self, Denominator};
use perfset_core::{CounterId as Id, CounterType};
use perfset_engine::path::{InstanceName, PathQuery, PathValue};
use perfset_log::sql::{CounterId, Detail, InstanceRow, SqlError, SqlWriter};

use crate::form::NumberForm;
use crate::marked::MarkedValues;
use crate::output::{Output, OutputSample};
use crate::series::SeriesMap;

/// Writer of samples into a log set of a SQLite file.
#[derive(Debug)]
pub struct SqlLog {
    /// Writer of the log set; `None` once the log set is complete.
    writer: Option<SqlWriter>,
    series: SeriesMap,
    /// Counter id of each series and number of the last record with a value of the series, indexed by the series'
    /// number.
    counters: Vec<(CounterId, u64)>,
    /// Number of records written to the log set.
    records: u64,
    /// Counts of marked values, because the tables of a SQL log cannot show marks.
    marked: MarkedValues,
}

impl SqlLog {
    /// Creates the output into a log set that has begun. Machines need a name, and raw numbers a query.
    #[must_use]
    pub fn new(writer: SqlWriter) -> Self {
        let (series, counters, marked) = Default::default();
        Self { writer: Some(writer), series, counters, records: 0, marked }
    }
}

impl Output for SqlLog {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let Self { writer, series, counters, records, marked } = self;
        let writer = writer.as_mut().ok_or_else(|| io::Error::other("the log set is complete"))?;
        *records = records.saturating_add(1);
        let mut record = Vec::new();
        let mut positions = 0_usize..;
        for (source, machine) in sample.machines.iter().enumerate() {
            let raws = machine.query.map(|query| query.raw_counters(machine.values)).unwrap_or_default();
            let raws = raws.into_iter().map(Some).chain(std::iter::repeat(None));
            // Only counters that are new need this, and most samples have none.
            let mut time_bases = None;
            for ((v, raw), position) in machine.values.iter().zip(raws).zip(&mut positions) {
                // Placeholders of paths without instances have no row in the tables.
                if v.value.instance_id.is_none() {
                    continue;
                }
                let number_of_series = series.number(position, source, v);
                if number_of_series == counters.len() {
                    let time_bases =
                        time_bases.get_or_insert_with(|| time_bases_of(machine.query, machine.values));
                    let name = machine.name.unwrap_or_default();
                    counters.push((counter(writer, name, v, time_bases).map_err(failed)?, 0));
                }
                let Some((id, last)) = counters.get_mut(number_of_series) else { continue };
                // Several paths can request the same counter; a record contains it once.
                if std::mem::replace(last, *records) == *records {
                    continue;
                }
                // A value formatted by the log's writer has no raw numbers.
                let raw = raw.filter(|_| v.value.raw.is_none() || v.value.counted().is_some());
                marked.add_one(v);
                record.push((*id, NumberForm::Formatted.number(v), raw));
            }
        }
        let rows = record.iter().map(|(id, value, raw)| (*id, *value, raw.as_ref()));
        writer.record(sample.clocks.utc_100ns(), rows).map_err(failed)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.take().map_or(Ok(()), |writer| writer.finish().map_err(failed))
    }

    fn warnings(&self) -> Vec<String> {
        self.marked.warnings()
    }
}

/// Clock frequencies of counters, in ticks per second, by path and counter.
type TimeBases = HashMap<(usize, Id), i64>;

fn time_bases_of(query: Option<&PathQuery>, values: &[PathValue<'_>]) -> TimeBases {
    let mut bases = TimeBases::new();
    for (path, infos) in query.map(|query| query.infos(values)).into_iter().flatten() {
        bases.extend(infos.iter().map(|info| ((path, info.counter), info.time_base.unwrap_or(0))));
    }
    bases
}

/// Registers the counter of a value in the SQLite database, and returns the counter's id.
fn counter(
    writer: &mut SqlWriter,
    machine: &str,
    v: &PathValue<'_>,
    time_bases: &TimeBases,
) -> Result<CounterId, SqlError> {
    let host = format!(r"\\{machine}");
    let path = v.own_path(None);
    // A name that cannot be parsed is stored unchanged.
    let whole = || path.instance.clone().map(|name| InstanceName { name, ..InstanceName::default() });
    let name = path.instance_name().unwrap_or_else(|_| whole());
    let detail = Detail {
        machine: &host,
        object: &path.counterset,
        counter: &path.counter,
        counter_type: v.value.counter.counter_type,
        default_scale: v.value.counter.default_scale,
        instance: name.as_ref().map(|name| InstanceRow { name: &name.name, index: name.index }),
        parent: name.as_ref().and_then(|name| name.parent.as_deref()),
        time_base: match takes_clock(v.value.counter.counter_type) {
            true => time_bases.get(&(v.path, v.value.counter.id)).copied().unwrap_or(0),
            false => 0,
        },
    };
    writer.counter(&detail)
}

/// Returns `true` if the formula of a counter type uses a clock, so that its frequency is relevant.
fn takes_clock(counter_type: CounterType) -> bool {
    formula::for_type(counter_type).is_some_and(|formula| match formula.denominator {
        Denominator::Clock | Denominator::ClockAndItems | Denominator::BaseOfTicks => true,
        Denominator::None | Denominator::Base => false,
    })
}

fn failed(error: SqlError) -> io::Error {
    io::Error::other(error)
}
