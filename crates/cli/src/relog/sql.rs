//! SQLite output of `relog`, in the tables of perfmon's SQL logs.

use std::collections::HashMap;

use anyhow::anyhow;
use perfset::formula::{self, Denominator};
use perfset::log::Existing;
use perfset::log::sql::{CounterId, Detail, InstanceRow, LogSet, SqlError, SqlWriter};
use perfset::log::text::Zone;
use perfset::path::{InstanceName, PathValue};
use perfset::{CounterId as Id, CounterType, Mark};

use super::{RelogSource, number};
use crate::destination::{Destination, HeldFile};
use crate::exit::{Exit, Failure};
use crate::marked::MarkedValues;
use crate::series::SeriesMap;

/// Writer of samples into a SQLite file.
pub struct Sql {
    writer: SqlWriter,
    /// New file; `None` for a database that existed before.
    new: Option<HeldFile>,
    series: SeriesMap,
    /// Counter of each series and the last record with a value of it, indexed by the series' number.
    counters: Vec<(CounterId, u64)>,
    /// Number of records written.
    records: u64,
    /// Marked values: the tables cannot show marks.
    marked: MarkedValues,
}

impl Sql {
    /// Starts a log set, in the existing database or in a new file.
    pub fn new(file: &Destination, name: &str, zone: Zone, existing: Existing) -> Result<Self, Failure> {
        let log_set = LogSet::new(name, zone);
        let database = if existing == Existing::Append { file.existing()? } else { None };
        let is_new = database.is_none();
        let (writer, held) = match database {
            Some((path, held)) => {
                // SQLite replays a journal beside the database, even if another user created it.
                file.refuse_foreign_folder(
                    "other users can create files in its directory, and SQLite reads journals beside a database: \
                     append to a file in a directory of your own",
                )?;
                (SqlWriter::extend(&path, file.name(), log_set), held)
            }
            None => {
                let error = || anyhow!("a SQLite file must be a regular file: use -o FILE.db");
                let (path, held) = file.part()?.ok_or_else(|| Failure::new(Exit::Usage, error()))?;
                (SqlWriter::fill(&path, file.name(), log_set), held)
            }
        };
        let writer = writer.map_err(failed)?;
        // SQLite opens files by path, so it might have opened another file than the one that was examined.
        held.check_open().map_err(|error| file.failed(error))?;
        let (series, counters, marked) = Default::default();
        Ok(Self { writer, new: is_new.then_some(held), series, counters, records: 0, marked })
    }

    pub fn sample(&mut self, time: i64, machines: &[RelogSource]) -> Result<(), Failure> {
        let Self { writer, series, counters, records, marked, .. } = self;
        *records = records.saturating_add(1);
        let mut record = Vec::new();
        let mut positions = 0..;
        for (source, machine) in machines.iter().enumerate() {
            let mut values = machine.query.values();
            // Placeholders of paths without instances have no row in the tables.
            values.retain(|v| v.value.instance_id.is_some());
            let raw = machine.query.raw_counters(&values);
            // Only counters that are new need this, and most samples have none.
            let mut time_bases = None;
            for ((v, raw), position) in values.iter().zip(raw).zip(&mut positions) {
                let number_of_series = series.number(position, source, v);
                if number_of_series == counters.len() {
                    let time_bases = time_bases.get_or_insert_with(|| time_bases_of(machine, &values));
                    counters.push((counter(writer, machine, v, time_bases)?, 0));
                }
                let Some((id, last)) = counters.get_mut(number_of_series) else { continue };
                // Several paths can request the same counter; a record contains it once.
                if std::mem::replace(last, *records) == *records {
                    continue;
                }
                // A value formatted by the log's writer has no raw numbers.
                let raw = (v.value.mark != Some(Mark::Formatted)).then_some(raw);
                marked.add_one(v);
                record.push((*id, number(v), raw));
            }
        }
        let rows = record.iter().map(|(id, value, raw)| (*id, *value, raw.as_ref()));
        writer.record(time, rows).map_err(failed)
    }

    /// Returns `true` for a new file, which the caller then moves to its final name.
    pub fn is_new(&self) -> bool {
        self.new.is_some()
    }

    pub fn finish(self) -> Result<(), Failure> {
        self.writer.finish().map_err(failed)?;
        // SQLite's own syncs are off for a new file, so its data is flushed here.
        self.new.map_or(Ok(()), |new| new.settle())?;
        self.marked.warn();
        Ok(())
    }
}

/// Clock frequencies of counters, in ticks per second, by path and counter.
type TimeBases = HashMap<(usize, Id), i64>;

fn time_bases_of(machine: &RelogSource, values: &[PathValue<'_>]) -> TimeBases {
    let mut bases = TimeBases::new();
    for (path, infos) in machine.query.infos(values) {
        bases.extend(infos.iter().map(|info| ((path, info.counter), info.time_base.unwrap_or(0))));
    }
    bases
}

/// Registers the counter of a value.
fn counter(
    writer: &mut SqlWriter,
    machine: &RelogSource,
    v: &PathValue<'_>,
    time_bases: &TimeBases,
) -> Result<CounterId, Failure> {
    let host = format!(r"\\{}", machine.name);
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
    writer.counter(&detail).map_err(failed)
}

/// Returns `true` if the formula of a counter type uses a clock, so that its frequency is relevant.
fn takes_clock(counter_type: CounterType) -> bool {
    formula::for_type(counter_type).is_some_and(|formula| match formula.denominator {
        Denominator::Clock | Denominator::ClockAndItems | Denominator::BaseOfTicks => true,
        Denominator::None | Denominator::Base => false,
    })
}

fn failed(error: SqlError) -> Failure {
    let exit = match &error {
        SqlError::Exists { .. } | SqlError::Taken { .. } => Exit::Usage,
        _ => Exit::SourceFailed,
    };
    Failure::escaped(exit, error)
}
