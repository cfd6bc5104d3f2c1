//! Limit of the lines in a scrape: selects the lines that are written if there are too many.
//!
//! Lines are counted, not rows. A counterset with few lines is written whole; those with many are cut. In a cut
//! counterset, the lines of the most specific paths, which have the fewest instances, are written first.

use crate::family::{Family, FamilyMember};
use crate::table::CountersetTable;

/// Selects the lines to omit from a scrape: sets for each table the rank of rows at which it is cut, and the lines at
/// that rank.
pub(crate) fn limit(tables: &mut [CountersetTable], families: &mut [Family], most: usize) {
    let mut upper = 0_usize;
    for table in &mut *tables {
        (table.cut, table.dropped) = (None, 0);
    }
    for member in families.iter().flat_map(|family| &family.members) {
        let Some(table) = tables.get_mut(member.table) else { continue };
        // An upper limit, which costs no look at the values. Rows without a value have no line.
        upper = upper.saturating_add(table.kept.len());
        let lost = table.twins.iter().filter(|row| member.rank(table, **row).is_some()).count();
        table.dropped = table.dropped.saturating_add(lost);
    }
    if upper <= most {
        return; // as nearly always, and nothing has to be counted
    }
    tables.iter_mut().for_each(CountersetTable::clear_lines);
    for member in families.iter().flat_map(|family| &family.members) {
        let Some(table) = tables.get_mut(member.table) else { continue };
        for at in 0..table.kept.len() {
            let rank = table.kept.get(at).and_then(|row| member.rank(table, *row));
            let lines = rank.and_then(|rank| table.lines.get_mut(rank));
            lines.into_iter().for_each(|lines| *lines = lines.saturating_add(1));
        }
    }
    let mut division = FairShare::new(tables.iter().map(demand), most);
    for (at, table) in tables.iter_mut().enumerate() {
        let mut left = division.share(demand(table));
        table.dropped = table.dropped.saturating_add(demand(table).saturating_sub(left));
        table.cut = table.lines.iter().position(|lines| match left.checked_sub(*lines) {
            Some(less) => {
                left = less;
                false
            }
            None => true,
        });
        if table.cut.is_some() {
            cut(table, at, families, left);
        }
    }
}

/// Divides a table's remaining lines, at the rank of rows at which the table is cut, among the table's family
/// members.
fn cut(table: &CountersetTable, at: usize, families: &mut [Family], left: usize) {
    let is_last = |member: &FamilyMember, row: usize| member.rank(table, row) == table.cut;
    for member in families.iter_mut().flat_map(|family| &mut family.members) {
        // `at_cut` first contains the demand, because each share depends on all demands.
        if member.table == at {
            member.at_cut = table.kept.iter().filter(|row| is_last(member, **row)).count();
        }
    }
    let members = families.iter().flat_map(|family| &family.members).filter(|member| member.table == at);
    let mut division = FairShare::new(members.map(|member| member.at_cut), left);
    for member in families.iter_mut().flat_map(|family| &mut family.members) {
        if member.table == at {
            member.at_cut = division.share(member.at_cut);
        }
    }
}

/// Returns the number of lines that a table could have in the scrape.
fn demand(table: &CountersetTable) -> usize {
    table.lines.iter().fold(0, |all, lines| all.saturating_add(*lines))
}

/// Fair division of a number of lines among demands: small demands are met in full, and larger ones get equal shares
/// of the rest.
struct FairShare {
    /// Number of lines for each demand that is larger than this number.
    each: usize,
    /// Number of the larger demands that get one line more than `each`.
    more: usize,
}

impl FairShare {
    fn new(demands: impl Iterator<Item = usize> + Clone, most: usize) -> Self {
        let sum = |each: usize| demands.clone().fold(0_usize, |all, some| all.saturating_add(some.min(each)));
        let (mut each, mut high) = (0_usize, demands.clone().max().unwrap_or_default());
        while each < high {
            // Rounded up: otherwise `each` would not advance once it is next to `high`.
            let middle = high.saturating_sub(high.saturating_sub(each) / 2);
            match sum(middle) <= most {
                true => each = middle,
                false => high = middle.saturating_sub(1),
            }
        }
        Self { each, more: most.saturating_sub(sum(each)) }
    }

    /// Returns the number of lines that the next demand gets.
    fn share(&mut self, demand: usize) -> usize {
        let Some(over) = demand.checked_sub(self.each) else { return demand };
        let one = over.min(self.more).min(1);
        self.more = self.more.saturating_sub(one);
        self.each.saturating_add(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_demands_are_whole() {
        let table: [(&[usize], usize, &[usize]); 8] = [
            (&[], 7, &[]),
            (&[3, 5], 8, &[3, 5]),
            (&[3, 5], 7, &[3, 4]),
            (&[1_000_000, 5, 7], 20, &[8, 5, 7]),
            (&[100, 100, 2], 13, &[6, 5, 2]),
            (&[1, 1, 1], 2, &[1, 1, 0]),
            (&[usize::MAX, 5, usize::MAX], 20, &[8, 5, 7]),
            (&[3, 5], 0, &[0, 0]),
        ];
        for (demands, most, want) in table {
            let mut division = FairShare::new(demands.iter().copied(), most);
            let shares: Vec<_> = demands.iter().map(|demand| division.share(*demand)).collect();
            assert_eq!(shares, want, "{demands:?} {most}");
        }
    }
}
