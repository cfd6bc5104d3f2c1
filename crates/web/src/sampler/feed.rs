//! Feeds of event streams: each feed writes the events of one stream request once a sample, for all clients with this
//! request.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Write;
use std::rc::Rc;
use std::time::Instant;

use axum::http::StatusCode;
use bytes::Bytes;
use perfset::path::{CounterPath, PathQuery, PathValue, ResolvedPath, Selector, keep_greatest};
use perfset::{Aggregate, Counter, CounterId, Counterset, Name, NoValue, catalogue};

use super::series::{SeriesId, SeriesTable};
use crate::answer::ApiError;
use crate::request::PathRequest;
use crate::stream::StreamSender;
use crate::unread::UnreadBytes;

/// Maximum number of earlier values that a new client of a stream receives; the newest are sent.
const HISTORY_LEN_MOST: usize = 400_000;

/// Maximum length in bytes of the descriptions of series in one event of a stream. A series is described once for
/// each path that selects it, so without a limit many paths for the same instances would need unlimited memory.
const SERIES_LEN_MOST: usize = 8 << 20;

/// Reason for ending or refusing a stream whose descriptions of series are longer than [`SERIES_LEN_MOST`].
const TOO_MANY_SERIES: &str = "the descriptions of the series of these paths take more than 8 MiB";

/// Counter path that is collected for one or more feeds.
#[derive(Debug)]
pub struct WatchedPath {
    pub path: CounterPath,
    /// `true` if all values of the counter path are stored; otherwise each client receives only the greatest values.
    pub is_kept: bool,
    /// Index of the counter path in the query.
    pub position: Cell<usize>,
    /// Series of the counter path, including those that have ended.
    pub members: RefCell<BTreeSet<SeriesId>>,
    /// `true` if a client requests the sums over the counter path's instances.
    pub has_sums: Cell<bool>,
    /// Series of the sums over the instances of the counter path.
    pub sums: RefCell<BTreeSet<SeriesId>>,
    /// Time since which no client requests the counter path; `None` while a client does.
    pub idle_since: Cell<Option<Instant>>,
}

/// Value of one series in a sample, for a stream.
#[derive(Clone, Debug)]
pub struct Point {
    id: SeriesId,
    value: Option<f64>,
    status: &'static str,
    /// Keyword of the value's mark, such as `held`.
    mark: Option<&'static str>,
}

/// Values of a watched counter path in a sample.
#[derive(Clone, Debug, Default)]
pub struct PathPoints {
    points: Vec<Point>,
    /// Sums over all instances of the counter path, for the counters whose values can be added.
    sums: Vec<Point>,
    /// Numbers of instances of the counter path without a value, by counter.
    without: Vec<Without>,
    /// Reason why the counter path has no value at all: a keyword and a sentence.
    nothing: Option<(&'static str, String)>,
}

/// Number of instances without a value of one counter, by reason; the most frequent reason first.
#[derive(Clone, Debug)]
struct Without {
    counter: String,
    /// Number of all instances of the counter, with or without a value.
    of: usize,
    reasons: Vec<(&'static str, usize)>,
}

/// Summary of the instances of one counter of a watched path in a sample. Instances that are totals of others are not
/// counted.
pub struct FeedColumn<'a> {
    pub set: &'a Counterset,
    pub counter: &'a Counter,
    instances: usize,
    /// Sum of the counter's values in the sample; `None` if no instance has one.
    pub sum: Option<f64>,
    reasons: BTreeMap<&'static str, usize>,
}

impl<'a> FeedColumn<'a> {
    /// Summarizes the values of a counter path, one summary for each counter.
    pub fn all<'b: 'a>(values: impl Iterator<Item = &'a PathValue<'b>>) -> Vec<Self> {
        let mut columns: Vec<Self> = Vec::new();
        // A value without an instance id only carries the reason why the path has no instance.
        for v in values.filter(|v| v.value.instance_id.is_some() && !v.sums_up()) {
            let counter = v.value.counter;
            let is_its = |column: &Self| column.counter.id == counter.id;
            if !columns.last().is_some_and(is_its) && !columns.iter().any(is_its) {
                let set = v.value.counterset;
                columns.push(Self { set, counter, instances: 0, sum: None, reasons: BTreeMap::new() });
            }
            let Some(column) = columns.iter_mut().rev().find(|column| is_its(column)) else { continue };
            column.instances = column.instances.saturating_add(1);
            match number(v) {
                Some(value) => column.sum = Some(column.sum.unwrap_or(0.0) + value),
                None => {
                    let count = column.reasons.entry(status(v)).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        columns
    }

    /// Returns `true` if the sum of the counter over the instances has a meaning.
    pub fn adds_up(&self) -> bool {
        match self.counter.aggregate {
            Aggregate::Total => true,
            Aggregate::Undefined => catalogue::adds_up(self.set.guid, self.counter.id),
            _ => false,
        }
    }

    /// Returns the reasons for missing values of the counter, the most frequent first.
    pub fn reasons(&self) -> Vec<(&'static str, usize)> {
        let mut reasons: Vec<_> = self.reasons.iter().map(|(reason, count)| (*reason, *count)).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        reasons
    }
}

impl WatchedPath {
    /// Begins to watch a counter path from the next sample on. Series already stored for another path are included.
    pub fn new(
        path: &CounterPath,
        is_kept: bool,
        position: usize,
        resolved: &ResolvedPath,
        table: &SeriesTable,
    ) -> Self {
        let selector = resolved.instances.as_deref().map(Selector::new);
        // The number of an instance among those of its name is unknown once the instance has ended. It is not
        // guessed.
        let means = |name: Name<'_>| {
            selector.as_ref().is_none_or(|selector| selector.matches(name.units(), usize::MAX))
        };
        let shown = |id: &CounterId| {
            resolved.set.counter(*id).is_some_and(|counter| !is_hidden_counter(path, counter))
        };
        let counters: Vec<_> = resolved.counters.iter().copied().filter(shown).collect();
        let (members, sums) = match is_kept {
            true => {
                let guid = resolved.set.guid;
                (table.stored(guid, &counters, means), table.stored_sums(path, guid, &counters))
            }
            false => Default::default(),
        };
        Self {
            path: path.clone(),
            is_kept,
            position: Cell::new(position),
            members: members.into(),
            has_sums: Cell::new(false),
            sums: sums.into(),
            idle_since: Cell::new(None),
        }
    }

    /// Returns the values of a sample that are shown to clients.
    fn shown<'a, 'v>(&self, values: &'a [PathValue<'v>]) -> impl Iterator<Item = &'a PathValue<'v>> + Clone {
        values.iter().filter(|v| !is_hidden(&self.path, v))
    }

    /// Stores the values of a watched path in a sample while the series table has space, and returns them.
    pub fn take(&self, values: &[PathValue<'_>], query: &PathQuery, table: &mut SeriesTable) -> PathPoints {
        let (mut sums, mut without) = (Vec::new(), Vec::new());
        if self.has_sums.get() {
            // Before the instances: if there is no place for all of them, their sum has one.
            for column in FeedColumn::all(self.shown(values)) {
                without.extend(Without::new(&column));
                if !column.adds_up() {
                    continue;
                }
                let Some(id) = table.sum_series(&self.path, column.set, column.counter) else { continue };
                let status = column.reasons().first().map_or("", |(reason, _)| *reason);
                let is_partial = column.sum.is_some() && !column.reasons.is_empty();
                let mark = is_partial.then_some("partial"); // how many it lacks is in `without`
                sums.push(Point { id, value: column.sum, status, mark });
            }
        }
        let taken = PathPoints { sums, without, ..PathPoints::new(self.shown(values), query, table) };
        for (points, ids) in [(&taken.points, &self.members), (&taken.sums, &self.sums)] {
            for point in points {
                table.keep(point.id, point.value);
                ids.borrow_mut().insert(point.id);
            }
        }
        taken
    }

    /// Returns the greatest values of a watched path in a sample, at most `most`.
    fn take_greatest(
        &self,
        most: u32,
        values: &[PathValue<'_>],
        query: &PathQuery,
        table: &mut SeriesTable,
    ) -> PathPoints {
        let mut greatest: Vec<&PathValue<'_>> = self.shown(values).collect();
        keep_greatest(&mut greatest, usize::try_from(most).unwrap_or(usize::MAX), number);
        // Before values without a number are removed: if none remains, this is the reason to report.
        let reason = greatest.iter().find_map(|v| v.value.value.as_ref().err());
        let nothing = reason.map(|reason| (reason.keyword(), reason.to_string()));
        greatest.retain(|v| number(v).is_some());
        let without = FeedColumn::all(self.shown(values)).iter().filter_map(Without::new).collect();
        let taken = match greatest.is_empty() {
            true => PathPoints { nothing, ..PathPoints::default() },
            false => PathPoints::new(greatest.into_iter(), query, table),
        };
        PathPoints { without, ..taken }
    }
}

impl Without {
    /// Counts the missing values of a counter in a sample; returns `None` if every instance has a value.
    fn new(column: &FeedColumn<'_>) -> Option<Self> {
        let reasons = column.reasons();
        (!reasons.is_empty()).then(|| Self {
            counter: column.counter.shown_name().into_owned(),
            of: column.instances,
            reasons,
        })
    }
}

impl PathPoints {
    /// Marks all values of the sample as those of an earlier collection.
    pub fn mark_stale(&mut self) {
        for point in self.points.iter_mut().chain(&mut self.sums).filter(|point| point.value.is_some()) {
            point.mark.get_or_insert("stale");
        }
    }

    /// Stores the values of a sample again, for the current sample of the series table.
    pub fn keep_again(&self, table: &mut SeriesTable) {
        self.points.iter().chain(&self.sums).for_each(|point| table.keep(point.id, point.value));
    }

    fn new<'a, 'b: 'a>(
        values: impl Iterator<Item = &'a PathValue<'b>>,
        query: &PathQuery,
        table: &mut SeriesTable,
    ) -> Self {
        let mut taken = Self::default();
        for v in values {
            match (&v.value.instance_id, &v.value.value) {
                (None, Err(reason)) => taken.nothing = Some((reason.keyword(), reason.to_string())),
                _ => {
                    let Some(id) = table.series(v, query.birth(v)) else { continue };
                    let mark = v.value.mark.and_then(|mark| mark.keyword());
                    taken.points.push(Point { id, value: number(v), status: status(v), mark });
                }
            }
        }
        taken
    }
}

/// Returns `true` if clients do not see a value: the path selects counters by a pattern, and this system never has the
/// value's counter.
pub fn is_hidden(path: &CounterPath, v: &PathValue<'_>) -> bool {
    is_hidden_counter(path, v.value.counter)
}

fn is_hidden_counter(path: &CounterPath, counter: &Counter) -> bool {
    counter.is_never_there() && path.counter.contains(['*', '?', '{', '!'])
}

/// Returns the keyword of the reason why a value is not a finite number.
pub fn status(v: &PathValue<'_>) -> &'static str {
    v.value.value.as_ref().map_or_else(NoValue::keyword, |_| NoValue::NotDisplayable.keyword())
}

/// Returns the number that clients receive; `None` if it is not finite.
pub fn number(v: &PathValue<'_>) -> Option<f64> {
    v.value.value.as_ref().ok().map(|value| value.nocap()).filter(|value| value.is_finite())
}

/// Stream request that has at least one viewer, with its viewers.
#[derive(Debug)]
pub struct Feed {
    /// Id of the feed; older feeds have lower ids.
    pub number: u64,
    /// Requested selections of the stream, each with the watched path from which its values are taken.
    pub asks: Vec<(PathRequest, Rc<WatchedPath>)>,
    pub viewers: Vec<StreamSender>,
    /// Series that the feed's viewers know, each with the indexes of the requested paths that select it, as bits:
    /// there are 64 at most.
    series: BTreeMap<SeriesId, u64>,
    /// First events that the last new viewer received, with their sample and start time.
    before: Option<((u64, i64), Bytes)>,
}

/// Sample of all watched counter paths, for the feeds.
#[derive(Debug)]
pub struct Sample<'a, 'v> {
    pub time: i64,
    /// Stored values of the sample, by index of the counter path in the query.
    pub points: &'a [PathPoints],
    /// Values of the sample, including those that are not stored, by index of the counter path in the query.
    pub values: &'a [&'a [PathValue<'v>]],
    /// Query of each counter path's values in the sample.
    pub queries: &'a [&'a PathQuery],
}

impl Feed {
    pub fn new(number: u64, asks: Vec<(PathRequest, Rc<WatchedPath>)>) -> Self {
        Self { number, asks, viewers: Vec::new(), series: BTreeMap::new(), before: None }
    }

    /// Sends a sample to all viewers of the feed, and removes viewers that are gone or too slow.
    pub fn send(&mut self, sample: &Sample<'_, '_>, table: &mut SeriesTable, unread: &UnreadBytes) {
        self.before = None;
        if unread.is_full() {
            self.viewers.drain(..).for_each(|viewer| {
                viewer.cut_off();
            });
            return;
        }
        // A client that waits for the next event has read everything, so the bytes are not waiting for it.
        if unread.is_too_much() {
            self.viewers.retain(|viewer| viewer.is_waiting() || viewer.cut_off());
        }
        match self.events(sample, table) {
            Some(events) => {
                let events = unread.hold(events);
                self.viewers.retain(|viewer| viewer.send(events.clone()));
            }
            None => self.viewers.drain(..).for_each(|viewer| viewer.end(TOO_MANY_SERIES)),
        }
    }

    /// Records that the viewers know a series by a requested path, and returns `true` if this is new.
    fn learn(&mut self, id: SeriesId, ask: usize) -> bool {
        let bit = bit(ask);
        let asks = self.series.entry(id).or_default();
        let is_new = *asks & bit == 0;
        *asks |= bit;
        is_new
    }

    /// Returns the events with the values of a sample for the feed's viewers; `None` if they are too long.
    fn events(&mut self, sample: &Sample<'_, '_>, table: &mut SeriesTable) -> Option<Vec<u8>> {
        let (mut ids, mut values, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let mut marks = Vec::new();
        let (mut news, mut nothing, mut without) = (Vec::new(), Vec::new(), Vec::new());
        let mut sent = HashSet::new();
        let nobody = PathPoints::default();
        // Taken out, because `learn` below needs the whole feed.
        let asks = std::mem::take(&mut self.asks);
        for (at, (ask, watch)) in asks.iter().enumerate() {
            let position = watch.position.get();
            // Values of all instances are stored once for all feeds. The greatest ones differ from request to
            // request.
            let taken = match ask.top {
                None => Cow::Borrowed(sample.points.get(position).unwrap_or(&nobody)),
                Some(most) => {
                    let values = sample.values.get(position).copied().unwrap_or_default();
                    let query = sample.queries.get(position);
                    let taken = query.map(|query| watch.take_greatest(most, values, query, table));
                    Cow::Owned(taken.unwrap_or_default())
                }
            };
            let sums = if ask.sum { taken.sums.as_slice() } else { &[] };
            for point in taken.points.iter().chain(sums) {
                // No more text is collected than is needed to see that it is too long.
                if self.learn(point.id, at) && news.len() <= SERIES_LEN_MOST {
                    comma(&mut news);
                    table.tell(point.id, at, &mut news);
                }
                // A series that several requests select is described for each of them, and its value is sent
                // once.
                if !sent.insert(point.id) {
                    continue;
                }
                comma(&mut ids);
                write(&mut ids, format_args!("{}", point.id));
                comma(&mut values);
                push_number(&mut values, point.value);
                // Reasons and marks are exceptions, so they are maps by id beside the two dense arrays.
                if point.value.is_none() {
                    comma(&mut missing);
                    write(&mut missing, format_args!("\"{}\":\"{}\"", point.id, point.status));
                }
                if let Some(mark) = point.mark {
                    comma(&mut marks);
                    write(&mut marks, format_args!("\"{}\":\"{mark}\"", point.id));
                }
            }
            let is_told = ask.top.is_some() || ask.sum;
            for Without { counter, of, reasons } in taken.without.iter().filter(|_| is_told) {
                let counter = serde_json::Value::from(counter.as_str());
                for (status, instances) in reasons {
                    comma(&mut without);
                    write(
                        &mut without,
                        format_args!(
                            "{{\"ask\":{at},\"counter\":{counter},\"status\":\"{status}\",\
                             \"instances\":{instances},\"of\":{of}}}"
                        ),
                    );
                }
            }
            if let Some((status, reason)) = &taken.nothing {
                comma(&mut nothing);
                let reason = serde_json::Value::from(reason.as_str());
                write(
                    &mut nothing,
                    format_args!("{{\"ask\":{at},\"status\":\"{status}\",\"reason\":{reason}}}"),
                );
            }
        }
        // Put back before the return below, which would lose them.
        self.asks = asks;
        // Otherwise the map would contain every process that was ever among the greatest. The slack keeps
        // series that leave a ranking for a few samples.
        if self.series.len() > sent.len().saturating_mul(2).saturating_add(64) {
            // A client that receives a series's description once more learns nothing new.
            self.series.retain(|id, _| sent.contains(id));
        }
        if news.len() > SERIES_LEN_MOST {
            return None;
        }
        let mut out = Vec::new();
        // The description of a series precedes the first sample that has it.
        push_series(&mut out, &news);
        write(&mut out, format_args!("event: sample\nid: {0}\ndata: {{\"time\":{0},\"ids\":[", sample.time));
        out.extend_from_slice(&ids);
        out.extend_from_slice(b"],\"values\":[");
        out.extend_from_slice(&values);
        out.push(b']');
        for (name, parts, begin, end) in [
            ("missing", missing, b'{', b'}'),
            ("marks", marks, b'{', b'}'),
            ("without", without, b'[', b']'),
            ("nothing", nothing, b'[', b']'),
        ] {
            if !parts.is_empty() {
                write(&mut out, format_args!(",\"{name}\":"));
                out.push(begin);
                out.extend_from_slice(&parts);
                out.push(end);
            }
        }
        out.extend_from_slice(b"}\n\n");
        Some(out)
    }

    /// Returns the first events for a new viewer of the feed: the series, and their values since a time.
    ///
    /// # Errors
    /// If too many bytes wait for clients already, or the series are too many.
    pub fn begin(
        &mut self,
        since: i64,
        sample: u64,
        table: &SeriesTable,
        unread: &UnreadBytes,
    ) -> Result<Bytes, ApiError> {
        if let Some((key, bytes)) = &self.before {
            if *key == (sample, since) {
                return Ok(bytes.clone());
            }
        }
        let mut kept = BTreeSet::new();
        let asks = std::mem::take(&mut self.asks);
        for (at, (ask, watch)) in asks.iter().enumerate().filter(|(_, (ask, _))| ask.top.is_none()) {
            let (members, sums) = (watch.members.borrow(), watch.sums.borrow());
            let sums = sums.iter().filter(|_| ask.sum);
            for id in members.iter().chain(sums).copied().filter(|id| table.has(*id)) {
                self.learn(id, at);
                kept.insert(id);
            }
        }
        let (mut series, mut out) = (Vec::new(), Vec::new());
        for at in 0..asks.len() {
            let bit = bit(at);
            for (id, _) in self.series.iter().filter(|(id, asks)| *asks & bit != 0 && table.has(**id)) {
                if series.len() > SERIES_LEN_MOST {
                    break;
                }
                comma(&mut series);
                table.tell(*id, at, &mut series);
            }
        }
        self.asks = asks;
        if series.len() > SERIES_LEN_MOST {
            let problem = ApiError::new(StatusCode::BAD_REQUEST, TOO_MANY_SERIES);
            return Err(problem.hint("ask for fewer paths, or for fewer that mean the same instances"));
        }
        push_series(&mut out, &series);
        let most = HISTORY_LEN_MOST.checked_div(kept.len()).unwrap_or(0);
        let samples = table.samples_after(since, most);
        // Series that ended before this time would only add rows of `null`.
        let has_value = |id: &SeriesId| samples.iter().any(|(sample, _)| table.value(*id, *sample).is_some());
        kept.retain(has_value);
        if !kept.is_empty() {
            push_history(&mut out, &kept, &samples, table);
        }
        if out.is_empty() {
            out.extend_from_slice(b":\n\n"); // so that the headers leave at once
        }
        let bytes = unread.take(out)?;
        self.before = Some(((sample, since), bytes.clone()));
        Ok(bytes)
    }
}

/// Returns the bit of a requested path, by its index in the request.
fn bit(ask: usize) -> u64 {
    u32::try_from(ask).ok().and_then(|ask| 1_u64.checked_shl(ask)).unwrap_or_default()
}

fn push_series(out: &mut Vec<u8>, series: &[u8]) {
    if !series.is_empty() {
        out.extend_from_slice(b"event: series\ndata: {\"series\":[");
        out.extend_from_slice(series);
        out.extend_from_slice(b"]}\n\n");
    }
}

fn push_history(out: &mut Vec<u8>, ids: &BTreeSet<SeriesId>, samples: &[(u64, i64)], table: &SeriesTable) {
    out.extend_from_slice(b"event: history\ndata: {\"ids\":[");
    list(out, ids.iter(), |out, id| write(out, format_args!("{id}")));
    out.extend_from_slice(b"],\"times\":[");
    list(out, samples.iter(), |out, (_, time)| write(out, format_args!("{time}")));
    out.extend_from_slice(b"],\"values\":[");
    list(out, ids.iter(), |out, id| {
        out.push(b'[');
        list(out, samples.iter(), |out, (sample, _)| match table.value(*id, *sample) {
            Some(value) => drop(serde_json::to_writer(out, &value)), // a Vec takes everything
            None => out.extend_from_slice(b"null"),
        });
        out.push(b']');
    });
    out.extend_from_slice(b"]}\n\n");
}

/// Appends items to a JSON text with commas between them.
fn list<T>(out: &mut Vec<u8>, things: impl Iterator<Item = T>, one: impl Fn(&mut Vec<u8>, T)) {
    for (at, thing) in things.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        one(out, thing);
    }
}

/// Appends a comma to a JSON text, unless it is empty.
fn comma(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

fn push_number(out: &mut Vec<u8>, number: Option<f64>) {
    // A Vec takes everything.
    let _ = serde_json::to_writer(out, &number);
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text); // a Vec takes everything
}
