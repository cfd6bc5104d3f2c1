//! No parser panics, whatever the text: every prefix and every changed byte of the fixtures, and arbitrary bytes.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::{
    attribute, cgroup, cppc, cpuidle, cpuinfo, cpulist, file_nr, interrupts, loadavg, meminfo, modules,
    pressure, proc_stat, schedstat, softirqs, vmstat,
};
use crate::sources::cpulist::CPU_LIMIT;
use crate::sources::text::TextError;

/// Reads a text and asks for everything that was found.
type Walk = fn(&[u8]) -> Result<(), TextError>;

const PARSERS: [(&str, Walk); 25] = [
    ("proc/stat", |text| {
        let mut stat = proc_stat::ProcStat::default();
        stat.parse(text)?;
        for line in &stat.cpus {
            let ticks = stat.cpu(line.cpu).unwrap().ticks.clone().unwrap_or_default();
            let _ = (ticks.resting(), ticks.privileged()); // any answer will do
        }
        Ok(())
    }),
    ("proc/stat", |text| proc_stat::Totals::default().parse(text)),
    ("proc/meminfo", |text| meminfo::MemInfo::default().parse(text)),
    ("proc/vmstat", |text| vmstat::VmStat::default().parse(text)),
    ("proc/modules", |text| modules::Modules::default().parse(text)),
    ("proc/loadavg", |text| loadavg::Loads::default().parse(text)),
    ("proc/sys/fs/file-nr", |text| file_nr::FileNr::default().parse(text)),
    ("proc/schedstat", |text| {
        let mut stat = schedstat::SchedStat::default();
        stat.parse(text)?;
        for line in stat.cpus() {
            let _ = stat.cpu(line.cpu).unwrap(); // any answer will do
        }
        Ok(())
    }),
    ("proc/softirqs", |text| {
        let mut kinds = softirqs::SoftirqKinds::default();
        kinds.parse(text)?;
        let _ = kinds.of(softirqs::Kind::Rcu, 7); // any answer will do
        Ok(())
    }),
    ("proc/loadavg", |text| loadavg::LoadAvg::default().parse(text)),
    ("proc/pressure/memory", |text| pressure::Pressure::default().parse(text)),
    ("sys/fs/cgroup/app.slice/cpu.stat", |text| cgroup::CpuStat::default().parse(text)),
    ("sys/fs/cgroup/app.slice/memory.stat", |text| cgroup::MemoryStat::default().parse(text)),
    ("sys/fs/cgroup/app.slice/memory.events", |text| cgroup::MemoryEvents::default().parse(text)),
    ("sys/fs/cgroup/app.slice/memory.max", |text| cgroup::limit(text).map(drop)),
    ("sys/fs/cgroup/app.slice/io.stat", |text| cgroup::IoSums::default().parse(text)),
    ("sys/fs/cgroup/cgroup.controllers", |text| cgroup::Controllers::parse(text).map(drop)),
    ("proc/interrupts", |text| {
        let mut interrupts = interrupts::Interrupts::default();
        interrupts.parse(text)?;
        for cpu in 0..10 {
            let _ = (interrupts.of(cpu), interrupts.clock_of(cpu)); // any answer will do
        }
        Ok(())
    }),
    ("proc/softirqs", |text| {
        let mut softirqs = softirqs::Softirqs::default();
        softirqs.parse(text)?;
        for cpu in 0..10 {
            let _ = softirqs.of(cpu); // any answer will do
        }
        Ok(())
    }),
    ("proc/cpuinfo", |text| {
        let mut cpuinfo = cpuinfo::CpuInfo::default();
        cpuinfo.parse(text)?;
        for cpu in 0..10 {
            let _ = cpuinfo.khz_of(cpu); // any answer will do
        }
        Ok(())
    }),
    ("sys/devices/system/cpu/online", |text| cpulist::parse(text, CPU_LIMIT, &mut Vec::new())),
    ("sys/devices/system/node/node1/cpulist", |text| cpulist::parse(text, CPU_LIMIT, &mut Vec::new())),
    ("sys/devices/system/cpu/cpu3/cpuidle/state2/name", |text| {
        cpuidle::depth(text).map(|depth| drop(cpuidle::classes(&[depth])))
    }),
    ("sys/devices/system/cpu/cpu3/cpufreq/base_frequency", |text| attribute::number(text).map(drop)),
    ("sys/devices/system/cpu/cpu3/acpi_cppc/feedback_ctrs", |text| {
        cppc::FeedbackCounters::parse(text).map(drop)
    }),
];

fn text(file: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux/two-nodes");
    fs::read(root.join(file)).unwrap()
}

#[test]
fn every_prefix() {
    for (file, walk) in PARSERS {
        let text = text(file);
        assert_eq!(walk(&text), Ok(()), "{file}");
        // Some give up single lines, not themselves; others may end after any line.
        let lines = [
            "proc/stat",
            "proc/meminfo",
            "proc/vmstat",
            "/memory",
            "cpu.stat",
            "memory.stat",
            "events",
            "proc/schedstat",
            "proc/softirqs",
        ];
        let by_line = lines.iter().any(|end| file.ends_with(end));
        let of_lines = by_line || file.starts_with("proc/") || file.ends_with("io.stat");
        for len in 0..text.len() {
            let cut = walk(&text[..len]);
            let whole_lines = len == 0 || text[len - 1] == b'\n';
            let may_live = by_line && len > 0 || of_lines && whole_lines;
            assert!(may_live || cut.is_err(), "{file}, the first {len} bytes");
        }
    }
}

#[test]
fn every_changed_byte() {
    for (file, walk) in PARSERS {
        let mut text = text(file);
        for at in 0..text.len() {
            let byte = text[at];
            for changed in [0, b'\n', b' ', b':', b'-', b'9', b'x', 0x80, 0xFF, byte ^ 1, byte ^ 0x10] {
                text[at] = changed;
                if let Err(error) = walk(&text) {
                    assert!(error.found.chars().count() < 400, "{file}: {error}"); // 40, each escaped
                }
            }
            text[at] = byte;
        }
    }
}

/// What the files are made of, as a pattern.
const WORD: &str = "cpu[0-9]{0,6}|CPU[0-9]|[0-9]{1,22}|intr|ctxt|LOC:|ERR:|processor|cpu MHz|ref:|del:|MemFree:|kB\
    |pgfault |Live|[-,:./ \n\t]";

proptest! {
    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        for (_, walk) in PARSERS {
            let _ = walk(&text); // any answer will do
        }
    }

    #[test]
    fn any_words(words in prop::collection::vec(WORD, 0..60)) {
        let text = words.concat();
        for (_, walk) in PARSERS {
            let _ = walk(text.as_bytes()); // any answer will do
        }
    }
}
