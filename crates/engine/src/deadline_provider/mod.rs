//! Providers that can take long: they run on threads that wait, with a deadline.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use perfset_core::{Guid, Identity, Mark, NoValue, Status, Text};

use crate::deadline::Deadline;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::provider::{Catalogue, Change, CollectRequest, Provider};
use crate::rows::{CellState, Rows};
use crate::waiters::{self, Kind};
use requests::{
    CachedValues, FactRequest, OwnedRequest, PendingRequest, ReplyBody, WorkerReply, WorkerRequest,
};
use worker::Work;

mod requests;
mod worker;

/// Provider that runs another provider on one of the [threads that wait](crate::waiters), and waits for it no longer
/// than a deadline.
///
/// If the provider is late, its last values are delivered, marked with their age ([`Mark::Stale`]). A counter that
/// was not requested then has [`NoValue::Late`]. If the last values do not cover all requested instances, the
/// counterset is late ([`SourceError::Late`]). Values that arrive later are there for the next collection. The
/// provider never works on two requests at a time: a request sent while it is busy waits behind the others, and equal
/// ones wait once.
///
/// A provider that hangs is not waited for long. A request without a response for one and a half deadlines is not
/// waited for again until the response comes. Neither is a request that took longer than the deadline the last time.
///
/// The provider's own [`begin`](Provider::begin) is never called: a request is sent to the thread when it is
/// announced, and the thread may wait. A provider that starts several requests of its own at once does so in `collect`.
///
/// A panic of the provider fails that call only; the thread continues.
#[derive(Debug)]
pub struct DeadlineProvider {
    requests: Sender<WorkerRequest>,
    work: Arc<Work>,
    answers: Receiver<WorkerReply>,
    deadline: Duration,
    /// Deadline of the machine, which covers all sources of a collection together; `None` if this provider has its
    /// own.
    shared: Option<Deadline>,
    /// Requests to the wrapped provider that have no response yet, in the order of sending.
    out: VecDeque<PendingRequest>,
    /// Number of requests to the wrapped provider that already have a response.
    answered: u64,
    /// Time at which the provider began the first of the open requests.
    busy_since: Instant,
    /// Collections that were announced and not collected yet.
    collections: Vec<Begun>,
    catalogue: Result<Arc<Catalogue>, SourceError>,
    /// Instances of each counterset in its last enumeration.
    names: HashMap<Guid, Rows>,
    /// Last values of each counterset: one response for each different request, the newest last.
    values: HashMap<Guid, VecDeque<CachedValues>>,
    /// Last texts of the provider about how it collects its values.
    about: Vec<(Text, Text)>,
    /// Last texts of the provider about data that it cannot use.
    problems: Vec<Text>,
    /// Last origin of each counterset's values; `None` if it does not differ from the catalogue's.
    origins: HashMap<Guid, Option<Text>>,
    /// Last texts of the provider about data that it does not deliver, of one counterset or of all.
    not_shown: HashMap<Option<Guid>, Vec<Text>>,
    /// Last problems of the provider that concern a counterset.
    left_out: Vec<(Guid, Text)>,
    /// Facts of the provider's last response to a request for facts, with their instance.
    facts: Option<(Arc<FactRequest>, Vec<Fact>)>,
}

/// Collection that was announced and not collected yet.
#[derive(Debug)]
struct Begun {
    collection: u64,
    request: Arc<OwnedRequest>,
    /// Number of the request whose response the collection waits for.
    number: u64,
    until: Instant,
    /// Result of the collection's request; `None` if there is no response yet, or if the request was sent for another
    /// collection.
    outcome: Option<Result<Status, SourceError>>,
    /// `true` if the request was sent for this collection, not for an earlier one.
    is_own: bool,
}

/// Maximum number of different requests per counterset whose last values are stored.
const SHAPES: usize = 8;

impl DeadlineProvider {
    /// Wraps a provider, and waits no longer than the deadline for its first catalogue.
    #[must_use]
    pub fn new(provider: Box<dyn Provider>, deadline: Duration) -> Self {
        let mut slow = Self::idle(provider, deadline.min(Deadline::MOST), None);
        let _ = slow.ask(WorkerRequest::Catalogue, true);
        slow
    }

    /// Wraps a provider, with the deadline that it shares with the other sources of its machine. No request is sent
    /// yet.
    #[must_use]
    pub fn sharing(provider: Box<dyn Provider>, deadline: &Deadline) -> Self {
        Self::idle(provider, deadline.length(), Some(deadline.clone()))
    }

    fn idle(provider: Box<dyn Provider>, deadline: Duration, shared: Option<Deadline>) -> Self {
        let (requests, inbox) = channel::<WorkerRequest>();
        let (outbox, answers) = channel();
        Self {
            requests,
            work: Arc::new(Work::new(provider, inbox, outbox)),
            answers,
            deadline,
            shared,
            out: VecDeque::new(),
            answered: 0,
            busy_since: Instant::now(),
            collections: Vec::new(),
            catalogue: Err(SourceError::Late),
            names: HashMap::new(),
            values: HashMap::new(),
            about: Vec::new(),
            problems: Vec::new(),
            origins: HashMap::new(),
            not_shown: HashMap::new(),
            left_out: Vec::new(),
            facts: None,
        }
    }

    /// Returns the time that the oldest request has been without a response, if that is longer than the deadline.
    #[must_use]
    pub fn late_for(&mut self) -> Option<Duration> {
        self.take_answers();
        let waited = self.busy_since.elapsed();
        (!self.out.is_empty() && waited > self.deadline).then_some(waited)
    }

    /// Waits until the wrapped provider is not busy, and sends it a request. If the provider stays busy, the request
    /// waits behind the others, unless an equal request does. If `is_patient`, waits for the response until the
    /// deadline. Returns the outcome of the request, `None` if there is no response yet.
    fn ask(&mut self, request: WorkerRequest, is_patient: bool) -> Option<Result<Status, SourceError>> {
        // The time of the wait is taken from the budget of the machine when it is dropped.
        let shared = self.shared.as_ref().filter(|_| is_patient).map(Deadline::wait);
        let until = match &shared {
            Some(wait) => wait.until(),
            None if is_patient => self.until(),
            None => Instant::now(),
        };
        self.take_answers();
        if !self.out.is_empty() && self.wait(until).is_none() {
            let question = request.question();
            if !self.out.iter().any(|out| out.is_like(&question)) {
                self.send(request);
            }
            return None;
        }
        self.send(request);
        self.wait(until)
    }

    /// Returns `true` if the last catalogue of the wrapped provider has that counterset.
    fn has(&self, counterset: &Guid) -> bool {
        self.catalogue.as_ref().is_ok_and(|last| last.countersets.iter().any(|set| set.guid == *counterset))
    }

    fn until(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.deadline).unwrap_or(now)
    }

    /// Sends a request to the wrapped provider, behind the requests that are still open.
    fn send(&mut self, request: WorkerRequest) {
        if self.out.is_empty() {
            self.busy_since = Instant::now();
        }
        self.out.push_back(request.question());
        // The inbox lives as long as `work`, which is held here.
        let _ = self.requests.send(request);
        if self.work.waiting.fetch_add(1, AcqRel) == 0 {
            let work = Arc::clone(&self.work);
            waiters::run(Kind::Device, move || work.work());
        }
    }

    /// Returns the number of the request that was sent last to the wrapped provider.
    fn sent(&self) -> u64 {
        self.answered.saturating_add(u64::try_from(self.out.len()).unwrap_or(u64::MAX))
    }

    /// Stores responses of the wrapped provider that came too late for their requests.
    fn take_answers(&mut self) {
        while let Ok(answer) = self.answers.try_recv() {
            let _ = self.keep(answer);
        }
    }

    /// Waits, at most until the time `until`, for responses of the wrapped provider to all requests. Returns the
    /// outcome of the last request, `None` if there is no response yet.
    fn wait(&mut self, until: Instant) -> Option<Result<Status, SourceError>> {
        self.wait_for(self.sent(), until)
    }

    /// Waits, at most until the time `until`, for the response of the wrapped provider to the request of that number.
    /// Returns the request's outcome, `None` if there is no response yet.
    fn wait_for(&mut self, number: u64, until: Instant) -> Option<Result<Status, SourceError>> {
        // A provider may still be busy with an earlier request, so its time is measured from there. One and a
        // half deadlines let two requests in a row succeed.
        let most = self.deadline.saturating_add(self.deadline.checked_div(2).unwrap_or_default());
        loop {
            let until = self.busy_since.checked_add(most).map_or(until, |most| until.min(most));
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(answer) => {
                    let came = self.keep(answer);
                    if self.answered >= number {
                        return Some(came);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = SourceError::Failed("the provider has no thread".into());
                    self.catalogue = Err(ended.clone());
                    return Some(Err(ended));
                }
            }
        }
    }

    /// Stores a response of the wrapped provider. A failed response leaves the earlier values.
    fn keep(&mut self, WorkerReply { catalogue, reply, took }: WorkerReply) -> Result<Status, SourceError> {
        // Responses have the order of the requests: only one thread at a time works for a provider.
        self.out.pop_front();
        self.answered = self.answered.saturating_add(1);
        // The provider works on the next request from now on.
        self.busy_since = Instant::now();
        self.catalogue = catalogue;
        let came = reply.map(|reply| self.take_over(reply, took > self.deadline));
        for begun in self.collections.iter_mut().filter(|begun| begun.is_own && begun.number == self.answered)
        {
            begun.outcome = Some(came.clone());
        }
        came
    }

    fn take_over(&mut self, reply: ReplyBody, was_late: bool) -> Status {
        match reply {
            ReplyBody::Status(status) => return status,
            ReplyBody::Names(set, rows) => {
                self.names.insert(set, rows);
            }
            ReplyBody::About(about) => self.about = about,
            ReplyBody::Problems(problems) => self.problems = problems,
            ReplyBody::Origin(set, origin) => {
                self.origins.insert(set, origin);
            }
            ReplyBody::NotShown(set, texts) => {
                self.not_shown.insert(set, texts);
            }
            ReplyBody::LeftOut(left_out) => self.left_out = left_out,
            ReplyBody::Facts(request, facts) => self.facts = Some((request, facts)),
            ReplyBody::Values(mut new) => {
                new.was_late = was_late;
                let kept = self.values.entry(new.request.set.guid).or_default();
                // One response per shape; the newest last, so that the oldest shape is dropped first.
                kept.retain(|old| !old.request.is_like(&new.request));
                kept.push_back(new);
                if kept.len() > SHAPES {
                    kept.pop_front();
                }
            }
        }
        Status::ERROR_SUCCESS
    }

    /// Sends the request of a collection behind the requests that are still open, unless an equal request is open
    /// already.
    fn begin_until(&mut self, want: &CollectRequest<'_>, until: Instant) -> Begun {
        self.take_answers();
        let request = Arc::new(OwnedRequest::new(want));
        let was_late = |kept: &VecDeque<CachedValues>| {
            kept.iter().any(|kept| kept.was_late && kept.request.is_like(&request))
        };
        // A request that was late the last time would probably be late again, and its earlier values are
        // available.
        let is_patient = !self.values.get(&want.counterset.guid).is_some_and(was_late);
        let until = if is_patient { until } else { Instant::now() };
        let question = PendingRequest::Collect(Arc::clone(&request));
        let same = self.out.iter().position(|out| out.is_like(&question));
        let number = match same {
            Some(at) => self.answered.saturating_add(u64::try_from(at).unwrap_or(0)).saturating_add(1),
            None => {
                self.send(WorkerRequest::Collect(Arc::clone(&request)));
                self.sent()
            }
        };
        let collection = want.collection;
        Begun { collection, request, number, until, outcome: None, is_own: same.is_none() }
    }

    /// Waits for a collection that was announced. Returns the collection's outcome, `None` if there is no response
    /// yet.
    fn end(&mut self, mut begun: Begun) -> Option<Result<Status, SourceError>> {
        let until = begun.until;
        if !begun.is_own && self.is_answered(begun.number, until) {
            // The request of an earlier collection has a response, which is not the one to this collection.
            self.send(WorkerRequest::Collect(Arc::clone(&begun.request)));
            (begun.number, begun.is_own) = (self.sent(), true);
        }
        let number = begun.number;
        self.collections.push(begun); // where its outcome is put, so before any more answers are taken
        let _ = self.is_answered(number, until);
        self.collections.pop()?.outcome
    }

    /// Waits until the time `until` for the response to the request `number`; returns `true` if there is a response.
    fn is_answered(&mut self, number: u64, until: Instant) -> bool {
        self.answered >= number || self.wait_for(number, until).is_some()
    }
}

/// Returns the stored values that cover all wanted instances and the most wanted counters; of several such, the
/// newest.
fn best<'a>(kept: &'a mut VecDeque<CachedValues>, want: &CollectRequest<'_>) -> Option<&'a mut CachedValues> {
    let covering = kept.iter_mut().filter(|kept| kept.request.covers(want));
    // `max_by_key` returns the last of equal ones, and the newest is last.
    covering.max_by_key(|kept| kept.request.counters_of(want))
}

impl Provider for DeadlineProvider {
    /// Returns the catalogue of the provider's last response. If there is none or it is empty, requests it again
    /// without waiting.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.take_answers();
        // Each response renews the catalogue. Without countersets there is hardly another request.
        let nothing = self.catalogue.as_ref().map_or(true, |catalogue| catalogue.countersets.is_empty());
        if nothing && self.out.is_empty() {
            self.send(WorkerRequest::Catalogue);
        }
        self.catalogue.clone()
    }

    /// Returns the instances of a counterset; if the provider is late, those of the last enumeration.
    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.ask(WorkerRequest::Instances(*counterset), true).transpose()?;
        let from = self.names.get(counterset).ok_or(SourceError::Late)?;
        for row in 0..from.len() {
            if let Some(id) = from.id(row) {
                rows.set_owner(from.owner(row));
                rows.push_units(from.name(row).units(), id, from.birth(row));
            }
        }
        Ok(())
    }

    /// Returns facts about an instance that the provider reads now. If the provider is late, there are none: those of
    /// an earlier time may be wrong.
    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let request = Arc::new(FactRequest::new(instance, options));
        let outcome = self.ask(WorkerRequest::Facts(Arc::clone(&request)), true);
        let facts = self.facts.take().filter(|(of, _)| *of == request);
        outcome.ok_or(SourceError::Late)??;
        facts.map(|(_, facts)| facts).ok_or(SourceError::Late)
    }

    /// Sends every change of query entries to the provider, in order, even if the provider is late. An entry without
    /// a response before the deadline counts as added; a removal is not waited for.
    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let shared = self.shared.as_ref().map(Deadline::wait);
        let until = shared.as_ref().map_or_else(|| self.until(), |wait| wait.until());
        // Sent even if the provider is busy: an addition waits, so the number of open requests grows by little more
        // than one each deadline.
        self.send(WorkerRequest::Entry(change, entry.clone()));
        let came = match change {
            Change::Added => self.wait(until),
            Change::Removed => None,
        };
        drop(shared);
        came.unwrap_or(Ok(Status::ERROR_SUCCESS)).unwrap_or_else(|error| error.status())
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        // Drops announcements of earlier collections that were never collected.
        self.collections.retain(|begun| begun.collection == want.collection);
        let until = if self.shared.is_some() { until } else { self.until() };
        let begun = self.begin_until(want, until);
        self.collections.push(begun);
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        // Compared completely: a request that differs from the announced one must not get its response.
        let is_this = |begun: &Begun| {
            begun.collection == want.collection
                && begun.request.set.guid == want.counterset.guid
                && begun.request.counters == want.counters
                && begun.request.filters == *want.instances
        };
        let begun = match self.collections.iter().position(is_this) {
            Some(at) => self.collections.swap_remove(at),
            // A caller that announced nothing has a whole deadline for this request alone.
            None => self.begin_until(want, self.until()),
        };
        let request = Arc::clone(&begun.request);
        let late = self.end(begun).transpose()?.is_none();
        let kept = self.values.get_mut(&want.counterset.guid).ok_or(SourceError::Late)?;
        // In time, only the response to this very request is delivered. Late, any earlier values that cover
        // the request are better than none.
        let kept = match late {
            true => best(kept, want),
            false => kept.iter_mut().rev().find(|kept| kept.request.is_like(&request)),
        };
        let kept = kept.ok_or(SourceError::Late)?;
        if late {
            rows.set_late();
        }
        // The bytes count once, for the collection that delivers the values first.
        let bytes = std::mem::take(&mut kept.uncounted);
        rows.count_bytes_read(usize::try_from(bytes).unwrap_or(usize::MAX));
        let (from, age) = (&kept.rows, kept.time.elapsed());
        if let Some(clocks) = from.clocks() {
            rows.set_clocks(clocks); // late or not, its values are of that time
        }
        let sources: Vec<_> = want.counters.iter().map(|id| from.columns().position(|c| c == *id)).collect();
        for (column, source) in sources.iter().enumerate() {
            let reason = match source {
                Some(source) => from.column_reason(*source).cloned(),
                None => Some(NoValue::Late), // not asked then
            };
            if let Some(reason) = reason {
                rows.none_in_column(column, reason);
            }
        }
        for row in 0..from.len() {
            let Some(id) = from.id(row) else { continue };
            rows.set_owner(from.owner(row));
            let mut to = rows.push_units(from.name(row).units(), id, from.birth(row));
            // Late values have their age as the only mark: other marks were true when the values were read.
            let mark = if late { Some(Mark::Stale(age)) } else { from.row_mark(row) };
            if let Some(mark) = mark {
                to.mark(mark);
            }
            for (column, source) in sources.iter().enumerate() {
                let Some(source) = *source else { continue };
                let note = from.notes(row).find(|(at, _)| *at == source).map(|(_, note)| note.clone());
                let value = from.raw(row, source);
                match (value, note) {
                    (Some(value), Some(CellState::Marked(mark))) if !late => {
                        to.set_marked(column, value.get(), mark)
                    }
                    // The start time stays also when the total is late: it is still the same count.
                    (Some(value), Some(CellState::Counted(since, mark))) => {
                        let mark = if late { Some(Mark::Stale(age)) } else { mark };
                        to.set_counted(column, value.get(), mark, since);
                    }
                    (Some(value), _) => to.set_raw(column, value),
                    (None, Some(CellState::Missing(reason))) => to.set_unavailable(column, reason),
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the provider's texts about its collection; if the provider is late, the last known texts.
    fn describe(&mut self) -> Vec<(Text, Text)> {
        let _ = self.ask(WorkerRequest::About, true); // what it said before is there all the same
        self.about.clone()
    }

    fn late(&mut self) -> Vec<Text> {
        let Some(waited) = self.late_for() else { return Vec::new() };
        let sets =
            self.catalogue.as_ref().map(|catalogue| catalogue.countersets.as_slice()).unwrap_or_default();
        let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
        vec![format!("{}: no response for {} s", names.join(", "), waited.as_secs()).into()]
    }

    /// Returns the provider's texts about data that it cannot use; if the provider is late, the last known texts.
    fn problems(&mut self) -> Vec<Text> {
        let _ = self.ask(WorkerRequest::Problems, true);
        self.problems.clone()
    }

    /// Returns the provider's text about the origin of a counterset's values; if the provider is late, the last known
    /// text.
    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        let _ = self.has(counterset).then(|| self.ask(WorkerRequest::Origin(*counterset), true));
        self.origins.get(counterset).cloned().flatten()
    }

    /// Returns the provider's texts about data that it does not deliver; if the provider is late, the last known texts.
    /// A counterset of another provider has none.
    fn not_shown(&mut self, counterset: Option<&Guid>) -> Vec<Text> {
        if counterset.is_none_or(|guid| self.has(guid)) {
            let _ = self.ask(WorkerRequest::NotShown(counterset.copied()), true);
        }
        self.not_shown.get(&counterset.copied()).cloned().unwrap_or_default()
    }

    /// Returns the provider's problems with its countersets; if the provider is late, the last known problems.
    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        let _ = self.ask(WorkerRequest::LeftOut, true);
        self.left_out.clone()
    }
}

#[cfg(test)]
mod tests;
