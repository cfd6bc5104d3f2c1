//! GUIDs: 16-byte ids of countersets and providers.

use std::fmt;
use std::str::FromStr;

/// GUID of a counterset or provider as 16 stored bytes: the first three fields little-endian, the rest in order.
///
/// Ordered by the stored bytes, which is the order of an enumeration (R-12).
///
/// ```
/// use perfset::Guid;
/// let guid: Guid = "b4fc721a-0378-476f-89ba-a5a79f810b36".parse().unwrap();
/// assert_eq!(guid.to_wire()[..4], [0x1a, 0x72, 0xfc, 0xb4]);
/// assert_eq!(guid.to_string(), "b4fc721a-0378-476f-89ba-a5a79f810b36");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[doc(alias = "GUID")]
pub struct Guid([u8; 16]);

impl Guid {
    /// GUID with all bits zero: identifies nothing.
    pub const NIL: Self = Self([0; 16]);

    /// Creates a GUID from 16 bytes as stored in a block.
    #[must_use]
    pub const fn from_wire(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the 16 bytes of the GUID as stored in a block.
    #[must_use]
    pub const fn to_wire(self) -> [u8; 16] {
        self.0
    }

    /// Creates a GUID from its 32 hexadecimal digits as they are written, given as one number.
    #[must_use]
    pub const fn from_u128(digits: u128) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = digits.to_be_bytes();
        let [i, j, k, l, m, n, o, p] = rest;
        Self([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p])
    }

    /// Returns the 32 hexadecimal digits of the GUID as they are written, as one number.
    #[must_use]
    pub const fn to_u128(self) -> u128 {
        let [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p] = self.0;
        u128::from_be_bytes([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.to_u128());
        let mut rest = digits.as_str();
        for len in [8, 4, 4, 4] {
            let (part, after) = rest.split_at(len);
            write!(f, "{part}-")?;
            rest = after;
        }
        f.write_str(rest)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// Error: a text is not a GUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a GUID: expected 8-4-4-4-12 hexadecimal digits, with or without braces")]
pub struct ParseGuidError(String);

impl FromStr for Guid {
    type Err = ParseGuidError;

    fn from_str(text: &str) -> Result<Self, ParseGuidError> {
        // The text is untrusted input of any length, so the error contains only its beginning.
        let bad = || ParseGuidError(text.chars().take(64).collect());
        let inner = match text.strip_prefix('{') {
            Some(rest) => rest.strip_suffix('}').ok_or_else(bad)?,
            None => text,
        };
        let mut digits: u128 = 0;
        let mut lens = inner.split('-').map(str::len);
        if ![8, 4, 4, 4, 12].into_iter().all(|want| lens.next() == Some(want)) || lens.next().is_some() {
            return Err(bad());
        }
        // The groups have 32 digits together, which fill the number exactly: no shift below loses a bit.
        for c in inner.chars().filter(|c| *c != '-') {
            let digit = c.to_digit(16).ok_or_else(bad)?;
            digits = digits.wrapping_shl(4) | u128::from(digit);
        }
        Ok(Self::from_u128(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_stored_bytes() {
        let text = "01020304-0506-0708-090a-0b0c0d0e0f10";
        let guid: Guid = text.parse().unwrap();
        assert_eq!(guid.to_wire(), [4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(guid.to_string(), text);
        assert_eq!(format!("{guid:?}"), format!("{{{text}}}"));
        assert_eq!(format!("{{{text}}}").to_uppercase().parse(), Ok(guid), "braces and capitals");
        assert_eq!(Guid::from_u128(guid.to_u128()), guid);
        assert_eq!(Guid::from_wire(guid.to_wire()), guid);
    }

    #[test]
    fn invalid_guid_texts_are_rejected() {
        for bad in [
            "",
            "{}",
            "01020304-0506-0708-090a-0b0c0d0e0f1",
            "01020304-0506-0708-090a-0b0c0d0e0f101",
            "0102030-40506-0708-090a-0b0c0d0e0f10",
            "0102030405060708090a0b0c0d0e0f10",
            "01020304-0506-0708-090a-0b0c0d0e0f1g",
            "{01020304-0506-0708-090a-0b0c0d0e0f10",
            "01020304-0506-0708-090a-0b0c0d0e0f10}",
            "01020304-0506-0708-090a-0b0c0d0e0f10-",
        ] {
            assert!(bad.parse::<Guid>().is_err(), "{bad}");
        }
    }
}
