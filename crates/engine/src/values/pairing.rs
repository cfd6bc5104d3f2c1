//! Pairs the rows of two query results by instance name and id.

use std::hash::{BuildHasher, Hasher, RandomState};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;
use hashbrown::HashTable;

use super::entry_rows::{EntryRows, OldRow, ResultRow, RowIter, RowKey};

/// State of pairing the newer rows of a query entry with the older rows of the same instances.
pub(super) enum Pairing<'a> {
    /// State while all newer rows have the order of the older rows: the remaining older rows, and the position of the
    /// next of these.
    SameOrder(RowIter<'a>, usize),
    /// State after the first newer row whose position differs from that of the older row of the same instance.
    OtherOrder(RowsAhead<'a>),
}

impl<'a> Pairing<'a> {
    pub fn new(old: Option<&EntryRows<'a>>) -> Self {
        Self::SameOrder(old.map_or(RowIter::NONE, EntryRows::iter), 0)
    }

    /// Returns the older row of the same instance for the newer row at a position. The newer rows must be passed in
    /// order.
    #[inline]
    pub fn find(
        &mut self,
        (at, wanted): (usize, &ResultRow<'_>),
        new: &EntryRows<'_>,
        old: &EntryRows<'a>,
    ) -> Option<OldRow<'a>> {
        if let Self::SameOrder(ahead, next) = self {
            if let Some(row) = ahead.next().filter(|row| row.is_same(wanted)) {
                let at = *next;
                *next = at.saturating_add(1);
                return Some(OldRow { at, row, birth: old.head.birth(at) });
            }
            *self = Self::OtherOrder(RowsAhead::new(candidates(new, old)));
        }
        let Self::OtherOrder(rows) = self else { return None };
        rows.get(at, old).filter(|old| old.row.is_same(wanted))
    }
}

/// Older rows for the next newer rows, read together, so that the processor waits for the memory of several rows at
/// the same time.
pub(super) struct RowsAhead<'a> {
    /// Position of the older row of each newer row.
    positions: Vec<Option<u32>>,
    /// Older rows that belong to the newer rows from position `first` on.
    rows: Vec<Option<OldRow<'a>>>,
    first: usize,
}

impl<'a> RowsAhead<'a> {
    fn new(positions: Vec<Option<u32>>) -> Self {
        Self { positions, rows: Vec::new(), first: 0 }
    }

    /// Returns the older row for the newer row at a position, which must not be lower than that of the last call.
    #[inline]
    fn get(&mut self, at: usize, old: &EntryRows<'a>) -> Option<OldRow<'a>> {
        if at.saturating_sub(self.first) >= self.rows.len() {
            self.read_from(at, old);
        }
        *self.rows.get(at.saturating_sub(self.first))?
    }

    #[inline(never)]
    fn read_from(&mut self, at: usize, old: &EntryRows<'a>) {
        /// Number of older rows that are read together: enough to hide waiting for memory, and few enough to stay in
        /// the processor's cache.
        const AHEAD: usize = 16;
        self.rows.clear();
        self.first = at;
        let positions = self.positions.get(at..).unwrap_or_default().iter().take(AHEAD);
        self.rows.extend(positions.map(|at| old.read(usize::try_from((*at)?).ok()?)));
    }
}

/// Finds for each newer row the position of one older row that has the same key, or perhaps only the same hash. The
/// caller must compare the keys.
///
/// All rows are searched in one loop, because a processor then waits for several of them at the same time.
fn candidates(new: &EntryRows<'_>, old: &EntryRows<'_>) -> Vec<Option<u32>> {
    /// Maximum number of next older rows that are compared one by one before the slower search.
    const NEAR: usize = 8;
    let keys = old.keys();
    let mut next = 0_usize;
    let mut is_near = true;
    // Built at the first miss: often every row is among the next few.
    let mut table = None;
    let find = |row: ResultRow<'_>| {
        let wanted = row.key();
        // Rows that have just been found elsewhere are not near: then only the next one is compared.
        let most = if is_near { NEAR } else { 1 };
        let near = keys.get(next..).unwrap_or_default().iter().take(most);
        let found = near.zip(next..).find(|(key, _)| **key == wanted);
        is_near = found.is_some();
        let at = match found {
            Some((_, at)) => u32::try_from(at).ok()?,
            None => table.get_or_insert_with(|| HashedRows::new(&keys)).find(&wanted)?,
        };
        next = usize::try_from(at).ok()?.saturating_add(1);
        Some(at)
    };
    new.iter().map(find).collect()
}

/// Hash table from the keys of rows to their positions. It stores hashes and no keys: comparing keys would read names
/// all over the block.
struct HashedRows {
    rows: HashTable<HashedRow>,
    hasher: SeedableRandomState,
}

struct HashedRow {
    hash: u64,
    at: u32,
}

impl HashedRows {
    /// Creates the hash table of row positions for these keys. For equal keys it contains the position of the last
    /// row.
    fn new(keys: &[RowKey<'_>]) -> Self {
        // Random for each table, because names come from other programs.
        let seed = RandomState::new().hash_one(keys.len());
        let hasher = SeedableRandomState::with_seed(seed, SharedSeed::global_random());
        let mut table = Self { rows: HashTable::with_capacity(keys.len()), hasher };
        for (key, at) in keys.iter().zip(0_u32..) {
            let hash = table.hash(key);
            let entry = table.rows.entry(hash, |row| row.hash == hash, |row| row.hash);
            entry.insert(HashedRow { hash, at });
        }
        table
    }

    /// Returns the position of the row with a key, found by the key's hash. If two keys have the same hash, one of the
    /// rows counts as new: with 64 random bits that does not happen in practice.
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
