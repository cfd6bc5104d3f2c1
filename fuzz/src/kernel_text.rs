//! Any bytes at all as the text of a kernel file.

use std::fmt::Debug;

use perfset_linux::TextError;
use perfset_linux::sources::cgroup::{
    BlkioSums, Controllers, CpuAcctStat, CpuStat, IoSums, MemoryEvents, MemoryStat, limit,
};
use perfset_linux::sources::cpuinfo::CpuInfo;
use perfset_linux::sources::cpulist::{CPU_LIMIT, NODE_LIMIT};
use perfset_linux::sources::file_nr::FileNr;
use perfset_linux::sources::interrupts::Interrupts;
use perfset_linux::sources::loadavg::{LoadAvg, Loads};
use perfset_linux::sources::meminfo::MemInfo;
use perfset_linux::sources::modules::Modules;
use perfset_linux::sources::pressure::Pressure;
use perfset_linux::sources::proc_stat::{ProcStat, Totals};
use perfset_linux::sources::schedstat::SchedStat;
use perfset_linux::sources::softirqs::{SoftirqKinds, Softirqs};
use perfset_linux::sources::vmstat::VmStat;
use perfset_linux::sources::{Number, attribute, cppc, cpuidle, cpulist, processes, topology};

/// The first byte says which file it is, a line end may follow it; the rest is the text.
pub fn check(input: &[u8]) {
    let Some((file, text)) = input.split_first() else { return };
    let text = text.strip_prefix(b"\n").unwrap_or(text);
    let lines = text.split(|byte| *byte == b'\n').count();
    let error = match file {
        b'a' => number(text).err(),
        b'c' => again(text, CpuInfo::parse).err(),
        b'd' => cpuidle::depth(text).err(),
        b'f' => cppc::FeedbackCounters::parse(text).err(),
        b'i' => again(text, Interrupts::parse).err(),
        b'l' => list(text, CPU_LIMIT).err(),
        b'm' => again(text, MemInfo::parse).and_then(of_meminfo).err(),
        b'n' => nodes(text).err(),
        b'o' => again(text, Modules::parse).err(),
        b'p' => {
            pid(text);
            None
        }
        b'q' => again(text, Softirqs::parse).err(),
        b's' => again(text, ProcStat::parse).and_then(faults).err(),
        b't' => again(text, Totals::parse).and_then(of_totals).err(),
        b'v' => again(text, VmStat::parse).and_then(of_vmstat).err(),
        b'w' => again(text, LoadAvg::parse).err(),
        b'2' => again(text, CpuStat::parse).and_then(|stat| any([stat.usage_usec, stat.nr_periods])).err(),
        b'3' => again(text, CpuAcctStat::parse).and_then(|stat| each([stat.user, stat.system])).err(),
        b'4' => again(text, MemoryStat::parse).and_then(|stat| any([stat.anon, stat.pgfault])).err(),
        b'5' => again(text, MemoryStat::parse_v1).and_then(|stat| any([stat.anon, stat.pgfault])).err(),
        b'6' => again(text, MemoryEvents::parse).and_then(|it| any([it.low, it.oom_kill])).err(),
        b'7' => again(text, MemoryEvents::parse_v1).and_then(|it| any([it.oom_kill])).err(),
        b'8' => again(text, IoSums::parse).err(),
        b'9' => again(text, BlkioSums::parse).err(),
        b'L' => limit(text).err(),
        b'C' => Controllers::parse(text).err(),
        b'F' => again(text, FileNr::parse).err(),
        b'S' => again(text, SchedStat::parse).and_then(of_schedstat).err(),
        b'Q' => again(text, SoftirqKinds::parse).err(),
        b'A' => again(text, Loads::parse).err(),
        b'1' => again(text, Pressure::parse).and_then(of_pressure).err(),
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

/// The first of some numbers that cannot be had.
fn any<const N: usize>(numbers: [Number; N]) -> Result<(), TextError> {
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
    let VmStat { pgpgin, pgpgout, pgfault, pgmajfault, pgsteal_kswapd, pgsteal_direct } = vmstat;
    each([pgpgin, pgpgout, pgfault, pgmajfault, pgsteal_kswapd, pgsteal_direct])
}

/// The lines that are lost, the first of them.
fn of_schedstat(stat: SchedStat) -> Result<(), TextError> {
    assert!(stat.cpus().is_sorted_by_key(|line| line.cpu));
    stat.cpus().iter().try_for_each(|line| {
        assert_eq!(stat.cpu(line.cpu), Some(line));
        line.queue.clone().map(drop)
    })
}

fn of_pressure(pressure: Pressure) -> Result<(), TextError> {
    assert!(pressure.some.is_some() || pressure.full.is_some(), "else it is an error of the whole file");
    [pressure.some, pressure.full].into_iter().flatten().try_for_each(|line| line.map(drop))
}

fn of_totals(totals: Totals) -> Result<(), TextError> {
    each([totals.ctxt, totals.processes, totals.procs_running, totals.procs_blocked])
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
