//! Statistics output: minimum, mean, percentiles and maximum of each series in a run.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use perfset_core::{Counter, CounterId, Utf16};
use perfset_engine::path::{CounterPath, Run, SeriesKey};

use crate::form::{NumberForm, is_identifier, is_share_or_rate};
use crate::human::{human, unit_name};
use crate::left_out::NeverThere;
use crate::marked::MarkedValues;
use crate::output::{Output, OutputSample};
use crate::path_names::counter_name;
use crate::percentiles::{EXACT, Percentiles};
use crate::text::{escaped, grouped, grouped_digits, measured, push_sentences};
use crate::writer::SampleWriter;

/// Writer of statistics of each counter of each instance, at the end of a run: minimum, mean, percentiles, maximum,
/// number of values, and unit.
#[derive(Debug)]
pub struct Summary<'w> {
    out: SampleWriter<'w>,
    paths: Vec<CounterPath>,
    /// Width of the statistics' lines, in characters.
    width: usize,
    /// `true` to write the statistics' numbers in short form.
    is_human: bool,
    run: Run,
    percentiles: HashMap<SeriesKey, Percentiles>,
    never_there: NeverThere,
    /// Counts of marked values, because the lines cannot show marks.
    marked: MarkedValues,
    counters: HashMap<(usize, CounterId), SummaryCounter>,
}

/// Properties of a counter that are needed to write the lines of its statistics.
#[derive(Debug)]
struct SummaryCounter {
    name: String,
    unit: String,
    is_share: bool,
    is_measured: bool,
    is_identifier: bool,
}

impl SummaryCounter {
    fn new(name: String, counter: &Counter) -> Self {
        let unit = counter.unit.to_string();
        let (is_share, form) = (is_share_or_rate(counter), NumberForm::Formatted);
        let is_measured = form.is_measured(counter) && !form.is_recorded_count(counter);
        Self { name, unit, is_share, is_measured, is_identifier: is_identifier(counter) }
    }

    /// Returns the text of a statistic's number in the form of this counter.
    fn number(&self, value: f64, is_human: bool) -> String {
        match (self.is_identifier, is_human) {
            (true, _) => value.to_string(),
            // A count is whole; a mean of counts has decimals.
            (false, false) if !self.is_measured && value.fract() == 0.0 => grouped(value, 0),
            (false, true) if self.unit == "%" => measured(value, true),
            (false, true) if !self.unit.is_empty() || value.abs() >= 1_000.0 => {
                escaped(&human(value, &self.unit))
            }
            (false, _) => measured(value, self.is_share),
        }
    }
}

impl<'w> Summary<'w> {
    /// Creates the output of statistics for values of these paths, with lines of a width in characters.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, paths: &[CounterPath], width: usize) -> Self {
        let (run, percentiles, never_there, marked, counters) = Default::default();
        let paths = paths.to_vec();
        Self { out, paths, width, is_human: false, run, percentiles, never_there, marked, counters }
    }

    /// Sets whether the statistics' numbers are in short form, such as `23.7 MiB`.
    #[must_use]
    pub fn human(self, is_human: bool) -> Self {
        Self { is_human, ..self }
    }

    /// Returns the cells of all lines of the output: statistics, number of values, and unit, then the name. `true` if
    /// a percentile is an estimate.
    fn lines(&self) -> (Vec<([String; 7], String)>, bool) {
        let mut is_estimated = false;
        let line = |(series, s): &(SeriesKey, perfset_engine::path::Statistics)| {
            let counter = self.counters.get(&(series.path, series.counter))?;
            let number = |value| counter.number(value, self.is_human);
            let percentiles = self.percentiles.get(series);
            let percentile = |percent| {
                let value = percentiles.and_then(|all| all.get(percent));
                // An estimate must not be outside of the values.
                let value = value.map(|value| value.max(s.min).min(s.max));
                let about = if percentiles.is_some_and(|all| !all.is_exact()) { "~" } else { "" };
                value.map_or_else(|| "-".to_owned(), |value| format!("{about}{}", number(value)))
            };
            is_estimated |= percentiles.is_some_and(|all| !all.is_exact());
            let cells = [
                number(s.min),
                number(s.mean()),
                percentile(50),
                percentile(95),
                number(s.max),
                grouped_digits(&s.count.to_string()),
                escaped(unit_name(&counter.unit)),
            ];
            Some((cells, format!("{}  {}", escaped(&series.instance.to_string()), counter.name)))
        };
        let lines = self.run.series().iter().filter_map(line).collect();
        (lines, is_estimated)
    }
}

impl Output for Summary<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let Self { run, percentiles, never_there, marked, counters, paths, .. } = self;
        for machine in sample.machines {
            run.add(machine.values);
            never_there.add(machine.values, paths);
            marked.add(machine.values);
            for v in machine.values {
                let counter = v.value.counter;
                counters
                    .entry((v.path, counter.id))
                    .or_insert_with(|| SummaryCounter::new(counter_name(v), counter));
                if let Ok(value) = &v.value.value {
                    let series = SeriesKey {
                        path: v.path,
                        counter: counter.id,
                        instance: Utf16::from(v.value.instance),
                        instance_id: v.value.instance_id,
                    };
                    percentiles.entry(series).or_default().add(value.nocap());
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        const HEADS: [&str; 7] = ["least", "mean", "p50", "p95", "greatest", "samples", "unit"];
        let (lines, is_estimated) = self.lines();
        // As narrow as the cells allow, so that most lines fit into a terminal.
        let mut widths = HEADS.map(str::len);
        for (cells, _) in &lines {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut text = String::from("\n");
        let heads = HEADS.map(str::to_owned);
        let name = "instance, counter".to_owned();
        for (cells, name) in std::iter::once(&(heads, name)).chain(&lines) {
            for (width, cell) in widths.iter().zip(cells) {
                let _ = write!(text, "  {cell:>width$}"); // a String takes everything
            }
            let _ = writeln!(text, "  {name}");
        }
        let Self { out, width, never_there, marked, .. } = self;
        if is_estimated {
            let most = grouped_digits(&EXACT.to_string());
            let about = format!("~: within 0.5 %, because there are more than {most} values");
            push_sentences(&mut text, &[about], *width);
        }
        push_sentences(&mut text, &never_there.sentences(), *width);
        push_sentences(&mut text, &marked.sentences(), *width);
        out.push(&text);
        out.finish()
    }
}
