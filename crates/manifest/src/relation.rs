//! Relations between counters: the auxiliary counters that a counter type needs (MS-PCQ 2.2.4.2).

use perfset_core::{Counter, CounterId, CounterType as T};

/// Role of an auxiliary counter in the computation of another counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Base,
    PerfTime,
    PerfFreq,
    Multi,
}

impl Relation {
    pub const ALL: [Self; 4] = [Self::Base, Self::PerfTime, Self::PerfFreq, Self::Multi];

    /// Returns the name of the manifest attribute that refers to the auxiliary counter.
    pub const fn attribute(self) -> &'static str {
        match self {
            Self::Base => "baseID",
            Self::PerfTime => "perfTimeID",
            Self::PerfFreq => "perfFreqID",
            Self::Multi => "multiCounterID",
        }
    }

    /// Returns the id of a counter's auxiliary counter with this role.
    pub const fn counter_id(self, counter: &Counter) -> Option<CounterId> {
        match self {
            Self::Base => counter.base,
            Self::PerfTime => counter.perf_time,
            Self::PerfFreq => counter.perf_freq,
            Self::Multi => counter.multi,
        }
    }

    pub const fn set(self, counter: &mut Counter, other: Option<CounterId>) {
        match self {
            Self::Base => counter.base = other,
            Self::PerfTime => counter.perf_time = other,
            Self::PerfFreq => counter.perf_freq = other,
            Self::Multi => counter.multi = other,
        }
    }

    /// Returns the requirement of a counter type for an auxiliary counter with this role, with the type of the
    /// auxiliary counter.
    pub fn needs(self, counter_type: T) -> Requirement {
        let is_multi = matches!(
            counter_type,
            T::PERF_COUNTER_MULTI_TIMER
                | T::PERF_COUNTER_MULTI_TIMER_INV
                | T::PERF_100NSEC_MULTI_TIMER
                | T::PERF_100NSEC_MULTI_TIMER_INV
        );
        let has_own_clock = matches!(
            counter_type,
            T::PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE
                | T::PERF_ELAPSED_TIME
                | T::PERF_OBJ_TIME_TIMER
                | T::PERF_PRECISION_OBJECT_TIMER
        );
        match self {
            Self::Base => match counter_type {
                T::PERF_AVERAGE_TIMER | T::PERF_AVERAGE_BULK => Requirement::Must(T::PERF_AVERAGE_BASE),
                T::PERF_RAW_FRACTION => Requirement::Must(T::PERF_RAW_BASE),
                T::PERF_LARGE_RAW_FRACTION
                | T::PERF_PRECISION_SYSTEM_TIMER
                | T::PERF_PRECISION_100NS_TIMER => Requirement::Must(T::PERF_LARGE_RAW_BASE),
                T::PERF_SAMPLE_FRACTION => Requirement::Must(T::PERF_SAMPLE_BASE),
                _ if is_multi => Requirement::May(T::PERF_COUNTER_MULTI_BASE),
                _ => Requirement::No,
            },
            // Every counter may refer to a clock; the counters of a set should share one.
            Self::PerfTime | Self::PerfFreq if has_own_clock => {
                Requirement::Must(T::PERF_COUNTER_LARGE_RAWCOUNT)
            }
            Self::PerfTime | Self::PerfFreq => Requirement::May(T::PERF_COUNTER_LARGE_RAWCOUNT),
            Self::Multi if is_multi => Requirement::Must(T::PERF_COUNTER_RAWCOUNT),
            Self::Multi => Requirement::No,
        }
    }
}

/// Requirement of a counter type for an auxiliary counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// No auxiliary counter is needed, and none would be used.
    No,
    /// An auxiliary counter of this type is optional.
    May(T),
    /// An auxiliary counter of this type is required to compute a value.
    Must(T),
}
