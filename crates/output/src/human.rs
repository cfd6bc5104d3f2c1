//! Short forms of numbers, with prefixes that fit their units: `23.7 MiB`, `1.2k/s`, `41.3 ms`.

use crate::text::{push_grouped, push_measured};

/// Units of bytes with the prefixes of powers of 1,024.
const BYTES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Prefixes of units for the powers of 1,000.
const COUNTS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// Returns a number with its unit in short form: rounded to one decimal, with a prefix that fits the size. The unit is
/// in UCUM's spelling, as [`Counter::unit`](perfset_core::Counter::unit) has it.
///
/// ```
/// use perfset::output::human;
///
/// assert_eq!(human(24_851_251.0, "By"), "23.7 MiB");
/// assert_eq!(human(1_258_291.0, "By/s"), "1.2 MiB/s");
/// assert_eq!(human(1_234.0, "/s"), "1.2k/s");
/// assert_eq!(human(0.0413, "s"), "41.3 ms");
/// assert_eq!(human(87.44, "%"), "87.4 %");
/// assert_eq!(human(2_445.0, "MHz"), "2,445 MHz");
/// ```
#[must_use]
pub fn human(value: f64, unit: &str) -> String {
    let mut text = String::new();
    push_human(&mut text, value, unit);
    text
}

/// Appends a number with its unit in short form; see [`human`].
pub fn push_human(out: &mut String, value: f64, unit: &str) {
    const KI: f64 = 1_024.0;
    if !value.is_finite() {
        push_plain(out, value);
        return push_unit(out, unit);
    }
    match unit {
        "By" => push_bytes(out, value, ""),
        "KiBy" => push_bytes(out, value * KI, ""),
        "MiBy" => push_bytes(out, value * KI * KI, ""),
        "By/s" => push_bytes(out, value, "/s"),
        "KiBy/s" => push_bytes(out, value * KI, "/s"),
        "kBy/s" => push_bytes(out, value * 1_000.0, "/s"),
        "bit/s" => {
            let prefix = push_scaled(out, value, 1_000.0, &COUNTS);
            out.push(' ');
            out.push_str(prefix);
            out.push_str("bit/s");
        }
        "s" => push_seconds(out, value),
        "ns" => push_seconds(out, value / 1e9),
        // Counts are exact as long as they are short.
        "" if value.fract() == 0.0 && value.abs() < 10_000.0 => push_grouped(out, value, 0),
        "" => {
            let prefix = push_scaled(out, value, 1_000.0, &COUNTS);
            out.push_str(prefix);
        }
        rate if rate.starts_with('/') => {
            let prefix = push_scaled(out, value, 1_000.0, &COUNTS);
            out.push_str(prefix);
            out.push_str(rate);
        }
        unit => {
            push_plain(out, value);
            push_unit(out, unit);
        }
    }
}

/// Returns the name of a unit for users, who do not know UCUM: `B/s` for `By/s`, `°C` for `Cel`. Other units are
/// returned unchanged.
///
/// ```
/// use perfset::output::unit_name;
///
/// assert_eq!(unit_name("KiBy/s"), "KiB/s");
/// assert_eq!(unit_name("%"), "%");
/// ```
#[must_use]
pub fn unit_name(unit: &str) -> &str {
    match unit {
        "By" => "B",
        "KiBy" => "KiB",
        "MiBy" => "MiB",
        "By/s" => "B/s",
        "kBy/s" => "kB/s",
        "KiBy/s" => "KiB/s",
        "Cel" => "°C",
        "uW" => "µW",
        "uJ" => "µJ",
        "pW.h" => "pWh",
        other => other,
    }
}

/// Appends a blank and the name of a unit, if there is a unit.
fn push_unit(out: &mut String, unit: &str) {
    if !unit.is_empty() {
        out.push(' ');
        out.push_str(unit_name(unit));
    }
}

/// Appends a number in short form without a prefix.
fn push_plain(out: &mut String, value: f64) {
    if value.fract() == 0.0 { push_grouped(out, value, 0) } else { push_measured(out, value, true) }
}

/// Appends a number of bytes in short form. Below 1 KiB, a whole number has no decimals.
fn push_bytes(out: &mut String, value: f64, per: &str) {
    let unit = match value.fract() == 0.0 && value.abs() < 1_024.0 {
        true => {
            push_grouped(out, value, 0);
            "B"
        }
        false => push_scaled(out, value, 1_024.0, &BYTES),
    };
    out.push(' ');
    out.push_str(unit);
    out.push_str(per);
}

/// Appends a number divided by a power of `base` so that it is below `base`, and returns the prefix of that power.
/// Without a division, the number has as many decimals as it needs.
fn push_scaled<'p>(out: &mut String, value: f64, base: f64, prefixes: &[&'p str]) -> &'p str {
    /// Half a unit of the last displayed digit; a number such as 1,023.96 would be rounded to 1,024.0 without the next
    /// prefix.
    const HALF: f64 = 0.05;
    let (mut scaled, mut prefix) = (value, 0_usize);
    while scaled.abs() >= base - HALF && prefix.saturating_add(1) < prefixes.len() {
        scaled /= base;
        prefix = prefix.saturating_add(1);
    }
    match prefix {
        0 => push_measured(out, scaled, true),
        // From 1,000 to 1,023 KiB, a decimal would be the fifth digit.
        _ => push_grouped(out, scaled, usize::from(scaled.abs() < 999.95)),
    }
    prefixes.get(prefix).copied().unwrap_or_default()
}

/// Appends a duration in short form: in ns, µs or ms below a second, with two parts from a minute on.
fn push_seconds(out: &mut String, seconds: f64) {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3_600.0;
    const DAY: f64 = 86_400.0;
    let size = seconds.abs();
    // Zero has no size that could select a prefix.
    let small = [(0.999_95e-6, 1e9, "ns"), (0.999_95e-3, 1e6, "µs"), (0.999_95, 1e3, "ms")];
    if let Some((_, factor, unit)) = small.into_iter().find(|(limit, ..)| size > 0.0 && size < *limit) {
        push_grouped(out, seconds * factor, 1);
        out.push(' ');
        return out.push_str(unit);
    }
    if size < MINUTE - 0.05 {
        push_grouped(out, seconds, 1);
        return out.push_str(" s");
    }
    if seconds < 0.0 {
        out.push('-');
    }
    // Rounded to whole seconds first, so that no part is 60.
    let whole = size.round();
    let (large, one, first, second) = match whole {
        whole if whole < HOUR => (MINUTE, 1.0, "m", "s"),
        whole if whole < DAY => (HOUR, MINUTE, "h", "m"),
        _ => (DAY, HOUR, "d", "h"),
    };
    push_grouped(out, (whole / large).floor(), 0);
    out.push_str(first);
    out.push(' ');
    let rest = ((whole % large) / one).floor();
    if rest < 10.0 {
        out.push('0');
    }
    push_grouped(out, rest, 0);
    out.push_str(second);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_binary_prefixes() {
        for (value, unit, want) in [
            (0.0, "By", "0 B"),
            (1_023.0, "By", "1,023 B"),
            (1_024.0, "By", "1.0 KiB"),
            (24_851_251.0, "By", "23.7 MiB"),
            (1_048_000.0, "By", "1,023 KiB"),
            (1_048_575.0, "By", "1.0 MiB"),
            (23_399.0, "MiBy", "22.9 GiB"),
            (5.0, "KiBy", "5.0 KiB"),
            (0.26, "By/s", "0.3 B/s"),
            (0.0, "By/s", "0 B/s"),
            (1_258_291.0, "By/s", "1.2 MiB/s"),
            (12.0, "kBy/s", "11.7 KiB/s"),
            (-2_048.0, "By", "-2.0 KiB"),
            (1_234_567.0, "bit/s", "1.2 Mbit/s"),
        ] {
            assert_eq!(human(value, unit), want, "{value} {unit}");
        }
    }

    #[test]
    fn counts_and_rates_have_decimal_prefixes() {
        for (value, unit, want) in [
            (0.0, "", "0"),
            (14.0, "", "14"),
            (9_999.0, "", "9,999"),
            (10_000.0, "", "10.0k"),
            (12.34, "", "12.3"),
            (1_234_567.0, "", "1.2M"),
            (0.0, "/s", "0.0/s"),
            (302.66, "/s", "302.7/s"),
            (999.96, "/s", "1.0k/s"),
            (1_234.0, "/s", "1.2k/s"),
            (7_200.0, "/min", "7.2k/min"),
            (87.44, "%", "87.4 %"),
            (12_800.4, "%", "12,800 %"),
            (45.0, "Cel", "45 °C"),
            (2_445.0, "MHz", "2,445 MHz"),
            (3.27, "widgets", "3.3 widgets"),
        ] {
            assert_eq!(human(value, unit), want, "{value} {unit}");
        }
    }

    #[test]
    fn times_have_the_unit_of_their_size() {
        for (seconds, want) in [
            (0.0, "0.0 s"),
            (0.041_3, "41.3 ms"),
            (0.000_041_3, "41.3 µs"),
            (4.13e-8, "41.3 ns"),
            (0.999_97, "1.0 s"),
            (12.34, "12.3 s"),
            (59.96, "1m 00s"),
            (125.4, "2m 05s"),
            (3_599.9, "1h 00m"),
            (12_345.0, "3h 25m"),
            (1_000_000.0, "11d 13h"),
            (-0.5, "-500.0 ms"),
            (-125.0, "-2m 05s"),
        ] {
            assert_eq!(human(seconds, "s"), want, "{seconds}");
        }
        assert_eq!(human(41_300.0, "ns"), "41.3 µs");
    }

    #[test]
    fn no_number_panics() {
        let units = ["By", "By/s", "/s", "", "s", "ns", "%", "bit/s", "MiBy", "x"];
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, -0.0] {
            for unit in units {
                assert!(!human(value, unit).is_empty(), "{value} {unit}");
            }
        }
        assert_eq!(human(f64::NAN, "By"), "NaN B");
        assert_eq!(human(f64::INFINITY, ""), "inf");
    }

    #[test]
    fn unit_names_are_those_of_people() {
        for (unit, want) in [("By", "B"), ("kBy/s", "kB/s"), ("Cel", "°C"), ("/s", "/s"), ("", "")] {
            assert_eq!(unit_name(unit), want);
        }
    }
}
