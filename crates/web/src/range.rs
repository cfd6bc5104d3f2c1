//! Values of series in a range of time, summarized in steps of equal length.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;

use perfset::output::text::csv_cell;
use perfset::output::utc_text;
use serde::Serialize;

use crate::answer::to_json;
use crate::log::to_unix_ms;
use crate::request::RangeAsk;

/// Maximum number of steps into which a range of time is divided.
pub const STEPS_MOST: usize = 10_000;
/// Maximum number of steps of all series in a response together.
pub const CELLS_MOST: usize = 200_000;
/// Usual number of steps of a range if a request names no step length.
const STEPS_USUAL: i64 = 600;
/// Factor of the usual distance between two samples of a range above which there is a gap.
const GAP: f64 = 2.5;
/// Share of a range's step from which on the share counts as the whole step, because weights are rounded.
const WHOLE_SHARE: f64 = 0.9999;
/// Number of units of 100 ns in a millisecond.
const MILLISECOND: i64 = 10_000;

/// Steps of a range of time: `from` is the beginning of the first one. All times are in 100 ns since 1601 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeSteps {
    pub from: i64,
    pub to: i64,
    /// Length of a step in 100 ns, a whole number of milliseconds.
    pub length: i64,
    /// Number of steps; the last one contains `to`.
    pub count: usize,
}

impl RangeSteps {
    /// Divides a range of time into steps of a length.
    pub fn new(from: i64, to: i64, length: i64) -> Self {
        let length = length.max(MILLISECOND);
        let last = to.saturating_sub(from).max(0).checked_div(length).unwrap_or(0);
        Self { from, to, length, count: usize::try_from(last).unwrap_or(usize::MAX).saturating_add(1) }
    }

    /// Divides a range of time into steps of a round length that is at least `least`: at most about 600 steps.
    pub fn chosen(from: i64, to: i64, least: i64) -> Self {
        const SECOND: i64 = 1_000 * MILLISECOND;
        const ROUND: [i64; 17] =
            [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400];
        let wanted = to.saturating_sub(from).checked_div(STEPS_USUAL).unwrap_or(0).max(least);
        // A recorder that is quicker than once a second is shown as it is.
        let ms = wanted.saturating_add(MILLISECOND).saturating_sub(1).div_euclid(MILLISECOND);
        let quick = (wanted < SECOND).then(|| ms.saturating_mul(MILLISECOND));
        let round =
            ROUND.iter().map(|seconds| seconds.saturating_mul(SECOND)).find(|length| *length >= wanted);
        Self::new(from, to, quick.or(round).unwrap_or(wanted))
    }

    /// Returns the index of the step of the range that contains a time; `None` outside the range.
    fn of(&self, time: i64) -> Option<usize> {
        if time > self.to {
            return None;
        }
        let at = time.checked_sub(self.from).filter(|distance| *distance >= 0)?.checked_div(self.length)?;
        usize::try_from(at).ok().filter(|at| *at < self.count)
    }

    /// Returns the times at which the steps of the range begin, in milliseconds since 1970.
    fn times_ms(&self) -> impl Iterator<Item = i64> + use<> {
        let Self { from, length, .. } = *self;
        (0..self.count).map(move |at| {
            let at = i64::try_from(at).unwrap_or(i64::MAX);
            to_unix_ms(from.saturating_add(at.saturating_mul(length)))
        })
    }

    /// Returns the length of a step of the range in milliseconds.
    pub fn length_ms(&self) -> i64 {
        self.length.div_euclid(MILLISECOND)
    }
}

/// Usual distance between samples of a range: the median of the last distances. A gap does not change it.
#[derive(Clone, Debug, Default)]
pub struct UsualDistance {
    last: VecDeque<i64>,
}

impl UsualDistance {
    /// Number of last distances between samples whose median is the usual one.
    pub const LEN: usize = 7;

    /// Adds the distance between two samples, and returns `true` if there is a gap between these samples.
    pub fn is_gap(&mut self, distance: i64) -> bool {
        let exceeds = |usual: i64| real(distance) > GAP * real(usual);
        // The usual distance is at least the shortest one, which is found without sorting.
        let can_be_gap = self.last.iter().copied().min().is_some_and(exceeds);
        let is_gap = can_be_gap && self.usual().is_some_and(exceeds);
        self.last.push_back(distance);
        if self.last.len() > Self::LEN {
            self.last.pop_front();
        }
        is_gap
    }

    /// Returns the usual distance between samples; `None` if no distance is known.
    pub fn usual(&self) -> Option<i64> {
        let mut all: Vec<_> = self.last.iter().copied().collect();
        all.sort_unstable();
        // Of an even number the smaller one: the first distance of all may be a gap.
        all.get(all.len().saturating_sub(1) / 2).copied()
    }
}

/// Summary of the values of a series in one step of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSummary {
    pub least: f64,
    pub greatest: f64,
    pub last: f64,
    /// Sum of the step's values, each multiplied by the value's weight.
    sum: f64,
    weight: f64,
}

impl StepSummary {
    fn of(value: f64, weight: f64) -> Self {
        Self { least: value, greatest: value, last: value, sum: value * weight, weight }
    }

    fn add(&mut self, value: f64, weight: f64) {
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
        self.last = value;
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Returns the mean of the step's values; equal values have exactly that mean.
    pub fn mean(&self) -> f64 {
        if self.least.total_cmp(&self.greatest).is_eq() { self.least } else { self.sum / self.weight }
    }
}

/// Sample of a series for a range: its value, or the reason for having none.
#[derive(Clone, Copy, Debug)]
pub struct RangeSample {
    pub time: i64,
    /// Time of the counterset's previous collection; `None` for the first collection, or after a gap.
    pub previous: Option<i64>,
    /// Length of time, in 100 ns, for which the sample's value counts if the value covers a time and is not of an
    /// instant.
    pub length: i64,
    /// `true` if the sample's value covers the time since the previous collection, and is not of an instant.
    pub covers_time: bool,
    pub value: Result<f64, &'static str>,
    /// Keyword of the value's mark, such as `held`.
    pub mark: Option<&'static str>,
}

/// Series in a response for a range: one counter of one instance.
#[derive(Debug)]
pub struct RangeSeries {
    /// Index of the request's path that selected the series.
    pub ask: usize,
    /// Counter path of the series, with the name of its instance.
    pub path: String,
    /// Name of the series' instance, for the titles of columns.
    pub instance: String,
    /// Facts about the series: the text of a JSON object without its braces.
    about: Box<str>,
    steps: Vec<Option<StepSummary>>,
    /// Reasons for steps of the series without a value, by index of the step.
    missing: BTreeMap<usize, &'static str>,
    /// Number of the series' values with a mark, by the keyword of the mark.
    marks: BTreeMap<&'static str, u64>,
    /// Last value of the series, with its time.
    last: Option<(i64, f64)>,
}

impl RangeSeries {
    pub fn new(ask: usize, path: String, instance: String, about: &impl Serialize) -> Self {
        let about = to_json(about);
        let about = about.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        Self {
            ask,
            path,
            instance,
            about: about.into(),
            steps: Vec::new(),
            missing: BTreeMap::new(),
            marks: BTreeMap::new(),
            last: None,
        }
    }

    /// Adds the next sample to the series. A value is counted in the step of its time. If
    /// steps are shorter than the recorder's interval, the steps between two samples have a value too: a rate fills
    /// those before its sample, another value those after it.
    pub fn add(&mut self, steps: &RangeSteps, sample: &RangeSample) {
        let before = self.last.take();
        let end = steps.of(sample.time).or_else(|| (sample.time > steps.to).then_some(steps.count));
        // The first step that no earlier sample is in; a sample before the range is in none.
        let begin = |time: i64| match steps.of(time) {
            Some(at) => at.saturating_add(1),
            None if time > steps.to => steps.count,
            None => 0,
        };
        let between = sample.previous.zip(end).map(|(previous, end)| begin(previous)..end);
        let filling = match sample.covers_time {
            true => sample.value.ok(),
            false => before.filter(|(time, _)| Some(*time) == sample.previous).map(|(_, value)| value),
        };
        if let (Some(between), Some(value)) = (between, filling) {
            between.for_each(|at| self.put(at, value, 1.0));
        }
        let value = match sample.value {
            Ok(value) => value,
            Err(reason) => {
                if let Some(at) = steps.of(sample.time) {
                    self.missing.insert(at, reason);
                }
                return;
            }
        };
        self.last = Some((sample.time, value));
        let Some(at) = steps.of(sample.time) else { return };
        let weight = if sample.covers_time { real(sample.length) } else { 1.0 };
        self.put(at, value, weight);
        if let Some(mark) = sample.mark {
            let count = self.marks.entry(mark).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn put(&mut self, at: usize, value: f64, weight: f64) {
        if self.steps.len() <= at {
            self.steps.resize(at.saturating_add(1), None);
        }
        match self.steps.get_mut(at) {
            Some(Some(step)) => step.add(value, weight),
            Some(none) => *none = Some(StepSummary::of(value, weight)),
            None => {}
        }
    }

    /// Returns `true` if the series has neither a value nor a reason for a missing one in the range.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.missing.is_empty()
    }

    /// Returns the summary of a step of the series; `None` if it has no value there.
    pub fn step(&self, at: usize) -> Option<&StepSummary> {
        self.steps.get(at)?.as_ref()
    }
}

/// Mark in a recording: a text that was written with its time.
#[derive(Clone, Debug, Serialize)]
pub struct RangeMark {
    /// Time of the mark in milliseconds since 1970.
    pub time: i64,
    pub text: String,
    /// `true` if the recorder wrote the mark itself.
    pub is_of_recorder: bool,
}

/// Counter path of a range request that has no series, with the reason.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedPath {
    /// Index of the refused path in the request.
    pub ask: usize,
    pub path: String,
    /// HTTP status that a request of the refused path alone gets.
    pub status: u16,
    pub error: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// Response to a request for the values of a range of time.
#[derive(Debug)]
pub struct RangeResponse<'a> {
    pub asks: &'a [RangeAsk],
    pub steps: RangeSteps,
    pub series: Vec<RangeSeries>,
    pub refused: Vec<RefusedPath>,
    /// Times between which nothing was recorded in the range, in milliseconds since 1970.
    pub gaps: Vec<[i64; 2]>,
    pub marks: Vec<RangeMark>,
}

impl RangeResponse<'_> {
    /// Returns the response for a range as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let steps = &self.steps;
        let mut out = Vec::new();
        write(
            &mut out,
            format_args!(
                "{{\"from\":{},\"to\":{},\"step_ms\":{},\"times\":",
                to_unix_ms(steps.from),
                to_unix_ms(steps.to),
                steps.length_ms()
            ),
        );
        list(&mut out, steps.times_ms());
        out.extend_from_slice(b",\"series\":[");
        let longest = self.longest();
        for (at, series) in self.series.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.push_series(&mut out, series, longest.get(series.ask).map_or(&[], Vec::as_slice));
        }
        out.push(b']');
        for (name, text) in [
            ("errors", to_json(&self.refused)),
            ("gaps", to_json(&self.gaps)),
            ("marks", to_json(&self.marks)),
        ] {
            write(&mut out, format_args!(",\"{name}\":{text}"));
        }
        out.push(b'}');
        out
    }

    /// Returns the greatest weight of each step among the series of a counter path, for each requested path.
    fn longest(&self) -> Vec<Vec<f64>> {
        let mut longest = vec![Vec::new(); self.asks.len()];
        for series in &self.series {
            let Some(longest) = longest.get_mut(series.ask) else { continue };
            if longest.len() < series.steps.len() {
                longest.resize(series.steps.len(), 0.0_f64);
            }
            for (most, step) in longest.iter_mut().zip(&series.steps) {
                *most = most.max(step.map_or(0.0, |step| step.weight));
            }
        }
        longest
    }

    /// Appends a series of a range as JSON. The means of instances add up to that of their sum only with the share of
    /// the step for which each of them had values: `longest` has the weights of whole steps.
    fn push_series(&self, out: &mut Vec<u8>, series: &RangeSeries, longest: &[f64]) {
        write(out, format_args!("{{\"ask\":{},", series.ask));
        if let Some(alias) = self.alias(series.ask) {
            write(out, format_args!("\"alias\":{},", serde_json::Value::from(alias)));
        }
        out.extend_from_slice(series.about.as_bytes());
        let all = || (0..self.steps.count).map(|at| series.step(at));
        out.extend_from_slice(b",\"least\":");
        list(out, all().map(|step| step.map(|step| step.least)));
        out.extend_from_slice(b",\"mean\":");
        list(out, all().map(|step| step.map(StepSummary::mean)));
        out.extend_from_slice(b",\"greatest\":");
        list(out, all().map(|step| step.map(|step| step.greatest)));
        out.extend_from_slice(b",\"last\":");
        list(out, all().map(|step| step.map(|step| step.last)));
        let missing = series.missing.iter().filter(|(at, _)| series.step(**at).is_none());
        write(out, format_args!(",\"missing\":{}", to_json(&missing.collect::<Vec<_>>())));
        let shares = series.steps.iter().zip(longest).enumerate().filter_map(|(at, (step, longest))| {
            let share = step.as_ref()?.weight / longest;
            (share < WHOLE_SHARE).then_some((at, share))
        });
        write(out, format_args!(",\"shares\":{}", to_json(&shares.collect::<Vec<_>>())));
        write(out, format_args!(",\"marks\":{}}}", to_json(&series.marks)));
    }

    /// Returns the response for a range as a CSV table: a row for each step, with its time, and four columns for each
    /// series. A path without series has an empty column, whose title is the reason.
    pub fn to_csv(&self) -> Vec<u8> {
        let mut out = String::from("time");
        let mut column = |title: &str| {
            out.push(',');
            out.push_str(&csv_cell(title));
        };
        for series in &self.series {
            let name = self.name(series);
            for statistic in ["least", "mean", "greatest", "last"] {
                column(&format!("{name} {statistic}"));
            }
        }
        for refused in &self.refused {
            column(&format!("{}: {}", refused.path, refused.error));
        }
        out.push('\n');
        let mut out = out.into_bytes();
        for (at, time) in self.steps.times_ms().enumerate() {
            out.extend_from_slice(utc_text(time).as_bytes());
            for series in &self.series {
                let step = series.step(at);
                for number in [
                    step.map(|step| step.least),
                    step.map(StepSummary::mean),
                    step.map(|step| step.greatest),
                    step.map(|step| step.last),
                ] {
                    out.push(b',');
                    if let Some(number) = number {
                        push_number(&mut out, number);
                    }
                }
            }
            self.refused.iter().for_each(|_| out.push(b','));
            out.push(b'\n');
        }
        out
    }

    /// Returns the name of a series in a CSV table: its path, or the alias, with the instance if the alias has
    /// several.
    fn name(&self, series: &RangeSeries) -> String {
        let Some(alias) = self.alias(series.ask) else { return series.path.clone() };
        let is_several = self.series.iter().filter(|other| other.ask == series.ask).nth(1).is_some();
        if is_several && !series.instance.is_empty() {
            format!("{alias} {}", series.instance)
        } else {
            alias.to_owned()
        }
    }

    fn alias(&self, ask: usize) -> Option<&str> {
        self.asks.get(ask)?.alias.as_deref()
    }
}

/// Appends items as a JSON array; `None` is `null`.
fn list<T: Serialize>(out: &mut Vec<u8>, all: impl Iterator<Item = T>) {
    out.push(b'[');
    for (at, one) in all.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let _ = serde_json::to_writer(&mut *out, &one); // a Vec takes everything
    }
    out.push(b']');
}

fn push_number(out: &mut Vec<u8>, number: f64) {
    let _ = serde_json::to_writer(out, &number); // a Vec takes everything
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text); // a Vec takes everything
}

#[expect(clippy::as_conversions, reason = "times of a range are far below 2^53")]
fn real(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 10_000_000;

    #[test]
    fn steps_cover_the_range() {
        for (from, to, length, count) in
            [(0, 0, 1, 1), (0, 9, 10, 1), (0, 10, 10, 2), (5, 14, 10, 1), (5, 15, 10, 2), (9, 3, 10, 1)]
        {
            let steps = RangeSteps::new(from * SECOND, to * SECOND, length * SECOND);
            assert_eq!(steps.count, count, "{from} {to} {length}");
        }
        let steps = RangeSteps::new(0, 15 * SECOND, 10 * SECOND);
        let of: Vec<_> = [-1, 0, 9, 10, 15, 16].map(|second| steps.of(second * SECOND)).into();
        assert_eq!(of, [None, Some(0), Some(0), Some(1), Some(1), None]);
        assert_eq!(steps.of(i64::MIN), None);
    }

    #[test]
    fn lengths_are_round() {
        for (seconds, least_ms, want_ms) in [
            (60, 1_000, 1_000),
            (600, 1_000, 1_000),
            (601, 1_000, 2_000),
            (86_400, 1_000, 300_000),
            (60, 100, 100),
            (10, 0, 17),
        ] {
            let steps = RangeSteps::chosen(0, seconds * SECOND, least_ms * MILLISECOND);
            assert_eq!(steps.length_ms(), want_ms, "{seconds} {least_ms}");
        }
        // Ten thousand days.
        assert!(RangeSteps::chosen(0, 864_000_000 * SECOND, 0).count <= 602);
    }

    #[test]
    fn a_distance_is_a_gap_beside_the_others() {
        let mut usual = UsualDistance::default();
        let gaps: Vec<_> = [10, 10, 11, 90, 10, 24, 26, 26, 26, 26, 26, 70].map(|d| usual.is_gap(d)).into();
        let is_gap = [false, false, false, true, false, false, true, false, false, false, false, true];
        assert_eq!(gaps, is_gap);
    }

    fn series() -> RangeSeries {
        RangeSeries::new(0, String::new(), String::new(), &serde_json::json!({"unit": "B"}))
    }

    fn sample(time: i64, previous: Option<i64>, covers_time: bool, value: f64) -> RangeSample {
        let of = |second: i64| second * SECOND;
        let length = previous.map_or(SECOND, |before| of(time - before));
        RangeSample {
            time: of(time),
            previous: previous.map(of),
            length,
            covers_time,
            value: Ok(value),
            mark: None,
        }
    }

    fn lasts(series: &RangeSeries, steps: &RangeSteps) -> Vec<Option<f64>> {
        (0..steps.count).map(|at| series.step(at).map(|step| step.last)).collect()
    }

    /// Checks steps of a range that are shorter than the recorder's interval: rates count before their sample, levels
    /// after it.
    #[test]
    fn short_steps_have_the_value_of_their_time() {
        let steps = RangeSteps::new(0, 6 * SECOND, SECOND);
        let mut rate = series();
        [(0, None, 1.0), (3, Some(0), 2.0), (6, Some(3), 3.0)]
            .into_iter()
            .for_each(|(time, previous, value)| rate.add(&steps, &sample(time, previous, true, value)));
        let want = [1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0].map(Some);
        assert_eq!(lasts(&rate, &steps), want);
        let mut level = series();
        [(-3, None, 1.0), (1, Some(-3), 2.0), (4, Some(1), 3.0), (9, Some(4), 4.0)]
            .into_iter()
            .for_each(|(time, previous, value)| level.add(&steps, &sample(time, previous, false, value)));
        let want = [1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0].map(Some);
        assert_eq!(lasts(&level, &steps), want);
    }

    #[test]
    fn gaps_and_reasons_are_no_values() {
        let steps = RangeSteps::new(0, 9 * SECOND, SECOND);
        let mut all = series();
        all.add(&steps, &sample(0, None, true, 1.0));
        let missing = RangeSample { value: Err("denied"), ..sample(1, Some(0), true, 0.0) };
        all.add(&steps, &missing);
        all.add(&steps, &sample(8, None, true, 8.0)); // after a gap
        all.add(&steps, &sample(9, Some(8), true, 9.0));
        let want = [Some(1.0), None, None, None, None, None, None, None, Some(8.0), Some(9.0)];
        assert_eq!(lasts(&all, &steps), want);
        assert_eq!(all.missing, BTreeMap::from([(1, "denied")]));
    }

    /// Checks that the means of instances that come and go add up to the mean of their sum. Each mean counts as much
    /// as its share of the step.
    #[test]
    fn means_and_shares_of_instances_add_up_to_the_mean_of_the_sum() {
        let steps = RangeSteps::new(0, 29 * SECOND, 10 * SECOND);
        let lives = [(0, 30, 10.0), (0, 4, 80.0), (17, 25, 40.0)];
        let mut instances = lives.map(|_| series());
        let mut sum = series();
        for time in 0..30 {
            let previous = (time > 0).then(|| time - 1);
            let mut total = 0.0;
            for ((begin, end, value), series) in lives.into_iter().zip(&mut instances) {
                if (begin..end).contains(&time) {
                    series.add(&steps, &sample(time, previous, true, value));
                    total += value;
                }
            }
            sum.add(&steps, &sample(time, previous, true, total));
        }
        let all: Vec<_> = instances.into_iter().chain([sum]).collect();
        let response = RangeResponse {
            asks: &[RangeAsk { text: String::new(), request: Err(String::new()), alias: None }],
            steps,
            series: all,
            refused: Vec::new(),
            gaps: Vec::new(),
            marks: Vec::new(),
        };
        let json: serde_json::Value = serde_json::from_slice(&response.to_json()).unwrap();
        let of = |series: usize, list: &str| json["series"][series][list].as_array().unwrap().clone();
        assert!(of(0, "shares").is_empty() && of(3, "shares").is_empty(), "{json}");
        for at in 0..3 {
            let parts = (0..3).filter_map(|series| {
                let mean = of(series, "mean")[at].as_f64()?;
                let share = of(series, "shares")
                    .iter()
                    .find(|share| share[0] == at)
                    .map_or(1.0, |share| share[1].as_f64().unwrap());
                Some(mean * share)
            });
            let (parts, mean) = (parts.sum::<f64>(), of(3, "mean")[at].as_f64().unwrap());
            assert!((parts - mean).abs() < 1e-9, "step {at}: {parts}, {mean}");
        }
    }

    /// Checks the steps of random series against a slow calculation from their samples.
    #[test]
    fn summaries_are_those_of_the_samples() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let length = i64::try_from(random(9) + 2).unwrap() * SECOND;
            let steps = RangeSteps::new(0, 100 * SECOND, length);
            let covers_time = random(2) == 0;
            let (mut series, mut all, mut previous) = (series(), Vec::<(i64, f64, f64)>::new(), None);
            let mut time = i64::try_from(random(30)).unwrap() * SECOND / 10;
            while time <= 110 * SECOND {
                let value = random(1_000) as f64;
                let length = previous.map_or(SECOND, |before| time - before);
                let add = RangeSample { time, previous, length, covers_time, value: Ok(value), mark: None };
                series.add(&steps, &add);
                let weight = if covers_time { length as f64 } else { 1.0 };
                all.push((time, value, weight));
                previous = Some(time);
                time += i64::try_from(random(15) + 5).unwrap() * SECOND / 10;
            }
            for at in 0..steps.count {
                let begin = i64::try_from(at).unwrap() * length;
                let is_in = |(time, ..): &&(i64, f64, f64)| {
                    (begin..begin + length).contains(time) && *time <= steps.to
                };
                let of: Vec<_> = all.iter().filter(is_in).collect();
                let step = series.step(at);
                // Samples are at most 2 s apart, so that each whole step has one.
                let Some(last) = of.last() else { continue };
                let step = step.unwrap();
                let sum: f64 = of.iter().map(|(_, value, weight)| value * weight).sum();
                let mean = sum / of.iter().map(|(.., weight)| weight).sum::<f64>();
                assert_eq!(step.last, last.1);
                assert_eq!(step.least, of.iter().map(|one| one.1).fold(f64::INFINITY, f64::min));
                assert_eq!(step.greatest, of.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max));
                assert!((step.mean() - mean).abs() <= 1e-9 * mean.abs().max(1.0), "{} {mean}", step.mean());
            }
        }
    }
}
