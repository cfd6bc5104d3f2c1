//! Publishing: counters of a program's own, which everybody who may sees at once.
//!
//! ```
//! use perfset_shm::publish::{AverageTimer, Counter64, Counterset, Gauge};
//!
//! /// Requests of one route.
//! #[derive(Counterset)]
//! #[counterset(crate = perfset_shm, provider = "Http Example", name = "Http Example", instances = "multiple")]
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
//! **Shape**: a struct of counters is a counterset; each [`Instance`] of it is one row of what `perfset get` shows. An
//! instance exists as long as somebody holds it; asked for again by its name it is the same one. Counting takes a few
//! nanoseconds: no lock, no system call, no allocation. A process has one file in shared memory for all that it
//! publishes, made at the first instance; it is gone when the process ends, however that happens.
//!
//! **Nothing here fails.** Where there is no folder for the file, or no space in it, counters count all the same, seen
//! by nobody; [`problem`] says why. [`status`] says where they are, and who can see them.
//!
//! **Versions.** Programs that publish under one GUID are shown together, also if one has counters that another lacks.
//! A counter id says the same for ever: one that another program or a registration uses for something else is left out
//! of what readers show, and [`problem`] says that as well.
//!
//! **Forks**: a forked child does not count for its parent. What it inherited counts where nobody looks; what it asks
//! for anew is published under its own process id.

mod beside;
mod block;
pub(crate) mod clean;
mod counters;
mod definition;
pub(crate) mod file;
mod instance;
mod mounts;
mod publisher;
mod status;
pub(crate) mod store;

pub use block::Block;
pub use counters::{
    Average, AverageTimer, BusyTimer, Counter32, Counter64, ElapsedTime, Entered, Fraction, Gauge, Gauge32,
    Mine, MineTimer, Ratio, Timing,
};
pub use definition::{Cells, CounterInfo, Definition, Field};
pub use instance::{Counterset, Instance};
pub use publisher::{Publisher, problem, status};
pub use status::{PublishStatus, VisibleTo};
pub use store::{CreateError, PublishError};

pub use crate::folder::Folders;
pub use crate::merge::LeftOut;
#[doc(hidden)]
pub use perfset_core as core;
pub use perfset_derive::Counterset;
