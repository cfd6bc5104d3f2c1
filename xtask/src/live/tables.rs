//! Check of interactive tables on a terminal: the keys that lead to a process in the past.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::first_answer::writer;
use super::owned::{Folder, Running};
use super::tmux::Terminal;
use super::{finished, perfset};

/// Time after which a screen without the expected text fails the check.
const PATIENCE: Duration = Duration::from_secs(8);

/// Checks that `perfset view` names the process that wrote most at a marked time, and over the whole recording. The
/// process is not there before it began.
pub fn past_writer() -> Result<String> {
    let place = Folder::new("past-writer")?;
    let log = place.0.join("recorded");
    let mut command = perfset();
    command.args(["record", "250ms", "--dir"]).arg(&log).stderr(Stdio::null());
    let mut recorder = Running(command.spawn().context("cannot start perfset record")?);
    sleep(Duration::from_secs(2));
    let load = writer(&place)?;
    sleep(Duration::from_secs(3));
    finished(perfset().args(["mark", "written", "--dir"]).arg(&log).output()?)?;
    sleep(Duration::from_secs(1));
    drop(load);
    sleep(Duration::from_secs(1));
    finished(perfset().args(["record", "--stop", "--dir"]).arg(&log).output()?)?;
    recorder.0.wait()?;
    let log = log.to_str().context("a directory's name")?;
    let mut answers = Vec::new();
    for (options, keys, is_there) in [
        (" --at 'mark written'", "D", true),
        // From the first sample to the last one.
        ("", "{R}D", true),
        (" --at 'mark written'", "{D", false),
    ] {
        let terminal = Terminal::start(&format!("perfset view {log}{options}"))?;
        first_screen(&terminal)?;
        let begun = Instant::now();
        terminal.press(keys)?;
        let seconds = answer(&terminal, begun, is_there).with_context(|| format!("keys {keys}"))?;
        answers.push(format!("{keys:?} {seconds:.1} s"));
        terminal.press("q")?;
        ends(&terminal)?;
    }
    Ok(format!(": keys and seconds {}", answers.join(", ")))
}

/// Waits until the interactive table shows its first screen.
fn first_screen(terminal: &Terminal) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if terminal.screen()?.contains("PAST") {
            return Ok(());
        }
        sleep(Duration::from_millis(20));
    }
    bail!("there is no screen: {}", terminal.screen()?)
}

/// Waits until the table, sorted by written bytes, has the writing process first, or has no such row; returns the
/// seconds.
fn answer(terminal: &Terminal, begun: Instant, is_there: bool) -> Result<f64> {
    loop {
        let screen = terminal.screen()?;
        let is_sorted = screen.contains("WRITE/s▼");
        let rows = screen.lines().skip_while(|line| !line.contains("WRITE/s▼")).skip(1);
        // Sums over other rows come first; an instance that ended in a range has a sign.
        let mut names = rows.map(|line| line.trim_start_matches(['+', '-', ' ']));
        let first = names.find(|name| !name.starts_with("_Total ") && !name.starts_with("Idle"));
        let is_first = first.is_some_and(|line| line.starts_with("diskhog:"));
        if is_sorted && is_first == is_there && (is_there || !screen.contains("diskhog")) {
            return Ok(begun.elapsed().as_secs_f64());
        }
        ensure!(begun.elapsed() < PATIENCE, "diskhog is not the answer, or it is one too early: {screen}");
        sleep(Duration::from_millis(20));
    }
}

/// Waits until `perfset view` has ended, and its terminal with it.
fn ends(terminal: &Terminal) -> Result<()> {
    let begun = Instant::now();
    while terminal.screen().is_ok() {
        ensure!(begun.elapsed() < PATIENCE, "the screen does not end with q");
        sleep(Duration::from_millis(20));
    }
    Ok(())
}
