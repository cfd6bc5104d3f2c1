//! Series of values: one counter of one instance, identified by names and never by its position.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use perfset_core::{CounterId, Guid};
use perfset_engine::path::PathValue;

/// Identity of one counter of one instance in an output. Samples have the same series under the same names.
///
/// Names that differ in their case are two names, because they are two instances on Linux: a column never has values
/// of an instance that is spelled otherwise. The second instance of a name in a sample is another series.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    /// Index of the path or machine that requested the series.
    source: usize,
    counterset: Guid,
    counter: CounterId,
    /// Name of the series' instance, in UTF-16LE.
    instance: Box<[u8]>,
    occurrence: usize,
}

impl SeriesKey {
    /// Returns the series of a value that a path or a machine requested.
    pub fn new(source: usize, v: &PathValue<'_>) -> Self {
        Self {
            source,
            counterset: v.value.counterset.guid,
            counter: v.value.counter.id,
            instance: v.value.instance.as_bytes().into(),
            occurrence: v.occurrence,
        }
    }

    /// Returns the index of the series' requested path, and the id of its counter.
    pub fn counter_of_path(&self) -> (usize, CounterId) {
        (self.source, self.counter)
    }

    /// Returns `true` if a value belongs to this series. Allocates nothing.
    pub fn is_of(&self, source: usize, v: &PathValue<'_>) -> bool {
        let instance = v.value.instance.as_bytes();
        (self.source, self.counter, self.occurrence) == (source, v.value.counter.id, v.occurrence)
            && self.counterset == v.value.counterset.guid
            && *self.instance == *instance
    }
}

/// Map from series to numbers, assigned in order of appearance.
///
/// Most samples have the same values in the same order. So a value is first compared with the series at its position
/// in the previous sample. It is looked up only if it belongs to another series.
#[derive(Debug, Default)]
pub struct SeriesMap {
    numbers: HashMap<Rc<SeriesKey>, usize>,
    /// Series of the last value at each position of a sample, with its number if it has one.
    expected: Vec<(Rc<SeriesKey>, Option<usize>)>,
}

impl SeriesMap {
    /// Returns the number of a value's series, if it has one. `source` is the index of the path or machine that
    /// requested the value. Positions count through a sample.
    pub fn find(&mut self, position: usize, source: usize, v: &PathValue<'_>) -> Option<usize> {
        match self.expected.get(position) {
            Some((series, number)) if series.is_of(source, v) => return *number,
            _ => {}
        }
        let series = SeriesKey::new(source, v);
        let (series, number) = match self.numbers.get_key_value(&series) {
            Some((series, number)) => (Rc::clone(series), Some(*number)),
            None => (Rc::new(series), None),
        };
        self.expect(position, series, number);
        number
    }

    /// Returns the number of a value's series, and assigns the next number to a new series; see [`find`](Self::find).
    pub fn number(&mut self, position: usize, source: usize, v: &PathValue<'_>) -> usize {
        if let Some(number) = self.find(position, source, v) {
            return number;
        }
        let (series, number) = (Rc::new(SeriesKey::new(source, v)), self.numbers.len());
        self.numbers.insert(Rc::clone(&series), number);
        self.expect(position, series, Some(number));
        number
    }

    fn expect(&mut self, position: usize, series: Rc<SeriesKey>, number: Option<usize>) {
        // A gap of omitted values is not filled: the values behind it are looked up.
        if position == self.expected.len() {
            self.expected.push((series, number));
        } else if let Some(expected) = self.expected.get_mut(position) {
            *expected = (series, number);
        }
    }
}

/// Paths of columns that are made distinct, so that a reader of the file finds each column by its name.
///
/// Two instances can have the same path, because a path cannot contain every character of a name: `a#1` and `a_1` are
/// both `a_1` in PDH-CSV. The later one gets the next free number, as a second instance of the name would.
#[derive(Debug, Default)]
pub struct DistinctPaths<'p> {
    /// Paths of columns so far, each with its source (index of path or machine) and the next number for another
    /// column of that path. Different ones can request the same path.
    paths: HashMap<(usize, Cow<'p, str>), u64>,
}

impl<'p> DistinctPaths<'p> {
    /// Returns the distinct path of a column, with another number if `source` already has a column of that path.
    pub fn distinct(&mut self, source: usize, path: &'p str) -> Cow<'p, str> {
        let path = Cow::Borrowed(path);
        let first = match self.paths.get(&(source, path.clone())) {
            Some(first) => *first,
            None => {
                self.paths.insert((source, path.clone()), 1);
                return path;
            }
        };
        // Only a path with an instance can be numbered, because `#` belongs to the name of the instance.
        let Some((before, behind)) = path.rfind(")\\").map(|end| path.split_at(end)) else { return path };
        for number in first.. {
            let key = (source, Cow::Owned(format!("{before}#{number}{behind}")));
            if !self.paths.contains_key(&key) {
                self.paths.insert(key.clone(), 1);
                // Thousands of columns can have one path: each continues where the last one ended.
                self.paths.insert((source, path), number.saturating_add(1));
                return key.1;
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_distinct() {
        let mut paths = DistinctPaths::default();
        let mut distinct = |source, path| paths.distinct(source, path);
        assert_eq!(distinct(0, r"\\h\Process(a_1)\ID Process"), r"\\h\Process(a_1)\ID Process");
        assert_eq!(distinct(0, r"\\h\Process(a_1)\ID Process"), r"\\h\Process(a_1#1)\ID Process");
        assert_eq!(distinct(0, r"\\h\Process(a_1#1)\ID Process"), r"\\h\Process(a_1#1#1)\ID Process");
        assert_eq!(distinct(0, r"\\h\Process(a_1)\ID Process"), r"\\h\Process(a_1#2)\ID Process");
        assert_eq!(distinct(1, r"\\h\Process(a_1)\ID Process"), r"\\h\Process(a_1)\ID Process");
        assert_eq!(distinct(0, r"\\h\System\Threads"), r"\\h\System\Threads");
        assert_eq!(distinct(0, r"\\h\System\Threads"), r"\\h\System\Threads");
    }

    /// Checks that many equal paths are numbered quickly: a search from the first number on took minutes.
    #[test]
    fn many_equal_paths_take_linear_time() {
        let mut paths = DistinctPaths::default();
        let last = (0..100_000).map(|_| paths.distinct(0, r"\\h\Process(a_1)\ID Process")).last();
        assert_eq!(last.unwrap(), r"\\h\Process(a_1#99999)\ID Process");
    }
}
