//! `cargo xtask targets`: the command for Windows, and with `--full` crates that ask no operating system on processors
//! with another word size and byte order.
//!
//! Crates that read bytes of other machines are checked for a 32-bit target, which finds an offset that is stored in
//! too few bits. Tests on a big-endian one find bytes that are read in the processor's own order. `cargo xtask windows`
//! builds and runs what is checked here for Windows.

use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};

use crate::progress::Progress;
use crate::repository::{Package, output_of, root};
use crate::standard_library::{StandardLibrary, Use};
use crate::windows::mingw::TARGET;

const INSTALL: &str = "apt-get install --no-install-recommends qemu-user gcc-i686-linux-gnu \
    libc6-dev-i386-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross";

/// Check the command for Windows, with Debian's compiler
#[derive(clap::Args)]
pub struct Args {
    /// Check other crates for a 32-bit and a big-endian target too, and run the tests of core on both, in an emulator
    #[arg(long)]
    full: bool,
}

/// Target on another processor, with the programs that link and run its tests.
struct Target {
    triple: &'static str,
    linker: &'static str,
    emulator: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        triple: "i686-unknown-linux-gnu",
        linker: "i686-linux-gnu-gcc",
        emulator: "qemu-i386 -L /usr/i686-linux-gnu",
    },
    Target {
        triple: "s390x-unknown-linux-gnu",
        linker: "s390x-linux-gnu-gcc",
        emulator: "qemu-s390x -L /usr/s390x-linux-gnu",
    },
];

/// Crates that are checked for other processors; their dependency engine is checked with them.
const CHECKED: [&str; 2] = ["perfset-core", "perfset-log"];

/// Features of the command that are not checked for Windows: they are C code of other projects, and take long to build.
const COMPILES_C: [&str; 2] = ["sqlite", "zstd"];

/// Checks the command and the C library for Windows, and with `--full` other crates for other processors.
pub fn run(args: &Args) -> Result<()> {
    let mut progress = Progress::new(if args.full { 4 + TARGETS.len() } else { 1 });
    progress.step("checking the command and the C library for Windows");
    let library = StandardLibrary::set_up(TARGET, Use::Check)?;
    let features = features(&Package::published()?)?;
    let packages = ["--package=perfset-cli", "--package=perflib", "--no-default-features", &features];
    output_of(library.cargo("check").args(packages))?;
    println!("perfset-cli and perflib compile for Windows");
    ensure!(!has_byte_order()?, "a line is compiled for one byte order alone, which only --full checks");
    if args.full { other_processors(&mut progress) } else { Ok(()) }
}

/// Returns Cargo's option with the usual features of the command that are checked.
fn features(packages: &[Package]) -> Result<String> {
    let command = packages.iter().find(|package| package.name == "perfset-cli");
    let usual = command.and_then(|command| command.features.get("default"));
    let usual = usual.context("the command has no usual features")?.iter();
    let checked = usual.filter(|feature| !COMPILES_C.contains(&feature.as_str()));
    let checked: Vec<_> = checked.map(|feature| format!("perfset-cli/{feature}")).collect();
    Ok(format!("--features={}", checked.join(",")))
}

/// Checks crates for other processors, and runs the tests of core on each.
fn other_processors(progress: &mut Progress) -> Result<()> {
    progress.step("building the standard libraries, for checks");
    let checked = libraries(&TARGETS, Use::Check)?;
    progress.step("checking the portable crates");
    let mut check: Option<Command> = None;
    for library in &checked {
        match &mut check {
            Some(check) => library.add_to(check),
            None => check = Some(library.cargo("check")),
        }
    }
    let mut check = check.context("there is no target")?;
    output_of(check.args(CHECKED.map(|name| format!("--package={name}"))))?;
    let names = TARGETS.each_ref().map(|target| target.triple);
    println!("{} compile for {}", CHECKED.join(" and "), names.join(" and "));
    progress.step("building the standard libraries, for tests");
    for (target, library) in TARGETS.iter().zip(libraries(&TARGETS, Use::Test)?) {
        progress.step(&format!("testing on {}", target.triple));
        test(target, &library)?;
    }
    Ok(())
}

/// Returns `true` if any line of the checked crates is compiled for only one byte order.
fn has_byte_order() -> Result<bool> {
    let mut search = Command::new("git");
    search.args(["grep", "--quiet", "target_endian", "--", "crates/core", "crates/engine", "crates/log"]);
    let status = search.current_dir(root()).status().context("cannot start git")?;
    ensure!(status.code().is_some_and(|code| code < 2), "git grep: {status}");
    Ok(status.success())
}

/// Builds the standard libraries of all targets at the same time: much of each is compiled on one processor only.
fn libraries(targets: &'static [Target], purpose: Use) -> Result<Vec<StandardLibrary>> {
    thread::scope(|scope| {
        let build = |target: &'static Target| move || StandardLibrary::set_up(target.triple, purpose);
        let threads: Vec<_> = targets.iter().map(|target| scope.spawn(build(target))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panics"))?);
        joined.collect()
    })
}

/// Runs the tests of core on an emulated processor of a target.
fn test(target: &Target, library: &StandardLibrary) -> Result<()> {
    let mut test = library.cargo("test");
    test.env(library.variable("LINKER"), target.linker).env(library.variable("RUNNER"), target.emulator);
    test.env("PROPTEST_CASES", "32"); // an eighth of the usual number: an emulator is slow
    let printed = output_of(test.args(["--package=perfset-core", "--lib", "--tests"])).context(INSTALL)?;
    let results = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let passed: u32 = results.filter_map(|line| line.split(' ').next()?.parse::<u32>().ok()).sum();
    ensure!(passed > 100, "{passed} tests ran for {}: {printed}", target.triple);
    println!("{passed} tests of core pass on {}", target.triple);
    Ok(())
}
