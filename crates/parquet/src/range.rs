//! Range of the samples that an exported file has, as the file's metadata names it.

use parquet::file::metadata::ParquetMetaData;

/// Keys of the metadata in an exported Parquet file.
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

/// Range of the samples that an exported file has: recorder's run, first and last sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportedRange {
    pub run: String,
    pub first: i64,
    pub last: i64,
}

impl ExportedRange {
    /// Returns the range of a file's samples from its metadata; `None` if another program wrote the file.
    pub fn of(metadata: &ParquetMetaData) -> Option<Self> {
        let facts = metadata.file_metadata().key_value_metadata();
        let fact = |key: &str| {
            let fact = facts.into_iter().flatten().find(|fact| fact.key == key)?;
            fact.value.as_deref()
        };
        let number = |key: &str| fact(key).and_then(|number| number.parse().ok());
        let (first, last) = (number(key::FIRST)?, number(key::LAST)?);
        Some(Self { run: fact(key::RUN)?.to_owned(), first, last })
    }
}
