//! Running counts of aggregates, stored from collection to collection.

use std::collections::HashMap;
use std::num::NonZeroU64;

use perfset_core::{CounterId, InstanceId, NoValue};

use super::{AggregateColumn, User, identity, marks};
use crate::filters::InstanceFilter;
use crate::rows::Rows;
use crate::total::{Member, Reading, Totals};

#[cfg(test)]
mod tests;

/// Running counts of all aggregates of one counterset in one query.
#[derive(Debug, Default)]
pub(super) struct Counts {
    totals: HashMap<Of, AggregateTotals>,
    /// Key of the aggregate that is being looked up. The memory is reused, so that a lookup allocates nothing.
    sought: Of,
    /// Instance filters used in the last [`FILTER_ROUNDS`] collections, each once.
    filters: Vec<Selection>,
    next_filter: u64,
    now_100ns: u64,
    /// Number of collections of the query so far.
    round: u64,
}

/// Number of collections without use after which an instance filter and its counts are forgotten.
///
/// A program might use a new filter in each collection: this limits the number of stored ones.
const FILTER_ROUNDS: u64 = 60;

/// Key of an aggregate: the instances that it adds up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Of {
    user: User,
    /// Name of the aggregated instances in upper case; empty if the aggregate is not of one name.
    name: Vec<u16>,
    /// [`Selection::key`] of the filter that selects the aggregated instances; `None` if all instances are added up.
    filter: Option<u64>,
}

/// Filter that selects the instances of aggregates, with its key.
#[derive(Debug)]
struct Selection {
    /// Key of the instance filter, which no other filter of these counts ever has.
    key: u64,
    filter: InstanceFilter,
    /// Number of the collection that used the instance filter last.
    round: u64,
}

/// Totals of one aggregate.
#[derive(Debug)]
struct AggregateTotals {
    /// Time of the last collection of this aggregate, in terms of PerfTime100NSec.
    time_100ns: u64,
    round: u64,
    totals: Totals<CounterId>,
}

impl Counts {
    /// Begins a collection of aggregates; `now_100ns` is its time in terms of PerfTime100NSec.
    ///
    /// Aggregates of a name without instances are forgotten, because the number of names has no bound. Filters are
    /// forgotten after [`FILTER_ROUNDS`] collections without use, for the same reason. Other aggregates are forgotten
    /// after [`Totals::KEPT_100NS`] without use.
    pub fn start(&mut self, now_100ns: u64) {
        let (before, now) = (self.round, now_100ns);
        let Self { totals, filters, .. } = self;
        filters.retain(|known| before.saturating_sub(known.round) < FILTER_ROUNDS);
        totals.retain(|of, kept| {
            let has_filter = of.filter.is_none_or(|key| filters.iter().any(|known| known.key == key));
            has_filter
                && match of.name.is_empty() {
                    true => now.saturating_sub(kept.time_100ns) <= Totals::<CounterId>::KEPT_100NS,
                    false => kept.round == before,
                }
        });
        (self.round, self.now_100ns) = (before.wrapping_add(1), now);
    }

    /// Adds the counts of some rows to their aggregate and returns the totals of the aggregate.
    ///
    /// `of` is the key of the aggregate: user, name (empty: all names) and filter that selects the rows.
    pub fn collect(
        &mut self,
        rows: &Rows,
        members: impl Iterator<Item = usize>,
        of: (User, impl Iterator<Item = u16>, Option<&InstanceFilter>),
        columns: &[AggregateColumn],
    ) -> Option<&mut Totals<CounterId>> {
        columns.iter().find(|column| column.count.is_some())?;
        let Self { totals: aggregates, sought, filters, next_filter, now_100ns, round } = self;
        let (user, name, filter) = of;
        sought.user = user;
        sought.name.clear();
        sought.name.extend(name);
        sought.filter = filter.map(|filter| {
            if let Some(known) = filters.iter_mut().find(|known| known.filter == *filter) {
                known.round = *round;
                return known.key;
            }
            let key = *next_filter;
            *next_filter = key.wrapping_add(1);
            filters.push(Selection { key, filter: filter.clone(), round: *round });
            key
        });
        if !aggregates.contains_key(sought) {
            // Any collection except this one, so that the rows are added up below.
            let never = round.wrapping_sub(1);
            aggregates.insert(
                sought.clone(),
                AggregateTotals { time_100ns: 0, round: never, totals: Totals::default() },
            );
        }
        let AggregateTotals { time_100ns, round: collected, totals } = aggregates.get_mut(sought)?;
        // Two filters can select the same aggregate.
        if std::mem::replace(collected, *round) != *round {
            *time_100ns = *now_100ns;
            totals.start(*now_100ns);
            add_up(rows, members, columns, totals);
        }
        Some(totals)
    }
}

/// Adds the counts of the rows with the indexes `members` to the totals of an aggregate.
fn add_up(
    rows: &Rows,
    members: impl Iterator<Item = usize>,
    columns: &[AggregateColumn],
    totals: &mut Totals<CounterId>,
) {
    // All of them, in order of the columns: the index in `count` is the position in this list.
    for column in columns {
        let Some((_, sum)) = column.count else { continue };
        totals.want(column.counter, sum);
    }
    for row in members {
        let member = Member {
            birth: NonZeroU64::new(identity(rows, row)),
            id: rows.id(row).map_or(0, |InstanceId(id)| id),
            name: 0, // the birth contains it
            parent: 0,
        };
        // An instance with an unknown start might have counted before: that must not be added.
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
