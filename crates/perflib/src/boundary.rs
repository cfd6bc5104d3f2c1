//! Rules common to all exported C functions: no panic leaves them, pointers may have any alignment, and buffers have
//! one protocol.

#[cfg(unix)]
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use perfset::Status;

use crate::process::process;
use crate::wide::{TextUnit, push_utf16};

/// Handle of a query, a provider or a registry key in a C program: `HANDLE`.
pub type Handle = *mut std::ffi::c_void;

/// Error code for a panic inside this library.
pub const ERROR_INTERNAL_ERROR: Status = Status(1359);

/// Maximum number of text units that are read from a machine name; no network has longer names.
const MACHINE_NAME_MOST: usize = 1_024;

/// Runs the body of an exported C function and returns its error code; a panic becomes an error code too.
pub fn guard(body: impl FnOnce() -> Result<(), Status>) -> u32 {
    guarded(body).err().unwrap_or(Status::ERROR_SUCCESS).0
}

/// Runs the body of an exported C function that returns something other than an error code. A panic becomes an error.
///
/// The thread cannot be cancelled meanwhile: cancellation would unwind it in the middle, and Rust code must not stop
/// that unwinding.
pub fn guarded<T>(body: impl FnOnce() -> Result<T, Status>) -> Result<T, Status> {
    #[cfg(unix)]
    let cancelling = set_cancel_state(CANCEL_DISABLE);
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(ERROR_INTERNAL_ERROR));
    #[cfg(unix)]
    set_cancel_state(cancelling);
    result
}

/// Value of PTHREAD_CANCEL_DISABLE, which is the same in every C library of Linux.
#[cfg(unix)]
const CANCEL_DISABLE: c_int = 1;

/// Sets the cancellation state of this thread, and returns the state before.
#[cfg(unix)]
fn set_cancel_state(state: c_int) -> c_int {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    let mut before = 0;
    // SAFETY: a state that was given, or the one to disable, and a place for the state before.
    unsafe { pthread_setcancelstate(state, &mut before) };
    before
}

/// Exports one C function under several names, each for another kind of text. The value behind a name is the first
/// argument of the body.
macro_rules! export {
    ($(#[$doc:meta])* $first:ident: $text:expr, $($name:ident: $other_text:expr),+ => $body:ident $args:tt) => {
        export! { @one $(#[$doc])* $first, $text, $body, $args }
        $(
            export! { @one
                #[doc = concat!("As [`", stringify!($first), "`], for text of another kind.")]
                ///
                /// # Safety
                #[doc = concat!("As [`", stringify!($first), "`].")]
                $name, $other_text, $body, $args
            }
        )+
    };
    (@one $(#[$doc:meta])* $name:ident, $text:expr, $body:ident, ($($arg:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $name($($arg: $type),*) -> u32 {
            // SAFETY: the caller keeps the contract of this function.
            $crate::boundary::guard(|| unsafe { $body($text, $($arg),*) })
        }
    };
}
pub(crate) use export;

/// Returns the address in a C handle.
pub fn number(handle: Handle) -> usize {
    handle.addr()
}

/// Converts a number to a C handle.
pub fn handle(number: usize) -> Handle {
    std::ptr::without_provenance_mut(number)
}

/// Stores a value at an address that a C caller passed; does nothing if the address is null.
///
/// # Safety
/// `at` is null or may be written.
pub unsafe fn store<T>(at: *mut T, value: T) {
    if !at.is_null() {
        // SAFETY: not null, so the caller promises that it may be written; it may have any alignment.
        unsafe { at.write_unaligned(value) };
    }
}

/// Reads a value at an address that a C caller passed; returns `None` if the address is null.
///
/// # Safety
/// `at` is null or may be read.
pub unsafe fn load<T: Copy>(at: *const T) -> Option<T> {
    if at.is_null() {
        return None;
    }
    // SAFETY: not null, so the caller promises that it may be read; it may have any alignment.
    Some(unsafe { at.read_unaligned() })
}

/// Buffer of a C caller for a response, and the address at which the size of the response is stored.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    start: *mut u8,
    /// Length of the C caller's buffer in elements.
    len: u32,
    /// Size of an element of the C caller's buffer in bytes.
    element: u32,
    actual: *mut u32,
}

impl Buffer {
    /// Creates a buffer from the pointers and the length that a C caller passes.
    ///
    /// # Safety
    /// `start` is null or `len` elements there may be written; `actual` is null or may be written.
    pub unsafe fn new<T>(start: *mut T, len: u32, actual: *mut u32) -> Self {
        // No response has elements of 4 GiB.
        let element = u32::try_from(size_of::<T>()).unwrap_or(u32::MAX);
        let buffer = Self { start: start.cast(), len, element, actual };
        buffer.tell(0); // whatever fails from here on
        buffer
    }

    /// Returns an error if the pointer `actual` is null, or if the buffer is null and its length is not 0.
    pub fn check(&self) -> Result<(), Status> {
        let is_bad = self.actual.is_null() || (self.start.is_null() && self.len != 0);
        if is_bad { Err(Status::ERROR_INVALID_PARAMETER) } else { Ok(()) }
    }

    /// Writes a response and its size if the C caller's buffer is large enough. Otherwise writes only the size that
    /// is needed now.
    pub fn fill(&self, answer: &[u8]) -> Result<(), Status> {
        let needed = u32::try_from(answer.len()).map_err(|_| Status::ERROR_OUTOFMEMORY)?;
        let elements = needed.checked_div(self.element).unwrap_or(0);
        self.tell(elements);
        if elements > self.len {
            return Err(Status::ERROR_NOT_ENOUGH_MEMORY);
        }
        if !self.start.is_null() {
            // SAFETY: the caller promised `len` elements, which are no fewer than the response has.
            unsafe { std::ptr::copy(answer.as_ptr(), self.start, answer.len()) };
        }
        Ok(())
    }

    fn tell(&self, elements: u32) {
        // SAFETY: the caller promised that `actual` is null or may be written.
        unsafe { store(self.actual, elements) };
    }
}

/// Returns an error unless the machine that a C caller names is this machine or the recorded one.
///
/// # Safety
/// `name` is null, or a string whose units may be read up to its NUL, or the first 1,024 of them.
pub unsafe fn check_machine(name: *const u8, wide: TextUnit) -> Result<(), Status> {
    if name.is_null() {
        // A log that cannot be read fails every function that asks a machine.
        return process().past().map(|_| ());
    }
    // SAFETY: not null, and the caller promises the rest.
    let text = unsafe { read_text(name, wide, MACHINE_NAME_MOST) };
    let text = text.ok_or(Status::ERROR_INVALID_PARAMETER)?;
    if process().past()?.is_some_and(|past| past.is_recorded_machine(&text)) {
        return Ok(());
    }
    perfset::is_local(Some(&text)).map_err(|error| error.status())
}

/// Reads a C string in wide units. `None` if it has no end within `most` units, or is not Unicode.
///
/// # Safety
/// The units of `start` may be read up to its NUL, or `most` of them.
pub unsafe fn read_text(start: *const u8, wide: TextUnit, most: usize) -> Option<String> {
    // SAFETY: the caller promises it.
    let units = unsafe { read_units(start, wide, most) };
    units.map(|units| String::from_utf16_lossy(&units))
}

/// Reads a C string in wide units as UTF-16, in which unpaired surrogates keep their values. `None` as in
/// [`read_text`].
///
/// # Safety
/// As [`read_text`].
pub unsafe fn read_units(start: *const u8, wide: TextUnit, most: usize) -> Option<Vec<u16>> {
    let mut text = Vec::new();
    for at in 0..most {
        let unit = match wide {
            // SAFETY: no NUL and fewer than `most` units came before it.
            TextUnit::Utf16 => u32::from(unsafe { start.cast::<u16>().wrapping_add(at).read_unaligned() }),
            // SAFETY: as above.
            TextUnit::Utf32 => unsafe { start.cast::<u32>().wrapping_add(at).read_unaligned() },
        };
        if unit == 0 {
            return Some(text);
        }
        push_utf16(&mut text, unit)?;
    }
    None
}
