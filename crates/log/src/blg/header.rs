//! Header of a binary log: the TRACE_LOGFILE_HEADER in its first buffer.

use perfset_core::Name;
use perfset_core::wire::{Cursor, WireError};

use super::raw;

/// Header of a binary log of Windows: facts about the log and the recorded machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "TRACE_LOGFILE_HEADER")]
pub struct Header {
    /// Size in bytes of each buffer of the binary log.
    pub buffer_size: u32,
    /// Build number of the Windows that wrote the log.
    pub build: u32,
    /// Number of processors of the recorded machine.
    pub processors: u32,
    /// Size of a pointer on the recorded machine in bytes: 4 or 8.
    pub pointer_size: u32,
    /// Time at which the log was opened, in 100 ns since 1601, UTC.
    pub start_time: i64,
    /// Time at which the log was closed, in 100 ns since 1601, UTC; 0 if it was not closed.
    pub end_time: i64,
    /// Boot time of the recorded machine, in 100 ns since 1601, UTC.
    pub boot_time: i64,
    /// Frequency of PerfTime on the recorded machine, in ticks per second.
    pub perf_freq: i64,
    /// Number of buffers that the binary log should have. The writer counts them when it closes the log.
    pub buffers_written: u32,
    /// File mode of the binary log: its EVENT_TRACE_FILE_MODE flags.
    pub log_file_mode: u32,
    /// Number of buffers that the writer of the binary log lost.
    pub buffers_lost: u32,
    /// Number of events that the writer of the binary log lost.
    pub events_lost: u32,
    /// Name of the binary log, which is its GUID.
    pub logger_name: String,
    /// File path at which Windows wrote the binary log.
    pub file_name: String,
    bias: Biases,
}

/// Biases of the recorded machine's time zone: minutes to add to local time to get UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Biases {
    always: i32,
    standard: i32,
    daylight: i32,
}

impl Header {
    /// Parses the header of a binary log from the data after the header of its first event.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, WireError> {
        const WHAT: &str = "TRACE_LOGFILE_HEADER";
        let start = *cursor;
        let header: &raw::LogfileHeader = cursor.read(WHAT)?;
        // The two pointers belong to the writer's process: only their width matters here.
        let pointers_len = if header.pointer_size.get() == 4 { 8 } else { 16 };
        cursor.take("TRACE_LOGFILE_HEADER.LoggerName", pointers_len)?;
        let zone: &raw::TimeZone = cursor.read("TRACE_LOGFILE_HEADER.TimeZone")?;
        // The times are aligned to 8 bytes from the start of this structure, not of the buffer.
        let passed = cursor.offset().saturating_sub(start.offset());
        cursor.take(WHAT, passed.next_multiple_of(8).saturating_sub(passed))?;
        let times: &raw::LogfileTimes = cursor.read("TRACE_LOGFILE_HEADER.BootTime")?;
        let texts = cursor.rest();
        let logger = Name::until_nul(texts);
        let behind = logger.as_bytes().len().saturating_add(2);
        Ok(Self {
            buffer_size: header.buffer_size.get(),
            build: header.provider_version.get(),
            processors: header.number_of_processors.get(),
            pointer_size: header.pointer_size.get(),
            start_time: times.start_time.get(),
            end_time: header.end_time.get(),
            boot_time: times.boot_time.get(),
            perf_freq: times.perf_freq.get(),
            buffers_written: header.buffers_written.get(),
            log_file_mode: header.log_file_mode.get(),
            buffers_lost: times.buffers_lost.get(),
            events_lost: header.events_lost.get(),
            logger_name: logger.to_string(),
            file_name: Name::until_nul(texts.get(behind..).unwrap_or_default()).to_string(),
            bias: Biases {
                always: zone.bias.get(),
                standard: zone.standard_bias.get(),
                daylight: zone.daylight_bias.get(),
            },
        })
    }

    /// Returns the number of buffers of the binary log, including the first one. Returns `None` for a circular log,
    /// which also counts the buffers that were overwritten.
    pub(super) fn buffers(&self) -> Option<u32> {
        const EVENT_TRACE_FILE_MODE_CIRCULAR: u32 = 2;
        // The number is the writer's count, and a circular log writes its buffers again and again.
        (self.log_file_mode & EVENT_TRACE_FILE_MODE_CIRCULAR == 0).then_some(self.buffers_written)
    }

    /// Returns the minutes to add to the local times of a binary log's records to get UTC. The result is the bias of
    /// the time zone, with or without daylight saving. The choice is the one that puts `first`, the time of the first
    /// record, nearer to the start of the log.
    ///
    /// The zone's rule cannot decide: it is the rule of the year in which the log was written. A log that crosses a
    /// change keeps its initial bias.
    #[must_use]
    pub fn bias_minutes(&self, first: i64) -> i32 {
        let Biases { always, standard, daylight } = self.bias;
        let with = |part: i32| always.saturating_add(part);
        let distance = |bias: &i32| {
            const MINUTE: i64 = 600_000_000;
            let utc = first.saturating_add(i64::from(*bias).saturating_mul(MINUTE));
            utc.abs_diff(self.start_time)
        };
        [with(standard), with(daylight)].into_iter().min_by_key(distance).unwrap_or(always)
    }
}
