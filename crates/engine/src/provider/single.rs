//! Providers of countersets with one instance.

use std::fmt::Debug;
use std::sync::Arc;

use perfset_core::{CounterId, Counterset, Guid, InstanceId, NoValue, Text};

use super::collection::{Collection, elapsed_ns};
use super::value::{MarkedRaw, fill};
use super::{Catalogue, CollectRequest, Provider, check_counterset};
use crate::error::SourceError;
use crate::rows::{RowWriter, Rows};

/// Source of the values of a counterset's only instance.
///
/// One of [`value`](Self::value), [`marked_value`](Self::marked_value) and [`fill`](Self::fill) must be implemented;
/// the others have defaults.
pub trait ValueSource: Debug + Send {
    /// Returns the counterset to which the only instance belongs. [`SingleInstanceProvider::new`] calls this once.
    fn counterset(&self) -> Counterset;

    /// Returns the raw value of a counter of the only instance, in the unit that the counter's type requires. Reads
    /// only the sources that the counter needs.
    ///
    /// # Errors
    /// The reason for having no value. It affects only this counter.
    fn value(&mut self, counter: CounterId, collection: &mut Collection) -> Result<u64, NoValue> {
        let _ = (counter, collection);
        Err(NoValue::NotGiven)
    }

    /// Returns the raw value of a counter with its mark, for a counterset that has marked values.
    ///
    /// # Errors
    /// The same errors as [`value`](Self::value).
    fn marked_value(
        &mut self,
        counter: CounterId,
        collection: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        self.value(counter, collection).map(MarkedRaw::from)
    }

    /// Fills the columns of these counters in the only row, for a counterset that has many similar counters.
    fn fill(&mut self, counters: &[CounterId], cells: &mut RowWriter<'_>, collection: &mut Collection) {
        for (column, counter) in counters.iter().enumerate() {
            fill(cells, column, self.marked_value(*counter, collection));
        }
    }
}

/// Provider of a counterset that has one instance, without a name.
///
/// ```
/// use perfset::provider::{Collection, SingleInstanceProvider, ValueSource};
/// use perfset::{CounterId, Counterset, NoValue};
///
/// /// Number of processors.
/// #[derive(Debug)]
/// struct Processors(Counterset);
///
/// impl ValueSource for Processors {
///     fn counterset(&self) -> Counterset {
///         self.0.clone()
///     }
///
///     fn value(&mut self, _: CounterId, _: &mut Collection) -> Result<u64, NoValue> {
///         let count = std::thread::available_parallelism();
///         count.map(|count| u64::try_from(count.get()).unwrap_or(u64::MAX))
///             .map_err(|error| NoValue::Failed(error.to_string().into()))
///     }
/// }
///
/// # let counterset = perfset::catalogue::perfset_engine::COUNTERSET.clone();
/// let machine = perfset::local();
/// machine.register(Box::new(SingleInstanceProvider::new(Processors(counterset))));
/// ```
#[derive(Debug)]
pub struct SingleInstanceProvider<V> {
    catalogue: Arc<Catalogue>,
    counterset: Guid,
    values: V,
    elapsed_ns: fn() -> u64,
}

impl<V: ValueSource> SingleInstanceProvider<V> {
    /// Creates a provider for the values of a counterset's only instance. Their origin is the name of the counterset's
    /// provider.
    #[must_use]
    pub fn new(values: V) -> Self {
        let counterset = values.counterset();
        let guid = counterset.guid;
        let catalogue = Arc::new(Catalogue::of_one(counterset));
        Self { catalogue, counterset: guid, values, elapsed_ns }
    }

    /// Sets the origin of the counterset's values, a text for users: an operating system, a program.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<Text>) -> Self {
        Arc::make_mut(&mut self.catalogue).origin = origin.into();
        self
    }

    /// Sets the monotonic clock from which [`Collection::elapsed_ns`] is read.
    #[must_use]
    pub fn clock(self, elapsed_ns: fn() -> u64) -> Self {
        Self { elapsed_ns, ..self }
    }

    /// Returns the source of the values, for tests that change it.
    #[must_use]
    pub fn source_mut(&mut self) -> &mut V {
        &mut self.values
    }
}

const NAME: &str = "";
const ID: InstanceId = InstanceId(0);

impl<V: ValueSource> Provider for SingleInstanceProvider<V> {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        check_counterset(counterset, &self.counterset)?;
        rows.push(NAME, ID, None);
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        check_counterset(&want.counterset.guid, &self.counterset)?;
        let mut collection = Collection::new(want.collection, (self.elapsed_ns)());
        if want.wants(NAME, ID) {
            self.values.fill(want.counters, &mut rows.push(NAME, ID, None), &mut collection);
        }
        rows.count_bytes_read(collection.bytes_read());
        Ok(())
    }
}
