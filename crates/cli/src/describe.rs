//! `perfset describe`, `perfset instances` and `perfset find`: countersets, instances and counters, with their
//! meaning.

use std::io::{self, IsTerminal, Write};

use perfset::output::text::{escaped, wrapped};
use perfset::path::{self, nearest, path_of};
use perfset::{Attributes, Counter, Counterset, InstanceType, SourceError};

use terminal_size::{Width, terminal_size};

use crate::args::{DescribeArgs, FindArgs, InstancesArgs};
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::resolve::{counterset, countersets, near_line, nothing_found};

/// Width of tables and texts, in characters.
const WIDTH: usize = 80;

/// Prints one counterset: its counters, with unit, type and source of data.
pub fn describe(args: &DescribeArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let set = counterset(&asked, &args.name)?;
    let mut out = io::stdout().lock();
    if let Some(text) = &args.counter {
        // `#5` also reaches counters without a name.
        let wanted = |c: &&Counter| {
            let named = c.name.as_deref().is_some_and(|name| name.to_lowercase() == text.to_lowercase());
            named || text.strip_prefix('#').and_then(|id| id.parse().ok()) == Some(c.id.0)
        };
        let Some(counter) = set.counters.iter().find(wanted) else {
            let names = set.counters.iter().filter_map(|counter| counter.name.as_deref());
            let near = near_line(&nearest(text, names, 3));
            let (name, text) = (escaped(&set.name), escaped(text));
            let all = format!("\n  perfset describe '{name}'{} shows all", asked.options());
            let error = anyhow::anyhow!("\"{name}\" has no counter \"{text}\"{near}{all}");
            return Err(Failure::new(Exit::NothingMatched, error));
        };
        one(&mut out, &set, counter)?;
    } else {
        all(&mut out, &asked, &set, args.all)?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn all(
    out: &mut impl Write,
    asked: &QuerySource,
    set: &Counterset,
    with_unavailable: bool,
) -> io::Result<()> {
    let kind = kind_of(set.instance_type);
    writeln!(out, "{}   {:?}   {kind}", escaped(&set.name), set.guid)?;
    for line in wrapped(&escaped(&set.help), WIDTH) {
        writeln!(out, "{line}")?;
    }
    // In a pipe, each counter is one line. On a terminal, text is wrapped between words only.
    let terminal =
        io::stdout().is_terminal().then(terminal_size).flatten().map(|(Width(width), _)| usize::from(width));
    let all = || set.counters.iter().filter(|c| asked.shows(c));
    let shown: Vec<_> = all().filter(|c| with_unavailable || !c.is_never_there()).collect();
    let width = |text: &dyn Fn(&Counter) -> String, least: usize| {
        shown.iter().map(|c| text(c).chars().count()).max().unwrap_or(0).max(least)
    };
    let (name, unit) = (|c: &Counter| counter_name(c), |c: &Counter| unit_of(c));
    let (names, units) = (width(&name, 7), width(&unit, 4));
    if !set.scope.is_empty() {
        writeln!(out, "\nCovers {}.", escaped(&set.scope))?;
    }
    writeln!(out, "\n {:>3}  {:names$}  {:units$}  {:26}  from", "id", "counter", "unit", "type")?;
    for counter in &shown {
        let from = if counter.is_never_there() {
            format!("unavailable: {}", counter.availability.trim_start_matches("Never on Linux: "))
        } else {
            counter.source.to_string()
        };
        let (id, name, unit) = (counter.id.0, name(counter), unit(counter));
        let line = format!(" {id:>3}  {name:names$}  {unit:units$}  {:26}", counter.counter_type);
        let from = escaped(&from);
        let len = line.chars().count().saturating_add(from.chars().count()).saturating_add(2);
        if terminal.is_some_and(|width| len > width) {
            writeln!(out, "{}", line.trim_end())?;
            for part in wrapped(&from, terminal.unwrap_or(WIDTH).saturating_sub(6)) {
                writeln!(out, "      {part}")?;
            }
        } else {
            writeln!(out, "{line}  {from}")?;
        }
    }
    let hidden = all().count().saturating_sub(shown.len());
    if hidden > 0 {
        writeln!(out, "\n{hidden} counters that Linux does not have are not shown; --all shows them")?;
    }
    // The example should print a value, so it names no hidden counter and none that Linux lacks.
    let gives = |c: &&&Counter| !c.attributes.contains(Attributes::NO_DISPLAYABLE) && !c.is_never_there();
    if let Some(first) = shown.iter().find(gives) {
        let behind = match asked {
            QuerySource::Machine(_) => " 1".to_owned(),
            QuerySource::Logs { .. } => asked.options(),
        };
        writeln!(out, "\nTry: perfset get '{}'{behind}", escaped(&path_of(set, first)))?;
    }
    Ok(())
}

fn one(out: &mut impl Write, set: &Counterset, counter: &Counter) -> io::Result<()> {
    writeln!(out, "{}: {} (id {})", escaped(&set.name), counter_name(counter), counter.id.0)?;
    for line in wrapped(&escaped(&counter.help), WIDTH) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\ntype  {} ({:#010x})", counter.counter_type, counter.counter_type.0)?;
    if let Some(formula) = perfset::formula::for_type(counter.counter_type) {
        writeln!(out, "value {}", formula.text)?;
    }
    if let Some(base) = counter.divisor().and_then(|base| set.counter(base)) {
        writeln!(out, "base  {} (id {})", counter_name(base), base.id.0)?;
    }
    writeln!(out, "unit  {}", unit_of(counter))?;
    if !counter.source.is_empty() {
        writeln!(out, "from  {}", escaped(&counter.source))?;
    }
    Ok(())
}

/// Returns a text for the kind of instances that a counterset has.
fn kind_of(instance_type: InstanceType) -> &'static str {
    match instance_type {
        InstanceType::Single => "single instance",
        InstanceType::Multiple => "multi-instance",
        InstanceType::SingleAggregate => "aggregate of all instances",
        InstanceType::MultiAggregate => "multi-instance with _Total",
        InstanceType::SingleAggregateHistory => "aggregate of all instances, including those that have ended",
        InstanceType::InstanceAggregate => "multi-instance, one of each name",
    }
}

/// Prints the instances of a counterset, one per line.
pub fn instances(args: &InstancesArgs) -> Result<Exit, Failure> {
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

/// Prints the counters whose counterset, name or help text contains all the words.
pub fn find(args: &FindArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let found = path::find(&countersets(asked.machine()), &args.words, args.all);
    if found.is_empty() {
        return Err(nothing_found(
            &asked,
            &format!("no counter has all of: {}", escaped(&args.words.join(" "))),
        ));
    }
    let mut out = io::stdout().lock();
    for found in &found {
        writeln!(out, "{}", escaped(&found.path()))?;
        for line in wrapped(&escaped(found.help()), WIDTH.saturating_sub(4)) {
            writeln!(out, "    {line}")?;
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn counter_name(counter: &Counter) -> String {
    escaped(&counter.shown_name())
}

fn unit_of(counter: &Counter) -> String {
    if counter.unit.is_empty() { "-".to_owned() } else { escaped(&counter.unit) }
}
