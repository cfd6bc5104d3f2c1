//! Checks the formulas of counter types against a table of test vectors: `cargo xtask vectors FILE`.

use std::error::Error;
use std::process::ExitCode;

#[path = "../tests/vectors/mod.rs"]
mod vectors;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let file = std::env::args_os().nth(1).ok_or("which file?")?;
    let report = vectors::check(&std::fs::read_to_string(&file)?)?;
    for mismatch in &report.mismatches {
        println!("{mismatch}");
    }
    println!("{} vectors, {} mismatches", report.checked, report.mismatches.len());
    Ok(if report.mismatches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
