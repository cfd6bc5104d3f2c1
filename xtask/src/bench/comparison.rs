//! Comparison of the costs of two commits in a bench, row by row, over several runs.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::bench::tables::{BenchTable, paired};

/// Costs of the rows of a bench's tables, in another commit and in the working tree.
pub struct CommitComparison<'a> {
    /// Name of the commit with which the working tree is compared.
    commit: &'a str,
    /// Titles of the bench's tables in the first run of the working tree.
    titles: Vec<String>,
    /// Costs of rows by the indexes of table and row in the runs of the working tree.
    rows: BTreeMap<(usize, usize), PairedRow>,
    /// Names of tables and rows that only the other commit has, in its first run.
    only_before: Vec<String>,
    /// Names of tables and rows that only the working tree has, in its first run.
    only_after: Vec<String>,
}

/// Costs of a table row that both the commit and the working tree have.
#[derive(Default)]
struct PairedRow {
    name: String,
    before: Vec<f64>,
    after: Vec<f64>,
    /// Ratios of the working tree's cost to that of the other commit, of two consecutive runs.
    ratios: Vec<f64>,
}

impl<'a> CommitComparison<'a> {
    /// Creates a comparison of two commits without runs.
    pub fn new(commit: &'a str) -> Self {
        Self {
            commit,
            titles: Vec::new(),
            rows: BTreeMap::new(),
            only_before: Vec::new(),
            only_after: Vec::new(),
        }
    }

    /// Adds a run of the bench in the other commit and one in the working tree.
    pub fn add(&mut self, before: &[BenchTable], after: &[BenchTable]) {
        let is_first = self.titles.is_empty();
        if is_first {
            self.titles = after.iter().map(|table| table.title.clone()).collect();
        }
        let mut alone = [Vec::new(), Vec::new()];
        for pair in paired(before, after) {
            match pair {
                (Some(old), Some(new)) => self.add_rows(&before[old], (new, &after[new]), &mut alone),
                (Some(old), None) => alone[0].push(before[old].title.clone()),
                (None, Some(new)) => alone[1].push(after[new].title.clone()),
                (None, None) => {}
            }
        }
        if is_first {
            [self.only_before, self.only_after] = alone;
        }
    }

    fn add_rows(
        &mut self,
        before: &BenchTable,
        (index, after): (usize, &BenchTable),
        [only_before, only_after]: &mut [Vec<String>; 2],
    ) {
        let mut is_taken = vec![false; before.rows.len()];
        let place = |table: &BenchTable, name: &str| format!("{} / {name}", table.title);
        for (at, row) in after.rows.iter().enumerate() {
            // Of several rows of one name, the first that is left.
            let mut free = before.rows.iter().enumerate().filter(|(at, _)| !is_taken[*at]);
            let Some((other, old)) = free.find(|(_, old)| old.name == row.name) else {
                only_after.push(place(after, &row.name));
                continue;
            };
            is_taken[other] = true;
            let paired = self.rows.entry((index, at)).or_default();
            paired.name.clone_from(&row.name);
            paired.before.push(old.cost);
            paired.after.push(row.cost);
            paired.ratios.push(row.cost / old.cost);
        }
        let rows = before.rows.iter().zip(is_taken).filter(|(_, is_taken)| !is_taken);
        only_before.extend(rows.map(|(row, _)| place(before, &row.name)));
    }
}

impl Display for CommitComparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.values().map(|row| row.name.len()).max().unwrap_or(0);
        for (index, title) in self.titles.iter().enumerate() {
            let rows: Vec<_> =
                self.rows.range((index, 0)..=(index, usize::MAX)).map(|(_, row)| row).collect();
            if rows.is_empty() {
                continue;
            }
            writeln!(f, "{title}")?;
            writeln!(f, "  {:width$} {:>12} {:>12}  ratio  [min .. max]", "ns", self.commit, "here")?;
            for PairedRow { name, before, after, ratios } in rows {
                let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
                let most = ratios.iter().copied().fold(0.0, f64::max);
                let [before, after, ratio] = [before, after, ratios].map(|numbers| median(numbers));
                writeln!(
                    f,
                    "  {name:width$} {before:>12.4} {after:>12.4}  {ratio:>5.3}  [{least:.3} .. {most:.3}]"
                )?;
            }
            writeln!(f)?;
        }
        let lists = [(self.commit, &self.only_before), ("the working tree", &self.only_after)];
        for (name, only) in lists.into_iter().filter(|(_, only)| !only.is_empty()) {
            writeln!(f, "only in {name}:")?;
            only.iter().try_for_each(|row| writeln!(f, "  {row}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

fn median(numbers: &[f64]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tables::parse_tables;

    /// Checks the comparison of two commits, each with a table and a row that the other lacks, and with other
    /// numbers.
    #[test]
    fn rows_are_compared_by_table_and_name() {
        let before = parse_tables(include_str!("testdata/before.txt"));
        let after = parse_tables(include_str!("testdata/after.txt"));
        let mut comparison = CommitComparison::new("b2888f3");
        comparison.add(&before, &after);
        // The machine is slower in the second turn, in both runs: the ratios stay.
        let slower = |tables: &[BenchTable]| {
            let mut tables = tables.to_vec();
            tables.iter_mut().flat_map(|table| &mut table.rows).for_each(|row| row.cost *= 3.0);
            tables
        };
        comparison.add(&slower(&before), &slower(&after));
        assert_eq!(comparison.to_string(), include_str!("testdata/compared.txt"));
    }
}
