//! PDH statuses, raw counters, formats, and values computed from raw counters of the caller.
//!
//! Pure, like the formulas: raw counters from a query or a log contain everything that a value needs.

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
