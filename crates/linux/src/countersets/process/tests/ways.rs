//! Tests of the choice among collection methods for processes, and of the reason for not using a cheaper one.

use std::fs;
use std::time::{Duration, Instant};

use perfset_core::InstanceIdFilter;
use perfset_engine::{InstanceFilter, InstanceFilters, Pattern};

use super::*;
use crate::countersets::process::tasks::TaskIterCollector;
use process_v2 as v2;

fn by(roots: &Roots, wish: ProcessSource) -> Processes {
    let stat = SharedFile::new(roots.proc.join("stat"), SeqFileKind::Single);
    Processes::new(roots, (stat, vmstat(roots)), (CLOCK_TICKS, PAGE_SIZE), || START_100NS, wish)
}

/// Returns the number of the collection method in use, and its description.
fn taken(processes: &mut Processes) -> (u32, String) {
    let mut rows = Rows::new([]);
    rows.start();
    let instances = InstanceFilters::default();
    let want = CollectRequest::new(&v2::COUNTERSET, &[], &instances).collection(7);
    processes.collect(&want, &mut rows).unwrap();
    (rows.layer(), processes.describe().remove(0).1.into_owned())
}

/// Returns a tree of test files, and roots with this description of the kernel's types (BTF).
fn described(btf: Option<&[u8]>) -> (Tree, Roots) {
    let tree = Tree::proc_of("processes");
    if let Some(btf) = btf {
        let path = tree.path("sys/kernel/btf/vmlinux");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, btf).unwrap();
    }
    let roots = Roots { sys: tree.roots().sys, ..Roots::default() };
    (tree, roots)
}

#[test]
fn files_where_they_were_asked_for() {
    let roots = Roots::default();
    assert_eq!(
        taken(&mut by(&roots, ProcessSource::Gate)),
        (2, "/proc files of processes that ran, others refreshed periodically; files were requested".into())
    );
    assert_eq!(
        taken(&mut by(&roots, ProcessSource::Proc)),
        (3, "/proc files of all processes, each time; files were requested".into())
    );
}

#[test]
fn files_of_another_machine() {
    for wish in [ProcessSource::Auto, ProcessSource::Bpf] {
        let (layer, about) = taken(&mut by(&fixture("processes"), wish));
        assert_eq!(layer, 3);
        let want = "/proc files of all processes, each time; these processes belong to another PID";
        assert!(about.starts_with(want), "{about}");
    }
}

#[test]
fn few_processes_are_not_worth_a_walk_at_first() {
    // Tests beside this one have thousands of threads for moments, and then BPF is cheaper at once.
    let until = Instant::now() + Duration::from_secs(30);
    let (layer, about) = loop {
        let taken = taken(&mut by(&Roots::default(), ProcessSource::Auto));
        if taken.0 == 2 || Instant::now() > until {
            break taken;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let start = "/proc files of processes that ran, others refreshed periodically; ";
    let why = about.strip_prefix(start).unwrap();
    assert_eq!(layer, 2);
    let can = why == "switches to BPF when that becomes cheaper";
    assert_eq!(can, TaskIterCollector::open(&Roots::default()).is_ok(), "{why}");
}

#[test]
fn a_walk_where_it_was_asked_for_and_can_be_had() {
    let (layer, about) = taken(&mut by(&Roots::default(), ProcessSource::Bpf));
    match TaskIterCollector::open(&Roots::default()) {
        Ok(_) => {
            assert_eq!(layer, 1);
            assert!(about.starts_with("BPF task iterator ("), "{about}");
        }
        Err(why) => assert_eq!((layer, about.ends_with(&why)), (2, true), "{about}"),
    }
}

#[test]
fn a_kernel_that_describes_nothing_or_nonsense() {
    let real = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let half = real.get(..real.len() / 2).unwrap_or_default();
    let cases: [(&str, Option<&[u8]>, &str); 5] = [
        ("none", None, "No such file or directory (os error 2) (CONFIG_DEBUG_INFO_BTF)"),
        ("empty", Some(b""), "BTF at byte 0: unexpected end"),
        ("garbage", Some(b"This is a text."), "BTF at byte 0: no type description in this byte order"),
        ("no types", Some(&NO_TYPES), "the kernel's types have no task_struct.signal"),
        ("half", Some(half), "BTF at byte "),
    ];
    for (name, btf, want) in cases {
        let (_tree, roots) = described(btf);
        let (layer, about) = taken(&mut by(&roots, ProcessSource::Bpf));
        let (_, why) = about.split_once("; ").unwrap();
        assert_eq!(layer, 2, "{name}");
        assert!(why.starts_with("BPF unavailable: "), "{name}: {why}");
        assert!(why.contains(want), "{name}: {why}");
    }
}

/// Returns roots with this kernel's description of its types (BTF), in which two names of the same length are
/// exchanged; `None` if this kernel has no description.
fn renamed(one: &str, other: &str) -> Option<(Tree, Roots)> {
    let mut bytes = fs::read("/sys/kernel/btf/vmlinux").ok()?;
    let [one, other] = [one, other].map(|name| format!("\0{name}\0").into_bytes());
    let find = |name: &[u8]| bytes.windows(name.len()).position(|bytes| bytes == name);
    let places = (find(&one).unwrap(), find(&other));
    bytes[places.0..places.0 + one.len()].copy_from_slice(&other);
    if let (_, Some(place)) = places {
        bytes[place..place + one.len()].copy_from_slice(&one);
    }
    Some(described(Some(&bytes)))
}

#[test]
fn a_kernel_that_describes_itself_otherwise() {
    let Some((_tree, roots)) = renamed("min_flt", "maj_flt") else { return };
    if TaskIterCollector::open(&Roots::default()).is_err() {
        return; // nor could one that tells the truth be walked over
    }
    let mut processes = by(&roots, ProcessSource::Bpf);
    assert_eq!(taken(&mut processes).0, 1, "nobody asked for faults");
    let all: Vec<_> = v2::COUNTERSET.counters.iter().map(|counter| counter.id).collect();
    collect_of(&mut processes, &v2::COUNTERSET, &all, &["*"]);
    let (layer, about) = taken(&mut processes);
    let want = "BPF unavailable: its data of this process differ from /proc: minor faults";
    assert_eq!((layer, about.split_once("; ").unwrap().1), (2, want));
}

#[test]
fn the_classic_iterator_says_what_plain_reading_says() {
    let Some((_tree, roots)) = renamed("bpf_iter_task_new", "bpf_iter_task_neu") else { return };
    let mut processes = by(&roots, ProcessSource::Bpf);
    let (layer, about) = taken(&mut processes);
    let classic = "BPF task iterator (classic)";
    assert!(layer == 2 || about == classic, "{about}");
    let _ = layers::conforms(
        ProcessSource::Bpf,
        layers::layered_on(&roots, ProcessSource::Bpf),
        0,
        Duration::ZERO,
    );
}

/// Checks that a task iterator with too little space is tried again later: the lack of space, or the many processes,
/// may be temporary.
#[test]
fn a_walk_that_failed_is_tried_again() {
    let Ok(mut tasks) = TaskIterCollector::open_for(&Roots::default(), 2) else { return };
    tasks.settle(); // as one that can load none with more room
    let mut ways = source::ProcessCollector::walking(&Roots::default(), tasks);
    let mut table = ProcessTable::default();
    let mut collect = |number| {
        let mut pass = Collection::new(number, elapsed_ns());
        for _ in 0..2 {
            ways.refresh(FileSet::NONE, &|_| true, &mut table, &mut pass).unwrap(); // two countersets
        }
        ways.describe()
    };
    let want = "/proc files of processes that ran, others refreshed periodically; more processes than the BPF task \
                iterator has space for; the capabilities to load a larger one were dropped; BPF is tried again later";
    for number in 1..200 {
        assert_eq!(collect(number), want, "{number}");
    }
}

/// Description of the kernel's types (BTF) that has a header, no types and one empty text.
const NO_TYPES: [u8; 25] = {
    let mut bytes = [0; 25];
    let [a, b] = 0xEB9F_u16.to_ne_bytes();
    (bytes[0], bytes[1], bytes[2]) = (a, b, 1);
    let [h0, h1, h2, h3] = 24_u32.to_ne_bytes();
    (bytes[4], bytes[5], bytes[6], bytes[7]) = (h0, h1, h2, h3);
    let [s0, s1, s2, s3] = 1_u32.to_ne_bytes();
    (bytes[20], bytes[21], bytes[22], bytes[23]) = (s0, s1, s2, s3);
    bytes
};

#[test]
fn room_grows_with_the_processes() {
    let Ok(mut tasks) = TaskIterCollector::open_for(&Roots::default(), 2) else { return };
    let (mut table, mut pass) = (ProcessTable::default(), Collection::new(1, elapsed_ns()));
    let mut files = files::ProcFiles::new(&Roots::default(), true, method::ProcessMethod::Gate);
    tasks.refresh(FileSet::NONE, &|_| true, &mut table, &mut pass, &mut files).unwrap();
    assert!(table.in_order().any(|process| process.pid == std::process::id()));
    // What can load no more says so, and is left.
    let Ok(mut tasks) = TaskIterCollector::open_for(&Roots::default(), 2) else { return };
    tasks.settle();
    let error = tasks
        .refresh(FileSet::NONE, &|_| true, &mut table, &mut Collection::new(2, 0), &mut files)
        .unwrap_err();
    let error = error.why();
    assert!(error.starts_with("more processes than the BPF task iterator has space for"), "{error}");
}

#[test]
fn process_entry_size_is_bounded() {
    assert!(size_of::<ProcessEntry>() <= 304, "{}", size_of::<ProcessEntry>()); // times ten thousand
}

/// Checks that a warm collection of processes allocates no memory, with task iterators or the CPU-clock gate.
/// Processes of the machine begin and end meanwhile, and a collection must store new ones. Collections are repeated
/// until two have the same processes, which on a busy machine takes a while.
#[test]
fn a_warm_collection_allocates_nothing() {
    let counters = [v2::PERCENT_PROCESSOR_TIME, v2::WORKING_SET, v2::IO_READ_BYTES_PER_SEC, v2::THREAD_COUNT];
    for wish in [ProcessSource::Bpf, ProcessSource::Gate] {
        let mut processes = by(&Roots::default(), wish);
        let asked = v2::COUNTERSET.counters.iter().filter(|counter| counters.contains(&counter.id));
        let mut rows = Rows::new(asked);
        let all = InstanceFilter { pattern: Pattern::new(&"*".into()), id: InstanceIdFilter::Any };
        let instances = InstanceFilters::from_iter([all]);
        let mut collect = |collection| {
            rows.start();
            let want = CollectRequest::new(&v2::COUNTERSET, &counters, &instances).collection(collection);
            processes.collect(&want, &mut rows).unwrap();
            rows.end();
        };
        (1..20).for_each(&mut collect);
        let until = Instant::now() + Duration::from_secs(30);
        let counts = (20..).map(|at| allocation_counter::measure(|| collect(at)).count_total);
        let least = counts.take_while(|count| *count > 0 && Instant::now() < until).min();
        assert!(Instant::now() < until, "{wish:?}: at least {least:?}");
        assert!(rows.len() > 1);
    }
}
