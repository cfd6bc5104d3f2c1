//! Bench of formatted values of two collections, paired by identity, beside the bare arithmetic.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::{Result, ensure};
use perfset_core::v2::{Block, BlockValue, Body};
use perfset_core::{CounterType, Guid, InstanceId, RawValue};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Catalogue, CollectRequest, Entry, Machine, Provider, Rows, Snapshot, SourceError};

use crate::counting::catalogue;
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Types of the counters of every instance in the bench; each counter that needs a base is followed by it.
const TYPES: [CounterType; SHOWN + BASES] = [
    CounterType::PERF_COUNTER_COUNTER,
    CounterType::PERF_COUNTER_BULK_COUNT,
    CounterType::PERF_COUNTER_BULK_COUNT,
    CounterType::PERF_100NSEC_TIMER,
    CounterType::PERF_100NSEC_TIMER,
    CounterType::PERF_100NSEC_TIMER_INV,
    CounterType::PERF_AVERAGE_TIMER,
    CounterType::PERF_AVERAGE_BASE,
    CounterType::PERF_AVERAGE_BULK,
    CounterType::PERF_AVERAGE_BASE,
    CounterType::PERF_COUNTER_RAWCOUNT,
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
];
/// Number of counters of an instance whose formatted values are shown: all counters except the bases.
const SHOWN: usize = 10;
/// Number of base counters of an instance: they are read too, and not counted as values.
const BASES: usize = 2;
/// Number of counters of an instance that have a formatted value without an older sample.
const WITHOUT_DIFFERENCE: usize = 2;

/// Numbers of instances in the compared collections. All sizes have the goal, and the cost of a value should be the
/// same.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Measures the formatting of values for each way in which the second collection differs from the first.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    for change in [Change::None, Change::HalfReplaced, Change::Shuffled] {
        out(&report(change, rounds)?)?;
    }
    Ok(())
}

fn report(change: Change, rounds: usize) -> Result<Report> {
    let [small, middle, large] = SIZES.map(|size| pair(size, change));
    let (small, middle, large) = (small?, middle?, large?);
    let title = format!("format: two collections of {SHOWN} counters, {}", change.text());
    let comparison = Comparison::new(title, SIZES[2] * SHOWN)
        .variant("100,000 instances, by position and no formula (floor)", || by_position(black_box(&large)))
        .reference("floor")
        .variant("100,000 instances, Snapshot::values", || formatted(black_box(&large)).0.to_bits())
        .ns_goal(40.0)
        .goal("floor", change.goal())
        .variant("10,000 instances, Snapshot::values", || formatted(black_box(&middle)).0.to_bits())
        .values(SIZES[1] * SHOWN)
        .ns_goal(40.0)
        .variant("1,000 instances, Snapshot::values", || formatted(black_box(&small)).0.to_bits())
        .values(SIZES[0] * SHOWN)
        .reference("1,000")
        .ns_goal(40.0);
    Ok(comparison.run(rounds))
}

/// Difference between the instances of the newer collection and those of the older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// No difference: the newer collection has the same instances in the same order.
    None,
    /// Difference as processes cause it: every other instance is gone, the rest moved up, and as many new ones
    /// follow.
    HalfReplaced,
    /// Difference in the order of all instances, none at its position or beside its neighbours: as no source causes
    /// it.
    Shuffled,
}

impl Change {
    /// Returns the difference between the collections as text for a table title.
    fn text(self) -> &'static str {
        match self {
            Self::None => "the same instances in the same order",
            Self::HalfReplaced => "half of the instances replaced, the others moved up",
            Self::Shuffled => "the same instances shuffled",
        }
    }

    /// Returns the goal for formatting: the highest cost of a value, in multiples of the lower bound.
    fn goal(self) -> f64 {
        match self {
            Self::None => 4.0,
            Self::HalfReplaced => 6.0,
            Self::Shuffled => 8.0,
        }
    }

    /// Returns the numbers of the newer collection's instances; the older instances have all numbers below
    /// `instances`.
    fn newer(self, instances: usize) -> Vec<usize> {
        // A step that has no factor in common with the sizes comes by every number once.
        const STEP: usize = 7_919;
        match self {
            Self::None => (0..instances).collect(),
            Self::HalfReplaced => {
                let new = instances..instances + instances / 2;
                (1..instances).step_by(2).chain(new).collect()
            }
            Self::Shuffled => (0..instances).map(|at| (at * STEP + 1) % instances).collect(),
        }
    }
}

/// Snapshots of two collections, the older first.
type Two = (Snapshot, Snapshot);

fn pair(instances: usize, change: Change) -> Result<Two> {
    let newer = change.newer(instances);
    let new = newer.iter().filter(|number| **number >= instances).count();
    let machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(Counting::new([(0..instances).collect(), newer])));
    let mut query = machine.query();
    let status = query.add(&Entry::all(Counting::GUID).instance("*"));
    ensure!(status.is_success(), "the entry was refused: {status}");
    let mut two = Two::default();
    query.collect(&mut two.0)?;
    query.collect(&mut two.1)?;

    let (sum, missing) = formatted(&two);
    let want = instances * BASES + new * (SHOWN - WITHOUT_DIFFERENCE);
    ensure!(missing == want, "{missing} values are missing, not {want}");
    ensure!(sum.is_finite() && sum > 0.0, "the sum is {sum}");
    ensure!(by_position(&two) != 0, "the block is not as expected");
    let raw = raw_of_block(&two.1);
    ensure!(raw.is_some() && raw_of_values(&two) == raw, "the values are not those of the block");
    Ok(two)
}

/// Adds up the raw values that [`formatted`] visits.
fn raw_of_values((old, new): &Two) -> Option<u64> {
    let mut raw = new.values(Some(old)).map(|value| Some(value.raw?.get()));
    raw.try_fold(0, |sum, raw| Some(u64::wrapping_add(sum, raw?)))
}

/// Adds up the newer raw values that [`by_position`] reads.
fn raw_of_block(new: &Snapshot) -> Option<u64> {
    let mut sum = 0_u64;
    for result in Block::parse(new.block()).ok()?.results() {
        let Body::Counterset(_, table) = result.ok()?.body else { return None };
        for row in table.rows() {
            for value in row.ok()?.values() {
                sum = sum.wrapping_add(value.number()?.get());
            }
        }
    }
    Some(sum)
}

/// Returns the sum of all formatted values, and the number of values that are missing.
fn formatted((old, new): &Two) -> (f64, usize) {
    let (mut sum, mut missing) = (0.0, 0);
    new.values(Some(old)).for_each(|value| match value.value {
        Ok(value) => sum += value.raw,
        Err(_) => missing += 1,
    });
    (sum, missing)
}

/// Computes the lower bound of formatting: subtracts raw values at the same position of both blocks, and divides by
/// the time. Ignores the types of the counters and the identities of the instances.
fn by_position((old, new): &Two) -> u64 {
    let seconds = (new.clocks().perf_time - old.clocks().perf_time) as f64 / new.clocks().perf_freq as f64;
    let mut sum = 0.0;
    let (Ok(old), Ok(new)) = (Block::parse(old.block()), Block::parse(new.block())) else { return 0 };
    for results in old.results().zip(new.results()) {
        let (Ok(old), Ok(new)) = results else { return 0 };
        let (Body::Counterset(_, old), Body::Counterset(_, new)) = (old.body, new.body) else { return 0 };
        for rows in old.rows().zip(new.rows()) {
            let (Ok(old), Ok(new)) = rows else { return 0 };
            for (old, new) in old.values().iter().zip(new.values()) {
                let number = |value: BlockValue<'_>| value.number().map_or(0, RawValue::get);
                sum += number(new).wrapping_sub(number(old)) as f64 / seconds;
            }
        }
    }
    f64::to_bits(sum)
}

/// Test provider of a counterset whose values grow with every collection.
struct Counting {
    catalogue: Arc<Catalogue>,
    /// Numbers of the provider's instances in the first and in all later collections.
    instances: [Vec<usize>; 2],
    collections: usize,
}

impl Counting {
    const GUID: Guid = Guid::from_u128(0x8d0c_4a1e_0f7b_4d5e_a6c3_5b1e_92f4_22bb);

    fn new(instances: [Vec<usize>; 2]) -> Self {
        Self { catalogue: catalogue(Self::GUID, TYPES), instances, collections: 0 }
    }

    /// Returns the numbers of the instances in the next collection; all collections after the first have the same
    /// ones.
    fn now(&self) -> &[usize] {
        &self.instances[self.collections.min(1)]
    }

    /// Returns the birth of an instance by its number. A birth tells apart two instances of one name, as the start
    /// time of a process does.
    fn birth(number: usize) -> Option<NonZeroU64> {
        NonZeroU64::new(number as u64 + 1)
    }
}

impl Provider for Counting {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, _: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        for number in self.now() {
            rows.push(&name(*number), InstanceId(*number as u32), Self::birth(*number));
        }
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        for number in self.now() {
            let mut row = rows.push(&name(*number), InstanceId(*number as u32), Self::birth(*number));
            for column in 0..want.counters.len() {
                let speed = number + column + 1;
                row.set(column, ((self.collections + 1) * speed) as u64);
            }
        }
        self.collections += 1;
        Ok(())
    }
}

fn name(number: usize) -> String {
    format!("inst{number:06}")
}
