//! A list of instances: what an enumeration returns.

use std::iter::FusedIterator;

use super::PERF_MAX_INSTANCE_NAME;
use super::block::Instance;
use super::build::{put, put_name};
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
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&id.0.to_le_bytes());
    let name = name.into_iter().take_while(|unit| *unit != 0);
    put_name(out, start, name.take(PERF_MAX_INSTANCE_NAME.saturating_sub(1)));
    let size = u32::try_from(out.len().saturating_sub(start)).unwrap_or(u32::MAX);
    put(out, start, size);
}
