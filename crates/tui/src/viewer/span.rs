//! Spans of time that the table shows instead of an instant.

use perfset::CounterId;
use perfset::output::text::escaped;

use super::Viewer;
use crate::feed::{FeedError, TablePlan};
use crate::sample::TableSample;
use crate::spans::{SpanKind, SpanTable, SpanTotals, TableSpan};
use crate::timeline::Timeline;

/// Parts of the state that decide about the table of a span. While they stay the same, it is not computed again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanSource {
    span: TableSpan,
    now: Option<i64>,
    tab: usize,
    columns: Vec<CounterId>,
}

impl Viewer {
    /// Returns the table of the span that is shown.
    #[must_use]
    pub(crate) fn span_table(&self) -> Option<&SpanTable> {
        self.span?;
        self.spanned.as_ref().map(|(_, table)| table)
    }

    /// Begins a range at the shown instant, or shows the next kind of its totals.
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

    /// Shows the difference from the shown instant on, or that of the span that is shown; again, the instant.
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

    /// Shows the instances that began or ended: since the sample before, or in the span that is shown.
    pub(super) fn toggle_changes(&mut self) {
        self.span = match self.span {
            Some(TableSpan { kind: SpanKind::Changes, .. }) => None,
            Some(TableSpan { from, .. }) => Some(TableSpan { kind: SpanKind::Changes, from }),
            None => Some(TableSpan { kind: SpanKind::Changes, from: None }),
        };
        self.arrange();
    }

    /// Computes the table of the span. An error becomes the message, and ends the span.
    pub(super) fn compute_span(&mut self) {
        let (Some(span), Some(plan)) = (self.span, self.plan()) else {
            self.spanned = None;
            return;
        };
        let now = self.timeline.now();
        let source = SpanSource { span, now, tab: self.tab, columns: plan.columns.clone() };
        if self.spanned.as_ref().is_some_and(|(known, _)| *known == source) {
            return;
        }
        self.spanned = None;
        match self.computed(span, &plan) {
            Ok(table) => self.spanned = table.map(|table| (source, table)),
            Err(error) => {
                self.span = None;
                self.message = Some(escaped(&error.to_string()));
            }
        }
    }

    /// Returns the table of a span; `None` if there is no sample.
    fn computed(&self, span: TableSpan, plan: &TablePlan) -> Result<Option<SpanTable>, FeedError> {
        let (at, count) = self.timeline.position();
        if count == 0 {
            return Ok(None);
        }
        let from = span.from.map_or(at.saturating_sub(1), |from| self.timeline.number_at(from));
        let (first, last) = (from.min(at), from.max(at));
        let mut totals = SpanTotals::default();
        let mut every = 1;
        let mut add = |sample: &TableSample| totals.add(sample);
        match (&self.timeline, span.kind) {
            (Timeline::Live { history, .. }, SpanKind::Difference) => {
                [from, at].iter().filter_map(|number| history.get(*number)).for_each(|sample| {
                    add(sample);
                });
            }
            (Timeline::Live { history, .. }, _) => {
                let mut range = history.iter().skip(first).take(last.saturating_sub(first).saturating_add(1));
                range.all(|sample| add(sample));
            }
            (Timeline::Log { times, sample, .. }, SpanKind::Difference) => {
                add(&self.feed.at(times, from, plan)?);
                add(sample);
            }
            (Timeline::Log { times, .. }, _) => {
                every = self.feed.range((times, first, last), plan, &mut add)?
            }
        }
        let tab = self.shown_tab();
        let units: Vec<&str> =
            tab.iter().flat_map(|tab| &tab.columns).map(|column| &*column.counter.unit).collect();
        let mut table = totals.table(span.kind, &units);
        table.every = every;
        Ok(Some(table))
    }

    /// Returns the words about the span that is shown: what its numbers are, of which time, and what they lack.
    #[must_use]
    pub(crate) fn span_words(&self) -> Option<String> {
        let (span, table) = (self.span?, self.span_table()?);
        let time = |time: i64| self.shown_time(time, "%H:%M:%S");
        let mut text = match span.kind {
            SpanKind::Difference => format!("difference of {} from {}", time(table.end), time(table.begin)),
            kind => format!("{} of {} to {}", kind.word(), time(table.begin), time(table.end)),
        };
        text.push_str(&format!("  +{} -{}", table.began, table.ended));
        if table.every > 1 {
            text.push_str(&format!("  from 1 of {} samples", table.every));
        }
        if table.is_full {
            text.push_str("  the rest has too many instances");
        }
        Some(text)
    }
}
