//! Check of ARCHITECTURE.md against the code that it describes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Problem;

/// Path of ARCHITECTURE.md, the map of the repository.
pub const MAP: &str = "ARCHITECTURE.md";

/// Returns the crates and directories of the repository that the map does not name between backquotes.
pub fn missing_folders(files: &[PathBuf], map: &str) -> Vec<Problem> {
    let first = |path: &Path, count: usize| path.iter().take(count).collect::<PathBuf>();
    let top = files.iter().filter(|path| path.iter().count() > 1).map(|path| first(path, 1));
    let crates = files.iter().filter(|path| path.starts_with("crates")).map(|path| first(path, 2));
    let mut folders: Vec<PathBuf> = top.chain(crates).collect();
    folders.retain(|folder| !folder.to_string_lossy().starts_with('.'));
    folders.sort();
    folders.dedup();
    let is_missing = |folder: &PathBuf| {
        let name = folder.display();
        !map.contains(&format!("`{name}`")) && !map.contains(&format!("`{name}/`"))
    };
    let problem = |folder: PathBuf| Problem::new(folder, None, "is not in ARCHITECTURE.md");
    folders.into_iter().filter(is_missing).map(problem).collect()
}

/// Returns the rows of the map's table of questions whose file is missing or does not define the item.
pub fn wrong_items(map: &str, read: &dyn Fn(&Path) -> String) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut count = 0_usize;
    for (line, number) in section(map, "## Where is …?") {
        let [file, item] = quoted(line)[..] else { continue };
        count += 1;
        let name = item.rsplit("::").next().unwrap_or(item);
        if !defines(&read(Path::new(file)), name) {
            problems.push(Problem::new(MAP, Some(number), format!("{file} does not define {item}")));
        }
    }
    if count == 0 {
        problems.push(Problem::new(MAP, None, "has no table of questions"));
    }
    problems
}

/// Returns the files with `unsafe` code that the map's table lacks, and those of the table that have none.
pub fn wrong_unsafe_files(sources: &[(PathBuf, String)], map: &str) -> Vec<Problem> {
    let listed: BTreeSet<PathBuf> = section(map, "## Unsafe code")
        .filter_map(|(line, _)| quoted(line).first().map(PathBuf::from))
        .filter(|path| path.starts_with("crates"))
        .collect();
    let is_source = |path: &Path| {
        let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
        path.starts_with("crates") && path.iter().any(|part| part == "src") && !is_test
    };
    let found = sources.iter().filter(|(path, text)| is_source(path) && has_unsafe(text));
    let found: BTreeSet<PathBuf> = found.map(|(path, _)| path.clone()).collect();
    let added =
        found.difference(&listed).map(|path| (path, "has unsafe code, and ARCHITECTURE.md does not list it"));
    let gone =
        listed.difference(&found).map(|path| (path, "has no unsafe code, and ARCHITECTURE.md lists it"));
    added.chain(gone).map(|(path, what)| Problem::new(path, None, what)).collect()
}

/// Returns the lines of a section of the map, and their numbers.
fn section<'a>(map: &'a str, title: &'a str) -> impl Iterator<Item = (&'a str, usize)> {
    let lines = map.lines().zip(1..).skip_while(move |(line, _)| *line != title).skip(1);
    lines.take_while(|(line, _)| !line.starts_with("## "))
}

/// Returns the file and the item in a row of the map's table: the texts between backquotes in the last two cells.
fn quoted(row: &str) -> Vec<&str> {
    let Some(cells) = row.strip_prefix('|') else { return Vec::new() };
    let cells = cells.split('|').map(str::trim);
    cells.filter_map(|cell| cell.strip_prefix('`')?.strip_suffix('`')).collect()
}

/// Returns `true` if a source file defines a function, type, constant or macro of this name, or uses such a constant.
fn defines(text: &str, name: &str) -> bool {
    let is_word = |at: usize| {
        let end = at + name.len();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let is_defined = ["fn ", "struct ", "enum ", "trait ", "const ", "static ", "id::"];
        is_defined.iter().any(|keyword| before.ends_with(keyword)) && !after.starts_with(is_part)
    };
    text.match_indices(name).any(|(at, _)| is_word(at))
}

/// Returns `true` if code, not a comment, contains the keyword `unsafe` before a block, function, implementation or
/// external block.
fn has_unsafe(text: &str) -> bool {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let uses = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"];
    code.into_iter().any(|line| uses.iter().any(|keyword| line.contains(keyword)))
}

/// Returns the module files that lie beside a directory of the same name: every module with children is `NAME/mod.rs`.
pub fn wrong_layouts(files: &[PathBuf]) -> Vec<Problem> {
    let has_children = |path: &Path| {
        let directory = path.with_extension("");
        files
            .iter()
            .any(|file| file.starts_with(&directory) && file.extension().is_some_and(|end| end == "rs"))
    };
    let modules = files.iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let wrong = modules.filter(|path| has_children(path));
    wrong
        .map(|path| Problem::new(path, None, "has a directory of its name: move it there as mod.rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn modules_have_one_layout() {
        let files =
            ["crates/a/src/b.rs", "crates/a/src/b/c.rs", "crates/a/src/d/mod.rs", "crates/a/src/d/e.rs"];
        let problems = wrong_layouts(&files.map(PathBuf::from));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, Path::new("crates/a/src/b.rs"));
    }

    #[test]
    fn the_map_names_every_folder() {
        let files = paths(&[
            "Cargo.toml",
            ".ci/run",
            "crates/core/src/lib.rs",
            "crates/cli/Cargo.toml",
            "docs/a/b.md",
        ]);
        let missing = |map: &str| -> Vec<String> {
            missing_folders(&files, map).iter().map(|problem| problem.path.display().to_string()).collect()
        };
        assert_eq!(missing(""), ["crates", "crates/cli", "crates/core", "docs"]);
        assert_eq!(missing("`crates/core/` and crates/cli, in `crates/`; `docs`"), ["crates/cli"]);
    }

    #[test]
    fn items_of_the_table_exist() {
        let read = |path: &Path| match path.to_str() {
            Some("a.rs") => "impl A {\n    pub fn matches(&self) {}\n}\npub enum Exit {".to_owned(),
            _ => String::new(),
        };
        let map = |rows: &str| {
            format!("# Map\n\n## Where is …?\n\n| Q | F | I |\n|---|---|---|\n{rows}\n## Next\n")
        };
        let wrong = |rows: &str| -> Vec<String> {
            wrong_items(&map(rows), &read).iter().map(ToString::to_string).collect()
        };
        assert_eq!(wrong("| Which? | `a.rs` | `A::matches` |\n| Codes? | `a.rs` | `Exit` |"), [""; 0]);
        assert_eq!(
            wrong("| Which? | `a.rs` | `A::match` |"),
            ["ARCHITECTURE.md:7: a.rs does not define A::match"]
        );
        assert_eq!(wrong("| Which? | `b.rs` | `Exit` |"), ["ARCHITECTURE.md:7: b.rs does not define Exit"]);
        assert_eq!(wrong(""), ["ARCHITECTURE.md: has no table of questions"]);
    }

    #[test]
    fn unsafe_files_are_listed() {
        let source = |path: &str, text: &str| (PathBuf::from(path), text.to_owned());
        let sources = [
            source("crates/a/src/b.rs", "let x = unsafe { y };"),
            source(
                "crates/a/src/c.rs",
                "// unsafe { y }\n#![deny(unsafe_code)]\n\"type typeof unsafe unsized\"",
            ),
            source("crates/a/src/tests.rs", "unsafe fn a() {}"),
            source("xtask/src/d.rs", "unsafe fn a() {}"),
        ];
        let wrong = |map: &str| -> Vec<String> {
            wrong_unsafe_files(&sources, map).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            wrong("## Unsafe code\n| `crates/a/src/b.rs` | why |\n## More\n| `crates/x.rs` | no |"),
            [""; 0]
        );
        let added = "crates/a/src/b.rs: has unsafe code, and ARCHITECTURE.md does not list it";
        let gone = "crates/a/src/c.rs: has no unsafe code, and ARCHITECTURE.md lists it";
        assert_eq!(wrong("## Unsafe code\n| `crates/a/src/c.rs` | why |"), [added, gone]);
    }
}
