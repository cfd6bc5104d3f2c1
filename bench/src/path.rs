//! A warm collection of three counter paths and their values, beside bare readings of the files that they need.

use std::collections::BTreeSet;
use std::hint::black_box;

use anyhow::{Result, ensure};
use perfset_engine::Machine;
use perfset_engine::path::PathQuery;

use crate::collect::floor::{Floor, after_blanks, after_line, number};
use crate::collect::kernel_file::{KernelFile, Kind};
use crate::collect::machine;
use crate::measure::Comparison;
use crate::{Options, Out};

/// What a screen or a script asks for first: a processor time, a size and a rate.
const PATHS: [&str; 3] = [
    r"\Processor Information(_Total)\% Processor Time",
    r"\Memory\Available Bytes",
    r"\System\Context Switches/sec",
];

/// One selection of paths.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let before = KernelFile::open_ones()?;
    let mut machine = machine();
    let mut query = warm_query(&mut machine)?;
    let kept: BTreeSet<_> = KernelFile::open_ones()?.difference(&before).cloned().collect();
    let mut separate = warm_query(&mut machine)?;
    let needed = needed(&kept);
    ensure!(
        needed.len() == 2,
        "/proc/stat and /proc/meminfo are not among the files that are open: {kept:?}"
    );

    let values = query.values().iter().filter(|value| value.value.value.is_ok()).count();
    ensure!(values == PATHS.len(), "{values} of {} paths have a value", PATHS.len());
    let title =
        format!("path: {}, {} entries:\n{}", PATHS.join(", "), query.entries_len(), KernelFile::list(&kept),);
    let (mut floor, mut reading, mut reading_kept) =
        (Floor::open(&needed)?, Floor::open(&needed)?, Floor::open(&kept)?);
    let comparison = Comparison::new(title, PATHS.len())
        .variant("pread of /proc/stat and /proc/meminfo, position parser (floor)", || {
            floor.collect_with(wanted).unwrap_or(0)
        })
        .reference("floor")
        .variant("PathQuery::collect and its values", || {
            let collected = black_box(&mut query).collect();
            collected.map_or(0, |_| sum(&query))
        })
        .goal("floor", 1.5)
        .variant("PathQuery::collect alone", || u64::from(black_box(&mut separate).collect().is_ok()))
        .variant("pread of /proc/stat and /proc/meminfo alone", || reading.read().unwrap_or(0))
        .variant("pread of all files above alone", || reading_kept.read().unwrap_or(0));
    out(&comparison.run(rounds))
}

fn warm_query(machine: &mut Machine) -> Result<PathQuery> {
    let mut query = PathQuery::open(machine)?;
    for path in PATHS {
        query.add(machine, &path.parse()?)?;
    }
    for _ in 0..3 {
        query.collect()?;
    }
    Ok(query)
}

fn sum(query: &PathQuery) -> u64 {
    query.values().iter().map(|value| value.value.value.as_ref().map_or(0.0, |value| value.raw)).sum::<f64>()
        as u64
}

/// The files that have the three numbers, each once.
fn needed(kept: &BTreeSet<KernelFile>) -> BTreeSet<KernelFile> {
    let mut files = KernelFile::once(kept);
    files.retain(|file| matches!(file.path.to_str(), Some("/proc/stat" | "/proc/meminfo")));
    files
}

/// The three numbers of one file or the other.
fn wanted(kind: Kind, text: &[u8]) -> u64 {
    match kind {
        Kind::Stat => times_at_rest(text).wrapping_add(context_switches(text)),
        _ => available(text),
    }
}

/// `idle` and `iowait` of all processors together: the fourth and fifth number of the first line.
fn times_at_rest(text: &[u8]) -> u64 {
    let mut rest = text.get(3..).unwrap_or_default();
    for _ in 0..3 {
        rest = number(after_blanks(rest)).1;
    }
    let (idle, rest) = number(after_blanks(rest));
    let (iowait, _) = number(after_blanks(rest));
    idle.wrapping_add(iowait)
}

/// `ctxt`, in the second line after those of the processors.
fn context_switches(text: &[u8]) -> u64 {
    let mut rest = text;
    while let [b'c', b'p', b'u', ..] = rest {
        rest = after_line(rest);
    }
    let line = after_line(rest);
    number(after_blanks(line.get(4..).unwrap_or_default())).0
}

/// `MemAvailable`: the third line.
fn available(text: &[u8]) -> u64 {
    let line = after_line(after_line(text));
    number(after_blanks(line.get(13..).unwrap_or_default())).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_parsers_return_the_right_column() {
        let stat = b"cpu  97 97 97 2 3 97\ncpu0 97 97 97 97 97\nintr 97 97\nctxt 5\nbtime 97\n";
        assert_eq!(times_at_rest(stat), 5);
        assert_eq!(context_switches(stat), 5);
        assert_eq!(available(b"MemTotal:  97 kB\nMemFree:  97 kB\nMemAvailable:  7 kB\nBuffers: 97 kB\n"), 7);
    }
}
