//! Routes of the server's logs: the list of logs, and the steps of an upload.

use axum::Extension;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;

use crate::access::LogOwner;
use crate::answer::{ApiError, json, to_json};
use crate::api::{Answer, Shared};
use crate::request;

pub async fn list(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    request::none_but(&query.unwrap_or_default(), "none")?;
    Ok(json(to_json(&app.logs.list(owner).await)))
}

/// Returns the description of one log, which says how much of an upload has arrived.
pub async fn one(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    request::none_but(&query.unwrap_or_default(), "none")?;
    let described = match app.logs.find(&id, owner) {
        Ok(log) if log.kind != crate::logs::LogKind::Upload => log.describe(None).await,
        _ => app.logs.uploads().map_err(|_| crate::logs::no_such_log(&id))?.describe(&id, owner).await?,
    };
    Ok(json(to_json(&described)))
}

/// Begins an upload of a log, and returns its description with its id.
pub async fn begin(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    RawQuery(query): RawQuery,
) -> Answer {
    let name = request::text(&query.unwrap_or_default(), "name")?;
    let begun = app.logs.uploads()?.begin(name, owner)?;
    let mut answer = json(to_json(&begun));
    *answer.status_mut() = StatusCode::CREATED;
    Ok(answer)
}

/// Stores a piece of an uploaded log.
pub async fn piece(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Answer {
    let offset = request::offset(&query.unwrap_or_default())?;
    let len = request.headers().get(CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
    let len = len.ok_or_else(|| {
        ApiError::new(StatusCode::LENGTH_REQUIRED, "a piece of a log needs the header Content-Length")
    })?;
    let described = app.logs.uploads()?.take_piece((&id, owner), (offset, len), request.into_body()).await?;
    Ok(json(to_json(&described)))
}

/// Opens an uploaded log whose pieces have all arrived.
pub async fn open(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    let machine = request::text(&query.unwrap_or_default(), "machine")?;
    if machine.as_ref().is_some_and(|name| name.contains('\0')) {
        return Err(request::BadRequest("machine: no machine has such a name".to_owned()).into());
    }
    // As a task of its own: a client that goes away leaves no check behind that another one could double.
    let opened = tokio::spawn(async move { app.logs.uploads()?.open(&id, owner, machine).await });
    Ok(json(to_json(&opened.await.map_err(|_| ApiError::busy())??)))
}

/// Removes a log that the client has uploaded.
pub async fn remove(
    State(app): Shared,
    Extension(owner): Extension<LogOwner>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    request::none_but(&query.unwrap_or_default(), "none")?;
    Ok(json(to_json(&app.logs.uploads()?.remove(&id, owner).await?)))
}
