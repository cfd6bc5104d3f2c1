//! The program of the guide "Write an output": values of a log in InfluxDB's line protocol.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use perfset::log::Logs;
use perfset::output::{Output, OutputSample, write_samples};
use perfset::path::PathQuery;

/// Writes values as lines `COUNTERSET,instance=NAME COUNTER=VALUE NANOSECONDS`, with a field `mark` if there is one.
struct LineProtocol<W> {
    out: W,
    /// Number of values that have no line.
    missing: u64,
}

/// Escapes the characters that separate the parts of a line.
fn escaped(name: &str, separators: &[char]) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            // Other users can choose names: a line break would begin another line, and a backslash would hide the
            // next separator.
            c if c.is_control() => text.push('?'),
            '\\' => text.push('/'),
            c if separators.contains(&c) => text.extend(['\\', c]),
            c => text.push(c),
        }
    }
    text
}

const OF_MEASUREMENT: [char; 2] = [',', ' '];
const OF_TAG: [char; 3] = [',', '=', ' '];

impl<W: Write> Output for LineProtocol<W> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let ns = sample.clocks.unix_ms().saturating_mul(1_000_000);
        for v in sample.values() {
            let number = v.value.value.as_ref().map(|number| number.nocap()).ok();
            let Some(number) = number.filter(|number| number.is_finite()) else {
                self.missing = self.missing.saturating_add(1);
                continue;
            };
            let path = v.own_path(None);
            write!(self.out, "{}", escaped(&path.counterset, &OF_MEASUREMENT))?;
            if let Some(instance) = &path.instance {
                write!(self.out, ",instance={}", escaped(instance, &OF_TAG))?;
            }
            write!(self.out, " {}={number}", escaped(&path.counter, &OF_TAG))?;
            if let Some(mark) = v.value.mark.and_then(|mark| mark.keyword()) {
                write!(self.out, ",mark=\"{mark}\"")?;
            }
            writeln!(self.out, " {ns}")?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn warnings(&self) -> Vec<String> {
        match self.missing {
            0 => Vec::new(),
            missing => vec![format!("values without a line: {missing}; a line cannot contain the reason")],
        }
    }
}

/// Writes the values of a path in a log, and warnings to `err`.
pub fn run(mut log: Logs, path: &str, out: impl Write, err: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut query = PathQuery::open(&mut log)?;
    query.add(&mut log, &path.parse()?)?;
    let mut output = LineProtocol { out, missing: 0 };
    // A log is read to its end, without a pause between two samples.
    let continues = || true;
    write_samples(&mut query, &mut output, continues)?;
    for warning in output.warnings() {
        writeln!(err, "warning: {warning}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(path)) = (args.next(), args.next()) else {
        return Err("usage: line_protocol_output FILE PATH".into());
    };
    run(Logs::open(&[Path::new(&file)])?, &path, io::stdout().lock(), &mut io::stderr().lock())
}
