//! Check of the JSON that `perfset get` prints, read by jq.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{finished, proc, record};

/// Keys that every JSON object of `perfset get` has, as documented.
const KEYS: [&str; 14] = [
    "time",
    "path",
    "counterset",
    "instance",
    "instance_id",
    "counter",
    "value",
    "status",
    "raw",
    "base",
    "type",
    "unit",
    "mark",
    "missing",
];

/// Checks with jq that each line of `perfset get` is a JSON object with all keys in order. The output has three
/// samples of each processor, each node and the total.
pub fn check() -> Result<String> {
    const SAMPLES: usize = 3;
    let path = r"\Processor Information(*)\% Processor Time";
    let json =
        record::command(&[path], &["1", &SAMPLES.to_string()]).output().context("cannot start perfset")?;
    let json = finished(json)?;
    let keys = jq(&["-r", "keys_unsorted | join(\" \")"], &json)?;
    let instances = proc::cpus()? as usize + nodes() + 1;
    ensure!(
        keys.lines().count() == instances * SAMPLES,
        "jq finds {} objects, not {SAMPLES} of each of {instances} instances",
        keys.lines().count()
    );
    for line in keys.lines() {
        ensure!(line == KEYS.join(" "), "an object has the keys {line}");
    }
    let is_well = r#"(.value | type == "number" and . >= 0 and . <= 100) and .status == "ok" and .unit == "%"
        and .counterset == "Processor Information" and .type == "PERF_100NSEC_TIMER_INV"
        and .path == "\\Processor Information(" + .instance + ")\\% Processor Time"
        and (.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z$"))"#;
    let ill = jq(&["-c", &format!("select({is_well} | not)")], &json)?;
    ensure!(ill.is_empty(), "not as promised: {ill}");
    Ok(format!(": {} objects", keys.lines().count()))
}

fn jq(arguments: &[&str], input: &str) -> Result<String> {
    let mut jq = Command::new("jq")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start jq (Debian package jq)")?;
    let mut stdin = jq.stdin.take().context("jq has no input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes())); // jq says what it missed
        jq.wait_with_output()
    });
    finished(output?)
}

/// Returns the number of NUMA nodes; 1 for a kernel without them.
fn nodes() -> usize {
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let is_node = |name: &str| {
        name.strip_prefix("node").is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
    };
    entries.filter(|entry| is_node(&entry.file_name().to_string_lossy())).count().max(1)
}
