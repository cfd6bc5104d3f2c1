//! Reader of record logs, sample by sample.

use std::collections::HashMap;
use std::io::{Chain, Cursor, Read};
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

use memchr::memchr;
use perfset_core::{Mark, NoValue};
use perfset_engine::path::CounterPath;

use super::csv::CsvColumns;
use super::raw::RawRecords;
use super::record::RecordedValue;
use super::{RECORD_LIMIT, RecordFormat, RecordLogError, SERIES_LIMIT, is_wide, json};
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
    /// `true` if the reader leaves out records of other series than the known ones.
    is_closed: bool,
    sample: SampleRecords,
    /// First record of the next sample, which has been read ahead, with its offset.
    pending: Option<(u64, RecordedValue)>,
    damages: Damages,
    is_over: bool,
}

/// Input from which the records of a record log are read.
#[derive(Debug)]
enum RecordInput<R> {
    Text {
        records: RawRecords<Chain<Cursor<Vec<u8>>, R>>,
        /// Indexes of the CSV fields; `None` for other formats.
        columns: Option<Box<CsvColumns>>,
    },
    #[cfg(feature = "sqlite")]
    Rows(Box<SqlRows>),
}

/// Sample of a record log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordSample<'a> {
    /// UTC time of the sample in 100 ns since 1601.
    pub time: i64,
    /// Offset in the file of the sample's first record.
    pub offset: u64,
    /// Values of the sample in the order of the reader's paths; never NaN or infinite.
    pub values: &'a [Option<f64>],
    /// List with `true` for each value that has a record in the sample, and `false` if the instance did not exist or
    /// was not printed.
    pub has_record: &'a [bool],
    /// Marks of values other than [`Mark::Formatted`], and reasons for missing values, as far as the log has them, by
    /// position in `values`.
    pub notes: &'a HashMap<usize, Result<Mark, NoValue>>,
}

/// Values of a record log's sample, by position. Clearing takes as long as the sample has records, however many
/// series the log has.
#[derive(Debug, Default)]
pub(crate) struct SampleRecords {
    pub values: Vec<Option<f64>>,
    pub has_record: Vec<bool>,
    pub notes: HashMap<usize, Result<Mark, NoValue>>,
    /// Positions in the sample that have a record.
    used: Vec<usize>,
}

#[cfg(test)]
thread_local! {
    /// Number of positions of samples that this thread cleared or added. A test checks that it grows linearly with
    /// the records.
    pub(super) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl SampleRecords {
    fn clear(&mut self) {
        for position in self.used.drain(..) {
            #[cfg(test)]
            LOOKED_AT.with(|positions| positions.set(positions.get() + 1));
            self.values.iter_mut().skip(position).take(1).for_each(|value| *value = None);
            self.has_record.iter_mut().skip(position).take(1).for_each(|has_record| *has_record = false);
            if !self.notes.is_empty() {
                self.notes.remove(&position);
            }
        }
    }

    /// Makes room for this number of values in the sample.
    fn grow(&mut self, len: usize) {
        #[cfg(test)]
        LOOKED_AT.with(|positions| positions.set(positions.get() + len.saturating_sub(self.values.len())));
        if len > self.values.len() {
            self.values.resize(len, None);
            self.has_record.resize(len, false);
        }
    }

    /// Stores the value of a record. Returns `false` if the sample has another one at this position.
    fn put(&mut self, position: usize, value: Result<(f64, Mark), NoValue>) -> bool {
        self.grow(position.saturating_add(1));
        let (number, note) = match value {
            Ok((number, Mark::Formatted)) => (Some(number), None),
            Ok((number, mark)) => (Some(number), Some(Ok(mark))),
            Err(NoValue::NotGiven) => (None, None),
            Err(reason) => (None, Some(Err(reason))),
        };
        let (Some(known), Some(has_record)) =
            (self.values.get_mut(position), self.has_record.get_mut(position))
        else {
            return true;
        };
        if std::mem::replace(has_record, true) {
            let is_same_note = self.notes.get(&position) == note.as_ref();
            return known.map(f64::to_bits) == number.map(f64::to_bits) && is_same_note;
        }
        *known = number;
        self.used.push(position);
        self.notes.extend(note.map(|note| (position, note)));
        true
    }
}

/// Counter paths of the values of a record log, in the order of their first records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecordSeries {
    pub paths: Vec<CounterPath>,
    by_path: HashMap<CounterPath, usize>,
}

impl<R: Read> RecordLogReader<R> {
    /// Creates a reader of a record log, and reads the header of CSV.
    ///
    /// # Errors
    /// If the input does not begin as a record log, or cannot be read.
    pub fn new(input: R) -> Result<Self, RecordLogError> {
        Self::with_limits(input, RECORD_LIMIT)
    }

    pub(super) fn with_limits(mut input: R, limit: usize) -> Result<Self, RecordLogError> {
        /// Number of first bytes of a record log that are needed to detect its format.
        const TELLING: u64 = 512;
        let failed = |offset| move |error| RecordLogError::Io { offset, error };
        let mut first = Vec::new();
        input.by_ref().take(TELLING).read_to_end(&mut first).map_err(failed(0))?;
        if is_wide(&first) {
            return Err(RecordLogError::Wide);
        }
        let format = RecordFormat::detect(&first).ok_or(RecordLogError::NoRecord)?;
        let mut records = RawRecords::new(Cursor::new(first).chain(input), format, limit);
        let columns = match format {
            RecordFormat::Csv => {
                let header = records.next().map_err(failed(0))?.ok_or(RecordLogError::NoRecord)?;
                Some(Box::new(CsvColumns::new(header.text)?))
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
            sample: SampleRecords::default(),
            pending: None,
            damages: Damages::default(),
            is_over: false,
        }
    }

    /// Returns the format of the record log.
    #[must_use]
    pub fn format(&self) -> RecordFormat {
        self.format
    }

    /// Returns the counter paths of the values read so far, in the order of their first records.
    #[must_use]
    pub fn paths(&self) -> &[CounterPath] {
        &self.series.paths
    }

    /// Returns the damage of the record log that was found so far.
    #[must_use]
    pub fn damages(&self) -> &Damages {
        &self.damages
    }

    /// Returns the series of the record log that were read so far.
    pub(crate) fn series(&self) -> &Arc<RecordSeries> {
        &self.series
    }

    /// Makes the reader read only records of known series. Values then have the same positions in all samples.
    pub(crate) fn limit_to(&mut self, series: Arc<RecordSeries>) {
        self.series = series;
        self.is_closed = true;
    }

    /// Moves out the values of the last sample. Keeps the memory of `values` for the next sample.
    pub(crate) fn take_values(&mut self, values: &mut SampleRecords) {
        std::mem::swap(&mut self.sample, values);
    }

    /// Returns the next sample of the record log; `None` at the end of the log.
    ///
    /// # Errors
    /// If reading the input fails. Then the log is at its end.
    pub fn next_sample(&mut self) -> Result<Option<RecordSample<'_>>, RecordLogError> {
        self.sample.clear();
        self.sample.grow(self.series.paths.len());
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
        let SampleRecords { values, has_record, notes, .. } = &self.sample;
        Ok(sample.map(|(time, offset)| RecordSample { time, offset, values, has_record, notes }))
    }

    /// Stores the value of a record in the sample that is being read.
    fn put(&mut self, offset: u64, record: RecordedValue) {
        let RecordedValue { path, value, .. } = record;
        // A pattern without a hit, or an instance that has ended: its sample exists, and lacks the instance.
        if value == Err(NoValue::NoInstance) {
            return;
        }
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
        // Two paths of a query can select one counter, so a value may be there twice.
        if !self.sample.put(position, value) {
            self.damages.add(offset, format!("another value of {path} at the same time is left out"));
        }
    }

    /// Returns the next valid record of the log with its offset.
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
                Err(what) => self.damages.add(offset, what),
            }
        }
        self.is_over = true;
        Ok(None)
    }
}

/// Offset of a parsed record, and the record: `None` for data that is no record, or the damage for data that cannot be
/// used.
type Parsed = (u64, Result<Option<RecordedValue>, String>);

impl<R: Read> RecordInput<R> {
    /// Returns the next parsed record of the log; `None` at the end.
    fn next(&mut self) -> Result<Option<Parsed>, RecordLogError> {
        let (records, columns) = match self {
            Self::Text { records, columns } => (records, columns),
            #[cfg(feature = "sqlite")]
            Self::Rows(rows) => {
                let row = rows.next().map_err(|error| RecordLogError::Sqlite(error.into()))?;
                let parsed =
                    |row: Result<_, _>| row.map(Some).map_err(|what| format!("row left out: {what}"));
                return Ok(row.map(|row| (0, parsed(row))));
            }
        };
        // Taken before the read, so that an error contains the offset at which reading failed.
        let at = records.offset();
        let Some(raw) = records.next().map_err(|error| RecordLogError::Io { offset: at, error })? else {
            return Ok(None);
        };
        let (offset, is_joined) = (raw.offset, memchr(b'\n', raw.text).is_some());
        let parsed = match (columns, raw.text) {
            _ if raw.is_too_long => Err(None),
            (_, b"") => Ok(None),
            (Some(columns), line) if columns.is_header(line) => Ok(None),
            (Some(columns), line) => columns.record(line, raw.is_cut).map(Some).map_err(Some),
            (None, line) => json::record(line).map_err(Some),
        };
        let parsed = parsed.map_err(|what| {
            let len = records.leave_out_line();
            match what {
                None => format!("{len} bytes left out: a record is too long"),
                // A quote too many may have joined this line with the next ones.
                Some(what) if is_joined => format!("{len} bytes left out: {what}"),
                Some(what) => format!("line left out: {what}"),
            }
        });
        Ok(Some((offset, parsed)))
    }
}
