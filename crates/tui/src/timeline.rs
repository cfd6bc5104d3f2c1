//! Time cursor of a screen: live, or at an instant of the history or of a log.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sample::TableSample;

/// Length of time that the history of a live source covers, in 100 ns: 15 minutes.
const KEPT: i64 = 15 * 60 * 10_000_000;

/// Maximum memory of a live source's history, in bytes.
const MEMORY: usize = 48 << 20;

/// Time of a sample, and the values of the chart strip's counters.
pub type StripSample = (i64, Vec<Option<f64>>);

/// Samples that a screen can show, and the one that it shows.
#[derive(Debug)]
pub enum Timeline {
    /// History of a live source, for the time cursor.
    Live {
        /// Samples of the shown table in the history, the oldest first.
        history: VecDeque<Arc<TableSample>>,
        /// Samples of the chart strip in the history, the oldest first.
        strip: VecDeque<StripSample>,
        /// Memory that the history of the live source uses, in bytes.
        size: usize,
        /// Shown sample, which is kept even if the history drops it; `None` if the newest sample is shown.
        shown: Option<Arc<TableSample>>,
    },
    /// Samples of a log, and the shown one.
    Log {
        /// Times of all samples of the log, ascending.
        times: Vec<i64>,
        /// Index of the log's shown sample in `times`.
        at: usize,
        /// Sample of the log that is shown.
        sample: Arc<TableSample>,
        /// Samples of the chart strip in the log before and after the shown sample.
        strip: Vec<StripSample>,
    },
}

impl Timeline {
    /// Creates an empty history of a live source.
    #[must_use]
    pub fn live() -> Self {
        Self::Live { history: VecDeque::new(), strip: VecDeque::new(), size: 0, shown: None }
    }

    /// Returns the sample that the screen shows.
    #[must_use]
    pub fn sample(&self) -> Option<&Arc<TableSample>> {
        match self {
            Self::Live { history, shown, .. } => shown.as_ref().or_else(|| history.back()),
            Self::Log { sample, .. } => Some(sample),
        }
    }

    /// Returns the newest sample of a live source.
    #[must_use]
    pub fn newest(&self) -> Option<&Arc<TableSample>> {
        match self {
            Self::Live { history, .. } => history.back(),
            Self::Log { .. } => None,
        }
    }

    /// Returns `true` if the source is live and the newest sample is shown.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live { shown: None, .. })
    }

    /// Returns the time of the last sample that the screen can show, in 100 ns since 1601 UTC.
    #[must_use]
    pub fn end(&self) -> Option<i64> {
        match self {
            Self::Live { history, .. } => history.back().map(|sample| sample.time),
            Self::Log { times, .. } => times.last().copied(),
        }
    }

    /// Returns the time of the sample that the screen shows, in 100 ns since 1601 UTC.
    #[must_use]
    pub fn now(&self) -> Option<i64> {
        match self {
            Self::Live { .. } => self.sample().map(|sample| sample.time),
            Self::Log { times, at, .. } => times.get(*at).copied(),
        }
    }

    /// Returns the times of all samples that the screen can show, ascending.
    #[must_use]
    pub fn times(&self) -> Vec<i64> {
        match self {
            Self::Live { history, .. } => history.iter().map(|sample| sample.time).collect(),
            Self::Log { times, .. } => times.clone(),
        }
    }

    /// Adds a sample of a live source, and removes the oldest ones if they are older than 15 minutes or all together
    /// need more than 48 MiB.
    pub fn push(&mut self, sample: TableSample) {
        let Self::Live { history, strip, size, .. } = self else { return };
        let begin = sample.time.saturating_sub(KEPT);
        strip.push_back((sample.time, sample.strip.clone()));
        while strip.front().is_some_and(|(time, _)| *time < begin) {
            strip.pop_front();
        }
        *size = size.saturating_add(sample.size);
        history.push_back(Arc::new(sample));
        while history.len() > 1
            && (*size > MEMORY || history.front().is_some_and(|oldest| oldest.time < begin))
        {
            if let Some(oldest) = history.pop_front() {
                *size = size.saturating_sub(oldest.size);
            }
        }
    }

    /// Adds earlier samples to a live source's history, given with the oldest first. Returns `false` if no sample was
    /// earlier, or if not all had room, so that still earlier ones have no room either.
    pub fn prepend(&mut self, samples: Vec<TableSample>) -> bool {
        let Self::Live { history, strip, size, .. } = self else { return false };
        let Some(begin) = history.back().map(|newest| newest.time.saturating_sub(KEPT)) else { return false };
        let before = history.len();
        for sample in samples.into_iter().rev() {
            // A break in the recording has the time of the sample after it, and a clock can be set back.
            if history.front().is_some_and(|first| sample.time >= first.time) {
                continue;
            }
            let larger = size.saturating_add(sample.size);
            if sample.time < begin || larger > MEMORY {
                return false;
            }
            *size = larger;
            if strip.front().is_none_or(|(first, _)| sample.time < *first) {
                strip.push_front((sample.time, sample.strip.clone()));
            }
            history.push_front(Arc::new(sample));
        }
        history.len() > before
    }

    /// Removes the samples of a live source's table, because another table is shown; the samples of the chart strip
    /// stay.
    pub fn forget_table(&mut self) {
        if let Self::Live { history, size, shown, .. } = self {
            history.clear();
            (*size, *shown) = (0, None);
        }
    }

    /// Changes the values of the chart strip's stored samples after a counter was added or removed. Over a log, the
    /// samples are removed, to be read again.
    pub fn change_strip(&mut self, change: impl Fn(&mut Vec<Option<f64>>)) {
        match self {
            Self::Live { strip, .. } => strip.iter_mut().for_each(|(_, values)| change(values)),
            Self::Log { strip, .. } => strip.clear(),
        }
    }

    /// Shows a sample of a live source by its number; for the last number, always shows the newest sample.
    pub fn show(&mut self, number: usize) {
        if let Self::Live { history, shown, .. } = self {
            let is_last = number.saturating_add(1) >= history.len();
            *shown = history.get(number).filter(|_| !is_last).cloned();
        }
    }

    /// Returns the number of the last sample that is not later than a time; 0 if all are later.
    #[must_use]
    pub fn number_at(&self, time: i64) -> usize {
        self.times().partition_point(|other| *other <= time).saturating_sub(1)
    }

    /// Returns the number of the sample that the screen shows, and the number of all samples.
    #[must_use]
    pub fn position(&self) -> (usize, usize) {
        match self {
            Self::Live { history, shown: None, .. } => (history.len().saturating_sub(1), history.len()),
            Self::Live { history, shown: Some(shown), .. } => {
                let at = history.partition_point(|sample| sample.time < shown.time);
                (at.min(history.len().saturating_sub(1)), history.len())
            }
            Self::Log { times, at, .. } => (*at, times.len()),
        }
    }

    /// Returns the stored samples of the chart strip's counters, the oldest first.
    pub fn strip(&self) -> Box<dyn Iterator<Item = &StripSample> + '_> {
        match self {
            Self::Live { strip, .. } => Box::new(strip.iter()),
            Self::Log { strip, .. } => Box::new(strip.iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 10_000_000;

    fn sample(second: i64, size: usize) -> TableSample {
        TableSample { time: second * SECOND, size, strip: vec![Some(1.0)], ..TableSample::default() }
    }

    #[test]
    fn history_is_limited() {
        let mut timeline = Timeline::live();
        for second in 0..2_000 {
            timeline.push(sample(second, 1_000));
        }
        assert_eq!(timeline.times().first(), Some(&(1_099 * SECOND)), "by time");
        assert_eq!(timeline.strip().count(), 901);
        for second in 2_000..2_020 {
            timeline.push(sample(second, 10 << 20));
        }
        assert_eq!(timeline.times().len(), 4, "by memory");
        assert_eq!(timeline.strip().count(), 901);
        // One sample stays, whatever its size.
        timeline.push(sample(2_020, 100 << 20));
        assert_eq!(timeline.times(), [2_020 * SECOND]);
    }

    #[test]
    fn earlier_samples_have_limits_too() {
        let mut timeline = Timeline::live();
        timeline.push(sample(1_000, 1));
        assert!(timeline.prepend(vec![sample(998, 1), sample(999, 1)]));
        assert_eq!(timeline.times(), [998, 999, 1_000].map(|second| second * SECOND));
        assert_eq!(timeline.strip().count(), 3);
        assert!(!timeline.prepend(vec![sample(998, 1), sample(999, 1)]), "each time is there once");
        assert!(!timeline.prepend(vec![sample(99, 1), sample(100, 1)]), "by time");
        assert!(!timeline.prepend(vec![sample(98, 48 << 20)]), "by memory");
        assert_eq!(timeline.times().len(), 4);
        // The strip stays when another table is shown, and has no sample twice.
        timeline.forget_table();
        timeline.push(sample(1_001, 1));
        assert!(timeline.prepend(vec![sample(999, 1), sample(1_000, 1)]));
        assert_eq!(
            (timeline.times().len(), timeline.strip().count()),
            (3, 4),
            "one is older than 15 minutes"
        );
    }

    #[test]
    fn the_shown_sample_stays() {
        let mut timeline = Timeline::live();
        (0..901).for_each(|second| timeline.push(sample(second, 1)));
        timeline.show(700);
        timeline.push(sample(901, 1));
        assert_eq!((timeline.now(), timeline.position().0), (Some(700 * SECOND), 699));
        assert!(!timeline.is_live());
        // Also after the history has forgotten it.
        (902..1_900).for_each(|second| timeline.push(sample(second, 1)));
        assert_eq!((timeline.now(), timeline.position().0), (Some(700 * SECOND), 0));
        timeline.show(900);
        assert!(timeline.is_live());
        timeline.forget_table();
        assert!(timeline.is_live());
        assert_eq!((timeline.now(), timeline.strip().count()), (None, 901));
        assert_eq!(timeline.number_at(5), 0);
    }
}
