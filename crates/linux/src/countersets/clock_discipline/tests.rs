//! Tests of the counterset Clock Discipline, with made-up responses of the kernel.

use super::*;
use crate::provider::{SingleInstanceProvider, single_instance};
use crate::testing::{CellOutcome, collect_all};

use id::*;

fn provider(ask: Option<AskDiscipline>) -> SingleInstanceProvider<ClockDiscipline> {
    single_instance(ClockDiscipline::new(ask))
}

const AHEAD: Discipline = Discipline {
    is_synchronised: true,
    offset_ns: -12_347,
    freq: -1_310_721,
    maxerror_us: 251_003,
    esterror_us: 601,
    constant: 7,
    tick_us: 10_007,
    pps_freq: -65_537,
    pps_stability: 4_099,
    pps_jitter_ns: 811,
    pps_shift: 4,
    pps_jitter_exceeded: 13,
    pps_calibrations: 17,
    pps_errors: 19,
    pps_stability_exceeded: 23,
    tai: 37,
};

#[test]
fn every_counter() {
    let known = [
        (OFFSET_TO_ADD, 0),
        (OFFSET_TO_SUBTRACT, 12_347),
        (MAXIMUM_ERROR, 251_003_000),
        (ESTIMATED_ERROR, 601_000),
        (PERCENT_FREQUENCY, 65_536_000_000 - 1_310_721),
        (PERCENT_FREQUENCY_BASE, 65_536_000_000),
        (LOOP_TIME_CONSTANT, 7),
        (TICK, 10_007_000),
        (TAI_OFFSET, 37),
        (SYNCHRONISED, 1),
        (PERCENT_PPS_FREQUENCY, 65_536_000_000 - 65_537),
        (PERCENT_PPS_STABILITY, 4_099),
        (PPS_JITTER, 811),
        (PPS_SHIFT, 4),
        (PPS_JITTER_EXCEEDED_PER_SEC, 13),
        (PPS_CALIBRATIONS_PER_SEC, 17),
        (PPS_CALIBRATION_ERRORS_PER_SEC, 19),
        (PPS_STABILITY_EXCEEDED_PER_SEC, 23),
    ];
    assert_eq!(collect_all(&mut provider(Some(|| Ok(AHEAD)))).all_but(&known), []);
    assert_eq!(known.len(), COUNTERSET.counters.len());
}

#[test]
fn either_sign() {
    let behind: AskDiscipline =
        || Ok(Discipline { offset_ns: 41, freq: 43, is_synchronised: false, tai: -1, ..AHEAD });
    let collected = collect_all(&mut provider(Some(behind)));
    for (counter, want) in
        [(OFFSET_TO_ADD, 41), (OFFSET_TO_SUBTRACT, 0), (PERCENT_FREQUENCY, 65_536_000_043), (SYNCHRONISED, 0)]
    {
        assert_eq!(*collected.get("", counter), CellOutcome::Value(want), "{counter:?}");
    }
    let reason = &collected.missing("")[&TAI_OFFSET.0];
    assert_eq!(reason, "unavailable: it is -1: counters hold nothing below 0");
    let least: AskDiscipline = || Ok(Discipline { offset_ns: i64::MIN, freq: i64::MIN, ..AHEAD });
    let collected = collect_all(&mut provider(Some(least)));
    assert_eq!(*collected.get("", OFFSET_TO_SUBTRACT), CellOutcome::Value((1 << 63) - 1));
    assert!(collected.missing("").contains_key(&PERCENT_FREQUENCY.0));
}

#[test]
fn refusals() {
    let cases: [(Option<AskDiscipline>, &str); 4] = [
        (None, "unavailable: this process has the clock of another machine"),
        (Some(|| Err(Errno::NOSYS)), "unavailable: this system does not have the call adjtimex"),
        (Some(|| Err(Errno::PERM)), "denied: adjtimex: a sandbox forbids the call"),
        (Some(|| Err(Errno::FAULT)), "adjtimex: Bad address (os error 14)"),
    ];
    for (ask, want) in cases {
        let missing = collect_all(&mut provider(ask)).missing("");
        assert_eq!(missing.len(), COUNTERSET.counters.len());
        assert!(missing.values().all(|reason| reason == want), "{missing:?}");
    }
}

/// Checks that ids and title indexes of Clock Discipline never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes: Vec<_> = COUNTERSET.counters.iter().map(|c| c.v1_index.unwrap()).collect();
    assert_eq!(indexes, (25_128..25_164).step_by(2).collect::<Vec<_>>());
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..18));
    assert_eq!(COUNTERSET.v1_index, Some(25_126));
}
