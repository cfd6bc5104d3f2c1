//! Providers that may take long: on threads that wait, with a deadline.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use perfset_core::{CounterId, Counterset, Guid, InstanceIdFilter, Mark, NoValue, Status, Text};

use crate::deadline::Deadline;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::provider::{Catalogue, Change, Provider, Want, guarded};
use crate::rows::{Note, Rows};
use crate::waiters::{self, Kind};

/// Lets a provider work on one of the [threads that wait](crate::waiters), and waits for it no longer than a deadline.
///
/// If it is late, its last values are delivered, marked with their age ([`Mark::Stale`]), as far as they were asked
/// for then: a counter that was not has [`NoValue::Late`], and without values of all the instances that are asked for
/// now the counterset is late ([`SourceError::Late`]). What it has finished meanwhile is there for the next
/// collection. It is never asked twice at a time: what is asked while it is busy waits behind that, once.
///
/// Nobody waits for long for one that hangs: what is out for one and a half deadlines is not waited for again until
/// there is an answer, nor what took longer than the deadline the last time.
///
/// A panic there is that call's failure; the thread lives on.
#[derive(Debug)]
pub struct Slow {
    requests: Sender<Request>,
    work: Arc<Work>,
    answers: Receiver<Answer>,
    deadline: Duration,
    /// Deadline of the machine, if that one counts: it covers all sources of a collection together.
    shared: Option<Deadline>,
    /// Requests that are not answered yet, in their order.
    out: VecDeque<Question>,
    /// Number of requests that were answered, in the order of sending.
    answered: u64,
    /// Since when it has been at the first of them.
    busy_since: Instant,
    /// Collections that were announced and not collected yet.
    begun: Vec<Begun>,
    catalogue: Result<Arc<Catalogue>, SourceError>,
    /// By counterset: its instances when they were last enumerated.
    names: HashMap<Guid, Rows>,
    /// By counterset: its last values, one answer a shape of request, the newest last.
    values: HashMap<Guid, VecDeque<Kept>>,
    /// What it last said of itself.
    about: Vec<(Text, Text)>,
    /// What it last said that it cannot use.
    problems: Vec<Text>,
}

/// Collection that was announced.
#[derive(Debug)]
struct Begun {
    collection: u64,
    asked: Arc<Asked>,
    /// Number of the request whose answer is waited for.
    number: u64,
    until: Instant,
    /// Result of the request; `None` until it is answered, and if it was sent for another collection.
    outcome: Option<Result<Status, SourceError>>,
    /// `true` if the request was sent for this collection.
    is_own: bool,
}

/// The provider with its inbox, for the thread that works for it.
struct Work {
    inner: Mutex<Inner>,
    /// Number of requests that are not done.
    waiting: AtomicUsize,
}

struct Inner {
    provider: Box<dyn Provider>,
    inbox: Receiver<Request>,
    outbox: Sender<Answer>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Work {
    /// Does all requests that wait, one after the other.
    fn work(&self) {
        // Panics of the provider are caught inside.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { provider, inbox, outbox } = &mut *inner;
        while let Ok(request) = inbox.try_recv() {
            let began = Instant::now();
            let reply = guarded(&mut **provider, |provider| request.answer(provider));
            let catalogue = guarded(&mut **provider, |provider| provider.catalogue());
            // Nobody may be listening any more; what was sent before is done all the same.
            let _ = outbox.send(Answer { catalogue, reply, took: began.elapsed() });
            if self.waiting.fetch_sub(1, AcqRel) == 1 {
                return; // whoever sends another one has it worked on
            }
        }
    }
}

/// So many shapes of request to one counterset have their last values kept.
const SHAPES: usize = 8;

#[derive(Debug)]
enum Request {
    Catalogue,
    Instances(Guid),
    Entry(Change, Entry),
    Collect(Arc<Asked>),
    About,
    Problems,
}

/// What a request asks for, if it need not be asked again while it waits.
#[derive(Debug)]
enum Question {
    Catalogue,
    Instances(Guid),
    Entry,
    Collect(Arc<Asked>),
    About,
    Problems,
}

/// What a [`Want`] says, to be sent and kept.
#[derive(Debug)]
struct Asked {
    set: Arc<Counterset>,
    counters: Vec<CounterId>,
    filters: InstanceFilters,
    collection: u64,
}

#[derive(Debug)]
struct Answer {
    catalogue: Result<Arc<Catalogue>, SourceError>,
    reply: Result<Reply, SourceError>,
    took: Duration,
}

#[derive(Debug)]
enum Reply {
    Status(Status),
    Names(Guid, Rows),
    Values(Kept),
    About(Vec<(Text, Text)>),
    Problems(Vec<Text>),
}

/// Values, and what they were asked with.
#[derive(Debug)]
struct Kept {
    asked: Arc<Asked>,
    rows: Rows,
    /// Bytes read for them and not counted in any collection yet.
    uncounted: u64,
    at: Instant,
    /// Whether they took longer than the deadline.
    was_late: bool,
}

impl Slow {
    /// Takes over the provider and waits for its first catalogue, no longer than the deadline.
    #[must_use]
    pub fn new(provider: Box<dyn Provider>, deadline: Duration) -> Self {
        let mut slow = Self::idle(provider, deadline.min(Deadline::MOST), None);
        let _ = slow.ask(Request::Catalogue, true);
        slow
    }

    /// Takes over the provider, with the deadline that it shares with the other sources of its machine. Asks it for
    /// nothing yet.
    #[must_use]
    pub fn sharing(provider: Box<dyn Provider>, deadline: &Deadline) -> Self {
        Self::idle(provider, deadline.length(), Some(deadline.clone()))
    }

    fn idle(provider: Box<dyn Provider>, deadline: Duration, shared: Option<Deadline>) -> Self {
        let (requests, inbox) = channel::<Request>();
        let (outbox, answers) = channel();
        let inner = Mutex::new(Inner { provider, inbox, outbox });
        Self {
            requests,
            work: Arc::new(Work { inner, waiting: AtomicUsize::new(0) }),
            answers,
            deadline,
            shared,
            out: VecDeque::new(),
            answered: 0,
            busy_since: Instant::now(),
            begun: Vec::new(),
            catalogue: Err(SourceError::Late),
            names: HashMap::new(),
            values: HashMap::new(),
            about: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Returns how long the oldest request has had no answer, if that is longer than the deadline.
    #[must_use]
    pub fn late_for(&mut self) -> Option<Duration> {
        self.take_answers();
        let waited = self.busy_since.elapsed();
        (!self.out.is_empty() && waited > self.deadline).then_some(waited)
    }

    /// Asks, once it is not busy, and waits until the deadline for the answer, if it `is_patient`: what came of the
    /// request, nothing if that is not known in time.
    fn ask(&mut self, request: Request, is_patient: bool) -> Option<Result<Status, SourceError>> {
        // Its time is taken from the budget of the machine when it is dropped.
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

    fn until(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.deadline).unwrap_or(now)
    }

    /// Sends, after what is still out.
    fn send(&mut self, request: Request) {
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

    /// Returns the number of the request that was sent last.
    fn sent(&self) -> u64 {
        self.answered.saturating_add(u64::try_from(self.out.len()).unwrap_or(u64::MAX))
    }

    /// Takes over what was answered too late for whoever asked.
    fn take_answers(&mut self) {
        while let Ok(answer) = self.answers.try_recv() {
            let _ = self.keep(answer);
        }
    }

    /// Waits until all is answered: what came of the last request, nothing if that is not known in time.
    fn wait(&mut self, until: Instant) -> Option<Result<Status, SourceError>> {
        self.wait_for(self.sent(), until)
    }

    /// Waits until the request of that number is answered: what came of it, nothing if that is not known in time.
    fn wait_for(&mut self, number: u64, until: Instant) -> Option<Result<Status, SourceError>> {
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

    /// Takes over an answer. One that failed leaves what was there before.
    fn keep(&mut self, Answer { catalogue, reply, took }: Answer) -> Result<Status, SourceError> {
        self.out.pop_front();
        self.answered = self.answered.saturating_add(1);
        self.busy_since = Instant::now();
        self.catalogue = catalogue;
        let came = reply.map(|reply| self.take_over(reply, took > self.deadline));
        for begun in self.begun.iter_mut().filter(|begun| begun.is_own && begun.number == self.answered) {
            begun.outcome = Some(came.clone());
        }
        came
    }

    fn take_over(&mut self, reply: Reply, was_late: bool) -> Status {
        match reply {
            Reply::Status(status) => return status,
            Reply::Names(set, rows) => {
                self.names.insert(set, rows);
            }
            Reply::About(about) => self.about = about,
            Reply::Problems(problems) => self.problems = problems,
            Reply::Values(mut new) => {
                new.was_late = was_late;
                let kept = self.values.entry(new.asked.set.guid).or_default();
                kept.retain(|old| !old.asked.is_like(&new.asked));
                kept.push_back(new);
                if kept.len() > SHAPES {
                    kept.pop_front();
                }
            }
        }
        Status::ERROR_SUCCESS
    }

    /// Sends the request of a collection, behind what is still out, unless the same is out already.
    fn begin_until(&mut self, want: &Want<'_>, until: Instant) -> Begun {
        self.take_answers();
        let asked = Arc::new(Asked::new(want));
        let was_late =
            |kept: &VecDeque<Kept>| kept.iter().any(|kept| kept.was_late && kept.asked.is_like(&asked));
        let is_patient = !self.values.get(&want.counterset.guid).is_some_and(was_late);
        let until = if is_patient { until } else { Instant::now() };
        let question = Question::Collect(Arc::clone(&asked));
        let same = self.out.iter().position(|out| out.is_like(&question));
        let number = match same {
            Some(at) => self.answered.saturating_add(u64::try_from(at).unwrap_or(0)).saturating_add(1),
            None => {
                self.send(Request::Collect(Arc::clone(&asked)));
                self.sent()
            }
        };
        let collection = want.collection;
        Begun { collection, asked, number, until, outcome: None, is_own: same.is_none() }
    }

    /// Waits for a collection that was announced: what came of it, nothing if that is not known in time.
    fn end(&mut self, mut begun: Begun) -> Option<Result<Status, SourceError>> {
        let until = begun.until;
        if !begun.is_own && self.is_answered(begun.number, until) {
            // What was sent for an earlier collection is answered: that is not the answer to this one.
            self.send(Request::Collect(Arc::clone(&begun.asked)));
            (begun.number, begun.is_own) = (self.sent(), true);
        }
        let number = begun.number;
        self.begun.push(begun); // where its outcome is put, so before any more answers are taken
        let _ = self.is_answered(number, until);
        self.begun.pop()?.outcome
    }

    /// Waits until then for the answer to the request of that number; returns `true` if there is one.
    fn is_answered(&mut self, number: u64, until: Instant) -> bool {
        self.answered >= number || self.wait_for(number, until).is_some()
    }
}

impl Question {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Catalogue, Self::Catalogue)
            | (Self::About, Self::About)
            | (Self::Problems, Self::Problems) => true,
            (Self::Instances(one), Self::Instances(other)) => one == other,
            (Self::Collect(one), Self::Collect(other)) => {
                one.set.guid == other.set.guid && one.is_like(other)
            }
            _ => false,
        }
    }
}

impl Request {
    fn question(&self) -> Question {
        match self {
            Self::Catalogue => Question::Catalogue,
            Self::Instances(set) => Question::Instances(*set),
            Self::Entry(..) => Question::Entry,
            Self::Collect(asked) => Question::Collect(Arc::clone(asked)),
            Self::About => Question::About,
            Self::Problems => Question::Problems,
        }
    }

    fn answer(self, provider: &mut dyn Provider) -> Result<Reply, SourceError> {
        match self {
            Self::Catalogue => Ok(Reply::Status(Status::ERROR_SUCCESS)), // it comes with every answer
            Self::Entry(change, entry) => Ok(Reply::Status(provider.entry(change, &entry))),
            Self::About => Ok(Reply::About(provider.about())),
            Self::Problems => Ok(Reply::Problems(provider.problems())),
            Self::Instances(set) => {
                let mut rows = Rows::default();
                rows.start();
                provider.instances(&set, &mut rows)?;
                rows.end();
                Ok(Reply::Names(set, rows))
            }
            Self::Collect(asked) => {
                let Asked { set, counters, filters, collection } = &*asked;
                let mut rows = Rows::new(counters.iter().filter_map(|id| set.counter(*id)));
                rows.start();
                let collection = *collection;
                let want = Want { counterset: set, counters, instances: filters, collection };
                provider.collect(&want, &mut rows)?;
                rows.end();
                let uncounted = rows.bytes_read();
                Ok(Reply::Values(Kept { asked, rows, uncounted, at: Instant::now(), was_late: false }))
            }
        }
    }
}

impl Asked {
    fn new(want: &Want<'_>) -> Self {
        Self {
            set: Arc::new(want.counterset.clone()),
            counters: want.counters.to_vec(),
            filters: want.instances.clone(),
            collection: want.collection,
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.counters == other.counters && self.filters == other.filters
    }

    /// Whether all instances that are wanted were asked for. What two filters together cover is not found out.
    fn covers(&self, want: &Want<'_>) -> bool {
        let covered = |wanted: &InstanceFilter| {
            self.filters.iter().any(|asked| {
                (asked.pattern.is_any() || asked.pattern == wanted.pattern)
                    && (asked.id == InstanceIdFilter::Any || asked.id == wanted.id)
            })
        };
        self.filters == *want.instances || want.instances.iter().all(covered)
    }

    /// How many of the wanted counters were asked for.
    fn counters_of(&self, want: &Want<'_>) -> usize {
        want.counters.iter().filter(|id| self.counters.contains(id)).count()
    }
}

/// Of the values of all wanted instances, those of the most wanted counters, and of these the newest.
fn best<'a>(kept: &'a mut VecDeque<Kept>, want: &Want<'_>) -> Option<&'a mut Kept> {
    let covering = kept.iter_mut().filter(|kept| kept.asked.covers(want));
    covering.max_by_key(|kept| kept.asked.counters_of(want))
}

impl Provider for Slow {
    /// The catalogue of its last answer; as long as there is none, or nothing in it, it is asked anew without waiting.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.take_answers();
        let nothing = self.catalogue.as_ref().map_or(true, |catalogue| catalogue.countersets.is_empty());
        if nothing && self.out.is_empty() {
            self.send(Request::Catalogue);
        }
        self.catalogue.clone()
    }

    /// If it is late, the instances as they were last enumerated.
    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.ask(Request::Instances(*counterset), true).transpose()?;
        let from = self.names.get(counterset).ok_or(SourceError::Late)?;
        for row in 0..from.len() {
            if let Some(id) = from.id(row) {
                rows.set_owner(from.owner(row));
                rows.push_units(from.name(row).units(), id, from.birth(row));
            }
        }
        Ok(())
    }

    /// Tells it of every change, in order, however late: an entry that it does not answer for in time is added, and a
    /// removal is not waited for.
    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let shared = self.shared.as_ref().map(Deadline::wait);
        let until = shared.as_ref().map_or_else(|| self.until(), |wait| wait.until());
        // Though it may be busy: an addition waits, so what is out grows by little more than one each deadline.
        self.send(Request::Entry(change, entry.clone()));
        let came = match change {
            Change::Added => self.wait(until),
            Change::Removed => None,
        };
        drop(shared);
        came.unwrap_or(Ok(Status::ERROR_SUCCESS)).unwrap_or_else(|error| error.status())
    }

    fn begin(&mut self, want: &Want<'_>, until: Instant) {
        // Announcements of earlier collections that did not come.
        self.begun.retain(|begun| begun.collection == want.collection);
        let until = if self.shared.is_some() { until } else { self.until() };
        let begun = self.begin_until(want, until);
        self.begun.push(begun);
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let is_this = |begun: &Begun| {
            begun.collection == want.collection
                && begun.asked.set.guid == want.counterset.guid
                && begun.asked.counters == want.counters
                && begun.asked.filters == *want.instances
        };
        let begun = match self.begun.iter().position(is_this) {
            Some(at) => self.begun.swap_remove(at),
            None => self.begin_until(want, self.until()),
        };
        let asked = Arc::clone(&begun.asked);
        let late = self.end(begun).transpose()?.is_none();
        let kept = self.values.get_mut(&want.counterset.guid).ok_or(SourceError::Late)?;
        let kept = match late {
            true => best(kept, want),
            false => kept.iter_mut().rev().find(|kept| kept.asked.is_like(&asked)),
        };
        let kept = kept.ok_or(SourceError::Late)?;
        if late {
            rows.set_late();
        }
        let bytes = std::mem::take(&mut kept.uncounted);
        rows.count_bytes_read(usize::try_from(bytes).unwrap_or(usize::MAX));
        let (from, age) = (&kept.rows, kept.at.elapsed());
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
            let mark = if late { Some(Mark::Stale(age)) } else { from.row_mark(row) };
            if let Some(mark) = mark {
                to.mark(mark);
            }
            for (column, source) in sources.iter().enumerate() {
                let Some(source) = *source else { continue };
                let note = from.notes(row).find(|(at, _)| *at == source).map(|(_, note)| note.clone());
                let value = from.raw(row, source);
                match (value, note) {
                    (Some(value), Some(Note::Marked(mark))) if !late => {
                        to.set_marked(column, value.get(), mark)
                    }
                    (Some(value), Some(Note::Counted(since, mark))) => {
                        let mark = if late { Some(Mark::Stale(age)) } else { mark };
                        to.set_counted(column, value.get(), mark, since);
                    }
                    (Some(value), _) => to.set_raw(column, value),
                    (None, Some(Note::Missing(reason))) => to.none(column, reason),
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }

    /// If it is late, what it said last.
    fn about(&mut self) -> Vec<(Text, Text)> {
        let _ = self.ask(Request::About, true); // what it said before is there all the same
        self.about.clone()
    }

    fn late(&mut self) -> Vec<Text> {
        let Some(waited) = self.late_for() else { return Vec::new() };
        let sets =
            self.catalogue.as_ref().map(|catalogue| catalogue.countersets.as_slice()).unwrap_or_default();
        let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
        vec![format!("{}: no answer for {} s", names.join(", "), waited.as_secs()).into()]
    }

    /// If it is late, what it said last.
    fn problems(&mut self) -> Vec<Text> {
        let _ = self.ask(Request::Problems, true);
        self.problems.clone()
    }
}

#[cfg(test)]
mod tests;
