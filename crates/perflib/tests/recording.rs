//! Tests of the C functions over a recording, compared with the queries of the recording itself.
#![cfg(target_os = "linux")]
#![allow(
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::multiple_unsafe_ops_per_block,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use perflib::consumer::*;
use perflib::registry::*;
use perfset::catalogue::{memory, processor_information as cpu, system};
use perfset::log::Logs;
use perfset::log::recording::{RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions};
use perfset::v2::identifier::{self, Identifiers, NewIdentifier};
use perfset::v2::{Block, instances};
use perfset::{CounterFilter, Entry, Guid, InstanceIdFilter, NextOutcome, Snapshot, Source, Utf16};

type Handle = *mut std::ffi::c_void;

/// Number of samples in the recording.
const SAMPLES: usize = 5;
/// Error code of a query after the last sample.
const ERROR_HANDLE_EOF: u32 = 38;

/// Records a machine of test data, and makes the functions of this process read the recording.
fn recording() -> &'static Path {
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux/two-nodes");
        let path = std::env::temp_dir().join(format!("perflib-recording-{}.perfset", std::process::id()));
        for (name, value) in [
            ("PERFSET_PROC", root.join("proc")),
            ("PERFSET_SYS", root.join("sys")),
            ("PERFSET_LOG", path.clone()),
        ] {
            // SAFETY: every test comes through here before it does anything else, and nothing writes it later.
            unsafe { std::env::set_var(name, value) };
        }
        write(&path);
        path
    })
}

fn write(path: &Path) {
    let machine = perfset::separate(true);
    let about = RecordingAbout::default().with(RecordingAbout::MACHINE, "web1");
    let options = WriterOptions::default().with_texts(true);
    let mut snapshot = Snapshot::default();
    let sets = [cpu::COUNTERSET.guid, system::COUNTERSET.guid, memory::COUNTERSET.guid];
    let mut queries: Vec<_> = sets.map(|_| machine.query()).into();
    for (query, guid) in queries.iter_mut().zip(sets) {
        let is_multiple = machine.counterset(&guid).unwrap().instance_type.is_multiple();
        let entry = if is_multiple { Entry::all(guid).instance("*") } else { Entry::all(guid) };
        assert!(query.add(&entry).is_success());
    }
    queries[0].collect(&mut snapshot).unwrap();
    let mut writer = RecordingWriter::create_file(path, snapshot.clocks(), about, options).unwrap();
    for query in &mut queries {
        query.collect(&mut snapshot).unwrap();
        writer.add_table(TableDefinition::of(&snapshot.entries()[0], 1_000).unwrap()).unwrap();
    }
    for _ in 0..SAMPLES {
        let mut snapshots = [Snapshot::default(), Snapshot::default(), Snapshot::default()];
        for (query, snapshot) in queries.iter_mut().zip(&mut snapshots) {
            query.collect(snapshot).unwrap();
        }
        let all = snapshots.iter().enumerate();
        let parts: Vec<_> = all.map(|(table, snapshot)| TickPart { table, snapshot, entry: 0 }).collect();
        writer.tick(snapshots[0].clocks(), &parts).unwrap();
    }
    writer.finish_file();
}

fn entry(set: Guid, name: Option<&str>) -> Vec<u8> {
    let name: Option<Vec<u16>> = name.map(|name| name.encode_utf16().collect());
    let mut block = Vec::new();
    let new = NewIdentifier {
        counterset: set,
        counter: CounterFilter::All,
        instance_id: InstanceIdFilter::Any,
        name: name.as_deref(),
        index: 0,
    };
    identifier::write(&mut block, &new);
    block
}

fn open() -> Handle {
    let mut handle = null_mut();
    // SAFETY: a place for the handle.
    assert_eq!(unsafe { PerfOpenQueryHandle(null(), &mut handle) }, 0);
    handle
}

fn add(query: Handle, blocks: &mut [u8]) {
    // SAFETY: these bytes.
    assert_eq!(unsafe { PerfAddCounters(query, blocks.as_mut_ptr(), blocks.len() as u32) }, 0);
    assert!(Identifiers::new(blocks).all(|one| one.unwrap().status().0 == 0));
}

/// Returns the next block of a query, or the error code. The size is requested first, which loses no sample.
fn next(query: Handle) -> Result<Vec<u8>, u32> {
    let mut needed = 0;
    // SAFETY: no buffer.
    match unsafe { PerfQueryCounterData(query, null_mut(), 0, &mut needed) } {
        8 => {}
        code => return Err(code),
    }
    let mut block = vec![0; needed as usize];
    // SAFETY: this buffer.
    match unsafe { PerfQueryCounterData(query, block.as_mut_ptr(), needed, &mut needed) } {
        0 => Ok(block),
        code => Err(code),
    }
}

#[test]
fn queries_return_the_samples_of_the_recording_and_then_its_end() {
    let mut logs = Logs::open(&[recording()]).unwrap();
    let sets = [(cpu::COUNTERSET.guid, Some("*")), (system::COUNTERSET.guid, None)];
    let (query, mut own) = (open(), logs.open().unwrap());
    let mut blocks = Vec::new();
    for (guid, name) in sets {
        blocks.extend(entry(guid, name));
        let entry = name.map_or_else(|| Entry::all(guid), |name| Entry::all(guid).instance(name));
        assert!(own.add(&entry).is_success());
    }
    add(query, &mut blocks);
    let mut wanted = Snapshot::default();
    for sample in 0..SAMPLES {
        assert_eq!(own.next(&mut wanted).unwrap(), NextOutcome::Sample);
        let block = next(query).unwrap();
        assert_eq!(block, wanted.block(), "sample {sample}");
        assert_eq!(Block::parse(&block).unwrap().results().count(), 2);
    }
    assert_eq!([next(query), next(query)], [Err(ERROR_HANDLE_EOF), Err(ERROR_HANDLE_EOF)]);
    // Another query begins at the first sample, and its entries may change on the way.
    let again = open();
    add(again, &mut entry(memory::COUNTERSET.guid, None));
    let first = next(again).unwrap();
    add(again, &mut entry(cpu::COUNTERSET.guid, Some("0,0")));
    let second = next(again).unwrap();
    assert_eq!(Block::parse(&first).unwrap().results().count(), 1);
    assert_eq!(Block::parse(&second).unwrap().results().count(), 2);
    let mut gone = entry(memory::COUNTERSET.guid, None);
    // SAFETY: these bytes.
    assert_eq!(unsafe { PerfDeleteCounters(again, gone.as_mut_ptr(), gone.len() as u32) }, 0);
    assert_eq!(Block::parse(&next(again).unwrap()).unwrap().results().count(), 1);
    assert_eq!([PerfCloseQueryHandle(query), PerfCloseQueryHandle(again)], [0, 0]);
}

#[test]
fn countersets_and_instances_are_those_of_the_recording() {
    let mut logs = Logs::open(&[recording()]).unwrap();
    let mut guids = [[0; 16]; 64];
    let mut count = 0;
    let recorded: Vec<u16> = "\\\\WEB1\0".encode_utf16().collect();
    let other: Vec<u16> = "elsewhere.invalid\0".encode_utf16().collect();
    for (machine, code) in [(null(), 0), (recorded.as_ptr().cast(), 0), (other.as_ptr().cast(), 1722)] {
        count = 0;
        // SAFETY: a string with its NUL, and room for 64 GUIDs.
        let found = unsafe { PerfEnumerateCounterSet(machine, guids.as_mut_ptr(), 64, &mut count) };
        assert_eq!(found, code);
        if code == 0 {
            let found: Vec<_> = guids[..count as usize].iter().map(|guid| Guid::from_wire(*guid)).collect();
            assert_eq!(found, logs.countersets().unwrap());
        }
    }
    assert_eq!(count, 0);
    let guid = cpu::COUNTERSET.guid.to_wire();
    let mut list = vec![0; 4_096];
    let mut len = 0;
    // SAFETY: a GUID, and a buffer of that size.
    let code = unsafe { PerfEnumerateCounterSetInstances(null(), &guid, list.as_mut_ptr(), 4_096, &mut len) };
    assert_eq!(code, 0);
    let found = instances::Instances::new(&list[..len as usize]).map(|one| Utf16::from(one.unwrap().name()));
    let wanted = logs.instances(&cpu::COUNTERSET.guid).unwrap();
    assert!(found.eq(wanted.into_iter().map(|one| one.name)));
}

#[test]
fn v1_blocks_are_the_samples_too_and_a_small_buffer_loses_none() {
    recording();
    let key = 0x8000_0004_usize as Handle;
    let name: Vec<u16> = "Global\0".encode_utf16().collect();
    let ask = |room: usize| {
        let (mut block, mut len) = (vec![0_u8; room], u32::try_from(room).unwrap());
        // SAFETY: a string with its NUL, and a buffer of that size.
        let code = unsafe {
            perflib_RegQueryValueExW(
                key,
                name.as_ptr().cast(),
                null(),
                null_mut(),
                block.as_mut_ptr(),
                &mut len,
            )
        };
        (code, block)
    };
    // PerfTime; SystemTime before it has milliseconds only.
    let time = |block: &[u8]| i64::from_le_bytes(block[56..64].try_into().unwrap());
    let mut times = Vec::new();
    for sample in 0..SAMPLES {
        // Windows' programs begin with a small buffer, and enlarge it.
        assert_eq!(ask(100).0, 234, "sample {sample}");
        let (code, block) = ask(1 << 20);
        assert_eq!((code, &block[..8]), (0, &b"P\0E\0R\0F\0"[..]), "sample {sample}");
        times.push(time(&block));
    }
    assert!(times.is_sorted_by(|a, b| a < b), "each is another sample: {times:?}");
    assert_eq!(ask(1 << 20).0, ERROR_HANDLE_EOF);
}
