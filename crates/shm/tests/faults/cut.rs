//! Tests of files that are truncated, get holes and grow under a reader: only their own rows may be missing.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use perfset_core::NoValue;
use perfset_engine::{Query, Snapshot};
use rustix::fs::{FallocateFlags, fallocate};

use super::tear::{Torn, all_of, inverse};
use super::{Bystander, Forged, Random, StopAtEnd, complaints};
use crate::guard::refuse_children;
use crate::publish::PublishedInstance;
use crate::tests::{Place, query, raw};

const INSTANCES: usize = 64;
const STEP: u64 = 0x9E37_79B9_7F4A_7C15; // all bytes change each time
const STEPS: u64 = 1 << 40;

/// Checks that no value is torn and no process ends while a publisher's file is truncated. A thread acts as the
/// file's owner: it stores multiples of `STEP` into all values. At times it truncates the file, punches a hole, or
/// lets it grow, and restores it. Every value read must be such a multiple.
#[test]
fn nothing_is_torn_and_nobody_ends_where_a_file_is_cut() {
    const ENOUGH: u64 = 20_000;
    let place = Place::new("cut");
    let _bystander = Bystander::new(&place);
    let publisher = place.publisher();
    let all: Vec<PublishedInstance<Torn>> =
        (0..INSTANCES).map(|n| publisher.instance(&n.to_string())).collect();
    let path = publisher.path().unwrap();
    let whole = std::fs::read(&path).unwrap(); // its values are all 0
    let len = u64::try_from(whole.len()).unwrap();
    let gauges: Vec<_> = all.iter().flat_map(|instance| all_of(instance)).collect();
    let machine = place.machine();
    let mut query = query(&machine, Torn::GUID);
    let stop = AtomicBool::new(false);
    let (mut read, cuts) = (0, AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
            let mut random = Random(7);
            let mut step = 0_u64;
            while !stop.load(Relaxed) {
                for _ in 0..random.below(1_000) {
                    step += 1;
                    gauges.iter().for_each(|gauge| gauge.set(step.wrapping_mul(STEP)));
                }
                // No stores happen meanwhile, because they would end the owner. Truncate between words, because
                // otherwise half a word would be in the file itself.
                match random.below(4) {
                    0 => file.set_len(random.below(len / 8) * 8).unwrap(),
                    1 => file
                        .set_len([0, 4096, 104, 8192, 12_288][usize::try_from(random.below(5)).unwrap()])
                        .unwrap(),
                    2 => {
                        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                        let [at, len] = [random.below(len / 16), 1 + random.below(len / 16)];
                        fallocate(&file, hole, at * 8, len * 8).unwrap();
                    }
                    _ => file.set_len(len + random.below(1 << 20)).unwrap(),
                }
                cuts.fetch_add(1, Relaxed);
                std::thread::sleep(Duration::from_micros(random.below(300)));
                // Space first: a store to a byte that is not reserved would end this process.
                fallocate(&file, FallocateFlags::empty(), 0, len).unwrap();
                gauges.iter().for_each(|gauge| gauge.set(0));
                std::os::unix::fs::FileExt::write_all_at(&file, &whole, 0).unwrap();
            }
        });
        let _stopping = StopAtEnd(&stop);
        let start = Instant::now();
        // Both are required, because a fast machine could read enough before the file was ever cut.
        while read < ENOUGH || cuts.load(Relaxed) < 20 {
            assert!(start.elapsed() < Duration::from_secs(60), "{read} read, {cuts:?} cuts");
            for (name, counter, value) in raw(&mut query) {
                if let Some(value) = value {
                    let step = value.wrapping_mul(inverse(STEP));
                    assert!(step <= STEPS, "{value:#x} of {name}, {counter} was never there");
                    read += 1;
                }
            }
            Bystander::is_unharmed(&machine, "a cut");
        }
    });
    assert_eq!(raw(&mut query).len(), INSTANCES * 8, "it is whole again");
    assert!(complaints(&mut place.applications()).is_empty());
}

/// Checks that an incomplete publisher's file is not read at all, even if the requested range exists, and that the
/// reason is reported.
#[test]
fn a_file_that_is_cut_says_so() {
    let place = Place::new("cut-says");
    let _bystander = Bystander::new(&place);
    let bytes = super::files::genuine();
    for (len, says) in [
        (0, "bytes, but the file has 0"),
        (100, "bytes, but the file has 100"),
        (4096, "but the file has 4096"),
        (8192, "but the file has 8192"),
        (bytes.len() - 4096, "bytes, but the file has"),
        (bytes.len() - 1, "bytes, but the file has"),
    ] {
        let forged = Forged::mapped(place.path(), "1-cut.pfs", &bytes);
        let machine = place.machine();
        let mut query = query(&machine, super::files::victim());
        assert_eq!(raw(&mut query).len(), 6);
        let mut applications = place.applications();
        assert!(complaints(&mut applications).is_empty());
        forged.file.set_len(u64::try_from(len).unwrap()).unwrap();
        assert!(raw(&mut query).iter().all(|(.., value)| value.is_none()), "{len}");
        let said = complaints(&mut applications);
        // An empty file has no header that contains its length.
        let is_overwritten =
            said.iter().any(|what| what.contains("bytes, but the file has") || what.contains("overwritten"));
        assert!(said.len() == 1 && (said[0].contains(says) || is_overwritten), "{len}: {said:?}");
        Bystander::is_unharmed(&machine, len);
        forged.file.set_len(u64::try_from(bytes.len()).unwrap()).unwrap();
        forged.patch(0, &bytes);
        assert_eq!(raw(&mut query).len(), 6, "it is whole again");
        assert!(complaints(&mut applications).is_empty());
    }
}

/// Checks that a hole punched into a publisher's file between two collections yields no zeros.
#[test]
fn a_hole_gives_no_zeros() {
    let place = Place::new("cut-hole");
    let bytes = super::files::genuine();
    let forged = Forged::mapped(place.path(), "1-hole.pfs", &bytes);
    let machine = place.machine();
    let mut query = query(&machine, super::files::victim());
    assert_eq!(raw(&mut query).len(), 6);
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&forged.file, hole, u64::try_from(bytes.len() - 8192).unwrap(), 4096).unwrap();
    assert!(raw(&mut query).iter().all(|(.., value)| value.is_none()));
}

/// Checks that readers recover after any range of a publisher's file was temporarily a hole or zero. Readers that
/// started before or meanwhile see everything once the file is restored.
#[test]
fn nobody_is_blind_after_a_file_was_not_whole() {
    const PAGE: usize = 4096;
    let bytes = super::files::genuine();
    let victim = super::files::victim();
    let mut began_meanwhile = Vec::new();
    for (at, is_zero) in (0..bytes.len()).step_by(PAGE).flat_map(|at| [(at, false), (at, true)]) {
        let place = Place::new(&format!("cut-blind-{at}-{is_zero}"));
        let forged = Forged::mapped(place.path(), "1-cut.pfs", &bytes);
        let machine = place.machine();
        let mut query = query(&machine, victim);
        let whole = raw(&mut query);
        assert_eq!(whole.len(), 6);
        let allocate = |flags| fallocate(&forged.file, flags, u64::try_from(at).unwrap(), 4096).unwrap();
        allocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE);
        if is_zero {
            allocate(FallocateFlags::empty());
        }
        let _ = raw(&mut query);
        let another = place.machine();
        for machine in [&machine, &another] {
            let _ = (machine.countersets(), machine.instances(&victim));
        }
        allocate(FallocateFlags::empty());
        forged.patch(at, &bytes[at..(at + PAGE).min(bytes.len())]);
        assert_eq!(raw(&mut query), whole, "at {at}, zero: {is_zero}");
        began_meanwhile.push((at, is_zero, whole, another, forged, place));
    }
    std::thread::sleep(Duration::from_millis(1_010)); // what could not be opened is opened again then
    for (at, is_zero, whole, machine, ..) in &began_meanwhile {
        assert!(machine.counterset(&victim).is_ok(), "at {at}, zero: {is_zero}");
        assert_eq!(raw(&mut query(machine, victim)), *whole, "at {at}, zero: {is_zero}");
    }
}

/// Checks that missing values of a truncated publisher's file have a reason, one for each instance that was read
/// before. This holds also beside other files, and for copied files.
#[test]
fn truncated_file_has_a_reason_in_each_sample() {
    let (bytes, victim) = (super::files::genuine(), super::files::victim());
    let len = u64::try_from(bytes.len()).unwrap();
    let failures = |query: &mut Query| -> Vec<String> {
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        let of_entry = snapshot.annex()[0].failure().cloned();
        let of_values = snapshot.values(None).filter_map(|value| value.value.err());
        let failed = of_entry.into_iter().chain(of_values).filter(|why| *why != NoValue::NeedsTwoSamples);
        failed.map(|why| why.to_string()).collect()
    };
    let says_why = |text: &String| text.contains("the file of ") && text.contains("bytes, but the file has");
    for forge in [Forged::mapped, Forged::copied] {
        for has_other in [false, true] {
            let place = Place::new("cut-reason");
            let forged = forge(place.path(), "1-cut.pfs", &bytes);
            let _other = has_other.then(|| forge(place.path(), "2-whole.pfs", &bytes));
            let expected = if has_other { 12 } else { 6 };
            let machine = place.machine();
            let mut query = query(&machine, victim);
            let whole = raw(&mut query);
            assert_eq!(whole.len(), expected);
            let another = place.machine(); // knows the counterset, and no instance
            assert!(another.counterset(&victim).is_ok());
            forged.file.set_len(len - 4096).unwrap();
            let failed = failures(&mut query);
            assert!(failed.len() == 6 && failed.iter().all(says_why), "{failed:?}");
            assert_eq!(raw(&mut query).len(), expected);
            assert_eq!(machine.instances(&victim).unwrap().len(), expected / 2);
            let mut of_another = super::query(&another, victim);
            let failed = failures(&mut of_another);
            let left_out: Vec<_> = another.left_out().into_iter().map(|(_, why)| why.into_owned()).collect();
            let notes = another.not_shown(Some(&victim));
            assert!(notes.len() == 1 && says_why(&notes[0].to_string()), "{notes:?}");
            let said = if has_other { left_out } else { failed };
            assert!(!said.is_empty() && said.iter().all(says_why), "{said:?}");
            forged.file.set_len(len).unwrap();
            fallocate(&forged.file, FallocateFlags::empty(), 0, len).unwrap();
            forged.patch(0, &bytes);
            assert_eq!(raw(&mut query), whole);
            assert_eq!(raw(&mut of_another), whole);
            assert!(another.left_out().is_empty() && another.not_shown(Some(&victim)).is_empty());
        }
    }
}

/// Checks that no sample loses rows while a publisher's file is continually truncated and restored: each value of
/// each sample is correct or has a reason.
#[test]
fn no_sample_has_fewer_rows_while_a_file_is_cut() {
    const SAMPLES: usize = 300;
    let (bytes, victim) = (super::files::genuine(), super::files::victim());
    let len = u64::try_from(bytes.len()).unwrap();
    for forge in [Forged::mapped, Forged::copied] {
        let place = Place::new("cut-rows");
        let forged = forge(place.path(), "1-cut.pfs", &bytes);
        let mut query = query(&place.machine(), victim);
        let whole = raw(&mut query);
        let stop = AtomicBool::new(false);
        let (mut good, mut failed) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    fallocate(&forged.file, hole, 8192, len - 8192).unwrap();
                    forged.patch(0, &bytes);
                    std::thread::sleep(Duration::from_micros(100));
                    forged.file.set_len(0).unwrap();
                    forged.file.set_len(len).unwrap();
                    forged.patch(0, &bytes);
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
            let _stopping = StopAtEnd(&stop);
            for _ in 0..SAMPLES {
                let rows = raw(&mut query);
                let of_whole = |(name, counter, value): &(String, u32, Option<u64>)| {
                    let same = |w: &&(String, u32, Option<u64>)| (&w.0, w.1) == (name, *counter);
                    whole.iter().find(same).filter(|whole| value.is_none() || whole.2 == *value)
                };
                assert!(
                    rows.len() == whole.len() && rows.iter().all(|row| of_whole(row).is_some()),
                    "{rows:?}"
                );
                if rows.iter().all(|row| row.2.is_some()) { good += 1 } else { failed += 1 }
            }
        });
        assert_eq!(raw(&mut query), whole, "it is whole again: {good} good, {failed} failed");
    }
}

/// Checks that if some of many publishers' files are truncated, the others are still read.
#[test]
fn the_others_are_read() {
    let place = Place::new("cut-some");
    let bytes = super::files::genuine();
    let all: Vec<_> = (0..40).map(|n| Forged::mapped(place.path(), &format!("{n}.pfs"), &bytes)).collect();
    let machine = place.machine();
    let mut query = query(&machine, super::files::victim());
    assert_eq!(raw(&mut query).len(), 40 * 6);
    for (n, forged) in all.iter().enumerate().filter(|(n, _)| n % 3 == 0) {
        forged.file.set_len(u64::try_from(n % 7 * 4096).unwrap()).unwrap();
    }
    let with_value =
        |rows: Vec<(String, u32, Option<u64>)>| rows.iter().filter(|row| row.2.is_some()).count();
    assert_eq!(with_value(raw(&mut query)), 26 * 6);
    assert_eq!(with_value(raw(&mut query)), 26 * 6);
}

/// Checks that if no child process can be started, publishers' files are copied, with the same rows.
#[test]
fn failed_fork_falls_back_to_copying() {
    let place = Place::new("no-child");
    let publisher = place.publisher();
    let all: Vec<PublishedInstance<Torn>> =
        (0..INSTANCES).map(|n| publisher.instance(&n.to_string())).collect();
    for (instance, n) in all.iter().zip(0..) {
        all_of(instance).into_iter().for_each(|gauge| gauge.set(STEP.wrapping_mul(n)));
    }
    let rows = || {
        let all = raw(&mut query(&place.machine(), Torn::GUID));
        all.into_iter().map(|(name, counter, value)| ((name, counter), value)).collect::<HashMap<_, _>>()
    };
    let loaded = rows();
    assert_eq!(loaded.len(), INSTANCES * 8);
    let copied = refuse_children(rows);
    assert_eq!(copied, loaded);
}

/// Checks that if a child process could not be started once, publishers' files are mapped again later; until then the
/// copying is reported.
#[test]
fn a_child_is_tried_again_later() {
    let place = Place::new("child-again");
    let publisher = place.publisher();
    let instance: PublishedInstance<Torn> = publisher.instance("a");
    let machine = place.machine();
    let mut query = query(&machine, Torn::GUID);
    let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(publisher.path().unwrap()).unwrap());
    let of_reader = |line: &&str| line.contains(" r--s ") && line.contains(&format!(" {inode} "));
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(of_reader).count();
    let whole = raw(&mut query);
    let mapped_at_first = mapped();
    assert!(mapped_at_first > 0);
    let says = || machine.describe().into_iter().any(|(_, what)| what.contains("1 file is copied"));
    assert!(!says());
    assert_eq!(refuse_children(|| raw(&mut query)), whole);
    assert!(mapped() == 0 && says());
    std::thread::sleep(Duration::from_millis(1_010));
    assert_eq!(raw(&mut query), whole);
    assert!(mapped() == mapped_at_first && !says());
    drop(instance);
}
