//! Exported Parquet files: written under a temporary name, and renamed when they are complete.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::json;

use crate::buffer::{ColumnCells, RowBuffer, SampleHead, SortedRows, index};
use crate::error::ParquetExportError;
use crate::layout::{ColumnKind, CounterColumn, CountersetLayout};
use crate::place::{ExportPlace, PendingFile, TemporaryPath};
use crate::range::key;

/// Sentence in a Parquet file's metadata about unsigned numbers of 2^63 and more.
const RAW_VALUES: &str = "unsigned 64-bit numbers, whose bits are stored in INT64: a negative number stands for \
    itself plus 2^64; instance_id is an unsigned 32-bit number in the same way";

/// Number of rows of a Parquet column that are prepared at once.
const BATCH: usize = 1 << 15;

/// Parquet file that is being written under a temporary name.
pub(crate) struct PartFile {
    // Dropped, and so closed, before its file is removed.
    writer: SerializedFileWriter<BufWriter<File>>,
    temporary: TemporaryPath,
    /// Final path of the file below the root.
    path: String,
    columns: Vec<CounterColumn>,
}

/// Description of a Parquet file for its metadata: layout, host, boot and recorder's run.
pub(crate) struct FileAbout<'a> {
    pub layout: &'a CountersetLayout,
    pub host: &'a str,
    pub boot: &'a str,
    pub run: &'a str,
}

impl PartFile {
    /// Begins a Parquet file at a temporary path, where no query finds it.
    pub fn create(
        place: &mut dyn ExportPlace,
        path: String,
        about: &FileAbout<'_>,
    ) -> Result<Self, ParquetExportError> {
        let PendingFile { file, temporary } = place.create(&path)?;
        let columns = about.layout.columns.clone();
        let prepared = || {
            let schema = schema(&columns)?;
            let properties = properties(about)?;
            SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties))
        };
        let writer = prepared().map_err(ParquetExportError::parquet(&temporary.path))?;
        Ok(Self { writer, temporary, path, columns })
    }

    /// Writes the rows of a buffer as a row group of the Parquet file.
    pub fn write(&mut self, buffer: &RowBuffer) -> Result<(), ParquetExportError> {
        let Self { writer, columns, temporary, .. } = self;
        let sorted = buffer.sorted();
        let written = writer
            .next_row_group()
            .and_then(|group| RowGroup { group, buffer, sorted: &sorted }.write(columns));
        written.map_err(ParquetExportError::parquet(&temporary.path))
    }

    /// Completes the Parquet file, and stores it under its final name.
    pub fn finish(
        self,
        place: &mut dyn ExportPlace,
        facts: &[(&str, String)],
    ) -> Result<PathBuf, ParquetExportError> {
        let Self { mut writer, temporary, path, .. } = self;
        for (key, value) in facts {
            writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
        }
        let file = writer.into_inner().map_err(ParquetExportError::parquet(&temporary.path))?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        let file = file.map_err(ParquetExportError::io(&temporary.path))?;
        place.keep(PendingFile { file, temporary }, &path)
    }
}

/// Row group of a Parquet file that is being written, one column after the other.
struct RowGroup<'a> {
    group: SerializedRowGroupWriter<'a, BufWriter<File>>,
    buffer: &'a RowBuffer,
    sorted: &'a SortedRows,
}

type Written = Result<(), ParquetError>;

impl RowGroup<'_> {
    fn write(mut self, columns: &[CounterColumn]) -> Written {
        let (buffer, sorted) = (self.buffer, self.sorted);
        let heads = |group: &mut Self, read: fn(&SampleHead) -> i64| {
            let values: Vec<i64> = buffer.heads.iter().map(read).collect();
            group.all::<Int64Type>(&sorted.heads, &values)
        };
        heads(&mut self, |head| head.time_us)?;
        heads(&mut self, |head| head.perf_time_ns)?;
        let optional_heads = |group: &mut Self, read: fn(&SampleHead) -> Option<i64>| {
            let values: Vec<Option<i64>> = buffer.heads.iter().map(read).collect();
            group.optional::<Int64Type>(&sorted.heads, |head| values.get(head).copied().flatten())
        };
        optional_heads(&mut self, |head| head.interval_ns)?;
        // On Linux, these clocks are those of other columns, and would be a tenth of the file.
        optional_heads(&mut self, |head| other_than(head.perf_time_ns, head.clocks.perf_time))?;
        heads(&mut self, |head| head.clocks.perf_freq)?;
        heads(&mut self, |head| head.clocks.time_100ns)?;
        optional_heads(&mut self, |head| other_than(head.clocks.time_100ns, head.clocks.object_time))?;
        heads(&mut self, |head| head.clocks.object_freq)?;
        let identities = &buffer.identities.all;
        self.all::<ByteArrayType>(&sorted.identities, &buffer.instance_names())?;
        let ids: Vec<i32> = identities.iter().map(|identity| identity.id).collect();
        self.all::<Int32Type>(&sorted.identities, &ids)?;
        let births: Vec<i64> = identities.iter().map(|identity| identity.birth).collect();
        let birth = |identity: usize| births.get(identity).copied().filter(|birth| *birth != 0);
        self.optional::<Int64Type>(&sorted.identities, birth)?;
        for (column, cells) in columns.iter().zip(&buffer.columns) {
            match column.kind {
                ColumnKind::Raw => self.cells(cells)?,
                ColumnKind::Formatted => self.optional::<DoubleType>(&sorted.rows, |row| {
                    Some(f64::from_bits(cells.get(row)?.cast_unsigned()))
                })?,
            }
        }
        let column_names: Vec<ByteArray> =
            columns.iter().map(|column| ByteArray::from(&*column.name)).collect();
        let reasons: Vec<ByteArray> =
            buffer.reasons.all.iter().map(|reason| ByteArray::from(&**reason)).collect();
        let has_missing = !buffer.missing.is_empty();
        let missing = |row: u32| buffer.missing_of(row);
        self.list(has_missing, missing, |(_, column, _)| column_names.get(index(*column)).cloned())?;
        self.list(has_missing, missing, |(_, _, reason)| reasons.get(index(*reason)).cloned())?;
        let restarted = |row: u32| buffer.restarted_of(row);
        let has_restarted = !buffer.restarted.is_empty();
        self.list(has_restarted, restarted, |(_, column)| column_names.get(index(*column)).cloned())?;
        self.group.close().map(drop)
    }

    /// Writes a Parquet column with a value in each row; `positions` has the index in `values` for each row.
    fn all<T: DataType>(&mut self, positions: &[u32], values: &[T::T]) -> Written {
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        for positions in positions.chunks(BATCH) {
            let of_row = |position: &u32| values.get(index(*position)).cloned().unwrap_or_default();
            let values: Vec<T::T> = positions.iter().map(of_row).collect();
            column.typed::<T>().write_batch(&values, None, None)?;
        }
        column.close()
    }

    /// Writes a Parquet column that has a value in some rows only.
    fn optional<T: DataType>(&mut self, positions: &[u32], read: impl Fn(usize) -> Option<T::T>) -> Written {
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        for positions in positions.chunks(BATCH) {
            let (mut values, mut levels) =
                (Vec::with_capacity(positions.len()), Vec::with_capacity(positions.len()));
            for position in positions {
                let value = read(index(*position));
                levels.push(i16::from(value.is_some()));
                values.extend(value);
            }
            column.typed::<T>().write_batch(&values, Some(&levels), None)?;
        }
        column.close()
    }

    /// Writes the Parquet column of a counter. Most columns have a value in all rows, or in none.
    fn cells(&mut self, cells: &ColumnCells) -> Written {
        let sorted = self.sorted;
        let Some(all) = cells.of_all(sorted.rows.len()).or(cells.is_empty().then_some(&[])) else {
            return self.optional::<Int64Type>(&sorted.rows, |row| cells.get(row));
        };
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        let level = vec![i16::from(!all.is_empty()); sorted.rows.len().min(BATCH)];
        let mut values = Vec::with_capacity(level.len());
        for rows in sorted.rows.chunks(BATCH) {
            values.clear();
            if !all.is_empty() {
                values.extend(rows.iter().map(|row| all.get(index(*row)).copied().unwrap_or(0)));
            }
            column.typed::<Int64Type>().write_batch(&values, level.get(..rows.len()), None)?;
        }
        column.close()
    }

    /// Writes a Parquet column of lists of texts, such as the reasons of a row. No row has a list unless
    /// `has_entries`.
    fn list<'b, E: 'b>(
        &mut self,
        has_entries: bool,
        entries: impl Fn(u32) -> &'b [E],
        read: impl Fn(&E) -> Option<ByteArray>,
    ) -> Written {
        const IN_LIST: i16 = 2;
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        for rows in self.sorted.rows.chunks(BATCH) {
            let (mut values, mut levels, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
            if !has_entries {
                levels.resize(rows.len(), 0); // no list
                repeated.resize(rows.len(), 0);
            }
            for row in rows.iter().filter(|_| has_entries) {
                let entries = entries(*row);
                if entries.is_empty() {
                    levels.push(0);
                    repeated.push(0);
                }
                for (at, entry) in entries.iter().enumerate() {
                    values.push(read(entry).unwrap_or_default());
                    levels.push(IN_LIST);
                    repeated.push(i16::from(at > 0));
                }
            }
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), Some(&repeated))?;
        }
        column.close()
    }
}

/// Returns a clock's time, or `None` if the clock in `column`, another column, has the same time.
fn other_than(column: i64, clock: i64) -> Option<i64> {
    (clock != column).then_some(clock)
}

fn schema(columns: &[CounterColumn]) -> Result<Type, ParquetError> {
    const OPTIONAL: Repetition = Repetition::OPTIONAL;
    const REPEATED: Repetition = Repetition::REPEATED;
    const REQUIRED: Repetition = Repetition::REQUIRED;
    let field = |repetition, name: &str, physical| {
        Type::primitive_type_builder(name, physical).with_repetition(repetition).build()
    };
    let text = |name: &str| {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()
    };
    let list = |name: &str, element: Type| {
        let repeated = Type::group_type_builder("list")
            .with_repetition(REPEATED)
            .with_fields(vec![Arc::new(element)])
            .build()?;
        Type::group_type_builder(name)
            .with_repetition(OPTIONAL)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(repeated)])
            .build()
    };
    let time = Type::primitive_type_builder("time", Physical::INT64)
        .with_repetition(REQUIRED)
        .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
        .build()?;
    let mut fields = vec![
        time,
        field(REQUIRED, "perf_time_ns", Physical::INT64)?,
        field(OPTIONAL, "interval_ns", Physical::INT64)?,
        field(OPTIONAL, "perf_time", Physical::INT64)?,
        field(REQUIRED, "perf_freq", Physical::INT64)?,
        field(REQUIRED, "time_100ns", Physical::INT64)?,
        field(OPTIONAL, "object_time", Physical::INT64)?,
        field(REQUIRED, "object_freq", Physical::INT64)?,
        text("instance")?,
        field(REQUIRED, "instance_id", Physical::INT32)?,
        field(OPTIONAL, "birth", Physical::INT64)?,
    ];
    for column in columns {
        let physical = match column.kind {
            ColumnKind::Raw => Physical::INT64,
            ColumnKind::Formatted => Physical::DOUBLE,
        };
        fields.push(field(OPTIONAL, &column.name, physical)?);
    }
    let element = Type::group_type_builder("element")
        .with_repetition(REQUIRED)
        .with_fields(vec![Arc::new(text("counter")?), Arc::new(text("reason")?)])
        .build()?;
    fields.push(list("missing", element)?);
    fields.push(list("restarted", text("element")?)?);
    Type::group_type_builder("schema").with_fields(fields.into_iter().map(Arc::new).collect()).build()
}

fn properties(about: &FileAbout<'_>) -> Result<WriterProperties, ParquetError> {
    const LEVEL: i32 = 3;
    const PAGE: usize = 1 << 20;
    // As many 8-byte values as a page has bytes for. The times of a file repeat with each instance, and compression
    // finds that within a page only.
    const ROWS_OF_PAGE: usize = PAGE / 8;
    let FileAbout { layout, host, boot, run } = about;
    let columns: Vec<_> = layout.columns.iter().map(|column| described(layout, column)).collect();
    let facts = [
        (key::COUNTERSET, layout.name.clone()),
        (key::GUID, layout.guid.to_string()),
        (key::HELP, layout.help.clone()),
        (key::HOST, (*host).to_owned()),
        (key::BOOT, (*boot).to_owned()),
        (key::RUN, (*run).to_owned()),
        (key::RAW, RAW_VALUES.to_owned()),
        (key::COLUMNS, serde_json::Value::Array(columns).to_string()),
    ];
    let facts = facts.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let sorting = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: true };
    let properties = WriterProperties::builder()
        .set_created_by(concat!("perfset ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_data_page_size_limit(PAGE)
        .set_data_page_row_count_limit(ROWS_OF_PAGE)
        .set_max_row_group_row_count(None)
        // Of `instance`, `instance_id`, `birth` and `time`.
        .set_sorting_columns(Some([8, 9, 10, 0].map(sorting).into()))
        .set_key_value_metadata(Some(facts.collect()));
    // Few texts, in many rows.
    let texts: [&[&str]; 4] = [
        &["instance"],
        &["missing", "list", "element", "counter"],
        &["missing", "list", "element", "reason"],
        &["restarted", "list", "element"],
    ];
    let path = |parts: &[&str]| ColumnPath::new(parts.iter().map(|part| (*part).to_owned()).collect());
    let with = texts
        .iter()
        .fold(properties, |properties, parts| properties.set_column_dictionary_enabled(path(parts), true));
    Ok(with.build())
}

/// Returns the description of a counter's column for the metadata of a Parquet file.
fn described(layout: &CountersetLayout, column: &CounterColumn) -> serde_json::Value {
    let counter = &column.counter;
    let base = counter.divisor().and_then(|base| layout.counter_column(base)).map(|base| &base.name);
    json!({
        "column": column.name,
        "id": counter.id.0,
        "name": counter.name,
        "type": counter.counter_type.to_string(),
        "type_number": counter.counter_type.0,
        "unit": counter.unit,
        "base": base,
        "wraps": counter.wraps,
        "help": counter.help,
        "availability": counter.availability,
    })
}
