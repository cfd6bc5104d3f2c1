//! Log that a server shows instead of a machine.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use perfset::clock::UNIX_EPOCH_100NS;
use perfset::log::Logs;
use perfset::log::recording::{Recording, RecordingAbout};
use perfset::{SourceError, Window};

use crate::limits::Limits;

/// Function that returns the time, in 100 ns since 1601 UTC, that a text names in logs: a time of day, `-10m`, a
/// mark.
///
/// # Errors
/// If the text means no time in these logs.
pub type InstantParser = Arc<dyn Fn(&Logs, &str) -> Result<i64, String> + Send + Sync>;

/// Log that a server shows instead of a machine.
#[derive(Clone)]
pub struct ServedLog {
    /// Opened log that the server shows, not limited to the window.
    pub logs: Logs,
    /// Files or directory of the served log, to be opened again when it has grown.
    pub files: Vec<PathBuf>,
    /// Window of time whose samples are shown. Without an end, samples that are written later are shown, too.
    pub window: Window,
    /// Parser for times in requests that are texts, and no number of milliseconds.
    pub parse_instant: InstantParser,
}

impl fmt::Debug for ServedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedLog").field("files", &self.files).field("window", &self.window).finish()
    }
}

/// Times of a served log's samples, with the interval and the history that clients see.
#[derive(Clone, Debug)]
pub(crate) struct LogSpan {
    /// Times of the log's samples in the window, in 100 ns since 1601 UTC, ascending.
    pub times: Vec<i64>,
    /// Minimum time between two samples of the log that a stream sends.
    pub interval: Duration,
    /// Length of the time before the newest sample of the log that the page shows.
    pub history: Duration,
    /// Usual time between two recorded samples of the log.
    pub recorded: Duration,
}

impl ServedLog {
    /// Returns the times of the served log's samples, and their interval and history for clients. A stream has at
    /// most [`Limits::values`] samples, so the interval grows with the history.
    pub(crate) fn span(&self, interval: Duration, limits: &Limits) -> Result<LogSpan, SourceError> {
        let mut times = self.logs.times()?;
        times.retain(|time| self.window.contains(*time));
        // A clock that was set back has some times twice; a stream has each once.
        times.sort_unstable();
        times.dedup();
        let (first, last) = times
            .first()
            .zip(times.last())
            .ok_or_else(|| SourceError::Failed("the log has no sample in the time to show".into()))?;
        let whole = duration(last.saturating_sub(*first));
        let history = match (self.window.begin, limits.history) {
            (Some(_), None) => whole,
            (_, history) => history.unwrap_or(Duration::from_secs(3_600)).min(whole),
        };
        let recorded = self.recorded_interval(whole, times.len());
        let most = u32::try_from(limits.values.max(1)).unwrap_or(u32::MAX);
        let needed = history.checked_div(most).unwrap_or_default();
        let mut interval = interval.max(recorded);
        if interval < needed {
            // A multiple of the recorded interval, so that all of them are equally long.
            let step = recorded.max(Duration::from_millis(1));
            let steps = needed.as_nanos().div_ceil(step.as_nanos().max(1));
            interval = step.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX));
        }
        let history = history.max(interval);
        Ok(LogSpan { times, interval, history, recorded })
    }

    /// Returns the interval of the recorder that wrote the log; if it is unknown, the mean time between two samples.
    fn recorded_interval(&self, whole: Duration, samples: usize) -> Duration {
        let about = self.logs.recording().and_then(Recording::about);
        let stored = about.and_then(|about| about.get(RecordingAbout::INTERVAL_MS)?.parse().ok());
        let between = u32::try_from(samples.saturating_sub(1)).unwrap_or(u32::MAX);
        stored.filter(|ms| *ms > 0).map_or_else(
            || whole.checked_div(between).unwrap_or(Duration::from_secs(1)),
            Duration::from_millis,
        )
    }

    /// Returns the name of the served log: that of its first file, or of its directory.
    pub(crate) fn name(&self) -> String {
        let name = self.files.first().and_then(|file| file.file_name());
        let name = name.map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.logs.machine_name().to_owned())
    }

    /// Returns the name of the machine that the log recorded, and its operating system if it is known.
    pub(crate) fn machine(&self) -> (String, String) {
        let about = self.logs.recording().and_then(Recording::about);
        let system = about.and_then(|about| about.get(RecordingAbout::SYSTEM)).unwrap_or_default();
        (self.logs.machine_name().to_owned(), system.to_owned())
    }
}

/// Converts a number of 100 ns to a duration; negative numbers become zero.
pub(crate) fn duration(time_100ns: i64) -> Duration {
    Duration::from_nanos(u64::try_from(time_100ns).unwrap_or(0).saturating_mul(100))
}

/// Converts a duration to a number of 100 ns.
pub(crate) fn in_100ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_euclid(100)).unwrap_or(i64::MAX)
}

/// Converts a time from 100 ns since 1601 UTC to milliseconds since 1970.
pub(crate) fn to_unix_ms(time: i64) -> i64 {
    time.saturating_sub(UNIX_EPOCH_100NS).div_euclid(10_000)
}

/// Converts a time from milliseconds since 1970 to 100 ns since 1601 UTC.
pub(crate) fn from_unix_ms(ms: i64) -> i64 {
    ms.saturating_mul(10_000).saturating_add(UNIX_EPOCH_100NS)
}
