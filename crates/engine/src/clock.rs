//! The seam to the clocks.

use perfset_core::clock::ClockReading;

/// Reads the clocks of a collection. One a process.
pub trait Clock: Send {
    /// All clocks, now.
    fn read(&mut self) -> ClockReading;
}
