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

/// Width of the tables and texts of `perfset describe`, in characters.
const WIDTH: usize = 80;

/// Prints the definition of one counterset: its counters, with unit, type and source of data.
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

/// Returns the counters of a counterset that users see: with `with_unavailable`, also those that this system never
/// has.
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
    let terminal = terminal_width();
    writeln!(out, "{}   {:?}   {kind}", escaped(&set.name), set.guid)?;
    for line in wrapped(&escaped(&set.help), WIDTH.min(terminal.unwrap_or(WIDTH))) {
        writeln!(out, "{line}")?;
    }
    let shown = shown(asked, set, with_unavailable);
    if !set.scope.is_empty() {
        writeln!(out, "\nCovers {}.", escaped(&set.scope))?;
    }
    writeln!(out)?;
    for line in counter_lines(&shown, terminal) {
        writeln!(out, "{line}")?;
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

/// Returns the width of the terminal if standard output is one; `None` in a pipe.
fn terminal_width() -> Option<usize> {
    io::stdout().is_terminal().then(terminal_size).flatten().map(|(Width(width), _)| width.into())
}

/// Returns the lines of a table of counters, beginning with the head. In a pipe, each counter is one line. On a
/// terminal of this width, names and sources are wrapped between words.
fn counter_lines(counters: &[&Counter], terminal: Option<usize>) -> Vec<String> {
    /// Minimum width of the column with the data sources of counters; on a narrower terminal, each source is below
    /// its counter.
    const FROM_LEAST: usize = 24;
    /// Minimum width of the column with counter names.
    const NAME_LEAST: usize = 12;
    const INDENT: usize = 6;
    let head = ["id", "counter", "unit", "type", "from"].map(str::to_owned);
    let cells = |counter: &&Counter| {
        let from = match counter.is_never_there() {
            true => format!("unavailable: {}", counter.availability.trim_start_matches("Never on Linux: ")),
            false => counter.source.to_string(),
        };
        let (id, counter_type) = (counter.id.0.to_string(), counter.counter_type.to_string());
        [id, counter_name(counter), unit_of(counter), counter_type, escaped(&from)]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(counters.iter().map(cells)).collect();
    // Columns are as wide as their longest text, so that the columns behind them are aligned.
    let width = |at: usize, least: usize| {
        let lens = rows.iter().filter_map(|row| row.get(at)).map(|text| text.chars().count());
        lens.max().unwrap_or(0).max(least)
    };
    let (ids, longest, units, types) = (width(0, 3), width(1, 0), width(2, 0), width(3, 26));
    let taken = [1, ids, 2, 2, units, 2, types].into_iter().fold(0_usize, usize::saturating_add);
    let terminal = terminal.unwrap_or(usize::MAX);
    let names = longest.min(terminal.saturating_sub(taken).max(NAME_LEAST));
    let left = terminal.saturating_sub(taken).saturating_sub(names).saturating_sub(2);
    let fits_beside = |from: &str| {
        let word = from.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        left >= FROM_LEAST.max(word) || from.chars().count() <= left
    };
    // Without a source in the column, its head would be over nothing.
    let has_column = rows.iter().skip(1).any(|[.., from]| !from.is_empty() && fits_beside(from));
    let mut lines = Vec::new();
    for (number, [id, name, unit, counter_type, from]) in rows.iter().enumerate() {
        let is_beside = fits_beside(from) && (number > 0 || has_column);
        let names_of = if longest > names { wrapped(name, names) } else { vec![name.clone()] };
        let beside = match (is_beside, terminal) {
            (false, _) => Vec::new(),
            (true, usize::MAX) => vec![from.clone()],
            (true, _) => wrapped(from, left),
        };
        for at in 0..names_of.len().max(beside.len()).max(1) {
            let [name, from] = [&names_of, &beside].map(|lines| lines.get(at).map_or("", String::as_str));
            let [id, unit, counter_type] =
                [id, unit, counter_type].map(|text| if at == 0 { text.as_str() } else { "" });
            let line = format!(" {id:>ids$}  {name:names$}  {unit:units$}  {counter_type:types$}  {from}");
            lines.push(line.trim_end().to_owned());
        }
        // The head of a column that is below needs no line.
        if !is_beside && number > 0 {
            let below = wrapped(from, terminal.saturating_sub(INDENT));
            lines.extend(below.into_iter().map(|line| format!("{:INDENT$}{line}", "")));
        }
    }
    lines
}

fn one(out: &mut impl Write, set: &Counterset, counter: &Counter) -> io::Result<()> {
    writeln!(out, "{}: {} (id {})", escaped(&set.name), counter_name(counter), counter.id.0)?;
    let width = WIDTH.min(terminal_width().unwrap_or(WIDTH));
    for line in wrapped(&escaped(&counter.help), width) {
        writeln!(out, "{line}")?;
    }
    let formula = perfset::formula::for_type(counter.counter_type).map(|formula| formula.text.to_owned());
    let base = counter.divisor().and_then(|base| set.counter(base));
    let source = escaped(&counter.source.to_string());
    writeln!(out)?;
    for (head, text) in [
        ("type", Some(format!("{} ({:#010x})", counter.counter_type, counter.counter_type.0))),
        ("value", formula),
        ("base", base.map(|base| format!("{} (id {})", counter_name(base), base.id.0))),
        ("unit", Some(unit_of(counter))),
        ("from", Some(source).filter(|source| !source.is_empty())),
    ] {
        let Some(text) = text else { continue };
        // In a pipe, each of them is one line.
        let lines = match terminal_width() {
            Some(width) => wrapped(&text, width.saturating_sub(6)),
            None => vec![text],
        };
        for (at, line) in lines.iter().enumerate() {
            writeln!(out, "{:5} {line}", if at == 0 { head } else { "" })?;
        }
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

/// Fields of one counter and its counterset, in the order in which `perfset describe` prints them as CSV and JSON.
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
    /// Name of the base counter by which this counter is divided.
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

#[cfg(test)]
mod tests {
    use perfset::catalogue;

    use super::*;

    /// Checks that the terminal cuts or wraps no line of a table of counters, and that no word is lost.
    #[test]
    fn tables_fit_the_terminal() {
        let words = |lines: &[String]| -> Vec<String> {
            let mut words: Vec<_> =
                lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        for set in catalogue::ALL {
            let counters: Vec<&Counter> = set.counters.iter().collect();
            let pipe = counter_lines(&counters, None);
            assert_eq!(pipe.len(), counters.len() + 1, "{}", set.name);
            for width in [80, 100, 120, 200] {
                let lines = counter_lines(&counters, Some(width));
                for line in &lines {
                    assert!(line.chars().count() <= width, "{width} of {}: {line}", set.name);
                }
                assert_eq!(words(&lines[1..]), words(&pipe[1..]), "{width} of {}", set.name);
            }
        }
    }

    /// Checks that the table of counters has a column of data sources only if a counter has a source.
    #[test]
    fn no_head_is_over_an_empty_column() {
        for set in catalogue::ALL {
            let counters: Vec<&Counter> = set.counters.iter().collect();
            for width in (60..220).step_by(4) {
                let lines = counter_lines(&counters, Some(width));
                let Some(at) = lines[0].strip_suffix("  from").map(|before| before.chars().count() + 2)
                else {
                    continue;
                };
                // Sources below their counters begin at the left.
                let in_column = |line: &String| {
                    let beside = line.chars().skip(at).any(|c| c != ' ');
                    beside && line.chars().skip(at - 2).take(2).all(|c| c == ' ')
                };
                assert!(lines[1..].iter().any(in_column), "{width} of {}: {lines:#?}", set.name);
            }
        }
        let counter =
            Counter::new(perfset::CounterId(7), perfset::CounterType::PERF_COUNTER_RAWCOUNT).name("a");
        for terminal in [None, Some(200)] {
            assert!(!counter_lines(&[&counter], terminal)[0].contains("from"), "it has no source");
        }
    }

    #[test]
    fn long_names_and_sources_are_wrapped() {
        let counter = Counter::new(perfset::CounterId(7), perfset::CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            .name("A name of a counter that is much too long for a narrow terminal")
            .unit("By")
            .source("a file of the kernel, and a field of it");
        assert_eq!(
            counter_lines(&[&counter], Some(70)),
            [
                "  id  counter                        unit  type",
                "   7  A name of a counter that is    B     PERF_COUNTER_LARGE_RAWCOUNT",
                "      much too long for a narrow",
                "      terminal",
                "      a file of the kernel, and a field of it",
            ]
        );
        let (blanks, name) =
            (" ".repeat(106), "A name of a counter that is much too long for a narrow terminal");
        assert_eq!(
            counter_lines(&[&counter], Some(140)),
            [
                format!("  id  {:63}  unit  {:27}  from", "counter", "type"),
                format!("   7  {name}  B     PERF_COUNTER_LARGE_RAWCOUNT  a file of the kernel, and a field"),
                format!("{blanks}of it"),
            ]
        );
    }
}
