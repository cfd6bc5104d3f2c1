//! Value axis of a picture's panel: its range and the numbers beside it.

use crate::number::{real, whole};
use crate::unit::Unit;

/// Scale of a picture's value axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueScale {
    /// Linear scale of a value axis: equal distances are equal differences.
    #[default]
    Linear,
    /// Logarithmic scale of a value axis: equal distances are equal ratios. Zero and negative values have no place on
    /// this scale.
    Log,
}

/// Ends of a value axis that the user chose; `None` for an end that follows the values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisEnds {
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// Value axis of a picture's panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    scale: ValueScale,
    pub least: f64,
    pub greatest: f64,
    /// Position and text of each number at the value axis.
    pub ticks: Vec<(f64, String)>,
    /// Unit shared by all numbers of the value axis; empty if each number has its own.
    pub unit: String,
}

/// Smallest and greatest end of a logarithmic axis. Beyond them, a double has fewer digits.
const LOG_ENDS: (f64, f64) = (1e-300, 1e300);

impl Axis {
    /// Builds a linear axis for values from `least` to `greatest` with at most `most` numbers. Ends that the user did
    /// not choose include 0, because a small change that fills a picture looks like a large one.
    pub fn linear(unit: &Unit, (least, greatest): (f64, f64), ends: AxisEnds, most: usize) -> Self {
        let (least, greatest) =
            with_ends((least.min(0.0), greatest.max(0.0)), ends, |end| match end == 0.0 {
                true => 1.0,
                false => end.abs() / 10.0,
            });
        let most = real(i64::try_from(most.clamp(2, 100)).unwrap_or(100));
        // Divided first: the difference of the two could exceed a double.
        let raw = greatest / most - least / most;
        let step = if unit.is_binary() { binary_step(raw) } else { decimal_step(raw) };
        let Some((first, last)) = multiples((least, greatest), step, ends) else {
            // The ends are too close for a double to have round numbers between them.
            let ticks = [least, greatest].map(|at| (at, log_label(unit, at))).to_vec();
            return Self { scale: ValueScale::Linear, least, greatest, ticks, unit: String::new() };
        };
        let least = if ends.min.is_some() { least } else { real(first) * step };
        let greatest = if ends.max.is_some() { greatest } else { real(last) * step };
        let scale = unit.scale(least.abs().max(greatest.abs()));
        let decimals = decimals_of(step / scale.one);
        let label = |at: f64| if at == 0.0 { "0".to_owned() } else { scale.number(at, decimals) };
        // A multiple may exceed the end by a rounding error.
        let ticks = (first..=last).map(|n| (real(n) * step).clamp(least, greatest)).map(|at| (at, label(at)));
        Self { scale: ValueScale::Linear, least, greatest, ticks: ticks.collect(), unit: scale.unit.clone() }
    }

    /// Builds a logarithmic axis for values above 0, with at most `most` numbers. Its ends are powers of ten or, for
    /// bytes, of two, unless the user chose them.
    pub fn log(unit: &Unit, range: Option<(f64, f64)>, ends: AxisEnds, most: usize) -> Self {
        let within = |value: f64| value.clamp(LOG_ENDS.0, LOG_ENDS.1);
        let base: f64 = if unit.is_binary() { 2.0 } else { 10.0 };
        let ends = AxisEnds { min: ends.min.map(within), max: ends.max.map(within) };
        let range = range.map_or((1.0, base), |(least, greatest)| (within(least), within(greatest)));
        let has_ends = ends.min.is_some() || ends.max.is_some();
        let (least, greatest) = if has_ends { with_ends(range, ends, |end| end * 0.9) } else { range };
        // The logarithm of a power is not always a whole number.
        let exponent = |value: f64| value.log10() / base.log10();
        let (mut first, mut last) =
            (whole((exponent(least) + 1e-9).floor()), whole((exponent(greatest) - 1e-9).ceil()));
        if first >= last {
            (first, last) = (last.saturating_sub(1), first.saturating_add(1));
        }
        let most = i64::try_from(most.clamp(2, 100)).unwrap_or(100);
        let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
        let step = steps
            .into_iter()
            .find(|step| last.saturating_sub(first).div_euclid(*step) <= most)
            .unwrap_or(1_000);
        let (first, last) =
            (first.div_euclid(step), last.saturating_add(step).saturating_sub(1).div_euclid(step));
        let power = |n: i64| within(base.powf(real(n.saturating_mul(step))));
        let least = if ends.min.is_some() { least } else { power(first) };
        let greatest = if ends.max.is_some() { greatest } else { power(last) };
        let has_room = base == 10.0 && step == 1 && last.saturating_sub(first).saturating_mul(3) <= most;
        let parts: &[f64] = if has_room { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all = (first..=last).flat_map(|n| parts.iter().map(move |part| power(n) * part));
        let mut ticks: Vec<f64> = all.filter(|at| (least..=greatest).contains(at)).collect();
        if ticks.len() < 2 {
            // Between ends that are close to each other are no powers.
            let linear =
                Self::linear(unit, (least, greatest), AxisEnds { min: Some(least), max: Some(greatest) }, 4);
            ticks = linear.ticks.into_iter().map(|(at, _)| at).collect();
        }
        let ticks = ticks.into_iter().map(|at| (at, log_label(unit, at))).collect();
        Self { scale: ValueScale::Log, least, greatest, ticks, unit: String::new() }
    }

    /// Returns the position of a value between the axis's lower end (0) and upper end (1); `None` if the scale has
    /// none.
    pub fn share(&self, value: f64) -> Option<f64> {
        match self.scale {
            ValueScale::Linear => Some((value - self.least) / (self.greatest - self.least)),
            ValueScale::Log if value > 0.0 => {
                Some((value.ln() - self.least.ln()) / (self.greatest.ln() - self.least.ln()))
            }
            ValueScale::Log => None,
        }
    }
}

/// Replaces the ends of an axis's range by those that the user chose. If no value is on the axis then, it is `size`
/// long.
fn with_ends((least, greatest): (f64, f64), ends: AxisEnds, size: impl Fn(f64) -> f64) -> (f64, f64) {
    let (low, high) = (ends.min.unwrap_or(least), ends.max.unwrap_or(greatest));
    match (ends.min, ends.max) {
        _ if low < high => (low, high),
        (Some(_), None) => (low, low + size(low)),
        (None, Some(_)) => (high - size(high), high),
        _ => (low, low + size(low)),
    }
}

/// Returns the first and the last multiple of a step that are numbers of an axis. They are around the range, except
/// at ends that the user chose, where they are inside. Returns `None` if there are not at least two that a double
/// distinguishes.
fn multiples((least, greatest): (f64, f64), step: f64, ends: AxisEnds) -> Option<(i64, i64)> {
    const MOST: f64 = 1e15;
    let (low, high) = (least / step, greatest / step);
    if !(step > 0.0 && step.is_finite() && low.abs() < MOST && high.abs() < MOST) {
        return None;
    }
    // Without the tolerance, a rounding error above a whole number would add an empty step.
    let first = if ends.min.is_some() { (low - 1e-9).ceil() } else { low.floor() };
    let last = if ends.max.is_some() { (high + 1e-9).floor() } else { (high - 1e-9).ceil() };
    (first < last).then(|| (whole(first), whole(last)))
}

/// Returns the label of a number on a logarithmic axis with its own prefix and unit: one prefix for all would need
/// many digits.
fn log_label(unit: &Unit, at: f64) -> String {
    let scale = unit.scale(at.abs());
    scale.with_unit(at, decimals_of(at / scale.one))
}

/// Returns the smallest step between axis numbers of 1, 2 or 5 times a power of ten that is not below `raw`.
fn decimal_step(raw: f64) -> f64 {
    let power = 10_f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    // The logarithm and the power are not exact, so a step of just this size would be missed.
    steps.into_iter().find(|step| *step >= raw * (1.0 - 1e-9)).unwrap_or(raw)
}

/// Returns the smallest step between axis numbers that is a power of two and not below `raw`. Below 1 and above the
/// largest prefix, powers of two are not rounder than other numbers, so a decimal step is returned there.
fn binary_step(raw: f64) -> f64 {
    if raw > 1.0 && raw < 1e20 { raw.log2().ceil().exp2() } else { decimal_step(raw) }
}

/// Returns the number of decimals that distinguish multiples of an axis's step.
fn decimals_of(step: f64) -> usize {
    (0..6)
        .find(|decimals| {
            let parts = step * 10_f64.powi(*decimals);
            (parts - parts.round()).abs() < 1e-6
        })
        .and_then(|decimals| usize::try_from(decimals).ok())
        .unwrap_or(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_with_a_unit() {
        for (unit, least, greatest, most, want, unit_shown) in [
            ("%", 0.0, 87.5, 5, "0 20 40 60 80 100", "%"),
            ("%", 3.0, 3.2, 5, "0 1 2 3 4", "%"),
            ("%", 0.0, 100.0, 5, "0 20 40 60 80 100", "%"),
            ("By", 23e9, 25e9, 5, "0 8 16 24", "GiB"),
            ("By", 0.0, 1e9, 5, "0 0.25 0.50 0.75 1.00", "GiB"),
            ("/s", 0.0, 21_040.0, 5, "0 5k 10k 15k 20k 25k", "/s"),
            ("/s", 0.0, 1_900.0, 5, "0 500 1,000 1,500 2,000", "/s"),
            ("s", 0.0, 0.0042, 5, "0 1 2 3 4 5", "ms"),
            ("", -5.0, 5.0, 5, "−6 −4 −2 0 2 4 6", ""),
            ("", 0.0, 0.0, 5, "0 0.2 0.4 0.6 0.8 1.0", ""),
            ("", 0.0, 1e300, 5, "0 2.00e299 4.00e299 6.00e299 8.00e299 1.00e300", ""),
        ] {
            let axis = Axis::linear(&Unit::from_ucum(unit), (least, greatest), AxisEnds::default(), most);
            let labels: Vec<_> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
            assert_eq!((labels.join(" "), axis.unit.as_str()), (want.to_owned(), unit_shown), "{greatest}");
            assert!(axis.least <= least && axis.greatest >= greatest * (1.0 - 1e-9), "{axis:?}");
        }
    }

    /// Checks that a value axis for any range has few ticks, in order, and inside of the axis.
    #[test]
    fn every_range_has_an_axis() {
        for exponent in -300..=300 {
            for unit in ["By", "%", "s"] {
                let greatest = 3.7 * 10_f64.powi(exponent.min(299));
                for least in [0.0, -greatest, greatest * 0.999] {
                    let unit = Unit::from_ucum(unit);
                    let Axis { least: low, greatest: high, ticks, .. } =
                        Axis::linear(&unit, (least, greatest), AxisEnds::default(), 6);
                    assert!((2..=14).contains(&ticks.len()), "{exponent} {unit:?} {least}: {ticks:?}");
                    assert!(low.is_finite() && high.is_finite() && ticks.is_sorted_by(|a, b| a.0 < b.0));
                    assert!(ticks.iter().all(|(at, _)| (low..=high).contains(at)));
                }
            }
        }
    }
    fn labels(axis: &Axis) -> String {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ends_that_the_user_chose() {
        for (unit, range, min, max, want, ends) in [
            ("%", (0.0, 87.5), None, Some(50.0), "0 10 20 30 40 50", (0.0, 50.0)),
            ("%", (0.0, 87.5), None, Some(45.0), "0 10 20 30 40", (0.0, 45.0)),
            ("%", (50.0, 87.5), Some(50.0), None, "50 60 70 80 90", (50.0, 90.0)),
            ("%", (0.0, 3.0), Some(50.0), None, "50 51 52 53 54 55", (50.0, 55.0)),
            ("%", (0.0, 3.0), None, Some(-50.0), "−55 −54 −53 −52 −51 −50", (-55.0, -50.0)),
            ("%", (0.0, 3.0), Some(-5.0), Some(5.0), "−4 −2 0 2 4", (-5.0, 5.0)),
            ("By", (0.0, 1e9), Some(0.0), Some(3_221_225_472.0), "0 1 2 3", (0.0, 3_221_225_472.0)),
            ("", (0.0, 1.0), Some(1e16), Some(1e16 + 2.0), "10P 10P", (1e16, 1e16 + 2.0)),
        ] {
            let axis = Axis::linear(&Unit::from_ucum(unit), range, AxisEnds { min, max }, 5);
            assert_eq!(labels(&axis), want, "{min:?} {max:?}");
            assert_eq!((axis.least, axis.greatest), ends, "{min:?} {max:?}");
        }
    }

    #[test]
    fn powers_on_a_logarithmic_axis() {
        for (unit, range, ends, most, want) in [
            ("%", Some((0.03, 87.5)), (None, None), 5, "0.01 % 0.1 % 1 % 10 % 100 %"),
            ("%", Some((3.0, 87.5)), (None, None), 6, "1 % 2 % 5 % 10 % 20 % 50 % 100 %"),
            ("%", Some((10.0, 10.0)), (None, None), 3, "1 % 10 % 100 %"),
            ("/s", Some((1.0, 1e6)), (None, None), 7, "1/s 10/s 100/s 1,000/s 10k/s 100k/s 1M/s"),
            ("By", Some((3e6, 1e11)), (None, None), 6, "1 MiB 32 MiB 1 GiB 32 GiB 1 TiB"),
            ("By", Some((3e6, 1e7)), (None, None), 6, "2 MiB 4 MiB 8 MiB 16 MiB"),
            ("s", Some((3e-6, 0.2)), (None, None), 7, "1 µs 10 µs 100 µs 1 ms 10 ms 100 ms 1 s"),
            ("%", Some((0.03, 87.5)), (Some(1.0), Some(30.0)), 5, "1 % 10 %"),
            ("%", Some((0.03, 87.5)), (Some(30.0), Some(60.0)), 5, "30 % 40 % 50 % 60 %"),
            ("%", None, (None, None), 5, "1 % 2 % 5 % 10 %"),
        ] {
            let ends = AxisEnds { min: ends.0, max: ends.1 };
            let axis = Axis::log(&Unit::from_ucum(unit), range, ends, most);
            assert_eq!(labels(&axis), want, "{range:?} {ends:?}");
            let place = |value| axis.share(value).unwrap();
            assert!((place(axis.least), place(axis.greatest)) == (0.0, 1.0), "{axis:?}");
            assert!((place((axis.least * axis.greatest).sqrt()) - 0.5).abs() < 1e-9, "{axis:?}");
            assert_eq!((axis.share(0.0), axis.share(-1.0)), (None, None));
        }
    }

    /// Checks that a value axis is finite and has a few numbers inside, for any range of values and any ends that
    /// users choose.
    #[test]
    fn every_choice_has_an_axis() {
        let numbers: Vec<f64> = (-299..=299)
            .step_by(23)
            .flat_map(|exponent| [1.0, 3.7, 3.700_000_1].map(|number| number * 10_f64.powi(exponent)))
            .collect();
        for (at, least) in numbers.iter().enumerate() {
            for greatest in numbers.iter().skip(at).step_by(5) {
                for (min, max) in [(None, None), (Some(*least), None), (None, Some(*greatest))] {
                    let ends = [AxisEnds { min, max }, AxisEnds { min: Some(*least), max: Some(*greatest) }];
                    for (unit, ends) in [("By", ends[0]), ("%", ends[0]), ("s", ends[1])] {
                        let unit = Unit::from_ucum(unit);
                        for axis in [
                            Axis::linear(&unit, (*least, *greatest), ends, 6),
                            Axis::log(&unit, Some((*least, *greatest)), ends, 6),
                        ] {
                            let Axis { least: low, greatest: high, ticks, .. } = &axis;
                            assert!(low < high && low.is_finite() && high.is_finite(), "{ends:?} {axis:?}");
                            assert!((2..=20).contains(&ticks.len()), "{least} {greatest} {ends:?} {axis:?}");
                            assert!(ticks.iter().all(|(at, _)| (low..=high).contains(&at)), "{axis:?}");
                        }
                    }
                }
            }
        }
    }
}
