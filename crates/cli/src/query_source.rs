//! Source of a command's counters: this machine, or logs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use jiff::tz::{Offset, TimeZone};
use perfset::log::recording::{Recording, RecordingAbout};
use perfset::log::{Input, Logs, OpenError, Pick};
use perfset::output::text::{escaped, grouped_digits, name_of};
use perfset::path::CounterPath;
use perfset::{Counter, Counterset, Guid, Machine, Source, Window};

use crate::args::{LogFiles, LogWindow};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::log::unusable;
use crate::when::{InstantArg, window};

/// Source from which a command reads counters: this machine, or logs.
pub enum QuerySource {
    Machine(Machine),
    Logs { logs: Logs, files: Vec<PathBuf> },
}

impl QuerySource {
    /// Returns the logs that the user named as source, else this machine.
    pub fn new(files: &LogFiles) -> Result<Self, Failure> {
        match files.log.as_slice() {
            [] if files.machine.is_some() => Err(Failure::new(
                Exit::Usage,
                anyhow!("--machine selects a machine of a log: it needs --log FILE"),
            )),
            [] => Ok(Self::Machine(files.local()?)),
            named => Ok(Self::Logs {
                logs: opened(named, files.machine.as_deref(), false)?,
                files: named.to_vec(),
            }),
        }
    }

    /// Returns the source of counter paths, which may name the machine themselves. Of a log, only the samples within
    /// `window` are used.
    pub fn for_paths(
        files: &LogFiles,
        window: &LogWindow,
        pick: Pick,
        paths: &[CounterPath],
    ) -> Result<Self, Failure> {
        if files.log.is_empty() && files.machine.is_some() {
            return Self::new(files);
        }
        let named: Vec<&str> = paths.iter().filter_map(|path| path.machine.as_deref()).collect();
        if files.log.is_empty() {
            let remote = |error| Failure::new(Exit::SourceFailed, error);
            // Other names than those of this machine are errors, so all of them mean one machine.
            let machine = named.iter().map(|name| perfset::machine(Some(name)).map_err(remote));
            let machine = machine.collect::<Result<Vec<_>, _>>()?.into_iter().next();
            // It was opened without the publishers of other users.
            let machine = machine.filter(|_| !files.all_users);
            return Ok(Self::Machine(machine.map_or_else(|| files.local(), Ok)?));
        }
        let name = files.machine.as_deref().or(named.first().copied());
        if let Some(other) = named.iter().find(|other| !name.unwrap_or_default().eq_ignore_ascii_case(other))
        {
            let error = anyhow!(
                "the paths name two machines, {} and {}: use paths of one machine",
                escaped(name.unwrap_or_default()),
                escaped(other)
            );
            return Err(Failure::new(Exit::Usage, error));
        }
        let logs = opened(&files.log, name, false)?;
        let window = window_of(&logs, window.begin.as_ref(), window.end.as_ref())?;
        Ok(Self::Logs { logs: logs.within(window).picking(pick), files: files.log.clone() })
    }

    /// Returns the machine whose countersets are read: this one, or the recorded one.
    pub fn machine(&self) -> &Machine {
        match self {
            Self::Machine(machine) => machine,
            Self::Logs { logs, .. } => logs.machine(),
        }
    }

    /// Returns sentences about data that programs publish and that this machine does not show. Covers one counterset,
    /// or all.
    pub fn not_shown(&self, counterset: Option<&Guid>) -> Vec<String> {
        match self {
            Self::Machine(machine) => {
                machine.not_shown(counterset).iter().map(|text| escaped(text)).collect()
            }
            Self::Logs { .. } => Vec::new(),
        }
    }

    /// Prints to standard error a note on the data that other users publish and this machine does not show, for outputs
    /// that cannot contain it.
    pub fn note_not_shown(&self, counterset: Option<&Guid>) {
        for line in self.not_shown(counterset) {
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = writeln!(io::stderr(), "note: {line}");
        }
    }

    /// Returns `true` if users see a counter of this source. Counters of a log that have no name are parts of others
    /// and not shown.
    pub fn shows(&self, counter: &Counter) -> bool {
        matches!(self, Self::Machine(_)) || counter.name.is_some()
    }

    /// Returns a source on which queries are opened: this machine, or the logs.
    pub fn source(&self) -> Box<dyn Source> {
        match self {
            Self::Machine(machine) => Box::new(machine.clone()),
            Self::Logs { logs, .. } => Box::new(logs.clone()),
        }
    }

    /// Returns the name of the machine that a log recorded; `None` for this machine.
    pub fn host(&self) -> Option<String> {
        match self {
            Self::Machine(_) => None,
            Self::Logs { logs, .. } => Some(logs.machine_name().to_owned()),
        }
    }

    /// Returns the time zone in which sample times are shown: that of a log, else this machine's.
    pub fn zone(&self) -> TimeZone {
        match self {
            Self::Machine(_) => TimeZone::system(),
            Self::Logs { logs, .. } => zone_of(logs),
        }
    }

    /// Returns the command-line options that make another command read the same source: none, or the logs.
    pub fn options(&self) -> String {
        match self {
            Self::Machine(_) => String::new(),
            Self::Logs { files, .. } => {
                files.iter().map(|file| format!(" --log '{}'", name_of(file))).collect()
            }
        }
    }

    /// Prints the damage of a log, if any, and returns the command's failure. Damage determines its exit code.
    pub fn failed(&self, failure: Failure) -> Failure {
        if self.warn_of_damage() { Failure { exit: Exit::InvalidData, ..failure } } else { failure }
    }

    /// Prints warnings to standard error about publishers' countersets that are left out, in whole or in part. Only
    /// countersets for which `is_wanted` returns `true` are reported; its argument is `None` for a counterset that is
    /// not available at all.
    pub fn warn_of_left_out(&self, is_wanted: impl Fn(Option<&Counterset>) -> bool) {
        const SHOWN: usize = 5;
        let Self::Machine(machine) = self else { return };
        let is_wanted = |guid: &Guid| is_wanted(machine.counterset(guid).ok().as_deref());
        let left_out: Vec<_> = machine
            .left_out()
            .into_iter()
            .filter(|(guid, _)| is_wanted(guid))
            .map(|(_, text)| text)
            .collect();
        // Standard error is the last place to report to, so a failure of it is ignored.
        let warn = |text: &str| drop(writeln!(io::stderr(), "warning: {text}"));
        left_out.iter().take(SHOWN).for_each(|text| warn(&escaped(text)));
        match left_out.len().saturating_sub(SHOWN) {
            0 => {}
            more => {
                warn(&format!("and {} more; perfset doctor lists them", grouped_digits(&more.to_string())))
            }
        }
    }

    /// Prints warnings to standard error about damage of the logs. Returns `true` if a log is damaged.
    #[must_use]
    pub fn warn_of_damage(&self) -> bool {
        /// Maximum number of damaged places of a log that warnings name: `log info` does not list places that only
        /// readers of these counters meet.
        const SHOWN: usize = 5;
        let Self::Logs { logs, files } = self else { return false };
        let mut is_damaged = false;
        for (damages, file) in logs.damages().iter().zip(files) {
            is_damaged |= !damages.is_empty();
            // Standard error is the last place to report to, so a failure of it is ignored.
            let warn = |text: &str| drop(writeln!(io::stderr(), "warning: {}: {text}", name_of(file)));
            let shown = damages.first().iter().take(SHOWN).map(|damage| escaped(&damage.to_string()));
            let number = shown.map(|text| warn(&text)).count();
            match damages.count().saturating_sub(u64::try_from(number).unwrap_or(u64::MAX)) {
                0 => {}
                1 => warn("1 more place is damaged"),
                more => warn(&format!("{} more places are damaged", grouped_digits(&more.to_string()))),
            }
        }
        is_damaged
    }
}

/// Returns the time zone of a log: times of other programs' logs are local, and a recording names its zone.
pub fn zone_of(logs: &Logs) -> TimeZone {
    logs.recording().map_or_else(|| fixed_zone(logs.offset()), zone_of_recording)
}

/// Returns the window of time between two instants of logs.
pub fn window_of(
    logs: &Logs,
    begin: Option<&InstantArg>,
    end: Option<&InstantArg>,
) -> Result<Window, Failure> {
    let nothing = |text: String| Failure::new(Exit::NothingMatched, anyhow!(text));
    // Only then the logs are read to their end.
    let is_relative = |time: &&InstantArg| !matches!(time, InstantArg::Time(_));
    let span = match begin.into_iter().chain(end).any(|time| is_relative(&time)) {
        true => {
            let times = logs.times().map_err(|error| Failure::escaped(Exit::SourceFailed, error))?;
            let span = times.iter().min().copied().zip(times.iter().max().copied());
            span.ok_or_else(|| nothing("the log has no sample".to_owned()))?
        }
        false => (0, 0),
    };
    let (zone, marks) = (zone_of(logs), logs.recording().map(Recording::annotations).unwrap_or_default());
    let (begin, end) = window((begin, end), &zone, span, &marks).map_err(nothing)?;
    Ok(Window { begin, end })
}

/// Returns the time that an instant means in logs, in 100 ns since 1601 UTC.
///
/// # Errors
/// If the log has no sample or no such mark, or cannot be read.
#[cfg(feature = "serve")]
pub fn instant_of(logs: &Logs, instant: &InstantArg) -> Result<i64, String> {
    let times = logs.times().map_err(|error| error.to_string())?;
    let last = times.iter().max().copied().ok_or("the log has no sample")?;
    let marks = logs.recording().map(Recording::annotations).unwrap_or_default();
    instant.to_utc(&zone_of(logs), last, &marks)
}

/// Returns the time zone of the machine that wrote a recording.
pub fn zone_of_recording(recording: &Recording) -> TimeZone {
    // The recording may come from anywhere, so its zone may be unknown here.
    let name = recording.about().and_then(|about| about.get(RecordingAbout::TIME_ZONE));
    let named = name.and_then(|name| TimeZone::get(name).ok());
    named.unwrap_or_else(|| fixed_zone(recording.offset()))
}

/// Returns the time zone of a fixed offset, which is added to local times to get UTC, in 100 ns.
fn fixed_zone(offset: i64) -> TimeZone {
    const SECOND: i64 = 10_000_000;
    let east = i32::try_from(offset.wrapping_div(SECOND).saturating_neg());
    let offset = east.ok().and_then(|east| Offset::from_seconds(east).ok());
    offset.unwrap_or(Offset::UTC).to_time_zone()
}

/// Opens log files as one log, and selects the machine: by name, else the only one. With `is_any`, several are
/// accepted.
pub fn opened(files: &[PathBuf], machine: Option<&str>, is_any: bool) -> Result<Logs, Failure> {
    let input = |file: &PathBuf| match input::is_dash(file) {
        // Logs are read more than once, and standard input can be read once.
        true => input::read(file).map(|bytes| Input::Bytes(bytes.into())),
        false => Ok(Input::File(file.clone())),
    };
    let inputs = files.iter().map(input).collect::<Result<Vec<_>, _>>()?;
    let logs = Logs::from_inputs(inputs).map_err(|error| unopened(files, error))?;
    // Without countersets no path can be bound and nothing listed: the damage is the reason.
    if let Some(damage) = first_damage(&logs, files).filter(|_| logs.machine().countersets().is_empty()) {
        return Err(Failure::new(Exit::InvalidData, anyhow!("{damage}; the log has no usable counter")));
    }
    let names = || {
        let names: Vec<_> = logs.machines().iter().map(|name| escaped(name)).collect();
        names.join(", ")
    };
    match machine.map(|name| name.trim_start_matches('\\')) {
        Some(name) if logs.machines().iter().any(|known| known.eq_ignore_ascii_case(name)) => {
            logs.for_machine(name).map_err(|error| unopened(files, error))
        }
        Some(name) => {
            let error =
                anyhow!("the log has no counters of a machine \"{}\"; it has: {}", escaped(name), names());
            Err(Failure::new(Exit::NothingMatched, error))
        }
        None if logs.machines().len() > 1 && !is_any => {
            let error =
                anyhow!("the log has counters of several machines: {}\n  choose one with --machine", names());
            Err(Failure::new(Exit::Usage, error))
        }
        None => Ok(logs),
    }
}

/// Returns the first damage of the first damaged log as text, with the name of its file.
fn first_damage(logs: &Logs, files: &[PathBuf]) -> Option<String> {
    logs.damages().iter().zip(files).find_map(|(damages, file)| {
        let first = damages.first().first()?;
        Some(format!("{}: {}", name_of(file), escaped(&first.to_string())))
    })
}

/// Returns the error for a log that cannot be opened.
pub fn unopened(files: &[PathBuf], error: OpenError) -> Failure {
    unusable(files.get(error.number).map_or(Path::new(""), PathBuf::as_path), error.error)
}
