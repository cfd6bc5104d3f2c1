//! The structures of a V1 block as the bytes have them. No logic.

#![expect(
    missing_debug_implementations,
    reason = "of hidden types that zerocopy's derives make; ours all have it"
)]

use zerocopy::little_endian::{I32, I64, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::v2::raw::SystemTime;
use crate::wire::layout;

layout! {
    /// Begins a block. Source: MS Learn, `PERF_DATA_BLOCK`.
    ///
    /// The members that a 32-bit header declares as pointers have 4 bytes on every Windows.
    #[doc(alias = "PERF_DATA_BLOCK")]
    DataBlockHeader, 88 {
        /// `Signature`: "PERF" in UTF-16.
        signature: [u8; 8],
        /// `LittleEndian`: 1.
        little_endian: U32,
        /// `Version`: 1.
        version: U32,
        /// `Revision`: 1.
        revision: U32,
        /// `TotalByteLength`: bytes of the block, this header included.
        total_len: U32,
        /// `HeaderLength`: offset of the first object.
        header_len: U32,
        /// `NumObjectTypes`: how many objects follow.
        object_count: U32,
        /// `DefaultObject`: a title index, or nothing that matters.
        default_object: I32,
        /// `SystemTime`: UTC, or local time in blocks that a Windows log recorded.
        system_time: SystemTime,
        /// Four bytes that align what follows.
        padding: U32,
        /// `PerfTime`: monotonic clock, ticks.
        perf_time: I64,
        /// `PerfFreq`: its ticks a second.
        perf_freq: I64,
        /// `PerfTime100nSec`: 100 ns since 1601-01-01 UTC.
        time_100ns: I64,
        /// `SystemNameLength`: bytes, the NUL included.
        system_name_len: U32,
        /// `SystemNameOffset`: from the start of the block.
        system_name_at: U32,
    }
}

layout! {
    /// Begins an object. Source: MS Learn, `PERF_OBJECT_TYPE`.
    #[doc(alias = "PERF_OBJECT_TYPE")]
    ObjectType, 64 {
        /// `TotalByteLength`: to the next object.
        total_len: U32,
        /// `DefinitionLength`: to the first instance, or to the counter block.
        definition_len: U32,
        /// `HeaderLength`: to the first counter definition.
        header_len: U32,
        /// `ObjectNameTitleIndex`.
        name_index: U32,
        /// `ObjectNameTitle`: 0.
        name_title: U32,
        /// `ObjectHelpTitleIndex`.
        help_index: U32,
        /// `ObjectHelpTitle`: 0.
        help_title: U32,
        /// `DetailLevel`.
        detail: U32,
        /// `NumCounters`: how many definitions follow.
        counter_count: U32,
        /// `DefaultCounter`: position of a definition, -1 = none.
        default_counter: I32,
        /// `NumInstances`: a count, or one of three negative meanings.
        instance_count: I32,
        /// `CodePage`: of the instances' names; 0 is UTF-16.
        code_page: U32,
        /// `PerfTime`: the object's own clock, ticks.
        perf_time: I64,
        /// `PerfFreq`: its ticks a second.
        perf_freq: I64,
    }
}

layout! {
    /// Defines a counter of an object. Source: MS Learn, `PERF_COUNTER_DEFINITION`.
    #[doc(alias = "PERF_COUNTER_DEFINITION")]
    CounterDefinition, 40 {
        /// `ByteLength`: to the next definition.
        byte_len: U32,
        /// `CounterNameTitleIndex`.
        name_index: U32,
        /// `CounterNameTitle`: 0.
        name_title: U32,
        /// `CounterHelpTitleIndex`.
        help_index: U32,
        /// `CounterHelpTitle`: 0.
        help_title: U32,
        /// `DefaultScale`: a power of ten.
        default_scale: I32,
        /// `DetailLevel`.
        detail: U32,
        /// `CounterType`.
        counter_type: U32,
        /// `CounterSize`: bytes of a value.
        counter_size: U32,
        /// `CounterOffset`: of a value, from the start of its PERF_COUNTER_BLOCK.
        counter_at: U32,
    }
}

layout! {
    /// Begins an instance; its name follows. Source: MS Learn, `PERF_INSTANCE_DEFINITION`.
    #[doc(alias = "PERF_INSTANCE_DEFINITION")]
    InstanceDefinition, 24 {
        /// `ByteLength`: to the instance's PERF_COUNTER_BLOCK.
        byte_len: U32,
        /// `ParentObjectTitleIndex`: 0 = no parent.
        parent_object: U32,
        /// `ParentObjectInstance`: position of the parent among its object's instances.
        parent_instance: U32,
        /// `UniqueID`: -1 = the name says who it is.
        unique_id: I32,
        /// `NameOffset`: from the start of this structure.
        name_at: U32,
        /// `NameLength`: bytes, the NUL included.
        name_len: U32,
    }
}

layout! {
    /// Begins the values of an instance. Source: MS Learn, `PERF_COUNTER_BLOCK`.
    #[doc(alias = "PERF_COUNTER_BLOCK")]
    CounterBlock, 4 {
        /// `ByteLength`: this field, the values and their padding.
        byte_len: U32,
    }
}
