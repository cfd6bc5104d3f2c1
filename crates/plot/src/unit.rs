//! Units and numbers as a picture shows them to people.

/// Unit that an axis and a legend of a picture show.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Symbol of the unit, without a prefix.
    pub symbol: String,
    /// Factor that converts values in the counter's unit to this unit.
    pub factor: f64,
    prefixes: Prefixes,
}

/// Position and kind of the size prefix of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefixes {
    /// Size prefixes in powers of 1,024 before the unit.
    Binary,
    /// Size prefixes in powers of 1,000 before the unit.
    Metric,
    /// Size prefixes in powers of 1,000 before the unit, except for values above 1, because kiloseconds are unusual.
    Small,
    /// Size prefixes after the number instead of before the unit, as in 20k/s.
    OfNumber,
}

/// Units of counters in UCUM notation with the shown symbol, the factor and the kind of prefix.
const KNOWN: [(&str, &str, f64, Prefixes); 24] = [
    ("By", "B", 1.0, Prefixes::Binary),
    ("KiBy", "B", 1_024.0, Prefixes::Binary),
    ("MiBy", "B", 1_048_576.0, Prefixes::Binary),
    ("GiBy", "B", 1_073_741_824.0, Prefixes::Binary),
    ("kBy", "B", 1_000.0, Prefixes::Binary),
    ("bit", "bit", 1.0, Prefixes::Metric),
    ("s", "s", 1.0, Prefixes::Small),
    ("ms", "s", 1e-3, Prefixes::Small),
    ("us", "s", 1e-6, Prefixes::Small),
    ("ns", "s", 1e-9, Prefixes::Small),
    ("Hz", "Hz", 1.0, Prefixes::Metric),
    ("MHz", "Hz", 1e6, Prefixes::Metric),
    ("W", "W", 1.0, Prefixes::Metric),
    ("mW", "W", 1e-3, Prefixes::Metric),
    ("uW", "W", 1e-6, Prefixes::Metric),
    ("J", "J", 1.0, Prefixes::Metric),
    ("uJ", "J", 1e-6, Prefixes::Metric),
    ("mV", "V", 1e-3, Prefixes::Metric),
    ("mA", "A", 1e-3, Prefixes::Metric),
    ("K", "K", 1.0, Prefixes::OfNumber),
    ("dK", "K", 0.1, Prefixes::OfNumber),
    ("mK", "K", 1e-3, Prefixes::OfNumber),
    ("Cel", "°C", 1.0, Prefixes::OfNumber),
    ("pW.h", "W·h", 1e-12, Prefixes::Metric),
];

/// Prefixes of units for powers of 1,000, in ascending order, with their factors.
const METRIC: [(&str, f64); 11] = [
    ("p", 1e-12),
    ("n", 1e-9),
    ("µ", 1e-6),
    ("m", 1e-3),
    ("", 1.0),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];
/// Prefixes of units for powers of 1,024, in ascending order, with their factors.
const BINARY: [(&str, f64); 7] = [
    ("", 1.0),
    ("Ki", 1_024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
];

/// Returns the factor of a size prefix that a number without a unit may have. Prefixes below 1 need a unit, because
/// an `m` alone could be minutes.
pub fn prefix_factor(prefix: &str) -> Option<f64> {
    let all = BINARY.iter().chain(&METRIC);
    all.filter(|(_, one)| *one >= 1.0).find(|(known, _)| *known == prefix).map(|(_, one)| *one)
}

impl Unit {
    /// Returns the shown unit for a UCUM code; an unknown code is shown unchanged.
    pub fn from_ucum(ucum: &str) -> Self {
        let (of_time, per) = match ucum.strip_suffix("/s") {
            Some(of_time) if !of_time.is_empty() => (of_time, "/s"),
            _ => (ucum, ""),
        };
        match KNOWN.iter().find(|(known, ..)| *known == of_time) {
            // Seconds per second are a share, and are shown unchanged.
            Some((_, symbol, factor, prefixes)) if *symbol != "s" || per.is_empty() => {
                Self { symbol: format!("{symbol}{per}"), factor: *factor, prefixes: *prefixes }
            }
            _ => Self { symbol: ucum.to_owned(), factor: 1.0, prefixes: Prefixes::OfNumber },
        }
    }

    /// Returns the factor for numbers with this unit, written as UCUM code or as symbol with a prefix; `None` if the
    /// text is another unit.
    pub fn factor_of(&self, text: &str) -> Option<f64> {
        if text == self.symbol {
            return Some(1.0);
        }
        if self.symbol.is_empty() {
            return prefix_factor(text);
        }
        let ucum = Self::from_ucum(text);
        if ucum.symbol == self.symbol {
            return Some(ucum.factor);
        }
        let prefix = text.strip_suffix(self.symbol.as_str())?;
        // People who cannot type the Greek letter write u.
        let prefix = if prefix == "u" { "µ" } else { prefix };
        let known = METRIC.iter().chain(&BINARY).find(|(known, _)| *known == prefix);
        known.map(|(_, one)| *one)
    }

    /// Returns the size prefix and unit for an axis whose numbers have about this size.
    pub fn scale(&self, size: f64) -> AxisScale {
        let fitting = |prefixes: &[(&'static str, f64)], least: f64, most: f64| {
            let allowed = prefixes.iter().filter(|(_, one)| (least..=most).contains(one));
            let fits = allowed.clone().rev().find(|(_, one)| size >= *one);
            fits.or(allowed.clone().next()).copied().unwrap_or(("", 1.0))
        };
        let (prefix, one) = match self.prefixes {
            Prefixes::Binary => fitting(&BINARY, 0.0, f64::MAX),
            // Zero has no size.
            _ if size == 0.0 => ("", 1.0),
            Prefixes::Metric => fitting(&METRIC, 0.0, f64::MAX),
            Prefixes::Small => fitting(&METRIC, 0.0, 1.0),
            // Thousands are easier to read without a prefix.
            // There is no prefix for 1,000 E and more.
            Prefixes::OfNumber if !(1e4..1e21).contains(&size) => ("", 1.0),
            Prefixes::OfNumber => fitting(&METRIC, 1.0, f64::MAX),
        };
        let is_of_number = self.prefixes == Prefixes::OfNumber;
        let (suffix, prefix) = if is_of_number { (prefix, "") } else { ("", prefix) };
        AxisScale { one, suffix, unit: format!("{prefix}{}", self.symbol) }
    }

    /// Returns `true` if round numbers of this unit are powers of two, as for bytes.
    pub fn is_binary(&self) -> bool {
        self.prefixes == Prefixes::Binary
    }

    /// Formats a number of a picture with its unit, in at least three digits.
    pub fn text(&self, number: f64) -> String {
        let scale = self.scale(number.abs());
        let shown = (number / scale.one).abs();
        let decimals = match shown {
            _ if shown == 0.0 => 0,
            _ if shown >= 100.0 => 0,
            _ if shown >= 10.0 => 1,
            _ if shown >= 1.0 => 2,
            _ if shown >= 0.1 => 3,
            _ => 4,
        };
        scale.with_unit(number, decimals)
    }
}

/// Size prefix and unit for the numbers of an axis, or for one number.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisScale {
    /// Number that is shown as 1 with this size prefix.
    pub one: f64,
    /// Size prefix that is appended to each number.
    suffix: &'static str,
    /// Unit of the axis, with its size prefix.
    pub unit: String,
}

impl AxisScale {
    /// Formats a number with this many decimals, the size prefix and the unit.
    pub fn with_unit(&self, number: f64, decimals: usize) -> String {
        let blank = if self.unit.is_empty() || self.unit.starts_with('/') { "" } else { " " };
        format!("{}{blank}{}", self.number(number, decimals), self.unit)
    }

    /// Formats a number with this many decimals and the prefix of numbers, without the unit.
    pub fn number(&self, number: f64, decimals: usize) -> String {
        let shown = number / self.one;
        let size = shown.abs();
        if size >= 1e6 || (size > 0.0 && size < 1e-4) {
            return format!("{shown:.2e}").replace('-', "−") + self.suffix;
        }
        let mut text = format!("{shown:.decimals$}");
        let whole = text.find('.').unwrap_or(text.len());
        // One separator is enough: larger numbers have returned above.
        if size >= 1_000.0 {
            text.insert(whole.saturating_sub(3), ',');
        }
        // A number rounded to zero has no sign.
        if text.trim_start_matches('-').bytes().all(|byte| matches!(byte, b'0' | b'.')) {
            text = text.trim_start_matches('-').to_owned();
        }
        text.replace('-', "−") + self.suffix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_their_units() {
        for (unit, number, want) in [
            ("%", 12.345, "12.3 %"),
            ("%", 100.0, "100 %"),
            ("%", 0.0, "0 %"),
            ("%", -0.00001, "−1.00e−5 %"),
            ("By", 25_000_000_000.0, "23.3 GiB"),
            ("By", 1_023.0, "1,023 B"),
            ("By", 0.5, "0.500 B"),
            ("MiBy", 2_048.0, "2.00 GiB"),
            ("By/s", 1_500.0, "1.46 KiB/s"),
            ("kBy/s", 1.0, "1,000 B/s"),
            ("/s", 2_104.0, "2,104/s"),
            ("/s", 250_300.0, "250k/s"),
            ("/s", 12.0, "12.0/s"),
            ("s", 0.000_25, "250 µs"),
            ("s", 500_000.0, "500,000 s"),
            ("ns", 1_500.0, "1.50 µs"),
            ("ms/s", 5.0, "5.00 ms/s"),
            ("MHz", 2_445.0, "2.44 GHz"),
            ("Cel", 41.5, "41.5 °C"),
            ("mK", 300_000.0, "300 K"),
            ("", 7.0, "7.00"),
            ("widgets", 12_345.0, "12.3k widgets"),
            ("", 1e300, "1.00e300"),
            ("", -2_500.0, "−2,500"),
        ] {
            let unit = Unit::from_ucum(unit);
            assert_eq!(unit.text(number * unit.factor), want, "{number}");
        }
    }
}
