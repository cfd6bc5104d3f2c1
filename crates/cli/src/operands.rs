//! Operands of commands that take samples: counter paths, an interval and a count.

use std::path::Path;
use std::time::Duration;

use perfset::output::text::{escaped, name_of};
use perfset::path::{CounterPath, PathError};

use crate::args::interval;
use crate::exit::{Exit, Failure};
use crate::paths::paths_of;
use crate::settings::named_paths;

/// Short names for the counters that users need most often.
const ALIASES: [(&str, &[&str]); 5] = [
    ("cpu", &[r"\Processor Information(*)\% Processor Time"]),
    ("mem", &[r"\Memory\Available Bytes", r"\Memory\Committed Bytes", r"\Memory\Pages/sec"]),
    ("disk", &[r"\PhysicalDisk(*)\% Disk Time"]),
    ("net", &[r"\Network Interface(*)\Bytes Total/sec"]),
    ("proc", &[r"\Process V2(*)\% Processor Time"]),
];

/// Operands of a command that takes samples: the paths, and the times.
#[derive(Debug)]
pub struct Operands {
    pub paths: Vec<CounterPath>,
    pub interval: Option<Duration>,
    pub count: Option<u64>,
}

impl Operands {
    /// Parses the operands: paths, then optionally an interval, then optionally a count.
    pub fn parse(texts: &[String]) -> Result<Self, Failure> {
        let no_files: &[&Path] = &[];
        Self::with_files(texts, no_files)
    }

    /// Parses the operands, of which the paths may be in files. Paths of files follow those of the operands.
    pub fn with_files(texts: &[String], files: &[impl AsRef<Path>]) -> Result<Self, Failure> {
        let usage = |text: String| Failure::new(Exit::Usage, anyhow::anyhow!(text));
        let is_path = |text: &str| {
            text.starts_with(['\\', '/', '@']) || ALIASES.iter().any(|(alias, _)| *alias == text)
        };
        let behind = texts.iter().rposition(|text| is_path(text)).map_or(0, |last| last.saturating_add(1));
        let (paths, rest) = texts.split_at_checked(behind).unwrap_or((texts, &[]));
        // Words between the paths and the numbers are usually a path with blanks that was not quoted.
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
            _ => return Err(usage("only an interval and a count may follow the paths".to_owned())),
        };
        let interval = interval_text.map(|text| {
            interval(text).map_err(|why| usage(format!("\"{}\" is not an interval: {why}", escaped(text))))
        });
        let count = count_text.map(|text| match text.parse::<u64>() {
            Ok(count @ 1..) => Ok(count),
            _ => Err(usage(format!(
                "\"{}\" is not a count: a number of at least 1 is expected",
                escaped(text)
            ))),
        });
        let mut parsed = Vec::new();
        for text in paths {
            let parse = |path: &str| {
                path.parse::<CounterPath>().map_err(|error| match error {
                    PathError::NoSlash(_) => not_a_path(paths, text),
                    error => usage(escaped(&error.to_string())),
                })
            };
            match (ALIASES.iter().find(|(alias, _)| alias == text), text.strip_prefix('@')) {
                (Some((_, meant)), _) => {
                    parsed.extend(meant.iter().map(|path| parse(path)).collect::<Result<Vec<_>, _>>()?)
                }
                (None, Some(name)) => parsed.extend(named_paths(name)?),
                (None, None) => parsed.push(parse(text)?),
            }
        }
        parsed.extend(paths_of(&[], files)?);
        if let (true, Some(file)) = (parsed.is_empty(), files.first()) {
            return Err(usage(format!("{}: the file contains no counter path", name_of(file.as_ref()))));
        }
        if parsed.is_empty() {
            return Err(not_a_path(&[], texts.first().map(String::as_str).unwrap_or_default()));
        }
        Ok(Self { paths: parsed, interval: interval.transpose()?, count: count.transpose()? })
    }
}

/// Returns the error for a word that is neither path nor number. Most likely a path with blanks was not quoted.
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
            format!(
                "\"{word}\" is not a counter path: it must begin with \\ or /, or be one of {short}, or @ and a name"
            )
        }
    };
    Failure::new(Exit::Usage, anyhow::anyhow!(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::Counterset;

    /// Paths, milliseconds, count.
    type Parsed = (Vec<String>, Option<u64>, Option<u64>);

    fn parsed(texts: &[&str]) -> Result<Parsed, String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        let Operands { paths, interval, count } = Operands::parse(&texts).map_err(|f| f.error.to_string())?;
        let ms = interval.map(|i| u64::try_from(i.as_millis()).unwrap());
        Ok((paths.iter().map(ToString::to_string).collect(), ms, count))
    }

    /// Each path of an alias names a counter of its counterset, if that counterset is built in.
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
        let none = "is not a counter path: it must begin with \\ or /, or be one of cpu, mem, disk, net, proc, \
                    or @ and a name";
        for (texts, want) in [
            (&[r"\Memory\Available", "Bytes"][..], bytes.as_str()),
            (&[r"\Memory\Available", "Bytes", "1"], &bytes),
            (
                &[r"\Memory\Available", "Bytes", "of", "all", "1", "2"],
                &quotes("Bytes of all", r"\Memory\Available Bytes of all"),
            ),
            (&["Bytes"], &format!("\"Bytes\" {none}")),
            (&["1", "2"], &format!("\"1\" {none}")),
            (&["/A/B", "1", "2", "3"], "only an interval and a count may follow the paths"),
            (&["/A/B", "0"], "\"0\" is not an interval: must be between 10ms and 86400 seconds"),
            (&["/A/B", "1", "0"], "\"0\" is not a count: a number of at least 1 is expected"),
            (&["/A/B", "1", "2s"], "\"2s\" is not a count: a number of at least 1 is expected"),
            (&[r"\A"], "\"\\A\" names a counterset but no counter"),
        ] {
            assert_eq!(parsed(texts).unwrap_err(), want, "{texts:?}");
        }
        assert!(parsed(&["/A/B", "x\u{1b}"]).unwrap_err().contains("\"x\\u{1b}\" is not"));
    }
}
