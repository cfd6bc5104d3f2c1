//! Bench of reading a V1 block: the checked view beside a walk that trusts the bytes, and beside copying them.

use std::hint::black_box;

use anyhow::{Result, ensure};
use perfset_core::clock::ClockReading;
use perfset_core::v1::{BlockBuilder, Contents, DataBlock, Instance, NewCounter, NewInstance, NewObject};
use perfset_core::v2::BlockValue;
use perfset_core::wire::WireError;
use perfset_core::{CounterType, RawValue};

use crate::blocks::{COUNTERS, Copy, LARGEST};
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Numbers of instances in the measured V1 blocks; each number has a table of its own.
const SIZES: [usize; 5] = [1, 64, IN_CACHE, 4_096, LARGEST];

/// Number of instances whose V1 block fits into a second-level cache.
const IN_CACHE: usize = 1_000;

/// Measures the decoding of V1 blocks of all sizes, and of two with mixed widths of values.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    for size in SIZES {
        out(&report(size, Widths::Long, rounds)?)?;
    }
    for size in [IN_CACHE, LARGEST] {
        out(&report(size, Widths::Alternating, rounds)?)?;
    }
    Ok(())
}

fn report(instances: usize, widths: Widths, rounds: usize) -> Result<Report> {
    let (block, want) = build(instances, widths)?;
    let block = block.as_slice();
    #[expect(unsafe_code, reason = "a floor is what can be had without checks")]
    let floor = || match widths {
        // SAFETY: `block` comes from `build`, with only such values.
        Widths::Long => unsafe { walk_trusting::<true>(black_box(block)) },
        // SAFETY: as above.
        Widths::Alternating => unsafe { walk_trusting::<false>(black_box(block)) },
    };
    let walks = [Some(floor()), walk_view(block).ok(), walk_view_in_a_loop(block).ok()];
    ensure!(walks.iter().all(|sum| *sum == Some(want)), "the walks disagree: {walks:?}, not {want:?}");

    let title = format!(
        "v1-decode: {instances} instances x {COUNTERS} counters of {}, {} bytes",
        widths.text(),
        block.len()
    );
    let goal = |size, at_most: f64| (instances == size && widths == Widths::Long).then_some(at_most);
    let of_floor = match widths {
        Widths::Long => goal(LARGEST, 1.3),
        Widths::Alternating => Some(1.5),
    };
    let mut copy = Copy::of(block);
    let comparison = Comparison::new(title, instances * COUNTERS)
        .variant("memcpy of the block", move || copy.copy(block))
        .reference("memcpy")
        .variant("unsafe walk that trusts the sizes (floor)", || floor().0)
        .reference("floor")
        .variant("v1::DataBlock, iterator chain", || walk_view(black_box(block)).map_or(0, |sum| sum.0))
        .goal("memcpy", goal(LARGEST, 1.6))
        .goal("floor", of_floor)
        .ns_goal(goal(IN_CACHE, 0.5))
        .variant("v1::DataBlock, for loop", || walk_view_in_a_loop(black_box(block)).map_or(0, |sum| sum.0))
        .goal("memcpy", goal(LARGEST, 1.6))
        .goal("floor", of_floor)
        .ns_goal(goal(IN_CACHE, 0.5));
    Ok(comparison.run(rounds))
}

/// Widths of the counter values in a V1 block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Widths {
    /// Widths of a V1 block whose counter values all have 8 bytes.
    Long,
    /// Widths of a V1 block whose counter values have 4 and 8 bytes in turn: Windows' own objects have both.
    Alternating,
}

impl Widths {
    /// Returns the widths of a V1 block's values as text for a table title.
    fn text(self) -> &'static str {
        match self {
            Self::Long => "8 bytes",
            Self::Alternating => "4 and 8 bytes in turn",
        }
    }

    /// Returns the type of the V1 block's counter at that position.
    fn counter_type(self, position: usize) -> CounterType {
        match (self, position % 2) {
            (Self::Alternating, 0) => CounterType::PERF_COUNTER_COUNTER,
            _ => CounterType::PERF_COUNTER_BULK_COUNT,
        }
    }
}

/// Sum of all values of a V1 block, and number of instances that are identified by their name.
type Sums = (u64, u64);

/// Builds a V1 block with one object of that many instances, and returns it with the sums that a walk must return.
fn build(instances: usize, widths: Widths) -> Result<(Vec<u8>, Sums)> {
    let counters: Vec<_> = (0..COUNTERS).map(|at| NewCounter::new(4, widths.counter_type(at))).collect();
    let mut builder = BlockBuilder::new(&ClockReading::default(), "BENCH");
    let mut object = builder.multiple(&NewObject::new(2), &counters);
    let (mut sum, mut named) = (0_u64, 0);
    for row in 0..instances {
        let name: Vec<u16> = format!("inst{row:06}").encode_utf16().collect();
        let values = (0..COUNTERS).map(|column| ((row * COUNTERS + column) as u64) << (column % 2 * 20));
        sum = values.clone().fold(sum, u64::wrapping_add);
        named += 1;
        object.instance(&NewInstance::named(&name), values);
    }
    object.finish();
    Ok((builder.finish()?, (sum, named)))
}

/// Adds up all values of a V1 block with an iterator chain, as some consumers do.
fn walk_view(bytes: &[u8]) -> Result<Sums, WireError> {
    walk_instances(bytes, |instance| {
        let numbers = instance.values().iter().filter_map(BlockValue::number);
        numbers.map(RawValue::get).fold(0, u64::wrapping_add)
    })
}

/// Adds up all values of a V1 block with a `for` loop, as other consumers do.
fn walk_view_in_a_loop(bytes: &[u8]) -> Result<Sums, WireError> {
    walk_instances(bytes, |instance| {
        let mut sum = 0_u64;
        for value in instance.values() {
            if let Some(number) = value.number() {
                sum = sum.wrapping_add(number.get());
            }
        }
        sum
    })
}

fn walk_instances(bytes: &[u8], sum_of: impl Fn(&Instance<'_>) -> u64) -> Result<Sums, WireError> {
    let (mut sum, mut named) = (0_u64, 0);
    for object in DataBlock::parse(bytes)?.objects() {
        let Contents::Multiple(instances) = object?.contents() else { continue };
        for instance in instances {
            let instance = instance?;
            named += u64::from(instance.unique_id().is_none());
            sum = sum.wrapping_add(sum_of(&instance));
        }
    }
    Ok((sum, named))
}

/// Adds up all values of one V1 object as the lower bound: takes every length and offset from the bytes without a
/// check. Reads the positions of the values from the definitions, once for all instances; with `LONG`, only the
/// position of the first. For a value of 4 bytes, reads 8 bytes and keeps 4.
///
/// # Safety
/// `block` is what [`build`] returned: every length and offset in it is right, there are [`COUNTERS`] counters, and
/// with `LONG` their values have 8 bytes and follow one another; without it those of 4 bytes are followed by others.
#[expect(unsafe_code, reason = "a floor is what can be had without checks")]
unsafe fn walk_trusting<const LONG: bool>(block: &[u8]) -> Sums {
    let start = block.as_ptr();
    // SAFETY: the offsets below come from the lengths in the block, which are right, so that 4 bytes are there.
    let u32_at = |at: usize| unsafe { start.add(at).cast::<u32>().read_unaligned() };
    // SAFETY: as above, of 8 bytes.
    let u64_at = |at: usize| unsafe { start.add(at).cast::<u64>().read_unaligned() };

    let object = u32_at(24) as usize;
    let definitions = object + u32_at(object + 8) as usize;
    let mut places = [(0, 0); COUNTERS];
    for (column, place) in places.iter_mut().enumerate() {
        let definition = definitions + column * 40;
        let bits_kept = u64::MAX >> (64 - 8 * u32_at(definition + 32));
        *place = (u32_at(definition + 36) as usize, bits_kept);
    }
    let mut instance = object + u32_at(object + 4) as usize;
    let (mut sum, mut named) = (0_u64, 0);
    for _ in 0..u32_at(object + 40) {
        named += u64::from(u32_at(instance + 12) == u32::MAX);
        let values = instance + u32_at(instance) as usize;
        if LONG {
            let first = values + places[0].0;
            for column in 0..COUNTERS {
                sum = sum.wrapping_add(u64_at(first + column * 8));
            }
        } else {
            for (at, bits_kept) in places {
                sum = sum.wrapping_add(u64_at(values + at) & bits_kept);
            }
        }
        instance = values + u32_at(values) as usize;
    }
    (sum, named)
}
