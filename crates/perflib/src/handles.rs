//! Handles for C programs: numbers that name a value in a table, never addresses of this library.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Number of bits in a handle's lower half, which is the index in the table; the upper half is its generation.
const HALF: u32 = usize::BITS / 2;
const LOWER: usize = usize::MAX >> HALF;

/// Table of the values that C programs' handles name. A closed or made-up handle names nothing. Its number is not
/// used again: on a 64-bit machine not within 4 billion handles.
///
/// Calls on one handle run one after the other; those on different handles do not wait for each other here.
#[derive(Debug)]
pub struct HandleTable<T> {
    slots: RwLock<HandleSlots<T>>,
    most: usize,
}

#[derive(Debug)]
struct HandleSlots<T> {
    slots: Vec<HandleSlot<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct HandleSlot<T> {
    handle: usize,
    /// Value that the handle names. The inner option is `None` if the handle was closed while another thread waited
    /// for the value.
    value: Option<Arc<Mutex<Option<T>>>>,
}

impl<T> HandleTable<T> {
    /// Creates a table of handles that contains at most `most` values at once; the limit is 65,536.
    pub const fn new(most: usize) -> Self {
        Self { slots: RwLock::new(HandleSlots { slots: Vec::new(), free: Vec::new() }), most }
    }

    /// Adds a value to the table and returns its handle. `None` if the table is full.
    pub fn open(&self, value: T) -> Option<usize> {
        let mut table = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let at = match table.free.pop() {
            Some(at) => at,
            None if table.slots.len() < self.most => table.slots.len(),
            None => return None,
        };
        let handle = next_generation().wrapping_shl(HALF) | at;
        let slot = HandleSlot { handle, value: Some(Arc::new(Mutex::new(Some(value)))) };
        match table.slots.get_mut(at) {
            Some(old) => *old = slot,
            None => table.slots.push(slot),
        }
        Some(handle)
    }

    /// Calls a function with the value that a handle names. `None` if the handle names nothing.
    pub fn with<R>(&self, handle: usize, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        let value = {
            let table = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            let slot = table.slots.get(handle & LOWER)?;
            if slot.handle != handle {
                return None;
            }
            Arc::clone(slot.value.as_ref()?)
        };
        lock(&value).as_mut().map(act)
    }

    /// Closes a handle and returns the value that it named, once no other thread uses the value. `None` if the handle
    /// names nothing.
    pub fn close(&self, handle: usize) -> Option<T> {
        let value = {
            let mut table = self.slots.write().unwrap_or_else(PoisonError::into_inner);
            let at = handle & LOWER;
            let slot = table.slots.get_mut(at)?;
            if slot.handle != handle {
                return None;
            }
            let value = slot.value.take()?;
            table.free.push(at);
            value
        };
        lock(&value).take()
    }
}

/// Locks the value that a handle names. A panic under the lock was caught at the boundary, and left the value
/// consistent.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the next generation number for a handle. Counting continues in forked processes: a handle of the parent is
/// never one of the child's.
fn next_generation() -> usize {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    loop {
        let generation = LAST.fetch_add(1, Relaxed).wrapping_add(1) & LOWER;
        if generation != 0 {
            return generation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_one_value_until_it_is_closed() {
        let table = HandleTable::new(2);
        let (a, b) = (table.open('a').unwrap(), table.open('b').unwrap());
        assert!(a != 0 && b != 0 && a != b);
        assert_eq!(table.open('c'), None, "the table is full");
        assert_eq!(table.with(a, |value| std::mem::replace(value, 'x')), Some('a'));
        assert_eq!(table.close(a), Some('x'));
        assert_eq!((table.close(a), table.with(a, |_| ())), (None, None), "closed");
        let c = table.open('c').unwrap();
        assert_eq!(c & LOWER, a & LOWER, "the place is taken again");
        assert_ne!(c, a);
        assert_eq!((table.with(a, |_| ()), table.with(c, |value| *value)), (None, Some('c')));
        for made_up in [0, 1, usize::MAX, a ^ 1, b.wrapping_add(1), 1 << HALF, c | 1 << (HALF - 1)] {
            assert_eq!(table.close(made_up), None, "{made_up:x}");
        }
        assert_eq!((table.close(b), table.close(c)), (Some('b'), Some('c')));
    }

    #[test]
    fn closing_waits_for_a_call_and_the_next_call_finds_nothing() {
        let table = Arc::new(HandleTable::new(1));
        let handle = table.open(0_u32).unwrap();
        let (entered, inside) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel();
        let user = {
            let table = Arc::clone(&table);
            std::thread::spawn(move || {
                table.with(handle, |value| {
                    entered.send(()).unwrap();
                    wait.recv().unwrap();
                    *value += 1;
                })
            })
        };
        inside.recv().unwrap();
        let closer = {
            let table = Arc::clone(&table);
            std::thread::spawn(move || table.close(handle))
        };
        go.send(()).unwrap();
        assert_eq!(user.join().unwrap(), Some(()));
        assert_eq!(closer.join().unwrap(), Some(1), "what the call did is in it");
        assert_eq!(table.with(handle, |_| ()), None);
    }
}
