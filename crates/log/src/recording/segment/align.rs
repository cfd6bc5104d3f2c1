//! Alignment of a recorded table's rows with its rows at the tick before.

use std::collections::HashMap;

use super::super::table::{RowIdentity, index, position};
use super::super::tick::RowStep;

/// Index that marks a row of a table without a counterpart at the other tick.
pub(super) const NONE: u32 = u32::MAX;

/// Counterparts of the new rows of a table among its old rows.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    /// Index of the old row for each new row, or [`NONE`].
    pub old: Vec<u32>,
    /// Indexes of new rows that have another place among the rows than before, ascending.
    pub moved: Vec<u32>,
    /// Indexes of old rows that are gone, ascending.
    pub gone: Vec<u32>,
}

/// Number of rows that the alignment searches after a difference, before all rows are searched.
const NEAR: usize = 16;

/// Returns `true` if two identities of rows are equal. Numbers are compared first, because names take longest.
fn same(a: &RowIdentity, b: &RowIdentity) -> bool {
    (a.id, a.birth, a.owner) == (b.id, b.birth, b.owner) && a.name == b.name
}

impl Alignment {
    /// Aligns the new rows of a table with its old rows. Returns `false` if all rows are as before; then there is no
    /// alignment.
    pub fn align(&mut self, new: &[RowIdentity], old: &[RowIdentity]) -> bool {
        let begin = new.iter().zip(old).take_while(|(new, old)| same(new, old)).count();
        if begin == new.len() && begin == old.len() {
            return false;
        }
        self.old.clear();
        self.moved.clear();
        self.gone.clear();
        self.old.extend(0..position(begin));
        let mut unknown = Vec::new();
        let (mut at, mut before) = (begin, begin);
        while let Some(key) = new.get(at) {
            let rest = old.get(before..).unwrap_or_default();
            let rest_of_new = new.get(at..).unwrap_or_default();
            let Some(next) = rest.first() else {
                // All that follow are new.
                unknown.extend(position(at)..position(new.len()));
                self.old.resize(new.len(), NONE);
                break;
            };
            // Rows are gone, or rows are new: whatever is less.
            let dropped = rest.iter().take(NEAR).position(|old| same(old, key));
            let near = dropped.unwrap_or(NEAR);
            let inserted = rest_of_new.iter().take(near).position(|new| same(new, next));
            match (dropped, inserted) {
                (_, Some(count)) => {
                    let until = at.saturating_add(count);
                    unknown.extend(position(at)..position(until));
                    self.old.resize(until, NONE);
                    at = until;
                }
                (Some(dropped), None) => {
                    let next = before.saturating_add(dropped);
                    self.gone.extend(position(before)..position(next));
                    self.old.push(position(next));
                    (at, before) = (at.saturating_add(1), next.saturating_add(1));
                }
                (None, None) => {
                    self.align_rest(new, old, (at, before), &mut unknown);
                    (at, before) = (new.len(), old.len());
                }
            }
        }
        self.gone.extend(position(before)..position(old.len()));
        self.find_moved(new, old, &unknown);
        true
    }

    /// Aligns rows by the steps that lead from the old rows to the new ones. Rows after the last step stay.
    pub fn follow(&mut self, steps: &[RowStep], new: &[RowIdentity], old: &[RowIdentity]) {
        self.old.clear();
        self.moved.clear();
        self.gone.clear();
        let mut unknown = Vec::new();
        let mut before = 0_usize;
        for step in steps {
            let kept = before.saturating_add(step.kept);
            self.old.extend(position(before)..position(kept));
            before = kept.saturating_add(step.dropped);
            self.gone.extend(position(kept)..position(before));
            let inserted = self.old.len().saturating_add(step.inserted).min(new.len());
            unknown.extend(position(self.old.len())..position(inserted));
            self.old.resize(inserted, NONE);
        }
        let left = new.len().saturating_sub(self.old.len());
        self.old.extend(position(before)..position(before.saturating_add(left)));
        self.find_moved(new, old, &unknown);
    }

    /// Aligns the remaining rows of a table so that as many as possible keep their order.
    fn align_rest(
        &mut self,
        new: &[RowIdentity],
        old: &[RowIdentity],
        (at, before): (usize, usize),
        unknown: &mut Vec<u32>,
    ) {
        // Equal rows have equal ranks in both, so that each has one counterpart.
        let mut known: HashMap<(&RowIdentity, u32), u32> = HashMap::new();
        let mut seen: HashMap<&RowIdentity, u32> = HashMap::new();
        let rank = |seen: &mut HashMap<_, u32>, key| {
            let rank = seen.entry(key).or_insert(0);
            let now = *rank;
            *rank = rank.saturating_add(1);
            now
        };
        for (row, key) in old.iter().enumerate().skip(before) {
            known.insert((key, rank(&mut seen, key)), position(row));
        }
        seen.clear();
        let mut pairs = Vec::new();
        for (row, key) in new.iter().enumerate().skip(at) {
            let rank = rank(&mut seen, key);
            if let Some(old) = known.get(&(key, rank)) {
                pairs.push((position(row), *old));
            }
        }
        let mut kept = longest_ascending(&pairs).into_iter().peekable();
        let mut next = position(before);
        for row in position(at)..position(new.len()) {
            match kept.next_if(|(new, _)| *new == row) {
                Some((_, old)) => {
                    self.old.push(old);
                    self.gone.extend(next..old);
                    next = old.saturating_add(1);
                }
                None => {
                    self.old.push(NONE);
                    unknown.push(row);
                }
            }
        }
        self.gone.extend(next..position(old.len()));
    }

    /// Finds moved rows of a table: rows that are gone at one place and new at another.
    fn find_moved(&mut self, new: &[RowIdentity], old: &[RowIdentity], unknown: &[u32]) {
        if unknown.is_empty() || self.gone.is_empty() {
            return;
        }
        let mut known: HashMap<&RowIdentity, Vec<u32>> = HashMap::new();
        for row in self.gone.iter().rev() {
            if let Some(key) = old.get(index(*row)) {
                known.entry(key).or_default().push(*row);
            }
        }
        let mut found = Vec::new();
        for row in unknown {
            let was = new.get(index(*row)).and_then(|key| known.get_mut(key)?.pop());
            if let (Some(was), Some(place)) = (was, self.old.get_mut(index(*row))) {
                *place = was;
                self.moved.push(*row);
                found.push(was);
            }
        }
        found.sort_unstable();
        self.gone.retain(|row| found.binary_search(row).is_err());
    }
}

/// Returns a longest subsequence of the pairs in which the second numbers ascend; the first numbers always ascend.
fn longest_ascending(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
    // For each length the pair with the lowest end, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |at: &usize| pairs.get(*at).map(|(_, old)| *old);
    for (at, (_, old)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|end| second(end) < Some(*old));
        before.push(len.checked_sub(1).and_then(|shorter| ends.get(shorter).copied()));
        match ends.get_mut(len) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chosen = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        chosen.extend(pairs.get(at));
        next = before.get(at).copied().flatten();
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(ids: &[u32]) -> Vec<RowIdentity> {
        ids.iter().map(|id| RowIdentity { name: "row".into(), id: *id, birth: 0, owner: None }).collect()
    }

    proptest! {
        /// Checks that each row has at most one counterpart, which is equal, that unmoved rows keep their order, and
        /// that no row is new and gone at once.
        #[test]
        fn rows_are_aligned(
            old in proptest::collection::vec(0..200_u32, 0..120),
            new in proptest::collection::vec(0..200_u32, 0..120),
            shared in 0..100_usize,
        ) {
            // Some rows are the same ones in the same order.
            let new = [&old[..shared.min(old.len())], &new].concat();
            let (old, new) = (keys(&old), keys(&new));
            let mut alignment = Alignment::default();
            prop_assert_eq!(alignment.align(&new, &old), new != old);
            if new == old {
                return Ok(());
            }
            prop_assert_eq!(alignment.old.len(), new.len());
            let mut used = vec![false; old.len()];
            let mut last = None;
            for (row, was) in (0..).zip(&alignment.old) {
                if *was == NONE {
                    continue;
                }
                prop_assert!(!std::mem::replace(&mut used[index(*was)], true));
                prop_assert_eq!(&old[index(*was)], &new[index(row)]);
                if alignment.moved.binary_search(&row).is_err() {
                    prop_assert!(last < Some(*was));
                    last = Some(*was);
                }
            }
            let gone: Vec<u32> = (0..).zip(&used).filter(|(_, used)| !**used).map(|(row, _)| row).collect();
            prop_assert_eq!(&alignment.gone, &gone);
            for (key, _) in new.iter().zip(&alignment.old).filter(|(_, was)| **was == NONE) {
                prop_assert!(gone.iter().all(|row| old[index(*row)] != *key));
            }
        }
    }

    #[test]
    fn fewest_rows_move() {
        let mut alignment = Alignment::default();
        let old: Vec<u32> = (0..100).collect();
        for (from, to) in [(0, 99), (99, 0), (40, 60), (10, 5)] {
            let mut new = old.clone();
            let row = new.remove(from);
            new.insert(to, row);
            assert!(alignment.align(&keys(&new), &keys(&old)));
            assert_eq!(alignment.moved, [position(to)], "{from} {to}");
            assert_eq!(alignment.gone, Vec::<u32>::new());
        }
    }
}
