//! Requests to publishers around a collection: control callbacks, and values by reference.
//!
//! All publishers of a collection receive their requests at once, and one `poll` waits for all responses until the
//! deadline of the collection. A late publisher is not awaited again before it has responded. Its values by reference
//! are the previous ones, marked with their age.

use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use perfset_core::v2::identity;
use perfset_core::{CounterFilter, CounterId, Guid, InstanceIdFilter, Mark, NoValue, RawValue, Status};
use perfset_engine::{Change, Deadline, Entry};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::file::ProgramFile;
use crate::callback::{
    AskError, CallbackReply, Conversation, MOST_PACKET, MOST_VALUES, RequestCode, RequestMessage,
};

/// Shortest and longest pause before a publisher that failed or did not respond receives requests again. Each pause
/// is twice the previous one.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Divisor of the deadline for the time that a collection waits for a publisher that was late last time.
const GRACE_PART: u32 = 20;
/// Maximum number of requests per publisher that are sent and have no response yet.
const MOST_OUT: usize = 4;
/// Maximum number of publishers' values by reference in memory, of all publishers together.
pub(super) const MOST_HELD: usize = 2 * MOST_VALUES;

/// State shared by the requests to all publishers: deadline, and limit on values by reference.
#[derive(Debug)]
pub(crate) struct Asks {
    pub deadline: Deadline,
    buffer: Vec<u8>,
    /// Number of publishers' values by reference in memory.
    held: Arc<AtomicUsize>,
}

impl Asks {
    pub fn new(deadline: Deadline) -> Self {
        Self { deadline, buffer: Vec::new(), held: Arc::default() }
    }

    /// Waits until the deadline for responses of publishers that have outstanding requests and are not late.
    pub fn wait<'a>(&mut self, all: impl Iterator<Item = &'a mut CallbackClient>, until: Instant) {
        // Publishers without outstanding requests cost nothing here, which is the usual case.
        let mut all: Vec<&mut CallbackClient> = all.filter(|asking| !asking.out.is_empty()).collect();
        loop {
            let now = Instant::now();
            // Nothing is waited for longer than the most patient request allows: late publishers have a
            // twentieth of the deadline.
            let patience = all.iter().filter_map(|asking| asking.patience(&self.deadline)).max();
            let Some(until) = patience.map(|patience| patience.min(until)).filter(|until| *until > now)
            else {
                break;
            };
            let ready = ready(&all, until.saturating_duration_since(now));
            for (asking, _) in all.iter_mut().zip(ready).filter(|(_, is_ready)| *is_ready) {
                asking.advance(self);
                if Instant::now() >= until {
                    break; // one that sends without end must not hold up the collection
                }
            }
            all.retain(|asking| !asking.out.is_empty());
        }
        // Only now is it decided who is late: what has arrived while others were served is in time.
        for asking in all {
            asking.look(self);
        }
    }
}

/// Waits for data from any of the publishers. Returns `true` for each publisher that has sent data.
fn ready(all: &[&mut CallbackClient], within: Duration) -> Vec<bool> {
    let within = Timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: within.subsec_nanos().into(),
    };
    let connections =
        all.iter().flat_map(|asking| asking.out.iter().map(|sent| sent.conversation.connection()));
    let mut fds: Vec<PollFd<'_>> = connections.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    // If `poll` fails, all connections are tried until the time is over.
    let is_known = poll(&mut fds, Some(&within)).is_ok();
    let mut came = fds.iter().map(|fd| !is_known || !fd.revents().is_empty());
    // `take` must consume all connections of one publisher, so `count` and not `any`.
    let of =
        |asking: &&mut CallbackClient| came.by_ref().take(asking.out.len()).filter(|came| *came).count() > 0;
    all.iter().map(of).collect()
}

/// Client of one publisher: requests to the publisher, with their state and responses.
#[derive(Debug)]
pub(crate) struct CallbackClient {
    socket: PathBuf,
    owner: u32,
    /// Requests to the publisher that are not sent yet.
    queue: VecDeque<Queued>,
    /// Sent requests without a response, in order: a publisher responds to them one after the other.
    out: Vec<Sent>,
    /// Countersets whose values are requested next time, because the publisher was late when they were collected.
    waiting: Vec<Guid>,
    /// Status in the publisher's last response of each kind, if the response arrived before the deadline.
    statuses: HashMap<(RequestCode, Guid), Status>,
    late: Option<Late>,
    values: HashMap<Guid, Values>,
}

/// Request to a publisher that is not sent yet.
#[derive(Debug)]
struct Queued {
    what: RequestCode,
    counterset: Guid,
    packet: Vec<u8>,
}

/// Sent request to a publisher, without a response so far.
#[derive(Debug)]
struct Sent {
    what: RequestCode,
    counterset: Guid,
    conversation: Conversation,
    time: Instant,
    /// `true` if a check after the deadline found no response to the request. A response that had arrived by that
    /// check was in time, however long this process was busy meanwhile.
    is_late: bool,
    held: HeldValues,
}

/// State of a publisher that is late or failed.
#[derive(Debug)]
struct Late {
    since: Instant,
    pause: Duration,
    ask_from: Instant,
    /// Description of the publisher's failure; `None` if there was simply no response.
    failure: Option<String>,
}

/// Values by reference of a counterset, as a publisher sent them.
#[derive(Debug)]
struct Values {
    of: HashMap<(u64, CounterId), Option<RawValue>>,
    /// Time at which the request for the values was sent.
    request_time: Instant,
    _held: HeldValues,
}

/// Number of values by reference of one response in memory, counted against the limit of all publishers.
#[derive(Debug)]
struct HeldValues {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl HeldValues {
    fn nothing(asks: &Asks) -> Self {
        Self { all: Arc::clone(&asks.held), own: 0 }
    }

    /// Increases the number of values of the response. Returns `false` if all publishers together have too many.
    fn grow(&mut self, to: usize) -> bool {
        // Added before the check: a count that is too high for a moment only refuses values, a count that is
        // too low would let memory grow.
        let more = to.saturating_sub(self.own);
        self.own = self.own.saturating_add(more);
        self.all.fetch_add(more, Relaxed).saturating_add(more) <= MOST_HELD
    }
}

impl Drop for HeldValues {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Relaxed);
    }
}

/// Values that counters by reference of a counterset have, or the reason why they are missing.
#[derive(Debug)]
pub(crate) enum ReferencedValues<'a> {
    /// The publisher does not receive requests.
    Nobody,
    /// The publisher has not responded yet to the request for values.
    Late,
    /// Values of the last response by sequence word and counter, and their age if they are not of this collection.
    Values(&'a HashMap<(u64, CounterId), Option<RawValue>>, Option<Duration>),
}

impl CallbackClient {
    pub fn new(file: &ProgramFile) -> Self {
        Self {
            socket: file.path.with_extension(crate::callback::EXTENSION),
            // The process that listens must belong to the owner of the file. Any user could create a socket
            // with that name in `/tmp`.
            owner: file.user,
            queue: VecDeque::new(),
            out: Vec::new(),
            waiting: Vec::new(),
            statuses: HashMap::new(),
            late: None,
            values: HashMap::new(),
        }
    }

    /// Sends the publisher a request that concerns a machine: names of a counterset will be listed, or its values
    /// were read.
    pub fn about_machine(&mut self, what: RequestCode, counterset: Guid, machine: &[u16], asks: &mut Asks) {
        if !self.is_to_be_asked(&(what, counterset), asks) {
            return;
        }
        let about: Vec<u8> = machine.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect();
        self.post(what, counterset, &about, asks);
    }

    /// Sends the publisher a change of a query entry, once for each of its counters.
    pub fn about_entry(&mut self, change: Change, entry: &Entry, machine: &[u16], asks: &mut Asks) {
        let what = what_of(change);
        if !self.is_to_be_asked(&(what, entry.counterset), asks) {
            return;
        }
        let counters = match entry.counters.ids() {
            // PerfLib sends one request with the wildcard for all counters.
            None => vec![CounterFilter::All],
            Some(ids) => ids.iter().map(|id| CounterFilter::One(*id)).collect(),
        };
        let name = entry.instance.as_ref().map(|name| name.units());
        for counter in counters {
            let mut about = Vec::new();
            identity::write(&mut about, entry.counterset, counter, entry.instance_id, machine, name);
            self.post(what, entry.counterset, &about, asks);
        }
    }

    /// Announces to the publisher that values of a counterset will be read, and requests its values by reference, if
    /// there are any. A publisher that was late also receives the requests of countersets collected meanwhile.
    pub fn begin(&mut self, counterset: Guid, has_referenced: bool, machine: &[u16], asks: &mut Asks) {
        let may_be_asked = self.is_to_be_asked(&(RequestCode::CollectStart, counterset), asks);
        // Without a new response, earlier values are delivered with their age, not as those of this
        // collection.
        self.statuses.remove(&(RequestCode::Values, counterset));
        // The counterset waits for its turn, so that its values are not missing forever behind others of the
        // same publisher.
        if !may_be_asked {
            let is_out = self.out.iter().any(|sent| sent.counterset == counterset);
            let is_in_queue = self.queue.iter().any(|queued| queued.counterset == counterset);
            if has_referenced && !is_out && !is_in_queue && !self.waiting.contains(&counterset) {
                self.waiting.push(counterset);
            }
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|other| *other != counterset);
        self.post_reading(counterset, has_referenced, machine, asks);
        // A publisher that is on time gets the other requests when their countersets are collected.
        if self.is_late() {
            waiting.into_iter().for_each(|other| self.post_reading(other, true, machine, asks));
        }
    }

    fn post_reading(&mut self, counterset: Guid, has_referenced: bool, machine: &[u16], asks: &mut Asks) {
        let about: Vec<u8> = machine.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect();
        self.post(RequestCode::CollectStart, counterset, &about, asks);
        if has_referenced {
            // The publisher responds in order, so these are the values after `CollectStart`.
            let mut about = Vec::new();
            let all = InstanceIdFilter::Any;
            let any: Vec<u16> = "*".encode_utf16().collect();
            identity::write(&mut about, counterset, CounterFilter::All, all, machine, Some(&any));
            self.post(RequestCode::Values, counterset, &about, asks);
        }
    }

    /// Returns the status of the publisher's last response of this kind; success if the response was late.
    pub fn status(&self, what: RequestCode, counterset: Guid) -> Status {
        self.statuses.get(&(what, counterset)).copied().unwrap_or(Status::ERROR_SUCCESS)
    }

    /// Returns the publisher's first refusal of the query entry that was added or removed last; success if there was
    /// none.
    pub fn status_of_entry(&self, change: Change, counterset: Guid) -> Status {
        self.status(what_of(change), counterset)
    }

    /// Returns the last received values by reference of a counterset, with their age if they are from an earlier
    /// request.
    pub fn referenced(&self, counterset: Guid) -> ReferencedValues<'_> {
        let is_new =
            self.statuses.get(&(RequestCode::Values, counterset)).is_some_and(|status| status.is_success());
        match self.values.get(&counterset) {
            None => ReferencedValues::Late,
            Some(Values { of, request_time, .. }) => {
                ReferencedValues::Values(of, (!is_new).then(|| request_time.elapsed()))
            }
        }
    }

    /// Returns `true` if the publisher is late or failed, so that its response is not awaited.
    pub fn is_late(&self) -> bool {
        self.late.is_some()
    }

    /// Describes for the user the time for which the publisher has been late, and the reason.
    pub fn lateness(&self) -> Option<String> {
        let Late { since, failure, .. } = self.late.as_ref()?;
        let seconds = since.elapsed().as_secs();
        Some(match failure {
            Some(failure) => format!("no usable response for {seconds} s: {failure}"),
            None => format!("no response for {seconds} s"),
        })
    }

    /// Returns `true` if a connection to the publisher is open.
    pub fn is_open(&self) -> bool {
        !self.out.is_empty()
    }

    /// Drops the requests to a late publisher, to free its connections for others.
    pub fn hang_up(&mut self) {
        if self.is_late() {
            self.out.clear();
            self.queue.clear();
        }
    }

    /// Forgets the publisher's status of the last request of this kind, and returns `true` if a new one may be sent.
    /// The response to an earlier request, which may have arrived by now, does not belong to the new one.
    fn is_to_be_asked(&mut self, request: &(RequestCode, Guid), asks: &mut Asks) -> bool {
        let may_be_asked = self.may_be_asked(asks);
        self.statuses.remove(request);
        may_be_asked
    }

    /// Returns `true` if requests may be sent: unless the publisher is late. A late publisher receives requests again
    /// after a pause and after its outstanding responses.
    fn may_be_asked(&mut self, asks: &mut Asks) -> bool {
        self.look(asks);
        match &self.late {
            None => true,
            Some(late) => self.out.is_empty() && late.ask_from <= Instant::now(),
        }
    }

    fn post(&mut self, what: RequestCode, counterset: Guid, about: &[u8], asks: &mut Asks) {
        let Ok(request) = RequestMessage::new(what, about) else { return };
        self.queue.push_back(Queued { what, counterset, packet: request.encode() });
        self.send(false, asks);
    }

    /// Sends the next requests to the publisher. `is_behind` is `true` if the response to an earlier request was
    /// late.
    fn send(&mut self, is_behind: bool, asks: &mut Asks) {
        // A publisher accepts few connections, which are shared by all readers of the machine.
        while self.out.len() < MOST_OUT {
            let Some(Queued { what, counterset, packet }) = self.queue.pop_front() else { return };
            match Conversation::begin(&self.socket, self.owner, &packet) {
                Ok(conversation) => {
                    let (time, held) = (Instant::now(), HeldValues::nothing(asks));
                    self.out.push(Sent { what, counterset, conversation, time, is_late: is_behind, held });
                }
                // The publisher does not accept the connections it already has.
                Err(AskError::Gone(error)) if error.kind() == ErrorKind::WouldBlock => {
                    return self.fail(None);
                }
                Err(_) => {} // it counts as if it had no callback
            }
        }
    }

    /// Receives responses of the publisher, and sends the next requests.
    fn advance(&mut self, asks: &mut Asks) {
        if asks.buffer.is_empty() {
            asks.buffer = vec![0; MOST_PACKET];
        }
        // A request that follows a late one is sent too late itself, so its response counts as late as well.
        let (mut at, mut is_behind) = (0_usize, false);
        while let Some(sent) = self.out.get_mut(at) {
            let came = sent.conversation.advance(&mut asks.buffer);
            if !sent.held.grow(sent.conversation.values()) {
                return self.fail(Some("the responses have too many values".into()));
            }
            match came {
                Ok(None) => at = at.saturating_add(1),
                Ok(Some(answer)) => {
                    let sent = self.out.remove(at);
                    is_behind = sent.is_late;
                    self.finish(sent, answer);
                }
                Err(error) => return self.fail(Some(with_source(&error))),
            }
        }
        self.send(is_behind, asks);
    }

    /// Receives responses of the publisher like [`advance`](Self::advance), and then checks whether the publisher is
    /// late.
    fn look(&mut self, asks: &mut Asks) {
        if self.out.is_empty() {
            return;
        }
        self.advance(asks);
        let (now, most) = (Instant::now(), self.most(&asks.deadline));
        let is_over = |sent: &Sent| now.saturating_duration_since(sent.time) > most;
        for sent in self.out.iter_mut().filter(|sent| is_over(sent)) {
            sent.is_late = true;
        }
        let mut late = self.out.iter().filter(|sent| sent.is_late);
        let Some(first) = late.clone().next() else { return };
        if late.any(|sent| sent.conversation.values() > 0) {
            // An endless response would be kept in memory forever.
            return self.fail(Some("the response does not end".into()));
        }
        match &mut self.late {
            Some(late) if now >= late.ask_from => late.wait_longer(now),
            Some(_) => {}
            None => self.late = Some(Late::new(first.time, None)),
        }
        // One connection is enough to detect the next response. Requests for values stay, for all countersets, and
        // are received whenever they arrive. `CollectStart` stays too, because a publisher may count only after it.
        let is_of_values =
            |what: RequestCode| matches!(what, RequestCode::CollectStart | RequestCode::Values);
        self.queue.retain(|queued| is_of_values(queued.what));
        let mut is_first = true;
        self.out.retain(|sent| std::mem::take(&mut is_first) || is_of_values(sent.what));
    }

    /// Stores the status and values of a publisher's response.
    fn finish(&mut self, sent: Sent, answer: CallbackReply) {
        let Sent { what, counterset, time, is_late, held, .. } = sent;
        if what == RequestCode::Values && answer.status.is_success() {
            let values = answer.values.iter();
            let of = values.map(|value| ((value.sequence, value.counter), value.value)).collect();
            self.values.insert(counterset, Values { of, request_time: time, _held: held });
        }
        if is_late {
            // The response was late: the publisher receives requests again soon, and is not awaited.
            let since = self.late.as_ref().map_or(time, |late| late.since);
            self.late = Some(Late { since, ..Late::new(time, None) });
            return;
        }
        self.late = None;
        // Of several requests of the same kind, the first refusal is kept.
        let status = self.statuses.entry((what, counterset)).or_insert(answer.status);
        if status.is_success() {
            *status = answer.status;
        }
    }

    /// Drops all requests to the publisher, because the publisher gave no usable response.
    fn fail(&mut self, failure: Option<String>) {
        self.out.clear();
        self.queue.clear();
        // Each failure doubles the pause: a publisher that hangs for good costs one attempt per minute.
        let now = Instant::now();
        match &mut self.late {
            Some(late) => {
                late.wait_longer(now);
                late.failure = failure;
            }
            None => self.late = Some(Late::new(now, failure)),
        }
    }

    /// Returns the time until which outstanding responses are awaited; `None` if there are no such responses.
    fn patience(&self, deadline: &Deadline) -> Option<Instant> {
        let most = self.most(deadline);
        self.out.iter().filter_map(|sent| sent.time.checked_add(most)).max()
    }

    /// Returns the maximum time to wait for one response of the publisher.
    fn most(&self, deadline: &Deadline) -> Duration {
        match self.late {
            None => deadline.length(),
            // Not 0: a publisher that has recovered responds within that time, and stops being late.
            Some(_) => deadline.length().checked_div(GRACE_PART).unwrap_or_default(),
        }
    }
}

impl Late {
    fn new(since: Instant, failure: Option<String>) -> Self {
        let (pause, _) = PAUSE;
        Self { since, pause, ask_from: since.checked_add(pause).unwrap_or(since), failure }
    }

    fn wait_longer(&mut self, now: Instant) {
        let (_, longest) = PAUSE;
        self.pause = self.pause.saturating_mul(2).min(longest);
        self.ask_from = now.checked_add(self.pause).unwrap_or(now);
    }
}

fn what_of(change: Change) -> RequestCode {
    match change {
        Change::Added => RequestCode::AddCounter,
        Change::Removed => RequestCode::RemoveCounter,
    }
}

fn with_source(error: &AskError) -> String {
    match std::error::Error::source(error) {
        None => error.to_string(),
        Some(source) => format!("{error}: {source}"),
    }
}

/// Returns the value of a counter by reference and its mark, or the reason for a missing value.
pub(crate) fn value(
    all: &ReferencedValues<'_>,
    sequence: u64,
    counter: CounterId,
) -> Result<(RawValue, Option<Mark>), NoValue> {
    let ReferencedValues::Values(all, age) = all else {
        return Err(match all {
            ReferencedValues::Nobody => NoValue::Unavailable("the program did not say it".into()),
            _ => NoValue::Late,
        });
    };
    match all.get(&(sequence, counter)) {
        Some(Some(value)) => Ok((*value, age.map(Mark::Stale))),
        Some(None) => Err(NoValue::Status(Status::ERROR_NO_DATA)),
        None if age.is_some() => Err(NoValue::Late),
        None => Err(NoValue::Unavailable("the program did not say it".into())),
    }
}

#[cfg(test)]
mod tests;
