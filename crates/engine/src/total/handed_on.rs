//! Counts that a parent takes over when its child ends, and that must not be added to a total twice.

use std::cmp::Reverse;

use super::TotalColumn;
use super::roster::{Finder, Member};

/// Count of an instance that ended, which its parent may take over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    parent: u32,
    count: u64,
    /// `true` if the previous collection already searched for the parent that took over this count.
    is_late: bool,
}

impl<K> TotalColumn<K> {
    /// Subtracts the counts of ended instances from the total if parents took them over.
    ///
    /// A parent that rose by less took over nothing: it does not wait for its children. It may have been read before it
    /// did, so the next collection looks once more. A parent without a value is looked at until it has one.
    pub(super) fn take_back(&mut self, finder: &Finder, now: &[Member]) {
        /// Maximum number of ended instances' counts for which parents are searched.
        const MOST: usize = 4_096;
        /// Id of the process that becomes the parent of processes whose parents ended.
        const INIT: u32 = 1;
        let Self { last, next, ended, rises, sum, .. } = self;
        // Counts that a parent can take over: of instances that ended since the last collection, and earlier ones.
        let gone = || {
            finder.roster.members.iter().zip(&finder.claimed).zip(&*last).filter(|((_, found), _)| !**found)
        };
        let new = gone().filter_map(|((member, _), count)| {
            let count = count.filter(|count| *count > 0)?;
            Some(Ended { parent: member.parent, count, is_late: false })
        });
        let mut open: Vec<_> = new.chain(ended.drain(..)).take(MOST).collect();
        if open.is_empty() {
            return;
        }
        // The count goes to the parent, or to the nearest ancestor that has not ended.
        let mut families: Vec<_> = gone().map(|((member, _), _)| (member.id, member.parent)).collect();
        families.sort_unstable();
        for one in &mut open {
            one.parent = surviving(one.parent, &families);
        }
        // If a parent rose by less than all of them, the largest that fits: a total that is too high stays so.
        open.sort_by_key(|one| Reverse(one.count));
        let places = MemberIndexes::new(open.iter().map(|one| one.parent).chain([INIT]), now);
        for one in open {
            let Some(place) = places.get(one.parent).or_else(|| places.get(INIT)) else { continue };
            let rise = rises.get(place).copied().flatten();
            if let (Some(left), Some(cell)) =
                (rise.and_then(|rise| rise.checked_sub(one.count)), rises.get_mut(place))
            {
                *cell = Some(left);
                *sum = sum.wrapping_sub(one.count);
                continue;
            }
            // A parent without a value has one again, or ends and hands all on. Init does not end: if it never had a
            // value, its first one contains what it took over.
            let had_value = next.get(place).is_some_and(Option::is_some);
            let is_init = now.get(place).is_some_and(|member| member.id == INIT);
            // In some containers init can never be read: counts would wait for it in every collection.
            let is_open = rise.is_none() && (had_value || !is_init);
            if is_open || !one.is_late {
                ended.push(Ended { is_late: true, ..one });
            }
        }
    }
}

/// Returns the nearest ancestor of an ended process that has not ended. `ended` contains the ids of ended instances
/// and of their parents, in order of id.
fn surviving(mut parent: u32, ended: &[(u32, u32)]) -> u32 {
    /// Maximum number of generations of ended ancestors that are followed.
    const GENERATIONS: usize = 64;
    // Bounded, because ids are reused: nothing excludes a cycle of parents.
    for _ in 0..GENERATIONS {
        match ended.binary_search_by_key(&parent, |(id, _)| *id) {
            Ok(at) => parent = ended.get(at).map_or(0, |(_, parent)| *parent),
            Err(_) => break,
        }
    }
    parent
}

/// Indexes of those instances of a total's collection that have certain ids, by the ids.
struct MemberIndexes {
    ids: Vec<u32>,
    /// Index of the instance with each id, or `None` if the collection has no instance with that id.
    indexes: Vec<Option<usize>>,
}

impl MemberIndexes {
    fn new(ids: impl Iterator<Item = u32>, members: &[Member]) -> Self {
        // 0 is an unknown parent, and Idle has that id.
        let mut ids: Vec<_> = ids.filter(|id| *id > 0).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut indexes = vec![None; ids.len()];
        for (index, member) in members.iter().enumerate() {
            if let Some(at) = ids.binary_search(&member.id).ok().and_then(|at| indexes.get_mut(at)) {
                *at = Some(index);
            }
        }
        Self { ids, indexes }
    }

    fn get(&self, id: u32) -> Option<usize> {
        *self.indexes.get(self.ids.binary_search(&id).ok()?)?
    }
}
