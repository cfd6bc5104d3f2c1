//! Arguments of `perfset record` and `perfset mark`.

use std::path::PathBuf;
use std::time::Duration;

use super::{ProcessArgs, interval};
use crate::examples;

/// Record counters, to look back at them with any command
///
/// Without paths, every counterset is recorded except for expensive counters, each second. The directory keeps the
/// newest gigabyte. What was written survives the end of the recorder, however it ends.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::RECORD)]
pub struct RecordArgs {
    /// Counter paths [default: everything], then the interval in seconds [default: 1], then the number of samples
    #[arg(value_name = "PATH... [INTERVAL [COUNT]]")]
    pub operands: Vec<String>,
    /// Directory to record into [default: that of this user and machine]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Record into one new file, with all help texts, to send to another person
    #[arg(long, short, value_name = "FILE")]
    #[arg(conflicts_with_all = ["dir", "export", "keep", "min_free", "status", "stop"])]
    pub output: Option<PathBuf>,
    /// Keep at most this size or time: 500MB, 2GB, 36h, 7d; give it twice for both [default: 1GB]
    #[arg(long, value_name = "LIMIT", value_parser = keep)]
    pub keep: Vec<Keep>,
    /// Remove the oldest files when less of the disk is free
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_free: Option<f64>,
    /// Longest time whose samples a loss of power can cost; never leaves it to the system
    #[arg(long, value_name = "TIME", value_parser = sync, default_value = "10s")]
    pub sync: Sync,
    /// Record a counterset or path at another interval: --every 10s=CGroup
    #[arg(long, value_name = "TIME=COUNTERSET", value_parser = every)]
    pub every: Vec<Every>,
    /// Most CPU time, in percent of one processor; never sets no limit
    ///
    /// If a minute costs more, the counterset that takes longest is read half as often, which the recording says. After
    /// ten minutes at less than half of the budget, it is read as often as before.
    #[arg(long, value_name = "PERCENT", value_parser = cpu, default_value = "1%")]
    pub cpu: CpuShare,
    /// Record expensive counters too
    #[arg(long)]
    pub all: bool,
    /// Record the command lines of other users' processes too, which can contain secrets
    ///
    /// Without it, those of this user's processes are recorded, and for root those of all; into a file, none.
    #[arg(long)]
    pub with_command_lines: bool,
    /// Export new samples to Parquet files each hour and at the end: a directory, or s3://, az:// or gs://
    ///
    /// The files are those of perfset log export --to parquet. If an export fails, it is tried again, and no sample is
    /// late.
    #[arg(long, value_name = "DIR|URL", conflicts_with_all = ["status", "stop"])]
    pub export: Option<PathBuf>,
    /// Text that is stored with the recording
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Show the recorder of the directory, and what it has written
    ///
    /// The exit code is 0 if a recorder runs, and 3 if none does.
    #[arg(long, conflicts_with_all = ["operands", "stop"])]
    pub status: bool,
    /// End the recorder of the directory
    #[arg(long, conflicts_with = "operands")]
    pub stop: bool,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// Write an annotation into a recording, such as the start of a deployment
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::MARK)]
pub struct MarkArgs {
    /// Text of the annotation
    pub text: String,
    /// Directory of the recording [default: that of this user and machine]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Limit of a directory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// Maximum size of all files.
    Bytes(u64),
    /// Maximum age of a file.
    Age(Duration),
}

/// Longest time between two synchronizations with the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sync(pub Option<Duration>);

/// CPU time in percent of one processor; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShare(pub Option<f64>);

/// Interval of a counterset or path.
#[derive(Clone, Debug, PartialEq)]
pub struct Every {
    pub interval: Duration,
    /// Counterset or path, as the user wrote it.
    pub what: String,
}

fn keep(text: &str) -> Result<Keep, String> {
    let wrong = || "a size or a time is expected, like 500MB, 2GB, 36h or 7d".to_owned();
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    match unit {
        "m" => age(number * 60.0),
        "h" => age(number * 3_600.0),
        "d" => age(number * 86_400.0),
        _ if factor(unit).is_none() => Err(wrong()),
        _ => {
            let bytes = bytes(text).ok_or("a size between 1MB and 1000000TB is expected")?;
            Ok(Keep::Bytes(bytes))
        }
    }
}

/// Parses a size from 1 MB to a million TB, such as `500MB`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let bytes = number * factor(unit)?;
    #[expect(clippy::as_conversions, reason = "the range was checked")]
    (1e6..=1e18).contains(&bytes).then_some(bytes as u64)
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at_checked(split)?;
    Some((number.parse().ok()?, unit))
}

/// Returns the number of bytes of a unit of sizes.
fn factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    })
}

fn age(seconds: f64) -> Result<Keep, String> {
    if !(60.0..=1e10).contains(&seconds) {
        return Err("a time of at least 1m is expected".to_owned());
    }
    Ok(Keep::Age(Duration::from_secs_f64(seconds)))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let is_percentage = |percent: &f64| (0.0..100.0).contains(percent);
    number.filter(is_percentage).ok_or_else(|| "a percentage below 100 is expected, like 5%".to_owned())
}

fn cpu(text: &str) -> Result<CpuShare, String> {
    let number = || text.strip_suffix('%').unwrap_or(text).parse().ok();
    let is_share = |percent: &f64| *percent > 0.0 && *percent <= 100_000.0;
    match text {
        "never" => Ok(CpuShare(None)),
        _ => match number().filter(is_share) {
            Some(share) => Ok(CpuShare(Some(share))),
            None => Err("a percentage above 0 is expected, like 1% or 0.5%, or never".to_owned()),
        },
    }
}

fn sync(text: &str) -> Result<Sync, String> {
    if text == "never" { Ok(Sync(None)) } else { interval(text).map(|time| Sync(Some(time))) }
}

fn every(text: &str) -> Result<Every, String> {
    let (time, what) = text.split_once('=').ok_or("TIME=COUNTERSET is expected, like 10s=CGroup")?;
    if what.is_empty() {
        return Err("a counterset or path is expected after =".to_owned());
    }
    Ok(Every { interval: interval(time)?, what: what.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        for (text, want) in [
            ("2GB", Keep::Bytes(2_000_000_000)),
            ("1.5MiB", Keep::Bytes(1_572_864)),
            ("36h", Keep::Age(Duration::from_secs(129_600))),
            ("7d", Keep::Age(Duration::from_secs(604_800))),
        ] {
            assert_eq!(keep(text), Ok(want), "{text}");
        }
        for bad in ["", "2", "GB", "-1GB", "1kB", "1e9GB", "NaNGB", "0d", "7y", "2gb"] {
            assert!(keep(bad).is_err(), "{bad}");
        }
        assert_eq!(sync("never"), Ok(Sync(None)));
        assert_eq!(percent("5%"), Ok(5.0));
        assert!(percent("100").is_err() && percent("x").is_err());
        assert_eq!(cpu("never"), Ok(CpuShare(None)));
        assert_eq!((cpu("0.5%"), cpu("150")), (Ok(CpuShare(Some(0.5))), Ok(CpuShare(Some(150.0)))));
        for bad in ["", "0", "-1%", "NaN", "inf", "1%%", "x"] {
            assert!(cpu(bad).is_err(), "{bad}");
        }
        assert!(every("10s").is_err() && every("=x").is_err() && every("10s=").is_err());
    }
}
