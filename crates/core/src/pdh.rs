//! What PDH says: statuses, raw counters, formats, and values made of raw counters that a caller holds.
//!
//! Pure, as the formulas are: who has raw counters, from a query or a log, has all that a value takes.

mod calculation;
mod format;
mod raw_counter;
mod status;
#[cfg(test)]
mod tests;

pub use calculation::{Calculation, CounterValue};
pub use format::{Format, FormatKind, Number, Scale};
pub use raw_counter::{RawCounter, time_base};
pub use status::PdhStatus;
