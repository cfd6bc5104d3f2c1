//! Benches of recordings: size, and cost of writing, sealing, opening and reading, beside Parquet files, DuckDB and
//! atop.

mod duckdb;
pub mod export;
mod folder;
mod parquet;
mod recorder;
mod synthetic;

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::{self, Display};
use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use perfset_core::clock::UNIX_EPOCH_100NS;
use perfset_core::v2::{Block, Body};
use perfset_core::{Counterset, Identity, InstanceId, Name};
use perfset_engine::{Entry, NextOutcome, QueryHandle, RecordedSample, Snapshot, Source, Window};
use perfset_log::recording::{Recording, RecordingWriter, TickPart, WriterOptions, seal};

use self::duckdb::{DuckDb, Question, statement};
use self::folder::{Samples, TemporaryFolder, about, add_tables, ends, record, sealed_files};
use self::parquet::{ParquetFile, SetRows};
use self::synthetic::{Checksum, Size, SyntheticMachine};
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Number of samples of a recording file; the next constants are the numbers of files in an hour and in seven days.
const TICKS: u32 = 300;
const HOUR: u32 = 12;
const WEEK: u32 = 2_016;

/// Time from one sample of a recording to the next, with the delay that a sample can have, in 100 ns.
const SECOND: i64 = 10_100_000;

/// Number of rounds of the slow comparisons.
const FEW_ROUNDS: usize = 5;

/// Goal: the maximum size of a recording, in multiples of Parquet files.
const SIZE_GOAL: f64 = 0.6;

/// Measures recordings of synthetic data, then the real recorder.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    let database = DuckDb::start()?;
    recorder::check_programs()?;
    let hour = Hour::record()?;
    let mut sizes = Vec::new();
    out(&sealing(&hour, &database, options.rounds.min(FEW_ROUNDS), &mut sizes)?)?;
    out(&journal(options.rounds)?)?;
    let peer = hour.parquet(&database, &mut sizes)?;
    out(&series(&hour, &peer, &database, options.rounds)?)?;
    out(&instant(&hour, &peer, &database, options.rounds.min(11))?)?;
    drop((hour, peer));
    recorder::reports(out, |folder| {
        let recording = Recording::open(folder)?;
        sizes.push(Bytes::compare("a minute of this machine", folder, &recording, &database)?);
        Ok(())
    })?;
    out(&Sizes(sizes))?;
    out(&week(options.rounds.min(FEW_ROUNDS))?)
}

/// Returns the numbers of samples for a recording of that many files.
fn samples(files: u32) -> Samples {
    Samples { all: files * TICKS, of_a_file: TICKS, step: 1 }
}

/// Size of a recording, and of Parquet files with the same values.
#[derive(Debug)]
struct Bytes {
    what: &'static str,
    cells: u64,
    recording: u64,
    parquet: u64,
}

impl Bytes {
    /// Writes Parquet files with the values of a sealed recording, and compares the values of both.
    fn compare(what: &'static str, folder: &Path, recording: &Recording, database: &DuckDb) -> Result<Self> {
        let peer = TemporaryFolder::new("parquet")?;
        let mut bytes = Self { what, cells: 0, recording: folder::length(folder)?, parquet: 0 };
        for set in recording.countersets() {
            let rows = SetRows::read(recording, set)?;
            if rows.cells > 0 {
                bytes.cells += rows.cells;
                bytes.parquet += write_checked(&rows, peer.path(), database)?.1;
            }
        }
        Ok(bytes)
    }
}

/// Writes the Parquet file of a counterset, and checks with DuckDB that it has the same values.
fn write_checked(rows: &SetRows, folder: &Path, database: &DuckDb) -> Result<(ParquetFile, u64)> {
    let file = rows.file(folder)?;
    let len = file.write()?;
    let counters: Vec<usize> = (0..rows.counters()).collect();
    let found = database.ask(&Question::new(&[statement(&file.path, &counters, "")], false))?;
    ensure!(found == rows.checksum, "{}: {found:?} and not {:?}", file.path.display(), rows.checksum);
    Ok((file, len))
}

/// Table of the sizes of recordings and of Parquet files.
#[derive(Debug)]
struct Sizes(Vec<Bytes>);

impl Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "recording: bytes a value of closed files, beside Parquet (PLAIN, zstd-3, sorted rows)")?;
        let width = self.0.iter().map(|bytes| bytes.what.len()).max().unwrap_or(0);
        writeln!(f, "  {:width$} {:>12} {:>9} {:>9}  x Parquet", "", "values", "recording", "Parquet")?;
        for Bytes { what, cells, recording, parquet } in &self.0 {
            let of_value = |bytes: &u64| *bytes as f64 / *cells as f64;
            let ratio = *recording as f64 / *parquet as f64;
            let met = if ratio <= SIZE_GOAL { "met" } else { "MISSED" };
            let (ours, theirs) = (of_value(recording), of_value(parquet));
            writeln!(
                f,
                "  {what:width$} {cells:>12} {ours:>9.4} {theirs:>9.4}  {ratio:.3} (goal {SIZE_GOAL}: {met})"
            )?;
        }
        Ok(())
    }
}

/// Sealed recording of one hour of the synthetic machine.
#[derive(Debug)]
pub struct Hour {
    folder: TemporaryFolder,
    machine: SyntheticMachine,
    recording: Recording,
    checksum: Checksum,
}

impl Hour {
    /// Records one hour of the synthetic machine.
    pub fn record() -> Result<Self> {
        let folder = TemporaryFolder::new("hour")?;
        let machine = SyntheticMachine::new(Size::Whole);
        let checksum = record(&machine, folder.path(), samples(HOUR), |journal| {
            seal(journal)?;
            Ok(())
        })?;
        let share = machine.changes() as f64 / checksum.values as f64;
        ensure!((0.03..0.05).contains(&share), "{share} of the values differ from those before, and not 4 %");
        let recording = Recording::open(folder.path())?;
        ensure!(recording.all_damages().is_empty(), "{:?}", recording.all_damages());
        ensure!(sealed_files(folder.path())?.len() == 12, "not all files are sealed");
        Ok(Self { folder, machine, recording, checksum })
    }

    /// Returns the directory of the recording of an hour.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes Parquet files with the values of the recording's whole hour.
    fn parquet(&self, database: &DuckDb, sizes: &mut Vec<Bytes>) -> Result<Parquet> {
        let folder = TemporaryFolder::new("parquet")?;
        let recording = folder::length(self.folder.path())?;
        let mut bytes =
            Bytes { what: "an hour, 12 files beside Parquet of an hour", cells: 0, recording, parquet: 0 };
        let (mut files, mut checksum) = (Vec::new(), Checksum::default());
        for set in self.recording.countersets() {
            let rows = SetRows::read(&self.recording, set)?;
            checksum.add_all(rows.checksum);
            bytes.cells += rows.cells;
            let (file, len) = write_checked(&rows, folder.path(), database)?;
            bytes.parquet += len;
            files.push((std::sync::Arc::clone(set), file.path));
        }
        ensure!(checksum == self.checksum, "{checksum:?} recorded of {:?}", self.checksum);
        sizes.push(bytes);
        Ok(Parquet { _folder: folder, files })
    }

    /// Returns the time of a sample in the middle of the recorded hour, which is also in the middle of a file.
    fn middle(&self) -> Result<i64> {
        self.recording.times().nth((HOUR / 2 * TICKS + TICKS / 2) as usize).context("no such sample")
    }
}

/// Parquet files of a recorded hour, and the countersets in them.
#[derive(Debug)]
struct Parquet {
    _folder: TemporaryFolder,
    files: Vec<(std::sync::Arc<Counterset>, std::path::PathBuf)>,
}

/// Measures the cost of sealing a journal of a recording: of turning it into a compact file.
fn sealing(hour: &Hour, database: &DuckDb, rounds: usize, sizes: &mut Vec<Bytes>) -> Result<Report> {
    let folder = TemporaryFolder::new("seal")?;
    let saved = TemporaryFolder::new("journal")?;
    let machine = SyntheticMachine::new(Size::Whole);
    let mut journals = Vec::new();
    record(&machine, saved.path(), samples(1), |journal| {
        journals.push(journal.to_owned());
        Ok(())
    })?;
    let [journal] = &*journals else { bail!("{} journals of {TICKS} samples", journals.len()) };
    let copy_of = folder.path().join(journal.file_name().context("a journal without a name")?);
    let prepare = || {
        // The sealed file of the round before is in the way.
        sealed_files(folder.path()).into_iter().flatten().for_each(|sealed| drop(fs::remove_file(sealed)));
        drop(fs::copy(journal, &copy_of)); // `seal` fails without it
    };
    prepare();
    seal(&copy_of)?;
    let recording = Recording::open(folder.path())?;
    sizes.push(Bytes::compare(
        "300 samples, one file beside Parquet of the same",
        folder.path(),
        &recording,
        database,
    )?);
    let peer = TemporaryFolder::new("parquet")?;
    let (mut files, mut cells) = (Vec::new(), 0);
    for set in recording.countersets() {
        let rows = SetRows::read(&recording, set)?;
        cells += usize::try_from(rows.cells)?;
        files.push(rows.file(peer.path())?);
    }
    drop(recording);
    let len = sizes.last().map_or(0, |bytes| bytes.parquet);
    let written: u64 = files.iter().map(|file| file.write().unwrap_or(0)).sum();
    ensure!(written == len, "{written} bytes of Parquet, and {len} before");
    let title = format!(
        "recording: sealing 300 samples of {} countersets, {:.1} % of the values changed",
        hour.recording.countersets().len(),
        hour.machine.changes() as f64 / hour.checksum.values as f64 * 100.0
    );
    let failures: RefCell<Vec<Error>> = RefCell::default();
    let comparison = Comparison::new(title, cells)
        .variant("parquet crate, the same rows in sorted columns (peer)", || {
            let written = files.iter().map(ParquetFile::write).sum::<Result<u64>>();
            written.unwrap_or_else(|error| {
                failures.borrow_mut().push(error);
                0
            })
        })
        .reference("parquet")
        .variant("recording::seal, from the journal", || {
            if let Err(error) = seal(&copy_of) {
                failures.borrow_mut().push(error.into());
            }
            0
        })
        .before(prepare)
        .goal("parquet", 0.25);
    let report = comparison.run(rounds);
    failures.into_inner().pop().map_or(Ok(report), Err)
}

/// Measures the cost of writing a collected sample into the journal of a recording.
fn journal(rounds: usize) -> Result<Report> {
    let folder = TemporaryFolder::new("journal")?;
    let machine = SyntheticMachine::new(Size::Whole);
    let mut query = machine.query();
    let mut snapshot = Snapshot::default();
    machine.collect(&mut query, &mut snapshot)?;
    // Waiting for the disk takes no CPU time.
    let options = WriterOptions::default().sync(None).ticks_per_file(TICKS);
    let mut writer = RecordingWriter::create(folder.path(), snapshot.clocks(), about(), options)?;
    let tables = add_tables(&mut writer, &snapshot)?;
    let len = snapshot.block().len();
    let values = machine.checksum().values;
    let state = RefCell::new((query, snapshot));
    let copy = state.borrow().1.block().to_vec();
    let other = copy.clone();
    let mut failure = None;
    let title = format!("recording: a sample of {values} values in a block of {} kB", len / 1_000);
    let comparison = Comparison::new(title, 1)
        .per("sample")
        .variant("memcmp of two blocks (floor)", || u64::from(black_box(&copy) == black_box(&other)))
        .reference("memcmp")
        .variant("RecordingWriter::tick", || {
            let (_, snapshot) = &*state.borrow();
            let part = |(entry, table): (usize, &usize)| TickPart { table: *table, snapshot, entry };
            let parts: Vec<TickPart<'_>> = tables.iter().enumerate().map(part).collect();
            match writer.tick(snapshot.clocks(), &parts) {
                Ok(finished) => u64::from(finished.is_some()),
                Err(error) => {
                    failure = Some(error);
                    0
                }
            }
        })
        .before(|| {
            let (query, snapshot) = &mut *state.borrow_mut();
            drop(machine.collect(query, snapshot)); // this machine cannot fail
        })
        .at_least(30)
        .goal("memcmp", 5.0)
        .ns_goal(1e6);
    let report = comparison.run(rounds);
    failure.map_or(Ok(report), |error| Err(error.into()))
}

/// Measures the cost of reading one counter of one process over a recorded hour.
fn series(hour: &Hour, peer: &Parquet, database: &DuckDb, rounds: usize) -> Result<Report> {
    let (set, name, id, birth, counter) = hour.machine.busy_process().context("no busy process")?;
    let units: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let identity = Identity {
        counterset: set.guid,
        instance: Name::until_nul(&units),
        instance_id: InstanceId(id),
        birth,
    };
    let read = |recording: &Recording| -> Result<Checksum> {
        let mut checksum = Checksum::default();
        let mut each = |batch: &[RecordedSample<'_>]| {
            batch.iter().flat_map(|past| &past.sample).for_each(|sample| checksum.add(sample.raw.get()));
            ControlFlow::Continue(())
        };
        recording.clone().series(counter, &identity, Window::default(), &mut each)?;
        Ok(checksum)
    };
    let file = peer.files.iter().find(|(of, _)| of.guid == set.guid).map(|(_, path)| path);
    let birth = birth.map_or(0, std::num::NonZeroU64::get);
    let condition = format!("WHERE instance = '{name}' AND instance_id = {id} AND birth = {birth}");
    let column = set.counters.iter().position(|own| own.id == counter).context("no such counter")?;
    let statement = [statement(file.context("no such file")?, &[column], &condition)];
    let (kept, new) = (Question::new(&statement, false), Question::new(&statement, true));
    let found = read(&hour.recording)?;
    ensure!(found.values == u64::from(HOUR * TICKS), "{found:?} of {name}");
    let theirs = (database.ask(&kept)?, database.ask(&new)?);
    ensure!(theirs == (found, found), "{theirs:?} and not {found:?}");
    let same = Same::new(found);
    let path = hour.folder.path();
    let comparison =
        Comparison::new("recording: one counter of one process, an hour in 12 files".to_owned(), 1)
            .per("reading");
    let report = with_database(comparison, database, &same, &kept, &new)
        .variant("Recording::open and series", || {
            same.check(Recording::open(path).map_err(Into::into).and_then(|recording| read(&recording)))
        })
        .goal("DuckDB", 0.1)
        .variant("Recording::series", || same.check(read(&hour.recording)))
        .run(rounds);
    same.result().map(|()| report)
}

/// Adds two variants with DuckDB to a comparison: the kept connection, which is the reference, and new connections.
fn with_database<'a>(
    comparison: Comparison<'a>,
    database: &'a DuckDb,
    same: &'a Same,
    kept: &'a Question,
    new: &'a Question,
) -> Comparison<'a> {
    comparison
        .variant("DuckDB on Parquet, the connection kept (peer)", || same.check(database.ask(kept)))
        .timed_by(|| database.spent_ns())
        .reference("DuckDB")
        .variant("DuckDB on Parquet, a new connection (new)", || same.check(database.ask(new)))
        .timed_by(|| database.spent_ns())
        .reference("new")
}

/// Measures the cost of reading the whole recorded machine at one instant.
fn instant(hour: &Hour, peer: &Parquet, database: &DuckDb, rounds: usize) -> Result<Report> {
    let time = hour.middle()?;
    let micros = (time - UNIX_EPOCH_100NS) / 10;
    let condition = format!("WHERE time = make_timestamptz({micros})");
    let statements: Vec<String> = peer
        .files
        .iter()
        .map(|(set, path)| {
            let counters: Vec<usize> = (0..set.counters.len()).collect();
            statement(path, &counters, &condition)
        })
        .collect();
    let (kept, new) = (Question::new(&statements, false), Question::new(&statements, true));
    let play = |recording: &Recording, end: i64| -> Result<Box<dyn QueryHandle>> {
        let mut handle = recording.within(Window { begin: Some(time), end: Some(end) }).open()?;
        for set in recording.countersets() {
            handle.add(&Entry::all(set.guid).instance("*"));
        }
        Ok(handle)
    };
    let next = |handle: &mut dyn QueryHandle| -> Result<Checksum> {
        let mut snapshot = Snapshot::default();
        ensure!(handle.next(&mut snapshot)? == NextOutcome::Sample, "there is no sample");
        sum_of(&snapshot)
    };
    let first = |recording: &Recording| next(&mut *play(recording, time)?);
    let found = first(&hour.recording)?;
    let theirs = (database.ask(&kept)?, database.ask(&new)?);
    ensure!(theirs == (found, found), "{theirs:?} and not {found:?}");
    let path = hour.folder.path();
    let title = format!(
        "recording: all {} values of {} countersets at one instant of an hour",
        found.values,
        peer.files.len()
    );
    let same = Same::new(found);
    let playing = RefCell::new(None);
    let again = RefCell::new(Snapshot::default());
    let comparison = Comparison::new(title, 1).per("instant");
    let report = with_database(comparison, database, &same, &kept, &new)
        .variant("Recording::open, a query of everything and its sample", || {
            same.check(Recording::open(path).map_err(Into::into).and_then(|recording| first(&recording)))
        })
        .goal("DuckDB", 0.05)
        .variant("the query and its sample", || same.check(first(&hour.recording)))
        .variant("the next sample", || {
            let mut playing = playing.borrow_mut();
            let snapshot = &mut *again.borrow_mut();
            let handle: Option<&mut Box<dyn QueryHandle>> = playing.as_mut();
            // A sample at the end is no other one: that of a second later must be there.
            let next = handle.map(|handle| handle.next(snapshot));
            let is_there = matches!(next, Some(Ok(NextOutcome::Sample)));
            if is_there { same.want.sum } else { same.check(Err(anyhow!("there is no next sample"))) }
        })
        .before(|| {
            let mut handle = play(&hour.recording, time + SECOND).ok();
            let snapshot = &mut *again.borrow_mut();
            handle.iter_mut().for_each(|handle| drop(handle.next(snapshot)));
            playing.replace(handle);
        })
        .ns_goal(1e6)
        .run(rounds);
    same.result().map(|()| report)
}

/// Check that all variants of a comparison read the same values.
struct Same {
    want: Checksum,
    /// First error or wrong checksum of a variant.
    failed: OnceCell<Error>,
}

impl Same {
    fn new(want: Checksum) -> Self {
        Self { want, failed: OnceCell::new() }
    }

    /// Compares the checksum of a variant with the expected one; returns its sum, or 0 if it is wrong.
    fn check(&self, found: Result<Checksum>) -> u64 {
        let error = match found {
            Ok(found) if found == self.want => return found.sum,
            Ok(found) => anyhow!("{found:?} and not {:?}", self.want),
            Err(error) => error,
        };
        drop(self.failed.set(error)); // only the first one is kept
        0
    }

    fn result(self) -> Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

/// Returns the number and the sum of all values of a snapshot.
fn sum_of(snapshot: &Snapshot) -> Result<Checksum> {
    let mut checksum = Checksum::default();
    for result in Block::parse(snapshot.block())?.results() {
        let Body::Counterset(_, table) = result?.body else { bail!("not the rows of a counterset") };
        for instance in table.rows() {
            let instance = instance?;
            let numbers = instance.values().iter().filter_map(|value| value.number());
            numbers.for_each(|number| checksum.add(number.get()));
        }
    }
    Ok(checksum)
}

/// Measures the cost of opening a recording of seven days.
fn week(rounds: usize) -> Result<Report> {
    let folder = TemporaryFolder::new("week")?;
    let machine = SyntheticMachine::new(Size::Small);
    let checksum = record(&machine, folder.path(), Samples { step: 60, ..samples(WEEK) }, |journal| {
        seal(journal)?;
        Ok(())
    })?;
    let files = sealed_files(folder.path())?;
    ensure!(files.len() == WEEK as usize, "{} files", files.len());
    let recording = Recording::open(folder.path())?;
    ensure!(recording.times().count() == (WEEK * TICKS) as usize, "samples are missing");
    drop(recording);
    let title = format!(
        "recording: a folder of 7 days, {WEEK} files of {TICKS} samples, each 60th with {} values of {} countersets",
        checksum.values / u64::from(WEEK * TICKS / 60),
        machine.sets().len()
    );
    let path = folder.path();
    let failed = Cell::new(false);
    let check = |ticks: Option<usize>| {
        failed.set(failed.get() || ticks != Some((WEEK * TICKS) as usize));
        ticks.unwrap_or(0) as u64
    };
    // A screen shows the newest sample first.
    let newest = |recording: &Recording| -> Option<u64> {
        let last = recording.newest_time()?;
        let mut handle = recording.within(Window { begin: Some(last), end: None }).open().ok()?;
        for set in recording.countersets() {
            handle.add(&Entry::all(set.guid).instance("*"));
        }
        let mut snapshot = Snapshot::default();
        (handle.next(&mut snapshot) == Ok(NextOutcome::Sample)).then_some(snapshot.block().len() as u64)
    };
    let report = Comparison::new(title, 1)
        .per("folder")
        .variant("each file opened, 4 KiB of its begin and of its end read (floor)", || {
            ends(&sealed_files(path).unwrap_or_default()).unwrap_or(0)
        })
        .reference("floor")
        .variant("Recording::open", || {
            check(Recording::open(path).ok().map(|recording| recording.tick_count()))
        })
        .ns_goal(1e8)
        .variant("Recording::open, a query of everything and the newest sample", || {
            let len = Recording::open(path).ok().and_then(|recording| newest(&recording));
            failed.set(failed.get() || len.is_none());
            len.unwrap_or(0)
        })
        .ns_goal(1e8)
        .variant("Recording::open and the times of all samples", || {
            check(Recording::open(path).ok().map(|recording| recording.times().count()))
        })
        .run(rounds);
    ensure!(!failed.get(), "samples are missing");
    Ok(report)
}
