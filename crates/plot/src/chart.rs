//! Lines, samples and values of a chart, stored in as much memory as a picture needs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::bucket::{self, Bucket, Point};
use crate::number::real;
use crate::unit::Unit;

/// Names, unit and range of a line that is added to a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Label<'a> {
    /// Number of the user's request that this line belongs to; several requests may name the same counter.
    pub request: usize,
    /// Name of the counterset of the line's counter.
    pub counterset: &'a str,
    /// Name of the counter that the line shows.
    pub counter: &'a str,
    /// Name of the instance that the line shows; empty if there is none.
    pub instance: &'a str,
    /// Unit of the line's values, in UCUM notation.
    pub unit: &'a str,
    /// Keyword of the range of the line's values. Lines of one unit with different ranges have panels of their own: a
    /// share of at most 100 % is not comparable to a percentage without a limit.
    pub range: &'a str,
    /// `true` if the line is a total of other lines, or the rest beside them. Such a line is not drawn if only the
    /// greatest lines are requested, nor stacked on the lines that it sums up.
    pub is_sum: bool,
}

/// Handle of a line in a [`Chart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineId(usize);

/// Line of a chart, and the stored part of its values.
#[derive(Clone, Debug)]
pub struct ChartLine {
    pub request: usize,
    pub counterset: String,
    pub counter: String,
    pub instance: String,
    pub unit: Unit,
    pub range: String,
    pub is_sum: bool,
    pub stretches: Vec<Bucket>,
    /// Summary of all values of the line, as one stretch.
    pub total: Option<Bucket>,
    /// Reason for the missing values of the line, as long as it has no value.
    pub why: Option<String>,
    /// Number of the last sample of the chart in which the line had a value.
    last_sample: Option<u64>,
    /// Digest of the line's values and of the samples that have them: equal only for equal lines.
    pub digest: u64,
}

/// Chart of lines over time, stored at the resolution of a picture.
///
/// Time is divided into cells, at least as many as the picture has columns. A line stores four points per cell. When
/// the cells become too many for the picture or for memory, all cells double in width. The total duration therefore
/// need not be known in advance, and memory grows with the picture's width, not with the number of samples.
#[derive(Debug)]
pub struct Chart {
    columns: i64,
    /// Length of a time cell of the chart, and start time of cell 0, in µs.
    cell: i64,
    origin: i64,
    /// First and last time cell with samples; `span` contains the first and the last time.
    cells: Option<(i64, i64)>,
    pub(crate) span: Option<(i64, i64)>,
    pub(crate) samples: u64,
    /// Time of the chart's last sample, in µs since 1970.
    time: i64,
    pub(crate) steps: Steps,
    pub(crate) lines: Vec<ChartLine>,
    /// Number of lines that were rejected because the chart is full.
    pub(crate) refused: usize,
    /// Number of stored stretches of values of all lines together.
    kept: usize,
}

impl Chart {
    /// Maximum number of lines in a chart to choose from; there may be more processes than anyone can look at.
    const LINES: usize = 10_000;
    /// Maximum number of stored stretches of values of all lines together, about 140 MiB.
    const STRETCHES: usize = 1 << 20;
    /// Largest absolute value that is drawn. The sum of two such values still fits a double.
    const LARGEST: f64 = 1e300;

    /// Creates a chart for a picture with this many columns of pixels.
    #[must_use]
    pub fn new(columns: u32) -> Self {
        Self {
            // At least the number of the widest cells in the longest possible time.
            columns: i64::from(columns.max(8)),
            cell: 1,
            origin: 0,
            cells: None,
            span: None,
            samples: 0,
            time: 0,
            steps: Steps::default(),
            lines: Vec::new(),
            refused: 0,
            kept: 0,
        }
    }

    /// Adds a line to the chart. Returns `None` if the chart has too many lines to choose from.
    pub fn line(&mut self, label: &Label<'_>) -> Option<LineId> {
        if self.lines.len() >= Self::LINES {
            self.refused = self.refused.saturating_add(1);
            return None;
        }
        let id = LineId(self.lines.len());
        self.lines.push(ChartLine {
            request: label.request,
            counterset: label.counterset.to_owned(),
            counter: label.counter.to_owned(),
            instance: label.instance.to_owned(),
            unit: Unit::from_ucum(label.unit),
            range: label.range.to_owned(),
            is_sum: label.is_sum,
            stretches: Vec::new(),
            total: None,
            why: None,
            last_sample: None,
            digest: 0,
        });
        Some(id)
    }

    /// Begins a sample of the chart that was taken at `time`, in µs since 1970. A line without a value in this sample
    /// has a gap there.
    pub fn sample(&mut self, time: i64) {
        if self.samples == 0 {
            self.origin = time;
        } else {
            self.steps.add(time.saturating_sub(self.time));
        }
        self.time = time;
        self.samples = self.samples.saturating_add(1);
        self.span = Some(self.span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        loop {
            let cell = self.cell_of(time);
            let cells = self.cells.map_or((cell, cell), |(first, last)| (first.min(cell), last.max(cell)));
            self.cells = Some(cells);
            // At twice the columns: after the doubling there are still as many cells as columns.
            if cells.1.saturating_sub(cells.0) < self.columns.saturating_mul(2) {
                break;
            }
            self.coarsen();
        }
    }

    /// Sets the value of a line in the chart's current sample.
    pub fn value(&mut self, line: LineId, value: f64) {
        // A NaN compares with nothing: as the least or greatest value of a cell it would stay there.
        if value.is_nan() || value.abs() > Self::LARGEST {
            return self.missing(line, || format!("{value:e} cannot be drawn"));
        }
        let (samples, point) = (self.samples, Point { time: self.time, value });
        let cell = self.cell_of(self.time);
        let Some(line) = self.lines.get_mut(line.0) else { return };
        let is_joined = line.last_sample.is_some_and(|last| last.saturating_add(1) >= samples);
        line.last_sample = Some(samples);
        line.digest = digest(line.digest, samples, value * line.unit.factor);
        let (before, new) = (line.stretches.len(), Bucket::new(cell, point, is_joined));
        bucket::add(&mut line.stretches, new);
        match &mut line.total {
            Some(total) => total.add(&new),
            none => *none = Some(new),
        }
        self.kept = self.kept.saturating_add(line.stretches.len().saturating_sub(before));
        // The loop ends: with the widest cells every line has only a few stretches.
        while self.kept > Self::STRETCHES {
            self.coarsen();
        }
    }

    /// Records the reason why a line has no value in the chart's current sample. The reason is shown if the line
    /// never has a value.
    pub fn missing(&mut self, line: LineId, why: impl FnOnce() -> String) {
        if let Some(line) = self.lines.get_mut(line.0) {
            if line.total.is_none() && line.why.is_none() {
                line.why = Some(why());
            }
        }
    }

    /// Returns the number of samples that the chart has received so far.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    fn cell_of(&self, time: i64) -> i64 {
        time.saturating_sub(self.origin).div_euclid(self.cell)
    }

    fn coarsen(&mut self) {
        self.cell = self.cell.saturating_mul(2);
        self.cells = self.cells.map(|(first, last)| (first.div_euclid(2), last.div_euclid(2)));
        self.kept = 0;
        for line in &mut self.lines {
            bucket::coarsen(&mut line.stretches);
            self.kept = self.kept.saturating_add(line.stretches.len());
        }
    }
}

/// Adds a value of a sample to the digest of a line.
fn digest(before: u64, sample: u64, value: f64) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Plus zero turns -0 into 0, which is drawn at the same place.
    (before, sample, (value + 0.0).to_bits()).hash(&mut hasher);
    hasher.finish()
}

/// Statistics of the intervals between consecutive samples of a chart.
#[derive(Debug, Default)]
pub struct Steps {
    /// Count and mean of the intervals between samples, grouped by their number of binary digits: lengths in one
    /// group are similar.
    lengths: HashMap<u32, (i64, f64)>,
}

impl Steps {
    fn add(&mut self, length: i64) {
        // An interval is negative if the clock was set back.
        let digits = i64::BITS.saturating_sub(length.max(0).leading_zeros());
        let (count, mean) = self.lengths.entry(digits).or_default();
        *count = count.saturating_add(1);
        *mean += (real(length.max(0)) - *mean) / real(*count);
    }

    /// Returns the longest interval between samples over which a line is drawn; a longer one becomes a gap. One late
    /// or missing sample makes no gap, two do.
    pub fn longest(&self) -> f64 {
        // The most frequent length, not the mean of all: one long pause would raise the mean so far that
        // shorter gaps disappear.
        let most = self.lengths.iter().max_by_key(|(digits, (count, _))| (*count, **digits));
        most.map_or(f64::INFINITY, |(_, (_, mean))| mean * 2.5)
    }
}
