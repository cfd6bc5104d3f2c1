//! Log that a server shows: each request reads the time that it names, and followers of a growing log receive its new
//! samples.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use axum::http::StatusCode;
use bytes::Bytes;
use perfset::clock::ClockReading;
use perfset::log::{Logs, Pick};
use perfset::output::Record;
use perfset::overview::Overview;
use perfset::path::{CounterPath, PathQuery, PathValue, resolve};
use perfset::{CostClass, Guid, Instance, Machine, NextOutcome, Window};
use serde::Serialize;

use super::feed::{Feed, PathPoints, Sample, WatchedPath, is_hidden};
use super::findings::past_json;
use super::series::{SeriesId, SeriesTable};
use super::{ANSWER_LEN_MOST, Answer, SILENCE, SamplerStats};
use crate::answer::{ApiError, to_json};
use crate::limits::Limits;
use crate::log::{LogSpan, ServedLog, from_unix_ms, in_100ns, to_unix_ms};
use crate::request::{PathRequest, TimeRange};
use crate::stream::{StreamBody, StreamSender, queue};
use crate::unread::UnreadBytes;

/// Maximum time for which the server reads the log for one request, during which other requests wait.
pub(super) const READ_MOST: Duration = Duration::from_secs(20);
/// Maximum number of different stream requests whose clients receive new samples of the log.
const FOLLOWED_MOST: usize = 32;
/// Maximum number of new samples of the log that are sent at once to a stream; the newest are sent.
const NEW_MOST: usize = 8;
/// Time between two checks for new samples of the log, as a multiple of the time that the last check took.
const COST_SHARE: u32 = 8;
/// Parts of the log before an instant that are read for its values, shortest first: number of samples, and time in
/// 100 ns. A rate needs two collections of its counterset, which may have been recorded only once a minute. A
/// recorder that keeps a CPU budget records some only every 300 s.
const BEFORE: [(usize, i64); 4] = [(1, 0), (25, 700_000_000), (25, 1_300_000_000), (25, HELD_MOST)];
/// Maximum time, in 100 ns, for which a value stands for samples in which its counterset was not due.
pub(super) const HELD_MOST: i64 = 6_200_000_000;
/// Reason for ending a stream of a log's samples whose requested range has an end.
const RANGE_ENDS: &str = "the range ends here";

/// Log that the server shows, and the clients that receive its samples.
#[derive(Debug)]
pub struct PastLog {
    pub(super) served: ServedLog,
    pub(super) span: LogSpan,
    /// Size and modification time of each file of the log when it was last opened.
    stamp: Vec<(u64, Option<SystemTime>)>,
    /// Time of the last check for new samples of the log, and its duration.
    looked: Instant,
    cost: Duration,
    followed: Vec<FollowedRequest>,
    /// Id of the next series, which is unique among all streams of the log.
    next_id: Rc<Cell<SeriesId>>,
    /// Streams of the log that receive nothing more, and stay open.
    ended: Vec<StreamSender>,
    /// Instances of countersets that requests have looked up in the log, as long as the log does not grow.
    pub(super) instances: RefCell<HashMap<Guid, Rc<[Instance]>>>,
    /// Last response with findings, and the time of the log's sample that it is about.
    findings: Option<(i64, Answer)>,
    last_sent: Instant,
}

/// Stream request whose clients receive new samples of the log.
#[derive(Debug)]
struct FollowedRequest {
    asks: Vec<PathRequest>,
    feed: Feed,
    table: SeriesTable,
    /// Time of the last sample that was sent for the request.
    sent: i64,
}

/// Query of the counter paths of one counterset in a log: ticks that lack the counterset do not interrupt its rates.
pub(super) struct SetQuery {
    pub query: PathQuery,
    /// Indexes of the counter paths in the request, in the order of the query.
    pub paths: Vec<usize>,
}

impl PastLog {
    pub fn new(served: ServedLog, span: LogSpan) -> Self {
        let stamp = stamp(&served);
        let now = Instant::now();
        Self {
            served,
            span,
            stamp,
            looked: now,
            cost: Duration::ZERO,
            followed: Vec::new(),
            next_id: Rc::new(Cell::new(1)),
            ended: Vec::new(),
            instances: RefCell::default(),
            findings: None,
            last_sent: now,
        }
    }

    /// Returns the machine with the countersets of the log.
    pub fn machine(&self) -> &Machine {
        self.served.logs.machine()
    }

    /// Returns the state of the streams of the log. Its samples are those of the log.
    pub fn state(&self) -> SamplerStats {
        let followers = self.followed.iter().map(|one| one.feed.viewers.len());
        SamplerStats {
            series: self.followed.iter().map(|one| one.table.len()).fold(0, usize::saturating_add),
            series_refused: 0,
            paths: self.followed.iter().map(|one| one.asks.len()).fold(0, usize::saturating_add),
            requests: self.followed.len(),
            viewers: followers.fold(self.ended.len(), usize::saturating_add),
            samples: u64::try_from(self.span.times.len()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the times of the log's first and last sample, in milliseconds since 1970.
    pub fn limits_ms(&self) -> (i64, i64) {
        let at = |time: Option<&i64>| time.map_or(0, |time| to_unix_ms(*time));
        (at(self.span.times.first()), at(self.span.times.last()))
    }

    /// Parses a time of a request: milliseconds since 1970, or a text for the server's parser.
    pub(super) fn parse(&self, name: &str, text: &str) -> Result<i64, ApiError> {
        // Not what begins with a sign, which is relative.
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            // Responses have the whole milliseconds of a time: a sample is in the one that it is named by.
            let rest = if matches!(name, "begin" | "from") { 0 } else { 9_999 };
            let ms = text.parse::<i64>();
            return ms.map(|ms| from_unix_ms(ms).saturating_add(rest)).map_err(|_| {
                let error = format!("{name}: {text} is no number of milliseconds since 1970");
                ApiError::new(StatusCode::BAD_REQUEST, error)
            });
        }
        let parsed = (self.served.parse_instant)(&self.served.logs, text);
        parsed.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, format!("{name}: {error}")))
    }

    /// Returns the time of the log's last sample that is not later than a time.
    fn sample_at(&self, time: i64) -> Result<i64, ApiError> {
        let after = self.span.times.partition_point(|sample| *sample <= time);
        let found = after.checked_sub(1).and_then(|at| self.span.times.get(at)).copied();
        found.ok_or_else(|| self.nothing())
    }

    /// Returns the error for a time at which the log has no sample.
    pub(super) fn nothing(&self) -> ApiError {
        let (first, last) = self.limits_ms();
        let text = format!("the log has no sample there: it is from {first} to {last}, in ms since 1970");
        ApiError::new(StatusCode::NOT_FOUND, text)
    }

    /// Returns the first and the last time of a requested range of the log. Without an end it ends with the newest
    /// sample, and without a beginning it is as long as the history of the page.
    pub(super) fn limits(&self, range: &TimeRange) -> Result<(i64, i64), ApiError> {
        let newest = self.instant(None)?;
        let parse =
            |name, text: &Option<String>| text.as_ref().map(|text| self.parse(name, text)).transpose();
        let to = parse("to", &range.end)?.unwrap_or(newest);
        let from = parse("from", &range.begin)?;
        let from = from.unwrap_or_else(|| to.saturating_sub(in_100ns(self.span.history)));
        if from > to {
            let text = format!("from, {}, is later than to, {}", to_unix_ms(from), to_unix_ms(to));
            return Err(ApiError::new(StatusCode::BAD_REQUEST, text));
        }
        Ok((from, to))
    }

    /// Returns the time of the log's sample that a request names: the last one if the request has no time.
    pub(super) fn instant(&self, at: Option<&str>) -> Result<i64, ApiError> {
        match at {
            Some(text) => self.sample_at(self.parse("at", text)?),
            None => self.span.times.last().copied().ok_or_else(|| self.nothing()),
        }
    }

    /// Returns the time at which reading of the log begins for an instant: a number of samples before it, and at
    /// least a time in 100 ns before it.
    pub(super) fn before(&self, time: i64, (samples, span): (usize, i64)) -> i64 {
        let at = self.span.times.partition_point(|sample| *sample < time);
        let counted = self.span.times.get(at.saturating_sub(samples)).copied();
        counted.unwrap_or(time).min(time.saturating_sub(span))
    }

    /// Returns the indexes of the counter paths of a request, grouped by counterset.
    fn by_set(&self, paths: &[CounterPath]) -> Result<Vec<Vec<usize>>, ApiError> {
        let mut machine = self.machine().clone();
        let (mut sets, mut of_guid) = (Vec::<Vec<usize>>::new(), HashMap::<Guid, usize>::new());
        for (at, path) in paths.iter().enumerate() {
            let guid = resolve(&mut machine, path)?.set.guid;
            let set = *of_guid.entry(guid).or_insert(sets.len());
            match sets.get_mut(set) {
                Some(set) => set.push(at),
                None => sets.push(vec![at]),
            }
        }
        Ok(sets)
    }

    /// Opens a query of some counter paths of a request over a part of the log.
    pub(super) fn open(
        &self,
        window: Window,
        pick: Pick,
        paths: &[CounterPath],
        of: &[usize],
    ) -> Result<SetQuery, ApiError> {
        let mut logs = self.served.logs.within(window).picking(pick);
        let mut query = PathQuery::open(&mut logs)?;
        query.leave_out_above(CostClass::Moderate);
        for path in of.iter().filter_map(|at| paths.get(*at)) {
            query.add(&mut logs, path)?;
        }
        Ok(SetQuery { query, paths: of.to_vec() })
    }

    /// Reads the values of counter paths at a time of the log: those of the last collection of each counterset up to
    /// that time.
    pub(super) fn read_at(
        &self,
        paths: &[CounterPath],
        time: i64,
        due: Instant,
    ) -> Result<Vec<SetQuery>, ApiError> {
        let mut queries = Vec::new();
        for of in self.by_set(paths)? {
            for (at, span) in BEFORE.into_iter().enumerate() {
                let window = Window { begin: Some(self.before(time, span)), end: Some(time) };
                let mut set = self.open(window, Pick::All, paths, &of)?;
                let mut samples = 0_u32;
                while set.query.collect()? == NextOutcome::Sample {
                    samples = samples.saturating_add(1);
                    in_time(due)?;
                }
                if samples >= 2 || at.saturating_add(1) == BEFORE.len() {
                    if samples > 0 {
                        queries.push(set);
                    }
                    break;
                }
            }
        }
        Ok(queries)
    }

    /// Returns the values of counter paths at an instant of the log as JSON.
    pub fn values(&self, paths: &[CounterPath], at: Option<&str>, unread: &UnreadBytes) -> Answer {
        #[derive(Serialize)]
        struct ValuesJson<'a> {
            values: Vec<Record<'a>>,
        }
        let time = self.instant(at)?;
        let queries = self.read_at(paths, time, due())?;
        let read: Vec<_> = queries.iter().map(|set| (set, set.query.values())).collect();
        let mut shown: Vec<(usize, Record<'_>)> = Vec::new();
        for (set, values) in &read {
            let clocks = set.query.snapshot().clocks();
            for value in values {
                let Some(path) = set.paths.get(value.path).copied() else { continue };
                if paths.get(path).is_some_and(|path| !is_hidden(path, value)) {
                    shown.push((path, Record::new(clocks, value)));
                }
            }
        }
        if shown.is_empty() {
            return Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "nothing of these paths was recorded at that time",
            ));
        }
        if shown.len() > ANSWER_LEN_MOST {
            let text = format!("these paths have {} values then, more than {ANSWER_LEN_MOST}", shown.len());
            return Err(ApiError::new(StatusCode::BAD_REQUEST, text).hint("name instances or counters"));
        }
        shown.sort_by_key(|(path, _)| *path);
        unread.take(to_json(&ValuesJson { values: shown.into_iter().map(|(_, record)| record).collect() }))
    }

    /// Returns the findings of an instant of the log as JSON.
    pub fn findings(&mut self, at: Option<&str>, unread: &UnreadBytes) -> Answer {
        let time = self.instant(at)?;
        if let Some((_, known)) = self.findings.as_ref().filter(|(of, _)| *of == time) {
            return if unread.is_too_much() { Err(ApiError::busy()) } else { known.clone() };
        }
        let due = due();
        let span = BEFORE.get(1).copied().unwrap_or_default();
        let window = Window { begin: Some(self.before(time, span)), end: Some(time) };
        let mut logs = self.served.logs.within(window);
        let mut overview = Overview::open_log(&mut logs)?;
        while overview.collect()? == NextOutcome::Sample {
            in_time(due)?;
        }
        // At the end of the window, processes and groups are those of the instant.
        let answer = unread.take(past_json(&overview.state(1)))?;
        self.findings = Some((time, Ok(answer.clone())));
        Ok(answer)
    }

    /// Begins a stream of the log's samples: those of a range, and those that are written later if the range has no
    /// end.
    pub fn join(
        &mut self,
        asks: &[PathRequest],
        range: &TimeRange,
        last: Option<i64>,
        history_ms: i64,
        (limits, unread): (&Limits, &UnreadBytes),
    ) -> Result<StreamBody, ApiError> {
        let newest = self.instant(None)?;
        let end = range.end.as_ref().map(|text| self.parse("end", text)).transpose()?;
        let begin = range.begin.as_ref().map(|text| self.parse("begin", text)).transpose()?;
        let begin = match (begin, last.map(|last| from_unix_ms(last.saturating_add(1)))) {
            // A client that connects again has what came before.
            (begin, Some(after)) => begin.map_or(after, |begin| begin.max(after)),
            (Some(begin), None) => begin,
            (None, None) => from_unix_ms(to_unix_ms(end.unwrap_or(newest)).saturating_sub(history_ms)),
        };
        let first = self.span.times.partition_point(|time| *time < begin);
        let after = self.span.times.partition_point(|time| end.is_none_or(|end| *time <= end));
        let is_empty = first >= after;
        if is_empty && last.is_none() && (range.begin.is_some() || range.end.is_some()) {
            return Err(self.nothing());
        }
        if is_empty && last.is_some() && range.end.is_some() {
            let (viewer, events) = queue();
            viewer.end(RANGE_ENDS);
            return Ok(events);
        }
        let follows = range.end.is_none() && self.served.window.end.is_none();
        if follows && self.followed.len() >= FOLLOWED_MOST {
            let text = format!("{FOLLOWED_MOST} different requests are followed, and no more can be");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text).hint("give an end"));
        }
        // The sample before the range is read too, without which the first rates have no value.
        let samples = self.span.times.get(first.saturating_sub(1)..after).unwrap_or_default().to_vec();
        let (mut feed, mut table) = self.history(asks, &samples, begin, limits)?;
        let (viewer, events) = queue();
        viewer.send(feed.begin(to_unix_ms(begin).saturating_sub(1), 0, &table, unread)?);
        feed.viewers.push(viewer);
        let sent = samples.last().copied().filter(|_| !is_empty);
        if let Some(time) = sent {
            self.send_sample(asks, &mut feed, &mut table, time, unread)?;
        }
        self.last_sent = Instant::now();
        match (follows, &range.end) {
            (true, _) => {
                let (asks, sent) = (asks.to_vec(), sent.unwrap_or(newest));
                self.followed.push(FollowedRequest { asks, feed, table, sent });
            }
            // A program that named an end waits for it.
            (false, Some(_)) => feed.viewers.drain(..).for_each(|viewer| viewer.end(RANGE_ENDS)),
            // The page would connect again.
            (false, None) => self.ended.append(&mut feed.viewers),
        }
        Ok(events)
    }

    /// Reads all samples of a range of the log into a table of series, except the last one. Values of paths with
    /// `top` are not stored.
    fn history(
        &self,
        asks: &[PathRequest],
        samples: &[i64],
        begin: i64,
        limits: &Limits,
    ) -> Result<(Feed, SeriesTable), ApiError> {
        let due = due();
        let window = Window { begin: samples.first().copied(), end: samples.last().copied() };
        let span = window.end.unwrap_or(0).saturating_sub(begin);
        let most = i64::try_from(limits.values.max(1)).unwrap_or(i64::MAX);
        let spacing = in_100ns(self.span.interval).max(span.checked_div(most).unwrap_or(0));
        let mut axis = thinned(samples, spacing);
        // The last sample is sent as such, with its reasons and marks.
        axis.retain(|time| samples.last() != Some(time));
        let mut table =
            SeriesTable::numbered_from(&self.next_id, limits.series, axis.len().saturating_add(1));
        axis.iter().for_each(|time| table.begin(&ClockReading::recorded(*time)));
        let mut machine = self.machine().clone();
        let paths: Vec<CounterPath> = asks.iter().map(|ask| ask.path.clone()).collect();
        let mut watches = Vec::new();
        for ask in asks {
            super::on_this_machine(&ask.path)?;
            let resolved = resolve(&mut machine, &ask.path)?;
            let watch = WatchedPath::new(&ask.path, ask.top.is_none(), 0, &resolved, &table);
            watch.has_sums.set(ask.sum);
            watches.push(Rc::new(watch));
        }
        for mut of in self.by_set(&paths)? {
            of.retain(|at| asks.get(*at).is_some_and(|ask| ask.top.is_none()));
            if of.is_empty() || axis.is_empty() {
                continue;
            }
            let set = self.open(window, Pick::Every(spacing), &paths, &of)?;
            read_set(set, &axis, &watches, &mut table, due)?;
        }
        table.go_to(axis.len());
        let asks = asks.iter().cloned().zip(watches).collect();
        Ok((Feed::new(0, asks), table))
    }

    /// Sends the log's sample of a time to the clients of a stream request.
    fn send_sample(
        &self,
        asks: &[PathRequest],
        feed: &mut Feed,
        table: &mut SeriesTable,
        time: i64,
        unread: &UnreadBytes,
    ) -> Result<(), ApiError> {
        let paths: Vec<CounterPath> = asks.iter().map(|ask| ask.path.clone()).collect();
        let queries = self.read_at(&paths, time, due())?;
        table.begin(&ClockReading::recorded(time));
        let read: Vec<_> = queries.iter().map(|set| (set, set.query.values())).collect();
        // A path without values needs a query too, which is never asked.
        let Some((none, _)) = read.first() else { return Ok(()) };
        let mut values: Vec<&[PathValue<'_>]> = vec![&[]; paths.len()];
        let mut of_path: Vec<&PathQuery> = vec![&none.query; paths.len()];
        let mut points = vec![PathPoints::default(); paths.len()];
        for (set, all) in &read {
            let is_older = set.query.snapshot().clocks().utc_100ns() < time;
            for found in all.chunk_by(|a, b| a.path == b.path) {
                let at = found.first().and_then(|value| set.paths.get(value.path)).copied();
                let Some((at, (_, watch))) = at.and_then(|at| Some((at, feed.asks.get(at)?))) else {
                    continue;
                };
                if let (Some(values), Some(query)) = (values.get_mut(at), of_path.get_mut(at)) {
                    (*values, *query) = (found, &set.query);
                }
                if let Some(points) = points.get_mut(at).filter(|_| watch.is_kept) {
                    *points = watch.take(found, &set.query, table);
                    if is_older {
                        points.mark_stale();
                    }
                }
            }
        }
        for (at, (_, watch)) in feed.asks.iter().enumerate() {
            watch.position.set(at);
        }
        let time = to_unix_ms(time);
        feed.send(&Sample { time, points: &points, values: &values, queries: &of_path }, table, unread);
        Ok(())
    }

    /// Checks for new samples of the log, and sends them to the clients that follow it. Returns `true` if the log was
    /// opened again.
    pub fn look(&mut self, now: Instant, limits: &Limits, unread: &UnreadBytes) -> bool {
        self.ended.retain(|viewer| !viewer.is_gone());
        for one in &mut self.followed {
            one.feed.viewers.retain(|viewer| !viewer.is_gone());
        }
        self.followed.retain(|one| !one.feed.viewers.is_empty());
        if now.saturating_duration_since(self.last_sent) >= SILENCE {
            self.last_sent = now;
            let comment = || Bytes::from_static(b":\n\n");
            self.ended.retain(|viewer| viewer.send(comment()));
            for one in &mut self.followed {
                one.feed.viewers.retain(|viewer| viewer.send(comment()));
            }
        }
        if self.followed.is_empty() || !self.refresh(now, limits) {
            return false;
        }
        for mut one in std::mem::take(&mut self.followed) {
            self.send_new(&mut one, unread);
            self.followed.push(one);
        }
        self.cost = now.elapsed();
        true
    }

    /// Opens the log again if it has grown, unless that was done just before, and returns `true` if it was opened.
    pub fn refresh(&mut self, now: Instant, limits: &Limits) -> bool {
        let pause = self.cost.saturating_mul(COST_SHARE);
        if self.served.window.end.is_some() || now.saturating_duration_since(self.looked) < pause {
            return false;
        }
        self.looked = now;
        let stamp = stamp(&self.served);
        if stamp == self.stamp {
            return false;
        }
        // If the log cannot be read at this moment, the next look finds it changed again.
        let Ok(logs) = Logs::open(&self.served.files) else { return false };
        let logs = match logs.machines().len() {
            0 | 1 => logs,
            _ => match logs.for_machine(self.served.logs.machine_name()) {
                Ok(logs) => logs,
                Err(_) => return false,
            },
        };
        self.stamp = stamp;
        self.served.logs = logs;
        if let Ok(span) = self.served.span(self.span.interval, limits) {
            self.span.times = span.times;
        }
        self.findings = None;
        self.instances.borrow_mut().clear();
        self.cost = now.elapsed();
        true
    }

    /// Ends all streams of the log with a reason.
    pub fn end(&self, reason: &'static str) {
        let followers = self.followed.iter().flat_map(|one| &one.feed.viewers);
        followers.chain(&self.ended).for_each(|viewer| viewer.end(reason));
    }

    /// Sends the samples of the log that are newer than the last one sent for a stream request.
    fn send_new(&mut self, one: &mut FollowedRequest, unread: &UnreadBytes) {
        let new = self.span.times.partition_point(|time| *time < one.sent);
        let mut new = thinned(self.span.times.get(new..).unwrap_or_default(), in_100ns(self.span.interval));
        new.retain(|time| *time > one.sent);
        for time in new.split_off(new.len().saturating_sub(NEW_MOST)) {
            one.sent = time;
            let FollowedRequest { asks, feed, table, .. } = one;
            if self.send_sample(asks, feed, table, time, unread).is_ok() {
                self.last_sent = Instant::now();
            }
        }
    }
}

/// Reads the samples of one counterset of the log into a table of series, and repeats values while the counterset was
/// not due.
fn read_set(
    mut set: SetQuery,
    axis: &[i64],
    watches: &[Rc<WatchedPath>],
    table: &mut SeriesTable,
    due: Instant,
) -> Result<(), ApiError> {
    let (mut at, mut before) = (0_usize, Option::<(usize, Vec<PathPoints>)>::None);
    while set.query.collect()? == NextOutcome::Sample {
        in_time(due)?;
        let time = set.query.snapshot().clocks().utc_100ns();
        let next = |at: usize| axis.get(at.saturating_add(1)).copied();
        while next(at).is_some_and(|next| next <= time) {
            at = at.saturating_add(1);
        }
        hold(before.take(), at, axis, table);
        if axis.last().is_some_and(|last| time > *last) {
            break; // the last sample is read by itself
        }
        table.go_to(at.saturating_add(1));
        let values = set.query.values();
        let mut taken = Vec::new();
        for found in values.chunk_by(|a, b| a.path == b.path) {
            let path = found.first().and_then(|value| set.paths.get(value.path));
            let Some(watch) = path.and_then(|path| watches.get(*path)) else { continue };
            taken.push(watch.take(found, &set.query, table));
        }
        before = Some((at, taken));
    }
    hold(before, axis.len(), axis, table);
    Ok(())
}

/// Stores the values of a log's sample again for the samples before the counterset's next collection.
fn hold(before: Option<(usize, Vec<PathPoints>)>, until: usize, axis: &[i64], table: &mut SeriesTable) {
    let Some((from, points)) = before else { return };
    let begin = axis.get(from).copied().unwrap_or(0);
    for at in from.saturating_add(1)..until {
        if axis.get(at).is_none_or(|time| time.saturating_sub(begin) > HELD_MOST) {
            break;
        }
        table.go_to(at.saturating_add(1));
        points.iter().for_each(|points| points.keep_again(table));
    }
}

/// Returns the first of some sample times, and then one time per interval, as [`Pick::Every`] does.
fn thinned(times: &[i64], spacing: i64) -> Vec<i64> {
    let (mut all, mut due) = (Vec::new(), Option::<i64>::None);
    for time in times.iter().copied() {
        let Some(from) = due else {
            due = Some(time);
            all.push(time);
            continue;
        };
        let next = from.saturating_add(spacing);
        if time >= next {
            // Due times keep their grid, unless one was missed.
            due = Some(if time.abs_diff(next) < spacing.unsigned_abs() { next } else { time });
            all.push(time);
        }
    }
    all
}

/// Returns the error for a scrape of metrics from a log. A scraper would store recorded values as current ones.
pub fn no_metrics() -> ApiError {
    let text = "this server shows a log, and metrics are values of now";
    ApiError::new(StatusCode::NOT_FOUND, text).hint("perfset serve without --log has them")
}

/// Returns an error if a request to a server without a log names a time.
pub fn has_no_past<T>(time: Option<T>) -> Result<(), ApiError> {
    match time {
        None => Ok(()),
        Some(_) => {
            let text = "at, begin and end are times of a log";
            Err(ApiError::new(StatusCode::BAD_REQUEST, text).hint("perfset serve --log shows one"))
        }
    }
}

/// Returns the error for a request for a range, at a server that has no log.
pub fn no_recording() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "this server shows no recording: it has values of now only")
        .hint("perfset serve --log shows one")
}

/// Returns the time until which reading the log for a request must end.
pub(super) fn due() -> Instant {
    let now = Instant::now();
    now.checked_add(READ_MOST).unwrap_or(now)
}

/// Returns an error if reading the log for a request has taken longer than [`READ_MOST`].
pub(super) fn in_time(due: Instant) -> Result<(), ApiError> {
    if Instant::now() < due {
        return Ok(());
    }
    let text = format!("reading these paths of the log takes longer than {} s", READ_MOST.as_secs());
    Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, text)
        .hint("ask for a shorter time, or for fewer paths"))
}

/// Returns the size and modification time of each file of the served log.
fn stamp(served: &ServedLog) -> Vec<(u64, Option<SystemTime>)> {
    let mut stamps = Vec::new();
    for path in &served.files {
        let listed = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> = listed.collect();
        files.sort();
        files.push(path.clone());
        for file in files {
            let found = std::fs::metadata(&file).ok();
            stamps.push((found.as_ref().map_or(0, |of| of.len()), found.and_then(|of| of.modified().ok())));
        }
    }
    stamps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_thinned_on_a_grid() {
        for (times, spacing, want) in [
            (&[][..], 10, &[][..]),
            (&[5], 10, &[5]),
            (&[0, 1, 2, 3], 0, &[0, 1, 2, 3]),
            (&[0, 4, 9, 14, 19, 24], 10, &[0, 14, 24]),
            (&[0, 11, 20, 31], 10, &[0, 11, 20, 31]),
            (&[0, 95, 100, 106], 10, &[0, 95, 106]),
        ] {
            assert_eq!(thinned(times, spacing), want, "{times:?} {spacing}");
        }
    }
}
