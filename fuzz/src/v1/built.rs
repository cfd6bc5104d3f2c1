//! V1 blocks that the builder wrote, whole and damaged.

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::v1::{
    BlockBuilder, Contents, NewCounter, NewInstance, NewObject, Object, Parent, Values, read,
};
use perfset_core::v2::BlockValue;
use perfset_core::visit::Mode;
use perfset_core::{CounterType, DetailLevel};

use crate::built::damage;
use crate::input::Input;
use crate::v1::check_block;

/// What a block is to hold.
#[derive(Debug)]
struct Thing {
    object: NewObject,
    counters: Vec<NewCounter>,
    has: Has,
}

#[derive(Debug)]
enum Has {
    Values(Vec<u64>),
    Instances(Vec<Row>),
    /// Nothing, and whether it would have instances.
    Definitions(bool),
}

#[derive(Debug)]
struct Row {
    name: Vec<u16>,
    parent: Option<Parent>,
    unique_id: Option<i32>,
    values: Vec<u64>,
}

/// Builds what the input begins with, reads it back, also with definitions that are longer than they need be; then
/// damages it with the rest of the input, and reads that.
pub fn check(input: &[u8]) {
    let mut input = Input(input);
    let date = SystemTime { year: input.u16(), day: 31, ..SystemTime::default() };
    let clocks = ClockReading { perf_time: 7, perf_freq: 11, time_100ns: 13, system_time: date };
    let machine: Vec<u16> = (0..input.below(9)).map(|_| input.unit()).collect();
    let machine = String::from_utf16_lossy(&machine);
    let things: Vec<Thing> = (0..input.below(6)).map(|_| thing(&mut input)).collect();
    let mut bytes = build(&things, &clocks, &machine);
    assert_reads_back(&things, &clocks, &machine, &bytes);
    for _ in 0..input.below(4) {
        lengthen(&mut bytes, &mut input);
    }
    assert_reads_back(&things, &clocks, &machine, &bytes);

    while input.has_more() && !bytes.is_empty() {
        damage(&mut bytes, &mut input);
    }
    check_block(&bytes);
}

fn thing(input: &mut Input<'_>) -> Thing {
    let kind = input.below(4);
    let object = NewObject {
        name_index: input.u16().into(),
        help_index: input.u16().into(),
        detail: DetailLevel(input.byte().into()),
        default_counter: choice(input).then(|| input.u32()),
        clock: choice(input).then(|| (input.u32().into(), input.u16().into())),
    };
    let counters: Vec<_> = (0..input.below(MOST_COUNTERS + 1)).map(|_| counter(input)).collect();
    let has = match kind {
        0 => Has::Values(values(input, counters.len())),
        1 => Has::Definitions(choice(input)),
        _ => Has::Instances((0..input.below(9)).map(|_| row(input, counters.len())).collect()),
    };
    Thing { object, counters, has }
}

/// More than a counter block may have of any length: then it is as long as they are many.
const MOST_COUNTERS: usize = 40;

fn counter(input: &mut Input<'_>) -> NewCounter {
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

fn row(input: &mut Input<'_>, counters: usize) -> Row {
    Row {
        name: (0..input.below(20)).map(|_| input.unit()).collect(),
        parent: choice(input).then(|| Parent { object: input.u16().into(), position: input.u32() }),
        unique_id: choice(input).then(|| i32::from(input.u16()) - 2),
        values: values(input, counters),
    }
}

/// Mostly one a counter.
fn values(input: &mut Input<'_>, counters: usize) -> Vec<u64> {
    let count = match input.below(8) {
        6 => counters / 2,
        7 => counters + 1,
        _ => counters,
    };
    (0..count).map(|_| input.u64()).collect()
}

fn choice(input: &mut Input<'_>) -> bool {
    input.below(2) == 1
}

fn build(things: &[Thing], clocks: &ClockReading, machine: &str) -> Vec<u8> {
    let mut builder = BlockBuilder::new(clocks, machine);
    for Thing { object, counters, has } in things {
        builder.default_object(object.name_index);
        match has {
            Has::Values(values) => builder.single(object, counters, values.iter().copied()),
            Has::Definitions(is_multiple) => builder.metadata(object, counters, *is_multiple),
            Has::Instances(rows) => {
                let mut instances = builder.multiple(object, counters);
                for Row { name, parent, unique_id, values } in rows {
                    let instance = NewInstance { name, parent: *parent, unique_id: *unique_id };
                    instances.instance(&instance, values.iter().copied());
                }
                instances.finish();
            }
        }
    }
    builder.finish().unwrap()
}

/// Objects that have no instances now come first.
fn assert_reads_back(things: &[Thing], clocks: &ClockReading, machine: &str, bytes: &[u8]) {
    let (block, _) = read(bytes, Mode::Strict).unwrap();
    assert_eq!((block.clocks(), block.system_name().to_string()), (*clocks, machine.to_owned()));
    let is_empty = |thing: &&Thing| matches!(&thing.has, Has::Instances(rows) if rows.is_empty());
    let (empty, others): (Vec<_>, Vec<_>) = things.iter().partition(is_empty);
    let objects: Vec<_> = block.objects().map(Result::unwrap).collect();
    assert_eq!(objects.len(), things.len());
    for (object, thing) in objects.iter().zip(empty.into_iter().chain(others)) {
        assert_object(object, thing);
    }
}

fn assert_object(object: &Object<'_>, Thing { object: wanted, counters, has }: &Thing) {
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
    match (has, object.contents()) {
        (Has::Values(wanted), Contents::Single(values)) => assert_values(values, counters, wanted),
        (Has::Definitions(wanted), Contents::Metadata { is_multiple }) => assert_eq!(is_multiple, *wanted),
        (Has::Instances(rows), Contents::Multiple(instances)) => {
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

/// What is missing is 0, what is too much is left out, and 4 bytes hold the low half.
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

/// Makes a definition of an object longer, or the object's header, by 8 bytes: that is legal, and changes nothing.
fn lengthen(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
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
