//! Providers of countersets with several instances.

use std::fmt::Debug;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{Birth, CounterId, Counterset, Guid, Identity, InstanceId, NoValue, Text};

use super::{
    Catalogue, CollectRequest, Collection, MarkedRaw, Provider, check_counterset, elapsed_ns, fill, reading,
};

use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::rows::Rows;
use crate::total::{Member, Sum, Totals};

/// Source of a counterset's instances, with the sources of their values.
pub trait InstanceSource: Debug + Send {
    /// `true` if a row `_Total` follows the rows of the instances. Then no instance may have that [name](TOTAL_NAME),
    /// in upper or lower case: [`find`](Self::find) must rename such an instance, or users cannot select one of the
    /// two rows.
    const HAS_TOTAL: bool = false;

    /// `true` if a collection must wait for some values: then [`begin`](Self::begin) is called at the start of the
    /// collection.
    const WAITS: bool = false;

    /// Returns the counterset to which the instances belong. [`MultiInstanceProvider::new`] calls this once.
    fn counterset(&self) -> Counterset;

    /// Finds the present instances of the counterset. Reads only what their names need.
    ///
    /// # Errors
    /// If the instances cannot be listed; finding no instances is not an error.
    fn find(&mut self, collection: &mut Collection) -> Result<(), NoValue>;

    /// Returns the keys of the instances found last, in the order of their rows, without `_Total`.
    fn keys(&self) -> &[InstanceKey];

    /// Requests the values of these instances that a collection must wait for; `indexes` are indexes of
    /// [`keys`](Self::keys). Waiting ends at `until`. An implementation sends its requests and returns; it never waits.
    fn begin(&mut self, indexes: &[usize], counters: &[CounterId], until: Instant) {
        let _ = (indexes, counters, until);
    }

    /// Describes, for users, the sources of the instances that have not responded before the deadline.
    fn late(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns facts about the instance at index `at` of [`keys`](Self::keys) as text; see
    /// [`Source::facts`](crate::Source::facts). They are read for each call.
    fn facts(&mut self, at: usize, collection: &mut Collection) -> Vec<Fact> {
        let _ = (at, collection);
        Vec::new()
    }

    /// Returns the raw value of a counter of the instance at index `at` of [`keys`](Self::keys), in the unit that the
    /// counter's type requires. Reads only the sources that the counter needs.
    ///
    /// Called again for `_Total`: returns the same value within one collection.
    ///
    /// # Errors
    /// The reason for having no value. It affects only this counter of this instance.
    fn value(
        &mut self,
        at: usize,
        counter: CounterId,
        collection: &mut Collection,
    ) -> Result<MarkedRaw, NoValue>;

    /// Returns the rule by which a counter of `_Total` is computed: by default the sum over the rows.
    fn total_of(&self, counter: CounterId) -> Total {
        Total::Sum(counter)
    }

    /// Returns the raw value of a counter of `_Total` whose rule is [`Total::Own`].
    ///
    /// # Errors
    /// The same errors as [`value`](Self::value).
    fn total(&mut self, counter: CounterId, collection: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let _ = (counter, collection);
        Err(NoValue::NotGiven)
    }
}

/// Method by which the value of a counter in the row `_Total` is computed.
///
/// A sum of counts does not fall when an instance ends, and has a start of its own: the collection in which it was
/// first requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Total {
    /// Sum of this counter over the rows. A counter with the same meaning as another counter has the sum of that
    /// counter.
    Sum(CounterId),
    /// Sum of two counters over the rows, for a counter that is their sum in each row.
    SumOfTwo(CounterId, CounterId),
    /// Total that is no sum, such as a mean or a value that the source itself has, computed by
    /// [`InstanceSource::total`]. Two samples of this value are compared only if they have the same instances.
    Own,
}

impl Total {
    /// Returns the counters whose sums over the rows are added; `None` if the total is not a sum over rows.
    fn summed(self) -> Option<[Option<CounterId>; 2]> {
        match self {
            Self::Sum(counter) => Some([Some(counter), None]),
            Self::SumOfTwo(a, b) => Some([Some(a), Some(b)]),
            Self::Own => None,
        }
    }
}

/// Identity of an instance: name, id and birth.
///
/// Samples of two collections are compared only if name, id and birth agree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceKey {
    /// Name of the instance; other instances may have the same name.
    pub name: String,
    /// Id that distinguishes instances of the same name: a process id, an index.
    pub id: InstanceId,
    /// Start of the instance in 100 ns since 1601 UTC, if it can end and come back under the same name and id.
    pub birth: Birth,
}

impl InstanceKey {
    /// Creates the identity of an instance without a start time.
    #[must_use]
    pub fn new(name: impl Into<String>, id: InstanceId) -> Self {
        Self { name: name.into(), id, birth: None }
    }

    /// Sets the start time of the instance.
    #[must_use]
    pub fn birth(self, birth: Birth) -> Self {
        Self { birth, ..self }
    }

    /// Returns `true` if this key can be that of the given instance: id and name are equal, and so is the start if
    /// both are known.
    fn is_of(&self, instance: &Identity<'_>) -> bool {
        self.id == instance.instance_id
            && self.name.encode_utf16().eq(instance.instance.units())
            && (self.birth == instance.birth || self.birth.is_none() || instance.birth.is_none())
    }

    /// Returns the start time of the instance; if there is no start time, a hash of the instance name.
    ///
    /// It identifies a member of a total. An instance that has no start at first and one later has been replaced by
    /// another.
    fn birth_or_name(&self) -> Birth {
        self.birth.or(NonZeroU64::new(hash_of(&self.name) | 1 << 63))
    }
}

/// Returns the FNV-1a hash of an instance name.
fn hash_of(name: &str) -> u64 {
    name.bytes().fold(FNV_BASIS, fnv)
}

/// Instance name of the row that stands for all instances.
pub const TOTAL_NAME: &str = "_Total";
/// Instance id of the row that stands for all instances.
pub const TOTAL_ID: InstanceId = InstanceId(0xFFFF_FFFE);

/// Returns a birth that distinguishes sums over different sets of instances: a hash of their ids and births, the same
/// in every process and for every order of the instances. An instance that only its name identifies needs a birth made
/// of its name.
pub fn birth_of_total(covered: impl Iterator<Item = (u32, Birth)>) -> Birth {
    let sum = covered.fold(0_u64, |sum, (id, birth)| {
        let hash = id.to_le_bytes().into_iter().fold(FNV_BASIS, fnv);
        let hash = birth.map_or(hash, |birth| birth.get().to_le_bytes().into_iter().fold(hash, fnv));
        // A sum has no order. Two members that exchange their births must still change it, so each hash is mixed.
        sum.wrapping_add(mix(mix(hash)))
    });
    // 0 is no birth.
    NonZeroU64::new(sum.max(1))
}

const FNV_BASIS: u64 = 0xCBF2_9CE4_8422_2325;

/// Adds a byte to an FNV-1a hash.
fn fnv(hash: u64, byte: u8) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    (hash ^ u64::from(byte)).wrapping_mul(PRIME)
}

/// Spreads each bit of a hash over higher and lower bits.
fn mix(hash: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 divided by the golden ratio
    (hash ^ hash >> 32).wrapping_mul(ODD)
}

/// Provider of a counterset with several instances.
///
/// Counts in `_Total` have births of their own. For means and the like the birth of that row depends on the instances
/// that it covers. When an instance appears or disappears, they are not comparable, and have no rate for one
/// interval.
///
/// **New rows** contribute to counts only what they count from then on. Many a device had counted for long when it
/// got a row, for example a disk that has just been mounted.
#[derive(Debug)]
pub struct MultiInstanceProvider<I> {
    catalogue: Arc<Catalogue>,
    counterset: Guid,
    elapsed_ns: fn() -> u64,
    instances: I,
    totals: Totals<CounterId>,
    /// Counters whose values are added up over the rows in this collection.
    added: Vec<CounterId>,
    /// Collection that [`Provider::begin`] announced.
    collection: Option<Collection>,
    /// Indexes of the instances for which a collection waits. The memory is reused.
    indexes: Vec<usize>,
}

impl<I: InstanceSource> MultiInstanceProvider<I> {
    /// Creates a provider for the instances of a source. The origin of their values is the name of the counterset's
    /// provider.
    #[must_use]
    pub fn new(instances: I) -> Self {
        let counterset = instances.counterset();
        let guid = counterset.guid;
        Self {
            catalogue: Arc::new(Catalogue::of_one(counterset)),
            counterset: guid,
            elapsed_ns,
            instances,
            totals: Totals::default(),
            added: Vec::new(),
            collection: None,
            indexes: Vec::new(),
        }
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

    /// Returns the source of the instances, for tests that change it.
    #[must_use]
    pub fn source_mut(&mut self) -> &mut I {
        &mut self.instances
    }

    fn birth_of_total(&self) -> Birth {
        birth_of_total(self.instances.keys().iter().map(|key| (key.id.0, key.birth_or_name())))
    }

    fn find(&mut self, collection: &mut Collection) -> Result<(), SourceError> {
        Ok(self.instances.find(collection)?)
    }

    /// Adds up the counters of the row `_Total` that are sums over the instances.
    fn add_up(&mut self, want: &CollectRequest<'_>, collection: &mut Collection) {
        let Self { instances, totals, added, .. } = self;
        added.clear();
        totals.start(want.time_100ns);
        for counter in want.counters {
            let Some(of) = instances.total_of(*counter).summed() else { continue };
            for of in of.into_iter().flatten() {
                let Some(counter) = want.counterset.counter(of).filter(|_| !added.contains(&of)) else {
                    continue;
                };
                totals.want(of, Sum::for_counter(want.counterset, counter).wide());
                added.push(of);
            }
        }
        let mut at = 0_usize;
        while let Some(key) = instances.keys().get(at) {
            let member =
                Member { birth: key.birth_or_name(), id: key.id.0, name: hash_of(&key.name), parent: 0 };
            // Start time 0 is before the first collection, so what a new row has counted so far is not added.
            totals.row(member, Some(0));
            for (column, counter) in added.iter().enumerate() {
                let value = instances.value(at, *counter, collection);
                totals.add(column, reading(&value));
            }
            at = at.saturating_add(1);
        }
        totals.end();
    }

    /// Returns `true` if there is a row `_Total`, which requires at least one instance.
    fn has_total(&self) -> bool {
        I::HAS_TOTAL && !self.instances.keys().is_empty()
    }
}

impl<I: InstanceSource> Provider for MultiInstanceProvider<I> {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        check_counterset(counterset, &self.counterset)?;
        let mut collection = Collection::enumeration((self.elapsed_ns)());
        self.find(&mut collection)?;
        for key in self.instances.keys() {
            rows.push(&key.name, key.id, key.birth);
        }
        if self.has_total() {
            rows.push(TOTAL_NAME, TOTAL_ID, self.birth_of_total());
        }
        rows.count_bytes_read(collection.bytes_read());
        Ok(())
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        if !I::WAITS || want.counterset.guid != self.counterset {
            return;
        }
        let mut collection = Collection::new(want.collection, (self.elapsed_ns)());
        // An error is returned by the collection, which reads the same again.
        if self.find(&mut collection).is_ok() {
            // The total needs the values of all instances, even of those that have no row in the response.
            let wants_all = self.has_total() && want.wants(TOTAL_NAME, TOTAL_ID);
            let is_wanted = |(_, key): &(usize, &InstanceKey)| wants_all || want.wants(&key.name, key.id);
            let keys = self.instances.keys().iter().enumerate();
            let mut indexes = std::mem::take(&mut self.indexes);
            indexes.clear();
            indexes.extend(keys.filter(is_wanted).map(|(at, _)| at));
            self.instances.begin(&indexes, want.counters, until);
            self.indexes = indexes;
        }
        self.collection = Some(collection);
    }

    fn late(&mut self) -> Vec<Text> {
        self.instances.late()
    }

    fn facts(&mut self, instance: &Identity<'_>, _: FactOptions) -> Result<Vec<Fact>, SourceError> {
        check_counterset(&instance.counterset, &self.counterset)?;
        let mut collection = Collection::enumeration((self.elapsed_ns)());
        self.find(&mut collection)?;
        let at = self.instances.keys().iter().position(|key| key.is_of(instance));
        Ok(at.map(|at| self.instances.facts(at, &mut collection)).unwrap_or_default())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        check_counterset(&want.counterset.guid, &self.counterset)?;
        // An announced collection may never have been collected. Its time and its data must not get into this
        // one.
        let begun = self.collection.take().filter(|collection| collection.number() == want.collection);
        let mut collection = begun.unwrap_or_else(|| Collection::new(want.collection, (self.elapsed_ns)()));
        self.find(&mut collection)?;
        let mut at = 0_usize;
        while let Some(key) = self.instances.keys().get(at) {
            if want.wants(&key.name, key.id) {
                let mut cells = rows.push(&key.name, key.id, key.birth);
                for (column, counter) in want.counters.iter().enumerate() {
                    fill(&mut cells, column, self.instances.value(at, *counter, &mut collection));
                }
            }
            at = at.saturating_add(1);
        }
        if self.has_total() && want.wants(TOTAL_NAME, TOTAL_ID) {
            self.add_up(want, &mut collection);
            let mut cells = rows.push(TOTAL_NAME, TOTAL_ID, self.birth_of_total());
            let Self { instances, totals, added, .. } = self;
            for (column, counter) in want.counters.iter().enumerate() {
                match instances.total_of(*counter).summed() {
                    None => fill(&mut cells, column, instances.total(*counter, &mut collection)),
                    Some(of) => {
                        let place = |of: Option<CounterId>| added.iter().position(|added| Some(*added) == of);
                        let places = of.map(|of| place(of).unwrap_or(usize::MAX));
                        totals.fill(&places, &mut cells, column);
                    }
                }
            }
        }
        if I::WAITS && !self.instances.late().is_empty() {
            rows.set_late();
        }
        rows.count_bytes_read(collection.bytes_read());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
