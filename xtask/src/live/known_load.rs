//! Checks with loads of known size: processes, sleeping and spinning threads, pages, context switches, blocks.

use std::fs::{File, remove_file};
use std::io::{Read, Write, pipe};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{sleep, spawn};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::owned::Running;
use super::proc::{self, of};
use super::{Load, finished, median, record};
use crate::repository::target;

/// Number of processes that a check starts; the next constants are those of threads and queued threads. All are prime
/// numbers, so that no other count is confused with them.
const PROCESSES: usize = 97;
const THREADS: usize = 61;
const IN_QUEUE: usize = 5;

/// Checks that gauges of System rise by the number of started processes and threads, and fall when these have ended.
pub fn check() -> Result<String> {
    let samples = |path: &str| -> Result<f64> {
        let mut values = Vec::new();
        for _ in 0..9 {
            values.push(record::one_sample(&[path], &["--raw"])?[0].raw()?);
            sleep(Duration::from_millis(20));
        }
        Ok(median(values))
    };
    let (processes, threads) = (r"\System\Processes", r"\System\Threads");
    let queue = r"\System\Processor Queue Length";

    let before = proc::read()?;
    let (few_processes, few_threads) = (samples(processes)?, samples(threads)?);
    let sleepers = sleepers(PROCESSES)?;
    let stop = Arc::new(AtomicBool::new(false));
    let threads_asleep: Vec<_> = (0..THREADS)
        .map(|_| {
            let until = Arc::clone(&stop);
            spawn(move || {
                while !until.load(Relaxed) {
                    sleep(Duration::from_millis(200));
                }
            })
        })
        .collect();
    let (many_processes, many_threads) = (samples(processes)?, samples(threads)?);
    drop(sleepers);
    stop.store(true, Relaxed);
    for thread in threads_asleep {
        let _ = thread.join(); // it cannot panic
    }
    let after = proc::read()?;
    // Others come and go meanwhile: as many as before and after differ, and a few.
    let near = |what: &str, name: &str, rise: f64, want: usize| -> Result<()> {
        let others = (of(&before, name)? - of(&after, name)?).abs() + 5.0;
        ensure!(
            (rise - want as f64).abs() <= others,
            "{what} rise by {rise} when {want} are started (within {others})"
        );
        Ok(())
    };
    let (rise_of_processes, rise_of_threads) = (many_processes - few_processes, many_threads - few_threads);
    near("Processes", "processes", rise_of_processes, PROCESSES)?;
    near("Threads", "threads", rise_of_threads, PROCESSES + THREADS)?;

    // As many as there are processors run. Whoever looks, perfset or this, is in the queue or takes a place.
    let busy: Vec<_> = (0..proc::cpus()? as usize + IN_QUEUE).map(|_| Load::start()).collect();
    let (mut waiting, mut differences) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let ours = record::one_sample(&[queue], &["--raw"])?[0].raw()?;
        let running = of(&proc::read()?, "stat procs_running")?;
        waiting.push(ours);
        differences.push((ours - (running - proc::cpus()?)).abs());
        sleep(Duration::from_millis(20));
    }
    drop(busy);
    let (waiting, difference) = (median(waiting), median(differences));
    ensure!(waiting >= IN_QUEUE as f64, "{IN_QUEUE} threads more than processors make a queue of {waiting}");
    ensure!(difference <= 2.0, "the queue and procs_running - processors differ by {difference} (median)");
    Ok(format!(
        ": {PROCESSES} processes {rise_of_processes:+}, with {THREADS} threads {rise_of_threads:+}, \
         {IN_QUEUE} in a queue of {waiting}"
    ))
}

/// Starts processes of a known number that only sleep.
fn sleepers(count: usize) -> Result<Vec<Running>> {
    let sleeper = |_| {
        let child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn();
        Ok(Running(child.context("cannot start sleep")?))
    };
    (0..count).map(sleeper).collect()
}

/// Minimum memory that [`events`] touches, in MiB.
pub const TOUCHED_MIB: usize = 211;
/// Number of times that [`events`] sends a byte to another thread and back.
pub const ROUND_TRIPS: usize = 10_007;
/// Size of the file that [`events`] writes, synchronizes, and reads past the cache, in MiB.
pub const FILE_MIB: usize = 53;

/// Causes known numbers of page faults, context switches, and reads and writes of blocks.
pub fn events() -> Result<()> {
    drop(Touched::start(TOUCHED_MIB)?);
    switch()?;
    write_and_read()
}

/// Process that has touched each page of a number of MiB once, and lives until this value is dropped. A fresh one:
/// this one's allocator would keep what it got before, and nothing of that would be a fault.
pub struct Touched(Child);

impl Touched {
    /// Starts the process that touches memory, and returns when it has touched all pages.
    pub fn start(mib: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["live", "--touch-mib", &mib.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load")?;
        let says = child.stdout.take().map(|mut stdout| stdout.read(&mut [0]));
        let touched = Self(child);
        ensure!(matches!(says, Some(Ok(1))), "the load ends before it has touched {mib} MiB");
        Ok(touched)
    }
}

impl Drop for Touched {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Touches each page of `mib` MiB once, prints the number, and returns when standard input ends.
pub fn touch(mib: usize) {
    let touched = std::hint::black_box(touched(mib));
    println!("{mib}");
    let _ = std::io::stdin().read(&mut [0]); // failed or not, it is over
    drop(touched);
}

/// Returns `mib` MiB of memory whose pages were touched. Pieces are smaller than a huge page, which would be one fault
/// for all of it.
fn touched(mib: usize) -> Vec<Vec<u8>> {
    const SMALLEST_PAGE: usize = 4096;
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for _ in 0..mib {
        let mut piece = vec![0_u8; 1 << 20];
        piece.iter_mut().step_by(SMALLEST_PAGE).for_each(|byte| *byte = 7);
        pieces.push(piece);
    }
    pieces
}

/// Sends bytes to a sleeping thread and back: each round trip causes two context switches or more.
fn switch() -> Result<()> {
    let (mut from_us, mut to_other) = pipe()?;
    let (mut from_other, mut to_us) = pipe()?;
    let other = spawn(move || {
        let mut byte = [0];
        while from_us.read_exact(&mut byte).is_ok() && to_us.write_all(&byte).is_ok() {}
    });
    let mut byte = [0];
    for _ in 0..ROUND_TRIPS {
        to_other.write_all(&byte)?;
        from_other.read_exact(&mut byte)?;
    }
    drop(to_other);
    let _ = other.join(); // it cannot panic
    Ok(())
}

fn write_and_read() -> Result<()> {
    let file = Synchronised::write("live-scratch")?;
    let mut input = std::ffi::OsString::from("if=");
    input.push(&file.0);
    let read = Command::new("dd").arg(input).args(["of=/dev/null", "bs=1M", "iflag=direct"]).output();
    finished(read.context("cannot start dd")?).context("dd cannot read past the cache").map(drop)
}

/// File of [`FILE_MIB`] that was synchronized to disk, and is removed when this value is dropped.
pub struct Synchronised(PathBuf);

impl Synchronised {
    /// Writes and synchronizes the file under this name in Cargo's target directory.
    pub fn write(name: &str) -> Result<Self> {
        let path = target().join(name);
        let mut file = File::create(&path).with_context(|| path.display().to_string())?;
        let written = Self(path);
        let mib = vec![7_u8; 1 << 20];
        for _ in 0..FILE_MIB {
            file.write_all(&mib)?;
        }
        file.sync_all()?;
        Ok(written)
    }
}

impl Drop for Synchronised {
    fn drop(&mut self) {
        let _ = remove_file(&self.0); // the next one takes its place
    }
}
