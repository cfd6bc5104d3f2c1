//! Time axis of a picture: positions and texts of its ticks.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

/// Tick on the time axis of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Time of the tick in µs since 1970.
    pub time: i64,
    /// Text of the time axis's tick: time of day, day, month or year.
    pub label: String,
    /// Date below the tick's time of day, if it differs from the date of the previous tick.
    pub day: Option<String>,
}

/// Interval between two ticks of a time axis.
enum Step {
    /// Interval of a fixed number of µs that divides an hour; all hours have the same length.
    Fixed(i64),
    /// Interval in local time, for which hours and days can have different lengths when clocks are put forward or back.
    Civil(Span),
}

const MS: i64 = 1_000;
const SECOND: i64 = 1_000 * MS;
const MINUTE: i64 = 60 * SECOND;
const FIXED: [i64; 20] = [
    1,
    10,
    100,
    MS,
    10 * MS,
    100 * MS,
    500 * MS,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    60 * MINUTE,
];

fn steps() -> impl Iterator<Item = Step> {
    let hours = [2, 3, 6, 12].map(|n| n.hours());
    let longer = [
        1.day(),
        2.days(),
        7.days(),
        1.month(),
        3.months(),
        1.year(),
        10.years(),
        100.years(),
        1_000.years(),
    ];
    FIXED.into_iter().map(Step::Fixed).chain(hours.into_iter().chain(longer).map(Step::Civil))
}

/// Converts a time in µs since 1970 to local date and time; `None` if it is outside the supported range.
pub fn civil(time: i64, zone: &TimeZone) -> Option<DateTime> {
    Some(zone.to_datetime(Timestamp::from_microsecond(time).ok()?))
}

/// Returns the UTC offset of a zone at a time in µs since 1970, as text: `UTC`, `UTC+01:00`.
pub fn offset(time: i64, zone: &TimeZone) -> String {
    match Timestamp::from_microsecond(time).map(|time| zone.to_offset(time)) {
        Ok(offset) if offset.seconds() != 0 => {
            let minutes = offset.seconds().unsigned_abs() / 60;
            let sign = if offset.is_negative() { "−" } else { "+" };
            format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
        _ => "UTC".to_owned(),
    }
}

/// Returns ticks of a time axis at round times between `from` and `to`, at most `most`.
pub fn ticks(from: i64, to: i64, zone: &TimeZone, most: usize) -> Vec<Tick> {
    let ticks_by = |step| match step {
        Step::Fixed(step) => fixed(from, to, zone, most, step),
        Step::Civil(step) => by_wall(from, to, zone, most, step),
    };
    let mut ticks = steps().find_map(ticks_by).unwrap_or_default();
    let mut shown = None;
    for tick in &mut ticks {
        if tick.day == shown {
            tick.day = None;
        } else {
            shown.clone_from(&tick.day);
        }
    }
    ticks
}

fn fixed(from: i64, to: i64, zone: &TimeZone, most: usize, step: i64) -> Option<Vec<Tick>> {
    // The offset at the beginning applies to all ticks. Clocks change by whole hours nearly everywhere, and
    // every fixed step divides an hour.
    let offset =
        i64::from(zone.to_offset(Timestamp::from_microsecond(from).ok()?).seconds()).checked_mul(SECOND)?;
    let into = from.checked_add(offset)?.checked_rem_euclid(step)?;
    let first = if into == 0 { from } else { from.checked_add(step.checked_sub(into)?)? };
    let count = usize::try_from(to.checked_sub(first)?.checked_div(step)?.checked_add(1)?).ok()?;
    if count > most {
        return None;
    }
    let format = match step {
        MINUTE.. => "%H:%M",
        SECOND.. => "%H:%M:%S",
        MS.. => "%H:%M:%S.%3f",
        _ => "%H:%M:%S.%6f",
    };
    let mut ticks = Vec::new();
    let mut time = first;
    for _ in 0..count {
        let at = civil(time, zone)?;
        let day = Some(at.strftime("%Y-%m-%d").to_string());
        ticks.push(Tick { time, label: at.strftime(format).to_string(), day });
        time = time.checked_add(step)?;
    }
    Some(ticks)
}

fn by_wall(from: i64, to: i64, zone: &TimeZone, most: usize, step: Span) -> Option<Vec<Tick>> {
    let begin = civil(from, zone)?;
    let date = begin.date();
    let (years, months, days) = (step.get_years(), step.get_months(), step.get_days());
    let format = match (years, months, days) {
        (1.., _, _) => "%Y",
        (_, 1.., _) => "%Y-%m",
        (_, _, 1..) => "%Y-%m-%d",
        _ => "%H:%M",
    };
    let first = match (years, months, days) {
        (1.., _, _) => {
            let into = date.year().checked_rem_euclid(years)?;
            jiff::civil::Date::new(date.year().checked_sub(into)?, 1, 1).ok()?
        }
        // From the beginning of the year, so that steps of three months are quarters.
        (_, 1.., _) => date.first_of_year(),
        // Weeks begin on Monday (ISO 8601).
        (_, _, 7) => date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()?,
        _ => date,
    };
    let (mut at, mut ticks): (DateTime, Vec<Tick>) = (first.into(), Vec::new());
    // The first step begins at most a year of months or a day of hours before `from`.
    while ticks.len() <= most {
        // A local time skipped when clocks are put forward becomes the time after the gap.
        let time = zone.to_timestamp(at).ok()?.as_microsecond();
        if time > to {
            return Some(ticks);
        }
        if time >= from && ticks.last().is_none_or(|last| last.time < time) {
            let day = (format == "%H:%M").then(|| at.strftime("%Y-%m-%d").to_string());
            ticks.push(Tick { time, label: at.strftime(format).to_string(), day });
        }
        at = at.checked_add(step).ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    fn shown(from: &str, to: &str, zone: &TimeZone, most: usize) -> String {
        let ticks = ticks(at(from), at(to), zone, most);
        let label = |tick: &Tick| match &tick.day {
            Some(day) => format!("{}[{day}]", tick.label),
            None => tick.label.clone(),
        };
        ticks.iter().map(label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn moments_are_round_where_people_are() {
        let west = jiff::tz::offset(-8).to_time_zone();
        let half = jiff::tz::Offset::from_seconds(19_800).unwrap().to_time_zone();
        let utc = TimeZone::UTC;
        for (from, to, zone, most, want) in [
            (
                "2026-11-22T10:00:01Z",
                "2026-11-22T10:00:59Z",
                &utc,
                6,
                "10:00:10[2026-11-22] 10:00:20 10:00:30 10:00:40 10:00:50",
            ),
            (
                "2026-11-22T10:00:00Z",
                "2026-11-22T10:00:00.4Z",
                &utc,
                5,
                "10:00:00.000[2026-11-22] 10:00:00.100 10:00:00.200 10:00:00.300 10:00:00.400",
            ),
            (
                "2013-02-20T02:50:18Z",
                "2013-02-20T03:00:17Z",
                &west,
                5,
                "18:52[2013-02-19] 18:54 18:56 18:58 19:00",
            ),
            (
                "2026-11-22T18:00:00Z",
                "2026-11-22T19:10:00Z",
                &half,
                3,
                "23:30[2026-11-22] 00:00[2026-11-23] 00:30",
            ),
            ("2026-11-22T20:00:00Z", "2026-11-23T14:00:00Z", &utc, 4, "00:00[2026-11-23] 06:00 12:00"),
            ("2026-11-20T20:00:00Z", "2026-11-23T14:00:00Z", &utc, 4, "2026-11-21 2026-11-22 2026-11-23"),
            ("2026-11-01T00:00:00Z", "2027-02-01T00:00:00Z", &utc, 6, "2026-11 2026-12 2027-01 2027-02"),
            ("1998-01-01T00:00:00Z", "2027-02-01T00:00:00Z", &utc, 6, "2000 2010 2020"),
        ] {
            assert_eq!(shown(from, to, zone, most), want, "{from} {to}");
        }
    }

    /// Checks that ticks omit local times that do not exist, and repeat those that occur twice, when clocks change.
    #[test]
    fn clocks_may_be_put_forward_and_back() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (from, to, most, want) in [
            (
                "2026-10-24T23:30:00Z",
                "2026-10-25T03:30:00Z",
                9,
                "01:30[2026-10-25] 02:00 02:30 02:00 02:30 03:00 03:30 04:00 04:30",
            ),
            (
                "2026-10-24T22:00:00Z",
                "2026-10-25T23:00:00Z",
                5,
                "00:00[2026-10-25] 06:00 12:00 18:00 00:00[2026-10-26]",
            ),
            ("2026-03-28T23:00:00Z", "2026-03-29T03:00:00Z", 5, "00:00[2026-03-29] 01:00 03:00 04:00 05:00"),
        ] {
            assert_eq!(shown(from, to, &zone, most), want, "{from} {to}");
        }
    }

    /// Checks that any range of times, even the largest, has at most the requested number of ticks.
    #[test]
    fn every_span_has_few_moments() {
        let most = i64::MAX / 40;
        for (from, to) in
            [(i64::MIN, i64::MAX), (0, 0), (i64::MAX, i64::MAX), (0, i64::MAX), (-most, most), (5, 3)]
        {
            assert!(ticks(from, to, &TimeZone::UTC, 8).len() <= 8, "{from} {to}");
        }
        for length in (0..50).map(|power| 1_i64 << power) {
            assert!(ticks(0, length, &TimeZone::UTC, 8).len() <= 8, "{length}");
        }
    }

    #[test]
    fn zones_are_told() {
        assert_eq!(offset(0, &TimeZone::UTC), "UTC");
        assert_eq!(offset(0, &jiff::tz::Offset::from_seconds(-12_600).unwrap().to_time_zone()), "UTC−03:30");
    }
}
