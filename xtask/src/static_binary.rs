//! `cargo xtask static`: builds the command as one file that runs on any Linux of its processor.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::repository::{output_of, profile_directory, root, run as run_program, target};

/// Build the command as one static file, and see that it is one.
#[derive(clap::Args)]
pub struct Args {
    /// Cargo profile of the build; `release` compiles in half the time
    #[arg(long, default_value = "dist")]
    profile: String,
}

/// Builds the command as one static file, checks that it is one, and prints its size.
pub fn run(args: &Args) -> Result<()> {
    let program = build(&args.profile, "", None)?;
    let version = output_of(Command::new(&program).arg("--version").env_clear())?;
    let size = program.metadata()?.len();
    println!("{}: {} bytes, says {:?}", program.display(), size, version.trim());
    Ok(())
}

/// Builds the command as one static file with these features besides its own, and returns its path. It names the commit
/// if there is one.
///
/// With glibc, which Rust links statically when asked. musl would do as well, but its standard library is not on every
/// machine, and built from source it wants LLVM's libunwind besides.
pub fn build(profile: &str, features: &str, commit: Option<&str>) -> Result<PathBuf> {
    let build = |word: &str, options: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.args([word, "--locked", "--package=perfset-cli", "--bin=perfset", "--profile", profile]);
        if !features.is_empty() {
            cargo.args(["--features", features]);
        }
        if let Some(commit) = commit {
            cargo.env("PERFSET_COMMIT", commit);
        }
        run_program(cargo.args(options).current_dir(root()).env_remove("RUSTFLAGS"))
    };
    // Only the last step, linking, differs from the usual build, so the crates are compiled once for both. The usual
    // one comes first and last: Cargo gives both programs the same place.
    build("build", &[])?;
    // The program relocates 80,000 addresses at its start. Their list would be a tenth of the file; packed as bits, it
    // has some kilobytes.
    let packed = "link-arg=-Wl,-z,pack-relative-relocs";
    build("rustc", &["--", "-C", "target-feature=+crt-static", "-C", packed])?;
    let directory = profile_directory(profile);
    let program = target().join("static").join(directory).join("perfset");
    std::fs::create_dir_all(program.parent().context("it is in a directory")?)?;
    std::fs::copy(target().join(directory).join("perfset"), &program)?;
    build("build", &[])?;

    check(&program)?;
    Ok(program)
}

fn check(program: &Path) -> Result<()> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let needs = needs(&bytes).with_context(|| format!("{} is no 64-bit ELF file", program.display()))?;
    ensure!(!needs.interpreter, "{} needs a dynamic loader", program.display());
    ensure!(!needs.libraries, "{} needs shared libraries", program.display());
    Ok(())
}

/// Interpreter and libraries that a program needs on the machine on which it starts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    interpreter: bool,
    libraries: bool,
}

/// Reads the needs of a program from the program headers of its ELF file. Source: `elf(5)`.
fn needs(elf: &[u8]) -> Option<Needs> {
    const PT_DYNAMIC: u64 = 2;
    const PT_INTERP: u64 = 3;
    const DT_NEEDED: u64 = 1;
    let number = |at: u64, len: usize| {
        let field = elf.get(usize::try_from(at).ok()?..)?.get(..len)?;
        Some(field.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut needs = Needs::default();
    for index in 0..count {
        let header = first.checked_add(index * size)?;
        match number(header, 4)? {
            PT_INTERP => needs.interpreter = true,
            PT_DYNAMIC => {
                // A program that is static but can be loaded anywhere has a dynamic section; it names no library.
                let (at, len) = (number(header.checked_add(8)?, 8)?, number(header.checked_add(32)?, 8)?);
                for entry in (0..len).step_by(16) {
                    needs.libraries |= number(at.checked_add(entry)?, 8)? == DT_NEEDED;
                }
            }
            _ => {}
        }
    }
    Some(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an ELF file with one program header of each kind, whose dynamic section has one entry of each tag.
    fn elf(kinds: &[u32], tags: &[u64]) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64, 0);
        elf[32..40].copy_from_slice(&64_u64.to_le_bytes());
        elf[54..56].copy_from_slice(&56_u16.to_le_bytes());
        elf[56..58].copy_from_slice(&u16::try_from(kinds.len()).unwrap().to_le_bytes());
        let dynamic_at = u64::try_from(64 + 56 * kinds.len()).unwrap();
        for kind in kinds {
            let mut header = [0; 56];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            header[8..16].copy_from_slice(&dynamic_at.to_le_bytes());
            header[32..40].copy_from_slice(&u64::try_from(16 * tags.len()).unwrap().to_le_bytes());
            elf.extend_from_slice(&header);
        }
        for tag in tags {
            elf.extend_from_slice(&[tag.to_le_bytes(), [0; 8]].concat());
        }
        elf
    }

    #[test]
    fn program_headers() {
        let needs_of = |interpreter, libraries| Some(Needs { interpreter, libraries });
        for (name, elf, want) in [
            ("static", elf(&[1, 1, 6], &[]), needs_of(false, false)),
            ("static, loaded anywhere", elf(&[1, 2], &[5, 6, 0]), needs_of(false, false)),
            ("dynamic", elf(&[6, 3, 1, 2], &[5, 1, 0]), needs_of(true, true)),
            ("a library", elf(&[1, 2], &[1, 0]), needs_of(false, true)),
            ("cut in the headers", elf(&[1, 3], &[])[..120].to_vec(), None),
            ("no program", b"#!/bin/sh".to_vec(), None),
        ] {
            assert_eq!(needs(&elf), want, "{name}");
        }
    }
}
