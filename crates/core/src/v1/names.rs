//! Name tables of the V1 format: map title indexes to names and help texts.

use std::collections::BTreeMap;

use crate::utf16::Name;
use crate::visit::most_listed;
use crate::wire::{Why, WireError};

/// V1 table of names or help texts: the result of a query for `Counter 009` or `Help 009`.
///
/// **Shape**: pairs of a decimal index and its text, each a NUL-terminated UTF-16 string; another NUL ends the table.
/// The first pair of a table of names is 1 and the last index of every system, 1847. Source: MS Learn, "Retrieving
/// Counter Names and Help Text".
#[derive(Clone, Copy, Debug)]
pub struct NameTable<'a> {
    bytes: &'a [u8],
}

impl<'a> NameTable<'a> {
    /// Creates a view of the bytes of a name table. Any bytes are accepted: invalid pairs are errors of
    /// [`iter`](Self::iter).
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the pairs of a title index and a text, in their order. A pair whose index is not a number is an error,
    /// and the next pair follows it.
    #[must_use]
    pub fn iter(&self) -> NamesIter<'a> {
        // Found from the end: an empty text also looks like the NUL that ends the table.
        let last = self.bytes.iter().rposition(|byte| *byte != 0);
        NamesIter { rest: self.bytes, offset: 0, end: last.map_or(0, |last| last.saturating_add(1)) }
    }
}

/// Iterator over the pairs of title index and text of a [`NameTable`].
#[derive(Clone, Debug)]
pub struct NamesIter<'a> {
    rest: &'a [u8],
    offset: usize,
    /// Offset in the name table after which there are only the NUL that ends the table, and padding.
    end: usize,
}

impl<'a> NamesIter<'a> {
    /// Returns the next string of the name table and its offset. The last string can lack its NUL.
    fn string(&mut self) -> Option<(usize, Name<'a>)> {
        if self.rest.len() < 2 {
            return None;
        }
        let at = self.offset;
        let text = Name::until_nul(self.rest);
        let taken = text.as_bytes().len().saturating_add(2);
        self.rest = self.rest.get(taken..).unwrap_or_default();
        self.offset = at.saturating_add(taken);
        Some((at, text))
    }
}

impl<'a> Iterator for NamesIter<'a> {
    type Item = Result<(u32, Name<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.end {
            return None;
        }
        let (at, index) = self.string()?;
        let (_, text) = self.string()?; // an index without a text is none
        Some(match number(index) {
            Some(0) => Err(WireError::new("name table index", at, Why::Undefined { value: 0 })),
            Some(index) => Ok((index, text)),
            None => Err(WireError::new("name table index", at, Why::NotANumber)),
        })
    }
}

/// Parses a decimal title index that consists of digits only.
fn number(text: Name<'_>) -> Option<u32> {
    // `str::parse` is no replacement: it accepts a plus sign.
    let mut number: u32 = 0;
    for unit in text.units() {
        let digit = char::from_u32(unit.into())?.to_digit(10)?;
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    (!text.is_empty()).then_some(number)
}

/// Texts of a V1 name table, by title index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TitleNames(BTreeMap<u32, String>);

impl TitleNames {
    /// Reads a V1 name table; if a title index occurs twice, the last text is used. Also returns errors for skipped
    /// pairs: at most one per 64 bytes, and at most 1,000.
    #[must_use]
    pub fn read(table: NameTable<'_>) -> (Self, Vec<WireError>) {
        let most = most_listed(table.bytes.len());
        let mut names = Self::default();
        let mut skipped = Vec::new();
        for pair in table.iter() {
            match pair {
                Ok((index, text)) => names.insert(index, text.to_string()),
                Err(error) if skipped.len() < most => skipped.push(error),
                Err(_) => {}
            }
        }
        (names, skipped)
    }

    /// Sets the text of a title index.
    pub fn insert(&mut self, index: u32, text: String) {
        self.0.insert(index, text);
    }

    /// Returns the text of a title index.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&str> {
        self.0.get(&index).map(String::as_str)
    }

    /// Returns all title indexes of a text, ascending; several are possible.
    pub fn indexes(&self, text: &str) -> impl Iterator<Item = u32> {
        self.0.iter().filter(move |(_, known)| *known == text).map(|(index, _)| *index)
    }

    /// Returns all title indexes and their texts, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &str)> {
        self.0.iter().map(|(index, text)| (*index, text.as_str()))
    }
}

/// Writes a V1 name table that [`NameTable`] reads: the pairs in the given order, and the NUL that ends the table.
#[must_use]
pub fn name_table<'a>(pairs: impl IntoIterator<Item = (u32, &'a str)>) -> Vec<u8> {
    let mut table = Vec::new();
    let mut string = |text: &str| {
        // A NUL inside would begin another string.
        let units = text.encode_utf16().take_while(|unit| *unit != 0);
        table.extend(units.chain([0]).flat_map(u16::to_le_bytes));
    };
    for (index, text) in pairs {
        string(&index.to_string());
        string(text);
    }
    // One more NUL, because the table is a registry value of type REG_MULTI_SZ (E12).
    string("");
    table
}
