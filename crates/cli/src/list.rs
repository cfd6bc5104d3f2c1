//! `perfset list`: prints the countersets of this machine, or of logs.

use std::io::{self, Write};

use perfset::output::text::{escaped, grouped};
use perfset::path::nearest;
use perfset::{Counterset, InstanceType, Pattern, SourceError, Utf16};
use serde::Serialize;

use crate::args::ListArgs;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::records::{ListRecord, RecordWriter};
use crate::resolve::{countersets, no_counterset, nothing_found};

/// Prints the countersets whose names match the filter of the user.
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
    let rows: Vec<_> = sets.iter().map(|set| CountersetRecord::new(&asked, set)).collect();
    match RecordWriter::stdout(args.output.format()) {
        Some(records) => {
            records.all(rows)?;
            asked.note_not_shown(None);
        }
        None => print_table(&asked, &rows)?,
    }
    let is_listed = |set: &Counterset| sets.iter().any(|listed| listed.guid == set.guid);
    // A counterset that is left out altogether can only be reported if no filter was given.
    asked.warn_of_left_out(|set| set.map_or(filter.is_none(), is_listed));
    Ok(if asked.warn_of_damage() { Exit::InvalidData } else { Exit::Ok })
}

/// Prints one line per counterset, as a table.
fn print_table(asked: &QuerySource, records: &[CountersetRecord]) -> io::Result<()> {
    let whole = |count: usize| grouped(f64::from(u32::try_from(count).unwrap_or(u32::MAX)), 0);
    let rows: Vec<_> = records
        .iter()
        .map(|set| {
            let instances = set.instances.map_or_else(|| "-".to_owned(), whole);
            (escaped(&set.counterset), instances, set.counters, escaped(&set.origin))
        })
        .collect();
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
    out.flush()
}

/// Returns the pattern of a filter that a user typed: it matches as part of a name, unless it has wildcards.
fn pattern(text: &str) -> String {
    if text.contains(['*', '?']) { text.to_string() } else { format!("*{text}*") }
}

/// Fields of one counterset, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct CountersetRecord {
    counterset: String,
    guid: String,
    instance_type: &'static str,
    /// Number of instances of a counterset; `None` if it is unknown.
    instances: Option<usize>,
    counters: usize,
    /// Name of the provider of a counterset.
    origin: String,
    help: String,
}

impl ListRecord for CountersetRecord {
    const CSV_HEADER: &'static str = "counterset,guid,instance_type,instances,counters,origin,help";
}

impl CountersetRecord {
    fn new(asked: &QuerySource, set: &Counterset) -> Self {
        let machine = asked.machine();
        let instances = match machine.instances(&set.guid) {
            Ok(instances) => Some(instances.len()),
            Err(SourceError::NoInstances(_)) => Some(0),
            Err(_) => None,
        };
        Self {
            counterset: set.name.to_string(),
            guid: set.guid.to_string(),
            instance_type: instance_type(set.instance_type),
            instances,
            counters: set.counters.iter().filter(|counter| asked.shows(counter)).count(),
            origin: machine.origin(&set.guid).unwrap_or_default().to_string(),
            help: set.help.to_string(),
        }
    }
}

/// Returns the keyword of an instance type.
pub fn instance_type(instance_type: InstanceType) -> &'static str {
    match instance_type {
        InstanceType::Single => "single",
        InstanceType::Multiple => "multiple",
        InstanceType::SingleAggregate => "single_aggregate",
        InstanceType::MultiAggregate => "multi_aggregate",
        InstanceType::SingleAggregateHistory => "single_aggregate_history",
        InstanceType::InstanceAggregate => "instance_aggregate",
    }
}
