//! V1 blocks as a source.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use perfset_core::clock::ClockReading;
use perfset_core::v1::Names;
use perfset_core::walk::Mode;
use perfset_core::{Guid, Instance, Status};

use super::objects::{ObjectSets, Recording, Trouble};
use super::titles::windows_names;
use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::machine::Machine;
use crate::provider::{Catalogue, Provider, Want};
use crate::query::Query;
use crate::registration::{RegInfo, RegRequest};
use crate::rows::Rows;
use crate::snapshot::{EntryInfo, Snapshot};
use crate::source::{Next, QueryHandle, Source};

/// Blocks of one machine, the older first, as a source with a past: each step of a query is the next block.
///
/// An object is a counterset. One that the catalogue knows by its name has the catalogue's GUID, and its counters the
/// catalogue's ids; any other has the GUID that its name gives (UUID version 5), and its counters' ids are their
/// positions. An instance's name is `parent/child`; its id is its UniqueID, else which of that name it is; where an
/// object has elapsed times and an id counter, the start time is its birth.
///
/// ```
/// use perfset_core::walk::Mode;
/// use perfset_engine::{path::PathQuery, v1::Blocks};
/// # use perfset_core::{v1::*, CounterType, clock::ClockReading};
/// # let mut builder = BlockBuilder::new(&ClockReading::default(), "HOST");
/// # builder.single(&NewObject::new(4), &[NewCounter::new(24, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)], [7]);
/// # let bytes = builder.finish()?;
///
/// let (mut blocks, problems) = Blocks::new(vec![bytes], None, Mode::Strict)?;
/// assert!(problems.is_empty());
/// let mut query = PathQuery::open(&mut blocks)?;
/// query.add(&mut blocks, &r"\Memory\Available Bytes".parse()?)?;
/// query.collect()?;
/// assert_eq!(query.values()[0].value.value.clone()?.raw, 7.0);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks {
    recorded: Arc<Recorded>,
    /// Answers what does not depend on the block.
    machine: Machine,
}

#[derive(Debug)]
struct Recorded {
    blocks: Vec<Recording>,
    objects: ObjectSets,
    catalogue: Arc<Catalogue>,
}

/// Something that is not taken over from a block, or that is strange about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Problem {
    /// Which block, from 0.
    pub block: usize,
    /// What it is.
    pub what: Trouble,
}

impl Blocks {
    /// Takes blocks of one machine, the older first, and the table of their names; without one the names are those that
    /// Windows has everywhere and the catalogue knows, and `#` and the index for others.
    ///
    /// # Errors
    /// If a block cannot be read; in strict mode also if it breaks a rule.
    pub fn new(
        blocks: Vec<Vec<u8>>,
        names: Option<&Names>,
        mode: Mode,
    ) -> Result<(Self, Vec<Problem>), Problem> {
        let built_in = names.is_none().then(windows_names);
        let unnamed = Names::default();
        let names = names.or(built_in.as_ref()).unwrap_or(&unnamed);
        let (mut recorded, mut objects, mut problems) = (Vec::new(), ObjectSets::default(), Vec::new());
        for (block, bytes) in blocks.into_iter().enumerate() {
            let refused = |error| Problem { block, what: Trouble::Broken(error) };
            let (recording, troubles) = objects.add(bytes, names, mode).map_err(refused)?;
            recorded.push(recording);
            problems.extend(troubles.into_iter().map(|what| Problem { block, what }));
        }
        let catalogue = Arc::new(objects.catalogue());
        let recorded = Arc::new(Recorded { blocks: recorded, objects, catalogue });
        let newest = recorded.blocks.len().saturating_sub(1);
        let (machine, _) = Player::machine(&recorded, newest);
        Ok((Self { recorded, machine }, problems))
    }

    /// Its countersets and what they are called by people.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
}

impl Source for Blocks {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    /// Those of the newest block.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        let (machine, current) = Player::machine(&self.recorded, 0);
        let query = machine.query();
        Ok(Box::new(Replay { recorded: Arc::clone(&self.recorded), current, next: 0, query }))
    }
}

/// A query over blocks.
#[derive(Debug)]
struct Replay {
    recorded: Arc<Recorded>,
    /// The block that its machine plays.
    current: Arc<AtomicUsize>,
    next: usize,
    query: Query,
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
        if self.next >= self.recorded.blocks.len() {
            return Ok(Next::End);
        }
        self.current.store(self.next, Relaxed);
        self.query.collect(snapshot)?;
        self.next = self.next.saturating_add(1);
        Ok(Next::Sample)
    }
}

/// Plays one block: the clock and the provider of a machine that stands still.
#[derive(Clone, Debug)]
struct Player {
    recorded: Arc<Recorded>,
    current: Arc<AtomicUsize>,
}

impl Player {
    /// A machine that plays that block, and what says which one it plays.
    fn machine(recorded: &Arc<Recorded>, block: usize) -> (Machine, Arc<AtomicUsize>) {
        let current = Arc::new(AtomicUsize::new(block));
        let player = Self { recorded: Arc::clone(recorded), current: Arc::clone(&current) };
        let machine = Machine::bare(Box::new(player.clone()));
        machine.register(Box::new(player));
        (machine, current)
    }

    fn recording(&self) -> Result<&Recording, SourceError> {
        let current = self.current.load(Relaxed);
        self.recorded.blocks.get(current).ok_or(SourceError::Failed("there is no block".into()))
    }
}

impl Clock for Player {
    fn read(&mut self) -> ClockReading {
        self.recording().map(Recording::clocks).unwrap_or_default()
    }
}

impl Provider for Player {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.recorded.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.recorded.objects.instances(self.recording()?, counterset, rows)
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.recorded.objects.collect(self.recording()?, want, rows)
    }
}
