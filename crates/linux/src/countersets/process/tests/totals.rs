//! Tests of `_Total` while processes begin, end and cannot be read, and while processors come and go.

use std::collections::BTreeMap;

use super::*;
use process_v2 as v2;

/// Makes the test tree a `/proc` of the first PID namespace, so that the kernel's sums are those of the listed
/// processes.
fn of_machine(tree: &Tree) {
    let folder = tree.path("proc/1/ns");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("pid:[4026531836]", folder.join("pid")).unwrap();
}

fn number(collected: &Collected, instance: &str, counter: CounterId) -> Option<u64> {
    match collected.get(instance, counter) {
        CellOutcome::None(_) => None,
        CellOutcome::Value(value)
        | CellOutcome::Held(value)
        | CellOutcome::Reused(value)
        | CellOutcome::Partial(value, _) => Some(*value),
    }
}

fn total(provider: &mut Processes, counters: &[CounterId]) -> Vec<CellOutcome> {
    let collected = collect_of(provider, &v2::COUNTERSET, counters, &["_Total"]);
    counters.iter().map(|counter| collected.get("_Total", *counter).clone()).collect()
}

/// Checks that a total of processes does not fall for counts when a process ends, and falls for levels such as Thread
/// Count.
#[test]
fn a_total_keeps_what_ended_processes_used() {
    let tree = Tree::proc_of("processes");
    let counts = [v2::PERCENT_USER_TIME, v2::PAGE_FAULTS_PER_SEC, v2::IO_READ_BYTES_PER_SEC];
    let mut provider = provider(&tree.roots());
    let before = total(&mut provider, &counts);
    let [threads] = &total(&mut provider, &[v2::THREAD_COUNT])[..] else { panic!() };
    let of_one = collect_of(&mut provider, &v2::COUNTERSET, &[v2::THREAD_COUNT], &["a) b(:300"]);
    std::fs::remove_dir_all(tree.path("proc/300")).unwrap();
    assert_eq!(total(&mut provider, &counts), before);
    let [left] = &total(&mut provider, &[v2::THREAD_COUNT])[..] else { panic!() };
    let ended = number(&of_one, "a) b(:300", v2::THREAD_COUNT).unwrap();
    assert!(
        matches!((threads, left), (CellOutcome::Value(all), CellOutcome::Value(left)) if all - ended == *left)
    );
}

/// Checks that the I/O of an ended process is in the total once, though the kernel adds this I/O to the parent
/// process.
#[test]
fn io_of_ended_children_counts_once() {
    let tree = Tree::proc_of("processes");
    let counter = v2::IO_READ_BYTES_PER_SEC;
    let mut provider = provider(&tree.roots());
    let mut read = || match total(&mut provider, &[counter])[..] {
        [CellOutcome::Value(all)] => all,
        ref other => panic!("{other:?}"),
    };
    let rises = |pid: u32, by: u64| {
        let (path, rchar) =
            (format!("proc/{pid}/io"), |line: &str| line.strip_prefix("rchar: ")?.parse().ok());
        let text = tree.text(&path);
        let old: u64 = text.lines().find_map(rchar).unwrap();
        tree.write(&path, &text.replace(&format!("rchar: {old}"), &format!("rchar: {}", old + by)));
        old
    };
    let began = read();
    rises(300, 5_000);
    assert_eq!(read(), began + 5_000);
    // It reads 11 more and ends, its parent 7.
    let child = rises(300, 11) + 11;
    std::fs::remove_dir_all(tree.path("proc/300")).unwrap();
    rises(1, child + 7);
    assert_eq!(read(), began + 5_018);
    // One whose parent does not take over anything keeps what it had.
    std::fs::remove_dir_all(tree.path("proc/301")).unwrap();
    rises(1, 1);
    assert_eq!(read(), began + 5_019);
}

/// Checks that a total of processes is partial while a process is hidden, and has its I/O once after the parent
/// inherits this I/O.
#[test]
fn a_hidden_process_is_missing() {
    use crate::faults::kernel::{Answers, install};
    let tree = Tree::proc_of("processes");
    let own = std::process::id();
    tree.write("proc/self/status", &format!("NSpid:\t{own}\n"));
    let pids = [1, 2, 77, 300, 301, 302, 400, 401, 402, 403, 4_194_303, own];
    let mut clocks: BTreeMap<u32, u64> = pids.into_iter().map(|pid| (pid, 1_000)).collect();
    let set = |clocks: &BTreeMap<u32, u64>| {
        install(Some(Answers {
            monotonic_ns: 9_000_000_000,
            cpu_clocks: clocks.clone(),
            ..Answers::default()
        }));
    };
    set(&clocks);
    let roots = tree.roots();
    let stat = SharedFile::new(roots.proc.join("stat"), SeqFileKind::Single);
    let (shared, units) = ((stat, vmstat(&roots)), (CLOCK_TICKS, PAGE_SIZE));
    let mut provider = Processes::new(&roots, shared, units, || START_100NS, ProcessSource::Gate);
    let counters = [v2::IO_READ_BYTES_PER_SEC, v2::PERCENT_PROCESSOR_TIME, v2::THREAD_COUNT];
    let begun = total(&mut provider, &counters);
    let [CellOutcome::Value(all), CellOutcome::Value(time), CellOutcome::Value(threads)] = begun[..] else {
        panic!("{begun:?}")
    };

    let (folder, away) = (tree.path("proc/300"), tree.path("proc/away"));
    std::fs::rename(&folder, &away).unwrap();
    let hidden = total(&mut provider, &counters);
    assert!(
        matches!(hidden[..], [CellOutcome::Partial(a, 1), CellOutcome::Partial(b, 1), CellOutcome::Value(c)]
            if a == all && b == time && c < threads),
        "a level is that of the rows: {hidden:?}"
    );
    // It is shown again, with what it read meanwhile.
    std::fs::rename(&away, &folder).unwrap();
    let text = tree.text("proc/300/io");
    tree.write("proc/300/io", &text.replace("rchar: 2137", "rchar: 2187"));
    clocks.insert(300, 2_000);
    set(&clocks);
    assert_eq!(total(&mut provider, &counters[..1]), [CellOutcome::Value(all + 50)]);
    // It is hidden again, reads 11 more and ends. Its parent reads 7.
    std::fs::rename(&folder, &away).unwrap();
    assert_eq!(total(&mut provider, &counters[..1]), [CellOutcome::Partial(all + 50, 1)]);
    let text = tree.text("proc/1/io");
    let rchar = |line: &str| line.strip_prefix("rchar: ")?.parse::<u64>().ok();
    let of_parent = text.lines().find_map(rchar).unwrap();
    let more = format!("rchar: {}", of_parent + 2_187 + 11 + 7);
    tree.write("proc/1/io", &text.replace(&format!("rchar: {of_parent}"), &more));
    clocks.remove(&300);
    clocks.insert(1, 2_000);
    set(&clocks);
    assert_eq!(total(&mut provider, &counters[..1]), [CellOutcome::Value(all + 68)]);
    install(None);
}

/// Checks that a total of processes is partial, not complete, after the file of one process's count has disappeared.
#[test]
fn a_count_without_its_file_is_missing() {
    let tree = Tree::proc_of("processes");
    let counter = v2::IO_READ_BYTES_PER_SEC;
    let mut provider = provider(&tree.roots());
    let [CellOutcome::Value(all)] = total(&mut provider, &[counter])[..] else { panic!() };
    let text = tree.text("proc/300/io");
    tree.remove("proc/300/io");
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Partial(all, 1)]);
    tree.write("proc/300/io", &text.replace("rchar: 2137", "rchar: 2147"));
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Value(all + 10)]);
}

/// Checks that a total of processes lacks only the counts of one process while a file of that process is invalid.
#[test]
fn a_total_of_some_processes() {
    let tree = Tree::proc_of("processes");
    let counter = v2::IO_READ_BYTES_PER_SEC;
    let [CellOutcome::Value(all)] = total(&mut provider(&tree.roots()), &[counter])[..] else { panic!() };
    let text = tree.text("proc/300/io");
    tree.write("proc/300/io", "x\n");
    let mut provider = provider(&tree.roots());
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Partial(all - 2_137, 1)]);
    tree.write("proc/300/io", &text);
    assert_eq!(
        total(&mut provider, &[counter]),
        [CellOutcome::Value(all - 2_137)],
        "it adds what it reads from now on"
    );
    tree.write("proc/300/io", &text.replace("rchar: 2137", "rchar: 2140"));
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Value(all - 2_134)]);
    tree.write("proc/300/io", "x\n");
    assert_eq!(
        total(&mut provider, &[counter]),
        [CellOutcome::Partial(all - 2_134, 1)],
        "what it has read stays"
    );
    tree.write("proc/300/io", &text.replace("rchar: 2137", "rchar: 2150"));
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Value(all - 2_124)]);
    tree.write("proc/300/io", &text.replace("rchar: 2137", "rchar: 9"));
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Partial(all - 2_124, 1)], "it was reset");
    tree.write("proc/300/io", &text.replace("rchar: 2137", "rchar: 11"));
    assert_eq!(total(&mut provider, &[counter]), [CellOutcome::Value(all - 2_122)]);
}

/// Checks that there is no total of processes if no process can be read. The reason is that of the processes, not
/// that of `Idle`, which never has such a value.
#[test]
fn a_total_of_nothing() {
    let tree = Tree::proc_of("processes");
    for pid in [1, 2, 77, 300, 301, 302, 400, 401, 402, 403, 4_194_303] {
        tree.write(&format!("proc/{pid}/io"), "x\n");
    }
    let got = total(&mut provider(&tree.roots()), &[v2::IO_READ_BYTES_PER_SEC]);
    assert!(matches!(&got[..], [CellOutcome::None(NoValue::Failed(_))]), "{got:?}");
}

/// Checks that the total of processes keeps the counts of over a thousand processes, each of which lived for one
/// collection.
#[test]
fn processes_that_come_and_go() {
    let tree = Tree::proc_of("processes");
    let counters = [v2::PERCENT_PRIVILEGED_TIME, v2::IO_WRITE_BYTES_PER_SEC, v2::PAGE_FAULTS_PER_SEC];
    let mut provider = provider(&tree.roots());
    let values = |got: Vec<CellOutcome>| -> Vec<u64> {
        got.iter()
            .map(|got| if let CellOutcome::Value(value) = got { *value } else { panic!("{got:?}") })
            .collect()
    };
    let mut want = values(total(&mut provider, &counters));
    let (stat, io) = (tree.text("proc/300/stat"), tree.text("proc/300/io"));
    let begin = |pid: u64, start: u64| {
        let stat = stat.replace("300 (", &format!("{pid} (")).replace(" 9001 ", &format!(" {start} "));
        tree.write(&format!("proc/{pid}/stat"), &stat);
        tree.write(&format!("proc/{pid}/io"), &io);
    };
    let of = |text: &str, at: usize| {
        text.rsplit_once(") ").unwrap().1.split(' ').nth(at).unwrap().parse::<u64>().unwrap()
    };
    let one = [of(&stat, 12) * 40_000, 2_141, of(&stat, 7) + of(&stat, 9)];
    for round in 0..12_u64 {
        let now = (crate::clock::time_100ns().unsigned_abs() - START_100NS) / 40_000;
        (0..100).for_each(|nth| begin(1_000 + round * 100 + nth, now));
        want.iter_mut().zip(one).for_each(|(want, one)| *want += one * 100);
        assert_eq!(values(total(&mut provider, &counters)), want, "{round}");
        (0..100).for_each(|nth| {
            std::fs::remove_dir_all(tree.path(&format!("proc/{}", 1_000 + round * 100 + nth))).unwrap()
        });
    }
    assert_eq!(values(total(&mut provider, &counters)), want, "all have ended");
    begin(9_000, 7);
    assert_eq!(values(total(&mut provider, &counters)), want, "it was there before, and nobody saw it");
}

/// Checks that the totals of processes in two queries with different counters and intervals do not disturb each
/// other.
#[test]
fn two_queries() {
    let tree = Tree::proc_of("processes");
    let (read, written) = (v2::IO_READ_BYTES_PER_SEC, v2::IO_WRITE_BYTES_PER_SEC);
    let mut provider = provider(&tree.roots());
    let often = collect_of(&mut provider, &v2::COUNTERSET, &[read], &["_Total"]);
    let seldom = collect_of(&mut provider, &v2::COUNTERSET, &[read, written], &["*"]);
    let text = tree.text("proc/300/io");
    for more in 1..=20 {
        tree.write("proc/300/io", &text.replace(": 21", &format!(": {more}21")));
        let now = collect_of(&mut provider, &v2::COUNTERSET, &[read], &["_Total"]);
        assert_eq!(now.since("_Total", read), often.since("_Total", read));
    }
    let now = collect_of(&mut provider, &v2::COUNTERSET, &[read, written], &["*"]);
    for counter in [read, written] {
        let counted =
            |instance| number(&now, instance, counter).unwrap() - number(&seldom, instance, counter).unwrap();
        assert_eq!(counted("_Total"), counted("a) b(:300"));
        assert!(
            counted("_Total") > 10_000 && now.since("_Total", counter) == seldom.since("_Total", counter)
        );
    }
    assert_ne!(now.since("_Total", read), now.since("_Total", written), "each began when it was asked for");
}

/// Checks that the totals of reads and of writes by processes add up to the total of both, though one was kept for
/// longer.
#[test]
fn halves_of_a_total() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    total(&mut provider, &[v2::IO_READ_BYTES_PER_SEC, v2::IO_WRITE_OPERATIONS_PER_SEC]);
    std::fs::remove_dir_all(tree.path("proc/300")).unwrap();
    total(&mut provider, &[v2::IO_READ_BYTES_PER_SEC]);
    let wholes = [v2::IO_DATA_BYTES_PER_SEC, v2::IO_DATA_OPERATIONS_PER_SEC];
    let halves = [
        [v2::IO_READ_BYTES_PER_SEC, v2::IO_WRITE_BYTES_PER_SEC],
        [v2::IO_READ_OPERATIONS_PER_SEC, v2::IO_WRITE_OPERATIONS_PER_SEC],
    ];
    let now = collect_of(&mut provider, &v2::COUNTERSET, &all_of(&v2::COUNTERSET), &["*"]);
    for (whole, halves) in wholes.into_iter().zip(halves) {
        let [a, b] = halves.map(|half| number(&now, "_Total", half).unwrap());
        assert_eq!(number(&now, "_Total", whole), Some(a + b));
        let since = halves.map(|half| now.since("_Total", half));
        assert_eq!(
            now.since("_Total", whole),
            since.into_iter().max().flatten(),
            "both are counted since then"
        );
        let rows = now.names().into_iter().filter(|name| !["_Total", "Idle:0"].contains(name));
        let sum: u64 = rows.filter_map(|name| number(&now, name, whole)).sum();
        assert!(a + b > sum, "what ended stays in the half that was kept");
    }
}

/// Checks that a process that changes its name is the same process in the total.
#[test]
fn a_new_name_counts_once() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    let before = total(&mut provider, &[v2::PERCENT_USER_TIME]);
    tree.write("proc/300/stat", &tree.text("proc/300/stat").replace("(a) b()", "(other)"));
    assert_eq!(total(&mut provider, &[v2::PERCENT_USER_TIME]), before);
}

/// Checks that `_Total` of processes has the kernel's own sums, which include idle time and counts that belong to no
/// row.
#[test]
fn sums_of_the_kernel() {
    let tree = Tree::proc_of("processes");
    of_machine(&tree);
    tree.write(
        "proc/stat",
        "cpu  0 0 0 0\ncpu0 2 3 5 7 11 13 17 19 1 1\ncpu1 200 300 500 700 1100 1300 1700 1900 0 0\nintr 1\n",
    );
    tree.write("proc/vmstat", "nr_free_pages 7\npgfault 1000003\npgmajfault 1003\n");
    let mut provider = provider(&tree.roots());
    let times = [v2::PERCENT_PROCESSOR_TIME, v2::PERCENT_USER_TIME, v2::PERCENT_PRIVILEGED_TIME];
    let all = collect_of(&mut provider, &v2::COUNTERSET, &all_of(&v2::COUNTERSET), &["*"]);
    let of = |cpu0: u64, cpu1: u64| Some((cpu0 + cpu1) * 40_000);
    let want = [of(77, 7_700), of(5, 500), of(72, 7_200)];
    assert_eq!(times.map(|counter| number(&all, "_Total", counter)), want);
    assert_eq!(times.map(|counter| number(&all, "Idle:0", counter)), [of(18, 1_800), Some(0), of(18, 1_800)]);
    assert_eq!(number(&all, "_Total", v2::PAGE_FAULTS_PER_SEC), Some(1_000_003));
    let linux = [linux_process::MINOR_FAULTS_PER_SEC, linux_process::MAJOR_FAULTS_PER_SEC];
    let faults = collect_of(&mut provider, &linux_process::COUNTERSET, &linux, &["_Total"]);
    assert_eq!(linux.map(|counter| number(&faults, "_Total", counter)), [Some(999_000), Some(1_003)]);
}

/// Checks that `_Total` is the sum of the rows, `Idle` included, if the kernel's sums include processes that are not
/// listed.
#[test]
fn sums_of_the_rows() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    let times = [v2::PERCENT_PROCESSOR_TIME, v2::PERCENT_USER_TIME, v2::PERCENT_PRIVILEGED_TIME];
    let all = collect_of(&mut provider, &v2::COUNTERSET, &times, &["*"]);
    for counter in times {
        let rows = all.names().into_iter().filter(|name| *name != "_Total");
        let sum: u64 = rows.map(|name| number(&all, name, counter).unwrap()).sum();
        assert_eq!(*all.get("_Total", counter), CellOutcome::Value(sum), "{counter:?}");
    }
}

/// Checks that idle times of two collections are not compared if the set of processors changed, or if a processor
/// restarted its count.
#[test]
fn processors_that_come_and_go_make_another_idle() {
    let times = [v2::PERCENT_PROCESSOR_TIME, v2::PERCENT_PRIVILEGED_TIME];
    for is_of_machine in [true, false] {
        let tree = Tree::proc_of("processes");
        if is_of_machine {
            of_machine(&tree);
        }
        let mut provider = provider(&tree.roots());
        let both = tree.text("proc/stat");
        let anew = both.replace("80021", "1");
        let one: String =
            both.lines().filter(|line| !line.starts_with("cpu1 ")).map(|line| format!("{line}\n")).collect();
        let mut seen = Vec::new();
        for (text, is_other) in [
            (&both, false),
            (&both, false),
            (&one, true),
            (&one, false),
            (&both, true),
            (&both, false),
            (&anew, true),
            (&anew, false),
        ] {
            tree.write("proc/stat", text);
            let now = collect_of(&mut provider, &v2::COUNTERSET, &times, &["*"]);
            let since =
                ["Idle:0", "_Total"].map(|name| times.map(|counter| now.since(name, counter).unwrap()));
            let mut before = seen.iter();
            match (is_other, seen.last()) {
                (true, _) => assert!(before.all(|before| before != &since), "{is_of_machine} {text}"),
                (false, Some(before)) => assert_eq!(*before, since, "{is_of_machine} {text}"),
                (false, None) => {}
            }
            seen.push(since);
        }
    }
}
