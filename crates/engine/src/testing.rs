//! Scripted clock and provider: for tests, examples, and authors of providers.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::{Counterset, Guid, Identity, InstanceId, Mark, NoValue, Owner, Status, Text};

use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::provider::{Catalogue, Change, CollectRequest, Provider};
use crate::rows::{RowWriter, Rows};

/// Clock of a collection that advances by one second per reading.
#[derive(Clone, Debug)]
pub struct FixedClock(pub ClockReading);

impl Default for FixedClock {
    fn default() -> Self {
        let time_100ns = perfset_core::clock::UNIX_EPOCH_100NS;
        let system_time = SystemTime::from_100ns(time_100ns);
        Self(ClockReading { perf_time: 0, time_100ns, perf_freq: 1_000_000_000, system_time })
    }
}

impl Clock for FixedClock {
    fn read(&mut self) -> ClockReading {
        let now = self.0;
        self.0.perf_time = now.perf_time.saturating_add(now.perf_freq);
        self.0.time_100ns = now.time_100ns.saturating_add(10_000_000);
        self.0.system_time = SystemTime::from_100ns(self.0.time_100ns);
        now
    }
}

/// Current data and behaviour of a [`Scripted`] provider. A test shares the script with the provider, so that it can
/// change it.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Countersets of the scripted provider.
    pub catalogue: Arc<Catalogue>,
    /// Rows of every counterset of the scripted provider.
    pub rows: Vec<ScriptRow>,
    /// Scripted reasons for the missing values of columns, for cells that have no reason in their row.
    pub reasons: Vec<(usize, NoValue)>,
    /// Marks for all values of a scripted row: row ids and marks.
    pub marks: Vec<(u32, Mark)>,
    /// Scripted values whose counting began at a separate time: row ids, columns and times.
    pub counts: Vec<(u32, usize, u64)>,
    /// Births of scripted rows: row ids and births.
    pub births: Vec<(u32, u64)>,
    /// Owners of scripted rows that do not belong to the system: row ids and owners.
    pub owners: Vec<(u32, Owner)>,
    /// Error that every collection of the scripted provider returns, if any.
    pub failure: Option<SourceError>,
    /// `true` if the provider panics in every collection.
    pub panics: bool,
    /// Lock that a collection waits for; holding it makes the provider late.
    pub gate: Arc<Mutex<()>>,
    /// Texts that [`Provider::describe`] returns.
    pub about: Vec<(Text, Text)>,
    /// Texts that [`Provider::problems`] returns.
    pub problems: Vec<Text>,
    /// Sentences that [`Provider::not_shown`] returns.
    pub not_shown: Vec<Text>,
    /// Origins of countersets that [`Provider::origin`] returns.
    pub origins: Vec<(Guid, Text)>,
    /// Problems that [`Provider::left_out`] returns.
    pub left_out: Vec<(Guid, Text)>,
    /// Facts that [`Provider::facts`] returns: ids of instances, and their facts or the error.
    pub facts: Vec<(u32, Result<Vec<Fact>, SourceError>)>,
    /// Status that [`Provider::entry`] returns; success if `None`.
    pub answer: Option<Status>,
    /// Requests that the scripted provider received, in order.
    pub log: Vec<String>,
}

/// Row of a [`Script`]: name, id, and the values of the wanted counters in order.
pub type ScriptRow = (&'static str, u32, Vec<Result<u64, NoValue>>);

impl Script {
    /// Pushes the next scripted row onto the rows of a collection.
    fn push<'a>(&self, rows: &'a mut Rows, name: &str, id: u32) -> RowWriter<'a> {
        let owner = self.owners.iter().find(|(of, _)| *of == id).map(|(_, owner)| *owner);
        let birth =
            self.births.iter().find(|(of, _)| *of == id).and_then(|(_, birth)| NonZeroU64::new(*birth));
        rows.set_owner(owner.unwrap_or_default());
        rows.push(name, InstanceId(id), birth)
    }
}

/// Provider that follows a [`Script`].
#[derive(Clone, Debug, Default)]
pub struct Scripted(pub Arc<Mutex<Script>>);

impl Scripted {
    /// Creates a scripted provider of these countersets.
    #[must_use]
    pub fn new(countersets: Vec<Counterset>) -> Self {
        let countersets = countersets.into_iter().map(Arc::new).collect();
        let script = Script {
            catalogue: Arc::new(Catalogue { origin: "Script".into(), countersets }),
            ..Script::default()
        };
        Self(Arc::new(Mutex::new(script)))
    }

    /// Reads or changes the script of the provider.
    pub fn with<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Provider for Scripted {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(self.with(|script| Arc::clone(&script.catalogue)))
    }

    fn instances(&mut self, _: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let script = self.with(|script| script.clone());
        for (name, id, _) in &script.rows {
            script.push(rows, name, *id);
        }
        Ok(())
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        self.with(|script| {
            let name = entry.instance.as_ref().map(ToString::to_string);
            let ids = entry.counters.ids().map(|ids| ids.iter().map(|id| id.0).collect::<Vec<_>>());
            script.log.push(format!("{change:?} {ids:?} {name:?}"));
            script.answer.unwrap_or(Status::ERROR_SUCCESS)
        })
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let script = self.with(|script| {
            let ids: Vec<_> = want.counters.iter().map(|id| id.0).collect();
            script.log.push(format!("Collect {ids:?}"));
            script.clone()
        });
        drop(script.gate.lock());
        #[expect(clippy::panic, reason = "a provider that panics is what a test asks for")]
        if script.panics {
            panic!("as told");
        }
        for (column, reason) in &script.reasons {
            rows.none_in_column(*column, reason.clone());
        }
        for (name, id, values) in &script.rows {
            let mut row = script.push(rows, name, *id);
            for (_, mark) in script.marks.iter().filter(|(marked, _)| marked == id) {
                row.mark(*mark);
            }
            for (column, value) in values.iter().enumerate() {
                let counts = script.counts.iter().find(|(of, at, _)| (of, *at) == (id, column));
                let since = counts.and_then(|(_, _, since)| NonZeroU64::new(*since));
                let mark = script.marks.iter().find(|(marked, _)| marked == id).map(|(_, mark)| *mark);
                match (value, since) {
                    (Ok(value), Some(since)) => row.set_counted(column, *value, mark, since),
                    (Ok(value), None) => row.set(column, *value),
                    (Err(reason), _) => row.set_unavailable(column, reason.clone()),
                }
            }
        }
        script.failure.map_or(Ok(()), Err)
    }

    fn facts(&mut self, instance: &Identity<'_>, _: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let InstanceId(id) = instance.instance_id;
        let facts = self.with(|script| script.facts.clone());
        facts.into_iter().find(|(of, _)| *of == id).map_or(Ok(Vec::new()), |(_, facts)| facts)
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        self.with(|script| script.about.clone())
    }

    fn problems(&mut self) -> Vec<Text> {
        self.with(|script| script.problems.clone())
    }

    fn not_shown(&mut self, _: Option<&Guid>) -> Vec<Text> {
        self.with(|script| script.not_shown.clone())
    }

    fn origin(&mut self, counterset: &Guid) -> Option<Text> {
        self.with(|script| {
            script.origins.iter().find(|(of, _)| of == counterset).map(|(_, text)| text.clone())
        })
    }

    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        self.with(|script| script.left_out.clone())
    }
}
