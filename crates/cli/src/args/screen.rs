//! Options of the screens.

use std::time::Duration;

use super::{ProcessArgs, live_interval};
use crate::terminal::ColorChoice;

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

/// Options of the screen of processors.
#[derive(Debug, clap::Args)]
pub struct ProcessorsArgs {
    #[command(flatten)]
    pub screen: ScreenArgs,
    /// Show the full names of counters instead of short ones
    #[arg(long)]
    pub full_names: bool,
}
