//! Problems of a manifest, each with its position.

use std::fmt;

/// Maximum number of a manifest's problems that are stored per severity; more are only counted. A hostile file must
/// not cost more than its own size.
const KEPT: usize = 1_000;

/// Rule that a manifest breaks. Each message ends with the rule's keyword; `docs/manifests.md` explains the keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The file must be well-formed XML without a document type, in a known encoding, and not too large.
    Xml,
    /// Elements of a manifest must be known and correctly placed, and their number must be allowed.
    Element,
    /// Attributes of a manifest's elements must be known, and required attributes present.
    Attribute,
    /// Values of attributes in a manifest must be valid.
    Value,
    /// Unique values, such as ids and symbols, must not occur twice.
    Unique,
    /// The id of another counter, or the name of a struct, must exist.
    Reference,
    /// A counter type must have the counters with which it is computed, of the required types.
    Relation,
    /// Display attributes of a counter must not contradict each other. `noDisplay` excludes all others;
    /// `displayAsHex` excludes `noDigitGrouping` and `displayAsReal`.
    Display,
    /// Names and descriptions of countersets and counters must be present and not too long.
    Name,
    /// Resource ids must be present exactly if schemaVersion requires them.
    Version,
    /// Kernel-mode items must only occur in manifests for kernel mode.
    Mode,
    /// Aggregates must only occur in countersets that are aggregated.
    Aggregate,
    /// Numbers must not be reserved, and amounts must not exceed the limits of PerfLib.
    Limit,
}

impl Rule {
    /// List of all rules for manifests.
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

    /// Returns the keyword of the manifest rule, which messages contain at their end.
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

/// Severity of a problem of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The manifest is usable, although probably not as intended.
    Warning,
    /// The manifest is not usable.
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

/// Problem of a manifest, displayed as `12:34: error: baseID is missing; … [relation]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line number of the problem in the manifest, from 1.
    pub line: usize,
    /// Number of the problem's character in its line, from 1.
    pub column: usize,
    /// Severity of the problem: error or warning.
    pub severity: Severity,
    /// Rule that the manifest breaks by the problem.
    pub rule: Rule,
    /// Description of the problem in words.
    pub what: String,
    /// Suggested correction of the problem; empty if unknown.
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

/// All problems of a manifest, in the order of the manifest's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// Returns the stored problems of the manifest: the first thousand errors and the first thousand warnings.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// Returns the number of the manifest's problems that are not stored. There may be more, because reading stops
    /// after too many errors.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }

    /// Returns the errors, which make the manifest unusable.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter().filter(|problem| problem.severity == Severity::Error)
    }

    /// Returns `true` if the manifest has no problems.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Formats the manifest's first error, and the number of further problems.
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

/// Problem at a byte offset of the manifest's text.
#[derive(Debug)]
struct RawProblem {
    offset: usize,
    severity: Severity,
    rule: Rule,
    what: String,
    right: String,
}

/// Collector of the problems found while the text of a manifest is read.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: Vec<RawProblem>,
    errors: usize,
    warnings: usize,
}

impl Report {
    /// Adds an error at a byte offset of the manifest's text. Errors make the manifest unusable.
    pub fn error(&mut self, at: usize, rule: Rule, what: fmt::Arguments<'_>, right: fmt::Arguments<'_>) {
        self.errors = self.errors.saturating_add(1);
        if self.errors <= KEPT {
            self.keep(at, Severity::Error, rule, what, right);
        }
    }

    /// Adds a warning about a part of the manifest that is probably unintended.
    pub fn warning(&mut self, at: usize, rule: Rule, what: fmt::Arguments<'_>, right: fmt::Arguments<'_>) {
        self.warnings = self.warnings.saturating_add(1);
        if self.warnings <= KEPT {
            self.keep(at, Severity::Warning, rule, what, right);
        }
    }

    fn keep(
        &mut self,
        offset: usize,
        severity: Severity,
        rule: Rule,
        what: fmt::Arguments<'_>,
        right: fmt::Arguments<'_>,
    ) {
        // Texts are formatted only here: a hostile file may have any number of problems that are not stored.
        self.found.push(RawProblem {
            offset,
            severity,
            rule,
            what: what.to_string(),
            right: right.to_string(),
        });
    }

    /// Returns `true` if the report is full, so that further errors would not be stored.
    pub fn is_full(&self) -> bool {
        self.errors > KEPT
    }

    /// Returns `true` if the report has an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Converts the problems' byte offsets to lines and columns, and sorts the problems in the order of the text.
    pub fn finish(mut self, text: &str) -> Problems {
        // Rules about several elements report last. The sort is stable: problems at one offset keep their
        // order.
        self.found.sort_by_key(|found| found.offset);
        let (mut seen, mut line, mut column) = (0, 1_usize, 1_usize);
        let kept = self.found.len();
        let place = |found: RawProblem| {
            // The search continues from the previous problem, so that all problems together cost one pass over the
            // text.
            for c in text.get(seen..found.offset).unwrap_or_default().chars() {
                (line, column) = match c {
                    '\n' => (line.saturating_add(1), 1),
                    _ => (line, column.saturating_add(1)),
                };
            }
            seen = found.offset.max(seen);
            let RawProblem { severity, rule, what, right, .. } = found;
            Problem { line, column, severity, rule, what, right }
        };
        let list = self.found.into_iter().map(place).collect();
        Problems { list, more: self.errors.saturating_add(self.warnings).saturating_sub(kept) }
    }
}

/// Quotes untrusted text of a manifest for a message; long text is truncated.
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
