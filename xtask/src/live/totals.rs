//! `_Total` of the process sets while a build begins and ends many short processes, beside `/proc/stat`.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::owned::{Folder, Running};
use super::{finished, proc, record};

/// Number of samples, one a second.
const SAMPLES: usize = 60;
/// Largest difference from `/proc/stat`, in points of % per processor.
const POINTS: f64 = 2.0;

/// Compares `_Total` − Idle with the processors' busy time, for each way of reading processes that the check names.
///
/// The processors are kept busy by a build, because its compilers live shorter than an interval: a sum over running
/// processes loses what these used.
pub fn check() -> Result<String> {
    let cpus = proc::cpus()?;
    let build = Build::start(cpus)?;
    let reference = BusyTime::start();
    sleep(Duration::from_secs(1));
    let paths = [
        r"\Process V2(_Total)\% Processor Time",
        r"\Process V2(Idle:0)\% Processor Time",
        r"\Process V2(_Total)\% User Time",
        r"\Process V2(_Total)\% Privileged Time",
        r"\Process V2(_Total)\Page Faults/sec",
        r"\Process V2(_Total)\IO Data Bytes/sec",
        r"\Linux Process(_Total)\Storage Write Bytes/sec",
        r"\Process(_Total)\% Processor Time",
    ];
    let sources = ["gate", "proc", "bpf"];
    let mut running = Vec::new();
    for source in sources {
        let more = ["1", &SAMPLES.to_string(), "--process-source", source];
        let command = record::command(&paths, &more).spawn();
        let child = command.context("cannot start perfset")?;
        // All are read at once: one whose pipe is full would stop and go on after the load has ended.
        running.push((source, spawn(move || child.wait_with_output())));
    }
    let mut printed = Vec::new();
    for (source, output) in running {
        printed.push((source, finished(output.join().ok().context("a reader panicked")??)?));
    }
    let busy = reference.finish()?;
    drop(build);
    let mut figures = Vec::new();
    for (source, lines) in printed {
        let worst = compare(&lines, paths.len(), cpus, &busy).with_context(|| format!("from {source}"))?;
        figures.push(format!("{source} {worst:.2}"));
    }
    let mean = busy.between(busy.first, busy.last).unwrap_or(f64::NAN) * 100.0;
    ensure!(
        mean > 80.0 * cpus,
        "the load is not seen: the processors were busy {mean:.0} % of {cpus} x 100 %"
    );
    Ok(format!(": at most {} points per processor from /proc/stat, {mean:.0} % busy", figures.join(", ")))
}

/// Fields of a printed value that this check needs.
#[derive(Deserialize)]
struct Line {
    time: String,
    path: String,
    value: Option<f64>,
    status: String,
    mark: Option<String>,
}

/// Returns the largest difference between `_Total` − Idle and the busy time, in points per processor.
fn compare(lines: &str, paths: usize, cpus: f64, busy: &Busy) -> Result<f64> {
    let lines: Vec<Line> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(lines.len() == paths * SAMPLES, "{} values are printed, not {paths} x {SAMPLES}", lines.len());
    let mut worst: f64 = 0.0;
    let mut before = None;
    for sample in lines.chunks(paths) {
        for line in sample {
            ensure!(line.status == "ok", "{}: {} is {}", line.time, line.path, line.status);
            // Root may read every process, so a part is missing only of one that ended meanwhile.
            let is_whole = !matches!(line.mark.as_deref(), Some("stale"));
            ensure!(is_whole, "{}: {} is marked {:?}", line.time, line.path, line.mark);
        }
        let value = |at: usize| sample.get(at).and_then(|line: &Line| line.value).context("no such value");
        let (all, idle, user, privileged) = (value(0)?, value(1)?, value(2)?, value(3)?);
        let view = value(7)?;
        ensure!((all - cpus * 100.0).abs() <= POINTS * cpus, "_Total is {all:.1} % with {cpus} processors");
        ensure!((all - view).abs() < 1e-6, "_Total of Process V2 is {all} %, of Process {view} %");
        let halves = user + privileged;
        ensure!(
            (all - halves).abs() <= POINTS * cpus,
            "user and privileged time are {halves:.1} % of {all:.1} %"
        );
        let now = seconds(&sample.first().context("no line")?.time)?;
        if let Some(expected) = before.and_then(|before| busy.between(before, now)) {
            let difference = (all - idle - expected * 100.0).abs() / cpus;
            worst = worst.max(difference);
            ensure!(
                difference <= POINTS,
                "{}: _Total - Idle is {:.1} %, the processors are busy {:.1} %",
                sample.first().map(|line| line.time.as_str()).unwrap_or_default(),
                all - idle,
                expected * 100.0
            );
        }
        before = Some(now);
    }
    Ok(worst)
}

/// Converts a printed time to seconds since 1970.
pub fn seconds(time: &str) -> Result<f64> {
    let parsed: jiff::Timestamp = time.parse().with_context(|| format!("not a time: {time}"))?;
    Ok(parsed.as_millisecond() as f64 / 1e3)
}

/// An endless build on every processor: one compiler after another.
struct Build {
    _makers: Vec<Running>,
    _folder: Folder,
}

impl Build {
    fn start(cpus: f64) -> Result<Self> {
        let folder = Folder::in_memory("build")?;
        let lines =
            (0..400).map(|n| format!("int f{n}(int a, int b) {{ return a * {n} + (b ^ (a >> 3)); }}\n"));
        std::fs::write(folder.0.join("unit.c"), lines.collect::<String>())?;
        let mut makers = Vec::new();
        for maker in 0..cpus as usize {
            // It ends by itself, should the check be killed.
            let script = format!("for i in $(seq 5000); do cc -O2 -c unit.c -o {maker}.o || exit; done");
            let mut shell = Command::new("timeout");
            shell.args(["120", "sh", "-c", &script]).current_dir(&folder.0).stdin(Stdio::null());
            makers.push(Running(shell.spawn().context("cannot start timeout")?));
        }
        Ok(Self { _makers: makers, _folder: folder })
    }
}

/// Thread that reads `/proc/stat` every 20 ms until [`BusyTime::finish`].
struct BusyTime {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<(f64, f64)>>>,
}

impl BusyTime {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let read = move || {
            let mut all = Vec::new();
            while !until.load(Relaxed) {
                let before = SystemTime::now().duration_since(UNIX_EPOCH)?;
                let text = std::fs::read_to_string("/proc/stat")?;
                let after = SystemTime::now().duration_since(UNIX_EPOCH)?;
                // A reading that another process interrupted has no known time.
                if after.saturating_sub(before) < Duration::from_millis(5) {
                    all.push((before.as_secs_f64(), busy_seconds(&text)?));
                }
                sleep(Duration::from_millis(20));
            }
            Ok(all)
        };
        Self { stop, thread: spawn(read) }
    }

    fn finish(self) -> Result<Busy> {
        self.stop.store(true, Relaxed);
        let readings = self.thread.join().ok().context("the reader of /proc/stat panicked")??;
        let first = readings.first().context("/proc/stat was never read")?.0;
        let last = readings.last().context("/proc/stat was never read")?.0;
        Ok(Busy { readings, first, last })
    }
}

/// Busy seconds of all processors together: every column of `cpu` except idle, iowait, and guest times, which user
/// time includes.
fn busy_seconds(stat: &str) -> Result<f64> {
    let ticks: Vec<f64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .map_while(|n| n.parse().ok())
        .collect();
    ensure!(ticks.len() >= 8, "/proc/stat has {} columns", ticks.len());
    let columns = [0, 1, 2, 5, 6, 7];
    let busy: f64 = columns.iter().filter_map(|at| ticks.get(*at)).sum();
    Ok(busy / 100.0)
}

/// Busy time at each reading.
struct Busy {
    readings: Vec<(f64, f64)>,
    first: f64,
    last: f64,
}

impl Busy {
    /// Returns the mean number of busy processors between two times, `None` outside the readings.
    fn between(&self, from: f64, to: f64) -> Option<f64> {
        Some((self.at(to)? - self.at(from)?) / (to - from))
    }

    /// Returns the busy seconds at a time, interpolated between the two nearest readings.
    fn at(&self, time: f64) -> Option<f64> {
        let after = self.readings.partition_point(|(at, _)| *at <= time);
        let (at, busy) = *self.readings.get(after.checked_sub(1)?)?;
        let (next_at, next_busy) = *self.readings.get(after).unwrap_or(&(at, busy));
        if next_at <= at {
            return Some(busy);
        }
        Some(busy + (next_busy - busy) * (time - at) / (next_at - at))
    }
}
