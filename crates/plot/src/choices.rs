//! Settings of the user for each panel of a picture: ends of the value axis, and thresholds.

use std::collections::BTreeMap;

use crate::amount::{Amount, AmountError};
use crate::axis::{AxisEnds, ValueScale};
use crate::chart::Chart;
use crate::options::PictureOptions;
use crate::panels::panels;
use crate::unit::Unit;

/// Ends of the axis and thresholds that the user chose for one panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    pub ends: AxisEnds,
    pub thresholds: Vec<ThresholdLine>,
}

/// Threshold of the user, converted to the unit of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdLine {
    pub value: f64,
    pub label: String,
}

impl Chart {
    /// Checks that every value in the options belongs to a panel of the picture. [`Chart::draw`] leaves out a value
    /// that does not.
    ///
    /// # Errors
    /// For the first value that belongs to no panel, or that an axis cannot have.
    pub fn check(&self, look: &PictureOptions) -> Result<(), AmountError> {
        let (panels, _) = panels(self, look.top, look.is_stack);
        let units: Vec<&Unit> = panels.iter().map(|panel| &panel.unit).collect();
        match choices(look, &units).1 {
            // A picture without panels shows that there are no values.
            Some(error) if !units.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Checks the values in the options as far as possible after the first sample, in which rates have no values. It
    /// finds nearly all mistakes before the user has waited for all samples.
    ///
    /// # Errors
    /// For the first value that belongs to no panel, whatever the other samples are.
    pub fn check_early(&self, look: &PictureOptions) -> Result<(), AmountError> {
        let all: Vec<&Unit> = self.lines.iter().map(|line| &line.unit).collect();
        if all.is_empty() {
            return Ok(());
        }
        for amount in look.amounts() {
            match amount.on(&all) {
                Err(error @ AmountError::UnknownUnit { .. }) => return Err(error),
                _ => continue,
            }
        }
        // Units that will have a panel: those of lines with values, and those of requests with a single unit.
        let mut requests: BTreeMap<usize, Vec<&Unit>> = BTreeMap::new();
        for line in &self.lines {
            requests.entry(line.request).or_default().push(&line.unit);
        }
        let is_single = |units: &&Vec<&Unit>| {
            units.first().is_some_and(|first| units.iter().all(|unit| unit.symbol == first.symbol))
        };
        let singles = requests.values().filter(is_single).flatten().copied();
        let with_values = self.lines.iter().filter(|line| line.total.is_some()).map(|line| &line.unit);
        let units: Vec<&Unit> = with_values.chain(singles).collect();
        match choices(look, &units).1 {
            Some(error) if !units.is_empty() && !matches!(error, AmountError::UnknownUnit { .. }) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

impl PictureOptions {
    fn amounts(&self) -> impl Iterator<Item = &Amount> {
        let thresholds = self.thresholds.iter().map(|threshold| &threshold.amount);
        self.min.iter().chain(&self.max).chain(thresholds)
    }
}

/// Returns the axis ends and thresholds that the options choose for panels with these units, and the first error. A
/// choice with an error is left out.
pub fn choices(look: &PictureOptions, units: &[&Unit]) -> (Vec<Choices>, Option<AmountError>) {
    let mut errors = Vec::new();
    let mut values = |amount: &Amount| match amount.on(units) {
        Ok(values) => values,
        Err(error) => {
            errors.push(error);
            vec![None; units.len()]
        }
    };
    let [mins, maxs] = [&look.min, &look.max]
        .map(|amounts| amounts.iter().map(|amount| (amount, values(amount))).collect::<Vec<_>>());
    let thresholds: Vec<_> = look.thresholds.iter().map(|one| (one.label(), values(&one.amount))).collect();
    let mut choices = vec![Choices::default(); units.len()];
    for (panel, choices) in choices.iter_mut().enumerate() {
        let is_log = look.value_scale() == ValueScale::Log;
        let [min, max] = [&mins, &maxs].map(|amounts| end(amounts, panel, is_log, &mut errors));
        choices.ends = match (min, max) {
            (Some((min, low)), Some((max, high))) if low >= high => {
                errors.push(AmountError::NoRange { min: min.to_owned(), max: max.to_owned() });
                AxisEnds::default()
            }
            _ => AxisEnds { min: min.map(|(_, value)| value), max: max.map(|(_, value)| value) },
        };
        let limit = |(label, values): &(String, Vec<Option<f64>>)| {
            Some(ThresholdLine { value: values.get(panel).copied().flatten()?, label: label.clone() })
        };
        choices.thresholds = thresholds.iter().filter_map(limit).collect();
    }
    (choices, errors.into_iter().next())
}

/// Value of the user, and the value in the unit of each panel; `None` for a panel of another unit.
type ResolvedAmount<'a> = (&'a Amount, Vec<Option<f64>>);

/// Returns one end of a panel's value axis, as the user chose it, with the text that the user wrote.
fn end<'a>(
    amounts: &[ResolvedAmount<'a>],
    panel: usize,
    is_log: bool,
    errors: &mut Vec<AmountError>,
) -> Option<(&'a str, f64)> {
    let value = |(amount, values): &ResolvedAmount<'a>| {
        let amount: &'a Amount = amount;
        Some((amount.as_str(), values.get(panel).copied().flatten()?))
    };
    let mut found = amounts.iter().filter_map(value);
    let (text, number) = found.next()?;
    if let Some((second, _)) = found.next() {
        errors.push(AmountError::SameEnd { first: text.to_owned(), second: second.to_owned() });
    }
    if is_log && number <= 0.0 {
        errors.push(AmountError::NotPositive(text.to_owned()));
        return None;
    }
    Some((text, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, Threshold};

    fn look(min: &[&str], max: &[&str], thresholds: &[&str], scale: ValueScale) -> PictureOptions {
        let amounts = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let thresholds = thresholds.iter().map(|text| text.parse::<Threshold>().unwrap()).collect();
        PictureOptions {
            min: amounts(min),
            max: amounts(max),
            thresholds,
            scale,
            ..PictureOptions::default()
        }
    }

    #[test]
    fn mistakes_are_found_before_and_after_sampling() {
        use ValueScale::{Linear, Log};
        let mut chart = Chart::new(100);
        for (request, unit, value) in
            [(0, "%", Some(1.0)), (1, "By", None), (2, "/s", Some(1.0)), (2, "s", None)]
        {
            let line = chart.line(&Label { request, unit, ..Label::default() }).unwrap();
            chart.sample(0);
            value.into_iter().for_each(|value| chart.value(line, value));
        }
        for (min, max, thresholds, scale, want) in [
            (&[][..], &[][..], &["80%", "a=2GiB"][..], Linear, None),
            (&["1%"], &["2GiB"], &[], Linear, None),
            (&[], &[], &["5W"], Linear, Some("no panel has the unit of 5W; the units are %, B, /s and s")),
            (&[], &["5"], &[], Linear, Some("5 needs a unit, because the panels have several: %, /s and B")),
            (
                &["5%", "6%"],
                &[],
                &[],
                Linear,
                Some("5% and 6% are for the same end of one axis; give one of them"),
            ),
            (
                &["5%"],
                &["5%"],
                &[],
                Linear,
                Some("the lower end of an axis, 5%, is not below its upper end, 5%"),
            ),
            (&["0%"], &[], &[], Log, Some("a logarithmic axis has only values above 0, which 0% is not")),
        ] {
            let found =
                chart.check_early(&look(min, max, thresholds, scale)).map_err(|error| error.to_string());
            assert_eq!(found.err().as_deref(), want);
        }
        let late = look(&[], &[], &["5ms"], Linear);
        assert_eq!(chart.check_early(&late), Ok(()), "it might still have a value");
        let error = chart.check(&late).unwrap_err().to_string();
        assert_eq!(error, "no panel has the unit of 5ms; the units are %, B and /s");
    }
}
