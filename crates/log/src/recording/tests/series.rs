//! Tests of series whose segments are read directly, compared with those that a player plays.

use std::sync::Arc;

use perfset_engine::Window;

use super::part::{any_run, record_runs};
use super::*;
use crate::Pick;
use crate::recording::budget::StepBudget;
use crate::recording::files::RecordingFile;
use crate::recording::segment::{Decompressor, InstanceTick, WantedInstance};
use crate::recording::series::SeriesReader;

/// Returns the samples of a recording's counter of an instance, as text.
fn series(
    recording: &Recording,
    (counterset, counter): (u128, u32),
    SeenInstance { instance, .. }: &SeenInstance,
    (window, pick): (Window, Pick),
    is_played: bool,
) -> Vec<String> {
    let units = instance.name.units().iter().chain(&[0]);
    let name: Vec<u8> = units.flat_map(|unit| unit.to_le_bytes()).collect();
    let instance = Identity {
        counterset: Guid::from_u128(counterset),
        instance: Name::until_nul(&name),
        instance_id: instance.id,
        birth: None,
    };
    let mut all = Vec::new();
    let mut each = |batch: &[RecordedSample<'_>]| {
        all.extend(batch.iter().map(|past| format!("{past:?}")));
        ControlFlow::Continue(())
    };
    let reader =
        SeriesReader::new(recording.shared_files(), CounterId(counter), instance, &mut each).unwrap();
    let reader = if is_played { reader.played() } else { reader };
    reader.read(window, pick).unwrap();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(windows) { 4 } else { 24 }))]

    /// Checks that direct and played series have the same samples. The recordings have boots, gaps, marks, births,
    /// failures and clocks of the counterset, in directories with journals and in one file of several recorders.
    #[test]
    fn direct_series_equal_played_ones(
        runs in proptest::collection::vec(any_run(), 1..4),
        begin in 0..40_i64, length in 0..60_i64, step in 1..4_u64, is_stepped in any::<bool>(),
    ) {
        let folder = TestFolder::new("series");
        record_runs(&folder, &runs);
        let Ok(recording) = Recording::open(&folder.0) else { return Ok(()) };
        let mut bytes = Vec::new();
        recording.write_part(&mut bytes, PartOptions::default()).unwrap();
        let joined = Recording::from_bytes(&bytes).unwrap();
        let window = Window { begin: Some(at(begin).utc_100ns()), end: Some(at(begin + length).utc_100ns()) };
        let pick = match is_stepped {
            true => Pick::Every(i64::try_from(step).unwrap() * 10_000_000),
            false => Pick::Nth(step.try_into().unwrap()),
        };
        for counterset in 1..=2 {
            let mut instances = recording.seen_instances(&Guid::from_u128(counterset)).unwrap();
            let nobody = perfset_core::Instance { name: "nobody".into(), id: InstanceId(1) };
            instances.push(SeenInstance { instance: nobody, birth: 0, first: 0, last: 0 });
            let counters = (1..=3).map(|counter| (counterset, counter));
            for (counter, instance) in counters.flat_map(|counter| instances.iter().map(move |one| (counter, one))) {
                for choice in [(Window::default(), Pick::All), (window, Pick::All), (window, pick)] {
                    let want = series(&recording, counter, instance, choice, true);
                    prop_assert_eq!(&series(&recording, counter, instance, choice, false), &want);
                    prop_assert_eq!(&series(&joined, counter, instance, choice, true), &want);
                    prop_assert_eq!(&series(&joined, counter, instance, choice, false), &want);
                }
            }
        }
    }
}

/// Checks that the rows of one instance in a segment are read without a player.
#[test]
fn segments_are_read_directly() {
    let folder = TestFolder::new("direct-series");
    record(&folder, &some_samples(), "boot", 100);
    let path = seal(&unsealed(&folder.0, None).unwrap()[0]).unwrap();
    let file = RecordingFile::read(path.clone(), Arc::new(std::fs::read(path).unwrap())).unwrap();
    let read = |name: &str, id| {
        let wanted = WantedInstance::new(&name.into(), id);
        let columns =
            file.segment(0).unwrap().instance(0, &[1, 2], &wanted, &mut Decompressor::default()).unwrap();
        let cell = |tick| match columns.tick(tick) {
            InstanceTick::Row(row) => Some((row.number(0), row.number(1), row.birth().map(NonZeroU64::get))),
            InstanceTick::Absent => None,
            other => panic!("{other:?}"),
        };
        (0..6).map(cell).collect::<Vec<_>>()
    };
    let row = |second: u64| Some((Some(second * 1_000), None, Some(5)));
    assert_eq!(read("c", 7), (0..6).map(row).collect::<Vec<_>>());
    assert_eq!(read("a", 7), [row(0), None, None, row(3), None, None]);
    assert_eq!(read("a", 8), [None; 6]);
    assert_eq!(read("", 7), [None; 6]);
}

/// Checks that the work steps of a series in all segments are limited together, because each can be large when
/// decompressed.
#[test]
fn series_of_many_segments_are_limited() {
    let folder = TestFolder::new("long-series");
    record(&folder, &some_samples(), "boot", 1);
    unsealed(&folder.0, None).unwrap().iter().for_each(|journal| drop(seal(journal).unwrap()));
    let read = |steps: usize, is_played: bool| {
        let recording = Recording::open(&folder.0).unwrap();
        let (mut count, name) = (0, "c\0".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        let instance = Identity {
            counterset: Guid::from_u128(1),
            instance: Name::until_nul(&name),
            instance_id: InstanceId(7),
            birth: None,
        };
        let mut each = |batch: &[RecordedSample<'_>]| {
            count += batch.len();
            ControlFlow::Continue(())
        };
        let reader = SeriesReader::new(recording.shared_files(), CounterId(1), instance, &mut each).unwrap();
        let reader = reader.with_budget(StepBudget::of(steps));
        let reader = if is_played { reader.played() } else { reader };
        reader.read(Window::default(), Pick::All).unwrap();
        (count, recording.all_damages())
    };
    let all = some_samples().len();
    for is_played in [false, true] {
        let (count, damages) = read(1_000_000, is_played);
        assert_eq!((count, damages.count()), (all, 0), "{damages:?}");
    }
    let (count, damages) = read(60, false);
    assert!((1..all).contains(&count), "{count}");
    assert!(damages.count() >= 1, "{damages:?}");
    assert!(damages.first().iter().all(|damage| damage.what.contains("in time")), "{damages:?}");
}
