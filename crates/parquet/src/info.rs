//! Description of an exported Parquet file, read from the metadata at its end, with its damage.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use perfset_core::clock::UNIX_EPOCH_100NS;
use perfset_core::{CounterType, Guid};
use perfset_log::Info;
use perfset_log::info::Counters;

use crate::range::key;

/// Beginning of every Parquet file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Returns `true` if the file at a path begins like a Parquet file.
#[must_use]
pub fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    // A pipe would lose these bytes.
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == MAGIC
}

/// Returns a summary of an exported Parquet file, and a text about its writer. Values are not read: the description
/// at the end of the file says where they are.
///
/// A file that is cut has no description. That is damage, as is a description of values beyond the end of the file.
///
/// # Errors
/// If the file cannot be opened.
pub fn file_info(path: &Path) -> io::Result<(Info, String)> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut info = Info::default();
    let reader = match SerializedFileReader::new(file) {
        Ok(reader) => reader,
        Err(error) => {
            info.damages
                .add(len, format!("no description at the end of the file, which may be cut: {error}"));
            return Ok((info, "Parquet file".to_owned()));
        }
    };
    let metadata = reader.metadata();
    if let Some(column) = columns(metadata).find(|column| !is_within(column, len)) {
        info.damages.add(len, format!("the end of the column {} is missing", column.column_path()));
    }
    let facts = metadata.file_metadata().key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let fact = |key: &str| fact(facts, key).unwrap_or_default();
    let rows = metadata.file_metadata().num_rows();
    if fact(key::COUNTERSET).is_empty() {
        return Ok((info, format!("Parquet file of another program: {rows} rows")));
    }
    let about = format!(
        "exported {}: {rows} rows of the run {} after the boot {}",
        fact(key::COUNTERSET),
        or_unknown(fact(key::RUN)),
        or_unknown(fact(key::BOOT))
    );
    if !fact(key::HOST).is_empty() {
        info.machines.insert(format!(r"\\{}", fact(key::HOST)));
    }
    info.samples = fact(key::SAMPLES).parse().unwrap_or(0);
    info.bias_minutes = Some(0);
    info.span = times(metadata);
    info.counters = counters(fact(key::COUNTERSET), fact(key::GUID), fact(key::COLUMNS));
    Ok((info, about))
}

fn fact<'a>(facts: &'a [KeyValue], key: &str) -> Option<&'a str> {
    facts.iter().find(|fact| fact.key == key)?.value.as_deref()
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "(unknown)" } else { text }
}

fn columns(metadata: &ParquetMetaData) -> impl Iterator<Item = &ColumnChunkMetaData> {
    metadata.row_groups().iter().flat_map(|group| group.columns())
}

/// Returns `true` if the bytes of a Parquet column are before the end of the file.
fn is_within(column: &ColumnChunkMetaData, len: u64) -> bool {
    let first = column.dictionary_page_offset().unwrap_or(i64::MAX).min(column.data_page_offset());
    let end = first.checked_add(column.compressed_size());
    first >= 0
        && column.compressed_size() >= 0
        && end.is_some_and(|end| u64::try_from(end).is_ok_and(|end| end <= len))
}

/// Returns the first and the last time of the rows of a Parquet file, in 100 ns since 1601.
fn times(metadata: &ParquetMetaData) -> Option<(i64, i64)> {
    let of_times = columns(metadata).filter(|column| column.column_path().string() == "time");
    let ranges = of_times.filter_map(|column| match column.statistics()? {
        Statistics::Int64(times) => Some((*times.min_opt()?, *times.max_opt()?)),
        _ => None,
    });
    let (first, last) = ranges.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))?;
    let time = |us: i64| us.saturating_mul(10).saturating_add(UNIX_EPOCH_100NS);
    Some((time(first), time(last)))
}

/// Returns the counters that have a column in an exported file, from its metadata.
fn counters(set: &str, guid: &str, columns: &str) -> Vec<Counters> {
    let known = guid.parse::<Guid>().ok().and_then(perfset_catalogue::by_guid);
    let star = if known.is_none_or(|set| set.instance_type.is_multiple()) { "(*)" } else { "" };
    let columns: Vec<serde_json::Value> = serde_json::from_str(columns).unwrap_or_default();
    let counter = |column: &serde_json::Value| {
        let name = column.get("name")?.as_str()?;
        let number = column.get("type_number")?.as_u64()?;
        Some(Counters {
            path: format!(r"\{set}{star}\{name}"),
            counter_type: u32::try_from(number).ok().map(CounterType),
            instances: BTreeSet::new(),
            counters: 1,
        })
    };
    columns.iter().filter_map(counter).collect()
}
