//! Replay of a capture: a captured directory replaces the functions and the performance key that responded.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::clock::ClockReading;
use perfset_core::v1::DataBlock;
use perfset_core::v2::Block;
use perfset_core::v2::identifier::{self, Identifiers, NewIdentifier};
use perfset_core::{CounterFilter, Guid, InstanceIdFilter, Language, Status, Text, Utf16};
use perfset_engine::{Catalogue, Change, Clock, CollectRequest, Entry, Machine, Provider, Rows, SourceError};

use super::{FIRST_LINE, MANIFEST, QUERY, REGISTRATIONS, V1};
use crate::emulated::fill;
use crate::functions::{FillResult, PerfLib, PerformanceKey, RawQuery};
use crate::v1::V1Provider;
use crate::{Settings, register_v2_before};

/// Maximum size of a file of captured responses, in bytes.
const FILE_MOST: u64 = 512 << 20;
/// Maximum size of a captured machine's manifest in bytes; a counterset takes some 1,700 of them.
const MANIFEST_MOST: u64 = 4 << 20;
/// Maximum number of countersets of a captured machine; no machine has more.
const COUNTERSETS_MOST: usize = 65_536;
const ERROR_FILE_NOT_FOUND: Status = Status(2);

/// Replay of the captured responses of a machine.
///
/// The first collection of a counterset returns the first sample, the second and all later ones the second. When no
/// query uses the counterset any more, collections begin again with the first sample.
#[derive(Clone, Debug)]
pub struct CaptureReplay(Arc<CaptureDir>);

#[derive(Debug, Default)]
struct CaptureDir {
    files: HashMap<&'static str, Vec<u8>>,
    answers: HashMap<String, CapturedResponse>,
    language: u32,
    by: String,
    queries: Mutex<Queries>,
    /// Number of collections of each captured object, by its title index, and of all objects.
    collections: Mutex<HashMap<String, usize>>,
    readings: AtomicUsize,
}

/// Captured response to a request of PerfLib: an error code, or bytes of a file.
#[derive(Debug)]
enum CapturedResponse {
    Failed(Status),
    At(&'static str, Range<usize>),
}

const FILES: [&str; 3] = [REGISTRATIONS, QUERY, V1];

#[derive(Debug, Default)]
struct Queries {
    open: HashMap<RawQuery, Query>,
    opened: usize,
}

/// Open query of a replay: its entries with the indexes of their results, and the number of its collections.
#[derive(Debug, Default)]
struct Query {
    entries: Vec<(Guid, CounterFilter, Option<Utf16>, u32)>,
    collected: usize,
}

impl CaptureReplay {
    /// Reads a captured directory and checks its manifest.
    ///
    /// # Errors
    /// If the directory cannot be read, is not a capture, or is larger than any capture.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("{MANIFEST}: {why}"));
        let manifest = read(&folder.join(MANIFEST), MANIFEST_MOST)?;
        let manifest = String::from_utf8(manifest).map_err(|_| bad("the text is not UTF-8".into()))?;
        let mut lines = (1_u32..).zip(manifest.lines());
        if lines.next().is_none_or(|(_, first)| first != FIRST_LINE) {
            return Err(bad(format!("the first line is not \"{FIRST_LINE}\"")));
        }
        let mut read_folder = CaptureDir::default();
        for (number, line) in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            match *fields.as_slice() {
                ["# language", value] => {
                    read_folder.language = u32::from_str_radix(value, 16).unwrap_or_default();
                }
                ["# by", value] => value.clone_into(&mut read_folder.by),
                [text, ..] if text.starts_with('#') => {}
                [code, question] => {
                    let code = code
                        .parse()
                        .map_err(|_| bad(format!("line {number}: \"{code}\" is not a status code")))?;
                    read_folder.answers.insert(question.to_owned(), CapturedResponse::Failed(Status(code)));
                }
                ["0", question, file, at, len] => {
                    let Some(file) = FILES.into_iter().find(|known| *known == file) else {
                        return Err(bad(format!("line {number}: a capture has no file {file}")));
                    };
                    let range = at.parse().ok().zip(len.parse().ok());
                    let range = range.and_then(|(at, len): (usize, usize)| Some(at..at.checked_add(len)?));
                    let Some(range) = range else {
                        return Err(bad(format!(
                            "line {number}: {at} and {len} are not an offset and a length"
                        )));
                    };
                    read_folder.answers.insert(question.to_owned(), CapturedResponse::At(file, range));
                }
                _ => return Err(bad(format!("line {number}: the line has neither two nor five fields"))),
            }
        }
        let most = COUNTERSETS_MOST.saturating_mul(16);
        if matches!(read_folder.answers.get("countersets"), Some(CapturedResponse::At(_, range)) if range.len() > most)
        {
            return Err(bad(format!("the capture has more than {COUNTERSETS_MOST} countersets")));
        }
        let used = |file: &&str| {
            read_folder
                .answers
                .values()
                .any(|answer| matches!(answer, CapturedResponse::At(used, _) if used == file))
        };
        let files: Vec<_> = FILES.into_iter().filter(|file| used(file)).collect();
        for file in files {
            read_folder.files.insert(file, read(&folder.join(file), FILE_MOST)?);
        }
        Ok(Self(Arc::new(read_folder)))
    }

    /// Returns the machine of a captured directory. If the directory cannot be read, the machine has no counters and
    /// reports the reason.
    #[must_use]
    pub fn machine_of(folder: &Path) -> Machine {
        let captured = Self::open(folder);
        captured.map_or_else(|error| nothing(&error.to_string()), |captured| captured.machine())
    }

    /// Returns the names of the program that captured the machine, and of its operating system.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.0.by
    }

    /// Returns the replacements of the captured machine's functions and its performance key, and the captured
    /// language.
    #[must_use]
    pub fn functions(&self) -> (Arc<dyn PerfLib>, Arc<dyn PerformanceKey>, Language) {
        (Arc::new(self.clone()), Arc::new(self.clone()), Language(self.0.language))
    }

    /// Returns the captured machine, for which the directory replaces Windows' own functions.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let settings =
            Settings { language: Language(self.0.language), is_costly: self.answer("Costly 0").is_ok() };
        let machine = Machine::bare(Box::new(self.clone()));
        let (functions, key, _) = self.functions();
        let v1 = register_v2_before(&machine, functions, key, &settings);
        machine.register(Box::new(CapturedObjects { v1, captured: self.clone(), entries: HashMap::new() }));
        machine
    }

    fn answer(&self, question: &str) -> Result<&[u8], Status> {
        match self.0.answers.get(question) {
            None => Err(Status::ERROR_CALL_NOT_IMPLEMENTED),
            Some(CapturedResponse::Failed(status)) => Err(*status),
            Some(CapturedResponse::At(file, range)) => {
                let bytes = self.0.files.get(file).and_then(|bytes| bytes.get(range.clone()));
                bytes.ok_or(Status::ERROR_INVALID_DATA) // the file was cut
            }
        }
    }

    /// Returns the error code that a captured request got; `None` if the request succeeded.
    fn failed(&self, question: &str) -> Option<Status> {
        match self.0.answers.get(question) {
            Some(CapturedResponse::Failed(status)) => Some(*status),
            _ => None,
        }
    }

    /// Returns a captured sample by its number; the last one that exists, if `number` is greater.
    fn sample(&self, what: &str, number: usize) -> Result<&[u8], Status> {
        let answer = self.answer(&format!("{what} {}", number.min(1)));
        if number > 0 { answer.or_else(|_| self.answer(&format!("{what} 0"))) } else { answer }
    }

    /// Returns a captured sample of objects that contains the object with this title index; a sample of the costly
    /// objects, if only they contain it.
    fn sample_with(&self, index: &str, number: usize) -> Result<&[u8], Status> {
        let index = index.parse().map_err(|_| ERROR_FILE_NOT_FOUND)?;
        let costly = self.sample("Costly", number).ok();
        let costly = costly.filter(|costly| {
            let of = |bytes| DataBlock::parse(bytes).ok().and_then(|block| block.object(index));
            of(costly).is_some() && self.sample("Global", number).ok().and_then(of).is_none()
        });
        costly.map_or_else(|| self.sample("Global", number), Ok)
    }

    fn collections(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        // No code that holds the lock panics; even then the numbers would be valid.
        self.0.collections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queries(&self) -> MutexGuard<'_, Queries> {
        // No code that holds the lock panics; even then the queries would be valid.
        self.0.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn result_of(&self, counterset: &Guid) -> Option<u32> {
        let entries = Identifiers::new(self.answer("info").ok()?).flatten();
        entries.filter(|entry| entry.counterset() == *counterset).map(|entry| entry.index()).next()
    }
}

/// Creates a machine without counters that reports the reason for that.
fn nothing(why: &str) -> Machine {
    struct Nothing(SourceError);

    impl Provider for Nothing {
        fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
            Err(self.0.clone())
        }

        fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
            Err(self.0.clone())
        }

        fn collect(&mut self, _: &CollectRequest<'_>, _: &mut Rows) -> Result<(), SourceError> {
            Err(self.0.clone())
        }
    }

    let machine = Machine::bare(Box::new(CaptureReplay(Arc::default())));
    machine.register(Box::new(Nothing(SourceError::Failed(format!("the capture: {why}").into()))));
    machine
}

fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    // Captures come from other machines. A FIFO in one would block, and a link could lead anywhere.
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("the path is not a regular file")));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    match u64::try_from(bytes.len()) {
        Ok(len) if len <= most => Ok(bytes),
        _ => Err(failed(io::Error::other("the file is larger than any capture"))),
    }
}

impl Clock for CaptureReplay {
    fn read(&mut self) -> ClockReading {
        let number = self.0.readings.fetch_add(1, Relaxed);
        let v2 = self.sample("data", number).ok().and_then(|block| Block::parse(block).ok());
        let v1 = || self.sample("Global", number).ok().and_then(|block| DataBlock::parse(block).ok());
        v2.map(|block| block.clocks()).or_else(|| v1().map(|block| block.clocks())).unwrap_or_default()
    }
}

impl PerfLib for CaptureReplay {
    fn enumerate_countersets(&self, guids: &mut [u8]) -> FillResult {
        fill(guids, 16, Status::ERROR_NOT_ENOUGH_MEMORY, self.answer("countersets"))
    }

    fn registration_info(
        &self,
        counterset: &Guid,
        code: u32,
        language_or_id: u32,
        info: &mut [u8],
    ) -> FillResult {
        let question = format!("registration {code} {language_or_id} {counterset}");
        fill(info, 1, Status::ERROR_NOT_ENOUGH_MEMORY, self.answer(&question))
    }

    fn enumerate_instances(&self, counterset: &Guid, instances: &mut [u8]) -> FillResult {
        let answer = self.answer(&format!("instances {counterset}"));
        fill(instances, 1, Status::ERROR_NOT_ENOUGH_MEMORY, answer)
    }

    fn open_query(&self) -> Result<RawQuery, Status> {
        if let Some(status) = self.failed("query") {
            return Err(status);
        }
        let mut queries = self.queries();
        queries.opened = queries.opened.wrapping_add(1);
        let raw = RawQuery(queries.opened);
        queries.open.insert(raw, Query::default());
        Ok(raw)
    }

    fn close_query(&self, query: RawQuery) -> Status {
        let closed = self.queries().open.remove(&query);
        closed.map_or(Status::ERROR_INVALID_HANDLE, |_| Status::ERROR_SUCCESS)
    }

    fn add_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        let mut queries = self.queries();
        let Some(query) = queries.open.get_mut(&query) else { return Status::ERROR_INVALID_HANDLE };
        let entries: Vec<_> = Identifiers::new(identifiers)
            .flatten()
            .map(|entry| {
                let name = entry.name().ok().flatten().map(Utf16::from);
                (entry.offset, entry.counterset(), entry.counter(), name)
            })
            .collect();
        for (at, guid, counter, name) in entries {
            let status = match self.result_of(&guid) {
                Some(index) => {
                    query.entries.push((guid, counter, name, index));
                    Status::ERROR_SUCCESS
                }
                None => self.failed(&format!("entry {guid}")).unwrap_or(Status::ERROR_WMI_GUID_NOT_FOUND),
            };
            identifier::set_status(identifiers, at, status);
        }
        Status::ERROR_SUCCESS
    }

    fn delete_counters(&self, _: RawQuery, _: &mut [u8]) -> Status {
        Status::ERROR_CALL_NOT_IMPLEMENTED
    }

    fn query_info(&self, query: RawQuery, identifiers: &mut [u8]) -> FillResult {
        let queries = self.queries();
        let Some(query) = queries.open.get(&query) else {
            return FillResult::failed(Status::ERROR_INVALID_HANDLE);
        };
        let mut list = Vec::new();
        for (counterset, counter, name, index) in &query.entries {
            let (counterset, counter, index) = (*counterset, *counter, *index);
            let name = name.as_ref().map(Utf16::units);
            let new = NewIdentifier { counterset, counter, instance_id: InstanceIdFilter::Any, name, index };
            identifier::write(&mut list, &new);
        }
        fill(identifiers, 1, Status::ERROR_NOT_ENOUGH_MEMORY, Ok(&list))
    }

    /// Returns the whole block of a captured sample: each entry's result is at its index, and may have more counters
    /// than were requested.
    fn query_data(&self, query: RawQuery, block: &mut [u8]) -> FillResult {
        let mut queries = self.queries();
        let Some(query) = queries.open.get_mut(&query) else {
            return FillResult::failed(Status::ERROR_INVALID_HANDLE);
        };
        let filled = fill(block, 1, Status::ERROR_NOT_ENOUGH_MEMORY, self.sample("data", query.collected));
        if filled.status.is_success() {
            query.collected = query.collected.saturating_add(1);
        }
        filled
    }
}

impl PerformanceKey for CaptureReplay {
    /// Returns all objects of a captured sample, even if the request names only one.
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
        let mut collections = self.collections();
        let number = collections.get(name).copied().unwrap_or(0);
        let is_index = name.bytes().all(|byte| byte.is_ascii_digit());
        let answer = match name {
            "Global" | "Costly" => self.sample(name, number),
            _ if is_index => self.sample_with(name, number),
            _ => self.answer(name),
        };
        // The key reports a name that it does not have in this way.
        let answer = answer.map_err(|status| match status {
            Status::ERROR_CALL_NOT_IMPLEMENTED => ERROR_FILE_NOT_FOUND,
            status => status,
        });
        let filled = fill(value, 1, Status::ERROR_MORE_DATA, answer);
        // Requests for one object are counted in `CapturedObjects::collect`, because a list of instances
        // takes no sample.
        if filled.status.is_success() && !is_index {
            collections.insert(name.to_owned(), number.saturating_add(1));
        }
        filled
    }

    fn close(&self) {}
}

/// Provider of the V1 objects of a captured machine. The performance key gets the same request for a list of
/// instances as for a collection; only this provider knows which of them takes a sample.
struct CapturedObjects {
    v1: V1Provider,
    captured: CaptureReplay,
    /// Number of query entries for each captured counterset, and the counterset's title index once it was collected.
    entries: HashMap<Guid, (usize, Option<u32>)>,
}

impl Provider for CapturedObjects {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.v1.catalogue()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.v1.instances(counterset, rows)
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let (count, index) = self.entries.entry(entry.counterset).or_default();
        *count = match change {
            Change::Added => count.saturating_add(1),
            Change::Removed => count.saturating_sub(1),
        };
        if let (0, Some(index)) = (*count, index) {
            self.captured.collections().remove(&index.to_string());
        }
        self.v1.entry(change, entry)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.v1.collect(want, rows)?;
        if let Some(index) = want.counterset.v1_index {
            let mut collections = self.captured.collections();
            let number = collections.entry(index.to_string()).or_default();
            *number = number.saturating_add(1);
            self.entries.entry(want.counterset.guid).or_default().1 = Some(index);
        }
        Ok(())
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        self.v1.describe()
    }

    fn problems(&mut self) -> Vec<Text> {
        self.v1.problems()
    }
}
