//! Criterion for the samples of a log that are played.

use std::num::NonZeroU64;

/// Criterion by which samples of a log are selected for playing, within a window (range of times).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// All samples in the played window.
    #[default]
    All,
    /// The first sample of the window, then every n-th sample.
    Nth(NonZeroU64),
    /// The first sample of the window, then one sample per interval of this length, in 100 ns.
    Every(i64),
}
