//! `perfset get`: values of counter paths.

use std::time::Duration;

use perfset::path::{BindError, CounterPath, PathError, PathQuery};
use perfset::{Machine, Next};

use crate::args::{GetArgs, interval};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::pace::Pace;
use crate::resolve::{countersets, near_line, no_counterset};
use crate::text::escaped;

/// What people want first, by a short name.
const ALIASES: [(&str, &[&str]); 5] = [
    ("cpu", &[r"\Processor Information(*)\% Processor Time"]),
    ("mem", &[r"\Memory\Available Bytes", r"\Memory\Committed Bytes", r"\Memory\Pages/sec"]),
    // The countersets of these are still to come; until then their names are unknown, and that is said.
    ("disk", &[r"\PhysicalDisk(*)\% Disk Time"]),
    ("net", &[r"\Network Interface(*)\Bytes Total/sec"]),
    ("proc", &[r"\Process V2(*)\% Processor Time"]),
];

pub fn run(args: &GetArgs) -> Result<Exit, Failure> {
    let Operands { paths, interval, count } = operands(&args.operands)?;
    let machine = machine_of(&paths)?;
    let mut source = machine.clone();
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let mut query = PathQuery::open(&mut source).map_err(failed)?;
    for path in &paths {
        query.add(&mut source, path).map_err(|error| unbound(&machine, path, error))?;
    }
    let mut output = Output::new(args, &paths);
    let mut missing = false;

    // What a rate is taken over, before the first sample that is shown.
    query.collect().map_err(failed)?;
    let needs_two =
        !args.raw && query.values().iter().any(|v| v.value.counter.counter_type.needs_two_samples());
    let every = interval.unwrap_or(Duration::from_secs(1));
    let mut shown: u64 = 0;
    let mut pace = Pace::new(args.warmup.filter(|_| needs_two).unwrap_or(every), None)
        .map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let most = count.or(interval.is_none().then_some(1));
    if needs_two {
        if !pace.wait() {
            return Ok(Exit::Ok);
        }
        query.collect().map_err(failed)?;
    }
    pace.every(every);
    loop {
        missing |= output.sample(query.snapshot().clocks(), query.values())?;
        shown = shown.saturating_add(1);
        if most.is_some_and(|most| shown >= most) || !pace.wait() {
            break;
        }
        if query.collect().map_err(failed)? == Next::End {
            break;
        }
    }
    output.finish()?;
    Ok(if missing && args.strict { Exit::ValueMissing } else { Exit::Ok })
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
    let first_number = texts.iter().rposition(|text| is_path(text)).map_or(0, |last| last.saturating_add(1));
    let (paths, numbers) = texts.split_at_checked(first_number).unwrap_or((texts, &[]));
    let (interval_text, count_text) = match numbers {
        [] => (None, None),
        [interval] => (Some(interval), None),
        [interval, count] => (Some(interval), Some(count)),
        [_, _, more, ..] => return Err(not_a_path(paths, more)),
    };
    let interval = match interval_text.map(|text| (text, interval(text))) {
        None => None,
        Some((_, Ok(interval))) => Some(interval),
        Some((text, Err(why))) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            return Err(usage(format!("\"{}\" is not an interval: {why}", escaped(text))));
        }
        Some((text, Err(_))) => return Err(not_a_path(paths, text)),
    };
    let count = match count_text.map(|text| (text, text.parse::<u64>())) {
        None => None,
        Some((_, Ok(count @ 1..))) => Some(count),
        Some((text, _)) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            return Err(usage(format!(
                "\"{}\" is not a count: a number from 1 on is expected",
                escaped(text)
            )));
        }
        Some((text, _)) => return Err(not_a_path(paths, text)),
    };
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
        let first = texts.first().map(String::as_str).unwrap_or_default();
        return Err(usage(format!("\"{}\" is not a counter path: it begins with \\ or /", escaped(first))));
    }
    Ok(Operands { paths: parsed, interval, count })
}

/// A word that is neither: most likely a path with blanks was not quoted.
fn not_a_path(paths: &[String], word: &str) -> Failure {
    let word = escaped(word);
    let text = match paths.iter().rfind(|path| path.starts_with(['\\', '/'])) {
        Some(path) => {
            let path = escaped(path);
            format!(
                "\"{path}\" is a counter path, \"{word}\" is not\n  a path with blanks needs quotes: '{path} {word}'"
            )
        }
        None => format!("\"{word}\" is not a counter path: it begins with \\ or /"),
    };
    Failure::new(Exit::Usage, anyhow::anyhow!(text))
}

/// The one machine that all paths name.
fn machine_of(paths: &[CounterPath]) -> Result<Machine, Failure> {
    let mut machine = None;
    for path in paths {
        let found =
            perfset::machine(path.machine.as_deref()).map_err(|e| Failure::new(Exit::SourceFailed, e))?;
        machine.get_or_insert(found);
    }
    Ok(machine.unwrap_or_else(perfset::local))
}

/// What is said of a path that means nothing here.
fn unbound(machine: &Machine, path: &CounterPath, error: BindError) -> Failure {
    let text = match &error {
        BindError::NoCounterset { name, nearest } => {
            return no_counterset(name, nearest, countersets(machine).len());
        }
        BindError::NoCounter { counterset, nearest, .. } => {
            let near = near_line(nearest);
            format!(
                "{}{near}\n  perfset describe '{}' shows all",
                escaped(&error.to_string()),
                escaped(counterset)
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

    /// Paths, milliseconds, count.
    type Parsed = (Vec<String>, Option<u64>, Option<u64>);

    fn parsed(texts: &[&str]) -> Result<Parsed, String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        let Operands { paths, interval, count } = operands(&texts).map_err(|f| f.error.to_string())?;
        let ms = interval.map(|i| u64::try_from(i.as_millis()).unwrap());
        Ok((paths.iter().map(ToString::to_string).collect(), ms, count))
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
        let quotes = "\"\\Memory\\Available\" is a counter path, \"Bytes\" is not\n  \
                      a path with blanks needs quotes: '\\Memory\\Available Bytes'";
        for (texts, want) in [
            (&[r"\Memory\Available", "Bytes"][..], quotes),
            (&[r"\Memory\Available", "Bytes", "1"], quotes),
            (&["Bytes"], "\"Bytes\" is not a counter path: it begins with \\ or /"),
            (&["1", "2"], "\"1\" is not a counter path: it begins with \\ or /"),
            (&["/A/B", "0"], "\"0\" is not an interval: it must be between 10ms and 86400 seconds"),
            (&["/A/B", "1", "0"], "\"0\" is not a count: a number from 1 on is expected"),
            (&[r"\A"], "\"\\A\" names a counterset and no counter"),
            (
                &["/A/B", "x\u{1b}"],
                "\"/A/B\" is a counter path, \"x\\u{1b}\" is not\n  a path with blanks needs quotes: '/A/B x\\u{1b}'",
            ),
        ] {
            assert_eq!(parsed(texts).unwrap_err(), want, "{texts:?}");
        }
    }
}
