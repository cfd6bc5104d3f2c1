//! Values of a V2 block, read from cells of equal or of different sizes.

use std::iter::FusedIterator;

use zerocopy::FromBytes;

use super::raw::{self, Cell};
use crate::value::RawValue;
use crate::wire::{Cursor, Why, WireError, length};

/// Counter value as stored in a block. The width is that of the block, regardless of the counter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTER_DATA")]
pub enum BlockValue<'a> {
    /// Counter value of 4 bytes.
    U32(u32),
    /// Counter value of 8 bytes.
    U64(u64),
    /// No bytes: the counter has no value.
    Empty,
    /// Bytes of any other width: the counter value is not a number.
    Other(&'a [u8]),
}

impl<'a> BlockValue<'a> {
    /// Returns the counter value as a number, unless it is empty or not a number.
    #[must_use]
    #[inline]
    pub fn number(self) -> Option<RawValue> {
        match self {
            Self::U32(n) => Some(RawValue::U32(n)),
            Self::U64(n) => Some(RawValue::U64(n)),
            Self::Empty | Self::Other(_) => None,
        }
    }

    #[inline]
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Self {
        if let Ok(long) = <[u8; 8]>::try_from(bytes) {
            return Self::U64(u64::from_le_bytes(long));
        }
        match <[u8; 4]>::try_from(bytes) {
            Ok(short) => Self::U32(u32::from_le_bytes(short)),
            Err(_) if bytes.is_empty() => Self::Empty,
            Err(_) => Self::Other(bytes),
        }
    }

    /// Reads the counter value of a cell with 8, 4 or no bytes of data.
    #[inline]
    fn from_cell(cell: &Cell) -> Self {
        match cell.header.data_size.get() {
            8 => Self::U64(cell.value.get()),
            // The upper half is padding, in which a foreign writer may leave anything.
            4 => Self::U32(u32::try_from(cell.value.get() & 0xFFFF_FFFF).unwrap_or(u32::MAX)),
            _ => Self::Empty,
        }
    }
}

impl Cell {
    /// Returns the number in the cell, if there is one.
    #[must_use]
    #[inline]
    pub fn number(&self) -> Option<RawValue> {
        BlockValue::from_cell(self).number()
    }
}

/// Counter values of an instance, checked in advance, so that the getters cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a>(Cells<'a>);

#[derive(Clone, Copy, Debug)]
enum Cells<'a> {
    /// Cells that are all numbers of 8 bytes: the layout of nearly every row.
    Long(&'a [Cell]),
    /// Cells that all have 16 bytes, with 8, 4 or no bytes of data: the layout of every block that is written today.
    Uniform(&'a [Cell]),
    /// Cells of different sizes, read one by one by their size fields.
    Walked { bytes: &'a [u8], count: usize },
}

impl<'a> Values<'a> {
    /// Counter values of an instance that belongs to no query result: none.
    pub(super) const NONE: Self = Self(Cells::Uniform(&[]));

    /// Checks `count` PERF_COUNTER_DATA structures: the counter values of an instance.
    ///
    /// First as cells of 16 bytes, whose whole header is one integer; if a cell differs, field by field.
    #[inline(always)]
    pub(super) fn parse(rest: &mut Cursor<'a>, count: usize) -> Result<Self, WireError> {
        if let Ok((cells, _)) = <[Cell]>::ref_from_prefix_with_elems(rest.rest(), count) {
            let values = match are_long(cells) {
                true => Some(Cells::Long(cells)),
                false => are_uniform(cells).then_some(Cells::Uniform(cells)),
            };
            if let Some(values) = values {
                rest.take("PERF_COUNTER_DATA", size_of_val(cells))?;
                return Ok(Self(values));
            }
        }
        let (values, after) = Self::parse_walked(*rest, count)?;
        *rest = after;
        Ok(values)
    }

    /// Reads `count` cells of 16 bytes without a check: their sizes were checked in a block with the same structure.
    #[inline]
    pub(super) fn from_prefix(bytes: &'a [u8], count: usize) -> Option<Self> {
        <[Cell]>::ref_from_prefix_with_elems(bytes, count).ok().map(|(cells, _)| Self(Cells::Uniform(cells)))
    }

    /// Returns the cells of the instance's values, if all have 16 bytes.
    pub(super) fn cells(&self) -> Option<&'a [Cell]> {
        match self.0 {
            Cells::Long(cells) | Cells::Uniform(cells) => Some(cells),
            Cells::Walked { .. } => None,
        }
    }

    /// Checks the cells of an instance field by field. The cursor is passed by value: a reference would keep it in
    /// memory for all rows.
    #[cold]
    fn parse_walked(mut rest: Cursor<'a>, count: usize) -> Result<(Self, Cursor<'a>), WireError> {
        let start = rest;
        for _ in 0..count {
            walked_value(&mut rest)?;
        }
        let bytes = start.rest().get(..rest.offset().saturating_sub(start.offset())).unwrap_or_default();
        Ok((Self(Cells::Walked { bytes, count }), rest))
    }

    /// Returns the number of counter values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            Cells::Long(cells) | Cells::Uniform(cells) => cells.len(),
            Cells::Walked { count, .. } => count,
        }
    }

    /// Returns `true` if there are no counter values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the counter value at a position.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<BlockValue<'a>> {
        match self.0 {
            Cells::Long(cells) | Cells::Uniform(cells) => cells.get(index).map(BlockValue::from_cell),
            Cells::Walked { .. } => self.iter().nth(index),
        }
    }

    /// Returns an iterator over the counter values, in order.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> ValuesIter<'a> {
        let (layout, cells, walked, left): (_, &[Cell], &[u8], _) = match self.0 {
            Cells::Long(cells) => (CellLayout::Long, cells, &[], 0),
            Cells::Uniform(cells) => (CellLayout::Uniform, cells, &[], 0),
            Cells::Walked { bytes, count } => (CellLayout::Walked, &[], bytes, count),
        };
        ValuesIter { layout, cells: cells.iter(), walked: Cursor::new(walked), left }
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = BlockValue<'a>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// Header of a cell of 16 bytes with 8 bytes of data, as one integer.
const LONG: u64 = 16 << 32 | 8;

/// Returns the header of a cell as one integer of 64 bits.
#[inline]
fn header_of(cell: &Cell) -> u64 {
    u64::from_le_bytes(zerocopy::transmute!(cell.header))
}

/// Returns `true` if all cells are numbers of 8 bytes.
///
/// Eight cells in each step: a comparison with a jump that is not taken is one operation, and a loop over single cells
/// would need more operations for itself. A loop without exits needs three for each cell.
#[inline(always)]
fn are_long(cells: &[Cell]) -> bool {
    let is_long = |cell: &Cell| header_of(cell) == LONG;
    let mut eights = cells.chunks_exact(8);
    eights.by_ref().all(|eight| eight.iter().all(is_long)) && eights.remainder().iter().all(is_long)
}

/// Returns `true` if each cell is 16 bytes long and holds 8, 4 or 0 bytes of data.
#[inline]
fn are_uniform(cells: &[Cell]) -> bool {
    /// Bits in which the headers of cells with 8, 4 and 0 bytes of data differ.
    const WIDTH_BITS: u64 = 8 | 4;
    // Every cell is examined, because a loop without exits processes several cells at once. Of the sums of 4 and 0, 4,
    // 8 or 12, only 16 has that bit: 12 bytes of data do not fit.
    let (differing, sums) = cells.iter().map(header_of).fold((0, 0), |(differing, sums), header| {
        (differing | (header ^ LONG), sums | header.wrapping_add(4))
    });
    differing & !WIDTH_BITS == 0 && sums & 16 == 0
}

/// Reads one PERF_COUNTER_DATA structure, a counter value, field by field.
pub(super) fn walked_value<'a>(rest: &mut Cursor<'a>) -> Result<BlockValue<'a>, WireError> {
    let at = rest.offset();
    let header: &raw::CounterData = rest.read("PERF_COUNTER_DATA")?;
    let size = header.size.get();
    let body = rest.body("PERF_COUNTER_DATA.dwSize", at.saturating_add(4), size, 8)?.rest();
    let data_size = header.data_size.get();
    let Some(value) = body.get(..length(data_size)) else {
        let why = Why::SizeTooLarge { size: data_size, left: body.len() };
        return Err(WireError::new("PERF_COUNTER_DATA.dwDataSize", at, why));
    };
    Ok(BlockValue::from_bytes(value))
}

/// Iterator over the counter values of an instance ([`Values`]), in order.
///
/// The layout never changes, so that a compiler makes one loop for each layout of whatever a caller writes, without a
/// decision for each value. An enum with one iterator in each variant hides that from it.
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    layout: CellLayout,
    /// Remaining cells of [`CellLayout::Long`] and [`CellLayout::Uniform`].
    cells: std::slice::Iter<'a, Cell>,
    /// Remaining cells of the layout [`CellLayout::Walked`].
    walked: Cursor<'a>,
    left: usize,
}

/// Layout of an instance's cells: the variants of [`Cells`], without their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellLayout {
    Long,
    Uniform,
    Walked,
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = BlockValue<'a>;

    #[inline]
    fn next(&mut self) -> Option<BlockValue<'a>> {
        match self.layout {
            CellLayout::Long => self.cells.next().map(|cell| BlockValue::U64(cell.value.get())),
            CellLayout::Uniform => self.cells.next().map(BlockValue::from_cell),
            CellLayout::Walked => {
                self.left = self.left.checked_sub(1)?;
                let (value, rest) = next_walked(self.walked)?;
                self.walked = rest;
                Some(value)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.cells.len().saturating_add(self.left);
        (len, Some(len))
    }

    // The layout is examined once, for whatever chain a caller writes.
    #[inline]
    fn fold<B, F: FnMut(B, BlockValue<'a>) -> B>(self, init: B, mut f: F) -> B {
        match self.layout {
            CellLayout::Long => self.cells.fold(init, |all, cell| f(all, BlockValue::U64(cell.value.get()))),
            CellLayout::Uniform => self.cells.fold(init, |all, cell| f(all, BlockValue::from_cell(cell))),
            CellLayout::Walked => {
                let mut all = init;
                for value in self {
                    all = f(all, value);
                }
                all
            }
        }
    }
}

/// Reads the next counter value of the layout [`CellLayout::Walked`]. The cursor is passed by value: a reference to it
/// would keep the iterator in memory for the other layouts, too.
#[cold]
fn next_walked(mut rest: Cursor<'_>) -> Option<(BlockValue<'_>, Cursor<'_>)> {
    let value = walked_value(&mut rest).ok()?; // checked before: always there
    Some((value, rest))
}

impl ExactSizeIterator for ValuesIter<'_> {}
impl FusedIterator for ValuesIter<'_> {}
