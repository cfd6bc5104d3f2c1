//! Tests of invalid publishers' files, and of directory entries that are not files.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use perfset_core::{Counterset as Set, Guid};
use perfset_derive::Counterset;
use perfset_engine::{Machine, Provider};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Bystander, Forged, complaints, get_word, own_user, set_word, with_word};
use crate::definition::encode;
use crate::folder::Folders;
use crate::layout::{MAGIC, WORD, entry, header};
use crate::memory::store_bytes;
use crate::publish::file::File;
use crate::publish::{Counter64, Counterset, Gauge, Publisher};
use crate::read::ApplicationProvider;
use crate::tests::{Place, query, raw};

#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Forged", instances = "multiple", stripes = 1)]
pub(super) struct Victim {
    #[counter(name = "Events/sec")]
    events: Counter64,
    #[counter(name = "Level")]
    level: Gauge,
}

const NAME: &str = "1-forged.pfs";

/// Returns the bytes of a file as a publisher leaves it: a definition, and a segment with three instances.
pub fn genuine() -> Vec<u8> {
    let place = Place::new(&format!("genuine-{:?}", std::thread::current().id()));
    let publisher = place.publisher();
    let all = ["a", "b", "c"].map(|name| publisher.instance::<Victim>(name));
    for (n, instance) in (1..).zip(&all) {
        instance.events.add(n);
        instance.level.set(10 * n);
    }
    std::fs::read(publisher.path().unwrap()).unwrap()
}

/// Returns the GUID of the counterset in the genuine file.
pub fn victim() -> Guid {
    Victim::GUID
}

/// Returns the rows that a reader finds in the genuine or changed file.
fn rows(machine: &Machine) -> Vec<(String, u32, Option<u64>)> {
    if machine.counterset(&Victim::GUID).is_err() {
        return Vec::new();
    }
    raw(&mut query(machine, Victim::GUID))
}

fn expected(prefix: &str) -> Vec<(String, u32, Option<u64>)> {
    let row = |(name, n): (&str, u64)| {
        let name = format!("{prefix}{name}");
        [(name.clone(), 1, Some(n)), (name, 2, Some(10 * n))]
    };
    [("a", 1), ("b", 2), ("c", 3)].into_iter().flat_map(row).collect()
}

/// Returns the word offset of a word in an entry of the segment table.
fn in_table(number: usize, at: usize) -> usize {
    header::TABLE + number * entry::WORDS + at
}

/// Returns the word offset of the segment with the instances in a file.
fn segment(bytes: &[u8]) -> usize {
    usize::try_from(get_word(bytes, in_table(1, entry::AT))).unwrap() / WORD
}

type Forge = fn(&Path, &str, &[u8]) -> Forged;

/// Access methods for a forged file: mapped and copied.
const WAYS: [(Forge, bool); 2] = [(Forged::mapped, false), (Forged::copied, true)];

#[test]
fn an_unchanged_copy_is_read() {
    let bytes = genuine();
    for (forge, is_copied) in WAYS {
        let place = Place::new("unchanged");
        let _forged = forge(place.path(), NAME, &bytes);
        let prefix = if is_copied { own_user() } else { String::new() };
        assert_eq!(rows(&place.machine()), expected(&prefix));
        assert!(complaints(&mut place.applications()).is_empty());
    }
}

/// Checks that any changed byte of a publisher's file affects that file alone.
#[test]
fn every_byte_is_flipped() {
    let bytes = genuine();
    let segment_at = segment(&bytes) * WORD;
    // All bytes that are not zero, and a selection of the zeros.
    let places: Vec<usize> =
        (0..bytes.len().min(segment_at + 8192)).filter(|at| bytes[*at] != 0 || at % 509 == 0).collect();
    assert!(places.len() > 300, "{}", places.len());
    for (forge, _) in WAYS {
        let place = Place::new("flipped");
        let _bystander = Bystander::new(&place);
        let forged = forge(place.path(), NAME, &bytes);
        let before = place.machine(); // has it open while it changes
        for at in &places {
            let flip = [0x01, 0x80, 0xFF, 0x10][at % 4];
            forged.patch(*at, &[bytes[*at] ^ flip]);
            for machine in [&before, &place.machine()] {
                let _ = rows(machine);
                Bystander::is_unharmed(machine, (at, flip));
            }
            forged.patch(*at, &bytes[*at..=*at]);
        }
        assert_eq!(rows(&place.machine()).len(), 6, "it is as it was");
        Bystander::is_unharmed(&before, "all that");
    }
}

#[test]
fn every_prefix() {
    let bytes = genuine();
    let lens = (0..1024).step_by(7).chain((1024..bytes.len()).step_by(499)).chain([8191, 8192, 8193, 12288]);
    let place = Place::new("prefix");
    let _bystander = Bystander::new(&place);
    for len in lens {
        for (forge, _) in WAYS {
            let _forged = forge(place.path(), NAME, &bytes[..len]);
            let machine = place.machine();
            assert!(rows(&machine).is_empty(), "{len} bytes of {}", bytes.len());
            Bystander::is_unharmed(&machine, len);
            assert_eq!(complaints(&mut place.applications()).len(), 1, "{len} bytes of {}", bytes.len());
        }
    }
}

/// Checks invalid file headers, each with the expected problem. `None`: no problem is reported, because the publisher
/// has exited.
#[test]
fn headers_that_lie() {
    let bytes = genuine();
    let own = |at: usize| get_word(&bytes, at);
    let version = u64::from_ne_bytes(MAGIC.to_ne_bytes().map(|byte| if byte == 1 { 2 } else { byte }));
    let cases: [(&str, usize, u64, Option<&str>); 13] = [
        ("other byte order", header::MAGIC, MAGIC.swap_bytes(), Some("other byte order")),
        ("other version", header::MAGIC, version, Some("another version")),
        ("something else", header::MAGIC, 7, Some("does not begin with PERFSET")),
        ("other header", header::LEN, 4096, Some("header has another length")),
        ("boot of another time", header::BOOT_ID, own(header::BOOT_ID) ^ 1, None),
        (
            "no such process",
            header::PID,
            0x7FFF_FFFF,
            Some("has exited, but a process that it forked holds its lock"),
        ),
        ("no process at all", header::PID, u64::MAX, Some("has exited, but a process that it forked")),
        (
            "another process",
            header::PID,
            std::os::unix::process::parent_id().into(),
            Some("has exited, but a process"),
        ),
        (
            "younger",
            header::START_TIME,
            own(header::START_TIME) + 1,
            Some("has exited, but a process that it forked"),
        ),
        ("more than is there", header::COMMITTED, 1 << 20, Some("the header claims 1048576 bytes")),
        ("too much", header::COMMITTED, u64::MAX, Some("more than")),
        ("less than a header", header::COMMITTED, 4096, Some("the header claims 4096 bytes")),
        ("nothing", header::COMMITTED, 0, Some("the header claims 0 bytes")),
    ];
    for (case, at, value, says) in cases {
        for (forge, _) in WAYS {
            let place = Place::new("headers");
            let _bystander = Bystander::new(&place);
            let _forged = forge(place.path(), NAME, &with_word(&bytes, at, value));
            let machine = place.machine();
            assert!(rows(&machine).is_empty(), "{case}");
            Bystander::is_unharmed(&machine, case);
            let complaints = complaints(&mut place.applications());
            match says {
                None => assert!(complaints.is_empty(), "{case}: {complaints:?}"),
                Some(says) => {
                    assert!(complaints.len() == 1 && complaints[0].contains(says), "{case}: {complaints:?}");
                }
            }
        }
    }
    // The program's name is only shown to users, and has no other effect.
    let place = Place::new("program-name");
    let _forged = Forged::mapped(place.path(), NAME, &with_word(&bytes, header::PROGRAM_LEN, u64::MAX));
    assert_eq!(rows(&place.machine()), expected(""));
}

#[test]
fn tables_that_lie() {
    let bytes = genuine();
    let [definition, instances] = [0, 1].map(|number| move |at| in_table(number, at));
    let head = segment(&bytes);
    let len = get_word(&bytes, instances(entry::LEN));
    let cases: [(&str, usize, u64, &str); 17] = [
        ("before the header's end", definition(entry::AT), 4096, "the offset is 4096"),
        ("no page", definition(entry::AT), 8200, "the offset is 8200"),
        ("behind the end", instances(entry::AT), 1 << 40, "the offset is"),
        ("in another segment", instances(entry::AT), 8192, "the offset is 8192"),
        ("length of nothing", instances(entry::LEN), 0, "the length is 0"),
        ("no whole page", instances(entry::LEN), len - 8, "the length is"),
        ("longer than the file", instances(entry::LEN), len + 4096, "the length is"),
        ("any length", instances(entry::LEN), !4095, "the length is"),
        ("of a later version", instances(entry::KIND), 3, "the kind is 3"),
        ("a definition that is none", instances(entry::KIND), 1, "table entry 1"),
        ("instances of themselves", instances(entry::COUNTERSET), 1, "the counterset index is 1"),
        ("instances of what is not there", instances(entry::COUNTERSET), 127, "the counterset index is 127"),
        ("instances of what cannot be", instances(entry::COUNTERSET), 128, "the counterset index is 128"),
        ("more slots", head, 1 << 32, "slots is"),
        ("other counters", head + 1, 1, "the number of counters is 1"),
        ("a stride that overlaps", head + 2, 8, "stride is 8"),
        ("any stride", head + 2, !63, "stride is"),
    ];
    for (case, at, value, says) in cases {
        for (forge, _) in WAYS {
            let place = Place::new("tables");
            let _bystander = Bystander::new(&place);
            let _forged = forge(place.path(), NAME, &with_word(&bytes, at, value));
            let machine = place.machine();
            assert!(rows(&machine).iter().all(|(.., value)| value.is_none()), "{case}");
            Bystander::is_unharmed(&machine, case);
            let complaints = complaints(&mut place.applications());
            assert!(complaints.iter().any(|what| what.contains(says)), "{case}: {complaints:?}");
        }
    }
}

/// Checks a file with the maximum number of segments, all overlapping: reading them all would cost as much as a file
/// 128 times as long.
#[test]
fn segments_that_overlap_are_read_once() {
    let mut bytes = genuine();
    let words: [u64; entry::WORDS] = std::array::from_fn(|at| get_word(&bytes, in_table(1, at)));
    for number in 2..header::TABLE_MAX {
        for (at, word) in words.into_iter().enumerate() {
            set_word(&mut bytes, in_table(number, at), word);
        }
    }
    set_word(&mut bytes, header::SEGMENTS, u64::MAX);
    for (forge, is_copied) in WAYS {
        let place = Place::new("overlap");
        let _forged = forge(place.path(), NAME, &bytes);
        let prefix = if is_copied { own_user() } else { String::new() };
        let machine = place.machine();
        assert_eq!(rows(&machine), expected(&prefix));
    }
}

/// Checks instance blocks with numbers chosen by a hostile owner: only that instance is left out.
#[test]
fn blocks_that_lie() {
    let bytes = genuine();
    let shape = crate::layout::SegmentLayout::parse(
        std::array::from_fn(|at| get_word(&bytes, segment(&bytes) + at)),
        usize::try_from(get_word(&bytes, in_table(1, entry::LEN))).unwrap(),
    )
    .unwrap();
    let block = (segment(&bytes) + shape.block(1).start) * WORD;
    let sequence = (segment(&bytes) + shape.sequence(1)) * WORD;
    let cases: [(&str, usize, u64); 3] = [
        ("another GUID", block, 7),
        ("not there", sequence, 0),
        ("going", sequence, get_word(&bytes, sequence / WORD) | 1),
    ];
    for (case, at, value) in cases {
        for (forge, is_copied) in WAYS {
            let place = Place::new("blocks");
            let _forged = forge(place.path(), NAME, &with_word(&bytes, at / WORD, value));
            let prefix = if is_copied { own_user() } else { String::new() };
            let mut others = expected(&prefix);
            others.retain(|(name, ..)| !name.ends_with('b'));
            assert_eq!(rows(&place.machine()), others, "{case}");
        }
    }
}

#[test]
fn non_regular_files_are_reported() {
    let bytes = genuine();
    let place = Place::new("no-file");
    let _bystander = Bystander::new(&place);
    let at = |name: &str| place.path().join(name);
    std::fs::create_dir(at("folder.pfs")).unwrap();
    symlink("/dev/zero", at("device.pfs")).unwrap();
    symlink("nowhere", at("nowhere.pfs")).unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, at("fifo.pfs"), FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.pfs")).unwrap();
    let _linked = Forged::mapped(place.path(), "linked.pfs", &bytes);
    std::fs::hard_link(at("linked.pfs"), at("another name")).unwrap();
    let forged = Forged::mapped(place.path(), "genuine.pfs", &bytes);
    symlink(&forged.path, at("link.pfs")).unwrap();
    std::fs::rename(&forged.path, at("of another name")).unwrap();

    let machine = place.machine();
    assert!(rows(&machine).is_empty());
    Bystander::is_unharmed(&machine, "what is no file");
    let complaints = complaints(&mut place.applications());
    let says = |name: &str, what: &str| {
        let found = complaints.iter().find(|complaint| complaint.contains(name));
        assert!(found.is_some_and(|found| found.contains(what)), "{name}: {complaints:?}");
    };
    says("folder.pfs", "the path is a directory");
    says("fifo.pfs", "the path is not a regular file");
    says("socket.pfs", "cannot be opened");
    says("device.pfs", "cannot be opened");
    says("nowhere.pfs", "cannot be opened");
    says("/link.pfs", "cannot be opened");
    says("linked.pfs", "the file has other names, so it is not read: `find -xdev -inum ");
    std::fs::remove_file(at("of another name")).unwrap();
}

/// Checks a sparse file of the maximum length of the file system, empty or with a header that claims this length.
#[test]
fn holes() {
    let bytes = genuine();
    let place = Place::new("holes");
    let _bystander = Bystander::new(&place);
    let sparse = Forged::mapped(place.path(), "1-sparse.pfs", &[]);
    let longest = (30..=50).rev().map(|bits| 1_u64 << bits).find(|len| sparse.file.set_len(*len).is_ok());
    let len = longest.unwrap();
    let believed = with_word(&bytes, header::COMMITTED, 1 << 29);
    let believing = Forged::mapped(place.path(), "2-believing.pfs", &believed);
    believing.file.set_len(len).unwrap();
    let copied = Forged::copied(place.path(), "3-copied.pfs", &with_word(&bytes, header::COMMITTED, 1 << 25));
    copied.file.set_len(len).unwrap();
    let machine = place.machine();
    assert!(rows(&machine).is_empty());
    Bystander::is_unharmed(&machine, "holes");
    let complaints = complaints(&mut place.applications());
    assert!(complaints[0].contains("does not begin with PERFSET"), "{complaints:?}");
    assert!(complaints[1].contains("the header claims 536870912 bytes, but the file has"), "{complaints:?}");
    assert!(complaints[2].contains("the header claims 33554432 bytes, but the file has"), "{complaints:?}");
}

#[test]
fn more_files_than_are_looked_at() {
    let place = Place::new("many-files");
    for n in 0..4200 {
        std::fs::write(place.path().join(format!("{n}.pfs")), "").unwrap();
    }
    let complaints = complaints(&mut place.applications());
    assert_eq!(complaints.len(), 1, "dead ones are not spoken of: {complaints:?}");
    assert!(complaints[0].ends_with("the directory has more files than are read"), "{complaints:?}");
}

/// Checks that files of other users are found even if one user leaves very many files.
#[test]
fn a_stranger_fills_the_folder() {
    if rustix::process::geteuid().as_raw() != 0 {
        return; // only root can make files of others
    }
    let place = Place::new("filled");
    let leave = |n: usize| {
        let path = place.path().join(format!("{n}.pfs"));
        std::fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
    };
    (0..4200).for_each(leave);
    let _bystander = Bystander::new(&place);
    let machine = place.machine();
    Bystander::is_unharmed(&machine, "4200 files");
    let of_another = Forged::mapped(place.path(), NAME, &genuine());
    std::os::unix::fs::chown(&of_another.path, Some(65_533), None).unwrap();
    (4200..8400).for_each(leave);
    Bystander::is_unharmed(&machine, "8400 files");
    Bystander::is_unharmed(&place.machine(), "8400 files");
    assert_eq!(rows(&place.machine()), expected("65533/"), "another user's");
}

/// Checks that, whatever happens to an open publisher's file, its faults do not accumulate in memory.
#[test]
fn faults_are_not_collected() {
    let bytes = genuine();
    for (forge, _) in WAYS {
        let place = Place::new("collected");
        let forged = forge(place.path(), NAME, &bytes);
        let mut applications = place.applications();
        assert!(complaints(&mut applications).is_empty());
        for change in 0..5_u64 {
            forged.patch(header::COMMITTED * WORD, &u64::MAX.to_ne_bytes());
            forged.patch(header::SEGMENTS * WORD, &(100 + change).to_ne_bytes());
            forged.patch(header::CHANGE * WORD, &(1000 + 2 * change).to_ne_bytes());
            assert_eq!(complaints(&mut applications).len(), 1, "after {change} changes");
        }
        forged.patch(0, &bytes[..header::BYTES]);
        assert!(complaints(&mut applications).is_empty(), "it is well again");
    }
}

/// Checks that a growing segment table is read completely, or in its previous state.
#[test]
fn segments_that_come_while_the_table_is_read() {
    const SETS: u128 = 100;
    for round in 0..10 {
        let place = Place::new("growing");
        let mut applications = place.applications();
        let file = File::in_folder(place.path()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=SETS {
                    let guid = Guid::from_u128(n);
                    let mut set = definition();
                    (set.guid, set.name) = (guid, format!("Test {n}").into());
                    let bytes = encode(&set);
                    let fill = |words: &[AtomicU64]| {
                        words[0].store(u64::try_from(bytes.len()).unwrap(), Relaxed);
                        store_bytes(&words[1..], bytes.iter().copied());
                    };
                    file.grow(4096, entry::DEFINITION, 0, fill).unwrap();
                }
            });
            let start = Instant::now();
            while applications.catalogue().unwrap().countersets.len() < 100 {
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "{round}: {:?}",
                    complaints(&mut applications)
                );
            }
        });
        assert!(complaints(&mut applications).is_empty());
    }
}

fn definition() -> Set {
    Set::clone(Victim::definition().counterset())
}

/// Changes a publisher's file again and again while a reader reads it.
fn while_it_changes(test: &str, bytes: &[u8], is_copied: bool, change: impl Fn(&Forged, u64) + Sync) {
    const COLLECTIONS: usize = 40;
    let place = Place::new(test);
    let _bystander = Bystander::new(&place);
    let forge = if is_copied { Forged::copied } else { Forged::mapped };
    let forged = forge(place.path(), NAME, bytes);
    let machine = place.machine();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if stop.load(Relaxed) {
                    break;
                }
                change(&forged, n);
            }
        });
        let start = Instant::now();
        for n in 0..COLLECTIONS {
            for machine in [&machine, &place.machine()] {
                let _ = rows(machine);
                Bystander::is_unharmed(machine, n);
            }
            assert!(start.elapsed() < Duration::from_secs(60), "it takes for ever");
        }
        stop.store(true, Relaxed);
    });
}

#[test]
fn a_change_word_that_never_rests() {
    for is_copied in [false, true] {
        while_it_changes("restless", &genuine(), is_copied, |forged, n| {
            forged.patch(header::CHANGE * WORD, &n.to_ne_bytes());
            forged.patch(header::SEGMENTS * WORD, &(n % 200).to_ne_bytes());
        });
    }
}

#[test]
fn sequence_words_that_never_rest() {
    let bytes = genuine();
    let at = (segment(&bytes) + crate::layout::SegmentLayout::HEAD) * WORD;
    for is_copied in [false, true] {
        while_it_changes("sequences", &bytes, is_copied, |forged, n| {
            forged.patch(at, &[n, n + 1, n + 2].map(u64::to_ne_bytes).concat());
            forged.patch(header::CHANGE * WORD, &n.to_ne_bytes());
        });
    }
}

/// Checks a file that is truncated, refilled and overwritten with noise under the reader.
#[test]
fn a_file_is_cut_and_filled_with_noise() {
    for is_copied in [false, true] {
        cut_and_filled_with_noise(is_copied);
    }
}

fn cut_and_filled_with_noise(is_copied: bool) {
    let bytes = genuine();
    while_it_changes("cut", &bytes, is_copied, |forged, n| {
        forged.file.set_len([0, 4096, 8192, 12_288, 20_000][usize::try_from(n % 5).unwrap()]).unwrap();
        forged.patch(0, &bytes);
    });
    while_it_changes("noise", &bytes, is_copied, |forged, n| {
        let mut random = super::Random(n + 1);
        let noise: Vec<u8> = (0..4096).flat_map(|_| random.next().to_ne_bytes()).collect();
        forged.patch(usize::try_from(random.below(70_000)).unwrap(), &noise);
        forged.patch(0, &bytes[..8192]);
    });
}

/// Checks the file limit of another user, which holds however the files are added.
#[test]
fn a_stranger_has_256_files() {
    let mut bytes = genuine();
    bytes.truncate(segment(&bytes) * WORD);
    let committed = u64::try_from(bytes.len()).unwrap();
    set_word(&mut bytes, header::COMMITTED, committed);
    set_word(&mut bytes, header::SEGMENTS, 1);
    let place = Place::new("strangers");
    let user = rustix::process::geteuid().as_raw();
    let mut applications = ApplicationProvider::for_user(place.path(), user + 1, true);
    let mut forged = Vec::new();
    for part in [200, 200] {
        for _ in 0..part {
            let name = format!("{}.pfs", forged.len());
            let file = Forged::mapped(place.path(), &name, &bytes);
            if user == 0 {
                std::os::unix::fs::chown(&file.path, Some(65_534), None).unwrap(); // root is nobody's stranger
            }
            forged.push(file);
        }
        let _ = applications.catalogue().unwrap();
    }
    let about = applications.describe();
    assert!(about[0].1.to_string().starts_with("256 programs publish 1 "), "{about:?}");
    let problems = applications.problems();
    assert!(problems[0].ends_with("its owner has too many files"), "{problems:?}");
    let mut not_asked = ApplicationProvider::for_user(place.path(), user + 1, false);
    let _ = not_asked.catalogue().unwrap();
    let about = not_asked.describe();
    assert!(about[0].1.to_string().starts_with("0 programs"), "{about:?}");
    assert!(not_asked.not_shown(None).is_empty(), "they have no instances");
}

/// Checks that a reader without free file descriptors recovers once it has one again.
#[test]
fn descriptors_run_out() {
    let place = Place::new("descriptors");
    let _bystander = Bystander::new(&place);
    drop(super::program::Program::start("few descriptors", place.path()));
}

/// Runs the test with few file descriptors in a separate process, because the limit applies to the process.
pub fn with_few_descriptors(folder: &Path) {
    let place = Place::of(folder);
    let limits = getrlimit(Resource::Nofile);
    let most = |count| setrlimit(Resource::Nofile, Rlimit { current: count, ..limits }).unwrap();
    // More publishers than the reader keeps open (a quarter of its file descriptor limit): the other files are opened
    // again to check their locks.
    const ENOUGH: Option<u64> = Some(1000);
    most(ENOUGH);
    let bytes = genuine();
    let forged: Vec<_> = (0..300).map(|n| Forged::mapped(folder, &format!("{n}.pfs"), &bytes)).collect();
    let before = place.machine();
    let count = |machine: &Machine| rows(machine).len();
    assert_eq!(count(&before), 300 * 6);
    let after = place.machine();
    most(Some(3));
    assert!(count(&before) < 300 * 6, "some cannot be asked");
    assert_eq!(count(&after), 0);
    most(ENOUGH);
    assert_eq!(count(&before), 300 * 6);
    assert_eq!(count(&after), 300 * 6);
    drop((before, after));
    // A reader that knows the files, and has mapped none yet.
    let machine = place.machine();
    assert!(machine.counterset(&Victim::GUID).is_ok());
    most(Some(3));
    assert!(count(&machine) < 300 * 6, "nothing can be mapped");
    most(ENOUGH);
    assert_eq!(count(&machine), 300 * 6);
    drop(forged);
    std::mem::forget(place);
    println!("\n@ ready");
}

/// Checks that a publisher whose files may not grow as needed continues, and counts invisibly.
#[test]
fn files_may_not_be_large() {
    let place = Place::new("small-files");
    let mut program = super::program::Program::start("small files", place.path());
    for _ in 0..2 {
        assert!(program.hear().contains("cannot"));
    }
}

/// Runs the test with small files in a separate process, because the limit applies to the process.
pub fn with_small_files(folder: &Path) {
    let limits = getrlimit(Resource::Fsize);
    println!("\n@ ready");
    let place = Place::of(folder);
    let publisher = place.publisher();
    for most in [20_000, 0] {
        setrlimit(Resource::Fsize, Rlimit { current: Some(most), ..limits }).unwrap();
        let publisher =
            if most == 0 { Publisher::in_folders(Folders::only(folder)) } else { publisher.clone() };
        let instance = publisher.instance::<Victim>("a");
        instance.level.set(7);
        assert_eq!(instance.level.get(), 7);
        println!("\n@ {}", publisher.problem().unwrap());
    }
    std::mem::forget(place);
}

/// Checks that instances without space in the file do not hide later ones for which there is space.
#[test]
fn space_that_is_free_again_is_used() {
    let place = Place::new("full-file");
    drop(super::program::Program::start("full file", place.path()));
}

/// Runs the test with a full file in a separate process, because the limit applies to the process.
pub fn with_a_full_file(folder: &Path) {
    let place = Place::of(folder);
    let most = Rlimit { current: Some(90_000), ..getrlimit(Resource::Fsize) };
    setrlimit(Resource::Fsize, most).unwrap();
    let publisher = place.publisher();
    let mut all = Vec::new();
    while publisher.problem().is_none() {
        all.push(publisher.instance::<Victim>(&format!("instance {}", all.len())));
    }
    let machine = place.machine();
    let seen = all.len() - 1;
    assert_eq!(rows(&machine).len(), 2 * seen);
    let unseen = all.pop();
    drop(all);
    let again: Vec<_> = (0..seen).map(|n| publisher.instance::<Victim>(&format!("again {n}"))).collect();
    assert_eq!(rows(&machine).len(), 2 * seen);
    drop((unseen, again));
    std::mem::forget(place);
    println!("\n@ ready");
}
