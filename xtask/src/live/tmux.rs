//! Terminal whose screen a check reads.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::finished;
use crate::repository::target;

/// Terminal of 80 by 24 with a command, on a server of its own, which ends when this is dropped.
pub struct Terminal {
    server: String,
}

impl Terminal {
    /// Starts a command, which finds this build's programs first.
    pub fn start(command: &str) -> Result<Self> {
        let terminal = Self { server: format!("perfset-live-{}", std::process::id()) };
        let path = format!("{}:{}", target().join("release").display(), std::env::var("PATH")?);
        let command = format!("PATH={path} LC_ALL=C.UTF-8 exec {command}");
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &command])?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.server]).args(arguments).stdin(Stdio::null());
        finished(tmux.output().context("cannot start tmux (Debian package tmux)")?)
    }

    /// Presses keys: a character each.
    pub fn press(&self, keys: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", keys]).map(drop)
    }

    /// Returns the lines of the screen.
    pub fn screen(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]); // it ends with its last command
    }
}
