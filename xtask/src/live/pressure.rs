//! Checks of the shares of stalled time under pressure, and of refused values in rankings.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::process::Command;
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use super::owned::ForAll;
use super::{Load, finished, perfset};
use crate::repository::target;

#[derive(Deserialize)]
struct Line {
    instance: String,
    counter: String,
    value: Option<f64>,
    status: String,
    mark: Option<String>,
    instances: Option<u64>,
}

fn lines(json: &str) -> Result<Vec<Line>> {
    json.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Checks that no share of stalled time is above 100 without a mark, although the files are read late. The mean of
/// the shares is what the kernel's own count of stalled time gives.
pub fn stalled_time() -> Result<String> {
    /// Tolerance in points between the mean of the shares of stalled time and the kernel's count, whose span contains
    /// the start of the command.
    const TOLERANCE: f64 = 10.0;
    const STALLED: &str = r"\Pressure Stall(*)\{% Some Stalled Time,% Full Stalled Time}";
    // Four threads a processor: nearly always one of them waits.
    let threads = available_parallelism()?.get().saturating_mul(4);
    let _load: Vec<_> = (0..threads).map(|_| Load::start()).collect();
    let take = |paths: &[&str], interval: &str, count: &str| -> Result<Vec<Line>> {
        let output = perfset().arg("get").args(paths).args([interval, count, "--format", "json"]).output()?;
        lines(&finished(output)?)
    };
    sleep(Duration::from_secs(1));
    let mut most = 0.0_f64;
    let mut checked = 0_usize;
    // All threads are read before the files of pressure.
    for (interval, count) in [("100ms", "50"), ("1s", "5")] {
        for line in take(&[r"\Thread(*)\% Processor Time", STALLED], interval, count)? {
            let Some(value) = line.value.filter(|_| line.counter.contains("Stalled")) else { continue };
            let Line { instance, counter, mark, .. } = line;
            ensure!(value <= 100.0, "{instance}: {counter} is {value}, marked {mark:?}");
            most = most.max(value);
            checked = checked.saturating_add(1);
        }
    }
    ensure!(checked > 200 && most > 50.0, "{checked} values, none above {most}");
    let (from, stalled_before) = (Instant::now(), stalled_microseconds()?);
    let shares = take(&[STALLED], "100ms", "50")?;
    let stalled = stalled_microseconds()?.saturating_sub(stalled_before);
    let kernels = stalled as f64 / from.elapsed().as_micros() as f64 * 100.0;
    let is_some = |line: &&Line| line.instance == "cpu" && line.counter == "% Some Stalled Time";
    let some: Vec<f64> = shares.iter().filter(is_some).filter_map(|line| line.value).collect();
    let mean = some.iter().sum::<f64>() / f64::from(u32::try_from(some.len())?);
    ensure!((mean - kernels).abs() < TOLERANCE, "the mean is {mean:.1} %, the kernel's count {kernels:.1} %");
    Ok(format!(
        ": {checked} values, the greatest {most:.2} %; the mean {mean:.1} %, by the kernel's count {kernels:.1} %"
    ))
}

/// Returns the time, in microseconds, that some task waited for a processor, from `/proc/pressure/cpu`.
fn stalled_microseconds() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/pressure/cpu")?;
    let line = text.lines().find(|line| line.starts_with("some ")).context("no line \"some\"")?;
    let total = line.rsplit_once("total=").context("no total")?.1;
    Ok(total.trim().parse()?)
}

/// Checks that a ranking, run as the user `nobody`, reports as many refused processes as `/proc` refuses.
pub fn left_out() -> Result<String> {
    /// Number of processes that may begin or end during the check.
    const SLACK: u64 = 5;
    let program = ForAll::copy_of(&target().join("release/perfset"))?;
    let nobody = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "HOME=/"]);
        command.current_dir("/");
        command
    };
    let refused = || -> Result<u64> {
        let script =
            "n=0; for p in /proc/[0-9]*; do t=$(cat $p/io 2>&-) || [ ! -d $p ] || n=$((n+1)); done; echo $n";
        Ok(finished(nobody().args(["sh", "-c", script]).output()?)?.trim().parse()?)
    };
    let path = r"\Process V2(*)\IO Data Bytes/sec";
    let before = refused()?;
    let json =
        nobody().arg(&program.program).args(["get", path, "--top", "3", "--format", "json"]).output()?;
    let table = nobody().arg(&program.program).args(["get", path, "--top", "3"]).output()?;
    let after = refused()?;
    let denied = lines(&finished(json)?)?.into_iter().filter(|line| line.status == "denied");
    let told: u64 = denied.filter_map(|line| line.instances).sum();
    let (least, most) = (before.min(after).saturating_sub(SLACK), before.max(after).saturating_add(SLACK));
    ensure!(before > 0 && (least..=most).contains(&told), "told {told}, refused are {before}, then {after}");
    let table = finished(table)?;
    ensure!(table.contains("have no value") && table.contains("CAP_SYS_PTRACE"), "the table says {table}");
    Ok(format!(": {told} denied, /proc refuses {before} to {after}"))
}
