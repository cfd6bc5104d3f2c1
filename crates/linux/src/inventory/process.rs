//! Resources of this process for the inventory: CPU time, memory, open files and their limits.

use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::ProcessInventory;
use crate::sources::pid::stat::Stat;

/// Reads the resources of this process. `start_cs` is the start time from an earlier call, which does not change.
pub(super) fn read(start_cs: Option<u64>) -> ProcessInventory {
    let stat = fs::read("/proc/self/stat").ok();
    let stat = stat.as_deref().and_then(|text| Stat::parse(text).ok());
    let limit = |resource| Some(getrlimit(resource).current.unwrap_or(u64::MAX));
    let page = u64::try_from(rustix::param::page_size()).ok();
    ProcessInventory {
        cpu_ns: clock_ns(ClockId::ProcessCPUTime),
        open_files: open_files(),
        open_files_max: limit(Resource::Nofile),
        virtual_bytes: stat.as_ref().map(|stat| stat.vsize),
        virtual_bytes_max: limit(Resource::As),
        resident_bytes: stat.as_ref().zip(page).map(|(stat, page)| stat.rss.saturating_mul(page)),
        start_cs: start_cs.or_else(|| stat.as_ref().and_then(|stat| start(stat.starttime))),
    }
}

/// Returns the number of open files of this process.
fn open_files() -> Option<u64> {
    const FOLDER: &str = "/proc/self/fd";
    // The size is their number from Linux 6.2 on; older kernels report 0.
    let size = fs::metadata(FOLDER).map_or(0, |of_folder| of_folder.len());
    if size > 0 {
        return Some(size);
    }
    // Without the descriptor of the directory itself.
    let count = fs::read_dir(FOLDER).ok()?.count().saturating_sub(1);
    u64::try_from(count).ok()
}

/// Returns the time of a clock in nanoseconds.
pub(super) fn clock_ns(clock: ClockId) -> Option<u64> {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?)
}

/// Returns the start time of a process by the wall clock, in hundredths of a second since 1970. `ticks` is its start
/// in clock ticks since the boot.
fn start(ticks: u64) -> Option<u64> {
    let boot = clock_ns(ClockId::Realtime)?.checked_sub(clock_ns(ClockId::Boottime)?)?;
    let since_boot = ticks.checked_mul(100)?.checked_div(rustix::param::clock_ticks_per_second())?;
    (boot / 10_000_000).checked_add(since_boot)
}
