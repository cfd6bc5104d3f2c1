//! Reader of record logs, sample by sample.

use std::collections::HashMap;
use std::io::{Chain, Cursor, Read};
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

use perfset_engine::path::CounterPath;

use super::csv::CsvColumns;
use super::raw::RawRecords;
use super::record::RecordedValue;
use super::{RECORD_LIMIT, RecordFormat, RecordLogError, SERIES_LIMIT, json};
use crate::Damages;
#[cfg(feature = "sqlite")]
use crate::sql::reader::SqlRows;

/// Reader of a record log, with one record and the values of one sample in memory.
///
/// Everything that is no valid record is left out and recorded in [`damages`](Self::damages).
#[derive(Debug)]
pub struct RecordLogReader<R> {
    input: RecordInput<R>,
    format: RecordFormat,
    series: Arc<RecordSeries>,
    /// `true` if records of other series than the known ones are left out.
    is_closed: bool,
    values: Vec<Option<f64>>,
    has_record: Vec<bool>,
    /// First record of the next sample.
    pending: Option<(u64, RecordedValue)>,
    damages: Damages,
    is_over: bool,
}

/// Origin of the records of a log.
#[derive(Debug)]
enum RecordInput<R> {
    Text {
        records: RawRecords<Chain<Cursor<Vec<u8>>, R>>,
        /// Columns of CSV; `None` for other formats.
        columns: Option<CsvColumns>,
    },
    #[cfg(feature = "sqlite")]
    Rows(Box<SqlRows>),
}

/// Sample of a record log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordSample<'a> {
    /// UTC time in 100 ns since 1601.
    pub time: i64,
    /// Offset of the first record.
    pub offset: u64,
    /// Values in the order of the reader's paths; never NaN or infinite.
    pub values: &'a [Option<f64>],
    /// For each value, `true` if the sample has a record of it, and `false` if the instance did not exist or was not
    /// printed.
    pub has_record: &'a [bool],
}

/// Paths of the values of a log, in the order of their first records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecordSeries {
    pub paths: Vec<CounterPath>,
    by_path: HashMap<CounterPath, usize>,
}

impl<R: Read> RecordLogReader<R> {
    /// Creates a reader, and reads the header of CSV.
    ///
    /// # Errors
    /// If the input does not begin as a record log, or cannot be read.
    pub fn new(input: R) -> Result<Self, RecordLogError> {
        Self::with_limits(input, RECORD_LIMIT)
    }

    pub(super) fn with_limits(mut input: R, limit: usize) -> Result<Self, RecordLogError> {
        /// Number of bytes that show the format.
        const TELLING: u64 = 32;
        let failed = |offset| move |error| RecordLogError::Io { offset, error };
        let mut first = Vec::new();
        input.by_ref().take(TELLING).read_to_end(&mut first).map_err(failed(0))?;
        let format = RecordFormat::detect(&first).ok_or(RecordLogError::NoRecord)?;
        let mut records = RawRecords::new(Cursor::new(first).chain(input), format, limit);
        let columns = match format {
            RecordFormat::Csv => {
                let header = records.next().map_err(failed(0))?.ok_or(RecordLogError::NoRecord)?;
                Some(CsvColumns::new(header.text)?)
            }
            RecordFormat::Json | RecordFormat::Sqlite => None,
        };
        Ok(Self::from_input(RecordInput::Text { records, columns }, format))
    }

    /// Creates a reader of the tables in a SQLite file. Damage has the position 0.
    ///
    /// # Errors
    /// If the file is no SQL log, or cannot be read.
    #[cfg(feature = "sqlite")]
    pub(crate) fn open_sqlite(file: &Path) -> Result<Self, RecordLogError> {
        let rows = SqlRows::open(file).map_err(|error| RecordLogError::Sqlite(error.into()))?;
        Ok(Self::from_input(RecordInput::Rows(Box::new(rows)), RecordFormat::Sqlite))
    }

    fn from_input(input: RecordInput<R>, format: RecordFormat) -> Self {
        Self {
            input,
            format,
            series: Arc::default(),
            is_closed: false,
            values: Vec::new(),
            has_record: Vec::new(),
            pending: None,
            damages: Damages::default(),
            is_over: false,
        }
    }

    /// Returns the format of the log.
    #[must_use]
    pub fn format(&self) -> RecordFormat {
        self.format
    }

    /// Returns the paths of the values read so far, in the order of their first records.
    #[must_use]
    pub fn paths(&self) -> &[CounterPath] {
        &self.series.paths
    }

    /// Returns the damage found so far.
    #[must_use]
    pub fn damages(&self) -> &Damages {
        &self.damages
    }

    /// Returns the series read so far.
    pub(crate) fn series(&self) -> &Arc<RecordSeries> {
        &self.series
    }

    /// Reads only records of known series. Values then have the same positions in all samples.
    pub(crate) fn limit_to(&mut self, series: Arc<RecordSeries>) {
        self.series = series;
        self.is_closed = true;
    }

    /// Takes the values of the last sample and whether each has a record. Keeps the memory of both for the next sample.
    pub(crate) fn take_values(&mut self, values: &mut Vec<Option<f64>>, has_record: &mut Vec<bool>) {
        std::mem::swap(&mut self.values, values);
        std::mem::swap(&mut self.has_record, has_record);
    }

    /// Returns the next sample; `None` at the end of the log.
    ///
    /// # Errors
    /// If reading the input fails. Then the log is at its end.
    pub fn next_sample(&mut self) -> Result<Option<RecordSample<'_>>, RecordLogError> {
        self.values.clear();
        self.has_record.clear();
        if self.is_closed {
            self.values.resize(self.series.paths.len(), None);
            self.has_record.resize(self.series.paths.len(), false);
        }
        let mut sample = None;
        while let Some((offset, record)) = self.next_record()? {
            match sample {
                Some((time, _)) if time != record.time => {
                    self.pending = Some((offset, record));
                    break;
                }
                Some(_) => {}
                None => sample = Some((record.time, offset)),
            }
            self.put(offset, record);
        }
        let Self { values, has_record, .. } = self;
        Ok(sample.map(|(time, offset)| RecordSample { time, offset, values, has_record }))
    }

    /// Stores the value of a record in the current sample.
    fn put(&mut self, offset: u64, record: RecordedValue) {
        let RecordedValue { path, value, .. } = record;
        let position = match self.series.by_path.get(&path) {
            Some(position) => *position,
            None if self.is_closed => {
                let what = format!("{path} was not in the log when it was opened: its value is left out");
                return self.damages.add(offset, what);
            }
            None if self.series.paths.len() >= SERIES_LIMIT => {
                return self.damages.add(offset, "there are too many paths: a value is left out");
            }
            None => {
                let series = Arc::make_mut(&mut self.series);
                let position = series.paths.len();
                series.paths.push(path.clone());
                series.by_path.insert(path.clone(), position);
                position
            }
        };
        let len = self.values.len().max(position.saturating_add(1));
        self.values.resize(len, None);
        self.has_record.resize(len, false);
        let (Some(known), Some(has_record)) =
            (self.values.get_mut(position), self.has_record.get_mut(position))
        else {
            return;
        };
        // Two paths of a query can select one counter, so a value may be there twice.
        let is_other = known.map(f64::to_bits) != value.map(f64::to_bits);
        if std::mem::replace(has_record, true) && is_other {
            return self.damages.add(offset, format!("another value of {path} at the same time is left out"));
        }
        *known = value;
    }

    /// Returns the next valid record with its offset.
    fn next_record(&mut self) -> Result<Option<(u64, RecordedValue)>, RecordLogError> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        while !self.is_over {
            let (offset, parsed) = match self.input.next() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(error) => {
                    self.is_over = true;
                    return Err(error);
                }
            };
            match parsed {
                Ok(Some(record)) => return Ok(Some((offset, record))),
                Ok(None) => {}
                Err(what) => self.damages.add(offset, format!("{what}: it is left out")),
            }
        }
        self.is_over = true;
        Ok(None)
    }
}

/// RecordedValue with its offset, `None` for what is no record, or the reason why it cannot be used.
type Parsed = (u64, Result<Option<RecordedValue>, String>);

impl<R: Read> RecordInput<R> {
    /// Returns the next record; `None` at the end.
    fn next(&mut self) -> Result<Option<Parsed>, RecordLogError> {
        let (records, columns) = match self {
            Self::Text { records, columns } => (records, columns),
            #[cfg(feature = "sqlite")]
            Self::Rows(rows) => {
                let row = rows.next().map_err(|error| RecordLogError::Sqlite(error.into()))?;
                return Ok(row.map(|row| (0, row.map(Some))));
            }
        };
        // Taken before the read, so that an error contains the offset at which reading failed.
        let at = records.offset();
        let Some(raw) = records.next().map_err(|error| RecordLogError::Io { offset: at, error })? else {
            return Ok(None);
        };
        let parsed = match (columns, raw.text) {
            _ if raw.is_too_long => Err("a record is too long".to_owned()),
            (_, b"") => Ok(None),
            // The beginning of a number is a number, too.
            (Some(columns), _) if raw.is_cut && columns.ends_in_value() => {
                Err("the file ends in a value".to_owned())
            }
            (Some(columns), line) if columns.is_header(line) => Ok(None),
            (Some(columns), line) => columns.record(line).map(Some),
            (None, line) => json::record(line),
        };
        Ok(Some((raw.offset, parsed)))
    }
}
