//! Archive for any Linux: the command, manual pages, completions, units for systemd, descriptions of containers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Release, processor, stage};
use crate::repository::{output_of, root, run};

/// Packs the archive `perfset-VERSION-PROCESSOR-linux.tar.gz`.
pub fn pack(release: &Release) -> Result<PathBuf> {
    let name = format!("perfset-{}-{}-linux", release.version, processor()?.rust);
    let all = release.folder("tar")?;
    let top = all.join(&name);
    stage::copy(&release.program, &top.join("bin/perfset"), 0o755)?;
    for page in stage::files(&release.texts.join("man"))? {
        stage::copy(
            &page,
            &top.join("share/man/man1").join(page.file_name().context("a page has a name")?),
            0o644,
        )?;
    }
    for (shell, folder) in [
        ("bash", "share/bash-completion/completions"),
        ("zsh", "share/zsh/site-functions"),
        ("fish", "share/fish/vendor_completions.d"),
    ] {
        for script in stage::files(&release.texts.join(shell))? {
            stage::copy(
                &script,
                &top.join(folder).join(script.file_name().context("a script has a name")?),
                0o644,
            )?;
        }
    }
    let documents = top.join("share/doc/perfset");
    for text in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        stage::copy_own(text, &documents.join(text))?;
    }
    stage::copy_own(stage::FONT_LICENCE.0, &documents.join(stage::FONT_LICENCE.1))?;
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "packaging/container", "packaging/kubernetes"]);
    git.arg("packaging/systemd").current_dir(root());
    for file in output_of(&mut git)?.lines() {
        let below = file.strip_prefix("packaging/").context("it is in packaging")?;
        stage::copy_own(file, &top.join("share/perfset").join(below))?;
    }
    stage::open_folders(&top)?;
    let archive = release.out.join(format!("{name}.tar.gz"));
    let tar = release.work.join("archive.tar");
    pack_folder(&all, &name, &tar, release.epoch)?;
    compress(&tar, &archive, release.level)?;
    Ok(archive)
}

/// Packs a directory without anything that differs from run to run: order, times, owners.
pub fn pack_folder(from: &Path, what: &str, tar: &Path, epoch: u64) -> Result<()> {
    let mut pack = Command::new("tar");
    pack.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.arg(format!("--mtime=@{epoch}")).arg("--file").arg(tar).arg("--directory").arg(from).arg(what);
    run(&mut pack)
}

/// Compresses a file without its name and time.
pub fn compress(from: &Path, to: &Path, level: u8) -> Result<()> {
    let output = std::fs::File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    run(Command::new("gzip")
        .arg(format!("-{}", level.max(1)))
        .args(["--no-name", "--stdout"])
        .arg(from)
        .stdout(output))
}
