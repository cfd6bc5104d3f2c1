//! Tests of counters that programs publish, as the command shows them.

use std::fs;

use perfset::publish::{Counterset, Gauge};

use crate::publishing::{Orders, Published};
use crate::running::{outcome, perfset};

/// Runs the command in the directory of a test's publisher; returns exit code, standard output and standard error.
fn run(published: &Published, args: &[&str]) -> (i32, String, String) {
    outcome(perfset("small-vm", args).env("PERFSET_RUNTIME_DIR", published.folder()).output().unwrap())
}

#[test]
fn listed_described_and_read() {
    let published = Published::new("listed");
    let pid = std::process::id();
    let (code, out, _) = run(&published, &["list", "billing"]);
    assert_eq!(code, 0);
    assert!(out.contains("Billing Orders          1         4  "), "{out}");
    assert!(out.contains("  commands-"), "the test is the program: {out}");
    let (_, out, _) = run(&published, &["describe", "billing", "waiting orders"]);
    assert!(out.contains("Orders that wait for their payment."), "{out}");
    let (_, out, _) = run(&published, &["instances", "billing"]);
    assert!(out.contains("Lisbon") && out.contains(&pid.to_string()), "{out}");
    let raw = |paths: &[&str]| {
        let args = [&["get", "--raw", "--format", "csv"], paths].concat();
        let (code, out, err) = run(&published, &args);
        assert_eq!(code, 0, "{err}");
        out
    };
    let out = raw(&[r"\Billing Orders(*)\Orders/sec"]);
    assert!(out.lines().last().unwrap().contains("Lisbon"), "{out}");
    published.lisbon.taken.add(4);
    assert!(raw(&[r"\Billing Orders(Lisbon)\Orders/sec"]).contains(",7,"), "seven by now");
    let (code, _, err) = run(&published, &["doctor"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn exited_publisher_disappears_from_list() {
    let published = Published::new("gone");
    let folder = published.folder().to_owned();
    let list = || {
        let mut command = perfset("small-vm", &["list", "billing"]);
        outcome(command.env("PERFSET_RUNTIME_DIR", &folder).output().unwrap())
    };
    assert_eq!(list().0, 0);
    drop(published);
    assert_eq!((list().0, fs::read_dir(&folder).unwrap().count()), (3, 0));
}

/// Counterset of a program that takes the name of the machine's memory.
#[derive(Counterset)]
#[counterset(provider = "Mallory", name = "memory")]
struct Pretender {
    #[counter(name = "Available Bytes")]
    available: Gauge,
}

#[test]
fn built_in_names_cannot_be_taken() {
    let published = Published::new("pretender");
    let pretender = published.publisher.instance::<Pretender>("");
    pretender.available.set(1);
    let (_, out, _) = run(&published, &["list"]);
    assert_eq!(out.lines().filter(|line| line.to_lowercase().starts_with("memory ")).count(), 1, "{out}");
    let (_, out, _) = run(&published, &["doctor"]);
    assert!(
        out.contains("warn ") && out.contains("\"memory\"") && out.contains("its name is that of"),
        "{out}"
    );
}

#[test]
fn a_program_exports_its_counterset_as_a_manifest() {
    let published = Published::new("manifest");
    let (code, out, err) = run(&published, &["manifest", "export", "billing"]);
    assert_eq!(code, 0, "{err}");
    let manifest = perfset::manifest::Manifest::parse(out.as_bytes()).unwrap();
    let sets = manifest.countersets();
    assert_eq!((sets.len(), sets[0].guid), (1, Orders::GUID));
    assert_eq!(&*sets[0].counters[0].help, "Orders that were taken.");
}

/// Checks that root sees the counters of other users' programs without an option. They are labelled with the user,
/// within limits that `doctor` and the help name.
#[test]
fn other_users_programs_are_found_by_root() {
    const LIMITS: &str = "at most 64 MiB and 100,000 instances";
    let published = Published::new("others");
    let (_, out, _) = run(&published, &["doctor"]);
    assert!(out.contains(LIMITS), "{out}");
    for command in [["get", "--help"], ["serve", "--help"]] {
        let (_, out, _) = run(&published, &command);
        let words: Vec<_> = out.split_whitespace().collect();
        assert!(words.join(" ").contains(LIMITS), "{out}");
    }
    let file = published.publisher.path().unwrap();
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_err() {
        return; // only root can make it another user's
    }
    let (_, out, _) = run(&published, &["instances", "billing"]);
    assert!(out.contains("65534/Lisbon"), "{out}");
    let (_, out, err) =
        run(&published, &["get", "--raw", "--format", "csv", r"\Billing Orders(*)\Orders/sec"]);
    assert!(out.contains("65534/Lisbon") && err.is_empty(), "{out}{err}");
}
