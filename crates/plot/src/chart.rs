//! What is told of lines, samples and values, and kept in as much memory as a picture needs.

use std::collections::HashMap;

use crate::number::real;
use crate::stretch::{self, Point, Stretch};
use crate::unit::Unit;

/// What a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Label<'a> {
    /// Which of the things that were asked for it belongs to, of which there may be several of one counter.
    pub asked: usize,
    /// The counterset's name.
    pub counterset: &'a str,
    /// The counter's name.
    pub counter: &'a str,
    /// The instance's name; empty if there is none.
    pub instance: &'a str,
    /// The unit, as UCUM writes it.
    pub unit: &'a str,
    /// Whether it sums other lines up, or is what is left of them: then it is not drawn where the greatest are asked
    /// for, nor on top of them.
    pub is_sum: bool,
}

/// A line of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineId(usize);

/// A line and what is kept of its values.
#[derive(Clone, Debug)]
pub struct Line {
    pub asked: usize,
    pub counterset: String,
    pub counter: String,
    pub instance: String,
    pub unit: Unit,
    pub is_sum: bool,
    pub stretches: Vec<Stretch>,
    /// All its values as one.
    pub total: Option<Stretch>,
    /// Why it has no value, as long as it has none.
    pub why: Option<String>,
    /// The number of the last sample in which it had one.
    seen: Option<u64>,
}

/// Lines over time, as far as a picture can show them.
///
/// Time is divided into cells, as many as the picture has columns or more, and of each cell a line keeps four points.
/// When the cells become too many for the picture or for the memory, all become twice as wide. So it need not be known
/// before how long it takes, and memory grows with the picture's width and not with the number of samples.
#[derive(Debug)]
pub struct Chart {
    columns: i64,
    /// The length of a cell, and when cell 0 begins, in µs.
    cell: i64,
    origin: i64,
    /// The first cell and the last, and the first and the last time.
    cells: Option<(i64, i64)>,
    pub(crate) span: Option<(i64, i64)>,
    pub(crate) samples: u64,
    /// When the last sample was.
    time: i64,
    pub(crate) steps: Steps,
    pub(crate) lines: Vec<Line>,
    /// Lines that there was no room for.
    pub(crate) refused: usize,
    /// How many stretches all lines have.
    kept: usize,
}

impl Chart {
    /// So many lines are kept to choose from: there may be more processes than anyone can look at.
    const LINES: usize = 10_000;
    /// So many stretches are kept of all lines together, about 140 MiB.
    const STRETCHES: usize = 1 << 20;
    /// Nothing larger than that is drawn, so that no sum of two is too large for a double.
    const LARGEST: f64 = 1e300;

    /// For a picture with so many columns of pixels.
    #[must_use]
    pub fn new(columns: u32) -> Self {
        Self {
            // At least what the longest time that there is has in the widest cells.
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

    /// Adds a line; nothing if there are too many to choose from.
    pub fn line(&mut self, label: &Label<'_>) -> Option<LineId> {
        if self.lines.len() >= Self::LINES {
            self.refused = self.refused.saturating_add(1);
            return None;
        }
        let id = LineId(self.lines.len());
        self.lines.push(Line {
            asked: label.asked,
            counterset: label.counterset.to_owned(),
            counter: label.counter.to_owned(),
            instance: label.instance.to_owned(),
            unit: Unit::of(label.unit),
            is_sum: label.is_sum,
            stretches: Vec::new(),
            total: None,
            why: None,
            seen: None,
        });
        Some(id)
    }

    /// Begins a sample that was taken so many µs after 1970. A line that gets no value in it has a gap there.
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
            if cells.1.saturating_sub(cells.0) < self.columns.saturating_mul(2) {
                break;
            }
            self.coarsen();
        }
    }

    /// The value that a line has in this sample.
    pub fn value(&mut self, line: LineId, value: f64) {
        if value.is_nan() || value.abs() > Self::LARGEST {
            return self.missing(line, || format!("{value:e} cannot be drawn"));
        }
        let (samples, point) = (self.samples, Point { time: self.time, value });
        let cell = self.cell_of(self.time);
        let Some(line) = self.lines.get_mut(line.0) else { return };
        let is_joined = line.seen.is_some_and(|seen| seen.saturating_add(1) >= samples);
        line.seen = Some(samples);
        let (before, new) = (line.stretches.len(), Stretch::of(cell, point, is_joined));
        stretch::add(&mut line.stretches, new);
        match &mut line.total {
            Some(total) => total.add(&new),
            none => *none = Some(new),
        }
        self.kept = self.kept.saturating_add(line.stretches.len().saturating_sub(before));
        // It ends: in the widest cells no line has more than a few.
        while self.kept > Self::STRETCHES {
            self.coarsen();
        }
    }

    /// Says why a line has no value in this sample; it is shown if there never is one.
    pub fn missing(&mut self, line: LineId, why: impl FnOnce() -> String) {
        if let Some(line) = self.lines.get_mut(line.0) {
            if line.total.is_none() && line.why.is_none() {
                line.why = Some(why());
            }
        }
    }

    /// How many samples there were.
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
            stretch::coarsen(&mut line.stretches);
            self.kept = self.kept.saturating_add(line.stretches.len());
        }
    }
}

/// How long the steps from one sample to the next are.
#[derive(Debug, Default)]
pub struct Steps {
    /// How many are of about a length, and the mean of these: lengths of as many binary digits are about the same.
    lengths: HashMap<u32, (i64, f64)>,
}

impl Steps {
    fn add(&mut self, length: i64) {
        let digits = i64::BITS.saturating_sub(length.max(0).leading_zeros());
        let (count, mean) = self.lengths.entry(digits).or_default();
        *count = count.saturating_add(1);
        *mean += (real(length.max(0)) - *mean) / real(*count);
    }

    /// A step that is longer has no value in it, because there was no sample: one that was late or left out has not yet
    /// been a hole, two have.
    pub fn longest(&self) -> f64 {
        let most = self.lengths.iter().max_by_key(|(digits, (count, _))| (*count, **digits));
        most.map_or(f64::INFINITY, |(_, (_, mean))| mean * 2.5)
    }
}
