//! Countersets of processes: Process V2 and its view Process, Linux Process, Thread, and Process States.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use perfset_catalogue::{linux_process, process, process_v2, thread};
use perfset_core::{CounterId, Guid, Identity, InstanceId, Mark, NoValue, Text};
use perfset_engine::total::{Member, Reading, Sum};
use perfset_engine::{
    Catalogue, CollectRequest, Fact, FactOptions, Provider, RowWriter, Rows, SourceError, Totals,
};

use crate::clock::{elapsed_ns, time_100ns_at};
use crate::cpu_clock::cpu_clock_ns;
use crate::provider::{
    Collection, KeptFile, MarkedRaw, ORIGIN, ReadFiles, SeqFileKind, SharedFile, SharedParsedFile, TOTAL_ID,
    TOTAL_NAME, fill, reading, unavailable,
};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::vmstat::VmStat;

mod facts;
mod fields;
mod files;
mod kernel;
mod method;
mod own_io;
mod reader;
mod source;
mod states;
mod table;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;

use facts::ProcessFacts;
use fields::{ProcessField, Units};
use kernel::Kernel;
use reader::is_procfs;
use source::ProcessCollector;
pub use source::ProcessSource;
pub(crate) use states::ProcessStates;
use table::{FileSet, ProcessEntry, ProcessTable, Thread};
pub use tasks::prepared::prepare_walks;

/// Provider of the countersets Process V2, Process, Linux Process and Thread.
///
/// **Shape**: processes in the order of their start, `Idle` before them and `_Total` after them. The id of a process
/// is its pid, its birth its start time. Threads are grouped by process.
#[derive(Debug)]
pub(crate) struct Processes {
    catalogue: Arc<Catalogue>,
    source: ProcessCollector,
    table: ProcessTable,
    units: Units,
    start_100ns: fn() -> u64,
    kernel: Kernel,
    delays: KeptFile,
    facts: ProcessFacts,
    fields: Vec<ProcessField>,
    /// Source of the value of `_Total`, for each requested column of a process counterset.
    parts_of_total: Vec<PartOfTotal>,
    added: Vec<ProcessField>,
    totals: Totals<Added>,
    /// Time since which the same processors have been online. Idle times in the totals over processes are counted
    /// since then.
    rested_since: Option<NonZeroU64>,
}

/// Column of the totals over processes or threads: a field of processes in one counterset, or a counter of Thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    Processes(Guid, ProcessField),
    Threads(CounterId),
}

/// Source of the value that `_Total` has in a column of a process counterset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartOfTotal {
    /// No source: `_Total` has no value in the column, or none is requested.
    Nothing,
    /// Kernel's own sum over all processes.
    Kernel,
    /// Sum over the rows of processes: one column of the totals, or the sum of two columns.
    Rows(usize, Option<usize>),
}

const IDLE_ID: InstanceId = InstanceId(0);

impl Processes {
    /// Creates the provider of processes, which reads below `roots`, and a `/proc/stat` and `/proc/vmstat` that other
    /// providers share. `wish` is the requested collection method; `start_100ns` returns the start time of the
    /// machine, as PerfTime100NSec.
    pub(crate) fn new(
        roots: &Roots,
        (stat, vmstat): (SharedFile, SharedParsedFile<VmStat>),
        (clock_ticks, page_size): (u64, u64),
        start_100ns: fn() -> u64,
        wish: ProcessSource,
    ) -> Self {
        let clocks = clocks_are_ours(&roots.proc);
        let units = Units { clock_ticks, page_size, start_100ns: 0, clocks, delays: false };
        let sets =
            [&process_v2::COUNTERSET, &process::COUNTERSET, &linux_process::COUNTERSET, &thread::COUNTERSET];
        Self {
            catalogue: Arc::new(Catalogue::new(ORIGIN, sets.map(|set| Arc::new(set.clone())).into())),
            source: ProcessCollector::new(roots, clocks, wish),
            table: ProcessTable::default(),
            units,
            start_100ns,
            kernel: Kernel::new(roots, stat, vmstat, start_100ns, clocks),
            delays: KeptFile::new(roots.proc.join("sys/kernel/task_delayacct"), SeqFileKind::Single),
            facts: ProcessFacts::new(roots),
            fields: Vec::new(),
            parts_of_total: Vec::new(),
            added: Vec::new(),
            totals: Totals::default(),
            rested_since: None,
        }
    }

    /// Determines the source of the value of `_Total` for each field of processes. Returns `true` if the rows of all
    /// processes are needed.
    fn begin_total(&mut self, want: &CollectRequest<'_>, pass: &mut Collection) -> bool {
        let Self { kernel, fields, parts_of_total, added, totals, units, rested_since, .. } = self;
        let set = want.counterset;
        let has_all = kernel.has_all(pass);
        let is_of_rows = |field: &ProcessField| field.adds_up() && !(has_all && Kernel::has(*field));
        let rests = |field: &ProcessField| idle_name(set.guid).is_some() && Kernel::is_time(*field);
        if fields.iter().any(|field| is_of_rows(field) && rests(field)) {
            // Idle times are comparable only between collections with the same processors.
            let since = kernel.times(*units, pass).ok().map(|times| times.since_100ns);
            if std::mem::replace(rested_since, since) != since {
                totals.forget(|added| matches!(added, Added::Processes(_, field) if Kernel::is_time(*field)));
            }
        }
        totals.start(time_100ns_at(pass.elapsed_ns()));
        parts_of_total.clear();
        added.clear();
        let mut column = |field: ProcessField, sum: Sum| {
            // When a parent reaps a process, the kernel adds the I/O of the process to that of the parent.
            let sum = if matches!(field, ProcessField::Io(_)) { Sum::HandedOn } else { sum };
            let known = added.iter().position(|added| *added == field);
            known.unwrap_or_else(|| {
                totals.want(Added::Processes(set.guid, field), sum);
                added.push(field);
                added.len().saturating_sub(1)
            })
        };
        for (field, counter) in fields.iter().zip(want.counters) {
            parts_of_total.push(match set.counter(*counter) {
                Some(counter) if is_of_rows(field) => {
                    let sum = Sum::for_counter(set, counter).wide();
                    let (a, b) = field.summands();
                    let a = column(a, sum);
                    PartOfTotal::Rows(a, b.map(|b| column(b, sum)))
                }
                // The kernel's sum includes processes that lived shorter than an interval, so it is
                // preferred.
                _ if field.adds_up() => PartOfTotal::Kernel,
                _ => PartOfTotal::Nothing,
            });
        }
        !added.is_empty()
    }

    /// Reads the kernel's sums over all processes for `_Total` and `Idle`. Reasons for missing sums are reported in
    /// their cells later.
    fn read_kernel(&mut self, has_total: bool, rests: bool, pass: &mut Collection) {
        let Self { fields, parts_of_total, kernel, units, .. } = self;
        for (at, field) in fields.iter().enumerate() {
            if rests && Kernel::is_time(*field) {
                let _ = kernel.times(*units, pass);
            }
            if has_total && parts_of_total.get(at) == Some(&PartOfTotal::Kernel) {
                let _ = kernel.total(*field, *units, pass);
            }
        }
    }

    /// Collects the rows of a counterset whose instances are processes.
    fn collect_processes(
        &mut self,
        want: &CollectRequest<'_>,
        rows: &mut Rows,
        pass: &mut Collection,
    ) -> Result<(), SourceError> {
        let set = want.counterset.guid;
        self.fields.clear();
        self.fields.extend(want.counters.iter().map(|counter| ProcessField::for_counter(set, *counter)));
        // The setting can change at any time, and only this counter depends on it.
        if self.fields.contains(&ProcessField::BlockIoDelay) {
            let delays = pass.read(&mut self.delays, "", attribute::number);
            self.units.delays = delays == Ok(1);
        }
        // The files of all requested counters are determined first, so that each file is read once per
        // process.
        let mut parts = FileSet::NONE;
        for (column, field) in self.fields.iter().enumerate() {
            parts = parts | field.parts(self.units);
            if let ProcessField::Never(why) = field {
                // Set once for the whole column, so that no row repeats the reason.
                rows.none_in_column(column, unavailable(why));
            }
        }
        let name_of = name_of(set);
        let has_total = want.wants(TOTAL_NAME, TOTAL_ID);
        let adds_up = has_total && self.begin_total(want, pass);
        let rests = idle_name(set).is_some_and(|name| want.wants(name, IDLE_ID));
        // The sums are read before the processes, because the time of the sample is its beginning.
        self.read_kernel(has_total, rests, pass);
        let wanted = |process: &ProcessEntry| want.wants(name_of(process), InstanceId(process.pid));
        let Self { source, table, fields, parts_of_total, added, totals, units, kernel, .. } = self;
        source.refresh(parts, &|process| adds_up || wanted(process), table, pass)?;
        rows.set_layer(source.layer().number());

        // As on Windows, `Idle` stands for the processors' idle time. It is part of `_Total`, so that the sum
        // is that of all processors.
        if let Some(name) = idle_name(set) {
            let mut cells = want.wants(name, IDLE_ID).then(|| rows.push(name, IDLE_ID, None));
            if let Some(cells) = &mut cells {
                for (column, field) in fields.iter().enumerate() {
                    match field {
                        ProcessField::Never(_) => {}
                        field if Kernel::is_time(*field) => {
                            fill_counted(cells, column, kernel.of_idle(*field, *units, pass));
                        }
                        _ => cells.set_unavailable(column, unavailable("Idle has processor time only")),
                    }
                }
            }
            if adds_up {
                totals.row(Member { name: 1, ..Member::default() }, None);
                for (column, field) in added.iter().enumerate().filter(|(_, field)| Kernel::is_time(**field))
                {
                    let value = kernel.of_idle(*field, *units, pass).map(|(value, _)| value);
                    totals.add(column, reading(&value));
                }
            }
        }

        // Each process is visited once, for its own row and for the total, also if only the total is
        // requested.
        let now = table.moment(pass);
        for process in table.in_order() {
            let has_row = wanted(process);
            if !has_row && !adds_up {
                continue;
            }
            let mut cells =
                has_row.then(|| rows.push(name_of(process), InstanceId(process.pid), process.birth()));
            if let Some(cells) = cells.as_mut().filter(|_| !process.is_new(parts, now)) {
                cells.mark(Mark::Reused);
            }
            for (column, field) in fields.iter().enumerate() {
                match (&mut cells, field) {
                    (None, _) => break,
                    (_, ProcessField::Never(_)) => {}
                    (Some(cells), field) => fill(cells, column, field.value(process, *units)),
                }
            }
            if adds_up {
                let parent = process.stat.value.ppid;
                let member = Member { birth: process.birth(), id: process.pid, name: 0, parent };
                totals.row(member, units.began_or_before(process.birth()));
                for (column, field) in added.iter().enumerate() {
                    totals.add(column, reading(&field.value(process, *units)));
                }
            }
        }
        if adds_up {
            // A process that `/proc` hides may still be running. Without this, its counts would be taken for
            // those of an ended process, and stay.
            let hidden = NoValue::Denied("/proc hides the process".into());
            for process in &table.hidden {
                let (birth, id, parent) = (process.birth, process.pid, process.ppid);
                totals.row(Member { birth, id, name: 0, parent }, None);
                // Levels are those of the rows.
                for (column, _) in added.iter().enumerate().filter(|(_, field)| field.is_count()) {
                    totals.add(column, Reading::None(&hidden));
                }
            }
            totals.end();
        }
        if has_total {
            // The total is the last row, because only now all of its members are known.
            let mut cells = rows.push(TOTAL_NAME, TOTAL_ID, None);
            for (column, (field, part)) in fields.iter().zip(&*parts_of_total).enumerate() {
                match part {
                    PartOfTotal::Rows(a, b) => {
                        totals.fill(&[*a, b.unwrap_or(usize::MAX)], &mut cells, column)
                    }
                    PartOfTotal::Kernel => {
                        fill_counted(&mut cells, column, kernel.total(*field, *units, pass));
                    }
                    PartOfTotal::Nothing if matches!(field, ProcessField::Never(_)) => {}
                    PartOfTotal::Nothing => cells.set_unavailable(column, no_sum()),
                }
            }
        }
        Ok(())
    }

    /// Collects the rows of the counterset Thread.
    fn collect_threads(
        &mut self,
        want: &CollectRequest<'_>,
        rows: &mut Rows,
        pass: &mut Collection,
    ) -> Result<(), SourceError> {
        let Self { source, table, totals, units, parts_of_total, .. } = self;
        source.refresh(FileSet::TASK, &|_| true, table, pass)?;
        rows.set_layer(source.layer().number());
        let has_total = want.wants(THREADS_TOTAL, TOTAL_ID);
        parts_of_total.clear();
        parts_of_total.resize(want.counters.len(), PartOfTotal::Nothing);
        let mut sums = 0_usize;
        if has_total {
            totals.start(time_100ns_at(pass.elapsed_ns()));
            for (part, counter) in parts_of_total.iter_mut().zip(want.counters) {
                let counter = want.counterset.counter(*counter);
                if let Some(counter) = counter.filter(|counter| threads::adds_up(counter.id)) {
                    totals
                        .want(Added::Threads(counter.id), Sum::for_counter(want.counterset, counter).wide());
                    *part = PartOfTotal::Rows(sums, None);
                    sums = sums.saturating_add(1);
                }
            }
        }
        let now = table.moment(pass);
        let mut name = String::new();
        for process in table.in_order() {
            // A process that has not run has the same threads as before; their values are marked, not read
            // again.
            let reused = !process.is_new(FileSet::TASK, now);
            let Some(known) = process.seldom.as_deref().map(|seldom| &seldom.threads) else { continue };
            let threads = match known.get() {
                Ok(threads) => threads.as_slice(),
                Err(reason) => {
                    // The counts of its threads so far are kept. If none of its threads was ever read, one is
                    // missing.
                    let none = Member { birth: process.birth(), id: process.pid, name: 1, parent: 0 };
                    let known = known.value.iter().map(Thread::member);
                    let none = (known.len() == 0).then_some(none);
                    for member in known.chain(none).filter(|_| has_total) {
                        totals.row(member, units.began_or_before(member.birth));
                        (0..sums).for_each(|sum| totals.add(sum, Reading::None(&reason)));
                    }
                    continue;
                }
            };
            for thread in threads {
                thread_name(process, thread.tid, &mut name);
                let mut cells = want
                    .wants(&name, InstanceId(thread.tid))
                    .then(|| rows.push(&name, InstanceId(thread.tid), thread.birth_in(process)));
                if let Some(cells) = cells.as_mut().filter(|_| reused) {
                    cells.mark(Mark::Reused);
                }
                if has_total {
                    totals.row(thread.member(), units.began_or_before(thread.birth()));
                }
                for ((column, counter), part) in want.counters.iter().enumerate().zip(&*parts_of_total) {
                    if cells.is_none() && *part == PartOfTotal::Nothing {
                        continue;
                    }
                    let value = threads::value(*counter, process, thread, *units);
                    if let PartOfTotal::Rows(sum, _) = part {
                        totals.add(*sum, reading(&value));
                    }
                    if let Some(cells) = &mut cells {
                        fill(cells, column, value);
                    }
                }
            }
        }
        if has_total {
            totals.end();
            let mut cells = rows.push(THREADS_TOTAL, TOTAL_ID, None);
            for (column, part) in parts_of_total.iter().enumerate() {
                match part {
                    PartOfTotal::Rows(sum, _) => totals.fill(&[*sum], &mut cells, column),
                    _ => cells.set_unavailable(column, no_sum()),
                }
            }
        }
        Ok(())
    }
}

/// Fills a cell with a count and the time since which it is counted, or with the reason for a missing value.
fn fill_counted(cells: &mut RowWriter<'_>, column: usize, value: Result<(MarkedRaw, NonZeroU64), NoValue>) {
    match value {
        Ok((value, since_100ns)) => cells.set_counted(column, value.raw, value.mark, since_100ns),
        Err(reason) => cells.set_unavailable(column, reason),
    }
}

const THREADS_TOTAL: &str = "_Total/_Total";

fn thread_name(process: &ProcessEntry, tid: u32, name: &mut String) {
    use std::fmt::Write;
    name.clear();
    let _ = write!(name, "{}/{tid}", process.comm()); // into memory: it cannot fail
}

fn no_sum() -> NoValue {
    unavailable("it does not add up")
}

/// Returns the function that returns a process's instance name in a counterset.
fn name_of(set: Guid) -> fn(&ProcessEntry) -> &str {
    match set {
        // A process with the name of the sum must not be mistaken for the sum.
        process::GUID => |process| match process.comm() {
            comm if comm.eq_ignore_ascii_case(TOTAL_NAME) => process.name(),
            comm => comm,
        },
        // These names end in a pid, so none can be the name of the sum.
        _ => ProcessEntry::name,
    }
}

/// Returns the name of the instance `Idle` in a counterset of processes; `None` if the counterset has no such
/// instance.
fn idle_name(set: Guid) -> Option<&'static str> {
    match set {
        process_v2::GUID => Some("Idle:0"),
        process::GUID => Some("Idle"),
        _ => None,
    }
}

/// Returns `true` if `proc` belongs to the PID namespace of this process: then pids in `proc` are valid here, and CPU
/// clocks are readable.
fn clocks_are_ours(proc: &Path) -> bool {
    let own = std::process::id();
    // In this file the kernel lists the pids of a process, from the namespace of that /proc inwards.
    let status = std::fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let ours = numbers.is_some_and(|numbers| numbers.split_ascii_whitespace().eq([own.to_string().as_str()]));
    let is_kernels = is_procfs(proc);
    #[cfg(test)]
    let is_kernels = is_kernels || crate::faults::kernel::is_model();
    ours && is_kernels && cpu_clock_ns(own).is_ok()
}

impl Provider for Processes {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        self.known(instance.counterset)?;
        // The id of a thread is no process id, and Idle and _Total are no processes.
        let is_process =
            instance.counterset != thread::GUID && !matches!(instance.instance_id, IDLE_ID | TOTAL_ID);
        let read = || self.facts.read(instance.instance_id.0, instance.birth, options);
        Ok(if is_process { read() } else { Vec::new() })
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let mut pass = Collection::enumeration(elapsed_ns());
        let is_thread = *counterset == thread::GUID;
        self.known(*counterset)?;
        let Self { source, table, .. } = self;
        source.refresh(FileSet::NONE, &|_| true, table, &mut pass)?;
        if let Some(name) = idle_name(*counterset) {
            rows.push(name, IDLE_ID, None);
        }
        let (name_of, mut name) = (name_of(*counterset), String::new());
        match source.files_of_threads().filter(|_| is_thread) {
            // The names need a small part of what the counters of threads do.
            Some(files) => {
                for process in table.in_order() {
                    files.list_threads(process, &mut pass, |tid| {
                        thread_name(process, tid, &mut name);
                        rows.push(&name, InstanceId(tid), process.birth());
                    });
                }
            }
            None if is_thread => {
                source.refresh(FileSet::TASK, &|_| true, table, &mut pass)?;
                for process in table.in_order() {
                    let threads = process.seldom.as_deref().and_then(|seldom| seldom.threads.get().ok());
                    for thread in threads.into_iter().flatten() {
                        thread_name(process, thread.tid, &mut name);
                        rows.push(&name, InstanceId(thread.tid), thread.birth_in(process));
                    }
                }
            }
            None => {
                for process in table.in_order() {
                    rows.push(name_of(process), InstanceId(process.pid), process.birth());
                }
            }
        }
        rows.push(if is_thread { THREADS_TOTAL } else { TOTAL_NAME }, TOTAL_ID, None);
        rows.count_bytes_read(pass.bytes_read());
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.known(want.counterset.guid)?;
        let mut pass = Collection::new(want.collection, elapsed_ns());
        // Read each time, because it moves when the machine has slept.
        self.units.start_100ns = (self.start_100ns)();
        if want.counterset.guid == thread::GUID {
            self.collect_threads(want, rows, &mut pass)?;
        } else {
            self.collect_processes(want, rows, &mut pass)?;
        }
        rows.count_bytes_read(pass.bytes_read());
        Ok(())
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        vec![("process collection".into(), self.source.describe().into())]
    }
}

impl Processes {
    fn known(&self, counterset: Guid) -> Result<(), SourceError> {
        let known = self.catalogue.countersets.iter().any(|set| set.guid == counterset);
        if known { Ok(()) } else { Err(SourceError::UnknownCounterset(counterset)) }
    }
}
