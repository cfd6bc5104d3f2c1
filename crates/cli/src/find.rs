//! `perfset find`: searches counters by words of their names, search words and help texts.

use std::io::{self, IsTerminal, Write};

use perfset::output::FoundRecord;
use perfset::output::text::{escaped, grouped};
use perfset::path::{self, CounterMatch, SearchResult};
use terminal_size::{Width, terminal_size};

use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::records::RecordWriter;
use crate::resolve::{countersets, nothing_found};

/// Maximum number of lines in the table of counters that `perfset find` prints.
const SHOWN: usize = 20;
/// Width of the table of found counters outside of a terminal, in characters.
const WIDTH: usize = 80;
/// Minimum width of the help text behind a counter path, in characters.
const HELP_LEAST: usize = 12;

/// Prints the counters that match the searched words, the best match first.
pub fn run(args: &FindArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&args.files)?;
    let query = args.words.join(" ");
    let mut found = path::find(&countersets(asked.machine()), &query);
    let all = found.matches.len();
    let words = found.words.len();
    let has_all = |one: &CounterMatch| one.words.len() == words;
    let has_hidden = found.matches.iter().any(|one| one.is_never_there() && has_all(one));
    if !args.all {
        found.matches.retain(|found| !found.is_never_there());
    }
    if found.matches.is_empty() {
        return Err(nothing_found(&asked, &reason(&found, &query, all)));
    }
    if found.matches.iter().all(|one| !has_all(one)) {
        let words = escaped(&found.words.join(" "));
        let _ = writeln!(io::stderr(), "note: no counter has all of: {words}; these have most of them");
        if has_hidden {
            let _ =
                writeln!(io::stderr(), "note: --all shows counters with all of them, without a value here");
        }
    }
    match RecordWriter::stdout(args.output.format()) {
        Some(records) => records.all(FoundRecord::all(&found.matches))?,
        None => print_table(&found.matches, all, args.all, &asked)?,
    }
    Ok(Exit::Ok)
}

/// Returns the reason why the search found no counter, with the next step. `all` is the number of counters that
/// `--all` shows.
fn reason(found: &SearchResult, query: &str, all: usize) -> String {
    if all > 0 {
        let words = escaped(query);
        return format!("no counter with a value on this system has: {words}\n  --all shows those without");
    }
    if found.unknown.is_empty() {
        return format!("no counter has most of: {}\n  use fewer words", escaped(query));
    }
    let unknown = found.unknown.iter().map(|unknown| {
        let nearest: Vec<_> = unknown.nearest.iter().map(|word| format!("'{}'", escaped(word))).collect();
        let word = escaped(&unknown.word);
        match nearest.split_last() {
            None => format!("nothing has '{word}'"),
            Some((one, [])) => format!("nothing has '{word}'; did you mean {one}?"),
            Some((last, others)) => {
                format!("nothing has '{word}'; did you mean {} or {last}?", others.join(", "))
            }
        }
    });
    unknown.collect::<Vec<_>>().join("\n  ")
}

/// Prints one line per found counter: its path and the beginning of its help text.
fn print_table(found: &[CounterMatch], all: usize, is_all: bool, asked: &QuerySource) -> io::Result<()> {
    let terminal = io::stdout().is_terminal().then(terminal_size).flatten();
    let width = terminal.map_or(WIDTH, |(Width(width), _)| usize::from(width));
    let shown = if is_all { found } else { found.get(..SHOWN).unwrap_or(found) };
    let rows: Vec<_> = shown.iter().map(|found| (escaped(&found.path()), help(found))).collect();
    let mut out = io::stdout().lock();
    for line in lines(&rows, width) {
        writeln!(out, "{line}")?;
    }
    let more = all.saturating_sub(shown.len());
    if more > 0 {
        writeln!(out, "\n{} more: --all", grouped(f64::from(u32::try_from(more).unwrap_or(u32::MAX)), 0))?;
    } else {
        writeln!(out)?;
    }
    if let Some((path, _)) = rows.first() {
        let seconds = if asked.options().is_empty() { " 1" } else { "" };
        let path = path.replace('\'', r"'\''");
        writeln!(out, "Values: perfset get '{path}'{}{seconds}", asked.options())?;
    }
    out.flush()
}

/// Returns the help text of a found counter, in the form that is printed beside its path.
fn help(found: &CounterMatch) -> String {
    let help = escaped(found.help());
    if found.is_never_there() { format!("Not on this system: {help}") } else { help }
}

/// Returns the lines of a table of counter paths and help texts. A help text ends with a whole word.
fn lines(rows: &[(String, String)], width: usize) -> Vec<String> {
    let count = |text: &str| text.chars().count();
    // Long paths do not push the help texts of all others to the edge: they end behind the column.
    let widest = width.saturating_mul(2).checked_div(3).unwrap_or(width);
    let column =
        rows.iter().map(|(path, _)| count(path)).filter(|length| *length <= widest).max().unwrap_or(0);
    let line = |(path, help): &(String, String)| {
        let start = count(path).max(column).saturating_add(2);
        let room = width.saturating_sub(start);
        let help = if room < HELP_LEAST { String::new() } else { shortened(help, room) };
        if help.is_empty() { path.clone() } else { format!("{path:column$}  {help}") }
    };
    rows.iter().map(line).collect()
}

/// Returns as many whole words of a text as fit, with an ellipsis if there are more.
fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut length = 0_usize;
    for word in text.split(' ') {
        let blank = usize::from(!short.is_empty());
        length = length.saturating_add(blank).saturating_add(word.chars().count());
        // Room for a blank and the ellipsis.
        if length.saturating_add(2) > width {
            break;
        }
        if blank > 0 {
            short.push(' ');
        }
        short.push_str(word);
    }
    if short.is_empty() { short } else { short + " …" }
}
