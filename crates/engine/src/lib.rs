//! The engine: a registry of countersets, queries over them, and interfaces to everything outside it.
//!
//! A [`Machine`] has [`Provider`]s and a [`Clock`]. A [`Query`] has entries; each collection fills a [`Snapshot`]: a
//! real V2 block, plus the reasons and births that a block cannot contain. Everything that can be queried (this
//! machine, another one, a log) is a [`Source`]. A receiver of raw samples, such as an exporter of
//! metrics, is a [`Sink`].
//!
//! ```
//! use perfset::catalogue::perfset_engine as own;
//! use perfset::{Entry, Machine, Snapshot, testing::FixedClock};
//!
//! let machine = Machine::new(Box::new(FixedClock::default()));
//! let mut query = machine.query();
//! let _ = query.add(&Entry::one(own::GUID, own::COLLECTIONS_PER_SEC));
//! let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
//! query.collect(&mut old).unwrap();
//! query.collect(&mut new).unwrap(); // this clock advances one second a reading
//! let value = new.values(Some(&old)).next().unwrap();
//! assert_eq!(value.value.unwrap().raw, 1.0);
//! ```

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

pub mod error;
pub mod pattern;
pub mod filters;
pub mod entry;
mod facts;
pub mod clock;
pub mod rows;
mod runs;
pub mod provider;
pub mod deadline;
pub mod per_process;
pub mod waiters;
pub mod deadline_provider;
pub mod registration;
mod registry;
pub mod machine;
pub mod query;
pub mod total;
mod aggregate;
mod group;
mod collect;
pub mod snapshot;
pub mod values;
mod engine_counters;
pub mod source;
pub mod replay;
pub mod sampler;
pub mod sink;
pub mod perflib;
pub mod path;
pub mod v1;
pub mod testing;
#[cfg(test)]
mod tests;

pub use clock::Clock;
pub use deadline::Deadline;
pub use deadline_provider::DeadlineProvider;
pub use entry::{Counters, Entry};
pub use error::SourceError;
pub use facts::{Fact, FactKind, FactOptions};
pub use filters::{InstanceFilter, InstanceFilters};
pub use machine::{Machine, RegistrationProblem};
pub use pattern::Pattern;
pub use provider::{Catalogue, Change, CollectRequest, Provider};
pub use query::Query;
pub use registration::{RegInfo, RegRequest};
pub use replay::{Player, Replay, SampleForm};
pub use rows::{CellState, RowWriter, Rows};
pub use sampler::Sampler;
pub use sink::{PumpError, SampleSet, Sink, pump};
pub use snapshot::{EntryMetadata, ResolvedEntry, Snapshot};
pub use source::{NextOutcome, QueryHandle, RecordedSample, Source, SourceKind, Window};
pub use total::Totals;
pub use values::{SeriesValues, Value};
