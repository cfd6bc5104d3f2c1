//! `perfset get`: values of counter paths.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use perfset::clock::ClockReading;
use perfset::formula::format;
use perfset::log::Pick;
use perfset::path::{BindError, CounterPath, PathError, PathQuery, PathValue};
use perfset::{HasPast, Identity, Next, NoValue, Past, Sample, Source, SourceError, Value, Window};

use crate::args::{GetArgs, OutputFormat, interval};
use crate::asked::Asked;
use crate::exit::{Exit, Failure};
use crate::output::{Options, Output};
use crate::pace::Pace;
use crate::resolve::{near_line, no_counterset};
use crate::text::escaped;

/// What people want first, by a short name.
const ALIASES: [(&str, &[&str]); 5] = [
    ("cpu", &[r"\Processor Information(*)\% Processor Time"]),
    ("mem", &[r"\Memory\Available Bytes", r"\Memory\Committed Bytes", r"\Memory\Pages/sec"]),
    ("disk", &[r"\PhysicalDisk(*)\% Disk Time"]),
    ("net", &[r"\Network Interface(*)\Bytes Total/sec"]),
    ("proc", &[r"\Process V2(*)\% Processor Time"]),
];

pub fn run(args: &GetArgs) -> Result<Exit, Failure> {
    let Operands { paths, interval, count } = operands(&args.operands)?;
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
    let asked = Asked::of_paths(&args.files, &args.window, pick(interval), &paths)?;
    let mut source = asked.source();
    let mut query = PathQuery::open(&mut *source).map_err(source_failed)?;
    for path in &paths {
        query.add(&mut *source, path).map_err(|error| unbound(&asked, path, error))?;
    }
    let is_log = matches!(asked, Asked::Logs { .. });
    let options =
        Options { host: asked.host(), zone: Some(asked.zone()), has_pdh_names: is_log, ..args.into() };
    let mut output = Output::new(options, &paths);
    let done = match &asked {
        Asked::Machine(_) => live(args, &mut query, &mut output, interval, count),
        Asked::Logs { .. } => recorded(&mut *source, &mut query, &paths, &mut output, count),
    };
    // What came before an error is shown.
    output.finish()?;
    drop(query);
    asked.warn_of_damage();
    let missing = done?;
    Ok(if missing && args.strict { Exit::ValueMissing } else { Exit::Ok })
}

/// Takes samples as time passes; true if a value is missing.
fn live(
    args: &GetArgs,
    query: &mut PathQuery,
    output: &mut Output,
    interval: Option<Duration>,
    count: Option<u64>,
) -> Result<bool, Failure> {
    // What a rate is taken over, before the first sample that is shown.
    query.collect().map_err(source_failed)?;
    let needs_two =
        !args.raw && query.values().iter().any(|v| v.value.counter.counter_type.needs_two_samples());
    let every = interval.unwrap_or(Duration::from_secs(1));
    let mut pace = Pace::new(args.warmup.filter(|_| needs_two).unwrap_or(every), None)
        .map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let most = count.or(interval.is_none().then_some(1));
    if needs_two {
        if !pace.wait() {
            return Ok(false);
        }
        query.collect().map_err(source_failed)?;
    }
    pace.every(every);
    let (mut shown, mut missing) = (0_u64, false);
    loop {
        missing |= output.sample(query.snapshot().clocks(), &mut query.values())?;
        shown = shown.saturating_add(1);
        if most.is_some_and(|most| shown >= most) || !pace.wait() {
            break;
        }
        query.collect().map_err(source_failed)?;
    }
    Ok(missing)
}

/// Takes the samples of a log; true if a value is missing.
fn recorded(
    source: &mut dyn Source,
    query: &mut PathQuery,
    paths: &[CounterPath],
    output: &mut Output,
    count: Option<u64>,
) -> Result<bool, Failure> {
    let mut passed = 0_u64;
    let mut printer = Printer { output, left: count, is_first: true, missing: false };
    while printer.left != Some(0) && query.collect().map_err(source_failed)? == Next::Sample {
        let (mut values, clocks) = (query.values(), *query.snapshot().clocks());
        // One series is read without a query from its first value on.
        if let (true, [only], [path]) = (printer.is_first, values.as_slice(), paths) {
            if let Some(done) = series(source, path, passed, &clocks, only, &mut printer)? {
                return Ok(done);
            }
        }
        printer.print(&clocks, &mut values)?;
        passed = passed.saturating_add(1);
    }
    match passed {
        0 if printer.left != Some(0) => {
            Err(Failure::new(Exit::NothingMatched, anyhow::anyhow!("no sample is in that time")))
        }
        _ => Ok(printer.missing),
    }
}

/// Prints the samples of a log.
struct Printer<'a> {
    output: &'a mut Output,
    /// How many samples are still to be printed, if not all.
    left: Option<u64>,
    is_first: bool,
    missing: bool,
}

impl Printer<'_> {
    fn print(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) -> io::Result<()> {
        // The first sample of what is counted over time is what the second one is compared with, and nothing more.
        let waits = |v: &PathValue<'_>| matches!(v.value.value, Err(NoValue::NeedsTwoSamples));
        if std::mem::take(&mut self.is_first) && values.iter().all(waits) && !self.output.is_raw() {
            return Ok(());
        }
        self.missing |= self.output.sample(clocks, values)?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(())
    }
}

/// Takes the samples of one counter of one instance behind so many that are `passed`, of which the first value is
/// known; nothing if they cannot be had so. True if a value is missing.
fn series(
    source: &mut dyn Source,
    path: &CounterPath,
    mut passed: u64,
    clocks: &ClockReading,
    first: &PathValue<'_>,
    printer: &mut Printer<'_>,
) -> Result<Option<bool>, Failure> {
    let is_pattern = |text: &str| text.contains(['*', '?', '{', '!', '#']);
    let Value { counterset, counter, instance, instance_id, raw, .. } = first.value;
    let (Some(_), Some(instance_id)) = (raw, instance_id) else { return Ok(None) };
    if is_pattern(&path.counter) || path.instance.as_deref().is_some_and(is_pattern) {
        return Ok(None);
    }
    let identity = Identity { counterset: counterset.guid, instance, instance_id, birth: None };
    let (mut before, mut values, mut failed): (Option<Sample<'_>>, Vec<PathValue<'_>>, _) =
        (None, Vec::with_capacity(1), None);
    let mut each = |batch: &[Past<'_>]| {
        for past in batch {
            // Not by time: the clock may have been set back since.
            if let Some(left) = passed.checked_sub(1) {
                passed = left;
                continue;
            }
            let now = past.sample.as_ref().map(|sample| Sample {
                identity: Identity { birth: sample.identity.birth, ..identity },
                ..*sample
            });
            let value = match &now {
                Ok(now) => format(before.as_ref(), now),
                Err(reason) => Err((*reason).clone()),
            };
            let value = Value {
                raw: now.as_ref().ok().map(|now| now.raw),
                base: now.as_ref().ok().and_then(|now| now.base),
                instance_id: if matches!(value, Err(NoValue::NoInstance)) { None } else { Some(instance_id) },
                value,
                ..first.value.clone()
            };
            values.clear();
            values.push(first.with(value));
            before = now.ok();
            let clocks = ClockReading { time_100ns: past.time, ..*clocks };
            if let Err(error) = printer.print(&clocks, &mut values) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            if printer.left == Some(0) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let has_past =
        source.series(counter.id, &identity, Window::default(), &mut each).map_err(source_failed)?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok((has_past == HasPast::Yes).then_some(printer.missing)),
    }
}

/// An interval between samples of a log, as which samples are taken.
fn pick(interval: Option<Duration>) -> Pick {
    let in_100ns =
        |interval: Duration| i64::try_from(interval.as_nanos().wrapping_div(100)).unwrap_or(i64::MAX);
    interval.map_or(Pick::All, |interval| Pick::Every(in_100ns(interval)))
}

pub fn source_failed(error: SourceError) -> Failure {
    Failure::new(Exit::SourceFailed, error)
}

#[derive(Debug)]
struct Operands {
    paths: Vec<CounterPath>,
    interval: Option<Duration>,
    count: Option<u64>,
}

/// Paths, then perhaps an interval, then perhaps a count.
fn operands(texts: &[String]) -> Result<Operands, Failure> {
    let usage = |text: String| Failure::new(Exit::Usage, anyhow::anyhow!(text));
    let is_path =
        |text: &str| text.starts_with(['\\', '/']) || ALIASES.iter().any(|(alias, _)| *alias == text);
    let behind = texts.iter().rposition(|text| is_path(text)).map_or(0, |last| last.saturating_add(1));
    let (paths, rest) = texts.split_at_checked(behind).unwrap_or((texts, &[]));
    // Words between the paths and the numbers: a path with blanks that was not quoted.
    let is_number = |text: &String| text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let words = rest.iter().rposition(|text| !is_number(text)).map_or(0, |last| last.saturating_add(1));
    let (words, numbers) = rest.split_at_checked(words).unwrap_or((rest, &[]));
    if !words.is_empty() {
        return Err(not_a_path(paths, &words.join(" ")));
    }
    let (interval_text, count_text) = match numbers {
        [] => (None, None),
        [interval] => (Some(interval), None),
        [interval, count] => (Some(interval), Some(count)),
        _ => return Err(usage("an interval and a count are all that may follow the paths".to_owned())),
    };
    let interval = interval_text.map(|text| {
        interval(text).map_err(|why| usage(format!("\"{}\" is not an interval: {why}", escaped(text))))
    });
    let count = count_text.map(|text| match text.parse::<u64>() {
        Ok(count @ 1..) => Ok(count),
        _ => Err(usage(format!("\"{}\" is not a count: a number from 1 on is expected", escaped(text)))),
    });
    let mut parsed = Vec::new();
    for text in paths {
        let parse = |path: &str| {
            path.parse::<CounterPath>().map_err(|error| match error {
                PathError::NoSlash(_) => not_a_path(paths, text),
                error => usage(escaped(&error.to_string())),
            })
        };
        match ALIASES.iter().find(|(alias, _)| alias == text) {
            Some((_, meant)) => {
                parsed.extend(meant.iter().map(|path| parse(path)).collect::<Result<Vec<_>, _>>()?)
            }
            None => parsed.push(parse(text)?),
        }
    }
    if parsed.is_empty() {
        return Err(not_a_path(&[], texts.first().map(String::as_str).unwrap_or_default()));
    }
    Ok(Operands { paths: parsed, interval: interval.transpose()?, count: count.transpose()? })
}

/// A word that is neither: most likely a path with blanks was not quoted.
fn not_a_path(paths: &[String], word: &str) -> Failure {
    let word = escaped(word);
    let text = match paths.iter().rfind(|path| path.starts_with(['\\', '/'])) {
        Some(path) => {
            let path = escaped(path);
            format!(
                "\"{path}\" is a counter path, \"{word}\" is not\n  a path with blanks needs quotes: '{path} {word}'; \
                 forward slashes work too"
            )
        }
        None => {
            let short = ALIASES.map(|(alias, _)| alias).join(", ");
            format!("\"{word}\" is not a counter path: one begins with \\ or /, or is one of {short}")
        }
    };
    Failure::new(Exit::Usage, anyhow::anyhow!(text))
}

/// What is said of a path that means nothing here.
pub fn unbound(asked: &Asked, path: &CounterPath, error: BindError) -> Failure {
    let text = match &error {
        BindError::NoCounterset { name, nearest } => {
            return no_counterset(asked, name, nearest);
        }
        BindError::NoCounter { counterset, nearest, .. } => {
            let near = near_line(nearest);
            format!(
                "{}{near}\n  perfset describe '{}'{} shows all",
                escaped(&error.to_string()),
                escaped(counterset),
                asked.options()
            )
        }
        BindError::NeedsInstance { counterset } => {
            let counter = escaped(&path.counter);
            let set = escaped(counterset);
            format!("{}\n  all of them: '\\{set}(*)\\{counter}'", escaped(&error.to_string()))
        }
        BindError::NoInstances { counterset } => {
            let counter = escaped(&path.counter);
            let set = escaped(counterset);
            format!("{}\n  without brackets: '\\{set}\\{counter}'", escaped(&error.to_string()))
        }
        BindError::Source(_) => return Failure::new(Exit::SourceFailed, error),
        other => escaped(&other.to_string()),
    };
    Failure::new(Exit::NothingMatched, anyhow::anyhow!(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::Counterset;

    /// Paths, milliseconds, count.
    type Parsed = (Vec<String>, Option<u64>, Option<u64>);

    fn parsed(texts: &[&str]) -> Result<Parsed, String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        let Operands { paths, interval, count } = operands(&texts).map_err(|f| f.error.to_string())?;
        let ms = interval.map(|i| u64::try_from(i.as_millis()).unwrap());
        Ok((paths.iter().map(ToString::to_string).collect(), ms, count))
    }

    /// What an alias stands for has that counter, if the counterset is there at all.
    #[test]
    fn aliases_mean_counters() {
        for (alias, paths) in ALIASES {
            for path in paths.iter().map(|path| path.parse::<CounterPath>().unwrap()) {
                let set = perfset::catalogue::ALL.iter().find(|set| set.name == path.counterset);
                let has =
                    |set: &&Counterset| set.counters.iter().any(|c| c.name.as_deref() == Some(&path.counter));
                assert!(set.is_none_or(has), "{alias}: {path}");
            }
        }
    }

    #[test]
    fn paths_then_numbers() {
        let a = || vec![r"\A\B c".to_owned()];
        assert_eq!(parsed(&[r"\A\B c"]), Ok((a(), None, None)));
        assert_eq!(parsed(&["/A/B c", "2"]), Ok((a(), Some(2_000), None)));
        assert_eq!(parsed(&["/A/B c", "500ms", "3"]), Ok((a(), Some(500), Some(3))));
        let cpu = r"\Processor Information(*)\% Processor Time".to_owned();
        assert_eq!(parsed(&["cpu", r"\A\B c", "1"]), Ok((vec![cpu, a().remove(0)], Some(1_000), None)));
    }

    #[test]
    fn mistakes_get_the_next_step() {
        let quotes = |word: &str, path: &str| {
            format!(
                "\"\\Memory\\Available\" is a counter path, \"{word}\" is not\n  \
                 a path with blanks needs quotes: '{path}'; forward slashes work too"
            )
        };
        let bytes = quotes("Bytes", r"\Memory\Available Bytes");
        let none = "is not a counter path: one begins with \\ or /, or is one of cpu, mem, disk, net, proc";
        for (texts, want) in [
            (&[r"\Memory\Available", "Bytes"][..], bytes.as_str()),
            (&[r"\Memory\Available", "Bytes", "1"], &bytes),
            (
                &[r"\Memory\Available", "Bytes", "of", "all", "1", "2"],
                &quotes("Bytes of all", r"\Memory\Available Bytes of all"),
            ),
            (&["Bytes"], &format!("\"Bytes\" {none}")),
            (&["1", "2"], &format!("\"1\" {none}")),
            (&["/A/B", "1", "2", "3"], "an interval and a count are all that may follow the paths"),
            (&["/A/B", "0"], "\"0\" is not an interval: it must be between 10ms and 86400 seconds"),
            (&["/A/B", "1", "0"], "\"0\" is not a count: a number from 1 on is expected"),
            (&["/A/B", "1", "2s"], "\"2s\" is not a count: a number from 1 on is expected"),
            (&[r"\A"], "\"\\A\" names a counterset and no counter"),
        ] {
            assert_eq!(parsed(texts).unwrap_err(), want, "{texts:?}");
        }
        assert!(parsed(&["/A/B", "x\u{1b}"]).unwrap_err().contains("\"x\\u{1b}\" is not"));
    }
}
