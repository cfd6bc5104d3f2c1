//! SQL logs: the three tables that perfmon, logman and relog write to a database, in a SQLite file.
//!
//! ```
//! use perfset::path::{PdhStatus, RawCounter};
//! use perfset::CounterType;
//! use perfset::log::Existing;
//! use perfset::log::sql::{Detail, LogSet, SqlWriter};
//! use perfset::log::text::Zone;
//!
//! # let directory = std::env::temp_dir().join(format!("perfset-sql-example-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("log.db");
//! let mut log = SqlWriter::create(&path, LogSet::new("Monday", Zone::utc()), Existing::Refuse)?;
//! let id = log.counter(&Detail {
//!     machine: r"\\HOST",
//!     object: "Memory",
//!     counter: "Available MBytes",
//!     counter_type: CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
//!     default_scale: 0,
//!     instance: None,
//!     parent: None,
//!     time_base: 10_000_000,
//! })?;
//! let c_status = PdhStatus::PDH_CSTATUS_VALID_DATA;
//! let raw = RawCounter { c_status, time: 131_537_159_845_620_000, first: 2048, second: 0, multi_count: 1 };
//! log.record(raw.time, [(id, Some(2048.0), Some(&raw))])?;
//! log.finish()?;
//!
//! // SELECT CounterName, CounterDateTime, CounterValue FROM CounterData NATURAL JOIN CounterDetails
//! // returns: Available MBytes, 2017-10-29 01:59:44.562, 2048.0
//! assert!(std::fs::read(&path)?.starts_with(b"SQLite format 3"));
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Shape**: a database has any number of log sets, each a row of `DisplayToID`. A log set has records, one per
//! sample, counted from 1. A record has a row of `CounterData` for each of its counters. A counter is a row of
//! `CounterDetails`, which all log sets share.
//!
//! **Source**: MS Learn, "SQL Log File Schema"; \[MS-PLA\] 2.2.2.7. Column types are those of Windows where SQLite
//! gives them the same meaning; a GUID is a text of 36 characters, lower case. One index does not exist on Windows:
//! `CounterDetails_Names`. `CounterData` is stored in the order of time. Frequent queries for single counters need an
//! index: `CREATE INDEX CounterData_Counters ON CounterData (CounterID, RecordIndex)`.
//!
//! **No value is not zero**: a missing `CounterValue` is NULL. Windows writes 0 there, because its column does not
//! permit NULL. A counter with neither a value nor raw numbers has no row in that record. Missing raw
//! numbers are NULL.
//!
//! **Numbers of 32 bits** are signed, as in a Windows database: a value that does not fit keeps its bits. The same
//! applies to the low (`A`) and high (`B`) halves of numbers of 64 bits.
//!
//! **Times** are UTC, `yyyy-mm-dd hh:mm:ss.nnn`, which SQLite's date functions understand. Windows' column is a
//! character longer, and relog leaves a NUL there (reported in public, 2008); no NUL is written here.
//!
//! The following is unknown, because no database written by Windows was available:
//!
//! - the time zone of `LogStartTime` and `LogStopTime`, and whether a full stop or, as documented, a colon precedes
//!   their milliseconds;
//! - the sign of `MinutesToUTC`: here that of text logs;
//! - the number of the first record: here 1;
//! - the value of `RunID`: reserved, here NULL;
//! - the value of `InstanceIndex` without an instance: here NULL.
//!
//! `ParentObjectID` is always NULL here, because parents have names.

use std::error::Error;
use std::path::{Path, PathBuf};

use perfset_catalogue as catalogue;
use perfset_core::{CounterType, Guid};
use uuid::Uuid;

use crate::Existing;
use crate::text::Zone;

pub(crate) mod reader;
mod writer;
#[cfg(test)]
mod tests;

pub use writer::SqlWriter;

/// SQL statements that create the missing tables and indexes of a SQL log.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS CounterDetails (
    CounterID INTEGER PRIMARY KEY,
    MachineName varchar(1024) NOT NULL,
    ObjectName varchar(1024) NOT NULL,
    CounterName varchar(1024) NOT NULL,
    CounterType int NOT NULL,
    DefaultScale int NOT NULL,
    InstanceName varchar(1024),
    InstanceIndex int,
    ParentName varchar(1024),
    ParentObjectID int,
    TimeBaseA int,
    TimeBaseB int
);
CREATE INDEX IF NOT EXISTS CounterDetails_Names ON CounterDetails (CounterName, InstanceName, ObjectName, MachineName);
CREATE TABLE IF NOT EXISTS CounterData (
    GUID char(36) NOT NULL,
    CounterID int NOT NULL,
    RecordIndex int NOT NULL,
    CounterDateTime char(24) NOT NULL,
    CounterValue float,
    FirstValueA int,
    FirstValueB int,
    SecondValueA int,
    SecondValueB int,
    MultiCount int,
    PRIMARY KEY (GUID, RecordIndex, CounterID)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS DisplayToID (
    GUID char(36) NOT NULL PRIMARY KEY,
    RunID int,
    DisplayString varchar(1024) NOT NULL UNIQUE,
    LogStartTime char(24),
    LogStopTime char(24),
    NumberOfRecords int,
    MinutesToUTC int,
    TimeZoneName char(32)
);
";

/// Log set: identity of a log in a database, stored as a row of `DisplayToID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSet {
    /// GUID that identifies the log set.
    #[doc(alias = "GUID")]
    pub guid: Guid,
    /// Display name of the log set, unique within a database.
    #[doc(alias = "DisplayString")]
    pub name: String,
    /// Time zone in which the log was recorded. Times in the database are UTC.
    pub zone: Zone,
}

impl LogSet {
    /// Creates a log set whose GUID is derived from the name (version 5). Names are unique within a database, and the
    /// same log yields the same file again. If databases of several machines are merged, give each log set its own
    /// GUID.
    #[must_use]
    pub fn new(name: impl Into<String>, zone: Zone) -> Self {
        let name = name.into();
        let namespace = Uuid::from_u128(catalogue::NAMESPACE.to_u128());
        let guid = Guid::from_u128(Uuid::new_v5(&namespace, format!("sql:{name}").as_bytes()).as_u128());
        Self { guid, name, zone }
    }
}

/// Description of a counter of a machine: a row of `CounterDetails`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail<'a> {
    /// Name of the counter's machine, with its leading backslashes.
    #[doc(alias = "MachineName")]
    pub machine: &'a str,
    /// Name of the counter's object (counterset).
    #[doc(alias = "ObjectName")]
    pub object: &'a str,
    /// Name of the counter that the row describes.
    #[doc(alias = "CounterName")]
    pub counter: &'a str,
    /// Counter type of the described counter.
    #[doc(alias = "CounterType")]
    pub counter_type: CounterType,
    /// Power of ten by which the counter's values are multiplied for a chart.
    #[doc(alias = "DefaultScale")]
    pub default_scale: i32,
    /// Instance whose counter is described; `None` if the counterset has no instances.
    pub instance: Option<InstanceRow<'a>>,
    /// Name of the parent of the counter's instance.
    #[doc(alias = "ParentName")]
    pub parent: Option<&'a str>,
    /// Ticks per second of the clock by which the counter type divides.
    #[doc(alias("TimeBaseA", "TimeBaseB"))]
    pub time_base: i64,
}

/// Instance of a counterset, as a row of `CounterDetails` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceRow<'a> {
    /// Name of the instance that the row describes.
    #[doc(alias = "InstanceName")]
    pub name: &'a str,
    /// Index of the instance among instances of the same name, from 0.
    #[doc(alias = "InstanceIndex")]
    pub index: u32,
}

/// `CounterID` of a counter in one database. This id differs from the counter's id in its counterset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterId(i64);

/// Error while writing a SQL log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The file of the SQL log already exists, and [`Existing::Refuse`] was requested.
    #[error("{}: the file already exists", path.display())]
    Exists {
        /// Path of the file that already exists.
        path: PathBuf,
    },
    /// The database already contains a log set with the same name or GUID.
    #[error("{}: the database already has a log set {name:?}", path.display())]
    Taken {
        /// Path of the SQLite file that contains the log set.
        path: PathBuf,
        /// Name of the log set that the database already contains.
        name: String,
    },
    /// An operation of the file system or of SQLite failed.
    #[error("{}: cannot {doing}", path.display())]
    Failed {
        /// Path of the SQLite file whose writing failed.
        path: PathBuf,
        /// Description of the operation on the SQLite file that failed.
        doing: &'static str,
        /// Error that the file system or SQLite returned.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    /// An earlier error occurred, and the written SQL log was discarded.
    #[error("{}: the log was given up after an earlier error", path.display())]
    GivenUp {
        /// Path of the SQLite file whose log was discarded.
        path: PathBuf,
    },
}

impl SqlError {
    fn failed(path: &Path, doing: &'static str, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { path: path.into(), doing, error: error.into() }
    }
}
