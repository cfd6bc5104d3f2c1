//! Units of counters, and the base units that metrics have instead.

use crate::text::float;

/// Conversion of a raw value to a base unit: `(raw x factor + offset) / 10^digits`, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitConversion {
    pub factor: u64,
    pub offset: i64,
    pub digits: u8,
}

impl UnitConversion {
    /// Unit conversion that leaves the value unchanged.
    pub const ONE: Self = Self { factor: 1, offset: 0, digits: 0 };

    const fn times(factor: u64) -> Self {
        Self { factor, ..Self::ONE }
    }

    /// Converts a real number to the base unit.
    pub fn of_real(self, number: f64) -> f64 {
        if self == Self::ONE {
            return number;
        }
        let offset = f64::from(i32::try_from(self.offset).unwrap_or_default()); // of degrees: a small number
        (number * float(self.factor) + offset) / 10_f64.powi(self.digits.into())
    }

    /// Returns the unit conversion that divides by ten to the power of `digits`.
    pub const fn over(digits: u8) -> Self {
        Self { digits, ..Self::ONE }
    }
}

/// Base unit of a metric, with the conversion to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Name of the base unit: last words of the metric's name.
    pub name: &'static str,
    /// Words for the unit in a counter's name, which are removed because the metric's name contains the unit anyway.
    pub words: &'static [&'static str],
    /// Conversion of a counter's raw values to this base unit.
    pub scale: UnitConversion,
}

const BYTES: &[&str] =
    &["bytes", "kbytes", "mbytes", "gbytes", "kilobytes", "megabytes", "gigabytes", "octets"];
const SECONDS: &[&str] =
    &["seconds", "milliseconds", "microseconds", "nanoseconds", "sec", "secs", "msec", "s", "ms", "us", "ns"];
const RATIO: &[&str] = &["percent", "percentage"];
const NONE: &[&str] = &[];

/// Returns the base unit of a metric for a UCUM unit. Returns `None` if the unit has none, so that the counter is
/// exported as a plain number.
///
/// `per_second`: `true` if the raw value is a rate already, `false` if only the formula makes it one.
pub(crate) fn base_unit(ucum: &str, per_second: bool) -> Option<Unit> {
    let (of, rate) = match ucum.strip_suffix("/s") {
        Some(of) if per_second => (of, true),
        Some(of) => (of, false),
        None => (ucum, false),
    };
    let unit = |name, words, scale| Some(Unit { name, words, scale });
    let celsius = |factor, offset, digits| unit("celsius", NONE, UnitConversion { factor, offset, digits });
    match of {
        // 125 / 1,000 is 1/8.
        "bit" if rate => {
            unit("bytes_per_second", &["bits"], UnitConversion { factor: 125, offset: 0, digits: 3 })
        }
        "By" | "kBy" | "KiBy" | "MiBy" | "GiBy" => {
            let name = if rate { "bytes_per_second" } else { "bytes" };
            let factor = match of {
                "By" => 1,
                "kBy" => 1_000,
                "KiBy" => 1 << 10,
                "MiBy" => 1 << 20,
                _ => 1 << 30,
            };
            unit(name, BYTES, UnitConversion::times(factor))
        }
        "s" => unit("seconds", SECONDS, UnitConversion::ONE),
        "ms" => unit("seconds", SECONDS, UnitConversion::over(3)),
        "us" => unit("seconds", SECONDS, UnitConversion::over(6)),
        "ns" => unit("seconds", SECONDS, UnitConversion::over(9)),
        "%" => unit("ratio", RATIO, UnitConversion::over(2)),
        "Hz" => unit("hertz", NONE, UnitConversion::ONE),
        "kHz" => unit("hertz", NONE, UnitConversion::times(1_000)),
        "MHz" => unit("hertz", NONE, UnitConversion::times(1_000_000)),
        "W" => unit("watts", NONE, UnitConversion::ONE),
        "mW" => unit("watts", NONE, UnitConversion::over(3)),
        "uW" => unit("watts", NONE, UnitConversion::over(6)),
        "mV" => unit("volts", NONE, UnitConversion::over(3)),
        "mA" => unit("amperes", NONE, UnitConversion::over(3)),
        "J" => unit("joules", NONE, UnitConversion::ONE),
        "uJ" => unit("joules", NONE, UnitConversion::over(6)),
        // 3,600 x 10^-12 is 36 x 10^-10.
        "pW.h" => unit("joules", NONE, UnitConversion { factor: 36, offset: 0, digits: 10 }),
        "Cel" => unit("celsius", NONE, UnitConversion::ONE),
        // 0 degrees Celsius are 273.15 K.
        "K" => celsius(100, -27_315, 2),
        "dK" => celsius(10, -27_315, 2),
        "mK" => celsius(1, -273_150, 3),
        "/min" => unit("rpm", NONE, UnitConversion::ONE),
        "" if rate => unit("per_second", NONE, UnitConversion::ONE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::scaled;

    #[test]
    fn raw_values_in_base_units() {
        for (ucum, per_second, raw, name, want) in [
            ("By", false, 7, "bytes", "7"),
            ("KiBy", false, 3, "bytes", "3072"),
            ("MiBy", false, u64::MAX, "bytes", "19342813113834066794250240"),
            ("KiBy/s", false, 5, "bytes", "5120"),
            ("kBy/s", true, 5, "bytes_per_second", "5000"),
            ("bit/s", true, 1_000_000_000, "bytes_per_second", "125000000"),
            ("bit/s", true, 3, "bytes_per_second", "0.375"),
            ("ms/s", false, 1_234, "seconds", "1.234"),
            ("ns", false, 20, "seconds", "0.00000002"),
            ("%", false, 50, "ratio", "0.5"),
            ("%", false, 100, "ratio", "1"),
            ("MHz", false, 2_800, "hertz", "2800000000"),
            ("pW.h", false, 1_000_000_000_000, "joules", "3600"),
            ("uJ", false, 2_500_000, "joules", "2.5"),
            ("mV", false, 1_080, "volts", "1.08"),
            ("K", false, 300, "celsius", "26.85"),
            ("dK", false, 2_981, "celsius", "24.95"),
            ("dK", false, 2_731, "celsius", "-0.05"),
            ("mK", false, 0, "celsius", "-273.15"),
            ("/min", false, 900, "rpm", "900"),
        ] {
            let unit = base_unit(ucum, per_second).unwrap();
            let mut text = Vec::new();
            scaled(&mut text, raw, unit.scale);
            assert_eq!((unit.name, std::str::from_utf8(&text).unwrap()), (name, want), "{raw} {ucum}");
        }
        assert_eq!(base_unit("/s", false), None);
        assert_eq!(base_unit("", true), None);
    }

    /// Checks that every unit of the catalogue has a base unit: otherwise its counters would be exported as plain
    /// numbers.
    #[test]
    fn every_unit_of_the_catalogue_has_a_base_unit() {
        for set in perfset_catalogue::ALL {
            for counter in set.counters.iter().filter(|counter| !matches!(&*counter.unit, "" | "/s")) {
                assert!(base_unit(&counter.unit, true).is_some(), "{} {:?}", set.name, counter.name);
            }
        }
    }
}
