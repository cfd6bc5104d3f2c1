//! The countersets Processor Information and Processor, its view.

use std::num::NonZeroU64;
use std::sync::Arc;

use perfset_core::catalogue::{processor, processor_information};
use perfset_core::{Birth, CounterId, Guid, InstanceId};
use perfset_engine::{Catalogue, Provider, Rows, SourceError, Want};

use crate::kept_file::Printed;
use crate::pass::{Pass, SharedFile};
use crate::roots::Roots;

mod cpu_files;
mod machine;
#[cfg(test)]
mod tests;
mod values;

use machine::{Cpu, Machine, Value};
use values::{Covered, needs_times};

/// Provides Processor Information from `/proc/stat`, `/proc/interrupts`, `/proc/softirqs` and `/sys/devices/system`,
/// and Processor, which shows the same values in another shape.
///
/// **Shape**: the rows are `_Total`, then node by node its CPUs ("0,0") and the node's total ("0,_Total"). The id of
/// a CPU is the kernel's number for it. The rows of Processor are the CPUs by that number ("0"), then `_Total`. The
/// CPUs are those that are online and have a line in `/proc/stat`.
///
/// A total's birth depends on the CPUs that it covers: when one comes or goes, the sums are not comparable, and the
/// rates of one interval say that the instance was replaced.
#[derive(Debug)]
pub struct ProcessorInformation {
    catalogue: Arc<Catalogue>,
    elapsed_ns: fn() -> u64,
    enumerations: u64,
    machine: Machine,
    rows: Vec<RowKey>,
    view: View,
}

/// Processor: other rows, and other ids for the same counters.
#[derive(Debug)]
struct View {
    rows: Vec<RowKey>,
    /// Its counters, and those of Processor Information with the same names.
    counters: Vec<(CounterId, CounterId)>,
}

/// One row, and the CPUs that it is about.
#[derive(Debug)]
struct RowKey {
    name: String,
    id: InstanceId,
    birth: Birth,
    covered: Covered,
}

impl ProcessorInformation {
    /// Reads below `roots`. `/proc/stat` counts so many `clock_ticks` a second, and `elapsed_ns` is the monotonic
    /// clock.
    #[must_use]
    pub fn new(roots: Roots, clock_ticks: u64, elapsed_ns: fn() -> u64) -> Self {
        let stat = SharedFile::new(roots.proc.join("stat"), Printed::AtOnce);
        Self::sharing(roots, stat, clock_ticks, elapsed_ns)
    }

    /// As [`new`](Self::new), with a `/proc/stat` that others read too.
    pub(crate) fn sharing(roots: Roots, stat: SharedFile, clock_ticks: u64, elapsed_ns: fn() -> u64) -> Self {
        Self {
            catalogue: Arc::new(Catalogue {
                origin: "Linux".into(),
                countersets: vec![
                    Arc::new(processor_information::COUNTERSET.clone()),
                    Arc::new(processor::COUNTERSET.clone()),
                ],
            }),
            elapsed_ns,
            enumerations: 0,
            machine: Machine::new(roots, stat, clock_ticks),
            rows: Vec::new(),
            view: View { rows: Vec::new(), counters: view_counters() },
        }
    }

    /// Begins a collection, of `times` or not.
    fn start(&mut self, times: bool, collection: u64) -> Result<Pass, SourceError> {
        let mut pass = Pass { number: collection, elapsed_ns: (self.elapsed_ns)(), bytes_read: 0 };
        if self.machine.refresh(times, &mut pass)? {
            self.rows = row_keys(&self.machine.cpus);
            self.view.rows = view_row_keys(&self.machine.cpus);
        }
        Ok(pass)
    }

    /// The rows of a counterset.
    fn rows_of(&self, counterset: Guid) -> Result<&[RowKey], SourceError> {
        match counterset {
            processor_information::GUID => Ok(&self.rows),
            processor::GUID => Ok(&self.view.rows),
            other => Err(SourceError::UnknownCounterset(other)),
        }
    }
}

impl Provider for ProcessorInformation {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        // Collections are numbered from below, enumerations from above: neither reads for the other.
        self.enumerations = self.enumerations.saturating_add(1);
        let pass = self.start(false, u64::MAX.saturating_sub(self.enumerations))?;
        for row in self.rows_of(*counterset)? {
            rows.push(&row.name, row.id, row.birth);
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let is_view = want.counterset.guid == processor::GUID;
        let base_of = |view: &View, counter| if is_view { view.base_of(counter) } else { counter };
        let row_keys = if is_view { &self.view.rows } else { &self.rows };
        let times = want.counters.iter().any(|counter| needs_times(base_of(&self.view, *counter)))
            && row_keys.iter().any(|row| want.wants(&row.name, row.id));
        let mut pass = self.start(times, want.collection)?;

        let Self { rows: own_rows, view, machine, .. } = self;
        let row_keys = if is_view { &view.rows } else { own_rows };
        for row in row_keys.iter().filter(|row| want.wants(&row.name, row.id)) {
            let mut cells = rows.push(&row.name, row.id, row.birth);
            for (column, counter) in want.counters.iter().enumerate() {
                match machine.value(base_of(view, *counter), &row.covered, &mut pass) {
                    Ok(Value { raw, mark: None }) => cells.set(column, raw),
                    Ok(Value { raw, mark: Some(mark) }) => cells.set_marked(column, raw, mark),
                    Err(reason) => cells.none(column, reason),
                }
            }
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }
}

impl View {
    /// The counter of Processor Information that one of Processor is.
    fn base_of(&self, counter: CounterId) -> CounterId {
        let known = self.counters.iter().find(|(own, _)| *own == counter);
        known.map_or(counter, |(_, base)| *base)
    }
}

/// Counters of the same names are the same.
fn view_counters() -> Vec<(CounterId, CounterId)> {
    let base = |name: &Option<_>| processor_information::COUNTERSET.counters.iter().find(|c| c.name == *name);
    let of_view = processor::COUNTERSET.counters.iter();
    of_view.filter_map(|counter| Some((counter.id, base(&counter.name)?.id))).collect()
}

const MACHINE: InstanceId = InstanceId(0xFFFF_FFFE);

/// The rows of Processor for these CPUs, by the kernel's number for them.
fn view_row_keys(cpus: &[Cpu]) -> Vec<RowKey> {
    let one = |(at, cpu): (usize, &Cpu)| RowKey {
        name: cpu.place.cpu.to_string(),
        id: InstanceId(cpu.place.cpu),
        birth: None,
        covered: Covered { cpus: at..at.saturating_add(1), machine: false },
    };
    let mut keys: Vec<_> = cpus.iter().enumerate().map(one).collect();
    keys.sort_by_key(|key| key.id);
    let covered = Covered { cpus: 0..cpus.len(), machine: true };
    keys.push(RowKey { name: "_Total".to_owned(), id: MACHINE, birth: birth(cpus), covered });
    keys
}

/// The rows for these CPUs, which come by node and index.
fn row_keys(cpus: &[Cpu]) -> Vec<RowKey> {
    const FIRST_NODE: u32 = 0xFFFF_0000;

    let total = |name, id, from: usize, covered: &[Cpu], machine| {
        let cpus = from..from.saturating_add(covered.len());
        RowKey { name, id, birth: birth(covered), covered: Covered { cpus, machine } }
    };
    let mut keys = vec![total("_Total".to_owned(), MACHINE, 0, cpus, true)];
    let mut next = 0_usize;
    for of_node in cpus.chunk_by(|a, b| a.place.node == b.place.node) {
        let first = next;
        for Cpu { place, .. } in of_node {
            let covered = Covered { cpus: next..next.saturating_add(1), machine: false };
            next = covered.cpus.end;
            let name = format!("{},{}", place.node, place.index);
            keys.push(RowKey { name, id: InstanceId(place.cpu), birth: None, covered });
        }
        if let Some(Cpu { place, .. }) = of_node.first() {
            let id = InstanceId(FIRST_NODE.saturating_add(place.node));
            keys.push(total(format!("{},_Total", place.node), id, first, of_node, false));
        }
    }
    keys
}

/// Tells sums over different sets of CPUs apart, in every process alike: the FNV-1a hash of their numbers.
fn birth(cpus: &[Cpu]) -> Birth {
    const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let bytes = cpus.iter().flat_map(|cpu| cpu.place.cpu.to_le_bytes());
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    NonZeroU64::new(hash.max(1))
}
