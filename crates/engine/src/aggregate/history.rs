//! Last values of instances that have ended and still count in an aggregate (instance type 12).

use std::collections::HashMap;

use perfset_core::{Birth, InstanceId, Owner};

use super::{AggregateColumn, Gathered, User, ValueSummary, both, identity, marks, user};
use crate::rows::Rows;
use crate::total::stronger;

/// Last values of all instances of one user that a query ever collected.
///
/// The user is the owner of the first instance. A value that an instance lacks now counts as it was last, and is
/// marked.
#[derive(Debug, Default)]
pub(super) struct History {
    user: Option<User>,
    owner: Owner,
    instances: HashMap<InstanceIdentity, Last>,
    /// Identity of the instance that is being looked up. The memory is reused, so that a lookup allocates nothing.
    sought: InstanceIdentity,
    /// Number of collections of the query so far.
    round: u64,
    /// Birth of the aggregate: the sum of the identity hashes of all instances ever seen.
    birth: u64,
    /// Aggregated values of ended instances that are no longer stored individually, by column; empty if there are
    /// none.
    settled: Vec<Gathered>,
}

/// Maximum number of ended instances stored individually. Beyond it the older half is settled: its values stay, and
/// an instance of it that comes back counts twice.
const MOST_ENDED: usize = 4096;

/// Identity of an instance in the history of an aggregate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct InstanceIdentity {
    name: Vec<u16>,
    id: u32,
    birth: Birth,
    owner: Owner,
    /// Index of the instance among the instances of one collection that have equal names, ids, births and owners.
    nth: u32,
}

#[derive(Debug)]
struct Last {
    /// Hash of the instance's identity.
    member: u64,
    /// Number of the last collection in which the instance existed.
    round: u64,
    /// Number of further instances in the last collection whose identities differ from this one only in the index;
    /// stored with the first of these instances.
    more: u32,
    /// Last value of the instance in each column, if there ever was one.
    values: Vec<Option<u64>>,
}

impl History {
    /// Converts the history of instances to other columns: `sources` contains, for each new column, its old index.
    pub fn with_columns(mut self, sources: &[Option<usize>]) -> Self {
        for last in self.instances.values_mut() {
            let value = |source: &Option<usize>| source.and_then(|at| last.values.get(at).copied().flatten());
            last.values = sources.iter().map(value).collect();
        }
        if !self.settled.is_empty() {
            // Settled instances lack a new column. Their number is not stored, so one stands for all.
            let nothing = Gathered { lacks: 1, ..Gathered::default() };
            let settled = |source: &Option<usize>| source.and_then(|at| self.settled.get(at).cloned());
            self.settled = sources.iter().map(|at| settled(at).unwrap_or_else(|| nothing.clone())).collect();
        }
        self
    }

    /// Stores the values of some rows in the history and aggregates all last values. Returns their owner and birth, or
    /// `None` if there never was an instance.
    pub fn gather(
        &mut self,
        rows: &Rows,
        columns: &[AggregateColumn],
        gathered: &mut [Gathered],
    ) -> Option<(Owner, u64)> {
        self.round = self.round.wrapping_add(1);
        for row in 0..rows.len() {
            self.note(rows, row, columns, gathered);
        }
        self.user?;
        self.settle(columns);
        let mut birth = self.birth;
        for last in self.instances.values() {
            for ((value, column), gathered) in last.values.iter().zip(columns).zip(gathered.iter_mut()) {
                match value {
                    Some(value) => gathered.numbers = gathered.numbers.and(ValueSummary::new(*value)),
                    None => {
                        // Running instances have reported their missing values themselves.
                        let has_ended = last.round != self.round;
                        gathered.lacks = gathered.lacks.saturating_add(has_ended.into());
                        gathered.ended = gathered.ended.saturating_add(has_ended.into());
                        birth = birth.wrapping_add(column.lack(last.member));
                    }
                }
            }
        }
        for (settled, gathered) in self.settled.iter().zip(gathered) {
            gathered.numbers = gathered.numbers.and(settled.numbers);
            gathered.lacks = gathered.lacks.saturating_add(settled.lacks);
            gathered.ended = gathered.ended.saturating_add(settled.lacks);
        }
        Some((self.owner, birth))
    }

    /// Stores the values of a row in the history, and their marks.
    fn note(&mut self, rows: &Rows, row: usize, columns: &[AggregateColumn], gathered: &mut [Gathered]) {
        let (owner, Some(InstanceId(id))) = (rows.owner(row), rows.id(row)) else { return };
        if self.user.is_none() {
            (self.user, self.owner) = (Some(user(owner)), owner);
        }
        if self.user != Some(user(owner)) {
            return;
        }
        let Self { instances, sought, round, .. } = self;
        sought.name.clear();
        sought.name.extend(rows.name(row).units());
        (sought.id, sought.birth, sought.owner, sought.nth) = (id, rows.birth(row), owner, 0);
        if let Some(first) = instances.get_mut(sought) {
            first.more = if first.round == *round { first.more.saturating_add(1) } else { 0 };
            sought.nth = first.more;
        }
        if !instances.contains_key(sought) {
            let member = identity(rows, row);
            self.birth = self.birth.wrapping_add(member);
            self.owner = both(self.owner, owner);
            let values = vec![None; columns.len()];
            instances.insert(sought.clone(), Last { member, round: *round, more: 0, values });
        }
        let Some(last) = instances.get_mut(sought) else { return };
        last.round = *round;
        let mark = marks(rows, row);
        let cells = rows.cells(row).iter().zip(columns).zip(&mut last.values).zip(gathered);
        for (at, (((cell, column), value), gathered)) in cells.enumerate() {
            if !cell.is_empty() {
                *value = Some(cell.value.get() & column.mask);
                gathered.mark = stronger(gathered.mark, mark(at));
            } else {
                gathered.lack(rows.reason(row, at));
            }
        }
    }

    /// Settles the older ended instances of the history if there are too many: their values stay, their identities are
    /// forgotten.
    fn settle(&mut self, columns: &[AggregateColumn]) {
        let Self { instances, round, settled, birth, .. } = self;
        let ended = instances.values().map(|last| last.round).filter(|last| last != round);
        if ended.clone().count() <= MOST_ENDED {
            return;
        }
        let mut ended: Vec<u64> = ended.collect();
        // Half of them at once: to settle one at a time would cost this search in every collection.
        let (_, until, _) = ended.select_nth_unstable(MOST_ENDED / 2);
        let until = *until;
        settled.resize(columns.len(), Gathered::default());
        instances.retain(|_, last| {
            let stays = last.round > until;
            if !stays {
                for ((value, column), settled) in last.values.iter().zip(columns).zip(&mut *settled) {
                    match value {
                        Some(value) => settled.numbers = settled.numbers.and(ValueSummary::new(*value)),
                        None => {
                            settled.lacks = settled.lacks.saturating_add(1);
                            *birth = birth.wrapping_add(column.lack(last.member));
                        }
                    }
                }
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset_core::Aggregate;

    /// Values of all ended instances stay in the aggregate, and most of their identities are forgotten.
    #[test]
    fn it_has_an_end() {
        let mut history = History::default();
        let counter = perfset_core::CounterId(1);
        let columns =
            [AggregateColumn { function: Aggregate::Total, mask: u64::MAX, tag: 3, counter, count: None }];
        let counter = crate::tests::counter(1, "C", perfset_core::CounterType::PERF_COUNTER_BULK_COUNT, None);
        let mut rows = Rows::new([&counter]);
        let (mut sum, mut count, mut births) = (0, 0, std::collections::HashSet::new());
        for round in 0..60_u32 {
            // At first many at once, one of which never has a value; one is there all the time.
            let begin = if round == 0 { 0..5_000 } else { 0..301 };
            count += u64::from(begin.end) - u64::from(round == 0);
            rows.start();
            rows.push("steady", InstanceId(0), None).set(0, u64::from(round));
            for id in begin {
                let mut row = rows.push("a", InstanceId(round * 10_000 + id), None);
                if (round, id) != (0, 0) {
                    row.set(0, u64::from(round + id + 1));
                    sum += u128::from(round + id + 1);
                }
            }
            rows.end();
            let mut gathered = [Gathered::default()];
            let (_, birth) = history.gather(&rows, &columns, &mut gathered).unwrap();
            let [Gathered { numbers, lacks, .. }] = gathered;
            assert_eq!((numbers.count, numbers.sum, lacks), (count + 1, sum + u128::from(round), 1));
            assert_eq!((numbers.least, numbers.most), (round.min(2).into(), 5_000), "{round}");
            births.insert(birth);
            // That some are settled makes no other thing of it.
            rows.start();
            rows.push("steady", InstanceId(0), None).set(0, u64::from(round) + 7);
            rows.end();
            let mut again = [Gathered::default()];
            assert_eq!(history.gather(&rows, &columns, &mut again).unwrap().1, birth, "{round}");
            assert_eq!(again[0].numbers.sum, sum + u128::from(round) + 7);
            assert!(history.instances.len() <= 1 + MOST_ENDED, "{} are known", history.instances.len());
        }
        assert_eq!(births.len(), 60, "new ones each time");
        // Another column knows nothing of them, and says so.
        let mut history = history.with_columns(&[None]);
        let mut gathered = [Gathered::default()];
        history.gather(&rows, &columns, &mut gathered).unwrap();
        assert_eq!(gathered[0].numbers.count, 1);
        assert!(gathered[0].lacks > 1, "{}", gathered[0].lacks);
    }
}
