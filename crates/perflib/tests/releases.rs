//! The C ABI of earlier releases: this library has their functions, and these headers have their declarations.
//!
//! The directory `testdata/releases` describes the files. A release adds those of its own version with the ignored
//! test, and no file there is ever changed.
#![cfg(target_os = "linux")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File with the name that programs load the library by, then its functions.
const EXPORTS: &str = "exports.txt";
/// C source that compiles only if sizes, offsets, numbers and functions are those of the release.
const DECLARATIONS: &str = "declarations.c";
/// Headers with declarations of their own.
const HEADERS: [&str; 3] = ["perflib_types.h", "perflib.h", "winperf.h"];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the name that programs load the library by, and what it exports: each symbol with its kind and version.
fn exports() -> BTreeSet<String> {
    // Beside this test, because both are built at once.
    let library = std::env::current_exe().unwrap().with_file_name("libperflib.so");
    let symbols =
        output_of(Command::new("nm").args(["-D", "--defined-only", "--with-symbol-versions"]).arg(&library));
    let symbols = symbols.lines().map(|line| line.split_once(' ').unwrap().1.to_owned());
    let dynamic = output_of(Command::new("readelf").args(["-d", "-W"]).arg(&library));
    let name =
        dynamic.lines().find_map(|line| line.split_once("(SONAME)")?.1.split_once('[')?.1.split_once(']'));
    symbols.chain([format!("SONAME {}", name.unwrap().0)]).collect()
}

/// Returns the directories `c` of the releases whose programs load this library: it has the name that they know.
fn of_releases() -> Vec<PathBuf> {
    let now = exports();
    let all = fs::read_dir(repository("testdata/releases")).unwrap();
    let all = all.map(|entry| entry.unwrap().path().join("c")).filter(|path| path.exists());
    let all: Vec<_> = all.map(|path| (fs::read_to_string(path.join(EXPORTS)).unwrap(), path)).collect();
    assert!(!all.is_empty(), "there is no release");
    let is_loaded = |exports: &str| {
        let mut names = exports.lines().filter(|line| line.starts_with("SONAME "));
        now.contains(names.next().unwrap())
    };
    all.into_iter().filter(|(exports, _)| is_loaded(exports)).map(|(_, path)| path).collect()
}

fn compile(file: &Path, options: &[&str]) -> Command {
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]).arg(repository("include"));
    command.args(options).arg(file);
    command
}

/// A library that lacks a function needs a new number behind `.so`: see `docs/versions.md`. Then it is another library.
#[test]
fn functions_of_releases_are_exported() {
    let now = exports();
    for file in of_releases().iter().map(|folder| folder.join(EXPORTS)) {
        let before = fs::read_to_string(&file).unwrap();
        let gone: Vec<_> = before.lines().filter(|line| !now.contains(*line)).collect();
        assert!(gone.is_empty() && before.lines().count() > 30, "{}: {gone:?}", file.display());
    }
}

#[test]
fn declarations_of_releases_are_unchanged() {
    for file in of_releases().iter().map(|folder| folder.join(DECLARATIONS)) {
        for mode in [&["-fsyntax-only"][..], &["-fsyntax-only", "-fshort-wchar"]] {
            output_of(&mut compile(&file, mode));
        }
    }
}

/// Returns the text of a header without comments, with each directive in one line.
fn plain(header: &str) -> String {
    let text = fs::read_to_string(repository("include").join(header)).unwrap();
    let mut parts = text.split("/*");
    let first = parts.next().unwrap().to_owned();
    let text = parts.fold(first, |text, part| text + " " + part.split_once("*/").unwrap().1);
    text.replace("\\\n", " ")
}

/// Returns the names of numbers: macros with a value, and enumerators.
fn numbers(text: &str) -> Vec<&str> {
    let macros = text.lines().filter_map(|line| line.strip_prefix("#define ")?.trim().split_once(' '));
    let is_number = |(name, value): &(&str, &str)| {
        !name.contains('(') && !name.starts_with("PERFLIB") && !value.contains('"')
    };
    let macros = macros.filter(is_number).map(|(name, _)| name);
    let bodies = text.split("typedef enum ").skip(1).map(|rest| rest.split_once('{').unwrap().1);
    let enumerators = bodies.flat_map(|body| body.split_once('}').unwrap().0.split(','));
    macros.chain(enumerators.map(|one| one.split_once('=').unwrap().0.trim())).collect()
}

/// Returns the structures, each with its fields.
fn structures(text: &str) -> Vec<(&str, Vec<&str>)> {
    text.split("typedef struct ").skip(1).map(structure).collect()
}

fn structure(text: &str) -> (&str, Vec<&str>) {
    let (body, after) = text.split_once('{').unwrap().1.split_once('}').unwrap();
    let declarations = body.split(';').filter(|one| !one.trim().is_empty());
    let mut fields: Vec<_> = declarations.map(field).collect();
    // Of two types that a condition chooses from.
    fields.dedup();
    (after.split([',', ';']).next().unwrap().trim(), fields)
}

/// Returns the name in the declaration of a field.
fn field(declaration: &str) -> &str {
    let plain = declaration.split("__attribute__").next().and_then(|text| text.split('[').next()).unwrap();
    plain.trim().rsplit([' ', '*']).next().unwrap()
}

/// Returns the declarations of functions, and the types of callbacks.
fn functions(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let statements = lines.join("\n");
    let statements = statements.split(';').map(|one| one.split_whitespace().collect::<Vec<_>>().join(" "));
    let is_type =
        |one: &str| one.starts_with("typedef") && (one.contains("(WINAPI") || one.contains("(CALLBACK"));
    statements.filter(|one| one.contains(" WINAPI Perf") || is_type(one)).collect()
}

/// Writes the files of this version.
#[test]
#[ignore = "writes files into the repository, once for each release: docs/releasing.md"]
fn files_of_this_version() {
    let folder = repository("testdata/releases").join(env!("CARGO_PKG_VERSION")).join("c");
    assert!(!folder.exists(), "{} is there, and is never changed", folder.display());
    fs::create_dir_all(&folder).unwrap();
    let lines: Vec<_> = exports().into_iter().collect();
    fs::write(folder.join(EXPORTS), lines.join("\n") + "\n").unwrap();

    // A program of this version prints the checks.
    let head = "#include <perflib.h>\n#include <winperf.h>\n";
    let mut program = format!("#include <stdio.h>\n{head}int main(void) {{\n");
    let mut declared = String::new();
    let mut check = |expression: &str| {
        let print = r#"printf("_Static_assert({} == %lld, \"\");\n", (long long)({}));"#;
        writeln!(program, "{}", print.replace("{}", expression)).unwrap();
    };
    for header in HEADERS {
        let text = plain(header);
        numbers(&text).into_iter().for_each(&mut check);
        for (structure, fields) in structures(&text) {
            check(&format!("sizeof({structure})"));
            for field in fields {
                check(&format!("offsetof({structure}, {field})"));
                check(&format!("sizeof((({structure} *)0)->{field})"));
            }
        }
        functions(&text).iter().for_each(|function| writeln!(declared, "{function};").unwrap());
    }
    program.push_str("}\n");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("releases.c");
    let printer = source.with_extension("program");
    fs::write(&source, program).unwrap();
    output_of(compile(&source, &[]).arg("-o").arg(&printer));
    let checks = output_of(&mut Command::new(&printer));
    fs::write(folder.join(DECLARATIONS), format!("{head}\n{checks}\n{declared}")).unwrap();
}
