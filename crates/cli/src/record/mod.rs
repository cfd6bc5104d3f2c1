//! `perfset record`: writes collected samples into a recording. `perfset mark`: annotates one.

mod budget;
mod control;
mod counters;
mod exports;
mod groups;
mod sealer;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use jiff::Zoned;
use perfset::catalogue::{network_interface, physical_disk, process_v2};
use perfset::log::recording::{
    Annotation, FolderLock, LockError, RecordingAbout, RecordingWriter, RingLimits, TickPart, WriterOptions,
    seal_file, unsealed,
};
use perfset::output::text::{escaped, name_of};
use perfset::{CostClass, Fact, FactKind, FactOptions, Guid, Identity};

use crate::args::{Keep, MarkArgs, RecordArgs};
use crate::exit::{Exit, Failure};
use crate::operands::Operands;
use crate::pace::Pace;
use crate::query_source::QuerySource;
use budget::{BudgetChange, CpuBudget};
use counters::RecorderCounters;
use exports::Exports;
use groups::Groups;
use sealer::Sealer;

/// Interval between two recorded samples if the operands have none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum size of a recording's directory in bytes, if the user sets no limit.
const DEFAULT_BYTES: u64 = 1_000_000_000;

pub fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    let folder = match (&args.output, &args.dir) {
        (Some(_), _) => PathBuf::new(),
        (None, Some(folder)) => folder.clone(),
        (None, None) => default_folder()?,
    };
    if args.status {
        return control::status(&folder);
    }
    if args.stop {
        return control::stop(&folder);
    }
    args.processes.apply()?;
    let asked = QuerySource::Machine(perfset::local());
    let mut operands = Operands::without_paths(&args.operands)?;
    operands.settle(asked.machine());
    let interval = operands.interval.unwrap_or(DEFAULT_INTERVAL);
    let mut exports = args.export.as_deref().map(Exports::prepare).transpose()?;
    let groups = Groups::bind(&asked, &operands, interval, args)?;
    let mut about = about(interval);
    if let Some(note) = &args.note {
        about = about.with(RecordingAbout::NOTE, note);
    }
    let limits = limits(args);
    // Whole files are removed, so each must be a small part of what is kept.
    let options =
        WriterOptions::default().sync(args.sync.0).bytes_per_file(limits.bytes.map(|bytes| bytes / 8));
    let failed = |error: io::Error, path: &Path| {
        let error = anyhow!(error).context(format!("cannot record into {}", name_of(path)));
        Failure::new(Exit::SourceFailed, error)
    };
    let now = perfset::now();
    let (writer, lock) = match &args.output {
        Some(file) => {
            let writer = RecordingWriter::create_file(file, &now, about, options.with_texts(true));
            (writer.map_err(|error| failed(error, file))?, None)
        }
        None => {
            let lock = FolderLock::take(&folder, &control::owner()).map_err(unlocked)?;
            let writer = RecordingWriter::create(&folder, &now, about, options);
            (writer.map_err(|error| failed(error, &folder))?, Some(lock))
        }
    };
    // The first sample is taken at once.
    let count = operands.count.map(|count| count.saturating_sub(1));
    let pace = Pace::new(interval, count).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let counters = RecorderCounters::publish(writer.path());
    let mut sealer = Sealer::new(counters.clone());
    if lock.is_some() {
        // What a recorder that was ended has left.
        let left = unsealed(&folder, None).map_err(|error| failed(error, &folder))?;
        sealer.add_left(&folder, left);
    }
    if let Some(exports) = &mut exports {
        let slowest = args.every.iter().map(|every| every.interval).max().unwrap_or_default().max(interval);
        exports.start(&folder, slowest, counters.clone());
    }
    let with_command_lines = args.with_command_lines;
    let mut recorder = Recorder {
        asked,
        groups,
        writer,
        limits,
        sealer,
        exports,
        counters,
        budget: CpuBudget::new(args.cpu.0),
        slowed: 0,
        spent: Duration::ZERO,
        lock,
        with_command_lines,
        is_warned: false,
    };
    recorder.run(pace)
}

fn unlocked(error: LockError) -> Failure {
    let error =
        anyhow!(error).context("use another directory with --dir, or end the other recorder with --stop");
    Failure::escaped(Exit::SourceFailed, error)
}

fn limits(args: &RecordArgs) -> RingLimits {
    let mut limits = RingLimits { free_percent: args.min_free, ..RingLimits::default() };
    for keep in &args.keep {
        match *keep {
            Keep::Bytes(bytes) => limits.bytes = Some(bytes),
            Keep::Age(age) => limits.age = Some(age),
        }
    }
    if args.keep.is_empty() {
        limits.bytes = Some(DEFAULT_BYTES);
    }
    limits
}

fn about(interval: Duration) -> RecordingAbout {
    let now = Zoned::now();
    let about = RecordingAbout::default()
        .with(RecordingAbout::WRITER, concat!("perfset ", env!("CARGO_PKG_VERSION")))
        .with(RecordingAbout::MACHINE, perfset::own_name())
        .with(RecordingAbout::SYSTEM, perfset::system())
        .with(RecordingAbout::BOOT, boot())
        .with(RecordingAbout::RUN, format!("{}-{}", std::process::id(), perfset::now().time_100ns))
        .with(RecordingAbout::INTERVAL_MS, interval.as_millis().to_string())
        .with(RecordingAbout::UTC_OFFSET_S, now.offset().seconds().to_string());
    match now.time_zone().iana_name() {
        Some(name) => about.with(RecordingAbout::TIME_ZONE, name),
        None => about,
    }
}

/// Returns the id of the machine's current boot; empty if the system has none.
fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.chars().filter(char::is_ascii_hexdigit).take(32).collect()
}

/// Returns the default directory for recordings of this user and machine.
pub fn default_folder() -> Result<PathBuf, Failure> {
    let host: String = perfset::own_name()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' })
        .collect();
    let host = if host.starts_with('.') || host.is_empty() { format!("_{host}") } else { host };
    let base = control::base_folder();
    let usage =
        || Failure::new(Exit::Usage, anyhow!("there is no home directory: choose a directory with --dir"));
    Ok(base.ok_or_else(usage)?.join("perfset").join(host))
}

/// Returns the directory into which a recorder of this user writes, if one runs there.
#[cfg(feature = "tui")]
pub fn running_folder() -> Option<PathBuf> {
    default_folder().ok().filter(|folder| FolderLock::is_held(folder).unwrap_or(false))
}

/// Running recorder, with the counters that it collects and the recording that it writes.
struct Recorder {
    asked: QuerySource,
    groups: Groups,
    writer: RecordingWriter,
    limits: RingLimits,
    sealer: Sealer,
    exports: Option<Exports>,
    counters: RecorderCounters,
    budget: CpuBudget,
    /// Number of doubled recording intervals.
    slowed: u64,
    /// CPU time of the recorder so far.
    spent: Duration,
    lock: Option<FolderLock>,
    /// `true` to record the command lines of all users.
    with_command_lines: bool,
    /// `true` if the user was told that writing fails, until writing works again.
    is_warned: bool,
}

impl Recorder {
    fn run(&mut self, mut pace: Pace) -> Result<Exit, Failure> {
        let into = self.writer.path().to_owned();
        control::say(&format!("recording into {}; Ctrl+C ends it", name_of(&into)));
        self.keep_limits();
        self.annotate(STARTED);
        let begin = Instant::now();
        loop {
            self.tick();
            self.keep_budget(begin.elapsed());
            let goes_on = pace.wait();
            self.counters.set_late(pace.skipped());
            if !goes_on {
                break;
            }
        }
        self.annotate("recorder stopped");
        if let Some(finished) = self.writer.finish_file() {
            match self.writer.is_folder() {
                true => self.sealer.add(finished.path),
                false => self.seal_file(&finished.path),
            }
        }
        self.sealer.finish();
        // Exports only read, so another recorder can begin, however slow a store is.
        self.lock = None;
        if let Some(exports) = &mut self.exports {
            exports.finish();
        }
        let (ticks, bytes) = (self.writer.ticks_written(), control::human_size(self.writer.bytes_written()));
        control::say(&format!("{ticks} samples of {bytes} are in {}", name_of(&into)));
        Ok(Exit::Ok)
    }

    /// Collects the groups of counters that are due, and writes them as a tick of the recording.
    fn tick(&mut self) {
        let Self { asked, groups, writer, .. } = self;
        groups.refresh(asked);
        groups.collect(writer);
        let parts: Vec<TickPart<'_>> = groups.parts().collect();
        let Some(clocks) = groups.clocks() else { return };
        let before = writer.bytes_written();
        match writer.tick(&clocks, &parts) {
            Ok(finished) => {
                self.is_warned = false;
                self.counters.written(1, writer.bytes_written().saturating_sub(before));
                self.note();
                if let Some(finished) = finished {
                    self.sealer.add(finished.path);
                    self.keep_limits();
                }
            }
            Err(error) => {
                self.counters.lost();
                self.not_written(&error);
            }
        }
    }

    /// Counts the CPU time of this process, and changes recording intervals if it is more than the budget, or much
    /// less.
    fn keep_budget(&mut self, elapsed: Duration) {
        let mut took = Duration::ZERO;
        for (counterset, cost) in self.groups.costs() {
            self.budget.add(counterset, cost);
            took = took.saturating_add(cost);
        }
        // Exports go beside, at a low priority: to read less often would not make them cheaper.
        let exported = self.exports.as_ref().map_or(Duration::ZERO, Exports::cpu);
        let spent = cpu_time().map(|spent| spent.saturating_sub(exported).max(self.spent));
        let spent = spent.unwrap_or_else(|| self.spent.saturating_add(took));
        self.counters.used(spent.saturating_sub(self.spent));
        self.spent = spent;
        let Self { budget, groups, asked, .. } = self;
        let Some(change) = budget.check(elapsed, spent, |counterset| groups.can_slow(counterset)) else {
            return;
        };
        let seconds = |interval: Duration| interval.as_secs_f64();
        let text = match change {
            BudgetChange::Slow(counterset, share) => {
                let Some((name, interval)) = groups.change_interval(asked, &counterset, true) else {
                    budget.failed(change);
                    return;
                };
                self.slowed = self.slowed.saturating_add(1);
                let interval = seconds(interval);
                format!("{BUDGET} exceeded with {share:.2} %: {name} is read every {interval} s from now on")
            }
            BudgetChange::Restore(counterset, share) => {
                let Some((name, interval)) = groups.change_interval(asked, &counterset, false) else {
                    budget.failed(change);
                    return;
                };
                self.slowed = self.slowed.saturating_sub(1);
                let interval = seconds(interval);
                format!("{BUDGET} used with {share:.2} %: {name} is read every {interval} s again")
            }
            BudgetChange::Exhausted(share) => {
                format!("{BUDGET} exceeded with {share:.2} %: no interval can be longer")
            }
        };
        self.counters.set_slowed(self.slowed);
        control::say(&text);
        self.annotate(&text);
    }

    /// Seals the single file of the recording. If that fails, its samples are as good in their journal's form.
    fn seal_file(&self, path: &Path) {
        let begin = Instant::now();
        match seal_file(path) {
            Ok(()) => self.counters.sealed(begin.elapsed()),
            Err(error) => control::say(&format!("warning: {} is not sealed: {error}", name_of(path))),
        }
    }

    /// Reads the facts about new instances, to be written with the next sample.
    fn note(&mut self) {
        /// Countersets whose instances have facts that are recorded, because users need them later.
        const NOTED: [Guid; 3] = [process_v2::GUID, physical_disk::GUID, network_interface::GUID];
        /// Maximum number of instances whose facts are read after one sample, so that the next one is not late.
        const MOST: usize = 200;
        let options = FactOptions::default().with_command_lines(self.with_command_lines);
        let machine = self.asked.machine();
        // A file is sent to other people, and command lines can contain secrets.
        let has_command_lines = self.with_command_lines || self.writer.is_folder();
        let is_allowed = |fact: &Fact| fact.kind != FactKind::CommandLine || has_command_lines;
        for counterset in NOTED {
            let mut read = |instance: &Identity<'_>| {
                let facts = machine.facts(instance, options).unwrap_or_default();
                facts.into_iter().filter(is_allowed).collect()
            };
            self.writer.note_new(&counterset, MOST, &mut read);
        }
    }

    /// Handles a failed write: removes old files to make room, and says once that samples are lost. A full disk never
    /// ends a recorder.
    fn not_written(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.is_warned, true) {
            control::say(&format!("warning: samples are lost until writing works again: {error}"));
        }
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if is_full && self.writer.is_folder() {
            // The next sample has room, if there is anything to remove.
            if let Err(error) = RingLimits::remove_oldest(self.writer.path(), self.writer.written_file()) {
                control::say(&format!("warning: cannot remove the oldest file: {error}"));
            }
        }
    }

    fn keep_limits(&mut self) {
        if !self.writer.is_folder() {
            return;
        }
        let limits = self.limits;
        // Room for the file that follows: as much as the last one took.
        let more = self.writer.bytes_of_last_file();
        if let Err(error) = limits.enforce(self.writer.path(), self.writer.written_file(), more) {
            control::say(&format!("warning: cannot remove old files: {error}"));
        }
        if let Some(age) = oldest_age(self.writer.path()) {
            self.counters.set_age(age);
        }
    }

    fn annotate(&mut self, text: &str) {
        let time = perfset::now().utc_100ns();
        let annotation = Annotation { time, is_of_recorder: true, text: text.to_owned() };
        // Without the annotation the samples are as good.
        let _ = self.writer.annotate(&annotation);
    }
}

/// Text of the annotation that a recorder writes at its start.
const STARTED: &str = "recorder started";
/// Words with which annotations about the CPU budget begin.
const BUDGET: &str = "CPU budget";

/// Returns the CPU time of this process so far; `None` if this system does not report it.
#[cfg(target_os = "linux")]
fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(target_os = "linux"))]
const fn cpu_time() -> Option<Duration> {
    None
}

/// Returns the age of the oldest file in the directory of a recording.
fn oldest_age(folder: &Path) -> Option<Duration> {
    let files = folder.read_dir().ok()?.flatten();
    let times = files.filter_map(|file| file.metadata().ok()?.modified().ok());
    times.min()?.elapsed().ok()
}

/// Writes an annotation of a recording into a file of its own, so that it waits for no recorder.
pub fn mark(args: &MarkArgs) -> Result<Exit, Failure> {
    const LONGEST: usize = 10_000;
    let usage = |text: &str| Failure::new(Exit::Usage, anyhow!(text.to_owned()));
    if args.text.trim().is_empty() || args.text.len() > LONGEST {
        return Err(usage("the text of a mark has between 1 and 10,000 bytes"));
    }
    let folder = args.dir.clone().map_or_else(default_folder, Ok)?;
    let missing = || {
        let error = anyhow!(
            "{} does not exist: start perfset record first, or name its directory with --dir",
            name_of(&folder)
        );
        Failure::new(Exit::NothingMatched, error)
    };
    if !folder.is_dir() {
        return Err(missing());
    }
    let annotation =
        Annotation { time: perfset::now().utc_100ns(), is_of_recorder: false, text: args.text.clone() };
    let written =
        RecordingWriter::annotate_folder(&folder, &perfset::now(), &about(DEFAULT_INTERVAL), &annotation);
    written
        .with_context(|| format!("cannot write into {}", escaped(&folder.to_string_lossy())))
        .map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    Ok(Exit::Ok)
}

/// Returns the highest cost class of counters that are recorded without being named.
const fn most_costly(all: bool) -> CostClass {
    if all { CostClass::Expensive } else { CostClass::Moderate }
}
