//! Check of processor times while a processor goes offline and comes back.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::totals::seconds;
use super::{finished, record};

/// Path of the file that switches a processor offline; `cpu0` may not have one.
const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";
/// Number of samples of the processors, one a second.
const SAMPLES: usize = 10;
/// Time between the start of the checked programs and the switch of the processor.
const BEFORE: Duration = Duration::from_millis(3_500);
/// Length of time for which the processor is offline.
const OFFLINE: Duration = Duration::from_secs(3);
/// Maximum excess over 100 % per processor in percentage points: the kernel counts processor times in ticks.
const POINTS: f64 = 2.0;
/// Maximum time between the clock that a sample prints and the reading of its files, in seconds, on a busy machine.
const SLACK: f64 = 0.3;

const PATHS: [&str; 3] = [
    r"\Process V2(Idle:0)\% Processor Time",
    r"\Process V2(_Total)\% Processor Time",
    r"\Processor Information(*)\% Processor Time",
];
/// Countersets and instances whose processor time is that of several processors.
const TOTALS: [(&str, &str); 3] =
    [("Process V2", "Idle:0"), ("Process V2", "_Total"), (PROCESSORS, "_Total")];
const PROCESSORS: &str = "Processor Information";

/// Checks processor times before, while and after a processor is offline, for each way of reading processes.
///
/// Times of different processors must not be subtracted: `Idle` once showed 10,798 % that way. The interval of a change
/// has the status `replaced`.
pub fn check() -> Result<String> {
    let switch = Switch::find();
    let mut running = Vec::new();
    for source in ["gate", "proc", "bpf"] {
        let more = ["1", &SAMPLES.to_string(), "--process-source", source];
        let child = record::command(&PATHS, &more).spawn();
        running.push((source, child.context("cannot start perfset")?));
    }
    let (changes, fact) = match switch {
        Ok(switch) => {
            sleep(BEFORE);
            let began = Instant::now();
            let away = switch.go_offline()?;
            sleep(OFFLINE);
            let back = switch.go_online()?;
            let seconds = began.elapsed().as_secs_f64();
            (vec![away, back], format!("cpu1 was offline for {seconds:.1} s"))
        }
        Err(why) => {
            (Vec::new(), format!("no processor can go offline here ({why}), the others were checked"))
        }
    };
    let mut figures = Vec::new();
    for (source, child) in running {
        let samples = parse(&finished(child.wait_with_output()?)?)?;
        let greatest = judge(&samples, &changes).with_context(|| format!("from {source}"))?;
        figures.push(format!("{source} {greatest}"));
    }
    Ok(format!(": {fact}; at most {}", figures.join(", ")))
}

/// Period in which a processor changes its state, in seconds since 1970: from the write to the switch until the
/// kernel is done.
#[derive(Clone, Copy, Debug)]
struct Change {
    from: f64,
    to: f64,
}

/// Switch that takes a processor offline, and brings it back when this value is dropped, or when a signal ends this
/// process.
struct Switch {
    /// Shell process that brings the processor back when its input ends; the input ends in whatever way this process
    /// ends.
    keeper: Child,
}

impl Switch {
    /// Returns the switch of a processor, or the reason why this machine has none that this user may use.
    fn find() -> Result<Self, String> {
        let state = fs::read_to_string(SWITCH).map_err(|error| format!("{SWITCH}: {error}"))?;
        if state.trim() != "1" {
            return Err("cpu1 is offline already".into());
        }
        OpenOptions::new().write(true).open(SWITCH).map_err(|error| format!("{SWITCH}: {error}"))?;
        let script = format!("trap '' HUP INT TERM; read -r _; echo 1 >{SWITCH}");
        let keeper = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn();
        Ok(Self { keeper: keeper.map_err(|error| format!("cannot start sh: {error}"))? })
    }

    fn go_offline(&self) -> Result<Change> {
        write("0")
    }

    fn go_online(&self) -> Result<Change> {
        write("1")
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait(); // the state below says whether it did its work
        let is_online = || fs::read_to_string(SWITCH).is_ok_and(|state| state.trim() == "1");
        if !is_online() && (write("1").is_err() || !is_online()) {
            eprintln!("cpu1 is still offline; bring it back with: echo 1 >{SWITCH}");
        }
    }
}

fn write(state: &str) -> Result<Change> {
    let from = now()?;
    fs::write(Path::new(SWITCH), state).with_context(|| format!("cannot write {state} to {SWITCH}"))?;
    Ok(Change { from, to: now()? })
}

fn now() -> Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64())
}

/// Line of `perfset get` about one value, with the fields that the check of processors needs.
#[derive(Debug, Deserialize)]
struct Line {
    time: String,
    counterset: String,
    instance: String,
    value: Option<f64>,
    status: String,
}

/// Lines of `perfset get` about one sample, by counterset and instance.
struct Sample {
    seconds: f64,
    lines: BTreeMap<(String, String), Line>,
}

impl Sample {
    /// Returns the number of processors that have a row in the sample.
    fn processors(&self) -> f64 {
        let is_one = |(set, instance): &&(String, String)| set == PROCESSORS && !is_total(instance);
        self.lines.keys().filter(is_one).count() as f64
    }
}

fn is_total(instance: &str) -> bool {
    instance.ends_with("_Total")
}

fn parse(json: &str) -> Result<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    for text in json.lines() {
        let line: Line =
            serde_json::from_str(text).with_context(|| format!("not what is expected: {text}"))?;
        let seconds = seconds(&line.time)?;
        if samples.last().is_none_or(|last| last.seconds != seconds) {
            samples.push(Sample { seconds, lines: BTreeMap::new() });
        }
        let sample = samples.last_mut().context("there is one")?;
        let twice = sample.lines.insert((line.counterset.clone(), line.instance.clone()), line);
        ensure!(twice.is_none(), "a value is printed twice: {twice:?}");
    }
    ensure!(samples.len() == SAMPLES, "{} samples are printed, not {SAMPLES}", samples.len());
    Ok(samples)
}

/// Checks the processor times in the samples of one program. Returns the greatest values, and the number of intervals
/// without one.
fn judge(samples: &[Sample], changes: &[Change]) -> Result<String> {
    let most = samples.iter().map(Sample::processors).fold(0.0, f64::max);
    let least = samples.iter().map(Sample::processors).fold(f64::INFINITY, f64::min);
    let away = if changes.is_empty() { 0.0 } else { 1.0 };
    ensure!(least >= 1.0 && most - least == away, "from {least} to {most} processors have a row");
    let mut greatest = [0.0_f64; 3];
    let mut replaced = [0_usize; 3];
    let mut before = None;
    for sample in samples {
        let since = before.replace(sample.seconds).unwrap_or(sample.seconds - 1.0);
        let near = |change: &&Change| since <= change.to + SLACK && sample.seconds >= change.from - SLACK;
        let may_change = changes.iter().any(|change| near(&change));
        for ((set, instance), line) in &sample.lines {
            match line.status.as_str() {
                "ok" => {}
                "replaced" if may_change => {}
                // A processor that came back has no earlier sample.
                "new_instance" if may_change && set == PROCESSORS && !is_total(instance) => {}
                _ => bail!("{line:?}, changes {changes:?}"),
            }
            let most = if set == PROCESSORS { 100.0 } else { (100.0 + POINTS) * sample.processors() };
            ensure!(line.value.is_none_or(|value| (0.0..=most).contains(&value)), "{line:?}, above {most}");
        }
        for ((set, instance), (greatest, replaced)) in
            TOTALS.iter().zip(greatest.iter_mut().zip(&mut replaced))
        {
            let line = sample.lines.get(&((*set).into(), (*instance).into()));
            let line = line.with_context(|| format!("{set} has no {instance} at {}", sample.seconds))?;
            *greatest = greatest.max(line.value.unwrap_or(0.0));
            *replaced += usize::from(line.value.is_none());
        }
    }
    for (replaced, (set, instance)) in replaced.iter().zip(TOTALS) {
        ensure!(
            *replaced == changes.len(),
            "{instance} of {set} is replaced in {replaced} intervals, not in {}",
            changes.len()
        );
    }
    let [idle, total, processors] = greatest;
    Ok(format!(
        "Idle {idle:.1} %, _Total {total:.1} %, processors {processors:.1} %, {} intervals replaced",
        changes.len()
    ))
}
