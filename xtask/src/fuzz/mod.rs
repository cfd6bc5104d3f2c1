//! `cargo xtask fuzz`: runs every fuzz target for a bounded time, on its stored corpus.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::repository::{output_of, root, run as run_program, target};

mod report;
#[cfg(test)]
mod seeds;

use report::Report;

/// Environment variable with the name of the fuzz target, for the program that contains all targets.
const VARIABLE: &str = "PERFSET_FUZZ_TARGET";

/// Run the fuzz targets, each for a bounded time on its stored corpus; fail on a finding.
#[derive(clap::Args)]
pub struct Args {
    /// Time in seconds for which each target runs.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Executions a target, at most.
    #[arg(long)]
    runs: Option<u64>,
    /// Names of the targets to run; all if none is named.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// Runs the fuzz targets on their stored corpora.
pub fn run(args: &Args) -> Result<()> {
    let fuzz = root().join("fuzz");
    build(&fuzz)?;
    let all = target_names(&fuzz)?;
    if let Some(unknown) = args.targets.iter().find(|name| !all.contains(name)) {
        bail!("there is no fuzz target {unknown:?}; there are: {}", all.join(", "));
    }
    let chosen = if args.targets.is_empty() { &all } else { &args.targets };
    let start = Instant::now();
    let queue = Mutex::new(chosen.iter().collect::<VecDeque<_>>());
    let reports = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors.min(chosen.len()) {
            scope.spawn(|| {
                while let Some(name) = next() {
                    let report = run_target(&fuzz, name, args);
                    match &report {
                        Ok(report) => println!("{name:16} {report}"),
                        Err(error) => println!("{name:16} {error:#}"),
                    }
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
                }
            });
        }
    });
    let reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    let good: Vec<&Report> = reports.iter().flatten().collect();
    let executions: u64 = good.iter().map(|report| report.executions).sum();
    println!("{executions} executions of {} targets in {} s", good.len(), start.elapsed().as_secs());
    ensure!(good.len() == chosen.len(), "{} of {} targets failed", chosen.len() - good.len(), chosen.len());
    Ok(())
}

/// Returns the names of the fuzz targets that the fuzz program lists. Each must have a corpus, and no other name may
/// have one.
fn target_names(fuzz: &Path) -> Result<Vec<String>> {
    let names: Vec<String> =
        output_of(Command::new(program(fuzz)).env_remove(VARIABLE))?.lines().map(str::to_owned).collect();
    let corpus = fuzz.join("corpus");
    let mut seeded = Vec::new();
    for entry in corpus.read_dir().with_context(|| format!("cannot list {}", corpus.display()))? {
        seeded.push(entry?.file_name().to_string_lossy().into_owned());
    }
    seeded.sort();
    ensure!(names == seeded, "the targets are {names:?}, and the corpora {seeded:?}");
    Ok(names)
}

fn build(fuzz: &Path) -> Result<()> {
    let installed = Command::new("cargo").args(["fuzz", "--version"]).output()?.status.success();
    ensure!(installed, "cargo-fuzz is missing; install it with: cargo install cargo-fuzz --locked");
    let mut command = Command::new("cargo");
    command.args(["fuzz", "build", "--target", &triple()]);
    command.arg("--fuzz-dir").arg(fuzz).arg("--target-dir").arg(fuzz.join("target"));
    command.env("RUSTC_BOOTSTRAP", "1"); // sanitizers on a stable compiler
    run_program(command.current_dir(root())).context("cannot build the fuzz targets")
}

fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

fn program(fuzz: &Path) -> PathBuf {
    fuzz.join("target").join(triple()).join("release/targets")
}

fn run_target(fuzz: &Path, name: &str, args: &Args) -> Result<Report> {
    let work = target().join("fuzz").join(name);
    let found = work.join("found");
    std::fs::create_dir_all(&found).with_context(|| format!("cannot make {}", found.display()))?;
    let mut command = Command::new(program(fuzz));
    command.env(VARIABLE, name);
    command.arg(&found).arg(fuzz.join("corpus").join(name)); // new finds go into the first, the second is only read
    command.arg(format!("-artifact_prefix={}/", work.display()));
    command.arg(format!("-max_total_time={}", args.seconds));
    command.args(args.runs.map(|runs| format!("-runs={runs}")));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=64", "-print_final_stats=1"]);
    let dictionary = fuzz.join("dictionaries").join(format!("{name}.dict"));
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let output = command.output().context("cannot start it")?;
    let log = String::from_utf8_lossy(&output.stderr);
    let log_path = work.join("log.txt");
    std::fs::write(&log_path, log.as_bytes())
        .with_context(|| format!("cannot write {}", log_path.display()))?;
    if !output.status.success() {
        bail!("{}\n  log: {}", report::failure(&log), log_path.display());
    }
    Report::from_log(&log).with_context(|| format!("no statistics in {}", log_path.display()))
}
