//! Entries of a query in the V2 byte format (PERF_COUNTER_IDENTIFIER).

use std::iter::FusedIterator;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::patch::PatchWriter;
use super::raw;
use crate::counterset::CounterFilter;
use crate::guid::Guid;
use crate::instance::InstanceIdFilter;
use crate::status::Status;
use crate::utf16::Name;
use crate::wire::{Cursor, Why, WireError};

use super::block::has_nul;

/// Iterator over query entries: contiguous PERF_COUNTER_IDENTIFIER blocks that fill their bytes exactly.
///
/// Errors are those of R-21: too few bytes, or a size that is too small, too large or not a multiple of 8. After an
/// error the iterator ends.
#[derive(Clone, Debug)]
pub struct Identifiers<'a> {
    rest: Cursor<'a>,
}

impl<'a> Identifiers<'a> {
    /// Creates an iterator over the list of query entries in `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: Cursor::new(bytes) }
    }
}

impl<'a> Iterator for Identifiers<'a> {
    type Item = Result<Identifier<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next_item(Identifier::parse)
    }
}

impl FusedIterator for Identifiers<'_> {}

/// Entry of a query: a view of a PERF_COUNTER_IDENTIFIER block.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct Identifier<'a> {
    pub(super) header: &'a raw::CounterIdentifier,
    /// Offset of the query entry from the start of the list.
    pub offset: usize,
    pub(super) name_area: &'a [u8],
}

impl<'a> Identifier<'a> {
    fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let header: &raw::CounterIdentifier = rest.read("PERF_COUNTER_IDENTIFIER")?;
        let size = header.size.get();
        let size_at = offset.saturating_add(20);
        let what = "PERF_COUNTER_IDENTIFIER.Size";
        let name_area = rest.body(what, size_at, size, 40)?.rest();
        if size & 7 != 0 {
            let why = Why::Rule("a size is a multiple of 8");
            return Err(WireError::new(what, size_at, why).by("R-21"));
        }
        // The name is not checked: without a NUL only this entry fails, not the whole sequence.
        Ok(Self { header, offset, name_area })
    }

    /// Returns the GUID of the requested counterset.
    #[must_use]
    pub fn counterset(&self) -> Guid {
        Guid::from_wire(self.header.counterset)
    }

    /// Returns the requested counters.
    #[must_use]
    pub fn counter(&self) -> CounterFilter {
        CounterFilter::from_wire(self.header.counter_id.get())
    }

    /// Returns the instance ids that the query entry requests.
    #[must_use]
    pub fn instance_id(&self) -> InstanceIdFilter {
        InstanceIdFilter::from_wire(self.header.instance_id.get())
    }

    /// Returns the status of this query entry, an output field.
    #[must_use]
    pub fn status(&self) -> Status {
        Status(self.header.status.get())
    }

    /// Returns the position of the entry's result, an output field.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.header.index.get()
    }

    /// Returns the bytes after the fixed part of the query entry: the name, if there is one, and its padding.
    #[must_use]
    pub fn name_area(&self) -> &'a [u8] {
        self.name_area
    }

    /// Returns the requested instance names; `None` if the query entry ends before a name.
    ///
    /// # Errors
    /// [`Why::NoNul`] if the name does not end inside the structure.
    pub fn name(&self) -> Result<Option<Name<'a>>, WireError> {
        if self.name_area.is_empty() {
            return Ok(None);
        }
        if !has_nul(self.name_area) {
            let at = self.offset.saturating_add(40);
            return Err(WireError::new("PERF_COUNTER_IDENTIFIER name", at, Why::NoNul));
        }
        Ok(Some(Name::until_nul(self.name_area)))
    }
}

/// Query entry to be written by [`write()`].
#[derive(Clone, Copy, Debug)]
pub struct NewIdentifier<'a> {
    /// GUID of the requested counterset.
    pub counterset: Guid,
    /// Requested counters of the counterset.
    pub counter: CounterFilter,
    /// Requested ids of the counterset's instances.
    pub instance_id: InstanceIdFilter,
    /// Requested instance names; with `None`, no name is written.
    pub name: Option<&'a [u16]>,
    /// Position of the entry's result; 0 in a request.
    pub index: u32,
}

/// Appends a query entry: one PERF_COUNTER_IDENTIFIER block with status 0.
pub fn write(out: &mut Vec<u8>, new: &NewIdentifier<'_>) {
    let start = out.len();
    let header = raw::CounterIdentifier {
        counterset: new.counterset.to_wire(),
        status: U32::ZERO,
        size: U32::ZERO,
        counter_id: U32::new(new.counter.to_wire()),
        instance_id: U32::new(new.instance_id.to_wire()),
        index: U32::new(new.index),
        reserved: U32::ZERO,
    };
    out.extend_from_slice(header.as_bytes());
    let mut over = PatchWriter::behind(std::mem::take(out));
    if let Some(name) = new.name {
        over.name(start, name.iter().copied());
    }
    let size = over.size_since(start);
    over.put(start.saturating_add(20), size);
    *out = over.bytes;
}

/// Sets the status of the query entry at offset `at`; nothing else changes.
pub fn set_status(bytes: &mut [u8], at: usize, status: Status) {
    if let Some(Ok((header, _))) = bytes.get_mut(at..).map(raw::CounterIdentifier::mut_from_prefix) {
        header.status = U32::new(status.0);
    }
}
