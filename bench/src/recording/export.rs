//! Bench of the export as Parquet: its cost and its bytes, beside the parquet crate that writes the same columns.

use std::cell::{Cell, RefCell};
use std::env;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail, ensure};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use perfset_core::v2::{Block, Body, Values};
use perfset_engine::path::PathQuery;
use perfset_engine::{NextOutcome, Snapshot, Source};
use perfset_log::Logs;
use perfset_log::recording::{Recording, seal};
use perfset_parquet::{ExportOptions, Exporter, SampleOrigin, export};

use super::folder::{TemporaryFolder, record};
use super::parquet::SetRows;
use super::synthetic::{Size, SyntheticMachine};
use super::{FEW_ROUNDS, Hour, TICKS, samples};
use crate::measure::{Comparison, Report};
use crate::{Options, Out, command};

/// Goal: the maximum cost of an export, in multiples of the parquet crate's.
const COST_GOAL: f64 = 1.4;
const SIZE_GOAL: f64 = 1.05;

/// Columns of exported files that the measured layout lacks: clocks for exact formulas, and data for the comparison
/// of samples.
const ADDED: [&str; 7] =
    ["interval_ns", "perf_time", "perf_freq", "time_100ns", "object_time", "object_freq", "restarted"];

/// Environment variable with the directory of a recording, which is exported instead of a minute of this machine.
const VARIABLE: &str = "PERFSET_RECORDING";
/// Number of recorded samples of this machine, one a second.
const OF_THIS_MACHINE: u32 = 60;

/// Measures exports of synthetic data, and of a recording of this machine.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    let rounds = options.rounds.min(FEW_ROUNDS);
    let recorded = TemporaryFolder::new("export-recording")?;
    record(&SyntheticMachine::new(Size::Whole), recorded.path(), samples(1), |journal| {
        seal(journal)?;
        Ok(())
    })?;
    out(&cost("the synthetic machine", &synthetic()?, recorded.path(), rounds)?)?;
    let program = command::path();
    if let Some(folder) = env::var_os(VARIABLE).map(PathBuf::from) {
        out(&of_recording("a recording", &folder, rounds)?)?;
    } else if program.exists() {
        let folder = TemporaryFolder::new("export-machine")?;
        let mut recorder = Command::new(program);
        recorder.arg("record").arg("--dir").arg(folder.path()).arg("1").arg(OF_THIS_MACHINE.to_string());
        let output = recorder.stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out(&of_recording("this machine", folder.path(), rounds)?)?;
    }
    let hour = Hour::record()?;
    out(&ExportedBytes::of(hour.path())?)
}

/// Returns samples of the synthetic machine, for an export.
fn synthetic() -> Result<Vec<Snapshot>> {
    let machine = SyntheticMachine::new(Size::Whole);
    let mut query = machine.query();
    let mut snapshots = Vec::new();
    for _ in 0..TICKS {
        let mut snapshot = Snapshot::default();
        machine.collect(&mut query, &mut snapshot)?;
        snapshots.push(snapshot);
    }
    Ok(snapshots)
}

/// Measures the export of a recording, and of its samples in memory.
fn of_recording(what: &str, folder: &Path, rounds: usize) -> Result<Report> {
    let mut logs = Logs::open(&[folder.to_owned()])?;
    let mut query = PathQuery::from_handle(logs.open()?);
    for path in logs.paths() {
        query.add(&mut logs, &path)?;
    }
    let mut snapshots = Vec::new();
    while query.collect()? == NextOutcome::Sample {
        snapshots.push(query.snapshot().clone());
    }
    cost(what, &snapshots, folder, rounds)
}

/// Returns the number of values in all samples.
fn values(snapshots: &[Snapshot]) -> Result<usize> {
    let mut values = 0;
    let numbers = |cells: Values<'_>| cells.iter().filter(|value| value.number().is_some()).count();
    for snapshot in snapshots {
        for result in Block::parse(snapshot.block())?.results() {
            values += match result?.body {
                Body::Error => 0,
                Body::SingleCounter(value) => usize::from(value.number().is_some()),
                Body::MultipleCounters(_, cells) => numbers(cells),
                Body::MultipleInstances(table) | Body::Counterset(_, table) => {
                    table.rows().map_while(Result::ok).map(|row| numbers(row.values())).sum()
                }
            };
        }
    }
    Ok(values)
}

/// Measures the export of samples that are in memory, and of their recording.
fn cost(what: &str, snapshots: &[Snapshot], recorded: &Path, rounds: usize) -> Result<Report> {
    let folder = TemporaryFolder::new("export")?;
    let lake = folder.path().join("first");
    write(snapshots, &lake)?;
    let mut files = Vec::new();
    for path in files_below(&lake)? {
        files.push(RawFile::read(&path, &[])?);
    }
    let peer = TemporaryFolder::new("export-peer")?;
    let logs = Logs::open(&[recorded.to_owned()])?;
    // A directory for each round: ext4 goes around inodes that were removed in the last seconds.
    let rounds_made = Cell::new(0_u32);
    let next = || rounds_made.set(rounds_made.get().wrapping_add(1));
    let lake = || folder.path().join(rounds_made.get().to_string());
    let failures: RefCell<Vec<Error>> = RefCell::default();
    let done = |result: Result<u64>| {
        result.unwrap_or_else(|error| {
            failures.borrow_mut().push(error);
            0
        })
    };
    let title = format!("export: {} samples of {what}, {} files", snapshots.len(), files.len());
    let report = Comparison::new(title, values(snapshots)?)
        .variant("parquet crate, the same columns in memory (peer)", || {
            done(files.iter().map(|file| file.write(peer.path())).sum())
        })
        .reference("parquet")
        .variant("Exporter, samples in memory", || done(write(snapshots, &lake())))
        .before(next)
        .goal("parquet", COST_GOAL)
        .variant("export of the recording, reading included", || {
            let exported = export(&logs, lake(), ExportOptions::default(), || {});
            done(exported.map(|exported| exported.rows).map_err(Error::from))
        })
        .before(next)
        .run(rounds);
    failures.into_inner().pop().map_or(Ok(report), Err)
}

/// Exports samples as Parquet, and returns the number of rows.
fn write(snapshots: &[Snapshot], lake: &Path) -> Result<u64> {
    let mut exporter = Exporter::new(lake, "synthetic", ExportOptions::default())?;
    let origin = SampleOrigin { run: "1".to_owned(), boot: "01234567".to_owned(), sequence: 0 };
    for snapshot in snapshots {
        exporter.sample(snapshot, &origin)?;
    }
    Ok(exporter.finish()?.rows)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            // The other file is the lock of the host.
            files.push(path);
        }
    }
    Ok(files)
}

/// Column of a Parquet row group, with its definition levels.
#[derive(Debug)]
enum RawColumn {
    Ints(RawValues<i64>),
    Ids(RawValues<i32>),
    Doubles(RawValues<f64>),
    Texts(RawValues<ByteArray>),
}

/// Values of a Parquet column, and the definition levels that mark rows without one.
#[derive(Debug)]
struct RawValues<T> {
    values: Vec<T>,
    levels: Vec<i16>,
    repeated: Vec<i16>,
}

impl<T> RawValues<T> {
    fn read<D: DataType<T = T>>(mut column: ColumnReaderImpl<D>) -> Result<Self> {
        let (mut values, mut levels, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let read = column.read_records(1 << 16, Some(&mut levels), Some(&mut repeated), &mut values)?;
            if read.0 == 0 {
                return Ok(Self { values, levels, repeated });
            }
        }
    }

    fn write<D: DataType<T = T>>(&self, column: &mut ColumnWriterImpl<'_, D>) -> Result<()> {
        let some = |levels: &'_ Vec<i16>| !levels.is_empty();
        let levels = some(&self.levels).then_some(&*self.levels);
        let repeated = some(&self.repeated).then_some(&*self.repeated);
        column.write_batch(&self.values, levels, repeated)?;
        Ok(())
    }
}

/// Parquet file of an export in memory, ready to be written by the parquet crate alone.
#[derive(Debug)]
struct RawFile {
    name: String,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    groups: Vec<Vec<RawColumn>>,
}

impl RawFile {
    /// Reads an exported file, except for some columns.
    fn read(path: &Path, left_out: &[&str]) -> Result<Self> {
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let metadata = reader.metadata().file_metadata();
        let descriptor = metadata.schema_descr();
        let is_kept = |name: &str| !left_out.contains(&name);
        let fields = descriptor.root_schema().get_fields().iter().filter(|field| is_kept(field.name()));
        let schema = Type::group_type_builder("schema").with_fields(fields.cloned().collect()).build()?;
        let mut groups = Vec::new();
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            let mut columns = Vec::new();
            let has_column = |column: &usize| is_kept(descriptor.get_column_root(*column).name());
            for column in (0..group.num_columns()).filter(has_column) {
                columns.push(match group.get_column_reader(column)? {
                    ColumnReader::Int64ColumnReader(column) => RawColumn::Ints(RawValues::read(column)?),
                    ColumnReader::Int32ColumnReader(column) => RawColumn::Ids(RawValues::read(column)?),
                    ColumnReader::DoubleColumnReader(column) => RawColumn::Doubles(RawValues::read(column)?),
                    ColumnReader::ByteArrayColumnReader(column) => RawColumn::Texts(RawValues::read(column)?),
                    _ => bail!("{}: a column of another type", path.display()),
                });
            }
            groups.push(columns);
        }
        // As the export has them.
        let texts: [&[&str]; 4] = [
            &["instance"],
            &["missing", "list", "element", "counter"],
            &["missing", "list", "element", "reason"],
            &["restarted", "list", "element"],
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_data_page_size_limit(1 << 20)
            .set_data_page_row_count_limit(1 << 17)
            .set_max_row_group_row_count(None)
            .set_key_value_metadata(metadata.key_value_metadata().cloned());
        let properties = texts.iter().fold(properties, |properties, parts| {
            let path = ColumnPath::new(parts.iter().map(|part| (*part).to_owned()).collect());
            properties.set_column_dictionary_enabled(path, true)
        });
        let part = path.iter().find(|part| part.to_string_lossy().starts_with("counterset="));
        let name = part.context("a file without its counterset")?.to_string_lossy().into_owned();
        Ok(Self { name, schema: Arc::new(schema), properties: Arc::new(properties.build()), groups })
    }

    /// Writes the Parquet file with the parquet crate, and returns its length in bytes.
    fn write(&self, folder: &Path) -> Result<u64> {
        const MISSING: &str = "a column is missing";
        let path = folder.join(&self.name);
        let file = std::io::BufWriter::new(File::create(&path)?);
        let mut writer =
            SerializedFileWriter::new(file, Arc::clone(&self.schema), Arc::clone(&self.properties))?;
        for columns in &self.groups {
            let mut group = writer.next_row_group()?;
            for column in columns {
                let mut target = group.next_column()?.context(MISSING)?;
                match column {
                    RawColumn::Ints(values) => values.write(target.typed::<Int64Type>())?,
                    RawColumn::Ids(values) => values.write(target.typed::<Int32Type>())?,
                    RawColumn::Doubles(values) => values.write(target.typed::<DoubleType>())?,
                    RawColumn::Texts(values) => values.write(target.typed::<ByteArrayType>())?,
                }
                target.close()?;
            }
            group.close()?;
        }
        writer.close()?;
        Ok(path.metadata()?.len())
    }
}

/// Bytes of an export of an hour, and of Parquet files with fewer columns.
#[derive(Debug)]
struct ExportedBytes {
    values: u64,
    exported: u64,
    /// Bytes of files with the columns of the layout: time, `perf_time_ns`, instances, counters, missing values.
    layout: u64,
    /// Bytes of files that have times, instances and counters only.
    fewest: u64,
}

impl ExportedBytes {
    fn of(recorded: &Path) -> Result<Self> {
        let folder = TemporaryFolder::new("export-bytes")?;
        let lake = folder.path().join("lake");
        let logs = Logs::open(&[recorded.to_owned()])?;
        export(&logs, lake.as_path(), ExportOptions::default(), || {})?;
        let mut bytes = Self { values: 0, exported: 0, layout: 0, fewest: 0 };
        for file in files_below(&lake)? {
            bytes.exported += file.metadata()?.len();
            bytes.layout += RawFile::read(&file, &ADDED)?.write(folder.path())?;
        }
        let recording = Recording::open(recorded)?;
        for set in recording.countersets() {
            let rows = SetRows::read(&recording, set)?;
            bytes.values += rows.checksum.values;
            bytes.fewest += rows.file(folder.path())?.write()?;
        }
        ensure!(bytes.layout > 0 && bytes.fewest > 0, "the recording has no value");
        Ok(bytes)
    }
}

impl Display for ExportedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { values, exported, layout, fewest } = self;
        let of_value = |bytes: &u64| *bytes as f64 / *values as f64;
        let ratio = |bytes: &u64| *exported as f64 / *bytes as f64;
        let met = if ratio(layout) <= SIZE_GOAL { "met" } else { "MISSED" };
        writeln!(f, "export: bytes of an hour, beside files with fewer columns")?;
        writeln!(f, "  {values} values: {:.4} bytes a value exported", of_value(exported))?;
        writeln!(
            f,
            "  columns of the usual layout: {:.4}  {:.3} (goal {SIZE_GOAL}: {met})",
            of_value(layout),
            ratio(layout)
        )?;
        writeln!(f, "  times, instances and counters: {:.4}  {:.3}", of_value(fewest), ratio(fewest))
    }
}
