//! Tests of parts of recordings, compared with the collected samples and with the whole recordings.

use std::ops::RangeInclusive;

use perfset_engine::Window;

use super::*;

/// Run of a recorder in a test, with its samples and options.
#[derive(Clone, Debug)]
pub(super) struct ScriptedRun {
    boot: u8,
    run: u8,
    samples: Vec<Vec<ScriptedSet>>,
    /// `true` if the recorder adds its tables in reverse order, so that they have other numbers.
    is_turned: bool,
    /// Index of the sample that the recorder loses, as on a full disk.
    lost: Option<usize>,
    ticks_per_file: u32,
    is_sealed: bool,
}

pub(super) fn any_run() -> impl Strategy<Value = ScriptedRun> {
    let lost = proptest::option::weighted(0.3, 0..6_usize);
    let rest = (any::<bool>(), lost, 1..9_u32, any::<bool>());
    (0..3_u8, 0..3_u8, any_samples(), rest).prop_map(
        |(boot, run, samples, (is_turned, lost, ticks_per_file, is_sealed))| {
            // A recorder runs in one boot.
            ScriptedRun { boot, run: boot * 3 + run, samples, is_turned, lost, ticks_per_file, is_sealed }
        },
    )
}

/// Records runs of recorders into a directory, one after the other. Returns the time and the text of each sample.
pub(super) fn record_runs(folder: &TestFolder, runs: &[ScriptedRun]) -> Vec<(i64, String)> {
    let mut all = Vec::new();
    let mut second = 0;
    for run in runs {
        let scripted = ScriptedMachine::new();
        let machine = scripted.machine();
        let mut query = query(&machine);
        let options = WriterOptions { ticks_per_file: run.ticks_per_file, ..WriterOptions::default() };
        let (boot, id) = (format!("boot {}", run.boot), format!("run {}", run.run));
        let mut writer =
            RecordingWriter::create(&folder.0, &at(second), about((&boot, &id)), options).unwrap();
        let mut snapshot = Snapshot::default();
        let mut tables = Vec::new();
        for (place, sample) in run.samples.iter().enumerate() {
            second += 1;
            *scripted.0.lock().unwrap() = (at(second), sample.clone());
            query.collect(&mut snapshot).unwrap();
            if tables.is_empty() {
                let mut entries: Vec<_> = snapshot.entries().iter().enumerate().collect();
                if run.is_turned {
                    entries.reverse();
                }
                for (entry, resolved) in entries {
                    let definition = TableDefinition::of(resolved, 3_000).unwrap();
                    tables.push((entry, writer.add_table(definition).unwrap()));
                }
            }
            // The second table is collected every third time only.
            let due = tables.iter().filter(|(entry, _)| *entry == 0 || place % 3 == 0);
            let parts: Vec<_> = due
                .map(|(entry, table)| TickPart { table: *table, snapshot: &snapshot, entry: *entry })
                .collect();
            if run.lost == Some(place) {
                // As if this tick could not be written.
                writer.lose_tick(&at(second));
                continue;
            }
            writer.tick(snapshot.clocks(), &parts).unwrap();
            let time = at(second).utc_100ns();
            let text = format!("mark {place}");
            writer.annotate(&Annotation { time, is_of_recorder: false, text }).unwrap();
            all.push((time, said(&snapshot)));
        }
        writer.finish_file();
        drop(writer);
        second += 20;
        for journal in unsealed(&folder.0, None).unwrap() {
            if run.is_sealed {
                // One that has marks only stays as it is.
                let _ = seal(&journal);
            }
        }
    }
    all
}

/// Returns a part of a recording as a recording of its own, with the writer's summary.
fn part_of(recording: &Recording, seconds: RangeInclusive<i64>) -> Option<(Recording, RecordingPart)> {
    let (begin, end) = (at(*seconds.start()).utc_100ns(), at(*seconds.end()).utc_100ns());
    let mut bytes = Vec::new();
    let window = Window { begin: Some(begin), end: Some(end) };
    let part = recording.within(window).write_part(&mut bytes, PartOptions::default()).unwrap();
    assert_eq!(u64::try_from(bytes.len()).unwrap(), part.bytes);
    (!bytes.is_empty()).then(|| (Recording::from_bytes(&bytes).unwrap(), part))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(windows) { 8 } else { 64 }))]

    /// Checks that a part of a recording has the samples of its window, as a query over the recording has them, and
    /// no others. The part is sound, and its parts are as good.
    #[test]
    fn parts_equal_their_windows(
        runs in proptest::collection::vec(any_run(), 1..4), begin in 0..40_i64, length in 0..60_i64
    ) {
        let folder = TestFolder::new("part");
        let collected = record_runs(&folder, &runs);
        let Ok(recording) = Recording::open(&folder.0) else {
            // Every tick was lost, so there is no file.
            prop_assert!(collected.is_empty());
            return Ok(());
        };
        let seconds = begin..=begin + length;
        let window = Window {
            begin: Some(at(*seconds.start()).utc_100ns()), end: Some(at(*seconds.end()).utc_100ns())
        };
        let times: Vec<i64> =
            collected.iter().map(|(time, _)| *time).filter(|time| window.contains(*time)).collect();
        let Some((part, written)) = part_of(&recording, seconds.clone()) else {
            prop_assert!(times.is_empty());
            return Ok(());
        };
        let want = play(&recording.within(window));
        prop_assert_eq!(play(&part), &want[..]);
        prop_assert_eq!(part.times().collect::<Vec<_>>(), &times[..]);
        prop_assert_eq!(written.ticks, u64::try_from(times.len()).unwrap());
        prop_assert_eq!(written.span, times.first().copied().zip(times.last().copied()));
        prop_assert!(part.all_damages().is_empty(), "{:?}", part.all_damages());
        prop_assert!(written.damages.is_empty(), "{:?}", written.damages);
        prop_assert_eq!(part.machine_name(), "web1");
        let marks = |recording: &Recording| -> Vec<Annotation> {
            let all = recording.annotations().into_iter();
            all.filter(|mark| window.contains(mark.time)).cloned().collect()
        };
        prop_assert_eq!(marks(&part), marks(&recording));
        prop_assert_eq!(part.annotations().len(), marks(&recording).len());
        let gaps = |recording: &Recording| -> Vec<MissedTicks> {
            let all = recording.missed().into_iter().cloned();
            all.filter(|gap| gap.to >= at(begin).utc_100ns() && gap.from <= at(begin + length).utc_100ns()).collect()
        };
        prop_assert_eq!(gaps(&part), gaps(&recording));
        prop_assert_eq!(part.missed().len(), gaps(&part).len());
        // The first table is collected each time, and its clocks and rows come first.
        for (_, text) in collected.iter().filter(|(time, _)| window.contains(*time)) {
            let rest = text.match_indices('\n').filter(|(at, _)| !text[at + 1..].starts_with([' ', '\n']));
            let of_first = rest.map(|(at, _)| &text[..at]).find(|first| first.contains('\n')).unwrap();
            prop_assert!(want.iter().any(|played| played.starts_with(of_first)), "{text} in {want:?}");
        }
        // A part of a part, which is a file with several runs.
        let inner = begin + length / 4..=begin + length / 2;
        match (part_of(&part, inner.clone()), part_of(&recording, inner)) {
            (Some((a, _)), Some((b, _))) => prop_assert_eq!(play(&a), play(&b)),
            (a, b) => prop_assert!(a.is_none() && b.is_none()),
        }
    }
}

/// Returns recorder runs of two boots, with three samples each.
fn two_boots() -> Vec<ScriptedRun> {
    let samples: Vec<_> = some_samples().into_iter().map(|(_, sets)| sets).collect();
    let run = |boot, samples: &[Vec<ScriptedSet>]| ScriptedRun {
        boot,
        run: boot,
        samples: samples.to_vec(),
        is_turned: boot == 1,
        lost: None,
        ticks_per_file: 100,
        is_sealed: true,
    };
    vec![run(0, &samples[..3]), run(1, &samples[3..])]
}

/// Checks that no cut and no changed byte of a part causes a panic or another value. No sample is compared with one
/// of the other boot.
#[test]
fn cut_and_changed_parts() {
    let folder = TestFolder::new("damaged-part");
    record_runs(&folder, &two_boots());
    let recording = Recording::open(&folder.0).unwrap();
    let mut whole = Vec::new();
    recording.write_part(&mut whole, PartOptions::default()).unwrap();
    let want = play(&recording);
    assert_eq!(want.len(), 7);
    let of_boot = |said: &str| {
        let at = want.iter().position(|want| want.lines().next() == said.lines().next());
        at.expect("a time that was not collected") >= 3
    };
    let check = |bytes: &[u8]| {
        let Ok(recording) = Recording::from_bytes(bytes) else { return 0 };
        if recording.countersets().len() < 2 {
            return 0; // a definition is lost
        }
        let played = play(&recording);
        for pair in played.windows(2).filter(|pair| pair.iter().all(|said| !separates(said))) {
            assert_eq!(of_boot(&pair[0]), of_boot(&pair[1]), "{pair:?}");
        }
        for said in played.iter().filter(|said| !separates(said)) {
            let clocks = said.lines().next().unwrap();
            let real = want.iter().find(|want| want.starts_with(clocks) && !separates(want)).unwrap();
            let cells = |said: &str| said.split([',', ':']).map(str::to_owned).collect::<Vec<_>>();
            let known = cells(real);
            let is_known = |cell: &String| !cell.starts_with(" Some(") || known.contains(cell);
            assert!(cells(said).iter().all(is_known), "{said} instead of {real}");
        }
        played.iter().filter(|said| !separates(said)).count()
    };
    assert_eq!(check(&whole), 6);
    for len in 0..whole.len() {
        check(&whole[..len]);
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x5A;
        check(&changed);
    }
}

/// Returns `true` for the text of a sample in which every counterset has failed.
fn separates(said: &str) -> bool {
    !said.lines().any(|line| line.starts_with(' '))
}

/// Checks that the second boot's samples are played, and separate, even if the block that begins the boot is lost.
#[test]
fn samples_of_an_unknown_recorder_are_separate() {
    let folder = TestFolder::new("lost-about");
    record_runs(&folder, &two_boots());
    let recording = Recording::open(&folder.0).unwrap();
    let mut bytes = Vec::new();
    recording.write_part(&mut bytes, PartOptions::default()).unwrap();
    let mut walker = BlockWalker::new(bytes.clone()).unwrap();
    let mut abouts = Vec::new();
    while let Some(block) = walker.next_block().unwrap() {
        if block.header.kind == BlockKind::About {
            abouts.push((block.offset, block.header.about_number()));
        }
    }
    assert_eq!(abouts.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [0, 1]);
    let lost = usize::try_from(abouts[1].0).unwrap();
    bytes[lost + BlockHeader::LEN] ^= 1;
    let damaged = Recording::from_bytes(&bytes).unwrap();
    let played = play(&damaged);
    assert_eq!(played.len(), 7);
    assert!(played[3].contains("nothing was recorded"), "{}", played[3]);
    let text = format!("{:?}", damaged.all_damages());
    assert!(text.contains("says whose the samples from here on are"), "{text}");
    // A part of that is sound, and keeps them apart.
    let (part, written) = part_of(&damaged, 0..=100).unwrap();
    assert!(part.all_damages().is_empty() && !written.damages.is_empty());
    assert_eq!(play(&part), played);
}

/// Checks a recording's file that joins the files of two recorders. If both define a table number, its contents are
/// unknown.
#[test]
fn files_one_after_the_other() {
    for is_turned in [false, true] {
        let folder = TestFolder::new("concatenated");
        let mut runs = two_boots();
        runs[1].is_turned = is_turned;
        record_runs(&folder, &runs);
        let want = play(&Recording::open(&folder.0).unwrap());
        let mut paths: Vec<_> =
            std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let bytes: Vec<u8> = paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
        let recording = Recording::from_bytes(&bytes).unwrap();
        if is_turned {
            let text = format!("{:?}", recording.all_damages());
            assert!(text.contains("table 0 has two definitions"), "{text}");
            assert_eq!(recording.countersets().len(), 0);
        } else {
            assert_eq!(play(&recording), want);
            assert!(recording.all_damages().is_empty());
        }
    }
}

/// Checks that damage in the window of a part is reported, and the part has everything else. Damage elsewhere does
/// not matter.
#[test]
fn damage_outside_a_part_does_not_matter() {
    let folder = TestFolder::new("damage-and-parts");
    record_runs(&folder, &two_boots());
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut bytes = std::fs::read(&paths[0]).unwrap();
    // The first stream of the segment: some rows or cells.
    let mut walker = BlockWalker::new(bytes.clone()).unwrap();
    let segment = std::iter::from_fn(|| walker.next_block().unwrap())
        .find(|block| block.header.kind == BlockKind::Segment)
        .unwrap();
    bytes[usize::try_from(segment.offset).unwrap() + BlockHeader::LEN] ^= 1;
    std::fs::write(&paths[0], bytes).unwrap();
    let recording = Recording::open(&folder.0).unwrap();
    let (part, written) = part_of(&recording, 0..=10).unwrap();
    assert!(!written.damages.is_empty() && part.all_damages().is_empty());
    assert_eq!(play(&part), play(&recording)[..3]);
    let (part, written) = part_of(&recording, 20..=100).unwrap();
    assert!(written.damages.is_empty() && part.times().count() == 3);
}
