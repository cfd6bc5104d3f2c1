//! Tests of the countersets PhysicalDisk, LogicalDisk and Block I/O, collected from trees of test files.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use perfset_catalogue::{block_io, logical_disk, physical_disk};
use perfset_core::{Birth, CounterId, Counterset, NoValue};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Provider, Rows, Snapshot};
use rustix::fs::{StatVfs, StatVfsMountFlags};
use rustix::io::Errno;

use super::{AskSpace, BlockIo, Disks, LogicalDisk, PhysicalDisk};
use crate::provider::{Collection, MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{
    CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, opened, try_collect,
};

const NOW: u64 = 133_456_789_012_345_678;
/// Start time of the machine in these tests, as PerfTime100NSec: more than 50 days before now.
const START: u64 = NOW - 50_000_000_000_007;

fn disks(roots: &Roots) -> Disks {
    Disks::new(roots, |elapsed_ns| if elapsed_ns == 0 { START } else { NOW })
}

fn physical(roots: &Roots) -> MultiInstanceProvider<PhysicalDisk> {
    multi_instance(PhysicalDisk::new(disks(roots)))
}

fn block(roots: &Roots) -> MultiInstanceProvider<BlockIo> {
    multi_instance(BlockIo::new(disks(roots)))
}

/// Deadline that never passes in a test, because no test depends on how quickly another thread runs.
const LONG: Duration = Duration::from_secs(3600);

fn elsewhere(roots: &Roots) -> MultiInstanceProvider<LogicalDisk> {
    multi_instance(LogicalDisk::new(roots, disks(roots), None))
}

fn logical(roots: &Roots) -> MultiInstanceProvider<LogicalDisk> {
    let ask: AskSpace = |path| space(path).ok_or(Errno::ACCESS);
    multi_instance(LogicalDisk::new(roots, disks(roots), Some(ask)).within(LONG))
}

/// Returns made-up sizes and free space of the file systems in the fixture `many-disks`.
fn space(path: &Path) -> Option<StatVfs> {
    let (f_frsize, f_blocks, f_bfree, f_bavail) = match path.to_str()? {
        "/" => (4_096, 1_000_003, 700_001, 650_011),
        "/boot" => (1_024, 500_009, 400_009, 390_001),
        "/boot/efi" => (512, 200_003, 150_001, 150_001),
        "/srv/p" => (4_096, 90_001, 80_021, 80_021),
        "/home" => (4_096, 70_001, 60_013, 50_021),
        "/pool" => (16_384, 60_017, 50_023, 40_009),
        "/lost" => (4_096, 50_021, 40_009, 30_011),
        "/snap/core/1" => (131_072, 503, 0, 0),
        r"/a\b" => (4_096, 40_009, 30_011, 20_011),
        _ => return None,
    };
    Some(StatVfs {
        f_bsize: 7,
        f_frsize,
        f_blocks,
        f_bfree,
        f_bavail,
        f_files: 11,
        f_ffree: 13,
        f_favail: 17,
        f_fsid: 19,
        f_flag: StatVfsMountFlags::empty(),
        f_namemax: 255,
    })
}

/// Returns the fields of a block device's line in a fixture's `/proc/diskstats`, by the kernel documentation's field
/// numbers.
fn fields(machine: &str, device: &str) -> [u64; 21] {
    let text = fs::read_to_string(fixture(machine).proc.join("diskstats")).unwrap();
    let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(device)).unwrap();
    let mut fields = [0; 21];
    for (field, word) in (1..).zip(line.split_whitespace()).skip(3) {
        fields[field] = word.parse().unwrap();
    }
    fields
}

/// Returns the expected raw values of the counters of PhysicalDisk for the fields of a line in `/proc/diskstats`.
fn of_physical_disk(f: [u64; 21]) -> [(CounterId, u64); 30] {
    use physical_disk::*;
    const MS: u64 = 10_000;
    const MS_IN_PERF_TIME: u64 = 1_000_000;
    [
        (CURRENT_DISK_QUEUE_LENGTH, f[12]),
        (PERCENT_DISK_TIME, (f[7] + f[11]) * MS),
        (PERCENT_DISK_TIME_BASE, NOW),
        (AVG_DISK_QUEUE_LENGTH, (f[7] + f[11]) * MS),
        (PERCENT_DISK_READ_TIME, f[7] * MS),
        (PERCENT_DISK_READ_TIME_BASE, NOW),
        (AVG_DISK_READ_QUEUE_LENGTH, f[7] * MS),
        (PERCENT_DISK_WRITE_TIME, f[11] * MS),
        (PERCENT_DISK_WRITE_TIME_BASE, NOW),
        (AVG_DISK_WRITE_QUEUE_LENGTH, f[11] * MS),
        (AVG_DISK_SEC_TRANSFER, (f[7] + f[11]) * MS_IN_PERF_TIME),
        (AVG_DISK_SEC_TRANSFER_BASE, f[4] + f[8]),
        (AVG_DISK_SEC_READ, f[7] * MS_IN_PERF_TIME),
        (AVG_DISK_SEC_READ_BASE, f[4]),
        (AVG_DISK_SEC_WRITE, f[11] * MS_IN_PERF_TIME),
        (AVG_DISK_SEC_WRITE_BASE, f[8]),
        (DISK_TRANSFERS_PER_SEC, f[4] + f[8]),
        (DISK_READS_PER_SEC, f[4]),
        (DISK_WRITES_PER_SEC, f[8]),
        (DISK_BYTES_PER_SEC, (f[6] + f[10]) * 512),
        (DISK_READ_BYTES_PER_SEC, f[6] * 512),
        (DISK_WRITE_BYTES_PER_SEC, f[10] * 512),
        (AVG_DISK_BYTES_TRANSFER, (f[6] + f[10]) * 512),
        (AVG_DISK_BYTES_TRANSFER_BASE, f[4] + f[8]),
        (AVG_DISK_BYTES_READ, f[6] * 512),
        (AVG_DISK_BYTES_READ_BASE, f[4]),
        (AVG_DISK_BYTES_WRITE, f[10] * 512),
        (AVG_DISK_BYTES_WRITE_BASE, f[8]),
        (PERCENT_IDLE_TIME, NOW - START - f[13] * MS),
        (PERCENT_IDLE_TIME_BASE, NOW),
    ]
}

/// Counters of PhysicalDisk whose value in `_Total` is the mean over the disks. Queue lengths times 100 are summed
/// there, as queue lengths are.
const MEANS: [CounterId; 5] = [
    physical_disk::PERCENT_DISK_TIME_BASE,
    physical_disk::PERCENT_DISK_READ_TIME_BASE,
    physical_disk::PERCENT_DISK_WRITE_TIME_BASE,
    physical_disk::PERCENT_IDLE_TIME,
    physical_disk::PERCENT_IDLE_TIME_BASE,
];

/// Returns the counter of LogicalDisk with the same name as a counter of PhysicalDisk.
fn of_logical_disk(counter: CounterId) -> CounterId {
    let of = |set: &'static Counterset| set.counters.iter();
    let name = of(&physical_disk::COUNTERSET).find(|known| known.id == counter).unwrap().name.clone();
    of(&logical_disk::COUNTERSET).find(|known| known.name == name).unwrap().id
}

fn diskseq(device: &str) -> Birth {
    let text = fs::read_to_string(fixture("many-disks").sys.join("block").join(device).join("diskseq"));
    NonZeroU64::new(text.unwrap().trim().parse().unwrap())
}

#[test]
fn every_counter_of_physical_disk() {
    let collected = collect_all(&mut physical(&fixture("many-disks")));
    let mut sums = BTreeMap::new();
    let (total, devices) = collected.rows.split_last().unwrap();
    for (device, ..) in devices {
        let values = of_physical_disk(fields("many-disks", device));
        for (counter, value) in values {
            assert_eq!(*collected.get(device, counter), CellOutcome::Value(value), "{device} {counter:?}");
            *sums.entry(counter.0).or_insert(0_u128) += u128::from(value);
        }
        assert_eq!(values.len() + 1, physical_disk::COUNTERSET.counters.len());
        assert_eq!(
            collected.missing(device).keys().collect::<Vec<_>>(),
            [&physical_disk::SPLIT_IO_PER_SEC.0]
        );
    }
    assert_eq!(total.0, "_Total");
    for (counter, sum) in sums {
        let is_mean = MEANS.contains(&CounterId(counter));
        let want = if is_mean { sum / u128::try_from(devices.len()).unwrap() } else { sum };
        let want = CellOutcome::Value(u64::try_from(want).unwrap());
        assert_eq!(*collected.get("_Total", CounterId(counter)), want, "{counter}");
    }
    assert_eq!(collected.missing("_Total").len(), 1);
}

#[test]
fn disks_and_volumes_are_listed() {
    let roots = fixture("many-disks");
    let collected = collect(&mut physical(&roots), &[], &["*"]);
    let names = collected.names();
    assert_eq!(names.len(), 60 + 1);
    assert_eq!(names[..6], ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1", "sda", "sdb"]);
    assert_eq!(names[54..], ["sday", "sdaz", "cciss/c0d0", "mmcblk0", "mmcblk0boot0", "vda", "_Total"]);
    let row = |name: &str| collected.rows.iter().find(|row| row.0 == name).unwrap().clone();
    assert_eq!(row("sdb"), ("sdb".into(), 8 << 20 | 16, diskseq("sdb")));
    assert_eq!(row("sdaz"), ("sdaz".into(), 67 << 20 | 48, diskseq("sdaz")));
    assert_eq!(row("cciss/c0d0").2, diskseq("cciss!c0d0"));
    assert_eq!(row("sdac").2, None, "a kernel without diskseq");

    let mut provider = physical(&roots);
    let mut rows = Rows::new([]);
    rows.start();
    provider.instances(&physical_disk::GUID, &mut rows).unwrap();
    rows.end();
    assert_eq!((rows.len(), rows.id(1).unwrap().0), (61, 259 << 20 | 4));

    let small = collect(&mut physical(&fixture("small-vm")), &[], &["*"]);
    assert_eq!(small.rows[0], ("vda".into(), 254 << 20, NonZeroU64::new(9)));
    assert_eq!(small.names(), ["vda", "_Total"]);
    let small = collect_all(&mut elsewhere(&fixture("small-vm")));
    assert_eq!(small.names(), ["/", "_Total"]);
    let reads = small.get("/", logical_disk::DISK_READS_PER_SEC);
    assert_eq!(*reads, CellOutcome::Value(fields("small-vm", "vda")[4]));
}

#[test]
fn every_counter_of_block_io() {
    use block_io::*;
    let collected = collect_all(&mut block(&fixture("many-disks")));
    let names = collected.names();
    assert_eq!(names.len(), 60 + "loop0 nvme3c1n1 sr0 md0 dm-0 dm-1 dm-2 dm-3 zram0".split(' ').count());
    for unused_or_part in ["ram0", "loop1", "nvme0n1p1", "sda1", "_Total"] {
        assert!(!names.contains(&unused_or_part), "{unused_or_part}");
    }
    for device in names {
        let f = fields("many-disks", device);
        let (ms, ms_in_perf_time) = (10_000, 1_000_000);
        let values = [
            (PERCENT_BUSY_TIME, f[13] * ms),
            (REQUESTS_IN_FLIGHT, f[12]),
            (AVG_REQUESTS_IN_FLIGHT, f[14] * ms),
            (READS_PER_SEC, f[4]),
            (READS_MERGED_PER_SEC, f[5]),
            (SECTORS_READ_PER_SEC, f[6]),
            (PERCENT_READ_TIME, f[7] * ms),
            (AVG_SEC_READ, f[7] * ms_in_perf_time),
            (AVG_SEC_READ_BASE, f[4]),
            (AVG_SECTORS_READ, f[6]),
            (AVG_SECTORS_READ_BASE, f[4]),
            (WRITES_PER_SEC, f[8]),
            (WRITES_MERGED_PER_SEC, f[9]),
            (SECTORS_WRITTEN_PER_SEC, f[10]),
            (PERCENT_WRITE_TIME, f[11] * ms),
            (AVG_SEC_WRITE, f[11] * ms_in_perf_time),
            (AVG_SEC_WRITE_BASE, f[8]),
            (AVG_SECTORS_WRITE, f[10]),
            (AVG_SECTORS_WRITE_BASE, f[8]),
            (DISCARDS_PER_SEC, f[15]),
            (DISCARDS_MERGED_PER_SEC, f[16]),
            (SECTORS_DISCARDED_PER_SEC, f[17]),
            (PERCENT_DISCARD_TIME, f[18] * ms),
            (AVG_SEC_DISCARD, f[18] * ms_in_perf_time),
            (AVG_SEC_DISCARD_BASE, f[15]),
            (AVG_SECTORS_DISCARD, f[17]),
            (AVG_SECTORS_DISCARD_BASE, f[15]),
            (FLUSHES_PER_SEC, f[19]),
            (PERCENT_FLUSH_TIME, f[20] * ms),
            (AVG_SEC_FLUSH, f[20] * ms_in_perf_time),
            (AVG_SEC_FLUSH_BASE, f[19]),
        ];
        assert_eq!(values.len(), COUNTERSET.counters.len());
        for (counter, value) in values {
            assert_eq!(*collected.get(device, counter), CellOutcome::Value(value), "{device} {counter:?}");
        }
    }
    let small = collect_all(&mut block(&fixture("small-vm")));
    assert_eq!(small.names(), ["vda", "zram0"]);
    assert_eq!(small.birth("vda"), NonZeroU64::new(9));
}

/// Mount points of the file systems in the fixture `many-disks`, with their instance ids and their block devices.
const VOLUMES: [(&str, u32, Option<&str>); 10] = [
    ("/", 253 << 20, Some("dm-0")),
    ("/boot", 8 << 20 | 1, Some("sda1")),
    ("/boot/efi", 259 << 20 | 1, Some("nvme0n1p1")),
    ("/srv/p", 9 << 20, Some("md0")),
    ("/home", 44, Some("sdb1")),
    ("/pool", 45, Some("dm-2")),
    ("/lost", 46, None),
    ("/net/local", 8 << 20 | 18, Some("sdb2")),
    ("/snap/core/1", 7 << 20, Some("loop0")),
    ("/a_b", 99 << 20 | 7, None),
];

#[test]
fn every_counter_of_logical_disk() {
    use logical_disk::*;
    let collected = collect_all(&mut logical(&fixture("many-disks")));
    let rows: Vec<_> = VOLUMES.iter().map(|(name, id, _)| ((*name).to_owned(), *id, None)).collect();
    let (total, volumes) = collected.rows.split_last().unwrap();
    assert_eq!((volumes, total.0.as_str()), (&rows[..], "_Total"));
    for (name, _, device) in VOLUMES {
        let missing = collected.missing(name);
        match space(Path::new(if name == "/a_b" { r"/a\b" } else { name })) {
            Some(StatVfs { f_frsize, f_blocks, f_bfree, f_bavail, .. }) => {
                let (free, all) = (f_bavail * f_frsize, (f_blocks - f_bfree + f_bavail) * f_frsize);
                let got = [PERCENT_FREE_SPACE, PERCENT_FREE_SPACE_BASE, FREE_MEGABYTES]
                    .map(|counter| collected.get(name, counter).clone());
                assert_eq!(got, [free, all, free >> 20].map(CellOutcome::Value), "{name}");
            }
            None => {
                let why = "unavailable: its mount point is in a file system that may never answer";
                assert_eq!(missing[&FREE_MEGABYTES.0], why);
            }
        }
        let Some(device) = device else {
            let why = "unavailable: the kernel does not count what its device does";
            assert_eq!(missing[&PERCENT_IDLE_TIME.0], why, "{name}");
            assert_eq!(missing.len(), 31);
            continue;
        };
        for (counter, value) in of_physical_disk(fields("many-disks", device)) {
            let counter = of_logical_disk(counter);
            assert_eq!(*collected.get(name, counter), CellOutcome::Value(value), "{name} {counter:?}");
        }
        assert!(missing.contains_key(&SPLIT_IO_PER_SEC.0));
    }
    let reasons = collected.missing("_Total");
    assert_eq!(
        reasons.keys().collect::<Vec<_>>(),
        [&SPLIT_IO_PER_SEC.0],
        "what some volumes cannot have adds nothing"
    );
}

/// Checks `_Total` of LogicalDisk over all volumes that respond: sums of % Free Space and its base, means of shares
/// of time.
#[test]
fn total_of_logical_disk() {
    use logical_disk::*;
    let tree = Tree::copy_of("many-disks");
    let lines = tree.text("proc/1/mountinfo");
    let known =
        lines.lines().filter(|line| [" / / ", " /boot rw", "/home"].iter().any(|at| line.contains(at)));
    tree.write("proc/1/mountinfo", &known.map(|line| format!("{line}\n")).collect::<String>());
    let collected = collect_all(&mut logical(&tree.roots()));
    assert_eq!(collected.names(), ["/", "/boot", "/home", "_Total"]);
    let got = |counter| match collected.get("_Total", counter) {
        CellOutcome::Value(value) => *value,
        other => panic!("{other:?}"),
    };
    assert_eq!(got(PERCENT_FREE_SPACE), 650_011 * 4_096 + 390_001 * 1_024 + 50_021 * 4_096);
    assert_eq!(got(PERCENT_FREE_SPACE_BASE), {
        (1_000_003 - 700_001 + 650_011) * 4_096
            + (500_009 - 400_009 + 390_001) * 1_024
            + (70_001 - 60_013 + 50_021) * 4_096
    });
    let each = ["dm-0", "sda1", "sdb1"].map(|device| fields("many-disks", device));
    assert_eq!(got(DISK_READS_PER_SEC), each.iter().map(|f| f[4]).sum());
    assert_eq!(got(PERCENT_DISK_READ_TIME), each.iter().map(|f| f[7] * 10_000).sum::<u64>() / 3);
    assert_eq!(got(PERCENT_IDLE_TIME_BASE), NOW);
}

#[test]
fn mounts_of_another_tree_are_not_asked() {
    use logical_disk::*;
    let collected = collect_all(&mut elsewhere(&fixture("many-disks")));
    let missing = collected.missing("/");
    for counter in [PERCENT_FREE_SPACE, PERCENT_FREE_SPACE_BASE, FREE_MEGABYTES] {
        assert_eq!(missing[&counter.0], "unavailable: the mount points are those of another tree");
    }
    assert_eq!(missing.len(), 4);
    assert!(Roots::default().are_own());
    assert!(!fixture("many-disks").are_own());
}

/// Checks LogicalDisk with the mounts of this machine, and the real space of its root directory.
#[test]
fn this_machine() {
    let roots = Roots::default();
    let ask: AskSpace = |path| rustix::fs::statvfs(path);
    let mut provider = multi_instance(LogicalDisk::new(&roots, disks(&roots), Some(ask)).within(LONG));
    let collected = collect_all(&mut provider);
    for name in collected.names() {
        let is_there =
            |counter| !matches!(collected.get(name, counter), CellOutcome::None(NoValue::Failed(_)));
        assert!(is_there(logical_disk::PERCENT_FREE_SPACE), "{name}");
        assert!(is_there(logical_disk::PERCENT_IDLE_TIME), "{name}");
    }
}

#[test]
fn failed_statvfs_affects_its_volume_only() {
    use logical_disk::*;
    fn counted(collected: &Collected) -> Vec<&str> {
        let rows = collected.names().into_iter();
        rows.filter(|name| matches!(collected.get(name, FREE_MEGABYTES), CellOutcome::Value(_))).collect()
    }
    let roots = fixture("many-disks");
    for (errno, want) in [
        (
            Errno::ACCESS,
            "denied: /boot: needs search permission on its parent directories, or CAP_DAC_READ_SEARCH",
        ),
        (Errno::IO, "failed: /boot: cannot be asked: Input/output error (os error 5)"),
    ] {
        let ask: AskSpace = match errno {
            Errno::ACCESS => {
                |path| if path == "/boot" { Err(Errno::ACCESS) } else { space(path).ok_or(Errno::IO) }
            }
            _ => |path| if path == "/boot" { Err(Errno::IO) } else { space(path).ok_or(Errno::IO) },
        };
        let mut provider = multi_instance(LogicalDisk::new(&roots, disks(&roots), Some(ask)).within(LONG));
        let collected = collect(&mut provider, &[FREE_MEGABYTES], &["*"]);
        let reason = &collected.missing("/boot")[&FREE_MEGABYTES.0];
        assert!(want.ends_with(reason.as_str()) || reason == want, "{reason}");
        assert_eq!(counted(&collected).len(), 8);
    }
}

/// Checks that a hanging file system gets one request, however often other file systems are collected, and loses only
/// its own values.
#[test]
fn a_file_system_that_hangs_stops_no_other() {
    static GATE: Mutex<()> = Mutex::new(());
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let ask: AskSpace = |path| {
        if path == "/boot" {
            ASKED.fetch_add(1, Ordering::SeqCst);
            drop(GATE.lock());
        }
        space(path).ok_or(Errno::ACCESS)
    };
    let roots = fixture("many-disks");
    let deadline = Duration::from_millis(20);
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.set_deadline(deadline);
    let disk = LogicalDisk::new(&roots, disks(&roots), Some(ask)).within(deadline);
    machine.register(Box::new(multi_instance(disk)));
    let mut query = machine.query();
    let entry = Entry::one(logical_disk::GUID, logical_disk::FREE_MEGABYTES).instance("*");
    assert!(query.add(&entry).is_success());
    let mut collect = || {
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        let of = |value: perfset_engine::Value<'_>| {
            (value.instance.to_string(), (value.raw.is_some(), value.mark.is_some(), value.value.err()))
        };
        snapshot.values(None).map(of).collect::<BTreeMap<_, _>>()
    };
    let (late, fresh) = ((false, false, Some(NoValue::Late)), (true, false, None));
    let closed = GATE.lock().unwrap();
    let all = collect();
    assert_eq!(all["/boot"], late);
    // Another thread answers for the others, perhaps only after the deadline on a busy machine.
    while collect()["/home"] != fresh {}
    for _ in 0..5 {
        assert_eq!(collect()["/boot"], late);
    }
    assert_eq!(ASKED.load(Ordering::SeqCst), 1, "it is asked once");
    let says = machine.late();
    assert!(says.iter().any(|text| text.starts_with("mount /boot: no response for ")), "{says:?}");
    drop(closed);
    while collect()["/boot"] != fresh {}
    assert_eq!(machine.late().iter().filter(|text| text.contains("/boot")).count(), 0);
    let _closed = GATE.lock().unwrap();
    let mut boot = collect().remove("/boot");
    if boot == Some(fresh) {
        boot = collect().remove("/boot"); // it was being asked when the gate closed
    }
    assert_eq!(boot, Some((true, true, None)), "the previous value, marked");
}

#[test]
fn only_what_is_needed_is_opened() {
    use logical_disk::*;
    let tree = Tree::copy_of("many-disks");
    let of_sys = |opened: &[String]| opened.iter().filter(|file| file.starts_with("sys/")).count();
    let first = opened(&tree, physical, &[], &["*"]);
    assert_eq!(first[0], "proc/diskstats");
    assert_eq!(first.len() - of_sys(&first), 1);
    assert!(!first.iter().any(|file| file.ends_with("/dm/name") || file.ends_with('/')), "{first:?}");
    assert!(first.contains(&"sys/block/cciss!c0d0/size".to_owned()));

    let mut provider = physical(&tree.roots());
    let all: Vec<_> = physical_disk::COUNTERSET.counters.iter().map(|counter| counter.id).collect();
    drop(collect(&mut provider, &[], &["*"]));
    assert_eq!(
        tree.opened(|| drop(collect(&mut provider, &all, &["*"]))),
        [""; 0],
        "kept, and nothing is new"
    );

    for (counters, want) in [
        (&[][..], &["proc/1/mountinfo"][..]),
        (&[PERCENT_FREE_SPACE, FREE_MEGABYTES, SPLIT_IO_PER_SEC], &["proc/1/mountinfo"]),
        (&[PERCENT_IDLE_TIME], &["proc/1/mountinfo", "proc/diskstats"]),
    ] {
        assert_eq!(opened(&tree, logical, counters, &["/boot"]), want, "{counters:?}");
    }
    let mapped = opened(&tree, logical, &[PERCENT_IDLE_TIME], &["/pool"]);
    let names = ["sys/block/dm-0/dm/name", "sys/block/dm-1/dm/name", "sys/block/dm-2/dm/name"];
    assert_eq!(mapped[2..], names);
}

#[test]
fn the_file_is_read_once_a_collection() {
    let roots = fixture("many-disks");
    let len = fs::metadata(roots.proc.join("diskstats")).unwrap().len();
    let disks = disks(&roots);
    let mut bytes_read = |pass: u64| {
        let mut pass = Collection::new(pass, 0);
        disks.with(&mut pass, |disks, _, _| Ok(disks.len())).unwrap();
        u64::try_from(pass.bytes_read()).unwrap()
    };
    assert_eq!([1, 1, 2, 2, 1].map(&mut bytes_read), [len, 0, len, 0, len]);
}

#[test]
fn faults() {
    let reads = physical_disk::DISK_READS_PER_SEC;
    for (fault, cause, is_right) in FAULTS {
        let tree = Tree::copy_of("many-disks");
        cause(&tree, "proc/diskstats");
        let (of_physical, of_block) = (
            try_collect(&mut physical(&tree.roots()), &[reads], &["*"]),
            try_collect(&mut block(&tree.roots()), &[block_io::READS_PER_SEC], &["*"]),
        );
        let of_logical = collect_all(&mut logical(&tree.roots()));
        assert_eq!(of_logical.names().len(), VOLUMES.len() + 1);
        let free = of_logical.get("/", logical_disk::PERCENT_FREE_SPACE);
        assert!(matches!(free, CellOutcome::Value(_)), "{fault}");
        let of_root = of_logical.get("/", logical_disk::DISK_READS_PER_SEC);
        match fault {
            "empty" => {
                assert_eq!((of_physical.unwrap().names(), of_block.unwrap().names()), (vec![], vec![]));
                assert!(matches!(of_root, CellOutcome::None(NoValue::Unavailable(_))));
            }
            "cut" => {
                // Only the last line, which is that of zram0, is lost.
                assert!(of_physical.unwrap().missing("sda").is_empty());
                let of_block = of_block.unwrap();
                let missing = of_block.names().into_iter().filter(|name| !of_block.missing(name).is_empty());
                assert_eq!(missing.collect::<Vec<_>>(), ["zram0"]);
                assert!(
                    matches!(of_block.get("zram0", block_io::READS_PER_SEC), CellOutcome::None(why) if is_right(why))
                );
            }
            _ => {
                assert!(is_right(&of_physical.unwrap_err().reason()), "{fault}");
                assert!(is_right(&of_block.unwrap_err().reason()), "{fault}");
                assert!(matches!(of_root, CellOutcome::None(why) if is_right(why)), "{fault}");
            }
        }

        let tree = Tree::copy_of("many-disks");
        cause(&tree, "proc/1/mountinfo");
        let of_logical = try_collect(&mut logical(&tree.roots()), &[], &["*"]);
        match fault {
            "empty" => assert_eq!(of_logical.unwrap().names(), [""; 0]),
            _ => assert!(is_right(&of_logical.unwrap_err().reason()), "{fault}"),
        }
        let is_there = collect(&mut physical(&tree.roots()), &[reads], &["sda"]);
        assert!(is_there.missing("sda").is_empty());
    }
}

#[test]
fn a_bad_line_costs_its_own_values() {
    let tree = Tree::copy_of("many-disks");
    tree.write("proc/diskstats", &tree.text("proc/diskstats").replace(" sdb ", " sdb x"));
    let reads = physical_disk::DISK_READS_PER_SEC;
    let collected = collect(&mut physical(&tree.roots()), &[reads], &["*"]);
    let path = tree.path("proc/diskstats").display().to_string();
    let reason = collected.missing("sdb").remove(&reads.0).unwrap();
    assert!(reason.starts_with(&format!("{path}:14: expected a number, found \"x")), "{reason}");
    assert_eq!(collected.names().len(), 61);
    assert!(collected.missing("sda").is_empty() && collected.missing("sdc").is_empty());
}

/// Checks that a block device with an unreadable file in `/sys/block` has a row with values, and that no other device
/// loses its row.
#[test]
fn a_device_that_does_not_tell_what_it_is() {
    for file in ["size", "hidden", "diskseq"] {
        for (fault, cause, _) in FAULTS {
            let tree = Tree::copy_of("many-disks");
            let file = format!("sys/block/sdb/{file}");
            if !tree.path(&file).exists() {
                tree.write(&file, "0\n");
            }
            cause(&tree, &file);
            let collected = collect_all(&mut physical(&tree.roots()));
            assert_eq!(collected.names().len(), 61, "{file} {fault}");
            assert_eq!(collected.missing("sdb").len(), 1, "{file} {fault}: Split IO/Sec");
        }
    }
}

#[test]
fn without_sys_nobody_knows_which_are_disks() {
    let tree = Tree::proc_of("many-disks");
    let failed = |provider: &mut dyn Provider| try_collect(provider, &[], &["*"]).unwrap_err().to_string();
    for message in [failed(&mut physical(&tree.roots())), failed(&mut block(&tree.roots()))] {
        assert!(message.contains("there is no /sys/block"), "{message}");
    }
    let collected = collect_all(&mut logical(&tree.roots()));
    assert!(matches!(collected.get("/", logical_disk::DISK_READS_PER_SEC), CellOutcome::Value(_)));
    // What btrfs was mounted from by a name of the device mapper.
    assert!(matches!(collected.get("/pool", logical_disk::DISK_READS_PER_SEC), CellOutcome::None(_)));
}

#[test]
fn an_old_kernel() {
    let roots = fixture("old-disks");
    let collected = collect_all(&mut physical(&roots));
    assert_eq!(collected.names(), ["sda", "sdb", "_Total"]);
    assert_eq!(collected.rows[0], ("sda".into(), 8 << 20, None));
    for (counter, value) in of_physical_disk(fields("old-disks", "sda")) {
        assert_eq!(*collected.get("sda", counter), CellOutcome::Value(value), "{counter:?}");
    }
    let reasons = collected.missing("sdb");
    let four = "diskstats:3: expected a number, found the end of the line";
    assert!(reasons[&physical_disk::DISK_READS_PER_SEC.0].ends_with(four));

    let collected = collect_all(&mut block(&roots));
    let missing = collected.missing("sda");
    let first = block_io::DISCARDS_PER_SEC.0;
    assert!(missing.keys().copied().eq(first..31), "{missing:?}");
    assert!(missing.values().all(|why| why == "unavailable: this kernel does not count it"));

    let collected = collect_all(&mut logical(&roots));
    assert_eq!(collected.names(), ["/", "/a b", "_Total"]);
    let reads = collected.get("/", logical_disk::DISK_READS_PER_SEC);
    assert_eq!(*reads, CellOutcome::Value(fields("old-disks", "sda1")[4]));
}

thread_local! {
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    static STARTED: Cell<u64> = const { Cell::new(0) };
}

/// Tree of test files with one disk, whose numbers and clock are set for each collection.
struct OneDisk {
    tree: Tree,
    provider: MultiInstanceProvider<PhysicalDisk>,
}

impl OneDisk {
    fn new() -> Self {
        let tree = Tree::proc_of("old-disks");
        tree.write("sys/block/sda/size", "7\n");
        tree.write("sys/block/sda/device/type", "0\n");
        tree.write("sys/block/sda/diskseq", "5\n");
        let disks =
            Disks::new(&tree.roots(), |elapsed_ns| if elapsed_ns == 0 { STARTED.get() } else { CLOCK.get() });
        Self { tree, provider: multi_instance(PhysicalDisk::new(disks)) }
    }

    /// Collects the test disk at the time `now_100ns`, when it has completed `reads` reads in `read_ms` and was busy
    /// for `busy_ms`.
    fn at(&mut self, now_100ns: u64, reads: u64, read_ms: u64, busy_ms: u64) -> Collected {
        let line = format!("8 0 sda {reads} 0 0 {read_ms} 0 0 0 0 0 {busy_ms} 0\n");
        self.lines(now_100ns, &line)
    }

    fn lines(&mut self, now_100ns: u64, lines: &str) -> Collected {
        CLOCK.set(now_100ns);
        self.tree.write("proc/diskstats", lines);
        collect_all(&mut self.provider)
    }
}

#[test]
fn milliseconds_that_pass_zero() {
    use physical_disk::*;
    let mut disk = OneDisk::new();
    let turn = 1_u64 << 32;
    for (reads, printed, want) in [
        (1, turn - 9, turn - 9),
        (2, 3, turn + 3),
        (3, turn / 2, turn + turn / 2),
        (4, turn - 1, 2 * turn - 1),
        { (5, 0, 2 * turn) },
    ] {
        let collected = disk.at(NOW, reads, printed, 0);
        assert_eq!(
            *collected.get("sda", PERCENT_DISK_READ_TIME),
            CellOutcome::Value(want * 10_000),
            "{printed}"
        );
        assert_eq!(
            *collected.get("_Total", AVG_DISK_SEC_READ),
            CellOutcome::Value(want * 1_000_000),
            "{printed}"
        );
    }
    let lost = disk.lines(NOW, "8 0 sda x\n");
    assert!(matches!(lost.get("sda", PERCENT_DISK_READ_TIME), CellOutcome::None(NoValue::Failed(_))));
    let again = disk.at(NOW, 6, 7, 0);
    assert_eq!(*again.get("sda", PERCENT_DISK_READ_TIME), CellOutcome::Value((2 * turn + 7) * 10_000));
}

#[test]
fn idle_time_does_not_fall() {
    use physical_disk::PERCENT_IDLE_TIME as IDLE;
    let mut disk = OneDisk::new();
    let ms = 10_000;
    for (elapsed, busy, want) in [
        (0, 100, CellOutcome::Value(1_000 - 100)),
        (10, 110, CellOutcome::Value(1_000 - 100)), // all the time
        (20, 124, CellOutcome::Held(1_000 - 100)),  // a tick too much
        (30, 128, CellOutcome::Value(1_030 - 128)),
        (130, 128, CellOutcome::Value(1_130 - 128)),
    ] {
        let collected = disk.at((1_000 + elapsed) * ms, 1, 0, busy);
        let want = match want {
            CellOutcome::Held(raw) => CellOutcome::Held(raw * ms),
            CellOutcome::Value(raw) => CellOutcome::Value(raw * ms),
            other => other,
        };
        assert_eq!(*collected.get("sda", IDLE), want, "{elapsed}");
        assert_eq!(*collected.get("_Total", IDLE), want, "{elapsed}");
    }
}

/// Checks that idle time starts from zero when the machine restarts. Earlier busy time must not show as idle time, or
/// rates of the raw value would be wrong.
#[test]
fn idle_time_begins_anew_when_the_machine_does() {
    use physical_disk::PERCENT_IDLE_TIME as IDLE;
    let ms = 10_000;
    STARTED.set(NOW);
    let before = OneDisk::new().at(NOW + 5_000 * ms, 9, 0, 700);
    assert_eq!(*before.get("sda", IDLE), CellOutcome::Value(4_300 * ms));
    STARTED.set(NOW + 6_000 * ms);
    let after = OneDisk::new().at(NOW + 6_100 * ms, 2, 0, 30);
    assert_eq!(*after.get("sda", IDLE), CellOutcome::Value(70 * ms));
    let mut disk = OneDisk::new();
    assert_eq!(
        *disk.at(NOW + 6_100 * ms, 2, 0, 101).get("sda", IDLE),
        CellOutcome::Value(0),
        "busier than up"
    );
    assert_eq!(*disk.at(NOW + 6_200 * ms, 2, 0, 101).get("sda", IDLE), CellOutcome::Value(99 * ms));
}

#[test]
fn disks_that_come_and_go() {
    let mut disk = OneDisk::new();
    let reads = physical_disk::DISK_READS_PER_SEC;
    let line = |name: &str, minor: u32, reads: u64| format!("8 {minor} {name} {reads} 0 0 0 0 0 0 0 0 0 0\n");
    let births = |collected: &Collected| {
        let rows = collected.rows.iter().filter(|row| row.0 != "_Total");
        rows.map(|row| (row.0.clone(), row.2.map_or(0, NonZeroU64::get))).collect::<Vec<_>>()
    };
    let row = |name: &str, birth| (name.to_owned(), birth);
    assert_eq!(births(&disk.lines(NOW, &line("sda", 0, 7))), [row("sda", 5)]);

    // It is not looked at again while it is there and goes on.
    disk.tree.write("sys/block/sda/diskseq", "6\n");
    assert_eq!(births(&disk.lines(NOW, &line("sda", 0, 8))), [row("sda", 5)]);
    let fewer = disk.lines(NOW, &line("sda", 0, 7));
    assert_eq!(births(&fewer), [row("sda", 6)], "another, of which nobody saw it come");
    assert_eq!(*fewer.get("sda", reads), CellOutcome::Value(7));

    // One that comes before it, and both in another order.
    disk.tree.write("sys/block/sdb/size", "7\n");
    disk.tree.write("sys/block/sdb/device/type", "0\n");
    disk.tree.write("sys/block/sda/diskseq", "7\n");
    let (a, b) = (line("sda", 0, 9), line("sdb", 16, 2));
    let both = disk.lines(NOW, &format!("{b}{a}"));
    assert_eq!(births(&both), [row("sdb", NOW), row("sda", 6)], "without a number: when it came");
    assert_eq!(births(&disk.lines(NOW, &format!("{a}{b}"))), [row("sda", 6), row("sdb", NOW)]);
    assert_eq!(births(&disk.lines(NOW, &b)), [row("sdb", NOW)]);
    assert_eq!(births(&disk.lines(NOW, "")), []);
    assert_eq!(births(&disk.lines(NOW, &a)), [row("sda", 7)], "gone and come back");
    assert_ne!(both.birth("_Total"), fewer.birth("_Total"));
}

#[test]
fn a_drive_gets_a_medium() {
    let mut disk = OneDisk::new();
    let size = |disk: &OneDisk, size: u32| disk.tree.write("sys/block/sda/size", &format!("{size}\n"));
    size(&disk, 0);
    assert_eq!(disk.at(NOW, 1, 0, 0).names(), [""; 0]);
    size(&disk, 9);
    assert_eq!(disk.at(NOW, 1, 0, 0).names(), [""; 0], "nothing has happened");
    assert_eq!(disk.at(NOW, 2, 0, 0).names(), ["sda", "_Total"]);
}

/// Checks that ids and title indexes of the disk countersets never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let indexes = |set: &Counterset| set.counters.iter().map(|c| c.v1_index.unwrap()).collect::<Vec<_>>();
    let ids = |set: &Counterset| set.counters.iter().map(|c| c.id.0).collect::<Vec<_>>();
    let of_disks = [
        198, 200, 20200, 1400, 202, 20202, 1402, 204, 20204, 1404, 206, 20206, 208, 20208, 210, 20210, 212,
        214, 216, 218, 220, 222, 224, 20212, 226, 20214, 228, 20216, 1482, 20218, 1484,
    ];
    assert_eq!(indexes(&physical_disk::COUNTERSET), of_disks);
    assert_eq!(indexes(&logical_disk::COUNTERSET), [&[408, 20220, 410][..], &of_disks].concat());
    assert!(indexes(&block_io::COUNTERSET).into_iter().eq((20228..20290).step_by(2)));
    for (set, count, v1_index, guid) in [
        (&physical_disk::COUNTERSET, 31, 234, "2ea413cb-f3e1-5b66-bfa9-ba4f854f2de1"),
        (&logical_disk::COUNTERSET, 34, 236, "b1321dc7-ada6-5e31-b2cb-d97a27647973"),
        (&block_io::COUNTERSET, 31, 20226, "2fdd34c1-9096-53a6-9923-e2a8af142cde"),
    ] {
        assert!(ids(set).into_iter().eq(0..count));
        assert_eq!((set.v1_index, set.guid.to_string().as_str()), (Some(v1_index), guid));
    }
}

/// Checks that LogicalDisk has three counters of space, followed by the counters of PhysicalDisk in the same order.
#[test]
fn two_sets_have_the_same_counters() {
    let of_logical = &logical_disk::COUNTERSET.counters[3..];
    for (one, other) in physical_disk::COUNTERSET.counters.iter().zip(of_logical) {
        assert_eq!((&one.name, one.counter_type), (&other.name, other.counter_type));
        assert_eq!((one.v1_index, one.id.0 + 3), (other.v1_index, other.id.0));
    }
    assert_eq!(of_logical.len(), physical_disk::COUNTERSET.counters.len());
}
