//! Missing values that `--top`, `--where` or `--summary` leave out: their number, and the reasons.

use std::collections::HashMap;
use std::io::{self, Write as _};

use perfset::clock::ClockReading;
use perfset::json::Record;
use perfset::path::{CounterPath, PathValue};
use perfset::{CounterId, NoValue};
use serde::Serialize;

use crate::series::SeriesKey;
use crate::text::{escaped, json_line};

/// Number of instances without a value, for each counter of each path, by reason.
#[derive(Debug, Default)]
pub struct LeftOut {
    counters: Vec<OfCounter>,
    indexes: HashMap<(usize, CounterId), usize>,
}

/// The instances of one counter of one path.
#[derive(Debug)]
struct OfCounter {
    /// Requested path, with the name of this counter instead of a pattern.
    path: CounterPath,
    has_instances: bool,
    /// Number of instances, with and without a value.
    all: usize,
    /// Reasons for missing values: reason, number of instances, and index of the first such value in the sample.
    reasons: Vec<(NoValue, usize, usize)>,
}

/// JSON line for all instances that have no value for the same reason: the fields of a value, and three more.
#[derive(Serialize)]
struct LeftOutRecord<'a> {
    #[serde(flatten)]
    record: Record<'a>,
    /// Number of instances without a value for this reason.
    instances: usize,
    /// Number of all instances of the counter.
    of: usize,
    /// Text of the reason for the missing values.
    reason: String,
}

impl LeftOut {
    /// Counts the missing values of one sample: those for which `has_value` returns `false`. A ranking ignores `_Total`
    /// and `Idle`.
    pub fn of_sample(
        values: &[PathValue<'_>],
        paths: &[CounterPath],
        is_ranking: bool,
        has_value: impl Fn(&PathValue<'_>) -> bool,
    ) -> Self {
        let group = |v: &PathValue<'_>| (v.path, v.value.counter.id);
        // Sums take part in a ranking only where there is nothing else.
        let mut ranked: HashMap<_, bool> = HashMap::new();
        for v in values.iter().filter(|_| is_ranking) {
            *ranked.entry(group(v)).or_default() |= !v.sums_up();
        }
        let mut all = Self::default();
        for (number, v) in values.iter().enumerate() {
            if !v.sums_up() || ranked.get(&group(v)) != Some(&true) {
                let reason = (!has_value(v)).then(|| reason_of(v));
                all.add(v, paths, number, reason);
            }
        }
        all
    }

    fn add(&mut self, v: &PathValue<'_>, paths: &[CounterPath], number: usize, reason: Option<&NoValue>) {
        let next = self.counters.len();
        let at = *self.indexes.entry((v.path, v.value.counter.id)).or_insert(next);
        if at == next {
            self.counters.push(OfCounter::new(v, paths));
        }
        if let Some(counter) = self.counters.get_mut(at) {
            counter.add(number, reason);
        }
    }

    /// Returns a sentence for each counter with missing values.
    pub fn sentences(&self) -> Vec<String> {
        self.counters.iter().filter(|counter| !counter.reasons.is_empty()).map(OfCounter::sentence).collect()
    }

    /// Returns a JSON line for each counter and reason. `values` are the values that were counted.
    pub fn to_json(&self, clocks: &ClockReading, values: &[PathValue<'_>]) -> Vec<String> {
        let of_counter = |counter: &OfCounter| {
            let line = |(reason, count, first): &(NoValue, usize, usize)| {
                let record = LeftOutRecord {
                    record: Record {
                        path: counter.path.to_string(),
                        instance: counter.path.instance.clone().unwrap_or_default(),
                        instance_id: None,
                        value: None,
                        status: reason.keyword(),
                        raw: None,
                        base: None,
                        mark: None,
                        ..Record::new(clocks, values.get(*first)?)
                    },
                    instances: *count,
                    of: counter.all,
                    reason: told(reason, *count),
                };
                serde_json::to_string(&record).ok().map(|json| json_line(&json))
            };
            counter.reasons.iter().filter_map(line).collect::<Vec<_>>()
        };
        self.counters.iter().flat_map(of_counter).collect()
    }
}

impl OfCounter {
    fn new(v: &PathValue<'_>, paths: &[CounterPath]) -> Self {
        let path = CounterPath {
            machine: None,
            counterset: v.value.counterset.name.to_string(),
            instance: paths.get(v.path).and_then(|path| path.instance.clone()),
            counter: v.value.counter.shown_name().into_owned(),
        };
        let has_instances = v.value.counterset.instance_type.is_multiple();
        Self { path, has_instances, all: 0, reasons: Vec::new() }
    }

    fn add(&mut self, number: usize, reason: Option<&NoValue>) {
        let one = usize::from(reason != Some(&NoValue::NoInstance)); // that is a path without instances
        self.all = self.all.saturating_add(one);
        match reason {
            // The first reading of what is counted over time: nothing refuses it.
            None | Some(NoValue::NeedsTwoSamples) => {}
            Some(reason) => match self.reasons.iter_mut().find(|(known, ..)| is_same(known, reason)) {
                Some((_, count, _)) => *count = count.saturating_add(one),
                None => self.reasons.push((reason.clone(), one, number)),
            },
        }
    }

    fn sentence(&self) -> String {
        /// Maximum number of reasons listed one by one.
        const MOST: usize = 5;
        let path = escaped(&self.path.to_string());
        let told = |(reason, count, _): &(NoValue, usize, usize)| escaped(&told(reason, *count));
        let missing = self.reasons.iter().fold(0_usize, |sum, (_, count, _)| sum.saturating_add(*count));
        match self.reasons.as_slice() {
            [only] if !self.has_instances || matches!(only.0, NoValue::NoInstance) => {
                format!("{path} has no value: {}", told(only))
            }
            [only] => {
                let have = if missing == 1 { "has" } else { "have" };
                format!("{missing} of {} instances of {path} {have} no value: {}", self.all, told(only))
            }
            several => {
                let mut sorted: Vec<_> = several.iter().collect();
                // By text among equal numbers: equal samples give equal sentences, which are not repeated.
                sorted.sort_by_cached_key(|one| (std::cmp::Reverse(one.1), told(one)));
                let (first, rest) = sorted.split_at_checked(MOST).unwrap_or((&sorted, &[]));
                let mut reasons: Vec<_> =
                    first.iter().map(|one| format!("{} {}", one.1, told(one))).collect();
                let others = rest.iter().fold(0_usize, |sum, (_, count, _)| sum.saturating_add(*count));
                if others > 0 {
                    reasons.push(format!("{others} for other reasons"));
                }
                let reasons = reasons.join("; ");
                format!("{missing} of {} instances of {path} have no value: {reasons}", self.all)
            }
        }
    }
}

/// Series that never had a value during a run.
#[derive(Debug, Default)]
pub struct NeverThere {
    series: HashMap<SeriesKey, Option<NoValue>>,
    /// Counters of all paths in order of appearance; their reasons are added at the end.
    counters: LeftOut,
}

impl NeverThere {
    /// Adds the series of a sample, with or without a value.
    pub fn add<'a, 'b: 'a>(
        &mut self,
        values: impl IntoIterator<Item = &'a PathValue<'b>>,
        paths: &[CounterPath],
    ) {
        for v in values {
            let next = self.counters.counters.len();
            let group = (v.path, v.value.counter.id);
            if *self.counters.indexes.entry(group).or_insert(next) == next {
                self.counters.counters.push(OfCounter::new(v, paths));
            }
            let known =
                self.series.entry(SeriesKey::new(v.path, v)).or_insert_with(|| Some(reason_of(v).clone()));
            if v.value.value.is_ok() {
                *known = None;
            } else if let Some(reason) = known {
                // The last reason is the one that still holds.
                reason.clone_from(reason_of(v));
            }
        }
    }

    /// Returns the [`sentences`](Self::sentences) of paths with at least one value. For other paths a picture shows the
    /// reasons itself.
    #[cfg(feature = "plot")]
    pub fn sentences_beside_values(mut self) -> Vec<String> {
        let with_values: std::collections::HashSet<usize> = self
            .series
            .iter()
            .filter(|(_, reason)| reason.is_none())
            .map(|(series, _)| series.counter_of_path().0)
            .collect();
        self.series.retain(|series, _| with_values.contains(&series.counter_of_path().0));
        self.sentences()
    }

    /// Returns a sentence for each counter with series that never had a value.
    pub fn sentences(mut self) -> Vec<String> {
        for (series, reason) in &self.series {
            let at = self.counters.indexes.get(&series.counter_of_path());
            if let Some(counter) = at.and_then(|at| self.counters.counters.get_mut(*at)) {
                counter.add(0, reason.as_ref());
            }
        }
        self.counters.sentences()
    }
}

/// Writes sentences about missing values to standard error, ten of them at most.
pub fn warn(sentences: &[String]) {
    warn_first(sentences, "are missing");
}

/// Writes sentences, one a counter, to standard error. Counters beyond the first ten get one more sentence: their
/// values "are missing", or whatever `what` is.
pub fn warn_first(sentences: &[String], what: &str) {
    const MOST: usize = 10;
    // Standard error is the last place to report to, so a failure of it is ignored.
    for sentence in sentences.iter().take(MOST) {
        let _ = writeln!(io::stderr(), "warning: {sentence}");
    }
    let more = sentences.len().saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(io::stderr(), "warning: values of {more} more counters {what}");
    }
}

/// Returns `true` if instances with these reasons are counted together. Values that fell have numbers of their own.
fn is_same(a: &NoValue, b: &NoValue) -> bool {
    use NoValue::{NegativeValue as Fell, Wrapped};
    a == b || matches!((a, b), (Fell { .. }, Fell { .. }) | (Wrapped { .. }, Wrapped { .. }))
}

/// Returns the text of a reason that several instances have, without the numbers of one of them.
fn told(reason: &NoValue, count: usize) -> String {
    match reason {
        NoValue::NegativeValue { .. } if count > 1 => "the raw values fell".into(),
        NoValue::Wrapped { .. } if count > 1 => {
            "the raw values fell: the 4-byte counters overflowed or were reset".into()
        }
        reason => reason.to_string(),
    }
}

/// Returns the reason for a missing value.
fn reason_of<'a>(v: &'a PathValue<'_>) -> &'a NoValue {
    const NONE: &NoValue = &NoValue::NotGiven;
    v.value.value.as_ref().err().unwrap_or(NONE)
}
