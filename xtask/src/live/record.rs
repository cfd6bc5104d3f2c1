//! What `perfset get --format json` prints.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{finished, perfset};

/// One value of one sample.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// The path that asked for it.
    pub path: String,
    /// Formatted; `None` if it is missing, and `status` says why.
    pub value: Option<f64>,
    /// `ok`, or why there is no value.
    pub status: String,
    /// As the block has it.
    pub raw: Option<u64>,
}

impl Record {
    /// The raw value, or an error that says why there is none.
    pub fn raw(&self) -> Result<f64> {
        let raw = self.raw.with_context(|| format!("{} has no raw value: {}", self.path, self.status))?;
        Ok(raw as f64)
    }

    /// The formatted value, or an error that says why there is none.
    pub fn value(&self) -> Result<f64> {
        self.value.with_context(|| format!("{} has no value: {}", self.path, self.status))
    }
}

/// `perfset get` of these paths, to be started.
pub fn command(paths: &[&str], more: &[&str]) -> Command {
    let mut command = perfset();
    command.arg("get").args(paths).args(more).args(["--format", "json"]);
    command
}

/// One sample: a record for each path, in their order.
pub fn one_sample(paths: &[&str], more: &[&str]) -> Result<Vec<Record>> {
    let output = command(paths, more).output().context("cannot start perfset")?;
    parse(&finished(output)?, paths.len())
}

/// The records that were printed, which must be so many.
pub fn parse(json: &str, count: usize) -> Result<Vec<Record>> {
    let records: Vec<Record> = json
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not what is expected: {line}")))
        .collect::<Result<_>>()?;
    ensure!(records.len() == count, "{} values are printed, not {count}", records.len());
    Ok(records)
}
