//! Bench of a warm collection of Processor Information, beside bare readings of the same files and the procfs crate.

pub mod floor;
pub mod kernel_file;
mod peer;

use std::collections::BTreeSet;
use std::hint::black_box;

use anyhow::{Result, ensure};
use perfset_catalogue::processor_information as cpu;
use perfset_core::CounterId;
use perfset_core::v2::{Block, BlockValue, Body};
use perfset_core::wire::WireError;
use perfset_engine::{Entry, Machine, Query, Snapshot};
use perfset_linux::{ProcessSource, Roots, SystemClock, providers};

use crate::measure::{Comparison, Report};
use crate::{Options, Out};
use floor::Floor;
use kernel_file::KernelFile;

/// Counters of Processor Information that need `/proc/interrupts`, which costs more than all other files together.
pub const OF_INTERRUPTS: [CounterId; 2] = [cpu::INTERRUPTS_PER_SEC, cpu::CLOCK_INTERRUPTS_PER_SEC];

/// Measures the collection of three selections of Processor Information counters.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let all: Vec<_> = cpu::COUNTERSET.counters.iter().map(|counter| counter.id).collect();
    let without: Vec<_> = all.iter().copied().filter(|id| !OF_INTERRUPTS.contains(id)).collect();
    out(&report("all counters except 3 and 20", &without, true, rounds)?)?;
    out(&report("% Processor Time", &[cpu::PERCENT_PROCESSOR_TIME], false, rounds)?)?;
    out(&report("all counters", &all, false, rounds)?)
}

fn report(what: &str, counters: &[CounterId], has_goals: bool, rounds: usize) -> Result<Report> {
    let before = KernelFile::open_ones()?;
    let (mut query, mut snapshot) = (warm_query(counters)?, Snapshot::default());
    query.collect(&mut snapshot)?;
    let files: BTreeSet<_> = KernelFile::open_ones()?.difference(&before).cloned().collect();
    let mut separate = (warm_query(counters)?, Snapshot::default());

    let mut floor = Floor::open(&files)?;
    let mut reading = Floor::open(&files)?;
    let values = values(snapshot.block())?;
    ensure!(values.count > 0, "there are no values");
    let title = format!(
        "collect: Processor Information, {what}, instance *: {} entries, {} values from {} files:\n{}",
        counters.len(),
        values.count,
        files.len(),
        KernelFile::list(&files),
    );
    let goal = |at_most: f64| has_goals.then_some(at_most);
    let comparison = Comparison::new(title, values.count)
        .variant("pread of the same files and a position parser (floor)", || floor.collect().unwrap_or(0))
        .reference("floor")
        .variant("procfs crate, std::fs::read_to_string for the rest (peer)", || {
            peer::collect(&files).unwrap_or(0)
        })
        .reference("peer")
        .variant("Query::collect, every value of the block", || {
            let collected = query.collect(black_box(&mut snapshot));
            collected.ok().and_then(|()| self::values(snapshot.block()).ok()).map_or(0, |values| values.sum)
        })
        .goal("floor", goal(1.25))
        .goal("peer", goal(0.5))
        .variant("Query::collect alone", || {
            let (query, snapshot) = &mut separate;
            u64::from(query.collect(black_box(snapshot)).is_ok())
        })
        .variant("pread of the same files alone", || reading.read().unwrap_or(0));
    Ok(comparison.run(rounds))
}

/// Returns a query of Processor Information with an entry for each counter, collected until all its files are open.
pub fn warm_query(counters: &[CounterId]) -> Result<Query> {
    let entries = counters.iter().map(|counter| Entry::one(cpu::GUID, *counter).instance("*"));
    let mut query = machine().query();
    warm(&mut query, entries)?;
    Ok(query)
}

/// Returns the machine of this computer, with the providers of Linux.
pub fn machine() -> Machine {
    machine_by(ProcessSource::Auto)
}

/// Returns this machine, with providers that read processes from the given source.
pub fn machine_by(source: ProcessSource) -> Machine {
    let machine = Machine::new(Box::new(SystemClock));
    for provider in providers(Roots::default(), source) {
        machine.register(provider);
    }
    machine
}

/// Adds entries to a query, and collects until all its files are open.
pub fn warm(query: &mut Query, entries: impl IntoIterator<Item = Entry>) -> Result<()> {
    for entry in entries {
        let status = query.add(&entry);
        ensure!(status.is_success(), "{entry:?} was refused: {status}");
    }
    for _ in 0..3 {
        query.collect(&mut Snapshot::default())?;
    }
    Ok(())
}

/// Number and sum of all values of a V2 block.
#[derive(Debug, Default)]
pub struct Values {
    /// Number of values in the V2 block.
    pub count: usize,
    /// Sum of the values in the V2 block, modulo 2^64.
    pub sum: u64,
}

impl Values {
    fn add(&mut self, value: BlockValue<'_>) {
        if let Some(number) = value.number() {
            self.count += 1;
            self.sum = self.sum.wrapping_add(number.get());
        }
    }
}

/// Visits every value of a V2 block, and returns their number and sum.
pub fn values(block: &[u8]) -> Result<Values, WireError> {
    let mut all = Values::default();
    for result in Block::parse(block)?.results() {
        match result?.body {
            Body::SingleCounter(value) => all.add(value),
            Body::MultipleCounters(_, values) => values.iter().for_each(|value| all.add(value)),
            Body::MultipleInstances(table) | Body::Counterset(_, table) => {
                for row in table.rows() {
                    row?.values().iter().for_each(|value| all.add(value));
                }
            }
            Body::Error => {}
        }
    }
    Ok(all)
}
