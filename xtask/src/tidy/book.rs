//! Check of the documents as a book: each page is in its summary.

use std::path::{Path, PathBuf};

use super::Problem;

/// Path of the summary of the book, which mdBook reads. It renders no page that the summary lacks.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Returns the pages that the summary lacks, and those that it names and that do not exist.
pub fn check(files: &[PathBuf], summary: &str) -> Vec<Problem> {
    let links = summary.lines().zip(1..).filter_map(|(line, number)| {
        let (_, target) = line.split_once("](")?;
        Some((Path::new("docs").join(target.split(')').next()?), number))
    });
    let named: Vec<(PathBuf, usize)> = links.collect();
    let is_page = |path: &&PathBuf| {
        path.starts_with("docs")
            && path.extension().is_some_and(|end| end == "md")
            && *path != Path::new(SUMMARY)
    };
    let is_named = |path: &Path| named.iter().any(|(name, _)| name == path);
    let missing = files.iter().filter(is_page).filter(|path| !is_named(path));
    let missing = missing.map(|path| Problem::new(path, None, format!("{SUMMARY} does not link to it")));
    let gone = named.iter().filter(|(path, _)| !files.contains(path));
    let gone = gone.map(|(path, line)| {
        Problem::new(SUMMARY, Some(*line), format!("links to {}, which does not exist", path.display()))
    });
    missing.chain(gone).collect()
}
