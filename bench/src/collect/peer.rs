//! Collection by a program that uses the procfs crate, with which the engine is compared. Where that has nothing, for
//! `/proc/softirqs`, `/proc/interrupts` and everything in `/sys`, it reads a file to a string and parses that.

use std::collections::BTreeSet;
use std::fs::read_to_string;

use anyhow::{Context, Result};
use procfs::{CurrentSI, KernelStats};

use super::kernel_file::{KernelFile, Kind};

/// Reads each kernel file as a program with the procfs crate does, and returns the sum of all numbers.
///
/// The list of CPUs is not read: procfs has them from `/proc/stat`.
pub fn collect(files: &BTreeSet<KernelFile>) -> Result<u64> {
    files.iter().try_fold(0, |sum: u64, file| {
        let sum_of_file = match file.kind() {
            Kind::Stat => times()?,
            Kind::Columns => columns(&read_to_string(&file.path)?)?,
            Kind::Numbers | Kind::Named => numbers(&read_to_string(&file.path)?)?,
            Kind::Online => 0,
        };
        Ok(sum.wrapping_add(sum_of_file))
    })
}

fn times() -> Result<u64> {
    let stat = KernelStats::current()?;
    let of_cpu = |cpu: &procfs::CpuTime| {
        let newer = [cpu.iowait, cpu.irq, cpu.softirq, cpu.steal, cpu.guest, cpu.guest_nice];
        cpu.user + cpu.nice + cpu.system + cpu.idle + newer.into_iter().flatten().sum::<u64>()
    };
    Ok(stat.cpu_time.iter().map(of_cpu).sum())
}

fn columns(text: &str) -> Result<u64> {
    let mut lines = text.lines();
    let cpus = lines.next().context("no heading")?.split_whitespace().count();
    let mut sums = vec![0_u64; cpus];
    for line in lines {
        let numbers = line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum = sum.wrapping_add(number);
        }
    }
    Ok(sums.into_iter().fold(0, u64::wrapping_add))
}

fn numbers(text: &str) -> Result<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    words.map(|word| word.parse::<u64>().context("not a number")).sum()
}
