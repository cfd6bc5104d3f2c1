//! Options of the screens.

use std::path::PathBuf;
use std::time::Duration;

use super::{ProcessArgs, live_interval};
use crate::terminal::ColorChoice;
use crate::when::InstantArg;

/// Returns the two usages of a screen: of now, and of an instant in a log. clap would write them as one, in which a log
/// takes an interval.
pub fn screen_usage(command: &str) -> String {
    format!("{command} [OPTIONS] [INTERVAL [COUNT]]\n       {command} [OPTIONS] --log <FILE> [--at <TIME>]")
}

/// Options of the overview and of the screens of its parts.
#[derive(Debug, clap::Args)]
pub struct ScreenArgs {
    /// Interval between two samples, in seconds or as 500ms
    #[arg(default_value = "1", value_parser = live_interval)]
    pub interval: Duration,
    /// Number of samples to show [default: until q or Ctrl+C]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Use of colours and other styles
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// Instant of a log that a screen shows instead of this machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Logs")]
pub struct PastArgs {
    /// Show a recording or another log instead of this machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interval", "count"])]
    pub log: Vec<PathBuf>,
    /// Machine to show, if the log contains several
    #[arg(long, value_name = "NAME", requires = "log")]
    pub machine: Option<String>,
    /// Instant to show: 14:03:07, '2026-11-22 10:30:00', -10m, 'mark deploy' [default: the last sample]
    ///
    /// A time of day is the last one that the log has. -10m is ten minutes before its end, and 'mark deploy' the last
    /// mark with that text. Times are local where the log was written; with Z, they are UTC. The sample is the last one
    /// at or before the instant.
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    pub at: Option<InstantArg>,
}

/// Options of the overview, and of screens that can show the past.
#[derive(Debug, clap::Args)]
pub struct PartArgs {
    #[command(flatten)]
    pub screen: ScreenArgs,
    #[command(flatten)]
    pub past: PastArgs,
}

/// Options of the screen of processors.
#[derive(Debug, clap::Args)]
pub struct ProcessorsArgs {
    #[command(flatten)]
    pub part: PartArgs,
    /// Show the full names of counters instead of short ones
    #[arg(long)]
    pub full_names: bool,
}
