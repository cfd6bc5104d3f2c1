//! Check of `_Total` of the process countersets while a build begins and ends many short processes, beside
//! `/proc/stat`.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::owned::{Folder, Running};
use super::{finished, proc, record};

/// Largest allowed difference from `/proc/stat`, in percentage points for each processor of the machine.
const POINTS: f64 = 2.0;
/// Share of a second that a clock tick of 10 ms is, in percentage points: the kernel's count of a single second is
/// that coarse.
const TICK: f64 = 1.0;

/// Checks `_Total` − Idle of the processes against the processors' busy time, for each way of reading processes.
///
/// The processors are kept busy by a build, because its compilers live shorter than an interval: a sum over running
/// processes loses what these used.
pub fn check(full: bool) -> Result<String> {
    // One a second.
    let samples: usize = if full { 60 } else { 30 };
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
        let more = ["1", &samples.to_string(), "--process-source", source];
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
        let worst =
            compare(&lines, (paths.len(), samples), cpus, &busy).with_context(|| format!("from {source}"))?;
        figures.push(format!("{source} {worst:.2}"));
    }
    let mean = busy.between(busy.first, busy.last).map_or(f64::NAN, |counted| counted.busy * 100.0);
    ensure!(
        mean > 80.0 * cpus,
        "the load is not seen: the processors were busy {mean:.0} % of {cpus} x 100 %"
    );
    Ok(format!(": at most {} points per processor from /proc/stat, {mean:.0} % busy", figures.join(", ")))
}

/// Line of `perfset get` about one value, with the fields that the check of totals needs.
#[derive(Deserialize)]
struct Line {
    time: String,
    path: String,
    value: Option<f64>,
    status: String,
    mark: Option<String>,
}

/// Returns the largest difference of the processes' `_Total`, and of `_Total` − Idle, from `/proc/stat`, in points
/// per processor.
fn compare(lines: &str, (paths, samples): (usize, usize), cpus: f64, busy: &Busy) -> Result<f64> {
    let lines: Vec<Line> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(lines.len() == paths * samples, "{} values are printed, not {paths} x {samples}", lines.len());
    let (mut worst, mut sum) = (0.0_f64, 0.0);
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
        sum += all;
        ensure!((all - view).abs() < 1e-6, "_Total of Process V2 is {all} %, of Process {view} %");
        let halves = user + privileged;
        ensure!(
            (all - halves).abs() <= POINTS * cpus,
            "user and privileged time are {halves:.1} % of {all:.1} %"
        );
        let now = seconds(&sample.first().context("no line")?.time)?;
        if let Some(counted) = before.and_then(|before| busy.between(before, now)) {
            // The kernel counts at ticks of 10 ms, and rounds the time of each state to them: in a second,
            // /proc/stat may count more than the processors have, or less if a virtual processor did not run at
            // a tick. So only the share of its busy ticks is compared; the time of all processors is known.
            let busy_of_cpus = counted.busy / counted.all * cpus;
            let pairs = [("_Total", all, cpus), ("_Total - Idle", all - idle, busy_of_cpus)];
            for (what, value, expected) in pairs {
                let difference = (value - expected * 100.0).abs() / cpus;
                worst = worst.max(difference);
                ensure!(
                    difference <= POINTS + TICK,
                    "{}: {what} is {value:.1} %, by /proc/stat {:.1} %",
                    sample.first().map(|line| line.time.as_str()).unwrap_or_default(),
                    expected * 100.0
                );
            }
        }
        before = Some(now);
    }
    // In a single second the kernel, which counts at ticks, is a few of them before or behind its clock.
    let mean = sum / samples as f64;
    ensure!((mean - cpus * 100.0).abs() <= POINTS * cpus, "_Total is {mean:.1} % with {cpus} processors");
    Ok(worst)
}

/// Converts a time that `perfset get` printed to seconds since 1970.
pub fn seconds(time: &str) -> Result<f64> {
    let parsed: jiff::Timestamp = time.parse().with_context(|| format!("not a time: {time}"))?;
    Ok(parsed.as_millisecond() as f64 / 1e3)
}

/// Build that keeps every processor busy with one compiler after another, until it is dropped.
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
    thread: JoinHandle<Result<Vec<(f64, Counted)>>>,
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
                    all.push((before.as_secs_f64(), Counted::parse(&text)?));
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

/// Time of all processors together: seconds since boot, or processors in use between two readings.
#[derive(Clone, Copy)]
struct Counted {
    /// Time of the processors in any state. Guest times are left out, because user time includes them.
    all: f64,
    /// Time of the processors in any state except idle and iowait.
    busy: f64,
}

impl Counted {
    fn parse(stat: &str) -> Result<Self> {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = line.split_whitespace().skip(1).map_while(|n| n.parse().ok()).take(8).collect();
        let [_, _, _, idle, iowait, _, _, _] = ticks[..] else {
            bail!("/proc/stat has {} columns", ticks.len());
        };
        let all: f64 = ticks.iter().sum();
        Ok(Self { all: all / 100.0, busy: (all - idle - iowait) / 100.0 })
    }

    /// Interpolates between this processor time and a later one, with 0 and 1 as the ends of `share`.
    fn towards(self, other: Self, share: f64) -> Self {
        let between = |a: f64, b: f64| a + (b - a) * share;
        Self { all: between(self.all, other.all), busy: between(self.busy, other.busy) }
    }
}

/// Processor times at each reading of `/proc/stat` during a check.
struct Busy {
    readings: Vec<(f64, Counted)>,
    first: f64,
    last: f64,
}

impl Busy {
    /// Returns the mean number of busy processors between two times; `None` outside the readings.
    fn between(&self, from: f64, to: f64) -> Option<Counted> {
        let (then, now) = (self.at(from)?, self.at(to)?);
        let mean = |then, now| (now - then) / (to - from);
        Some(Counted { all: mean(then.all, now.all), busy: mean(then.busy, now.busy) })
    }

    /// Returns the processor times at a time, interpolated between the two nearest readings.
    fn at(&self, time: f64) -> Option<Counted> {
        let after = self.readings.partition_point(|(at, _)| *at <= time);
        let (at, counted) = *self.readings.get(after.checked_sub(1)?)?;
        let (next_at, next) = *self.readings.get(after).unwrap_or(&(at, counted));
        let share = if next_at <= at { 0.0 } else { (time - at) / (next_at - at) };
        Some(counted.towards(next, share))
    }
}
