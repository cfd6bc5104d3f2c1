//! Tests of the countersets of processes, with trees of test files and with the running machine.

use perfset_catalogue::{linux_process, process, process_v2, thread};
use perfset_core::{CounterId, Counterset};

use super::*;
use crate::countersets::vmstat;
use crate::testing::{CellOutcome, Collected, Tree, collect_of, fixture, try_collect_of};

mod identity;
mod layers;
mod totals;
mod values;
mod ways;

/// Clock ticks per second and page size in these tests: not 100 and not 4,096, because no code may assume those
/// values.
const CLOCK_TICKS: u64 = 250;
const PAGE_SIZE: u64 = 16_384;
const START_100NS: u64 = 130_000_000_000_000_000;

fn provider(roots: &Roots) -> Processes {
    let stat = SharedFile::new(roots.proc.join("stat"), SeqFileKind::Single);
    Processes::new(
        roots,
        (stat, vmstat(roots)),
        (CLOCK_TICKS, PAGE_SIZE),
        || START_100NS,
        ProcessSource::Auto,
    )
}

fn all_of(set: &Counterset) -> Vec<CounterId> {
    set.counters.iter().map(|counter| counter.id).collect()
}
