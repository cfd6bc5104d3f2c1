//! Value axis of a panel: its range and the numbers beside it.

use crate::number::{real, whole};
use crate::unit::{AxisScale, Unit};

/// Value axis of a panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    pub least: f64,
    pub greatest: f64,
    /// Position and text of each number at the axis.
    pub ticks: Vec<(f64, String)>,
    /// Unit shared by all numbers of the axis.
    pub unit: String,
}

impl Axis {
    /// Builds an axis for values from `least` to `greatest` with at most `most` numbers. The axis includes 0, because
    /// a small change that fills a picture looks like a large one.
    pub fn new(unit: &Unit, least: f64, greatest: f64, most: usize) -> Self {
        let (least, greatest) = (least.min(0.0), greatest.max(0.0));
        let (least, greatest) = if least == greatest { (0.0, 1.0) } else { (least, greatest) };
        let most = real(i64::try_from(most.clamp(2, 100)).unwrap_or(100));
        // Divided first: the difference of the two could exceed a double.
        let raw = greatest / most - least / most;
        let step = if unit.is_binary() { binary_step(raw) } else { decimal_step(raw) };
        // Without the tolerance, a rounding error above a whole number would add an empty step.
        let (first, last) = (whole((least / step).floor()), whole((greatest / step - 1e-9).ceil()));
        let (least, greatest) = (real(first) * step, real(last) * step);
        let scale = unit.scale(least.abs().max(greatest.abs()));
        let decimals = decimals_of(step / scale.one);
        let ticks = (first..=last).map(|n| real(n) * step).map(|at| (at, label(&scale, at, decimals)));
        Self { least, greatest, ticks: ticks.collect(), unit: scale.unit.clone() }
    }
}

fn label(scale: &AxisScale, at: f64, decimals: usize) -> String {
    if at == 0.0 { "0".to_owned() } else { scale.number(at, decimals) }
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is not below `raw`.
fn decimal_step(raw: f64) -> f64 {
    let power = 10_f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    // The logarithm and the power are not exact, so a step of just this size would be missed.
    steps.into_iter().find(|step| *step >= raw * (1.0 - 1e-9)).unwrap_or(raw)
}

/// Returns the smallest power of two that is not below `raw`. Below 1 and above the largest prefix, powers of two are
/// not rounder than other numbers, so a decimal step is returned there.
fn binary_step(raw: f64) -> f64 {
    if raw > 1.0 && raw < 1e20 { raw.log2().ceil().exp2() } else { decimal_step(raw) }
}

/// Returns the number of decimals that distinguish multiples of a step.
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
            let axis = Axis::new(&Unit::from_ucum(unit), least, greatest, most);
            let labels: Vec<_> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
            assert_eq!((labels.join(" "), axis.unit.as_str()), (want.to_owned(), unit_shown), "{greatest}");
            assert!(axis.least <= least && axis.greatest >= greatest * (1.0 - 1e-9), "{axis:?}");
        }
    }

    /// Checks that any range of numbers gets few ticks, in order, and inside of the axis.
    #[test]
    fn every_range_has_an_axis() {
        for exponent in -300..=300 {
            for unit in ["By", "%", "s"] {
                let greatest = 3.7 * 10_f64.powi(exponent.min(299));
                for least in [0.0, -greatest, greatest * 0.999] {
                    let Axis { least: low, greatest: high, ticks, .. } =
                        Axis::new(&Unit::from_ucum(unit), least, greatest, 6);
                    assert!((2..=14).contains(&ticks.len()), "{exponent} {unit} {least}: {ticks:?}");
                    assert!(low.is_finite() && high.is_finite() && ticks.is_sorted_by(|a, b| a.0 < b.0));
                    assert!(ticks.iter().all(|(at, _)| (low..=high).contains(at)));
                }
            }
        }
    }
}
