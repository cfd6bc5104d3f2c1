//! Pairs the rows of two results by name and id.

use std::hash::{BuildHasher, Hasher, RandomState};

use hashbrown::HashTable;

use super::entry_rows::{EntryRows, ResultRow, RowIter, RowKey};

/// Positions of the older rows of an entry, in the order of its newer rows.
pub(super) enum Pairing<'a> {
    /// All rows so far have the order of the older ones: the next of them, and its position.
    SameOrder(RowIter<'a>, usize),
    /// Other order: the position for each newer row.
    OtherOrder(Vec<Option<u32>>),
}

impl<'a> Pairing<'a> {
    pub fn new(old: Option<&EntryRows<'a>>) -> Self {
        Self::SameOrder(old.map_or(RowIter::NONE, EntryRows::iter), 0)
    }

    /// Returns the older row of the newer row at a position, and its own position. The newer rows must be passed in
    /// order.
    #[inline]
    pub fn find(
        &mut self,
        (at, wanted): (usize, &ResultRow<'_>),
        new: &EntryRows<'_>,
        old: &EntryRows<'a>,
    ) -> Option<(usize, ResultRow<'a>)> {
        if let Self::SameOrder(ahead, next) = self {
            if let Some(row) = ahead.next().filter(|row| row.is_same(wanted)) {
                let at = *next;
                *next = at.saturating_add(1);
                return Some((at, row));
            }
            *self = Self::OtherOrder(candidates(new, old));
        }
        let Self::OtherOrder(paired) = self else { return None };
        let at = usize::try_from((*paired.get(at)?)?).ok()?;
        Some((at, old.read(at).filter(|row| row.is_same(wanted))?))
    }
}

/// Finds for each newer row the position of one older row that has its key, or only the same hash. The caller compares
/// the keys.
///
/// All rows are searched in one loop, because a processor then waits for several of them at the same time.
fn candidates(new: &EntryRows<'_>, old: &EntryRows<'_>) -> Vec<Option<u32>> {
    /// Maximum number of consecutive missing rows before the slower search.
    const NEAR: usize = 8;
    let keys: Vec<_> = old.iter().map(|row| row.key()).collect();
    let mut next = 0_usize;
    // Built at the first miss: often every row is among the next few.
    let mut table = None;
    let find = |row: ResultRow<'_>| {
        let wanted = row.key();
        let near = keys.get(next..).unwrap_or_default().iter().take(NEAR);
        let found = near.zip(next..).find(|(key, _)| **key == wanted);
        let at = match found {
            Some((_, at)) => u32::try_from(at).ok()?,
            None => table.get_or_insert_with(|| HashedRows::new(&keys)).find(&wanted)?,
        };
        next = usize::try_from(at).ok()?.saturating_add(1);
        Some(at)
    };
    new.iter().map(find).collect()
}

/// Positions of rows by hashes of their keys. It stores no keys: comparing them would read names all over the block.
struct HashedRows {
    rows: HashTable<HashedRow>,
    /// Random, because names come from other programs.
    hasher: RandomState,
}

struct HashedRow {
    hash: u64,
    at: u32,
}

impl HashedRows {
    /// Creates the table. Of several rows with the same key it has the last one.
    fn new(keys: &[RowKey<'_>]) -> Self {
        let mut table = Self { rows: HashTable::with_capacity(keys.len()), hasher: RandomState::new() };
        for (key, at) in keys.iter().zip(0_u32..) {
            let hash = table.hash(key);
            let entry = table.rows.entry(hash, |row| row.hash == hash, |row| row.hash);
            entry.insert(HashedRow { hash, at });
        }
        table
    }

    /// Returns the position of the row with a key. If two keys have the same hash, the row of one counts as new: with
    /// 64 random bits that does not happen in practice.
    fn find(&self, key: &RowKey<'_>) -> Option<u32> {
        let hash = self.hash(key);
        self.rows.find(hash, |row| row.hash == hash).map(|row| row.at)
    }

    fn hash(&self, (id, name): &RowKey<'_>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(name);
        hasher.write_u32(id.map_or(0, |id| id.0));
        hasher.finish()
    }
}
