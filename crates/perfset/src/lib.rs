//! Windows' performance counters as a library: one catalogue of everything that is counted, with names, types, help
//! and formulas, on Linux.
//!
//! How busy is each processor?
//!
//! ```no_run
//! use perfset::{Entry, Snapshot, catalogue::processor_information as cpu};
//!
//! fn main() -> Result<(), perfset::SourceError> {
//!     let mut query = perfset::local().query();
//!     let _ = query.add(&Entry::one(cpu::GUID, cpu::PERCENT_PROCESSOR_TIME).instance("*"));
//!     let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
//!     query.collect(&mut old)?;
//!     std::thread::sleep(std::time::Duration::from_secs(1));
//!     query.collect(&mut new)?;
//!     for value in new.values(Some(&old)) {
//!         match value.value {
//!             Ok(percent) => println!("{:10} {:5.1} %", value.instance, percent.capped()),
//!             Err(reason) => println!("{:10}     - {reason}", value.instance),
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! **Shape**: a [`Machine`] has countersets; a [`Query`] has entries, each a counterset with filters for counters and
//! instances; collecting fills a [`Snapshot`], which is a PerfLib V2 block, laid out by Windows' rules, and an
//! annex with what a block has no place for: why a value is missing, when an instance was born. Two snapshots give
//! [formatted values](Snapshot::values). Nothing is 0 because it is unknown: [`NoValue`] says why.
//!
//! [`catalogue`] has the built-in countersets with their GUIDs and counter ids as constants. [`v2`] and [`v1`] read and
//! write blocks by themselves, also those of strangers; [`v1`] also makes a machine of blocks that were recorded.
//! [`perflib`] has what PerfLib's functions for consumers take and give, as blocks; the C library is made of it.
//! [`Provider`], [`Source`] and [`Sink`] are the seams for values, machines and outputs of your own.
//!
//! The example `cpu_perf_counters` reads all counters of all processors into a struct, as the class in Microsoft's
//! documents does.

#[cfg(feature = "json")]
pub mod json;
mod machine;

/// The guide's program builds.
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../docs/guides/publish.md")]
mod guide {}

/// The V1 performance data format: its blocks and name tables, both ways; a machine as V1, and V1 blocks as a
/// [`Source`].
pub mod v1 {
    pub use perfset_core::v1::*;
    pub use perfset_engine::v1::*;
}

#[cfg(target_os = "linux")]
pub use machine::{prepare_walks, set_deadline, set_process_source};
#[cfg(target_os = "linux")]
pub use perfset_linux::{ProcessSource, drop_walk_capabilities, release_memory, return_large_pieces};
pub use perfset_log as log;
pub use perfset_manifest as manifest;
#[cfg(target_os = "linux")]
pub use perfset_shm::publish;
pub use perfset_windows as windows;

pub use machine::{
    all_users, capture, computer_name, deadline_from_env, is_local, local, machine, now, own_name,
    parse_deadline, perf_time, separate, system, time_100ns,
};
pub use perfset_core::{
    Aggregate, Attributes, Birth, Counter, CounterFilter, CounterId, CounterType, Counterset, DetailLevel,
    FormattedValue, Guid, Identity, Instance, InstanceId, InstanceIdFilter, InstanceType, Language, Mark,
    Name, NoValue, Owner, ProviderIdentity, RawValue, Sample, Status, Text, Translation, Utf16,
};
pub use perfset_core::{catalogue, clock, counter_type, formula, likeness, sample, utf16, v2, walk, wire};
pub use perfset_engine::waiters::{MOST_OF_A_KIND as MOST_WAITING_OF_A_KIND, MOST_THREADS as MOST_WAITING};
pub use perfset_engine::{
    Catalogue, Change, Clock, Counters, Deadline, Entry, EntryAnnex, EntryInfo, HasPast, InstanceFilter,
    InstanceFilters, Machine, Next, Note, Past, Pattern, Provider, PumpError, Query, QueryHandle, RegInfo,
    RegRequest, RegistrationProblem, Row, Rows, SampleSet, Sink, Slow, Snapshot, Source, SourceError, Value,
    Want, Window, path, perflib, pump, testing,
};
