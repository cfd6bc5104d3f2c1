//! Comparison of names by their visible appearance.

use crate::utf16::upper;

/// Reduces a name to its visible characters. Differences that users cannot see, or can hardly see, are removed:
/// capitals, leading and trailing blanks, kind and number of inner blanks, and invisible characters.
///
/// Two names with the same likeness look the same in a list, so only one of them may identify something that others
/// rely on. Letters of other alphabets that look alike stay different.
///
/// ```
/// use perfset::likeness::likeness;
/// for name in ["memory ", "\u{a0}MEMORY", "mem\u{200b}ory", "\u{feff}Memory\t"] {
///     assert_eq!(likeness(name), likeness("Memory"));
/// }
/// assert_ne!(likeness("Memory"), likeness("Memory 2"));
/// ```
#[must_use]
pub fn likeness(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    // Capitals come first, as in the comparison of paths: a request for one of two such names returns the other.
    for c in char::decode_utf16(name.encode_utf16().map(upper)) {
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        if is_blank(c) {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !shows_nothing(c) {
            // `upper` skips letters whose capital is not one unit: `ß`, which becomes `ss` here, and letters
            // above U+FFFF.
            out.extend(c.to_uppercase().flat_map(char::to_lowercase));
        }
    }
    if out.ends_with(' ') {
        out.pop();
    }
    out
}

/// Returns `true` if the character is displayed as blank space.
fn is_blank(c: char) -> bool {
    const BRAILLE_BLANK: char = '\u{2800}';
    // Letters to Unicode (fillers of Hangul), so `is_whitespace` is false for them.
    const FILLERS: [char; 4] = ['\u{115F}', '\u{1160}', '\u{3164}', '\u{FFA0}'];
    c.is_whitespace() || c == BRAILLE_BLANK || FILLERS.contains(&c)
}

/// Returns `true` if the character is invisible: a control, or a character that Unicode lists as ignorable
/// (`Default_Ignorable_Code_Point`, UCD 15, and the marks of annotations).
fn shows_nothing(c: char) -> bool {
    const IGNORABLE: [(u32, u32); 17] = [
        (0x00AD, 0x00AD),
        (0x034F, 0x034F),
        (0x061C, 0x061C),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFF0, 0xFFF8),
        (0xFFF9, 0xFFFB),
        (0x1BCA0, 0x1BCA3),
        (0x1D173, 0x1D17A),
        (0xE0000, 0xE00FF),
        (0xE0100, 0xE01EF),
        (0xE01F0, 0xE0FFF),
    ];
    let at = u32::from(c);
    c.is_control() || IGNORABLE.iter().any(|(first, last)| (*first..=*last).contains(&at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike() {
        for (name, other, is_alike) in [
            ("memory ", "Memory", true),
            (" Memory", "Memory", true),
            ("Memory\u{3000}", "Memory", true),
            ("Mem\u{AD}ory", "Memory", true),
            ("Mem\u{200D}ory", "Memory", true),
            ("\u{202E}Memory", "Memory", true),
            ("Memory\u{E0041}", "Memory", true),
            ("Memory\u{FE0F}", "Memory", true),
            ("Mem\0ory", "Memory", true),
            ("Memory\u{1B}", "Memory", true),
            ("\u{3164}Memory\u{2800}", "Memory", true),
            ("Processor  Information", "Processor Information", true),
            ("Processor\u{A0}Information", "Processor Information", true),
            ("Processor\nInformation", "Processor Information", true),
            ("\u{17F}ystem", "System", true),
            ("L\u{131}nux Memory", "Linux Memory", true),
            ("STRA\u{DF}E", "strasse", true),
            ("ProcessorInformation", "Processor Information", false),
            ("Memory2", "Memory", false),
            ("", "Memory", false),
            ("\u{200B} \u{FEFF}", "", true),
        ] {
            assert_eq!(likeness(name) == likeness(other), is_alike, "{name:?} and {other:?}");
        }
    }

    /// Invisible characters do not change the likeness of a name.
    #[test]
    fn invisible_characters() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32).filter(|c| is_blank(*c) || shows_nothing(*c)) {
            assert_eq!(
                likeness(&format!("{c}Mem{}ory{c}", if is_blank(c) { '\u{200B}' } else { c })),
                "memory"
            );
        }
    }

    /// Names that counter paths treat as equal have the same likeness.
    #[test]
    fn capitals_of_paths() {
        for c in (0..=0xFFFF).filter_map(char::from_u32) {
            let mut unit = [0; 1];
            c.encode_utf16(&mut unit);
            let capital = char::from_u32(upper(unit[0]).into()).unwrap();
            assert_eq!(likeness(&format!("a{c}b")), likeness(&format!("a{capital}b")), "{c:?}");
        }
    }
}
