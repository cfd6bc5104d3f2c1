//! Fuzz target for patterns that match the names of instances.

use perfset_core::utf16::upper;
use perfset_engine::Pattern;

/// Matches an instance name with a pattern: the first line of the fuzz input is the pattern, the rest is the name.
///
/// Matching ends soon, and short patterns match as the definition says.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (pattern, name) = text.split_once('\n').unwrap_or((&text, ""));
    let compiled = Pattern::new(&pattern.into());
    let matched = compiled.matches(name.encode_utf16());
    assert!(matched || !compiled.is_any());
    let (pattern, name): (Vec<_>, Vec<_>) = (pattern.encode_utf16().collect(), name.encode_utf16().collect());
    if pattern.len() <= 10 && name.len() <= 12 {
        assert_eq!(matched, matches(&pattern, &name));
    }
    if !compiled.has_wildcard() {
        assert_eq!(matched, pattern.iter().map(|u| upper(*u)).eq(name.iter().map(|u| upper(*u))));
    }
}

/// Matches an instance name with a pattern by the definition of patterns, as a reference.
fn matches(pattern: &[u16], name: &[u16]) -> bool {
    const ANY: u16 = b'*' as u16;
    const ONE: u16 = b'?' as u16;
    match (pattern, name) {
        ([], name) => name.is_empty(),
        ([ANY, rest @ ..], []) => matches(rest, name),
        ([ANY, rest @ ..], [_, shorter @ ..]) => matches(rest, name) || matches(pattern, shorter),
        ([wanted, rest @ ..], [unit, shorter @ ..]) => {
            (*wanted == ONE || upper(*wanted) == upper(*unit)) && matches(rest, shorter)
        }
        (_, []) => false,
    }
}
