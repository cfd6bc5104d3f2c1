//! Windows performance counters as a library for Linux: a catalogue of countersets and counters with names, types,
//! help texts and formulas.
//!
//! Example: utilization of each processor.
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
//! **Shape**: a [`Machine`] has countersets. A [`Query`] has entries, each a counterset with filters for counters and
//! instances. A collection fills a [`Snapshot`]: a PerfLib V2 block in the layout of Windows, and metadata that a
//! block cannot contain, such as the reason for a missing value and the start time of an instance. [Formatted
//! values](Snapshot::values) are computed from two snapshots. An unknown value is never reported as 0: [`NoValue`]
//! contains the reason.
//!
//! **Where to go from here**:
//!
//! | to | see |
//! |---|---|
//! | read counters by path, such as `\Memory\Available Bytes`, from this machine or a log | [`path`] |
//! | publish counters of your own program | [`publish`](publish/index.html), on Linux with that feature |
//! | add counters of another source to a machine | [`provider`] |
//! | find a counterset, with its GUID and counter ids as constants | [`catalogue`] |
//! | read logs of Performance Monitor | [`log`] |
//! | see the state of a machine at a glance, with findings | [`overview`](overview/index.html) (feature `output`) |
//! | write values as tables, CSV or JSON, or in your own format | [`output`](output/index.html) (feature `output`) |
//! | read and write blocks, also of other programs, without a machine | [`v2`], [`v1`] |
//! | call PerfLib's functions for consumers, as the C library does | [`perflib`] |
//!
//! [`Provider`], [`Source`] and [`Sink`] are the traits for custom values, machines and receivers of raw samples.
//! Guides in the repository (`docs/guides/write-a-provider.md`, `write-a-source.md`, `write-an-output.md`) build one of
//! each, step by step; their programs are examples of this crate.
//!
//! **Features**: `publish` is the module of that name on Linux, `manifest`, and counters of applications on the local
//! machine. `derive` is the derive macro for countersets. Both are on by default. `output` is the module of that name,
//! with tables, CSV and JSON, and `sqlite` writes SQL logs.
//!
//! The example `cpu_perf_counters` reads all counters of all processors into a struct, like the class in Microsoft's
//! documents.

mod machine;
#[cfg(feature = "output")]
pub mod overview;
#[cfg(all(feature = "publish", target_os = "linux"))]
pub mod publish;
pub mod tables;

/// Compiles the program in the publishing guide as a doc test.
#[cfg(all(doctest, feature = "derive", target_os = "linux"))]
#[doc = include_str!("../../../docs/guides/publish.md")]
mod guide {}

/// The V1 performance data format: reads and writes its blocks and name tables, exports a machine as V1, and provides
/// V1 blocks as a [`Source`].
pub mod v1 {
    pub use perfset_core::v1::*;
    pub use perfset_engine::v1::*;
}

#[cfg(target_os = "linux")]
pub use machine::{inventory, prepare_walks, set_deadline, set_process_source};
#[cfg(target_os = "linux")]
pub use perfset_linux::{ProcessSource, drop_walk_capabilities, release_memory, return_large_pieces};
pub use perfset_log as log;
#[cfg(feature = "publish")]
pub use perfset_manifest as manifest;
#[cfg(feature = "output")]
pub use perfset_output as output;
pub use perfset_windows as windows;

pub use machine::{
    all_users, capture, computer_name, deadline_from_env, is_local, local, machine, now, own_name,
    parse_deadline, perf_time, separate, system, time_100ns,
};
pub use perfset_catalogue as catalogue;
pub use perfset_core::{
    Aggregate, Attributes, Birth, CostClass, Counter, CounterFilter, CounterId, CounterSource, CounterType,
    Counterset, DetailLevel, FormattedValue, Guid, Identity, Instance, InstanceId, InstanceIdFilter,
    InstanceType, Language, Mark, Name, NoValue, Owner, ProviderIdentity, RawValue, Sample, Status, Text,
    Translation, Utf16,
};
pub use perfset_core::{clock, counter_type, formula, likeness, sample, utf16, v2, visit, wire};
pub use perfset_engine::source::computer_name as computer_name_of;
pub use perfset_engine::waiters::{MOST_OF_A_KIND as MOST_WAITING_OF_A_KIND, MOST_THREADS as MOST_WAITING};
pub use perfset_engine::{
    Catalogue, CellState, Change, Clock, CollectRequest, Counters, Deadline, DeadlineProvider, Entry,
    EntryMetadata, Fact, FactKind, FactOptions, InstanceFilter, InstanceFilters, Machine, NextOutcome,
    Pattern, Provider, PumpError, Query, QueryHandle, RecordedSample, RegInfo, RegRequest,
    RegistrationProblem, ResolvedEntry, RowWriter, Rows, SampleSet, SeriesValues, Sink, Snapshot, Source,
    SourceError, SourceKind, Value, Window, path, perflib, provider, pump, replay, testing,
};
