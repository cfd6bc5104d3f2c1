//! `perfset get`: values of counter paths.

use std::io::{self, Write};

use perfset::Counterset;
use perfset::likeness::likeness;
use perfset::output::PathNames;
use perfset::output::text::grouped_digits;
use perfset::path::CounterPath;

use crate::args::{GetArgs, OutputFormat};
use crate::exit::{Exit, Failure};
use crate::operands::Operands;
use crate::printer::{PrintOptions, ValuePrinter};
use crate::resolve::named;
use crate::samples::{Samples, SamplingOptions};

/// Returns `true` if a path names a counterset, or one whose name looks the same.
fn names(path: &CounterPath, set: &Counterset) -> bool {
    // Data can be left out because its counterset looks like another one: names are compared the same way.
    likeness(&path.counterset) == likeness(&set.name) || path.counterset.parse() == Ok(set.guid)
}

pub fn run(args: &GetArgs) -> Result<Exit, Failure> {
    let operands = Operands::parse(&args.operands)?;
    let usage = |text: &str| Err(Failure::new(Exit::Usage, anyhow::anyhow!(text.to_owned())));
    if args.summary && (args.raw || args.format != OutputFormat::Table) {
        return usage("--summary works only with tables of formatted values");
    }
    if args.warmup.is_some() && !args.files.log.is_empty() {
        return usage("--warmup applies only to live values");
    }
    if args.format == OutputFormat::PdhCsv && (args.filter.is_some() || args.top.is_some()) {
        return usage("--where and --top cannot be used with pdh-csv, because its columns are fixed");
    }
    // Without an interval, one sample is taken.
    let live_count = operands.interval.is_none().then_some(1);
    let mut samples = Samples::open(operands, &args.files, &args.window, args.all)?;
    let asked = samples.query_source();
    let paths = || samples.operands().paths.iter();
    asked.warn_of_left_out(|set| set.is_some_and(|set| paths().any(|path| names(path, set))));
    let (host, zone) = (asked.host(), Some(asked.zone()));
    let names = if samples.is_log() { PathNames::Own } else { PathNames::Pdh };
    let is_learned = samples.comes_and_goes();
    let options = PrintOptions { host, zone, names, is_learned, ..args.into() };
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
    let done = samples.take(how, &mut |clocks, values| {
        missing |= output.sample(clocks, values)?;
        Ok(())
    });
    // Values before the error are shown.
    output.finish()?;
    let asked = samples.query_source();
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
        let _ = writeln!(
            io::stderr(),
            "warning: {count} values have no column: the columns are the paths of the first sample, and these \
             instances appeared later or had another number (#1); --format csv or json prints all"
        );
        missing = true;
    }
    let exit = samples.finish();
    // Damage of the log is the likely cause of a failure, so its exit code wins.
    done.map_err(|failure| if exit == Exit::Ok { failure } else { Failure { exit, ..failure } })?;
    Ok(if exit == Exit::Ok && missing && args.strict { Exit::ValueMissing } else { exit })
}
