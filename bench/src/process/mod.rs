//! Bench of collections of Process V2 on a machine of many processes, beside bare readings and the crates procfs and
//! sysinfo.

pub mod collectors;
mod floor;
pub mod memory;
pub mod nursery;
pub mod threads;

use std::fmt::{self, Display};

use anyhow::{Context, Result, ensure};
use perfset_linux::ProcessSource;

use crate::measure::{Comparison, Report};
use crate::{Options, Out};
use collectors::{Perfset, Procfs, Sysinfo};
use floor::Floor;
use nursery::{Nursery, Who};

/// Hidden command word for the process that starts the many idle processes of a bench.
pub const NURSERY: &str = "nursery-of";
/// Hidden command word of a process that measures the memory of one collector.
pub const HOLDER: &str = "holder-of";

/// State of the machine: the processes that run between two collections, and goals.
#[derive(Clone, Copy, Debug)]
struct State {
    name: &'static str,
    who: Who,
    /// Goal: the maximum cost of a collection from files in this state, in multiples of the procfs crate.
    goal: Option<f64>,
    /// Goal: the maximum cost of a collection by a walk over the kernel's tasks, the same in all states.
    walk_goal: f64,
}

/// Goal for the walk over the kernel's tasks, in multiples of the procfs crate's cost: a twenty-fifth.
const WALK: f64 = 0.04;

const FEW: State =
    State { name: "5 % have run before each", who: Who::OneInTwenty, goal: Some(0.166), walk_goal: WALK };
const STATES: [State; 3] = [
    FEW,
    State { name: "all have run before each", who: Who::Everybody, goal: Some(0.666), walk_goal: WALK },
    State { name: "none have run", who: Who::Nobody, goal: None, walk_goal: WALK },
];

/// Measures collections of processes in three states of the machine, and memory; or one state with several numbers of
/// processes.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    if options.growth {
        return growth(options.rounds, out);
    }
    out(&start(options.rounds))?;
    let nursery = Nursery::start(options.processes)?;
    for state in STATES {
        out(&report(&nursery, state, options.rounds)?)?;
    }
    out(&memory::report(processes()?)?)?;
    nursery.check()
}

/// Measures the first collection of a new machine, with and without loading a BPF task iterator. Loading reads how the
/// kernel lays out its types, loads the programs, and checks them.
fn start(rounds: usize) -> Report {
    const GOAL_NS: f64 = 50e6;
    Comparison::new("process: the first collection of a new machine".to_owned(), 1)
        .per("start")
        .variant(PERFSET, || Perfset::first(ProcessSource::Gate).unwrap_or(0))
        .variant(WALKED, || Perfset::first(ProcessSource::Bpf).unwrap_or(0))
        .ns_goal(GOAL_NS)
        .run(rounds)
}

fn report(nursery: &Nursery, state: State, rounds: usize) -> Result<Report> {
    let who = state.who;
    let (mut floor, mut procfs) = (Floor::open(who != Who::Everybody)?, Procfs::new(2));
    let (mut sysinfo, mut perfset) = (Sysinfo::new()?, Perfset::new(2, ProcessSource::Gate)?);
    let mut walk = Perfset::new(2, ProcessSource::Bpf)?;
    let processes = processes()?;
    let values = perfset.values()?;
    ensure!(values.count >= processes, "there are {} values only", values.count);
    let title = format!(
        "process: {processes} processes, {}: {} counters of Process V2, {} values",
        state.name,
        collectors::counters().count(),
        values.count,
    );
    let comparison = Comparison::new(title, processes)
        .per("process")
        .variant(FLOOR, || floor.collect().unwrap_or(0))
        .before(|| nursery.let_run(who))
        .reference("floor")
        .variant(PROCFS, || procfs.collect().unwrap_or(0))
        .before(|| nursery.let_run(who))
        .reference("procfs")
        .variant(SYSINFO, || sysinfo.collect())
        .before(|| nursery.let_run(who))
        .reference("sysinfo")
        .variant(PERFSET, || perfset.collect().unwrap_or(0))
        .before(|| nursery.let_run(who))
        .at_least(if who == Who::Everybody { 1 } else { TURNS })
        .goal("procfs", state.goal)
        .variant(WALKED, || walk.collect().unwrap_or(0))
        .before(|| nursery.let_run(who))
        .at_least(if who == Who::Everybody { 1 } else { TURNS })
        .goal("procfs", state.walk_goal);
    Ok(comparison.run(rounds))
}

/// Number of collections over which the provider spreads the reading of files that it does not read every time.
pub const TURNS: usize = 10;

const FLOOR: &str = "getdents, CPU clocks if not all ran, stat, statm, io (floor)";
const PROCFS: &str = "procfs crate: stat, statm, io of all (peer)";
const SYSINFO: &str = "sysinfo crate: CPU, memory, disk usage (peer)";
const PERFSET: &str = "Query::collect, from files";
const WALKED: &str = "Query::collect, by a walk over the tasks (BPF)";

/// Returns the number of processes on this machine.
pub fn processes() -> Result<usize> {
    let entries = std::fs::read_dir("/proc").context("/proc")?;
    let is_pid = |name: &std::ffi::OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    Ok(entries.flatten().filter(|entry| is_pid(&entry.file_name())).count())
}

/// Cost of collecting a process, measured with several numbers of processes.
#[derive(Debug)]
struct Growth {
    /// Number of processes, and the cost of each variant in ns a process.
    sizes: Vec<(usize, Vec<(&'static str, f64)>)>,
}

fn growth(rounds: usize, out: Out<'_>) -> Result<()> {
    let most = most_processes()?;
    let mut sizes = Vec::new();
    for wanted in [100, 1_000, 10_000, 30_000] {
        let nursery = Nursery::start(wanted.min(most))?;
        let processes = processes()?;
        let report = report(&nursery, FEW, rounds)?;
        sizes.push((processes, report.costs().collect()));
        nursery.check()?;
        out(&report)?;
        if wanted > most {
            out(&format_args!("No more than {most} processes fit in: kernel.pid_max, or memory.\n"))?;
            break;
        }
    }
    out(&Growth { sizes })
}

/// Returns the number of processes that can be added to this machine: as many as there are free pids and free memory
/// for.
fn most_processes() -> Result<usize> {
    const FOR_OTHERS: usize = 1_500; // numbers
    const KIB_EACH: usize = 200; // more than one takes
    let number = |path: &str| -> Result<usize> {
        let text = std::fs::read_to_string(path).with_context(|| path.to_owned())?;
        text.trim().parse().with_context(|| path.to_owned())
    };
    let loads = std::fs::read_to_string("/proc/loadavg").context("/proc/loadavg")?;
    let tasks = loads.split(['/', ' ']).nth(4).and_then(|tasks| tasks.parse::<usize>().ok());
    let used = tasks.context("/proc/loadavg")?;
    let most = number("/proc/sys/kernel/pid_max")?.min(number("/proc/sys/kernel/threads-max")?);
    let meminfo = std::fs::read_to_string("/proc/meminfo").context("/proc/meminfo")?;
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available = available.and_then(|kib| kib.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    let in_memory = available.context("/proc/meminfo: MemAvailable")? / 2 / KIB_EACH;
    Ok(most.saturating_sub(used + FOR_OTHERS).min(in_memory))
}

impl Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "process: ns/process, {}", FEW.name)?;
        let variants = self.sizes.first().map(|(_, costs)| costs.as_slice()).unwrap_or_default();
        let width = variants.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |numbers: Vec<String>| numbers.iter().map(|n| format!("{n:>10}")).collect::<String>();
        let heading = line(self.sizes.iter().map(|(processes, _)| processes.to_string()).collect());
        writeln!(f, "  {:width$} {heading} processes", "")?;
        for (at, (name, _)) in variants.iter().enumerate() {
            let costs = self.sizes.iter().filter_map(|(_, costs)| costs.get(at));
            writeln!(f, "  {name:width$} {}", line(costs.map(|(_, ns)| format!("{ns:.0}")).collect()))?;
        }
        Ok(())
    }
}
