//! Prompt of the screen: a line of text that the user types.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use perfset::clock::UNIX_EPOCH_100NS;

/// Maximum length of the text that a user types at a prompt, in characters.
const LONGEST: usize = 200;

/// Purpose of the text that the user types at a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// Prompt for the filter of the table's rows.
    Filter,
    /// Prompt for the time that the user wants to see.
    Time,
    /// Prompt for the name of the counterset to show.
    Counterset,
}

impl PromptKind {
    /// Returns the text that the prompt shows before the user's input.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Filter => "filter (text, regex or cpu>5): ",
            Self::Time => "go to (14:03:07, -10m, end, mark TEXT): ",
            Self::Counterset => "counterset: ",
        }
    }
}

/// Line of text that the user types at a prompt, with its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Purpose of the typed text.
    pub kind: PromptKind,
    /// Text that the user has typed at the prompt so far.
    pub text: String,
}

impl Prompt {
    /// Appends a typed character to the prompt, if there is space; control characters are ignored.
    pub fn push(&mut self, c: char) {
        if !c.is_control() && self.text.chars().count() < LONGEST {
            self.text.push(c);
        }
    }
}

/// Parses a typed span of time such as `10m`, in 100 ns. Without a unit it is in seconds.
pub fn span(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 4] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
    let (digits, seconds) = UNITS
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)))
        .unwrap_or((text, 1));
    digits
        .trim()
        .parse::<u32>()
        .ok()
        .and_then(|count| i64::from(count).checked_mul(seconds)?.checked_mul(10_000_000))
}

/// Parses a typed time of day, or a date with a time; a time of day is on the day of `now`. Returns 100 ns since 1601
/// UTC.
pub fn time(text: &str, zone: &TimeZone, now: i64) -> Option<i64> {
    let in_100ns =
        |at: jiff::Timestamp| at.as_microsecond().saturating_mul(10).saturating_add(UNIX_EPOCH_100NS);
    let of_day = || {
        let micros = now.saturating_sub(UNIX_EPOCH_100NS).div_euclid(10);
        let day = jiff::Timestamp::from_microsecond(micros).ok()?.to_zoned(zone.clone()).date();
        Some(day.to_datetime(text.parse::<Time>().ok()?))
    };
    let civil = text.parse::<DateTime>().ok().or_else(of_day)?;
    zone.to_timestamp(civil).ok().map(in_100ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_parsed() {
        for (text, want) in [
            ("10", Some(10)),
            ("10s", Some(10)),
            ("2m", Some(120)),
            ("1h", Some(3_600)),
            ("1d", Some(86_400)),
            ("x", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(span(text), want.map(|seconds| seconds * 10_000_000), "{text}");
        }
    }

    #[test]
    fn times_are_of_the_shown_day() {
        let day = |text: &str| time(text, &TimeZone::UTC, 0).unwrap();
        let noon = day("2026-11-22 12:00:00");
        assert_eq!(time("14:03:07", &TimeZone::UTC, noon), Some(day("2026-11-22 14:03:07")));
        assert_eq!(time("14:03", &TimeZone::UTC, noon), Some(day("2026-11-22 14:03:00")));
        assert_eq!(time("25:00", &TimeZone::UTC, noon), None);
    }

    #[test]
    fn prompts_take_no_controls_and_end_somewhere() {
        let mut prompt = Prompt { kind: PromptKind::Filter, text: String::new() };
        "a\u{1b}[2Jb\n".chars().for_each(|c| prompt.push(c));
        assert_eq!(prompt.text, "a[2Jb");
        (0..1_000).for_each(|_| prompt.push('x'));
        assert_eq!(prompt.text.len(), LONGEST);
    }
}
