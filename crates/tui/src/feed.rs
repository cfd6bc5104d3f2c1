//! Feed of an interactive screen: collects values for its table and chart strip now, or reads them at an instant of a
//! log.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset::log::{Logs, Pick};
use perfset::path::{BindError, CounterPath, PathQuery};
use perfset::{
    CounterId, Counterset, Fact, FactOptions, Identity, InstanceId, Machine, Name, NextOutcome, Source,
    SourceError, Window,
};

use crate::sample::{RowIdentity, TableSample};
use crate::spans::SpanTotals;
use crate::timeline::StripSample;

/// Numbers of samples that are read before an instant of a log, the smallest first: a larger number is tried if one
/// is not enough. Rates need one earlier sample, and counters that are recorded less often need more.
const BEFORE: [usize; 3] = [1, 30, 310];

/// Maximum number of samples of a log from which the totals of a time range are computed. Rates of samples that are
/// far apart are those of the whole time between them.
const OF_A_RANGE: usize = 600;

/// Maximum time to read a time range of a log for the screen. Samples that are not read by then are left out, which
/// the times of the table show.
const RANGE_PATIENCE: Duration = Duration::from_secs(3);

/// Reason why the screen has no samples to show.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// Error of the source, which cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Error of a counter path that does not fit the source.
    #[error("{0}")]
    Path(#[from] BindError),
    /// Error for the recording of the running recorder, which cannot be opened.
    #[error("the recorder's samples cannot be read: {0}")]
    Recorder(String),
}

/// Counterset and counters of a screen's table, and the counters of its chart strip.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePlan {
    /// Counterset of the table that is collected.
    pub counterset: Arc<Counterset>,
    /// Ids of the counters in the table's columns.
    pub columns: Vec<CounterId>,
    /// Counter paths of the chart strip's counters; each path selects one value.
    pub strip: Vec<CounterPath>,
}

impl TablePlan {
    /// Returns the counter path of a table's column, which covers all instances of a counter.
    fn column_path(&self, id: CounterId) -> CounterPath {
        CounterPath {
            machine: None,
            counterset: format!("{{{}}}", self.counterset.guid),
            instance: self.counterset.instance_type.is_multiple().then(|| "*".to_owned()),
            counter: format!("#{}", id.0),
        }
    }

    /// Adds the counters of the table's columns to a query.
    fn bind_columns(&self, query: &mut PathQuery, source: &mut dyn Source) -> Result<(), FeedError> {
        for id in &self.columns {
            query.add(source, &self.column_path(*id))?;
        }
        Ok(())
    }

    /// Adds the counter paths of all table columns and of the chart strip to a query. Counters of the strip that the
    /// source lacks have no position, and the samples have no value of them.
    fn bind(&self, query: &mut PathQuery, source: &mut dyn Source) -> Result<Vec<Option<usize>>, FeedError> {
        self.bind_columns(query, source)?;
        Ok(bind_strip(query, source, &self.strip))
    }

    /// Returns `true` if a sample has rows, and at least one rate unless no column of the table is a rate.
    fn has_rates(&self, sample: &TableSample) -> bool {
        let is_rate = |id: &CounterId| {
            self.counterset.counter(*id).is_some_and(|counter| counter.counter_type.needs_two_samples())
        };
        let rates: Vec<usize> =
            (0..).zip(&self.columns).filter(|(_, id)| is_rate(id)).map(|(at, _)| at).collect();
        let has = |at: &usize| {
            sample.rows.iter().any(|row| row.values.get(*at).is_some_and(|value| value.number().is_some()))
        };
        !sample.rows.is_empty() && (rates.is_empty() || rates.iter().any(has))
    }
}

/// Adds the chart strip's counters to a query, and returns their positions; `None` for counters that the source
/// lacks.
fn bind_strip(query: &mut PathQuery, source: &mut dyn Source, strip: &[CounterPath]) -> Vec<Option<usize>> {
    strip.iter().map(|path| query.add(source, path).ok()).collect()
}

/// Source of a screen's samples: a live machine, or logs.
#[derive(Debug)]
pub struct Feed {
    machine: Machine,
    logs: Option<Logs>,
    /// Window of time whose samples of the logs are shown.
    window: Window,
    /// `true` if reading a long range of a log ends early, because the user waits for the result.
    is_hasty: bool,
    /// Directory of the recorder that is running on the live machine.
    recorded: Option<PathBuf>,
    /// Query of a live source, the plan that it was created for, and the positions of the chart strip's counters.
    live: Option<(PathQuery, TablePlan, Vec<Option<usize>>)>,
}

impl Feed {
    /// Creates a feed of samples from a live machine.
    #[must_use]
    pub fn live(machine: Machine) -> Self {
        Self { machine, logs: None, window: Window::default(), is_hasty: true, recorded: None, live: None }
    }

    /// Sets the directory of a running recorder, from which samples before the first live one are read.
    #[must_use]
    pub fn with_recorded(self, folder: Option<PathBuf>) -> Self {
        Self { recorded: folder, ..self }
    }

    /// Opens the samples of the running recorder; `None` if no recorder is running.
    ///
    /// # Errors
    /// If its recording cannot be read.
    pub fn open_past(&self) -> Result<Option<FeedPast>, FeedError> {
        let Some(folder) = &self.recorded else { return Ok(None) };
        let logs = Logs::open(&[folder]).map_err(|error| FeedError::Recorder(error.to_string()))?;
        let mut times = logs.times()?;
        times.sort_unstable(); // a clock that was set back has times twice
        times.dedup();
        Ok(Some(FeedPast { logs, times }))
    }

    /// Creates a feed of samples from logs.
    #[must_use]
    pub fn of_logs(logs: Logs) -> Self {
        Self { logs: Some(logs.clone()), ..Self::live(logs.machine().clone()) }
    }

    /// Restricts the feed of logs to the samples in a time window.
    #[must_use]
    pub fn within(self, window: Window) -> Self {
        Self { window, ..self }
    }

    /// Makes the feed read long ranges of logs to their end, because no user waits for the result.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { is_hasty: false, ..self }
    }

    /// Returns the times of all samples of the logs within the feed's window, ascending.
    ///
    /// # Errors
    /// If the logs cannot be read.
    pub fn times(&self) -> Result<Vec<i64>, FeedError> {
        let Some(logs) = &self.logs else { return Ok(Vec::new()) };
        let mut times = logs.times()?;
        let Window { begin, end } = self.window;
        times.retain(|time| begin.is_none_or(|begin| *time >= begin) && end.is_none_or(|end| *time <= end));
        times.sort_unstable(); // a clock that was set back has times twice
        times.dedup();
        Ok(times)
    }

    /// Returns the feed's logs; `None` if the source is live.
    #[must_use]
    pub fn logs(&self) -> Option<&Logs> {
        self.logs.as_ref()
    }

    /// Returns the countersets of the feed that have a name, sorted by name. Views of others are left out, except if
    /// they are the only ones.
    #[must_use]
    pub fn countersets(&self) -> Vec<Arc<Counterset>> {
        let all = self.machine.countersets();
        let mut sets: Vec<_> = all.iter().filter_map(|guid| self.machine.counterset(guid).ok()).collect();
        sets.sort_by_key(|set| set.name.to_string().to_lowercase());
        sets
    }

    /// Collects the next sample of a live source for the screen; `None` before the source has one. The first sample
    /// of a new plan has no rates.
    ///
    /// # Errors
    /// If the source cannot be read, or does not have the counterset.
    pub fn collect(
        &mut self,
        plan: &TablePlan,
        before: Option<&TableSample>,
    ) -> Result<Option<TableSample>, FeedError> {
        let begins = !self.live.as_ref().is_some_and(|(_, known, _)| known == plan);
        if begins {
            let mut source = self.machine.clone();
            let mut query = PathQuery::open(&mut source)?;
            let strip = plan.bind(&mut query, &mut source)?;
            self.live = Some((query, plan.clone(), strip));
        }
        let Some((query, plan, strip)) = &mut self.live else { return Ok(None) };
        Ok(match query.collect()? {
            NextOutcome::Sample => {
                let sample = TableSample::read(query, plan.columns.len(), strip, before);
                Some(TableSample { begins, ..sample })
            }
            NextOutcome::End => None,
        })
    }

    /// Reads the table's sample of a log by its number in `times`, the times of all samples.
    ///
    /// # Errors
    /// If the log cannot be read, or does not have the counterset.
    pub fn at(&self, times: &[i64], number: usize, plan: &TablePlan) -> Result<TableSample, FeedError> {
        let mut found = TableSample::default();
        let (Some(logs), Some(end)) = (&self.logs, times.get(number)) else { return Ok(found) };
        let window = |before| {
            let begin = times.get(number.saturating_sub(before)).copied();
            logs.within(Window { begin, end: Some(*end) })
        };
        for before in BEFORE {
            // The columns have a query of their own: it passes over samples in which they were not due.
            let mut logs = window(before);
            let mut query = PathQuery::open(&mut logs)?;
            plan.bind_columns(&mut query, &mut logs)?;
            while query.collect()? == NextOutcome::Sample {}
            found = TableSample::read(&query, plan.columns.len(), &[], None);
            if plan.has_rates(&found) || number <= before {
                break;
            }
        }
        let is_earlier = found.time != 0 && found.time < *end;
        found.collected = is_earlier.then_some(found.time);
        found.time = *end;
        let mut logs = window(1);
        let mut query = PathQuery::open(&mut logs)?;
        let strip = bind_strip(&mut query, &mut logs, &plan.strip);
        while query.collect()? == NextOutcome::Sample {}
        found.strip = TableSample::read(&query, 0, &strip, None).strip;
        Ok(found)
    }

    /// Returns the totals of a table's values in a log between two sample numbers, both included. If there are many
    /// samples, only some at equal distances are read.
    ///
    /// # Errors
    /// If the log cannot be read, or does not have the counterset.
    pub fn range(
        &self,
        times: &[i64],
        (first, last): (usize, usize),
        plan: &TablePlan,
    ) -> Result<SpanTotals, FeedError> {
        let count = last.saturating_sub(first);
        let every = count.div_ceil(OF_A_RANGE).max(1);
        let window = Window { begin: times.get(first).copied(), end: times.get(last).copied() };
        let (totals, is_whole) = self.totals(window, every, plan)?;
        // A counterset that is recorded less often can lack most samples that were picked.
        match every > 1 && is_whole && totals.samples() < OF_A_RANGE / 4 {
            true => self.totals(window, 1, plan).map(|(totals, _)| totals),
            false => Ok(totals),
        }
    }

    /// Returns the totals of a table's values in every n-th sample of a window, and `true` if the window's end was
    /// reached.
    fn totals(
        &self,
        window: Window,
        every: usize,
        plan: &TablePlan,
    ) -> Result<(SpanTotals, bool), FeedError> {
        let begun = Instant::now();
        let mut totals = SpanTotals::default();
        let Some(logs) = &self.logs else { return Ok((totals, true)) };
        let mut logs = logs.within(window);
        if let Some(every) = u64::try_from(every).ok().and_then(NonZeroU64::new).filter(|n| n.get() > 1) {
            logs = logs.picking(Pick::Nth(every));
        }
        let mut query = PathQuery::open(&mut logs)?;
        plan.bind_columns(&mut query, &mut logs)?;
        while query.collect()? == NextOutcome::Sample {
            totals.add(&TableSample::read(&query, plan.columns.len(), &[], None));
            if self.is_hasty && begun.elapsed() > RANGE_PATIENCE {
                return Ok((totals, false));
            }
        }
        Ok((totals, true))
    }

    /// Returns the totals of two collections of a table: that of the sample with this number, and the previous one.
    ///
    /// # Errors
    /// If the log cannot be read, or does not have the counterset.
    pub fn last_two(&self, times: &[i64], number: usize, plan: &TablePlan) -> Result<SpanTotals, FeedError> {
        let mut found = Vec::new();
        // One sample more, for the rates of the earlier one.
        for before in BEFORE.map(|before| before.saturating_add(1)) {
            let Some(logs) = &self.logs else { break };
            let begin = times.get(number.saturating_sub(before)).copied();
            let mut logs = logs.within(Window { begin, end: times.get(number).copied() });
            let mut query = PathQuery::open(&mut logs)?;
            plan.bind_columns(&mut query, &mut logs)?;
            found.clear();
            while query.collect()? == NextOutcome::Sample {
                let sample = TableSample::read(&query, plan.columns.len(), &[], None);
                if !sample.is_missing {
                    found.push(sample);
                    let surplus = found.len().saturating_sub(2);
                    found.drain(..surplus);
                }
            }
            if found.len() == 2 || number <= before {
                break;
            }
        }
        let mut totals = SpanTotals::default();
        found.iter().for_each(|sample| totals.add(sample));
        Ok(totals)
    }

    /// Reads the chart strip's counters in a range of a log: the time and the values of each sample.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn strip(&self, window: Window, paths: &[CounterPath]) -> Result<Vec<StripSample>, FeedError> {
        let mut samples = Vec::new();
        let Some(logs) = &self.logs else { return Ok(samples) };
        let mut logs = logs.within(window);
        let mut query = PathQuery::open(&mut logs)?;
        let strip = bind_strip(&mut query, &mut logs, paths);
        while query.collect()? == NextOutcome::Sample {
            let sample = TableSample::read(&query, 0, &strip, None);
            samples.push((sample.time, sample.strip));
        }
        Ok(samples)
    }

    /// Returns facts about the instance of a table's row.
    #[must_use]
    pub fn facts(&self, counterset: &Counterset, row: &RowIdentity, options: FactOptions) -> Vec<Fact> {
        let name: Vec<u8> = row.name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let identity = Identity {
            counterset: counterset.guid,
            instance: Name::until_nul(&name),
            instance_id: InstanceId(row.id.unwrap_or(0)),
            birth: row.birth,
        };
        let found = match &self.logs {
            Some(logs) => logs.clone().facts(&identity, options),
            None => self.machine.clone().facts(&identity, options),
        };
        found.unwrap_or_default() // a row without facts
    }
}

/// Samples of a running recorder, as they were when its recording was opened.
#[derive(Debug)]
pub struct FeedPast {
    logs: Logs,
    times: Vec<i64>,
}

impl FeedPast {
    /// Reads the newest samples before a time, at most `most` of them, the oldest first.
    ///
    /// # Errors
    /// If they cannot be read, or the recorder does not have the counterset.
    pub fn before(&self, time: i64, most: usize, plan: &TablePlan) -> Result<Vec<TableSample>, FeedError> {
        let end = self.times.partition_point(|other| *other < time);
        let Some(last) = end.checked_sub(1).and_then(|last| self.times.get(last)) else {
            return Ok(Vec::new());
        };
        let first = end.saturating_sub(most);
        // One more, for the rates of the first one.
        let begin = self.times.get(first).copied();
        let is_kept = |sample: &TableSample| begin.is_some_and(|begin| sample.time >= begin);
        let before = self.times.get(first.saturating_sub(1)).copied();
        let mut logs = self.logs.within(Window { begin: before, end: Some(*last) });
        let mut query = PathQuery::open(&mut logs)?;
        let strip = plan.bind(&mut query, &mut logs)?;
        let mut samples: Vec<TableSample> = Vec::new();
        while query.collect()? == NextOutcome::Sample {
            // Rows that are shared with a sample count as its memory.
            let shared = samples.last().filter(|sample| is_kept(sample));
            let sample = TableSample::read(&query, plan.columns.len(), &strip, shared);
            samples.push(sample);
        }
        samples.retain(is_kept);
        Ok(samples)
    }
}
