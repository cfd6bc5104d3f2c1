//! Replacement for the SQLite output in a build without the feature `sqlite`: it only fails.

use anyhow::anyhow;
use perfset::log::Existing;
use perfset::log::text::Zone;

use super::RelogSource;
use crate::destination::Destination;
use crate::exit::{Exit, Failure};

/// Writer that cannot exist.
pub enum Sql {}

impl Sql {
    /// Fails with the reason.
    pub fn new(_: &Destination, _: &str, _: Zone, _: Existing) -> Result<Self, Failure> {
        let error = anyhow!("this perfset is built without SQLite: build it with the feature sqlite");
        Err(Failure::new(Exit::Usage, error))
    }

    pub fn sample(&mut self, _: i64, _: &[RelogSource]) -> Result<(), Failure> {
        match *self {}
    }

    pub fn is_new(&self) -> bool {
        match *self {}
    }

    pub fn finish(self) -> Result<(), Failure> {
        match self {}
    }
}
