//! Terminal of a check, whose screen is read as text.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use super::finished;
use crate::repository::target;

/// Terminal with 80 columns and 24 lines on its own tmux server, which ends when this value is dropped.
pub struct Terminal {
    server: String,
}

impl Terminal {
    /// Starts a command of this build on a terminal. This build's programs come first in its `PATH`.
    pub fn start(command: &str) -> Result<Self> {
        let path = format!("{}:{}", target().join("release").display(), std::env::var("PATH")?);
        Self::open(&format!("PATH={path} LC_ALL=C.UTF-8 exec {command}"))
    }

    /// Starts a shell command on a terminal.
    pub fn open(command: &str) -> Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let terminal = Self { server: format!("perfset-live-{}-{number}", std::process::id()) };
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", command])?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.server]).args(arguments).stdin(Stdio::null());
        finished(tmux.output().context("cannot start tmux (Debian package tmux)")?)
    }

    /// Presses keys on the terminal, one for each character.
    pub fn press(&self, keys: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", keys]).map(drop)
    }

    /// Returns the lines of the terminal's screen.
    pub fn screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Returns the lines of the terminal's screen with the sequences of their colours.
    pub fn coloured_screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-e", "-p"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]); // it ends with its last command
    }
}
