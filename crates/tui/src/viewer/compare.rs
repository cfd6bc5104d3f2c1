//! Comparison of the shown log with another one, or of two ranges.

use crossterm::event::KeyCode;
use perfset::output::text::escaped;

use super::Viewer;
use crate::comparison::{Baseline, Comparison};
use crate::spans::SpanMeans;

/// Day, in 100 ns.
const DAY: i64 = 864_000_000_000;

impl Viewer {
    /// Compares the shown log with another one: each counter gets the value there, and the difference.
    pub fn compare_with(&mut self, baseline: Baseline) {
        self.baseline = Some(baseline);
        self.compare_tabs();
        self.show_tab(self.tab);
    }

    /// Gives new tabs the columns of a comparison, if there is one.
    pub(super) fn compare_tabs(&mut self) {
        if self.baseline.is_some() {
            self.tabs.iter_mut().for_each(crate::tab::TableTab::compare);
        }
    }

    /// Returns `true` if two ranges are compared.
    #[must_use]
    pub(crate) fn is_comparison(&self) -> bool {
        self.baseline.is_some()
    }

    /// Returns the comparison that is shown, unless a log could not be read.
    #[must_use]
    pub(crate) fn comparison(&self) -> Option<&Comparison> {
        self.compared.as_ref().map(|(_, comparison)| comparison)
    }

    /// Computes the table of the comparison. An error becomes the message.
    pub(super) fn compute_comparison(&mut self) {
        let (Some(baseline), Some(plan), Some(tab)) = (&self.baseline, self.plan(), self.shown_tab()) else {
            self.compared = None;
            return;
        };
        let key = (self.tab, tab.columns.clone());
        if self.compared.as_ref().is_some_and(|(known, _)| *known == key) {
            return;
        }
        let result = baseline.compare(&self.feed, &self.timeline.times(), &plan, &tab.columns);
        self.compared = None;
        match result {
            Ok(comparison) => self.compared = Some((key, comparison)),
            Err(error) => self.message = Some(escaped(&error.to_string())),
        }
    }

    /// Returns `true` for a key that a comparison does not have, and says so.
    pub(super) fn refuses(&mut self, code: KeyCode) -> bool {
        if !self.is_comparison() {
            return false;
        }
        let text = match code {
            KeyCode::Left | KeyCode::Right | KeyCode::Char('h' | 'l' | '[' | ']' | '{' | '}' | ' ' | 'g') => {
                "two ranges are compared: the table has no other time"
            }
            KeyCode::Char('w' | 'W' | 'm' | 'n' | 'R' | 'd' | 'b') => {
                "two ranges are compared: this key needs an instant"
            }
            KeyCode::Char('f' | 'z' | 'x' | '+') => "two ranges are compared: this key needs instances",
            _ => return false,
        };
        self.message = Some(text.to_owned());
        true
    }

    /// Returns the words about a comparison: the ranges, what they lack, and the rows that one of them lacks.
    #[must_use]
    pub(crate) fn comparison_words(&self) -> Option<String> {
        let (baseline, comparison) = (self.baseline.as_ref()?, self.comparison()?);
        let side = |means: &Option<SpanMeans>| match means {
            None => "no sample".to_owned(),
            Some(means) => self.range_words(means),
        };
        let machine = match baseline.machine == self.machine {
            true => String::new(),
            false => format!("{} ", baseline.machine),
        };
        let sides = &comparison.sides;
        let mut text = format!("mean {}, was {machine}{}", side(&sides.after), side(&sides.before));
        let (appeared, disappeared) = sides.changes();
        text.push_str(&format!("  +{appeared} -{disappeared}"));
        Some(text)
    }

    fn range_words(&self, means: &SpanMeans) -> String {
        let format = match means.end.saturating_sub(means.begin) {
            DAY.. => "%m-%d %H:%M:%S",
            0..100_000_000 => "%H:%M:%S%.1f",
            _ => "%H:%M:%S",
        };
        let mut text =
            format!("{} to {}", self.shown_time(means.begin, format), self.shown_time(means.end, format));
        if means.samples < means.of {
            text.push_str(&format!(" ({} of {} samples)", means.samples, means.of));
        }
        if means.has_gap {
            text.push_str(" (with gaps)");
        }
        if means.is_full {
            text.push_str(" (too many instances)");
        }
        text
    }
}
