//! Bench of a scrape by Prometheus: collection and text alone, and over a kept connection, beside a node_exporter.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use perfset_engine::path::CounterPath;
use perfset_export::{ExportOptions as Exported, Exporter, ExpositionFormat, Profile, default_paths};
use rustix::time::{ClockId, clock_gettime};

use crate::collect::floor::Floor;
use crate::collect::kernel_file::KernelFile;
use crate::collect::machine;
use crate::exporter::{Exporter as Server, NodeExporters, Peer};
use crate::measure::Comparison;
use crate::{Options, Out};

/// Options of node_exporter that select the collectors for the measured counter paths.
const COLLECTORS: [&str; 16] = [
    "--collector.cpu",
    "--collector.stat",
    "--collector.loadavg",
    "--collector.meminfo",
    "--collector.vmstat",
    "--collector.pressure",
    "--collector.filesystem",
    "--collector.diskstats",
    "--collector.netdev",
    "--collector.netstat",
    "--collector.sockstat",
    "--collector.filefd",
    "--collector.entropy",
    "--collector.schedstat",
    "--collector.thermal_zone",
    "--collector.hwmon",
];
/// Options of node_exporter that select the collectors whose metrics the profile `node_exporter` has.
const COLLECTORS_OF_PROFILE: [&str; 28] = [
    "--collector.arp",
    "--collector.conntrack",
    "--collector.cpu",
    "--collector.cpufreq",
    "--collector.diskstats",
    "--collector.dmi",
    "--collector.entropy",
    "--collector.filefd",
    "--collector.filesystem",
    "--collector.loadavg",
    "--collector.mdadm",
    "--collector.meminfo",
    "--collector.netclass",
    "--collector.netdev",
    "--collector.netstat",
    "--collector.nfs",
    "--collector.os",
    "--collector.pressure",
    "--collector.processes",
    "--collector.schedstat",
    "--collector.sockstat",
    "--collector.softnet",
    "--collector.stat",
    "--collector.time",
    "--collector.timex",
    "--collector.udp_queues",
    "--collector.uname",
    "--collector.vmstat",
];
/// Option of node_exporter that selects all lines of `/proc/vmstat`, because perfset has a counter for each.
const ALL_OF_VMSTAT: &str = "--collector.vmstat.fields=.*";

/// Returns the default counter paths, and those of all of `/proc/meminfo`, `/proc/vmstat` and the scheduler.
fn paths() -> Result<Vec<CounterPath>> {
    let mut paths = default_paths(&[]);
    for more in [r"\Linux Memory\*", r"\Scheduler(*)\*"] {
        paths.push(more.parse()?);
    }
    Ok(paths)
}

/// Scrape that a bench measures: its counter paths and names, and the collectors of the compared node_exporter.
struct Scrape {
    name: &'static str,
    paths: Vec<CounterPath>,
    profiles: Vec<Profile>,
    collectors: &'static [&'static str],
    options: &'static [&'static str],
    /// Goals of collection and text alone beside the lower bound, and of a scrape beside node_exporter.
    goals: (Option<f64>, f64),
}

/// Measures a scrape of the measured counter paths and one with the names of node_exporter, beside scrapes of
/// node_exporter.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    let profile = vec![Profile::NodeExporter];
    let scrapes = [
        Scrape {
            name: "scrape",
            paths: paths()?,
            profiles: Vec::new(),
            collectors: &COLLECTORS,
            options: &[ALL_OF_VMSTAT],
            goals: (None, 0.1),
        },
        Scrape {
            name: "scrape with the names of node_exporter",
            paths: default_paths(&profile),
            profiles: profile,
            collectors: &COLLECTORS_OF_PROFILE,
            options: &[],
            goals: (Some(1.0), 0.15),
        },
    ];
    for scrape in &scrapes {
        report(scrape, options, &mut *out)?;
    }
    Ok(())
}

fn report(scrape: &Scrape, &Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let before = KernelFile::open_ones()?;
    let Scrape { name, paths, profiles, .. } = scrape;
    let names = Exported { profiles: profiles.clone(), ..Exported::default() };
    let mut exporter = Exporter::open(machine(), paths, names)?;
    let mut text = Vec::new();
    for _ in 0..2 {
        exporter.scrape(ExpositionFormat::Prometheus, &mut text)?;
    }
    let kept: BTreeSet<_> = KernelFile::open_ones()?.difference(&before).cloned().collect();
    let series =
        text.split(|byte| *byte == b'\n').filter(|line| line.first().is_some_and(|c| *c != b'#')).count();
    ensure!(series > 300, "there are {series} series");
    let files = KernelFile::once(&kept);
    let mut reading = Floor::open(&files)?;

    let peers = NodeExporters::start(scrape.collectors, scrape.options)?;
    let served = served(scrape)?;
    let title = format!("{name}: {series} series in {} bytes; {}", text.len(), peers.about());
    let mut comparison = peers
        .in_comparison(Comparison::new(title, series).per("series"))
        .variant("pread of each file that is kept open (floor)", || reading.read().unwrap_or(0))
        .reference("floor")
        .variant("Exporter::scrape: collection and text", || {
            let scraped = exporter.scrape(ExpositionFormat::Prometheus, black_box(&mut text));
            scraped.map_or(0, |()| text.len() as u64)
        })
        .timed_by(process_cpu_ns)
        .goal("peer", 0.04) // a twenty-fifth
        .goal("floor", scrape.goals.0);
    if let Some(served) = &served {
        comparison = comparison
            .variant("perfset serve's process, a scrape over a kept connection", || served.scrape())
            .timed_by(|| served.exporter.cpu_ns().unwrap_or(f64::NAN))
            .goal("peer", scrape.goals.1);
    }
    let report = comparison.run(rounds);
    peers.check()?;
    served.map_or(Ok(()), Peer::check)?;
    out(&report)
}

/// Returns the CPU time of all threads of this process in ns, because slow sources have threads of their own.
fn process_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Starts `perfset serve` with the counter paths of a scrape; returns `None` if the command was not built.
fn served(scrape: &Scrape) -> Result<Option<Peer>> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = target.join("dist/perfset");
    if !program.exists() {
        eprintln!("bench: {} is not there: cargo build --profile dist", program.display());
        return Ok(None);
    }
    let file = std::env::temp_dir().join(format!("perfset-bench-{}", std::process::id()));
    let lines: String = scrape.paths.iter().map(|path| format!("{path}\n")).collect();
    std::fs::write(&file, lines).context("cannot write the paths")?;
    let mut command = Command::new(program);
    command.args(["serve", "--insecure", "--query"]).arg(&file);
    if !scrape.profiles.is_empty() {
        command.args(["--profile", "node_exporter"]);
    }
    let peer = Server::spawn(command, "--listen=").and_then(Peer::of);
    std::fs::remove_file(&file)?;
    peer.map(Some)
}
