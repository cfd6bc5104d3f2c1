//! The countersets of processes: Process V2, Process, its view, Linux Process, and Thread.

use std::path::Path;
use std::sync::Arc;

use perfset_core::catalogue::{linux_process, process, process_v2, thread};
use perfset_core::{Guid, InstanceId, Mark, NoValue, Text};
use perfset_engine::{Catalogue, Provider, Rows, SourceError, Want};

use super::several::{TOTAL_ID, TOTAL_NAME, source_error};
use super::value::{HOLD_SECONDS, Value, fill, hold, unavailable};
use crate::clock::elapsed_ns;
use crate::cpu_clock::cpu_clock_ns;
use crate::kept_file::{KeptFile, Printed};
use crate::pass::{Pass, SharedFile, Table as TableOf};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::proc_stat::ProcStat;

mod fields;
mod files;
mod reader;
mod source;
mod table;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;

use fields::{Field, Units};
use reader::is_procfs;
pub use source::ProcessSource;
use source::Ways;
use table::{Parts, Process, Table};
pub use tasks::prepared::prepare_walks;

/// Provides Process V2, Process, Linux Process and Thread.
///
/// **Shape**: processes in the order in which they started, `Idle` in front of them and `_Total` behind; the id of a
/// process is its pid, its birth when it started. Threads process by process.
#[derive(Debug)]
pub(crate) struct Processes {
    catalogue: Arc<Catalogue>,
    source: Ways,
    table: Table,
    units: Units,
    start_100ns: fn() -> u64,
    stat: TableOf<ProcStat>,
    /// The most ticks that processors rested: the kernel may step back.
    most_rest: u64,
    delays: KeptFile,
    fields: Vec<Field>,
    totals: Vec<Total>,
}

/// What is added up for a column of `_Total`.
#[derive(Clone, Debug, Default)]
struct Total {
    sum: u64,
    mark: Option<Mark>,
    /// Why there is no sum.
    none: Option<NoValue>,
}

impl Total {
    /// A value that a process cannot have adds nothing; one that could not be had makes the sum unknown.
    fn add(&mut self, value: &Result<Value, NoValue>) {
        match value {
            Ok(value) => {
                self.sum = self.sum.wrapping_add(value.raw);
                self.mark = self.mark.or(value.mark);
            }
            Err(NoValue::Unavailable(_)) => {}
            Err(reason) => {
                self.none.get_or_insert_with(|| reason.clone());
            }
        }
    }

    fn value(&self) -> Result<Value, NoValue> {
        match &self.none {
            Some(reason) => Err(reason.clone()),
            None => Ok(Value { raw: self.sum, mark: self.mark }),
        }
    }
}

const IDLE_ID: InstanceId = InstanceId(0);

impl Processes {
    /// Reads below `roots`, and a `/proc/stat` that others read too, in the way that is wished for. `start_100ns` is
    /// when the machine started, in terms of PerfTime100NSec.
    pub(crate) fn new(
        roots: &Roots,
        stat: SharedFile,
        (clock_ticks, page_size): (u64, u64),
        start_100ns: fn() -> u64,
        wish: ProcessSource,
    ) -> Self {
        let clocks = clocks_are_ours(&roots.proc);
        let units = Units { clock_ticks, page_size, start_100ns: 0, clocks, delays: false };
        let sets =
            [&process_v2::COUNTERSET, &process::COUNTERSET, &linux_process::COUNTERSET, &thread::COUNTERSET];
        Self {
            catalogue: Arc::new(Catalogue {
                origin: "Linux".into(),
                countersets: sets.into_iter().map(|set| Arc::new(set.clone())).collect(),
            }),
            source: Ways::new(roots, clocks, wish),
            table: Table::default(),
            units,
            start_100ns,
            stat: TableOf::of(stat, "there is no /proc/stat", ProcStat::parse),
            most_rest: 0,
            delays: KeptFile::new(roots.proc.join("sys/kernel/task_delayacct"), Printed::AtOnce),
            fields: Vec::new(),
            totals: Vec::new(),
        }
    }

    /// The time that all processors rested together.
    fn rest(&mut self, pass: &mut Pass) -> Result<Value, NoValue> {
        let mut ticks = 0_u64;
        let stat = self.stat.get(pass)?;
        for line in &stat.cpus {
            match &line.ticks {
                Ok(of_cpu) => ticks = ticks.saturating_add(of_cpu.resting()),
                Err(text) => {
                    let text = text.clone();
                    return Err(self.stat.fault(text));
                }
            }
        }
        let held = hold(&mut self.most_rest, ticks, HOLD_SECONDS.saturating_mul(self.units.clock_ticks));
        Ok(Value { raw: self.units.ticks_to_100ns(held.raw), ..held })
    }

    /// Rows of a counterset of processes.
    fn collect_processes(
        &mut self,
        want: &Want<'_>,
        rows: &mut Rows,
        pass: &mut Pass,
    ) -> Result<(), SourceError> {
        let set = want.counterset.guid;
        self.fields.clear();
        self.fields.extend(want.counters.iter().map(|counter| Field::of(set, *counter)));
        if self.fields.contains(&Field::BlockIoDelay) {
            let delays = pass.read(&mut self.delays, "", attribute::number);
            self.units.delays = delays == Ok(1);
        }
        let mut parts = Parts::NONE;
        for (column, field) in self.fields.iter().enumerate() {
            parts = parts | field.parts(self.units);
            if let Field::Never(why) = field {
                rows.none_in_column(column, unavailable(why));
            }
        }
        let name_of = name_of(set);
        let total = want.wants(TOTAL_NAME, TOTAL_ID);
        let wanted = |process: &Process| want.wants(name_of(process), InstanceId(process.pid));
        let Self { source, table, .. } = self;
        source.refresh(parts, &|process| total || wanted(process), table, pass).map_err(source_error)?;
        rows.set_layer(self.source.layer().number());

        if let Some(name) = idle_name(set).filter(|name| want.wants(name, IDLE_ID)) {
            let rest = self.fields.contains(&Field::ProcessorTime).then(|| self.rest(pass));
            let mut cells = rows.push(name, IDLE_ID, None);
            for (column, field) in self.fields.iter().enumerate() {
                match (field, &rest) {
                    (Field::ProcessorTime, Some(rest)) => fill(&mut cells, column, rest.clone()),
                    (Field::Never(_), _) => {}
                    _ => cells.none(column, unavailable("processors that rest have a time only")),
                }
            }
        }

        let Self { table, fields, totals, units, .. } = self;
        totals.clear();
        totals.resize(fields.len(), Total::default());
        let now = table.moment(pass);
        for process in table.in_order() {
            let has_row = wanted(process);
            if !has_row && !total {
                continue;
            }
            let mut cells =
                has_row.then(|| rows.push(name_of(process), InstanceId(process.pid), process.birth()));
            if let Some(cells) = cells.as_mut().filter(|_| !process.is_new(parts, now)) {
                cells.mark(Mark::Reused);
            }
            for ((column, field), sum) in fields.iter().enumerate().zip(&mut *totals) {
                if let Field::Never(_) = field {
                    continue;
                }
                let value = field.value(process, *units);
                sum.add(&value);
                if let Some(cells) = &mut cells {
                    fill(cells, column, value);
                }
            }
        }
        if total {
            let mut cells = rows.push(TOTAL_NAME, TOTAL_ID, None);
            for ((column, field), sum) in fields.iter().enumerate().zip(&*totals) {
                match field {
                    Field::Never(_) => {}
                    field if field.adds_up() => fill(&mut cells, column, sum.value()),
                    _ => cells.none(column, no_sum()),
                }
            }
        }
        Ok(())
    }

    /// Rows of Thread.
    fn collect_threads(
        &mut self,
        want: &Want<'_>,
        rows: &mut Rows,
        pass: &mut Pass,
    ) -> Result<(), SourceError> {
        let Self { source, table, totals, units, .. } = self;
        source.refresh(Parts::TASK, &|_| true, table, pass).map_err(source_error)?;
        rows.set_layer(source.layer().number());
        totals.clear();
        totals.resize(want.counters.len(), Total::default());
        let total = want.wants(THREADS_TOTAL, TOTAL_ID);
        let now = table.moment(pass);
        let mut name = String::new();
        for process in table.in_order() {
            let reused = !process.is_new(Parts::TASK, now);
            let threads = process.seldom.as_deref().map(|seldom| seldom.threads.get());
            let threads = match threads {
                Some(Ok(threads)) => threads.as_slice(),
                Some(Err(reason)) => {
                    totals.iter_mut().for_each(|sum| sum.add(&Err(reason.clone())));
                    &[]
                }
                None => &[],
            };
            for thread in threads {
                thread_name(process, thread.tid, &mut name);
                let mut cells = want
                    .wants(&name, InstanceId(thread.tid))
                    .then(|| rows.push(&name, InstanceId(thread.tid), thread.birth()));
                if let Some(cells) = cells.as_mut().filter(|_| reused) {
                    cells.mark(Mark::Reused);
                }
                for ((column, counter), sum) in want.counters.iter().enumerate().zip(&mut *totals) {
                    let value = threads::value(*counter, process, thread, *units);
                    sum.add(&value);
                    if let Some(cells) = &mut cells {
                        fill(cells, column, value);
                    }
                }
            }
        }
        if total {
            let mut cells = rows.push(THREADS_TOTAL, TOTAL_ID, None);
            for ((column, counter), sum) in want.counters.iter().enumerate().zip(&*totals) {
                let value = if threads::adds_up(*counter) { sum.value() } else { Err(no_sum()) };
                fill(&mut cells, column, value);
            }
        }
        Ok(())
    }
}

const THREADS_TOTAL: &str = "_Total/_Total";

fn thread_name(process: &Process, tid: u32, name: &mut String) {
    use std::fmt::Write;
    name.clear();
    let _ = write!(name, "{}/{tid}", process.comm()); // into memory: it cannot fail
}

fn no_sum() -> NoValue {
    unavailable("it does not add up")
}

/// How a counterset calls a process.
fn name_of(set: Guid) -> fn(&Process) -> &str {
    match set {
        // Whoever takes the name of the sum must not be taken for it.
        process::GUID => |process| match process.comm() {
            comm if comm.eq_ignore_ascii_case(TOTAL_NAME) => process.name(),
            comm => comm,
        },
        _ => Process::name,
    }
}

/// How a counterset calls processors that rest.
fn idle_name(set: Guid) -> Option<&'static str> {
    match set {
        process_v2::GUID => Some("Idle:0"),
        process::GUID => Some("Idle"),
        _ => None,
    }
}

/// Whether that `/proc` is of the PID namespace of this process: then a pid there stands for the same process here.
fn clocks_are_ours(proc: &Path) -> bool {
    let own = std::process::id();
    // In this file the kernel lists the numbers that a process has, from the namespace of that /proc inwards.
    let status = std::fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let ours = numbers.is_some_and(|numbers| numbers.split_ascii_whitespace().eq([own.to_string().as_str()]));
    ours && is_procfs(proc) && cpu_clock_ns(own).is_ok()
}

impl Provider for Processes {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let mut pass = Pass::enumeration(elapsed_ns());
        let is_thread = *counterset == thread::GUID;
        let parts = if is_thread { Parts::TASK } else { Parts::NONE };
        self.known(*counterset)?;
        let Self { source, table, .. } = self;
        source.refresh(parts, &|_| true, table, &mut pass).map_err(source_error)?;
        if let Some(name) = idle_name(*counterset) {
            rows.push(name, IDLE_ID, None);
        }
        let (name_of, mut name) = (name_of(*counterset), String::new());
        for process in table.in_order() {
            if !is_thread {
                rows.push(name_of(process), InstanceId(process.pid), process.birth());
                continue;
            }
            let threads = process.seldom.as_deref().and_then(|seldom| seldom.threads.get().ok());
            for thread in threads.into_iter().flatten() {
                thread_name(process, thread.tid, &mut name);
                rows.push(&name, InstanceId(thread.tid), thread.birth());
            }
        }
        rows.push(if is_thread { THREADS_TOTAL } else { TOTAL_NAME }, TOTAL_ID, None);
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.known(want.counterset.guid)?;
        let mut pass = Pass::new(want.collection, elapsed_ns());
        self.units.start_100ns = (self.start_100ns)();
        if want.counterset.guid == thread::GUID {
            self.collect_threads(want, rows, &mut pass)?;
        } else {
            self.collect_processes(want, rows, &mut pass)?;
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }

    fn about(&mut self) -> Vec<(Text, Text)> {
        vec![("process source".into(), self.source.about().into())]
    }
}

impl Processes {
    fn known(&self, counterset: Guid) -> Result<(), SourceError> {
        let known = self.catalogue.countersets.iter().any(|set| set.guid == counterset);
        if known { Ok(()) } else { Err(SourceError::UnknownCounterset(counterset)) }
    }
}
