//! Bench of a binary log of Windows: every raw value, one counter, and formatted values, beside reading the file
//! alone. Writing the log as CSV is measured beside printing the same numbers.

use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use perfset_core::clock::SystemTime;
use perfset_core::formula::format;
use perfset_core::{Identity, InstanceId, Name, Sample};
use perfset_engine::path::PathQuery;
use perfset_engine::{NextOutcome, RecordedSample, Source, Window};
use perfset_log::Logs;
use perfset_log::blg::{BlgReader, CounterBlock, Record, Sample as LogSample};
use perfset_log::text::{Header, TextLogWriter, Zone};
use perfset_output::{PdhCsv, PdhCsvColumns, PdhCsvOptions, SampleWriter, learn_series, write_samples};

use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Length of the measured log in bytes, for about 10 million values.
const LEN: usize = 525 << 20;
/// Goal for reading the binary log, in ns a KiB: 200 MB a second.
const NS_A_KIB: f64 = 1_024.0 / 0.2;

/// Measures the reading of a binary log, and its conversion to CSV.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let log = LongLog::make()?;
    out(&report(&log, rounds)?)?;
    out(&relog_report(&log, rounds)?)
}

fn relog_report(log: &LongLog, rounds: usize) -> Result<Report> {
    let mut text = Text::default();
    relog(&log.path, &mut text)?;
    let printed = Printed::of(&text, &log.path)?;
    let (mut before, mut again) = (Text::default(), Text::default());
    printed.print_as_before(&log.path, &mut before)?;
    printed.print(&log.path, &mut again, line)?;
    ensure!(text.bytes == again.bytes, "the same numbers are printed in another way");
    ensure!(text.bytes == before.bytes, "the same numbers were printed in another way before");
    drop((text, before, again));
    let title = format!("log: {} values as PDH-CSV", log.samples * log.values_a_sample);
    let comparison = Comparison::new(title, log.samples * log.values_a_sample)
        .variant("blg::BlgReader, every raw value, and the same numbers printed by write! (floor)", || {
            let mut len = Length::default();
            printed.print_as_before(&log.path, &mut len).map_or(0, |()| len.0)
        })
        .reference("floor")
        .variant("blg::BlgReader, every raw value, and the same numbers by TextLogWriter (new floor)", || {
            let mut len = Length::default();
            printed.print(&log.path, &mut len, line).map_or(0, |()| len.0)
        })
        .reference("new floor")
        .variant("relog: learn_series, write_samples", || {
            let mut len = Length::default();
            relog(&log.path, &mut len).map_or(0, |()| len.0)
        })
        .goal("floor", 2.0);
    Ok(comparison.run(rounds))
}

/// Writes the measured log as PDH-CSV, as `relog` does.
fn relog(path: &Path, out: impl Write) -> Result<()> {
    let logs = Logs::open(&[path])?;
    let options = PdhCsvOptions { is_learned: true, ..PdhCsvOptions::default() };
    let mut output = PdhCsv::new(SampleWriter::buffered(out), options, PdhCsvColumns::of_machines());
    learn_series(&mut query_of_all(&logs)?, &mut output)?;
    // A log is not waited for: the next sample is there at once.
    write_samples(&mut query_of_all(&logs)?, &mut output, || true)?;
    Ok(())
}

/// Writer that keeps all text of a converted log in memory.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
}

impl Write for &mut Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writer that keeps only the length of a converted log's text.
#[derive(Debug, Default)]
struct Length(u64);

impl Write for &mut Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Columns and numbers of a text log, which are printed again without pairing and formulas.
#[derive(Debug)]
struct Printed {
    paths: Vec<String>,
    /// Time and numbers of each line of the text log; the number of a column without a value is NaN.
    lines: Vec<(i64, Vec<f64>)>,
}

impl Printed {
    fn of(text: &Text, path: &Path) -> Result<Self> {
        let mut lines = std::str::from_utf8(&text.bytes)?.lines();
        let fields = |line: &str| -> Vec<String> {
            line.trim_matches('"').split("\",\"").map(str::to_owned).collect()
        };
        let paths = fields(lines.next().context("no head")?).split_off(1);
        let offset = Logs::open(&[path])?.offset();
        let mut log = BlgReader::open(File::open(path)?)?;
        let mut numbers = Vec::new();
        while let Some(record) = log.next_record()? {
            let Record::Sample(sample) = record else { continue };
            let line = fields(lines.next().context("a line is missing")?);
            let number = |field: &String| field.parse().unwrap_or(f64::NAN);
            numbers.push((sample.time + offset, line.iter().skip(1).map(number).collect()));
        }
        Ok(Self { paths, lines: numbers })
    }

    /// Decodes the binary log and prints the stored numbers of the text log: nothing is paired or computed.
    fn print(
        &self,
        path: &Path,
        out: impl Write,
        mut line: impl FnMut(&mut TextLogWriter<SampleWriter<'_>>, i64, &[f64]) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut log = BlgReader::open(File::open(path)?)?;
        let header = Header { zone: Some(Zone::utc()), ..Header::new(self.paths.clone()) };
        let mut writer = TextLogWriter::new(SampleWriter::buffered(out), &header)?;
        let mut sum = Sum::default();
        let mut lines = self.lines.iter();
        while let Some(record) = log.next_record()? {
            let Record::Sample(sample) = record else { continue };
            add_all(&sample, &mut sum)?;
            let (time, numbers) = lines.next().context("a line is missing")?;
            line(&mut writer, *time, numbers)?;
            writer.get_mut().end_sample()?;
        }
        black_box(sum);
        Ok(writer.get_mut().finish()?)
    }

    /// Decodes the binary log and prints the stored numbers with the standard library alone, as at commit b2888f3.
    fn print_as_before(&self, path: &Path, out: impl Write) -> Result<()> {
        let mut line = String::new();
        self.print(path, out, |writer, time, numbers| {
            let SystemTime { year, month, day, hour, minute, second, millisecond, .. } =
                SystemTime::from_100ns(time);
            line.clear();
            let _ = write!(
                line,
                "\"{month:02}/{day:02}/{year:04} {hour:02}:{minute:02}:{second:02}.{millisecond:03}\""
            ); // a String takes everything
            for number in numbers {
                line.push(',');
                let _ = match number.is_nan() {
                    true => write!(line, "\" \""),
                    false => write!(line, "\"{number}\""),
                };
            }
            line.push_str("\r\n");
            writer.get_mut().push(&line);
            Ok(())
        })
    }
}

/// Writes a line of the text log with the current `TextLogWriter`.
fn line(writer: &mut TextLogWriter<SampleWriter<'_>>, time: i64, numbers: &[f64]) -> std::io::Result<()> {
    writer.line(time, numbers.iter().map(|number| (!number.is_nan()).then_some(*number)))
}

fn query_of_all(logs: &Logs) -> Result<PathQuery> {
    let mut logs = logs.clone();
    let mut query = PathQuery::open(&mut logs)?;
    for path in logs.paths() {
        query.add(&mut logs, &path)?;
    }
    Ok(query)
}

fn report(log: &LongLog, rounds: usize) -> Result<Report> {
    let sum = every_value(&log.path)?;
    ensure!(sum.values == log.samples * log.values_a_sample, "{sum:?} of {} samples", log.samples);
    ensure!(one_counter(&log.path)?.values == log.samples, "one counter is not in every sample");
    // From the last sample of each repetition to the first of the next, time goes back: those have no value.
    let of_series = series(&log.path)?.values;
    ensure!(of_series > log.samples / 100 * 99, "{of_series} formatted values of {} samples", log.samples);
    ensure!(query(&log.path)?.values >= of_series * log.values_a_sample, "a counter is missing");
    let title = format!(
        "log: {} MiB, {} samples of {} values, repeated from a log of Windows",
        log.len >> 20,
        log.samples,
        log.values_a_sample
    );
    let mut buffer = Vec::new();
    let comparison = Comparison::new(title, log.len >> 10)
        .per("KiB")
        .variant("the file into one buffer (floor)", || {
            buffer.clear();
            let read = File::open(&log.path).and_then(|mut file| file.read_to_end(&mut buffer));
            black_box(read.unwrap_or(0)) as u64
        })
        .reference("floor")
        .variant("blg::BlgReader, every raw value", || every_value(&log.path).map_or(0, |sum| sum.sum))
        .ns_goal(NS_A_KIB)
        .variant("blg::BlgReader, one counter", || one_counter(&log.path).map_or(0, |sum| sum.sum))
        .goal("floor", 1.3)
        .variant("Logs::series, one counter formatted", || series(&log.path).map_or(0, |sum| sum.sum))
        .goal("floor", 1.3)
        .variant("PathQuery over Logs, every counter formatted", || query(&log.path).map_or(0, |sum| sum.sum))
        .goal("floor", 6.0);
    Ok(comparison.run(rounds))
}

#[derive(Debug, Default)]
struct Sum {
    values: usize,
    sum: u64,
}

impl Sum {
    fn add(&mut self, first: i64) {
        self.values += 1;
        self.sum = self.sum.wrapping_add_signed(first);
    }
}

fn every_value(path: &Path) -> Result<Sum> {
    let mut log = BlgReader::open(File::open(path)?)?;
    let mut sum = Sum::default();
    while let Some(record) = log.next_record()? {
        let Record::Sample(sample) = record else { continue };
        add_all(&sample, &mut sum)?;
    }
    ensure!(log.damages().is_empty(), "{:?}", log.damages());
    Ok(sum)
}

fn add_all(sample: &LogSample<'_>, sum: &mut Sum) -> Result<()> {
    for block in sample.blocks() {
        match block? {
            CounterBlock::Counter(raw) => sum.add(raw.first),
            CounterBlock::Instances(instances) => instances.iter().for_each(|(_, raw)| sum.add(raw.first)),
            _ => {}
        }
    }
    Ok(())
}

fn one_counter(path: &Path) -> Result<Sum> {
    let mut log = BlgReader::open(File::open(path)?)?;
    let mut sum = Sum::default();
    while let Some(record) = log.next_record()? {
        let Record::Sample(sample) = record else { continue };
        if let CounterBlock::Counter(raw) = sample.block(3)? {
            sum.add(raw.first);
        }
    }
    Ok(sum)
}

/// Reads one counter of the log with `Logs::series`, formats its values, and adds them up.
fn series(path: &Path) -> Result<Sum> {
    let mut logs = Logs::open(&[path])?;
    let machine = logs.machine().clone();
    let sets = machine.countersets().into_iter().filter_map(|guid| machine.counterset(&guid).ok());
    let set = sets.into_iter().find(|set| set.name == "PhysicalDisk").context("no PhysicalDisk")?;
    let counter = set.counters.iter().find(|counter| counter.name.as_deref() == Some(COUNTER));
    let name: Vec<u8> = "0 C:\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let identity = Identity {
        counterset: set.guid,
        instance: Name::until_nul(&name),
        instance_id: InstanceId(0),
        birth: None,
    };
    let mut sum = Sum::default();
    let mut before: Option<Sample<'_>> = None;
    let mut each = |batch: &[RecordedSample<'_>]| {
        for past in batch {
            let now = past.sample.as_ref().ok().map(|sample| Sample { identity, ..*sample });
            if let Some(Ok(value)) = now.as_ref().map(|now| format(before.as_ref(), now)) {
                sum.add(value.raw.to_bits() as i64);
            }
            before = now;
        }
        ControlFlow::Continue(())
    };
    logs.series(counter.context("no such counter")?.id, &identity, Window::default(), &mut each)?;
    Ok(sum)
}

const COUNTER: &str = "Avg. Disk Queue Length";

/// Reads and formats every counter of the log with a query, and adds up the values.
fn query(path: &Path) -> Result<Sum> {
    let mut query = query_of_all(&Logs::open(&[path])?)?;
    let mut sum = Sum::default();
    while query.collect()? == NextOutcome::Sample {
        for value in query.values().iter().filter_map(|v| v.value.value.as_ref().ok()) {
            sum.add(value.raw.to_bits() as i64);
        }
    }
    Ok(sum)
}

/// Long binary log in a temporary file, which is removed on drop.
#[derive(Debug)]
pub struct LongLog {
    /// Path of the long log's file.
    pub path: PathBuf,
    /// Length of the long log's file, in bytes.
    pub len: usize,
    samples: usize,
    values_a_sample: usize,
}

impl LongLog {
    /// Creates the file of the long log by repeating the samples of a real log of Windows.
    pub fn make() -> Result<Self> {
        const BUFFER: usize = 64 << 10;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/logs/BasicPerfCounters.blg");
        let real = std::fs::read(&file).with_context(|| file.display().to_string())?;
        let path = std::env::temp_dir().join(format!("perfset-bench-{}.blg", std::process::id()));
        let mut log = Self { path, len: 2 * BUFFER, samples: 0, values_a_sample: 10 };
        let mut out = BufWriter::new(File::create(&log.path)?);
        // The header of the log and the counter list, then only samples.
        out.write_all(&real[..2 * BUFFER])?;
        while log.len < LEN {
            let samples = &real[2 * BUFFER..];
            out.write_all(samples)?;
            log.len += samples.len();
        }
        out.flush()?;
        drop(out);
        let mut reader = BlgReader::open(File::open(&log.path)?)?;
        while let Some(record) = reader.next_record()? {
            log.samples += usize::from(matches!(record, Record::Sample(_)));
        }
        Ok(log)
    }
}

impl Drop for LongLog {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // else the system does
    }
}
