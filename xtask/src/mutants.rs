//! `cargo xtask mutants`: checks that the test of all outputs finds faults that are put into a copy of the code.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::progress::Progress;
use crate::repository::{output_of, root, target};

/// Put known faults into a copy of the code, one at a time, and check that the test of all outputs finds each
#[derive(clap::Args)]
pub struct Args {
    /// Number of random machines for each fault
    #[arg(long, default_value = "200")]
    machines: u64,
}

/// Fault that is put into the code: a text of a file, and its replacement.
struct Mutant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Faults that are put into the code, one at a time. Each text occurs once in its file; if that code changes, this
/// table must change too.
const MUTANTS: [Mutant; 9] = [
    Mutant {
        name: "values are stored by position",
        file: "crates/output/src/pdh_csv.rs",
        from: "let column = series.find(position, source, v);",
        to: "let _ = series.find(position, source, v);\n            let column = Some(position);",
    },
    Mutant {
        name: "the birth is ignored",
        file: "crates/engine/src/values/mod.rs",
        from: "is_same: older.birth == head.birth(at),",
        // `|| true` is the fault itself, put into a copy of `values.rs`; no check of this file is switched off.
        to: "is_same: older.birth == head.birth(at) || true,",
    },
    Mutant {
        name: "the birth of a series on the page is ignored",
        file: "crates/web/src/sampler/series.rs",
        from: "            birth,\n            is_sum",
        to: "            birth: birth.and(None),\n            is_sum",
    },
    Mutant {
        name: "a new layout is ignored",
        file: "crates/engine/src/collect/mod.rs",
        from: "        if self.shape() {\n            self.layout = next_number();\n        }",
        to: "        let _ = self.shape();",
    },
    Mutant {
        name: "columns are swapped",
        file: "crates/output/src/pdh_csv.rs",
        from: "        (order, paths)\n",
        to: "        let mut paths: Vec<String> = paths;\n        paths.reverse();\n        (order, paths)\n",
    },
    Mutant {
        name: "instances of one name share a row",
        file: "crates/output/src/rows.rs",
        from: "            id: v.value.instance_id,\n            occurrence: v.occurrence,",
        to: "            id: None,\n            occurrence: 0,",
    },
    Mutant {
        name: "two counters of a block are swapped",
        file: "crates/engine/src/v1/answer.rs",
        from: "columns.iter().map(number).collect::<Vec<_>>()",
        to: "columns.iter().rev().map(number).collect::<Vec<_>>()",
    },
    Mutant {
        name: "what tells instances of one name apart is left out",
        file: "crates/export/src/labels.rs",
        from: "if more >= Disambiguator::Id && matches!(labels, Labels::Name(_) | Labels::Node(..)) {",
        to: "if false && more >= Disambiguator::Id && matches!(labels, Labels::Name(_) | Labels::Node(..)) {",
    },
    Mutant {
        name: "what is missing is 0",
        file: "crates/core/src/v2/raw.rs",
        from: "pub const EMPTY: Self = Self::new(0, 0);",
        to: "pub const EMPTY: Self = Self::new(8, 0);",
    },
];

/// Runs the tests on a copy of the code with each fault.
///
/// Faults are written into a copy below Cargo's target directory, never into the tree itself. The copy is made anew by
/// each run, so a run that was interrupted leaves nothing for the next one.
pub fn run(args: &Args) -> Result<()> {
    let root = root();
    let copy = target().join("mutants");
    let _ = fs::remove_dir_all(copy.join("crates")); // what is built stays: only what was changed is built anew
    copy_files(&root, &copy)?;
    let mut progress = Progress::new(MUTANTS.len() + 1);
    progress.step("testing the code as it is");
    test(&copy, args.machines).context("the code as it is")?;
    for Mutant { name, file, from, to } in &MUTANTS {
        progress.step(name);
        let file = copy.join(file);
        let text = fs::read_to_string(&file)?;
        ensure_once(name, &text, from)?;
        fs::write(&file, text.replace(from, to))?;
        // A fault that does not compile would be "found" by the compiler.
        let built = cargo_test(&copy, args.machines, &["--no-run"]);
        let found = built.is_ok().then(|| test(&copy, args.machines));
        fs::write(&file, text)?;
        built.with_context(|| format!("{name}: it does not compile"))?;
        match found {
            Some(Err(error)) => {
                let text = error.to_string();
                let Some(first) = text.lines().find(|line| line.contains("seed ")) else {
                    bail!("{name}: {text}")
                };
                println!("found: {name}\n  {first}");
            }
            _ => bail!("{name}: no output differs"),
        }
    }
    Ok(())
}

/// Returns an error unless the text that a fault replaces occurs exactly once in its file.
fn ensure_once(name: &str, text: &str, from: &str) -> Result<()> {
    ensure!(text.matches(from).count() == 1, "{name}: its file does not contain this text once:\n{from}");
    Ok(())
}

/// Copies all files of the repository that git tracks or does not ignore.
fn copy_files(root: &Path, copy: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for file in output_of(git.current_dir(root))?.split_terminator('\0') {
        let (from, to) = (root.join(file), copy.join(file));
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(copy))?;
            fs::copy(&from, &to).with_context(|| format!("cannot copy {file}"))?;
        }
    }
    Ok(())
}

/// Runs the test of all outputs in a copy of the repository. An error contains the output of the test.
fn test(copy: &Path, machines: u64) -> Result<()> {
    cargo_test(copy, machines, &[])
}

/// Runs `cargo test` of the package in a copy of the repository, with further options.
fn cargo_test(copy: &Path, machines: u64, more: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--locked", "--quiet", "--package", "outputs-test"]).args(more).current_dir(copy);
    cargo.env("PERFSET_MACHINES", machines.to_string()).env("CARGO_TARGET_DIR", copy.join("target"));
    cargo.env("RUST_BACKTRACE", "0").env("CARGO_INCREMENTAL", "1"); // the package is built once per mutant
    let output = cargo.output().context("cannot start cargo")?;
    if output.status.success() {
        return Ok(());
    }
    bail!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the texts which faults replace occur in the code. The faults themselves run only with `--full`, so
    /// a changed line would be noticed late.
    #[test]
    fn mutants_fit_the_code() {
        for Mutant { name, file, from, .. } in &MUTANTS {
            let text =
                fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            ensure_once(name, &text, from).unwrap();
        }
    }
}
