//! The blocks that are decoded and encoded.

use std::hint::black_box;

use perfset_core::clock::ClockReading;
use perfset_core::v2::raw::Cell;
use perfset_core::v2::{BlockBuilder, TooLarge};
use perfset_core::{CounterId, InstanceId};

/// Counters of every instance.
pub const COUNTERS: usize = 32;

/// Numbers of instances, one table each.
pub const SIZES: [usize; 4] = [1, IN_CACHE, 4_096, LARGEST];

/// Number of instances whose block fits into the caches.
pub const IN_CACHE: usize = 64;

/// More than fits into the caches.
pub const LARGEST: usize = 100_000;

/// Somewhere to copy a block to.
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
    /// For copies of that block while it stays where it is.
    pub fn of(block: &[u8]) -> Self {
        const PAGE: usize = 4_096;
        let buffer = vec![0; block.len() + PAGE];
        let wanted = block.as_ptr().addr() + PAGE / 2;
        let from = wanted.wrapping_sub(buffer.as_ptr().addr()) % PAGE;
        Self { buffer, from, len: block.len() }
    }

    /// Copies; the last byte.
    pub fn copy(&mut self, block: &[u8]) -> u64 {
        let copy = &mut self.buffer[self.from..self.from + self.len];
        copy.copy_from_slice(black_box(block));
        black_box(copy).last().copied().map_or(0, u64::from)
    }
}

/// How wide the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// All have 8 bytes.
    Long,
    /// Of every four counters one has 4 bytes, two have 8, and one has no value.
    Mixed,
}

impl Widths {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Long => "8 bytes",
            Self::Mixed => "4, 8 and no bytes",
        }
    }
}

/// What a block is made from.
#[derive(Debug)]
pub struct Content {
    names: Vec<Vec<u16>>,
    /// [`COUNTERS`] for each instance.
    cells: Vec<Cell>,
}

impl Content {
    /// So many instances.
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

    /// Number of values.
    pub fn values(&self) -> usize {
        self.cells.len()
    }

    /// The cells of each instance.
    pub fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks_exact(COUNTERS)
    }

    /// One PERF_COUNTERSET result, in a block that takes over a buffer.
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
