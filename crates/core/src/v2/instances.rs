//! Lists of instances in the V2 byte format, as returned by an enumeration.

use std::iter::FusedIterator;

use super::block::Instance;
use super::patch::PatchWriter;
use crate::instance::InstanceId;
use crate::wire::{Cursor, WireError};

/// Iterator over listed instances: contiguous PERF_INSTANCE_HEADER blocks; the list ends with the bytes.
///
/// After an error the iterator ends.
#[derive(Clone, Debug)]
pub struct Instances<'a> {
    rest: Cursor<'a>,
}

impl<'a> Instances<'a> {
    /// Creates an iterator over the list of instances in `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: Cursor::new(bytes) }
    }
}

impl<'a> Iterator for Instances<'a> {
    type Item = Result<Instance<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next_item(Instance::parse)
    }
}

impl FusedIterator for Instances<'_> {}

/// Appends an instance to a list: one PERF_INSTANCE_HEADER block. The name is truncated at the first NUL and to 1023
/// units.
pub fn write(out: &mut Vec<u8>, name: impl IntoIterator<Item = u16>, id: InstanceId) {
    let mut over = PatchWriter::behind(std::mem::take(out));
    over.instance(name, id);
    *out = over.bytes;
}
