//! Check for circles of modules: inside a crate no more than two modules use each other in a circle.
//!
//! Modules that have the same parent are compared, each with everything below it. A parent and its children are one
//! subject, so what they take from each other is no circle. A name that a parent re-exports counts as use of the module
//! that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Problem;

mod paths;
mod tokens;

use paths::{Reference, references};
use tokens::{tokens, without_tests};

/// Path of a module inside its crate; empty for the root module.
type ModulePath = Vec<String>;

/// Sibling modules of a crate, and the siblings that each of them uses.
type SiblingGraph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// Returns a problem for each circle of more than two modules in the sources of crates.
pub fn check(sources: &[(PathBuf, String)]) -> Vec<Problem> {
    let mut crates: BTreeMap<PathBuf, Vec<(ModulePath, &Path, &str)>> = BTreeMap::new();
    for (path, text) in sources {
        if let Some((root, module)) = place(path) {
            crates.entry(root).or_default().push((module, path, text));
        }
    }
    crates.values().flat_map(|files| circles(files)).collect()
}

/// Returns the crate's directory and the module's path for a source file.
fn place(path: &Path) -> Option<(PathBuf, ModulePath)> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let src = parts.iter().position(|part| *part == "src")?;
    let (name, folders) = parts.get(src + 1..)?.split_last()?;
    let mut module: ModulePath = folders.iter().map(|&folder| folder.into()).collect();
    match name.strip_suffix(".rs")? {
        "mod" => {}
        "lib" | "main" if folders.is_empty() => {}
        name => module.push(name.into()),
    }
    Some((parts.get(..src)?.iter().collect(), module))
}

/// Modules of a crate without modules for tests.
struct CrateModules<'a> {
    files: BTreeMap<ModulePath, &'a Path>,
    references: Vec<Reference>,
    /// Names that each module imports, with the paths of the imported items as written there.
    imports: BTreeMap<(ModulePath, String), Reference>,
}

/// Returns a problem for each circle of modules in a crate.
fn circles(files: &[(ModulePath, &Path, &str)]) -> Vec<Problem> {
    let mut of_tests: BTreeSet<ModulePath> = BTreeSet::new();
    let mut all = CrateModules { files: BTreeMap::new(), references: Vec::new(), imports: BTreeMap::new() };
    for (module, path, text) in files {
        let (code, tests) = without_tests(&tokens(text));
        of_tests.extend(tests.iter().map(|name| below(module, name)));
        all.files.insert(module.clone(), path);
        all.references.extend(references(module, &code));
    }
    let is_test = |module: &ModulePath| (1..=module.len()).any(|len| of_tests.contains(&module[..len]));
    all.files.retain(|module, _| !is_test(module));
    all.references.retain(|reference| !is_test(&reference.module));
    for reference in &all.references {
        if let Some(name) = &reference.imported_as {
            all.imports.insert((reference.module.clone(), name.clone()), reference.clone());
        }
    }
    let mut graph = SiblingGraph::new();
    for reference in &all.references {
        let Some(target) = all.resolve(reference, 0) else { continue };
        let shared = reference.module.iter().zip(&target).take_while(|(a, b)| a == b).count();
        // Otherwise one of them is below the other.
        if let (Some(from), Some(to)) = (reference.module.get(..=shared), target.get(..=shared)) {
            graph.entry(from.to_vec()).or_default().insert(to.to_vec());
        }
    }
    let circles = groups(&graph).into_iter().filter(|group| group.len() > 2);
    circles.map(|circle| all.problem(&circle, &graph)).collect()
}

impl CrateModules<'_> {
    /// Returns the module of the crate to which a reference leads; `None` if it leads out of the crate.
    fn resolve(&self, reference: &Reference, depth: usize) -> Option<ModulePath> {
        /// Maximum number of imports that are followed one after the other.
        const MOST: usize = 8;
        let mut now = reference.base.clone();
        for name in &reference.names {
            let child = below(&now, name);
            if self.files.contains_key(&child) {
                now = child;
            } else if let Some(import) = self.imports.get(&(now.clone(), name.clone())) {
                let is_itself = import.module == reference.module && import.names == reference.names;
                if depth >= MOST || is_itself {
                    break;
                }
                now = self.resolve(import, depth + 1)?;
            } else if now == reference.base && reference.is_relative {
                return None; // another crate, or a name of the language
            } else {
                break; // an item of that module
            }
        }
        Some(now)
    }

    /// Returns the problem that describes a circle of modules: their files, and what each of them uses of the others.
    fn problem(&self, circle: &BTreeSet<ModulePath>, graph: &SiblingGraph) -> Problem {
        let files: Vec<&Path> = circle.iter().filter_map(|module| self.files.get(module).copied()).collect();
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let mut what = format!("is in a circle of {} modules: {}", circle.len(), names.join(", "));
        for from in circle {
            let used = graph.get(from).into_iter().flatten().filter(|to| circle.contains(*to));
            let used: Vec<String> = used.map(|to| to.join("::")).collect();
            what += &format!("; {} uses {}", from.join("::"), used.join(" and "));
        }
        Problem::new(files.first().copied().unwrap_or(Path::new("")), None, what)
    }
}

fn below(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// Returns the groups of modules in which each one leads to every other, in order.
fn groups(graph: &SiblingGraph) -> Vec<BTreeSet<ModulePath>> {
    let reached = |from: &ModulePath| {
        let mut reached: BTreeSet<ModulePath> = BTreeSet::new();
        let mut next = vec![from.clone()];
        while let Some(module) = next.pop() {
            for to in graph.get(&module).into_iter().flatten() {
                if reached.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        reached
    };
    let all: BTreeMap<&ModulePath, _> = graph.keys().map(|module| (module, reached(module))).collect();
    let leads =
        |from: &ModulePath, to: &ModulePath| all.get(from).is_some_and(|reached| reached.contains(to));
    let group = |module: &&ModulePath| -> BTreeSet<ModulePath> {
        let both = graph.keys().filter(|other| leads(module, other) && leads(other, module));
        both.cloned().collect()
    };
    let groups: BTreeSet<_> = graph.keys().map(|module| group(&module)).collect();
    groups.into_iter().collect()
}

#[cfg(test)]
mod tests;
