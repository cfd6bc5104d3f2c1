//! `perfset instances`: prints the instances of a counterset.

use std::collections::HashMap;
use std::io::{self, Write};
use std::num::NonZeroU64;

use jiff::tz::TimeZone;
use perfset::log::recording::{Recording, SeenInstance};
use perfset::output::text::escaped;
use perfset::{
    Attributes, Birth, Counterset, Entry, Fact, FactOptions, Identity, Instance, InstanceType, Machine, Name,
    Snapshot, Source, SourceError, Window,
};
use serde::Serialize;

use crate::args::InstancesArgs;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::records::{ListRecord, RecordWriter};
use crate::resolve::counterset;
use crate::when::zoned;

/// Prints the instances of a counterset, one per line.
pub fn run(args: &InstancesArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let set = counterset(&asked, &args.name)?;
    if let QuerySource::Logs { logs, .. } = &asked {
        if let Some(recording) = logs.recording().filter(|_| set.instance_type.is_multiple()) {
            return recorded(args, &asked, recording, &set);
        }
        if args.facts {
            let error =
                anyhow::anyhow!("--facts needs this machine or a recording: other logs have no facts");
            return Err(Failure::new(Exit::Usage, error));
        }
    }
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
    show(&asked, &set, &found, facts)
}

/// Prints the instances of a counterset that exist now, each with its facts.
fn show(
    asked: &QuerySource,
    set: &Counterset,
    found: &[Instance],
    facts: impl Fn(&Instance) -> Vec<Fact>,
) -> Result<Exit, Failure> {
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
    for (name, instance) in names.iter().zip(found) {
        writeln!(out, "{name:width$}  {:>10}", instance.id.0)?;
        for fact in facts(instance) {
            write_fact(&mut out, &fact)?;
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

/// Prints every instance that had a sample in a recording, with the times of its first and last sample. Two processes
/// with the same process id are two instances.
fn recorded(
    args: &InstancesArgs,
    asked: &QuerySource,
    recording: &Recording,
    set: &Counterset,
) -> Result<Exit, Failure> {
    let failed = |error| asked.failed(Failure::escaped(Exit::SourceFailed, error));
    let seen = recording.seen_instances(&set.guid).map_err(failed)?;
    if seen.is_empty() {
        let error = SourceError::NoInstances(set.guid);
        return Err(asked.failed(Failure::new(Exit::NothingMatched, error)));
    }
    // An instance of another boot can have the same name, id and birth: facts are those of its own.
    let ends = if args.facts { recording.boot_ends() } else { Vec::new() };
    let mut boots: HashMap<i64, Recording> = HashMap::new();
    let mut facts = |seen: &SeenInstance| {
        let end = ends.get(ends.partition_point(|end| *end < seen.last)).copied().unwrap_or(i64::MAX);
        let window = Window { begin: None, end: Some(end) };
        let source = boots.entry(end).or_insert_with(|| recording.within(window));
        let (bytes, options) = (little_endian(&seen.instance), FactOptions::default());
        let identity = Identity {
            counterset: set.guid,
            instance: Name::until_nul(&bytes),
            instance_id: seen.instance.id,
            birth: NonZeroU64::new(seen.birth),
        };
        // Facts are an extra: the instance is listed without them.
        if args.facts { source.facts(&identity, options).unwrap_or_default() } else { Vec::new() }
    };
    if let Some(records) = RecordWriter::stdout(args.output.format()) {
        if args.facts {
            let of =
                |seen| facts(seen).into_iter().map(|fact| SeenFactRecord::new(set, seen, fact)).collect();
            records.all(seen.iter().map(of).flat_map(|facts: Vec<_>| facts))?;
        } else {
            records.all(seen.iter().map(|seen| SeenRecord::new(set, seen)))?;
        }
    } else {
        let zone = asked.zone();
        let time = |time: i64| {
            zoned(time, &zone).map_or_else(String::new, |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
        };
        let names: Vec<_> = seen.iter().map(|seen| escaped(&seen.instance.name.to_string())).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
        let mut out = io::stdout().lock();
        writeln!(out, "{:width$}  {:>10}  {:19}  {:19}", "instance", "id", "first sample", "last sample")?;
        for (name, seen) in names.iter().zip(&seen) {
            let (first, last) = (time(seen.first), time(seen.last));
            writeln!(out, "{name:width$}  {:>10}  {first}  {last}", seen.instance.id.0)?;
            for fact in facts(seen) {
                write_fact(&mut out, &fact)?;
            }
        }
        out.flush()?;
    }
    Ok(if asked.warn_of_damage() { Exit::InvalidData } else { Exit::Ok })
}

fn write_fact(out: &mut impl Write, fact: &Fact) -> io::Result<()> {
    let text = match &fact.text {
        Ok(text) => escaped(text),
        Err(reason) => format!("- ({})", escaped(&reason.to_string())),
    };
    writeln!(out, "    {:12}  {text}", fact.kind.keyword())
}

/// Returns the name of an instance as little-endian UTF-16, the encoding of names in a recording.
fn little_endian(instance: &Instance) -> Vec<u8> {
    instance.name.units().iter().flat_map(|unit| unit.to_le_bytes()).collect()
}

/// Fields of one recorded instance, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct SeenRecord<'a> {
    #[serde(flatten)]
    instance: InstanceRecord<'a>,
    /// Time of the first sample of the instance, in UTC.
    first_sample: String,
    /// Time of the last sample of the instance, in UTC.
    last_sample: String,
}

impl ListRecord for SeenRecord<'_> {
    const CSV_HEADER: &'static str = "counterset,instance,instance_id,first_sample,last_sample";
}

impl<'a> SeenRecord<'a> {
    fn new(set: &'a Counterset, seen: &SeenInstance) -> Self {
        let (first_sample, last_sample) = (utc(seen.first), utc(seen.last));
        Self { instance: InstanceRecord::new(set, &seen.instance), first_sample, last_sample }
    }
}

/// Formats the time of a sample in UTC, as JSON and CSV contain it.
fn utc(time: i64) -> String {
    let time = zoned(time, &TimeZone::UTC);
    time.map_or_else(String::new, |time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// Fields of one fact about a recorded instance, in the order in which CSV and JSON contain them. The times
/// distinguish instances of the same name and id.
#[derive(Serialize)]
struct SeenFactRecord<'a> {
    #[serde(flatten)]
    fact: FactRecord<'a>,
    first_sample: String,
    last_sample: String,
}

impl ListRecord for SeenFactRecord<'_> {
    const CSV_HEADER: &'static str =
        "counterset,instance,instance_id,fact,text,reason,first_sample,last_sample";
}

impl<'a> SeenFactRecord<'a> {
    fn new(set: &'a Counterset, seen: &SeenInstance, fact: Fact) -> Self {
        let fact = FactRecord::new(set, &seen.instance, fact);
        Self { fact, first_sample: utc(seen.first), last_sample: utc(seen.last) }
    }
}

/// Fields of one current instance, in the order in which CSV and JSON contain them.
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
    /// Keyword of the kind of the fact, such as its command line.
    fact: &'static str,
    text: Option<String>,
    /// Reason why the fact about the instance has no text.
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

/// Returns the birth of each instance of a counterset, which distinguishes the instance from an earlier one of the
/// same name and id. Sources without births have `None`.
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

/// Returns the facts about an instance, if the user requests facts.
fn facts_of(
    args: &InstancesArgs,
    machine: &Machine,
    set: &Counterset,
    instance: &Instance,
    births: &HashMap<Instance, Birth>,
) -> Vec<Fact> {
    // An instance that the collection of the births lacks has ended, or is another one: its facts could be of a third.
    let (true, Some(birth)) = (args.facts, births.get(instance)) else { return Vec::new() };
    let bytes = little_endian(instance);
    let identity = Identity {
        counterset: set.guid,
        instance: Name::until_nul(&bytes),
        instance_id: instance.id,
        birth: *birth,
    };
    let options = FactOptions::default().with_command_lines(args.with_command_lines);
    // Facts are an extra: the instance is listed without them.
    machine.facts(&identity, options).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::sync::Arc;

    use clap::Parser;
    use perfset::testing::{FixedClock, Scripted};
    use perfset::{
        Catalogue, CollectRequest, Counter, CounterId, CounterType, FactKind, Guid, InstanceId, Provider,
        Rows,
    };

    use super::*;
    use crate::args::{Args, Command};

    /// Test provider whose fact about an instance is the birth of that instance.
    struct Births(Scripted);

    impl Provider for Births {
        fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
            self.0.catalogue()
        }

        fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
            self.0.instances(counterset, rows)
        }

        fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
            self.0.collect(want, rows)
        }

        fn facts(&mut self, instance: &Identity<'_>, _: FactOptions) -> Result<Vec<Fact>, SourceError> {
            Ok(vec![Fact::new(FactKind::User, Ok(format!("{:?}", instance.birth.map(NonZeroU64::get))))])
        }
    }

    /// Checks that an instance has no facts if it ended or began between enumeration and collection, because the
    /// facts could belong to another instance.
    #[test]
    fn facts_need_the_instance_in_the_collection() {
        let counter = Counter::new(CounterId(1), CounterType::PERF_COUNTER_RAWCOUNT).name("C");
        let set = Counterset::new(Guid::from_u128(1), "S", InstanceType::Multiple).counters(vec![counter]);
        let scripted = Scripted::new(vec![set.clone()]);
        scripted.with(|script| {
            script.rows = vec![("a", 1, vec![Ok(5)]), ("b", 2, vec![Ok(5)])];
            script.births = vec![(1, 7)];
        });
        let machine = Machine::new(Box::new(FixedClock::default()));
        machine.register(Box::new(Births(scripted)));
        let births = births(&machine, &set);
        let facts = |words: &[&str], name: &str, id: u32| {
            let all = ["perfset", "instances", "s"].iter().chain(words);
            let Some(Command::Instances(args)) = Args::try_parse_from(all).unwrap().command else {
                panic!("another command")
            };
            let instance = Instance { name: name.into(), id: InstanceId(id) };
            let facts = facts_of(&args, &machine, &set, &instance, &births);
            facts.into_iter().map(|fact| fact.text.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(facts(&["--facts"], "a", 1), ["Some(7)"]);
        assert_eq!(facts(&["--facts"], "b", 2), ["None"], "of a source without births");
        for (name, id) in [("a", 2), ("b", 1), ("c", 3)] {
            assert_eq!(facts(&["--facts"], name, id), [""; 0], "{name} {id}");
        }
        assert_eq!(facts(&[], "a", 1), [""; 0]);
    }
}
