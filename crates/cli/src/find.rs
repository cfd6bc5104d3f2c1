//! `perfset find`: counters by words in their names and help texts.

use std::io::{self, Write};

use perfset::output::text::{escaped, wrapped};
use perfset::path;

use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::resolve::{countersets, nothing_found};

/// Width of help texts, in characters, without their indent.
const WIDTH: usize = 76;

/// Prints the counters whose counterset, name or help text contains all the words.
pub fn run(args: &FindArgs) -> Result<Exit, Failure> {
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
        for line in wrapped(&escaped(found.help()), WIDTH) {
            writeln!(out, "    {line}")?;
        }
    }
    out.flush()?;
    Ok(Exit::Ok)
}
