//! `cargo xtask fleet`: generates recordings of a fleet of hosts, exports them, and measures the cost.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::live::{fleet, parquet};
use crate::repository::{root, run as run_program};

/// Make recordings of hosts that do not exist, export them, and print their sizes.
///
/// DIR gets the exported files in `lake`, and the role and the version of each host in `hosts.csv`.
#[derive(clap::Args)]
pub struct Args {
    /// Directory for the files.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Number of hosts to make.
    #[arg(long, default_value_t = 24)]
    hosts: u32,
    /// Length of each recording in seconds.
    #[arg(long, default_value_t = 3_600)]
    seconds: u32,
    /// Time between two samples in seconds.
    #[arg(long, default_value_t = 10)]
    interval: u32,
    /// Seed of the hosts: another one makes other values.
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Leave the recordings in DIR/recordings.
    #[arg(long)]
    keep_recordings: bool,
    /// Begin at 00:00 UTC instead of 10:00, so that a day has one date.
    #[arg(long)]
    from_midnight: bool,
    /// Ask DuckDB and Sail questions, and print their times.
    #[arg(long)]
    queries: bool,
}

/// Generates the recordings of the hosts, and exports them.
pub fn run(args: &Args) -> Result<()> {
    fleet::build()?;
    let mut make = Command::new(fleet::generator());
    make.arg(&args.folder);
    for (option, number) in [
        ("--hosts", args.hosts),
        ("--seconds", args.seconds),
        ("--interval", args.interval),
        ("--seed", args.seed),
    ] {
        make.arg(option).arg(number.to_string());
    }
    if args.from_midnight {
        make.args(["--begin", "0"]);
    }
    if args.keep_recordings {
        make.arg("--keep-recordings");
    }
    run_program(&mut make)?;
    if args.queries {
        parquet::build(false)?;
        let mut ask = Command::new(fleet::python()?);
        ask.arg(root().join("xtask/src/live/fleet_queries.py")).arg(parquet::program()).arg(&args.folder);
        run_program(&mut ask)?;
    }
    Ok(())
}
