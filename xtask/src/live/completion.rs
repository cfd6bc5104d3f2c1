//! Checks of the completion of command lines in bash, zsh and fish, each on a terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::owned::{Folder, Running};
use super::{finished, median, perfset};
use crate::repository::{root, target};

/// Maximum time of one completion of a command line, in ms.
const LIMIT_MS: f64 = 50.0;

/// Checks the command lines that each shell completes from typed beginnings. Loads the script of each shell, types
/// the beginnings, and compares the words of the completed lines.
pub fn check() -> Result<String> {
    let folder = Folder::new("completion")?;
    let name = folder.0.join("it's me");
    fs::copy("/bin/sleep", &name).context("cannot copy sleep")?;
    let sleep = Command::new(&name).arg("600").stdin(Stdio::null()).spawn();
    let sleep = Running(sleep.context("cannot start a copy of sleep")?);
    let log = root().join("testdata/logs/limits.csv").display().to_string();
    let cases = cases(&log, sleep.0.id());
    let in_shell = |shell: &str| -> Result<()> {
        let home = folder.0.join(shell);
        set_up(shell, &home)?;
        let list = home.join("cases.json");
        fs::write(&list, serde_json::to_string(&cases)?)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("python3")
            .arg(root().join("xtask/src/live/completion.py"))
            .arg(shell)
            .arg(&home)
            .arg(&list)
            .env("PATH", format!("{}:{path}", target().join("release").display()))
            .stdin(Stdio::null())
            .output()
            .context("cannot start python3")?;
        finished(output).with_context(|| format!("{shell} (Debian package {shell})"))?;
        Ok(())
    };
    // They mostly wait.
    std::thread::scope(|scope| {
        let shells = ["bash", "zsh", "fish"].map(|shell| scope.spawn(|| in_shell(shell)));
        shells.into_iter().try_for_each(|shell| shell.join().unwrap_or_else(|_| bail!("the check panicked")))
    })?;
    let slowest = slowest(&log)?;
    ensure!(slowest <= LIMIT_MS, "a completion takes {slowest:.1} ms");
    Ok(format!(": {} lines in each shell, at most {slowest:.1} ms (median)", cases.len()))
}

/// Returns the keys that each test of completion types, and the words to which the shell must complete them.
fn cases(log: &str, pid: u32) -> Vec<(String, Vec<String>)> {
    let case = |keys: &str, words: &[&str]| {
        let words = ["perfset"].iter().chain(words).map(|word| (*word).to_owned()).collect();
        (format!("perfset {keys}").replace("<TAB>", "\t"), words)
    };
    let memory = r"\Memory\Available Bytes";
    let idle = r"\Processor(_Total)\% Idle Time";
    let hostile = format!(r"\Process V2(it's me:{pid})\Working Set Peak");
    vec![
        case("des<TAB>", &["describe"]),
        // No command of the shell.
        case("slee<TAB>", &["slee"]),
        case("get cp<TAB>", &["get", "cpu"]),
        case("get cpu --form<TAB>js<TAB>", &["get", "cpu", "--format", "json"]),
        case(r"get '\Mem<TAB>Available B<TAB>", &["get", memory]),
        case(r"get cpu '\Mem<TAB>Available B<TAB>1 3", &["get", "cpu", memory, "1", "3"]),
        case("get \"\\Processor(_T<TAB>% Idle<TAB>", &["get", idle]),
        case("get /Mem<TAB>Avail<TAB>B<TAB>", &["get", "/Memory/Available Bytes"]),
        case(r"get \\Mem<TAB>Avail<TAB>B<TAB>", &["get", memory]),
        case(
            r"get '\Mem<TAB>{Available B<TAB>,Committed B<TAB>}'",
            &["get", r"\Memory\{Available Bytes,Committed Bytes}"],
        ),
        case(r"get '\Process V2(it<TAB>Working Set P<TAB>", &["get", &hostile]),
        case(&format!(r"get --log {log} '\Queue(ma<TAB>"), &["get", "--log", log, r"\Queue(mail)\Length"]),
        case(
            &format!(r"watch --log {log} --above 5 '\Q<TAB>pr<TAB>"),
            &["watch", "--log", log, "--above", "5", r"\Queue(print)\Length"],
        ),
        case("describe 'Processor I<TAB>", &["describe", "Processor Information"]),
        case("describe memory 'Available B<TAB>", &["describe", "memory", "Available Bytes"]),
        case("dump /etc/hostn<TAB>", &["dump", "/etc/hostname"]),
        // Sets of paths in the settings file, and the counters of the paths before --sort.
        case("get @we<TAB>", &["get", "@web"]),
        case("get cpu @we<TAB>1 3", &["get", "cpu", "@web", "1", "3"]),
        case("get @we<TAB>--sort Proce<TAB>", &["get", "@web", "--sort", "Processes"]),
        case(
            r"get '\Memory\Avail*' --sort 'Available K<TAB>--top 3",
            &["get", r"\Memory\Avail*", "--sort", "Available KBytes", "--top", "3"],
        ),
    ]
}

/// Writes the configuration of a shell that loads the completion script, as the help describes.
fn set_up(shell: &str, home: &Path) -> Result<()> {
    let script = finished(perfset().args(["completions", shell]).output().context("cannot start perfset")?)?;
    let completions = home.join("fish/completions");
    fs::create_dir_all(&completions)?;
    fs::create_dir_all(home.join("perfset"))?;
    let settings = "[paths]\nweb = ['/Memory/Available Bytes', '/System/Processes']\n";
    fs::write(home.join("perfset/config.toml"), settings)?;
    let write = |file: &str, text: &str| fs::write(home.join(file), text);
    match shell {
        "bash" => {
            write("perfset.bash", &script)?;
            let quiet = "bind 'set enable-bracketed-paste off'; bind 'set bell-style none'\n\
                         bind 'set completion-query-items 0'; bind 'set page-completions off'\n";
            write("bashrc", &format!("PS1='> '\n{quiet}source ~/perfset.bash\n"))?;
        }
        "zsh" => {
            write("_perfset", &script)?;
            let quiet = "unsetopt beep; bindkey -e; PS1='> '; LISTMAX=10000; unset zle_bracketed_paste\n";
            write(".zshrc", &format!("{quiet}fpath=(~ $fpath); autoload -Uz compinit; compinit -u -D\n"))?;
        }
        _ => {
            fs::write(completions.join("perfset.fish"), &script)?;
            let quiet = "set -g fish_autosuggestion_enabled 0; set -g fish_greeting\n\
                         function fish_prompt; echo '> '; end\n";
            fs::write(home.join("fish/config.fish"), quiet)?;
        }
    }
    Ok(())
}

/// Returns the median time of the slowest kind of completion, in ms.
fn slowest(log: &str) -> Result<f64> {
    const TIMES: usize = 10;
    let mut slowest = 0.0_f64;
    for words in [&["", "get"][..], &[r"'\Process V2(", "get"], &[r"'\Queue(", log, "--log", "get"]] {
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let began = Instant::now();
            let (typed, before) = words.split_first().context("no word")?;
            let before: Vec<_> = before.iter().rev().collect();
            let mut command = perfset();
            command.args(["complete", "bash", "--", typed]).args(before);
            let output = command.output().context("cannot start perfset")?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            ensure!(output.stderr.is_empty() && output.status.success(), "{words:?}: {output:?}");
            ensure!(output.stdout.iter().filter(|byte| **byte == b'\n').count() > 2, "{words:?}: {output:?}");
        }
        slowest = slowest.max(median(times));
    }
    Ok(slowest)
}
