//! Log source that is made of V1 blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use perfset_core::clock::ClockReading;
use perfset_core::v1::TitleNames;
use perfset_core::visit::Mode;
use perfset_core::{Guid, Instance};

use super::objects::{ObjectProblem, ObjectSets, Recording};
use super::titles::windows_names;
use crate::clock::Clock;
use crate::error::SourceError;
use crate::machine::Machine;
use crate::provider::{Catalogue, CollectRequest, Provider};
use crate::registration::{RegInfo, RegRequest};
use crate::replay::{Player, Replay};
use crate::rows::Rows;
use crate::source::{QueryHandle, Source};

/// Log source made of one machine's V1 blocks, oldest first. Each collection of a query reads the next block.
///
/// An object is a counterset. If the catalogue contains its name, it has the catalogue's GUID, and its counters the
/// catalogue's ids. Any other object has the GUID computed from its name (UUID version 5), and its counters' ids are
/// their positions. An instance's name is `parent/child`. Its id is its UniqueID, else its index among instances of
/// that name. If an object has elapsed times and an id counter, the start time is the birth.
///
/// ```
/// use perfset::visit::Mode;
/// use perfset::{path::PathQuery, v1::Blocks};
/// # use perfset::{v1::*, CounterType, clock::ClockReading};
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
    /// Machine that shows the newest V1 block, for requests that do not depend on a query.
    machine: Machine,
}

#[derive(Debug)]
struct Recorded {
    blocks: Vec<Recording>,
    objects: ObjectSets,
    catalogue: Arc<Catalogue>,
}

/// Problem in a V1 block: data was omitted, or is irregular.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct BlockProblem {
    /// Index of the faulty V1 block, from 0.
    pub block: usize,
    /// Description of the problem in the V1 block.
    pub what: ObjectProblem,
}

impl Blocks {
    /// Creates a log source of one machine's V1 blocks, oldest first, with their name table. Without a table, a title
    /// index gets the name that every Windows has, if the catalogue contains it, and otherwise `#` and the index.
    ///
    /// # Errors
    /// If a block cannot be read; in strict mode also if it breaks a rule.
    pub fn new(
        blocks: Vec<Vec<u8>>,
        names: Option<&TitleNames>,
        mode: Mode,
    ) -> Result<(Self, Vec<BlockProblem>), BlockProblem> {
        let built_in = names.is_none().then(windows_names);
        let unnamed = TitleNames::default();
        let names = names.or(built_in.as_ref()).unwrap_or(&unnamed);
        let (mut recorded, mut objects, mut problems) = (Vec::new(), ObjectSets::default(), Vec::new());
        for (block, bytes) in blocks.into_iter().enumerate() {
            let refused = |error| BlockProblem { block, what: ObjectProblem::Broken(error) };
            let (recording, troubles) = objects.add(bytes, names, mode).map_err(refused)?;
            recorded.push(recording);
            problems.extend(troubles.into_iter().map(|what| BlockProblem { block, what }));
        }
        let catalogue = Arc::new(objects.catalogue());
        let recorded = Arc::new(Recorded { blocks: recorded, objects, catalogue });
        let newest = BlockPlayer::new(&recorded, recorded.blocks.len());
        Ok((Self { machine: newest.machine(), recorded }, problems))
    }

    /// Returns the machine with the countersets of the V1 blocks and their texts.
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

    /// Returns the instances of a counterset in the newest V1 block.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Ok(Box::new(Replay::new(BlockPlayer::new(&self.recorded, 0))))
    }
}

/// Player of recorded V1 blocks, one at a time.
#[derive(Clone, Debug)]
struct BlockPlayer {
    recorded: Arc<Recorded>,
    /// Number of steps that the player made, including the step to the current block.
    steps: Arc<AtomicUsize>,
}

impl BlockPlayer {
    fn new(recorded: &Arc<Recorded>, steps: usize) -> Self {
        Self { recorded: Arc::clone(recorded), steps: Arc::new(AtomicUsize::new(steps)) }
    }

    fn recording(&self) -> Result<&Recording, SourceError> {
        let block = self.steps.load(Relaxed).checked_sub(1).and_then(|block| self.recorded.blocks.get(block));
        block.ok_or(SourceError::Failed("the source has no block".into()))
    }
}

impl Player for BlockPlayer {
    fn step(&mut self) -> Result<bool, SourceError> {
        let steps = self.steps.load(Relaxed);
        // At the end the number stays, so that the last block remains the current one.
        let is_there = steps < self.recorded.blocks.len();
        self.steps.store(steps.saturating_add(usize::from(is_there)), Relaxed);
        Ok(is_there)
    }
}

impl Clock for BlockPlayer {
    fn read(&mut self) -> ClockReading {
        self.recording().map(Recording::clocks).unwrap_or_default()
    }
}

impl Provider for BlockPlayer {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.recorded.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.recorded.objects.instances(self.recording()?, counterset, rows)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.recorded.objects.collect(self.recording()?, want, rows)
    }
}
