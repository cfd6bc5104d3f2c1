//! Output of `get`: tables for users, CSV and JSON for programs.

mod pdh_csv;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use perfset::clock::ClockReading;
use perfset::counter_type::{Display, NumberKind, ValueKind};
use perfset::json::Record;
use perfset::log::text::TextNumber;
use perfset::path::{CounterPath, PathValue, Run, keep_greatest};
use perfset::{Counter, CounterId, CounterType, Mark, NoValue, RawValue};
use terminal_size::{Width, terminal_size};

use crate::args::{GetArgs, OutputFormat, ValueFilter};
use crate::left_out::{self, LeftOut, NeverThere};
use crate::marked::MarkedValues;
use crate::series::SeriesKey;
use crate::terminal;
use crate::text::{
    csv_cell, escaped, grouped_digits, json_line, measured, push_grouped, push_measured, push_padded, wrapped,
};
use pdh_csv::PdhCsv;

/// Prints samples one after the other.
pub struct Output {
    format: OutputFormat,
    raw: bool,
    /// `true` to show also counters that this machine does not have.
    all: bool,
    test: Option<ValueFilter>,
    top: Option<usize>,
    /// Statistics of the run, if requested.
    summary: Option<Summary>,
    /// `true` if the values were recorded earlier, perhaps on another machine.
    is_recorded: bool,
    /// `true` if names of instances already have PDH's form.
    has_pdh_names: bool,
    /// Name of the machine that the values belong to.
    host: String,
    paths: Vec<CounterPath>,
    /// For each path, `true` if it can match several counters.
    several: Vec<bool>,
    /// `true` if a terminal shows the output: then untrusted text is escaped in every format.
    on_terminal: bool,
    zone: TimeZone,
    width: usize,
    /// Output file; `None` for standard output.
    file: Option<Box<dyn Write>>,
    /// Name of the machine that each JSON value contains, if values come from several machines.
    machine: Option<String>,
    /// Text that is formatted and not written yet.
    text: String,
    /// Buffer for one cell of the table.
    cell: String,
    /// Columns of the table, once its head is printed.
    table: Option<Vec<OutputColumn>>,
    head_printed: bool,
    log: PdhCsv,
    /// Reasons below the line of the last sample, not repeated below every line.
    printed_reasons: Vec<(String, String)>,
    /// Marked values, if the format cannot show marks: PDH-CSV, and the lines of a summary.
    marked: MarkedValues,
    /// `true` once a value has passed the test of `--where`.
    has_hit: bool,
    /// Last sentences about values that are left out; equal ones are not printed again.
    left_out: Vec<String>,
    /// A minute of UTC, and the beginning of local times in it.
    minute: Option<(i64, String)>,
}

/// Column of a table.
#[derive(Debug)]
struct OutputColumn {
    series: SeriesKey,
    width: usize,
}

/// Statistics of a run, and the names of its counters.
#[derive(Default)]
struct Summary {
    run: Run,
    never_there: NeverThere,
    names: HashMap<(usize, CounterId), (String, bool)>,
}

/// Options of an [`Output`].
#[derive(Debug, Default)]
pub struct OutputOptions {
    pub format: OutputFormat,
    /// Prints raw values instead of formatted ones.
    pub raw: bool,
    /// Prints also counters that this machine does not have.
    pub all: bool,
    pub test: Option<ValueFilter>,
    /// Maximum number of values for each counter of a path, the greatest ones.
    pub top: Option<u32>,
    pub summary: bool,
    /// Name of the machine that recorded the values; `None` for live values.
    pub host: Option<String>,
    /// Time zone of displayed times; `None` is this machine's.
    pub zone: Option<TimeZone>,
    /// `true` if names of instances already have PDH's form.
    pub has_pdh_names: bool,
    /// Maximum number of characters in a line of a table; `None` is the width of the terminal.
    pub width: Option<usize>,
}

impl From<&GetArgs> for OutputOptions {
    fn from(args: &GetArgs) -> Self {
        let GetArgs { format, raw, all, test, top, summary, .. } = *args;
        Self { format, raw, all, test, top, summary, ..Self::default() }
    }
}

impl Output {
    pub fn new(options: OutputOptions, paths: &[CounterPath]) -> Self {
        let terminal = io::stdout().is_terminal().then(terminal_size).flatten();
        Self {
            format: options.format,
            raw: options.raw,
            all: options.all,
            test: options.test,
            summary: options.summary.then(Summary::default),
            is_recorded: options.host.is_some(),
            has_pdh_names: options.has_pdh_names,
            host: options.host.unwrap_or_else(perfset::own_name),
            top: options.top.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            paths: paths.to_vec(),
            several: paths.iter().map(|path| path.counter.contains(['*', '?', '{', '!'])).collect(),
            on_terminal: io::stdout().is_terminal(),
            zone: options.zone.unwrap_or_else(TimeZone::system),
            width: options.width.unwrap_or(terminal.map_or(80, |(Width(width), _)| width.into())),
            file: None,
            machine: None,
            text: String::new(),
            cell: String::new(),
            table: None,
            head_printed: false,
            log: PdhCsv::default(),
            printed_reasons: Vec::new(),
            marked: MarkedValues::default(),
            has_hit: false,
            left_out: Vec::new(),
            minute: None,
        }
    }

    /// Returns this output, redirected to a file.
    pub fn into_file(self, file: Box<dyn Write>) -> Self {
        Self { file: Some(file), on_terminal: false, is_recorded: true, ..self }
    }

    /// Sets the machine that following JSON values name.
    pub fn set_machine(&mut self, name: &str) {
        if self.machine.as_deref() != Some(name) {
            self.machine = Some(name.to_owned());
        }
    }

    /// Prints a sample. Returns `true` if a value is missing.
    pub fn sample(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) -> io::Result<bool> {
        /// Minimum size of a write of recorded values, in bytes.
        const ENOUGH: usize = 64 << 10;
        if !self.all {
            values.retain(|v| !self.is_hidden(v));
        }
        // Before `--where` and `--top`: `--strict` is about everything that was requested.
        let missing = values.iter().any(|v| self.number(v).is_none());
        if let Some(Summary { run, names, never_there }) = &mut self.summary {
            run.add(values);
            never_there.add(&*values, &self.paths);
            for v in &*values {
                names
                    .entry((v.path, v.value.counter.id))
                    .or_insert_with(|| (counter_name(v), is_share_or_rate(v.value.counter)));
            }
        }
        if self.summary.is_some() || self.format == OutputFormat::PdhCsv {
            self.marked.add(&*values);
        }
        let left_out = match self.test.is_some() || self.top.is_some() {
            true => self.left_out(clocks, values),
            false => Vec::new(),
        };
        if let Some(test) = self.test {
            values.retain(|v| self.number(v).is_some_and(|number| test.holds(number)));
        }
        if let Some(most) = self.top {
            // A missing value is not among the greatest ones.
            values.retain(|v| self.number(v).is_some());
            keep_greatest(values, most, |v| self.number(v));
        }
        self.has_hit |= !values.is_empty();
        let is_alone = values.is_empty() && (self.test.is_some() || self.top.is_some());
        let mut text = std::mem::take(&mut self.text);
        match self.format {
            // A table line with a time and no value has no information.
            OutputFormat::Table if is_alone => {}
            OutputFormat::Table => self.table(clocks, values, &mut text),
            OutputFormat::Csv => self.csv(clocks, values, &mut text),
            OutputFormat::Json => self.json(clocks, values, &mut text),
            OutputFormat::PdhCsv => self.pdh_csv(clocks, values, &mut text)?,
        }
        self.text = text;
        self.say_left_out(clocks, left_out, is_alone);
        // Live samples are seen at once. Those of a log come by the million and are written in large chunks.
        if !self.is_recorded || self.on_terminal || self.text.len() > ENOUGH {
            self.write()?;
        }
        Ok(missing)
    }

    /// Returns the sentences or JSON lines about missing values that `--where` and `--top` leave out.
    fn left_out(&self, clocks: &ClockReading, values: &[PathValue<'_>]) -> Vec<String> {
        let is_there = |v: &PathValue<'_>| self.number(v).is_some();
        let left_out = LeftOut::of_sample(values, &self.paths, self.top.is_some(), is_there);
        match self.format {
            OutputFormat::Json => left_out.to_json(clocks, values),
            _ => left_out.sentences(),
        }
    }

    /// Prints the text about values that are left out. JSON has its lines in each sample. A table ends with the
    /// sentences. CSV cannot contain them, so they go to standard error. Tables and CSV print them only if they have
    /// changed.
    fn say_left_out(&mut self, clocks: &ClockReading, left_out: Vec<String>, is_alone: bool) {
        if self.format == OutputFormat::Json {
            self.text.extend(left_out.into_iter().map(|line| line + "\n"));
            return;
        }
        if left_out == self.left_out {
            return;
        }
        match self.format {
            OutputFormat::Table => {
                let time = if is_alone && !left_out.is_empty() {
                    self.local_time(clocks) + "\n"
                } else {
                    String::new()
                };
                self.text.push_str(&time);
                self.push_sentences(&left_out);
            }
            _ => left_out::warn(&left_out),
        }
        self.left_out = left_out;
    }

    /// Appends sentences below a table.
    fn push_sentences(&mut self, sentences: &[String]) {
        const INDENT: usize = 4;
        for sentence in sentences {
            for (number, line) in wrapped(sentence, self.width.saturating_sub(INDENT)).iter().enumerate() {
                let indent = if number == 0 { INDENT / 2 } else { INDENT };
                let _ = writeln!(self.text, "{:indent$}{line}", ""); // a String takes everything
            }
        }
    }

    /// Writes the formatted text to the output.
    fn write(&mut self) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(self.text.as_bytes())?,
            None => {
                let mut out = terminal::stdout();
                out.write_all(self.text.as_bytes())?;
                out.flush()?;
            }
        }
        self.text.clear();
        Ok(())
    }

    /// Returns `true` for a counter that no machine of this system has, unless a path names it.
    fn is_hidden(&self, v: &PathValue<'_>) -> bool {
        self.several.get(v.path).copied().unwrap_or(false) && v.value.counter.is_never_there()
    }

    /// Returns the displayed number of a value.
    fn number(&self, v: &PathValue<'_>) -> Option<f64> {
        match (self.raw, &v.value.value) {
            (true, _) => v.value.counted().map(real),
            (false, value) => value.as_ref().ok().map(|value| value.nocap()),
        }
    }

    fn cell(&self, v: &PathValue<'_>) -> String {
        let mut text = String::new();
        self.push_cell(v, &mut text);
        text
    }

    fn push_cell(&self, v: &PathValue<'_>, out: &mut String) {
        let counter = v.value.counter;
        match (v.value.counted(), counter.counter_type.decode().kind) {
            (Some(raw), ValueKind::Number(NumberKind::Hex)) => {
                let _ = write!(out, "{:#x}", raw.get()); // a String takes everything
                return;
            }
            // All digits of an integer, which an `f64` might not hold.
            (Some(raw), ValueKind::Number(NumberKind::Decimal)) if !self.is_real(counter) => {
                return out.push_str(&grouped_digits(&raw.get().to_string()));
            }
            (Some(raw), _) if self.raw => return out.push_str(&grouped_digits(&raw.get().to_string())),
            _ => {}
        }
        match self.number(v) {
            None => out.push('-'),
            Some(number) if self.is_measured(counter) => {
                push_measured(out, number, is_share_or_rate(counter));
            }
            Some(number) => push_grouped(out, number, 0),
        }
    }

    /// Returns the number with all its digits.
    fn digits(&self, v: &PathValue<'_>) -> Option<TextNumber> {
        if self.raw {
            return v.value.counted().map(|raw| raw.get().into());
        }
        self.number(v).map(TextNumber::from)
    }

    /// Returns `true` if the raw value is a double and not a count.
    fn is_real(&self, counter: &Counter) -> bool {
        counter.counter_type == CounterType::PERF_DOUBLE_RAW && !self.raw
    }

    /// Returns `true` if a value has decimals: it is the result of a division. Counts are integers.
    fn is_measured(&self, counter: &Counter) -> bool {
        let decoded = counter.counter_type.decode();
        let divided = counter.counter_type.needs_two_samples() || counter.divisor().is_some();
        !self.raw && (divided || decoded.display == Display::Percent || self.is_real(counter))
    }

    fn table(&mut self, clocks: &ClockReading, values: &[PathValue<'_>], text: &mut String) {
        /// Minimum width of a column.
        const COLUMN_LEN: usize = 16;
        let is_as_before = self.table.as_ref().is_some_and(|columns| {
            columns.len() == values.len()
                && columns.iter().zip(values).all(|(column, v)| column.series.is_of(v.path, v))
        });
        let is_too_wide = self.top.is_some() || values.len().saturating_mul(COLUMN_LEN) > self.width;
        if !is_as_before && (is_too_wide || !self.head(clocks, values, text)) {
            let time = self.local_time(clocks);
            return self.rows(&time, values, text);
        }
        self.push_local_time(clocks, text);
        let table = self.table.take().unwrap_or_default();
        let mut cell = std::mem::take(&mut self.cell);
        for (v, column) in values.iter().zip(&table) {
            cell.clear();
            self.push_cell(v, &mut cell);
            let blanks = column.width.saturating_sub(cell.len()).saturating_add(2); // a cell is ASCII
            text.extend(std::iter::repeat_n(' ', blanks));
            text.push_str(&cell);
        }
        self.cell = cell;
        self.table = Some(table);
        text.push('\n');
        self.reasons(values, text);
    }

    /// Appends the head of a table. Returns `false`, with nothing appended, if the table would be too wide.
    fn head(&mut self, clocks: &ClockReading, values: &[PathValue<'_>], text: &mut String) -> bool {
        let time_width = self.local_time(clocks).len();
        let heads: Vec<_> = values.iter().map(column_head).collect();
        // Room for growing values: a rate that is 0 now might be millions in the next second.
        let width = |(a, b): &(String, String)| a.chars().count().max(b.chars().count()).max(14);
        let widths: Vec<_> = heads.iter().map(width).collect();
        let total = widths.iter().fold(time_width, |sum, width| sum.saturating_add(*width).saturating_add(2));
        if total > self.width {
            self.table = None;
            return false;
        }
        let mut lines = [format!("{:time_width$}", "time"), " ".repeat(time_width)];
        for ((first, second), width) in heads.iter().zip(&widths) {
            let [a, b] = &mut lines;
            let _ = write!(a, "  {first:>width$}"); // a String takes everything
            let _ = write!(b, "  {second:>width$}");
        }
        for line in lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "{line}");
        }
        let column =
            |(v, width): (&PathValue<'_>, usize)| OutputColumn { series: SeriesKey::new(v.path, v), width };
        self.table = Some(values.iter().zip(widths).map(column).collect());
        true
    }

    /// Returns the reason for a missing value, or the mark of a present one, as text.
    fn reason(&self, v: &PathValue<'_>) -> Option<String> {
        match (&v.value.value, v.value.mark) {
            (Err(reason), _) if self.number(v).is_none() => Some(escaped(&reason.to_string())),
            (_, Some(Mark::Partial(missing))) if missing.get() == 1 => {
                Some("partial: 1 instance could not be read".into())
            }
            (_, Some(Mark::Partial(missing))) => {
                Some(format!("partial: {missing} instances could not be read"))
            }
            (_, Some(Mark::Stale(age))) => {
                Some(format!("stale: its source did not respond for {:.1} s", age.as_secs_f64()))
            }
            (_, Some(Mark::Held)) => {
                Some("held: the kernel's value decreased, so this is the highest value so far".into())
            }
            (_, Some(Mark::Capped)) => Some("capped: the measurement came out above 100 %".into()),
            _ => None,
        }
    }

    /// Appends the reasons for missing values: each reason once, and again only after a change.
    fn reasons(&mut self, values: &[PathValue<'_>], text: &mut String) {
        let mut reasons: Vec<(String, String)> = Vec::new(); // takes no memory while nothing is missing
        for v in values {
            let Some(reason) = self.reason(v) else { continue };
            let reason = (counter_name(v), reason);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if reasons != self.printed_reasons {
            for (counter, reason) in &reasons {
                let _ = writeln!(text, "  {counter}: {reason}"); // a String takes everything
            }
            self.printed_reasons = reasons;
        }
    }

    /// Appends a line per value, below its path: value, unit, instance, counter. A single reason that fits stands
    /// beside its value. All other reasons follow once, below all values.
    fn rows(&self, time: &str, values: &[PathValue<'_>], text: &mut String) {
        let several = |v: &PathValue<'_>| self.several.get(v.path).copied().unwrap_or(false);
        // For such a path, only the fact is known that no instance matches.
        let matches_nothing =
            |v: &PathValue<'_>| several(v) && matches!(v.value.value, Err(NoValue::NoInstance));
        let unit = |v: &PathValue<'_>| if self.raw { String::new() } else { escaped(&v.value.counter.unit) };
        let units = values.iter().filter(|v| !matches_nothing(v)).map(|v| unit(v).chars().count()).max();
        let units = units.unwrap_or(0);
        let reason = |v: &PathValue<'_>| self.reason(v);
        let mut count: HashMap<String, usize> = HashMap::new();
        for reason in values.iter().filter(|v| !matches_nothing(v)).filter_map(reason) {
            let of = count.entry(reason).or_default();
            *of = of.saturating_add(1);
        }
        // A reason that several values share is printed once, below, with its number at each of them.
        let mut below: Vec<String> = Vec::new();
        let mut last = None;
        for (i, v) in values.iter().enumerate() {
            if last != Some(v.path) {
                let _ = writeln!(text, "{time}  {}", escaped(&self.asked_path(v)));
                last = Some(v.path);
            }
            let (counter, instance) = (counter_name(v), instance_name(v));
            let nothing = matches_nothing(v);
            let before = i.checked_sub(1).and_then(|i| values.get(i));
            let same = |b: &PathValue<'_>| b.path == v.path && instance_name(b) == instance;
            // A path for several counters has one such value for each counter; one line is enough.
            if nothing && before.is_some_and(same) {
                continue;
            }
            let name = match (several(v) && !nothing, instance.is_empty()) {
                (true, false) => format!("{instance}  {counter}"),
                (false, false) => instance,
                (_, true) => counter,
            };
            // 18 columns hold 14 digits with their separators, so nearly all numbers end at the same column.
            let mut line = format!("{:>18}", self.cell(v));
            if units > 0 {
                let shown = if self.number(v).is_none() { String::new() } else { unit(v) };
                let _ = write!(line, " {shown:units$}"); // a String takes everything
            }
            let _ = write!(line, "  {name}");
            if let Some(reason) = reason(v) {
                let beside = format!("{line}     {reason}");
                let once = nothing || count.get(&reason) == Some(&1);
                if once && beside.chars().count() <= self.width {
                    line = beside;
                } else {
                    let known = below.iter().position(|told| *told == reason);
                    let at = known.unwrap_or(below.len());
                    if known.is_none() {
                        below.push(reason);
                    }
                    let _ = write!(line, "  [{}]", at.saturating_add(1));
                }
            }
            let _ = writeln!(text, "{line}");
        }
        for (i, reason) in below.iter().enumerate() {
            let mut head = format!("  [{}] ", i.saturating_add(1));
            let indent = head.chars().count();
            for line in wrapped(reason, self.width.saturating_sub(indent)) {
                let _ = writeln!(text, "{head:indent$}{line}");
                head.clear();
            }
        }
    }

    /// Returns the path that requested a value, with the names of the source. Patterns stay as the user typed them.
    fn asked_path(&self, v: &PathValue<'_>) -> String {
        let Some(asked) = self.paths.get(v.path) else { return String::new() };
        let is_pattern = |text: &str| text.contains(['*', '?', '{', '!', '#']);
        let instance = asked.instance.as_ref().map(|typed| match is_pattern(typed) {
            true => typed.clone(),
            false => v.value.instance.to_string(),
        });
        let counter = match is_pattern(&asked.counter) {
            true => asked.counter.clone(),
            false => v.value.counter.shown_name().into_owned(),
        };
        let counterset = v.value.counterset.name.to_string();
        CounterPath { machine: asked.machine.clone(), counterset, instance, counter }.to_string()
    }

    fn csv(&mut self, clocks: &ClockReading, values: &[PathValue<'_>], text: &mut String) {
        if !self.head_printed {
            self.head_printed = true;
            text.push_str(
                "time,path,counterset,instance,instance_id,counter,value,status,raw,base,type,unit,mark,missing\n",
            );
        }
        // A program gets names unchanged. On a terminal, a name must not begin a line.
        let is_shown = self.on_terminal;
        let csv_cell = |text: &str| if is_shown { csv_cell(&escaped(text)) } else { csv_cell(text) };
        for v in values {
            let record = Record::new(clocks, v);
            let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
            let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
            let cells = [
                csv_cell(&record.time),
                csv_cell(&record.path),
                csv_cell(&record.counterset),
                csv_cell(&record.instance),
                count(record.instance_id.map(u64::from)),
                csv_cell(&record.counter),
                number(record.value),
                csv_cell(record.status),
                count(record.raw),
                count(record.base),
                csv_cell(&record.counter_type),
                csv_cell(&record.unit),
                csv_cell(record.mark.unwrap_or_default()),
                count(record.missing.map(u64::from)),
            ];
            let _ = writeln!(text, "{}", cells.join(","));
        }
    }

    fn json(&self, clocks: &ClockReading, values: &[PathValue<'_>], text: &mut String) {
        for v in values {
            let record = Record { machine: self.machine.as_deref(), ..Record::new(clocks, v) };
            text.push_str(&json_line(&record.to_json()));
            text.push('\n');
        }
    }

    /// Adds PDH-CSV columns for the values of a log's sample. Called for all samples before the first is written.
    pub fn learn(&mut self, values: &mut Vec<PathValue<'_>>) {
        if !self.all {
            values.retain(|v| !self.is_hidden(v));
        }
        let mut log = std::mem::take(&mut self.log);
        log.learn(values, |v| self.log_path(v));
        self.log = log;
    }

    /// Returns the number of values that had no column.
    pub fn without_column(&self) -> u64 {
        self.log.left_out()
    }

    fn pdh_csv(
        &mut self,
        clocks: &ClockReading,
        values: &[PathValue<'_>],
        text: &mut String,
    ) -> io::Result<()> {
        let mut log = std::mem::take(&mut self.log);
        let done = log.sample(clocks.utc_100ns(), values, |v| self.log_path(v), |v| self.digits(v), text);
        self.log = log;
        done
    }

    /// Returns the path of a value in the form of log files.
    fn log_path(&self, v: &PathValue<'_>) -> String {
        match self.has_pdh_names {
            true => v.own_path(Some(&self.host)).to_string(),
            false => v.pdh_path(Some(&self.host)).to_string(),
        }
    }

    /// Finishes the output after the last sample, with the summary if requested.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write()?;
        self.summary()?;
        if self.format == OutputFormat::PdhCsv {
            self.marked.warn();
        }
        if self.test.is_some() && !self.has_hit {
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = writeln!(io::stderr(), "note: no value matches the --where condition");
        }
        self.file.as_mut().map_or_else(|| io::stdout().flush(), |file| file.flush())
    }

    fn summary(&mut self) -> io::Result<()> {
        let Some(Summary { run, names, never_there }) = self.summary.take() else { return Ok(()) };
        let mut text = std::mem::take(&mut self.text);
        text.push('\n');
        let _ = writeln!(text, "{:>16}  {:>16}  {:>16}  {:>7}", "least", "mean", "greatest", "samples");
        for (series, s) in run.series() {
            let (name, is_share) = names
                .get(&(series.path, series.counter))
                .map_or(("", false), |(name, is)| (name.as_str(), *is));
            let number = |value| measured(value, is_share);
            let instance = escaped(&series.instance.to_string());
            let (min, mean, max) = (number(s.min), number(s.mean()), number(s.max));
            let _ = writeln!(text, "{min:>16}  {mean:>16}  {max:>16}  {:>7}  {instance}  {name}", s.count);
        }
        self.text = text;
        self.push_sentences(&never_there.sentences());
        self.push_sentences(&self.marked.sentences());
        self.write()
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
            let start = start.to_zoned(self.zone.clone());
            let format = if self.is_recorded { "%Y-%m-%d %H:%M:" } else { "%H:%M:" };
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
                let format = if self.is_recorded { "%Y-%m-%d %H:%M:%S.%3f" } else { "%H:%M:%S.%3f" };
                let time = timestamp(clocks).to_zoned(self.zone.clone());
                let _ = write!(out, "{}", time.strftime(format)); // a String takes everything
            }
        }
    }
}

/// Returns the displayed time of a sample.
fn timestamp(clocks: &ClockReading) -> Timestamp {
    Timestamp::from_millisecond(clocks.unix_ms()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns counter and instance, the two lines of a column's head.
fn column_head(v: &PathValue<'_>) -> (String, String) {
    (counter_name(v), instance_name(v))
}

/// Returns `true` for percentages and rates per second: one decimal is enough for them, unless it is 0.
fn is_share_or_rate(counter: &Counter) -> bool {
    let display = counter.counter_type.decode().display;
    matches!(display, Display::Percent | Display::PerSec) || counter.unit == "%" || counter.unit.contains('/')
}

pub fn counter_name(v: &PathValue<'_>) -> String {
    escaped(&v.value.counter.shown_name())
}

/// Returns the name of an instance, with its number if it is not the first one of that name.
pub fn instance_name(v: &PathValue<'_>) -> String {
    let name = escaped(&v.value.instance.to_string());
    if v.occurrence == 0 { name } else { format!("{name}#{}", v.occurrence) }
}

fn real(raw: RawValue) -> f64 {
    #[expect(clippy::as_conversions, reason = "rounding to the nearest double is what is wanted")]
    let number = raw.get() as f64;
    number
}
