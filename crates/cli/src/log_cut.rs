//! `perfset log cut`: writes a part of a recording as one file.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::anyhow;
use perfset::Window;
use perfset::clock::SystemTime;
use perfset::log::recording::{PartOptions, Recording, RecordingError, is_recording};
use perfset::output::text::{escaped, grouped_digits, name_of};

use crate::args::LogCutArgs;
use crate::destination::{Destination, refuse_existing};
use crate::exit::{Exit, Failure};
use crate::input::{self, is_dash};
use crate::log::unusable;
use crate::printer::warn;
use crate::query_source::zone_of_recording;
use crate::when::window;

pub fn run(args: &LogCutArgs) -> Result<Exit, Failure> {
    let LogCutArgs { recording: from, output, .. } = args;
    check(args)?;
    let recording = open(from)?;
    let nothing = |text: String| Failure::new(Exit::NothingMatched, anyhow!(text));
    let span = span(&recording).ok_or_else(|| nothing(format!("{} has no sample", name_of(from))))?;
    let (zone, marks) = (zone_of_recording(&recording), recording.annotations());
    let (begin, end) =
        window((args.begin.as_ref(), args.end.as_ref()), &zone, span, &marks).map_err(nothing)?;
    let window = Window { begin, end };
    if matches!(window, Window { begin: Some(begin), end: Some(end) } if begin > end) {
        return Err(Failure::new(Exit::Usage, anyhow!("--begin is after --end")));
    }
    if !recording.times().any(|time| window.contains(time)) {
        return Err(nothing(outside(span)));
    }
    let options = PartOptions::default().with_command_lines(args.with_command_lines);
    let destination = Destination::new(output)?.private();
    let mut out = destination.writer()?;
    let part = recording.within(window).write_part(&mut *out, options);
    let part = part.map_err(|error| match error {
        RecordingError::Io(error) => destination.failed(error),
        error => Failure::escaped(Exit::SourceFailed, error),
    })?;
    // Windows renames no file that is open.
    drop((out, recording));
    for (path, damages) in &part.damages {
        warn(&damage_lines(path, damages));
    }
    if part.ticks == 0 {
        let error = anyhow!("every sample of that time is damaged");
        return Err(Failure::new(Exit::InvalidData, error));
    }
    match args.force {
        true => destination.keep()?,
        false => destination.keep_first()?,
    }
    if io::stderr().is_terminal() {
        let samples = grouped_digits(&part.ticks.to_string());
        let (first, last) = part.span.unwrap_or(span);
        let times = format!("{} to {}", SystemTime::from_100ns(first), SystemTime::from_100ns(last));
        let _ = writeln!(io::stderr(), "{samples} samples from {times} written"); // nobody is left to tell
    }
    Ok(if part.damages.is_empty() { Exit::Ok } else { Exit::InvalidData })
}

/// Returns an error for arguments of `log cut` that make no sense, before the recording is read.
fn check(args: &LogCutArgs) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::new(Exit::Usage, anyhow!(text)));
    let LogCutArgs { recording: from, output, .. } = args;
    if is_dash(from) {
        return usage("a recording is not read from standard input: name its directory or file".to_owned());
    }
    if is_dash(output) && io::stdout().is_terminal() {
        return usage("a recording is not text; -o FILE writes it to a file".to_owned());
    }
    // The part would become a part of the recording itself.
    let folder =
        output.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let is_inside = |folder: &Path| {
        from.is_dir()
            && folder.canonicalize().is_ok_and(|folder| from.canonicalize().is_ok_and(|from| from == folder))
    };
    if !is_dash(output) && folder.is_some_and(is_inside) {
        let name = name_of(from);
        return usage(format!("{name} is the recording's own directory: write the part into another one"));
    }
    if !args.force {
        refuse_existing(output)?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<Recording, Failure> {
    if !path.is_dir() {
        input::open(path)?; // its error names the file
    }
    if !is_recording(path) {
        let name = name_of(path);
        let error = anyhow!(
            "{name} is not a recording\n  perfset relog cuts other logs: perfset relog {name} --begin TIME --end TIME \
             -o FILE"
        );
        return Err(Failure::new(Exit::Usage, error));
    }
    Recording::open(path).map_err(|error| unusable(path, error.into()))
}

/// Returns the times of the first and the last sample of a recording, in the order of the clock.
fn span(recording: &Recording) -> Option<(i64, i64)> {
    recording.times().fold(None, |span, time| {
        let (first, last) = span.unwrap_or((time, time));
        Some((first.min(time), last.max(time)))
    })
}

fn outside((first, last): (i64, i64)) -> String {
    let (first, last) = (SystemTime::from_100ns(first), SystemTime::from_100ns(last));
    format!("no sample in that time: the recording has samples from {first} to {last} UTC")
}

/// Returns the damaged places of a recording's file as warnings.
fn damage_lines(path: &Path, damages: &perfset::log::Damages) -> Vec<String> {
    /// Maximum number of damaged places of a recording's file that are named.
    const SHOWN: usize = 5;
    let name = name_of(path);
    let shown = damages.first().iter().take(SHOWN);
    let mut lines: Vec<String> =
        shown.map(|damage| format!("{name}: {}", escaped(&damage.to_string()))).collect();
    let more = damages.count().saturating_sub(u64::try_from(lines.len()).unwrap_or(u64::MAX));
    if more > 0 {
        lines.push(format!("{name}: {} more places are damaged", grouped_digits(&more.to_string())));
    }
    lines
}
