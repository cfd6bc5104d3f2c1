//! Test environment for Windows: Debian's compiler with a standard library for Windows, and a Wine of the project's
//! own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::mingw::Mingw;
use super::wine::{WINE, Wine};
use crate::repository::{output_of, root, target};
use crate::standard_library::{Use, debian};

/// Test environment for Windows programs: a compiler and Wine.
pub struct Stand {
    /// Directory of the test environment's files.
    pub folder: PathBuf,
    /// `true` if property tests under Wine run all their cases.
    pub full: bool,
    compiler: Mingw,
    wine: Wine,
}

impl Stand {
    /// Prepares the compiler with a standard library for a purpose, and Wine; builds the missing parts.
    pub fn of_compiler(purpose: Use) -> Result<Self> {
        let folder = target().join("windows");
        fs::create_dir_all(&folder)?;
        let wine = Wine::set_up(folder.join("prefix"))?;
        Ok(Self { folder, full: false, compiler: Mingw::set_up(purpose)?, wine })
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

    /// Returns the directory of Windows' system libraries in Wine.
    pub fn system32(&self) -> PathBuf {
        self.wine.system32()
    }

    /// Returns the path of a file in the debug build for Windows.
    pub fn built(&self, name: &str) -> PathBuf {
        self.compiler.built("dev").join(name)
    }

    /// Returns the path of a file of the release build for Windows.
    pub fn release(&self, name: &str) -> PathBuf {
        self.compiler.built("release").join(name)
    }

    /// Returns a command that runs a Windows program under Wine.
    pub fn wine(&self, program: &str) -> Command {
        self.wine.run(program)
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
        let mut command = self.compiler.cargo(word);
        command.env(self.compiler.variable("RUNNER"), WINE);
        self.wine.add_to(&mut command);
        command
    }
}
