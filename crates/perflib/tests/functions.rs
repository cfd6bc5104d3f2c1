//! Tests of the consumer's C functions, called as C calls them and compared with the engine; on a machine of test
//! data.
#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::multiple_unsafe_ops_per_block,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Once;

use perflib::consumer::*;
use perfset::catalogue::{memory, processor, processor_information as cpu, system};
use perfset::v2::identifier::{self, Identifiers, NewIdentifier};
use perfset::v2::{Block, Body, CounterDataType, instances, strings};
use perfset::{
    CounterFilter, CounterId, Entry, Guid, InstanceId, InstanceIdFilter, Machine, Name, Snapshot, Utf16,
    Value,
};

type Handle = *mut std::ffi::c_void;

/// Returns the machine `two-nodes` of the test data, for this whole program.
fn machine() -> Machine {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux/two-nodes");
        for (name, folder) in [("PERFSET_PROC", "proc"), ("PERFSET_SYS", "sys")] {
            // SAFETY: every test comes through here before it does anything else, and nothing writes it later.
            unsafe { std::env::set_var(name, root.join(folder)) };
        }
    });
    perfset::separate(true)
}

/// Returns the response that a C function writes into a buffer, after a check of its size protocol, or the function's
/// error code.
///
/// `unit` is what its sizes count, in bytes.
fn answer(unit: usize, call: impl Fn(*mut u8, u32, *mut u32) -> u32) -> Result<Vec<u8>, u32> {
    const CANARY: u8 = 0xC5;
    let mut needed = 77;
    match call(null_mut(), 0, &mut needed) {
        0 => {
            assert_eq!(needed, 0, "nothing fits into nothing only if it is nothing");
            return Ok(Vec::new());
        }
        8 => assert!(needed > 0),
        code => {
            assert_eq!(needed, 0, "another code tells no size (R-8)");
            let mut buffer = [CANARY; 64];
            assert_eq!(call(buffer.as_mut_ptr(), (64 / unit) as u32, &mut needed), code);
            assert_eq!(buffer, [CANARY; 64], "R-8");
            return Err(code);
        }
    }
    assert_eq!(call(null_mut(), 0, null_mut()), 87, "R-9");
    let mut actual = 77;
    assert_eq!((call(null_mut(), 1, &mut actual), actual), (87, 0), "R-9");
    let mut buffer = vec![CANARY; needed as usize * unit + 33];
    assert_eq!(call(buffer.as_mut_ptr(), needed, null_mut()), 87, "R-9");
    assert_eq!((call(buffer.as_mut_ptr(), needed - 1, &mut actual), actual), (8, needed));
    assert!(buffer.iter().all(|byte| *byte == CANARY), "no partial data (R-8)");
    // An odd address, and the size at an odd address too.
    let mut odd = [0_u8; 5];
    let odd_actual = odd[1..].as_mut_ptr().cast();
    assert_eq!(call(buffer[1..].as_mut_ptr(), needed, odd_actual), 0);
    assert_eq!(odd[1..], needed.to_le_bytes());
    let (end, canary) = (1 + needed as usize * unit, buffer.clone());
    assert!(canary[end..].iter().all(|byte| *byte == CANARY), "nothing behind the answer");
    Ok(buffer[1..end].to_vec())
}

struct Query(Handle);

impl Query {
    fn open() -> Self {
        let mut handle = null_mut();
        // SAFETY: a place for the handle.
        assert_eq!(unsafe { PerfOpenQueryHandle(null(), &mut handle) }, 0);
        assert!(!handle.is_null());
        Self(handle)
    }

    /// Adds query entries, and returns their statuses.
    fn add(&self, blocks: &mut [u8]) -> Result<Vec<u32>, u32> {
        // SAFETY: these bytes.
        let code = unsafe { PerfAddCounters(self.0, blocks.as_mut_ptr(), blocks.len() as u32) };
        if code == 0 { Ok(statuses(blocks)) } else { Err(code) }
    }

    fn add_utf32(&self, blocks: &mut [u8]) -> Result<Vec<u32>, u32> {
        // SAFETY: these bytes.
        let code = unsafe { PerfAddCounters_utf32(self.0, blocks.as_mut_ptr(), blocks.len() as u32) };
        if code == 0 { Ok(statuses(blocks)) } else { Err(code) }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        assert_eq!(PerfCloseQueryHandle(self.0), 0);
        assert_eq!(PerfCloseQueryHandle(self.0), 6, "R-11");
    }
}

fn statuses(blocks: &[u8]) -> Vec<u32> {
    Identifiers::new(blocks).map(|identifier| identifier.unwrap().status().0).collect()
}

fn entry(set: Guid, counter: Option<CounterId>, name: Option<&str>) -> Vec<u8> {
    let name: Option<Vec<u16>> = name.map(|name| name.encode_utf16().collect());
    let mut block = Vec::new();
    let counter = counter.map_or(CounterFilter::All, CounterFilter::One);
    let instance_id = InstanceIdFilter::Any;
    let new = NewIdentifier { counterset: set, counter, instance_id, name: name.as_deref(), index: 0 };
    identifier::write(&mut block, &new);
    block
}

/// Returns a query entry as [`entry`] does, with a UTF-32 name of any units.
fn entry_utf32(set: Guid, counter: Option<CounterId>, units: &[u32]) -> Vec<u8> {
    let mut block = entry(set, counter, None);
    block.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    block.resize(block.len().div_ceil(8) * 8, 0);
    let size = (block.len() as u32).to_le_bytes();
    block[20..24].copy_from_slice(&size);
    block
}

fn utf32(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).chain([0]).collect()
}

/// Returns UTF-32 text up to its NUL as UTF-16: the conversion implemented a second time, in the slow and obvious
/// way.
fn until_nul(bytes: &[u8]) -> Vec<u16> {
    let mut text = Vec::new();
    for unit in bytes.chunks_exact(4).map(|unit| u32::from_le_bytes(unit.try_into().unwrap())) {
        match char::from_u32(unit) {
            Some('\0') => return text,
            Some(c) => text.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            None => text.push(u16::try_from(unit).unwrap()), // a surrogate that stands alone
        }
    }
    panic!("there is no NUL");
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

#[test]
fn countersets_are_the_engines() {
    let guids: Vec<u8> = machine().countersets().iter().flat_map(|guid| guid.to_wire()).collect();
    // SAFETY: in these three tests: what `answer` passes.
    let found =
        answer(16, |at, len, actual| unsafe { PerfEnumerateCounterSet(null(), at.cast(), len, actual) });
    assert_eq!(found, Ok(guids.clone()));
    // SAFETY: as above.
    let found = answer(16, |at, len, actual| unsafe {
        PerfEnumerateCounterSet_utf32(null(), at.cast(), len, actual)
    });
    assert_eq!(found, Ok(guids));
}

#[test]
fn registrations_are_the_engines() {
    let machine = machine();
    let mut texts = 0;
    for set in machine.countersets() {
        for (code, language) in
            (0..12).flat_map(|code| [(code, 0), (code, 0x409), (code, 0x407), (code, 9999)])
        {
            let guid = set.to_wire();
            // SAFETY: a GUID, and what `answer` passes.
            let found = answer(1, |at, len, actual| unsafe {
                PerfQueryCounterSetRegistrationInfo(null(), &guid, code, language, at, len, actual)
            });
            let want = perfset::perflib::registration_info(&machine, &set, code, language);
            assert_eq!(found, want.map_err(|status| status.0), "{set} {code} {language}");
            // SAFETY: as above.
            let wide = answer(1, |at, len, actual| unsafe {
                PerfQueryCounterSetRegistrationInfo_utf32(null(), &guid, code, language, at, len, actual)
            });
            let narrowed = wide.map(|wide| match code {
                3 | 4 | 7 | 9 => {
                    texts += 1;
                    until_nul(&wide).into_iter().chain([0]).flat_map(u16::to_le_bytes).collect()
                }
                5 | 6 | 10 => strings_of_utf32(&wide),
                _ => wide,
            });
            assert_eq!(narrowed, found, "{set} {code} {language}, UTF-32");
        }
    }
    assert!(texts > 20);
}

/// Converts a string block with UTF-32 text to the UTF-16 block with the same strings.
fn strings_of_utf32(block: &[u8]) -> Vec<u8> {
    assert_eq!((word(block, 0), word(block, 0) % 8), (block.len(), 0));
    let strings: Vec<(CounterId, Option<String>)> = (0..word(block, 4))
        .map(|i| {
            let (id, offset) = (word(block, 8 + 8 * i), word(block, 12 + 8 * i));
            let text = (offset != 0xFFFF_FFFF).then(|| {
                assert_eq!(offset % 4, 0, "aligned for wchar_t");
                String::from_utf16(&until_nul(&block[offset..])).unwrap()
            });
            (CounterId(id as u32), text)
        })
        .collect();
    strings::block(strings.iter().map(|(id, text)| (*id, text.as_deref())))
}

#[test]
fn instances_are_the_engines() {
    let machine = machine();
    let mut rows = 0;
    let unknown = Guid::from_u128(1);
    for set in machine.countersets().into_iter().chain([unknown]) {
        let guid = set.to_wire();
        // SAFETY: a GUID, and what `answer` passes.
        let found = answer(1, |at, len, actual| unsafe {
            PerfEnumerateCounterSetInstances(null(), &guid, at, len, actual)
        });
        let want = perfset::perflib::enumerate_instances(&machine, &set).map_err(|status| status.0);
        assert_eq!(found, want, "{set}");
        // SAFETY: as above.
        let wide = answer(1, |at, len, actual| unsafe {
            PerfEnumerateCounterSetInstances_utf32(null(), &guid, at, len, actual)
        });
        let narrowed = wide.map(|wide| {
            let (mut out, mut rest) = (Vec::new(), &*wide);
            while !rest.is_empty() {
                let (instance, after) = rest.split_at(word(rest, 0));
                assert_eq!(instance.len() % 8, 0);
                instances::write(&mut out, until_nul(&instance[8..]), InstanceId(word(instance, 4) as u32));
                rows += 1;
                rest = after;
            }
            out
        });
        assert_eq!(narrowed, found, "{set}, UTF-32");
    }
    assert!(rows > 6, "the machine has processors");
}

#[test]
fn arguments_are_checked_in_their_order() {
    let _ = machine();
    let guid = Guid::from_u128(1).to_wire();
    let elsewhere: Vec<u16> = "elsewhere.invalid\0".encode_utf16().collect();
    let here: Vec<u16> = "\\\\LocalHost\0".encode_utf16().collect();
    let endless = vec![0x41_u16; 1_024];
    let (elsewhere, here, endless) =
        (elsewhere.as_ptr().cast::<u8>(), here.as_ptr().cast::<u8>(), endless.as_ptr().cast::<u8>());
    let mut size = 0;
    // SAFETY: in this test: strings, GUIDs and places for sizes, or null.
    unsafe {
        let register = |machine, guid: *const [u8; 16], code, size: *mut u32| {
            PerfQueryCounterSetRegistrationInfo(machine, guid, code, 0, null_mut(), 0, size)
        };
        assert_eq!(register(null(), null(), 1, &mut size), 87, "no GUID");
        assert_eq!(register(elsewhere, &guid, 11, &mut size), 87, "the code comes before the machine");
        assert_eq!(register(elsewhere, &guid, 1, &mut size), 1722);
        assert_eq!(register(endless, &guid, 1, &mut size), 87, "a name that does not end");
        assert_eq!(register(here, &guid, 1, &mut size), 4200, "the look-up comes before the size");
        assert_eq!(register(null(), &guid, 1, null_mut()), 87);
        assert_eq!(PerfEnumerateCounterSetInstances(null(), null(), null_mut(), 0, &mut size), 87);
        assert_eq!(PerfEnumerateCounterSetInstances(elsewhere, &guid, null_mut(), 0, &mut size), 1722);
        assert_eq!(PerfEnumerateCounterSet(elsewhere, null_mut(), 0, &mut size), 1722);
        let mut handle = 5 as Handle;
        assert_eq!(PerfOpenQueryHandle(null(), null_mut()), 87);
        assert_eq!((PerfOpenQueryHandle(elsewhere, &mut handle), handle), (1722, null_mut()), "R-18");
    }
}

#[test]
fn stale_and_made_up_handles_are_codes() {
    let _ = machine();
    let closed = {
        let query = Query::open();
        query.0
    };
    let open = Query::open();
    let mut buffer = entry(cpu::GUID, None, Some("*"));
    let len = buffer.len() as u32;
    let at = buffer.as_mut_ptr();
    for handle in [null_mut(), closed, 1 as Handle, usize::MAX as Handle, open.0.wrapping_byte_add(1)] {
        let mut size = 7;
        // SAFETY: the buffer and a place for the size.
        let codes = unsafe {
            [
                PerfAddCounters(handle, at, len),
                PerfAddCounters(handle, null_mut(), 0),
                PerfDeleteCounters(handle, at, len),
                PerfQueryCounterInfo(handle, at, len, &mut size),
                PerfQueryCounterInfo(handle, at, len, null_mut()),
                PerfQueryCounterData(handle, at, len, &mut size),
                PerfCloseQueryHandle(handle),
            ]
        };
        assert_eq!(codes, [6; 7], "{handle:?}");
        assert_eq!(size, 0);
    }
    assert_eq!(buffer, entry(cpu::GUID, None, Some("*")), "nothing was written");
}

/// Returns query entries for each kind of result, and for each refusal, with the expected status. No value is a
/// clock's.
fn entries() -> Vec<(Guid, Option<CounterId>, Option<&'static str>, u32)> {
    vec![
        (cpu::GUID, Some(cpu::PERCENT_PROCESSOR_TIME), Some("_Total"), 0),
        (cpu::GUID, Some(cpu::PERCENT_PROCESSOR_TIME), Some("*"), 0),
        (cpu::GUID, Some(cpu::PERCENT_PROCESSOR_TIME), None, 87),
        (processor::GUID, None, Some("?"), 0),
        (processor::GUID, None, Some("1"), 0),
        (system::GUID, None, None, 0),
        (system::GUID, None, Some(""), 183),
        (memory::GUID, Some(memory::AVAILABLE_BYTES), Some(""), 0),
        (cpu::GUID, Some(CounterId(9_999)), Some("*"), 4202),
        (Guid::from_u128(1), None, Some("*"), 4200),
        (cpu::GUID, None, Some("nobody"), 0),
    ]
}

fn info(query: &Query) -> Vec<u8> {
    // SAFETY: what `answer` passes.
    answer(1, |at, len, actual| unsafe { PerfQueryCounterInfo(query.0, at, len, actual) }).unwrap()
}

/// Returns a block of counter data with zeros in place of its clocks.
fn without_clocks(mut block: Vec<u8>) -> Vec<u8> {
    block[8..48].fill(0);
    block
}

#[test]
fn data_are_the_engines() {
    let machine = machine();
    let mut reference = machine.query();
    let mut blocks = Vec::new();
    let mut want = Vec::new();
    for (set, counter, name, status) in entries() {
        blocks.extend(entry(set, counter, name));
        want.push(status);
        let new = counter.map_or(Entry::all(set), |counter| Entry::one(set, counter));
        let new = name.map_or(new.clone(), |name| new.instance(name));
        assert_eq!(reference.add(&new).0, status, "{new:?}");
    }
    let query = Query::open();
    assert_eq!(query.add(&mut blocks), Ok(want.clone()));
    assert_eq!(info(&query), perfset::perflib::counter_info(&reference));

    // SAFETY: what `answer` passes.
    let read = || answer(1, |at, len, actual| unsafe { PerfQueryCounterData(query.0, at, len, actual) });
    let mut snapshot = Snapshot::default();
    reference.collect(&mut snapshot).unwrap();
    let block = read().unwrap();
    let same = without_clocks(block.clone()) == without_clocks(snapshot.block().to_vec());
    assert!(same, "the blocks differ in more than their clocks");
    let kinds: Vec<CounterDataType> =
        Block::parse(&block).unwrap().results().map(|r| r.unwrap().kind()).collect();
    use CounterDataType::{Counterset, Error, MultipleCounters, MultipleInstances, SingleCounter};
    let kinds_wanted = [
        SingleCounter,
        MultipleInstances,
        Counterset,
        MultipleCounters,
        MultipleCounters,
        SingleCounter,
        Error,
    ];
    assert_eq!(kinds, kinds_wanted);

    // The same with UTF-32 names, through the same handle.
    // SAFETY: what `answer` passes.
    let wide =
        answer(1, |at, len, actual| unsafe { PerfQueryCounterData_utf32(query.0, at, len, actual) }).unwrap();
    assert_eq!(facts_of_utf32(&wide), facts(&block));

    // SAFETY: what `answer` passes.
    let wide =
        answer(1, |at, len, actual| unsafe { PerfQueryCounterInfo_utf32(query.0, at, len, actual) }).unwrap();
    let mut narrowed = Vec::new();
    let mut rest = &*wide;
    while !rest.is_empty() {
        let (block, after) = rest.split_at(word(rest, 20));
        let header = Identifiers::new(block).next().unwrap().unwrap();
        let name = (block.len() > 40).then(|| until_nul(&block[40..]));
        let new = NewIdentifier {
            counterset: header.counterset(),
            counter: header.counter(),
            instance_id: header.instance_id(),
            name: name.as_deref(),
            index: header.index(),
        };
        identifier::write(&mut narrowed, &new);
        rest = after;
    }
    assert_eq!(narrowed, info(&query));

    // SAFETY: these bytes.
    assert_eq!(unsafe { PerfDeleteCounters(query.0, blocks.as_mut_ptr(), blocks.len() as u32) }, 0);
    let deleted = want.iter().map(|status| if *status == 0 { 0 } else { 87 });
    assert_eq!(statuses(&blocks), deleted.collect::<Vec<_>>(), "R-27");
    assert_eq!(info(&query), [0_u8; 0]);
    assert_eq!(read().unwrap().len(), 48, "R-29");
}

/// Lists the contents of a data block's results, except sizes.
fn facts(block: &[u8]) -> Vec<String> {
    let mut facts = Vec::new();
    for result in Block::parse(block).unwrap().results() {
        let result = result.unwrap();
        facts.push(format!("{:?} {:?}", result.kind().to_wire(), result.status.0));
        let ids =
            |ids: perfset::v2::Ids<'_>| format!("ids {:?}", ids.iter().map(|id| id.0).collect::<Vec<_>>());
        let value = |value: perfset::v2::BlockValue<'_>| match value.number() {
            Some(number) => format!("{}", number.get()),
            None => "-".to_owned(),
        };
        let mut rows = |table: perfset::v2::InstanceTable<'_>| {
            for row in table.rows() {
                let row = row.unwrap();
                let values: Vec<String> = row.values().iter().map(value).collect();
                facts.push(format!("{:?} {} {values:?}", row.name().to_string(), row.id().0));
            }
        };
        match result.body {
            Body::Error => {}
            Body::SingleCounter(one) => facts.push(value(one)),
            Body::MultipleCounters(counters, values) => {
                let values: Vec<String> = values.iter().map(value).collect();
                facts.push(format!("{} {values:?}", ids(counters)));
            }
            Body::MultipleInstances(table) => rows(table),
            Body::Counterset(counters, table) => {
                rows(table);
                facts.push(ids(counters));
            }
        }
    }
    facts
}

/// Lists the contents of a data block with UTF-32 names as [`facts`] does, read by its size fields alone.
fn facts_of_utf32(block: &[u8]) -> Vec<String> {
    let mut facts = Vec::new();
    assert_eq!(word(block, 0), block.len());
    let mut rest = &block[48..];
    let value = |data: &[u8]| match word(data, 0) {
        0 => "-".to_owned(),
        4 => word(data, 8).to_string(),
        8 => u64::from_le_bytes(data[8..16].try_into().unwrap()).to_string(),
        len => panic!("a value of {len} bytes"),
    };
    let values = |data: &mut &[u8], count: usize| -> Vec<String> {
        (0..count)
            .map(|_| {
                let (one, after) = data.split_at(word(data, 4));
                *data = after;
                value(one)
            })
            .collect()
    };
    for _ in 0..word(block, 4) {
        let (result, after) = rest.split_at(word(rest, 8));
        rest = after;
        let kind = word(result, 4);
        facts.push(format!("{kind:?} {:?}", word(result, 0)));
        let mut data = &result[16..];
        let mut ids: Option<Vec<usize>> = None;
        if kind & 2 != 0 {
            let (block, after) = data.split_at(word(data, 0));
            ids = Some((0..word(block, 4)).map(|i| word(block, 8 + 4 * i)).collect());
            data = after;
        }
        if kind & 4 != 0 {
            assert_eq!(word(data, 0), data.len(), "dwTotalSize");
            let count = word(data, 4);
            data = &data[8..];
            for _ in 0..count {
                let (instance, after) = data.split_at(word(data, 0));
                data = after;
                let name = String::from_utf16(&until_nul(&instance[8..])).unwrap();
                let values = values(&mut data, ids.as_ref().map_or(1, Vec::len));
                facts.push(format!("{name:?} {} {values:?}", word(instance, 4)));
            }
        }
        match (kind, &ids) {
            (1, _) => facts.extend(values(&mut data, 1)),
            (2, Some(ids)) => facts.push(format!("ids {ids:?} {:?}", values(&mut data, ids.len()))),
            (6, Some(ids)) => facts.push(format!("ids {ids:?}")),
            _ => {}
        }
        assert_eq!(data, [0_u8; 0], "nothing is left of a result");
    }
    facts
}

#[test]
fn entries_with_utf32_names() {
    let _ = machine();
    let query = Query::open();
    let total = Some(cpu::PERCENT_PROCESSOR_TIME);
    let long = |len: usize| [vec![u32::from('x'); len], vec![0]].concat();
    let astral = [0x1F600, 0x41, 0];
    let cases = [
        ("a name", entry_utf32(cpu::GUID, total, &utf32("_Total")), 0),
        ("the same in other letters", entry_utf32(cpu::GUID, total, &utf32("_TOTAL")), 183),
        ("no name", entry_utf32(cpu::GUID, total, &[]), 87),
        ("an empty name", entry_utf32(cpu::GUID, total, &[0, 0]), 87),
        ("single instance, no name", entry_utf32(system::GUID, None, &[]), 0),
        ("single instance, an empty name", entry_utf32(system::GUID, None, &[0, 7]), 183),
        ("no end", entry_utf32(cpu::GUID, total, &[0x41, 0x42]), 87),
        ("more than Unicode", entry_utf32(cpu::GUID, total, &[0x11_0000, 0]), 87),
        ("no end, unknown counterset first", entry_utf32(Guid::from_u128(1), total, &[0x41, 0x42]), 4200),
        ("no end, unknown counter next", entry_utf32(cpu::GUID, Some(CounterId(9_999)), &[0x41, 0x42]), 4202),
        ("beyond 16 bits", entry_utf32(cpu::GUID, total, &astral), 0),
        ("a lone surrogate", entry_utf32(cpu::GUID, total, &[0xD800, 0x41, 0]), 0),
        ("1,023 units", entry_utf32(cpu::GUID, total, &long(1_023)), 0),
        ("1,024 units", entry_utf32(cpu::GUID, total, &long(1_024)), 87),
        ("many more", entry_utf32(cpu::GUID, total, &long(100_000)), 87),
    ];
    let mut blocks: Vec<u8> = cases.iter().flat_map(|(_, block, _)| block.clone()).collect();
    let found = query.add_utf32(&mut blocks).unwrap();
    for ((what, _, want), found) in cases.iter().zip(&found) {
        assert_eq!(found, want, "{what}");
    }
    let names: Vec<Utf16> =
        Identifiers::new(&info(&query)).filter_map(|i| i.unwrap().name().unwrap().map(Utf16::from)).collect();
    let units = |text: &[u16]| Utf16::from(text);
    assert_eq!(
        names,
        [
            Utf16::from("_Total"),
            units(&[0xD83D, 0xDE00, 0x41]),
            units(&[0xD800, 0x41]),
            units(&[u16::from(b'x'); 1_023]),
        ]
    );
    // SAFETY: what `answer` passes.
    let wide =
        answer(1, |at, len, actual| unsafe { PerfQueryCounterInfo_utf32(query.0, at, len, actual) }).unwrap();
    let third = word(&wide, 20) + 40; // behind _Total and the single instance
    assert_eq!((word(&wide, third + 40), word(&wide, third + 44)), (0x1F600, 0x41));

    let mut damaged = [entry_utf32(cpu::GUID, total, &utf32("a")), vec![0; 8]].concat();
    let before = damaged.clone();
    assert_eq!(query.add_utf32(&mut damaged), Err(87), "something after the last block (R-21)");
    assert_eq!(damaged, before, "R-22");
    for (at, len) in
        [(null_mut(), 0), (null_mut(), 40), (damaged.as_mut_ptr(), 0), (damaged.as_mut_ptr(), 39)]
    {
        // SAFETY: null, or a buffer of `len` bytes.
        let codes = unsafe {
            [
                PerfAddCounters_utf32(query.0, at, len),
                PerfDeleteCounters_utf32(query.0, at, len),
                PerfAddCounters(query.0, at, len),
                PerfDeleteCounters(query.0, at, len),
            ]
        };
        assert_eq!(codes, [87; 4], "{len} bytes");
    }
}

#[test]
fn handles_serve_many_threads() {
    let _ = machine();
    let shared = Query::open();
    let mut all = entry(cpu::GUID, None, Some("*"));
    assert_eq!(shared.add(&mut all), Ok(vec![0]));
    let address = shared.0 as usize;
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            scope.spawn(move || {
                for round in 0..20 {
                    let own = Query::open();
                    let counter = CounterId((thread + round) % 5);
                    let mut one = entry(cpu::GUID, Some(counter), Some("*"));
                    assert_eq!(own.add(&mut one), Ok(vec![0]));
                    for handle in [own.0, address as Handle] {
                        let mut buffer = vec![0; 100_000];
                        let mut len = 0;
                        let room = buffer.len() as u32;
                        // SAFETY: a buffer of `room` bytes, and a place for the size.
                        let code =
                            unsafe { PerfQueryCounterData(handle, buffer.as_mut_ptr(), room, &mut len) };
                        assert_eq!(code, 0);
                        assert!(perfset::v2::Block::parse(&buffer[..len as usize]).is_ok());
                    }
                }
            });
        }
    });
}

#[test]
fn names_of_a_value_are_those_of_its_row() {
    // What a C program reads at `(WCHAR *)(header + 1)`.
    let machine = machine();
    let query = Query::open();
    let mut block = entry_utf32(cpu::GUID, Some(cpu::PERCENT_PROCESSOR_TIME), &utf32("*"));
    assert_eq!(query.add_utf32(&mut block), Ok(vec![0]));
    let mut reference = machine.query();
    let one = Entry::one(cpu::GUID, cpu::PERCENT_PROCESSOR_TIME).instance("*");
    assert!(reference.add(&one).is_success());
    let mut snapshot = Snapshot::default();
    reference.collect(&mut snapshot).unwrap();
    let want: Vec<String> =
        snapshot.values(None).map(|value: Value<'_>| value.instance.to_string()).collect();
    // SAFETY: what `answer` passes.
    let wide =
        answer(1, |at, len, actual| unsafe { PerfQueryCounterData_utf32(query.0, at, len, actual) }).unwrap();
    let names = facts_of_utf32(&wide);
    assert_eq!(names.len(), want.len() + 1);
    for (fact, name) in names[1..].iter().zip(&want) {
        assert!(fact.starts_with(&format!("{name:?} ")), "{fact}");
    }
    assert!(want.contains(&"_Total".to_owned()) && Name::default().is_empty());
}
