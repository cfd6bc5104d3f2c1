//! A list of instances: what an enumeration returns.

use std::iter::FusedIterator;

use super::block::Instance;
use super::over::Over;
use crate::instance::InstanceId;
use crate::wire::{Cursor, WireError};

/// PERF_INSTANCE_HEADER blocks back to back; the end of the bytes is the end of the list.
///
/// After an error the iterator ends.
#[derive(Clone, Debug)]
pub struct Instances<'a> {
    rest: Cursor<'a>,
}

impl<'a> Instances<'a> {
    /// The list in `bytes`.
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

/// Appends one PERF_INSTANCE_HEADER block. The name is cut where a NUL would end it, and to 1023 units.
pub fn write(out: &mut Vec<u8>, name: impl IntoIterator<Item = u16>, id: InstanceId) {
    let mut over = Over::behind(std::mem::take(out));
    over.instance(name, id);
    *out = over.bytes;
}
