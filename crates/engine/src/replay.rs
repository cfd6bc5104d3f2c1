//! Replay of recorded data: a machine that stands still between steps.

use std::sync::Arc;

use perfset_core::Status;

use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::machine::Machine;
use crate::provider::Provider;
use crate::query::Query;
use crate::snapshot::{ResolvedEntry, Snapshot};
use crate::source::{NextOutcome, QueryHandle};

/// Player of recorded data: the provider and the clock of a machine. Clones play the same sample.
pub trait Player: Provider + Clock + Clone + 'static {
    /// Advances to the next sample, at first to the first one. Returns `false` at the end.
    ///
    /// # Errors
    /// If the next sample cannot be read.
    fn step(&mut self) -> Result<bool, SourceError>;

    /// Returns a machine that contains only the recorded data.
    fn machine(&self) -> Machine {
        let machine = Machine::bare(Box::new(self.clone()));
        machine.register(Box::new(self.clone()));
        machine
    }
}

/// Query over recorded data: each step of it is the next sample.
#[derive(Debug)]
pub struct Replay<P> {
    player: P,
    query: Query,
}

impl<P: Player> Replay<P> {
    /// Creates an empty query over the player's data.
    #[must_use]
    pub fn new(player: P) -> Self {
        Self { query: player.machine().query(), player }
    }
}

impl<P: Player> QueryHandle for Replay<P> {
    fn add(&mut self, entry: &Entry) -> Status {
        self.query.add(entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        self.query.delete(entry)
    }

    fn info(&mut self) -> Arc<[ResolvedEntry]> {
        self.query.infos()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<NextOutcome, SourceError> {
        if !self.player.step()? {
            return Ok(NextOutcome::End);
        }
        self.query.collect(snapshot)?;
        Ok(NextOutcome::Sample)
    }
}
