//! Sampler of the server: a thread that takes a sample of all requested counter paths once an interval, for all
//! clients.

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use bytes::Bytes;
use perfset::output::{MachineValues, Output, OutputSample};
use perfset::path::{CounterPath, PathQuery, PathValue, resolve};
use perfset::{CostClass, Machine};
use perfset_export::{Exporter, ExpositionFormat};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::answer::ApiError;
use crate::error::ServeError;
use crate::limits::Limits;
use crate::log::{LogSpan, ServedLog};
use crate::overview::{Chart, ChartKind};
use crate::request::{PathRequest, RangeRequest, ReportRequest, TableRequest, TimeRange};
use crate::stream::{StreamBody, queue};
use crate::unread::UnreadBytes;

mod feed;
mod findings;
mod past;
mod processor_time;
mod range;
mod readings;
mod report;
mod series;
mod table;
#[cfg(test)]
mod tests;

use feed::{Feed, PathPoints, Sample, WatchedPath};
use findings::FindingsCollector;
pub use past::PastLog;
use past::has_no_past;
use processor_time::processor_time;
use readings::PendingReading;
use report::SavedReport;
use series::SeriesTable;
use table::{KeptTable, TableAsk};

/// Time for which a counter path without viewers is still collected, so that a returning client misses nothing.
const LINGER: Duration = Duration::from_secs(300);
/// Maximum number of counter paths that are collected without viewers.
const LINGERING_MOST: usize = 64;
/// Maximum number of jobs that wait for the collecting thread.
const JOBS_MOST: usize = 256;
/// Maximum number of values in the response to a single request.
const ANSWER_LEN_MOST: usize = 10_000;
/// Minimum limit of the processor time that a sample may take, however short the interval is.
const LEAST_BUDGET: Duration = Duration::from_millis(100);
/// Reason for ending the newest streams, if a sample of all streams would take longer than the interval.
const TOO_MUCH: &str = "more is asked for than one interval is enough for: those that came last get no more";
/// Minimum time between two returns of freed memory to the system: half of the usual interval, so that one follows
/// each sample.
const TIDY_PAUSE: Duration = Duration::from_millis(500);
/// Maximum time for which the server sends nothing on an event stream.
// The HTML standard recommends a comment about every 15 seconds, because some proxies end a connection that
// is silent for too long.
const SILENCE: Duration = Duration::from_secs(15);

/// Job of the server's collecting thread: a function that it runs between samples.
pub type Job = Box<dyn FnOnce(&mut Sampler) + Send>;

/// Response to a single request: JSON or an error.
type Answer = Result<Bytes, ApiError>;

/// Handle that sends jobs to the server's collecting thread.
#[derive(Clone, Debug)]
pub struct Handle {
    jobs: SyncSender<Job>,
}

impl Handle {
    /// Creates a handle of the collecting thread, and the receiver of its jobs.
    pub fn new() -> (Self, Receiver<Job>) {
        let (jobs, receiver) = sync_channel(JOBS_MOST);
        (Self { jobs }, receiver)
    }

    /// Runs a job on the collecting thread, unless the client is gone by then, and returns its result.
    pub async fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Sampler) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let (sender, answer) = oneshot::channel();
        // Clients that request much and disconnect would otherwise keep the thread busy for the others.
        self.send(move |sampler| match sender.is_closed() {
            true => {}
            false => drop(sender.send(job(sampler))), // who asked may be gone in the meantime
        })?;
        answer.await.map_err(|_| ApiError::busy())
    }

    /// Returns the values of counter paths as JSON: the current ones, or those of a time in a log.
    pub async fn values(&self, paths: Vec<CounterPath>, at: Option<String>) -> Answer {
        let (sender, answer) = oneshot::channel();
        self.send(move |sampler| match sender.is_closed() {
            true => {} // reading for a client that is gone would keep the others waiting
            false => sampler.read(paths, at.as_deref(), sender),
        })?;
        answer.await.map_err(|_| ApiError::busy())?
    }

    /// Returns a table for a client: the current one, or that of a time in a log. Command lines are left out unless
    /// the client may see them.
    pub async fn table(&self, request: TableRequest, with_command_lines: bool) -> Answer {
        let (sender, answer) = oneshot::channel();
        self.send(move |sampler| match sender.is_closed() {
            true => {} // as for values
            false => sampler.read_table(TableAsk { request, with_command_lines }, sender),
        })?;
        answer.await.map_err(|_| ApiError::busy())?
    }

    /// Returns the values in a range of a log, as a response for a client.
    pub async fn range(&self, request: RangeRequest) -> Answer {
        self.ask(move |sampler| sampler.range(&request)).await?
    }

    /// Returns a report about a range of a log, as a file for a client.
    pub async fn report(&self, request: ReportRequest) -> Result<SavedReport, ApiError> {
        self.ask(move |sampler| sampler.report(&request)).await?
    }

    /// Returns the findings of the machine as JSON, or those of a time in a log.
    pub async fn findings(&self, at: Option<String>) -> Answer {
        let (sender, answer) = oneshot::channel();
        self.send(move |sampler| match sender.is_closed() {
            true => {} // as for values
            false => sampler.find(at.as_deref(), sender),
        })?;
        answer.await.map_err(|_| ApiError::busy())?
    }

    /// Queues a job for the server's collecting thread.
    pub fn send(&self, job: impl FnOnce(&mut Sampler) + Send + 'static) -> Result<(), ApiError> {
        self.jobs.try_send(Box::new(job)).map_err(|_| ApiError::busy())
    }

    /// Ends the collecting thread, and with it all streams, for a reason that clients receive.
    pub fn end(&self, reason: &'static str) {
        let end = move |sampler: &mut Sampler| {
            sampler.is_stopped = true;
            sampler.past.iter().for_each(|past| past.end(reason));
        };
        // A thread with a full queue ends when the last handle is dropped.
        let _ = self.jobs.try_send(Box::new(end));
    }

    /// Ends the collecting thread, and with it all streams.
    pub fn stop(&self) {
        // A thread with a full queue ends when the last handle is dropped.
        let _ = self.jobs.try_send(Box::new(|sampler| sampler.is_stopped = true));
    }
}

/// Event streams of all clients, to which a sample is sent.
struct Streams<'s> {
    watches: &'s [Rc<WatchedPath>],
    feeds: &'s mut HashMap<Vec<PathRequest>, Feed>,
    table: &'s mut SeriesTable,
    unread: &'s UnreadBytes,
    /// Processor time of the thread at the start of the sample.
    began: Duration,
    /// Maximum processor time that the sample may take.
    most: Duration,
}

impl Output for Streams<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let Self { watches, feeds, table, unread, began, most } = self;
        let [MachineValues { values: all, query: Some(query), .. }] = sample.machines else {
            return Err(io::Error::other("a stream needs the values of one query"));
        };
        table.begin(sample.clocks);
        let mut values: Vec<&[PathValue<'_>]> = vec![&[]; watches.len()];
        // Values arrive ordered by path, so each path's values are one slice and need no copy.
        for of_path in all.chunk_by(|a, b| a.path == b.path) {
            let place = of_path.first().and_then(|v| values.get_mut(v.path));
            place.into_iter().for_each(|place| *place = of_path);
        }
        let take = |(watch, values): (&Rc<WatchedPath>, &&[PathValue<'_>])| match watch.is_kept {
            true => watch.take(values, query, table),
            false => PathPoints::default(),
        };
        let points: Vec<_> = watches.iter().zip(&values).map(take).collect();
        let queries = vec![*query; watches.len()];
        let time = sample.clocks.unix_ms();
        let sample = Sample { time, points: &points, values: &values, queries: &queries };
        // The oldest first: if too many bytes wait in the end, or sending takes too long, only the newest clients
        // receive no more. All clients that arrive between two samples are admitted, because their cost is not known
        // yet.
        let mut feeds: Vec<_> = feeds.values_mut().collect();
        feeds.sort_unstable_by_key(|feed| feed.number);
        for (at, feed) in feeds.into_iter().enumerate() {
            // The oldest feed is served in any case: a machine that is too slow for every feed must not end
            // all of them.
            match at > 0 && processor_time().saturating_sub(*began) > *most {
                true => feed.viewers.drain(..).for_each(|viewer| viewer.end(TOO_MUCH)),
                false => feed.send(&sample, table, unread),
            }
        }
        Ok(())
    }
}

/// Sampler of the server: the collected counter paths, and the clients that receive their values.
pub struct Sampler {
    pub machine: Machine,
    query: PathQuery,
    /// Watched counter paths, by their index in the query.
    watches: Vec<Rc<WatchedPath>>,
    feeds: HashMap<Vec<PathRequest>, Feed>,
    /// Id that the next feed, which serves one stream request, gets.
    next_feed: u64,
    table: SeriesTable,
    readings: Vec<PendingReading>,
    /// Queries of tables that were collected a short time ago.
    tables: Vec<KeptTable>,
    findings: FindingsCollector,
    exporter: Exporter,
    unread: UnreadBytes,
    /// Unread bytes of scrapes, counted separately: scrapes continue while other clients do not read.
    unread_scrapes: UnreadBytes,
    /// Time at which freed memory was last returned to the system.
    tidied: Instant,
    interval: Duration,
    limits: Limits,
    samples: u64,
    /// Processor time that the last sample of the streams took.
    took: Duration,
    /// Counter paths that are always collected.
    pinned: Vec<Rc<WatchedPath>>,
    /// Time at which the server last sent data to all clients.
    last_sent: Instant,
    is_stopped: bool,
    /// Log that the server shows instead of the machine.
    past: Option<PastLog>,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler").field("watches", &self.watches).finish_non_exhaustive()
    }
}

/// Numbers that describe the current state of the sampler.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SamplerStats {
    /// Number of series that the sampler knows.
    pub series: usize,
    /// Number of values of the last sample for whose series there was no space.
    pub series_refused: usize,
    /// Number of counter paths that are collected.
    pub paths: usize,
    /// Number of different stream requests that have viewers.
    pub requests: usize,
    /// Number of viewers of all stream requests.
    pub viewers: usize,
    /// Number of samples that the sampler has taken so far.
    pub samples: u64,
}

/// Starts the server's thread that collects samples, or that reads a log.
///
/// # Errors
/// If the system cannot create a thread, or the machine cannot be queried.
pub fn start(
    (machine, log): (Machine, Option<(ServedLog, LogSpan)>),
    exporter: Exporter,
    charts: Vec<Chart>,
    interval: Duration,
    limits: Limits,
    unread: UnreadBytes,
) -> std::io::Result<(Handle, JoinHandle<()>)> {
    let (handle, receiver) = Handle::new();
    let (sender, started) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(move || {
        match Sampler::new(machine, exporter, &charts, interval, limits, unread) {
            Ok(mut sampler) => {
                sampler.past = log.map(|(served, span)| PastLog::new(served, span));
                let _ = sender.send(Ok(())); // who started us waits
                sampler.run(&receiver);
            }
            Err(problem) => drop(sender.send(Err(std::io::Error::other(problem.error)))),
        }
    })?;
    let ended = |_| Err(std::io::Error::other("the collecting thread ended at its start"));
    started.recv().unwrap_or_else(ended)?;
    Ok((handle, thread))
}

impl Sampler {
    pub fn new(
        mut machine: Machine,
        exporter: Exporter,
        charts: &[Chart],
        interval: Duration,
        limits: Limits,
        unread: UnreadBytes,
    ) -> Result<Self, ApiError> {
        let mut query = PathQuery::open(&mut machine)?;
        query.leave_out_above(CostClass::Moderate);
        let too_long = |error: ServeError| ApiError::new(StatusCode::BAD_REQUEST, error.to_string());
        let table = SeriesTable::new(limits.series, limits.depth(interval).map_err(too_long)?);
        let mut sampler = Self {
            machine,
            query,
            watches: Vec::new(),
            feeds: HashMap::new(),
            next_feed: 0,
            table,
            readings: Vec::new(),
            tables: Vec::new(),
            findings: FindingsCollector::default(),
            exporter,
            unread,
            unread_scrapes: UnreadBytes::new(limits.unread_scrapes),
            tidied: Instant::now(),
            interval,
            limits,
            samples: 0,
            took: Duration::ZERO,
            pinned: Vec::new(),
            last_sent: Instant::now(),
            is_stopped: false,
            past: None,
        };
        for path in charts.iter().filter(|chart| chart.kind != ChartKind::Rank).flat_map(|chart| &chart.paths)
        {
            // A path may have disappeared since the charts were created.
            if let Ok(path) = path.parse() {
                let watch = sampler.watch(&path, true);
                sampler.pinned.extend(watch);
            }
        }
        Ok(sampler)
    }

    fn run(mut self, jobs: &Receiver<Job>) {
        let mut next = Instant::now();
        while !self.is_stopped {
            let now = Instant::now();
            if now >= next {
                // Jobs wait for the sample, and not the sample for jobs: otherwise clients could delay it.
                self.sample(now);
                self.tidy(now);
                while next <= now {
                    // Missed samples are not taken later.
                    next = next.checked_add(self.interval).unwrap_or(now);
                    // An interval of zero does not advance, and this loop would never end.
                    if self.interval.is_zero() {
                        break;
                    }
                }
            }
            self.finish_readings(Instant::now());
            self.findings.collect_due(Instant::now(), &self.unread);
            let silence = self.last_sent.checked_add(SILENCE).unwrap_or(next);
            let until = self.readings.iter().map(|reading| reading.due).min();
            let until =
                until.into_iter().chain(self.findings.due()).chain([next, silence]).min().unwrap_or(next);
            match jobs.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(job) => {
                    self.refresh();
                    job(&mut self);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= silence => self.break_silence(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        for viewer in self.feeds.values().flat_map(|feed| &feed.viewers) {
            viewer.end("the server ends");
        }
    }

    /// Adds a viewer to a stream request. The viewer first receives the values after its last event, or those of the
    /// last `history_ms` milliseconds.
    pub fn join(
        &mut self,
        asks: &[PathRequest],
        range: &TimeRange,
        last: Option<i64>,
        history_ms: i64,
    ) -> Result<StreamBody, ApiError> {
        if let Some(past) = &mut self.past {
            return past.join(asks, range, last, history_ms, (&self.limits, &self.unread));
        }
        has_no_past(range.begin.as_ref().or(range.end.as_ref()))?;
        let since = last.or_else(|| self.table.last_time().map(|time| time.saturating_sub(history_ms)));
        let since = since.unwrap_or(i64::MAX);
        if !self.feeds.contains_key(asks) {
            self.has_time()?; // what is asked by nobody else is written for this one alone
            let mut bound = Vec::new();
            for ask in asks {
                let watch = self.watch(&ask.path, ask.top.is_none())?;
                watch.has_sums.set(watch.has_sums.get() || ask.sum);
                bound.push((ask.clone(), watch));
            }
            self.feeds.insert(asks.to_vec(), Feed::new(self.next_feed, bound));
            self.next_feed = self.next_feed.saturating_add(1);
        }
        let (viewer, events) = queue();
        if let Some(feed) = self.feeds.get_mut(asks) {
            // If this fails, the feed has no viewer, and the next sample removes it.
            viewer.send(feed.begin(since, self.samples, &self.table, &self.unread)?);
            feed.viewers.push(viewer);
        }
        Ok(events)
    }

    /// Returns the current metrics of some collectors or countersets as Prometheus text; all if `names` is empty.
    pub fn scrape(&mut self, format: ExpositionFormat, names: &[String]) -> Result<Bytes, ApiError> {
        if self.past.is_some() {
            return Err(past::no_metrics());
        }
        let mut text = Vec::new();
        let part = match names {
            [] => None,
            names => Some(self.exporter.selection(names).map_err(|known| {
                let names = names.join(", ");
                let text = format!("a name in collect[]={names} is that of no collector or counterset");
                ApiError::new(StatusCode::BAD_REQUEST, text).hint(format!("known names: {known}"))
            })?),
        };
        self.exporter.scrape_selected(format, part.as_ref(), &mut text)?;
        self.unread_scrapes.take(text)
    }

    /// Returns numbers that describe the current state of the sampler.
    pub fn state(&self) -> SamplerStats {
        if let Some(past) = &self.past {
            return past.state();
        }
        SamplerStats {
            series: self.table.len(),
            series_refused: self.table.refused(),
            paths: self.watches.len(),
            requests: self.feeds.len(),
            viewers: self.feeds.values().map(|feed| feed.viewers.len()).fold(0, usize::saturating_add),
            samples: self.samples,
        }
    }

    /// Returns the times of the log's first and last sample in milliseconds since 1970, if the server shows a log.
    pub fn log_limits_ms(&self) -> Option<[i64; 2]> {
        self.past.as_ref().map(PastLog::limits_ms).map(<[i64; 2]>::from)
    }

    /// Returns sentences about data of the machine that is not shown: parts of countersets that do not fit the other
    /// parts, and other users' published data beyond the limits.
    pub fn not_shown(&self) -> Vec<String> {
        let parts = self.machine.left_out().into_iter().map(|(_, why)| why);
        parts.chain(self.machine.not_shown(None)).map(|text| text.to_string()).collect()
    }

    /// Returns the number of bytes of responses and events that wait to be read by clients, without those of scrapes.
    pub fn unread(&self) -> usize {
        self.unread.waiting()
    }

    /// Returns the watched path of a counter path, which is the same for all requests. A new path is collected from
    /// the next sample on.
    fn watch(&mut self, path: &CounterPath, is_kept: bool) -> Result<Rc<WatchedPath>, ApiError> {
        // A path whose greatest values are requested is collected separately, because its values are not
        // stored.
        let known = self.watches.iter().find(|watch| watch.is_kept == is_kept && watch.path == *path);
        if let Some(watch) = known {
            return Ok(Rc::clone(watch));
        }
        on_this_machine(path)?;
        // A path that is watched already costs nothing more, so it is never refused.
        self.has_time()?;
        if self.watches.len() >= self.limits.paths {
            let text = format!("{} different paths are looked at, and no more can be", self.limits.paths);
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text));
        }
        // Resolved first: if that fails, the query has no path without a watch.
        let resolved = resolve(&mut self.machine, path)?;
        let position = self.query.add(&mut self.machine, path)?;
        let watch = Rc::new(WatchedPath::new(path, is_kept, position, &resolved, &self.table));
        self.watches.push(Rc::clone(&watch));
        Ok(watch)
    }

    /// Returns an error if the last sample took more than half of the interval, so that no time is left for more
    /// counter paths.
    fn has_time(&self) -> Result<(), ApiError> {
        // Findings are collected so seldom that they take at most this share of the time.
        let findings =
            self.findings.cost().min(self.interval.checked_div(findings::COST_SHARE).unwrap_or_default());
        let took = self.took.saturating_add(findings);
        if took.saturating_mul(2) <= self.interval {
            return Ok(());
        }
        let text = format!("a sample takes {took:?} already: nothing else can be looked at");
        Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text).hint("--interval gives it more time"))
    }

    /// Opens the shown log again if it has grown, before a request is answered from it.
    fn refresh(&mut self) {
        let Some(past) = &mut self.past else { return };
        if past.refresh(Instant::now(), &self.limits) {
            self.machine = past.machine().clone();
        }
    }

    /// Takes a sample of all watched counter paths, and sends it to the clients.
    pub fn sample(&mut self, now: Instant) {
        if let Some(past) = &mut self.past {
            if past.look(now, &self.limits, &self.unread) {
                self.machine = past.machine().clone();
            }
            return;
        }
        // Before the streams: a client that asks when it gets a sample receives findings of the same time.
        self.findings.sample(now, self.interval, &self.unread);
        let began = processor_time();
        // The order matters. A path is idle once no feed refers to it. Streams that are cut off free their
        // memory before this sample needs some.
        self.feeds.retain(|_, feed| {
            feed.viewers.retain(|viewer| !viewer.is_gone());
            !feed.viewers.is_empty()
        });
        self.cut_off_slowest();
        self.drop_idle(now);
        if self.watches.is_empty() || self.query.collect().is_err() {
            return; // an error is that there is nothing to deliver at all
        }
        let Self { query, table, watches, feeds, unread, .. } = self;
        let values = query.values();
        let machine = [MachineValues::new(&values).of_query(query)];
        let most = self.interval.max(LEAST_BUDGET);
        let mut streams = Streams { watches, feeds, table, unread, began, most };
        // Streams wait for their clients and not for a file: they have no error.
        let _ = streams.sample(&OutputSample::new(query.snapshot().clocks(), &machine));
        self.samples = self.samples.saturating_add(1);
        self.last_sent = now;
        self.took = processor_time().saturating_sub(began);
    }

    /// Ends streams while too many bytes wait to be read, beginning with the streams with the most waiting events.
    fn cut_off_slowest(&mut self) {
        if !self.unread.is_too_much() {
            return;
        }
        let viewers = self.feeds.values().flat_map(|feed| &feed.viewers);
        let mut behind: Vec<_> = viewers.map(|viewer| (viewer.behind(), viewer)).collect();
        // Those who read regularly must not lose their stream because others do not.
        behind.sort_by_key(|(behind, _)| std::cmp::Reverse(*behind));
        for (_, viewer) in behind.iter().take_while(|((events, _), _)| *events > 0) {
            if !self.unread.is_too_much() {
                break;
            }
            viewer.cut_off();
        }
    }

    /// Returns freed memory to the system after a sample. After a burst of long responses the allocator holds large
    /// free chunks. It uses them for all later mappings: each sample makes them resident again.
    fn tidy(&mut self, now: Instant) {
        if now.saturating_duration_since(self.tidied) >= TIDY_PAUSE {
            self.tidied = now;
            #[cfg(target_os = "linux")]
            perfset::release_memory();
        }
    }

    /// Stops collecting counter paths that have had no viewer for long enough.
    fn drop_idle(&mut self, now: Instant) {
        let mut idle: Vec<Instant> = Vec::new();
        for watch in &self.watches {
            let is_idle = Rc::strong_count(watch) == 1; // ours
            watch.idle_since.set(is_idle.then(|| watch.idle_since.get().unwrap_or(now)));
            idle.extend(watch.idle_since.get());
        }
        idle.sort_unstable();
        // Beyond the limit, the paths that have been idle longest go first.
        let crowded = idle.len().checked_sub(LINGERING_MOST).and_then(|at| idle.get(at)).copied();
        let over = |watch: &WatchedPath| {
            let since = watch.idle_since.get();
            // Ranked paths have no history: a client that comes back begins again anyway.
            since.is_some_and(|since| {
                !watch.is_kept
                    || now.saturating_duration_since(since) >= LINGER
                    || crowded.is_some_and(|until| idle.len() > LINGERING_MOST && since < until)
            })
        };
        let mut at = 0;
        let query = &mut self.query;
        self.watches.retain(|watch| {
            if over(watch) {
                // Positions in the query move up with each removal, so they are assigned again below.
                query.remove(at);
                return false;
            }
            watch.position.set(at);
            at = at.saturating_add(1);
            true
        });
        for watch in &self.watches {
            for ids in [&watch.members, &watch.sums] {
                ids.borrow_mut().retain(|id| self.table.has(*id));
            }
        }
    }

    /// Sends an empty comment on all event streams, so that clients know that their stream is alive.
    fn break_silence(&mut self) {
        for feed in self.feeds.values_mut() {
            feed.viewers.retain(|viewer| viewer.send(Bytes::from_static(b":\n\n")));
        }
        self.last_sent = Instant::now();
    }

    /// Responds with the findings of the machine, which are collected then, or with those of a time in the log.
    fn find(&mut self, at: Option<&str>, answer: oneshot::Sender<Answer>) {
        if let Some(past) = &mut self.past {
            return drop(answer.send(past.findings(at, &self.unread))); // who asked may be gone
        }
        if let Err(problem) = has_no_past(at) {
            return drop(answer.send(Err(problem)));
        }
        if !self.findings.is_collecting() {
            if let Err(problem) = self.has_time() {
                return drop(answer.send(Err(problem))); // who asked may be gone
            }
        }
        self.findings.ask(&mut self.machine, self.interval, &self.unread, answer);
    }

    /// Returns the values in a range of the shown log.
    fn range(&self, request: &RangeRequest) -> Answer {
        match &self.past {
            Some(past) => past.range(request, &self.limits, &self.unread),
            None => Err(past::no_recording()),
        }
    }

    /// Returns a report about a range of the shown log.
    fn report(&self, request: &ReportRequest) -> Result<SavedReport, ApiError> {
        match &self.past {
            Some(past) => past.report(request, &self.unread),
            None => Err(past::no_recording()),
        }
    }
}

/// Returns an error if a counter path names another machine.
fn on_this_machine(path: &CounterPath) -> Result<(), ApiError> {
    let refused = |error: perfset::SourceError| ApiError::new(StatusCode::BAD_REQUEST, error.to_string());
    perfset::is_local(path.machine.as_deref()).map_err(refused)
}
