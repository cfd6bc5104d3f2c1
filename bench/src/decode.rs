//! Bench of reading a V2 block: the checked view beside a walk that trusts the bytes, and beside copying them.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use perfset_core::RawValue;
use perfset_core::v2::{Block, BlockValue, Body, Instance};
use perfset_core::wire::WireError;

use crate::blocks::{COUNTERS, Content, Copy, IN_CACHE, LARGEST, SIZES, Widths};
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Measures the decoding of blocks of all sizes, and of one block with values of mixed widths.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    for (size, widths) in SIZES.map(|size| (size, Widths::Long)).into_iter().chain([(LARGEST, Widths::Mixed)])
    {
        out(&report(size, widths, rounds)?)?;
    }
    Ok(())
}

fn report(instances: usize, widths: Widths, rounds: usize) -> Result<Report> {
    let content = Content::new(instances, widths);
    let block = content.build(Vec::new())?;
    let block = block.as_slice();
    #[expect(unsafe_code, reason = "a floor is what can be had without checks")]
    let floor = || match widths {
        // SAFETY: `block` comes from `Content::build`, with only such cells.
        Widths::Long => unsafe { walk_trusting::<LONG>(black_box(block)) },
        // SAFETY: as above.
        Widths::Mixed => unsafe { walk_trusting::<ANY_WIDTH>(black_box(block)) },
    };
    let want = walk_by_field(block).context("the block is not as expected")?;
    let walks = [Some(floor()), walk_view(block).ok(), walk_view_in_a_loop(block).ok()];
    ensure!(walks.iter().all(|sum| *sum == Some(want)), "the walks disagree: {walks:?}, not {want:?}");

    let of_copy = (instances == LARGEST && widths == Widths::Long).then_some(1.6);
    let of_floor = match (instances, widths) {
        (LARGEST, Widths::Long) => Some(1.3),
        (LARGEST, Widths::Mixed) => Some(1.4),
        (IN_CACHE, Widths::Long) => Some(1.8),
        _ => None,
    };
    let title = format!(
        "decode: {instances} instances x {COUNTERS} counters of {}, {} bytes",
        widths.text(),
        block.len()
    );
    let mut copy = Copy::of(block);
    let comparison = Comparison::new(title, content.values())
        .variant("memcpy of the block", move || copy.copy(block))
        .reference("memcpy")
        .variant("unsafe walk that trusts the sizes (floor)", || floor().0)
        .reference("floor")
        .variant("v2::Block, iterator chain", || walk_view(black_box(block)).map_or(0, |sum| sum.0))
        .goal("memcpy", of_copy)
        .goal("floor", of_floor)
        .variant("v2::Block, for loop", || walk_view_in_a_loop(black_box(block)).map_or(0, |sum| sum.0))
        .goal("memcpy", of_copy)
        .goal("floor", of_floor)
        .variant("field by field as in Microsoft's sample", || {
            walk_by_field(black_box(block)).map_or(0, |sum| sum.0)
        });
    Ok(comparison.run(rounds))
}

/// Sum of all values of a block, and number of instances that have a name.
type Sums = (u64, u64);

/// Adds up all values of a V2 block with an iterator chain, as some consumers do.
fn walk_view(bytes: &[u8]) -> Result<Sums, WireError> {
    walk_rows(bytes, |row| {
        let numbers = row.values().iter().filter_map(BlockValue::number);
        numbers.map(RawValue::get).fold(0, u64::wrapping_add)
    })
}

/// Adds up all values of a V2 block with a `for` loop, as other consumers do.
fn walk_view_in_a_loop(bytes: &[u8]) -> Result<Sums, WireError> {
    walk_rows(bytes, |row| {
        let mut sum = 0_u64;
        for value in row.values() {
            if let Some(number) = value.number() {
                sum = sum.wrapping_add(number.get());
            }
        }
        sum
    })
}

fn walk_rows(bytes: &[u8], sum_of: impl Fn(&Instance<'_>) -> u64) -> Result<Sums, WireError> {
    let (mut sum, mut named) = (0_u64, 0);
    for result in Block::parse(bytes)?.results() {
        let Body::Counterset(_, table) = result?.body else { continue };
        for row in table.rows() {
            let row = row?;
            named += u64::from(!row.name().is_empty());
            sum = sum.wrapping_add(sum_of(&row));
        }
    }
    Ok((sum, named))
}

/// Cell header of a value of 8 bytes in a V2 block, with both sizes as one number.
const LONG: u64 = 16 << 32 | 8;
/// Cell header of a value of 4 or 8 bytes in a V2 block, without the bits that differ between the two.
const ANY_WIDTH: u64 = 16 << 32;

/// Adds up all values of one PERF_COUNTERSET result as the lower bound: takes every size from the bytes without a
/// check. At the end, checks only that the cells have the expected headers.
///
/// Values narrower than 8 bytes are padded with zeros, so that all are summed alike.
///
/// # Safety
/// `block` is what [`Content::build`] returned: every size in it is right, and there is at least one instance.
#[expect(unsafe_code, reason = "a floor is what can be had without checks")]
unsafe fn walk_trusting<const HEADER: u64>(block: &[u8]) -> Sums {
    const DATA_HEADER: usize = 48;
    const COUNTER_HEADER: usize = 16;
    const WIDTH_BITS: u64 = 0xC;
    let start = block.as_ptr();
    // SAFETY: the offsets below come from the sizes in the block, which are right, so that 4 bytes are there.
    let u32_at = |at: usize| unsafe { start.add(at).cast::<u32>().read_unaligned() };
    // SAFETY: as above, of 8 bytes.
    let u64_at = |at: usize| unsafe { start.add(at).cast::<u64>().read_unaligned() };

    let ids = DATA_HEADER + COUNTER_HEADER;
    let columns = u32_at(ids + 4) as usize;
    let table = ids + u32_at(ids) as usize;
    let mut row = table + 8;
    let (mut sum, mut named, mut unexpected) = (0_u64, 0, 0);
    for _ in 0..u32_at(table + 4) {
        named += u64::from(u32_at(row + 8) & 0xFFFF != 0);
        let cells = row + u32_at(row) as usize;
        for column in 0..columns {
            let cell = cells + column * 16;
            unexpected |= u64_at(cell) ^ HEADER;
            sum = sum.wrapping_add(u64_at(cell + 8));
        }
        row = cells + columns * 16;
    }
    let allowed = if HEADER == ANY_WIDTH { WIDTH_BITS } else { 0 };
    assert_eq!(unexpected & !allowed, 0, "a cell is not as expected");
    (sum, named)
}

/// Adds up all values of a block field by field, as the example code for PerfQueryCounterData in MS Learn does, with a
/// check of every size.
fn walk_by_field(bytes: &[u8]) -> Option<Sums> {
    const PERF_COUNTERSET: usize = 6;
    let total_size = field(bytes, 0)?;
    let mut results = bytes.get(48..total_size)?;
    let (mut sum, mut named) = (0_u64, 0);
    for _ in 0..field(bytes, 4)? {
        let (kind, size) = (field(results, 4)?, field(results, 8)?);
        let result = results.get(16..size)?;
        results = results.get(size..)?;
        if kind != PERF_COUNTERSET {
            continue;
        }
        let (ids_size, columns) = (field(result, 0)?, field(result, 4)?);
        if columns > ids_size.checked_sub(8)? / 4 {
            return None;
        }
        let table = result.get(ids_size..)?;
        let mut rest = table.get(8..field(table, 0)?)?;
        for _ in 0..field(table, 4)? {
            let size = field(rest, 0)?;
            let name = rest.get(8..size)?;
            let len = name.chunks_exact(2).position(|unit| unit == [0, 0])?;
            named += u64::from(len > 0);
            rest = rest.get(size..)?;
            for _ in 0..columns {
                let (data_size, size) = (field(rest, 0)?, field(rest, 4)?);
                let data = rest.get(8..size)?.get(..data_size)?;
                let value = match data.len() {
                    8 => u64::from_le_bytes(data.try_into().ok()?),
                    4 => u64::from(u32::from_le_bytes(data.try_into().ok()?)),
                    _ => 0,
                };
                sum = sum.wrapping_add(value);
                rest = rest.get(size..)?;
            }
        }
    }
    Some((sum, named))
}

fn field(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(field)).ok()
}
