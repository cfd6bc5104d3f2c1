//! Integers and texts in the payloads of a recording's blocks: LEB128, zigzag for signed integers, texts with their
//! length.

use perfset_core::Guid;

/// Error for a malformed payload of a recording's block, with the position at which reading failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset} of its payload")]
pub struct Malformed {
    /// Offset of the error from the beginning of the uncompressed payload.
    pub offset: usize,
    /// Description of the error in the payload.
    pub what: String,
}

/// Appends an unsigned integer to a payload, encoded as LEB128.
pub(super) fn put_uint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number));
}

fn low_byte(number: u64) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}

/// Appends a signed integer to a payload, encoded as zigzag and LEB128.
pub(super) fn put_int(out: &mut Vec<u8>, number: i64) {
    put_uint(out, zigzag(number));
}

/// Appends a length or count to a payload, encoded as LEB128.
pub(super) fn put_len(out: &mut Vec<u8>, len: usize) {
    put_uint(out, u64::try_from(len).unwrap_or(u64::MAX));
}

/// Appends a text with its length to a payload.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

/// Appends bytes with their length to a payload.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Encodes a signed integer as an unsigned one (zigzag), so that small integers of either sign become small ones.
pub(super) fn zigzag(number: i64) -> u64 {
    u64::from_ne_bytes(((number << 1) ^ (number >> 63)).to_ne_bytes())
}

/// Maps unsigned numbers back to signed ones: inverse function of [`zigzag`].
pub(super) fn unzigzag(number: u64) -> i64 {
    i64::from_ne_bytes(((number >> 1) ^ (number & 1).wrapping_neg()).to_ne_bytes())
}

/// Maximum length in bytes of a text in a payload, far longer than any help text.
const LONGEST_TEXT: usize = 64 << 10;

/// Number of bytes of a payload that are examined together, as one word.
const WORD: usize = 8;
/// Mask of bit 7 of each byte of a word, which is set if a LEB128 integer continues in the next byte.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Cursor over the bytes of a block's payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct PayloadCursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> PayloadCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Returns an error for the cursor's current position in the payload.
    pub fn error(&self, what: impl Into<String>) -> Malformed {
        Malformed { offset: self.offset, what: what.into() }
    }

    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of bytes left to read in the payload.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Checks that the cursor has read all bytes of the payload.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.is_at_end() { Ok(()) } else { Err(self.error(format!("{} bytes too many", self.left()))) }
    }

    pub fn byte(&mut self, what: &str) -> Result<u8, Malformed> {
        let (byte, rest) = self.bytes.split_first().ok_or_else(|| self.error(format!("no {what}")))?;
        self.bytes = rest;
        self.offset = self.offset.saturating_add(1);
        Ok(*byte)
    }

    pub fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.bytes.split_at_checked(len) else {
            return Err(self.error(format!("{what} of {len} bytes, and {} are left", self.left())));
        };
        self.bytes = rest;
        self.offset = self.offset.saturating_add(len);
        Ok(taken)
    }

    #[inline]
    pub fn uint(&mut self, what: &str) -> Result<u64, Malformed> {
        // Nearly all numbers have one byte.
        if let Some((byte @ 0..0x80, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            self.offset = self.offset.saturating_add(1);
            return Ok(u64::from(*byte));
        }
        self.long_uint(what)
    }

    /// Reads a LEB128 integer of several bytes from a payload, up to 8 bytes at once.
    #[inline]
    fn long_uint(&mut self, what: &str) -> Result<u64, Malformed> {
        let Some((word, _)) = self.bytes.split_first_chunk::<WORD>() else { return self.uint_by_bytes(what) };
        let word = u64::from_le_bytes(*word);
        // The last byte of an integer lacks bit 7.
        let end = (!word & HIGH_BITS).trailing_zeros();
        if end >= u64::BITS {
            return self.uint_by_bytes(what);
        }
        let len = usize::try_from(end / 8).unwrap_or(0).saturating_add(1);
        let kept = word & (u64::MAX >> (u64::BITS - 1).saturating_sub(end));
        // Groups of 7 bits become groups of 14, 28 and 56.
        let pairs = (kept & 0x007F_007F_007F_007F) | ((kept & 0x7F00_7F00_7F00_7F00) >> 1);
        let fours = (pairs & 0x0000_3FFF_0000_3FFF) | ((pairs & 0x3FFF_0000_3FFF_0000) >> 2);
        let number = (fours & 0x0FFF_FFFF) | ((fours & 0x0FFF_FFFF_0000_0000) >> 4);
        self.bytes = self.bytes.get(len..).unwrap_or_default();
        self.offset = self.offset.saturating_add(len);
        Ok(number)
    }

    fn uint_by_bytes(&mut self, what: &str) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7F);
            // The tenth byte has room for one bit.
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error(format!("{what} of more than 64 bits")))
    }

    /// Skips integers of a payload without decoding their values.
    #[inline]
    pub fn skip_uints(&mut self, count: usize, what: &str) -> Result<(), Malformed> {
        let (mut left, mut rest) = (count, self.bytes);
        while let Some((word, after)) = rest.split_first_chunk::<WORD>() {
            // The last byte of each integer lacks bit 7.
            let ends = !u64::from_le_bytes(*word) & HIGH_BITS;
            let integers = usize::try_from(ends.count_ones()).unwrap_or(WORD);
            if integers >= left {
                // Mostly each has one byte: a letter of a name, or a small number.
                if ends == HIGH_BITS {
                    (left, rest) = (0, rest.get(left..).unwrap_or_default());
                }
                break;
            }
            (left, rest) = (left.saturating_sub(integers), after);
        }
        while left > 0 {
            let missing =
                || self.error(format!("{count} integers ({what}), and {} bytes are left", self.left()));
            let (byte, after) = rest.split_first().ok_or_else(missing)?;
            (left, rest) = (left.saturating_sub(usize::from(*byte < 0x80)), after);
        }
        self.offset = self.offset.saturating_add(self.bytes.len().saturating_sub(rest.len()));
        self.bytes = rest;
        Ok(())
    }

    /// Reads signed integers of a payload, and returns their sum modulo 2^64.
    pub fn sum_of_ints(&mut self, count: usize, what: &str) -> Result<u64, Malformed> {
        let (mut from, mut sum) = (*self, 0_u64);
        for _ in 0..count {
            sum = sum.wrapping_add(u64::from_ne_bytes(unzigzag(from.uint(what)?).to_ne_bytes()));
        }
        *self = from;
        Ok(sum)
    }

    /// Reads names from a payload, each stored as length and one integer per UTF-16 unit, and returns the indexes of
    /// names equal to `wanted`.
    pub fn find_names(&mut self, count: usize, wanted: &[u8]) -> Result<Vec<usize>, Malformed> {
        let (mut from, mut found) = (*self, Vec::new());
        for number in 0..count {
            // Mostly the first byte differs, which is the length.
            if from.bytes.first() == wanted.first() && from.bytes.starts_with(wanted) {
                found.push(number);
            }
            let units = from.small("length of a name")?;
            match from.bytes.split_first_chunk::<WORD>() {
                // A short name of ASCII.
                Some((word, _)) if units <= WORD && u64::from_le_bytes(*word) & HIGH_BITS == 0 => {
                    from.bytes = from.bytes.get(units..).unwrap_or_default();
                    from.offset = from.offset.saturating_add(units);
                }
                _ => from.skip_uints(units, "name")?,
            }
        }
        *self = from;
        Ok(found)
    }

    pub fn int(&mut self, what: &str) -> Result<i64, Malformed> {
        self.uint(what).map(unzigzag)
    }

    pub fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, Malformed> {
        let number = self.uint(what)?;
        T::try_from(number).map_err(|_| self.error(format!("{what} {number} is too large")))
    }

    /// Reads a count of encoded items of at least `least` bytes each; a count for which too few bytes are left is an
    /// error.
    pub fn count(&mut self, least: usize, what: &str) -> Result<usize, Malformed> {
        let count: usize = self.small(what)?;
        if count.checked_mul(least).is_none_or(|bytes| bytes > self.left()) {
            return Err(self.error(format!("{count} {what}, and {} bytes are left", self.left())));
        }
        Ok(count)
    }

    pub fn text(&mut self, what: &str) -> Result<&'a str, Malformed> {
        let bytes = self.bytes(what)?;
        if bytes.len() > LONGEST_TEXT {
            return Err(self.error(format!("{what} of {} bytes", bytes.len())));
        }
        std::str::from_utf8(bytes).map_err(|_| self.error(format!("{what} that is not UTF-8")))
    }

    pub fn bytes(&mut self, what: &str) -> Result<&'a [u8], Malformed> {
        let len = self.count(1, what)?;
        self.take(len, what)
    }

    /// Reads a length from a payload, and returns a cursor over that number of bytes. Its errors have offsets in the
    /// whole payload.
    pub fn nested(&mut self, what: &str) -> Result<Self, Malformed> {
        let len = self.count(1, what)?;
        let offset = self.offset;
        Ok(Self { bytes: self.take(len, what)?, offset })
    }

    pub fn guid(&mut self, what: &str) -> Result<Guid, Malformed> {
        let bytes = self.take(16, what)?;
        <[u8; 16]>::try_from(bytes).map(Guid::from_wire).map_err(|_| self.error(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_trip() {
        for number in [0, 1, 0x7F, 0x80, 0x3FFF, 0x4000, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_uint(&mut out, number);
            put_int(&mut out, unzigzag(number));
            let mut cursor = PayloadCursor::new(&out);
            assert_eq!(cursor.uint("n"), Ok(number));
            assert_eq!(cursor.int("n"), Ok(unzigzag(number)));
            assert_eq!(cursor.end(), Ok(()));
        }
        assert_eq!([0, -1, 1, -2, i64::MAX, i64::MIN].map(zigzag), [0, 1, 2, 3, u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn integers_are_skipped() {
        let numbers = [0, 1, 0x7F, 0x80, 0x3FFF, 0x4000, u64::MAX, 5, 1 << 40, 6, 7, 8, 300, 9, 1 << 62, 10];
        let mut out = Vec::new();
        numbers.iter().for_each(|number| put_uint(&mut out, *number));
        for count in 0..=numbers.len() {
            let (mut skipping, mut reading) = (PayloadCursor::new(&out), PayloadCursor::new(&out));
            skipping.skip_uints(count, "n").unwrap();
            numbers[..count].iter().for_each(|number| assert_eq!(reading.uint("n"), Ok(*number)));
            assert_eq!((skipping.left(), skipping.offset), (reading.left(), reading.offset), "{count}");
            assert_eq!(skipping.bytes, reading.bytes);
        }
        let mut cursor = PayloadCursor::new(&out);
        assert!(cursor.skip_uints(numbers.len() + 1, "n").is_err());
        assert!(cursor.skip_uints(usize::MAX, "n").is_err());
        assert_eq!(cursor.left(), out.len());
        assert!(PayloadCursor::new(&[0x80, 0x80]).skip_uints(1, "n").is_err());
    }

    #[test]
    fn malformed_integers_name_their_place() {
        for (bytes, want) in [
            (&[][..], "no n at byte 0 of its payload"),
            (&[0x80], "no n at byte 1 of its payload"),
            (&[0xFF; 10], "n of more than 64 bits at byte 10 of its payload"),
        ] {
            assert_eq!(PayloadCursor::new(bytes).uint("n").unwrap_err().to_string(), want, "{bytes:?}");
        }
        let mut cursor = PayloadCursor::new(&[3, 1, 2]);
        assert_eq!(
            cursor.text("name").unwrap_err().to_string(),
            "3 name, and 2 bytes are left at byte 1 of its payload"
        );
    }
}
