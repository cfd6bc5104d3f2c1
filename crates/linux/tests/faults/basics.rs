//! Numbers of the test's model of a machine: random numbers, counts of the kernel, and the values that are allowed.

use std::collections::BTreeMap;

use super::totals::Kept;

/// Sequence of random numbers that a seed reproduces.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn place(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns `true` at random, on average in one of `times` calls.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Number of times that the test injected each fault and saw each outcome, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(pub(crate) BTreeMap<&'static str, u64>);

impl Tally {
    pub(crate) fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (what, count) in other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }
}

/// Count of the kernel in the test's model of a machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// Amount by which the counted thing really grew in the model.
    pub(crate) real: u64,
    /// Number that the model's kernel shows for the count.
    pub(crate) shown: u64,
    /// Largest number that the model's kernel has shown since the count began.
    pub(crate) most: u64,
    /// Last sample in which the model's count fell, or was below an earlier number.
    pub(crate) disturbed: u32,
}

impl Count {
    pub(crate) fn from(n: u64) -> Self {
        Self { real: n, shown: n, most: n, disturbed: 0 }
    }

    pub(crate) fn add(&mut self, n: u64, sample: u32) {
        self.real += n;
        self.shown += n;
        if self.shown < self.most {
            self.disturbed = sample;
        }
        self.most = self.most.max(self.shown);
    }

    /// Resets the model's count to 0.
    pub(crate) fn reset(&mut self, sample: u32) {
        (self.shown, self.most, self.disturbed) = (0, 0, sample);
    }

    /// Lowers the number that the model's kernel shows, not the real amount.
    pub(crate) fn fall(&mut self, by: u64, sample: u32) {
        self.shown = self.shown.saturating_sub(by);
        if self.shown < self.most {
            self.disturbed = sample;
        }
    }

    /// Converts the count to a smaller unit, of which `factor` make one.
    pub(crate) fn times(self, factor: u64) -> Self {
        let Self { real, shown, most, disturbed } = self;
        Self { real: real * factor, shown: shown * factor, most: most * factor, disturbed }
    }

    /// Converts the count to a larger unit, which has `divisor` of the present unit.
    pub(crate) fn over(self, divisor: u64) -> Self {
        let Self { real, shown, most, disturbed } = self;
        Self { real: real / divisor, shown: shown / divisor, most: most / divisor, disturbed }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            real: self.real + other.real,
            shown: self.shown + other.shown,
            most: self.most + other.most,
            disturbed: self.disturbed.max(other.disturbed),
        }
    }
}

/// Kernel file from which a value of the model comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// File with this path below the directory of the model.
    File(&'static str),
    /// File of a process, by pid and the file's name.
    Process(u32, &'static str),
    Thread(u32, u32),
    /// File of a network interface: serial number and path. The file decides if there are rows.
    Link(u64, &'static str),
    Group(u64, &'static str),
}

/// Rule of the model for the values that a counter may have.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// Rule that the counter's value is always missing.
    Never,
    /// Value that the model does not have: it may be any number that its type allows.
    Unknown,
    /// Level with exactly this number, which may change from sample to sample.
    Level(u64),
    /// Level that other processes change, so that a reader may have an old one: the current and the previous number.
    Aged(u64, u64),
    /// Count that only grows.
    Count(Count),
    /// Count that the kernel prints in 32 bits.
    Short(Count),
    /// Count that may begin at any number, because only its increase is known.
    Growth(Count),
    /// Value that may be missing although no file has a fault.
    MayLack(Box<Expected>),
    /// Sum of a level over rows of a counterset.
    Sum(ModelSum),
    /// Sum of a count over rows of a counterset.
    Total(Total),
    /// Sum of a count over disks, which a reader keeps from sample to sample.
    Kept(Kept),
}

/// Sum of a level over rows of the model, as the least and the greatest possible number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelSum {
    /// Sum of the level over all rows.
    pub(crate) all: (u64, u64),
    /// Sum of the level over the rows that can certainly be read.
    pub(crate) readable: (u64, u64),
    /// `true` if all rows of the sum can certainly be read.
    pub(crate) is_whole: bool,
    /// `true` if a file of a row in the sum is denied or invalid.
    pub(crate) lacks: bool,
    /// `true` if a row of the sum might have just ended, which then adds nothing.
    pub(crate) may_end: bool,
}

/// Sum of a count over rows of the model that come and go.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    /// Rows of the total that can certainly be read: serial number and count.
    pub(crate) rows: Vec<(u64, Count)>,
    /// `true` if all rows of the total have been readable for some samples, so that the total contains everything
    /// that was missing earlier.
    pub(crate) is_whole: bool,
    /// `true` if a file of a row in the total is denied or invalid.
    pub(crate) lacks: bool,
    /// Amount by which the count really grew, in all rows that ever existed.
    pub(crate) real: u64,
    /// Maximum amount by which the total may lag behind `real`.
    pub(crate) lag: u64,
}

/// Rule of the model for a value, and the files that the value comes from.
#[derive(Clone, Debug)]
pub(crate) struct KnownValue {
    pub(crate) wanted: Expected,
    pub(crate) from: [Option<Source>; 3],
}

impl KnownValue {
    pub(crate) fn new(wanted: Expected, from: &[Source]) -> Self {
        let at = |at: usize| from.get(at).copied();
        Self { wanted, from: [at(0), at(1), at(2)] }
    }
}
