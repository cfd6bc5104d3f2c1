//! Countersets of processors: Processor Information and its view Processor; Linux Processor and Scheduler, which have
//! the same rows.

use std::sync::Arc;

use perfset_catalogue::{linux_processor, processor, processor_information, scheduler};
use perfset_core::{Birth, CounterId, Guid, InstanceId, NoValue};
use perfset_engine::{Catalogue, CollectRequest, Provider, Rows, SourceError};

use crate::provider::{
    Collection, MarkedRaw, ORIGIN, SeqFileKind, SharedFile, TOTAL_ID, TOTAL_NAME, birth_of_total, fill,
};
use crate::roots::Roots;

mod cpu_files;
mod linux_processor_values;
mod machine;
mod scheduler_values;
#[cfg(test)]
mod tests;
mod values;

use machine::{Cpu, CpuSources};
use values::CpuRange;

/// Provider of four countersets of processors. Processor Information comes from `/proc/stat`, `/proc/interrupts`,
/// `/proc/softirqs` and `/sys/devices/system`; Processor has the same values in other rows. Linux Processor, and
/// Scheduler from `/proc/schedstat`, have the rows of Processor Information.
///
/// **Shape**: the rows are `_Total`, then for each node its CPUs ("0,0") and the node's total ("0,_Total"). The id of
/// a CPU is its number in the kernel. The rows of Processor are the CPUs by that number ("0"), then `_Total`. The
/// CPUs are those that are online and have a line in `/proc/stat`.
///
/// A total's birth depends on the CPUs that it covers. When a CPU comes online or goes offline, the sums are not
/// comparable, and the rates of one interval report that the instance was replaced.
#[derive(Debug)]
pub struct ProcessorInformation {
    catalogue: Arc<Catalogue>,
    elapsed_ns: fn() -> u64,
    machine: CpuSources,
    rows: Vec<RowKey>,
    view: ProcessorView,
}

/// View of Processor Information as the counterset Processor: other rows, and other ids for the same counters.
#[derive(Debug)]
struct ProcessorView {
    rows: Vec<RowKey>,
    /// Counter ids of Processor, each with the id of the same counter in Processor Information.
    counters: Vec<(CounterId, CounterId)>,
}

/// Key of a row in a counterset of processors, and the CPUs that the row covers.
#[derive(Debug)]
struct RowKey {
    name: String,
    id: InstanceId,
    birth: Birth,
    covered: CpuRange,
}

impl ProcessorInformation {
    /// Creates the provider of processors, which reads below `roots`. `clock_ticks` is the number of ticks per second
    /// in `/proc/stat`, and `elapsed_ns` returns the monotonic clock.
    #[must_use]
    pub fn new(roots: Roots, clock_ticks: u64, elapsed_ns: fn() -> u64) -> Self {
        let stat = SharedFile::new(roots.proc.join("stat"), SeqFileKind::Single);
        Self::sharing(roots, stat, clock_ticks, elapsed_ns)
    }

    /// Creates the provider of processors as [`new`](Self::new) does, with a `/proc/stat` that other providers share.
    pub(crate) fn sharing(roots: Roots, stat: SharedFile, clock_ticks: u64, elapsed_ns: fn() -> u64) -> Self {
        Self {
            catalogue: Arc::new(Catalogue::new(
                ORIGIN,
                vec![
                    Arc::new(processor_information::COUNTERSET.clone()),
                    Arc::new(processor::COUNTERSET.clone()),
                    Arc::new(linux_processor::COUNTERSET.clone()),
                    Arc::new(scheduler::COUNTERSET.clone()),
                ],
            )),
            elapsed_ns,
            machine: CpuSources::new(roots, stat, clock_ticks),
            rows: Vec::new(),
            view: ProcessorView { rows: Vec::new(), counters: view_counters() },
        }
    }

    /// Finds the online CPUs. `times`: `true` if the collection needs the CPUs' times.
    fn refresh(&mut self, times: bool, pass: &mut Collection) -> Result<(), SourceError> {
        if self.machine.refresh(times, pass)? {
            self.rows = row_keys(&self.machine.cpus);
            self.view.rows = view_row_keys(&self.machine.cpus);
        }
        Ok(())
    }

    /// Returns the keys of the rows of a processor counterset.
    fn rows_of(&self, set: Set) -> &[RowKey] {
        match set {
            Set::Processor => &self.view.rows,
            Set::Information | Set::Linux | Set::Scheduler => &self.rows,
        }
    }
}

/// Kind of processor counterset: each of the four has a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Information,
    Processor,
    Linux,
    Scheduler,
}

impl Set {
    fn for_counterset(counterset: Guid) -> Result<Self, SourceError> {
        match counterset {
            processor_information::GUID => Ok(Self::Information),
            processor::GUID => Ok(Self::Processor),
            linux_processor::GUID => Ok(Self::Linux),
            scheduler::GUID => Ok(Self::Scheduler),
            other => Err(SourceError::UnknownCounterset(other)),
        }
    }

    /// Returns `true` if a counter of this processor counterset needs each CPU's times in `/proc/stat`.
    fn needs_times(self, view: &ProcessorView, counter: CounterId) -> bool {
        match self {
            Self::Information => values::needs_times(counter),
            Self::Processor => values::needs_times(view.base_of(counter)),
            Self::Linux => linux_processor_values::needs_times(counter),
            Self::Scheduler => false,
        }
    }

    fn value(
        self,
        machine: &mut CpuSources,
        view: &ProcessorView,
        counter: CounterId,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        match self {
            Self::Information => machine.value(counter, row, pass),
            Self::Processor => machine.value(view.base_of(counter), row, pass),
            Self::Linux => machine.linux_value(counter, row, pass),
            Self::Scheduler => machine.scheduler_value(counter, row, pass),
        }
    }
}

impl Provider for ProcessorInformation {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let set = Set::for_counterset(*counterset)?;
        let mut pass = Collection::enumeration((self.elapsed_ns)());
        self.refresh(false, &mut pass)?;
        for row in self.rows_of(set) {
            rows.push(&row.name, row.id, row.birth);
        }
        rows.count_bytes_read(pass.bytes_read());
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let set = Set::for_counterset(want.counterset.guid)?;
        let is_wanted = |row: &&RowKey| want.wants(&row.name, row.id);
        let times = want.counters.iter().any(|counter| set.needs_times(&self.view, *counter))
            && self.rows_of(set).iter().any(|row| is_wanted(&row));
        let mut pass = Collection::new(want.collection, (self.elapsed_ns)());
        self.refresh(times, &mut pass)?;

        let Self { rows: own_rows, view, machine, .. } = self;
        let row_keys = if set == Set::Processor { &view.rows } else { own_rows };
        for row in row_keys.iter().filter(is_wanted) {
            let mut cells = rows.push(&row.name, row.id, row.birth);
            for (column, counter) in want.counters.iter().enumerate() {
                let value = set.value(machine, view, *counter, &row.covered, &mut pass);
                fill(&mut cells, column, value);
            }
        }
        rows.count_bytes_read(pass.bytes_read());
        Ok(())
    }
}

impl ProcessorView {
    /// Returns the counter of Processor Information with the same meaning as this counter of Processor.
    fn base_of(&self, counter: CounterId) -> CounterId {
        let known = self.counters.iter().find(|(own, _)| *own == counter);
        known.map_or(counter, |(_, base)| *base)
    }
}

/// Returns pairs of counter ids with the same name, of Processor and of Processor Information.
fn view_counters() -> Vec<(CounterId, CounterId)> {
    let base = |name: &Option<_>| processor_information::COUNTERSET.counters.iter().find(|c| c.name == *name);
    let of_view = processor::COUNTERSET.counters.iter();
    of_view.filter_map(|counter| Some((counter.id, base(&counter.name)?.id))).collect()
}

/// Returns the row keys of Processor for these CPUs, in the order of the CPU numbers.
fn view_row_keys(cpus: &[Cpu]) -> Vec<RowKey> {
    let one = |(at, cpu): (usize, &Cpu)| RowKey {
        name: cpu.location.cpu.to_string(),
        id: InstanceId(cpu.location.cpu),
        birth: None,
        covered: CpuRange { cpus: at..at.saturating_add(1) },
    };
    let mut keys: Vec<_> = cpus.iter().enumerate().map(one).collect();
    keys.sort_by_key(|key| key.id);
    let covered = CpuRange { cpus: 0..cpus.len() };
    keys.push(RowKey { name: TOTAL_NAME.to_owned(), id: TOTAL_ID, birth: birth(cpus), covered });
    keys
}

/// Returns the row keys of Processor Information for these CPUs, which are in the order of node and index.
fn row_keys(cpus: &[Cpu]) -> Vec<RowKey> {
    // Above all CPU numbers, and with all node numbers still below `TOTAL_ID`.
    const FIRST_NODE: u32 = 0xFFFF_0000;

    let total = |name, id, from: usize, covered: &[Cpu]| {
        let cpus = from..from.saturating_add(covered.len());
        RowKey { name, id, birth: birth(covered), covered: CpuRange { cpus } }
    };
    let mut keys = vec![total(TOTAL_NAME.to_owned(), TOTAL_ID, 0, cpus)];
    let mut next = 0_usize;
    for of_node in cpus.chunk_by(|a, b| a.location.node == b.location.node) {
        let first = next;
        for Cpu { location, .. } in of_node {
            let covered = CpuRange { cpus: next..next.saturating_add(1) };
            next = covered.cpus.end;
            let name = format!("{},{}", location.node, location.index);
            keys.push(RowKey { name, id: InstanceId(location.cpu), birth: None, covered });
        }
        if let Some(Cpu { location, .. }) = of_node.first() {
            let id = InstanceId(FIRST_NODE.saturating_add(location.node));
            keys.push(total(format!("{},_Total", location.node), id, first, of_node));
        }
    }
    keys
}

/// Returns the birth of the total row over these CPUs.
fn birth(cpus: &[Cpu]) -> Birth {
    birth_of_total(cpus.iter().map(|cpu| (cpu.location.cpu, None)))
}
