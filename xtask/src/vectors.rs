//! `cargo xtask vectors`: checks the formulas against a table of test vectors.

use std::path::PathBuf;
use std::process::{Command, exit};

use anyhow::{Context, Result};

use crate::repository::root;

/// Check the formulas against a table of vectors; print mismatches and a count, exit with 1 on any.
#[derive(clap::Args)]
pub struct Args {
    /// The table; its shape stands in crates/core/tests/vectors/mod.rs
    #[arg(default_value = "testdata/formulas/counter-type-vectors.csv")]
    file: PathBuf,
}

/// Runs the vector check of core as an example, because this program is built without core.
pub fn run(args: &Args) -> Result<()> {
    let file = std::path::absolute(&args.file)?;
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "perfset-core", "--example", "vectors", "--"]).arg(file);
    let status = command.current_dir(root()).status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { exit(status.code().unwrap_or(1)) }
}
