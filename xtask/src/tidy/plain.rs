//! Measures of the language: numbers of opaque comments and names, each with a limit.
//!
//! Each measure has a limit. A limit only ever falls: whoever rewrites comments lowers it in the same commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::Problem;

/// Words with which no first doc line begins: a clause follows them, which names no thing.
pub(super) const OPAQUE: [&str; 17] = [
    "What", "Whether", "Who", "Whose", "Of", "So", "As", "That", "Which", "Where", "Those", "How", "Why",
    "When", "From", "Behind", "Whoever",
];

/// Words with which few first doc lines begin: they refer to something outside the line.
const POINTING: [&str; 15] = [
    "It", "Its", "They", "Their", "One", "This", "These", "Another", "By", "In", "Also", "Only", "Since",
    "Until", "Without",
];

/// Words with which no name of a test begins.
const OPAQUE_IN_TESTS: [&str; 14] = [
    "what",
    "who",
    "whose",
    "whoever",
    "whichever",
    "that",
    "of",
    "so",
    "whether",
    "which",
    "where",
    "when",
    "how",
    "as",
];

/// Beginnings of error texts that do not name the object of the error.
const WITHOUT_OBJECT: [&str; 4] =
    ["#[error(\"it ", "#[error(\"cannot be read", "#[error(\"not a ", "#[error(\"there is "];

/// Number of lines from which on a function needs comments for its steps.
const LONG: usize = 60;

/// Maximum number of words of a first doc line that counts as short.
const SHORT: usize = 3;

/// Maximum number of examples that are printed of a measure above its limit.
const EXAMPLES: usize = 5;

/// Number of places in all files that violate one rule of the language, with its limit.
#[derive(Debug)]
pub struct Measure {
    /// Name of the measure: the kind of places that it counts.
    name: &'static str,
    /// Places that violate the rule of this measure.
    found: Vec<Problem>,
    /// Number of places that this measure has checked, with and without a violation.
    of: usize,
    /// Maximum number of violations that this measure permits.
    limit: usize,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {}, at most {}", self.name, self.found.len(), self.of, self.limit)
    }
}

impl Measure {
    pub(super) fn new(name: &'static str, limit: usize) -> Self {
        Self { name, found: Vec::new(), of: 0, limit }
    }

    pub(super) fn count(&mut self, path: &Path, line: usize, text: &str, is_found: bool) {
        self.of += 1;
        if is_found {
            self.found.push(Problem::new(path, Some(line), text.trim()));
        }
    }

    /// Returns the number of violations that the measure has found.
    #[cfg(test)]
    pub(super) fn found(&self) -> usize {
        self.found.len()
    }

    /// Returns a problem with some of the violations if the measure is above its limit.
    pub fn problem(&self) -> Option<Problem> {
        if self.found.len() <= self.limit {
            return None;
        }
        let examples: Vec<_> = self.found.iter().take(EXAMPLES).map(ToString::to_string).collect();
        Some(Problem::new("language", None, format!("{self}\n  {}", examples.join("\n  "))))
    }
}

/// Measures the language in the sources of crates. Generated tables and tests of several files are left out, as the
/// names that another program chose.
pub fn measure(files: &[(PathBuf, String)]) -> Vec<Measure> {
    let mut opaque = Measure::new("first doc lines that begin with an opaque word", 5);
    let mut pointing = Measure::new("first doc lines that begin with a pronoun or preposition", 6);
    let mut short = Measure::new("first doc lines of three words or fewer", 20);
    let mut many = Measure::new("type names in more than three files", 0);
    let mut three = Measure::new("type names in three files or more", 12);
    let mut tests = Measure::new("names of tests that begin with an opaque word", 0);
    let mut long = Measure::new("functions of 60 lines or more with fewer than three comments", 0);
    let mut errors = Measure::new("error texts without an object", 0);
    let mut helps = Measure::new("help texts of counters that begin with an opaque word", 0);
    let mut types: BTreeMap<&str, BTreeSet<&Path>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| is_crate_source(path)) {
        for (line, number) in first_doc_lines(text) {
            let words: Vec<_> = line.split_whitespace().skip(1).collect();
            let first = words.first().copied().unwrap_or_default();
            opaque.count(path, number, line, OPAQUE.contains(&first));
            pointing.count(path, number, line, POINTING.contains(&first));
            short.count(path, number, line, words.len() <= SHORT && first != "#");
        }
        for (line, number, comments) in long_functions(text) {
            long.count(path, number, line, comments < 3);
        }
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| line.contains("#[error(")) {
            errors.count(path, number, line, WITHOUT_OBJECT.iter().any(|begin| line.contains(begin)));
        }
        for name in text.lines().filter_map(type_name) {
            types.entry(name).or_default().insert(path);
        }
    }
    for (name, paths) in &types {
        let first = paths.iter().next().copied().unwrap_or(Path::new(""));
        many.count(first, 1, name, paths.len() > 3);
        three.count(first, 1, name, paths.len() >= 3);
    }
    for (path, text) in files.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "rs")) {
        for (name, number) in test_names(text) {
            let first = name.split('_').next().unwrap_or_default();
            tests.count(path, number, name, name.contains('_') && OPAQUE_IN_TESTS.contains(&first));
        }
    }
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("catalog")) {
        for (help, number) in help_texts(text) {
            let first = help.split([' ', ',']).next().unwrap_or_default();
            helps.count(path, number, help, OPAQUE.contains(&first));
        }
    }
    vec![opaque, pointing, short, many, three, tests, long, errors, helps]
}

/// Returns `true` for a source file of a crate that people write.
fn is_crate_source(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.starts_with("crates/")
        && text.ends_with(".rs")
        && !["/catalogue/src/tables/", "tests", "windows_exporter", "node_exporter"]
            .iter()
            .any(|part| text.contains(part))
}

/// Returns the first line of each doc comment in a Rust file, and its number.
fn first_doc_lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let is_doc = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
    let before = std::iter::once("").chain(text.lines());
    before
        .zip(text.lines())
        .zip(1..)
        .filter(move |((before, line), _)| is_doc(line) && !is_doc(before))
        .map(|((_, line), number)| (line, number))
}

/// Returns the name of the type that a line of Rust code defines.
fn type_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest =
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        rest.trim_start()
    });
    let name = ["struct ", "enum ", "trait "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    name.get(..end).filter(|name| name.starts_with(char::is_uppercase))
}

/// Returns functions of 60 lines or more: first line, its number, and the number of lines that are comments. The end
/// of a function is the first brace with its indentation, which rustfmt guarantees.
fn long_functions(text: &str) -> Vec<(&str, usize, usize)> {
    let mut functions = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    for (line, number) in text.lines().zip(1..) {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        match &mut open {
            None if is_function(code) && !line.ends_with([';', '}']) => open = Some((line, number, 0)),
            None => {}
            Some((first, begin, comments)) => {
                *comments += usize::from(code.starts_with("// "));
                if code.starts_with('}') && indent == first.len() - first.trim_start().len() {
                    if number - *begin >= LONG {
                        functions.push((*first, *begin, *comments));
                    }
                    open = None;
                }
            }
        }
    }
    functions
}

/// Returns `true` if a line of Rust code without its indentation begins a function.
fn is_function(code: &str) -> bool {
    let before =
        code.split_once("fn ").filter(|(_, name)| name.starts_with(|c: char| c.is_ascii_lowercase()));
    before.is_some_and(|(before, _)| {
        before.split_whitespace().all(|word| {
            word.starts_with("pub") || word.starts_with('"') || ["const", "unsafe", "extern"].contains(&word)
        })
    })
}

/// Returns the first lines of the help texts in a counterset's catalogue file, and their numbers.
fn help_texts(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let next = text.lines().skip(1).chain(std::iter::once(""));
    text.lines().zip(next).zip(1..).filter_map(|((line, next), number)| {
        match line.strip_prefix("help = \"")? {
            "\"\"" => Some((next, number + 1)),
            help => Some((help, number)),
        }
    })
}

/// Returns the names of test functions in Rust code, and their lines.
fn test_names(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let is_test = |line: &str| line.trim() == "#[test]";
    let mut names = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| is_test(line)) {
        let after = lines.iter().enumerate().skip(at + 1).take(3);
        let name =
            after.filter_map(|(at, line)| Some((line.trim_start().strip_prefix("fn ")?, at + 1))).next();
        names.extend(name.map(|(name, number)| (name.split('(').next().unwrap_or(name), number)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts of the violations that each measure found in one file.
    fn found(path: &str, text: &str) -> Vec<Vec<String>> {
        let measures = measure(&[(path.into(), text.to_owned())]);
        measures.into_iter().map(|m| m.found.into_iter().map(|place| place.what).collect()).collect()
    }

    #[test]
    fn comments_are_measured() {
        let text = "//! What a file is about, in some more words.\n\n/// A thing that is well named.\n/// What follows \
                    does not count.\nstruct A;\n/// It points at something outside.\nstruct B;\n    /// Short one.\n\
                    // Of no doc comment at all.\n/// # A heading\n";
        let all = found("crates/core/src/a.rs", text);
        assert_eq!(all[0], ["//! What a file is about, in some more words."]);
        assert_eq!(all[1], ["/// It points at something outside."]);
        assert_eq!(all[2], ["/// Short one."]);
        for path in ["crates/catalogue/src/tables/a.rs", "crates/core/tests/a.rs", "xtask/src/a.rs"] {
            assert!(found(path, text)[..3].iter().all(Vec::is_empty), "{path}");
        }
    }

    #[test]
    fn names_are_measured() {
        let text = "#[test]\nfn what_it_is() {}\n    #[test]\n    #[should_panic]\n    fn a_name() {}\n#[test]\n\
                    fn what() {}\n";
        assert_eq!(found("xtask/src/a.rs", text)[5], ["what_it_is"]);
        for (line, name) in [
            ("pub(crate) struct Table<T> {", Some("Table")),
            ("    enum Kind { A }", Some("Kind")),
            ("pub trait Sink: Send {", Some("Sink")),
            ("struct Unit;", Some("Unit")),
            ("public struct No", None),
            ("let structure = 1;", None),
        ] {
            assert_eq!(type_name(line), name, "{line}");
        }
        let files: Vec<_> =
            (0..4).map(|n| (PathBuf::from(format!("crates/a/src/{n}.rs")), "struct A;\n")).collect();
        let of = |count: usize| {
            let files: Vec<_> = files.iter().take(count).map(|(p, t)| (p.clone(), (*t).to_owned())).collect();
            let measures = measure(&files);
            (measures[3].found.len(), measures[4].found.len())
        };
        assert_eq!([of(2), of(3), of(4)], [(0, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn long_functions_need_comments() {
        let with = |comments: usize, lines: usize| {
            let body = "        // why\n".repeat(comments) + &"        f();\n".repeat(lines - comments);
            format!("impl A {{\n    pub(crate) fn f() {{\n{body}    }}\n}}\n")
        };
        for (comments, lines, count) in [(0, 58, 0), (2, 59, 1), (3, 59, 0)] {
            assert_eq!(
                found("crates/a/src/a.rs", &with(comments, lines))[6].len(),
                count,
                "{comments} {lines}"
            );
        }
    }

    #[test]
    fn errors_and_helps_name_their_object() {
        let errors = "#[error(\"it is gone\")]\n#[error(\"the file is gone\")]\n";
        assert_eq!(found("crates/a/src/a.rs", errors)[7], ["#[error(\"it is gone\")]"]);
        let helps = "help = \"What is read.\"\nhelp = \"\"\"\nHow often.\n\"\"\"\nhelp = \"Bytes.\"\n";
        assert_eq!(found("catalog/a.toml", helps)[8], ["What is read.\"", "How often."]);
    }

    #[test]
    fn a_limit_is_kept() {
        let mut measure = Measure::new("things", 1);
        measure.count(Path::new("a.rs"), 7, " x ", true);
        measure.count(Path::new("a.rs"), 8, "y", false);
        assert_eq!((measure.to_string().as_str(), measure.problem()), ("things: 1 of 2, at most 1", None));
        measure.count(Path::new("b.rs"), 1, "z", true);
        let problem = measure.problem().unwrap().to_string();
        assert_eq!(problem, "language: things: 2 of 3, at most 1\n  a.rs:7: x\n  b.rs:1: z");
    }
}
