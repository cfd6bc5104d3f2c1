//! `perfset log info`: prints the contents of a log.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use perfset::clock::SystemTime;
use perfset::log::info::{Counters, Gap};
use perfset::log::recording::{MissedTicks, Recording, RecordingAbout, is_recording};
use perfset::log::{Info, Log, LogError};
use perfset::output::text::{self, NAME_MAX, escaped, grouped, name_of};
use perfset::path::CounterPath;
use serde::Serialize;

use crate::args::{LogInfoArgs, interval, is_command};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::records::{ListRecord, RecordWriter};

/// Prints a summary of the contents of each log: machine, times, countersets, gaps and damage.
pub fn info(args: &LogInfoArgs) -> Result<Exit, Failure> {
    let mut records = RecordWriter::stdout(args.output.format());
    let mut out = io::stdout().lock();
    let mut exit = Exit::Ok;
    for (position, file) in args.files.iter().enumerate() {
        let (info, written_by) = contents(file)?;
        if !info.damages.is_empty() {
            exit = Exit::InvalidData;
        }
        if let Some(records) = &mut records {
            records.push(&LogRecord::new(file, &info, &written_by))?;
            continue;
        }
        if position > 0 {
            writeln!(out)?;
        }
        show(&mut out, file, &info, &written_by)?;
    }
    out.flush()?;
    if let Some(records) = &mut records {
        records.finish::<LogRecord<'_>>()?;
    }
    Ok(exit)
}

/// Returns the command-line arguments as files, if all are existing files and the first is neither a command nor an
/// interval.
pub fn only_files(args: impl Iterator<Item = OsString>) -> Option<Vec<PathBuf>> {
    let files: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let first = files.first()?.to_string_lossy();
    // The names of the commands come last: to build their list takes longer than all else.
    let is_option = first.starts_with('-');
    let are_files = !is_option && files.iter().all(|file| file.is_file());
    (are_files && interval(&first).is_err() && !is_command(&first)).then_some(files)
}

/// Prints a summary of each log, and commands that show more of the logs.
pub fn show_files(files: &[PathBuf]) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    let (mut exit, mut first) = (Exit::Ok, None);
    for file in files {
        let (info, written_by) = open(file)?;
        show(&mut out, file, &info, &written_by)?;
        writeln!(out)?;
        exit = if info.damages.is_empty() { exit } else { Exit::InvalidData };
        first = first.or_else(|| example(&info));
    }
    let quoted: Vec<_> = files.iter().map(|file| quoted(&file.to_string_lossy())).collect();
    let (relog, logs) = (quoted.join(" "), quoted.join(" --log "));
    let path = first.as_deref().map_or_else(|| "PATH".to_owned(), self::quoted);
    writeln!(out, "Next:")?;
    writeln!(out, "  perfset get {path} --log {logs}")?;
    writeln!(out, "  perfset get {path} --log {logs} --summary")?;
    match cfg!(feature = "plot") {
        true => writeln!(out, "  perfset plot {path} --log {logs} -o picture.svg")?,
        false => writeln!(out, "  perfset relog {relog} --list")?,
    }
    out.flush()?;
    Ok(exit)
}

/// Returns the path of a counter in a log that most users want to see first.
fn example(info: &Info) -> Option<String> {
    const WANTED: [&str; 3] = [r"\% Processor Time", r"\Available Bytes", r"\% Idle Time"];
    let paths = || info.counters.iter().map(|counters| &counters.path);
    let wanted = |end: &&str| paths().find(|path| path.ends_with(*end));
    // The entry of an object has all of its counters, and is no path of one.
    let is_counter = |path: &&String| path.parse::<CounterPath>().is_ok();
    WANTED.iter().find_map(wanted).or_else(|| paths().find(is_counter)).cloned()
}

/// Returns a word of a command as a shell reads it, in single quotes if necessary.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", escaped(&word.replace('\'', r"'\''"))),
    }
}

/// Returns the summary of a log or of an exported file, and a text about its writer.
fn contents(file: &Path) -> Result<(Info, String), Failure> {
    #[cfg(feature = "parquet")]
    if perfset_parquet::is_parquet(file) {
        let failed = |error| Failure::escaped(Exit::SourceFailed, anyhow!("{}: {error}", file.display()));
        return perfset_parquet::file_info(file).map_err(failed);
    }
    open(file)
}

/// Reads a log to its end, and returns its summary and a text about its writer.
fn open(file: &Path) -> Result<(Info, String), Failure> {
    let failed = |error| unusable(file, error);
    if !input::is_dash(file) && is_recording(file) {
        let recording = Recording::open(file).map_err(|error| failed(error.into()))?;
        let read = Info::of_recording(&recording);
        let info = read.map_err(|error| Failure::escaped(Exit::InvalidData, error))?;
        return Ok((info, writer_of(&recording)));
    }
    let log = match input::is_dash(file) {
        true => {
            let input: Box<dyn Read + Send> = Box::new(io::stdin());
            Log::open(input)
        }
        false => {
            input::open(file)?; // its error names the file
            Log::open_file(file)
        }
    };
    let log = log.map_err(failed)?;
    let written_by = format_of(&log);
    Ok((Info::read(log).map_err(failed)?, written_by))
}

/// Returns a text about the program that wrote a recording.
pub fn writer_of(recording: &Recording) -> String {
    let about = |key| recording.about().and_then(|about| about.get(key)).unwrap_or_default();
    let written_by = format!("recording of {}", about(RecordingAbout::WRITER));
    match about(RecordingAbout::NOTE) {
        "" => written_by,
        note => format!("{written_by}: {note}"),
    }
}

/// Returns a text about the format of a log that is not a recording.
pub fn format_of<R: Read>(log: &Log<R>) -> String {
    match log {
        Log::Blg(log) => {
            let header = log.header();
            let bits = if header.pointer_size == 4 { 32 } else { 64 };
            format!("binary log of Windows build {}, {bits}-bit", header.build)
        }
        Log::Text(log) => format!("{} log", log.header().separator.format()),
        Log::Records(log) => format!("{} of perfset", log.format().name()),
        _ => "log".to_owned(),
    }
}

/// Returns the error for a file that is not a log, or a log that cannot be read further.
pub fn unusable(file: &Path, error: LogError) -> Failure {
    let exit = if error.is_io() { Exit::SourceFailed } else { Exit::InvalidData };
    Failure::escaped(exit, anyhow!(error).context(file.display().to_string()))
}

/// Maximum number of gaps and damaged places of a log that are shown; JSON contains all that are stored.
const SHOWN: usize = 5;

fn show(out: &mut impl Write, file: &Path, info: &Info, written_by: &str) -> io::Result<()> {
    writeln!(out, "{}: {}", name_of(file), escaped(text::cut(written_by, NAME_MAX)))?;
    // A hostile log can give its machine a name of megabytes.
    let shown = |name: &String| escaped(text::cut(name, NAME_MAX));
    let mut machines: Vec<String> = info.machines.iter().map(shown).collect();
    if machines.len() > SHOWN {
        let more = machines.len().saturating_sub(SHOWN);
        machines.truncate(SHOWN);
        machines.push(format!("and {more} more"));
    }
    if !machines.is_empty() {
        writeln!(out, "machine   {}", machines.join(", "))?;
    }
    match info.span {
        Some((first, last)) => {
            let (first, last) = (SystemTime::from_100ns(first), SystemTime::from_100ns(last));
            writeln!(out, "span      {first} to {last}")?;
            writeln!(out, "zone      {}", zone(info.bias_minutes))?;
        }
        None => writeln!(out, "span      none: the log has no sample")?,
    }
    let every = info.interval.map(|interval| format!(", every {} s", seconds(interval))).unwrap_or_default();
    writeln!(out, "samples   {}{every}", whole(info.samples))?;
    // Only the first of each list are shown: a damaged log has any number.
    let gaps = info.gaps.iter().map(|gap| {
        let (from, to) = (SystemTime::from_100ns(gap.from), SystemTime::from_100ns(gap.to));
        match gap.to.saturating_sub(gap.from) {
            back @ ..0 => format!("{from} to {to}: {} s back", seconds(back.saturating_neg())),
            length => format!("{from} to {to}: {} s", seconds(length)),
        }
    });
    list(out, "gaps", gaps, u64::try_from(info.gaps.len()).unwrap_or(u64::MAX))?;
    if !info.missed.is_empty() {
        let missed = info.missed.iter().map(|missed| {
            let (from, to) = (SystemTime::from_100ns(missed.from), SystemTime::from_100ns(missed.to));
            let reason = escaped(text::cut(&missed.reason, NAME_MAX));
            let samples = if missed.ticks == 1 { "sample" } else { "samples" };
            format!("{from} to {to}: {} {samples} not written: {reason}", whole(missed.ticks))
        });
        list(out, "missed", missed, u64::try_from(info.missed.len()).unwrap_or(u64::MAX))?;
    }
    let damages = info.damages.first().iter().map(|damage| escaped(&damage.to_string()));
    list(out, "damage", damages, info.damages.count())?;
    if info.torn > 0 {
        let bytes = if info.torn == 1 { "byte" } else { "bytes" };
        writeln!(
            out,
            "torn      {} {bytes} at the end, of a sample that was not finished",
            whole(info.torn)
        )?;
    }
    if !info.annotations.is_empty() {
        let marks = info.annotations.iter().map(|mark| {
            format!("{}  {}", SystemTime::from_100ns(mark.time), escaped(text::cut(&mark.text, NAME_MAX)))
        });
        list(out, "marks", marks, u64::try_from(info.annotations.len()).unwrap_or(u64::MAX))?;
    }
    if info.counters.is_empty() {
        return writeln!(out, "counters  none: the log has no counter list");
    }
    let known = |counters: &Counters| match counters.counter_type {
        Some(counter_type) => counter_type.to_string(),
        None if counters.counters == 1 => "formatted".to_owned(),
        None => format!("{} counters", counters.counters),
    };
    // All types before the first line, because their column is as wide as the longest.
    let width = info.counters.iter().map(|counters| known(counters).len()).max().unwrap_or(0);
    writeln!(out, "\n instances  {:<width$}  counter", "type")?;
    for counters in &info.counters {
        let known = known(counters);
        let Counters { path, instances, .. } = counters;
        let count = match instances.len() {
            0 => "-".to_owned(),
            // The set is full, and further names were not stored.
            Counters::KEPT => format!("{} or more", Counters::KEPT),
            count => count.to_string(),
        };
        writeln!(out, "{count:>10}  {known:<width$}  {}", escaped(text::cut(path, NAME_MAX)))?;
    }
    Ok(())
}

fn list(out: &mut impl Write, what: &str, all: impl Iterator<Item = String>, count: u64) -> io::Result<()> {
    if count == 0 {
        return writeln!(out, "{what:<9} none");
    }
    writeln!(out, "{what:<9} {}", whole(count))?;
    let mut shown = 0_u64;
    for line in all.take(SHOWN) {
        writeln!(out, "          {line}")?;
        shown = shown.saturating_add(1);
    }
    match count.saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "          and {} more", whole(more)),
    }
}

fn whole(number: u64) -> String {
    text::grouped_digits(&number.to_string())
}

fn seconds(time: i64) -> String {
    #[expect(clippy::as_conversions, reason = "for people, who read no more than a few digits")]
    let seconds = time as f64 / 1e7;
    match grouped(seconds, 3) {
        text if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        text => text,
    }
}

fn zone(bias_minutes: Option<i32>) -> String {
    match bias_minutes {
        None => "unknown; times are local".to_owned(),
        Some(0) => "UTC".to_owned(),
        Some(bias) => {
            // The bias is added to local time for UTC, so a positive one is west of Greenwich.
            let sign = if bias > 0 { '-' } else { '+' };
            let (hours, minutes) = (bias.unsigned_abs() / 60, bias.unsigned_abs() % 60);
            format!("UTC{sign}{hours:02}:{minutes:02}; times are local")
        }
    }
}

/// Returns the reason for a gap in a log, if a recorder could not write samples in it.
fn reason<'a>(info: &'a Info, gap: &Gap) -> Option<&'a str> {
    let is_in = |missed: &&MissedTicks| missed.from < gap.to && gap.from < missed.to;
    info.missed.iter().find(is_in).map(|missed| &*missed.reason)
}

/// Summary of a log: the fields in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct LogRecord<'a> {
    file: String,
    written_by: &'a str,
    machines: &'a BTreeSet<String>,
    first: Option<String>,
    last: Option<String>,
    utc_offset_minutes: Option<i32>,
    samples: u64,
    /// Interval between the samples of a log, in seconds.
    interval: Option<f64>,
    gaps: Vec<GapLine<'a>>,
    damage_count: u64,
    damages: Vec<DamageLine<'a>>,
    marks: Vec<MarkLine<'a>>,
    counters: Vec<CountersLine<'a>>,
    /// Number of bytes at the end of the log that are an incomplete sample.
    torn_bytes: u64,
}

impl ListRecord for LogRecord<'_> {
    const CSV_HEADER: &'static str = "file,written_by,machines,first,last,utc_offset_minutes,samples,interval,gaps,\
        damage_count,damages,marks,counters,torn_bytes";
}

#[derive(Serialize)]
struct GapLine<'a> {
    from: String,
    to: String,
    /// Reason why a recorder could not write samples in a gap, if the log contains one.
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct DamageLine<'a> {
    #[serde(rename = "at")]
    offset: u64,
    what: &'a str,
}

#[derive(Serialize)]
struct MarkLine<'a> {
    time: String,
    text: &'a str,
}

#[derive(Serialize)]
struct CountersLine<'a> {
    path: &'a str,
    #[serde(rename = "type")]
    counter_type: Option<String>,
    counters: usize,
    instances: &'a BTreeSet<String>,
}

impl<'a> LogRecord<'a> {
    fn new(file: &Path, info: &'a Info, written_by: &'a str) -> Self {
        let time = |time: i64| SystemTime::from_100ns(time).to_string().replace(' ', "T");
        #[expect(clippy::as_conversions, reason = "no interval has so many digits")]
        let interval = info.interval.map(|interval| interval as f64 / 1e7);
        Self {
            file: file.display().to_string(),
            written_by,
            machines: &info.machines,
            first: info.span.map(|(first, _)| time(first)),
            last: info.span.map(|(_, last)| time(last)),
            utc_offset_minutes: info.bias_minutes.map(i32::saturating_neg),
            samples: info.samples,
            interval,
            gaps: (info.gaps.iter())
                .map(|gap| GapLine { from: time(gap.from), to: time(gap.to), reason: reason(info, gap) })
                .collect(),
            damage_count: info.damages.count(),
            damages: (info.damages.first().iter())
                .map(|damage| DamageLine { offset: damage.offset, what: &damage.what })
                .collect(),
            marks: (info.annotations.iter())
                .map(|mark| MarkLine { time: time(mark.time), text: &mark.text })
                .collect(),
            counters: (info.counters.iter())
                .map(|one| CountersLine {
                    path: &one.path,
                    counter_type: one.counter_type.map(|counter_type| counter_type.to_string()),
                    counters: one.counters,
                    instances: &one.instances,
                })
                .collect(),
            torn_bytes: info.torn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_were_not_written_have_their_reason() {
        let missed =
            |from, ticks, reason: &str| MissedTicks { from, to: from + 5, ticks, reason: reason.to_owned() };
        let info = Info {
            gaps: vec![Gap { from: 10_000_000, to: 10_000_005 }, Gap { from: 20_000_000, to: 20_000_005 }],
            missed: vec![missed(0, 1, "No space left\u{1b}"), missed(10_000_000, 1_234, "broken")],
            torn: 17,
            ..Info::default()
        };
        let mut out = Vec::new();
        show(&mut out, Path::new("x"), &info, "a recording").unwrap();
        let out = String::from_utf8(out).unwrap();
        for line in [
            "missed    2\n",
            "1601-01-01 00:00:00.000: 1 sample not written: No space left\\u{1b}\n",
            "1601-01-01 00:00:01.000: 1,234 samples not written: broken\n",
            "torn      17 bytes at the end, of a sample that was not finished\n",
        ] {
            assert!(out.contains(line), "{line}: {out}");
        }
        let json = serde_json::to_value(LogRecord::new(Path::new("x"), &info, "a recording")).unwrap();
        assert_eq!(
            [&json["gaps"][0]["reason"], &json["torn_bytes"]],
            [&serde_json::json!("broken"), &17.into()]
        );
        assert!(json["gaps"][1]["reason"].is_null());
        // A log without such samples has no lines about them.
        let mut out = Vec::new();
        show(&mut out, Path::new("x"), &Info::default(), "a log").unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains("missed") && !out.contains("torn"), "{out}");
    }
}
