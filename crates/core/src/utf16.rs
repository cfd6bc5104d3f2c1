//! UTF-16 text as stored in blocks: NUL-terminated, possibly with unpaired surrogates.

use std::fmt;

use crate::wire::length;

/// Text as stored in a block, such as an instance name: UTF-16LE without the terminating NUL. Borrowed, not aligned.
///
/// Unpaired surrogates are displayed as U+FFFD; names are compared by code units.
#[derive(Clone, Copy, Default)]
pub struct Name<'a> {
    bytes: &'a [u8],
}

impl<'a> Name<'a> {
    /// Returns the text of `bytes` up to the first NUL unit, or all whole units if there is no NUL.
    // Inlined: a caller that only asks if there is a name then reads its first unit and nothing else.
    #[must_use]
    #[inline]
    pub fn until_nul(bytes: &'a [u8]) -> Self {
        const UNIT: usize = 2;
        match bytes.first_chunk::<UNIT>() {
            None | Some([0, 0]) => Self { bytes: &[] },
            // One unit or more, which a compiler sees in no loop.
            Some(_) => Self { bytes: bytes.get(..len_until_nul(bytes).max(UNIT)).unwrap_or(bytes) },
        }
    }

    /// Returns the text of `bytes`, which contain whole UTF-16 units without a NUL.
    pub(crate) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the UTF-16 code units of the text.
    pub fn units(self) -> impl DoubleEndedIterator<Item = u16> + ExactSizeIterator + Clone + 'a {
        self.bytes.chunks_exact(2).map(|unit| match unit {
            [low, high] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        })
    }

    /// Returns the little-endian bytes of the text, without the NUL.
    #[must_use]
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns `true` if the text has no code units.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }
}

/// Returns the number of bytes before the first NUL unit, or of all whole units if there is no NUL.
#[inline]
fn len_until_nul(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0001_0001_0001_0001;
    const HIGHEST: u64 = 0x8000_8000_8000_8000;
    // Four units at once: names are short, and there is one for each instance of a block.
    let mut words = bytes.chunks_exact(8);
    let mut len = 0_usize;
    for word in words.by_ref() {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        // The lowest of these bits is that of the first NUL; without a NUL there is none.
        let nuls = word.wrapping_sub(ONES) & !word & HIGHEST;
        if nuls != 0 {
            let units = length(nuls.trailing_zeros()).wrapping_div(16);
            return len.wrapping_add(units.wrapping_mul(2));
        }
        len = len.wrapping_add(8);
    }
    // A single byte at the end is half a unit, and dropped: lengths of foreign blocks can be odd.
    let units = words.remainder().chunks_exact(2).take_while(|unit| *unit != [0, 0]).count();
    len.wrapping_add(units.wrapping_mul(2))
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Name<'_> {}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        self.units().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for Name<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lossy(self.units(), f)
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// Owned UTF-16 text without the NUL: an instance name or a pattern for instance names.
///
/// Every unit from a C caller or a block is kept, including invalid Unicode.
///
/// ```
/// use perfset::Utf16;
/// assert_eq!(Utf16::from("0,_Total").to_string(), "0,_Total");
/// assert_eq!(Utf16::from("_Total").len(), 6);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Utf16(Box<[u16]>);

impl Utf16 {
    /// Returns the text in capitals, by [`upper`]. Two names are the same name to Windows if their capitals are equal.
    #[must_use]
    pub fn capitals(&self) -> Self {
        Self(self.0.iter().map(|unit| upper(*unit)).collect())
    }

    /// Returns the UTF-16 code units of the text.
    #[must_use]
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// Returns the number of UTF-16 code units of the text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the text has no UTF-16 code units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Utf16 {
    fn from(text: &str) -> Self {
        Self(text.encode_utf16().collect())
    }
}

impl From<&[u16]> for Utf16 {
    fn from(units: &[u16]) -> Self {
        Self(units.into())
    }
}

impl From<Name<'_>> for Utf16 {
    fn from(name: Name<'_>) -> Self {
        Self(name.units().collect())
    }
}

impl fmt::Display for Utf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lossy(self.0.iter().copied(), f)
    }
}

impl fmt::Debug for Utf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

fn lossy(units: impl Iterator<Item = u16>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    use fmt::Write;
    // `write_char` ignores width and precision: with them, the whole text must be built first.
    if f.width().is_some() || f.precision().is_some() {
        let text: String =
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        return f.pad(&text);
    }
    char::decode_utf16(units).try_for_each(|c| f.write_char(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
}

/// Returns the simple upper-case form of a UTF-16 code unit, by which names are compared (R-25).
///
/// A unit whose capital is not exactly one unit (a surrogate, `ß`) is returned unchanged. This is the full mapping of
/// Unicode if that gives one unit. It differs from the simple mapping for the Greek letters with iota subscript
/// (U+1F80 to U+1FFC), which are returned unchanged.
#[must_use]
pub fn upper(unit: u16) -> u16 {
    // Nearly all names are ASCII, and `char::to_uppercase` searches a table.
    if let Ok(ascii) = u8::try_from(unit) {
        if ascii.is_ascii() {
            return u16::from(ascii.to_ascii_uppercase());
        }
    }
    let Some(c) = char::from_u32(u32::from(unit)) else { return unit };
    let mut capital = c.to_uppercase();
    match (capital.next(), capital.next()) {
        (Some(one), None) => u16::try_from(u32::from(one)).unwrap_or(unit),
        _ => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_their_nul() {
        let bytes = [b'a', 0, b'b', 0, 0, 0, b'c', 0, 9];
        let name = Name::until_nul(&bytes);
        assert_eq!(name, "ab");
        assert_eq!(name.units().collect::<Vec<_>>(), [97, 98]);
        assert_eq!(Name::until_nul(&bytes[..3]), "a", "an odd byte at the end is not a unit");
        assert!(Name::until_nul(&[0, 0]).is_empty() && Name::until_nul(&[]).is_empty());
        assert_eq!(Name::until_nul(&[0, b'a', 0, 0]), "\u{6100}", "a zero byte is not a NUL unit");
    }

    #[test]
    fn every_position_of_a_nul() {
        // Units around those that the search for four at once could confuse with a NUL.
        let units = [0x0001, 0x8000, 0x0100, 0x00FF, 0xFFFF, 0x8001, 0x7FFF];
        for len in 0..20 {
            let text: Vec<u16> = units.into_iter().cycle().skip(len).take(len).collect();
            for nuls in 0..3 {
                for after in 0..4 {
                    let all = text.iter().copied().chain(vec![0; nuls]).chain(vec![1; after]);
                    let mut bytes: Vec<u8> = all.flat_map(u16::to_le_bytes).collect();
                    let wanted = if nuls == 0 { len + after } else { len };
                    assert_eq!(Name::until_nul(&bytes).units().len(), wanted, "{len} {nuls} {after}");
                    assert!(Name::until_nul(&bytes).units().take(len).eq(text.iter().copied()));
                    bytes.push(0);
                    assert_eq!(Name::until_nul(&bytes).units().len(), wanted, "{len} {nuls} {after}, odd");
                }
            }
        }
    }

    #[test]
    fn unpaired_surrogates_stay() {
        let units: &[u16] = &[0xD800, 0x41];
        let text = Utf16::from(units);
        assert_eq!(text.to_string(), "\u{FFFD}A");
        assert_eq!(text.units(), units);
        assert_eq!(format!("{text:>4}"), "  \u{FFFD}A");
    }

    #[test]
    fn capitals() {
        for (from, to) in [('a', 'A'), ('Z', 'Z'), ('_', '_'), ('é', 'É'), ('ß', 'ß'), ('я', 'Я'), ('ÿ', 'Ÿ')]
        {
            assert_eq!(
                upper(u16::try_from(u32::from(from)).unwrap()),
                u16::try_from(u32::from(to)).unwrap(),
                "{from}"
            );
        }
        assert_eq!(upper(0xD801), 0xD801);
    }
}
