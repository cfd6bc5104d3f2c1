//! `perfset doctor`: what works here, what does not, and what would open it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use perfset::catalogue::perfset_engine as own;
use perfset::{Entry, InstanceType, NoValue, Snapshot};

use crate::exit::{Exit, Failure};
use crate::resolve::countersets;
use crate::text::escaped;

pub fn run() -> Result<Exit, Failure> {
    let machine = perfset::local();
    let sets = countersets(&machine);
    let mut out = io::stdout().lock();
    writeln!(out, "perfset {} on {}", env!("CARGO_PKG_VERSION"), system())?;

    // Everything once, and once more: the second collection is what a collection costs.
    let mut query = machine.query();
    for set in &sets {
        let all = Entry::all(set.guid);
        let entry = if set.instance_type == InstanceType::Single { all } else { all.instance("*") };
        let status = query.add(&entry);
        if !status.is_success() {
            writeln!(out, "warn  {}: the query refuses it: {status}", escaped(&set.name))?;
        }
    }
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    query.collect(&mut old).map_err(failed)?;
    let started = Instant::now();
    query.collect(&mut new).map_err(failed)?;
    let took = started.elapsed();

    // Reasons, and the counters that have them: by text, so that one cause is one line.
    let mut lacking: BTreeMap<&str, u32> = BTreeMap::new();
    let mut trouble: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut missing: u64 = 0;
    for value in new.values(Some(&old)) {
        let Err(reason) = &value.value else { continue };
        let name = value.counter.name.as_deref().unwrap_or_default();
        missing = missing.saturating_add(u64::from(value.raw.is_none()));
        match reason {
            NoValue::Unavailable(_) => {
                let count = lacking.entry(&value.counterset.name).or_default();
                *count = count.saturating_add(1);
            }
            NoValue::Denied(_) | NoValue::Failed(_) | NoValue::Late | NoValue::Status(_) => {
                let counters = trouble.entry(escaped(&reason.to_string())).or_default();
                if !counters.iter().any(|other| other == name) {
                    counters.push(name.to_owned());
                }
            }
            _ => {}
        }
    }
    let with = lacking.len();
    writeln!(out, "ok    {} countersets, {with} of them with counters that this machine lacks", sets.len())?;
    for (topic, what) in machine.about() {
        writeln!(out, "ok    {}: {}", escaped(&topic), escaped(&what))?;
    }
    for problem in machine.problems() {
        writeln!(out, "warn  {}", escaped(&problem.to_string()))?;
    }
    for (reason, counters) in &trouble {
        let names: Vec<_> = counters.iter().map(|name| escaped(name)).take(3).collect();
        let more = if counters.len() > names.len() { ", ..." } else { "" };
        writeln!(out, "warn  {reason} ({}{more})", names.join(", "))?;
    }
    let late = new
        .values(Some(&old))
        .find(|v| v.counterset.guid == own::GUID && v.counter.id == own::LATE_PROVIDERS);
    let late = late.and_then(|v| v.raw).map_or(0, perfset::RawValue::get);
    let ms = took.as_secs_f64() * 1_000.0;
    writeln!(
        out,
        "ok    a collection of everything takes {ms:.2} ms; {late} late, {missing} values missing"
    )?;
    out.flush()?;
    Ok(Exit::Ok)
}

/// System, processors and user, as far as the system tells.
fn system() -> String {
    let read = |file| fs::read_to_string(file).ok().map(|text| escaped(text.trim()));
    let kernel = read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "an unknown kernel".to_owned());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let s = if processors == 1 { "" } else { "s" };
    let user = std::env::var("USER").ok().filter(|user| !user.is_empty()).map(|user| escaped(&user));
    let id = || fs::metadata("/proc/self").map(|own| own.uid().to_string()).ok();
    let user = user.or_else(id).unwrap_or_else(|| "unknown".to_owned());
    format!("Linux {kernel}, {processors} processor{s}, user {user}")
}
