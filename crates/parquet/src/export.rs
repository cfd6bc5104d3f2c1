//! Exporter of samples to Parquet files: writes the samples that no file has yet.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use perfset_core::clock::{ClockReading, SystemTime, UNIX_EPOCH_100NS};
use perfset_core::sample::Clocks;
use perfset_core::v2::{Block, QueryResult};
use perfset_core::{Counterset, Guid};
use perfset_engine::path::PathQuery;
use perfset_engine::{EntryMetadata, NextOutcome, ResolvedEntry, Snapshot, Source};
use perfset_log::Logs;
use perfset_log::recording::{RecordedTick, RecordingAbout};

use crate::buffer::{ExportedIdentity, ReadIdentity, RowBuffer, SampleHead};
use crate::error::ParquetExportError;
use crate::file::{FileAbout, PartFile};
use crate::layout::CountersetLayout;
use crate::names::{digest, host_partition};
use crate::place::ExportPlace;
use crate::range::{ExportedRange, key};
use crate::root::ExportRoot;
use crate::rows::{EntryColumns, RowValues, each_row, row_reason};

/// Length of a day, in 100 ns.
const DAY_100NS: i64 = 864_000_000_000;

/// Options of an export to Parquet files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Number of rows at which a row group of a Parquet file is written.
    pub rows_per_group: usize,
    /// Time span of rows, in microseconds, at which a row group of a Parquet file is written.
    pub time_per_group_us: i64,
    /// Maximum memory in bytes of all rows that are not written yet; above this limit, the largest counterset is
    /// written.
    pub memory: usize,
    /// Maximum time of one request to an object store, including its retries.
    pub deadline: Duration,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            rows_per_group: 1_000_000,
            time_per_group_us: 3_600_000_000,
            memory: 128 << 20,
            deadline: Duration::from_secs(120),
        }
    }
}

impl ExportOptions {
    /// Sets the number of rows at which a row group of a Parquet file is written.
    #[must_use]
    pub fn rows_per_group(self, rows_per_group: usize) -> Self {
        Self { rows_per_group, ..self }
    }

    /// Sets the maximum memory, in bytes, of all rows that are not written yet.
    #[must_use]
    pub fn memory(self, memory: usize) -> Self {
        Self { memory, ..self }
    }

    /// Sets the maximum time of one request to an object store, including its retries.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }
}

/// Summary of an export: its new files, and numbers of rows and samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportSummary {
    /// Paths or addresses of the Parquet files that the export wrote.
    pub files: Vec<PathBuf>,
    /// Number of rows in the Parquet files that the export wrote.
    pub rows: u64,
    /// Number of samples of the log that the export read.
    pub samples: u64,
}

/// Origin of an exported sample: the recorder's run, the boot, and the number of the sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleOrigin {
    /// Id of the recorder's run that took the sample; empty = unknown.
    pub run: String,
    /// Boot id of the sampled machine; empty = unknown.
    pub boot: String,
    /// Sequence number of the sample in its recording.
    pub sequence: u64,
}

/// Exporter of the samples of one host to Parquet files.
pub struct Exporter {
    root: ExportRoot,
    place: Box<dyn ExportPlace>,
    host: String,
    options: ExportOptions,
    sets: HashMap<Guid, SetExport>,
    /// Query entries of the last exported sample.
    entries: Option<Arc<[ResolvedEntry]>>,
    summary: ExportSummary,
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exporter").field("root", &self.root).field("host", &self.host).finish_non_exhaustive()
    }
}

/// Counterset that is exported, with its columns, its buffered rows and its open file.
struct SetExport {
    counterset: Arc<Counterset>,
    layout: CountersetLayout,
    columns: EntryColumns,
    buffer: RowBuffer,
    open: Option<OpenDayFile>,
    /// Samples that the existing files of the counterset have, for each directory.
    known: HashMap<String, Vec<ExportedRange>>,
    /// Sample of the counterset that the next one is compared with.
    before: Option<ComparedSample>,
    /// Clocks of the counterset's last collection.
    last: Option<Clocks>,
    /// Day of the counterset's last sample, and the directory for that day.
    day: Option<(i64, String)>,
}

/// Sample of a counterset that the next sample is compared with.
struct ComparedSample {
    clocks: ClockReading,
    /// Counts whose start times differ from their row's: columns of the result and start times, by instance.
    counted: HashMap<ExportedIdentity, Vec<CountStart>>,
}

impl ComparedSample {
    /// Returns the start times of counts that the sample has for the row of an instance.
    fn starts(&self, identity: &ReadIdentity<'_>) -> &[CountStart] {
        /// Number of instances up to which a search costs less than a hash look-up with a copied name. Most
        /// countersets have counts of their total alone.
        const FEW: usize = 8;
        let starts = match self.counted.len() {
            0 => None,
            1..=FEW => self.counted.iter().find(|(known, _)| identity.is(known)).map(|(_, starts)| starts),
            _ => self.counted.get(&identity.exported()),
        };
        starts.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Column of a count in the result, and the start time of the count.
type CountStart = (usize, u64);

/// File of one day that a counterset's rows are written to, with the range of its samples.
struct OpenDayFile {
    part: Option<PartFile>,
    /// Path of the directory that contains the file, below the root of the export.
    folder: String,
    origin: SampleOrigin,
    first: i64,
    last: i64,
    samples: u64,
    rows: u64,
}

impl Exporter {
    /// Creates an exporter of a host's samples. Nothing is written before the first row.
    ///
    /// # Errors
    /// If the settings of an object store are incomplete.
    pub fn new(
        root: impl Into<ExportRoot>,
        host: &str,
        options: ExportOptions,
    ) -> Result<Self, ParquetExportError> {
        let root = root.into();
        let place = root.open(host, options.deadline)?;
        let (sets, entries, summary) = Default::default();
        Ok(Self { root, place, host: host.to_owned(), options, sets, entries, summary })
    }

    /// Exports the next sample. A counterset's part of the sample is left out if a file already has it.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn sample(&mut self, snapshot: &Snapshot, origin: &SampleOrigin) -> Result<(), ParquetExportError> {
        self.summary.samples = self.summary.samples.saturating_add(1);
        let known = self.entries.as_ref().map(|known| known.as_ptr());
        let is_same = known == Some(snapshot.entries().as_ptr());
        if !is_same {
            self.entries = Some(snapshot.shared_entries());
        }
        let block = Block::parse(snapshot.block()).ok();
        let mut results = block.iter().flat_map(Block::results).map(Result::ok);
        for (at, entry) in snapshot.entries().iter().enumerate() {
            let result = results.next().flatten();
            let Some(counterset) = &entry.counterset else { continue };
            if !is_same {
                self.register(entry, counterset)?;
            }
            let taken = SetSample {
                clocks: snapshot.clocks(),
                origin,
                metadata: snapshot.annex().get(at),
                result: result.as_ref(),
            };
            self.take(&counterset.guid, &taken)?;
        }
        self.limit_memory()
    }

    /// Prepares the exported columns of a counterset, which can have been registered again with other counters.
    fn register(
        &mut self,
        entry: &ResolvedEntry,
        counterset: &Arc<Counterset>,
    ) -> Result<(), ParquetExportError> {
        if let Some(set) = self.sets.get_mut(&counterset.guid) {
            let is_same = set.counterset == *counterset
                && set
                    .columns
                    .columns
                    .iter()
                    .map(|column| column.counter.id)
                    .eq(entry.counters().map(|c| c.id));
            if is_same {
                return Ok(());
            }
            self.finish_set(&counterset.guid)?;
        }
        let layout = CountersetLayout::of(counterset);
        let columns = EntryColumns::new(entry, &layout);
        let buffer = RowBuffer::new(layout.columns.len());
        let (open, known, before, last, day) = Default::default();
        let counterset = Arc::clone(counterset);
        let set = SetExport { counterset, layout, columns, buffer, open, known, before, last, day };
        self.sets.insert(set.layout.guid, set);
        Ok(())
    }

    fn take(&mut self, guid: &Guid, sample: &SetSample<'_>) -> Result<(), ParquetExportError> {
        let Some(set) = self.sets.get_mut(guid) else { return Ok(()) };
        let SetSample { clocks, origin, .. } = *sample;
        let Some(result) = sample.rows() else {
            // Nothing is compared across it.
            set.before = None;
            return Ok(());
        };
        let own = sample.metadata.and_then(EntryMetadata::clocks);
        let own = own.unwrap_or_else(|| Clocks::from(clocks));
        // A counterset that is read less often than others still has the values of its last collection.
        if set.last.replace(own) == Some(own) {
            return Ok(());
        }
        let day = clocks.utc_100ns().div_euclid(DAY_100NS);
        let folder = match set.day.take() {
            Some((known, folder)) if known == day => folder,
            _ => folder(&set.layout.slug, &self.host, clocks),
        };
        let (_, folder) = set.day.insert((day, folder));
        let key = key_of(clocks, origin);
        let known = match set.known.get(folder) {
            Some(known) => known,
            None => set.known.entry(folder.clone()).or_insert(self.place.exported(folder)?),
        };
        let is_known =
            known.iter().any(|known| known.run == origin.run && (known.first..=known.last).contains(&key));
        let is_of_file = set.open.as_ref().is_some_and(|open| open.takes(folder, origin));
        if !is_known && !is_of_file {
            let (folder, origin) = (folder.clone(), origin.clone());
            set.finish(&mut *self.place, &self.host, &mut self.summary)?;
            set.open =
                Some(OpenDayFile { part: None, folder, origin, first: key, last: key, samples: 0, rows: 0 });
        }
        set.push(sample, result, own, is_known);
        if !is_known {
            if let Some(open) = &mut set.open {
                open.last = key;
                open.samples = open.samples.saturating_add(1);
            }
            let span = set.buffer.heads.first().zip(set.buffer.heads.last());
            let span = span.map_or(0, |(first, last)| last.time_us.saturating_sub(first.time_us));
            let ExportOptions { rows_per_group, time_per_group_us, .. } = self.options;
            if set.buffer.rows.len() >= rows_per_group || span >= time_per_group_us {
                set.write(&mut *self.place, &self.host)?;
            }
        }
        Ok(())
    }

    /// Writes the buffered rows of the largest countersets, until the rows of the others fit into the memory limit.
    fn limit_memory(&mut self) -> Result<(), ParquetExportError> {
        loop {
            let total = self.sets.values().map(|set| set.buffer.bytes()).fold(0, usize::saturating_add);
            if total <= self.options.memory {
                return Ok(());
            }
            let largest = self.sets.values_mut().max_by_key(|set| set.buffer.bytes());
            let Some(set) = largest.filter(|set| !set.buffer.is_empty()) else { return Ok(()) };
            set.write(&mut *self.place, &self.host)?;
        }
    }

    fn finish_set(&mut self, guid: &Guid) -> Result<(), ParquetExportError> {
        let Some(mut set) = self.sets.remove(guid) else { return Ok(()) };
        set.finish(&mut *self.place, &self.host, &mut self.summary)
    }

    /// Completes the Parquet files of all exported countersets.
    ///
    /// # Errors
    /// If a file cannot be written. Files that were completed before stay.
    pub fn finish(mut self) -> Result<ExportSummary, ParquetExportError> {
        let mut guids: Vec<Guid> = self.sets.keys().copied().collect();
        guids.sort_unstable_by_key(Guid::to_string);
        for guid in guids {
            self.finish_set(&guid)?;
        }
        Ok(self.summary)
    }
}

/// Part of a sample that belongs to one exported counterset.
struct SetSample<'a> {
    clocks: &'a ClockReading,
    origin: &'a SampleOrigin,
    metadata: Option<&'a EntryMetadata>,
    result: Option<&'a QueryResult<'a>>,
}

impl<'a> SetSample<'a> {
    /// Returns the counterset's result in this sample; `None` if it failed or is missing.
    fn rows(&self) -> Option<&'a QueryResult<'a>> {
        let has_failed = self.metadata.is_some_and(|metadata| metadata.failure().is_some());
        self.result.filter(|result| !has_failed && result.status.is_success())
    }
}

impl SetExport {
    /// Buffers the rows of a sample, unless a file has them; the next sample is compared with this one.
    fn push(&mut self, sample: &SetSample<'_>, result: &QueryResult<'_>, own: Clocks, is_known: bool) {
        let clocks = sample.clocks;
        let now = perf_time_ns(clocks);
        let interval_ns = self.before.as_ref().map(|before| now.saturating_sub(perf_time_ns(&before.clocks)));
        // A clock that went back measures no interval.
        let interval_ns = interval_ns.filter(|interval| *interval >= 0);
        let time_us = clocks.utc_100ns().saturating_sub(UNIX_EPOCH_100NS).div_euclid(10);
        let metadata = sample.metadata;
        let mut counted: HashMap<ExportedIdentity, Vec<CountStart>> = HashMap::new();
        let mut counts = metadata.into_iter().flat_map(EntryMetadata::counts).peekable();
        let Self { buffer, columns, before, .. } = self;
        let (mut rows, mut left_out) = (Vec::new(), Vec::new());
        let first = buffer.rows.len();
        buffer.begin_sample();
        each_row(&result.body, metadata, |number, identity, values| {
            let mut starts: Vec<CountStart> = Vec::new();
            while let Some((_, column, since)) = counts.next_if(|(row, ..)| *row <= number) {
                starts.push((column, since.get()));
            }
            let restarted = before.as_ref().map(|before| restarted(before.starts(&identity), &starts));
            if !starts.is_empty() {
                counted.insert(identity.exported(), starts);
            }
            if is_known {
                return;
            }
            let clocks = columns.clocks(number, values, own, &mut left_out);
            buffer.row(&identity, &SampleHead { time_us, perf_time_ns: now, interval_ns, clocks });
            rows.push(values);
            for column in restarted.into_iter().flatten() {
                if let Some(target) = columns.columns.get(column).and_then(|column| column.target) {
                    buffer.add_restarted(target);
                }
            }
        });
        SampleCells { first, rows, left_out, metadata }.add_to(buffer, columns);
        self.before = Some(ComparedSample { clocks: *clocks, counted });
    }

    /// Writes the counterset's buffered rows as a row group of a Parquet file.
    fn write(&mut self, place: &mut dyn ExportPlace, host: &str) -> Result<(), ParquetExportError> {
        let Some(open) = self.open.as_mut().filter(|_| !self.buffer.is_empty()) else { return Ok(()) };
        if open.part.is_none() {
            let SampleOrigin { run, boot, .. } = &open.origin;
            let about = FileAbout { layout: &self.layout, host, boot, run };
            let path = open.path(place);
            open.part = Some(PartFile::create(place, path, &about)?);
        }
        if let Some(part) = &mut open.part {
            part.write(&self.buffer)?;
        }
        let rows = u64::try_from(self.buffer.rows.len()).unwrap_or(u64::MAX);
        open.rows = open.rows.saturating_add(rows);
        self.buffer = RowBuffer::new(self.layout.columns.len());
        Ok(())
    }

    /// Completes the Parquet file that the counterset's rows are written to.
    fn finish(
        &mut self,
        place: &mut dyn ExportPlace,
        host: &str,
        summary: &mut ExportSummary,
    ) -> Result<(), ParquetExportError> {
        self.write(place, host)?;
        let Some(OpenDayFile { part: Some(part), first, last, samples, rows, folder, origin }) =
            self.open.take()
        else {
            return Ok(());
        };
        let facts = [
            (key::FIRST, first.to_string()),
            (key::LAST, last.to_string()),
            (key::SAMPLES, samples.to_string()),
        ];
        summary.files.push(part.finish(place, &facts)?);
        summary.rows = summary.rows.saturating_add(rows);
        let range = ExportedRange { run: origin.run, first, last };
        self.known.entry(folder).or_default().push(range);
        Ok(())
    }
}

/// Cells of a sample's rows, which are added to the buffer column by column.
struct SampleCells<'a> {
    /// Index in the buffer of the sample's first row.
    first: usize,
    rows: Vec<RowValues<'a>>,
    /// Row and column of each value whose clock differs from that of the row's other counters, ascending.
    left_out: Vec<(usize, usize)>,
    metadata: Option<&'a EntryMetadata>,
}

impl SampleCells<'_> {
    /// Adds the sample's cells to a buffer column by column, which is faster than row by row.
    fn add_to(&self, buffer: &mut RowBuffer, columns: &EntryColumns) {
        /// Number of rows whose cells fit into the processor's first cache while they are copied column by column.
        const TILE: usize = 32;
        let Self { first, rows, left_out, metadata } = self;
        let mut missing: Vec<(usize, usize, usize, u32)> = Vec::new();
        for tile in (0..rows.len()).step_by(TILE) {
            let tile = rows.iter().enumerate().skip(tile).take(TILE);
            for (target, sources) in &columns.targets {
                let Some(mut cells) = buffer.columns.get_mut(*target).map(std::mem::take) else { continue };
                let sources = sources.iter().filter_map(|at| Some((*at, columns.columns.get(*at)?)));
                for (number, values) in tile.clone() {
                    let row = first.saturating_add(number);
                    for (at, column) in sources.clone() {
                        match values.number(at) {
                            _ if !left_out.is_empty() && left_out.binary_search(&(number, at)).is_ok() => {
                                let reason = "its clock is not that of the row's other counters";
                                missing.push((row, at, *target, buffer.reason_text(reason)));
                            }
                            Some(value) => cells.set(row, value),
                            None => {
                                let reason = metadata.and_then(|metadata| metadata.reason(number, at));
                                if let Some(reason) = row_reason(&column.counter, reason) {
                                    missing.push((row, at, *target, buffer.reason(*target, reason)));
                                }
                            }
                        }
                    }
                }
                if let Some(column) = buffer.columns.get_mut(*target) {
                    *column = cells;
                }
            }
        }
        // Lists have the columns of a row in their order.
        missing.sort_unstable();
        buffer.end_sample(missing.into_iter().map(|(row, _, target, number)| (row, target, number)));
    }
}

impl OpenDayFile {
    /// Returns `true` if a sample belongs into this file: same directory, recorder run and boot.
    fn takes(&self, folder: &str, origin: &SampleOrigin) -> bool {
        self.folder == folder && (&self.origin.run, &self.origin.boot) == (&origin.run, &origin.boot)
    }

    /// Returns a path for the exported file that no other file has.
    fn path(&self, place: &dyn ExportPlace) -> String {
        let boot = part_of_id(&self.origin.boot);
        let name = format!("{}/{boot}-{:06}", self.folder, self.origin.sequence);
        // Another recorder of the same boot can have the same number.
        let run = digest(self.origin.run.as_bytes()) % (1 << 32);
        let others = [format!("{name}.parquet"), format!("{name}-{run:08x}.parquet")];
        let numbered = (2_u32..).map(|number| format!("{name}-{run:08x}-{number}.parquet"));
        others.into_iter().chain(numbered).find(|path| !place.exists(path)).unwrap_or_default()
    }
}

/// Returns the columns whose counts have different start times in two samples of one row.
fn restarted(then: &[CountStart], now: &[CountStart]) -> Vec<usize> {
    if then == now {
        return Vec::new();
    }
    let differs = |of: &[CountStart], (column, since): &CountStart| !of.contains(&(*column, *since));
    let begun = now.iter().filter(|start| differs(then, start)).map(|(column, _)| *column);
    let is_now = |column: usize| now.iter().any(|(known, _)| *known == column);
    let ended = then.iter().map(|(column, _)| *column).filter(|column| !is_now(*column));
    begun.chain(ended).collect()
}

/// Returns the first 8 hexadecimal digits of a boot id, padded with zeros.
fn part_of_id(id: &str) -> String {
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    format!("{:0<8}", digits.to_ascii_lowercase())
}

/// Returns the time that orders a sample among the samples of its recorder's run: PerfTime, or the wall clock for an
/// unknown run.
fn key_of(clocks: &ClockReading, origin: &SampleOrigin) -> i64 {
    if origin.run.is_empty() { clocks.utc_100ns() } else { clocks.perf_time }
}

/// Returns the path below the root of the directory for the files of a counterset, host and day.
fn folder(slug: &str, host: &str, clocks: &ClockReading) -> String {
    let SystemTime { year, month, day, .. } = SystemTime::from_100ns(clocks.utc_100ns());
    // Engines read four digits, and one other directory would fail queries of all.
    let (year, month, day) = if year > 9_999 { (9_999, 12, 31) } else { (year, month, day) };
    let host = host_partition(host);
    format!("counterset={slug}/date={year:04}-{month:02}-{day:02}/host={host}")
}

/// Returns the PerfTime of a sample in nanoseconds. For logs without such a clock it is the time since 1970.
fn perf_time_ns(clocks: &ClockReading) -> i64 {
    const SECOND: i128 = 1_000_000_000;
    let (ticks, freq) = (i128::from(clocks.perf_time), i128::from(clocks.perf_freq));
    if freq == SECOND {
        return clocks.perf_time;
    }
    let is_wall = clocks.perf_time == clocks.time_100ns;
    let ticks = if is_wall { ticks.saturating_sub(UNIX_EPOCH_100NS.into()) } else { ticks };
    let ns = ticks.saturating_mul(SECOND).checked_div(freq).unwrap_or(0);
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

/// Writes to Parquet files all samples of a machine's logs that no file below `root` has. After each sample
/// `progress` is called.
///
/// # Errors
/// If the logs cannot be read, or a file cannot be read or written.
pub fn export(
    logs: &Logs,
    root: impl Into<ExportRoot>,
    options: ExportOptions,
    mut progress: impl FnMut(),
) -> Result<ExportSummary, ParquetExportError> {
    let mut logs = logs.clone();
    let mut query = PathQuery::from_handle(logs.open()?);
    for path in logs.paths() {
        query.add(&mut logs, &path)?;
    }
    let recording = logs.recording().cloned();
    let mut ticks = recording.iter().flat_map(|recording| recording.ticks()).peekable();
    let mut exporter = Exporter::new(root, logs.machine_name(), options)?;
    let mut number = 0_u64;
    let mut origin = SampleOrigin::default();
    let mut own_run = None;
    while query.collect()? == NextOutcome::Sample {
        let snapshot = query.snapshot();
        // Ticks that are damaged, or have nothing new, are no samples.
        while ticks.next_if(|tick| tick.clocks != *snapshot.clocks()).is_some() {}
        match ticks.peek() {
            Some(tick) => origin = of_tick(tick),
            None if recording.is_none() => origin.sequence = number,
            None => {}
        }
        if origin.run.is_empty() {
            origin.run = own_run.get_or_insert_with(|| run_of_log(snapshot)).clone();
        }
        exporter.sample(snapshot, &origin)?;
        number = number.saturating_add(1);
        progress();
    }
    exporter.finish()
}

/// Returns an id for logs that name no recorder's run, made of their first sample and their counters. A log that
/// grows keeps it, and other logs of the same time have others.
fn run_of_log(first: &Snapshot) -> String {
    let mut counters = String::new();
    for entry in first.entries() {
        counters += &entry.entry.counterset.to_string();
        entry.counters().for_each(|counter| counters += &format!(" {}", counter.shown_name()));
    }
    format!("log {} {:032x}", first.clocks().utc_100ns(), digest(counters.as_bytes()))
}

fn of_tick(tick: &RecordedTick<'_>) -> SampleOrigin {
    let text = |key| tick.about.and_then(|about| about.get(key)).unwrap_or_default().to_owned();
    SampleOrigin { run: text(RecordingAbout::RUN), boot: text(RecordingAbout::BOOT), sequence: tick.sequence }
}
