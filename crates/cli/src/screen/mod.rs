//! Screens of `perfset` without a command, and of `perfset cpu`, `mem`, `disk`, `net`, `proc` and `cgroup`.

use std::time::Duration;

use perfset::overview::{FactCache, MachineState, Overview};
use perfset::{NextOutcome, SourceError};

use crate::args::{PartArgs, ScreenArgs};
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::pace::Pace;

use canvas::Canvas;
use history::History;
use keys::{ENDS, Keys};
pub use overview::ScreenPart;

mod canvas;
mod draw;
mod history;
mod keys;
mod lists;
mod overview;
mod past;
pub mod processors;
#[cfg(test)]
mod tests;

/// Time until the second sample of a screen on a terminal, where users do not want to wait for the first rates.
/// Elsewhere the first sample covers a whole interval, as all others do.
const WARMUP: Duration = Duration::from_millis(300);

/// Minimum number of processes and control groups that are collected for each list on a terminal. A table of one part
/// of the machine then fills its screen.
const LISTED: usize = 30;

/// Shows the overview screen, or the screen of one part of the machine: now, or at an instant of a log.
///
/// # Errors
/// If the machine or the log cannot be read, or the screen cannot be written.
pub fn run(args: &PartArgs, part: Option<ScreenPart>) -> Result<Exit, Failure> {
    if args.past.log.is_empty() {
        live(&args.screen, part)
    } else {
        past::run(&args.screen, &args.past, part)
    }
}

fn live(args: &ScreenArgs, part: Option<ScreenPart>) -> Result<Exit, Failure> {
    args.processes.apply()?;
    // Before the first thread: threads would keep the capabilities.
    bpf_capabilities::settle(true);
    let failed = |error: SourceError| Failure::escaped(Exit::SourceFailed, error);
    let mut source = perfset::local();
    let mut overview = Overview::open(&mut source).map_err(failed)?;
    let (mut facts, no_facts) = (FactCache::default(), FactCache::default());
    let mut history = History::default();
    let mut canvas = Canvas::stdout(args.color);
    let warmup = if canvas.is_terminal() { WARMUP.min(args.interval) } else { args.interval };
    let mut pace = Pace::new(warmup, None).map_err(|error| Failure::new(Exit::SourceFailed, error))?;
    let keys = Keys::read(canvas.is_terminal(), pace.stopper());
    let (machine, system) = (perfset::computer_name(), perfset::system());
    let every = args.interval.as_secs_f64();
    let right = match canvas.is_terminal() {
        true => format!("every {every} s, {ENDS}"),
        false => format!("every {every} s"),
    };
    let mut left = args.count;
    let (mut is_first, mut is_warming_up) = (true, true);
    loop {
        if overview.collect().map_err(failed)? == NextOutcome::End {
            break;
        }
        if keys.take_resumed() {
            canvas.forget();
        }
        let (width, height) = canvas.size();
        let listed = match (height, part) {
            (Some(height), _) => height.max(LISTED),
            (None, None) => overview::PIPE_ROWS,
            (None, Some(_)) => usize::MAX,
        };
        let state = overview.state(listed);
        if !is_first {
            readable(&state, "this machine")?;
            history.push(&state);
        }
        let screen = |facts| overview::Screen {
            state: &state,
            machine: &machine,
            system: &system,
            right: &right,
            when: None,
            width,
            height,
            facts,
            history: &history,
            glyphs: canvas.glyphs(),
        };
        // In a pipe, a sample without rates is only the base of the next one.
        if canvas.is_terminal() || !is_first {
            let (processes, disks) = screen(&no_facts).described(part);
            facts.read(&mut source, processes, disks);
            let screen = screen(&facts);
            canvas.draw(&part.map_or_else(|| screen.overview(), |part| screen.part(part)))?;
        }
        if !std::mem::take(&mut is_first) {
            left = left.map(|left| left.saturating_sub(1));
        }
        if left == Some(0) || !pace.wait() {
            break;
        }
        // After the first wait, the grid is that of the interval.
        if std::mem::take(&mut is_warming_up) {
            pace.every(args.interval);
        }
    }
    canvas.finish()?;
    Ok(Exit::Ok)
}

/// Fails if nothing of a machine can be read: a screen without any value shows nothing.
fn readable(state: &MachineState, what: &str) -> Result<(), Failure> {
    let values = [&state.processors.busy, &state.memory.available, &state.process_count];
    match values.map(|value| value.as_ref().err()) {
        [Some(reason), Some(_), Some(_)] => {
            Err(Failure::escaped(Exit::SourceFailed, anyhow::anyhow!("{what} cannot be read: {reason}")))
        }
        _ => Ok(()),
    }
}
