//! Tests of recorders that are killed, refused, controlled and started again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::running::{Started, outcome, perfset, run, scratch};

/// Returns the path of a test's directory that does not exist yet.
fn folder(test: &str) -> PathBuf {
    let folder = scratch(test).join("recording");
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// Returns the journals in a directory of a recording, with their lengths.
fn journals(folder: &Path) -> Vec<(PathBuf, u64)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter_map(|file| Some((file.path(), file.metadata().ok()?.len())));
    files.filter(|(path, _)| path.extension().is_some_and(|ending| ending == "journal")).collect()
}

/// Starts a recorder for a directory, and waits until it has written some samples.
fn start(folder: &Path) -> Started {
    let before = journals(folder);
    let words = ["record", "--dir", folder.to_str().unwrap(), "mem", "10ms"];
    let mut command = perfset("small-vm", &words);
    let recorder = Started(command.stderr(Stdio::null()).spawn().unwrap());
    let begin = Instant::now();
    let is_new = |(path, len): &(PathBuf, u64)| *len > 4_000 && before.iter().all(|(known, _)| known != path);
    while !journals(folder).iter().any(is_new) {
        assert!(begin.elapsed() < Duration::from_secs(20), "the recorder writes nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    recorder
}

/// Returns the number of samples that `log info` prints for a directory, and its exit code.
fn samples(folder: &Path) -> (usize, i32) {
    let (code, out, err) = run("small-vm", &["log", "info", folder.to_str().unwrap()]);
    let line = out.lines().find(|line| line.starts_with("samples")).unwrap_or_else(|| panic!("{out} {err}"));
    let number = line.split_whitespace().nth(1).unwrap().trim_end_matches(',').replace(',', "");
    (number.parse().unwrap(), code)
}

#[test]
fn a_killed_recorder_leaves_whole_samples() {
    let folder = folder("killed-recorder");
    let mut before = 0;
    for _ in 0..3 {
        drop(start(&folder));
        let (now, code) = samples(&folder);
        // A torn end is no damage.
        assert!(now > before && code == 0, "{before} {now} {code}");
        before = now;
    }
    // The next recorder continues the numbers, and what the others have left is sealed.
    let name = folder.to_str().unwrap();
    let (code, _, err) = run("small-vm", &["record", "--dir", name, "mem", "10ms", "3"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(samples(&folder), (before + 3, 0));
    // After a clean end, too, when all files are sealed.
    assert_eq!(run("small-vm", &["record", "--dir", name, "mem", "10ms", "2"]).0, 0);
    before += 2;
    assert_eq!(samples(&folder), (before + 3, 0));
    assert_eq!(journals(&folder), []);
    let get = ["get", r"\Memory\Available Bytes", "--log", name, "--format", "json", "--raw"];
    let (code, out, err) = run("small-vm", &get);
    assert_eq!(code, 0, "{err}");
    // Between two recorders is a sample without a value.
    assert_eq!(out.matches("\"status\":\"ok\"").count(), before + 3);
}

#[test]
fn a_folder_has_one_recorder() {
    let folder = folder("one-recorder");
    let name = folder.to_str().unwrap();
    assert_eq!(run("small-vm", &["record", "--dir", name, "--status"]).0, 3);
    let mut first = start(&folder);
    let owner = format!("process {}", first.0.id());
    let (code, _, err) = run("small-vm", &["record", "--dir", name, "mem", "10ms", "1"]);
    assert!(code == 4 && err.contains(&owner), "{code} {err}");
    let (code, out, _) = run("small-vm", &["record", "--dir", name, "--status"]);
    assert!(code == 0 && out.contains(&owner), "{code} {out}");
    assert_eq!(run("small-vm", &["mark", "deploy 42", "--dir", name]).0, 0);
    if cfg!(target_os = "linux") {
        let (code, _, err) = run("small-vm", &["record", "--dir", name, "--stop"]);
        assert_eq!(code, 0, "{err}");
        assert!(first.0.wait().unwrap().success());
        let (_, out, _) = run("small-vm", &["log", "info", name]);
        for text in ["recorder started", "deploy 42", "recorder stopped"] {
            assert!(out.contains(text), "{out}");
        }
    }
}

/// Checks that a recorder publishes its own counters while it runs, and records them too.
#[cfg(target_os = "linux")]
#[test]
fn a_recorder_publishes_its_counters() {
    let folder = folder("published-recorder");
    let runtime = scratch("published-recorder-runtime");
    let published = |args: &[&str]| {
        outcome(perfset("small-vm", args).env("PERFSET_RUNTIME_DIR", &runtime).output().unwrap())
    };
    let path = r"\Perfset Recorder(*)\*";
    assert_eq!(published(&["get", path]).0, 3);
    let words = ["record", "--dir", folder.to_str().unwrap(), "--cpu", "never", "mem", "10ms"];
    let mut command = perfset("small-vm", &words);
    command.env("PERFSET_RUNTIME_DIR", &runtime).stderr(Stdio::null());
    let recorder = Started(command.spawn().unwrap());
    let begin = Instant::now();
    let get = ["get", path, "--raw", "--format", "csv"];
    // Counters that count, and those of trouble that has not come.
    let has = |out: &str, counter: &str, wanted: fn(u64) -> bool| {
        let line = out.lines().find(|line| line.contains(counter)).unwrap_or_default();
        line.contains("recording") && line.split(',').any(|word| word.parse().is_ok_and(wanted))
    };
    loop {
        let (code, out, err) = published(&get);
        let counts = ["Samples/sec", "Bytes Written/sec", "% Processor Time"];
        if code == 0 && counts.iter().all(|counter| has(&out, counter, |value| value > 0)) {
            assert!(has(&out, "Lost Samples", |value| value == 0), "{out}");
            assert!(has(&out, "Slowed Countersets", |value| value == 0), "{out}");
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{code} {out} {err}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(recorder);
    assert_eq!(published(&["get", path]).0, 3);
}

/// Checks that two counter paths of one counterset are two tables of a recording, and that both are found. Both are
/// found, also if they are recorded at other times.
#[test]
fn paths_of_one_counterset() {
    let folder = folder("recorded-paths");
    let name = folder.to_str().unwrap();
    let paths = [r"\Processor(0)\% User Time", r"\Processor(1)\% User Time", r"\Processor(1)\% Idle Time"];
    let (code, _, err) = run("small-vm", &[&["record", "--dir", name][..], &paths, &["10ms", "3"]].concat());
    assert_eq!(code, 0, "{err}");
    let get = ["get", r"\Processor(*)\% User Time", "--log", name, "--format", "json", "--raw"];
    let (_, out, err) = run("small-vm", &get);
    for instance in ["0", "1"] {
        let path = format!("Processor({instance})");
        assert_eq!(out.lines().filter(|line| line.contains(&path)).count(), 3, "{out} {err}");
    }
}

#[test]
fn a_file_is_written_once() {
    let file = scratch("recorded-file").join("one.perfset");
    let _ = fs::remove_file(&file);
    let words = ["record", "-o", file.to_str().unwrap(), "mem", "10ms", "3"];
    assert_eq!(run("small-vm", &words).0, 0);
    // It is stored by column, and nothing is beside it.
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    let bytes = fs::read(&file).unwrap();
    let kinds: Vec<u8> =
        bytes.windows(5).filter(|block| block.starts_with(b"PFS1")).map(|block| block[4]).collect();
    assert!(kinds.contains(&5) && !kinds.contains(&3) && !kinds.contains(&4), "{kinds:?}");
    let length = fs::metadata(&file).unwrap().len();
    let (code, _, err) = run("small-vm", &words);
    assert!(code == 4 && err.contains("one.perfset"), "{code} {err}");
    assert_eq!(fs::metadata(&file).unwrap().len(), length);
    assert_eq!(samples(&file), (3, 0));
}

/// Checks file names as users type them in the directory of the file: alone, and with the sign of that directory.
#[test]
fn files_of_the_current_directory() {
    let folder = scratch("recorded-here");
    for name in ["one.perfset", "./two.perfset"] {
        let mut command = perfset("small-vm", &["record", "-o", name, "mem", "10ms", "3"]);
        let (code, _, err) = outcome(command.current_dir(&folder).output().unwrap());
        assert!(code == 0 && !err.contains("warning"), "{code} {err}");
        assert_eq!(samples(&folder.join(name)), (3, 0));
    }
}

/// Returns the words of the lines of a screen that do not depend on when it was drawn.
fn steady(screen: &str) -> Vec<String> {
    // Next commands of findings need the log in the past, which the last line says.
    let is_steady = |line: &&str| !["-", "..."].iter().any(|start| line.starts_with(start));
    let is_steady = |line: &&str| is_steady(line) && !line.contains("load ") && !line.contains("up ");
    let words =
        |line: &str| line.split_whitespace().filter(|word| *word != "...").collect::<Vec<_>>().join(" ");
    screen.lines().filter(is_steady).map(words).filter(|line| !line.is_empty()).collect()
}

/// Checks that the overview of a past instant is the same as that of the live source then.
#[test]
fn the_past_looks_as_the_present_did() {
    let folder = folder("recorded-past");
    let name = folder.to_str().unwrap();
    assert_eq!(run("small-vm", &["record", "--dir", name, "10ms", "4"]).0, 0);
    for part in [&[][..], &["mem"], &["disk"], &["net"], &["proc"], &["cgroup"]] {
        let (code, live, err) = run("small-vm", &[part, &["10ms", "1"]].concat());
        assert_eq!(code, 0, "{part:?} {err}");
        let (code, past, err) = run("small-vm", &[part, &["--log", name]].concat());
        assert_eq!(code, 0, "{part:?} {err}");
        assert!(past.contains(" before the end of the log"), "{past}");
        assert_eq!(steady(&past), steady(&live), "{part:?}");
    }
    // The title of this screen has the time.
    let (code, live, _) = run("small-vm", &["cpu", "10ms", "1"]);
    let (past_code, past, err) = run("small-vm", &["cpu", "--log", name]);
    assert_eq!((code, past_code), (0, 0), "{err}");
    assert!(
        past.starts_with("Processor Information ") && past.contains(" past, 0 s before the end"),
        "{past}"
    );
    assert_eq!(steady(&past)[1..], steady(&live)[1..]);
}

#[test]
fn instants_of_a_recording() {
    let folder = folder("recorded-instants");
    let name = folder.to_str().unwrap();
    assert_eq!(run("small-vm", &["record", "--dir", name, "mem", "cpu", "10ms", "5"]).0, 0);
    assert_eq!(run("small-vm", &["mark", "deploy 42", "--dir", name]).0, 0);
    let at = |at: &str| run("small-vm", &["mem", "--log", name, "--at", at]);
    let (code, out, err) = at("mark deploy");
    assert!(code == 0 && out.contains(" 0 s before the end of the log") && err.is_empty(), "{out} {err}");
    let (code, out, err) = at("2000-01-01 00:00");
    assert!(
        code == 3 && out.is_empty() && err.contains("the log begins later than 2000-01-01"),
        "{code} {err}"
    );
    let (code, _, err) = at("-1d");
    assert!(code == 3 && err.contains("it is from 20"), "{code} {err}");
    let (code, _, err) = at("2200-01-01 00:00");
    assert!(code == 0 && err.starts_with("note: the log has no sample at 2200-01-01"), "{code} {err}");
    let (code, _, err) = at("mark other");
    let is_named = err.contains("no mark contains \"other\"") && err.contains("\"deploy 42\"");
    assert!(code == 3 && is_named, "{code} {err}");
    let (code, _, err) = at("yesterday");
    assert!(code == 2 && err.contains("14:03:07"), "{code} {err}");
    // The window of get has the same instants.
    let get = |begin: &str| {
        run(
            "small-vm",
            &["get", r"\Memory\Available Bytes", "--log", name, "--begin", begin, "--format", "json"],
        )
    };
    assert_eq!(get("mark recorder started").1.lines().count(), 5);
    assert_eq!(get("-0s").1.lines().count(), 1);
    assert_eq!(get("mark other").0, 3);
    assert_eq!(run("small-vm", &["--at", "-1m"]).0, 2);
    // Columns that were not recorded have the reason.
    let (code, out, err) = run("small-vm", &["cpu", "--log", name, "--at", "mark deploy"]);
    assert!(
        code == 0 && err.is_empty() && out.contains(" past, 0 s before the end of the log"),
        "{out} {err}"
    );
    assert!(out.contains("\n_Total ") && out.contains("\nMHz: "), "{out}");
}

/// Checks that the screen of a log refuses an interval: a log has instants, and the usage error says so.
#[test]
fn screens_of_a_log_take_no_interval() {
    for command in ["", "cpu", "mem", "disk", "net", "proc", "cgroup"] {
        let command: &[&str] = if command.is_empty() { &[] } else { &[command] };
        let (code, out, err) = run("small-vm", &[command, &["--log", "rec", "1"]].concat());
        assert!(code == 2 && out.is_empty() && err.contains("cannot be used with '[INTERVAL]'"), "{err}");
        let name = [&["perfset"], command].concat().join(" ");
        assert!(err.contains(&format!("Usage: {name} [OPTIONS] [INTERVAL [COUNT]]\n")), "{err}");
        assert!(err.contains(&format!("\n       {name} [OPTIONS] --log <FILE> [--at <TIME>]\n")), "{err}");
    }
}

/// Checks that every recorded instance is listed with its first and last sample, and with its recorded facts.
#[test]
fn instances_of_a_recording() {
    let folder = folder("recorded-instances");
    let name = folder.to_str().unwrap();
    assert_eq!(run("processes", &["record", "--dir", name, r"\Process V2(*)\*", "10ms", "3"]).0, 0);
    let facts = |words: &[&str]| run("processes", &[&["instances", "process v2", "--facts"], words].concat());
    let (code, live, err) = facts(&["--with-command-lines"]);
    assert_eq!(code, 0, "{err}");
    let (code, past, err) = facts(&["--log", name]);
    assert_eq!(code, 0, "{err}");
    // A reason is none of the facts that are recorded.
    let known = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("    ") && !line.contains("  - ("));
        lines.filter(|line| !line.contains("command_line")).map(str::to_owned).collect()
    };
    assert!(known(&live).len() > 3, "{live}");
    assert_eq!(known(&past), known(&live));
    let (_, live, _) = run("processes", &["instances", "process v2", "--json"]);
    let (_, out, _) = run("processes", &["instances", "process v2", "--log", name, "--json"]);
    assert_eq!(out.lines().count(), live.lines().count());
    for line in out.lines() {
        let time = |field: &str| line.split_once(field).unwrap().1.get(..24).unwrap();
        let (first, last) = (time("\"first_sample\":\""), time("\"last_sample\":\""));
        assert!(first.starts_with("20") && first.ends_with('Z') && first < last, "{line}");
    }
}

/// Checks that the first sample after a restart has the processes of that time, without a comparison across the
/// restart.
#[test]
fn the_instant_after_a_restart() {
    let folder = folder("recorded-restart");
    let name = folder.to_str().unwrap();
    for _ in 0..2 {
        assert_eq!(run("processes", &["record", "--dir", name, "10ms", "3"]).0, 0);
    }
    let (code, last, err) = run("processes", &["proc", "--log", name]);
    assert_eq!(code, 0, "{err}");
    let (code, first, err) = run("processes", &["proc", "--log", name, "--at", "mark recorder started"]);
    assert_eq!(code, 0, "{err}");
    let names = |screen: &str| -> Vec<String> {
        let rows = screen.lines().skip_while(|line| !line.starts_with("process ")).skip(1);
        let mut names: Vec<_> = rows
            .filter_map(|row| Some(row.split_once("  ")?.0.to_owned()))
            .filter(|name| name.contains(':'))
            .collect();
        names.sort();
        names
    };
    assert!(names(&last).len() > 3, "{last}");
    assert_eq!(names(&first), names(&last), "{first}");
}

/// Checks that the incomplete end of a journal is reported, and is not counted as damage.
#[test]
fn a_torn_end_is_reported() {
    let folder = folder("torn-end");
    drop(start(&folder));
    let (journal, len) = journals(&folder).remove(0);
    let whole = fs::read(&journal).unwrap();
    // More than the padding of a block.
    fs::write(&journal, &whole[..usize::try_from(len).unwrap() - 13]).unwrap();
    let (code, out, err) = run("small-vm", &["log", "info", folder.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    let line = out.lines().find(|line| line.starts_with("torn ")).unwrap_or_else(|| panic!("{out}"));
    assert!(line.ends_with(" bytes at the end, of a sample that was not finished"), "{line}");
}

/// Checks that other files in a recording's directory neither hang a reader nor lead it elsewhere, nor cost memory.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_of_somebody_else_hangs_nobody() {
    let folder = folder("foreign-folder");
    let name = folder.to_str().unwrap();
    assert_eq!(run("small-vm", &["record", "--dir", name, "mem", "10ms", "3"]).0, 0);
    let elsewhere = folder.parent().unwrap().join("elsewhere.perfset");
    fs::write(&elsewhere, "a secret of another user").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.join("link.perfset")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.journal")).unwrap();
    for pipe in ["pipe.perfset", "pipe.journal"] {
        let made = std::process::Command::new("mkfifo").arg(folder.join(pipe)).status().unwrap();
        assert!(made.success());
    }
    fs::File::create(folder.join("sparse.perfset")).unwrap().set_len(4 << 30).unwrap();
    fs::create_dir(folder.join("folder.perfset")).unwrap();
    let begin = Instant::now();
    for words in [&["log", "info", name][..], &["get", r"\Memory\Available Bytes", "--raw", "--log", name]] {
        let (code, out, err) = run("small-vm", words);
        // What is there is shown, and the rest is damage.
        assert_eq!(code, 5, "{words:?}: {out} {err}");
        assert!(!out.contains("secret") && !err.contains("secret"), "{out} {err}");
        let rows =
            out.lines().filter(|line| line.contains("samples   3") || line.starts_with(char::is_numeric));
        assert!(rows.count() >= 1, "{words:?}: {out} {err}");
    }
    assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
}

/// Checks that a counterset which is recorded less often has its rates at every instant of the recording.
#[test]
fn slower_countersets_keep_their_rates() {
    let folder = folder("recorded-slower");
    let name = folder.to_str().unwrap();
    // It is due at the first sample and at the sixth one, of seven. Its values are kept for two and a half of its
    // intervals: for 5 s, which samples that a busy machine delays do not take.
    let every = "2s=Processor Information";
    assert_eq!(run("small-vm", &["record", "--dir", name, "--every", every, "400ms", "7"]).0, 0);
    let line = |words: &[&str]| {
        let (code, out, err) = run("small-vm", words);
        assert_eq!(code, 0, "{words:?} {err}");
        out.lines().rfind(|line| line.starts_with("cpu ")).map(str::to_owned)
    };
    let (past, live) = (line(&["--log", name]), line(&["10ms", "1"]));
    assert!(live.as_ref().is_some_and(|line| line.contains(" %")), "{live:?}");
    assert_eq!(past, live);
}
