//! Tests of the V2 format: the documents' examples in both directions, damaged bytes, round trips, a second reader.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::identifier::{Identifiers, NewIdentifier};
use super::raw::Cell;
use super::*;
use crate::clock::{ClockReading, SystemTime};
use crate::counter_type::CounterType;
use crate::counterset::*;
use crate::guid::Guid;
use crate::instance::{InstanceId, InstanceIdFilter};
use crate::status::Status;
use crate::visit::{Event, Mode};
use crate::wire::{Why, WireError};

/// Prints a V2 block or list as text, one line per field.
fn dump(format: BlockFormat, bytes: &[u8], out: &mut String) -> Result<(), WireError> {
    crate::visit::dump(|each| visit(format, bytes, each), out)
}

/// Returns the V2 blocks and lists of `testdata/v2/examples.txt` by name.
fn examples() -> BTreeMap<&'static str, Vec<u8>> {
    let mut all: BTreeMap<_, Vec<u8>> = BTreeMap::new();
    let mut name = "";
    for line in include_str!("../../../../testdata/v2/examples.txt").lines() {
        match line.split_once("  ") {
            _ if line.starts_with('#') || line.is_empty() => {}
            Some((offset, hex)) => {
                let bytes = all.entry(name).or_default();
                assert_eq!(usize::from_str_radix(offset, 16), Ok(bytes.len()), "{name}");
                bytes.extend(hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
            }
            None => name = line,
        }
    }
    all
}

fn format_of(name: &str) -> BlockFormat {
    match name.split('-').next().unwrap() {
        "strings" => BlockFormat::Strings,
        "registration" => BlockFormat::Registration,
        "instances" => BlockFormat::Instances,
        "identifier" => BlockFormat::Identifiers,
        _ => BlockFormat::Data,
    }
}

/// Returns the examples as blocks that can be read by themselves: query results get the header of the empty query.
fn readable_examples() -> Vec<(&'static str, Vec<u8>)> {
    let all = examples();
    let whole = |(name, bytes): (&&'static str, &Vec<u8>)| {
        let bytes = if name.starts_with("result") { with_header(bytes, 1) } else { bytes.clone() };
        (*name, bytes)
    };
    all.iter().map(whole).collect()
}

fn with_header(results: &[u8], count: u32) -> Vec<u8> {
    let mut block = examples()["data-empty-query"].clone();
    block.extend_from_slice(results);
    let total = u32::try_from(block.len()).unwrap();
    block[..4].copy_from_slice(&total.to_le_bytes());
    block[4..8].copy_from_slice(&count.to_le_bytes());
    block
}

/// Returns the clock readings of the examples in the documents.
fn clocks() -> ClockReading {
    ClockReading {
        perf_time: 123_456_789_012,
        time_100ns: 0x01DC_7B94_74A7_74E0,
        perf_freq: 10_000_000,
        system_time: SystemTime {
            year: 2026,
            month: 1,
            day_of_week: 5,
            day: 2,
            hour: 3,
            minute: 4,
            second: 5,
            millisecond: 678,
        },
    }
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

#[test]
fn examples_are_what_the_builders_write() {
    let built = |fill: &dyn Fn(&mut BlockBuilder)| {
        let mut builder = BlockBuilder::new(&clocks());
        fill(&mut builder);
        builder.finish().unwrap()
    };
    let result = |fill: &dyn Fn(&mut BlockBuilder)| built(fill)[48..].to_vec();
    let identifier = |counterset: u128, counter, name: Option<&str>| {
        let name = name.map(utf16);
        let mut out = Vec::new();
        let new = NewIdentifier {
            counterset: Guid::from_u128(counterset),
            counter,
            instance_id: InstanceIdFilter::Any,
            name: name.as_deref(),
            index: 0,
        };
        identifier::write(&mut out, &new);
        out
    };
    let cpu = 0xb4fc721a_0378_476f_89ba_a5a79f810b36;
    let mut instances = Vec::new();
    instances::write(&mut instances, utf16("0,0"), InstanceId(0));
    instances::write(&mut instances, utf16("_Total"), InstanceId(7));
    let windows_11 = ClockReading {
        perf_time: 0x0125_5CE1_A66F,
        time_100ns: 0x01DD_5038_7D0F_A400,
        perf_freq: 10_000_000,
        system_time: SystemTime {
            year: 2026,
            month: 9,
            day_of_week: 2,
            day: 29,
            hour: 17,
            minute: 32,
            second: 23,
            millisecond: 755,
        },
    };
    assert_eq!(windows_11.system_time, SystemTime::from_100ns(windows_11.time_100ns), "their clocks agree");
    let mut two_singles = BlockBuilder::new(&windows_11);
    two_singles.single(Cell::from_u64(0x02F6_53E8_4CD6));
    two_singles.single(Cell::from_u32(0x5619_6EC4));
    let cases: [(&str, Vec<u8>); 15] = [
        (
            "strings",
            strings::block([(CounterId(0), Some("ab")), (CounterId(1), Some("xyz")), (CounterId(5), None)]),
        ),
        ("registration", registration::counterset_block(&illustrative_counterset())),
        ("instances", instances),
        ("identifier-all", identifier(cpu, CounterFilter::All, Some("*"))),
        ("identifier-total", identifier(cpu, CounterFilter::One(CounterId(0)), Some("_Total"))),
        (
            "identifier-single",
            identifier(0xffddaaee_eaa6_45ba_bf6d_4c7cb0d6ef74, CounterFilter::One(CounterId(1)), None),
        ),
        ("data-empty-query", built(&|_| {})),
        ("data-windows-11", two_singles.finish().unwrap()),
        ("result-error", result(&|b| b.error(Status::ERROR_NO_DATA))),
        ("result-single-u32", result(&|b| b.single(Cell::from_u32(42)))),
        ("result-single-u64", result(&|b| b.single(Cell::from_u64(0x1122_3344_5566_7788)))),
        (
            "result-multiple-counters",
            result(&|b| {
                b.multiple_counters([
                    (CounterId(0), Cell::from_u64(1_000_000)),
                    (CounterId(3), Cell::from_u32(77)),
                    (CounterId(17), Cell::from_u32(2_400)),
                ]);
            }),
        ),
        (
            "result-multiple-instances",
            result(&|b| {
                let mut table = b.multiple_instances();
                table.row(utf16("0,0"), InstanceId(0), [Cell::from_u64(5_000)]);
                table.row(utf16("_Total"), InstanceId(1), [Cell::from_u64(9_000)]);
                table.finish();
            }),
        ),
        (
            "result-counterset",
            result(&|b| {
                let mut table = b.counterset([CounterId(0), CounterId(3)]);
                table.row(utf16("0,0"), InstanceId(0), [Cell::from_u64(5_000), Cell::from_u32(7)]);
                table.row(utf16("_Total"), InstanceId(1), [Cell::from_u64(9_000), Cell::from_u32(11)]);
                table.finish();
            }),
        ),
        (
            "data-two-entries",
            built(&|b| {
                b.single(Cell::from_u32(42));
                b.error(Status::ERROR_NO_DATA);
            }),
        ),
    ];
    let all = examples();
    assert_eq!(cases.len(), all.len());
    for (name, got) in cases {
        assert_eq!(got, all[name], "{name}");
    }
}

/// Returns the counterset of the registration in the documents' example: an average with its base.
fn illustrative_counterset() -> Counterset {
    let counter = |id, counter_type, attributes, detail, base| {
        Counter::new(CounterId(id), counter_type)
            .attributes(attributes)
            .detail(detail)
            .base(base)
            .aggregate(Aggregate::Avg)
    };
    Counterset::unnamed(Guid::from_u128(0x11111111_2222_3333_4444_555566667777), InstanceType::MultiAggregate)
        .counters([
            counter(
                26,
                CounterType::PERF_AVERAGE_BULK,
                Attributes::default(),
                DetailLevel::NOVICE,
                Some(CounterId(27)),
            ),
            counter(
                27,
                CounterType::PERF_AVERAGE_BASE,
                Attributes::NO_DISPLAYABLE,
                DetailLevel::ADVANCED,
                None,
            ),
        ])
}

#[test]
fn examples_are_what_the_views_read() {
    let all = examples();
    let guid = Guid::from_wire(all["registration"][..16].try_into().unwrap());
    let info = registration::RegistrationInfo::parse(&all["registration"]).unwrap();
    assert_eq!(
        (info.guid(), info.detail(), info.instance_type()),
        (guid, DetailLevel::NOVICE, InstanceType::MultiAggregate)
    );
    let counters: Vec<_> = info.counters().map(Result::unwrap).collect();
    let set = illustrative_counterset();
    for (read, meant) in counters.iter().zip(set.counters.iter()) {
        assert_eq!(
            (
                read.id(),
                read.counter_type(),
                read.attributes(),
                read.detail(),
                read.default_scale(),
                read.aggregate()
            ),
            (
                meant.id,
                meant.counter_type,
                meant.attributes,
                meant.detail,
                meant.default_scale,
                meant.aggregate
            )
        );
        assert_eq!(
            (read.base(), read.perf_time(), read.perf_freq(), read.multi()),
            (meant.base, None, None, None)
        );
    }
    let names: Vec<_> = strings::StringBlock::parse(&all["strings"])
        .unwrap()
        .iter()
        .map(|(id, string)| (id.0, string.unwrap().map(|s| s.to_string())))
        .collect();
    assert_eq!(names, [(0, Some("ab".into())), (1, Some("xyz".into())), (5, None)]);
    let instances: Vec<_> = instances::Instances::new(&all["instances"])
        .map(|i| i.map(|i| (i.name().to_string(), i.id().0)).unwrap())
        .collect();
    assert_eq!(instances, [("0,0".to_string(), 0), ("_Total".to_string(), 7)]);
    let read = |name: &str| {
        let mut list = Identifiers::new(&all[name]);
        let one = list.next().unwrap().unwrap();
        assert!(list.next().is_none());
        (
            one.counter(),
            one.instance_id(),
            one.name().unwrap().map(|n| n.to_string()),
            one.status().0,
            one.index(),
        )
    };
    let any = InstanceIdFilter::Any;
    assert_eq!(read("identifier-all"), (CounterFilter::All, any, Some("*".into()), 0, 0));
    assert_eq!(
        read("identifier-total"),
        (CounterFilter::One(CounterId(0)), any, Some("_Total".into()), 0, 0)
    );
    assert_eq!(read("identifier-single"), (CounterFilter::One(CounterId(1)), any, None, 0, 0));

    let empty = Block::parse(&all["data-empty-query"]).unwrap();
    assert_eq!((empty.clocks(), empty.result_count(), empty.results().count()), (clocks(), 0, 0));
    let two = Block::parse(&all["data-two-entries"]).unwrap();
    let results: Vec<_> = two.results().map(Result::unwrap).collect();
    assert!(matches!(results[0].body, Body::SingleCounter(BlockValue::U32(42))));
    assert_eq!((results[1].kind(), results[1].status), (CounterDataType::Error, Status::ERROR_NO_DATA));
    let windows = Block::parse(&all["data-windows-11"]).unwrap();
    let values: Vec<_> = windows.results().map(|r| obvious_result(&r.unwrap())).collect();
    assert_eq!(values, ["_: 0=U64(3256992943318)", "_: 0=U32(1444507332)"]);
}

fn obvious_result(result: &QueryResult<'_>) -> String {
    match result.body {
        Body::Error => format!("error {}", result.status.0),
        Body::SingleCounter(value) => format!("_: 0={value:?}"),
        Body::MultipleCounters(ids, values) => row("_", ids.iter(), values),
        Body::MultipleInstances(table) => rows(&table, &[CounterId(0)]),
        Body::Counterset(ids, table) => rows(&table, &ids.iter().collect::<Vec<_>>()),
    }
}

fn rows(table: &InstanceTable<'_>, ids: &[CounterId]) -> String {
    let text = |instance: Result<Instance<'_>, WireError>| match instance {
        Ok(i) => row(&format!("{}/{}", i.name(), i.id().0), ids.iter().copied(), i.values()),
        Err(_) => "unreadable".into(),
    };
    table.rows().map(text).collect::<Vec<_>>().join("; ")
}

fn row(name: &str, ids: impl Iterator<Item = CounterId>, values: Values<'_>) -> String {
    assert_eq!(values.iter().fold(0, |n, _| n + 1), values.len(), "both ways to iterate agree");
    let cells = ids.zip(values).map(|(id, value)| format!(" {}={value:?}", id.0));
    format!("{name}:{}", cells.collect::<String>())
}

#[test]
fn dump_shows_every_field() {
    let mut text = String::new();
    for (name, bytes) in readable_examples() {
        text += &format!("{name}\n");
        dump(format_of(name), &bytes, &mut text).unwrap();
        text += "\n";
    }
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/v2/examples.dump.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(stored, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(stored).unwrap(), "UPDATE_SNAPSHOTS=1 writes it anew");
}

#[test]
fn strict_reading_accepts_every_example() {
    for (name, bytes) in readable_examples() {
        let mut broken = Vec::new();
        visit(format_of(name), &bytes, &mut |event| {
            if let Event::Broken(rule) = event {
                broken.push(rule);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(broken, [], "{name}");
    }
}

#[test]
fn broken_rules_are_errors_or_listed() {
    type Damage = fn(&mut Vec<u8>);
    let cases: [(&str, &str, Damage, &str); 9] = [
        (
            "reserved field",
            "result-single-u32",
            |b| b[48 + 12] = 1,
            "PERF_COUNTER_HEADER.Reserved at byte 60: breaks R-2",
        ),
        (
            "padding of a value",
            "result-single-u32",
            |b| b[48 + 28] = 1,
            "PERF_COUNTER_DATA at byte 76: breaks R-2",
        ),
        (
            "padding of a name",
            "result-multiple-instances",
            |b| b[48 + 78] = 9,
            "PERF_INSTANCE_HEADER name at byte 126: breaks R-2",
        ),
        (
            "padding of ids",
            "result-multiple-counters",
            |b| b[48 + 36] = 9,
            "PERF_MULTI_COUNTERS at byte 84: breaks R-2",
        ),
        ("status of a good result", "result-single-u32", |b| b[48] = 5, "breaks the status rule"),
        ("status of a bad result", "result-error", |b| b[48] = 0, "breaks the status rule"),
        (
            "something after the last result",
            "result-error",
            |b| {
                b.extend_from_slice(&[0; 8]);
                b[0] += 8;
            },
            "PERF_DATA_HEADER at byte 64: breaks R-35",
        ),
        (
            "no instances",
            "result-multiple-instances",
            |b| b[48 + 20] = 0,
            "PERF_MULTI_INSTANCES.dwInstances at byte 68: breaks R-34",
        ),
        (
            "a single value that is empty",
            "result-single-u32",
            |b| {
                b[48 + 16] = 0;
                b[48 + 24] = 0;
            },
            "breaks R-20",
        ),
    ];
    let all: BTreeMap<_, _> = readable_examples().into_iter().collect();
    for (name, example, damage, want) in cases {
        let mut bytes = all[example].clone();
        damage(&mut bytes);
        let (_, forgiven) = read(&bytes, Mode::Tolerant).unwrap_or_else(|e| panic!("{name}: {e}"));
        let strict = read(&bytes, Mode::Strict).unwrap_err();
        assert_eq!(forgiven.first(), Some(&strict), "{name}");
        assert!(strict.to_string().contains(want), "{name}: {strict}");
    }
}

/// counter ids without padding, as other programs write them, are read; the next structure is found by the size
/// field.
#[test]
fn unpadded_ids_are_read() {
    let mut results = examples()["result-multiple-counters"].clone();
    results.drain(36..40);
    results[8] -= 4;
    results[16] -= 4;
    let bytes = with_header(&results, 1);
    let result = Block::parse(&bytes).unwrap().results().next().unwrap().unwrap();
    assert_eq!(obvious_result(&result), "_: 0=U64(1000000) 3=U32(77) 17=U32(2400)");
    let error = read(&bytes, Mode::Strict).unwrap_err();
    assert!(error.to_string().contains("R-2") || error.to_string().contains("multiple of 8"), "{error}");
}

#[test]
fn lying_blocks() {
    let all: BTreeMap<_, _> = readable_examples().into_iter().collect();
    let at = |field: usize, value: u32| {
        move |b: &mut Vec<u8>| b[field..field + 4].copy_from_slice(&value.to_le_bytes())
    };
    type Damage<'a> = Box<dyn Fn(&mut Vec<u8>) + 'a>;
    let cases: Vec<(&str, Damage<'_>, &str)> = vec![
        (
            "result-error",
            Box::new(at(0, 47)),
            "PERF_DATA_HEADER.dwTotalSize at byte 0: size field is 47, must be at least 48",
        ),
        (
            "result-error",
            Box::new(at(0, 65)),
            "PERF_DATA_HEADER.dwTotalSize at byte 0: size field is 65, but only 16 bytes follow the header",
        ),
        ("result-error", Box::new(at(4, 2)), "PERF_COUNTER_HEADER at byte 64: needs 16 bytes, 0 are left"),
        (
            "result-error",
            Box::new(at(4, u32::MAX)),
            "PERF_COUNTER_HEADER at byte 64: needs 16 bytes, 0 are left",
        ),
        (
            "result-error",
            Box::new(at(56, 15)),
            "PERF_COUNTER_HEADER.dwSize at byte 56: size field is 15, must be at least 16",
        ),
        (
            "result-error",
            Box::new(at(56, u32::MAX)),
            "PERF_COUNTER_HEADER.dwSize at byte 56: size field is 4294967295, but only 0 bytes follow the header",
        ),
        (
            "result-error",
            Box::new(at(52, 3)),
            "PERF_COUNTER_HEADER.dwType at byte 52: is 3, which is not defined",
        ),
        (
            "result-single-u64",
            Box::new(at(64, 9)),
            "PERF_COUNTER_DATA.dwDataSize at byte 64: size field is 9, but only 8 bytes follow the header",
        ),
        (
            "result-single-u64",
            Box::new(at(68, 7)),
            "PERF_COUNTER_DATA.dwSize at byte 68: size field is 7, must be at least 8",
        ),
        (
            "result-single-u64",
            Box::new(at(68, 17)),
            "PERF_COUNTER_DATA.dwSize at byte 68: size field is 17, but only 8 bytes follow the header",
        ),
        (
            "result-multiple-counters",
            Box::new(at(68, 5)),
            "PERF_MULTI_COUNTERS.dwCounters at byte 68: counts 5 items, the bytes have room for 4",
        ),
        (
            "result-multiple-counters",
            Box::new(at(68, 4)),
            "PERF_COUNTER_DATA at byte 136: needs 8 bytes, 0 are left",
        ),
        (
            "result-multiple-instances",
            Box::new(at(68, u32::MAX)),
            "PERF_MULTI_INSTANCES.dwInstances at byte 68: counts 4294967295 items, the bytes have room for 9",
        ),
        (
            "result-multiple-instances",
            Box::new(at(72, 7)),
            "PERF_INSTANCE_HEADER.Size at byte 72: size field is 7, must be at least 8",
        ),
        (
            "result-multiple-instances",
            Box::new(at(72, 9)),
            "PERF_INSTANCE_HEADER name at byte 80: has no NUL inside its structure",
        ),
        (
            "strings",
            Box::new(at(4, 6)),
            "PERF_STRING_BUFFER_HEADER.dwCounters at byte 4: counts 6 items, the bytes have room for 5",
        ),
        (
            "strings",
            Box::new(at(12, 49)),
            "PERF_STRING_COUNTER_HEADER.dwOffset at byte 12: offset is 49, the block has 48 bytes",
        ),
        (
            "strings",
            Box::new(at(12, 48)),
            "PERF_STRING_COUNTER_HEADER.dwOffset at byte 12: has no NUL inside its structure",
        ),
        (
            "registration",
            Box::new(at(24, 3)),
            "PERF_COUNTERSET_REG_INFO.NumCounters at byte 24: counts 3 items, the bytes have room for 2",
        ),
        (
            "registration",
            Box::new(at(28, 5)),
            "PERF_COUNTERSET_REG_INFO.InstanceType at byte 28: is 5, which is not defined",
        ),
        (
            "registration",
            Box::new(at(72, 5)),
            "PERF_COUNTER_REG_INFO.AggregateFunc at byte 72: is 5, which is not defined",
        ),
        (
            "identifier-all",
            Box::new(at(20, 0)),
            "PERF_COUNTER_IDENTIFIER.Size at byte 20: size field is 0, must be at least 40",
        ),
        (
            "identifier-all",
            Box::new(at(20, 44)),
            "PERF_COUNTER_IDENTIFIER.Size at byte 20: breaks R-21: a size is a multiple of 8",
        ),
        (
            "identifier-all",
            Box::new(at(20, 56)),
            "PERF_COUNTER_IDENTIFIER.Size at byte 20: size field is 56, but only 8 bytes follow the header",
        ),
        (
            "identifier-all",
            Box::new(|b| b[40..].fill(0x41)),
            "PERF_COUNTER_IDENTIFIER name at byte 40: has no NUL inside its structure",
        ),
    ];
    for (name, damage, want) in cases {
        let mut bytes = all[name].clone();
        damage(&mut bytes);
        let error = dump(format_of(name), &bytes, &mut String::new()).unwrap_err();
        assert_eq!(error.to_string(), want, "{name}");
    }
}

/// Checks that many offsets into one long string cost little, although each could cost the string's whole length.
#[test]
fn overlapping_strings_cost_little() {
    let count = 20_000;
    let ids: Vec<_> = (0..count).map(|id| (CounterId(id), None)).collect();
    let mut bytes = strings::block(ids);
    let text_at = u32::try_from(bytes.len()).unwrap();
    for entry in bytes[8..].chunks_exact_mut(8) {
        entry[4..].copy_from_slice(&text_at.to_le_bytes());
    }
    bytes.resize(bytes.len() + 200_000, 0x41);
    bytes.extend_from_slice(&[0, 0]);
    let len = u32::try_from(bytes.len()).unwrap();
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    let block = strings::StringBlock::parse(&bytes).unwrap();
    let good = block.iter().filter(|(_, string)| string.is_ok()).count();
    assert!((10..20).contains(&good), "{good}");
}

#[test]
fn control_callback_identities() {
    let mut bytes = Vec::new();
    let (guid, machine, name) = (Guid::from_u128(2), utf16("HOST"), utf16("0,*"));
    let one = CounterFilter::One(CounterId(3));
    identity::write(&mut bytes, guid, one, InstanceIdFilter::Any, &machine, Some(&name));
    identity::write(
        &mut bytes,
        guid,
        CounterFilter::All,
        InstanceIdFilter::One(InstanceId(5)),
        &machine,
        None,
    );
    assert_eq!(bytes.len(), 64 + 56, "40 + 10 + 8 = 58, and 40 + 10 = 50, padded");
    let read: Vec<_> = identity::Identities::new(&bytes).map(Result::unwrap).collect();
    assert_eq!(read.len(), 2);
    assert_eq!(
        (read[0].counterset(), read[0].counter(), read[0].instance_id()),
        (guid, one, InstanceIdFilter::Any)
    );
    assert_eq!(read[0].machine(), "HOST");
    assert_eq!(read[0].name().unwrap(), "0,*");
    assert_eq!((read[1].counter(), read[1].name()), (CounterFilter::All, None));
    for (field, value, want) in [
        (16, 39, "PERF_COUNTER_IDENTITY.BufferSize at byte 16: size field is 39, must be at least 40"),
        (28, 39, "PERF_COUNTER_IDENTITY.MachineOffset at byte 28: offset is 39, the block has 64 bytes"),
        (32, 65, "PERF_COUNTER_IDENTITY.NameOffset at byte 32: offset is 65, the block has 64 bytes"),
        (32, 64, "PERF_COUNTER_IDENTITY.NameOffset at byte 32: has no NUL inside its structure"),
    ] {
        let mut bad = bytes.clone();
        bad[field..field + 4].copy_from_slice(&u32::to_le_bytes(value));
        let error = identity::Identities::new(&bad).next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}

/// Checks which V2 results the builder refuses to write: empty tables, empty single values, and too few or too many
/// values.
#[test]
fn builders_keep_the_rules() {
    let mut builder = BlockBuilder::new(&clocks());
    builder.single(Cell::EMPTY);
    builder.multiple_instances().finish();
    builder.counterset([CounterId(2)]).finish();
    let mut table = builder.counterset([CounterId(2), CounterId(3)]);
    table.row(utf16("few"), InstanceId(5), [Cell::from_u32(7)]);
    table.row(utf16("many\0hidden"), InstanceId(11), [Cell::from_u32(13), Cell::EMPTY, Cell::from_u32(17)]);
    table.finish();
    let mut table = builder.multiple_instances();
    table.row(utf16(&"x".repeat(3_000)), InstanceId(0), [Cell::EMPTY]);
    table.finish();
    let bytes = builder.finish().unwrap();
    let (block, _) = read(&bytes, Mode::Strict).unwrap();
    let mut results: Vec<_> = block.results().map(|r| obvious_result(&r.unwrap())).collect();
    assert_eq!(results.pop(), Some(format!("{}/0: 0=Empty", "x".repeat(1_023))), "names are cut");
    assert_eq!(
        results,
        ["error 232", "error 232", "error 232", "few/5: 2=U32(7) 3=Empty; many/11: 2=U32(13) 3=Empty"]
    );
}

#[test]
fn every_prefix_is_an_error_or_a_shorter_list() {
    for (name, bytes) in readable_examples() {
        let format = format_of(name);
        for len in 0..bytes.len() {
            let list_ends_here = matches!(format, BlockFormat::Instances if [0, 16].contains(&len))
                || matches!(format, BlockFormat::Identifiers if len == 0);
            let end = visit(format, &bytes[..len], &mut |_| ControlFlow::Continue(()));
            assert_eq!(end.is_ok(), list_ends_here, "{name}, {len} bytes");
        }
    }
}

#[test]
fn every_changed_byte_is_an_error_or_a_valid_view() {
    for (_, bytes) in readable_examples() {
        for at in 0..bytes.len() {
            for value in [0, 1, 7, 8, 15, 16, 0x7F, 0x80, 0xFF, bytes[at] ^ 1, bytes[at].wrapping_add(8)] {
                let mut bad = bytes.clone();
                bad[at] = value;
                for format in BlockFormat::ALL {
                    check_any_bytes(format, &bad);
                }
            }
        }
    }
}

/// Checks for any bytes that a visit of the V2 structure ends, errors lie inside the bytes, and two readers agree.
fn check_any_bytes(format: BlockFormat, bytes: &[u8]) {
    let mut events = 0_usize;
    let end = visit(format, bytes, &mut |event| {
        events += 1;
        if let Event::Field { value, .. } = event {
            let _ = value.to_string();
        }
        ControlFlow::Continue(())
    });
    assert!(events <= bytes.len() * 2 + 16, "{events} events for {} bytes", bytes.len());
    if let Err(error) = end {
        assert!(error.offset <= bytes.len(), "{error}");
    }
    if format == BlockFormat::Data {
        assert_eq!(quick_text(bytes), obvious_text(bytes));
    }
}

fn quick_text(bytes: &[u8]) -> Option<Vec<String>> {
    let block = Block::parse(bytes).ok()?;
    let readable = |r: &QueryResult<'_>| match r.body {
        Body::MultipleInstances(table) | Body::Counterset(_, table) => table.rows().all(|row| row.is_ok()),
        _ => true,
    };
    block.results().map(|r| r.ok().filter(readable).map(|r| obvious_result(&r))).collect()
}

/// Reads a V2 block as the documents' sample code for consumers does: field by field, every length checked.
fn obvious_text(bytes: &[u8]) -> Option<Vec<String>> {
    let u32_at = |b: &[u8], at: usize| Some(u32::from_le_bytes(b.get(at..at + 4)?.try_into().unwrap()));
    let size_at = |b: &[u8], at: usize| Some(u32_at(b, at)? as usize);
    let take_value = |b: &mut &[u8]| {
        let (len, size) = (size_at(b, 0)?, size_at(b, 4)?);
        if size < 8 || size > b.len() || len > size - 8 {
            return None;
        }
        let value = match len {
            0 => "Empty".to_string(),
            4 => format!("U32({})", u32_at(b, 8)?),
            8 => format!("U64({})", u64::from_le_bytes(b[8..16].try_into().unwrap())),
            _ => format!("Other({:?})", &b[8..8 + len]),
        };
        *b = &b[size..];
        Some(value)
    };
    let take_ids = |b: &mut &[u8]| {
        let (size, count) = (size_at(b, 0)?, size_at(b, 4)?);
        if size < 8 || size > b.len() || (size - 8) / 4 < count {
            return None;
        }
        let ids: Vec<u32> = (0..count).map(|i| u32_at(b, 8 + 4 * i)).collect::<Option<_>>()?;
        *b = &b[size..];
        Some(ids)
    };
    let cells = |ids: &[u32], b: &mut &[u8]| {
        let cell = |id: &u32| Some(format!(" {id}={}", take_value(b)?));
        ids.iter().map(cell).collect::<Option<String>>()
    };
    let take_table = |ids: &[u32], b: &mut &[u8]| {
        let (size, count) = (size_at(b, 0)?, size_at(b, 4)?);
        if size < 8 || size > b.len() || count > (size - 8) / 8 {
            return None;
        }
        let mut rest = &b[8..size];
        *b = &b[size..];
        let mut rows = Vec::new();
        for _ in 0..count {
            let (size, id) = (size_at(rest, 0)?, u32_at(rest, 4)?);
            if size < 8 || size > rest.len() {
                return None;
            }
            let units: Vec<u16> =
                rest[8..size].chunks_exact(2).map(|u| u16::from_le_bytes([u[0], u[1]])).collect();
            let name = String::from_utf16_lossy(&units[..units.iter().position(|u| *u == 0)?]);
            rest = &rest[size..];
            rows.push(format!("{name}/{id}:{}", cells(ids, &mut rest)?));
        }
        Some(rows.join("; "))
    };
    let total = size_at(bytes, 0)?;
    if bytes.len() < 48 || total < 48 || total > bytes.len() {
        return None;
    }
    let mut rest = &bytes[48..total];
    let mut results = Vec::new();
    for _ in 0..u32_at(bytes, 4)? {
        let size = size_at(rest, 8)?;
        if rest.len() < 16 || size < 16 || size > rest.len() {
            return None;
        }
        let mut body = &rest[16..size];
        results.push(match u32_at(rest, 4)? {
            0 => format!("error {}", u32_at(rest, 0)?),
            1 => format!("_: 0={}", take_value(&mut body)?),
            2 => {
                let ids = take_ids(&mut body)?;
                format!("_:{}", cells(&ids, &mut body)?)
            }
            4 => take_table(&[0], &mut body)?,
            6 => {
                let ids = take_ids(&mut body)?;
                take_table(&ids, &mut body)?
            }
            _ => return None,
        });
        rest = &rest[size..];
    }
    Some(results)
}

#[derive(Clone, Debug)]
enum Built {
    Error(u32),
    Single(Cell),
    Counters(Vec<(u32, Cell)>),
    Instances(Vec<(String, u32, Cell)>),
    Counterset(Vec<u32>, Vec<(String, u32, Vec<Cell>)>),
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        any::<u32>().prop_map(Cell::from_u32),
        any::<u64>().prop_map(Cell::from_u64),
        Just(Cell::EMPTY)
    ]
}

fn built() -> impl Strategy<Value = Built> {
    let name = "[a-zA-Z0-9_,é\u{1F600} ]{0,12}";
    let instance = (name, any::<u32>(), cell());
    let table = proptest::collection::vec(any::<u32>(), 0..6).prop_flat_map(move |ids| {
        let rows = (name, any::<u32>(), proptest::collection::vec(cell(), ids.len()));
        (Just(ids), proptest::collection::vec(rows, 0..6))
    });
    prop_oneof![
        (1_u32..).prop_map(Built::Error),
        cell().prop_map(Built::Single),
        proptest::collection::vec((any::<u32>(), cell()), 0..6).prop_map(Built::Counters),
        proptest::collection::vec(instance, 0..6).prop_map(Built::Instances),
        table.prop_map(|(ids, rows)| Built::Counterset(ids, rows)),
    ]
}

fn build(results: &[Built]) -> Vec<u8> {
    let mut builder = BlockBuilder::new(&clocks());
    write_results(&mut builder, results);
    builder.finish().unwrap()
}

fn write_results(builder: &mut BlockBuilder, results: &[Built]) {
    for result in results {
        match result {
            Built::Error(code) => builder.error(Status(*code)),
            Built::Single(cell) => builder.single(*cell),
            Built::Counters(cells) => {
                builder.multiple_counters(cells.iter().map(|(id, c)| (CounterId(*id), *c)))
            }
            Built::Instances(rows) => {
                let mut table = builder.multiple_instances();
                for (name, id, cell) in rows {
                    table.row(name.encode_utf16(), InstanceId(*id), [*cell]);
                }
                table.finish();
            }
            Built::Counterset(ids, rows) => {
                let mut table = builder.counterset(ids.iter().map(|id| CounterId(*id)));
                for (name, id, cells) in rows {
                    table.row(name.encode_utf16(), InstanceId(*id), cells.iter().copied());
                }
                table.finish();
            }
        }
    }
}

fn expected(result: &Built) -> String {
    let value = |cell: &Cell| match cell.header.data_size.get() {
        0 => "Empty".to_string(),
        4 => format!("U32({})", cell.value.get()),
        _ => format!("U64({})", cell.value.get()),
    };
    let none = || "error 232".to_string();
    match result {
        Built::Error(code) => format!("error {code}"),
        Built::Single(cell) if *cell == Cell::EMPTY => none(),
        Built::Single(cell) => format!("_: 0={}", value(cell)),
        Built::Counters(cells) => {
            format!("_:{}", cells.iter().map(|(id, c)| format!(" {id}={}", value(c))).collect::<String>())
        }
        Built::Instances(rows) if rows.is_empty() => none(),
        Built::Instances(rows) => {
            let row = |(name, id, c): &(String, u32, Cell)| format!("{name}/{id}: 0={}", value(c));
            rows.iter().map(row).collect::<Vec<_>>().join("; ")
        }
        Built::Counterset(_, rows) if rows.is_empty() => none(),
        Built::Counterset(ids, rows) => {
            let row = |(name, id, cells): &(String, u32, Vec<Cell>)| {
                let cells = ids.iter().zip(cells).map(|(id, c)| format!(" {id}={}", value(c)));
                format!("{name}/{id}:{}", cells.collect::<String>())
            };
            rows.iter().map(row).collect::<Vec<_>>().join("; ")
        }
    }
}

proptest! {
    #[test]
    fn parser_reads_built_blocks(results in proptest::collection::vec(built(), 0..5)) {
        let bytes = build(&results);
        let (block, _) = read(&bytes, Mode::Strict).unwrap();
        let got: Vec<_> = block.results().map(|r| obvious_result(&r.unwrap())).collect();
        prop_assert_eq!(&got, &results.iter().map(expected).collect::<Vec<_>>());
        prop_assert_eq!(Some(got), obvious_text(&bytes));
        prop_assert_eq!(block.clocks(), clocks());
    }

    /// A patched V2 block equals a block that was built with the new values.
    #[test]
    fn patching_is_building(results in proptest::collection::vec(built(), 0..5), seed: u32) {
        let mut builder = BlockBuilder::over(build(&results), &ClockReading { perf_time: 7, ..clocks() });
        for _ in &results {
            prop_assert_eq!(builder.keep(|_| None), None);
            let change = |cells: &mut [Cell]| cells.iter_mut().for_each(|c| *c = Cell::from_u32(seed));
            let kept = builder.keep(|result| {
                match result {
                    PatchResult::Error => {}
                    PatchResult::Cells(cells) => change(cells),
                    PatchResult::Table(mut table) => while let Some(cells) = table.row() { change(cells) },
                }
                Some(())
            });
            prop_assert_eq!(kept, Some(()));
        }
        prop_assert!(builder.is_kept() && builder.keep(|_| Some(())).is_none());
        let bytes = builder.finish().unwrap();
        let changed = |result: &Built| {
            let c = Cell::from_u32(seed);
            match result.clone() {
                Built::Error(code) => Built::Error(code),
                Built::Single(cell) => Built::Single(if cell == Cell::EMPTY { cell } else { c }),
                Built::Counters(cells) => Built::Counters(cells.into_iter().map(|(id, _)| (id, c)).collect()),
                Built::Instances(rows) => Built::Instances(rows.into_iter().map(|(n, i, _)| (n, i, c)).collect()),
                Built::Counterset(ids, rows) => {
                    let rows = rows.into_iter().map(|(n, i, cells)| (n, i, vec![c; cells.len()])).collect();
                    Built::Counterset(ids, rows)
                }
            }
        };
        let mut want = build(&results.iter().map(changed).collect::<Vec<_>>());
        want[8..16].copy_from_slice(&7_i64.to_le_bytes());
        prop_assert_eq!(bytes, want);
    }

    /// Writing a V2 block over any bytes gives the same block as writing into an empty buffer. Unchanged offsets are
    /// kept if possible.
    #[test]
    fn over_anything_is_anew(
        results in proptest::collection::vec(built(), 0..5),
        others in proptest::collection::vec(built(), 0..5),
        shared in 0_usize..5,
        bytes in proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..400),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let begin = results.iter().take(shared).cloned();
        let mut damaged = build(&results);
        for (at, value) in damage {
            let at = at.index(damaged.len());
            damaged[at] = value;
        }
        for before in [build(&begin.chain(others).collect::<Vec<_>>()), build(&results), damaged, bytes] {
            let mut builder = BlockBuilder::over(before.clone(), &clocks());
            write_results(&mut builder, &results);
            let (is_kept, got) = (builder.is_kept(), builder.finish().unwrap());
            prop_assert_eq!(&got, &build(&results));
            // A table that is begun in vain drops what is there.
            let has_empty = results.iter().any(|result| match result {
                Built::Instances(rows) => rows.is_empty(),
                Built::Counterset(_, rows) => rows.is_empty(),
                _ => false,
            });
            prop_assert!(is_kept || before != got || has_empty, "the same bytes are kept");
            prop_assert!(!is_kept || before.len() == got.len());
        }
    }

    #[test]
    fn any_bytes_can_be_walked(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for format in BlockFormat::ALL {
            check_any_bytes(format, &bytes);
        }
    }

    #[test]
    fn damaged_blocks_can_be_walked(
        results in proptest::collection::vec(built(), 1..4),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = build(&results);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check_any_bytes(BlockFormat::Data, &bytes);
        check_any_bytes(BlockFormat::Data, &bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn any_strings_read_back(
        texts in proptest::collection::vec((any::<u32>(), proptest::option::of("[^\0]{0,9}")), 0..6),
    ) {
        let block = strings::block(texts.iter().map(|(id, text)| (CounterId(*id), text.as_deref())));
        let read = strings::StringBlock::parse(&block).unwrap();
        let got: Vec<_> = read.iter().map(|(id, s)| (id.0, s.unwrap().map(|s| s.to_string()))).collect();
        prop_assert_eq!(got, texts);
    }
}

#[test]
fn errors_say_where() {
    let error = Block::parse(&[1, 0, 0]).unwrap_err();
    assert_eq!(error.why, Why::Truncated { needed: 48, left: 3 });
}

#[test]
fn a_table_is_lent() {
    let write = |lends: bool, names: &[&str], fails: bool, before: Vec<u8>| {
        let mut builder = BlockBuilder::over(before, &clocks());
        builder.single(Cell::from_u32(7));
        let mut table = builder.counterset([2, 3].map(CounterId));
        let cells = |id: u32| [Cell::from_u32(id), Cell::from_u64(11)];
        if lends {
            let mut rows = table.lend();
            for (name, id) in names.iter().zip(5..) {
                let position = rows.position();
                rows.row(name.encode_utf16(), InstanceId(id)).copy_from_slice(&cells(id));
                let name = units(name);
                let instance = (crate::Name::until_nul(&name), InstanceId(id));
                assert_eq!(rows.instance(position), Some(instance));
                assert_eq!(rows.cells(position), cells(id));
                assert_eq!(rows.last(), cells(id));
            }
            table.take_back(rows, names.len());
        } else {
            names
                .iter()
                .zip(5..)
                .for_each(|(name, id)| table.row(name.encode_utf16(), InstanceId(id), cells(id)));
        }
        if fails {
            table.fail(Status(13))
        } else {
            table.finish()
        }
        builder.single(Cell::from_u32(17));
        (builder.is_kept(), builder.finish().unwrap())
    };
    let mut lent = Vec::new();
    let steps: [(&[&str], bool, bool); 9] = [
        (&["a", "b", "c"], false, false),
        (&["a", "b", "c"], false, true),
        (&["a", "c"], false, false),
        (&["a"], false, false),
        (&["a"], false, true),
        (&["a"], true, false),
        (&["a", ""], false, false),
        (&[], false, false),
        (&["a longer one, of more than sixteen units", "b"], false, false),
    ];
    for (names, fails, want_kept) in steps {
        let (is_kept, bytes) = write(true, names, fails, lent);
        lent = bytes;
        assert_eq!(is_kept, want_kept, "{names:?} {fails}");
        assert_eq!(lent, write(false, names, fails, Vec::new()).1, "{names:?} {fails}");
    }
}

fn units(name: &str) -> Vec<u8> {
    name.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn the_same_instances_again() {
    let rows = [("a", 2_u32), ("", 3), ("of several words", 5)];
    let clocks = ClockReading::default();
    let write = |builder: &mut BlockBuilder, add: u32| {
        let mut table = builder.multiple_instances();
        for (name, id) in rows {
            table.row(name.encode_utf16(), InstanceId(id), [Cell::from_u32(id + add)]);
        }
        table.finish();
    };
    let (mut anew, mut again) = (BlockBuilder::new(&clocks), BlockBuilder::new(&clocks));
    for builder in [&mut anew, &mut again] {
        builder.single(Cell::from_u32(7));
    }
    let position = again.position();
    write(&mut anew, 11);
    write(&mut again, 11);
    write(&mut anew, 13);
    again.again(position, rows.map(|(_, id)| Cell::from_u32(id + 13)));
    assert_eq!(anew.finish(), again.finish());
}

/// A row of an instance table is found at its own offset, and at no offset inside the table's header or behind the
/// table's end.
#[test]
fn a_row_starts_at_its_offset() {
    let cells = vec![Cell::from_u64(1), Cell::from_u32(2)];
    let rows = vec![("a".to_owned(), 7, cells.clone()), ("longer".to_owned(), 8, cells)];
    let block = build(&[Built::Counterset(vec![1, 2], rows)]);
    let results: Vec<_> = Block::parse(&block).unwrap().results().collect::<Result<_, _>>().unwrap();
    let Body::Counterset(_, table) = results[0].body else { panic!("another result") };
    let rows: Vec<_> = table.rows().collect::<Result<_, _>>().unwrap();
    for row in &rows {
        let found = table.row_starting_at(row.offset()).unwrap();
        assert_eq!((found.id(), found.name()), (row.id(), row.name()));
        assert!(found.values().iter().eq(row.values().iter()));
    }
    for outside in [0, rows[0].offset() - 1, block.len() - 4, block.len(), usize::MAX] {
        assert!(table.row_starting_at(outside).is_none(), "{outside}");
    }
}
