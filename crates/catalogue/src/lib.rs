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

/// Words that users search for and that stand for a counterset or its counters, beside their names and help texts.
///
/// A word may be a phrase, such as `disk full`. All are lower-case.
#[derive(Clone, Copy, Debug)]
pub struct SearchWords {
    guid: Guid,
    /// Counter of this counterset that users should try first.
    pub first: Option<CounterId>,
    /// Words that stand for the counterset as a whole.
    pub counterset: &'static [&'static str],
    counters: &'static [(CounterId, &'static [&'static str])],
}

impl SearchWords {
    /// Returns the words that stand for a counter.
    #[must_use]
    pub fn counter(&self, id: CounterId) -> &'static [&'static str] {
        self.counters.iter().find(|(counter, _)| *counter == id).map_or(&[], |(_, words)| *words)
    }
}

/// Returns the search words of a built-in counterset; `None` for other countersets.
#[must_use]
pub fn search_words(counterset: Guid) -> Option<&'static SearchWords> {
    WORDS.iter().find(|words| words.guid == counterset)
}

/// Range of the formatted values of a counter.
///
/// Two counters with the same unit can have different ranges: a share of one processor is at most 100 %, and a queue
/// length times 100 has no limit. A picture of both on one scale misleads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValueRange {
    /// No upper limit, or an unknown one.
    #[default]
    Unbounded,
    /// 0 to 100: a share of one thing.
    Percent,
    /// 0 to 100 times the number of processors.
    PercentOfProcessors,
}

impl ValueRange {
    /// Returns the keyword for this range of a counter's values in the catalogue's files.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Unbounded => "unbounded",
            Self::Percent => "0..100",
            Self::PercentOfProcessors => "0..100 x CPUs",
        }
    }
}

/// Returns the range of a counter's formatted values; [`Unbounded`](ValueRange::Unbounded) for counters that are not
/// built in.
#[must_use]
pub fn value_range(counterset: Guid, counter: CounterId) -> ValueRange {
    let is_it = |(set, id, _): &&(Guid, CounterId, ValueRange)| (*set, *id) == (counterset, counter);
    RANGES.iter().find(is_it).map_or(ValueRange::Unbounded, |(_, _, range)| *range)
}

/// Returns `true` if the sum of a counter over several instances has a meaning.
///
/// Rates of events, and amounts that each instance has for itself, have such a sum. Means, peaks, identifiers and
/// shares of different things have none, and neither have instances that are parts of one another.
#[must_use]
pub fn adds_up(counterset: Guid, counter: CounterId) -> bool {
    ADDING_UP.contains(&(counterset, counter))
}
