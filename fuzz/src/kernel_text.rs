//! Any bytes at all as the text of a kernel file.

use std::fmt::Debug;

use perfset_linux::cpuinfo::CpuInfo;
use perfset_linux::cpulist::{CPU_LIMIT, NODE_LIMIT};
use perfset_linux::interrupts::Interrupts;
use perfset_linux::proc_stat::ProcStat;
use perfset_linux::softirqs::Softirqs;
use perfset_linux::{TextError, attribute, cppc, cpuidle, cpulist, topology};

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
        b'n' => nodes(text).err(),
        b'q' => again(text, Softirqs::parse).err(),
        b's' => again(text, ProcStat::parse).and_then(faults).err(),
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
    let mut ids = vec![u32::MAX];
    cpulist::parse(text, limit, &mut ids)?;
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.last().is_none_or(|last| *last < limit));
    Ok(ids)
}

/// Up to four lists of CPUs, a line each: the online ones and those of the nodes.
fn nodes(text: &[u8]) -> Result<(), TextError> {
    let mut lists = text.split_inclusive(|byte| *byte == b'\n').take(4).map(|line| list(line, NODE_LIMIT));
    let online = lists.next().unwrap_or(Ok(Vec::new()))?;
    let nodes =
        (0..).zip(lists).map(|(node, list)| Ok((node, list?))).collect::<Result<Vec<_>, TextError>>()?;
    let places = topology::places(&online, &nodes);
    assert!(places.is_sorted());
    let mut cpus: Vec<_> = places.iter().map(|place| place.cpu).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, online, "every online CPU has one place");
    assert!(places.windows(2).all(|pair| (pair[0].node, pair[0].index) != (pair[1].node, pair[1].index)));
    Ok(())
}
