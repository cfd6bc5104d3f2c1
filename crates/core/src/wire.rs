//! Reads bytes from untrusted input, with checked bounds.

use std::fmt;

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Cursor over untrusted bytes: the remaining bytes of a slice, with their offset. Every read is checked; a sub-cursor
/// cannot read beyond its own end.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// Offset of the end of the remaining bytes from the start of the whole block. It stays the same while bytes are
    /// read.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor over all of `bytes`, at offset 0 of the block.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, end: bytes.len() }
    }

    /// Creates a cursor over the bytes of a block from `offset` on.
    #[must_use]
    pub fn starting_at(bytes: &'a [u8], offset: usize) -> Self {
        let rest = bytes.get(offset..).unwrap_or_default();
        Self { rest, end: offset.saturating_add(rest.len()) }
    }

    /// Returns the offset of the next byte from the start of the whole block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.end.wrapping_sub(self.rest.len()) // never less than 0
    }

    /// Returns the bytes that the cursor has not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns `true` if the cursor has no bytes left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Parses the next item of a list that fills the cursor's bytes to their end; after an error the list ends.
    pub(crate) fn next_item<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Option<Result<T, WireError>> {
        if self.is_empty() {
            return None;
        }
        let item = parse(self);
        // The length of a faulty item is not reliable, so the start of the next one is unknown.
        if item.is_err() {
            *self = Self::new(&[]);
        }
        Some(item)
    }

    /// Reads the next bytes of the cursor as a structure or number of type `T`.
    ///
    /// # Errors
    /// [`Why::Truncated`] if too few bytes remain.
    pub fn read<T>(&mut self, what: &'static str) -> Result<&'a T, WireError>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        // `T` is unaligned: neither offsets in foreign blocks nor the buffers of C callers are aligned.
        match T::ref_from_prefix(self.rest) {
            Ok((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            Err(_) => Err(self.error(what, Why::Truncated { needed: size_of::<T>(), left: self.rest.len() })),
        }
    }

    /// Takes the next `len` bytes off the cursor, as a cursor of their own.
    ///
    /// # Errors
    /// [`Why::Truncated`] if too few bytes remain.
    pub fn take(&mut self, what: &'static str, len: usize) -> Result<Self, WireError> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(Self { rest: taken, end: self.offset() })
            }
            None => Err(self.error(what, Why::Truncated { needed: len, left: self.rest.len() })),
        }
    }

    /// Returns the body of a structure whose header of `header_len` bytes was just read: `size` minus the header.
    ///
    /// `what` is the name of the size field, `field_at` its offset.
    ///
    /// # Errors
    /// [`Why::SizeTooSmall`] if `size` is smaller than the header, [`Why::SizeTooLarge`] if it exceeds the remaining
    /// bytes.
    pub fn body(
        &mut self,
        what: &'static str,
        field_at: usize,
        size: u32,
        header_len: u32,
    ) -> Result<Self, WireError> {
        let error = |why| WireError::new(what, field_at, why);
        let Some(len) = size.checked_sub(header_len) else {
            return Err(error(Why::SizeTooSmall { size, least: header_len }));
        };
        let left = self.rest.len();
        // The error names the wrong size field, not the place where the bytes end.
        self.take(what, length(len)).map_err(|_| error(Why::SizeTooLarge { size, left }))
    }

    /// Creates an error at the offset of the cursor's next byte.
    #[must_use]
    pub fn error(&self, what: &'static str, why: Why) -> WireError {
        WireError::new(what, self.offset(), why)
    }
}

/// Error: a block cannot be read or violates a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireError {
    /// Name that Microsoft gives the faulty structure or field.
    pub what: &'static str,
    /// Offset of the faulty structure or field from the start of the whole block.
    pub offset: usize,
    /// Kind of the error in the structure or field.
    pub why: Why,
    /// Number of the violated rule; empty if the rules of the format have no numbers.
    pub rule: &'static str,
}

impl WireError {
    /// Creates an error for a structure or field at an offset of the block.
    #[must_use]
    pub fn new(what: &'static str, offset: usize, why: Why) -> Self {
        Self { what, offset, why, rule: "" }
    }

    /// Returns a copy of the error with the number of the violated rule.
    #[must_use]
    pub fn by(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }
}

impl std::error::Error for WireError {}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, offset, why, rule } = self;
        write!(f, "{what} at byte {offset}: ")?;
        match why {
            Why::Rule(text) => write!(f, "breaks {rule}: {text}"),
            why if rule.is_empty() => write!(f, "{why}"),
            why => write!(f, "{why}, {rule}"),
        }
    }
}

/// Kind of error in a structure or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The bytes of the block end too early.
    #[error("needs {needed} bytes, {left} are left")]
    Truncated {
        /// Number of bytes that the structure or field needs.
        needed: usize,
        /// Number of bytes of the block that remain.
        left: usize,
    },
    /// A size field that is smaller than its own structure.
    #[error("size field is {size}, must be at least {least}")]
    SizeTooSmall {
        /// Value of the size field that is too small.
        size: u32,
        /// Minimum permitted value of the size field.
        least: u32,
    },
    /// A size field that exceeds the bytes that contain the structure.
    #[error("size field is {size}, but only {left} bytes follow the header")]
    SizeTooLarge {
        /// Value of the size field that is too large.
        size: u32,
        /// Number of bytes that are left after the header of the structure.
        left: usize,
    },
    /// A count of more items than fit into the bytes of the block.
    #[error("counts {count} items, the bytes have room for {room}")]
    CountTooLarge {
        /// Value of the count field that is too large.
        count: u32,
        /// Maximum number of items that fit into the bytes of the block.
        room: usize,
    },
    /// An offset outside the block.
    #[error("offset is {offset}, the block has {len} bytes")]
    OffsetOutside {
        /// Value of the offset field that points outside the block.
        offset: u32,
        /// Number of bytes of the block.
        len: usize,
    },
    /// A name without a terminating NUL.
    #[error("has no NUL inside its structure")]
    NoNul,
    /// A field with an undefined value.
    #[error("is {value}, which is not defined")]
    Undefined {
        /// Undefined value that the field has.
        value: u32,
    },
    /// A field with a value outside its limits.
    #[error("is {value}, must be from {least} to {most}")]
    OutOfRange {
        /// Value of the field that lies outside the limits.
        value: i64,
        /// Minimum permitted value of the field.
        least: i64,
        /// Maximum permitted value of the field.
        most: i64,
    },
    /// A value of a V1 object that lies outside its counter block.
    #[error(
        "the value of PERF_COUNTER_DEFINITION {position} at byte {offset} needs {needed} bytes, its block has {left}"
    )]
    ValueOutside {
        /// Position of the faulty counter definition, from 0.
        position: usize,
        /// Offset of the faulty counter definition from the start of the whole block.
        offset: usize,
        /// Number of bytes that a counter block needs to contain the counter's value.
        needed: usize,
        /// Number of bytes of the object's counter block.
        left: usize,
    },
    /// A text that is not a decimal number.
    #[error("is not a decimal number")]
    NotANumber,
    /// A legal value that few readers expect.
    #[error("{0}")]
    Unusual(&'static str),
    /// A violation of the rule with this text.
    #[error("{0}")]
    Rule(&'static str),
}

impl Why {
    /// Creates an error for a field outside its limits.
    pub(crate) fn out_of_range(value: usize, least: usize, most: usize) -> Self {
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        Self::OutOfRange { value: number(value), least: number(least), most: number(most) }
    }
}

/// Defines a structure of a block in its byte layout and checks its size.
#[doc(hidden)] // for perfset-log
#[macro_export]
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident, $len:literal { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)*
        }
        const _: () = assert!(size_of::<$name>() == $len);
    };
}
#[doc(hidden)]
pub use layout;

/// Converts a length or count field of a block to `usize`. A value larger than the address space becomes `usize::MAX`,
/// which exceeds every limit.
#[must_use]
pub fn length(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::little_endian::U32;

    #[test]
    fn a_sub_cursor_ends_where_it_was_cut() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
        let mut all = Cursor::new(&bytes);
        let mut first = all.take("first", 6).unwrap();
        assert_eq!(first.read::<U32>("one").unwrap().get(), 1);
        assert_eq!((first.offset(), all.offset()), (4, 6));
        let error = first.read::<U32>("two").unwrap_err();
        assert_eq!(error.to_string(), "two at byte 4: needs 4 bytes, 2 are left");
        assert_eq!(all.take("rest", 7).unwrap_err().offset, 6);
        assert_eq!(all.take("rest", 6).unwrap().rest().len(), 6);
        assert!(all.is_empty());
    }
}
