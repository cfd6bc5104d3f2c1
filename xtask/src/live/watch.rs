//! Check of `perfset watch` beside processes that work, end and are started again.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::owned::{Folder, Running};
use super::perfset;

/// Minimum share of one processor, in percent, that a busy process has on a machine with a few other busy ones.
const BUSY: &str = "10";

#[derive(Deserialize)]
struct Report {
    event: String,
    instance: String,
    status: String,
}

/// Starts a process that is always busy.
fn busy() -> Result<Running> {
    let child = Command::new("yes").stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    Ok(Running(child.context("cannot start yes")?))
}

/// Checks that `perfset watch` reports each busy process once, after three samples, with one run of the program. Its
/// end is reported, and a process that is started again is reported again.
pub fn check() -> Result<String> {
    exit_codes()?;
    let folder = Folder::new("watch")?;
    let runs = folder.0.join("runs");
    let mut command = perfset();
    command.args(["watch", r"\Process V2(yes:*)\% Processor Time", "200ms", "--above", BUSY, "--for", "3"]);
    command
        .args(["--json", "--run", "sh", "-c", "echo $PERFSET_INSTANCE $PERFSET_INSTANCE_ID >>$0"])
        .arg(&runs);
    let (first, second) = (busy()?, busy()?);
    let mut watch = Running(command.spawn().context("cannot start perfset")?);
    let mut lines = BufReader::new(watch.0.stdout.take().context("no output")?).lines();
    let mut next = || -> Result<Report> {
        let line = lines.next().context("the reports ended")??;
        serde_json::from_str(&line).context(line)
    };
    let begun = [next()?, next()?];
    let mut names = begun.each_ref().map(|report| report.instance.clone());
    names.sort();
    let mut want = [&first, &second].map(|process| format!("yes:{}", process.0.id()));
    want.sort();
    ensure!(names == want && begun.iter().all(|r| r.event == "begins"), "{names:?} begin, not {want:?}");
    let ended = format!("yes:{}", first.0.id());
    drop(first);
    let ends = next()?;
    let is_end = (ends.event.as_str(), ends.status.as_str()) == ("ends", "no_instance");
    ensure!(is_end && ends.instance == ended, "{} {} {}", ends.event, ends.instance, ends.status);
    let third = busy()?;
    let begins = next()?;
    let third_name = format!("yes:{}", third.0.id());
    ensure!(
        begins.event == "begins" && begins.instance == third_name,
        "{} {}",
        begins.event,
        begins.instance
    );
    no_right_to_walk(watch.0.id())?;
    interrupt(&watch.0)?;
    ensure!(watch.0.wait()?.success(), "it does not end with 0 on Ctrl+C");
    let mut err = String::new();
    watch.0.stderr.take().context("no standard error")?.read_to_string(&mut err)?;
    ensure!(err.is_empty(), "{err}");
    let runs = fs::read_to_string(&runs)?;
    let mut ran: Vec<_> = runs.lines().map(str::to_owned).collect();
    let mut want: Vec<_> = [want[0].clone(), want[1].clone(), third_name]
        .map(|name| format!("{name} {}", name.trim_start_matches("yes:")))
        .into();
    ran.sort();
    want.sort();
    // The last run is skipped if Ctrl+C comes before it.
    want.retain(|run| ran.contains(run));
    ensure!(ran == want && ran.len() >= 2, "the runs are {ran:?}");
    drop((second, third));
    hanging()?;
    Ok(format!(": {} runs", ran.len()))
}

/// Checks that no thread of a process has the capabilities CAP_PERFMON or CAP_BPF.
fn no_right_to_walk(pid: u32) -> Result<()> {
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).context("no CapEff")?;
        let effective = u64::from_str_radix(effective.trim(), 16)?;
        ensure!(effective & (1 << 38 | 1 << 39) == 0, "it has kept CAP_PERFMON or CAP_BPF: {effective:x}");
    }
    Ok(())
}

/// Checks the exit codes of `perfset watch` for a named process: busy, idle, and ended.
fn exit_codes() -> Result<()> {
    let process = busy()?;
    let path = format!(r"\Process V2(yes:{})\% Processor Time", process.0.id());
    let code = |limit: [&str; 2]| -> Result<Option<i32>> {
        let mut command = perfset();
        command.args(["watch", &path, "200ms", "4", "--for", "3", "--exit-code"]).args(limit);
        Ok(command.output().context("cannot start perfset")?.status.code())
    };
    let (above, below) = (code(["--above", BUSY])?, code(["--above", "1000"])?);
    ensure!((above, below) == (Some(6), Some(0)), "a busy process has {above:?} and {below:?}");
    drop(process);
    let ended = code(["--above", BUSY])?;
    ensure!(ended == Some(1), "a process that has ended has {ended:?}");
    Ok(())
}

/// Checks that a hanging program of `watch --run` delays neither the samples nor the end by Ctrl+C.
fn hanging() -> Result<()> {
    let mut command = perfset();
    let path = r"\Memory\Available Bytes";
    command.args(["watch", path, "100ms", "10", "--above", "0", "--run", "sleep", "600"]);
    let mut watch = Running(command.spawn().context("cannot start perfset")?);
    sleep(Duration::from_secs(2));
    ensure!(watch.0.try_wait()?.is_none(), "it does not wait for the program");
    let began = Instant::now();
    let children = children(watch.0.id())?;
    interrupt(&watch.0)?;
    let status = watch.0.wait()?;
    ensure!(!children.is_empty(), "the program was not started");
    for child in children {
        Command::new("kill").arg(child).status()?;
    }
    ensure!(status.success() && began.elapsed() < Duration::from_secs(1), "it ends late, with {status}");
    let mut err = String::new();
    watch.0.stderr.take().context("no standard error")?.read_to_string(&mut err)?;
    ensure!(err.is_empty(), "{err}");
    Ok(())
}

/// Returns the children of all threads of a process: another thread of `perfset watch` starts the program.
fn children(pid: u32) -> Result<Vec<String>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(text.split_ascii_whitespace().map(str::to_owned));
    }
    Ok(children)
}

fn interrupt(child: &Child) -> Result<()> {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    ensure!(status.success(), "kill: {status}");
    Ok(())
}
