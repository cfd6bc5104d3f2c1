//! Progress of long chores on standard error: the step, the number of steps, and the time so far.

use std::io::{self, IsTerminal, Write};
use std::process::Command;
use std::time::Instant;

/// Progress of a chore that has a known number of steps.
pub struct Progress {
    steps: usize,
    /// Number of the chore's current step; 0 before the first one.
    step: usize,
    began: Instant,
}

impl Progress {
    /// Starts the progress of a chore with this number of steps.
    pub fn new(steps: usize) -> Self {
        Self { steps, step: 0, began: Instant::now() }
    }

    /// Prints the line of the chore's step that begins now.
    pub fn step(&mut self, what: &str) {
        self.step += 1;
        // Progress is optional, so a failure of standard error is ignored.
        let _ =
            writeln!(io::stderr(), "{}", line(self.step, self.steps, self.began.elapsed().as_secs(), what));
    }
}

/// Returns the line that names a chore's step, with the time so far.
fn line(step: usize, steps: usize, seconds: u64, what: &str) -> String {
    format!("[{step}/{steps}] {}:{:02}  {what}", seconds / 60, seconds % 60)
}

/// Makes Cargo show the crates that it compiles on a terminal, and only errors elsewhere.
pub fn quiet_in_logs(cargo: &mut Command) -> &mut Command {
    if !io::stderr().is_terminal() {
        cargo.arg("--quiet");
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_step_and_time() {
        assert_eq!(line(2, 12, 75, "linking"), "[2/12] 1:15  linking");
        assert_eq!(line(1, 1, 0, "x"), "[1/1] 0:00  x");
    }
}
