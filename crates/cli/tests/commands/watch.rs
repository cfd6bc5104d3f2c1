//! Tests of `perfset watch`: reports, exit codes and the program, on logs and on fixtures.

use std::fs;

use serde_json::Value;

use crate::running::{run, scratch, testdata};

const LENGTHS: &str = r"\Queue(*)\Length";
const WARNING: &str = "warning: 1 of 3 instances of \\Queue(*)\\Length has no value: no reason was given\n";

/// Runs `perfset watch` on the log of queues; returns exit code, standard output and standard error.
fn watch(args: &[&str]) -> (i32, String, String) {
    let log = testdata("logs/limits.csv");
    run("small-vm", &[&["watch", "--log", log.to_str().unwrap()], args].concat())
}

/// Returns the reported events as `SECOND word value instance`.
fn events(out: &str) -> Vec<String> {
    let event = |line: &str| {
        let (time, rest) = line.split_at_checked("2026-11-20 10:00:00.000".len()).unwrap();
        let second = time.strip_prefix("2026-11-20 10:00:0").unwrap().strip_suffix(".000").unwrap();
        let words: Vec<_> = rest.split_whitespace().collect();
        let instance = words[2].strip_prefix(r"\Queue(").unwrap().strip_suffix(r")\Length").unwrap();
        format!("{second} {} {} {instance}", words[0], words[1])
    };
    out.lines().map(event).collect()
}

#[test]
fn each_instance_counts_its_samples_in_a_row() {
    for (args, want) in [
        (
            &["--above", "90", "--for", "3"][..],
            &[
                "2 begins 97 mail",
                "3 ends 12 mail",
                "5 begins 97 print",
                "6 begins 99 mail",
                "6 ends 90 print",
            ][..],
        ),
        (&["--above", "90", "--for", "4"], &[]),
        // What began before the gap goes on through it.
        (
            &["--above", "94"],
            &[
                "0 begins 95 mail",
                "1 begins 95 print",
                "3 ends 12 mail",
                "4 begins 99 mail",
                "6 ends 90 print",
            ],
        ),
        (&["--below", "11"], &["0 begins 10 print", "0 begins 7 scan", "1 ends 95 print"]),
        (&["--below", "7"], &[]),
        (&["--above", "90", "--for", "3", "1", "3"], &["2 begins 97 mail"]),
    ] {
        let (code, out, err) = watch(&[&[LENGTHS], args].concat());
        let mut got = events(&out);
        got.sort();
        assert_eq!((code, got), (0, want.iter().map(|text| (*text).to_owned()).collect()), "{args:?}");
        assert_eq!(err, WARNING, "{args:?}");
    }
}

#[test]
fn exit_codes() {
    let named = r"\Queue(mail)\Length";
    for (args, want) in [
        // The first hit ends the run.
        (&[LENGTHS, "--above", "90", "--for", "3"][..], 6),
        (&[named, "--above", "98"], 6),
        (&[named, "--above", "99"], 0),
        (&[named, "--above", "98", "1", "3"], 0),
        // A missing value counts as unknown, not as OK.
        (&[LENGTHS, "--above", "99"], 1),
        (&[LENGTHS, "--above", "99", "1", "2"], 0),
        (&[r"\Queue(print)\Length", "--above", "99"], 1),
        (&[r"\Queue(fax)\Length", "--above", "99"], 1),
        (&[r"\Queue(fax*)\Length", "--above", "99"], 1),
        (&[named, r"\Queue(fax)\Length", "--above", "99"], 1),
        (&[named, r"\Queue(fax)\Length", "--above", "98"], 6),
        // A log that ends before a condition can begin.
        (&[named, "--above", "99", "--for", "7"], 0),
        (&[named, "--above", "99", "--for", "8"], 1),
        // Each name in braces is a path of its own, and so are the patterns.
        (&[r"\Queue({mail,scan})\Length", "--above", "99"], 0),
        (&[r"\Queue({mail,s*,!print})\Length", "--above", "99"], 0),
        (&[r"\Queue({mail,fax})\Length", "--above", "99"], 1),
        (&[r"\Queue({mail,fax*})\Length", "--above", "99"], 1),
        (&[r"\Queue({fax,mail})\Length", "--above", "98"], 6),
        (&[r"\Queue(mail)\{Length,Len*}", "--above", "99"], 3),
        (&[r"\Queue(mail)\{Length,Depth}", "--above", "99"], 3),
        (&[r"\Queue(mail)\{Length,Depth,L*}", "--above", "99"], 3),
        // What does not exist at all.
        (&[r"\Queue(mail)\Depth", "--above", "99"], 3),
        (&[r"\Stack(mail)\Length", "--above", "99"], 3),
        // Mistakes.
        (&[named, "--above", "99", "--for", "3", "1", "2"], 2),
        (&[named], 2),
        (&["--above", "99"], 2),
        (&[named, "--above", "99", "--run"], 2),
    ] {
        let (code, out, err) = watch(&[&["--exit-code"], args].concat());
        assert_eq!(code, want, "{args:?}: {out}{err}");
        assert_eq!(out.lines().count(), usize::from(want == 6), "{args:?}: {out}");
        if !matches!(want, 0 | 2) && want != 6 {
            assert!(!err.is_empty(), "{args:?}");
        }
    }
    // Without the option, a report is no failure.
    assert_eq!(watch(&[named, "--above", "98"]).0, 0);
    assert_eq!(watch(&[r"\Queue(fax)\Length", "--above", "98"]).0, 0);
}

/// Checks that a damaged log neither proves that all is fine nor hides a report.
#[test]
fn damaged_logs() {
    let folder = scratch("watch-damaged");
    let file = folder.join("damaged.csv");
    let mut text = fs::read_to_string(testdata("logs/limits.csv")).unwrap();
    text.push_str("\"no time\",\"1\",\"2\",\"3\"\n");
    fs::write(&file, text).unwrap();
    let watch = |above: &str| {
        let path = r"\Queue(mail)\Length";
        run("small-vm", &["watch", "--log", file.to_str().unwrap(), path, "--above", above, "--exit-code"]).0
    };
    assert_eq!((watch("98"), watch("99")), (6, 5));
}

#[test]
fn json_is_a_record_with_its_event() {
    let (code, out, err) = watch(&[LENGTHS, "--above", "90", "--for", "3", "--json"]);
    assert_eq!((code, err.as_str()), (0, WARNING));
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["begins", "unknown", "ends", "begins", "begins", "ends"]);
    let begins = &lines[0];
    assert_eq!(begins["time"], "2026-11-20T10:00:02.000Z");
    assert_eq!(begins["path"], r"\Queue(mail)\Length");
    assert_eq!((&begins["instance"], &begins["value"]), (&"mail".into(), &97.0.into()));
    let unknown = &lines[1];
    assert_eq!((&unknown["instances"], &unknown["of"]), (&1.into(), &3.into()));
    assert_eq!((&unknown["path"], &unknown["value"]), (&LENGTHS.into(), &Value::Null));
}

#[cfg(unix)]
mod program {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::running::{outcome, perfset};

    /// Waits until a condition of a test is met.
    fn until(what: &str, mut is_met: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_met() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the text of a file; empty if the file does not exist yet.
    fn content(file: &Path) -> String {
        fs::read_to_string(file).unwrap_or_default()
    }

    /// Starts `perfset watch` on kernel files that never change, without a number of samples, in a process group of
    /// its own.
    fn started(args: &[&str]) -> Child {
        let mut command = perfset("small-vm", &[&["watch"], args].concat());
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Ends a process group as Ctrl+C in a terminal does. Returns the outcome of its first process.
    fn interrupted(child: Child) -> (i32, String, String) {
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
        outcome(child.wait_with_output().unwrap())
    }

    /// Checks that Ctrl+C lets the program's current run go on, and starts none of the others. Three conditions begin
    /// at once.
    #[test]
    fn ctrl_c_is_not_for_the_program() {
        let file = scratch("watch-interrupt").join("runs");
        let name = file.to_str().unwrap();
        let script = "echo began >>\"$0\"; sleep 1; echo ended >>\"$0\"";
        let busy = "/Processor(*)/% Processor Time";
        let child = started(&[busy, "10ms", "--above", "99", "--run", "sh", "-c", script, name]);
        until("it never starts", || content(&file) == "began\n");
        let (code, out, err) = interrupted(child);
        assert_eq!((code, out.matches("begins").count(), err.as_str()), (0, 3, ""));
        until("it ends with the command", || content(&file) != "began\n");
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(content(&file), "began\nended\n");
    }

    /// Checks that the capability to walk over tasks is dropped before the thread of the program starts.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_right_to_walk_over_tasks_is_given_up() {
        const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;
        let capabilities = |status: &str| {
            let set = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
            u64::from_str_radix(set.trim(), 16).unwrap()
        };
        let want = capabilities(&fs::read_to_string("/proc/self/status").unwrap()) & !PERFMON_AND_BPF;
        let file = scratch("watch-rights").join("run");
        let run = ["--run", "sh", "-c", "echo done >\"$0\"", file.to_str().unwrap()];
        let child = started(&[&["/System/Processes", "10ms", "--above", "0"], &run[..]].concat());
        until("it never starts", || content(&file) == "done\n");
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let tasks: Vec<_> = tasks.map(|task| task.unwrap().path().join("status")).collect();
        assert!(tasks.len() > 1, "{tasks:?}");
        for task in &tasks {
            assert_eq!(capabilities(&fs::read_to_string(task).unwrap()), want, "{task:?}");
        }
        let (code, _, err) = interrupted(child);
        assert_eq!((code, err.as_str()), (0, ""));
    }

    /// Checks that a user who waits for alarms is told at once that the first run is left out.
    #[test]
    fn the_first_run_that_is_left_out_is_told() {
        let folder = scratch("watch-left-out");
        let (log, pid) = (folder.join("many.csv"), folder.join("pid"));
        let (mut header, mut values) = (String::new(), String::new());
        for number in 0..1_100 {
            header.push_str(&format!(",\"\\\\H\\Queue({number})\\Length\""));
            values.push_str(",\"95\"");
        }
        let text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{header}\n\"11/20/2026 10:00:00.000\"{values}\n");
        fs::write(&log, text).unwrap();
        let script = "echo $$ >\"$0\"; exec sleep 600";
        let log = log.to_str().unwrap();
        let args = ["watch", "--log", log, LENGTHS, "--above", "90", "--run", "sh", "-c", script];
        let mut command = perfset("small-vm", &[&args[..], &[pid.to_str().unwrap()]].concat());
        // Users do not read this many reports.
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut first).unwrap();
        until("it never starts", || content(&pid).ends_with('\n'));
        child.kill().unwrap();
        assert!(Command::new("kill").arg(content(&pid).trim()).status().unwrap().success());
        child.wait().unwrap();
        assert_eq!(first, "warning: a run of the program was left out: 1,000 are waiting\n");
    }

    /// Writes a script that prints its environment and its arguments into a file, one line per run. The script fails
    /// if another run has not ended.
    fn script(name: &str) -> (std::path::PathBuf, String) {
        let folder = scratch(name);
        let script = "mkdir \"$0.lock\" || echo twice >>\"$0\"; sleep 0.05; \
                      echo \"$PERFSET_INSTANCE=$PERFSET_VALUE $PERFSET_LIMIT $PERFSET_SAMPLES $PERFSET_PATH \
                      $PERFSET_TIME [$PERFSET_INSTANCE_ID] [$1] [$2]\" >>\"$0\"; rmdir \"$0.lock\"";
        (folder.join("runs"), script.to_owned())
    }

    #[test]
    fn once_for_each_beginning_and_never_twice_at_once() {
        let (file, script) = script("watch-runs");
        let name = file.to_str().unwrap();
        let args =
            [LENGTHS, "--above", "90", "--for", "3", "--run", "sh", "-c", &script, name, "--above", "a b"];
        let (code, _, err) = watch(&args);
        assert_eq!((code, err.as_str()), (0, WARNING));
        let runs = fs::read_to_string(file).unwrap();
        let want = |second: u8, instance: &str, value: u8| {
            format!(
                "{instance}={value} above 90 3 \\Queue({instance})\\Length \
                 2026-11-20T10:00:0{second}.000Z [0] [--above] [a b]"
            )
        };
        assert_eq!(
            runs.lines().collect::<Vec<_>>(),
            [want(2, "mail", 97), want(5, "print", 97), want(6, "mail", 99)]
        );
    }

    /// Checks that the program's output does not get between the lines of JSON, and that its failure is reported.
    #[test]
    fn output_and_failure_of_the_program() {
        let run = ["--run", "sh", "-c", "echo printed; exit 3"];
        let path = r"\Queue(mail)\Length";
        let (code, out, err) = watch(&[&[path, "--above", "96", "1", "3", "--json"], &run[..]].concat());
        assert_eq!(code, 0);
        assert!(out.lines().all(|line| line.starts_with('{')), "{out}");
        assert!(
            err.contains("printed\n") && err.contains("warning: sh ended with exit status: 3\n"),
            "{err}"
        );
        let (_, out, _) = watch(&[&[path, "--above", "96", "1", "3"], &run[..]].concat());
        assert!(out.ends_with("\nprinted\n"), "{out}");
    }

    /// Checks that a program which does not exist is an error at once, though the condition never begins.
    #[test]
    fn missing_programs_are_found_at_the_start() {
        for program in ["no-such-program\x1b", "/etc/passwd", "/"] {
            let (code, out, err) = watch(&[LENGTHS, "--above", "1e9", "--run", program]);
            assert_eq!((code, out.as_str()), (2, ""), "{program}");
            let shown = program.replace('\x1b', "\\u{1b}");
            assert_eq!(err, format!("error: --run: there is no program \"{shown}\"\n"));
        }
    }

    /// Checks that a hostile instance name reaches the program without control characters, and never a shell.
    #[test]
    fn hostile_names() {
        let (file, script) = script("watch-hostile");
        let log = file.with_extension("csv");
        let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\Queue($(touch x);\x1b[2J`id`)\\Length\"\n\
                    \"11/20/2026 10:00:00.000\",\"95\"\n";
        fs::write(&log, text).unwrap();
        let args = ["watch", "--log", log.to_str().unwrap(), LENGTHS, "--above", "1", "--run", "sh", "-c"];
        let args = [&args[..], &[&script, file.to_str().unwrap()]].concat();
        let mut command: Command = perfset("small-vm", &args);
        let (code, out, err) = outcome(command.current_dir(file.parent().unwrap()).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(!out.contains('\x1b'), "{out:?}");
        let runs = fs::read_to_string(&file).unwrap();
        assert!(runs.starts_with("$(touch x);\\u{1b}[2J`id`=95 above 1 1 "), "{runs}");
        assert!(!file.with_file_name("x").exists());
    }
}

/// Checks live samples of a fixture whose kernel files never change. Every processor is 100 % busy, because idle time
/// does not advance.
#[test]
fn live_samples() {
    let busy = "/Processor(*)/% Processor Time";
    let (code, out, err) = run("small-vm", &["watch", busy, "10ms", "5", "--above", "99", "--for", "3"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.matches("begins").count(), 3, "{out}");
    assert_eq!(out.lines().count(), 3, "{out}");
    let (code, out, _) = run("small-vm", &["watch", busy, "10ms", "--above", "99", "--exit-code"]);
    assert_eq!((code, out.lines().count()), (6, 3), "{out}");
    assert_eq!(run("small-vm", &["watch", busy, "10ms", "3", "--below", "99", "--exit-code"]).0, 0);
    // The kernel of that fixture lacks the counter, and no Linux has the other one.
    for path in
        ["/Processor(_Total)/% DPC Time", "/System/Exception Dispatches/sec", "/Process V2(no*)/Working Set"]
    {
        let (code, out, err) =
            run("old-kernel", &["watch", path, "10ms", "2", "--below", "1e9", "--exit-code"]);
        assert_eq!((code, out.as_str()), (1, ""), "{path}");
        assert!(err.starts_with("warning: ") && err.lines().count() == 1, "{path}: {err}");
    }
}

#[test]
fn names_in_braces_exist() {
    let watch =
        |path: &str| run("small-vm", &["watch", path, "10ms", "2", "--above", "1e300", "--exit-code"]);
    for (path, want) in [
        ("/System/{Processes,Threads}", 0),
        ("/System/{Processes,Thr*}", 0),
        // No Linux has the counter. It is expected if it is named.
        ("/System/{Processes,Exception Dispatches/sec}", 1),
        ("/System/{Processes,E*}", 1),
        ("/System/*", 0),
        ("/System/{Processes,Thread}", 3),
        ("/System/{Processes,Thread,S*}", 3),
        ("/System/{Processes,No Such*}", 3),
    ] {
        let (code, out, err) = watch(path);
        assert_eq!((code, out.as_str()), (want, ""), "{path}: {err}");
    }
    let (_, _, err) = watch("/System/{Processes,Thread}");
    assert!(
        err.starts_with("error: \"System\" has no counter \"Thread\"\n") && err.contains("Threads"),
        "{err}"
    );
}

/// Checks that instances which lack a counter, such as Idle and threads of the kernel, are selected by a wildcard.
#[cfg(target_os = "linux")]
#[test]
fn instances_that_lack_a_counter() {
    let watch =
        |path: &str| run("processes", &["watch", path, "10ms", "2", "--above", "1e300", "--exit-code"]);
    assert_eq!(watch("/Process V2(*)/Working Set"), (0, String::new(), String::new()));
    assert_eq!(watch("/Process V2({Idle:0})/Working Set").0, 1);
    assert_eq!(watch("/Process V2(Idle*)/Working Set").0, 1);
}
