//! Checks of the countersets of processes: known loads, pidstat and psutil, another user, a container.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::owned::{ForAll, Running};
use super::{Load, finished, record};
use crate::repository::{root, target};

/// Running script `process_load.py`, which waits for orders to work.
struct Worker {
    running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start() -> Result<Self> {
        let mut running = Running(
            Command::new("python3")
                .arg(root().join("xtask/src/live/process_load.py"))
                .arg(target().join("live-stored"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .context("cannot start python3")?,
        );
        let input = running.0.stdin.take().context("it has no input")?;
        let output = BufReader::new(running.0.stdout.take().context("it has no output")?);
        let mut worker = Self { running, input, output };
        worker.work("nothing", 1)?;
        Ok(worker)
    }

    /// Orders the process to do some work, and waits until the work is done.
    fn work(&mut self, what: &str, size: u64) -> Result<()> {
        self.input.write_all(format!("{what} {size}\n").as_bytes())?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        ensure!(answer == "done\n", "the load answers {answer:?}");
        sleep(Duration::from_millis(20)); // until it waits again
        Ok(())
    }

    /// Returns the raw value of a counter of the working process.
    fn raw(&self, counterset: &str, counter: &str) -> Result<f64> {
        let separator = if counterset == "Thread" { '/' } else { ':' };
        let path = format!(r"\{counterset}(*{separator}{})\{counter}", self.running.0.id());
        record::one_sample(&[&path], &["--raw"])?[0].raw()
    }
}

/// Work of a process and its size, the counterset and counter that show it, and the minimum and the permitted
/// additional rise of the counter.
type Known = (&'static str, u64, &'static str, &'static str, f64, f64);

const MIB: f64 = 1_048_576.0;
/// Works of a process with a known effect on its counters. The process also writes 5 bytes as its answer, and reads
/// the line with its order.
const KNOWN: [Known; 17] = [
    ("faults", 4_099, "Process V2", "Page Faults/sec", 4_099.0, 200.0),
    ("faults", 4_111, "Linux Process", "Minor Faults/sec", 4_111.0, 200.0),
    ("faults", 8_209, "Process V2", "Working Set", 8_209.0 * 4_096.0, 2.0 * MIB),
    ("faults", 8_219, "Process V2", "Private Bytes", 8_219.0 * 4_096.0, 2.0 * MIB),
    ("faults", 8_221, "Process V2", "Virtual Bytes", 8_221.0 * 4_096.0, 2.0 * MIB),
    ("write", 1_000_003, "Process V2", "IO Write Bytes/sec", 1_000_003.0 + 5.0, 0.0),
    ("writes", 997, "Process V2", "IO Write Operations/sec", 997.0 + 1.0, 0.0),
    ("read", 1_000_033, "Process V2", "IO Read Bytes/sec", 1_000_033.0 + "read 1000033\n".len() as f64, 0.0),
    ("switches", 1_009, "Linux Process", "Voluntary Context Switches/sec", 1_009.0, 30.0),
    ("switches", 1_013, "Linux Process", "Timeslices/sec", 1_013.0, 200.0),
    ("store", 23, "Linux Process", "Storage Write Bytes/sec", 23.0 * MIB, MIB),
    ("open", 13, "Process V2", "Handle Count", 13.0, 0.0),
    ("threads", 7, "Process V2", "Thread Count", 7.0, 0.0),
    // 100 ns; besides it, what waiting and answering costs
    ("burn", 700, "Process V2", "% Processor Time", 7e6, 2e5),
    ("burn", 710, "Thread", "% Processor Time", 7.1e6, 2e5),
    ("switches", 1_019, "Thread", "Context Switches/sec", 1_019.0, 200.0),
    ("burn_in_a_thread", 500, "Process V2", "% Processor Time", 5e6, 2e5),
];

/// Checks that counters rise by the work of a process, exactly where the kernel counts exactly.
pub fn known_work() -> Result<String> {
    let mut worker = Worker::start()?;
    for (work, size, set, counter, least, more) in KNOWN {
        let before = worker.raw(set, counter)?;
        worker.work(work, size)?;
        let rise = worker.raw(set, counter)? - before;
        ensure!(
            (least..=least + more).contains(&rise),
            "{set}, {counter} rises by {rise} with \"{work} {size}\", not by {least} to {}",
            least + more
        );
    }
    let priority = worker.raw("Process V2", "Priority Base")?;
    worker.work("nice", 7)?;
    let lower = worker.raw("Process V2", "Priority Base")?;
    ensure!((priority, lower) == (8.0, 6.0), "nice 7 makes a priority of {priority} one of {lower}");
    let threads = every(r"\Thread(python3/*)\ID Process")?;
    let own = threads.iter().filter(|record| record.raw == Some(worker.running.0.id().into())).count();
    ensure!(own == 8, "Thread has {own} threads of it, not 8");
    Ok(format!(": {} counters", KNOWN.len() + 2))
}

/// Returns the records of all instances that a counter path selects.
fn every(path: &str) -> Result<Vec<Named>> {
    let output = record::command(&[path], &["--raw"]).output().context("cannot start perfset")?;
    let text = finished(output)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Value of a counter with the name of its instance.
#[derive(Deserialize)]
struct Named {
    counter: String,
    instance: Option<String>,
    raw: Option<u64>,
    value: Option<f64>,
    status: String,
}

/// Compares processes in perfset with pidstat while one processor is busy.
pub fn pidstat(rounds: usize) -> Result<String> {
    const SECONDS: &str = "4";
    let mut worker = Worker::start()?;
    let pid = worker.running.0.id();
    let mut differences = Vec::new();
    let mut busiest: f64 = 0.0;
    for round in 0..rounds {
        worker.input.write_all(b"burn 4500\n")?;
        let path = format!(r"\Process V2(*:{pid})\*");
        let ours = record::command(&[&path, SECONDS, "1"], &["--warmup", SECONDS]).spawn();
        let theirs = Command::new("pidstat")
            .args(["-u", "-r", "-d", "-h", "-H", "-p", &pid.to_string(), SECONDS, "1"])
            .env("LC_ALL", "C")
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start pidstat (Debian package sysstat)")?;
        let ours = finished(ours.context("cannot start perfset")?.wait_with_output()?)?;
        let theirs = finished(theirs.wait_with_output()?)?;
        let mut answer = String::new();
        worker.output.read_line(&mut answer)?;
        let ours: Vec<Named> = ours.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let ours = |name: &str| {
            let of = ours.iter().find(|record| record.counter == name);
            of.and_then(|record| record.value).with_context(|| format!("perfset has no {name}"))
        };
        let head = theirs.lines().find(|line| line.starts_with('#')).context("pidstat has no head")?;
        let last = theirs.lines().last().context("pidstat is silent")?;
        let theirs: BTreeMap<&str, &str> =
            head.split_whitespace().skip(1).zip(last.split_whitespace()).collect();
        let theirs = |name: &str| -> Result<f64> {
            let number = theirs.get(name).with_context(|| format!("pidstat has no {name}"))?;
            number.parse().with_context(|| format!("{name} {number}"))
        };
        // Points of %, and KiB.
        for (name, column, unit, slack) in [
            ("% Processor Time", "%CPU", 1.0, 3.0),
            ("% User Time", "%usr", 1.0, 3.0),
            ("% Privileged Time", "%system", 1.0, 3.0),
            ("Virtual Bytes", "VSZ", 1_024.0, 8.0),
            ("Working Set", "RSS", 1_024.0, 1_024.0),
        ] {
            let difference = (ours(name)? / unit - theirs(column)?).abs() / slack;
            differences.push((difference, format!("{name} in round {round}")));
        }
        busiest = busiest.max(ours("% Processor Time")?);
    }
    differences.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (worst, what) = differences.last().cloned().unwrap_or_default();
    ensure!(worst <= 1.0, "{what} differs from pidstat by {worst:.2} of what it may");
    ensure!(busiest > 20.0, "the load is not seen: {busiest} %"); // others may want the processor too
    Ok(format!(": worst {worst:.2} of the slack ({what}), {busiest:.1} % busy"))
}

/// Python script that prints what psutil reports for every process.
const PSUTIL: &str = r"
import json, psutil
for p in psutil.process_iter():
    try:
        with p.oneshot():
            m, t = p.memory_info(), p.cpu_times()
            print(json.dumps(dict(pid=p.pid, name=p.name(), ppid=p.ppid(), threads=p.num_threads(), fds=p.num_fds(),
                rss=m.rss, vms=m.vms, user=t.user, system=t.system, create=p.create_time(), nice=p.nice(),
                voluntary=p.num_ctx_switches().voluntary, uid=p.uids().real)))
    except psutil.Error:
        pass
";

#[derive(Deserialize)]
struct Theirs {
    pid: u32,
    name: String,
    ppid: f64,
    threads: f64,
    fds: f64,
    rss: f64,
    vms: f64,
    user: f64,
    system: f64,
    create: f64,
    nice: i32,
    voluntary: f64,
    uid: f64,
}

/// Compares processes that did not run between two readings of perfset with psutil.
pub fn psutil() -> Result<String> {
    let _load = Load::start();
    let before = table()?;
    let output = Command::new("/usr/bin/python3").args(["-c", PSUTIL]).output();
    let theirs = finished(output.context("cannot start /usr/bin/python3")?)
        .context("Debian package python3-psutil")?;
    let after = table()?;
    let (mut compared, mut processes) = (0, 0);
    for line in theirs.lines() {
        let theirs: Theirs = serde_json::from_str(line)?;
        let (Some(first), Some(last)) = (before.get(&theirs.pid), after.get(&theirs.pid)) else { continue };
        let time = "% Processor Time";
        if first.get(time) != last.get(time) {
            continue; // it ran meanwhile
        }
        processes += 1;
        let own_priority = match theirs.nice {
            ..=-11 => 13.0,
            -10..=-1 => 10.0,
            0 => 8.0,
            1..=9 => 6.0,
            _ => 4.0,
        };
        let unix = |raw: f64| (raw - 116_444_736e9) / 1e7;
        // psutil knows the start of the machine to the second.
        for (name, want, slack, of) in [
            ("Creating Process ID", theirs.ppid, 0.0, f64::from as fn(f64) -> f64),
            ("Thread Count", theirs.threads, 0.0, f64::from),
            ("Handle Count", theirs.fds, 0.0, f64::from),
            ("Working Set", theirs.rss, 256.0 * 1_024.0, f64::from),
            ("Virtual Bytes", theirs.vms, 0.0, f64::from),
            ("% User Time", theirs.user, 0.011, |raw| raw / 1e7),
            ("% Privileged Time", theirs.system, 0.011, |raw| raw / 1e7),
            ("Elapsed Time", theirs.create, 1.0, unix),
            ("Priority Base", own_priority, 0.0, f64::from),
            ("Voluntary Context Switches/sec", theirs.voluntary, 0.0, f64::from),
            ("User ID", theirs.uid, 0.0, f64::from),
        ] {
            let (Some(a), Some(b)) = (first.get(name), last.get(name)) else { continue };
            let (a, b) = (of(*a), of(*b));
            let is_real_time = name == "Priority Base" && !(4.0..=13.0).contains(&a);
            if is_real_time {
                continue; // psutil knows nice values only
            }
            ensure!(
                (a.min(b) - slack..=a.max(b) + slack).contains(&want),
                "{} ({}): {name} is {a}, then {b}; psutil says {want}",
                theirs.pid,
                theirs.name
            );
            compared += 1;
        }
    }
    ensure!(processes >= 20 && compared >= 150, "{compared} values of {processes} processes are compared");
    Ok(format!(": {compared} values of {processes} processes"))
}

/// Returns raw values of Process V2 and Linux Process, by process id and counter.
fn table() -> Result<BTreeMap<u32, BTreeMap<String, f64>>> {
    let mut all: BTreeMap<u32, BTreeMap<String, f64>> = BTreeMap::new();
    for path in [r"\Process V2(*)\*", r"\Linux Process(*)\*"] {
        for Named { counter, instance, raw, .. } in every(path)? {
            let pid = instance.as_deref().and_then(|name| name.rsplit_once(':')?.1.parse().ok());
            if let (Some(pid), Some(raw)) = (pid, raw) {
                all.entry(pid).or_default().insert(counter, raw as f64);
            }
        }
    }
    Ok(all)
}

/// Checks that refused data of processes is refused by field. Other processes are shown with a `/proc` that hides
/// some, and a container has no clocks.
pub fn refused_and_hidden() -> Result<String> {
    let program = ForAll::copy_of(&target().join("release/perfset"))?;
    let program = program.program.display();
    let shell = |script: String| -> Result<String> {
        finished(
            Command::new("unshare")
                .args(["--mount", "sh", "-ec", &script])
                .output()
                .context("cannot start unshare")?,
        )
    };
    let nobody = format!("setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/ {program}");
    let own = std::process::id();
    let lines = |text: &str| -> Result<Vec<Named>> {
        text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
    };

    let of_ours = lines(&shell(format!(r"{nobody} get --raw --format json '\Process V2(*:{own})\*'"))?)?;
    let find = |name: &str| of_ours.iter().find(|r| r.counter == name).with_context(|| format!("no {name}"));
    let io = find("IO Read Bytes/sec")?;
    ensure!(io.status == "denied" && io.raw.is_none(), "IO of root is {:?} to others", io.status);
    for name in ["% Processor Time", "Working Set", "Private Bytes", "Thread Count", "Handle Count"] {
        let known = find(name)?;
        ensure!(known.raw.is_some(), "{name} of root is {:?} to others", known.status);
    }
    let doctor = shell(format!("{nobody} doctor"))?;
    let remedy =
        doctor.lines().find(|line| line.contains("/proc/PID/io")).context("doctor does not say it")?;
    ensure!(remedy.contains("CAP_SYS_PTRACE"), "doctor says {remedy:?}");
    ensure!(doctor.contains("process collection: /proc files of processes that ran"), "{doctor}");

    let hidden = lines(&shell(format!(
        r"mount -t proc -o hidepid=2 proc /proc; {nobody} get --raw --format json '\Process V2(*)\Thread Count'"
    ))?)?;
    let names: Vec<_> = hidden.iter().filter_map(|r| r.instance.as_deref()).collect();
    let shown = names.iter().filter(|name| name.starts_with("perfset:")).count();
    ensure!(shown == 1 && names.len() <= 10, "with hidepid=2 {names:?} are shown");

    let container = finished(
        Command::new("unshare")
            .args(["--pid", "--fork", &target().join("release/perfset").display().to_string(), "doctor"])
            .output()
            .context("cannot start unshare")?,
    )?;
    let source = container
        .lines()
        .find(|line| line.contains("process collection"))
        .context("doctor names no source")?;
    ensure!(source.contains("/proc files of all processes"), "in a PID namespace doctor says {source:?}");
    Ok(String::new())
}
