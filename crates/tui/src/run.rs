//! Loop of the interactive screen on a terminal: reads keys, collects samples and draws.

use std::io::{self, Stdout, Write, stdout};
use std::panic::{set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind, MouseButton, MouseEvent,
    MouseEventKind,
};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;

use crate::feed::FeedError;
use crate::screen::{self, Look};
use crate::viewer::{KeyOutcome, Viewer};

/// Options with which a viewer runs on a terminal.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Interval between two samples of a live source, shown on the screen.
    pub interval: Duration,
    /// Colours and glyphs that the terminal supports.
    pub look: Look,
    /// `true` if the program receives clicks and the mouse wheel; the terminal then selects no text without Shift.
    pub has_mouse: bool,
    /// `true` if the screen is to end, which happens within half a second; a signal handler sets it.
    pub stop: Arc<AtomicBool>,
}

/// `true` after a panic of any thread, until the program sets up the terminal again.
static HAS_PANICKED: AtomicBool = AtomicBool::new(false);

/// Maximum time to wait for a key, because a signal to stop does not end the wait.
const WAIT: Duration = Duration::from_millis(500);

/// Error that ends an interactive screen or prevents its start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Error of the terminal, which failed or was closed.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
    /// Error of the source, which could not be read at the start.
    #[error(transparent)]
    Feed(#[from] FeedError),
}

/// Terminal in raw mode that shows the alternate screen; dropping it restores the terminal.
struct OwnTerminal {
    drawn: Terminal<CrosstermBackend<Stdout>>,
    has_mouse: bool,
}

impl OwnTerminal {
    fn open(has_mouse: bool) -> Result<Self, RunError> {
        let opened = enter(has_mouse).and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match opened {
            Ok(drawn) => Ok(Self { drawn, has_mouse }),
            Err(error) => {
                restore();
                Err(error.into())
            }
        }
    }
}

impl OwnTerminal {
    /// Sets up the terminal again after it was restored, and clears it, so that the whole screen is drawn next time.
    fn take(&mut self) -> Result<(), RunError> {
        enter(self.has_mouse)?;
        Ok(self.drawn.clear()?)
    }
}

/// Sets up the terminal: raw mode, alternate screen, and mouse events if requested.
fn enter(has_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, Hide)?;
    if has_mouse { execute!(stdout(), EnableMouseCapture) } else { Ok(()) }
}

impl Drop for OwnTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the state that the terminal had before the screen. The terminal may be gone, so failures are ignored.
fn restore() {
    // On Windows this fails if the mouse was not taken.
    let _ = execute!(stdout(), DisableMouseCapture);
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Shows a viewer on the terminal of standard input and output until the user quits. The terminal is restored even
/// after a panic, whose message then appears on the normal screen.
///
/// # Errors
/// If the terminal fails, or a live source cannot be read at the start.
pub fn run(mut viewer: Viewer, options: &RunOptions) -> Result<(), RunError> {
    viewer.collect()?;
    let before = take_hook();
    set_hook(Box::new(move |info| {
        HAS_PANICKED.store(true, Relaxed);
        restore();
        before(info);
    }));
    let mut terminal = OwnTerminal::open(options.has_mouse)?;
    show(&mut terminal, &mut viewer, options)
}

fn show(terminal: &mut OwnTerminal, viewer: &mut Viewer, options: &RunOptions) -> Result<(), RunError> {
    let soon = || Instant::now().checked_add(crate::WARMUP).unwrap_or_else(Instant::now);
    let mut next = soon();
    let (mut is_changed, mut has_past, mut has_drawn) = (true, false, false);
    loop {
        // Rates need a second sample, which is taken before the interval has passed. The first screen shows what is
        // known, and later ones wait for it, so that a table never shows less for a moment.
        let warms_up = viewer.warms_up();
        if is_changed && !(warms_up && has_drawn) {
            (is_changed, has_drawn) = (false, true);
            terminal.drawn.draw(|frame| {
                let area = frame.area();
                viewer.page = screen::page(viewer, area);
                screen::draw(viewer, options.look, area, frame.buffer_mut());
            })?;
        }
        let wait = match viewer.waits_for_keys() {
            true => WAIT,
            false => next.saturating_duration_since(Instant::now()).min(WAIT),
        };
        if options.stop.load(Relaxed) {
            return Ok(());
        }
        // The first screen does not wait for the past.
        if !std::mem::replace(&mut has_past, true) {
            viewer.load_past();
            is_changed = true;
        }
        let mut wait = wait;
        viewer.hold_spans(true);
        // All keys that are there: the terminal says only of unread ones that they are.
        while is_readable(wait)? && event::poll(Duration::ZERO)? {
            wait = Duration::ZERO;
            let event = event::read()?;
            // With the mouse, each of its movements is an event.
            is_changed |= !matches!(&event, Event::Mouse(mouse) if mouse.kind == MouseEventKind::Moved);
            match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match viewer.key(key) {
                    KeyOutcome::Draw => {}
                    KeyOutcome::Quit => return Ok(()),
                    KeyOutcome::Suspend => suspend(terminal)?,
                    KeyOutcome::Copy(text) => {
                        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))?;
                        stdout().flush()?;
                    }
                },
                Event::Mouse(mouse) => {
                    let size = terminal.drawn.size()?;
                    let area = Rect { x: 0, y: 0, width: size.width, height: size.height };
                    mouse_event(viewer, options.look, area, mouse);
                }
                _ => {} // a resized window is drawn like any other
            }
        }
        viewer.hold_spans(false);
        if viewer.warms_up() && !warms_up {
            next = soon();
        }
        if !viewer.waits_for_keys() && Instant::now() >= next {
            next = Instant::now().checked_add(options.interval).unwrap_or_else(Instant::now);
            viewer.collect_or_say();
            is_changed = true;
            // The engine goes on after a provider's panic, which has restored the terminal.
            if HAS_PANICKED.swap(false, Relaxed) {
                terminal.take()?;
            }
        }
    }
}

/// Handles clicks and the mouse wheel on the screen.
fn mouse_event(viewer: &mut Viewer, look: Look, area: Rect, mouse: MouseEvent) {
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            let place = screen::place_at(viewer, look, area, (mouse.column, mouse.row));
            place.into_iter().for_each(|place| viewer.click(place));
        }
        MouseEventKind::ScrollDown => viewer.wheel(true),
        MouseEventKind::ScrollUp => viewer.wheel(false),
        _ => {}
    }
}

/// Stops this program as Ctrl+Z does, and sets up the terminal again when the shell continues it.
#[cfg(unix)]
fn suspend(terminal: &mut OwnTerminal) -> Result<(), RunError> {
    restore();
    rustix::process::kill_current_process_group(rustix::process::Signal::TSTP).map_err(io::Error::from)?;
    terminal.take()
}

/// Does nothing, because this operating system suspends no program by a key.
#[cfg(not(unix))]
fn suspend(_: &mut OwnTerminal) -> Result<(), RunError> {
    Ok(())
}

/// Waits for a key or mouse event of the terminal, a signal or the end of the time. Returns `true` if there may be an
/// event.
///
/// The terminal is asked before crossterm is: at a terminal that was closed, crossterm would read its end for ever.
#[cfg(unix)]
fn is_readable(wait: Duration) -> Result<bool, RunError> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout =
        Timespec { tv_sec: i64::try_from(wait.as_secs()).unwrap_or(1), tv_nsec: wait.subsec_nanos().into() };
    match poll(&mut fds, Some(&timeout)) {
        Ok(0) => Ok(true), // crossterm may have further keys of an earlier reading, or a resized window
        Ok(_) => {
            let is_closed = fds
                .iter()
                .any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL));
            match is_closed {
                true => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                false => Ok(true),
            }
        }
        // A signal: the window has another size, or the run is to end.
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Waits for a key or mouse event of the terminal, and returns `true` if there is one.
#[cfg(not(unix))]
fn is_readable(wait: Duration) -> Result<bool, RunError> {
    Ok(event::poll(wait)?)
}
