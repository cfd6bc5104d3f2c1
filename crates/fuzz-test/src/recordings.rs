//! Fuzz targets for recordings and their parts: blocks, ticks, segments, streams, and directories of files.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use perfset_engine::{Entry, NextOutcome, Snapshot, Source};
use perfset_log::Damage;
use perfset_log::recording::fuzzing::{self, AppliedTicks, OpenSegment};
use perfset_log::recording::{BlockHeader, BlockWalker, ReadAt, Recording, seal, unsealed};

use crate::input::InputBytes;

/// Checks that a pass over the blocks of a recording's file has the same result in small pieces, or begun at a later
/// block.
///
/// The input is walked as it is, and with right lengths and checksums.
pub fn check_blocks(input: &[u8]) {
    for bytes in [input.to_vec(), fuzzing::repaired(input)] {
        let (blocks, damages, torn) = walk(bytes.clone());
        assert_eq!(walk(Pieces(bytes.clone())), (blocks.clone(), damages.clone(), torn), "by pieces");
        assert!(torn <= bytes.len() as u64);
        assert!(damages.iter().all(|damage| damage.offset <= bytes.len() as u64));
        let mut end = 0;
        for (offset, header) in &blocks {
            assert!(*offset >= end && offset % 8 == 0, "block at byte {offset}, after {end}");
            end = offset + BlockHeader::LEN as u64 + u64::from(header.stored);
            assert!(end <= bytes.len() as u64);
        }
        // A longer file has more patience with wrong checksums.
        if bytes.len() > 4_096 {
            continue;
        }
        for (at, (offset, _)) in blocks.iter().enumerate() {
            let rest = walk(bytes[*offset as usize..].to_vec()).0;
            let rest = rest.into_iter().map(|(after, header)| (after + offset, header));
            assert!(rest.eq(blocks[at..].iter().copied()), "from block {at} on");
        }
    }
}

/// Returns all blocks of a recording's file, all damage, and the number of bytes at the end that belong to no block.
fn walk(from: impl ReadAt) -> (Vec<(u64, BlockHeader)>, Vec<Damage>, u64) {
    let mut walker = BlockWalker::new(from).expect("it is in memory");
    let mut blocks = Vec::new();
    while let Some(block) = walker.next_block().expect("it is in memory") {
        blocks.push((block.offset, block.header));
    }
    let torn = walker.torn().expect("it is in memory");
    (blocks, walker.damages().first().to_vec(), torn)
}

/// Reader that returns at most 7 bytes of a file at a time.
struct Pieces(Vec<u8>);

impl ReadAt for Pieces {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let len = into.len().min(7);
        self.0.read_some_at(&mut into[..len], offset)
    }
}

/// Checks that ticks of a recording are the same after writing and reading, and that a reader of one table gets the
/// same table. Ticks have no more rows and cells than bytes.
///
/// Each tick is a length of 15 bits, a bit for a whole tick, and its payload.
pub fn check_ticks(input: &[u8]) {
    let mut input = InputBytes(input);
    let mut state: Option<(AppliedTicks, AppliedTicks)> = None;
    let mut bytes = 0;
    for sequence in 7..71 {
        if !input.has_more() {
            break;
        }
        let head = input.u16();
        let len = usize::from(head & 0x7FFF).min(input.0.len());
        let (payload, rest) = input.0.split_at(len);
        input.0 = rest;
        let Some((mut all, mut one)) = state.take().filter(|_| head & 0x8000 == 0) else {
            bytes = payload.len();
            let Ok(all) = AppliedTicks::whole(payload, sequence, None) else { continue };
            let one = AppliedTicks::whole(payload, sequence, Some(1)).expect("all tables can be read");
            check_tick(&all, &one, sequence, bytes);
            state = Some((all, one));
            continue;
        };
        let before = all.clone();
        bytes += payload.len();
        if all.apply(payload, sequence, None).is_err() {
            continue;
        }
        one.apply(payload, sequence, Some(1)).expect("all tables can be read");
        check_tick(&all, &one, sequence, bytes);
        let mut again = before.clone();
        again.apply(&all.to_difference(&before), sequence, None).expect("it was written by this program");
        assert_eq!(normal(&again, sequence), normal(&all, sequence), "difference of tick {sequence}");
        state = Some((all, one));
    }
}

/// Returns the bytes of a whole tick of a recording after writing and reading it once. A wall clock that is no valid
/// date is replaced then.
fn normal(tick: &AppliedTicks, sequence: u64) -> Vec<u8> {
    let again = AppliedTicks::whole(&tick.to_whole(), sequence, None);
    again.expect("it was written by this program").to_whole()
}

fn check_tick(all: &AppliedTicks, one: &AppliedTicks, sequence: u64, bytes: usize) {
    let whole = normal(all, sequence);
    let again = AppliedTicks::whole(&whole, sequence, None).expect("it was written by this program");
    assert_eq!(again.to_whole(), whole, "tick {sequence}");
    assert_eq!(again.rows_and_cells(), all.rows_and_cells(), "tick {sequence}");
    assert_eq!(all.only(1).to_whole(), one.to_whole(), "table 1 of tick {sequence}");
    let (rows, cells) = all.rows_and_cells();
    assert!(rows * 4 + cells <= bytes, "{rows} rows and {cells} cells of {bytes} bytes");
}

/// Checks that the ticks of a recording's segment are the same forward and backward, however many readings are
/// decoded at once.
///
/// The input is the length of the directory, the directory, and the streams. All checksums are made right.
pub fn check_segment(input: &[u8]) {
    let mut input = InputBytes(input);
    let len = usize::from(input.u16()).min(input.0.len());
    let (directory, streams) = input.0.split_at(len);
    let Some(stored) = OpenSegment::stored(directory, streams) else { return };
    let mut forward =
        OpenSegment::open(&stored, usize::MAX).expect("its directory was written by this program");
    let ticks: Vec<Option<u64>> = (0..forward.len()).map(|tick| forward.tick(tick)).collect();
    assert!(ticks.iter().all(Option::is_some));
    let damages = forward.take_damages();
    assert!(damages.iter().all(|damage| damage.offset <= stored.len() as u64), "{damages:?}");
    // Of a damaged column, a shorter part may be good.
    let is_damaged = !damages.is_empty();
    for readings in [usize::MAX, 3, 1] {
        let mut backward = OpenSegment::open(&stored, readings).expect("it was opened before");
        // Each step back decodes again.
        for tick in (0..ticks.len()).rev().step_by(1 + ticks.len() / 20) {
            assert!(backward.tick(tick) == ticks[tick] || is_damaged, "tick {tick} by {readings} readings");
        }
    }
    let readings = 3.max(ticks.len() / 50);
    let mut forward = OpenSegment::open(&stored, readings).expect("it was opened before");
    for (tick, want) in ticks.iter().enumerate() {
        assert!(forward.tick(tick) == *want || is_damaged, "tick {tick}");
    }
}

/// Checks that the numbers of a recording's stream survive writing and reading, and that a part of a column equals
/// that part of the whole column.
///
/// The first byte chooses the stream: a sequence of numbers, a column, or a table of runs.
pub fn check_stream(input: &[u8]) {
    const MOST_TICKS: usize = 3_600;
    let mut input = InputBytes(input);
    let length = |input: &mut InputBytes<'_>| usize::from(input.u16()) % (MOST_TICKS + 1);
    match input.below(3) {
        0 => {
            let len = length(&mut input);
            let Ok(numbers) = fuzzing::numbers(input.0, len) else { return };
            assert_eq!(numbers.len(), len);
            assert_eq!(fuzzing::numbers(&fuzzing::stored_numbers(&numbers), len), Ok(numbers));
        }
        1 => {
            let runs: Vec<usize> = (0..input.below(20)).map(|_| length(&mut input)).collect();
            let part = length(&mut input)..length(&mut input);
            if part.is_empty() {
                return;
            }
            let Ok(whole) = fuzzing::column(input.0, &runs, &(0..MOST_TICKS)) else { return };
            let cut = whole
                .iter()
                .map(|cells| cells[part.start.min(cells.len())..part.end.min(cells.len())].to_vec());
            assert_eq!(fuzzing::column(input.0, &runs, &part), Ok(cut.collect()));
        }
        _ => {
            let (columns, readings) = (input.below(256), u32::from(input.u16()) % 3_601);
            let Ok(again) = fuzzing::runs(input.0, columns, readings) else { return };
            assert_eq!(fuzzing::runs(&again, columns, readings).as_deref(), Ok(&*again));
        }
    }
}

/// Checks that a directory of any files opens as a recording or is refused, and plays the same twice and after sealing.
///
/// Each file is a byte for its name, a length, and its bytes; their checksums are made right, unless bit 7 is set.
pub fn check_folder(input: &[u8]) {
    let mut input = InputBytes(input);
    let folder = OwnDirectory::new();
    let mut recordings = 0;
    for _ in 0..6 {
        if !input.has_more() {
            break;
        }
        let kind = input.byte();
        let len = usize::from(input.u16()).min(input.0.len());
        let (bytes, rest) = input.0.split_at(len);
        input.0 = rest;
        let bytes = if kind & 0x80 == 0 { fuzzing::repaired(bytes) } else { bytes.to_vec() };
        recordings += usize::from(folder.add(kind & 0x7F, &bytes));
    }
    let Ok(recording) = Recording::open(&folder.0) else { return };
    let times: Vec<i64> = recording.times().collect();
    let want = played(&recording);
    assert_eq!(played(&Recording::open(&folder.0).expect("it was opened before")), want);
    for set in recording.countersets() {
        let _ = recording.seen_instances(&set.guid);
    }
    let _ = (recording.annotations(), recording.missed());
    // A link beside the recording, for example.
    let was_damaged = !recording.all_damages().is_empty();
    drop(recording);
    let mut is_sealed = false;
    for journal in unsealed(&folder.0, None).expect("the directory can be read") {
        is_sealed |= seal(&journal).is_ok();
    }
    // Of two files that have a tick, the sealed one counts.
    if is_sealed && recordings == 1 {
        let recording = Recording::open(&folder.0).expect("it was sealed");
        assert!(recording.times().eq(times), "times of a sealed file");
        assert_eq!(played(&recording), want, "sealed");
        assert!(was_damaged || recording.all_damages().is_empty(), "{:?}", recording.all_damages());
    }
}

/// Returns a hash of each sample of all countersets in a recording.
fn played(recording: &Recording) -> Vec<u64> {
    let mut source = recording.clone();
    let mut query = Source::open(&mut source).expect("a recording has queries");
    for set in recording.countersets() {
        // One that has no instance names refuses them.
        if !query.add(&Entry::all(set.guid).instance("*")).is_success() {
            let _ = query.add(&Entry::all(set.guid));
        }
    }
    let mut snapshot = Snapshot::default();
    let mut all = Vec::new();
    while query.next(&mut snapshot).is_ok_and(|next| next == NextOutcome::Sample) {
        let mut hasher = DefaultHasher::new();
        snapshot.block().hash(&mut hasher);
        for annex in snapshot.annex() {
            let rows: Vec<_> = (0..20).map(|row| (annex.birth(row), annex.owner(row))).collect();
            let about = (annex.failure(), annex.clocks(), annex.instance(), annex.notes());
            format!("{about:?} {rows:?}").hash(&mut hasher);
        }
        all.push(hasher.finish());
    }
    all
}

/// Temporary directory for a recording, which is removed when the value is dropped.
struct OwnDirectory(PathBuf);

impl OwnDirectory {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = parent.join(format!("perfset-fuzz-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a new directory");
        Self(path)
    }

    /// Adds a file, a directory or a link to the recording, depending on `kind`. Returns `true` if a reader of
    /// recordings opens it.
    fn add(&self, kind: u8, bytes: &[u8]) -> bool {
        let names = ["a.journal", "b.journal", "a.perfset", "b.perfset", "note.txt", "c.tmp"];
        match names.get(usize::from(kind % 8)) {
            Some(name) => {
                let is_new = !self.0.join(name).exists();
                fs::write(self.0.join(name), bytes).expect("a file in memory");
                is_new && (name.ends_with("journal") || name.ends_with("perfset"))
            }
            None if kind % 8 == 6 => {
                let _ = fs::create_dir(self.0.join("d.perfset"));
                false
            }
            None => {
                let _ = std::os::unix::fs::symlink(self.0.join("a.journal"), self.0.join("l.perfset"));
                false
            }
        }
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
