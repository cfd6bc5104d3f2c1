//! The structures of a V2 block as the bytes have them. No logic.

#![expect(
    missing_debug_implementations,
    reason = "of hidden types that zerocopy's derives make; ours all have it"
)]

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::wire::layout;

layout! {
    /// Begins every block of counter data. Source: MS Learn, `PERF_DATA_HEADER`.
    #[doc(alias = "PERF_DATA_HEADER")]
    DataHeader, 48 {
        /// `dwTotalSize`: bytes, this header included.
        total_size: U32,
        /// `dwNumCounters`: how many PERF_COUNTER_HEADER blocks follow.
        counter_count: U32,
        /// `PerfTimeStamp`: monotonic clock, ticks.
        perf_time: I64,
        /// `PerfTime100NSec`: 100 ns since 1601-01-01 UTC.
        time_100ns: I64,
        /// `PerfFreq`: ticks a second.
        perf_freq: I64,
        /// `SystemTime`: UTC.
        system_time: SystemTime,
    }
}

layout! {
    /// A date and time. Source: MS Learn, `SYSTEMTIME`.
    #[doc(alias = "SYSTEMTIME")]
    SystemTime, 16 {
        /// `wYear`.
        year: U16,
        /// `wMonth`: 1 to 12.
        month: U16,
        /// `wDayOfWeek`: 0 = Sunday.
        day_of_week: U16,
        /// `wDay`.
        day: U16,
        /// `wHour`.
        hour: U16,
        /// `wMinute`.
        minute: U16,
        /// `wSecond`.
        second: U16,
        /// `wMilliseconds`.
        millisecond: U16,
    }
}

layout! {
    /// Begins each query result. Source: MS Learn, `PERF_COUNTER_HEADER`.
    #[doc(alias = "PERF_COUNTER_HEADER")]
    CounterHeader, 16 {
        /// `dwStatus`: Win32 code, 0 is success.
        status: U32,
        /// `dwType`: see [`Kind`](super::Kind).
        kind: U32,
        /// `dwSize`: bytes, this header included.
        size: U32,
        /// `Reserved`: kept as found.
        reserved: U32,
    }
}

layout! {
    /// Begins a list of counter ids. Source: MS Learn, `PERF_MULTI_COUNTERS`.
    #[doc(alias = "PERF_MULTI_COUNTERS")]
    MultiCounters, 8 {
        /// `dwSize`: bytes, this header and the ids included.
        size: U32,
        /// `dwCounters`: how many ids follow.
        counter_count: U32,
    }
}

layout! {
    /// Begins a list of instances. Source: MS Learn, `PERF_MULTI_INSTANCES`.
    #[doc(alias = "PERF_MULTI_INSTANCES")]
    MultiInstances, 8 {
        /// `dwTotalSize`: bytes, this header and all instances included.
        total_size: U32,
        /// `dwInstances`: how many instances follow.
        instance_count: U32,
    }
}

layout! {
    /// Begins an instance; its name follows. Source: MS Learn, `PERF_INSTANCE_HEADER`.
    #[doc(alias = "PERF_INSTANCE_HEADER")]
    InstanceHeader, 8 {
        /// `Size`: bytes of this header, the name, its NUL and padding; the data are not included.
        size: U32,
        /// `InstanceId`.
        instance_id: U32,
    }
}

layout! {
    /// Begins a value. Source: MS Learn, `PERF_COUNTER_DATA`.
    #[doc(alias = "PERF_COUNTER_DATA")]
    CounterData, 8 {
        /// `dwDataSize`: bytes of the value.
        data_size: U32,
        /// `dwSize`: bytes of this header, the value and padding.
        size: U32,
    }
}

layout! {
    /// A PERF_COUNTER_DATA block of the size that every number has: header and 8 bytes.
    Cell, 16 {
        /// Its header.
        header: CounterData,
        /// The value, padded with zeros.
        value: U64,
    }
}

layout! {
    /// An entry of a query; its instance name follows. Source: MS Learn, `PERF_COUNTER_IDENTIFIER`.
    #[doc(alias = "PERF_COUNTER_IDENTIFIER")]
    CounterIdentifier, 40 {
        /// `CounterSetGuid`.
        counterset: [u8; 16],
        /// `Status`: out, Win32 code of this entry.
        status: U32,
        /// `Size`: bytes of this structure, the name, its NUL and padding.
        size: U32,
        /// `CounterId`: or PERF_WILDCARD_COUNTER.
        counter_id: U32,
        /// `InstanceId`: or 0xFFFFFFFF.
        instance_id: U32,
        /// `Index`: out, position of the result in a block.
        index: U32,
        /// `Reserved`.
        reserved: U32,
    }
}

layout! {
    /// What a control callback is told; machine and instance name follow. Source: MS Learn, `PERF_COUNTER_IDENTITY`.
    #[doc(alias = "PERF_COUNTER_IDENTITY")]
    CounterIdentity, 40 {
        /// `CounterSetGuid`.
        counterset: [u8; 16],
        /// `BufferSize`: bytes of this structure and the two strings.
        buffer_size: U32,
        /// `CounterId`: or PERF_WILDCARD_COUNTER.
        counter_id: U32,
        /// `InstanceId`: or 0xFFFFFFFF.
        instance_id: U32,
        /// `MachineOffset`: from the start of this structure.
        machine_offset: U32,
        /// `NameOffset`: from the start of this structure, 0 = no name.
        name_offset: U32,
        /// `Reserved`.
        reserved: U32,
    }
}

layout! {
    /// A provider's description of a counterset; PERF_COUNTER_INFO follow. Source: MS Learn, `PERF_COUNTERSET_INFO`.
    #[doc(alias = "PERF_COUNTERSET_INFO")]
    CountersetInfo, 40 {
        /// `CounterSetGuid`.
        guid: [u8; 16],
        /// `ProviderGuid`.
        provider: [u8; 16],
        /// `NumCounters`: how many PERF_COUNTER_INFO follow.
        counter_count: U32,
        /// `InstanceType`.
        instance_type: U32,
    }
}

layout! {
    /// A provider's description of a counter. Source: MS Learn, `PERF_COUNTER_INFO`.
    #[doc(alias = "PERF_COUNTER_INFO")]
    CounterInfo, 32 {
        /// `CounterId`.
        counter_id: U32,
        /// `Type`.
        counter_type: U32,
        /// `Attrib`.
        attributes: U64,
        /// `Size`: bytes of the value, or of its address.
        size: U32,
        /// `DetailLevel`.
        detail_level: U32,
        /// `Scale`: a signed power of ten.
        scale: U32,
        /// `Offset`: out, from the end of PERF_COUNTERSET_INSTANCE to the value.
        offset: U32,
    }
}

layout! {
    /// Registration of a counterset. Source: MS Learn, `PERF_COUNTERSET_REG_INFO`.
    #[doc(alias = "PERF_COUNTERSET_REG_INFO")]
    CountersetRegInfo, 32 {
        /// `CounterSetGuid`.
        guid: [u8; 16],
        /// `CounterSetType`: written 0, ignored.
        counterset_type: U32,
        /// `DetailLevel`.
        detail_level: U32,
        /// `NumCounters`: how many PERF_COUNTER_REG_INFO follow.
        counter_count: U32,
        /// `InstanceType`.
        instance_type: U32,
    }
}

layout! {
    /// Registration of a counter. Source: MS Learn, `PERF_COUNTER_REG_INFO`.
    #[doc(alias = "PERF_COUNTER_REG_INFO")]
    CounterRegInfo, 48 {
        /// `CounterId`.
        counter_id: U32,
        /// `Type`.
        counter_type: U32,
        /// `Attrib`.
        attributes: U64,
        /// `DetailLevel`.
        detail_level: U32,
        /// `DefaultScale`: a signed power of ten.
        default_scale: U32,
        /// `BaseCounterId`, 0xFFFFFFFF = none.
        base_id: U32,
        /// `PerfTimeId`, 0xFFFFFFFF = none.
        perf_time_id: U32,
        /// `PerfFreqId`, 0xFFFFFFFF = none.
        perf_freq_id: U32,
        /// `MultiId`, 0xFFFFFFFF = none.
        multi_id: U32,
        /// `AggregateFunc`.
        aggregate: U32,
        /// `Reserved`.
        reserved: U32,
    }
}

layout! {
    /// Begins a block of strings. Source: MS Learn, `PERF_STRING_BUFFER_HEADER`.
    #[doc(alias = "PERF_STRING_BUFFER_HEADER")]
    StringBufferHeader, 8 {
        /// `dwSize`: bytes of the whole block.
        size: U32,
        /// `dwCounters`: how many PERF_STRING_COUNTER_HEADER follow.
        counter_count: U32,
    }
}

layout! {
    /// Where the string of a counter is. Source: MS Learn, `PERF_STRING_COUNTER_HEADER`.
    #[doc(alias = "PERF_STRING_COUNTER_HEADER")]
    StringCounterHeader, 8 {
        /// `dwCounterId`.
        counter_id: U32,
        /// `dwOffset`: from the start of the PERF_STRING_BUFFER_HEADER, 0xFFFFFFFF = no string.
        offset: U32,
    }
}

impl Cell {
    /// A value that cannot be had: no bytes of data in a block of the usual size.
    pub const EMPTY: Self = Self::new(0, 0);

    /// Whether there is no value.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.header.data_size.get() == 0
    }

    /// A 4-byte value.
    #[must_use]
    pub const fn from_u32(value: u32) -> Self {
        #[expect(clippy::as_conversions, reason = "widening in a const function")]
        Self::new(4, value as u64)
    }

    /// An 8-byte value.
    #[must_use]
    pub const fn from_u64(value: u64) -> Self {
        Self::new(8, value)
    }

    /// Another value in the same width, which it must fit into.
    #[must_use]
    #[inline]
    pub const fn with_value(self, value: u64) -> Self {
        Self { header: self.header, value: U64::new(value) }
    }

    const fn new(data_size: u32, value: u64) -> Self {
        let header = CounterData { data_size: U32::new(data_size), size: U32::new(16) };
        Self { header, value: U64::new(value) }
    }
}
