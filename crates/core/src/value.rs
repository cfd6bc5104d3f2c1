//! Raw and formatted values, and the reasons for unavailable values.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::counter_type::{CounterType, Display};
use crate::counterset::Text;
use crate::status::Status;

/// Raw value as stored in a block: unsigned, with its stored width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawValue {
    /// Raw value of 4 bytes.
    U32(u32),
    /// Raw value of 8 bytes.
    U64(u64),
}

impl RawValue {
    /// Returns the raw value as a number, regardless of its width.
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

/// Formatted value: the result of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormattedValue {
    /// Number that the formula of the counter type returned.
    pub raw: f64,
    /// Counter type whose formula was used.
    pub counter_type: CounterType,
}

impl FormattedValue {
    /// Returns the formatted value without an upper limit. Inverse types are never below 0: their idle time can run
    /// ahead of the clock.
    #[must_use]
    #[doc(alias = "PDH_FMT_NOCAP100")]
    pub fn nocap(self) -> f64 {
        let decoded = self.counter_type.decode();
        if decoded.inverse { self.raw.max(0.0) } else { self.raw }
    }

    /// Returns the formatted value for display: like [`nocap`](Self::nocap), with percentages of one item limited to
    /// 100.
    #[must_use]
    pub fn capped(self) -> f64 {
        let decoded = self.counter_type.decode();
        // Several items together can be active for more than 100 %, so multi timers have no limit (F-21).
        let percent = decoded.display == Display::Percent && !decoded.multi;
        if percent { self.nocap().min(100.0) } else { self.nocap() }
    }
}

/// Reason for a missing value. Never displayed as 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NoValue {
    /// The formula needs two samples, and there is only one.
    #[error("a second sample is needed")]
    NeedsTwoSamples,
    /// The counter is a base, a text or a label, or its type has no formula.
    #[error("the counter has no displayable value")]
    NotDisplayable,
    /// The base of the counter was not requested or not delivered.
    #[error("the counter's base is missing")]
    MissingBase,
    /// The raw value decreased without a known cause: the count was reset.
    #[error("the raw value fell from {from} to {to}")]
    NegativeValue {
        /// Raw value in the older sample.
        from: u64,
        /// Raw value in the newer sample.
        to: u64,
    },
    /// The raw value of 4 bytes decreased and possibly wrapped, although the counter is not known to wrap.
    #[error("the raw value fell from {from} to {to}: the 4-byte counter overflowed or was reset")]
    Wrapped {
        /// Raw value in the older sample.
        from: u32,
        /// Raw value in the newer sample.
        to: u32,
    },
    /// The measured machine was restarted between the samples: its clock began again.
    #[error("the machine restarted between the samples")]
    Restarted {
        /// `true` if the raw value decreased too: PDH tests the raw value before the clock.
        value_fell: bool,
    },
    /// A clock is earlier in the newer sample: the clock was set back, or the samples are in the wrong order.
    #[error("the clock was set back between the samples")]
    TimeWentBack {
        /// `true` if the raw value decreased too: PDH tests the raw value before the clock.
        value_fell: bool,
    },
    /// The start time of the instance is later than the time of the sample.
    #[error("the instance's start time is later than the sample")]
    BeginsLater,
    /// No time passed between the two samples, or the base decreased.
    #[error("no time passed between the samples, or the counter's base decreased")]
    NegativeDenominator,
    /// The frequency of the clock that the formula divides by is 0 or negative.
    #[error("the clock's frequency is not positive")]
    NegativeTimebase,
    /// The two samples have different counter types.
    #[error("the counter's type changed from {from} to {to}")]
    TypeChanged {
        /// Counter type in the older sample.
        from: CounterType,
        /// Counter type in the newer sample.
        to: CounterType,
    },
    /// The instance was missing in the older sample.
    #[error("the instance is new: a second sample is needed")]
    NewInstance,
    /// The instance was replaced by another with the same name and id, or the aggregate now covers other instances.
    #[error(
        "the instance was replaced by another with the same name, or the aggregate now covers other instances"
    )]
    Replaced,
    /// The value is unavailable on this system, kernel or machine.
    #[error("unavailable: {0}")]
    Unavailable(Text),
    /// The system denies access; the text names the missing permission.
    #[error("denied: {0}")]
    Denied(Text),
    /// The source could not be read or parsed; the text names the source, the position and the reason.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The provider did not respond before the deadline.
    #[error("the provider did not respond in time")]
    Late,
    /// No active instance matches the query entry.
    #[error("no active instance matches")]
    NoInstance,
    /// The whole query entry failed with this status code.
    #[error("{0}")]
    Status(Status),
    /// The reason is unknown, because the block contains no reasons.
    #[error("no reason was given")]
    NotGiven,
}

impl NoValue {
    /// Returns the keyword of the reason, as in the JSON field `status`.
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
    /// The kernel's value decreased although it counts upwards; the delivered value is the highest so far.
    Held,
    /// The source did not respond before the deadline; the delivered value is the last value of the source, with its
    /// age.
    Stale(Duration),
    /// The value was proven unchanged since it was last read, or is refreshed periodically.
    Reused,
    /// The result of the formula exceeded the counter's maximum by a measurement error; the delivered value is the
    /// maximum.
    Capped,
    /// The writer of the log formatted the value; the raw values are not known.
    Formatted,
    /// The aggregate lacks this number of instances, whose values could not be read.
    Partial(NonZeroU32),
}

impl Mark {
    /// Returns the keyword of the mark, as in the JSON field `mark`; `None` if the mark does not make the value less
    /// reliable.
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
