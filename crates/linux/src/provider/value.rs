//! Helpers for values that the kernel does not have, or takes back.

use perfset_core::NoValue;

/// Maximum step back of a kernel's idle time, in seconds. A larger step is a restart: a CPU went offline or came
/// online.
pub(crate) const HOLD_SECONDS: u64 = 60;

/// Returns the reason that a counter has no value, on any Linux or on this machine.
pub(crate) fn unavailable(why: &'static str) -> NoValue {
    NoValue::Unavailable(why.into())
}
