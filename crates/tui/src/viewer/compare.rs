//! Comparison of the shown log with another log, or of two time ranges, in the interactive screen.

use crossterm::event::KeyCode;
use perfset::output::text::escaped;

use super::Viewer;
use crate::comparison::{Baseline, Comparison, NoMeans, Sides};
use crate::sample::RowChange;
use crate::spans::SpanMeans;
use crate::tab::{ColumnPart, TableHeading, TableTab};

/// Key of a computed comparison: index of the tab and headings of its columns.
pub(super) type ComparedTable = (usize, Vec<TableHeading>);

/// Length of a day, in 100 ns.
const DAY: i64 = 864_000_000_000;

impl Viewer {
    /// Compares the shown log with a baseline: each counter gets columns for its baseline value and for the
    /// difference.
    pub fn compare_with(&mut self, baseline: Baseline) {
        self.baseline = Some(baseline);
        self.compare_tabs();
        self.show_tab(self.tab);
    }

    /// Adds the columns of a comparison to all tabs, if there is a baseline.
    pub(super) fn compare_tabs(&mut self) {
        if self.baseline.is_some() {
            self.tabs.iter_mut().for_each(TableTab::compare);
        }
    }

    /// Returns `true` if the screen compares two time ranges.
    #[must_use]
    pub(crate) fn is_comparison(&self) -> bool {
        self.baseline.is_some()
    }

    /// Returns the comparison that the screen shows; `None` if there is none, or if a log could not be read.
    #[must_use]
    pub(crate) fn comparison(&self) -> Option<&Comparison> {
        let columns = &self.shown_tab()?.columns;
        let is_it =
            |((tab, of), _): &&(ComparedTable, Result<Comparison, String>)| *tab == self.tab && of == columns;
        self.compared.iter().find(is_it)?.1.as_ref().ok()
    }

    /// Computes the table of the comparison, unless further key presses are waiting. An error becomes the message.
    pub(super) fn compute_comparison(&mut self) {
        let (Some(baseline), Some(plan), Some(tab)) = (&self.baseline, self.plan(), self.shown_tab()) else {
            return;
        };
        let key = (self.tab, tab.columns.clone());
        if self.holds_spans || self.compared.iter().any(|(known, _)| *known == key) {
            return;
        }
        let result = baseline.compare(&self.feed, &self.timeline.times(), &plan, &tab.columns);
        // Of each tab the last one stays.
        self.compared.retain(|((tab, _), _)| *tab != key.0);
        match result {
            Ok(comparison) => self.compared.push((key, Ok(comparison))),
            Err(error) => {
                let text = escaped(&error.to_string());
                self.message = Some(text.clone());
                self.compared.push((key, Err(text)));
            }
        }
    }

    /// Returns the name of the baseline on the screen, if there is a baseline.
    #[must_use]
    pub(crate) fn baseline_label(&self) -> Option<&str> {
        self.baseline.as_ref().map(|baseline| &*baseline.label)
    }

    /// Returns the `perfset get` options for the log that contains the cell under the cursor.
    pub(super) fn options_of_cell(&self) -> &str {
        let Some(baseline) = &self.baseline else { return &self.log_options };
        let (row, column) = self.cell().unzip();
        let change = row.and_then(|row| self.sample()?.rows.get(row)?.change);
        let part = column.and_then(|column| Some(self.shown_tab()?.columns.get(column)?.part));
        match (change, part) {
            (Some(RowChange::Ended), _) | (None, Some(ColumnPart::Before)) => &baseline.options,
            _ => &self.log_options,
        }
    }

    /// Returns `true` for a pressed key that has no function in a comparison, and shows a message about that.
    pub(super) fn refuses(&mut self, code: KeyCode) -> bool {
        if !self.is_comparison() {
            return false;
        }
        let text = match code {
            KeyCode::Left | KeyCode::Right | KeyCode::Char('h' | 'l' | '[' | ']' | '{' | '}' | ' ' | 'g') => {
                "a comparison has no other time"
            }
            KeyCode::Char('w' | 'W' | 'm' | 'n' | 'R' | 'd' | 'b') => {
                "a comparison shows means, and this key needs single samples"
            }
            KeyCode::Char('f' | 'z') => "a comparison has no trees",
            KeyCode::Char('x') => "a comparison shows means, which have no raw values",
            KeyCode::Char('+') => "a comparison has no strip",
            _ => return false,
        };
        self.message = Some(text.to_owned());
        true
    }

    /// Returns the screen's text about the comparison: both ranges, missing samples, and numbers of rows of only one
    /// range.
    #[must_use]
    pub(crate) fn comparison_words(&self) -> Option<String> {
        let (baseline, comparison) = (self.baseline.as_ref()?, self.comparison()?);
        let Sides { before, after } = &comparison.sides;
        let begin = |means: &Result<SpanMeans, NoMeans>| Some(means.as_ref().ok()?.begin);
        // A date is needed if they are of different days.
        let day = |time: i64| self.shown_time(time, "%Y-%m-%d");
        let has_dates = begin(before).zip(begin(after)).is_some_and(|(a, b)| day(a) != day(b));
        let side = |means: &Result<SpanMeans, NoMeans>| match means {
            Err(reason) => reason.words().to_owned(),
            Ok(means) => self.range_words(means, has_dates),
        };
        let machine = match baseline.machine.to_lowercase() == self.machine.to_lowercase() {
            true => String::new(),
            false => format!("{} ", baseline.machine),
        };
        let mut text = format!("mean {}, was {machine}{}", side(after), side(before));
        if let Some((appeared, disappeared)) = comparison.sides.changes() {
            text.push_str(&format!("  +{appeared} -{disappeared}"));
        }
        Some(text)
    }

    fn range_words(&self, means: &SpanMeans, has_dates: bool) -> String {
        let format = match means.end.saturating_sub(means.begin) {
            DAY.. => "%m-%d %H:%M:%S",
            _ if has_dates => "%m-%d %H:%M:%S",
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
