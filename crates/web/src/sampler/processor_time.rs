//! Processor time of the server's collecting thread.

use std::time::Duration;

/// Returns the processor time of the current thread. The load by other programs must not turn clients away.
#[cfg(unix)]
pub fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns the elapsed time, on systems other than Unix: there a busy machine turns clients away earlier.
#[cfg(not(unix))]
pub fn processor_time() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}
