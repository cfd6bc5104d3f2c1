//! Bench of table screens: the CPU time of a live one beside other tools, and the time until screens of logs are
//! drawn.

use std::fmt::{self, Display};
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::tz::TimeZone;
use perfset::log::Logs;
use perfset_tui::screen::{Look, draw};
use perfset_tui::{Feed, Viewer};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::command;
use crate::log::LongLog;
use crate::measure::{Comparison, Report};
use crate::process::nursery::{Nursery, Who};
use crate::process::processes;
use crate::recording::Hour;
use crate::{Options, Out};

/// Size of each measured terminal, in columns and lines.
const SIZE: (u16, u16) = (200, 50);

/// Text that is on the screen as soon as the screen shows values.
const FIRST: &[u8] = b"instance";

/// Number of processes of an ordinary machine, among which the screens are measured.
const FEW: usize = 300;

const INTERVAL: Duration = Duration::from_secs(2);

/// Time that the screens run before the measurement; the next constant is the duration of the measurement.
const SETTLED: Duration = Duration::from_secs(12);
const MEASURED: Duration = Duration::from_secs(60);

/// Maximum time to wait for the first screen of a tool.
const PATIENCE: Duration = Duration::from_secs(20);

/// Names of other tools, each with the command that draws all processes every two seconds.
const PEERS: [(&str, &str); 3] = [("btop", "btop"), ("htop", "htop -d 20"), ("atop", "atop 2")];

/// Measures live screens, and screens that show logs.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    let nursery = Nursery::start(FEW)?;
    out(&FirstScreen::measure()?)?;
    nursery.check()?;
    let nursery = Nursery::start(options.processes)?;
    out(&LiveCost::measure(&nursery)?)?;
    nursery.check()?;
    out(&steps(&Hour::record()?, options.rounds)?)?;
    out(&opening(&LongLog::make()?, options.rounds)?)
}

/// Program in a terminal, which ends when this value is dropped.
#[derive(Debug)]
struct OnTerminal {
    /// Process of the command `script`, which provides the program's terminal.
    holder: Child,
    /// Receiver of the bytes that the program draws on its terminal.
    drawn: Receiver<Vec<u8>>,
}

impl OnTerminal {
    fn start(command: &str) -> Result<Self> {
        let (columns, lines) = SIZE;
        let command = format!("stty cols {columns} rows {lines}; exec {command}");
        let mut holder = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &command, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start script (Debian package bsdutils)")?;
        let mut output = holder.stdout.take().context("it has no output")?;
        let (sender, drawn) = channel();
        spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(len @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { holder, drawn })
    }

    /// Waits until the program has drawn a text on its terminal.
    fn wait_for(&self, text: &[u8]) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        while !all.windows(text.len()).any(|part| part == text) {
            let left = end.saturating_duration_since(Instant::now());
            all.extend(self.drawn.recv_timeout(left).context("the screen was not drawn")?);
        }
        Ok(())
    }

    /// Returns the CPU time of the program on its terminal, in ms.
    fn cpu_ms(&self) -> Result<f64> {
        // The holder's child is a shell, which the program replaced.
        let holder = self.holder.id();
        let children = fs::read_to_string(format!("/proc/{holder}/task/{holder}/children"))?;
        let child = children.split_whitespace().next().context("the program has ended")?;
        let stat = fs::read_to_string(format!("/proc/{child}/stat"))?;
        let fields: Vec<&str> = stat.rsplit_once(')').context("stat")?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok()).context("stat");
        Ok((ticks(11)? + ticks(12)?) * 10.0)
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.holder.kill(); // the terminal's end ends the program
        let _ = self.holder.wait();
    }
}

/// Time until `perfset top` draws its first screen.
#[derive(Debug)]
struct FirstScreen {
    ms: f64,
    processes: usize,
}

impl FirstScreen {
    fn measure() -> Result<Self> {
        let processes = processes()?;
        let program = command::path();
        let mut times = Vec::new();
        for _ in 0..9 {
            let begun = Instant::now();
            let screen = OnTerminal::start(&format!("{} top 2", program.display()))?;
            screen.wait_for(FIRST)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(Self { ms: times[times.len() / 2], processes })
    }
}

impl Display for FirstScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GOAL_MS: f64 = 150.0;
        let met = if self.ms <= GOAL_MS { "met" } else { "MISSED" };
        writeln!(f, "screens: the first one of perfset top, {} processes, median of 9", self.processes)?;
        writeln!(f, "  from the start of the terminal on {:.0} ms (goal {GOAL_MS}: {met})", self.ms)
    }
}

/// CPU time of the live screens of several tools, measured in the same minute.
#[derive(Debug)]
struct LiveCost {
    processes: usize,
    /// Name of each tool, and its CPU time in percent of one processor; `None` if the tool is not installed. The
    /// first one is ours.
    shares: Vec<(&'static str, Option<f64>)>,
}

impl LiveCost {
    fn measure(nursery: &Nursery) -> Result<Self> {
        let processes = processes()?;
        let ours = format!("{} top 2", command::path().display());
        let mut screens = Vec::new();
        for (name, command) in [("perfset top", ours.as_str())].into_iter().chain(PEERS) {
            let program = command.split(' ').next().unwrap_or_default();
            let is_there = Command::new("which").arg(program).stdout(Stdio::null()).status()?.success();
            screens.push((name, if is_there { Some(OnTerminal::start(command)?) } else { None }));
        }
        ensure!(screens[0].1.is_some(), "{ours}: build it first");
        let turns = |time: Duration| {
            let end = Instant::now() + time;
            while Instant::now() < end {
                nursery.let_run(Who::OneInTwenty);
                sleep(INTERVAL);
            }
        };
        turns(SETTLED);
        let cpu = |screens: &[(&'static str, Option<OnTerminal>)]| -> Result<Vec<Option<f64>>> {
            screens.iter().map(|(_, screen)| screen.as_ref().map(OnTerminal::cpu_ms).transpose()).collect()
        };
        let (begun, before) = (Instant::now(), cpu(&screens)?);
        turns(MEASURED);
        let (seconds, after) = (begun.elapsed().as_secs_f64(), cpu(&screens)?);
        let share = |at: usize| Some((after[at]? - before[at]?) / (seconds * 10.0));
        let shares = screens.iter().enumerate().map(|(at, (name, _))| (*name, share(at))).collect();
        Ok(Self { processes, shares })
    }
}

impl Display for LiveCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GOAL: f64 = 1.0;
        const GOAL_OF_PEERS: f64 = 1.0 / 3.0;
        let met = |is_met: bool| if is_met { "met" } else { "MISSED" };
        writeln!(
            f,
            "screens: {} processes, 5 % ran before each sample, every 2 s, in the same minute",
            self.processes
        )?;
        let ours = self.shares.first().and_then(|(_, share)| *share).unwrap_or(f64::NAN);
        writeln!(f, "  perfset top   {ours:6.2} % of a processor (goal {GOAL}: {})", met(ours <= GOAL))?;
        for (name, share) in self.shares.iter().skip(1) {
            match share {
                Some(share) => {
                    writeln!(f, "  {name:12}  {share:6.2} %, of which perfset top needs {:.3}", ours / share)?
                }
                None => writeln!(f, "  {name:12}  is not installed")?,
            }
        }
        let least = self.shares.iter().skip(1).filter_map(|(_, share)| *share).reduce(f64::min);
        match least {
            Some(least) => {
                let ratio = ours / least;
                writeln!(
                    f,
                    "  beside the cheapest {ratio:.3} (goal {GOAL_OF_PEERS:.3}: {})",
                    met(ratio <= GOAL_OF_PEERS)
                )
            }
            None => Ok(()),
        }
    }
}

fn area() -> Rect {
    Rect { x: 0, y: 0, width: SIZE.0, height: SIZE.1 }
}

fn drawn(viewer: &Viewer) -> u64 {
    let mut buffer = Buffer::empty(area());
    draw(viewer, Look { has_colours: true, is_utf8: true }, area(), &mut buffer);
    buffer.content.iter().filter(|cell| cell.symbol() != " ").count() as u64
}

fn steps(hour: &Hour, rounds: usize) -> Result<Report> {
    let feed = Feed::of_logs(Logs::open(&[hour.path()])?);
    let mut viewer = Viewer::of_logs(feed, TimeZone::UTC, "")?;
    viewer.fill_strip();
    for key in ['g', '-', '3', '0', 'm'].map(KeyCode::Char).into_iter().chain([KeyCode::Enter]) {
        viewer.key(KeyEvent::new(key, KeyModifiers::NONE));
    }
    let title = format!("screens: steps in a recording of an hour, {} by {}", SIZE.0, SIZE.1);
    let mut moved = 0_u64;
    let report = Comparison::new(title, 1)
        .per("step")
        .variant("a sample forward, and the screen drawn", || {
            viewer.key(KeyEvent::new(KeyCode::Right, KeyModifiers::NONE));
            moved += 1;
            drawn(&viewer)
        })
        .at_least(30)
        .ns_goal(5e6)
        .run(rounds);
    if moved == 0 {
        bail!("no step was made");
    }
    Ok(report)
}

fn opening(log: &LongLog, rounds: usize) -> Result<Report> {
    /// Size of a log that must open within a second, in MiB.
    const MIB: f64 = 400.0;
    let mib = log.len >> 20;
    let title = format!("screens: perfset view of a .blg of {mib} MiB, from opening to the first screen");
    let report = Comparison::new(title, mib)
        .per("MiB")
        .variant("Logs::open, Viewer::of_logs and the screen drawn", || {
            let logs = Logs::open(&[&log.path]).ok();
            let viewer = logs.and_then(|logs| Viewer::of_logs(Feed::of_logs(logs), TimeZone::UTC, "").ok());
            viewer.map_or(0, |viewer| drawn(&viewer))
        })
        .ns_goal(1e9 / MIB)
        .run(rounds.min(3));
    Ok(report)
}
