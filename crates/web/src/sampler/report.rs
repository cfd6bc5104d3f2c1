//! Reports about a part of a log that the server writes for one request.

use axum::http::StatusCode;
use bytes::Bytes;
use perfset::Window;
use perfset::clock::SystemTime;
use perfset::log::recording::{Recording, RecordingAbout};
use perfset::path::resolve;

use super::on_this_machine;
use super::past::{PastLog, READ_MOST, due};
use crate::answer::ApiError;
use crate::report::{ReportError, ReportOptions, report};
use crate::request::ReportRequest;
use crate::unread::UnreadBytes;

/// Maximum length of a machine's name in the file name of a report, in characters.
const NAME_MOST: usize = 60;

/// Report about a part of a log for a client that saves it as a file.
#[derive(Debug)]
pub struct SavedReport {
    pub html: Bytes,
    /// Name of the report's file: ASCII letters, digits, hyphens, underscores and points.
    pub file_name: String,
}

impl PastLog {
    /// Returns a report about a range of the log. Counters that the log does not have are named in it, with the
    /// reason.
    pub fn report(&self, request: &ReportRequest, unread: &UnreadBytes) -> Result<SavedReport, ApiError> {
        if unread.is_too_much() {
            return Err(ApiError::busy());
        }
        let due = due();
        let (from, to) = self.limits(&request.range)?;
        // Of a log that is shown in part, the rest is not shown here, too.
        let shown = self.served.window;
        let window = Window {
            begin: Some(shown.begin.map_or(from, |begin| begin.max(from))),
            end: Some(shown.end.map_or(to, |end| end.min(to))),
        };
        let mut machine = self.machine().clone();
        let (mut counters, mut missing) = (Vec::new(), Vec::new());
        for path in &request.paths {
            let known = on_this_machine(path).and_then(|()| Ok(resolve(&mut machine, path).map(drop)?));
            match known {
                Ok(()) => counters.push(path.clone()),
                Err(ApiError { error, hints, .. }) => {
                    let reason = std::iter::once(error).chain(hints).collect::<Vec<_>>().join("; ");
                    missing.push((path.to_string(), reason));
                }
            }
        }
        let logs = &self.served.logs;
        // The directories of the server are not for everybody who may see its values.
        let files = self.served.files.iter().filter_map(|file| file.file_name());
        let writer = logs.recording().and_then(Recording::about);
        let writer = writer.and_then(|about| about.get(RecordingAbout::WRITER));
        let options = ReportOptions {
            counters,
            missing,
            files: files.map(|name| name.to_string_lossy().into_owned()).collect(),
            about: writer.map(|writer| format!("recording of {writer}")).into_iter().collect(),
            machine: (logs.machines().len() > 1).then(|| logs.machine_name().to_owned()),
            due: Some(due),
            ..ReportOptions::default()
        };
        let report = report(logs, window, &options).map_err(|error| self.refused(error))?;
        Ok(SavedReport {
            html: unread.take(report.html)?,
            file_name: file_name(logs.machine_name(), window.end.unwrap_or(to)),
        })
    }

    /// Returns the error response for a report that cannot be written.
    fn refused(&self, error: ReportError) -> ApiError {
        match error {
            ReportError::NoSample => self.nothing(),
            ReportError::Path { error, .. } => error.into(),
            ReportError::Source(error) => error.into(),
            ReportError::TooLong => {
                let text =
                    format!("reading the log for a report takes longer than {} s", READ_MOST.as_secs());
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, text)
                    .hint("ask for a shorter time")
                    .hint("perfset report takes the time that it needs")
            }
            ReportError::NoRandom(_) => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
        }
    }
}

/// Returns the name of a report's file, whatever the name of the machine contains.
fn file_name(machine: &str, end: i64) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let machine = machine.chars().take(NAME_MOST).map(|c| if is_plain(c) { c } else { '_' });
    // A leading point would hide the file.
    let machine = machine.collect::<String>();
    let machine = Some(machine.trim_start_matches('.')).filter(|name| !name.is_empty()).unwrap_or("perfset");
    let SystemTime { year, month, day, hour, minute, second, .. } = SystemTime::from_100ns(end);
    format!("{machine}-{year:04}-{month:02}-{day:02}T{hour:02}{minute:02}{second:02}Z.html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        let time = 134_383_464_000_000_000; // 2026-11-05 10:00 UTC
        for (machine, want) in [
            ("web1.example", "web1.example"),
            ("", "perfset"),
            ("..", "perfset"),
            ("a\"; filename=x\r\nb/../\u{202e}c", "a___filename_x__b_..__c"),
            ("ä", "_"),
        ] {
            assert_eq!(file_name(machine, time), format!("{want}-2026-11-05T100000Z.html"), "{machine:?}");
        }
        assert!(file_name(&"x".repeat(1_000), time).len() < 90);
    }
}
