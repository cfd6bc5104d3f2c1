//! `perfset instances`: the instances of a counterset.

use std::collections::HashMap;
use std::io::{self, Write};

use perfset::output::text::escaped;
use perfset::{
    Attributes, Birth, Counterset, Entry, Fact, FactOptions, Identity, Instance, InstanceType, Machine, Name,
    Snapshot, SourceError,
};
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
    let births = if args.facts { births(asked.machine(), &set) } else { HashMap::new() };
    let facts = |instance: &Instance| facts_of(args, asked.machine(), &set, instance, &births);
    if let Some(records) = RecordWriter::stdout(args.output.format()) {
        if args.facts {
            let of = |instance| {
                facts(instance).into_iter().map(|fact| FactRecord::new(&set, instance, fact)).collect()
            };
            records.all(found.iter().flat_map(|instance: &Instance| -> Vec<_> { of(instance) }))?;
        } else {
            records.all(found.iter().map(|instance| InstanceRecord::new(&set, instance)))?;
        }
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
        for fact in facts(instance) {
            let text = match &fact.text {
                Ok(text) => escaped(text),
                Err(reason) => format!("- ({})", escaped(&reason.to_string())),
            };
            writeln!(out, "    {:12}  {text}", fact.kind.keyword())?;
        }
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

/// Fields of one fact about an instance, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct FactRecord<'a> {
    #[serde(flatten)]
    instance: InstanceRecord<'a>,
    /// Keyword of the kind of fact.
    fact: &'static str,
    text: Option<String>,
    /// Reason for having no text.
    reason: Option<String>,
}

impl ListRecord for FactRecord<'_> {
    const CSV_HEADER: &'static str = "counterset,instance,instance_id,fact,text,reason";
}

impl<'a> FactRecord<'a> {
    fn new(set: &'a Counterset, instance: &Instance, fact: Fact) -> Self {
        let (text, reason) = match fact.text {
            Ok(text) => (Some(text), None),
            Err(reason) => (None, Some(reason.to_string())),
        };
        Self { instance: InstanceRecord::new(set, instance), fact: fact.kind.keyword(), text, reason }
    }
}

/// Returns the birth of each instance of a counterset, which distinguishes it from an earlier one of the same name and
/// id. An instance that is not in the map has an unknown birth.
fn births(machine: &Machine, set: &Counterset) -> HashMap<Instance, Birth> {
    let is_shown = |attributes: Attributes| !attributes.contains(Attributes::NO_DISPLAYABLE);
    let counter = set.counters.iter().find(|c| is_shown(c.attributes) && !c.is_never_there());
    let (mut query, mut snapshot) = (machine.query(), Snapshot::default());
    let mut births = HashMap::new();
    let Some(counter) = counter else { return births };
    if !query.add(&Entry::one(set.guid, counter.id).instance("*")).is_success()
        || query.collect(&mut snapshot).is_err()
    {
        return births;
    }
    for (row, value) in snapshot.values(None).enumerate() {
        let (Some(id), Some(metadata)) = (value.instance_id, snapshot.annex().get(value.entry)) else {
            continue;
        };
        births.insert(Instance { name: value.instance.into(), id }, metadata.birth(row));
    }
    births
}

/// Returns the facts about an instance, if they are requested.
fn facts_of(
    args: &InstancesArgs,
    machine: &Machine,
    set: &Counterset,
    instance: &Instance,
    births: &HashMap<Instance, Birth>,
) -> Vec<Fact> {
    if !args.facts {
        return Vec::new();
    }
    let bytes: Vec<u8> = instance.name.units().iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let identity = Identity {
        counterset: set.guid,
        instance: Name::until_nul(&bytes),
        instance_id: instance.id,
        birth: births.get(instance).copied().flatten(),
    };
    let options = FactOptions::default().with_command_lines(args.with_command_lines);
    // Facts are an extra: the instance is listed without them.
    machine.facts(&identity, options).unwrap_or_default()
}
