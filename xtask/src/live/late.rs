//! Checks of publishers that do not respond, and of the time that readers of other publishers lose.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::applications::signal;
use super::faults;
use super::owned::{Folder, Running};
use super::prometheus::{free_address, get, serve};
use super::{finished, perfset};

/// Maximum time that a collection may take beside hanging publishers, in seconds.
const REQUIRED: f64 = 0.3;

/// Starts the test program `faults` in a role, and waits until it has published its counters.
fn start(folder: &Folder, role: &[&str]) -> Result<Running> {
    let mut command = Command::new(faults());
    command.args(role).env("PERFSET_RUNTIME_DIR", &folder.0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = Running(command.spawn().context("cannot start it")?);
    let mut says = String::new();
    let out = running.0.stdout.take().context("it has no output")?;
    BufReader::new(out).read_line(&mut says)?;
    ensure!(says == "published\n", "{role:?} says {says:?}");
    Ok(running)
}

/// Measures collections beside 200 publishers that hang, are stopped, or respond byte by byte. Also measures `get`
/// beside six that are stopped.
pub fn publishers() -> Result<String> {
    let folder = Folder::in_memory("late")?;
    let _silent = start(&folder, &["misbehave", "silent", "67"])?;
    let _bytes = start(&folder, &["misbehave", "bytes", "67"])?;
    let stopped = start(&folder, &["asked", "66", "0"])?;
    signal(&stopped, "STOP")?;
    let mut command = Command::new(faults());
    command.args(["longest", "60"]).env("PERFSET_RUNTIME_DIR", &folder.0).stdin(Stdio::null());
    let said = finished(command.output()?)?;
    let (ms, rows) = said.trim().split_once(' ').with_context(|| said.clone())?;
    let (longest, rows) = (ms.parse::<f64>()? / 1e3, rows.parse::<u64>()?);
    ensure!(rows == 200, "of 200 publishers that do not answer {rows} are read");
    ensure!(longest <= REQUIRED, "the longest collection takes {longest:.3} s");

    let six = Folder::in_memory("six")?;
    let all: Vec<_> = (0..6).map(|_| start(&six, &["asked", "1", "0"])).collect::<Result<_>>()?;
    for program in &all {
        signal(program, "STOP")?;
    }
    let began = Instant::now();
    let mut get = perfset();
    get.args(["get", "--raw", r"\Fault Asked(*)\Three"]).env("PERFSET_RUNTIME_DIR", &six.0);
    let out = finished(get.output()?)?;
    let took = began.elapsed().as_secs_f64();
    let rows = out.lines().filter(|line| line.split_whitespace().next() == Some("3")).count();
    ensure!(rows == 6, "of six programs that are stopped {rows} are read: {out}");
    ensure!(took <= REQUIRED, "get takes {took:.3} s with six that are stopped");
    let mut doctor = perfset();
    let said = finished(doctor.arg("doctor").env("PERFSET_RUNTIME_DIR", &six.0).output()?)?;
    let late = said.lines().filter(|line| line.starts_with("warn  late: faults[")).count();
    ensure!(late == 6, "doctor lists {late} of six that are late: {said}");
    Ok(format!(
        ": longest collection with 200 publishers that hang, are stopped or answer byte by byte: {longest:.3} s, \
         required {REQUIRED} s; get beside six that are stopped: {took:.3} s"
    ))
}

/// Measures `/metrics` and a stream of `serve` beside 12 programs whose control callback takes 3 s.
pub fn callbacks() -> Result<String> {
    const SCRAPES: usize = 5;
    const MOST_GAP: f64 = 1.0 + REQUIRED;
    let folder = Folder::in_memory("callbacks")?;
    let _all: Vec<_> = (0..12).map(|_| start(&folder, &["asked", "1", "3000"])).collect::<Result<_>>()?;
    let query = folder.0.join("query.txt");
    std::fs::write(&query, "\\Fault Asked(*)\\Three\n\\Memory\\Available Bytes\n")?;
    let address = free_address()?;
    let mut command = serve(address);
    command.arg("--query").arg(&query).env("PERFSET_RUNTIME_DIR", &folder.0);
    let _serving = Running(command.spawn().context("cannot start perfset")?);
    get(address, "/api/about")?;
    let gaps = spawn(move || gaps(address));
    let mut longest: f64 = 0.0;
    for _ in 0..SCRAPES {
        let began = Instant::now();
        let text = get(address, "/metrics")?;
        longest = longest.max(began.elapsed().as_secs_f64());
        let rows = text.lines().filter(|line| line.starts_with("perf_fault_asked_three{")).count();
        ensure!(rows == 12, "of 12 programs that take long {rows} are in a scrape: {text}");
        sleep(Duration::from_millis(600));
    }
    let gap = gaps.join().ok().context("the reader of the stream failed")??;
    ensure!(longest <= REQUIRED, "a scrape takes {longest:.3} s");
    ensure!(gap <= MOST_GAP, "a stream has a gap of {gap:.3} s");
    Ok(format!(
        ": longest of {SCRAPES} scrapes {longest:.3} s, required {REQUIRED} s; longest gap of a stream {gap:.3} s, \
         required {MOST_GAP} s"
    ))
}

/// Returns the longest time between two of the first samples of a stream, in seconds.
fn gaps(address: SocketAddr) -> Result<f64> {
    const SAMPLES: usize = 4;
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let path = "/api/stream?path=/Memory/Available+Bytes";
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let (mut last, mut longest, mut seen) = (Instant::now(), Duration::ZERO, 0);
    for line in BufReader::new(stream).lines() {
        if line?.starts_with("event: sample") {
            longest = longest.max(last.elapsed());
            last = Instant::now();
            seen += 1;
            if seen == SAMPLES {
                return Ok(longest.as_secs_f64());
            }
        }
    }
    anyhow::bail!("the stream ended after {seen} samples")
}
