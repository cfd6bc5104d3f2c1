//! `perfset complete`: candidates for the word that a user types, for the completion scripts of bash, zsh and fish.
//!
//! The first line of the output is `words`, or `files` if the shell completes a file name. Each other line is a
//! candidate for the whole word, for zsh and fish with a tab and a description.

mod definition;
mod paths;
mod words;

use std::io::{self, Write};
use std::panic;
use std::path::PathBuf;
use std::sync::Arc;

use clap::CommandFactory;
use perfset::output::text::is_harmful;
use perfset::path::resolve;
use perfset::{Counter, Counterset};

use crate::args::{Args, CompleteArgs, CompletedShell, LogFiles};
use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::operands::Operands;
use crate::query_source::QuerySource;
use crate::resolve::{counterset, countersets};
use definition::{CommandLine, WantedWord};
use words::{TypedWord, quoted_for_bash};

/// Candidate for the word that a user is typing on a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    pub text: String,
    pub description: String,
    /// `true` if the candidate is only the beginning of a longer word, after which the user types on.
    pub is_partial: bool,
}

impl Candidate {
    pub fn new(text: impl Into<String>, description: impl Into<String>) -> Self {
        Self { text: text.into(), description: description.into(), is_partial: false }
    }
}

/// Prints the candidates for the word that a user types, for a shell's completion script. Never prints an error,
/// because the user is typing.
pub fn run(args: &CompleteArgs) -> Result<Exit, Failure> {
    panic::set_hook(Box::new(|_| {}));
    let text = panic::catch_unwind(|| response(args)).ok().flatten().unwrap_or_default();
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush()); // there is nobody to report to
    Ok(Exit::Ok)
}

/// Returns the candidates for the typed word as lines for the shell; `None` if nothing can be completed.
fn response(args: &CompleteArgs) -> Option<String> {
    let words: Vec<_> = args.words.iter().map(|word| word.to_string_lossy()).collect();
    let (typed, before) = match (args.shell, words.as_slice()) {
        (CompletedShell::Bash, [typed, before @ ..]) => {
            let words = before.iter().chain([typed]).map(ToString::to_string);
            let mut words = with_at_signs(words);
            let typed = words.pop().unwrap_or_default();
            let before = words.iter().map(|word| TypedWord::of_shell(word).text);
            (TypedWord::of_shell(&typed), before.collect())
        }
        (CompletedShell::Zsh, [quote, typed, before @ ..]) => {
            let before = before.iter().map(ToString::to_string);
            (TypedWord::of_shell(&format!("{quote}{typed}")), before.collect())
        }
        (CompletedShell::Fish, [typed, before @ ..]) => {
            let before = before.iter().map(ToString::to_string);
            (TypedWord::of_fish(typed), before.collect::<Vec<_>>())
        }
        _ => return None,
    };
    let mut command = Args::command();
    command.build();
    let line = CommandLine::new(&command, &before, &typed.text);
    if matches!(line.wanted, WantedWord::Files) {
        return Some("files\n".to_owned());
    }
    let mut candidates = candidates(&line, &typed.text)?;
    // A name with control characters cannot be typed.
    candidates.retain(|candidate| !candidate.text.chars().any(is_harmful));
    let described = |candidate: &Candidate| match candidate.description.as_str() {
        "" => candidate.text.clone(),
        text => format!("{}\t{}", candidate.text, text.replace(is_harmful, " ")),
    };
    let lines = match args.shell {
        CompletedShell::Bash => quoted_for_bash(&candidates, &typed),
        CompletedShell::Zsh | CompletedShell::Fish => candidates.iter().map(described).collect(),
    };
    Some(lines.iter().fold("words\n".to_owned(), |text, line| text + line + "\n"))
}

/// Joins each `@` with the word behind it. Bash splits words at this sign, because it can begin the name of a host, and
/// replaces them as a whole.
fn with_at_signs(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match joined.last_mut().filter(|last| *last == "@") {
            Some(last) => last.push_str(&word),
            None => joined.push(word),
        }
    }
    joined
}

/// Returns the candidates for the typed word of a command line; `None` if the word cannot be completed.
fn candidates(line: &CommandLine<'_>, typed: &str) -> Option<Vec<Candidate>> {
    /// Maximum time that a completion waits for other programs. Without their names, it is still useful.
    #[cfg(target_os = "linux")]
    const DEADLINE: std::time::Duration = std::time::Duration::from_millis(20);
    if let WantedWord::Candidates(candidates) = &line.wanted {
        return Some(candidates.clone());
    }
    #[cfg(target_os = "linux")]
    perfset::set_deadline(DEADLINE);
    let files = LogFiles {
        log: line.logs.iter().map(|file| PathBuf::from(from_home(file))).collect(),
        machine: line.machine.clone(),
        all_users: line.has_all_users,
        ..LogFiles::default()
    };
    // Standard input is the terminal.
    if files.log.iter().any(|file| is_dash(file)) {
        return None;
    }
    let source = QuerySource::new(&files).ok()?;
    let sets = countersets(source.machine());
    match &line.wanted {
        WantedWord::Path | WantedWord::Operand => {
            let instances = |set: &Counterset| {
                let found = source.machine().instances(&set.guid).unwrap_or_default();
                found.iter().map(|instance| instance.name.to_string()).collect()
            };
            let mut found = paths::candidates(&sets, &instances, typed);
            if line.wanted == WantedWord::Operand {
                found.extend(sets_named(typed));
            }
            Some(found)
        }
        WantedWord::SortKey => Some(sort_keys(&source, &line.operands, typed)),
        WantedWord::Counterset => Some(paths::countersets_named(&sets, typed)),
        WantedWord::Counter(name) => {
            let set: Arc<Counterset> = counterset(&source, name).ok()?;
            Some(paths::counters_named(&set, typed))
        }
        WantedWord::Candidates(_) | WantedWord::Files | WantedWord::Nothing => None,
    }
}

/// Returns the names of the path sets in the settings file that begin with the typed text, each with `@`.
fn sets_named(typed: &str) -> Vec<Candidate> {
    #[cfg(feature = "settings")]
    let sets = crate::settings::sets();
    #[cfg(not(feature = "settings"))]
    let sets = std::collections::BTreeMap::<String, String>::new();
    let named = sets.into_iter().map(|(name, paths)| Candidate::new(format!("@{name}"), paths));
    named.filter(|candidate| candidate.text.starts_with(typed)).collect()
}

/// Returns the names of the counters of operands that begin with the typed text, and the word `instance`.
fn sort_keys(source: &QuerySource, operands: &[String], typed: &str) -> Vec<Candidate> {
    let mut opened = source.source();
    let mut keys: Vec<Candidate> = Vec::new();
    // Without operands, there are no counters yet.
    if let Ok(mut operands) = Operands::parse(operands) {
        operands.settle(source.machine());
        let found = operands.paths.iter().filter_map(|path| resolve(&mut *opened, path).ok());
        for found in found {
            let mut shown = paths::counters_named(&found.set, typed);
            shown.retain(|candidate| {
                let is_it = |counter: &Counter| counter.name.as_deref() == Some(candidate.text.as_str());
                let mut selected = found.counters.iter().filter_map(|id| found.set.counter(*id));
                selected.any(is_it) && keys.iter().all(|key| key.text != candidate.text)
            });
            keys.append(&mut shown);
        }
    }
    let instance = Candidate::new("instance", "in the order of the instances' names");
    keys.extend(Some(instance).filter(|candidate| candidate.text.starts_with(typed)));
    keys
}

/// Returns the path of a file, with the home directory in place of `~/` at the beginning, as in shells.
fn from_home(file: &str) -> String {
    match (file.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => file.to_owned(),
    }
}
