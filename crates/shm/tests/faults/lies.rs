//! Tests of definitions with names, GUIDs or contents that are wrong or belong to others.

use std::sync::Arc;
use std::time::Duration;

use perfset_catalogue as catalogue;
use perfset_core::{Counter, CounterId, CounterType, Counterset as Set, Guid};
use perfset_derive::Counterset;
use perfset_engine::Provider;

use super::{Bystander, Forged, complaints, get_word, set_word};
use crate::definition::encode;
use crate::folder::Folders;
use crate::layout::{WORD, entry, header};
use crate::publish::{Counterset, Gauge};
use crate::read::ApplicationProvider;
use crate::tests::{Place, query, raw};

#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Lie", instances = "multiple")]
struct Lie {
    #[expect(dead_code, reason = "only its definition is used")]
    #[counter(name = "Level")]
    level: Gauge,
}

#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Only")]
struct Only {
    /// How high it is.
    #[counter(name = "Level", unit = "m")]
    level: Gauge,
}

fn lie() -> Set {
    Set::clone(Lie::definition().counterset())
}

/// Returns the counterset of [`lie`] under another name.
fn named(name: &'static str) -> Set {
    let mut set = lie();
    set.name = name.into();
    set
}

fn with_guid(guid: Guid, mut set: Set) -> Set {
    set.guid = guid;
    set
}

/// Returns the bytes of a publisher's file that publishes nothing yet.
fn empty() -> Vec<u8> {
    let place = Place::new(&format!("empty-{:?}", std::thread::current().id()));
    std::fs::read(place.publisher().path().unwrap()).unwrap()
}

/// Returns the bytes of a publisher's file with these counterset definitions.
fn with_definitions(definitions: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = empty();
    for (number, definition) in definitions.iter().enumerate() {
        let at = bytes.len();
        bytes.extend_from_slice(&u64::try_from(definition.len()).unwrap().to_ne_bytes());
        bytes.extend_from_slice(definition);
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        let len = bytes.len() - at;
        let words = [at, len, usize::try_from(entry::DEFINITION).unwrap(), 0];
        for (word, value) in words.into_iter().enumerate() {
            let place = header::TABLE + number * entry::WORDS + word;
            set_word(&mut bytes, place, u64::try_from(value).unwrap());
        }
    }
    let committed = u64::try_from(bytes.len()).unwrap();
    set_word(&mut bytes, header::COMMITTED, committed);
    set_word(&mut bytes, header::SEGMENTS, u64::try_from(definitions.len()).unwrap());
    bytes
}

/// Returns the countersets served from a file with these definitions, and the problems reported.
fn served(definitions: &[Vec<u8>]) -> (Vec<String>, Vec<String>) {
    let place = Place::new(&format!("lies-{:?}", std::thread::current().id()));
    let _bystander = Bystander::new(&place);
    let _forged = Forged::mapped(place.path(), "1-lie.pfs", &with_definitions(definitions));
    Bystander::is_unharmed(&place.machine(), definitions.len());
    let mut applications = place.applications();
    let complaints = complaints(&mut applications);
    let sets = applications.catalogue().unwrap();
    let mut names: Vec<String> = sets.countersets.iter().map(|set| set.name.to_string()).collect();
    names.retain(|name| name != "Test Honest");
    names.sort();
    (names, complaints)
}

#[test]
fn names_and_guids_that_are_others() {
    let taken = &catalogue::system::COUNTERSET;
    let mut typed = counter(1);
    typed.counter_type = CounterType::PERF_COUNTER_BULK_COUNT;
    let cases: [(&str, Set, &str); 11] = [
        ("a GUID of the catalogue", with_guid(taken.guid, lie()), "its GUID is one of the catalogue's"),
        ("a name of the catalogue", named("System"), "its name is that of"),
        ("in capitals", named("SYSTEM"), "its name is that of"),
        // In upper case it is the same: a request for System would return it.
        ("in strange letters", named("\u{17F}ystem"), "its name is that of"),
        ("the name of an honest program", named("test honest"), "its name is that of"),
        ("no name", named(""), "it has no name and is not registered"),
        (
            "the GUID of an honest program",
            with_guid(super::Honest::GUID, lie().counters([counter(7), counter(9)])),
            "its name is that of counter 1 of ",
        ),
        (
            "the same with another type",
            with_guid(super::Honest::GUID, lie().counters([typed])),
            "counter 1 \"Level\" is left out: the program has it as PERF_COUNTER_BULK_COUNT, and ",
        ),
        ("a name with a blank", named("System "), "its name is that of"),
        ("an invisible character", named("Sys\u{200B}tem"), "its name is that of"),
        ("only such characters", named("\u{200B} "), "it has a name that shows nothing"),
    ];
    for (case, set, says) in cases {
        let (names, complaints) = served(&[encode(&set)]);
        assert!(names.is_empty(), "{case}: {names:?}");
        assert!(complaints.len() == 1 && complaints[0].contains(says), "{case}: {complaints:?}");
    }
    assert_eq!(served(&[encode(&lie())]), (vec!["Test Lie".into()], vec![]), "it would be good");
}

fn counter(id: u32) -> Counter {
    let set = lie();
    let mut counter = set.counters[0].clone();
    counter.id = CounterId(id);
    counter
}

#[test]
fn definitions_that_are_none() {
    let good = encode(&lie());
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let none = lie().counters([]);
    let same = lie().counters([counter(7), counter(7)]);
    for (case, definition) in [
        ("nothing", Vec::new()),
        ("no counters", encode(&none)),
        ("two of one id", encode(&same)),
        ("no description", with(0, 2)),
        ("a part without end", with(7, 0xFF)),
        ("cut", good[..good.len() / 2].to_vec()),
    ] {
        let (names, complaints) = served(std::slice::from_ref(&definition));
        assert!(names.is_empty(), "{case}: {names:?}");
        assert!(complaints.len() == 1 && complaints[0].contains("table entry 0"), "{case}: {complaints:?}");
    }
    let mut bytes = with_definitions(&[good]);
    let at = usize::try_from(get_word(&bytes, header::TABLE)).unwrap() / WORD;
    for len in [4096, 1 << 40, u64::MAX] {
        set_word(&mut bytes, at, len);
        let place = Place::new("lies-length");
        let _forged = Forged::mapped(place.path(), "1-lie.pfs", &bytes);
        let complaints = complaints(&mut place.applications());
        assert!(complaints[0].contains("the length of the definition is"), "{complaints:?}");
    }
}

#[test]
fn two_definitions_of_one_guid() {
    let good = lie();
    let renamed = named("Test Other Lie");
    let other = lie().counters([counter(7), counter(9)]);
    let (names, complaints) = served(&[encode(&good), encode(&renamed)]);
    assert_eq!(
        (names, complaints),
        (vec!["Test Lie".into()], vec![]),
        "the first one decides how it is named"
    );
    let (names, complaints) = served(&[encode(&good), encode(&other), encode(&good)]);
    assert_eq!(names, ["Test Lie"]);
    assert!(
        complaints.len() == 1 && complaints[0].contains("counter 9 \"Level\" is left out"),
        "{complaints:?}"
    );
    // A counterset with another GUID and the same name.
    let (names, complaints) = served(&[encode(&good), encode(&with_guid(Guid::from_u128(7), lie()))]);
    assert_eq!(names, ["Test Lie"]);
    assert!(complaints.len() == 1 && complaints[0].contains("its name is that of"), "{complaints:?}");
}

/// Checks that a registered name or GUID keeps its registered meaning, whatever others publish.
#[test]
fn registered_names_and_guids() {
    let registered = named("Test Registered");
    for (case, set, says) in [
        ("its name", with_guid(Guid::from_u128(7), named("test registered")), "its name is that of"),
        (
            "its GUID",
            lie().counters([counter(7), counter(9)]),
            "its name is that of counter 1 of the registration of Test",
        ),
    ] {
        let place = Place::new("registered-lies");
        let _forged = Forged::mapped(place.path(), "1-lie.pfs", &with_definitions(&[encode(&set)]));
        let mut known = Some(vec![Arc::new(registered.clone())]);
        let folders = Folders::only(place.path());
        let mut applications = ApplicationProvider::new(&folders, false, Box::new(move || known.take()));
        let complaints = complaints(&mut applications);
        assert!(complaints.len() == 1 && complaints[0].contains(says), "{case}: {complaints:?}");
        let sets = applications.catalogue().unwrap();
        assert_eq!(sets.countersets.len(), 1);
        assert_eq!(*sets.countersets[0], registered);
    }
}

/// Checks that the fuzz targets start with a file of this layout that contains nothing specific to a process.
#[test]
fn corpora_hold_a_file_of_this_layout() {
    let place = Place::new("seed");
    let publisher = place.publisher();
    let only = publisher.instance_with_id::<Only>("", 7);
    only.level.set(4711);
    let mut bytes = std::fs::read(publisher.path().unwrap()).unwrap();
    let own =
        [header::FILE_ID, header::FILE_ID + 1, header::PID_NAMESPACE, header::START_TIME, header::BOOT_ID];
    for word in own.into_iter().chain([header::BOOT_ID + 1, header::CREATED, header::TIME_NAMESPACE]) {
        set_word(&mut bytes, word, 0);
    }
    set_word(&mut bytes, header::PID, 1);
    set_word(&mut bytes, header::PROGRAM_LEN, 0);
    bytes[header::PROGRAM * WORD..][..header::PROGRAM_MAX].fill(0);
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (seed, bytes) in [
        ("shm_file/single.bin", &bytes),
        ("shm_definition/single.bin", &encode(Only::definition().counterset())),
    ] {
        let path = corpus.join(seed);
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&path, bytes).unwrap();
        }
        let stored = std::fs::read(&path).unwrap_or_default();
        assert!(stored == *bytes, "{seed} is of another layout; UPDATE_SNAPSHOTS=1 cargo test writes it");
    }
}

/// Checks that a publisher that claims to be older than all others ranks behind those with older files. This holds
/// for another meaning of a counter, and for the instance of a single-instance counterset.
#[test]
fn a_program_that_claims_to_be_older_hides_nobody() {
    for claimed in [0, u64::MAX] {
        let place = Place::new("older");
        let victim = place.publisher();
        let instance = victim.instance::<Only>("");
        instance.level.set(8);
        victim.register::<Lie>();
        std::thread::sleep(Duration::from_millis(30)); // times of files have steps
        let other = Place::new("older-other");
        let forger = other.publisher();
        let forged = forger.instance::<Only>("");
        forged.level.set(9);
        let mut of_only = std::fs::read(forger.path().unwrap()).unwrap();
        let mut lie = lie();
        lie.counters.to_mut()[0].counter_type = CounterType::PERF_COUNTER_COUNTER;
        let mut of_lie = with_definitions(&[encode(&lie)]);
        for bytes in [&mut of_lie, &mut of_only] {
            set_word(bytes, header::CREATED, claimed);
        }
        let _lie = Forged::mapped(place.path(), "0-lie.pfs", &of_lie);
        let _only = Forged::mapped(place.path(), "0-only.pfs", &of_only);
        let machine = place.machine();
        assert_eq!(raw(&mut query(&machine, Only::GUID))[0].2, Some(8));
        assert_eq!(
            *machine.counterset(&Lie::GUID).unwrap().counters,
            *Lie::definition().counterset().counters
        );
        assert_eq!(victim.problem(), None);
    }
}

/// Checks that among publishers of untrusted users the oldest is shown, and messages about what is left out name both
/// users.
#[test]
fn omissions_of_other_users_name_both_users() {
    use std::os::unix::fs::chown;
    if !rustix::process::geteuid().is_root() {
        return; // nobody else may give files away
    }
    let place = Place::new("two-users");
    let mut other_type = lie();
    other_type.counters.to_mut()[0].counter_type = CounterType::PERF_COUNTER_COUNTER;
    let other_guid = with_guid(Guid::from_u128(0x1E), lie());
    let mut forged = Vec::new();
    for (user, set) in [(65_533, lie()), (65_534, other_type), (65_532, other_guid)] {
        let bytes = with_definitions(&[encode(&set)]);
        forged.push(Forged::mapped(place.path(), &format!("{user}.pfs"), &bytes));
        chown(&forged.last().unwrap().path, Some(user), None).unwrap();
        std::thread::sleep(Duration::from_millis(30)); // times of files have steps
    }
    let mut applications = ApplicationProvider::for_user(place.path(), 1, true);
    assert_eq!(applications.catalogue().unwrap().countersets.len(), 1);
    let said: Vec<_> = applications.left_out().into_iter().map(|(_, why)| why.into_owned()).collect();
    let has = |user: u32| {
        let whose = format!("{user}.pfs of user {user}: ");
        said.iter().any(|text| text.contains(&whose) && text.contains("] of user 65533"))
    };
    assert!(said.len() == 2 && has(65_534) && has(65_532), "{said:?}");
}
