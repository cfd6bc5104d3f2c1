//! Clocks of a collection and the conversions between them. The caller passes the clock readings.

/// Clock readings of one collection, as stored in PERF_DATA_HEADER.
///
/// Units: `perf_time` in ticks of `perf_freq` a second; `time_100ns` in 100 ns since 1601-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClockReading {
    /// `PerfTimeStamp`: reading of a monotonic clock.
    pub perf_time: i64,
    /// `PerfTime100NSec`: UTC, set from the wall clock once per process and advanced by the monotonic clock.
    pub time_100ns: i64,
    /// `PerfFreq`: ticks of `perf_time` a second.
    pub perf_freq: i64,
    /// `SystemTime`: the time shown to users, UTC.
    pub system_time: SystemTime,
}

impl ClockReading {
    /// Creates the clock reading of a recorded sample of which only the time is known, in 100 ns since 1601 UTC. This
    /// time is also the performance clock, with 10,000,000 ticks a second.
    ///
    /// ```
    /// use perfset::clock::{ClockReading, UNIX_EPOCH_100NS};
    ///
    /// let at = ClockReading::recorded(UNIX_EPOCH_100NS + 1_500 * 10_000);
    /// assert_eq!(at.unix_ms(), 1_500);
    /// ```
    #[must_use]
    pub fn recorded(time_100ns: i64) -> Self {
        let system_time = SystemTime::from_100ns(time_100ns);
        Self { perf_time: time_100ns, time_100ns, perf_freq: 10_000_000, system_time }
    }

    /// Returns the offset of the wall clock from `time_100ns`, in 100 ns. The offset is 0 as long as the clock was
    /// never set and the machine did not sleep.
    ///
    /// Rounded to a tenth of a second, so that all collections between two steps return the same offset: the wall
    /// clock and the monotonic clock are never read at the same instant.
    #[must_use]
    pub fn step_100ns(&self) -> i64 {
        const TENTH: i64 = 1_000_000;
        let wall = self.system_time.to_100ns().unwrap_or(self.time_100ns); // a foreign block may hold no date
        let step = wall.saturating_sub(self.time_100ns);
        step.saturating_add(TENTH / 2).div_euclid(TENTH).saturating_mul(TENTH)
    }

    /// Returns the time of the collection for users and other programs: 100 ns since 1601 by the wall clock of that
    /// moment, smooth between steps of that clock.
    #[must_use]
    pub fn utc_100ns(&self) -> i64 {
        self.time_100ns.saturating_add(self.step_100ns())
    }

    /// Returns [`ClockReading::utc_100ns`] in milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(&self) -> i64 {
        self.utc_100ns().saturating_sub(UNIX_EPOCH_100NS).div_euclid(10_000)
    }
}

/// Civil date and time in UTC, to the millisecond. Not validated: a block of another program might contain the 40th of
/// May.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[doc(alias = "SYSTEMTIME")]
pub struct SystemTime {
    /// Year of the Gregorian calendar, of a date in UTC.
    pub year: u16,
    /// Month of a date, 1 to 12.
    pub month: u16,
    /// Day of the week of a date; 0 = Sunday.
    pub day_of_week: u16,
    /// Day of the month of a date, 1 to 31.
    pub day: u16,
    /// Hour of a time of day in UTC, 0 to 23.
    pub hour: u16,
    /// Minute of a time of day, 0 to 59.
    pub minute: u16,
    /// Second of a time of day, 0 to 59.
    pub second: u16,
    /// Millisecond of a time of day, 0 to 999.
    pub millisecond: u16,
}

impl SystemTime {
    /// Converts `time`, in 100 ns since 1601-01-01 UTC, to a civil date and time, truncated to the millisecond.
    ///
    /// Times before 1601 return the first millisecond of 1601. The last time that fits into an `i64` is in the year
    /// 30828.
    #[must_use]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "constants divide; every quotient of a day count below 2^24 is far inside i64"
    )]
    pub fn from_100ns(time: i64) -> Self {
        const MS_A_DAY: i64 = 86_400_000;
        let ms = (time / 10_000).max(0);
        let (days, ms) = (ms / MS_A_DAY, ms % MS_A_DAY);
        // Days since 1600-03-01, so that a leap day ends its year, its century and its 400 years.
        let day = days + 306;
        let (era, day) = (day / 146_097, day % 146_097);
        // Without these corrections the leap day at the end of four years would already count as a day of the
        // next year.
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        // From March on, months have 31, 30, 31, 30, 31 days and then the same again: five have 153 days, and
        // no table of lengths is needed.
        let month = (5 * day + 2) / 153; // 0 = March
        let u16 = |n: i64| u16::try_from(n).unwrap_or(u16::MAX);
        Self {
            year: u16(1600 + era * 400 + year + i64::from(month >= 10)),
            month: u16(if month < 10 { month + 3 } else { month - 9 }),
            day_of_week: u16((days + 1) % 7), // 1601-01-01 was a Monday
            day: u16(day - (153 * month + 2) / 5 + 1),
            hour: u16(ms / 3_600_000),
            minute: u16(ms / 60_000 % 60),
            second: u16(ms / 1_000 % 60),
            millisecond: u16(ms % 1_000),
        }
    }

    /// Converts a civil date and time in UTC to 100 ns since 1601-01-01. `day_of_week` is ignored.
    ///
    /// Returns `None` if the day or the time of day does not exist, before 1601, and if the result does not fit into
    /// an `i64`.
    #[must_use]
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "constants multiply numbers that are below 2^16; the product that may not fit is checked"
    )]
    pub fn to_100ns(&self) -> Option<i64> {
        let [year, month, day] = [self.year, self.month, self.day].map(i64::from);
        let [hour, minute, second] = [self.hour, self.minute, self.second].map(i64::from);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last_day = match month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let is_time = hour < 24 && minute < 60 && second < 60 && self.millisecond < 1_000;
        if year < 1601 || !(1..=last_day).contains(&day) || !is_time {
            return None;
        }
        // Years that begin in March, so that a leap day is the last of its year.
        let (years, months) = if month > 2 { (year - 1600, month - 3) } else { (year - 1601, month + 9) };
        let leap_days = years / 4 - years / 100 + years / 400;
        let days = 365 * years + leap_days + (153 * months + 2) / 5 + day - 1 - 306;
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        (seconds * 1_000 + i64::from(self.millisecond)).checked_mul(10_000)
    }
}

impl std::fmt::Display for SystemTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { year, month, day, hour, minute, second, millisecond, .. } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millisecond:03}")
    }
}

/// Time between 1601-01-01 and 1970-01-01, in 100 ns.
pub const UNIX_EPOCH_100NS: i64 = 116_444_736_000_000_000;

/// Pair of simultaneous readings of the monotonic clock and the wall clock, taken once per process (R-30).
///
/// Later times are the anchor plus the advance of the monotonic clock, so that a stepped wall clock never corrupts a
/// rate or an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Wall clock time, in 100 ns since 1601, at which the monotonic clock was 0.
    pub zero_100ns: i64,
}

impl Anchor {
    /// Maximum difference between the wall clock and the anchored UTC that does not count as a step of the clock: 1
    /// ms.
    const TOLERANCE_100NS: i64 = 10_000;

    /// Creates the anchor from the closest of 16 pairs of clock readings: `monotonic` in ns, `wall` in 100 ns since
    /// 1601.
    pub fn take(mut monotonic: impl FnMut() -> i64, mut wall: impl FnMut() -> i64) -> Self {
        let mut best: Option<(i64, Self)> = None;
        for _ in 0..16 {
            let before = monotonic();
            let wall_100ns = wall();
            // The narrower the pair, the less its middle can be wrong: a pair that was interrupted is wide.
            let width = monotonic().saturating_sub(before);
            if best.is_none_or(|(narrowest, _)| width < narrowest) {
                let middle = before.saturating_add(width.wrapping_div(2));
                best = Some((width, Self { zero_100ns: wall_100ns.saturating_sub(middle.div_euclid(100)) }));
            }
        }
        best.map_or(Self { zero_100ns: 0 }, |(_, anchor)| anchor)
    }

    /// Returns the anchored UTC, in 100 ns since 1601, at the monotonic time `monotonic_ns`.
    #[must_use]
    pub fn time_100ns(&self, monotonic_ns: i64) -> i64 {
        self.zero_100ns.saturating_add(monotonic_ns.div_euclid(100))
    }

    /// Creates the clock reading of a collection from three readings in this order: monotonic, wall, monotonic.
    ///
    /// `SystemTime` is the anchored time if the wall clock reading fits between the two monotonic readings. Otherwise
    /// the wall clock was stepped or the machine slept, and `SystemTime` is the wall clock.
    #[must_use]
    pub fn reading(&self, before_ns: i64, wall_100ns: i64, after_ns: i64) -> ClockReading {
        let time_100ns = self.time_100ns(before_ns);
        let earliest = time_100ns.saturating_sub(Self::TOLERANCE_100NS);
        let latest = self.time_100ns(after_ns).saturating_add(Self::TOLERANCE_100NS);
        // A thread that was interrupted between the readings widens this range, so that a delay is no step.
        let in_step = (earliest..=latest).contains(&wall_100ns);
        ClockReading {
            perf_time: before_ns,
            // Anchored even after a step: a timer that divides by this time would be wrong in the interval in
            // which the clock was set.
            time_100ns,
            perf_freq: 1_000_000_000,
            system_time: SystemTime::from_100ns(if in_step { time_100ns } else { wall_100ns }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_dates() {
        // (100 ns since 1601, text, day of week): the two blocks of the documents, leap days, ends of centuries.
        // Computed with `date -u -d @SECONDS`.
        for (time, text, weekday) in [
            (0x01DC_7B94_74A7_74E0, "2026-01-02 03:04:05.678", 5),
            (0, "1601-01-01 00:00:00.000", 1),
            (-1, "1601-01-01 00:00:00.000", 1),
            (UNIX_EPOCH_100NS, "1970-01-01 00:00:00.000", 4),
            (UNIX_EPOCH_100NS - 1, "1969-12-31 23:59:59.999", 3),
            (UNIX_EPOCH_100NS + 951_782_400 * 10_000_000, "2000-02-29 00:00:00.000", 2),
            (UNIX_EPOCH_100NS + 951_868_800 * 10_000_000, "2000-03-01 00:00:00.000", 3),
            (UNIX_EPOCH_100NS + 4_107_542_399 * 10_000_000, "2100-02-28 23:59:59.000", 0),
            (UNIX_EPOCH_100NS + 4_107_542_400 * 10_000_000, "2100-03-01 00:00:00.000", 1),
            (UNIX_EPOCH_100NS + 1_735_603_200 * 10_000_000, "2024-12-31 00:00:00.000", 2),
        ] {
            let got = SystemTime::from_100ns(time);
            assert_eq!((got.to_string().as_str(), got.day_of_week), (text, weekday), "{time}");
            assert_eq!(got.to_100ns(), Some(time.max(0) / 10_000 * 10_000), "{text}");
        }
        assert_eq!(SystemTime::from_100ns(i64::MAX).year, 30828, "the last year that 100 ns reach");
    }

    #[test]
    fn days_follow_each_other() {
        let day = 864_000_000_000;
        let mut last = SystemTime::from_100ns(0);
        for n in 1..300_000 {
            let next = SystemTime::from_100ns(n * day);
            assert_eq!(next.day_of_week, (last.day_of_week + 1) % 7);
            let follows = (next.year, next.month, next.day) == (last.year, last.month, last.day + 1)
                || next.day == 1
                    && last.day >= 28
                    && ((next.year, next.month) == (last.year, last.month + 1)
                        || (next.month, last.month, next.year) == (1, 12, last.year + 1));
            assert!(follows, "{last} then {next}");
            assert_eq!(next.to_100ns(), Some(n * day), "{next}");
            last = next;
        }
    }

    #[test]
    fn invalid_system_time_is_rejected() {
        let date = |year, month, day| SystemTime { year, month, day, ..SystemTime::default() };
        let time = |hour, minute, second, millisecond| SystemTime {
            hour,
            minute,
            second,
            millisecond,
            ..date(2000, 2, 29)
        };
        for (name, time, is_one) in [
            ("leap day of a fourth century", date(2000, 2, 29), true),
            ("leap day", date(2024, 2, 29), true),
            ("no leap year", date(2023, 2, 29), false),
            ("no leap century", date(1900, 2, 29), false),
            ("the 40th of May", date(2024, 5, 40), false),
            ("the 31st of April", date(2024, 4, 31), false),
            ("day 0", date(2024, 4, 0), false),
            ("month 0", date(2024, 0, 1), false),
            ("month 13", date(2024, 13, 1), false),
            ("before the first day", date(1600, 12, 31), false),
            ("behind the last", date(30_829, 1, 1), false),
            ("the last year there is", date(65_535, 12, 31), false),
            ("the last millisecond", time(23, 59, 59, 999), true),
            ("24 o'clock", time(24, 0, 0, 0), false),
            ("minute 60", time(0, 60, 0, 0), false),
            ("second 60", time(0, 0, 60, 0), false),
            ("millisecond 1000", time(0, 0, 0, 1_000), false),
        ] {
            let found = time.to_100ns();
            assert_eq!(found.is_some(), is_one, "{name}: {found:?}");
            if let Some(found) = found {
                assert_eq!(SystemTime::from_100ns(found).to_string(), time.to_string(), "{name}");
            }
        }
    }

    #[test]
    fn anchor_takes_the_narrowest_pair() {
        // The third pair is 2 ns wide, all others 100.
        let mut mono = 0;
        let mut calls = 0;
        let monotonic = || {
            mono += if calls == 5 { 2 } else { 100 };
            calls += 1;
            mono
        };
        let mut wall = 7_000;
        let anchor = Anchor::take(monotonic, || {
            wall += 1;
            wall
        });
        assert_eq!(anchor, Anchor { zero_100ns: 7_003 - 5 });
        assert_eq!(anchor.time_100ns(501 + 1_000), 7_013);
        assert_eq!(anchor.time_100ns(501 - 1_000), 6_993);
    }

    #[test]
    fn a_stepped_wall_clock_moves_system_time_only() {
        let start = UNIX_EPOCH_100NS;
        let anchor = Anchor { zero_100ns: start - 10 };
        let second = 10_000_000;
        let at = |wall| anchor.reading(1_000 + 1_000_000_000, wall, 1_000 + 1_000_000_400);
        let smooth = at(start + second + 3);
        assert_eq!(smooth.time_100ns, start + second);
        assert_eq!((smooth.perf_time, smooth.perf_freq), (1_000_001_000, 1_000_000_000));
        assert_eq!(smooth.system_time, SystemTime::from_100ns(start + second));
        let stepped = at(start + 3_600 * second);
        assert_eq!(stepped.time_100ns, start + second, "rates stay right");
        assert_eq!(stepped.system_time.to_string(), "1970-01-01 01:00:00.000", "people see the wall clock");
        for (clocks, step) in [(smooth, 0), (stepped, 3_599 * second), (at(start - 7 * second), -8 * second)]
        {
            assert_eq!(clocks.step_100ns(), step);
            assert_eq!(
                clocks.unix_ms(),
                (second + step) / 10_000,
                "what others are told is the wall clock's"
            );
        }
        let no_date = SystemTime { month: 13, ..SystemTime::default() };
        assert_eq!(ClockReading { system_time: no_date, ..smooth }.unix_ms(), 1_000, "a foreign block");
        let far =
            ClockReading { time_100ns: i64::MIN, system_time: SystemTime::from_100ns(i64::MAX), ..smooth };
        assert!(far.step_100ns() > 0 && far.unix_ms() > i64::MIN / 10_000, "no number is too large");
        // Preempted for two seconds between the readings: not a step.
        let late = anchor.reading(1_000, start + 2 * second, 1_000 + 2_000_000_000);
        assert_eq!(late.system_time, SystemTime::from_100ns(start));
    }
}
