//! Archive for Windows, unpacked by another program and used under Wine as its quick start says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::owned::Folder;
use crate::dist::{Args, Format, run as pack, zip};
use crate::install::version;
use crate::repository::{output_of, root, run as run_program};
use crate::windows::mingw::GCC;
use crate::windows::two_nodes;
use crate::windows::wine::{Wine, dos};

/// Directory that the archive is unpacked into: with a blank, and with letters of two scripts.
const UNPACKED: &str = "Zähler 日本";

/// Version of the archive that is made first, to see that the next one has its own version.
const BEFORE: &str = "0.0.9";

/// C source of a program that prints its code page, and creates a file whose name is UTF-8.
const PROBE: &str = r#"#include <stdio.h>
#include <windows.h>
int main(void) {
    FILE *file = fopen("Z\xc3\xa4hler \xe6\x97\xa5\xe6\x9c\xac.txt", "w");
    printf("%u", GetACP());
    return !file || fclose(file);
}
"#;

/// Example with a path that a batch file needs in another form: its beginning, after the command, and a text that it
/// prints.
const PERCENT: (&str, &str) = (r#"get "\Processor(_Total)"#, " 100.0             8,583");

/// Examples of the quick start, in its order: the beginning of each, after the command, and a text that it prints,
/// which is empty for an example that only writes a file. The machine is a captured one, whose values are known.
const EXAMPLES: [(&str, &str); 19] = [
    ("--version", "features: man plot publish serve settings sqlite tui zstd"),
    ("1 3", "\ncpu   ["),
    ("list", "\nMemory "),
    ("list \"proc*\"", "\nProcessor Information "),
    ("find", r"\LogicalDisk(*)\% Free Space "),
    ("describe", "Memory: Available MBytes (id "),
    ("instances", "\n0,1 "),
    PERCENT,
    (r#"get "\Process(*)"#, "  % Processor Time  Working Set  instance"),
    (
        r#"get "\Processor Information(*)"#,
        ",\"\\Processor Information(0,1)\\% Processor Time\",Processor Information,",
    ),
    ("record", "5 samples of "),
    ("log info", "samples   5"),
    ("get --log", " 8,583"),
    ("relog", ""),
    ("plot", ""),
    ("report", "report.html: "),
    ("serve --help", "Usage: perfset serve"),
    ("help get", "Usage: perfset get"),
    ("doctor", "(Wine)"),
];

/// Files that the examples write, and the beginning of each, if it is a text.
const WRITTEN: [(&str, &str); 4] = [
    ("my values.pfr", ""),
    ("my values.csv", "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\"),
    ("memory.svg", "<svg "),
    ("report.html", "<!doctype html>"),
];

/// Checks that the archive has what it should have, that its command runs in an empty Wine, and that all examples of
/// the quick start work.
pub fn check() -> Result<String> {
    let folder = Folder::new("windows-zip")?;
    let (old, new, again) = (folder.0.join("old"), folder.0.join("new"), folder.0.join("again"));
    // Between the two of one version, so that the program of each is linked anew.
    for (out, version) in [(&new, None), (&old, Some(BEFORE.to_owned())), (&again, None)] {
        let (profile, out) = ("release".to_owned(), Some(out.clone()));
        pack(&Args { out, profile, only: vec![Format::Zip], windows: false, as_version: version, level: 1 })?;
    }
    let sums = |out: &Path| fs::read_to_string(out.join("SHA256SUMS")).context("SHA256SUMS");
    ensure!(sums(&new)? == sums(&again)?, "archives of one commit differ");
    output_of(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&new))?;
    let (version, manifest) = (version()?, folder.0.join("manifest"));
    let before = unpack(&old, BEFORE, &folder.0.join("before"))?;
    resources(&before, BEFORE, &manifest)?;
    let top = unpack(&new, &version, &folder.0.join(UNPACKED))?;
    let libraries = resources(&top, &version, &manifest)?;

    let wine = Wine::set_up(folder.0.join("prefix"))?;
    let used = used(&wine, &folder.0, &top, &version);
    wine.end()?;
    let examples = used?;
    let size = new.join(format!("{}.zip", zip::name(&version))).metadata()?.len();
    Ok(format!(": {size} bytes, {examples} examples, needs {}", libraries.trim()))
}

/// Unpacks an archive with a program that did not make it, checks its files, and returns their directory.
fn unpack(out: &Path, version: &str, into: &Path) -> Result<PathBuf> {
    let name = zip::name(version);
    let archive = out.join(format!("{name}.zip"));
    let unzip = |options: &[&str]| output_of(Command::new("unzip").args(options).arg(&archive));
    let listed = unzip(&["-Z1"]).context("is Debian's unzip installed?")?;
    let files = [
        "CHANGELOG.txt",
        "LICENSE-APACHE.txt",
        "LICENSE-FONT.txt",
        "LICENSE-MIT.txt",
        "QUICKSTART.txt",
        "perfset.exe",
    ];
    let want = files.map(|file| format!("{name}/{file}"));
    ensure!(listed.lines().eq(want), "the archive has {listed}");
    fs::create_dir(into)?;
    output_of(Command::new("unzip").arg("-q").arg(&archive).arg("-d").arg(into))?;
    let top = into.join(name);
    for text in files.iter().filter(|file| file.ends_with(".txt")) {
        let bytes = fs::read(top.join(text))?;
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
        let with_return = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
        ensure!(ends > 15 && ends == with_return, "{text}: {with_return} of {ends} line ends are Windows'");
    }
    Ok(top)
}

/// Checks the resources of the unpacked command, writes its manifest, and returns the libraries that it needs.
fn resources(top: &Path, version: &str, manifest: &Path) -> Result<String> {
    let mut python = Command::new("/usr/bin/python3");
    python.arg(root().join("xtask/src/live/windows_zip.py")).arg(top.join("perfset.exe"));
    python.arg(version).arg(manifest);
    output_of(&mut python).context("is Debian's python3-pefile installed?")
}

/// Uses the unpacked archive under Wine, and returns the number of examples of its quick start.
fn used(wine: &Wine, folder: &Path, top: &Path, version: &str) -> Result<usize> {
    let perfset = |args: &[&str]| {
        let mut run = wine.run(&dos(&top.join("perfset.exe")));
        output_of(run.args(args).current_dir(top).env("LC_ALL", "C.UTF-8"))
    };
    let said = perfset(&["--version"])?;
    ensure!(said.starts_with(&format!("perfset {version}\n")), "--version prints {said:?}");
    // Wine's own functions, which give the command's own counterset alone.
    let listed = perfset(&["list"])?;
    ensure!(listed.contains("Perfset Engine"), "list prints {listed:?}");
    code_page(wine, folder)?;

    let capture = folder.join("capture");
    two_nodes(&capture)?;
    let text = fs::read_to_string(top.join("QUICKSTART.txt"))?;
    let examples = zip::examples(&text);
    typed(wine, top, &capture, &examples)?;
    ensure!(examples.len() == EXAMPLES.len(), "the quick start has {} examples", examples.len());
    for (at, (example, (beginning, want))) in examples.iter().zip(EXAMPLES).enumerate() {
        let read = |kind: &str| -> Result<String> {
            let name = format!("{kind}-{at}.txt");
            let bytes = fs::read(top.join(&name)).with_context(|| format!("{example} wrote no {name}"))?;
            String::from_utf8(bytes).with_context(|| format!("{example} does not print UTF-8"))
        };
        let (printed, code) = (read("out")?.replace('\r', ""), read("code")?);
        ensure!(code.trim() == "0", "{example} ends with {code} and prints\n{printed}");
        let args = example.strip_prefix(r".\perfset ").context("an example begins with the command")?;
        ensure!(args.starts_with(beginning), "example {at} is {example}, should begin with {beginning}");
        ensure!(printed.contains(want), "{example} prints\n{printed}");
    }
    for (file, beginning) in WRITTEN {
        let bytes = fs::read(top.join(file)).with_context(|| format!("the examples do not write {file}"))?;
        ensure!(!bytes.is_empty() && bytes.starts_with(beginning.as_bytes()), "{file} begins otherwise");
    }
    batch_file(wine, top, &capture, &examples)?;
    let file = format!("{UNPACKED}.csv");
    perfset(&["relog", "my values.csv", "-o", &file])?;
    ensure!(top.join(&file).exists(), "relog writes another file than {file}");
    Ok(examples.len())
}

/// Types the examples into a command prompt, and keeps the output and the exit code of each in files.
fn typed(wine: &Wine, top: &Path, capture: &Path, examples: &[&str]) -> Result<()> {
    let mut lines = String::new();
    for (at, example) in examples.iter().enumerate() {
        // A number directly before > would name what is redirected.
        lines += &format!("{example} > out-{at}.txt 2>&1\r\n> code-{at}.txt echo %ERRORLEVEL%\r\n");
    }
    let typed = top.join("typed.txt");
    fs::write(&typed, lines)?;
    let mut prompt = wine.run("cmd");
    prompt.current_dir(top).env("PERFSET_CAPTURE", dos(capture)).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    // It prints the directory before each line, in the code page of old consoles.
    run_program(prompt.stdin(fs::File::open(typed)?).stdout(Stdio::null()))
}

/// Runs an example in a batch file, where each `%` of a path is written twice.
fn batch_file(wine: &Wine, top: &Path, capture: &Path, examples: &[&str]) -> Result<()> {
    let example = examples.iter().find(|example| example.contains(PERCENT.0)).context("no such example")?;
    fs::write(top.join("batch.bat"), format!("@echo off\r\n{}\r\n", example.replace('%', "%%")))?;
    let mut batch = wine.run("cmd");
    batch.args(["/c", "batch.bat"]).current_dir(top).env("PERFSET_CAPTURE", dos(capture));
    let printed = output_of(batch.env("LC_ALL", "C.UTF-8").stdin(Stdio::null()))?;
    ensure!(printed.contains(PERCENT.1), "in a batch file {example} prints\n{printed}");
    Ok(())
}

/// Checks that the manifest gives a program the code page UTF-8, with a C program beside which the manifest lies.
fn code_page(wine: &Wine, folder: &Path) -> Result<()> {
    let source = folder.join("probe.c");
    fs::write(&source, PROBE)?;
    for (name, want) in [("without", "1252"), ("with", "65001")] {
        let program = folder.join(name).join("probe.exe");
        fs::create_dir(folder.join(name))?;
        output_of(Command::new(GCC).arg("-o").arg(&program).arg(&source))?;
        if name == "with" {
            fs::copy(folder.join("manifest"), program.with_extension("exe.manifest"))?;
        }
        let mut run = wine.run(&dos(&program));
        let page = output_of(run.current_dir(folder.join(name)).env("LC_ALL", "C.UTF-8"))?;
        ensure!(page == want, "{name} the manifest the code page is {page}");
        let written = folder.join(name).join(format!("{UNPACKED}.txt"));
        ensure!(written.exists() == (name == "with"), "{name} the manifest {UNPACKED}.txt is another file");
    }
    Ok(())
}
