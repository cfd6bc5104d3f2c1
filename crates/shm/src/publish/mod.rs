//! Publishes counters of this program. The crate `perfset` documents this module, as `perfset::publish`, and adds the
//! derive macro for [`Counterset`].

mod beside;
mod block;
pub(crate) mod clean;
mod counters;
mod definition;
mod error;
pub(crate) mod file;
mod instance;
mod instance_bytes;
mod mounts;
mod publisher;
mod slots;
mod status;
pub(crate) mod store;

pub use block::InstanceBlock;
pub use counters::{
    Average, AverageTimer, BusyTimer, Counter32, Counter64, ElapsedTime, Fraction, Gauge, Gauge32,
    GaugeGuard, Ratio, ThreadCounter, ThreadTimer, TimerGuard,
};
pub use definition::{Cells, CounterField, CounterInfo, Definition};
pub use error::{CreateError, PublishError};
pub use instance::{Counterset, PublishedInstance};
pub use publisher::{Publisher, problem, status};
pub use status::{PublishStatus, VisibleTo};

pub use crate::folder::Folders;
pub use crate::merge::LeftOut;
/// Types that the code of the derive macro names. Programs name them by their paths in `perfset`.
#[doc(hidden)]
pub mod __private {
    pub use once_cell::race::OnceBox;
    pub use perfset_core::{Aggregate, Attributes, CounterType, DetailLevel, Guid, InstanceType};
}
