//! Interface to the clocks of collections.

use perfset_core::clock::ClockReading;

/// Reader of the clocks of a collection; a process has one such reader.
pub trait Clock: Send {
    /// Reads all clocks of a collection at the current time.
    fn read(&mut self) -> ClockReading;
}
