//! Instances of a counterset, each of which exists as long as it is held.

use std::ops::Deref;
use std::sync::Arc;

use super::definition::{Cells, Definition};
use super::publisher::Publisher;
use super::store::{InstanceRef, Store, alone};

/// Struct of counters that can be published. Implemented by `#[derive(Counterset)]`.
pub trait Counterset: Send + Sync + Sized + 'static {
    /// Returns the definition of the counterset that the struct publishes.
    fn definition() -> &'static Definition;

    /// Creates the struct from the values of an instance in `cells`, field by field.
    #[doc(hidden)]
    fn attach(cells: &mut Cells) -> Self;

    /// Returns the instance of the counterset with that name, published by this process with its process id: a new
    /// one, or the existing one. The name ends at the first NUL, and is truncated to 1023 UTF-16 units.
    fn instance(name: &str) -> PublishedInstance<Self> {
        Publisher::current().instance(name)
    }

    /// Returns the only instance of a single-instance counterset.
    fn single() -> PublishedInstance<Self> {
        Self::instance("")
    }
}

/// Handle to the counters of one published instance. The instance exists until its last clone is dropped.
pub struct PublishedInstance<T: Counterset>(Arc<InstanceGuard<T>>);

pub(super) struct InstanceGuard<T> {
    counters: T,
    /// Published data of the program, and the place of the instance there; `None` if the instance is not published.
    published: Option<(Arc<Store>, InstanceRef)>,
}

impl<T: Counterset> PublishedInstance<T> {
    pub(super) fn new(store: Option<&Arc<Store>>, name: &str, id: u32) -> Self {
        // PERF_MAX_INSTANCE_NAME is 1,024, with the NUL.
        const MOST: usize = 1023;
        let name: Vec<u16> = name.encode_utf16().take_while(|unit| *unit != 0).take(MOST).collect();
        let definition = T::definition();
        let make = |slot, place: Option<InstanceRef>| {
            let counters = T::attach(&mut Cells::new(slot));
            Arc::new(InstanceGuard { counters, published: store.cloned().zip(place) })
        };
        Self(match store {
            Some(store) => store.instance((&definition.counterset, definition.stripes), &name, id, make),
            None => make(alone(definition.counterset.counters.len()), None),
        })
    }
}

impl<T: Counterset> Deref for PublishedInstance<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0.counters
    }
}

impl<T: Counterset> Clone for PublishedInstance<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Counterset + std::fmt::Debug> std::fmt::Debug for PublishedInstance<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Instance").field(&self.0.counters).finish()
    }
}

impl<T> Drop for InstanceGuard<T> {
    fn drop(&mut self) {
        if let Some((store, place)) = &self.published {
            store.delete(place);
        }
    }
}
