//! Counters of one process of the test's model: the rule for each value.

use perfset_catalogue::{linux_process, process_v2, thread};
use perfset_core::CounterId;

use super::{Count, Expected, KnownValue, Process, Source, TICK, Thread};

impl Process {
    /// Returns the count of a process's counter, and the file that contains it in addition to `stat`.
    pub(super) fn count(
        &self,
        set_is_linux: bool,
        counter: CounterId,
        is_gated: bool,
    ) -> Option<(Count, &'static str)> {
        use {linux_process as linux, process_v2 as id};
        let time = || {
            let clock =
                Count { real: self.clock_ns, shown: self.clock_ns, most: self.clock_ns, disturbed: 0 };
            if is_gated { clock.over(100) } else { self.user.in_100ns().and(self.system.in_100ns()) }
        };
        Some(match (set_is_linux, counter) {
            (false, id::PERCENT_PROCESSOR_TIME) => (time(), "stat"),
            (false, id::PERCENT_USER_TIME) => (self.user.in_100ns(), "stat"),
            (false, id::PERCENT_PRIVILEGED_TIME) => (self.system.in_100ns(), "stat"),
            (false, id::PAGE_FAULTS_PER_SEC) => (self.minor.and(self.major), "stat"),
            (true, linux::MINOR_FAULTS_PER_SEC) => (self.minor, "stat"),
            (true, linux::MAJOR_FAULTS_PER_SEC) => (self.major, "stat"),
            (true, linux::PERCENT_RUN_QUEUE_WAIT_TIME) => (self.wait_ns.over(100), "schedstat"),
            (true, linux::TIMESLICES_PER_SEC) => (self.timeslices, "schedstat"),
            (true, linux::VOLUNTARY_CONTEXT_SWITCHES_PER_SEC) => (self.voluntary, "status"),
            (true, linux::INVOLUNTARY_CONTEXT_SWITCHES_PER_SEC) => (self.involuntary, "status"),
            _ => return Some((count_of_io(&self.io, set_is_linux, counter)?, "io")),
        })
    }

    /// Returns the count of a process that `_Total` adds: without the counts of ended children, which `_Total`
    /// contains already.
    pub(super) fn own_count(
        &self,
        set_is_linux: bool,
        counter: CounterId,
        is_gated: bool,
    ) -> Option<(Count, &'static str)> {
        match count_of_io(&self.own_io, set_is_linux, counter) {
            Some(count) => Some((count, "io")),
            None => self.count(set_is_linux, counter, is_gated),
        }
    }

    /// Returns the level of a process for a counter that `_Total` can add up, and the file that contains the level.
    pub(super) fn level(&self, set_is_linux: bool, counter: CounterId) -> Option<(u64, &'static str)> {
        use {linux_process as linux, process_v2 as id};
        Some(match (set_is_linux, counter) {
            (false, id::VIRTUAL_BYTES) => (self.virtual_bytes, "stat"),
            (false, id::WORKING_SET) => (self.resident * 4_096, "statm"),
            (false, id::WORKING_SET_PRIVATE) => ((self.resident - 1) * 4_096, "statm"),
            (false, id::VIRTUAL_BYTES_PEAK) => (90 * 1_024, "status"),
            (false, id::WORKING_SET_PEAK) => (80 * 1_024, "status"),
            (false, id::PAGE_FILE_BYTES | id::PRIVATE_BYTES) => (130 * 1_024, "status"),
            (false, id::THREAD_COUNT) => (self.threads.len() as u64, "stat"),
            (false, id::HANDLE_COUNT) => (self.handles, "fd"),
            (true, linux::SWAP_BYTES) => (60 * 1_024, "status"),
            (true, linux::PROPORTIONAL_SET_BYTES) => (50 * 1_024, "smaps_rollup"),
            _ => return None,
        })
    }

    pub(super) fn is_of_memory(set_is_linux: bool, counter: CounterId) -> bool {
        use {linux_process as linux, process_v2 as id};
        match set_is_linux {
            true => matches!(counter, linux::SWAP_BYTES | linux::PROPORTIONAL_SET_BYTES),
            false => matches!(
                counter,
                id::VIRTUAL_BYTES
                    | id::VIRTUAL_BYTES_PEAK
                    | id::WORKING_SET
                    | id::WORKING_SET_PEAK
                    | id::WORKING_SET_PRIVATE
                    | id::PAGE_FILE_BYTES
                    | id::PRIVATE_BYTES
            ),
        }
    }

    /// Returns the model's rule for a counter of Process V2 or Linux Process.
    pub(super) fn known(
        &self,
        is_linux: bool,
        counter: CounterId,
        is_gated: bool,
        start_100ns: u64,
    ) -> KnownValue {
        use {linux_process as linux, process_v2 as id};
        let from = |file: &'static str| [Source::Process(self.pid, "stat"), Source::Process(self.pid, file)];
        if self.is_zombie && Self::is_of_memory(is_linux, counter) {
            return KnownValue::new(Expected::Never, &[]);
        }
        if let Some((count, file)) = self.count(is_linux, counter, is_gated) {
            return KnownValue::new(Expected::Count(count), &from(file));
        }
        if let (false, id::WORKING_SET | id::WORKING_SET_PRIVATE) = (is_linux, counter) {
            let bytes = |pages: u64| (pages - u64::from(counter == id::WORKING_SET_PRIVATE)) * 4_096;
            let aged = Expected::Aged(bytes(self.resident), bytes(self.resident_before));
            return KnownValue::new(aged, &from("statm"));
        }
        if let Some((level, file)) = self.level(is_linux, counter) {
            return KnownValue::new(Expected::Level(level), &from(file));
        }
        let priority = |nice| if nice > 0 { 6 } else { 8 };
        let (wanted, file) = match (is_linux, counter) {
            (false, id::PRIORITY_BASE) => {
                (Expected::Aged(priority(self.nice), priority(self.nice_before)), "stat")
            }
            (false, id::ELAPSED_TIME) => (Expected::Level(start_100ns + self.start * TICK), "stat"),
            (false, id::PROCESS_ID) => (Expected::Level(self.pid.into()), "stat"),
            (false, id::CREATING_PROCESS_ID) => {
                (Expected::Aged(self.parent.into(), self.parent_before.into()), "stat")
            }
            (true, linux::OOM_SCORE) => (Expected::Level(40), "oom_score"),
            (true, linux::SESSION_ID) => (Expected::Level(3), "stat"),
            (true, linux::USER_ID) => (Expected::Level(7), "status"),
            _ => return KnownValue::new(Expected::Never, &[]),
        };
        KnownValue::new(wanted, &from(file))
    }

    pub(super) fn thread_known(&self, of: &Thread, counter: CounterId, start_100ns: u64) -> KnownValue {
        use thread as id;
        let wanted = match counter {
            // If the kernel has only ticks, the count is less, by less than two ticks.
            id::PERCENT_PROCESSOR_TIME => Expected::Count(of.run_ns.over(100)),
            id::PERCENT_USER_TIME => Expected::Count(of.user.in_100ns()),
            id::PERCENT_PRIVILEGED_TIME => Expected::Count(of.system.in_100ns()),
            id::CONTEXT_SWITCHES_PER_SEC => Expected::Count(of.timeslices),
            id::ELAPSED_TIME => Expected::Level(start_100ns + of.start * TICK),
            id::PRIORITY_BASE | id::PRIORITY_CURRENT => {
                let priority = |nice| if nice > 0 { 6 } else { 8 };
                Expected::Aged(priority(self.nice), priority(self.nice_before))
            }
            id::THREAD_STATE => Expected::Level(if self.is_zombie { 4 } else { 5 }),
            id::THREAD_WAIT_REASON if self.is_zombie => Expected::Never,
            id::THREAD_WAIT_REASON => Expected::Level(6),
            id::ID_PROCESS => Expected::Level(self.pid.into()),
            id::ID_THREAD => Expected::Level(of.tid.into()),
            _ => Expected::Never,
        };
        KnownValue::new(wanted, &[Source::Process(self.pid, "stat"), Source::Thread(self.pid, of.tid)])
    }
}

/// Returns the count of a counter that is a sum of lines of a process's `io`.
pub(super) fn count_of_io(io: &[Count; 7], set_is_linux: bool, counter: CounterId) -> Option<Count> {
    use {linux_process as linux, process_v2 as id};
    Some(match (set_is_linux, counter) {
        (false, id::IO_READ_BYTES_PER_SEC) => io[0],
        (false, id::IO_WRITE_BYTES_PER_SEC) => io[1],
        (false, id::IO_DATA_BYTES_PER_SEC) => io[0].and(io[1]),
        (false, id::IO_READ_OPERATIONS_PER_SEC) => io[2],
        (false, id::IO_WRITE_OPERATIONS_PER_SEC) => io[3],
        (false, id::IO_DATA_OPERATIONS_PER_SEC) => io[2].and(io[3]),
        (true, linux::STORAGE_READ_BYTES_PER_SEC) => io[4],
        (true, linux::STORAGE_WRITE_BYTES_PER_SEC) => io[5],
        (true, linux::CANCELLED_WRITE_BYTES_PER_SEC) => io[6],
        _ => return None,
    })
}
