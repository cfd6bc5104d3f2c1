//! Bench of the command `perfset record` on this machine: its memory, its end, and its bytes beside those of `atop
//! -w`.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::folder::{TemporaryFolder, length};
use crate::Out;
use crate::command;
use crate::process::nursery::{Nursery, Who};
use crate::process::processes;

/// Number of processes that the bench adds to those of the machine.
const MORE: usize = 400;
/// Number of samples in the slow run of the recorder; the next constant is that of the fast run.
const SLOW: u32 = 60;
const FAST: u32 = 295;

/// Goal: the maximum resident memory of the recorder, in MB.
const MEMORY_GOAL: f64 = 16.0;
/// Goal: the maximum time that the recorder takes to end.
const STOP_GOAL: Duration = Duration::from_millis(100);
/// Goal: the maximum size of the recording, in multiples of the file of `atop -w`.
const ATOP_GOAL: f64 = 0.25;

/// Fails if `perfset` or `atop` is missing, before anything is measured.
pub fn check_programs() -> Result<()> {
    let program = command::path();
    ensure!(program.exists(), "{}: build it first", program.display());
    let atop = Command::new("atop").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    atop.map(drop).context("atop is a Debian package: apt-get install atop")
}

/// Measures the recorder beside atop with a sample a second, then with ten samples a second for as long as a file has
/// samples. Passes the directory of the first run to `recorded`.
pub fn reports(out: Out<'_>, recorded: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let nursery = Nursery::start(MORE)?;
    let folder = TemporaryFolder::new("recorder")?;
    let beside = TemporaryFolder::new("atop")?;
    let file = beside.path().join("atop.raw");
    let seconds = SLOW.to_string();
    let mut command = Command::new("atop");
    let atop = command.arg("-w").arg(&file).args(["1", &seconds]).stdout(Stdio::null());
    let mut atop = Running(atop.spawn().context("atop")?);
    let slow = Run::measure(folder.path(), Duration::from_secs(1), SLOW, &nursery)?;
    let ended = atop.wait(Duration::from_secs(10))?;
    ensure!(ended.success(), "atop has failed: {ended}");
    let atop = length(beside.path())?;
    let bytes = (length(folder.path())?, atop);
    recorded(folder.path())?;
    let folder = TemporaryFolder::new("recorder")?;
    let fast = Run::measure(folder.path(), Duration::from_millis(100), FAST, &nursery)?;
    out(&Recorder { processes: processes()?, runs: [slow, fast], bytes })?;
    nursery.check()
}

/// Child process of a bench that is killed if it still runs when this value is dropped.
#[derive(Debug)]
struct Running(Child);

impl Running {
    /// Waits until the child process ends by itself, at most for the time `longest`.
    fn wait(&mut self, longest: Duration) -> Result<ExitStatus> {
        let begin = Instant::now();
        while begin.elapsed() < longest {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            sleep(Duration::from_millis(1));
        }
        bail!("a program does not end")
    }

    /// Returns the current and the maximum resident memory of the child process in KiB; `None` if it has ended.
    fn memory(&self) -> Option<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let kib = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        Some((kib("VmRSS:")?, kib("VmHWM:")?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it has ended already
        let _ = self.0.wait();
    }
}

/// Measured run of the recorder with one interval.
#[derive(Debug)]
struct Run {
    interval: Duration,
    samples: u32,
    /// Resident memory of the recorder before its end, and the maximum until its end, in KiB.
    memory: (u64, u64),
    stop: Duration,
}

impl Run {
    fn measure(folder: &Path, interval: Duration, samples: u32, nursery: &Nursery) -> Result<Self> {
        let program = command::path();
        let mut command = Command::new(&program);
        command.arg("record").arg("--dir").arg(folder).arg(format!("{}ms", interval.as_millis()));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut recorder = Running(child.with_context(|| program.display().to_string())?);
        let begin = Instant::now();
        let mut turn = 0_u32;
        while begin.elapsed() < interval * samples {
            // Processes are born and end, four a second, and one in twenty of the others runs each second.
            ensure!(Command::new("true").status()?.success(), "`true` fails");
            if turn % 4 == 0 {
                nursery.let_run(Who::OneInTwenty);
            }
            turn += 1;
            let next = begin + Duration::from_millis(250) * turn;
            sleep(next.saturating_duration_since(Instant::now()));
        }
        let (resident, mut most) = recorder.memory().context("the recorder has ended by itself")?;
        let stop = Instant::now();
        kill(Pid::from_raw(i32::try_from(recorder.0.id())?), Signal::SIGTERM)?;
        let status = loop {
            if let Some((_, peak)) = recorder.memory() {
                most = most.max(peak);
            }
            if let Some(status) = recorder.0.try_wait()? {
                break status;
            }
            ensure!(stop.elapsed() < Duration::from_secs(20), "the recorder does not end");
            sleep(Duration::from_micros(500));
        };
        let stop = stop.elapsed();
        ensure!(status.success(), "the recorder has failed: {status}");
        Ok(Self { interval, samples, memory: (resident, most), stop })
    }
}

/// Results of both runs of the recorder, and the sizes of the first recording and of atop's file.
#[derive(Debug)]
struct Recorder {
    processes: usize,
    runs: [Run; 2],
    bytes: (u64, u64),
}

impl Display for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let met = |is_met: bool| if is_met { "met" } else { "MISSED" };
        writeln!(
            f,
            "recording: `perfset record`, everything of this machine with {} processes",
            self.processes
        )?;
        for Run { interval, samples, memory, stop } in &self.runs {
            let mb = |kib: u64| kib as f64 * 1.024e-3;
            let (resident, most) = (mb(memory.0), mb(memory.1));
            writeln!(
                f,
                "  {samples} samples, one each {interval:?}: resident memory {resident:.1} MB, at most {most:.1} MB \
                 (goal {MEMORY_GOAL}: {}); time to end {:.0} ms (goal {:.0}: {})",
                met(most <= MEMORY_GOAL),
                stop.as_secs_f64() * 1e3,
                STOP_GOAL.as_secs_f64() * 1e3,
                met(*stop <= STOP_GOAL)
            )?;
        }
        let (ours, atop) = self.bytes;
        let ratio = ours as f64 / atop as f64;
        writeln!(
            f,
            "  {SLOW} seconds: {:.0} kB, and {:.0} kB of `atop -w`: {ratio:.3} x atop (goal {ATOP_GOAL}: {})",
            ours as f64 / 1e3,
            atop as f64 / 1e3,
            met(ratio <= ATOP_GOAL)
        )
    }
}
