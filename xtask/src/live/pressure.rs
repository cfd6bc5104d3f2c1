//! Shares of stalled time on a machine under pressure, and values that are refused and left out of rankings.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::process::Command;
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

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

/// More threads than processors run: no share is above 100 without a mark, though the files are read late, and the mean
/// is the kernel's own.
pub fn stalled_time() -> Result<String> {
    /// `avg10` weighs older times less and less: of a load that began 30 s before, 5 % are still to come.
    const TOLERANCE: f64 = 10.0;
    const STALLED: &str = r"\Pressure Stall(*)\{% Some Stalled Time,% Full Stalled Time}";
    const AVERAGE: &str = r"\Pressure Stall(cpu)\% Some Stalled Time 10 Seconds";
    let threads = available_parallelism()?.get().saturating_mul(4);
    let _load: Vec<_> = (0..threads).map(|_| Load::start()).collect();
    let take = |paths: &[&str], interval: &str, count: &str| -> Result<Vec<Line>> {
        let output = perfset().arg("get").args(paths).args([interval, count, "--format", "json"]).output()?;
        lines(&finished(output)?)
    };
    sleep(Duration::from_secs(10));
    let mut most = 0.0_f64;
    let mut checked = 0_usize;
    // All threads are read before the files of pressure.
    for (interval, count) in [("100ms", "50"), ("1s", "10")] {
        for line in take(&[r"\Thread(*)\% Processor Time", STALLED], interval, count)? {
            let Some(value) = line.value.filter(|_| line.counter.contains("Stalled")) else { continue };
            let Line { instance, counter, mark, .. } = line;
            ensure!(value <= 100.0, "{instance}: {counter} is {value}, marked {mark:?}");
            most = most.max(value);
            checked = checked.saturating_add(1);
        }
    }
    ensure!(checked > 200 && most > 50.0, "{checked} values, none above {most}");
    let shares = take(&[STALLED, AVERAGE], "100ms", "100")?;
    let of_processors = |name: &str| -> Vec<f64> {
        let is_one = |line: &&Line| line.instance == "cpu" && line.counter == name;
        shares.iter().filter(is_one).filter_map(|line| line.value).collect()
    };
    let some = of_processors("% Some Stalled Time");
    let average = *of_processors("% Some Stalled Time 10 Seconds").last().context("no average")?;
    let mean = some.iter().sum::<f64>() / f64::from(u32::try_from(some.len())?);
    ensure!((mean - average).abs() < TOLERANCE, "the mean is {mean:.1} %, the kernel's {average:.1} %");
    Ok(format!(
        ": {checked} values, the greatest {most:.2} %; the mean {mean:.1} %, the kernel's {average:.1} %"
    ))
}

/// As nobody, a ranking says of as many processes that they are refused as `/proc` refuses.
pub fn left_out() -> Result<String> {
    /// Processes that begin or end meanwhile.
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
