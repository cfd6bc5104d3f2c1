//! Recording that PerfLib's functions read instead of the machine: the variable `PERFSET_LOG`.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use perfset::log::Logs;
use perfset::log::recording::SteppedRecording;
use perfset::v1::{ValueName, query};
use perfset::{Entry, Machine, NextOutcome, Query, QueryHandle, Snapshot, Source, SourceError, Status};

/// Error code for a query that has read the last sample of a log.
pub const ERROR_HANDLE_EOF: Status = Status(38);

/// Log that a process reads instead of the machine.
#[derive(Debug)]
pub struct PastLog {
    path: PathBuf,
    /// Log as it was at the process's first call of a function of this library.
    logs: Logs,
    blocks: Mutex<V1Blocks>,
}

/// Samples of a log as V1 blocks. A V1 consumer has no query handle, so all consumers of a process share them.
#[derive(Debug, Default)]
struct V1Blocks {
    stepped: Option<SteppedRecording>,
    /// V1 request and its response that did not fit into the caller's buffer; the next equal request gets the
    /// response again.
    unread: Option<(ValueName, Vec<u8>)>,
}

impl PastLog {
    /// Opens the log at the path that the variable `PERFSET_LOG` contains.
    ///
    /// # Errors
    /// ERROR_FILE_NOT_FOUND if there is none, ERROR_ACCESS_DENIED, or ERROR_INVALID_DATA if it cannot be read as a log.
    pub fn open(path: PathBuf) -> Result<Self, Status> {
        const ERROR_FILE_NOT_FOUND: Status = Status(2);
        if let Err(error) = std::fs::metadata(&path) {
            return Err(match error.kind() {
                std::io::ErrorKind::PermissionDenied => Status::ERROR_ACCESS_DENIED,
                _ => ERROR_FILE_NOT_FOUND,
            });
        }
        let logs = Logs::open(&[&path]).map_err(|_| Status::ERROR_INVALID_DATA)?;
        Ok(Self { path, logs, blocks: Mutex::default() })
    }

    /// Returns a machine with the countersets of the log.
    pub fn machine(&self) -> &Machine {
        self.logs.machine()
    }

    /// Returns `true` if a machine argument is the name of the recorded machine.
    pub fn is_recorded_machine(&self, name: &str) -> bool {
        name.trim_start_matches('\\').eq_ignore_ascii_case(self.logs.machine_name())
    }

    /// Opens a query of the log that begins at the first sample, and an empty query that collects the entries for it.
    /// The query of the log reads up to the sample that is the newest now.
    ///
    /// # Errors
    /// If the log cannot be read any more.
    pub fn query(&self) -> Result<(Query, PastQuery), Status> {
        // Opened again, because a recorder may have written more since.
        let mut logs = Logs::open(&[&self.path]).map_err(|_| Status::ERROR_INVALID_DATA)?;
        let handle = logs.open().map_err(|error| error.status())?;
        Ok((logs.machine().query(), PastQuery { handle, entries: Vec::new(), is_unread: false }))
    }

    /// Returns the response of the log to a V1 request: a table of names, or the next sample as a block.
    ///
    /// # Errors
    /// ERROR_HANDLE_EOF after the last sample; ERROR_CALL_NOT_IMPLEMENTED if the log is not of perfset.
    pub fn v1(&self, name: &ValueName) -> Result<Vec<u8>, Status> {
        let computer = perfset::computer_name_of(self.logs.machine_name());
        let ask = |machine: &Machine| {
            let response = query(machine, name, &computer).map_err(|error| error.status());
            response.map(|response| response.bytes)
        };
        if matches!(name, ValueName::Names(_) | ValueName::Helps(_)) {
            return ask(self.machine());
        }
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = blocks.unread.take().filter(|(unread, _)| unread == name) {
            return Ok(block);
        }
        let stepped = match &mut blocks.stepped {
            Some(stepped) => stepped,
            none => {
                let recording = self.logs.recording().ok_or(Status::ERROR_CALL_NOT_IMPLEMENTED)?;
                none.insert(recording.stepped())
            }
        };
        match stepped.step() {
            Ok(true) => ask(stepped.machine()),
            Ok(false) => Err(ERROR_HANDLE_EOF),
            Err(error) => Err(error.status()),
        }
    }

    /// Keeps a V1 block that did not fit into the caller's buffer, for the next equal request.
    pub fn keep(&self, name: ValueName, block: Vec<u8>) {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).unread = Some((name, block));
    }
}

/// Query of a log, which belongs to a query handle.
pub struct PastQuery {
    handle: Box<dyn QueryHandle>,
    /// Entries of the log's query, in the order in which they were added.
    entries: Vec<Entry>,
    /// `true` if the last sample of the log did not fit into the caller's buffer: the next call gets the same sample
    /// again.
    is_unread: bool,
}

impl fmt::Debug for PastQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PastQuery").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl PastQuery {
    /// Adds and deletes entries until the log's query has those of `query`, in the same order.
    pub fn follow(&mut self, query: &Query) {
        let Self { handle, entries, is_unread } = self;
        let had = entries.len();
        // Mostly entries are added, one at a time: then nothing is searched.
        let is_longer =
            entries.len() <= query.entries().len() && entries.iter().eq(query.entries().take(had));
        entries.retain(|entry| {
            let is_kept = is_longer || query.entries().any(|wanted| wanted == entry);
            if !is_kept {
                let _ = handle.delete(entry); // it has the entry
            }
            is_kept
        });
        let first_new = entries.len();
        for entry in query.entries().skip(first_new) {
            let _ = handle.add(entry); // the other query has checked it
            entries.push(entry.clone());
        }
        // The sample in the buffer has other entries.
        *is_unread &= had == first_new && had == entries.len();
    }

    /// Reads the next sample of the log into `snapshot`, or leaves the last one there if it did not fit into the
    /// caller's buffer.
    ///
    /// # Errors
    /// The end of the log is ERROR_HANDLE_EOF.
    pub fn next(&mut self, snapshot: &mut Snapshot) -> Result<(), Status> {
        if std::mem::take(&mut self.is_unread) {
            return Ok(());
        }
        match self.handle.next(snapshot) {
            Ok(NextOutcome::Sample) => Ok(()),
            Ok(NextOutcome::End) => Err(ERROR_HANDLE_EOF),
            Err(error) => Err(SourceError::status(&error)),
        }
    }

    /// Makes the next call return the same sample of the log.
    pub fn keep(&mut self) {
        self.is_unread = true;
    }
}
