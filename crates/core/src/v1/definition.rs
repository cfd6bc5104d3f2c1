//! Counter definitions of a V1 object and the layout of the values.

use zerocopy::FromBytes;

use super::raw;
use crate::counter_type::{CounterType, Size, ValueKind};
use crate::counterset::DetailLevel;
use crate::wire::{Cursor, Why, WireError, length};

/// Counter definitions of a V1 object, by position.
///
/// Several counters can have the same title index: a base has that of its numerator. Only the position is unique.
#[derive(Clone, Copy, Debug)]
pub struct Definitions<'a>(List<'a>);

#[derive(Clone, Copy, Debug)]
enum List<'a> {
    /// Counter definitions that all have 40 bytes, as every known writer produces.
    Uniform { all: &'a [raw::CounterDefinition], offset: usize },
    /// Counter definitions of which some are longer than 40 bytes: read one by one, by their lengths.
    Walked { bytes: Cursor<'a>, count: u32 },
}

impl<'a> Definitions<'a> {
    /// Parses the counter definitions of a V1 object, and checks the rules R14 and R15.
    pub(super) fn parse(bytes: Cursor<'a>, count: u32, object_at: usize) -> Result<Self, WireError> {
        // Checked first, so that a hostile count cannot cause more work than the block has bytes.
        let room = bytes.rest().len().wrapping_div(40);
        if length(count) > room {
            let why = Why::CountTooLarge { count, room };
            let at = object_at.saturating_add(32);
            return Err(WireError::new("PERF_OBJECT_TYPE.NumCounters", at, why).by("R14"));
        }
        if let Ok((all, _)) =
            <[raw::CounterDefinition]>::ref_from_prefix_with_elems(bytes.rest(), length(count))
        {
            // The length is a field, so definitions could be longer; in practice all have 40 bytes, and are
            // then an array.
            if all.iter().all(|definition| definition.byte_len.get() == 40) {
                return Ok(Self(List::Uniform { all, offset: bytes.offset() }));
            }
        }
        let mut rest = bytes;
        for _ in 0..count {
            Definition::parse(&mut rest)?;
        }
        Ok(Self(List::Walked { bytes, count }))
    }

    /// Returns the number of counter definitions.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            List::Uniform { all, .. } => all.len(),
            List::Walked { count, .. } => length(count),
        }
    }

    /// Returns `true` if there are no counter definitions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the counter definitions of the object, in order.
    #[must_use]
    pub fn iter(&self) -> DefinitionsIter<'a> {
        DefinitionsIter { list: self.0, next: 0, len: self.len() }
    }

    /// Returns the counter definition at a position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<Definition<'a>> {
        match self.0 {
            List::Uniform { all, offset } => Some(Definition {
                raw: all.get(position)?,
                offset: offset.saturating_add(position.saturating_mul(40)),
            }),
            List::Walked { .. } => self.iter().nth(position),
        }
    }
}

/// Iterator over the counter definitions of a V1 object ([`Definitions`]), in order.
#[derive(Clone, Debug)]
pub struct DefinitionsIter<'a> {
    list: List<'a>,
    next: usize,
    len: usize,
}

impl<'a> Iterator for DefinitionsIter<'a> {
    type Item = Definition<'a>;

    fn next(&mut self) -> Option<Definition<'a>> {
        let position = self.next;
        if position >= self.len {
            return None;
        }
        self.next = position.saturating_add(1);
        match &mut self.list {
            List::Uniform { .. } => Definitions(self.list).get(position),
            List::Walked { bytes, .. } => Definition::parse(bytes).ok(), // checked before: always there
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for DefinitionsIter<'_> {}

/// Counter definition of a V1 object.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_DEFINITION")]
pub struct Definition<'a> {
    pub(super) raw: &'a raw::CounterDefinition,
    pub(super) offset: usize,
}

impl<'a> Definition<'a> {
    /// Parses the next counter definition, and checks the last part of rule R14, and rule R15.
    fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let left = rest.rest().len();
        let raw: &raw::CounterDefinition =
            rest.read("PERF_COUNTER_DEFINITION").map_err(|error| error.by("R14"))?;
        let len = length(raw.byte_len.get());
        let more = len.checked_sub(40).filter(|more| *more <= rest.rest().len());
        let Some(more) = more else {
            let why = Why::out_of_range(len, 40, left);
            return Err(WireError::new("PERF_COUNTER_DEFINITION.ByteLength", offset, why).by("R15"));
        };
        rest.take("PERF_COUNTER_DEFINITION", more)?;
        Ok(Self { raw, offset })
    }

    /// Returns the offset of the counter definition in the V1 block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the index of the counter's name in the name table.
    #[must_use]
    pub fn name_index(&self) -> u32 {
        self.raw.name_index.get()
    }

    /// Returns the index of the counter's help text in the help table.
    #[must_use]
    pub fn help_index(&self) -> u32 {
        self.raw.help_index.get()
    }

    /// Returns the power of ten by which charts multiply the counter's values.
    #[must_use]
    pub fn default_scale(&self) -> i32 {
        self.raw.default_scale.get()
    }

    /// Returns the detail level of the counter: its intended audience.
    #[must_use]
    pub fn detail(&self) -> DetailLevel {
        DetailLevel(self.raw.detail.get())
    }

    /// Returns the counter type, which selects the formula.
    #[must_use]
    pub fn counter_type(&self) -> CounterType {
        CounterType(self.raw.counter_type.get())
    }

    /// Returns the number of bytes of the counter's value, regardless of the size bits of the counter type; 0 if
    /// there is no value.
    #[must_use]
    pub fn value_len(&self) -> usize {
        match self.counter_type().decode().size {
            Size::Zero => 0,
            _ => length(self.raw.counter_size.get()),
        }
    }

    /// Returns the offset of the counter's value in a PERF_COUNTER_BLOCK.
    #[must_use]
    pub fn value_at(&self) -> usize {
        length(self.raw.counter_at.get())
    }

    /// Returns `true` if the following definition is the base or the number of items of this counter.
    ///
    /// A base is identified by the order of definitions, never by the offset of its value. A following definition
    /// that is no base is never used as a base (R25), and the base of another counter type is never used as a number
    /// of items.
    #[must_use]
    pub fn is_followed_by_base(&self, next: &Self) -> bool {
        let counter_type = self.counter_type();
        counter_type.needs_base()
            && match counter_type.decode().multi {
                true => next.counter_type() == CounterType::PERF_COUNTER_MULTI_BASE,
                false => next.counter_type().is_base(),
            }
    }

    /// Returns `true` if the value of the counter is a text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.counter_type().decode().kind, ValueKind::Text(_))
    }
}

/// Layout of the counter blocks of a V1 object, determined once for all instances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'a> {
    pub definitions: Definitions<'a>,
    /// Minimum number of bytes of a counter block (R21, or the reader's limit).
    pub least_len: usize,
    pub numbers: Numbers<'a>,
}

/// Number of counters that even the shortest counter block may have; a longer block may have one counter per byte.
/// Counters can share bytes or have none, so without a limit few bytes in many instances would cost unbounded work
/// and memory. This limit belongs to the reader, not to the format: no known block reaches it.
const MOST_COUNTERS_OF_ANY_BLOCK: usize = 128;

/// Layout of a V1 counter block whose values are all numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    /// Numbers of 8 bytes, contiguous and in the order of the definitions: offsets of their begin and their end.
    Dense { from: usize, end: usize },
    /// Numbers of 4 or 8 bytes anywhere in the counter block, found by their definitions.
    Placed {
        definitions: &'a [raw::CounterDefinition],
        /// Offset of the end of the last number in the counter block.
        end: usize,
        /// Number of readable bytes that a counter block needs: every number is read as 8 bytes, even a number of 4
        /// bytes.
        reach: usize,
    },
    /// Counter block whose values are not all numbers of 4 or 8 bytes.
    No,
}

impl<'a> Layout<'a> {
    pub fn new(definitions: Definitions<'a>) -> Self {
        let count = definitions.len();
        let least_len = if count > MOST_COUNTERS_OF_ANY_BLOCK { count } else { 4 };
        Self { definitions, least_len, numbers: Numbers::new(definitions) }
    }
}

impl<'a> Numbers<'a> {
    fn new(definitions: Definitions<'a>) -> Self {
        let from = definitions.get(0).map_or(4, |first| first.value_at());
        let (mut is_dense, mut next) = (true, from);
        let (mut end, mut reach) = (4, 4);
        for definition in definitions.iter() {
            let (at, len) = (definition.value_at(), definition.value_len());
            // A value below offset 4 would overlap the length field. It is invalid (R23), so such rows are read
            // value by value.
            if !matches!(len, 4 | 8) || at < 4 || definition.is_text() {
                return Self::No;
            }
            is_dense &= at == next && len == 8;
            next = at.saturating_add(len);
            end = next.max(end);
            reach = at.saturating_add(8).max(reach);
        }
        match definitions.0 {
            _ if is_dense => Self::Dense { from, end },
            List::Uniform { all, .. } => Self::Placed { definitions: all, end, reach },
            List::Walked { .. } => Self::No,
        }
    }
}
