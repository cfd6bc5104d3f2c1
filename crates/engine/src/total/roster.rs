//! Instances that contribute to a total, and the search for each of them in an earlier collection.

use std::sync::Arc;

use perfset_core::Birth;

/// Identity of an instance that contributes to a total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Start time of the instance, which distinguishes the instance from earlier ones with the same id. Birth and id
    /// together identify the instance, even under another name.
    pub birth: Birth,
    /// Id of the contributing instance.
    pub id: u32,
    /// Hash of the instance name, for instances without a birth or with equal births.
    pub name: u64,
    /// Id of the instance that takes over the counts of this instance when it ends; 0 if there is none, or if that is
    /// unknown.
    pub parent: u32,
}

/// Instances that contribute to a total in one collection, in the order of its rows.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub members: Vec<Member>,
    /// Indexes of the instances in the order of birth, id and name; empty if the rows already have that order.
    order: Vec<usize>,
}

/// Search for this collection's instances among the instances of an earlier collection.
#[derive(Debug, Default)]
pub(super) struct Finder {
    pub roster: Arc<Roster>,
    /// Index of the next expected instance in the earlier collection, if no instance began or ended.
    next: usize,
    /// `true` for each instance of the earlier collection that was found in this collection, by its index.
    pub claimed: Vec<bool>,
    pub found: Option<usize>,
}

impl Roster {
    pub fn new(members: Vec<Member>) -> Self {
        let mut order = Vec::new();
        // Providers list processes in this order already, and then no second list is needed.
        if !members.is_sorted() {
            order.extend(0..members.len());
            order.sort_unstable_by_key(|at| members.get(*at));
        }
        Self { members, order }
    }

    /// Returns the index of the `nth` instance in the order of birth, id and name.
    fn place(&self, nth: usize) -> usize {
        self.order.get(nth).copied().unwrap_or(nth)
    }

    /// Returns the indexes of all instances with this birth and id, whatever their names are.
    fn alike(&self, birth: Birth, id: u32) -> impl Iterator<Item = usize> {
        let of = move |at: usize| self.members.get(at).map(|member| (member.birth, member.id));
        let (mut low, mut high) = (0, self.members.len());
        while low < high {
            let middle = low.midpoint(high);
            match of(self.place(middle)) < Some((birth, id)) {
                true => low = middle.saturating_add(1),
                false => high = middle,
            }
        }
        (low..self.members.len())
            .map(|nth| self.place(nth))
            .take_while(move |at| of(*at) == Some((birth, id)))
    }
}

impl Finder {
    /// Begins a collection whose instances are searched in an earlier roster.
    pub fn begin(&mut self, roster: Arc<Roster>) {
        self.claimed.clear();
        self.claimed.resize(roster.members.len(), false);
        (self.roster, self.next, self.found) = (roster, 0, None);
    }

    pub fn find(&mut self, member: &Member) {
        /// Number of next instances that are compared one by one before the slower search.
        const NEAR: usize = 8;
        let Self { roster, next, claimed, found } = self;
        let members = &roster.members;
        let is_free = |at: &usize| claimed.get(*at) == Some(&false);
        // Rows usually come in the order of the last collection, so the next few places are compared before a
        // search.
        let near = members.get(*next..).unwrap_or_default().iter().take(NEAR).zip(*next..);
        *found = near.map(|(known, at)| (known == member, at)).find(|near| near.0).map(|(_, at)| at);
        *found = found.filter(is_free).or_else(|| {
            let mut alike = roster.alike(member.birth, member.id).filter(is_free);
            let same_name = |at: &usize| members.get(*at).is_some_and(|known| known.name == member.name);
            let first = alike.next();
            match first.filter(same_name).or_else(|| alike.find(same_name)) {
                Some(at) => Some(at),
                None if member.birth.is_none() => None,
                // The instance has another name now, or its birth was unknown before.
                None => first.or_else(|| roster.alike(None, member.id).find(is_free)),
            }
        });
        if let Some(at) = *found {
            *next = at.saturating_add(1);
            claimed.get_mut(at).into_iter().for_each(|claimed| *claimed = true);
        }
    }
}
