//! Check of relations between counters that hold in every block of Windows, in the blocks of this machine.

use std::collections::BTreeMap;
use std::fs::{File, remove_file};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::owned::Background;
use super::{Load, finished, perfset};
use crate::repository::target;

/// Sum of counters: number of the relation in `testdata/windows-definitions/README.md`, countersets, the sum, its
/// parts.
type Sum = (u32, &'static [&'static str], &'static str, &'static [&'static str]);

const SUMS: &[Sum] = &[
    (1, DISKS, "Avg. Disk Queue Length", &["Avg. Disk Read Queue Length", "Avg. Disk Write Queue Length"]),
    (2, DISKS, "% Disk Read Time", &["Avg. Disk Read Queue Length"]),
    (2, DISKS, "% Disk Write Time", &["Avg. Disk Write Queue Length"]),
    (2, DISKS, "% Disk Time", &["Avg. Disk Queue Length"]),
    (3, DISKS, "Disk Bytes/sec", &["Disk Read Bytes/sec", "Disk Write Bytes/sec"]),
    (3, DISKS, "Disk Transfers/sec", &["Disk Reads/sec", "Disk Writes/sec"]),
    (4, &["Memory"], "Cache Bytes", &["System Cache Resident Bytes", "Pool Paged Resident Bytes"]),
    (
        5,
        &["Memory"],
        "Available Bytes",
        &["Free & Zero Page List Bytes", "Standby Cache Normal Priority Bytes"],
    ),
    (6, &["Memory"], "Pages/sec", &["Pages Input/sec", "Pages Output/sec"]),
    (7, PROCESSES, "IO Data Operations/sec", &["IO Read Operations/sec", "IO Write Operations/sec"]),
    (7, PROCESSES, "IO Data Bytes/sec", &["IO Read Bytes/sec", "IO Write Bytes/sec"]),
    (8, PROCESSES, "% Processor Time", &["% User Time", "% Privileged Time"]),
    (11, &["TCPv4"], "Segments/sec", &["Segments Received/sec", "Segments Sent/sec"]),
    (12, &["Network Interface"], "Bytes Total/sec", &["Bytes Received/sec", "Bytes Sent/sec"]),
];
const DISKS: &[&str] = &["PhysicalDisk", "LogicalDisk"];
const PROCESSES: &[&str] = &["Process", "Process V2"];
const PROCESSORS: &[&str] = &["Processor", "Processor Information"];
const TIMERS: [&str; 5] =
    ["% User Time", "% Privileged Time", "% DPC Time", "% Interrupt Time", "% Idle Time"];

/// Raw values of a block's row, by counter.
type Row = BTreeMap<String, u64>;
/// Rows of a block by counterset and instance. Instances with equal names follow one another.
type Rows = Vec<(String, String, Row)>;

/// Checks every relation between counters in V1 and V2 blocks while processors, a disk and processes are busy.
pub fn check(rounds: usize) -> Result<String> {
    let folder = target().join("live-relations");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let _processor = Load::start();
    let _disk = write_until_dropped(folder.join("written"));
    let mut checked = BTreeMap::new();
    for _ in 0..rounds.saturating_mul(5) {
        hold(&v1_rows(&folder)?, &mut checked).context("V1")?;
        hold(&v2_rows()?, &mut checked).context("V2")?;
    }
    for relation in [3, 4, 5, 6, 7, 8, 10, 11, 12] {
        ensure!(checked.contains_key(&relation), "relation {relation} was never checked");
    }
    Ok(format!(": rows by relation {checked:?}"))
}

fn hold(rows: &Rows, checked: &mut BTreeMap<u32, usize>) -> Result<()> {
    for (relation, sets, whole, parts) in SUMS {
        for (set, instance, row) in rows.iter().filter(|(set, ..)| sets.contains(&set.as_str())) {
            let base_name = instance.split([':', '#']).next().unwrap_or_default();
            let is_excused = match relation {
                2 => (set.as_str(), base_name) == ("LogicalDisk", "_Total"),
                8 => ["_Total", "Idle"].contains(&base_name),
                _ => false,
            };
            let Some(found) = row.get(*whole).filter(|_| !is_excused) else { continue };
            let values: Option<Vec<u64>> = parts.iter().map(|part| row.get(*part).copied()).collect();
            let place = format!(r"relation {relation}: \{set}({instance})\{whole}");
            let sum = values.with_context(|| format!("{place} has a value and a part of it has none"))?;
            let sum: u64 = sum.into_iter().fold(0, u64::wrapping_add);
            let slack = match relation {
                5 => u64::MAX.saturating_mul(u64::from(row.get(parts[0]) > Some(found))),
                8 => 2 * TICK_100NS,
                _ => 0,
            };
            ensure!(found.abs_diff(sum) <= slack, "{place} is {found}, its parts are {sum}");
            *checked.entry(*relation).or_default() += 1;
        }
    }
    for set in PROCESSORS {
        let of_set = || rows.iter().filter(|(of, ..)| of == set);
        for (_, total, row) in of_set().filter(|(_, instance, _)| instance.ends_with("_Total")) {
            let of_node = total.strip_suffix("_Total").unwrap_or_default();
            let is_part = |instance: &str| !instance.ends_with("_Total") && instance.starts_with(of_node);
            let parts = || of_set().filter(|(_, instance, _)| is_part(instance)).map(|(.., row)| row);
            for counter in TIMERS.into_iter().chain(["Interrupts/sec"]) {
                let Some(found) = row.get(counter) else { continue };
                let each: Option<Vec<u128>> = parts().map(|row| Some((*row.get(counter)?).into())).collect();
                let place = format!(r"relation 10: \{set}({total})\{counter}");
                let each = each.with_context(|| format!("{place} has a value and a processor has none"))?;
                let sum: u128 = each.iter().sum();
                let want = match counter {
                    "Interrupts/sec" if *set == "Processor" => sum,
                    "Interrupts/sec" => sum & u128::from(u32::MAX),
                    _ => sum.checked_div(each.len() as u128).unwrap_or_default(),
                };
                ensure!(u128::from(*found) == want, "{place} is {found}, by the processors {want}");
                *checked.entry(10).or_default() += 1;
            }
        }
    }
    Ok(())
}

/// Length of a clock tick, in 100 ns. The kernel drops a part of one from each of the two times of a process.
const TICK_100NS: u64 = 100_000;

/// Reads the rows of a V1 block, in the block's order.
fn v1_rows(folder: &Path) -> Result<Rows> {
    let files = ["v1", "query", "Global", "-o", "block.bin", "--names", "names.bin"];
    finished(perfset().args(files).current_dir(folder).output()?)?;
    let values = ["v1", "values", "block.bin", "--names", "names.bin", "--raw", "--format", "json"];
    rows(&finished(perfset().args(values).current_dir(folder).output()?)?)
}

/// Reads the rows of one V2 block, in the block's order.
fn v2_rows() -> Result<Rows> {
    let sets = SUMS.iter().flat_map(|(_, sets, ..)| sets.iter()).chain(PROCESSORS);
    let sets: std::collections::BTreeSet<_> = sets.collect();
    let single = ["Memory", "TCPv4"];
    let path = |set: &&str| if single.contains(set) { format!(r"\{set}\*") } else { format!(r"\{set}(*)\*") };
    let paths: Vec<_> = sets.into_iter().map(path).collect();
    rows(&finished(perfset().args(["get", "--raw", "--format", "json"]).args(paths).output()?)?)
}

/// Parses rows of a block from the JSON lines that the command prints. Instances may have equal names, so a row ends
/// where a counter is repeated.
fn rows(json: &str) -> Result<Rows> {
    let mut rows = Rows::new();
    for line in json.lines() {
        let value: Value = serde_json::from_str(line)?;
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (set, instance, counter) = (text("counterset"), text("instance"), text("counter"));
        let Some(raw) = value["raw"].as_u64() else { continue };
        let is_last = |(of, name, row): &&mut (String, String, Row)| {
            *of == set && *name == instance && !row.contains_key(&counter)
        };
        match rows.iter_mut().rev().find(is_last) {
            Some((.., row)) => drop(row.insert(counter, raw)),
            None => rows.push((set, instance, Row::from([(counter, raw)]))),
        }
    }
    ensure!(!rows.is_empty(), "there is no value");
    Ok(rows)
}

/// Writes a file to disk again and again, until the returned value is dropped.
fn write_until_dropped(file: PathBuf) -> Background {
    Background::start(move |stop| {
        let bytes = vec![7; 1 << 20];
        while !stop.load(Relaxed) {
            // A full disk ends the load; the check says that nothing was written.
            let Ok(mut written) = File::create(&file) else { break };
            if written.write_all(&bytes).and_then(|()| written.sync_all()).is_err() {
                break;
            }
        }
        let _ = remove_file(&file); // it may not be there
    })
}
