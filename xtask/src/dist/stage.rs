//! Files that several packages carry: manual pages, completions, licences.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Release;
use crate::repository::{output_of, root, run};

/// Shells that have completions, and the usual name of the script for each.
pub const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "perfset"), ("zsh", "_perfset"), ("fish", "perfset.fish")];

/// Licence of the font in the command, which must go with each copy: its path in the repository, and its usual name in
/// packages.
pub const FONT_LICENCE: (&str, &str) = ("crates/plot/font/OFL.txt", "LICENSE-FONT");

/// Makes the command write its manual pages and completions into a directory.
pub fn texts(program: &Path, texts: &Path) -> Result<()> {
    let pages = texts.join("man");
    fs::create_dir_all(&pages)?;
    output_of(Command::new(program).arg("man").arg(&pages))?;
    for (shell, name) in COMPLETIONS {
        let script = output_of(Command::new(program).args(["completions", shell]))?;
        file(&texts.join(shell).join(name), script.as_bytes(), 0o644)?;
    }
    Ok(())
}

/// Copies a file and sets its mode.
pub fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    file(to, &fs::read(from).with_context(|| format!("cannot read {}", from.display()))?, mode)
}

/// Copies a file of the repository.
pub fn copy_own(from: &str, to: &Path) -> Result<()> {
    copy(&root().join(from), to, 0o644)
}

/// Writes a file with a mode, and the directories above it.
pub fn file(to: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let folder = to.parent().context("a file has a directory")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
    fs::set_permissions(to, Permissions::from_mode(mode))?;
    Ok(())
}

/// Packs the files of a directory as a zip archive or a wheel, without anything that differs from run to run.
pub fn zip(from: &Path, archive: &Path, release: &Release) -> Result<()> {
    let mut python = Command::new("python3");
    python.arg(root().join("packaging/archive.py")).arg(from).arg(archive);
    run(python.arg(release.level.to_string()).env("SOURCE_DATE_EPOCH", release.epoch.to_string()))
}

/// Returns the files of a directory, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Gives all directories below `folder` the mode 755, whatever the file mode mask is.
pub fn open_folders(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in files(folder)? {
        if entry.is_dir() && !entry.is_symlink() {
            open_folders(&entry)?;
        }
    }
    Ok(())
}
