//! Tests of a standard output that cannot be written: closed at the start, a full disk, a pipe without a reader.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::running::{outcome, perfset, program, run, scratch, testdata};

/// Commands of perfset that write to standard output, with their arguments.
fn commands() -> Vec<Vec<String>> {
    let words = |all: &str| all.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let with = |all: &str, path: &str| {
        let mut words = words(all);
        let file = testdata(path).display().to_string();
        words.iter_mut().filter(|word| *word == "FILE").for_each(|word| word.clone_from(&file));
        words
    };
    let mut commands = vec![
        words("1 1"),
        words("cpu 1 1"),
        words("proc 1 1"),
        words("watch /System/Processes 10ms 1 --above 1"),
        words("--help"),
        words("--version"),
        words("get --help"),
        words("help relog"),
        words("completions bash"),
        words("doctor"),
        words("get /System/Processes /System/Threads"),
        words("get /System/Processes --format pdh-csv"),
        words("get /System/Processes --format influx"),
        words("v1 query Global"),
        with("v1 names FILE", "v1/single.bin"),
        with("log info FILE", "logs/BasicPerfCounters.blg"),
        with("relog FILE --list", "logs/BasicPerfCounters.blg"),
        with("relog FILE -o -", "logs/BasicPerfCounters.blg"),
        with("manifest check FILE", "manifests/waves.man"),
        with("manifest generate FILE --rust", "manifests/waves.man"),
        with("dump FILE", "v2/small-vm.bin"),
    ];
    for list in ["list", "find cpu", "describe memory", "instances memory", "doctor", "get /System/Processes"]
    {
        for format in ["table", "csv", "json"] {
            // Checked above.
            if (list, format) != ("doctor", "table") {
                commands.push(words(&format!("{list} --format {format}")));
            }
        }
    }
    commands
}

#[test]
fn a_full_disk_is_an_error() {
    for args in commands() {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, _, err) = outcome(perfset("small-vm", &args).stdout(full).output().unwrap());
        assert_eq!(code, 4, "{args:?}: {err}");
        let message = "error: cannot write the output: No space left on device (os error 28)\n";
        assert!(err.ends_with(message), "{args:?}: {err}");
    }
}

/// Returns the command, started by a shell that closes its standard output.
fn without_output(words: &[&str]) -> Command {
    let script = "exec \"$0\" \"$@\" >&-";
    let words = [&["-c", script, env!("CARGO_BIN_EXE_perfset")], words].concat();
    program("/bin/sh", "small-vm", &words)
}

#[test]
fn a_closed_output_is_an_error() {
    for args in commands() {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let (code, out, err) = outcome(without_output(&args).output().unwrap());
        assert_eq!((code, out.as_str()), (4, ""), "{args:?}: {err}");
        let message = "error: cannot write the output: standard output is closed\n";
        assert!(err.ends_with(message), "{args:?}: {err}");
    }
}

#[test]
fn a_command_that_writes_a_file_needs_no_output() {
    let file = scratch("streams").join("out.csv");
    let log = testdata("logs/BasicPerfCounters.blg").display().to_string();
    let args = ["relog", &log, "-o", file.to_str().unwrap()];
    let (code, _, err) = outcome(without_output(&args).output().unwrap());
    assert_eq!((code, file.exists()), (0, true), "{err}");
}

/// Checks that `/dev/null` as standard output is not taken for a closed output, in whatever mode it was opened.
#[test]
fn the_null_device_is_an_output() {
    for is_read in [false, true] {
        let null = OpenOptions::new().read(is_read).write(true).open("/dev/null").unwrap();
        let (code, _, err) = outcome(perfset("small-vm", &["list"]).stdout(null).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
    }
}

#[test]
fn a_reader_that_has_ended_ends_the_command_silently() {
    for args in commands() {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        // A socket reports a missing reader as a pipe does.
        let (writer, reader) = UnixStream::pair().unwrap();
        drop(reader);
        let mut command = perfset("small-vm", &args);
        let (code, _, err) = outcome(command.stdout(Stdio::from(OwnedFd::from(writer))).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_third_operand_is_explained() {
    let (code, out, err) = run("small-vm", &["1", "2", "3"]);
    let want = "error: \"3\" is too much: perfset takes an interval and a count, as in perfset 1 3\n  \
        values of counters: perfset get PATH... [INTERVAL [COUNT]]\n";
    assert_eq!((code, out.as_str(), err.as_str()), (2, "", want));
    let (code, _, err) = run("small-vm", &["1", "2", "list"]);
    let want = "error: options of a command come after its name: perfset list [OPTIONS]\n";
    assert_eq!((code, err.as_str()), (2, want));
    let (code, _, err) = run("small-vm", &["1", "2", "\u{1b}[2J"]);
    assert!(code == 2 && !err.contains('\u{1b}'), "{err}");
}
