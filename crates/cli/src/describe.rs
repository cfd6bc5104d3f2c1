//! `perfset describe`: a counterset or one of its counters, with their meaning.

use std::io::{self, IsTerminal, Write};

use perfset::output::text::{escaped, wrapped};
use perfset::output::unit_name;
use perfset::path::{nearest, path_of};
use perfset::{Attributes, Counter, Counterset, InstanceType};
use serde::Serialize;
use terminal_size::{Width, terminal_size};

use crate::args::DescribeArgs;
use crate::exit::{Exit, Failure};
use crate::list::instance_type;
use crate::query_source::QuerySource;
use crate::records::{ListRecord, RecordWriter};
use crate::resolve::{counterset, near_line};

/// Width of tables and texts, in characters.
const WIDTH: usize = 80;

/// Prints one counterset: its counters, with unit, type and source of data.
pub fn run(args: &DescribeArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let set = counterset(&asked, &args.name)?;
    let records = RecordWriter::stdout(args.output.format());
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
        match records {
            Some(records) => records.all([DescribedCounter::new(&set, counter)])?,
            None => one(&mut out, &set, counter)?,
        }
    } else {
        match records {
            Some(records) => {
                let shown = shown(&asked, &set, args.all);
                records.all(shown.into_iter().map(|counter| DescribedCounter::new(&set, counter)))?;
            }
            None => all(&mut out, &asked, &set, args.all)?,
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Returns the counters that users see: with `with_unavailable`, also those that this system never has.
fn shown<'a>(asked: &QuerySource, set: &'a Counterset, with_unavailable: bool) -> Vec<&'a Counter> {
    let all = set.counters.iter().filter(|counter| asked.shows(counter));
    all.filter(|counter| with_unavailable || !counter.is_never_there()).collect()
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
    let shown = shown(asked, set, with_unavailable);
    // Columns are as wide as their longest text, so that the columns behind them are aligned.
    let width = |text: &dyn Fn(&Counter) -> String, least: usize| {
        shown.iter().map(|c| text(c).chars().count()).max().unwrap_or(0).max(least)
    };
    let (name, unit) = (|c: &Counter| counter_name(c), |c: &Counter| unit_of(c));
    let (names, units, types) =
        (width(&name, 7), width(&unit, 4), width(&|c| c.counter_type.to_string(), 26));
    if !set.scope.is_empty() {
        writeln!(out, "\nCovers {}.", escaped(&set.scope))?;
    }
    writeln!(out, "\n {:>3}  {:names$}  {:units$}  {:types$}  from", "id", "counter", "unit", "type")?;
    for counter in &shown {
        let from = if counter.is_never_there() {
            format!("unavailable: {}", counter.availability.trim_start_matches("Never on Linux: "))
        } else {
            counter.source.to_string()
        };
        let (id, name, unit) = (counter.id.0, name(counter), unit(counter));
        let counter_type = counter.counter_type.to_string();
        let line = format!(" {id:>3}  {name:names$}  {unit:units$}  {counter_type:types$}");
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
    let all = set.counters.iter().filter(|counter| asked.shows(counter)).count();
    let hidden = all.saturating_sub(shown.len());
    match hidden {
        0 => {}
        1 => writeln!(out, "\n1 counter that Linux does not have is not shown; --all shows it")?,
        _ => writeln!(out, "\n{hidden} counters that Linux does not have are not shown; --all shows them")?,
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
        writeln!(out, "from  {}", escaped(&counter.source.to_string()))?;
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

fn counter_name(counter: &Counter) -> String {
    escaped(&counter.shown_name())
}

fn unit_of(counter: &Counter) -> String {
    if counter.unit.is_empty() { "-".to_owned() } else { escaped(unit_name(&counter.unit)) }
}

/// Fields of one counter and its counterset, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct DescribedCounter<'a> {
    counterset: &'a str,
    guid: String,
    instance_type: &'static str,
    scope: Option<&'a str>,
    counterset_help: &'a str,
    id: u32,
    counter: String,
    path: String,
    #[serde(rename = "type")]
    counter_type: String,
    type_code: u32,
    formula: Option<&'static str>,
    /// Name of the counter that this counter is divided by.
    base: Option<String>,
    unit: &'a str,
    help: &'a str,
    source: Option<String>,
    /// `false` if the counter never has a value on this system.
    is_available: bool,
    /// Reason why the counter sometimes or always has no value.
    availability: Option<&'a str>,
}

impl ListRecord for DescribedCounter<'_> {
    const CSV_HEADER: &'static str = "counterset,guid,instance_type,scope,counterset_help,id,counter,path,type,\
        type_code,formula,base,unit,help,source,is_available,availability";
}

impl<'a> DescribedCounter<'a> {
    fn new(set: &'a Counterset, counter: &'a Counter) -> Self {
        fn filled(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        let base = counter.divisor().and_then(|base| set.counter(base));
        Self {
            counterset: &set.name,
            guid: set.guid.to_string(),
            instance_type: instance_type(set.instance_type),
            scope: filled(&set.scope),
            counterset_help: &set.help,
            id: counter.id.0,
            counter: counter.shown_name().into_owned(),
            path: path_of(set, counter),
            counter_type: counter.counter_type.to_string(),
            type_code: counter.counter_type.0,
            formula: perfset::formula::for_type(counter.counter_type).map(|formula| formula.text),
            base: base.map(|base| base.shown_name().into_owned()),
            unit: &counter.unit,
            help: &counter.help,
            source: (!counter.source.is_empty()).then(|| counter.source.to_string()),
            is_available: !counter.is_never_there(),
            availability: filled(&counter.availability),
        }
    }
}
