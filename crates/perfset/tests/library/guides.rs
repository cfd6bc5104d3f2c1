//! Tests of the guides for programmers: each guide contains its example unchanged, and prints what it promises.

#![cfg(feature = "output")]

use std::fs;
use std::path::{Path, PathBuf};

use perfset::{Machine, testing::FixedClock};

#[allow(dead_code, reason = "its main is not called")]
#[path = "../../examples/line_protocol_output.rs"]
mod line_protocol_output;
#[allow(dead_code, reason = "its main is not called")]
#[path = "../../examples/spool_provider.rs"]
mod spool_provider;
#[allow(dead_code, reason = "its main is not called")]
#[path = "../../examples/text_log_source.rs"]
mod text_log_source;

/// Returns the text of a file of the repository.
fn repository(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Returns the code blocks of a guide in a programming language.
fn blocks(guide: &str, language: &str) -> Vec<String> {
    let text = repository(guide);
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Checks that the Rust blocks of a guide are an example of this crate, and returns the output that it promises.
fn promised_output(guide: &str, example: &str) -> String {
    let program = repository(&format!("crates/perfset/examples/{example}.rs"));
    let (_, program) = program.split_once("\n\n").unwrap(); // its head is for readers of the repository
    let of_guide = blocks(guide, "rust").join("\n");
    assert!(of_guide == program, "{guide} differs from {example}.rs:\n{}", difference(&of_guide, program));
    blocks(guide, "text").pop().unwrap()
}

/// Returns the first two lines in which two programs differ.
fn difference(a: &str, b: &str) -> String {
    let lines = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    lines.map_or_else(|| "one is longer".to_owned(), |(a, b)| format!("{a}\n{b}"))
}

/// Directory for the files of a test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("perfset-guide-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // left to the system's own cleaning
    }
}

#[test]
fn provider() {
    let spool = Scratch::new("provider");
    spool.write("mail/1", "Dear Ann\n");
    spool.write("mail/2", "Dear Bob\n");
    spool.write("mail/delivered", "40\n");
    spool.write("print/1", "%PDF");
    let mut out = Vec::new();
    let machine = Machine::new(Box::new(FixedClock::default()));
    spool_provider::run(machine, &spool.0, &mut out, || spool.write("mail/delivered", "52\n")).unwrap();
    let printed = String::from_utf8(out).unwrap().replace(&spool.0.display().to_string(), "spool");
    assert_eq!(printed, promised_output("docs/guides/write-a-provider.md", "spool_provider"));
}

/// Checks that a bad queue of the example provider costs only its own values, and that names that look alike are rows
/// of their own.
#[cfg(unix)]
#[test]
fn provider_of_bad_queues() {
    use std::os::unix::fs::PermissionsExt;

    let spool = Scratch::new("bad-queues");
    for queue in ["good", "secret", "a\\b", "a_b", "_total"] {
        spool.write(&format!("{queue}/1"), "Dear Ann\n");
        spool.write(&format!("{queue}/delivered"), "40\n");
    }
    spool.write("good/delivered", "x");
    let secret = spool.0.join("secret");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let is_denied = fs::read_dir(&secret).is_err(); // root may read it
    let mut out = Vec::new();
    let machine = Machine::new(Box::new(FixedClock::default()));
    spool_provider::run(machine, &spool.0, &mut out, || ()).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).unwrap();

    let printed = String::from_utf8(out).unwrap().replace(&spool.0.display().to_string(), "spool");
    let has =
        |line: &str| assert!(printed.lines().any(|other| other.starts_with(line)), "{line}:\n{printed}");
    for name in ["good", "a_b", "a_b#1", "_total_"] {
        has(&format!(r"\Spool Queue({name})\Messages 1.0"));
    }
    has(r"\Spool Queue(good)\Delivered/sec - spool/good/delivered: not a number");
    match is_denied {
        true => {
            has(r"\Spool Queue(secret)\Messages - denied: spool/secret: ");
            has(r"\Spool\Messages - denied: spool/secret: ");
            has(r"\Spool Queue(_Total)\Messages 4.0");
        }
        false => has(r"\Spool Queue(_Total)\Messages 5.0"),
    }
}

/// Checks that the example provider without its directory gives all its countersets the same reason.
#[test]
fn provider_without_its_source() {
    let spool = Scratch::new("no-spool");
    spool.write("mail/1", "Dear Ann\n");
    let mut out = Vec::new();
    let machine = Machine::new(Box::new(FixedClock::default()));
    spool_provider::run(machine, &spool.0, &mut out, || fs::remove_dir_all(&spool.0).unwrap()).unwrap();
    let printed = String::from_utf8(out).unwrap().replace(&spool.0.display().to_string(), "spool");
    for counterset in ["Spool\\", "Spool Queue("] {
        let mut lines =
            printed.lines().filter(|line| line.starts_with(&format!(r"\{counterset}"))).peekable();
        assert!(lines.peek().is_some(), "{printed}");
        assert!(lines.all(|line| line.ends_with(" - unavailable: there is no spool")), "{printed}");
    }
}

#[test]
fn source() {
    let guide = "docs/guides/write-a-source.md";
    let [log, _] = blocks(guide, "text").try_into().unwrap();
    let mut out = Vec::new();
    text_log_source::run(&log, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), promised_output(guide, "text_log_source"));
    for line in ["7 hall 1", "x hall 1 2", "7 hall x 2", "7 hall 1 2 3"] {
        let error = text_log_source::run(&format!("# log\n{line}\n"), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "line 2: not SECONDS ROOM CO2 OPENINGS");
    }
}

#[test]
fn output() {
    let guide = "docs/guides/write-an-output.md";
    let [log, _] = blocks(guide, "text").try_into().unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let log = perfset::log::Logs::from_bytes(log.as_bytes()).unwrap();
    line_protocol_output::run(log, r"\Web Service(*)\*", &mut out, &mut err).unwrap();
    out.extend(err);
    assert_eq!(String::from_utf8(out).unwrap(), promised_output(guide, "line_protocol_output"));
}
