//! Reads the instances of a V1 object, their names and their values.

use std::iter::FusedIterator;

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use super::definition::{Definition, Definitions, DefinitionsIter, Layout};
use super::{PERF_NO_UNIQUE_ID, raw};
use crate::code_page::InstanceName;
use crate::v2::BlockValue;
use crate::wire::{Cursor, Why, WireError, length};

/// Instances of an object. After an error the iterator ends, because the start of the next instance is unknown.
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

/// Instance of an object, with its values.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_INSTANCE_DEFINITION")]
pub struct Instance<'a> {
    pub(super) header: &'a raw::InstanceDefinition,
    pub(super) offset: usize,
    name: InstanceName<'a>,
    values: Values<'a>,
}

/// Reference to the parent of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parent {
    /// Title index of the parent's object, which is not necessarily in the block.
    pub object: u32,
    /// Position of the parent among the instances of that object.
    pub position: u32,
}

impl<'a> Instance<'a> {
    /// Checks R17 to R21.
    #[inline(always)]
    fn parse(rest: &mut Cursor<'a>, layout: Layout<'a>, code_page: u32) -> Result<Self, WireError> {
        let offset = rest.offset();
        let bytes = rest.rest();
        let header: &raw::InstanceDefinition =
            rest.read("PERF_INSTANCE_DEFINITION").map_err(|error| error.by("R17"))?;
        let len = length(header.byte_len.get());
        if len < 24 || len > bytes.len() {
            let why = Why::out_of_range(len, 24, bytes.len());
            return Err(WireError::new("PERF_INSTANCE_DEFINITION.ByteLength", offset, why).by("R18"));
        }
        rest.take("PERF_INSTANCE_DEFINITION", len.saturating_sub(24))?;
        let name = InstanceName::new(name_of(header, offset, bytes, len, code_page)?, code_page);
        let values = Values::parse(rest, layout)?;
        Ok(Self { header, offset, name, values })
    }

    /// Returns the offset of the instance in the block.
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

    /// Returns the number that identifies the instance; `None` if the name does.
    #[must_use]
    pub fn unique_id(&self) -> Option<i32> {
        let id = self.header.unique_id.get();
        (id != PERF_NO_UNIQUE_ID).then_some(id)
    }

    /// Returns the values, in the order of the object's definitions.
    #[must_use]
    pub fn values(&self) -> Values<'a> {
        self.values
    }
}

/// Returns the bytes of the name. Checks R19.
#[inline]
fn name_of<'a>(
    header: &raw::InstanceDefinition,
    at: usize,
    bytes: &'a [u8],
    len: usize,
    code_page: u32,
) -> Result<&'a [u8], WireError> {
    let (name_at, name_len) = (length(header.name_at.get()), length(header.name_len.get()));
    // An empty name may have any offset (R19).
    if name_len == 0 {
        return Ok(&[]);
    }
    let error = |what, offset, why| Err(WireError::new(what, at.saturating_add(offset), why).by("R19"));
    if name_at < 24 || name_at > len {
        return error("PERF_INSTANCE_DEFINITION.NameOffset", 16, Why::out_of_range(name_at, 24, len));
    }
    let most = len.saturating_sub(name_at);
    if name_len > most {
        return error("PERF_INSTANCE_DEFINITION.NameLength", 20, Why::out_of_range(name_len, 0, most));
    }
    if code_page == 0 && name_len & 1 != 0 {
        let why = Why::Rule("UTF-16 has an even length");
        return error("PERF_INSTANCE_DEFINITION.NameLength", 20, why);
    }
    Ok(bytes.get(name_at..name_at.saturating_add(name_len)).unwrap_or_default())
}

/// Number of counters permitted in any block; a block of more bytes may contain one counter per byte. Counters can
/// share bytes or have none, so without a limit few bytes in many instances would cost unbounded work and memory.
/// This limit belongs to the reader, not to the format: no known block reaches it.
const MOST_COUNTERS_OF_ANY_BLOCK: usize = 128;

/// Values of one instance, or of an object without instances, by position of their definitions.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_BLOCK")]
pub struct Values<'a> {
    pub(super) offset: usize,
    /// Whole counter block, including its length field.
    bytes: &'a [u8],
    definitions: Definitions<'a>,
    cells: RowValues<'a>,
}

/// Values in the layout of their object.
#[derive(Clone, Copy, Debug)]
enum RowValues<'a> {
    /// Numbers of 8 bytes, contiguous and in order.
    Dense(&'a [U64]),
    /// Numbers of 4 or 8 bytes anywhere in the counter block, by their definitions.
    Numbers(&'a [raw::CounterDefinition]),
    /// Values of any kind.
    Any,
}

impl<'a> Values<'a> {
    /// Checks R20 and R21. Values outside the block (R23) are detected when they are read.
    #[inline(always)]
    pub(super) fn parse(rest: &mut Cursor<'a>, layout: Layout<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let all = rest.rest();
        let header: &raw::CounterBlock = rest.read("PERF_COUNTER_BLOCK").map_err(|error| error.by("R20"))?;
        let len = length(header.byte_len.get());
        let Some(bytes) = all.get(..len).filter(|bytes| bytes.len() >= 4) else {
            let why = Why::out_of_range(len, 4, all.len());
            return Err(WireError::new("PERF_COUNTER_BLOCK.ByteLength", offset, why).by("R21"));
        };
        if layout.definitions.len() > MOST_COUNTERS_OF_ANY_BLOCK && layout.definitions.len() > len {
            let why = Why::Rule("the counters are not more than the bytes of their block");
            return Err(WireError::new("PERF_COUNTER_BLOCK.ByteLength", offset, why).by("the reader's limit"));
        }
        rest.take("PERF_COUNTER_BLOCK", len.saturating_sub(4))?;
        let definitions = layout.definitions;
        // If a block is too short for all values, they are read one by one: those inside it are valid (R23).
        let dense = layout.dense_from.and_then(|from| {
            let (values, _) =
                <[U64]>::ref_from_prefix_with_elems(bytes.get(from..)?, definitions.len()).ok()?;
            Some(values)
        });
        let cells = match (dense, layout.numbers) {
            (Some(values), _) => RowValues::Dense(values),
            (None, Some(definitions)) => RowValues::Numbers(definitions),
            (None, None) => RowValues::Any,
        };
        Ok(Self { offset, bytes, definitions, cells })
    }

    /// Returns the number of values, which equals the number of definitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Returns `true` if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Returns the value at a position: [`BlockValue::Empty`] if the counter block contains none,
    /// [`BlockValue::Other`] for a text and everything else that is not a number of 4 or 8 bytes.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<BlockValue<'a>> {
        match self.cells {
            RowValues::Dense(values) => values.get(position).map(|value| BlockValue::U64(value.get())),
            RowValues::Numbers(definitions) => {
                definitions.get(position).map(|definition| number(self.bytes, definition))
            }
            RowValues::Any => self.definitions.get(position).map(|definition| self.value_of(&definition)),
        }
    }

    /// Returns the number of items of a multi timer without its own definition of it: the 4 bytes after its value.
    ///
    /// Source: MS Learn, "Retrieving Counter Data", which reads it there.
    #[must_use]
    pub fn items_behind(&self, definition: &Definition<'_>) -> Option<u32> {
        let at = definition.value_at().checked_add(definition.value_len())?;
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// Returns the values, in order.
    #[must_use]
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter(match self.cells {
            RowValues::Dense(values) => Iter::Dense(values.iter()),
            RowValues::Numbers(definitions) => {
                Iter::Numbers { bytes: self.bytes, definitions: definitions.iter() }
            }
            RowValues::Any => Iter::Any { values: *self, definitions: self.definitions.iter() },
        })
    }

    /// Returns `true` if the value of a definition is inside the counter block (R23).
    pub(super) fn holds(&self, definition: &Definition<'_>) -> bool {
        definition.value_at() >= 4
            && definition.value_at().saturating_add(definition.value_len()) <= self.bytes.len()
    }

    /// Returns the number of bytes of the counter block.
    pub(super) fn block_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the value of a definition, which must belong to the same object.
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

/// Reads a number of 4 or 8 bytes; [`BlockValue::Empty`] if it is outside the counter block (R23).
#[inline]
fn number<'a>(bytes: &'a [u8], definition: &raw::CounterDefinition) -> BlockValue<'a> {
    let (at, is_long) = (length(definition.counter_at.get()), definition.counter_size.get() == 8);
    // 8 bytes are read for both widths, and a number of 4 bytes is their lower half: cheaper than a branch for each.
    match bytes.get(at..at.saturating_add(8)).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
    {
        Some(long) if is_long => BlockValue::U64(long),
        Some(long) => BlockValue::U32(u32::try_from(long & 0xFFFF_FFFF).unwrap_or(u32::MAX)),
        None => last_number(bytes, at, is_long),
    }
}

/// Reads a number that starts fewer than 8 bytes before the end of its counter block.
#[cold]
#[inline(never)]
fn last_number(bytes: &[u8], at: usize, is_long: bool) -> BlockValue<'_> {
    match bytes.get(at..at.saturating_add(4)).and_then(|bytes| bytes.try_into().ok()) {
        Some(short) if !is_long => BlockValue::U32(u32::from_le_bytes(short)),
        _ => BlockValue::Empty,
    }
}

/// Iterator over the values of [`Values`], in order.
#[derive(Clone, Debug)]
pub struct ValuesIter<'a>(Iter<'a>);

/// Variants of [`RowValues`] as iterators.
#[derive(Clone, Debug)]
enum Iter<'a> {
    Dense(std::slice::Iter<'a, U64>),
    Numbers { bytes: &'a [u8], definitions: std::slice::Iter<'a, raw::CounterDefinition> },
    Any { values: Values<'a>, definitions: DefinitionsIter<'a> },
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = BlockValue<'a>;

    #[inline]
    fn next(&mut self) -> Option<BlockValue<'a>> {
        match &mut self.0 {
            Iter::Dense(values) => values.next().map(|value| BlockValue::U64(value.get())),
            Iter::Numbers { bytes, definitions } => {
                definitions.next().map(|definition| number(bytes, definition))
            }
            Iter::Any { values, definitions } => {
                definitions.next().map(|definition| values.value_of(&definition))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.0 {
            Iter::Dense(values) => values.len(),
            Iter::Numbers { definitions, .. } => definitions.len(),
            Iter::Any { definitions, .. } => definitions.len(),
        };
        (left, Some(left))
    }

    /// Selects the layout once, not for each value.
    #[inline]
    fn fold<B, F: FnMut(B, BlockValue<'a>) -> B>(self, init: B, mut f: F) -> B {
        match self.0 {
            Iter::Dense(values) => values.fold(init, |all, value| f(all, BlockValue::U64(value.get()))),
            Iter::Numbers { bytes, definitions } => {
                definitions.fold(init, |all, definition| f(all, number(bytes, definition)))
            }
            Iter::Any { values, definitions } => {
                definitions.fold(init, |all, definition| f(all, values.value_of(&definition)))
            }
        }
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}
impl FusedIterator for ValuesIter<'_> {}
