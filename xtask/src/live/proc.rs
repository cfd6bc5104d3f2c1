//! Reader of `/proc` for checks, which is independent of the crates and simple.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

/// Numbers of kernel files by the name of the file and of the line: the first number of each line, such as
/// `meminfo MemFree`.
pub type Numbers = BTreeMap<String, f64>;

/// Returns the numbers of `/proc/meminfo` in bytes, `/proc/vmstat` and `/proc/stat`, and of threads, uptime and
/// processes.
pub fn read() -> Result<Numbers> {
    let mut all = Numbers::new();
    for (file, factor) in [("meminfo", 1024.0), ("vmstat", 1.0), ("stat", 1.0)] {
        for line in text(file)?.lines() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(number)) = (words.next(), words.next()) else { continue };
            let number: f64 = number.parse().with_context(|| format!("/proc/{file}: {line}"))?;
            all.insert(format!("{file} {}", name.trim_end_matches(':')), number * factor);
        }
    }
    let loadavg = text("loadavg")?;
    let threads = loadavg.split([' ', '/']).nth(4).and_then(|word| word.parse().ok());
    all.insert("threads".into(), threads.context("/proc/loadavg has no number of threads")?);
    let uptime = text("uptime")?;
    let uptime = uptime.split(' ').next().and_then(|word| word.parse().ok());
    all.insert("uptime".into(), uptime.context("/proc/uptime has no number")?);
    all.insert("processes".into(), processes()?);
    Ok(all)
}

/// Returns the number of a kernel file with this name, such as `meminfo MemFree`.
pub fn of(numbers: &Numbers, name: &str) -> Result<f64> {
    numbers.get(name).copied().with_context(|| format!("/proc has no {name}"))
}

/// Returns the number of logical processors that are online.
pub fn cpus() -> Result<f64> {
    let is_cpu = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
    Ok(text("stat")?.lines().filter(is_cpu).count() as f64)
}

fn processes() -> Result<f64> {
    let mut count = 0.0;
    for entry in fs::read_dir("/proc").context("/proc")? {
        let name = entry?.file_name();
        count += f64::from(u8::from(name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())));
    }
    Ok(count)
}

fn text(file: &str) -> Result<String> {
    fs::read_to_string(format!("/proc/{file}")).with_context(|| format!("/proc/{file}"))
}
