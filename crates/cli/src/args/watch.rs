//! Arguments of `perfset watch`.

use std::ffi::OsString;
use std::time::Duration;

use super::{LogFiles, LogWindow, interval};
use crate::examples;

/// Watch counters, and report when values pass a limit
///
/// Prints a line when the condition of an instance begins, and when it ends. Each instance of a wildcard counts by
/// itself. A missing counter or instance counts as unknown, not as OK.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::WATCH)]
#[command(group = clap::ArgGroup::new("limit").required(true).args(["above", "below"]))]
pub struct WatchArgs {
    /// Counter paths, then the interval in seconds [default: 1], then the number of samples
    #[arg(required = true, value_name = "PATH... [INTERVAL [COUNT]]")]
    pub operands: Vec<String>,
    /// Report values greater than this number
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub above: Option<f64>,
    /// Report values smaller than this number
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub below: Option<f64>,
    /// Report only after N samples in a row
    #[arg(long = "for", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: u32,
    /// End at the first report with exit code 6
    ///
    /// Without a report, the exit code is 0 after all samples, or 1 if a value was unknown in any of them.
    #[arg(long)]
    pub exit_code: bool,
    /// Print one JSON object per report, each on its own line
    #[arg(long)]
    pub json: bool,
    /// Time until the second sample that a rate needs [default: the interval]
    #[arg(long, value_parser = interval, value_name = "TIME", conflicts_with = "log")]
    pub warmup: Option<Duration>,
    /// Start a program each time a condition begins; must be the last option
    ///
    /// All words after --run are the program and its arguments. It is started without a shell, once each time and
    /// never twice at once. The environment has PERFSET_PATH, PERFSET_INSTANCE, PERFSET_VALUE and others.
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_names = ["PROGRAM", "ARGUMENT"])]
    pub run: Vec<OsString>,
    #[command(flatten)]
    pub files: LogFiles,
    #[command(flatten)]
    pub window: LogWindow,
}

/// Parses the number of a limit.
fn number(text: &str) -> Result<f64, String> {
    // NaN and infinity are no limits, though `parse` accepts them.
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| "a number is expected".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::args::{Args, Command};

    fn parsed(words: &[&str]) -> Result<WatchArgs, String> {
        let all = ["perfset", "watch"].iter().chain(words);
        match Args::try_parse_from(all).map_err(|error| error.to_string())?.command {
            Some(Command::Watch(args)) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn everything_after_run_is_the_program() {
        for (words, want) in [
            (&["cpu", "--above", "1", "--run", "logger", "-t", "x"][..], &["logger", "-t", "x"][..]),
            (&["cpu", "1", "--above", "1", "--run", "a", "--below", "5"], &["a", "--below", "5"]),
            (&["cpu", "--above", "1", "--run", "a", "--", "b", "--run"], &["a", "--", "b", "--run"]),
            (&["cpu", "--above", "1"], &[]),
        ] {
            let args = parsed(words).unwrap();
            assert_eq!(args.run, want, "{words:?}");
            assert_eq!((args.above, args.below), (Some(1.0), None), "{words:?}");
        }
    }

    #[test]
    fn limits_are_numbers() {
        for (text, want) in [("90", Some(90.0)), ("-0.5", Some(-0.5)), ("1e9", Some(1e9))] {
            assert_eq!(parsed(&["cpu", "--below", text]).unwrap().below, want);
        }
        for bad in ["", "x", "NaN", "inf", "90%"] {
            assert!(parsed(&["cpu", "--below", bad]).is_err(), "{bad}");
        }
        assert!(parsed(&["cpu"]).is_err(), "without a limit");
        assert!(parsed(&["cpu", "--above", "1", "--below", "1"]).is_err(), "two limits");
        assert!(parsed(&["cpu", "--above", "1", "--for", "0"]).is_err(), "no sample");
    }
}
