//! Check of Processor Information beside mpstat.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{Load, finished, perfset};

/// Values of one processor in both tools: % busy, % user, % kernel, % intr, % DPC, interrupts per second.
///
/// `None` is a value that perfset does not have.
type Figures = [Option<f64>; 6];
const NAMES: [&str; 6] = ["% busy", "% user", "% kernel", "% intr", "% DPC", "intr/s"];

/// Compares processor times of perfset with mpstat over the same five seconds, several times. The median of the
/// differences is at most two points.
pub fn check(rounds: usize) -> Result<String> {
    const SECONDS: &str = "5";
    let load = Load::start();
    let mut differences: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    let mut busiest: f64 = 0.0;
    let mut missing = BTreeSet::new();
    for _ in 0..rounds {
        let ours = perfset().args(["cpu", SECONDS, "1"]).spawn().context("cannot start perfset")?;
        let theirs = Command::new("mpstat")
            .args(["-u", "-I", "SUM", "-P", "ALL", "-o", "JSON", SECONDS, "1"])
            .env("LC_ALL", "C")
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start mpstat (Debian package sysstat)")?;
        let ours = parse_table(&finished(ours.wait_with_output()?)?)?;
        let theirs = parse_mpstat(&finished(theirs.wait_with_output()?)?)?;
        for (name, theirs) in &theirs {
            let ours = ours.get(name).with_context(|| format!("perfset does not show {name}"))?;
            for (column, (a, b)) in ours.iter().zip(theirs).enumerate() {
                let b = b.unwrap_or_default();
                let Some(a) = a else {
                    // What the kernel never counts is missing here and 0 there.
                    let is_never_counted = [3, 4].contains(&column) && b == 0.0;
                    ensure!(is_never_counted, "{name} {} has no value, mpstat {b}", NAMES[column]);
                    missing.insert(NAMES[column]);
                    continue;
                };
                // Interrupts are counts: a twentieth of them, or 50, counts as two points.
                let scale = if column == 5 { (b / 20.0).max(50.0) / 2.0 } else { 1.0 };
                differences.entry((name.clone(), column)).or_default().push((a - b).abs() / scale);
            }
        }
        busiest = busiest.max(ours.get("_Total").and_then(|total| total[0]).unwrap_or_default());
    }
    drop(load);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let one_core = 100.0 / cpus as f64;
    ensure!(busiest > one_core - 3.0, "the load is not seen: _Total is {busiest} % busy");
    let mut worst = (0.0, String::new());
    for ((name, column), mut values) in differences {
        values.sort_by(f64::total_cmp);
        let median = values[values.len() / 2];
        ensure!(median <= 2.0, "{name} {} differs by {median:.2} points (median of {rounds})", NAMES[column]);
        if median > worst.0 {
            worst = (median, format!("{name} {}", NAMES[column]));
        }
    }
    for column in &missing {
        let at = NAMES.iter().position(|name| name == column).unwrap_or_default();
        let counts = interrupt_ticks()?[at - 3];
        ensure!(counts == 0, "{column} has no value, /proc/stat has {counts} ticks");
    }
    let without = if missing.is_empty() { String::new() } else { format!(", without {missing:?}") };
    Ok(format!(": worst median {:.2} points ({}), {rounds} rounds{without}", worst.0, worst.1))
}

/// Returns the clock ticks of `irq` and `softirq` since boot, in `/proc/stat`.
fn interrupt_ticks() -> Result<[u64; 2]> {
    let stat = std::fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    let mut columns = stat.lines().next().unwrap_or_default().split_whitespace().skip(6);
    let mut column = || columns.next().context("/proc/stat lacks a column")?.parse().context("no number");
    Ok([column()?, column()?])
}

/// Parses the rows of the processor table that perfset printed.
fn parse_table(text: &str) -> Result<BTreeMap<String, Figures>> {
    let mut rows = BTreeMap::new();
    for line in text.lines().skip(2) {
        let mut cells = line.split_whitespace();
        let Some(name) = cells.next() else { break };
        if name != "_Total" && !name.contains(',') {
            break; // below the table are the reasons for missing values
        }
        let mut figures = Figures::default();
        for figure in &mut figures {
            let cell = cells.next().with_context(|| format!("too few columns: {line}"))?;
            *figure = match cell {
                "-" => None,
                cell => Some(cell.replace(',', "").parse().with_context(|| format!("no number: {line}"))?),
            };
        }
        rows.insert(name.to_owned(), figures);
    }
    Ok(rows)
}

#[derive(Deserialize)]
struct MpstatFile {
    sysstat: Sysstat,
}

#[derive(Deserialize)]
struct Sysstat {
    hosts: Vec<Host>,
}

#[derive(Deserialize)]
struct Host {
    statistics: Vec<Statistics>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Statistics {
    cpu_load: Vec<CpuLoad>,
    sum_interrupts: Vec<SumInterrupts>,
}

#[derive(Deserialize)]
struct CpuLoad {
    cpu: String,
    usr: f64,
    nice: f64,
    sys: f64,
    iowait: f64,
    irq: f64,
    soft: f64,
    guest: f64,
    gnice: f64,
    idle: f64,
}

#[derive(Deserialize)]
struct SumInterrupts {
    cpu: String,
    intr: f64,
}

/// Parses the values that mpstat printed, and returns them under the names and with the meanings of perfset.
fn parse_mpstat(json: &str) -> Result<BTreeMap<String, Figures>> {
    let file: MpstatFile = serde_json::from_str(json).context("mpstat did not print what was expected")?;
    let host = file.sysstat.hosts.into_iter().next().context("mpstat shows no host")?;
    let Some(Statistics { cpu_load, sum_interrupts }) = host.statistics.into_iter().next() else {
        bail!("mpstat shows no statistics");
    };
    let mut rows = BTreeMap::new();
    for load in cpu_load {
        let sum =
            sum_interrupts.iter().find(|sum| sum.cpu == load.cpu).context("mpstat shows no interrupts")?;
        let name = if load.cpu == "all" { "_Total".to_owned() } else { format!("0,{}", load.cpu) };
        let figures = [
            100.0 - load.idle - load.iowait,
            load.usr + load.nice + load.guest + load.gnice,
            load.sys + load.irq + load.soft,
            load.irq,
            load.soft,
            sum.intr,
        ];
        rows.insert(name, figures.map(Some));
    }
    Ok(rows)
}
