//! Check of the rates of Memory and System beside vmstat and `/proc` over the same seconds.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::known_load::{self, FILE_MIB, ROUND_TRIPS, TOUCHED_MIB};
use super::proc::{self, of};
use super::procps::kib_in_page;
use super::{finished, median, record};

/// Rate of a counter that is checked, and the names under which vmstat and `/proc` have it.
struct Rate {
    path: &'static str,
    /// Name in [`proc::read`] of the counter's value.
    proc: &'static str,
    /// Column of vmstat with the counter's value.
    column: Option<&'static str>,
    /// `true` if vmstat and `/proc` count KiB, and the counter counts pages.
    in_kib: bool,
    /// Minimum number of events that the known load causes, as the counter counts them.
    least: usize,
}

const SECONDS: usize = 4;
const PAGES_IN_MIB: usize = 256;

const fn rate(path: &'static str, proc: &'static str, column: Option<&'static str>, least: usize) -> Rate {
    Rate { path, proc, column, in_kib: false, least }
}

const fn kib_rate(path: &'static str, proc: &'static str, column: &'static str) -> Rate {
    Rate { path, proc, column: Some(column), in_kib: true, least: FILE_MIB * 1024 }
}

const RATES: [Rate; 6] = [
    rate(r"\System\Context Switches/sec", "stat ctxt", Some("cs"), ROUND_TRIPS),
    rate(r"\Processor Information(_Total)\Interrupts/sec", "stat intr", Some("in"), 0),
    rate(r"\Memory\Page Faults/sec", "vmstat pgfault", None, TOUCHED_MIB * PAGES_IN_MIB),
    rate(r"\Memory\Page Reads/sec", "vmstat pgmajfault", None, 0),
    kib_rate(r"\Memory\Pages Input/sec", "vmstat pgpgin", "bi"),
    kib_rate(r"\Memory\Pages Output/sec", "vmstat pgpgout", "bo"),
];

/// Compares perfset's rates with vmstat and `/proc` over the same seconds, with the load in their middle. The medians
/// of the differences are at most a twentieth, or 50 per second.
pub fn check(rounds: usize) -> Result<String> {
    let page = kib_in_page()?;
    let mut differences = vec![[Vec::new(), Vec::new()]; RATES.len()];
    for _ in 0..rounds {
        let (ours, from_proc, from_vmstat) = round()?;
        for (at, rate) in RATES.iter().enumerate() {
            let unit = if rate.in_kib { page } else { 1.0 };
            let (ours, least) = (ours[at] * unit, rate.least as f64 / SECONDS as f64);
            ensure!(ours >= least * 0.99, "{} is {ours:.0}, with a load of {least:.0}", rate.path);
            let columns = [Some(from_proc[at]), from_vmstat[at]];
            for (peer, differences) in columns.into_iter().zip(&mut differences[at]) {
                let Some(peer) = peer else { continue };
                differences.push((ours - peer).abs() / (peer / 20.0).max(50.0));
            }
        }
    }
    let mut worst = (0.0, String::new());
    for (rate, differences) in RATES.iter().zip(differences) {
        for (peer, differences) in ["/proc", "vmstat"].into_iter().zip(differences) {
            if differences.is_empty() {
                continue;
            }
            let median = median(differences) * 5.0;
            ensure!(median <= 5.0, "{} and {peer} differ by {median:.1} % (median of {rounds})", rate.path);
            if median > worst.0 {
                worst = (median, format!("{} and {peer}", rate.path));
            }
        }
    }
    Ok(format!(": worst median {:.2} % ({}), {rounds} rounds", worst.0, worst.1))
}

type Round = (Vec<f64>, Vec<f64>, Vec<Option<f64>>);

/// Returns values per second of perfset, `/proc` and vmstat over the same seconds, in the units of vmstat and
/// `/proc`.
fn round() -> Result<Round> {
    let seconds = SECONDS.to_string();
    let paths = RATES.map(|rate| rate.path);
    let (started, before) = (Instant::now(), proc::read()?);
    let ours = record::command(&paths, &[&seconds, "1"]).spawn().context("cannot start perfset")?;
    let theirs = Command::new("vmstat")
        .args(["-n", &seconds, "2"])
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start vmstat (Debian package procps)")?;
    sleep(Duration::from_millis(500));
    let load = known_load::events();
    let in_time = started.elapsed() < Duration::from_millis(SECONDS as u64 * 1000 - 200);
    let ours = finished(ours.wait_with_output()?)?;
    let (after, elapsed) = (proc::read()?, started.elapsed().as_secs_f64());
    let theirs = finished(theirs.wait_with_output()?)?;
    load?;
    ensure!(in_time, "the machine is too busy: the load takes longer than {SECONDS} s");

    let ours = record::parse(&ours, RATES.len())?;
    let ours = ours.iter().map(record::Record::value).collect::<Result<_>>()?;
    let from_proc = RATES.iter().map(|rate| Ok((of(&after, rate.proc)? - of(&before, rate.proc)?) / elapsed));
    let lines: Vec<Vec<_>> = theirs.lines().map(|line| line.split_whitespace().collect()).collect();
    let [_, heads, _, numbers] = lines.as_slice() else { bail!("vmstat prints {theirs:?}") };
    let column = |name| -> Result<f64> {
        let at =
            heads.iter().position(|head| *head == name).with_context(|| format!("vmstat has no {name}"))?;
        Ok(numbers.get(at).context("too few columns")?.parse()?)
    };
    let from_vmstat = RATES.iter().map(|rate| rate.column.map(column).transpose());
    Ok((ours, from_proc.collect::<Result<_>>()?, from_vmstat.collect::<Result<_>>()?))
}
