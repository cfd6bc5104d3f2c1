//! Hiding of instance names in the captured responses of a Windows machine.

use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;

use perfset_core::Name;
use perfset_core::v1::{self, Contents, DataBlock, raw};
use perfset_core::v2::{self, BlockFormat, BlockValue, PERF_AGGREGATE_INSTANCE};
use perfset_core::visit::{Event, FieldValue, VisitFn};
use perfset_core::wire::WireError;

/// Mask that replaces names of instances by random letters. Each gets letters of its own, as many as it has. Blocks
/// therefore keep their length, and an instance has one name in all of them. Each value of this type has different
/// letters.
///
/// Totals and numbers, as processors have for names, stay. Of all else only data with a meaning is shown: fields and
/// numbers. Padding, texts that are values, and everything that cannot be parsed, are zeros.
#[derive(Debug, Default)]
pub struct NameMask(RandomState);

impl NameMask {
    /// Creates a mask of instance names with new random letters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the instance names in a list of instances.
    ///
    /// # Errors
    /// The first data that cannot be parsed: it and everything after it are overwritten with zeros.
    pub fn in_list(&self, list: &mut [u8]) -> Result<(), WireError> {
        self.tell(list, |bytes, visit| v2::visit(BlockFormat::Instances, bytes, visit))
    }

    /// Replaces the instance names in a PERF_DATA_HEADER block.
    ///
    /// # Errors
    /// As [`in_list`](Self::in_list).
    pub fn in_v2(&self, block: &mut [u8]) -> Result<(), WireError> {
        self.tell(block, |bytes, visit| v2::visit(BlockFormat::Data, bytes, visit))
    }

    /// Replaces the instance names in a PERF_DATA_BLOCK.
    ///
    /// # Errors
    /// The first data that cannot be parsed: an object, of which only the length is left, or the rest of its
    /// instances.
    pub fn in_v1(&self, block: &mut [u8]) -> Result<(), WireError> {
        let (mut lengths, mut first) = (Vec::new(), Ok(()));
        let mut objects = DataBlock::parse(block).map(|block| block.objects());
        while let Ok(objects) = &mut objects {
            let at = objects.offset();
            let Some(object) = objects.next() else { break };
            let read = object.and_then(|object| match object.contents() {
                Contents::Multiple(mut instances) => instances.try_for_each(|instance| instance.map(drop)),
                Contents::Single(_) | Contents::Metadata { .. } => Ok(()),
            });
            // Other objects may follow one of a known length.
            if read.is_err() && objects.offset() > at {
                let length = at..at.saturating_add(4);
                lengths.extend(block.get(length.clone()).map(|bytes| (length, bytes.to_vec())));
            }
            first = first.and(read);
        }
        self.tell(block, v1::visit)?;
        // Without its length, a reader could not find the objects behind it.
        for (range, length) in lengths {
            block.get_mut(range).unwrap_or_default().copy_from_slice(&length);
        }
        first
    }

    /// Replaces the instance names in a block and sets all bytes to 0, except for the fields that `walk` visits.
    fn tell(
        &self,
        bytes: &mut [u8],
        walk: impl FnOnce(&[u8], &mut VisitFn<'_>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        // Known fields are copied into zeros, and not unknown ones erased: a field that is forgotten here
        // stays hidden.
        let mut told = vec![0; bytes.len()];
        let walked = walk(bytes, &mut |event| {
            let (offset, name, value) = match event {
                Event::Field { offset, name, value, .. } => (offset, name, value),
                Event::CounterValue { offset, value, .. } => (offset, "", value),
                _ => return ControlFlow::Continue(()),
            };
            let letters;
            let field = match (name, value) {
                ("Signature" | "system name", FieldValue::Text(text)) => text.as_bytes(),
                ("name", FieldValue::Text(text)) => {
                    letters = self.name(text.as_bytes(), 2);
                    &letters
                }
                ("name", FieldValue::InstanceName(text)) => {
                    letters = self.name(text.as_bytes(), if text.is_wide() { 2 } else { 1 });
                    &letters
                }
                (_, value) => bytes.get(offset..offset.saturating_add(width(value))).unwrap_or_default(),
            };
            if let Some(room) = told.get_mut(offset..offset.saturating_add(field.len())) {
                room.copy_from_slice(field);
            }
            ControlFlow::Continue(())
        });
        bytes.copy_from_slice(&told);
        walked
    }

    /// Returns the letters that replace an instance name, in units of `unit` bytes.
    fn name(&self, name: &[u8], unit: usize) -> Vec<u8> {
        let mut name = name.to_vec();
        if is_told(&name, unit) {
            return name;
        }
        // The keys of the hash are random and stored nowhere, so no one can find a name by hashing
        // candidates.
        let hash = self.0.hash_one(&name);
        for (position, unit) in (0_u64..).zip(name.chunks_exact_mut(unit)) {
            let letter = self.0.hash_one((hash, position)).checked_rem(26).unwrap_or(0);
            unit.fill(0);
            if let Some(first) = unit.first_mut() {
                *first = b'a'.saturating_add(u8::try_from(letter).unwrap_or(0));
            }
        }
        name
    }
}

/// Returns the size of a block's number field in bytes; 0 for a text, and for a field without a meaning.
fn width(value: FieldValue<'_>) -> usize {
    match value {
        FieldValue::U32(_)
        | FieldValue::I32(_)
        | FieldValue::IdOrAll(_)
        | FieldValue::Status(_)
        | FieldValue::Kind(_)
        | FieldValue::CounterType(_)
        | FieldValue::Value(BlockValue::U32(_)) => 4,
        FieldValue::I64(_) | FieldValue::Attributes(_) | FieldValue::Value(BlockValue::U64(_)) => 8,
        FieldValue::Guid(_) | FieldValue::Time(_) => 16,
        FieldValue::Value(BlockValue::Empty | BlockValue::Other(_))
        | FieldValue::Text(_)
        | FieldValue::Ascii(_)
        | FieldValue::InstanceName(_)
        | FieldValue::Bytes(_) => 0,
    }
}

/// Returns `true` if an instance name reveals nothing: it consists only of digits, commas and names of totals.
fn is_told(name: &[u8], unit: usize) -> bool {
    let text = match unit {
        1 => name.iter().copied().map(char::from).collect(),
        _ => Name::until_nul(name).to_string(),
    };
    text.replace(PERF_AGGREGATE_INSTANCE, "").chars().all(|c| c.is_ascii_digit() || c == ',')
}

/// Replaces the name of the machine in the header of a PERF_DATA_BLOCK by as many X, and the bytes around it by
/// zeros.
///
/// # Errors
/// If the block cannot be parsed; it is zeros then.
pub fn machine_in_v1(block: &mut [u8]) -> Result<(), WireError> {
    let place = DataBlock::parse(block).map(|parsed| {
        let name = parsed.system_name().as_bytes();
        let at = name.as_ptr().addr().wrapping_sub(block.as_ptr().addr());
        (at..at.saturating_add(name.len()), parsed.objects().offset())
    });
    let Ok((name, end)) = place else {
        block.fill(0);
        return place.map(drop);
    };
    block.get_mut(size_of::<raw::DataBlockHeader>()..end).unwrap_or_default().fill(0);
    for unit in block.get_mut(name).unwrap_or_default().chunks_exact_mut(2) {
        unit.copy_from_slice(&[b'X', 0]);
    }
    Ok(())
}
