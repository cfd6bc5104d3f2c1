//! Values for people, and the reasons for having none.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::counter_type::{CounterType, Display};
use crate::counterset::Text;
use crate::status::Status;

/// A raw value as a block carries it: unsigned, with the width it was stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawValue {
    /// 4 bytes.
    U32(u32),
    /// 8 bytes.
    U64(u64),
}

impl RawValue {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        match self {
            // `u64::from` is not const; u32 to u64 loses nothing.
            #[expect(clippy::as_conversions, reason = "widening")]
            Self::U32(n) => n as u64,
            Self::U64(n) => n,
        }
    }
}

/// A number for people: what a formula made of raw values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormattedValue {
    /// What the formula gave.
    pub raw: f64,
    /// The type it was made by.
    pub counter_type: CounterType,
}

impl FormattedValue {
    /// The value, but inverse types never below 0: idle time may run ahead of the clock.
    #[must_use]
    #[doc(alias = "PDH_FMT_NOCAP100")]
    pub fn nocap(self) -> f64 {
        let decoded = self.counter_type.decode();
        if decoded.inverse { self.raw.max(0.0) } else { self.raw }
    }

    /// The value for a screen: as [`nocap`](Self::nocap), and percentages of one thing at most 100.
    #[must_use]
    pub fn capped(self) -> f64 {
        let decoded = self.counter_type.decode();
        let percent = decoded.display == Display::Percent && !decoded.multi;
        if percent { self.nocap().min(100.0) } else { self.nocap() }
    }
}

/// Why there is no value. Never shown as 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NoValue {
    /// The formula takes the difference of two samples and has one.
    #[error("needs a second sample")]
    NeedsTwoSamples,
    /// A base, a text, a label, or a type without a formula.
    #[error("not a value for people")]
    NotDisplayable,
    /// The counter that this one is divided by was not asked or not delivered.
    #[error("its base is missing")]
    MissingBase,
    /// The raw value fell, and nothing says why: the count was reset.
    #[error("the raw value fell from {from} to {to}")]
    NegativeValue {
        /// In the older sample.
        from: u64,
        /// In the newer sample.
        to: u64,
    },
    /// The raw value of 4 bytes fell so that it may have passed its end, and nothing says that this counter does.
    #[error("the raw value fell from {from} to {to}: it passed the end of its 4 bytes or was reset")]
    Wrapped {
        /// In the older sample.
        from: u32,
        /// In the newer sample.
        to: u32,
    },
    /// The machine that counts was started anew between the samples: its clock began again.
    #[error("the machine restarted between the samples")]
    Restarted {
        /// `true` if the raw value fell, too: PDH tests it before the clock.
        value_fell: bool,
    },
    /// A clock is earlier in the newer sample: it was set back, or the samples are in the wrong order.
    #[error("the clock went back between the samples")]
    TimeWentBack {
        /// `true` if the raw value fell, too: PDH tests it before the clock.
        value_fell: bool,
    },
    /// The start time of something is later than now.
    #[error("it begins later than the sample was taken")]
    BeginsLater,
    /// No time passed, or the base fell.
    #[error("no time passed between the samples, or the base fell")]
    NegativeDenominator,
    /// The clock's frequency is 0 or negative.
    #[error("the clock's frequency is not positive")]
    NegativeTimebase,
    /// The two samples are of different types.
    #[error("the counter's type changed from {from} to {to}")]
    TypeChanged {
        /// In the older sample.
        from: CounterType,
        /// In the newer sample.
        to: CounterType,
    },
    /// The instance was not there in the older sample.
    #[error("new: needs a second sample")]
    NewInstance,
    /// Another thing now has the name and id of one that ended, or an aggregate is of other instances than before.
    #[error("replaced by another instance of that name, or by an aggregate of other instances")]
    Replaced,
    /// This system, kernel or machine does not have it.
    #[error("unavailable: {0}")]
    Unavailable(Text),
    /// The system refuses it; the text says which permission would open it.
    #[error("denied: {0}")]
    Denied(Text),
    /// Its source could not be read or understood; the text says which, where and why.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The provider did not answer in time.
    #[error("the provider did not answer in time")]
    Late,
    /// No active instance matches the entry.
    #[error("no active instance matches")]
    NoInstance,
    /// The whole entry failed with this code.
    #[error("{0}")]
    Status(Status),
    /// The block came without reasons.
    #[error("no reason was given")]
    NotGiven,
}

impl NoValue {
    /// One word for programs: what `status` says in JSON.
    #[must_use]
    pub const fn keyword(&self) -> &'static str {
        match self {
            Self::NeedsTwoSamples => "needs_two_samples",
            Self::NotDisplayable => "not_displayable",
            Self::MissingBase => "missing_base",
            Self::NegativeValue { .. } | Self::BeginsLater => "negative_value",
            Self::Wrapped { .. } => "wrapped",
            Self::Restarted { .. } => "restarted",
            Self::TimeWentBack { .. } => "time_went_back",
            Self::NegativeDenominator => "negative_denominator",
            Self::NegativeTimebase => "negative_timebase",
            Self::TypeChanged { .. } => "type_changed",
            Self::NewInstance => "new_instance",
            Self::Replaced => "replaced",
            Self::Unavailable(_) => "unavailable",
            Self::Denied(_) => "denied",
            Self::Failed(_) => "failed",
            Self::Late => "late",
            Self::NoInstance => "no_instance",
            Self::Status(_) => "status",
            Self::NotGiven => "not_given",
        }
    }
}

/// Remark on a value that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// The kernel's value fell although it counts upwards; this is the highest value so far.
    Held,
    /// The source has not responded in time; this is its last value, with its age.
    Stale(Duration),
    /// The value was proven unchanged since it was last read, or is refreshed periodically.
    Reused,
    /// The formula gave more than the counter's maximum, by an error of measurement; this is the maximum.
    Capped,
    /// The writer of the log formatted the value; the raw values are not known.
    Formatted,
    /// The aggregate lacks this number of instances, whose values could not be read.
    Partial(NonZeroU32),
}

impl Mark {
    /// Returns the keyword of the mark, as in the JSON field `mark`; `None` for a value that is as good as any other.
    #[must_use]
    pub const fn keyword(&self) -> Option<&'static str> {
        match self {
            Self::Held => Some("held"),
            Self::Stale(_) => Some("stale"),
            Self::Reused => None,
            Self::Capped => Some("capped"),
            Self::Formatted => Some("formatted"),
            Self::Partial(_) => Some("partial"),
        }
    }

    /// Returns the number of instances that an aggregate lacks.
    #[must_use]
    pub const fn missing(&self) -> Option<NonZeroU32> {
        match self {
            Self::Partial(missing) => Some(*missing),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps() {
        let of = |raw, counter_type| FormattedValue { raw, counter_type };
        let inv = of(-3.0, CounterType::PERF_100NSEC_TIMER_INV);
        assert_eq!((inv.raw, inv.nocap(), inv.capped()), (-3.0, 0.0, 0.0));
        let timer = of(250.0, CounterType::PERF_100NSEC_TIMER);
        assert_eq!((timer.nocap(), timer.capped()), (250.0, 100.0));
        let multi = of(250.0, CounterType::PERF_100NSEC_MULTI_TIMER);
        assert_eq!(multi.capped(), 250.0);
        let average = of(-2.0, CounterType::PERF_AVERAGE_BULK);
        assert_eq!(average.capped(), -2.0);
    }
}
