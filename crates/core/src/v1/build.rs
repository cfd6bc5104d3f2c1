//! Writes V1 blocks of performance data.

use zerocopy::little_endian::{I32, I64, U32};
use zerocopy::{FromBytes, IntoBytes};

use super::block::SIGNATURE;
use super::instance::Parent;
use super::{
    PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES, PERF_NO_INSTANCES, PERF_NO_UNIQUE_ID, raw,
};
use crate::clock::ClockReading;
use crate::counter_type::CounterType;
use crate::counterset::DetailLevel;
use crate::v2::align8;
use crate::wire::length;

/// Error: the V1 block would be larger than readers can handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the block would be larger than 2 GiB")]
pub struct TooLarge;

/// Writer of a V1 block that [`DataBlock::parse`](super::DataBlock::parse) reads; computes every length and offset.
///
/// The block obeys every rule: padding is zero, values are aligned, and a base is 8 bytes after its numerator.
/// Objects without instances come first, because some readers take the next object for their values.
#[derive(Debug)]
pub struct BlockBuilder {
    /// Header of the V1 block, followed by the objects that have values or instances.
    out: Vec<u8>,
    header_len: usize,
    /// Objects of the V1 block that have neither values nor instances.
    empty: Vec<u8>,
    object_count: u32,
}

/// Header fields of a new V1 object.
#[derive(Clone, Copy, Debug)]
pub struct NewObject {
    /// Index of the new object's name in the name table.
    pub name_index: u32,
    /// Index of the new object's help text in the help table.
    pub help_index: u32,
    /// Detail level of the new object: its intended audience.
    pub detail: DetailLevel,
    /// Position of the new object's default counter, the most useful one.
    pub default_counter: Option<u32>,
    /// Own clock of the new object and its ticks per second: required if a counter's type uses the object timer.
    pub clock: Option<(i64, i64)>,
}

impl NewObject {
    /// Creates the header fields of an object for all users; the title index of the help text is the name's index
    /// plus 1.
    #[must_use]
    pub fn new(name_index: u32) -> Self {
        Self {
            name_index,
            help_index: name_index.saturating_add(1),
            detail: DetailLevel::NOVICE,
            default_counter: None,
            clock: None,
        }
    }
}

/// Definition of a new counter of a V1 object. A base directly follows its numerator.
#[derive(Clone, Copy, Debug)]
pub struct NewCounter {
    /// Title index of the new counter's name; for a base, the index of its numerator's name.
    pub name_index: u32,
    /// Title index of the new counter's help text; for a base, the index of its numerator's help text.
    pub help_index: u32,
    /// Power of ten by which charts multiply the new counter's values; limited to -7..=7.
    pub default_scale: i32,
    /// Detail level of the new counter: its intended audience.
    pub detail: DetailLevel,
    /// Counter type: the formula and the width of the raw value.
    pub counter_type: CounterType,
}

impl NewCounter {
    /// Creates the definition of a counter for all users; the title index of the help text is the name's index plus
    /// 1.
    #[must_use]
    pub fn new(name_index: u32, counter_type: CounterType) -> Self {
        Self {
            name_index,
            help_index: name_index.saturating_add(1),
            default_scale: 0,
            detail: DetailLevel::NOVICE,
            counter_type,
        }
    }
}

/// Definition of a new instance of a V1 object.
#[derive(Clone, Copy, Debug)]
pub struct NewInstance<'a> {
    /// Name of the new instance in UTF-16, without a NUL.
    pub name: &'a [u16],
    /// Parent of the new instance, which must be an instance in the same block.
    pub parent: Option<Parent>,
    /// Numeric id of the new instance; `None` if the name identifies the instance.
    pub unique_id: Option<i32>,
}

impl<'a> NewInstance<'a> {
    /// Creates an instance that is identified by its name.
    #[must_use]
    pub fn named(name: &'a [u16]) -> Self {
        Self { name, parent: None, unique_id: None }
    }
}

impl BlockBuilder {
    /// Starts a V1 block with these collection clocks and this machine name.
    #[must_use]
    pub fn new(clocks: &ClockReading, system_name: &str) -> Self {
        let mut name: Vec<u8> = system_name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        name.extend([0, 0]);
        let header = raw::DataBlockHeader {
            signature: SIGNATURE,
            little_endian: U32::new(1),
            version: U32::new(1),
            revision: U32::new(1),
            total_len: U32::ZERO,
            header_len: U32::ZERO,
            object_count: U32::ZERO,
            default_object: I32::new(-1),
            system_time: (&clocks.system_time).into(),
            padding: U32::ZERO,
            perf_time: I64::new(clocks.perf_time),
            perf_freq: I64::new(clocks.perf_freq),
            time_100ns: I64::new(clocks.time_100ns),
            system_name_len: size(name.len()),
            system_name_at: U32::new(88),
        };
        let mut out = header.as_bytes().to_vec();
        out.append(&mut name);
        pad(&mut out);
        Self { header_len: out.len(), out, empty: Vec::new(), object_count: 0 }
    }

    /// Sets the default object of the V1 block.
    pub fn default_object(&mut self, name_index: u32) {
        if let Ok((header, _)) = raw::DataBlockHeader::mut_from_prefix(&mut self.out) {
            header.default_object = I32::new(i32::try_from(name_index).unwrap_or(-1));
        }
    }

    /// Writes a V1 object that never has instances: one value per counter, in their order. Counters of 4 bytes store
    /// the low 32 bits of their value.
    pub fn single(
        &mut self,
        object: &NewObject,
        counters: &[NewCounter],
        values: impl IntoIterator<Item = u64>,
    ) {
        let (start, layout) = self.begin(object, counters, PERF_NO_INSTANCES);
        layout.write(&mut self.out, values);
        self.end(start);
    }

    /// Starts a V1 object with instances, which are written one by one; there may be none.
    pub fn multiple(&mut self, object: &NewObject, counters: &[NewCounter]) -> InstancesBuilder<'_> {
        let (start, layout) = self.begin(object, counters, 0);
        InstancesBuilder { builder: self, start, layout, instance_count: 0 }
    }

    /// Writes a V1 object with definitions only, for a query that requests no values.
    pub fn metadata(&mut self, object: &NewObject, counters: &[NewCounter], is_multiple: bool) {
        let meaning = match is_multiple {
            true => PERF_METADATA_MULTIPLE_INSTANCES,
            false => PERF_METADATA_NO_INSTANCES,
        };
        let (start, _) = self.begin(object, counters, meaning);
        self.end(start);
    }

    /// Returns the bytes of the finished V1 block.
    ///
    /// # Errors
    /// Fails if the block has 2 GiB or more.
    pub fn finish(mut self) -> Result<Vec<u8>, TooLarge> {
        let total = checked_len(self.out.len(), self.empty.len())?;
        // Only here, because an object is known to have no instances after its end.
        self.out.splice(self.header_len..self.header_len, self.empty);
        if let Ok((header, _)) = raw::DataBlockHeader::mut_from_prefix(&mut self.out) {
            header.total_len = total;
            header.header_len = size(self.header_len);
            header.object_count = U32::new(self.object_count);
        }
        Ok(self.out)
    }

    fn begin(&mut self, object: &NewObject, counters: &[NewCounter], instances: i32) -> (usize, ValueLayout) {
        let start = self.out.len();
        let layout = ValueLayout::new(counters);
        let definitions = counters.len().saturating_mul(40);
        let (perf_time, perf_freq) = object.clock.unwrap_or_default();
        let header = raw::ObjectType {
            total_len: U32::ZERO,
            definition_len: size(definitions.saturating_add(64)),
            header_len: U32::new(64),
            name_index: U32::new(object.name_index),
            name_title: U32::ZERO,
            help_index: U32::new(object.help_index),
            help_title: U32::ZERO,
            detail: U32::new(object.detail.0),
            counter_count: size(counters.len()),
            default_counter: I32::new(object.default_counter.and_then(|at| at.try_into().ok()).unwrap_or(-1)),
            instance_count: I32::new(instances),
            code_page: U32::ZERO,
            perf_time: I64::new(perf_time),
            perf_freq: I64::new(perf_freq),
        };
        self.out.extend_from_slice(header.as_bytes());
        for (counter, span) in counters.iter().zip(&layout.spans) {
            let definition = raw::CounterDefinition {
                byte_len: U32::new(40),
                name_index: U32::new(counter.name_index),
                name_title: U32::ZERO,
                help_index: U32::new(counter.help_index),
                help_title: U32::ZERO,
                // PDH accepts scales from -7 to 7 only; a V2 registration may have -10 to 10.
                default_scale: I32::new(counter.default_scale.clamp(-7, 7)),
                detail: U32::new(counter.detail.0),
                counter_type: U32::new(counter.counter_type.0),
                counter_size: size(span.len),
                counter_at: size(span.offset),
            };
            self.out.extend_from_slice(definition.as_bytes());
        }
        self.object_count = self.object_count.saturating_add(1);
        (start, layout)
    }

    fn end(&mut self, start: usize) {
        let total = size(self.out.len().saturating_sub(start));
        if let Some((header, _)) =
            self.out.get_mut(start..).and_then(|bytes| raw::ObjectType::mut_from_prefix(bytes).ok())
        {
            header.total_len = total;
        }
    }
}

/// Writer of the instances of a V1 object.
#[derive(Debug)]
pub struct InstancesBuilder<'a> {
    builder: &'a mut BlockBuilder,
    start: usize,
    layout: ValueLayout,
    instance_count: i32,
}

impl InstancesBuilder<'_> {
    /// Writes an instance of a V1 object with one value per counter, in their order. Missing values are written as 0,
    /// since the format has no representation for them; surplus values are ignored.
    pub fn instance(&mut self, instance: &NewInstance<'_>, values: impl IntoIterator<Item = u64>) {
        let out = &mut self.builder.out;
        let name_len = instance.name.len().saturating_add(1).saturating_mul(2);
        let parent = instance.parent.unwrap_or(Parent { object: 0, position: 0 });
        let header = raw::InstanceDefinition {
            byte_len: size(align8(name_len.saturating_add(24))),
            parent_object: U32::new(parent.object),
            parent_instance: U32::new(parent.position),
            unique_id: I32::new(instance.unique_id.unwrap_or(PERF_NO_UNIQUE_ID)),
            name_at: U32::new(24),
            // With the NUL and without padding, as in blocks of Windows Vista (E7).
            name_len: size(name_len),
        };
        out.extend_from_slice(header.as_bytes());
        out.extend(instance.name.iter().flat_map(|unit| unit.to_le_bytes()));
        out.extend([0, 0]);
        pad(out);
        self.layout.write(out, values);
        self.instance_count = self.instance_count.saturating_add(1);
    }

    /// Finishes the V1 object and sets its length and number of instances.
    pub fn finish(self) {
        let Self { builder, start, instance_count, .. } = self;
        builder.end(start);
        if instance_count == 0 {
            builder.empty.extend(builder.out.drain(start..));
            return;
        }
        if let Some((header, _)) =
            builder.out.get_mut(start..).and_then(|bytes| raw::ObjectType::mut_from_prefix(bytes).ok())
        {
            header.instance_count = I32::new(instance_count);
        }
    }
}

/// Offsets of the values in each counter block of a V1 object.
#[derive(Debug)]
struct ValueLayout {
    spans: Vec<ValueSpan>,
    block_len: usize,
}

#[derive(Clone, Copy, Debug)]
struct ValueSpan {
    offset: usize,
    len: usize,
}

impl ValueLayout {
    /// Computes the offsets of the values: in the order of their definitions, aligned to their width. A base is 8
    /// bytes after its numerator, and zeros follow a base of 4 bytes.
    fn new(counters: &[NewCounter]) -> Self {
        let mut spans: Vec<ValueSpan> = Vec::new();
        // Offsets count from the length field of PERF_COUNTER_BLOCK.
        let mut end: usize = 4;
        for (position, counter) in counters.iter().enumerate() {
            let len = length(counter.counter_type.value_len());
            let before = position.checked_sub(1).and_then(|before| counters.get(before));
            let follows = before.is_some_and(|before| before.counter_type.needs_base());
            // A base follows its numerator directly: readers find it by position, because V1 has no reference
            // between counters.
            let is_base = follows && counter.counter_type.is_base();
            let next = position.checked_add(1).and_then(|next| counters.get(next));
            let has_base =
                counter.counter_type.needs_base() && next.is_some_and(|next| next.counter_type.is_base());
            let offset = match spans.last().filter(|_| is_base) {
                // In the data a base follows its numerator after 8 bytes, even if the numerator has only 4.
                Some(numerator) => numerator.offset.saturating_add(8),
                None if len == 8 || has_base => align8(end),
                None => end,
            };
            spans.push(ValueSpan { offset, len });
            // Four zero bytes follow a base of 4 bytes (E5).
            end = offset.saturating_add(if is_base { 8 } else { len });
        }
        // Readers reject a block with more counters than bytes: labels and texts have no bytes.
        Self { spans, block_len: align8(end.max(counters.len())) }
    }

    fn write(&self, out: &mut Vec<u8>, values: impl IntoIterator<Item = u64>) {
        let start = out.len();
        out.extend_from_slice(&size(self.block_len).to_bytes());
        out.resize(start.saturating_add(self.block_len), 0);
        for (span, value) in self.spans.iter().zip(values) {
            let at = start.saturating_add(span.offset);
            let bytes = value.to_le_bytes();
            if let (Some(cell), Some(bytes)) =
                (out.get_mut(at..at.saturating_add(span.len)), bytes.get(..span.len))
            {
                cell.copy_from_slice(bytes);
            }
        }
    }
}

fn pad(out: &mut Vec<u8>) {
    out.resize(align8(out.len()), 0);
}

/// Converts a length to a 4-byte field of a V1 block. A length that does not fit is detected by
/// [`BlockBuilder::finish`]: the whole block is larger still.
fn size(len: usize) -> U32 {
    U32::new(u32::try_from(len).unwrap_or(u32::MAX))
}

/// Returns the sum of two lengths, which is the length of a V1 block; fails if the sum exceeds the limit of readers.
fn checked_len(first: usize, second: usize) -> Result<U32, TooLarge> {
    let total = first.saturating_add(second);
    if i32::try_from(total).is_err() { Err(TooLarge) } else { Ok(size(total)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_2_gib_is_refused() {
        let longest = usize::try_from(i32::MAX).unwrap();
        assert_eq!(checked_len(longest - 8, 8), Ok(U32::new(0x7FFF_FFFF)));
        for (first, second) in [(longest, 1), (1, longest), (longest, longest), (usize::MAX, 1)] {
            assert_eq!(checked_len(first, second), Err(TooLarge), "{first} + {second}");
        }
    }
}
