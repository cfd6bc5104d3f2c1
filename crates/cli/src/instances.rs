//! `perfset instances`: the instances of a counterset.

use std::io::{self, Write};

use perfset::output::text::escaped;
use perfset::{Counterset, Instance, InstanceType, SourceError};
use serde::Serialize;

use crate::args::InstancesArgs;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::records::{ListRecord, RecordWriter};
use crate::resolve::counterset;

/// Prints the instances of a counterset, one per line.
pub fn run(args: &InstancesArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let set = counterset(&asked, &args.name)?;
    let found = match asked.machine().instances(&set.guid) {
        Ok(found) => found,
        // Publishers of other users may be the reason, so what is not shown is part of the message.
        Err(error @ SourceError::NoInstances(_)) => {
            let mut text = error.to_string();
            for line in asked.not_shown(Some(&set.guid)) {
                text.push_str(&format!("\n  {line}"));
            }
            return Err(Failure::new(Exit::NothingMatched, anyhow::anyhow!(text)));
        }
        Err(error) => return Err(Failure::new(Exit::SourceFailed, error)),
    };
    if let Some(records) = RecordWriter::stdout(args.output.format()) {
        records.all(found.iter().map(|instance| InstanceRecord::new(&set, instance)))?;
        asked.note_not_shown(Some(&set.guid));
        return Ok(Exit::Ok);
    }
    let mut out = io::stdout().lock();
    if !set.instance_type.is_multiple() {
        let is_single = set.instance_type == InstanceType::Single;
        let what = if is_single { "has one instance" } else { "shows the aggregate of its instances" };
        writeln!(out, "{} {what}, without a name", escaped(&set.name))?;
        return Ok(Exit::Ok);
    }
    let names: Vec<_> = found.iter().map(|instance| escaped(&instance.name.to_string())).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
    writeln!(out, "{:width$}  {:>10}", "instance", "id")?;
    for (name, instance) in names.iter().zip(&found) {
        writeln!(out, "{name:width$}  {:>10}", instance.id.0)?;
    }
    let not_shown = asked.not_shown(Some(&set.guid));
    if !not_shown.is_empty() {
        writeln!(out)?;
    }
    for line in not_shown {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Fields of one instance, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct InstanceRecord<'a> {
    counterset: &'a str,
    instance: String,
    /// Id of the instance, if the counterset can have several instances.
    instance_id: Option<u32>,
}

impl ListRecord for InstanceRecord<'_> {
    const CSV_HEADER: &'static str = "counterset,instance,instance_id";
}

impl<'a> InstanceRecord<'a> {
    fn new(set: &'a Counterset, instance: &Instance) -> Self {
        let has_instances = set.instance_type.is_multiple();
        Self {
            counterset: &set.name,
            // The single instance of a counterset has no name in paths.
            instance: if has_instances { instance.name.to_string() } else { String::new() },
            instance_id: has_instances.then_some(instance.id.0),
        }
    }
}
