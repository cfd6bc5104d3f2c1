//! Timer for collections: until Ctrl+C, or for a given number of times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Pause between two checks of a condition about whose change this process is not notified.
pub const BRIEFLY: Duration = Duration::from_millis(20);

/// `true` after Ctrl+C, as soon as the signal arrives: a collection that still runs delays only the end of the waits.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if the user has ended the command by Ctrl+C while a timer existed.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}

/// Timer that sleeps between collections, on a grid of times that does not drift.
pub struct Pace {
    interval: Duration,
    next: Instant,
    /// Number of collections after the current one; `None` is no limit.
    left: Option<u64>,
    /// Number of collections that were due while an earlier one was still running.
    skipped: u64,
    stop: Receiver<()>,
    stopper: Sender<()>,
}

impl Pace {
    /// Starts the timer of a command's collections. `more` collections follow the first one; `None` continues until
    /// the user ends it. A zero interval never waits; only tests can request it.
    pub fn new(interval: Duration, more: Option<u64>) -> anyhow::Result<Self> {
        let (stopper, stop) = channel();
        let sender = stopper.clone();
        // A process can set its handler once, and tests take samples many times.
        if interval.is_zero() {
            return Ok(Self { interval, next: Instant::now(), left: more, skipped: 0, stop, stopper });
        }
        ctrlc::set_handler(move || {
            IS_INTERRUPTED.store(true, Ordering::Relaxed);
            let _ = sender.send(()); // fails only when nobody waits any more
        })?;
        Ok(Self { interval, next: Instant::now(), left: more, skipped: 0, stop, stopper })
    }

    /// Returns a sender whose message ends the timer's current wait and all later ones, as Ctrl+C does.
    pub fn stopper(&self) -> Sender<()> {
        self.stopper.clone()
    }

    /// Sets the timer's interval between the following collections.
    pub fn every(&mut self, interval: Duration) {
        self.interval = interval;
        self.next = Instant::now();
    }

    /// Waits until the next collection is due, and returns `false` if there is none.
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
        let mut passed = 0_u64;
        while self.next <= now {
            // Collections missed while this process did not run are skipped.
            let Some(next) = self.next.checked_add(self.interval) else { return false };
            self.next = next;
            passed = passed.saturating_add(1);
        }
        self.skipped = self.skipped.saturating_add(passed.saturating_sub(1));
        // Waiting for the message and not sleeping: Ctrl+C ends even an interval of a day at once.
        self.stop.recv_timeout(self.next.saturating_duration_since(now)) == Err(RecvTimeoutError::Timeout)
    }

    /// Returns the number of collections that were skipped so far, because an earlier one took too long.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Waits for a few milliseconds, and returns `false` if the user ends the command.
    pub fn wait_briefly(&self) -> bool {
        self.stop.recv_timeout(BRIEFLY) == Err(RecvTimeoutError::Timeout)
    }
}
