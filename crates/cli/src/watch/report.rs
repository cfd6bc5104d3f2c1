//! Reports of `watch`: lines for users, JSON lines, and the environment of the program.

use std::collections::{BTreeSet, HashMap};
use std::io::{Stdout, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use perfset::Mark;
use perfset::clock::ClockReading;
use perfset::output::json::line;
use perfset::output::text::escaped;
use perfset::output::{LeftOut, LeftOutRecord, NumberForm, Record, first_sentences};
use perfset::path::{CounterPath, PathValue};
use serde::Serialize;

use super::program::{Variables, warn};
use super::state::{Limit, WatchedInstance};
use crate::exit::Failure;
use crate::query_source::QuerySource;
use crate::terminal::{self, Escaping};

/// Event that `watch` reports: a condition begins or ends, or values are unknown.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReportKind {
    Begins,
    Ends,
    Unknown,
}

/// Report of `watch` as a line of JSON: the event, followed by the fields of a value.
#[derive(Serialize)]
struct ReportLine<'a, T> {
    event: ReportKind,
    #[serde(flatten)]
    value: &'a T,
}

/// Values of one sample that cannot decide the watched condition, and counter paths without any value.
#[derive(Default)]
pub struct UnknownValues<'v> {
    /// Values that exist and cannot decide the condition: stale, partial, or not a number.
    marked: Vec<&'v PathValue<'v>>,
    has_missing: bool,
    /// Counter paths that select no counter of this system.
    empty: Vec<String>,
}

impl<'v> UnknownValues<'v> {
    /// Adds a value that cannot decide the watched condition.
    pub fn add(&mut self, v: &'v PathValue<'v>) {
        match v.value.value {
            Ok(_) => self.marked.push(v),
            Err(_) => self.has_missing = true,
        }
    }

    /// Adds a counter path that selects no counter of this system.
    pub fn add_path(&mut self, path: &CounterPath) {
        self.empty.push(path.to_string());
    }
}

/// Writer of the reports of `watch` on standard output.
pub struct Reporter {
    out: Escaping<Stdout>,
    is_json: bool,
    /// Format of the times in reports of `watch`.
    time_format: &'static str,
    zone: TimeZone,
    limit: Limit,
    samples: u32,
    /// Last value of each watched instance whose condition has begun.
    begun: HashMap<WatchedInstance, Record<'static>>,
    /// Counter paths and status keywords of the unknown values that were reported last; they are not reported again
    /// while they are the same.
    told: BTreeSet<(String, &'static str)>,
    text: String,
}

impl Reporter {
    pub fn new(source: &QuerySource, is_json: bool, limit: Limit, samples: u32) -> Self {
        let is_log = matches!(source, QuerySource::Logs { .. });
        Self {
            out: terminal::stdout(),
            is_json,
            time_format: if is_log { "%Y-%m-%d %H:%M:%S.%3f" } else { "%H:%M:%S.%3f" },
            zone: source.zone(),
            limit,
            samples,
            begun: HashMap::new(),
            told: BTreeSet::new(),
            text: String::new(),
        }
    }

    /// Reports that the watched condition of an instance begins, and returns the environment of the program.
    pub fn begins(
        &mut self,
        clocks: &ClockReading,
        v: &PathValue<'_>,
        instance: WatchedInstance,
    ) -> Result<Variables, Failure> {
        let record = Record::new(clocks, v);
        self.report(ReportKind::Begins, clocks, &record, &cell(v))?;
        let variables = vec![
            ("PERFSET_TIME", record.time.clone()),
            ("PERFSET_PATH", escaped(&record.path)),
            ("PERFSET_COUNTERSET", escaped(&record.counterset)),
            ("PERFSET_INSTANCE", escaped(&record.instance)),
            ("PERFSET_INSTANCE_ID", record.instance_id.map_or_else(String::new, |id| id.to_string())),
            ("PERFSET_COUNTER", escaped(&record.counter)),
            ("PERFSET_VALUE", record.value.map_or_else(String::new, |value| value.to_string())),
            ("PERFSET_UNIT", escaped(&record.unit)),
            ("PERFSET_LIMIT", self.limit.to_string()),
            ("PERFSET_SAMPLES", self.samples.to_string()),
        ];
        self.begun.insert(instance, record);
        Ok(variables)
    }

    /// Reports that the watched condition of an instance ends.
    pub fn ends(
        &mut self,
        clocks: &ClockReading,
        v: &PathValue<'_>,
        instance: &WatchedInstance,
    ) -> Result<(), Failure> {
        self.begun.remove(instance);
        self.report(ReportKind::Ends, clocks, &Record::new(clocks, v), &cell(v))
    }

    /// Reports that a watched condition ends because its instance no longer exists.
    pub fn ends_with_instance(
        &mut self,
        clocks: &ClockReading,
        instance: &WatchedInstance,
    ) -> Result<(), Failure> {
        let Some(begun) = self.begun.remove(instance) else { return Ok(()) };
        let record = Record {
            time: utc(clocks),
            value: None,
            status: "no_instance",
            raw: None,
            base: None,
            mark: None,
            missing: None,
            ..begun
        };
        self.report(ReportKind::Ends, clocks, &record, "-")
    }

    /// Reports unknown values of a watched sample, unless the same paths were unknown for the same reasons before.
    pub fn unknown(
        &mut self,
        clocks: &ClockReading,
        paths: &[CounterPath],
        values: &[PathValue<'_>],
        unknown: &UnknownValues<'_>,
        is_missing: impl Fn(&PathValue<'_>) -> bool,
    ) -> Result<(), Failure> {
        let left_out = match unknown.has_missing {
            true => LeftOut::of_sample(values, paths, false, |v| !is_missing(v)),
            false => LeftOut::default(),
        };
        let mut records = left_out.records(clocks);
        let mut sentences = left_out.sentences();
        let marked = marked_records(clocks, paths, unknown);
        sentences.extend(marked.iter().map(|record| {
            let LeftOutRecord { record, instances, reason, .. } = record;
            let values = if *instances == 1 { "value" } else { "values" };
            let are = if *instances == 1 { "is" } else { "are" };
            format!("{instances} {values} of {} {are} {reason}", escaped(&record.path))
        }));
        records.extend(marked);
        let no_counter = |path: &String| format!("{} selects no counter of this system", escaped(path));
        sentences.extend(unknown.empty.iter().map(no_counter));
        let mut told: BTreeSet<_> =
            records.iter().map(|record| (record.record.path.clone(), record.record.status)).collect();
        told.extend(unknown.empty.iter().map(|path| (path.clone(), "unavailable")));
        if told != self.told {
            first_sentences(sentences, "are unknown").iter().for_each(|sentence| warn(sentence));
            for value in records.iter().filter(|_| self.is_json) {
                push_json(&mut self.text, ReportKind::Unknown, value)?;
            }
            self.told = told;
        }
        Ok(())
    }

    /// Writes the collected reports of a watched sample to standard output.
    pub fn end_sample(&mut self) -> Result<(), Failure> {
        if !self.text.is_empty() {
            self.out.write_all(self.text.as_bytes())?;
            self.out.flush()?;
            self.text.clear();
        }
        Ok(())
    }

    fn report(
        &mut self,
        event: ReportKind,
        clocks: &ClockReading,
        record: &Record<'_>,
        cell: &str,
    ) -> Result<(), Failure> {
        if self.is_json {
            return push_json(&mut self.text, event, record);
        }
        let time = Timestamp::from_millisecond(clocks.unix_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.to_zoned(self.zone.clone()).strftime(self.time_format);
        let word = if matches!(event, ReportKind::Begins) { "begins" } else { "ends" };
        let (unit, path) = (escaped(&record.unit), escaped(&record.path));
        self.text.push_str(&format!("{time}  {word:6}  {cell:>10} {unit:4}  {path}"));
        self.text.push_str(&match (record.mark, record.status) {
            (Some(mark), _) if mark != "formatted" => format!("  ({mark})\n"),
            (_, "no_instance") => "  (the instance ended)\n".to_owned(),
            _ => "\n".to_owned(),
        });
        Ok(())
    }
}

/// Appends a report of `watch` as a line of JSON.
fn push_json(text: &mut String, event: ReportKind, value: &impl Serialize) -> Result<(), Failure> {
    text.push_str(&line(&ReportLine { event, value })?);
    text.push('\n');
    Ok(())
}

/// Formats a reported value as in the cells of tables.
fn cell(v: &PathValue<'_>) -> String {
    let mut cell = String::new();
    NumberForm::Formatted.push_cell(v, &mut cell);
    cell
}

/// Formats the time of a sample as in JSON output: in UTC, with milliseconds.
fn utc(clocks: &ClockReading) -> String {
    let time = Timestamp::from_millisecond(clocks.unix_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Returns one record for each counter path and reason (stale, partial, not a number), with the number of such
/// values.
fn marked_records<'v>(
    clocks: &ClockReading,
    paths: &[CounterPath],
    unknown: &UnknownValues<'_>,
) -> Vec<LeftOutRecord<'v>> {
    let mut records: Vec<(usize, LeftOutRecord<'v>)> = Vec::new();
    for v in &unknown.marked {
        let status = match v.value.mark {
            Some(Mark::Stale(_)) => "stale",
            Some(Mark::Partial(_)) => "partial",
            _ => "not_a_number",
        };
        let is_same = |(path, known): &&mut (usize, LeftOutRecord<'_>)| {
            *path == v.path && known.record.status == status
        };
        if let Some((_, known)) = records.iter_mut().find(is_same) {
            known.instances = known.instances.saturating_add(1);
            continue;
        }
        let Some(path) = paths.get(v.path) else { continue };
        let record = Record {
            path: path.to_string(),
            instance: path.instance.clone().unwrap_or_default(),
            instance_id: None,
            value: None,
            status,
            raw: None,
            base: None,
            mark: None,
            missing: None,
            ..Record::new(clocks, v)
        };
        records.push((v.path, LeftOutRecord { record, instances: 1, of: 1, reason: String::new() }));
    }
    let with_reason = |(_, known): (usize, LeftOutRecord<'v>)| LeftOutRecord {
        reason: marked_reason(known.record.status, known.instances).to_owned(),
        ..known
    };
    records.into_iter().map(with_reason).collect()
}

/// Returns the words after "is" or "are" that say why a number of values cannot decide the condition.
fn marked_reason(status: &str, count: usize) -> &'static str {
    match (status, count) {
        ("stale", _) => "stale: the source did not respond in time",
        ("partial", 1) => "a sum of only some instances",
        ("partial", _) => "sums of only some instances",
        (_, 1) => "not a number",
        _ => "not numbers",
    }
}
