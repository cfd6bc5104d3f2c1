//! Helpers for values that the kernel lacks, or lowers again.

use perfset_core::{InstanceId, NoValue};
use perfset_engine::provider::TOTAL_ID;

/// Maximum decrease of a CPU's idle time, in seconds, that counts as an error of the kernel. A larger decrease is a
/// restart: a CPU went offline or came online.
pub(crate) const HOLD_SECONDS: u64 = 60;

/// Returns the reason for a counter without a value, on any Linux or on this machine.
pub(crate) fn unavailable(why: &'static str) -> NoValue {
    NoValue::Unavailable(why.into())
}

/// Returns the id of an instance that only its name identifies: the FNV-1a hash of the name.
pub(crate) fn id_of_name(name: &[u8]) -> InstanceId {
    const BASIS: u32 = 0x811C_9DC5;
    const PRIME: u32 = 0x0100_0193;
    let hash = name.iter().fold(BASIS, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME));
    // The ids from `TOTAL_ID` on are reserved.
    InstanceId(hash.min(TOTAL_ID.0.saturating_sub(1)))
}
