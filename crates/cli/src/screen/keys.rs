//! Keys while a screen is drawn: `q` ends it, and no other key spoils it.

use std::sync::mpsc::Sender;

/// Terminal whose keys are read without being shown; dropping it restores the terminal.
#[derive(Debug, Default)]
pub struct Keys {
    #[cfg(unix)]
    original: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl Keys {
    /// Reads the keys of standard input if it is this command's terminal. The key `q` sends to `stop`.
    pub fn read(stop: Sender<()>) -> Self {
        use std::io::Read;

        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

        let input = std::io::stdin();
        // In the background, a change of the terminal would stop the command.
        let is_in_front = tcgetpgrp(&input).is_ok_and(|group| group == rustix::process::getpgrp());
        let Some(original) = tcgetattr(&input).ok().filter(|_| is_in_front) else { return Self::default() };
        let mut quiet = original.clone();
        // Ctrl+C and Ctrl+Z stay signals.
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        if tcsetattr(&input, OptionalActions::Now, &quiet).is_err() {
            return Self::default();
        }
        // The thread ends with the process: a read of a terminal cannot be given up.
        std::thread::spawn(move || {
            let mut key = [0];
            while input.lock().read(&mut key).is_ok_and(|count| count > 0) {
                if matches!(key, [b'q' | b'Q']) && stop.send(()).is_err() {
                    return;
                }
            }
        });
        Self { original: Some(original) }
    }
}

#[cfg(unix)]
impl Drop for Keys {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        if let Some(original) = &self.original {
            // Without the terminal, there is nothing to restore.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, original);
        }
    }
}

#[cfg(not(unix))]
impl Keys {
    /// Reads no keys: only Ctrl+C ends a screen on other systems.
    pub fn read(_stop: Sender<()>) -> Self {
        Self::default()
    }
}
