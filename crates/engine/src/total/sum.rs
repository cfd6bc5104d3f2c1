//! Rule by which the values of a column add up to a total.

use perfset_core::formula::Computation;
use perfset_core::{Counter, Counterset};

/// Rule by which the values of a column are added up over rows and collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Sum of the current values of the rows, for a level.
    Level,
    /// Sum of counts, including those of instances that ended.
    Count(Width),
    /// Sum of 64-bit counts, where another row takes over the count of an instance that ended.
    HandedOn,
}

/// Width of a count in bits, with the meaning of a decrease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Count of 64 bits: a decrease means that the count was reset.
    Wide,
    /// Count of 32 bits: a decrease means that the count was reset.
    Narrow,
    /// Count of 32 bits: a decrease means that the count passed its maximum and restarted at 0.
    Wrapping,
}

impl Width {
    pub(super) fn mask(self) -> u64 {
        match self {
            Self::Wide => u64::MAX,
            Self::Narrow | Self::Wrapping => u32::MAX.into(),
        }
    }
}

impl Sum {
    /// Returns the rule for the total of a counter: by the counter's type, and for a base by the type of the counter
    /// that it divides.
    #[must_use]
    pub fn for_counter(set: &Counterset, counter: &Counter) -> Self {
        let takes_difference = |counter: &Counter| {
            Computation::for_type(counter.counter_type).is_some_and(|formula| formula.needs_two_samples())
        };
        let is_divided_by = |other: &Counter| other.base == Some(counter.id) && takes_difference(other);
        let is_count = takes_difference(counter)
            || counter.counter_type.is_base() && set.counters.iter().any(is_divided_by);
        match counter.counter_type.value_len() {
            _ if !is_count => Self::Level,
            4 if counter.wraps => Self::Count(Width::Wrapping),
            4 => Self::Count(Width::Narrow),
            _ => Self::Count(Width::Wide),
        }
    }

    /// Returns the same rule of adding up for values of 64 bits, whatever the width of the counter.
    #[must_use]
    pub fn wide(self) -> Self {
        match self {
            Self::Level => Self::Level,
            Self::Count(_) => Self::Count(Width::Wide),
            Self::HandedOn => Self::HandedOn,
        }
    }
}
