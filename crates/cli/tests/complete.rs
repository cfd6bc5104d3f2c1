//! `perfset complete`: candidates of the completion scripts, on fixtures and logs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod running;

use running::{outcome, perfset, run, testdata};

/// Returns the candidates, without their descriptions.
fn candidates(shell: &str, words: &[&str]) -> Vec<String> {
    let (code, out, err) = run("processes", &[&["complete", shell, "--"], words].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
    let mut lines = out.lines();
    assert_eq!(lines.next().unwrap_or("words"), "words", "{words:?}");
    lines.map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn each_shell_gets_its_form() {
    for (shell, words, want) in [
        ("bash", &["'\\Memory\\Available M", "get"][..], &["\\Memory\\Available MBytes"][..]),
        ("bash", &["/Memory/Available\\ M", "get"], &["'/Memory/Available MBytes'"]),
        ("bash", &["\"\\Memory\\Available M", "get"], &["\\Memory\\Available MBytes"]),
        ("zsh", &["'", "\\Memory\\Available M", "get"], &["\\Memory\\Available MBytes"]),
        ("zsh", &["", "/Memory/Available\\ M", "get"], &["/Memory/Available MBytes"]),
        ("fish", &["'\\\\Memory\\\\Available M", "get"], &["\\Memory\\Available MBytes"]),
        ("bash", &["wat"], &["watch"]),
        ("bash", &["js", "get", "cpu", "--format"], &["json"]),
        ("bash", &["js", "get", "cpu", "--format", "="], &["json"]),
        ("bash", &["Memory", "describe"], &["Memory"]),
        ("zsh", &["", "available b", "describe", "memory"], &["Available Bytes"]),
    ] {
        let got = candidates(shell, words);
        assert!(want.iter().all(|want| got.iter().any(|got| got == want)), "{shell} {words:?}: {got:?}");
    }
}

#[test]
fn names_of_logs() {
    let log = testdata("logs/limits.csv").display().to_string();
    let got = candidates("bash", &["'\\Queue(", "get", "--log", &log]);
    assert_eq!(got, [r"\Queue(*)\", r"\Queue(mail)\", r"\Queue(print)\", r"\Queue(scan)\"]);
    assert_eq!(candidates("bash", &["'\\Queue(ma", "get", "--log", &log]), [r"\Queue(mail)\Length"]);
    assert_eq!(candidates("bash", &["'\\Mem", "get", "--log", &log]), [""; 0]);
}

/// Whatever is typed, nothing is printed but candidates.
#[test]
fn errors_are_silent() {
    for words in [
        &[][..],
        &[""],
        &["'\\Queue(", "get", "--log", "/no/such/file"],
        &["'\\Queue(", "get", "--log", "-"],
        &["'\\Queue(", "get", "--machine", "X"],
        &["'\\\u{1b}[2J", "get"],
        &["--no-such", "--no-such", "get"],
        &["", "--help"],
    ] {
        for shell in ["bash", "zsh", "fish"] {
            let (code, out, err) = run("processes", &[&["complete", shell, "--"], words].concat());
            assert_eq!((code, err.as_str()), (0, ""), "{shell} {words:?}");
            assert!(out.is_empty() || out.starts_with("words\n"), "{shell} {words:?}: {out}");
        }
    }
    let mut command = perfset("processes", &["complete", "bash", "--", "'\\Mem", "get"]);
    let (code, _, err) = outcome(command.env("PERFSET_DEADLINE", "no time").output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
}
