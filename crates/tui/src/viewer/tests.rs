use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use perfset::log::Logs;

use super::*;

/// Samples of a test log: second, processor times of two processes and of all, bytes that the second process writes.
const SAMPLES: [(u32, &str, &str, &str, &str); 7] = [
    (0, "5", "1", "6", "0"),
    (1, "6", "90", "96", "1000"),
    (2, "7", "40", "47", "5000000"),
    (3, "8", "", "8", ""),
    (4, "9", "2", "11", "0"),
    (5, "10", "70", "80", "10"),
    (6, "11", "3", "14", "0"),
];

/// Returns a text log of seven seconds, without a value of one process in the fourth.
pub fn log() -> Vec<u8> {
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB1\\Process(web)\\% Processor Time\",\
         \"\\\\WEB1\\Process(db)\\% Processor Time\",\"\\\\WEB1\\Processor(_Total)\\% Processor Time\",\
         \"\\\\WEB1\\Process(db)\\IO Write Bytes/sec\",\"\\\\WEB1\\Process(web)\\IO Write Bytes/sec\",\
         \"\\\\WEB1\\Memory\\Available Bytes\"\r\n",
    );
    for (second, web, db, all, written) in SAMPLES {
        text.push_str(&format!(
            "\"11/22/2026 10:00:0{second}.000\",\"{web}\",\"{db}\",\"{all}\",\"{written}\",\"7\",\"1073741824\"\r\n"
        ));
    }
    text.into_bytes()
}

/// Returns a viewer of the test log of seven seconds, at the end of the log.
pub fn viewer() -> Viewer {
    Viewer::of_logs(Feed::of_logs(Logs::from_bytes(&log()).unwrap()), jiff::tz::TimeZone::UTC, "--log a.csv")
        .unwrap()
}

/// Presses keys on a viewer: characters, and names in angle brackets.
pub fn press(viewer: &mut Viewer, keys: &str) -> KeyOutcome {
    let mut outcome = KeyOutcome::Draw;
    for word in keys.split(' ') {
        let codes: Vec<KeyCode> = match word {
            "<left>" => vec![KeyCode::Left],
            "<right>" => vec![KeyCode::Right],
            "<up>" => vec![KeyCode::Up],
            "<down>" => vec![KeyCode::Down],
            "<home>" => vec![KeyCode::Home],
            "<end>" => vec![KeyCode::End],
            "<pgup>" => vec![KeyCode::PageUp],
            "<pgdn>" => vec![KeyCode::PageDown],
            "<tab>" => vec![KeyCode::Tab],
            "<backtab>" => vec![KeyCode::BackTab],
            "<enter>" => vec![KeyCode::Enter],
            "<esc>" => vec![KeyCode::Esc],
            "<back>" => vec![KeyCode::Backspace],
            "<space>" => vec![KeyCode::Char(' ')],
            "<f1>" => vec![KeyCode::F(1)],
            "<f9>" => vec![KeyCode::F(9)],
            text => text.chars().map(KeyCode::Char).collect(),
        };
        for code in codes {
            outcome = viewer.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
    }
    outcome
}

/// Returns the names of the rows that a viewer shows, in order.
fn names(viewer: &Viewer) -> Vec<String> {
    let sample = viewer.sample().unwrap();
    viewer.order.iter().map(|at| sample.rows[*at].identity.name.to_string()).collect()
}

/// Returns the second of the sample that a viewer shows.
fn second(viewer: &Viewer) -> String {
    viewer.shown_time(viewer.timeline.now().unwrap(), "%S")
}

#[test]
fn a_log_opens_at_its_end() {
    let viewer = viewer();
    assert_eq!((second(&viewer).as_str(), viewer.machine.as_str()), ("06", "WEB1"));
    assert_eq!(
        viewer.tabs.iter().map(|tab| &*tab.title).collect::<Vec<_>>(),
        ["Process", "Processor", "Memory"]
    );
    assert_eq!(viewer.strip.iter().map(|counter| &*counter.label).collect::<Vec<_>>(), ["cpu", "avail"]);
    assert_eq!(names(&viewer), ["web", "db"]);
    assert_eq!(viewer.timeline.strip().count(), SAMPLES.len());
}

#[test]
fn keys_go_through_time() {
    let mut viewer = viewer();
    for (keys, want) in [
        ("<left>", "05"),
        ("h h", "03"),
        ("<right> l", "05"),
        ("[", "00"),
        ("<left>", "00"),
        ("]", "06"),
        ("{", "00"),
        ("}", "06"),
        ("g 10:00:03 <enter>", "03"),
        ("g -2s <enter>", "01"),
        ("g +1s <enter>", "02"),
        ("g begin <enter>", "00"),
        ("g end <enter>", "06"),
        ("g begin <esc>", "06"),
        ("g 10:00:02x <back> <enter>", "02"),
        ("<space>", "06"),
    ] {
        press(&mut viewer, keys);
        assert_eq!(second(&viewer), want, "{keys}");
    }
    press(&mut viewer, "g nonsense <enter>");
    assert!(viewer.message.as_deref().unwrap().starts_with("a time is like"), "{:?}", viewer.message);
    press(&mut viewer, "<right>");
    assert_eq!(viewer.message.as_deref(), Some("this is the last sample"));
}

#[test]
fn rows_have_the_values_of_their_time() {
    let mut viewer = viewer();
    let (cpu, written) = (0, 1);
    let value = |viewer: &Viewer, name: &str, column: usize| {
        let sample = viewer.sample().unwrap();
        let row = sample.rows.iter().find(|row| &*row.identity.name == name).unwrap();
        row.values[column].number()
    };
    for (number, (_, web, db, _, bytes)) in SAMPLES.iter().enumerate() {
        viewer.go_to(number);
        assert_eq!(value(&viewer, "web", cpu), web.parse().ok(), "{number}");
        assert_eq!(value(&viewer, "db", cpu), db.parse().ok(), "{number}");
        assert_eq!(value(&viewer, "db", written), bytes.parse().ok(), "{number}");
    }
}

#[test]
fn rows_are_sorted_and_filtered() {
    let mut viewer = viewer();
    press(&mut viewer, "g 10:00:05 <enter>");
    assert_eq!(names(&viewer), ["db", "web"], "by processor time");
    for (keys, want) in [
        ("S", ["web", "db"]),
        ("N", ["db", "web"]),
        ("N", ["web", "db"]),
        ("P", ["db", "web"]),
        ("D", ["db", "web"]),
        ("S", ["web", "db"]),
        ("<", ["db", "web"]),
        (">", ["db", "web"]),
        ("s", ["web", "db"]),
    ] {
        press(&mut viewer, keys);
        assert_eq!(names(&viewer), want, "{keys}");
    }
    for (keys, want) in [
        ("/ WE <enter>", vec!["web"]),
        ("/ ^d <enter>", vec!["db"]),
        ("/ cpu>50 <enter>", vec!["db"]),
        ("/ write<=10 <enter>", vec!["web", "db"]),
        ("/ none <enter>", vec![]),
        ("<esc>", vec!["web", "db"]),
        ("/ ( <enter>", vec!["web", "db"]),
    ] {
        press(&mut viewer, keys);
        assert_eq!(names(&viewer), want, "{keys}");
    }
    assert!(viewer.message.as_deref().unwrap().starts_with("not a regular expression"));
    press(&mut viewer, "2 D");
    assert_eq!(viewer.message.as_deref(), Some("this table has no column WRITE/s"));
}

#[test]
fn the_cursor_stays_at_its_instance() {
    let mut viewer = viewer();
    press(&mut viewer, "<down>");
    assert_eq!(viewer.path().unwrap().to_string(), r"\Process(db)\% Processor Time");
    press(&mut viewer, "<left>");
    assert_eq!(names(&viewer), ["db", "web"]);
    assert_eq!(viewer.path().unwrap().to_string(), r"\Process(db)\% Processor Time");
    press(&mut viewer, "<end> <home> <pgdn> <pgup> <up>");
    assert_eq!(viewer.row, 0);
}

#[test]
fn peaks_are_found() {
    let mut viewer = viewer();
    press(&mut viewer, "<down>");
    assert_eq!(viewer.path().unwrap().instance.as_deref(), Some("db"));
    for (key, want) in [("W", "05"), ("W", "01"), ("W", "01"), ("w", "05"), ("w", "05")] {
        press(&mut viewer, key);
        assert_eq!(second(&viewer), want, "{key}");
    }
    assert_eq!(viewer.message.as_deref(), Some("no later peak of this counter in the range of the strip"));
}

#[test]
fn marks_are_places_to_go_to() {
    let mut viewer = viewer();
    press(&mut viewer, "n");
    assert_eq!(viewer.message.as_deref(), Some("there is no mark; m sets one"));
    press(&mut viewer, "g 10:00:02 <enter> m <right> <right> m g begin <enter> n");
    assert_eq!((second(&viewer).as_str(), viewer.message.as_deref()), ("02", Some("mark 1")));
    press(&mut viewer, "n");
    assert_eq!(second(&viewer), "04");
    press(&mut viewer, "n");
    assert_eq!(second(&viewer), "02", "from the first again");
    viewer.prompt = Some(Prompt { kind: PromptKind::Time, text: "mark 2".into() });
    press(&mut viewer, "<enter>");
    assert_eq!(second(&viewer), "04");
}

/// Returns the numbers of a process that a viewer shows, in the order of the columns.
fn numbers(viewer: &Viewer, name: &str) -> Vec<Option<f64>> {
    let row = viewer.sample().unwrap().rows.iter().find(|row| &*row.identity.name == name);
    row.unwrap().values.iter().map(|value| value.number()).collect()
}

#[test]
fn totals_of_a_range() {
    let mut viewer = viewer();
    // Each sample is of one second, and the third second of "db" has no value.
    press(&mut viewer, "g 10:00:01 <enter> R g 10:00:05 <enter>");
    assert_eq!(numbers(&viewer, "web"), [Some(8.5), Some(7.0)], "mean");
    assert_eq!(numbers(&viewer, "db"), [Some(112.0 / 3.0), Some(5_000_010.0 / 3.0)]);
    assert_eq!(viewer.span_words().as_deref(), Some("mean from 10:00:01.0 to 10:00:05.0  +0 -0"));
    press(&mut viewer, "R");
    assert_eq!(numbers(&viewer, "db"), [Some(70.0), Some(5_000_000.0)], "greatest value");
    press(&mut viewer, "R");
    assert_eq!(numbers(&viewer, "db"), [None, Some(5_000_010.0)], "total");
    let is_least = |viewer: &Viewer, name: &str| {
        let row = viewer.sample().unwrap().rows.iter().find(|row| &*row.identity.name == name);
        matches!(row.unwrap().values[1], TableValue::AtLeast(_))
    };
    assert_eq!((is_least(&viewer, "db"), is_least(&viewer, "web")), (true, false), "a second has no value");
    // The range grows and shrinks with the cursor, also to the other side of its begin.
    press(&mut viewer, "<left>");
    assert_eq!(numbers(&viewer, "db"), [None, Some(5_000_000.0)]);
    press(&mut viewer, "R g begin <enter>");
    assert_eq!(viewer.span_words().as_deref(), Some("mean from 10:00:00.0 to 10:00:01.0  +0 -0"));
    assert_eq!(numbers(&viewer, "db"), [Some(90.0), Some(1_000.0)]);
    // Another table has the same range.
    press(&mut viewer, "g 10:00:02 <enter> 2");
    assert_eq!(numbers(&viewer, "_Total"), [Some(47.0)]);
    press(&mut viewer, "<esc>");
    assert_eq!(viewer.span, None);
}

#[test]
fn differences_of_two_instants() {
    let mut viewer = viewer();
    press(&mut viewer, "g 10:00:01 <enter> d <right>");
    assert_eq!(numbers(&viewer, "web"), [Some(1.0), Some(0.0)]);
    assert_eq!(numbers(&viewer, "db"), [Some(-50.0), Some(4_999_000.0)]);
    assert_eq!(viewer.span_words().as_deref(), Some("difference from 10:00:01.0 to 10:00:02.0  +0 -0"));
    press(&mut viewer, "g begin <enter>");
    assert_eq!(numbers(&viewer, "db"), [Some(-89.0), Some(-1_000.0)], "of an earlier instant");
    press(&mut viewer, "d");
    assert_eq!(numbers(&viewer, "db"), [Some(1.0), Some(0.0)]);
}

#[test]
fn instances_that_began_and_ended_are_shown() {
    let (machine, provider) = machine();
    let mut viewer = Viewer::live(Feed::live(machine), "vm").unwrap();
    for processes in [&[("stays", 1, 10), ("ends", 2, 20)][..], &[("stays", 1, 10), ("begins", 3, 5)]] {
        rows(&provider, processes);
        viewer.collect().unwrap();
    }
    press(&mut viewer, "b");
    assert_eq!(names(&viewer), ["ends", "begins"], "by memory");
    assert_eq!(viewer.span_words().as_deref().map(|words| words.ends_with("+1 -1")), Some(true));
    // The next sample has no change.
    rows(&provider, &[("stays", 1, 10), ("begins", 3, 5)]);
    viewer.collect().unwrap();
    assert_eq!(names(&viewer), [""; 0]);
    press(&mut viewer, "b");
    assert_eq!(names(&viewer), ["stays", "begins"]);
    // Since the first sample.
    press(&mut viewer, "<left> <left> R <space> b");
    assert_eq!(names(&viewer), ["ends", "begins"]);
}

#[test]
fn tabs_and_countersets_are_shown() {
    let mut viewer = viewer();
    for (keys, want) in [
        ("2", "Processor"),
        ("<tab>", "Memory"),
        ("<tab>", "Process"),
        ("<backtab>", "Memory"),
        (": proc <tab> <enter>", "Process"),
        (": mem <enter>", "Memory"),
        ("9", "Memory"),
    ] {
        press(&mut viewer, keys);
        assert_eq!(viewer.shown_tab().unwrap().title, want, "{keys}");
    }
    assert_eq!(viewer.path().unwrap().to_string(), r"\Memory\Available Bytes");
    press(&mut viewer, ": nothing <enter>");
    assert_eq!(viewer.message.as_deref(), Some("no counterset contains \"nothing\""));
}

#[test]
fn counters_go_on_the_strip_and_off_it() {
    let mut viewer = viewer();
    press(&mut viewer, "+");
    assert_eq!(viewer.strip.last().unwrap().path.to_string(), r"\Process(web)\% Processor Time");
    let values: Vec<_> = viewer.timeline.strip().map(|(_, values)| values[2]).collect();
    assert_eq!(values, [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0].map(Some));
    press(&mut viewer, "+");
    assert_eq!(viewer.strip.len(), 2);
    (0..10).for_each(|_| viewer.strip.push(viewer.strip[0].clone()));
    press(&mut viewer, "+");
    assert_eq!(viewer.strip.len(), STRIP_MOST);
}

#[test]
fn columns_are_chosen() {
    let mut viewer = viewer();
    assert_eq!(viewer.shown_tab().unwrap().columns.len(), 2);
    press(&mut viewer, "c <space> <enter>");
    let titles = |viewer: &Viewer| {
        let tab = viewer.shown_tab().unwrap();
        tab.columns.iter().map(|column| column.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&viewer), ["WRITE/s"]);
    // The last column stays.
    press(&mut viewer, "c <down> <space> <enter>");
    assert_eq!(titles(&viewer), ["WRITE/s"]);
    press(&mut viewer, "c <up> <space> <enter>");
    assert_eq!(titles(&viewer), ["WRITE/s", "% Processor Time"]);
}

#[test]
fn tables_are_chosen_by_name() {
    let choice = |columns: &[&str], sort: Option<&str>, filter: Option<&str>| TableChoice {
        title: "web".to_owned(),
        counterset: "process".to_owned(),
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        sort: sort.map(str::to_owned),
        filter: filter.map(str::to_owned),
    };
    let mut viewer = viewer();
    let chosen = choice(&["% processor time"], Some("IO Write Bytes/sec"), Some("write<=10"));
    viewer.begin_with_table(&chosen).unwrap();
    assert_eq!(
        (viewer.shown_tab().unwrap().title.as_str(), names(&viewer)),
        ("web", vec!["web".into(), "db".into()])
    );
    assert_eq!(viewer.path().unwrap().counter, "IO Write Bytes/sec");
    for (choice, want) in [
        (
            TableChoice { counterset: "Proces".to_owned(), ..TableChoice::default() },
            "no counterset is called \"Proces\"; nearest: Process",
        ),
        (
            choice(&["% Processor Tim"], None, None),
            "no counter is called \"% Processor Tim\"; nearest: % Processor Time",
        ),
        (choice(&[], Some("none"), None), "no counter is called \"none\""),
        (choice(&[], None, Some("(")), "not a regular expression"),
    ] {
        let error = viewer.begin_with_table(&choice).unwrap_err();
        assert!(error.starts_with(want), "{error}");
    }
    let path = |text: &str| text.parse::<CounterPath>().unwrap();
    viewer.set_strip(&[path("/process(db)/% processor time"), path("/No/Such")]).unwrap();
    assert_eq!(
        viewer.strip.iter().map(|counter| &*counter.label).collect::<Vec<_>>(),
        ["db % processor time"]
    );
    assert_eq!(viewer.timeline.strip().filter_map(|(_, values)| values[0]).count(), 6);
    for (wrong, want) in [
        (r"\Process(*)\% Processor Time", "several values"),
        (r"\Process(web)\{% User Time,% Processor Time}", "several values"),
        (r"\\other\Memory\Available Bytes", "names a machine"),
    ] {
        let error = viewer.set_strip(&[path(wrong)]).unwrap_err();
        assert!(error.starts_with(wrong) && error.contains(want), "{error}");
    }
    let seven = vec![path("/Memory/Available Bytes"); 7];
    assert_eq!(viewer.set_strip(&seven).unwrap_err(), "the strip has room for 6 counters, not 7");
}

#[test]
fn cells_are_copied() {
    let mut viewer = viewer();
    let want = KeyOutcome::Copy(r"perfset get --log a.csv '\Process(web)\% Processor Time'".to_owned());
    assert_eq!(press(&mut viewer, "y"), want);
    assert_eq!(press(&mut viewer, "<enter> y"), want);
    assert_eq!(press(&mut viewer, "<esc>"), KeyOutcome::Draw);
    assert_eq!(press(&mut viewer, "q"), KeyOutcome::Quit);
    assert_eq!(press(&mut viewer, "<esc>"), KeyOutcome::Quit);
    press(&mut viewer, "<f9>");
    assert_eq!(viewer.message.as_deref(), Some("perfset does not end processes"));
}

/// Returns a live machine with processes, some of one name, and a program that changes their numbers.
fn machine() -> (perfset::Machine, perfset::testing::Scripted) {
    let machine = perfset::Machine::new(Box::new(perfset::testing::FixedClock::default()));
    let counter = |id, name: &'static str| {
        perfset::Counter::new(perfset::CounterId(id), perfset::CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            .name(name)
    };
    let set =
        perfset::Counterset::new(perfset::Guid::from_u128(7), "Process", perfset::InstanceType::Multiple)
            .counters([counter(1, "Working Set"), counter(2, "Thread Count")]);
    let provider = perfset::testing::Scripted::new(vec![set]);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

fn rows(provider: &perfset::testing::Scripted, rows: &[(&'static str, u32, u64)]) {
    let rows = rows.iter().map(|(name, id, memory)| (*name, *id, vec![Ok(*memory), Ok(1)])).collect();
    provider.with(|script| script.rows = rows);
}

#[test]
fn a_live_table_keeps_its_past_and_its_selected_row() {
    let (machine, provider) = machine();
    rows(&provider, &[("sh", 1, 10), ("sh", 2, 20), ("top", 3, 30)]);
    let mut viewer = Viewer::live(Feed::live(machine), "vm").unwrap();
    viewer.collect().unwrap();
    assert_eq!(names(&viewer), ["top", "sh", "sh"], "by memory");
    // The detail stays at the first row's instance, although another one is first later.
    press(&mut viewer, "<enter>");
    rows(&provider, &[("sh", 1, 10), ("sh", 2, 90), ("top", 3, 30)]);
    viewer.collect().unwrap();
    assert_eq!((names(&viewer), viewer.row), (vec!["sh".into(), "top".into(), "sh".into()], 1));
    let Overlay::Detail { of, .. } = &viewer.overlay else { panic!("no detail") };
    assert_eq!(*of, viewer.selected_identity());
    // Instances of one name have paths of their own.
    press(&mut viewer, "<esc> <home>");
    assert_eq!(viewer.path().unwrap().to_string(), r"\Process(sh#1)\Working Set");
    press(&mut viewer, "<end>");
    assert_eq!(viewer.path().unwrap().to_string(), r"\Process(sh)\Working Set");
    // A step back stops the screen, and the past stays while samples come.
    press(&mut viewer, "<home> <left>");
    assert!(!viewer.timeline.is_live());
    assert_eq!(names(&viewer)[0], "top");
    rows(&provider, &[("new", 9, 1)]);
    viewer.collect().unwrap();
    assert_eq!(names(&viewer)[0], "top");
    press(&mut viewer, "c <esc>");
    assert_eq!(viewer.timeline.position(), (0, 3), "nothing was changed, and nothing is forgotten");
    press(&mut viewer, "<space>");
    assert_eq!(names(&viewer), ["new"]);
    press(&mut viewer, "+");
    assert_eq!(viewer.strip.len(), 1);
    assert!(viewer.timeline.strip().all(|(_, values)| values.len() == 1));
    press(&mut viewer, "+");
    assert!(viewer.timeline.strip().all(|(_, values)| values.is_empty()));
}

/// Records samples of the test machine, whose clock goes on by a second each time; the table only in every n-th
/// sample.
fn recorded(
    (machine, provider): (&perfset::Machine, &perfset::testing::Scripted),
    folder: &std::path::Path,
    (samples, every): (u64, u64),
) {
    use perfset::log::recording::{
        RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions,
    };
    let mut query = machine.query();
    assert!(query.add(&perfset::Entry::all(perfset::Guid::from_u128(7)).instance("*")).is_success());
    let mut snapshot = perfset::Snapshot::default();
    let mut writer = None;
    let interval = every * 1_000;
    for sample in 0..samples {
        rows(provider, &[("recorded", 1, sample)]);
        query.collect(&mut snapshot).unwrap();
        let writer = writer.get_or_insert_with(|| {
            let (clocks, options) = (snapshot.clocks(), WriterOptions::default());
            let mut writer =
                RecordingWriter::create(folder, clocks, RecordingAbout::default(), options).unwrap();
            writer.add_table(TableDefinition::of(&snapshot.entries()[0], interval).unwrap()).unwrap();
            writer
        });
        let part = TickPart { table: 0, snapshot: &snapshot, entry: 0 };
        let parts = if sample % every == 0 { vec![part] } else { Vec::new() };
        writer.tick(snapshot.clocks(), &parts).unwrap();
    }
}

/// Checks spans of a table that is recorded only every third second.
#[test]
fn spans_of_a_table_that_is_recorded_less_often() {
    let folder = std::env::temp_dir().join(format!("perfset-tui-seldom-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder); // of an earlier run
    let (machine, provider) = machine();
    recorded((&machine, &provider), &folder, (12, 3));
    let feed = Feed::of_logs(Logs::open(&[&folder]).unwrap());
    let mut viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "").unwrap();
    let words = |viewer: &Viewer| viewer.span_words().unwrap();
    // The sample before has no table, so the collection before is compared.
    press(&mut viewer, "b");
    assert_eq!(names(&viewer), [""; 0]);
    assert!(words(&viewer).ends_with("+0 -0"), "{}", words(&viewer));
    let table = viewer.span_table().unwrap();
    assert_eq!((table.end - table.begin, table.samples), (30_000_000, 2));
    // A difference within one collection is unknown, not 0.
    press(&mut viewer, "<esc> d <left>");
    assert_eq!(numbers(&viewer, "recorded")[0], None);
    assert!(viewer.timeline.sample().unwrap().collected.is_some());
    press(&mut viewer, "<left> <left>");
    assert_eq!(numbers(&viewer, "recorded")[0], Some(-3.0));
    // The mean of the table's own samples.
    press(&mut viewer, "<esc> g begin <enter> R g end <enter>");
    assert_eq!(numbers(&viewer, "recorded")[0], Some(6.0), "{}", words(&viewer));
    assert!(words(&viewer).ends_with("+0 -0  4 of 12 samples"), "{}", words(&viewer));
    // A range without a sample of it.
    press(&mut viewer, "<esc> g -1s <enter> R <right>");
    assert_eq!(words(&viewer), "the range has no sample of this table");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Checks spans over two logs with alternating samples: in the samples of one log, the instances of the other do not
/// count as missing.
#[test]
fn spans_of_several_logs() {
    let log = |counter: &str, seconds: [u32; 3], value: u32| {
        let line = |second: u32| format!("\"11/22/2026 10:00:0{second}.000\",\"{value}\"\r\n");
        let lines: String = seconds.map(line).concat();
        let head = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB1\\{counter}\"\r\n");
        perfset::log::Input::Bytes((head + &lines).into_bytes().into())
    };
    let logs = vec![
        log(r"Process(web)\IO Write Bytes/sec", [0, 2, 4], 10),
        log(r"Memory\Available Bytes", [1, 3, 5], 7),
    ];
    let feed = Feed::of_logs(Logs::from_inputs(logs).unwrap());
    let mut viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "").unwrap();
    press(&mut viewer, "b");
    assert_eq!(names(&viewer), [""; 0], "{:?}", viewer.span_words());
    press(&mut viewer, "<esc> g begin <enter> R R R g end <enter>");
    assert_eq!(numbers(&viewer, "web"), [Some(40.0)], "10 bytes a second in 4 seconds");
}

#[test]
fn the_past_is_that_of_the_recorder() {
    let folder = std::env::temp_dir().join(format!("perfset-tui-past-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder); // of an earlier run
    let (machine, provider) = machine();
    recorded((&machine, &provider), &folder, (50, 1));
    let feed = Feed::live(machine).with_recorded(Some(folder.clone()));
    let mut viewer = Viewer::live(feed, "vm").unwrap();
    rows(&provider, &[("live", 1, 1_000)]);
    viewer.collect().unwrap();
    assert_eq!((names(&viewer), viewer.timeline.position()), (vec!["live".to_owned()], (0, 1)));
    let newest = viewer.timeline.now().unwrap();
    // A step back from the first live sample is one to the last recorded sample.
    press(&mut viewer, "<left>");
    assert_eq!(names(&viewer), ["recorded"]);
    assert_eq!(numbers(&viewer, "recorded")[0], Some(49.0));
    assert_eq!(viewer.timeline.position(), (49, 51), "each sample is there once");
    press(&mut viewer, "[");
    assert_eq!(numbers(&viewer, "recorded")[0], Some(0.0));
    assert_eq!(viewer.timeline.strip().count(), 51);
    // A range goes over recorded and live samples.
    press(&mut viewer, "g end <enter> R [ b");
    assert_eq!(names(&viewer), ["live", "recorded"]);
    press(&mut viewer, "<esc> <space>");
    assert_eq!((viewer.timeline.now(), viewer.timeline.is_live()), (Some(newest), true));
    // A recording that cannot be read is a message, and the live screen stays.
    std::fs::remove_dir_all(&folder).unwrap();
    press(&mut viewer, "c <space> <enter> <left>");
    assert!(
        viewer.message.as_deref().unwrap().starts_with("the recorder's samples cannot be read"),
        "{:?}",
        viewer.message
    );
    assert_eq!(names(&viewer), ["live"]);
}

#[test]
fn processes_are_shown_as_a_tree() {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    let cells = [
        ("init", "ID Process", 1),
        ("init", "Creating Process ID", 0),
        ("sh", "ID Process", 7),
        ("sh", "Creating Process ID", 1),
        ("sh", "% Processor Time", 90),
        ("init", "% Processor Time", 5),
    ];
    cells
        .iter()
        .for_each(|(name, counter, _)| text.push_str(&format!(",\"\\\\H\\Process({name})\\{counter}\"")));
    text.push_str("\r\n\"11/22/2026 10:00:00.000\"");
    cells.iter().for_each(|(_, _, value)| text.push_str(&format!(",\"{value}\"")));
    text.push_str("\r\n");
    let feed = Feed::of_logs(Logs::from_bytes(text.as_bytes()).unwrap());
    let mut viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "").unwrap();
    assert_eq!(names(&viewer), ["sh", "init"]);
    press(&mut viewer, "f");
    assert_eq!(names(&viewer), ["init", "sh"]);
    assert_eq!(viewer.tree.iter().map(|row| row.depth).collect::<Vec<_>>(), [0, 1]);
    press(&mut viewer, "<home> <enter>");
    assert_eq!((names(&viewer), &viewer.overlay), (vec!["init".to_owned()], &Overlay::None));
    press(&mut viewer, "<enter> <end> <enter>");
    assert!(matches!(viewer.overlay, Overlay::Detail { .. }), "a row without rows below it");
    // Numbers of processes are none of the numbers that a span computes.
    press(&mut viewer, "<esc> <esc> d");
    assert_eq!(viewer.tree.iter().map(|row| row.depth).collect::<Vec<_>>(), [0, 1]);
    press(&mut viewer, "d f");
    assert_eq!(names(&viewer), ["sh", "init"]);
    press(&mut viewer, "z");
    assert_eq!(viewer.message.as_deref(), Some("this source has no processes and control groups"));
}

#[test]
fn names_with_control_characters_are_not_copied() {
    let text = String::from_utf8(log()).unwrap().replace("(web)", "(w\u{15}b)");
    let feed = Feed::of_logs(Logs::from_bytes(text.as_bytes()).unwrap());
    let mut viewer = Viewer::of_logs(feed, jiff::tz::TimeZone::UTC, "").unwrap();
    assert_eq!(press(&mut viewer, "y"), KeyOutcome::Draw);
    assert_eq!(viewer.message.as_deref(), Some("not copied: the name has control characters"));
}

#[test]
fn any_keys_are_harmless() {
    // A fixed sequence of keys that looks random.
    let keys = [
        "<left>", "<right>", "<down>", "<up>", "<tab>", "w", "W", "m", "n", "M", "+", "x", "u", "c",
        "<space>", "<enter>", "<esc>", "/", "g", ":", "S", ">", "<", "?", "9", "1", "<end>", "<pgdn>", "[",
        "}", "a", "<back>", "R", "d", "b", "f", "z",
    ];
    let (mut viewer, mut state) = (viewer(), 7_u64);
    for _ in 0..3_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(state >> 33).unwrap() % keys.len();
        press(&mut viewer, keys[at]);
        assert!(viewer.row == 0 || viewer.row < viewer.rows());
        assert!(viewer.strip.len() <= STRIP_MOST);
    }
}

/// Returns a test log with a sample a second from a full hour on: names of processes, each with a value of this
/// counter.
fn processes(hour: u32, samples: &[&[(&str, &str)]], counter: &str) -> Logs {
    let mut names: Vec<&str> = samples.iter().flat_map(|row| row.iter().map(|cell| cell.0)).collect();
    names.sort_unstable();
    names.dedup();
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    for name in &names {
        text.push_str(&format!(",\"\\\\WEB1\\Process V2({name})\\{counter}\""));
    }
    for (second, row) in samples.iter().enumerate() {
        text.push_str(&format!("\r\n\"11/22/2026 {hour:02}:00:0{second}.000\""));
        for name in &names {
            let value = row.iter().find(|cell| cell.0 == *name).map_or(" ", |cell| cell.1);
            text.push_str(&format!(",\"{value}\""));
        }
    }
    Logs::from_bytes(text.as_bytes()).unwrap()
}

/// Returns a viewer that compares two test logs.
fn comparison(before: Logs, after: Logs) -> Viewer {
    let utc = jiff::tz::TimeZone::UTC;
    let mut viewer = Viewer::of_logs(Feed::of_logs(after), utc, "--log after.csv").unwrap();
    viewer.compare_with(Baseline::new(Feed::of_logs(before), "--log before.csv", "before.csv").unwrap());
    viewer
}

/// Returns the names of a comparison's rows, with the three numbers of their first counter.
fn compared(viewer: &Viewer) -> Vec<(String, [Option<f64>; 3])> {
    let sample = viewer.sample().unwrap();
    let row = |at: &usize| {
        let row = &sample.rows[*at];
        let value = |part: usize| row.values.get(part).and_then(TableValue::number);
        (row.identity.name.to_string(), [value(0), value(1), value(2)])
    };
    viewer.order.iter().map(row).collect()
}

#[test]
fn logs_are_compared_by_the_names_of_programs() {
    const TIME: &str = "% Processor Time";
    let before = processes(9, &[&[("web:7", "1"), ("db:8", "50")], &[("web:7", "10"), ("db:8", "50")]], TIME);
    // The web server has two processes with other ids, and an old one of the database server ends.
    let after: [&[(&str, &str)]; 3] = [
        &[("web:70", "1"), ("web:71", "2"), ("db:8", "10"), ("cron:5", "1")],
        &[("web:70", "30"), ("web:71", "4"), ("db:8", "20"), ("cron:5", "1")],
        &[("web:70", "20"), ("web:71", "6"), ("db:8", "20"), ("cron:5", "1")],
    ];
    let mut viewer = comparison(before, processes(10, &after, TIME));
    let want = [
        ("web".to_owned(), [Some(10.0), Some(30.0), Some(20.0)]),
        ("db".to_owned(), [Some(50.0), Some(20.0), Some(-30.0)]),
        // Perhaps not all processes were recorded.
        ("cron".to_owned(), [None, Some(1.0), None]),
    ];
    assert_eq!(compared(&viewer), want);
    press(&mut viewer, "S");
    assert_eq!(compared(&viewer)[0].0, "db", "the greatest decrease first");
    let words = viewer.comparison_words().unwrap();
    assert_eq!(words, "mean 10:00:00.0 to 10:00:02.0, was 09:00:00.0 to 09:00:01.0  +1 -0");
    assert_eq!(viewer.path().unwrap().to_string(), r"\Process V2(db:*)\% Processor Time");
    assert!(viewer.command().unwrap().starts_with("perfset get --log after.csv "));
    press(&mut viewer, "< <");
    assert!(viewer.command().unwrap().starts_with("perfset get --log before.csv "));
    for key in ["<left>", "g", "w", "R", "f", "z", "+", "x"] {
        press(&mut viewer, key);
        assert!(viewer.message.as_deref().unwrap().starts_with("a comparison "), "{key}");
        assert!(viewer.prompt.is_none(), "{key}");
    }
}

#[test]
fn missing_parts_of_a_comparison_have_reasons() {
    const TIME: &str = "% Processor Time";
    let before = || processes(9, &[&[("a:1", "1"), ("b:2", "1")], &[("a:1", "4"), ("b:2", "2")]], TIME);
    let reason = |viewer: &Viewer, name: &str, column: usize| {
        let row =
            viewer.sample().unwrap().rows.iter().find(|row| &*row.identity.name == name).unwrap().clone();
        match &row.values[column] {
            TableValue::Missing(reason) => reason.to_string(),
            other => format!("{other:?}"),
        }
    };
    // One of two processes of a name has no value in one of two samples.
    let after: [&[(&str, &str)]; 3] =
        [&[("a:1", "1"), ("a:9", "1")], &[("a:1", "4"), ("a:9", "2")], &[("a:1", "4")]];
    let viewer = comparison(before(), processes(10, &after, TIME));
    assert_eq!(reason(&viewer, "a", 1), "AtLeast(5.0)");
    assert_eq!(reason(&viewer, "a", 2), "About(1.0)");
    assert_eq!(reason(&viewer, "b", 1), "it is in the other range only");
    assert_eq!(reason(&viewer, "b", 2), "it is in one of the ranges only");
    // Logs without the same counters.
    let viewer = comparison(before(), processes(10, &after, "Priority Base"));
    assert_eq!(reason(&viewer, "a", 0), "the other log does not have this counter");
    assert_eq!(reason(&viewer, "a", 1), "the processes of this name have no common value");
    assert!(
        viewer.sample().unwrap().rows.iter().all(|row| row.change.is_none()),
        "nothing is known of instances"
    );
    let viewer = comparison(Logs::from_bytes(&log()).unwrap(), processes(10, &after, TIME));
    assert_eq!(reason(&viewer, "a", 0), "the other log does not have this counterset");
    assert_eq!(viewer.comparison_words().unwrap(), "mean 10:00:00.0 to 10:00:02.0, was not in that log");
}

#[test]
fn programs_that_do_not_run_use_nothing_if_all_were_recorded() {
    const TIME: &str = "% Processor Time";
    let before = [("_Total", "60"), ("a:1", "40"), ("b:2", "20")];
    let after = [("_Total", "90"), ("a:3", "40"), ("c:4", "50")];
    let viewer = comparison(processes(9, &[&before, &before], TIME), processes(10, &[&after, &after], TIME));
    let want = [
        ("_Total".to_owned(), [Some(60.0), Some(90.0), Some(30.0)]),
        ("c".to_owned(), [None, Some(50.0), Some(50.0)]),
        ("a".to_owned(), [Some(40.0), Some(40.0), Some(0.0)]),
        ("b".to_owned(), [Some(20.0), None, Some(-20.0)]),
    ];
    assert_eq!(compared(&viewer), want);
}

/// Returns a log of one counter of the counterset Process, whose processes have constant values.
fn numbered(counter: &str, values: &[(&str, f64)]) -> Logs {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    values.iter().for_each(|(name, _)| text.push_str(&format!(",\"\\\\WEB1\\Process({name})\\{counter}\"")));
    for second in 0..4 {
        text.push_str(&format!("\r\n\"11/22/2026 10:00:0{second}.000\""));
        values.iter().for_each(|(_, value)| text.push_str(&format!(",\"{value}\"")));
    }
    Logs::from_bytes(text.as_bytes()).unwrap()
}

#[test]
fn names_of_older_processes_have_numbers_and_no_ids() {
    let before = numbered("% Processor Time", &[("sh", 0.1), ("sh#1", 0.2), ("kworker/0:1", 3.0)]);
    // Counters and machines of other logs can have other letters.
    let after = numbered("% PROCESSOR TIME", &[("sh#1", 0.3), ("sh", 0.3), ("kworker/0:1", 3.0)]);
    let mut viewer = comparison(before, after);
    let rows = compared(&viewer);
    assert_eq!(rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["sh", "kworker/0:1"]);
    assert!((rows[0].1[2].unwrap() - 0.3).abs() < 1e-9, "{rows:?}");
    assert_eq!(rows[1].1, [Some(3.0), Some(3.0), Some(0.0)]);
    press(&mut viewer, "<down>");
    assert_eq!(viewer.path().unwrap().to_string(), r"\Process(kworker/0:1)\% PROCESSOR TIME");
}

#[test]
fn rounding_is_no_difference() {
    let logs = |part: f64| numbered("% Processor Time", &[("a", part), ("a#1", 0.1), ("a#2", 0.7)]);
    let rows = compared(&comparison(logs(0.2), logs(0.2)));
    assert_eq!(rows[0].1[2], Some(0.0), "{rows:?}");
}

#[test]
fn columns_and_tabs_of_a_comparison() {
    let log = || Logs::from_bytes(&log()).unwrap();
    let mut viewer = comparison(log(), log());
    // Both processes of a log are compared with themselves.
    assert!(compared(&viewer).iter().all(|(_, [was, is, diff])| was == is && *diff == Some(0.0)));
    let titles = |viewer: &Viewer| {
        let tab = viewer.shown_tab().unwrap();
        tab.columns.iter().map(|column| column.title.clone()).collect::<Vec<_>>()
    };
    let want = ["%CPU was", "%CPU", "%CPU diff", "WRITE/s was", "WRITE/s", "WRITE/s diff"];
    assert_eq!(titles(&viewer), want);
    press(&mut viewer, "c <space> <enter>");
    assert_eq!(titles(&viewer), want[3..]);
    press(&mut viewer, "c <down> <space> <enter>");
    assert_eq!(titles(&viewer), want[3..], "the last counter stays");
    press(&mut viewer, "c <space> <enter>");
    assert_eq!(titles(&viewer).len(), 6);
    press(&mut viewer, "/ writediff=0 <enter>");
    assert_eq!((viewer.rows(), viewer.message.clone()), (2, None));
    // A counterset of one instance has a row for each counter.
    press(&mut viewer, "3");
    assert_eq!((viewer.rows(), viewer.value().and_then(TableValue::number)), (1, Some(0.0)));
    press(&mut viewer, ": Processor <enter>");
    assert_eq!(titles(&viewer)[0], "%CPU was");
}

/// Returns the viewer of a live machine at the tab that a key selects, after four samples, in which every value
/// differs and grows.
pub fn live(key: &str) -> Viewer {
    use perfset::catalogue;
    use perfset::testing::{FixedClock, Scripted};

    const TABS: [(&perfset::Counterset, &[&str]); 8] = [
        (&catalogue::process_v2::COUNTERSET, &["_Total", "Idle:0", "web:71", "db:8", "世界:9"]),
        (&catalogue::cgroup::COUNTERSET, &["/", "system.slice", "system.slice/web.service"]),
        (&catalogue::processor_information::COUNTERSET, &["0,0", "0,1", "0,_Total", "_Total"]),
        (&catalogue::physical_disk::COUNTERSET, &["vda", "vdb", "_Total"]),
        (&catalogue::network_interface::COUNTERSET, &["eth0", "wlan0"]),
        (&catalogue::memory::COUNTERSET, &[""]),
        (&catalogue::logical_disk::COUNTERSET, &["/", "/srv/backup", "_Total"]),
        (&catalogue::pressure_stall::COUNTERSET, &["cpu", "io", "memory"]),
    ];
    let machine = perfset::Machine::new(Box::new(FixedClock::default()));
    let providers = TABS.map(|(set, _)| {
        let provider = Scripted::new(vec![set.clone()]);
        machine.register(Box::new(provider.clone()));
        provider
    });
    let mut viewer = Viewer::live(Feed::live(machine), "vm").unwrap();
    viewer.zone = jiff::tz::TimeZone::UTC;
    for second in 1..=4_u64 {
        for (provider, (_, names)) in providers.iter().zip(TABS) {
            let values =
                |row: u64| (1..40).map(|column| Ok((row * 7 + column) * 190_000 * second * second)).collect();
            let rows = names.iter().zip(0_u32..).map(|(name, id)| (*name, id, values(id.into())));
            provider.with(|script| script.rows = rows.collect());
        }
        match second {
            1 => _ = press(&mut viewer, key),
            _ => viewer.collect().unwrap(),
        }
    }
    viewer
}
