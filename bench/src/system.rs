//! Bench of a warm collection of Processor Information, Memory and System, beside a node_exporter with the same
//! metrics.

use std::collections::BTreeSet;
use std::hint::black_box;

use anyhow::Result;
use perfset_catalogue::{memory, processor_information as cpu, system};
use perfset_engine::{Entry, Query, Snapshot};

use crate::collect::floor::{self, Floor, after_blanks, after_line, cpu_lines_and_rest, number};
use crate::collect::kernel_file::{KernelFile, Kind};
use crate::collect::{OF_INTERRUPTS, machine, values, warm};
use crate::exporter::NodeExporters;
use crate::measure::Comparison;
use crate::{Options, Out};

const COLLECTORS: [&str; 3] = ["--collector.cpu", "--collector.meminfo", "--collector.vmstat"];

/// Measures all counters of these countersets except those that need `/proc/interrupts` or a listing of `/proc`.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let before = KernelFile::open_ones()?;
    let (mut query, mut snapshot) = (warm_query()?, Snapshot::default());
    query.collect(&mut snapshot)?;
    let kept: BTreeSet<_> = KernelFile::open_ones()?.difference(&before).cloned().collect();
    let values = values(snapshot.block())?;
    let mut separate = (warm_query()?, Snapshot::default());
    let files = KernelFile::once(&kept);
    let (mut floor, mut reading) = (Floor::open(&files)?, Floor::open(&files)?);

    let peers = NodeExporters::start(&COLLECTORS, &[])?;
    let title = format!(
        "system: Processor Information, Memory, System: {} values; {}:\n{}",
        values.count,
        peers.about(),
        KernelFile::list(&kept),
    );
    let comparison = peers
        .in_comparison(Comparison::new(title, values.count))
        .variant("pread of each file and a position parser (floor)", || {
            floor.collect_with(everything).unwrap_or(0)
        })
        .reference("floor")
        .variant("Query::collect, every value of the block", || {
            let collected = query.collect(black_box(&mut snapshot));
            collected.ok().and_then(|()| self::values(snapshot.block()).ok()).map_or(0, |values| values.sum)
        })
        .goal("peer", 0.066) // a fifteenth
        .variant("Query::collect alone", || {
            let (query, snapshot) = &mut separate;
            u64::from(query.collect(black_box(snapshot)).is_ok())
        })
        .variant("pread of each file alone", || reading.read().unwrap_or(0));
    let report = comparison.run(rounds);
    peers.check()?;
    out(&report)
}

fn warm_query() -> Result<Query> {
    let mut query = machine().query();
    let of_cpus = cpu::COUNTERSET.counters.iter().map(|counter| counter.id);
    let of_cpus = of_cpus.filter(|id| !OF_INTERRUPTS.contains(id));
    let of_system = system::COUNTERSET.counters.iter().map(|counter| counter.id);
    let of_system = of_system.filter(|id| *id != system::PROCESSES);
    let of_memory = memory::COUNTERSET.counters.iter().map(|counter| counter.id);
    let entries = of_cpus.map(|id| Entry::one(cpu::GUID, id).instance("*"));
    let entries = entries.chain(of_memory.map(|id| Entry::one(memory::GUID, id)));
    warm(&mut query, entries.chain(of_system.map(|id| Entry::one(system::GUID, id))))?;
    Ok(query)
}

/// Returns the sum of all numbers that the lower bound reads from a kernel file.
fn everything(kind: Kind, text: &[u8]) -> u64 {
    match kind {
        Kind::Stat => {
            let (sum, rest) = cpu_lines_and_rest(text);
            sum.wrapping_add(behind_interrupts(rest))
        }
        kind => floor::parse(kind, text),
    }
}

/// Adds up the numbers of the four lines of `/proc/stat` after `intr`: `ctxt`, `btime`, `processes` and
/// `procs_running`.
fn behind_interrupts(text: &[u8]) -> u64 {
    let mut rest = after_line(text);
    let mut sum = 0_u64;
    for name in ["ctxt", "btime", "processes", "procs_running"] {
        let (number, behind) = number(after_blanks(rest.get(name.len()..).unwrap_or_default()));
        sum = sum.wrapping_add(number);
        rest = behind.get(1..).unwrap_or_default();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_stat() {
        let stat =
            b"cpu  97 97\ncpu0 2 3\nintr 97 97\nctxt 5\nbtime 7\nprocesses 11\nprocs_running 13\nprocs_blocked 97\n";
        assert_eq!(everything(Kind::Stat, stat), 41);
    }
}
