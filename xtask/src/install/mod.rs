//! `cargo xtask install`: installs the C library with its headers, for building C and C++ programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::progress::{Progress, quiet_in_logs};
use crate::repository::{output_of, root, run as run_program, target};

/// Build the C library and install it with its headers, for pkg-config and CMake.
#[derive(clap::Args)]
pub struct Args {
    /// Directory of the installation: DIR/include, DIR/lib.
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,
}

/// Headers of the C library itself; all of `include/windows` belongs to the shim for Windows sources.
const HEADERS: [&str; 4] = ["perflib.h", "perflib_types.h", "perflib_symbols.h", "winperf.h"];

/// Spellings of header names in sources for Windows, where case does not matter, and the real names. They are not in
/// the repository: some systems cannot hold both names in one directory.
const SPELLINGS: [(&str, &str); 14] = [
    ("Windows.h", "windows.h"),
    ("WinBase.h", "winbase.h"),
    ("WinNT.h", "winnt.h"),
    ("WinReg.h", "winreg.h"),
    ("WinError.h", "winerror.h"),
    ("WinPerf.h", "winperf.h"),
    ("Winperf.h", "winperf.h"),
    ("PerfLib.h", "perflib.h"),
    ("Perflib.h", "perflib.h"),
    ("StrSafe.h", "strsafe.h"),
    ("Strsafe.h", "strsafe.h"),
    ("ObjBase.h", "objbase.h"),
    ("Objbase.h", "objbase.h"),
    ("TChar.h", "tchar.h"),
];

/// System libraries that the static library needs: `rustc --print native-static-libs`, with the unwinder that static
/// programs have.
const STATIC_LIBS: [&str; 7] = ["gcc_eh", "util", "rt", "pthread", "m", "dl", "c"];

/// Files of the C library that pkg-config and CMake read: the path of each below `lib`, and its template.
const PACKAGES: [(&str, &str); 4] = [
    ("pkgconfig/perflib.pc", include_str!("perflib.pc")),
    ("pkgconfig/perflib-windows.pc", include_str!("perflib-windows.pc")),
    ("cmake/perflib/perflibConfig.cmake", include_str!("perflibConfig.cmake")),
    ("cmake/perflib/perflibConfigVersion.cmake", include_str!("perflibConfigVersion.cmake")),
];

/// Builds and installs the C library, and prints the directory of the installation.
pub fn run(args: &Args) -> Result<()> {
    install(&args.prefix)?;
    let prefix = args.prefix.display();
    println!("installed in {prefix}; where that is not searched: PKG_CONFIG_PATH={prefix}/lib/pkgconfig");
    Ok(())
}

/// Paths of the built C libraries, which are to be installed.
pub struct BuiltLibraries {
    /// Path of the shared C library.
    pub shared: PathBuf,
    /// Path of the static C library.
    pub archive: PathBuf,
}

/// Builds the C library and installs it with its headers.
pub fn install(prefix: &Path) -> Result<()> {
    let mut progress = Progress::new(4);
    progress.step("building the C library (profile dist, minutes)");
    let built = build()?;
    install_built(prefix, &built, &mut progress)
}

/// Installs the headers and the C libraries that are already built.
pub fn install_built(prefix: &Path, built: &BuiltLibraries, progress: &mut Progress) -> Result<()> {
    progress.step("copying the headers");
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    for header in HEADERS {
        copy(&root().join("include").join(header), &include.join(header))?;
    }
    let shim = include.join("perflib-windows");
    if shim.exists() {
        // It is all ours, and another version may have had other headers.
        fs::remove_dir_all(&shim).with_context(|| format!("cannot replace {}", shim.display()))?;
    }
    for header in files(&root().join("include/windows"))? {
        copy(&header, &shim.join(header.file_name().context("a header has a name")?))?;
    }
    for (spelling, header) in SPELLINGS {
        write(&shim.join(spelling), format!("#include <{header}>\n").as_bytes())?;
    }

    progress.step("copying the libraries");
    let version = &version()?;
    let (major, _) = version.split_once('.').context("a version has parts")?;
    copy(&built.shared, &lib.join(format!("libperflib.so.{version}")))?;
    link(&format!("libperflib.so.{version}"), &lib.join(format!("libperflib.so.{major}")))?;
    link(&format!("libperflib.so.{major}"), &lib.join("libperflib.so"))?;
    copy(&own_symbols_alone(&built.archive)?, &lib.join("libperflib.a"))?;
    copy(&support_library()?, &lib.join("libperflib-windows.a"))?;

    progress.step("writing the files of pkg-config and CMake");
    for (place, template) in PACKAGES {
        let libs = match place.ends_with(".pc") {
            true => STATIC_LIBS.map(|lib| format!("-l{lib}")).join(" "),
            false => STATIC_LIBS.join(";"),
        };
        let text =
            template.replace("@VERSION@", version).replace("@MAJOR@", major).replace("@STATIC_LIBS@", &libs);
        write(&lib.join(place), text.as_bytes())?;
    }
    Ok(())
}

/// Builds the C library, and returns the paths of the shared and the static library, which Cargo's output contains.
pub fn build() -> Result<BuiltLibraries> {
    // With these crate types alone the profile optimizes across crates, which an rlib beside them prevents.
    let mut build = Command::new("cargo");
    build.args(["rustc", "--profile", "dist", "--locked", "--package", "perflib", "--lib"]);
    quiet_in_logs(&mut build);
    build.args(["--crate-type", "cdylib,staticlib", "--message-format", "json-render-diagnostics"]);
    build.arg("--target-dir").arg(folder()).current_dir(root()).stderr(Stdio::inherit());
    let said = output_of(&mut build)?;
    let built = |name: &str| -> Option<PathBuf> {
        said.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let files = message.get("filenames")?.as_array()?.iter().filter_map(|file| file.as_str());
            files.map(PathBuf::from).find(|file| file.file_name().is_some_and(|file| file == name))
        })
    };
    let found = built("libperflib.so").zip(built("libperflib.a"));
    let (shared, archive) = found.context("cargo does not say where it put the library")?;
    Ok(BuiltLibraries { shared, archive })
}

fn folder() -> PathBuf {
    target().join("install")
}

/// Creates an archive with one object that exports only functions of the C library, and none of Rust's library.
/// Another archive may have functions of Rust's library too.
fn own_symbols_alone(archive: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder())?;
    let (plain, one, own) =
        (folder().join("plain.a"), folder().join("perflib.o"), folder().join("libperflib.a"));
    // What these sections hold is for compilers, and some linkers take it for an object of theirs.
    let mut strip = tool("OBJCOPY", "objcopy");
    run_program(strip.args(["-R", ".llvmbc", "-R", ".llvmcmd"]).arg(archive).arg(&plain))?;
    run_program(tool("LD", "ld").args(["-r", "--whole-archive"]).arg(&plain).arg("-o").arg(&one))?;
    let mut hide = tool("OBJCOPY", "objcopy");
    hide.args(["--wildcard", "--keep-global-symbol=Perf*", "--keep-global-symbol=perflib_*"]);
    // The reference to the unwinder's function is weak, and merged with that of others by its name.
    run_program(hide.arg("--keep-global-symbol=DW.ref.*").arg(&one))?;
    bundle(&own, &[one])?;
    Ok(own)
}

/// Returns the version of the workspace's crates.
pub fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest: toml::Table = manifest.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no workspace.package.version")?.to_owned())
}

/// Compiles the C sources that programs with the shim's headers are linked with, and returns their archive.
fn support_library() -> Result<PathBuf> {
    let (objects_folder, archive) = (folder().join("windows"), folder().join("libperflib-windows.a"));
    fs::create_dir_all(&objects_folder)?;
    let mut objects = Vec::new();
    for source in files(&root().join("crates/perflib/windows"))? {
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let name = source.file_stem().context("a source has a name")?;
        let object = objects_folder.join(name).with_extension("o");
        let mut compile = tool("CC", "cc");
        compile.args(["-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-c"]);
        run_program(compile.arg(&source).arg("-o").arg(&object))?;
        objects.push(object);
    }
    bundle(&archive, &objects)?;
    Ok(archive)
}

/// Creates an archive of these object files.
fn bundle(archive: &Path, objects: &[PathBuf]) -> Result<()> {
    if archive.exists() {
        fs::remove_file(archive).with_context(|| format!("cannot replace {}", archive.display()))?;
    }
    run_program(tool("AR", "ar").arg("rcsD").arg(archive).args(objects))
}

/// Returns a tool of the C compiler, or the command that an environment variable names instead: `CC="ccache gcc"`.
fn tool(variable: &str, usual: &str) -> Command {
    let chosen = std::env::var(variable).ok().filter(|chosen| !chosen.trim().is_empty());
    let chosen = chosen.unwrap_or_else(|| usual.to_owned());
    let mut words = chosen.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(usual));
    command.args(words);
    command
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

/// Writes an installed file and replaces the old one at once: programs that run with the old file keep it. All users
/// may read it, whatever the file mode mask is.
fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    let new = beside(to)?;
    fs::write(&new, bytes).with_context(|| format!("cannot write {}", new.display()))?;
    fs::set_permissions(&new, Permissions::from_mode(0o644))?;
    fs::rename(&new, to).with_context(|| format!("cannot write {}", to.display()))
}

fn link(to: &str, at: &Path) -> Result<()> {
    let new = beside(at)?;
    if new.symlink_metadata().is_ok() {
        fs::remove_file(&new)?;
    }
    symlink(to, &new).with_context(|| format!("cannot link {}", new.display()))?;
    fs::rename(&new, at).with_context(|| format!("cannot link {}", at.display()))
}

/// Creates the directory of an installed file, and returns a path in it for the file before it replaces the old one.
fn beside(place: &Path) -> Result<PathBuf> {
    let folder = place.parent().context("it goes into a folder")?;
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for made in missing.iter().filter(|made| !made.as_os_str().is_empty()) {
        fs::set_permissions(made, Permissions::from_mode(0o755))?;
    }
    let name = place.file_name().context("it has a name")?.to_string_lossy();
    Ok(folder.join(format!(".{name}.new")))
}
