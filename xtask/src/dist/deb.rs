//! Debian packages: the command, the C library, and what programs are built with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Processor, Release, processor, stage, tarball};
use crate::install::{BuiltLibraries, build, install_built};
use crate::progress::Progress;
use crate::repository::{output_of, root, run, target};

/// Files of the command's package in `packaging`, and their places.
const FILES: [(&str, &str); 7] = [
    ("systemd/perfset-record.service", "lib/systemd/system/perfset-record.service"),
    ("systemd/perfset-serve.service", "lib/systemd/system/perfset-serve.service"),
    ("systemd/run-perfset.mount", "lib/systemd/system/run-perfset.mount"),
    ("systemd/sysusers.d/perfset.conf", "usr/lib/sysusers.d/perfset.conf"),
    ("systemd/tmpfiles.d/perfset.conf", "usr/lib/tmpfiles.d/perfset.conf"),
    ("debian/perfset-record.default", "etc/default/perfset-record"),
    ("debian/perfset-serve.default", "etc/default/perfset-serve"),
];

/// Packs `perfset`: the command, its services and their options.
pub fn command(release: &Release) -> Result<PathBuf> {
    let package = Package::new(release, "perfset")?;
    let tree = &package.tree;
    stage::copy(&release.program, &tree.join("usr/bin/perfset"), 0o755)?;
    for page in stage::files(&release.texts.join("man"))? {
        let name = page.file_name().context("a page has a name")?.to_string_lossy().into_owned();
        let to = tree.join("usr/share/man/man1").join(format!("{name}.gz"));
        compressed(&page, &to)?;
    }
    for (shell, folder) in [
        ("bash", "usr/share/bash-completion/completions"),
        ("zsh", "usr/share/zsh/vendor-completions"),
        ("fish", "usr/share/fish/vendor_completions.d"),
    ] {
        for script in stage::files(&release.texts.join(shell))? {
            let name = script.file_name().context("a script has a name")?;
            stage::copy(&script, &tree.join(folder).join(name), 0o644)?;
        }
    }
    for (from, to) in FILES {
        stage::copy_own(&format!("packaging/{from}"), &tree.join(to))?;
    }
    stage::file(
        &tree.join("DEBIAN/conffiles"),
        b"/etc/default/perfset-record\n/etc/default/perfset-serve\n",
        0o644,
    )?;
    for script in ["postinst", "prerm", "postrm"] {
        let from = root().join(format!("packaging/debian/perfset.{script}"));
        stage::copy(&from, &tree.join("DEBIAN").join(script), 0o755)?;
    }
    package.finish()
}

/// Packs `libperflib0`: the shared library.
pub fn library(release: &Release) -> Result<PathBuf> {
    let package = Package::new(release, "libperflib0")?;
    let installed = installed(release)?;
    let to = package.tree.join("usr/lib").join(triplet(package.processor));
    let names = stage::files(&installed.join("lib"))?;
    // The file and the link of its major version; the third name is for compilers.
    for from in names.iter().filter(|name| name.to_string_lossy().contains(".so.")) {
        copy_or_link(from, &to)?;
    }
    let file = names.iter().find(|name| !name.is_symlink() && name.to_string_lossy().contains(".so."));
    let file = file.context("the library is installed")?.file_name().context("it has a name")?;
    run(Command::new("strip").arg("--strip-unneeded").arg(to.join(file)))?;
    let control = package.tree.join("DEBIAN");
    let shlibs = format!("libperflib 0 libperflib0 (>= {})\n", release.version);
    stage::file(&control.join("shlibs"), shlibs.as_bytes(), 0o644)?;
    stage::file(&control.join("triggers"), b"activate-noawait ldconfig\n", 0o644)?;
    package.finish()
}

/// Packs `libperflib-dev`: headers, archives, and files for pkg-config and CMake.
pub fn development(release: &Release) -> Result<PathBuf> {
    let package = Package::new(release, "libperflib-dev")?;
    let (usr, triplet) = (package.tree.join("usr"), triplet(package.processor));
    let installed = installed(release)?;
    let lib = usr.join("lib").join(&triplet);
    copy_tree(&installed.join("include"), &usr.join("include"))?;
    for name in ["libperflib.so", "libperflib.a", "libperflib-windows.a"] {
        copy_or_link(&installed.join("lib").join(name), &lib)?;
    }
    for archive in ["libperflib.a", "libperflib-windows.a"] {
        let mut strip = Command::new("strip");
        run(strip.args(["--strip-debug", "--enable-deterministic-archives"]).arg(lib.join(archive)))?;
    }
    // One directory deeper than below the prefix of `cargo xtask install`.
    for (below, from, to) in [
        ("pkgconfig", "prefix=${pcfiledir}/../..".to_owned(), "prefix=/usr".to_owned()),
        ("pkgconfig", "libdir=${prefix}/lib".to_owned(), format!("libdir=${{prefix}}/lib/{triplet}")),
        ("cmake/perflib", "/../../..\"".to_owned(), "/../../../..\"".to_owned()),
        ("cmake/perflib", "}/lib/".to_owned(), format!("}}/lib/{triplet}/")),
    ] {
        let mut changed = 0_usize;
        if !lib.join(below).exists() {
            copy_tree(&installed.join("lib").join(below), &lib.join(below))?;
        }
        for file in stage::files(&lib.join(below))? {
            let text = fs::read_to_string(&file)?;
            changed += text.matches(&from).count();
            stage::file(&file, text.replace(&from, &to).as_bytes(), 0o644)?;
        }
        ensure!(changed > 0, "no file below lib/{below} contains {from}");
    }
    package.finish()
}

/// Returns the directory with the C library of this release, as `cargo xtask install` makes it.
fn installed(release: &Release) -> Result<PathBuf> {
    let prefix = release.work.join("prefix");
    if prefix.exists() {
        return Ok(prefix);
    }
    let release_built = |name: &str| target().join("release").join(name);
    let built = match release.profile.as_str() {
        "release" => {
            BuiltLibraries { shared: release_built("libperflib.so"), archive: release_built("libperflib.a") }
        }
        _ => build()?,
    };
    if !built.shared.exists() {
        let mut cargo = Command::new("cargo");
        run(cargo.args(["build", "--release", "--locked", "--package=perflib"]).current_dir(root()))?;
    }
    install_built(&prefix, &built, &mut Progress::new(3))?;
    Ok(prefix)
}

/// Package that is being filled.
struct Package<'a> {
    release: &'a Release,
    processor: &'static Processor,
    name: &'static str,
    tree: PathBuf,
}

impl<'a> Package<'a> {
    fn new(release: &'a Release, name: &'static str) -> Result<Self> {
        let tree = release.folder(&format!("deb-{name}"))?;
        Ok(Self { release, processor: processor()?, name, tree })
    }

    /// Adds what every package has, and packs the tree.
    fn finish(self) -> Result<PathBuf> {
        let Self { release, processor, name, tree } = self;
        let docs = tree.join("usr/share/doc").join(name);
        stage::copy_own("packaging/debian/copyright", &docs.join("copyright"))?;
        let date =
            output_of(Command::new("date").args(["-R", "-u", "-d"]).arg(format!("@{}", release.epoch)))?;
        let fill = |from: &str, size: &str| -> Result<String> {
            let path = root().join("packaging/debian").join(from);
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let text = text.replace("@VERSION@", &release.version).replace("@ARCH@", processor.debian);
            let text = text.replace("@PACKAGE@", name);
            Ok(text.replace("@DATE@", date.trim()).replace("@SIZE@", size))
        };
        let changelog = release.work.join("changelog");
        fs::write(&changelog, fill("changelog", "")?)?;
        compressed(&changelog, &docs.join("changelog.gz"))?;
        let overrides = fill("every.lintian", "")? + &own_overrides(name)?;
        stage::file(&tree.join("usr/share/lintian/overrides").join(name), overrides.as_bytes(), 0o644)?;
        let (mut bytes, mut sums) = (0_u64, Vec::new());
        for file in all_files(&tree)? {
            let below = file.strip_prefix(&tree)?;
            if below.starts_with("DEBIAN") {
                continue;
            }
            bytes += file.symlink_metadata()?.len();
            if !file.is_symlink() {
                sums.push(below.to_owned());
            }
        }
        let md5sums = output_of(Command::new("md5sum").args(&sums).current_dir(&tree))?;
        stage::file(&tree.join("DEBIAN/md5sums"), md5sums.as_bytes(), 0o644)?;
        let size = bytes.div_ceil(1024).to_string();
        stage::file(
            &tree.join("DEBIAN/control"),
            fill(&format!("{name}.control"), &size)?.as_bytes(),
            0o644,
        )?;
        stage::open_folders(&tree)?;
        let deb = release.out.join(format!("{name}_{}_{}.deb", release.version, processor.debian));
        let mut pack = Command::new("dpkg-deb");
        // zstd would be smaller, and Debian 12 is the first that reads it.
        pack.args(["--root-owner-group", "-Zxz", &format!("-z{}", release.level), "--build"])
            .arg(&tree)
            .arg(&deb);
        output_of(pack.env("SOURCE_DATE_EPOCH", release.epoch.to_string()))?;
        Ok(deb)
    }
}

/// Compresses a text as Debian wants it.
fn compressed(from: &Path, to: &Path) -> Result<()> {
    stage::file(to, b"", 0o644)?;
    tarball::compress(from, to, 9)
}

/// Returns what lintian reports about one package for a reason; empty for most.
fn own_overrides(name: &str) -> Result<String> {
    let path = root().join("packaging/debian").join(format!("{name}.lintian"));
    if !path.exists() {
        return Ok(String::new());
    }
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns Debian's name for the directory of libraries of a processor.
fn triplet(processor: &Processor) -> String {
    format!("{}-linux-gnu", processor.rust)
}

/// Returns the files below a directory, links included.
fn all_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in stage::files(folder)? {
        match entry.is_dir() && !entry.is_symlink() {
            true => all.extend(all_files(&entry)?),
            false => all.push(entry),
        }
    }
    Ok(all)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for file in all_files(from)? {
        let folder = to.join(file.strip_prefix(from)?);
        copy_or_link(&file, folder.parent().context("a file has a directory")?)?;
    }
    Ok(())
}

/// Copies a file into a directory; a link stays one.
fn copy_or_link(from: &Path, folder: &Path) -> Result<()> {
    let to = folder.join(from.file_name().context("a file has a name")?);
    if from.is_symlink() {
        fs::create_dir_all(folder)?;
        return Ok(std::os::unix::fs::symlink(fs::read_link(from)?, to)?);
    }
    stage::copy(from, &to, 0o644)
}
