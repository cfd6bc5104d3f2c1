//! `perfset list`: prints the countersets of this machine, or of logs.

use std::io::{self, Write};

use perfset::output::text::{escaped, grouped};
use perfset::path::nearest;
use perfset::{Counterset, Pattern, SourceError, Utf16};

use crate::args::ListArgs;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::resolve::{countersets, no_counterset, nothing_found};

pub fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let filter = args.filter.as_deref().map(|text| Pattern::new(&Utf16::from(pattern(text).as_str())));
    let mut sets = countersets(asked.machine());
    if sets.is_empty() {
        return Err(asked.failed(nothing_found(&asked, "no counterset is available")));
    }
    let all: Vec<_> = sets.iter().map(|set| set.name.to_string()).collect();
    sets.retain(|set| filter.as_ref().is_none_or(|filter| filter.matches(set.name.encode_utf16())));
    if sets.is_empty() {
        let what = args.filter.as_deref().unwrap_or_default();
        return Err(no_counterset(&asked, what, &nearest(what, all.iter().map(String::as_str), 3)));
    }
    let rows: Vec<_> = sets.iter().map(|set| row(&asked, set)).collect();
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max(10);
    let mut out = io::stdout().lock();
    writeln!(out, "{:width$}  {:>9}  {:>8}  from", "counterset", "instances", "counters")?;
    for (name, instances, counters, from) in &rows {
        writeln!(out, "{name:width$}  {instances:>9}  {counters:>8}  {from}")?;
    }
    let count = rows.len();
    let s = if count == 1 { "" } else { "s" };
    let options = asked.options();
    writeln!(
        out,
        "\n{count} counterset{s}; perfset describe NAME{options} shows one, perfset list 'proc*'{options} filters"
    )?;
    for line in asked.not_shown(None) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    let is_listed = |set: &Counterset| sets.iter().any(|listed| listed.guid == set.guid);
    // A counterset that is left out altogether can only be reported if no filter was given.
    asked.warn_of_left_out(|set| set.map_or(filter.is_none(), is_listed));
    Ok(if asked.warn_of_damage() { Exit::InvalidData } else { Exit::Ok })
}

/// Returns the pattern for a text that a user typed: it matches as part of a name, unless it has wildcards.
fn pattern(text: &str) -> String {
    if text.contains(['*', '?']) { text.to_string() } else { format!("*{text}*") }
}

fn row(asked: &QuerySource, set: &Counterset) -> (String, String, usize, String) {
    let machine = asked.machine();
    let instances = match machine.instances(&set.guid) {
        Ok(instances) => grouped(f64::from(u32::try_from(instances.len()).unwrap_or(u32::MAX)), 0),
        Err(SourceError::NoInstances(_)) => "0".to_string(),
        Err(_) => "-".to_string(),
    };
    let origin = machine.origin(&set.guid).unwrap_or_default();
    (
        escaped(&set.name),
        instances,
        set.counters.iter().filter(|counter| asked.shows(counter)).count(),
        escaped(&origin),
    )
}
