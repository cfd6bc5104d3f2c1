//! Text for terminals and pipes: strangers' names made harmless, numbers made readable.

use std::fmt::Write as _;

/// Characters of a stranger's name that are shown: a file may give a long text to many things.
pub const NAME_MAX: usize = 1_023;

/// A stranger's text with control characters, and what reorders a line, escaped.
pub fn escaped(text: &str) -> String {
    let harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if harmful(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// A number with separators between thousands.
pub fn grouped(number: f64, decimals: usize) -> String {
    let mut text = String::new();
    push_grouped(&mut text, number, decimals);
    text
}

/// Appends a number with separators between thousands.
pub fn push_grouped(out: &mut String, number: f64, decimals: usize) {
    let start = out.len();
    let _ = write!(out, "{number:.decimals$}"); // a String takes everything
    group(out, start);
}

/// A measured number: see [`push_measured`].
pub fn measured(number: f64, is_share_or_rate: bool) -> String {
    let mut text = String::new();
    push_measured(&mut text, number, is_share_or_rate);
    text
}

/// Appends a measured number, with as many decimals as it needs: one where that says enough, more for a small number, so
/// that 0.0249 seconds are not 0.0. Shares and rates below 0.1 have two digits that count, everything else below 10
/// three. Shares and rates of 1,000 and more have no decimals.
pub fn push_measured(out: &mut String, number: f64, is_share_or_rate: bool) {
    /// Nothing is measured finer than in billionths.
    const MOST: usize = 9;
    /// What one decimal would round to 1,000.0 is as large.
    const LARGE: f64 = 999.95;
    let size = number.abs();
    let (mut edge, mut decimals) = (10.0, 1_usize);
    while size < edge && decimals < MOST {
        edge /= 10.0;
        decimals = decimals.saturating_add(1);
    }
    match is_share_or_rate {
        true if size >= LARGE => decimals = 0,
        true if size >= 0.1 => decimals = 1,
        true => decimals = decimals.saturating_sub(1),
        false => {}
    }
    let start = out.len();
    push_grouped(out, number, decimals);
    // What remains of 0.500 is 0.5, and of 2.00 is 2.0.
    if out.get(start..).is_some_and(|text| text.contains('.')) {
        out.truncate(out.trim_end_matches('0').len());
        if out.ends_with('.') {
            out.push('0');
        }
    }
}

/// A decimal number with separators between thousands.
pub fn grouped_digits(plain: &str) -> String {
    let mut out = plain.to_owned();
    group(&mut out, 0);
    out
}

/// Puts separators between thousands of the decimal number that a text has from there on.
fn group(text: &mut String, start: usize) {
    let number = text.get(start..).unwrap_or_default();
    let sign = usize::from(number.starts_with('-'));
    let whole = number.find('.').unwrap_or(number.len());
    if !number.get(sign..whole).unwrap_or_default().bytes().all(|byte| byte.is_ascii_digit()) {
        return; // inf, NaN
    }
    let mut at = whole;
    while let Some(next @ 1..) = at.checked_sub(3).filter(|at| *at > sign) {
        at = next;
        text.insert(start.saturating_add(at), ',');
    }
}

/// A text on lines of at most that width, broken at blanks; a longer word has a line of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let len = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count().saturating_add(len) < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A line cut to a width, so that a terminal does not wrap it.
pub fn cut(line: &str, width: usize) -> &str {
    line.char_indices().nth(width).map_or(line, |(end, _)| line.get(..end).unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_cannot_write_to_the_terminal() {
        for (text, want) in [
            ("plain é 中", "plain é 中"),
            ("\x1b[2Jgone", "\\u{1b}[2Jgone"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{202E}y", "x\\u{202e}y"),
            ("nul\0", "nul\\u{0}"),
        ] {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn thousands() {
        for (number, decimals, want) in [
            (0.0, 0, "0"),
            (999.4, 0, "999"),
            (999.5, 0, "1,000"),
            (-1234.56, 1, "-1,234.6"),
            (123_456_789.0, 0, "123,456,789"),
            (100.0, 1, "100.0"),
            (f64::INFINITY, 0, "inf"),
        ] {
            assert_eq!(grouped(number, decimals), want);
        }
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        for (number, other, share) in [
            (0.0, "0.0", "0.0"),
            (-0.0, "-0.0", "-0.0"),
            (0.0249, "0.0249", "0.025"),
            (0.000_123_4, "0.000123", "0.00012"),
            (0.0996, "0.0996", "0.1"),
            (0.125, "0.125", "0.1"),
            (0.5, "0.5", "0.5"),
            (1.278, "1.28", "1.3"),
            (2.0, "2.0", "2.0"),
            (12.34, "12.3", "12.3"),
            (99.96, "100.0", "100.0"),
            (-0.0249, "-0.0249", "-0.025"),
            (999.94, "999.9", "999.9"),
            (999.96, "1,000.0", "1,000"),
            (1_234.56, "1,234.6", "1,235"),
            (-1_234.56, "-1,234.6", "-1,235"),
            (761_640_238.5, "761,640,238.5", "761,640,238"),
            (4e-12, "0.0", "0.0"),
            (f64::INFINITY, "inf", "inf"),
        ] {
            assert_eq!(measured(number, false), other, "{number}");
            assert_eq!(measured(number, true), share, "{number} as a share");
        }
        assert_eq!(measured(f64::NAN, true), "NaN");
    }

    #[test]
    fn texts_are_wrapped_at_blanks() {
        assert_eq!(wrapped("ab cd  efg h", 5), ["ab cd", "efg h"]);
        assert_eq!(wrapped("toolong x", 3), ["toolong", "x"]);
        assert_eq!(wrapped("", 3), [""; 0]);
    }

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(cut("éab", 2), "éa");
        assert_eq!(cut("ab", 5), "ab");
        assert_eq!(cut("ab", 0), "");
    }
}
