//! Checks of exported recordings of three hosts, and of their SQL views, read by DuckDB.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::finished;
use super::owned::Folder;
use crate::repository::{root, run as run_program, target};

/// Command that installs DuckDB from the Python Package Index, in the root directory of the repository.
const INSTALL: &str = "python3 -m venv target/duckdb && target/duckdb/bin/pip install duckdb==2.0.1";

/// Returns the path of the command with the feature `parquet`.
pub fn program() -> PathBuf {
    target().join("release/perfset-parquet")
}

/// Builds the command with the feature `parquet`, or `object-store` too, under a name of its own. It must not run
/// beside other checks, because Cargo builds the command of both in one place.
pub fn build(has_stores: bool) -> Result<()> {
    let feature = if has_stores { "object-store" } else { "parquet" };
    let words = ["build", "--release", "--quiet", "-p", "perfset-cli", "--features", feature];
    run_program(Command::new("cargo").args(words).current_dir(root()))?;
    let built = target().join("release/perfset");
    fs::copy(&built, program()).with_context(|| built.display().to_string())?;
    Ok(())
}

/// Checks that DuckDB reads the exported values of three hosts. The views have the values that the command prints,
/// and each formula vector has its value.
pub fn check() -> Result<String> {
    let folder = Folder::new("parquet")?;
    let (first, second) = (folder.0.join("first"), folder.0.join("second"));
    record_twice(&first)?;
    record_another(&second)?;
    let mut compare = Command::new(python()?);
    compare.arg(root().join("xtask/src/live/parquet.py")).arg(program());
    compare.arg(target().join("debug/examples/formula_vectors"));
    compare.arg(root().join("testdata/formulas/counter-type-vectors.csv")).arg(&folder.0);
    compare.arg(first).arg(second).arg(root().join("testdata/logs/BasicPerfCounters.blg"));
    let printed = finished(compare.output().context("cannot start Python")?)?;
    Ok(format!(": {}", printed.trim()))
}

/// Records this machine: two runs of a recorder, so that samples are missing between them.
pub fn record_twice(folder: &Path) -> Result<()> {
    for _ in 0..2 {
        let mut recorder = Command::new(program());
        recorder.args(["record", "--dir"]).arg(folder).args(["200ms", "8"]);
        finished(recorder.output().context("cannot start perfset record")?)?;
    }
    Ok(())
}

/// Records this machine under the name `web2`, for a check.
pub fn record_another(folder: &Path) -> Result<()> {
    let mut other = Command::new("unshare");
    other.args(["--uts", "sh", "-c", "hostname web2 && exec \"$0\" record --dir \"$1\" 200ms 8"]);
    other.arg(program()).arg(folder);
    finished(other.output().context("cannot start unshare (Debian package util-linux)")?)?;
    Ok(())
}

/// Returns the path of a Python interpreter that has DuckDB.
fn python() -> Result<PathBuf> {
    let python = target().join("duckdb/bin/python");
    let asked = Command::new(&python).args(["-c", "import duckdb"]).output();
    ensure!(asked.is_ok_and(|has| has.status.success()), "DuckDB is missing; install it with: {INSTALL}");
    Ok(python)
}
