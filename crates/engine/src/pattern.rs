//! Patterns for instance names with `*` and `?` (R-25).

use std::hash::{Hash, Hasher};

use perfset_core::utf16::upper;
use perfset_core::{Name, Utf16};

use crate::filters::hash;

/// Pattern for instance names: `*` matches any number of UTF-16 units, `?` matches one. Case is ignored; there is no
/// escape character.
///
/// ```
/// use perfset::Pattern;
/// let pattern = Pattern::new(&"0,*".into());
/// assert!(pattern.matches("0,_total".encode_utf16()) && !pattern.matches("_Total".encode_utf16()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    upper: Box<[u16]>,
}

const ANY: u16 = 0x2A; // *
const ONE: u16 = 0x3F; // ?

impl Pattern {
    /// Creates a pattern for instance names from its text.
    #[must_use]
    pub fn new(text: &Utf16) -> Self {
        Self { upper: text.units().iter().map(|unit| upper(*unit)).collect() }
    }

    /// Creates the pattern that matches every instance name.
    #[must_use]
    pub fn any() -> Self {
        Self { upper: Box::new([ANY]) }
    }

    /// Returns `true` if the pattern contains a wildcard: a test of its text, not of the names that it matches (R-31).
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        self.upper.iter().any(|unit| matches!(*unit, ANY | ONE))
    }

    /// Returns `true` if the pattern is `*`, which matches every instance name.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self.upper == [ANY]
    }

    /// Returns the hash of the only name, in capitals, that a pattern without wildcards matches.
    pub(crate) fn hash_of_name(&self) -> u64 {
        hash(self.upper.iter().copied())
    }

    /// Returns `true` if the pattern matches an instance name. Cost: at most pattern length times name length.
    pub fn matches(&self, name: impl Iterator<Item = u16> + Clone) -> bool {
        if self.is_any() {
            return true;
        }
        let mut pattern = self.upper.iter().copied();
        let mut name = name;
        // Point to continue at after a mismatch: behind the last `*`, one unit later in the name.
        let mut retry: Option<(std::iter::Copied<std::slice::Iter<'_, u16>>, _)> = None;
        loop {
            match pattern.next() {
                Some(ANY) => {
                    retry = Some((pattern.clone(), name.clone()));
                    continue;
                }
                Some(wanted) => {
                    let here = name.next();
                    if here.is_some_and(|unit| wanted == ONE || upper(unit) == wanted) {
                        continue;
                    }
                }
                None => {
                    if name.clone().next().is_none() {
                        return true;
                    }
                }
            }
            // Only the last `*` is tried again: earlier ones can match no more than it does. This bounds the
            // cost.
            let Some((after_star, from)) = &mut retry else { return false };
            if from.next().is_none() {
                return false;
            }
            pattern = after_star.clone();
            name = from.clone();
        }
    }

    /// Returns `true` if the pattern [`matches`](Self::matches) an instance name of a block.
    #[must_use]
    pub fn matches_name(&self, name: Name<'_>) -> bool {
        self.matches(name.units())
    }
}

/// Converts a text to UTF-16 units in capitals, for comparison without case.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = u16> {
    text.encode_utf16().map(upper)
}

/// Converts UTF-16 units to capitals, for comparison without case.
pub(crate) fn folded_units(units: &[u16]) -> impl Iterator<Item = u16> {
    units.iter().map(|unit| upper(*unit))
}

/// Instance name that is compared without case.
#[derive(Clone, Copy)]
pub(crate) struct FoldedName<'a>(pub Name<'a>);

impl FoldedName<'_> {
    fn units(&self) -> impl Iterator<Item = u16> {
        self.0.units().map(upper)
    }
}

impl PartialEq for FoldedName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.units().eq(other.units())
    }
}

impl Eq for FoldedName<'_> {}

impl Hash for FoldedName<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.units().for_each(|unit| state.write_u16(unit));
        state.write_u16(0); // which no name has
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(&pattern.into()).matches(name.encode_utf16())
    }

    #[test]
    fn table() {
        for (pattern, name, want) in [
            ("*", "", true),
            ("*", "anything", true),
            ("**", "", true),
            ("", "", true),
            ("", "a", false),
            ("?", "", false),
            ("?", "a", true),
            ("?", "ab", false),
            ("_Total", "_total", true),
            ("_total", "_TOTAL", true),
            ("É", "é", true),
            ("0,?", "0,1", true),
            ("0,?", "0,10", false),
            ("0,*", "0,_Total", true),
            ("*_Total", "0,_Total", true),
            ("*_Total", "_Total", true),
            ("*_Total", "_Total2", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyycz", false),
            ("*ab", "aab", true),
            ("*aab", "aaaab", true),
            ("a**?b", "ab", false),
            ("a**?b", "axb", true),
            ("x*?", "x", false),
            ("x*?*", "xy", true),
            ("?*?", "a", false),
            ("ab*", "a", false),
            ("a[1]", "a1", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} against {name}");
        }
    }

    #[test]
    fn wildcards_are_a_matter_of_text() {
        for (text, wild, any) in
            [("*", true, true), ("a?", true, false), ("a", false, false), ("**", true, false)]
        {
            let pattern = Pattern::new(&text.into());
            assert_eq!((pattern.has_wildcard(), pattern.is_any()), (wild, any), "{text}");
        }
    }

    #[test]
    fn hostile_patterns_cost_little() {
        let pattern = "*a".repeat(500) + "b";
        assert!(!matches(&pattern, &"a".repeat(1023)));
    }

    /// Returns `true` if a name matches a pattern, by the recursive definition, as a reference for the tests.
    fn oracle(pattern: &[u16], name: &[u16]) -> bool {
        match (pattern.first(), name.first()) {
            (None, None) => true,
            (Some(&ANY), _) => oracle(&pattern[1..], name) || !name.is_empty() && oracle(pattern, &name[1..]),
            (Some(&p), Some(&n)) => (p == ONE || upper(p) == upper(n)) && oracle(&pattern[1..], &name[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "[ab*?]{0,9}", name in "[abA]{0,9}") {
            let units: Vec<_> = pattern.encode_utf16().collect();
            let name_units: Vec<_> = name.encode_utf16().collect();
            prop_assert_eq!(matches(&pattern, &name), oracle(&units, &name_units));
        }
    }
}
