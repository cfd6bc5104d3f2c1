//! Reader of SQL logs: the rows of all log sets, one after the other.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::Path;

use perfset_core::{CounterType, Mark, NoValue};
use perfset_engine::path::CounterPath;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, params};

use crate::records::{RecordedValue, SERIES_LIMIT, number, time};

/// Number of rows of `CounterData` that are read at once.
const BATCH: u32 = 1_024;
/// Maximum number of bytes of a name that is read from a SQL log. Names of perfset and of Windows are shorter; a file
/// could have 1 GB.
const NAME_MAX: usize = 65_536;
/// Maximum number of bytes of a value and of a row that are read from a SQL log. SQLite allows 1 GB, which one row
/// would take in memory.
const ROW_MAX: i32 = 1 << 20;

/// Reader of the rows of `CounterData` in a SQL log, in the order of log sets, records and counters.
///
/// Rows are read in batches, each with a query of its own, so memory does not grow with the length of the log. The file
/// is untrusted: it is opened read-only, its schema calls no functions, rows have a maximum length, and views, virtual
/// tables and generated columns are refused.
pub(crate) struct SqlRows {
    connection: Connection,
    /// GUIDs of the log sets that are not completely read yet, in the order of their start times.
    sets: VecDeque<String>,
    /// Record number and counter id of the last row of `CounterData` that was read.
    last: (i64, i64),
    /// Number of the first record of the current log set.
    first_record: Option<i64>,
    counters: HashMap<i64, SqlCounter>,
    batch: VecDeque<Result<RecordedValue, String>>,
}

/// Path of a counter in the database of a SQL log, and the counter's need for two samples.
struct SqlCounter {
    path: CounterPath,
    needs_two_samples: bool,
}

impl fmt::Debug for SqlRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlRows").field("sets", &self.sets).field("last", &self.last).finish_non_exhaustive()
    }
}

impl SqlRows {
    /// Opens the SQLite file of a SQL log, and reads the file's log sets and counters.
    pub fn open(file: &Path) -> rusqlite::Result<Self> {
        // A relative path might equal a special name of SQLite, such as ":memory:".
        let file = std::path::absolute(file).map_err(|_| rusqlite::Error::InvalidPath(file.to_owned()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file, flags)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_MAX)?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")?;
        let mut rows = Self {
            connection,
            sets: VecDeque::new(),
            last: (i64::MIN, i64::MIN),
            first_record: None,
            counters: HashMap::new(),
            batch: VecDeque::new(),
        };
        rows.check_tables()?;
        rows.read_sets()?;
        rows.read_counters()?;
        Ok(rows)
    }

    /// Returns an error if a required table is missing, is a view or a virtual table, or has a generated column. Views,
    /// virtual tables and generated columns can compute without end, and in any amount of memory.
    fn check_tables(&self) -> rusqlite::Result<()> {
        const FIND: &str = "SELECT 1 FROM sqlite_schema WHERE name = ? AND type = 'table' AND rootpage > 0";
        // 2 and 3 are generated columns; a plain column has 0.
        const FIND_GENERATED: &str = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden <> 0";
        let mut find = self.connection.prepare(FIND)?;
        let mut find_generated = self.connection.prepare(FIND_GENERATED)?;
        for table in ["CounterDetails", "CounterData", "DisplayToID"] {
            if !find.exists([table])? {
                return Err(rusqlite::Error::InvalidParameterName(format!("no table is named {table}")));
            }
            if find_generated.exists([table])? {
                let what = format!("the table {table} has a generated column");
                return Err(rusqlite::Error::InvalidParameterName(what));
            }
        }
        Ok(())
    }

    fn read_sets(&mut self) -> rusqlite::Result<()> {
        const READ: &str = "SELECT GUID FROM DisplayToID ORDER BY LogStartTime, DisplayString LIMIT 100000";
        let mut read = self.connection.prepare(READ)?;
        let mut rows = read.query(())?;
        while let Some(row) = rows.next()? {
            self.sets.extend(text(row, 0)?);
        }
        Ok(())
    }

    fn read_counters(&mut self) -> rusqlite::Result<()> {
        const READ: &str =
            "SELECT CounterID, MachineName, ObjectName, CounterName, ParentName, InstanceName, InstanceIndex,
            CounterType FROM CounterDetails LIMIT ?";
        let mut read = self.connection.prepare(READ)?;
        let mut rows = read.query([i64::try_from(SERIES_LIMIT).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            let (ValueRef::Integer(id), Some(object), Some(counter)) =
                (row.get_ref(0)?, text(row, 2)?, text(row, 3)?)
            else {
                continue;
            };
            let machine = text(row, 1)?.map(|name| name.trim_start_matches('\\').to_owned());
            let instance = text(row, 5)?.map(|name| {
                let parent = text(row, 4).ok().flatten().map(|parent| parent + "/").unwrap_or_default();
                // The first instance of a name has no number in a path.
                let number = match row.get_ref(6) {
                    Ok(ValueRef::Integer(number @ 1..)) => format!("#{number}"),
                    _ => String::new(),
                };
                format!("{parent}{name}{number}")
            });
            let machine = machine.filter(|name| !name.is_empty());
            let bits = match row.get_ref(7) {
                Ok(ValueRef::Integer(bits)) => i32::try_from(bits).ok(),
                _ => None,
            };
            let counter_type = bits.map(|bits| CounterType(u32::from_ne_bytes(bits.to_ne_bytes())));
            let needs_two_samples = counter_type.is_some_and(CounterType::needs_two_samples);
            let path = CounterPath { machine, counterset: object, instance, counter };
            self.counters.insert(id, SqlCounter { path, needs_two_samples });
        }
        Ok(())
    }

    /// Returns the next row of `CounterData`: a value, or the reason why the row cannot be used; `None` after the
    /// last row.
    pub fn next(&mut self) -> rusqlite::Result<Option<Result<RecordedValue, String>>> {
        loop {
            if let Some(row) = self.batch.pop_front() {
                return Ok(Some(row));
            }
            let Some(set) = self.sets.front() else { return Ok(None) };
            // Along the primary key, so that each batch begins where the last one ended.
            const READ: &str = "SELECT RecordIndex, CounterID, CounterDateTime, CounterValue FROM CounterData
                WHERE GUID = ?1 AND (RecordIndex, CounterID) > (?2, ?3) ORDER BY RecordIndex, CounterID LIMIT ?4";
            let (record, counter) = self.last;
            let mut read = self.connection.prepare_cached(READ)?;
            let mut rows = read.query(params![set, record, counter, BATCH])?;
            while let Some(row) = rows.next()? {
                let (ValueRef::Integer(record), ValueRef::Integer(counter)) =
                    (row.get_ref(0)?, row.get_ref(1)?)
                else {
                    // Texts and blobs are behind all numbers, and no writer has them there.
                    self.batch.push_back(Err("a row has no number of its record".to_owned()));
                    self.last = (i64::MAX, i64::MAX);
                    break;
                };
                self.last = (record, counter);
                let is_first = *self.first_record.get_or_insert(record) == record;
                self.batch.push_back(self.counters.get(&counter).map_or_else(
                    || Err(format!("record {record} has a value of the unknown counter {counter}")),
                    |counter| Self::record(row, record, counter, is_first),
                ));
            }
            if self.batch.is_empty() {
                drop(rows);
                drop(read);
                self.sets.pop_front();
                (self.last, self.first_record) = ((i64::MIN, i64::MIN), None);
            }
        }
    }

    fn record(
        row: &Row<'_>,
        record: i64,
        counter: &SqlCounter,
        is_first: bool,
    ) -> Result<RecordedValue, String> {
        let when = text(row, 2).ok().flatten().unwrap_or_default();
        // Windows leaves a NUL at the end.
        let when = when.trim_end_matches('\0').replace(' ', "T") + "Z";
        let time = time(&when).ok_or_else(|| format!("record {record} has no valid time"))?;
        let value = match row.get_ref(3) {
            Ok(ValueRef::Real(value)) => number(value),
            // The tables have no reasons, and this one is certain.
            Ok(ValueRef::Null) if is_first && counter.needs_two_samples => {
                let (path, value) = (counter.path.clone(), Err(NoValue::NeedsTwoSamples));
                return Ok(RecordedValue { time, path, value });
            }
            #[expect(
                clippy::as_conversions,
                reason = "SQLite stores whole doubles as integers, without loss"
            )]
            Ok(ValueRef::Integer(value)) => Some(value as f64),
            _ => None,
        };
        let value = value.map(|value| (value, Mark::Formatted)).ok_or(NoValue::NotGiven);
        Ok(RecordedValue { time, path: counter.path.clone(), value })
    }
}

/// Returns the text in a column of a database row; `None` for other types, and for text that is too long or not
/// UTF-8.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) if bytes.len() <= NAME_MAX => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    })
}
