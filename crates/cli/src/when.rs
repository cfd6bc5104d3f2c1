//! Times in the command line: a day and a time of day, with a time zone or in that of the log.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::{Timestamp, tz};
use perfset::clock::UNIX_EPOCH_100NS;

/// Time as the user gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// Local time in the zone of the log, in 100 ns since 1601.
    Local(i64),
    /// UTC time, in 100 ns since 1601.
    Utc(i64),
}

impl TimeArg {
    /// Returns the time in UTC; `offset` is added to local times.
    pub fn to_utc(self, offset: i64) -> i64 {
        match self {
            Self::Local(time) => time.saturating_add(offset),
            Self::Utc(time) => time,
        }
    }
}

impl FromStr for TimeArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// Formats of relog, with the day after the month.
        const AS_RELOG: [&str; 4] =
            ["%m/%d/%Y %I:%M:%S%p", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S%.f", "%m/%d/%Y %H:%M"];
        let text = text.trim();
        // Only a text with Z or an offset is a timestamp, so local times fall through.
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self::Utc(in_100ns(time)));
        }
        let civil = text
            .parse::<DateTime>()
            .ok()
            .or_else(|| AS_RELOG.iter().find_map(|form| strtime::parse(form, text).ok()?.to_datetime().ok()))
            .or_else(|| strtime::parse("%m/%d/%Y", text).ok()?.to_date().ok().map(DateTime::from));
        let civil = civil.ok_or(
            "a time is like 11/22/2026 10:30:00 or 2026-11-22 10:30:00, the latter also with Z or +01:00 at the end",
        )?;
        // The offset of the log is unknown yet: the local time is stored unchanged and converted in `to_utc`.
        let time = tz::Offset::UTC.to_timestamp(civil).map_err(|_| "there is no such time")?;
        Ok(Self::Local(in_100ns(time)))
    }
}

fn in_100ns(time: Timestamp) -> i64 {
    let since_1970 = time.as_nanosecond().div_euclid(100);
    i64::try_from(since_1970).unwrap_or(i64::MAX).saturating_add(UNIX_EPOCH_100NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_form() {
        let ten = 134_383_464_000_000_000; // 2026-11-05 10:00
        const HOUR: i64 = 36_000_000_000;
        for (text, want) in [
            ("2026-11-05 10:00:00", TimeArg::Local(ten)),
            ("2026-11-05T10:00", TimeArg::Local(ten)),
            ("2026-11-05 10:00:00.5", TimeArg::Local(ten + 5_000_000)),
            ("2026-11-05", TimeArg::Local(ten - 10 * HOUR)),
            ("2026-11-05T10:00:00Z", TimeArg::Utc(ten)),
            ("2026-11-05 10:00:00+01:00", TimeArg::Utc(ten - HOUR)),
            ("11/5/2026 10:00:00AM", TimeArg::Local(ten)),
            ("11/05/2026 10:00:00 PM", TimeArg::Local(ten + 12 * HOUR)),
            ("11/05/2026 10:00:00", TimeArg::Local(ten)),
            ("11/5/2026 10:00", TimeArg::Local(ten)),
            ("11/05/2026 10:00:00.500", TimeArg::Local(ten + 5_000_000)),
            ("11/05/2026", TimeArg::Local(ten - 10 * HOUR)),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for bad in ["", "x", "10:00", "13/13/2026 10:00:00", "2026-02-30", "now"] {
            assert!(bad.parse::<TimeArg>().is_err(), "{bad}");
        }
        assert_eq!(TimeArg::Local(ten).to_utc(HOUR), ten + HOUR);
        assert_eq!(TimeArg::Utc(ten).to_utc(HOUR), ten);
    }
}
