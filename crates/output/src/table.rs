//! Table output, for users.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use perfset_core::clock::ClockReading;
use perfset_core::{Mark, NoValue};
use perfset_engine::path::{CounterPath, PathValue};

use crate::form::NumberForm;
use crate::output::{Output, OutputSample};
use crate::path_names::{counter_name, instance_name};
use crate::selection::selects_counters;
use crate::series::SeriesKey;
use crate::text::{escaped, push_padded, push_sentences, wrapped};
use crate::writer::SampleWriter;

/// Writer of samples as tables: a line for each sample below a head, or a line for each value if there are too many.
#[derive(Debug)]
pub struct Table<'w> {
    out: SampleWriter<'w>,
    options: TableOptions,
    paths: Vec<CounterPath>,
    /// For each path, `true` if it can match several counters.
    several: Vec<bool>,
    /// Buffer for the text of one sample.
    text: String,
    /// Buffer for one cell.
    cell: String,
    /// Columns, once their head is printed.
    columns: Option<Vec<TableColumn>>,
    /// Reasons below the line of the last sample, not repeated below every line.
    printed_reasons: Vec<(String, String)>,
    /// Last sentences about values that are left out; equal ones are not printed again.
    left_out: Vec<String>,
    /// A minute of UTC, and the beginning of local times in it.
    minute: Option<(i64, String)>,
}

/// Column of a table.
#[derive(Debug)]
struct TableColumn {
    series: SeriesKey,
    width: usize,
}

/// Options of a [`Table`].
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Form of the numbers.
    pub form: NumberForm,
    /// `true` for values of a ranking, which have a line each.
    pub is_ranking: bool,
    /// `true` if the values were recorded earlier: then times contain the day.
    pub is_recorded: bool,
    /// Time zone of the displayed times.
    pub zone: TimeZone,
    /// Maximum number of characters in a line.
    pub width: usize,
}

impl Default for TableOptions {
    /// Returns the options of a table of live formatted values, with local times and lines of 80 characters.
    fn default() -> Self {
        Self {
            form: NumberForm::Formatted,
            is_ranking: false,
            is_recorded: false,
            zone: TimeZone::system(),
            width: 80,
        }
    }
}

impl<'w> Table<'w> {
    /// Creates the output for values of these paths.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, options: TableOptions, paths: &[CounterPath]) -> Self {
        Self {
            out,
            options,
            paths: paths.to_vec(),
            several: paths.iter().map(selects_counters).collect(),
            text: String::new(),
            cell: String::new(),
            columns: None,
            printed_reasons: Vec::new(),
            left_out: Vec::new(),
            minute: None,
        }
    }

    /// Appends the lines of a sample.
    fn table(&mut self, clocks: &ClockReading, values: &[&PathValue<'_>], text: &mut String) {
        /// Minimum width of a column.
        const COLUMN_LEN: usize = 16;
        let is_as_before = self.columns.as_ref().is_some_and(|columns| {
            columns.len() == values.len()
                && columns.iter().zip(values).all(|(column, v)| column.series.is_of(v.path, v))
        });
        let is_too_wide =
            self.options.is_ranking || values.len().saturating_mul(COLUMN_LEN) > self.options.width;
        if !is_as_before && (is_too_wide || !self.head(clocks, values, text)) {
            let time = self.local_time(clocks);
            return self.rows(&time, values, text);
        }
        self.push_local_time(clocks, text);
        let columns = self.columns.take().unwrap_or_default();
        let mut cell = std::mem::take(&mut self.cell);
        for (v, column) in values.iter().zip(&columns) {
            cell.clear();
            self.options.form.push_cell(v, &mut cell);
            let blanks = column.width.saturating_sub(cell.len()).saturating_add(2); // a cell is ASCII
            text.extend(std::iter::repeat_n(' ', blanks));
            text.push_str(&cell);
        }
        self.cell = cell;
        self.columns = Some(columns);
        text.push('\n');
        self.reasons(values, text);
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

    /// Appends the head of a table. Returns `false`, with nothing appended, if the table would be too wide.
    fn head(&mut self, clocks: &ClockReading, values: &[&PathValue<'_>], text: &mut String) -> bool {
        let time_width = self.local_time(clocks).len();
        let heads: Vec<_> = values.iter().map(|v| (counter_name(v), instance_name(v))).collect();
        // Room for growing values: a rate that is 0 now might be millions in the next second.
        let width = |(a, b): &(String, String)| a.chars().count().max(b.chars().count()).max(14);
        let widths: Vec<_> = heads.iter().map(width).collect();
        let total = widths.iter().fold(time_width, |sum, width| sum.saturating_add(*width).saturating_add(2));
        if total > self.options.width {
            self.columns = None;
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
            |(v, width): (&&PathValue<'_>, usize)| TableColumn { series: SeriesKey::new(v.path, v), width };
        self.columns = Some(values.iter().zip(widths).map(column).collect());
        true
    }

    /// Returns the reason for a missing value, or the mark of a present one, as text.
    fn reason(&self, v: &PathValue<'_>) -> Option<String> {
        match (&v.value.value, v.value.mark) {
            (Err(reason), _) if self.options.form.number(v).is_none() => Some(escaped(&reason.to_string())),
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
    fn reasons(&mut self, values: &[&PathValue<'_>], text: &mut String) {
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
    fn rows(&self, time: &str, values: &[&PathValue<'_>], text: &mut String) {
        let several = |v: &PathValue<'_>| self.several.get(v.path).copied().unwrap_or(false);
        // For such a path, only the fact is known that no instance matches.
        let matches_nothing =
            |v: &PathValue<'_>| several(v) && matches!(v.value.value, Err(NoValue::NoInstance));
        let unit = |v: &PathValue<'_>| {
            if self.options.form == NumberForm::Raw { String::new() } else { escaped(&v.value.counter.unit) }
        };
        let units = values.iter().filter(|v| !matches_nothing(v)).map(|v| unit(v).chars().count()).max();
        let units = units.unwrap_or(0);
        let reason = |v: &PathValue<'_>| self.reason(v);
        let cell = |v: &PathValue<'_>| {
            let mut text = String::new();
            self.options.form.push_cell(v, &mut text);
            text
        };
        let mut count: HashMap<String, usize> = HashMap::new();
        for reason in values.iter().filter(|v| !matches_nothing(v)).filter_map(|v| reason(v)) {
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
            let same = |b: &&PathValue<'_>| b.path == v.path && instance_name(b) == instance;
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
            let mut line = format!("{:>18}", cell(v));
            if units > 0 {
                let shown = if self.options.form.number(v).is_none() { String::new() } else { unit(v) };
                let _ = write!(line, " {shown:units$}"); // a String takes everything
            }
            let _ = write!(line, "  {name}");
            if let Some(reason) = reason(v) {
                let beside = format!("{line}     {reason}");
                let once = nothing || count.get(&reason) == Some(&1);
                if once && beside.chars().count() <= self.options.width {
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
            for line in wrapped(reason, self.options.width.saturating_sub(indent)) {
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
            self.table(sample.clocks, &values, &mut text);
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

/// Returns the displayed time of a sample.
fn timestamp(clocks: &ClockReading) -> Timestamp {
    Timestamp::from_millisecond(clocks.unix_ms()).unwrap_or(Timestamp::UNIX_EPOCH)
}
