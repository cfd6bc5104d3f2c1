//! `cargo xtask oldest`: the published crates compile with the oldest compiler, which the manifests promise in
//! `rust-version`.
//!
//! Debian 12's own packages have that compiler. They are unpacked, not installed, because Debian's security updates
//! bring a newer compiler under the same names.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::progress::Progress;
use crate::repository::{Package, output_of, root, target};

/// Check that the published crates compile with the oldest compiler that their manifests promise, from Debian 12
#[derive(clap::Args)]
pub struct Args {}

/// Compiles the published crates with the oldest compiler that their manifests promise.
pub fn run(_: &Args) -> Result<()> {
    let mut progress = Progress::new(2);
    progress.step("downloading the compiler, unless it is there");
    let compiler = OldestCompiler::set_up()?;
    progress.step("checking the published crates");
    // The interactive screens need a newer compiler, because their library does.
    let promised = promised()?;
    let is_oldest = |package: &Package| package.rust_version.as_ref() == Some(&promised);
    let (packages, newer): (Vec<_>, Vec<_>) = Package::published()?.into_iter().partition(is_oldest);
    let mut check = compiler.cargo("check");
    check.args(packages.iter().map(|package| format!("--package={}", package.name)));
    // Nothing is linked, so SQLite's C code need not be compiled.
    output_of(check.env("CC", "true").env("AR", "true"))?;
    println!("{} crates compile with {}", packages.len(), compiler.version()?.trim());
    for package in newer {
        println!("{} needs {}", package.name, package.rust_version.unwrap_or_default());
    }
    Ok(())
}

/// Directory of the unpacked Rust compiler that is the oldest supported one.
struct OldestCompiler {
    directory: PathBuf,
}

impl OldestCompiler {
    /// Downloads and unpacks the oldest supported compiler, unless that was done before.
    fn set_up() -> Result<Self> {
        let version = promised()?;
        let compiler = Self { directory: target().join("oldest") };
        if !compiler.version().is_ok_and(|found| found.contains(&version)) {
            let _ = fs::remove_dir_all(&compiler.directory); // missing at the first run
            let packages = compiler.directory.join("packages");
            fs::create_dir_all(&packages)?;
            let mut download = Command::new("apt-get");
            download.args(["download", "--quiet", "libllvm19"]).current_dir(&packages);
            download.arg(format!("libstd-rust-web-{version}"));
            download.args(["rustc-web", "libstd-rust-web-dev"].map(|name| format!("{name}={version}.*")));
            output_of(&mut download).context("cannot download Debian 12's compiler; try apt-get update")?;
            for package in fs::read_dir(&packages)? {
                let mut unpack = Command::new("dpkg-deb");
                output_of(unpack.arg("-x").arg(package?.path()).arg(compiler.directory.join("root")))?;
            }
            fs::remove_dir_all(&packages)?;
        }
        let found = compiler.version()?;
        ensure!(
            found.contains(&format!("rustc {version}.")),
            "rust-version is {version}, and CI has {found}"
        );
        Ok(compiler)
    }

    /// Returns a command of Cargo that compiles in this repository with the oldest supported compiler.
    fn cargo(&self, word: &str) -> Command {
        let mut command = Command::new("cargo");
        command.args([word, "--quiet", "--locked"]).current_dir(root());
        command.env("RUSTC", self.directory.join("root/usr/bin/rustc"));
        command.env("LD_LIBRARY_PATH", self.libraries()).env_remove("RUSTC_WRAPPER");
        command.env("CARGO_TARGET_DIR", self.directory.join("build")).env("CARGO_INCREMENTAL", "0");
        command
    }

    fn libraries(&self) -> PathBuf {
        self.directory.join(format!("root/usr/lib/{}-linux-gnu", std::env::consts::ARCH))
    }

    fn version(&self) -> Result<String> {
        let mut rustc = Command::new(self.directory.join("root/usr/bin/rustc"));
        output_of(rustc.arg("-V").env("LD_LIBRARY_PATH", self.libraries()))
    }
}

/// Returns the version of the oldest compiler that the workspace's manifest promises.
fn promised() -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("rust-version")?.as_str());
    Ok(version.context("Cargo.toml has no rust-version of the workspace")?.to_owned())
}
