//! Mode `typeperf`: options and output of the Windows tool of that name.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use perfset::clock::UNIX_EPOCH_100NS;
use perfset::log::text::{Separator, Zone};
use perfset::output::text::escaped;
use perfset::output::{
    MachineValues, Output, OutputSample, PathNames, PdhCsv, PdhCsvColumns, PdhCsvOptions, SampleWriter,
};
use perfset::path::{BindError, CounterPath, ExpandOptions, PathQuery, expand};
use perfset::{Attributes, Machine};

use super::options::{ArgCount, ParsedOptions};
use super::{completed, may_write, no_binary, usage};
use crate::destination::create;
use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;

use crate::bpf_capabilities;
use crate::pace::Pace;
use crate::paths::paths_of;
use crate::printer::warn;
use crate::resolve::{counterset, countersets};
use crate::samples::{source_failed, unbound};
use crate::terminal;

const OPTIONS: &[(&str, ArgCount)] = &[
    ("?", ArgCount::None),
    ("cf", ArgCount::One),
    ("config", ArgCount::One),
    ("f", ArgCount::One),
    ("o", ArgCount::One),
    ("q", ArgCount::Perhaps),
    ("qx", ArgCount::Perhaps),
    ("s", ArgCount::One),
    ("sc", ArgCount::One),
    ("si", ArgCount::One),
    ("y", ArgCount::None),
];

const HELP: &str = "\
Writes performance counters of this machine to the terminal or to a log.

typeperf PATH [PATH ...] [options]     options with / or -
typeperf -cf FILE [options]
typeperf -q [OBJECT] [options]
typeperf -qx [OBJECT] [options]

  -?                  this text
  -cf FILE            read counter paths from this file, one per line
  -config FILE        take arguments from this file
  -f CSV|TSV          the format; BIN and SQL are not written
  -o FILE             the file to write [default: standard output]
  -q [OBJECT]         list counters without their instances
  -qx [OBJECT]        list counters with their instances
  -s COMPUTER         the machine to read, if a path names none
  -sc N               number of samples [default: until Ctrl+C]
  -si [[HH:]MM:]SS    interval between two samples [default: 1 second]
  -y                  overwrite an existing file

perfset get --help shows more.";

pub fn run(args: Vec<String>) -> Result<(), Failure> {
    let options = ParsedOptions::parse(args, OPTIONS)?;
    if options.has("?") {
        writeln!(io::stdout(), "{HELP}")?;
        return Ok(());
    }
    let separator = match options.value("f").map(str::to_lowercase).as_deref() {
        None | Some("csv") => Separator::Comma,
        Some("tsv") => Separator::Tab,
        Some("bin") => return Err(no_binary()),
        Some("sql") => return Err(usage("-f SQL: relog writes SQL logs, typeperf does not")),
        Some(other) => return Err(usage(format!("-f {}: csv or tsv is expected", escaped(other)))),
    };
    let file = options.value("o").map(Path::new);
    if let Some(file) = file {
        may_write(file, options.has("y"))?;
    }
    let machine = || perfset::machine(options.value("s")).map_err(source_failed);
    for (name, with_instances) in [("qx", true), ("q", false)] {
        if options.has(name) {
            let machine = machine()?;
            let object = options.value(name).or(options.operands.first().map(String::as_str));
            let mut out = output(file)?;
            list(&machine, object, with_instances, &mut out)?;
            out.flush()?;
            drop(out);
            writeln!(io::stdout())?;
            return Ok(completed()?);
        }
    }
    let paths = paths_of(&options.operands, options.values("cf"))?;
    if paths.is_empty() {
        return Err(usage("which counters? typeperf PATH ...; -? shows all options"));
    }
    let interval = options.value("si").map_or(Ok(Duration::from_secs(1)), interval)?;
    let count = options.value("sc").map(|text| {
        let count = text.parse::<u64>().ok().filter(|count| *count > 0);
        count.ok_or_else(|| usage(format!("-sc {}: a number of at least 1 is expected", escaped(text))))
    });
    let count = count.transpose()?;
    bpf_capabilities::settle_for(&paths, count);
    record(machine()?, &paths, separator, file, interval, count)
}

/// Writes samples of typeperf until the requested number is reached, or until Ctrl+C.
fn record(
    machine: Machine,
    paths: &[CounterPath],
    separator: Separator,
    file: Option<&Path>,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), Failure> {
    let asked = QuerySource::Machine(machine);
    let mut source = asked.source();
    let mut query = PathQuery::open(&mut *source).map_err(source_failed)?;
    for path in paths {
        if let Some(name) = path.machine.as_deref() {
            perfset::is_local(Some(name)).map_err(source_failed)?;
        }
        query.add(&mut *source, path).map_err(|error| unbound(&asked, path, error))?;
    }
    // The first collection is the start of all rates, and its instances determine the columns. It is not written.
    query.collect().map_err(source_failed)?;
    let options = PdhCsvOptions {
        separator,
        zone: local_zone(),
        // The header on standard output has no time zone.
        names_zone: file.is_some(),
        decimals: file.is_none().then_some(6),
        ..PdhCsvOptions::default()
    };
    let mut out = output(file)?;
    if file.is_none() {
        write!(out, "\r\n")?;
    }
    // Each line is flushed, and the header before the first pause: readers of a pipe follow the samples.
    let columns = PdhCsvColumns::of_paths(perfset::own_name(), PathNames::Pdh);
    let mut log = PdhCsv::new(SampleWriter::live(out), options, columns);
    log.learn(&OutputSample::new(query.snapshot().clocks(), &[MachineValues::new(&query.values())]));
    log.write_head()?;
    let mut pace = Pace::new(interval, count).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    while pace.wait() {
        query.collect().map_err(source_failed)?;
        log.sample(&OutputSample::new(query.snapshot().clocks(), &[MachineValues::new(&query.values())]))?;
    }
    log.finish()?;
    if log.without_column() > 0 {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(
            io::stderr(),
            "warning: {} values have no column: their instances came later or had another number (#1) at first",
            log.without_column()
        );
    }
    warn(&log.warnings());
    drop(log);
    writeln!(io::stdout(), "\nExiting, please wait...")?;
    Ok(completed()?)
}

/// Returns the local time zone with its current UTC offset, because a log contains only one offset.
fn local_zone() -> Zone {
    let now = Timestamp::from_nanosecond(
        i128::from(perfset::time_100ns().saturating_sub(UNIX_EPOCH_100NS)).saturating_mul(100),
    );
    let zone = TimeZone::system();
    let offset = now.map_or(Offset::UTC, |now| zone.to_offset(now));
    let name = zone.iana_name().unwrap_or("local time").to_owned();
    Zone { name, minutes: offset.seconds().wrapping_div(60).saturating_neg() }
}

fn output(file: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    let Some(file) = file else { return Ok(Box::new(BufWriter::new(terminal::stdout()))) };
    create(file)
}

/// Parses the interval between samples of typeperf, in the form `[[hh:]mm:]ss`.
fn interval(text: &str) -> Result<Duration, Failure> {
    let refused = || usage(format!("-si {}: [[hh:]mm:]ss is expected", escaped(text)));
    let mut seconds = 0_u64;
    for part in text.split(':') {
        let part: u64 = part.parse().map_err(|_| refused())?;
        seconds = seconds.saturating_mul(60).saturating_add(part);
    }
    let parts = text.split(':').count();
    match seconds {
        1..=86_400 if parts <= 3 => Ok(Duration::from_secs(seconds)),
        _ => Err(refused()),
    }
}

/// Prints the counters of one object, or of all objects, as typeperf does.
fn list(
    machine: &Machine,
    object: Option<&str>,
    with_instances: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let asked = QuerySource::Machine(machine.clone());
    let sets = match object {
        Some(name) => vec![counterset(&asked, name)?],
        None => countersets(machine),
    };
    let mut source = machine.clone();
    for set in sets {
        for counter in &*set.counters {
            let Some(name) = counter.name.as_deref() else { continue };
            if counter.attributes.contains(Attributes::NO_DISPLAYABLE) {
                continue;
            }
            let path = CounterPath {
                machine: None,
                counterset: set.name.to_string(),
                instance: (set.instance_type.is_multiple()).then(|| "*".to_owned()),
                counter: name.to_owned(),
            };
            if !with_instances {
                writeln!(out, "{}", escaped(&path.to_string()))?;
                continue;
            }
            match expand(&mut source, &path, ExpandOptions::default()) {
                Ok(paths) => {
                    for path in paths {
                        writeln!(out, "{}", escaped(&path.to_string()))?;
                    }
                }
                // The object has no instances now.
                Err(BindError::NoInstances { .. } | BindError::NoInstance { .. }) => break,
                Err(error) => return Err(Failure::new(Exit::SourceFailed, error)),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        for (text, seconds) in [("1", 1), ("90", 90), ("1:30", 90), ("01:00:00", 3_600), ("24:00:00", 86_400)]
        {
            assert_eq!(interval(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        for bad in ["", "0", "x", "1:2:3:4", "24:00:01", "-1"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
