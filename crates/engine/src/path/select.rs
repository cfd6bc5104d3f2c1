//! Selects names by a part of a counter path: `*`, `?`, `{a,b}`, `!name`, `name#n`.

use perfset_core::Utf16;

use super::instance_name::numbered;
use crate::pattern::Pattern;

/// Instance or counter part of a counter path, as a test for names.
///
/// ```
/// use perfset::path::Selector;
/// let disks = Selector::new("{sd*,!sdb}");
/// assert!(disks.matches("sda".encode_utf16(), 0) && !disks.matches("sdb".encode_utf16(), 0));
/// ```
///
/// A text without alternatives, exclusion and number is only a name or pattern.
#[derive(Clone, Debug)]
pub struct Selector {
    /// Alternatives of the selector; a name must match one of them.
    wanted: Vec<Choice>,
    /// Exclusions of the selector; a name must match none of them.
    unwanted: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Choice {
    /// Whole text of the alternative as a pattern, because names can end in `#` and digits themselves.
    whole: Pattern,
    /// Name and number of an alternative `name#n`; the number can be a pattern too.
    nth: Option<(Pattern, Pattern)>,
}

impl Selector {
    /// Parses a selector from the text of an instance or counter in a path. Braces contain alternatives; those that
    /// begin with `!` are excluded. If there are only exclusions, all other names are selected.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let mut selector = Self { wanted: Vec::new(), unwanted: Vec::new() };
        for choice in inner.map_or_else(|| vec![text], |inner| inner.split(',').collect()) {
            match choice.strip_prefix('!') {
                // A single `!` excludes nothing and is a name.
                Some(unwanted) if !unwanted.is_empty() => selector.unwanted.push(pattern(unwanted)),
                _ => selector.wanted.push(Choice::new(choice)),
            }
        }
        if selector.wanted.is_empty() {
            selector.wanted.push(Choice { whole: Pattern::any(), nth: None });
        }
        selector
    }

    /// Returns `true` if a plain pattern for this text selects the same names: the text is one name or pattern,
    /// without a number.
    #[must_use]
    pub fn is_plain(text: &str) -> bool {
        let selector = Self::new(text);
        let one = matches!(selector.wanted.as_slice(), [Choice { nth: None, .. }]);
        // A name in braces selects all instances of that name, and a plain one only the first (P-12).
        one && selector.unwanted.is_empty() && !text.starts_with('{')
    }

    /// Returns `true` if the selector matches a name that is the `occurrence`th of that name in its list, counted
    /// from 0.
    #[must_use]
    pub fn matches(&self, name: impl Iterator<Item = u16> + Clone, occurrence: usize) -> bool {
        let wanted = self.wanted.iter().any(|choice| {
            let numbered = choice.nth.as_ref();
            choice.whole.matches(name.clone())
                || numbered.is_some_and(|(pattern, number)| {
                    pattern.matches(name.clone()) && number.matches(occurrence.to_string().encode_utf16())
                })
        });
        wanted && !self.unwanted.iter().any(|pattern| pattern.matches(name.clone()))
    }
}

impl Choice {
    fn new(text: &str) -> Self {
        let nth = numbered(text).map(|(name, number)| {
            // Leading zeros of a number are ignored.
            let number = number.parse::<usize>().map_or_else(|_| number.to_owned(), |n| n.to_string());
            (pattern(name), pattern(&number))
        });
        Self { whole: pattern(text), nth }
    }
}

fn pattern(text: &str) -> Pattern {
    Pattern::new(&Utf16::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (text, name, occurrence, want) in [
            ("a", "A", 0, true),
            ("a", "A", 3, true),
            ("a#0", "a", 0, true),
            ("a#0", "a", 1, false),
            ("a#1", "a", 1, true),
            ("a#1", "a#1", 0, true),
            ("a#", "a", 0, false),
            ("a#x", "a#x", 0, true),
            ("a*#1", "ab", 1, true),
            ("a#01", "a", 1, true),
            ("a#*", "a", 0, true),
            ("a#*", "a", 7, true),
            ("a#*", "b", 7, false),
            ("a#1?", "a", 12, true),
            ("a#1?", "a", 2, false),
            ("*#1", "b", 1, true),
            ("p/*#1", "p/b", 1, true),
            ("p*/b", "parent/b", 0, true),
            ("{a,b}", "b", 0, true),
            ("{a,b}", "c", 0, false),
            ("{a,b}", "{a,b}", 0, false),
            ("{a*,!ab}", "ab", 0, false),
            ("{a*,!ab}", "ac", 0, true),
            ("!a", "a", 0, false),
            ("!a", "b", 0, true),
            ("{!a,!b}", "b", 0, false),
            ("{!a,!b}", "c", 0, true),
            ("!", "!", 0, true),
            ("{", "{", 0, true),
            ("{}", "", 0, true),
            ("a/b", "a/b", 0, true),
            ("*/b", "a/b", 0, true),
        ] {
            let got = Selector::new(text).matches(name.encode_utf16(), occurrence);
            assert_eq!(got, want, "{text} for {name} #{occurrence}");
        }
    }

    #[test]
    fn plain_selectors_are_recognized() {
        for (text, plain) in [
            ("a", true),
            ("*", true),
            ("a?", true),
            ("a#1", false),
            ("a#*", false),
            ("{a,b}", false),
            ("!a", false),
        ] {
            assert_eq!(Selector::is_plain(text), plain, "{text}");
        }
    }
}
