//! Tests of disk countersets from end to end, over the kernel's files of a fixture.

#![cfg(target_os = "linux")]

use perfset::catalogue::{block_io, logical_disk, paging_file, physical_disk};
use perfset::{Entry, Snapshot};

use crate::fixture::machine;

/// Repeated collections of the four disk countersets allocate no memory once the devices are known.
#[test]
fn a_warm_collection_allocates_nothing() {
    for set in [physical_disk::GUID, logical_disk::GUID, block_io::GUID, paging_file::GUID] {
        let mut query = machine("many-disks").query();
        assert!(query.add(&Entry::all(set).instance("*")).is_success());
        let mut snapshot = Snapshot::default();
        for _ in 0..3 {
            query.collect(&mut snapshot).unwrap();
        }
        let counted = allocation_counter::measure(|| {
            for _ in 0..10 {
                query.collect(&mut snapshot).unwrap();
            }
        });
        assert_eq!(counted.count_total, 0, "{set}");
        assert!(snapshot.values(None).any(|value| value.raw.is_some()), "{set}");
    }
}

/// A disk at rest is exactly 100 % idle: idle time and divisor come from one clock at one moment.
#[test]
fn a_disk_at_rest_is_idle() {
    let mut query = machine("many-disks").query();
    for instance in ["sda", "_Total"] {
        assert!(query.add(&Entry::all(physical_disk::GUID).instance(instance)).is_success());
    }
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    query.collect(&mut old).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(5));
    query.collect(&mut new).unwrap();
    for value in new.values(Some(&old)) {
        let want = match value.counter.id {
            physical_disk::PERCENT_IDLE_TIME => 100.0,
            physical_disk::PERCENT_DISK_TIME => 0.0,
            _ => continue,
        };
        assert_eq!(value.value.unwrap().nocap(), want, "{}", value.instance);
    }
}
