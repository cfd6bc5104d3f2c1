//! `perfset top` and `perfset view`: tables of any counterset, live and in the past.

use std::io::{self, IsTerminal, Write, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::anyhow;
use jiff::tz::TimeZone;
use perfset::Window;
use perfset::log::Logs;
use perfset::log::recording::{Annotation, Recording};
use perfset::output::text::escaped;
use perfset_tui::screen::{self, Look};
use perfset_tui::{Baseline, Feed, FeedError, RunError, RunOptions, TableChoice, Viewer};

use crate::args::{TableScreenArgs, TopArgs, ViewArgs};
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::log::quoted;
use crate::pace::Pace;
use crate::query_source::{opened, window_of, zone_of};
use crate::record::running_folder;
use crate::settings::{self, ScreenSettings, TableSettings};
use crate::terminal::{shows_blocks, stdout};
use crate::when::{InstantArg, zoned};

/// Minimum height of a terminal, in lines, for six counters on the interactive screen's strip of charts.
const TALL: u16 = 40;

/// Shows live tables of the countersets of this machine.
///
/// # Errors
/// If there is no terminal, or the machine cannot be read.
pub fn top(args: &TopArgs) -> Result<Exit, Failure> {
    on_terminal(&args.screen)?;
    args.processes.apply()?;
    // Before the first thread: threads would keep the capabilities.
    bpf_capabilities::settle(true);
    let feed = Feed::live(perfset::local()).with_recorded(running_folder());
    let viewer = Viewer::live(feed, &escaped(&perfset::computer_name())).map_err(unread)?;
    let viewer = arranged(viewer, &args.screen)?;
    show(viewer, &args.screen, args.interval, args.count)
}

/// Shows tables of the countersets in recorded logs.
///
/// # Errors
/// If there is no terminal, or the logs cannot be read.
pub fn view(args: &ViewArgs) -> Result<Exit, Failure> {
    on_terminal(&args.screen)?;
    let logs = opened(&args.files, args.machine.as_deref(), false)?;
    let zone = zone_of(&logs);
    let window = window_of(&logs, args.begin.as_ref(), args.end.as_ref())?;
    let options = log_options(args, &args.files, window);
    let at = match &args.at {
        None => None,
        Some(at) => {
            let times = logs.times().map_err(|error| unread(error.into()))?;
            let last = times.iter().max().copied().unwrap_or(0);
            let marks: Vec<&Annotation> = logs.recording().map(Recording::annotations).unwrap_or_default();
            let time = at.to_utc(&zone, last, &marks);
            Some(time.map_err(|text| Failure::new(Exit::NothingMatched, anyhow!(text)))?)
        }
    };
    let baseline = match &args.compare {
        None => None,
        Some(with) => Some(baseline(args, with, &logs)?),
    };
    let feed = feed_of(logs, window, &args.screen);
    let mut viewer = Viewer::of_logs(feed, zone, &options).map_err(unread)?;
    if viewer.is_empty() {
        return Err(Failure::new(Exit::NothingMatched, anyhow!("the log has no sample in this time")));
    }
    if let Some(at) = at {
        viewer.go_to_time(at);
    }
    let mut viewer = arranged(viewer, &args.screen)?;
    if let Some(baseline) = baseline {
        viewer.compare_with(baseline);
    }
    show(viewer, &args.screen, Duration::from_secs(1), None)
}

/// Returns the feed of an interactive screen with the samples of logs in a time window. With `--plain` the feed is
/// patient, because no user presses keys while tables are printed.
fn feed_of(logs: Logs, window: Window, args: &TableScreenArgs) -> Feed {
    let feed = Feed::of_logs(logs).within(window);
    if args.plain { feed.patient() } else { feed }
}

/// Returns the options with which `perfset get` reads the samples of the same logs and time window.
fn log_options(args: &ViewArgs, files: &[PathBuf], window: Window) -> String {
    let mut options: Vec<String> =
        files.iter().map(|file| format!("--log {}", quoted(&file.to_string_lossy()))).collect();
    options.extend(args.machine.as_ref().map(|name| format!("--machine {}", quoted(name))));
    for (option, time) in [("--begin", window.begin), ("--end", window.end)] {
        let time = time.and_then(|time| zoned(time, &TimeZone::UTC));
        options.extend(time.map(|time| format!("{option} {}", time.strftime("%Y-%m-%dT%H:%M:%S%.7fZ"))));
    }
    options.join(" ")
}

/// Opens the samples with which the shown log is compared: another log, or another time range of the same log.
fn baseline(args: &ViewArgs, with: &Path, logs: &Logs) -> Result<Baseline, Failure> {
    let shown = escaped(&with.to_string_lossy());
    let wrong = |text: String| Failure::escaped(Exit::Usage, anyhow!("--compare {shown}: {text}"));
    let (files, logs, window) = match range_of(with).map_err(|text| wrong(text.to_owned()))? {
        Some((begin, end)) => {
            let window =
                window_of(logs, begin.as_ref(), end.as_ref()).map_err(|Failure { exit, error }| Failure {
                    exit,
                    error: error.context(format!("--compare {shown}")),
                })?;
            (args.files.clone(), logs.clone(), window)
        }
        None => {
            let files = vec![with.to_owned()];
            let logs = opened(&files, args.machine.as_deref(), false)?;
            (files, logs, Window::default())
        }
    };
    let options = log_options(args, &files, window);
    let feed = feed_of(logs, window, &args.screen);
    let baseline = Baseline::new(feed, &options, &shown).map_err(unread)?;
    match baseline.is_empty() {
        true => Err(Failure::escaped(
            Exit::NothingMatched,
            anyhow!("--compare {shown}: there is no sample to compare with"),
        )),
        false => Ok(baseline),
    }
}

/// Begin and end of a range of time in a log, either of which can be missing.
type InstantRange = (Option<InstantArg>, Option<InstantArg>);

/// Parses a range of time in a log, such as `13:00..13:10`; returns `None` if the text is the path of a file.
fn range_of(text: &Path) -> Result<Option<InstantRange>, &'static str> {
    let is_path = text.exists() || text.components().count() > 1;
    let Some(text) = text.to_str().filter(|_| !is_path) else { return Ok(None) };
    let instant = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse::<InstantArg>().map(Some),
    };
    match text.split_once("..") {
        Some((begin, end)) => match (instant(begin), instant(end)) {
            (Ok(None), Ok(None)) => Err("a range has a begin or an end, such as 13:00..13:10 or ..13:10"),
            (Ok(begin), Ok(end)) => Ok(Some((begin, end))),
            // A name of a file can have two dots.
            (Err(_), Err(_)) => Ok(None),
            (Err(why), _) | (_, Err(why)) => Err(why),
        },
        None if text.parse::<InstantArg>().is_ok() => {
            Err("a range is a begin and an end, such as 13:00..13:10; a file of this name does not exist")
        }
        None => Ok(None),
    }
}

/// Returns an error if an interactive screen would be drawn without a terminal.
fn on_terminal(args: &TableScreenArgs) -> Result<(), Failure> {
    if args.plain || stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::new(Exit::Usage, anyhow!("this screen needs a terminal; --plain prints it as text")))
}

/// Returns a viewer with the table and the strip of charts that the options and the settings file choose.
fn arranged(mut viewer: Viewer, args: &TableScreenArgs) -> Result<Viewer, Failure> {
    let nothing = |text: String| Failure::escaped(Exit::NothingMatched, anyhow!(text));
    let ScreenSettings { strip, table, .. } = settings::screens(args.counterset.as_deref())?;
    if !strip.is_empty() {
        let wrong = |text| Failure::escaped(Exit::Usage, anyhow!("strip of the settings file: {text}"));
        viewer.set_strip(&strip).map_err(wrong)?;
    } else if terminal_size::terminal_size().is_some_and(|(_, height)| height.0 >= TALL) && !args.plain {
        viewer.fill_strip();
    }
    match (table, &args.counterset) {
        (Some(table), Some(name)) => {
            let TableSettings { counterset, columns, sort, filter } = table;
            let choice = TableChoice { title: escaped(name), counterset, columns, sort, filter };
            viewer
                .begin_with_table(&choice)
                .map_err(|text| nothing(format!("table \"{name}\" of the settings file: {text}")))?;
        }
        (None, Some(name)) => viewer.begin_with(name).map_err(nothing)?,
        (_, None) => {}
    }
    Ok(viewer)
}

/// Shows the tables of a viewer, on the interactive screen or as text. Without a number of tables, a live viewer is
/// shown until the user ends it, and a log is printed once as text.
fn show(
    viewer: Viewer,
    args: &TableScreenArgs,
    interval: Duration,
    count: Option<u64>,
) -> Result<Exit, Failure> {
    let has_mouse = settings::screens(None)?.has_mouse;
    let has_mouse = args.mouse || has_mouse;
    if args.plain {
        return print(viewer, interval, count);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    ctrlc::set_handler(move || stopped.store(true, Relaxed))
        .map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let is_utf8 = shows_blocks(|name| std::env::var(name).ok());
    let look = Look { has_colours: args.color.applies_to(true), is_utf8 };
    match perfset_tui::run(viewer, &RunOptions { interval, look, has_mouse, stop }) {
        Ok(()) => Ok(Exit::Ok),
        Err(RunError::Feed(error)) => Err(unread(error)),
        Err(error) => Err(Failure::new(Exit::SourceFailed, error)),
    }
}

/// Prints the tables of an interactive screen's viewer as text, one table per interval.
fn print(mut viewer: Viewer, interval: Duration, count: Option<u64>) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::SourceFailed, error);
    let mut pace = Pace::new(interval, None).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let mut out = stdout();
    let mut left = if viewer.waits_for_keys() { Some(1) } else { count };
    viewer.collect().map_err(unread)?;
    loop {
        // A live table's first sample has no rates.
        if !viewer.waits_for_keys() {
            if !pace.wait() {
                break;
            }
            viewer.collect().map_err(unread)?;
        }
        // What is no terminal gets all columns.
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
        out.write_all(screen::plain(&viewer, width).as_bytes()).and_then(|()| out.flush()).map_err(failed)?;
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) {
            break;
        }
    }
    Ok(Exit::Ok)
}

fn unread(error: FeedError) -> Failure {
    Failure::escaped(Exit::SourceFailed, error)
}
