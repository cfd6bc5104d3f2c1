//! Tests of formulas: single cases, and the vectors of `testdata/formulas`.

use super::*;

#[test]
fn rates() {
    let s = |raw, time| Reading { raw, time, freq: 10 };
    let cases = [
        ("ten events in two seconds", s(5, 0), s(15, 20), Ok(5.0)),
        ("provider restarted", s(15, 0), s(5, 20), Err(NoValue::NegativeValue { from: 15, to: 5 })),
        ("same sample twice", s(5, 20), s(5, 20), Err(NoValue::NegativeDenominator)),
        ("time went back", s(5, 20), s(6, 19), Err(NoValue::NegativeDenominator)),
    ];
    for (name, old, new, want) in cases {
        assert_eq!(counter_rate(old, new), want, "{name}");
    }
}

#[test]
fn types_without_a_name_are_computed_by_their_bits() {
    for (bits, want) in [
        (0x20C2_0500, Some("100 x dN / dB")),       // a sample fraction of 8 bytes
        (0x2161_0500, Some("100 x (1 - dN / dD)")), // idle object time
        (0x1061_0500, Some("dN / (dD / F)")),       // events per second of object time
        (0x3041_0500, Some("dN / (dD / F)")),       // a rate with another suffix
        (0x1041_0700, Some("dN / (dD / F)")),       // a rate whose width only the block knows
        (0x3002_0500, Some("(dN / F) / dB")),       // an average timer whose bits say 8 bytes
        (0x4002_0400, Some("dN / dB")),             // an average of 4 bytes
        (0x0002_0000, Some("N1 / 1000")),           // PERF_NUMBER_DEC_1000
        (0x0000_0500, Some("N1")),                  // PERF_COUNTER_VALUE
        (0x1001_0100, Some("N1")),                  // a number with a suffix
        (0x2261_0500, None),                        // multi timers have a formula for each clock
        (0x0002_0400, None),                        // a fraction that says not of what
        (0x2051_2500, None),                        // a bit that nothing defines
        (0x0046_0500, None),                        // a histogram
        (0x4003_0503, None),                        // a base
        (0x0000_0C00, None),                        // PERF_TYPE_ZERO
        (0x8041_0500, None),
    ] {
        assert_eq!(for_type(CounterType(bits)).map(|formula| formula.text), want, "{bits:#010x}");
    }
}

#[test]
fn bits_say_what_the_formula_takes() {
    for (counter_type, name) in CounterType::ALL {
        let Some(formula) = for_type(*counter_type) else { continue };
        let two = !matches!(formula.compute, FormulaFn::Newest(_));
        assert_eq!(counter_type.needs_two_samples(), two, "{name}");
        let base = !matches!(formula.denominator, Denominator::None | Denominator::Clock);
        assert_eq!(counter_type.needs_base(), base, "{name}");
    }
}

#[test]
fn doubles_that_are_no_numbers_have_no_value() {
    let reading = |value: f64| Reading { raw: value.to_bits(), time: 0, freq: 0 };
    assert_eq!(raw_double(reading(-1.5)), Ok(-1.5));
    assert_eq!(raw_double(reading(f64::NAN)), Err(NoValue::NotDisplayable));
    assert_eq!(raw_double(reading(f64::INFINITY)), Err(NoValue::NotDisplayable));
}

#[test]
fn vectors() {
    let csv = include_str!("../../../../testdata/formulas/counter-type-vectors.csv");
    let report = crate::vectors::check(csv).unwrap();
    assert_eq!(report.mismatches, Vec::<String>::new());
    assert_eq!(report.checked, 243);
}
