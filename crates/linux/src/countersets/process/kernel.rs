//! Kernel's own sums over all processes, including ended processes.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use perfset_core::{Mark, NoValue};

use super::fields::{ProcessField, Units};
use crate::clock::time_100ns_at;
use crate::may_trace::may_trace;
use crate::provider::{
    Collection, CollectionCache, HOLD_SECONDS, KeptFile, LOOK_AGAIN_NS, MarkedRaw, ParsedFile, ReadFiles,
    SeqFileKind, SharedFile, SharedParsedFile,
};
use crate::roots::Roots;
use crate::sources::proc_stat::ProcStat;
use crate::sources::vmstat::VmStat;

/// Reader of the kernel's own sums over all processes. The sums differ from the sums of rows, because they include
/// processes that lived too briefly to be seen.
#[derive(Debug)]
pub(super) struct Kernel {
    stat: ParsedFile<ProcStat>,
    vmstat: SharedParsedFile<VmStat>,
    start_100ns: fn() -> u64,
    times: CollectionCache<Times>,
    cpus: Cpus,
    /// Highest number of minor page faults so far. Minor faults are the difference of two counts, which the kernel
    /// does not read at the same time.
    most_minor: u64,
    /// `true` if the `/proc` that is read belongs to the machine's first PID namespace.
    is_first: bool,
    is_own: bool,
    proc: PathBuf,
    mounts: KeptFile,
    looked_at_ns: Option<u64>,
    hides: bool,
}

/// Sums of the times of all processors that are online, in units of 100 ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    user: u64,
    /// Time of the processors in the kernel, interrupts and stolen time included.
    privileged: u64,
    /// Idle time of the processors. If the kernel's count stepped back, the highest idle time so far.
    pub(super) rest: MarkedRaw,
    /// Time since which the same processors have been online: the start of the machine, or the first collection
    /// that saw a change.
    pub(super) since_100ns: NonZeroU64,
}

/// Processors that were online at the last reading of `/proc/stat`.
#[derive(Debug, Default)]
struct Cpus {
    /// Numbers of the online CPUs, each with its idle ticks.
    rested: Vec<(u32, u64)>,
    since_100ns: Option<NonZeroU64>,
    most_rest: u64,
}

impl Cpus {
    /// Stores the online processors and their idle ticks, and returns the time since which the same processors have
    /// been online. A processor with far less idle time than before was offline meanwhile and has restarted its
    /// count.
    fn follow(
        &mut self,
        now: impl Iterator<Item = (u32, u64)> + Clone,
        limit: u64,
        times: [u64; 2],
    ) -> NonZeroU64 {
        let [start_100ns, now_100ns] = times;
        let is_same =
            |(old, new): (&(u32, u64), (u32, u64))| old.0 == new.0 && old.1.saturating_sub(new.1) < limit;
        let same =
            now.clone().count() == self.rested.len() && self.rested.iter().zip(now.clone()).all(is_same);
        let at = |time| NonZeroU64::new(time).unwrap_or(NonZeroU64::MIN);
        let since = match self.since_100ns {
            None => at(start_100ns),
            Some(since) if same => since,
            Some(_) => at(now_100ns),
        };
        // The highest idle time so far was that of other processors.
        if self.since_100ns != Some(since) {
            self.most_rest = 0;
        }
        self.since_100ns = Some(since);
        self.rested.clear();
        self.rested.extend(now);
        since
    }
}

impl Kernel {
    /// Creates the reader of the kernel's sums over all processes. `is_own`: `true` if the processes belong to this
    /// PID namespace.
    pub(super) fn new(
        roots: &Roots,
        stat: SharedFile,
        vmstat: SharedParsedFile<VmStat>,
        start_100ns: fn() -> u64,
        is_own: bool,
    ) -> Self {
        /// Name of the first PID namespace, the same on every machine.
        const FIRST: &str = "pid:[4026531836]";
        let whose = if is_own { "self/ns/pid" } else { "1/ns/pid" };
        let is_first = std::fs::read_link(roots.proc.join(whose)).is_ok_and(|name| name == Path::new(FIRST));
        Self {
            stat: ParsedFile::from_file(stat, "there is no /proc/stat", ProcStat::parse),
            vmstat,
            start_100ns,
            times: CollectionCache::default(),
            cpus: Cpus::default(),
            most_minor: 0,
            is_first,
            is_own,
            proc: roots.proc.clone(),
            mounts: KeptFile::new(roots.proc.join("self/mountinfo"), SeqFileKind::Records),
            looked_at_ns: None,
            hides: false,
        }
    }

    /// Returns `true` if the listed processes are all processes of the machine. Otherwise the kernel's sums include
    /// other processes.
    pub(super) fn has_all(&mut self, pass: &mut Collection) -> bool {
        if self.is_first && pass.is_due(&mut self.looked_at_ns, LOOK_AGAIN_NS) {
            let Self { mounts, proc, .. } = self;
            // A mount option is read every 10 s, because a check at each collection would cost more than the
            // sums.
            let options = pass.read(mounts, "", |text| Ok(hides(text, proc)));
            // Process 1 is root's: a reader that may trace it may trace all, and `hidepid` hides nothing from
            // such a reader.
            self.hides = options.unwrap_or(false) && !(self.is_own && may_trace(1));
        }
        self.is_first && !self.hides
    }

    /// Returns the summed times of all online processors.
    pub(super) fn times(&mut self, units: Units, pass: &mut Collection) -> Result<Times, NoValue> {
        let Self { stat, times, cpus, start_100ns, .. } = self;
        let read = |pass: &mut Collection| {
            let lines = &stat.get(pass)?.cpus;
            // A sum without one of its processors would look like a step back at the next collection.
            if let Some(text) = lines.iter().find_map(|line| line.ticks.as_ref().err()) {
                let text = text.clone();
                return Err(stat.fault(text));
            }
            let limit = HOLD_SECONDS.saturating_mul(units.clock_ticks);
            let all = || lines.iter().filter_map(|line| Some((line.cpu, line.ticks.as_ref().ok()?)));
            let at = [start_100ns(), time_100ns_at(pass.elapsed_ns())];
            let since_100ns = cpus.follow(all().map(|(cpu, ticks)| (cpu, ticks.resting())), limit, at);
            let (mut user, mut privileged, mut rest) = (0_u64, 0_u64, 0_u64);
            for (_, ticks) in all() {
                // `user` and `nice` already include guests.
                user = user.saturating_add(ticks.user).saturating_add(ticks.nice);
                privileged =
                    privileged.saturating_add(ticks.privileged()).saturating_add(ticks.steal.unwrap_or(0));
                rest = rest.saturating_add(ticks.resting());
            }
            let rest = MarkedRaw::held(&mut cpus.most_rest, rest, limit);
            Ok(Times {
                user: units.ticks_to_100ns(user),
                privileged: units.ticks_to_100ns(privileged),
                rest: MarkedRaw::new(units.ticks_to_100ns(rest.raw), rest.mark),
                since_100ns,
            })
        };
        times.get(pass, read).copied()
    }

    /// Returns `true` if the kernel has a sum of this field over all processes of the machine.
    pub(super) fn has(field: ProcessField) -> bool {
        Self::is_time(field)
            || matches!(
                field,
                ProcessField::PageFaults | ProcessField::MinorFaults | ProcessField::MajorFaults
            )
    }

    /// Returns `true` if the field of processes is a processor time, to which idle processors contribute.
    pub(super) fn is_time(field: ProcessField) -> bool {
        matches!(field, ProcessField::ProcessorTime | ProcessField::UserTime | ProcessField::PrivilegedTime)
    }

    /// Returns the kernel's sum of a field for `_Total`, idle processors included, and the time since which the
    /// kernel has counted.
    pub(super) fn total(
        &mut self,
        field: ProcessField,
        units: Units,
        pass: &mut Collection,
    ) -> Result<(MarkedRaw, NonZeroU64), NoValue> {
        let times = self.times(units, pass)?;
        let of = |raw, mark: Option<Mark>| Ok((MarkedRaw::new(raw, mark), times.since_100ns));
        // Idle time counts as privileged, as in Windows' `Idle` process, so that the parts of `_Total` add
        // up.
        let resting = times.rest.raw.saturating_add(times.privileged);
        match field {
            ProcessField::ProcessorTime => of(resting.saturating_add(times.user), times.rest.mark),
            ProcessField::UserTime => of(times.user, None),
            ProcessField::PrivilegedTime => of(resting, times.rest.mark),
            _ => {
                let mut vmstat = self.vmstat.lock();
                let all = vmstat.number(|vmstat| &vmstat.pgfault, pass)?;
                let major = vmstat.number(|vmstat| &vmstat.pgmajfault, pass)?;
                match field {
                    ProcessField::PageFaults => of(all, None),
                    ProcessField::MajorFaults => of(major, None),
                    _ => {
                        /// Maximum number of page faults by which the kernel's count of all faults or of major faults
                        /// can be ahead of the other count.
                        const AHEAD: u64 = 1 << 20;
                        let minor = MarkedRaw::held(&mut self.most_minor, all.saturating_sub(major), AHEAD);
                        of(minor.raw, minor.mark)
                    }
                }
            }
        }
    }

    /// Returns the idle time of all processors for a time field of the instance `Idle`, and the time since which it
    /// is counted.
    pub(super) fn of_idle(
        &mut self,
        field: ProcessField,
        units: Units,
        pass: &mut Collection,
    ) -> Result<(MarkedRaw, NonZeroU64), NoValue> {
        let times = self.times(units, pass)?;
        // Idle time is time of the kernel, not of a program.
        let value = if field == ProcessField::UserTime { MarkedRaw::from(0) } else { times.rest };
        Ok((value, times.since_100ns))
    }
}

/// Returns `true` if the last file system mounted at the path `at` hides the processes of other users.
///
/// Source: `proc_pid_mountinfo(5)`; `proc(5)`, `hidepid`.
fn hides(mountinfo: &[u8], at: &Path) -> bool {
    let mut hides = false;
    for line in String::from_utf8_lossy(mountinfo).lines() {
        let Some((mount, file_system)) = line.split_once(" - ") else { continue };
        if mount.split(' ').nth(4).is_some_and(|point| Path::new(point) == at) {
            // The last mount at this path covers the earlier ones. Since Linux 5.8 the value may be a word.
            let options = file_system.split([' ', ',']);
            hides = options
                .filter_map(|option| option.strip_prefix("hidepid="))
                .any(|how| !matches!(how, "0" | "off"));
        }
    }
    hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidepid_is_detected() {
        let line = |options: &str| format!("22 27 0:21 / /proc rw,relatime - proc proc rw{options}\n");
        for (options, want) in [
            ("", false),
            (",hidepid=0", false),
            (",hidepid=off", false),
            (",gid=7,hidepid=1", true),
            (",hidepid=invisible", true),
        ] {
            assert_eq!(hides(line(options).as_bytes(), Path::new("/proc")), want, "{options}");
            assert!(!hides(line(options).as_bytes(), Path::new("/host/proc")));
        }
        let both = line(",hidepid=2") + &line("");
        assert!(!hides(both.as_bytes(), Path::new("/proc")), "the last one is seen");
    }
}
