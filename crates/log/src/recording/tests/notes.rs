//! Tests of the facts that a recording keeps about instances.

use super::*;

/// Returns the text of a fact about the instance of a name, as a recording knows it at the end of its window.
fn fact(recording: &Recording, name: &str, kind: FactKind) -> Option<String> {
    let bytes: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let identity = Identity {
        counterset: Guid::from_u128(1),
        instance: Name::until_nul(&bytes),
        instance_id: InstanceId(7),
        birth: NonZeroU64::new(5),
    };
    let facts = recording.clone().facts(&identity, FactOptions::default()).unwrap();
    facts.into_iter().find(|fact| fact.kind == kind).map(|fact| fact.text.unwrap())
}

fn until(second: i64) -> Window {
    Window { begin: None, end: Some(at(second).utc_100ns()) }
}

/// Checks that recorded facts hold for one boot only: after the next boot, the same name, id and birth are another
/// process.
#[test]
fn facts_are_those_of_the_boot() {
    let folder = TestFolder::new("notes");
    let samples = some_samples();
    let later = samples.iter().map(|(second, sets)| (second + 100, sets.clone())).collect::<Vec<_>>();
    record(&folder, &samples, "first", 2);
    record(&folder, &later, "second", 2);
    for is_sealed in [false, true] {
        if is_sealed {
            unsealed(&folder.0, None).unwrap().iter().for_each(|journal| drop(seal(journal).unwrap()));
        }
        let recording = Recording::open(&folder.0).unwrap();
        let seen = recording.seen_instances(&Guid::from_u128(1)).unwrap();
        let times: Vec<(i64, i64)> = seen
            .iter()
            .filter(|seen| seen.instance.name.to_string() == "c")
            .map(|seen| (seen.first, seen.last))
            .collect();
        let time = |second| at(second).utc_100ns();
        assert_eq!(times, [(time(0), time(5)), (time(100), time(105))], "{is_sealed}");
        let user = |window| fact(&recording.within(window), "c", FactKind::User);
        assert_eq!(user(until(5)).as_deref(), Some("(\"first\", \"run\") 7 0"));
        assert_eq!(user(until(105)).as_deref(), Some("(\"second\", \"run\") 7 100"));
        assert_eq!(user(Window::default()), user(until(105)));
        assert_eq!(user(until(-1)), None);
    }
}

/// Checks that a part of a recording has the facts about its instances, and command lines only if requested.
#[test]
fn facts_of_a_part() {
    let folder = TestFolder::new("notes-of-a-part");
    record(&folder, &some_samples(), "boot", 10);
    let recording = Recording::open(&folder.0).unwrap();
    // In second 2 there are c and d alone.
    let window = Window { begin: Some(at(2).utc_100ns()), end: Some(at(2).utc_100ns()) };
    for with_command_lines in [false, true] {
        let mut bytes = Vec::new();
        let options = PartOptions::default().with_command_lines(with_command_lines);
        recording.within(window).write_part(&mut bytes, options).unwrap();
        let part = Recording::from_bytes(&bytes).unwrap();
        for (name, is_there) in [("a", false), ("b", false), ("c", true), ("d", true)] {
            assert_eq!(fact(&part, name, FactKind::User).is_some(), is_there, "{name}");
            let secret = fact(&part, name, FactKind::CommandLine);
            assert_eq!(secret.is_some(), is_there && with_command_lines, "{name}");
        }
    }
}

/// Checks that an annotation after the last tick of a file does not begin another file, which would have no tick.
#[test]
fn marks_after_a_full_file() {
    let folder = TestFolder::new("last-mark");
    let options = WriterOptions { ticks_per_file: 2, ..WriterOptions::default() };
    let mut writer = RecordingWriter::create(&folder.0, &at(0), about(("boot", "run")), options).unwrap();
    let mark = |text: &str| Annotation { time: 5, is_of_recorder: true, text: text.to_owned() };
    writer.annotate(&mark("started")).unwrap();
    assert!(writer.tick(&at(0), &[]).unwrap().is_none());
    assert!(writer.tick(&at(1), &[]).unwrap().is_some());
    writer.annotate(&mark("full")).unwrap();
    writer.annotate(&mark("stopped")).unwrap();
    assert_eq!(writer.finish_file(), None);
    assert_eq!(unsealed(&folder.0, None).unwrap().len(), 1);
    let recording = Recording::open(&folder.0).unwrap();
    assert_eq!(recording.times().count(), 2);
    assert_eq!(recording.annotations().len(), 3);
}
