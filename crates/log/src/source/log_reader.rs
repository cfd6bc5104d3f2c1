//! Log reader: reads one log sample by sample, one sample ahead.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use perfset_core::wire::WireError;
use perfset_core::{CounterType, Mark, NoValue, v1};
use perfset_engine::path::CounterPath;
use perfset_engine::per_process::PerProcess;
use perfset_engine::v1::windows_names;

use crate::blg;
use crate::damage::Damages;
use crate::open::{Log, LogError};
use crate::records::{RecordSeries, SampleRecords};
use crate::text;

/// Input of a log source: the path of a log file, or the contents of a log in memory. The log is read once for each
/// query, and once to find all instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Path of a log file.
    File(PathBuf),
    /// Contents of a log in memory.
    Bytes(Arc<[u8]>),
}

impl Input {
    fn open_log(&self, read: &Arc<AtomicU64>) -> Result<Log<Box<dyn Read + Send>>, LogError> {
        match self {
            Self::File(path) => Log::open_named(path, self.open(read)?),
            Self::Bytes(_) => Log::open(self.open(read)?),
        }
    }

    fn fingerprint(&self) -> Result<Fingerprint, LogError> {
        Ok(match self {
            Self::File(path) => {
                let metadata = fs::metadata(path)?;
                (metadata.len(), metadata.modified().ok())
            }
            Self::Bytes(bytes) => (u64::try_from(bytes.len()).unwrap_or(u64::MAX), None),
        })
    }

    fn open(&self, read: &Arc<AtomicU64>) -> Result<Box<dyn Read + Send>, LogError> {
        let count = |inner| Counted { inner, read: Arc::clone(read) };
        Ok(match self {
            // A pipe provides its bytes only once, and opening a pipe waits for a writer.
            Self::File(path) if !matches!(fs::metadata(path)?.file_type(), of if of.is_file() || of.is_dir()) =>
            {
                return Err(LogError::NotAFile);
            }
            Self::File(path) => Box::new(count(File::open(path)?)),
            Self::Bytes(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
        })
    }
}

/// Reader of a log file that counts the bytes read.
struct Counted {
    inner: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(into)?;
        self.read.fetch_add(u64::try_from(len).unwrap_or(u64::MAX), Relaxed);
        Ok(len)
    }
}

/// Entry of a log's counter list, which describes the same block or column of all samples.
#[derive(Clone, Debug)]
pub(super) struct LogEntry {
    pub path: ListedPath,
    pub what: LogEntryKind,
}

/// Counter path of a log's counter list. Texts common to many entries are stored once.
#[derive(Clone, Debug)]
pub(super) struct ListedPath {
    pub machine: Option<Arc<str>>,
    pub counterset: Arc<str>,
    pub instance: Option<Box<str>>,
    pub counter: Arc<str>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum LogEntryKind {
    /// Entry with raw values of a counter, of one instance or of a varying number of instances.
    Raw { counter_type: CounterType, time_base: i64, default_scale: i32, is_wild: bool },
    /// Entry with values of a counter of one instance, formatted by the log's writer, in every sample.
    Formatted,
    /// Entry like `Formatted`, with values only in those samples in which the instance existed.
    Recorded,
    /// Entry for all counters of all instances of an object.
    Object,
    /// Entry of a kind that cannot be read.
    Unknown,
}

impl From<&ListedPath> for CounterPath {
    fn from(path: &ListedPath) -> Self {
        Self {
            machine: path.machine.as_deref().map(str::to_owned),
            counterset: (*path.counterset).to_owned(),
            instance: path.instance.as_deref().map(str::to_owned),
            counter: (*path.counter).to_owned(),
        }
    }
}

impl fmt::Display for ListedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CounterPath::from(self).fmt(f)
    }
}

/// Texts of a counter list, stored once each.
#[derive(Default)]
struct Texts(HashSet<Arc<str>>);

impl Texts {
    fn one(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.0.insert(Arc::clone(&new));
        new
    }

    fn path(&mut self, path: &CounterPath) -> ListedPath {
        ListedPath {
            machine: path.machine.as_deref().map(|machine| self.one(machine)),
            counterset: self.one(&path.counterset),
            instance: path.instance.as_deref().map(Into::into),
            counter: self.one(&path.counter),
        }
    }
}

/// Counter lists of text logs and record logs, by the index of the log. A log is opened several times, and its header
/// may have 100,000 paths, so each header is parsed only once. A record log has no header, and is read to its end for
/// its list.
#[derive(Clone, Debug, Default)]
pub(super) struct TextLists {
    texts: Arc<Mutex<HashMap<usize, KnownList>>>,
    records: Arc<Mutex<HashMap<usize, (Fingerprint, KnownRecords)>>>,
}

/// Fingerprint that identifies the contents of a log, as far as it is known without reading them: length and time of
/// the last change.
type Fingerprint = (u64, Option<SystemTime>);

/// List of the series of a record log, and the counter list made from them.
#[derive(Clone, Debug)]
pub(super) struct KnownRecords {
    series: Arc<RecordSeries>,
    list: Arc<[LogEntry]>,
}

/// Hash of the counter paths of a log's header, and the counter list made from them.
type KnownList = (u64, Arc<[LogEntry]>);

impl TextLists {
    /// Moves the counter paths out of a log's header and returns their list. If the paths are unchanged, the stored
    /// list is returned.
    fn take<R: Read>(&self, number: usize, log: &mut text::TextLogReader<R>) -> Arc<[LogEntry]> {
        // A panic elsewhere leaves a complete list here, so a poisoned lock is no reason to fail.
        let mut known = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let (paths, hash) = log.take_paths();
        match known.get(&number) {
            // The file may have been replaced since, so the hash is compared and not only the index.
            Some((of, list)) if *of == hash => Arc::clone(list),
            _ => {
                let mut texts = Texts::default();
                let list: Arc<[LogEntry]> = paths.iter().map(|path| listed_text(path, &mut texts)).collect();
                known.insert(number, (hash, Arc::clone(&list)));
                list
            }
        }
    }
}

impl TextLists {
    /// Returns the series of a record log, which `read` finds in the log if it is not known, or has changed.
    fn take_records(
        &self,
        number: usize,
        fingerprint: Fingerprint,
        read: impl FnOnce() -> Result<Arc<RecordSeries>, LogError>,
    ) -> Result<KnownRecords, LogError> {
        let mut known = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = known.get(&number).filter(|(of, _)| *of == fingerprint) {
            return Ok(known.clone());
        }
        let series = read()?;
        let mut texts = Texts::default();
        let recorded = |path| LogEntry { path: texts.path(path), what: LogEntryKind::Recorded };
        let list = series.paths.iter().map(recorded).collect();
        let new = KnownRecords { series, list };
        known.insert(number, (fingerprint, new.clone()));
        Ok(new)
    }
}

/// Reader of one log that is one sample ahead.
pub(super) struct LogReader {
    log: Log<Box<dyn Read + Send>>,
    /// Offset that turns local times of the read log into UTC, in 100 ns.
    offset: i64,
    /// `true` if the log's sample `now` belongs to the current sample of the merged logs.
    pub is_fresh: bool,
    pub now: LogSample,
    next: LogSample,
    has_next: bool,
    list: Arc<[LogEntry]>,
    /// Names of objects and counters by title index, once requested.
    title_names: Option<Arc<v1::TitleNames>>,
    damages: Damages,
}

/// Copy of a sample of any log that outlives the reader's buffer.
#[derive(Debug)]
pub(super) struct LogSample {
    /// UTC time of the sample, in 100 ns since 1601.
    pub time: i64,
    /// Counter list of the log that is valid for the sample, with one entry for each block or column.
    pub list: Arc<[LogEntry]>,
    /// Copied sample of a binary log. For a text log only the offset of its line is set.
    pub sample: blg::OwnedSample,
    /// Values of the sample in a text log; empty for other logs.
    values: Vec<Option<f64>>,
    /// Values of the sample in a record log; empty for other logs.
    records: SampleRecords,
    /// `true` if the damage list already mentions the missing end of this sample.
    is_cut: bool,
}

impl Default for LogSample {
    fn default() -> Self {
        Self {
            time: 0,
            list: [].into(),
            sample: blg::OwnedSample::default(),
            values: Vec::new(),
            records: SampleRecords::default(),
            is_cut: false,
        }
    }
}

impl LogSample {
    /// Returns `true` if an entry of the counter list has no record in this sample, because its instance did not
    /// exist.
    pub fn lacks(&self, entry: usize) -> bool {
        self.records.has_record.get(entry) == Some(&false)
    }

    /// Returns the sample's value of an entry, which the log's writer formatted, with its mark, or the reason for
    /// none.
    pub fn formatted(&self, entry: usize) -> Result<(f64, Mark), NoValue> {
        let value = self.values.get(entry).or_else(|| self.records.values.get(entry)).copied().flatten();
        match (value, self.records.notes.get(&entry)) {
            (Some(value), Some(Ok(mark))) => Ok((value, *mark)),
            (Some(value), _) => Ok((value, Mark::Formatted)),
            (None, Some(Err(reason))) => Err(reason.clone()),
            (None, _) => Err(NoValue::NotGiven),
        }
    }
}

impl LogReader {
    /// Opens a log reader, and reads up to the first sample of its log.
    pub fn open(
        (number, input): (usize, &Input),
        read: &Arc<AtomicU64>,
        lists: &TextLists,
    ) -> Result<Self, LogError> {
        let log = input.open_log(read)?;
        let (now, next, damages) = Default::default();
        let mut reader = Self {
            log,
            offset: 0,
            is_fresh: false,
            now,
            next,
            has_next: false,
            list: [].into(),
            title_names: None,
            damages,
        };
        if let Log::Text(log) = &mut reader.log {
            reader.list = lists.take(number, log);
            for LogEntry { path, .. } in
                reader.list.iter().filter(|listed| matches!(listed.what, LogEntryKind::Unknown))
            {
                let path = &path.counter;
                reader.damages.add(0, format!("a column is left out: \"{path}\" is no counter path"));
            }
        }
        if let Log::Records(log) = &mut reader.log {
            let known = lists.take_records(number, input.fingerprint()?, || {
                let Log::Records(mut all) = input.open_log(read)? else { return Err(LogError::Unknown) };
                while all.next_sample()?.is_some() {}
                Ok(Arc::clone(all.series()))
            })?;
            log.limit_to(known.series);
            reader.list = known.list;
        }
        // The bias of a binary log depends on the date of its first sample: daylight saving time.
        reader.read()?;
        let minutes = match &reader.log {
            Log::Blg(log) => log.header().bias_minutes(reader.next.time),
            Log::Text(log) => log.header().zone.as_ref().map_or(0, |zone| zone.minutes),
            Log::Records(_) => 0, // UTC
        };
        // The first sample was read with offset 0, because the offset was not known before.
        reader.offset = i64::from(minutes).saturating_mul(600_000_000);
        reader.next.time = reader.next.time.saturating_add(reader.offset);
        Ok(reader)
    }

    /// Returns the UTC time of the log's next sample; `None` at the end of the log.
    pub fn next_time(&self) -> Option<i64> {
        self.has_next.then_some(self.next.time)
    }

    /// Returns the counter list of the log's next sample, which has been read ahead.
    pub fn next_list(&self) -> &Arc<[LogEntry]> {
        &self.next.list
    }

    /// Returns the log's next sample, which has been read ahead.
    pub fn ahead(&mut self) -> &mut LogSample {
        &mut self.next
    }

    /// Returns the offset that turns local times of this log into UTC, in 100 ns.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Returns the names of objects and counters by title index: those in the log, else those that every Windows has.
    /// Title indexes differ between Windows installations.
    pub fn title_names(&mut self) -> Arc<v1::TitleNames> {
        let names = self.title_names.get_or_insert_with(|| match &self.log {
            Log::Blg(log) if *log.names() != blg::BlgNames::default() => {
                Arc::new(v1::TitleNames::read(log.names().table()).0)
            }
            _ => built_in_names(),
        });
        Arc::clone(names)
    }

    /// Returns `true` if the log had a sample before the next one.
    pub fn has_begun(&self) -> bool {
        self.now.time != 0
    }

    /// Makes the log's next sample, which has been read ahead, the current one.
    pub fn advance(&mut self) -> Result<(), LogError> {
        std::mem::swap(&mut self.now, &mut self.next);
        self.read()
    }

    fn read(&mut self) -> Result<(), LogError> {
        // One sample ahead, because merging needs the time of the next sample of every log.
        let Self { log, offset, next, list, .. } = self;
        self.has_next = false;
        next.is_cut = false;
        match log {
            Log::Blg(log) => {
                while let Some(record) = log.next_record()? {
                    match record {
                        blg::Record::Sample(sample) => {
                            next.time = sample.time.saturating_add(*offset);
                            next.sample.copy_from(&sample);
                            self.has_next = true;
                            break;
                        }
                        // A log can continue with another list; entries of samples are numbers in the list
                        // before them.
                        blg::Record::Counters => {
                            let mut texts = Texts::default();
                            *list = log.counters().iter().map(|entry| listed(entry, &mut texts)).collect();
                        }
                        _ => {}
                    }
                }
            }
            Log::Text(log) => {
                if let Some(line) = log.next_line()? {
                    next.time = line.time.saturating_add(*offset);
                    self.has_next = true;
                    log.take_values(&mut next.values);
                    next.sample.offset = log.line_offset();
                }
            }
            Log::Records(log) => {
                if let Some(sample) = log.next_sample()? {
                    (next.time, next.sample.offset) = (sample.time, sample.offset);
                    self.has_next = true;
                    log.take_values(&mut next.records);
                }
            }
        }
        // Lists are compared by pointer: this one is shared, never copied.
        if !Arc::ptr_eq(&next.list, list) {
            next.list = Arc::clone(list);
        }
        Ok(())
    }

    /// Returns `true` if the log reader's current sample is of a binary log and complete, as far as it was read.
    pub fn has_bytes(&self) -> bool {
        self.is_fresh && !self.now.is_cut && matches!(self.log, Log::Blg(_))
    }

    /// Returns the damage found so far in the log's samples.
    pub fn own_damages(&mut self) -> &mut Damages {
        &mut self.damages
    }

    /// Records once as damage that the log's current sample ends too early, however many countersets detect it.
    pub fn cut(&mut self, error: &WireError) {
        if !std::mem::replace(&mut self.now.is_cut, true) {
            self.damaged(format!("the rest of a sample is left out: {error}"));
        }
    }

    /// Records damage of the log's current sample.
    pub fn damaged(&mut self, what: String) {
        self.damages.add(self.now.sample.offset, what);
    }

    /// Returns the damage of the log that was found so far.
    pub fn damages(&self) -> Damages {
        let mut all = self.damages.clone();
        all.take_over(match &self.log {
            Log::Blg(log) => log.damages(),
            Log::Text(log) => log.damages(),
            Log::Records(log) => log.damages(),
        });
        all
    }
}

/// Returns the names of objects and counters that every Windows has, built once.
fn built_in_names() -> Arc<v1::TitleNames> {
    static NAMES: PerProcess<Arc<v1::TitleNames>> = PerProcess::new();
    Arc::clone(NAMES.get(|| Arc::new(windows_names())))
}

fn listed(recorded: &blg::CounterRecord, texts: &mut Texts) -> LogEntry {
    let machine = recorded.machine.trim_start_matches('\\');
    let path = ListedPath {
        machine: (!machine.is_empty()).then(|| texts.one(machine)),
        counterset: texts.one(&recorded.object),
        instance: recorded.full_instance().map(Into::into),
        counter: texts.one(&recorded.counter),
    };
    let blg::CounterRecord { counter_type, time_base, default_scale, .. } = *recorded;
    let raw = |is_wild| LogEntryKind::Raw { counter_type, time_base, default_scale, is_wild };
    let what = match recorded.what {
        blg::EntryScope::Counter => raw(false),
        blg::EntryScope::Instances => raw(true),
        blg::EntryScope::Object => LogEntryKind::Object,
        blg::EntryScope::Unknown(_) => LogEntryKind::Unknown,
    };
    LogEntry { path, what }
}

fn listed_text(path: &str, texts: &mut Texts) -> LogEntry {
    match path.parse::<CounterPath>() {
        Ok(path) => LogEntry { path: texts.path(&path), what: LogEntryKind::Formatted },
        Err(_) => {
            let (counterset, counter) = (texts.one(""), texts.one(path));
            let path = ListedPath { machine: None, counterset, instance: None, counter };
            LogEntry { path, what: LogEntryKind::Unknown }
        }
    }
}

#[cfg(test)]
impl LogEntry {
    /// Returns an entry of a counter list with this path.
    pub fn new(path: &str, what: LogEntryKind) -> Self {
        Self { path: Texts::default().path(&path.parse().unwrap()), what }
    }
}
