//! State of one collection, and results that are computed at most once in it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use once_cell::race::OnceBox;
use perfset_core::NoValue;

/// State of one collection, which is one reading of all requested counters.
///
/// **Shape**: a number that no other collection has, a time, and a count of the bytes read so far. All countersets that
/// one query collects together have the same number, so sources that several of them use can be read once:
/// [`CollectionCache`] does that.
#[derive(Debug)]
pub struct Collection {
    number: u64,
    elapsed_ns: u64,
    bytes_read: usize,
}

impl Collection {
    /// Creates a collection with its number, beginning at `elapsed_ns` on a monotonic clock.
    #[must_use]
    pub fn new(number: u64, elapsed_ns: u64) -> Self {
        Self { number, elapsed_ns, bytes_read: 0 }
    }

    /// Creates a collection for an enumeration of instances. Its number counts down from the maximum, and those of
    /// other collections count up, so neither kind reuses the data of the other.
    #[must_use]
    pub fn enumeration(elapsed_ns: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        // Only the numbers must be unique; no other memory is ordered by them.
        Self::new(NEXT.fetch_sub(1, Relaxed), elapsed_ns)
    }

    /// Returns the number of the collection; never 0.
    #[must_use]
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the time in ns at which this collection began to use the source, on a monotonic clock that begins at
    /// an arbitrary time.
    #[must_use]
    #[inline]
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Returns `true` if a periodic check of a source is due: `interval_ns` after `checked_at_ns`, or at first. If so,
    /// sets `checked_at_ns` to the time of this collection.
    pub fn is_due(&self, checked_at_ns: &mut Option<u64>, interval_ns: u64) -> bool {
        let due = checked_at_ns.is_none_or(|at| self.elapsed_ns.saturating_sub(at) >= interval_ns);
        if due {
            *checked_at_ns = Some(self.elapsed_ns);
        }
        due
    }

    /// Adds to the number of bytes that this collection read from the source, which the engine's own counters report.
    #[inline]
    pub fn count_bytes_read(&mut self, bytes: usize) {
        self.bytes_read = self.bytes_read.saturating_add(bytes);
    }

    /// Returns the number of bytes that this collection has read from the source so far.
    #[must_use]
    #[inline]
    pub fn bytes_read(&self) -> usize {
        self.bytes_read
    }
}

/// Number and start time of a collection, the same for all its countersets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectionStart {
    pub number: u64,
    /// Start of the collection in terms of PerfTime100NSec.
    pub time_100ns: u64,
}

/// Returns the next number that identifies a block layout or a collection of this process; no number is returned
/// twice.
pub(crate) fn next_number() -> u64 {
    // One sequence for the process, because a snapshot can be passed from one query to another. Only
    // uniqueness matters, so `Relaxed` is enough.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Relaxed)
}

/// Returns the time in ns since this process first called this function: the default clock of providers' collections.
#[must_use]
pub fn elapsed_ns() -> u64 {
    // Without a lock, which a forked process might wait for. It goes on with the time of its parent.
    static START: OnceBox<Instant> = OnceBox::new();
    u64::try_from(START.get_or_init(|| Box::new(Instant::now())).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Cached result of a source, from the last collection that requested it.
///
/// A source that several counters or countersets use is read once per collection. An error is stored like a value: a
/// file that cannot be read is not read again for each counter.
///
/// ```
/// use perfset::provider::{Collection, CollectionCache};
///
/// let mut load = CollectionCache::default();
/// let mut readings = 0;
/// for number in [1, 1, 2] {
///     let mut collection = Collection::new(number, 0);
///     let value = load.get(&mut collection, |collection| {
///         readings += 1;
///         collection.count_bytes_read(27);
///         Ok(0.25)
///     });
///     assert_eq!(value, Ok(&0.25));
/// }
/// assert_eq!(readings, 2);
/// ```
#[derive(Debug)]
pub struct CollectionCache<T> {
    collection: u64,
    value: Result<T, NoValue>,
}

impl<T> Default for CollectionCache<T> {
    fn default() -> Self {
        // No collection has the number 0.
        Self { collection: 0, value: Err(NoValue::NotGiven) }
    }
}

impl<T> CollectionCache<T> {
    /// Returns the result of a source in this collection, which reads the source only once. Only the first call in a
    /// collection calls `read`.
    ///
    /// # Errors
    /// The reason that `read` returned in this collection.
    #[inline]
    pub fn get(
        &mut self,
        collection: &mut Collection,
        read: impl FnOnce(&mut Collection) -> Result<T, NoValue>,
    ) -> Result<&T, NoValue> {
        if !self.is_of(collection) {
            *self = Self { collection: collection.number, value: read(collection) };
        }
        self.last()
    }

    /// Returns `true` if the cached result is from this collection.
    #[must_use]
    #[inline]
    pub fn is_of(&self, collection: &Collection) -> bool {
        self.collection == collection.number
    }

    /// Returns the cached result, from whichever collection it is.
    ///
    /// # Errors
    /// The reason that the last reading returned; [`NoValue::NotGiven`] if there was none.
    #[inline]
    pub fn last(&self) -> Result<&T, NoValue> {
        self.value.as_ref().map_err(NoValue::clone)
    }
}
