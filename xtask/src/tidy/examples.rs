//! Check of the paths in documented examples, which users copy into a project that depends on `perfset` alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Problem;

/// Path of the manifest of the crate `perfset`, which re-exports others.
pub const FACADE: &str = "crates/perfset/Cargo.toml";

/// Returns the examples that name an inner crate, in the crates that `manifest` lists as dependencies of `perfset`.
///
/// The crate `perfset-linux` is left out: only some functions of it are part of `perfset`.
pub fn check(manifest: &str, sources: &[(PathBuf, String)]) -> Vec<Problem> {
    let names = manifest.lines().filter_map(|line| line.strip_prefix("perfset-"));
    let names = names.map(|line| line.split(['.', ' ', '=']).next().unwrap_or_default());
    let mut crates: BTreeSet<&str> = names.filter(|name| *name != "linux").collect();
    crates.insert("perfset");
    let is_re_exported = |path: &Path| {
        let folder = path.strip_prefix("crates").ok().and_then(|path| path.iter().next()?.to_str());
        folder.is_some_and(|folder| crates.contains(folder))
    };
    let files = sources.iter().filter(|(path, _)| is_re_exported(path));
    files.flat_map(|(path, text)| check_file(path, text)).collect()
}

fn check_file(path: &Path, text: &str) -> Vec<Problem> {
    let (mut problems, mut is_open) = (Vec::new(), false);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_open = false;
            continue;
        };
        if doc.trim_start().starts_with("```") {
            is_open = !is_open;
        } else if let Some(name) = inner_crate(doc).filter(|_| is_open) {
            let what = format!("an example names the crate {name}: use its path in perfset");
            problems.push(Problem::new(path, Some(number), what));
        }
    }
    problems
}

/// Returns the inner crate that a path in a line of an example begins with.
fn inner_crate(code: &str) -> Option<&str> {
    code.match_indices("perfset_").find_map(|(at, _)| {
        let rest = code.get(at..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let is_first = !code.get(..at)?.ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == '_');
        (is_first && rest.get(end..)?.starts_with("::")).then(|| rest.get(..end))?
    })
}
