//! `cargo xtask windows`: the portable crates, type-checked for Windows.
//!
//! A check needs the metadata of the target's standard library and nothing to link with. Debian has compiler, cargo and
//! the library's source of one version; the library is checked once from that source, and its metadata kept as an
//! ordinary sysroot. The crates are then checked by plain stable commands.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::repository::{output_of, root, run as run_program, target};

/// Check the portable crates for Windows.
#[derive(clap::Args)]
pub struct Args {}

const TARGET: &str = "x86_64-pc-windows-gnu";
const CRATES: [&str; 4] = ["perfset-core", "perfset-engine", "perfset-log", "perfset-manifest"];
const BIN: &str = "/usr/bin";
const STD: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";
const INSTALL: &str = "apt-get install --no-install-recommends rustc-web cargo-web rust-web-src";

/// Runs the chore.
pub fn run(_: &Args) -> Result<()> {
    for needed in [&format!("{BIN}/rustc"), &format!("{BIN}/cargo"), STD] {
        ensure!(Path::new(needed).exists(), "{needed} is missing; install it with: {INSTALL}");
    }
    let folder = target().join("windows");
    let version = output_of(debian("rustc").arg("-V")).context(INSTALL)?;
    check_std(&folder, &version)?;

    let start = Instant::now();
    let mut check = debian("cargo");
    check.args(["check", "--locked", "--target", TARGET]).current_dir(root());
    check.args(CRATES.iter().flat_map(|name| ["--package", name]));
    check.env("CARGO_TARGET_DIR", folder.join("build"));
    let sysroot = format!("--sysroot={}", folder.join("sysroot").display());
    check.env(format!("CARGO_TARGET_{}_RUSTFLAGS", TARGET.to_uppercase().replace('-', "_")), sysroot);
    run_program(&mut check)?;
    println!(
        "{} check for {TARGET} in {} s, with {}",
        CRATES.join(", "),
        start.elapsed().as_secs(),
        version.trim()
    );
    Ok(())
}

/// Makes the sysroot, unless this compiler has made it before.
fn check_std(folder: &Path, version: &str) -> Result<()> {
    let (stamp, sysroot, build) = (folder.join("stamp"), folder.join("sysroot"), folder.join("std"));
    if std::fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == version) {
        return Ok(());
    }
    let start = Instant::now();
    for old in [&sysroot, &build, &folder.join("build")] {
        if old.exists() {
            std::fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
    }
    let mut check = debian("cargo");
    check.args(["check", "--locked", "--target", TARGET, "--package", "std", "--features", "panic-unwind"]);
    check.args(["--manifest-path", STD]).arg("--target-dir").arg(&build);
    check.env("RUSTC_BOOTSTRAP", "1"); // the library itself uses what is not stable
    check.env("RUSTFLAGS", "-Zforce-unstable-if-unmarked").env("CARGO_INCREMENTAL", "0");
    run_program(&mut check).context("cannot check the standard library")?;

    let lib = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::create_dir_all(&lib).with_context(|| format!("cannot make {}", lib.display()))?;
    for entry in build.join(TARGET).join("debug/deps").read_dir()? {
        let path = entry?.path();
        if let (Some(name), true) = (path.file_name(), path.extension().is_some_and(|e| e == "rmeta")) {
            std::fs::copy(&path, lib.join(name))
                .with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    std::fs::remove_dir_all(&build)?;
    std::fs::write(&stamp, version)?;
    println!("the standard library for {TARGET} was checked in {} s", start.elapsed().as_secs());
    Ok(())
}

/// A program of Debian's, whatever other compiler runs this one.
fn debian(program: &str) -> Command {
    let mut command = Command::new(format!("{BIN}/{program}"));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{BIN}:{path}")).env("RUSTC", format!("{BIN}/rustc"));
    for foreign in
        ["RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"]
    {
        command.env_remove(foreign);
    }
    command
}
