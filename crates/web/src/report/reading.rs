//! Reader of a log for a report: all samples of its counter paths, one pass at a time, and totals of each series.

use std::collections::HashMap;
use std::time::Instant;

use perfset::catalogue::value_range;
use perfset::log::Logs;
use perfset::output::text::{NAME_MAX, cut};
use perfset::path::{CounterPath, PathQuery, PathValue, resolve};
use perfset::{Guid, NextOutcome, NoValue, Window};

use super::ReportError;

/// Maximum number of series of which a report keeps totals, because a log can have any number of instances. The next
/// constant limits the bytes of their names.
const SERIES_MOST: usize = 100_000;
const NAMES_LEN_MOST: usize = 64 << 20;

/// Time before the report's range that is read too, in 100 ns: rates need an earlier sample, and some countersets are
/// recorded rarely.
const BEFORE: i64 = 1_300_000_000;

/// Factor of the usual distance between two samples of a log above which there is a gap.
const GAP: f64 = 3.0;

/// Log with the counter paths that a report reads from it.
pub struct LogReader<'a> {
    logs: &'a Logs,
    window: Window,
    paths: &'a [CounterPath],
    /// Groups of counter paths that are read together: indexes in `paths`.
    groups: Vec<Vec<usize>>,
    due: Option<Instant>,
}

/// Sample of the counter paths of one group.
pub struct GroupSample<'a> {
    /// Index of the sample's group.
    pub group: usize,
    /// Time of the group's sample, in 100 ns since 1601 UTC.
    pub time: i64,
    /// Number of seconds since the group's previous sample; if there is a gap between both, as many as usual. 0 for
    /// the first sample of the range.
    pub seconds: f64,
    /// `true` if there is a gap before the group's sample.
    pub is_after_gap: bool,
    /// Query of the group's counter paths, with the sample.
    pub query: &'a PathQuery,
    /// Values of the group's sample.
    pub values: &'a [PathValue<'a>],
    /// Indexes of the query's counter paths in the report's list of paths, in the order of the query.
    pub paths: &'a [usize],
}

impl<'a> LogReader<'a> {
    /// Creates a reader of counter paths in a window of a log.
    ///
    /// # Errors
    /// If the log has no counter for a path.
    pub fn new(
        logs: &'a Logs,
        window: Window,
        paths: &'a [CounterPath],
        due: Option<Instant>,
    ) -> Result<Self, ReportError> {
        let mut machine = logs.machine().clone();
        let (mut groups, mut of_guid) = (Vec::<Vec<usize>>::new(), HashMap::<Guid, usize>::new());
        // Samples that lack a counterset must not interrupt its rates, so each is read by itself.
        let is_one = super::has_all_in_each_sample(logs);
        for (at, path) in paths.iter().enumerate() {
            let resolved = resolve(&mut machine, path);
            let guid =
                resolved.map_err(|error| ReportError::Path { path: path.to_string(), error })?.set.guid;
            let group = if is_one { 0 } else { *of_guid.entry(guid).or_insert(groups.len()) };
            match groups.get_mut(group) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        Ok(Self { logs, window, paths, groups, due })
    }

    /// Returns the number of groups of counter paths that are read together.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Passes all samples in the report's window to `each`, group by group. Only counter paths whose index is wanted
    /// are read.
    ///
    /// # Errors
    /// If the log cannot be read, or reading takes too long.
    pub fn each(
        &self,
        is_wanted: &dyn Fn(usize) -> bool,
        each: &mut dyn FnMut(&GroupSample<'_>),
    ) -> Result<(), ReportError> {
        let begin = self.window.begin.map(|begin| begin.saturating_sub(BEFORE));
        for (group, paths) in self.groups.iter().enumerate() {
            let paths: Vec<usize> = paths.iter().copied().filter(|path| is_wanted(*path)).collect();
            let paths = paths.as_slice();
            if paths.is_empty() {
                continue;
            }
            let mut logs = self.logs.within(Window { begin, ..self.window });
            let mut query = PathQuery::open(&mut logs)?;
            for path in paths.iter().filter_map(|at| self.paths.get(*at)) {
                let added = query.add(&mut logs, path);
                added.map_err(|error| ReportError::Path { path: path.to_string(), error })?;
            }
            let (mut steps, mut is_first) = (GroupSteps::default(), true);
            while query.collect()? == NextOutcome::Sample {
                let time = query.snapshot().clocks().utc_100ns();
                let (seconds, is_after_gap) = steps.next(time);
                // At each sample: one can have any number of instances.
                in_time(self.due)?;
                if self.window.contains(time) {
                    // The rates of the first sample are about the time before the range.
                    let seconds = if std::mem::take(&mut is_first) { 0.0 } else { seconds };
                    let values = query.values();
                    let (query, values) = (&query, values.as_slice());
                    each(&GroupSample { group, time, seconds, is_after_gap, query, values, paths });
                }
            }
        }
        Ok(())
    }
}

/// Returns an error if the time for writing the report is over.
pub fn in_time(due: Option<Instant>) -> Result<(), ReportError> {
    match due {
        Some(due) if Instant::now() >= due => Err(ReportError::TooLong),
        _ => Ok(()),
    }
}

/// Distances between the samples of a group of counter paths.
#[derive(Debug, Default)]
struct GroupSteps {
    count: u64,
    last: Option<i64>,
    /// Usual number of seconds between two samples of the group.
    usual: Option<f64>,
    before: f64,
}

impl GroupSteps {
    /// Returns the number of seconds that the values of a sample cover, and `true` if there is a gap before the
    /// sample.
    fn next(&mut self, time: i64) -> (f64, bool) {
        self.count = self.count.saturating_add(1);
        let Some(last) = self.last.replace(time) else { return (0.0, false) };
        let step = seconds(time.saturating_sub(last)).max(0.0);
        let is_long = |usual: f64| usual > 0.0 && step > GAP * usual;
        match self.usual {
            // Two long steps are a new interval.
            Some(usual) if is_long(usual) && self.before <= GAP * usual => {
                self.before = step;
                (usual, true)
            }
            _ => {
                (self.usual, self.before) = (Some(step), step);
                (step, false)
            }
        }
    }
}

/// Converts a time in 100 ns to seconds.
pub fn seconds(time_100ns: i64) -> f64 {
    #[expect(clippy::as_conversions, reason = "for people, who read no more than a few digits")]
    let time = time_100ns as f64;
    time / 1e7
}

/// Totals of a series over the report's range.
#[derive(Clone, Debug, Default)]
pub struct SeriesTotals {
    /// Sum of the series' values, each multiplied by the seconds that it covers.
    pub sum: f64,
    /// Number of seconds that the series' values cover.
    pub seconds: f64,
    /// Number of samples in which the series had a value.
    pub count: u64,
    /// Sum of the series' values, each counted once.
    pub plain: f64,
    /// Least and greatest value of the series.
    pub ends: Option<(f64, f64)>,
    /// Last value of the series in the range.
    pub last: Option<f64>,
    /// Times of the first and the last sample that contains the series, in 100 ns.
    pub span: (i64, i64),
    /// Number of samples in which the series' value was missing.
    pub missing: u64,
    /// Last reason for a missing value of the series.
    pub reason: Option<NoValue>,
    /// `true` if there was a gap in the series, in which its values are unknown.
    pub has_gap: bool,
}

impl SeriesTotals {
    /// Adds the value of a sample to the series' totals, or the reason for a missing value.
    pub fn add(&mut self, sample: &GroupSample<'_>, value: Result<f64, &NoValue>) {
        if self.count == 0 && self.missing == 0 {
            self.span.0 = sample.time;
        }
        self.span.1 = sample.time;
        match value {
            Ok(value) => {
                self.count = self.count.saturating_add(1);
                self.plain += value;
                self.sum += value * sample.seconds;
                self.seconds += sample.seconds;
                self.has_gap |= sample.is_after_gap && sample.seconds > 0.0;
                let (least, greatest) = self.ends.unwrap_or((value, value));
                self.ends = Some((least.min(value), greatest.max(value)));
                self.last = Some(value);
            }
            Err(reason) => {
                self.missing = self.missing.saturating_add(1);
                self.reason = Some(reason.clone());
            }
        }
    }

    /// Returns the mean of the series over the time in which there are values.
    pub fn mean(&self) -> Option<f64> {
        #[expect(clippy::as_conversions, reason = "no log has 2^53 samples")]
        let count = self.count as f64;
        let mean = if self.seconds > 0.0 { self.sum / self.seconds } else { self.plain / count };
        (self.count > 0 && mean.is_finite()).then_some(mean)
    }

    /// Returns the value by which the lines of a chart are chosen: the sum of the series over the whole time.
    pub fn size(&self) -> f64 {
        let size = if self.seconds > 0.0 { self.sum } else { self.plain };
        if size.is_finite() { size } else { f64::MAX }
    }
}

/// Series of a report: one counter of one instance of a counter path.
#[derive(Clone, Debug)]
pub struct ReportSeries {
    /// Index of the series' counter path in the report's list.
    pub asked: usize,
    /// Identity of the series' instance.
    pub row: Box<[u8]>,
    /// Counter path of the series, with the names of the log.
    pub path: String,
    pub counterset: String,
    pub counter: String,
    pub instance: String,
    pub unit: String,
    /// Keyword of the range of the series' values.
    pub range: &'static str,
    /// `true` if the series' instance is a sum of other instances, or idle time.
    pub is_total: bool,
    pub totals: SeriesTotals,
}

/// Series of a report by their identities, with their totals.
#[derive(Debug, Default)]
pub struct SeriesBook {
    of_key: HashMap<Box<[u8]>, usize>,
    pub series: Vec<ReportSeries>,
    /// Number of values for whose series there was no space.
    pub refused: u64,
    /// Last reason why a counter path had no instance, by the index of the path.
    pub nothing: HashMap<usize, NoValue>,
    /// Number of seconds that the samples of a counter path cover, by the index of the path.
    pub seconds: HashMap<usize, f64>,
    /// Number of bytes of the names of all series in the report.
    names_len: usize,
    /// Indexes of the series of the values in the last sample of each group.
    last: Vec<Vec<Option<usize>>>,
    key: Vec<u8>,
}

impl SeriesBook {
    /// Adds the values of a sample to the totals of the report's series.
    pub fn count(&mut self, sample: &GroupSample<'_>) {
        for asked in sample.paths {
            *self.seconds.entry(*asked).or_default() += sample.seconds;
        }
        let found = self.of_sample(sample).to_vec();
        for (v, series) in sample.values.iter().zip(found) {
            if let Some(series) = series.and_then(|at| self.series.get_mut(at)) {
                series.totals.add(sample, number(v));
            }
        }
    }

    /// Prepares the series for another pass over the log, with other counter paths.
    pub fn restart(&mut self) {
        self.last.clear();
    }

    /// Returns the indexes of the report's series to which a sample's values belong.
    pub fn of_sample(&mut self, sample: &GroupSample<'_>) -> &[Option<usize>] {
        if self.last.len() <= sample.group {
            self.last.resize(sample.group.saturating_add(1), Vec::new());
        }
        let known = self.last.get_mut(sample.group).map(std::mem::take).unwrap_or_default();
        let is_same = known.len() == sample.values.len() && sample.query.has_same_rows();
        let found = if is_same { known } else { self.searched(sample, known) };
        let Some(last) = self.last.get_mut(sample.group) else { return &[] };
        *last = found;
        last
    }

    fn searched(&mut self, sample: &GroupSample<'_>, mut found: Vec<Option<usize>>) -> Vec<Option<usize>> {
        found.clear();
        let mut key = std::mem::take(&mut self.key);
        for v in sample.values {
            let asked = sample.paths.get(v.path).copied().unwrap_or(usize::MAX);
            // It only carries the reason why the path has no instance in this sample.
            if v.value.instance_id.is_none() && v.value.counterset.instance_type.is_multiple() {
                if let Err(reason) = &v.value.value {
                    self.nothing.insert(asked, reason.clone());
                    found.push(None);
                    continue;
                }
            }
            key.clear();
            key.extend_from_slice(&asked.to_le_bytes());
            key.extend_from_slice(&v.value.counter.id.0.to_le_bytes());
            let row = key.len();
            key.extend_from_slice(&v.value.instance_id.map_or(u32::MAX, |id| id.0).to_le_bytes());
            key.extend_from_slice(&sample.query.birth(v).map_or(0, std::num::NonZero::get).to_le_bytes());
            if v.value.instance_id.is_none() {
                key.extend_from_slice(&v.occurrence.to_le_bytes());
            }
            key.extend_from_slice(v.value.instance.as_bytes());
            let at = match self.of_key.get(key.as_slice()) {
                Some(at) => Some(*at),
                None if self.series.len() >= SERIES_MOST || self.names_len >= NAMES_LEN_MOST => {
                    self.refused = self.refused.saturating_add(1);
                    None
                }
                None => {
                    let at = self.series.len();
                    self.names_len = self.names_len.saturating_add(key.len().saturating_mul(2));
                    self.of_key.insert(key.as_slice().into(), at);
                    self.series.push(ReportSeries::new(asked, key.get(row..).unwrap_or_default(), v));
                    Some(at)
                }
            };
            found.push(at);
        }
        self.key = key;
        found
    }
}

impl ReportSeries {
    fn new(asked: usize, row: &[u8], v: &PathValue<'_>) -> Self {
        let (set, counter) = (v.value.counterset, v.value.counter);
        Self {
            asked,
            row: row.into(),
            path: short(v.own_path(None).to_string()),
            counterset: short(set.name.to_string()),
            counter: short(counter.shown_name().into_owned()),
            instance: short(v.value.instance.to_string()),
            unit: short(counter.unit.to_string()),
            range: value_range(set.guid, counter.id).keyword(),
            is_total: v.sums_up(),
            totals: SeriesTotals::default(),
        }
    }
}

/// Cuts the name of a series to the length of the longest sensible one.
fn short(mut name: String) -> String {
    let len = cut(&name, NAME_MAX).len();
    name.truncate(len);
    name
}

/// Returns the formatted value that a report shows, or the reason for a missing one.
pub fn number<'a>(v: &'a PathValue<'_>) -> Result<f64, &'a NoValue> {
    match &v.value.value {
        Ok(value) if value.nocap().is_finite() => Ok(value.nocap()),
        Ok(_) => Err(&NoValue::NotDisplayable),
        Err(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_over_gaps_count_as_the_usual_ones() {
        for (times, want) in [
            (&[0, 1, 2, 3][..], &[(0.0, false), (1.0, false), (1.0, false), (1.0, false)][..]),
            (&[0, 1, 100, 101], &[(0.0, false), (1.0, false), (1.0, true), (1.0, false)]),
            // The interval becomes ten times as long.
            (&[0, 1, 11, 21], &[(0.0, false), (1.0, false), (1.0, true), (10.0, false)]),
            (&[0, 1, 0, 1], &[(0.0, false), (1.0, false), (0.0, false), (1.0, false)]),
        ] {
            let mut steps = GroupSteps::default();
            let got: Vec<_> = times.iter().map(|time| steps.next(time * 10_000_000)).collect();
            assert_eq!(got, want, "{times:?}");
        }
    }
}
