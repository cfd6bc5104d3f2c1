//! Options of `perfset get`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use perfset::output::ValueFilter;

use super::{LogFiles, LogWindow, interval};
use crate::examples;

/// Show values of counter paths
///
/// A path is '\Counterset(instance)\Counter', or the same with forward slashes. In the instance, * and ? are
/// wildcards, {a,b} is one of several, !name all others, name#1 the second of that name. The short name cpu stands for
/// the processors' % Processor Time, @name for the paths of that name in the settings file. The last operands may be an
/// interval in seconds and a count, as in vmstat.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::GET)]
pub struct GetArgs {
    /// Counter paths, then the interval in seconds, then the number of samples
    #[arg(required_unless_present = "paths_from", value_name = "PATH... [INTERVAL [COUNT]]")]
    pub operands: Vec<String>,
    /// File with more counter paths, one per line; lines that begin with # are comments
    ///
    /// The name - is standard input.
    #[arg(long, short = 'f', value_name = "FILE")]
    pub paths_from: Vec<PathBuf>,
    /// Format in which the values are printed
    #[arg(long, value_enum, default_value = "table")]
    pub format: GetFormat,
    /// Write into this file, which is replaced as a whole by each sample; only with --format prometheus
    #[cfg(feature = "serve")]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write one CSV line or JSON object per time and instance, with all its counters
    #[arg(long)]
    pub wide: bool,
    /// Show raw values instead of formatted ones, without waiting for a second sample
    #[arg(long)]
    pub raw: bool,
    /// Show short numbers with prefixes, such as 23.7 MiB [default on a terminal]
    #[arg(long, conflicts_with = "exact")]
    pub human: bool,
    /// Show numbers with all their digits [default in a pipe]
    #[arg(long)]
    pub exact: bool,
    /// Time until the second sample that a rate needs [default: the interval, or 1s]
    #[arg(long, value_parser = interval, value_name = "TIME")]
    pub warmup: Option<Duration>,
    /// Show only what matches a condition, such as '>5' or 'Working Set>=1e9'
    ///
    /// The signs are >, >=, <, <=, = and !=. A condition that begins with a counter selects instances by their value of
    /// that counter; a unique part of its name is enough. Any other condition selects single values. If this option is
    /// given several times, all conditions must hold.
    #[arg(long = "where", value_name = "CONDITION", value_parser = ValueFilter::parse)]
    pub filters: Vec<ValueFilter>,
    /// Show only the N instances with the greatest values
    ///
    /// In tables and with --wide, the first counter decides, or the one of --sort. In other formats, the N greatest
    /// values of each counter are shown. _Total and Idle are left out if there are other instances.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Sort instances by this counter, the greatest value first, or by 'instance' [default: the first counter]
    ///
    /// A unique part of the counter's name is enough. Works in tables and with --wide.
    #[arg(long, value_name = "COUNTER")]
    pub sort: Option<String>,
    /// Include counters that Linux does not have or that are expensive to read, if a pattern selects them
    #[arg(long)]
    pub all: bool,
    /// Print statistics of each counter of each instance at the end: minimum, mean, percentiles, maximum
    #[arg(long)]
    pub summary: bool,
    /// Exit with code 1 if a value is missing
    #[arg(long)]
    pub strict: bool,
    /// Wait until all counters and instances exist, instead of failing
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub files: LogFiles,
    #[command(flatten)]
    pub window: LogWindow,
}

/// Output format of `get`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Table for users
    #[default]
    Table,
    /// One line per value, with a header
    Csv,
    /// One JSON object per value, each on its own line
    Json,
    /// Format of perfmon and relog: a line per sample, a column per path, times in UTC
    PdhCsv,
    /// InfluxDB's line protocol: a line per time and instance, a field per counter
    Influx,
}

/// Output format of `get`: formatted values, or the metrics of an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetFormat {
    Values(OutputFormat),
    #[cfg(feature = "serve")]
    Prometheus,
}

impl GetFormat {
    /// Returns the format of values; `None` if it is one of metrics.
    pub fn of_values(self) -> Option<OutputFormat> {
        match self {
            Self::Values(format) => Some(format),
            #[cfg(feature = "serve")]
            Self::Prometheus => None,
        }
    }
}

impl ValueEnum for GetFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Values(OutputFormat::Table),
            Self::Values(OutputFormat::Csv),
            Self::Values(OutputFormat::Json),
            Self::Values(OutputFormat::PdhCsv),
            Self::Values(OutputFormat::Influx),
            #[cfg(feature = "serve")]
            Self::Prometheus,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Values(format) => format.to_possible_value(),
            #[cfg(feature = "serve")]
            Self::Prometheus => {
                let help = "Raw values as metrics, as node_exporter's textfile collector reads them";
                Some(PossibleValue::new("prometheus").help(help))
            }
        }
    }
}
