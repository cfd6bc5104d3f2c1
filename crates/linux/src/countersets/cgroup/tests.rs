//! Tests of the counterset CGroup, collected from trees of test files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use perfset_catalogue::cgroup as id;
use perfset_core::{CounterId, NoValue};

use super::CGroup;
use crate::provider::{MultiInstanceProvider, multi_instance};
use crate::roots::Roots;
use crate::testing::{CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, opened};

use id::*;

/// Clock ticks per second in these tests: not 100, because no code may assume that value.
const CLOCK_TICKS: u64 = 250;

fn provider(roots: &Roots) -> MultiInstanceProvider<CGroup> {
    multi_instance(CGroup::new(roots, CLOCK_TICKS))
}

/// Raw values of each control group in the fixture `two-nodes` (version 2), in the order of the counter ids.
const VERSION_2: [(&str, [Option<u64>; 41]); 3] = [
    (
        "/",
        [
            Some(30000170),
            Some(30000290),
            Some(30000470),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            Some(3000077),
            Some(3000089),
            Some(3000103),
            Some(3000541),
            Some(3000199),
            Some(3000677),
            Some(3000709),
            Some(3000553),
            Some(3000607),
            Some(3000733 + 3000797),
            Some(3000743 + 3000821),
            Some(3000757 + 3000847),
            Some(3000761 + 3000859),
            Some(3000779 + 3000869),
            Some(3000791 + 3000887),
            None,
            None,
            Some(30009190),
            Some(30009290),
            Some(30009310),
            Some(30009470),
            Some(30009530),
            Some(30009610),
            Some(30009670),
        ],
    ),
    (
        "app.slice",
        [
            Some(30009790),
            Some(30009830),
            Some(30010010),
            Some(3001049),
            Some(3001057),
            Some(30010670),
            Some(3001073),
            Some(30010810),
            Some(3001837),
            Some(3001853),
            Some(3001909),
            Some(3001879),
            Some(3001919),
            Some(3001927),
            Some(3001931),
            Some(3001939),
            Some(3001963),
            Some(3001087),
            Some(3001121),
            Some(3001127),
            Some(3001499),
            Some(3001213),
            Some(3001613),
            Some(3001631),
            Some(3001501),
            Some(3001543),
            Some(3001633 + 3001721),
            Some(3001643 + 3001727),
            Some(3001657 + 3001759),
            Some(3001681 + 3001769),
            Some(3001697 + 3001777),
            Some(3001711 + 3001811),
            Some(3001883),
            Some(3001907),
            Some(30020030),
            Some(30020390),
            Some(30020890),
            Some(30021010),
            Some(30021070),
            Some(30021130),
            Some(30021170),
        ],
    ),
    (
        "app.slice/web@1.service",
        [
            Some(30021230),
            Some(30021470),
            Some(30021610),
            Some(3002189),
            Some(3002191),
            Some(30022210),
            Some(3002231),
            Some(30022390),
            Some(3002917),
            Some(3002933),
            None,
            Some(3002953),
            Some(3003029),
            Some(3003043),
            Some(3003053),
            Some(3003061),
            Some(3003071),
            Some(3002243),
            Some(3002269),
            Some(3002273),
            Some(3002639),
            Some(3002401),
            Some(3002729),
            Some(3002737),
            Some(3002641),
            Some(3002653),
            Some(3002743 + 3002843),
            Some(3002773 + 3002849),
            Some(3002789 + 3002861),
            Some(3002801 + 3002891),
            Some(3002807 + 3002899),
            Some(3002833 + 3002911),
            Some(3002977),
            Some(3002981),
            Some(30030790),
            Some(30031130),
            Some(30031310),
            Some(30031490),
            Some(30031570),
            Some(30031670),
            Some(30031730),
        ],
    ),
];

/// Raw values of each control group in the fixture `containers` (version 1), in the order of the counter ids.
const VERSION_1: [(&str, [Option<u64>; 41]); 3] = [
    (
        "/",
        [
            Some(3003181 / 100),
            Some(3003191 / 100),
            Some(3003223 / 100),
            Some(3003241),
            Some(3003251),
            Some(3003257 / 100),
            Some(3003281),
            Some(3003307 / 100),
            Some(3003323),
            Some(3003331),
            Some(3003379),
            Some(5003367 - 3003323),
            None,
            None,
            Some(3003337),
            None,
            Some(3003389),
            Some(3003709),
            Some(3003703),
            Some(3003353),
            None,
            Some(3003359),
            Some(3003859),
            Some(3003863),
            Some(3003773),
            Some(3003779),
            Some(3003971 + 3004051),
            Some(3003977 + 3004061),
            Some(3004181 + 3004279),
            Some(3004217 + 3004301),
            Some(3004037 + 3004097),
            Some(3004271 + 3004321),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        ],
    ),
    (
        "docker",
        [
            Some(3004369 / 100),
            Some(3004387 / 100),
            Some(3004403 / 100),
            Some(3004493),
            Some(3004499),
            Some(3004523 / 100),
            Some(3004531),
            Some(3004537 / 100),
            Some(3004543),
            Some(3004549),
            Some(3004637),
            Some(5004633 - 3004543),
            None,
            None,
            Some(3004553),
            None,
            Some(3004643),
            Some(3005033),
            Some(3005027),
            Some(3004583),
            None,
            Some(3004591),
            Some(3005207),
            Some(3005213),
            Some(3005129),
            Some(3005131),
            Some(3005281 + 3005377),
            Some(3005291 + 3005381),
            Some(3005503 + 3005581),
            Some(3005507 + 3005599),
            Some(3005329 + 3005417),
            Some(3005573 + 3005627),
            Some(3005701),
            Some(3005711),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        ],
    ),
    (
        "docker/3b1f",
        [
            Some(3005731 / 100),
            Some(3005747 * 40_000),
            Some(3005749 * 40_000),
            Some(3005771),
            Some(3005773),
            Some(3005809 / 100),
            None,
            None,
            Some(3005831),
            Some(3005839),
            None,
            None,
            None,
            None,
            Some(3005851),
            None,
            None,
            Some(3006371),
            Some(3006347),
            Some(3005881),
            None,
            Some(3005909),
            Some(3006511),
            Some(3006529),
            None,
            None,
            Some(3006649 + 3006719),
            Some(3006667 + 3006733),
            Some(3006791 + 3006847),
            Some(3006793 + 3006851),
            Some(0),
            Some(0),
            Some(3006967),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        ],
    ),
];

fn check(collected: &Collected, known: &[(&str, [Option<u64>; 41])]) {
    assert_eq!(collected.names(), known.iter().map(|known| known.0).collect::<Vec<_>>());
    for (name, values) in known {
        for (counter, value) in (0..).map(CounterId).zip(values) {
            match (collected.get(name, counter), value) {
                (CellOutcome::Value(got), Some(value)) => assert_eq!(got, value, "{name} {counter:?}"),
                (CellOutcome::None(NoValue::Unavailable(_)), None) => {}
                (got, value) => panic!("{name} {counter:?}: {got:?}, not {value:?}"),
            }
        }
    }
}

#[test]
fn every_counter_of_version_2() {
    check(&collect_all(&mut provider(&fixture("two-nodes"))), &VERSION_2);
}

#[test]
fn every_counter_of_version_1() {
    check(&collect_all(&mut provider(&fixture("containers"))), &VERSION_1);
}

/// Checks that, with both versions of control groups mounted, times and pressure come from version 2, and each other
/// value from its controller's version.
#[test]
fn a_hybrid_is_decided_group_by_group() {
    let tree = Tree::copy_of("containers");
    let file = |name: &str, text: &str| tree.write(&format!("sys/fs/cgroup/unified/{name}"), text);
    file("cgroup.controllers", "pids\n");
    file("cpu.stat", "usage_usec 7\n");
    file("docker/cpu.stat", "usage_usec 11\nnr_periods 13\n");
    file("docker/pids.current", "17\n");
    file("docker/memory.current", "19\n");
    file("docker/io.pressure", "some total=23\n");
    file("session/cpu.stat", "usage_usec 29\n");
    let collected = collect_all(&mut provider(&tree.roots()));
    assert_eq!(collected.names(), ["/", "docker", "docker/3b1f", "session"]);
    for (group, counter, want) in [
        ("/", PERCENT_PROCESSOR_TIME, 70),
        ("docker", PERCENT_PROCESSOR_TIME, 110),
        ("docker/3b1f", PERCENT_PROCESSOR_TIME, 3005731 / 100),
        ("session", PERCENT_PROCESSOR_TIME, 290),
        ("docker", PROCESSOR_LIMIT_PERIODS_PER_SEC, 3004493),
        ("docker", TASK_COUNT, 17),
        ("docker/3b1f", TASK_COUNT, 3006967),
        ("docker", MEMORY_BYTES, 3004543),
        ("docker", PERCENT_STORAGE_SOME_STALLED_TIME, 230),
    ] {
        assert_eq!(*collected.get(group, counter), CellOutcome::Value(want), "{group} {counter:?}");
    }
    let why = "unavailable: the group is in no hierarchy with the controller memory";
    assert_eq!(collected.missing("session")[&MEMORY_BYTES.0], why);
    let why = "unavailable: the group is not in a hierarchy of version 2, which alone has pressure";
    assert_eq!(collected.missing("docker/3b1f")[&PERCENT_MEMORY_FULL_STALLED_TIME.0], why);
    let inode = |path: &str| fs::metadata(tree.path(&format!("sys/fs/cgroup/{path}"))).unwrap().ino();
    let low = |inode: u64, bits: u32| u32::try_from(inode & ((1 << bits) - 1)).unwrap();
    let ids: Vec<_> = collected.rows.iter().map(|row| row.1).collect();
    let of_cpu = 1 << 28 | low(inode("cpu,cpuacct/docker/3b1f"), 28);
    assert_eq!(
        ids,
        [
            low(inode("unified"), 32),
            low(inode("unified/docker"), 32),
            of_cpu,
            low(inode("unified/session"), 32)
        ]
    );
    assert_eq!(collected.birth("session").unwrap().get(), inode("unified/session"));
}

/// Checks that ids and title indexes of the counterset CGroup never change: programs and logs hold these numbers.
#[test]
fn ids_and_title_indexes() {
    let of_microsoft = [(0, 6), (1, 142), (2, 144), (22, 28)];
    let mut own = (22_822..22_896).step_by(2).chain((24_100..).step_by(2));
    for counter in COUNTERSET.counters.iter() {
        let known = of_microsoft.iter().find(|known| known.0 == counter.id.0);
        let want = known.map_or_else(|| own.next().unwrap(), |known| known.1);
        assert_eq!(counter.v1_index, Some(want), "{:?}", counter.name);
    }
    assert_eq!(COUNTERSET.counters.iter().map(|c| c.id.0).collect::<Vec<_>>(), Vec::from_iter(0..45));
    assert_eq!((COUNTERSET.v1_index, own.next()), (Some(22_820), Some(24_108)));
}

#[test]
fn only_what_is_needed_is_read() {
    let tree = Tree::copy_of("two-nodes");
    let group = "sys/fs/cgroup/app.slice";
    let of = |files: &[&str]| files.iter().map(|file| format!("{group}/{file}")).collect::<Vec<_>>();
    for (name, counters, want) in [
        ("nothing", &[][..], &[][..]),
        ("times", &[PERCENT_PROCESSOR_TIME, PERCENT_USER_TIME, BURSTS_PER_SEC], &["cpu.stat"]),
        ("memory", &[MEMORY_BYTES], &["memory.current"]),
        ("parts of memory", &[FILE_BYTES, PAGE_FAULTS_PER_SEC, SLAB_BYTES], &["memory.stat"]),
        ("limits", &[MEMORY_LIMIT_BYTES, OUT_OF_MEMORY_KILLS_PER_SEC], &["memory.events", "memory.max"]),
        ("storage", &[STORAGE_READS_PER_SEC, STORAGE_DISCARD_BYTES_PER_SEC], &["io.stat"]),
        ("tasks", &[TASK_COUNT], &["pids.current"]),
        (
            "pressure",
            &[PERCENT_MEMORY_FULL_STALLED_TIME, PERCENT_MEMORY_SOME_STALLED_TIME],
            &["memory.pressure"],
        ),
    ] {
        let mut provider = provider(&tree.roots());
        collect(&mut provider, &[], &["*"]);
        let again = tree.opened(|| drop(collect(&mut provider, counters, &["app.slice"])));
        assert_eq!(again, of(want), "{name}");
    }
    let first = opened(&tree, provider, &[], &["*"]);
    let folders = ["", "app.slice/", "app.slice/web@1.service/"].map(|name| format!("sys/fs/cgroup/{name}"));
    assert_eq!(first, [&folders[..], &["sys/fs/cgroup/cgroup.controllers".to_owned()]].concat().sorted());
    let stat = tree.text(&format!("{group}/cpu.stat")).len().try_into().unwrap();
    let mut provider = provider(&tree.roots());
    collect(&mut provider, &[], &["*"]);
    let times = [PERCENT_PROCESSOR_TIME, PERCENT_USER_TIME];
    assert_eq!(collect(&mut provider, &times, &["app.slice"]).bytes_read, stat, "once");
}

trait Sorted {
    fn sorted(self) -> Self;
}

impl<T: Ord> Sorted for Vec<T> {
    fn sorted(mut self) -> Self {
        self.sort_unstable();
        self
    }
}

#[test]
fn a_fault_costs_only_the_counters_that_the_file_feeds() {
    let cases: [(&str, &[u32]); 9] = [
        ("cpu.stat", &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("memory.current", &[8]),
        ("memory.max", &[10]),
        ("memory.swap.current", &[11]),
        ("memory.events", &[12, 13, 14, 15, 16]),
        ("memory.stat", &[17, 18, 19, 20, 21, 22, 23, 24, 25]),
        ("io.stat", &[26, 27, 28, 29, 30, 31]),
        ("pids.current", &[32]),
        ("io.pressure", &[38, 39, 43]),
    ];
    for (file, feeds) in cases {
        for (fault, cause, is_right) in FAULTS {
            if matches!(
                (file, fault),
                ("memory.stat" | "memory.events", "cut") | ("io.stat", "empty" | "malformed")
            ) {
                continue; // the last line feeds nothing; no device is none
            }
            let tree = Tree::copy_of("two-nodes");
            cause(&tree, &format!("sys/fs/cgroup/app.slice/{file}"));
            let collected = collect_all(&mut provider(&tree.roots()));
            let lost = collected.missing("app.slice").into_keys();
            // These are cut in their last line.
            let want = match (file, fault) {
                ("cpu.stat", "cut") => &feeds[7..],
                ("io.pressure", "cut") => &feeds[1..2],
                _ => feeds,
            };
            assert_eq!(lost.collect::<Vec<_>>(), want, "{file} {fault}");
            for counter in want {
                let got = collected.get("app.slice", CounterId(*counter));
                assert!(
                    matches!(got, CellOutcome::None(reason) if is_right(reason)),
                    "{file} {fault}: {got:?}"
                );
            }
            assert_eq!(collected.missing("app.slice/web@1.service").len(), 1, "{file} {fault}");
        }
    }
}

#[test]
fn reasons_name_file_line_and_what() {
    let tree = Tree::copy_of("two-nodes");
    let file = "sys/fs/cgroup/app.slice/cpu.stat";
    tree.write(file, &tree.text(file).replace("user_usec ", "user_usec -"));
    let missing = collect_all(&mut provider(&tree.roots())).missing("app.slice");
    let path = tree.path(file).display().to_string();
    assert_eq!(missing, [(1, format!("{path}:2: expected a number, found \"-3000983\""))].into());
    let missing = collect_all(&mut provider(&fixture("two-nodes"))).missing("app.slice/web@1.service");
    assert_eq!(missing, [(10, "unavailable: unlimited".to_owned())].into());
}

#[test]
fn groups_come_and_go() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(&tree.roots());
    let tasks = |provider: &mut MultiInstanceProvider<CGroup>| collect(provider, &[TASK_COUNT], &["*"]);
    let before = tasks(&mut provider);
    tree.write("sys/fs/cgroup/app.slice/a/pids.current", "5\n");
    tree.write("sys/fs/cgroup/zz/pids.current", "7\n");
    let more = tasks(&mut provider);
    assert_eq!(more.names(), ["/", "app.slice", "app.slice/a", "app.slice/web@1.service", "zz"]);
    assert_eq!(*more.get("app.slice/a", TASK_COUNT), CellOutcome::Value(5));
    assert_eq!(*more.get("zz", TASK_COUNT), CellOutcome::Value(7));
    fs::remove_dir_all(tree.path("sys/fs/cgroup/app.slice/a")).unwrap();
    fs::remove_dir_all(tree.path("sys/fs/cgroup/zz")).unwrap();
    let after = tasks(&mut provider);
    assert_eq!((&after.rows, &after.cells), (&before.rows, &before.cells));

    // Same path, other group. The new directory exists before the old one is removed, so its inode differs.
    tree.write("sys/fs/cgroup/new/pids.current", "11\n");
    fs::remove_dir_all(tree.path("sys/fs/cgroup/app.slice")).unwrap();
    fs::rename(tree.path("sys/fs/cgroup/new"), tree.path("sys/fs/cgroup/app.slice")).unwrap();
    let other = tasks(&mut provider);
    assert_eq!(
        (other.names(), other.get("app.slice", TASK_COUNT)),
        (vec!["/", "app.slice"], &CellOutcome::Value(11))
    );
    assert_ne!(other.birth("app.slice"), before.birth("app.slice"));
    assert_eq!(other.birth("/"), before.birth("/"));
}

/// Checks that a new control group is found that replaces another control group between two collections. The kernel
/// counts subdirectories, and does not always update the directory's modification time.
#[test]
fn one_that_comes_as_another_goes() {
    let tree = Tree::copy_of("two-nodes");
    let mut provider = provider(&tree.roots());
    let parent = tree.path("sys/fs/cgroup/app.slice");
    tree.write("sys/fs/cgroup/app.slice/a/pids.current", "5\n");
    collect(&mut provider, &[TASK_COUNT], &["*"]);
    let noted = fs::metadata(&parent).unwrap().modified().unwrap();
    fs::remove_dir_all(parent.join("a")).unwrap();
    tree.write("sys/fs/cgroup/app.slice/b/pids.current", "7\n");
    fs::File::open(&parent).unwrap().set_modified(noted).unwrap();
    let after = collect(&mut provider, &[TASK_COUNT], &["app.slice/?"]);
    assert_eq!(after.names(), ["app.slice/b"]);
}

/// Checks that a control group that vanishes between listing and reading has no values, and that other groups have
/// theirs.
#[test]
fn a_group_that_vanishes_loses_only_itself() {
    use crate::provider::{Collection, InstanceSource};

    let tree = Tree::copy_of("two-nodes");
    let mut groups = CGroup::new(&tree.roots(), CLOCK_TICKS);
    let mut pass = Collection::new(7, 11);
    groups.find(&mut pass).unwrap();
    fs::remove_dir_all(tree.path("sys/fs/cgroup/app.slice/web@1.service")).unwrap();
    let mut tasks = |at| groups.value(at, PERCENT_PROCESSOR_TIME, &mut pass);
    assert!(matches!(tasks(2), Err(NoValue::Unavailable(_))));
    assert_eq!(tasks(1).unwrap().raw, 30009790);
    assert!(tasks(3).is_err(), "there is none");
}

#[test]
fn odd_names() {
    let tree = Tree::copy_of("two-nodes");
    let names: [&[u8]; 4] = [b"new\nline", b"back\\x2dslash", b"\xFF\"quoted'", b"(#1) *"];
    for name in names {
        let folder = tree.path("sys/fs/cgroup").join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("pids.current"), "5\n").unwrap();
    }
    let collected = collect(&mut provider(&tree.roots()), &[TASK_COUNT], &["*"]);
    let mut want = vec!["/", "(#1) *", "app.slice", "app.slice/web@1.service", "back_x2dslash", "new\nline"];
    want.push("\u{FFFD}\"quoted'");
    assert_eq!(collected.names(), want);
    for name in ["(#1) *", "back_x2dslash", "new\nline", "\u{FFFD}\"quoted'"] {
        assert_eq!(*collected.get(name, TASK_COUNT), CellOutcome::Value(5));
    }
}

#[test]
fn without_control_groups_there_is_no_instance() {
    assert_eq!(collect_all(&mut provider(&fixture("old-kernel"))).rows, []);
    let tree = Tree::proc_of("old-kernel");
    let mut provider = provider(&tree.roots());
    assert_eq!(collect_all(&mut provider).rows, []);
    tree.write("sys/fs/cgroup/pids/cgroup.procs", "");
    tree.write("sys/fs/cgroup/pids/a/pids.current", "3\n");
    let collected = collect_all(&mut provider);
    assert_eq!(collected.names(), ["/", "a"], "mounted a moment ago");
    assert_eq!(*collected.get("a", TASK_COUNT), CellOutcome::Value(3));
}

/// Checks that a deep tree of control groups is listed only to the maximum depth.
#[test]
fn deep_trees_end_somewhere() {
    let tree = Tree::proc_of("old-kernel");
    tree.write("sys/fs/cgroup/cgroup.controllers", "pids\n");
    tree.write(&format!("sys/fs/cgroup/{}pids.current", "a/".repeat(100)), "3\n");
    let mut provider = provider(&tree.roots());
    for _ in 0..2 {
        assert_eq!(collect(&mut provider, &[TASK_COUNT], &["*"]).rows.len(), 65);
        tree.write("sys/fs/cgroup/b/pids.current", "3\n");
        assert_eq!(collect(&mut provider, &[TASK_COUNT], &["*"]).rows.len(), 66);
        fs::remove_dir_all(tree.path("sys/fs/cgroup/b")).unwrap();
    }
}
