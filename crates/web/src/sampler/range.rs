//! Ranges of a log: the values of counter paths between two times, read for one request.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

use axum::http::StatusCode;
use perfset::log::Pick;
use perfset::log::recording::{Annotation, Recording};
use perfset::path::{CounterPath, PathQuery, PathValue, Selector, resolve};
use perfset::{
    Birth, Counter, CounterId, Guid, Identity, Instance, Name, NextOutcome, NoValue, RecordedSample,
    SeriesValues, Source, SourceKind, Window,
};

use super::feed::{FeedColumn, is_hidden, number, status};
use super::past::{HELD_MOST, PastLog, due, in_time};
use super::series::{SeriesAbout, SeriesKey};
use super::{Answer, on_this_machine};
use crate::answer::ApiError;
use crate::limits::Limits;
use crate::log::{in_100ns, to_unix_ms};
use crate::range::{
    CELLS_MOST, RangeMark, RangeResponse, RangeSample, RangeSeries, RangeSteps, RefusedPath, STEPS_MOST,
    UsualDistance,
};
use crate::request::{PathRequest, RangeAsk, RangeFormat, RangeRequest};
use crate::unread::UnreadBytes;

/// Parts of the log around a requested range that are read for its first and last values, shortest first. Each has
/// the number of samples before the range, and the time in 100 ns on both sides. The longer one is read if the
/// shorter one has few collections of the counterset: a recorder that keeps a CPU budget reads some only every 300 s.
const AROUND: [(usize, i64); 2] = [(25, 1_300_000_000), (25, HELD_MOST)];
/// Number of collections of a counterset that are enough to know the usual distance between them.
const ENOUGH: usize = 3;
/// Maximum number of instances in a range among which the greatest are chosen.
const RANKED_MOST: usize = 200_000;
/// Maximum number of gaps and marks in a response for a range, the first of the range.
const MARKS_MOST: usize = 1_000;

/// Counter path of a range request that is bound to the log.
struct BoundAsk<'r> {
    /// Index of the counter path in the request.
    index: usize,
    ask: &'r PathRequest,
    set: Guid,
    /// Number of counters that the requested path selects.
    counters: usize,
}

/// Totals over a range of the instances that a counter path selects, by the index of the path and the series.
type Totals = HashMap<(usize, SeriesKey), f64>;

impl PastLog {
    /// Returns the values in a range of the log as JSON or CSV.
    pub fn range(&self, request: &RangeRequest, limits: &Limits, unread: &UnreadBytes) -> Answer {
        let due = due();
        let steps = self.steps(request)?;
        let (bound, mut refused) = self.bind(&request.asks);
        if let (true, Some(first)) = (bound.is_empty(), refused.first()) {
            let status = StatusCode::from_u16(first.status).unwrap_or(StatusCode::BAD_REQUEST);
            let hints = first.hints.clone();
            return Err(ApiError { hints, ..ApiError::new(status, first.error.clone()) });
        }
        // No more than the response can have is kept while it is read.
        let most = CELLS_MOST.checked_div(steps.count).unwrap_or(0).clamp(1, limits.series.max(1));
        let series = self.series(&bound, &steps, (most, due))?;
        let mut series = series.ok_or_else(|| too_many(request, &bound, &steps, most))?;
        series.sort_by_key(|series| series.ask);
        for BoundAsk { index, ask, .. } in &bound {
            if !series.iter().any(|series| series.ask == *index) {
                let error = "nothing of this path was recorded in this range".to_owned();
                let path = ask.path.to_string();
                refused.push(RefusedPath { ask: *index, path, status: 404, error, hints: Vec::new() });
            }
        }
        let (gaps, marks) = (self.gaps(&steps), self.marks(&steps));
        let range = RangeResponse { asks: &request.asks, steps, series, refused, gaps, marks };
        unread.take(match request.format {
            RangeFormat::Json => range.to_json(),
            RangeFormat::Csv => range.to_csv(),
        })
    }

    /// Reads the series of the bound counter paths in a range, counterset by counterset. Returns `None` if there are
    /// more series than `most`.
    fn series(
        &self,
        bound: &[BoundAsk<'_>],
        steps: &RangeSteps,
        (most, due): (usize, Instant),
    ) -> Result<Option<Vec<RangeSeries>>, ApiError> {
        let mut series = Vec::new();
        let mut sets: Vec<Guid> = Vec::new();
        for ask in bound {
            if !sets.contains(&ask.set) {
                sets.push(ask.set);
            }
        }
        for set in sets {
            let mut of = Vec::new();
            for ask in bound.iter().filter(|ask| ask.set == set) {
                // A single counter of a single instance is read at a fraction of the cost.
                let room = most.saturating_sub(series.len());
                match self.single(ask, steps, (room, due))? {
                    Some(read) if read.len() > room => return Ok(None),
                    Some(read) => series.extend(read),
                    None => of.push(ask),
                }
            }
            if of.is_empty() {
                continue;
            }
            let chosen = match of.iter().any(|ask| ask.ask.top.is_some()) {
                true => Some(self.greatest(&of, steps, due)?),
                false => None,
            };
            for around in AROUND {
                let mut reader = SetReader::new(steps, &of, chosen.clone());
                reader.room = most.saturating_sub(series.len());
                let collections = self.read_range(&of, steps, (around, due), |query| {
                    reader.take(query);
                    !reader.has_too_many
                })?;
                if reader.has_too_many {
                    return Ok(None);
                }
                if collections >= ENOUGH || AROUND.last() == Some(&around) {
                    // Without those that ended before the range.
                    reader.series.retain(|series| !series.is_empty());
                    series.append(&mut reader.series);
                    break;
                }
            }
        }
        Ok(Some(series))
    }

    /// Returns the steps into which a request divides its range.
    fn steps(&self, request: &RangeRequest) -> Result<RangeSteps, ApiError> {
        let (from, to) = self.limits(&request.range)?;
        // The rest of the log is not shown here, too.
        let shown = self.served.window;
        let from = shown.begin.map_or(from, |begin| begin.max(from));
        let to = shown.end.map_or(to, |end| end.min(to));
        if from > to {
            return Err(self.nothing());
        }
        let Some(length) = request.step else {
            return Ok(RangeSteps::chosen(from, to, in_100ns(self.span.recorded)));
        };
        let steps = RangeSteps::new(from, to, in_100ns(length));
        if steps.count > STEPS_MOST {
            let text = format!("the range has {} steps, more than {STEPS_MOST}", steps.count);
            let problem = ApiError::new(StatusCode::BAD_REQUEST, text);
            return Err(problem.hint(fitting(request, &steps, STEPS_MOST, None)));
        }
        Ok(steps)
    }

    /// Binds the counter paths of a range request to the log; paths that cannot be bound are returned with their
    /// errors.
    fn bind<'r>(&self, asks: &'r [RangeAsk]) -> (Vec<BoundAsk<'r>>, Vec<RefusedPath>) {
        let mut machine = self.machine().clone();
        let (mut bound, mut refused) = (Vec::new(), Vec::new());
        for (index, ask) in asks.iter().enumerate() {
            let of = match &ask.request {
                Err(error) => Err(ApiError::new(StatusCode::BAD_REQUEST, error.clone())),
                Ok(request) => on_this_machine(&request.path)
                    .and_then(|()| Ok((request, resolve(&mut machine, &request.path)?))),
            };
            match of {
                Ok((ask, resolved)) => {
                    let (set, counters) = (resolved.set.guid, resolved.counters.len());
                    bound.push(BoundAsk { index, ask, set, counters });
                }
                Err(ApiError { status, error, hints }) => {
                    let (path, status) = (ask.text.clone(), status.as_u16());
                    refused.push(RefusedPath { ask: index, path, status, error, hints });
                }
            }
        }
        (bound, refused)
    }

    /// Returns the part of the log that is read for a range. It begins just before the range, for the first values,
    /// and ends with the first sample after it, whose value can be of the end of the range.
    fn around(&self, steps: &RangeSteps, around: (usize, i64)) -> Window {
        let end = steps.to.saturating_add(around.1);
        Window { begin: Some(self.before(steps.from, around)), end: Some(end) }.both(self.served.window)
    }

    /// Reads the samples in and next to a range, for counter paths of one counterset, until `take` returns `false`.
    /// Returns the number of samples.
    fn read_range(
        &self,
        of: &[&BoundAsk<'_>],
        steps: &RangeSteps,
        (around, due): ((usize, i64), Instant),
        mut take: impl FnMut(&PathQuery) -> bool,
    ) -> Result<usize, ApiError> {
        let paths: Vec<CounterPath> = of.iter().map(|ask| ask.ask.path.clone()).collect();
        let window = self.around(steps, around);
        let all: Vec<usize> = (0..paths.len()).collect();
        let mut set = self.open(window, Pick::All, &paths, &all)?;
        let mut collections = 0_usize;
        while set.query.collect()? == NextOutcome::Sample {
            in_time(due)?;
            collections = collections.saturating_add(1);
            let goes_on = take(&set.query);
            if !goes_on || set.query.snapshot().clocks().utc_100ns() > steps.to {
                break;
            }
        }
        Ok(collections)
    }

    /// Returns all instances that a counterset has in the log.
    fn instances_of(&self, set: Guid) -> Result<Rc<[Instance]>, ApiError> {
        if let Some(known) = self.instances.borrow().get(&set) {
            return Ok(Rc::clone(known));
        }
        let all: Rc<[Instance]> = self.served.logs.clone().instances(&set)?.into();
        self.instances.borrow_mut().insert(set, Rc::clone(&all));
        Ok(all)
    }

    /// Reads the series of a counter path that selects one counter of one instance; returns `None` for another path.
    fn single(
        &self,
        ask: &BoundAsk<'_>,
        steps: &RangeSteps,
        (room, due): (usize, Instant),
    ) -> Result<Option<Vec<RangeSeries>>, ApiError> {
        // What can select several instances, `name#1` included, is read with the whole counterset.
        let is_pattern = |text: &str| text.contains(['*', '?', '{', '!', '#']);
        let PathRequest { path, top: None, sum: false } = ask.ask else { return Ok(None) };
        if is_pattern(&path.counter) || path.instance.as_deref().is_some_and(is_pattern) {
            return Ok(None);
        }
        let resolved = resolve(&mut self.machine().clone(), path)?;
        let [counter] = resolved.counters.as_slice() else { return Ok(None) };
        let Some(counter) = resolved.set.counter(*counter) else { return Ok(None) };
        let instances = self.instances_of(ask.set)?;
        let selector = resolved.instances.as_deref().map(Selector::new);
        let is_meant = |instance: &&Instance| {
            selector
                .as_ref()
                .is_none_or(|selector| selector.matches(instance.name.units().iter().copied(), 0))
        };
        let mut meant = instances.iter().filter(is_meant);
        let (Some(instance), None) = (meant.next(), meant.next()) else { return Ok(None) };
        let units = instance.name.units().iter().chain(&[0]);
        let name: Vec<u8> = units.flat_map(|unit| unit.to_le_bytes()).collect();
        let name = Name::until_nul(&name);
        let identity =
            Identity { counterset: ask.set, instance: name, instance_id: instance.id, birth: None };
        for around in AROUND {
            let mut reader = SeriesReader {
                steps: *steps,
                ask: ask.index,
                about: SeriesAbout::of_instance(name, instance.id, &resolved.set, counter),
                covers_time: covers_time(counter),
                values: SeriesValues::new(&resolved.set, counter, identity),
                series: Vec::new(),
                times: CollectionTimes::default(),
            };
            let mut is_late = Ok(());
            let mut collections = 0_usize;
            let mut each = |batch: &[RecordedSample<'_>]| {
                let after = batch.iter().position(|sample| sample.time > steps.to).unwrap_or(batch.len());
                batch.iter().take(after.saturating_add(1)).for_each(|sample| reader.take(sample));
                collections = collections.saturating_add(batch.len());
                is_late = in_time(due);
                // Each birth of an instance is a series.
                let goes_on = is_late.is_ok() && after == batch.len() && reader.series.len() <= room;
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let window = self.around(steps, around);
            let kind = self.served.logs.clone().series(counter.id, &identity, window, &mut each)?;
            is_late?;
            // A source without a past reads nothing here, and passed no samples.
            if kind != SourceKind::Log {
                return Ok(None);
            }
            if collections >= ENOUGH || AROUND.last() == Some(&around) {
                let series = reader.series.into_iter().map(|(_, series)| series);
                return Ok(Some(series.filter(|series| !series.is_empty()).collect()));
            }
        }
        Ok(None)
    }

    /// Returns the instances with the greatest totals over the range, for counter paths of which only some are
    /// requested.
    fn greatest(
        &self,
        of: &[&BoundAsk<'_>],
        steps: &RangeSteps,
        due: Instant,
    ) -> Result<HashSet<(usize, SeriesKey)>, ApiError> {
        let mut totals = Totals::new();
        for around in AROUND {
            let (in_range, near, collections) = self.totals(of, steps, (around, due))?;
            // Of a counterset that was not read in the range, what was read next to it decides.
            totals = if in_range.is_empty() { near } else { in_range };
            if collections >= ENOUGH {
                break;
            }
        }
        let mut chosen = HashSet::new();
        for ask in of {
            let Some(most) = ask.ask.top.and_then(|top| usize::try_from(top).ok()) else { continue };
            // The greatest of each counter.
            let mut by_counter: HashMap<CounterId, Vec<(&SeriesKey, f64)>> = HashMap::new();
            for ((index, key), total) in &totals {
                if *index == ask.index {
                    by_counter.entry(key.counter()).or_default().push((key, *total));
                }
            }
            for mut all in by_counter.into_values() {
                all.sort_by(|a, b| b.1.total_cmp(&a.1));
                chosen.extend(all.into_iter().take(most).map(|(key, _)| (ask.index, key.clone())));
            }
        }
        Ok(chosen)
    }

    /// Returns the totals of instances over the range, their totals over the time next to the range, and the number
    /// of collections.
    fn totals(
        &self,
        of: &[&BoundAsk<'_>],
        steps: &RangeSteps,
        (around, due): ((usize, i64), Instant),
    ) -> Result<(Totals, Totals, usize), ApiError> {
        let [mut in_range, mut near] = [Totals::new(), Totals::new()];
        // Instances that are totals of others: they are meant only if the log has nothing else.
        let [mut sums_in_range, mut sums_near] = [Totals::new(), Totals::new()];
        let mut times = CollectionTimes::default();
        let mut is_full = false;
        let collections = self.read_range(of, steps, (around, due), |query| {
            let time = query.snapshot().clocks().utc_100ns();
            times.next(time);
            let seconds = real(times.length());
            let (totals, sums) = match (steps.from..=steps.to).contains(&time) {
                true => (&mut in_range, &mut sums_in_range),
                false => (&mut near, &mut sums_near),
            };
            for v in query.values() {
                let wanted = of.get(v.path).filter(|ask| ask.ask.top.is_some());
                let (Some(ask), Some(value)) = (wanted, number(&v)) else { continue };
                let totals = if v.sums_up() { &mut *sums } else { &mut *totals };
                let weight = if covers_time(v.value.counter) { seconds } else { 1.0 };
                let key = (ask.index, SeriesKey::new(&v, query.birth(&v)));
                is_full |= totals.len() >= RANKED_MOST;
                if !is_full || totals.contains_key(&key) {
                    *totals.entry(key).or_default() += value * weight;
                }
            }
            !is_full
        })?;
        if is_full {
            let text = format!("these paths have more than {RANKED_MOST} instances in this range");
            return Err(ApiError::new(StatusCode::BAD_REQUEST, text).hint("ask for a shorter time"));
        }
        for ask in of {
            let is_its = |(index, _): &(usize, SeriesKey)| *index == ask.index;
            if !in_range.keys().chain(near.keys()).any(is_its) {
                for (sums, totals) in [(&sums_in_range, &mut in_range), (&sums_near, &mut near)] {
                    let of_ask = sums.iter().filter(|(key, _)| is_its(key));
                    totals.extend(of_ask.map(|(key, total)| (key.clone(), *total)));
                }
            }
        }
        Ok((in_range, near, collections))
    }

    /// Returns the gaps of a range, in which nothing was recorded.
    fn gaps(&self, steps: &RangeSteps) -> Vec<[i64; 2]> {
        let times = &self.span.times;
        let first = times.partition_point(|time| *time < steps.from).saturating_sub(UsualDistance::LEN);
        let after = times.partition_point(|time| *time <= steps.to).saturating_add(1).min(times.len());
        let mut usual = UsualDistance::default();
        let mut gaps = Vec::new();
        for pair in times.get(first..after).unwrap_or_default().windows(2) {
            let [before, after] = pair else { continue };
            let is_gap = usual.is_gap(after.saturating_sub(*before));
            if is_gap && *after > steps.from && gaps.len() < MARKS_MOST {
                gaps.push([to_unix_ms(*before), to_unix_ms(*after)]);
            }
        }
        gaps
    }

    /// Returns the marks of the log in a range.
    fn marks(&self, steps: &RangeSteps) -> Vec<RangeMark> {
        let all = self.served.logs.recording().map(Recording::annotations).unwrap_or_default();
        let of_range = all.iter().filter(|mark| (steps.from..=steps.to).contains(&mark.time));
        let mark = |mark: &&Annotation| RangeMark {
            time: to_unix_ms(mark.time),
            text: mark.text.clone(),
            is_of_recorder: mark.is_of_recorder,
        };
        of_range.take(MARKS_MOST).map(mark).collect()
    }
}

/// Reader of a range for the counter paths of one counterset, which adds each sample to the summaries of its series.
struct SetReader<'r> {
    steps: RangeSteps,
    asks: Vec<(usize, &'r PathRequest)>,
    /// Instances that the range request selects; `None` for all.
    chosen: Option<HashSet<(usize, SeriesKey)>>,
    series: Vec<RangeSeries>,
    by_key: HashMap<(usize, SeriesKey), usize>,
    times: CollectionTimes,
    /// Number of further series for which the response has space.
    room: usize,
    has_too_many: bool,
}

impl<'r> SetReader<'r> {
    fn new(steps: &RangeSteps, of: &[&BoundAsk<'r>], chosen: Option<HashSet<(usize, SeriesKey)>>) -> Self {
        Self {
            steps: *steps,
            asks: of.iter().map(|ask| (ask.index, ask.ask)).collect(),
            chosen,
            series: Vec::new(),
            by_key: HashMap::new(),
            times: CollectionTimes::default(),
            room: 0,
            has_too_many: false,
        }
    }

    fn take(&mut self, query: &PathQuery) {
        let time = query.snapshot().clocks().utc_100ns();
        let previous = self.times.next(time);
        let length = self.times.length();
        let values = query.values();
        for found in values.chunk_by(|a, b| a.path == b.path) {
            let of = found.first().and_then(|v| self.asks.get(v.path)).copied();
            let Some((index, ask)) = of else { continue };
            for v in found.iter().filter(|v| !is_hidden(&ask.path, v)) {
                // A reason without an instance id is of the path, and of no series.
                if v.value.instance_id.is_some() || v.value.value.is_ok() {
                    self.take_value(index, ask, v, query, (time, previous, length));
                }
            }
            if ask.sum {
                self.take_sums(index, ask, found, (time, previous, length));
            }
        }
    }

    fn take_value(
        &mut self,
        index: usize,
        ask: &PathRequest,
        v: &PathValue<'_>,
        query: &PathQuery,
        (time, previous, length): (i64, Option<i64>, i64),
    ) {
        let key = (index, SeriesKey::new(v, query.birth(v)));
        if ask.top.is_some() && self.chosen.as_ref().is_some_and(|chosen| !chosen.contains(&key)) {
            return;
        }
        let value = number(v).ok_or_else(|| status(v));
        let sample = RangeSample {
            time,
            previous,
            length,
            covers_time: covers_time(v.value.counter),
            value,
            mark: v.value.mark.and_then(|mark| mark.keyword()),
        };
        self.add(key, &sample, || (v.value.instance.to_string(), SeriesAbout::of_value(v)));
    }

    fn take_sums(
        &mut self,
        index: usize,
        ask: &PathRequest,
        found: &[PathValue<'_>],
        (time, previous, length): (i64, Option<i64>, i64),
    ) {
        let shown = found.iter().filter(|v| !is_hidden(&ask.path, v));
        for column in FeedColumn::all(shown).iter().filter(|column| column.adds_up()) {
            let key = (index, SeriesKey::for_sum(&ask.path, column.set.guid, column.counter.id));
            let reason = column.reasons().first().map_or("not_given", |(reason, _)| *reason);
            let is_partial = column.sum.is_some() && !column.reasons().is_empty();
            let sample = RangeSample {
                time,
                previous,
                length,
                covers_time: covers_time(column.counter),
                value: column.sum.ok_or(reason),
                mark: is_partial.then_some("partial"),
            };
            let about = || (String::new(), SeriesAbout::of_sum(&ask.path, column.set, column.counter));
            self.add(key, &sample, about);
        }
    }

    /// Adds a sample to the summaries of its series, each of which begins with its first sample in the range.
    fn add<'v>(
        &mut self,
        key: (usize, SeriesKey),
        sample: &RangeSample,
        about: impl FnOnce() -> (String, SeriesAbout<'v>),
    ) {
        let at = match self.by_key.get(&key) {
            Some(at) => *at,
            None if self.series.len() >= self.room => {
                self.has_too_many = true;
                return;
            }
            None => {
                let (instance, about) = about();
                let at = self.series.len();
                self.series.push(RangeSeries::new(key.0, about.path().to_owned(), instance, &about));
                self.by_key.insert(key, at);
                at
            }
        };
        if let Some(series) = self.series.get_mut(at) {
            series.add(&self.steps, sample);
        }
    }
}

/// Reader of a range for one counter of one instance, with a series for each birth of the instance.
struct SeriesReader<'r> {
    steps: RangeSteps,
    ask: usize,
    /// Facts about the instance's series for clients.
    about: SeriesAbout<'r>,
    covers_time: bool,
    values: SeriesValues<'r>,
    series: Vec<(Birth, RangeSeries)>,
    times: CollectionTimes,
}

impl SeriesReader<'_> {
    fn take(&mut self, sample: &RecordedSample<'_>) {
        let previous = self.times.next(sample.time);
        let birth = sample.sample.as_ref().map(|sample| sample.identity.birth);
        let (value, mark) = self.values.next(&sample.sample, sample.mark);
        let at = match birth {
            Ok(birth) => match self.series.iter().position(|(of, _)| *of == birth) {
                Some(at) => at,
                None => {
                    let Self { ask, about, .. } = self;
                    let series =
                        RangeSeries::new(*ask, about.path().to_owned(), about.instance().to_owned(), about);
                    self.series.push((birth, series));
                    self.series.len().saturating_sub(1)
                }
            },
            // Without the instance there is no series, and another reason is of the newest one.
            Err(NoValue::NoInstance) => return,
            Err(_) => self.series.len().saturating_sub(1),
        };
        let Some((_, series)) = self.series.get_mut(at) else { return };
        let number = value.as_ref().ok().map(|value| value.nocap()).filter(|number| number.is_finite());
        let reason = value.as_ref().map_or_else(NoValue::keyword, |_| NoValue::NotDisplayable.keyword());
        let sample = RangeSample {
            time: sample.time,
            previous,
            length: self.times.length(),
            covers_time: self.covers_time,
            value: number.ok_or(reason),
            mark: mark.and_then(|mark| mark.keyword()),
        };
        series.add(&self.steps, &sample);
    }
}

/// Times of the collections of a counterset in a range, one after the other.
#[derive(Default)]
struct CollectionTimes {
    usual: UsualDistance,
    last: Option<i64>,
    /// Distance between the last two collections, unless there is a gap between them.
    distance: Option<i64>,
}

impl CollectionTimes {
    /// Adds the time of a collection, and returns the time of the previous collection; `None` for the first one, and
    /// after a gap.
    fn next(&mut self, time: i64) -> Option<i64> {
        let last = self.last.replace(time)?;
        let distance = time.saturating_sub(last);
        let is_gap = distance <= 0 || self.usual.is_gap(distance);
        self.distance = (!is_gap).then_some(distance);
        (!is_gap).then_some(last)
    }

    /// Returns the time that a rate of the last collection covers: since the previous collection, or the usual
    /// distance after a gap.
    fn length(&self) -> i64 {
        self.distance.or_else(|| self.usual.usual()).unwrap_or(1).max(1)
    }
}

/// Returns `true` if a counter's values cover the time since the previous sample, and are not of an instant.
fn covers_time(counter: &Counter) -> bool {
    counter.counter_type.needs_two_samples()
}

/// Returns the error for a range request with more series than a response has space for. Its hint has few instances
/// of each path, and steps that are long enough for these.
fn too_many(request: &RangeRequest, bound: &[BoundAsk<'_>], steps: &RangeSteps, most: usize) -> ApiError {
    const TOP: usize = 20;
    let text = format!(
        "these paths have more than {most} instances in this range, and no more fit with {} steps: all series \
         together have at most {CELLS_MOST} steps",
        steps.count
    );
    // An instance can have several births in the range, and each path its sum.
    let counters = bound.iter().map(|ask| ask.counters.max(1)).fold(0, usize::saturating_add);
    let series = counters.saturating_mul(2_usize.saturating_mul(TOP).saturating_add(1));
    let fits = CELLS_MOST.checked_div(series.max(1)).unwrap_or(1).max(1);
    ApiError::new(StatusCode::BAD_REQUEST, text).hint(fitting(request, steps, fits, Some(TOP)))
}

/// Returns a hint with a range request that fits: with longer steps, and with a few instances of each path.
fn fitting(request: &RangeRequest, steps: &RangeSteps, most: usize, top: Option<usize>) -> String {
    let most = i64::try_from(most.max(1)).unwrap_or(i64::MAX);
    let span = steps.to.saturating_sub(steps.from);
    // One step less than fits, because the last one may be short.
    let needed = span.checked_div(most.saturating_sub(1).max(1)).unwrap_or(span).saturating_add(1);
    let length = if steps.count > usize::try_from(most).unwrap_or(usize::MAX) {
        RangeSteps::new(0, 0, needed.div_euclid(10_000).saturating_add(1).saturating_mul(10_000)).length
    } else {
        steps.length
    };
    let address = request.address(length.div_euclid(10_000), top);
    format!("this fits: {address}")
}

#[expect(clippy::as_conversions, reason = "distances between samples are far below 2^53")]
fn real(number: i64) -> f64 {
    number as f64
}
