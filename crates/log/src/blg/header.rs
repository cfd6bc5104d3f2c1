//! What a log says of itself: the TRACE_LOGFILE_HEADER in its first buffer.

use perfset_core::Name;
use perfset_core::wire::{Cursor, WireError};

use super::raw;

/// What a log says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "TRACE_LOGFILE_HEADER")]
pub struct Header {
    /// Bytes of a buffer.
    pub buffer_size: u32,
    /// The build of the Windows that wrote it.
    pub build: u32,
    /// Processors of that machine.
    pub processors: u32,
    /// Bytes of a pointer there: 4 or 8.
    pub pointer_size: u32,
    /// When it was opened, in 100 ns since 1601, UTC.
    pub start_time: i64,
    /// When it was closed, in 100 ns since 1601, UTC; 0 if it was not.
    pub end_time: i64,
    /// When the machine was started, in 100 ns since 1601, UTC.
    pub boot_time: i64,
    /// Ticks of PerfTime a second.
    pub perf_freq: i64,
    /// Buffers that it should have. Its writer counts them when it closes the log.
    pub buffers_written: u32,
    /// EVENT_TRACE_FILE_MODE flags.
    pub log_file_mode: u32,
    /// Buffers that its writer lost.
    pub buffers_lost: u32,
    /// Events that its writer lost.
    pub events_lost: u32,
    /// The log's name, which is its GUID.
    pub logger_name: String,
    /// Where it was written.
    pub file_name: String,
    bias: Biases,
}

/// Minutes that are to be added to local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Biases {
    always: i32,
    standard: i32,
    daylight: i32,
}

impl Header {
    /// Reads what follows the header of the first event.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, WireError> {
        const WHAT: &str = "TRACE_LOGFILE_HEADER";
        let start = *cursor;
        let header: &raw::LogfileHeader = cursor.read(WHAT)?;
        let pointers_len = if header.pointer_size.get() == 4 { 8 } else { 16 };
        cursor.take("TRACE_LOGFILE_HEADER.LoggerName", pointers_len)?;
        let zone: &raw::TimeZone = cursor.read("TRACE_LOGFILE_HEADER.TimeZone")?;
        let passed = cursor.at().saturating_sub(start.at());
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

    /// Returns the number of buffers of the file, its first one included. A circular log counts those that it wrote
    /// over, too, and so does not tell.
    pub(super) fn buffers(&self) -> Option<u32> {
        const EVENT_TRACE_FILE_MODE_CIRCULAR: u32 = 2;
        (self.log_file_mode & EVENT_TRACE_FILE_MODE_CIRCULAR == 0).then_some(self.buffers_written)
    }

    /// Minutes to be added to the local times of its records, the first of which is `first`: the bias of the time zone,
    /// with daylight saving if so the first record is nearer to the start of the log.
    ///
    /// The zone's rule cannot tell: it is that of the year in which the log was written. A log that crosses a change
    /// keeps the bias that it began with.
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
