//! SQL views over exported files: the formatted values of each counter, as the command prints them.
//!
//! A view has three steps. The first takes each row with the one before it, of the same instance. The second computes
//! the differences of counts, which are NULL if the two rows are not compared. The third has the formulas.

use std::fmt::Write as _;

use perfset_catalogue::adds_up;
use perfset_core::counter_type::{Clock, CounterKind, ValueKind};
use perfset_core::{Counterset, formula};

use crate::layout::{ColumnKind, CounterColumn, CountersetLayout};

/// SQL dialect of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlDialect {
    /// Dialect of the engine DuckDB.
    DuckDb,
    /// Dialect of Spark, and of Sail, which takes its place.
    Spark,
    /// Dialect of ClickHouse and chDB.
    ClickHouse,
    /// Dialect of the engine DataFusion.
    DataFusion,
}

impl SqlDialect {
    /// Returns an identifier as the SQL dialect quotes it.
    fn name(self, name: &str) -> String {
        match self {
            Self::Spark | Self::ClickHouse => format!("`{}`", name.replace('`', "``")),
            Self::DuckDb | Self::DataFusion => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// Returns a text as a string literal of the SQL dialect.
    fn text(self, text: &str) -> String {
        match self {
            Self::Spark | Self::ClickHouse => {
                format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
            }
            Self::DuckDb | Self::DataFusion => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// Returns the SQL expression that converts a number to an integer in which no sum of two 64-bit numbers
    /// overflows.
    fn wide(self, number: &str) -> String {
        match self {
            Self::DuckDb => format!("CAST({number} AS HUGEINT)"),
            Self::Spark | Self::DataFusion => format!("CAST({number} AS DECIMAL(38, 0))"),
            Self::ClickHouse => format!("toInt128({number})"),
        }
    }

    /// Returns the SQL expression of 2^64 as a wide integer. DataFusion reads such a number without quotes as a
    /// double.
    fn past_64_bits(self) -> String {
        self.wide("'18446744073709551616'")
    }

    /// Returns the SQL literals of the doubles 0, 1, 100 and 1000. Spark reads numbers without a suffix as decimals.
    fn doubles(self) -> [&'static str; 4] {
        match self {
            Self::Spark => ["0.0D", "1.0D", "100.0D", "1000.0D"],
            _ => ["0.0", "1.0", "100.0", "1000.0"],
        }
    }

    fn double(self, number: &str) -> String {
        match self {
            Self::ClickHouse => format!("toFloat64({number})"),
            _ => format!("CAST({number} AS DOUBLE)"),
        }
    }

    fn before(self, column: &str) -> String {
        match self {
            // Its default is 0 for a column that has no NULL.
            Self::ClickHouse => format!("lagInFrame(toNullable({column})) OVER w"),
            _ => format!("lag({column}) OVER w"),
        }
    }

    fn window(self) -> &'static str {
        match self {
            Self::ClickHouse => " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            _ => "",
        }
    }

    /// Returns the SQL condition that the list in column `restarted` has a text.
    fn restarted(self, text: &str) -> String {
        let text = self.text(text);
        match self {
            Self::DuckDb => format!("coalesce(list_contains(restarted, {text}), FALSE)"),
            Self::Spark => format!("coalesce(array_contains(restarted, {text}), FALSE)"),
            Self::ClickHouse => format!("has(restarted, {text})"),
            Self::DataFusion => format!("coalesce(array_has(restarted, {text}), FALSE)"),
        }
    }

    /// Returns the SQL statements that must come first, and the table expression of a counterset's files.
    fn table(self, root: &str, slug: &str) -> (String, String) {
        let folder = format!("{}/counterset={slug}", root.trim_end_matches('/'));
        let files = self.text(&format!("{folder}/*/*/*.parquet"));
        match self {
            Self::DuckDb => {
                let types = "hive_types = {'host': VARCHAR, 'date': DATE}";
                let options = format!("union_by_name = true, hive_partitioning = true, {types}");
                (String::new(), format!("read_parquet({files}, {options})"))
            }
            Self::Spark => (String::new(), format!("parquet.{}", self.name(&folder))),
            Self::ClickHouse => (String::new(), format!("file({files}, 'Parquet')")),
            Self::DataFusion => {
                let table = self.name(&format!("{slug}_files"));
                let folder = self.text(&format!("{folder}/"));
                let statement = format!(
                    "CREATE EXTERNAL TABLE IF NOT EXISTS {table} STORED AS PARQUET\n\
                     PARTITIONED BY (date, host) LOCATION {folder};\n"
                );
                (statement, table)
            }
        }
    }
}

/// Returns SQL statements for the view of a counterset whose files are below `root`.
///
/// The view has host, date, time and instance of each row, and one column for each counter that has a value for users,
/// with the name of the column in the files. A value is NULL where `perfset get --log` has a reason instead of a value.
#[must_use]
pub fn view(dialect: SqlDialect, root: &str, set: &Counterset) -> String {
    let layout = CountersetLayout::of(set);
    let writer = ViewWriter { dialect, layout: &layout };
    writer.view(root)
}

/// Writer of the SQL view of one counterset.
struct ViewWriter<'a> {
    dialect: SqlDialect,
    layout: &'a CountersetLayout,
}

/// Clock of formulas: the beginning of the names of its columns, and the SQL that reads it from a row of a file.
type ViewClock = (&'static str, &'static str);

const PERF_TIME: ViewClock = ("perf_time", "coalesce(perf_time, perf_time_ns)");
const TIME_100NS: ViewClock = ("time_100ns", "time_100ns");
const OBJECT_TIME: ViewClock = ("object_time", "coalesce(object_time, time_100ns)");

/// Formula of a counter's column in a SQL view.
struct ColumnFormula<'a> {
    column: &'a CounterColumn,
    base: Option<&'a CounterColumn>,
    text: &'static str,
    clock: Clock,
    is_precise: bool,
}

impl ColumnFormula<'_> {
    fn needs_two_samples(&self) -> bool {
        self.text.contains("dN")
    }

    fn needs_base_before(&self) -> bool {
        self.text.contains("dB")
    }
}

impl<'a> ViewWriter<'a> {
    /// Returns the counters' columns that the SQL view shows, with their formulas.
    fn formulas(&self) -> Vec<ColumnFormula<'a>> {
        let columns = self.layout.columns.iter();
        let formula = |column: &'a CounterColumn| {
            let counter_type = column.counter.counter_type;
            let formula = formula::for_type(counter_type)?;
            let base = column.counter.divisor().and_then(|base| self.layout.counter_column(base));
            // A base that is not there is no value.
            let is_whole = base.is_some() || !counter_type.needs_base();
            let decoded = counter_type.decode();
            is_whole.then_some(ColumnFormula {
                column,
                base,
                text: formula.text,
                clock: decoded.clock,
                is_precise: decoded.kind == ValueKind::Counter(CounterKind::Precision),
            })
        };
        columns.filter_map(formula).filter(|of| !of.column.counter.counter_type.is_base()).collect()
    }

    fn view(&self, root: &str) -> String {
        let Self { dialect, layout } = *self;
        let (first, table) = dialect.table(root, &layout.slug);
        let formulas = self.formulas();
        let mut sql = String::new();
        comment(&mut sql, "", &format!("{}: {}", layout.name, layout.help));
        sql += &first;
        let temporary = if dialect == SqlDialect::Spark { "TEMPORARY " } else { "" };
        sql += &format!(
            "CREATE OR REPLACE {temporary}VIEW {} AS\nWITH paired AS (\n",
            dialect.name(&layout.slug)
        );
        sql += "  -- each row with the one before it, of the same instance\n  SELECT *";
        for (clock, read) in [("perf_time_ns", "perf_time_ns"), PERF_TIME, TIME_100NS, OBJECT_TIME] {
            sql += &format!(",\n    {} AS {clock}_0", dialect.before(read));
        }
        // Counts and bases whose differences are needed: several counters can share a base.
        let mut counts: Vec<&CounterColumn> = Vec::new();
        for of in &formulas {
            let count = of.needs_two_samples().then_some(of.column);
            let base = of.base.filter(|_| of.needs_base_before());
            for column in count.into_iter().chain(base) {
                if !counts.iter().any(|known| known.name == column.name) {
                    counts.push(column);
                }
            }
        }
        for column in &counts {
            let before = dialect.before(&dialect.name(&column.name));
            sql += &format!(",\n    {before} AS {}", dialect.name(&format!("{}_0", column.name)));
        }
        // By the clock that is never set. Boots and days are no partitions: `interval_ns` says what is compared.
        let frame = dialect.window();
        sql += &format!(
            "\n  FROM {table}\n  WINDOW w AS (PARTITION BY host, instance, instance_id, birth ORDER BY time_100ns, \
             perf_time_ns{frame})\n), marked AS (\n  SELECT *, coalesce({} - {} = interval_ns, FALSE) AS is_next\n  \
             FROM paired\n), differences AS (\n",
            dialect.wide("perf_time_ns"),
            dialect.wide("perf_time_ns_0")
        );
        sql += "  -- NULL across births, gaps and boots, and where a count fell\n  SELECT *,\n";
        let wide = |column: &str| dialect.wide(column);
        for (clock, read) in [PERF_TIME, TIME_100NS, OBJECT_TIME] {
            let difference = format!("{} - {}", wide(read), wide(&format!("{clock}_0")));
            let passed = dialect.double(&difference);
            sql += &format!("    CASE WHEN is_next AND {difference} > 0 THEN {passed} END AS {clock}_d,\n");
        }
        let rises = counts.iter().map(|column| {
            let name = dialect.name(&format!("{}_d", column.name));
            format!("    {} AS {name},\n", self.rise(column))
        });
        sql.extend(rises);
        sql.truncate(sql.trim_end_matches(",\n").len());
        // Comments for users, who see no catalogue.
        sql += "\n  FROM marked\n)\nSELECT host, date, time, instance, instance_id, birth";
        for of in &formulas {
            sql += ",\n";
            let column = of.column;
            let unit = if column.counter.unit.is_empty() { "no unit" } else { &*column.counter.unit };
            let counter_type = column.counter.counter_type;
            let about = format!(
                "{}: {} ({unit}, {counter_type}: {})",
                column.counter.shown_name(),
                column.counter.help,
                of.text
            );
            comment(&mut sql, "  ", &about);
            sql += &format!("  {} AS {}", self.value(of), dialect.name(&column.name));
        }
        sql += "\nFROM differences;\n";
        sql
    }

    /// Returns the SQL expression for the increase of a count; NULL if the count fell, or the two rows are not
    /// compared.
    fn rise(&self, column: &CounterColumn) -> String {
        let Self { dialect, .. } = *self;
        let (now, then) = (dialect.name(&column.name), dialect.name(&format!("{}_0", column.name)));
        let restarted = dialect.restarted(&column.name);
        let plain = dialect.double(&format!("{now} - {then}"));
        let past = format!("{} - {then} + {}", dialect.wide(&now), dialect.past_64_bits());
        // The bits of unsigned numbers: a negative one is the greater one.
        let mut cases = format!(
            "WHEN ({now} < 0) = ({then} < 0) AND {now} >= {then} THEN {plain} \
             WHEN {now} < 0 AND {then} >= 0 THEN {}",
            dialect.double(&past)
        );
        if column.counter.wraps {
            let wrapped = format!("{now} - {then} + 4294967296");
            cases += &format!(
                " WHEN {now} >= 0 AND {then} <= 4294967295 AND {wrapped} BETWEEN 0 AND 2147483647 THEN {}",
                dialect.double(&wrapped)
            );
        }
        format!("CASE WHEN NOT is_next OR {restarted} THEN NULL {cases} END")
    }

    /// Returns the SQL expression of a column's unsigned number as a wide integer.
    fn unsigned(&self, column: &str) -> String {
        let wide = self.dialect.wide(column);
        let more = self.dialect.past_64_bits();
        format!("CASE WHEN {column} < 0 THEN {wide} + {more} ELSE {wide} END")
    }

    /// Returns the SQL expression that computes the formula of a counter's column.
    fn value(&self, of: &ColumnFormula<'_>) -> String {
        let Self { dialect, .. } = *self;
        let [zero, one, hundred, thousand] = dialect.doubles();
        let column = dialect.name(&of.column.name);
        if of.column.kind == ColumnKind::Formatted {
            return column;
        }
        let real = |name: &str| dialect.double(&format!("({})", self.unsigned(name)));
        let rise = dialect.name(&format!("{}_d", of.column.name));
        let ((time, read_time), freq) = match of.clock {
            Clock::PerfTime => (PERF_TIME, "perf_freq"),
            Clock::ObjectTime => (OBJECT_TIME, "object_freq"),
            Clock::Time100Ns | Clock::Unknown => (TIME_100NS, "10000000"),
        };
        let passed = format!("{time}_d");
        let frequency = |freq: &str| format!("CASE WHEN {freq} > 0 THEN {} END", dialect.double(freq));
        let base = of.base.map(|base| dialect.name(&base.name)).unwrap_or_default();
        let base_rise = of.base.map(|base| dialect.name(&format!("{}_d", base.name))).unwrap_or_default();
        let items = || real(&base);
        // 0 is written as a product, which is NULL if the count has no difference.
        let mean = format!("CASE WHEN {base_rise} = 0 THEN {rise} * {zero} ELSE {rise} / {base_rise} END");
        let rate = format!("{rise} * ({}) / {passed}", frequency(freq));
        // In the order of operations of the library, so that results are equal to the last bit. Divisors that are not
        // positive are NULL already, except bases: nothing happened if neither they nor the counts rose.
        let value = match (of.text, of.is_precise) {
            ("N1", _) => real(&column),
            ("N1, a double", _) => column,
            ("N1 / 1000", _) => format!("{} / {thousand}", real(&column)),
            ("dN", _) => rise,
            ("dN / dD", _) => format!("{rise} / {passed}"),
            ("dN / (dD / F)", _) => rate,
            ("100 x dN / dD", _) => format!("{hundred} * {rise} / {passed}"),
            ("100 x (1 - dN / dD)", _) => format!("{hundred} * ({one} - {rise} / {passed})"),
            ("100 x (dN / (dD / F)) / B1", _) => {
                let items = items();
                format!(
                    "CASE WHEN {items} = 0 THEN ({rate}) * {zero} ELSE {hundred} * ({rate}) / {items} END"
                )
            }
            ("100 x (dN / dD) / B1", _) => {
                let (items, share) = (items(), format!("{hundred} * {rise} / {passed}"));
                format!("CASE WHEN {items} = 0 THEN ({share}) * {zero} ELSE {share} / {items} END")
            }
            ("100 x (B1 - dN / dD)", _) => {
                let (items, idle) = (items(), format!("{rise} / {passed}"));
                format!(
                    "CASE WHEN {items} = 0 THEN ({idle}) * {zero} ELSE {hundred} * ({items} - {idle}) END"
                )
            }
            // Its base is a clock.
            ("100 x dN / dB", true) => {
                format!("CASE WHEN {base_rise} > 0 THEN {hundred} * {rise} / {base_rise} END")
            }
            ("100 x dN / dB", false) => format!("{hundred} * ({mean})"),
            ("dN / dB", _) => mean,
            ("(dN / F) / dB", _) => format!("({mean}) / ({})", frequency("perf_freq")),
            ("100 x N1 / B1", _) => {
                let whole = real(&base);
                format!(
                    "CASE WHEN {base} = 0 THEN {} * {zero} ELSE {hundred} * {} / {whole} END",
                    real(&column),
                    real(&column)
                )
            }
            ("(D1 - N1) / F", _) => {
                let age = format!("{} - ({})", dialect.wide(read_time), self.unsigned(&column));
                let seconds = format!("{} / {}", dialect.double(&format!("({age})")), dialect.double(freq));
                format!(
                    "CASE WHEN {freq} <= 0 THEN NULL WHEN {column} = 0 THEN {zero} WHEN {age} >= 0 THEN {seconds} END"
                )
            }
            // No formula of this library is left.
            _ => "NULL".to_owned(),
        };
        self.limited(of, value)
    }

    /// Returns the SQL expression that limits a formatted value, for example to 100 %.
    fn limited(&self, of: &ColumnFormula<'_>, value: String) -> String {
        let counter = &of.column.counter;
        let [zero, _, hundred, _] = self.dialect.doubles();
        let mut value = value;
        if counter.caps {
            let is_sum = "instance = '_Total' OR right(instance, 7) IN (',_Total', '/_Total')";
            value = match adds_up(self.layout.guid, counter.id) {
                true => format!(
                    "CASE WHEN {value} > {hundred} AND NOT ({is_sum}) THEN {hundred} ELSE {value} END"
                ),
                false => format!("CASE WHEN {value} > {hundred} THEN {hundred} ELSE {value} END"),
            };
        }
        if counter.counter_type.decode().inverse {
            value = format!("CASE WHEN {value} < {zero} THEN {zero} ELSE {value} END");
        }
        value
    }
}

/// Appends a SQL comment of one line.
fn comment(sql: &mut String, indent: &str, text: &str) {
    // A line break would end the comment.
    let text: String = text
        .chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect();
    let _ = writeln!(sql, "{indent}-- {}", text.trim()); // a string takes everything
}

#[cfg(test)]
mod tests {
    use perfset_core::formula::FORMULAS;
    use perfset_core::{Counter, CounterType, Guid, InstanceType};

    use super::*;

    const DIALECTS: [SqlDialect; 4] =
        [SqlDialect::DuckDb, SqlDialect::Spark, SqlDialect::ClickHouse, SqlDialect::DataFusion];

    fn set_of(counter_type: CounterType, name: &str, help: &str) -> Counterset {
        let id = perfset_core::CounterId;
        let counter = Counter::new(id(1), counter_type).name(name.to_owned()).help(help.to_owned());
        let counter = if counter_type.needs_base() { counter.base(id(2)) } else { counter };
        let base = Counter::new(id(2), CounterType::PERF_LARGE_RAW_BASE);
        Counterset::new(Guid::from_u128(9), "It's a set", InstanceType::Multiple).counters([counter, base])
    }

    #[test]
    fn every_formula_has_sql() {
        for formula in FORMULAS {
            for counter_type in formula.types {
                for dialect in DIALECTS {
                    let sql = view(dialect, "lake", &set_of(*counter_type, "N", ""));
                    assert!(!sql.contains("  NULL AS"), "{counter_type}: {sql}");
                    assert_eq!(sql.matches(" AS \"n\"").count() + sql.matches(" AS `n`").count(), 1, "{sql}");
                }
            }
        }
    }

    #[test]
    fn clocks_of_other_columns_are_read_there() {
        for formula in FORMULAS {
            for counter_type in formula.types {
                for dialect in DIALECTS {
                    let sql = view(dialect, "lake", &set_of(*counter_type, "N", ""));
                    for (clock, read) in [PERF_TIME, OBJECT_TIME] {
                        let rest = sql.replace(read, "");
                        let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                        assert!(sql.contains(read) && !words.any(|word| word == clock), "{clock}: {sql}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_and_texts_end_nothing() {
        let hostile = "x\n'; DROP TABLE y; -- \u{2028}\r\"`";
        for dialect in DIALECTS {
            let sql =
                view(dialect, "la'ke\\", &set_of(CounterType::PERF_COUNTER_BULK_COUNT, hostile, hostile));
            let statements = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
            let statements = statements.collect::<Vec<_>>().join("\n");
            assert!(!statements.contains("DROP") && statements.contains("x_drop_table_y"), "{statements}");
            let ends = if dialect == SqlDialect::DataFusion { 2 } else { 1 };
            assert_eq!(statements.matches(';').count(), ends, "{statements}");
        }
        let duckdb =
            view(SqlDialect::DuckDb, "la'ke/", &set_of(CounterType::PERF_COUNTER_BULK_COUNT, "N", ""));
        assert!(duckdb.contains("read_parquet('la''ke/counterset=it_s_a_set_"), "{duckdb}");
    }

    #[test]
    fn catalogue_has_views() {
        for set in perfset_catalogue::ALL {
            let sql = view(SqlDialect::DuckDb, "lake", set);
            let shown =
                set.counters.iter().filter(|counter| formula::for_type(counter.counter_type).is_some());
            let columns = sql.lines().filter(|line| line.starts_with("  -- ") && line.ends_with(')')).count();
            assert_eq!(columns, shown.count(), "{}", set.name);
        }
    }
}
