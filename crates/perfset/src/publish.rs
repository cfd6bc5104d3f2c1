//! Publishes counters of this program in shared memory. Every user with read permission sees them immediately.
//!
//! ```
//! use perfset::publish::{AverageTimer, Counter64, Counterset, Gauge};
//!
//! /// Requests of one route.
//! #[derive(Counterset)]
//! #[counterset(provider = "Http Example", name = "Http Example", instances = "multiple")]
//! struct Route {
//!     /// Requests that were answered.
//!     #[counter(name = "Requests/sec")]
//!     requests: Counter64,
//!     /// Requests that are being answered.
//!     #[counter(name = "Active Requests")]
//!     active: Gauge,
//!     /// How long an answer takes.
//!     #[counter(name = "Average Latency")]
//!     latency: AverageTimer,
//! }
//!
//! let route = Route::instance("GET /users");
//! let _active = route.active.enter();
//! let _timing = route.latency.start();
//! route.requests.increment();
//! ```
//!
//! **Shape**: a struct of counters is a counterset; each [`PublishedInstance`] of it is one row in the output of
//! `perfset get`. An instance exists as long as it is held; requesting its name again returns the same instance.
//! Counting takes a few nanoseconds: no lock, no system call, no allocation. A process has one file in shared memory
//! for all that it publishes, created with the first instance. The file is removed when the process ends, however it
//! ends.
//!
//! **No errors.** Without a directory for the file, or without space in it, counters still count, invisible to
//! readers. [`problem`] returns the reason. [`status`] returns where the counters are, and who can see them.
//!
//! **Versions.** Programs that publish under one GUID are shown together, even if one has counters that another
//! lacks. The meaning of a counter id never changes. Readers leave out a counter whose id another program or a
//! registration uses for something else; [`problem`] reports that as well.
//!
//! **Forks**: a forked child does not count for its parent. Inherited instances count invisibly; instances requested
//! after the fork are published under the child's process id.

#[cfg(feature = "derive")]
pub use perfset_derive::Counterset;
pub use perfset_shm::publish::*;
