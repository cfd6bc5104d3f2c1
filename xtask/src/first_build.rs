//! `cargo xtask first-build`: time from a fresh clone to the command.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::progress::{Progress, quiet_in_logs};
use crate::repository::{root, run as run_program, target};

/// Builds of the command that are timed: their name, their options, and the goal in seconds on two cores.
const BUILDS: [(&str, &[&str], u64); 2] =
    [("the command", &[], 100), ("the command without default features", &["--no-default-features"], 45)];

/// Time first builds of the command, each into an empty directory
#[derive(clap::Args)]
pub struct Args {}

/// Times the first builds of the command, each into an empty directory. Downloads are not timed. A missed goal is
/// printed and fails nothing: a busy machine misses it too.
pub fn run(_: &Args) -> Result<()> {
    let directory = target().join("first-build");
    let mut progress = Progress::new(BUILDS.len() + 1);
    progress.step("fetching the crates");
    run_program(Command::new("cargo").args(["fetch", "--locked", "--quiet"]).current_dir(root()))?;
    for (name, options, goal) in BUILDS {
        let _ = fs::remove_dir_all(&directory); // missing at the first run
        let mut build = Command::new("cargo");
        build.args(["build", "--release", "--locked", "--package", "perfset-cli"]).args(options);
        quiet_in_logs(&mut build);
        progress.step(&format!("building {name}"));
        let began = Instant::now();
        run_program(build.arg("--target-dir").arg(&directory).current_dir(root()))?;
        let seconds = began.elapsed().as_secs();
        let result = if seconds <= goal { "met" } else { "missed" };
        println!("{name}: {seconds} s, goal {goal} s {result}");
    }
    fs::remove_dir_all(&directory)?;
    Ok(())
}
