//! Check of Memory and System beside `free` and `vmstat -s` of procps, and beside `/proc`.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::proc::{self, Numbers, of};
use super::{finished, median, record};

/// Difference that is permitted between perfset's value and that of another program.
#[derive(Clone, Copy)]
enum Slack {
    /// Permitted difference of a size: 1 % or 2 MiB, whichever is more.
    Size,
    /// No permitted difference: a count that only grows lies between the two readings exactly.
    Nothing,
    /// Fixed permitted difference in the value's unit.
    Of(f64),
}

/// Function that returns the value to compare with: a number of [`readings`], or a sum of some.
type Peer = fn(&Numbers) -> Result<f64>;

/// Counter paths of raw values, each with the permitted difference and the value to compare with.
const RAW: [(&str, Slack, Peer); 22] = [
    // free -b -w
    (r"\Memory\Available Bytes", Slack::Size, |n| of(n, "free available")),
    (r"\Memory\Free & Zero Page List Bytes", Slack::Size, |n| of(n, "free free")),
    (r"\Memory\Available KBytes", Slack::Size, |n| Ok(of(n, "free available")? / 1024.0)),
    (r"\Memory\Available MBytes", Slack::Size, |n| Ok(of(n, "free available")? / 1024.0 / 1024.0)),
    // What free calls cache has shared memory in it.
    (r"\Memory\Cache Bytes", Slack::Size, |n| {
        Ok(of(n, "free buffers")? + of(n, "free cache")? - of(n, "free shared")?)
    }),
    (r"\Memory\System Cache Resident Bytes", Slack::Size, |n| {
        Ok(of(n, "meminfo Buffers")? + of(n, "meminfo Cached")? - of(n, "meminfo Shmem")?)
    }),
    // vmstat -s
    (r"\Memory\Pages Input/sec", Slack::Of(1.0), |n| Ok(of(n, "vmstat-s K paged in")? / kib_in_page()?)),
    (r"\Memory\Pages Output/sec", Slack::Of(1.0), |n| Ok(of(n, "vmstat-s K paged out")? / kib_in_page()?)),
    (r"\System\Context Switches/sec", Slack::Nothing, |n| of(n, "vmstat-s CPU context switches")),
    // /proc
    (r"\Memory\Standby Cache Normal Priority Bytes", Slack::Size, |n| {
        Ok((of(n, "meminfo MemAvailable")? - of(n, "meminfo MemFree")?).max(0.0))
    }),
    (r"\Memory\Modified Page List Bytes", Slack::Size, |n| {
        Ok(of(n, "meminfo Dirty")? + of(n, "meminfo Writeback")?)
    }),
    // The memory of the command is committed while it reads.
    (r"\Memory\Committed Bytes", Slack::Of(4_194_304.0), |n| of(n, "meminfo Committed_AS")),
    (r"\Memory\Commit Limit", Slack::Size, |n| of(n, "meminfo CommitLimit")),
    (r"\Memory\Pool Paged Bytes", Slack::Size, |n| of(n, "meminfo SReclaimable")),
    (r"\Memory\Pool Nonpaged Bytes", Slack::Size, |n| {
        let slab_and_stacks = of(n, "meminfo SUnreclaim")? + of(n, "meminfo KernelStack")?;
        Ok(slab_and_stacks + of(n, "meminfo PageTables")? + of(n, "meminfo Percpu")?)
    }),
    (r"\Memory\Free System Page Table Entries", Slack::Size, |n| {
        let free = of(n, "meminfo VmallocTotal")? - of(n, "meminfo VmallocUsed")?;
        Ok(free / 1024.0 / kib_in_page()?)
    }),
    (r"\Memory\Page Faults/sec", Slack::Nothing, |n| of(n, "vmstat pgfault")),
    (r"\Memory\Page Reads/sec", Slack::Nothing, |n| of(n, "vmstat pgmajfault")),
    (r"\Memory\Transition Pages RePurposed/sec", Slack::Nothing, |n| {
        let newer = ["vmstat pgsteal_khugepaged", "vmstat pgsteal_proactive"];
        let newer: f64 = newer.iter().filter_map(|name| of(n, name).ok()).sum();
        Ok(of(n, "vmstat pgsteal_kswapd")? + of(n, "vmstat pgsteal_direct")? + newer)
    }),
    (r"\Memory\Pages/sec", Slack::Of(2.0), |n| {
        Ok((of(n, "vmstat pgpgin")? + of(n, "vmstat pgpgout")?) / kib_in_page()?)
    }),
    (r"\System\Processes", Slack::Of(1.0), |n| of(n, "processes")), // itself, while it lists them
    (r"\System\Threads", Slack::Of(1.0), |n| of(n, "threads")),
];

/// Counter paths of formatted values, each with the permitted difference and the value to compare with.
const FORMATTED: [(&str, Slack, Peer); 2] = [
    (r"\Memory\% Committed Bytes In Use", Slack::Of(1.0), |n| {
        Ok(of(n, "meminfo Committed_AS")? / of(n, "meminfo CommitLimit")? * 100.0)
    }),
    (r"\System\System Up Time", Slack::Of(0.02), |n| of(n, "uptime")), // hundredths, cut off
];

/// Checks perfset's values against readings of procps and `/proc` before and after. The median of how far a value is
/// outside is within the permitted difference.
pub fn check(rounds: usize) -> Result<String> {
    let samples = rounds * 5;
    let paths = RAW.map(|(path, ..)| path);
    let formatted = FORMATTED.map(|(path, ..)| path);
    let mut outside = vec![Vec::new(); RAW.len() + FORMATTED.len()];
    for _ in 0..samples {
        let before = readings()?;
        let raw = record::one_sample(&paths, &["--raw"])?;
        let formatted = record::one_sample(&formatted, &[])?;
        let after = readings()?;
        let raw = raw.iter().map(record::Record::raw);
        let values = raw.chain(formatted.iter().map(record::Record::value));
        for (((path, slack, peer), value), outside) in
            RAW.iter().chain(&FORMATTED).zip(values).zip(&mut outside)
        {
            let (before, after, value) = (peer(&before)?, peer(&after)?, value?);
            let distance = (before.min(after) - value).max(value - before.max(after)).max(0.0);
            let allowed = match slack {
                Slack::Size => (value * 0.01).max(2_097_152.0 / unit(path)),
                Slack::Nothing => 0.0,
                Slack::Of(slack) => *slack,
            };
            outside.push((distance / allowed.max(f64::MIN_POSITIVE), distance));
        }
    }
    let mut worst = (0.0, String::new());
    for ((path, ..), outside) in RAW.iter().chain(&FORMATTED).zip(outside) {
        let (ratios, distances): (Vec<_>, Vec<_>) = outside.into_iter().unzip();
        let (ratio, distance) = (median(ratios), median(distances));
        ensure!(ratio <= 1.0, "{path} is {distance} outside of what the peers say (median of {samples})");
        if distance > worst.0 {
            worst = (distance, format!(", the furthest by {distance} ({path})"));
        }
    }
    let all = RAW.len() + FORMATTED.len();
    Ok(format!(": {all} counters, {samples} samples{}", worst.1))
}

/// Returns the number of bytes in the unit of a counter path that is a size.
fn unit(path: &str) -> f64 {
    match path.rsplit('\\').next() {
        Some("Available KBytes") => 1024.0,
        Some("Available MBytes") => 1024.0 * 1024.0,
        _ => 1.0,
    }
}

/// Returns all current numbers of `/proc`, `free` and `vmstat -s`.
fn readings() -> Result<Numbers> {
    let mut all = proc::read()?;
    all.extend(free()?);
    all.extend(statistics()?);
    Ok(all)
}

fn peer_of_procps(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output();
    finished(output.with_context(|| format!("cannot start {name} (Debian package procps)"))?)
}

/// Returns the columns of the memory line that `free -b -w` prints.
fn free() -> Result<Numbers> {
    let text = peer_of_procps(Command::new("free").args(["-b", "-w"]))?;
    let mut lines = text.lines();
    let heads = lines.next().context("free prints nothing")?.split_whitespace();
    let memory = lines.find_map(|line| line.strip_prefix("Mem:")).context("free has no line about memory")?;
    let numbers = memory.split_whitespace();
    heads.zip(numbers).map(|(head, number)| Ok((format!("free {head}"), number.parse()?))).collect()
}

/// Returns the numbers of `vmstat -s` by their description.
fn statistics() -> Result<Numbers> {
    let text = peer_of_procps(Command::new("vmstat").arg("-s"))?;
    let lines = text.lines().filter_map(|line| line.trim_start().split_once(' '));
    lines.map(|(number, what)| Ok((format!("vmstat-s {what}"), number.parse()?))).collect()
}

/// Returns the number of KiB in a page: the kernel counts blocks in KiB, and the counters count pages.
pub fn kib_in_page() -> Result<f64> {
    let output = Command::new("getconf").arg("PAGESIZE").output().context("cannot start getconf")?;
    let bytes: f64 = finished(output)?.trim().parse()?;
    Ok(bytes / 1024.0)
}
