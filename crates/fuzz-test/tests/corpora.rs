//! Test of each fuzz target on its stored corpus, and on random changes of it.
//!
//! This finds in seconds what a change breaks at once. `cargo xtask fuzz` searches longer, guided by coverage.

use std::collections::VecDeque;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use fuzz_test::{TARGETS, Target};

/// Environment variable with the number of changed fuzz inputs for each stored one.
const VARIABLE: &str = "PERFSET_CASES";
const CASES: u64 = 200;

/// Maximum number of bytes that a fuzz target may hold at once.
const MEMORY: u64 = 64 << 20;

#[test]
fn every_target_stands_its_corpus_and_changes_of_it() {
    let cases = std::env::var(VARIABLE).map_or(CASES, |text| text.parse().expect("a number of inputs"));
    let queue = Mutex::new(TARGETS.iter().collect::<VecDeque<_>>());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(target) = next() {
                    failures.lock().unwrap_or_else(PoisonError::into_inner).extend(failure_of(target, cases));
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let mut folders: Vec<String> =
        corpus().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    folders.sort();
    assert_eq!(folders, TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for name in folders {
        assert!(!seeds(&name).is_empty(), "{name} has no seed");
    }
}

/// Returns the first failure of a fuzz target, and the path of its input.
fn failure_of(&(name, check): &Target, cases: u64) -> Option<String> {
    let seeds = seeds(name);
    for (at, (file, seed)) in seeds.iter().enumerate() {
        for case in 0..=cases {
            let mut input = seed.clone();
            if case > 0 {
                let other = &seeds[(at + case as usize) % seeds.len()].1;
                Change::new(name, file, case).apply(&mut input, other);
            }
            let mut memory = 0;
            let outcome = catch_unwind(|| allocation_counter::measure(|| check(&input)).bytes_max)
                .map(|bytes| memory = bytes);
            if outcome.is_err() || memory > MEMORY {
                let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.input"));
                std::fs::write(&path, &input).unwrap();
                let what = if outcome.is_err() { "panics" } else { "holds too much memory" };
                return Some(format!(
                    "{name} {what} ({memory} bytes): change {case} of {file}, {}",
                    path.display()
                ));
            }
        }
    }
    None
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// Returns names and bytes of a fuzz target's stored inputs.
fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let entries = corpus().join(name).read_dir().unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    };
    let mut seeds: Vec<_> = entries.map(read).collect();
    seeds.sort();
    seeds
}

/// Random changes of one fuzz input, the same in every run.
struct Change(u64);

impl Change {
    fn new(name: &str, file: &str, case: u64) -> Self {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(name.bytes().chain(file.bytes()).chain(case.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, hash))
    }

    /// Returns a random number below `end`, which is not 0: SplitMix64.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..start + self.below((length - start).min(64) + 1)
    }

    /// Changes the fuzz input in one to four places; some of its bytes may become those of another input.
    fn apply(mut self, input: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..=self.below(4) {
            let at = self.below(input.len() + 1);
            match self.below(7) {
                0 if at < input.len() => input[at] ^= 1 << self.below(8),
                1 if at < input.len() => input[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => input.truncate(at),
                3 => input.insert(at, self.below(256) as u8),
                4 => drop(input.drain(self.range(input.len()))),
                5 => {
                    let copied = input[self.range(input.len())].to_vec();
                    input.splice(at..at, copied);
                }
                _ => {
                    let copied = &other[self.range(other.len())];
                    input.splice(at..at, copied.iter().copied());
                }
            }
        }
    }
}
