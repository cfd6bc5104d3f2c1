//! Table output: samples as lines or blocks of a table, for users.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use perfset_core::Guid;
use perfset_core::clock::ClockReading;
use perfset_engine::path::{CounterPath, PathValue};

use crate::blocks::Blocks;
use crate::form::{CellForm, NumberForm};
use crate::notes::{notes_by_counter, sentences};
use crate::output::{Output, OutputSample};
use crate::path_names::{counter_name, instance_name};
use crate::rows::{InstanceTable, RowOrder};
use crate::selection::selects_instances;
use crate::series::SeriesKey;
use crate::text::{push_padded, push_sentences};
use crate::writer::SampleWriter;

/// Writer of samples as tables.
///
/// A series of samples whose values fit into a line has a line for each sample, below a head. Every other sample is a
/// block for each counterset, with a row for each instance and a column for each counter. A counterset with a single
/// instance has a row for each counter.
#[derive(Debug)]
pub struct Table<'w> {
    out: SampleWriter<'w>,
    options: TableOptions,
    paths: Vec<CounterPath>,
    /// `true` if each sample may be a line of the table: each path selects one instance, the same in all samples.
    may_be_lines: bool,
    /// Buffer for the text of one sample of the table.
    text: String,
    /// Buffer for the text of one cell of the table.
    cell: String,
    /// Columns of the table; `None` if their head is not printed.
    columns: Option<TableHead>,
    /// Reasons for missing values printed below the line of the last sample; equal ones are not printed again.
    printed_reasons: Vec<(String, String)>,
    /// Last remarks below the block of each counterset; equal ones are not printed again.
    notes: HashMap<Guid, Vec<String>>,
    /// Last sentences about values that are left out; equal ones are not printed again.
    left_out: Vec<String>,
    /// Minute of UTC, and the text with which local times in that minute begin.
    minute: Option<(i64, String)>,
}

/// Head of a table with a line for each sample.
#[derive(Debug)]
struct TableHead {
    columns: Vec<TableColumn>,
    /// Lines of the head, which are printed again for each screenful.
    text: String,
    /// Number of lines printed since the last head, including the head.
    lines: usize,
}

/// Column of a table: one counter of one instance.
#[derive(Debug)]
struct TableColumn {
    series: SeriesKey,
    width: usize,
}

/// Options of a [`Table`].
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Form of the table's numbers: formatted or raw values.
    pub form: NumberForm,
    /// `true` to print the table's numbers in short form, such as `23.7 MiB`; raw values are always exact.
    pub is_human: bool,
    /// `true` if the table gets several samples: if their values fit into a line, each sample is a line.
    pub is_series: bool,
    /// `true` if the values are a ranking, which has a row for each instance.
    pub is_ranking: bool,
    /// Order of the instances in each block of the table.
    pub order: RowOrder,
    /// `true` if the table's values were recorded earlier: then times contain the day.
    pub is_recorded: bool,
    /// Time zone of the times that the table shows.
    pub zone: TimeZone,
    /// Maximum number of characters in a line of the table.
    pub width: usize,
    /// Number of lines of the terminal: heads are repeated for each screenful, and long names are cut. `None` if the
    /// output is no terminal.
    pub height: Option<usize>,
}

impl Default for TableOptions {
    /// Returns the options of a table of live formatted values, with local times and lines of 80 characters.
    fn default() -> Self {
        Self {
            form: NumberForm::Formatted,
            is_human: false,
            is_series: false,
            is_ranking: false,
            order: RowOrder::default(),
            is_recorded: false,
            zone: TimeZone::system(),
            width: 80,
            height: None,
        }
    }
}

impl<'w> Table<'w> {
    /// Creates the table output for values of these paths.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, options: TableOptions, paths: &[CounterPath]) -> Self {
        let may_be_lines = options.is_series && !options.is_ranking && !paths.iter().any(selects_instances);
        Self {
            out,
            options,
            paths: paths.to_vec(),
            may_be_lines,
            text: String::new(),
            cell: String::new(),
            columns: None,
            printed_reasons: Vec::new(),
            notes: HashMap::new(),
            left_out: Vec::new(),
            minute: None,
        }
    }

    fn cell_form(&self) -> CellForm {
        CellForm { form: self.options.form, is_human: self.options.is_human }
    }

    /// Appends a sample as one line of the table or, if that is not possible, as blocks.
    fn table(&mut self, sample: &OutputSample<'_>, values: &[&PathValue<'_>], text: &mut String) {
        /// Minimum width in characters of a column of the table.
        const COLUMN_LEN: usize = 16;
        let clocks = sample.clocks;
        let fits = self.may_be_lines && values.len().saturating_mul(COLUMN_LEN) <= self.options.width;
        let is_as_before = fits
            && self.columns.as_ref().is_some_and(|head| {
                head.columns.len() == values.len()
                    && head.columns.iter().zip(values).all(|(column, v)| column.series.is_of(v.path, v))
            });
        if !is_as_before && (!fits || !self.head(clocks, values, text)) {
            return self.blocks(sample, text);
        }
        let mut head = self.columns.take();
        if let Some(head) = &mut head {
            // One line is left for the next prompt.
            if self.options.height.is_some_and(|height| head.lines.saturating_add(1) >= height) {
                text.push_str(&head.text);
                head.lines = head.text.lines().count();
            }
            head.lines = head.lines.saturating_add(1);
        }
        self.push_local_time(clocks, text);
        let (form, mut cell) = (self.cell_form(), std::mem::take(&mut self.cell));
        for (v, column) in values.iter().zip(head.iter().flat_map(|head| &head.columns)) {
            cell.clear();
            form.push_cell(v, true, &mut cell);
            let blanks = column.width.saturating_sub(cell.chars().count()).saturating_add(2);
            text.extend(std::iter::repeat_n(' ', blanks));
            text.push_str(&cell);
        }
        self.cell = cell;
        self.columns = head;
        text.push('\n');
        self.reasons(values, text);
    }

    /// Appends a sample to the table as blocks, one for each counterset, with the remarks below each block if they
    /// have changed.
    fn blocks(&mut self, sample: &OutputSample<'_>, text: &mut String) {
        let time = self.local_time(sample.clocks);
        let blocks = Blocks {
            cell: self.cell_form(),
            width: self.options.width,
            height: self.options.height,
            order: &self.options.order,
        };
        for machine in sample.machines {
            for mut table in InstanceTable::of_machine(machine, &self.paths) {
                blocks.push(&time, &mut table, text);
                if !table.counterset.instance_type.is_multiple() {
                    continue;
                }
                let notes = sentences(&table, self.options.form, sample.left_out.is_some());
                let last = self.notes.entry(table.counterset.guid).or_default();
                if *last != notes {
                    push_sentences(text, &notes, self.options.width);
                    *last = notes;
                }
            }
        }
    }

    /// Appends the sentences about values that are left out, if they have changed.
    fn left_out(&mut self, sample: &OutputSample<'_>, is_alone: bool, text: &mut String) {
        let Some(left_out) = sample.left_out else { return };
        let left_out = left_out.sentences();
        if left_out == self.left_out {
            return;
        }
        if is_alone && !left_out.is_empty() {
            self.push_local_time(sample.clocks, text);
            text.push('\n');
        }
        push_sentences(text, &left_out, self.options.width);
        self.left_out = left_out;
    }

    /// Appends the head of a table: counter, instance and unit of each column. Returns `false`, with nothing appended,
    /// if the table would be too wide.
    fn head(&mut self, clocks: &ClockReading, values: &[&PathValue<'_>], text: &mut String) -> bool {
        let form = self.cell_form();
        let time_width = self.local_time(clocks).len();
        let heads: Vec<[String; 3]> =
            values.iter().map(|v| [counter_name(v), instance_name(v), form.unit(v.value.counter)]).collect();
        // Room for growing values: a rate that is 0 now might be millions in the next second.
        let width = |head: &[String; 3]| head.iter().map(|text| text.chars().count()).fold(14, usize::max);
        let widths: Vec<_> = heads.iter().map(width).collect();
        let total = widths.iter().fold(time_width, |sum, width| sum.saturating_add(*width).saturating_add(2));
        if total > self.options.width {
            self.columns = None;
            return false;
        }
        let mut lines = [format!("{:time_width$}", "time"), " ".repeat(time_width), " ".repeat(time_width)];
        for (head, width) in heads.iter().zip(&widths) {
            for (line, part) in lines.iter_mut().zip(head) {
                let _ = write!(line, "  {part:>width$}"); // a String takes everything
            }
        }
        let lines = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty());
        let head: String = lines.flat_map(|line| [line, "\n"]).collect();
        text.push_str(&head);
        let column =
            |(v, width): (&&PathValue<'_>, usize)| TableColumn { series: SeriesKey::new(v.path, v), width };
        let columns = values.iter().zip(widths).map(column).collect();
        self.columns = Some(TableHead { columns, lines: head.lines().count(), text: head });
        true
    }

    /// Appends below a line the reasons for missing values, and the marks, if they differ from those of the previous
    /// line.
    fn reasons(&mut self, values: &[&PathValue<'_>], text: &mut String) {
        let reasons = notes_by_counter(self.options.form, values);
        if reasons != self.printed_reasons {
            for (counter, reason) in &reasons {
                let _ = writeln!(text, "  {counter}: {reason}"); // a String takes everything
            }
            self.printed_reasons = reasons;
        }
    }

    fn local_time(&mut self, clocks: &ClockReading) -> String {
        let mut time = String::new();
        self.push_local_time(clocks, &mut time);
        time
    }

    /// Appends the local time of a sample. Recorded samples get the day as well.
    fn push_local_time(&mut self, clocks: &ClockReading, out: &mut String) {
        const MINUTE: i64 = 60_000;
        let ms = clocks.unix_ms();
        let (minute, in_minute) = (ms.div_euclid(MINUTE), ms.rem_euclid(MINUTE));
        if self.minute.as_ref().is_none_or(|(known, _)| *known != minute) {
            let start =
                Timestamp::from_millisecond(minute.saturating_mul(MINUTE)).unwrap_or(Timestamp::UNIX_EPOCH);
            let start = start.to_zoned(self.options.zone.clone());
            let format = if self.options.is_recorded { "%Y-%m-%d %H:%M:" } else { "%H:%M:" };
            // In all time zones of today, minutes begin with those of UTC. Other historic offsets are formatted in
            // full.
            self.minute = (start.second() == 0).then(|| (minute, start.strftime(format).to_string()));
        }
        match &self.minute {
            Some((_, prefix)) => {
                out.push_str(prefix);
                push_padded(out, in_minute.wrapping_div(1_000), 2);
                out.push('.');
                push_padded(out, in_minute.rem_euclid(1_000), 3);
            }
            None => {
                let format = if self.options.is_recorded { "%Y-%m-%d %H:%M:%S.%3f" } else { "%H:%M:%S.%3f" };
                let time = timestamp(clocks).to_zoned(self.options.zone.clone());
                let _ = write!(out, "{}", time.strftime(format)); // a String takes everything
            }
        }
    }
}

impl Output for Table<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let values: Vec<&PathValue<'_>> = sample.values().collect();
        // A line with a time and no value has no information.
        let is_alone = values.is_empty() && sample.left_out.is_some();
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        if !is_alone {
            self.table(sample, &values, &mut text);
        }
        self.left_out(sample, is_alone, &mut text);
        self.out.push(&text);
        self.text = text;
        self.out.end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.finish()
    }

    fn shows_left_out(&self) -> bool {
        true
    }
}

/// Returns the time of a sample that the table displays.
fn timestamp(clocks: &ClockReading) -> Timestamp {
    Timestamp::from_millisecond(clocks.unix_ms()).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use perfset_core::{CounterId, CounterType, Counterset, InstanceType, NoValue};
    use perfset_engine::Machine;
    use perfset_engine::path::PathQuery;
    use perfset_engine::testing::{FixedClock, ScriptRow, Scripted};

    use super::*;
    use crate::output::MachineValues;

    /// Returns a counterset for tests with counters for a size, a rate and an id.
    fn things() -> Counterset {
        let counter = |id, counter_type, name: &'static str, unit: &'static str| {
            perfset_core::Counter::new(CounterId(id), counter_type).name(name).unit(unit).source("a test")
        };
        Counterset::new(Guid::from_u128(1), "Things", InstanceType::Multiple).counters(vec![
            counter(1, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "Size", "By"),
            counter(2, CounterType::PERF_COUNTER_BULK_COUNT, "Calls/sec", "/s"),
            counter(3, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "Thing ID", ""),
        ])
    }

    /// Returns the table of the second of two samples, without its first line.
    fn block(options: TableOptions, path: &str, rows: &dyn Fn(u64) -> Vec<ScriptRow>) -> Vec<String> {
        let provider = Scripted::new(vec![things()]);
        let mut machine = Machine::new(Box::new(FixedClock::default()));
        machine.register(Box::new(provider.clone()));
        let mut query = PathQuery::open(&mut machine).unwrap();
        let path: CounterPath = path.parse().unwrap();
        query.add(&mut machine, &path).unwrap();
        for second in [0, 1] {
            provider.with(|script| script.rows = rows(second));
            query.collect().unwrap();
        }
        let mut out = Vec::new();
        let mut table = Table::new(SampleWriter::buffered(&mut out), options, &[path]);
        let values = query.values();
        let machine = [MachineValues::new(&values).of_query(&query)];
        table.sample(&OutputSample::new(query.snapshot().clocks(), &machine)).unwrap();
        table.finish().unwrap();
        drop(table);
        String::from_utf8(out).unwrap().lines().skip(1).map(str::to_owned).collect()
    }

    /// Returns rows in which two things have the same name, one has a hostile name, one a long name, and one no values.
    fn rows(second: u64) -> Vec<ScriptRow> {
        let row = |name, id: u32, size| (name, id, vec![Ok(size), Ok(second * 1_234), Ok(u64::from(id))]);
        vec![
            row("twin", 7, 24_851_251),
            row("twin", 1_234_567, 512),
            row("\u{1b}[2J\n", 3, u64::MAX),
            row("a thing with a name too long for a screen:42", 42, 0),
            ("mute", 5, vec![Err(NoValue::Denied("ask root".into())), Ok(0), Ok(5)]),
        ]
    }

    const ALL: &str = r"\Things(*)\{Size,Thing ID,Calls/sec}";

    #[test]
    fn pipes_get_exact_numbers_and_whole_names() {
        assert_eq!(
            block(TableOptions::default(), ALL, &rows),
            [
                "                        Size  Thing ID  Calls/sec  instance",
                "                           B                   /s",
                "  18,446,744,073,709,551,615         3      1,234  \\u{1b}[2J\\n",
                "                  24,851,251         7      1,234  twin",
                "                         512   1234567      1,234  twin#1",
                "                           0        42      1,234  a thing with a name too long for a screen:42",
                "                           -         5        0.0  mute",
                "  Size of mute: denied: ask root",
            ]
        );
    }

    #[test]
    fn screens_get_short_numbers_cut_names_and_heads_again() {
        let options = TableOptions { is_human: true, width: 49, height: Some(6), ..TableOptions::default() };
        assert_eq!(
            block(options, ALL, &rows),
            [
                "      Size  Thing ID  Calls/sec  instance",
                "         B                   /s",
                "  16.0 EiB         3     1.2k/s  \\u{1b}[2J\\n",
                "  23.7 MiB         7     1.2k/s  twin",
                "     512 B   1234567     1.2k/s  twin#1",
                "      Size  Thing ID  Calls/sec  instance",
                "         B                   /s",
                "       0 B        42     1.2k/s  a thing wi…en:42",
                "         -         5      0.0/s  mute",
                "  Size of mute: denied: ask root",
            ]
        );
    }

    /// Checks that columns of a table that do not fit into a line follow below, for the same instances in the same
    /// order.
    #[test]
    fn narrow_tables_are_divided() {
        let options = TableOptions { width: 40, ..TableOptions::default() };
        let one =
            |second| vec![("a", 1, vec![Ok(5), Ok(second), Ok(1)]), ("b", 2, vec![Ok(6), Ok(second), Ok(2)])];
        assert_eq!(
            block(TableOptions { width: 30, ..options }, ALL, &one),
            [
                "  Size  Thing ID  instance",
                "     B",
                "     6         2  b",
                "     5         1  a",
                "  Calls/sec  instance",
                "         /s",
                "        1.0  b",
                "        1.0  a",
            ]
        );
    }

    #[test]
    fn orders_of_rows() {
        let two = |_| vec![("b", 1, vec![Ok(5), Ok(0), Ok(1)]), ("a", 2, vec![Ok(4), Ok(0), Ok(2)])];
        let names = |order: &str| {
            let order = RowOrder::parse(order);
            let lines = block(TableOptions { order, ..TableOptions::default() }, ALL, &two);
            lines.iter().skip(2).map(|line| line.chars().last().unwrap()).collect::<String>()
        };
        assert_eq!(names("size"), "ba");
        assert_eq!(names("thing id"), "ab");
        assert_eq!(names("instance"), "ab");
        assert_eq!(names("calls"), "ba", "equal ones keep their order");
    }
}
