//! `cargo xtask windows`: builds the project for Windows, and tests it under Wine.
//!
//! Serial and bounded, as the live tests, of which this is one. What runs under Wine stands beside the same on Linux
//! wherever both must give the same.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::repository::{output_of, root, run as run_program, target};
use crate::standard_library::Use;
use mingw::GCC;
use stand::Stand;
use wine::dos;

pub mod mingw;
mod recordings;
mod screens;
mod stand;
pub mod wine;

/// Build for Windows, and test under Wine.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Only the checks whose names contain this.
    #[arg(long, value_name = "WORDS")]
    pub only: Option<String>,
    /// The tests of all portable crates, with all cases of property tests.
    #[arg(long)]
    pub full: bool,
    /// No checks: a bench of what both systems have (decode, v1-decode, encode), on Linux and under Wine in turn.
    #[arg(long, value_name = "WORD")]
    pub bench: Option<String>,
}

type Check = fn(&Stand) -> Result<String>;

const CHECKS: [(&str, Check); 8] = [
    ("the portable crates' tests pass", portable),
    ("the system's functions and a V1 provider are asked, lies are refused", system),
    ("the command prints what it prints on Linux", command),
    ("screens, tables and searches are those on Linux", screens::check),
    ("recordings of both systems are read alike", recordings::check),
    ("the command says what this system does not have", absent),
    ("the command ends quietly on Ctrl+C", interrupt),
    ("a C++ consumer runs with our library", consumer),
];

/// Names of portable crates that use functions and paths of Windows: their tests always run.
const WITH_SYSTEM: [&str; 2] = ["perfset-manifest", "perfset-windows"];

/// Names of other portable crates, whose tests run with `--full`. The results of most depend on their input alone.
/// `log` and `output` use files, and so does the command, which is always tested.
const WITH_FULL: [&str; 7] = [
    "perfset-core",
    "perfset-catalogue",
    "perfset-engine",
    "perfset-export",
    "perfset-log",
    "perfset-output",
    "perfset-plot",
];

/// Builds for Windows, and runs the tests or a bench under Wine.
pub fn run(args: &Args) -> Result<()> {
    if let Some(word) = &args.bench {
        return bench(&Stand::of_compiler(Use::Release)?, word);
    }
    run_program(Command::new("cargo").args(["build", "--release", "--quiet"]).current_dir(root()))?;
    check(args).map(|_| ())
}

/// Runs all checks of the build for Windows under Wine, one after the other.
pub fn check(args: &Args) -> Result<String> {
    let stand = Stand::set_up(args.full)?;
    let is_wanted = |name: &str| args.only.as_ref().is_none_or(|only| name.contains(only));
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in CHECKS.iter().filter(|(name, _)| is_wanted(name)) {
        let started = Instant::now();
        match check(&stand) {
            Ok(figures) => {
                passed += 1;
                println!("ok      {name}{figures} ({} s)", started.elapsed().as_secs());
            }
            Err(error) => {
                failed += 1;
                println!("FAIL    {name}: {error:#}");
            }
        }
    }
    ensure!(failed == 0, "{failed} of {} checks under Wine failed", passed + failed);
    ensure!(passed > 0, "no check has such a name");
    Ok(format!(": {passed} checks"))
}

/// Runs a bench on Linux and under Wine with the same source, compiler and options, each twice, because a machine's
/// speed drifts.
fn bench(stand: &Stand, word: &str) -> Result<()> {
    let build = ["--release", "--manifest-path", "bench/Cargo.toml"];
    output_of(stand.linux_cargo("build").args(build))?;
    output_of(stand.cargo("build").args(build))?;
    for _ in 0..2 {
        println!("Linux\n");
        run_program(Command::new(stand.linux_built("bench")).arg(word))?;
        println!("Windows (Wine)\n");
        run_program(stand.wine(&dos(&stand.release("bench.exe"))).arg(word))?;
    }
    Ok(())
}

fn portable(stand: &Stand) -> Result<String> {
    let mut test = stand.cargo("test");
    let others = WITH_FULL.iter().filter(|_| stand.full);
    let crates = WITH_SYSTEM.iter().chain(others).flat_map(|name| ["--package", name]);
    test.args(["--lib", "--tests"]).args(crates);
    if !stand.full {
        // A quarter of the usual number: what depends on the values alone is found on Linux.
        test.env("PROPTEST_CASES", "64");
    }
    let printed = output_of(&mut test)?;
    let results = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let passed: u32 = results.filter_map(|line| line.split(' ').next()?.parse::<u32>().ok()).sum();
    ensure!(passed > if stand.full { 400 } else { 70 }, "{passed} tests ran: {printed}");
    Ok(format!(": {passed} tests"))
}

/// Compiles a C library for the tests under Wine.
fn library(stand: &Stand, name: &str) -> Result<PathBuf> {
    let library = stand.folder.join(format!("{name}.dll"));
    let source = root().join(format!("crates/windows/tests/stand/{name}.c"));
    let mut compile = Command::new(GCC);
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-s", "-shared"]).arg(source).arg("-o").arg(&library);
    output_of(&mut compile).context("is Debian's gcc-mingw-w64-x86-64-win32 installed?")?;
    Ok(library)
}

fn system(stand: &Stand) -> Result<String> {
    const SERVICE: &str = r"HKLM\System\CurrentControlSet\Services\PerfsetStand\Performance";
    let provider = library(stand, "provider")?;
    fs::copy(provider, stand.system32().join("perfset_stand.dll"))?;
    for (name, value) in [
        ("Library", "perfset_stand.dll"),
        ("Open", "PerfsetOpen"),
        ("Collect", "PerfsetCollect"),
        ("Close", "PerfsetClose"),
    ] {
        registry(stand, &["add", SERVICE, "/v", name, "/t", "REG_SZ", "/d", value, "/f"])?;
    }
    let tested = (|| {
        let mut test = stand.cargo("test");
        test.args(["--package", "perfset-windows", "--test", "stand", "--"]);
        test.args(["--ignored", "--nocapture", "--test-threads", "1"]);
        test.env("STAND_PERFLIB", dos(&stand.built("perflib.dll")));
        test.env("STAND_HOSTILE", dos(&library(stand, "hostile")?));
        test.env("PERFSET_CAPTURE", dos(&capture()));
        output_of(&mut test)
    })();
    let deleted = registry(stand, &["delete", SERVICE, "/f"]);
    let printed = tested?;
    deleted?;
    let ran = printed.lines().any(|line| line.starts_with("test result: ok. 5 passed"));
    ensure!(ran, "not all tests ran: {printed}");
    let figures = printed.lines().filter_map(|line| Some(line.split_once("figure: ")?.1));
    Ok(format!(": {}", figures.collect::<Vec<_>>().join("; ")))
}

/// Changes the registry of the Wine environment. On a busy machine a program that starts while Wine's server ends has
/// failed without a word, so this is tried three times.
fn registry(stand: &Stand, args: &[&str]) -> Result<()> {
    let mut tried = Ok(());
    for seconds in [0, 2, 4] {
        sleep(Duration::from_secs(seconds));
        tried = output_of(stand.wine("reg").args(args)).map(drop);
        if tried.is_ok() {
            break;
        }
    }
    tried
}

/// Returns the path of the capture of a Windows machine that stands for the machine in tests.
fn capture() -> PathBuf {
    root().join("testdata/captures/scripted-vista")
}

/// Runs the `perfset` command on Linux and under Wine, and returns both outputs. Files are named as if they were in
/// the current directory.
fn both(stand: &Stand, args: &[&str], folder: &Path, captured: bool) -> Result<[Output; 2]> {
    Ok([one(stand, args, folder, captured, false)?, one(stand, args, folder, captured, true)?])
}

/// Runs the `perfset` command on Linux or under Wine, and returns its output.
fn one(stand: &Stand, args: &[&str], folder: &Path, captured: bool, in_wine: bool) -> Result<Output> {
    let (mut command, capture) = match in_wine {
        true => (stand.wine(&dos(&stand.built("perfset.exe"))), dos(&capture())),
        false => (Command::new(target().join("release/perfset")), capture().display().to_string()),
    };
    if captured {
        command.env("PERFSET_CAPTURE", capture);
    }
    command.env("TZ", "UTC").args(args).current_dir(folder).stdin(Stdio::null());
    command.output().with_context(|| format!("cannot start perfset {args:?}"))
}

fn command(stand: &Stand) -> Result<String> {
    let scratch = stand.folder.join("scratch");
    fs::create_dir_all(&scratch)?;
    for (from, to) in [
        ("logs/BasicPerfCounters.blg", "basic.blg"),
        ("logs/french.csv", "french.csv"),
        ("v1/process-thread.bin", "v1.bin"),
        ("v2/windows-11.bin", "v2.bin"),
    ] {
        fs::copy(root().join("testdata").join(from), scratch.join(to))?;
    }
    let hostile = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\Set(\u{1b}]0;x\u{7}\u{e9})\\Count\"\n\
        \"11/05/2026 10:00:00.000\",\"1.5\"\n";
    fs::write(scratch.join("hostile.csv"), hostile)?;
    let on_logs: [&[&str]; 9] = [
        &["dump", "v1.bin"],
        &["dump", "v2.bin", "--json"],
        &["v1", "values", "v1.bin"],
        &["log", "info", "basic.blg"],
        &["list", "--log", "basic.blg"],
        &["get", "--log", "basic.blg", r"\Processor(_Total)\% Processor Time", "--format", "csv"],
        &["list", "--log", "french.csv"],
        &["log", "info", "french.csv"],
        &["log", "info", "hostile.csv"],
    ];
    let on_capture: [&[&str]; 8] = [
        &["list"],
        &["list", "proc"],
        &["describe", "Process"],
        &["describe", "Many", "Items"],
        &["instances", "LogicalDisk"],
        &["find", "bytes"],
        &["get", r"\Process(*)\ID Process", r"\Many(*)\Items", "--raw", "--format", "csv"],
        &["get", r"\Process(*)\% Processor Time", r"\Many(*)\Items", "--format", "csv"],
    ];
    let all = on_logs.iter().map(|args| (args, false)).chain(on_capture.iter().map(|args| (args, true)));
    let mut lines = 0;
    for (args, captured) in all {
        let [linux, windows] = both(stand, args, &scratch, captured)?;
        ensure!(
            linux.status.code() == windows.status.code(),
            "{args:?}: {}, {}",
            linux.status,
            said(&windows)
        );
        ensure!(
            linux.stdout == windows.stdout,
            "{args:?} prints\n{}\nunder Wine, and on Linux\n{}",
            String::from_utf8_lossy(&windows.stdout),
            String::from_utf8_lossy(&linux.stdout)
        );
        ensure!(!windows.stdout.contains(&0x1B), "{args:?} prints an escape");
        let printed = String::from_utf8(windows.stdout).context("it is not UTF-8")?;
        ensure!(!printed.is_empty(), "{args:?} prints nothing: {}", said(&linux));
        lines += printed.lines().count();
    }
    // What is written.
    let mut files = Vec::new();
    for (program, out) in [(0, "linux.csv"), (1, "windows.csv")] {
        let _ = fs::remove_file(scratch.join(out)); // of an earlier run
        let mut command = match program {
            0 => Command::new(target().join("release/perfset")),
            _ => stand.wine(&dos(&stand.built("perfset.exe"))),
        };
        output_of(command.args(["relog", "basic.blg", "-o", out]).current_dir(&scratch))?;
        files.push(fs::read(scratch.join(out))?);
    }
    ensure!(files[0] == files[1] && files[0].len() > 10_000, "relog writes another file under Wine");
    // Over what is read, and to where nothing is kept.
    let relog = |input, output| {
        let mut relog = stand.wine(&dos(&stand.built("perfset.exe")));
        output_of(relog.args(["relog", input, "-o", output, "-f", "csv", "--force"]).current_dir(&scratch))
    };
    relog("windows.csv", "windows.csv")?;
    ensure!(fs::read(scratch.join("windows.csv"))?.len() > 10_000, "relog over its log loses it");
    relog("windows.csv", "NUL")?;
    ensure!(!scratch.join("NUL").exists(), "a device is a file under Wine");
    Ok(format!(
        ": {lines} lines of {} commands, a log of {} bytes",
        on_logs.len() + on_capture.len(),
        files[0].len()
    ))
}

fn said(output: &Output) -> String {
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// Checks that functions of Windows that Wine lacks are reported with a reason in words.
fn absent(stand: &Stand) -> Result<String> {
    let perfset = |args: &[&str]| output_of(stand.wine(&dos(&stand.built("perfset.exe"))).args(args));
    let doctor = perfset(&["doctor"])?;
    ensure!(
        doctor.contains("(Wine)") && doctor.contains("PerfEnumerateCounterSet: ERROR_CALL_NOT_IMPLEMENTED"),
        "doctor says {doctor}"
    );
    let list = perfset(&["list"])?;
    ensure!(list.contains("Perfset Engine"), "list prints {list}");
    let live = perfset(&["get", r"\Perfset Engine\Collections/sec", "1", "1"])?;
    ensure!(live.contains("Collections/sec") && live.contains("1.0"), "get prints {live}");
    let folder = stand.folder.join("capture");
    let _ = fs::remove_dir_all(&folder); // of an earlier run
    let captured = perfset(&["doctor", "--capture", &dos(&folder)])?;
    ensure!(captured.contains("6 of 8 requests"), "doctor --capture says {captured}");
    let manifest = fs::read_to_string(folder.join("manifest.txt"))?;
    ensure!(manifest.contains("120\tcountersets\n"), "the manifest says {manifest}");
    Ok(String::new())
}

fn interrupt(stand: &Stand) -> Result<String> {
    let mut command = stand.wine(&dos(&stand.built("perfset.exe")));
    command.args(["get", r"\Perfset Engine\Collections/sec", "1"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let printed = child.stdout.take().context("it has no output")?;
    let (sender, lines) = channel();
    spawn(move || {
        BufReader::new(printed).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    // The head and a value: then it waits for the next one.
    let begun = (0..3).try_for_each(|_| lines.recv_timeout(Duration::from_secs(60)).map(|_| ()));
    run_program(Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]))?;
    let output = child.wait_with_output()?;
    begun.context("it did not print three lines within a minute")?;
    ensure!(output.status.success() && output.stderr.is_empty(), "it ends with {}", said(&output));
    Ok(String::new())
}

/// Captures a machine with processors, that of the test data for Linux, into a directory.
pub fn two_nodes(folder: &Path) -> Result<()> {
    let mut capture = Command::new(target().join("release/perfset"));
    capture.args(["doctor", "--capture"]).arg(folder);
    for (variable, below) in [("PERFSET_PROC", "proc"), ("PERFSET_SYS", "sys")] {
        capture.env(variable, root().join("testdata/linux/two-nodes").join(below));
    }
    output_of(&mut capture).map(drop)
}

/// Builds a program from Microsoft's documents for Windows, with the project's C headers and library, and checks its
/// output.
fn consumer(stand: &Stand) -> Result<String> {
    let source = root().join("crates/perflib/tests/windows/cpu");
    let program = stand.folder.join("consumer.exe");
    let mut compile = Command::new("x86_64-w64-mingw32-g++");
    // What that compiler's headers lack of Windows'.
    compile.args(["-municode", "-include", "_mingw.h", "-D_Pre_maybenull_=", "-D_Post_invalid_="]);
    compile.arg("-I").arg(root().join("include")).args(["-static-libgcc", "-static-libstdc++"]);
    compile.args(["CpuPerfCounters.cpp", "CpuPerfCountersConsumer.cpp"]).current_dir(source);
    compile.arg(stand.built("libperflib.dll.a")).args(["-ladvapi32", "-o"]).arg(&program);
    output_of(&mut compile).context("is Debian's g++-mingw-w64-x86-64-win32 installed?")?;
    fs::copy(stand.built("perflib.dll"), stand.folder.join("perflib.dll"))?;
    let folder = stand.folder.join("processors");
    let _ = fs::remove_dir_all(&folder); // of an earlier run
    two_nodes(&folder)?;
    let mut run = stand.wine(&dos(&program));
    let printed = output_of(run.env("PERFSET_CAPTURE", dos(&folder)))?;
    let readings =
        printed.lines().filter(|line| line.starts_with("Reading ") && !line.contains(": 0 ")).count();
    ensure!(readings == 10, "it prints {printed}");
    ensure!(printed.contains("0,_Total") && printed.contains("1,_Total"), "it prints {printed}");
    Ok(format!(": {readings} readings"))
}
