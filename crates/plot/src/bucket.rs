//! Stored values of one line of a chart: four points per time cell, enough to draw the line.

use crate::number::real;

/// Value of a line and its time, in µs since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub time: i64,
    pub value: f64,
}

/// Summary of the values of a line in one time cell. In a column of pixels at least as wide as the cell,
/// a line through the four points covers the same pixels as one through all values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Index of the bucket's time cell.
    pub cell: i64,
    pub first: Point,
    pub least: Point,
    pub greatest: Point,
    pub last: Point,
    pub mean: f64,
    pub count: i64,
    /// `true` if the sample before the bucket's `first` point also had a value, so that a line connects both.
    pub is_joined: bool,
}

impl Bucket {
    pub fn new(cell: i64, point: Point, is_joined: bool) -> Self {
        let (first, least, greatest, last) = (point, point, point, point);
        Self { cell, first, least, greatest, last, mean: point.value, count: 1, is_joined }
    }

    /// Merges the bucket of later values of the same line into this one.
    pub fn add(&mut self, later: &Self) {
        if later.least.value < self.least.value {
            self.least = later.least;
        }
        if later.greatest.value > self.greatest.value {
            self.greatest = later.greatest;
        }
        self.last = later.last;
        self.count = self.count.saturating_add(later.count);
        // The mean is updated without a sum, which might be too large for a double.
        self.mean += (later.mean - self.mean) * (real(later.count) / real(self.count));
    }

    /// Returns the stored points of the bucket in order of time, each point once.
    pub fn points(&self) -> Vec<Point> {
        let mut points = vec![self.first, self.least, self.greatest, self.last];
        points.sort_by_key(|point| point.time);
        points.dedup();
        points
    }
}

/// Adds a bucket of values to the buckets of a line, in the order of time cells. The added bucket is not the last one
/// only if the clock was set back.
pub fn add(stretches: &mut Vec<Bucket>, new: Bucket) {
    match stretches.last_mut() {
        Some(last) if last.cell == new.cell => last.add(&new),
        Some(last) if last.cell > new.cell => {
            let at = stretches.partition_point(|stretch| stretch.cell < new.cell);
            match stretches.get_mut(at) {
                Some(there) if there.cell == new.cell => there.add(&new),
                _ => stretches.insert(at, new),
            }
        }
        _ => stretches.push(new),
    }
}

/// Makes the time cells of a line's buckets twice as wide, and merges buckets of one cell.
pub fn coarsen(stretches: &mut Vec<Bucket>) {
    // Rounds down for negative cells too. Those exist if the clock was set back before the first sample's
    // time.
    stretches.iter_mut().for_each(|stretch| stretch.cell = stretch.cell.div_euclid(2));
    stretches.dedup_by(|later, kept| {
        let is_same = later.cell == kept.cell;
        if is_same {
            kept.add(later);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(cell: i64, time: i64, value: f64) -> Bucket {
        Bucket::new(cell, Point { time, value }, true)
    }

    #[test]
    fn cells_become_one() {
        let mut kept = Vec::new();
        for (time, value) in [(0, 5.0), (1, 9.0), (2, 1.0), (3, 5.0), (5, 7.0)] {
            add(&mut kept, stretch(time, time, value));
        }
        coarsen(&mut kept);
        coarsen(&mut kept);
        let [first, second] = kept.as_slice() else { panic!("{kept:?}") };
        let times: Vec<_> = first.points().iter().map(|point| point.time).collect();
        assert_eq!((times, first.mean, first.count), (vec![0, 1, 2, 3], 5.0, 4));
        assert_eq!((second.cell, second.points().len(), second.mean), (1, 1, 7.0));
    }

    /// Checks that values with earlier times, as after the clock was set back, are sorted into their cells.
    #[test]
    fn earlier_times_have_their_place() {
        let mut kept = Vec::new();
        for (cell, value) in [(4, 1.0), (6, 2.0), (5, 3.0), (4, 4.0), (-1, 5.0)] {
            add(&mut kept, stretch(cell, cell, value));
        }
        let cells: Vec<_> = kept.iter().map(|stretch| (stretch.cell, stretch.count)).collect();
        assert_eq!(cells, [(-1, 1), (4, 2), (5, 1), (6, 1)]);
    }
}
