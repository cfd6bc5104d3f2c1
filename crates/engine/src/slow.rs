//! Providers that may take long: on a thread of their own, with a deadline.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use perfset_core::{CounterId, Counterset, Guid, Mark};

use crate::error::SourceError;
use crate::provider::{Catalogue, InstanceFilter, Provider, Want};
use crate::rows::{Note, Rows};

/// Lets a provider work on a thread of its own and waits for it no longer than its deadline.
///
/// If it is late, its last values are delivered, marked with their age ([`Mark::Stale`]); without any the counterset
/// is late ([`SourceError::Late`]). What it has finished meanwhile is there for the next collection. It is never asked
/// twice at a time.
#[derive(Debug)]
pub struct Slow {
    requests: Sender<Request>,
    answers: Receiver<Answer>,
    deadline: Duration,
    /// Whether a request is out.
    busy: bool,
    catalogue: Result<Arc<Catalogue>, SourceError>,
    last: HashMap<Guid, Answered>,
}

#[derive(Debug)]
enum Request {
    Instances(Guid),
    Collect { set: Arc<Counterset>, counters: Vec<CounterId>, filters: Vec<InstanceFilter> },
}

#[derive(Debug)]
struct Answer {
    catalogue: Result<Arc<Catalogue>, SourceError>,
    answered: Answered,
}

#[derive(Debug)]
struct Answered {
    set: Guid,
    /// Whether these are instances without values.
    names_only: bool,
    rows: Result<Rows, SourceError>,
    at: Instant,
}

impl Slow {
    /// Starts the thread. The catalogue is asked here, once, and then after every answer.
    #[must_use]
    pub fn new(mut provider: Box<dyn Provider>, deadline: Duration) -> Self {
        let catalogue = provider.catalogue();
        let (requests, inbox) = channel::<Request>();
        let (outbox, answers) = channel();
        std::thread::spawn(move || {
            for request in inbox {
                let answered = request.answer(&mut *provider);
                let answer = Answer { catalogue: provider.catalogue(), answered };
                if outbox.send(answer).is_err() {
                    return;
                }
            }
        });
        Self { requests, answers, deadline, busy: false, catalogue, last: HashMap::new() }
    }

    /// Asks, unless it is still busy, and waits for whatever comes first: the answer or the deadline.
    fn ask(&mut self, request: Request, wanted: (Guid, bool)) -> Result<&Answered, SourceError> {
        let until = Instant::now().checked_add(self.deadline);
        let left = || until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        let mut request = Some(request);
        loop {
            if !self.busy {
                let Some(request) = request.take() else { break };
                self.requests.send(request).map_err(|_| ended())?;
                self.busy = true;
            }
            match self.answers.recv_timeout(left()) {
                Ok(Answer { catalogue, answered }) => {
                    self.busy = false;
                    self.catalogue = catalogue;
                    self.last.insert(answered.set, answered);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
        let (set, names_only) = wanted;
        self.last.get(&set).filter(|last| names_only || !last.names_only).ok_or(SourceError::Late)
    }
}

fn ended() -> SourceError {
    SourceError::Failed("the provider's thread has ended".into())
}

impl Request {
    fn answer(self, provider: &mut dyn Provider) -> Answered {
        let (set, names_only, mut rows) = match &self {
            Self::Instances(set) => (*set, true, Rows::default()),
            Self::Collect { set, counters, .. } => {
                (set.guid, false, Rows::new(counters.iter().filter_map(|id| set.counter(*id))))
            }
        };
        rows.start();
        let done = match &self {
            Self::Instances(set) => provider.instances(set, &mut rows),
            Self::Collect { set, counters, filters } => {
                provider.collect(&Want { counterset: set, counters, instances: filters }, &mut rows)
            }
        };
        rows.end();
        Answered { set, names_only, rows: done.map(|()| rows), at: Instant::now() }
    }
}

impl Provider for Slow {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.catalogue.clone()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let last = self.ask(Request::Instances(*counterset), (*counterset, true))?;
        let from = last.rows.as_ref().map_err(Clone::clone)?;
        for row in 0..from.len() {
            if let Some(id) = from.id(row) {
                rows.set_owner(from.owner(row));
                rows.push_units(from.name(row).iter().copied(), id, from.birth(row));
            }
        }
        Ok(())
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let asked = Instant::now();
        let request = Request::Collect {
            set: Arc::new(want.counterset.clone()),
            counters: want.counters.to_vec(),
            filters: want.instances.to_vec(),
        };
        let last = self.ask(request, (want.counterset.guid, false))?;
        let age = Instant::now().saturating_duration_since(last.at);
        let stale = last.at < asked;
        let from = last.rows.as_ref().map_err(Clone::clone)?;
        if stale {
            rows.set_late();
        }
        rows.count_bytes_read(usize::try_from(from.bytes_read()).unwrap_or(usize::MAX));
        let sources: Vec<_> = want.counters.iter().map(|id| from.columns().position(|c| c == *id)).collect();
        for row in 0..from.len() {
            let Some(id) = from.id(row) else { continue };
            rows.set_owner(from.owner(row));
            let mut to = rows.push_units(from.name(row).iter().copied(), id, from.birth(row));
            for (column, source) in sources.iter().enumerate() {
                let Some(source) = *source else { continue };
                let note = from.notes(row).find(|(at, _)| *at == source).map(|(_, note)| note.clone());
                let value = from.number(row, source);
                match (value, note) {
                    (Some(value), _) if stale => to.set_marked(column, value, Mark::Stale(age)),
                    (Some(value), Some(Note::Marked(mark))) => to.set_marked(column, value, mark),
                    (Some(value), _) => to.set(column, value),
                    (None, Some(Note::Missing(reason))) => to.none(column, reason),
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }
}
