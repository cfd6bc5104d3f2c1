//! Wide CSV and JSON: a line for each time and instance, with a column or field for each counter.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};

use perfset_core::clock::ClockReading;
use perfset_core::{Counter, CounterId, Guid, NoValue};
use perfset_engine::path::{CounterPath, PathValue};
use perfset_log::text::TextNumber;
use serde::{Serialize, Serializer};

use crate::form::NumberForm;
use crate::json::line;
use crate::output::{Output, OutputSample};
use crate::record::time_text;
use crate::rows::{InstanceRow, InstanceTable, RowOrder};
use crate::text::{csv_cell, escaped};
use crate::writer::SampleWriter;

/// Options of [`WideCsv`] and [`WideJson`].
#[derive(Clone, Debug, Default)]
pub struct WideOptions {
    /// Form of the numbers: formatted or raw values.
    pub form: NumberForm,
    /// Order of the instances in each sample; `None` is the order of the source.
    pub order: Option<RowOrder>,
    /// `true` if all series of a log are learned before the first sample is written. Only CSV needs them.
    pub is_learned: bool,
    /// `true` if a terminal shows the output: then control characters in names are escaped.
    pub on_terminal: bool,
}

/// Record of wide output: the values of one instance at one time; see `docs/output.md` for the fields.
#[derive(Debug, Serialize)]
struct WideRecord {
    time: String,
    counterset: String,
    instance: String,
    instance_id: Option<u32>,
    /// Formatted or raw values of the instance, by counter.
    values: Pairs<Option<WideNumber>>,
    /// Keywords of the reasons for the instance's missing values, by counter.
    status: Pairs<&'static str>,
    /// Keywords of the marks of the instance's values, by counter.
    mark: Pairs<&'static str>,
    /// Numbers of instances that the values lack which are partial sums, by counter.
    missing: Pairs<u32>,
}

/// Number in wide output that is written without a loss of digits.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum WideNumber {
    Count(u64),
    Real(f64),
}

impl WideNumber {
    fn new(number: TextNumber) -> Self {
        match number {
            TextNumber::Count(count) => Self::Count(count),
            TextNumber::Real(real) => Self::Real(real),
        }
    }

    fn csv(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Real(real) => real.to_string(),
        }
    }
}

/// JSON object whose fields keep their order.
#[derive(Debug)]
struct Pairs<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<T: Serialize> Pairs<T> {
    /// Returns the JSON object as a cell of CSV, empty if the object has no fields.
    fn csv(&self) -> io::Result<String> {
        if self.0.is_empty() { Ok(String::new()) } else { line(self) }
    }
}

impl WideRecord {
    fn new(
        clocks: &ClockReading,
        table: &InstanceTable<'_>,
        row: &InstanceRow<'_>,
        form: NumberForm,
    ) -> Self {
        let first = &row.first.value;
        let has_instances = first.counterset.instance_type.is_multiple();
        let mut record = Self {
            time: time_text(clocks),
            counterset: first.counterset.name.to_string(),
            instance: first.instance.to_string(),
            instance_id: first.instance_id.filter(|_| has_instances).map(|id| id.0),
            values: Pairs(Vec::new()),
            status: Pairs(Vec::new()),
            mark: Pairs(Vec::new()),
            missing: Pairs(Vec::new()),
        };
        for (name, cell) in names_in_set(&table.columns).into_iter().zip(&row.cells) {
            // Nothing requests that counter of this instance, or a condition removed its value.
            let Some(v) = cell else { continue };
            let number = form.digits(v);
            if number.is_none() {
                record.status.0.push((name.clone(), status(v)));
            }
            let mark = v.value.mark.filter(|_| number.is_some());
            record.mark.0.extend(mark.and_then(|mark| Some((name.clone(), mark.keyword()?))));
            record.missing.0.extend(mark.and_then(|mark| Some((name.clone(), mark.missing()?.get()))));
            record.values.0.push((name, number.map(WideNumber::new)));
        }
        record
    }
}

/// Returns the keyword of the reason for a missing value.
fn status(v: &PathValue<'_>) -> &'static str {
    v.value.value.as_ref().err().unwrap_or(&NoValue::NotGiven).keyword()
}

/// Returns the names of a counterset's counters for wide output. If several have the same name, all except the first
/// have their ids as well.
fn names_in_set(counters: &[&Counter]) -> Vec<String> {
    let mut known = HashSet::new();
    let name = |counter: &&Counter| {
        let name = counter.shown_name().into_owned();
        if known.insert(name.clone()) { name } else { format!("{name}#{}", counter.id.0) }
    };
    counters.iter().map(name).collect()
}

/// Returns a sample's values as tables, one for each counterset, with their instances in order.
fn tables<'a>(
    sample: &OutputSample<'a>,
    paths: &[CounterPath],
    options: &WideOptions,
) -> Vec<InstanceTable<'a>> {
    let all = sample.machines.iter().flat_map(|machine| InstanceTable::of_machine(machine, paths));
    all.map(|mut table| {
        if let Some(order) = &options.order {
            table.sort(order, options.form);
        }
        table
    })
    .collect()
}

/// Writer of a JSON object for each time and instance, each on its own line.
#[derive(Debug)]
pub struct WideJson<'w> {
    out: SampleWriter<'w>,
    options: WideOptions,
    paths: Vec<CounterPath>,
}

impl<'w> WideJson<'w> {
    /// Creates the output of wide JSON for values of these paths.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, options: WideOptions, paths: &[CounterPath]) -> Self {
        Self { out, options, paths: paths.to_vec() }
    }
}

impl Output for WideJson<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        for table in tables(sample, &self.paths, &self.options) {
            for row in &table.rows {
                self.out.push(&line(&WideRecord::new(sample.clocks, &table, row, self.options.form))?);
                self.out.push("\n");
            }
        }
        self.out.end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.finish()
    }
}

/// Writer of a CSV line for each time and instance, below a header.
///
/// The header names the counters of all samples of a log, which are [learned](Output::learn) before, or those of a
/// machine's first sample. Counters that appear later have no column then.
#[derive(Debug)]
pub struct WideCsv<'w> {
    out: SampleWriter<'w>,
    options: WideOptions,
    paths: Vec<CounterPath>,
    columns: Vec<WideColumn>,
    places: HashMap<(Guid, CounterId), usize>,
    has_header: bool,
    /// Number of values that have no column in the CSV.
    without_column: u64,
}

/// Column of wide CSV, for one counter.
#[derive(Debug)]
struct WideColumn {
    counterset: String,
    counter: String,
    id: CounterId,
}

impl<'w> WideCsv<'w> {
    /// Names of the CSV fields before the fields of the counters.
    const BEFORE: [&'static str; 4] = ["time", "counterset", "instance", "instance_id"];
    /// Names of the CSV fields behind the fields of the counters.
    const BEHIND: [&'static str; 3] = ["status", "mark", "missing"];

    /// Creates the output of wide CSV for values of these paths.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, options: WideOptions, paths: &[CounterPath]) -> Self {
        let (columns, places) = Default::default();
        Self { out, options, paths: paths.to_vec(), columns, places, has_header: false, without_column: 0 }
    }

    fn cell(&self, text: &str) -> String {
        if self.options.on_terminal { csv_cell(&escaped(text)) } else { csv_cell(text) }
    }

    /// Returns the header of wide CSV: the name of each counter, with its counterset if another field has the same
    /// name.
    fn header(&self) -> String {
        let mut count: HashMap<&str, usize> =
            Self::BEFORE.iter().chain(&Self::BEHIND).map(|name| (*name, 1)).collect();
        for column in &self.columns {
            let of = count.entry(&column.counter).or_default();
            *of = of.saturating_add(1);
        }
        let mut known = HashSet::new();
        let mut name = |column: &WideColumn| {
            let WideColumn { counterset, counter, id } = column;
            let is_only = count.get(counter.as_str()) == Some(&1);
            let name = if is_only { counter.clone() } else { format!("\\{counterset}\\{counter}") };
            if known.insert(name.clone()) { name } else { format!("{name}#{}", id.0) }
        };
        let before = Self::BEFORE.iter().map(|name| (*name).to_owned());
        let counters: Vec<_> = self.columns.iter().map(|column| self.cell(&name(column))).collect();
        let behind = Self::BEHIND.iter().map(|name| (*name).to_owned());
        before.chain(counters).chain(behind).collect::<Vec<_>>().join(",")
    }
}

impl Output for WideCsv<'_> {
    fn needs_series(&self) -> bool {
        self.options.is_learned
    }

    fn learn(&mut self, sample: &OutputSample<'_>) {
        for table in tables(sample, &self.paths, &self.options) {
            for counter in &table.columns {
                let key = (table.counterset.guid, counter.id);
                let next = self.columns.len();
                if *self.places.entry(key).or_insert(next) == next {
                    self.columns.push(WideColumn {
                        counterset: table.counterset.name.to_string(),
                        counter: counter.shown_name().into_owned(),
                        id: counter.id,
                    });
                }
            }
        }
    }

    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        if !self.has_header {
            if self.columns.is_empty() {
                self.learn(sample);
            }
            self.has_header = true;
            let header = self.header();
            writeln!(self.out, "{header}")?;
        }
        for table in tables(sample, &self.paths, &self.options) {
            let place = |counter: &&Counter| self.places.get(&(table.counterset.guid, counter.id)).copied();
            let places: Vec<Option<usize>> = table.columns.iter().map(place).collect();
            for row in &table.rows {
                let record = WideRecord::new(sample.clocks, &table, row, self.options.form);
                let mut numbers = vec![String::new(); self.columns.len()];
                for (cell, place) in row.cells.iter().zip(&places) {
                    let Some(number) = cell.and_then(|v| self.options.form.digits(v)) else { continue };
                    match place.and_then(|place| numbers.get_mut(place)) {
                        Some(text) => *text = WideNumber::new(number).csv(),
                        None => self.without_column = self.without_column.saturating_add(1),
                    }
                }
                let mut cells = vec![
                    self.cell(&record.time),
                    self.cell(&record.counterset),
                    self.cell(&record.instance),
                    record.instance_id.map(|id| id.to_string()).unwrap_or_default(),
                ];
                cells.append(&mut numbers);
                cells.push(self.cell(&record.status.csv()?));
                cells.push(self.cell(&record.mark.csv()?));
                cells.push(self.cell(&record.missing.csv()?));
                writeln!(self.out, "{}", cells.join(","))?;
            }
        }
        self.out.end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.finish()
    }

    fn without_column(&self) -> u64 {
        self.without_column
    }
}
