//! States of cells in a recording: reasons for missing values, marks, and start times of counts.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use perfset_core::{CounterType, Mark, NoValue, Status};
use perfset_engine::CellState;

use super::bytes::{Malformed, PayloadCursor, put_text, put_uint};

/// Appends the state of a cell to a payload: a kind, then its fields.
pub(super) fn put_state(out: &mut Vec<u8>, state: &CellState) {
    match state {
        CellState::Missing(reason) => {
            out.push(MISSING);
            put_reason(out, reason);
        }
        CellState::Marked(mark) => {
            out.push(MARKED);
            put_mark(out, *mark);
        }
        CellState::Counted(since, mark) => {
            out.push(if mark.is_some() { COUNTED_AND_MARKED } else { COUNTED });
            put_uint(out, since.get());
            if let Some(mark) = mark {
                put_mark(out, *mark);
            }
        }
    }
}

const MISSING: u8 = 0;
const MARKED: u8 = 1;
const COUNTED: u8 = 2;
const COUNTED_AND_MARKED: u8 = 3;

/// Reads from a payload the state of a cell that [`put_state`] writes.
pub(super) fn state(from: &mut PayloadCursor<'_>) -> Result<CellState, Malformed> {
    let kind = from.byte("kind of a state")?;
    Ok(match kind {
        MISSING => CellState::Missing(reason(from)?),
        MARKED => CellState::Marked(mark(from)?),
        COUNTED | COUNTED_AND_MARKED => {
            let since = NonZeroU64::new(from.uint("start of a count")?);
            let since = since.ok_or_else(|| from.error("start of a count is 0"))?;
            CellState::Counted(since, if kind == COUNTED { None } else { Some(mark(from)?) })
        }
        _ => return Err(from.error(format!("state of the unknown kind {kind}"))),
    })
}

/// Appends the reason for a missing value to a payload: its number, then its fields.
pub(super) fn put_reason(out: &mut Vec<u8>, reason: &NoValue) {
    let (number, fields, text): (u8, [u64; 2], Option<&str>) = match reason {
        NoValue::NeedsTwoSamples => (0, [0; 2], None),
        NoValue::NotDisplayable => (1, [0; 2], None),
        NoValue::MissingBase => (2, [0; 2], None),
        NoValue::NegativeValue { from, to } => (3, [*from, *to], None),
        NoValue::Wrapped { from, to } => (4, [(*from).into(), (*to).into()], None),
        NoValue::Restarted { value_fell } => (5, [(*value_fell).into(), 0], None),
        NoValue::TimeWentBack { value_fell } => (6, [(*value_fell).into(), 0], None),
        NoValue::BeginsLater => (7, [0; 2], None),
        NoValue::NegativeDenominator => (8, [0; 2], None),
        NoValue::NegativeTimebase => (9, [0; 2], None),
        NoValue::TypeChanged { from, to } => (10, [from.0.into(), to.0.into()], None),
        NoValue::NewInstance => (11, [0; 2], None),
        NoValue::Replaced => (12, [0; 2], None),
        NoValue::Unavailable(text) => (13, [0; 2], Some(text)),
        NoValue::Denied(text) => (14, [0; 2], Some(text)),
        NoValue::Failed(text) => (15, [0; 2], Some(text)),
        NoValue::Late => (16, [0; 2], None),
        NoValue::NoInstance => (17, [0; 2], None),
        NoValue::Status(status) => (18, [status.0.into(), 0], None),
        NoValue::NotGiven => (19, [0; 2], None),
        // A reason that is newer than this list keeps its text.
        other => {
            out.push(15);
            put_text(out, &other.to_string());
            return;
        }
    };
    out.push(number);
    fields.iter().take(fields_of(number)).for_each(|field| put_uint(out, *field));
    if let Some(text) = text {
        put_text(out, text);
    }
}

/// Returns the number of fields that an encoded reason for a missing value has.
fn fields_of(reason: u8) -> usize {
    match reason {
        3 | 4 | 10 => 2,
        5 | 6 | 18 => 1,
        _ => 0,
    }
}

/// Reads the reason for a missing value that [`put_reason`] writes.
pub(super) fn reason(from: &mut PayloadCursor<'_>) -> Result<NoValue, Malformed> {
    let number = from.byte("reason")?;
    let mut fields = [0; 2];
    for field in fields.iter_mut().take(fields_of(number)) {
        *field = from.uint("field of a reason")?;
    }
    let [a, b] = fields;
    let short = |field: u64| u32::try_from(field).map_err(|_| from.error("field of a reason is too large"));
    Ok(match number {
        0 => NoValue::NeedsTwoSamples,
        1 => NoValue::NotDisplayable,
        2 => NoValue::MissingBase,
        3 => NoValue::NegativeValue { from: a, to: b },
        4 => NoValue::Wrapped { from: short(a)?, to: short(b)? },
        5 => NoValue::Restarted { value_fell: a != 0 },
        6 => NoValue::TimeWentBack { value_fell: a != 0 },
        7 => NoValue::BeginsLater,
        8 => NoValue::NegativeDenominator,
        9 => NoValue::NegativeTimebase,
        10 => NoValue::TypeChanged { from: CounterType(short(a)?), to: CounterType(short(b)?) },
        11 => NoValue::NewInstance,
        12 => NoValue::Replaced,
        13 => NoValue::Unavailable(from.text("reason")?.to_owned().into()),
        14 => NoValue::Denied(from.text("reason")?.to_owned().into()),
        15 => NoValue::Failed(from.text("reason")?.into()),
        16 => NoValue::Late,
        17 => NoValue::NoInstance,
        18 => NoValue::Status(Status(short(a)?)),
        19 => NoValue::NotGiven,
        _ => return Err(from.error(format!("reason of the unknown number {number}"))),
    })
}

fn put_mark(out: &mut Vec<u8>, mark: Mark) {
    match mark {
        Mark::Held => out.push(1),
        Mark::Stale(age) => {
            out.push(2);
            put_uint(out, u64::try_from(age.as_nanos()).unwrap_or(u64::MAX));
        }
        Mark::Reused => out.push(3),
        Mark::Capped => out.push(4),
        Mark::Formatted => out.push(5),
        Mark::Partial(missing) => {
            out.push(6);
            put_uint(out, missing.get().into());
        }
    }
}

fn mark(from: &mut PayloadCursor<'_>) -> Result<Mark, Malformed> {
    Ok(match from.byte("mark")? {
        1 => Mark::Held,
        2 => Mark::Stale(Duration::from_nanos(from.uint("age of a value")?)),
        3 => Mark::Reused,
        4 => Mark::Capped,
        5 => Mark::Formatted,
        6 => {
            let missing = NonZeroU32::new(from.small("number of missing instances")?);
            Mark::Partial(missing.ok_or_else(|| from.error("number of missing instances is 0"))?)
        }
        number => return Err(from.error(format!("mark of the unknown number {number}"))),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns one of each kind of reason for missing values, with the largest fields.
    pub fn reasons() -> Vec<NoValue> {
        vec![
            NoValue::NeedsTwoSamples,
            NoValue::NotDisplayable,
            NoValue::MissingBase,
            NoValue::NegativeValue { from: u64::MAX, to: 0 },
            NoValue::Wrapped { from: u32::MAX, to: 1 },
            NoValue::Restarted { value_fell: true },
            NoValue::TimeWentBack { value_fell: false },
            NoValue::BeginsLater,
            NoValue::NegativeDenominator,
            NoValue::NegativeTimebase,
            NoValue::TypeChanged { from: CounterType(0x1234), to: CounterType(u32::MAX) },
            NoValue::NewInstance,
            NoValue::Replaced,
            NoValue::Unavailable("no such file".into()),
            NoValue::Denied("needs CAP_SYS_PTRACE".into()),
            NoValue::Failed("/proc/stat: line 3".into()),
            NoValue::Late,
            NoValue::NoInstance,
            NoValue::Status(Status(0xC000_0001)),
            NoValue::NotGiven,
        ]
    }

    #[test]
    fn states_round_trip() {
        let marks = [
            Mark::Held,
            Mark::Stale(Duration::from_nanos(1_234_567_890)),
            Mark::Reused,
            Mark::Capped,
            Mark::Formatted,
            Mark::Partial(NonZeroU32::MAX),
        ];
        let mut states: Vec<CellState> = reasons().into_iter().map(CellState::Missing).collect();
        states.extend(marks.map(CellState::Marked));
        states.extend([None, Some(Mark::Held)].map(|mark| CellState::Counted(NonZeroU64::MAX, mark)));
        for want in states {
            let mut out = Vec::new();
            put_state(&mut out, &want);
            let mut cursor = PayloadCursor::new(&out);
            assert_eq!(state(&mut cursor), Ok(want));
            assert_eq!(cursor.end(), Ok(()));
            for len in 0..out.len() {
                assert!(state(&mut PayloadCursor::new(&out[..len])).is_err());
            }
        }
    }
}
