//! Parquet files with the same rows as a recording, one file a counterset, for comparison.
//!
//! Columns: `time` (TIMESTAMP in microseconds, UTC), `instance` (UTF-8), `instance_id` (INT32), `birth` (INT64), and an
//! optional INT64 for each counter. Rows are sorted by instance, id, birth and time. Values are PLAIN and compressed by
//! zstd at level 3; only `instance` has a dictionary. A row group has a million rows, and a page a mebibyte. There are
//! statistics of row groups and no page index. Reasons for missing values, other clocks and texts about counters, which
//! a recording has, are left out: they would make the files larger.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, PrimitiveTypeBuilder, Type};
use perfset_core::clock::UNIX_EPOCH_100NS;
use perfset_core::v2::{Block, BlockValue, Body};
use perfset_core::{Counterset, Mark};
use perfset_engine::{Entry, NextOutcome, Snapshot, Source};
use perfset_log::recording::Recording;

use super::synthetic::Checksum;

/// Error text for a case that the parquet crate never reports.
const MISSING: &str = "a column is missing";

/// Maximum number of rows in a row group of Parquet.
const GROUP: usize = 1_000_000;

/// Identity of a recorded instance: name, id and birth.
type Key = (String, i32, i64);

/// Times and values of the recorded samples of one instance.
#[derive(Debug, Default)]
struct Run {
    /// Times of the instance's samples, in microseconds since 1970.
    times: Vec<i64>,
    /// Values of the instance row by row; 0 for a missing value.
    values: Vec<i64>,
    has_value: Vec<bool>,
}

/// Rows of one counterset in a recording, which become a Parquet file.
#[derive(Debug)]
pub struct SetRows {
    set: Arc<Counterset>,
    runs: BTreeMap<Key, Run>,
    /// Number and sum of the counterset's values in the recording.
    pub checksum: Checksum,
    /// Number of the counterset's cells in the recording, including those without a value.
    pub cells: u64,
}

impl SetRows {
    /// Reads the rows of a counterset in all samples of a recording.
    pub fn read(recording: &Recording, set: &Arc<Counterset>) -> Result<Self> {
        let mut handle = recording.clone().open()?;
        let entry = Entry::all(set.guid);
        let is_multiple = set.instance_type.is_multiple();
        handle.add(&if is_multiple { entry.instance("*") } else { entry });
        let (checksum, cells) = Default::default();
        let mut rows = Self { set: Arc::clone(set), runs: BTreeMap::new(), checksum, cells };
        let mut snapshot = Snapshot::default();
        while handle.next(&mut snapshot)? == NextOutcome::Sample {
            rows.add(&snapshot)?;
        }
        Ok(rows)
    }

    fn add(&mut self, snapshot: &Snapshot) -> Result<()> {
        let annex = snapshot.annex().first().context("a sample without its metadata")?;
        let block = Block::parse(snapshot.block())?;
        let result = block.results().next().context("a sample without its result")??;
        if annex.failure().is_some() {
            return Ok(());
        }
        let time = (snapshot.clocks().utc_100ns() - UNIX_EPOCH_100NS) / 10;
        // Rows that were not collected at this tick repeat those of an earlier one.
        let is_stale = |row: usize| matches!(annex.row_mark(row), Some(Mark::Stale(_)));
        match result.body {
            Body::MultipleInstances(table) | Body::Counterset(_, table) => {
                for (row, instance) in table.rows().enumerate() {
                    let instance = instance?;
                    if is_stale(row) {
                        continue;
                    }
                    let name = String::from_utf16_lossy(&instance.name().units().collect::<Vec<_>>());
                    let birth = annex.birth(row).map_or(0, std::num::NonZeroU64::get);
                    let key = (name, instance.id().0.cast_signed(), birth.cast_signed());
                    self.add_row(key, time, instance.values().iter());
                }
            }
            Body::MultipleCounters(_, values) if !is_stale(0) => {
                self.add_row(Key::default(), time, values.iter());
            }
            Body::SingleCounter(value) if !is_stale(0) => {
                self.add_row(Key::default(), time, std::iter::once(value));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_row<'v>(&mut self, key: Key, time: i64, values: impl Iterator<Item = BlockValue<'v>>) {
        let run = self.runs.entry(key).or_default();
        run.times.push(time);
        for value in values {
            let number = value.number().map(|number| number.get());
            if let Some(number) = number {
                self.checksum.add(number);
            }
            self.cells += 1;
            run.values.push(number.unwrap_or(0).cast_signed());
            run.has_value.push(number.is_some());
        }
    }

    /// Returns the number of counters of the recorded counterset.
    pub fn counters(&self) -> usize {
        self.set.counters.len()
    }

    /// Returns the Parquet row groups of the counterset with sorted columns, ready to be written.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let columns = self.set.counters.len();
        for (key, run) in &self.runs {
            let is_full = |group: &&mut Group| group.times.len() + run.times.len() <= GROUP;
            let group = match groups.last_mut().filter(is_full) {
                Some(group) => group,
                None => {
                    groups.push(Group { counters: vec![Default::default(); columns], ..Group::default() });
                    let Some(group) = groups.last_mut() else { continue };
                    group
                }
            };
            let rows = run.times.len();
            group.times.extend(&run.times);
            group.instances.extend(std::iter::repeat_n(ByteArray::from(key.0.as_str()), rows));
            group.ids.extend(std::iter::repeat_n(key.1, rows));
            group.births.extend(std::iter::repeat_n(key.2, rows));
            for (column, (values, levels)) in group.counters.iter_mut().enumerate() {
                let of_column = |row: usize| row * columns + column;
                let cells = (0..rows).map(of_column).map(|cell| (run.values[cell], run.has_value[cell]));
                for (value, has_value) in cells {
                    levels.push(i16::from(has_value));
                    if has_value {
                        values.push(value);
                    }
                }
            }
        }
        groups
    }

    /// Prepares the Parquet file of the counterset, so that only the work of the parquet crate is left.
    pub fn file(&self, folder: &Path) -> Result<ParquetFile> {
        let slug: String = self
            .set
            .name
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let path = folder.join(format!("{slug}.parquet"));
        let time = LogicalType::timestamp(true, TimeUnit::MICROS);
        let mut fields = vec![
            field(Repetition::REQUIRED, "time", Physical::INT64).with_logical_type(Some(time)).build()?,
            field(Repetition::REQUIRED, "instance", Physical::BYTE_ARRAY)
                .with_converted_type(ConvertedType::UTF8)
                .build()?,
            field(Repetition::REQUIRED, "instance_id", Physical::INT32).build()?,
            field(Repetition::REQUIRED, "birth", Physical::INT64).build()?,
        ];
        for number in 0..self.set.counters.len() {
            let name = counter_name(number);
            fields.push(field(Repetition::OPTIONAL, &name, Physical::INT64).build()?);
        }
        let fields = fields.into_iter().map(Arc::new).collect();
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_dictionary_enabled(false)
            .set_column_dictionary_enabled(ColumnPath::from("instance"), true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_data_page_size_limit(1 << 20)
            .set_data_page_row_count_limit(GROUP)
            .build();
        Ok(ParquetFile { path, schema, properties: Arc::new(properties), groups: self.groups() })
    }
}

fn field(repetition: Repetition, name: &str, physical: Physical) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, physical).with_repetition(repetition)
}

/// Returns the Parquet column name of a counter, which needs no quotes in SQL.
pub fn counter_name(number: usize) -> String {
    format!("c{number}")
}

/// Sorted columns of a row group of Parquet.
#[derive(Debug, Default)]
struct Group {
    times: Vec<i64>,
    instances: Vec<ByteArray>,
    ids: Vec<i32>,
    births: Vec<i64>,
    /// Values of each counter in the row group, and for each row 1 if it has a value, or else 0.
    counters: Vec<(Vec<i64>, Vec<i16>)>,
}

/// Prepared Parquet file, whose data only needs to be written.
#[derive(Debug)]
pub struct ParquetFile {
    /// Path of the Parquet file.
    pub path: PathBuf,
    schema: Arc<Type>,
    properties: Arc<WriterProperties>,
    groups: Vec<Group>,
}

impl ParquetFile {
    /// Writes the prepared Parquet file, and returns its length in bytes.
    pub fn write(&self) -> Result<u64> {
        let file = File::create(&self.path).with_context(|| self.path.display().to_string())?;
        let (schema, properties) = (Arc::clone(&self.schema), Arc::clone(&self.properties));
        let mut writer = SerializedFileWriter::new(file, schema, properties)?;
        for group in &self.groups {
            let mut rows = writer.next_row_group()?;
            let mut column = rows.next_column()?.context(MISSING)?;
            column.typed::<Int64Type>().write_batch(&group.times, None, None)?;
            column.close()?;
            let mut column = rows.next_column()?.context(MISSING)?;
            column.typed::<ByteArrayType>().write_batch(&group.instances, None, None)?;
            column.close()?;
            let mut column = rows.next_column()?.context(MISSING)?;
            column.typed::<Int32Type>().write_batch(&group.ids, None, None)?;
            column.close()?;
            let mut column = rows.next_column()?.context(MISSING)?;
            column.typed::<Int64Type>().write_batch(&group.births, None, None)?;
            column.close()?;
            for (values, levels) in &group.counters {
                let mut column = rows.next_column()?.context(MISSING)?;
                column.typed::<Int64Type>().write_batch(values, Some(levels), None)?;
                column.close()?;
            }
            rows.close()?;
        }
        writer.close()?;
        Ok(self.path.metadata()?.len())
    }
}
