//! Countersets with one instance.

use std::fmt::Debug;
use std::sync::Arc;

use perfset_core::{CounterId, Counterset, Guid, InstanceId, NoValue};
use perfset_engine::{Catalogue, CollectRequest, Provider, RowWriter, Rows, SourceError};

use super::collection::Collection;
use super::value::{MarkedRaw, fill};
use crate::clock::elapsed_ns;

/// Values of the only instance of a counterset, with their sources.
pub(crate) trait ValueSource: Debug + Send {
    /// Counterset that the instance belongs to.
    const COUNTERSET: &'static Counterset;

    /// Returns the raw value of a counter. Reads only the files that the counter needs.
    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        let _ = (counter, pass);
        Err(NoValue::NotGiven)
    }

    /// Returns the same value with its mark, for a counterset that has marked values.
    fn marked_value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        self.value(counter, pass).map(MarkedRaw::from)
    }

    /// Fills the columns of these counters, for a counterset that has many similar ones.
    fn fill(&mut self, counters: &[CounterId], cells: &mut RowWriter<'_>, pass: &mut Collection) {
        for (column, counter) in counters.iter().enumerate() {
            fill(cells, column, self.marked_value(*counter, pass));
        }
    }
}

/// Provider of a counterset that has one instance, without a name.
#[derive(Debug)]
pub(crate) struct SingleInstanceProvider<V> {
    catalogue: Arc<Catalogue>,
    values: V,
}

impl<V: ValueSource> SingleInstanceProvider<V> {
    pub(crate) fn new(values: V) -> Self {
        let countersets = vec![Arc::new(V::COUNTERSET.clone())];
        let catalogue = Arc::new(Catalogue { origin: "Linux".into(), countersets });
        Self { catalogue, values }
    }
}

const NAME: &str = "";
const ID: InstanceId = InstanceId(0);

impl<V: ValueSource> Provider for SingleInstanceProvider<V> {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        known::<V>(*counterset)?;
        rows.push(NAME, ID, None);
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        known::<V>(want.counterset.guid)?;
        let mut pass = Collection::new(want.collection, elapsed_ns());
        if want.wants(NAME, ID) {
            self.values.fill(want.counters, &mut rows.push(NAME, ID, None), &mut pass);
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }
}

fn known<V: ValueSource>(counterset: Guid) -> Result<(), SourceError> {
    if counterset == V::COUNTERSET.guid { Ok(()) } else { Err(SourceError::UnknownCounterset(counterset)) }
}
