//! Bench of collecting a whole machine beside other programs: processors, memory, disks and networks, and all
//! processes.

mod psutil;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use perfset_engine::{Entry, Query, Snapshot};
use procfs::{Current, CurrentSI, KernelStats, Meminfo, diskstats, net, vmstat};
use sysinfo::{Disks, Networks, System};

use perfset_linux::ProcessSource;

use crate::collect::floor::Floor;
use crate::collect::kernel_file::KernelFile;
use crate::collect::{machine, values, warm};
use crate::exporter::Peer;
use crate::measure::{Comparison, Report};
use crate::process::collectors::{Perfset, Procfs, Sysinfo};
use crate::process::nursery::{Nursery, Who};
use crate::process::{TURNS, processes};
use crate::{Options, Out};
use psutil::Psutil;

/// Measures the collection of the whole system, then of all processes.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    out(&of_system(options.rounds)?)?;
    out(&of_processes(options)?)
}

/// Kernel files that each of the compared programs reads.
const FILES: [&str; 5] = ["/proc/stat", "/proc/meminfo", "/proc/vmstat", "/proc/diskstats", "/proc/net/dev"];
/// Names of countersets with counters that come from the five compared kernel files.
const SETS: [&str; 6] =
    ["Processor Information", "Memory", "System", "PhysicalDisk", "Network Interface", "Linux Memory"];
const COLLECTORS: [&str; 6] = [
    "--collector.cpu",
    "--collector.stat",
    "--collector.meminfo",
    "--collector.vmstat",
    "--collector.diskstats",
    "--collector.netdev",
];

/// Measures the collection of the counters that come from the five kernel files of the whole system.
fn of_system(rounds: usize) -> Result<Report> {
    let files: BTreeSet<_> = FILES.into_iter().map(KernelFile::at).collect();
    let mut floor = Floor::open(&files)?;
    let (query, missing) = query_of_files()?;
    let (mut query, mut snapshot) = (query, Snapshot::default());
    query.collect(&mut snapshot)?;
    let values = values(snapshot.block())?;
    ensure!(values.count > 0, "there are no values");
    let exporter = Peer::start(&COLLECTORS, &[])?;
    let psutil = Psutil::start("system")?;
    let mut sysinfo = SystemOfSysinfo::new()?;
    let title = format!(
        "machine: {}: {} entries, {} values{missing}",
        FILES.join(", "),
        query.entries().len(),
        values.count
    );
    let comparison = Comparison::new(title, values.count)
        .variant("pread of each file and a position parser (floor)", || floor.collect().unwrap_or(0))
        .reference("floor")
        .variant("procfs crate, each file (peer)", || files_of_procfs().unwrap_or(0))
        .reference("procfs")
        .variant("sysinfo crate: CPU usage, memory, disks, networks", || sysinfo.collect())
        .variant("psutil: CPU, memory, swap, disks, networks", || psutil.collect())
        .timed_by(|| psutil.spent_ns())
        .variant("node_exporter's process, a scrape", || exporter.scrape())
        .timed_by(|| exporter.exporter.cpu_ns().unwrap_or(f64::NAN))
        .reference("exporter")
        .variant("Query::collect, every value of the block", || {
            let collected = query.collect(black_box(&mut snapshot));
            collected.ok().and_then(|()| self::values(snapshot.block()).ok()).map_or(0, |values| values.sum)
        })
        .goal("procfs", 0.5);
    let report = comparison.run(rounds);
    exporter.check()?;
    psutil.check()?;
    Ok(report)
}

/// Returns a query of the counters that come from the five kernel files, and the names of missing countersets. The
/// query has an entry for each counterset.
fn query_of_files() -> Result<(Query, String)> {
    let machine = machine();
    let sets = machine.countersets();
    let sets: Vec<_> = sets.iter().map(|guid| machine.counterset(guid)).collect::<Result<_, _>>()?;
    let mut missing = String::new();
    let mut entries = Vec::new();
    for name in SETS {
        let Some(set) = sets.iter().find(|set| set.name.as_ref() == name) else {
            missing += &format!(", no {name}");
            continue;
        };
        let of_files = |file: &str| FILES.contains(&file);
        let counters = set.counters.iter().filter(|counter| of_files(&counter.source.file));
        let entry = Entry::several(set.guid, counters.map(|counter| counter.id));
        let single = !set.instance_type.is_multiple();
        entries.push(if single { entry } else { entry.instance("*") });
    }
    let mut query = machine.query();
    warm(&mut query, entries)?;
    Ok((query, missing))
}

fn files_of_procfs() -> Result<u64> {
    let stat = black_box(KernelStats::current()?);
    let meminfo = black_box(Meminfo::current()?);
    let disks = black_box(diskstats()?);
    let networks = black_box(net::dev_status()?);
    let vmstat = black_box(vmstat()?);
    Ok(stat.ctxt + meminfo.mem_free + (disks.len() + networks.len() + vmstat.len()) as u64)
}

/// Collector that reads CPU usage, memory, disks and networks with the sysinfo crate. The crate reads other files than
/// the five too, and not all of these.
#[derive(Debug)]
struct SystemOfSysinfo {
    system: System,
    disks: Disks,
    networks: Networks,
}

impl SystemOfSysinfo {
    fn new() -> Result<Self> {
        let failed = |error| anyhow!("sysinfo: {error:?}");
        Ok(Self {
            system: System::new().map_err(failed)?,
            disks: Disks::new_with_refreshed_list().map_err(failed)?,
            networks: Networks::new_with_refreshed_list().map_err(failed)?,
        })
    }

    fn collect(&mut self) -> u64 {
        self.system.refresh_cpu_usage();
        self.system.refresh_memory();
        self.disks.refresh(true);
        self.networks.refresh(true);
        self.system.used_memory()
    }
}

/// Measures the collection of all processes, 5 % of which have run before each collection.
fn of_processes(options: &Options) -> Result<Report> {
    const ROUNDS: usize = 5; // some peers take seconds
    let pidstat = Pidstat::new()?;
    let psutil = Psutil::start("processes")?;
    let nursery = Nursery::start(options.processes)?;
    let (mut procfs, mut sysinfo) = (Procfs::new(2), Sysinfo::new()?);
    let mut perfset = Perfset::new(2, ProcessSource::Gate)?;
    let processes = processes()?;
    let before = || nursery.let_run(Who::OneInTwenty);
    let comparison =
        Comparison::new(format!("machine: {processes} processes, 5 % have run before each"), processes)
            .per("process")
            .variant("procfs crate: stat, statm, io", || procfs.collect().unwrap_or(0))
            .before(before)
            .reference("procfs")
            .variant("sysinfo crate: CPU, memory, disk usage", || sysinfo.collect())
            .before(before)
            .reference("sysinfo")
            .variant("psutil: process_iter, 9 attributes", || psutil.collect())
            .timed_by(|| psutil.spent_ns())
            .before(before)
            .reference("psutil")
            .variant("pidstat -u -r -d, once", || pidstat.collect())
            .timed_by(children_ns)
            .before(before)
            .reference("pidstat")
            .variant("Query::collect", || perfset.collect().unwrap_or(0))
            .before(before)
            .at_least(TURNS)
            .goal("procfs", 0.166);
    let report = comparison.run(options.rounds.min(ROUNDS));
    pidstat.check()?;
    psutil.check()?;
    nursery.check()?;
    Ok(report)
}

/// Program pidstat of the sysstat package, which the bench starts for each collection.
#[derive(Debug)]
struct Pidstat {
    /// Error of the first run of pidstat that failed.
    failed: OnceCell<anyhow::Error>,
}

const PIDSTAT: &str = "pidstat";

impl Pidstat {
    fn new() -> Result<Self> {
        let pidstat = Self { failed: OnceCell::new() };
        pidstat.run()?;
        Ok(pidstat)
    }

    fn run(&self) -> Result<()> {
        let ran = Command::new(PIDSTAT).args(["-u", "-r", "-d"]).stdout(Stdio::null()).status();
        match ran {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no {PIDSTAT}; it is in a Debian package: apt-get install sysstat")
            }
            ran => {
                let status = ran.context(PIDSTAT)?;
                ensure!(status.success(), "{PIDSTAT}: {status}");
                Ok(())
            }
        }
    }

    fn collect(&self) -> u64 {
        if self.failed.get().is_none()
            && let Err(error) = self.run()
        {
            let _ = self.failed.set(error); // it was not set
        }
        0
    }

    fn check(self) -> Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

/// Returns the CPU time in ns of all ended child processes of this bench.
fn children_ns() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(f64::NAN, |usage| {
        (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e3
    })
}
