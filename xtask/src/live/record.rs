//! Records of `perfset get --format json`, parsed for checks.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{finished, perfset};

/// Value in a sample that `perfset get` prints as JSON.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// Counter path that was requested for the value.
    pub path: String,
    /// Formatted value of the counter; `None` if it is missing: `status` contains the reason.
    pub value: Option<f64>,
    /// Keyword `ok`, or the reason why the value is missing.
    pub status: String,
    /// Raw value of the counter, as the block contains it.
    pub raw: Option<u64>,
}

impl Record {
    /// Returns the raw value of a printed record, or an error with the reason why it is missing.
    pub fn raw(&self) -> Result<f64> {
        let raw = self.raw.with_context(|| format!("{} has no raw value: {}", self.path, self.status))?;
        Ok(raw as f64)
    }

    /// Returns the formatted value of a printed record, or an error with the reason why it is missing.
    pub fn value(&self) -> Result<f64> {
        self.value.with_context(|| format!("{} has no value: {}", self.path, self.status))
    }
}

/// Returns the command `perfset get` for these counter paths, ready to start.
pub fn command(paths: &[&str], more: &[&str]) -> Command {
    let mut command = perfset();
    command.arg("get").args(paths).args(more).args(["--format", "json"]);
    command
}

/// Takes one sample with `perfset get`, and returns a record for each counter path, in their order.
pub fn one_sample(paths: &[&str], more: &[&str]) -> Result<Vec<Record>> {
    let output = command(paths, more).output().context("cannot start perfset")?;
    parse(&finished(output)?, paths.len())
}

/// Parses the records that `perfset get` printed, and checks that there are `count` of them.
pub fn parse(json: &str, count: usize) -> Result<Vec<Record>> {
    let records: Vec<Record> = json
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not what is expected: {line}")))
        .collect::<Result<_>>()?;
    ensure!(records.len() == count, "{} values are printed, not {count}", records.len());
    Ok(records)
}
