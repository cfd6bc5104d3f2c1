//! Numbers of the model: random ones, counts of the kernel, and what is wanted of a value.

use std::collections::BTreeMap;

use super::totals::Kept;

/// A sequence of numbers that a seed gives again.
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

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What was injected, and what came of it: names and how often.
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

/// A count of the kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// What happened.
    pub(crate) real: u64,
    /// What the kernel says.
    pub(crate) shown: u64,
    /// The most that it said since it began.
    pub(crate) most: u64,
    /// The last sample in which it had fallen, or was below what it said before.
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

    /// It begins anew.
    pub(crate) fn reset(&mut self, sample: u32) {
        (self.shown, self.most, self.disturbed) = (0, 0, sample);
    }

    /// The kernel takes some of it back.
    pub(crate) fn fall(&mut self, by: u64, sample: u32) {
        self.shown = self.shown.saturating_sub(by);
        if self.shown < self.most {
            self.disturbed = sample;
        }
    }

    /// In a unit that so many of make one of it.
    pub(crate) fn times(self, factor: u64) -> Self {
        let Self { real, shown, most, disturbed } = self;
        Self { real: real * factor, shown: shown * factor, most: most * factor, disturbed }
    }

    /// In a unit of which each has so many.
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

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file with that path below the tree.
    File(&'static str),
    /// One of a process's.
    Process(u32, &'static str),
    Thread(u32, u32),
    /// What makes all rows of a group of countersets.
    Link(u64, &'static str),
    Group(u64, &'static str),
}

/// What the model allows for a value.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// No machine has it.
    Never,
    /// The model does not have it: it may be anything that its type allows.
    Unknown,
    /// A number that may be anything, at each time this one.
    Level(u64),
    /// One that others change, so that it may be read late: now, and before.
    Aged(u64, u64),
    /// One that only grows.
    Count(Count),
    /// One that the kernel prints in 32 bits.
    Short(Count),
    /// One of which only what it grows by is known.
    Growth(Count),
    /// What may be missing for reasons of its own.
    MayLack(Box<Wanted>),
    /// The sum of a level over rows.
    Sum(Sum),
    /// The sum of a count over rows.
    Total(Total),
    /// The sum of a count over disks, which is kept.
    Kept(Kept),
}

/// A sum of a level over rows: of each the least and the most that it may be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    /// Of all rows.
    pub(crate) all: (u64, u64),
    /// Of those that can be read for sure.
    pub(crate) readable: (u64, u64),
    /// Whether these are all.
    pub(crate) is_whole: bool,
    /// Whether one is refused, or makes no sense.
    pub(crate) lacks: bool,
    /// Whether one may have just ended, and then adds nothing.
    pub(crate) may_end: bool,
}

/// A sum over rows that come and go.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    /// The rows that can be read for sure: which, and what they count.
    pub(crate) rows: Vec<(u64, Count)>,
    /// Whether these are all, and have been for a while: what was missing comes with a later sum.
    pub(crate) is_whole: bool,
    /// Whether one is refused, or makes no sense.
    pub(crate) lacks: bool,
    /// What really happened, to all that ever were.
    pub(crate) real: u64,
    /// How much it may lag behind what really happened.
    pub(crate) lag: u64,
}

/// What the model knows of a value: what is allowed, and the files that may be at fault.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) wanted: Wanted,
    pub(crate) from: [Option<Source>; 3],
}

impl Known {
    pub(crate) fn new(wanted: Wanted, from: &[Source]) -> Self {
        let at = |at: usize| from.get(at).copied();
        Self { wanted, from: [at(0), at(1), at(2)] }
    }
}
