//! When the next collection is due, and whether there is one: until Ctrl+C, or so many times.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Sleeps between collections, on a grid that does not drift.
pub struct Pace {
    interval: Duration,
    next: Instant,
    /// Collections that are still to come after this one.
    left: Option<u64>,
    stop: Receiver<()>,
}

impl Pace {
    /// Begins now; after the first collection there are `more`, or as many as come until the user ends it. No interval
    /// is no waiting: nobody can ask for that but a test.
    pub fn new(interval: Duration, more: Option<u64>) -> anyhow::Result<Self> {
        let (sender, stop) = channel();
        if interval.is_zero() {
            return Ok(Self { interval, next: Instant::now(), left: more, stop });
        }
        ctrlc::set_handler(move || {
            let _ = sender.send(()); // fails only when nobody waits any more
        })?;
        Ok(Self { interval, next: Instant::now(), left: more, stop })
    }

    /// From now on waits so long between collections.
    pub fn every(&mut self, interval: Duration) {
        self.interval = interval;
        self.next = Instant::now();
    }

    /// Waits until the next collection is due; false if there is none.
    pub fn wait(&mut self) -> bool {
        if let Some(left) = &mut self.left {
            match left.checked_sub(1) {
                Some(less) => *left = less,
                None => return false,
            }
        }
        if self.interval.is_zero() {
            return true;
        }
        let now = Instant::now();
        while self.next <= now {
            // Collections that were missed, because this process did not run, are not made up for.
            let Some(next) = self.next.checked_add(self.interval) else { return false };
            self.next = next;
        }
        self.stop.recv_timeout(self.next.saturating_duration_since(now)) == Err(RecvTimeoutError::Timeout)
    }
}
