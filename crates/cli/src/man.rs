//! `perfset man`: manual pages, generated from the option definitions.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::{Args, ManArgs};
use crate::destination::write;
use crate::exit::{self, Exit, Failure};

/// Writes a manual page for each command, and prints the file names.
pub fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let mut root = Args::command().disable_help_subcommand(true);
    // Only a built command has the full names of its subcommands.
    root.build();
    let mut out = io::stdout().lock();
    for command in with_commands(&root) {
        let (name, page) = page(command)?;
        write(Some(&args.folder.join(&name)), &page)?;
        writeln!(out, "{name}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Returns a command of `perfset` and its subcommands at all levels, except hidden ones.
fn with_commands(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    std::iter::once(command).chain(shown.flat_map(with_commands)).collect()
}

/// Returns the file name and the text of a command's manual page.
fn page(command: &Command) -> io::Result<(String, Vec<u8>)> {
    let man = Man::new(command.clone())
        .date(" ") // none: the same definitions give the same bytes
        .source(concat!("perfset ", env!("CARGO_PKG_VERSION")))
        .manual("Performance counters");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    // Only the help of `perfset` itself has the exit codes, and a page stands alone.
    if !after.contains(exit::HELP) {
        after.push('\n');
        after.push_str(exit::HELP);
    }
    let mut roff = Roff::new();
    verbatim(&mut roff, &after);
    if man.get_filename() != "perfset.1" {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman("perfset(1)")]);
    }
    roff.to_writer(&mut page)?;
    Ok((man.get_filename(), page))
}

/// Appends to a manual page the text below the options in `--help`: a section for each heading, its lines unchanged.
fn verbatim(roff: &mut Roff, text: &str) {
    let mut is_filled = true;
    for line in text.lines() {
        match line.strip_suffix(':').filter(|head| !head.starts_with(' ')) {
            Some(head) => {
                if !is_filled {
                    roff.control("fi", []);
                }
                roff.control("SH", [head.to_uppercase().as_str()]);
                roff.control("nf", []);
                is_filled = false;
            }
            // A manual page indents the whole section already.
            None => {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
        }
    }
    if !is_filled {
        roff.control("fi", []);
    }
}
