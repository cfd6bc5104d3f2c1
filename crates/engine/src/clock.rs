//! Interface to the clocks of collections.

use perfset_core::clock::ClockReading;

/// Reads the clocks of a collection. There is one per process.
pub trait Clock: Send {
    /// Reads all clocks of a collection at the current time.
    fn read(&mut self) -> ClockReading;
}
