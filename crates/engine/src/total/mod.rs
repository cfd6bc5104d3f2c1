//! Totals: the rule of every row that stands for several instances, such as `_Total` and aggregates.
//!
//! **A level**, such as a working set, is the sum of the rows as they are now.
//!
//! **A count**, such as bytes that were read, is stored from collection to collection. It begins as the sum of the
//! rows. From then on each row adds what it counted since the last collection of that column. A row that began since
//! then adds all that it has. What a row has added stays when its instance ends. So a total never falls because an
//! instance ends. If no row began or ended, the difference of two samples is the sum of the rows' differences. A
//! count has a birth of its own, the time at which it was first stored: totals of two readers are never compared.
//!
//! **A count that is handed on** belongs to another row when its instance ends: the kernel adds what a process read and
//! wrote to its parent when the parent waits for it. The total had that count already, so it is taken back from what
//! rows rose by.
//!
//! **Missing values** are not zero. An instance that has no such value adds nothing. An instance whose value is
//! unknown makes the total [`Mark::Partial`]: its count goes on from the last known value, or from the first that is
//! read. This is so for every reason if the instance had a count before, or if the count is handed on. A difference
//! from a partial total is partial, too, so a total that catches up on such an instance is marked. A count that fell
//! was reset, and what was lost is unknown: it goes on from its new value, and this one total is partial.
//!
//! **Known limits** of counts that are handed on. No row says what it took over, so these cases are not marked:
//! - An instance that no collection ever listed is unknown. Its count appears in the total when its parent takes it
//!   over, as it does in the parent's own row: in one interval, without a mark.
//! - An instance that ended without being waited for (its parent ignores `SIGCHLD`) hands nothing on. If its parent
//!   itself rose by as much in that collection or in the next one, that much is taken back, and the total rises by too
//!   little.
//! - A row is read before or after it takes over a count. If it is read after that, and the ended instance before, the
//!   total has that count twice, because a total never falls.
//!
//! **Shape**: there is one column for each count, regardless of the requests for it. It has the last value of each
//! member of the roster that it was last collected with. Columns that were collected together share that roster.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use perfset_core::{Mark, NoValue};

use crate::rows::RowWriter;
use handed_on::Ended;
use roster::{Finder, Roster};

mod handed_on;
mod roster;
mod sum;

pub use roster::Member;
pub use sum::{Sum, Width};

#[cfg(test)]
mod tests;

/// Contribution of a row to a total: its value in a column, or the reason for having none.
#[derive(Clone, Copy, Debug)]
pub enum Reading<'a> {
    /// Value of the row, with its mark.
    Value(u64, Option<Mark>),
    /// Missing value of the row, with the reason.
    None(&'a NoValue),
}

/// Computation of totals over rows, for columns that are identified by keys of type `K`.
#[derive(Debug)]
pub struct Totals<K> {
    /// Counts of columns that are stored from one collection to the next.
    kept: Vec<TotalColumn<K>>,
    /// Columns whose totals are requested in this collection, in the order of the requests.
    wanted: Vec<RequestedColumn>,
    /// Searches for the rows of this collection in earlier collections, one search for each distinct roster of the
    /// columns. The memory of the searches is reused.
    finders: Vec<Finder>,
    /// Number of searches for rows that this collection uses.
    found_in: usize,
    /// Identities of the rows of this collection, one for each row so far.
    now: Vec<Member>,
    /// Start of the last row's instance in terms of PerfTime100NSec, if it is known.
    began_100ns: Option<u64>,
    now_100ns: u64,
}

impl<K> Default for Totals<K> {
    fn default() -> Self {
        let (kept, wanted, finders, now) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { kept, wanted, finders, found_in: 0, now, began_100ns: None, now_100ns: 0 }
    }
}

/// Running count of a column, stored from collection to collection.
#[derive(Debug)]
struct TotalColumn<K> {
    key: K,
    since_100ns: NonZeroU64,
    /// Time of the last collection of this column, in terms of PerfTime100NSec.
    collected_100ns: u64,
    sum: u64,
    /// `true` if any value was ever added to the count.
    has_value: bool,
    roster: Arc<Roster>,
    /// Last known value of each instance of the roster, by the instance's index there.
    last: Vec<Option<u64>>,
    /// New last values of the instances, filled during a collection.
    next: Vec<Option<u64>>,
    /// `true` if another row takes over the count of an instance when the instance ends.
    is_handed_on: bool,
    /// Increase of each row's count in this collection, by the index of the row; `None` for a row without a value.
    /// Empty unless counts are handed on.
    rises: Vec<Option<u64>>,
    /// Counts of ended instances that a parent can still take over.
    ended: Vec<Ended>,
}

/// Column whose total is requested in this collection.
#[derive(Debug)]
struct RequestedColumn {
    /// Data of a counted column: indexes of its count and finder, its width, and `true` if it is collected for the
    /// first time. `None` for a level.
    count: Option<(usize, usize, Width, bool)>,
    /// Sum of the rows' values so far, for a column that is a level.
    sum: u64,
    has_value: bool,
    missing: u32,
    mark: Option<Mark>,
    /// Reason for a missing total: that of the first row whose value exists and is unknown; else that of the first row
    /// without a value.
    reason: Option<NoValue>,
}

impl<K: PartialEq> Totals<K> {
    /// Time after which the running total of a counter is removed if no query requests it, in units of 100 ns. A later
    /// request begins a new total.
    pub(crate) const KEPT_100NS: u64 = 24 * 3_600 * 10_000_000;
    /// Precision of a start time in units of 100 ns: the kernel knows the start of a process to about 10 ms.
    const NEAR_100NS: u64 = 300_000;

    /// Begins a collection of totals at a time in terms of PerfTime100NSec.
    pub fn start(&mut self, now_100ns: u64) {
        self.wanted.clear();
        self.found_in = 0;
        self.now.clear();
        self.now_100ns = now_100ns;
        self.kept.retain(|column| now_100ns.saturating_sub(column.collected_100ns) <= Self::KEPT_100NS);
    }

    /// Removes the running counts with matching keys, so that the next collection restarts them.
    pub fn forget(&mut self, is_one: impl Fn(&K) -> bool) {
        self.kept.retain(|column| !is_one(&column.key));
    }

    /// Adds a column, whose total is wanted, to this collection. The key identifies the column in every collection.
    pub fn want(&mut self, key: K, sum: Sum) {
        let width = match sum {
            Sum::Level => None,
            Sum::Count(width) => Some(width),
            Sum::HandedOn => Some(Width::Wide),
        };
        let count = match width {
            None => None,
            Some(width) => {
                // There are few columns, so they are searched one after the other.
                let known = self.kept.iter().position(|column| column.key == key);
                let at = known.unwrap_or(self.kept.len());
                if known.is_none() {
                    self.kept.push(TotalColumn::new(key, self.now_100ns));
                }
                let finder = self.finder(at);
                if let Some(column) = self.kept.get_mut(at) {
                    column.next.clear();
                    column.rises.clear();
                    column.is_handed_on = sum == Sum::HandedOn;
                }
                Some((at, finder, width, known.is_none()))
            }
        };
        self.wanted.push(RequestedColumn {
            count,
            sum: 0,
            has_value: false,
            missing: 0,
            mark: None,
            reason: None,
        });
    }

    /// Returns the index of the finder for the instances that a column had in its last collection.
    fn finder(&mut self, column: usize) -> usize {
        let Self { kept, finders, found_in, .. } = self;
        let roster = kept.get(column).map(|column| Arc::clone(&column.roster)).unwrap_or_default();
        // Columns that were collected together last time share a roster, and so a single search per row.
        let mut used = finders.iter().take(*found_in);
        if let Some(known) = used.position(|finder| Arc::ptr_eq(&finder.roster, &roster)) {
            return known;
        }
        let at = *found_in;
        *found_in = at.saturating_add(1);
        match finders.get_mut(at) {
            Some(finder) => finder.begin(roster),
            None => {
                let mut finder = Finder::default();
                finder.begin(roster);
                finders.push(finder);
            }
        }
        at
    }

    /// Begins the next row of this collection, with the identity of its instance.
    ///
    /// `began_100ns` is the start of the member, if it is known. A member that began before the last collection and was
    /// not in it adds only what it counts from now on.
    pub fn row(&mut self, member: Member, began_100ns: Option<u64>) {
        self.now.push(member);
        self.began_100ns = began_100ns;
        for finder in self.finders.iter_mut().take(self.found_in) {
            finder.find(&member);
        }
    }

    /// Adds the value of the current row in a column to the column's total, or the reason for having none.
    pub fn add(&mut self, at: usize, reading: Reading<'_>) {
        let Self { kept, wanted, finders, now, began_100ns, .. } = self;
        let Some(wanted) = wanted.get_mut(at) else { return };
        let found = wanted.count.and_then(|(_, finder, ..)| finders.get(finder)?.found);
        let column = wanted.count.and_then(|(column, ..)| kept.get_mut(column));
        let last = found.and_then(|at| column.as_ref()?.last.get(at).copied().flatten());
        match reading {
            Reading::Value(_, mark) => {
                wanted.mark = stronger(wanted.mark, mark);
                wanted.has_value = true;
            }
            Reading::None(reason) => {
                let is_better = is_missing(reason) && !wanted.reason.as_ref().is_some_and(is_missing);
                if wanted.reason.is_none() || is_better {
                    wanted.reason = Some(reason.clone());
                }
                // An instance that had a count still has one, whatever the reason: it cannot be read now. And a count
                // that is handed on comes back with another row.
                let comes_back = column.as_ref().is_some_and(|column| column.is_handed_on);
                let lacks = last.is_some() || comes_back || is_missing(reason);
                wanted.missing = wanted.missing.saturating_add(lacks.into());
            }
        }
        // A level has no history: it is summed up as it is.
        let (Some((_, _, width, is_first)), Some(column)) = (wanted.count, column) else {
            if let Reading::Value(value, _) = reading {
                wanted.sum = wanted.sum.wrapping_add(value);
            }
            return;
        };
        let mut rise = matches!(reading, Reading::Value(..)).then_some(0);
        // A missing reading keeps the last value, from which the next reading continues.
        let next = match (last, reading) {
            (last, Reading::None(_)) => last,
            (Some(last), Reading::Value(value, _)) => {
                let value = value & width.mask();
                match value.checked_sub(last) {
                    Some(counted) => {
                        column.add(counted);
                        rise = Some(counted);
                    }
                    // A wrapping count passed its end, and its increase is known. Any other fall is a reset:
                    // the total lacks the amount before it.
                    None if width == Width::Wrapping => column.add(value.wrapping_sub(last) & width.mask()),
                    None => wanted.missing = wanted.missing.saturating_add(1),
                }
                Some(value)
            }
            (None, Reading::Value(value, _)) => {
                let value = value & width.mask();
                let collected = column.collected_100ns;
                // A member without a last value adds all that it has only if it began since the last
                // collection. An older one was not listed then, and what it counted before is unknown.
                let is_new =
                    || began_100ns.is_none_or(|began| began.saturating_add(Self::NEAR_100NS) >= collected);
                if is_first || found.is_none() && is_new() {
                    column.add(value);
                } else {
                    column.add(0); // there is a total from now on
                }
                Some(value)
            }
        };
        // Members without a reading leave gaps, so that an index is the same in all columns.
        let before = now.len().saturating_sub(1);
        column.next.resize(before, None);
        column.next.push(next);
        if column.is_handed_on {
            column.rises.resize(before, None);
            column.rises.push(rise);
        }
    }

    /// Adds to the number of instances that a column's total lacks, for instances that have no row.
    pub(crate) fn lack(&mut self, at: usize, count: u32) {
        if let Some(wanted) = self.wanted.get_mut(at) {
            wanted.missing = wanted.missing.saturating_add(count);
        }
    }

    /// Ends the collection of totals, and stores the counts of the columns for the next collection.
    pub fn end(&mut self) {
        let Self { kept, wanted, finders, now, now_100ns, .. } = self;
        let mut new = None;
        for RequestedColumn { count, .. } in wanted {
            let Some((column, finder, _, _)) = count else { continue };
            let (Some(column), Some(finder)) = (kept.get_mut(*column), finders.get_mut(*finder)) else {
                continue;
            };
            // The last rows may have had no reading in this column.
            column.next.resize(now.len(), None);
            if column.is_handed_on {
                column.take_back(finder, now);
            }
            std::mem::swap(&mut column.last, &mut column.next);
            column.collected_100ns = *now_100ns;
            // An unchanged roster stays, so that its order is not computed again.
            if finder.roster.members != *now {
                column.roster = Arc::clone(new.get_or_insert_with(|| Arc::new(Roster::new(now.clone()))));
            }
        }
        if let Some(new) = new {
            // The previous rosters are not needed for these finders.
            let used = finders.iter_mut().take(self.found_in);
            used.filter(|finder| finder.roster.members != *now)
                .for_each(|finder| finder.roster = Arc::clone(&new));
        }
    }

    /// Fills a cell with the total of one column, or with the sum of several columns' totals, such as bytes read and
    /// written.
    ///
    /// An index without a column adds nothing.
    pub fn fill(&mut self, columns: &[usize], row: &mut RowWriter<'_>, cell: usize) {
        let Self { kept, wanted, now, .. } = self;
        let (mut sum, mut since, mut missing, mut mark) = (0_u64, None, 0_u32, None);
        for at in columns {
            let Some(wanted) = wanted.get_mut(*at) else { continue };
            let (value, has_value) = match wanted.count.and_then(|(column, ..)| kept.get(column)) {
                Some(column) => {
                    // A sum of several counts is comparable only since the last of them began.
                    since = since.max(Some(column.since_100ns));
                    (column.sum, column.has_value)
                }
                None => (wanted.sum, wanted.has_value),
            };
            // A total of no rows is 0. A total of rows that never had a value has none.
            if !has_value && (wanted.missing > 0 || !now.is_empty()) {
                return row.set_unavailable(cell, wanted.reason.clone().unwrap_or(NoValue::NotGiven));
            }
            sum = sum.wrapping_add(value);
            missing = missing.max(wanted.missing);
            mark = stronger(mark, wanted.mark);
        }
        let mark = NonZeroU32::new(missing).map(Mark::Partial).or(mark);
        match (since, mark) {
            (Some(since), mark) => row.set_counted(cell, sum, mark, since),
            (None, Some(mark)) => row.set_marked(cell, sum, mark),
            (None, None) => row.set(cell, sum),
        }
    }
}

impl<K> TotalColumn<K> {
    fn new(key: K, now_100ns: u64) -> Self {
        Self {
            key,
            since_100ns: NonZeroU64::new(now_100ns).unwrap_or(NonZeroU64::MIN),
            collected_100ns: now_100ns,
            sum: 0,
            has_value: false,
            roster: Arc::default(),
            last: Vec::new(),
            next: Vec::new(),
            is_handed_on: false,
            rises: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn add(&mut self, counted: u64) {
        self.sum = self.sum.wrapping_add(counted);
        self.has_value = true;
    }
}

/// Returns `true` if a value that is missing for this reason exists and is unknown; `false` if the instance has no
/// such value.
pub(crate) fn is_missing(reason: &NoValue) -> bool {
    !matches!(reason, NoValue::Unavailable(_) | NoValue::NotDisplayable)
}

/// Returns the stronger of two marks, which is the mark of a value computed from both marked values.
pub(crate) fn stronger(a: Option<Mark>, b: Option<Mark>) -> Option<Mark> {
    let weight = |mark: Mark| match mark {
        Mark::Formatted => (0, Duration::ZERO, 0),
        Mark::Reused => (1, Duration::ZERO, 0),
        Mark::Held | Mark::Capped => (2, Duration::ZERO, 0),
        Mark::Stale(age) => (3, age, 0),
        Mark::Partial(missing) => (4, Duration::ZERO, missing.get()),
    };
    match (a, b) {
        (Some(a), Some(b)) => Some(if weight(b) > weight(a) { b } else { a }),
        (a, b) => a.or(b),
    }
}
