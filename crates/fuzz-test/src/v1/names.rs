//! Fuzz target that reads arbitrary bytes as a V1 name table.

use std::collections::BTreeMap;

use perfset_core::v1::{NameTable, TitleNames, name_table};

use crate::blocks::inside;

/// Checks a V1 name table: it has no more pairs than the bytes can hold, and the last text of an index counts. The
/// pairs are the same after writing and reading.
pub fn check(bytes: &[u8]) {
    let table = NameTable::new(bytes);
    let mut pairs = table.iter();
    let (mut last, mut skipped) = (BTreeMap::new(), Vec::new());
    let (mut count, mut len) = (0_usize, 0_usize);
    for pair in pairs.by_ref() {
        count += 1;
        match pair {
            Ok((index, text)) => {
                assert_ne!(index, 0);
                len += text.as_bytes().len();
                last.insert(index, text.to_string());
            }
            Err(error) => {
                inside(&error, bytes);
                skipped.push(error);
            }
        }
    }
    assert!(pairs.next().is_none());
    // Of the two strings the first has its NUL, and the second a NUL or a unit; an index that is one has a digit.
    assert!(count * 4 + (count - skipped.len()) * 2 + len <= bytes.len() + 2, "{count} of {}", bytes.len());

    let (names, some_skipped) = TitleNames::read(table);
    assert!(some_skipped.iter().eq(skipped.iter().take(some_skipped.len())));
    assert!(names.iter().eq(last.iter().map(|(index, text)| (*index, text.as_str()))));
    assert_eq!(names.iter().len(), last.len());
    for (index, text) in last.iter().take(16) {
        assert_eq!(names.get(*index), Some(text.as_str()));
        let same = last.iter().filter(|(_, other)| *other == text).map(|(index, _)| *index);
        assert!(names.indexes(text).eq(same));
    }
    let written = name_table(names.iter());
    assert_eq!(TitleNames::read(NameTable::new(&written)), (names, Vec::new()));
}
