//! Any bytes at all as the text of a kernel file.

use std::fmt::Debug;

use perfset_linux::TextError;
use perfset_linux::sources::cpuinfo::CpuInfo;
use perfset_linux::sources::cpulist::{CPU_LIMIT, NODE_LIMIT};
use perfset_linux::sources::interrupts::Interrupts;
use perfset_linux::sources::loadavg::LoadAvg;
use perfset_linux::sources::meminfo::{self, MemInfo};
use perfset_linux::sources::modules::Modules;
use perfset_linux::sources::node_meminfo::NodeMemInfo;
use perfset_linux::sources::numastat::NumaStat;
use perfset_linux::sources::powercap::{self, Domain};
use perfset_linux::sources::proc_stat::{ProcStat, Totals};
use perfset_linux::sources::softirqs::Softirqs;
use perfset_linux::sources::sysvipc::Objects;
use perfset_linux::sources::vmstat::{self, VmStat};
use perfset_linux::sources::{
    Number, attribute, cppc, cpuidle, cpulist, hwmon, processes, thermal, topology,
};

/// The first byte says which file it is, a line end may follow it; the rest is the text.
pub fn check(input: &[u8]) {
    let Some((file, text)) = input.split_first() else { return };
    let text = text.strip_prefix(b"\n").unwrap_or(text);
    let lines = text.split(|byte| *byte == b'\n').count();
    let error = match file {
        b'a' => number(text).err(),
        b'c' => again(text, CpuInfo::parse).err(),
        b'd' => cpuidle::depth(text).err(),
        b'e' => attribute::line(text).err(),
        b'f' => cppc::FeedbackCounters::parse(text).err(),
        b'g' => signed(text).err(),
        b'h' => {
            names(text);
            None
        }
        b'i' => again(text, Interrupts::parse).err(),
        b'l' => list(text, CPU_LIMIT).err(),
        b'M' => again(text, meminfo::AllLines::parse).err(),
        b'm' => again(text, MemInfo::parse).and_then(of_meminfo).err(),
        b'n' => nodes(text).err(),
        b'o' => again(text, Modules::parse).err(),
        b'p' => {
            pid(text);
            None
        }
        b'q' => again(text, Softirqs::parse).err(),
        b'N' => again(text, NodeMemInfo::parse).err(),
        b'S' => again(text, NumaStat::parse).err(),
        b's' => again(text, ProcStat::parse).and_then(faults).err(),
        b't' => again(text, Totals::parse).and_then(of_totals).err(),
        b'u' => again(text, Objects::parse).err(),
        b'V' => again(text, vmstat::AllLines::parse).err(),
        b'v' => again(text, VmStat::parse).and_then(of_vmstat).err(),
        b'w' => again(text, LoadAvg::parse).err(),
        _ => None,
    };
    if let Some(error) = error {
        assert!((1..=lines).contains(&error.line), "{error}, of {lines}");
        assert!(error.found.chars().count() <= 40 * 10, "{error}"); // each may be escaped
    }
}

/// Parses twice into the same place and once into a new one: nothing is left of what was there before.
fn again<T: Default + Debug + PartialEq>(
    text: &[u8],
    parse: fn(&mut T, &[u8]) -> Result<(), TextError>,
) -> Result<T, TextError> {
    let (mut used, mut new) = (T::default(), T::default());
    let _ = parse(&mut used, text);
    let (second, first) = (parse(&mut used, text), parse(&mut new, text));
    assert_eq!(second, first);
    first?;
    assert_eq!(used, new);
    Ok(new)
}

/// The lines that are lost, the first of them.
fn faults(stat: ProcStat) -> Result<(), TextError> {
    assert!(stat.cpus.is_sorted_by_key(|line| line.cpu));
    for line in &stat.cpus {
        assert_eq!(stat.cpu(line.cpu), Some(line));
        line.ticks.clone()?;
    }
    stat.interrupts.transpose().map(|_| ())
}

/// The number of each wanted line, and the first that cannot be had.
fn each<const N: usize>(numbers: [Number; N]) -> Result<(), TextError> {
    assert!(numbers.iter().any(Option::is_some), "else it is an error of the whole file");
    numbers.into_iter().flatten().try_for_each(|number| number.map(drop))
}

fn of_meminfo(meminfo: MemInfo) -> Result<(), TextError> {
    each([
        meminfo.mem_free,
        meminfo.mem_available,
        meminfo.buffers,
        meminfo.cached,
        meminfo.active_file,
        meminfo.inactive_file,
        meminfo.dirty,
        meminfo.writeback,
        meminfo.shmem,
        meminfo.s_reclaimable,
        meminfo.s_unreclaim,
        meminfo.kernel_stack,
        meminfo.page_tables,
        meminfo.commit_limit,
        meminfo.committed_as,
        meminfo.vmalloc_total,
        meminfo.vmalloc_used,
        meminfo.percpu,
    ])
}

fn of_vmstat(vmstat: VmStat) -> Result<(), TextError> {
    each([
        vmstat.nr_dirty,
        vmstat.nr_written,
        vmstat.nr_dirty_threshold,
        vmstat.pgpgin,
        vmstat.pgpgout,
        vmstat.pgfault,
        vmstat.pgmajfault,
        vmstat.pgsteal_kswapd,
        vmstat.pgsteal_direct,
    ])
}

fn of_totals(totals: Totals) -> Result<(), TextError> {
    each([totals.ctxt, totals.procs_running])
}

/// A name in `/proc` stands for a process if it is a number and nothing else.
fn pid(name: &[u8]) {
    let digit = |byte: &u8| char::from(*byte).to_digit(10);
    let number =
        name.iter().try_fold(0_u32, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?));
    assert_eq!(processes::pid(name), number.filter(|_| !name.is_empty()));
}

/// A number is what the standard library says it is.
fn number(text: &[u8]) -> Result<(), TextError> {
    let line = text.strip_suffix(b"\n").unwrap_or_default().trim_ascii();
    let digits = str::from_utf8(line).ok().filter(|line| line.bytes().all(|byte| byte.is_ascii_digit()));
    let parsed = attribute::number(text);
    if let Ok(number) = parsed {
        assert_eq!(digits.and_then(|digits| digits.parse().ok()), Some(number));
    }
    parsed.map(|_| ())
}

/// The same with a sign.
fn signed(text: &[u8]) -> Result<(), TextError> {
    let parsed = attribute::signed(text);
    if let Ok(number) = parsed {
        let line = str::from_utf8(text).map(str::trim);
        assert_eq!(line.map(str::parse), Ok(Ok(number)));
    }
    parsed.map(|_| ())
}

/// Names of folders and attributes in `/sys/class`: what is known by one can be told by it.
fn names(name: &[u8]) {
    if let Some(sensor) = hwmon::sensor(name) {
        assert!(name.starts_with(sensor.kind.prefix().as_bytes()));
    }
    if let Some(zone) = powercap::zone(name) {
        assert_eq!(zone.part.is_some(), name.iter().filter(|byte| **byte == b':').count() == 2);
    }
    if let Domain::Other(other) = powercap::domain(name) {
        assert_eq!(other, name);
    }
    let _ = thermal::slows_processors(name); // any answer will do
}

fn list(text: &[u8], limit: u32) -> Result<Vec<u32>, TextError> {
    let (mut ids, mut ranges) = (vec![u32::MAX], vec![7..=u32::MAX]);
    let parsed = cpulist::parse(text, limit, &mut ids);
    assert_eq!(cpulist::ranges(text, limit, &mut ranges), parsed);
    assert!(ids.iter().copied().eq(ranges.into_iter().flatten()));
    parsed?;
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.last().is_none_or(|last| *last < limit));
    Ok(ids)
}

/// Up to four lists of CPUs, a line each: the online ones and those of the nodes.
fn nodes(text: &[u8]) -> Result<(), TextError> {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').take(4);
    let online = lines.next().map_or(Ok(Vec::new()), |line| list(line, NODE_LIMIT))?;
    let ranges = |line| {
        let mut ranges = Vec::new();
        cpulist::ranges(line, CPU_LIMIT, &mut ranges).map(|()| ranges)
    };
    let nodes = (0..).zip(lines).map(|(node, line)| Ok((node, ranges(line)?)));
    let nodes = nodes.collect::<Result<Vec<_>, TextError>>()?;
    let places = topology::places(&online, &nodes);
    assert!(places.is_sorted());
    let mut cpus: Vec<_> = places.iter().map(|place| place.cpu).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, online, "every online CPU has one place");
    assert!(places.windows(2).all(|pair| (pair[0].node, pair[0].index) != (pair[1].node, pair[1].index)));
    Ok(())
}
