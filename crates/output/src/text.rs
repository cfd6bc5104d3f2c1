//! Text for terminals and pipes: escapes untrusted names, and formats numbers.

use std::fmt::Write as _;
use std::path::Path;

/// Maximum number of displayed characters of an untrusted name: a file can give a long text to many objects.
pub const NAME_MAX: usize = 1_023;

/// Escapes characters of untrusted text that control a terminal, end a line or are invisible.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(&mut out, text, is_harmful, |out, c: char| out.extend(c.escape_default()));
    out
}

/// Appends a text, with each harmful character replaced by the output of `instead`. Text between them is copied at
/// once.
fn escape(out: &mut String, text: &str, harms: impl Fn(char) -> bool, instead: impl Fn(&mut String, char)) {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| harms(*c)) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        instead(out, c);
        rest = behind.get(c.len_utf8()..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// Returns `true` for a character that controls a terminal, ends a line, changes the order of other characters, is
/// invisible, or has no look that is common to all fonts. These are Unicode's categories Cc, Cf, Zl, Zp and Co,
/// noncharacters, blank symbols, and other characters that are ignored if they cannot be drawn. Variation selectors 1
/// to 16 are allowed: they only select a form of the character before them. So are combining marks, which many
/// languages need.
#[inline]
#[must_use]
pub fn is_harmful(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_control() } else { is_invisible(c) }
}

fn is_invisible(c: char) -> bool {
    // The last two characters of every plane are noncharacters.
    u32::from(c) & 0xFFFE == 0xFFFE || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Harmful characters beyond ASCII. Source: Unicode 16.0, `DerivedGeneralCategory.txt` and
/// `DerivedCoreProperties.txt` (`Default_Ignorable_Code_Point`); `PropList.txt` (`Noncharacter_Code_Point`). The blank
/// symbols are U+2800 BRAILLE PATTERN BLANK and U+1D159 MUSICAL SYMBOL NULL NOTEHEAD.
const INVISIBLE: &[(char, char)] = &[
    ('\u{80}', '\u{9F}'),
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{600}', '\u{605}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{6DD}', '\u{6DD}'),
    ('\u{70F}', '\u{70F}'),
    ('\u{890}', '\u{891}'),
    ('\u{8E2}', '\u{8E2}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{2028}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{E000}', '\u{F8FF}'),
    ('\u{FDD0}', '\u{FDEF}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{110BD}', '\u{110BD}'),
    ('\u{110CD}', '\u{110CD}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D159}', '\u{1D159}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
    ('\u{F0000}', '\u{10FFFF}'),
];

/// Returns a line of JSON with every harmful character as a JSON escape. Programs read the same text, and a reader of
/// lines finds no line end inside it.
#[must_use]
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    // A line end between two lines stays; JSON text itself contains none.
    let harms = |c: char| c != '\n' && is_harmful(c);
    escape(&mut out, json, harms, |out, c: char| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}"); // a String takes everything
        }
    });
    out
}

/// Returns the name of a file, escaped because another user might have chosen it.
#[must_use]
pub fn name_of(file: &Path) -> String {
    escaped(&file.display().to_string())
}

/// Returns a text as a CSV cell: quoted if necessary, and never treated as a formula by a spreadsheet.
#[must_use]
pub fn csv_cell(text: &str) -> String {
    // Spreadsheets run cells that begin with these characters as formulas, even quoted ones.
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guarded = if formula { format!("'{text}") } else { text.to_owned() };
    if guarded.contains([',', '"', '\n', '\r']) || formula {
        return format!("\"{}\"", guarded.replace('"', "\"\""));
    }
    guarded
}

/// Formats a number with separators between thousands.
#[must_use]
pub fn grouped(number: f64, decimals: usize) -> String {
    let mut text = String::new();
    push_grouped(&mut text, number, decimals);
    text
}

/// Appends a number with separators between thousands.
pub fn push_grouped(out: &mut String, number: f64, decimals: usize) {
    let start = out.len();
    // Integers are written much faster than doubles are formatted, and only where both give the same digits.
    match in_units(number, decimals) {
        Some(units) => push_units(out, units, decimals),
        None => {
            let _ = write!(out, "{number:.decimals$}"); // a String takes everything
        }
    }
    group(out, start);
}

/// Returns a non-negative number as a count of units of its last decimal: with two decimals, 1.25 is 125 units. Returns
/// `None` if the number is negative or too large, or if the rounding is in doubt.
fn in_units(number: f64, decimals: usize) -> Option<u32> {
    const TENS: [f64; 10] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    /// Minimum distance from the midpoint between two units at which rounding is safe; the error of the product is far
    /// smaller.
    const DOUBT: f64 = 1e-6;
    let units = number * TENS.get(decimals)?;
    let is_safe = number.is_sign_positive() && units < 1e9 && (units.fract() - 0.5).abs() > DOUBT;
    #[expect(clippy::as_conversions, reason = "it is below 10^9, and not NaN")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as above")]
    is_safe.then(|| units.round() as u32)
}

/// Appends a decimal number that is given as a count of units of its last decimal: with two decimals, 125 units are
/// 1.25.
fn push_units(out: &mut String, units: u32, decimals: usize) {
    let mut digits = [b'0'; 11];
    let mut left = units;
    let mut len = 0_usize;
    for digit in digits.iter_mut().rev() {
        if left == 0 && len > decimals {
            break;
        }
        *digit = b'0'.saturating_add(u8::try_from(left % 10).unwrap_or(0)); // it is below 10
        left /= 10;
        len = len.saturating_add(1);
    }
    for (place, digit) in digits.iter().enumerate().skip(digits.len().saturating_sub(len)) {
        if digits.len().saturating_sub(place) == decimals {
            out.push('.');
        }
        out.push(char::from(*digit));
    }
}

/// Appends a number below 1,000 with a fixed number of digits.
pub fn push_padded(out: &mut String, number: i64, digits: u32) {
    for place in (0..digits).rev() {
        let digit = number.checked_div(10_i64.saturating_pow(place)).unwrap_or(0).rem_euclid(10);
        out.push(char::from(b'0'.saturating_add(u8::try_from(digit).unwrap_or(0)))); // it is below 10
    }
}

/// Formats a measured number; see [`push_measured`].
#[must_use]
pub fn measured(number: f64, is_share_or_rate: bool) -> String {
    let mut text = String::new();
    push_measured(&mut text, number, is_share_or_rate);
    text
}

/// Appends a measured number, with as many decimals as it needs: one if that is enough, more for a small number, so
/// that 0.0249 seconds are not 0.0. Shares and rates below 0.1 have two significant digits, all other numbers below
/// 10 have three. Shares and rates of 1,000 and more have no decimals.
pub fn push_measured(out: &mut String, number: f64, is_share_or_rate: bool) {
    /// Maximum number of decimals of a measured number: no measurement is finer than billionths.
    const MOST: usize = 9;
    /// Lower bound of measured numbers without decimals: one decimal would round this to 1,000.0.
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
    // Zeros at the end are removed: 0.500 becomes 0.5, and 2.00 becomes 2.0.
    if out.get(start..).is_some_and(|text| text.contains('.')) {
        out.truncate(out.trim_end_matches('0').len());
        if out.ends_with('.') {
            out.push('0');
        }
    }
}

/// Returns a decimal number with separators between thousands.
#[must_use]
pub fn grouped_digits(plain: &str) -> String {
    let mut out = plain.to_owned();
    group(&mut out, 0);
    out
}

/// Inserts separators between thousands into the decimal number that begins at `start`.
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

/// Wraps a text at blanks to lines of at most `width` characters; a longer word has a line of its own.
#[must_use]
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

/// Appends sentences below a table, each with an indent, wrapped to lines of at most `width` characters.
pub fn push_sentences(out: &mut String, sentences: &[String], width: usize) {
    const INDENT: usize = 4;
    for sentence in sentences {
        for (number, line) in wrapped(sentence, width.saturating_sub(INDENT)).iter().enumerate() {
            let indent = if number == 0 { INDENT / 2 } else { INDENT };
            let _ = writeln!(out, "{:indent$}{line}", ""); // a String takes everything
        }
    }
}

/// Cuts a line of output to a width, so that a terminal does not wrap it.
#[must_use]
pub fn cut(line: &str, width: usize) -> &str {
    line.char_indices().nth(width).map_or(line, |(end, _)| line.get(..end).unwrap_or(line))
}

/// Cuts a name to a width, with `…` instead of its middle, because the end of a name often has a distinctive number.
#[must_use]
pub fn cut_middle(name: &str, width: usize) -> String {
    let len = name.chars().count();
    if len <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let tail = kept / 3;
    let head = name.chars().take(kept.saturating_sub(tail));
    head.chain(['…']).chain(name.chars().skip(len.saturating_sub(tail))).collect()
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
            ("two\u{2028}lines\u{2029}", "two\\u{2028}lines\\u{2029}"),
            ("z\u{200B}w\u{2060}s\u{FEFF}", "z\\u{200b}w\\u{2060}s\\u{feff}"),
            ("\u{AD}\u{61C}\u{E0041}", "\\u{ad}\\u{61c}\\u{e0041}"),
            ("blank\u{2800}braille", "blank\\u{2800}braille"),
            (
                "no\u{FFFE}\u{FFFF}\u{FDD0}\u{2FFFE}characters",
                "no\\u{fffe}\\u{ffff}\\u{fdd0}\\u{2fffe}characters",
            ),
            ("private\u{E000}\u{F8FF}\u{F0000}\u{10FFFD}", "private\\u{e000}\\u{f8ff}\\u{f0000}\\u{10fffd}"),
            ("null notehead\u{1D159}", "null notehead\\u{1d159}"),
            ("\u{2764}\u{FE0F} नमस्ते", "\u{2764}\u{FE0F} नमस्ते"),
        ] {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn json_says_the_same() {
        for text in [
            "plain é 中",
            "a\u{2028}b\u{85}c\u{9b}\u{7f}",
            "\u{E0041}\u{202E}",
            "\n\r\t\u{1b}\"\\",
            "\u{2800}\u{FFFE}\u{E000}\u{10FFFF}\u{1D159}",
        ] {
            let json = escaped_json(&serde_json::to_string(text).unwrap());
            assert!(!json.chars().any(is_harmful), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    /// Checks that control characters are escaped, and that variation selectors, blanks and letters are not.
    #[test]
    fn every_control_character_is_escaped() {
        let is_left_alone = |c: char| matches!(c, '\u{FE00}'..='\u{FE0F}');
        for c in ('\0'..=char::MAX).filter(|c| !is_left_alone(*c)) {
            assert!(!c.is_control() || is_harmful(c), "{c:?}");
        }
        assert!((0..=16).all(|plane| {
            let last = |unit: u32| char::from_u32(plane * 0x1_0000 + unit).unwrap();
            is_harmful(last(0xFFFE)) && is_harmful(last(0xFFFF)) && (plane > 14 || !is_harmful(last(0xFFEE)))
        }));
        assert!(
            [' ', 'a', 'é', '中', '\u{A0}', '\u{FE0F}', '\u{2801}', '\u{FFFD}']
                .iter()
                .all(|c| !is_harmful(*c))
        );
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

    /// Checks that the fast way to format a number rounds exactly like the slow one.
    #[test]
    fn rounding_is_exact() {
        let mut seed = 88_172_645_463_325_252_u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut quick = 0;
        for n in 0..200_000 {
            let whole = next() % 10_u64.pow(u32::try_from(n % 11).unwrap());
            let number = match n % 3 {
                0 => whole as f64 / 1_000.0,
                1 => whole as f64 / 7.0,
                _ => whole as f64 + 0.5,
            };
            for decimals in 0..10 {
                let mut text = String::new();
                if let Some(units) = in_units(number, decimals) {
                    push_units(&mut text, units, decimals);
                    assert_eq!(text, format!("{number:.decimals$}"), "{number:?}, {decimals}");
                    quick += 1;
                }
            }
        }
        assert!(quick > 500_000, "{quick}");
        for (number, decimals) in [(0.5, 0), (0.35, 1), (0.25, 1), (f64::NAN, 1), (-1.0, 1), (1e9, 0)] {
            assert_eq!(in_units(number, decimals), None, "{number}");
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

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(cut_middle("memfd:sealed-91:2784", 20), "memfd:sealed-91:2784");
        assert_eq!(cut_middle("memfd:sealed-91:2784", 13), "memfd:se…2784");
        assert_eq!(cut_middle("ééééé", 4), "éé…é");
        assert_eq!(cut_middle("abc", 1), "…");
        assert_eq!(cut_middle("", 0), "");
    }

    #[test]
    fn cells_are_safe_in_spreadsheets() {
        for (text, want) in [
            ("plain", "plain"),
            ("0,1", "\"0,1\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("@x", "\"'@x\""),
            ("-", "\"'-\""),
            ("% Processor Time", "% Processor Time"),
        ] {
            assert_eq!(csv_cell(text), want);
        }
    }
}
