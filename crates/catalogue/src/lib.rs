//! The built-in countersets: definitions that are known on every system, to collect them or to read logs and blocks.
//!
//! **Shape**: one module per counterset, with its GUID and the ids of its counters as constants, for programs that
//! know at build time what they need. [`ALL`] and [`by_guid`] are for other programs. All tables are constants:
//! nothing is parsed or allocated at run time.
//!
//! ```
//! use perfset::catalogue::{self, processor_information};
//!
//! let set = catalogue::by_guid(processor_information::GUID).unwrap();
//! let busy = set.counter(processor_information::PERCENT_PROCESSOR_TIME).unwrap();
//! assert_eq!(busy.name.as_deref(), Some("% Processor Time"));
//! ```

use perfset_core::{CounterId, Counterset, Guid};

mod row;
#[rustfmt::skip]
mod tables;
#[cfg(test)]
mod tests;

pub use tables::*;

/// Returns the built-in counterset with this GUID.
#[must_use]
pub fn by_guid(guid: Guid) -> Option<&'static Counterset> {
    ALL.iter().copied().find(|set| set.guid == guid)
}

/// Returns the current title index of the name that has this index, or had it in an earlier version.
#[must_use]
pub fn current_v1_index(index: u32) -> u32 {
    let former = FORMER_V1_INDEXES.iter().find(|(former, _)| *former == index);
    former.map_or(index, |(_, now)| *now)
}

/// Returns `true` if the sum of a counter over several instances has a meaning.
///
/// Rates of events, and amounts that each instance has for itself, have such a sum. Means, peaks, identifiers and
/// shares of different things have none, and neither have instances that are parts of one another.
#[must_use]
pub fn adds_up(counterset: Guid, counter: CounterId) -> bool {
    ADDING_UP.contains(&(counterset, counter))
}
