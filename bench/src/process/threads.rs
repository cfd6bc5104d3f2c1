//! Bench of collections of Thread on a machine of many threads, beside the crates procfs and sysinfo.

use std::io::Write;
use std::io::{Read, stdin, stdout};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use perfset_linux::ProcessSource;

use super::collectors::{Perfset, Sysinfo, procfs_threads};
use crate::measure::Comparison;
use crate::{Options, Out};

/// Hidden command word of a process with idle threads, which the bench starts itself.
pub const THREADS: &str = "threads-of";
const PROCESSES: usize = 200;
const EACH: usize = 10;

/// Processes of a bench with idle threads. They end when their standard input is closed, also if this process is
/// killed.
struct Crowd(Vec<Child>);

impl Crowd {
    fn start() -> Result<Self> {
        let mut crowd = Self(Vec::new());
        for _ in 0..PROCESSES {
            let child = Command::new("/proc/self/exe")
                .args([THREADS, &EACH.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            crowd.0.push(child.context("a process with threads")?);
        }
        for child in &mut crowd.0 {
            let mut ready = [0];
            child.stdout.as_mut().context("it has no output")?.read_exact(&mut ready)?;
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
        }
        for child in &mut self.0 {
            let _ = child.wait(); // nothing can be done about it
        }
    }
}

/// Runs a process with that many idle threads, until its standard input is closed.
pub fn serve(threads: usize) -> Result<()> {
    for _ in 1..threads {
        std::thread::spawn(|| {
            loop {
                std::thread::park();
            }
        });
    }
    stdout().write_all(b".")?;
    stdout().flush()?;
    stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Measures the collection of the counters of all threads.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    let crowd = Crowd::start()?;
    let (mut procfs, mut sysinfo) = (Vec::new(), Sysinfo::new()?);
    let (mut files, mut walk) =
        (Perfset::of_threads(ProcessSource::Gate)?, Perfset::of_threads(ProcessSource::Bpf)?);
    let threads = usize::try_from(procfs_threads(&mut procfs)?)?;
    ensure!(threads >= PROCESSES * EACH, "there are {threads} threads only");
    let title = format!("thread: {threads} threads, {} of them in {PROCESSES} processes", PROCESSES * EACH);
    let comparison = Comparison::new(title, threads)
        .per("thread")
        .variant("procfs crate: stat and schedstat of all threads (peer)", || {
            procfs_threads(&mut procfs).unwrap_or(0)
        })
        .reference("procfs")
        .variant("sysinfo crate: CPU of all processes and threads (peer)", || sysinfo.collect_threads())
        .reference("sysinfo")
        .variant("Query::collect, from files", || files.collect().unwrap_or(0))
        .variant("Query::collect, by a walk over the tasks (BPF)", || walk.collect().unwrap_or(0))
        .goal("procfs", 0.05);
    out(&comparison.run(options.rounds))?;
    drop(crowd);
    Ok(())
}
