//! Requests passed to the control callback of a provider.

use std::iter::FusedIterator;

use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::raw;
use super::{align8, block::has_nul, build::put};
use crate::counterset::CounterFilter;
use crate::guid::Guid;
use crate::instance::InstanceIdFilter;
use crate::utf16::Name;
use crate::wire::{Cursor, Why, WireError, length};

/// Iterator over control requests: contiguous PERF_COUNTER_IDENTITY blocks; the list ends with the bytes.
///
/// After an error the iterator ends.
#[derive(Clone, Debug)]
pub struct Identities<'a> {
    rest: Cursor<'a>,
}

impl<'a> Identities<'a> {
    /// Creates an iterator over the list of control requests in `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: Cursor::new(bytes) }
    }
}

impl<'a> Iterator for Identities<'a> {
    type Item = Result<CounterIdentity<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next_item(CounterIdentity::parse)
    }
}

impl FusedIterator for Identities<'_> {}

/// Request of a consumer to a provider: counters of instances on a machine.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_IDENTITY")]
pub struct CounterIdentity<'a> {
    pub(super) header: &'a raw::CounterIdentity,
    pub(super) offset: usize,
    machine: Name<'a>,
    name: Option<Name<'a>>,
}

impl<'a> CounterIdentity<'a> {
    fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let at = rest.offset();
        let whole = rest.rest();
        let header: &raw::CounterIdentity = rest.read("PERF_COUNTER_IDENTITY")?;
        let size = header.buffer_size.get();
        rest.body("PERF_COUNTER_IDENTITY.BufferSize", at.saturating_add(16), size, 40)?;
        let block = whole.get(..length(size)).unwrap_or_default();
        let text = |what, field: usize, offset: u32| {
            let error = |why| WireError::new(what, at.saturating_add(field), why);
            match block.get(length(offset)..) {
                // Below 40 a string would consist of the structure's own fields.
                Some(area) if offset >= 40 && has_nul(area) => Ok(Name::until_nul(area)),
                Some(_) if offset >= 40 => Err(error(Why::NoNul)),
                _ => Err(error(Why::OffsetOutside { offset, len: block.len() })),
            }
        };
        let machine = text("PERF_COUNTER_IDENTITY.MachineOffset", 28, header.machine_offset.get())?;
        let name = match header.name_offset.get() {
            0 => None,
            offset => Some(text("PERF_COUNTER_IDENTITY.NameOffset", 32, offset)?),
        };
        Ok(Self { header, offset: at, machine, name })
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

    /// Returns the requested instance ids.
    #[must_use]
    pub fn instance_id(&self) -> InstanceIdFilter {
        InstanceIdFilter::from_wire(self.header.instance_id.get())
    }

    /// Returns the name of the machine in the request.
    #[must_use]
    pub fn machine(&self) -> Name<'a> {
        self.machine
    }

    /// Returns the requested instance names, if the request contains any.
    #[must_use]
    pub fn name(&self) -> Option<Name<'a>> {
        self.name
    }
}

/// Appends a control request: one PERF_COUNTER_IDENTITY block with machine name, instance name and zeros.
pub fn write(
    out: &mut Vec<u8>,
    counterset: Guid,
    counter: CounterFilter,
    instance_id: InstanceIdFilter,
    machine: &[u16],
    name: Option<&[u16]>,
) {
    let start = out.len();
    let header = raw::CounterIdentity {
        counterset: counterset.to_wire(),
        buffer_size: U32::ZERO,
        counter_id: U32::new(counter.to_wire()),
        instance_id: U32::new(instance_id.to_wire()),
        machine_offset: U32::new(40),
        name_offset: U32::ZERO,
        reserved: U32::ZERO,
    };
    out.extend_from_slice(header.as_bytes());
    let since = |out: &Vec<u8>| u32::try_from(out.len().saturating_sub(start)).unwrap_or(u32::MAX);
    put_text(out, machine);
    if let Some(name) = name {
        let offset = since(out);
        put(out, start.saturating_add(32), offset);
        put_text(out, name);
    }
    let len = align8(out.len().saturating_sub(start));
    out.resize(start.saturating_add(len), 0);
    let size = since(out);
    put(out, start.saturating_add(16), size);
}

fn put_text(out: &mut Vec<u8>, text: &[u16]) {
    for unit in text {
        out.extend_from_slice(&unit.to_le_bytes());
    }
    out.extend_from_slice(&[0, 0]);
}
