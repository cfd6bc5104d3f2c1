//! Samples into a SQLite file, in the tables of perfmon's SQL logs.

use std::collections::HashMap;
use std::path::Path;

use perfset::formula::{self, Denominator};
use perfset::log::sql::{CounterId, Detail, Existing, Instance, LogSet, SqlError, Writer};
use perfset::log::text::Zone;
use perfset::path::{InstanceName, PathValue};
use perfset::{CounterId as Id, CounterType, Mark};

use super::{Machine, number};
use crate::exit::{Exit, Failure};

/// Writes samples into a SQLite file.
pub struct Sql {
    writer: Writer,
    /// By machine: the counter of each value, while the same come in the same order.
    ids: Vec<Vec<CounterId>>,
}

impl Sql {
    pub fn new(file: &Path, name: &str, zone: Zone, existing: Existing) -> Result<Self, Failure> {
        let writer = Writer::create(file, LogSet::new(name, zone), existing).map_err(failed)?;
        Ok(Self { writer, ids: Vec::new() })
    }

    pub fn sample(&mut self, time: i64, machines: &[Machine]) -> Result<(), Failure> {
        let Self { writer, ids } = self;
        ids.resize_with(machines.len(), Vec::new);
        let mut record = Vec::new();
        for (machine, ids) in machines.iter().zip(ids) {
            let mut values = machine.query.values();
            values.retain(|v| v.value.instance_id.is_some());
            if !machine.query.is_as_before() {
                *ids = counters(writer, machine, &values)?;
            }
            let raw = machine.query.raw_counters(&values);
            for ((v, raw), id) in values.iter().zip(raw).zip(ids.iter()) {
                // What the log's writer formatted has no raw numbers.
                let raw = (v.value.mark != Some(Mark::Formatted)).then_some(raw);
                record.push((*id, number(v), raw));
            }
        }
        let rows = record.iter().map(|(id, value, raw)| (*id, *value, raw.as_ref()));
        writer.record(time, rows).map_err(failed)
    }

    pub fn finish(self) -> Result<(), Failure> {
        self.writer.finish().map_err(failed)
    }
}

/// The counter that each of these values is of.
fn counters(
    writer: &mut Writer,
    machine: &Machine,
    values: &[PathValue<'_>],
) -> Result<Vec<CounterId>, Failure> {
    let host = format!(r"\\{}", machine.logs.machine_name());
    let mut time_bases: HashMap<(usize, Id), i64> = HashMap::new();
    let paths: std::collections::BTreeSet<usize> = values.iter().map(|v| v.path).collect();
    for path in paths {
        for info in machine.query.info(path).unwrap_or_default() {
            time_bases.insert((path, info.counter), info.time_base.unwrap_or(0));
        }
    }
    let mut ids = Vec::with_capacity(values.len());
    for v in values {
        let path = v.own_path(None);
        // A name that cannot be taken apart stands there as it is.
        let whole = || path.instance.clone().map(|name| InstanceName { name, ..InstanceName::default() });
        let name = path.instance_name().unwrap_or_else(|_| whole());
        let detail = Detail {
            machine: &host,
            object: &path.counterset,
            counter: &path.counter,
            counter_type: v.value.counter.counter_type,
            default_scale: v.value.counter.default_scale,
            instance: name.as_ref().map(|name| Instance { name: &name.name, index: name.index }),
            parent: name.as_ref().and_then(|name| name.parent.as_deref()),
            time_base: match takes_clock(v.value.counter.counter_type) {
                true => time_bases.get(&(v.path, v.value.counter.id)).copied().unwrap_or(0),
                false => 0,
            },
        };
        ids.push(writer.counter(&detail).map_err(failed)?);
    }
    Ok(ids)
}

/// Whether a clock's ticks a second mean anything to a type.
fn takes_clock(counter_type: CounterType) -> bool {
    formula::of(counter_type).is_some_and(|formula| match formula.denominator {
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
