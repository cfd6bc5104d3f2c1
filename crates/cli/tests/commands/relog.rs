//! Tests of `perfset get --log`, `perfset relog`, and the Windows tools by their names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::running::{self, outcome, perfset, program, scratch, testdata};

fn logs(name: &str) -> String {
    testdata("logs").join(name).display().to_string()
}

fn basic() -> String {
    logs("BasicPerfCounters.blg")
}

fn run(args: &[&str]) -> (i32, String, String) {
    running::run("small-vm", args)
}

/// Runs the program under another name; returns exit code, standard output and standard error.
fn run_as(name: &Path, args: &[&str]) -> (i32, String, String) {
    outcome(program(name, "small-vm", args).output().unwrap())
}

fn good(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

const TOTAL: &str = r"\Processor(_Total)\% Processor Time";

#[test]
fn a_log_answers_like_a_machine() {
    let list = good(&["list", "--log", &basic()]);
    assert!(list.contains("PhysicalDisk          1         5  GEORGIS3\n"), "{list}");
    let instances = good(&["instances", "processor", "--log", &basic()]);
    assert_eq!(
        instances.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["instance", "0", "1", "2", "3", "_Total"]
    );
    let about = good(&["describe", "PhysicalDisk", "--log", &basic()]);
    assert!(about.contains("Avg. Disk Queue Length") && about.contains("raw value of PDH"), "{about}");
    assert!(!about.contains('#'), "parts of raw values are not counters: {about}");
    let found = good(&["find", "queue", "write", "--log", &basic()]);
    assert!(found.starts_with(r"\PhysicalDisk(*)\Avg. Disk Write Queue Length"), "{found}");
}

#[test]
fn values_of_a_log() {
    let table = good(&["get", "--log", &basic(), TOTAL]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 603, "600 samples with a second one before them, and the head");
    assert_eq!(lines[3], "2013-02-19 18:50:18.844               9.4", "local time where it was written");
    let csv = good(&["get", "--log", &basic(), TOTAL, "--format", "csv"]);
    assert!(csv.contains("\n2013-02-20T02:50:18.844Z,"), "UTC for programs");
    let window = ["--begin", "2013-02-19 19:00:10", "--end", "2013-02-20 03:00:13Z"];
    let part = good(&[&["get", "--log", &basic(), TOTAL], &window[..]].concat());
    assert_eq!(part.lines().count(), 3 + 2, "{part}");
    let thin = good(&["get", "--log", &basic(), TOTAL, "60", "3"]);
    let times: Vec<_> = thin.lines().skip(3).map(|line| line[11..16].to_owned()).collect();
    assert_eq!(times, ["18:51", "18:52", "18:53"]);
    let busy = good(&["get", "--log", &basic(), TOTAL, "--where", ">50"]);
    assert_eq!(busy.lines().skip(3).count(), 2, "only samples in which it holds: {busy}");
    let raw = good(&["get", "--log", &basic(), TOTAL, "--raw", "--format", "json"]);
    let first: Value = serde_json::from_str(raw.lines().next().unwrap()).unwrap();
    assert_eq!((first["raw"].as_u64(), raw.lines().count()), (Some(1_170_374_257_812), 601));
}

/// Checks that one series of a log, read without a query, has the same output as a query.
#[test]
fn a_series_is_what_a_query_gives() {
    for path in [TOTAL, r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read"] {
        for options in [&[][..], &["--format", "json"], &["--raw"], &["--summary"], &["7"], &["1", "5"]] {
            let of = |path: &str| good(&[&["get", "--log", &basic(), path], options].concat());
            let by_query = path.replace("(", "({").replace(")", "})");
            assert_eq!(of(path), of(&by_query), "{path} {options:?}");
        }
    }
}

#[test]
fn formatted_values_have_no_raw_ones() {
    let log = logs("esxtop.csv");
    let json = good(&["get", "--log", &log, r"\Physical Cpu(_Total)\% Util Time", "--format", "json"]);
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((first["value"].as_f64(), &first["raw"]), (Some(2.19), &Value::Null));
    assert_eq!(first["mark"], "formatted");
    let about = good(&["describe", "Physical Cpu", "--log", &log]);
    assert!(about.contains("formatted by the log's writer"), "{about}");
}

#[test]
fn mistakes_about_logs() {
    let log = basic();
    for (args, code, says) in [
        (&["get", "--log", "/nowhere.blg", TOTAL][..], 4, "/nowhere.blg: cannot read the log: No such file"),
        (&["get", "--log", "Cargo.toml", TOTAL], 5, "Cargo.toml: the file is not a log"),
        (&["get", "--log", &log, r"\Nope\X"], 3, "perfset list --log '"),
        (
            &["get", "--log", &log, r"\\OTHER\Processor(0)\*"],
            3,
            "no counters of a machine \"OTHER\"; it has: GEORGIS3",
        ),
        (&["get", "--log", &log, TOTAL, "--begin", "noon"], 2, "an instant is like"),
        (&["get", TOTAL, "--begin", "2026-01-01"], 2, "--log"),
        (&["get", "--log", &log, TOTAL, "--warmup", "1"], 2, "--warmup applies only to live values"),
        (&["relog", &log], 2, "no output file is given: -o FILE"),
        (&["relog", &log, "-o", "x.xyz"], 2, "has no known ending"),
        (&["relog", &log, "-o", "-", "-c", "x"], 2, "does not begin with"),
        (
            &["relog", &log, "-o", "-", "--begin", "2030-01-01"],
            3,
            "no sample in the log, or none in that time",
        ),
        (
            &["get", "--log", &log, TOTAL, "--begin", "2030-01-01"],
            3,
            "no sample in the log, or none in that time",
        ),
        (&["get", "cpu", "--machine", "X"], 2, "it needs --log FILE"),
        (&["relog", &log, "-o", "-", "--machine", "X"], 3, "it has: GEORGIS3"),
    ] {
        let (got, _, err) = run(args);
        assert!(got == code && err.contains(says), "{args:?}: {got} {err}");
    }
}

#[test]
fn written_and_read_back() {
    let folder = scratch("relog-back");
    let path = |name: &str| folder.join(name).display().to_string();
    for name in ["a.csv", "a.tsv"] {
        assert_eq!(good(&["relog", &basic(), "-o", &path(name)]), "");
        let back = path(&format!("back-{name}"));
        good(&["relog", &path(name), "-o", &back]);
        let read = |file: &str| fs::read(file).unwrap();
        assert_eq!(read(&path(name)), read(&back), "{name}");
    }
    // Value by value against the log itself.
    let values = |log: &str| -> Vec<Option<f64>> {
        let json = good(&["relog", log, "-o", "-", "--format", "json"]);
        let value = |line: &str| serde_json::from_str::<Value>(line).unwrap()["value"].as_f64();
        json.lines().map(value).collect()
    };
    let (of_log, of_csv) = (values(&basic()), values(&path("a.csv")));
    assert_eq!((of_log.len(), of_log.iter().flatten().count()), (6_010, 6_000));
    assert_eq!(of_log, of_csv);
    let (code, _, err) = run(&["relog", &basic(), "-o", &path("a.csv")]);
    assert!(code == 2 && err.contains("--force overwrites it"), "{err}");
    good(&["relog", &basic(), "-o", &path("a.csv"), "--force"]);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "nothing else is left: {left:?}");
}

#[test]
fn written_as_sqlite() {
    let folder = scratch("relog-sqlite");
    let db = folder.join("a.db").display().to_string();
    good(&["relog", &basic(), "-o", &db]);
    assert!(fs::read(&db).unwrap().starts_with(b"SQLite format 3\0"));
    let len = fs::metadata(&db).unwrap().len();
    for (more, code, says) in [
        (&[][..], 2, "exists; --force overwrites it"),
        (&["--append"], 2, "already has a log set \"BasicPerfCounters\""),
        (&["--append", "--set", "again"], 0, ""),
        (&["--force", "--every", "600"], 0, ""),
    ] {
        let (got, _, err) = run(&[&["relog", &basic(), "-o", &db], more].concat());
        assert!(got == code && err.contains(says), "{more:?}: {got} {err}");
    }
    assert!(fs::metadata(&db).unwrap().len() < len);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["a.db"], "nothing else is left");
    let (code, _, err) = run(&["relog", &basic(), "-o", "-", "--format", "sqlite"]);
    assert!(code == 2 && err.contains("cannot be standard output"), "{err}");
}

/// Checks that forced output replaces a file, keeps its mode and link, and leaves the file if nothing can be written.
#[test]
fn forced_output_replaces_file_and_keeps_mode_and_link() {
    use std::os::unix::fs::PermissionsExt;
    let folder = scratch("relog-replaces");
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("old.csv"), "old").unwrap();
    fs::set_permissions(path("old.csv"), fs::Permissions::from_mode(0o600)).unwrap();
    let none = ["--begin", "2030-01-01", "--force"];
    let (code, _, err) = run(&[&["relog", &basic(), "-o", &path("old.csv")], &none[..]].concat());
    assert!(code == 3 && err.contains("no sample"), "{err}");
    assert_eq!(fs::read_to_string(path("old.csv")).unwrap(), "old", "it stays if there is nothing to write");
    std::os::unix::fs::symlink(path("old.csv"), path("link.csv")).unwrap();
    good(&["relog", &basic(), "-o", &path("link.csv"), "--force", "--every", "600"]);
    let mode = fs::metadata(path("old.csv")).unwrap().permissions().mode();
    assert!(fs::read_link(path("link.csv")).is_ok() && mode & 0o777 == 0o600, "{mode:o}");
    assert!(fs::read_to_string(path("old.csv")).unwrap().starts_with("\"(PDH-CSV"));
    let (code, _, err) = run(&["relog", &basic(), "-o", "/dev/full", "--format", "csv"]);
    assert!(code == 4 && err.contains("No space"), "a device is written as it is: {code} {err}");
    let (code, _, err) = run(&["relog", &basic(), "-o", &path("no/such.csv")]);
    assert!(code == 4 && err.contains("cannot write"), "{err}");
    let left: std::collections::BTreeSet<_> =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn from_standard_input() {
    let text = fs::read(basic()).unwrap();
    for args in [&["relog", "-", "-o", "-"][..], &["get", "--log", "-", TOTAL, "--format", "csv"]] {
        let mut child =
            perfset("small-vm", args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let bytes = text.clone();
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &bytes));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert!(output.status.success() && lines > 600, "{args:?}: {lines}");
    }
}

/// Checks that a log whose clock was set back loses no sample, whichever way it is read.
#[test]
fn a_clock_that_was_set_back() {
    let folder = scratch("log-back");
    let file = folder.join("back.csv").display().to_string();
    let line = |second: i32| format!("\"11/05/2026 10:00:{second:02}.000\",\"{second}\",\"1\"\n");
    let seconds = [30, 31, 32, 10, 11, 12, 33];
    let head = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\Thing\\A\",\"\\\\H\\Thing\\B\"\n";
    fs::write(&file, head.to_owned() + &seconds.map(line).concat()).unwrap();
    let one = good(&["get", "--log", &file, r"\Thing\A", "--format", "csv"]);
    let two = good(&["get", "--log", &file, r"\Thing\A", r"\Thing\B", "--format", "csv"]);
    assert_eq!((one.lines().count(), two.lines().count()), (1 + 7, 1 + 14), "{one}");
}

#[test]
fn several_logs_and_machines_as_one() {
    let both = good(&["relog", &logs("perfmon.csv"), &logs("esxtop.csv"), "-o", "-"]);
    let lines: Vec<_> = both.lines().collect();
    assert!(
        lines[0].contains(r"\\WEB01\Memory") && lines[0].contains(r"\\esx01.example.com\"),
        "{}",
        lines[0]
    );
    let one = good(&["relog", &logs("perfmon.csv"), &logs("esxtop.csv"), "-o", "-", "--machine", "web01"]);
    assert!(!one.contains("esx01"), "{one}");
}

#[test]
fn damage_is_said_and_the_rest_written() {
    let folder = scratch("relog-damage");
    let cut = folder.join("cut.blg").display().to_string();
    fs::write(&cut, &fs::read(basic()).unwrap()[..200_000]).unwrap();
    let (code, out, err) = run(&["relog", &cut, "-o", "-"]);
    assert_eq!((code, out.lines().count()), (5, 255));
    assert!(err.starts_with(&format!("warning: {cut}: at byte 200000: the file is cut")), "{err}");
    let (code, out, err) = run(&["get", "--log", &cut, TOTAL]);
    assert!(code == 5 && out.lines().count() == 256 && err.starts_with("warning: "), "{err}");
}

/// Creates a link to the program under another name, and returns its path.
fn tool(folder: &Path, name: &str) -> PathBuf {
    let link = folder.join(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_perfset"), &link).unwrap();
    link
}

#[test]
fn started_as_relog() {
    let folder = scratch("as-relog");
    let relog = tool(&folder, "relog");
    let file = folder.join("out.csv").display().to_string();
    let log = basic();
    let args = [&*log, "/f", "CSV", "-o", &file, "/t", "100", "-c", TOTAL, "/b", "2/19/2013", "6:52:00PM"];
    let (code, out, err) = run_as(&relog, &args);
    assert_eq!((code, err.as_str()), (0, ""));
    let want = format!(
        "\nInput\n----------------\nFile(s):\n     {log} (Binary)\n\nBegin:    2/19/2013 18:50:17\n\
         End:      2/19/2013 19:00:17\nSamples:  601\n\n100.00%\n\nOutput\n----------------\nFile:     {file}\n\n\
         Begin:    2/19/2013 18:52:00\nEnd:      2/19/2013 18:58:40\nSamples:  5\n\n\
         The command completed successfully.\n"
    );
    assert_eq!(out, want);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("\"(PDH-CSV 4.0) (UTC-08:00)(480)\",\"\\\\GEORGIS3\\Processor(_Total)\\"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 6);
    let (code, out, _) = run_as(&relog, &["-q", &log]);
    assert_eq!((code, out.lines().count()), (0, 11));
    for (args, code, says) in [
        (&[&*log, "-o", &file][..], 2, "-y overwrites it"),
        (&[&log, "-o", "x.blg"], 2, "binary logs can be read but not written"),
        (&[&log, "-f"], 2, "-f needs a value"),
        (&["-nope"], 2, "unknown option"),
        (&[], 2, "no log is given"),
        (&["/nowhere"], 4, "cannot read /nowhere"),
    ] {
        let (got, _, err) = run_as(&relog, args);
        assert!(got == code && err.starts_with("\nError:\n") && err.contains(says), "{args:?}: {got} {err}");
    }
}

#[test]
fn started_as_typeperf() {
    let folder = scratch("as-typeperf");
    let typeperf = tool(&folder, "typeperf");
    let (code, out, err) = run_as(&typeperf, &[r"\Memory\Available Bytes", "/sc", "2", "-SI", "1"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "");
    assert!(
        lines[1].starts_with("\"(PDH-CSV 4.0)\",\"\\\\") && lines[1].ends_with("\\Memory\\Available Bytes\""),
        "{out}"
    );
    assert!(lines[2].ends_with(".000000\"") && lines[2].len() > 28, "{out}");
    assert_eq!(&lines[4..], ["", "Exiting, please wait...", "The command completed successfully."]);
    let (_, listed, _) = run_as(&typeperf, &["-q", "Processor"]);
    assert!(listed.starts_with("\\Processor(*)\\% Processor Time\n"), "{listed}");
    let (_, listed, _) = run_as(&typeperf, &["/qx", "Processor"]);
    assert!(listed.starts_with("\\Processor(0)\\% Processor Time\n"), "{listed}");
    let file = folder.join("out.tsv").display().to_string();
    let args = [r"\Memory\Available Bytes", "-f", "TSV", "-o", &file, "-sc", "1"];
    assert_eq!(run_as(&typeperf, &args).0, 0);
    assert!(fs::read_to_string(&file).unwrap().starts_with("\"(PDH-TSV 4.0) ("));
    let config = folder.join("c.txt").display().to_string();
    fs::write(&config, "-sc 1\n\"\\Memory\\Available Bytes\"\n").unwrap();
    assert!(run_as(&typeperf, &["-config", &config]).1.contains("Available Bytes"));
    for (args, code, says) in [
        (&[][..], 2, "which counters?"),
        (&[r"\Nope\X", "-sc", "1"], 3, "no counterset is named"),
        (&[r"\Memory\Available Bytes", "-sc", "0"], 2, "a number of at least 1"),
        (&[r"\Memory\Available Bytes", "-f", "bin"], 2, "binary logs"),
        (&["-s", "elsewhere", r"\Memory\Available Bytes"], 4, "another machine"),
    ] {
        let (got, _, err) = run_as(&typeperf, args);
        assert!(got == code && err.contains(says), "{args:?}: {got} {err}");
    }
}

/// Checks that a log is read once for all of its machines: neither memory nor time grows with their square. Of 2,000
/// machines a reading for each would take 900 MB.
#[test]
fn many_machines_are_read_at_once() {
    const MACHINES: usize = 2_000;
    let mut log = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    let line = |log: &mut String, cell: &dyn Fn(usize) -> String| {
        (0..MACHINES).for_each(|machine| log.push_str(&format!(",\"{}\"", cell(machine))));
    };
    line(&mut log, &|machine| format!(r"\\m{machine:04}\Set(p)\Counter"));
    for second in 0..3 {
        log.push_str(&format!("\r\n\"11/05/2026 10:00:{second:02}.000\""));
        line(&mut log, &|machine| format!("{}", machine * 10 + second));
    }
    log.push_str("\r\n");
    let folder = scratch("many-machines");
    let [file, csv, db] = ["in.csv", "out.csv", "out.db"].map(|name| folder.join(name).display().to_string());
    fs::write(&file, &log).unwrap();
    let within = |args: &[&str]| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -v 300000 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_perfset")]);
        let (code, out, err) = outcome(shell.args(args).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        out
    };
    within(&["relog", &file, "-o", &csv]);
    assert!(fs::read_to_string(&csv).unwrap() == log, "the log itself is written");
    assert_eq!(within(&["relog", &file, "--list"]).lines().count(), MACHINES);
    within(&["relog", &file, "-o", &db]);
    let json = within(&["relog", &file, "-o", "-", "-f", "json"]);
    assert_eq!(json.lines().count(), 3 * MACHINES);
    fs::remove_dir_all(&folder).unwrap();
}

/// Checks the links of output paths in a user namespace without a mapping, in which all users have one uid. Links of
/// the system lead to standard output, and no other link is followed, because its owner is unknown.
#[test]
#[cfg(target_os = "linux")]
fn links_in_a_user_namespace() {
    let unshare =
        |option: &str, args: &[&str]| std::process::Command::new("unshare").arg(option).args(args).output();
    if !unshare("-U", &["true"]).is_ok_and(|output| output.status.success()) {
        return; // this system permits no user namespace
    }
    let folder = scratch("namespace");
    let [link, file] = ["link.csv", "file.csv"].map(|name| folder.join(name));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let log = logs("esxtop.csv");
    let relog = |option: &str, output: &str| {
        let program = env!("CARGO_BIN_EXE_perfset");
        outcome(unshare(option, &[program, "relog", &log, "-f", "csv", "-o", output]).unwrap())
    };
    let want = good(&["relog", &log, "-f", "csv", "-o", "-"]);
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"] {
        // With `-r`, this user is root there, and the owner of the system has no uid unless this user is root.
        for option in ["-U", "-Ur"] {
            let (code, out, err) = relog(option, output);
            assert_eq!((code, out.as_str(), err.as_str()), (0, want.as_str(), ""), "{option} {output}");
        }
    }
    let (code, _, err) = relog("-U", &link.display().to_string());
    assert_eq!((code, file.exists()), (4, false), "{err}");
    assert!(err.contains("of all users without a uid in this user namespace"), "{err}");
    assert_eq!(relog("-U", &file.display().to_string()).0, 0, "{file:?} itself is written");
}
