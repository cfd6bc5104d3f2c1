//! Bench of the memory of collectors: each runs in a process of its own, which collects a few times.

use std::fmt::{self, Display};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use perfset_linux::ProcessSource;

use super::collectors::{Perfset, Procfs, Sysinfo};

/// Keyword of each collector of processes, and its description in the table.
const COLLECTORS: [(&str, &str); 7] = [
    ("perfset", "Query::collect, the counters from stat, statm and io"),
    ("perfset-2", "the same, and the collection before"),
    ("walk", "the same counters by a walk over the tasks"),
    ("walk-2", "the same, and the collection before"),
    ("procfs", "procfs crate: stat, statm, io"),
    ("procfs-2", "the same, and the collection before"),
    ("sysinfo", "sysinfo crate: CPU, memory, disk usage, and what it keeps"),
];
const COLLECTIONS: usize = 5;
/// Goal: the maximum memory of the collector of this project, in KiB.
const GOAL_KIB: u64 = 12 << 10;

/// Table of a bench with the memory that each collector holds.
#[derive(Debug)]
pub struct Report {
    processes: usize,
    held: Vec<Held>,
}

/// Resident memory of the process of one collector, in KiB.
#[derive(Debug)]
struct Held {
    what: &'static str,
    /// Resident memory of the process before the collector was created, in KiB.
    start: u64,
    resident: u64,
    peak: u64,
}

/// Runs each collector in a process of its own, one after the other, and returns their memory.
pub fn report(processes: usize) -> Result<Report> {
    let held = |(who, what)| {
        let ran = Command::new("/proc/self/exe")
            .args([super::HOLDER, who])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("the holder of {who}"))?;
        ensure!(ran.status.success(), "the holder of {who}: {}", ran.status);
        let said = String::from_utf8(ran.stdout)?;
        let numbers: Vec<u64> = said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [start, resident, peak] = numbers[..] else { bail!("the holder of {who} says {said:?}") };
        Ok(Held { what, start, resident, peak })
    };
    Ok(Report { processes, held: COLLECTORS.into_iter().map(held).collect::<Result<_>>()? })
}

/// Runs one collector in this process, and prints its resident memory before and after, and the maximum, in KiB.
pub fn hold(who: &str) -> Result<()> {
    let (start, _) = resident_kib()?;
    let mut collect: Box<dyn FnMut() -> Result<u64>> = match who {
        "perfset" => of_perfset(Perfset::new(1, ProcessSource::Gate)?),
        "perfset-2" => of_perfset(Perfset::new(2, ProcessSource::Gate)?),
        "walk" => of_perfset(Perfset::new(1, ProcessSource::Bpf)?),
        "walk-2" => of_perfset(Perfset::new(2, ProcessSource::Bpf)?),
        "procfs" => of_procfs(Procfs::new(1)),
        "procfs-2" => of_procfs(Procfs::new(2)),
        "sysinfo" => {
            let mut sysinfo = Sysinfo::new()?;
            Box::new(move || Ok(sysinfo.collect()))
        }
        _ => bail!("who is {who:?}?"),
    };
    for _ in 0..COLLECTIONS {
        collect()?;
    }
    let (resident, peak) = resident_kib()?;
    println!("{start} {resident} {peak}");
    Ok(())
}

fn of_perfset(mut perfset: Perfset) -> Box<dyn FnMut() -> Result<u64>> {
    Box::new(move || perfset.collect())
}

fn of_procfs(mut procfs: Procfs) -> Box<dyn FnMut() -> Result<u64>> {
    Box::new(move || procfs.collect())
}

/// Returns the resident memory of this process in KiB: the current and the maximum so far.
fn resident_kib() -> Result<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        kib.with_context(|| format!("/proc/self/status: {name}"))
    };
    Ok((kib("VmRSS:")?, kib("VmHWM:")?))
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "process: resident memory of a collector with {} processes, KiB", self.processes)?;
        let width = COLLECTORS.iter().map(|(_, what)| what.len()).max().unwrap_or(0);
        writeln!(f, "  {:width$} {:>9} {:>9} {:>9}", "", "at first", "now", "at most")?;
        for (at, Held { what, start, resident, peak }) in self.held.iter().enumerate() {
            write!(f, "  {what:width$} {start:>9} {resident:>9} {peak:>9}")?;
            if at == 0 {
                let met = if *peak <= GOAL_KIB { "met" } else { "MISSED" };
                write!(f, " (goal {GOAL_KIB}: {met})")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
