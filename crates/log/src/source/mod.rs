//! Logs as a source with a past: several files as one, asked like a machine.

mod deck;
mod listed;
mod tape;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{
    CounterId, Counterset, Guid, Identity, Instance, InstanceIdFilter, InstanceType, Status, Utf16,
};
use perfset_engine::path::CounterPath;
use perfset_engine::{
    Catalogue, Clock, Entry, EntryInfo, HasPast, InstanceFilter, Machine, Next, Past, Pattern, Provider,
    Query, QueryHandle, RegInfo, RegRequest, Rows, Snapshot, Source, SourceError, Want, Window,
};

use crate::damage::Damages;
use crate::open::LogError;
pub use deck::Pick;
use deck::{Choice, Deck};
pub use tape::Input;
use tape::{Tape, What};

/// Logs as a source with a past: each step of a query is the next sample.
///
/// What was recorded is registered under the names that it has there; an object that the catalogue knows has the
/// catalogue's GUID, and its counters the catalogue's ids. Logs of one time are played together: a step takes from
/// each the sample that is due, so that counters of several logs stand side by side. An instance is what a path calls
/// it, its parent and its number included.
///
/// Values of binary logs are raw values and become numbers by the formulas that live ones do, each with the clock that
/// stands beside it. Values of text logs were formatted by whoever wrote them, and are marked so
/// ([`Mark::Formatted`](perfset_core::Mark::Formatted)).
///
/// ```
/// use perfset_engine::{Next, path::PathQuery};
/// use perfset_log::Logs;
///
/// let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\HOST\\Memory\\Pages/sec\"\n\
///            \"11/05/2026 10:00:00.000\",\"12.5\"\n\"11/05/2026 10:00:01.000\",\"40\"\n";
/// let mut logs = Logs::of_bytes(log.as_bytes())?;
/// let mut query = PathQuery::open(&mut logs)?;
/// query.add(&mut logs, &r"\Memory\Pages/sec".parse()?)?;
/// let mut values = Vec::new();
/// while query.collect()? == Next::Sample {
///     values.push(query.values()[0].value.value.clone()?.raw);
/// }
/// assert_eq!(values, [12.5, 40.0]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Logs {
    inputs: Arc<[Input]>,
    /// Bytes of them that were read.
    read: Arc<AtomicU64>,
    machine_name: Arc<str>,
    machines: BTreeSet<String>,
    choice: Choice,
    tolerance: i64,
    /// What is to be added to local times of the first log for UTC, in 100 ns.
    offset: i64,
    /// What their first samples have.
    catalogue: Arc<Catalogue>,
    is_steady: bool,
    /// Answers what does not depend on the sample.
    machine: Machine,
    union: Arc<Mutex<Option<Union>>>,
    damages: Arc<Mutex<Vec<Damages>>>,
}

/// All instances that any sample has, by counterset.
type Union = HashMap<Guid, Arc<[Instance]>>;

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logs")
            .field("inputs", &self.inputs)
            .field("machine", &self.machine_name)
            .finish_non_exhaustive()
    }
}

/// A log could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("log {number}: {error}")]
pub struct OpenError {
    /// Which one, from 0.
    pub number: usize,
    /// Why.
    #[source]
    pub error: LogError,
}

impl Logs {
    /// So many instances of a counterset are enumerated.
    pub const INSTANCES: usize = 1_000_000;

    /// Opens log files as one: of each some samples are read.
    ///
    /// Of logs of several machines those of the first one that any names are played: see
    /// [`of_machine`](Self::of_machine).
    ///
    /// # Errors
    /// If one of them is no log or cannot be read.
    pub fn open(files: &[impl AsRef<Path>]) -> Result<Self, OpenError> {
        Self::of_inputs(files.iter().map(|file| Input::File(file.as_ref().to_owned())).collect())
    }

    /// A log in memory.
    ///
    /// # Errors
    /// If it is no log.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, OpenError> {
        Self::of_inputs(vec![Input::Bytes(bytes.into())])
    }

    /// As [`open`](Self::open), of files and of logs in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_inputs(inputs: Vec<Input>) -> Result<Self, OpenError> {
        let mut shortest = i64::MAX;
        /// So many steps from sample to sample tell how long they are.
        const STEPS: usize = 16;
        let (mut machines, mut known) = (Vec::new(), HashSet::new());
        let mut offset = None;
        let read = Arc::default();
        for (number, input) in inputs.iter().enumerate() {
            let failed = |error| OpenError { number, error };
            let mut tape = Tape::open(input, &read).map_err(failed)?;
            offset.get_or_insert(tape.offset());
            for listed in tape.ahead().list.iter().filter(|listed| !matches!(listed.what, What::Unknown)) {
                let name = listed.path.machine.clone().unwrap_or_default();
                if known.insert(name.to_ascii_lowercase()) {
                    machines.push(name);
                }
            }
            let mut before = tape.next_time();
            for _ in 0..STEPS {
                tape.advance().map_err(failed)?;
                let now = tape.next_time();
                let step = before.zip(now).map(|(before, now)| now.saturating_sub(before));
                shortest = step.filter(|step| *step > 0).map_or(shortest, |step| shortest.min(step));
                before = now;
            }
        }
        let tolerance = if shortest == i64::MAX { 0 } else { shortest / 2 };
        let machine_name: Arc<str> = machines.first().cloned().unwrap_or_default().into();
        Self::with(Logs {
            inputs: inputs.into(),
            read,
            machine_name,
            machines: machines.into_iter().collect(),
            choice: Choice::default(),
            tolerance,
            offset: offset.unwrap_or(0),
            catalogue: Arc::default(),
            is_steady: false,
            machine: Machine::bare(Box::new(Nobody)),
            union: Arc::default(),
            damages: Arc::default(),
        })
    }

    /// Registers what these logs have.
    fn with(mut logs: Self) -> Result<Self, OpenError> {
        let mut deck = logs.deck().map_err(|error| OpenError { number: 0, error })?;
        logs.catalogue = deck.catalogue();
        logs.is_steady = logs.inputs.len() == 1 && deck.is_steady();
        let player = Player { deck: Arc::new(Mutex::new(deck)), logs: Some(logs.clone()) };
        logs.machine = Machine::bare(Box::new(player.clone()));
        logs.machine.register(Box::new(player));
        Ok(logs)
    }

    /// The same logs, of which another machine's counters are played. Its name stands there without backslashes.
    ///
    /// # Errors
    /// If a file has gone meanwhile.
    pub fn of_machine(&self, name: &str) -> Result<Self, OpenError> {
        let known = self.machines.iter().find(|known| known.eq_ignore_ascii_case(name));
        let machine_name = known.map_or(name, String::as_str).into();
        Self::with(Self { machine_name, union: Arc::default(), ..self.clone() })
    }

    /// The same logs, of which only samples in a window are played.
    ///
    /// # Errors
    /// If a file has gone meanwhile.
    pub fn within(&self, window: Window) -> Result<Self, OpenError> {
        let choice = Choice { window, ..self.choice };
        Self::with(Self { choice, union: Arc::default(), ..self.clone() })
    }

    /// The same logs, of which only some samples are played: what is counted over time is so from one of these to the
    /// next.
    ///
    /// # Errors
    /// If a file has gone meanwhile.
    pub fn picking(&self, pick: Pick) -> Result<Self, OpenError> {
        let choice = Choice { pick, ..self.choice };
        Self::with(Self { choice, union: Arc::default(), ..self.clone() })
    }

    /// The machines whose counters they have, without backslashes.
    #[must_use]
    pub fn machines(&self) -> &BTreeSet<String> {
        &self.machines
    }

    /// The machine whose counters are played.
    #[must_use]
    pub fn machine_name(&self) -> &str {
        &self.machine_name
    }

    /// Its countersets and what they are called by people. Their instances are all that any sample has.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What is to be added to local times of the first log for UTC, in 100 ns.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Paths that ask for all that they have, countersets by their GUIDs, in the order of their lists.
    #[must_use]
    pub fn paths(&self) -> Vec<CounterPath> {
        let path = |set: &Arc<Counterset>| CounterPath {
            machine: None,
            counterset: format!("{{{}}}", set.guid),
            instance: (set.instance_type != InstanceType::Single).then(|| "*".to_owned()),
            counter: "*".to_owned(),
        };
        self.catalogue.countersets.iter().map(path).collect()
    }

    /// Whether all samples have the same instances: one log, whose list names each.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.is_steady
    }

    /// Bytes of the logs that were read so far, by all queries.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// What could not be used, log by log, as far as queries that were closed had come.
    #[must_use]
    pub fn damages(&self) -> Vec<Damages> {
        self.damages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn deck(&self) -> Result<Deck, LogError> {
        Deck::open(&self.inputs, &self.read, &self.machine_name, self.choice, self.tolerance)
    }

    fn opened(&self) -> Result<Deck, SourceError> {
        self.deck().map_err(|error| SourceError::Failed(deck::with_causes(&error).into()))
    }

    /// All instances of a counterset: the logs are read once for all countersets.
    fn all_instances(&self, counterset: &Guid) -> Result<Arc<[Instance]>, SourceError> {
        let mut union = self.union.lock().unwrap_or_else(PoisonError::into_inner);
        if union.is_none() {
            *union = Some(self.union()?);
        }
        Ok(union.as_ref().and_then(|union| union.get(counterset).cloned()).unwrap_or_default())
    }

    fn union(&self) -> Result<Union, SourceError> {
        let mut deck = self.opened()?;
        let mut found: HashMap<Guid, Found> = HashMap::new();
        while deck.step()? {
            let mut is_any_to_come = false;
            for set in &deck.catalogue().countersets {
                let is_first = !found.contains_key(&set.guid);
                let comes_and_goes = deck.comes_and_goes(&set.guid);
                is_any_to_come |= comes_and_goes;
                if !is_first && !comes_and_goes {
                    continue;
                }
                let Found { all, known, rows } = found.entry(set.guid).or_default();
                rows.start();
                // What a sample does not have, another one may.
                let _ = deck.instances(&set.guid, rows);
                rows.end();
                if !is_first && !rows.changed() {
                    continue;
                }
                for instance in rows.to_instances() {
                    if known.len() < Self::INSTANCES && known.insert(instance.clone()) {
                        all.push(instance);
                    }
                }
            }
            if !is_any_to_come && !deck.is_any_unseen() {
                break;
            }
        }
        Ok(found.into_iter().map(|(guid, found)| (guid, found.all.into())).collect())
    }
}

/// Instances of a counterset, as far as samples have shown them.
#[derive(Default)]
struct Found {
    all: Vec<Instance>,
    known: HashSet<Instance>,
    rows: Rows,
}

/// The clock of a machine that is not asked.
struct Nobody;

impl Clock for Nobody {
    fn read(&mut self) -> ClockReading {
        ClockReading::default()
    }
}

impl Source for Logs {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    /// All that any sample has.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        let player = Player { deck: Arc::new(Mutex::new(self.opened()?)), logs: None };
        let machine = Machine::bare(Box::new(player.clone()));
        machine.register(Box::new(player.clone()));
        let query = machine.query();
        Ok(Box::new(Replay { player, query, damages: Arc::clone(&self.damages) }))
    }

    fn series(
        &mut self,
        counter: CounterId,
        instance: &Identity<'_>,
        window: Window,
        each: &mut dyn FnMut(&[Past<'_>]) -> ControlFlow<()>,
    ) -> Result<HasPast, SourceError> {
        let later = |a: Option<i64>, b: Option<i64>| a.max(b);
        let sooner = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let window = Window {
            begin: later(self.choice.window.begin, window.begin),
            end: sooner(self.choice.window.end, window.end),
        };
        let choice = Choice { window, ..self.choice };
        let mut deck = Self { choice, ..self.clone() }.opened()?;
        let played = series(&mut deck, counter, instance, each);
        publish(&self.damages, &deck);
        played.map(|()| HasPast::Yes)
    }
}

fn series(
    deck: &mut Deck,
    id: CounterId,
    instance: &Identity<'_>,
    each: &mut dyn FnMut(&[Past<'_>]) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    const BATCH: usize = 256;
    let guid = instance.counterset;
    let find = |deck: &Deck| {
        let catalogue = deck.catalogue();
        let set = catalogue.countersets.iter().find(|set| set.guid == guid).cloned();
        let set = set.ok_or(SourceError::UnknownCounterset(guid))?;
        let unknown = || SourceError::UnknownCounter { counterset: guid, counter: id };
        let counter = set.counter(id).cloned().ok_or_else(unknown)?;
        let needed: Vec<CounterId> = counter.needed().collect();
        let rows = Rows::new(needed.iter().filter_map(|id| set.counter(*id)));
        Ok((catalogue, set, counter, needed, rows))
    };
    let (mut catalogue, mut set, mut counter, mut needed, mut rows) = find(deck)?;
    // A hint: the row is looked for by its very name.
    let pattern = Pattern::new(&Utf16::from(instance.instance));
    let filter = InstanceFilter { pattern, id: InstanceIdFilter::One(instance.instance_id) };
    let instances = [filter].into_iter().collect();
    let mut batch: Vec<Past<'_>> = Vec::with_capacity(BATCH);
    while deck.step()? {
        if !Arc::ptr_eq(&catalogue, &deck.catalogue()) {
            (catalogue, set, counter, needed, rows) = find(deck)?;
        }
        let want = Want { counterset: &set, counters: &needed, instances: &instances, collection: 0 };
        rows.start();
        let collected = deck.collect(&want, &mut rows);
        rows.end();
        let sample = collected.map_err(|error| error.reason());
        let sample = sample.and_then(|()| rows.sample(&counter, instance, || Clocks::from(&deck.clocks())));
        batch.push(Past { time: deck.time(), sample });
        if batch.len() == BATCH {
            if each(&batch).is_break() {
                return Ok(());
            }
            batch.clear();
        }
    }
    if !batch.is_empty() {
        let _ = each(&batch); // it is over anyway
    }
    Ok(())
}

/// Says what damage a deck has met, unless another one has met more.
fn publish(damages: &Mutex<Vec<Damages>>, deck: &Deck) {
    let mut known = damages.lock().unwrap_or_else(PoisonError::into_inner);
    let count = |damages: &[Damages]| damages.iter().map(Damages::count).sum::<u64>();
    let now = deck.damages();
    if known.is_empty() || count(&now) > count(&known) {
        *known = now;
    }
}

/// A query over logs.
struct Replay {
    player: Player,
    query: Query,
    damages: Arc<Mutex<Vec<Damages>>>,
}

impl QueryHandle for Replay {
    fn add(&mut self, entry: &Entry) -> Status {
        self.query.add(entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        self.query.delete(entry)
    }

    fn info(&mut self) -> Arc<[EntryInfo]> {
        self.query.infos()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<Next, SourceError> {
        if !self.player.deck().step()? {
            return Ok(Next::End);
        }
        self.query.collect(snapshot)?;
        Ok(Next::Sample)
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        publish(&self.damages, &self.player.deck());
    }
}

/// Plays logs: the clock and the provider of a machine.
#[derive(Clone)]
struct Player {
    deck: Arc<Mutex<Deck>>,
    /// Whose instances are enumerated over all samples.
    logs: Option<Logs>,
}

impl Player {
    fn deck(&self) -> MutexGuard<'_, Deck> {
        self.deck.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Player {
    fn read(&mut self) -> ClockReading {
        self.deck().clocks()
    }
}

impl Provider for Player {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(self.deck().catalogue())
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let Some(logs) = &self.logs else { return self.deck().instances(counterset, rows) };
        for instance in logs.all_instances(counterset)?.iter() {
            rows.push_units(instance.name.units().iter().copied(), instance.id, None);
        }
        Ok(())
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.deck().collect(want, rows)
    }
}
