//! The structures of a log as the bytes have them.

use perfset_core::wire::layout;
use zerocopy::little_endian::{I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

layout! {
    /// What a buffer begins with: WMI_BUFFER_HEADER.
    BufferHeader, 72 {
        buffer_size: U32,
        saved_offset: U32,
        /// May exceed the buffer: of no use.
        current_offset: U32,
        reference_count: U32,
        time_stamp: U64,
        sequence_number: U64,
        clock: U64,
        processor: u8,
        alignment: u8,
        logger_id: U16,
        state: U32,
        /// Where its data end.
        end: U32,
        flag: U16,
        buffer_type: U16,
        unused: [u8; 16],
    }
}

layout! {
    /// SYSTEM_TRACE_HEADER: what the one event of the first buffer begins with.
    SystemHeader, 32 {
        version: U16,
        /// 1 of a 32-bit system, 2 of a 64-bit one.
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
    /// EVENT_TRACE_HEADER, and what the events of a log have behind it.
    EventHeader, 72 {
        size: U16,
        /// 10 of a 32-bit system, 20 of a 64-bit one.
        header_type: u8,
        marker: u8,
        record_type: u8,
        level: u8,
        version: U16,
        thread: U32,
        process: U32,
        /// In 100 ns since 1601, local.
        time_stamp: I64,
        provider: [u8; 16],
        kernel_time: U32,
        user_time: U32,
        /// The log's own GUID.
        log: [u8; 16],
        /// From 1.
        part: U32,
        parts: U32,
    }
}

layout! {
    /// TRACE_LOGFILE_HEADER up to its pointers.
    LogfileHeader, 56 {
        buffer_size: U32,
        version: [u8; 4],
        /// The build of Windows.
        provider_version: U32,
        number_of_processors: U32,
        end_time: I64,
        timer_resolution: U32,
        maximum_file_size: U32,
        log_file_mode: U32,
        buffers_written: U32,
        start_buffers: U32,
        /// Bytes of each of the two pointers that follow.
        pointer_size: U32,
        events_lost: U32,
        cpu_speed_in_mhz: U32,
    }
}

layout! {
    /// TIME_ZONE_INFORMATION.
    TimeZone, 172 {
        /// Minutes to be added to local time.
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
    /// TRACE_LOGFILE_HEADER behind its time zone.
    LogfileTimes, 32 {
        boot_time: I64,
        perf_freq: I64,
        start_time: I64,
        clock_type: U32,
        buffers_lost: U32,
    }
}

layout! {
    /// An entry of the counter list, up to its strings.
    CounterEntry, 52 {
        size: U32,
        kind: U32,
        reserved: U32,
        counter_type: U32,
        time_base: I64,
        default_scale: I32,
        /// Offsets of strings; -1 = none.
        machine: I32,
        object: I32,
        instance: I32,
        parent: I32,
        instance_index: U32,
        counter: I32,
    }
}

layout! {
    /// What a sample begins with.
    SampleHeader, 8 {
        magic: U16,
        version: U16,
        size: U32,
    }
}

layout! {
    /// What a block of a sample begins with.
    BlockHeader, 8 {
        magic: U16,
        version: u8,
        kind: u8,
        /// Of the block, this header included.
        size: U32,
    }
}

layout! {
    /// PDH_RAW_COUNTER.
    PdhRawCounter, 40 {
        c_status: U32,
        /// In 100 ns since 1601, local.
        time_stamp: I64,
        padding: U32,
        first_value: I64,
        second_value: I64,
        multi_count: U32,
        padding_behind: U32,
    }
}

layout! {
    /// What a block of several instances begins with.
    InstancesHeader, 24 {
        size: U32,
        count: U32,
        unknown: [U32; 2],
        /// In 100 ns since 1601, local.
        time_stamp: I64,
    }
}

layout! {
    /// The raw values of an instance.
    InstanceItem, 24 {
        /// From the end of the block's header.
        name: U32,
        multi_count: U32,
        first_value: I64,
        second_value: I64,
    }
}

layout! {
    /// What the record at the end of a log begins with.
    SummaryHeader, 32 {
        /// In 100 ns since 1601, local.
        first: I64,
        last: I64,
        samples: U32,
        objects: U32,
        size: U32,
        unknown: U32,
    }
}
