//! `cargo xtask tidy`: checks of the repository that no compiler does.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::repository::{output_of, root};

mod book;
mod circles;
mod examples;
mod forks;
mod manifests;
mod map;
mod plain;
mod prose;
mod rules;
mod text;
#[cfg(test)]
mod tests;

/// Check what no compiler checks: the map, the book, circles of modules, manifests, origins of test data, texts
#[derive(clap::Args)]
pub struct Args {}

/// Problem that a check of the repository found in a file.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    path: PathBuf,
    /// Number of the line with the problem, counted from 1.
    line: Option<usize>,
    what: String,
}

impl Problem {
    fn new(path: impl Into<PathBuf>, line: Option<usize>, what: impl Into<String>) -> Self {
        Self { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.what),
            None => write!(f, "{}: {}", self.path.display(), self.what),
        }
    }
}

/// Runs all checks of the repository's files, and prints the problems.
pub fn run(_: &Args) -> Result<()> {
    let root = root();
    let files = files(&root)?;
    let read = |path: &Path| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let map = read(Path::new(map::MAP));
    let mut problems = map::missing_folders(&files, &map);
    problems.extend(map::wrong_items(&map, &read));
    let cargo_files = files.iter().filter(|path| path.ends_with("Cargo.toml"));
    problems.extend(cargo_files.flat_map(|path| manifests::check(path, &read(path))));
    problems.extend(origins(&files, &read));
    problems.extend(book::check(&files, &read(Path::new(book::SUMMARY))));
    let (mut sources, mut pages, mut documents) = (Vec::new(), Vec::new(), Vec::new());
    for path in &files {
        let bytes =
            std::fs::read(root.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
        if let Ok(text) = String::from_utf8(bytes) {
            problems.extend(text::check(path, &text));
            let is_catalogue =
                path.starts_with("catalog") && path.extension().is_some_and(|end| end == "toml");
            if is_catalogue || path.extension().is_some_and(|extension| extension == "rs") {
                sources.push((path.clone(), text));
            } else if path.starts_with("docs/spec") {
                pages.push((path.clone(), text));
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push((path.clone(), text));
            }
        }
    }
    problems.extend(map::wrong_unsafe_files(&sources, &map));
    problems.extend(map::wrong_layouts(&files));
    problems.extend(rules::check(&pages, &sources));
    problems.extend(examples::check(&read(Path::new(examples::FACADE)), &sources));
    problems.extend(circles::check(&sources));
    problems.extend(forks::unexplained_locks(&sources));
    for measure in plain::measure(&sources).into_iter().chain(prose::measure(&documents, &sources)) {
        println!("{measure}");
        problems.extend(measure.problem());
    }
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        count => bail!("{count} things to tidy"),
    }
}

/// Returns the files of the repository that git tracks or does not ignore, relative to the root.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root);
    let list = output_of(&mut git)?;
    let mut files: Vec<PathBuf> = list.split_terminator('\0').map(PathBuf::from).collect();
    files.retain(|path| root.join(path).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns problems for the test data without a stated origin. Test data have a README beside or above them, or a
/// first line that is a comment.
fn origins(files: &[PathBuf], read: &dyn Fn(&Path) -> String) -> Vec<Problem> {
    let is_explained = |path: &Path| {
        let above = path.ancestors().skip(1).take_while(|folder| *folder != Path::new("testdata"));
        above.map(|folder| folder.join("README.md")).any(|readme| files.binary_search(&readme).is_ok())
    };
    let data =
        files.iter().filter(|path| path.starts_with("testdata") && *path != Path::new("testdata/README.md"));
    let unexplained = data.filter(|path| !is_explained(path) && !read(path).starts_with('#'));
    let what =
        "nothing says where it comes from: no README.md beside or above it, no comment in its first line";
    unexplained.map(|path| Problem::new(path, None, what)).collect()
}
