//! The rows of a table, written over those of before.

use zerocopy::FromBytes;

use super::over::Over;
use super::raw::{Cell, InstanceHeader};
use crate::instance::InstanceId;
use crate::utf16::Name;
use crate::wire::length;

/// Instances and their values as they are in a block, one behind the other: by themselves, or
/// [lent](super::TableBuilder::lend) by the block that they are for.
///
/// ```
/// use perfset_core::{InstanceId, v2::TableRows, v2::raw::Cell};
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
    pub(super) out: Over,
    pub(super) columns: usize,
}

impl TableRows {
    /// No rows yet, each to have so many values.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { out: Over::default(), columns }
    }

    /// Begins anew, over the rows that there are.
    pub fn restart(&mut self) {
        (self.out.at, self.out.is_moved) = (0, false);
    }

    /// Ends: rows that did not come again are gone.
    pub fn end(&mut self) {
        if self.out.at < self.out.bytes.len() {
            self.out.cut();
        }
    }

    /// Whether those that were written are those that were there: names, ids, order.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !self.out.is_moved
    }

    /// Where the next row begins: for [`instance`](Self::instance) and [`cells`](Self::cells).
    #[must_use]
    pub fn position(&self) -> usize {
        self.out.at
    }

    /// The next row, and its values, which are empty. The name is cut where a NUL would end it, and to 1023 units.
    #[inline]
    pub fn row(&mut self, name: impl IntoIterator<Item = u16>, id: InstanceId) -> &mut [Cell] {
        self.out.instance(name, id);
        let start = self.out.at;
        self.out.leave(size_of::<Cell>().saturating_mul(self.columns));
        let cells = self.out.bytes.get_mut(start..self.out.at).unwrap_or_default();
        let cells = <[Cell]>::mut_from_bytes(cells).unwrap_or_default();
        cells.fill(Cell::EMPTY);
        cells
    }

    /// The values of the row that was written last, of which there must be one.
    #[must_use]
    #[inline]
    pub fn last(&self) -> &[Cell] {
        let len = size_of::<Cell>().saturating_mul(self.columns);
        let cells = self.out.bytes.get(self.out.at.saturating_sub(len)..self.out.at).unwrap_or_default();
        <[Cell]>::ref_from_bytes(cells).unwrap_or_default()
    }

    /// Name and id of the row that begins there.
    #[must_use]
    pub fn instance(&self, position: usize) -> Option<(Name<'_>, InstanceId)> {
        let (header, name) = self.header(position)?;
        Some((Name::until_nul(name), InstanceId(header.instance_id.get())))
    }

    /// The values of the row that begins there; none if there is no such row.
    #[must_use]
    #[inline]
    pub fn cells(&self, position: usize) -> &[Cell] {
        let cells = self.header(position).and_then(|(header, _)| {
            let cells = position.saturating_add(length(header.size.get()));
            <[Cell]>::ref_from_prefix_with_elems(self.out.bytes.get(cells..)?, self.columns).ok()
        });
        cells.map_or(&[], |(cells, _)| cells)
    }

    fn header(&self, position: usize) -> Option<(&InstanceHeader, &[u8])> {
        InstanceHeader::ref_from_prefix(self.out.bytes.get(position..)?).ok()
    }
}
