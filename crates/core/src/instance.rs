//! Instances of a counterset and their identity over time.

use std::num::NonZeroU64;

use crate::guid::Guid;
use crate::utf16::{Name, Utf16};

/// Id of an instance, assigned by the provider. Constant as long as the instance exists; may be reused later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u32);

/// Filter for the instance ids that a query requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstanceIdFilter {
    /// Filter that includes instances with any id.
    Any,
    /// Filter that includes only the instance with this id.
    One(InstanceId),
}

impl InstanceIdFilter {
    const ANY: u32 = 0xFFFF_FFFF;

    /// Converts the `InstanceId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn from_wire(id: u32) -> Self {
        match id {
            Self::ANY => Self::Any,
            id => Self::One(InstanceId(id)),
        }
    }

    /// Returns the `InstanceId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::Any => Self::ANY,
            Self::One(InstanceId(id)) => id,
        }
    }

    /// Returns `true` if the filter includes an instance with the id `id`.
    #[must_use]
    pub fn matches(self, id: InstanceId) -> bool {
        match self {
            Self::Any => true,
            Self::One(wanted) => wanted == id,
        }
    }
}

/// Name and id of an existing instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Name of the instance, assigned by the provider.
    pub name: Utf16,
    /// Id of the instance, assigned by the provider.
    pub id: InstanceId,
}

/// Birth of an instance: the start time of a process, or a generation. Distinguishes two instances that had the same
/// name and id one after the other. `None` = unknown.
pub type Birth = Option<NonZeroU64>;

/// Program that provides an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Owner {
    /// Operating system, or the calling program.
    #[default]
    System,
    /// Program that publishes its own counters.
    Process {
        /// Id of the publishing process; 0 if several programs of that user provide the instance together.
        pid: u32,
        /// User id of the publishing process.
        user: u32,
    },
}

/// Identity of an instance over time. Two samples can be compared only if all fields are equal; positions do not
/// matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// GUID of the instance's counterset.
    pub counterset: Guid,
    /// Name of the instance.
    pub instance: Name<'a>,
    /// Id of the instance.
    pub instance_id: InstanceId,
    /// Start time or generation of the instance.
    pub birth: Birth,
}
