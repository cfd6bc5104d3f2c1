//! Tests of every counter of processes, of the files that it needs, and of invalid files.

use std::fs;

use super::*;
use linux_process as lp;
use process_v2 as v2;

/// Counters of Process V2 with the raw values of process 300 in the fixture.
const KNOWN_V2: [(CounterId, u64); 23] = [
    (v2::PERCENT_PROCESSOR_TIME, (2_039 + 2_053) * 40_000), // this is no /proc, so there are no clocks
    (v2::PERCENT_USER_TIME, 2_039 * 40_000),
    (v2::PERCENT_PRIVILEGED_TIME, 2_053 * 40_000),
    (v2::VIRTUAL_BYTES_PEAK, 2_237 * 1_024),
    (v2::VIRTUAL_BYTES, 8_531_968),
    (v2::PAGE_FAULTS_PER_SEC, 2_011 + 2_027),
    (v2::WORKING_SET_PEAK, 2_243 * 1_024),
    (v2::WORKING_SET, 12_113 * PAGE_SIZE),
    (v2::PAGE_FILE_BYTES, (2_267 + 2_281) * 1_024),
    (v2::PRIVATE_BYTES, (2_267 + 2_281) * 1_024),
    (v2::THREAD_COUNT, 2_081),
    (v2::PRIORITY_BASE, 8),
    (v2::ELAPSED_TIME, START_100NS + 9_001 * 40_000),
    (v2::PROCESS_ID, 300),
    (v2::CREATING_PROCESS_ID, 1),
    (v2::HANDLE_COUNT, 3),
    (v2::IO_READ_OPERATIONS_PER_SEC, 2_143),
    (v2::IO_WRITE_OPERATIONS_PER_SEC, 2_153),
    (v2::IO_DATA_OPERATIONS_PER_SEC, 2_143 + 2_153),
    (v2::IO_READ_BYTES_PER_SEC, 2_137),
    (v2::IO_WRITE_BYTES_PER_SEC, 2_141),
    (v2::IO_DATA_BYTES_PER_SEC, 2_137 + 2_141),
    (v2::WORKING_SET_PRIVATE, (12_113 - 2_129) * PAGE_SIZE),
];
const NEVER_V2: [CounterId; 5] = [
    v2::PAGE_FILE_BYTES_PEAK,
    v2::POOL_PAGED_BYTES,
    v2::POOL_NONPAGED_BYTES,
    v2::IO_OTHER_OPERATIONS_PER_SEC,
    v2::IO_OTHER_BYTES_PER_SEC,
];

#[test]
fn every_counter_of_process_v2() {
    let mut provider = provider(&fixture("processes"));
    let collected = collect_of(&mut provider, &v2::COUNTERSET, &all_of(&v2::COUNTERSET), &["a) b(:300"]);
    for (counter, value) in KNOWN_V2 {
        assert_eq!(*collected.get("a) b(:300", counter), CellOutcome::Value(value), "{counter:?}");
    }
    let missing = collected.missing("a) b(:300");
    assert_eq!(missing.keys().copied().map(CounterId).collect::<Vec<_>>(), NEVER_V2);
    assert!(missing.values().all(|reason| reason.starts_with("unavailable: ")), "{missing:?}");
    assert_eq!(KNOWN_V2.len() + NEVER_V2.len(), v2::COUNTERSET.counters.len());
}

#[test]
fn every_counter_of_process() {
    let mut provider = provider(&fixture("processes"));
    let collected =
        collect_of(&mut provider, &process::COUNTERSET, &all_of(&process::COUNTERSET), &["a) b("]);
    assert_eq!(collected.rows.len(), 1);
    for counter in &*process::COUNTERSET.counters {
        let name =
            if counter.id == process::ID_PROCESS { Some("Process ID") } else { counter.name.as_deref() };
        let same = v2::COUNTERSET.counters.iter().find(|other| other.name.as_deref() == name).unwrap();
        let want = KNOWN_V2.iter().find(|known| known.0 == same.id).map(|known| known.1);
        match (collected.get("a) b(", counter.id), want) {
            (CellOutcome::Value(value), Some(want)) => assert_eq!(*value, want, "{:?}", counter.name),
            (CellOutcome::None(NoValue::Unavailable(_)), None) => {}
            other => panic!("{:?}: {other:?}", counter.name),
        }
    }
}

#[test]
fn every_counter_of_linux_process() {
    let mut provider = provider(&fixture("processes"));
    let collected = collect_of(&mut provider, &lp::COUNTERSET, &all_of(&lp::COUNTERSET), &["a) b(:300"]);
    let text = |file: &str| fs::read_to_string(fixture("processes").proc.join("300").join(file)).unwrap();
    let (smaps, schedstat, oom) = (text("smaps_rollup"), text("schedstat"), text("oom_score"));
    let pss = smaps.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap().trim();
    let pss: u64 = pss.strip_suffix(" kB").unwrap().parse().unwrap();
    let sched: Vec<u64> = schedstat.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let known = [
        (lp::STORAGE_READ_BYTES_PER_SEC, 2_161),
        (lp::STORAGE_WRITE_BYTES_PER_SEC, 2_179),
        (lp::CANCELLED_WRITE_BYTES_PER_SEC, 2_203),
        (lp::MINOR_FAULTS_PER_SEC, 2_011),
        (lp::MAJOR_FAULTS_PER_SEC, 2_027),
        (lp::SWAP_BYTES, 2_281 * 1_024),
        (lp::PROPORTIONAL_SET_BYTES, pss * 1_024),
        (lp::PERCENT_RUN_QUEUE_WAIT_TIME, sched[1] / 100),
        (lp::TIMESLICES_PER_SEC, sched[2]),
        (lp::VOLUNTARY_CONTEXT_SWITCHES_PER_SEC, 2_293),
        (lp::INVOLUNTARY_CONTEXT_SWITCHES_PER_SEC, 2_297),
        (lp::PERCENT_BLOCK_I_O_DELAY_TIME, 2_099 * 40_000),
        (lp::OOM_SCORE, oom.trim().parse().unwrap()),
        (lp::SESSION_ID, 2_003),
        (lp::USER_ID, 1_003),
    ];
    for (counter, value) in known {
        assert_eq!(*collected.get("a) b(:300", counter), CellOutcome::Value(value), "{counter:?}");
    }
    assert_eq!(known.len(), lp::COUNTERSET.counters.len());
}

#[test]
fn every_counter_of_thread() {
    let mut provider = provider(&fixture("processes"));
    let all = all_of(&thread::COUNTERSET);
    let collected = collect_of(&mut provider, &thread::COUNTERSET, &all, &["a) b(/*", "_Total/_Total"]);
    let names = ["a) b(/300", "a) b(/301", "a) b(/302", "a) b(/303", "a) b(/304", "_Total/_Total"];
    assert_eq!(collected.names(), names);
    let of_all = |counter| names.map(|name| collected.get(name, counter).clone());
    let values = |counter| {
        of_all(counter).map(|got| match got {
            CellOutcome::Value(value) => Some(value),
            _ => None,
        })
    };
    let tids = [300, 301, 302, 303, 304];
    let file = |tid: u64, name: &str, at: usize| -> u64 {
        let path = fixture("processes").proc.join(format!("300/task/{tid}/{name}"));
        let text = fs::read_to_string(path).unwrap();
        let fields = text.rsplit_once(')').map_or(&*text, |(_, fields)| fields);
        fields.split_whitespace().nth(at).unwrap().parse().unwrap()
    };
    let checked = |counter, want: [u64; 5]| assert_eq!(values(counter)[..5], want.map(Some), "{counter:?}");
    checked(thread::PERCENT_PROCESSOR_TIME, tids.map(|tid| file(tid, "schedstat", 0) / 100));
    checked(thread::PERCENT_USER_TIME, tids.map(|tid| file(tid, "stat", 11) * 40_000));
    checked(thread::PERCENT_PRIVILEGED_TIME, tids.map(|tid| file(tid, "stat", 12) * 40_000));
    checked(thread::CONTEXT_SWITCHES_PER_SEC, tids.map(|tid| file(tid, "schedstat", 2)));
    checked(thread::ELAPSED_TIME, tids.map(|tid| START_100NS + (9_001 + tid - 300) * 40_000));
    checked(thread::PRIORITY_CURRENT, [8, 6, 6, 6, 6]);
    checked(thread::PRIORITY_BASE, [8, 6, 6, 6, 6]);
    checked(thread::THREAD_STATE, [5, 2, 5, 5, 5]);
    checked(thread::ID_PROCESS, [300; 5]);
    checked(thread::ID_THREAD, tids);
    let waits = values(thread::THREAD_WAIT_REASON);
    assert_eq!(waits, [Some(6), None, Some(0), Some(5), Some(15), None]);
    assert_eq!(values(thread::START_ADDRESS)[..5], [None; 5]);
    let missing = collected.missing("_Total/_Total");
    assert_eq!(missing[&thread::ID_THREAD.0], "unavailable: it does not add up");
    assert!(!missing.contains_key(&thread::PERCENT_USER_TIME.0));
}

#[test]
fn rows_in_order() {
    let mut provider = provider(&fixture("processes"));
    let collected = collect_of(&mut provider, &v2::COUNTERSET, &[v2::PRIORITY_BASE], &["*"]);
    let want = [
        "Idle:0",
        "init:1",
        "kthreadd:2",
        "kworker/0:1H:77",
        "a) b(:300",
        "x\ny\u{1b}[2J\":301",
        "\u{FFFD}\u{FFFD}_café:302",
        "gone:400",
        "same:402",
        "same:403",
        "old:4194303",
        "same:401",
        "_Total",
    ];
    assert_eq!(collected.names(), want);
    assert_eq!(collected.rows.iter().map(|row| row.1).collect::<Vec<_>>()[..4], [0, 1, 2, 77]);
    let priorities = want.map(|name| match collected.get(name, v2::PRIORITY_BASE) {
        CellOutcome::Value(value) => *value,
        _ => 0,
    });
    assert_eq!(priorities, [0, 8, 8, 13, 8, 23, 1, 8, 4, 10, 8, 6, 0]);
    let of_view = collect_of(&mut provider, &process::COUNTERSET, &[], &["*"]);
    let comms = want.map(|name| name.rsplit_once(':').map_or(name, |(comm, _)| comm));
    assert_eq!(of_view.names(), comms);
    assert_eq!(of_view.rows.iter().map(|row| row.2).collect::<Vec<_>>(), {
        collected.rows.iter().map(|row| row.2).collect::<Vec<_>>()
    });
    let mut rows = Rows::new([]);
    for (set, len) in [(v2::GUID, 13), (process::GUID, 13), (lp::GUID, 12), (thread::GUID, 8)] {
        rows.start();
        provider.instances(&set, &mut rows).unwrap();
        rows.end();
        assert_eq!(rows.len(), len);
    }
}

#[test]
fn resting_processors() {
    let mut provider = provider(&fixture("processes"));
    let collected = collect_of(&mut provider, &v2::COUNTERSET, &all_of(&v2::COUNTERSET), &["Idle:0"]);
    let rest = (70_001 + 307 + 80_021 + 401) * 40_000;
    assert_eq!(*collected.get("Idle:0", v2::PERCENT_PROCESSOR_TIME), CellOutcome::Value(rest));
    assert_eq!(
        *collected.get("Idle:0", v2::PERCENT_PRIVILEGED_TIME),
        CellOutcome::Value(rest),
        "the kernel rests"
    );
    assert_eq!(*collected.get("Idle:0", v2::PERCENT_USER_TIME), CellOutcome::Value(0));
    assert_eq!(collected.missing("Idle:0").len(), v2::COUNTERSET.counters.len() - 3);
}

#[test]
fn totals() {
    let mut provider = provider(&fixture("processes"));
    let collected = collect_of(&mut provider, &v2::COUNTERSET, &all_of(&v2::COUNTERSET), &["*"]);
    for counter in [v2::PAGE_FAULTS_PER_SEC, v2::WORKING_SET, v2::THREAD_COUNT, v2::PRIVATE_BYTES] {
        let rows = collected.names().into_iter().filter(|name| !["_Total", "Idle:0"].contains(name));
        let sum: u64 = rows
            .map(|name| if let CellOutcome::Value(v) = collected.get(name, counter) { *v } else { 0 })
            .sum();
        assert_eq!(*collected.get("_Total", counter), CellOutcome::Value(sum), "{counter:?}");
    }
    let none = [v2::PRIORITY_BASE, v2::ELAPSED_TIME, v2::PROCESS_ID, v2::CREATING_PROCESS_ID];
    let missing = collected.missing("_Total");
    for counter in none {
        assert_eq!(missing[&counter.0], "unavailable: it does not add up");
    }
    assert_eq!(missing.len(), none.len() + NEVER_V2.len());
    let alone = collect_of(&mut provider, &v2::COUNTERSET, &[v2::WORKING_SET], &["_Total"]);
    assert_eq!(alone.rows.len(), 1);
    assert_eq!(alone.get("_Total", v2::WORKING_SET), collected.get("_Total", v2::WORKING_SET));
}

#[test]
fn missing_memory_values_have_reasons() {
    let mut provider = provider(&fixture("processes"));
    let counters = [v2::WORKING_SET, v2::VIRTUAL_BYTES, v2::PRIVATE_BYTES, v2::WORKING_SET_PEAK];
    let collected = collect_of(&mut provider, &v2::COUNTERSET, &counters, &["*"]);
    let reasons = |name: &str| collected.missing(name).into_iter().collect::<Vec<_>>();
    let ended = "unavailable: the process has ended, and its parent has not taken note of it";
    assert_eq!(reasons("gone:400").len(), 4);
    assert!(reasons("gone:400").iter().all(|(_, reason)| reason == ended));
    for name in ["kthreadd:2", "kworker/0:1H:77"] {
        assert_eq!(*collected.get(name, v2::WORKING_SET), CellOutcome::Value(0), "the kernel says so");
        let of_kernel: Vec<_> = reasons(name).iter().map(|(counter, _)| CounterId(*counter)).collect();
        assert_eq!(of_kernel, [v2::WORKING_SET_PEAK, v2::PRIVATE_BYTES]);
    }
    let old = reasons("old:4194303");
    assert_eq!(old.len(), 1, "no RssAnon: {old:?}");
    let linux = collect_of(&mut provider, &lp::COUNTERSET, &all_of(&lp::COUNTERSET), &["old:4194303"]);
    let missing = linux.missing("old:4194303");
    let lacks: Vec<_> = missing.keys().copied().map(CounterId).collect();
    assert_eq!(
        lacks,
        [
            lp::STORAGE_READ_BYTES_PER_SEC,
            lp::STORAGE_WRITE_BYTES_PER_SEC,
            lp::CANCELLED_WRITE_BYTES_PER_SEC,
            lp::SWAP_BYTES,
            lp::PROPORTIONAL_SET_BYTES,
            lp::PERCENT_RUN_QUEUE_WAIT_TIME,
            lp::TIMESLICES_PER_SEC,
            lp::PERCENT_BLOCK_I_O_DELAY_TIME,
        ]
    );
    assert!(missing.values().all(|reason| reason.starts_with("unavailable: ")), "{missing:?}");
}

#[test]
fn delays_are_known_only_if_they_are_measured() {
    let tree = Tree::proc_of("processes");
    for (text, known) in [(Some("1\n"), true), (Some("0\n"), false), (Some("x"), false), (None, false)] {
        match text {
            Some(text) => tree.write("proc/sys/kernel/task_delayacct", text),
            None => tree.remove("proc/sys/kernel/task_delayacct"),
        }
        let counter = lp::PERCENT_BLOCK_I_O_DELAY_TIME;
        let collected = collect_of(&mut provider(&tree.roots()), &lp::COUNTERSET, &[counter], &["init:1"]);
        assert_eq!(matches!(collected.get("init:1", counter), CellOutcome::Value(_)), known, "{text:?}");
    }
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::proc_of("processes");
    let files = |set: &'static Counterset, counter: CounterId, instance: &str| {
        let mut provider = provider(&tree.roots());
        let opened = tree.opened(|| drop(collect_of(&mut provider, set, &[counter], &[instance])));
        let own = opened.into_iter().filter_map(|file| file.strip_prefix("proc/300/").map(str::to_owned));
        own.collect::<Vec<_>>()
    };
    let needs = |set: &'static Counterset, counters: &[CounterId], more: &[&str]| {
        for counter in counters {
            let mut want: Vec<_> = more.iter().copied().chain(["stat"]).collect();
            want.sort_unstable();
            assert_eq!(files(set, *counter, "*"), want, "{} {counter:?}", set.name);
            assert_eq!(files(set, *counter, "init:1"), ["stat"], "{} {counter:?}: of the others", set.name);
        }
    };
    let (of_v2, of_linux) = (&v2::COUNTERSET, &lp::COUNTERSET);
    let statm = [v2::WORKING_SET, v2::WORKING_SET_PRIVATE];
    let io = [v2::IO_READ_BYTES_PER_SEC, v2::IO_DATA_OPERATIONS_PER_SEC];
    let status = [v2::WORKING_SET_PEAK, v2::VIRTUAL_BYTES_PEAK, v2::PRIVATE_BYTES, v2::PAGE_FILE_BYTES];
    needs(of_v2, &NEVER_V2, &[]);
    needs(of_v2, &[v2::PROCESS_ID, v2::ELAPSED_TIME, v2::PAGE_FAULTS_PER_SEC, v2::VIRTUAL_BYTES], &[]);
    needs(of_v2, &statm, &["statm"]);
    needs(of_v2, &io, &["io"]);
    needs(of_v2, &status, &["status"]);
    needs(of_v2, &[v2::HANDLE_COUNT], &["fd/"]);
    needs(of_linux, &[lp::STORAGE_READ_BYTES_PER_SEC], &["io"]);
    needs(of_linux, &[lp::SWAP_BYTES, lp::VOLUNTARY_CONTEXT_SWITCHES_PER_SEC, lp::USER_ID], &["status"]);
    needs(of_linux, &[lp::TIMESLICES_PER_SEC, lp::PERCENT_RUN_QUEUE_WAIT_TIME], &["schedstat"]);
    needs(of_linux, &[lp::PROPORTIONAL_SET_BYTES], &["smaps_rollup"]);
    needs(of_linux, &[lp::OOM_SCORE], &["oom_score"]);
    let threads = files(&thread::COUNTERSET, thread::PERCENT_PROCESSOR_TIME, "*");
    assert_eq!(threads.len(), 2 + 5 * 2, "{threads:?}"); // stat, task/, and two files of five threads

    let outside = |counter| {
        let mut provider = provider(&tree.roots());
        let opened = tree.opened(|| drop(collect_of(&mut provider, of_v2, &[counter], &["*"])));
        opened
            .into_iter()
            .filter(|file| !file.ends_with('/') && file.matches('/').count() < 2)
            .collect::<Vec<_>>()
    };
    assert_eq!(outside(v2::PERCENT_PROCESSOR_TIME), ["proc/stat"], "for Idle");
    assert_eq!(outside(v2::WORKING_SET), [""; 0]);
}

#[test]
fn a_fault_costs_only_what_the_file_feeds() {
    let lost = |collected: &Collected| {
        let missing = collected.missing("a) b(:300").into_iter();
        let lost = missing.filter(|(counter, _)| !NEVER_V2.contains(&CounterId(*counter)));
        lost.map(|(counter, reason)| (CounterId(counter), reason)).collect::<Vec<_>>()
    };
    let of_io = [
        v2::IO_READ_OPERATIONS_PER_SEC,
        v2::IO_WRITE_OPERATIONS_PER_SEC,
        v2::IO_DATA_OPERATIONS_PER_SEC,
        v2::IO_READ_BYTES_PER_SEC,
        v2::IO_WRITE_BYTES_PER_SEC,
        v2::IO_DATA_BYTES_PER_SEC,
    ];
    let of_status = [v2::VIRTUAL_BYTES_PEAK, v2::WORKING_SET_PEAK, v2::PAGE_FILE_BYTES, v2::PRIVATE_BYTES];
    let huge = "7 ".repeat(40_000);
    for (file, feeds) in [
        ("statm", &[v2::WORKING_SET, v2::WORKING_SET_PRIVATE][..]),
        ("io", &of_io),
        ("status", &of_status),
        ("fd", &[v2::HANDLE_COUNT]),
    ] {
        for (fault, text) in
            [("missing", None), ("empty", Some("")), ("garbage", Some("x\n")), ("huge", Some(&*huge))]
        {
            let tree = Tree::proc_of("processes");
            let path = tree.path(&format!("proc/300/{file}"));
            let removed = if file == "fd" { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.unwrap();
            if let Some(text) = text {
                fs::write(&path, text).unwrap();
            }
            let all = all_of(&v2::COUNTERSET);
            let collected = collect_of(&mut provider(&tree.roots()), &v2::COUNTERSET, &all, &["*"]);
            assert_eq!(collected.rows.len(), 13, "{file} {fault}");
            let lost = lost(&collected);
            assert_eq!(lost.iter().map(|lost| lost.0).collect::<Vec<_>>(), feeds, "{file} {fault}");
            let why = match fault {
                "missing" => {
                    "unavailable: the process has just ended, or this kernel has no such file".to_owned()
                }
                _ => path.display().to_string(),
            };
            assert!(lost.iter().all(|lost| lost.1.contains(&why)), "{file} {fault}: {lost:?}");
        }
    }
    let line = |file: &str, from: &str, to: &str, counter| {
        let tree = Tree::proc_of("processes");
        let file = format!("proc/300/{file}");
        tree.write(&file, &tree.text(&file).replace(from, to));
        let all = all_of(&v2::COUNTERSET);
        let lost = lost(&collect_of(&mut provider(&tree.roots()), &v2::COUNTERSET, &all, &["*"]));
        assert!(lost.iter().any(|lost| lost.0 == counter), "{lost:?}");
        lost.len()
    };
    assert_eq!(line("io", "wchar: ", "wchar: x", v2::IO_WRITE_BYTES_PER_SEC), 2, "and the sum");
    assert_eq!(line("status", "2237 kB", "2237 MB", v2::VIRTUAL_BYTES_PEAK), 1);
}

#[test]
fn a_process_whose_stat_makes_no_sense_is_there_all_the_same() {
    for text in ["", "x\n", "300 (x", "300 (x) S 1\n", &"7".repeat(100_000)] {
        let tree = Tree::proc_of("processes");
        let mut known = provider(&tree.roots());
        let counters = [v2::WORKING_SET, v2::THREAD_COUNT, v2::IO_READ_BYTES_PER_SEC];
        collect_of(&mut known, &v2::COUNTERSET, &counters, &["*"]);
        tree.write("proc/300/stat", text);
        for (provider, name) in [(&mut known, "a) b(:300"), (&mut provider(&tree.roots()), "?:300")] {
            let collected = collect_of(provider, &v2::COUNTERSET, &counters, &["*"]);
            assert_eq!(collected.rows.len(), 13, "{name} {:.20}", text);
            assert_eq!(*collected.get(name, v2::IO_READ_BYTES_PER_SEC), CellOutcome::Value(2_137));
            let failed = collected.get(name, v2::THREAD_COUNT);
            assert!(matches!(failed, CellOutcome::None(NoValue::Failed(_))), "{failed:?}");
        }
    }
    let tree = Tree::proc_of("processes");
    tree.remove("proc/300/stat");
    let collected = collect_of(&mut provider(&tree.roots()), &v2::COUNTERSET, &[v2::THREAD_COUNT], &["*"]);
    assert_eq!(collected.rows.len(), 12, "it has ended");
}

#[test]
fn no_processes_can_be_listed() {
    let tree = Tree::proc_of("processes");
    let roots = Roots { proc: tree.path("proc/nowhere"), ..tree.roots() };
    let mut rows = Rows::new([]);
    let error = provider(&roots).instances(&v2::GUID, &mut rows).unwrap_err();
    let SourceError::Failed(why) = error else { panic!("{error}") };
    assert!(why.contains("nowhere") && why.contains("No such file"), "{why}");
}

#[test]
fn processes_that_can_be_listed_no_more() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    collect_of(&mut provider, &v2::COUNTERSET, &[v2::WORKING_SET], &["*"]);
    std::fs::rename(tree.path("proc/"), tree.path("proc/").with_file_name("elsewhere")).unwrap();
    let error = try_collect_of(&mut provider, &v2::COUNTERSET, &[v2::WORKING_SET], &["*"]).unwrap_err();
    let root = tree.roots().proc.display().to_string();
    let SourceError::Failed(why) = error else { panic!("{error}") };
    assert!(why.trim_start_matches(&root).trim_start_matches('/').starts_with(": cannot be read"), "{why}");
}

#[test]
fn a_process_whose_first_thread_has_ended() {
    let tree = Tree::proc_of("processes");
    tree.write("proc/400/stat", &tree.text("proc/400/stat").replace(" 20 0 1 0 9041 ", " 20 0 7 0 9041 "));
    let counters = [v2::THREAD_COUNT, v2::WORKING_SET];
    let collected = collect_of(&mut provider(&tree.roots()), &v2::COUNTERSET, &counters, &["gone:400"]);
    assert_eq!(*collected.get("gone:400", v2::THREAD_COUNT), CellOutcome::Value(7));
    let why = "unavailable: the first thread of the process has ended, which alone shows its memory";
    assert_eq!(collected.missing("gone:400")[&v2::WORKING_SET.0], why);
}

/// Checks that a kernel thread has no proportional set size: for its file the kernel reports that there is no such
/// process.
#[test]
fn the_shared_memory_of_a_thread_of_the_kernel() {
    let tree = Tree::proc_of("processes");
    let counter = lp::PROPORTIONAL_SET_BYTES;
    let missing = || {
        let collected =
            collect_of(&mut provider(&tree.roots()), &lp::COUNTERSET, &[counter], &["kthreadd:2"]);
        collected.missing("kthreadd:2")
    };
    let empty = missing();
    tree.remove("proc/2/smaps_rollup");
    assert!(empty[&counter.0].contains("a thread of the kernel"), "{empty:?}");
    assert_eq!(missing(), empty);
}

#[test]
fn processors_that_went_take_their_rest_along() {
    let tree = Tree::proc_of("processes");
    let mut provider = provider(&tree.roots());
    let text = tree.text("proc/stat");
    let mut rest = |text: &str| {
        tree.write("proc/stat", text);
        let counter = v2::PERCENT_PROCESSOR_TIME;
        collect_of(&mut provider, &v2::COUNTERSET, &[counter], &["Idle:0"]).get("Idle:0", counter).clone()
    };
    let all = (70_001 + 307 + 80_021 + 401) * 40_000;
    assert_eq!(rest(&text), CellOutcome::Value(all));
    assert_eq!(rest(&text.replace("80021", "80019")), CellOutcome::Held(all));
    let one = text.lines().filter(|line| !line.starts_with("cpu1")).collect::<Vec<_>>().join("\n");
    assert_eq!(rest(&format!("{one}\n")), CellOutcome::Value((70_001 + 307) * 40_000));
}
