//! Spans of time that the screen's table shows instead of an instant.

use perfset::output::text::escaped;
use perfset::tables::TreeKind;
use perfset::{Counter, CounterId};

use super::Viewer;
use crate::feed::{FeedError, TablePlan};
use crate::sample::TableSample;
use crate::spans::{SpanKind, SpanTable, SpanTotals, TableSpan};
use crate::timeline::Timeline;

/// Length of a day, in 100 ns.
const DAY: i64 = 864_000_000_000;

/// Parts of the viewer's state on which the table of a time span depends. While they stay the same, it is not
/// computed again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanSource {
    span: TableSpan,
    now: Option<i64>,
    tab: usize,
    columns: Vec<CounterId>,
}

impl Viewer {
    /// Returns the table over the span of time that the screen shows.
    #[must_use]
    pub(crate) fn span_table(&self) -> Option<&SpanTable> {
        self.span?;
        self.spanned.as_ref()?.1.as_ref()
    }

    /// Begins a span of time at the shown instant, or shows the next kind of totals: mean, greatest, total.
    pub(super) fn next_total(&mut self) {
        let now = self.timeline.now();
        self.span = match self.span {
            Some(TableSpan { kind: SpanKind::Mean, from }) => {
                Some(TableSpan { kind: SpanKind::Greatest, from })
            }
            Some(TableSpan { kind: SpanKind::Greatest, from }) => {
                Some(TableSpan { kind: SpanKind::Total, from })
            }
            Some(TableSpan { from: from @ Some(_), .. }) => Some(TableSpan { kind: SpanKind::Mean, from }),
            _ => Some(TableSpan { kind: SpanKind::Mean, from: now }),
        };
        self.arrange();
    }

    /// Shows the difference between the ends of the span, or ends the span if the table shows that already. Without a
    /// span, one begins at the shown instant.
    pub(super) fn toggle_difference(&mut self) {
        let now = self.timeline.now();
        self.span = match self.span {
            Some(TableSpan { kind: SpanKind::Difference, .. }) => None,
            Some(TableSpan { from: from @ Some(_), .. }) => {
                Some(TableSpan { kind: SpanKind::Difference, from })
            }
            _ => Some(TableSpan { kind: SpanKind::Difference, from: now }),
        };
        self.arrange();
    }

    /// Shows the instances that began or ended since the previous sample, or in the shown span of time.
    pub(super) fn toggle_changes(&mut self) {
        self.span = match self.span {
            Some(TableSpan { kind: SpanKind::Changes, .. }) => None,
            Some(TableSpan { from, .. }) => Some(TableSpan { kind: SpanKind::Changes, from }),
            None => Some(TableSpan { kind: SpanKind::Changes, from: None }),
        };
        self.arrange();
    }

    /// Delays computing the table of a time span while further keys wait, because a long span takes a while; then
    /// computes it.
    pub(crate) fn hold_spans(&mut self, holds: bool) {
        self.holds_spans = holds;
        if !holds && (self.span.is_some() || self.is_comparison()) {
            self.arrange();
        }
    }

    /// Computes the table over the shown span of time. An error is shown as the message, and ends the span.
    pub(super) fn compute_span(&mut self) {
        let (Some(span), Some(plan)) = (self.span, self.plan()) else {
            self.spanned = None;
            return;
        };
        let now = self.timeline.now();
        let source = SpanSource { span, now, tab: self.tab, columns: plan.columns.clone() };
        let is_known = |known: &SpanSource| match self.holds_spans {
            // The same table of another time is there until the last of the keys that wait.
            true => (known.tab, &known.columns) == (source.tab, &source.columns),
            false => *known == source,
        };
        if self.spanned.as_ref().is_some_and(|(known, _)| is_known(known)) {
            return;
        }
        self.spanned = None;
        match self.computed(span, &plan) {
            Ok(table) => self.spanned = Some((source, table)),
            Err(error) => {
                self.span = None;
                self.message = Some(escaped(&error.to_string()));
            }
        }
    }

    /// Returns the table over a span of time; `None` if the span contains no sample of the table.
    fn computed(&self, span: TableSpan, plan: &TablePlan) -> Result<Option<SpanTable>, FeedError> {
        let (at, count) = self.timeline.position();
        if count == 0 {
            return Ok(None);
        }
        let from = span.from.map_or(at.saturating_sub(1), |from| self.timeline.number_at(from));
        let (first, last) = (from.min(at), from.max(at));
        let mut totals = SpanTotals::default();
        match (&self.timeline, span) {
            (Timeline::Live { history, .. }, TableSpan { kind: SpanKind::Difference, .. }) => {
                let ends = [from, at].into_iter().filter_map(|number| history.get(number));
                ends.for_each(|sample| totals.add(sample));
            }
            (Timeline::Live { history, .. }, TableSpan { from: None, .. }) => {
                // The last two that have a table.
                let mut ends: Vec<_> = history
                    .iter()
                    .take(at.saturating_add(1))
                    .rev()
                    .filter(|sample| !sample.is_missing)
                    .take(2)
                    .collect();
                ends.reverse();
                ends.into_iter().for_each(|sample| totals.add(sample));
            }
            (Timeline::Live { history, .. }, _) => {
                let range = history.iter().skip(first).take(last.saturating_sub(first).saturating_add(1));
                range.for_each(|sample| totals.add(sample));
            }
            (Timeline::Log { times, sample, .. }, TableSpan { kind: SpanKind::Difference, .. }) => {
                // Both can be of one collection, if the table is recorded less often.
                let collected = |sample: &TableSample| TableSample {
                    time: sample.collected.unwrap_or(sample.time),
                    ..sample.clone()
                };
                let ends = [collected(&self.feed.at(times, from, plan)?), collected(sample)];
                let is_one = matches!(&ends, [begin, end] if begin.time == end.time);
                ends.iter().skip(usize::from(is_one)).for_each(|sample| totals.add(sample));
            }
            (Timeline::Log { times, .. }, TableSpan { from: None, .. }) => {
                totals = self.feed.last_two(times, at, plan)?;
            }
            (Timeline::Log { times, .. }, _) => totals = self.feed.range(times, (first, last), plan)?,
        }
        let columns = self.shown_tab().map(|tab| &*tab.columns).unwrap_or_default();
        let counters: Vec<&Counter> = columns.iter().map(|column| &column.counter).collect();
        let tree = TreeKind::of(&plan.counterset).map(TreeKind::counters).unwrap_or_default();
        let number = |id| plan.columns.iter().position(|column| *column == id);
        let numbers: Vec<usize> = tree.into_iter().filter_map(number).collect();
        let Some(mut table) = totals.table(span.kind, &counters, &numbers) else { return Ok(None) };
        table.of = last.saturating_sub(first).saturating_add(1);
        let is_backward = span.kind == SpanKind::Difference && from > at;
        Ok(Some(if is_backward { table.reversed() } else { table }))
    }

    /// Returns the screen's text about the span: gaps, kind of its values, times, and number of samples.
    #[must_use]
    pub(crate) fn span_words(&self) -> Option<String> {
        self.span?;
        let Some(table) = self.span_table() else {
            return Some("the range has no sample of this table".to_owned());
        };
        let distance = table.end.saturating_sub(table.begin).saturating_abs();
        let format = match distance {
            DAY.. => "%m-%d %H:%M:%S",
            0..100_000_000 => "%H:%M:%S%.1f",
            _ => "%H:%M:%S",
        };
        let time = |time: i64| self.shown_time(time, format);
        let mut text = String::new();
        if table.is_full {
            text.push_str("too many instances, ");
        }
        if table.has_gap && !matches!(table.kind, SpanKind::Difference | SpanKind::Changes) {
            text.push_str("with gaps, ");
        }
        text.push_str(&format!("{} {} to {}", table.kind.words(), time(table.begin), time(table.end)));
        text.push_str(&format!("  +{} -{}", table.began, table.ended));
        if table.samples < table.of && table.kind != SpanKind::Difference {
            text.push_str(&format!("  {} of {} samples", table.samples, table.of));
        }
        Some(text)
    }
}
