//! How much memory a collector holds: each in a process of its own, which collects a few times.

use std::fmt::{self, Display};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::collectors::{Perfset, Procfs, Sysinfo};

const COLLECTORS: [&str; 3] = ["perfset", "procfs", "sysinfo"];
const COLLECTIONS: usize = 5;
/// Of the first one, in KiB.
const GOAL_KIB: u64 = 12 << 10;

/// What each holds.
#[derive(Debug)]
pub struct Report {
    processes: usize,
    held: Vec<Held>,
}

/// In KiB.
#[derive(Debug)]
struct Held {
    who: &'static str,
    /// Before it did anything.
    start: u64,
    resident: u64,
    peak: u64,
}

/// Starts each, one after the other.
pub fn report(processes: usize) -> Result<Report> {
    let held = |who| {
        let ran = Command::new("/proc/self/exe")
            .args([super::HOLDER, who])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("the holder of {who}"))?;
        ensure!(ran.status.success(), "the holder of {who}: {}", ran.status);
        let said = String::from_utf8(ran.stdout)?;
        let numbers: Vec<u64> = said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [start, resident, peak] = numbers[..] else { bail!("the holder of {who} says {said:?}") };
        Ok(Held { who, start, resident, peak })
    };
    Ok(Report { processes, held: COLLECTORS.into_iter().map(held).collect::<Result<_>>()? })
}

/// A collector itself: says how much it holds before and after.
pub fn hold(who: &str) -> Result<()> {
    let (start, _) = resident_kib()?;
    let mut perfset = if who == "perfset" { Some(Perfset::new()?) } else { None };
    let mut sysinfo = if who == "sysinfo" { Some(Sysinfo::new()?) } else { None };
    let mut procfs = (who == "procfs").then(Procfs::default);
    for _ in 0..COLLECTIONS {
        perfset.as_mut().map_or(Ok(0), Perfset::collect)?;
        sysinfo.as_mut().map(Sysinfo::collect);
        procfs.as_mut().map_or(Ok(0), Procfs::collect)?;
    }
    let (resident, peak) = resident_kib()?;
    println!("{start} {resident} {peak}");
    Ok(())
}

/// Of this process, now and at most so far.
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
        writeln!(f, "  {:10} {:>9} {:>9} {:>9}", "", "at first", "now", "at most")?;
        for Held { who, start, resident, peak } in &self.held {
            write!(f, "  {who:10} {start:>9} {resident:>9} {peak:>9}")?;
            if *who == COLLECTORS[0] {
                let met = if *peak <= GOAL_KIB { "met" } else { "MISSED" };
                write!(f, " (goal {GOAL_KIB}: {met})")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
