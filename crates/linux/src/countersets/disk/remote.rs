//! Values of file systems that may never respond, read by a thread that may block.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use perfset_core::{Mark, NoValue};
use perfset_engine::waiters::{self, Kind};

/// Value of a mounted file system, requested in another thread. It is never requested again before the last request
/// has ended.
#[derive(Debug)]
pub(super) struct Remote<T> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    is_answered: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// Time of the request to the file system that has no response yet.
    request_time: Option<Instant>,
    /// Last response of the file system, with the time of its request.
    answer: Option<(Instant, Result<T, NoValue>)>,
    /// Last value of the file system, with the time of its request.
    value: Option<(Instant, T)>,
}

impl<T> Clone for Remote<T> {
    /// Returns another handle to the same value of a file system.
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Default for Remote<T> {
    fn default() -> Self {
        let state = Mutex::new(State { request_time: None, answer: None, value: None });
        Self { shared: Arc::new(Shared { state, is_answered: Condvar::new() }) }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code panics while the state is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that ends a request to a file system when dropped, also if reading panicked.
struct Answering<T> {
    shared: Arc<Shared<T>>,
    request_time: Instant,
    answer: Option<Result<T, NoValue>>,
}

impl<T> Drop for Answering<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.request_time = None;
        state.answer = self.answer.take().map(|answer| (self.request_time, answer));
        self.shared.is_answered.notify_all();
    }
}

impl<T: Copy + Send + 'static> Remote<T> {
    /// Reads the file system's value in another thread, unless a request is in progress.
    pub(super) fn request(&self, read: impl FnOnce() -> Result<T, NoValue> + Send + 'static) {
        let now = Instant::now();
        let mut state = self.shared.lock();
        if state.request_time.is_some() {
            return;
        }
        state.request_time = Some(now);
        drop(state);
        let mut answering = Answering { shared: Arc::clone(&self.shared), request_time: now, answer: None };
        waiters::run(Kind::Mount, move || {
            answering.answer = Some(read());
            drop(answering);
        });
    }

    /// Returns the file system's value that was requested at `since` or later. Waits for the value until `until`,
    /// unless its request has been in progress for longer than the deadline. A late value is the previous one, marked
    /// with its age.
    pub(super) fn get(
        &self,
        since: Instant,
        until: Instant,
        deadline: Duration,
    ) -> Result<(T, Option<Mark>), NoValue> {
        let mut state = self.shared.lock();
        while let Some(asked) = state.request_time {
            // A request that was late once is waited for no longer: otherwise every collection would be late.
            let patience = asked.checked_add(deadline).map_or(until, |end| until.min(end));
            let left = patience.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.is_answered.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some((asked, Ok(value))) = &state.answer {
            state.value = Some((*asked, *value));
        }
        match (&state.answer, &state.value) {
            (Some((asked, answer)), _) if *asked >= since => answer.clone().map(|value| (value, None)),
            (_, Some((asked, value))) => Ok((*value, Some(Mark::Stale(asked.elapsed())))),
            (_, None) => Err(NoValue::Late),
        }
    }

    /// Returns the time that a request to the file system has had no response, if that is longer than the deadline.
    pub(super) fn late_for(&self, deadline: Duration) -> Option<Duration> {
        let waited = self.shared.lock().request_time?.elapsed();
        (waited > deadline).then_some(waited)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn later() -> Instant {
        Instant::now() + LONG
    }

    #[test]
    fn a_late_value_is_the_previous_one() {
        let remote = Remote::default();
        let since = Instant::now();
        remote.request(|| Ok(7));
        assert_eq!(remote.get(since, later(), LONG), Ok((7, None)));
        let (go_on, goes_on) = channel::<()>();
        let since = Instant::now();
        remote.request(move || {
            let _ = goes_on.recv();
            Ok(11)
        });
        remote.request(|| Err(NoValue::NotGiven)); // it is being asked already
        let late = remote.get(since, since, LONG);
        assert!(matches!(late, Ok((7, Some(Mark::Stale(_))))), "{late:?}");
        // What is late is not waited for again, however long the collection could.
        let late = remote.get(since, later(), Duration::ZERO);
        assert!(matches!(late, Ok((7, Some(Mark::Stale(_))))), "{late:?}");
        assert!(remote.late_for(Duration::ZERO).is_some() && remote.late_for(LONG).is_none());
        drop(go_on);
        assert_eq!(remote.get(since, later(), LONG), Ok((11, None)), "asked once, and answered");
        assert_eq!(remote.late_for(Duration::ZERO), None);
        // A response from an earlier collection that was not requested again is stale.
        let old = remote.get(later(), since, LONG);
        assert!(matches!(old, Ok((11, Some(Mark::Stale(_))))), "{old:?}");
    }

    #[test]
    fn without_a_previous_value_it_is_late() {
        let remote = Remote::<u64>::default();
        let since = Instant::now();
        let (go_on, goes_on) = channel::<()>();
        remote.request(move || {
            let _ = goes_on.recv();
            Err(NoValue::NotGiven)
        });
        assert_eq!(remote.get(since, since, LONG), Err(NoValue::Late));
        drop(go_on);
        assert_eq!(remote.get(since, later(), LONG), Err(NoValue::NotGiven));
    }

    #[test]
    fn a_panic_is_no_answer_and_not_the_end() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let remote = Remote::<u64>::default();
        let since = Instant::now();
        remote.request(|| panic!("as told"));
        assert_eq!(remote.get(since, later(), LONG), Err(NoValue::Late));
        std::panic::set_hook(hook);
        remote.request(|| Ok(5));
        assert_eq!(remote.get(since, later(), LONG), Ok((5, None)));
    }
}
