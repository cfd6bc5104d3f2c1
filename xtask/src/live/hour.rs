//! Check of the recording of a busy machine beside sadc and pidstat in the same seconds.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};

use super::owned::{Background, Folder, Running};
use super::{finished, perfset};
use crate::repository::{root, target};

/// Path of sadc on Debian, where it is not in the `PATH` of users.
const SADC: &str = "/usr/lib/sysstat/sadc";

/// Checks that a recording has the numbers that sadc and pidstat recorded beside it: for a quarter of a minute, or an
/// hour.
pub fn beside_others(is_full: bool) -> Result<String> {
    let (seconds, window) = if is_full { (3_600, 60) } else { (15, 5) };
    let folder = Folder::new("hour")?;
    let at = |name: &str| folder.0.join(name);
    let mut loads = Vec::new();
    for kind in ["cpu", "disk", "mem"] {
        let mut command = Command::new("python3");
        command
            .arg(root().join("xtask/src/live/hour_load.py"))
            .arg(kind)
            .arg(at("written"))
            .stdin(Stdio::piped());
        loads.push(Running(command.spawn().context("cannot start python3")?));
    }
    let into = at("target");
    let _compiler = Background::start(move |stop| compile(&into, stop));
    sleep(Duration::from_secs(1)); // so that pidstat finds the names that they keep

    let (rounds, recording) = (seconds + 2, at("recording"));
    let mut command = perfset();
    command.args(["record", "--dir"]).arg(&recording).args(["1", &rounds.to_string()]);
    let recorder = command.spawn().context("cannot start perfset record")?;
    let mut command = Command::new(SADC);
    command.args(["-S", "XALL", "1", &rounds.to_string()]).arg(at("sadc")).stdout(Stdio::null());
    let mut sadc =
        Running(command.spawn().with_context(|| format!("cannot start {SADC}: is sysstat installed?"))?);
    let pids: Vec<String> = loads.iter().map(|load| load.0.id().to_string()).collect();
    let mut command = Command::new("pidstat");
    command.args(["-u", "-r", "-d", "-h", "-H", "-p", &pids.join(",")]);
    command.args([window, seconds / window].map(|number| number.to_string()));
    command.env("LC_ALL", "C").stdout(File::create(at("pidstat"))?);
    let mut pidstat = Running(command.spawn().context("cannot start pidstat: is sysstat installed?")?);
    finished(recorder.wait_with_output()?)?;
    sadc.0.wait()?;
    pidstat.0.wait()?;

    let mut command = Command::new("python3");
    command.arg(root().join("xtask/src/live/hour.py")).arg(target().join("release/perfset"));
    command.args([recording, at("sadc"), at("pidstat")]);
    // Over an hour the second between two samples is nothing; over seconds, what happens in it is much.
    command.arg(if is_full { "0.01" } else { "1" });
    let printed = finished(command.output().context("cannot start python3")?)?;
    let last = printed.lines().last().context("it compared nothing")?;
    Ok(format!(": {last}"))
}

/// Compiles a Rust crate without dependencies again and again, until `stop`.
fn compile(into: &Path, stop: &AtomicBool) {
    while !stop.load(Relaxed) {
        let _ = std::fs::remove_dir_all(into); // before the first round there is none
        let mut command = Command::new("cargo");
        command.args(["check", "--quiet", "--offline", "-p", "perfset-catalogue", "--target-dir"]).arg(into);
        let _ = command.current_dir(root()).status(); // the numbers of sadc count, whatever it did
    }
}
