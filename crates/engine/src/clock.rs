//! Interface to the clocks.

use perfset_core::clock::ClockReading;

/// Reads the clocks of a collection. There is one per process.
pub trait Clock: Send {
    /// Reads all clocks at the current time.
    fn read(&mut self) -> ClockReading;
}
