//! Compiler for Windows: Debian's Rust with a standard library for that target, and mingw as its linker.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::repository::{output_of, profile_directory};
use crate::standard_library::{StandardLibrary, Use};

/// Rust's name of the target.
pub const TARGET: &str = "x86_64-pc-windows-gnu";

/// C compiler, which is also the linker.
pub const GCC: &str = "x86_64-w64-mingw32-gcc";

/// Command that installs what C and C++ programs for Windows need.
pub const INSTALL: &str =
    "apt-get install --no-install-recommends gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32";

/// Compiler and linker of programs for Windows.
pub struct Mingw {
    library: StandardLibrary,
}

impl Mingw {
    /// Prepares the compiler with a library for a purpose; builds the library if it is missing.
    pub fn set_up(purpose: Use) -> Result<Self> {
        output_of(Command::new(GCC).arg("--version")).context(INSTALL)?;
        Ok(Self { library: StandardLibrary::set_up(TARGET, purpose)? })
    }

    /// Returns a command of Cargo for Windows, in this repository.
    pub fn cargo(&self, word: &str) -> Command {
        let mut command = self.library.cargo(word);
        command.env(self.library.variable("LINKER"), GCC);
        command
    }

    /// Returns the name of a variable that configures Cargo for Windows, such as `RUNNER`.
    pub fn variable(&self, name: &str) -> String {
        self.library.variable(name)
    }

    /// Returns the directory of the programs that a profile of Cargo builds.
    pub fn built(&self, profile: &str) -> PathBuf {
        self.library.built().join(profile_directory(profile))
    }
}
