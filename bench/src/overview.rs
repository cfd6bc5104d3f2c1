//! Bench of the overview of a machine: its collections, rankings and findings, beside a collection of Process V2
//! alone.

use std::fmt::{self, Display};
use std::fs::{self, DirBuilder};
use std::io::{copy, sink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use perfset::overview::Overview;
use perfset_linux::ProcessSource;
use rustix::process::geteuid;

use crate::collect::machine_by;
use crate::command;
use crate::measure::{Comparison, Report};
use crate::process::collectors::Perfset;
use crate::process::nursery::{Nursery, Who};
use crate::process::processes;
use crate::{Options, Out};

/// Number of processes of an ordinary machine; the next constant is that of its control groups.
const FEW: usize = 300;
const GROUPS: usize = 100;

/// Goal: the maximum CPU time of a sample of the overview, in ns: 3 ms a second.
const GOAL_NS: f64 = 3e6;

/// Goal: the maximum cost of an overview of many processes, in multiples of a collection of these processes.
const GOAL: f64 = 1.3;

/// Number of rows of each list in the overview, as on a terminal.
const LISTED: usize = 40;

/// Number of samples over which the overview spreads the reading of process files, and in one of which it reads
/// costly control groups.
const TURNS: usize = 10;

/// Measures the overview of an ordinary machine, and of a machine with very many processes.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    let groups = Groups::make(GROUPS)?;
    let nursery = Nursery::start(FEW)?;
    out(&of_few(&nursery, &groups, options.rounds)?)?;
    out(&CommandCost::measure(&nursery)?)?;
    nursery.check()?;
    drop(groups);
    let nursery = Nursery::start(options.processes)?;
    out(&of_many(&nursery, options.rounds)?)?;
    nursery.check()
}

fn of_few(nursery: &Nursery, groups: &Groups, rounds: usize) -> Result<Report> {
    let (mut alone, mut overview) = (Perfset::new(2, ProcessSource::Gate)?, open(ProcessSource::Gate)?);
    let (processes, groups) = (processes()?, groups.count);
    let title = format!("overview: {processes} processes, 5 % ran before each; {groups} control groups more");
    let comparison = Comparison::new(title, 1)
        .per("sample")
        .variant(COLLECT, || alone.collect().unwrap_or(0))
        .before(|| nursery.let_run(Who::OneInTwenty))
        .at_least(TURNS)
        .reference("collect")
        .variant(SAMPLE, || sample(&mut overview))
        .before(|| nursery.let_run(Who::OneInTwenty))
        .at_least(TURNS)
        .ns_goal(GOAL_NS);
    Ok(comparison.run(rounds))
}

fn of_many(nursery: &Nursery, rounds: usize) -> Result<Report> {
    let (mut alone, mut overview) = (Perfset::new(2, ProcessSource::Bpf)?, open(ProcessSource::Bpf)?);
    let processes = processes()?;
    let title = format!("overview: {processes} processes by BPF, 5 % ran before each");
    let comparison = Comparison::new(title, processes)
        .per("process")
        .variant(COLLECT, || alone.collect().unwrap_or(0))
        .before(|| nursery.let_run(Who::OneInTwenty))
        .reference("collect")
        .variant(SAMPLE, || sample(&mut overview))
        .before(|| nursery.let_run(Who::OneInTwenty))
        .goal("collect", GOAL);
    Ok(comparison.run(rounds))
}

const COLLECT: &str = "Query::collect, 18 counters of Process V2 (floor)";
const SAMPLE: &str = "Overview::collect and state";

/// Opens the overview of a machine, and collects until its rates have values.
fn open(source: ProcessSource) -> Result<Overview> {
    let mut overview = Overview::open(&mut machine_by(source))?;
    for _ in 0..3 {
        overview.collect()?;
    }
    let state = overview.state(LISTED);
    ensure!(state.process_count.is_ok() && state.processors.busy.is_ok(), "the overview has no values");
    Ok(overview)
}

/// Collects one sample of the overview, and returns the number of processes, findings and groups in it.
fn sample(overview: &mut Overview) -> u64 {
    if overview.collect().is_err() {
        return 0;
    }
    let state = overview.state(LISTED);
    (state.processes.len() + state.findings.len() + state.groups_by_memory.len()) as u64
}

/// Control groups of a bench that are removed when this value is dropped.
#[derive(Debug)]
struct Groups {
    folders: Vec<PathBuf>,
    /// Number of created control groups; 0 if the kernel's file system of groups cannot be written.
    count: usize,
}

impl Groups {
    /// Creates that many control groups, in version 2, or in the hierarchies `cpuacct` and `memory` of version 1.
    fn make(count: usize) -> Result<Self> {
        let mount = Path::new("/sys/fs/cgroup");
        let hierarchies = match mount.join("cgroup.controllers").exists() {
            true => vec![mount.to_owned()],
            false => ["cpuacct", "memory"].map(|name| mount.join(name)).to_vec(),
        };
        let mut groups = Self { folders: Vec::new(), count: 0 };
        for hierarchy in hierarchies {
            let folder = hierarchy.join(format!("perfset-bench-{}", std::process::id()));
            if DirBuilder::new().create(&folder).is_err() {
                return Ok(groups); // the title says so
            }
            groups.folders.push(folder.clone());
            for number in 0..count {
                let group = folder.join(number.to_string());
                DirBuilder::new().create(&group).with_context(|| group.display().to_string())?;
                groups.folders.push(group);
            }
        }
        groups.count = count;
        Ok(groups)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder); // nothing can be done about it
        }
    }
}

/// Cost of a sample of the `perfset` command, which also draws and prints.
#[derive(Debug)]
struct CommandCost {
    user: &'static str,
    /// CPU time of one sample of the command, in ms.
    ms: f64,
}

impl CommandCost {
    /// Runs the `perfset` command as an ordinary user three times, and takes the median cost of a sample.
    fn measure(nursery: &Nursery) -> Result<Self> {
        /// Number of samples in the short run of the command, and number of further samples of the long run.
        const SHORT: u32 = 20;
        const MORE: u32 = 100;
        let mut samples = Vec::new();
        for _ in 0..3 {
            let short = cpu_ms(nursery, SHORT)?;
            samples.push((cpu_ms(nursery, SHORT + MORE)? - short) / f64::from(MORE));
        }
        samples.sort_by(f64::total_cmp);
        let user = if geteuid().is_root() { "nobody" } else { "this user" };
        Ok(Self { user, ms: samples[samples.len() / 2] })
    }
}

impl Display for CommandCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, ms } = self;
        let goal = GOAL_NS / 1e6;
        let met = if *ms <= goal { "met" } else { "MISSED" };
        writeln!(
            f,
            "overview: the command as {user}, ten samples a second into a pipe, on the same machine"
        )?;
        writeln!(f, "  CPU time of a sample {ms:.3} ms (goal {goal}: {met})")
    }
}

/// Returns the CPU time of the `perfset` command for that many samples, in ms; one in twenty processes runs before
/// each.
fn cpu_ms(nursery: &Nursery, samples: u32) -> Result<f64> {
    const NOBODY: u32 = 65_534;
    let program = command::path();
    let mut command = Command::new(&program);
    command.args(["100ms", &samples.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let before = children_ms()?;
    let mut child = command.spawn().with_context(|| format!("{}: build it first", program.display()))?;
    let mut text = child.stdout.take().context("it has no output")?;
    let reader = spawn(move || copy(&mut text, &mut sink()));
    while child.try_wait()?.is_none() {
        nursery.let_run(Who::OneInTwenty);
        sleep(Duration::from_millis(90));
    }
    let len = reader.join().ok().context("the reader panicked")??;
    ensure!(len > u64::from(samples) * 500, "it printed {len} bytes only");
    Ok(children_ms()? - before)
}

/// Returns the CPU time of all ended child processes, in ms.
fn children_ms() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let ms = |time: TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    Ok(ms(usage.user_time()) + ms(usage.system_time()))
}
