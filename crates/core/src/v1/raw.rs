//! Structures of a V1 block in their byte layout. No logic.

#![expect(
    missing_debug_implementations,
    reason = "of hidden types that zerocopy's derives make; ours all have it"
)]

use zerocopy::little_endian::{I32, I64, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::v2::raw::SystemTime;
use crate::wire::layout;

layout! {
    /// Header of a V1 block. Source: MS Learn, `PERF_DATA_BLOCK`.
    ///
    /// Members declared as pointers in a 32-bit header have 4 bytes on every Windows.
    #[doc(alias = "PERF_DATA_BLOCK")]
    DataBlockHeader, 88 {
        /// `Signature`: "PERF" in UTF-16, which marks a V1 block.
        signature: [u8; 8],
        /// `LittleEndian`: 1, because the block is little-endian.
        little_endian: U32,
        /// `Version`: version of the V1 format, 1.
        version: U32,
        /// `Revision`: revision of the V1 format, 1.
        revision: U32,
        /// `TotalByteLength`: number of bytes of the V1 block, including this header.
        total_len: U32,
        /// `HeaderLength`: offset of the first object in the V1 block.
        header_len: U32,
        /// `NumObjectTypes`: number of objects that follow.
        object_count: U32,
        /// `DefaultObject`: title index of the default object, or a meaningless value.
        default_object: I32,
        /// `SystemTime`: time of the block, UTC, or local time in blocks that a Windows log recorded.
        system_time: SystemTime,
        /// Four padding bytes that align the next field of the header.
        padding: U32,
        /// `PerfTime`: reading of a monotonic clock, in ticks.
        perf_time: I64,
        /// `PerfFreq`: ticks of `PerfTime` per second.
        perf_freq: I64,
        /// `PerfTime100nSec`: time of the block, in 100 ns since 1601-01-01 UTC.
        time_100ns: I64,
        /// `SystemNameLength`: number of bytes of the machine name, including the NUL.
        system_name_len: U32,
        /// `SystemNameOffset`: offset of the machine name from the start of the block.
        system_name_at: U32,
    }
}

layout! {
    /// Header of a V1 object. Source: MS Learn, `PERF_OBJECT_TYPE`.
    #[doc(alias = "PERF_OBJECT_TYPE")]
    ObjectType, 64 {
        /// `TotalByteLength`: number of bytes from this object to the next object.
        total_len: U32,
        /// `DefinitionLength`: number of bytes from the object's begin to its first instance or its counter block.
        definition_len: U32,
        /// `HeaderLength`: number of bytes from the object's begin to its first counter definition.
        header_len: U32,
        /// `ObjectNameTitleIndex`: title index of the object's name.
        name_index: U32,
        /// `ObjectNameTitle`: unused field, which is 0.
        name_title: U32,
        /// `ObjectHelpTitleIndex`: title index of the object's help text.
        help_index: U32,
        /// `ObjectHelpTitle`: unused field, which is 0.
        help_title: U32,
        /// `DetailLevel`: intended audience of the object.
        detail: U32,
        /// `NumCounters`: number of counter definitions that follow.
        counter_count: U32,
        /// `DefaultCounter`: position of the default counter's definition, -1 = none.
        default_counter: I32,
        /// `NumInstances`: number of instances, or one of three negative constants.
        instance_count: I32,
        /// `CodePage`: code page of the instance names; 0 is UTF-16.
        code_page: U32,
        /// `PerfTime`: reading of the object's own clock, in ticks.
        perf_time: I64,
        /// `PerfFreq`: ticks of the object's own clock per second.
        perf_freq: I64,
    }
}

layout! {
    /// Definition of a counter of a V1 object. Source: MS Learn, `PERF_COUNTER_DEFINITION`.
    #[doc(alias = "PERF_COUNTER_DEFINITION")]
    CounterDefinition, 40 {
        /// `ByteLength`: number of bytes from this counter definition to the next one.
        byte_len: U32,
        /// `CounterNameTitleIndex`: title index of the counter's name.
        name_index: U32,
        /// `CounterNameTitle`: unused field, which is 0.
        name_title: U32,
        /// `CounterHelpTitleIndex`: title index of the counter's help text.
        help_index: U32,
        /// `CounterHelpTitle`: unused field, which is 0.
        help_title: U32,
        /// `DefaultScale`: power of ten by which charts multiply the counter's values.
        default_scale: I32,
        /// `DetailLevel`: intended audience of the counter.
        detail: U32,
        /// `CounterType`: 32 bits that select the formula.
        counter_type: U32,
        /// `CounterSize`: number of bytes of the counter's value.
        counter_size: U32,
        /// `CounterOffset`: offset of the counter's value from the start of its PERF_COUNTER_BLOCK.
        counter_at: U32,
    }
}

layout! {
    /// Header of an instance of a V1 object, followed by its name. Source: MS Learn, `PERF_INSTANCE_DEFINITION`.
    #[doc(alias = "PERF_INSTANCE_DEFINITION")]
    InstanceDefinition, 24 {
        /// `ByteLength`: number of bytes from the instance's begin to its PERF_COUNTER_BLOCK.
        byte_len: U32,
        /// `ParentObjectTitleIndex`: title index of the parent's object, 0 = no parent.
        parent_object: U32,
        /// `ParentObjectInstance`: position of the parent among the instances of its object.
        parent_instance: U32,
        /// `UniqueID`: numeric id of the instance, -1 = the name identifies it.
        unique_id: I32,
        /// `NameOffset`: offset of the instance's name from the start of this structure.
        name_at: U32,
        /// `NameLength`: number of bytes of the instance's name, including the NUL.
        name_len: U32,
    }
}

layout! {
    /// Header of the values of a V1 instance. Source: MS Learn, `PERF_COUNTER_BLOCK`.
    #[doc(alias = "PERF_COUNTER_BLOCK")]
    CounterBlock, 4 {
        /// `ByteLength`: number of bytes of this field, the values and their padding.
        byte_len: U32,
    }
}
