//! Checks of the clock's discipline beside `adjtimex`, called by Python, and of processes by state beside `ps`.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::owned::Running;
use super::{finished, record};

/// Python program that prints offset, freq, status, tick, tai and the result of `adjtimex`, for 64-bit Linux.
const ADJTIMEX: &str = "
import ctypes, struct
buffer = ctypes.create_string_buffer(208)
state = ctypes.CDLL(None).adjtimex(buffer)
_, offset, freq, _, _, status = struct.unpack_from('=i4xqqqqi', buffer)
tick, = struct.unpack_from('=q', buffer, 88)
tai, = struct.unpack_from('=i', buffer, 160)
print(offset, freq, status, tick, tai, state)
";

/// Checks the counters of Clock Discipline that do not change by themselves.
pub fn clock() -> Result<String> {
    const COUNTERS: [&str; 6] =
        ["Offset To Add", "Offset To Subtract", "% Frequency", "Tick", "TAI Offset", "Synchronised"];
    let paths = COUNTERS.map(|counter| format!(r"\Clock Discipline\{counter}"));
    // A time service may set the clock between two readings: then the next round agrees.
    let mut differences = String::new();
    for _ in 0..5 {
        let peer = Command::new("python3").args(["-c", ADJTIMEX]).output().context("cannot start python3")?;
        let peer = finished(peer)?;
        let numbers: Vec<f64> =
            peer.split_whitespace().map(str::parse).collect::<Result<_, _>>().context("adjtimex")?;
        let [offset, freq, status, tick, tai, state] = numbers[..] else { bail!("python3 prints {peer}") };
        const STA_NANO: i64 = 0x2000;
        const TIME_ERROR: f64 = 5.0;
        let ns = if status as i64 & STA_NANO == 0 { offset * 1e3 } else { offset };
        let is_synchronised = f64::from(u8::from(state != TIME_ERROR));
        let want = [ns.max(0.0), (-ns).max(0.0), 65_536_000_000.0 + freq, tick * 1e3, tai, is_synchronised];
        let ours = record::one_sample(&paths.each_ref().map(String::as_str), &["--raw"])?;
        let ours: Vec<f64> = ours.iter().map(record::Record::raw).collect::<Result<_>>()?;
        if ours == want {
            return Ok(format!(": frequency {freq}, tick {tick}"));
        }
        differences = format!("Clock Discipline has {ours:?}, adjtimex {want:?}");
    }
    bail!("{differences}")
}

/// Checks the numbers of ended and idle processes, with an additional ended one, beside `ps`.
pub fn states() -> Result<String> {
    // A shell that waits for nobody leaves its child as it ended.
    let process = shell("true & exec sleep 60")?;
    let end = Instant::now() + Duration::from_secs(5);
    let mut differences = String::new();
    while Instant::now() < end {
        let ps = finished(Command::new("ps").args(["-eo", "stat="]).output().context("cannot start ps")?)?;
        let count = |letter: char| ps.lines().filter(|line| line.trim().starts_with(letter)).count() as f64;
        let want = ['Z', 'I'].map(count);
        let ours =
            record::one_sample(&[r"\Process States(Z)\Processes", r"\Process States(I)\Processes"], &[])?;
        let ours: Vec<f64> = ours.iter().map(record::Record::value).collect::<Result<_>>()?;
        if ours == want && want[0] >= 1.0 {
            drop(process);
            let [ended, idle] = want;
            return Ok(format!(": {ended} ended, {idle} idle"));
        }
        differences = format!("Process States has {ours:?}, ps {want:?}");
        sleep(Duration::from_millis(200));
    }
    ensure!(differences.is_empty(), "{differences}");
    bail!("ps did not answer in time")
}

fn shell(script: &str) -> Result<Running> {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(Running(command.spawn().context("cannot start sh")?))
}
