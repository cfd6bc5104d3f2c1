//! Tests of `perfset log`: summaries of logs and of exported files.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::running::{outcome, perfset, repository, scratch, testdata};

fn basic() -> PathBuf {
    testdata("logs/BasicPerfCounters.blg")
}

/// Runs the command with `input` as standard input; returns exit code, standard output and standard error.
fn run(args: &[&str], input: Stdio) -> (i32, String, String) {
    outcome(perfset("small-vm", args).stdin(input).output().unwrap())
}

const INFO: &str = r"-: binary log of Windows build 9200, 64-bit
machine   \\GEORGIS3
span      2013-02-19 18:50:17.844 to 2013-02-19 19:00:17.840
zone      UTC-08:00; times are local
samples   601, every 1 s
gaps      none
damage    none

 instances  type                              counter
         -  PERF_AVERAGE_BULK                 \\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read
         -  PERF_AVERAGE_BULK                 \\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Write
         -  PERF_COUNTER_100NS_QUEUELEN_TYPE  \\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Queue Length
         -  PERF_COUNTER_100NS_QUEUELEN_TYPE  \\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Read Queue Length
         -  PERF_COUNTER_100NS_QUEUELEN_TYPE  \\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Write Queue Length
         5  PERF_100NSEC_TIMER_INV            \\GEORGIS3\Processor(*)\% Processor Time
";

#[test]
fn log_info_prints_each_file() {
    let (code, out, err) = run(&["log", "info", "-"], File::open(basic()).unwrap().into());
    assert_eq!((code, out.as_str(), err.as_str()), (0, INFO, ""));
    let file = basic().display().to_string();
    let (code, out, _) = run(&["log", "info", &file, &file], Stdio::null());
    let of_file = INFO.replacen('-', &file, 1);
    assert_eq!((code, out), (0, format!("{of_file}\n{of_file}")));
}

#[test]
fn a_cut_log_says_so_and_what_it_has() {
    let file = scratch("log-cut").join("cut \u{1b}.blg");
    fs::write(&file, &fs::read(basic()).unwrap()[..200_000]).unwrap();
    let (code, out, _) = run(&["log", "info", &file.display().to_string()], Stdio::null());
    assert_eq!(code, 5);
    let damage =
        "\ndamage    1\n          at byte 200000: the file is cut: 62144 bytes of a buffer are missing\n";
    assert!(out.contains("\nsamples   254, every 1 s\n") && out.contains(damage), "{out}");
    assert!(!out.contains('\u{1b}'), "{out:?}");
    let (code, out, _) = run(&["log", "info", "--json", &file.display().to_string()], Stdio::null());
    let log: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 5);
    assert!(out.starts_with(r#"{"file":"#), "{out}");
    assert_eq!((log["samples"].as_u64(), log["interval"].as_f64()), (Some(254), Some(1.0)));
    assert_eq!(
        (log["first"].as_str(), log["utc_offset_minutes"].as_i64()),
        (Some("2013-02-19T18:50:17.844"), Some(-480))
    );
    assert_eq!((log["damage_count"].as_u64(), log["damages"][0]["at"].as_u64()), (Some(1), Some(200_000)));
    assert_eq!(log["counters"][5]["instances"].as_array().unwrap().len(), 5);
}

#[test]
fn text_logs_too() {
    let file = basic().with_file_name("relog.tsv").display().to_string();
    let (code, out, err) = run(&["log", "info", &file], Stdio::null());
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with(&format!("{file}: PDH-TSV log\nmachine   \\\\WEB01\n")), "{out}");
    assert!(out.contains("\nzone      UTC-07:00; times are local\nsamples   2, every 15 s\n"), "{out}");
}

#[test]
fn log_info_rejects_files_that_are_not_logs() {
    let readme = repository("README.md").display().to_string();
    for (args, exit, want) in [
        (
            &["log", "info", &readme][..],
            5,
            format!(
                "error: {readme}: the file is not a log: expected a binary log of Windows, PDH-CSV, PDH-TSV, \
                 or CSV or JSON of perfset\n"
            ),
        ),
        (&["log", "info", "-"], 5, "error: -: the file is empty\n".to_owned()),
        (
            &["log", "info", "/no/log.blg"],
            4,
            "error: cannot read /no/log.blg: No such file or directory (os error 2)\n".to_owned(),
        ),
    ] {
        let (code, out, err) = run(args, Stdio::null());
        assert_eq!((code, out.as_str(), err), (exit, "", want), "{args:?}");
    }
    assert_eq!(run(&["log", "info"], Stdio::null()).0, 2);
}

#[test]
fn a_file_alone_is_explained() {
    let folder = scratch("log-alone");
    let file = folder.join("it's one.blg");
    fs::copy(basic(), &file).unwrap();
    let file = file.to_str().unwrap();
    let (code, out, err) = run(&[file], Stdio::null());
    assert_eq!((code, err.as_str()), (0, ""));
    let info = run(&["log", "info", file], Stdio::null()).1;
    let next = out.strip_prefix(&info).unwrap_or_else(|| panic!("{out}"));
    let quoted = file.replace('\'', r"'\''");
    let path = r"'\\GEORGIS3\Processor(*)\% Processor Time'";
    let want = format!(
        "\nNext:\n  perfset get {path} --log '{quoted}'\n  perfset get {path} --log '{quoted}' --summary\n  \
         perfset plot {path} --log '{quoted}' -o picture.svg\n"
    );
    assert_eq!(next, want);
    // The commands are right: a shell runs them.
    for line in next.lines().filter_map(|line| line.trim_start().strip_prefix("perfset ")) {
        let command = format!("\"$0\" {line}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command, env!("CARGO_BIN_EXE_perfset")]).current_dir(&folder);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(folder.join("picture.svg").exists());
    // Damage has its own exit code, here too.
    let cut = folder.join("cut.blg");
    fs::write(&cut, &fs::read(basic()).unwrap()[..200_000]).unwrap();
    assert_eq!(run(&[file, cut.to_str().unwrap()], Stdio::null()).0, 5);
    let readme = repository("README.md").display().to_string();
    let (code, out, err) = run(&[&readme], Stdio::null());
    assert_eq!((code, out.as_str()), (5, ""), "{err}");
    assert!(err.contains("the file is not a log"), "{err}");
}

/// Checks that a file does not hide a command or an interval of the same name.
#[test]
fn commands_come_before_files() {
    let folder = scratch("log-names");
    for name in ["list", "10ms"] {
        fs::copy(basic(), folder.join(name)).unwrap();
    }
    for (args, want) in [(&["list"][..], "counterset "), (&["10ms", "1"], "\nload ")] {
        let mut command = perfset("small-vm", args);
        let (code, out, err) = outcome(command.current_dir(&folder).output().unwrap());
        assert!(code == 0 && out.contains(want), "{args:?}: {out}{err}");
    }
    let (code, _, err) = run(&["no-such.blg"], Stdio::null());
    assert!(code == 2 && err.contains("unknown command"), "{err}");
}
