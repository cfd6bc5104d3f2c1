//! The entries of a query as bytes.

use std::iter::FusedIterator;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::over::Over;
use super::raw;
use crate::counterset::CounterFilter;
use crate::guid::Guid;
use crate::instance::InstanceIdFilter;
use crate::status::Status;
use crate::utf16::Name;
use crate::wire::{Cursor, Why, WireError};

use super::block::has_nul;

/// PERF_COUNTER_IDENTIFIER blocks back to back, filling their bytes exactly.
///
/// An error is a walk error of R-21: too few bytes, or a size that is too small, too large or no multiple of 8. After
/// it the iterator ends.
#[derive(Clone, Debug)]
pub struct Identifiers<'a> {
    rest: Cursor<'a>,
}

impl<'a> Identifiers<'a> {
    /// The list in `bytes`.
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

/// One entry of a query.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct Identifier<'a> {
    pub(super) header: &'a raw::CounterIdentifier,
    /// Where it starts.
    pub at: usize,
    pub(super) name_area: &'a [u8],
}

impl<'a> Identifier<'a> {
    fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let at = rest.at();
        let header: &raw::CounterIdentifier = rest.read("PERF_COUNTER_IDENTIFIER")?;
        let size = header.size.get();
        let size_at = at.saturating_add(20);
        let what = "PERF_COUNTER_IDENTIFIER.Size";
        let name_area = rest.body(what, size_at, size, 40)?.rest();
        if size & 7 != 0 {
            let why = Why::Rule("a size is a multiple of 8");
            return Err(WireError::new(what, size_at, why).by("R-21"));
        }
        Ok(Self { header, at, name_area })
    }

    /// The counterset.
    #[must_use]
    pub fn counterset(&self) -> Guid {
        Guid::from_wire(self.header.counterset)
    }

    /// Which counters.
    #[must_use]
    pub fn counter(&self) -> CounterFilter {
        CounterFilter::from_wire(self.header.counter_id.get())
    }

    /// Which instance ids.
    #[must_use]
    pub fn instance_id(&self) -> InstanceIdFilter {
        InstanceIdFilter::from_wire(self.header.instance_id.get())
    }

    /// Out: the code of this entry.
    #[must_use]
    pub fn status(&self) -> Status {
        Status(self.header.status.get())
    }

    /// Out: the position of its result.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.header.index.get()
    }

    /// What follows the fixed part: the name, if there is one, and what pads it.
    #[must_use]
    pub fn name_area(&self) -> &'a [u8] {
        self.name_area
    }

    /// Which instances by name; `None` if the structure ends before a name.
    ///
    /// # Errors
    /// [`Why::NoNul`] if the name does not end inside the structure.
    pub fn name(&self) -> Result<Option<Name<'a>>, WireError> {
        if self.name_area.is_empty() {
            return Ok(None);
        }
        if !has_nul(self.name_area) {
            let at = self.at.saturating_add(40);
            return Err(WireError::new("PERF_COUNTER_IDENTIFIER name", at, Why::NoNul));
        }
        Ok(Some(Name::until_nul(self.name_area)))
    }
}

/// What [`write()`] writes.
#[derive(Clone, Copy, Debug)]
pub struct NewIdentifier<'a> {
    /// The counterset.
    pub counterset: Guid,
    /// Which counters.
    pub counter: CounterFilter,
    /// Which instance ids.
    pub instance_id: InstanceIdFilter,
    /// Which instances by name; `None` writes no name at all.
    pub name: Option<&'a [u16]>,
    /// The position of its result; 0 in a request.
    pub index: u32,
}

/// Appends one PERF_COUNTER_IDENTIFIER block, status 0.
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
    let mut over = Over::behind(std::mem::take(out));
    if let Some(name) = new.name {
        over.name(start, name.iter().copied());
    }
    let size = over.size_since(start);
    over.put(start.saturating_add(20), size);
    *out = over.bytes;
}

/// Writes the status of the identifier that starts at `at`; nothing else changes.
pub fn set_status(bytes: &mut [u8], at: usize, status: Status) {
    if let Some(Ok((header, _))) = bytes.get_mut(at..).map(raw::CounterIdentifier::mut_from_prefix) {
        header.status = U32::new(status.0);
    }
}
