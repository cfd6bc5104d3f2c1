//! Samples that a file has, as its metadata name them.

use parquet::file::metadata::ParquetMetaData;

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

/// Samples that a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportedRange {
    pub run: String,
    pub first: i64,
    pub last: i64,
}

impl ExportedRange {
    /// Returns the samples of a file by its metadata; `None` if another program wrote it.
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
