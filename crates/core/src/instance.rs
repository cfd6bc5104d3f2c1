//! Instances: the things of one kind that exist now, and how one is known again later.

use std::num::NonZeroU64;

use crate::guid::Guid;
use crate::utf16::{Name, Utf16};

/// A provider's number for an instance; stable while the thing lives, not unique for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u32);

/// Which instance ids a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstanceIdFilter {
    /// Any id.
    Any,
    /// One id.
    One(InstanceId),
}

impl InstanceIdFilter {
    const ANY: u32 = 0xFFFF_FFFF;

    /// From the `InstanceId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn from_wire(id: u32) -> Self {
        match id {
            Self::ANY => Self::Any,
            id => Self::One(InstanceId(id)),
        }
    }

    /// The `InstanceId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::Any => Self::ANY,
            Self::One(InstanceId(id)) => id,
        }
    }

    /// Whether an instance with this id passes.
    #[must_use]
    pub fn matches(self, id: InstanceId) -> bool {
        match self {
            Self::Any => true,
            Self::One(wanted) => wanted == id,
        }
    }
}

/// Name and id of an instance that exists now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The provider's name for it.
    pub name: Utf16,
    /// The provider's number for it.
    pub id: InstanceId,
}

/// Tells two things apart that had the same name and number one after the other: start time of a process,
/// generation of an instance. `None` = unknown.
pub type Birth = Option<NonZeroU64>;

/// Who answers for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Owner {
    /// The operating system, or the program that asks.
    #[default]
    System,
    /// A program that publishes counters of its own.
    Process {
        /// Its process id; 0 of what several programs of that user give together.
        pid: u32,
        /// The user that it runs as.
        user: u32,
    },
}

/// What must agree before two samples may be compared: identity, not position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The counterset.
    pub counterset: Guid,
    /// The instance's name.
    pub instance: Name<'a>,
    /// The instance's id.
    pub instance_id: InstanceId,
    /// The instance's birth.
    pub birth: Birth,
}
