//! Names of V1 instances, in UTF-16 or in another code page.

use std::fmt;

use crate::utf16::{Name, Utf16};

/// Code pages of UTF-16, little-endian and big-endian, for the instance names of a V1 object.
const UTF_16LE: u32 = 1200;
const UTF_16BE: u32 = 1201;

/// Instance name as stored in a V1 block: in UTF-16 or in another code page.
///
/// The name ends at the first NUL, or with the bytes. A name that is invalid in its code page, or in an unknown code
/// page, is read as UTF-16, as in Microsoft's sample. UNVERIFIED: no block with a code page is known.
#[derive(Clone, Copy, Debug)]
pub struct InstanceName<'a> {
    bytes: &'a [u8],
    code_page: u32,
}

impl<'a> InstanceName<'a> {
    /// Creates an instance name from its bytes, which are encoded in the code page `code_page`.
    pub(crate) fn new(bytes: &'a [u8], code_page: u32) -> Self {
        Self { bytes, code_page }
    }

    /// Returns the bytes of the instance name, without the NUL.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        match self.is_wide() {
            true => Name::until_nul(self.bytes).as_bytes(),
            false => self.bytes.split(|byte| *byte == 0).next().unwrap_or_default(),
        }
    }

    /// Returns `true` if the instance name consists of units of two bytes, as in every known block.
    #[must_use]
    pub fn is_wide(self) -> bool {
        matches!(self.code_page, 0 | UTF_16LE | UTF_16BE)
    }

    /// Returns the instance name in UTF-16.
    #[must_use]
    pub fn to_utf16(self) -> Utf16 {
        match self.in_code_page() {
            Some(text) => Utf16::from(&*text),
            None => Name::until_nul(self.bytes).into(),
        }
    }

    fn in_code_page(&self) -> Option<std::borrow::Cow<'_, str>> {
        let bytes = match self.code_page {
            // Not decoded: a name can contain unpaired surrogates, which a `str` cannot.
            0 | UTF_16LE => return None,
            // A NUL has the same two bytes in both byte orders.
            UTF_16BE => Name::until_nul(self.bytes).as_bytes(),
            _ => self.bytes.split(|byte| *byte == 0).next().unwrap_or_default(),
        };
        let page = codepage::to_encoding(u16::try_from(self.code_page).ok()?)?;
        page.decode_without_bom_handling_and_without_replacement(bytes)
    }
}

impl fmt::Display for InstanceName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.in_code_page() {
            Some(text) => f.pad(&text),
            None => Name::until_nul(self.bytes).fmt(f),
        }
    }
}
