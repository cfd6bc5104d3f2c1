//! Logs that a server shows beside its machine: each has a name, and a thread that handles its requests.

use std::thread::JoinHandle;
use std::time::Duration;

use axum::http::StatusCode;
use perfset_export::Exporter;
use serde::Serialize;
use tokio::time::timeout;

use crate::answer::ApiError;
use crate::error::ServeError;
use crate::limits::Limits;
use crate::log::{ServedLog, to_unix_ms};
use crate::overview::{Chart, charts_of_log};
use crate::sampler::{self, Handle, Sampler};
use crate::unread::UnreadBytes;

/// Maximum time for which the list of logs waits for a busy log; the list then has what was known before.
const LIST_PATIENCE: Duration = Duration::from_millis(300);

/// Machine or log that requests are about, and the thread that handles these requests.
#[derive(Clone, Debug)]
pub struct ShownSource {
    pub sampler: Handle,
    pub charts: Vec<Chart>,
    /// Name of the machine whose counters are shown, and its operating system.
    pub machine: String,
    pub system: String,
    pub interval_ms: u64,
    pub history_s: u64,
}

/// Origin of a log that the server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    /// Recording of the machine that the server shows.
    Recording,
    /// Log with which the server was started.
    Log,
    /// Log that a client has uploaded.
    Upload,
}

/// Log of the server with a name, which requests select by its id.
#[derive(Debug)]
pub struct NamedLog {
    pub id: String,
    pub name: String,
    pub kind: LogKind,
    pub shown: ShownSource,
    /// Machines whose counters the log contains; the first one that it names is shown.
    pub machines: Vec<String>,
    /// Times of the log's first and last sample in milliseconds since 1970, and the number of samples, when it was
    /// opened.
    pub span: ([i64; 2], u64),
    /// Number of damaged places that were found when the log was read to its end.
    pub damages: u64,
    /// `true` if a recorder may still write to the log.
    grows: bool,
}

/// Id, name and kind under which the server opens a log.
#[derive(Clone, Debug)]
pub struct LogLabel {
    pub id: String,
    pub name: String,
    pub kind: LogKind,
}

/// Description of a server's log for clients, as JSON.
#[derive(Debug, Serialize)]
pub struct LogJson {
    pub id: String,
    pub name: String,
    pub kind: LogKind,
    /// State of the log: `receiving`, `opening` or `open`.
    pub state: &'static str,
    /// Number of bytes of an uploaded log that have arrived; `None` for other logs.
    pub bytes: Option<u64>,
    pub machine: Option<String>,
    pub system: Option<String>,
    pub machines: Vec<String>,
    pub first: Option<i64>,
    pub last: Option<i64>,
    pub samples: Option<u64>,
    pub damages: Option<u64>,
}

impl NamedLog {
    /// Opens a log of the server: reads its times, and starts the thread that handles its requests. The thread ends
    /// when no handle is left.
    pub fn open(
        label: LogLabel,
        log: ServedLog,
        look: Duration,
        limits: Limits,
        unread: &UnreadBytes,
    ) -> Result<(Self, JoinHandle<()>), ServeError> {
        let failed = |error: perfset::SourceError| ServeError::Log(error.to_string());
        let span = log.span(look, &limits).map_err(failed)?;
        let ends = [span.times.first(), span.times.last()].map(|time| time.copied().map_or(0, to_unix_ms));
        let samples = u64::try_from(span.times.len()).unwrap_or(u64::MAX);
        // After the times, for which a log that is no recording is read to its end.
        let damages = log.logs.damages();
        let damages = damages.iter().map(perfset::log::Damages::count).fold(0, u64::saturating_add);
        let (machine, system) = log.machine();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (interval_ms, history_s) = (ms(span.interval), span.history.as_secs());
        let grows = log.window.end.is_none();
        let machines = log.logs.machines().iter().cloned().collect();
        let counters = log.logs.machine().clone();
        let charts = charts_of_log(&counters);
        let exporter = Exporter::open(counters.clone(), &[], perfset_export::ExportOptions::default())?;
        // Nothing of a log is collected all the time, so it has no charts to collect and no history of its own.
        let limits = Limits { history: None, ..limits };
        let source = (counters, Some((log, span)));
        let (sampler, thread) = sampler::start(source, exporter, Vec::new(), look, limits, unread.clone())
            .map_err(ServeError::Start)?;
        let shown = ShownSource { sampler, charts, machine, system, interval_ms, history_s };
        let LogLabel { id, name, kind } = label;
        Ok((Self { id, name, kind, shown, machines, span: (ends, samples), damages, grows }, thread))
    }

    /// Returns the times of the log's first and last sample, in milliseconds since 1970. A log that is busy has those
    /// that were known before.
    pub async fn ends(&self) -> [i64; 2] {
        let now = self.shown.sampler.ask(|sampler: &mut Sampler| sampler.log_limits_ms());
        match timeout(LIST_PATIENCE, now).await {
            Ok(Ok(Some(ends))) => ends,
            _ => self.span.0,
        }
    }

    /// Returns the description of the log, with the samples that were written since it was opened.
    pub async fn describe(&self, bytes: Option<u64>) -> LogJson {
        let (mut ends, mut samples) = self.span;
        if self.grows {
            let now = |sampler: &mut Sampler| (sampler.log_limits_ms(), sampler.state().samples);
            // A log that is busy or cannot be read at this moment takes nothing from the list.
            if let Ok(Ok((Some(of_now), count))) = timeout(LIST_PATIENCE, self.shown.sampler.ask(now)).await {
                (ends, samples) = (of_now, count);
            }
        }
        let [first, last] = ends.map(Some);
        LogJson {
            id: self.id.clone(),
            name: self.name.clone(),
            kind: self.kind,
            state: "open",
            bytes,
            machine: Some(self.shown.machine.clone()),
            system: Some(self.shown.system.clone()),
            machines: self.machines.clone(),
            first,
            last,
            samples: Some(samples),
            damages: Some(self.damages),
        }
    }

    /// Ends all event streams of the log with a reason, and its thread.
    pub fn end(&self, reason: &'static str) {
        self.shown.sampler.end(reason);
    }
}

/// Returns the error for an id that names no log, or no log of this client: both look the same from outside.
pub fn no_such_log(id: &str) -> ApiError {
    let text =
        format!("there is no log \"{}\": it was removed, or another login has sent it", id.escape_debug());
    ApiError::new(StatusCode::NOT_FOUND, text).hint("/api/v1/logs lists the logs")
}
