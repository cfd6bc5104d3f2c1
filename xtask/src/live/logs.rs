//! Logs: a long one at the pace of its bytes and in little memory, and what Python's csv makes of ours.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{finished, perfset};
use crate::repository::{root, target};

/// Bytes that make ten million values of the log that is repeated.
const LONG: u64 = 550 << 20;
const ONE: &str = r"\PhysicalDisk(0 C:)\Avg. Disk Queue Length";

/// `get --log` of one counter beside reading the file once, `relog` of ten million values in bounded memory.
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

/// Writes a log anew; the most memory that it took in KiB, and how many samples were written.
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

/// The real log's beginning, then its samples again and again.
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

/// Python's csv and sqlite3 read what relog writes, and a calculation in Python from the independent decoder's table
/// agrees.
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
