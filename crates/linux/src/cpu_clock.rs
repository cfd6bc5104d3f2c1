//! CPU clock of a process: the time that all its threads have run, including ended ones.

use std::ops::RangeInclusive;

use rustix::io::Errno;

/// Returns the CPU clock of a process of this PID namespace, in ns. The clock stands still while the process does not
/// run.
///
/// Source: `clock_getcpuclockid(3)`. Reading it needs no permission.
///
/// # Errors
/// `EINVAL` if there is no such process.
pub(crate) fn cpu_clock_ns(pid: u32) -> Result<u64, Errno> {
    #[cfg(test)]
    if let Some(shown) = crate::faults::kernel::cpu_clock_ns(pid) {
        return shown;
    }
    /// Low bits of a clock's id that mean the CPU clock of a whole process, as the scheduler counts it.
    const CPUCLOCK_SCHED: i32 = 2;
    /// Valid process ids for CPU clocks: the kernel has no higher pids, and 0 would mean this process.
    const PIDS: RangeInclusive<u32> = 1..=1 << 22;
    let pid = i32::try_from(pid).ok().filter(|_| PIDS.contains(&pid)).ok_or(Errno::INVAL)?;
    // As in the kernel's `make_process_cpuclock`. The inverted pid makes the id negative; ordinary clocks
    // have positive ids.
    let clock: libc::clockid_t = (!pid).wrapping_shl(3) | CPUCLOCK_SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for a timespec, and the call keeps no pointer to it. An id that stands for no
    // clock is an error.
    #[expect(unsafe_code, reason = "no crate of ours in use has this clock")]
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) } != 0;
    if failed {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    let (seconds, ns) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    Ok(seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn it_goes_on_while_the_process_runs() {
        let own = std::process::id();
        let before = cpu_clock_ns(own).unwrap();
        while cpu_clock_ns(own).unwrap() < before + 1_000_000 {}
    }

    #[test]
    fn it_stands_still_while_the_process_waits() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut shown = [1, 2, 3];
        while shown.windows(2).any(|pair| pair[0] != pair[1]) {
            for time in &mut shown {
                std::thread::sleep(std::time::Duration::from_millis(10));
                *time = cpu_clock_ns(child.id()).unwrap(); // until the child only waits
            }
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(cpu_clock_ns(child.id()), Err(Errno::INVAL));
    }

    #[test]
    fn numbers_of_no_process() {
        for pid in [0, (1 << 22) + 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX] {
            assert_eq!(cpu_clock_ns(pid), Err(Errno::INVAL), "{pid}");
        }
    }
}
