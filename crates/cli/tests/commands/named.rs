//! Tests of counter paths whose counter or instance does not exist: the nearest names, and waiting for them.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::publishing::{Orders, Published};
use crate::running::{perfset, run, testdata};

#[test]
fn a_mistyped_instance_gets_the_nearest_names() {
    for (path, want) in [
        (
            r"\Processor Information(_Totl)\% User Time",
            "error: \"Processor Information\" has no instance \"_Totl\"\n  nearest: _Total, 0,_Total\n  \
             perfset instances 'Processor Information' shows all 4\n  \
             perfset get --wait waits until it appears\n",
        ),
        (
            "/PhysicalDisk({x,y})/Disk Reads\u{1b}/sec",
            "error: \"PhysicalDisk\" has no counter \"Disk Reads\\u{1b}/sec\"\n  nearest: Disk Reads/sec",
        ),
        (
            "/Pressure Stall(c\u{1b}pu)/% Some Stalled Time",
            "error: \"Pressure Stall\" has no instance \"c\\u{1b}pu\"\n  nearest: cpu\n",
        ),
    ] {
        let (code, out, err) = run("small-vm", &["get", path, "--warmup", "10ms"]);
        assert_eq!((code, out.as_str()), (3, ""), "{path}: {err}");
        assert!(err.starts_with(want), "{path}: {err}");
    }
    #[cfg(feature = "plot")]
    {
        let args = ["plot", r"\Processor(7)\% User Time", "10ms", "2", "-o", "/nowhere/x.svg"];
        let (code, _, err) = run("small-vm", &args);
        assert!(code != 0, "{err}");
    }
}

/// Checks that an absent instance costs only its own values, and that its error comes first. The errors come first,
/// because the samples may be endless.
#[test]
fn other_paths_are_printed_beside_an_absent_instance() {
    let paths = ["/System/Processes", r"\Processor(7)\% User Time", r"\Processor(_Totl)\% User Time"];
    let error = "error: \"Processor\" has no instance \"7\"";
    for more in [&["--raw"][..], &["--raw", "--format", "csv"], &["--raw", "--format", "json", "--strict"]] {
        let (code, out, err) = run("small-vm", &[&["get"], &paths[..], more].concat());
        assert_eq!(code, 3, "{more:?}: {err}");
        assert!(out.contains("Processes"), "{more:?}: {out}");
        assert!(err.starts_with(error) && err.contains("\n  nearest: _Total\n"), "{more:?}: {err}");
        assert_eq!(err.matches("error: ").count(), 2, "{more:?}: {err}");
    }
    let (code, out, err) = run("small-vm", &["get", paths[1], paths[2], "--raw"]);
    assert_eq!((code, out.as_str(), err.matches("error: ").count()), (3, "", 2), "all are absent: {err}");
    // A counter that does not exist is wrong for ever.
    let (code, out, _) = run("small-vm", &["get", paths[0], "/System/Proceses", "--raw"]);
    assert_eq!((code, out.as_str()), (3, ""));
}

/// Checks that a pattern may select nothing: a disk can be added later.
#[test]
fn a_pattern_may_select_nothing() {
    for path in [r"\Processor Information(7,*)\% User Time", r"\Processor Information({7,8}?)\% User Time"] {
        let (code, out, err) = run("small-vm", &["get", path, "--raw"]);
        assert_eq!((code, err.as_str()), (0, ""), "{path}");
        assert!(out.contains("no active instance matches"), "{path}: {out}");
    }
}

#[test]
fn a_log_may_lack_an_instance() {
    let log = testdata("logs/BasicPerfCounters.blg").display().to_string();
    let (code, _, err) = run("small-vm", &["get", r"\Processor(_Totl)\% Processor Time", "--log", &log]);
    assert_eq!(code, 3);
    let want = "error: \"Processor\" has no instance \"_Totl\"\n  nearest: _Total\n  \
        perfset instances 'Processor' --log ";
    assert!(err.starts_with(want) && !err.contains("--wait"), "{err}");
    let (code, _, err) = run("small-vm", &["get", r"\Processor(_Total)\% Processor Time", "--log", &log]);
    assert_eq!((code, err.as_str()), (0, ""));
    let args = ["get", r"\Processor(_Total)\% Processor Time", "--log", &log, "--wait"];
    assert_eq!(run("small-vm", &args).0, 2);
}

#[test]
fn get_waits_for_what_is_published_later() {
    let published = Published::new("awaited");
    let path = r"\Billing Orders(Porto)\Waiting Orders";
    let mut command = perfset("small-vm", &["get", path, "20ms", "1", "--format", "csv", "--wait"]);
    let command = command.env("PERFSET_RUNTIME_DIR", published.folder());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    messages.read_line(&mut note).unwrap();
    assert_eq!(note, "note: \"Billing Orders\" has no instance \"Porto\"; waiting for it\n");
    let porto = published.publisher.instance::<Orders>("Porto");
    porto.waiting.set(5);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(out.lines().last().unwrap().contains("Porto"), "{out}");
    note.clear();
    assert_eq!(messages.read_line(&mut note).unwrap(), 0, "one note is enough: {note}");
}

/// Checks that `get` waits for the counterset of a program that starts later.
#[test]
fn get_waits_for_a_counterset() {
    let published = Published::new("awaited-set");
    let folder = published.folder().to_owned();
    drop(published);
    let mut command =
        perfset("small-vm", &["get", r"\Billing Orders(*)\Waiting Orders", "20ms", "1", "--wait"]);
    let command = command.env("PERFSET_RUNTIME_DIR", &folder);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    messages.read_line(&mut note).unwrap();
    assert_eq!(note, "note: no counterset is named \"Billing Orders\"; waiting for it\n");
    let publisher = perfset::publish::Publisher::in_folders(perfset::publish::Folders::only(&folder));
    let _lisbon = publisher.instance::<Orders>("Lisbon");
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(out.contains("Lisbon"), "{out}");
}
