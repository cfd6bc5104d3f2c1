//! Fuzz targets that read arbitrary bytes as a V1 block.

use std::fmt::{Debug, Write};
use std::ops::ControlFlow;

use perfset_core::v1::{Contents, DataBlock, Definition, Instance, Object, Values, read, visit};
use perfset_core::v2::BlockValue;
use perfset_core::visit::{Event, FieldValue, Mode};
use perfset_core::wire::WireError;

use crate::blocks::{Nowhere, inside};

pub mod built;
pub mod names;

/// Visits and prints every field of a V1 block. The visit ends after work in proportion to the block; an error lies
/// inside the bytes.
///
/// The two modes of reading and the walk agree; so do all ways to a value, most of which the walk does not use.
pub fn check_block(bytes: &[u8]) {
    let mut walked = Walked { bytes, broken: Vec::new(), values: Vec::new() };
    let end = walk_all(&mut walked);
    let strict = read(bytes, Mode::Strict).map(|_| ());
    let tolerant = read(bytes, Mode::Tolerant).map(|(_, forgiven)| forgiven);
    assert_eq!(tolerant.as_ref().err(), end.as_ref().err());
    match (&strict, &tolerant) {
        (Ok(()), tolerant) => assert_eq!(*tolerant, Ok(Vec::new())),
        (Err(error), Ok(forgiven)) => assert_eq!(forgiven.first(), Some(error)),
        (Err(error), Err(same)) => assert_eq!(error, same),
    }
    if let Ok(forgiven) = tolerant {
        assert!(forgiven.iter().eq(walked.broken.iter().take(forgiven.len())));
        assert!(forgiven.len() == walked.broken.len() || forgiven.len() >= 4);
    }
    match DataBlock::parse(bytes) {
        Ok(block) => visit_block(&block, &walked, strict.is_ok()),
        Err(error) => assert_eq!(Err(error), end),
    }
    if strict.is_ok() {
        assert_length(bytes);
    }
}

/// Errors and values of a V1 block that a visit has met.
struct Walked<'a> {
    bytes: &'a [u8],
    broken: Vec<WireError>,
    /// Index of the counter and byte offset of each value.
    values: Vec<(usize, usize)>,
}

fn walk_all(walked: &mut Walked<'_>) -> Result<(), WireError> {
    let bytes = walked.bytes;
    let mut events = 0_usize;
    let end = visit(bytes, &mut |event| {
        events += 1;
        match event {
            Event::Structure { offset, .. } => assert!(offset <= bytes.len()),
            Event::Field { offset, value, .. } => {
                assert!(offset <= bytes.len());
                let _ = write!(Nowhere, "{value}");
            }
            Event::CounterValue { offset, position, value, .. } => {
                let is_there = match value {
                    FieldValue::Value(value) => stands_at(bytes, offset, value),
                    FieldValue::Text(text) => stands_at(bytes, offset, BlockValue::Other(text.as_bytes())),
                    FieldValue::Ascii(text) => stands_at(bytes, offset, BlockValue::Other(text)),
                    _ => false,
                };
                assert!(is_there, "{value} does not stand at {offset}");
                let _ = write!(Nowhere, "{value}");
                walked.values.push((position, offset));
            }
            Event::Broken(rule) => {
                inside(&rule, bytes);
                walked.broken.push(rule);
            }
            Event::Unusual(remark) => inside(&remark, bytes),
        }
        ControlFlow::Continue(())
    });
    // Instances are the densest: the 24 bytes of one and the 4 of its counter block make 13 events, and one for each of
    // 128 counters; more of those need a byte each. The rest makes less than one for two bytes, its errors included.
    assert!(events <= bytes.len() * 6, "{events} events for {} bytes", bytes.len());
    if let Err(error) = &end {
        inside(error, bytes);
    }
    end
}

fn stands_at(bytes: &[u8], at: usize, value: BlockValue<'_>) -> bool {
    let Some(bytes) = bytes.get(at..) else { return false };
    match value {
        BlockValue::U32(number) => bytes.starts_with(&number.to_le_bytes()),
        BlockValue::U64(number) => bytes.starts_with(&number.to_le_bytes()),
        BlockValue::Other(other) => bytes.starts_with(other),
        BlockValue::Empty => false,
    }
}

/// Checks that a valid V1 block ends at its length: bytes after it are ignored, and the block without its last byte
/// is invalid.
fn assert_length(bytes: &[u8]) {
    let total = u32::from_le_bytes(bytes[20..24].try_into().unwrap());
    let whole = &bytes[..usize::try_from(total).unwrap()];
    assert!(read(whole, Mode::Strict).is_ok());
    assert!(read(&whole[..whole.len() - 1], Mode::Strict).is_err());
}

/// Checks that the objects, instances and values of a V1 block are those of the visit, in the same order.
fn visit_block(block: &DataBlock<'_>, walked: &Walked<'_>, is_strict: bool) {
    let _ = write!(Nowhere, "{} {:?}", block.system_name(), block.clocks());
    let objects = each_way(|| block.objects(), |at| block.objects().nth(at), of_result(of_object));
    let good: Vec<_> = objects.iter().flatten().copied().collect();
    if is_strict {
        assert_eq!(u32::try_from(good.len()), Ok(block.object_count()));
    }
    for index in good.iter().map(Object::name_index).chain([0, u32::MAX]) {
        let first = good.iter().find(|object| object.name_index() == index);
        assert_eq!(block.object(index).as_ref().map(of_object), first.map(of_object));
    }

    let (mut broken, mut values) = (walked.broken.iter(), walked.values.iter());
    let mut blame = |error| assert!(broken.any(|rule| *rule == error), "the visit does not know of {error}");
    let mut meet = |object: &Object<'_>, instance: Values<'_>| {
        for (position, value) in visit_values(object, instance).into_iter().enumerate() {
            if value == BlockValue::Empty {
                continue;
            }
            let Some((at_position, at)) = values.next() else {
                panic!("the visit does not know of {value:?}")
            };
            assert_eq!(*at_position, position);
            assert!(stands_at(walked.bytes, *at, value));
            let definition = object.definitions().get(position).unwrap();
            if let Some(items) = instance.items_behind(&definition) {
                assert!(stands_at(walked.bytes, at + definition.value_len(), BlockValue::U32(items)));
            }
        }
    };
    for object in objects {
        let object = match object {
            Ok(object) => {
                let again = Object::starting_at(walked.bytes, object.offset()).expect("it was there before");
                assert_eq!((again.offset(), again.name_index()), (object.offset(), object.name_index()));
                object
            }
            Err(error) => {
                blame(error);
                continue;
            }
        };
        visit_definitions(&object);
        match object.contents() {
            Contents::Single(single) => meet(&object, single),
            Contents::Multiple(all) => {
                for instance in each_way(|| all, |at| all.clone().nth(at), of_result(of_instance)) {
                    match instance {
                        Ok(instance) => meet(&object, instance.values()),
                        Err(error) => blame(error),
                    }
                }
            }
            Contents::Metadata { .. } => {}
        }
    }
    assert_eq!(values.next(), None);
}

fn visit_definitions(object: &Object<'_>) {
    let definitions = object.definitions();
    let all = each_way(|| definitions.iter(), |at| definitions.get(at), of_definition);
    assert_eq!((all.len(), all.is_empty()), (definitions.len(), definitions.is_empty()));
    for two in all.windows(2) {
        let both = two[0].counter_type().needs_base() && two[1].counter_type().is_base();
        assert!(both || !two[0].is_followed_by_base(&two[1]));
    }
}

fn visit_values<'a>(object: &Object<'_>, values: Values<'a>) -> Vec<BlockValue<'a>> {
    let all = each_way(|| values.iter(), |at| values.get(at), |value| *value);
    assert_eq!(all.len(), object.definitions().len());
    assert_eq!(
        (values.len(), values.iter().len(), values.is_empty()),
        (all.len(), all.len(), all.is_empty())
    );
    all
}

/// Returns all items of a list, after checking that iteration, folding and access by position return the same items,
/// and no more.
fn each_way<I: Iterator, K: PartialEq + Debug>(
    items: impl Fn() -> I,
    get: impl Fn(usize) -> Option<I::Item>,
    key: impl Fn(&I::Item) -> K,
) -> Vec<I::Item> {
    let mut rest = items();
    let all: Vec<_> = rest.by_ref().collect();
    assert!(rest.next().is_none());
    let mut folded = all.iter();
    items().for_each(|item| assert_eq!(folded.next().map(&key), Some(key(&item))));
    assert!(folded.next().is_none());
    for at in (0..all.len()).step_by(all.len() / 16 + 1).chain([all.len(), usize::MAX]) {
        assert_eq!(get(at).as_ref().map(&key), all.get(at).map(&key));
    }
    all
}

fn of_result<T, K>(key: impl Fn(&T) -> K) -> impl Fn(&Result<T, WireError>) -> Result<K, WireError> {
    move |item| item.as_ref().map(&key).map_err(|error| *error)
}

fn of_object(object: &Object<'_>) -> impl PartialEq + Debug + use<> {
    let indexes = (object.name_index(), object.help_index(), object.default_counter());
    (indexes, object.detail(), object.clock(), object.definitions().len())
}

fn of_definition(definition: &Definition<'_>) -> impl PartialEq + Debug + use<> {
    let indexes = (definition.name_index(), definition.help_index());
    let place = (definition.value_at(), definition.value_len(), definition.is_text());
    (indexes, definition.default_scale(), definition.detail(), definition.counter_type(), place)
}

fn of_instance(instance: &Instance<'_>) -> impl PartialEq + Debug + use<> {
    let name = instance.name().to_utf16();
    assert_eq!(name.to_string(), instance.name().to_string());
    (name, instance.parent(), instance.unique_id())
}
