//! Record: one value with its time and path, and the texts that they are parsed from.

use std::num::NonZeroU32;
use std::time::Duration;

use perfset_core::clock::SystemTime;
use perfset_core::{Mark, NoValue};
use perfset_engine::path::CounterPath;

/// Value of a counter of an instance at one time, as a record of a log has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedValue {
    pub time: i64,
    pub path: CounterPath,
    /// Value of the record with its mark, or the reason for its absence. [`NoValue::NoInstance`] stands for an
    /// instance that did not exist.
    pub value: Result<(f64, Mark), NoValue>,
}

/// Fields of a record that say how good its value is, or why there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordRemarks<'a> {
    pub status: &'a str,
    pub mark: &'a str,
    /// Number of instances that a record's partial sum lacks.
    pub missing: u64,
    /// Reason in words for a missing value, if the file has it.
    pub reason: &'a str,
}

impl RecordRemarks<'_> {
    /// Returns the value of a record with its mark, or the reason for which the record has no value.
    pub fn of(&self, value: Option<f64>) -> Result<(f64, Mark), NoValue> {
        value.map(|value| (value, self.mark())).ok_or_else(|| self.reason())
    }

    fn mark(&self) -> Mark {
        let missing = u32::try_from(self.missing).unwrap_or(u32::MAX);
        match self.mark {
            "partial" => Mark::Partial(NonZeroU32::new(missing).unwrap_or(NonZeroU32::MIN)),
            // The output does not have the age.
            "stale" => Mark::Stale(Duration::ZERO),
            "held" => Mark::Held,
            "capped" => Mark::Capped,
            _ => Mark::Formatted,
        }
    }

    /// Returns the reason that the status keyword of a record stands for. The output lacks the numbers of some reasons,
    /// which are texts then.
    fn reason(&self) -> NoValue {
        let words = || match self.reason {
            "" => "the log does not contain the reason".to_owned(),
            words => words
                .strip_prefix(self.status)
                .and_then(|rest| rest.strip_prefix(": "))
                .unwrap_or(words)
                .to_owned(),
        };
        let failed =
            |text: &str| NoValue::Failed(if self.reason.is_empty() { text.into() } else { words().into() });
        match self.status {
            "needs_two_samples" => NoValue::NeedsTwoSamples,
            "not_displayable" => NoValue::NotDisplayable,
            "missing_base" => NoValue::MissingBase,
            "restarted" => NoValue::Restarted { value_fell: false },
            "time_went_back" => NoValue::TimeWentBack { value_fell: false },
            "negative_denominator" => NoValue::NegativeDenominator,
            "negative_timebase" => NoValue::NegativeTimebase,
            "new_instance" => NoValue::NewInstance,
            "replaced" => NoValue::Replaced,
            "unavailable" => NoValue::Unavailable(words().into()),
            "denied" => NoValue::Denied(words().into()),
            "late" => NoValue::Late,
            "no_instance" => NoValue::NoInstance,
            "negative_value" => failed("the raw value fell, or a start time is later than the sample"),
            "wrapped" => failed("the raw value fell: the 4-byte counter overflowed or was reset"),
            "type_changed" => failed("the counter's type changed"),
            "failed" | "status" => failed("its source failed, and the log does not contain the reason"),
            _ => NoValue::NotGiven,
        }
    }
}

/// Returns the number if it can be a record's value: neither NaN nor infinity.
pub(crate) fn number(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// Parses a record's time `yyyy-MM-ddTHH:mm:ss.fffZ` to 100 ns since 1601.
pub(crate) fn time(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let (date, clock) = text.split_once('T')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut date = date.split('-').map(digits);
    let mut clock = clock.split(':').map(digits);
    let time = SystemTime {
        year: date.next()??,
        month: date.next()??,
        day: date.next()??,
        hour: clock.next()??,
        minute: clock.next()??,
        second: clock.next()??,
        ..SystemTime::default()
    };
    if date.next().is_some() || clock.next().is_some() || !(1..=7).contains(&fraction.len()) {
        return None;
    }
    let parts = format!("{fraction:0<7}");
    if !parts.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    time.to_100ns()?.checked_add(parts.parse().ok()?)
}

/// Parses a text of decimal digits to a number; `None` for any other text.
fn digits(text: &str) -> Option<u16> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// Returns the counter path of a record, whose names must be those of its `path`. The path alone does not show where
/// a name ends, and the names alone do not have the number of an instance among those of its name.
pub(super) fn path_of(
    path: &str,
    machine: Option<&str>,
    counterset: &str,
    instance: &str,
    counter: &str,
) -> Option<CounterPath> {
    let of_machine = machine.and_then(|machine| path.strip_prefix("\\\\")?.strip_prefix(machine));
    let rest = of_machine.unwrap_or(path).strip_prefix('\\')?.strip_prefix(counterset)?;
    let rest = rest.strip_suffix(counter)?.strip_suffix('\\')?;
    let numbered = match rest {
        "" if instance.is_empty() => None,
        _ => {
            let numbered = rest.strip_prefix('(')?.strip_suffix(')')?;
            let number = numbered.strip_prefix(instance)?;
            let is_number =
                |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if !number.is_empty() && !number.strip_prefix('#').is_some_and(is_number) {
                return None;
            }
            Some(numbered.to_owned())
        }
    };
    Some(CounterPath {
        machine: machine.map(str::to_owned),
        counterset: counterset.to_owned(),
        instance: numbered,
        counter: counter.to_owned(),
    })
}
