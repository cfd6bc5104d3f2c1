//! Text of blocks, in the units of a C program's `wchar_t`.
//!
//! Inside this project, and on Windows, text is UTF-16. A program whose `wchar_t` has 4 bytes, as is usual on Linux,
//! receives and passes UTF-32: the same blocks, with names of 4-byte units, and sizes and offsets that fit them.
//! Everything except text is the same. Unpaired surrogates keep their value in both directions.

use perfset::v2::identifier::Identifiers;
use perfset::v2::raw::Cell;
use perfset::v2::{CounterDataType, PERF_MAX_INSTANCE_NAME};
use perfset::wire::WireError;

/// Kind of text units in a C program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUnit {
    /// UTF-16: units of 2 bytes, as on Windows.
    Utf16,
    /// UTF-32: units of 4 bytes, as is usual on Linux.
    Utf32,
}

/// Location of the text in a response to a C program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLocation {
    /// Response without text, only numbers.
    Numbers,
    /// Response that is text and NULs as a whole.
    Text,
    /// Strings behind a PERF_STRING_BUFFER_HEADER.
    Strings,
    /// Names in PERF_INSTANCE_HEADER blocks.
    Instances,
    /// Names in PERF_COUNTER_IDENTIFIER blocks.
    Identifiers,
    /// Names in a single PERF_COUNTER_IDENTITY block.
    Identity,
}

/// Converts the text in a response of the engine to UTF-32.
pub fn to_utf32(block: &[u8], shape: TextLocation) -> Vec<u8> {
    let mut out = Vec::new();
    match shape {
        TextLocation::Numbers => out.extend_from_slice(block),
        TextLocation::Text => put_text(&mut out, block),
        TextLocation::Strings => strings(&mut out, block),
        TextLocation::Instances => {
            let mut rest = block;
            while let Some((instance, after)) = sized(rest, 0) {
                named(&mut out, instance, 8, 0);
                rest = after;
            }
        }
        TextLocation::Identifiers => {
            let mut rest = block;
            while let Some((identifier, after)) = sized(rest, 20) {
                named(&mut out, identifier, 40, 20);
                rest = after;
            }
        }
        TextLocation::Identity => identity(&mut out, block),
    }
    out
}

/// Converts a PERF_DATA_HEADER block of the engine to UTF-32 names, into a buffer that is reused.
pub fn data_to_utf32(block: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let (header, mut rest) = block.split_at_checked(48).unwrap_or((block, &[]));
    out.extend_from_slice(header);
    while let Some((result, after)) = sized(rest, 8) {
        let start = out.len();
        match u32_at(result, 4).and_then(CounterDataType::from_wire) {
            Some(CounterDataType::MultipleInstances) => table(out, result, 16, 1),
            Some(CounterDataType::Counterset) => {
                let ids = len_at(result, 16).unwrap_or(0);
                table(out, result, ids.saturating_add(16), len_at(result, 20).unwrap_or(0));
            }
            _ => out.extend_from_slice(result),
        }
        put_len_since(out, start, start.saturating_add(8));
        rest = after;
    }
    put_len_since(out, 0, 0);
}

/// Appends a result with a PERF_MULTI_INSTANCES block at `table_at`, with UTF-32 names; each instance has `columns`
/// values.
fn table(out: &mut Vec<u8>, result: &[u8], table_at: usize, columns: usize) {
    let (head, mut rest) = result.split_at_checked(table_at.saturating_add(8)).unwrap_or((result, &[]));
    let table_start = out.len().saturating_add(table_at);
    out.extend_from_slice(head);
    while let Some((instance, after)) = sized(rest, 0) {
        named(out, instance, 8, 0);
        let values_len = columns.saturating_mul(size_of::<Cell>());
        let (values, next) = after.split_at_checked(values_len).unwrap_or((after, &[]));
        out.extend_from_slice(values);
        rest = next;
    }
    put_len_since(out, table_start, table_start);
}

/// Appends a structure of `fixed` bytes and the name that follows it in UTF-32, if there is one; its size is at
/// `size_at`.
fn named(out: &mut Vec<u8>, block: &[u8], fixed: usize, size_at: usize) {
    let start = out.len();
    let (head, name) = block.split_at_checked(fixed).unwrap_or((block, &[]));
    out.extend_from_slice(head);
    if !name.is_empty() {
        put_text(out, until_nul(name));
        out.extend_from_slice(&[0; 4]);
        pad(out, start);
    }
    put_len_since(out, start, start.saturating_add(size_at));
}

/// Appends a PERF_STRING_BUFFER_HEADER with UTF-32 strings in the order of their counters, each with its new offset.
fn strings(out: &mut Vec<u8>, block: &[u8]) {
    const NONE: u32 = 0xFFFF_FFFF;
    let count = len_at(block, 4).unwrap_or(0);
    let heads_len = count.saturating_add(1).saturating_mul(8);
    out.extend_from_slice(block.get(..heads_len).unwrap_or(block));
    for entry in 0..count {
        let offset_at = entry.saturating_mul(8).saturating_add(12);
        let Some(offset) = u32_at(block, offset_at) else { break };
        let string = usize::try_from(offset).ok().and_then(|offset| block.get(offset..));
        let Some(string) = string.filter(|_| offset != NONE) else { continue };
        put_len_since(out, 0, offset_at);
        put_text(out, until_nul(string));
        out.extend_from_slice(&[0; 4]);
    }
    pad(out, 0);
    put_len_since(out, 0, 0);
}

/// Appends a PERF_COUNTER_IDENTITY in UTF-32: the machine, and the instance if one is named, each with its new
/// offset.
fn identity(out: &mut Vec<u8>, block: &[u8]) {
    out.extend_from_slice(block.get(..40).unwrap_or(block));
    for offset_at in [28, 32] {
        let Some(offset) = len_at(block, offset_at).filter(|offset| *offset != 0) else { continue };
        put_len_since(out, 0, offset_at);
        put_text(out, until_nul(block.get(offset..).unwrap_or_default()));
        out.extend_from_slice(&[0; 4]);
    }
    pad(out, 0);
    put_len_since(out, 0, 16);
}

/// Converts a PERF_DATA_BLOCK of the V1 format to UTF-32 names.
pub fn v1_to_utf32(block: &[u8]) -> Vec<u8> {
    const NAME_OFFSET: u32 = 88;
    let mut out = Vec::new();
    let header_len = len_at(block, 24).unwrap_or(0);
    let name = (len_at(block, 84), len_at(block, 80));
    out.extend_from_slice(block.get(..88).unwrap_or(block));
    if let (Some(at), Some(len)) = name {
        let name = block.get(at..).and_then(|name| name.get(..len)).unwrap_or_default();
        let start = out.len();
        put_text(&mut out, name);
        put_len_since(&mut out, start, 80);
        put(&mut out, 84, NAME_OFFSET);
        pad(&mut out, 0);
        put_len_since(&mut out, 0, 24);
    }
    let mut rest = block.get(header_len..).unwrap_or_default();
    while let Some((object, after)) = sized(rest, 0) {
        let start = out.len();
        v1_object(&mut out, object);
        put_len_since(&mut out, start, start);
        rest = after;
    }
    put_len_since(&mut out, 0, 20);
    out
}

fn v1_object(out: &mut Vec<u8>, object: &[u8]) {
    let definition_len = len_at(object, 4).unwrap_or(0);
    let (head, mut rest) = object.split_at_checked(definition_len).unwrap_or((object, &[]));
    out.extend_from_slice(head);
    // A negative number: no instances. The object itself may have a counter block.
    let instance_count = u32_at(object, 40).and_then(|count| i32::try_from(count).ok());
    let Some(instance_count) = instance_count else { return out.extend_from_slice(rest) };
    for _ in 0..instance_count {
        let Some((instance, after)) = sized(rest, 0) else { return };
        let start = out.len();
        let (head, _) = instance.split_at_checked(24).unwrap_or((instance, &[]));
        out.extend_from_slice(head);
        let name = (len_at(instance, 16), len_at(instance, 20));
        if let (Some(at), Some(len)) = name {
            let name = instance.get(at..).and_then(|name| name.get(..len)).unwrap_or_default();
            let name_start = out.len();
            put_text(out, name);
            put_len_since(out, name_start, start.saturating_add(20));
            put(out, start.saturating_add(16), 24);
            pad(out, start);
        }
        put_len_since(out, start, start);
        let Some((values, after)) = sized(after, 0) else { return };
        out.extend_from_slice(values);
        rest = after;
    }
}

/// Converts a C caller's PERF_COUNTER_IDENTIFIER blocks with UTF-32 names to UTF-16. Returns also the offset of each
/// block in the caller's.
///
/// A name that is not Unicode or has no end becomes a name without an end: the entry is refused later, when it is
/// processed.
///
/// # Errors
/// If the blocks cannot be parsed.
pub fn identifiers_to_utf16(blocks: &[u8]) -> Result<(Vec<u8>, Vec<usize>), WireError> {
    const NEVER_ENDS: [u8; 8] = [0xFF; 8];
    let (mut out, mut places) = (Vec::new(), Vec::new());
    for identifier in Identifiers::new(blocks) {
        let identifier = identifier?;
        let start = out.len();
        out.extend_from_slice(
            blocks.get(identifier.offset..).and_then(|at| at.get(..40)).unwrap_or_default(),
        );
        match identifier.name_area() {
            [] => {}
            area => match utf16_until_nul(area) {
                Some(name) => {
                    for unit in name.iter().chain(&[0]) {
                        out.extend_from_slice(&unit.to_le_bytes());
                    }
                    pad(&mut out, start);
                }
                None => out.extend_from_slice(&NEVER_ENDS),
            },
        }
        put_len_since(&mut out, start, start.saturating_add(20));
        places.push(identifier.offset);
    }
    Ok((out, places))
}

/// Converts UTF-32 up to its NUL to UTF-16. `None` if there is no NUL, or a unit before it is not a character.
///
/// No name is longer than [`PERF_MAX_INSTANCE_NAME`]: of a longer one only that many units are read, which shows that
/// it is too long.
fn utf16_until_nul(area: &[u8]) -> Option<Vec<u16>> {
    let units = area.chunks_exact(4).filter_map(|unit| Some(u32::from_le_bytes(unit.try_into().ok()?)));
    let end = units.clone().position(|unit| unit == 0)?;
    let mut name = Vec::new();
    for unit in units.take(end.min(PERF_MAX_INSTANCE_NAME)) {
        push_utf16(&mut name, unit)?;
    }
    Some(name)
}

/// Appends a unit of UTF-32 as UTF-16. A surrogate, which UTF-32 should not contain, is appended too. `None` if the
/// unit is not a character.
pub fn push_utf16(text: &mut Vec<u16>, unit: u32) -> Option<()> {
    match u16::try_from(unit) {
        Ok(unit) => text.push(unit),
        Err(_) => text.extend_from_slice(char::from_u32(unit)?.encode_utf16(&mut [0; 2])),
    }
    Some(())
}

/// Converts UTF-16 to UTF-8, with U+FFFD for unpaired surrogates.
pub fn to_utf8(utf16: &[u8]) -> Vec<u8> {
    let text: String =
        char::decode_utf16(units(utf16)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.into_bytes()
}

fn put_text(out: &mut Vec<u8>, utf16: &[u8]) {
    for c in char::decode_utf16(units(utf16)) {
        let unit = c.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from);
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

fn units(utf16: &[u8]) -> impl Iterator<Item = u16> + Clone + '_ {
    utf16.chunks_exact(2).filter_map(|unit| Some(u16::from_le_bytes(unit.try_into().ok()?)))
}

fn until_nul(utf16: &[u8]) -> &[u8] {
    perfset::Name::until_nul(utf16).as_bytes()
}

/// Returns the first structure of a list of bytes, whose size field is at `size_at`, and the bytes that follow the
/// structure.
fn sized(list: &[u8], size_at: usize) -> Option<(&[u8], &[u8])> {
    let size = len_at(list, size_at)?;
    // A structure whose size is smaller than its own size field would never end.
    list.split_at_checked(size).filter(|_| size > size_at)
}

fn len_at(bytes: &[u8], at: usize) -> Option<usize> {
    u32_at(bytes, at).and_then(|len| usize::try_from(len).ok())
}

/// Returns the 4-byte number at an offset in bytes.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

fn put(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..).and_then(|field| field.first_chunk_mut()) {
        *field = value.to_le_bytes();
    }
}

/// Writes the number of bytes after `start` into the size field at `at`. A size that does not fit belongs to a block
/// that is refused as a whole.
fn put_len_since(out: &mut [u8], start: usize, at: usize) {
    let len = u32::try_from(out.len().saturating_sub(start)).unwrap_or(u32::MAX);
    put(out, at, len);
}

fn pad(out: &mut Vec<u8>, start: usize) {
    let len = out.len().saturating_sub(start).saturating_add(7) & !7;
    out.resize(start.saturating_add(len), 0);
}

#[cfg(test)]
mod tests {
    use perfset::clock::ClockReading;
    use perfset::v2::{Block, BlockBuilder, Body};
    use perfset::{CounterId, InstanceId};
    use proptest::prelude::*;

    use super::*;

    /// Checks a block with one counter of two instances: the worked example of PERF_MULTIPLE_INSTANCES, with one name
    /// beyond 16 bits.
    #[test]
    fn a_block_of_counter_data() {
        let mut builder = BlockBuilder::new(&ClockReading::default());
        let mut table = builder.multiple_instances();
        table.row("0,0".encode_utf16(), InstanceId(0), [Cell::from_u64(5000)]);
        table.row("\u{1F600}".encode_utf16(), InstanceId(1), [Cell::from_u64(9000)]);
        table.finish();
        let block = builder.finish().unwrap();
        let mut wide = vec![7; 3];
        data_to_utf32(&block, &mut wide);
        #[rustfmt::skip]
        let result = [
            0, 0, 0, 0,  4, 0, 0, 0,  0x60, 0, 0, 0,  0, 0, 0, 0,
            0x50, 0, 0, 0,  2, 0, 0, 0,
            0x18, 0, 0, 0,  0, 0, 0, 0,  b'0', 0, 0, 0,  b',', 0, 0, 0,  b'0', 0, 0, 0,  0, 0, 0, 0,
            8, 0, 0, 0,  16, 0, 0, 0,  0x88, 0x13, 0, 0,  0, 0, 0, 0,
            0x10, 0, 0, 0,  1, 0, 0, 0,  0, 0xF6, 1, 0,  0, 0, 0, 0,
            8, 0, 0, 0,  16, 0, 0, 0,  0x28, 0x23, 0, 0,  0, 0, 0, 0,
        ];
        assert_eq!(wide[48..], result);
        assert_eq!(wide[..4], (48 + 96_u32).to_le_bytes());
        assert_eq!(wide[4..48], block[4..48]);
    }

    #[test]
    fn strings_keep_their_counters() {
        let block = perfset::v2::strings::block([
            (CounterId(0), Some("ab")),
            (CounterId(1), Some("é\u{1F600}z")),
            (CounterId(5), None),
        ]);
        #[rustfmt::skip]
        let want = [
            0x40, 0, 0, 0,  3, 0, 0, 0,
            0, 0, 0, 0,  0x20, 0, 0, 0,
            1, 0, 0, 0,  0x2C, 0, 0, 0,
            5, 0, 0, 0,  0xFF, 0xFF, 0xFF, 0xFF,
            b'a', 0, 0, 0,  b'b', 0, 0, 0,  0, 0, 0, 0,
            0xE9, 0, 0, 0,  0, 0xF6, 1, 0,  b'z', 0, 0, 0,  0, 0, 0, 0,
            0, 0, 0, 0,
        ];
        assert_eq!(to_utf32(&block, TextLocation::Strings), want);
        assert_eq!(
            to_utf32(&perfset::v2::strings::block([]), TextLocation::Strings),
            [8, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn unpaired_surrogates_come_back() {
        let name = [0xD800, 0x41, 0xDC00, 0xD83D, 0xDE00];
        let mut list = Vec::new();
        perfset::v2::instances::write(&mut list, name, InstanceId(3));
        let wide = to_utf32(&list, TextLocation::Instances);
        let units: Vec<u32> = (8..28).step_by(4).filter_map(|at| u32_at(&wide, at)).collect();
        assert_eq!(units, [0xD800, 0x41, 0xDC00, 0x1F600, 0]);
        assert_eq!(utf16_until_nul(&wide[8..]), Some(name.to_vec()));
        assert_eq!(String::from_utf8(to_utf8(&[0x41, 0, 0, 0xD8])), Ok("A\u{FFFD}".into()));
    }

    proptest! {
        #[test]
        fn names_of_rows_go_there_and_back(
            rows in prop::collection::vec((prop::collection::vec(1_u16.., 0..40), any::<u32>(), any::<u64>()), 1..9),
        ) {
            let mut builder = BlockBuilder::new(&ClockReading::default());
            let mut table = builder.counterset([CounterId(4), CounterId(2), CounterId(9)]);
            for (name, id, value) in &rows {
                let cells = [Cell::from_u64(*value), Cell::EMPTY, Cell::from_u64(id.wrapping_add(1).into())];
                table.row(name.iter().copied(), InstanceId(*id), cells);
            }
            table.finish();
            let block = builder.finish().unwrap();
            let mut wide = Vec::new();
            data_to_utf32(&block, &mut wide);
            // Narrowed by hand, it is the block again.
            let mut narrow = BlockBuilder::new(&ClockReading::default());
            let mut table = narrow.counterset([CounterId(4), CounterId(2), CounterId(9)]);
            let mut rest = &wide[48 + 16 + 24 + 8..];
            for _ in &rows {
                let (instance, after) = sized(rest, 0).unwrap();
                let (cells, after) = after.split_at(48);
                let cell = |at| match len_at(cells, at) {
                    Some(8) => Cell::from_u64(u64::from_le_bytes(cells[at + 8..at + 16].try_into().unwrap())),
                    _ => Cell::EMPTY,
                };
                let id = InstanceId(u32_at(instance, 4).unwrap());
                table.row(utf16_until_nul(&instance[8..]).unwrap(), id, [cell(0), cell(16), cell(32)]);
                rest = after;
            }
            prop_assert_eq!(rest, &[0_u8; 0]);
            table.finish();
            prop_assert!(narrow.finish().unwrap() == block);
            let Body::Counterset(..) = Block::parse(&block).unwrap().results().next().unwrap().unwrap().body else {
                panic!("the block is a counterset's");
            };
        }

        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..300), small: bool) {
            // Small numbers are more often sizes.
            let bytes: Vec<u8> = if small { bytes.iter().map(|byte| byte % 9).collect() } else { bytes };
            let shapes = [TextLocation::Numbers, TextLocation::Text, TextLocation::Strings, TextLocation::Instances];
            for shape in shapes.into_iter().chain([TextLocation::Identifiers, TextLocation::Identity]) {
                let _ = to_utf32(&bytes, shape);
            }
            data_to_utf32(&bytes, &mut Vec::new());
            let _ = v1_to_utf32(&bytes);
            if let Ok((utf16, places)) = identifiers_to_utf16(&bytes) {
                prop_assert!(utf16.len() <= bytes.len().saturating_add(8 * places.len()));
                prop_assert_eq!(Identifiers::new(&utf16).flatten().count(), places.len());
            }
        }
    }
}
