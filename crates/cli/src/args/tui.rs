//! Options of the interactive screens.

use std::path::PathBuf;
use std::time::Duration;

use super::{ProcessArgs, live_interval};
use crate::examples;
use crate::terminal::ColorChoice;
use crate::when::InstantArg;

/// Options of both interactive screens.
#[derive(Debug, clap::Args)]
pub struct TableScreenArgs {
    /// Table to begin with: process, cgroup, processor, disk, network, memory, one of the settings file, or any
    /// counterset by its name
    #[arg(short, long, value_name = "NAME")]
    pub counterset: Option<String>,
    /// Print each table as text instead of drawing it, for screen readers and pipes
    #[arg(long)]
    pub plain: bool,
    /// Use the mouse: a click selects a row, shows a tab or goes to a time of the strip, and the wheel moves
    ///
    /// While the mouse is used, the terminal selects text with Shift. The settings file can say mouse = true.
    #[arg(long)]
    pub mouse: bool,
    /// Use of colours and other styles
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
}

/// Go through tables of this machine, live and back in time
///
/// A table of any counterset, a strip of counters with their history, and all that is known about a cell. The last 15
/// minutes of the shown table stay, in at most 48 MB. The key ? lists the keys.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::TOP)]
pub struct TopArgs {
    /// Interval between two samples, in seconds or as 500ms
    #[arg(default_value = "2", value_parser = live_interval)]
    pub interval: Duration,
    /// Number of tables that --plain prints [default: until Ctrl+C]
    #[arg(value_parser = clap::value_parser!(u64).range(1..), requires = "plain")]
    pub count: Option<u64>,
    #[command(flatten)]
    pub screen: TableScreenArgs,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// Go through a recording or another log: tables of any counterset at any time
///
/// The keys are those of perfset top. The arrows step from sample to sample; g goes to a time or a mark, and w to the
/// next peak of a counter.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::VIEW)]
pub struct ViewArgs {
    /// Recording, .blg, CSV or other log; several logs are read as one
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Machine to show, if the log contains several
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Instant to begin with: 14:03:07, '2026-11-22 10:30:00', -10m, 'mark deploy' [default: the last sample]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<InstantArg>,
    /// Show only samples from this time on: '2026-11-22 10:30:00', 10:30, -10m, 'mark deploy'
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub begin: Option<InstantArg>,
    /// Show only samples up to this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub end: Option<InstantArg>,
    /// Compare with another log, or with another time of the same log, such as 13:00..13:10
    ///
    /// The table has the mean of each counter there ("was"), its mean in FILE, and the difference. Of processes, those
    /// of one name are added, because their ids differ after each start.
    #[arg(long, value_name = "FILE|BEGIN..END", allow_hyphen_values = true, conflicts_with = "at")]
    pub compare: Option<PathBuf>,
    #[command(flatten)]
    pub screen: TableScreenArgs,
}
