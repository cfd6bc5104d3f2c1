//! Build script that collects the examples of the crates that `perfset` re-exports, and of the guides for
//! programmers.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let crates = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
    let mut modules = String::new();
    let facade = crates.join("perfset/Cargo.toml");
    println!("cargo::rerun-if-changed={}", facade.display());
    for name in re_exported(&fs::read_to_string(facade)?) {
        let source = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", source.display());
        let mut files = Vec::new();
        list(&source, &mut files)?;
        files.sort();
        for file in files {
            let of_crate = file.strip_prefix(&crates)?.to_string_lossy();
            let name: String =
                of_crate.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            for (line, example) in examples(&fs::read_to_string(&file)?) {
                writeln!(modules, "#[doc = {example:?}]\nmod {name}_{line} {{}}")?;
            }
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("examples.rs"), modules)?;
    Ok(())
}

/// Returns the directories of the crates whose public items are part of `perfset`, as the manifest of `perfset` lists
/// them.
///
/// The crate `perfset-linux` is left out: only some of its functions are public, and its parsers test their examples.
fn re_exported(manifest: &str) -> impl Iterator<Item = &str> {
    let names = manifest.lines().filter_map(|line| line.strip_prefix("perfset-"));
    let names = names.map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default());
    names.filter(|name| *name != "linux")
}

/// Adds the paths of all Rust files in a directory to a list.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the code blocks in the doc comments of a Rust file, with the numbers of their first lines.
fn examples(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line) in (1..).zip(source.lines()) {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            open = None; // an unfinished block is none
            continue;
        };
        let text = text.strip_prefix(' ').unwrap_or(text);
        match &mut open {
            None if text.starts_with("```") => open = Some((at, format!("{text}\n"))),
            None => {}
            Some((_, block)) => {
                block.push_str(text);
                block.push('\n');
                if text == "```" {
                    found.extend(open.take());
                }
            }
        }
    }
    found
}
