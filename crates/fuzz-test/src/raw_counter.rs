//! Fuzz target for values and statistics of PDH raw counters.

use perfset_core::CounterType;
use perfset_core::pdh::{Calculation, Format, FormatKind, Number, PdhStatus, RawCounter, Scale};
use perfset_engine::path::Statistics;

use crate::input::InputBytes;

/// Checks values and statistics of PDH raw counters. The fuzz input is a type, a time base, a format and a scale,
/// then raw counters.
///
/// There is a number exactly if the status says so, and it is finite; statistics count what has a number, and lie
/// between the least and the greatest.
pub fn check(input: &[u8]) {
    let mut input = InputBytes(input);
    let counter_type = match input.byte() {
        0 => CounterType(input.u32()),
        known => CounterType::ALL[usize::from(known) % CounterType::ALL.len()].0,
    };
    let time_base = number(&mut input);
    let flags = u32::from(input.byte());
    let Ok(format) =
        Format::from_bits(0x100 << (flags & 3) | (flags >> 2 & 3) << 12 | (flags >> 4 & 1) << 15)
    else {
        return; // of the four kinds one is none
    };
    let scale = Scale::try_from(i32::from(input.byte() % 15) - 7).unwrap();
    let Ok(calculation) = Calculation::new(counter_type, time_base, format) else {
        assert!(counter_type.is_base());
        return;
    };
    let calculation = calculation.scaled(scale);
    let mut ring = Vec::new();
    while input.has_more() && ring.len() < 16 {
        let c_status = PdhStatus(u32::from(input.byte()) % 3);
        let (first, second) = (number(&mut input), number(&mut input));
        let multi_count = u32::from(input.byte());
        ring.push(RawCounter { c_status, time: 0, first, second, multi_count });
    }
    let mut numbers = Vec::new();
    for (at, raw) in ring.iter().enumerate() {
        let older = at.checked_sub(1).map(|older| &ring[older]);
        let value = calculation.value(raw, older);
        assert_eq!(value.number.is_some(), value.c_status.has_value());
        numbers.extend(value.number.map(Number::as_double));
    }
    assert!(numbers.iter().all(|number| number.is_finite()));
    match Statistics::from_ring(&calculation, 0, &ring) {
        Ok(statistics) => {
            assert_eq!(usize::try_from(statistics.count), Ok(numbers.len()));
            let between = |number: f64| {
                let kind = calculation.format().kind;
                let [min, max] = [statistics.min, statistics.max].map(|n| kind.number(n).as_double());
                // Integers are exact and cut off, where statistics of more than 2^53 are rounded first.
                let slack = if kind == FormatKind::Double { 0.0 } else { 1.0 + number.abs() * 1e-15 };
                min <= number + slack && number <= max + slack
            };
            assert!(numbers.iter().all(|number| between(*number)));
        }
        Err(_) => assert!(numbers.is_empty()),
    }
}

/// Reads a number from the fuzz input: one byte, or eight bytes after the byte 255.
fn number(input: &mut InputBytes<'_>) -> i64 {
    match input.byte() {
        255 => i64::from_le_bytes(input.u64().to_le_bytes()),
        small => i64::from(small),
    }
}
