//! Rows of an instance table of a V2 block, written over earlier rows.

use zerocopy::FromBytes;

use super::patch::PatchWriter;
use super::raw::{Cell, InstanceHeader};
use crate::instance::InstanceId;
use crate::utf16::Name;
use crate::wire::length;

/// Rows of an instance table in the V2 byte format: contiguous instances with their values. The rows belong to no
/// block, or are [lent](super::TableBuilder::lend) by the block that they belong to.
///
/// ```
/// use perfset::{InstanceId, v2::TableRows, v2::raw::Cell};
///
/// let mut rows = TableRows::new(1);
/// for value in [5, 7] {
///     rows.restart();
///     rows.row("a".encode_utf16(), InstanceId(2))[0] = Cell::from_u64(value);
///     rows.end();
///     assert_eq!(rows.is_kept(), value == 7);
/// }
/// let (name, id) = rows.instance(0).unwrap();
/// assert_eq!((name.to_string(), id, rows.cells(0)), ("a".to_owned(), InstanceId(2), &[Cell::from_u64(7)][..]));
/// ```
#[derive(Debug, Default)]
pub struct TableRows {
    pub(super) out: PatchWriter,
    /// Number of bytes of the values of each row of the instance table.
    values_len: usize,
}

/// Header of a V2 instance without name and with id 0.
const NAMELESS: [u8; 16] = [16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

impl TableRows {
    /// Creates an empty instance table whose rows have `columns` values each.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self::over(PatchWriter::default(), columns)
    }

    /// Creates an instance table that overwrites existing bytes.
    pub(super) fn over(out: PatchWriter, columns: usize) -> Self {
        Self { out, values_len: size_of::<Cell>().saturating_mul(columns) }
    }

    /// Starts the instance table again from the first row, overwriting the existing rows.
    pub fn restart(&mut self) {
        (self.out.offset, self.out.is_moved) = (0, false);
    }

    /// Finishes writing the instance table: existing rows that were not overwritten are dropped.
    pub fn end(&mut self) {
        // Not always, because `cut` also marks the rows as changed.
        if self.out.offset < self.out.bytes.len() {
            self.out.cut();
        }
    }

    /// Returns `true` if the rows written so far have the same names, ids and order as the overwritten rows.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !self.out.is_moved
    }

    /// Returns the offset of the next row, for [`instance`](Self::instance) and [`cells`](Self::cells).
    #[must_use]
    pub fn position(&self) -> usize {
        self.out.offset
    }

    /// Writes the next row of the instance table and returns its values, which are empty. The name is truncated at the
    /// first NUL and to 1023 units.
    #[inline]
    pub fn row(&mut self, name: impl IntoIterator<Item = u16>, id: InstanceId) -> &mut [Cell] {
        self.out.instance(name, id);
        self.out.leave(self.values_len);
        let cells = self.last_cells();
        // The memory has values of the last collection, which a column that is not set must not show.
        cells.fill(Cell::EMPTY);
        cells
    }

    /// Writes a row for the same instance as the row at the offset `position` of the table `others`. Name and id are
    /// compared and copied as a whole. If there is no such row, the new row has no name and id 0.
    ///
    /// The returned values are arbitrary, and the caller must write all of them: clearing them first would cost as
    /// much as the rest.
    #[inline]
    pub fn row_of(&mut self, others: &Self, position: usize) -> &mut [Cell] {
        let rest = others.out.bytes.get(position..).unwrap_or_default();
        let header = InstanceHeader::ref_from_prefix(rest);
        let instance = header.ok().and_then(|(header, _)| rest.get(..length(header.size.get())));
        self.out.expect(instance.unwrap_or(&NAMELESS));
        self.out.leave(self.values_len);
        self.last_cells()
    }

    /// Removes the row at the offset `position` and all rows after it.
    pub fn back_to(&mut self, position: usize) {
        self.out.offset = self.out.offset.min(position);
    }

    /// Returns the values of the row that was written last, for writing.
    #[inline]
    fn last_cells(&mut self) -> &mut [Cell] {
        let start = self.out.offset.saturating_sub(self.values_len);
        let cells = self.out.bytes.get_mut(start..self.out.offset).unwrap_or_default();
        <[Cell]>::mut_from_bytes(cells).unwrap_or_default()
    }

    /// Returns the values of the row that was written last. At least one row must exist.
    #[must_use]
    #[inline]
    pub fn last(&self) -> &[Cell] {
        let start = self.out.offset.saturating_sub(self.values_len);
        let cells = self.out.bytes.get(start..self.out.offset).unwrap_or_default();
        <[Cell]>::ref_from_bytes(cells).unwrap_or_default()
    }

    /// Returns the name and id of the instance whose row starts at the offset `position`.
    #[must_use]
    pub fn instance(&self, position: usize) -> Option<(Name<'_>, InstanceId)> {
        let (header, name) = self.header(position)?;
        Some((Name::until_nul(name), InstanceId(header.instance_id.get())))
    }

    /// Returns the values of the row at the offset `position`; empty if there is no such row.
    #[must_use]
    #[inline]
    pub fn cells(&self, position: usize) -> &[Cell] {
        let cells = self.header(position).and_then(|(header, _)| {
            let cells = position.saturating_add(length(header.size.get()));
            let cells = self.out.bytes.get(cells..)?.get(..self.values_len)?;
            <[Cell]>::ref_from_bytes(cells).ok()
        });
        cells.unwrap_or_default()
    }

    fn header(&self, position: usize) -> Option<(&InstanceHeader, &[u8])> {
        InstanceHeader::ref_from_prefix(self.out.bytes.get(position..)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(rows: &TableRows) -> &[u8] {
        &rows.out.bytes
    }

    proptest! {
        /// Compares a row copied from another table with a row written with the same name and id, whatever they
        /// overwrite.
        #[test]
        fn rows_of_others(
            before in prop::collection::vec((".{0,40}", any::<u32>()), 0..6),
            now in prop::collection::vec((".{0,40}", any::<u32>()), 0..6),
            same in any::<bool>(),
        ) {
            let now = if same { &before } else { &now };
            let mut names = TableRows::new(0);
            let positions: Vec<_> = now.iter().map(|(name, id)| {
                let position = names.position();
                names.row(name.encode_utf16(), InstanceId(*id));
                position
            }).collect();
            let [mut spelled, mut taken] = [2, 2].map(TableRows::new);
            for rows in [&mut spelled, &mut taken] {
                for (name, id) in &before {
                    rows.row(name.encode_utf16(), InstanceId(*id)).fill(Cell::from_u64(9));
                }
                rows.restart();
            }
            for ((name, id), position) in now.iter().zip(positions) {
                spelled.row(name.encode_utf16(), InstanceId(*id))[1] = Cell::from_u64(7);
                taken.row_of(&names, position).copy_from_slice(&[Cell::EMPTY, Cell::from_u64(7)]);
            }
            spelled.end();
            taken.end();
            prop_assert_eq!(bytes(&spelled), bytes(&taken));
            prop_assert_eq!(spelled.is_kept(), taken.is_kept());
            prop_assert_eq!(taken.is_kept(), now == &before);
        }
    }

    #[test]
    fn a_row_that_others_do_not_have_has_no_name() {
        let (mut names, mut rows) = (TableRows::new(0), TableRows::new(1));
        names.row("a".encode_utf16(), InstanceId(2));
        for position in [names.position(), 4, 1000, usize::MAX] {
            rows.restart();
            assert_eq!(rows.row_of(&names, position).len(), 1, "{position}");
            let (name, id) = rows.instance(0).unwrap();
            assert!(name.is_empty() && id == InstanceId(0), "{position}");
        }
    }

    #[test]
    fn rows_that_are_taken_back() {
        let names = ["a", "longer than a", "c"];
        let write = |back: &[usize]| {
            let mut rows = TableRows::new(1);
            for turn in 0..2 {
                rows.restart();
                for (at, name) in names.iter().enumerate() {
                    let position = rows.position();
                    rows.row(name.encode_utf16(), InstanceId(1))[0] = Cell::from_u64(turn);
                    if turn == 1 && back.contains(&at) {
                        rows.back_to(position);
                    }
                }
                rows.end();
            }
            rows
        };
        for back in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2]] {
            let mut left = TableRows::new(1);
            for (_, name) in names.iter().enumerate().filter(|(at, _)| !back.contains(at)) {
                left.row(name.encode_utf16(), InstanceId(1))[0] = Cell::from_u64(1);
            }
            let rows = write(back);
            assert_eq!(bytes(&rows), bytes(&left), "{back:?}");
            assert!(!rows.is_kept(), "{back:?}");
        }
        assert!(write(&[]).is_kept());
    }
}
