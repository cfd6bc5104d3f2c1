//! Numbers and names in the spelling of Prometheus.

use std::io::Write;

use crate::unit::UnitConversion;

/// Appends a whole number to the text of a scrape.
#[inline]
pub(crate) fn whole(out: &mut Vec<u8>, number: u64) {
    const MOST: usize = 20; // digits of 2^64
    let mut digits = [b'0'; MOST];
    let (mut at, mut rest) = (MOST, number);
    loop {
        let digit = u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        at = at.saturating_sub(1);
        if let Some(place) = digits.get_mut(at) {
            *place = digit.wrapping_add(b'0');
        }
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(at..).unwrap_or_default());
}

/// Appends to the text of a scrape a raw value, converted to a base unit, with all its digits.
#[inline]
pub(crate) fn scaled(out: &mut Vec<u8>, raw: u64, scale: UnitConversion) {
    if scale == UnitConversion::ONE {
        return whole(out, raw);
    }
    // In 64 bits if the product fits, which is usual: a division of 128 bits is slow.
    let small = raw.checked_mul(scale.factor).filter(|_| scale.offset == 0);
    if let (Some(number), Some(one)) = (small, 10_u64.checked_pow(scale.digits.into())) {
        return decimal(out, number.checked_div(one), number.checked_rem(one), scale.digits);
    }
    let number = i128::from(raw).saturating_mul(scale.factor.into()).saturating_add(scale.offset.into());
    if number < 0 {
        out.push(b'-');
    }
    let (number, one) = (number.unsigned_abs(), 10_u128.saturating_pow(scale.digits.into()));
    let (above, below) = (number.checked_div(one).unwrap_or_default(), number.checked_rem(one));
    let below = below.and_then(|below| u64::try_from(below).ok());
    match u64::try_from(above) {
        Ok(above) => decimal(out, Some(above), below, scale.digits),
        Err(_) => {
            let _ = write!(out, "{above}"); // into memory: cannot fail. What is behind the point is nothing to it
        }
    }
}

/// Appends to the text of a scrape a decimal number, given by the whole numbers before and behind its point.
#[inline]
fn decimal(out: &mut Vec<u8>, above: Option<u64>, below: Option<u64>, digits: u8) {
    whole(out, above.unwrap_or_default());
    let mut below = below.unwrap_or_default();
    if below == 0 {
        return;
    }
    let mut digits = usize::from(digits);
    while below % 10 == 0 && digits > 0 {
        below /= 10;
        digits = digits.saturating_sub(1);
    }
    out.push(b'.');
    let start = out.len();
    whole(out, below);
    let written = out.len().saturating_sub(start);
    let zeros = digits.saturating_sub(written);
    if zeros > 0 {
        out.resize(out.len().saturating_add(zeros), b'0');
        if let Some(behind) = out.get_mut(start..) {
            behind.rotate_right(zeros);
        }
    }
}

/// Appends to the text of a scrape a real number, in the fewest digits that reproduce it exactly.
pub(crate) fn real(out: &mut Vec<u8>, number: f64) {
    let _ = if number.is_infinite() {
        write!(out, "{}", if number > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        write!(out, "{number}") // NaN is written so
    };
}

/// Appends to the text of a scrape the ticks of a clock as seconds. They are exact if the frequency is a power of
/// ten, which is usual.
#[inline]
pub(crate) fn seconds(out: &mut Vec<u8>, ticks: u64, freq: u64) {
    match power_of_ten(freq) {
        Some(digits) => scaled(out, ticks, UnitConversion::over(digits)),
        None => real(out, float(ticks) / float(freq)),
    }
}

/// Returns the exponent of ten if a number is a power of ten.
fn power_of_ten(number: u64) -> Option<u8> {
    // Nearly all clocks tick every 100 ns or every 1 ns.
    match number {
        10_000_000 => Some(7),
        1_000_000_000 => Some(9),
        _ => {
            let digits = number.checked_ilog10()?;
            (10_u64.checked_pow(digits)? == number).then(|| u8::try_from(digits).ok()).flatten()
        }
    }
}

/// Converts a whole number to the nearest floating-point number.
#[expect(clippy::as_conversions, reason = "there is no other way, and it rounds as is wanted")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

/// Appends a text as the value of a metric's label. Characters that would end the value or its line are escaped.
pub(crate) fn label(out: &mut Vec<u8>, text: impl Iterator<Item = char>) {
    let mut utf8 = [0; 4];
    for c in text {
        match c {
            '\\' => out.extend_from_slice(br"\\"),
            '"' => out.extend_from_slice(br#"\""#),
            '\n' => out.extend_from_slice(br"\n"),
            c => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
        }
    }
}

/// Returns the characters of UTF-16LE bytes, with U+FFFD for unpaired surrogates.
pub(crate) fn characters(utf16: &[u8]) -> impl Iterator<Item = char> + '_ {
    let units = perfset_core::Name::until_nul(utf16).units();
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Returns a text as the value of a metric's label, without the quotation marks around it.
#[must_use]
pub fn escaped_label(text: &str) -> String {
    let mut escaped = Vec::new();
    label(&mut escaped, text.chars());
    String::from_utf8_lossy(&escaped).into_owned()
}

/// Appends the help text of a metric family. OpenMetrics escapes quotation marks too.
pub(crate) fn help(out: &mut Vec<u8>, text: &str, escapes_quotes: bool) {
    for c in text.bytes() {
        match c {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'"' if escapes_quotes => out.extend_from_slice(br#"\""#),
            c => out.push(c),
        }
    }
}

/// Returns the first sentence of a help text.
pub(crate) fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(". ").find(|(at, _)| {
        // An abbreviation or a number is not the end of one.
        let word = text.get(..*at).unwrap_or_default().rsplit([' ', '(']).next().unwrap_or_default();
        !matches!(word, "e.g" | "i.e" | "Dest" | "Avg" | "etc")
    });
    end.and_then(|(at, _)| text.get(..=at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers() {
        for (raw, digits, want) in [
            (0, 0, "0"),
            (0, 7, "0"),
            (7, 7, "0.0000007"),
            (10_000_000, 7, "1"),
            (10_500_000, 7, "1.05"),
            (123_456_789, 7, "12.3456789"),
            (u64::MAX, 0, "18446744073709551615"),
            (u64::MAX, 9, "18446744073.709551615"),
            (u64::MAX, 19, "1.8446744073709551615"),
            (1, 19, "0.0000000000000000001"),
        ] {
            assert_eq!(written(|out| scaled(out, raw, UnitConversion::over(digits))), want, "{raw} {digits}");
        }
        for (number, want) in [
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
            (0.1, "0.1"),
            (2.0, "2"),
        ] {
            assert_eq!(written(|out| real(out, number)), want);
        }
        assert_eq!(written(|out| seconds(out, 3, 2)), "1.5");
        assert_eq!(written(|out| seconds(out, 25, 10)), "2.5");
        assert_eq!(written(|out| seconds(out, 25, 1)), "25");
        assert_eq!(written(|out| seconds(out, 3_579_545, 3_579_545)), "1");
    }

    proptest! {
        /// Checks that the digits of a converted number are exact, whatever the conversion.
        #[test]
        fn scaled_numbers_are_exact(
            raw in any::<u64>(), factor in 1_u64..2_000_000_000, offset in -300_000_i64..1, digits in 0_u8..12,
        ) {
            let text = written(|out| scaled(out, raw, UnitConversion { factor, offset, digits }));
            let number = i128::from(raw) * i128::from(factor) + i128::from(offset);
            if let Some((above, below)) = text.split_once('.') {
                prop_assert!(!below.ends_with('0') && below.len() <= digits.into());
                let digits_of = format!("{above}{below:0<width$}", width = usize::from(digits));
                prop_assert_eq!(digits_of.parse::<i128>().unwrap(), number);
            } else if number.unsigned_abs() / 10_u128.pow(digits.into()) <= u64::MAX.into() {
                prop_assert_eq!(text.parse::<i128>().unwrap() * 10_i128.pow(digits.into()), number);
            }
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(escaped_label("a\\b\"c\nd\re\0"), "a\\\\b\\\"c\\nd\re\0");
        assert_eq!(written(|out| help(out, "\\a \"b\"\n", false)), "\\\\a \"b\"\\n");
        assert_eq!(written(|out| help(out, "\\a \"b\"\n", true)), "\\\\a \\\"b\\\"\\n");
    }

    #[test]
    fn sentences() {
        for (text, want) in [
            ("", ""),
            ("One", "One"),
            ("One.", "One."),
            ("One. Two.", "One."),
            ("Of 1.5 MB, i.e. little. Two.", "Of 1.5 MB, i.e. little."),
        ] {
            assert_eq!(first_sentence(text), want);
        }
    }
}
