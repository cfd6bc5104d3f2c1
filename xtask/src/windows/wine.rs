//! Wine with its own directory of Windows' files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::mingw::{self, GCC};
use crate::repository::output_of;

/// Path of Debian's Wine.
pub const WINE: &str = "/usr/lib/wine/wine64";

/// Path of Wine's server, which keeps programs of a prefix together.
const SERVER: &str = "/usr/lib/wine/wineserver64";

/// C source of the random number function of Windows 10, which Wine 8 lacks; every Rust program asks for it.
const PRNG: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
    BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return RtlGenRandom(p, (ULONG)n); }\n";

/// Wine with a directory of its own, which it calls a prefix.
pub struct Wine {
    prefix: PathBuf,
}

impl Wine {
    /// Prepares Wine with a prefix, which is created if it is missing. It contains only what Wine itself writes, and
    /// the random number function that Wine lacks.
    pub fn set_up(prefix: PathBuf) -> Result<Self> {
        ensure!(Path::new(WINE).exists(), "{WINE} is missing; install it with: {} wine64", mingw::INSTALL);
        let wine = Self { prefix };
        let library = wine.system32().join("bcryptprimitives.dll");
        if !library.exists() {
            output_of(wine.run("wineboot").arg("-i")).context("Wine cannot be set up")?;
            let source = wine.prefix.join("prng.c");
            fs::write(&source, PRNG)?;
            let mut compile = Command::new(GCC);
            compile.args(["-O2", "-s", "-shared", "-o"]).arg(library).arg(source).arg("-ladvapi32");
            output_of(&mut compile).context(mingw::INSTALL)?;
        }
        Ok(wine)
    }

    /// Returns the directory of Windows' libraries.
    pub fn system32(&self) -> PathBuf {
        self.prefix.join("drive_c/windows/system32")
    }

    /// Returns a command that runs a Windows program.
    pub fn run(&self, program: &str) -> Command {
        let mut command = Command::new(WINE);
        command.arg(program);
        self.add_to(&mut command);
        command
    }

    /// Ends all programs of this prefix, those of Wine itself too.
    pub fn end(&self) -> Result<()> {
        let mut server = Command::new(SERVER);
        self.add_to(&mut server);
        // Its status says whether there was a program.
        server.arg("--kill").status().with_context(|| format!("cannot start {SERVER}")).map(drop)
    }

    /// Makes a command that starts Wine use this prefix, without windows and messages.
    pub fn add_to(&self, command: &mut Command) {
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all").env_remove("DISPLAY");
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=");
    }
}

/// Returns a path in the form that Windows programs use.
pub fn dos(path: &Path) -> String {
    format!("Z:{}", path.display())
}
