//! Mode `relog`: options and output of the Windows tool of that name.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use perfset::clock::SystemTime;
use perfset::log::Existing;
use perfset::log::{Info, Log, Pick};
use perfset::output::text::{escaped, name_of};

use super::options::{ArgCount, ParsedOptions};
use super::{completed, may_write, no_binary, usage};
use crate::args::RelogFormat;
use crate::exit::{Exit, Failure};
use crate::input::unreadable;
use crate::log::unusable;
use crate::paths::paths_of;
use crate::relog::{RelogJob, RelogTarget, list};
use crate::when::{InstantArg, TimeArg};

const OPTIONS: &[(&str, ArgCount)] = &[
    ("?", ArgCount::None),
    ("a", ArgCount::None),
    ("b", ArgCount::Many),
    ("c", ArgCount::Many),
    ("cf", ArgCount::One),
    ("config", ArgCount::One),
    ("e", ArgCount::Many),
    ("f", ArgCount::One),
    ("o", ArgCount::One),
    ("q", ArgCount::None),
    ("t", ArgCount::One),
    ("y", ArgCount::None),
];

const HELP: &str = "\
Converts performance counter logs to another format, selects parts, merges them.

relog FILE [FILE ...] [options]        options with / or -

  -?             this text
  -b TIME        begin: M/D/YYYY [H]H:MM:SS[AM|PM], local where the log was written
  -e TIME        end, in the same form
  -c PATH ...    only these counters
  -cf FILE       only the counter paths in this file, one per line
  -config FILE   take arguments from this file
  -f CSV|TSV|SQL the format to write; BIN is not written
  -o FILE        the file to write; with -f SQL a SQLite file: FILE or FILE!NAME
  -q             list the counters of the logs
  -t N           only every N-th sample
  -y             overwrite an existing file

perfset relog --help lists more options: JSON, UTC, several machines.";

pub fn run(args: Vec<String>) -> Result<(), Failure> {
    let options = ParsedOptions::parse(args, OPTIONS)?;
    if options.has("?") {
        writeln!(io::stdout(), "{HELP}")?;
        return Ok(());
    }
    if options.operands.is_empty() {
        return Err(usage("no log is given: relog FILE ...; -? shows all options"));
    }
    if options.has("a") {
        return Err(usage("-a: only binary logs can be appended to, and they are not written"));
    }
    let job = job(&options)?;
    if options.has("q") {
        list(&job)?;
        return Ok(completed()?);
    }
    let target = target(&options)?;
    let mut is_damaged = false;
    // The input is described before it is converted, so the logs are read once more for that.
    let input = input_of(&job.files)?;
    let mut out = io::stdout().lock();
    writeln!(out, "\nInput\n----------------\nFile(s):")?;
    for (file, kind) in job.files.iter().zip(&input.kinds) {
        writeln!(out, "     {} ({kind})", name_of(file))?;
    }
    about(&mut out, input.span, input.samples)?;
    if let Some(target) = target {
        let done = job.run(&target, true)?;
        is_damaged = done.is_damaged;
        writeln!(out, "100.00%\n\nOutput\n----------------")?;
        writeln!(out, "File:     {}", name_of(target.file))?;
        let local = |time: i64| time.saturating_sub(done.offset);
        about(&mut out, done.span.map(|(first, last)| (local(first), local(last))), done.samples)?;
    }
    out.flush()?;
    drop(out);
    if is_damaged {
        let error = anyhow!("a log is damaged: its intact part was written");
        return Err(Failure::new(Exit::InvalidData, error));
    }
    Ok(completed()?)
}

/// Returns the output file of relog and its format.
fn target(options: &ParsedOptions) -> Result<Option<RelogTarget<'_>>, Failure> {
    let Some(name) = options.value("o") else { return Ok(None) };
    let target = |file, format, existing, set| RelogTarget {
        file: Path::new(file),
        format,
        local: true,
        existing,
        set,
    };
    let format = match options.value("f").map(str::to_lowercase).as_deref() {
        Some("csv") => RelogFormat::Csv,
        Some("tsv") => RelogFormat::Tsv,
        // The format is SQL:FILE!NAME; relog of Windows expects a data source instead of FILE. It always appends.
        Some("sql") => {
            let place = name.strip_prefix("SQL:").unwrap_or(name);
            let (file, set) = place.split_once('!').map_or((place, None), |(file, set)| (file, Some(set)));
            return Ok(Some(target(file, RelogFormat::Sqlite, Existing::Append, set)));
        }
        Some("bin") => return Err(no_binary()),
        Some(other) => return Err(usage(format!("-f {}: csv, tsv or sql is expected", escaped(other)))),
        // Without `-f`, relog of Windows writes a binary log.
        None => match RelogFormat::from_extension(Path::new(name)) {
            Some(format @ (RelogFormat::Csv | RelogFormat::Tsv)) => format,
            _ => return Err(no_binary()),
        },
    };
    may_write(Path::new(name), options.has("y"))?;
    Ok(Some(target(name, format, Existing::Replace, None)))
}

fn job(options: &ParsedOptions) -> Result<RelogJob, Failure> {
    let time = |name: &str| -> Result<Option<InstantArg>, Failure> {
        if !options.has(name) {
            return Ok(None);
        }
        let text = options.values(name).join(" ");
        let time = text.parse::<TimeArg>().map(InstantArg::Time).map(Some);
        time.map_err(|why| usage(format!("-{name} \"{}\": {why}", escaped(&text))))
    };
    let nth = options.value("t").map(|text| {
        let nth = text.parse::<NonZeroU64>();
        nth.map_err(|_| usage(format!("-t {}: a number of at least 1 is expected", escaped(text))))
    });
    Ok(RelogJob {
        files: options.operands.iter().map(PathBuf::from).collect(),
        machines: Vec::new(),
        paths: paths_of(options.values("c"), options.values("cf"))?,
        begin: time("b")?,
        end: time("e")?,
        pick: nth.transpose()?.map_or(Pick::All, Pick::Nth),
    })
}

/// Summary of the input logs that relog prints: their kinds, time span and number of samples.
#[derive(Default)]
struct WindowsInput {
    kinds: Vec<&'static str>,
    /// Local times of the first and the last sample of the input logs.
    span: Option<(i64, i64)>,
    samples: u64,
}

fn input_of(files: &[PathBuf]) -> Result<WindowsInput, Failure> {
    let mut input = WindowsInput::default();
    for file in files {
        File::open(file).map_err(|error| unreadable(file, error))?;
        let failed = |error| unusable(file, error);
        let log = Log::open_file(file).map_err(failed)?;
        input.kinds.push(match &log {
            Log::Blg(_) => "Binary",
            Log::Text(log) => log.header().separator.format().trim_start_matches("PDH-"),
            Log::Records(log) => log.format().name(),
            _ => "unknown",
        });
        let info = Info::read(log).map_err(failed)?;
        input.samples = input.samples.saturating_add(info.samples);
        input.span = match (input.span, info.span) {
            (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
            (known, new) => known.or(new),
        };
    }
    Ok(input)
}

fn about(out: &mut impl Write, span: Option<(i64, i64)>, samples: u64) -> io::Result<()> {
    if let Some((first, last)) = span {
        writeln!(out, "\nBegin:    {}\nEnd:      {}", us_time(first), us_time(last))?;
    }
    writeln!(out, "Samples:  {samples}\n")
}

/// Formats a time as relog prints it: `M/D/YYYY H:MM:SS`.
fn us_time(time: i64) -> String {
    let SystemTime { year, month, day, hour, minute, second, .. } = SystemTime::from_100ns(time);
    format!("{month}/{day}/{year} {hour}:{minute:02}:{second:02}")
}
