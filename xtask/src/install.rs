//! `cargo xtask install`: the C library with its headers, for C and C++ programs to be built with.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::repository::{root, run as run_program, target};

/// Build the C library and install it with its headers, for pkg-config and CMake.
#[derive(clap::Args)]
pub struct Args {
    /// Where to: DIR/include, DIR/lib.
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
}

/// Our own headers; all of `include/windows` is the shim.
const HEADERS: [&str; 4] = ["perflib.h", "perflib_types.h", "perflib_symbols.h", "winperf.h"];

/// What the archive needs of the system: `rustc --print native-static-libs`.
const STATIC_LIBS: [&str; 7] = ["gcc_s", "util", "rt", "pthread", "m", "dl", "c"];

/// What pkg-config and CMake read: where it goes, and the template.
const PACKAGES: [(&str, &str); 4] = [
    ("pkgconfig/perflib.pc", include_str!("install/perflib.pc")),
    ("pkgconfig/perflib-windows.pc", include_str!("install/perflib-windows.pc")),
    ("cmake/perflib/perflibConfig.cmake", include_str!("install/perflibConfig.cmake")),
    ("cmake/perflib/perflibConfigVersion.cmake", include_str!("install/perflibConfigVersion.cmake")),
];

/// Runs the chore.
pub fn run(args: &Args) -> Result<()> {
    install(&args.prefix)?;
    let prefix = args.prefix.display();
    println!("installed in {prefix}; where that is not searched: PKG_CONFIG_PATH={prefix}/lib/pkgconfig");
    Ok(())
}

/// Builds and installs.
pub fn install(prefix: &Path) -> Result<()> {
    // With these crate types alone the whole program is optimised together, which an rlib beside them prevents.
    let mut build = Command::new("cargo");
    build.args(["rustc", "--release", "--locked", "--quiet", "--package", "perflib", "--lib"]);
    build.args(["--crate-type", "cdylib,staticlib"]).arg("--target-dir").arg(target().join("install"));
    run_program(build.current_dir(root()))?;

    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    for header in HEADERS {
        copy(&root().join("include").join(header), &include.join(header))?;
    }
    for header in files(&root().join("include/windows"))? {
        let name = header.file_name().context("a header has a name")?;
        copy(&header, &include.join("perflib-windows").join(name))?;
    }

    let built = target().join("install/release");
    let version = &version()?;
    let (major, _) = version.split_once('.').context("a version has parts")?;
    copy(&built.join("libperflib.so"), &lib.join(format!("libperflib.so.{version}")))?;
    link(&format!("libperflib.so.{version}"), &lib.join(format!("libperflib.so.{major}")))?;
    link(&format!("libperflib.so.{major}"), &lib.join("libperflib.so"))?;
    copy(&built.join("libperflib.a"), &lib.join("libperflib.a"))?;
    support_library(&lib.join("libperflib-windows.a"))?;

    for (place, template) in PACKAGES {
        let separator = if place.ends_with(".pc") { " -l" } else { ";" };
        let libs = format!("{}{}", separator.trim_matches([' ', ';']), STATIC_LIBS.join(separator));
        let text =
            template.replace("@VERSION@", version).replace("@MAJOR@", major).replace("@STATIC_LIBS@", &libs);
        write(&lib.join(place), text.as_bytes())?;
    }
    Ok(())
}

/// That of the workspace.
fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest: toml::Table = manifest.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no workspace.package.version")?.to_owned())
}

/// What programs with the shim's headers are linked with: C, compiled here.
fn support_library(archive: &Path) -> Result<()> {
    let folder = target().join("install/windows");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut objects = Vec::new();
    for source in files(&root().join("crates/perflib/windows"))? {
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let object = folder.join(source.file_stem().context("a source has a name")?).with_extension("o");
        let mut compile = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compile.args(["-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c"]);
        run_program(compile.arg(&source).arg("-o").arg(&object))?;
        objects.push(object);
    }
    if archive.exists() {
        fs::remove_file(archive).with_context(|| format!("cannot replace {}", archive.display()))?;
    }
    run_program(Command::new("ar").arg("rcsD").arg(archive).args(objects))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    write(to, &fs::read(from).with_context(|| format!("cannot read {}", from.display()))?)
}

/// As a new file: programs that run with the old one keep it.
fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    let folder = to.parent().context("it goes into a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    if to.symlink_metadata().is_ok() {
        fs::remove_file(to).with_context(|| format!("cannot replace {}", to.display()))?;
    }
    fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))
}

fn link(to: &str, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_ok() {
        fs::remove_file(at).with_context(|| format!("cannot replace {}", at.display()))?;
    }
    symlink(to, at).with_context(|| format!("cannot link {}", at.display()))
}
