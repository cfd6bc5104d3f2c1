//! `perfset watch`: reports counter values that pass a limit.

mod lists;
mod program;
mod report;
mod state;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::anyhow;
use perfset::path::{CounterPath, PathQuery, PathValue};
use perfset::{Aggregate, Counter, CounterId, Mark, NoValue};

use crate::args::WatchArgs;
use crate::exit::{Exit, Failure};
use crate::operands::Operands;
use crate::samples::{Samples, SamplingOptions};
use lists::is_pattern;
use program::{RunProgram, RunQueue, warn};
use report::{Reporter, UnknownValues};
use state::{ConditionChange, Limit, Watch, WatchReading, WatchedInstance};

/// Interval between two samples of watched values if the command line has none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// Watches the counter paths until the requested number of samples, the end of the log, Ctrl+C, or, with `--exit-code`,
/// the first report.
pub fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    let mut operands = Operands::parse(&args.operands)?;
    let usage = |text: String| Failure::new(Exit::Usage, anyhow!(text));
    if let Some(count) = operands.count.filter(|count| *count < u64::from(args.samples)) {
        let needed = args.samples;
        return Err(usage(format!(
            "--for {needed} needs at least {needed} samples, and the count is {count}"
        )));
    }
    let limit = match (args.above, args.below) {
        (Some(above), _) => Limit::Above(above),
        (None, Some(below)) => Limit::Below(below),
        (None, None) => return Err(usage("--above or --below is needed".to_owned())),
    };
    let program = (!args.run.is_empty()).then(|| RunProgram::find(&args.run)).transpose()?;
    if args.files.log.is_empty() {
        operands.interval.get_or_insert(DEFAULT_INTERVAL);
    }
    lists::split(&mut operands.paths);
    let mut samples = Samples::open(operands, &args.files, &args.window, false)?;
    // After the samples: a thread that starts earlier would keep capabilities that they drop.
    let runs = program.map(|program| RunQueue::start(program, args.json)).transpose()?;
    let mut watcher = Watcher {
        watch: Watch::new(limit, args.samples),
        reporter: Reporter::new(samples.query_source(), args.json, limit, args.samples),
        paths: samples.operands().paths.clone(),
        runs,
        is_hit: false,
    };
    let how = SamplingOptions { warmup: args.warmup, ..SamplingOptions::default() };
    let done = samples.take_queries(how, &mut |query| {
        watcher.sample(query)?;
        Ok(if watcher.is_hit && args.exit_code { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    let Watcher { watch, runs, is_hit, .. } = watcher;
    // Runs that were requested before an error are still made.
    if let Some(runs) = runs {
        runs.finish(|is_done| samples.wait_for(is_done));
    }
    let is_ended_early = samples.is_stopped() && samples.operands().count.is_some();
    // Fewer samples than a condition needs cannot prove that it is not met.
    let is_short = watch.samples() < u64::from(args.samples);
    if is_short && samples.is_log() && done.is_ok() && !is_hit {
        warn(&format!("the number of samples is {}, and --for needs {}", watch.samples(), args.samples));
    }
    let exit = samples.finish();
    // Damage of the log is the likely cause of a failure, so its exit code wins.
    done.map_err(|failure| if exit == Exit::Ok { failure } else { Failure { exit, ..failure } })?;
    let is_unknown = watch.has_unknown() || is_short || is_ended_early;
    Ok(match exit {
        _ if is_hit && args.exit_code => Exit::ConditionMet,
        Exit::Ok if is_unknown && args.exit_code => Exit::ValueMissing,
        exit => exit,
    })
}

/// Watched condition with its counter paths, its reports and the runs of its program.
struct Watcher {
    watch: Watch,
    reporter: Reporter,
    paths: Vec<CounterPath>,
    runs: Option<RunQueue>,
    /// `true` once the condition of any watched value has begun.
    is_hit: bool,
}

impl Watcher {
    /// Evaluates the last sample of a query, and reports each change of the condition.
    fn sample(&mut self, query: &PathQuery) -> Result<(), Failure> {
        let Self { watch, reporter, paths, runs, is_hit } = self;
        let (clocks, values) = (query.snapshot().clocks(), query.values());
        let readings = Readings::new(paths, &values);
        let (mut unknown, mut due) = (UnknownValues::default(), Vec::new());
        // Paths that were not read at all. Those without any value are unknown, too.
        let mut is_read = vec![true; paths.len()];
        let mut has_reading = vec![false; paths.len()];
        watch.begin_sample();
        for v in &values {
            let Some(reading) = readings.of(v) else { continue };
            if let Some(has_reading) = has_reading.get_mut(v.path) {
                *has_reading = true;
            }
            if watch.is_unknown(reading) {
                unknown.add(v);
            }
            let is_failed = v.value.instance_id.is_none() && is_failure(&v.value.value);
            if let Some(is_read) = is_read.get_mut(v.path).filter(|_| is_failed) {
                *is_read = false;
            }
            match watch.read(identity(query, v), reading) {
                Some((ConditionChange::Begins, instance)) => {
                    *is_hit = true;
                    due.push(reporter.begins(clocks, v, instance)?);
                }
                Some((ConditionChange::Ends, instance)) => reporter.ends(clocks, v, &instance)?,
                None => {}
            }
        }
        let is_read = |path: usize| is_read.get(path).copied().unwrap_or(true);
        for instance in watch.end_sample(is_read) {
            reporter.ends_with_instance(clocks, &instance)?;
        }
        for (path, _) in paths.iter().zip(has_reading).filter(|(_, has_reading)| !has_reading) {
            watch.set_unknown();
            unknown.add_path(path);
        }
        let is_missing =
            |v: &PathValue<'_>| v.value.value.is_err() && readings.of(v) == Some(WatchReading::Unknown);
        reporter.unknown(clocks, paths, &values, &unknown, is_missing)?;
        let written = reporter.end_sample();
        // After the report, whose line comes before those of the program, and also if no program reads the report.
        if let Some(runs) = runs {
            due.into_iter().for_each(|variables| runs.push(variables));
        }
        written
    }
}

/// Returns `true` if a value without an instance is missing because the instances could not be read.
fn is_failure<T>(value: &Result<T, NoValue>) -> bool {
    value.as_ref().is_err_and(|reason| *reason != NoValue::NoInstance)
}

/// Data of one sample with which its values are converted to readings of the watched condition.
struct Readings<'a> {
    paths: &'a [CounterPath],
    /// Pairs of path and counter for which at least one instance that is not a sum has a current value.
    valued: HashSet<(usize, CounterId)>,
}

impl<'a> Readings<'a> {
    fn new(paths: &'a [CounterPath], values: &[PathValue<'_>]) -> Self {
        let is_valued = |v: &&PathValue<'_>| {
            v.value.value.is_ok() && !v.sums_up() && !matches!(v.value.mark, Some(Mark::Stale(_)))
        };
        Self {
            paths,
            valued: values.iter().filter(is_valued).map(|v| (v.path, v.value.counter.id)).collect(),
        }
    }

    /// Converts a counter value to its reading for the watched condition. Returns `None` if a pattern selects a
    /// counter that never has a value on this system.
    fn of(&self, v: &PathValue<'_>) -> Option<WatchReading> {
        let path = self.paths.get(v.path);
        if path.is_some_and(|path| is_pattern(&path.counter)) && v.value.counter.is_never_there() {
            return None;
        }
        let is_found = path.and_then(|path| path.instance.as_deref()).is_some_and(is_pattern);
        let value = match &v.value.value {
            Ok(value) => value.nocap(),
            // An instance that a pattern has just found. One that is named is expected to have a value.
            Err(NoValue::NewInstance | NoValue::Replaced | NoValue::NeedsTwoSamples)
                if is_found && !v.sums_up() =>
            {
                return Some(WatchReading::New);
            }
            // Not every instance has every counter: Idle has no working set.
            Err(NoValue::Unavailable(_))
                if is_found && self.valued.contains(&(v.path, v.value.counter.id)) =>
            {
                return Some(WatchReading::Lacking);
            }
            Err(_) => return Some(WatchReading::Unknown),
        };
        Some(match v.value.mark {
            Some(Mark::Stale(_)) => WatchReading::Unknown,
            Some(Mark::Partial(_)) if !grows(v.value.counter) => WatchReading::Unknown,
            Some(Mark::Partial(_)) => WatchReading::PartialSum(value),
            _ => WatchReading::Value(value),
        })
    }
}

/// Returns `true` if the aggregate of a counter never decreases when more instances are included. A mean, a share or an
/// inverse can decrease.
fn grows(counter: &Counter) -> bool {
    matches!(counter.aggregate, Aggregate::Undefined | Aggregate::Total | Aggregate::Max)
        && !counter.counter_type.needs_base()
        && !counter.counter_type.decode().inverse
}

/// Returns the identity of a value's counter and instance, under which `watch` counts its samples.
fn identity(query: &PathQuery, v: &PathValue<'_>) -> WatchedInstance {
    WatchedInstance {
        path: v.path,
        counter: v.value.counter.id.0,
        name: v.value.instance.as_bytes().into(),
        id: v.value.instance_id.map_or(0, |id| id.0),
        // A sum gets another birth when its instances change, and still is the same sum.
        birth: if v.sums_up() { None } else { query.birth(v) },
        ..WatchedInstance::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::CounterType;

    #[test]
    fn partial_aggregates_that_grow() {
        for (counter_type, aggregate, want) in [
            (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, Aggregate::Undefined, true),
            (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, Aggregate::Total, true),
            (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, Aggregate::Max, true),
            (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, Aggregate::Min, false),
            (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, Aggregate::Avg, false),
            (CounterType::PERF_COUNTER_BULK_COUNT, Aggregate::Undefined, true),
            (CounterType::PERF_100NSEC_TIMER, Aggregate::Undefined, true),
            (CounterType::PERF_100NSEC_TIMER_INV, Aggregate::Undefined, false),
            (CounterType::PERF_RAW_FRACTION, Aggregate::Undefined, false),
            (CounterType::PERF_AVERAGE_TIMER, Aggregate::Undefined, false),
        ] {
            let counter = Counter::new(CounterId(1), counter_type).aggregate(aggregate);
            assert_eq!(grows(&counter), want, "{counter_type} {aggregate:?}");
        }
    }
}
