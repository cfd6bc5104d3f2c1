//! The options of `perfset serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use perfset_export::ExportOptions;
use perfset_web::Limits;

use super::record::bytes;
use super::{LogWindow, ProcessArgs, interval};
use crate::examples;

/// Show this machine's counters in the browser, and serve them to programs
///
/// Serves a page with live charts, a JSON API and streams, to this machine only unless --listen is given. All clients
/// share one collection. Ctrl+C or SIGTERM ends the server. With --log it shows a recording or another log.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{}\n\n{}", examples::SERVE, limits()))]
pub struct ServeArgs {
    /// Address to listen on; can be given several times [default: 127.0.0.1:9182]
    ///
    /// There is no TLS: beyond loopback the token and all values cross the network in clear text. Use `ssh -L`, or a
    /// proxy with TLS.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// Show a recording or another log instead of this machine
    ///
    /// The page shows the last hour of the log, or the time from --begin to --end; programs can ask for any time. What
    /// a recorder writes meanwhile is shown too, unless --end is given. There are no metrics. If other users may not
    /// read the log, a token is required.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "profile", "prefix", "series_max"])]
    pub log: Vec<PathBuf>,
    /// Machine to show, if the log contains several
    #[arg(long, value_name = "NAME", requires = "log")]
    pub machine: Option<String>,
    #[command(flatten)]
    pub window: LogWindow,
    /// Directory of a recording of this machine, for the past [default: this user's, if clients need a token]
    ///
    /// The page then has the past of every recorded counter, also of the time before the server started. If other users
    /// may not read it, a token is required.
    #[arg(long, value_name = "DIR", conflicts_with = "log", help_heading = "Past")]
    pub recording: Option<PathBuf>,
    /// Record while the server runs, unless a recorder runs in the directory already
    #[arg(long, conflicts_with = "log", help_heading = "Past")]
    pub record: bool,
    /// Keep at most this size or time of the recording: 500MB, 7d; give it twice for both [default: 1GB]
    #[arg(long, value_name = "LIMIT", requires = "record", help_heading = "Past")]
    pub keep: Vec<String>,
    /// Show another log too, for the list in the page; can be given several times
    ///
    /// The page and programs choose one of the logs, or the machine. If other users may not read the log, a token is
    /// required.
    #[arg(long, value_name = "FILE", help_heading = "Logs")]
    pub compare: Vec<PathBuf>,
    /// Take logs that are dropped onto the page, of at most this size together: 64MB, 500MB; 0 takes none
    ///
    /// The default is 64MB, and 0 if the server listens beyond loopback. Only the browser that has sent a log sees it.
    /// It is removed after an hour without use, and when the server ends.
    #[arg(long, value_name = "SIZE", value_parser = upload_max, help_heading = "Logs")]
    pub upload_max: Option<u64>,
    /// Interval between two samples; of a log, the least one
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Time span of the history that the page shows, such as 30m [default: 1h]
    ///
    /// The history has at most 3,600 samples. If they span less than 1h, the default is their span.
    #[arg(long, value_name = "TIME", value_parser = history)]
    pub history: Option<Duration>,
    /// File with the counter paths for /metrics, one per line
    ///
    /// The default is a selection from processors, memory, disks, networks and others.
    #[arg(long, value_name = "FILE", help_heading = "Metrics")]
    pub query: Option<PathBuf>,
    /// Naming scheme of metrics
    ///
    /// Several schemes are separated by commas, or the option is given several times: each counter then has its name in
    /// each scheme, and the default counters are those of all schemes.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "perf", help_heading = "Metrics")]
    pub profile: Vec<ProfileName>,
    /// Prefix of metric names that are made from counter names [default: perf]
    #[arg(long, value_name = "PREFIX", help_heading = "Metrics")]
    pub prefix: Option<String>,
    /// Maximum number of lines with values in /metrics
    ///
    /// If there are more, the largest countersets are left out first. The response reports it.
    #[arg(long, value_name = "N", default_value_t = ExportOptions::SERIES_MAX, help_heading = "Metrics")]
    pub series_max: usize,
    /// Additional host name under which clients reach the server
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Require the token in this file, which no other user may open
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub token_file: Option<PathBuf>,
    /// Require no token, even if other machines can connect or the server is privileged
    #[arg(long)]
    pub insecure: bool,
    /// Include counters published by other users, if readable
    ///
    /// Their instance names start with the user ID. Root, and members of the group of /run/perfset, see them without
    /// this option. From all other users together, at most 64 MiB and 100,000 instances are read, divided among the
    /// users. Omitted instances are reported.
    #[cfg_attr(feature = "publish", arg(long, conflicts_with = "log"))]
    #[cfg_attr(not(feature = "publish"), arg(skip))]
    pub all_users: bool,
    #[command(flatten)]
    pub processes: ProcessArgs,
}

/// Help text with the limits of the server for its clients.
fn limits() -> String {
    let limits = Limits::default();
    let Limits { connections, strangers, first_time, streams, series, values, .. } = limits;
    let reserved = connections.saturating_sub(strangers);
    format!(
        "Limits:\n  {connections} connections. If a token is required, {reserved} of them are for clients with it;\n  \
         others have {strangers}, for {} s each. {streams} streams. A history of {values}\n  samples of {series} \
         series. Clients that do not read are cut off when {} MiB\n  wait for \
         them; scrapes have {} MiB more.",
        first_time.as_secs(),
        limits.unread >> 20,
        limits.unread_scrapes >> 20,
    )
}

/// Naming schemes of metrics.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProfileName {
    /// Names made from those of counterset and counter
    Perf,
    /// Names of windows_exporter where it has the same metric, for its dashboards
    #[value(name = "windows_exporter")]
    WindowsExporter,
    /// Names of node_exporter where it has the same metric, for its dashboards
    #[value(name = "node_exporter")]
    NodeExporter,
}

impl From<ProfileName> for perfset_export::Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Perf => Self::Perf,
            ProfileName::WindowsExporter => Self::WindowsExporter,
            ProfileName::NodeExporter => Self::NodeExporter,
        }
    }
}

/// Parses the size of logs that clients may send.
fn upload_max(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        _ => bytes(text)
            .ok_or_else(|| "a size between 1MB and 1000000TB is expected, like 64MB, or 0".to_owned()),
    }
}

/// Parses a time span: as an interval, or in minutes or hours.
fn history(text: &str) -> Result<Duration, String> {
    let (number, seconds) = match (text.strip_suffix('h'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 3_600.0),
        (None, Some(number)) => (number, 60.0),
        (None, None) => return interval(text),
    };
    match number.parse::<f64>().map(|number| number * seconds) {
        // The range also refuses NaN and infinity, which `parse` accepts.
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a time up to a day is expected, like 1h, 30m or 90s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_said() {
        let text = limits();
        for limit in [
            "512 connections",
            "448 of them",
            "others have 64, for 10 s",
            "256 streams",
            "3600",
            "32 MiB",
            "16 MiB",
        ] {
            assert!(text.contains(limit), "{limit}: {text}");
        }
    }

    #[test]
    fn sizes_of_uploads() {
        for (text, want) in [("0", Some(0)), ("64MB", Some(64_000_000)), ("1GiB", Some(1 << 30))] {
            assert_eq!(upload_max(text).ok(), want, "{text}");
        }
        for bad in ["", "64", "1kB", "-1MB", "7d", "NaNMB"] {
            assert!(upload_max(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn histories() {
        for (text, s) in
            [("1h", Some(3600)), ("0.5h", Some(1800)), ("30m", Some(1800)), ("90s", Some(90)), ("7", Some(7))]
        {
            assert_eq!(history(text).ok(), s.map(Duration::from_secs), "{text}");
        }
        for bad in ["", "h", "25h", "-1m", "1d", "NaNh"] {
            assert!(history(bad).is_err(), "{bad}");
        }
    }
}
