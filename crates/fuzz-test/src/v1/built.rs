//! Fuzz target for V1 blocks that the builder wrote, whole and damaged.

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::v1::{
    BlockBuilder, Contents, NewCounter, NewInstance, NewObject, Object, Parent, Values, read,
};
use perfset_core::v2::BlockValue;
use perfset_core::visit::Mode;
use perfset_core::{CounterType, DetailLevel};

use crate::built::damage;
use crate::input::InputBytes;
use crate::v1::check_block;

/// Recipe of an object that the V1 block builder writes.
#[derive(Debug)]
struct ObjectRecipe {
    object: NewObject,
    counters: Vec<NewCounter>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Values(Vec<u64>),
    Instances(Vec<InstanceRecipe>),
    /// Definitions of an object without values; the flag is `true` for an object with instances.
    Definitions(bool),
}

#[derive(Debug)]
struct InstanceRecipe {
    name: Vec<u16>,
    parent: Option<Parent>,
    unique_id: Option<i32>,
    values: Vec<u64>,
}

/// Builds the V1 objects that the input begins with, and checks that they read back, also with longer definitions.
/// Then damages the block as the rest of the input says, and checks the damaged block.
pub fn check(input: &[u8]) {
    let mut input = InputBytes(input);
    let date = SystemTime { year: input.u16(), day: 31, ..SystemTime::default() };
    let clocks = ClockReading { perf_time: 7, perf_freq: 11, time_100ns: 13, system_time: date };
    let machine: Vec<u16> = (0..input.below(9)).map(|_| input.unit()).collect();
    let machine = String::from_utf16_lossy(&machine);
    let objects: Vec<ObjectRecipe> = (0..input.below(6)).map(|_| object_recipe(&mut input)).collect();
    let mut bytes = build(&objects, &clocks, &machine);
    assert_reads_back(&objects, &clocks, &machine, &bytes);
    for _ in 0..input.below(4) {
        lengthen(&mut bytes, &mut input);
    }
    assert_reads_back(&objects, &clocks, &machine, &bytes);

    while input.has_more() && !bytes.is_empty() {
        damage(&mut bytes, &mut input);
    }
    check_block(&bytes);
}

fn object_recipe(input: &mut InputBytes<'_>) -> ObjectRecipe {
    let kind = input.below(4);
    let object = NewObject {
        name_index: input.u16().into(),
        help_index: input.u16().into(),
        detail: DetailLevel(input.byte().into()),
        default_counter: choice(input).then(|| input.u32()),
        clock: choice(input).then(|| (input.u32().into(), input.u16().into())),
    };
    let counters: Vec<_> = (0..input.below(MOST_COUNTERS + 1)).map(|_| counter(input)).collect();
    let body = match kind {
        0 => Body::Values(values(input, counters.len())),
        1 => Body::Definitions(choice(input)),
        _ => Body::Instances((0..input.below(9)).map(|_| row(input, counters.len())).collect()),
    };
    ObjectRecipe { object, counters, body }
}

/// Maximum number of counters in a generated V1 object. With that number, the length of a counter block follows from
/// their number.
const MOST_COUNTERS: usize = 40;

fn counter(input: &mut InputBytes<'_>) -> NewCounter {
    let known = CounterType::ALL;
    NewCounter {
        counter_type: match input.byte() {
            0xFF => CounterType(input.u32()),
            at => known[usize::from(at) % known.len()].0,
        },
        name_index: input.u16().into(),
        help_index: input.u16().into(),
        default_scale: i32::from(input.byte()) - 128,
        detail: DetailLevel(input.byte().into()),
    }
}

fn row(input: &mut InputBytes<'_>, counters: usize) -> InstanceRecipe {
    InstanceRecipe {
        name: (0..input.below(20)).map(|_| input.unit()).collect(),
        parent: choice(input).then(|| Parent { object: input.u16().into(), position: input.u32() }),
        unique_id: choice(input).then(|| i32::from(input.u16()) - 2),
        values: values(input, counters),
    }
}

/// Reads the values of a V1 object or instance from the fuzz input, mostly one for each counter.
fn values(input: &mut InputBytes<'_>, counters: usize) -> Vec<u64> {
    let count = match input.below(8) {
        6 => counters / 2,
        7 => counters + 1,
        _ => counters,
    };
    (0..count).map(|_| input.u64()).collect()
}

fn choice(input: &mut InputBytes<'_>) -> bool {
    input.below(2) == 1
}

fn build(objects: &[ObjectRecipe], clocks: &ClockReading, machine: &str) -> Vec<u8> {
    let mut builder = BlockBuilder::new(clocks, machine);
    for ObjectRecipe { object, counters, body } in objects {
        builder.default_object(object.name_index);
        match body {
            Body::Values(values) => builder.single(object, counters, values.iter().copied()),
            Body::Definitions(is_multiple) => builder.metadata(object, counters, *is_multiple),
            Body::Instances(rows) => {
                let mut instances = builder.multiple(object, counters);
                for InstanceRecipe { name, parent, unique_id, values } in rows {
                    let instance = NewInstance { name, parent: *parent, unique_id: *unique_id };
                    instances.instance(&instance, values.iter().copied());
                }
                instances.finish();
            }
        }
    }
    builder.finish().unwrap()
}

/// Checks that the objects of a V1 block equal their recipes; objects without current instances come first in a
/// block.
fn assert_reads_back(recipes: &[ObjectRecipe], clocks: &ClockReading, machine: &str, bytes: &[u8]) {
    let (block, _) = read(bytes, Mode::Strict).unwrap();
    assert_eq!((block.clocks(), block.system_name().to_string()), (*clocks, machine.to_owned()));
    let is_empty = |recipe: &&ObjectRecipe| matches!(&recipe.body, Body::Instances(rows) if rows.is_empty());
    let (empty, others): (Vec<_>, Vec<_>) = recipes.iter().partition(is_empty);
    let objects: Vec<_> = block.objects().map(Result::unwrap).collect();
    assert_eq!(objects.len(), recipes.len());
    for (object, wanted) in objects.iter().zip(empty.into_iter().chain(others)) {
        assert_object(object, wanted);
    }
}

fn assert_object(object: &Object<'_>, ObjectRecipe { object: wanted, counters, body }: &ObjectRecipe) {
    let default_counter = wanted.default_counter.filter(|at| i32::try_from(*at).is_ok());
    assert_eq!((object.name_index(), object.help_index()), (wanted.name_index, wanted.help_index));
    assert_eq!((object.detail(), object.default_counter()), (wanted.detail, default_counter));
    assert_eq!(object.clock(), wanted.clock.unwrap_or_default());
    assert_eq!(object.definitions().len(), counters.len());
    for (definition, counter) in object.definitions().iter().zip(counters) {
        assert_eq!(definition.counter_type(), counter.counter_type);
        assert_eq!(
            (definition.name_index(), definition.help_index()),
            (counter.name_index, counter.help_index)
        );
        assert_eq!(definition.default_scale(), counter.default_scale.clamp(-7, 7));
        assert_eq!(definition.detail(), counter.detail);
    }
    match (body, object.contents()) {
        (Body::Values(wanted), Contents::Single(values)) => assert_values(values, counters, wanted),
        (Body::Definitions(wanted), Contents::Metadata { is_multiple }) => assert_eq!(is_multiple, *wanted),
        (Body::Instances(rows), Contents::Multiple(instances)) => {
            let instances: Vec<_> = instances.map(Result::unwrap).collect();
            assert_eq!(instances.len(), rows.len());
            for (instance, row) in instances.iter().zip(rows) {
                assert_eq!(instance.name().to_utf16().units(), row.name);
                assert_eq!(instance.parent(), row.parent.filter(|parent| parent.object != 0));
                assert_eq!(instance.unique_id(), row.unique_id.filter(|id| *id != -1));
                assert_values(instance.values(), counters, &row.values);
            }
        }
        (wanted, contents) => panic!("{contents:?} instead of {wanted:?}"),
    }
}

/// Checks that values of a V1 block equal the `wanted` ones: a missing value is 0, an extra value is left out, and 4
/// bytes hold the low half.
fn assert_values(values: Values<'_>, counters: &[NewCounter], wanted: &[u64]) {
    let wanted = wanted.iter().chain(std::iter::repeat(&0)).map(|value| value.to_le_bytes());
    assert_eq!(values.len(), counters.len());
    for ((value, counter), wanted) in values.iter().zip(counters).zip(wanted) {
        match (counter.counter_type.value_len(), value) {
            (0, BlockValue::Empty) => {}
            (4, BlockValue::U32(number)) => assert_eq!(number.to_le_bytes(), wanted[..4]),
            (8, BlockValue::U64(number)) => assert_eq!(number.to_le_bytes(), wanted),
            (4, BlockValue::Other(text)) => assert_eq!(text, &wanted[..4]),
            (8, BlockValue::Other(text)) => assert_eq!(text, wanted),
            (len, value) => panic!("{value:?} of {len} bytes"),
        }
    }
}

/// Makes the header or one definition of a V1 object 8 bytes longer, which is legal and changes no value.
fn lengthen(bytes: &mut Vec<u8>, input: &mut InputBytes<'_>) {
    let objects = usize::from(bytes[28]);
    let Some(last) = objects.checked_sub(1) else { return };
    let mut at = field(bytes, 24);
    for _ in 0..input.below(last + 1) {
        at += field(bytes, at);
    }
    let (header_len, counters) = (field(bytes, at + 8), field(bytes, at + 32));
    let mut end = at + header_len;
    match input.below(counters + 1) {
        0 => add_8(bytes, at + 8),
        position => {
            let mut start = end;
            for _ in 1..position {
                start += field(bytes, start);
            }
            end = start + field(bytes, start);
            add_8(bytes, start);
        }
    }
    for len_at in [at, at + 4, 20] {
        add_8(bytes, len_at);
    }
    let filler = [input.byte(); 8];
    bytes.splice(end..end, filler);
}

fn field(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).try_into().unwrap()
}

fn add_8(bytes: &mut [u8], at: usize) {
    let longer = u32::try_from(field(bytes, at) + 8).unwrap();
    bytes[at..at + 4].copy_from_slice(&longer.to_le_bytes());
}
