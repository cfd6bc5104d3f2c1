//! Registry of a server's logs by their ids: those that it was started with, and those that clients have uploaded.

use std::sync::Arc;

use axum::http::StatusCode;
use serde::Serialize;

use crate::access::LogOwner;
use crate::answer::ApiError;
use crate::logs::{LogJson, LogKind, NamedLog, no_such_log};
use crate::upload::{UploadJson, Uploads};

/// Logs of a server as clients see them, as JSON.
#[derive(Debug, Serialize)]
pub struct LogsJson {
    logs: Vec<LogJson>,
    /// Limits for uploaded logs; `None` if the server takes none.
    upload: Option<UploadJson>,
}

/// Registry of the logs that a server shows.
#[derive(Debug)]
pub struct LogRegistry {
    /// Logs with which the server was started.
    fixed: Vec<Arc<NamedLog>>,
    /// Logs that clients have uploaded; `None` if the server takes none.
    pub uploads: Option<Uploads>,
}

impl LogRegistry {
    pub fn new(fixed: Vec<Arc<NamedLog>>, uploads: Option<Uploads>) -> Self {
        Self { fixed, uploads }
    }

    /// Returns the recording of the server's machine, if there is one.
    pub fn recording(&self) -> Option<&Arc<NamedLog>> {
        self.fixed.iter().find(|log| log.kind == LogKind::Recording)
    }

    /// Finds an opened log that a client may read, by the id of the log.
    pub fn find(&self, id: &str, owner: LogOwner) -> Result<Arc<NamedLog>, ApiError> {
        if let Some(log) = self.fixed.iter().find(|log| log.id == id) {
            return Ok(Arc::clone(log));
        }
        match &self.uploads {
            Some(uploads) => uploads.opened(id, owner),
            None => Err(no_such_log(id)),
        }
    }

    /// Returns the logs that a client may read, and the uploads that it has begun.
    pub async fn list(&self, owner: LogOwner) -> LogsJson {
        let mut logs = Vec::new();
        for log in &self.fixed {
            logs.push(log.describe(None).await);
        }
        let Some(uploads) = &self.uploads else { return LogsJson { logs, upload: None } };
        logs.extend(uploads.list(owner).await);
        LogsJson { logs, upload: Some(uploads.to_json()) }
    }

    /// Returns the uploaded logs of the server.
    ///
    /// # Errors
    /// If the server takes no logs.
    pub fn uploads(&self) -> Result<&Uploads, ApiError> {
        let text = "this server takes no logs";
        self.uploads.as_ref().ok_or_else(|| {
            ApiError::new(StatusCode::FORBIDDEN, text).hint("perfset serve --upload-max 64MB takes some")
        })
    }
}
