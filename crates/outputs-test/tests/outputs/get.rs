//! Check of the output of `perfset get` against the generated machine.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perfset::output::RowOrder;
use perfset::path::CounterPath;
use perfset_cli::args::OutputFormat;
use perfset_cli::operands::Operands;
use perfset_cli::printer::{PrintOptions, ValuePrinter};
use perfset_cli::query_source::QuerySource;
use perfset_cli::samples::{Samples, SamplingOptions};
use serde::Deserialize;

use crate::check::{Check, Due, Found, Number, Tally, path, pdh_path};
use crate::play::Play;
use crate::text::{log_ms, records, unix_ms, without_machine};
use crate::wide;
use crate::world::{Event, Want, World, fold};

/// Shared buffer for the output of the command.
#[derive(Clone, Debug, Default)]
pub struct Text(Rc<RefCell<Vec<u8>>>);

impl Text {
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.borrow_mut())).expect("text")
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns counter paths that match all values of a generated machine.
pub fn paths(world: &World) -> Vec<CounterPath> {
    let of = |set: &crate::world::Set| match set.is_single {
        true => format!(r"\{}\*", set.name),
        false => format!(r"\{}(*)\*", set.name),
    };
    world.sets.iter().map(|set| of(set).parse().expect("a path")).collect()
}

/// Returns the first step that live samples of a generated machine show: the second if a rate needs an earlier one.
pub fn first_shown(world: &World) -> usize {
    let needs_two = |set: &crate::world::Set| set.at(0).any(|(_, column)| column.kind.needs_two());
    usize::from(world.sets.iter().any(needs_two))
}

/// Returns all live samples of these counter paths from a step on.
pub fn samples_of(world: &Arc<World>, paths: Vec<CounterPath>, first: usize) -> Samples {
    let count = (world.steps.len() - first) as u64;
    let operands =
        Operands { paths, interval: Some(Duration::ZERO), count: Some(count), ..Operands::default() };
    match Samples::new(QuerySource::Machine(Play::new(world).machine()), operands) {
        Ok(samples) => samples,
        Err(failure) => panic!("seed {}: {:#}", world.seed, failure.error),
    }
}

/// Returns the output that `perfset get` prints for samples.
pub fn print(world: &World, samples: &mut Samples, options: PrintOptions) -> String {
    let text = Text::default();
    let options =
        PrintOptions { zone: Some(jiff::tz::TimeZone::UTC), host: Some("HOST".to_owned()), ..options };
    let mut output = ValuePrinter::to(options, &samples.operands().paths, || text.clone());
    let taken = samples
        .take(SamplingOptions::default(), &mut |clocks, values| output.sample(clocks, values).map(drop));
    if let Err(failure) = taken {
        panic!("seed {}: {:#}", world.seed, failure.error);
    }
    output.finish().expect("it is written into memory");
    text.take()
}

pub fn printed(world: &Arc<World>, options: PrintOptions) -> String {
    print(world, &mut samples_of(world, paths(world), first_shown(world)), options)
}

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for one in [table, csv, json, wide::csv, wide::json, wide::ranked, pdh_csv, influx, top, summary] {
        tally.add(&one(world)?);
    }
    Ok(tally)
}

pub fn expected<'w>(world: &'w World, output: &'static str, says_why: bool) -> Check<'w> {
    Check::new(world, output).expect(first_shown(world)..world.steps.len(), true, says_why, &path)
}

/// Fields of a line of JSON output that are checked.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow)]
    time: Cow<'l, str>,
    #[serde(borrow)]
    path: Cow<'l, str>,
    #[serde(borrow)]
    counterset: Cow<'l, str>,
    #[serde(borrow)]
    instance: Cow<'l, str>,
    instance_id: Option<u32>,
    #[serde(borrow)]
    counter: Cow<'l, str>,
    value: Option<f64>,
    raw: Option<u64>,
    base: Option<u64>,
    status: String,
    mark: Option<String>,
    /// Number of instances without a value, in a line of `--top`'s JSON output.
    instances: Option<u64>,
}

impl<'l> Line<'l> {
    fn parse(line: &'l str) -> Self {
        serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))
    }

    /// Returns the step and path of the value in a line of JSON output, and the value.
    fn found(self, world: &World) -> ((usize, String), Found) {
        let Self { time, path, counterset, instance, counter, .. } = &self;
        let (date, time) = time.strip_suffix('Z').and_then(|time| time.split_once('T')).expect("a time");
        let step = world.step_at(unix_ms(date, time));
        let rest = path.strip_prefix('\\').and_then(|rest| rest.strip_prefix(&**counterset));
        let rest = rest.and_then(|rest| rest.strip_suffix(&**counter)?.strip_suffix('\\'));
        let is_whole = match (instance.is_empty(), rest) {
            (true, Some(rest)) => rest.is_empty(),
            (false, Some(rest)) => rest.strip_prefix('(').is_some_and(|rest| rest.starts_with(&**instance)),
            (_, None) => false,
        };
        assert!(is_whole, "{path} is not of {counterset}, {instance}, {counter}");
        let found = Found {
            value: Some(self.value.map(Number::full)),
            status: Some(self.status),
            raw: Some(self.raw),
            base: Some(self.base),
            mark: Some(self.mark),
            id: self.instance_id,
            series: None,
        };
        ((step, self.path.into_owned()), found)
    }
}

/// Parses a line of JSON output into the step and path of a value, and the value.
pub fn read_json(world: &World, line: &str) -> ((usize, String), Found) {
    Line::parse(line).found(world)
}

fn json(world: &Arc<World>) -> Result<Tally, String> {
    const NAME: &str = "a";
    let mut check = expected(world, "json", true);
    let (mut paths, first) = (paths(world), first_shown(world));
    // For half of the machines one more instance is requested, which takes another entry of the query.
    if world.seed % 2 == 1 {
        paths.push(format!(r"\{}({NAME})\Level", world.sets[0].name).parse().expect("a path"));
        for step in first..world.steps.len() {
            let due = named(world, step, 0, NAME);
            check.must((step, path(world.sets[0].name, NAME, 0, "Level")), due);
        }
    }
    let options = PrintOptions { format: OutputFormat::Json, ..PrintOptions::default() };
    let text = print(world, &mut samples_of(world, paths, first), options);
    for line in text.lines() {
        let (key, found) = read_json(world, line);
        check.found(key, found);
    }
    check.finish()
}

/// Returns the expected level of the first instance with a name.
fn named(world: &World, step: usize, set: usize, name: &str) -> Due {
    let rows = world.rows(step, set).unwrap_or_default();
    let at = rows.iter().position(|row| fold(row.name) == fold(name));
    let nothing = |status| Want { value: Err(status), raw: None, base: None, mark: None };
    let (want, events) = match (at, world.failure(step, set)) {
        (Some(at), _) => (world.want(step, None, set, at, 0), world.events(step, set, at, 0)),
        (None, failure) => (nothing(failure.unwrap_or("no_instance")), Vec::new()),
    };
    let (id, birth) = at.map_or((None, 0), |at| (Some(rows[at].id), rows[at].birth));
    Due { want, id, birth, has_base: false, base: None, events }
}

fn csv(world: &Arc<World>) -> Result<Tally, String> {
    let text = printed(world, PrintOptions { format: OutputFormat::Csv, ..PrintOptions::default() });
    let mut check = expected(world, "csv", true);
    let all = records(&text, ',');
    let at = |name: &str| all[0].iter().position(|head| head == name).expect("a column");
    let number = |text: &str| (!text.is_empty()).then(|| text.parse::<u64>().expect("a number"));
    for record in &all[1..] {
        let cell = |name: &str| record[at(name)].as_str();
        let (date, time) = cell("time").strip_suffix('Z').and_then(|t| t.split_once('T')).expect("a time");
        let value =
            (!cell("value").is_empty()).then(|| Number::full(cell("value").parse().expect("a value")));
        let found = Found {
            value: Some(value),
            status: Some(cell("status").to_owned()),
            raw: Some(number(cell("raw"))),
            base: Some(number(cell("base"))),
            mark: Some((!cell("mark").is_empty()).then(|| cell("mark").to_owned())),
            id: number(cell("instance_id")).map(|id| id as u32),
            series: None,
        };
        check.found((world.step_at(unix_ms(date, time)), cell("path").to_owned()), found);
    }
    check.finish()
}

/// Parses a cell of the table that `perfset get` prints.
fn shown(cell: &str) -> Found {
    match cell {
        "-" => Found::number(None),
        cell => Found::number(Some(Number::shown(cell).unwrap_or_else(|| panic!("\"{cell}\" is no number")))),
    }
}

fn table(world: &Arc<World>) -> Result<Tally, String> {
    let mut tally = blocks(world)?;
    tally.add(&lines(world)?);
    Ok(tally)
}

/// Checks the blocks of the table that `perfset get` prints: a row for each instance, or for each counter of a single
/// instance.
fn blocks(world: &Arc<World>) -> Result<Tally, String> {
    let width = [80, 200, 4_000][(world.seed % 3) as usize];
    // Half of the machines are shown in short form, and some on a screen, which repeats the heads.
    let human = Some(world.seed % 2 == 1);
    let height = (world.seed % 5 == 0).then_some(5);
    let order = (world.seed % 4 == 0).then_some(RowOrder::Instance);
    let options =
        PrintOptions { width: Some(width), human, height, order, is_series: true, ..PrintOptions::default() };
    let text = printed(world, options);
    let mut check = expected(world, "table", true);
    // The step and the set of the lines that follow, and the columns with their ends.
    let mut block: Option<(usize, usize)> = None;
    let mut columns: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("20") {
            let step = world.step_at(unix_ms(words[0], words[1]));
            let (_, name) = line.split_once("  ").unwrap_or_else(|| panic!("{text}"));
            let set = world.sets.iter().position(|set| set.name == name);
            block = Some((step, set.unwrap_or_else(|| panic!("{name:?} is no set: {text}"))));
            columns.clear();
            continue;
        }
        let Some((step, set)) = block else { continue };
        let about = &world.sets[set];
        if about.is_single {
            // Reasons have a number, and may go on in the next line.
            if words[0] != "-" && !words[0].starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let (cell, rest) = line.trim_start().split_once("  ").unwrap_or_else(|| panic!("{text}"));
            let counter = rest.trim_start().split("  ").next().unwrap_or_default();
            check.found((step, path(about.name, "", 0, counter)), shown(cell));
            continue;
        }
        if let Some(heads) = line.strip_suffix("  instance") {
            columns = ends(heads);
            continue;
        }
        let line: Vec<char> = line.chars().collect();
        let part = |from: usize, to: usize| -> String { line[from..to].iter().collect() };
        let starts = [0].into_iter().chain(columns.iter().map(|(end, _)| *end));
        let is_row = columns.first().is_some_and(|(end, _)| {
            *end < line.len()
                && matches!(part(0, *end).trim(), cell if cell == "-" || Number::shown(cell).is_some())
        });
        if !is_row {
            // Notes stand below the rows of their block.
            block = None;
            continue;
        }
        let name = part(columns.last().map_or(0, |(end, _)| end + 2), line.len());
        for (start, (end, counter)) in starts.zip(&columns) {
            check.found((step, path(about.name, &name, 0, counter)), shown(part(start, *end).trim()));
        }
    }
    check.finish()
}

/// Parses the heads of right-aligned table columns into the end position and the text of each head.
fn ends(heads: &str) -> Vec<(usize, String)> {
    let line: Vec<char> = heads.chars().collect();
    let mut columns = Vec::new();
    let mut start = 0;
    for at in 0..line.len() {
        let is_gap = |at: usize| line.get(at).is_none_or(|c| *c == ' ');
        if line[at] != ' ' && is_gap(at + 1) && is_gap(at + 2) {
            columns.push((at + 1, line[start..=at].iter().collect::<String>().trim().to_owned()));
            start = at + 1;
        }
    }
    columns
}

/// Checks a printed table with a line for each sample: a counterset with a single instance, and one instance of
/// another.
fn lines(world: &Arc<World>) -> Result<Tally, String> {
    const NAME: &str = "a";
    let single = world.sets.iter().find(|set| set.is_single).expect("there is one");
    // Values of other sets do not need an earlier sample here.
    let first = usize::from(single.at(0).any(|(_, column)| column.kind.needs_two()));
    let mut check = Check::new(world, "table").expect(first..world.steps.len(), true, true, &path);
    let of_single = format!("\\{}\\", single.name);
    check.retain(|(_, path), _| path.starts_with(&of_single));
    for step in first..world.steps.len() {
        check.must((step, path(world.sets[0].name, NAME, 0, "Level")), named(world, step, 0, NAME));
    }
    // Nothing says of which set a column is.
    check.rename(|(_, name)| Some(without_set(name)));
    let paths = [format!(r"\{}\*", single.name), format!(r"\{}({NAME})\Level", world.sets[0].name)];
    let paths = paths.iter().map(|path| path.parse().expect("a path")).collect();
    let height = (world.seed % 5 == 0).then_some(5);
    let options = PrintOptions { width: Some(4_000), height, is_series: true, ..PrintOptions::default() };
    let text = print(world, &mut samples_of(world, paths, first), options);
    let mut columns: Vec<String> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("time ") {
            columns = heads(line, lines.next_if(|line| line.starts_with("   ")));
            continue;
        }
        if line.starts_with("20") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let step = world.step_at(unix_ms(words[0], words[1]));
            assert_eq!(words.len() - 2, columns.len(), "seed {}: {line}", world.seed);
            for (cell, column) in words[2..].iter().zip(&columns) {
                check.found((step, column.clone()), shown(cell));
            }
        }
    }
    check.finish()
}

/// Returns a counter path without its counterset: instance and counter.
fn without_set(path: &str) -> String {
    let (head, counter) = path.rsplit_once('\\').expect("a path");
    let instance = head.split_once('(').map_or("", |(_, rest)| rest.strip_suffix(')').expect("a path"));
    format!("{instance}  {counter}")
}

/// Parses the two header lines of a printed table into the instance and counter of each column.
fn heads(first: &str, second: Option<&str>) -> Vec<String> {
    let (first, second): (Vec<char>, Vec<char>) =
        (first.chars().collect(), second.unwrap_or_default().chars().collect());
    let mut ends = Vec::new();
    for at in 0..first.len() {
        let is_gap = |at: usize| first.get(at).is_none_or(|c| *c == ' ');
        if first[at] != ' ' && is_gap(at + 1) && is_gap(at + 2) {
            ends.push(at + 1);
        }
    }
    let part = |line: &[char], from: usize, to: usize| -> String {
        line.get(from..to.min(line.len())).unwrap_or_default().iter().collect::<String>().trim().to_owned()
    };
    let name =
        |ends: &[usize]| format!("{}  {}", part(&second, ends[0], ends[1]), part(&first, ends[0], ends[1]));
    ends.windows(2).map(name).collect()
}

fn pdh_csv(world: &Arc<World>) -> Result<Tally, String> {
    let text = printed(world, PrintOptions { format: OutputFormat::PdhCsv, ..PrintOptions::default() });
    let steps = first_shown(world)..world.steps.len();
    let mut check = Check::new(world, "pdh-csv").expect(steps, true, true, &pdh_path);
    let all = records(&text, ',');
    let columns: Vec<String> = all[0][1..].iter().map(|path| without_machine(path)).collect();
    check.retain(|(_, name), _| columns.contains(name));
    read_columns(world, &mut check, &columns, &all[1..]);
    check.finish()
}

/// Reads the records of a text log whose columns have these names.
pub fn read_columns(world: &World, check: &mut Check<'_>, columns: &[String], lines: &[Vec<String>]) {
    for line in lines {
        let step = world.step_at(log_ms(&line[0]));
        assert_eq!(line.len() - 1, columns.len(), "seed {}: {line:?}", world.seed);
        for (column, cell) in columns.iter().zip(&line[1..]) {
            let key = (step, column.clone());
            match cell.as_str() {
                // Where nothing is due nothing stands.
                " " | "" if !check.is_due(&key) => {}
                " " | "" => check.found(key, Found::number(None)),
                cell => check.found(key, Found::number(Some(Number::full(cell.parse().expect("a number"))))),
            }
        }
    }
}

/// Splits a text at a separator that no backslash escapes, and removes the backslashes.
fn split_escaped(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut all = text.chars();
    while let Some(c) = all.next() {
        let part = parts.last_mut().expect("a part");
        match c {
            '\\' => {
                // Kept for the parts of this part, which are split later.
                part.push('\\');
                part.extend(all.next());
            }
            c if c == separator => parts.push(String::new()),
            c => part.push(c),
        }
    }
    parts
}

/// Removes the backslashes that escape characters of line protocol.
fn plain(text: &str) -> String {
    let mut all = text.chars();
    std::iter::from_fn(|| all.next().and_then(|c| if c == '\\' { all.next() } else { Some(c) })).collect()
}

/// Returns the counter path of a value with names as line protocol can contain them.
fn influx_path(set: &str, instance: &str, occurrence: usize, counter: &str) -> String {
    let name = |text: &str| text.replace('\\', "/").replace(|c: char| c.is_control(), "?");
    path(&name(set), &name(instance), occurrence, &name(counter))
}

fn influx(world: &Arc<World>) -> Result<Tally, String> {
    let text = printed(world, PrintOptions { format: OutputFormat::Influx, ..PrintOptions::default() });
    let steps = first_shown(world)..world.steps.len();
    let mut check = Check::new(world, "influx").expect(steps, true, false, &influx_path);
    check.retain(|_, due| due.want.value.is_ok());
    for line in text.lines() {
        let [key, fields, time] = <[String; 3]>::try_from(split_escaped(line, ' ')).expect("three parts");
        let time: i64 = time.parse().expect("a time");
        assert_eq!(time % 1_000_000, 0);
        let step = world.step_at(time / 1_000_000);
        let parts = split_escaped(&key, ',');
        let tag = |name: &str| parts.iter().find_map(|part| part.strip_prefix(name)).map(plain);
        assert_eq!(tag("host=").as_deref(), Some("HOST"), "{line}");
        let (set, instance) = (plain(&parts[0]), tag("instance=").unwrap_or_default());
        for field in split_escaped(&fields, ',') {
            let [counter, value] = <[String; 2]>::try_from(split_escaped(&field, '=')).expect("a field");
            let number = Number::full(value.parse().expect("a number"));
            check.found((step, path(&set, &instance, 0, &plain(&counter))), Found::number(Some(number)));
        }
    }
    check.finish()
}

fn top(world: &Arc<World>) -> Result<Tally, String> {
    let most = 1 + (world.seed % 3) as usize;
    let options =
        PrintOptions { format: OutputFormat::Json, top: Some(most as u32), ..PrintOptions::default() };
    let text = printed(world, options);
    let mut check = expected(world, "top", true);
    // What is missing is counted, by counter and reason.
    let counts = |line: &&str| line.contains("\"instances\":");
    let (lines, all): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| counts(line));
    let all: Vec<((usize, String), Found)> = all.into_iter().map(|line| read_json(world, line)).collect();
    // The greatest values of each counter, and nothing else: which are these, the generator says.
    let group = |path: &str| {
        let (set, counter) = (path.split(['(', '\\']).nth(1), path.rsplit('\\').next());
        (set.unwrap_or_default().to_owned(), counter.unwrap_or_default().to_owned())
    };
    let mut values: BTreeMap<(usize, (String, String)), Vec<f64>> = Default::default();
    check.each_due(|(step, path), due| {
        if let Ok(value) = due.want.value {
            values.entry((*step, group(path))).or_default().push(value);
        }
    });
    let mut found: BTreeMap<(usize, (String, String)), Vec<f64>> = Default::default();
    for ((step, path), one) in &all {
        if let Some(Some(number)) = one.value {
            found.entry((*step, group(path))).or_default().push(number.value);
        }
    }
    let mut missing: BTreeMap<(usize, (String, String), String), u64> = Default::default();
    check.each_due(|(step, path), due| {
        // Who waits for a second sample lacks nothing; of no instances none lacks anything.
        if let Err(status) = due.want.value {
            if status != "needs_two_samples" {
                let key = (*step, group(path), status.to_owned());
                *missing.entry(key).or_default() += u64::from(status != "no_instance");
            }
        }
    });
    for line in lines {
        let line = Line::parse(line);
        let instances = line.instances;
        let ((step, path), found) = line.found(world);
        let key = (step, group(&path), found.status.expect("a status"));
        let (due, count) = (missing.remove(&key), instances);
        if due.is_none() || due != count || found.value != Some(None) {
            return Err(format!("top: seed {}: {key:?} lacks {count:?}, must lack {due:?}", world.seed));
        }
    }
    if let Some((key, count)) = missing.pop_first() {
        return Err(format!("top: seed {}: nothing says that {key:?} lacks {count}", world.seed));
    }
    check.retain(|_, due| due.want.value.is_ok());
    for (key, mut values) in values {
        values.sort_by(|a, b| b.total_cmp(a));
        values.truncate(most);
        let found = found.remove(&key).unwrap_or_default();
        let same = found.len() == values.len()
            && found.iter().zip(&values).all(|(found, want)| Number::full(*found).is(*want));
        if !same {
            return Err(format!("top: seed {}: {key:?} has {found:?}, must have {values:?}", world.seed));
        }
    }
    let shown: HashSet<_> = all.iter().map(|(key, _)| key).collect();
    check.retain(|key, _| shown.contains(key));
    all.into_iter().for_each(|(key, one)| check.found(key, one));
    check.finish()
}

fn summary(world: &Arc<World>) -> Result<Tally, String> {
    let text = printed(world, PrintOptions { summary: true, ..PrintOptions::default() });
    let (_, text) = text.rsplit_once("instance, counter\n").expect("a summary");
    let mut check = Check::new(world, "summary");
    let first = first_shown(world);
    // What each counter of each thing had.
    type Thing<'w> = (usize, usize, &'w str, u32);
    let mut all: HashMap<Thing<'_>, (Vec<f64>, Vec<Event>)> = HashMap::new();
    for step in first..world.steps.len() {
        check.events_of(step);
        for (set, about) in world.sets.iter().enumerate() {
            for (at, row) in world.rows(step, set).unwrap_or_default().iter().enumerate() {
                for (column, _) in about.at(step).filter(|(_, column)| !column.kind.is_base()) {
                    let seen = world.events(step, set, at, column);
                    let Ok(value) = world.want(step, step.checked_sub(1), set, at, column).value else {
                        check.seen(&seen); // a value that is missing counts nowhere
                        continue;
                    };
                    let key = (set, column, row.name, row.id);
                    let (values, events) = all.entry(key).or_default();
                    values.push(value);
                    events.extend(seen);
                }
            }
        }
    }
    for ((set, column, name, _), (values, events)) in all {
        let name = format!("{name}  {}", world.sets[set].columns[column].name);
        let count = values.len() as f64;
        // The least value that this number of values does not exceed.
        let percentile = |percent: usize| {
            let reaches =
                |most: &f64| 100 * values.iter().filter(|v| *v <= most).count() >= percent * values.len();
            values.iter().copied().filter(reaches).fold(f64::INFINITY, f64::min)
        };
        let numbers = [
            ("least", values.iter().copied().fold(f64::INFINITY, f64::min)),
            ("mean", values.iter().sum::<f64>() / count),
            ("p50", percentile(50)),
            ("p95", percentile(95)),
            ("greatest", values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            ("samples", count),
        ];
        for (what, number) in numbers {
            let want = Want { value: Ok(number), raw: None, base: None, mark: None };
            check.must(
                (first, format!("{what}  {name}")),
                Due { want, id: None, birth: 0, has_base: false, base: None, events: events.clone() },
            );
        }
    }
    // Below stands how many instances have no value.
    let is_number = |word: &str| Number::shown(word).is_some();
    let has_numbers = |line: &&str| {
        let first = line.split_whitespace().take(6);
        first.clone().count() == 6 && first.clone().all(is_number)
    };
    for line in text.lines().filter(has_numbers) {
        let mut rest = line;
        let mut cells = Vec::new();
        for what in ["least", "mean", "p50", "p95", "greatest", "samples"] {
            let (cell, behind) = rest.trim_start().split_once(' ').expect("a number");
            cells.push((what, cell));
            rest = behind;
        }
        // Numbers of these counters have no unit: its column is blank.
        let name = rest.strip_prefix("       ").unwrap_or_else(|| panic!("no unit in {line:?}"));
        for (what, cell) in cells {
            check.found((first, format!("{what}  {name}")), shown(cell));
        }
    }
    check.finish()
}
