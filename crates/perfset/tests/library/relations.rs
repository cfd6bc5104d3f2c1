//! Tests of relations between counters that every block of a real Windows keeps
//! (`testdata/windows-definitions/README.md`), in the V1 and V2 blocks that perfset writes: of every fixture, and of
//! machines whose numbers rise, fall and wrap.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use perfset::v1::{Contents, TitleNames, Values, read};
use perfset::v2::BlockValue;
use perfset::visit::Mode;
use perfset::{Entry, Machine, Snapshot, catalogue};

use crate::fixture::{FIXTURES, machine, machine_at, tree_of};

/// Row of a V1 object or counterset: the instance's name, and its raw values by counter name.
struct Row {
    instance: String,
    values: BTreeMap<String, u64>,
}

/// Rows of a block by name of the V1 object or counterset.
type Objects = BTreeMap<String, Vec<Row>>;

/// Number of checks of each relation between counters, and the places where the relation was broken.
#[derive(Default)]
struct Checked {
    relations: BTreeMap<u32, usize>,
    broken: BTreeMap<u32, Vec<String>>,
}

impl Checked {
    fn equal(&mut self, relation: u32, found: u64, want: Option<u64>, place: impl FnOnce() -> String) {
        *self.relations.entry(relation).or_default() += 1;
        if Some(found) != want {
            self.broken.entry(relation).or_default().push(format!("{}: {found}, not {want:?}", place()));
        }
    }

    fn add(&mut self, other: Self) {
        for (relation, count) in other.relations {
            *self.relations.entry(relation).or_default() += count;
        }
        for (relation, places) in other.broken {
            self.broken.entry(relation).or_default().extend(places);
        }
    }

    fn assert_all(&self, want: &[u32]) {
        println!("relation and how often it was checked: {:?}", self.relations);
        let list = self.broken.iter().map(|(relation, places)| {
            let first: String = places.iter().take(3).map(|place| format!("\n    {place}")).collect();
            format!("\n  relation {relation} is broken {} times:{first}", places.len())
        });
        assert!(self.broken.is_empty(), "{}", list.collect::<String>());
        let relations: Vec<_> = self.relations.keys().copied().collect();
        assert_eq!(relations, want);
    }
}

/// Returns the rows of all objects in a V1 block of the machine.
fn v1_objects(machine: &Machine) -> Objects {
    let block = |query: &str| perfset::v1::query(machine, &query.parse().unwrap(), "HOST").unwrap().bytes;
    let names = block("Counter 009");
    let (names, _) = TitleNames::read(perfset::v1::NameTable::new(&names));
    let bytes = block("Global");
    let (block, _) = read(&bytes, Mode::Strict).unwrap();
    let mut objects = Objects::new();
    for object in block.objects().map(Result::unwrap) {
        let row = |instance: String, values: Values<'_>| {
            let shown = object.definitions().iter().filter(|d| !d.counter_type().is_base()).map(|d| {
                let raw = match values.value_of(&d) {
                    BlockValue::U32(raw) => raw.into(),
                    BlockValue::U64(raw) => raw,
                    other => panic!("{other:?}"),
                };
                (names.get(d.name_index()).unwrap().to_owned(), raw)
            });
            Row { instance, values: shown.collect() }
        };
        let rows = match object.contents() {
            Contents::Single(values) => vec![row(String::new(), values)],
            Contents::Multiple(instances) => {
                let rows = instances.map(Result::unwrap);
                rows.map(|instance| row(instance.name().to_string(), instance.values())).collect()
            }
            Contents::Metadata { .. } => panic!("metadata"),
        };
        objects.insert(names.get(object.name_index()).unwrap().to_owned(), rows);
    }
    objects
}

/// Returns the rows of all countersets in V2 blocks of the machine.
fn v2_objects(machine: &Machine) -> Objects {
    let mut query = machine.query();
    let sets = catalogue::ALL;
    for set in sets {
        let entry = Entry::all(set.guid);
        let _ = query.add(&if set.instance_type.is_multiple() { entry.instance("*") } else { entry });
    }
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let mut objects: BTreeMap<String, BTreeMap<(usize, u32, String), Row>> = BTreeMap::new();
    for value in snapshot.values(None) {
        let (Some(raw), Some(counter)) = (value.raw, value.counter.name.as_deref()) else { continue };
        let instance = value.instance.to_string();
        let key = (value.entry, value.instance_id.unwrap().0, instance.clone());
        let rows = objects.entry(sets[value.entry].name.to_string()).or_default();
        let row = rows.entry(key).or_insert_with(|| Row { instance, values: BTreeMap::new() });
        row.values.insert(counter.to_owned(), raw.get());
    }
    objects.into_iter().map(|(object, rows)| (object, rows.into_values().collect())).collect()
}

/// Relations in which a counter is a sum: number of the relation, objects, the counter, and the counters that are
/// added up. Counters that Linux never has are left out.
const SUMS: &[(u32, &[&str], &str, &[&str])] = &[
    (1, DISKS, "Avg. Disk Queue Length", &["Avg. Disk Read Queue Length", "Avg. Disk Write Queue Length"]),
    (3, DISKS, "Disk Bytes/sec", &["Disk Read Bytes/sec", "Disk Write Bytes/sec"]),
    (3, DISKS, "Disk Transfers/sec", &["Disk Reads/sec", "Disk Writes/sec"]),
    (
        4,
        &["Memory"],
        "Cache Bytes",
        &[
            "System Cache Resident Bytes",
            "System Driver Resident Bytes",
            "System Code Resident Bytes",
            "Pool Paged Resident Bytes",
        ],
    ),
    (
        5,
        &["Memory"],
        "Available Bytes",
        &[
            "Free & Zero Page List Bytes",
            "Standby Cache Reserve Bytes",
            "Standby Cache Normal Priority Bytes",
            "Standby Cache Core Bytes",
        ],
    ),
    (6, &["Memory"], "Pages/sec", &["Pages Input/sec", "Pages Output/sec"]),
    (7, PROCESSES, "IO Data Operations/sec", &["IO Read Operations/sec", "IO Write Operations/sec"]),
    (7, PROCESSES, "IO Data Bytes/sec", &["IO Read Bytes/sec", "IO Write Bytes/sec"]),
    (8, PROCESSES, "% Processor Time", &["% User Time", "% Privileged Time"]),
    (11, &["TCPv4", "TCPv6"], "Segments/sec", &["Segments Received/sec", "Segments Sent/sec"]),
    (12, &["Network Interface"], "Bytes Total/sec", &["Bytes Received/sec", "Bytes Sent/sec"]),
];
const DISKS: &[&str] = &["PhysicalDisk", "LogicalDisk"];
const PROCESSES: &[&str] = &["Process", "Process V2"];
const PROCESSORS: &[&str] = &["Processor", "Processor Information"];

/// Counters of relation 2: a percentage, and the queue length whose raw value it has.
const PAIRS: &[(&str, &str)] = &[
    ("% Disk Time", "Avg. Disk Queue Length"),
    ("% Disk Read Time", "Avg. Disk Read Queue Length"),
    ("% Disk Write Time", "Avg. Disk Write Queue Length"),
];

/// Checks every relation between counters in every row of a block. In V1 blocks 0 may stand for a value that a row
/// does not have.
fn check(what: &str, objects: &Objects, has_zeros: bool, checked: &mut Checked) {
    let rows = |object: &str| objects.get(object).map_or(&[][..], Vec::as_slice);
    let place =
        |object: &str, row: &Row, counter: &str| format!(r"{what}: {object}({})\{counter}", row.instance);
    for (relation, sets, whole, parts) in SUMS {
        for (object, row) in sets.iter().flat_map(|object| rows(object).iter().map(move |row| (object, row)))
        {
            // Idle and the total of processes are relation 9's.
            let name = row.instance.split(':').next().unwrap_or_default();
            if *relation == 8 && ["_Total", "Idle"].contains(&name) {
                continue;
            }
            let Some(found) = row.values.get(*whole) else { continue };
            // The kernel's estimate of what is available may be below what is free: 5 is excused then.
            if *relation == 5 && row.values.get(parts[0]).is_some_and(|free| free > found) {
                continue;
            }
            let sum =
                parts.iter().filter_map(|part| row.values.get(*part)).copied().reduce(u64::wrapping_add);
            checked.equal(*relation, *found, sum, || place(object, row, whole));
        }
    }
    for object in DISKS {
        for row in rows(object) {
            for (share, queue) in PAIRS {
                let Some(found) = row.values.get(*share) else { continue };
                let want = if (*object, &*row.instance) == ("LogicalDisk", "_Total") {
                    if has_zeros {
                        continue; // no telling which rows have a value
                    }
                    mean(rows(object).iter().filter(|row| row.instance != "_Total"), share)
                } else {
                    row.values.get(*queue).copied()
                };
                checked.equal(2, *found, want, || place(object, row, share));
            }
        }
    }
    for object in PROCESSORS {
        for total in rows(object).iter().filter(|row| row.instance.ends_with("_Total")) {
            let of_node = total.instance.strip_suffix("_Total").unwrap();
            let is_part = |row: &&Row| !row.instance.ends_with("_Total") && row.instance.starts_with(of_node);
            let parts: Vec<_> = rows(object).iter().filter(is_part).collect();
            for timer in ["% User Time", "% Privileged Time", "% DPC Time", "% Interrupt Time", "% Idle Time"]
            {
                let Some(found) = total.values.get(timer) else { continue };
                checked.equal(10, *found, mean(parts.iter().copied(), timer), || place(object, total, timer));
            }
            let Some(found) = total.values.get("Interrupts/sec") else { continue };
            let each: Vec<_> = parts.iter().filter_map(|row| row.values.get("Interrupts/sec")).collect();
            let sum = each.into_iter().copied().fold(0, u64::wrapping_add);
            // Processor Information has 4 bytes.
            let mask = if *object == "Processor" { u64::MAX } else { u32::MAX.into() };
            checked.equal(10, *found, Some(sum & mask), || place(object, total, "Interrupts/sec"));
        }
    }
}

fn mean<'a>(rows: impl Iterator<Item = &'a Row>, counter: &str) -> Option<u64> {
    let values: Vec<u128> = rows.filter_map(|row| row.values.get(counter)).map(|v| u128::from(*v)).collect();
    let sum: u128 = values.iter().sum();
    sum.checked_div(values.len() as u128).map(|mean| mean as u64)
}

fn check_both(what: &str, machine: &Machine, checked: &mut Checked) {
    check(&format!("{what}, V1"), &v1_objects(machine), true, checked);
    check(&format!("{what}, V2"), &v2_objects(machine), false, checked);
}

/// Counters of relation 9 that are levels: their total is the sum of the rows. The total of a count rises by what the
/// rows rise by. Totals of times and page faults are the kernel's own sums; the live check has these.
const LEVELS: &[&str] = &["Virtual Bytes", "Working Set", "Private Bytes", "Thread Count", "Handle Count"];
const COUNTS: &[&str] = &[
    "IO Read Operations/sec",
    "IO Write Operations/sec",
    "IO Data Operations/sec",
    "IO Other Operations/sec",
    "IO Read Bytes/sec",
    "IO Write Bytes/sec",
    "IO Data Bytes/sec",
    "IO Other Bytes/sec",
];

/// Checks relation 9, about totals, in two blocks of one machine.
fn check_totals(what: &str, before: &Objects, now: &Objects, checked: &mut Checked) {
    for object in PROCESSES {
        let (Some(before), Some(rows)) = (before.get(*object), now.get(*object)) else { continue };
        let is_total = |row: &&Row| row.instance == "_Total";
        let total = rows.iter().find(is_total).unwrap();
        let place = |counter: &str| format!(r"{what}: {object}(_Total)\{counter}");
        for level in LEVELS {
            let Some(found) = total.values.get(*level) else { continue };
            let parts = rows.iter().filter(|row| !is_total(row)).filter_map(|row| row.values.get(*level));
            checked.equal(9, *found, Some(parts.sum()), || place(level));
        }
        let total_before = before.iter().find(is_total).unwrap();
        for count in COUNTS {
            let (Some(old), Some(new)) = (total_before.values.get(*count), total.values.get(*count)) else {
                continue;
            };
            // In the fixture nothing begins or ends, so the rows of both blocks are the same in the same order.
            let rise = |count: &str| {
                let pairs = before.iter().zip(rows).filter(|(_, row)| !is_total(row));
                let rises = pairs.filter_map(|(old, new)| {
                    assert_eq!(old.instance, new.instance);
                    Some(new.values.get(count)?.checked_sub(*old.values.get(count)?))
                });
                rises.sum::<Option<u64>>()
            };
            // A count that fell was reset, so the total is marked. A whole falls with its parts.
            let parts = ["Read", "Write"].map(|part| rise(&count.replace("Data", part)));
            let (Some(rise), [Some(_), Some(_)]) = (rise(count), parts) else { continue };
            checked.equal(9, *new, Some(old + rise), || place(count));
        }
    }
}

#[test]
fn relations_hold_in_fixtures() {
    let mut checked = Checked::default();
    for fixture in FIXTURES {
        check_both(fixture, &machine(fixture), &mut checked);
    }
    checked.assert_all(&[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12]);
}

/// Generator of pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Kernel files whose numbers the test changes, each with the number of words of a line that are names.
const FILES: &[(&str, usize)] = &[
    ("diskstats", 3),
    ("stat", 1),
    ("meminfo", 1),
    ("vmstat", 1),
    ("net/snmp", 1),
    ("net/dev", 1),
    ("interrupts", 1),
    ("softirqs", 1),
];

/// Changes the numbers in a kernel file's text: most rise, some fall, some jump close to the end of 32 bits and then
/// over it.
fn change(text: &str, names: usize, random: &mut Random) -> String {
    let line = |line: &str| {
        let mut changed = String::new();
        for (at, word) in line.split_whitespace().enumerate() {
            let number = if at < names { None } else { word.parse::<u64>().ok() };
            let separator = if at == 0 { "" } else { " " };
            let word = number.map_or(word.to_owned(), |number| {
                let number = match random.below(40) {
                    0 => number.saturating_sub(random.below(1_000)),
                    1 => u64::from(u32::MAX) - random.below(1_000),
                    _ => number + random.below(100_000),
                };
                number.to_string()
            });
            changed += &format!("{separator}{word}");
        }
        changed + "\n"
    };
    text.lines().map(line).collect()
}

/// Copy of a fixture's kernel files that a test may change; removed at the end.
struct Copy(PathBuf);

impl Copy {
    fn of(fixture: &str) -> Self {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("relations-{}-{fixture}", std::process::id()));
        copy(&tree_of(fixture), &to);
        Self(to)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // the next run has another name
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), to).unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn relations_hold_while_numbers_change() {
    let mut checked = Checked::default();
    thread::scope(|scope| {
        let fixtures = ["small-vm", "two-nodes", "many-disks", "old-disks", "processes"];
        let threads = fixtures.map(|fixture| scope.spawn(move || while_numbers_change(fixture)));
        threads.into_iter().for_each(|thread| checked.add(thread.join().unwrap()));
    });
    checked.assert_all(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
}

fn while_numbers_change(fixture: &str) -> Checked {
    let (mut checked, mut random) = (Checked::default(), Random(20));
    let tree = Copy::of(fixture);
    let machine = machine_at(&tree.0);
    let mut before: Option<[Objects; 2]> = None;
    for round in 0..25 {
        check_both(&format!("{fixture} {round}"), &machine, &mut checked);
        let now = [v1_objects(&machine), v2_objects(&machine)];
        for (before, now) in before.iter().flatten().zip(&now) {
            check_totals(&format!("{fixture} {round}"), before, now, &mut checked);
        }
        before = Some(now);
        let of_processes = fs::read_dir(tree.0.join("proc")).unwrap().map(|entry| entry.unwrap().path());
        let files = FILES.iter().map(|(file, names)| (tree.0.join("proc").join(file), *names));
        for (path, names) in files.chain(of_processes.map(|folder| (folder.join("io"), 1))) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            fs::write(path, change(&text, names, &mut random)).unwrap();
        }
    }
    checked
}
