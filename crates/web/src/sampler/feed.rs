//! Feeds: what one request asks for, written once a sample for all who asked the same.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use perfset::NoValue;
use perfset::path::{CounterPath, PathQuery, PathValue, keep_greatest};

use super::series::{SeriesId, Table};
use crate::answer::Problem;
use crate::request::Ask;
use crate::stream::Viewer;
use crate::unread::Unread;

/// The most numbers that a reader gets of what came before: the newest.
const HISTORY_LEN_MOST: usize = 400_000;

/// A path that is collected.
#[derive(Debug)]
pub struct Watch {
    pub path: CounterPath,
    /// Whether its values are kept; else readers choose the greatest of them.
    pub is_kept: bool,
    /// Where it is in the query.
    pub position: Cell<usize>,
    /// Its series, also those that are over.
    pub members: RefCell<BTreeSet<SeriesId>>,
    /// Since when nobody looks.
    pub idle_since: Cell<Option<Instant>>,
}

/// One value of a sample.
#[derive(Clone, Debug)]
pub struct Point {
    id: SeriesId,
    value: Option<f64>,
    status: &'static str,
}

/// What a path gave in a sample.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    points: Vec<Point>,
    /// Why there is nothing: a keyword and a sentence.
    nothing: Option<(&'static str, String)>,
}

impl Watch {
    /// Takes the values of a sample, all that have a place, and keeps them.
    pub fn take(&self, values: &[PathValue<'_>], query: &PathQuery, table: &mut Table) -> Taken {
        let taken = Taken::of(values.iter().filter(|v| !is_hidden(&self.path, v)), query, table);
        let mut members = self.members.borrow_mut();
        for point in &taken.points {
            table.keep(point.id, point.value);
            members.insert(point.id);
        }
        taken
    }

    /// The greatest values of a sample.
    fn take_greatest(
        &self,
        most: u32,
        values: &[PathValue<'_>],
        query: &PathQuery,
        table: &mut Table,
    ) -> Taken {
        let mut greatest: Vec<&PathValue<'_>> = values.iter().filter(|v| !is_hidden(&self.path, v)).collect();
        keep_greatest(&mut greatest, usize::try_from(most).unwrap_or(usize::MAX), number);
        let reason = greatest.iter().find_map(|v| v.value.value.as_ref().err());
        let nothing = reason.map(|reason| (reason.keyword(), reason.to_string()));
        greatest.retain(|v| number(v).is_some());
        match greatest.is_empty() {
            true => Taken { nothing, ..Taken::default() },
            false => Taken::of(greatest.into_iter(), query, table),
        }
    }
}

impl Taken {
    fn of<'a, 'b: 'a>(
        values: impl Iterator<Item = &'a PathValue<'b>>,
        query: &PathQuery,
        table: &mut Table,
    ) -> Self {
        let mut taken = Self::default();
        for v in values {
            match (&v.value.instance_id, &v.value.value) {
                (None, Err(reason)) => taken.nothing = Some((reason.keyword(), reason.to_string())),
                (_, value) => {
                    let Some(id) = table.of(v, query.birth(v)) else { continue };
                    let status = value.as_ref().map_or_else(NoValue::keyword, |_| "");
                    taken.points.push(Point { id, value: number(v), status });
                }
            }
        }
        taken
    }
}

/// Whether a value is not shown: the path asked for counters by a pattern, and this system never has that one.
pub fn is_hidden(path: &CounterPath, v: &PathValue<'_>) -> bool {
    v.value.counter.is_never_there() && path.counter.contains(['*', '?', '{', '!'])
}

/// What readers are shown.
fn number(v: &PathValue<'_>) -> Option<f64> {
    v.value.value.as_ref().ok().map(|value| value.nocap()).filter(|value| value.is_finite())
}

/// A request that somebody looks at, and who.
#[derive(Debug)]
pub struct Feed {
    /// What is asked, and the path that it is of.
    pub asks: Vec<(Ask, Rc<Watch>)>,
    pub viewers: Vec<Viewer>,
    /// Of what its viewers were told, and by which ask they get it.
    known: HashSet<(SeriesId, usize)>,
    /// What a new viewer got last, and for which sample and time.
    before: Option<((u64, i64), Bytes)>,
}

/// What the paths gave in a sample.
#[derive(Debug)]
pub struct Sample<'a, 'v> {
    pub time: i64,
    /// By position in the query, of what is kept.
    pub taken: &'a [Taken],
    /// By position in the query.
    pub values: &'a [&'a [PathValue<'v>]],
    pub query: &'a PathQuery,
}

impl Feed {
    pub fn new(asks: Vec<(Ask, Rc<Watch>)>) -> Self {
        Self { asks, viewers: Vec::new(), known: HashSet::new(), before: None }
    }

    /// Sends a sample to all viewers; those that are gone or too slow are not viewers any more.
    pub fn send(&mut self, sample: &Sample<'_, '_>, table: &mut Table, unread: &Unread) {
        self.before = None;
        let is_too_much = unread.is_too_much();
        let events = unread.hold(self.events(sample, table));
        self.viewers.retain(|viewer| match is_too_much && viewer.has_unread() {
            true => viewer.cut_off(),
            false => viewer.send(events.clone()),
        });
    }

    /// The events of a sample.
    fn events(&mut self, sample: &Sample<'_, '_>, table: &mut Table) -> Vec<u8> {
        let (mut ids, mut values, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let (mut news, mut nothing) = (Vec::new(), Vec::new());
        let mut sent = HashSet::new();
        let nobody = Taken::default();
        for (at, (ask, watch)) in self.asks.iter().enumerate() {
            let position = watch.position.get();
            let taken = match ask.top {
                None => Cow::Borrowed(sample.taken.get(position).unwrap_or(&nobody)),
                Some(most) => {
                    let values = sample.values.get(position).copied().unwrap_or_default();
                    Cow::Owned(watch.take_greatest(most, values, sample.query, table))
                }
            };
            for point in &taken.points {
                if self.known.insert((point.id, at)) {
                    comma(&mut news);
                    table.tell(point.id, at, &mut news);
                }
                if !sent.insert(point.id) {
                    continue;
                }
                comma(&mut ids);
                write(&mut ids, format_args!("{}", point.id));
                comma(&mut values);
                push_number(&mut values, point.value);
                if point.value.is_none() {
                    comma(&mut missing);
                    write(&mut missing, format_args!("\"{}\":\"{}\"", point.id, point.status));
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
        if self.known.len() > sent.len().saturating_mul(4).saturating_add(64) {
            // Whoever is told of a series once more learns nothing new.
            self.known.retain(|(id, _)| sent.contains(id));
        }
        let mut out = Vec::new();
        push_series(&mut out, &news);
        write(&mut out, format_args!("event: sample\nid: {0}\ndata: {{\"time\":{0},\"ids\":[", sample.time));
        out.extend_from_slice(&ids);
        out.extend_from_slice(b"],\"values\":[");
        out.extend_from_slice(&values);
        out.push(b']');
        for (name, parts, begin, end) in [("missing", missing, b'{', b'}'), ("nothing", nothing, b'[', b']')]
        {
            if !parts.is_empty() {
                write(&mut out, format_args!(",\"{name}\":"));
                out.push(begin);
                out.extend_from_slice(&parts);
                out.push(end);
            }
        }
        out.extend_from_slice(b"}\n\n");
        out
    }

    /// What a new viewer is told first: the series, and their values since a time.
    ///
    /// # Errors
    /// If too much waits for readers already.
    pub fn begin(
        &mut self,
        since: i64,
        sample: u64,
        table: &Table,
        unread: &Unread,
    ) -> Result<Bytes, Problem> {
        if let Some((key, bytes)) = &self.before {
            if *key == (sample, since) {
                return Ok(bytes.clone());
            }
        }
        let mut kept = BTreeSet::new();
        for (at, (_, watch)) in self.asks.iter().enumerate().filter(|(_, (ask, _))| ask.top.is_none()) {
            for id in watch.members.borrow().iter().copied().filter(|id| table.has(*id)) {
                self.known.insert((id, at));
                kept.insert(id);
            }
        }
        let mut known: Vec<_> = self.known.iter().copied().collect();
        known.sort_unstable_by_key(|(id, at)| (*at, *id));
        let (mut series, mut out) = (Vec::new(), Vec::new());
        for (id, at) in known.into_iter().filter(|(id, _)| table.has(*id)) {
            comma(&mut series);
            table.tell(id, at, &mut series);
        }
        push_series(&mut out, &series);
        let most = HISTORY_LEN_MOST.checked_div(kept.len()).unwrap_or(0);
        let samples = table.samples_after(since, most);
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

fn push_series(out: &mut Vec<u8>, series: &[u8]) {
    if !series.is_empty() {
        out.extend_from_slice(b"event: series\ndata: {\"series\":[");
        out.extend_from_slice(series);
        out.extend_from_slice(b"]}\n\n");
    }
}

fn push_history(out: &mut Vec<u8>, ids: &BTreeSet<SeriesId>, samples: &[(u64, i64)], table: &Table) {
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

/// Writes things with commas between them.
fn list<T>(out: &mut Vec<u8>, things: impl Iterator<Item = T>, one: impl Fn(&mut Vec<u8>, T)) {
    for (at, thing) in things.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        one(out, thing);
    }
}

/// Separates what is there from what comes.
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
