//! The test stand: Debian's compiler, a standard library for Windows made with it, and a Wine of our own.
//!
//! Debian has compiler, cargo and the library's source of one version; the library is built once from that source and
//! kept as an ordinary sysroot, after which all commands are plain stable ones. Compiler and library are Debian's from
//! end to end: no other one can build that source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::repository::{output_of, root, target};

const TARGET: &str = "x86_64-pc-windows-gnu";
const BIN: &str = "/usr/bin";
const WINE: &str = "/usr/lib/wine/wine64";
const STD: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";
const INSTALL: &str = "apt-get install --no-install-recommends rustc-web cargo-web rust-web-src \
    gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 wine64";

/// What a random number is in Windows from 10 on, which Wine 8 does not have; every program in Rust asks for one.
const PRNG: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
    BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return RtlGenRandom(p, (ULONG)n); }\n";

/// The stand, set up.
pub struct Stand {
    /// Where everything of it is.
    pub folder: PathBuf,
}

impl Stand {
    /// The compiler with its library, and Wine: builds what is missing of them.
    pub fn of_compiler() -> Result<Self> {
        for needed in [&format!("{BIN}/rustc"), &format!("{BIN}/cargo"), STD, WINE] {
            ensure!(Path::new(needed).exists(), "{needed} is missing; install it with: {INSTALL}");
        }
        let stand = Self { folder: target().join("windows") };
        stand.build_std()?;
        stand.make_prefix()?;
        Ok(stand)
    }

    /// That, and the programs of this source.
    pub fn set_up() -> Result<Self> {
        let started = Instant::now();
        let stand = Self::of_compiler()?;
        let ready = started.elapsed().as_secs();
        let started = Instant::now();
        output_of(stand.cargo("build").args(["--package", "perfset-cli"]))?;
        output_of(stand.cargo("rustc").args(["--package", "perflib", "--lib", "--crate-type", "cdylib"]))?;
        println!(
            "ok      the stand is set up ({ready} s), the programs are built ({} s)",
            started.elapsed().as_secs()
        );
        Ok(stand)
    }

    /// The sysroot, unless this compiler has made it before.
    fn build_std(&self) -> Result<()> {
        let version = output_of(debian("rustc").arg("-V")).context(INSTALL)?;
        let (stamp, sysroot, build) =
            (self.folder.join("stamp"), self.folder.join("sysroot"), self.folder.join("std"));
        if fs::read_to_string(&stamp).is_ok_and(|made_by| made_by == version) {
            return Ok(());
        }
        for old in [&sysroot, &build, &self.folder.join("build")] {
            if old.exists() {
                fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
            }
        }
        fs::create_dir_all(build.join("src"))?;
        let manifest = "[package]\nname = \"winstd\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
        fs::write(build.join("Cargo.toml"), manifest)?;
        fs::write(build.join("src/lib.rs"), "")?;
        let mut command = debian("cargo");
        command.args(["build", "--release", "--target", TARGET, "--target-dir", "target"]);
        command.arg("-Zbuild-std=std,panic_unwind,panic_abort,proc_macro,test").current_dir(&build);
        command.env("RUSTC_BOOTSTRAP", "1"); // the library itself uses what is not stable
        command.env("RUSTFLAGS", "-Cembed-bitcode=yes"); // for releases, which are optimized when they are linked
        output_of(&mut command).context("cannot build the standard library")?;

        let lib = sysroot.join("lib/rustlib").join(TARGET).join("lib");
        fs::create_dir_all(&lib)?;
        for entry in fs::read_dir(build.join("target").join(TARGET).join("release/deps"))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".rlib") && !name.starts_with("libwinstd") {
                fs::copy(&path, lib.join(name))?;
            }
        }
        fs::remove_dir_all(&build)?;
        fs::write(&stamp, version)?;
        Ok(())
    }

    fn prefix(&self) -> PathBuf {
        self.folder.join("prefix")
    }

    /// The folder of Windows' libraries.
    pub fn system32(&self) -> PathBuf {
        self.prefix().join("drive_c/windows/system32")
    }

    fn make_prefix(&self) -> Result<()> {
        let library = self.system32().join("bcryptprimitives.dll");
        if library.exists() {
            return Ok(());
        }
        output_of(self.wine("wineboot").arg("-i")).context("Wine cannot be set up")?;
        let source = self.folder.join("prng.c");
        fs::write(&source, PRNG)?;
        let mut compile = Command::new("x86_64-w64-mingw32-gcc");
        compile.args(["-O2", "-s", "-shared", "-o"]).arg(library).arg(source).arg("-ladvapi32");
        output_of(&mut compile).context(INSTALL).map(|_| ())
    }

    /// What was built.
    pub fn built(&self, name: &str) -> PathBuf {
        self.folder.join("build").join(TARGET).join("debug").join(name)
    }

    /// What was built with `--release`.
    pub fn release(&self, name: &str) -> PathBuf {
        self.folder.join("build").join(TARGET).join("release").join(name)
    }

    /// A program of Windows.
    pub fn wine(&self, program: &str) -> Command {
        let mut command = Command::new(WINE);
        command.arg(program);
        self.in_wine(&mut command);
        command
    }

    fn in_wine(&self, command: &mut Command) {
        command.env("WINEPREFIX", self.prefix()).env("WINEDEBUG", "-all").env_remove("DISPLAY");
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=");
    }

    fn linux(&self) -> PathBuf {
        self.folder.join("linux")
    }

    /// Cargo for Linux, with the same compiler.
    pub fn linux_cargo(&self, word: &str) -> Command {
        let mut command = debian("cargo");
        command.args([word, "--locked", "--quiet"]).current_dir(root()).env("CARGO_TARGET_DIR", self.linux());
        command
    }

    /// What that built with `--release`.
    pub fn linux_built(&self, name: &str) -> PathBuf {
        self.linux().join("release").join(name)
    }

    /// Cargo for Windows, in this repository.
    pub fn cargo(&self, word: &str) -> Command {
        let mut command = debian("cargo");
        command.args([word, "--locked", "--quiet", "--target", TARGET]).current_dir(root());
        command.env("CARGO_TARGET_DIR", self.folder.join("build")).env("CARGO_INCREMENTAL", "0");
        // Nobody looks into these programs with a debugger, and they are linked in half the time.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
        let variable =
            |name: &str| format!("CARGO_TARGET_{}_{name}", TARGET.to_uppercase().replace('-', "_"));
        command.env(variable("LINKER"), "x86_64-w64-mingw32-gcc").env(variable("RUNNER"), WINE);
        command.env(variable("RUSTFLAGS"), format!("--sysroot={}", self.folder.join("sysroot").display()));
        self.in_wine(&mut command);
        command
    }
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
