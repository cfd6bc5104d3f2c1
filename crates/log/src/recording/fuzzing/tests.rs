use std::fs;
use std::path::Path;

use super::super::files::RecordingFile;
use super::super::tests::{TestFolder, record, some_samples};
use super::super::{BlockWalker, Recording, seal, unsealed};
use super::*;

/// Returns the bytes of a small journal and of its sealed copy, both without compression.
fn small() -> (Vec<u8>, Vec<u8>) {
    let folder = TestFolder::new("small-recording");
    record(&folder, &some_samples(), "boot", 100);
    let journal = unsealed(&folder.0, None).unwrap().remove(0);
    let whole = fs::read(&journal).unwrap();
    let sealed = fs::read(seal(&journal).unwrap()).unwrap();
    (plain(&whole), plain(&sealed))
}

/// Returns the stored payload of the segment in a sealed file of a recording.
fn segment(sealed: &[u8]) -> Vec<u8> {
    let mut walker = BlockWalker::new(sealed.to_vec()).unwrap();
    loop {
        let block = walker.next_block().unwrap().unwrap();
        if block.header.kind == BlockKind::Segment {
            let from = usize::try_from(block.stored_offset()).unwrap();
            return sealed[from..][..usize::try_from(block.header.stored).unwrap()].to_vec();
        }
    }
}

fn with_len(bytes: &[u8], flags: u16) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap() | flags;
    [&len.to_le_bytes(), bytes].concat()
}

/// Checks that the seed corpora have small recordings and their parts. `UPDATE_SNAPSHOTS=1` writes them.
#[test]
fn the_corpora_have_small_recordings() {
    let (journal, sealed) = small();
    let file = RecordingFile::read("journal".into(), Arc::new(journal.clone())).unwrap();
    let ticks = (0..file.ticks().len()).map(|tick| {
        let flags = if file.is_whole(tick) { 0x8000 } else { 0 };
        with_len(&file.payload(tick).unwrap(), flags)
    });
    let segment = segment(&sealed);
    let directory = super::super::block::directory(&segment).unwrap();
    let streams = &segment[..segment.len() - directory.len()];
    let directory = &directory[..directory.len() - 8];
    let file_of = |kind: u8, bytes: &[u8]| [&[kind], &*with_len(bytes, 0)].concat();
    let (runs, column) = parts::first_runs_and_column(&segment);
    let numbers: Vec<u64> = (0..100).map(|number| number * number).collect();
    let counted = |count: usize| u16::try_from(count).unwrap().to_le_bytes();
    // Lengths of the runs that `some_samples` has.
    let lengths: Vec<u8> = runs.1.iter().flat_map(|len| counted(*len)).collect();
    let seeds = [
        ("log_source/recording-journal", journal.clone()),
        ("log_source/recording-sealed", sealed.clone()),
        ("recording_blocks/journal", journal.clone()),
        ("recording_blocks/sealed", sealed.clone()),
        ("recording_ticks/journal", ticks.collect::<Vec<_>>().concat()),
        ("recording_segment/sealed", [with_len(directory, 0), streams.to_vec()].concat()),
        ("recording_stream/numbers", [&[0], &counted(100)[..], &stored_numbers(&numbers)].concat()),
        (
            "recording_stream/column",
            [&[1, u8::try_from(runs.1.len()).unwrap()][..], &lengths, &[1, 0, 3, 0], &column].concat(),
        ),
        ("recording_stream/runs", [&[2, 3][..], &counted(6), &runs.0].concat()),
        ("recording_folder/journal", file_of(0, &journal)),
        ("recording_folder/sealed", file_of(2, &sealed)),
        (
            "recording_folder/both-and-others",
            [
                file_of(0, &journal),
                file_of(2, &sealed),
                file_of(4, b"a note"),
                file_of(6, b""),
                file_of(7, b""),
            ]
            .concat(),
        ),
    ];
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, bytes) in seeds {
        let file = corpus.join(name);
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&file, &bytes).unwrap();
        }
        let stored = fs::read(&file).unwrap_or_default();
        assert!(stored == bytes, "{name}: UPDATE_SNAPSHOTS=1 cargo test writes it");
    }
}

/// Returns the offsets of the bytes in a file that belong to block payloads, without the directories of segments.
fn payloads(bytes: &[u8]) -> Vec<usize> {
    let mut walker = BlockWalker::new(bytes.to_vec()).unwrap();
    let mut all = Vec::new();
    while let Some(block) = walker.next_block().unwrap() {
        let from = usize::try_from(block.stored_offset()).unwrap();
        let mut until = from + usize::try_from(block.header.stored).unwrap();
        if block.header.kind == BlockKind::Segment {
            until -= block.into_payload().unwrap().len();
        }
        all.extend(from..until);
    }
    all
}

/// Checks that repair changes nothing of a valid file, and gives a changed file correct checksums.
#[test]
fn repaired_files_have_right_checksums() {
    for bytes in <[Vec<u8>; 2]>::from(small()) {
        assert_eq!(repaired(&bytes), bytes);
        let want = Recording::from_bytes(&bytes).unwrap();
        let mut other = 0;
        for at in payloads(&bytes) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let Ok(recording) = Recording::from_bytes(&repaired(&changed)) else { continue };
            let damages = recording.all_damages();
            let is_wrong = damages.first().iter().any(|damage| damage.what.contains("checksum is wrong"));
            assert!(!is_wrong, "byte {at}: {damages:?}");
            other += usize::from(!recording.times().eq(want.times()) || !damages.is_empty());
        }
        assert!(other > 50, "{other} changes were read");
    }
    // A byte that was inserted into a payload.
    let (journal, _) = small();
    let mut longer = journal.clone();
    longer.insert(BlockHeader::LEN + 10, 0);
    assert_eq!(repaired(&longer).len() % ALIGNMENT, 0);
}
