//! Answers: JSON, and problems as JSON.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use perfset::SourceError;
use perfset::path::BindError;
use serde::Serialize;

/// Why a request gets nothing: a status, a sentence, and what to try next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// The sentence, without a point.
    pub error: String,
    /// What to try next.
    pub hints: Vec<String>,
}

/// A problem as its reader gets it.
#[derive(Serialize)]
struct Told<'a> {
    error: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hints: &'a [String],
}

impl Problem {
    /// A problem without a hint.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), hints: Vec::new() }
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The server has more to do than it can.
    pub fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy").hint("try again in a second")
    }

    /// The text that its reader gets.
    pub fn to_json(&self) -> String {
        to_json(&Told { error: &self.error, hints: &self.hints })
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut answer = json(self.to_json());
        *answer.status_mut() = self.status;
        let header = match self.status {
            StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Some((RETRY_AFTER, HeaderValue::from_static("2")))
            }
            _ => None,
        };
        if let Some((name, value)) = header {
            answer.headers_mut().insert(name, value);
        }
        answer
    }
}

impl From<BindError> for Problem {
    fn from(error: BindError) -> Self {
        let nearest = |near: &[String]| (!near.is_empty()).then(|| format!("nearest: {}", near.join(", ")));
        let (status, hint) = match &error {
            BindError::NoCounterset { nearest: near, .. } => (StatusCode::NOT_FOUND, nearest(near)),
            BindError::NoCounter { nearest: near, .. } => (StatusCode::NOT_FOUND, nearest(near)),
            BindError::NoInstance { .. } => (StatusCode::NOT_FOUND, None),
            BindError::NeedsInstance { counterset } => {
                (StatusCode::BAD_REQUEST, Some(format!("all of them: \\{counterset}(*)\\...")))
            }
            BindError::NoInstances { counterset } => {
                (StatusCode::BAD_REQUEST, Some(format!("without brackets: \\{counterset}\\...")))
            }
            _ => (StatusCode::SERVICE_UNAVAILABLE, None),
        };
        Self { status, error: error.to_string(), hints: hint.into_iter().collect() }
    }
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        let status = match error {
            SourceError::UnknownCounterset(_) => StatusCode::NOT_FOUND,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

/// Something as JSON.
pub fn to_json(what: &impl Serialize) -> String {
    serde_json::to_string(what).unwrap_or_default() // texts and numbers can always be written
}

/// JSON as an answer that nobody keeps.
pub fn json(text: impl Into<Body>) -> Response {
    with_type("application/json", text.into())
}

/// An answer of a type that nobody keeps.
pub fn with_type(content_type: &'static str, body: Body) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (headers, body).into_response()
}
