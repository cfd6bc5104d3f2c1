//! Generated machine that can be queried: each reading of its clock advances it by one step.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use perfset::clock::{ClockReading, SystemTime};
use perfset::{
    Catalogue, Clock, CollectRequest, CounterId, Entry, Guid, Instance, InstanceId, Machine, NextOutcome,
    Provider, QueryHandle, RegInfo, RegRequest, Rows, Snapshot, Source, SourceError, Status,
};

use crate::world::{Delivered, World, source_error};

/// Player of a generated machine: the machine and its current step.
#[derive(Clone, Debug, Default)]
pub struct Play {
    world: Arc<Mutex<Option<Arc<World>>>>,
    next: Arc<AtomicUsize>,
}

impl Play {
    pub fn new(world: &Arc<World>) -> Self {
        let play = Self::default();
        play.begin(world);
        play
    }

    /// Restarts the player with another generated machine.
    pub fn begin(&self, world: &Arc<World>) {
        *self.world.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(world));
        self.next.store(0, Relaxed);
    }

    /// Returns a machine with the countersets of the generated machine and no others.
    pub fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(self.clone()));
        for provider in 0..2 {
            machine.register(Box::new(Part { play: self.clone(), provider }));
        }
        machine
    }

    /// Returns a generated machine as a log source, whose queries end after the last step.
    pub fn source(world: &Arc<World>) -> Log {
        let play = Self::new(world);
        Log { machine: play.machine(), play }
    }

    /// Returns `true` if all steps of the generated machine were collected.
    pub fn is_over(&self) -> bool {
        self.next.load(Relaxed) >= self.world().map_or(0, |world| world.steps.len())
    }

    fn world(&self) -> Option<Arc<World>> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the generated machine and its current step.
    fn now(&self) -> Option<(Arc<World>, usize)> {
        self.world().map(|world| (world, self.next.load(Relaxed).saturating_sub(1)))
    }
}

impl Clock for Play {
    fn read(&mut self) -> ClockReading {
        let Some(world) = self.world() else { return ClockReading::default() };
        let at = self.next.fetch_add(1, Relaxed);
        let step =
            world.steps.get(at).unwrap_or_else(|| panic!("seed {}: there is no step {at}", world.seed));
        ClockReading {
            perf_time: step.perf_time,
            time_100ns: step.time,
            perf_freq: 1_000_000_000,
            system_time: SystemTime::from_100ns(step.time),
        }
    }
}

/// Provider of a part of the countersets of a generated machine.
#[derive(Clone, Debug)]
struct Part {
    play: Play,
    provider: usize,
}

impl Part {
    /// Calls a function with the current rows, or the failure, of a counterset.
    fn delivered(&self, guid: &Guid, each: impl FnOnce(&World, usize, &Delivered)) {
        let Some((world, at)) = self.play.now() else { return };
        let set = world.sets.iter().position(|set| set.guid == *guid);
        if let (Some(set), Some(step)) = (set, world.steps.get(at)) {
            each(&world, set, &step.sets[set]);
        }
    }
}

impl Provider for Part {
    /// Returns the catalogue of the next step, because it is requested before the clock is read.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let Some(world) = self.play.world() else { return Ok(Arc::default()) };
        let at = self.play.next.load(Relaxed).min(world.steps.len() - 1);
        Ok(Arc::clone(&world.catalogues[at][self.provider]))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let mut failure = None;
        self.delivered(counterset, |_, _, delivered| match delivered {
            Delivered::Rows(all) => {
                for row in all {
                    rows.push(row.name, InstanceId(row.id), NonZeroU64::new(row.birth));
                }
            }
            other => failure = source_error(other),
        });
        failure.map_or(Ok(()), Err)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let mut failure = None;
        self.delivered(&want.counterset.guid, |world, set, delivered| {
            let all = match delivered {
                Delivered::Rows(all) => all,
                other => {
                    failure = source_error(other);
                    return;
                }
            };
            let column = |id: &CounterId| world.sets[set].columns.iter().position(|c| c.id == id.0);
            let places: Vec<_> = want.counters.iter().map(column).collect();
            for row in all {
                let mut out = rows.push(row.name, InstanceId(row.id), NonZeroU64::new(row.birth));
                for (column, place) in places.iter().enumerate() {
                    let Some(cell) = place.map(|at| &row.cells[at]) else { continue };
                    match (cell.raw, cell.mark) {
                        (Ok(raw), Some(mark)) => out.set_marked(column, raw, mark),
                        (Ok(raw), None) => out.set(column, raw),
                        (Err(lack), _) => out.set_unavailable(column, lack.reason()),
                    }
                }
            }
        });
        failure.map_or(Ok(()), Err)
    }
}

/// Generated machine as a log source, whose queries end after the last step.
#[derive(Clone, Debug)]
pub struct Log {
    machine: Machine,
    play: Play,
}

impl Source for Log {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Ok(Box::new(Tape { query: self.machine.query(), play: self.play.clone() }))
    }
}

struct Tape {
    query: perfset::Query,
    play: Play,
}

impl QueryHandle for Tape {
    fn add(&mut self, entry: &Entry) -> Status {
        self.query.add(entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        self.query.delete(entry)
    }

    fn info(&mut self) -> Arc<[perfset::ResolvedEntry]> {
        self.query.infos()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<NextOutcome, SourceError> {
        if self.play.is_over() {
            return Ok(NextOutcome::End);
        }
        self.query.collect(snapshot)?;
        Ok(NextOutcome::Sample)
    }
}
