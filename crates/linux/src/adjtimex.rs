//! State of the kernel's clock discipline: how far the clock is from the time, and how the kernel corrects it.

use rustix::io::Errno;

/// State of the kernel's clock discipline: the response of `adjtimex(2)` to a request that changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Discipline {
    /// `false` if no program keeps the clock synchronised: the call returned `TIME_ERROR`.
    pub(crate) is_synchronised: bool,
    /// Correction that the clock still gets, in ns. Negative if the clock is ahead.
    pub(crate) offset_ns: i64,
    /// Deviation of the machine's clock rate from the nominal rate, in 1/65,536 of a millionth.
    pub(crate) freq: i64,
    /// Greatest possible and estimated error of the machine's clock, in µs.
    pub(crate) maxerror_us: i64,
    pub(crate) esterror_us: i64,
    /// Time constant of the loop with which the kernel corrects the clock's offset, as an exponent of two.
    pub(crate) constant: i64,
    /// Time that a timer tick of 1/100 s adds to the machine's clock, in µs.
    pub(crate) tick_us: i64,
    /// Deviation of the clock's rate from a pulse-per-second signal, and its mean change, in 1/65,536 of a millionth.
    pub(crate) pps_freq: i64,
    pub(crate) pps_stability: i64,
    /// Mean difference between pulses of the pulse-per-second signal, in ns.
    pub(crate) pps_jitter_ns: i64,
    /// Length of a calibration by the pulse-per-second signal, in seconds, as an exponent of two.
    pub(crate) pps_shift: i64,
    /// Counts for the pulse-per-second signal: pulses that came too early or too late, calibrations, failed
    /// calibrations, and calibrations in which the rate changed too much.
    pub(crate) pps_jitter_exceeded: i64,
    pub(crate) pps_calibrations: i64,
    pub(crate) pps_errors: i64,
    pub(crate) pps_stability_exceeded: i64,
    /// Difference of international atomic time (TAI) and UTC, in seconds; 0 until a program tells it to the kernel.
    pub(crate) tai: i64,
}

/// Requests the state of the clock discipline from the kernel. Needs no permission, and changes nothing.
///
/// # Errors
/// `ENOSYS` or `EPERM` if a sandbox forbids the call.
pub(crate) fn discipline() -> Result<Discipline, Errno> {
    // SAFETY: `timex` consists of integers alone, which may all be 0. Mode 0 asks for no change.
    #[expect(unsafe_code, reason = "the structure has private padding, so no literal makes it")]
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `timex` is a valid place for what the call writes, and the call keeps no pointer to it.
    #[expect(unsafe_code, reason = "no crate of ours in use has this call")]
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    Ok(converted(&timex, state))
}

fn converted(timex: &libc::timex, state: libc::c_int) -> Discipline {
    /// Converts a C `long` to 64 bits: its width depends on the processor.
    fn wide(number: impl Into<i64>) -> i64 {
        number.into()
    }
    let is_in_ns = timex.status & libc::STA_NANO != 0;
    let ns = |time| wide(time).saturating_mul(if is_in_ns { 1 } else { 1_000 });
    Discipline {
        is_synchronised: state != libc::TIME_ERROR,
        offset_ns: ns(timex.offset),
        freq: wide(timex.freq),
        maxerror_us: wide(timex.maxerror),
        esterror_us: wide(timex.esterror),
        constant: wide(timex.constant),
        tick_us: wide(timex.tick),
        pps_freq: wide(timex.ppsfreq),
        pps_stability: wide(timex.stabil),
        pps_jitter_ns: ns(timex.jitter),
        pps_shift: wide(timex.shift),
        pps_jitter_exceeded: wide(timex.jitcnt),
        pps_calibrations: wide(timex.calcnt),
        pps_errors: wide(timex.errcnt),
        pps_stability_exceeded: wide(timex.stbcnt),
        tai: wide(timex.tai),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let Ok(discipline) = discipline() else { return }; // a sandbox may forbid it
        assert!((9_000..=11_000).contains(&discipline.tick_us), "{discipline:?}");
        assert!(discipline.freq.abs() <= 500 << 16, "{discipline:?}");
    }

    #[test]
    fn units_and_states() {
        // SAFETY: as in `discipline`.
        #[expect(unsafe_code, reason = "the structure has private padding, so no literal makes it")]
        let mut timex: libc::timex = unsafe { std::mem::zeroed() };
        (timex.offset, timex.jitter, timex.freq, timex.tai) = (-7, 11, -13, 37);
        let micro = converted(&timex, libc::TIME_OK);
        assert_eq!((micro.offset_ns, micro.pps_jitter_ns), (-7_000, 11_000));
        assert_eq!((micro.freq, micro.tai, micro.is_synchronised), (-13, 37, true));
        timex.status = libc::STA_NANO | libc::STA_UNSYNC;
        let nano = converted(&timex, libc::TIME_ERROR);
        assert_eq!((nano.offset_ns, nano.pps_jitter_ns, nano.is_synchronised), (-7, 11, false));
        let states = [libc::TIME_INS, libc::TIME_OOP, libc::TIME_WAIT];
        assert!(states.iter().all(|state| converted(&timex, *state).is_synchronised), "leap seconds");
    }
}
