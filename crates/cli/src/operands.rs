//! Operands of commands that take samples: counter paths, an interval and a count.

use std::path::Path;
use std::time::Duration;

use perfset::Machine;
use perfset::output::text::{escaped, name_of};
use perfset::path::{CounterPath, PathError};

use crate::args::interval;
use crate::exit::{Exit, Failure};
use crate::paths::paths_of;
use crate::resolve::countersets;
#[cfg(feature = "settings")]
use crate::settings::named_paths;

/// Short names, such as `cpu`, that users type for the counters they need most often. Each counter has the paths that
/// show it, the best first: other systems and their logs have it under other names.
pub const ALIASES: [(&str, &[&[&str]]); 5] = [
    ("cpu", &[&[r"\Processor Information(*)\% Processor Time", r"\Processor(*)\% Processor Time"]]),
    (
        "mem",
        &[
            &[r"\Memory\Available Bytes", r"\Memory\Available KBytes", r"\Memory\Available MBytes"],
            &[r"\Memory\Committed Bytes"],
            &[r"\Memory\Pages/sec"],
        ],
    ),
    (
        "disk",
        &[
            // Not % Disk Time, which is the queue length times 100. Windows counts the idle time only.
            &[r"\Block I/O(*)\% Busy Time", r"\PhysicalDisk(*)\% Idle Time"],
            &[r"\PhysicalDisk(*)\Disk Bytes/sec"],
            &[r"\PhysicalDisk(*)\Avg. Disk sec/Transfer"],
            &[r"\PhysicalDisk(*)\Avg. Disk Queue Length"],
        ],
    ),
    ("net", &[&[r"\Network Interface(*)\Bytes Total/sec"]]),
    ("proc", &[&[r"\Process V2(*)\% Processor Time", r"\Process(*)\% Processor Time"]]),
];

/// Parsed operands of a command that takes samples: the counter paths, the interval and the count.
#[derive(Debug, Default)]
pub struct Operands {
    pub paths: Vec<CounterPath>,
    pub interval: Option<Duration>,
    pub count: Option<u64>,
    /// Counter paths that stand for short names, such as `cpu`, in the operands.
    pub aliases: Vec<AliasPath>,
}

/// Counter path that stands for one counter of a short name such as `cpu`.
#[derive(Clone, Copy, Debug)]
pub struct AliasPath {
    /// Index of the counter path in the list of all paths.
    position: usize,
    /// Index of the operand that is the short name.
    operand: usize,
    /// Counter paths that show the same counter on different systems, the best first.
    paths: &'static [&'static str],
}

impl Operands {
    /// Parses the operands of a command: paths, then optionally an interval, then optionally a count.
    pub fn parse(texts: &[String]) -> Result<Self, Failure> {
        let no_files: &[&Path] = &[];
        Self::with_files(texts, no_files)
    }

    /// Parses the operands of a command whose counter paths may be in files. Paths of files follow those of the
    /// operands.
    pub fn with_files(texts: &[String], files: &[impl AsRef<Path>]) -> Result<Self, Failure> {
        let operands = Self::with_any_paths(texts, files)?;
        if let (true, Some(file)) = (operands.paths.is_empty(), files.first()) {
            let error = anyhow::anyhow!("{}: the file contains no counter path", name_of(file.as_ref()));
            return Err(Failure::new(Exit::Usage, error));
        }
        if operands.paths.is_empty() {
            return Err(not_a_path(&[], texts.first().map(String::as_str).unwrap_or_default()));
        }
        Ok(operands)
    }

    /// Parses the operands of a command that needs no counter path.
    pub fn without_paths(texts: &[String]) -> Result<Self, Failure> {
        let no_files: &[&Path] = &[];
        Self::with_any_paths(texts, no_files)
    }

    fn with_any_paths(texts: &[String], files: &[impl AsRef<Path>]) -> Result<Self, Failure> {
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
        let (mut parsed, mut aliases) = (Vec::new(), Vec::new());
        for (operand, text) in paths.iter().enumerate() {
            let parse = |path: &str| {
                path.parse::<CounterPath>().map_err(|error| match error {
                    PathError::NoSlash(_) => not_a_path(paths, text),
                    error => usage(escaped(&error.to_string())),
                })
            };
            match (ALIASES.iter().find(|(alias, _)| alias == text), text.strip_prefix('@')) {
                (Some((_, counters)), _) => {
                    for paths in counters.iter().copied() {
                        aliases.push(AliasPath { position: parsed.len(), operand, paths });
                        parsed.extend(paths.first().map(|path| parse(path)).transpose()?);
                    }
                }
                (None, Some(name)) => parsed.extend(named_paths(name)?),
                (None, None) => parsed.push(parse(text)?),
            }
        }
        parsed.extend(paths_of(&[], files)?);
        Ok(Self { paths: parsed, interval: interval.transpose()?, count: count.transpose()?, aliases })
    }

    /// Replaces the counter paths of short names, such as `cpu`, by those that a machine or a log has. A counter that
    /// it lacks is left out, unless it has none of the short name.
    pub fn settle(&mut self, machine: &Machine) {
        if self.aliases.is_empty() {
            return;
        }
        let sets = countersets(machine);
        let has = |path: &CounterPath| {
            let is_named =
                |name: Option<&str>| name.is_some_and(|name| name.eq_ignore_ascii_case(&path.counter));
            let mut sets = sets.iter().filter(|set| set.name.eq_ignore_ascii_case(&path.counterset));
            sets.any(|set| set.counters.iter().any(|counter| is_named(counter.name.as_deref())))
        };
        let found: Vec<(AliasPath, Option<CounterPath>)> = std::mem::take(&mut self.aliases)
            .into_iter()
            .map(|alias| {
                let mut paths = alias.paths.iter().filter_map(|path| path.parse().ok());
                (alias, paths.find(|path| has(path)))
            })
            .collect();
        let mut is_kept = vec![true; self.paths.len()];
        for (alias, path) in &found {
            let has_any = found.iter().any(|(other, path)| other.operand == alias.operand && path.is_some());
            let Some(place) = self.paths.get_mut(alias.position) else { continue };
            match path {
                Some(path) => place.clone_from(path),
                None => is_kept.iter_mut().skip(alias.position).take(1).for_each(|kept| *kept = !has_any),
            }
        }
        let mut is_kept = is_kept.into_iter();
        self.paths.retain(|_| is_kept.next().unwrap_or(true));
    }
}

/// Returns the error for an operand that is neither counter path nor number. Most likely a path with blanks was not
/// quoted.
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

/// Returns an error for a named set of paths, because this build reads no settings file.
#[cfg(not(feature = "settings"))]
fn named_paths(name: &str) -> Result<Vec<CounterPath>, Failure> {
    let name = escaped(name);
    Err(Failure::new(Exit::Usage, anyhow::anyhow!("@{name}: perfset was built without the feature settings")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::testing::{FixedClock, Scripted};
    use perfset::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType};

    /// Parsed operands of a command: paths, interval in milliseconds, and count.
    type Parsed = (Vec<String>, Option<u64>, Option<u64>);

    fn parsed(texts: &[&str]) -> Result<Parsed, String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        let Operands { paths, interval, count, .. } =
            Operands::parse(&texts).map_err(|f| f.error.to_string())?;
        let ms = interval.map(|i| u64::try_from(i.as_millis()).unwrap());
        Ok((paths.iter().map(ToString::to_string).collect(), ms, count))
    }

    /// Checks that each counter path of a short name, such as `cpu`, is a counter of its counterset, if that
    /// counterset is built in.
    #[test]
    fn aliases_mean_counters() {
        for (alias, counters) in ALIASES {
            for path in counters.iter().copied().flatten().map(|path| path.parse::<CounterPath>().unwrap()) {
                let set = perfset::catalogue::ALL.iter().find(|set| set.name == path.counterset);
                let has =
                    |set: &&Counterset| set.counters.iter().any(|c| c.name.as_deref() == Some(&path.counter));
                assert!(set.is_none_or(has), "{alias}: {path}");
            }
        }
    }

    /// Returns a test machine whose single instances have these counters: counterset, counter.
    fn machine(counters: &[(&'static str, &'static str)]) -> Machine {
        let machine = Machine::new(Box::new(FixedClock::default()));
        let mut sets: Vec<Counterset> = Vec::new();
        for (number, (set, name)) in counters.iter().enumerate() {
            let counter = Counter::new(CounterId(u32::try_from(number).unwrap()), CounterType(0x0001_0000));
            let counter = counter.name(*name);
            match sets.iter_mut().find(|known| known.name == *set) {
                Some(known) => known.counters.to_mut().push(counter),
                None => {
                    let guid = Guid::from_u128(u128::try_from(number).unwrap() + 1);
                    sets.push(Counterset::new(guid, *set, InstanceType::Single).counters(vec![counter]));
                }
            }
        }
        machine.register(Box::new(Scripted::new(sets)));
        machine
    }

    #[test]
    fn aliases_are_settled_by_what_exists() {
        let settled = |texts: &[&str], counters: &[(&'static str, &'static str)]| {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            let mut operands = Operands::parse(&texts).unwrap();
            operands.settle(&machine(counters));
            operands.paths.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let windows = [
            ("Processor", "% Processor Time"),
            ("PhysicalDisk", "% Idle Time"),
            ("PhysicalDisk", "Avg. Disk sec/Transfer"),
            ("Memory", "Available MBytes"),
        ];
        let a = r"\A\B";
        for (texts, counters, want) in [
            (&["cpu"][..], &windows[..], &[r"\Processor(*)\% Processor Time"][..]),
            (
                &["cpu"],
                &[("Processor Information", "% processor time"), windows[0]],
                &[r"\Processor Information(*)\% Processor Time"],
            ),
            // What the log lacks is left out.
            (&["mem"], &windows, &[r"\Memory\Available MBytes"]),
            (
                &[a, "disk", a],
                &windows,
                &[a, r"\PhysicalDisk(*)\% Idle Time", r"\PhysicalDisk(*)\Avg. Disk sec/Transfer", a],
            ),
            // If it lacks all, the error names the best.
            (&["proc"], &windows, &[r"\Process V2(*)\% Processor Time"]),
            (&[a], &windows, &[a]),
        ] {
            assert_eq!(settled(texts, counters), want, "{texts:?}");
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
