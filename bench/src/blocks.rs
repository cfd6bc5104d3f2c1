//! Blocks that benches decode and encode.

use std::hint::black_box;

use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, TooLarge};
use perfset_core::{CounterId, InstanceId};

/// Number of counters of every instance in the measured blocks.
pub const COUNTERS: usize = 32;

/// Numbers of instances in the measured blocks; each number has a table of its own.
pub const SIZES: [usize; 4] = [1, IN_CACHE, 4_096, LARGEST];

/// Number of instances whose V2 block fits into the processor's caches.
pub const IN_CACHE: usize = 64;

/// Number of instances whose V2 block does not fit into the processor's caches.
pub const LARGEST: usize = 100_000;

/// Memory into which a bench copies a block.
///
/// Half a page off the block's own place in its page: processors copy badly between two places that are nearly the same
/// in their pages, and chance would decide.
#[derive(Debug)]
pub struct Copy {
    buffer: Vec<u8>,
    from: usize,
    len: usize,
}

impl Copy {
    /// Allocates memory for copies of a block, which must stay at its address.
    pub fn of(block: &[u8]) -> Self {
        const PAGE: usize = 4_096;
        let buffer = vec![0; block.len() + PAGE];
        let wanted = block.as_ptr().addr() + PAGE / 2;
        let from = wanted.wrapping_sub(buffer.as_ptr().addr()) % PAGE;
        Self { buffer, from, len: block.len() }
    }

    /// Copies the block, and returns the last byte of the copy.
    pub fn copy(&mut self, block: &[u8]) -> u64 {
        let copy = &mut self.buffer[self.from..self.from + self.len];
        copy.copy_from_slice(black_box(block));
        black_box(copy).last().copied().map_or(0, u64::from)
    }
}

/// Widths of the counter values in a measured block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// Widths of a block whose counter values all have 8 bytes.
    Long,
    /// Widths of a block in which every fourth counter has 4 bytes, every fourth no value, and the others 8 bytes.
    Mixed,
}

impl Widths {
    /// Returns the widths of the counter values as text for the title of a table.
    pub fn text(self) -> &'static str {
        match self {
            Self::Long => "8 bytes",
            Self::Mixed => "4, 8 and no bytes",
        }
    }
}

/// Instance names and counter values from which a bench builds a block.
#[derive(Debug)]
pub struct Content {
    names: Vec<Vec<u16>>,
    /// Values of all instances, one after the other; each instance has [`COUNTERS`] of them.
    cells: Vec<Cell>,
}

impl Content {
    /// Creates the names and values of a block with that many instances.
    pub fn new(instances: usize, widths: Widths) -> Self {
        let cell = |at: usize| {
            let value = at as u32;
            match (widths, at % 4) {
                (Widths::Mixed, 0) => Cell::from_u32(value),
                (Widths::Mixed, 3) => Cell::EMPTY,
                _ => Cell::from_u64(u64::from(value) << 20),
            }
        };
        Self {
            names: (0..instances).map(|row| format!("inst{row:06}").encode_utf16().collect()).collect(),
            cells: (0..instances * COUNTERS).map(cell).collect(),
        }
    }

    /// Returns the number of counter values of all instances in the block.
    pub fn values(&self) -> usize {
        self.cells.len()
    }

    /// Returns the counter values of each instance in the block.
    pub fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks_exact(COUNTERS)
    }

    /// Builds a block with one PERF_COUNTERSET result; the block reuses the memory of `buffer`.
    ///
    /// # Errors
    /// If it is too large for a block.
    pub fn build(&self, buffer: Vec<u8>) -> Result<Vec<u8>, TooLarge> {
        let mut builder = BlockBuilder::over(buffer, &ClockReading::default());
        let mut table = builder.counterset((0..COUNTERS as u32).map(CounterId));
        for ((name, cells), id) in self.names.iter().zip(self.rows()).zip(0..) {
            table.row(name.iter().copied(), InstanceId(id), cells.iter().copied());
        }
        table.finish();
        builder.finish()
    }
}
