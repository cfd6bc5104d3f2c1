//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use perfset::v2::Format;

/// Performance counters of this machine, with the names that Windows gives them.
///
/// Without a command it shows the processors, live: in place on a terminal, as blocks of lines in a pipe.
#[derive(Debug, Parser)]
#[command(name = "perfset", version, after_help = crate::exit::HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub live: LiveArgs,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    List(ListArgs),
    Dump(DumpArgs),
}

/// The live screen.
#[derive(Debug, clap::Args)]
pub struct LiveArgs {
    /// Seconds between two collections; 500ms works too
    #[arg(default_value = "1", value_parser = interval)]
    pub interval: Duration,
    /// How many tables to show [default: until Ctrl+C]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Show the counters' own names instead of short ones
    #[arg(long)]
    pub full_names: bool,
}

/// List the countersets of this machine
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only those whose name contains this; * and ? match as in instance names
    pub filter: Option<String>,
}

/// Show a PerfLib V2 block as text, field by field with offsets
///
/// Broken rules that a reader may forgive stand where they are met, with "!".
#[derive(Debug, clap::Args)]
pub struct DumpArgs {
    /// The file; - is standard input
    pub file: PathBuf,
    /// What the bytes are
    #[arg(long = "as", value_enum, default_value = "data", value_name = "FORMAT")]
    pub format: FormatName,
    /// Refuse blocks that break a rule for writers
    #[arg(long)]
    pub strict: bool,
}

/// The formats by the names of their first structures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormatName {
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

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Data => Self::Data,
            FormatName::Identifiers => Self::Identifiers,
            FormatName::Identities => Self::Identities,
            FormatName::Instances => Self::Instances,
            FormatName::Registration => Self::Registration,
            FormatName::Strings => Self::Strings,
        }
    }
}

/// Seconds, with or without a unit: `1`, `0.5`, `2s`, `250ms`.
fn interval(text: &str) -> Result<Duration, String> {
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
    use clap::CommandFactory;

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
