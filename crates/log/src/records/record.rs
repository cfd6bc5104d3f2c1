//! Record: one value with its time and path, and the texts that they are parsed from.

use perfset_core::clock::SystemTime;
use perfset_engine::path::CounterPath;

/// Value of a counter of an instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedValue {
    pub time: i64,
    pub path: CounterPath,
    pub value: Option<f64>,
}

/// Returns a number that a value can be: no NaN and no infinity.
pub(crate) fn number(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// Parses `yyyy-MM-ddTHH:mm:ss.fffZ` to 100 ns since 1601.
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

/// Parses a text of decimal digits.
fn digits(text: &str) -> Option<u16> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// Returns the path of a record, whose names must be those of its `path`. The path alone does not show where a name
/// ends, and the names alone do not have the number of an instance among those of its name.
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
