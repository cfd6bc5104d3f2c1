//! Files: written under a temporary name, complete once they have their own.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::json;

use crate::buffer::{RowBuffer, SampleHead, index};
use crate::layout::{ColumnKind, CounterColumn, CountersetLayout};

/// Error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetExportError {
    /// A file or directory cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Reason for the failure.
        error: io::Error,
    },
    /// A Parquet file that exists cannot be read, or a new one cannot be written.
    #[error("{}: {error}", path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// Reason for the failure.
        error: ParquetError,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Source(#[from] perfset_engine::SourceError),
    /// The log cannot be opened again for another machine.
    #[error(transparent)]
    Open(#[from] perfset_log::OpenError),
    /// A counter path of the log cannot be used.
    #[error(transparent)]
    Path(#[from] perfset_engine::path::BindError),
}

impl ParquetExportError {
    /// Returns `true` if a log cannot be read, and `false` if a file cannot be written.
    #[must_use]
    pub fn is_of_source(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Open(_) | Self::Path(_))
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self::Io { path: path.to_owned(), error }
    }

    fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Self + '_ {
        |error| match error {
            // The system's own text says most.
            ParquetError::External(error) => match error.downcast::<io::Error>() {
                Ok(error) => Self::Io { path: path.to_owned(), error: *error },
                Err(error) => Self::Parquet { path: path.to_owned(), error: ParquetError::External(error) },
            },
            error => Self::Parquet { path: path.to_owned(), error },
        }
    }
}

/// Keys of the metadata of a file.
pub(crate) mod key {
    pub const COUNTERSET: &str = "perfset.counterset";
    pub const GUID: &str = "perfset.guid";
    pub const HELP: &str = "perfset.help";
    pub const COLUMNS: &str = "perfset.columns";
    pub const HOST: &str = "perfset.host";
    pub const BOOT: &str = "perfset.boot";
    pub const RUN: &str = "perfset.run";
    pub const RAW: &str = "perfset.raw_values";
    pub const FIRST: &str = "perfset.first";
    pub const LAST: &str = "perfset.last";
    pub const SAMPLES: &str = "perfset.samples";
}

/// Sentence in the metadata about numbers beyond 2^63.
const RAW_VALUES: &str = "unsigned 64-bit numbers, whose bits are stored in INT64: a negative number stands for \
    itself plus 2^64; instance_id is an unsigned 32-bit number in the same way";

/// Number of rows that are prepared at once.
const BATCH: usize = 1 << 15;

/// File that is being written.
pub(crate) struct PartFile {
    writer: Option<SerializedFileWriter<BufWriter<File>>>,
    temporary: PathBuf,
    path: PathBuf,
    columns: Vec<CounterColumn>,
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // Not finished: what there is of it is of no use.
        if self.writer.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Description of a file.
pub(crate) struct FileAbout<'a> {
    pub layout: &'a CountersetLayout,
    pub host: &'a str,
    pub boot: &'a str,
    pub run: &'a str,
}

impl PartFile {
    /// Begins a file, under a name that no query finds.
    pub fn create(path: PathBuf, about: &FileAbout<'_>) -> Result<Self, ParquetExportError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folders(folder).map_err(ParquetExportError::io(folder))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}{}", temporary_end()));
        let file = create_private(&temporary).map_err(ParquetExportError::io(&temporary))?;
        let columns = about.layout.columns.clone();
        let prepared = || {
            let schema = schema(&columns)?;
            let properties = properties(about)?;
            SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties))
        };
        let writer = prepared().map_err(ParquetExportError::parquet(&temporary));
        let writer = writer.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
        Ok(Self { writer: Some(writer), temporary, path, columns })
    }

    /// Writes the rows of a buffer as a row group.
    pub fn write(&mut self, buffer: &RowBuffer) -> Result<(), ParquetExportError> {
        let Self { writer: Some(writer), columns, temporary, .. } = self else { return Ok(()) };
        let sorted = buffer.sorted();
        let written = writer
            .next_row_group()
            .and_then(|group| RowGroup { group, buffer, sorted: &sorted }.write(columns));
        written.map_err(ParquetExportError::parquet(temporary))
    }

    /// Completes the file, and gives it its name.
    pub fn finish(mut self, facts: &[(&str, String)]) -> Result<PathBuf, ParquetExportError> {
        let Some(mut writer) = self.writer.take() else { return Ok(self.path.clone()) };
        for (key, value) in facts {
            writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
        }
        let closed = writer.into_inner().map_err(ParquetExportError::parquet(&self.temporary));
        let closed = closed.and_then(|file| {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error);
            file.and_then(|file| file.sync_all()).map_err(ParquetExportError::io(&self.temporary))
        });
        let named = closed.and_then(|()| {
            let failed = ParquetExportError::io(&self.path);
            fs::rename(&self.temporary, &self.path).map_err(failed)
        });
        named.inspect_err(|_| drop(fs::remove_file(&self.temporary)))?;
        if let Some(folder) = self.path.parent() {
            sync_folder(folder).map_err(ParquetExportError::io(folder))?;
        }
        Ok(self.path.clone())
    }
}

/// Row group that is being written, one column after the other.
struct RowGroup<'a> {
    group: SerializedRowGroupWriter<'a, BufWriter<File>>,
    buffer: &'a RowBuffer,
    sorted: &'a [u32],
}

type Written = Result<(), ParquetError>;

impl RowGroup<'_> {
    fn write(mut self, columns: &[CounterColumn]) -> Written {
        let buffer = self.buffer;
        let row = |row: &u32| buffer.rows.get(index(*row)).copied();
        let head = |at: &u32| row(at).and_then(|row| buffer.heads.get(index(row.head)));
        let of_head = |read: fn(&SampleHead) -> i64| move |at: &u32| head(at).map(read);
        self.all::<Int64Type>(of_head(|head| head.time_us))?;
        self.all::<Int64Type>(of_head(|head| head.perf_time_ns))?;
        self.optional::<Int64Type>(|at| head(at)?.interval_ns)?;
        self.all::<Int64Type>(of_head(|head| head.clocks.perf_time))?;
        self.all::<Int64Type>(of_head(|head| head.clocks.perf_freq))?;
        self.all::<Int64Type>(of_head(|head| head.clocks.time_100ns))?;
        self.all::<Int64Type>(of_head(|head| head.clocks.object_time))?;
        self.all::<Int64Type>(of_head(|head| head.clocks.object_freq))?;
        let names = buffer.instance_names();
        let identity = |at: &u32| buffer.identities.all.get(index(row(at)?.identity));
        self.all::<ByteArrayType>(|at| names.get(index(row(at)?.identity)).cloned())?;
        self.all::<Int32Type>(|at| Some(identity(at)?.id))?;
        self.optional::<Int64Type>(|at| Some(identity(at)?.birth).filter(|birth| *birth != 0))?;
        for (column, cells) in columns.iter().zip(&buffer.columns) {
            match column.kind {
                ColumnKind::Raw => self.optional::<Int64Type>(|at| cells.get(index(*at)))?,
                ColumnKind::Formatted => self.optional::<DoubleType>(|at| {
                    Some(f64::from_bits(cells.get(index(*at))?.cast_unsigned()))
                })?,
            }
        }
        let column_names: Vec<ByteArray> =
            columns.iter().map(|column| ByteArray::from(&*column.name)).collect();
        let reasons: Vec<ByteArray> =
            buffer.reasons.all.iter().map(|reason| ByteArray::from(&**reason)).collect();
        let missing = |row: u32| buffer.missing_of(row);
        self.list(missing, |(_, column, _)| column_names.get(index(*column)).cloned())?;
        self.list(missing, |(_, _, reason)| reasons.get(index(*reason)).cloned())?;
        let restarted = |row: u32| buffer.restarted_of(row);
        self.list(restarted, |(_, column)| column_names.get(index(*column)).cloned())?;
        self.group.close().map(drop)
    }

    /// Writes a column that has a value in each row.
    fn all<T: DataType>(&mut self, read: impl Fn(&u32) -> Option<T::T>) -> Written {
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        for rows in self.sorted.chunks(BATCH) {
            let values: Vec<T::T> = rows.iter().map(|row| read(row).unwrap_or_default()).collect();
            column.typed::<T>().write_batch(&values, None, None)?;
        }
        column.close()
    }

    /// Writes a column that has a value in some rows.
    fn optional<T: DataType>(&mut self, read: impl Fn(&u32) -> Option<T::T>) -> Written {
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        for rows in self.sorted.chunks(BATCH) {
            let (mut values, mut levels) = (Vec::new(), Vec::with_capacity(rows.len()));
            for row in rows {
                let value = read(row);
                levels.push(i16::from(value.is_some()));
                values.extend(value);
            }
            column.typed::<T>().write_batch(&values, Some(&levels), None)?;
        }
        column.close()
    }

    /// Writes a field of a list.
    fn list<'b, E: 'b>(
        &mut self,
        entries: impl Fn(u32) -> &'b [E],
        read: impl Fn(&E) -> Option<ByteArray>,
    ) -> Written {
        const IN_LIST: i16 = 2;
        let Some(mut column) = self.group.next_column()? else { return Ok(()) };
        for rows in self.sorted.chunks(BATCH) {
            let (mut values, mut levels, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
            for row in rows {
                let entries = entries(*row);
                if entries.is_empty() {
                    levels.push(0); // no list
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
        field(REQUIRED, "perf_time", Physical::INT64)?,
        field(REQUIRED, "perf_freq", Physical::INT64)?,
        field(REQUIRED, "time_100ns", Physical::INT64)?,
        field(REQUIRED, "object_time", Physical::INT64)?,
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
    const ROWS_OF_PAGE: usize = 20_000;
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

/// Returns the description of a column for the metadata.
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

/// Samples that a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportedRange {
    pub run: String,
    pub first: i64,
    pub last: i64,
}

/// Returns the samples of the files in a directory; none if it does not exist.
pub(crate) fn exported(folder: &Path) -> Result<Vec<ExportedRange>, ParquetExportError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ParquetExportError::io(folder)(error)),
    };
    let mut ranges = Vec::new();
    for entry in entries {
        let path = entry.map_err(ParquetExportError::io(folder))?.path();
        if is_left_over(&path) {
            // Of an export that was ended; its rows are exported again.
            fs::remove_file(&path).map_err(ParquetExportError::io(&path))?;
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "parquet") {
            continue;
        }
        let file = File::open(&path).map_err(ParquetExportError::io(&path))?;
        // A file that cannot be read has unknown samples: to go on could repeat them.
        let reader = SerializedFileReader::new(file).map_err(ParquetExportError::parquet(&path))?;
        let facts = reader.metadata().file_metadata().key_value_metadata();
        let fact = |key: &str| {
            let fact = facts.into_iter().flatten().find(|fact| fact.key == key)?;
            fact.value.as_deref()
        };
        let number = |key: &str| fact(key).and_then(|number| number.parse().ok());
        if let (Some(run), Some(first), Some(last)) = (fact(key::RUN), number(key::FIRST), number(key::LAST))
        {
            ranges.push(ExportedRange { run: run.to_owned(), first, last });
        }
    }
    Ok(ranges)
}

/// Returns `true` if a file has the temporary name that another process gave it.
fn is_left_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = temporary_end();
    name.starts_with('.') && name.contains(".parquet.") && name.ends_with(".tmp") && !name.ends_with(&own)
}

/// Returns the end of the temporary names that this process gives.
fn temporary_end() -> String {
    format!(".{}.tmp", std::process::id())
}

/// Creates directories, readable for their owner alone, as recordings are.
fn create_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a file for its owner alone. One that exists is left over from a process with the same id that was ended.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// Makes a rename durable. Only Unix opens directories.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
