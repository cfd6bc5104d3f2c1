//! Tables of benches, parsed from the text that the benches print.

/// Table that a bench prints.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchTable {
    /// First line of the bench table's title.
    pub title: String,
    /// Rows of the bench table, in order.
    pub rows: Vec<BenchRow>,
}

/// Row of a table that a bench prints: a measured variant with its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchRow {
    /// Name of the measured variant.
    pub name: String,
    /// Cost of one value of the variant, in ns.
    pub cost: f64,
}

/// Parses the tables in the output of a bench. Tables without times are left out.
///
/// A table is a title of one or more lines, a line of headings, and rows up to a blank line.
pub fn parse_tables(printed: &str) -> Vec<BenchTable> {
    let mut tables: Vec<BenchTable> = Vec::new();
    let mut title: Option<&str> = None;
    let mut has_head = false;
    for line in printed.lines() {
        if line.trim().is_empty() {
            (title, has_head) = (None, false);
        } else if let Some(first) = title.filter(|_| line.contains("[min .. max]")) {
            tables.push(BenchTable { title: first.to_owned(), rows: Vec::new() });
            has_head = true;
        } else if let Some(table) = tables.last_mut().filter(|_| has_head) {
            table.rows.extend(parse_row(line));
        } else {
            title = title.or(Some(line.trim_end()));
        }
    }
    tables
}

/// Parses a row of a bench's table. The row has its name, the median of a run, the shortest and the longest run in
/// brackets, the cost of a value, and ratios.
fn parse_row(line: &str) -> Option<BenchRow> {
    // Names can have brackets; behind the range there are none.
    let (range, behind) = line.rsplit_once(']')?;
    let (before, _) = range.rsplit_once('[')?;
    let (name, _median) = before.trim().rsplit_once(' ')?;
    let cost = behind.split_whitespace().next()?.parse().ok()?;
    Some(BenchRow { name: name.trim().to_owned(), cost })
}

/// Returns pairs of indexes of the tables in two runs of a bench that belong together; `None` for a table without a
/// counterpart.
///
/// Those of the same title first, then in order those whose titles differ in numbers alone: numbers of processes or
/// bytes can differ from run to run.
pub fn paired(before: &[BenchTable], after: &[BenchTable]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut of_after: Vec<Option<usize>> = vec![None; after.len()];
    let mut is_taken = vec![false; before.len()];
    let same = |a: &BenchTable, b: &BenchTable| a.title == b.title;
    let alike = |a: &BenchTable, b: &BenchTable| without_numbers(&a.title) == without_numbers(&b.title);
    for is_pair in [&same as &dyn Fn(&BenchTable, &BenchTable) -> bool, &alike] {
        for (table, other) in after.iter().zip(&mut of_after).filter(|(_, other)| other.is_none()) {
            let mut free = before.iter().enumerate().filter(|(at, _)| !is_taken[*at]);
            let found = free.find(|(_, candidate)| is_pair(candidate, table)).map(|(at, _)| at);
            if let Some(at) = found {
                is_taken[at] = true;
                *other = Some(at);
            }
        }
    }
    let alone = (0..before.len()).filter(|at| !is_taken[*at]).map(|at| (Some(at), None));
    of_after.into_iter().zip(0..).map(|(other, at)| (other, Some(at))).chain(alone).collect()
}

/// Returns the title of a bench's table with a `#` in place of each number.
fn without_numbers(title: &str) -> String {
    let mut text = String::new();
    for c in title.chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if c != '#' || !text.ends_with('#') {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(title: &str) -> BenchTable {
        BenchTable { title: title.to_owned(), rows: Vec::new() }
    }

    /// Checks the parsing of tables as benches print them. The tables have goals, a title of several lines, names
    /// with brackets and numbers; one has no times.
    #[test]
    fn printed_tables_are_parsed() {
        let tables = parse_tables(include_str!("testdata/after.txt"));
        let named: Vec<_> = tables.iter().map(|table| (table.title.as_str(), table.rows.len())).collect();
        assert_eq!(
            named,
            [
                ("decode: 64 instances x 32 counters of 8 bytes, 34560 bytes", 3),
                (r"path: \Memory\Available Bytes, 3 entries:", 2),
                ("process: 10171 processes, 5 % ran", 1),
            ]
        );
        let row = |name: &str, cost| BenchRow { name: name.to_owned(), cost };
        assert_eq!(
            tables[0].rows,
            [
                row("memcpy of the block", 0.1042),
                row("v2::Block, iterator chain", 0.8000),
                row("v2::Block, for loop", 1.2345),
            ]
        );
        assert_eq!(tables[1].rows[0], row("pread of /proc/stat [twice], position parser (floor)", 5408.42));
        assert_eq!(tables[1].rows[1].name, "PathQuery::collect, 18 counters");
        assert_eq!(tables[2].rows[0], row("Query::collect", 600.0));
    }

    #[test]
    fn rows_that_cannot_be_read_are_left_out() {
        for line in
            ["", "  name", "  name 1 [2 .. 3]", "  name 1 2 .. 3] 4", "[1 .. 2] 3", "  name 1 [2 .. 3] x"]
        {
            assert_eq!(parse_row(line), None, "{line}");
        }
        assert!(
            parse_tables("a heading without a title\n\n  [min .. max] ns/value\n  name 1 [1 .. 2] 3\n")
                .is_empty()
        );
    }

    #[test]
    fn tables_are_paired_by_title_and_then_without_numbers() {
        let before = ["a: 1 x", "a: 64 x", "b: 7 processes", "old"].map(table);
        let after = ["a: 64 x", "a: 100 x", "b: 12 processes", "new"].map(table);
        assert_eq!(
            paired(&before, &after),
            [(Some(1), Some(0)), (Some(0), Some(1)), (Some(2), Some(2)), (None, Some(3)), (Some(3), None),]
        );
    }
}
