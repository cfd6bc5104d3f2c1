//! Bench of text logs and text outputs: CSV is read, JSON is written, and `get --log` does both for many counters.

use std::cell::RefCell;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use perfset_engine::NextOutcome;
use perfset_engine::path::PathQuery;
use perfset_log::Logs;
use perfset_log::text::{Header, TextLogReader, TextLogWriter, Zone};
use perfset_output::{
    CsvLines, JsonLines, MachineValues, Output, OutputSample, Record, SampleWriter, write_samples,
};

use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Number of counters in the measured text log, and number of instances of each.
const COUNTERS: usize = 10;
const INSTANCES: usize = 100;
/// Number of samples in the measured text log.
const LINES: usize = 200;

/// Measures the reading, formatting and writing of text logs, and prints three tables.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let log = TextLog::make()?;
    out(&reading(&log, rounds)?)?;
    out(&getting(&log, rounds)?)?;
    out(&writing(&log, rounds)?)
}

/// Returns the sum of the bits of numbers, by which results of the variants are compared.
fn sum(numbers: impl IntoIterator<Item = f64>) -> u64 {
    numbers.into_iter().map(f64::to_bits).fold(0, u64::wrapping_add)
}

fn reading(log: &TextLog, rounds: usize) -> Result<Report> {
    let bytes = log.bytes.as_slice();
    let sums = [split(bytes), by_csv(bytes)?, by_reader(bytes)?, by_query(&log.path)?];
    ensure!(sums.iter().all(|other| *other == sums[0] && *other != 0), "different sums: {sums:?}");
    let title =
        format!("text: CSV of {} columns x {LINES} lines is read, {} bytes", log.columns(), bytes.len());
    let comparison = Comparison::new(title, log.columns() * LINES)
        .variant("split at commas, the rest parsed by the standard library (floor)", || {
            split(black_box(bytes))
        })
        .reference("floor")
        .variant("csv crate, numbers parsed by the standard library", || {
            by_csv(black_box(bytes)).unwrap_or(0)
        })
        .reference("peer")
        .variant("TextLogReader", || by_reader(black_box(bytes)).unwrap_or(0))
        .variant("PathQuery over Logs, of the file", || by_query(&log.path).unwrap_or(0));
    Ok(comparison.run(rounds))
}

/// Splits CSV at commas and adds up the numbers, assuming that no field contains a comma and each number is in quotes.
fn split(bytes: &[u8]) -> u64 {
    let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
    let fields = text.lines().skip(1).flat_map(|line| line.split(',').skip(1));
    sum(fields.map(|field| field[1..field.len() - 1].parse().unwrap_or(0.0)))
}

fn by_csv(bytes: &[u8]) -> Result<u64> {
    let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    let mut all = 0_u64;
    while reader.read_byte_record(&mut record)? {
        for field in record.iter().skip(1) {
            let number: f64 = std::str::from_utf8(field)?.parse()?;
            all = all.wrapping_add(number.to_bits());
        }
    }
    Ok(all)
}

fn by_reader(bytes: &[u8]) -> Result<u64> {
    let mut reader = TextLogReader::new(bytes)?;
    let mut all = 0_u64;
    while let Some(line) = reader.next_line()? {
        all = all.wrapping_add(sum(line.values.iter().flatten().copied()));
    }
    Ok(all)
}

fn by_query(path: &Path) -> Result<u64> {
    let mut query = query_of_all(path)?;
    let mut all = 0_u64;
    while query.collect()? == NextOutcome::Sample {
        let values = query.values();
        all = all.wrapping_add(sum(values.iter().filter_map(|v| Some(v.value.value.as_ref().ok()?.raw))));
    }
    Ok(all)
}

fn query_of_all(path: &Path) -> Result<PathQuery> {
    let mut logs = Logs::open(&[path])?;
    let mut query = PathQuery::open(&mut logs)?;
    for path in logs.paths() {
        query.add(&mut logs, &path)?;
    }
    Ok(query)
}

/// Measures `get --log` of every counter of a text log, printed as CSV.
fn getting(log: &TextLog, rounds: usize) -> Result<Report> {
    let get = |out: &mut dyn Write| -> Result<()> {
        let mut lines = CsvLines::new(SampleWriter::buffered(out), false);
        write_samples(&mut query_of_all(&log.path)?, &mut lines, || true)?;
        Ok(())
    };
    let mut text = Vec::new();
    get(&mut text)?;
    let values = text.split(|byte| *byte == b'\n').count().saturating_sub(2);
    ensure!(values == log.columns() * LINES, "{values} values are printed");
    let title =
        format!("text: get --log of {} counters x {LINES} samples, {} bytes", log.columns(), text.len());
    let copy = RefCell::new(Vec::new());
    let comparison = Comparison::new(title, values)
        .variant("TextLogReader, and the text copied that is there already (floor)", || {
            let sum = by_reader(black_box(&log.bytes)).unwrap_or(0);
            copied(&text, &mut copy.borrow_mut()) ^ black_box(sum) ^ sum
        })
        .reference("floor")
        .variant("PathQuery over Logs, CsvLines", || {
            let mut len = Length(0);
            get(&mut len).map_or(0, |()| len.0)
        });
    let mut len = Length(0);
    get(&mut len)?;
    ensure!(len.0 == copied(&text, &mut copy.borrow_mut()), "{} bytes are printed", len.0);
    Ok(comparison.run(rounds))
}

/// Measures the writing of the values of one sample as JSON lines.
fn writing(log: &TextLog, rounds: usize) -> Result<Report> {
    let mut query = query_of_all(&log.path)?;
    query.collect()?;
    query.collect()?;
    let values = query.values();
    let machines = [MachineValues::new(&values).of_query(&query)];
    let sample = OutputSample::new(query.snapshot().clocks(), &machines);
    let records: Vec<_> = values.iter().map(|v| Record::new(query.snapshot().clocks(), v)).collect();
    let by_serde = |text: &mut Vec<u8>| -> Result<u64> {
        text.clear();
        for record in &records {
            serde_json::to_writer(&mut *text, record)?;
            text.push(b'\n');
        }
        Ok(text.len() as u64)
    };
    let by_output = |text: &mut Vec<u8>| -> Result<u64> {
        text.clear();
        let mut lines = JsonLines::new(SampleWriter::buffered(&mut *text));
        lines.sample(&sample)?;
        lines.finish()?;
        drop(lines);
        Ok(text.len() as u64)
    };
    let (mut text, mut again) = (Vec::new(), Vec::new());
    by_serde(&mut text)?;
    by_output(&mut again)?;
    ensure!(text == again, "serde_json and the output write different texts");
    let title = format!("text: {} values as JSON lines, {} bytes", values.len(), text.len());
    let buffer = RefCell::new(again);
    let comparison = Comparison::new(title, values.len())
        .variant("the text copied that is there already (floor)", || copied(&text, &mut buffer.borrow_mut()))
        .reference("floor")
        .variant("serde_json::to_writer, of records that are there already (peer)", || {
            by_serde(&mut buffer.borrow_mut()).unwrap_or(0)
        })
        .reference("peer")
        .variant("JsonLines", || by_output(&mut buffer.borrow_mut()).unwrap_or(0));
    Ok(comparison.run(rounds))
}

/// Copies a text output line by line, and returns its length.
fn copied(text: &[u8], into: &mut Vec<u8>) -> u64 {
    into.clear();
    black_box(text).split_inclusive(|byte| *byte == b'\n').for_each(|line| into.extend_from_slice(line));
    black_box(&*into).len() as u64
}

/// Writer that keeps only the number of bytes of a text output.
#[derive(Debug)]
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Log of many columns in PDH-CSV, in a file that is removed on drop.
#[derive(Debug)]
struct TextLog {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl TextLog {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("perfset-bench-{}.csv", std::process::id()));
        let column = |at| format!(r"\\HOST\Counting(inst{})\Counter {}", at / COUNTERS, at % COUNTERS);
        let header = Header {
            zone: Some(Zone::utc()),
            ..Header::new((0..COUNTERS * INSTANCES).map(column).collect())
        };
        let mut writer = TextLogWriter::new(File::create(&path)?, &header)?;
        let mut state = 1_u64;
        for line in 0..LINES {
            let numbers = (0..COUNTERS * INSTANCES).map(|column| {
                // Counts, shares, and numbers with all digits, as logs have them.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let number = (state >> 33) as f64;
                Some(match column % 3 {
                    0 => number,
                    1 => (number % 1_000.0) / 10.0,
                    _ => number / 3.0,
                })
            });
            writer.line(130_000_000_000_000_000 + line as i64 * 10_000_000, numbers)?;
        }
        let mut log = Self { path, bytes: Vec::new() };
        File::open(&log.path).and_then(|mut file| file.read_to_end(&mut log.bytes)).context("the log")?;
        Ok(log)
    }

    fn columns(&self) -> usize {
        COUNTERS * INSTANCES
    }
}

impl Drop for TextLog {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // else the system does
    }
}
