//! Missing values that `--top`, `--where` or `--summary` leave out: their number, and the reasons.

use std::collections::{HashMap, HashSet};

use perfset_core::clock::ClockReading;
use perfset_core::{CounterId, NoValue};
use perfset_engine::path::{CounterPath, PathValue};
use serde::Serialize;

use crate::record::Record;
use crate::series::SeriesKey;
use crate::text::escaped;

/// Numbers of instances without a value, for each counter of each path, by reason.
#[derive(Debug, Default)]
pub struct LeftOut<'v> {
    counters: Vec<OfCounter>,
    indexes: HashMap<(usize, CounterId), usize>,
    /// First missing value of the sample, for each reason of each counter.
    firsts: Vec<PathValue<'v>>,
}

/// Numbers of instances with missing values, for one counter of one path.
#[derive(Clone, Debug)]
struct OfCounter {
    /// Requested path that the counter belongs to, with the name of this counter instead of a pattern.
    path: CounterPath,
    has_instances: bool,
    /// Number of instances of the counter, with and without a value.
    all: usize,
    /// Reasons for missing values of the counter: reason, number of instances, and index of the first such value in
    /// `firsts`.
    reasons: Vec<(NoValue, usize, usize)>,
}

/// Fields for all instances of a counter that have no value for the same reason: the fields of a value, and three more.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOutRecord<'a> {
    /// Fields of the first value that is missing for this reason.
    #[serde(flatten)]
    pub record: Record<'a>,
    /// Number of instances without a value for this reason.
    pub instances: usize,
    /// Number of all instances of the counter, with and without a value.
    pub of: usize,
    /// Text of the reason for which the instances have no value.
    pub reason: String,
}

impl<'v> LeftOut<'v> {
    /// Counts the missing values of one sample: those for which `has_value` returns `false`. A ranking ignores `_Total`
    /// and `Idle`.
    pub fn of_sample(
        values: &[PathValue<'v>],
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
        for v in values {
            if !v.sums_up() || ranked.get(&group(v)) != Some(&true) {
                let reason = (!has_value(v)).then(|| reason_of(v));
                all.add(v, paths, reason);
            }
        }
        all
    }

    fn add(&mut self, v: &PathValue<'v>, paths: &[CounterPath], reason: Option<&NoValue>) {
        let next = self.counters.len();
        let at = *self.indexes.entry((v.path, v.value.counter.id)).or_insert(next);
        if at == next {
            self.counters.push(OfCounter::new(v, paths));
        }
        if let Some(counter) = self.counters.get_mut(at) {
            if counter.add(self.firsts.len(), reason) {
                self.firsts.push(v.clone());
            }
        }
    }

    /// Returns a sentence for users about each counter with missing values.
    pub fn sentences(&self) -> Vec<String> {
        sentences(&self.counters)
    }

    /// Returns the fields about missing values for each counter and reason.
    #[must_use]
    pub fn records(&self, clocks: &ClockReading) -> Vec<LeftOutRecord<'_>> {
        let of_counter = |counter: &OfCounter| {
            let record = |(reason, count, first): &(NoValue, usize, usize)| {
                Some(LeftOutRecord {
                    record: Record {
                        path: counter.path.to_string(),
                        instance: counter.path.instance.clone().unwrap_or_default(),
                        instance_id: None,
                        value: None,
                        status: reason.keyword(),
                        raw: None,
                        base: None,
                        mark: None,
                        ..Record::new(clocks, self.firsts.get(*first)?)
                    },
                    instances: *count,
                    of: counter.all,
                    reason: reason_text(reason, *count),
                })
            };
            counter.reasons.iter().filter_map(record).collect::<Vec<_>>()
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

    /// Counts an instance of the counter and the reason why its value is missing, if any. Returns `true` for the
    /// first instance with that reason; then `first` is stored.
    fn add(&mut self, first: usize, reason: Option<&NoValue>) -> bool {
        let one = usize::from(reason != Some(&NoValue::NoInstance)); // that is a path without instances
        self.all = self.all.saturating_add(one);
        match reason {
            // The first reading of what is counted over time: nothing refuses it.
            None | Some(NoValue::NeedsTwoSamples) => false,
            Some(reason) => match self.reasons.iter_mut().find(|(known, ..)| is_same(known, reason)) {
                Some((_, count, _)) => {
                    *count = count.saturating_add(one);
                    false
                }
                None => {
                    self.reasons.push((reason.clone(), one, first));
                    true
                }
            },
        }
    }

    fn sentence(&self) -> String {
        /// Maximum number of reasons for missing values that a sentence lists one by one.
        const MOST: usize = 5;
        let path = escaped(&self.path.to_string());
        let told = |(reason, count, _): &(NoValue, usize, usize)| escaped(&reason_text(reason, *count));
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

/// Series that never had a value during a run of the command.
#[derive(Debug, Default)]
pub struct NeverThere {
    series: HashMap<SeriesKey, Option<NoValue>>,
    /// Counters of all requested paths in order of appearance, with numbers of instances and without reasons.
    counters: Vec<OfCounter>,
    indexes: HashMap<(usize, CounterId), usize>,
}

impl NeverThere {
    /// Counts the series of a sample, with or without a value.
    pub fn add<'a, 'b: 'a>(
        &mut self,
        values: impl IntoIterator<Item = &'a PathValue<'b>>,
        paths: &[CounterPath],
    ) {
        for v in values {
            let next = self.counters.len();
            let group = (v.path, v.value.counter.id);
            if *self.indexes.entry(group).or_insert(next) == next {
                self.counters.push(OfCounter::new(v, paths));
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
    #[must_use]
    pub fn sentences_beside_values(&self) -> Vec<String> {
        let with_values: HashSet<usize> = self
            .series
            .iter()
            .filter(|(_, reason)| reason.is_none())
            .map(|(series, _)| series.counter_of_path().0)
            .collect();
        self.sentences_of(|path| with_values.contains(&path))
    }

    /// Returns a sentence for users about each counter with series that never had a value.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.sentences_of(|_| true)
    }

    /// Returns the sentences about missing values of the paths, given by their indexes, for which `is_told` returns
    /// `true`.
    fn sentences_of(&self, is_told: impl Fn(usize) -> bool) -> Vec<String> {
        let mut counters = self.counters.clone();
        for (series, reason) in &self.series {
            let (path, counter) = series.counter_of_path();
            let index = self.indexes.get(&(path, counter)).filter(|_| is_told(path));
            if let Some(counter) = index.and_then(|index| counters.get_mut(*index)) {
                counter.add(0, reason.as_ref());
            }
        }
        sentences(&counters)
    }
}

/// Returns a sentence for users about each counter with missing values.
fn sentences(counters: &[OfCounter]) -> Vec<String> {
    counters.iter().filter(|counter| !counter.reasons.is_empty()).map(OfCounter::sentence).collect()
}

/// Returns the first ten sentences about missing values and, if there are more, one about the rest: `values of N more
/// counters`, followed by `what`. Each sentence is about one counter.
#[must_use]
pub fn first_sentences(mut sentences: Vec<String>, what: &str) -> Vec<String> {
    const MOST: usize = 10;
    let more = sentences.len().saturating_sub(MOST);
    sentences.truncate(MOST);
    if more > 0 {
        sentences.push(format!("values of {more} more counters {what}"));
    }
    sentences
}

/// Returns `true` if instances with these two reasons for missing values are counted together. Values that fell have
/// numbers of their own.
pub(crate) fn is_same(a: &NoValue, b: &NoValue) -> bool {
    use NoValue::{NegativeValue as Fell, Wrapped};
    a == b || matches!((a, b), (Fell { .. }, Fell { .. }) | (Wrapped { .. }, Wrapped { .. }))
}

/// Returns the text of a reason for a missing value; for several instances, without numbers that only one of them
/// has.
pub(crate) fn reason_text(reason: &NoValue, count: usize) -> String {
    match reason {
        NoValue::NegativeValue { .. } if count > 1 => "the raw values fell".into(),
        NoValue::Wrapped { .. } if count > 1 => {
            "the raw values fell: the 4-byte counters overflowed or were reset".into()
        }
        reason => reason.to_string(),
    }
}

/// Returns the reason for which a value is missing.
fn reason_of<'a>(v: &'a PathValue<'_>) -> &'a NoValue {
    const NONE: &NoValue = &NoValue::NotGiven;
    v.value.value.as_ref().err().unwrap_or(NONE)
}
