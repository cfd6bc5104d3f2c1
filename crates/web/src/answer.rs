//! HTTP responses of the server: JSON, and problems as JSON.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use perfset::SourceError;
use perfset::output::json::line as json_line;
use perfset::path::BindError;
use serde::Serialize;

/// Error with which a request is refused: a status, a sentence, and hints on what to try next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status of the error response.
    pub status: StatusCode,
    /// Error message for the client: a sentence without a point at its end.
    pub error: String,
    /// Hints for the client on what to try next.
    pub hints: Vec<String>,
}

/// JSON form of an error for clients.
#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hints: &'a [String],
}

impl ApiError {
    /// Creates an error response without a hint.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), hints: Vec::new() }
    }

    /// Adds a hint for the client to the error.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the error response with changed hints.
    pub fn map_hints(mut self, change: impl Fn(String) -> String) -> Self {
        self.hints = self.hints.into_iter().map(change).collect();
        self
    }

    /// Returns the error response of an overloaded server.
    pub fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy").hint("try again in a second")
    }

    /// Returns the error as the JSON text that a client receives.
    pub fn to_json(&self) -> String {
        to_json(&ErrorJson { error: &self.error, hints: &self.hints })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut answer = json(self.to_json());
        *answer.status_mut() = self.status;
        let header = match self.status {
            // RFC 9110 requires this header with 401. Browsers show no password dialog for `Bearer`, unlike
            // for `Basic`.
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

impl From<BindError> for ApiError {
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

impl From<SourceError> for ApiError {
    fn from(error: SourceError) -> Self {
        let status = match error {
            SourceError::UnknownCounterset(_) => StatusCode::NOT_FOUND,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

/// Converts a value to the JSON text of a response.
pub fn to_json(value: &impl Serialize) -> String {
    json_line(value).unwrap_or_default() // texts and numbers can always be written
}

/// Returns a JSON response that clients must not cache.
pub fn json(text: impl Into<Body>) -> Response {
    with_type("application/json", text.into())
}

/// Returns a response with this content type that clients must not cache.
pub fn with_type(content_type: &'static str, body: Body) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // Values are of one moment, and one of these responses is the login with its key.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (headers, body).into_response()
}
