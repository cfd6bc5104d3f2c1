//! Checks of exports into object stores: moto stands for S3, and azurite for Azure.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::finished;
use super::owned::Folder;
use super::parquet;
use crate::repository::{root, target};

/// Commands that install the servers of object stores and their clients, in the root directory of the repository.
const INSTALL: &str = "python3 -m venv target/stores && target/stores/bin/pip install 'moto[server,s3]==5.2.5' \
    azure-storage-blob==12.31.1; npm install --prefix target/azurite azurite@3.35.0";

/// Checks that the objects of each store are the files of a local export, byte for byte. Exports follow two
/// recordings, more samples, an upload that was killed, and a recorder that was killed. A store that refuses, is
/// stopped or is not there ends the export with an error that has no credentials.
pub fn check() -> Result<String> {
    let python = target().join("stores/bin/python");
    let azurite = target().join("azurite/node_modules/.bin/azurite-blob");
    let asked = Command::new(&python).args(["-c", "import azure.storage.blob, boto3, moto.server"]).output();
    let has_all = asked.is_ok_and(|has| has.status.success()) && azurite.is_file();
    ensure!(has_all, "moto or azurite is missing; install them with: {INSTALL}");
    let folder = Folder::new("stores")?;
    let program = parquet::program();
    let recorded = |name: &str, hostname: &str| -> Result<PathBuf> {
        let recording = folder.0.join(name);
        let mut recorder = Command::new("unshare");
        recorder.args(["--uts", "sh", "-c", "hostname \"$2\" && exec \"$0\" record --dir \"$1\" 200ms 8"]);
        recorder.arg(&program).arg(&recording).arg(hostname);
        finished(recorder.output().context("cannot start unshare (Debian package util-linux)")?)?;
        Ok(recording)
    };
    let (first, second) = (recorded("first", "web1")?, recorded("second", "web2")?);
    let mut compare = Command::new(python);
    compare.arg(root().join("xtask/src/live/stores.py")).arg(&program).arg(azurite);
    compare.arg(&folder.0).arg(first).arg(second);
    let printed = finished(compare.output().context("cannot start Python")?)?;
    Ok(format!(": {}", printed.trim()))
}
