//! Check of the rules in `docs/spec`: each rule that code cites is defined, and each rule names tests that exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Problem;

/// Rule of a specification, under a heading such as `### R-28: indexes of entries`.
#[derive(Debug, PartialEq, Eq)]
struct Rule<'a> {
    name: &'a str,
    /// Number of the line with the rule's heading, from 1.
    line: usize,
    /// Line of the rule that begins with `Test:`, without that word.
    test: Option<&'a str>,
}

/// Returns the rules of specifications that are cited and not defined, defined twice, or without a test that exists.
pub fn check(pages: &[(PathBuf, String)], sources: &[(PathBuf, String)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut defined = BTreeMap::new();
    for (page, text) in pages {
        for rule in rules(text) {
            let mut wrong = |what: String| problems.push(Problem::new(page, Some(rule.line), what));
            match rule.test {
                Some(test) if test.trim_start().starts_with("none") => {
                    wrong(format!("{} has no test", rule.name))
                }
                Some(test) => missing_tests(test, sources)
                    .into_iter()
                    .for_each(|what| wrong(format!("{}: {what}", rule.name))),
                None => wrong(format!("{} has no line that begins with Test:", rule.name)),
            }
            if defined.insert(rule.name, page).is_some() {
                wrong(format!("{} is defined twice", rule.name));
            }
        }
    }
    for (path, text) in sources {
        for (line, number) in text.lines().zip(1..) {
            let undefined = citations(line).filter(|name| !defined.contains_key(name));
            problems.extend(
                undefined.map(|name| Problem::new(path, Some(number), format!("{name} is not defined"))),
            );
        }
    }
    problems
}

/// Prefixes in the names of rules: V2 blocks, formulas, counter paths and logs; `R` and `E` alone are of V1 blocks.
const PREFIXES: [&str; 6] = ["R-", "F-", "P-", "B-", "R", "E"];

/// Returns `true` for the name of a specification's rule, such as `R-28` or `E2`.
fn is_rule(name: &str) -> bool {
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    PREFIXES.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(is_number))
}

/// Returns the rules that a page of the specifications defines.
fn rules(text: &str) -> Vec<Rule<'_>> {
    let mut rules: Vec<Rule<'_>> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let name =
            line.strip_prefix("### ").and_then(|heading| heading.split_once(':')).map(|(name, _)| name);
        if let Some(name) = name.filter(|name| is_rule(name)) {
            rules.push(Rule { name, line: number, test: None });
        } else if let (Some(test), Some(rule)) = (line.strip_prefix("Test:"), rules.last_mut()) {
            rule.test = Some(test);
        }
    }
    rules
}

/// Returns the problems of a rule's line such as `` `a::tests::x` and `y` (crates/a/src/tests.rs) ``: missing files,
/// and functions that none of the files has.
fn missing_tests(test: &str, sources: &[(PathBuf, String)]) -> Vec<String> {
    let mut problems = Vec::new();
    let paths = test.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let mut texts = Vec::new();
    for path in paths.filter(|path| path.contains('/')) {
        match sources.iter().find(|(source, _)| source == Path::new(path)) {
            Some((_, text)) => texts.push(text),
            None => problems.push(format!("there is no file {path}")),
        }
    }
    let functions = test.split('`').skip(1).step_by(2).map(|name| name.rsplit("::").next().unwrap_or(name));
    for function in functions {
        if !texts.iter().any(|text| text.contains(&format!("fn {function}("))) {
            problems.push(format!("there is no test {function} in the files that are named"));
        }
    }
    if texts.is_empty() && problems.is_empty() {
        problems.push("its test has no file".into());
    }
    problems
}

/// Returns the names of rules that a line cites, such as `R-28`. Rules of V1 blocks have no hyphen and look like
/// other words, so they are not found.
fn citations(line: &str) -> impl Iterator<Item = &str> {
    let prefixes = PREFIXES.iter().filter(|prefix| prefix.ends_with('-'));
    prefixes.flat_map(move |prefix| line.match_indices(prefix)).filter_map(|(at, _)| {
        let is_start = !line.get(..at)?.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        let digits = line.get(at + 2..)?.bytes().take_while(u8::is_ascii_digit).count();
        (is_start && digits > 0).then(|| line.get(at..at + 2 + digits)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(page: &str, source: &str) -> Vec<String> {
        let page = [(PathBuf::from("docs/spec/a.md"), page.to_owned())];
        let source = [(PathBuf::from("crates/a/src/b.rs"), source.to_owned())];
        check(&page, &source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_are_defined_and_tested() {
        let good = "### R-1: a\n\nTest: `a::tests::x` and `y` (crates/a/src/b.rs)\n\
                    ### E2: b\nTest: `y` (crates/a/src/b.rs)\n### Other: c\n";
        assert_eq!(lines(good, "// R-1, XR-7, R-x\nfn x() {}\nfn y() {}\n"), [""; 0]);
        assert_eq!(
            lines(good, "fn x() {}"),
            [
                "docs/spec/a.md:1: R-1: there is no test y in the files that are named",
                "docs/spec/a.md:4: E2: there is no test y in the files that are named"
            ]
        );
        assert_eq!(lines("", "// as R-12 requires"), ["crates/a/src/b.rs:1: R-12 is not defined"]);
        assert_eq!(lines("", "// UTF-8, B-3"), ["crates/a/src/b.rs:1: B-3 is not defined"]);
        assert_eq!(lines("### P-1: a\n", ""), ["docs/spec/a.md:1: P-1 has no line that begins with Test:"]);
        assert_eq!(lines("### R-1: a\n", ""), ["docs/spec/a.md:1: R-1 has no line that begins with Test:"]);
        let elsewhere = "### R-1: a\nTest: `x` (crates/a/src/c.rs)\n";
        let missing = "there is no file crates/a/src/c.rs";
        assert!(lines(elsewhere, "fn x() {}")[0].contains(missing));
        for none in ["none", "none for all; for some: `x` (crates/a/src/b.rs)"] {
            let page = format!("### E1: a\nTest: {none}\n");
            assert_eq!(lines(&page, "fn x() {}"), ["docs/spec/a.md:1: E1 has no test"]);
        }
        let twice = "### E1: a\nTest: `x` (crates/a/src/b.rs)\n### E1: a\nTest: `x` (crates/a/src/b.rs)\n";
        assert_eq!(lines(twice, "fn x() {}"), ["docs/spec/a.md:3: E1 is defined twice"]);
    }
}
