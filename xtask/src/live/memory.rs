//! Checks of Linux Memory, Cache, the countersets of NUMA nodes and Objects. The values are compared with `/proc`,
//! `/sys`, `free`, `vmstat -s` and `ipcs`, also under loads of known size.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::proc::{self, Numbers, of};
use super::procps::kib_in_page;
use super::{finished, known_load, median, perfset, record};

const PATHS: [&str; 4] = [r"\Linux Memory\*", r"\Cache\*", r"\NUMA Node Memory(*)\*", r"\Linux NUMA(*)\*"];

/// Counters of the counterset Cache, and the lines of `/proc/vmstat` that they show.
const CACHE: [(&str, &str); 3] = [
    (r"\Cache\Data Flush Pages/sec", "vmstat nr_written"),
    (r"\Cache\Dirty Pages", "vmstat nr_dirty"),
    (r"\Cache\Dirty Page Threshold", "vmstat nr_dirty_threshold"),
];

/// Checks that every value of memory counters lies between readings of `/proc` and `/sys` before and after.
pub fn check(rounds: usize) -> Result<String> {
    let samples = rounds * 5;
    let command = fs::metadata(perfset().get_program())?.len() as f64;
    let mut outside: Vec<(String, Vec<f64>)> = Vec::new();
    let mut lines = 0;
    for _ in 0..samples {
        let before = readings()?;
        let output = record::command(&PATHS, &["--raw"]).output().context("cannot start perfset")?;
        let json = finished(output)?;
        let after = readings()?;
        lines = before.keys().filter(|name| of_memory(name)).count();
        let records = record::parse(&json, json.lines().count())?;
        let known =
            records.iter().filter(|record| of_memory(&name(&record.path)) && record.raw.is_some()).count();
        for (at, record) in records.iter().enumerate() {
            if outside.len() <= at {
                outside.push((record.path.clone(), Vec::new()));
            }
            // The set has lines that this kernel does not.
            let Ok(value) = record.raw() else { continue };
            let name = name(&record.path);
            let (before, after) = (of(&before, &name)?, of(&after, &name)?);
            let distance = (before.min(after) - value).max(value - before.max(after)).max(0.0);
            outside[at].1.push(distance / slack(&name, value, command));
        }
        ensure!(known * 10 >= lines * 9, "{known} values of {lines} lines: the catalogue needs the new ones");
    }
    for (path, _) in CACHE {
        let is_there = outside.iter().any(|(of, ratios)| of == path && !ratios.is_empty());
        ensure!(is_there, "{path} has no value");
    }
    let mut worst = (0.0, String::new());
    let compared = outside.iter().filter(|(_, ratios)| !ratios.is_empty()).count();
    for (path, ratios) in outside.into_iter().filter(|(_, ratios)| !ratios.is_empty()) {
        let ratio = median(ratios);
        ensure!(ratio <= 1.0, "{path} is {ratio} times what it may be outside of what the kernel says");
        if ratio >= worst.0 {
            worst = (ratio, path);
        }
    }
    let peers = peers()?;
    Ok(format!(
        ": {compared} values of {lines} lines, Cache and the nodes, {peers} of free and vmstat -s, {samples} samples"
    ))
}

fn of_memory(name: &str) -> bool {
    name.starts_with("meminfo ") || name.starts_with("vmstat ")
}

/// Returns the name under which [`readings`] has the value of a counter path.
fn name(path: &str) -> String {
    match path.split_once('\\').map_or(path, |(_, rest)| rest).split_once('\\') {
        Some(("Linux Memory", line)) => {
            let file =
                if line.starts_with(|first: char| first.is_ascii_uppercase()) { "meminfo" } else { "vmstat" };
            format!("{file} {line}")
        }
        _ => path.to_owned(),
    }
}

/// Returns the tolerance for a checked memory value: none for a count of events, 2 MiB or 1 % for a size. Mapped
/// memory also has the size of the command, whose file is mapped only while it reads, and committed and anonymous
/// memory 2 MiB more.
fn slack(name: &str, value: f64, command: f64) -> f64 {
    let name = CACHE.iter().find(|(path, _)| *path == name).map_or(name, |(_, line)| line);
    const COUNTS: [&str; 7] = [
        "vmstat nr_dirtied",
        "vmstat nr_written",
        "vmstat nr_vmscan_write",
        "vmstat nr_vmscan_immediate_reclaim",
        "vmstat nr_throttled_written",
        "vmstat nr_foll_pin_acquired",
        "vmstat nr_foll_pin_released",
    ];
    let two_mib: f64 = if name.starts_with("meminfo ") {
        2_097_152.0
    } else if name.ends_with("MBytes") {
        2.0
    } else if !COUNTS.contains(&name) && (name.starts_with("vmstat nr_") || name == "vmstat workingset_nodes")
    {
        512.0 // pages of 4 KiB
    } else {
        return f64::MIN_POSITIVE;
    };
    let of_command = match name {
        "meminfo Mapped" | "vmstat nr_mapped" => two_mib * (command / 2_097_152.0),
        // Its own memory is committed, and its pages are anonymous, while it reads.
        "meminfo Committed_AS" => two_mib,
        _ if name.to_ascii_lowercase().contains("anon") => two_mib,
        _ => 0.0,
    };
    (two_mib + of_command).max(value * 0.01)
}

/// Returns the current numbers of `/proc` about memory, and those of Cache and the NUMA nodes by their counter paths.
fn readings() -> Result<Numbers> {
    let mut all = proc::read()?;
    for name in ["Total", "Free", "Rsvd", "Surp"] {
        // They are counts, not KiB.
        if let Some(pages) = all.get_mut(&format!("meminfo HugePages_{name}")) {
            *pages /= 1024.0;
        }
    }
    for (path, line) in CACHE {
        all.insert(path.to_owned(), of(&all, line)?);
    }
    let mut total = Numbers::new();
    let Ok(folders) = fs::read_dir("/sys/devices/system/node") else { return Ok(all) };
    for folder in folders {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let Some(node) = name.strip_prefix("node").filter(|node| node.bytes().all(|b| b.is_ascii_digit()))
        else {
            continue;
        };
        let text =
            |file| fs::read_to_string(folder.path().join(file)).with_context(|| format!("{name}/{file}"));
        let mut mib = Numbers::new();
        for line in text("meminfo")?.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let [_, _, name, number, ..] = words[..] else { continue };
            mib.insert(name.trim_end_matches(':').to_owned(), number.parse::<f64>()? / 1024.0);
        }
        let cached = of(&mib, "Inactive(file)")? + of(&mib, "Active(file)")?;
        let free = of(&mib, "MemFree")?;
        for (counter, value) in [
            ("Total MBytes", of(&mib, "MemTotal")?),
            ("Free & Zero Page List MBytes", free),
            ("Modified Page List MBytes", of(&mib, "Dirty")? + of(&mib, "Writeback")?),
            ("Standby List MBytes", cached),
            ("Available MBytes", free + cached + of(&mib, "SReclaimable")?),
        ] {
            let path = |node| format!(r"\NUMA Node Memory({node})\{counter}");
            *total.entry(path("_Total")).or_default() += value;
            all.insert(path(node), value);
        }
        for line in text("numastat")?.lines() {
            let (counter, number) = line.split_once(' ').context("numastat has no such lines")?;
            let path = |node| format!(r"\Linux NUMA({node})\{counter}");
            *total.entry(path("_Total")).or_default() += number.parse::<f64>()?;
            all.insert(path(node), number.parse()?);
        }
    }
    all.extend(total);
    Ok(all)
}

/// Checks that `free` and `vmstat -s` of procps print the same as perfset, for values that do not change from one
/// moment to the next.
fn peers() -> Result<usize> {
    let text = |command: &mut Command| {
        finished(command.env("LC_ALL", "C").output().context("cannot start a program of procps")?)
    };
    let free = text(Command::new("free").args(["-b", "-w"]))?;
    let total = |of: &str| -> Result<f64> {
        let line = free.lines().find_map(|line| line.strip_prefix(of)).context("free has no such line")?;
        Ok(line.split_whitespace().next().context("free has no total")?.parse()?)
    };
    let statistics = text(Command::new("vmstat").arg("-s"))?;
    let statistic = |what: &str| -> Result<f64> {
        let line = statistics.lines().find_map(|line| line.strip_suffix(what));
        Ok(line.with_context(|| format!("vmstat -s has no {what}"))?.trim().parse()?)
    };
    let peers = [
        (r"\Linux Memory\MemTotal", total("Mem:")?),
        (r"\Linux Memory\SwapTotal", total("Swap:")?),
        (r"\Linux Memory\pswpin", statistic("pages swapped in")?),
        (r"\Linux Memory\pswpout", statistic("pages swapped out")?),
    ];
    let ours = record::one_sample(&peers.each_ref().map(|peer| peer.0), &["--raw"])?;
    for ((path, theirs), ours) in peers.iter().zip(&ours) {
        ensure!(ours.raw()? == *theirs, "{path} is {}, and {theirs} there", ours.raw()?);
    }
    Ok(peers.len())
}

/// Number of semaphore sets that the check creates; the next constant is that of shared memory segments.
const SETS: usize = 7;
const SEGMENTS: usize = 5;

/// Checks that touched memory appears as memory and page faults, written pages as written, and System V objects one
/// by one.
pub fn known_load() -> Result<String> {
    const MIB: usize = known_load::TOUCHED_MIB;
    let paths = [r"\Linux Memory\AnonPages", r"\Linux Memory\nr_anon_pages", r"\Linux Memory\pgfault"];
    let sample = || -> Result<[f64; 3]> {
        let records = record::one_sample(&paths, &["--raw"])?;
        Ok([records[0].raw()?, records[1].raw()?, records[2].raw()?])
    };
    let page = kib_in_page()? * 1024.0;
    let bytes = (MIB << 20) as f64;
    let mut rises = [Vec::new(), Vec::new()];
    for _ in 0..9 {
        let before = sample()?;
        let touched = known_load::Touched::start(MIB)?;
        let with = sample()?;
        drop(touched);
        let after = sample()?;
        // Others take and give back meanwhile: what was there before and after is the measure.
        for (at, unit) in [1.0, page].into_iter().enumerate() {
            rises[at].push((with[at] - (before[at] + after[at]) / 2.0) * unit);
        }
        let faults = with[2] - before[2];
        ensure!(faults >= bytes / page, "{faults} page faults when {MIB} MiB are touched");
        sleep(Duration::from_millis(50));
    }
    let rises = rises.map(median);
    for (path, rise) in paths.iter().zip(rises) {
        ensure!((rise - bytes).abs() <= bytes * 0.1, "{path} rises by {rise} when {bytes} bytes are touched");
    }
    let written = written(page)?;
    let (sets, segments) = objects()?;
    Ok(format!(
        ": {MIB} MiB touched, AnonPages {:+.0} MiB; {} MiB written, {written:+.0} MiB; semaphores {sets:+}, \
         sections {segments:+}",
        rises[0] / (1 << 20) as f64,
        known_load::FILE_MIB,
    ))
}

/// Returns the growth of written pages in MiB when a file is written, with pages of `page` bytes.
fn written(page: f64) -> Result<f64> {
    let (path, line) = CACHE[0];
    let before = record::one_sample(&[path], &["--raw"])?[0].raw()?;
    let file = known_load::Synchronised::write("live-scratch-cache")?;
    let least = of(&proc::read()?, line)?;
    let after = record::one_sample(&[path], &["--raw"])?[0].raw()?;
    let most = of(&proc::read()?, line)?;
    drop(file);
    ensure!((least..=most).contains(&after), "{path} is {after}, and {least} to {most} in /proc");
    let (rise, want) = ((after - before) * page, (known_load::FILE_MIB << 20) as f64);
    ensure!(rise >= want, "{path} rises by {rise} bytes when {want} are written");
    Ok(rise / (1 << 20) as f64)
}

fn objects() -> Result<(f64, f64)> {
    let sample = || -> Result<[f64; 2]> {
        let records = record::one_sample(&[r"\Objects\Semaphores", r"\Objects\Sections"], &["--raw"])?;
        Ok([records[0].raw()?, records[1].raw()?])
    };
    let before = sample()?;
    let mut made = SystemV(Vec::new());
    for _ in 0..SETS {
        made.make("-s", &["-S", "3"])?;
    }
    for _ in 0..SEGMENTS {
        made.make("-m", &["-M", "4096"])?;
    }
    let with = sample()?;
    for (ours, option) in with.into_iter().zip(["-s", "-m"]) {
        let theirs = finished(Command::new("ipcs").arg(option).env("LC_ALL", "C").output()?)?;
        let theirs = theirs.lines().filter(|line| line.starts_with("0x")).count() as f64;
        ensure!(ours == theirs, "perfset counts {ours}, ipcs {option} has {theirs}");
    }
    drop(made);
    let after = sample()?;
    let rises = (with[0] - before[0], with[1] - before[1]);
    ensure!(rises == (SETS as f64, SEGMENTS as f64), "{rises:?} more when {SETS} and {SEGMENTS} are made");
    ensure!(after == before, "{after:?} are left of {before:?}");
    Ok(rises)
}

/// Objects of System V that a check has created, by the option of ipcrm that removes them. They are removed when this
/// value is dropped.
struct SystemV(Vec<(&'static str, String)>);

impl SystemV {
    fn make(&mut self, remove_by: &'static str, options: &[&str]) -> Result<()> {
        let output = Command::new("ipcmk").args(options).env("LC_ALL", "C").output();
        let text = finished(output.context("cannot start ipcmk (Debian package util-linux)")?)?;
        let id = text.rsplit(' ').next().map(str::trim).context("ipcmk names no id")?;
        self.0.push((remove_by, id.to_owned()));
        Ok(())
    }
}

impl Drop for SystemV {
    fn drop(&mut self) {
        for (option, id) in &self.0 {
            let _ = Command::new("ipcrm").args([option, id.as_str()]).status(); // it may be gone already
        }
    }
}
