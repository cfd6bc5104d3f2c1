//! The counts of aggregates: what is kept of each of them from collection to collection.

use std::collections::HashMap;
use std::num::NonZeroU64;

use perfset_core::{CounterId, InstanceId, NoValue};

use super::{Column, User, identity, marks};
use crate::filters::InstanceFilter;
use crate::rows::Rows;
use crate::total::{Member, Reading, Totals};

#[cfg(test)]
mod tests;

/// The counts of all aggregates of one counterset in one query.
#[derive(Debug, Default)]
pub(super) struct Counts {
    known: HashMap<Of, Kept>,
    /// What is looked for: kept, so that looking allocates nothing.
    sought: Of,
    /// The filters that aggregates were of, each once.
    filters: Vec<InstanceFilter>,
    now_100ns: u64,
    /// Counts collections.
    round: u64,
}

/// What an aggregate is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Of {
    user: User,
    /// If it is of one name: in upper case.
    name: Vec<u16>,
    /// If it is of what a filter selects: which.
    filter: Option<usize>,
}

#[derive(Debug)]
struct Kept {
    /// When it was put together last.
    time_100ns: u64,
    round: u64,
    totals: Totals<CounterId>,
}

impl Counts {
    /// Begins a collection, at that time in terms of PerfTime100NSec. Aggregates of names that have gone are forgotten,
    /// as there is no end to names; others after as long a time as any count is.
    pub fn start(&mut self, now_100ns: u64) {
        let (before, now) = (self.round, now_100ns);
        self.known.retain(|of, kept| match of.name.is_empty() {
            true => now.saturating_sub(kept.time_100ns) <= Totals::<CounterId>::KEPT_100NS,
            false => kept.round == before,
        });
        (self.round, self.now_100ns) = (before.wrapping_add(1), now);
    }

    /// The counts of these rows: of that user, and if it says so of that name, or of what that filter selects.
    pub fn collect(
        &mut self,
        rows: &Rows,
        members: impl Iterator<Item = usize>,
        of: (User, impl Iterator<Item = u16>, Option<&InstanceFilter>),
        columns: &[Column],
    ) -> Option<&mut Totals<CounterId>> {
        columns.iter().find(|column| column.count.is_some())?;
        let Self { known, sought, filters, now_100ns, round } = self;
        let (user, name, filter) = of;
        sought.user = user;
        sought.name.clear();
        sought.name.extend(name);
        sought.filter = filter.map(|filter| {
            filters.iter().position(|known| known == filter).unwrap_or_else(|| {
                filters.push(filter.clone());
                filters.len().saturating_sub(1)
            })
        });
        if !known.contains_key(sought) {
            let never = round.wrapping_sub(1);
            known.insert(sought.clone(), Kept { time_100ns: 0, round: never, totals: Totals::default() });
        }
        let Kept { time_100ns, round: collected, totals } = known.get_mut(sought)?;
        // Two filters may select the same.
        if std::mem::replace(collected, *round) != *round {
            *time_100ns = *now_100ns;
            totals.start(*now_100ns);
            add_up(rows, members, columns, totals);
        }
        Some(totals)
    }
}

/// Adds the counts of these rows to totals.
fn add_up(
    rows: &Rows,
    members: impl Iterator<Item = usize>,
    columns: &[Column],
    totals: &mut Totals<CounterId>,
) {
    for column in columns {
        let Some((_, sum)) = column.count else { continue };
        totals.want(column.counter, sum);
    }
    for row in members {
        let member = Member {
            birth: NonZeroU64::new(identity(rows, row)),
            id: rows.id(row).map_or(0, |InstanceId(id)| id),
            name: 0, // it is in that number
        };
        // Of which nobody knows when it began, that may have a past.
        totals.row(member, rows.began_100ns(row).or(Some(0)));
        let mark = marks(rows, row);
        for (at, (cell, column)) in rows.cells(row).iter().zip(columns).enumerate() {
            let Some((place, _)) = column.count else { continue };
            let reading = match cell.is_empty() {
                false => Reading::Value(cell.value.get() & column.mask, mark(at)),
                true => Reading::None(rows.reason(row, at).unwrap_or(&NoValue::NotGiven)),
            };
            totals.add(place, reading);
        }
    }
    totals.end();
}
