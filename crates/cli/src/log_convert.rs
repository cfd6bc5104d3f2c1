//! `perfset log convert`: makes a recording of logs of other programs.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use perfset::clock::ClockReading;
use perfset::log::Logs;
use perfset::log::recording::{
    RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions, is_recording, seal_file,
};
use perfset::output::text::{grouped_digits, name_of};
use perfset::path::PathQuery;
use perfset::{Entry, NextOutcome, ResolvedEntry, Source};

use crate::args::LogConvertArgs;
use crate::destination::{Destination, refuse_existing};
use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::query_source::{QuerySource, opened};
use crate::relog::progress::Progress;
use crate::samples::{source_failed, unbound};

pub fn run(args: &LogConvertArgs) -> Result<Exit, Failure> {
    let usage = |text: String| Failure::new(Exit::Usage, anyhow!(text));
    if let Some(file) = args.files.iter().find(|file| !is_dash(file) && is_recording(file)) {
        let name = name_of(file);
        return Err(usage(format!("{name} is a recording already; perfset log cut makes one file of it")));
    }
    if !args.force {
        refuse_existing(&args.output)?;
    }
    // Before the logs are read: their error is the more useful one only if the file can be written.
    let logs = opened(&args.files, args.machine.as_deref(), false)?;
    if logs.recording().is_some() {
        return Err(usage("standard input is a recording already: write it to a file".to_owned()));
    }
    let asked = QuerySource::Logs { logs: logs.clone(), files: args.files.clone() };
    let destination = Destination::new(&args.output)?.private();
    let new = destination.part()?;
    let (path, held) = new.ok_or_else(|| usage("a recording must be a regular file: -o FILE".to_owned()))?;
    let file = File::options().write(true).open(&path).map_err(|error| destination.failed(error))?;
    held.check_open().map_err(|error| destination.failed(error))?;
    let about = about(&logs, &args.files);
    let options = WriterOptions::default().sync(None).with_texts(true);
    let writer = RecordingWriter::fill_file(file, &path, &ClockReading::recorded(0), about, options);
    let mut writer = writer.map_err(|error| destination.failed(error))?;
    let mut progress = Progress::new(Some(&logs), &args.files, 1, true);
    let written = write(&asked, logs, &destination, &mut writer, &mut progress);
    progress.finish();
    written.map_err(|failure| asked.failed(failure))?;
    let ticks = writer.ticks_written();
    writer.finish_file();
    drop((writer, progress));
    held.settle().map_err(|error| destination.failed(error))?;
    drop(held);
    let is_damaged = asked.warn_of_damage();
    drop(asked); // Windows puts nothing at the place of a file that is open
    if ticks == 0 {
        return Err(Failure::new(Exit::NothingMatched, anyhow!("no sample in the log")));
    }
    match args.force {
        true => destination.keep()?,
        false => destination.keep_first()?,
    }
    // A tenth of the size, and columns can be read by themselves. If that fails, the samples are as good as they are.
    if let Err(error) = seal_file(&args.output) {
        let text = format!("warning: {} is not sealed: {error}", name_of(&args.output));
        let _ = writeln!(io::stderr(), "{text}"); // standard error is the last place to report to
    }
    if io::stderr().is_terminal() {
        let samples = grouped_digits(&ticks.to_string());
        let _ = writeln!(io::stderr(), "{samples} samples written"); // nobody is left to tell if this fails
    }
    Ok(if is_damaged { Exit::InvalidData } else { Exit::Ok })
}

/// Returns the description of the new recording: the machine, and the logs that it was made of.
fn about(logs: &Logs, files: &[impl AsRef<Path>]) -> RecordingAbout {
    /// Maximum number of source logs that the description of a recording names.
    const NAMED: usize = 5;
    let names = files.iter().take(NAMED);
    let names =
        names.map(|file| file.as_ref().file_name().unwrap_or_default().to_string_lossy().into_owned());
    let mut names = names.collect::<Vec<_>>().join(", ");
    if let more @ 1.. = files.len().saturating_sub(NAMED) {
        names = format!("{names} and {more} more");
    }
    RecordingAbout::default()
        .with(RecordingAbout::WRITER, concat!("perfset ", env!("CARGO_PKG_VERSION")))
        .with(RecordingAbout::MACHINE, logs.machine_name())
        .with(RecordingAbout::UTC_OFFSET_S, (logs.offset() / -10_000_000).to_string())
        .with(RecordingAbout::NOTE, format!("converted from {names}"))
}

/// Writes every sample of the source logs with all counters to a recording.
fn write(
    asked: &QuerySource,
    mut logs: Logs,
    destination: &Destination,
    writer: &mut RecordingWriter,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let failed = |error: io::Error| destination.failed(error);
    let mut query = PathQuery::from_handle(logs.open().map_err(source_failed)?);
    for path in logs.paths() {
        query.add(&mut logs, &path).map_err(|error| unbound(asked, &path, error))?;
    }
    let mut defined: Vec<(TableDefinition, Entry)> = Vec::new();
    let mut tables: Vec<Option<usize>> = Vec::new();
    let mut entries: Option<Arc<[ResolvedEntry]>> = None;
    while query.collect().map_err(source_failed)? == NextOutcome::Sample {
        let snapshot = query.snapshot();
        let known = entries.as_ref().map(|known| known.as_ptr());
        if known != Some(snapshot.entries().as_ptr()) {
            // The logs have other counters from here on.
            tables.clear();
            for entry in snapshot.entries() {
                tables.push(table(&mut defined, writer, entry).map_err(failed)?);
            }
            entries = Some(snapshot.shared_entries());
        }
        let parts = tables.iter().enumerate();
        let parts: Vec<TickPart<'_>> =
            parts.filter_map(|(entry, table)| Some(TickPart { table: (*table)?, snapshot, entry })).collect();
        writer.tick(snapshot.clocks(), &parts).map_err(failed)?;
        progress.show();
    }
    Ok(())
}

/// Returns the number of an entry's table in a recording, and defines the table if it is new; `None` without a
/// counterset.
fn table(
    defined: &mut Vec<(TableDefinition, Entry)>,
    writer: &mut RecordingWriter,
    entry: &ResolvedEntry,
) -> io::Result<Option<usize>> {
    // Each sample has all tables, so no time between two collections is needed.
    let Some(definition) = TableDefinition::of(entry, 0) else { return Ok(None) };
    let is_known = |(known, of): &(TableDefinition, Entry)| *known == definition && *of == entry.entry;
    if let Some(known) = defined.iter().position(is_known) {
        return Ok(Some(known));
    }
    let number = writer.add_table(definition.clone())?;
    defined.push((definition, entry.entry.clone()));
    Ok(Some(number))
}
