//! Tests of the overview over scripted machines, and of the table of findings.

mod lists;

use super::*;
use crate::clock::SystemTime;

fn state() -> MachineState {
    MachineState {
        time: SystemTime::default(),
        interval: Some(1.0),
        up_time: Ok(90_000.0),
        load: [Ok(0.5), Ok(0.4), Ok(0.3)],
        process_count: Ok(100.0),
        running: Ok(1.0),
        blocked: Ok(0.0),
        processors: ProcessorState {
            count: 2,
            busy: Ok(10.0),
            user: Ok(6.0),
            kernel: Ok(4.0),
            io_wait: Ok(0.0),
            steal: Ok(0.0),
        },
        memory: MemoryState {
            total: Ok(4e9),
            available: Ok(3e9),
            swap_total: Ok(1e9),
            swap_free: Ok(1e9),
            swap_in: Ok(0.0),
            swap_out: Ok(0.0),
            kills: Ok(0.0),
        },
        pressure: PressureState {
            processors: Ok(0.0),
            memory: Ok(0.0),
            memory_full: Ok(0.0),
            storage: Ok(0.0),
            storage_full: Ok(0.0),
        },
        disks: Vec::new(),
        file_systems: Vec::new(),
        interfaces: Vec::new(),
        tcp: TcpState { sent: Ok(100.0), retransmitted: Ok(0.0) },
        processes: Vec::new(),
        process_time: Err(NoValue::NotGiven),
        refused: None,
        groups_by_time: Vec::new(),
        groups_by_memory: Vec::new(),
        no_groups: Some(NoValue::NotGiven),
        findings: Vec::new(),
        unchecked: Vec::new(),
        changes: Changes::default(),
    }
}

fn disk(busy: f64, read_latency: StateValue, write_latency: StateValue) -> DiskState {
    DiskState {
        name: "sda".into(),
        id: 0,
        birth: None,
        busy: Ok(busy),
        read: Ok(1e6),
        written: Ok(1e6),
        read_latency,
        write_latency,
        queue: Ok(1.0),
    }
}

/// Returns the state of a file system of 1 GB with a share of free space.
fn file_system(name: &str, free_percent: f64) -> FileSystemState {
    FileSystemState { name: name.into(), free: Ok(free_percent * 1e7), size: Ok(1e9) }
}

fn process(name: &str, processor_time: f64, memory: f64) -> ProcessState {
    ProcessState {
        name: name.into(),
        id: 1,
        birth: None,
        processor_time: Ok(processor_time),
        memory: Ok(memory),
        read: Ok(0.0),
        written: Ok(0.0),
        age: Ok(7_200.0),
    }
}

/// Each rule for findings finds what its condition says, and nothing just below its limit.
#[test]
fn every_rule_finds_its_condition() {
    let none = || Err(NoValue::NotGiven);
    type StateChange = Box<dyn Fn(&mut MachineState)>;
    let cases: Vec<(&str, StateChange, StateChange, &str)> = vec![
        (
            "out-of-memory",
            Box::new(|s| s.memory.kills = Ok(0.5)),
            Box::new(|s| s.memory.kills = Ok(0.0)),
            "the kernel ended a process for lack of memory",
        ),
        (
            "file-system-full",
            Box::new(|s| {
                s.file_systems = vec![file_system("/", 7.0)];
            }),
            Box::new(|s| {
                s.file_systems = vec![file_system("/", 10.0)];
            }),
            "/ is 93 % full, 66.8 MiB are free",
        ),
        (
            "memory-low",
            Box::new(|s| {
                s.memory.available = Ok(4e7);
                s.processes = vec![process("small:1", 0.0, 1e6), process("big:2", 0.0, 3e9)];
            }),
            Box::new(|s| s.memory.available = Ok(2.1e8)),
            "only 1.0 % of the memory is available; big:2 uses 2.8 GiB",
        ),
        (
            "swapping",
            Box::new(|s| (s.memory.swap_in, s.memory.swap_out) = (Ok(20.0), Ok(1_500.0))),
            Box::new(|s| (s.memory.swap_in, s.memory.swap_out) = (Ok(20.0), Ok(29.0))),
            "memory is swapped: 20 pages in, 1,500 pages out per second",
        ),
        (
            "memory-pressure",
            Box::new(|s| s.pressure.memory = Ok(12.0)),
            Box::new(|s| s.pressure.memory = Ok(9.9)),
            "tasks wait for memory in 12 % of the time",
        ),
        (
            "storage-pressure",
            Box::new(|s| s.pressure.storage = Ok(45.0)),
            Box::new(|s| s.pressure.storage = Ok(19.0)),
            "tasks wait for storage in 45 % of the time",
        ),
        (
            "disk-busy",
            Box::new(move |s| s.disks = vec![disk(93.4, none(), Ok(0.041))]),
            Box::new(move |s| s.disks = vec![disk(79.0, Ok(0.001), Ok(0.001))]),
            "sda is 93 % busy, 41.0 ms per write",
        ),
        (
            "disk-busy",
            Box::new(|s| s.disks = vec![disk(99.0, Ok(0.0002), Ok(0.0004))]),
            Box::new(|s| s.disks = vec![disk(79.0, Ok(0.001), Ok(0.001))]),
            "sda is 99 % busy and fast: 200.0 µs per read, 400.0 µs per write",
        ),
        (
            "disk-slow",
            Box::new(|s| s.disks = vec![disk(8.0, Ok(0.25), Ok(0.002))]),
            Box::new(|s| s.disks = vec![disk(8.0, Ok(0.09), Ok(0.002))]),
            "sda is slow: 250.0 ms per read, 2.0 ms per write, at 8.0 % busy",
        ),
        (
            "processors-busy",
            Box::new(|s| {
                s.processors.busy = Ok(97.0);
                s.processes = vec![process("make:5", 12.0, 1e6), process("yes:9", 180.0, 1e6)];
            }),
            Box::new(|s| s.processors.busy = Ok(89.0)),
            "the processors are 97 % busy; yes:9 uses 180 % of one",
        ),
        (
            "processor-pressure",
            Box::new(|s| s.pressure.processors = Ok(60.0)),
            Box::new(|s| s.pressure.processors = Ok(49.0)),
            "tasks wait for a processor in 60 % of the time",
        ),
        (
            "steal",
            Box::new(|s| s.processors.steal = Ok(15.0)),
            Box::new(|s| s.processors.steal = Ok(9.0)),
            "the hypervisor takes 15 % of the processors' time",
        ),
        (
            "packets-lost",
            Box::new(|s| s.interfaces = vec![interface(Ok(120.0), Ok(0.0))]),
            Box::new(|s| s.interfaces = vec![interface(Ok(0.5), Ok(0.5))]),
            "eth0 drops 120 packets a second",
        ),
        (
            "tcp-retransmits",
            Box::new(|s| s.tcp = TcpState { sent: Ok(970.0), retransmitted: Ok(30.0) }),
            Box::new(|s| s.tcp = TcpState { sent: Ok(97.0), retransmitted: Ok(0.9) }),
            "the network loses packets: TCP sends 3.0 % of its segments again",
        ),
    ];
    for (rule, bad, good, want) in &cases {
        let mut state = state();
        bad(&mut state);
        let found = findings::findings(&state);
        let finding = found.iter().find(|finding| finding.rule == *rule);
        assert_eq!(finding.map(|finding| finding.text.to_string()).as_deref(), Some(*want), "{found:?}");
        good(&mut state);
        let found = findings::findings(&state);
        assert!(found.iter().all(|finding| finding.rule != *rule), "{found:?}");
    }
    for rule in RULES {
        assert!(cases.iter().any(|(name, ..)| *name == rule.name), "{} has no case", rule.name);
        assert!(!rule.condition.is_empty() && rule.next.starts_with("perfset "), "{}", rule.name);
    }
}

/// A finding names a process from 10 % of the busy time of all processors on, whatever the number of processors.
#[test]
fn small_processes_are_not_named_as_users_of_the_processors() {
    let text = |count, busy, time: StateValue| {
        let mut state = state();
        (state.processors.count, state.processors.busy) = (count, Ok(busy));
        state.process_time = Ok(f64::from(u32::try_from(count).unwrap()) * busy * 0.5);
        state.processes = vec![
            process("make:5", 1.0, 1e6),
            ProcessState { processor_time: time, ..process("cc:9", 0.0, 1e6) },
        ];
        let found = findings::findings(&state);
        found.first().map(|finding| finding.text.to_string()).unwrap_or_default()
    };
    let small = "the processors are 100 % busy; many small processes share it";
    assert_eq!(text(64, 100.0, Ok(639.0)), small);
    assert_eq!(text(64, 100.0, Ok(640.0)), "the processors are 100 % busy; cc:9 uses 640 % of one");
    assert_eq!(text(1, 90.0, Ok(9.0)), "the processors are 90 % busy; cc:9 uses 9.0 % of one");
    assert!(text(1, 90.0, Ok(8.9)).ends_with("share it"));
    assert_eq!(
        text(0, 90.0, Ok(90.0)),
        "the processors are 90 % busy; cc:9 uses 90 % of one",
        "no number of them"
    );
    // Without the times of processes, nothing is known of their shares.
    let mut state = state();
    state.processors.busy = Ok(95.0);
    assert_eq!(findings::findings(&state)[0].text.to_string(), "the processors are 95 % busy");
    state.processes = vec![ProcessState { processor_time: Err(NoValue::Late), ..process("cc:9", 0.0, 1e6) }];
    assert_eq!(findings::findings(&state)[0].text.to_string(), "the processors are 95 % busy");
}

/// Small processes count as users of the processors together only if their sum is most of the busy time. The rest can
/// be that of processes that have ended, and of interrupts.
#[test]
fn small_processes_share_only_what_they_use() {
    let text = |all: StateValue, processes: &[f64]| {
        let mut state = state();
        (state.processors.count, state.processors.busy, state.process_time) = (4, Ok(95.0), all);
        state.processes = processes.iter().map(|time| process("cc:9", *time, 1e6)).collect();
        findings::findings(&state)[0].text.to_string()
    };
    // 95 % of four processors are 380 % of one.
    let busy = "the processors are 95 % busy";
    let only = |share: &str| format!("{busy}; processes that ran the whole time use only {share} % of that");
    assert_eq!(text(Ok(190.0), &[30.0]), format!("{busy}; many small processes share it"));
    assert_eq!(text(Ok(189.0), &[30.0]), only("50"));
    assert_eq!(text(Ok(38.0), &[30.0]), only("10"));
    assert_eq!(text(Ok(38.0), &[38.0]), format!("{busy}; cc:9 uses 38 % of one"));
    assert_eq!(text(Ok(0.0), &[]), only("0.0"));
    for unknown in [Err(NoValue::Late), Ok(f64::NAN)] {
        assert_eq!(text(unknown, &[30.0]), busy);
    }
}

fn interface(drops: StateValue, errors: StateValue) -> InterfaceState {
    InterfaceState { name: "eth0".into(), received: Ok(1e6), sent: Ok(1e6), drops, errors }
}

/// Rules for findings conclude nothing from a machine without known values, nor from values that are not numbers.
#[test]
fn nothing_is_found_where_nothing_is_known() {
    for unknown in [Err(NoValue::NotGiven), Ok(f64::NAN)] {
        let u = || unknown.clone();
        let mut state = state();
        state.processors =
            ProcessorState { count: 0, busy: u(), user: u(), kernel: u(), io_wait: u(), steal: u() };
        state.memory = MemoryState {
            total: u(),
            available: u(),
            swap_total: u(),
            swap_free: u(),
            swap_in: u(),
            swap_out: u(),
            kills: u(),
        };
        state.pressure =
            PressureState { processors: u(), memory: u(), memory_full: u(), storage: u(), storage_full: u() };
        state.tcp = TcpState { sent: u(), retransmitted: u() };
        state.disks = vec![DiskState { busy: u(), ..disk(0.0, u(), u()) }];
        state.interfaces = vec![interface(u(), u())];
        state.file_systems = vec![FileSystemState { name: "/".into(), free: u(), size: u() }];
        assert_eq!(findings::findings(&state), []);
        let unchecked = findings::unchecked(&state, &[]);
        match &unknown {
            Ok(_) => assert_eq!(unchecked, []),
            Err(_) => {
                let rules: Vec<_> = unchecked.iter().map(|one| (one.rule, one.condition)).collect();
                assert_eq!(rules, RULES.iter().map(|rule| (rule.name, rule.condition)).collect::<Vec<_>>());
            }
        }
    }
}

/// A rule for findings is unchecked for exactly one missing value that it needs, with the name of the value's
/// instance.
#[test]
fn unchecked_rules_have_the_first_missing_value() {
    let late = || Err(NoValue::Late);
    let find = |change: &dyn Fn(&mut MachineState), no_instances: &[(&str, NoValue)]| {
        let mut state = state();
        let no_request = Err(NoValue::Unavailable(NO_REQUEST.into()));
        state.disks = vec![disk(1.0, Ok(0.001), no_request)];
        state.interfaces = vec![interface(Ok(0.0), Ok(0.0))];
        state.file_systems = vec![file_system("/", 50.0)];
        change(&mut state);
        let unchecked = findings::unchecked(&state, no_instances).into_iter();
        unchecked.map(|one| (one.rule, one.subject, one.reason)).collect::<Vec<_>>()
    };
    let of = |rule, subject: Option<&str>| (rule, subject.map(str::to_owned), NoValue::Late);
    assert_eq!(find(&|_| {}, &[]), []);
    assert_eq!(find(&|state| state.pressure.storage = late(), &[]), [of("storage-pressure", None)]);
    assert_eq!(find(&|state| state.memory.total = late(), &[]), [of("memory-low", None)]);
    assert_eq!(find(&|state| state.tcp.sent = late(), &[]), [of("tcp-retransmits", None)]);
    assert_eq!(
        find(&|state| state.interfaces.push(interface(Ok(0.0), late())), &[]),
        [of("packets-lost", Some("eth0"))]
    );
    let disk =
        |state: &mut MachineState| state.disks.push(DiskState { busy: late(), ..state.disks[0].clone() });
    assert_eq!(find(&disk, &[]), [of("disk-busy", Some("sda")), of("disk-slow", Some("sda"))]);
    // A size is needed as much as the free space. Images are always full, so theirs is not needed.
    let size = |name: &'static str| {
        move |state: &mut MachineState| {
            state.file_systems.push(FileSystemState { size: late(), ..file_system(name, 50.0) });
        }
    };
    assert_eq!(find(&size("/net"), &[]), [of("file-system-full", Some("/net"))]);
    assert_eq!(find(&size("/snap/core/1"), &[]), []);
    let no_disks = [("file-system-full", NoValue::Late)];
    assert_eq!(find(&|state| state.file_systems.clear(), &no_disks), [of("file-system-full", None)]);
}

/// The rule about slow disks is unchecked for a disk without known latencies, except if it had no or no measurable
/// requests.
#[test]
fn disks_without_a_latency_are_unchecked() {
    let late = || Err(NoValue::Late);
    let short = |why: &'static str| Err(NoValue::Unavailable(why.into()));
    let unchecked = |disk: DiskState| {
        let mut state = state();
        state.disks = vec![disk];
        let unchecked = findings::unchecked(&state, &[]);
        unchecked.into_iter().map(|one| (one.rule, one.subject, one.reason)).collect::<Vec<_>>()
    };
    let slow = [("disk-slow", Some("sda".to_owned()), NoValue::Late)];
    assert_eq!(unchecked(disk(1.0, late(), Ok(0.001))), slow);
    assert_eq!(unchecked(disk(1.0, short(NO_TIME), late())), slow);
    // No bytes are known, so neither is whether there was a request.
    assert_eq!(unchecked(DiskState { read: late(), ..disk(1.0, late(), Ok(0.001)) }), slow);
    for (busy, read, written) in [
        (1.0, short(NO_REQUEST), short(NO_REQUEST)),
        (1.0, short(NO_TIME), Ok(0.001)),
        (99.0, late(), late()),
        (1.0, late(), Ok(0.5)),
    ] {
        assert_eq!(unchecked(disk(busy, read, written)), []);
    }
}

/// A new interface, disk or file system leaves no rule for findings unchecked: the remark would come and go with each
/// of them.
#[test]
fn new_instances_are_not_unknown() {
    for reason in [NoValue::NewInstance, NoValue::Replaced] {
        let new = || Err(reason.clone());
        let mut state = state();
        state.interfaces = vec![interface(new(), new()), interface(Ok(0.0), Ok(0.0))];
        state.disks = vec![DiskState { busy: new(), ..disk(1.0, new(), new()) }];
        assert_eq!(findings::unchecked(&state, &[]), []);
        // Another one beside a new one is still unknown, and so is the machine.
        state.interfaces.push(interface(Err(NoValue::Late), Ok(0.0)));
        state.processors.busy = new();
        let rules: Vec<_> =
            findings::unchecked(&state, &[]).into_iter().map(|one| (one.rule, one.reason)).collect();
        assert_eq!(rules, [("processors-busy", reason.clone()), ("packets-lost", NoValue::Late)]);
    }
}

/// The summary of findings depends on the rules that were checked: a machine without known values is not one without
/// findings.
#[test]
fn summaries_depend_on_what_was_checked() {
    let unchecked = |rule: &FindingRule| UncheckedRule {
        rule: rule.name,
        condition: rule.condition,
        subject: None,
        reason: NoValue::Late,
    };
    let summary = |rules: usize, interval, busy| {
        let mut state = MachineState { interval, ..state() };
        state.processors.busy = Ok(busy);
        state.findings = findings::findings(&state);
        state.unchecked = RULES.iter().take(rules).map(unchecked).collect();
        state.summary()
    };
    let all = RULES.len();
    assert_eq!(summary(0, Some(1.0), 50.0), FindingsSummary::Nothing);
    assert_eq!(summary(1, Some(1.0), 50.0), FindingsSummary::NothingInPart);
    assert_eq!(summary(all - 1, Some(1.0), 50.0), FindingsSummary::NothingInPart);
    assert_eq!(summary(all, Some(1.0), 50.0), FindingsSummary::Unknown);
    assert_eq!(summary(all - 1, None, 50.0), FindingsSummary::Measuring);
    assert_eq!(summary(all, None, 99.0), FindingsSummary::Found);
    assert_eq!(summary(all - 1, Some(1.0), 99.0), FindingsSummary::Found);
}

/// A name from the machine is a separate part of every sentence, and the subject of a finding about one disk or
/// interface.
#[test]
fn names_are_apart_from_the_words() {
    const HOSTILE: &str = "\u{5e9}\u{202e}\u{1b}[2J<b>";
    let name = || HOSTILE.to_owned();
    let mut state = state();
    state.memory.available = Ok(1e8);
    state.processors.busy = Ok(99.0);
    state.processes = vec![process(HOSTILE, 150.0, 1e9)];
    let slow = DiskState { name: name(), ..disk(5.0, Ok(0.3), Ok(0.3)) };
    state.disks = vec![DiskState { busy: Ok(95.0), ..slow.clone() }, slow];
    state.interfaces = vec![InterfaceState { name: name(), ..interface(Ok(5.0), Ok(5.0)) }];
    state.file_systems = vec![file_system(HOSTILE, 5.0), file_system(HOSTILE, 0.0)];
    let mut found = findings::findings(&state);
    found.sort_by_key(|finding| finding.rule);
    let rules: Vec<_> = found.iter().map(|finding| (finding.rule, finding.subject.is_some())).collect();
    assert_eq!(
        rules,
        [
            ("disk-busy", true),
            ("disk-slow", true),
            ("file-system-full", false),
            ("file-system-full", true),
            ("memory-low", false),
            ("packets-lost", true),
            ("packets-lost", true),
            ("processors-busy", false),
        ]
    );
    for finding in &found {
        assert!(finding.subject.as_ref().is_none_or(|subject| subject == HOSTILE), "{finding:?}");
        let is_name = |part: &SentencePart| matches!(part, SentencePart::Name(name) if name == HOSTILE);
        assert!(finding.text.parts().iter().any(is_name), "{finding:?}");
        for part in finding.text.parts() {
            assert!(
                is_name(part) || matches!(part, SentencePart::Words(words) if words.is_ascii()),
                "{finding:?}"
            );
        }
        let text = finding.text.to_string();
        assert!(
            text.contains("\u{5e9}\\u{202e}\\u{1b}[2J<b>") && !text.contains(['\u{202e}', '\u{1b}']),
            "{text}"
        );
    }
}

/// Clock of a machine that a test sets, so that all queries read the same time.
#[derive(Clone, Debug, Default)]
struct SetClock(std::sync::Arc<std::sync::Mutex<crate::testing::FixedClock>>);

impl crate::Clock for SetClock {
    fn read(&mut self) -> crate::clock::ClockReading {
        self.0.lock().unwrap().0
    }
}

/// An overview for findings alone has the same findings as a complete overview, word for word, and does not read
/// other values.
#[test]
fn overview_for_findings_reads_no_more_than_they_need() {
    use crate::testing::Scripted;
    use crate::{Clock, Machine, catalogue};

    let clock = SetClock::default();
    let mut machine = Machine::new(Box::new(clock.clone()));
    let mut provider = |set: &crate::Counterset| {
        let provider = Scripted::new(vec![set.clone()]);
        machine.register(Box::new(provider.clone()));
        provider
    };
    let [network, groups, processes, processors, memory, available, disks] = [
        &catalogue::network_interface::COUNTERSET,
        &catalogue::cgroup::COUNTERSET,
        &catalogue::process_v2::COUNTERSET,
        &catalogue::processor_information::COUNTERSET,
        &catalogue::linux_memory::COUNTERSET,
        &catalogue::memory::COUNTERSET,
        &catalogue::logical_disk::COUNTERSET,
    ]
    .map(&mut provider);
    let mut overviews =
        [Overview::open(&mut machine).unwrap(), Overview::open_for_findings(&mut machine).unwrap()];
    let providers = [&network, &groups, &processes];
    let mut collected = [[0; 3]; 2];
    let mut columns = Vec::new();
    for second in 0..2 {
        // Of each second: 700 dropped packets, and 1.8 s of processor time of one process. The idle time stands still.
        let set = |provider: &Scripted, rows| provider.with(|script| script.rows = rows);
        set(&network, vec![("eth0", 1, [0, second * 700, 0, 0, 0, 0].map(Ok).to_vec())]);
        set(&groups, vec![("/", 1, vec![Ok(second), Ok(1)])]);
        let row = |name, id, time, memory| (name, id, [second * time, memory, 0].map(Ok).to_vec());
        set(&processes, vec![row("cc:7", 7, 18_000_000, 900), row("large:8", 8, 1_000, 1_000_000)]);
        set(
            &processors,
            vec![("0,0", 0, vec![Ok(0); 3]), ("0,1", 1, vec![Ok(0); 3]), ("_Total", 9, vec![Ok(0); 3])],
        );
        set(&memory, vec![("", 0, vec![Ok(1_000_000); 6])]);
        set(&available, vec![("", 0, vec![Ok(1_000); 6])]);
        set(&disks, vec![("/data", 2, vec![Ok(5), Ok(1_000), Ok(0)])]);
        // Further readings are later ones.
        clock.0.lock().unwrap().read();
        for (overview, collected) in overviews.iter_mut().zip(&mut collected) {
            let count = |provider: &&Scripted| provider.with(|script| script.log.len());
            let before = providers.each_ref().map(count);
            overview.collect().unwrap();
            let after = providers.each_ref().map(count);
            for (sum, (after, before)) in collected.iter_mut().zip(after.into_iter().zip(before)) {
                *sum += after - before;
            }
            columns.push(processes.with(|script| script.log.last().cloned()).unwrap());
        }
    }
    let [whole, lean] = overviews.map(|mut overview| overview.state(1));
    let texts = |state: &MachineState| -> Vec<_> {
        state.findings.iter().map(|finding| (finding.rule, finding.text.to_string())).collect()
    };
    assert_eq!(
        texts(&lean).iter().map(|(rule, text)| (*rule, text.as_str())).collect::<Vec<_>>(),
        [
            ("file-system-full", "/data is 100 % full, 5 B are free"),
            ("memory-low", "only 0.1 % of the memory is available; large:8 uses 976.6 KiB"),
            ("packets-lost", "eth0 drops 700 packets a second"),
            ("processors-busy", "the processors are 100 % busy; cc:7 uses 180 % of one"),
        ]
    );
    assert_eq!(texts(&whole), texts(&lean));
    assert_eq!(whole.findings, lean.findings);
    assert_eq!((whole.unchecked, whole.interval), (lean.unchecked, lean.interval));
    assert_eq!(collected, [[2, 2, 2], [2, 0, 2]], "collections of networks, groups and processes");
    let counters = |line: &String| line.matches(',').count() + 1;
    assert_eq!(columns.iter().map(counters).collect::<Vec<_>>(), [3, 2, 3, 2], "{columns:?}");
}

/// Findings name full file systems in one line, and leave out package images, which are always full.
#[test]
fn full_file_systems_take_one_line() {
    let mut state = state();
    state.file_systems = vec![
        file_system("/snap/core/1", 0.0),
        file_system("/", 0.0),
        file_system("/media/cd", 0.0),
        file_system("/home", 50.0),
    ];
    let texts: Vec<_> =
        findings::findings(&state).into_iter().map(|finding| finding.text.to_string()).collect();
    assert_eq!(texts, ["/ and 1 more have no free space"]);
}

#[test]
fn the_most_urgent_is_first() {
    let mut state = state();
    state.processors.busy = Ok(99.0);
    state.pressure.memory = Ok(50.0);
    state.memory.kills = Ok(1.0);
    let severities: Vec<_> = findings::findings(&state).iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Critical, Severity::Warning, Severity::Note]);
}

/// Changes compare the machine's state with that of a minute ago, and neither with the first sample, which has no
/// rates, nor with older states.
#[test]
fn changes_look_back_a_minute() {
    let mut history = VecDeque::new();
    let mut at = |second: i64, busy: StateValue| {
        let mut state = state();
        state.processors.busy = busy;
        state.processes = vec![
            ProcessState { age: Ok(20.0), ..process("new:1", 99.0, 1e6) },
            ProcessState { age: Ok(20.0), ..process("idle:2", 0.0, 1e6) },
            ProcessState { age: Ok(200.0), ..process("old:3", 99.0, 1e6) },
        ];
        let now = EarlierState::new(&state, second * 10_000_000);
        let changes = changes::since(&history, &now, &state);
        changes::remember(&mut history, now);
        changes
    };
    let texts = |changes: &Changes| {
        changes.values.iter().map(|c| format!("{} {} {}", c.name, c.before, c.now)).collect::<Vec<_>>()
    };
    let changes = at(0, Err(NoValue::NeedsTwoSamples));
    assert_eq!((texts(&changes), changes.seconds), (vec![], 0.0));
    let changes = at(5, Ok(10.0));
    assert_eq!((texts(&changes), changes.seconds), (vec![], 0.0), "no earlier one has rates");
    let changes = at(10, Ok(90.0));
    assert_eq!(texts(&changes), ["processors busy 10 90"]);
    assert_eq!(changes.started.iter().map(|process| &*process.name).collect::<Vec<_>>(), ["new:1"]);
    for second in (15..80).step_by(5) {
        at(second, Ok(90.0));
    }
    assert_eq!(texts(&at(80, Ok(90.0))), [""; 0], "it has been so for more than a minute");
    let changes = at(85, Ok(20.0));
    assert_eq!(texts(&changes), ["processors busy 90 20"]);
    assert!((55.0..=65.0).contains(&changes.seconds), "{}", changes.seconds);
    // A clock that was set back has no minute before, and neither has a machine that slept.
    assert_eq!(texts(&at(10, Ok(0.0))), [""; 0]);
    assert_eq!(texts(&at(15, Ok(90.0))), ["processors busy 0 90"]);
    assert_eq!(texts(&at(3_600, Ok(0.0))), [""; 0]);
}

#[test]
fn groups_that_another_explains_are_left_out() {
    use crate::testing::{FixedClock, Scripted};
    use crate::{Machine, catalogue};

    let provider = Scripted::new(vec![catalogue::cgroup::COUNTERSET.clone()]);
    let mut machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(provider.clone()));
    let mut overview = Overview::open(&mut machine).unwrap();
    for second in 0..2_u64 {
        let row =
            |name, id, percent: u64, memory| (name, id, vec![Ok(second * percent * 100_000), Ok(memory)]);
        provider.with(|script| {
            script.rows = vec![
                row("/", 1, 100, 900),
                row("system.slice", 2, 95, 800),
                row("system.slice/busy.service", 3, 90, 100),
                row("system.slice/large.service", 4, 5, 500),
                row("idle", 5, 0, 0),
            ];
        });
        overview.collect().unwrap();
    }
    let state = overview.state(2);
    let names = |groups: &[GroupState]| groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&state.groups_by_time), ["system.slice/busy.service", "system.slice/large.service"]);
    assert_eq!(names(&state.groups_by_memory), ["system.slice", "system.slice/large.service"]);
}

/// Rates of counts without a rate counter come from two samples of the same instance, and never from others.
#[test]
fn drops_are_counted_per_second() {
    use crate::testing::{FixedClock, Scripted};
    use crate::{Machine, catalogue};

    let provider = Scripted::new(vec![catalogue::network_interface::COUNTERSET.clone()]);
    let mut machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(provider.clone()));
    let mut overview = Overview::open(&mut machine).unwrap();
    // In the order of registration: bytes received, packets discarded and with errors, bytes sent, the same of packets
    // sent. The clock advances by a second with each of the three queries.
    let mut next = |rows: Vec<(&'static str, u32, [u64; 6])>, births: Vec<(u32, u64)>| {
        provider.with(|script| {
            let row = |(name, id, values): (_, _, [u64; 6])| (name, id, values.map(Ok).to_vec());
            script.rows = rows.into_iter().map(row).collect();
            script.births = births;
        });
        overview.collect().unwrap();
        let state = overview.state(5);
        let numbers =
            |one: &InterfaceState| [&one.received, &one.sent, &one.drops, &one.errors].map(Clone::clone);
        state.interfaces.iter().map(|one| (one.name.clone(), numbers(one))).collect::<Vec<_>>()
    };
    let two = || Err(NoValue::NeedsTwoSamples);
    assert_eq!(
        next(vec![("eth0", 1, [0, 100, 7, 0, 5, 0])], vec![(1, 9)]),
        [("eth0".to_owned(), [two(), two(), two(), two()])]
    );
    let rows = vec![("lo", 2, [900, 0, 0, 900, 0, 0]), ("eth0", 1, [300, 130, 7, 600, 8, 3])];
    let new = || Err(NoValue::NewInstance);
    assert_eq!(
        next(rows, vec![(1, 9)]),
        [
            ("eth0".to_owned(), [Ok(100.0), Ok(200.0), Ok(11.0), Ok(1.0)]),
            ("lo".to_owned(), [new(), new(), new(), new()]),
        ]
    );
    // Another interface of the same name and id.
    let [(_, values)] = next(vec![("eth0", 1, [600, 160, 7, 900, 8, 3])], vec![(1, 10)]).try_into().unwrap();
    assert_eq!(values, [const { Err(NoValue::Replaced) }; 4]);
    // Counts that fall were reset.
    let [(_, values)] = next(vec![("eth0", 1, [900, 3, 10, 1_200, 8, 3])], vec![(1, 10)]).try_into().unwrap();
    assert_eq!(values, [Ok(100.0), Ok(100.0), Err(NoValue::NotGiven), Ok(1.0)]);
}
