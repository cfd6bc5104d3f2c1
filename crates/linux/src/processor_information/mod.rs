//! The counterset Processor Information.

use std::num::NonZeroU64;
use std::sync::Arc;

use perfset_core::catalogue::processor_information::{COUNTERSET, GUID};
use perfset_core::{Birth, Guid, InstanceId, Mark};
use perfset_engine::{Catalogue, Provider, Rows, SourceError, Want};

use crate::pass::Pass;
use crate::roots::Roots;

mod cpu_files;
mod machine;
#[cfg(test)]
mod tests;
mod values;

use machine::{Cpu, Machine, Value};
use values::Covered;

/// Provides Processor Information from `/proc/stat`, `/proc/interrupts`, `/proc/softirqs` and `/sys/devices/system`.
///
/// **Shape**: the rows are `_Total`, then node by node its CPUs ("0,0") and the node's total ("0,_Total"). The id of
/// a CPU is the kernel's number for it.
///
/// A total's birth depends on the CPUs that it covers: when one comes or goes, the sums are not comparable, and the
/// rates of one interval say that the instance was replaced.
#[derive(Debug)]
pub struct ProcessorInformation {
    catalogue: Arc<Catalogue>,
    elapsed_ns: fn() -> u64,
    passes: u64,
    machine: Machine,
    rows: Vec<RowKey>,
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
        Self {
            catalogue: Arc::new(Catalogue {
                origin: "Linux".into(),
                countersets: vec![Arc::new(COUNTERSET.clone())],
            }),
            elapsed_ns,
            passes: 0,
            machine: Machine::new(roots, clock_ticks),
            rows: Vec::new(),
        }
    }

    fn start(&mut self) -> Result<Pass, SourceError> {
        self.passes = self.passes.saturating_add(1);
        let mut pass = Pass { number: self.passes, elapsed_ns: (self.elapsed_ns)(), bytes_read: 0 };
        if self.machine.refresh(&mut pass)? {
            self.rows = row_keys(&self.machine.cpus);
        }
        Ok(pass)
    }
}

impl Provider for ProcessorInformation {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        known(*counterset)?;
        let pass = self.start()?;
        for row in &self.rows {
            rows.push(&row.name, row.id, row.birth);
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        known(want.counterset.guid)?;
        let mut pass = self.start()?;
        for row in self.rows.iter().filter(|row| want.wants(&row.name, row.id)) {
            let mut cells = rows.push(&row.name, row.id, row.birth);
            for (column, counter) in want.counters.iter().enumerate() {
                match self.machine.value(*counter, &row.covered, &mut pass) {
                    Ok(Value { raw, held: false }) => cells.set(column, raw),
                    Ok(Value { raw, held: true }) => cells.set_marked(column, raw, Mark::Held),
                    Err(reason) => cells.none(column, reason),
                }
            }
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }
}

fn known(counterset: Guid) -> Result<(), SourceError> {
    if counterset == GUID { Ok(()) } else { Err(SourceError::UnknownCounterset(counterset)) }
}

/// The rows for these CPUs, which come by node and index.
fn row_keys(cpus: &[Cpu]) -> Vec<RowKey> {
    const MACHINE: InstanceId = InstanceId(0xFFFF_FFFE);
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
