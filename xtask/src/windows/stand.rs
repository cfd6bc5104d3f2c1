//! Test environment for Windows: Debian's compiler with a standard library for Windows, and a Wine of the project's
//! own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::repository::{output_of, root, target};
use crate::standard_library::{StandardLibrary, Use, debian};

const TARGET: &str = "x86_64-pc-windows-gnu";
const WINE: &str = "/usr/lib/wine/wine64";
const INSTALL: &str =
    "apt-get install --no-install-recommends gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 wine64";

/// C source of the random number function of Windows 10, which Wine 8 lacks; every Rust program calls it.
const PRNG: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
    BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return RtlGenRandom(p, (ULONG)n); }\n";

/// Test environment for Windows programs: a compiler and Wine.
pub struct Stand {
    /// Directory of the test environment's files.
    pub folder: PathBuf,
    /// `true` if property tests under Wine run all their cases.
    pub full: bool,
    library: StandardLibrary,
}

impl Stand {
    /// Prepares the compiler with a standard library for a purpose, and Wine; builds the missing parts.
    pub fn of_compiler(purpose: Use) -> Result<Self> {
        ensure!(Path::new(WINE).exists(), "{WINE} is missing; install it with: {INSTALL}");
        let library = StandardLibrary::set_up(TARGET, purpose)?;
        let stand = Self { folder: target().join("windows"), full: false, library };
        fs::create_dir_all(&stand.folder)?;
        stand.make_prefix()?;
        Ok(stand)
    }

    /// Prepares the compiler and Wine, and builds the programs of this source for Windows.
    pub fn set_up(full: bool) -> Result<Self> {
        let started = Instant::now();
        let stand = Self { full, ..Self::of_compiler(Use::Test)? };
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

    fn prefix(&self) -> PathBuf {
        self.folder.join("prefix")
    }

    /// Returns the directory of Windows' system libraries in Wine.
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

    /// Returns the path of a file in the debug build for Windows.
    pub fn built(&self, name: &str) -> PathBuf {
        self.library.built().join("debug").join(name)
    }

    /// Returns the path of a file of the release build for Windows.
    pub fn release(&self, name: &str) -> PathBuf {
        self.library.built().join("release").join(name)
    }

    /// Returns a command that runs a Windows program under Wine.
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

    /// Returns a command of Cargo for Linux, with the same compiler.
    pub fn linux_cargo(&self, word: &str) -> Command {
        let mut command = debian("cargo");
        command.args([word, "--locked", "--quiet"]).current_dir(root()).env("CARGO_TARGET_DIR", self.linux());
        command
    }

    /// Returns the path of a file in the release build for Linux.
    pub fn linux_built(&self, name: &str) -> PathBuf {
        self.linux().join("release").join(name)
    }

    /// Returns a command of Cargo for Windows, in this repository.
    pub fn cargo(&self, word: &str) -> Command {
        let mut command = self.library.cargo(word);
        command.env(self.library.variable("LINKER"), "x86_64-w64-mingw32-gcc");
        command.env(self.library.variable("RUNNER"), WINE);
        self.in_wine(&mut command);
        command
    }
}
