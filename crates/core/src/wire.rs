//! One way to read bytes that nobody vouches for.

use std::fmt;

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// The rest of some bytes, and where it starts. Every read is checked; a sub-cursor cannot pass its own end.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over all of `bytes`, at offset 0.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// A cursor over what follows the first `at` bytes.
    #[must_use]
    pub fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes.get(at..).unwrap_or_default(), at }
    }

    /// The offset of the next byte from the start of the whole block.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The bytes that are left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next item of a list that fills the bytes to their end; after an error there is no other.
    pub(crate) fn next_item<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Option<Result<T, WireError>> {
        if self.is_empty() {
            return None;
        }
        let item = parse(self);
        if item.is_err() {
            *self = Self::new(&[]);
        }
        Some(item)
    }

    /// The next bytes as a `T`.
    ///
    /// # Errors
    /// [`Why::Truncated`] if they are too few.
    pub fn read<T>(&mut self, what: &'static str) -> Result<&'a T, WireError>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        match T::ref_from_prefix(self.rest) {
            Ok((value, rest)) => {
                self.advance(rest);
                Ok(value)
            }
            Err(_) => Err(self.error(what, Why::Truncated { needed: size_of::<T>(), left: self.rest.len() })),
        }
    }

    /// The next `len` bytes, as a cursor of their own.
    ///
    /// # Errors
    /// [`Why::Truncated`] if they are too few.
    pub fn take(&mut self, what: &'static str, len: usize) -> Result<Self, WireError> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                let sub = Self { rest: taken, at: self.at };
                self.advance(rest);
                Ok(sub)
            }
            None => Err(self.error(what, Why::Truncated { needed: len, left: self.rest.len() })),
        }
    }

    /// The body of a structure whose header of `header_len` bytes has just been read: what its size field leaves.
    ///
    /// `what` names the size field, `field_at` is where it stands.
    ///
    /// # Errors
    /// [`Why::SizeTooSmall`] if the field does not cover the header, [`Why::SizeTooLarge`] if it reaches past the
    /// end.
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
        self.take(what, length(len)).map_err(|_| error(Why::SizeTooLarge { size, left }))
    }

    /// An error at the next byte.
    #[must_use]
    pub fn error(&self, what: &'static str, why: Why) -> WireError {
        WireError::new(what, self.at, why)
    }

    fn advance(&mut self, rest: &'a [u8]) {
        self.at = self.at.saturating_add(self.rest.len().saturating_sub(rest.len()));
        self.rest = rest;
    }
}

/// A block could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WireError {
    /// The structure or field, by its Microsoft name.
    pub what: &'static str,
    /// Its offset from the start of the whole block.
    pub at: usize,
    /// What is wrong with it.
    pub why: Why,
    /// The number of the rule that says so; empty where the format's rules have no numbers.
    pub rule: &'static str,
}

impl WireError {
    /// An error at that offset.
    #[must_use]
    pub fn new(what: &'static str, at: usize, why: Why) -> Self {
        Self { what, at, why, rule: "" }
    }

    /// The same, by that rule.
    #[must_use]
    pub fn by(self, rule: &'static str) -> Self {
        Self { rule, ..self }
    }
}

impl std::error::Error for WireError {}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, at, why, rule } = self;
        write!(f, "{what} at byte {at}: ")?;
        match why {
            Why::Rule(text) => write!(f, "breaks {rule}: {text}"),
            why if rule.is_empty() => write!(f, "{why}"),
            why => write!(f, "{why}, {rule}"),
        }
    }
}

/// What is wrong with a structure or field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The bytes end too early.
    #[error("needs {needed} bytes, {left} are left")]
    Truncated {
        /// Bytes that it takes.
        needed: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// A size field that does not cover its own structure.
    #[error("size field is {size}, must be at least {least}")]
    SizeTooSmall {
        /// What the field says.
        size: u32,
        /// What it must be at least.
        least: u32,
    },
    /// A size field that reaches past what contains it.
    #[error("size field is {size}, but only {left} bytes follow the header")]
    SizeTooLarge {
        /// What the field says.
        size: u32,
        /// Bytes that follow the header.
        left: usize,
    },
    /// A count of more items than the bytes can hold.
    #[error("counts {count} items, the bytes have room for {room}")]
    CountTooLarge {
        /// What the field says.
        count: u32,
        /// How many there can be.
        room: usize,
    },
    /// An offset that leads out of the block.
    #[error("offset is {offset}, the block has {len} bytes")]
    OffsetOutside {
        /// What the field says.
        offset: u32,
        /// Bytes of the block.
        len: usize,
    },
    /// A name without its end.
    #[error("has no NUL inside its structure")]
    NoNul,
    /// A field with a value that nothing defines.
    #[error("is {value}, which is not defined")]
    Undefined {
        /// What the field says.
        value: u32,
    },
    /// A field outside its limits.
    #[error("is {value}, must be from {least} to {most}")]
    OutOfRange {
        /// What the field says.
        value: i64,
        /// What it must be at least.
        least: i64,
        /// What it may be at most.
        most: i64,
    },
    /// A value of a V1 object that lies outside its counter block.
    #[error(
        "the value of PERF_COUNTER_DEFINITION {position} at byte {at} needs {needed} bytes, its block has {left}"
    )]
    ValueOutside {
        /// The position of the definition that is wrong, from 0.
        position: usize,
        /// Offset of the definition from the start of the whole block.
        at: usize,
        /// Bytes that a counter block must have to hold the value.
        needed: usize,
        /// Bytes that the object's counter block has.
        left: usize,
    },
    /// A text that should be a decimal number.
    #[error("is not a decimal number")]
    NotANumber,
    /// Nothing that is wrong, but what few would expect.
    #[error("{0}")]
    Unusual(&'static str),
    /// Something other than what this rule asks for.
    #[error("{0}")]
    Rule(&'static str),
}

/// A structure as the bytes have it, with its size.
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

/// A length or count from the wire as a `usize`: more than memory can hold is `usize::MAX`, which fits nowhere.
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
        assert_eq!((first.at(), all.at()), (4, 6));
        let error = first.read::<U32>("two").unwrap_err();
        assert_eq!(error.to_string(), "two at byte 4: needs 4 bytes, 2 are left");
        assert_eq!(all.take("rest", 7).unwrap_err().at, 6);
        assert_eq!(all.take("rest", 6).unwrap().rest().len(), 6);
        assert!(all.is_empty());
    }
}
