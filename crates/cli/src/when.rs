//! Times in the command line: a day and a time of day, with a time zone or in that of the log.

use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::fmt::strtime;
use jiff::tz::{self, TimeZone};
use jiff::{Timestamp, Zoned};
use perfset::clock::UNIX_EPOCH_100NS;
use perfset::log::recording::Annotation;
use perfset::output::text::escaped;

/// Time in an argument of the command line: local or UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// Local time in the time zone of the log, in 100 ns since 1601.
    Local(i64),
    /// UTC time of an argument, in 100 ns since 1601.
    Utc(i64),
}

impl TimeArg {
    /// Converts the argument's time to UTC, in 100 ns since 1601; local times are in the time zone `zone`.
    pub fn to_utc(self, zone: &TimeZone) -> i64 {
        match self {
            // A time that the zone does not have is out of the range of all times.
            Self::Local(time) => moment(time)
                .map(|time| tz::Offset::UTC.to_datetime(time))
                .and_then(|civil| zone.to_timestamp(civil).ok())
                .map_or(time, in_100ns),
            Self::Utc(time) => time,
        }
    }
}

impl FromStr for TimeArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// Time formats of the Windows tool relog, in which the day follows the month.
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

/// Instant argument of the command line: a time, a distance from the end of the log, or a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstantArg {
    /// Instant that is given as a day and a time of day.
    Time(TimeArg),
    /// Instant that is given as a time of day: the last such time in the log.
    TimeOfDay(Time),
    /// Instant that is given as a time before the end of the log, in 100 ns.
    BeforeEnd(i64),
    /// Instant of the last mark of the log whose text contains this string.
    Mark(String),
}

impl InstantArg {
    /// Converts the argument's instant in a log to UTC; `last` is the time of the last sample, and `zone` is the
    /// log's time zone.
    ///
    /// # Errors
    /// If there is no such mark.
    pub fn to_utc(&self, zone: &TimeZone, last: i64, marks: &[&Annotation]) -> Result<i64, String> {
        Ok(match self {
            Self::Time(time) => time.to_utc(zone),
            Self::BeforeEnd(time) => last.saturating_sub(*time),
            Self::TimeOfDay(time) => {
                let day = zoned(last, zone).map(|last| last.date());
                let of_day = |day: jiff::civil::Date| zone.to_timestamp(day.to_datetime(*time)).ok();
                let found = day.and_then(of_day).map(in_100ns).filter(|time| *time <= last);
                let before = || day.and_then(|day| of_day(day.yesterday().ok()?)).map(in_100ns);
                found.or_else(before).unwrap_or(last)
            }
            Self::Mark(text) => {
                let wanted = text.to_lowercase();
                let found = marks.iter().rev().find(|mark| mark.text.to_lowercase().contains(&wanted));
                found.map(|mark| mark.time).ok_or_else(|| no_mark(text, marks))?
            }
        })
    }
}

/// Returns the UTC times of a window's begin and end in a log from `first` to `last`. The end of a window is after its
/// begin, so its time of day can be that of the next day.
///
/// # Errors
/// If there is no such mark, the begin is later than the log, or the end is before the begin.
pub fn window(
    (begin, end): (Option<&InstantArg>, Option<&InstantArg>),
    zone: &TimeZone,
    (first, last): (i64, i64),
    marks: &[&Annotation],
) -> Result<(Option<i64>, Option<i64>), String> {
    let to_utc = |time: Option<&InstantArg>| time.map(|time| time.to_utc(zone, last, marks)).transpose();
    let next_day = |time: i64| {
        let next = zoned(time, zone).and_then(|time| time.tomorrow().ok());
        next.map_or(time, |time| in_100ns(time.timestamp()))
    };
    let is_of_day = |time: Option<&InstantArg>| matches!(time, Some(InstantArg::TimeOfDay(_)));
    let (from, mut until) = (to_utc(begin)?, to_utc(end)?);
    if is_of_day(begin) && from.is_some_and(|from| from < first && next_day(from) > last) {
        return Err("the log ends before that time of day".to_owned());
    }
    if is_of_day(end) {
        let is_earlier = |until: i64| until < from.unwrap_or(first);
        // A night ends on the next day. If the log ends before that day, the times were given in the wrong order.
        let day = |time: i64| zoned(time, zone).map(|time| time.date());
        let is_reversed = |(from, until): (i64, i64)| until < from && day(until) == day(from);
        if day(from.unwrap_or(first)) == day(last) && from.zip(until).is_some_and(is_reversed) {
            return Err("the end is before the begin, and the log ends on that day".to_owned());
        }
        until = until.map(|until| if is_earlier(until) { next_day(until) } else { until });
    }
    Ok((from, until))
}

fn no_mark(text: &str, marks: &[&Annotation]) -> String {
    let known: Vec<_> =
        marks.iter().rev().take(5).map(|mark| format!("\"{}\"", escaped(&mark.text))).collect();
    let known = match known.is_empty() {
        true => "the log has no marks".to_owned(),
        false => format!("the last marks are {}", known.join(", ")),
    };
    format!("no mark contains \"{}\": {known}", escaped(text))
}

impl FromStr for InstantArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Some(mark) = text.strip_prefix("mark ").map(str::trim).filter(|mark| !mark.is_empty()) {
            return Ok(Self::Mark(mark.to_owned()));
        }
        if let Some(time) = text.strip_prefix('-') {
            return before_end(time)
                .map(Self::BeforeEnd)
                .ok_or("a time before the end is like -90s, -10m or -2h");
        }
        // A timestamp has a day, and a number alone could be anything.
        let is_time = text.contains(':') && !text.contains(['-', '/', '+', 'Z']);
        if let Some(time) = text.parse::<Time>().ok().filter(|_| is_time) {
            return Ok(Self::TimeOfDay(time));
        }
        text.parse().map(Self::Time).map_err(|_| {
            "an instant is like 14:03:07, 2026-11-22 10:30:00, -10m (before the end), or \"mark deploy 42\""
        })
    }
}

/// Parses a length of time such as `90s`, `10m` or `2h`, and returns it in 100 ns. A number without a unit is in
/// seconds.
fn before_end(text: &str) -> Option<i64> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(seconds)?.checked_mul(10_000_000)
}

/// Converts a time in 100 ns since 1601 to a time zone; returns `None` if the time library cannot represent the time.
pub fn zoned(time: i64, zone: &TimeZone) -> Option<Zoned> {
    moment(time).map(|time| time.to_zoned(zone.clone()))
}

fn moment(time: i64) -> Option<Timestamp> {
    let since_1970 = i128::from(time).saturating_sub(i128::from(UNIX_EPOCH_100NS)).saturating_mul(100);
    Timestamp::from_nanosecond(since_1970).ok()
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
        let west = TimeZone::fixed(tz::offset(-1));
        assert_eq!(TimeArg::Local(ten).to_utc(&west), ten + HOUR);
        assert_eq!(TimeArg::Utc(ten).to_utc(&west), ten);
        for time in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(TimeArg::Local(time).to_utc(&TimeZone::UTC), time);
        }
    }

    #[test]
    fn instants() {
        const SECOND: i64 = 10_000_000;
        const HOUR: i64 = 3_600 * SECOND;
        let ten = 134_383_464_000_000_000; // 2026-11-05 10:00 UTC
        let east = TimeZone::fixed(tz::offset(1));
        let mark = |text: &str, time| Annotation { time, is_of_recorder: false, text: text.to_owned() };
        let marks = [mark("Deploy 41", 1), mark("deploy 42", 2), mark("restart", 3)];
        let marks: Vec<&Annotation> = marks.iter().collect();
        for (text, want) in [
            ("2026-11-05 10:00:00", ten - HOUR),
            ("2026-11-05T10:00:00Z", ten),
            ("10:59:59", ten - SECOND),
            ("10:59", ten - 60 * SECOND),
            // The last sample is at 11:00 there, so a later time is one of the day before.
            ("11:00", ten),
            ("11:00:01", ten - 24 * HOUR + SECOND),
            ("-90", ten - 90 * SECOND),
            ("-90s", ten - 90 * SECOND),
            ("-10m", ten - 600 * SECOND),
            ("-2h", ten - 2 * HOUR),
            ("-1d", ten - 24 * HOUR),
            ("mark deploy", 2),
            ("mark DEPLOY 41", 1),
        ] {
            let instant: InstantArg = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(instant.to_utc(&east, ten, &marks), Ok(want), "{text}");
        }
        for bad in ["", "-", "-x", "-10y", "mark", "mark ", "25:00", "10", "-99999999999999999999", "now"] {
            assert!(bad.parse::<InstantArg>().is_err(), "{bad}");
        }
        // A window of times of day: 10:59 to 11:05, of a log that ends at 11:00.
        let parse = |text: &str| text.parse::<InstantArg>().unwrap();
        let window = |begin: &str, end: &str| {
            window((Some(&parse(begin)), Some(&parse(end))), &east, (ten - 600 * SECOND, ten), &marks)
        };
        let minute = 60 * SECOND;
        assert_eq!(window("10:59", "11:05"), Ok((Some(ten - minute), Some(ten + 5 * minute))));
        assert_eq!(window("10:51", "10:52"), Ok((Some(ten - 9 * minute), Some(ten - 8 * minute))));
        let reversed = window("10:52", "10:51").unwrap_err();
        assert_eq!(reversed, "the end is before the begin, and the log ends on that day");
        assert!(window("11:01", "11:05").is_err());
        let unknown = "mark x\u{1b}".parse::<InstantArg>().unwrap();
        let error = unknown.to_utc(&east, ten, &marks).unwrap_err();
        assert_eq!(
            error,
            r#"no mark contains "x\u{1b}": the last marks are "restart", "deploy 42", "Deploy 41""#
        );
        assert!(unknown.to_utc(&east, ten, &[]).unwrap_err().ends_with("the log has no marks"));
    }
}
