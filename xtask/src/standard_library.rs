//! Standard libraries for other targets, built from Debian's source with Debian's compiler.
//!
//! Debian has compiler, cargo and the library's source of one version. A library is built once from that source and
//! kept as an ordinary sysroot, after which all commands are plain stable ones. Compiler and library are Debian's from
//! end to end: no other one can build that source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::repository::{output_of, root, target};

const BIN: &str = "/usr/bin";
const SOURCE: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";
/// Cargo option that builds all standard crates that a program or a test can need.
const ALL: &str = "-Zbuild-std=std,panic_unwind,panic_abort,proc_macro,test";
const INSTALL: &str = "apt-get install --no-install-recommends rustc-web cargo-web rust-web-src";

/// Purpose of a standard library, which decides how much of it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Purpose of checking code: the library has metadata only, so no program can be linked.
    Check,
    /// Purpose of tests: the library is hardly optimized.
    Test,
    /// Purpose of shipping and of measurements: the library is optimized.
    Release,
}

/// Standard library of Rust for one target, as a sysroot.
#[derive(Clone, Debug)]
pub struct StandardLibrary {
    target: &'static str,
    sysroot: PathBuf,
}

impl StandardLibrary {
    /// Builds a standard library for a target, unless this compiler has built it before.
    pub fn set_up(target: &'static str, purpose: Use) -> Result<Self> {
        for needed in [&format!("{BIN}/rustc"), &format!("{BIN}/cargo"), SOURCE] {
            ensure!(Path::new(needed).exists(), "{needed} is missing; install it with: {INSTALL}");
        }
        let version = output_of(debian("rustc").arg("-V")).context(INSTALL)?;
        let directory = directory().join(format!("{target}-{purpose:?}").to_lowercase());
        let (stamp, sysroot) = (directory.join("stamp"), directory.join("sysroot"));
        if !fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == version) {
            let _ = fs::remove_dir_all(&directory); // missing at the first run
            let package = directory.join("package");
            fs::create_dir_all(package.join("src"))?;
            compile(target, purpose, &package, &sysroot)?;
            fs::remove_dir_all(&package)?;
            fs::write(&stamp, version)?;
        }
        Ok(Self { target, sysroot })
    }

    /// Returns a command of Cargo for the library's target, in this repository.
    pub fn cargo(&self, word: &str) -> Command {
        let mut command = debian("cargo");
        command.args([word, "--locked", "--quiet"]).current_dir(root());
        command.env("CARGO_TARGET_DIR", build_directory()).env("CARGO_INCREMENTAL", "0");
        // These programs run without a debugger, and are linked in half the time.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
        self.add_to(&mut command);
        command
    }

    /// Adds the library's target and sysroot to a command of Cargo.
    pub fn add_to(&self, command: &mut Command) {
        command.args(["--target", self.target]);
        command.env(self.variable("RUSTFLAGS"), format!("--sysroot={}", self.sysroot.display()));
    }

    /// Returns the name of an environment variable that configures Cargo for the target, such as that of `LINKER`.
    pub fn variable(&self, name: &str) -> String {
        format!("CARGO_TARGET_{}_{name}", self.target.to_uppercase().replace('-', "_"))
    }

    /// Returns the directory in which Cargo builds programs for the library's target.
    pub fn built(&self) -> PathBuf {
        build_directory().join(self.target)
    }
}

/// Compiles the standard library, as dependencies of an empty package, and copies it into a sysroot.
fn compile(target: &str, purpose: Use, package: &Path, sysroot: &Path) -> Result<()> {
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n\
        [profile.dev]\ndebug = false\nopt-level = 1\n";
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::write(package.join("src/lib.rs"), "")?;
    let (options, flags): (&[&str], _) = match purpose {
        Use::Check => (&["check", "-Zbuild-std=std,panic_unwind"], "-Zno-codegen"),
        Use::Test => (&["build", ALL], ""),
        // Programs may be optimized when they are linked.
        Use::Release => (&["build", ALL, "--release"], "-Cembed-bitcode=yes"),
    };
    let mut command = debian("cargo");
    command.args(options).args(["--target", target, "--target-dir", "target"]).current_dir(package);
    command.env("RUSTC_BOOTSTRAP", "1"); // the library itself uses what is not stable
    output_of(command.env("RUSTFLAGS", flags).env("CARGO_INCREMENTAL", "0"))
        .with_context(|| format!("cannot build the standard library for {target}"))?;

    let lib = sysroot.join("lib/rustlib").join(target).join("lib");
    fs::create_dir_all(&lib)?;
    let profile = if purpose == Use::Release { "release" } else { "debug" };
    let end = if purpose == Use::Check { ".rmeta" } else { ".rlib" };
    for entry in fs::read_dir(package.join("target").join(target).join(profile).join("deps"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(end) && !name.starts_with("libempty") {
            fs::copy(&path, lib.join(name))?;
        }
    }
    Ok(())
}

/// Returns the directory for all files that Debian's compiler builds.
fn directory() -> PathBuf {
    target().join("debian")
}

/// Returns the target directory of Cargo that all library targets share, so that build scripts and macros are built
/// once.
fn build_directory() -> PathBuf {
    directory().join("build")
}

/// Returns a command of Debian's Rust tools, even if another compiler runs this program.
pub fn debian(program: &str) -> Command {
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
