//! `perfset relog`: writes logs in another format, selects parts of them, and merges them.

pub mod progress;
mod sql;

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use perfset::clock::ClockReading;
use perfset::log::Existing;
use perfset::log::text::{Separator, Zone};
use perfset::log::{Logs, MachineLogs, Pick};
use perfset::output::text::{escaped, grouped, name_of};
use perfset::output::{
    JsonLines, MachineValues, Output, OutputSample, PdhCsv, PdhCsvColumns, PdhCsvOptions, SampleWriter,
};
use perfset::path::{CounterPath, PathQuery, PathValue};
use perfset::{NextOutcome, NoValue};

use crate::args::{RelogArgs, RelogFormat};
use crate::destination::{Destination, refuse_existing};
use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::paths::paths_of;
use crate::printer::warn;
use crate::query_source::{QuerySource, opened, unopened, window_of};
use crate::samples::{source_failed, unbound};
use crate::when::InstantArg;
use progress::Progress;

pub fn run(args: &RelogArgs) -> Result<Exit, Failure> {
    let usage = |text: String| Failure::new(Exit::Usage, anyhow!(text));
    let paths = paths_of(&args.paths, &args.counters_from)?;
    let pick = args.every.map_or(Pick::All, Pick::Nth);
    let job = RelogJob {
        files: args.files.clone(),
        machines: args.machine.clone(),
        paths,
        begin: args.begin.clone(),
        end: args.end.clone(),
        pick,
    };
    if args.list {
        return list(&job);
    }
    let Some(output) = &args.output else {
        return Err(usage(
            "no output file is given: -o FILE; its ending selects the format, and - is standard output"
                .into(),
        ));
    };
    let format = match args.format.or_else(|| RelogFormat::from_extension(output)) {
        Some(format) => format,
        None if is_dash(output) => RelogFormat::Csv,
        None => {
            let name = name_of(output);
            return Err(usage(format!(
                "\"{name}\" has no known ending: add --format csv, tsv, json or sqlite"
            )));
        }
    };
    if format != RelogFormat::Sqlite && (args.append || args.set.is_some()) {
        return Err(usage("--append and --set apply only to SQLite files".into()));
    }
    let existing = match (args.force, args.append) {
        (true, _) => Existing::Replace,
        (_, true) => Existing::Append,
        _ => Existing::Refuse,
    };
    let target = RelogTarget { file: output, format, local: args.local, existing, set: args.set.as_deref() };
    let done = job.run(&target, true)?;
    if io::stderr().is_terminal() {
        let samples = grouped(f64::from(u32::try_from(done.samples).unwrap_or(u32::MAX)), 0);
        let _ = writeln!(io::stderr(), "{samples} samples written"); // nobody is left to tell if this fails
    }
    Ok(done.exit())
}

/// Job of `relog`: the input logs, and the counters and samples to write.
pub struct RelogJob {
    pub files: Vec<PathBuf>,
    /// Machines whose counters are written to the new log; if empty, all machines in the logs.
    pub machines: Vec<String>,
    /// Counters to write to the new log; if empty, all counters in the logs.
    pub paths: Vec<CounterPath>,
    pub begin: Option<InstantArg>,
    pub end: Option<InstantArg>,
    pub pick: Pick,
}

/// Output of `relog`: the file and its format.
pub struct RelogTarget<'a> {
    pub file: &'a Path,
    pub format: RelogFormat,
    /// `true` if times are written in the log's time zone instead of UTC.
    pub local: bool,
    pub existing: Existing,
    /// Name of the log set in a SQLite file; `None` uses the name of the first log.
    pub set: Option<&'a str>,
}

/// Summary of a completed job of `relog`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelogSummary {
    pub samples: u64,
    /// Times of the first and the last written sample, in 100 ns since 1601 UTC.
    pub span: Option<(i64, i64)>,
    /// Offset added to local times of the first log to get UTC, in 100 ns.
    pub offset: i64,
    /// `true` if some data of the input logs could not be used.
    pub is_damaged: bool,
}

impl RelogSummary {
    /// Returns the exit code of a `relog` command that succeeded except for damaged data.
    pub fn exit(&self) -> Exit {
        if self.is_damaged { Exit::InvalidData } else { Exit::Ok }
    }
}

/// Counters of one machine of the logs, while the logs are read.
pub struct RelogSource {
    /// Name of the machine whose counters are read, from the log.
    pub name: String,
    pub query: PathQuery,
}

/// Properties of the input logs of `relog`.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// `true` if all samples of the logs have the same counters of the same instances.
    pub is_steady: bool,
    /// Offset added to local times of the input logs to get UTC, in 100 ns.
    pub offset: i64,
}

impl RelogJob {
    /// Runs the job of `relog`: writes the selected samples to the output.
    pub fn run(&self, target: &RelogTarget<'_>, shows_progress: bool) -> Result<RelogSummary, Failure> {
        // Before the logs are read, which can take minutes.
        if target.existing == Existing::Refuse {
            refuse_existing(target.file)?;
        }
        let logs = self.open()?;
        let input = Input { is_steady: logs.is_steady(), offset: logs.all().offset() };
        // A text log names all columns in its first line. If instances vary, all columns are known only at
        // the end of the logs, which are therefore read twice.
        let passes = if needs_columns(target.format) && !input.is_steady { 2 } else { 1 };
        let mut progress = Progress::new(Some(logs.all()), &self.files, passes, shows_progress);
        let first = self.files.first().and_then(|file| file.file_stem());
        let name = first.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let target = RelogTarget { set: Some(target.set.unwrap_or(&name)), ..*target };
        let written = write(&target, input, &mut progress, &mut || self.machines_of(&logs));
        let asked = self.source_of(logs.all());
        let (mut done, file) = written.map_err(|failure| asked.failed(failure))?;
        // Only now: damage is complete when the queries are closed.
        done.is_damaged = asked.warn_of_damage();
        drop(progress); // which reads the logs, too: Windows puts nothing at the place of a file that is open
        // Last of all, so that an error before leaves the old file untouched.
        match (file, target.existing) {
            (None, _) => {}
            (Some(file), Existing::Replace) => file.keep()?,
            // A file that was created at the path meanwhile is not overwritten either.
            (Some(file), Existing::Refuse | Existing::Append) => file.keep_first()?,
        }
        Ok(done)
    }

    /// Opens the input logs for each machine whose counters are requested.
    pub fn open(&self) -> Result<MachineLogs, Failure> {
        // The files are opened only once, because standard input can be read only once.
        let all = opened(&self.files, None, true)?;
        let named = self.machines.iter().map(String::as_str);
        let named = named.chain(self.paths.iter().filter_map(|path| path.machine.as_deref()));
        let mut names: Vec<String> = named.map(|name| name.trim_start_matches('\\').to_owned()).collect();
        let asks_for_any = names.is_empty() || self.paths.iter().any(|path| path.machine.is_none());
        if asks_for_any && self.machines.is_empty() {
            names = all.machines().iter().cloned().collect();
        }
        names.sort_by_cached_key(|name| name.to_lowercase());
        // Names that differ only in case are one machine, as in the logs.
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        let known: HashSet<String> = all.machines().iter().map(|name| name.to_ascii_lowercase()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.to_ascii_lowercase())) {
            let known: Vec<_> = all.machines().iter().map(|name| escaped(name)).collect();
            let (name, known) = (escaped(name), known.join(", "));
            let error = anyhow!("the log has no counters of a machine \"{name}\"; it has: {known}");
            return Err(Failure::new(Exit::NothingMatched, error));
        }
        let window = window_of(&all, self.begin.as_ref(), self.end.as_ref())?;
        let all = all.within(window).picking(self.pick);
        all.for_machines(&names).map_err(|error| unopened(&self.files, error))
    }

    fn source_of(&self, logs: &Logs) -> QuerySource {
        QuerySource::Logs { logs: logs.clone(), files: self.files.clone() }
    }

    /// Returns a query over the logs of each machine. All queries read the logs together.
    fn machines_of(&self, logs: &MachineLogs) -> Result<Vec<RelogSource>, Failure> {
        let paths = PathsByMachine::new(&self.paths);
        let queries = logs.queries().map_err(source_failed)?;
        let mut machines = Vec::with_capacity(queries.len());
        for (mut logs, query) in logs.iter().zip(queries) {
            let mut query = PathQuery::from_handle(query);
            let all = if self.paths.is_empty() { logs.paths() } else { Vec::new() };
            for path in paths.of(logs.machine_name()).chain(&all) {
                let added = query.add(&mut logs, path);
                added.map_err(|error| unbound(&self.source_of(&logs), path, error))?;
            }
            machines.push(RelogSource { name: logs.machine_name().to_owned(), query });
        }
        Ok(machines)
    }
}

/// Counter paths of a `relog` job by the machine that they name.
struct PathsByMachine<'a> {
    all: &'a [CounterPath],
    /// Indexes of the counter paths that name a machine, by its name in lower case.
    named: HashMap<String, Vec<usize>>,
    /// Indexes of the counter paths that name no machine.
    unnamed: Vec<usize>,
}

impl<'a> PathsByMachine<'a> {
    fn new(all: &'a [CounterPath]) -> Self {
        let mut paths = Self { all, named: HashMap::new(), unnamed: Vec::new() };
        for (at, path) in all.iter().enumerate() {
            match path.machine.as_deref() {
                Some(name) => paths.named.entry(name.to_ascii_lowercase()).or_default().push(at),
                None => paths.unnamed.push(at),
            }
        }
        paths
    }

    /// Returns the counter paths of a machine: those that name it, and those that name none, in their order.
    fn of(&self, machine: &str) -> impl Iterator<Item = &'a CounterPath> + use<'a> {
        let all = self.all;
        let own = self.named.get(&machine.to_ascii_lowercase()).into_iter().flatten();
        let mut places: Vec<usize> = own.chain(&self.unnamed).copied().collect();
        places.sort_unstable();
        places.into_iter().filter_map(move |at| all.get(at))
    }
}

fn needs_columns(format: RelogFormat) -> bool {
    matches!(format, RelogFormat::Csv | RelogFormat::Tsv)
}

/// Writes the samples of machines in logs to an output; `open` opens the machines again for each time they are read.
/// Returns a file that is not yet moved to its final name.
pub fn write(
    target: &RelogTarget<'_>,
    input: Input,
    progress: &mut Progress,
    open: &mut dyn FnMut() -> Result<Vec<RelogSource>, Failure>,
) -> Result<(RelogSummary, Option<Destination>), Failure> {
    let Input { is_steady, offset } = input;
    let mut columns = PdhCsvColumns::of_machines();
    // The header of a text log names every column, and instances can appear in the last sample. So the log is read
    // twice.
    if needs_columns(target.format) {
        find_columns(&mut columns, &mut open()?, is_steady, progress)?;
    }
    let file = Destination::new(target.file)?;
    let mut database = None;
    let mut output: Box<dyn Output> = match target.format {
        RelogFormat::Csv | RelogFormat::Tsv => {
            let separator = match target.format {
                RelogFormat::Tsv => Separator::Tab,
                _ => Separator::Comma,
            };
            let zone = if target.local { local_zone(offset) } else { Zone::utc() };
            let options = PdhCsvOptions { separator, zone, ..PdhCsvOptions::default() };
            Box::new(PdhCsv::new(SampleWriter::buffered(file.writer()?), options, columns))
        }
        RelogFormat::Json => Box::new(JsonLines::new(SampleWriter::buffered(file.writer()?))),
        RelogFormat::Sqlite if is_dash(target.file) => {
            let error = anyhow!("a SQLite file cannot be standard output: use -o FILE.db");
            return Err(Failure::new(Exit::Usage, error));
        }
        RelogFormat::Sqlite => {
            let name = target.set.unwrap_or_default();
            let (output, part) = sql::open(&file, name, local_zone(offset), target.existing)?;
            database = Some(part);
            output
        }
    };
    let mut done = RelogSummary { offset, ..RelogSummary::default() };
    let mut machines = open()?;
    while let Some(clocks) = step(&mut machines)? {
        let values = machines.iter().map(|machine| {
            let mut values = machine.query.values();
            // Machines recorded at other times have no values in this sample.
            values.retain(|v| machines.len() == 1 || v.value.instance_id.is_some());
            values.shrink_to_fit(); // those of thousands of machines are held at the same time
            values
        });
        let values: Vec<_> = values.collect();
        write_sample(&mut *output, &clocks, &machines, &values).map_err(sql::failure)?;
        let time = clocks.time_100ns;
        done.samples = done.samples.saturating_add(1);
        done.span = Some((done.span.map_or(time, |(first, _)| first), time));
        progress.show();
    }
    progress.finish();
    drop(machines);
    // Nothing is left of the new file then: `file` removes it when it is dropped.
    if done.samples == 0 {
        return Err(Failure::new(
            Exit::NothingMatched,
            anyhow!("no sample in the log, or none in that time"),
        ));
    }
    output.finish().map_err(sql::failure)?;
    let is_new = match database {
        // A database that existed was changed in place, and nothing is to be moved.
        Some(None) => false,
        // SQLite's own syncs are off for a new file, so its data is flushed here.
        Some(Some(part)) => {
            part.settle()?;
            true
        }
        None => true,
    };
    warn(&output.warnings());
    Ok((done, is_new.then_some(file)))
}

/// Passes one sample of the logs to an output. `values` are those of each machine.
fn write_sample(
    output: &mut dyn Output,
    clocks: &ClockReading,
    machines: &[RelogSource],
    values: &[Vec<PathValue<'_>>],
) -> io::Result<()> {
    let all = machines.iter().zip(values);
    let all =
        all.map(|(machine, values)| MachineValues::new(values).named(&machine.name).of_query(&machine.query));
    let all: Vec<_> = all.collect();
    output.sample(&OutputSample::new(clocks, &all))
}

/// Finds the columns of a text log by reading the logs once. If all samples have the same instances, the first sample
/// is enough.
fn find_columns(
    columns: &mut PdhCsvColumns,
    machines: &mut [RelogSource],
    is_steady: bool,
    progress: &mut Progress,
) -> Result<(), Failure> {
    // If all samples have the same counters, a counter missing in this sample is missing in all.
    let is_there = |v: &PathValue<'_>| !(is_steady && matches!(v.value.value, Err(NoValue::Unavailable(_))));
    while step(machines)?.is_some() {
        let values = machines.iter().map(|machine| {
            // Its columns are known: to make all values again takes far longer than this.
            let mut values = if machine.query.has_same_rows() { Vec::new() } else { machine.query.values() };
            values.retain(is_there);
            values
        });
        let values: Vec<_> = values.collect();
        let all = machines.iter().zip(&values);
        let all: Vec<_> =
            all.map(|(machine, values)| MachineValues::new(values).named(&machine.name)).collect();
        columns.learn(&all);
        if is_steady {
            break;
        }
        progress.show();
    }
    Ok(())
}

/// Moves the queries of all machines to their next sample, and returns its clocks; `None` at the end. The machines
/// share the same logs, so the time is the same.
fn step(machines: &mut [RelogSource]) -> Result<Option<ClockReading>, Failure> {
    let mut clocks = None;
    for machine in machines {
        if machine.query.collect().map_err(source_failed)? == NextOutcome::Sample {
            clocks.get_or_insert(*machine.query.snapshot().clocks());
        }
    }
    Ok(clocks)
}

/// Returns the time zone of a log's local times, for PDH-CSV.
fn local_zone(offset: i64) -> Zone {
    const MINUTE: i64 = 600_000_000;
    let minutes = i32::try_from(offset.wrapping_div(MINUTE)).unwrap_or(0);
    let (sign, size) = (if minutes > 0 { '-' } else { '+' }, minutes.unsigned_abs());
    Zone { name: format!("UTC{sign}{:02}:{:02}", size / 60, size % 60), minutes }
}

/// Prints the counter paths of all instances in the logs.
pub fn list(job: &RelogJob) -> Result<Exit, Failure> {
    let logs = job.open()?;
    let mut progress = Progress::new(Some(logs.all()), &job.files, 1, true);
    let is_steady = logs.is_steady();
    let mut columns = PdhCsvColumns::of_machines();
    find_columns(&mut columns, &mut job.machines_of(&logs)?, is_steady, &mut progress)?;
    progress.finish();
    let mut out = io::stdout().lock();
    for path in columns.paths() {
        writeln!(out, "{}", escaped(&path))?;
    }
    out.flush()?;
    let is_damaged = job.source_of(logs.all()).warn_of_damage();
    Ok(if is_damaged { Exit::InvalidData } else { Exit::Ok })
}
