//! `perfset report`: writes a report about a part of a log.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::anyhow;
use perfset::Window;
use perfset::log::{Log, Logs};
use perfset::output::human;
use perfset::output::text::{grouped_digits, name_of};
use perfset::path::CounterPath;
use perfset_web::report::{ReportError, ReportOptions, report};

use crate::args::ReportArgs;
use crate::destination::{Destination, refuse_existing};
use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::log::{format_of, writer_of};
use crate::operands::Operands;
use crate::query_source::{QuerySource, opened, window_of};
use crate::samples::unbound;

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut counters = counters(args)?;
    if !args.force {
        refuse_existing(&args.output)?;
    }
    let named = counters.paths.iter().find_map(|path| path.machine.as_deref());
    let logs = opened(&args.log, args.machine.as_deref().or(named), false)?;
    counters.settle(logs.machine());
    let window = window_of(&logs, args.window.begin.as_ref(), args.window.end.as_ref())?;
    if matches!(window, Window { begin: Some(begin), end: Some(end) } if begin > end) {
        return Err(Failure::new(Exit::Usage, anyhow!("--begin is after --end")));
    }
    let destination = Destination::new(&args.output)?.private();
    // A long log must not be read for nothing.
    destination.check()?;
    // A name of a machine in a path is not repeated in the report.
    let machine = if logs.machines().len() > 1 { Some(logs.machine_name().to_owned()) } else { None };
    let without_machine = |path: CounterPath| CounterPath { machine: None, ..path };
    let options = ReportOptions {
        title: args.title.clone(),
        counters: counters.paths.into_iter().map(without_machine).collect(),
        missing: Vec::new(),
        files: args.log.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
        about: about(&args.log, &logs),
        machine,
        due: None,
    };
    let asked = QuerySource::Logs { logs: logs.clone(), files: args.log.clone() };
    let report = report(&logs, window, &options).map_err(|error| asked.failed(failed(&asked, error)))?;
    let mut writer = destination.writer()?;
    writer.write_all(report.html.as_bytes())?;
    writer.flush()?;
    drop(writer);
    match args.force {
        true => destination.keep()?,
        false => destination.keep_first()?,
    }
    let bytes = size(report.html.len());
    let file = if is_dash(&args.output) { "report".to_owned() } else { name_of(&args.output) };
    let number = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        number => format!("{} {what}s", grouped_digits(&number.to_string())),
    };
    let (charts, samples) = (number(report.charts, "chart"), number(report.samples, "sample"));
    let findings = number(report.findings, "finding");
    // Standard error is the last place to report to, so a failure of it is ignored.
    let _ = writeln!(io::stderr(), "{file}: {bytes}, {charts} of {samples}, {findings}");
    Ok(if asked.warn_of_damage() { Exit::InvalidData } else { Exit::Ok })
}

/// Returns the counter paths that get a chart of their own in a report.
fn counters(args: &ReportArgs) -> Result<Operands, Failure> {
    let texts: Vec<String> = args.counters.iter().chain(&args.paths).cloned().collect();
    if texts.is_empty() {
        return Ok(Operands::default());
    }
    let operands = Operands::parse(&texts)?;
    if operands.interval.is_some() || operands.count.is_some() {
        let error = anyhow!("a report has no interval: it shows all samples from --begin to --end");
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(operands)
}

/// Returns texts with the known facts about each file of a log, without reading all of it.
fn about(files: &[PathBuf], logs: &Logs) -> Vec<String> {
    if let Some(recording) = logs.recording() {
        return vec![writer_of(recording)];
    }
    let about = |file: &PathBuf| match is_dash(file) {
        true => String::new(),
        false => Log::open_file(file).map(|log| format_of(&log)).unwrap_or_default(),
    };
    files.iter().map(about).collect()
}

/// Formats a number of bytes for users.
fn size(bytes: usize) -> String {
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "a size for users")]
    let bytes = bytes as f64;
    human(bytes, "By")
}

/// Returns the failure of a command for a report that cannot be made.
fn failed(asked: &QuerySource, error: ReportError) -> Failure {
    let exit = if matches!(error, ReportError::NoSample) { Exit::NothingMatched } else { Exit::SourceFailed };
    match error {
        ReportError::Path { path, error } => match path.parse::<CounterPath>() {
            Ok(path) => unbound(asked, &path, error),
            Err(_) => Failure::escaped(Exit::NothingMatched, error),
        },
        error => Failure::escaped(exit, error),
    }
}
