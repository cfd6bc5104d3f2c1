//! `perfset get`: values of counter paths.

use crate::args::{GetArgs, OutputFormat};
use crate::exit::{Exit, Failure};
use crate::output::{Options, Output};
use crate::samples::{How, Operands, Samples};

pub fn run(args: &GetArgs) -> Result<Exit, Failure> {
    let operands = Operands::parse(&args.operands)?;
    let usage = |text: &str| Err(Failure::new(Exit::Usage, anyhow::anyhow!(text.to_owned())));
    if args.summary && (args.raw || args.format != OutputFormat::Table) {
        return usage("--summary goes with tables of formatted values only");
    }
    if args.warmup.is_some() && !args.files.log.is_empty() {
        return usage("--warmup is for live values: a log has its own second readings");
    }
    if args.format == OutputFormat::PdhCsv && (args.test.is_some() || args.top.is_some()) {
        return usage("--where and --top do not go with pdh-csv, whose columns stay");
    }
    // Without an interval it is one value.
    let live_count = operands.interval.is_none().then_some(1);
    let mut samples = Samples::open(operands, &args.files, &args.window)?;
    let asked = samples.asked();
    let (host, zone) = (asked.host(), Some(asked.zone()));
    let options = Options { host, zone, has_pdh_names: samples.is_log(), ..args.into() };
    let mut output = Output::new(options, &samples.operands().paths);
    let (how, mut missing) = (How { is_raw: args.raw, warmup: args.warmup, live_count }, false);
    let done = samples.take(how, &mut |clocks, values| {
        missing |= output.sample(clocks, values)?;
        Ok(())
    });
    // What came before an error is shown.
    output.finish()?;
    samples.finish();
    done?;
    Ok(if missing && args.strict { Exit::ValueMissing } else { Exit::Ok })
}
