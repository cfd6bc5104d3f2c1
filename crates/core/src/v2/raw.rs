//! Structures of a V2 block in their byte layout. No logic.

#![expect(
    missing_debug_implementations,
    reason = "of hidden types that zerocopy's derives make; ours all have it"
)]

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::wire::layout;

layout! {
    /// Header of every V2 block of counter data. Source: MS Learn, `PERF_DATA_HEADER`.
    #[doc(alias = "PERF_DATA_HEADER")]
    DataHeader, 48 {
        /// `dwTotalSize`: number of bytes of the V2 block, including this header.
        total_size: U32,
        /// `dwNumCounters`: number of PERF_COUNTER_HEADER blocks (query results) that follow.
        counter_count: U32,
        /// `PerfTimeStamp`: reading of a monotonic clock, in ticks.
        perf_time: I64,
        /// `PerfTime100NSec`: time of the collection, in 100 ns since 1601-01-01 UTC.
        time_100ns: I64,
        /// `PerfFreq`: ticks of `PerfTimeStamp` per second.
        perf_freq: I64,
        /// `SystemTime`: wall clock time of the collection, UTC.
        system_time: SystemTime,
    }
}

layout! {
    /// Date and time of day as stored in a block. Source: MS Learn, `SYSTEMTIME`.
    #[doc(alias = "SYSTEMTIME")]
    SystemTime, 16 {
        /// `wYear`: year of the Gregorian calendar.
        year: U16,
        /// `wMonth`: month of the year, 1 to 12.
        month: U16,
        /// `wDayOfWeek`: day of the week, 0 = Sunday.
        day_of_week: U16,
        /// `wDay`: day of the month, 1 to 31.
        day: U16,
        /// `wHour`: hour of the day, 0 to 23.
        hour: U16,
        /// `wMinute`: minute of the hour, 0 to 59.
        minute: U16,
        /// `wSecond`: second of the minute, 0 to 59.
        second: U16,
        /// `wMilliseconds`: milliseconds of the second, 0 to 999.
        millisecond: U16,
    }
}

layout! {
    /// Header of each query result in a V2 block. Source: MS Learn, `PERF_COUNTER_HEADER`.
    #[doc(alias = "PERF_COUNTER_HEADER")]
    CounterHeader, 16 {
        /// `dwStatus`: Win32 code of the query entry, 0 is success.
        status: U32,
        /// `dwType`: type of the query result, see [`CounterDataType`](super::CounterDataType).
        kind: U32,
        /// `dwSize`: number of bytes of the query result, including this header.
        size: U32,
        /// `Reserved`: field without a meaning, written as 0; readers accept any value.
        reserved: U32,
    }
}

layout! {
    /// Header of a list of counter ids in a V2 block. Source: MS Learn, `PERF_MULTI_COUNTERS`.
    #[doc(alias = "PERF_MULTI_COUNTERS")]
    MultiCounters, 8 {
        /// `dwSize`: number of bytes of the list, including this header and the counter ids.
        size: U32,
        /// `dwCounters`: number of counter ids that follow.
        counter_count: U32,
    }
}

layout! {
    /// Header of a list of instances in a V2 block. Source: MS Learn, `PERF_MULTI_INSTANCES`.
    #[doc(alias = "PERF_MULTI_INSTANCES")]
    MultiInstances, 8 {
        /// `dwTotalSize`: number of bytes of the list, including this header and all instances.
        total_size: U32,
        /// `dwInstances`: number of instances that follow.
        instance_count: U32,
    }
}

layout! {
    /// Header of an instance in a V2 block, followed by its name. Source: MS Learn, `PERF_INSTANCE_HEADER`.
    #[doc(alias = "PERF_INSTANCE_HEADER")]
    InstanceHeader, 8 {
        /// `Size`: number of bytes of this header, the instance's name, its NUL and padding; the values are not
        /// included.
        size: U32,
        /// `InstanceId`: id of the instance.
        instance_id: U32,
    }
}

layout! {
    /// Header of a counter value in a V2 block. Source: MS Learn, `PERF_COUNTER_DATA`.
    #[doc(alias = "PERF_COUNTER_DATA")]
    CounterData, 8 {
        /// `dwDataSize`: number of bytes of the counter value.
        data_size: U32,
        /// `dwSize`: number of bytes of this header, the counter value and padding.
        size: U32,
    }
}

layout! {
    /// Cell of the usual size, 16 bytes: a PERF_COUNTER_DATA block of a header and 8 bytes for a value.
    Cell, 16 {
        /// Header of the cell, with the sizes of the value and of the cell.
        header: CounterData,
        /// Counter value in the cell, padded with zeros.
        value: U64,
    }
}

layout! {
    /// Query entry in the V2 byte format, followed by its instance name. Source: MS Learn, `PERF_COUNTER_IDENTIFIER`.
    #[doc(alias = "PERF_COUNTER_IDENTIFIER")]
    CounterIdentifier, 40 {
        /// `CounterSetGuid`: GUID of the requested counterset.
        counterset: [u8; 16],
        /// `Status`: output field, the Win32 code of this query entry.
        status: U32,
        /// `Size`: number of bytes of this query entry, with the name, its NUL and padding.
        size: U32,
        /// `CounterId`: id of the requested counter, or PERF_WILDCARD_COUNTER.
        counter_id: U32,
        /// `InstanceId`: id of the requested instance, or 0xFFFFFFFF for all.
        instance_id: U32,
        /// `Index`: output field, the position of the entry's result in a block.
        index: U32,
        /// `Reserved`: field without a meaning, written as 0.
        reserved: U32,
    }
}

layout! {
    /// Request to a provider's control callback, followed by machine and instance name. Source: MS Learn,
    /// `PERF_COUNTER_IDENTITY`.
    #[doc(alias = "PERF_COUNTER_IDENTITY")]
    CounterIdentity, 40 {
        /// `CounterSetGuid`: GUID of the requested counterset.
        counterset: [u8; 16],
        /// `BufferSize`: number of bytes of this structure and the two strings.
        buffer_size: U32,
        /// `CounterId`: id of the requested counter, or PERF_WILDCARD_COUNTER.
        counter_id: U32,
        /// `InstanceId`: id of the requested instance, or 0xFFFFFFFF for all.
        instance_id: U32,
        /// `MachineOffset`: offset of the machine name from the start of this structure.
        machine_offset: U32,
        /// `NameOffset`: offset of the instance name from the start of this structure, 0 = no name.
        name_offset: U32,
        /// `Reserved`: field without a meaning, written as 0.
        reserved: U32,
    }
}

layout! {
    /// Description of a counterset by its provider, followed by PERF_COUNTER_INFO structures. Source: MS Learn,
    /// `PERF_COUNTERSET_INFO`.
    #[doc(alias = "PERF_COUNTERSET_INFO")]
    CountersetInfo, 40 {
        /// `CounterSetGuid`: GUID of the counterset.
        guid: [u8; 16],
        /// `ProviderGuid`: GUID of the provider.
        provider: [u8; 16],
        /// `NumCounters`: number of PERF_COUNTER_INFO structures that follow.
        counter_count: U32,
        /// `InstanceType`: kind of the counterset by its number of instances.
        instance_type: U32,
    }
}

layout! {
    /// Description of a counter by its provider. Source: MS Learn, `PERF_COUNTER_INFO`.
    #[doc(alias = "PERF_COUNTER_INFO")]
    CounterInfo, 32 {
        /// `CounterId`: id of the counter within the counterset.
        counter_id: U32,
        /// `Type`: counter type, 32 bits that select the formula.
        counter_type: U32,
        /// `Attrib`: bits that control the display of the counter.
        attributes: U64,
        /// `Size`: number of bytes of the counter's value, or of its address.
        size: U32,
        /// `DetailLevel`: intended audience of the counter.
        detail_level: U32,
        /// `Scale`: signed power of ten by which charts multiply the counter's values.
        scale: U32,
        /// `Offset`: output field, the offset of the counter's value from the end of PERF_COUNTERSET_INSTANCE.
        offset: U32,
    }
}

layout! {
    /// Registration of a counterset in the V2 byte format. Source: MS Learn, `PERF_COUNTERSET_REG_INFO`.
    #[doc(alias = "PERF_COUNTERSET_REG_INFO")]
    CountersetRegInfo, 32 {
        /// `CounterSetGuid`: GUID of the counterset.
        guid: [u8; 16],
        /// `CounterSetType`: field without a meaning, written as 0, ignored by readers.
        counterset_type: U32,
        /// `DetailLevel`: intended audience of the counterset.
        detail_level: U32,
        /// `NumCounters`: number of PERF_COUNTER_REG_INFO structures that follow.
        counter_count: U32,
        /// `InstanceType`: kind of the counterset by its number of instances.
        instance_type: U32,
    }
}

layout! {
    /// Registration of a counter in the V2 byte format. Source: MS Learn, `PERF_COUNTER_REG_INFO`.
    #[doc(alias = "PERF_COUNTER_REG_INFO")]
    CounterRegInfo, 48 {
        /// `CounterId`: id of the counter within the counterset.
        counter_id: U32,
        /// `Type`: counter type, 32 bits that select the formula.
        counter_type: U32,
        /// `Attrib`: bits that control the display of the counter.
        attributes: U64,
        /// `DetailLevel`: intended audience of the counter.
        detail_level: U32,
        /// `DefaultScale`: signed power of ten by which charts multiply the counter's values.
        default_scale: U32,
        /// `BaseCounterId`: id of the base counter, 0xFFFFFFFF = none.
        base_id: U32,
        /// `PerfTimeId`: id of the counter with the object clock, 0xFFFFFFFF = none.
        perf_time_id: U32,
        /// `PerfFreqId`: id of the counter with the frequency of the object clock, 0xFFFFFFFF = none.
        perf_freq_id: U32,
        /// `MultiId`: id of the counter with the number of items, 0xFFFFFFFF = none.
        multi_id: U32,
        /// `AggregateFunc`: function that combines the counter's values of several instances.
        aggregate: U32,
        /// `Reserved`: field without a meaning, written as 0.
        reserved: U32,
    }
}

layout! {
    /// Header of a block with the names or help texts of counters. Source: MS Learn, `PERF_STRING_BUFFER_HEADER`.
    #[doc(alias = "PERF_STRING_BUFFER_HEADER")]
    StringBufferHeader, 8 {
        /// `dwSize`: number of bytes of the whole block of strings.
        size: U32,
        /// `dwCounters`: number of PERF_STRING_COUNTER_HEADER structures that follow.
        counter_count: U32,
    }
}

layout! {
    /// Offset of a counter's string in a block of strings. Source: MS Learn, `PERF_STRING_COUNTER_HEADER`.
    #[doc(alias = "PERF_STRING_COUNTER_HEADER")]
    StringCounterHeader, 8 {
        /// `dwCounterId`: id of the counter to which the string belongs.
        counter_id: U32,
        /// `dwOffset`: offset of the string from the start of the PERF_STRING_BUFFER_HEADER, 0xFFFFFFFF = no string.
        offset: U32,
    }
}

impl Cell {
    /// Cell of an unavailable value: no bytes of data in a cell of the usual size.
    pub const EMPTY: Self = Self::new(0, 0);

    /// Returns `true` if the cell contains no value.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.header.data_size.get() == 0
    }

    /// Creates a cell with a 4-byte value.
    #[must_use]
    pub const fn from_u32(value: u32) -> Self {
        #[expect(clippy::as_conversions, reason = "widening in a const function")]
        Self::new(4, value as u64)
    }

    /// Creates a cell with an 8-byte value.
    #[must_use]
    pub const fn from_u64(value: u64) -> Self {
        Self::new(8, value)
    }

    /// Returns a cell of the same width with another value, which must fit into that width.
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
