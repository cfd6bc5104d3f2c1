//! Bench of writing a V2 block: from scratch, over an earlier block, and through the engine, beside copying it.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, PatchResult};
use perfset_core::{CounterType, Guid, InstanceId};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Catalogue, CollectRequest, Entry, Machine, Provider, Rows, Snapshot, SourceError};

use crate::blocks::{COUNTERS, Content, Copy, LARGEST, SIZES, Widths};
use crate::counting::catalogue;
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Measures the encoding of V2 blocks of all sizes.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    SIZES.into_iter().try_for_each(|size| out(&report(size, rounds)?))
}

fn report(instances: usize, rounds: usize) -> Result<Report> {
    let content = &Content::new(instances, Widths::Long);
    let block = &content.build(Vec::new())?;
    let clocks = ClockReading::default();

    let mut kept = Content::new(instances, Widths::Mixed).build(Vec::new())?;
    kept = patch(kept, content, &clocks).context("the kept block has another shape")?;
    ensure!(kept == *block, "the block that was written over differs from the one built from scratch");

    let machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(Counting::new(instances)));
    let mut query = machine.query();
    let status = query.add(&Entry::all(Counting::GUID).instance("*"));
    ensure!(status.is_success(), "the entry was refused: {status}");
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot)?;
    ensure!(snapshot.block().len() == block.len(), "the engine's block has another length");

    let title = format!("encode: {instances} instances x {COUNTERS} counters, {} bytes", block.len());
    let goal = (instances == LARGEST).then_some(1.5);
    let mut copy = Copy::of(block);
    let mut buffer = Vec::new();
    let comparison = Comparison::new(title, content.values())
        .variant("memcpy of the block (floor)", move || copy.copy(block))
        .reference("memcpy")
        .variant("v2::BlockBuilder::keep: cells over a kept block", || {
            kept = patch(std::mem::take(&mut kept), black_box(content), &clocks).unwrap_or_default();
            kept.len() as u64
        })
        .goal("memcpy", goal)
        .variant("v2::BlockBuilder, in a kept buffer", || {
            buffer = black_box(content).build(std::mem::take(&mut buffer)).unwrap_or_default();
            buffer.len() as u64
        })
        .variant("v2::BlockBuilder, from scratch", || {
            black_box(content).build(Vec::new()).map_or(0, |block| black_box(block).len() as u64)
        })
        .variant("Query::collect: provider, rows, block, annex", || {
            u64::from(query.collect(black_box(&mut snapshot)).is_ok())
        });
    Ok(comparison.run(rounds))
}

/// Overwrites the values in an existing block, as the engine does while the instances stay the same.
fn patch(block: Vec<u8>, content: &Content, clocks: &ClockReading) -> Option<Vec<u8>> {
    let mut builder = BlockBuilder::over(block, clocks);
    builder.keep(|result| {
        let PatchResult::Table(mut table) = result else { return None };
        for cells in content.rows() {
            table.row()?.copy_from_slice(cells);
        }
        Some(())
    })?;
    builder.finish().ok()
}

/// Test provider of a counterset whose values grow with every collection.
struct Counting {
    catalogue: Arc<Catalogue>,
    names: Vec<String>,
    collections: u64,
}

impl Counting {
    const GUID: Guid = Guid::from_u128(0x2d1f_6a50_8f5c_4f0e_9b57_6f3c_7e0d_11aa);

    fn new(instances: usize) -> Self {
        let types = [CounterType::PERF_COUNTER_BULK_COUNT; COUNTERS];
        Self {
            catalogue: catalogue(Self::GUID, types),
            names: (0..instances).map(|row| format!("inst{row:06}")).collect(),
            collections: 0,
        }
    }
}

impl Provider for Counting {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, _: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        for (name, id) in self.names.iter().zip(0..) {
            rows.push(name, InstanceId(id), None);
        }
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.collections += 1;
        for (name, id) in self.names.iter().zip(0..) {
            let mut row = rows.push(name, InstanceId(id), None);
            for column in 0..want.counters.len() {
                row.set(column, self.collections.wrapping_add(column as u64));
            }
        }
        Ok(())
    }
}

/// Check that a cell has 16 bytes: cells are copied whole, and another size would make the comparison with memcpy
/// unfair.
const _: () = assert!(size_of::<Cell>() == 16);
