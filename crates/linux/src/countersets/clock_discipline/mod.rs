//! Provider of the counterset Clock Discipline.

use perfset_catalogue::clock_discipline as id;
use perfset_core::{CounterId, Counterset, NoValue};
use rustix::io::Errno;

use crate::adjtimex::Discipline;
use crate::provider::{Collection, CollectionCache, ValueSource, unavailable};

#[cfg(test)]
mod tests;

/// Values of the counterset Clock Discipline, from the system call `adjtimex`.
#[derive(Debug)]
pub(crate) struct ClockDiscipline {
    /// Function that requests the state of the clock from the kernel; `None` if the counters are for a machine other
    /// than this one.
    ask: Option<AskDiscipline>,
    latest: CollectionCache<Discipline>,
}

/// Function that requests the state of the clock from the kernel.
pub(crate) type AskDiscipline = fn() -> Result<Discipline, Errno>;

/// Nominal rate of a clock, in the kernel's unit: 1/65,536 of a millionth.
const NOMINAL: i64 = 65_536_000_000;
const NS_IN_US: i64 = 1_000;

impl ClockDiscipline {
    pub(crate) fn new(ask: Option<AskDiscipline>) -> Self {
        Self { ask, latest: CollectionCache::default() }
    }
}

impl ValueSource for ClockDiscipline {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        let ask = self.ask.ok_or(unavailable("this process has the clock of another machine"))?;
        // One answer for all counters: they belong together.
        let state = self.latest.get(pass, |_| ask().map_err(refused))?;
        let number = match counter {
            // One of both is 0, because counters hold nothing below 0.
            id::OFFSET_TO_ADD => state.offset_ns.max(0),
            id::OFFSET_TO_SUBTRACT => state.offset_ns.min(0).saturating_neg(),
            id::MAXIMUM_ERROR => state.maxerror_us.saturating_mul(NS_IN_US),
            id::ESTIMATED_ERROR => state.esterror_us.saturating_mul(NS_IN_US),
            id::PERCENT_FREQUENCY => NOMINAL.saturating_add(state.freq),
            id::PERCENT_FREQUENCY_BASE => NOMINAL,
            id::LOOP_TIME_CONSTANT => state.constant,
            id::TICK => state.tick_us.saturating_mul(NS_IN_US),
            id::TAI_OFFSET => state.tai,
            id::SYNCHRONISED => i64::from(state.is_synchronised),
            id::PERCENT_PPS_FREQUENCY => NOMINAL.saturating_add(state.pps_freq),
            id::PERCENT_PPS_STABILITY => state.pps_stability,
            id::PPS_JITTER => state.pps_jitter_ns,
            id::PPS_SHIFT => state.pps_shift,
            id::PPS_JITTER_EXCEEDED_PER_SEC => state.pps_jitter_exceeded,
            id::PPS_CALIBRATIONS_PER_SEC => state.pps_calibrations,
            id::PPS_CALIBRATION_ERRORS_PER_SEC => state.pps_errors,
            id::PPS_STABILITY_EXCEEDED_PER_SEC => state.pps_stability_exceeded,
            _ => return Err(NoValue::NotGiven),
        };
        let negative =
            |_| NoValue::Unavailable(format!("it is {number}: counters hold nothing below 0").into());
        u64::try_from(number).map_err(negative)
    }
}

fn refused(errno: Errno) -> NoValue {
    match errno {
        Errno::NOSYS => unavailable("this system does not have the call adjtimex"),
        Errno::PERM | Errno::ACCESS => NoValue::Denied("adjtimex: a sandbox forbids the call".into()),
        errno => NoValue::Failed(format!("adjtimex: {errno}").into()),
    }
}
