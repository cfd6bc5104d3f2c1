//! Screens as texts, in the sizes that people use, of a machine with a problem of each kind.

use std::fs;
use std::path::PathBuf;

use perfset::NoValue;
use perfset::clock::SystemTime;
use perfset::overview::{
    ChangedValue, Changes, DiskState, FileSystemState, Finding, GroupState, InterfaceState, MachineState,
    MemoryState, PressureState, ProcessState, ProcessorState, Severity, StateValue, TcpState, UncheckedRule,
};

use unicode_width::UnicodeWidthStr;

use super::overview::{Screen, ScreenPart};

fn disk(name: &str, busy: f64, bytes: f64, latency: f64) -> DiskState {
    let none = Err(NoValue::Unavailable("no request in this interval".into()));
    let write = if bytes > 0.0 { Ok(latency) } else { none.clone() };
    DiskState {
        name: name.into(),
        busy: Ok(busy),
        read: Ok(0.0),
        written: Ok(bytes),
        read_latency: none,
        write_latency: write,
        queue: Ok(busy / 20.0),
    }
}

fn interface(name: &str, received: f64, drops: StateValue) -> InterfaceState {
    InterfaceState {
        name: name.into(),
        received: Ok(received),
        sent: Ok(received / 10.0),
        drops,
        errors: Ok(0.0),
    }
}

fn process(name: &str, id: u32, time: f64, memory: f64, storage: StateValue) -> ProcessState {
    ProcessState {
        name: format!("{name}:{id}"),
        id,
        birth: None,
        processor_time: Ok(time),
        memory: Ok(memory),
        read: storage.clone().map(|_| 0.0),
        written: storage,
        age: Ok(f64::from(id)),
    }
}

fn group(name: &str, time: f64, memory: StateValue) -> GroupState {
    GroupState { name: name.into(), processor_time: Ok(time), memory }
}

fn groups() -> Vec<GroupState> {
    vec![
        group("system.slice/docker-4f2a9c0d8e7b6a5f4e3d2c1b0a9f8e7d.scope", 161.9, Ok(420_000_000.0)),
        group("user.slice/user-1000.slice/session-3.scope", 12.0, Ok(1_950_000_000.0)),
        group("init.scope", 0.1, Err(NoValue::Unavailable("the controller memory is not enabled".into()))),
    ]
}

/// A machine in trouble, with hostile names.
fn troubled() -> MachineState {
    let denied = || Err(NoValue::Denied("reading io of other users needs CAP_SYS_PTRACE".into()));
    MachineState {
        time: SystemTime::default(),
        interval: Some(1.0),
        up_time: Ok(274_330.0),
        load: [Ok(3.12), Ok(1.4), Ok(0.88)],
        process_count: Ok(412.0),
        running: Ok(4.0),
        blocked: Ok(2.0),
        processors: ProcessorState {
            count: 2,
            busy: Ok(97.3),
            user: Ok(61.2),
            kernel: Ok(36.1),
            io_wait: Ok(1.5),
            steal: Ok(12.0),
        },
        memory: MemoryState {
            total: Ok(4_123_456_789.0),
            available: Ok(301_234_567.0),
            swap_total: Ok(1_073_741_824.0),
            swap_free: Ok(505_000_000.0),
            swap_in: Ok(1_200.0),
            swap_out: Ok(48.0),
            kills: Ok(0.0),
        },
        pressure: PressureState {
            processors: Ok(55.0),
            memory: Ok(12.3),
            memory_full: Ok(8.0),
            storage: Ok(64.0),
            storage_full: Ok(40.0),
        },
        disks: vec![
            disk("sda", 93.2, 84_000_000.0, 0.041),
            disk("nvme0n1", 2.0, 40_000.0, 0.0003),
            disk("sdb", 0.0, 0.0, 0.0),
        ],
        file_systems: vec![
            FileSystemState { name: "/var/lib/docker".into(), free: Ok(1.2e9), size: Ok(57.1e9) },
            FileSystemState { name: "/".into(), free: Ok(21e9), size: Ok(52.5e9) },
        ],
        interfaces: vec![
            interface("eth0", 12_345_678.0, Ok(42.0)),
            interface("wlan0", 0.0, Ok(0.0)),
            interface("lo", 1_024.0, Err(NoValue::NewInstance)),
        ],
        tcp: TcpState { sent: Ok(970.0), retransmitted: Ok(30.0) },
        processes: vec![
            process("stress-ng-cpu-method", 12_345, 99.8, 5_000_000.0, Ok(0.0)),
            process("prometheus", 15_057, 62.1, 412_000_000.0, Ok(88_400_000.0)),
            process("\x1b[2Jevil", 7, 12.0, 900_000.0, denied()),
            process("java", 222, 3.0, 1_900_000_000.0, Ok(4_096.0)),
            process("中文进程", 300, 0.4, 30_000_000.0, Ok(0.0)),
        ],
        refused: Some((17, denied().unwrap_err())),
        groups_by_time: groups(),
        groups_by_memory: vec![groups()[1].clone(), groups()[0].clone()],
        no_groups: None,
        findings: vec![
            finding(Severity::Critical, "/var/lib/docker is 98 % full, 1.1 GiB are free", "perfset disk"),
            finding(Severity::Warning, "sda is 93 % busy, 41.0 ms per write", "perfset disk"),
            finding(
                Severity::Note,
                "the processors are 97 % busy; stress-ng-cpu-method:12345 uses 100 % of one",
                "perfset proc",
            ),
        ],
        unchecked: Vec::new(),
        changes: Changes {
            seconds: 60.0,
            values: vec![ChangedValue { name: "processors busy".into(), before: 3.0, now: 97.3 }],
            started: vec![ProcessState {
                age: Ok(17.2),
                ..process("stress-ng-cpu-method", 12_345, 99.8, 5e6, Ok(0.0))
            }],
        },
    }
}

fn finding(severity: Severity, text: &str, next: &'static str) -> Finding {
    Finding { rule: "", severity, text: text.into(), next }
}

/// A machine of which nothing is known yet: the first sample, in a container without anything.
fn unknown() -> MachineState {
    let two = || Err(NoValue::NeedsTwoSamples);
    let none = || Err(NoValue::Unavailable("no counterset is named \"Pressure Stall\"".into()));
    let mut state = troubled();
    state.interval = None;
    state.load = [none(), none(), none()];
    state.processors =
        ProcessorState { count: 1, busy: two(), user: two(), kernel: two(), io_wait: two(), steal: two() };
    state.memory = MemoryState {
        total: none(),
        available: Ok(1e9),
        swap_total: none(),
        swap_free: none(),
        swap_in: none(),
        swap_out: none(),
        kills: none(),
    };
    state.pressure = PressureState {
        processors: none(),
        memory: none(),
        memory_full: none(),
        storage: none(),
        storage_full: none(),
    };
    (state.disks, state.file_systems, state.interfaces) = (Vec::new(), Vec::new(), Vec::new());
    state.tcp = TcpState { sent: two(), retransmitted: two() };
    (state.processes, state.refused) = (Vec::new(), None);
    (state.groups_by_time, state.groups_by_memory) = (Vec::new(), Vec::new());
    state.no_groups = none().err();
    (state.findings, state.changes) = (Vec::new(), Changes::default());
    state
}

fn drawn(state: &MachineState, part: Option<ScreenPart>, width: usize, height: Option<usize>) -> String {
    let screen = Screen {
        state,
        machine: "ada",
        system: "Linux 6.18.44 x86_64",
        right: "every 1 s, q ends",
        width,
        height: height.map(|height| height - 1),
    };
    let lines = part.map_or_else(|| screen.overview(), |part| screen.part(part));
    assert!(height.is_none_or(|height| lines.len() < height), "{} lines", lines.len());
    let mut text = String::new();
    for line in lines {
        let start = text.len();
        // As on the canvas: in a pipe nothing is cut.
        line.render(if height.is_some() { width } else { usize::MAX }, false, &mut text);
        assert!(height.is_none() || text[start..].width() <= width, "{}", &text[start..]);
        text.push('\n');
    }
    text
}

/// Compares a screen with its text in testdata; with PERFSET_BLESS set, writes that text.
fn compare(name: &str, text: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/screens").join(name);
    if std::env::var_os("PERFSET_BLESS").is_some() {
        fs::write(&file, text).unwrap();
    }
    let want = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(want, text, "{}: if the change is meant, set PERFSET_BLESS=1", file.display());
}

#[test]
fn the_screens_look_like_their_texts() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let size = format!("{width}x{height}.txt");
        compare(&format!("overview-{size}"), &drawn(&troubled(), None, width, Some(height)));
        compare(&format!("first-{size}"), &drawn(&unknown(), None, width, Some(height)));
    }
    compare("overview-pipe.txt", &drawn(&troubled(), None, 100, None));
    for (name, part) in [
        ("mem", ScreenPart::Memory),
        ("disk", ScreenPart::Disks),
        ("net", ScreenPart::Network),
        ("proc", ScreenPart::Processes),
        ("cgroup", ScreenPart::Groups),
    ] {
        compare(&format!("{name}-80x24.txt"), &drawn(&troubled(), Some(part), 80, Some(24)));
        compare(&format!("{name}-pipe.txt"), &drawn(&troubled(), Some(part), 100, None));
    }
}

/// A rule that cannot be checked is no good news.
#[test]
fn nothing_is_remarkable_only_in_what_is_known() {
    let mut state = troubled();
    state.findings = Vec::new();
    let line = |state: &MachineState| {
        let text = drawn(state, None, 80, None);
        text.lines().find_map(|line| line.strip_prefix("found ")).unwrap_or_default().to_owned()
    };
    assert_eq!(line(&state), "nothing remarkable");
    let [rule, condition] = ["storage-pressure", "tasks wait for storage"];
    state.unchecked = vec![UncheckedRule { rule, condition, subject: None, reason: NoValue::NotGiven }];
    assert_eq!(line(&state), "nothing remarkable in what is known; 1 of 13 rules lack a value");
    state.interval = None;
    assert_eq!(line(&state), "measuring the first interval");
}

/// No size of a window makes a screen panic, or longer or wider than the window.
#[test]
fn every_size_is_drawn() {
    let states = [troubled(), unknown()];
    let parts = [
        ScreenPart::Memory,
        ScreenPart::Disks,
        ScreenPart::Network,
        ScreenPart::Processes,
        ScreenPart::Groups,
    ];
    for state in &states {
        for (width, height) in
            (0..130).step_by(7).flat_map(|width| (2..40).step_by(3).map(move |h| (width, h)))
        {
            drawn(state, None, width, Some(height));
            for part in parts {
                drawn(state, Some(part), width, Some(height));
            }
        }
    }
}

#[test]
fn names_cannot_steer_the_terminal() {
    for part in [None, Some(ScreenPart::Processes)] {
        let text = drawn(&troubled(), part, 120, None);
        assert!(!text.contains('\x1b') && text.contains("\\u{1b}[2Jevil:7"), "{text}");
    }
}
