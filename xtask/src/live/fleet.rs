//! Checks of a fleet of two real and 22 generated hosts, read by Sail, DuckDB, ClickHouse and Dask; and of its guide.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::finished;
use super::owned::{Folder, Running};
use super::parquet::{program, record_another, record_twice};
use crate::repository::{root, run as run_program, target};

/// Command that installs the SQL engines from the Python Package Index, in the root directory of the repository.
const INSTALL: &str = "python3 -m venv target/engines && target/engines/bin/pip install duckdb==2.0.1 pysail==0.7.2 \
    pyspark-client==4.2.0 chdb==4.4.0 pandas pyarrow 'dask[distributed]==2026.8.0'";

/// Number of generated hosts of the fleet; the next constant is the number of seconds of each.
const HOSTS: &str = "22";
const SECONDS: &str = "900";

/// Maximum time of a Python program of the fleet's checks. A test ends itself before.
const LIMIT: Duration = Duration::from_secs(2_700);

/// Builds the program that generates recordings of hosts.
pub fn build() -> Result<()> {
    let words = ["build", "--release", "--quiet", "-p", "fleet-test"];
    run_program(Command::new("cargo").args(words).current_dir(root()))
}

/// Returns the path of the program that generates recordings of hosts.
pub fn generator() -> PathBuf {
    target().join("release/fleet")
}

/// Checks that the SQL views of a fleet have the values that the command prints, in each engine. The loss of a
/// process changes no result, and a file that is cut is named.
pub fn check() -> Result<String> {
    let folder = Folder::new("fleet")?;
    let mut make = Command::new(generator());
    make.arg(&folder.0).args(["--hosts", HOSTS, "--seconds", SECONDS, "--keep-recordings"]);
    finished(make.output().context("cannot start the generator of hosts")?)?;
    let (lake, recordings) = (folder.0.join("lake"), folder.0.join("recordings"));
    let (first, second) = (recordings.join("real1"), recordings.join("real2"));
    record_twice(&first)?;
    record_another(&second)?;
    let mut hosts = Vec::new();
    for entry in fs::read_dir(&recordings)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = match &*name {
            "real1" => fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned(),
            "real2" => "web2".to_owned(),
            _ => name,
        };
        hosts.push(format!("{name}={}", path.display()));
    }
    hosts.sort();
    ensure!(hosts.len() == 24, "{} hosts", hosts.len());
    for log in [&first, &second] {
        let mut export = Command::new(program());
        export.args(["log", "export"]).arg(log).args(["--to", "parquet", "-o"]).arg(&lake);
        finished(export.output().context("cannot start perfset log export")?)?;
    }
    let mut compare = Command::new(python()?);
    compare.arg(root().join("xtask/src/live/fleet.py")).arg(program()).arg(&folder.0).arg(&lake).args(hosts);
    let printed = finished(limited(compare, &folder.0)?)?;
    Ok(format!(": {}", printed.trim()))
}

/// Checks that everything in the guide for fleets works when it is followed literally, in each engine.
pub fn guide() -> Result<String> {
    let _ = fs::remove_dir_all(target().join("fleet")); // of an earlier check
    let folder = Folder::new("fleet-guide")?;
    // The guide's commands are found as users have them.
    let programs = folder.0.join("bin");
    fs::create_dir(&programs)?;
    std::os::unix::fs::symlink(program(), programs.join("perfset"))?;
    std::os::unix::fs::symlink(root(), folder.0.join("perfset"))?;
    let mut follow = Command::new(python()?);
    follow.arg(root().join("xtask/src/live/fleet_guide.py"));
    follow.arg(root().join("docs/guides/fleet.md")).arg(&folder.0).arg(&programs);
    let printed = finished(limited(follow, &folder.0)?)?;
    Ok(format!(": {}", printed.trim()))
}

/// Runs a program of the fleet's checks to its end, and ends it if it takes too long. What it says goes into a file
/// meanwhile, because a full pipe would stop it.
fn limited(mut command: Command, folder: &Path) -> Result<Output> {
    let (out, err) = (folder.join("printed"), folder.join("said"));
    command.stdin(Stdio::null()).stdout(fs::File::create(&out)?).stderr(fs::File::create(&err)?);
    let mut running = Running(command.spawn().context("cannot start Python")?);
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        if let Some(status) = running.0.try_wait()? {
            return Ok(Output { status, stdout: fs::read(&out)?, stderr: fs::read(&err)? });
        }
        sleep(Duration::from_millis(100));
    }
    bail!("no end after {LIMIT:?}: {}", fs::read_to_string(&err).unwrap_or_default())
}

/// Returns the path of a Python interpreter that has the SQL engines.
pub fn python() -> Result<PathBuf> {
    let python = target().join("engines/bin/python");
    let imports = "import chdb, dask.distributed, duckdb, pyarrow, pysail, pyspark";
    let asked = Command::new(&python).args(["-W", "ignore", "-c", imports]).output();
    ensure!(
        asked.is_ok_and(|has| has.status.success()),
        "the engines are missing; install them with: {INSTALL}"
    );
    Ok(python)
}
