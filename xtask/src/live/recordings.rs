//! Checks of recordings: read by an independent reader, with killed recorders, on a full disk, and by the screens.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::owned::{Folder, Running};
use super::{finished, perfset};
use crate::repository::root;

/// Identity of a recorded value: tick, counterset, instance, instance id and counter.
type ValueKey = (u64, String, String, u64, String);

/// Checks that a Python reader, written from the documents alone, reads recordings as the command does. One recording
/// is a directory whose file is sealed, and one is a file of ticks.
pub fn python() -> Result<String> {
    let folder = Folder::new("recordings")?;
    let (into, file) = (folder.0.join("folder"), folder.0.join("one.perfset"));
    // Begun processes, so that rows come and go.
    let load = |_: &Path| -> Result<()> {
        for _ in 0..40 {
            Command::new("true").status().context("cannot start true")?;
            sleep(Duration::from_millis(50));
        }
        Ok(())
    };
    let mut texts = Vec::new();
    for (option, path, log) in [("--dir", &into, &into), ("-o", &file, &file)] {
        let mut command = perfset();
        command.arg("record").arg(option).arg(path).args(["200ms", "10"]);
        let recorder = command.spawn().context("cannot start perfset record")?;
        load(path)?;
        finished(recorder.wait_with_output()?)?;
        texts.push(format!("{} of {option}", compare(log)?));
    }
    Ok(format!(": {} values are equal", texts.join(", ")))
}

/// Compares all values that the Python reader and the command read of a recording, and returns their number.
fn compare(log: &Path) -> Result<usize> {
    let files: Vec<_> = match log.is_dir() {
        true => std::fs::read_dir(log)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
        false => vec![log.to_owned()],
    };
    let mut command = Command::new("python3");
    command.arg(root().join("xtask/src/live/recording_reader.py"));
    command.args(files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "perfset")));
    let output = command.output().context("cannot start python3")?;
    let mut theirs: BTreeMap<ValueKey, Option<u64>> = BTreeMap::new();
    for line in finished(output)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let number = |field: &str| row[field].as_u64();
        let tick = number("tick").context("no tick")?;
        let key = (tick, text("counterset"), text("instance"), number("id").unwrap_or(0), text("counter"));
        ensure!(theirs.insert(key.clone(), number("raw")).is_none(), "{key:?} is there twice");
    }
    let sets: BTreeMap<&str, bool> = theirs.keys().map(|key| (&*key.1, !key.2.is_empty())).collect();
    let mut count = 0;
    for (set, is_multiple) in sets {
        let path = format!(r"\{set}{}\*", if is_multiple { "(*)" } else { "" });
        let name = log.to_str().context("a folder's name")?;
        let mut command = super::record::command(&[&path], &["--raw", "--log", name]);
        let mut times: Vec<String> = Vec::new();
        for line in finished(command.output()?)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
            let time = text("time");
            if times.last() != Some(&time) {
                times.push(time);
            }
            let tick = u64::try_from(times.len() - 1)?;
            let id = row["instance_id"].as_u64().unwrap_or(0);
            let key = (tick, text("counterset"), text("instance"), id, text("counter"));
            match (theirs.get(&key), row["raw"].as_u64()) {
                (Some(their), ours) => {
                    ensure!(*their == ours, "{key:?} is {ours:?}, and {their:?} to the other reader");
                    count += 1;
                }
                // A counter that was not recorded.
                (None, ours) => {
                    ensure!(ours.is_none(), "{key:?} is {ours:?}, and missing to the other reader")
                }
            }
        }
    }
    ensure!(count > 10_000, "only {count} values were compared");
    Ok(count)
}

/// Runs an ignored test of `crates/perfset/tests/library/recordings.rs` with these variables, and returns its figures.
fn test(is_full: bool, name: &str, variables: &[(&str, String)]) -> Result<String> {
    let mut command = Command::new("cargo");
    // Of the workspace, as `cargo test --workspace` has built it: nothing is compiled again.
    command.args(["test", "--workspace", "--quiet", "--test", "library"]);
    command.args(is_full.then_some("--release"));
    let test = format!("recordings::{name}");
    command.args(["--", "--ignored", "--exact", &test, "--nocapture", "--test-threads", "1"]);
    command.envs(variables.iter().map(|(name, value)| (*name, value))).current_dir(root());
    let printed = finished(command.output().context("cannot start cargo")?)?;
    let figure = printed.lines().find_map(|line| Some(line.split_once("figure: ")?.1.to_owned()));
    Ok(format!(": {}", figure.with_context(|| format!("{name} prints {printed}"))?))
}

/// Checks that a recording of every counterset replays each cell as it was collected, while processes come and go.
pub fn churn(is_full: bool) -> Result<String> {
    let (seconds, processes) = if is_full { (600, 1_000) } else { (5, 100) };
    let variables =
        [("PERFSET_TEST_SECONDS", format!("{seconds}")), ("PERFSET_TEST_ROUNDS", format!("{processes}"))];
    test(is_full, "this_machine_is_replayed_as_it_was_collected", &variables)
}

/// Checks a generated day of 1,000 processes: memory, the size limits of the directory, and 1,000 instants.
pub fn day(is_full: bool) -> Result<String> {
    let ticks = if is_full { 86_400 } else { 1_500 };
    let variables = [("PERFSET_TEST_TICKS", format!("{ticks}"))];
    test(is_full, "a_generated_day_is_right_at_every_instant", &variables)
}

/// Checks that readers beside a recorder, which begins and seals files meanwhile, find no damage, and never fewer
/// samples. The command reads, and a hundred times as many readers in one process.
pub fn beside(is_full: bool) -> Result<String> {
    let folder = Folder::new("beside")?;
    let rounds = if is_full { 1_000 } else { 500 };
    let mut command = perfset();
    command.args(["record", "mem", "10ms", "--dir"]).arg(&folder.0).stderr(Stdio::null());
    let recorder = Running(command.spawn().context("cannot start perfset record")?);
    sleep(Duration::from_millis(500));
    let mut before = 0;
    // On a fast machine the rounds end before a file was sealed.
    let is_sealed = || Ok::<_, std::io::Error>(std::fs::read_dir(&folder.0)?.count() > 3);
    let mut round = 0;
    while round < rounds || !is_sealed()? && round < 10_000 {
        let now = samples(&folder.0).with_context(|| format!("round {round}"))?;
        ensure!(now >= before, "round {round}: {now} samples, and {before} before");
        (before, round) = (now, round + 1);
    }
    drop(recorder);
    let files = std::fs::read_dir(&folder.0)?.count();
    ensure!(files > 3, "{files} files: nothing was sealed meanwhile");
    Ok(format!(
        ": {rounds} rounds of the command, {before} samples in {files} files{}",
        beside_in_process(is_full)?
    ))
}

/// Checks readers beside a recorder whose directory stays small, so that a round takes a fraction of a millisecond.
fn beside_in_process(is_full: bool) -> Result<String> {
    let folder = Folder::new("beside-ring")?;
    let rounds = if is_full { 100_000 } else { 500 };
    let mut command = perfset();
    command.args(["record", "mem", "10ms", "--keep", "1MB", "--dir"]).arg(&folder.0).stderr(Stdio::null());
    let _recorder = Running(command.spawn().context("cannot start perfset record")?);
    sleep(Duration::from_millis(500));
    let variables = [
        ("PERFSET_TEST_ROUNDS", format!("{rounds}")),
        ("PERFSET_TEST_FOLDER", folder.0.to_str().context("a folder's name")?.to_owned()),
    ];
    test(is_full, "a_reader_beside_a_recorder_finds_all_samples", &variables)
}

/// Checks that the screens of a past instant name the process that was busy then, and that screens of a later instant
/// do not.
pub fn culprit() -> Result<String> {
    const MARK: &str = "perfset-culprit";
    let folder = Folder::new("culprit")?;
    let mut command = perfset();
    command.args(["record", "500ms", "--dir"]).arg(&folder.0).stderr(Stdio::null());
    let mut recorder = Running(command.spawn().context("cannot start perfset record")?);
    sleep(Duration::from_secs(2));
    let mut command = Command::new("sh");
    let busy = Running(command.args(["-c", "while :; do :; done", MARK]).spawn().context("cannot start sh")?);
    let name = format!("sh:{}", busy.0.id());
    sleep(Duration::from_secs(2));
    finished(perfset().args(["mark", "busy", "--dir"]).arg(&folder.0).output()?)?;
    sleep(Duration::from_millis(600));
    let file = format!("/proc/{}/stat", busy.0.id());
    let stat = std::fs::read_to_string(file).context("the busy process has ended")?;
    ensure!(stat.contains("(sh)"), "another process has its number");
    drop(busy);
    sleep(Duration::from_secs(2));
    finished(perfset().args(["record", "--stop", "--dir"]).arg(&folder.0).output()?)?;
    recorder.0.wait()?;
    let screen = |part: &[&str], at: &[&str]| {
        let output = perfset().args(part).arg("--log").arg(&folder.0).args(at).output()?;
        finished(output)
    };
    let processes = screen(&["proc"], &["--at", "mark busy"])?;
    let row = processes.lines().find(|line| line.starts_with(&name));
    let row = row.with_context(|| format!("{name} is not in {processes}"))?;
    ensure!(row.contains(MARK), "no command line: {row}");
    let busy: f64 = row.split_whitespace().nth(1).unwrap_or_default().parse().context("no share")?;
    ensure!((50.0..110.0).contains(&busy), "{name} was busy all the time: {row}");
    let first = processes.lines().position(|line| line.starts_with("process ")).unwrap_or(0);
    let rank = processes.lines().skip(first).position(|line| line.starts_with(&name)).unwrap_or(0);
    ensure!(rank <= 2, "{name} has rank {rank}: {processes}");
    let overview = screen(&[], &["--at", "mark busy"])?;
    ensure!(overview.contains(&name), "{name} is not in {overview}");
    let later = screen(&["proc"], &[])?;
    ensure!(!later.contains(MARK), "{name} has ended: {later}");
    Ok(format!(": {name} with {busy} %, at the mark"))
}

/// Checks that recorders that are killed at any moment lose no sample that was there before, and damage nothing. Some
/// are killed while they begin and seal.
pub fn killed(is_full: bool) -> Result<String> {
    const OF_A_FOLDER: u64 = 500;
    let folders = if is_full { 20 } else { 1 };
    // Each folder has its own sequence of moments.
    let all = (1..=folders).map(|folder| killed_in(OF_A_FOLDER, folder * 7)).collect::<Result<Vec<u64>>>()?;
    let samples: u64 = all.iter().sum();
    Ok(format!(": {} kills, {samples} samples, no damage", OF_A_FOLDER * folders))
}

/// Kills recorders of one directory, and returns the number of samples that it has then.
fn killed_in(kills: u64, mut moment: u64) -> Result<u64> {
    let folder = Folder::new("killed-recorders")?;
    let mut before = 0;
    for kill in 1..=kills {
        let mut command = perfset();
        command.args(["record", "mem", "10ms", "--dir"]).arg(&folder.0).stderr(Stdio::null());
        let recorder = Running(command.spawn().context("cannot start perfset record")?);
        // A sequence of moments that is the same each time.
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        sleep(Duration::from_millis(5 + (moment >> 33) % 120));
        drop(recorder);
        if kill % 10 == 0 {
            let now = samples(&folder.0)?;
            ensure!(now >= before, "{now} samples after kill {kill}, and {before} before");
            before = now;
        }
    }
    ensure!(before > kills, "{before} samples of {kills} recorders");
    Ok(before)
}

/// Returns the number of samples of a recording that has no damage.
fn samples(log: &Path) -> Result<u64> {
    let mut command = perfset();
    command.args(["log", "info", "--format", "json"]).arg(log);
    let output = command.output()?;
    // A damaged recording has a status of its own, and its damages are printed.
    let info: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    ensure!(info["damage_count"] == 0, "damage: {}; {}", info["damages"], output.status);
    finished(output)?;
    info["samples"].as_u64().context("no number of samples")
}

/// Checks that a recorder on a full disk goes on: it removes its oldest files, and has the newest samples.
pub fn full(is_full: bool) -> Result<String> {
    let small = fill_disk("260k", &["20ms", "600", "--keep", "1MB"], 600)?;
    ensure!(small.is_lossy, "the disk was never full{}", small.figures);
    // An hour's samples of everything, at ten times the pace. Whole files make room, so few samples are lost, or none.
    let hour = || fill_disk("3m", &["100ms", "3600", "--keep", "2GB", "--every", "100ms=Thread"], 3_600);
    let figures = if is_full { hour()?.figures } else { String::new() };
    Ok(small.figures + &figures)
}

/// Result of a recording onto a disk that was full.
struct FilledDisk {
    /// `true` if the recorder said that samples are lost.
    is_lossy: bool,
    figures: String,
}

/// Records onto a disk of a size until it is full.
fn fill_disk(size: &str, options: &[&str], ticks: u64) -> Result<FilledDisk> {
    let folder = Folder::new("full-disk")?;
    let option = format!("size={size}");
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&folder.0).status()?;
    ensure!(mount.success(), "cannot mount a file system in memory");
    let checked = fill(&folder.0.join("recording"), options, ticks);
    let unmounted = Command::new("umount").arg(&folder.0).status()?;
    ensure!(unmounted.success(), "cannot unmount the file system");
    checked
}

/// Records onto a disk with a limit above the disk's size.
fn fill(into: &Path, options: &[&str], ticks: u64) -> Result<FilledDisk> {
    let began = Instant::now();
    let mut command = perfset();
    command.arg("record").args(options).arg("--dir").arg(into);
    let output = command.output().context("cannot start perfset record")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    finished(output)?;
    let count = samples(into)?;
    ensure!(count < ticks, "the disk was never full: {count} samples, {said}");
    let is_lossy = said.contains("samples are lost until writing works again");
    let mut command = perfset();
    command.args(["get", r"\Memory\Available Bytes", "--raw", "--format", "json", "--log"]).arg(into);
    let out = finished(command.output()?)?;
    let last: Value = serde_json::from_str(out.lines().last().context("no sample")?)?;
    let time = last["time"].as_str().context("no time")?;
    let now = Command::new("date").args(["-u", "+%s"]).output()?;
    let at = Command::new("date").args(["-u", "+%s", "-d", time]).output()?;
    let seconds = |output| -> Result<u64> { Ok(finished(output)?.trim().parse()?) };
    let age = seconds(now)?.saturating_sub(seconds(at)?);
    ensure!(age <= 5, "the newest sample is {age} s old");
    let seconds = began.elapsed().as_secs();
    Ok(FilledDisk {
        is_lossy,
        figures: format!(": {count} samples are left after {seconds} s, the newest {age} s old"),
    })
}
