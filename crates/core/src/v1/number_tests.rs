//! Tests of numbers of 4 and 8 bytes in a V1 block, compared with a reader that parses each counter definition
//! separately.

use super::*;
use crate::clock::ClockReading;
use crate::counter_type::CounterType;
use crate::v2::BlockValue;
use crate::value::RawValue;

fn put(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 4].copy_from_slice(&u32::try_from(value).unwrap().to_le_bytes());
}

fn get(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).try_into().unwrap()
}

/// Returns the offset of the first object of a V1 block.
fn object_at(block: &[u8]) -> usize {
    get(block, 24)
}

/// Returns V1 blocks whose counters of 4 and 8 bytes are in an irregular order; some counter blocks are shorter than
/// 256 bytes, some longer.
fn numbers_of_both_widths() -> impl Iterator<Item = Vec<u8>> {
    let types = [CounterType::PERF_COUNTER_BULK_COUNT, CounterType::PERF_COUNTER_COUNTER];
    let counter = move |at: usize| NewCounter::new(2, types[(at * at + at / 3) % 2]);
    let sizes = [(1, 3), (2, 1), (5, 2), (30, 1), (42, 3), (43, 3), (70, 2)];
    sizes.into_iter().map(move |(count, rows)| {
        let counters: Vec<_> = (0..count).map(counter).collect();
        let mut builder = BlockBuilder::new(&ClockReading::default(), "BOX");
        let mut object = builder.multiple(&NewObject::new(2), &counters);
        for row in 1..=rows {
            let values = (1..).map(|at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ row);
            object.instance(&NewInstance::named(&[u16::from(b'a')]), values.take(count));
        }
        object.finish();
        builder.finish().unwrap()
    })
}

/// Reads each counter value of an instance separately, at the offset and with the length of its definition.
fn numbers_by_definition(object: &Object<'_>, values: &Values<'_>, bytes: &[u8]) -> Vec<Option<u64>> {
    let block_len = get(bytes, values.offset);
    let block = &bytes[values.offset..values.offset + block_len];
    let number = |definition: Definition<'_>| {
        let (at, len) = (definition.value_at(), definition.value_len());
        let value = block.get(at..at.checked_add(len)?).filter(|_| at >= 4 && !definition.is_text())?;
        match *value {
            [a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d]).into()),
            [a, b, c, d, e, f, g, h] => Some(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    };
    object.definitions().iter().map(number).collect()
}

fn check_numbers(bytes: &[u8]) {
    let Ok(block) = DataBlock::parse(bytes) else { return };
    for object in block.objects().flatten() {
        let Contents::Multiple(instances) = object.contents() else { continue };
        for instance in instances.flatten() {
            let values = instance.values();
            let wanted = numbers_by_definition(&object, &values, bytes);
            let number = |value: BlockValue<'_>| value.number().map(RawValue::get);
            assert_eq!(values.iter().map(number).collect::<Vec<_>>(), wanted);
            let mut in_a_loop = Vec::new();
            for value in values {
                in_a_loop.push(number(value));
            }
            assert_eq!(in_a_loop, wanted);
            let one_by_one: Vec<_> = (0..values.len()).map(|at| number(values.get(at).unwrap())).collect();
            assert_eq!(one_by_one, wanted);
        }
    }
}

#[test]
fn numbers_of_both_widths_are_those_of_their_definitions() {
    for block in numbers_of_both_widths() {
        check_numbers(&block);
        // Shorter blocks, in which the object also ends earlier.
        for len in (object_at(&block) + 64..block.len()).step_by(4) {
            let mut short = block[..len].to_vec();
            put(&mut short, 20, len);
            put(&mut short, object_at(&block), len - object_at(&block));
            check_numbers(&short);
        }
    }
}

#[test]
fn a_changed_byte_never_changes_how_numbers_are_read() {
    for mut block in numbers_of_both_widths() {
        let step = if block.len() < 2_000 { 1 } else { 3 };
        for at in (object_at(&block)..block.len()).step_by(step) {
            let kept = block[at];
            for value in [0, 3, 4, 0xF8, 0xFF, kept ^ 1, kept ^ 4, kept ^ 8, kept.wrapping_sub(4)] {
                block[at] = value;
                check_numbers(&block);
            }
            block[at] = kept;
        }
    }
}
