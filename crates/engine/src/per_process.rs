//! Values of which each process creates its own, forked processes included.

use once_cell::race::OnceBox;

/// Value of which each process has its own, created without a lock at its first use.
///
/// For statics in code that a forked process runs, too. The cells of the standard library are locked while a thread
/// initializes them. A process forked at that moment does not have the thread, and waits for it for ever. The same is
/// true for every lock inside the value, so a forked process gets a value of its own.
#[derive(Debug)]
pub struct PerProcess<T> {
    first: OnceBox<ProcessValue<T>>,
}

/// Value of one process, linked to the value of a process that was forked from it.
#[derive(Debug)]
struct ProcessValue<T> {
    process: u32,
    value: T,
    of_child: OnceBox<ProcessValue<T>>,
}

impl<T> PerProcess<T> {
    /// Creates a cell in which no process has a value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { first: OnceBox::new() }
    }

    /// Returns the value of this process. If there is none yet, `create` creates it. Threads that come at the same time
    /// may each call `create`; all get the same value, and the others are dropped.
    pub fn get(&self, create: impl Fn() -> T) -> &T {
        // The id shows a fork, without a fork handler.
        self.of(std::process::id(), create)
    }

    fn of(&self, process: u32, create: impl Fn() -> T) -> &T {
        let new = || Box::new(ProcessValue { process, value: create(), of_child: OnceBox::new() });
        let mut node = self.first.get_or_init(new);
        // A loop, because a forked process can fork as well. A process before may have left its value here.
        while node.process != process {
            node = node.of_child.get_or_init(new);
        }
        &node.value
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn each_process_has_one_value() {
        let (cell, next) = (PerProcess::new(), AtomicU32::new(0));
        let create = || next.fetch_add(1, Relaxed);
        for _ in 0..3 {
            assert_eq!(*cell.of(10, create), 0);
        }
        assert_eq!(*cell.of(20, create), 1, "a child's");
        assert_eq!(*cell.of(30, create), 2, "a child's child's");
        assert_eq!((*cell.of(30, create), *cell.of(20, create), *cell.of(10, create)), (2, 1, 0));
    }

    #[test]
    fn threads_share_one_value() {
        let cell = PerProcess::new();
        let values = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|at| {
                    scope.spawn({
                        let cell = &cell;
                        move || *cell.get(|| at)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    }

    /// A thread that is initializing the value delays no other: in a forked process it would never end.
    #[test]
    fn unfinished_initialization_blocks_nobody() {
        let cell = PerProcess::new();
        let ((begins, began), (goes_on, go_on)) = (channel(), channel());
        std::thread::scope(|scope| {
            let cell = &cell;
            let slow = scope.spawn(move || {
                *cell.get(|| {
                    begins.send(()).unwrap();
                    go_on.recv().unwrap();
                    1
                })
            });
            began.recv().unwrap();
            assert_eq!(*cell.get(|| 2), 2);
            goes_on.send(()).unwrap();
            assert_eq!(slow.join().unwrap(), 2);
        });
    }
}
