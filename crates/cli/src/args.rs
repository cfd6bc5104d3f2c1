//! The command line.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use perfset::path::nearest;
use perfset::v2::Format;

use crate::dump::Kind;
use crate::examples;
use crate::exit::Failure;
use crate::plot::PlotArgs;
use crate::text::escaped;
use crate::when::When;

mod processes;
mod serve;

pub use processes::ProcessArgs;
pub use serve::ServeArgs;

/// Performance counters of this machine, with the names that Windows gives them.
///
/// Without a command it shows the processors, live: in place on a terminal, as blocks of lines in a pipe.
#[derive(Debug, Parser)]
#[command(name = "perfset", version, after_help = crate::exit::HELP, args_conflicts_with_subcommands = true)]
#[command(after_long_help = format!("{}\n\n{}", examples::LIVE, crate::exit::HELP))]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub live: LiveArgs,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Get(GetArgs),
    List(ListArgs),
    Find(FindArgs),
    Describe(DescribeArgs),
    Instances(InstancesArgs),
    Plot(PlotArgs),
    Dump(DumpArgs),
    Log(LogArgs),
    Relog(RelogArgs),
    V1(V1Args),
    Manifest(ManifestArgs),
    Provider(ProviderArgs),
    Serve(ServeArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Doctor(DoctorArgs),
}

/// Show values of counter paths
///
/// A path is '\Counterset(instance)\Counter', or the same with forward slashes. In the instance * and ? are
/// wildcards, {a,b} is one of several, !name all others, name#1 the second of that name. cpu stands for the processors'
/// % Processor Time. What comes last may be an interval in seconds and a count, as in vmstat.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::GET)]
pub struct GetArgs {
    /// Counter paths, then the seconds between two samples, then how many
    #[arg(required = true, value_name = "PATH... [INTERVAL [COUNT]]")]
    pub operands: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
    /// Raw values instead of formatted ones: answers at once
    #[arg(long)]
    pub raw: bool,
    /// How long to wait for the second reading that a rate needs [default: 1s, or the interval]
    #[arg(long, value_parser = interval, value_name = "TIME")]
    pub warmup: Option<Duration>,
    /// Only values for which this holds: '>5', '>=5', '<5', '<=5', '=5', '!=5'
    #[arg(long = "where", value_name = "TEST", value_parser = Test::parse)]
    pub test: Option<Test>,
    /// Of each counter only the N greatest values; _Total and Idle are left out where there are others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Where a pattern asks for counters, also those that this machine does not have
    #[arg(long)]
    pub all: bool,
    /// In the end, least, greatest and mean of each counter of each instance
    #[arg(long)]
    pub summary: bool,
    /// End with code 1 if a value is missing
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub files: LogFiles,
    #[command(flatten)]
    pub window: LogWindow,
}

/// Logs to be asked instead of this machine.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Logs")]
pub struct LogFiles {
    /// Ask a log instead of this machine: .blg, PDH-CSV or PDH-TSV; given several times, all of them as one
    #[arg(long, value_name = "FILE")]
    pub log: Vec<PathBuf>,
    /// Whose counters, of a log with several machines
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Also what programs of other users publish, as far as their files may be read; their number stands before names.
    /// Root, and members of the group of /run/perfset, see them without this option. Of files of other users, all of
    /// them together, at most 64 MiB and 100,000 instances are read, divided among the users; what is left out is
    /// reported
    #[arg(long, conflicts_with = "log", help_heading = "Programs")]
    pub all_users: bool,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

impl LogFiles {
    /// This machine, with the programs of those users that were asked for.
    ///
    /// # Errors
    /// If the environment is not valid.
    pub fn local(&self) -> Result<perfset::Machine, Failure> {
        self.processes.apply()?;
        Ok(if self.all_users { perfset::all_users() } else { perfset::local() })
    }
}

/// A stretch of a log's time.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logs")]
pub struct LogWindow {
    /// Only samples from this time on: '2026-11-22 10:30:00', local where the log was written; with Z, UTC
    #[arg(long, value_name = "TIME", requires = "log")]
    pub begin: Option<When>,
    /// Only samples up to this time
    #[arg(long, value_name = "TIME", requires = "log")]
    pub end: Option<When>,
}

type Comparison = fn(&f64, &f64) -> bool;

/// A test for values.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    holds: Comparison,
    number: f64,
}

impl Test {
    fn parse(text: &str) -> Result<Self, String> {
        let tests: [(&str, Comparison); 6] = [
            (">=", f64::ge),
            ("<=", f64::le),
            ("!=", f64::ne),
            (">", f64::gt),
            ("<", f64::lt),
            ("=", f64::eq),
        ];
        let found =
            tests.into_iter().find_map(|(sign, holds)| Some((text.trim().strip_prefix(sign)?, holds)));
        let (number, holds) = found.ok_or("a test begins with >, >=, <, <=, = or !=")?;
        let number = number.trim().parse().map_err(|_| format!("\"{number}\" is not a number"))?;
        Ok(Self { holds, number })
    }

    /// Whether it holds for a value.
    pub fn holds(&self, value: f64) -> bool {
        (self.holds)(&value, &self.number)
    }
}

/// How `get` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    #[default]
    Table,
    /// One line a value, with a header
    Csv,
    /// One JSON object a line, one line a value
    Json,
    /// What perfmon and relog read: a line a sample, a column a path; times in UTC
    PdhCsv,
}

/// Say what works on this machine, what does not, and what would open it
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::DOCTOR)]
pub struct DoctorArgs {
    /// Write instead what this machine answers into a new folder, to be sent and replayed
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// How long to wait between the two collections that it has
    #[arg(long, value_parser = interval, value_name = "TIME", default_value = "1s")]
    pub warmup: Duration,
    /// Replace names of instances in it
    #[arg(long, requires = "capture")]
    pub hide_instances: bool,
    /// Also objects that are costly to collect: it may take minutes
    #[arg(long, requires = "capture")]
    pub costly: bool,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// Find counters by words of their names and helps
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::FIND)]
pub struct FindArgs {
    /// The words; all must be there
    #[arg(required = true)]
    pub words: Vec<String>,
    /// Also those that Linux does not have
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub files: LogFiles,
}

/// Explain a counterset, or one of its counters
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::DESCRIBE)]
pub struct DescribeArgs {
    /// Its name, a part that only one has, or its GUID
    pub name: String,
    /// A counter's name, or # and its id
    pub counter: Option<String>,
    /// Also counters that Linux does not have
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub files: LogFiles,
}

/// List the instances of a counterset that exist now
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::INSTANCES)]
pub struct InstancesArgs {
    /// Its name, a part that only one has, or its GUID
    pub name: String,
    #[command(flatten)]
    pub files: LogFiles,
}

/// The live screen.
#[derive(Debug, clap::Args)]
pub struct LiveArgs {
    /// Seconds between two collections; 500ms works too
    #[arg(default_value = "1", value_parser = live_interval)]
    pub interval: Duration,
    /// How many tables to show [default: until Ctrl+C]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Show the counters' own names instead of short ones
    #[arg(long)]
    pub full_names: bool,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// List the countersets of this machine
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LIST)]
pub struct ListArgs {
    /// Only those whose name contains this; * and ? match as in instance names
    pub filter: Option<String>,
    #[command(flatten)]
    pub files: LogFiles,
}

/// Show a V1 or V2 block, field by field with offsets
///
/// A block that breaks any rule is refused, and the message names structure, offset and rule.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::DUMP)]
pub struct DumpArgs {
    /// The file; - is standard input
    pub file: PathBuf,
    /// What the bytes are [default: a V1 block if they begin as one, else V2 data]
    #[arg(long = "as", value_enum, value_name = "FORMAT")]
    pub format: Option<FormatName>,
    /// Show also what breaks rules, as far as it can be read; "!" marks where
    #[arg(long)]
    pub lenient: bool,
    /// A JSON object a line, one for each structure
    #[arg(long)]
    pub json: bool,
}

/// Logs that others recorded: what is in them
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::LOG)]
pub struct LogArgs {
    #[command(subcommand)]
    pub command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    Info(LogInfoArgs),
}

/// Show machine, span, interval, counters, gaps and damage of logs
///
/// Binary logs of Windows (.blg), PDH-CSV and PDH-TSV are read, whole or damaged.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LOG_INFO)]
pub struct LogInfoArgs {
    /// The logs; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A JSON object a line, one for each log
    #[arg(long)]
    pub json: bool,
}

/// Write logs anew: as another format, in part, several as one
///
/// Reads .blg, PDH-CSV and PDH-TSV; writes PDH-CSV, PDH-TSV, JSON or SQLite. What was recorded raw is formatted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::RELOG)]
pub struct RelogArgs {
    /// The logs; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The file to write: its ending, .csv, .tsv, .jsonl or .db, says the format; - is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Its format, whatever its ending
    #[arg(long, short, value_enum)]
    pub format: Option<RelogFormat>,
    /// Only these counters: counter paths, wildcards as in get [default: all]
    #[arg(long = "counter", short = 'c', value_name = "PATH")]
    pub paths: Vec<String>,
    /// Also the counters of this file, a path a line
    #[arg(long, value_name = "FILE")]
    pub counters_from: Vec<PathBuf>,
    /// Only samples from this time on: '2026-11-22 10:30:00', local where the log was written; with Z, UTC
    #[arg(long, short, value_name = "TIME")]
    pub begin: Option<When>,
    /// Only samples up to this time
    #[arg(long, short, value_name = "TIME")]
    pub end: Option<When>,
    /// Only every N-th sample; what is counted over time is so over N of them
    #[arg(long, short = 't', value_name = "N")]
    pub every: Option<NonZeroU64>,
    /// Only counters of this machine, of logs with several
    #[arg(long, value_name = "NAME")]
    pub machine: Vec<String>,
    /// Times local where the log was written instead of UTC
    #[arg(long)]
    pub local: bool,
    /// Write over a file that exists
    #[arg(long)]
    pub force: bool,
    /// Add another log set to a SQLite file
    #[arg(long, conflicts_with = "force")]
    pub append: bool,
    /// What the log set is called in a SQLite file [default: the name of the first log]
    #[arg(long, value_name = "NAME")]
    pub set: Option<String>,
    /// Write nothing: list the paths of all counters of all instances
    #[arg(long, conflicts_with = "output")]
    pub list: bool,
}

/// What `relog` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelogFormat {
    /// PDH-CSV: a line a sample, a column a counter
    Csv,
    /// PDH-TSV: the same with tabs
    Tsv,
    /// A JSON object a line, one for each value, as get --format json
    Json,
    /// A SQLite file with the tables of perfmon's SQL logs, raw numbers included
    Sqlite,
}

impl RelogFormat {
    /// By the ending of a file's name.
    pub fn of_name(file: &Path) -> Option<Self> {
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

/// Blocks of the V1 performance data format: what HKEY_PERFORMANCE_DATA gives on Windows
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
    /// Global, Costly, MetadataGlobal, title indexes, or Counter, Help or Explain with a language id [default: Global]
    #[arg(value_name = "VALUE NAME")]
    pub value_name: Vec<String>,
    /// The file to write; - is standard output [default: -]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write the table of names, which a reader elsewhere needs
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// List objects, counters and instances of a V1 block with their names, or the texts of a name table
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::V1_NAMES)]
pub struct V1NamesArgs {
    /// The block or table; - is standard input
    pub file: PathBuf,
    /// The block's table of names [default: the names that the catalogue knows]
    #[arg(long, value_name = "TABLE")]
    pub names: Option<PathBuf>,
    /// Read also blocks that break rules, as far as they can be read
    #[arg(long)]
    pub lenient: bool,
}

/// Show formatted values of a V1 block, or of the newer of two
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::V1_VALUES)]
pub struct V1ValuesArgs {
    /// The block; of two the older; - is standard input
    pub file: PathBuf,
    /// The newer of two: what is counted over time needs both
    #[arg(value_name = "FILE2")]
    pub newer: Option<PathBuf>,
    /// The blocks' table of names [default: the names that the catalogue knows]
    #[arg(long, value_name = "TABLE")]
    pub names: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    pub format: OutputFormat,
    /// Raw values instead of formatted ones
    #[arg(long)]
    pub raw: bool,
    /// Read also blocks that break rules, as far as they can be read
    #[arg(long)]
    pub lenient: bool,
}

/// Check manifests of countersets, make code of them, write them
///
/// A provider declares its countersets in an instrumentation manifest, an XML file, as on Windows.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::MANIFEST)]
pub struct ManifestArgs {
    #[command(subcommand)]
    pub command: ManifestCommand,
}

#[derive(Debug, Subcommand)]
pub enum ManifestCommand {
    Check(ManifestCheckArgs),
    Generate(ManifestGenerateArgs),
    Export(ManifestExportArgs),
}

/// Say all that is wrong with manifests, each with line and column
///
/// Warnings alone end with code 0.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MANIFEST_CHECK)]
pub struct ManifestCheckArgs {
    /// The manifests; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Make code of a manifest, as CTRPP does on Windows
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MANIFEST_GENERATE)]
pub struct ManifestGenerateArgs {
    /// The manifest; - is standard input
    pub file: PathBuf,
    #[command(flatten)]
    pub code: Code,
    /// What names of functions, variables and types begin with
    #[arg(long, value_name = "P", default_value = "")]
    pub prefix: String,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `manifest generate` makes.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Code {
    /// A Rust module: a struct a counterset
    #[arg(long)]
    pub rust: bool,
    /// A C header with the provider's code: ctrpp -o
    #[arg(long)]
    pub c_header: bool,
    /// A C header with GUIDs and ids for consumers: ctrpp -ch
    #[arg(long)]
    pub symbols: bool,
}

/// Write countersets of this machine as a manifest
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MANIFEST_EXPORT)]
pub struct ManifestExportArgs {
    /// Countersets of one provider: their names, parts that only one has, or GUIDs
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Install, remove and list registered providers
///
/// As lodctr and unlodctr do on Windows. A registered provider is a file, its manifest.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::PROVIDER)]
pub struct ProviderArgs {
    #[command(subcommand)]
    pub command: ProviderCommand,
}

#[derive(Debug, Subcommand)]
pub enum ProviderCommand {
    Install(ProviderInstallArgs),
    Remove(ProviderRemoveArgs),
    List(ProviderListArgs),
}

/// The folder of registered providers.
#[derive(Debug, clap::Args)]
pub struct ProviderFolder {
    /// Only this folder instead of those of the system, for packages
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Register the providers of manifests: root for everyone, others for themselves
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PROVIDER_INSTALL)]
pub struct ProviderInstallArgs {
    /// The manifests; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub folder: ProviderFolder,
}

/// Remove registered providers, or countersets of theirs
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PROVIDER_REMOVE)]
pub struct ProviderRemoveArgs {
    /// A provider's GUID or name, a counterset's GUID, or the manifest, a name that ends in .man
    #[arg(required = true, value_name = "WHAT")]
    pub what: Vec<String>,
    #[command(flatten)]
    pub folder: ProviderFolder,
}

/// List registered providers, and files that register none
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PROVIDER_LIST)]
pub struct ProviderListArgs {
    /// A JSON object a line, one for each file
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub folder: ProviderFolder,
}

/// Print what a shell needs to complete perfset's commands and options
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::COMPLETIONS)]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// Write perfset's manual pages into a directory
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct ManArgs {
    /// The directory, which must exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// The formats by the names of their first structures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormatName {
    /// PERF_DATA_BLOCK: V1
    V1,
    /// PERF_DATA_HEADER: counter data
    Data,
    /// PERF_COUNTER_IDENTIFIER list: the entries of a query
    Identifiers,
    /// PERF_COUNTER_IDENTITY list: what control callbacks are told
    Identities,
    /// PERF_INSTANCE_HEADER list: an enumeration of instances
    Instances,
    /// PERF_COUNTERSET_REG_INFO: a registration
    Registration,
    /// PERF_STRING_BUFFER_HEADER: names or helps of counters
    Strings,
}

impl From<FormatName> for Kind {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::V1 => Self::V1,
            FormatName::Data => Self::V2(Format::Data),
            FormatName::Identifiers => Self::V2(Format::Identifiers),
            FormatName::Identities => Self::V2(Format::Identities),
            FormatName::Instances => Self::V2(Format::Instances),
            FormatName::Registration => Self::V2(Format::Registration),
            FormatName::Strings => Self::V2(Format::Strings),
        }
    }
}

/// An interval; what is none is a mistyped command, or belongs behind `get`.
fn live_interval(text: &str) -> Result<Duration, String> {
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return interval(text);
    }
    if text.starts_with(['\\', '/']) || matches!(text, "cpu" | "mem" | "disk" | "net" | "proc") {
        return Err(format!("try: perfset get '{}'", escaped(text)));
    }
    let command = Args::command();
    let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    if names.iter().any(|name| name == text) {
        return Err(format!("options of a command come behind its name: perfset {text} [OPTIONS]"));
    }
    let near = nearest(text, names.iter().map(String::as_str), 2).join(", ");
    let hint = if near.is_empty() { names.join(", ") } else { near };
    Err(format!("no command has that name; nearest: {hint}"))
}

/// Seconds, with or without a unit: `1`, `0.5`, `2s`, `250ms`.
pub fn interval(text: &str) -> Result<Duration, String> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 0.001),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let seconds =
        number.parse::<f64>().map_err(|_| "a number of seconds is expected, like 1 or 500ms")? * unit;
    if !(0.01..=86_400.0).contains(&seconds) {
        return Err("it must be between 10ms and 86400 seconds".into());
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
    fn tests_for_values() {
        for (text, value, want) in [
            (">5", 5.0, false),
            (">= 5", 5.0, true),
            ("<5", 4.9, true),
            ("<=5", 5.1, false),
            ("=5", 5.0, true),
            ("!=5", 5.0, false),
            ("> -1.5", -1.0, true),
        ] {
            assert_eq!(Test::parse(text).unwrap().holds(value), want, "{text} for {value}");
        }
        for bad in ["", "5", ">", ">x", "~5"] {
            assert!(Test::parse(bad).is_err(), "{bad}");
        }
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
