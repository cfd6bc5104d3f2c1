//! Countersets of several instances.

use std::fmt::Debug;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{Birth, CounterId, Counterset, Guid, InstanceId, NoValue, Text};
use perfset_engine::total::{Member, Sum};
use perfset_engine::{Catalogue, CollectRequest, Provider, Rows, SourceError, Totals};

use super::collection::Collection;
use super::value::{MarkedRaw, fill, reading};
use crate::clock::{elapsed_ns, time_100ns_at};

/// Instances of a counterset, with the sources of their values.
pub(crate) trait InstanceSource: Debug + Send {
    /// Counterset that the instances belong to.
    const COUNTERSET: &'static Counterset;

    /// `true` if a row `_Total` follows the instances.
    const HAS_TOTAL: bool;

    /// `true` if some values must be waited for: then [`begin`](Self::begin) is called at the start of a collection.
    const WAITS: bool = false;

    /// Finds the instances. Reads only what their names need.
    ///
    /// # Errors
    /// If the instances cannot be listed; finding no instances is not an error.
    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue>;

    /// Returns the keys of the instances found last, in the order of their rows, without `_Total`.
    fn keys(&self) -> &[InstanceKey];

    /// Requests the values of these instances that must be waited for. Waiting ends at `until`.
    fn begin(&mut self, places: &[usize], counters: &[CounterId], until: Instant) {
        let _ = (places, counters, until);
    }

    /// Describes the sources that have not responded in time, for users.
    fn late(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns the raw value of a counter of the instance at index `at`. Reads only the files that the counter needs.
    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue>;

    /// Returns the rule by which a counter of `_Total` is computed.
    fn total_of(&self, counter: CounterId) -> Total {
        Total::Rows([Some(counter), None])
    }

    /// Returns the raw value of a counter of `_Total` that is [`Total::Own`].
    fn total(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let _ = (counter, pass);
        Err(NoValue::NotGiven)
    }
}

/// Rule by which a counter of `_Total` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Total {
    /// Sum over the rows of one counter, or of two counters. A counter that is the sum of two others in each row is
    /// their sum in `_Total` too. A counter with the meaning of another one has its value.
    Rows([Option<CounterId>; 2]),
    /// Mean, or a value of the kernel, computed by [`InstanceSource::total`]. Two samples of it are compared only if
    /// they have the same instances.
    Own,
}

/// Identity of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstanceKey {
    pub(crate) name: String,
    pub(crate) id: InstanceId,
    pub(crate) birth: Birth,
}

/// Name of the row for all instances.
pub(crate) const TOTAL_NAME: &str = "_Total";
/// Id of the row for all instances.
pub(crate) const TOTAL_ID: InstanceId = InstanceId(0xFFFF_FFFE);

/// Returns a birth that distinguishes sums over different sets of instances, the same in every process: the FNV-1a
/// hash of their ids and births.
pub(crate) fn birth_of_total(covered: impl Iterator<Item = (u32, Birth)>) -> Birth {
    let hash = covered.fold(FNV_BASIS, |hash, (id, birth)| {
        let hash = id.to_le_bytes().into_iter().fold(hash, fnv);
        birth.map_or(hash, |birth| birth.get().to_le_bytes().into_iter().fold(hash, fnv))
    });
    // 0 is no birth.
    NonZeroU64::new(hash.max(1))
}

const FNV_BASIS: u64 = 0xCBF2_9CE4_8422_2325;

/// Adds a byte to an FNV-1a hash.
fn fnv(hash: u64, byte: u8) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    (hash ^ u64::from(byte)).wrapping_mul(PRIME)
}

/// Converts a reason to the error that the whole source is unavailable.
pub(crate) fn source_error(reason: NoValue) -> SourceError {
    match reason {
        NoValue::Denied(why) => SourceError::Denied(why.into()),
        other => SourceError::Failed(other.to_string().into()),
    }
}

/// Provider of a counterset of several instances.
///
/// Counts in `_Total` have births of their own. For means and the like the birth of that row depends on the instances
/// that it covers. When an instance appears or disappears, they are not comparable, and have no rate for one
/// interval.
///
/// **New rows** contribute to counts only what they count from then on. Many a device had counted for long when it
/// got a row, for example a disk that has just been mounted.
#[derive(Debug)]
pub(crate) struct MultiInstanceProvider<I> {
    catalogue: Arc<Catalogue>,
    instances: I,
    totals: Totals<CounterId>,
    /// Counters that are added up in this collection.
    added: Vec<CounterId>,
    /// Collection that was announced.
    collection: Option<Collection>,
    /// Indexes of instances that are waited for. The memory is reused.
    indexes: Vec<usize>,
}

impl<I: InstanceSource> MultiInstanceProvider<I> {
    pub(crate) fn new(instances: I) -> Self {
        let countersets = vec![Arc::new(I::COUNTERSET.clone())];
        let catalogue = Arc::new(Catalogue { origin: "Linux".into(), countersets });
        Self {
            catalogue,
            instances,
            totals: Totals::default(),
            added: Vec::new(),
            collection: None,
            indexes: Vec::new(),
        }
    }

    fn birth_of_total(&self) -> Birth {
        birth_of_total(self.instances.keys().iter().map(|key| (key.id.0, key.birth)))
    }

    fn known(counterset: Guid) -> Result<(), SourceError> {
        if counterset == I::COUNTERSET.guid {
            Ok(())
        } else {
            Err(SourceError::UnknownCounterset(counterset))
        }
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), SourceError> {
        self.instances.find(pass).map_err(source_error)
    }

    /// Adds up the counters of `_Total` that are sums of rows.
    fn add_up(&mut self, want: &CollectRequest<'_>, pass: &mut Collection) {
        let Self { instances, totals, added, .. } = self;
        added.clear();
        totals.start(time_100ns_at(pass.elapsed_ns));
        for counter in want.counters {
            let Total::Rows(of) = instances.total_of(*counter) else { continue };
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
            let name = key.name.bytes().fold(FNV_BASIS, fnv);
            // An instance without a birth is identified by its name. If it has a birth later, it has been replaced by
            // another.
            let birth = key.birth.or(NonZeroU64::new(name | 1 << 63));
            // Start time 0 is before the first collection, so what a new row has counted so far is not added.
            totals.row(Member { birth, id: key.id.0, name, parent: 0 }, Some(0));
            for (column, counter) in added.iter().enumerate() {
                let value = instances.value(at, *counter, pass);
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
        Self::known(*counterset)?;
        let mut pass = Collection::enumeration(elapsed_ns());
        self.find(&mut pass)?;
        for key in self.instances.keys() {
            rows.push(&key.name, key.id, key.birth);
        }
        if self.has_total() {
            rows.push(TOTAL_NAME, TOTAL_ID, self.birth_of_total());
        }
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }

    fn begin(&mut self, want: &CollectRequest<'_>, until: Instant) {
        if !I::WAITS || Self::known(want.counterset.guid).is_err() {
            return;
        }
        let mut pass = Collection::new(want.collection, elapsed_ns());
        // An error is returned by the collection, which reads the same again.
        if self.find(&mut pass).is_ok() {
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
        self.collection = Some(pass);
    }

    fn late(&mut self) -> Vec<Text> {
        self.instances.late()
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        Self::known(want.counterset.guid)?;
        // An announced collection may never have been collected. Its time and its data must not get into this
        // one.
        let collection = self.collection.take().filter(|pass| pass.number == want.collection);
        let mut pass = collection.unwrap_or_else(|| Collection::new(want.collection, elapsed_ns()));
        self.find(&mut pass)?;
        let mut at = 0_usize;
        while let Some(key) = self.instances.keys().get(at) {
            if want.wants(&key.name, key.id) {
                let mut cells = rows.push(&key.name, key.id, key.birth);
                for (column, counter) in want.counters.iter().enumerate() {
                    fill(&mut cells, column, self.instances.value(at, *counter, &mut pass));
                }
            }
            at = at.saturating_add(1);
        }
        if self.has_total() && want.wants(TOTAL_NAME, TOTAL_ID) {
            self.add_up(want, &mut pass);
            let mut cells = rows.push(TOTAL_NAME, TOTAL_ID, self.birth_of_total());
            let Self { instances, totals, added, .. } = self;
            for (column, counter) in want.counters.iter().enumerate() {
                match instances.total_of(*counter) {
                    Total::Own => fill(&mut cells, column, instances.total(*counter, &mut pass)),
                    Total::Rows(of) => {
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
        rows.count_bytes_read(pass.bytes_read);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use perfset_core::Mark;
    use perfset_core::catalogue::perfset_engine as id;

    use super::*;
    use crate::provider::unavailable;
    use crate::testing::{CellOutcome, collect, try_collect};

    /// Any counterset would do.
    #[derive(Debug, Default)]
    struct Scripted {
        keys: Vec<InstanceKey>,
        values: Vec<Result<MarkedRaw, NoValue>>,
        failure: Option<NoValue>,
    }

    impl InstanceSource for Scripted {
        const COUNTERSET: &'static Counterset = &id::COUNTERSET;
        const HAS_TOTAL: bool = true;

        fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
            pass.bytes_read += 7;
            self.failure.clone().map_or(Ok(()), Err)
        }

        fn keys(&self) -> &[InstanceKey] {
            &self.keys
        }

        fn value(&mut self, at: usize, _: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
            self.values[at].clone()
        }
    }

    fn scripted(values: Vec<Result<MarkedRaw, NoValue>>) -> MultiInstanceProvider<Scripted> {
        let ids = 0..u32::try_from(values.len()).unwrap();
        let keys = ids
            .map(|id| InstanceKey { name: format!("n{id}"), id: InstanceId(id), birth: NonZeroU64::new(5) })
            .collect();
        MultiInstanceProvider::new(Scripted { keys, values, failure: None })
    }

    const COUNTER: CounterId = id::COLLECTIONS_PER_SEC;

    #[test]
    fn totals() {
        let marked = MarkedRaw { raw: 3, mark: Some(Mark::Held) };
        let none = NoValue::Denied("why".into());
        for (values, want) in [
            (vec![Ok(2.into()), Ok(3.into())], CellOutcome::Value(5)),
            (vec![Ok(2.into()), Ok(marked)], CellOutcome::Held(5)),
            (vec![Ok(2.into()), Err(none.clone()), Ok(3.into())], CellOutcome::Partial(5, 1)),
            (vec![Ok(2.into()), Err(unavailable("no such thing"))], CellOutcome::Value(2)),
            (vec![Err(unavailable("no such thing")), Err(none.clone())], CellOutcome::None(none)),
            (vec![Ok(u64::MAX.into()), Ok(3.into())], CellOutcome::Value(2)),
        ] {
            let mut provider = scripted(values.clone());
            let collected = collect(&mut provider, &[COUNTER], &["*"]);
            assert_eq!(collected.names().len(), values.len() + 1);
            assert_eq!(collected.names().last(), Some(&TOTAL_NAME));
            assert_eq!(*collected.get(TOTAL_NAME, COUNTER), want);
            assert_eq!(collected.bytes_read, 7);
            let alone = collect(&mut provider, &[COUNTER], &[TOTAL_NAME]);
            assert_eq!((alone.names(), alone.get(TOTAL_NAME, COUNTER)), (vec![TOTAL_NAME], &want));
        }
        assert_eq!(collect(&mut scripted(Vec::new()), &[COUNTER], &["*"]).names(), [""; 0]);
    }

    #[test]
    fn a_total_over_others_is_another() {
        let birth = |values| collect(&mut scripted(values), &[], &["*"]).birth(TOTAL_NAME);
        let (two, three) = (vec![Ok(0.into()); 2], vec![Ok(0.into()); 3]);
        assert_eq!(birth(two.clone()), birth(two.clone()));
        assert_ne!(birth(two.clone()), birth(three));
        let mut reborn = scripted(two.clone());
        reborn.instances.keys[0].birth = NonZeroU64::new(6);
        assert_ne!(collect(&mut reborn, &[], &["*"]).birth(TOTAL_NAME), birth(two));
    }

    /// A count stays as it is when an instance goes, and takes of one that comes what that counts from then on.
    #[test]
    fn instances_come_and_go() {
        type Step = (fn(&mut Scripted), u64);
        let mut provider = scripted(vec![Ok(20.into()), Ok(300.into())]);
        let mut total = |change: fn(&mut Scripted)| {
            change(&mut provider.instances);
            let collected = collect(&mut provider, &[COUNTER], &[TOTAL_NAME]);
            (collected.get(TOTAL_NAME, COUNTER).clone(), collected.since(TOTAL_NAME, COUNTER))
        };
        let (first, since) = total(|_| {});
        assert_eq!(first, CellOutcome::Value(320));
        let steps: [Step; 5] = [
            (|all| all.values[0] = Ok(21.into()), 321),
            (|all| drop((all.keys.pop(), all.values.pop())), 321),
            (|all| all.values[0] = Ok(25.into()), 325),
            (
                |all| {
                    all.keys.push(InstanceKey { name: "new".into(), id: InstanceId(9), birth: None });
                    all.values.push(Ok(7_000.into()));
                },
                325,
            ),
            (|all| all.values[1] = Ok(7_004.into()), 329),
        ];
        for (change, want) in steps {
            assert_eq!(total(change), (CellOutcome::Value(want), since));
        }
        assert!(since.is_some());
    }

    /// Checks that an instance that gets a birth is taken for another one: its past is not added, however much that is.
    #[test]
    fn an_instance_without_a_birth_is_replaced() {
        let mut provider = scripted(vec![Ok(20.into()), Ok(300.into())]);
        provider.instances.keys[0].birth = None;
        let mut total = |birth: Option<u64>, raw: u64| {
            provider.instances.keys[0].birth = birth.and_then(NonZeroU64::new);
            provider.instances.values[0] = Ok(raw.into());
            collect(&mut provider, &[COUNTER], &[TOTAL_NAME]).get(TOTAL_NAME, COUNTER).clone()
        };
        for (birth, raw, want) in [
            (None, 20, 320),
            (None, 21, 321),
            (Some(7), 9_000, 321),
            (Some(7), 9_004, 325),
            (Some(8), 5, 325),
        ] {
            assert_eq!(total(birth, raw), CellOutcome::Value(want), "{birth:?} {raw}");
        }
    }

    #[test]
    fn list_failure_fails_the_collection() {
        for (reason, want) in [
            (NoValue::Denied("by law".into()), SourceError::Denied("by law".into())),
            (NoValue::Failed("cut".into()), SourceError::Failed("cut".into())),
        ] {
            let mut provider = scripted(Vec::new());
            provider.instances.failure = Some(reason);
            assert_eq!(try_collect(&mut provider, &[COUNTER], &["*"]).unwrap_err(), want);
            assert_eq!(provider.instances(&id::GUID, &mut Rows::default()), Err(want));
        }
        let other = Guid::from_u128(7);
        let error = scripted(Vec::new()).instances(&other, &mut Rows::default());
        assert_eq!(error, Err(SourceError::UnknownCounterset(other)));
    }
}
