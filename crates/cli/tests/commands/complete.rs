//! Tests of `perfset complete`: candidates of the completion scripts, on fixtures and logs.

use crate::running::{outcome, perfset, run, testdata};

/// Returns the candidates that `perfset complete` prints for a shell, without their descriptions.
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

#[test]
fn counters_of_the_paths_before_an_order() {
    for (words, want) in [
        (&["", "get", "/Memory/Available*", "--sort"][..], &["Available Bytes", "Available KBytes"][..]),
        (&["avail", "get", "/Memory/Available*", "/System/*", "--sort"], &["Available MBytes"]),
        (&["% p", "get", "cpu", "--sort"], &["% Processor Time"]),
        (&["ins", "get", "--sort"], &["instance"]),
        (
            &["'Work", "get", r"\Process V2(*)\{% User Time,Working Set}", "--top", "5", "--sort"],
            &["Working Set"],
        ),
    ] {
        let got = candidates("fish", words);
        assert!(want.iter().all(|want| got.iter().any(|got| got == want)), "{words:?}: {got:?}");
        let others = ["Pages/sec", "Working Set Peak", "% Idle Time"];
        assert!(got.iter().all(|got| !others.contains(&got.as_str())), "{words:?}: {got:?}");
    }
    let log = testdata("logs/limits.csv").display().to_string();
    let words = ["L", "get", "--log", &log, r"'\Queue(*)\*'", "--sort"];
    assert_eq!(candidates("bash", &words), ["Length"]);
}

#[cfg(all(unix, feature = "settings"))]
#[test]
fn named_sets() {
    let folder = crate::running::scratch("complete-sets");
    std::fs::create_dir_all(folder.join("perfset")).unwrap();
    let text = "[paths]\nweb = ['/Memory/Available Bytes', '/System/Processes']\n'a b' = ['/A/B']\n";
    std::fs::write(folder.join("perfset/config.toml"), text).unwrap();
    let lines = |shell: &str, words: &[&str]| {
        let mut command = perfset("processes", &[&["complete", shell, "--"], words].concat());
        let (code, out, err) = outcome(command.env("XDG_CONFIG_HOME", &folder).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
        out
    };
    // Bash splits words at the sign.
    assert_eq!(lines("bash", &["w", "get", "@"]), "words\n@web\n");
    assert_eq!(lines("bash", &["@", "watch"]), "words\n'@a b'\n'@web'\n");
    assert_eq!(lines("bash", &["'@w", "get"]), "words\n@web\n");
    let web = "words\n@web\t/Memory/Available Bytes /System/Processes\n";
    assert_eq!(lines("fish", &["@we", "plot"]), web);
    assert_eq!(lines("zsh", &["", "@we", "get", "cpu"]), web);
    assert!(lines("fish", &["", "get"]).contains("\n@web\t"));
    // relog has no such names.
    assert!(!lines("fish", &["@", "relog", "x.csv"]).contains("@web"));
    // The counters of a set.
    assert_eq!(lines("bash", &["P", "get", "@", "web", "--sort"]), "words\nProcesses\n");
    assert_eq!(lines("bash", &["P", "get", "'@web'", "--sort"]), "words\nProcesses\n");
}

/// Checks that `perfset complete` prints only candidates and no error, for any input.
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
