//! Tests of PDH codes, of number formats, and of the formula vectors as raw counters.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::sample::Clocks;
use crate::vectors::{Vector, read};
use crate::{CounterType, FormattedValue, NoValue, RawValue, Sample, Status};

#[test]
fn every_reason_has_a_status() {
    use PdhStatus as S;
    let types = (CounterType::PERF_COUNTER_COUNTER, CounterType::PERF_COUNTER_RAWCOUNT);
    for (reason, want) in [
        (NoValue::NeedsTwoSamples, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::NegativeValue { from: 3, to: 2 }, S::PDH_CALC_NEGATIVE_VALUE),
        (NoValue::Wrapped { from: 3, to: 2 }, S::PDH_CALC_NEGATIVE_VALUE),
        (NoValue::BeginsLater, S::PDH_CALC_NEGATIVE_VALUE),
        (NoValue::NegativeDenominator, S::PDH_CALC_NEGATIVE_DENOMINATOR),
        (NoValue::Restarted { value_fell: false }, S::PDH_CALC_NEGATIVE_DENOMINATOR),
        (NoValue::Restarted { value_fell: true }, S::PDH_CALC_NEGATIVE_VALUE),
        (NoValue::TimeWentBack { value_fell: false }, S::PDH_CALC_NEGATIVE_DENOMINATOR),
        (NoValue::TimeWentBack { value_fell: true }, S::PDH_CALC_NEGATIVE_VALUE),
        (NoValue::NegativeTimebase, S::PDH_CALC_NEGATIVE_TIMEBASE),
        (NoValue::MissingBase, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::NotDisplayable, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::TypeChanged { from: types.0, to: types.1 }, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::NewInstance, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::Replaced, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::Unavailable("no".into()), S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::Denied("no".into()), S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::Failed(Arc::from("no")), S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::Late, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::NotGiven, S::PDH_CSTATUS_INVALID_DATA),
        (NoValue::NoInstance, S::PDH_CSTATUS_NO_INSTANCE),
        (NoValue::Status(Status::ERROR_NO_DATA), S::PDH_CSTATUS_NO_INSTANCE),
        (NoValue::Status(Status::ERROR_WMI_INSTANCE_NOT_FOUND), S::PDH_CSTATUS_NO_INSTANCE),
        (NoValue::Status(Status::ERROR_WMI_GUID_NOT_FOUND), S::PDH_CSTATUS_NO_OBJECT),
        (NoValue::Status(Status::ERROR_WMI_ITEMID_NOT_FOUND), S::PDH_CSTATUS_NO_COUNTER),
        (NoValue::Status(Status::RPC_S_SERVER_UNAVAILABLE), S::PDH_CSTATUS_NO_MACHINE),
        (NoValue::Status(Status::ERROR_INVALID_DATA), S::PDH_CSTATUS_INVALID_DATA),
    ] {
        assert_eq!(PdhStatus::from(&reason), want, "{reason}");
        assert!(!want.has_value(), "{want}");
    }
}

/// Checks that a raw value that fell is reported before a clock that fell.
#[test]
fn a_value_that_fell_with_its_clock_is_negative() {
    use PdhStatus as S;
    const SECOND: i64 = 10_000_000;
    let clocks = |ticks: i64| Clocks {
        perf_time: ticks,
        perf_freq: SECOND,
        time_100ns: ticks,
        object_time: ticks,
        object_freq: SECOND,
    };
    for counter_type in [
        CounterType::PERF_COUNTER_COUNTER,
        CounterType::PERF_COUNTER_BULK_COUNT,
        CounterType::PERF_COUNTER_TIMER,
        CounterType::PERF_100NSEC_TIMER,
        CounterType::PERF_100NSEC_TIMER_INV,
        CounterType::PERF_OBJ_TIME_TIMER,
        CounterType::PERF_COUNTER_LARGE_QUEUELEN_TYPE,
        CounterType::PERF_SAMPLE_COUNTER,
    ] {
        let computation = crate::formula::Computation::for_type(counter_type).unwrap();
        let value = |before: (u64, i64), now: (u64, i64)| {
            let [then, new] = [before, now].map(|(raw, ticks)| (RawValue::U64(raw), clocks(ticks)));
            let then = crate::sample::SampleValues { raw: then.0, base: None, clocks: &then.1 };
            let new = crate::sample::SampleValues { raw: new.0, base: None, clocks: &new.1 };
            let reason = computation.value(Some(&then), &new).unwrap_err();
            (S::from(&reason), reason.keyword())
        };
        let later = 100 * SECOND;
        let (negative, denominator) = (S::PDH_CALC_NEGATIVE_VALUE, S::PDH_CALC_NEGATIVE_DENOMINATOR);
        for (before, now, want) in [
            ((9, later), (4, later - 1), (negative, "time_went_back")),
            ((9, later), (9, later - 1), (denominator, "time_went_back")),
            ((9, later), (12, later - 1), (denominator, "time_went_back")),
            ((9, later), (4, later), (negative, "negative_value")),
            ((9, later), (9, later), (denominator, "negative_denominator")),
        ] {
            assert_eq!(value(before, now), want, "{counter_type}: {before:?}, {now:?}");
        }
        // PDH's own way, from raw counters that a caller holds.
        let format = Format::new(FormatKind::Double);
        let calculation = Calculation::new(counter_type, SECOND, format).unwrap();
        let raw = |first, second| RawCounter { first, second, ..RawCounter::without_value(PdhStatus(0), 0) };
        assert_eq!(calculation.value(&raw(4, 90), Some(&raw(9, 100))).c_status, negative, "{counter_type}");
        assert_eq!(
            calculation.value(&raw(9, 90), Some(&raw(9, 100))).c_status,
            denominator,
            "{counter_type}"
        );
    }
    // The machine restarted: the count and its clock started again.
    let computation = crate::formula::Computation::for_type(CounterType::PERF_COUNTER_BULK_COUNT).unwrap();
    let old = Clocks { time_100ns: 0, ..clocks(100 * SECOND) };
    let new = Clocks { time_100ns: 50 * SECOND, ..clocks(SECOND) };
    for (raw, want) in [(4, S::PDH_CALC_NEGATIVE_VALUE), (9, S::PDH_CALC_NEGATIVE_DENOMINATOR)] {
        let then = crate::sample::SampleValues { raw: RawValue::U64(9), base: None, clocks: &old };
        let new = crate::sample::SampleValues { raw: RawValue::U64(raw), base: None, clocks: &new };
        let reason = computation.value(Some(&then), &new).unwrap_err();
        assert_eq!((S::from(&reason), reason.keyword()), (want, "restarted"));
    }
}

#[test]
fn codes_say_their_names() {
    assert_eq!(PdhStatus::PDH_CSTATUS_NO_OBJECT.to_string(), "PDH_CSTATUS_NO_OBJECT (0xC0000BB8)");
    assert_eq!(PdhStatus(0x8000_07D6), PdhStatus::PDH_CALC_NEGATIVE_DENOMINATOR);
    assert_eq!(PdhStatus(77).to_string(), "PDH code 0x0000004D");
    assert!([0, 1].map(PdhStatus).iter().all(|status| status.has_value()));
}

#[test]
fn bits_of_formats() {
    let kinds = [(0x0100, FormatKind::Long), (0x0200, FormatKind::Double), (0x0400, FormatKind::Large)];
    for (bits, kind) in kinds {
        for flags in [0, 0x1000, 0x2000, 0x8000, 0x3000, 0x9000, 0xA000, 0xB000] {
            let format = Format::from_bits(bits | flags).unwrap();
            let got = (format.kind, format.no_scale, format.thousandfold, format.no_cap);
            let want = (kind, flags & 0x1000 != 0, flags & 0x2000 != 0, flags & 0x8000 != 0);
            assert_eq!(got, want, "{:#x}", bits | flags);
            assert_eq!(format.bits(), bits | flags);
        }
    }
    let invalid = [
        0x0000,
        0x0010,
        0x0210,
        0x0020,
        0x0040,
        0x0300,
        0x0500,
        0x0600,
        0x0700,
        0x1000,
        0x8000,
        0x4200,
        0x0001_0200,
        0x8000_0200,
    ];
    for bits in invalid {
        assert_eq!(Format::from_bits(bits), Err(PdhStatus::PDH_INVALID_ARGUMENT), "{bits:#x}");
    }
    let valid = (0..=0xFFFF).filter(|bits| Format::from_bits(*bits).is_ok()).count();
    assert_eq!(valid, 24, "three kinds with three flags each");
}

#[test]
fn scales() {
    for power in [-7, -1, 0, 1, 7] {
        assert_eq!(Scale::try_from(power).map(Scale::power), Ok(power));
    }
    for power in [-8, 8, 256, i32::MIN, i32::MAX] {
        assert_eq!(Scale::try_from(power), Err(PdhStatus::PDH_INVALID_ARGUMENT), "{power}");
    }
}

#[test]
fn numbers() {
    use Number::{Double, Large, Long};
    let (size, percent) = (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, CounterType::PERF_100NSEC_TIMER);
    let (multi, inverse) = (CounterType::PERF_100NSEC_MULTI_TIMER, CounterType::PERF_100NSEC_TIMER_INV);
    let rate = CounterType::PERF_COUNTER_BULK_COUNT;
    // (name, type, value, bits of the format, scale, number)
    for (name, counter_type, value, bits, scale, want) in [
        ("as it is", rate, 12.75, 0x0200, 0, Double(12.75)),
        ("cut, not rounded", rate, 12.75, 0x0100, 0, Long(12)),
        ("towards zero", rate, -12.75, 0x0400, 0, Large(-12)),
        ("three digits behind the point", rate, 12.3456, 0x2100, 0, Long(12_345)),
        ("scaled up", rate, 12.75, 0x0200, 2, Double(1275.0)),
        ("scaled down", rate, 1275.0, 0x0200, -2, Double(12.75)),
        ("scaled before it is cut", rate, 12.75, 0x0100, 1, Long(127)),
        ("both", rate, 12.75, 0x2100, -3, Long(12)),
        ("scale not wanted", rate, 12.75, 0x1200, 2, Double(12.75)),
        ("scale not wanted, thousandfold", rate, 12.75, 0x3100, 2, Long(12_750)),
        ("too large", rate, 3e9, 0x0100, 0, Long(i32::MAX)),
        ("too small", rate, -3e9, 0x0100, 0, Long(i32::MIN)),
        ("too large for 64 bits", rate, 1e300, 0x0400, 7, Large(i64::MAX)),
        ("never infinite", rate, f64::MAX, 0x2200, 7, Double(f64::MAX)),
        ("capped", percent, 250.5, 0x0200, 0, Double(100.0)),
        ("capped, then scaled", percent, 250.5, 0x0200, 1, Double(1000.0)),
        ("not capped", percent, 250.5, 0x8200, 0, Double(250.5)),
        ("several are not capped", multi, 250.5, 0x0200, 0, Double(250.5)),
        ("not below nothing", inverse, -0.5, 0x8200, 0, Double(0.0)),
        ("no percentage", rate, 250.5, 0x0200, 0, Double(250.5)),
        ("every digit", size, 9_007_199_254_740_992.0, 0x0400, 0, Large(9_007_199_254_740_993)),
        ("every digit, scaled", size, 9_007_199_254_740_992.0, 0x0400, -2, Large(90_071_992_547_409)),
        ("every digit, thousandfold", size, 9e15, 0x2400, 0, Large(9_000_000_000_000_000_000)),
        ("a count of 32 bits", size, 9_007_199_254_740_992.0, 0x0100, 0, Long(i32::MAX)),
    ] {
        let format = Format::from_bits(bits).unwrap();
        let value = FormattedValue { raw: value, counter_type };
        let raw =
            RawValue::U64(if value.raw == 9e15 { 9_000_000_000_000_000 } else { 9_007_199_254_740_993 });
        assert_eq!(format.number(value, raw, Scale::try_from(scale).unwrap()), want, "{name}");
    }
    let most = FormattedValue { raw: u64::MAX as f64, counter_type: size };
    let large = Format::new(FormatKind::Large);
    assert_eq!(large.number(most, RawValue::U64(u64::MAX), Scale::ONE), Large(i64::MAX));
}

/// Converts a sample to the raw counter that PDH has of it.
fn raw_counter(sample: &Sample<'_>) -> RawCounter {
    RawCounter::new(sample.counter_type, 17, &sample.numbers())
}

/// Returns the PDH status that stands for the status of a formula vector.
fn c_status(status: &str) -> PdhStatus {
    match status {
        "needs_two_samples" | "missing_base" | "not_displayable" => PdhStatus::PDH_CSTATUS_INVALID_DATA,
        "negative_value" => PdhStatus::PDH_CALC_NEGATIVE_VALUE,
        "negative_denominator" => PdhStatus::PDH_CALC_NEGATIVE_DENOMINATOR,
        "negative_timebase" => PdhStatus::PDH_CALC_NEGATIVE_TIMEBASE,
        other => panic!("{other}"),
    }
}

/// Returns `true` if a 4-byte value of the vector wrapped, which a raw counter without a width cannot show.
fn has_wrapped(Vector { old, new, .. }: &Vector<'_>) -> bool {
    let Some(old) = old else { return false };
    let fell = |from, to| matches!((from, to), (RawValue::U32(from), RawValue::U32(to)) if to < from);
    new.wraps && (fell(old.raw, new.raw) || old.base.zip(new.base).is_some_and(|(from, to)| fell(from, to)))
}

#[test]
fn vectors() {
    let csv = include_str!("../../../../testdata/formulas/counter-type-vectors.csv");
    let vectors = read(csv).unwrap();
    let (mut checked, mut rejected, mut wrapped) = (0, 0, Vec::new());
    for vector in &vectors {
        let Vector { id, old, new, status, values } = vector;
        if has_wrapped(vector) {
            wrapped.push(*id);
            continue;
        }
        let calculation = |bits| {
            let time_base = time_base(new.counter_type, &new.clocks);
            Calculation::new(new.counter_type, time_base, Format::from_bits(bits).unwrap())
        };
        let older = old.as_ref().map(raw_counter);
        let newer = raw_counter(new);
        let (capped, nocap) = match (calculation(0x0200), calculation(0x8200)) {
            (Ok(capped), Ok(nocap)) => (capped, nocap),
            (capped, nocap) => {
                assert!(new.counter_type.is_base() && *status == "not_displayable", "{id}");
                assert_eq!([capped.err(), nocap.err()], [Some(PdhStatus::PDH_INVALID_ARGUMENT); 2], "{id}");
                rejected += 1;
                continue;
            }
        };
        let got = [nocap, capped].map(|calculation| calculation.value(&newer, older.as_ref()));
        match values {
            None => assert_eq!(got, [CounterValue::without_value(c_status(status)); 2], "{id}"),
            Some([_, nocap, capped]) => {
                for (got, want) in got.into_iter().zip([nocap, capped]) {
                    assert_eq!(got.c_status, PdhStatus::PDH_CSTATUS_VALID_DATA, "{id}");
                    let number = got.number.unwrap().as_double();
                    assert!((number - want).abs() <= want.abs() * 1e-12, "{id}: {number}, not {want}");
                }
            }
        }
        checked += 1;
    }
    assert_eq!(
        wrapped,
        [
            "PERF_COUNTER_DELTA-6",
            "PERF_COUNTER_COUNTER-11",
            "PERF_SAMPLE_COUNTER-10",
            "PERF_SAMPLE_FRACTION-6",
            "PERF_AVERAGE_BULK-6",
            "PERF_AVERAGE_TIMER-5",
        ],
        "a raw counter cannot hold these"
    );
    assert_eq!((vectors.len(), checked + rejected + wrapped.len(), wrapped.len()), (243, 243, 6));
    assert_eq!(rejected, vectors.iter().filter(|vector| vector.new.counter_type.is_base()).count());
}

#[test]
fn second_value_for_each_counter_type() {
    let clocks = Clocks { perf_time: 2, perf_freq: 3, time_100ns: 5, object_time: 7, object_freq: 11 };
    let of = |counter_type, base| {
        let numbers = crate::sample::SampleValues { raw: RawValue::U64(13), base, clocks: &clocks };
        let raw = RawCounter::new(counter_type, 17, &numbers);
        assert_eq!((raw.first, raw.time), (13, 17), "{counter_type}");
        (raw.second, raw.multi_count, time_base(counter_type, &clocks))
    };
    let base = Some(RawValue::U32(19));
    for (counter_type, base, want) in [
        (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None, (0, 1, 3)),
        (CounterType::PERF_COUNTER_LARGE_DELTA, None, (0, 1, 3)),
        (CounterType::PERF_COUNTER_BULK_COUNT, None, (2, 1, 3)),
        (CounterType::PERF_SAMPLE_COUNTER, base, (2, 1, 3)),
        (CounterType::PERF_100NSEC_TIMER_INV, None, (5, 1, 10_000_000)),
        (CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE, None, (5, 1, 10_000_000)),
        (CounterType::PERF_OBJ_TIME_TIMER, None, (7, 1, 11)),
        (CounterType::PERF_ELAPSED_TIME, None, (7, 1, 11)),
        (CounterType::PERF_PRECISION_100NS_TIMER, base, (19, 1, 10_000_000)),
        (CounterType::PERF_AVERAGE_TIMER, base, (19, 1, 3)),
        (CounterType::PERF_AVERAGE_BULK, base, (19, 1, 3)),
        (CounterType::PERF_RAW_FRACTION, base, (19, 1, 3)),
        (CounterType::PERF_100NSEC_MULTI_TIMER, base, (5, 19, 10_000_000)),
        (CounterType::PERF_COUNTER_MULTI_TIMER, Some(RawValue::U64(1 << 40)), (2, u32::MAX, 3)),
        (CounterType::PERF_COUNTER_TEXT, None, (0, 1, 3)),
    ] {
        assert_eq!(of(counter_type, base), want, "{counter_type}");
    }
}

#[test]
fn a_value_is_as_good_as_what_it_is_made_of() {
    use PdhStatus as S;
    let raw =
        |c_status, first, second| RawCounter { first, second, ..RawCounter::without_value(c_status, 0) };
    let good = |first, second| raw(S::PDH_CSTATUS_VALID_DATA, first, second);
    let format = Format::new(FormatKind::Long);
    let rate = Calculation::new(CounterType::PERF_COUNTER_BULK_COUNT, 10, format).unwrap();
    let size = Calculation::new(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, format).unwrap();
    let text = Calculation::new(CounterType::PERF_COUNTER_TEXT, 10, format).unwrap();
    let value = |c_status, number| CounterValue { c_status, number: Some(Number::Long(number)) };
    let bad = raw(S::PDH_CSTATUS_NO_INSTANCE, 0, 0);
    let new = raw(S::PDH_CSTATUS_NEW_DATA, 15, 20);
    for (name, calculation, newer, older, want) in [
        ("valid", rate, good(15, 20), Some(good(5, 0)), value(S::PDH_CSTATUS_VALID_DATA, 5)),
        ("new", rate, new, Some(good(5, 0)), value(S::PDH_CSTATUS_NEW_DATA, 5)),
        (
            "newer is bad",
            rate,
            bad,
            Some(good(5, 0)),
            CounterValue::without_value(S::PDH_CSTATUS_NO_INSTANCE),
        ),
        (
            "older is bad",
            rate,
            good(15, 20),
            Some(bad),
            CounterValue::without_value(S::PDH_CSTATUS_INVALID_DATA),
        ),
        ("alone", rate, good(15, 20), None, CounterValue::without_value(S::PDH_CSTATUS_INVALID_DATA)),
        (
            "wrong way",
            rate,
            good(5, 20),
            Some(good(15, 0)),
            CounterValue::without_value(S::PDH_CALC_NEGATIVE_VALUE),
        ),
        ("no older one needed", size, good(15, 0), Some(bad), value(S::PDH_CSTATUS_VALID_DATA, 15)),
        ("a text", text, good(15, 0), None, CounterValue::without_value(S::PDH_CSTATUS_INVALID_DATA)),
        (
            "scaled",
            rate.scaled(Scale::try_from(1).unwrap()),
            good(15, 20),
            Some(good(5, 0)),
            value(S::PDH_CSTATUS_VALID_DATA, 50),
        ),
    ] {
        assert_eq!(calculation.value(&newer, older.as_ref()), want, "{name}");
    }
}

proptest! {
    #[test]
    fn any_raw_counters_give_a_value_or_a_reason(
        bits: u32,
        known in 0..CounterType::ALL.len(),
        is_known: bool,
        [now, then] in proptest::array::uniform2(any::<(u32, i64, i64, i64, u32)>()),
        time_base: i64,
        flags in 0_u32..8,
        kind in 0_u32..3,
        power in -7_i32..=7,
    ) {
        let counter_type = if is_known { CounterType::ALL[known].0 } else { CounterType(bits) };
        let format = Format::from_bits(0x100 << kind | (flags & 3) << 12 | (flags & 4) << 13).unwrap();
        let raw = |(c_status, time, first, second, multi_count)| {
            RawCounter { c_status: PdhStatus(c_status % 3), time, first, second, multi_count }
        };
        if let Ok(calculation) = Calculation::new(counter_type, time_base, format) {
            let calculation = calculation.scaled(Scale::try_from(power).unwrap());
            for older in [None, Some(raw(then))] {
                let value = calculation.value(&raw(now), older.as_ref());
                prop_assert_eq!(value.number.is_some(), value.c_status.has_value());
                prop_assert!(value.number.is_none_or(|number| number.as_double().is_finite()));
                prop_assert_eq!(calculation.double(&raw(now), older.as_ref()).ok().is_some(), value.number.is_some());
            }
        }
    }
}
