//! Options of `perfset report`.

use std::path::PathBuf;

use super::LogWindow;
use crate::examples;

/// Write a report about a part of a log: one HTML file, to be sent to somebody
///
/// The file has findings, charts that can be zoomed, tables of processes, disks and networks, and the commands that
/// lead on. It shows everything from disk without a network, in any browser.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::REPORT)]
pub struct ReportArgs {
    /// Counter paths with wildcards as in get; each counter gets a chart of its own
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Recording or other log; several logs are read as one
    ///
    /// A recording is a directory or a file of perfset record. Other logs are .blg, PDH-CSV, PDH-TSV, and perfset's
    /// CSV, JSON and SQLite.
    #[arg(long, value_name = "FILE", required = true, help_heading = "Logs")]
    pub log: Vec<PathBuf>,
    /// File to write; the name - is standard output
    ///
    /// Only its owner can read a new file.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Counter path whose counters get charts of their own, as PATH
    #[arg(long = "counter", short = 'c', value_name = "PATH")]
    pub counters: Vec<String>,
    /// Title of the report [default: the machine's name]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Machine to report about, if the log contains several
    #[arg(long, value_name = "NAME", help_heading = "Logs")]
    pub machine: Option<String>,
    #[command(flatten)]
    pub window: LogWindow,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}
