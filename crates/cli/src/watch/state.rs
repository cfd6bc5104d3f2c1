//! State of watched conditions: counts samples in a row, and returns the begin and the end of each condition. No I/O.

use std::collections::HashMap;
use std::fmt;

use perfset::Birth;

/// Limit with which watched values are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Limit of a watched condition that greater values meet.
    Above(f64),
    /// Limit of a watched condition that smaller values meet.
    Below(f64),
}

impl Limit {
    /// Returns `true` if a value is beyond the limit. The limit itself and NaN are not.
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Above(limit) => value > limit,
            Self::Below(limit) => value < limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above(limit) => write!(f, "above {limit}"),
            Self::Below(limit) => write!(f, "below {limit}"),
        }
    }
}

/// Identity of one watched counter of one instance. Another birth is another instance, so a restarted process begins
/// to count again.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchedInstance {
    /// Index of the counter path that selects the watched instance.
    pub path: usize,
    pub counter: u32,
    /// Name of the watched instance, in UTF-16LE.
    pub name: Box<[u8]>,
    pub id: u32,
    pub birth: Birth,
    /// Index among instances of the same name, id and birth in a sample. Only invalid sources have several.
    pub twin: usize,
}

/// Reading of one watched counter of one instance in one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WatchReading {
    /// Known value of the watched counter in this sample.
    Value(f64),
    /// Sum of the instances that could be read. The sum of all instances is equal or greater.
    PartialSum(f64),
    /// No value of the watched counter yet, because the instance is new and the counter needs two samples.
    New,
    /// No value, because the watched instance lacks a counter that other instances have.
    Lacking,
    /// No usable value of the watched counter in this sample, for any other reason.
    Unknown,
}

/// Change of a watched condition: a begin or an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionChange {
    /// Begin of a watched condition, which was met in the required number of samples in a row.
    Begins,
    /// End of a watched condition, which the value no longer meets.
    Ends,
}

/// Progress of one watched instance towards the begin or the end of the condition.
#[derive(Debug, Default)]
struct Progress {
    /// Number of samples in a row in which the instance met the condition.
    in_row: u32,
    has_begun: bool,
    /// Number of the last sample that contained the watched instance; samples are counted from 1.
    sample: u64,
    /// Number of further instances with the same identity in the last sample that had this instance.
    twins: usize,
}

/// Watched condition with the progress of each instance.
///
/// An unknown value ends a row of samples, but not a condition that has begun: only a known value or the end of the
/// instance does. So a gap never makes a condition begin twice.
#[derive(Debug)]
pub struct Watch {
    limit: Limit,
    /// Number of samples in a row after which the watched condition begins.
    needed: u32,
    progress: HashMap<WatchedInstance, Progress>,
    sample: u64,
    has_unknown: bool,
}

impl Watch {
    pub fn new(limit: Limit, needed: u32) -> Self {
        Self { limit, needed: needed.max(1), progress: HashMap::new(), sample: 0, has_unknown: false }
    }

    /// Begins the next sample of watched values.
    pub fn begin_sample(&mut self) {
        self.sample = self.sample.saturating_add(1);
    }

    /// Returns the number of watched samples so far.
    pub fn samples(&self) -> u64 {
        self.sample
    }

    /// Returns `true` if a watched value of any sample was unknown.
    pub fn has_unknown(&self) -> bool {
        self.has_unknown
    }

    /// Records that a watched counter path has no value at all in this sample.
    pub fn set_unknown(&mut self) {
        self.has_unknown = true;
    }

    /// Returns `true` if a reading cannot decide the condition; `false` for a new instance or a lacking counter.
    pub fn is_unknown(&self, reading: WatchReading) -> bool {
        self.is_met(reading).is_none() && !matches!(reading, WatchReading::New | WatchReading::Lacking)
    }

    /// Records the reading of a watched instance in this sample. Returns the resulting change of the condition, with
    /// the identity of the instance.
    pub fn read(
        &mut self,
        mut instance: WatchedInstance,
        reading: WatchReading,
    ) -> Option<(ConditionChange, WatchedInstance)> {
        let is_met = self.is_met(reading);
        self.has_unknown |= self.is_unknown(reading);
        if let Some(first) = self.progress.get_mut(&instance).filter(|first| first.sample == self.sample) {
            first.twins = first.twins.saturating_add(1);
            instance.twin = first.twins;
        }
        let progress = self.progress.entry(instance.clone()).or_default();
        (progress.sample, progress.twins) = (self.sample, 0);
        progress.in_row = match is_met {
            Some(true) => progress.in_row.saturating_add(1),
            _ => 0,
        };
        let change = match is_met {
            Some(true) if !progress.has_begun && progress.in_row >= self.needed => ConditionChange::Begins,
            Some(false) if progress.has_begun => ConditionChange::Ends,
            _ => return None,
        };
        progress.has_begun = change == ConditionChange::Begins;
        Some((change, instance))
    }

    /// Ends the sample, and drops the watched instances that were not in it. Returns those whose condition had begun,
    /// in a fixed order. Paths for which `is_read` returns `false` could not be read at all and keep their instances.
    pub fn end_sample(&mut self, is_read: impl Fn(usize) -> bool) -> Vec<WatchedInstance> {
        let (sample, mut gone) = (self.sample, Vec::new());
        self.progress.retain(|instance, progress| {
            let is_kept = progress.sample == sample || !is_read(instance.path);
            if !is_kept && progress.has_begun {
                gone.push(instance.clone());
            }
            // Samples without a reading are no samples in a row.
            if progress.sample != sample {
                progress.in_row = 0;
            }
            is_kept
        });
        gone.sort_unstable();
        gone
    }

    /// Returns `true` if a reading meets the condition, `false` if it does not, and `None` if the reading cannot
    /// decide.
    fn is_met(&self, reading: WatchReading) -> Option<bool> {
        match reading {
            WatchReading::Value(value) if value.is_nan() => None,
            WatchReading::Value(value) => Some(self.limit.holds(value)),
            // What is missing can only add to the sum. NaN proves nothing.
            WatchReading::PartialSum(sum) => match self.limit {
                Limit::Above(limit) => (sum > limit).then_some(true),
                Limit::Below(limit) => (sum >= limit).then_some(false),
            },
            WatchReading::New | WatchReading::Lacking | WatchReading::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    use ConditionChange::{Begins, Ends};

    fn instance(name: &str, id: u32, birth: u64) -> WatchedInstance {
        let name = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        WatchedInstance { counter: 7, name, id, birth: NonZeroU64::new(birth), ..WatchedInstance::default() }
    }

    /// Returns the changes of a condition for one instance, one character per sample: `b` begins, `e` ends, `g` ends
    /// with the instance, `.` none.
    ///
    /// Samples: `+` met, `-` not met, `?` unknown, `n` new, `l` lacking, `N` NaN, partial sums `p` above the limit, `=`
    /// at it, `q` below it and `M` NaN, ` ` without the instance, `x` a path that could not be read.
    fn changes(limit: Limit, needed: u32, samples: &str) -> (String, bool) {
        let (met, at) = match limit {
            Limit::Above(limit) => (limit + 1.0, limit),
            Limit::Below(limit) => (limit - 1.0, limit),
        };
        let mut watch = Watch::new(limit, needed);
        let changes = samples.chars().map(|sample| {
            watch.begin_sample();
            let reading = match sample {
                '+' => Some(WatchReading::Value(met)),
                '-' => Some(WatchReading::Value(at)),
                '?' => Some(WatchReading::Unknown),
                'n' => Some(WatchReading::New),
                'l' => Some(WatchReading::Lacking),
                'p' => Some(WatchReading::PartialSum(at + 1.0)),
                '=' => Some(WatchReading::PartialSum(at)),
                'q' => Some(WatchReading::PartialSum(at - 1.0)),
                'M' => Some(WatchReading::PartialSum(f64::NAN)),
                'N' => Some(WatchReading::Value(f64::NAN)),
                _ => None,
            };
            let change = reading.and_then(|reading| watch.read(instance("a", 1, 3), reading));
            let gone = watch.end_sample(|_| sample != 'x');
            match (change, gone.as_slice()) {
                (Some((Begins, _)), []) => 'b',
                (Some((Ends, _)), []) => 'e',
                (None, [_]) => 'g',
                (None, []) => '.',
                both => panic!("{both:?}"),
            }
        });
        (changes.collect(), watch.has_unknown())
    }

    #[test]
    fn rows_of_samples() {
        for (needed, samples, want, is_unknown) in [
            // Beginning and end, once each.
            (1, "-+++--+", ".b..e.b", false),
            (0, "+", "b", false),
            (3, "++-+++++-", ".....b..e", false),
            (3, "++-++-++", "........", false),
            // An unknown value is no sample in a row, and does not end what has begun.
            (3, "++?+++?+-", ".....b..e", true),
            (2, "++??++-", ".b....e", true),
            (1, "?", ".", true),
            (2, "+N++", "...b", true),
            // A new instance is not known yet, which is no fault.
            (1, "n+", ".b", false),
            (2, "n+n++", "....b", false),
            // The same for one that lacks the counter.
            (2, "lll", "...", false),
            (2, "+l++l-", "...b.e", false),
            // An instance that ended counts from the beginning when it is there again.
            (2, "++ ++", ".bg.b", false),
            (2, "+ +", "...", false),
            (1, "   ", "...", false),
            // A path that could not be read says nothing about its instances.
            (2, "++x+-", ".b..e", false),
            (2, "+x++", "...b", false),
        ] {
            for limit in [Limit::Above(90.0), Limit::Above(-1.0), Limit::Below(0.5)] {
                let got = changes(limit, needed, samples);
                assert_eq!(got, (want.to_owned(), is_unknown), "{limit} for {needed}: {samples}");
            }
        }
    }

    /// Checks conditions on partial sums: instances that are missing in a partial sum can only increase the sum.
    #[test]
    fn partial_sums() {
        for (limit, needed, samples, want, is_unknown) in [
            (Limit::Above(90.0), 2, "pp-", ".be", false),
            (Limit::Above(90.0), 2, "ppq-", ".b.e", true),
            (Limit::Above(90.0), 2, "pp=p", ".b..", true),
            (Limit::Above(90.0), 2, "pqp", "...", true),
            (Limit::Above(90.0), 1, "=", ".", true),
            (Limit::Above(90.0), 1, "q", ".", true),
            (Limit::Above(90.0), 1, "M", ".", true),
            (Limit::Below(90.0), 1, "p=p", "...", false),
            (Limit::Below(90.0), 1, "q", ".", true),
            (Limit::Below(90.0), 1, "M", ".", true),
            (Limit::Below(90.0), 2, "++p", ".be", false),
            (Limit::Below(90.0), 2, "++=", ".be", false),
            (Limit::Below(90.0), 2, "++q-", ".b.e", true),
            (Limit::Below(90.0), 2, "+q+", "...", true),
        ] {
            let got = changes(limit, needed, samples);
            assert_eq!(got, (want.to_owned(), is_unknown), "{limit} for {needed}: {samples}");
        }
    }

    #[test]
    fn limits() {
        for (limit, value, want) in [
            (Limit::Above(90.0), 90.0, false),
            (Limit::Above(90.0), 90.1, true),
            (Limit::Above(90.0), f64::INFINITY, true),
            (Limit::Below(90.0), 90.0, false),
            (Limit::Below(90.0), 89.9, true),
            (Limit::Below(0.0), -0.0, false),
            (Limit::Below(0.0), f64::NEG_INFINITY, true),
            (Limit::Above(0.0), f64::NAN, false),
            (Limit::Below(0.0), f64::NAN, false),
        ] {
            assert_eq!(limit.holds(value), want, "{value} {limit}");
        }
    }

    /// Checks that instances whose identities differ in any part are counted separately.
    #[test]
    fn instances_count_by_themselves() {
        let other_path = WatchedInstance { path: 1, ..instance("a", 1, 3) };
        let other_counter = WatchedInstance { counter: 8, ..instance("a", 1, 3) };
        let all = [
            instance("a", 1, 3),
            instance("b", 1, 3),
            instance("a", 2, 3),
            instance("a", 1, 5),
            instance("a", 1, 0),
            other_path,
            other_counter,
        ];
        for (at, one) in all.iter().enumerate() {
            let mut watch = Watch::new(Limit::Above(0.0), 2);
            for sample in 0..2 {
                watch.begin_sample();
                for (number, other) in all.iter().enumerate() {
                    let value = if number == at { 1.0 } else { 0.0 };
                    let change = watch.read(other.clone(), WatchReading::Value(value));
                    let is_hit = number == at && sample == 1;
                    assert_eq!(change, is_hit.then(|| (Begins, one.clone())), "{other:?}");
                }
                assert!(watch.end_sample(|_| true).is_empty());
            }
        }
    }

    /// Checks that a restarted process is counted from zero: it has another birth, and the old process's condition
    /// ends.
    #[test]
    fn a_restarted_instance_counts_again() {
        let mut watch = Watch::new(Limit::Above(0.0), 2);
        let mut sample = |birth| {
            watch.begin_sample();
            let change =
                watch.read(instance("a", 1, birth), WatchReading::Value(1.0)).map(|(change, _)| change);
            (change, watch.end_sample(|_| true))
        };
        assert_eq!(sample(3), (None, vec![]));
        assert_eq!(sample(3), (Some(Begins), vec![]));
        assert_eq!(sample(5), (None, vec![instance("a", 1, 3)]));
        assert_eq!(sample(5), (Some(Begins), vec![]));
    }

    /// Checks that instances with equal identities, which only an invalid source has, are counted separately.
    #[test]
    fn equal_identities_do_not_mix() {
        let mut watch = Watch::new(Limit::Above(0.0), 2);
        let mut sample = |values: &[f64]| {
            watch.begin_sample();
            let read = values.iter().map(|value| {
                watch.read(instance("a", 1, 3), WatchReading::Value(*value)).map(|(change, _)| change)
            });
            let changes: Vec<_> = read.collect();
            (changes, watch.end_sample(|_| true).len())
        };
        assert_eq!(sample(&[1.0, 0.0, 1.0]), (vec![None, None, None], 0));
        assert_eq!(sample(&[1.0, 0.0, 0.0]), (vec![Some(Begins), None, None], 0));
        assert_eq!(sample(&[1.0, 1.0, 1.0]), (vec![None, None, None], 0));
        assert_eq!(sample(&[0.0, 1.0, 1.0]), (vec![Some(Ends), Some(Begins), Some(Begins)], 0));
        assert_eq!(sample(&[1.0]), (vec![None], 2));
    }

    #[test]
    fn many_equal_identities_take_linear_time() {
        let mut watch = Watch::new(Limit::Above(0.0), 1);
        watch.begin_sample();
        for _ in 0..100_000 {
            assert!(watch.read(instance("a", 1, 3), WatchReading::Value(1.0)).is_some());
        }
        watch.begin_sample();
        assert_eq!(watch.end_sample(|_| true).len(), 100_000);
    }
}
