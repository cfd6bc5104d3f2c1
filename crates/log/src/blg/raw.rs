//! Structures of a binary log in their byte layout.

use perfset_core::wire::layout;
use zerocopy::little_endian::{I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

layout! {
    /// Header of a buffer of a binary log: WMI_BUFFER_HEADER.
    BufferHeader, 72 {
        buffer_size: U32,
        saved_offset: U32,
        /// Current offset in the buffer, which a reader does not use, because the value may exceed the buffer.
        current_offset: U32,
        reference_count: U32,
        time_stamp: U64,
        sequence_number: U64,
        clock: U64,
        processor: u8,
        alignment: u8,
        logger_id: U16,
        state: U32,
        /// Offset in the buffer of the end of its event data.
        end: U32,
        flag: U16,
        buffer_type: U16,
        unused: [u8; 16],
    }
}

layout! {
    /// Header of the only event in the first buffer of a binary log: SYSTEM_TRACE_HEADER.
    SystemHeader, 32 {
        version: U16,
        /// Type of the system trace header: 1 of a 32-bit system, 2 of a 64-bit system.
        header_type: u8,
        marker: u8,
        size: U16,
        hook_id: U16,
        thread: U32,
        process: U32,
        system_time: I64,
        kernel_time: U32,
        user_time: U32,
    }
}

layout! {
    /// Header of a binary log's events: EVENT_TRACE_HEADER, and the log's own fields after it.
    EventHeader, 72 {
        size: U16,
        /// Type of the event header: 10 of a 32-bit system, 20 of a 64-bit system.
        header_type: u8,
        marker: u8,
        record_type: u8,
        level: u8,
        version: U16,
        thread: U32,
        process: U32,
        /// Time of the event in 100 ns since 1601, local.
        time_stamp: I64,
        provider: [u8; 16],
        kernel_time: U32,
        user_time: U32,
        /// GUID of the binary log that the event belongs to.
        log: [u8; 16],
        /// Number of the part of a record that the event carries, from 1.
        part: U32,
        parts: U32,
    }
}

layout! {
    /// Start of a binary log's TRACE_LOGFILE_HEADER, up to the header's pointers.
    LogfileHeader, 56 {
        buffer_size: U32,
        version: [u8; 4],
        /// Build number of the Windows that wrote the log.
        provider_version: U32,
        number_of_processors: U32,
        end_time: I64,
        timer_resolution: U32,
        maximum_file_size: U32,
        log_file_mode: U32,
        buffers_written: U32,
        start_buffers: U32,
        /// Size in bytes of each of the two pointers that follow in the log's header.
        pointer_size: U32,
        events_lost: U32,
        cpu_speed_in_mhz: U32,
    }
}

layout! {
    /// Time zone of the recorded machine, stored in the log's header: TIME_ZONE_INFORMATION.
    TimeZone, 172 {
        /// Minutes to add to the recorded machine's local time to get UTC.
        bias: I32,
        standard_name: [u8; 64],
        standard_date: [u8; 16],
        standard_bias: I32,
        daylight_name: [u8; 64],
        daylight_date: [u8; 16],
        daylight_bias: I32,
    }
}

layout! {
    /// End of a binary log's TRACE_LOGFILE_HEADER, after the header's time zone.
    LogfileTimes, 32 {
        boot_time: I64,
        perf_freq: I64,
        start_time: I64,
        clock_type: U32,
        buffers_lost: U32,
    }
}

layout! {
    /// Entry of a binary log's counter list, up to its strings.
    CounterEntry, 52 {
        size: U32,
        kind: U32,
        reserved: U32,
        counter_type: U32,
        time_base: I64,
        default_scale: I32,
        /// Offset of the machine's name among the entry's strings; -1 means none, here and in the fields below.
        machine: I32,
        object: I32,
        instance: I32,
        parent: I32,
        instance_index: U32,
        counter: I32,
    }
}

layout! {
    /// Header of a sample in a binary log.
    SampleHeader, 8 {
        magic: U16,
        version: U16,
        size: U32,
    }
}

layout! {
    /// Header of a block of a sample in a binary log.
    BlockHeader, 8 {
        magic: U16,
        version: u8,
        kind: u8,
        /// Size in bytes of the sample's block, including this header.
        size: U32,
    }
}

layout! {
    /// Raw value of a counter in a binary log: PDH_RAW_COUNTER.
    PdhRawCounter, 40 {
        c_status: U32,
        /// Time of the raw value in 100 ns since 1601, local.
        time_stamp: I64,
        padding: U32,
        first_value: I64,
        second_value: I64,
        multi_count: U32,
        padding_behind: U32,
    }
}

layout! {
    /// Header of a sample's block that has raw values of several instances.
    InstancesHeader, 24 {
        size: U32,
        count: U32,
        unknown: [U32; 2],
        /// Time of the block's raw values in 100 ns since 1601, local.
        time_stamp: I64,
    }
}

layout! {
    /// Raw values of one instance in a sample's block of several instances.
    InstanceItem, 24 {
        /// Offset of the instance's name, counted from the end of the block's header.
        name: U32,
        multi_count: U32,
        first_value: I64,
        second_value: I64,
    }
}

layout! {
    /// Header of the summary record at the end of a binary log.
    SummaryHeader, 32 {
        /// Time of the log's first sample in 100 ns since 1601, local.
        first: I64,
        last: I64,
        samples: U32,
        objects: U32,
        size: U32,
        unknown: U32,
    }
}
