//! Values with units as users write them: thresholds, and the ends of a value axis.

use std::str::FromStr;

use crate::unit::{Unit, prefix_factor};

/// Amount as a user writes it: a number and the unit after it, such as `80%`, `2GiB` or `1.5k`.
///
/// The unit selects the panels to which the value belongs. It is a UCUM code (`KiBy`) or a symbol with a prefix, as
/// axes show them (`KiB`). Without a unit, the value belongs to the panel without a unit, or to the only panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    text: String,
    number: f64,
    /// Unit of the amount as the user wrote it, with its prefix.
    unit: String,
}

/// Error for a text that is no [`Amount`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a number with a unit, like 80%, 2GiB, 1.5k or 0.2")]
pub struct ParseAmountError(String);

/// Error for a value of the user that belongs to no panel of a picture, or that a panel's axis cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Error for a value whose unit no panel has.
    #[error("no panel has the unit of {amount}; the units are {units}")]
    UnknownUnit {
        /// Amount whose unit no panel has, as the user wrote it.
        amount: String,
        /// Units of the picture's panels.
        units: String,
    },
    /// Error for a value without a unit, in a picture whose panels have several units.
    #[error("{amount} needs a unit, because the panels have several: {units}")]
    NoUnit {
        /// Amount without a unit, as the user wrote it.
        amount: String,
        /// Units of the picture's panels.
        units: String,
    },
    /// Error for several values for the same end of a value axis.
    #[error("{first} and {second} are for the same end of one axis; give one of them")]
    SameEnd {
        /// First value for the end of the axis, as the user wrote it.
        first: String,
        /// Second value for the end of the axis, as the user wrote it.
        second: String,
    },
    /// Error for a value axis whose lower end is not below its upper end.
    #[error("the lower end of an axis, {min}, is not below its upper end, {max}")]
    NoRange {
        /// Lower end of the axis, as the user wrote it.
        min: String,
        /// Upper end of the axis, as the user wrote it.
        max: String,
    },
    /// Error for an end of a logarithmic axis that is zero or negative.
    #[error("a logarithmic axis has only values above 0, which {0} is not")]
    NotPositive(String),
}

impl FromStr for Amount {
    type Err = ParseAmountError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// Largest number of an amount: larger numbers could exceed a double when they are converted.
        const LARGEST: f64 = 1e100;
        let text = text.trim();
        let wrong = || ParseAmountError(text.chars().take(40).collect());
        let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
        let most = text.find(|c| !is_of_number(c)).unwrap_or(text.len()).min(40);
        // The longest number: the E of 1E is the prefix of 10^18, that of 1E3 is part of the number.
        let split = (1..=most).rev().find_map(|length| {
            let (number, unit) = text.split_at_checked(length)?;
            Some((number.parse::<f64>().ok()?, unit.trim()))
        });
        let (number, unit) = split.ok_or_else(wrong)?;
        let has_digits = unit.contains(|c: char| c.is_ascii_digit());
        if number.abs() > LARGEST || unit.chars().count() > 20 || has_digits {
            return Err(wrong());
        }
        Ok(Self { text: text.to_owned(), number, unit: unit.to_owned() })
    }
}

impl Amount {
    /// Returns the amount as the user wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the amount in each of these units, without their prefixes; `None` for a unit that the amount does not
    /// have.
    pub(crate) fn on(&self, units: &[&Unit]) -> Result<Vec<Option<f64>>, AmountError> {
        let factors: Vec<Option<f64>> = units.iter().map(|unit| unit.factor_of(&self.unit)).collect();
        let scaled = |factor: Option<f64>| factor.map(|factor| self.number * factor);
        if factors.iter().any(Option::is_some) {
            return Ok(factors.into_iter().map(scaled).collect());
        }
        let (amount, names) = (self.text.clone(), unit_names(units));
        match (prefix_factor(&self.unit), names.as_slice()) {
            (Some(factor), [_]) => Ok(units.iter().map(|_| scaled(Some(factor))).collect()),
            (Some(_), [_, _, ..]) => Err(AmountError::NoUnit { amount, units: listed(&names) }),
            _ => Err(AmountError::UnknownUnit { amount, units: listed(&names) }),
        }
    }
}

/// Returns the symbols of the panels' units, each once.
fn unit_names(units: &[&Unit]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for unit in units {
        let name = if unit.symbol.is_empty() { "none".to_owned() } else { unit.symbol.clone() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Threshold of a picture: a labelled horizontal line at a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Name beside the threshold's line; empty if it has none.
    pub name: String,
    /// Value at which the threshold's line is.
    pub amount: Amount,
}

impl FromStr for Threshold {
    type Err = ParseAmountError;

    /// Parses a threshold: `[NAME=]VALUE[UNIT]`. The name may contain `=`, because a value contains none.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, amount) = text.rsplit_once('=').unwrap_or(("", text));
        Ok(Self { name: name.trim().to_owned(), amount: amount.parse()? })
    }
}

impl Threshold {
    /// Returns the text beside the threshold's line.
    pub(crate) fn label(&self) -> String {
        match self.name.is_empty() {
            true => self.amount.text.clone(),
            false => format!("{} ({})", self.name, self.amount.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        for (text, unit, want) in [
            ("80", "%", Some(80.0)),
            ("80%", "%", Some(80.0)),
            ("80 %", "%", Some(80.0)),
            ("-2.5%", "%", Some(-2.5)),
            ("1e3", "", Some(1e3)),
            ("1E3", "", Some(1e3)),
            ("1E", "", Some(1e18)),
            ("1EB", "By", Some(1e18)),
            ("1EiB", "By", Some(1_152_921_504_606_846_976.0)),
            ("20k", "/s", Some(20e3)),
            ("20k/s", "/s", Some(20e3)),
            ("2GiB", "By", Some(2_147_483_648.0)),
            ("2GiB", "KiBy", Some(2_147_483_648.0)),
            ("2GB", "By", Some(2e9)),
            ("2Gi", "By", Some(2_147_483_648.0)),
            ("3KiBy", "By", Some(3_072.0)),
            ("5MB/s", "By/s", Some(5e6)),
            ("5ms", "s", Some(5e-3)),
            ("5us", "s", Some(5e-6)),
            ("5µs", "s", Some(5e-6)),
            ("5ms", "ns", Some(5e-3)),
            ("5ms/s", "ms/s", Some(5.0)),
            ("2.4GHz", "MHz", Some(2.4e9)),
            ("70Cel", "Cel", Some(70.0)),
            ("70°C", "Cel", Some(70.0)),
            ("300K", "mK", Some(300.0)),
            ("12widgets", "widgets", Some(12.0)),
            ("5min", "s", None),
            ("5m", "s", None),
            ("80%", "By", None),
            ("1B", "By/s", None),
        ] {
            let amount: Amount = text.parse().unwrap();
            let found = amount.on(&[&Unit::from_ucum(unit)]).ok().and_then(|values| values[0]);
            let is_near = |found: f64, want: f64| (found / want - 1.0).abs() < 1e-12;
            assert!(
                found == want || found.zip(want).is_some_and(|(a, b)| is_near(a, b)),
                "{text}: {found:?}"
            );
        }
        for bad in ["", "%", "x", "=", "NaN", "inf", "-", "1e400", "1e101", "1 2", "1%2", "GiB5", "٣"] {
            assert!(bad.parse::<Amount>().is_err(), "{bad}");
        }
        assert!("1".repeat(10_000).parse::<Amount>().is_err());
    }

    #[test]
    fn units_select_panels() {
        let units = ["%", "By", "/s", "%"].map(Unit::from_ucum);
        let units: Vec<&Unit> = units.iter().collect();
        let on = |text: &str, units: &[&Unit]| text.parse::<Amount>().unwrap().on(units);
        assert_eq!(on("80%", &units), Ok(vec![Some(80.0), None, None, Some(80.0)]));
        assert_eq!(on("1k/s", &units), Ok(vec![None, None, Some(1e3), None]));
        assert_eq!(
            on("5 s", &units).unwrap_err().to_string(),
            "no panel has the unit of 5 s; the units are %, B and /s"
        );
        assert_eq!(
            on("5k", &units).unwrap_err().to_string(),
            "5k needs a unit, because the panels have several: %, B and /s"
        );
        let count = Unit::from_ucum("");
        assert_eq!(on("5k", &[units[0], &count]), Ok(vec![None, Some(5e3)]), "the panel without a unit");
        assert_eq!(on("5", &[units[0], units[3]]), Ok(vec![Some(5.0), Some(5.0)]), "one unit, two ranges");
        assert!(on("5", &[]).is_err());
    }

    #[test]
    fn thresholds_have_names() {
        for (text, name, amount, label) in [
            ("80%", "", "80%", "80%"),
            ("limit=80%", "limit", "80%", "limit (80%)"),
            (" a=b = 2 GiB", "a=b", "2 GiB", "a=b (2 GiB)"),
            ("=3", "", "3", "3"),
        ] {
            let found: Threshold = text.parse().unwrap();
            assert_eq!((found.name.as_str(), found.amount.as_str()), (name, amount), "{text}");
            assert_eq!(found.label(), label);
        }
        assert!("80%=limit".parse::<Threshold>().is_err());
        assert!("limit=".parse::<Threshold>().is_err());
    }
}
