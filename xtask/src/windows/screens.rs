//! Check of the screens, tables and searches of the command: the output under Wine is that on Linux.

use anyhow::{Context, Result, ensure};

use super::stand::Stand;
use super::{both, said};

/// Commands that print screens of one sample, and texts that each screen has. The machine is that of the capture,
/// except its name.
const SCREENS: [(&[&str], &[&str]); 8] = [
    (
        &[],
        &["cpu   [", "process ", "disk ", "network ", "file system ", "cgroup -  unavailable: no counterset"],
    ),
    (&["cpu"], &["Processor  ", "% busy", "_Total", "MHz: "]),
    (&["mem"], &["mem   [", "memory", "swap   -  unavailable: "]),
    (&["disk"], &["per write", "KiB/s", "53.2 GiB"]),
    (&["net"], &["received", "TCP resends 0.0 %"]),
    (&["proc"], &["cpu   [", "17.9 %"]),
    (&["cgroup"], &["cgroup -  unavailable: no counterset is named \"CGroup\""]),
    (&["get", r"\Process(*)\{% Processor Time,Working Set,ID Process}", "--top", "5"], &["17.9", "nrto"]),
];

/// Commands other than those of screens, and a text that the output of each command contains.
const OTHERS: [(&[&str], &str); 9] = [
    (
        &["get", r"\Process(*)\{% Processor Time,Working Set}", "20ms", "1", "--wide", "--format", "csv"],
        ",Process,nrto,",
    ),
    (&["get", r"\Process(*)\Working Set", "20ms", "1", "--sort", "Working Set", "--human"], " MiB"),
    (&["find", "cpu usage"], "% Processor Time"),
    (&["find", "disk full", "--format", "json"], "% Free Space"),
    (&["list", "--format", "json"], "\"counterset\":\"Process\""),
    (&["describe", "Memory", "--format", "json"], "Available Bytes"),
    (&["instances", "Process", "--format", "json"], "\"instance\":\"nrto\""),
    (&["watch", r"\Process(*)\% Processor Time", "--above", "5", "20ms", "2"], "begins"),
    (&["watch", r"\Memory\Available Bytes", "--above", "5", "20ms", "2", "--exit-code"], "begins"),
];

/// Compares standard output, standard error and exit codes of commands on Linux and under Wine.
pub fn check(stand: &Stand) -> Result<String> {
    let screens = SCREENS.iter().map(|(args, texts)| ([args, &["20ms", "1"][..]].concat(), *texts, true));
    let others = OTHERS.iter().map(|(args, text)| (args.to_vec(), std::slice::from_ref(text), false));
    let (mut lines, mut count) = (0, 0);
    for (args, texts, is_screen) in screens.chain(others) {
        // Options stand behind the numbers as well as before.
        let [linux, windows] = both(stand, &args, &stand.folder, true)?;
        let print = |bytes: Vec<u8>| -> Result<String> {
            let text = String::from_utf8(bytes).with_context(|| format!("{args:?} prints no UTF-8"))?;
            Ok(if is_screen { text.lines().map(without_machine).collect() } else { text })
        };
        ensure!(
            linux.status.code() == windows.status.code(),
            "{args:?}: {}, {}",
            linux.status,
            said(&windows)
        );
        ensure!(
            linux.stderr == windows.stderr,
            "{args:?}: {}, and on Linux {}",
            said(&windows),
            said(&linux)
        );
        let (on_linux, on_windows) = (print(linux.stdout)?, print(windows.stdout)?);
        ensure!(
            on_linux == on_windows,
            "{args:?} prints\n{on_windows}\nunder Wine, and on Linux\n{on_linux}"
        );
        for text in texts {
            ensure!(on_windows.contains(text), "{args:?} prints no {text:?}: {on_windows}");
        }
        (lines, count) = (lines + on_windows.lines().count(), count + 1);
    }
    Ok(format!(": {lines} lines of {count} commands"))
}

/// Returns a line of a screen with a line end; a title loses the names of machine and system at its beginning.
fn without_machine(line: &str) -> String {
    let title = line.find(" 1 processor ").filter(|_| line.contains(" up "));
    let words = title.and_then(|at| line.get(at..)).map(|rest| rest.split_whitespace().collect::<Vec<_>>());
    words.map_or_else(|| format!("{line}\n"), |words| format!("{}\n", words.join(" ")))
}
