//! The command line: commands, options and their help texts.

#[cfg(feature = "man")]
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use perfset::output::text::escaped;
use perfset::path::nearest;

use crate::examples;
use crate::exit::Failure;
use crate::when::InstantArg;

mod get;
mod list;
mod log;
#[cfg(feature = "plot")]
mod plot;
mod processes;
#[cfg(feature = "publish")]
mod publish;
mod record;
#[cfg(feature = "serve")]
mod report;
mod screen;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "tui")]
mod tui;
mod watch;

pub use get::{GetArgs, GetFormat, OutputFormat};
pub use list::{DescribeArgs, FindArgs, InstancesArgs, ListArgs, ListFormat, ListOutput};
pub use log::{
    ExportFormat, LogArgs, LogCommand, LogConvertArgs, LogCutArgs, LogExportArgs, LogInfoArgs, ViewEngine,
};
#[cfg(feature = "plot")]
pub use plot::{PictureFormat, PlotArgs, ScaleName, ThemeName};
pub use processes::ProcessArgs;
#[cfg(feature = "publish")]
pub use publish::*;
pub use record::{Every, Keep, MarkArgs, RecordArgs, Sync};
#[cfg(feature = "serve")]
pub use report::ReportArgs;
use screen::screen_usage;
pub use screen::{PartArgs, PastArgs, ProcessorsArgs, ScreenArgs};
#[cfg(feature = "serve")]
pub use serve::ServeArgs;
#[cfg(feature = "tui")]
pub use tui::{TableScreenArgs, TopArgs, ViewArgs};
pub use watch::WatchArgs;

/// Read performance counters of this machine, under the names that Windows uses
///
/// Without a command, perfset shows an overview of the machine: in place on a terminal, as blocks of lines in a pipe.
#[derive(Debug, Parser)]
#[command(name = "perfset", version, long_version = crate::records::versions())]
#[command(after_help = crate::exit::HELP, args_conflicts_with_subcommands = true)]
#[command(override_usage = format!("{}\n       perfset <COMMAND>", screen_usage("perfset")))]
#[command(after_long_help = format!("{}\n\n{}", examples::OVERVIEW, crate::exit::HELP))]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub part: PartArgs,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show each processor: time, interrupts, frequency
    #[command(after_long_help = examples::CPU, override_usage = screen_usage("perfset cpu"))]
    Cpu(ProcessorsArgs),
    /// Show memory, swap, and the processes that use most memory
    #[command(after_long_help = examples::SCREENS, override_usage = screen_usage("perfset mem"))]
    Mem(PartArgs),
    /// Show disks, file systems, and the processes that read and write most
    #[command(after_long_help = examples::SCREENS, override_usage = screen_usage("perfset disk"))]
    Disk(PartArgs),
    /// Show network interfaces and TCP
    #[command(after_long_help = examples::SCREENS, override_usage = screen_usage("perfset net"))]
    Net(PartArgs),
    /// Show the processes that use most processor time
    #[command(after_long_help = examples::SCREENS, override_usage = screen_usage("perfset proc"))]
    Proc(PartArgs),
    /// Show the control groups that use most: services, containers, sessions
    #[command(after_long_help = examples::SCREENS, override_usage = screen_usage("perfset cgroup"))]
    Cgroup(PartArgs),
    Get(GetArgs),
    List(ListArgs),
    Find(FindArgs),
    Describe(DescribeArgs),
    Instances(InstancesArgs),
    Watch(WatchArgs),
    #[cfg(feature = "tui")]
    Top(TopArgs),
    #[cfg(feature = "tui")]
    View(ViewArgs),
    #[cfg(feature = "plot")]
    Plot(PlotArgs),
    #[cfg(feature = "serve")]
    Report(ReportArgs),
    Record(RecordArgs),
    Mark(MarkArgs),
    Dump(DumpArgs),
    Log(LogArgs),
    Relog(RelogArgs),
    V1(V1Args),
    #[cfg(feature = "publish")]
    Manifest(ManifestArgs),
    #[cfg(feature = "publish")]
    Provider(ProviderArgs),
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Check a log on standard input with limits of memory and time, for the server that was sent it
    #[cfg(feature = "serve")]
    #[command(hide = true)]
    CheckLog,
    #[cfg(feature = "man")]
    Completions(CompletionsArgs),
    #[cfg(feature = "man")]
    Complete(CompleteArgs),
    #[cfg(feature = "man")]
    Man(ManArgs),
    Doctor(DoctorArgs),
}

/// Logs to read instead of this machine.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Logs")]
pub struct LogFiles {
    /// Read a recording or another log instead of this machine
    ///
    /// A recording is a directory or a file of perfset record. Other logs are .blg, PDH-CSV, PDH-TSV, and perfset's
    /// CSV, JSON and SQLite; several of them are read as one.
    #[arg(long, value_name = "FILE")]
    pub log: Vec<PathBuf>,
    /// Machine to read, if the log contains several
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Include counters published by other users, if readable
    ///
    /// Their instance names start with the user ID. Root, and members of the group of /run/perfset, see them without
    /// this option. From all other users together, at most 64 MiB and 100,000 instances are read, divided among the
    /// users. Omitted instances are reported.
    #[cfg_attr(feature = "publish", arg(long, conflicts_with = "log", help_heading = "Programs"))]
    #[cfg_attr(not(feature = "publish"), arg(skip))]
    pub all_users: bool,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

impl LogFiles {
    /// Returns this machine, with the publishers of all users if `--all-users` was given.
    ///
    /// # Errors
    /// If the environment is not valid.
    pub fn local(&self) -> Result<perfset::Machine, Failure> {
        self.processes.apply()?;
        Ok(if self.all_users { perfset::all_users() } else { perfset::local() })
    }
}

/// Time span of a log.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logs")]
pub struct LogWindow {
    /// Read only samples from this time on: '2026-11-22 10:30:00', 10:30, -10m, 'mark deploy'
    ///
    /// The time is local where the log was written; with Z, it is UTC. A time of day is the last one that the log has;
    /// -10m is ten minutes before its end.
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    pub begin: Option<InstantArg>,
    /// Read only samples up to this time
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    pub end: Option<InstantArg>,
}

/// Show what works on this machine, what does not, and how to enable it
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::DOCTOR)]
pub struct DoctorArgs {
    /// Write this machine's responses into a new directory, to be sent and replayed
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Time between the two collections of the capture
    #[arg(long, value_parser = interval, value_name = "TIME", default_value = "1s")]
    pub warmup: Duration,
    /// Replace instance names in the capture
    #[arg(long, requires = "capture")]
    pub hide_instances: bool,
    /// Include objects that are costly to collect in the capture; this may take minutes
    #[arg(long, requires = "capture")]
    pub costly: bool,
    #[command(flatten)]
    pub output: ListOutput,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// Show a V1 or V2 block, field by field with offsets
///
/// A block that breaks a rule is refused. The message names the structure, the offset and the rule.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::DUMP)]
pub struct DumpArgs {
    /// File to read; - is standard input
    pub file: PathBuf,
    /// Format of the file [default: a V1 block if it begins as one, else V2 data]
    #[arg(long = "as", value_enum, value_name = "FORMAT")]
    pub kind: Option<FormatName>,
    /// Show blocks that break rules, as far as possible; "!" marks each broken rule
    #[arg(long)]
    pub lenient: bool,
    #[command(flatten)]
    pub output: ListOutput,
}

/// Convert logs to another format, select parts of them, merge them
///
/// Reads recordings, .blg, PDH-CSV, PDH-TSV, and perfset's CSV, JSON and SQLite; writes PDH-CSV, PDH-TSV, JSON or
/// SQLite. Raw values are formatted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::RELOG)]
pub struct RelogArgs {
    /// Logs to read; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// File to write; the ending .csv, .tsv, .jsonl or .db selects the format
    ///
    /// The name - is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format, whatever the ending of the file
    #[arg(long, short, value_enum)]
    pub format: Option<RelogFormat>,
    /// Counter path to write, with wildcards as in get [default: all counters]
    #[arg(long = "counter", short = 'c', value_name = "PATH")]
    pub paths: Vec<String>,
    /// File with more counter paths to write, one per line
    #[arg(long, value_name = "FILE")]
    pub counters_from: Vec<PathBuf>,
    /// Write only samples from this time on: '2026-11-22 10:30:00', 10:30, -10m, 'mark deploy'
    ///
    /// The time is local where the log was written; with Z, it is UTC. A time of day is the last one that the log has;
    /// -10m is ten minutes before its end.
    #[arg(long, short, value_name = "TIME", allow_hyphen_values = true)]
    pub begin: Option<InstantArg>,
    /// Write only samples up to this time
    #[arg(long, short, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<InstantArg>,
    /// Write only every N-th sample; rates then cover N intervals
    #[arg(long, short = 't', value_name = "N")]
    pub every: Option<NonZeroU64>,
    /// Machine to write, if the logs contain several [default: all]
    #[arg(long, value_name = "NAME")]
    pub machine: Vec<String>,
    /// Write times in the time zone of the log instead of UTC
    #[arg(long)]
    pub local: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
    /// Add a log set to a SQLite file
    #[arg(long, conflicts_with = "force")]
    pub append: bool,
    /// Name of the log set in a SQLite file [default: the name of the first log]
    #[arg(long, value_name = "NAME")]
    pub set: Option<String>,
    /// List the paths of all counters of all instances, and write nothing
    #[arg(long, conflicts_with = "output")]
    pub list: bool,
}

/// Output format of `relog`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelogFormat {
    /// PDH-CSV: one line per sample, one column per counter
    Csv,
    /// PDH-TSV: the same with tabs
    Tsv,
    /// One JSON object per value, each on its own line, as get --format json
    Json,
    /// SQLite file with the tables of perfmon's SQL logs, raw values included
    Sqlite,
}

impl RelogFormat {
    /// Returns the format that matches the ending of a file name.
    pub fn from_extension(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_str()?.to_lowercase();
        Some(match ending.as_str() {
            "csv" => Self::Csv,
            "tsv" | "txt" => Self::Tsv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "db" | "sqlite" | "sqlite3" => Self::Sqlite,
            _ => return None,
        })
    }
}

/// Write and read V1 blocks, as HKEY_PERFORMANCE_DATA returns them on Windows
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::V1)]
pub struct V1Args {
    #[command(subcommand)]
    pub command: V1Command,
}

#[derive(Debug, Subcommand)]
pub enum V1Command {
    Query(V1QueryArgs),
    Names(V1NamesArgs),
    Values(V1ValuesArgs),
}

/// Write this machine's counters as a V1 block, or their names as a table
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::V1_QUERY)]
pub struct V1QueryArgs {
    /// Global, Costly, MetadataGlobal, title indexes, or a name table [default: Global]
    ///
    /// The name tables are Counter, Help and Explain, each followed by a language id.
    #[arg(value_name = "VALUE NAME")]
    pub value_name: Vec<String>,
    /// File to write; - is standard output [default: -]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// File for the name table, which readers on other machines need
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// List the structures of a V1 block with their names, or the texts of a name table
///
/// The structures are objects, counters and instances.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::V1_NAMES)]
pub struct V1NamesArgs {
    /// Block or name table to read; - is standard input
    pub file: PathBuf,
    /// Name table of the block [default: the names in the catalogue]
    #[arg(long, value_name = "TABLE")]
    pub names: Option<PathBuf>,
    /// Read blocks that break rules, as far as possible
    #[arg(long)]
    pub lenient: bool,
}

/// Show formatted values of a V1 block, or of the newer of two
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::V1_VALUES)]
pub struct V1ValuesArgs {
    /// Block to read, or the older of two; - is standard input
    pub file: PathBuf,
    /// Newer of two blocks; rates and averages over time need both
    #[arg(value_name = "FILE2")]
    pub newer: Option<PathBuf>,
    /// Name table of the blocks [default: the names in the catalogue]
    #[arg(long, value_name = "TABLE")]
    pub names: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
    /// Show raw values instead of formatted ones
    #[arg(long)]
    pub raw: bool,
    /// Read blocks that break rules, as far as possible
    #[arg(long)]
    pub lenient: bool,
}

/// Print a script with which a shell completes commands, paths and names
#[cfg(feature = "man")]
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::COMPLETIONS)]
pub struct CompletionsArgs {
    /// Shell that runs the script
    pub shell: clap_complete::Shell,
}

/// Print candidates for the word that is typed, for the scripts of shells
#[cfg(feature = "man")]
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct CompleteArgs {
    /// Shell that runs the script
    #[arg(value_enum)]
    pub shell: CompletedShell,
    /// Word that is typed, for zsh after the quote that is open, then the words before it
    #[arg(last = true)]
    pub words: Vec<OsString>,
}

/// Shells whose scripts request candidates.
#[cfg(feature = "man")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

/// Write perfset's manual pages into a directory
#[cfg(feature = "man")]
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MAN)]
pub struct ManArgs {
    /// Directory to write to; it must exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Block formats, named after their first structures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormatName {
    /// PERF_DATA_BLOCK: V1
    V1,
    /// PERF_DATA_HEADER: counter data
    Data,
    /// PERF_COUNTER_IDENTIFIER list: the entries of a query
    Identifiers,
    /// PERF_COUNTER_IDENTITY list: counters passed to a control callback
    Identities,
    /// PERF_INSTANCE_HEADER list: instances of a counterset
    Instances,
    /// PERF_COUNTERSET_REG_INFO: a registration
    Registration,
    /// PERF_STRING_BUFFER_HEADER: names or help texts of counters
    Strings,
}

/// Returns `true` for the name of a command.
pub fn is_command(name: &str) -> bool {
    name == "help" || Args::command().get_subcommands().any(|command| command.get_name() == name)
}

/// Parses the interval of the live screen. Reports other texts as a mistyped command, or as an operand of `get`.
fn live_interval(text: &str) -> Result<Duration, String> {
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return interval(text);
    }
    if text.starts_with(['\\', '/']) {
        return Err(format!("try: perfset get '{}'", escaped(text)));
    }
    if is_command(text) {
        return Err(format!("options of a command come after its name: perfset {text} [OPTIONS]"));
    }
    let command = Args::command();
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let near = nearest(text, names.iter().map(String::as_str), 2).join(", ");
    let hint = if near.is_empty() { names.join(", ") } else { near };
    Err(format!("unknown command; nearest: {hint}"))
}

/// Parses seconds, with or without a unit: `1`, `0.5`, `2s`, `250ms`.
pub fn interval(text: &str) -> Result<Duration, String> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 0.001),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let seconds =
        number.parse::<f64>().map_err(|_| "a number of seconds is expected, like 1 or 500ms")? * unit;
    if !(0.01..=86_400.0).contains(&seconds) {
        return Err("must be between 10ms and 86400 seconds".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn intervals() {
        for (text, ms) in [("1", Some(1000)), ("0.5", Some(500)), ("2s", Some(2000)), ("250ms", Some(250))] {
            assert_eq!(interval(text).ok(), ms.map(Duration::from_millis), "{text}");
        }
        for bad in ["", "x", "-1", "0", "1ms", "NaN", "inf", "1e9", "1m"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
