//! Arguments of `perfset log` and its commands.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::ListOutput;
use crate::examples;
use crate::when::InstantArg;

/// Show, cut, convert and export recorded logs
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_long_help = examples::LOG)]
pub struct LogArgs {
    #[command(subcommand)]
    pub command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    Info(LogInfoArgs),
    Cut(LogCutArgs),
    Convert(LogConvertArgs),
    Export(LogExportArgs),
}

/// Show machine, time span, interval, counters, gaps and damage of logs
///
/// Reads recordings, binary logs of Windows (.blg), PDH-CSV, PDH-TSV, and perfset's CSV, JSON and SQLite, complete or
/// damaged; and Parquet files of perfset log export, if built with the feature parquet.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LOG_INFO)]
pub struct LogInfoArgs {
    /// Logs to read; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub output: ListOutput,
}

/// Write a part of a recording as one file, to send to another person
///
/// The file has the samples, marks and gaps of that time, and all help texts. Every command that reads logs reads it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LOG_CUT)]
pub struct LogCutArgs {
    /// Recording to read: a directory or a file
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// Write only samples from this time on: 10:30, '2026-11-22 10:30', -10m, 'mark deploy' [default: from the first]
    ///
    /// The time is local where the recording was written, unless Z or a zone like +01:00 follows it. -10m is ten
    /// minutes before the end.
    #[arg(long, short, value_name = "TIME", allow_hyphen_values = true)]
    pub begin: Option<InstantArg>,
    /// Write only samples up to this time [default: up to the last one]
    #[arg(long, short, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<InstantArg>,
    /// Write the recorded command lines of processes too, which can contain secrets
    #[arg(long)]
    pub with_command_lines: bool,
    /// File to write; - is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Convert logs of other programs to a recording
///
/// Reads .blg, PDH-CSV, PDH-TSV, and perfset's CSV, JSON and SQLite; several logs become one recording. Values of
/// binary logs stay raw. Values of text logs were formatted by the program that wrote them, and have a mark.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LOG_CONVERT)]
pub struct LogConvertArgs {
    /// Logs to read; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Machine to read, if the logs contain several: a recording has one
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// File for the new recording
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Export logs to Parquet files for SQL engines, or print views for them
///
/// Reads recordings, .blg, PDH-CSV, PDH-TSV, and perfset's CSV, JSON and SQLite. There is one file per counterset, day
/// and host, with raw values. Exporting again adds only samples that are new. Views compute formatted values from raw
/// values. The page docs/parquet.md describes both.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::LOG_EXPORT)]
pub struct LogExportArgs {
    /// Logs to export, - is standard input; with --views, the directory or address of exported files [default: .]
    #[arg(required_unless_present = "views", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format of the exported files
    #[arg(long, value_enum, value_name = "FORMAT", required_unless_present = "views", requires = "output")]
    pub to: Option<ExportFormat>,
    /// Print SQL views of formatted values, for this engine
    #[arg(long, value_enum, value_name = "ENGINE", conflicts_with_all = ["to", "machine"])]
    pub views: Option<ViewEngine>,
    /// Machine to export, if the logs contain several [default: all of them]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Directory for the files of all hosts, or s3://, az:// or gs://; with --views, the file for the views
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file of views
    #[arg(long, conflicts_with = "to")]
    pub force: bool,
}

/// Format of exported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Files for SQL engines and data frames
    Parquet,
}

/// Engine whose SQL dialect views are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ViewEngine {
    /// Views for the engine DuckDB
    #[value(name = "duckdb")]
    DuckDb,
    /// Views for the engines Spark and Sail
    Spark,
    /// Views for the engines ClickHouse and chDB
    #[value(name = "clickhouse")]
    ClickHouse,
    /// Views for the engine DataFusion
    #[value(name = "datafusion")]
    DataFusion,
}
