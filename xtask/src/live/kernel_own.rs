//! Checks of counters that only Linux has, under loads of a known size, beside the kernel's files, mpstat and uptime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::owned::Running;
use super::{finished, record};

const MOUNT: &str = "/sys/fs/cgroup";

/// Checks that the counters of control groups follow the processes in them.
pub fn control_groups() -> Result<String> {
    let name = format!("perfset-live-{}", std::process::id());
    let time = processor_time(&name)?;
    let tasks = tasks(&name)?;
    let memory = memory(&name)?;
    Ok(format!(": {time}; {tasks}; {memory}"))
}

/// Returns the directory of the control groups with a controller, in the hierarchy of version 2, or else of version
/// 1.
pub fn hierarchy(controller: &str, v1: &str) -> Result<PathBuf> {
    let mount = Path::new(MOUNT);
    for folder in [mount.to_owned(), mount.join("unified")] {
        let Ok(controllers) = fs::read_to_string(folder.join("cgroup.controllers")) else { continue };
        if controller.is_empty() || controllers.split_whitespace().any(|it| it == controller) {
            if !controller.is_empty() {
                let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"));
            }
            return Ok(folder);
        }
    }
    let folder = mount.join(v1);
    ensure!(folder.join("cgroup.procs").exists(), "no hierarchy has {controller} or {v1}");
    Ok(folder)
}

/// Control group of a check, which is removed with its processes when this value is dropped.
pub struct Group {
    folder: PathBuf,
    children: Vec<Child>,
}

impl Group {
    pub fn make(folder: PathBuf) -> Result<Self> {
        fs::create_dir(&folder).with_context(|| format!("{} (needs root)", folder.display()))?;
        Ok(Self { folder, children: Vec::new() })
    }

    /// Starts a shell script in the control group of the check.
    pub fn start(&mut self, script: &str) -> Result<()> {
        let script = format!("echo $$ > {}/cgroup.procs || exit; {script}", self.folder.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null());
        self.children.push(shell.spawn().context("cannot start sh")?);
        Ok(())
    }

    fn number(&self, file: &str) -> Result<f64> {
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        text.trim().parse().with_context(|| path.display().to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..50 {
            let processes = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
            let mut kill = Command::new("kill");
            if !processes.trim().is_empty() {
                // They are ours: the group is.
                let _ = kill.arg("-KILL").args(processes.split_whitespace()).stderr(Stdio::null()).status();
            }
            for child in &mut self.children {
                let _ = child.try_wait(); // it may not have been in the group yet
            }
            if fs::remove_dir(&self.folder).is_ok() {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        for child in &mut self.children {
            let _ = child.kill(); // it has ended already
            let _ = child.wait();
        }
    }
}

/// Checks that the control group of a busy loop has the processor time that the kernel reports for its process.
fn processor_time(name: &str) -> Result<String> {
    let mut group = Group::make(hierarchy("", "cpuacct")?.join(name))?;
    group.start("while :; do :; done")?;
    sleep(Duration::from_millis(300));
    let pid = group.children.first().context("it was started")?.id();
    let path = format!(r"\CGroup({name})\% Processor Time");
    let sample = || -> Result<(f64, f64)> {
        let ours = record::one_sample(&[&path], &["--raw"])?[0].raw()? / 1e7;
        Ok((ours, of_process(pid)?))
    };
    let (before, started) = (sample()?, Instant::now());
    sleep(Duration::from_secs(2));
    let after = sample()?;
    let (ours, theirs) = (after.0 - before.0, after.1 - before.1);
    ensure!(theirs > 0.3, "the machine is too busy: a loop ran for {theirs:.2} s");
    let allowed = theirs * 0.05 + 0.05;
    ensure!((ours - theirs).abs() <= allowed, "the group ran for {ours:.3} s, its process for {theirs:.3} s");
    let most = started.elapsed().as_secs_f64() * 1.05 + 0.1;
    ensure!(ours <= most, "one loop ran for {ours:.3} s in {most:.3} s");
    let stat = fs::read_to_string(group.folder.join("cpu.stat")).unwrap_or_default();
    let usec = stat.lines().find_map(|line| line.strip_prefix("usage_usec ")?.parse::<f64>().ok());
    let usage = match usec {
        Some(usec) => usec / 1e6,
        None => group.number("cpuacct.usage")? / 1e9,
    };
    ensure!((after.0..after.0 + 2.0).contains(&usage), "the group has {usage} s after {} s", after.0);
    Ok(format!("a loop ran for {ours:.2} s, {theirs:.2} s by its process"))
}

/// Returns the processor time of a process, in seconds.
fn of_process(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| -> Result<f64> { Ok(fields.get(at).context("/proc/PID/stat")?.parse()?) };
    let hz: f64 = finished(Command::new("getconf").arg("CLK_TCK").output()?)?.trim().parse()?;
    Ok((ticks(11)? + ticks(12)?) / hz)
}

/// Checks that the task count of a control group is the number of started tasks.
fn tasks(name: &str) -> Result<String> {
    const TASKS: usize = 7;
    let mut group = Group::make(hierarchy("pids", "pids")?.join(name))?;
    for _ in 0..TASKS {
        group.start("exec sleep 60")?;
    }
    sleep(Duration::from_millis(300));
    let ours = record::one_sample(&[&format!(r"\CGroup({name})\Task Count")], &["--raw"])?[0].raw()?;
    let theirs = group.number("pids.current")?;
    ensure!(ours == TASKS as f64 && theirs == ours, "{TASKS} tasks are {ours}, and {theirs} in pids.current");
    Ok(format!("{ours} tasks"))
}

/// Checks that a control group has at least as much memory as its process has filled.
fn memory(name: &str) -> Result<String> {
    const MIB: usize = 67;
    let mut group = Group::make(hierarchy("memory", "memory")?.join(name))?;
    let bytes = MIB << 20;
    group.start(&format!("(head -c {bytes} /dev/zero; sleep 60) | tail -c {bytes}"))?;
    let paths = ["Memory Bytes", "Anonymous Bytes"].map(|counter| format!(r"\CGroup({name})\{counter}"));
    let paths = paths.each_ref().map(String::as_str);
    let file = match group.folder.join("memory.current").exists() {
        true => "memory.current",
        false => "memory.usage_in_bytes",
    };
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        sleep(Duration::from_millis(300));
        let before = group.number(file)?;
        let ours = record::one_sample(&paths, &["--raw"])?;
        let (all, anonymous, after) = (ours[0].raw()?, ours[1].raw()?, group.number(file)?);
        // The kernel sums up statistics every two seconds.
        if anonymous >= bytes as f64 {
            ensure!(
                (all - before).min(after - all) >= -1048576.0 && anonymous <= all * 1.05,
                "{all} bytes between {before} and {after}, {anonymous} of them anonymous"
            );
            return Ok(format!("{:.1} MiB where {MIB} were filled", all / 1048576.0));
        }
        ensure!(Instant::now() < until, "{anonymous} anonymous bytes where {bytes} were filled");
    }
}

/// Checks counters of pressure, low priority, load averages and new processes against the kernel.
pub fn machine() -> Result<String> {
    let stalled = pressure()?;
    let nice = nice()?;
    let load = load()?;
    let created = created()?;
    Ok(format!(": {stalled}; {nice}; {load}; {created}"))
}

/// Checks that the counter of stalled time lies between two readings of `/proc/pressure`.
fn pressure() -> Result<String> {
    let total = |resource: &str| -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/pressure/{resource}"))
            .with_context(|| format!("/proc/pressure/{resource} (needs psi=1)"))?;
        let line = text.lines().find(|line| line.starts_with("some")).context("no line some")?;
        let total = line.split("total=").nth(1).context("no total")?;
        Ok(total.trim().parse::<f64>()? * 10.0)
    };
    let mut moved = 0.0;
    for resource in ["cpu", "memory", "io"] {
        let path = format!(r"\Pressure Stall({resource})\% Some Stalled Time");
        let before = total(resource)?;
        let ours = record::one_sample(&[&path], &["--raw"])?[0].raw()?;
        let after = total(resource)?;
        ensure!((before..=after).contains(&ours), "{resource}: {ours} is not from {before} to {after}");
        moved += after - before;
    }
    Ok(format!("pressure within {:.1} ms", moved / 1e4))
}

/// JSON that mpstat prints, with the fields that the check needs.
#[derive(Deserialize)]
struct Mpstat {
    sysstat: Sysstat,
}

#[derive(Deserialize)]
struct Sysstat {
    hosts: Vec<Host>,
}

#[derive(Deserialize)]
struct Host {
    statistics: Vec<Statistics>,
}

#[derive(Deserialize)]
struct Statistics {
    #[serde(rename = "cpu-load")]
    cpu_load: Vec<CpuLoad>,
}

#[derive(Deserialize)]
struct CpuLoad {
    cpu: String,
    nice: f64,
    iowait: f64,
    steal: f64,
}

/// Checks that a busy loop of low priority appears in % Nice Time, as in mpstat.
fn nice() -> Result<String> {
    let mut command = Command::new("nice");
    command.args(["-n", "19", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
    let _loop = Running(command.spawn().context("cannot start nice (Debian package coreutils)")?);
    let paths = ["% Nice Time", "% I/O Wait Time", "% Steal Time"];
    let paths = paths.map(|counter| format!(r"\Linux Processor(_Total)\{counter}"));
    let ours = record::command(&paths.each_ref().map(String::as_str), &["4", "1"]).spawn()?;
    let theirs = Command::new("mpstat")
        .args(["-u", "-P", "ALL", "-o", "JSON", "4", "1"])
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start mpstat (Debian package sysstat)")?;
    let ours = record::parse(&finished(ours.wait_with_output()?)?, paths.len())?;
    let theirs: Mpstat = serde_json::from_str(&finished(theirs.wait_with_output()?)?)?;
    let statistics =
        theirs.sysstat.hosts.into_iter().next().and_then(|host| host.statistics.into_iter().next());
    let all = statistics.context("mpstat prints nothing")?.cpu_load.into_iter().find(|cpu| cpu.cpu == "all");
    let all = all.context("mpstat has no row of all")?;
    for (ours, theirs) in ours.iter().zip([all.nice, all.iowait, all.steal]) {
        let value = ours.value()?;
        ensure!((value - theirs).abs() <= 3.0, "{} is {value:.1}, by mpstat {theirs:.1}", ours.path);
    }
    ensure!(all.nice > 2.0, "the machine is too busy: a loop of low priority has {:.1} %", all.nice);
    Ok(format!("nice {:.1} %, by mpstat {:.1} %", ours[0].value()?, all.nice))
}

/// Checks that the counters of load averages equal `/proc/loadavg` and uptime.
fn load() -> Result<String> {
    let file = || -> Result<Vec<f64>> {
        let text = fs::read_to_string("/proc/loadavg")?;
        text.split(' ').take(3).map(|word| word.parse().context("/proc/loadavg")).collect()
    };
    let paths = ["1 Minute", "5 Minutes", "15 Minutes"];
    let paths = paths.map(|over| format!(r"\Linux System\Load Average {over}"));
    let paths = paths.each_ref().map(String::as_str);
    let before = file()?;
    let ours = record::one_sample(&paths, &[])?;
    let uptime =
        finished(Command::new("uptime").env("LC_ALL", "C").output().context("cannot start uptime")?)?;
    let after = file()?;
    let printed = uptime.rsplit("load average: ").next().unwrap_or_default();
    let printed: Vec<f64> = printed.trim().split(", ").map(str::parse).collect::<Result<_, _>>()?;
    ensure!(printed.len() == 3, "uptime prints {uptime:?}");
    for at in 0..3 {
        let (value, least, most) = (ours[at].value()?, before[at].min(after[at]), before[at].max(after[at]));
        let near = |it: f64| (least - 0.006..=most + 0.006).contains(&it);
        ensure!(near(value) && near(printed[at]), "{} is {value}, not {least} to {most}", paths[at]);
    }
    Ok(format!("load {:.2}", ours[0].value()?))
}

/// Checks that the number of created processes rises by at least as many as were started.
fn created() -> Result<String> {
    const PROCESSES: usize = 97;
    let path = [r"\Linux System\Processes Created/sec"];
    let raw = || -> Result<f64> { record::one_sample(&path, &["--raw"])?[0].raw() };
    let before = raw()?;
    for _ in 0..PROCESSES {
        ensure!(Command::new("true").status().context("cannot start true")?.success(), "true fails");
    }
    let rise = raw()? - before;
    ensure!(rise >= PROCESSES as f64, "{PROCESSES} processes were started, and {rise} counted");
    Ok(format!("{rise} processes where {PROCESSES} were started"))
}
