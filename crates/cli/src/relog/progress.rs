//! Progress of reading logs: a bar on a terminal, nothing elsewhere.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use perfset::log::Logs;

/// Progress bar that shows the share of the logs that has been read.
pub struct Progress {
    logs: Option<Logs>,
    begun_at: u64,
    /// Number of bytes of the logs to read; 0 if no progress bar is shown.
    total: u64,
    next: Instant,
    is_shown: bool,
}

impl Progress {
    const EVERY: Duration = Duration::from_millis(100);

    /// Creates the progress bar for `passes` passes over log files.
    pub fn new(logs: Option<&Logs>, files: &[PathBuf], passes: u64, is_wanted: bool) -> Self {
        let len = |file: &PathBuf| std::fs::metadata(file).map_or(0, |file| file.len());
        let total = files.iter().map(len).sum::<u64>().saturating_mul(passes);
        let mut progress = Self {
            logs: logs.cloned(),
            begun_at: 0,
            total: if is_wanted && io::stderr().is_terminal() { total } else { 0 },
            next: Instant::now(),
            is_shown: false,
        };
        // Opening the logs has read some bytes already, which are no progress.
        progress.begun_at = progress.read();
        progress
    }

    fn read(&self) -> u64 {
        self.logs.as_ref().map_or(0, Logs::bytes_read)
    }

    /// Shows the progress bar, unless it was updated less than 100 ms ago.
    pub fn show(&mut self) {
        const WIDTH: u64 = 30;
        if self.total == 0 || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now().checked_add(Self::EVERY).unwrap_or(self.next);
        self.is_shown = true;
        let share = |of: u64| {
            let done = self.read().saturating_sub(self.begun_at).min(self.total);
            done.saturating_mul(of).checked_div(self.total).unwrap_or(0)
        };
        let full = usize::try_from(share(WIDTH)).unwrap_or(0);
        let bar: String = "#".repeat(full);
        // The bar is optional, so a failure of standard error is ignored.
        let _ = write!(io::stderr(), "\r[{bar:30}] {:3} %", share(100));
    }

    /// Removes the progress bar from the terminal.
    pub fn finish(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "\r\x1b[K"); // as above
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
