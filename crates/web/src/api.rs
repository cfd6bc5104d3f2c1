//! Routes of the server's API, and their responses.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_DISPOSITION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use http_body::Body as _;
use perfset_export::ExpositionFormat;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::access::{Access, Local, LogOwner, Permit, RequestParts, say, takes_piece};
use crate::answer::{ApiError, json, to_json, with_type};
use crate::assets::{Assets, PAGE};
use crate::catalogue;
use crate::compress::{accepts_gzip, compressed};
use crate::limits::Limits;
use crate::log_routes as routes;
use crate::logs::{NamedLog, ShownSource};
use crate::overview::Chart;
use crate::places::Place;
use crate::registry::LogRegistry;
use crate::request::{self, BadRequest, RangeFormat, TimeRange};
use crate::sampler::{Sampler, SamplerStats as Sampled};
use crate::scrape::Scrapes;
use crate::unread::UnreadBytes;

/// State of the server that all requests share.
#[derive(Debug)]
pub struct App {
    pub access: Access,
    pub assets: Assets,
    /// Machine that the server shows, or the log instead of it.
    pub shown: ShownSource,
    /// Logs of the server, which requests select by their ids.
    pub logs: LogRegistry,
    pub scrapes: Scrapes,
    pub unread: UnreadBytes,
    /// Permits for event streams: one for each stream that may be open at the same time.
    pub streams: Arc<Semaphore>,
    /// Name of the machine on which the server runs.
    pub host: String,
    pub limits: Limits,
    /// Maximum number of connections to the server with a valid token.
    pub trusted_connections: usize,
}

/// Path prefix of this version of the API.
const API: &str = "/api/v1";
/// OpenAPI description of the API for programs.
const OPENAPI: &str = include_str!("../openapi.json");

/// Machine or log that a request is about.
struct Selected {
    shown: ShownSource,
    /// Log that the request names; it counts as in use while this value exists.
    log: Option<Arc<NamedLog>>,
}

impl App {
    /// Returns the machine or log that a request is about: the log that it names. Without a name, it is what the
    /// server shows, or the recording of the machine if there is one and the request names a past time.
    fn select(&self, owner: LogOwner, id: Option<String>, is_past: bool) -> Result<Selected, ApiError> {
        if let Some(id) = id {
            let log = self.logs.find(&id, owner)?;
            return Ok(Selected { shown: log.shown.clone(), log: Some(log) });
        }
        let recording = self.logs.recording().filter(|_| is_past);
        let shown = recording.map_or(&self.shown, |recording| &recording.shown).clone();
        Ok(Selected { shown, log: None })
    }
}

pub type Shared = State<Arc<App>>;
pub type Answer = Result<Response, ApiError>;

/// Returns the router with all routes of the server.
pub fn router(app: Arc<App>) -> Router {
    let api = Router::new()
        .route("/login", get(login))
        .route("/about", get(about))
        .route("/countersets", get(countersets))
        .route("/countersets/{name}", get(counterset))
        .route("/find", get(find))
        .route("/findings", get(findings))
        .route("/logs", get(routes::list).post(routes::begin))
        .route("/logs/{id}", get(routes::one).put(routes::piece).delete(routes::remove))
        .route("/logs/{id}/open", post(routes::open))
        .route("/openapi.json", get(openapi))
        .route("/query", get(query))
        .route("/range", get(range))
        .route("/report", get(report))
        .route("/stream", get(stream))
        .route("/table", get(table));
    Router::new()
        .route("/", get(page))
        .route("/assets/{name}", get(unversioned))
        .route("/assets/{version}/{name}", get(asset))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics))
        .nest(API, api.clone())
        // The newest version, for people who type an address.
        .nest("/api", api)
        .fallback(nothing)
        .method_not_allowed_fallback(no_such_method)
        // Added last: a layer covers only the routes and fallbacks that the router has at that time.
        .layer(from_fn_with_state(Arc::clone(&app), guarded))
        .with_state(app)
}

/// Checks a request, handles it if it is permitted, and adds security headers to the response.
async fn guarded(State(app): Shared, mut request: Request, next: Next) -> Response {
    let mut cookie = None;
    let accepts_gzip = accepts_gzip(request.headers());
    let answer = match permit(&app, &request) {
        Ok(permit) => {
            cookie = permit.cookie;
            request.extensions_mut().insert(permit.owner);
            next.run(request).await
        }
        Err(answer) => *answer,
    };
    let mut answer = compressed(answer, accepts_gzip, &app.unread).await;
    if let Some(cookie) = cookie {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    if answer.status() == StatusCode::UNAUTHORIZED {
        // A client that guesses tokens needs a new connection each time.
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    say(answer.headers_mut());
    answer
}

/// Checks if a request is permitted, and gives its connection a slot that untrusted clients cannot take.
fn permit(app: &App, request: &Request) -> Result<Permit, Box<Response>> {
    let refused = |problem: ApiError| Err(Box::new(problem.into_response()));
    let (local, place) = (request.extensions().get::<Local>(), request.extensions().get::<Arc<Place>>());
    let (Some(Local(local)), Some(place)) = (local, place) else { return refused(ApiError::busy()) };
    let (method, uri) = (request.method(), request.uri());
    let asked = RequestParts { method, uri, headers: request.headers(), local: *local };
    let permit = app.access.check(asked)?;
    if !request.body().is_end_stream() && !takes_piece(method, uri) {
        return refused(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "no request here has a body"));
    }
    if permit.is_trusted && !place.trust() {
        let text = format!("{} connections are open, and no more can be", app.trusted_connections);
        let mut answer = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        // Closed, because it still occupies a place for untrusted connections.
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Err(Box::new(answer));
    }
    Ok(permit)
}

async fn nothing(uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
        .hint("/ is the page, /api/v1/about says what there is, /metrics is for Prometheus")
}

async fn no_such_method(method: Method) -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("this address does not take {method}; the header Allow has what it takes"),
    )
}

async fn page(State(app): Shared, headers: HeaderMap) -> Answer {
    file(&app, PAGE, None, &headers)
}

async fn asset(
    State(app): Shared,
    Path((version, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Answer {
    file(&app, &name, Some(&version), &headers)
}

/// Returns a file of the page that was requested without a version.
async fn unversioned(State(app): Shared, Path(name): Path<String>, headers: HeaderMap) -> Answer {
    file(&app, &name, None, &headers)
}

fn file(app: &App, name: &str, version: Option<&str>, headers: &HeaderMap) -> Answer {
    let missing = || ApiError::new(StatusCode::NOT_FOUND, format!("there is no file \"{name}\""));
    app.assets.answer(name, version, headers).ok_or_else(missing)
}

async fn metrics(State(app): Shared, RawQuery(query): RawQuery, headers: HeaderMap) -> Answer {
    let names = request::metrics(&query.unwrap_or_default())?;
    // Several lines of one header are one list (RFC 9110, section 5.3).
    let wishes: Vec<_> = headers.get_all(ACCEPT).iter().filter_map(|wish| wish.to_str().ok()).collect();
    let format = ExpositionFormat::from_accept(&wishes.join(","));
    let text = app.scrapes.text(format, names, &app.shown.sampler).await?;
    Ok(with_type(format.content_type(), Body::from(text)))
}

/// Responds to a browser that logs in; the access checks have verified its token.
async fn login(State(app): Shared, headers: HeaderMap) -> Answer {
    let (text, lost) = app.access.login(&headers).map_err(|_| ApiError::busy())?;
    // Its logs could not be reached by anyone.
    if let (Some(owner), Some(uploads)) = (lost, &app.logs.uploads) {
        uploads.forget(owner);
    }
    Ok(json(text))
}

async fn about(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    #[derive(Serialize)]
    struct About<'a> {
        version: &'a str,
        machine: &'a str,
        system: &'a str,
        interval_ms: u64,
        history_s: u64,
        limits: AboutLimits,
        now: Sampled,
        not_shown: Vec<String>,
        overview: &'a [Chart],
        /// Times of the first and the last sample in milliseconds since 1970, if the server shows a log.
        #[serde(skip_serializing_if = "Option::is_none")]
        log: Option<[i64; 2]>,
        /// Times of the first and the last sample of the machine's recording, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        recording: Option<[i64; 2]>,
    }
    #[derive(Serialize)]
    struct AboutLimits {
        series: usize,
        streams: usize,
        paths: usize,
    }
    let (query, id) = request::log(&query.unwrap_or_default())?;
    request::none_but(&query, "log")?;
    let selected = app.select(owner, id, false)?;
    let state = |sampler: &mut Sampler| (sampler.state(), sampler.not_shown(), sampler.log_limits_ms());
    let (now, not_shown, log) = selected.shown.sampler.ask(state).await?;
    // A recording that cannot be read at this moment takes nothing else away.
    let recording = match app.logs.recording().filter(|_| selected.log.is_none()) {
        Some(recording) => Some(recording.ends().await),
        None => None,
    };
    let ShownSource { machine, system, interval_ms, history_s, charts, .. } = &selected.shown;
    let Limits { series, streams, .. } = app.limits;
    Ok(json(to_json(&About {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        system,
        interval_ms: *interval_ms,
        history_s: *history_s,
        limits: AboutLimits { series, streams, paths: request::PATHS_MOST },
        now,
        not_shown,
        overview: charts,
        log,
        recording,
    })))
}

async fn countersets(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let filter = request::text_of_log(&query, "filter")?.unwrap_or_default();
    let selected = app.select(owner, id, false)?;
    let sampler = &selected.shown.sampler;
    let text = sampler.ask(move |sampler| catalogue::countersets(&sampler.machine, &filter)).await?;
    app.unread.take(text).map(json)
}

async fn counterset(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    request::none_but(&query, "log")?;
    let selected = app.select(owner, id, false)?;
    let sampler = &selected.shown.sampler;
    let text = sampler.ask(move |sampler| catalogue::counterset(&sampler.machine, &name)).await??;
    app.unread.take(text).map(json)
}

async fn find(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let words = request::text_of_log(&query, "words")?;
    let Some(words) = words else {
        return Err(BadRequest("words are missing: words=disk+write".into()).into());
    };
    let selected = app.select(owner, id, false)?;
    let sampler = &selected.shown.sampler;
    let text = sampler.ask(move |sampler| catalogue::found(&sampler.machine, &words)).await?;
    app.unread.take(text).map(json)
}

async fn findings(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let at = request::text_of_log(&query, "at")?;
    let selected = app.select(owner, id, at.is_some())?;
    selected.shown.sampler.findings(at).await.map(json)
}

async fn openapi() -> Response {
    with_type("application/json", Body::from(OPENAPI))
}

async fn range(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let request = request::range(&query)?;
    let content_type = match request.format {
        RangeFormat::Json => "application/json",
        RangeFormat::Csv => "text/csv; charset=utf-8",
    };
    let selected = app.select(owner, id, true)?;
    let answer = selected.shown.sampler.range(request).await;
    let answer = answer.map_err(|error| match &selected.log {
        // A hint that is an address is of the same log.
        Some(log) => error.map_hints(|hint| match hint.contains("/api/v1/range?") {
            true => format!("{hint}&log={}", log.id),
            false => hint,
        }),
        None => error,
    });
    answer.map(|text| with_type(content_type, Body::from(text)))
}

async fn report(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let request = request::report(&query)?;
    let selected = app.select(owner, id, true)?;
    let report = selected.shown.sampler.report(request).await?;
    let mut answer = with_type("text/html; charset=utf-8", Body::from(report.html));
    // To be saved: opened here, it would be a page with the rights of this one.
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{}\"", report.file_name));
    let disposition = disposition.unwrap_or(HeaderValue::from_static("attachment"));
    answer.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    Ok(answer)
}

async fn table(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let request = request::table(&query)?;
    // Command lines contain secrets: they are for those who know the token, and never for everybody.
    let with_command_lines = app.access.token().is_some();
    let selected = app.select(owner, id, request.at.is_some())?;
    selected.shown.sampler.table(request, with_command_lines).await.map(json)
}

async fn query(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let (paths, at) = request::values(&query)?;
    let selected = app.select(owner, id, at.is_some())?;
    selected.shown.sampler.values(paths, at).await.map(json)
}

async fn stream(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let (query, id) = request::log(&query.unwrap_or_default())?;
    let request = request::stream(&query)?;
    let selected = app.select(owner, id, request.range != TimeRange::default())?;
    // Before the sampler is asked, so that a refused stream costs the collecting thread nothing.
    let Ok(place) = Arc::clone(&app.streams).try_acquire_owned() else {
        let text = format!("{} streams are open, and no more can be", app.limits.streams);
        return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text));
    };
    // A client that reconnects continues at its last event.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<i64>().ok());
    let history_ms = i64::from(request.history_s).saturating_mul(1_000);
    let join = move |sampler: &mut Sampler| sampler.join(&request.asks, &request.range, last, history_ms);
    let events = selected.shown.sampler.ask(join).await??;
    let body = Body::new(events.with_permit(place).keeping(selected.log));
    let mut answer = with_type("text/event-stream", body);
    // A proxy that collects a response before it sends it on would hold the samples back.
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(answer)
}

impl From<BadRequest> for ApiError {
    fn from(error: BadRequest) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.0)
    }
}
