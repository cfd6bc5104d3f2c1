//! `perfset get`: prints values of counter paths.

use std::io::{self, Write};

use perfset::Counterset;
use perfset::likeness::likeness;
use perfset::output::text::{escaped, grouped_digits};
use perfset::output::{PathNames, RowOrder, named_counter};
use perfset::path::{CounterPath, nearest, resolve};

#[cfg(feature = "serve")]
use crate::args::GetFormat;
use crate::args::{GetArgs, OutputFormat};
use crate::exit::{Exit, Failure};
use crate::named_instances::UnseenPaths;
use crate::operands::Operands;
use crate::printer::{PrintOptions, ValuePrinter};
use crate::query_source::QuerySource;
use crate::resolve::{named, near_line};
use crate::samples::{Samples, SamplingOptions};

/// Returns `true` if a counter path names this counterset, or a counterset whose name looks the same.
fn names(path: &CounterPath, set: &Counterset) -> bool {
    // Data can be left out because its counterset looks like another one: names are compared the same way.
    likeness(&path.counterset) == likeness(&set.name) || path.counterset.parse() == Ok(set.guid)
}

/// Checks that the counters which `--sort` and `--where` name are among those of the paths, before a sample is taken.
fn check_counters<'p>(
    args: &GetArgs,
    asked: &QuerySource,
    paths: impl Iterator<Item = &'p CounterPath>,
) -> Result<(), Failure> {
    let order = args.sort.as_deref().map(RowOrder::parse);
    let sort = order.iter().filter_map(|order| Some(("--sort", order.counter()?)));
    let filters = args.filters.iter().filter_map(|filter| Some(("--where", filter.counter()?)));
    let wanted: Vec<_> = sort.chain(filters).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut source = asked.source();
    let mut names: Vec<String> = Vec::new();
    for path in paths {
        // A path that cannot be bound has been reported before.
        let Ok(found) = resolve(&mut *source, path) else { continue };
        let counters = found.counters.iter().filter_map(|id| found.set.counter(*id));
        names.extend(counters.map(|counter| counter.shown_name().into_owned()));
    }
    for (option, text) in wanted {
        let Err(several) = named_counter(text, names.iter().map(String::as_str)) else { continue };
        let text = escaped(text);
        let error = if several.is_empty() {
            let near = near_line(&nearest(&text, names.iter().map(String::as_str), 3));
            format!("{option}: the paths have no counter \"{text}\"{near}")
        } else {
            format!("{option}: \"{text}\" is part of several counters: {}", escaped(&several.join(", ")))
        };
        return Err(Failure::new(Exit::NothingMatched, anyhow::anyhow!(error)));
    }
    Ok(())
}

pub fn run(args: &GetArgs) -> Result<Exit, Failure> {
    #[cfg(feature = "serve")]
    match (args.format, &args.output) {
        (GetFormat::Prometheus, _) => return crate::textfile::run(args),
        (GetFormat::Values(_), None) => {}
        (GetFormat::Values(_), Some(_)) => {
            let error = anyhow::anyhow!(
                "-o works only with --format prometheus; the shell writes other formats into files: > FILE"
            );
            return Err(Failure::new(Exit::Usage, error));
        }
    }
    let format = args.format.of_values().unwrap_or_default();
    let operands = Operands::with_files(&args.operands, &args.paths_from)?;
    let usage = |text: &str| Err(Failure::new(Exit::Usage, anyhow::anyhow!(text.to_owned())));
    let is_table = format == OutputFormat::Table;
    if args.wide && !matches!(format, OutputFormat::Csv | OutputFormat::Json) {
        return usage("--wide works only with --format csv or json");
    }
    if args.raw && format == OutputFormat::Influx {
        return usage("--raw cannot be used with influx: a database has no formulas");
    }
    if args.sort.is_some() && !is_table && !args.wide {
        return usage("--sort works only with tables and --wide");
    }
    if (args.human || args.exact) && !is_table {
        return usage("--human and --exact work only with tables; other formats are always exact");
    }
    if args.summary && (args.raw || !is_table) {
        return usage("--summary works only with tables of formatted values");
    }
    if args.warmup.is_some() && !args.files.log.is_empty() {
        return usage("--warmup applies only to live values");
    }
    if args.wait && !args.files.log.is_empty() {
        return usage("--wait applies only to live values");
    }
    if format == OutputFormat::PdhCsv && (!args.filters.is_empty() || args.top.is_some()) {
        return usage("--where and --top cannot be used with pdh-csv, because its columns are fixed");
    }
    // Without an interval, one sample is taken.
    let live_count = operands.interval.is_none().then_some(1);
    let mut samples = Samples::open_named(operands, &args.files, &args.window, args.all, args.wait)?;
    // Before the samples, which may be endless.
    let mut absent = samples.absent();
    absent.iter().for_each(Failure::print);
    if absent.len() == samples.operands().paths.len() {
        return Ok(Exit::NothingMatched);
    }
    let asked = samples.query_source();
    let paths = || samples.operands().paths.iter();
    check_counters(args, asked, paths())?;
    asked.warn_of_left_out(|set| set.is_some_and(|set| paths().any(|path| names(path, set))));
    let (host, zone) = (asked.host(), Some(asked.zone()));
    let names = if samples.is_log() { PathNames::Own } else { PathNames::Pdh };
    let is_learned = samples.comes_and_goes();
    let Operands { interval, count, .. } = *samples.operands();
    let is_series = samples.is_log() || interval.is_some() && count != Some(1);
    let options = PrintOptions { host, zone, names, is_learned, is_series, ..args.into() };
    let mut output = ValuePrinter::stdout(options, &samples.operands().paths);
    // The first line of PDH-CSV names all columns: of a log, those of all its samples.
    if output.needs_series() {
        let how = SamplingOptions { is_raw: args.raw, ..SamplingOptions::default() };
        samples.take(how, &mut |clocks, values| {
            output.learn(clocks, values);
            Ok(())
        })?;
        samples.rewind()?;
    }
    let (how, mut missing) = (SamplingOptions { is_raw: args.raw, warmup: args.warmup, live_count }, false);
    let mut unseen = UnseenPaths::new(&samples.operands().paths);
    let done = samples.take(how, &mut |clocks, values| {
        unseen.see(values);
        missing |= output.sample(clocks, values)?;
        Ok(())
    });
    // Values before the error are shown.
    output.finish()?;
    let asked = samples.query_source();
    if samples.is_log() && done.is_ok() {
        absent = unseen.finish(asked);
        absent.iter().for_each(Failure::print);
    }
    let names = samples.operands().paths.iter().map(|path| &*path.counterset);
    for counterset in named(asked.machine(), names) {
        for line in asked.not_shown(Some(&counterset)) {
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = writeln!(io::stderr(), "note: {line}");
        }
    }
    if output.without_column() > 0 {
        let count = grouped_digits(&output.without_column().to_string());
        // Standard error is the last place to report to, so a failure of it is ignored.
        let why = match args.wide {
            true => "the columns are the counters of the first sample; --format json prints all",
            false => {
                "the columns are the paths of the first sample, and these instances appeared later or had another \
                 number (#1); --format csv or json prints all"
            }
        };
        let _ = writeln!(io::stderr(), "warning: {count} values have no column: {why}");
        missing = true;
    }
    let exit = samples.finish();
    // Damage of the log is the likely cause of a failure, so its exit code wins.
    done.map_err(|failure| if exit == Exit::Ok { failure } else { Failure { exit, ..failure } })?;
    Ok(match exit {
        Exit::Ok if !absent.is_empty() => Exit::NothingMatched,
        Exit::Ok if missing && args.strict => Exit::ValueMissing,
        exit => exit,
    })
}
