//! Seeds of the fuzz corpora that are made of test data: the worked examples of V2 blocks, and V1 blocks and logs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::repository::root;

/// Name of the environment variable that makes the tests write the seeds of the fuzz corpora again.
const UPDATE: &str = "UPDATE_SNAPSHOTS";

/// Directories of `testdata` and their files that are seeds, with the fuzz target that reads them.
const FILES: [(&str, &str, &[&str]); 5] = [
    (
        "v1_block",
        "v1",
        &[
            "process-thread.bin",
            "samba417_global.bin",
            "single.bin",
            "wine8_global_as_returned.bin",
            "windows-vista/object2-sample0.bin",
            "windows-vista/object4-sample0.bin",
            "windows-vista/object238-sample0.bin",
        ],
    ),
    ("manifest", "manifests", &["bakery.man", "driver.man", "orders.man", "rules-2.0.man", "waves.man"]),
    ("log_source", "logs", &["esxtop.csv", "relog.tsv"]),
    ("v1_names", "v1", &["samba417_counter009.bin"]),
    (
        "log_text",
        "logs",
        &[
            "bare.csv",
            "esxtop.csv",
            "french.csv",
            "logman-german.csv",
            "perfmon.csv",
            "relog.tsv",
            "typeperf.txt",
            "typeperf-utf16.txt",
        ],
    ),
];

#[test]
fn corpora_hold_the_worked_examples() {
    hold(worked_examples(&root().join("testdata/v2/examples.txt")));
}

#[test]
fn corpora_hold_the_files() {
    for (target, folder, files) in FILES {
        let folder = root().join("testdata").join(folder);
        hold(files.iter().map(|file| {
            let file = folder.join(file);
            let place = Path::new(target).join(file.file_name().unwrap());
            (place, std::fs::read(file).unwrap())
        }));
    }
}

#[test]
fn corpora_hold_a_small_log() {
    let log = std::fs::read(root().join("testdata/logs/BasicPerfCounters.blg")).unwrap();
    hold([("log_blg/small".into(), small_log(&log)), ("log_source/small".into(), small_log(&log))]);
}

/// Returns the beginning of a log in buffers of 4 KiB: its header, the counter list, five samples.
fn small_log(log: &[u8]) -> Vec<u8> {
    const SMALL: usize = 4 << 10;
    const WHOLE: usize = 64 << 10;
    const END: usize = 72 + 1_024 + 5 * 520;
    let mut small = [&log[..SMALL], &log[WHOLE..][..END]].concat();
    small.resize(2 * SMALL, 0xFF);
    for buffer in [0, SMALL] {
        small[buffer..][..4].copy_from_slice(&(SMALL as u32).to_le_bytes());
    }
    small[SMALL + 48..][..4].copy_from_slice(&(END as u32).to_le_bytes());
    small
}

/// Checks that the fuzz corpora contain these seeds, each at its path; writes the seeds if [`UPDATE`] is set.
fn hold(seeds: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) {
    let update = std::env::var_os(UPDATE).is_some();
    for (path, bytes) in seeds {
        let full = root().join("fuzz/corpus").join(&path);
        if update {
            std::fs::write(&full, &bytes).unwrap();
        }
        let stored = std::fs::read(&full).unwrap_or_default();
        assert!(stored == bytes, "{} is not the test data; {UPDATE}=1 cargo test writes it", full.display());
    }
}

/// Returns the worked examples of V2 blocks as fuzz inputs, by their path in the corpora. A result gets the header of
/// the empty query.
fn worked_examples(file: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut examples: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once("  ") {
            Some((_, hex)) => {
                let bytes = hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap());
                examples.entry(name).or_default().extend(bytes);
            }
            None => name = line,
        }
    }
    let whole = |name: &str, bytes: &[u8]| {
        if !name.starts_with("result") {
            return bytes.to_vec();
        }
        let mut block = [examples["data-empty-query"].as_slice(), bytes].concat();
        let size = u32::try_from(block.len()).unwrap();
        block[..4].copy_from_slice(&size.to_le_bytes());
        block[4..8].copy_from_slice(&1_u32.to_le_bytes());
        block
    };
    let target = |name: &str| match name.split('-').next() {
        Some("strings") => "v2_strings",
        Some("registration") => "v2_registration",
        Some("instances") => "v2_instances",
        Some("identifier") => "v2_identifiers",
        Some("identity") => "v2_identities",
        _ => "v2_data",
    };
    let place = |name: &str| Path::new(target(name)).join(format!("{name}.bin"));
    examples.iter().map(|(name, bytes)| (place(name), whole(name, bytes))).collect()
}
