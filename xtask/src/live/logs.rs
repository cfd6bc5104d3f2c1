//! Checks of logs: a long one in little time and memory, and Python's csv and sqlite3 on the output of relog.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::owned::Folder;
use super::{finished, perfset};
use crate::repository::{root, target};

/// Size in bytes of the generated log, which has ten million values.
const LONG: u64 = 550 << 20;
const ONE: &str = r"\PhysicalDisk(0 C:)\Avg. Disk Queue Length";

/// Compares `get --log` of one counter with reading the log's file once. Checks that `relog` of ten million values
/// uses bounded memory.
pub fn long() -> Result<String> {
    let folder = target().join("live-logs");
    std::fs::create_dir_all(&folder)?;
    let (long, short) = (folder.join("long.blg"), folder.join("short.blg"));
    repeated(&long, LONG)?;
    repeated(&short, LONG / 50)?;
    let done = measured(&long, &short, &folder);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn measured(long: &Path, short: &Path, folder: &Path) -> Result<String> {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..3 {
        let start = Instant::now();
        let mut buffer = Vec::new();
        File::open(long)?.read_to_end(&mut buffer)?;
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        drop(buffer);
        let out = File::create(folder.join("one.txt"))?;
        let start = Instant::now();
        let status = perfset().args(["get", ONE, "--log"]).arg(long).stdout(out).status()?;
        best[1] = best[1].min(start.elapsed().as_secs_f64());
        ensure!(status.success(), "get: {status}");
    }
    let [read, get] = best;
    let start = Instant::now();
    let (of_long, lines) = relog(long, &folder.join("long.csv"))?;
    let took = start.elapsed().as_secs_f64();
    let (of_short, _) = relog(short, &folder.join("short.csv"))?;
    ensure!(lines * 10 >= 10_000_000, "{lines} samples of ten values");
    ensure!(
        of_long < of_short + 2_048,
        "relog of a log 50 times as long takes {of_long} KiB, of the short one {of_short} KiB"
    );
    Ok(format!(
        ": one counter {get:.2} s, {:.2} x reading the file once; relog of {} values {took:.1} s in {:.1} MiB",
        get / read,
        lines * 10,
        of_long as f64 / 1_024.0
    ))
}

/// Converts a log with `relog`; returns its peak memory in KiB, and the number of written samples.
fn relog(log: &Path, csv: &Path) -> Result<(u64, usize)> {
    let mut child = perfset().arg("relog").arg(log).arg("-o").arg(csv).stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak =
            text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next()?.parse().ok());
        most = most.max(peak.unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        sleep(Duration::from_millis(20));
    };
    ensure!(ended.success() && most > 0, "relog: {ended}, {most} KiB");
    let mut lines = 0;
    let mut file = File::open(csv)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            len => lines += piece[..len].iter().filter(|byte| **byte == b'\n').count(),
        }
    }
    Ok((most, lines - 1))
}

/// Measures time and memory for one counter of a log with 100,000 columns, as esxtop writes them. Whatever else reads
/// such a log takes no longer for a column than of a log with a quarter of the columns. The same applies to a log of
/// many machines, each with one column.
pub fn wide() -> Result<String> {
    const COLUMNS: usize = 100_000;
    const MACHINES: usize = 8_000;
    const GOAL: (f64, f64) = (1.0, 100.0);
    // About 10 kB a machine, each of which has a query of its own; it must grow no faster than their number.
    const MACHINES_MB: f64 = 110.0;
    /// Maximum time in seconds for one counter of the wide log. It is above the goal because a busy machine takes
    /// longer; twice as much work for each column would take far longer.
    const LIMIT: f64 = 3.0;
    let folder = Folder::new("wide-log")?;
    let [few, many] = [COLUMNS / 4, COLUMNS].map(|columns| folder.0.join(format!("{columns}.csv")));
    columns(&few, COLUMNS / 4, false)?;
    columns(&many, COLUMNS, false)?;
    let get = |log: &Path| {
        let mut get = perfset();
        get.args(["get", r"\Group Cpu(5:vm)\% Used", "--log"]).arg(log);
        timed(get)
    };
    let (mut seconds, mut mb) = (f64::INFINITY, 0.0_f64);
    for _ in 0..5 {
        let (took, mib) = get(&many)?;
        (seconds, mb) = (seconds.min(took), mb.max(mib * 1.048_576));
        if seconds <= GOAL.0 {
            break;
        }
    }
    ensure!(seconds <= LIMIT, "it takes {seconds:.2} s");
    ensure!(mb <= GOAL.1, "it takes {mb:.0} MB");
    let met = if seconds <= GOAL.0 { "met" } else { "missed" };
    let all = r"\Group Cpu(*)\*";
    let [csv, json, db, svg] = ["csv", "json", "db", "svg"]
        .map(|ending| folder.0.join(format!("out.{ending}")).display().to_string());
    let mut slowest = (0.0, String::new());
    let written = [&csv, &json, &db].map(|file| vec!["relog", "LOG", "--force", "-o", file]);
    let written = written.map(|args| args.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let of_all = [
        vec!["get", all, "--format", "csv", "--log", "LOG"],
        vec!["list", "--log", "LOG"],
        vec!["instances", "Group Cpu", "--log", "LOG"],
        vec!["log", "info", "LOG"],
        vec!["plot", all, "--force", "-o", &svg, "--log", "LOG"],
    ];
    let of_all = of_all.map(|args| args.into_iter().map(str::to_owned).collect::<Vec<_>>());
    for args in of_all.iter().chain(&written) {
        let growth = growth(args, [&few, &many])?;
        if growth > slowest.0 {
            slowest = (growth, args.iter().take(2).cloned().collect::<Vec<_>>().join(" "));
        }
    }
    let [few, many] =
        [MACHINES / 4, MACHINES].map(|machines| folder.0.join(format!("{machines}-machines.csv")));
    columns(&few, MACHINES / 4, true)?;
    columns(&many, MACHINES, true)?;
    let mut relog = perfset();
    relog.arg("relog").arg(&many).args(["--force", "-o", &csv]);
    let (machines_seconds, mib) = timed(relog)?;
    let machines_mb = mib * 1.048_576;
    ensure!(
        std::fs::read(&csv)? == std::fs::read(&many)?,
        "relog of {MACHINES} machines writes the same log"
    );
    ensure!(machines_seconds <= LIMIT, "{MACHINES} machines take {machines_seconds:.2} s");
    ensure!(machines_mb <= MACHINES_MB, "{MACHINES} machines take {machines_mb:.0} MB");
    let list = ["relog", "LOG", "--list"].map(str::to_owned).to_vec();
    let info = ["log", "info", "LOG"].map(str::to_owned).to_vec();
    let mut of_machines = 0.0_f64;
    for args in written.iter().chain([&list, &info]) {
        of_machines = of_machines.max(growth(args, [&few, &many])?);
    }
    Ok(format!(
        ": {seconds:.2} s in {mb:.0} MB, goal 1 s and 100 MB {met}; four times the columns take {:.1} times as long at \
         most ({}); relog of {MACHINES} machines {machines_seconds:.2} s in {machines_mb:.0} MB, four times the \
         machines {of_machines:.1} times as long at most",
        slowest.0, slowest.1
    ))
}

/// Returns the ratio of the times that a command takes for a log with four times as many columns. `LOG` stands for
/// the log.
fn growth(args: &[String], [few, many]: [&PathBuf; 2]) -> Result<f64> {
    let of = |log: &PathBuf| {
        let log = log.display().to_string();
        let mut command = perfset();
        command.args(args.iter().map(|arg| if arg == "LOG" { &log } else { arg }));
        Ok::<_, anyhow::Error>(timed(command)?.0)
    };
    // Starting takes the same for both.
    let growth = of(many)? / (of(few)? + 0.02);
    ensure!(growth <= 8.0, "{args:?}: four times the columns take {growth:.1} times as long");
    Ok(growth)
}

/// Writes a wide log with three samples and `columns` instances of a counter, of one machine or of a machine each.
fn columns(path: &Path, columns: usize, has_machines: bool) -> Result<()> {
    let mut out = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    write!(out, "\"(PDH-CSV 4.0) (UTC)(0)\"")?;
    for column in 0..columns {
        let machine = if has_machines { format!("HOST{column:06}") } else { "HOST".to_owned() };
        write!(out, ",\"\\\\{machine}\\Group Cpu({column}:vm)\\% Used\"")?;
    }
    for second in 0..3 {
        write!(out, "\r\n\"11/05/2026 10:00:{second:02}.000\"")?;
        for column in 0..columns {
            write!(out, ",\"{}.5\"", column % 1_000 + second)?;
        }
    }
    write!(out, "\r\n")?;
    Ok(out.flush()?)
}

/// Runs a command, and returns its time in seconds and its maximum own memory in MiB. Returns its seconds and the
/// most memory of its own in MiB: pages of its program's file are not, and a first build, which is not optimized
/// everywhere, has more of them than a package.
fn timed(mut command: Command) -> Result<(f64, f64)> {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0_u64;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let own = text
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:")?.trim().split(' ').next()?.parse().ok());
        most = most.max(own.unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        sleep(Duration::from_millis(2));
    };
    let seconds = started.elapsed().as_secs_f64();
    ensure!(ended.success() && most > 0, "{command:?}: {ended}, {most} KiB");
    Ok((seconds, most as f64 / 1_024.0))
}

/// Writes a binary log of `len` bytes: the beginning of a real log, then its samples again and again.
fn repeated(path: &PathBuf, len: u64) -> Result<()> {
    const BUFFER: usize = 64 << 10;
    let real = std::fs::read(root().join("testdata/logs/BasicPerfCounters.blg"))?;
    let mut out = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    let (head, samples) = real.split_at(2 * BUFFER);
    out.write_all(head)?;
    let mut written = head.len() as u64;
    while written < len {
        out.write_all(samples)?;
        written += samples.len() as u64;
    }
    Ok(out.flush()?)
}

/// Checks that Python's csv and sqlite3 read the output of relog, and that a calculation in Python from the independent
/// decoder's table agrees.
pub fn python() -> Result<String> {
    let [csv, db] = ["live-log.csv", "live-log.db"].map(|name| target().join(name));
    let log = root().join("testdata/logs/BasicPerfCounters.blg");
    for file in [&csv, &db] {
        finished(perfset().arg("relog").arg(&log).arg("--force").arg("-o").arg(file).output()?)?;
    }
    let mut script = Command::new("python3");
    script.arg(root().join("xtask/src/live/log_values.py")).arg(&csv);
    script.arg(root().join("testdata/logs/BasicPerfCounters.raw.tsv.gz")).arg(&db);
    let text = finished(script.output()?)?;
    for file in [csv, db] {
        std::fs::remove_file(file)?;
    }
    Ok(format!(": {}", text.trim()))
}
