//! Tests of the command as its users run it: output, errors, exit codes.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use crate::running::{outcome, perfset, run, scratch, testdata, text};

/// Checks the overview in a pipe. The kernel files of a fixture never change, so every difference is 0: 100 % busy,
/// as idle time does not advance.
#[test]
fn the_overview_in_a_pipe_is_blocks_of_lines() {
    for fixture in ["two-nodes", "small-vm", "old-kernel"] {
        let (code, out, err) = run(fixture, &["10ms", "2"]);
        assert_eq!((code, err.as_str()), (0, ""), "{fixture}");
        let blocks: Vec<_> = out.split("\n\n").filter(|block| !block.is_empty()).collect();
        assert_eq!(blocks.len(), 2, "{fixture}: {out}");
        for block in blocks {
            assert!(block.lines().next().is_some_and(|line| line.ends_with(" UTC")), "{fixture}: {block}");
            for line in ["load ", "cpu ", "mem ", "swap ", "waits "] {
                assert!(block.lines().any(|it| it.starts_with(line)), "{fixture}: {line} in {block}");
            }
            assert!(!block.contains('\x1b'), "{fixture}: {block}");
        }
    }
}

#[test]
fn parts_of_the_overview_have_screens() {
    for (part, want) in [
        ("mem", "\nmem "),
        ("disk", "\ndisk "),
        ("net", "\nnetwork "),
        ("proc", "\nprocess "),
        ("cgroup", "\ncgroup "),
    ] {
        let (code, out, err) = run("two-nodes", &[part, "10ms", "1"]);
        assert_eq!((code, err.as_str()), (0, ""), "{part}");
        assert!(out.contains(want), "{part}: {out}");
        let (_, colours, _) = run("two-nodes", &[part, "10ms", "1", "--color", "always"]);
        assert!(colours.contains("\x1b[1m") && !out.contains('\x1b'), "{part}: {colours}");
    }
}

#[test]
fn processors_in_a_pipe_are_blocks_of_lines() {
    let (code, out, err) = run("two-nodes", &["cpu", "10ms", "2"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let blocks: Vec<_> = out.split("\n\n").filter(|block| !block.is_empty()).collect();
    assert_eq!(blocks.len(), 2, "{out}");
    for block in blocks {
        let lines: Vec<_> = block.lines().collect();
        assert!(lines[0].starts_with("Processor Information") && lines[0].ends_with(" UTC"), "{block}");
        assert!(lines[0].contains(" 7 processors, "), "{block}");
        assert_eq!(lines[1], "instance     % busy   % user  % kernel  % intr   % DPC    intr/s     MHz");
        assert!(
            lines[2].starts_with("_Total        100.0      0.0       0.0     0.0     0.0         0   "),
            "{block}"
        );
        assert_eq!(lines.len(), 2 + 10, "{block}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{block}");
        assert!(!block.contains('\x1b'), "{block}");
    }
}

#[test]
fn missing_value_is_a_dash_with_a_reason() {
    let (code, out, _) = run("old-kernel", &["cpu", "10ms", "1"]);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(code, 0);
    assert!(lines[2].starts_with("_Total        100.0      0.0       0.0       -       -"), "{out}");
    assert!(out.contains("% intr: unavailable: this kernel does not count it apart\n"), "{out}");
}

#[test]
fn list_shows_the_countersets() {
    let (code, out, err) = run("small-vm", &["list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    // Blanks between columns are as many as the longest name asks for.
    let lines: Vec<_> =
        out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "counterset instances counters from");
    for want in
        ["Memory 1 37 Linux", "Processor 3 15 Linux", "Processor Information 4 31 Linux", "System 1 18 Linux"]
    {
        assert!(lines.iter().any(|line| line == want), "{want}: {out}");
    }
    let sets = lines.len() - 3;
    let last = format!("{sets} countersets; perfset describe NAME shows one, perfset list 'proc*' filters");
    assert_eq!(lines[sets + 1..], [String::new(), last]);
    let (code, out, _) = run("small-vm", &["list", "ENGINE"]);
    assert!(code == 0 && out.contains("Perfset Engine") && !out.contains("Processor"), "{out}");
    let (code, out, err) = run("small-vm", &["list", "xyzzy*\x1b"]);
    assert_eq!((code, out.as_str()), (3, ""));
    let want =
        format!("error: no counterset is named \"xyzzy*\\u{{1b}}\"\n  perfset list shows all {sets}\n");
    assert_eq!(err, want);
}

#[test]
fn dump_shows_a_block_field_by_field() {
    for name in ["windows-11", "small-vm"] {
        let file = testdata(&format!("v2/{name}.bin"));
        let (code, out, err) = run("small-vm", &["dump", file.to_str().unwrap()]);
        assert_eq!((code, err.as_str()), (0, ""), "{name}");
        assert_eq!(out, std::fs::read_to_string(testdata(&format!("v2/{name}.txt"))).unwrap());
        let (code, lenient, _) = run("small-vm", &["dump", "--lenient", file.to_str().unwrap()]);
        assert_eq!((code, lenient), (0, out), "{name}");
    }
    for name in ["single", "process-thread"] {
        let file = testdata(&format!("v1/{name}.bin"));
        let (code, out, err) = run("small-vm", &["dump", file.to_str().unwrap()]);
        assert_eq!((code, err.as_str()), (0, ""), "{name}");
        assert_eq!(out, std::fs::read_to_string(testdata(&format!("v1/{name}.txt"))).unwrap());
    }
}

#[test]
fn dump_of_damaged_blocks() {
    let block = std::fs::read(testdata("v2/windows-11.bin")).unwrap();
    let dump = |bytes: &[u8], args: &[&str]| {
        let mut child = perfset("small-vm", &[&["dump", "-"], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        outcome(child.wait_with_output().unwrap())
    };
    let mut lying = block.clone();
    lying[88] = 15; // dwSize of the second result
    let why = "error: -: not a valid V2 block: \
               PERF_COUNTER_HEADER.dwSize at byte 88: size field is 15, must be at least 16\n";
    let (code, out, err) = dump(&lying, &[]);
    assert_eq!((code, out.as_str()), (5, ""));
    assert_eq!(err, format!("{why}  1 of 2 results are intact; --lenient shows as much as possible\n"));
    let (code, out, err) = dump(&lying, &["--lenient"]);
    assert_eq!((code, err.as_str()), (5, why));
    assert!(out.contains("value = 3256992943318"), "what comes before is shown: {out}");
    let mut sloppy = block.clone();
    sloppy[60] = 1; // Reserved of the first result
    let (code, out, err) = dump(&sloppy, &["--lenient"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("! PERF_COUNTER_HEADER.Reserved at byte 60: breaks R-2"), "{out}");
    let (code, out, err) = dump(&sloppy, &[]);
    assert_eq!((code, out.as_str()), (5, ""));
    assert!(
        err.starts_with(
            "error: -: not a valid V2 block: PERF_COUNTER_HEADER.Reserved at byte 60: breaks R-2"
        ),
        "{err}"
    );
    let (code, _, err) = dump(b"P\0E\0R\0F\0", &[]);
    assert_eq!(code, 5);
    assert_eq!(
        err,
        "error: -: not a valid V1 block: PERF_DATA_BLOCK at byte 0: needs 88 bytes, 8 are left, R1\n"
    );
    let (code, out, err) = dump(b"", &["--as", "instances"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "a list may be empty");
}

#[test]
fn mistakes() {
    let (code, _, err) = run("small-vm", &["dump", "/no/such/file"]);
    assert_eq!(code, 4);
    assert!(err.starts_with("error: cannot read /no/such/file: No such file or directory"), "{err}");
    for args in [&["0"][..], &["1", "0"], &["nonsense"], &["--nonsense"], &["dump"], &["1", "2", "3"]] {
        let (code, out, err) = run("small-vm", args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains("error: "), "{err}");
    }
    for args in [&["10ms", "1"][..], &["cpu", "10ms", "1"]] {
        let (code, out, err) = run("no-such-fixture", args);
        assert_eq!((code, out.as_str()), (4, ""));
        assert!(err.starts_with("error: ") && err.contains("no CPU can be listed"), "{err}");
        assert_eq!(err.matches("no CPU can be listed").count(), 1, "said once: {err}");
    }
}

/// Checks that the error about an unreadable file has its escaped name and the reason once, whatever command reads
/// it.
#[test]
fn files_that_cannot_be_read() {
    for args in [
        &["dump"][..],
        &["v1", "names"],
        &["v1", "values"],
        &["log", "info"],
        &["get", r"\Memory\Available Bytes", "--log"],
        &["relog", "-o", "-", "--counters-from", "/dev/null"],
    ] {
        for (file, why) in [("no \x1b such", "No such file or directory"), ("src", "Is a directory")] {
            let (code, out, err) = run("small-vm", &[args, &[file]].concat());
            // A directory can be a recording.
            if file == "src" && !["dump", "v1"].contains(&args[0]) {
                assert_eq!((code, out.as_str()), (5, ""), "{args:?}: {err}");
                assert!(
                    err.contains("src: no recording: no file of the directory ends in"),
                    "{args:?}: {err}"
                );
                continue;
            }
            assert_eq!((code, out.as_str()), (4, ""), "{args:?}: {err}");
            let name = file.replace('\x1b', r"\u{1b}");
            assert!(err.contains(&name) && !err.contains('\x1b'), "{args:?}: {err}");
            let reasons = ["cannot read", "cannot be read", why].map(|reason| err.matches(reason).count());
            assert!(reasons[2] == 1 && reasons[0] + reasons[1] == 1, "{args:?}: {err}");
        }
    }
}

/// Checks tables of `perfset view` that compare two times of a log, and all that can be wrong with a time. A file
/// that cannot be read is named in one way.
#[test]
fn logs_are_compared() {
    let log = testdata("logs/BasicPerfCounters.blg");
    let view = |args: &[&str]| {
        let mut command = perfset("small-vm", &["view", "--plain"]);
        outcome(command.arg(&log).args(args).output().unwrap())
    };
    let (code, out, err) = view(&["-c", "processor", "--begin", "18:59", "--compare", "..18:52"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "Processor: mean 18:59:00 to 19:00:17, was 18:50:17 to 18:51:59  +0 -0");
    assert!(lines[1].starts_with(" instance") && lines[1].contains("%CPU was"), "{out}");
    assert_eq!(lines.len(), 7, "{out}");
    // All columns are there, and the same file has no differences.
    let (code, out, _) = view(&["-c", "disk", "--compare", log.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(out.contains("Avg. Disk Write Qu~ diff"), "{out}");
    for (args, want_code, want) in [
        (&["--compare", "nosuch.perfset"][..], 4, "nosuch.perfset: cannot read the log"),
        (&["--compare", "../no..such"], 4, "../no..such: cannot read the log"),
        (&["--compare", "..x"], 2, "--compare ..x: an instant is like"),
        (&["--compare", "18:51"], 2, "a range is a begin and an end, such as 13:00..13:10"),
        (&["--compare", "1990-01-01..1990-01-02"], 3, "there is no sample to compare with"),
        (&["--compare", "18:52..18:51"], 3, "the end is before the begin"),
        (&["--begin", "2040-01-01"], 3, "the log has no sample in this time"),
        (&["--compare", "..18:52", "--at", "-3s"], 2, "cannot be used with"),
    ] {
        let (code, out, err) = view(args);
        assert_eq!((code, out.as_str()), (want_code, ""), "{args:?}: {err}");
        assert!(err.contains(want), "{args:?}: {err}");
    }
}

#[test]
fn files_that_cannot_be_written() {
    let orders = testdata("manifests/orders.man").display().to_string();
    let basic = testdata("logs/BasicPerfCounters.blg").display().to_string();
    let file = "/no/such/folder/x\u{1b}.csv";
    for args in [
        &["relog", &basic, "-o", file][..],
        &["v1", "query", "2", "-o", file],
        &["v1", "query", "2", "-o", "/dev/null", "--names", file],
        &["manifest", "generate", &orders, "--rust", "-o", file],
        &["manifest", "export", "memory", "-o", file],
    ] {
        let (code, out, err) = run("small-vm", args);
        assert_eq!((code, out.as_str()), (4, ""), "{args:?}: {err}");
        let want =
            "error: cannot write /no/such/folder/x\\u{1b}.csv: No such file or directory (os error 2)\n";
        assert!(err.ends_with(want), "{args:?}: {err}");
    }
}

#[test]
fn help_says_the_exit_codes() {
    let (code, out, _) = run("small-vm", &["--help"]);
    assert!(code == 0 && out.contains("Exit codes:") && out.contains("5  the data are invalid"), "{out}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        perfset("two-nodes", &["cpu", "10ms"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 21];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap(); // and closes the pipe
    assert_eq!(&first, b"Processor Information");
    let (code, _, err) = outcome(child.wait_with_output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn pdh_csv_is_what_perfmon_reads() {
    let path = r"\Processor Information(0,?)\% User Time";
    let (code, out, err) =
        run("two-nodes", &["get", path, r"\Memory\Available Bytes", "10ms", "2", "--format", "pdh-csv"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<_> = out.split("\r\n").collect();
    assert_eq!(lines.len(), 4, "{out}");
    assert!(lines[0].starts_with("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\"), "{out}");
    assert!(lines[0].ends_with("\\Memory\\Available Bytes\""), "{out}");
    for line in &lines[1..3] {
        let (time, values) = line.split_once(',').unwrap();
        assert_eq!(time.len(), "\"11/21/2026 21:14:17.650\"".len(), "{time}");
        assert!(values.split(',').all(|cell| cell.starts_with('"') && cell.ends_with('"')), "{values}");
    }
    assert_eq!(lines[3], "");
}

#[test]
fn summaries_and_tests() {
    let (code, out, _) = run("two-nodes", &["get", "cpu", "10ms", "3", "--summary", "--where", "<0"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("  least   mean    p50    p95  greatest  samples  unit  instance, counter\n"),
        "{out}"
    );
    let line = "  100.0  100.0  100.0  100.0     100.0        3     %  _Total  % Processor Time\n";
    assert!(out.contains(line), "{out}");
    let (code, out, err) = run("two-nodes", &["get", "--raw", "/Memory/Available Bytes", "--where", "> 1"]);
    assert!(code == 0 && out.lines().count() == 2 && err.is_empty(), "{out}");
    let none = ["get", "--raw", "/Memory/Available Bytes", "10ms", "3", "--where", "<0"];
    let note = "note: no value matches the --where condition\n";
    assert_eq!(run("two-nodes", &none), (0, String::new(), note.to_owned()));
}

#[test]
fn doctor_says_what_works() {
    let (code, out, err) = run("old-kernel", &["doctor"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.starts_with("perfset ") && out.contains("countersets") && out.contains("values missing"),
        "{out}"
    );
    let said = |word| {
        let mut doctor = perfset("old-kernel", &["doctor"]);
        outcome(doctor.env("PERFSET_PROCESS_SOURCE", word).output().unwrap()).1
    };
    let warning =
        "warn  PERFSET_PROCESS_SOURCE is \"bfp\", which is none of auto, bpf, gate, proc; auto is used\n";
    assert!(said("bfp").contains(warning), "{}", said("bfp"));
    assert!(!said("gate").contains("PERFSET_PROCESS_SOURCE"));
    let said = |value, options: &[&str]| {
        let mut doctor = perfset("old-kernel", &[&["doctor"], options].concat());
        outcome(doctor.env("PERFSET_DEADLINE", value).output().unwrap()).1
    };
    let waits = |time| {
        format!(
            "ok    deadline: a collection waits at most {time} for publishers, devices and file systems\n"
        )
    };
    for (value, options, want) in [
        ("", &[][..], waits("100ms")),
        ("7s", &[], waits("7s")),
        ("7s", &["--deadline", "3s"], waits("3s")),
        ("soon", &[], "warn  PERFSET_DEADLINE is \"soon\": a time is expected, like 100ms".to_owned()),
    ] {
        assert!(said(value, options).contains(&want), "{value:?}: {}", said(value, options));
    }
    let limits = [
        "ok    limits: at most 4 threads wait for file systems and devices, 3 of them for one kind\n",
        "64 MiB and 100,000 instances",
        "ok    limits: 256 programs of each other user in a directory, ",
        " 256 counters added to a counterset by all other users, ",
        " 2,097,152 values by reference",
    ];
    assert!(limits.iter().all(|limit| out.contains(limit)), "{out}");
}

/// Checks that the error for an invalid deadline says which option or variable is wrong.
#[test]
fn a_deadline_that_is_none() {
    let memory = r"\Memory\Available Bytes";
    for value in ["abc", "0", "25h"] {
        let of = |args: &[&str]| {
            outcome(perfset("small-vm", args).env("PERFSET_DEADLINE", value).output().unwrap())
        };
        for args in [&["get", memory][..], &["list"], &["serve", "--listen", "127.0.0.1:0"], &["1", "1"]] {
            let (code, out, err) = of(args);
            let text = format!("error: PERFSET_DEADLINE is \"{value}\": ");
            assert!(code == 2 && out.is_empty() && err.starts_with(&text), "{args:?}: {code} {out}{err}");
        }
        assert_eq!(of(&["get", "--deadline", "1s", memory]).0, 0, "the option counts");
        assert_eq!(of(&["doctor"]).0, 0, "it warns");
    }
    let (code, _, err) = run("small-vm", &["--deadline", "20ms", "get", memory]);
    let text = "options of a command come after its name: perfset get [OPTIONS]";
    assert!(code == 2 && err.contains(text), "{err}");
    assert_eq!(run("small-vm", &["get", "--deadline", "5h", memory]).0, 0);
}

/// Checks that a captured machine is replayed with the values of the machine, and does not tell whose it is.
#[test]
fn a_captured_machine_is_replayed() {
    let folder = scratch("captured");
    let place = folder.join("mine");
    let place = place.to_str().unwrap();
    let capture = ["doctor", "--capture", place, "--warmup", "10ms", "--hide-instances"];
    let (code, out, err) = run("two-nodes", &capture);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains(" requests succeeded, "), "{out}");
    let replayed = |args: &[&str]| {
        outcome(perfset("no-such-fixture", args).env("PERFSET_CAPTURE", place).output().unwrap())
    };
    let path = r"\Processor Information(*)\% User Time";
    let of = |(code, out, _): (i32, String, String)| {
        // Without the time, which is first.
        let lines: Vec<String> = out.lines().map(|line| line.split(',').skip(1).collect()).collect();
        (code, lines)
    };
    let get = ["get", path, "--raw", "--format", "csv"];
    assert_eq!(of(replayed(&get)), of(run("two-nodes", &get)));
    let (code, out, _) = replayed(&["list", "PROCESSOR INF"]);
    assert!(code == 0 && out.contains("Processor Information         10        31  PerfLib V2"), "{out}");
    // Captured again it is the same, but who did it: nothing is asked of another machine.
    let again = folder.join("again");
    let recapture = ["doctor", "--capture", again.to_str().unwrap(), "--warmup", "10ms"];
    let (code, _, err) = replayed(&recapture);
    assert_eq!((code, err.as_str()), (0, ""));
    let registrations = |folder: &std::path::Path| std::fs::read(folder.join("registrations.bin")).unwrap();
    assert!(registrations(&again) == registrations(place.as_ref()));
    let values = outcome(perfset("no-such-fixture", &get).env("PERFSET_CAPTURE", &again).output().unwrap());
    assert_eq!(values, replayed(&get));
    let manifest = std::fs::read_to_string(again.join("manifest.txt")).unwrap();
    assert!(manifest.lines().nth(1).unwrap().contains(", of a capture by perfset "), "{manifest}");
    // It is not written over, and what is no capture says so.
    let (code, _, err) = run("two-nodes", &capture);
    assert!(code == 4 && err.contains("cannot write"), "{err}");
    for (args, what) in [
        (&["list"][..], "no counterset is available"),
        (&["find", "bytes"], "nothing has 'bytes'"),
        (&["describe", "Memory"], "no counterset is named \"Memory\""),
        (&["instances", "Memory"], "no counterset is named \"Memory\""),
        (&["get", "mem", "1"], "no counterset is named \"Memory\""),
    ] {
        let (code, _, err) =
            outcome(perfset("two-nodes", args).env("PERFSET_CAPTURE", &folder).output().unwrap());
        let why = "\n  problem: a provider has no catalogue: the capture: ";
        assert!(code == 4 && err.starts_with(&format!("error: {what}{why}")), "{args:?}: {code}: {err}");
        assert!(err.contains("manifest.txt: ") && err.lines().count() == 2, "{err}");
    }
    let mut capture = perfset("two-nodes", &["doctor", "--capture", folder.join("none").to_str().unwrap()]);
    let (code, _, err) = outcome(capture.env("PERFSET_CAPTURE", &folder).output().unwrap());
    assert!(code == 4 && err.contains("the capture: ") && !folder.join("none").exists(), "{err}");
}

#[test]
fn strict_get_fails_if_no_instance_matches() {
    for path in
        [r"\Processor({77?,78?})\% User Time", r"\Processor(?#3)\% User Time", r"\Processor(7?)\% User Time"]
    {
        let (code, out, _) = run("two-nodes", &["get", path, "--strict", "--warmup", "10ms"]);
        assert!(code == 1 && out.contains("no active instance matches"), "{path}: {out}");
    }
    let (code, out, _) = run("no-such-fixture", &["get", "/Memory/*", "--strict", "--warmup", "10ms"]);
    assert!(code == 1 && out.contains("there is no /proc/meminfo"), "{out}");
}

#[test]
fn options_that_do_not_go_together() {
    for args in [
        &["get", "mem", "--summary", "--format", "json"][..],
        &["get", "mem", "--summary", "--raw"],
        &["get", "mem", "--format", "pdh-csv", "--top", "1"],
        &["get", "mem", "--wide"],
        &["get", "mem", "--wide", "--format", "pdh-csv"],
        &["get", "mem", "--sort", "instance", "--format", "csv"],
        &["get", "mem", "--human", "--exact"],
        &["get", "mem", "--exact", "--format", "json"],
        &["get"],
        &["lits"],
        &[r"\Memory\*"],
    ] {
        let (code, out, err) = run("two-nodes", args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
    }
    assert!(run("two-nodes", &["lits"]).2.contains("nearest: list"));
    assert!(run("two-nodes", &[r"\Memory\*"]).2.contains(r"try: perfset get '\Memory\*'"));
}

/// Checks that raw values above 2^53, which a double cannot hold, are printed with all digits.
#[test]
fn raw_values_have_all_their_digits() {
    let proc = std::env::temp_dir().join(format!("perfset-digits-{}", std::process::id()));
    std::fs::create_dir_all(&proc).unwrap();
    std::fs::write(proc.join("stat"), "cpu  1 1 1 1\ncpu0 1 1 1 1\nctxt 9007199254740993\n").unwrap();
    for (format, want) in [
        ("table", "9,007,199,254,740,993"),
        ("json", "\"raw\":9007199254740993"),
        ("csv", ",9007199254740993,"),
        ("pdh-csv", "\"9007199254740993\""),
    ] {
        let mut command =
            perfset("two-nodes", &["get", "--raw", "/System/Context Switches/sec", "--format", format]);
        let out = text(command.env("PERFSET_PROC", &proc).output().unwrap().stdout);
        assert!(out.contains(want), "{format}: {out}");
    }
    std::fs::remove_dir_all(&proc).unwrap();
}

/// Checks that two recordings by two programs agree on the identity of each process.
#[test]
fn two_programs_know_the_same_processes() {
    let started = || run("processes", &["get", "/Process V2(*)/Elapsed Time", "--raw", "--format", "json"]).1;
    let raw = |out: String| {
        let after = |line: &str| line.split_once("\"path\"").map(|(_, rest)| rest.to_owned());
        let values = |line: String| line.split_once("\"raw\":").map(|(_, rest)| rest.to_owned());
        out.lines().filter_map(after).filter_map(values).collect::<Vec<_>>()
    };
    let first = raw(started());
    assert!(first.len() > 2, "{first:?}");
    assert_eq!(first, raw(started()));
}

/// Checks that `--top` leaves out sums such as `_Total`, unless there is nothing else: they do not tell which
/// instance uses most.
#[test]
fn top_leaves_sums_out() {
    let top = |path: &str| run("two-nodes", &["get", path, "--top", "99", "--warmup", "10ms"]).1;
    let all = top("/Processor Information(*)/% User Time");
    assert!(all.contains("  0,0\n") && !all.contains("_Total"), "{all}");
    let sums = top("/Processor Information(*_Total)/% User Time");
    assert!(sums.contains("  _Total\n") && sums.contains("  0,_Total\n"), "{sums}");
    let (_, out, _) = run("processes", &["get", "/Process(*)/Thread Count", "--top", "99", "--raw"]);
    assert!(out.lines().count() > 2 && !out.contains("_Total") && !out.contains("  Idle\n"), "{out}");
}

/// Checks that `--top` selects instances for tables, and values of each counter for other formats.
#[test]
fn top_is_of_instances_or_of_each_counter() {
    let path = "/Processor Information(*)/{% User Time,% Processor Time}";
    let top = |format: &[&str]| {
        run("two-nodes", &[&["get", path, "--top", "2", "--warmup", "10ms"], format].concat()).1
    };
    let table = top(&[]);
    let lines: Vec<_> = table.lines().skip(1).collect();
    assert_eq!(lines[0], "  % User Time  % Processor Time  instance", "in the order of the path: {table}");
    assert_eq!(lines[1], "            %                 %", "{table}");
    assert_eq!(lines[2..], ["          0.0             100.0  0,0", "          0.0             100.0  0,1"]);
    let csv = top(&["--format", "csv"]);
    assert_eq!(csv.matches(",% User Time,").count(), 2, "{csv}");
    assert_eq!(csv.matches(",% Processor Time,").count(), 2, "{csv}");
    assert_eq!(top(&["--format", "csv", "--wide"]).lines().count(), 3);
}

/// Checks that a reason which many values share is printed once below a table, and a path without instances as a row.
#[test]
fn reasons_are_not_repeated() {
    let (_, out, _) = run("old-kernel", &["get", "/Processor Information(*)/*", "--warmup", "10ms"]);
    assert_eq!(out.matches("this machine has no cpuidle").count(), 1, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (_, out, _) = run("old-kernel", &["get", "/Linux GPU(*)/*", "--warmup", "10ms"]);
    assert!(out.contains("\n  all counters of *: no active instance matches\n"), "{out}");
    let missing = ["get", "/Processor Information(_Total)/% C1 Time", "10ms", "3"];
    let (_, out, _) = run("old-kernel", &missing);
    assert_eq!(
        out.matches("this machine has no cpuidle").count(),
        1,
        "a line a sample, a reason once: {out}"
    );
}

/// Checks metrics for node_exporter's textfile collector: they replace a file, and options of values are refused.
#[test]
fn metrics_replace_a_file() {
    let folder = scratch("metrics-in-a-file");
    let file = folder.join("a.prom");
    fs::write(&file, "old").unwrap();
    let name = file.to_str().unwrap();
    let get = |args: &[&str]| run("small-vm", &[&["get", "--format", "prometheus"], args].concat());
    let (code, out, err) =
        get(&[r"\Memory\Available Bytes", r"\Processor Information(nosuch)\% User Time", "-o", name]);
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.contains("nosuch"), "{err}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\n# TYPE perf_memory_available_bytes gauge\nperf_memory_available_bytes ")
            || text.starts_with("# HELP perf_memory_available_bytes"),
        "{text}"
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
    let (code, out, _) = get(&[r"\Memory\Available Bytes"]);
    assert_eq!(
        (code, out.lines().find(|line| line.starts_with("perf_memory"))),
        (0, text.lines().find(|line| line.starts_with("perf_memory")))
    );
    for (args, why) in [
        (&["--raw"][..], "metrics are raw values"),
        (&["--top", "3"], "a series that comes and goes has wrong rates"),
        (&["--warmup", "1s"], "metrics need one sample"),
    ] {
        let (code, _, err) = get(&[&[r"\Memory\Available Bytes"], args].concat());
        assert!(code == 2 && err.contains(why), "{args:?}: {code} {err}");
    }
    let (code, _, err) = run("small-vm", &["get", r"\Memory\Available Bytes", "-o", name]);
    assert!(code == 2 && err.contains("-o works only with --format prometheus"), "{code} {err}");
}
