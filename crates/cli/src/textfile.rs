//! `perfset get --format prometheus`: metrics as text, for a file that another exporter reads.

use std::io::Write;

use anyhow::anyhow;
use perfset::path::CounterPath;
use perfset_export::{ExportOptions, Exporter, ExpositionFormat};

use crate::args::GetArgs;
use crate::destination;
use crate::exit::{Exit, Failure};
use crate::operands::Operands;
use crate::pace::Pace;
use crate::samples::Samples;

/// Writes the metrics of each sample to a text file or standard output. A file is replaced as a whole, so that no
/// reader sees a part of a sample.
pub fn run(args: &GetArgs) -> Result<Exit, Failure> {
    if let Some(text) = refused(args) {
        return Err(Failure::new(Exit::Usage, anyhow!(text)));
    }
    let operands = Operands::with_files(&args.operands, &args.paths_from)?;
    // Without an interval, one sample is taken.
    let count = operands.count.or(operands.interval.is_none().then_some(1));
    let interval = operands.interval;
    if args.output.is_none() && count != Some(1) {
        let text =
            "an interval needs -o FILE with prometheus: Prometheus cannot read a text with two samples";
        return Err(Failure::new(Exit::Usage, anyhow!(text)));
    }
    let (paths, is_complete) = existing(args, operands)?;
    if paths.is_empty() {
        return Ok(Exit::NothingMatched);
    }
    let failed = |error| Failure::escaped(Exit::SourceFailed, error);
    let unbound = |error| Failure::escaped(Exit::NothingMatched, error);
    // Metrics about the exporter would be there twice if several files have them.
    let options = ExportOptions { own: false, ..ExportOptions::default() };
    let mut exporter = Exporter::open(perfset::local(), &paths, options).map_err(unbound)?;
    let pace = match (count, interval) {
        (Some(1), _) | (_, None) => None,
        (count, Some(interval)) => Some(Pace::new(interval, count.map(|count| count.saturating_sub(1)))),
    };
    let mut pace = pace.transpose().map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let mut text = Vec::new();
    loop {
        exporter.scrape(ExpositionFormat::Prometheus, &mut text).map_err(failed)?;
        match &args.output {
            Some(file) => destination::write(Some(file), &text)?,
            None => {
                let mut out = crate::terminal::stdout();
                out.write_all(&text)?;
                out.flush()?;
            }
        }
        if !pace.as_mut().is_some_and(Pace::wait) {
            break;
        }
    }
    Ok(if is_complete { Exit::Ok } else { Exit::NothingMatched })
}

/// Returns the counter paths that this machine has, and `true` if these are all. The others are reported: they must
/// not keep an old file in place.
fn existing(args: &GetArgs, mut operands: Operands) -> Result<(Vec<CounterPath>, bool), Failure> {
    operands.settle(&perfset::local());
    let (mut paths, mut is_complete) = (Vec::new(), true);
    for path in operands.paths {
        let one = Operands { paths: vec![path.clone()], ..Operands::default() };
        let absent = match Samples::open_named(one, &args.files, &args.window, args.all, args.wait) {
            Ok(mut samples) => samples.absent(),
            Err(failure) if failure.exit == Exit::NothingMatched => vec![failure],
            Err(failure) => return Err(failure),
        };
        absent.iter().for_each(Failure::print);
        is_complete &= absent.is_empty();
        if absent.is_empty() {
            paths.push(path);
        }
    }
    Ok((paths, is_complete))
}

/// Returns the reason why the options of `perfset get` cannot be used with metrics.
fn refused(args: &GetArgs) -> Option<&'static str> {
    let changes_values =
        args.wide || args.human || args.exact || args.summary || args.strict || args.sort.is_some();
    let cases = [
        (
            changes_values,
            "--wide, --human, --exact, --summary, --strict and --sort cannot be used with raw values as metrics",
        ),
        (
            !args.files.log.is_empty(),
            "--log cannot be used with prometheus: a scraper stores values as those of now",
        ),
        (args.raw, "--raw cannot be used with prometheus: metrics are raw values"),
        (args.warmup.is_some(), "--warmup cannot be used with prometheus: metrics need one sample"),
        (
            !args.filters.is_empty() || args.top.is_some(),
            "--where and --top cannot be used with prometheus: a series that comes and goes has wrong rates",
        ),
    ];
    cases.into_iter().find_map(|(is_refused, text)| is_refused.then_some(text))
}
