//! Requests of consumers to a provider's program: its control callback, and the values that its counters refer to.

use std::ffi::c_void;

use perfset::{Guid, RawValue, Status};
use perfset_shm::callback::{CallbackReply, RequestCode, RequestMessage};

use super::state;
use crate::wide::{TextLocation, TextUnit, to_utf32};

/// Control callback of a provider: PERFLIBREQUEST.
///
/// An exception that it throws ends the process, as in any thread of the program.
pub type ControlCallback = unsafe extern "C-unwind" fn(u32, *mut c_void, u32) -> u32;

/// Responder to the requests of consumers for one provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    pub guid: Guid,
    pub handle: usize,
    pub callback: Option<ControlCallback>,
    /// Text units of the provider's program: UTF-16 or UTF-32.
    pub wide: TextUnit,
}

impl Control {
    /// Returns the provider's response to a request of a consumer.
    pub fn answer(&self, request: &RequestMessage<'_>) -> CallbackReply {
        match (request.what(), request.entry(), self.callback) {
            (RequestCode::Values, Some(entry), _) => state::references(self.handle, &entry),
            (_, entry, Some(callback)) => {
                let shape = if entry.is_some() { TextLocation::Identity } else { TextLocation::Text };
                let about = match self.wide {
                    TextUnit::Utf16 => request.body().to_vec(),
                    TextUnit::Utf32 => to_utf32(request.body(), shape),
                };
                Status(self.call(callback, request.what().to_wire(), &about)).into()
            }
            _ => Status::ERROR_SUCCESS.into(),
        }
    }

    /// Calls the control callback with a WNODE_HEADER (total size, the provider's GUID, and zeros) and then the bytes
    /// of the request.
    fn call(&self, callback: ControlCallback, code: u32, about: &[u8]) -> u32 {
        const WNODE_HEADER: usize = 48;
        let len = WNODE_HEADER.saturating_add(about.len());
        let size = u32::try_from(len).unwrap_or(u32::MAX);
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.resize(24, 0);
        bytes.extend_from_slice(&self.guid.to_wire());
        bytes.resize(WNODE_HEADER, 0);
        bytes.extend_from_slice(about);
        // On a boundary of 8 bytes, as C has its structures.
        let words = bytes.chunks(8).map(|piece| {
            let mut word = [0; 8];
            word.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
            u64::from_ne_bytes(word)
        });
        let mut buffer: Vec<u64> = words.collect();
        // SAFETY: the program promised that the callback is a PERFLIBREQUEST which may be called until the provider
        // is stopped, and stopping waits for this call; the buffer has that many bytes, and no other owner.
        unsafe { callback(code, buffer.as_mut_ptr().cast(), size) }
    }
}

/// Reads a counter's value of `len` bytes, 4 or 8, at an address that a program gave.
///
/// # Safety
/// `len` bytes at `address` may be read.
pub(super) unsafe fn read_reference(address: usize, len: u32) -> RawValue {
    let (four, eight): (*const u32, *const u64) =
        (std::ptr::with_exposed_provenance(address), std::ptr::with_exposed_provenance(address));
    // An aligned value is read at once, because the program may write to it meanwhile.
    match (len, address % 4 == 0, address % 8 == 0) {
        // SAFETY: aligned, and the caller promises the rest.
        (4, true, _) => RawValue::U32(unsafe { four.read_volatile() }),
        // SAFETY: the caller promises it.
        (4, false, _) => RawValue::U32(unsafe { four.read_unaligned() }),
        // SAFETY: aligned, and the caller promises the rest.
        (_, _, true) => RawValue::U64(unsafe { eight.read_volatile() }),
        // SAFETY: the caller promises it.
        (_, _, false) => RawValue::U64(unsafe { eight.read_unaligned() }),
    }
}
