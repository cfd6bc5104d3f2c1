//! Screens of the machine at a past instant of a log.

use std::io::{self, Write};

use anyhow::anyhow;
use jiff::tz::TimeZone;
use perfset::clock::SystemTime;
use perfset::log::recording::{Annotation, Recording, RecordingAbout};
use perfset::log::{Logs, Pick};
use perfset::output::text::escaped;
use perfset::overview::{FactCache, MachineState, Overview};
use perfset::{NextOutcome, SourceError, Window};

use super::canvas::Canvas;
use super::draw::{Style, StyledLine};
use super::history::History;
use super::overview::{self, ScreenPart};
use super::{LISTED, readable};
use crate::args::{PastArgs, ScreenArgs};
use crate::exit::{Exit, Failure};
use crate::log::quoted;
use crate::query_source::{QuerySource, opened, zone_of};
use crate::when::{InstantArg, zoned};

/// Length of time, in 100 ns, before the shown instant of a log whose samples are read too. The screen shows the
/// changes of the last minute.
const BEFORE: i64 = 700_000_000;

/// Minimum number of samples of a log that are read before the shown instant. Rates need one earlier sample, and
/// counters that are recorded less often need more.
const SAMPLES: usize = 25;

/// Minimum distance of an instant from the sample of a log before it, in 100 ns, at which the instant has no sample.
/// The next constant is this minimum in intervals between samples; the longer one counts.
const GAP: i64 = 20_000_000;
const GAP_INTERVALS: i64 = 3;

/// Shows the overview screen of a past instant of a log, or one part of this screen.
///
/// # Errors
/// If the log cannot be read or has no such instant, or the screen cannot be written.
pub fn run(args: &ScreenArgs, past: &PastArgs, part: Option<ScreenPart>) -> Result<Exit, Failure> {
    let PastInstant { mut logs, at, times } = PastInstant::open(past)?;
    let failed = |error: SourceError| Failure::escaped(Exit::SourceFailed, error);
    let mut overview = Overview::open_log(&mut logs).map_err(failed)?;
    let mut canvas = Canvas::stdout(args.color);
    let (width, height) = canvas.size();
    // The last line says how the next commands show the same instant.
    let height = height.map(|height| height.saturating_sub(1).max(1));
    let listed = match (height, part) {
        (Some(height), _) => height.max(LISTED),
        (None, None) => overview::PIPE_ROWS,
        (None, Some(_)) => usize::MAX,
    };
    let (state, history) = last_state(&mut overview, listed)?;
    readable(&state, "the log")?;
    let when = shown_time(&logs, at);
    let about = logs.recording().and_then(Recording::about);
    let system = about.and_then(|about| about.get(RecordingAbout::SYSTEM)).unwrap_or_default();
    let (machine, system) = (escaped(logs.machine_name()), escaped(system));
    let right = before_end(&times, at);
    let (mut facts, no_facts) = (FactCache::default(), FactCache::default());
    let screen = |facts| overview::Screen {
        state: &state,
        machine: &machine,
        system: &system,
        right: &right,
        when: Some(&when),
        width,
        height,
        facts,
        history: &history,
        glyphs: canvas.glyphs(),
    };
    let (processes, disks) = screen(&no_facts).described(part);
    facts.read(&mut logs.clone(), processes, disks);
    let screen = screen(&facts);
    let mut lines = part.map_or_else(|| screen.overview(), |part| screen.part(part));
    if part.is_none() && !state.findings.is_empty() {
        lines.push(same_instant(past, at));
    }
    canvas.draw(&lines)?;
    canvas.finish()?;
    Ok(ended(logs, past))
}

/// Logs of which only the samples from some time before a past instant up to this instant are played.
pub(super) struct PastInstant {
    pub logs: Logs,
    /// Time of the sample at the past instant, in 100 ns.
    pub at: i64,
    /// Times of all samples of the logs.
    pub times: Vec<i64>,
}

impl PastInstant {
    /// Opens the logs at the past instant that the user requests.
    pub fn open(past: &PastArgs) -> Result<Self, Failure> {
        let logs = opened(&past.log, past.machine.as_deref(), false)?;
        let times = logs.times().map_err(|error| Failure::escaped(Exit::SourceFailed, error))?;
        let (at, window) = instant(past, &logs, &times)?;
        Ok(Self { logs: logs.within(window).picking(Pick::All), at, times })
    }
}

/// Formats the time of an instant for users, in the time zone of the log.
pub(super) fn shown_time(logs: &Logs, at: i64) -> String {
    zoned(at, &zone_of(logs)).map_or_else(
        || format!("{} UTC", SystemTime::from_100ns(at)),
        |time| time.strftime("%Y-%m-%d %H:%M:%S %Z").to_string(),
    )
}

/// Returns the text that says how many seconds before the end of the log an instant is.
pub(super) fn before_end(times: &[i64], at: i64) -> String {
    let seconds = times.last().map_or(0, |last| last.saturating_sub(at) / 10_000_000);
    format!("past, {seconds} s before the end of the log")
}

/// Prints warnings about damage of the shown logs, if any, and returns the exit code.
pub(super) fn ended(logs: Logs, past: &PastArgs) -> Exit {
    let asked = QuerySource::Logs { logs, files: past.log.clone() };
    if asked.warn_of_damage() { Exit::InvalidData } else { Exit::Ok }
}

/// Collects all samples of the logs, and returns the machine state at the last one, and the history of the samples.
fn last_state(overview: &mut Overview, listed: usize) -> Result<(MachineState, History), Failure> {
    let failed = |error: SourceError| Failure::escaped(Exit::SourceFailed, error);
    let (mut history, mut last) = (History::default(), None);
    while overview.collect().map_err(failed)? == NextOutcome::Sample {
        let state = overview.state(listed);
        history.push(&state);
        last = Some(state);
    }
    // At the end of the log, processes and groups are those of the instant.
    let state = last
        .map(|_| overview.state(listed))
        .ok_or_else(|| failed(SourceError::Failed("the log has no sample there".into())))?;
    Ok((state, history))
}

/// Returns the line that says with which options the commands of findings show the same instant.
fn same_instant(past: &PastArgs, at: i64) -> StyledLine {
    let files = past.log.iter().map(|file| format!(" --log {}", quoted(&file.to_string_lossy())));
    let machine = past.machine.as_ref().map(|name| format!(" --machine {}", quoted(name)));
    let exact = zoned(at, &TimeZone::UTC).map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%.7fZ").to_string());
    let (files, machine) = (files.collect::<String>(), machine.unwrap_or_default());
    let text = format!("... is{files}{machine} --at {}", exact.unwrap_or_default());
    StyledLine::new(Style::Dim, text)
}

/// Returns the time of a log's sample at the requested instant, and the window of samples that its screen needs.
fn instant(past: &PastArgs, logs: &Logs, times: &[i64]) -> Result<(i64, Window), Failure> {
    let nothing = |text: String| Failure::new(Exit::NothingMatched, anyhow!(text));
    let (Some(first), Some(last)) = (times.iter().min().copied(), times.iter().max().copied()) else {
        return Err(nothing("the log has no sample".to_owned()));
    };
    let zone = zone_of(logs);
    let marks: Vec<&Annotation> = logs.recording().map(Recording::annotations).unwrap_or_default();
    let wanted = match &past.at {
        Some(at) => at.to_utc(&zone, last, &marks).map_err(nothing)?,
        None => last,
    };
    let shown = |time| {
        zoned(time, &zone).map_or_else(String::new, |time| time.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
    };
    let recorded = logs.recording().and_then(Recording::about);
    let recorded = recorded.and_then(|about| about.get(RecordingAbout::INTERVAL_MS)?.parse::<i64>().ok());
    let allowed = |interval: i64| {
        let interval = recorded.map_or(interval, |ms| ms.saturating_mul(10_000));
        GAP.max(interval.saturating_mul(GAP_INTERVALS))
    };
    // What a mark announces begins after it.
    let after = times.iter().position(|time| *time >= wanted).filter(|after| {
        let time = times.get(*after).copied().unwrap_or(wanted);
        matches!(past.at, Some(InstantArg::Mark(_))) && time.saturating_sub(wanted) <= allowed(0)
    });
    // The last in the order of the log: a clock that was set back has times twice.
    let Some(found) = after.or_else(|| times.iter().rposition(|time| *time <= wanted)) else {
        let (first, last) = (shown(first), shown(last));
        let error = format!("the log begins later than {}: it is from {first} to {last}", shown(wanted));
        return Err(nothing(error));
    };
    let time = |at: usize| times.get(at).copied().unwrap_or(wanted);
    let at = time(found);
    let interval = found.checked_sub(1).map_or(0, |before| at.saturating_sub(time(before)));
    let late = wanted.saturating_sub(at);
    if late > allowed(interval) {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let (wanted, at) = (shown(wanted), shown(at));
        let _ = writeln!(
            io::stderr(),
            "note: the log has no sample at {wanted}: this is the last before, of {at}"
        );
    }
    let begin = time(found.saturating_sub(SAMPLES)).min(at.saturating_sub(BEFORE));
    Ok((at, Window { begin: Some(begin), end: Some(at) }))
}
