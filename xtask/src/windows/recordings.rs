//! Check of recordings of a captured machine: one written under Wine and one on Linux, each of which both builds of
//! the command read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::stand::Stand;
use super::{both, said};

/// Commands, most of which read a recording, and a text that each prints. `LOG` stands for its name.
const READERS: [(&[&str], &str); 9] = [
    (&["list", "--log", "LOG"], "Process"),
    (&["instances", "Process", "--log", "LOG"], "nrto"),
    (&["get", r"\Process(*)\*", "--log", "LOG", "--raw", "--format", "csv"], ",Process,nrto,"),
    (&["get", r"\LogicalDisk(*)\*", "--log", "LOG", "--format", "json"], "% Free Space"),
    (&["get", r"\Memory\*", "--log", "LOG", "--summary"], "Available Bytes"),
    (&["view", "LOG", "--plain"], "_Total"),
    (&["top", "--plain", "20ms", "2"], "nrto"),
    (&["relog", "LOG", "-o", "-", "-f", "csv"], "Available Bytes"),
    (&["get", r"\No Such Set\*", "--log", "LOG"], ""),
];

/// Compares the output of Linux and Windows programs for recordings of either program, for parts of recordings, and
/// for damaged ones.
pub fn check(stand: &Stand) -> Result<String> {
    let scratch = stand.folder.join("recordings");
    let _ = fs::remove_dir_all(&scratch); // of an earlier run
    let mut values = 0;
    for (option, name) in [("--dir", "recorded"), ("-o", "recorded.perfset")] {
        // Both write the same name, each into a directory of its own.
        let [linux, windows] = written(stand, &scratch, &["record", option, name, "20ms", "3"])?;
        let cut = ["log", "cut", name, "-o", "part.perfset", "--begin", "1970-01-01T00:00:02Z"];
        // A directory of Windows and a file of Linux, so that each is read where it was not written.
        let other = if option == "--dir" { &windows } else { &linux };
        for (args, text) in READERS {
            let args: Vec<&str> = args.iter().map(|word| if *word == "LOG" { name } else { word }).collect();
            values += same(stand, &args, other, text)?;
        }
        let get = ["get", r"\Process(*)\*", "--log", name, "--raw", "--format", "csv"];
        let [of_linux, of_windows] = [&linux, &windows].map(|folder| both(stand, &get, folder, true));
        let (of_linux, of_windows) = (of_linux?, of_windows?);
        ensure!(of_linux[0].stdout == of_windows[0].stdout, "{name} has other values if Wine wrote it");
        // The second of them would replace the part of the first.
        for output in both(stand, &[&cut[..], &["--force"]].concat(), &windows, true)? {
            ensure!(output.status.success(), "{cut:?}: {}", said(&output));
        }
        let get = ["get", r"\Process(*)\*", "--log", "part.perfset", "--raw", "--format", "csv"];
        values += same(stand, &get, &windows, ",Process,nrto,")?;
    }
    let file = scratch.join("windows/recorded.perfset");
    let mut bytes = fs::read(&file)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x5A;
    fs::write(&file, bytes)?;
    let get = ["get", r"\Process(*)\*", "--log", "recorded.perfset", "--raw", "--format", "csv"];
    same(stand, &get, &scratch.join("windows"), "")?;
    let info = ["log", "info", "recorded.perfset", "--format", "json"];
    for output in both(stand, &info, &scratch.join("windows"), true)? {
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            !output.status.success() && !printed.contains("\"damage_count\":0,"),
            "no damage in {printed}"
        );
    }
    Ok(format!(": {values} lines of recordings of both systems"))
}

/// Runs a command that writes a recording, on Linux and under Wine in separate directories, and returns these.
fn written(stand: &Stand, scratch: &Path, args: &[&str]) -> Result<[PathBuf; 2]> {
    let folders = ["linux", "windows"].map(|system| scratch.join(system));
    for (folder, system) in folders.iter().zip([0, 1]) {
        fs::create_dir_all(folder)?;
        let output = super::one(stand, args, folder, true, system == 1)?;
        ensure!(output.status.success(), "{args:?}: {}", said(&output));
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(!errors.contains("warning"), "{args:?}: {errors}");
    }
    Ok(folders)
}

/// Checks that a command prints the same on Linux and under Wine, and that the output has a text. Returns the number
/// of lines.
fn same(stand: &Stand, args: &[&str], folder: &Path, text: &str) -> Result<usize> {
    let [linux, windows] = both(stand, args, folder, true)?;
    let printed =
        String::from_utf8(windows.stdout.clone()).with_context(|| format!("{args:?} prints no UTF-8"))?;
    ensure!(
        linux.status.code() == windows.status.code() && linux.stderr == windows.stderr,
        "{args:?}: {}, and on Linux {}",
        said(&windows),
        said(&linux)
    );
    ensure!(
        linux.stdout == windows.stdout,
        "{args:?} prints\n{printed}\nunder Wine, and on Linux\n{}",
        String::from_utf8_lossy(&linux.stdout)
    );
    ensure!(printed.contains(text), "{args:?} prints no {text:?}: {printed}");
    Ok(printed.lines().count())
}
