//! Reads a V1 block and its objects.

use std::iter::FusedIterator;

use super::definition::{Definitions, Layout};
use super::instance::{Instances, Values};
use super::{PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES, PERF_NO_INSTANCES, raw};
use crate::clock::ClockReading;
use crate::counterset::DetailLevel;
use crate::utf16::Name;
use crate::wire::{Cursor, Why, WireError, length};

/// Signature at the start of a V1 block: "PERF" in UTF-16.
pub(super) const SIGNATURE: [u8; 8] = *b"P\0E\0R\0F\0";

/// V1 block of performance data: the result of one query.
///
/// **Shape**: a header with clocks and the name of the machine, followed by objects. Each object has definitions of
/// counters, followed by values: one set for the object, or one per instance.
///
/// [`parse`](Self::parse) checks the header, and each step of an iterator checks the item that it returns, so that
/// the getters cannot fail. A view borrows and allocates nothing. It accepts everything that can be read safely;
/// [`read`](super::read) checks the other rules.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_DATA_BLOCK")]
pub struct DataBlock<'a> {
    pub(super) header: &'a raw::DataBlockHeader,
    /// Bytes of the V1 block: the header and all objects.
    pub(super) bytes: &'a [u8],
    pub(super) is_repaired: bool,
}

impl<'a> DataBlock<'a> {
    /// Returns `true` if the bytes begin with the signature of a V1 block.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&SIGNATURE)
    }

    /// Checks the header of a V1 block and creates a view of `TotalByteLength` bytes; later bytes are ignored.
    ///
    /// Some writers exclude the header from that length. The header length is added if the bytes are longer by
    /// exactly this length and the objects do not end at the given length.
    ///
    /// # Errors
    /// Violation of one of the rules R1 to R6 and R8.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let header: &raw::DataBlockHeader =
            Cursor::new(bytes).read("PERF_DATA_BLOCK").map_err(|error| error.by("R1"))?;
        let error = |what, at, why, rule| Err(WireError::new(what, at, why).by(rule));
        if header.signature != SIGNATURE {
            let why = Why::Rule("the signature is PERF in UTF-16");
            return error("PERF_DATA_BLOCK.Signature", 0, why, "R2");
        }
        // Refused, not converted: no writer of big-endian blocks is known (R3).
        if header.little_endian.get() != 1 {
            let why = Why::Rule("the block is little-endian");
            return error("PERF_DATA_BLOCK.LittleEndian", 8, why, "R3");
        }
        if header.version.get() != 1 {
            return error("PERF_DATA_BLOCK.Version", 12, Why::Rule("the version is 1"), "R4");
        }
        let (total, header_len) = (length(header.total_len.get()), length(header.header_len.get()));
        if total < 88 || total > bytes.len() {
            let why = Why::out_of_range(total, 88, bytes.len());
            return error("PERF_DATA_BLOCK.TotalByteLength", 20, why, "R5");
        }
        if header_len < 88 || header_len > total {
            let why = Why::out_of_range(header_len, 88, total);
            return error("PERF_DATA_BLOCK.HeaderLength", 24, why, "R6");
        }
        let (name_len, name_at) = (length(header.system_name_len.get()), length(header.system_name_at.get()));
        // Without a name the offset may have any value (R8).
        if name_len > 0 {
            if name_at < 88 || name_at > header_len {
                let why = Why::out_of_range(name_at, 88, header_len);
                return error("PERF_DATA_BLOCK.SystemNameOffset", 84, why, "R8");
            }
            let most = header_len.saturating_sub(name_at);
            if name_len > most || name_len & 1 != 0 {
                let why = match name_len > most {
                    true => Why::out_of_range(name_len, 0, most),
                    false => Why::Rule("UTF-16 has an even length"),
                };
                return error("PERF_DATA_BLOCK.SystemNameLength", 80, why, "R8");
            }
        }
        // Some writers do not count the header in the total length. The objects show which of both lengths is
        // right.
        let is_short = header_len.checked_add(total) == Some(bytes.len())
            && end_of_objects(header, bytes.get(..total).unwrap_or_default()) != Some(total);
        let end = if is_short { bytes.len() } else { total };
        Ok(Self { header, bytes: bytes.get(..end).unwrap_or_default(), is_repaired: is_short })
    }

    /// Returns the clock readings in the header of the V1 block, unmodified. `system_time` is UTC, except in a block
    /// recorded by Windows, where it is local time; `time_100ns` is always UTC.
    #[must_use]
    pub fn clocks(&self) -> ClockReading {
        ClockReading {
            perf_time: self.header.perf_time.get(),
            time_100ns: self.header.time_100ns.get(),
            perf_freq: self.header.perf_freq.get(),
            system_time: (&self.header.system_time).into(),
        }
    }

    /// Returns the name of the machine from which the V1 block comes.
    #[must_use]
    pub fn system_name(&self) -> Name<'a> {
        let at = length(self.header.system_name_at.get());
        let end = at.saturating_add(length(self.header.system_name_len.get()));
        Name::until_nul(self.bytes.get(at..end).unwrap_or_default())
    }

    /// Returns the number of objects that the header of the V1 block states.
    #[must_use]
    pub fn object_count(&self) -> u32 {
        self.header.object_count.get()
    }

    /// Returns an iterator over the objects of the V1 block. An error that hides the start of the next object ends the
    /// iterator; after other errors the next object follows.
    #[must_use]
    pub fn objects(&self) -> Objects<'a> {
        let rest = Cursor::starting_at(self.bytes, length(self.header.header_len.get()));
        Objects { rest, left: self.object_count() }
    }

    /// Returns the first object of the V1 block with this title index of its name. Objects can be in any order,
    /// including objects that were not requested.
    #[must_use]
    pub fn object(&self, name_index: u32) -> Option<Object<'a>> {
        self.objects().flatten().find(|object| object.name_index() == name_index)
    }
}

/// Returns the end offset of the objects of a V1 block, if all fit into the bytes.
fn end_of_objects(header: &raw::DataBlockHeader, bytes: &[u8]) -> Option<usize> {
    let mut rest = Cursor::starting_at(bytes, length(header.header_len.get()));
    for _ in 0..header.object_count.get() {
        next_object(&mut rest).ok()?;
    }
    Some(rest.offset())
}

/// Iterator over the objects of a [`DataBlock`].
#[derive(Clone, Debug)]
pub struct Objects<'a> {
    pub(super) rest: Cursor<'a>,
    left: u32,
}

impl Objects<'_> {
    /// Returns the offset of the next object in the V1 block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.rest.offset()
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Result<Object<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        match next_object(&mut self.rest) {
            Ok(object) => Some(Object::parse(object)),
            Err(error) => {
                self.left = 0;
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for Objects<'_> {}

/// Returns the bytes of the next object of a V1 block. Checks R10 and the part of R11 that determines the start of the
/// following object.
fn next_object<'a>(rest: &mut Cursor<'a>) -> Result<Cursor<'a>, WireError> {
    // The header is read from a copy, because the total length counts from the start of the object.
    let mut object = *rest;
    let left = object.rest().len();
    // NumObjectTypes can be too large: .NET reports a provider that claims four objects and sends two (R10).
    let header: &raw::ObjectType = object.read("PERF_OBJECT_TYPE").map_err(|error| error.by("R10"))?;
    let total = length(header.total_len.get());
    // A length of 0 would return the same object for ever. Wine writes such blocks: its objects are 88 bytes
    // late (R11).
    if total < 64 || total > left {
        let why = Why::out_of_range(total, 64, left);
        return Err(WireError::new("PERF_OBJECT_TYPE.TotalByteLength", rest.offset(), why).by("R11"));
    }
    rest.take("PERF_OBJECT_TYPE", total)
}

/// Object of a V1 block: counters of the same kind of item, with their values.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_OBJECT_TYPE")]
pub struct Object<'a> {
    pub(super) header: &'a raw::ObjectType,
    pub(super) offset: usize,
    definitions: Definitions<'a>,
    contents: Contents<'a>,
}

/// Values of a V1 object: one set of values, one set per instance, or none.
#[derive(Clone, Copy, Debug)]
pub enum Contents<'a> {
    /// Values of a V1 object that never has instances.
    #[doc(alias = "PERF_NO_INSTANCES")]
    Single(Values<'a>),
    /// Instances of a V1 object with their values; possibly none at the moment.
    Multiple(Instances<'a>),
    /// No values: the V1 block contains only the definitions of the object.
    #[doc(alias("PERF_METADATA_MULTIPLE_INSTANCES", "PERF_METADATA_NO_INSTANCES"))]
    Metadata {
        /// `true` if the V1 object has instances when values are requested.
        is_multiple: bool,
    },
}

impl<'a> Object<'a> {
    /// Parses a V1 object and checks the rules R13 to R16 and the rest of R11; for an object without instances, also
    /// R20 and R21.
    fn parse(object: Cursor<'a>) -> Result<Self, WireError> {
        let at = object.offset();
        let mut data = object;
        let header: &raw::ObjectType = object.clone().read("PERF_OBJECT_TYPE")?;
        let (definition_len, header_len) =
            (length(header.definition_len.get()), length(header.header_len.get()));
        for (what, offset, value, most) in [
            ("PERF_OBJECT_TYPE.DefinitionLength", 4, definition_len, object.rest().len()),
            ("PERF_OBJECT_TYPE.HeaderLength", 8, header_len, definition_len),
        ] {
            if value < 64 || value > most {
                let why = Why::out_of_range(value, 64, most);
                return Err(WireError::new(what, at.saturating_add(offset), why).by("R11"));
            }
        }
        data.take("PERF_OBJECT_TYPE", header_len)?;
        let definitions = data.take("PERF_OBJECT_TYPE", definition_len.saturating_sub(header_len))?;
        let definitions = Definitions::parse(definitions, header.counter_count.get(), at)?;
        let layout = Layout::new(definitions);
        let instance_count = header.instance_count.get();
        let contents = match (instance_count, u32::try_from(instance_count)) {
            (_, Ok(count)) => {
                // The smallest instance has 28 bytes: a definition and an empty counter block (R16).
                let room = data.rest().len().wrapping_div(28);
                if length(count) > room {
                    let why = Why::CountTooLarge { count, room };
                    let at = at.saturating_add(40);
                    return Err(WireError::new("PERF_OBJECT_TYPE.NumInstances", at, why).by("R16"));
                }
                Contents::Multiple(Instances::new(data, count, layout, header.code_page.get()))
            }
            (PERF_NO_INSTANCES, _) => Contents::Single(Values::parse(&mut data, layout)?),
            (PERF_METADATA_MULTIPLE_INSTANCES, _) => Contents::Metadata { is_multiple: true },
            (PERF_METADATA_NO_INSTANCES, _) => Contents::Metadata { is_multiple: false },
            _ => {
                let why = Why::OutOfRange {
                    value: instance_count.into(),
                    least: PERF_METADATA_NO_INSTANCES.into(),
                    most: i32::MAX.into(),
                };
                let at = at.saturating_add(40);
                return Err(WireError::new("PERF_OBJECT_TYPE.NumInstances", at, why).by("R13"));
            }
        };
        Ok(Self { header, offset: at, definitions, contents })
    }

    /// Returns the V1 object that starts at the offset `at` of the block; [`offset`](Self::offset) returns such
    /// offsets.
    #[must_use]
    pub fn starting_at(block: &'a [u8], at: usize) -> Option<Self> {
        next_object(&mut Cursor::starting_at(block, at)).and_then(Object::parse).ok()
    }

    /// Returns the offset of the object in the V1 block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the index of the object's name in the name table.
    #[must_use]
    pub fn name_index(&self) -> u32 {
        self.header.name_index.get()
    }

    /// Returns the index of the object's help text in the help table.
    #[must_use]
    pub fn help_index(&self) -> u32 {
        self.header.help_index.get()
    }

    /// Returns the detail level of the object: its intended audience.
    #[must_use]
    pub fn detail(&self) -> DetailLevel {
        DetailLevel(self.header.detail.get())
    }

    /// Returns the position of the object's default counter, the most useful one.
    #[must_use]
    pub fn default_counter(&self) -> Option<u32> {
        u32::try_from(self.header.default_counter.get()).ok()
    }

    /// Returns the reading of the object's own clock and the clock's ticks per second; both are 0 if no counter needs
    /// the clock.
    #[must_use]
    pub fn clock(&self) -> (i64, i64) {
        (self.header.perf_time.get(), self.header.perf_freq.get())
    }

    /// Returns the counter definitions of the object, by position.
    #[must_use]
    pub fn definitions(&self) -> Definitions<'a> {
        self.definitions
    }

    /// Returns the values or instances of the V1 object.
    #[must_use]
    pub fn contents(&self) -> Contents<'a> {
        self.contents
    }
}
