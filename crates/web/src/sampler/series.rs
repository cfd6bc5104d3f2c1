//! Series of a server: one counter of one instance, with its id for clients and its stored values.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use perfset::catalogue::value_range;
use perfset::clock::ClockReading;
use perfset::path::{CounterPath, PathValue, sums_up};
use perfset::{Birth, Counter, CounterId, Counterset, Guid, InstanceId, Name};
use serde::Serialize;

use crate::answer::to_json;

/// Id of a series while the server runs.
pub type SeriesId = u64;

/// Identity of a series, by which the values of later samples are assigned to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    counterset: Guid,
    counter: CounterId,
    instance: Box<[u8]>,
    instance_id: Option<InstanceId>,
    birth: Birth,
    /// `true` for the series of the sum over the instances of a pattern; `instance` is then that pattern.
    is_sum: bool,
}

impl SeriesKey {
    /// Returns the identity of the series of a value, whose instance has this birth.
    pub fn new(v: &PathValue<'_>, birth: Birth) -> Self {
        Self {
            counterset: v.value.counterset.guid,
            counter: v.value.counter.id,
            instance: v.value.instance.as_bytes().into(),
            instance_id: v.value.instance_id,
            birth,
            is_sum: false,
        }
    }

    /// Returns the id of the series' counter.
    pub fn counter(&self) -> CounterId {
        self.counter
    }

    /// Returns the identity of the series with the sum over the instances of a counter path.
    pub fn for_sum(path: &CounterPath, counterset: Guid, counter: CounterId) -> Self {
        // Patterns ignore case: another spelling must not become another series.
        let pattern = path.instance.as_deref().unwrap_or_default().to_lowercase();
        Self {
            counterset,
            counter,
            instance: pattern.into_bytes().into(),
            instance_id: None,
            birth: Birth::default(),
            is_sum: true,
        }
    }
}

/// JSON form of the description of a series for clients.
#[derive(Serialize)]
struct SeriesJson<'a> {
    id: SeriesId,
    #[serde(flatten)]
    about: SeriesAbout<'a>,
}

/// Facts about a series: its names, its unit and its type.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesAbout<'a> {
    path: String,
    counterset: &'a str,
    instance: String,
    counter: Cow<'a, str>,
    unit: &'a str,
    range: &'static str,
    scale: i32,
    #[serde(rename = "type")]
    counter_type: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sum: bool,
}

impl<'a> SeriesAbout<'a> {
    fn new(path: &CounterPath, counterset: &'a Counterset, counter: &'a Counter) -> Self {
        Self {
            path: path.to_string(),
            counterset: &counterset.name,
            instance: path.instance.clone().unwrap_or_default(),
            counter: counter.shown_name(),
            unit: &counter.unit,
            range: value_range(counterset.guid, counter.id).keyword(),
            scale: counter.default_scale,
            counter_type: counter.counter_type.to_string(),
            total: false,
            sum: false,
        }
    }

    /// Returns the counter path of the series.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the description of the series to which a value belongs.
    pub fn of_value(v: &PathValue<'a>) -> Self {
        let about = Self::new(&v.own_path(None), v.value.counterset, v.value.counter);
        Self { instance: v.value.instance.to_string(), total: v.sums_up(), ..about }
    }

    /// Returns the description of the series of an instance's counter.
    pub fn of_instance(name: Name<'_>, id: InstanceId, set: &'a Counterset, counter: &'a Counter) -> Self {
        let instance = name.to_string();
        let path = CounterPath {
            machine: None,
            counterset: set.name.to_string(),
            instance: (!instance.is_empty()).then(|| instance.clone()),
            counter: counter.shown_name().into_owned(),
        };
        Self { total: sums_up(name, Some(id)), ..Self::new(&path, set, counter) }
    }

    /// Returns the name of the series' instance.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Returns the description of the series with the sum over the instances of a counter path.
    pub fn of_sum(path: &CounterPath, set: &'a Counterset, counter: &'a Counter) -> Self {
        let own = CounterPath {
            machine: None,
            counterset: set.name.to_string(),
            counter: counter.shown_name().into_owned(),
            ..path.clone()
        };
        Self { sum: true, ..Self::new(&own, set, counter) }
    }
}

#[derive(Debug)]
struct Series {
    key: SeriesKey,
    /// Description of the series for clients: a JSON object without its closing brace.
    about: Box<str>,
    /// Number of the last sample that contains the series.
    last: u64,
    /// Number of the sample to which the series' oldest stored value belongs.
    first: u64,
    /// Values of the series in each sample since `first`, NaN for a missing one. Four bytes for each value are enough
    /// for a chart.
    values: VecDeque<f32>,
}

/// Table of all series of a server with their stored values, up to a maximum number.
#[derive(Debug)]
pub struct SeriesTable {
    by_key: HashMap<SeriesKey, SeriesId>,
    by_id: HashMap<SeriesId, Series>,
    /// Id of the next series, which is unique among all tables of the server.
    next: Rc<Cell<SeriesId>>,
    /// Maximum number of series in the table.
    most: usize,
    /// Number of samples for which the table stores values.
    depth: usize,
    /// Number of the last sample in the table.
    sample: u64,
    /// Times of the table's samples, in milliseconds since 1970, ascending; the last one is that of `sample`.
    times: VecDeque<i64>,
    /// Number of milliseconds added to the times of samples because the wall clock was stepped.
    step: i64,
    /// Number of values of the last sample for whose series the table had no space.
    refused: usize,
}

impl SeriesTable {
    /// Creates a table of series for a server that has only one table.
    pub fn new(most: usize, depth: usize) -> Self {
        Self::numbered_from(&Rc::new(Cell::new(1)), most, depth)
    }

    /// Creates a table of series for a server that has several tables; all series of the server have different ids.
    pub fn numbered_from(next: &Rc<Cell<SeriesId>>, most: usize, depth: usize) -> Self {
        Self {
            by_key: HashMap::new(),
            by_id: HashMap::new(),
            next: Rc::clone(next),
            most,
            depth: depth.max(1),
            sample: 0,
            times: VecDeque::new(),
            step: 0,
            refused: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns the number of values of the last sample for whose series the table had no space.
    pub fn refused(&self) -> usize {
        self.refused
    }

    pub fn has(&self, id: SeriesId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Returns the time of the table's last sample.
    pub fn last_time(&self) -> Option<i64> {
        self.times.back().copied()
    }

    /// Begins the next sample of the table. If the wall clock was stepped since the last one, all earlier times are
    /// moved by the same amount, so that the samples keep their age.
    pub fn begin(&mut self, clocks: &ClockReading) {
        /// Number of samples between two searches of the table for ended series.
        const SWEEP_EVERY: u64 = 64;
        self.sample = self.sample.saturating_add(1);
        self.refused = 0;
        // Samples are stored with wall-clock times, which would otherwise jump against each other.
        let step = clocks.step_100ns().wrapping_div(10_000);
        if step != self.step {
            let by = step.saturating_sub(self.step);
            self.times.iter_mut().for_each(|time| *time = time.saturating_add(by));
            self.step = step;
        }
        self.times.push_back(clocks.unix_ms());
        while self.times.len() > self.depth {
            self.times.pop_front();
        }
        if self.sample.checked_rem(SWEEP_EVERY) == Some(0) {
            let depth = u64::try_from(self.depth).unwrap_or(u64::MAX);
            let oldest = self.sample.saturating_sub(depth.max(SWEEP_EVERY));
            self.forget(|series| series.last < oldest);
        }
    }

    /// Makes another sample of the table the current one, by its number from 1 on. Values of one series are stored in
    /// the order of samples, and several series one after the other.
    pub fn go_to(&mut self, sample: usize) {
        self.sample = u64::try_from(sample).unwrap_or(u64::MAX);
    }

    /// Returns the series of a value of the current sample; `None` if the table has no space for another series.
    pub fn series(&mut self, v: &PathValue<'_>, birth: Birth) -> Option<SeriesId> {
        self.numbered(SeriesKey::new(v, birth), |id| {
            to_json(&SeriesJson { id, about: SeriesAbout::of_value(v) })
        })
    }

    /// Returns the series of the sum over the instances of a counter path in the current sample.
    pub fn sum_series(
        &mut self,
        path: &CounterPath,
        set: &Counterset,
        counter: &Counter,
    ) -> Option<SeriesId> {
        self.numbered(SeriesKey::for_sum(path, set.guid, counter.id), |id| {
            to_json(&SeriesJson { id, about: SeriesAbout::of_sum(path, set, counter) })
        })
    }

    /// Returns the id of the series with this identity, and records that the series is in the current sample. A new
    /// series is added; `None` if there is no room for it.
    fn numbered(&mut self, key: SeriesKey, about: impl FnOnce(SeriesId) -> String) -> Option<SeriesId> {
        if let Some(id) = self.by_key.get(&key) {
            if let Some(series) = self.by_id.get_mut(id) {
                series.last = self.sample;
                return Some(*id);
            }
        }
        if self.by_id.len() >= self.most {
            // Series of this sample stay until the next. If there was no room once, all series need not be searched
            // again for each further value.
            let has_room = self.refused == 0 && self.make_room();
            if !has_room {
                self.refused = self.refused.saturating_add(1);
                return None;
            }
        }
        // Numbers are never reused, so a client cannot take a new series for one that it knows.
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        let mut about = about(id);
        // The closing brace is added with the index of the request, which differs from client to client.
        about.pop();
        self.by_key.insert(key.clone(), id);
        let series =
            Series { key, about: about.into(), last: self.sample, first: 0, values: VecDeque::new() };
        self.by_id.insert(id, series);
        Some(id)
    }

    /// Returns the stored series of some counters for all instances with matching names, including ended ones.
    pub fn stored(
        &self,
        counterset: Guid,
        counters: &[CounterId],
        means: impl Fn(Name<'_>) -> bool,
    ) -> BTreeSet<SeriesId> {
        let is_meant = |key: &SeriesKey| {
            !key.is_sum
                && key.counterset == counterset
                && counters.contains(&key.counter)
                && means(Name::until_nul(&key.instance))
        };
        self.by_key.iter().filter(|(key, _)| is_meant(key)).map(|(_, id)| *id).collect()
    }

    /// Returns the stored series of sums of some counters over the instances of a counter path.
    pub fn stored_sums(
        &self,
        path: &CounterPath,
        counterset: Guid,
        counters: &[CounterId],
    ) -> BTreeSet<SeriesId> {
        let of_sum =
            |counter: &CounterId| self.by_key.get(&SeriesKey::for_sum(path, counterset, *counter)).copied();
        counters.iter().filter_map(of_sum).collect()
    }

    /// Stores a value of a series for the table's current sample.
    pub fn keep(&mut self, id: SeriesId, value: Option<f64>) {
        let Some(series) = self.by_id.get_mut(&id) else { return };
        let depth = u64::try_from(self.depth).unwrap_or(u64::MAX);
        let next = series.first.saturating_add(u64::try_from(series.values.len()).unwrap_or(u64::MAX));
        let missed = self.sample.saturating_sub(next);
        if series.values.is_empty() || missed >= depth {
            series.values.clear();
            series.first = self.sample;
        } else {
            // A gap is stored as missing values, so that index and sample number stay in step.
            (0..missed).for_each(|_| series.values.push_back(f32::NAN));
            if next > self.sample {
                return; // two paths mean it
            }
        }
        #[expect(clippy::as_conversions, reason = "rounding to the nearest float is what is wanted")]
        series.values.push_back(value.map_or(f32::NAN, |value| value as f32));
        while series.values.len() > self.depth {
            series.values.pop_front();
            series.first = series.first.saturating_add(1);
        }
    }

    /// Appends the description of a series for clients, with the index of the requested path that selects it.
    pub fn tell(&self, id: SeriesId, ask: usize, out: &mut Vec<u8>) {
        if let Some(series) = self.by_id.get(&id) {
            out.extend_from_slice(series.about.as_bytes());
            out.extend_from_slice(format!(",\"ask\":{ask}}}").as_bytes());
        }
    }

    /// Returns the numbers and times of the table's newest samples after a time, at most `most`.
    pub fn samples_after(&self, time: i64, most: usize) -> Vec<(u64, i64)> {
        let mut samples: Vec<_> = self
            .times
            .iter()
            .rev()
            .zip((0..=self.sample).rev())
            .map(|(time, sample)| (sample, *time))
            .take_while(|(_, at)| *at > time)
            .take(most)
            .collect();
        samples.reverse();
        samples
    }

    /// Returns the stored value of a series in a sample.
    pub fn value(&self, id: SeriesId, sample: u64) -> Option<f32> {
        let series = self.by_id.get(&id)?;
        let at = usize::try_from(sample.checked_sub(series.first)?).ok()?;
        series.values.get(at).copied().filter(|value| value.is_finite())
    }

    /// Removes some of the ended series from the table, the oldest first. Returns `false` if there is none.
    fn make_room(&mut self) -> bool {
        let now = self.sample;
        let mut over: Vec<_> = self.by_id.values().map(|s| s.last).filter(|last| *last < now).collect();
        over.sort_unstable();
        // A quarter at once, so that the search is not repeated for each new series.
        let Some(until) = over.get(over.len().wrapping_div(4)).copied() else { return false };
        self.forget(|series| series.last <= until);
        true
    }

    fn forget(&mut self, is_over: impl Fn(&Series) -> bool) {
        let Self { by_key, by_id, .. } = self;
        by_id.retain(|_, series| {
            let is_over = is_over(series);
            if is_over {
                by_key.remove(&series.key);
            }
            !is_over
        });
    }
}
