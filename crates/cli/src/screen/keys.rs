//! Keyboard input while a screen is drawn: `q` ends the screen, Ctrl+Z suspends it, and no other key spoils it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

#[cfg(unix)]
use rustix::termios::Termios;

/// Text on a screen that names the key which ends the screen. Keys are not read on Windows.
pub const ENDS: &str = if cfg!(unix) { "q ends" } else { "Ctrl+C ends" };

/// Terminal whose keys are read without being echoed; dropping this value restores the terminal.
#[derive(Debug, Default)]
pub struct Keys {
    #[cfg(unix)]
    original: Option<Termios>,
    has_resumed: Arc<AtomicBool>,
}

impl Keys {
    /// Returns `true` once after the command was suspended and continued in the foreground.
    pub fn take_resumed(&self) -> bool {
        self.has_resumed.swap(false, Ordering::Relaxed)
    }
}

#[cfg(unix)]
impl Keys {
    /// Starts to read the keys of standard input, if a screen is drawn and standard input is its terminal. The key
    /// `q` sends to `stop`.
    pub fn read(is_drawn: bool, stop: Sender<()>) -> Self {
        use rustix::termios::tcgetattr;

        // The keys of `perfset | less` are those of less. In the background, a change of the terminal would stop the
        // command.
        let is_ours = is_drawn && is_in_front();
        let Some(original) = tcgetattr(std::io::stdin()).ok().filter(|_| is_ours) else {
            return Self::default();
        };
        let has_resumed = Arc::default();
        if set(&quiet(&original)) {
            let (original, has_resumed) = (original.clone(), Arc::clone(&has_resumed));
            // The thread ends with the process: a read of a terminal cannot be given up.
            std::thread::spawn(move || serve(&original, &stop, &has_resumed));
        }
        Self { original: Some(original), has_resumed }
    }
}

/// Returns `true` if this process may use its terminal: the shell has not put it into the background.
#[cfg(unix)]
pub fn is_in_front() -> bool {
    use rustix::termios::tcgetpgrp;

    // Without a terminal to ask, nothing speaks against it.
    tcgetpgrp(std::io::stdout()).map_or(true, |group| group == rustix::process::getpgrp())
}

/// Returns terminal modes without an echo, in which each key is read at once. Ctrl+C stays a signal.
#[cfg(unix)]
fn quiet(original: &Termios) -> Termios {
    use rustix::termios::{LocalModes, SpecialCodeIndex};

    /// Control character in terminal modes that turns off the signal of a key.
    const POSIX_VDISABLE: u8 = 0;
    let mut quiet = original.clone();
    quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
    // Ctrl+Z is read as a key, because the terminal must be restored before the command stops.
    quiet.special_codes[SpecialCodeIndex::VSUSP] = POSIX_VDISABLE;
    quiet
}

/// Sets the modes of the terminal on standard input, and returns `true` if they are set.
#[cfg(unix)]
fn set(modes: &Termios) -> bool {
    use rustix::termios::{OptionalActions, tcsetattr};

    // Keys that were typed ahead stay for the shell.
    tcsetattr(std::io::stdin(), OptionalActions::Now, modes).is_ok()
}

/// Reads pressed keys until standard input ends, and handles `q` and Ctrl+Z.
#[cfg(unix)]
fn serve(original: &Termios, stop: &Sender<()>, has_resumed: &AtomicBool) {
    use std::io::Read;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    const CTRL_Z: u8 = 0x1A;
    let (input, mut key) = (std::io::stdin(), [0]);
    while input.lock().read(&mut key).is_ok_and(|count| count > 0) {
        match key {
            [b'q' | b'Q'] if stop.send(()).is_err() => return,
            [CTRL_Z] => {
                set(original);
                // All threads stop here, until the shell continues the command: in the background at first, maybe.
                let _ = kill_process(getpid(), Signal::TSTP); // a process may signal itself
                while !is_in_front() {
                    std::thread::sleep(Duration::from_millis(100));
                }
                set(&quiet(original));
                has_resumed.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

#[cfg(unix)]
impl Drop for Keys {
    fn drop(&mut self) {
        // In the background, the terminal is the shell's, and a change would stop the command.
        if let Some(original) = self.original.as_ref().filter(|_| is_in_front()) {
            set(original);
        }
    }
}

#[cfg(not(unix))]
impl Keys {
    /// Returns a value that reads no keys: on this system, only Ctrl+C ends a screen.
    pub fn read(_is_drawn: bool, _stop: Sender<()>) -> Self {
        Self::default()
    }
}

/// Returns `true`: this system has no background processes of a terminal.
#[cfg(not(unix))]
pub fn is_in_front() -> bool {
    true
}
