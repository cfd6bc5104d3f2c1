//! Threads that wait for slow sources: at most four in a process, however many sources hang.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::per_process::PerProcess;

/// Maximum number of waiting threads in the pool of a process.
pub const MOST_THREADS: usize = 4;
/// Maximum number of waiting threads that work for one kind of source: if all mounts hang, one thread remains for
/// devices, and the reverse.
pub const MOST_OF_A_KIND: usize = 3;
/// Time after which a waiting thread without work ends.
const IDLE: Duration = Duration::from_secs(10);

/// Kind of slow source for which a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Slow device: firmware, sensors, drivers.
    Device,
    /// Mounted file system, which might hang.
    Mount,
}

type Job = Box<dyn FnOnce() + Send>;

/// Pool of the waiting threads of one process, with their jobs.
#[derive(Default)]
struct Pool {
    state: Mutex<PoolState>,
    is_wanted: Condvar,
}

#[derive(Default)]
struct PoolState {
    jobs: VecDeque<(Kind, Job)>,
    threads: usize,
    /// Number of threads in the pool that have no job.
    idle: usize,
    /// Number of running jobs in the pool, by kind of source.
    running: [usize; 2],
}

/// Runs a job that waits for a slow source on a thread of the pool, as soon as one is free.
///
/// The job must be one that no other job needs: if all threads hang, it does not begin.
pub fn run(kind: Kind, job: impl FnOnce() + Send + 'static) {
    /// Pool of waiting threads of this process: a forked process does not have the threads of its parent's pool.
    static POOL: PerProcess<Arc<Pool>> = PerProcess::new();
    POOL.get(Arc::default).run(kind, Box::new(job));
}

impl Pool {
    fn run(self: &Arc<Self>, kind: Kind, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back((kind, job));
        // Notified under the lock, so a thread that is about to wait cannot miss it.
        if state.idle > 0 {
            self.is_wanted.notify_one();
        }
        // A thread that was just woken is still idle: one more does no harm.
        if state.idle < state.jobs.len() && state.threads < MOST_THREADS {
            let pool = Arc::clone(self);
            // Without a thread the job waits for one of the others; if there is none, its source is late.
            let started = thread::Builder::new().name("perfset-wait".into()).spawn(move || pool.work());
            state.threads = state.threads.saturating_add(usize::from(started.is_ok()));
        }
    }

    /// Runs jobs of the pool until no new job has come for some time.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some((kind, job)) = state.next() {
                // The job may never return, and other threads need the lock.
                drop(state);
                // The source has no response then; the thread continues.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                state.ran(kind);
                continue;
            }
            state.idle = state.idle.saturating_add(1);
            let waited = self.is_wanted.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            state.idle = state.idle.saturating_sub(1);
            // A job may have arrived at the moment of the timeout.
            if waited.1.timed_out() && !state.has_next() {
                state.threads = state.threads.saturating_sub(1);
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // Nothing panics while it is locked; if that is wrong, the numbers in it are still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolState {
    /// Returns the position of the first waiting job whose kind of source does not occupy its maximum number of
    /// threads.
    fn position(&self) -> Option<usize> {
        self.jobs.iter().position(|(kind, _)| self.running(*kind) < MOST_OF_A_KIND)
    }

    fn has_next(&self) -> bool {
        self.position().is_some()
    }

    /// Takes the next job from the pool's queue.
    fn next(&mut self) -> Option<(Kind, Job)> {
        let (kind, job) = self.jobs.remove(self.position()?)?;
        if let Some(running) = self.running.get_mut(kind.place()) {
            *running = running.saturating_add(1);
        }
        Some((kind, job))
    }

    fn ran(&mut self, kind: Kind) {
        if let Some(running) = self.running.get_mut(kind.place()) {
            *running = running.saturating_sub(1);
        }
    }

    fn running(&self, kind: Kind) -> usize {
        self.running.get(kind.place()).copied().unwrap_or(0)
    }
}

impl Kind {
    fn place(self) -> usize {
        match self {
            Self::Device => 0,
            Self::Mount => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Starts a job in the pool that reports its start and then hangs until the returned sender is dropped.
    fn hang(pool: &Arc<Pool>, kind: Kind, began: &Sender<Kind>) -> Sender<()> {
        let (go_on, goes_on) = channel::<()>();
        let began = began.clone();
        pool.run(
            kind,
            Box::new(move || {
                let _ = began.send(kind);
                let _ = goes_on.recv();
            }),
        );
        go_on
    }

    fn heard(hears: &Receiver<Kind>, count: usize) -> Vec<Kind> {
        (0..count).map(|_| hears.recv_timeout(LONG).expect("a job begins")).collect()
    }

    #[test]
    fn four_threads_whatever_hangs() {
        let pool = Arc::<Pool>::default();
        let (began, begins) = channel();
        let mounts: Vec<_> = (0..50).map(|_| hang(&pool, Kind::Mount, &began)).collect();
        assert_eq!(heard(&begins, 3), [Kind::Mount; 3]);
        let devices: Vec<_> = (0..50).map(|_| hang(&pool, Kind::Device, &began)).collect();
        assert_eq!(heard(&begins, 1), [Kind::Device], "mounts that hang leave a thread for devices");
        {
            let state = pool.lock();
            assert_eq!((state.threads, state.idle, state.running), (4, 0, [1, 3]));
            assert_eq!(state.jobs.len(), 96);
        }
        // All are done in the end, each once.
        drop((mounts, devices));
        assert_eq!(heard(&begins, 96).len(), 96);
        assert!(pool.lock().threads <= MOST_THREADS);
    }

    #[test]
    fn a_panic_is_one_jobs() {
        let pool = Arc::<Pool>::default();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for _ in 0..20 {
            pool.run(Kind::Device, Box::new(|| panic!("as told")));
        }
        let (began, begins) = channel();
        drop(hang(&pool, Kind::Device, &began));
        assert_eq!(heard(&begins, 1), [Kind::Device]);
        std::panic::set_hook(hook);
    }
}
