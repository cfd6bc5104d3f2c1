//! The options of `perfset serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use perfset_web::Limits;

use super::{ProcessArgs, interval};
use crate::examples;

/// Show this machine's counters in the browser, and give them to programs
///
/// A page with live charts, a JSON API and streams, on this machine alone unless --listen says otherwise. All readers
/// share one collection. Ends with Ctrl+C or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_long_help = format!("{}\n\n{}", examples::SERVE, limits()))]
pub struct ServeArgs {
    /// Where to listen; given several times, at each [default: 127.0.0.1:9182]
    ///
    /// There is no TLS: beyond loopback the token and all values cross the network in clear text. Use `ssh -L`, or a
    /// proxy with TLS.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// The time between two samples
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Time span of the history that the page shows, such as 30m or 1h; at most 3,600 samples [default: 1h, or the
    /// span of 3,600 samples if that is shorter]
    #[arg(long, value_name = "TIME", value_parser = history)]
    pub history: Option<Duration>,
    /// The counters that /metrics gives, a path a line [default: those of processors, memory, disks, networks, ...]
    #[arg(long, value_name = "FILE", help_heading = "Metrics")]
    pub query: Option<PathBuf>,
    /// Which names metrics have
    #[arg(long, value_enum, default_value = "perf", help_heading = "Metrics")]
    pub profile: ProfileName,
    /// What names of metrics begin with that are made of those of counters [default: perf]
    #[arg(long, value_name = "PREFIX", help_heading = "Metrics")]
    pub prefix: Option<String>,
    /// How many lines with values /metrics has at most: large countersets give way first, and it says so
    #[arg(long, value_name = "N", default_value_t = perfset_export::Options::SERIES_MAX, help_heading = "Metrics")]
    pub series_max: usize,
    /// Another name under which readers know the server
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Ask readers for the token in this file, which nobody else may open
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub token_file: Option<PathBuf>,
    /// Ask nobody for a token, whoever can reach the server and whatever it can read
    #[arg(long)]
    pub insecure: bool,
    /// Also what programs of other users publish, as far as their files may be read; their number stands before names.
    /// Root, and members of the group of /run/perfset, see them without this option. Of files of other users, all of
    /// them together, at most 64 MiB and 100,000 instances are read, divided among the users; what is left out is
    /// reported
    #[arg(long)]
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
        "Limits:\n  {connections} connections. If a token is asked, {reserved} of them are for clients with it;\n  \
         others have {strangers}, for {} s each. {streams} streams. A history of {values}\n  samples of {series} \
         series. Clients that do not read are cut off when {} MiB\n  wait for \
         them; scrapes have {} MiB more.",
        first_time.as_secs(),
        limits.unread >> 20,
        limits.unread_scrapes >> 20,
    )
}

/// Which names metrics have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProfileName {
    /// Made of the names of counterset and counter
    Perf,
    /// Those of windows_exporter where it has the same, for its dashboards
    #[value(name = "windows_exporter")]
    WindowsExporter,
}

impl From<ProfileName> for perfset_export::Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Perf => Self::Perf,
            ProfileName::WindowsExporter => Self::WindowsExporter,
        }
    }
}

/// A stretch of time: as an interval, or in minutes or hours.
fn history(text: &str) -> Result<Duration, String> {
    let (number, seconds) = match (text.strip_suffix('h'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 3_600.0),
        (None, Some(number)) => (number, 60.0),
        (None, None) => return interval(text),
    };
    match number.parse::<f64>().map(|number| number * seconds) {
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
