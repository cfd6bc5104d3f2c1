//! Tests of the provider's C functions, called as C calls them, and of the contents of the files that they publish.
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

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, Once, OnceLock};
use std::time::Duration;

use perflib::provider::*;
use perflib::windows::{perflib_GetLastError, perflib_SetLastError};
use perfset::{CounterFilter, CounterId, Guid, InstanceId, InstanceIdFilter, RawValue, Status};
use perfset_shm::callback::{CallbackReply, RequestCode, RequestMessage, ask};
use perfset_shm::layout::{SegmentLayout, entry, header, is_live};

type Handle = *mut c_void;
type Block = *mut u8;

/// Returns the directory in which this whole test program publishes.
fn folder() -> PathBuf {
    static SET: Once = Once::new();
    let folder = std::env::temp_dir().join(format!("perflib-provider-{}", std::process::id()));
    SET.call_once(|| {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        // SAFETY: every test comes through here before it does anything else, and nothing writes it later.
        unsafe { std::env::set_var("PERFSET_RUNTIME_DIR", &folder) };
        // SAFETY: as above. No result depends on how busy the machine is that tests.
        unsafe { std::env::set_var("PERFSET_DEADLINE", "60s") };
    });
    folder
}

/// Returns a GUID that no other test has.
fn new_guid() -> [u8; 16] {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    Guid::from_u128(0xFFEE_AADD << 96 | LAST.fetch_add(1, Relaxed) as u128).to_wire()
}

/// Provider of a test, stopped when it is dropped.
struct Provider(Handle);

impl Provider {
    fn start() -> Self {
        Self::with(None)
    }

    fn with(callback: Option<ControlCallback>) -> Self {
        let (guid, mut handle) = (new_guid(), null_mut());
        folder();
        // SAFETY: a GUID and a place for the handle.
        assert_eq!(unsafe { PerfStartProvider(&guid, callback, &mut handle) }, 0);
        assert!(!handle.is_null());
        Self(handle)
    }

    fn set(&self, template: &mut [u8]) -> u32 {
        // SAFETY: these bytes.
        unsafe { PerfSetCounterSetInfo(self.0, template.as_mut_ptr(), template.len() as u32) }
    }

    /// Defines a counterset with these counters, and returns its GUID.
    fn define(&self, instance_type: u32, counters: &[Counter]) -> [u8; 16] {
        let guid = new_guid();
        assert_eq!(self.set(&mut template(guid, instance_type, counters)), 0);
        guid
    }

    fn create(&self, set: [u8; 16], name: &str, id: u32) -> Result<Block, u32> {
        let name = utf16(name);
        // SAFETY: a GUID, and a name with its NUL.
        answer(|| unsafe { PerfCreateInstance(self.0, &set, name.as_ptr().cast(), id) })
    }

    fn query(&self, set: [u8; 16], name: &str, id: u32) -> Result<Block, u32> {
        let name = utf16(name);
        // SAFETY: a GUID, and a name with its NUL.
        answer(|| unsafe { PerfQueryInstance(self.0, &set, name.as_ptr().cast(), id) })
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        assert_eq!(PerfStopProvider(self.0), 0);
        assert_eq!(PerfStopProvider(self.0), 87, "R-38");
    }
}

/// Returns the pointer that a C function returns, or the last error if the pointer is null.
fn answer(call: impl FnOnce() -> Block) -> Result<Block, u32> {
    perflib_SetLastError(0x5EED);
    let block = call();
    match (block.is_null(), perflib_GetLastError()) {
        (false, 0x5EED) => Ok(block),
        (true, code) if code != 0x5EED => Err(code),
        (is_null, code) => panic!("null: {is_null}, last error {code}"),
    }
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

fn utf32(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).chain([0]).collect()
}

/// Counter of a template: id, type, attributes, size.
#[derive(Clone, Copy)]
struct Counter(u32, u32, u64, u32);

const RAWCOUNT: u32 = 0x0001_0000;
const LARGE_RAWCOUNT: u32 = 0x0001_0100;
const AVERAGE_TIMER: u32 = 0x3002_0400;
const BY_REFERENCE: u64 = 1;

const FOUR: Counter = Counter(1, RAWCOUNT, 0, 4);
const EIGHT: Counter = Counter(2, LARGE_RAWCOUNT, 0, 8);

fn template(guid: [u8; 16], instance_type: u32, counters: &[Counter]) -> Vec<u8> {
    let mut out = [guid, [0x99; 16]].concat();
    out.extend_from_slice(&(counters.len() as u32).to_le_bytes());
    out.extend_from_slice(&instance_type.to_le_bytes());
    for Counter(id, counter_type, attributes, size) in counters {
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&counter_type.to_le_bytes());
        out.extend_from_slice(&attributes.to_le_bytes());
        for field in [*size, 100, 0, 0xDEAD_BEEF] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }
    out
}

/// Returns the counter values in an instance's block.
fn values(block: Block, count: usize) -> Vec<u64> {
    // SAFETY: a live block with `count` values.
    (0..count).map(|at| unsafe { block.cast::<u64>().add(4 + at).read_volatile() }).collect()
}

fn bytes(block: Block, len: usize) -> Vec<u8> {
    // SAFETY: a live block of `len` bytes.
    unsafe { std::slice::from_raw_parts(block, len) }.to_vec()
}

/// Key of a published instance: its counterset, name and id.
type Named = ([u8; 16], String, u32);

/// Returns the sequence word (version of the slot in the published file) and the values of each published instance,
/// by counterset, name and id. The reader is implemented a second time here, in the slow and obvious way.
fn published() -> BTreeMap<Named, (u64, Vec<u64>)> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pfs") {
            continue;
        }
        let Ok(file) = std::fs::read(path) else { continue }; // another test's that ended
        let word = |at: usize| u64::from_ne_bytes(file[8 * at..][..8].try_into().unwrap());
        for number in 0..word(header::SEGMENTS) as usize {
            let at_entry = header::TABLE + number * entry::WORDS;
            if word(at_entry + entry::KIND) != entry::INSTANCES {
                continue;
            }
            let (at, len) = (word(at_entry + entry::AT) as usize, word(at_entry + entry::LEN) as usize);
            let shape = SegmentLayout::parse(std::array::from_fn(|n| word(at / 8 + n)), len).unwrap();
            for slot in 0..shape.slots {
                let sequence = word(at / 8 + shape.sequence(slot));
                if !is_live(sequence) {
                    continue;
                }
                let block = &file[at + 8 * shape.block(slot).start..][..8 * shape.stride];
                let name = block[32 + 8 * shape.counters..].chunks(2).map(|unit| [unit[0], unit[1]]);
                let name: Vec<u16> = name.map(u16::from_le_bytes).take_while(|unit| *unit != 0).collect();
                let values = shape.values(slot).map(|n| word(at / 8 + n)).collect();
                let id = u32::from_le_bytes(block[20..24].try_into().unwrap());
                let key = (block[..16].try_into().unwrap(), String::from_utf16(&name).unwrap(), id);
                found.insert(key, (sequence, values));
            }
        }
    }
    found
}

fn published_of(set: [u8; 16]) -> Vec<(String, u32, Vec<u64>)> {
    let of_set = published().into_iter().filter(|((guid, ..), _)| *guid == set);
    of_set.map(|((_, name, id), (_, values))| (name, id, values)).collect()
}

/// Returns the path of the socket beside the file that has an instance of that counterset.
fn socket_of(set: [u8; 16]) -> PathBuf {
    let mut sockets = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let has_set = |socket: &PathBuf| {
        let file = std::fs::read(socket.with_extension("pfs")).unwrap_or_default();
        file.windows(16).any(|window| window == set)
    };
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sock");
    sockets.find(|path| is_socket(path) && has_set(path)).expect("a socket")
}

fn asked(socket: &std::path::Path, what: RequestCode, about: &[u8]) -> CallbackReply {
    // SAFETY: it only asks.
    let user = unsafe { libc::geteuid() };
    ask(socket, user, &RequestMessage::new(what, about).unwrap(), Duration::from_secs(30)).unwrap()
}

fn identity(set: [u8; 16], counter: CounterFilter, id: InstanceIdFilter, name: Option<&str>) -> Vec<u8> {
    let mut about = Vec::new();
    let name: Option<Vec<u16>> = name.map(|name| name.encode_utf16().collect());
    let machine: Vec<u16> = "HOST1".encode_utf16().collect();
    perfset::v2::identity::write(&mut about, Guid::from_wire(set), counter, id, &machine, name.as_deref());
    about
}

#[test]
fn starting_and_stopping() {
    folder();
    let guid = new_guid();
    let untouched = 0xBAD_usize as Handle;
    let mut handle = untouched;
    // SAFETY: null pointers, GUIDs, and places for a handle.
    unsafe {
        assert_eq!(PerfStartProvider(null(), None, &mut handle), 87);
        assert_eq!(PerfStartProvider(&guid, None, null_mut()), 87);
        assert_eq!(PerfStartProviderEx(null(), null(), &mut handle), 87);
        assert_eq!(PerfStartProviderEx(&guid, null(), null_mut()), 87);
    }
    assert_eq!(handle, untouched, "left as it was");
    let handles: Vec<Handle> = (0..5)
        .map(|_| {
            let mut handle = null_mut();
            // SAFETY: a GUID and a place for a handle.
            assert_eq!(unsafe { PerfStartProvider(&guid, None, &mut handle) }, 0, "any number of one GUID");
            // SAFETY: what a handle is the address of may be written.
            unsafe { handle.cast::<u64>().write(u64::MAX) };
            handle
        })
        .collect();
    for (at, handle) in handles.iter().enumerate() {
        assert!(!handles[..at].contains(handle));
        assert_eq!(PerfStopProvider(*handle), 0);
    }
    let mut again = null_mut();
    // SAFETY: as above.
    assert_eq!(unsafe { PerfStartProvider(&guid, None, &mut again) }, 0);
    assert!(!handles.contains(&again), "a handle is no other provider's later");
    assert_eq!(PerfStopProvider(again), 0);
    // everywhere.
    let set = new_guid();
    let name = utf16("a");
    let mut block = vec![0; 4096];
    for stale in [handles[0], again, null_mut(), 8 as Handle, usize::MAX as Handle] {
        assert_eq!(PerfStopProvider(stale), 87);
        let mut template = template(set, 2, &[FOUR]);
        // SAFETY: these bytes.
        assert_eq!(unsafe { PerfSetCounterSetInfo(stale, template.as_mut_ptr(), template.len() as u32) }, 87);
        // SAFETY: a GUID and a name.
        assert_eq!(answer(|| unsafe { PerfCreateInstance(stale, &set, name.as_ptr().cast(), 0) }), Err(87));
        // SAFETY: a GUID and a name.
        assert_eq!(answer(|| unsafe { PerfQueryInstance(stale, &set, name.as_ptr().cast(), 0) }), Err(87));
        let block = block.as_mut_ptr();
        assert_eq!(PerfDeleteInstance(stale, block), 87);
        // SAFETY: nowhere.
        assert_eq!(unsafe { PerfSetCounterRefValue(stale, block, 1, null_mut()) }, 87);
        for (_, call) in FOUR_BYTES {
            assert_eq!(call(stale, block, 1, 1), 87);
        }
        for (_, call) in EIGHT_BYTES {
            assert_eq!(call(stale, block, 1, 1), 87);
        }
    }
}

#[test]
fn contexts() {
    folder();
    let size = size_of::<ProviderContext>() as u32;
    assert_eq!(size as usize, 8 + 4 * size_of::<usize>());
    let (none, some) = (null(), 8 as *const c_void);
    for (name, size, alloc, free, want) in [
        ("no size", 0, none, none, 87),
        ("too small", size - 1, none, none, 87),
        ("as it is", size, none, none, 0),
        ("larger", size + 1, none, none, 0),
        ("much larger", u32::MAX, none, none, 0),
        ("both routines", size, some, some, 0),
        ("no routine to free, R-36", size, some, none, 87),
        ("no routine to allocate, R-36", size, none, some, 87),
    ] {
        let (guid, mut handle) = (new_guid(), null_mut());
        let context =
            ProviderContext { size, reserved: 7, callback: None, alloc, free, memory: 8 as *mut c_void };
        // SAFETY: a GUID, a context, and a place for a handle.
        assert_eq!(unsafe { PerfStartProviderEx(&guid, &context, &mut handle) }, want, "{name}");
        assert_eq!(handle.is_null(), want != 0, "{name}");
        if want == 0 {
            assert_eq!(PerfStopProvider(handle), 0);
        }
    }
    let (guid, mut handle) = (new_guid(), null_mut());
    // SAFETY: a GUID and a place for a handle.
    assert_eq!(unsafe { PerfStartProviderEx(&guid, null(), &mut handle) }, 0, "R-37");
    assert_eq!(PerfStopProvider(handle), 0);
}

/// Checks the offsets that PerfSetCounterSetInfo writes into the template of the worked example, at an odd address.
#[test]
fn a_template_is_given_its_offsets_and_nothing_else() {
    #[rustfmt::skip]
    let before = [
        0xdd, 0xaa, 0xee, 0xff,  0x23, 0xc9, 0x94, 0x47,  0xb6, 0x96, 0x70, 0x57,  0x76, 0x30, 0xb5, 0xcf,
        0xdd, 0xaa, 0xee, 0xff,  0x5a, 0x96, 0xf9, 0x4c,  0x9c, 0x07, 0xfe, 0x25,  0x37, 0x8c, 0x2a, 0x23,
        0x02, 0x00, 0x00, 0x00,  0x02, 0x00, 0x00, 0x00,  0x01, 0x00, 0x00, 0x00,  0x00, 0x00, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x04, 0x00, 0x00, 0x00,  0x64, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x02, 0x00, 0x00, 0x00,  0x00, 0x01, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x08, 0x00, 0x00, 0x00,  0x64, 0x00, 0x00, 0x00,
        0xfd, 0xff, 0xff, 0xff,  0x00, 0x00, 0x00, 0x00,
    ];
    let mut after = before;
    after[0x64] = 8;
    let provider = Provider::start();
    let mut odd = [&[0x55][..], &before, &[0x55; 40]].concat();
    assert_eq!(provider.set(&mut odd[1..][..104]), 0);
    assert_eq!(odd, [&[0x55][..], &after, &[0x55; 40]].concat());
    assert_eq!(provider.set(&mut odd[1..][..104]), 183, "this handle has it");
    assert_eq!(Provider::start().set(&mut odd[1..]), 0, "another has not; more bytes than needed");
    // A template that has them already is only read.
    // SAFETY: a page that is used only here; it stays mapped.
    let page = unsafe {
        let page = libc::mmap(null_mut(), 4096, 3, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        std::ptr::copy(after.as_ptr(), page.cast(), after.len());
        libc::mprotect(page, 4096, libc::PROT_READ);
        page
    };
    // SAFETY: these bytes.
    assert_eq!(unsafe { PerfSetCounterSetInfo(Provider::start().0, page.cast(), 104) }, 0);
    // And the instance of the other worked example.
    let guid = after[..16].try_into().unwrap();
    let block = provider.create(guid, "Inst1", 0).unwrap();
    assert_eq!(block.addr() % 64, 0);
    assert_eq!(PerfSetULongCounterValue(provider.0, block, 1, 7), 0);
    assert_eq!(PerfSetULongLongCounterValue(provider.0, block, 2, 9), 0);
    #[rustfmt::skip]
    assert_eq!(bytes(block, 64), [
        0xdd, 0xaa, 0xee, 0xff,  0x23, 0xc9, 0x94, 0x47,  0xb6, 0x96, 0x70, 0x57,  0x76, 0x30, 0xb5, 0xcf,
        0x40, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x30, 0x00, 0x00, 0x00,  0x0c, 0x00, 0x00, 0x00,
        0x07, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x09, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
        0x49, 0x00, 0x6e, 0x00,  0x73, 0x00, 0x74, 0x00,  0x31, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
    ]);
}

#[test]
fn templates() {
    let provider = Provider::start();
    let good = || template(new_guid(), 2, &[FOUR, EIGHT]);
    let with = |at: usize, value: u32| {
        let mut template = good();
        template[at..at + 4].copy_from_slice(&value.to_le_bytes());
        template
    };
    let many = |count: u32| {
        let counters: Vec<Counter> = (0..count).map(|id| Counter(id, RAWCOUNT, 0, 4)).collect();
        template(new_guid(), 0, &counters)
    };
    for (name, mut template, want) in [
        ("as it should be", good(), 0),
        ("more bytes", [good(), vec![7; 50]].concat(), 0),
        ("a byte too few", good()[..103].to_vec(), 87),
        ("half of its head", good()[..39].to_vec(), 87),
        ("no counters", with(32, 0), 87),
        ("more counters than there are", with(32, 3), 87),
        ("fewer counters than there are", with(32, 1), 0),
        ("counters without end", with(32, u32::MAX), 87),
        ("instance type 1", with(36, 1), 87),
        ("instance type 22", with(36, 22), 0),
        ("two of an id", with(72, 1), 87),
        ("a value of 16 bytes", with(56, 16), 87),
        ("8 bytes for a type of 4", with(56, 8), 0),
        ("32 bytes, by reference", template(new_guid(), 2, &[Counter(1, RAWCOUNT, BY_REFERENCE, 32)]), 0),
        ("all that there may be", many(65_536), 0),
        ("one more", many(65_537), 87),
    ] {
        let before = template.clone();
        assert_eq!(provider.set(&mut template), want, "{name}");
        assert_eq!(template == before, want != 0, "{name}: offsets are written if it is accepted");
    }
    // SAFETY: no template.
    assert_eq!(unsafe { PerfSetCounterSetInfo(provider.0, null_mut(), 104) }, 87);
}

#[test]
fn creating() {
    let provider = Provider::start();
    let multiple = provider.define(2, &[FOUR, EIGHT]);
    let single = provider.define(0, &[FOUR]);
    let aggregate = provider.define(4, &[FOUR]);
    let long = |len: usize| "x".repeat(len);
    for (name, set, instance, id, want) in [
        ("one", multiple, "a", 0, Ok(())),
        ("again", multiple, "a", 0, Err(183)),
        ("another id", multiple, "a", 1, Ok(())),
        ("another name", multiple, "b", 0, Ok(())),
        ("another case", multiple, "A", 0, Ok(())),
        ("no name", multiple, "", 0, Err(87)),
        ("another counterset", new_guid(), "a", 0, Err(1168)),
        ("no name, of another counterset", new_guid(), "", 0, Err(1168)),
        ("the longest name", multiple, &long(1023), 0, Ok(())),
        ("a longer one", multiple, &long(1024), 0, Err(87)),
        ("a longer one, of another counterset", new_guid(), &long(1024), 0, Err(87)),
        ("any name and id", single, "11", 1, Ok(())),
        ("the same", single, "11", 1, Err(87)),
        ("a second one", single, "12", 2, Err(87)),
        ("an aggregate's", aggregate, "GlobalAggregate", 0, Ok(())),
        ("an aggregate's without a name", aggregate, "", 0, Ok(())),
    ] {
        assert_eq!(provider.create(set, instance, id).map(|_| ()), want, "{name}");
    }
    let nothing = utf16("");
    let (set, name) = (new_guid(), nothing.as_ptr().cast());
    // SAFETY: null pointers, a GUID and a name.
    unsafe {
        assert_eq!(answer(|| PerfCreateInstance(provider.0, null(), name, 0)), Err(87));
        assert_eq!(answer(|| PerfCreateInstance(provider.0, &set, null(), 0)), Err(87), "before the look-up");
        assert_eq!(answer(|| PerfQueryInstance(provider.0, null(), name, 0)), Err(87));
        assert_eq!(answer(|| PerfQueryInstance(provider.0, &set, null(), 0)), Err(87));
    }
    let other = Provider::start();
    assert_eq!(other.create(multiple, "a", 0), Err(1168), "this handle does not define it");
    let mut names: Vec<_> = published_of(multiple).into_iter().map(|(name, id, _)| (name, id)).collect();
    names.sort();
    let mut wanted =
        [("A", 0), ("a", 0), ("a", 1), ("b", 0), (&*long(1023), 0)].map(|(a, b)| (a.to_owned(), b));
    wanted.sort();
    assert_eq!(names, wanted);
}

#[test]
fn finding_and_deleting() {
    let provider = Provider::start();
    let set = provider.define(2, &[FOUR]);
    let upper = provider.create(set, "Ärger", 5).unwrap();
    let lower = provider.create(set, "ärger", 5).unwrap();
    let other = provider.create(set, "Ärger", 6).unwrap();
    for (name, id, want) in [
        ("Ärger", 5, Ok(upper)),
        ("ärger", 5, Ok(lower)),
        ("ÄRGER", 5, Ok(upper)),
        ("ÄRGER", 6, Ok(other)),
        ("Ärger", 7, Err(1168)),
        ("*", 5, Err(1168)),
        ("", 5, Err(1168)),
        (&"x".repeat(3000), 5, Err(1168)),
    ] {
        assert_eq!(provider.query(set, name, id), want, "{name:.20} {id}");
    }
    assert_eq!(provider.query(new_guid(), "Ärger", 5), Err(1168));
    let stranger = Provider::start();
    assert_eq!(PerfDeleteInstance(stranger.0, upper), 87, "none of this handle's");
    assert_eq!(PerfDeleteInstance(provider.0, null_mut()), 87);
    assert_eq!(PerfDeleteInstance(provider.0, upper.wrapping_add(8)), 87);
    assert_eq!(PerfDeleteInstance(provider.0, upper), 0);
    assert_eq!(PerfDeleteInstance(provider.0, upper), 87);
    assert_eq!(PerfSetULongCounterValue(provider.0, upper, 1, 1), 87);
    assert_eq!((provider.query(set, "Ärger", 5), provider.query(set, "ärger", 5)), (Ok(lower), Ok(lower)));
    assert_eq!(published_of(set).len(), 2);
    // SAFETY: the memory stays mapped, and no instance uses it now.
    unsafe { upper.cast::<u64>().add(4).write_volatile(u64::MAX) };
    let again = provider.create(set, "Ärger", 5).unwrap();
    assert_eq!(values(again, 1), [0]);
    let file = published_of(set);
    assert_eq!(file.len(), 3);
    assert!(file.iter().all(|(_, _, values)| values == &[0]));
}

type OfFour = extern "system" fn(Handle, Block, u32, u32) -> u32;
type OfEight = extern "system" fn(Handle, Block, u32, u64) -> u32;

const FOUR_BYTES: [(&str, OfFour); 3] = [
    ("set", PerfSetULongCounterValue),
    ("increment", PerfIncrementULongCounterValue),
    ("decrement", PerfDecrementULongCounterValue),
];
const EIGHT_BYTES: [(&str, OfEight); 3] = [
    ("set", PerfSetULongLongCounterValue),
    ("increment", PerfIncrementULongLongCounterValue),
    ("decrement", PerfDecrementULongLongCounterValue),
];

#[test]
fn values_of_four_bytes_leave_the_others() {
    let provider = Provider::start();
    let set = provider.define(2, &[EIGHT, FOUR]);
    let block = provider.create(set, "a", 0).unwrap();
    let slot = block.cast::<u64>().wrapping_add(5);
    for (call, (name, function), from, value, want) in [
        (0, FOUR_BYTES[0], 0x1111_1111_2222_2222, 7, 0x1111_1111_0000_0007),
        (1, FOUR_BYTES[1], 0x1111_1111_FFFF_FFFF, 1, 0x1111_1111_0000_0000),
        (2, FOUR_BYTES[1], 0x1111_1111_FFFF_FFFE, 5, 0x1111_1111_0000_0003),
        (3, FOUR_BYTES[2], 0x1111_1111_0000_0000, 1, 0x1111_1111_FFFF_FFFF),
        (4, FOUR_BYTES[2], 0x1111_1111_0000_0009, 2, 0x1111_1111_0000_0007),
    ] {
        // SAFETY: the value of the second counter.
        unsafe { slot.write_volatile(from) };
        assert_eq!(function(provider.0, block, 1, value), 0, "{name} {call}");
        assert_eq!(values(block, 2), [0, want], "{name} {call}");
    }
    assert_eq!(published_of(set), [("a".into(), 0, values(block, 2))]);
}

#[test]
fn values_of_eight_bytes() {
    let provider = Provider::start();
    let set = provider.define(2, &[FOUR, EIGHT]);
    let block = provider.create(set, "a", 0).unwrap();
    for ((name, function), value, want) in [
        (EIGHT_BYTES[0], u64::MAX - 1, u64::MAX - 1),
        (EIGHT_BYTES[1], 5, 3),
        (EIGHT_BYTES[2], 4, u64::MAX),
        (EIGHT_BYTES[1], 1 << 40, (1 << 40) - 1),
    ] {
        assert_eq!(function(provider.0, block, 2, value), 0, "{name}");
        assert_eq!(values(block, 2), [0, want], "{name}");
    }
    assert_eq!(published_of(set), [("a".into(), 0, values(block, 2))]);
}

/// Checks the functions that change values, for each kind of counter and for unknown counters.
#[test]
fn each_function_has_its_counters() {
    let provider = Provider::start();
    let reference = |id, counter_type| Counter(id, counter_type, BY_REFERENCE | 2, 8);
    let text = 0x0B00;
    let counters = [
        FOUR,
        EIGHT,
        reference(3, RAWCOUNT),
        reference(4, LARGE_RAWCOUNT),
        Counter(5, AVERAGE_TIMER, 0, 8),
        Counter(6, text, 0, 8),
    ];
    let set = provider.define(2, &counters);
    let block = provider.create(set, "a", 0).unwrap();
    for (counter, four, eight, by_reference) in [
        (1, 0, 87, 87),
        (2, 87, 0, 87),
        (3, 87, 87, 0),
        (4, 87, 87, 0),
        (5, 0, 0, 87), // the bits say 4 bytes, and it has 8
        (6, 0, 0, 87),
        (7, 1168, 1168, 1168),
        (0, 1168, 1168, 1168),
        (u32::MAX, 1168, 1168, 1168),
    ] {
        for (name, call) in FOUR_BYTES {
            assert_eq!(call(provider.0, block, counter, 1), four, "{name} of {counter}");
        }
        for (name, call) in EIGHT_BYTES {
            assert_eq!(call(provider.0, block, counter, 1), eight, "{name} of {counter}");
        }
        static VALUE: u64 = 0;
        let address = (&raw const VALUE).cast_mut().cast();
        // SAFETY: it may be read for ever.
        let code = unsafe { PerfSetCounterRefValue(provider.0, block, counter, address) };
        assert_eq!(code, by_reference, "reference of {counter}");
        if code == 0 {
            assert_eq!(values(block, 6)[counter as usize - 1], address.addr() as u64);
        }
        assert_eq!(PerfSetULongCounterValue(provider.0, null_mut(), counter, 1), 87);
        assert_eq!(PerfSetULongCounterValue(null_mut(), block, counter, 1), 87);
    }
}

#[test]
fn threads_lose_nothing() {
    const EACH: u32 = 20_000;
    let provider = Provider::start();
    let set = provider.define(2, &[FOUR, EIGHT]);
    let block = provider.create(set, "a", 0).unwrap();
    let (handle, address) = (provider.0.addr(), block.addr());
    std::thread::scope(|scope| {
        for n in 1..=4_u32 {
            scope.spawn(move || {
                let (handle, block) = (handle as Handle, address as Block);
                for _ in 0..EACH {
                    assert_eq!(PerfIncrementULongCounterValue(handle, block, 1, 2 * n), 0);
                    assert_eq!(PerfDecrementULongCounterValue(handle, block, 1, n), 0);
                    assert_eq!(PerfIncrementULongLongCounterValue(handle, block, 2, n.into()), 0);
                }
            });
        }
    });
    let sum = u64::from(10 * EACH);
    assert_eq!(values(block, 2), [sum, sum]);
}

#[test]
fn a_stopped_provider_leaves_nothing() {
    let provider = Provider::with(Some(count_calls));
    let set = provider.define(2, &[FOUR]);
    let block = provider.create(set, "a", 0).unwrap();
    let socket = socket_of(set);
    let file = socket.with_extension("pfs");
    assert!(file.exists() && published_of(set).len() == 1);
    drop(provider);
    assert!(!file.exists() && !socket.exists());
    // SAFETY: the memory stays.
    unsafe { block.cast::<u64>().add(4).write_volatile(7) };
}

/// Checks that a program with 4-byte text finds its own name in the instance's block.
#[test]
fn names_in_utf32() {
    let provider = Provider::start();
    let set = provider.define(2, &[FOUR, EIGHT]);
    for (n, name) in ["a", "é\u{1F600}z", &"x".repeat(1023), &"\u{1F600}".repeat(511)].into_iter().enumerate()
    {
        let wide = utf32(name);
        let id = n as u32;
        // SAFETY: a GUID, and a name with its NUL.
        let block =
            answer(|| unsafe { PerfCreateInstance_utf32(provider.0, &set, wide.as_ptr().cast(), id) });
        let block = block.unwrap();
        let head: Vec<u32> =
            bytes(block, 32)[16..].chunks(4).map(|n| u32::from_le_bytes(n.try_into().unwrap())).collect();
        let [size, found_id, at, len] = head[..] else { panic!() };
        assert_eq!((found_id, len as usize), (id, 4 * wide.len()));
        assert!(at + len <= size && size % 8 == 0 && at % 4 == 0);
        let found: Vec<u8> = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        assert_eq!(bytes(block, size as usize)[at as usize..][..len as usize], found);
        assert_eq!(provider.query(set, name, id), Ok(block), "the same instance, whatever the text");
        // SAFETY: as above.
        let again = answer(|| unsafe { PerfQueryInstance_utf32(provider.0, &set, wide.as_ptr().cast(), id) });
        assert_eq!(again, Ok(block));
        assert_eq!(provider.create(set, name, id), Err(183));
        assert!(published_of(set).contains(&(name.to_owned(), id, vec![0, 0])));
    }
    let (long, no_character) = (utf32(&"\u{1F600}".repeat(512)), [0x11_0000, 0]);
    for (name, units, query) in [("1,024 units", &long[..], 1168), ("no character", &no_character, 1168)] {
        let units = units.as_ptr().cast();
        // SAFETY: a GUID, and units with their NUL.
        let created = answer(|| unsafe { PerfCreateInstance_utf32(provider.0, &set, units, 0) });
        // SAFETY: as above.
        let found = answer(|| unsafe { PerfQueryInstance_utf32(provider.0, &set, units, 0) });
        assert_eq!((created, found), (Err(87), Err(query)), "{name}");
    }
}

#[test]
fn values_by_reference() {
    let provider = Provider::start();
    let reference = |id, counter_type| Counter(id, counter_type, BY_REFERENCE, 8);
    let set = provider.define(2, &[reference(3, RAWCOUNT), FOUR, reference(9, LARGE_RAWCOUNT)]);
    let other_set = provider.define(2, &[reference(1, RAWCOUNT)]);
    let (a, b) = (provider.create(set, "a", 5).unwrap(), provider.create(set, "b", 6).unwrap());
    provider.create(other_set, "a", 5).unwrap();
    let small = Box::leak(Box::new(0x1122_3344_u32));
    let large: &'static mut [u8] = Box::leak(vec![0; 9].into_boxed_slice());
    large[1..].copy_from_slice(&0x1020_3040_5060_7080_u64.to_le_bytes());
    let point = |block, counter, address: *mut c_void| {
        // SAFETY: it is leaked.
        assert_eq!(unsafe { PerfSetCounterRefValue(provider.0, block, counter, address) }, 0);
    };
    point(a, 3, (&raw mut *small).cast());
    point(b, 9, (&raw mut large[1]).cast());
    let found = published();
    let sequence = |name: &str, id| found[&(set, name.to_owned(), id)].0;
    let (of_a, of_b) = (sequence("a", 5), sequence("b", 6));
    let socket = socket_of(set);
    let ask = |set, counter, id, name| {
        let counter = if counter == 0 { CounterFilter::All } else { CounterFilter::One(CounterId(counter)) };
        let id = if id == 0 { InstanceIdFilter::Any } else { InstanceIdFilter::One(InstanceId(id)) };
        let answer = asked(&socket, RequestCode::Values, &identity(set, counter, id, name));
        let mut values: Vec<_> =
            answer.values.iter().map(|value| (value.sequence, value.counter.0, value.value)).collect();
        values.sort_by_key(|(sequence, counter, _)| (*sequence, *counter));
        (answer.status.0, values)
    };
    let (four, eight) = (Some(RawValue::U32(0x1122_3344)), Some(RawValue::U64(0x1020_3040_5060_7080)));
    let all = vec![(of_a, 3, four), (of_a, 9, None), (of_b, 3, None), (of_b, 9, eight)];
    assert_eq!(ask(set, 0, 0, None), (0, all.clone()));
    assert_eq!(ask(set, 0, 0, Some("*")), (0, all));
    assert_eq!(ask(set, 9, 0, None), (0, vec![(of_a, 9, None), (of_b, 9, eight)]));
    assert_eq!(ask(set, 3, 5, Some("A")), (0, vec![(of_a, 3, four)]));
    for (counter, id, name) in [(1, 0, None), (77, 0, None), (0, 6, Some("a")), (0, 0, Some("c*"))] {
        assert_eq!(ask(set, counter, id, name), (0, vec![]), "{counter} {id} {name:?}");
    }
    assert_eq!(ask(new_guid(), 0, 0, None), (4200, vec![]));
    *small = 5;
    point(b, 9, null_mut());
    assert_eq!(ask(set, 3, 5, None), (0, vec![(of_a, 3, Some(RawValue::U32(5)))]));
    assert_eq!(ask(set, 9, 6, None), (0, vec![(of_b, 9, None)]));
    assert_eq!(
        asked(&socket, RequestCode::CollectStart, &[b'H', 0, 0, 0]),
        CallbackReply::from(Status(0)),
        "no callback"
    );
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" fn count_calls(_: u32, _: *mut c_void, _: u32) -> u32 {
    CALLS.fetch_add(1, Relaxed);
    0
}

static HEARD: Mutex<Vec<(u32, Vec<u8>)>> = Mutex::new(Vec::new());

/// Control callback that keeps its arguments, overwrites the buffer, and returns another code each time.
unsafe extern "C-unwind" fn hear(code: u32, buffer: *mut c_void, size: u32) -> u32 {
    assert_eq!(buffer.addr() % 8, 0);
    // SAFETY: a buffer of `size` bytes, which may also be written.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size as usize) };
    HEARD.lock().unwrap().push((code, bytes.to_vec()));
    bytes.fill(0xEE);
    4200 + code
}

#[test]
fn callbacks_are_told_in_the_programs_text() {
    /// Counter identity (PERF_COUNTER_IDENTITY) of the worked example, with UTF-16 text.
    #[rustfmt::skip]
    const ENTRY: [u8; 56] = [
        0xdd, 0xaa, 0xee, 0xff,  0x23, 0xc9, 0x94, 0x47,  0xb6, 0x96, 0x70, 0x57,  0x76, 0x30, 0xb5, 0xcf,
        0x38, 0x00, 0x00, 0x00,  0x01, 0x00, 0x00, 0x00,  0xff, 0xff, 0xff, 0xff,  0x28, 0x00, 0x00, 0x00,
        0x34, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x48, 0x00, 0x4f, 0x00,  0x53, 0x00, 0x54, 0x00,
        0x31, 0x00, 0x00, 0x00,  0x2a, 0x00, 0x00, 0x00,
    ];
    #[rustfmt::skip]
    const ENTRY_UTF32: [u8; 72] = [
        0xdd, 0xaa, 0xee, 0xff,  0x23, 0xc9, 0x94, 0x47,  0xb6, 0x96, 0x70, 0x57,  0x76, 0x30, 0xb5, 0xcf,
        0x48, 0x00, 0x00, 0x00,  0x01, 0x00, 0x00, 0x00,  0xff, 0xff, 0xff, 0xff,  0x28, 0x00, 0x00, 0x00,
        0x40, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  b'H', 0, 0, 0, b'O', 0, 0, 0, b'S', 0, 0, 0, b'T', 0, 0, 0,
        b'1', 0, 0, 0, 0, 0, 0, 0, b'*', 0, 0, 0, 0, 0, 0, 0,
    ];
    let machine: Vec<u8> = utf16("HOST1").iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let machine_utf32: Vec<u8> = utf32("HOST1").iter().flat_map(|unit| unit.to_le_bytes()).collect();
    type Start = unsafe extern "system" fn(*const [u8; 16], *const ProviderContext, *mut Handle) -> u32;
    let starts: [(Start, &[u8], &[u8]); 2] =
        [(PerfStartProviderEx, &ENTRY, &machine), (PerfStartProviderEx_utf32, &ENTRY_UTF32, &machine_utf32)];
    folder();
    for (start, entry, node) in starts {
        let (guid, mut handle) = (new_guid(), null_mut());
        let size = size_of::<ProviderContext>() as u32;
        let context = ProviderContext {
            size,
            reserved: 0,
            callback: Some(hear),
            alloc: null(),
            free: null(),
            memory: null_mut(),
        };
        // SAFETY: a GUID, a context and a place for the handle.
        assert_eq!(unsafe { start(&guid, &context, &mut handle) }, 0);
        let provider = Provider(handle);
        let set = provider.define(2, &[FOUR]);
        provider.create(set, "a", 0).unwrap();
        let socket = socket_of(set);
        for (code, what) in [
            (1, RequestCode::AddCounter),
            (2, RequestCode::RemoveCounter),
            (3, RequestCode::EnumInstances),
            (5, RequestCode::CollectStart),
            (6, RequestCode::CollectEnd),
        ] {
            let (about, told) = if code < 3 { (&ENTRY[..], entry) } else { (&machine[..], node) };
            assert_eq!(asked(&socket, what, about), CallbackReply::from(Status(4200 + code)));
            let (heard, buffer) = HEARD.lock().unwrap().pop().unwrap();
            assert_eq!(heard, code);
            let size = (48 + told.len() as u32).to_le_bytes();
            let header = [&size[..], &[0; 20], &guid, &[0; 8]].concat();
            assert_eq!(buffer, [&header, told].concat(), "R-44, {what:?}");
        }
        assert!(HEARD.lock().unwrap().is_empty());
        assert_eq!(
            asked(
                &socket,
                RequestCode::Values,
                &identity(set, CounterFilter::All, InstanceIdFilter::Any, None)
            )
            .status
            .0,
            0
        );
        assert!(HEARD.lock().unwrap().is_empty(), "values are not its affair");
    }
}

static PROVIDING: OnceLock<(usize, [u8; 16])> = OnceLock::new();

/// Control callback that creates an instance when instances are listed, and stops its own provider at a collection.
unsafe extern "C-unwind" fn provide(code: u32, _: *mut c_void, _: u32) -> u32 {
    let (handle, set) = PROVIDING.get().unwrap();
    let (handle, name) = (*handle as Handle, utf16("made in time"));
    if code == 3 {
        // SAFETY: a GUID and a name.
        let block = unsafe { PerfCreateInstance(handle, set, name.as_ptr().cast(), 0) };
        return PerfIncrementULongCounterValue(handle, block, 1, 17);
    }
    PerfStopProvider(handle)
}

#[test]
fn callbacks_may_do_anything() {
    let provider = std::mem::ManuallyDrop::new(Provider::with(Some(provide)));
    let set = provider.define(2, &[FOUR]);
    PROVIDING.set((provider.0.addr(), set)).unwrap();
    let socket = socket_of(set);
    assert_eq!(asked(&socket, RequestCode::EnumInstances, &[b'H', 0, 0, 0]), CallbackReply::from(Status(0)));
    assert_eq!(published_of(set), [("made in time".to_owned(), 0, vec![17])]);
    assert_eq!(
        asked(&socket, RequestCode::CollectStart, &[b'H', 0, 0, 0]),
        CallbackReply::from(Status(0)),
        "its last one"
    );
    assert_eq!(PerfStopProvider(provider.0), 87);
    assert!(!socket.exists());
}

/// Checks that 3,000 instances of one provider are published, each with its own values.
#[test]
fn counters_by_thousands() {
    let provider = Provider::start();
    let set = provider.define(2, &[FOUR, EIGHT]);
    let blocks: Vec<Block> =
        (0..3000).map(|n| provider.create(set, &format!("instance {n}"), n).unwrap()).collect();
    for (n, block) in blocks.iter().enumerate() {
        assert_eq!(block.addr() % 64, 0);
        assert_eq!(PerfSetULongCounterValue(provider.0, *block, 1, 3 * n as u32), 0);
        assert_eq!(PerfSetULongLongCounterValue(provider.0, *block, 2, 5 * n as u64), 0);
    }
    let found = published_of(set);
    assert_eq!(found.len(), 3000);
    for (name, id, values) in found {
        assert_eq!((name, values), (format!("instance {id}"), vec![3 * u64::from(id), 5 * u64::from(id)]));
    }
}
