//! Kind of the word that is completed, by the definition of the command line: an option, its value, a command, an
//! operand.

use clap::builder::ValueHint;
use clap::{Arg, Command};

use super::Candidate;

/// Kind of word that a user types on a command line and that is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedWord {
    /// Words that complete the typed word, from which the user can choose.
    Candidates(Vec<Candidate>),
    /// Name of a file or directory, which the shell completes.
    Files,
    /// Counter path, of which a part may be typed.
    Path,
    /// Operand: a counter path, a short name, or the name of a set of paths in the settings file.
    Operand,
    /// Name of a counter by which a table is sorted: a counter of the paths that precede it.
    SortKey,
    /// Name of a counterset, or a part of such a name.
    Counterset,
    /// Name of a counter of the counterset that the user has typed.
    Counter(String),
    /// Free text of the user, for which there are no candidates.
    Nothing,
}

/// Command line up to the word that is typed, parsed for completion.
#[derive(Clone, Debug)]
pub struct CommandLine<'d> {
    pub wanted: WantedWord,
    /// Log files that the command line names, to be read instead of this machine.
    pub logs: Vec<String>,
    /// Name of the machine whose counters the command reads from logs.
    pub machine: Option<String>,
    pub has_all_users: bool,
    command: &'d Command,
    /// Operands of the command line before the word that is typed.
    pub operands: Vec<String>,
    /// Command-line option whose value comes next.
    pending: Option<&'d Arg>,
    /// `true` after the word `--`, which ends the options of a command line.
    is_rest: bool,
}

impl<'d> CommandLine<'d> {
    /// Reads the words of a command line before the word that is typed. The command is built, and its own name is not
    /// among the words.
    pub fn new(command: &'d Command, before: &[String], typed: &str) -> Self {
        let mut line = Self {
            wanted: WantedWord::Nothing,
            logs: Vec::new(),
            machine: None,
            has_all_users: false,
            command,
            operands: Vec::new(),
            pending: None,
            is_rest: false,
        };
        before.iter().for_each(|word| line.read(word));
        line.wanted = line.wanted(typed);
        line
    }

    fn read(&mut self, word: &str) {
        if let Some(option) = self.pending {
            // Bash splits --log=FILE at the sign.
            if word != "=" {
                self.take_value(option, word);
            }
        } else if self.is_rest {
            self.operands.push(word.to_owned());
        } else if word == "--" {
            self.is_rest = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let option = self.command.get_arguments().find(|arg| arg.get_long() == Some(name));
            self.has_all_users |= name == "all-users";
            match (option.filter(|option| takes_value(option)), value) {
                (Some(option), Some(value)) => {
                    self.take_value(option, value);
                    self.pending = None;
                }
                (option, _) => self.pending = option,
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let option = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter));
                let Some(option) = option.filter(|option| takes_value(option)) else { continue };
                match letters.get(at.saturating_add(letter.len_utf8())..) {
                    Some("") | None => self.pending = Some(option),
                    Some(value) => {
                        self.take_value(option, value);
                        self.pending = None;
                    }
                }
                break;
            }
        } else if let Some(command) = self.command.find_subcommand(word).filter(|_| self.operands.is_empty())
        {
            self.command = command;
        } else {
            self.operands.push(word.to_owned());
        }
    }

    /// Stores the value of a command-line option. An option of any number of values takes the next word as well.
    fn take_value(&mut self, option: &'d Arg, value: &str) {
        match option.get_id().as_str() {
            "log" => self.logs.push(value.to_owned()),
            "machine" => self.machine = Some(value.to_owned()),
            _ => {}
        }
        let is_last = option.get_num_args().is_none_or(|range| range.max_values() <= 1);
        self.pending = Some(option).filter(|_| !is_last);
    }

    fn wanted(&self, typed: &str) -> WantedWord {
        if let Some(option) = self.pending {
            return self.value_of(option, if typed == "=" { "" } else { typed });
        }
        if typed.starts_with('-') && !self.is_rest {
            return match typed.strip_prefix("--").and_then(|long| long.split_once('=')) {
                None => WantedWord::Candidates(self.options(typed)),
                Some((name, value)) => {
                    let option = self.command.get_arguments().find(|arg| arg.get_long() == Some(name));
                    match option.map(|option| self.value_of(option, value)) {
                        Some(WantedWord::Candidates(values)) => {
                            let whole = |one: Candidate| {
                                Candidate::new(format!("--{name}={}", one.text), one.description)
                            };
                            WantedWord::Candidates(values.into_iter().map(whole).collect())
                        }
                        _ => WantedWord::Nothing,
                    }
                }
            };
        }
        if self.command.has_subcommands() && self.operands.is_empty() && !self.is_rest {
            return WantedWord::Candidates(self.commands(typed));
        }
        let operand = self.command.get_positionals().nth(self.operands.len()).or_else(|| {
            self.command.get_positionals().last().filter(|last| {
                last.get_num_args().is_some_and(|range| range.max_values() > 1)
                    || matches!(last.get_action(), clap::ArgAction::Append)
            })
        });
        operand.map_or(WantedWord::Nothing, |operand| self.value_of(operand, typed))
    }

    /// Returns the names of commands that begin with the typed text, as candidates.
    fn commands(&self, typed: &str) -> Vec<Candidate> {
        let shown = self.command.get_subcommands().filter(|command| !command.is_hide_set());
        let candidate = |command: &Command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            Candidate::new(command.get_name(), first_line(&about))
        };
        shown.filter(|command| command.get_name().starts_with(typed)).map(candidate).collect()
    }

    /// Returns the names of command-line options that begin with the typed text, as candidates.
    fn options(&self, typed: &str) -> Vec<Candidate> {
        let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
        let candidate = |arg: &Arg| {
            let name = format!("--{}", arg.get_long()?);
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            name.starts_with(typed).then(|| Candidate::new(name, first_line(&help)))
        };
        shown.filter_map(candidate).collect()
    }

    fn value_of(&self, arg: &Arg, typed: &str) -> WantedWord {
        let values = arg.get_possible_values();
        if !values.is_empty() {
            let shown =
                values.iter().filter(|value| !value.is_hide_set() && value.get_name().starts_with(typed));
            let help =
                |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
            let candidates =
                shown.map(|value| Candidate::new(value.get_name(), first_line(&help(value.get_help()))));
            return WantedWord::Candidates(candidates.collect());
        }
        match (self.command.get_name(), arg.get_id().as_str()) {
            (_, "operands") => WantedWord::Operand,
            (_, "paths" | "counters") => WantedWord::Path,
            ("get", "sort") => WantedWord::SortKey,
            ("describe" | "instances", "name") | ("list", "filter") | ("export", "names") => {
                WantedWord::Counterset
            }
            ("describe", "counter") => {
                self.operands.first().map_or(WantedWord::Nothing, |set| WantedWord::Counter(set.clone()))
            }
            // Programs are in the directories of PATH, or anywhere.
            (_, "run") => WantedWord::Files,
            _ => match arg.get_value_hint() {
                ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath => WantedWord::Files,
                _ => WantedWord::Nothing,
            },
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Returns the first line of the help text of an option or a command.
fn first_line(help: &str) -> String {
    help.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    use crate::args::Args;

    fn wanted(words: &[&str], check: impl FnOnce(CommandLine<'_>)) {
        let mut command = Args::command();
        command.build();
        let (typed, before) = words.split_last().unwrap();
        let before: Vec<_> = before.iter().map(|word| (*word).to_owned()).collect();
        check(CommandLine::new(&command, &before, typed));
    }

    fn words(wanted: WantedWord) -> Vec<String> {
        match wanted {
            WantedWord::Candidates(candidates) => candidates.into_iter().map(|one| one.text).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn kinds_of_words() {
        use WantedWord::{Counter, Counterset, Files, Nothing, Operand, Path, SortKey};
        let log = "--log";
        for (typed, want) in [
            (&["get", "\\Mem"][..], Operand),
            (&["get", "cpu", ""], Operand),
            (&["get", "--top", "5", ""], Operand),
            (&["get", "--top", ""], Nothing),
            (&["get", "cpu", "--sort", ""], SortKey),
            (&["get", log, "x.blg", ""], Operand),
            (&["get", "--log=x.blg", ""], Operand),
            (&["get", log, ""], Files),
            (&["get", log, "=", ""], Files),
            (&["get", "--", "--"], Operand),
            (&["watch", "--above", "9", ""], Operand),
            (&["watch", "cpu", "--above", "9", "--run", ""], Files),
            (&["watch", "cpu", "--above", "9", "--run", "sh", "-c", ""], Files),
            (&["relog", ""], Files),
            (&["log", "cut", ""], Files),
            (&["log", "cut", "x", "-o", ""], Files),
            (&["log", "convert", "x", "-o", ""], Files),
            (&["relog", "x", "-c", ""], Path),
            (&["relog", "x", "-o", ""], Files),
            (&["relog", "x", "-ox", ""], Files),
            (&["describe", ""], Counterset),
            (&["describe", "memory", ""], Counter("memory".to_owned())),
            (&["describe", "memory", "x", ""], Nothing),
            (&["instances", ""], Counterset),
            (&["list", ""], Counterset),
            (&["find", ""], Nothing),
            (&["1", ""], Nothing),
            (&["no-such-command", ""], Nothing),
        ] {
            wanted(typed, |line| assert_eq!(line.wanted, want, "{typed:?}"));
        }
    }

    #[test]
    fn commands_options_and_values() {
        let list = |typed: &[&str]| {
            let mut found = Vec::new();
            wanted(typed, |line| found = words(line.wanted));
            found
        };
        let commands = list(&[""]);
        assert!(
            commands.contains(&"get".to_owned()) && commands.contains(&"watch".to_owned()),
            "{commands:?}"
        );
        assert!(!commands.contains(&"complete".to_owned()), "a hidden command is offered");
        assert_eq!(list(&["desc"]), ["describe"]);
        assert_eq!(list(&["log", ""]), ["info", "cut", "convert", "export"]);
        assert_eq!(list(&["watch", "--ab"]), ["--above"]);
        assert_eq!(list(&["get", "cpu", "--format", "j"]), ["json"]);
        assert_eq!(list(&["get", "cpu", "--format=j"]), ["--format=json"]);
        assert!(list(&["get", "-"]).len() > 5);
        assert_eq!(list(&["get", "--no-such"]), [""; 0]);
    }

    #[test]
    fn sources_of_names() {
        wanted(&["get", "--log", "a.blg", "--log=b.csv", "--machine", "M", "--all-users", ""], |line| {
            assert_eq!(line.logs, ["a.blg", "b.csv"]);
            assert_eq!((line.machine.as_deref(), line.has_all_users), (Some("M"), true));
        });
    }
}
