//! Search for the row of an instance in an older result.

use std::collections::HashMap;

use perfset_core::InstanceId;

use super::entry_rows::ResultRow;

/// Key of a row: name and id.
type RowKey<'a> = (&'a [u8], Option<InstanceId>);

/// Finder for rows of an older result: close after the last one first, else by name and id.
#[derive(Default)]
pub(super) struct Finder<'a> {
    /// Index of the next row if the order is the same.
    next: usize,
    by_key: Option<HashMap<RowKey<'a>, usize>>,
}

impl<'a> Finder<'a> {
    pub(super) fn find(&mut self, rows: &[ResultRow<'a>], wanted: &ResultRow<'_>) -> Option<usize> {
        /// Maximum number of consecutive missing rows before the slower search.
        const NEAR: usize = 8;
        let near = rows.get(self.next..).unwrap_or_default().iter().take(NEAR);
        let at = match near.zip(self.next..).find(|(row, _)| row.is_same(wanted)) {
            Some((_, at)) => at,
            None => {
                // Built at the first miss: usually the order of the rows stays, and no table is needed.
                let by_key = self.by_key.get_or_insert_with(|| {
                    rows.iter().enumerate().map(|(at, row)| ((row.name.as_bytes(), row.id), at)).collect()
                });
                *by_key.get(&(wanted.name.as_bytes(), wanted.id))?
            }
        };
        self.next = at.saturating_add(1);
        Some(at)
    }
}
