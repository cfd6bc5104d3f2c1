//! Tests of screens as texts, in the sizes that people use, of a machine with a problem of each kind.

use std::fs;
use std::path::PathBuf;

use perfset::clock::SystemTime;
use perfset::overview::{
    ChangedValue, Changes, DiskState, FactCache, FileSystemState, Finding, GroupState, InterfaceState,
    MachineState, MemoryState, PressureState, ProcessState, ProcessorState, Sentence, Severity, StateValue,
    TcpState, UncheckedRule,
};
use perfset::{
    Fact, FactKind, FactOptions, Guid, Identity, Instance, NoValue, QueryHandle, RegInfo, RegRequest, Source,
    SourceError,
};

use unicode_width::UnicodeWidthStr;

use super::draw::{SparkGlyphs, Thresholds, sparkline};
use super::history::History;
use super::overview::{Screen, ScreenPart};

fn disk(name: &str, busy: f64, bytes: f64, latency: f64) -> DiskState {
    let none = Err(NoValue::Unavailable("no request in this interval".into()));
    let write = if bytes > 0.0 { Ok(latency) } else { none.clone() };
    DiskState {
        name: name.into(),
        id: 0,
        birth: None,
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

/// Returns the state of a machine with a problem of each kind and hostile names.
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
        process_time: Ok(177.3),
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
    Finding { rule: "", severity, subject: None, text: text.into(), next }
}

/// Returns the state of a machine without any value yet: the first sample in a container that can read nothing.
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

/// Source of test facts about the processes and disks of the machine with problems.
#[derive(Default)]
struct KnownFacts {
    /// Names of instances whose facts were read by the screen.
    read: Vec<String>,
}

impl Source for KnownFacts {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(Vec::new())
    }

    fn registration(&mut self, _: &Guid, _: RegRequest) -> Result<RegInfo, SourceError> {
        Err(SourceError::Failed("it has facts only".into()))
    }

    fn instances(&mut self, _: &Guid) -> Result<Vec<Instance>, SourceError> {
        Ok(Vec::new())
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Err(SourceError::Failed("it has facts only".into()))
    }

    fn facts(&mut self, instance: &Identity<'_>, _: FactOptions) -> Result<Vec<Fact>, SourceError> {
        let name = instance.instance.to_string();
        self.read.push(name.clone());
        if let Some(id) = name.strip_prefix("row:") {
            let text = Ok(format!("about{id}."));
            return Ok([FactKind::User, FactKind::Model].map(|kind| Fact::new(kind, text.clone())).into());
        }
        let facts: &[(FactKind, &str)] = match name.as_str() {
            "stress-ng-cpu-method:12345" => &[
                (FactKind::User, "ada"),
                (
                    FactKind::CommandLine,
                    "stress-ng --cpu 2 --cpu-method matrixprod --timeout 600 --metrics-brief",
                ),
                (FactKind::Cgroup, "/user.slice/user-1000.slice/session-3.scope"),
            ],
            "prometheus:15057" => &[
                (FactKind::User, "nobody-with-a-long-name"),
                (FactKind::Cgroup, "/system.slice/docker-4f2a9c0d8e7b6a5f4e3d2c1b0a9f8e7d.scope"),
                (FactKind::Container, "docker 4f2a9c0d8e7b"),
            ],
            "\u{1b}[2Jevil:7" => {
                &[(FactKind::User, "root"), (FactKind::CommandLine, "evil \u{1b}[2J \u{202e}txt")]
            }
            "java:222" => &[
                (FactKind::User, "app"),
                (FactKind::CommandLine, "/usr/bin/java -Xmx2g -jar shop.jar"),
                (FactKind::Unit, "shop.service"),
            ],
            "sda" => {
                &[(FactKind::Model, "Samsung SSD 860"), (FactKind::MountPoints, "/, /var/lib/docker, /srv")]
            }
            "nvme0n1" => &[(FactKind::MountPoints, "/boot\u{1b}[2J")],
            _ => &[],
        };
        Ok(facts.iter().map(|(kind, text)| Fact::new(*kind, Ok((*text).to_owned()))).collect())
    }
}

/// Returns the history of a minute of samples, with two missing.
fn history(state: &MachineState) -> History {
    let mut history = History::default();
    for second in 0..70_u32 {
        let mut state = state.clone();
        let share = f64::from(second * second) / 49.0;
        state.processors.busy = if second % 40 > 37 { Err(NoValue::Late) } else { Ok(share) };
        state.pressure.memory = Ok(if second < 60 { 12.3 } else { 99.0 });
        state.pressure.storage = Ok(if second < 40 { 0.0 } else { 64.0 });
        history.push(&state);
    }
    history
}

fn drawn(state: &MachineState, part: Option<ScreenPart>, width: usize, height: Option<usize>) -> String {
    let is_new = state.interval.is_none();
    let no_facts = FactCache::default();
    let screen = |facts, history| Screen {
        state,
        machine: "ada",
        system: "Linux 6.18.44 x86_64",
        right: "every 1 s, q ends",
        when: None,
        width,
        height: height.map(|height| height - 1),
        facts,
        history,
        glyphs: if width < 100 { SparkGlyphs::ASCII } else { SparkGlyphs::BLOCKS },
    };
    let (mut facts, history) =
        (FactCache::default(), if is_new { History::default() } else { history(state) });
    let (processes, disks) = screen(&no_facts, &history).described(part);
    facts.read(&mut KnownFacts::default(), processes, disks);
    let screen = screen(&facts, &history);
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

/// Compares the text of a screen with its file in testdata; with PERFSET_BLESS set, writes that file.
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
    let part = ScreenPart::Processes;
    compare("proc-200x50.txt", &drawn(&troubled(), Some(part), 200, Some(50)));
    compare("overview-pipe.txt", &drawn(&troubled(), None, 100, None));
    for (name, part) in [
        ("mem", ScreenPart::Memory),
        ("disk", ScreenPart::Disks),
        ("net", ScreenPart::Network),
        ("proc", ScreenPart::Processes),
        ("cgroup", ScreenPart::Groups),
    ] {
        compare(&format!("{name}-80x24.txt"), &drawn(&troubled(), Some(part), 80, Some(24)));
        compare(&format!("{name}-120x40.txt"), &drawn(&troubled(), Some(part), 120, Some(40)));
        compare(&format!("{name}-pipe.txt"), &drawn(&troubled(), Some(part), 100, None));
    }
}

/// Checks that the memory screen has the sparkline of waits for memory, and that other screens have the sparkline of
/// waits for storage.
#[test]
fn the_sparkline_of_waits_is_that_of_the_screen() {
    let line = |part| {
        let text = drawn(&troubled(), part, 120, Some(40));
        let line = text.lines().find(|line| line.starts_with("waits ")).unwrap().to_owned();
        line.rsplit_once("    ").map(|(_, spark)| spark.to_owned()).unwrap()
    };
    // 36 samples of 70: memory has ten high ones, storage thirty.
    assert_eq!(line(Some(ScreenPart::Memory)), format!("memory {}{}", "▁".repeat(26), "█".repeat(10)));
    let storage = format!("storage {}{}", "▁".repeat(6), "▆".repeat(30));
    assert_eq!([line(None), line(Some(ScreenPart::Disks))], [storage.clone(), storage]);
}

/// Checks that a screen says "nothing remarkable" without a limit only if every rule of findings could be checked.
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
    state.unchecked = state.unchecked.into_iter().cycle().take(13).collect();
    assert_eq!(line(&state), "unknown: all 13 rules lack a value");
    state.interval = None;
    assert_eq!(line(&state), "measuring the first interval");
}

/// Checks that no size of a window makes a screen panic, or exceed the window.
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
            (0..220).step_by(7).flat_map(|width| (2..40).step_by(3).map(move |h| (width, h)))
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

/// Checks that control characters of names in the sentences of findings are escaped.
#[test]
fn names_in_findings_cannot_steer_the_terminal() {
    let mut state = troubled();
    let text = Sentence::from("the processors are 97 % busy; ")
        .name("\u{1b}[2J\u{202e}evil:7\n")
        .words(" uses 100 %");
    state.findings = vec![Finding { text, ..finding(Severity::Note, "", "perfset proc") }];
    for part in [None, Some(ScreenPart::Processes)] {
        for height in [None, Some(24)] {
            let text = drawn(&state, part, 120, height);
            let line = text.lines().find(|line| line.starts_with("*  the processors")).unwrap();
            assert!(line.contains("busy; \\u{1b}[2J\\u{202e}evil:7\\n uses 100 %"), "{line}");
        }
    }
}

/// Checks that a missing value is a gap in a sparkline and not 0, and that remarkable values have their style.
#[test]
fn sparklines() {
    let limits = Thresholds { warning: 50.0, critical: 90.0 };
    let shares = [Some(0.0), None, Some(12.4), Some(12.5), Some(49.9), Some(50.0), Some(87.5), Some(100.0)];
    let text = |width, glyphs| {
        let mut text = String::new();
        sparkline(shares.into_iter(), width, limits, glyphs).render(usize::MAX, false, &mut text);
        text
    };
    assert_eq!(text(10, SparkGlyphs::BLOCKS), "  ▁ ▁▂▄▅██");
    assert_eq!(text(8, SparkGlyphs::ASCII), "_ _.=+##");
    assert_eq!(text(3, SparkGlyphs::ASCII), "+##", "the newest ones");
    let mut text = String::new();
    sparkline([Some(1.0), Some(2.0), Some(60.0), Some(99.0)].into_iter(), 4, limits, SparkGlyphs::ASCII)
        .render(usize::MAX, true, &mut text);
    assert_eq!(text, "\x1b[32m__\x1b[0m\x1b[33m+\x1b[0m\x1b[1;31m#\x1b[0m");
}

/// Checks the text of rows whose facts are not read yet. A table in a pipe can have more rows than facts are read at
/// once; the next samples fill the others.
#[test]
fn rows_without_facts_say_why() {
    let mut state = troubled();
    let row = |id| process("many", id, 1.0, 1e6, Ok(0.0));
    state.processes = (1..=FactCache::NEW_AT_ONCE as u32 + 5).map(row).collect();
    state.disks = Vec::new();
    let (mut facts, no_facts, history) = (FactCache::default(), FactCache::default(), History::default());
    fn screen<'a>(state: &'a MachineState, facts: &'a FactCache, history: &'a History) -> Screen<'a> {
        let (machine, system, right, glyphs) = ("", "", "", SparkGlyphs::ASCII);
        Screen { state, machine, system, right, when: None, width: 100, height: None, facts, history, glyphs }
    }
    for without in [5, 0] {
        let (processes, disks) = screen(&state, &no_facts, &history).described(Some(ScreenPart::Processes));
        facts.read(&mut KnownFacts::default(), processes, disks);
        let mut text = String::new();
        for line in screen(&state, &facts, &history).part(ScreenPart::Processes) {
            line.render(usize::MAX, false, &mut text);
            text.push('\n');
        }
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with("many:")).collect();
        assert_eq!(rows.len(), state.processes.len());
        let not_read = rows.iter().filter(|line| line.ends_with("  not read yet: 1000 rows a sample"));
        assert_eq!(not_read.count(), without, "{text}");
    }
}

/// Checks that facts are read of exactly the rows that a screen shows, and not of idle or left-out rows.
#[test]
fn facts_of_shown_rows_are_read() {
    let mut state = troubled();
    let row = |id: u32| {
        let storage = Ok(if id < 25 { f64::from(id % 7) } else { 0.0 });
        process("row", id, f64::from(id / 20), f64::from((id * 37) % 90), storage)
    };
    state.processes = (10..90).map(row).collect();
    state.disks = (100..115).map(|id| disk(&format!("row:{id}"), f64::from(id - 100), 1.0, 0.001)).collect();
    let (no_facts, history) = (FactCache::default(), history(&state));
    let parts = [ScreenPart::Memory, ScreenPart::Disks, ScreenPart::Processes, ScreenPart::Network];
    let mut kinds = [0, 0];
    for refused in [true, false] {
        state.refused = state.refused.filter(|_| refused);
        for part in std::iter::once(None).chain(parts.map(Some)) {
            for (width, height) in [100, 120, 175, 178, 182, 200].into_iter().flat_map(|width| {
                [None, Some(60)]
                    .into_iter()
                    .chain((14..50).step_by(3).map(Some))
                    .map(move |height| (width, height))
            }) {
                let screen = |facts| nameless(&state, &history, (width, height), facts);
                let (mut source, mut facts) = (KnownFacts::default(), FactCache::default());
                let (processes, disks) = screen(&no_facts).described(part);
                facts.read(&mut source, processes, disks);
                let screen = screen(&facts);
                let mut text = String::new();
                for line in part.map_or_else(|| screen.overview(), |part| screen.part(part)) {
                    line.render(usize::MAX, false, &mut text);
                    text.push('\n');
                }
                let about = format!("{part:?} {width} {height:?}\n{text}");
                assert!(!text.contains("not read"), "{about}");
                for name in &source.read {
                    let fact = name.replace("row:", "about") + ".";
                    assert!(text.contains(&fact), "{name} of {about}");
                    kinds[usize::from(name.len() > 6)] += 1;
                }
            }
        }
    }
    assert!(kinds.iter().all(|count| *count > 500), "{kinds:?}");
}

/// Returns a screen of a machine whose name is unknown.
fn nameless<'a>(
    state: &'a MachineState,
    history: &'a History,
    (width, height): (usize, Option<usize>),
    facts: &'a FactCache,
) -> Screen<'a> {
    let (machine, system, right, when) = ("", "", "", None);
    let glyphs = SparkGlyphs::ASCII;
    Screen { state, machine, system, right, when, width, height, facts, history, glyphs }
}

/// Checks that facts about processes and disks are read only where a screen shows them.
#[test]
fn narrow_screens_need_no_facts() {
    let (state, facts, history) = (troubled(), FactCache::default(), History::default());
    let described = |part, width, height| {
        let screen = nameless(&state, &history, (width, height), &facts);
        let (processes, disks) = screen.described(part);
        let mut names: Vec<_> = processes.iter().map(|process| process.name.clone()).collect();
        names.sort();
        names.dedup();
        (names.len(), disks.len())
    };
    let (processes, disks) = (Some(ScreenPart::Processes), Some(ScreenPart::Disks));
    for (part, width, height, want) in [
        (None, 80, Some(23), (0, 0)),
        (None, 120, Some(39), (0, 0)),
        (None, 200, Some(49), (5, 3)),
        (None, 100, None, (0, 0)),
        (processes, 80, Some(23), (0, 0)),
        (processes, 120, Some(39), (5, 0)),
        (processes, 120, Some(3), (0, 0)),
        (processes, 120, Some(8), (1, 0)),
        (processes, 100, None, (5, 0)),
        (disks, 80, Some(23), (0, 0)),
        (disks, 120, Some(39), (5, 3)),
        (Some(ScreenPart::Network), 200, None, (0, 0)),
    ] {
        assert_eq!(described(part, width, height), want, "{part:?} {width} {height:?}");
    }
}
