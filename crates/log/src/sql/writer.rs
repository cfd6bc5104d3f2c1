//! The writer of SQL logs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use perfset_core::CounterType;
use perfset_core::clock::SystemTime;
use perfset_core::pdh::RawCounter;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::{CounterId, Detail, Existing, LogSet, SqlError, TABLES};

/// Writes a log set into a SQLite file.
///
/// Nobody sees half a log. A new file is written beside its place, as `NAME.part0` or with the next number that is
/// free, and moved there by [`finish`](Self::finish); a log set is appended in one transaction, which a crash rolls
/// back, and until its end nobody else can write into that file. A writer that fails, or is dropped without being
/// finished, leaves nothing; only a crash can leave a part.
///
/// Its memory does not grow with the length of the log, nor with the number of counters.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    existing: Existing,
    log_set: LogSet,
    guid: String,
    /// None after an error.
    connection: Option<Connection>,
    /// Where a new file is written, if it is put at its place here.
    part: Option<PathBuf>,
    /// `true` for a file that nobody sees before it is whole: nothing in it has to be rolled back.
    is_new: bool,
    record_count: i64,
    /// Times of the first and the last record.
    span: Option<(i64, i64)>,
}

impl Writer {
    /// Begins a log set. If there is no file, each way makes one.
    ///
    /// # Errors
    /// There is a file that is to be left alone, or to be appended to and no such database; it has such a log set
    /// already; the file system or SQLite fails.
    pub fn create(path: impl AsRef<Path>, log_set: LogSet, existing: Existing) -> Result<Self, SqlError> {
        // A relative path could be one of SQLite's own names, as ":memory:" is.
        let path = std::path::absolute(&path)
            .map_err(|error| SqlError::failed(path.as_ref(), "find its place", error))?;
        let is_there = fs::symlink_metadata(&path).is_ok();
        if is_there && existing == Existing::Refuse {
            return Err(SqlError::Exists { path });
        }
        let part = match is_there && existing == Existing::Append {
            true => None,
            false => Some(
                create_part(&path)
                    .map_err(|error| SqlError::failed(&path, "make a file beside it", error))?,
            ),
        };
        let file = part.clone().unwrap_or_else(|| path.clone());
        Self::new(path, log_set, existing, part).open(&file, OpenFlags::empty())
    }

    /// Begins a log set in an empty file, which the caller made, and puts at its place once this is finished; or
    /// removes. No symbolic link is followed to it, not even in the path of its folder. Errors call it by `name`.
    ///
    /// # Errors
    /// The file system or SQLite fails.
    pub fn fill(file: &Path, name: &Path, log_set: LogSet) -> Result<Self, SqlError> {
        let mut writer = Self::new(name.to_owned(), log_set, Existing::Replace, None);
        writer.is_new = true;
        writer.open(file, OpenFlags::SQLITE_OPEN_NOFOLLOW)
    }

    /// Begins a log set in a database that is there. No symbolic link is followed to it, not even in the path of its
    /// folder. Errors call it by `name`.
    ///
    /// # Errors
    /// It is no such database; it has such a log set already; the file system or SQLite fails.
    pub fn extend(file: &Path, name: &Path, log_set: LogSet) -> Result<Self, SqlError> {
        let writer = Self::new(name.to_owned(), log_set, Existing::Append, None);
        writer.open(file, OpenFlags::SQLITE_OPEN_NOFOLLOW)
    }

    fn new(path: PathBuf, log_set: LogSet, existing: Existing, part: Option<PathBuf>) -> Self {
        let (guid, is_new) = (log_set.guid.to_string(), part.is_some());
        Self { path, existing, log_set, guid, connection: None, part, is_new, record_count: 0, span: None }
    }

    fn open(mut self, file: &Path, more: OpenFlags) -> Result<Self, SqlError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let connection = Connection::open_with_flags(file, flags);
        self.connection = Some(connection.map_err(|error| SqlError::failed(&self.path, "open it", error))?);
        self.begin()?;
        Ok(self)
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        // What fails or crashes while a new file is written is thrown away: nothing is kept to roll it back.
        let settings = match self.is_new {
            true => "journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE",
            false => "trusted_schema = OFF",
        };
        let is_taken = self.run("make its tables", |connection, log| {
            const FIND: &str = "SELECT 1 FROM DisplayToID WHERE GUID = ? OR DisplayString = ?";
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

    /// The id of a counter, which is written if the database has none that is the same in everything. It is looked up
    /// there each time: keep it.
    ///
    /// # Errors
    /// The file system or SQLite fails. The log is given up.
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
        let id = self.run("write a counter", |connection, _| {
            match connection.prepare_cached(FIND)?.query_row(row, |row| row.get(0)).optional()? {
                Some(id) => Ok(id),
                None => connection.prepare_cached(ADD)?.insert(row),
            }
        })?;
        Ok(CounterId(id))
    }

    /// Writes a record: a sample at a time in 100 ns since 1601 UTC, with each counter at most once: its formatted
    /// value, and the raw numbers that it was made of. A value that is not finite is none; so are raw numbers whose
    /// status says that there is no value.
    ///
    /// # Errors
    /// A counter is there twice; the file system or SQLite fails. The log is given up.
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
            // What is bound stays so from row to row.
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

    /// Ends the log set, and shows it.
    ///
    /// # Errors
    /// Meanwhile a file came into its place that is to be left alone; the file system or SQLite fails; something failed
    /// before. Nothing is left of the log.
    pub fn finish(mut self) -> Result<(), SqlError> {
        const ADD: &str =
            "INSERT INTO DisplayToID (GUID, DisplayString, LogStartTime, LogStopTime, NumberOfRecords,
            MinutesToUTC, TimeZoneName) VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.run("end it", |connection, log| {
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
            let failed = |error: io::Error| SqlError::failed(&self.path, "put it in its place", error);
            OpenOptions::new().write(true).open(part).and_then(|file| file.sync_all()).map_err(failed)?;
            if self.existing != Existing::Replace && fs::symlink_metadata(&self.path).is_ok() {
                return Err(SqlError::Exists { path: self.path.clone() });
            }
            fs::rename(part, &self.path).map_err(failed)?;
            self.part = None;
        }
        Ok(())
    }

    /// Does something in the database. If that fails, all is given up: in a new file SQLite can roll nothing back.
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
        // First closed, then removed, as Windows wants it. Closing rolls a transaction back.
        drop(self.connection.take());
        if let Some(part) = self.part.take() {
            let _ = fs::remove_file(part); // it may be gone already
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// So much of a database is kept in memory.
const CACHE_KIB: u32 = 8_192;

/// Makes an empty file beside a place.
fn create_part(path: &Path) -> io::Result<PathBuf> {
    /// So many crashes may have left one, or writers be at work.
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

/// A time as the tables have it.
fn text(time: i64) -> String {
    SystemTime::from_100ns(time).to_string()
}

/// The low and the high half.
fn halves(number: i64) -> [i32; 2] {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    [i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h])]
}

fn same_bits(number: u32) -> i32 {
    i32::from_ne_bytes(number.to_ne_bytes())
}
