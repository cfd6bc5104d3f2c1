//! Check of blocks that `perfset v1 query` writes, beside a reader that was written from the description of the
//! format alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Load, finished, perfset};
use crate::repository::{root, target};

/// Checks that perfset and an independent reader read the same values of two blocks, raw and formatted.
pub fn check(rounds: usize) -> Result<String> {
    let folder = folder()?;
    let (mut values, mut formatted, mut capped) = (0, 0, 0);
    for _ in 0..rounds {
        let load = Load::start();
        query(&folder, &["Global", "-o", "old.bin", "--names", "names.bin"])?;
        sleep(Duration::from_millis(700));
        query(&folder, &["Global", "-o", "new.bin"])?;
        drop(load);
        let theirs = theirs(&folder)?;
        let ours = ours(&folder)?;
        ensure!(!theirs.is_empty(), "the reader finds nothing");
        ensure!(
            ours.keys().eq(theirs.keys()),
            "the values differ in number or name: {} and {}",
            ours.len(),
            theirs.len()
        );
        for (key, OurValue { raw, value, status, is_capped }) in &ours {
            let (their_raw, their_value) = &theirs[key];
            ensure!(raw == their_raw, "{key:?}: raw value {raw:?} and {their_raw:?}");
            match (value, their_value) {
                // A process that took another's name: the reader does not look who it is.
                (None, _) if status == "replaced" && ["Process", "Thread"].contains(&key.0.as_str()) => {}
                // A share above 100 % is an error of measurement: it is cut and marked, and the reader does not cut.
                (Some(a), Some(b)) if *is_capped => {
                    ensure!(*a == 100.0 && *b > 100.0, "{key:?}: value {a}, which is capped, and {b}");
                    capped += 1;
                }
                (Some(a), Some(b)) => {
                    ensure!((a - b).abs() <= b.abs() * 1e-9, "{key:?}: value {a} and {b}");
                    formatted += 1;
                }
                (a, b) => ensure!(a == b, "{key:?}: value {a:?} and {b:?}"),
            }
            values += 1;
        }
        ensure!(
            ours.iter().any(|(key, ours)| key.2 == "% Processor Time" && ours.value > Some(20.0)),
            "the load of one core is not seen"
        );
    }
    Ok(format!(": {values} raw and {formatted} formatted values, all equal; {capped} capped at 100 %"))
}

/// Checks the independent reader of V1 blocks itself: its formulas give the results of the test vectors.
pub fn vectors() -> Result<String> {
    let output =
        reader().arg("vectors").arg(root().join("testdata/formulas/counter-type-vectors.csv")).output()?;
    Ok(format!(": {}", finished(output)?.trim()))
}

/// Identity of a value in a V1 block: object, instance, counter.
type Key = (String, String, String);
/// Raw value and formatted value of a counter in a V1 block.
type Pair = (Option<u64>, Option<f64>);

/// Value of a V1 block as `perfset v1 values` prints it.
struct OurValue {
    raw: Option<u64>,
    value: Option<f64>,
    status: String,
    is_capped: bool,
}

fn query(folder: &Path, args: &[&str]) -> Result<()> {
    let output = perfset().args(["v1", "query"]).args(args).current_dir(folder).output()?;
    ensure!(output.stderr.is_empty(), "it says {}", String::from_utf8_lossy(&output.stderr));
    finished(output).map(|_| ())
}

fn reader() -> Command {
    let mut command = Command::new("python3");
    command.arg(root().join("xtask/src/live/v1_reader.py"));
    command
}

fn theirs(folder: &Path) -> Result<BTreeMap<Key, Pair>> {
    let mut command = reader();
    command.args(["read", "new.bin", "old.bin", "--names", "names.bin"]).current_dir(folder);
    let output = command.output().context("cannot start python3")?;
    let mut all = BTreeMap::new();
    for line in finished(output)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let key = (text(&row["object_name"]), text(&row["instance"]), text(&row["counter_name"]));
        // Its value is that of the formula; the command shows no idle time that runs ahead of the clock.
        let is_inverse = row["type"].as_u64().unwrap_or(0) & 0x0100_0000 != 0;
        let least = if is_inverse { 0.0 } else { f64::NEG_INFINITY };
        all.insert(key, (row["raw"].as_u64(), row["value"].as_f64().map(|value| value.max(least))));
    }
    Ok(all)
}

fn ours(folder: &Path) -> Result<BTreeMap<Key, OurValue>> {
    let args = ["v1", "values", "old.bin", "new.bin", "--names", "names.bin", "--format", "json"];
    let output = perfset().args(args).current_dir(folder).output()?;
    let mut all = BTreeMap::new();
    for line in finished(output)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        if row["status"] == "no_instance" {
            continue; // that an object has none is said too
        }
        let key = (text(&row["counterset"]), text(&row["instance"]), text(&row["counter"]));
        let value = OurValue {
            raw: row["raw"].as_u64(),
            value: row["value"].as_f64(),
            status: text(&row["status"]),
            is_capped: row["mark"] == "capped",
        };
        all.insert(key, value);
    }
    Ok(all)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn folder() -> Result<PathBuf> {
    let folder = target().join("live-v1");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
