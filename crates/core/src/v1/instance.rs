//! Reads the instances of a V1 object, their names and their values.

use std::iter::FusedIterator;

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use super::definition::{Definition, Definitions, DefinitionsIter, Layout, Numbers};
use super::{PERF_NO_UNIQUE_ID, raw};
use crate::code_page::InstanceName;
use crate::v2::BlockValue;
use crate::wire::{Cursor, Why, WireError, length};

/// Iterator over the instances of a V1 object. After an error the iterator ends, because the start of the next
/// instance is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Instances<'a> {
    pub(super) rest: Cursor<'a>,
    left: u32,
    layout: Layout<'a>,
    code_page: u32,
}

impl<'a> Instances<'a> {
    pub(super) fn new(rest: Cursor<'a>, count: u32, layout: Layout<'a>, code_page: u32) -> Self {
        Self { rest, left: count, layout, code_page }
    }
}

impl<'a> Iterator for Instances<'a> {
    type Item = Result<Instance<'a>, WireError>;

    // Always: a call for each instance, and an instance that is passed through memory, cost half of a walk.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let instance = Instance::parse(&mut self.rest, self.layout, self.code_page);
        if instance.is_err() {
            self.left = 0;
        }
        Some(instance)
    }
}

impl FusedIterator for Instances<'_> {}

/// Instance of a V1 object, with its values.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_INSTANCE_DEFINITION")]
pub struct Instance<'a> {
    pub(super) header: &'a raw::InstanceDefinition,
    pub(super) offset: usize,
    name: InstanceName<'a>,
    values: Values<'a>,
}

/// Reference to the parent of a V1 instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parent {
    /// Title index of the parent's object, which is not necessarily in the block.
    pub object: u32,
    /// Position of the parent among the instances of that object.
    pub position: u32,
}

impl<'a> Instance<'a> {
    /// Parses the next instance of a V1 object, and checks the rules R17 to R21.
    #[inline(always)]
    fn parse(rest: &mut Cursor<'a>, layout: Layout<'a>, code_page: u32) -> Result<Self, WireError> {
        let offset = rest.offset();
        let bytes = rest.rest();
        let header: &raw::InstanceDefinition =
            rest.clone().read("PERF_INSTANCE_DEFINITION").map_err(|error| error.by("R17"))?;
        let len = length(header.byte_len.get());
        let definition = match rest.take("PERF_INSTANCE_DEFINITION", len) {
            Ok(definition) if len >= 24 => definition.rest(),
            _ => {
                let why = Why::out_of_range(len, 24, bytes.len());
                return Err(WireError::new("PERF_INSTANCE_DEFINITION.ByteLength", offset, why).by("R18"));
            }
        };
        let name = InstanceName::new(name_of(header, offset, definition, code_page)?, code_page);
        let values = Values::parse(rest, layout)?;
        Ok(Self { header, offset, name, values })
    }

    /// Returns the offset of the instance in the V1 block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the name of the instance, without the name of its parent.
    #[must_use]
    pub fn name(&self) -> InstanceName<'a> {
        self.name
    }

    /// Returns the parent of the instance.
    #[must_use]
    pub fn parent(&self) -> Option<Parent> {
        let parent =
            Parent { object: self.header.parent_object.get(), position: self.header.parent_instance.get() };
        (parent.object != 0).then_some(parent)
    }

    /// Returns the numeric id of the instance (`UniqueID`); `None` if the name identifies the instance.
    #[must_use]
    pub fn unique_id(&self) -> Option<i32> {
        let id = self.header.unique_id.get();
        (id != PERF_NO_UNIQUE_ID).then_some(id)
    }

    /// Returns the values of the instance, in the order of the object's definitions.
    #[must_use]
    pub fn values(&self) -> Values<'a> {
        self.values
    }
}

/// Returns the bytes of a V1 instance's name, and checks rule R19.
#[inline(always)]
fn name_of<'a>(
    header: &raw::InstanceDefinition,
    at: usize,
    definition: &'a [u8],
    code_page: u32,
) -> Result<&'a [u8], WireError> {
    let (name_at, name_len) = (length(header.name_at.get()), length(header.name_len.get()));
    // An empty name may have any offset (R19).
    if name_len == 0 {
        return Ok(&[]);
    }
    match definition.get(name_at..name_at.saturating_add(name_len)) {
        Some(name) if name_at >= 24 && (code_page != 0 || name_len & 1 == 0) => Ok(name),
        _ => Err(name_error(at, name_at, name_len, definition.len())),
    }
}

/// Creates the error for an instance name that breaks R19.
#[cold]
fn name_error(at: usize, name_at: usize, name_len: usize, len: usize) -> WireError {
    let error = |what, offset, why| WireError::new(what, at.saturating_add(offset), why).by("R19");
    if name_at < 24 || name_at > len {
        return error("PERF_INSTANCE_DEFINITION.NameOffset", 16, Why::out_of_range(name_at, 24, len));
    }
    let most = len.saturating_sub(name_at);
    let why = match name_len > most {
        true => Why::out_of_range(name_len, 0, most),
        false => Why::Rule("UTF-16 has an even length"),
    };
    error("PERF_INSTANCE_DEFINITION.NameLength", 20, why)
}

/// Values of a V1 instance, or of an object without instances, by position of their definitions.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_BLOCK")]
pub struct Values<'a> {
    pub(super) offset: usize,
    /// Bytes of the whole counter block, including its length field.
    bytes: &'a [u8],
    definitions: Definitions<'a>,
    cells: RowValues<'a>,
}

/// Counter values of a V1 instance, in the layout of their object.
#[derive(Clone, Copy, Debug)]
enum RowValues<'a> {
    /// Counter values that are numbers of 8 bytes, contiguous and in order.
    Dense(&'a [U64]),
    /// Counter values of 4 or 8 bytes that start in the first 256 bytes of the counter block, by their definitions.
    Near(&'a [raw::CounterDefinition], &'a Near),
    /// Counter values of 4 or 8 bytes anywhere in the counter block, by their definitions. The bytes begin with the
    /// block, and have 8 bytes from the start of each number on.
    Far(&'a [raw::CounterDefinition], &'a [u8]),
    /// Counter values of any kind, such as texts.
    Any,
}

/// First bytes of a counter block, as many as a number of 8 bytes at any offset up to 255 needs. Reading a number at
/// such an offset needs no check.
type Near = [u8; 0xFF + 8];

impl<'a> Values<'a> {
    /// Parses the next counter block, and checks the rules R20 and R21. Values outside the block (R23) are detected
    /// when they are read.
    #[inline(always)]
    pub(super) fn parse(rest: &mut Cursor<'a>, layout: Layout<'a>) -> Result<Self, WireError> {
        let start = *rest;
        let header: &raw::CounterBlock =
            start.clone().read("PERF_COUNTER_BLOCK").map_err(|error| error.by("R20"))?;
        let len = length(header.byte_len.get());
        let bytes = match rest.take("PERF_COUNTER_BLOCK", len) {
            Ok(block) if len >= layout.least_len => block.rest(),
            _ => return Err(block_error(start.offset(), start.rest().len(), len)),
        };
        let cells = RowValues::new(bytes, start.rest(), layout.numbers);
        Ok(Self { offset: start.offset(), bytes, definitions: layout.definitions, cells })
    }

    /// Returns the number of counter values, which equals the number of definitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Returns `true` if there are no counter values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Returns the counter value at a position: [`BlockValue::Empty`] if the counter block contains none,
    /// [`BlockValue::Other`] for a text and everything else that is not a number of 4 or 8 bytes.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<BlockValue<'a>> {
        match self.cells {
            RowValues::Dense(values) => values.get(position).map(|value| BlockValue::U64(value.get())),
            _ => self.definitions.get(position).map(|definition| self.value_of(&definition)),
        }
    }

    /// Returns the number of items of a multi timer that has no separate definition for this number: the 4 bytes after
    /// the timer's value.
    ///
    /// Source: MS Learn, "Retrieving Counter Data", which reads it there.
    #[must_use]
    pub fn items_behind(&self, definition: &Definition<'_>) -> Option<u32> {
        let at = definition.value_at().checked_add(definition.value_len())?;
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// Returns the counter values of the instance, in order.
    #[must_use]
    pub fn iter(&self) -> ValuesIter<'a> {
        let (layout, dense, numbers, bytes): (_, &[U64], &[raw::CounterDefinition], &[u8]) = match self.cells
        {
            RowValues::Dense(values) => (RowLayout::Dense, values, &[], &[]),
            RowValues::Near(definitions, near) => (RowLayout::Near, &[], definitions, near),
            RowValues::Far(definitions, far) => (RowLayout::Far, &[], definitions, far),
            RowValues::Any => (RowLayout::Any, &[], &[], &[]),
        };
        let (dense, numbers, rest) = (dense.iter(), numbers.iter(), self.definitions.iter());
        ValuesIter { layout, dense, numbers, bytes, values: *self, rest }
    }

    /// Returns `true` if the counter block contains the value of a definition (R23).
    pub(super) fn holds(&self, definition: &Definition<'_>) -> bool {
        definition.value_at() >= 4
            && definition.value_at().saturating_add(definition.value_len()) <= self.bytes.len()
    }

    /// Returns the number of bytes of the counter block.
    pub(super) fn block_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the counter value of a definition, which must belong to the same object.
    #[must_use]
    #[inline]
    pub fn value_of(&self, definition: &Definition<'_>) -> BlockValue<'a> {
        let (at, len) = (definition.value_at(), definition.value_len());
        if len == 0 || at < 4 {
            return BlockValue::Empty;
        }
        match self.bytes.get(at..at.saturating_add(len)) {
            None => BlockValue::Empty,
            Some(bytes) if definition.is_text() => BlockValue::Other(bytes),
            Some(bytes) => BlockValue::from_bytes(bytes),
        }
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = BlockValue<'a>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// Creates the error of a counter block that breaks R21 or has fewer bytes than counters.
#[cold]
fn block_error(offset: usize, left: usize, len: usize) -> WireError {
    let (why, rule) = match len < 4 || len > left {
        true => (Why::out_of_range(len, 4, left), "R21"),
        false => (Why::Rule("the counters are not more than the bytes of their block"), "the reader's limit"),
    };
    WireError::new("PERF_COUNTER_BLOCK.ByteLength", offset, why).by(rule)
}

impl<'a> RowValues<'a> {
    /// Selects the layout for reading the values of a counter block. `all` contains the bytes of the block and those
    /// that follow it.
    #[inline(always)]
    fn new(bytes: &'a [u8], all: &'a [u8], numbers: Numbers<'a>) -> Self {
        // If a block is too short for all values, they are read one by one: those inside it are valid (R23).
        match numbers {
            Numbers::Dense { from, end } => {
                let values =
                    bytes.get(from..end).map(|values| <[U64]>::ref_from_bytes(values).unwrap_or_default());
                values.map_or(Self::Any, Self::Dense)
            }
            // The bytes after a block are read, too, where its last number has 4 bytes and ends with it.
            Numbers::Placed { definitions, end, reach } if end <= bytes.len() => match all.first_chunk() {
                Some(near) if reach <= size_of::<Near>() => Self::Near(definitions, near),
                _ => Self::far(all, definitions, reach),
            },
            _ => Self::Any,
        }
    }

    /// Selects the layout for numbers in a long counter block. Cold: its loop has a check and an exit for each number,
    /// and would otherwise take registers from the loops of the other layouts.
    #[cold]
    fn far(all: &'a [u8], definitions: &'a [raw::CounterDefinition], reach: usize) -> Self {
        all.get(..reach).map_or(Self::Any, |far| Self::Far(definitions, far))
    }
}

/// Returns the 8 bytes at an offset of a counter block as a number. Callers pass bytes that contain all numbers of
/// the block.
#[inline(always)]
fn long_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.saturating_add(8))?.try_into().ok().map(u64::from_le_bytes)
}

/// Returns the counter value of a definition from the 8 bytes at the value's offset. A number of 4 bytes is the lower
/// half of them: cheaper than a branch for each value.
#[inline(always)]
fn number<'a>(definition: &raw::CounterDefinition, long: u64) -> BlockValue<'a> {
    match definition.counter_size.get() {
        8 => BlockValue::U64(long),
        _ => BlockValue::U32(u32::try_from(long & 0xFFFF_FFFF).unwrap_or(u32::MAX)),
    }
}

/// Reads a counter value of any kind from a V1 counter block. The iterator is passed by value: a reference to it
/// would keep it in memory for the other layouts, too.
#[cold]
fn value_of_any<'a>(
    values: Values<'a>,
    mut rest: DefinitionsIter<'a>,
) -> Option<(BlockValue<'a>, DefinitionsIter<'a>)> {
    let value = values.value_of(&rest.next()?);
    Some((value, rest))
}

/// Iterator over the counter values of [`Values`], in order.
///
/// The layout never changes, so that a compiler makes one loop for each layout of whatever a caller writes, without a
/// decision for each value. An enum with one iterator in each variant hides that from it.
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    layout: RowLayout,
    dense: std::slice::Iter<'a, U64>,
    /// Remaining counter definitions of [`RowLayout::Near`] and [`RowLayout::Far`].
    numbers: std::slice::Iter<'a, raw::CounterDefinition>,
    /// Bytes from the start of the counter block on, for [`RowLayout::Near`] and [`RowLayout::Far`].
    bytes: &'a [u8],
    values: Values<'a>,
    /// Remaining counter definitions of [`RowLayout::Any`].
    rest: DefinitionsIter<'a>,
}

/// Layout of counter values: the variants of [`RowValues`], without their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowLayout {
    Dense,
    Near,
    Far,
    Any,
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = BlockValue<'a>;

    #[inline]
    fn next(&mut self) -> Option<BlockValue<'a>> {
        match self.layout {
            RowLayout::Dense => self.dense.next().map(|value| BlockValue::U64(value.get())),
            RowLayout::Near => {
                let definition = self.numbers.next()?;
                let [at, ..] = definition.counter_at.to_bytes();
                let near: &Near = self.bytes.first_chunk()?;
                // If there were none, the values would end: cheaper than one more kind of value for a caller.
                Some(number(definition, long_at(near, at.into())?))
            }
            RowLayout::Far => {
                let definition = self.numbers.next()?;
                Some(number(definition, long_at(self.bytes, length(definition.counter_at.get()))?))
            }
            RowLayout::Any => {
                let (value, rest) = value_of_any(self.values, self.rest.clone())?;
                self.rest = rest;
                Some(value)
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.layout {
            RowLayout::Dense => self.dense.len(),
            RowLayout::Near | RowLayout::Far => self.numbers.len(),
            RowLayout::Any => self.rest.len(),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}
impl FusedIterator for ValuesIter<'_> {}
