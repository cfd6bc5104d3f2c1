//! Strings of a registration in the V2 byte format: names and help texts of counters, and single strings.

use zerocopy::FromBytes;

use super::align8;
use super::build::put;
use super::raw;
use crate::counterset::CounterId;
use crate::utf16::Name;
use crate::wire::{Cursor, Why, WireError, length};

const NONE: u32 = 0xFFFF_FFFF;

/// Block with one string per counter: request codes 5, 6 and 10.
///
/// **Shape**: header, one offset per counter, the strings. Offsets count from the start of the block.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_STRING_BUFFER_HEADER")]
pub struct StringBlock<'a> {
    pub(super) header: &'a raw::StringBufferHeader,
    pub(super) entries: &'a [raw::StringCounterHeader],
    /// Bytes of the whole block of strings, as many as `dwSize` says.
    whole: &'a [u8],
}

impl<'a> StringBlock<'a> {
    /// Checks the header of a block of strings and that all offsets are present; bytes after `dwSize` are ignored.
    ///
    /// # Errors
    /// Fails if there are too few bytes, or if a size or count does not fit them.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut all = Cursor::new(bytes);
        let header: &raw::StringBufferHeader = all.read("PERF_STRING_BUFFER_HEADER")?;
        let mut body = all.body("PERF_STRING_BUFFER_HEADER.dwSize", 0, header.size.get(), 8)?;
        let count = header.counter_count.get();
        let room = body.rest().len().wrapping_div(8);
        if length(count) > room {
            let why = Why::CountTooLarge { count, room };
            return Err(WireError::new("PERF_STRING_BUFFER_HEADER.dwCounters", 4, why));
        }
        let entries = body.take("PERF_STRING_COUNTER_HEADER", length(count).saturating_mul(8))?.rest();
        Ok(Self {
            header,
            entries: <[raw::StringCounterHeader]>::ref_from_bytes(entries).unwrap_or_default(),
            whole: bytes.get(..length(header.size.get())).unwrap_or_default(),
        })
    }

    /// Returns an iterator over the counters and their strings, in order. A missing string is `Ok(None)`. A string
    /// outside the block or without an end in it is an error that does not affect the others.
    #[must_use]
    pub fn iter(&self) -> StringsIter<'a> {
        let budget = self.whole.len().saturating_mul(8);
        StringsIter { whole: self.whole, entries: self.entries.iter().enumerate(), budget }
    }
}

/// Iterator over the counters and strings of a [`StringBlock`].
///
/// Strings can share bytes. To limit the cost of reading them all, every string after 8 times the length of the block
/// is an error.
#[derive(Clone, Debug)]
pub struct StringsIter<'a> {
    whole: &'a [u8],
    entries: std::iter::Enumerate<std::slice::Iter<'a, raw::StringCounterHeader>>,
    budget: usize,
}

impl<'a> Iterator for StringsIter<'a> {
    type Item = (CounterId, Result<Option<Name<'a>>, WireError>);

    fn next(&mut self) -> Option<Self::Item> {
        let (i, entry) = self.entries.next()?;
        let at = i.saturating_mul(8).saturating_add(12);
        let error = |why| Err(WireError::new("PERF_STRING_COUNTER_HEADER.dwOffset", at, why));
        let offset = entry.offset.get();
        let string = match self.whole.get(length(offset)..) {
            _ if offset == NONE => Ok(None),
            None => error(Why::OffsetOutside { offset, len: self.whole.len() }),
            Some(area) => {
                let within = area.get(..self.budget).unwrap_or(area);
                let name = Name::until_nul(within);
                let len = name.as_bytes().len();
                self.budget = self.budget.saturating_sub(len);
                match area.get(len..len.saturating_add(2)) {
                    Some([0, 0]) => Ok(Some(name)),
                    // The text ends at the budget and not at a NUL: too many strings share bytes.
                    Some(_) => error(Why::Rule("strings do not overlap much"))
                        .map_err(|error: WireError| error.by("the reader's limit")),
                    None => error(Why::NoNul),
                }
            }
        };
        Some((CounterId(entry.counter_id.get()), string))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl ExactSizeIterator for StringsIter<'_> {}

/// Writes a block with one string per counter, such as its name. A counter without a string has an entry too.
#[must_use]
pub fn block<'a>(strings: impl IntoIterator<Item = (CounterId, Option<&'a str>)> + Clone) -> Vec<u8> {
    let mut out = vec![0; 8];
    let mut count: u32 = 0;
    for (id, _) in strings.clone() {
        out.extend_from_slice(&id.0.to_le_bytes());
        out.extend_from_slice(&NONE.to_le_bytes());
        count = count.saturating_add(1);
    }
    for (i, (_, text)) in strings.into_iter().enumerate() {
        let Some(text) = text else { continue };
        let offset = u32::try_from(out.len()).unwrap_or(NONE);
        put(&mut out, i.saturating_mul(8).saturating_add(12), offset);
        out.extend_from_slice(&single(text));
    }
    out.resize(align8(out.len()), 0);
    let size = u32::try_from(out.len()).unwrap_or(u32::MAX);
    put(&mut out, 0, size);
    put(&mut out, 4, count);
    out
}

/// Writes a single NUL-terminated string of a registration: request codes 3, 4, 7 and 9. Not padded.
#[must_use]
pub fn single(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}
