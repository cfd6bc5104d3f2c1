//! Logs that clients upload: they arrive in pieces, are checked, and are then shown like other logs.
//!
//! A log belongs to the login that has sent it. Nobody else can list, read or remove it, and it ends with the login,
//! after a time without use, or with the server. Its bytes are in a file without a name.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use http_body::Body as _;
use perfset::Window;
use perfset::log::Logs;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::access::LogOwner;
use crate::answer::ApiError;
use crate::limits::{Limits, PIECE_MOST};
use crate::log::{InstantParser, ServedLog};
use crate::logs::{LogJson, LogKind, LogLabel, NamedLog, no_such_log};
use crate::token::Token;
use crate::unread::UnreadBytes;

pub mod check;
mod file;
mod pieces;

use pieces::{Piece, unwritten};

/// Maximum number of uploaded logs of all clients; the next constant is that of one login.
const UPLOADS_MOST: usize = 16;
const UPLOADS_OF_ONE: usize = 8;
/// Maximum memory of all uploaded logs together, as their checks have measured it.
const MEMORY_MOST: u64 = check::MEMORY_MOST;
/// Time after which an upload that receives no piece is removed.
const ABANDONED: Duration = Duration::from_secs(600);
/// First bytes of a SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Reason for ending the streams of an uploaded log that was removed.
const REMOVED: &str = "the log was removed";

/// Options of a server for logs that clients upload.
#[derive(Clone)]
pub struct UploadOptions {
    /// Maximum number of bytes of one uploaded log, and of all together.
    pub most: u64,
    /// Program and arguments of the process that calls [`check_log`](crate::check_log) for an uploaded log.
    pub checker: Vec<OsString>,
    /// Parser for times in requests that are texts, and no number of milliseconds.
    pub parse_instant: InstantParser,
    /// Time without use after which an uploaded log is removed.
    pub idle: Duration,
    /// Maximum time for a piece of an upload to arrive.
    pub piece_time: Duration,
}

impl UploadOptions {
    /// Creates the options for uploads with the usual times.
    #[must_use]
    pub fn new(most: u64, checker: Vec<OsString>, parse_instant: InstantParser) -> Self {
        let (idle, piece_time) = (Duration::from_secs(3_600), Duration::from_secs(60));
        Self { most, checker, parse_instant, idle, piece_time }
    }
}

impl fmt::Debug for UploadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadOptions").field("most", &self.most).field("checker", &self.checker).finish()
    }
}

/// Logs that clients have uploaded to the server, or are uploading.
#[derive(Debug)]
pub struct Uploads {
    options: UploadOptions,
    all: Mutex<Vec<Arc<Upload>>>,
    /// Permits to check uploaded logs: one check at a time, so that checks take one processor at most.
    checks: Semaphore,
    look: Duration,
    limits: Limits,
    unread: UnreadBytes,
}

/// Log that a client uploads, or has uploaded.
#[derive(Debug)]
struct Upload {
    id: String,
    name: String,
    owner: LogOwner,
    state: Mutex<UploadState>,
    /// `true` if the uploaded log was removed, so that a check in progress ends.
    is_removed: AtomicBool,
}

#[derive(Debug)]
struct UploadState {
    file: Arc<File>,
    /// Number of bytes of the upload that have arrived; the next field has those of the piece that is arriving.
    stored: u64,
    arriving: u64,
    /// Time of the last request for the uploaded log.
    used: Instant,
    step: UploadStep,
    /// Memory that the check of the uploaded log took, in bytes.
    memory: u64,
}

#[derive(Debug)]
enum UploadStep {
    /// State of an upload whose pieces arrive.
    Receiving,
    Opening,
    Open(Arc<NamedLog>),
}

/// Limits for uploaded logs, as JSON for clients.
#[derive(Debug, Serialize)]
pub struct UploadJson {
    /// Maximum number of bytes of all uploaded logs together; the next field is the number that is used.
    most: u64,
    used: u64,
    /// Maximum number of bytes in one piece of an upload.
    piece: u64,
}

/// Guard that marks an upload as busy while a piece arrives or the log is opened; dropping it removes the mark.
struct Underway<'u> {
    upload: &'u Upload,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let mut state = self.upload.state();
        state.arriving = 0;
        if matches!(state.step, UploadStep::Opening) {
            state.step = UploadStep::Receiving;
        }
    }
}

impl Upload {
    fn state(&self) -> MutexGuard<'_, UploadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the description of the uploaded log for its client.
    async fn describe(&self) -> LogJson {
        let (stored, open, state) = {
            let state = self.state();
            match &state.step {
                UploadStep::Receiving => (state.stored, None, "receiving"),
                UploadStep::Opening => (state.stored, None, "opening"),
                UploadStep::Open(log) => (state.stored, Some(Arc::clone(log)), "open"),
            }
        };
        if let Some(log) = open {
            return log.describe(Some(stored)).await;
        }
        self.unopened(state, stored)
    }

    /// Returns the description of an uploaded log that is not open.
    fn unopened(&self, state: &'static str, stored: u64) -> LogJson {
        LogJson {
            id: self.id.clone(),
            name: self.name.clone(),
            kind: LogKind::Upload,
            state,
            bytes: Some(stored),
            machine: None,
            system: None,
            machines: Vec::new(),
            first: None,
            last: None,
            samples: None,
            damages: None,
        }
    }

    /// Ends all streams, pieces and checks of the uploaded log.
    fn end(&self) {
        self.is_removed.store(true, Relaxed);
        if let UploadStep::Open(log) = &self.state().step {
            log.end(REMOVED);
        }
    }
}

impl Uploads {
    /// Creates the empty list of uploaded logs of a server.
    pub fn new(options: UploadOptions, look: Duration, limits: Limits, unread: UnreadBytes) -> Self {
        Self { options, all: Mutex::default(), checks: Semaphore::new(1), look, limits, unread }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Upload>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the limits for uploaded logs, for clients.
    pub fn to_json(&self) -> UploadJson {
        UploadJson { most: self.options.most, used: self.used(), piece: PIECE_MOST }
    }

    /// Returns the number of bytes of all uploaded logs.
    fn used(&self) -> u64 {
        let bytes = |upload: &Arc<Upload>| {
            let state = upload.state();
            state.stored.saturating_add(state.arriving)
        };
        self.all().iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Finds an uploaded log of this client by its id.
    fn find(&self, id: &str, owner: LogOwner) -> Result<Arc<Upload>, ApiError> {
        let all = self.all();
        let found =
            all.iter().find(|upload| upload.id == id && upload.owner == owner && owner != LogOwner::Nobody);
        let upload = found.cloned().ok_or_else(|| no_such_log(id))?;
        upload.state().used = Instant::now();
        Ok(upload)
    }

    /// Finds an uploaded log of this client that was opened, by its id.
    pub fn opened(&self, id: &str, owner: LogOwner) -> Result<Arc<NamedLog>, ApiError> {
        let upload = self.find(id, owner)?;
        match &upload.state().step {
            UploadStep::Open(log) => Ok(Arc::clone(log)),
            _ => Err(ApiError::new(StatusCode::CONFLICT, "the log is not open yet")
                .hint(format!("POST /api/v1/logs/{id}/open opens it when all its bytes have arrived"))),
        }
    }

    /// Returns the descriptions of the uploaded logs of this client.
    pub async fn list(&self, owner: LogOwner) -> Vec<LogJson> {
        let own = |upload: &&Arc<Upload>| upload.owner == owner && owner != LogOwner::Nobody;
        let own: Vec<_> = self.all().iter().filter(own).cloned().collect();
        let mut described = Vec::new();
        for upload in own {
            described.push(upload.describe().await);
        }
        described
    }

    /// Returns the description of an uploaded log of this client.
    pub async fn describe(&self, id: &str, owner: LogOwner) -> Result<LogJson, ApiError> {
        Ok(self.find(id, owner)?.describe().await)
    }

    /// Begins the upload of a log, and returns its description.
    pub fn begin(&self, name: Option<String>, owner: LogOwner) -> Result<LogJson, ApiError> {
        let bad = |text: String| ApiError::new(StatusCode::BAD_REQUEST, text);
        let name = name.ok_or_else(|| bad("a log needs a name: name=FILE".to_owned()))?;
        if owner == LogOwner::Nobody {
            let text = "without a token, logs are taken from this machine only";
            return Err(ApiError::new(StatusCode::FORBIDDEN, text).hint("perfset serve --token-file FILE"));
        }
        let mut all = self.all();
        let of_owner = all.iter().filter(|upload| upload.owner == owner).count();
        if all.len() >= UPLOADS_MOST || of_owner >= UPLOADS_OF_ONE {
            let text =
                format!("{of_owner} logs of this login are here, and {} of all; no more can be", all.len());
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text).hint("remove one first"));
        }
        let file = file::create().map_err(|error| unwritten(&error))?;
        let id = Token::random().map_err(|_| ApiError::busy())?;
        let state = UploadState {
            file: Arc::new(file),
            stored: 0,
            arriving: 0,
            used: Instant::now(),
            step: UploadStep::Receiving,
            memory: 0,
        };
        let id = id.secret().chars().take(32).collect();
        let upload = Upload { id, name, owner, state: Mutex::new(state), is_removed: AtomicBool::new(false) };
        let begun = upload.unopened("receiving", 0);
        all.push(Arc::new(upload));
        Ok(begun)
    }

    /// Stores a piece of an uploaded log from the body of a request.
    pub async fn take_piece(
        &self,
        (id, owner): (&str, LogOwner),
        (offset, len): (u64, u64),
        mut body: Body,
    ) -> Result<LogJson, ApiError> {
        let upload = self.find(id, owner)?;
        let mut piece = self.begin_piece(&upload, offset, len)?;
        let underway = Underway { upload: &upload };
        let receive = async {
            // Written as it arrives, so a piece takes no memory however many arrive at once.
            while let Some(frame) =
                std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                let lost = |_| ApiError::new(StatusCode::BAD_REQUEST, "the piece did not arrive");
                if let Ok(bytes) = frame.map_err(lost)?.into_data() {
                    piece.take(&bytes)?;
                }
            }
            piece.finish()
        };
        let received = timeout(self.options.piece_time, receive).await;
        let end = received.unwrap_or_else(|_| {
            let text = format!("the piece did not arrive within {} s", self.options.piece_time.as_secs());
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, text).hint("send smaller pieces"))
        })?;
        {
            let mut state = upload.state();
            state.stored = state.stored.max(end);
            state.used = Instant::now();
        }
        drop(underway);
        Ok(upload.describe().await)
    }

    /// Begins a piece of an upload, if there is space for it and no other piece of the log arrives.
    fn begin_piece(&self, upload: &Upload, offset: u64, len: u64) -> Result<Piece, ApiError> {
        let most = self.options.most;
        let used = self.used();
        let mut state = upload.state();
        if state.arriving > 0 || !matches!(state.step, UploadStep::Receiving) {
            let text = "another piece of this log arrives, or the log is open";
            return Err(ApiError::new(StatusCode::CONFLICT, text));
        }
        let piece = Piece::begin(Arc::clone(&state.file), state.stored, offset, len)?;
        let end = offset.saturating_add(len);
        let new = end.saturating_sub(state.stored);
        if end > most {
            let text = format!("a log may have {most} bytes here, and this one has more");
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, text)
                .hint("perfset serve --upload-max SIZE takes more")
                .hint("perfset serve --compare FILE shows a log without sending it"));
        }
        if used.saturating_add(new) > most {
            let text = format!("the logs here may have {most} bytes together, and {used} are used");
            return Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, text).hint("remove a log first"));
        }
        // At least 1, so that a repeated piece excludes others too.
        state.arriving = new.max(1);
        Ok(piece)
    }

    /// Opens an uploaded log: checks it in a process of its own, and starts the thread that handles its requests. A
    /// log that cannot be opened is removed.
    pub async fn open(
        &self,
        id: &str,
        owner: LogOwner,
        machine: Option<String>,
    ) -> Result<LogJson, ApiError> {
        let upload = self.find(id, owner)?;
        let file = {
            let mut state = upload.state();
            match &state.step {
                UploadStep::Open(_) => None,
                UploadStep::Receiving if state.arriving == 0 => {
                    state.step = UploadStep::Opening;
                    Some(Arc::clone(&state.file))
                }
                _ => {
                    return Err(ApiError::new(
                        StatusCode::CONFLICT,
                        "the log still arrives, or is being opened",
                    ));
                }
            }
        };
        if let Some(file) = file {
            let underway = Underway { upload: &upload };
            let opened = self.check_and_open(&upload, file, machine).await;
            let result = opened.and_then(|(log, memory)| self.keep(&upload, log, memory));
            drop(underway);
            if let Err(error) = result {
                // A server that is busy or full at this moment may open it later.
                if error.status == StatusCode::UNPROCESSABLE_ENTITY {
                    self.take_out(|one| one.id == upload.id);
                }
                return Err(error);
            }
        }
        Ok(upload.describe().await)
    }

    async fn check_and_open(
        &self,
        upload: &Arc<Upload>,
        file: Arc<File>,
        machine: Option<String>,
    ) -> Result<(NamedLog, u64), ApiError> {
        let _permit = self.checks.acquire().await.map_err(|_| ApiError::busy())?;
        let (options, upload) = (self.options.clone(), Arc::clone(upload));
        let (look, limits, unread) = (self.look, self.limits, self.unread.clone());
        // On a thread of its own, because the server answers other clients meanwhile.
        let work = tokio::task::spawn_blocking(move || {
            refuse_sqlite(&file)?;
            let report = check::run(&options.checker, &file, machine.as_deref(), &upload.is_removed)?;
            let served = served(file, options.parse_instant, machine.as_deref())?;
            let label = LogLabel { id: upload.id.clone(), name: upload.name.clone(), kind: LogKind::Upload };
            let opened = NamedLog::open(label, served, look, limits, &unread);
            let (log, _) = opened.map_err(|error| check::unreadable(&error.to_string()))?;
            Ok((log, report.memory))
        });
        work.await.map_err(|_| check::unreadable("reading it failed"))?
    }

    /// Stores an uploaded log that was opened, unless it was removed meanwhile or all uploaded logs together take too
    /// much memory.
    fn keep(&self, upload: &Arc<Upload>, log: NamedLog, memory: u64) -> Result<(), ApiError> {
        if upload.is_removed.load(Relaxed) {
            return Err(check::removed());
        }
        let all: Vec<_> = self.all().iter().filter(|other| other.id != upload.id).cloned().collect();
        let others = all.iter().map(|other| other.state().memory).fold(0, u64::saturating_add);
        if others.saturating_add(memory) > MEMORY_MOST {
            let [memory, others, most] = [memory, others, MEMORY_MOST].map(|bytes| bytes >> 20);
            let text = format!("the log needs {memory} MiB of memory, and other logs {others} of {most} MiB");
            return Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, text).hint("remove a log first"));
        }
        let mut state = upload.state();
        (state.step, state.memory, state.used) = (UploadStep::Open(Arc::new(log)), memory, Instant::now());
        Ok(())
    }

    /// Removes an uploaded log of this client.
    pub async fn remove(&self, id: &str, owner: LogOwner) -> Result<LogJson, ApiError> {
        let upload = self.find(id, owner)?;
        let described = upload.describe().await;
        self.take_out(|one| one.id == upload.id);
        Ok(described)
    }

    /// Removes the uploaded logs of a login that has ended.
    pub fn forget(&self, owner: LogOwner) {
        self.take_out(|one| one.owner == owner);
    }

    /// Removes the uploaded logs that no client has used for too long.
    pub fn expire(&self, now: Instant) {
        self.take_out(|upload| {
            let mut state = upload.state();
            let most = match &state.step {
                // A stream or a request holds the log, too.
                UploadStep::Open(log) if Arc::strong_count(log) == 1 => self.options.idle,
                UploadStep::Receiving if state.arriving == 0 => self.options.idle.min(ABANDONED),
                _ => {
                    state.used = now;
                    return false;
                }
            };
            now.saturating_duration_since(state.used) >= most
        });
    }

    fn take_out(&self, is_over: impl Fn(&Upload) -> bool) {
        let mut over = Vec::new();
        self.all().retain(|upload| {
            let stays = !is_over(upload);
            if !stays {
                over.push(Arc::clone(upload));
            }
            stays
        });
        over.iter().for_each(|upload| upload.end());
    }
}

/// Returns an error for an uploaded SQLite file: SQLite opens files by their names only.
fn refuse_sqlite(file: &File) -> Result<(), ApiError> {
    use std::io::{Read, Seek};
    let (mut file, mut first) = (file, Vec::new());
    let length = u64::try_from(SQLITE.len()).unwrap_or(u64::MAX);
    let read = file.rewind().and_then(|()| file.take(length).read_to_end(&mut first));
    read.map_err(|error| unwritten(&error))?;
    match first == SQLITE {
        false => Ok(()),
        true => {
            let text = "the log cannot be shown: SQLite files are not taken here";
            Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, text).hint(
                "perfset relog FILE -o FILE.jsonl converts it, and perfset serve --compare FILE shows it",
            ))
        }
    }
}

/// Opens the log in the file of an upload, which stays open as long as the log.
fn served(file: Arc<File>, parse: InstantParser, machine: Option<&str>) -> Result<ServedLog, ApiError> {
    let path = file::path_of(&file);
    let unreadable = |error: perfset::log::OpenError| {
        check::unreadable(&perfset::SourceError::from(error.error).to_string())
    };
    let logs = check::of_machine(Logs::open(&[&path]).map_err(unreadable)?, machine);
    let logs = logs.map_err(|error| check::unreadable(&error))?;
    // The closure keeps the file open: its path would otherwise become that of another file.
    let parse_instant = move |logs: &Logs, text: &str| {
        let _ = &file;
        parse(logs, text)
    };
    // With an end, because the file does not grow.
    let window = Window { begin: None, end: Some(i64::MAX) };
    Ok(ServedLog { logs, files: vec![path], window, parse_instant: Arc::new(parse_instant) })
}
