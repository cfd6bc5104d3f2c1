//! Bench of counter paths: a warm collection of three paths and their values, beside bare readings of the needed
//! files. Many paths read one by one are measured beside all at once.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use perfset_core::{CounterType, Guid, InstanceId};
use perfset_engine::path::{CounterValue, Format, FormatKind, Number, PathQuery};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Catalogue, CollectRequest, Machine, Provider, Rows, SourceError};

use crate::collect::floor::{Floor, after_blanks, after_line, number};
use crate::collect::kernel_file::{KernelFile, Kind};
use crate::collect::machine;
use crate::counting::catalogue;
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Counter paths that a screen or a script requests first: a processor time, a size and a rate.
const PATHS: [&str; 3] = [
    r"\Processor Information(_Total)\% Processor Time",
    r"\Memory\Available Bytes",
    r"\System\Context Switches/sec",
];

/// Measures one selection of counter paths, then 1,000 paths of three shapes.
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
    out(&comparison.run(rounds))?;
    for (instances, counters) in [(100, 10), (1_000, 1), (1, 1_000)] {
        out(&many(instances, counters, rounds)?)?;
    }
    Ok(())
}

/// Measures 1,000 counter paths of one collection, read one by one and all at once.
fn many(instances: usize, counters: usize, rounds: usize) -> Result<Report> {
    let mut machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(Rising::new(instances, counters)));
    let mut query = PathQuery::open(&mut machine)?;
    for instance in 0..instances {
        for counter in 0..counters {
            let path = format!(r"\Counting(inst{instance})\Counter {counter}");
            query.add(&mut machine, &path.parse()?)?;
        }
    }
    for _ in 0..3 {
        query.collect()?;
    }
    let paths = instances * counters;
    let all = all_paths(&query);
    query.collect()?;
    let each = each_path(&query, paths);
    ensure!(all == each && all != 0, "all at once {all}, one by one {each}");
    let first = query.formatted_value(0, LARGE).ok().context("the first path has no value")?;
    ensure!(first.number == Some(Number::Large(1)), "{first:?} is not the rate");
    // Each run reads a new sample, because the status of a value that was read before is found sooner.
    let query = RefCell::new(query);
    let collect = || query.borrow_mut().collect().map_or((), |_| ());
    let title = format!("path: {paths} paths of {instances} instances x {counters} counters, formatted");
    let comparison = Comparison::new(title, paths)
        .per("path")
        .variant("PathQuery::values and formatted, all at once", || all_paths(black_box(&query.borrow())))
        .before(collect)
        .reference("all at once")
        .variant("PathQuery::formatted_value, one by one", || each_path(black_box(&query.borrow()), paths))
        .before(collect)
        .goal("all at once", 1.2);
    Ok(comparison.run(rounds))
}

const LARGE: Format = Format::new(FormatKind::Large);

fn checksum(sum: u64, value: &CounterValue) -> u64 {
    let number = match value.number {
        Some(Number::Large(number)) => number as u64,
        _ => 1 << 32,
    };
    sum.wrapping_mul(31).wrapping_add(number).wrapping_add(u64::from(value.c_status.0))
}

fn all_paths(query: &PathQuery) -> u64 {
    query.formatted(&query.values(), LARGE).iter().fold(0, checksum)
}

fn each_path(query: &PathQuery, paths: usize) -> u64 {
    let mut sum = 0;
    for path in 0..paths {
        let Ok(value) = query.formatted_value(path, LARGE) else { return 0 };
        sum = checksum(sum, &value);
    }
    sum
}

/// Test provider whose values rise with every collection: each counter of each instance by another number.
struct Rising {
    catalogue: Arc<Catalogue>,
    instances: usize,
    collections: u64,
}

impl Rising {
    const GUID: Guid = Guid::from_u128(0x8d0c_4a1e_0f7b_4d5e_a6c3_5b1e_92f4_22bc);

    fn new(instances: usize, counters: usize) -> Self {
        let types = std::iter::repeat_n(CounterType::PERF_COUNTER_BULK_COUNT, counters);
        Self { catalogue: catalogue(Self::GUID, types), instances, collections: 0 }
    }
}

impl Provider for Rising {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, _: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        for instance in 0..self.instances {
            rows.push(&format!("inst{instance}"), InstanceId(instance as u32), None);
        }
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        for instance in 0..self.instances {
            let mut row = rows.push(&format!("inst{instance}"), InstanceId(instance as u32), None);
            for column in 0..want.counters.len() {
                row.set(column, self.collections * (instance * want.counters.len() + column + 1) as u64);
            }
        }
        self.collections += 1;
        Ok(())
    }
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

/// Returns the kernel files that contain the values of the three counter paths, each once.
fn needed(kept: &BTreeSet<KernelFile>) -> BTreeSet<KernelFile> {
    let mut files = KernelFile::once(kept);
    files.retain(|file| matches!(file.path.to_str(), Some("/proc/stat" | "/proc/meminfo")));
    files
}

/// Returns the sum of the numbers that the three counter paths need from a kernel file.
fn wanted(kind: Kind, text: &[u8]) -> u64 {
    match kind {
        Kind::Stat => times_at_rest(text).wrapping_add(context_switches(text)),
        _ => available(text),
    }
}

/// Returns the sum of `idle` and `iowait` of all processors in `/proc/stat`, the fourth and fifth number of the first
/// line.
fn times_at_rest(text: &[u8]) -> u64 {
    let mut rest = text.get(3..).unwrap_or_default();
    for _ in 0..3 {
        rest = number(after_blanks(rest)).1;
    }
    let (idle, rest) = number(after_blanks(rest));
    let (iowait, _) = number(after_blanks(rest));
    idle.wrapping_add(iowait)
}

/// Returns the number of `ctxt` in `/proc/stat`, in the second line after those of the processors.
fn context_switches(text: &[u8]) -> u64 {
    let mut rest = text;
    while let [b'c', b'p', b'u', ..] = rest {
        rest = after_line(rest);
    }
    let line = after_line(rest);
    number(after_blanks(line.get(4..).unwrap_or_default())).0
}

/// Returns the number of `MemAvailable` in the third line of `/proc/meminfo`.
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
