//! SQL logs: the three tables that perfmon, logman and relog write into a database, in a SQLite file.
//!
//! ```
//! use perfset_core::pdh::{PdhStatus, RawCounter};
//! use perfset_core::CounterType;
//! use perfset_log::sql::{Detail, Existing, LogSet, Writer};
//! use perfset_log::text::Zone;
//!
//! # let folder = std::env::temp_dir().join(format!("perfset-sql-example-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("log.db");
//! let mut log = Writer::create(&path, LogSet::new("Monday", Zone::utc()), Existing::Refuse)?;
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
//! let file = rusqlite::Connection::open(&path)?;
//! let sql = "SELECT CounterName, CounterDateTime, CounterValue FROM CounterData NATURAL JOIN CounterDetails";
//! let row: (String, String, f64) = file.query_row(sql, (), |row| row.try_into())?;
//! assert_eq!(row, ("Available MBytes".into(), "2017-10-29 01:59:44.562".into(), 2048.0));
//! # drop(file);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Shape**: a database has any number of log sets, a row of `DisplayToID` each. A log set has records, one a sample,
//! counted from 1; a record has a row of `CounterData` for each of its counters; a counter is a row of
//! `CounterDetails`, which all log sets share.
//!
//! **Source**: MS Learn, "SQL Log File Schema"; \[MS-PLA\] 2.2.2.7. Types are those of Windows where SQLite makes of
//! them what they mean; a GUID is a text of 36 characters, lower case. There is one index that Windows has not,
//! `CounterDetails_Names`. `CounterData` is kept in the order of time. Who often asks for single counters makes an
//! index: `CREATE INDEX CounterData_Counters ON CounterData (CounterID, RecordIndex)`.
//!
//! **No value is not zero**: a `CounterValue` that there is none of is NULL. Windows writes 0 there, its column has no
//! NULL. A counter that has neither a value nor raw numbers has no row in that record. Raw numbers that there are none
//! of are NULL.
//!
//! **Numbers of 32 bits** are signed, as a database of Windows has them: a value that does not fit keeps its bits, and
//! so do the low (`A`) and high (`B`) halves of numbers of 64 bits.
//!
//! **Times** are UTC, `yyyy-mm-dd hh:mm:ss.nnn`, which SQLite's date functions understand. Windows' column is a
//! character longer, and relog leaves a NUL there (reported in public, 2008); here there is none.
//!
//! Not known, for want of a database that Windows wrote: whether `LogStartTime` and `LogStopTime` are UTC there, and
//! have a full stop or, as the documents say, a colon before the milliseconds; whether `MinutesToUTC` has the sign that
//! text logs give it, as here; whether records are counted from 1; which `RunID` there is (reserved; here NULL);
//! what `InstanceIndex` is where there is no instance (here NULL). `ParentObjectID` is always NULL here: parents have
//! names.

use std::error::Error;
use std::path::{Path, PathBuf};

use perfset_core::{CounterType, Guid, catalogue};
use uuid::Uuid;

use crate::text::Zone;

mod writer;
#[cfg(test)]
mod tests;

pub use writer::Writer;

/// The tables, made where they are missing.
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
CREATE INDEX IF NOT EXISTS CounterDetails_Names ON CounterDetails (CounterName, InstanceName, ObjectName);
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

/// What a writer does with a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leaves it, and fails.
    Refuse,
    /// Puts the new one in its place once that is whole.
    Replace,
    /// Adds another log set to it. Counters that it knows keep their ids.
    Append,
}

/// What a log is called in a database: a row of `DisplayToID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSet {
    /// What tells it from all others.
    #[doc(alias = "GUID")]
    pub guid: Guid,
    /// Its name for people. A database has each once.
    #[doc(alias = "DisplayString")]
    pub name: String,
    /// Where it was recorded. Times in the database are UTC.
    pub zone: Zone,
}

impl LogSet {
    /// With a GUID that is made of the name (version 5): a name in a database is there once, and the same log makes the
    /// same file again. Who brings databases of several machines together gives each log set a GUID of its own.
    #[must_use]
    pub fn new(name: impl Into<String>, zone: Zone) -> Self {
        let name = name.into();
        let namespace = Uuid::from_u128(catalogue::NAMESPACE.to_u128());
        let guid = Guid::from_u128(Uuid::new_v5(&namespace, format!("sql:{name}").as_bytes()).as_u128());
        Self { guid, name, zone }
    }
}

/// A counter of a machine: a row of `CounterDetails`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail<'a> {
    /// The machine, with its backslashes.
    #[doc(alias = "MachineName")]
    pub machine: &'a str,
    /// The counterset.
    #[doc(alias = "ObjectName")]
    pub object: &'a str,
    /// The counter.
    #[doc(alias = "CounterName")]
    pub counter: &'a str,
    /// Its type.
    #[doc(alias = "CounterType")]
    pub counter_type: CounterType,
    /// The power of ten that its values are drawn with.
    #[doc(alias = "DefaultScale")]
    pub default_scale: i32,
    /// The instance; none of a counterset that has none.
    pub instance: Option<Instance<'a>>,
    /// What the instance belongs to.
    #[doc(alias = "ParentName")]
    pub parent: Option<&'a str>,
    /// Ticks of the clock that its type divides by a second.
    #[doc(alias("TimeBaseA", "TimeBaseB"))]
    pub time_base: i64,
}

/// An instance of a counterset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance<'a> {
    /// Its name.
    #[doc(alias = "InstanceName")]
    pub name: &'a str,
    /// Which one of that name it is, from 0.
    #[doc(alias = "InstanceIndex")]
    pub index: u32,
}

/// The `CounterID` of a counter in one database. The ids that a counterset gives its counters are others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterId(i64);

/// A SQL log could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// There is a file, and it was to be left alone.
    #[error("{}: is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A log set of that name or GUID is in the database.
    #[error("{}: has a log set {name:?} already", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// The name of the log set.
        name: String,
    },
    /// The file system or SQLite fails.
    #[error("{}: cannot {doing}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// Why not.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    /// Something failed before, and the log was given up.
    #[error("{}: was given up after an error", path.display())]
    GivenUp {
        /// The file.
        path: PathBuf,
    },
}

impl SqlError {
    fn failed(path: &Path, doing: &'static str, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed { path: path.into(), doing, error: error.into() }
    }
}
