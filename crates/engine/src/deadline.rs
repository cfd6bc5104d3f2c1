//! Deadline of collections: the time limit for waiting for other programs, devices and file systems.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time that one collection waits for other programs, devices and file systems, shared by all providers of a
/// machine.
///
/// Others are publishers, firmware, drivers and mounted file systems. All requests start together at the beginning of
/// a collection, and [`Provider::begin`](crate::Provider::begin) passes the common end of waiting. Files are read
/// without a limit.
///
/// Outside collections, requests come one at a time: instances are listed, entries are added. Their waits share a
/// budget of one deadline, of which each wait may use half. The budget is refilled at a tenth of the time that passes,
/// and waits of less than a hundredth of the deadline are free. So sources that hang delay any number of such calls by
/// about one deadline together.
///
/// Cloning gives another handle to the same budget.
#[derive(Clone, Debug)]
pub struct Deadline {
    length: Duration,
    budget: Arc<Mutex<Budget>>,
}

/// Time that is left for waiting for slow sources outside collections.
#[derive(Debug)]
struct Budget {
    left: Duration,
    refilled: Instant,
}

/// Wait for a slow source outside a collection; its time is taken from the budget when the `Wait` is dropped.
#[derive(Debug)]
pub struct Wait {
    deadline: Deadline,
    began: Instant,
    until: Instant,
}

impl Deadline {
    /// Default deadline, of a machine for which no other is set.
    pub const DEFAULT: Duration = Duration::from_millis(100);
    /// Maximum length of a deadline: longer deadlines are shortened to this length.
    pub const MOST: Duration = Duration::from_secs(86_400);
    /// Divisor for waits without cost: a wait of up to a hundredth of the deadline uses no budget.
    const FREE_PART: u32 = 100;
    /// Divisor for the refill of the budget: a tenth of the passing time is added.
    const REFILL_PART: u32 = 10;

    /// Returns a deadline of that length, with a full budget.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        let length = length.min(Self::MOST);
        let budget = Budget { left: length, refilled: Instant::now() };
        Self { length, budget: Arc::new(Mutex::new(budget)) }
    }

    /// Returns the maximum time that one collection waits.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Begins a wait for a slow source outside a collection.
    #[must_use]
    pub fn wait(&self) -> Wait {
        let began = Instant::now();
        let left = self.refill(began).left;
        // Half of what is left, so that several sources that hang cannot use up the budget at the first of
        // them.
        let most = part(left, 2).max(self.free());
        let until = began.checked_add(most).unwrap_or(began);
        Wait { deadline: self.clone(), began, until }
    }

    /// Returns the longest wait that uses no budget.
    fn free(&self) -> Duration {
        part(self.length, Self::FREE_PART)
    }

    fn refill(&self, now: Instant) -> MutexGuard<'_, Budget> {
        // A panic while it was locked left a valid budget: each field is written at once.
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(budget.refilled);
        budget.left = budget.left.saturating_add(part(passed, Self::REFILL_PART)).min(self.length);
        budget.refilled = now;
        budget
    }
}

fn part(of: Duration, parts: u32) -> Duration {
    of.checked_div(parts).unwrap_or_default()
}

impl Default for Deadline {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

impl Wait {
    /// Returns the time at which the wait for a slow source ends at the latest.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.until
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.began);
        let mut budget = self.deadline.refill(now);
        // Sources that respond promptly must not use up the budget, however often they are requested.
        if took > self.deadline.free() {
            budget.left = budget.left.saturating_sub(took);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time from the begin of a wait to its latest end.
    fn most(wait: &Wait) -> Duration {
        wait.until.saturating_duration_since(wait.began)
    }

    #[test]
    fn waits_outside_collections_share_one_deadline() {
        let length = Duration::from_secs(3600);
        let deadline = Deadline::new(length);
        let mut all = Duration::ZERO;
        for at in 0..200 {
            let mut wait = deadline.wait();
            let may = most(&wait);
            if at == 0 {
                assert_eq!(may, length / 2);
            }
            assert!(may >= length / 100, "a source that answers at once is always heard");
            // As if it had lasted until its end.
            wait.began -= may;
            all += may;
        }
        // 100 for the budget, and a hundredth for each of the others; the time that this test takes is refilled.
        assert!(all < length * 3 + Duration::from_secs(60), "{all:?}");
        drop(deadline.wait());
        assert!(deadline.budget.lock().unwrap().left < length / 50);
    }

    #[test]
    fn a_quick_answer_costs_nothing() {
        let deadline = Deadline::new(Duration::from_secs(3600));
        for _ in 0..1000 {
            drop(deadline.wait());
        }
        assert_eq!(most(&deadline.wait()), Duration::from_secs(1800));
    }

    #[test]
    fn the_budget_comes_back() {
        let length = Duration::from_secs(3600);
        let deadline = Deadline::new(length);
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        // A machine that was started a moment ago has no such times.
        let Some(past) = ago(600) else { return };
        *deadline.budget.lock().unwrap() = Budget { left: Duration::ZERO, refilled: past };
        let left = deadline.refill(Instant::now()).left;
        assert!(left >= Duration::from_secs(60) && left < Duration::from_secs(70), "{left:?}");
    }

    #[test]
    fn no_deadline_is_too_long_or_too_short() {
        for length in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            let deadline = Deadline::new(length);
            drop(deadline.wait());
            assert!(deadline.wait().until >= deadline.wait().began - Duration::from_secs(1));
        }
    }
}
