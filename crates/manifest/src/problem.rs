//! What is wrong with a manifest: everything, each with its place.

use std::fmt;

/// Problems of one severity that are kept; more are counted. A hostile file must not cost more than its own size.
const KEPT: usize = 1_000;

/// A rule that a manifest breaks. The keywords stand behind each message, and are explained in `docs/manifests.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The file is text in a known encoding, of bearable size, and well-formed XML without a document type.
    Xml,
    /// Elements are known, in their place, and as many as allowed.
    Element,
    /// Attributes are known, and the required ones there.
    Attribute,
    /// A value is what its attribute takes.
    Value,
    /// What must be unique is.
    Unique,
    /// An id of another counter, or the name of a struct, leads somewhere.
    Reference,
    /// A type has the counters that it is computed with, of the types that it needs.
    Relation,
    /// Attributes of how a counter is shown do not contradict each other.
    Display,
    /// Names and descriptions are there and not too long.
    Name,
    /// Resource ids are there exactly where schemaVersion asks for them.
    Version,
    /// What belongs to kernel mode stands in manifests for kernel mode.
    Mode,
    /// Aggregates stand in countersets that are aggregated.
    Aggregate,
    /// Numbers that have another meaning, and amounts that PerfLib cannot take.
    Limit,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Xml,
        Self::Element,
        Self::Attribute,
        Self::Value,
        Self::Unique,
        Self::Reference,
        Self::Relation,
        Self::Display,
        Self::Name,
        Self::Version,
        Self::Mode,
        Self::Aggregate,
        Self::Limit,
    ];

    /// The word that messages end with.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Element => "element",
            Self::Attribute => "attribute",
            Self::Value => "value",
            Self::Unique => "unique",
            Self::Reference => "reference",
            Self::Relation => "relation",
            Self::Display => "display",
            Self::Name => "name",
            Self::Version => "version",
            Self::Mode => "mode",
            Self::Aggregate => "aggregate",
            Self::Limit => "limit",
        }
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The manifest can be used, though hardly as it was meant.
    Warning,
    /// The manifest cannot be used.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that is wrong: `12:34: error: baseID is missing; … [relation]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// How bad it is.
    pub severity: Severity,
    /// The rule that is broken.
    pub rule: Rule,
    /// What is wrong.
    pub what: String,
    /// What would be right; empty if nothing can be said.
    pub right: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, severity, rule, what, right } = self;
        write!(f, "{line}:{column}: {severity}: {what}")?;
        if !right.is_empty() {
            write!(f, "; {right}")?;
        }
        write!(f, " [{}]", rule.keyword())
    }
}

/// All that is wrong with a manifest, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// What is kept of them: the first thousand errors and the first thousand warnings.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// How many are not kept. There may be yet more: where so many errors are, the rest is not looked at.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }

    /// Those that forbid the use of the manifest.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter().filter(|problem| problem.severity == Severity::Error)
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The first error, and how many there are.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.errors().next().or(self.list.first()) else {
            return f.write_str("no problem");
        };
        write!(f, "{first}")?;
        match self.list.len().saturating_add(self.more).saturating_sub(1) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// A problem at a byte of the text.
#[derive(Debug)]
struct Found {
    at: usize,
    severity: Severity,
    rule: Rule,
    what: String,
    right: String,
}

/// Collects what is found while a text is read.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: Vec<Found>,
    errors: usize,
    warnings: usize,
}

impl Report {
    /// Something that forbids the use, at a byte of the text.
    pub fn error(&mut self, at: usize, rule: Rule, what: fmt::Arguments<'_>, right: fmt::Arguments<'_>) {
        self.errors = self.errors.saturating_add(1);
        if self.errors <= KEPT {
            self.keep(at, Severity::Error, rule, what, right);
        }
    }

    /// Something that is probably not meant.
    pub fn warning(&mut self, at: usize, rule: Rule, what: fmt::Arguments<'_>, right: fmt::Arguments<'_>) {
        self.warnings = self.warnings.saturating_add(1);
        if self.warnings <= KEPT {
            self.keep(at, Severity::Warning, rule, what, right);
        }
    }

    fn keep(
        &mut self,
        at: usize,
        severity: Severity,
        rule: Rule,
        what: fmt::Arguments<'_>,
        right: fmt::Arguments<'_>,
    ) {
        self.found.push(Found { at, severity, rule, what: what.to_string(), right: right.to_string() });
    }

    /// Whether more errors would not be kept.
    pub fn is_full(&self) -> bool {
        self.errors > KEPT
    }

    /// Whether something forbids the use.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The same with lines and columns, in the order of the text.
    pub fn finish(mut self, text: &str) -> Problems {
        self.found.sort_by_key(|found| found.at);
        let (mut seen, mut line, mut column) = (0, 1_usize, 1_usize);
        let kept = self.found.len();
        let place = |found: Found| {
            // On from the one before, so that all together cost one way through the text.
            for c in text.get(seen..found.at).unwrap_or_default().chars() {
                (line, column) = match c {
                    '\n' => (line.saturating_add(1), 1),
                    _ => (line, column.saturating_add(1)),
                };
            }
            seen = found.at.max(seen);
            let Found { severity, rule, what, right, .. } = found;
            Problem { line, column, severity, rule, what, right }
        };
        let list = self.found.into_iter().map(place).collect();
        Problems { list, more: self.errors.saturating_add(self.warnings).saturating_sub(kept) }
    }
}

/// A stranger's text as messages quote it: not all of a long one.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 64;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("\"{}…\"", text.get(..end).unwrap_or_default()),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_characters() {
        let text = "aé\nb€c\r\nd";
        let mut report = Report::default();
        for (at, _) in text.char_indices().rev() {
            report.error(at, Rule::Xml, format_args!("{at}"), format_args!(""));
        }
        report.warning(text.len(), Rule::Xml, format_args!("end"), format_args!("x"));
        let problems = report.finish(text);
        let places: Vec<_> = problems.list().iter().map(|p| (p.line, p.column)).collect();
        let want = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (3, 1), (3, 2)];
        assert_eq!(places, want);
        assert_eq!(problems.list().last().unwrap().to_string(), "3:2: warning: end; x [xml]");
        assert_eq!(problems.to_string(), "1:1: error: 0 [xml], and 9 more");
    }

    #[test]
    fn only_so_many_are_kept_and_errors_have_room_beside_warnings() {
        let mut report = Report::default();
        for at in 0..5_000 {
            report.warning(at, Rule::Unique, format_args!("w"), format_args!(""));
        }
        assert!(!report.has_errors());
        report.error(9, Rule::Value, format_args!("e"), format_args!(""));
        assert!(report.has_errors());
        let problems = report.finish("");
        assert_eq!((problems.list().len(), problems.more(), problems.errors().count()), (1_001, 4_000, 1));
    }

    #[test]
    fn keywords_are_unique() {
        let words: std::collections::BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.keyword()).collect();
        assert_eq!(words.len(), Rule::ALL.len());
    }
}
