//! Arguments of the commands that print lists, and the formats of lists.

use clap::ValueEnum;

use super::LogFiles;
use crate::examples;

/// Output format of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Table for users, in 80 columns if possible
    #[default]
    Table,
    /// CSV: one line per entry, below a header
    Csv,
    /// JSON: one object per entry, each on its own line
    Json,
}

/// Options for the output format of a list.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ListOutput {
    /// Format in which the entries are printed
    #[arg(long, value_enum, default_value_t)]
    format: ListFormat,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl ListOutput {
    /// Returns the chosen format.
    pub fn format(self) -> ListFormat {
        if self.json { ListFormat::Json } else { self.format }
    }
}

/// List the countersets of this machine
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LIST)]
pub struct ListArgs {
    /// Text that names must contain, or a pattern with * and ? for whole names
    pub filter: Option<String>,
    #[command(flatten)]
    pub output: ListOutput,
    #[command(flatten)]
    pub files: LogFiles,
}

/// Find counters by words: names, other programs' names, problems, words of help texts
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::FIND)]
pub struct FindArgs {
    /// Words to find, or the beginnings of words
    #[arg(required = true)]
    pub words: Vec<String>,
    /// Print all counters found, and also those that Linux does not have
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: ListOutput,
    #[command(flatten)]
    pub files: LogFiles,
}

/// Explain a counterset, or one of its counters
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::DESCRIBE)]
pub struct DescribeArgs {
    /// Name of the counterset, a unique part of it, or its GUID
    pub name: String,
    /// Name of a counter, or # and its id
    pub counter: Option<String>,
    /// Include counters that Linux does not have
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: ListOutput,
    #[command(flatten)]
    pub files: LogFiles,
}

/// List the instances of a counterset: those that exist now, or all of a log
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::INSTANCES)]
pub struct InstancesArgs {
    /// Name of the counterset, a unique part of it, or its GUID
    pub name: String,
    /// Print facts about processes, disks and network interfaces below each
    ///
    /// Facts of a process: user, command line, executable, control group, and unit, container and pod if any. Of a
    /// disk: model and mount points. Of a network interface: speed and driver. Of a log: those that were recorded.
    #[arg(long)]
    pub facts: bool,
    /// Print the command lines of the processes of all users
    ///
    /// They can contain secrets, such as passwords. Without this option, those of other users are printed only for
    /// root. Of a recording, those that were recorded are printed.
    #[arg(long, requires = "facts")]
    pub with_command_lines: bool,
    #[command(flatten)]
    pub output: ListOutput,
    #[command(flatten)]
    pub files: LogFiles,
}
