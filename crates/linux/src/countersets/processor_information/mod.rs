//! The countersets Processor Information and Processor, its view.

use std::sync::Arc;

use perfset_core::catalogue::{processor, processor_information};
use perfset_core::{Birth, CounterId, Guid, InstanceId};
use perfset_engine::{Catalogue, Provider, Rows, SourceError, Want};

use super::several::{TOTAL_ID, TOTAL_NAME, birth_of_total};
use super::value::fill;
use crate::kept_file::Printed;
use crate::pass::{Pass, SharedFile};
use crate::roots::Roots;

mod cpu_files;
mod machine;
#[cfg(test)]
mod tests;
mod values;

use machine::{Cpu, Machine};
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
            machine: Machine::new(roots, stat, clock_ticks),
            rows: Vec::new(),
            view: View { rows: Vec::new(), counters: view_counters() },
        }
    }

    /// Looks which CPUs there are, in a collection of `times` or not.
    fn refresh(&mut self, times: bool, pass: &mut Pass) -> Result<(), SourceError> {
        if self.machine.refresh(times, pass)? {
            self.rows = row_keys(&self.machine.cpus);
            self.view.rows = view_row_keys(&self.machine.cpus);
        }
        Ok(())
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
        let mut pass = Pass::enumeration((self.elapsed_ns)());
        self.refresh(false, &mut pass)?;
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
        let mut pass = Pass::new(want.collection, (self.elapsed_ns)());
        self.refresh(times, &mut pass)?;

        let Self { rows: own_rows, view, machine, .. } = self;
        let row_keys = if is_view { &view.rows } else { own_rows };
        for row in row_keys.iter().filter(|row| want.wants(&row.name, row.id)) {
            let mut cells = rows.push(&row.name, row.id, row.birth);
            for (column, counter) in want.counters.iter().enumerate() {
                let value = machine.value(base_of(view, *counter), &row.covered, &mut pass);
                fill(&mut cells, column, value);
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
    keys.push(RowKey { name: TOTAL_NAME.to_owned(), id: TOTAL_ID, birth: birth(cpus), covered });
    keys
}

/// The rows for these CPUs, which come by node and index.
fn row_keys(cpus: &[Cpu]) -> Vec<RowKey> {
    const FIRST_NODE: u32 = 0xFFFF_0000;

    let total = |name, id, from: usize, covered: &[Cpu], machine| {
        let cpus = from..from.saturating_add(covered.len());
        RowKey { name, id, birth: birth(covered), covered: Covered { cpus, machine } }
    };
    let mut keys = vec![total(TOTAL_NAME.to_owned(), TOTAL_ID, 0, cpus, true)];
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

/// Of the row that stands for these CPUs.
fn birth(cpus: &[Cpu]) -> Birth {
    birth_of_total(cpus.iter().map(|cpu| (cpu.place.cpu, None)))
}
