//! Writer of SQL logs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use perfset_core::CounterType;
use perfset_core::clock::SystemTime;
use perfset_core::pdh::RawCounter;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::{CounterId, Detail, Existing, LogSet, SqlError, TABLES};

/// Writer of a log set in a SQLite file.
///
/// No other process sees an incomplete log. A new file is written beside its path, as `NAME.part0` or with the next
/// free number. [`finish`](Self::finish) then moves it to its path. A log set is appended in one transaction, which a
/// crash rolls back. Until the transaction ends, no other process can write to the file. A writer that fails, or is
/// dropped before [`finish`](Self::finish), leaves nothing; only a crash can leave a `.part` file.
///
/// Memory use does not grow with the length of the log, nor with the number of counters.
#[derive(Debug)]
pub struct SqlWriter {
    path: PathBuf,
    existing: Existing,
    log_set: LogSet,
    guid: String,
    /// Connection to the database of the SQL log; `None` after an error.
    connection: Option<Connection>,
    /// Temporary path of a new SQL log before it is moved to its final path; `None` if the writer does not move it.
    part: Option<PathBuf>,
    /// `true` for a new file that is not visible before it is complete; no rollback is needed.
    is_new: bool,
    record_count: i64,
    /// Times of the first and the last record of the log set, in 100 ns since 1601 UTC.
    span: Option<(i64, i64)>,
}

impl SqlWriter {
    /// Begins a log set in the SQLite file at a path. A missing file is created for every value of `existing`.
    ///
    /// # Errors
    /// - The file exists and must not be changed.
    /// - The file to append to is not a SQL log.
    /// - The log set already exists in the file.
    /// - The file system or SQLite fails.
    pub fn create(path: impl AsRef<Path>, log_set: LogSet, existing: Existing) -> Result<Self, SqlError> {
        // A relative path might equal a special name of SQLite, such as ":memory:".
        let path = std::path::absolute(&path)
            .map_err(|error| SqlError::failed(path.as_ref(), "find the directory of the file", error))?;
        // A dangling link counts as a file too: the new file would replace it.
        let is_there = fs::symlink_metadata(&path).is_ok();
        if is_there && existing == Existing::Refuse {
            return Err(SqlError::Exists { path });
        }
        let part = match is_there && existing == Existing::Append {
            true => None,
            false => Some(
                create_part(&path)
                    .map_err(|error| SqlError::failed(&path, "create a file beside it", error))?,
            ),
        };
        let file = part.clone().unwrap_or_else(|| path.clone());
        Self::new(path, log_set, existing, part).open(&file, OpenFlags::empty())
    }

    /// Begins a log set in an empty file created by the caller. The caller moves the file to its final path after
    /// [`finish`](Self::finish), or removes it. No symbolic link is followed, not even in the path of its directory.
    /// Errors contain `name` as its path.
    ///
    /// # Errors
    /// If the file system or SQLite fails.
    pub fn fill(file: &Path, name: &Path, log_set: LogSet) -> Result<Self, SqlError> {
        let mut writer = Self::new(name.to_owned(), log_set, Existing::Replace, None);
        writer.is_new = true;
        writer.open(file, OpenFlags::SQLITE_OPEN_NOFOLLOW)
    }

    /// Begins a log set in an existing database. No symbolic link is followed, not even in the path of its directory.
    /// Errors contain `name` as its path.
    ///
    /// # Errors
    /// - The file is not a SQL log.
    /// - The log set already exists in the file.
    /// - The file system or SQLite fails.
    pub fn extend(file: &Path, name: &Path, log_set: LogSet) -> Result<Self, SqlError> {
        let writer = Self::new(name.to_owned(), log_set, Existing::Append, None);
        writer.open(file, OpenFlags::SQLITE_OPEN_NOFOLLOW)
    }

    fn new(path: PathBuf, log_set: LogSet, existing: Existing, part: Option<PathBuf>) -> Self {
        let (guid, is_new) = (log_set.guid.to_string(), part.is_some());
        Self { path, existing, log_set, guid, connection: None, part, is_new, record_count: 0, span: None }
    }

    fn open(mut self, file: &Path, more: OpenFlags) -> Result<Self, SqlError> {
        // Never `CREATE`: both kinds of file exist by now. `&mut self` guards the connection, so it needs no
        // mutex.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let connection = Connection::open_with_flags(file, flags);
        self.connection = Some(connection.map_err(|error| SqlError::failed(&self.path, "open it", error))?);
        self.begin()?;
        Ok(self)
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        // A new file is discarded after an error or a crash, so no rollback data is stored.
        let settings = match self.is_new {
            true => "journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE",
            // The schema of an existing database is untrusted: its triggers must not call harmful functions.
            false => "trusted_schema = OFF",
        };
        // `IMMEDIATE` takes the write lock at once, so a conflict is reported now and not after an hour of
        // recording.
        let is_taken = self.run("create the tables", |connection, log| {
            const FIND: &str = "SELECT 1 FROM DisplayToID WHERE GUID = ? OR DisplayString = ?";
            // A negative cache size is in KiB, a positive one in pages.
            connection.execute_batch(&format!(
                "PRAGMA {settings}; PRAGMA cache_size = -{CACHE_KIB}; BEGIN IMMEDIATE; {TABLES}"
            ))?;
            connection.query_row(FIND, params![log.guid, log.log_set.name], |_| Ok(())).optional()
        })?;
        match is_taken {
            None => Ok(()),
            Some(()) => {
                self.give_up();
                Err(SqlError::Taken { path: self.path.clone(), name: self.log_set.name.clone() })
            }
        }
    }

    /// Returns the id of a counter. The counter is added unless the database already has an identical one. Every call
    /// queries the database: keep the id.
    ///
    /// # Errors
    /// If the file system or SQLite fails. The log is discarded.
    pub fn counter(&mut self, detail: &Detail<'_>) -> Result<CounterId, SqlError> {
        const FIND: &str = "SELECT CounterID FROM CounterDetails WHERE MachineName = ? AND ObjectName = ? AND
            CounterName = ? AND CounterType = ? AND DefaultScale = ? AND InstanceName IS ? AND InstanceIndex IS ? AND
            ParentName IS ? AND TimeBaseA IS ? AND TimeBaseB IS ? AND ParentObjectID IS NULL";
        const ADD: &str = "INSERT INTO CounterDetails (MachineName, ObjectName, CounterName, CounterType, DefaultScale,
            InstanceName, InstanceIndex, ParentName, TimeBaseA, TimeBaseB) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let Detail { machine, object, counter, counter_type: CounterType(bits), default_scale, .. } = *detail;
        let (name, index) =
            detail.instance.map(|instance| (instance.name, same_bits(instance.index))).unzip();
        let [low, high] = halves(detail.time_base);
        let bits = same_bits(bits);
        let row =
            params![machine, object, counter, bits, default_scale, name, index, detail.parent, low, high];
        // Searched first, because all log sets of a database share this table. `IS` also compares NULL.
        let id = self.run("write a counter", |connection, _| {
            match connection.prepare_cached(FIND)?.query_row(row, |row| row.get(0)).optional()? {
                Some(id) => Ok(id),
                None => connection.prepare_cached(ADD)?.insert(row),
            }
        })?;
        Ok(CounterId(id))
    }

    /// Writes a record of the log set: a sample at a time in 100 ns since 1601 UTC. Each counter occurs at most once,
    /// with its formatted value and the raw numbers from which it was computed. A value that is not finite is stored
    /// as missing. So are raw numbers whose status means that there is no value.
    ///
    /// # Errors
    /// If a counter occurs twice, or if the file system or SQLite fails. The log is discarded.
    pub fn record<'r>(
        &mut self,
        time: i64,
        values: impl IntoIterator<Item = (CounterId, Option<f64>, Option<&'r RawCounter>)>,
    ) -> Result<(), SqlError> {
        const ADD: &str = "INSERT INTO CounterData (GUID, RecordIndex, CounterDateTime, CounterID, CounterValue,
            FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.record_count = self.record_count.saturating_add(1);
        self.span = Some((self.span.map_or(time, |(first, _)| first), time));
        self.run("write a record", |connection, log| {
            let mut row = connection.prepare_cached(ADD)?;
            // Bound parameters keep their values from row to row.
            row.raw_bind_parameter(1, &log.guid)?;
            row.raw_bind_parameter(2, log.record_count)?;
            row.raw_bind_parameter(3, text(time))?;
            for (CounterId(id), value, raw) in values {
                let value = value.filter(|value| value.is_finite());
                let raw = raw.filter(|raw| raw.c_status.has_value());
                if value.is_none() && raw.is_none() {
                    continue;
                }
                let (first, second) = raw.map(|raw| (halves(raw.first), halves(raw.second))).unzip();
                row.raw_bind_parameter(4, id)?;
                row.raw_bind_parameter(5, value)?;
                row.raw_bind_parameter(6, first.map(|[low, _]| low))?;
                row.raw_bind_parameter(7, first.map(|[_, high]| high))?;
                row.raw_bind_parameter(8, second.map(|[low, _]| low))?;
                row.raw_bind_parameter(9, second.map(|[_, high]| high))?;
                row.raw_bind_parameter(10, raw.map(|raw| same_bits(raw.multi_count)))?;
                row.raw_execute()?;
            }
            Ok(())
        })
    }

    /// Ends the log set and makes the log set visible to other processes.
    ///
    /// # Errors
    /// - A file that must not be changed was created at the path meanwhile.
    /// - The file system or SQLite fails.
    /// - An earlier error occurred.
    ///
    /// Nothing remains of the log then.
    pub fn finish(mut self) -> Result<(), SqlError> {
        const ADD: &str =
            "INSERT INTO DisplayToID (GUID, DisplayString, LogStartTime, LogStopTime, NumberOfRecords,
            MinutesToUTC, TimeZoneName) VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.run("finish the log", |connection, log| {
            let LogSet { name, zone, .. } = &log.log_set;
            let (start, stop) = log.span.map(|(first, last)| (text(first), text(last))).unzip();
            let row = params![log.guid, name, start, stop, log.record_count, zone.minutes, zone.name];
            connection.execute(ADD, row)?;
            connection.execute_batch("COMMIT")
        })?;
        if let Some(connection) = self.connection.take() {
            connection.close().map_err(|(_, error)| SqlError::failed(&self.path, "close it", error))?;
        }
        if let Some(part) = &self.part {
            let failed =
                |error: io::Error| SqlError::failed(&self.path, "move the new file to this path", error);
            // The data must be on the disk before the name is: after a crash, the path has the whole log or
            // none.
            OpenOptions::new().write(true).open(part).and_then(|file| file.sync_all()).map_err(failed)?;
            if self.existing != Existing::Replace && fs::symlink_metadata(&self.path).is_ok() {
                return Err(SqlError::Exists { path: self.path.clone() });
            }
            fs::rename(part, &self.path).map_err(failed)?;
            self.part = None;
        }
        Ok(())
    }

    /// Runs `work` in the database of the SQL log. If it fails, the log is discarded, because SQLite cannot roll back
    /// a new file.
    fn run<T>(
        &mut self,
        doing: &'static str,
        work: impl FnOnce(&Connection, &Self) -> rusqlite::Result<T>,
    ) -> Result<T, SqlError> {
        let Some(connection) = &self.connection else {
            return Err(SqlError::GivenUp { path: self.path.clone() });
        };
        work(connection, self).map_err(|error| {
            self.give_up();
            SqlError::failed(&self.path, doing, error)
        })
    }

    fn give_up(&mut self) {
        // The connection is closed before the file is removed, as Windows requires. Closing rolls a transaction back.
        drop(self.connection.take());
        if let Some(part) = self.part.take() {
            let _ = fs::remove_file(part); // it may be gone already
        }
    }
}

impl Drop for SqlWriter {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Memory in KiB for SQLite's page cache while a SQL log is written.
const CACHE_KIB: u32 = 8_192;

/// Creates an empty temporary file for a new SQL log in the directory of a path, and returns the path of the new
/// file.
fn create_part(path: &Path) -> io::Result<PathBuf> {
    /// Maximum number at the end of the temporary file's name. Each crashed writer may have left a file, and other
    /// writers may be running.
    const MOST: u32 = 100;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut number: u32 = 0;
    loop {
        let mut part = name.to_os_string();
        part.push(format!(".part{number}"));
        let part = path.with_file_name(part);
        match File::create_new(&part) {
            Ok(_) => return Ok(part),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST => {
                number = number.saturating_add(1);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Formats a time, in 100 ns since 1601 UTC, as the text that the database tables contain.
fn text(time: i64) -> String {
    SystemTime::from_100ns(time).to_string()
}

/// Returns the low and the high 32 bits of a number, which a SQL log stores in two columns.
fn halves(number: i64) -> [i32; 2] {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    [i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h])]
}

fn same_bits(number: u32) -> i32 {
    i32::from_ne_bytes(number.to_ne_bytes())
}
