//! Countersets of several instances.

use std::fmt::Debug;
use std::num::NonZeroU64;
use std::sync::Arc;

use perfset_core::{Birth, CounterId, Counterset, Guid, InstanceId, NoValue};
use perfset_engine::{Catalogue, Provider, Rows, SourceError, Want};

use super::value::{Value, fill};
use crate::clock::elapsed_ns;
use crate::pass::Pass;

/// The instances of a counterset and what their values are made of: its sources.
pub(crate) trait Instances: Debug + Send {
    /// The counterset.
    const COUNTERSET: &'static Counterset;

    /// Whether there is a row `_Total` behind the instances.
    const HAS_TOTAL: bool;

    /// Finds the instances. Reads what names them and nothing else.
    ///
    /// # Errors
    /// Only if it cannot be known which there are; that there are none is none.
    fn find(&mut self, pass: &mut Pass) -> Result<(), NoValue>;

    /// Those that were found last, in the order of their rows, without `_Total`.
    fn keys(&self) -> &[Key];

    /// The raw value of a counter of the instance at that place. Reads what it needs and nothing else.
    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Pass) -> Result<Value, NoValue>;

    /// The raw value of a counter of `_Total`: the sum, or the reason of an instance that has no value.
    fn total(&mut self, counter: CounterId, pass: &mut Pass) -> Result<Value, NoValue> {
        sum(self, counter, pass)
    }
}

/// Which instance it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) id: InstanceId,
    pub(crate) birth: Birth,
}

/// The name of an instance: the kernel's own text. What would end a path or a name becomes `_`.
pub(crate) fn instance_name(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(['\\', '\0'], "_")
}

/// The sum of a counter over all instances: marked if one of them is, and none if one of them has none.
pub(crate) fn sum<I: Instances + ?Sized>(
    instances: &mut I,
    counter: CounterId,
    pass: &mut Pass,
) -> Result<Value, NoValue> {
    let mut sum = Value::from(0);
    for at in 0..instances.keys().len() {
        let value = instances.value(at, counter, pass)?;
        sum.raw = sum.raw.wrapping_add(value.raw);
        sum.mark = sum.mark.or(value.mark);
    }
    Ok(sum)
}

/// The name of the row that stands for all instances.
pub(crate) const TOTAL_NAME: &str = "_Total";
/// Its id.
pub(crate) const TOTAL_ID: InstanceId = InstanceId(0xFFFF_FFFE);

/// Tells sums over different sets of instances apart, in every process alike: the FNV-1a hash of their ids and births.
pub(crate) fn birth_of_total(covered: impl Iterator<Item = (u32, Birth)>) -> Birth {
    const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let hash = covered.fold(BASIS, |hash, (id, birth)| {
        let hash = id.to_le_bytes().into_iter().fold(hash, add);
        birth.map_or(hash, |birth| birth.get().to_le_bytes().into_iter().fold(hash, add))
    });
    NonZeroU64::new(hash.max(1))
}

/// That nothing at all can be delivered, for that reason.
pub(crate) fn source_error(reason: NoValue) -> SourceError {
    match reason {
        NoValue::Denied(why) => SourceError::Denied(why.into()),
        other => SourceError::Failed(other.to_string().into()),
    }
}

/// Provides a counterset of several instances.
///
/// The birth of `_Total` depends on the instances that it covers: when one comes or goes, the sums are not comparable,
/// and the rates of one interval say that the instance was replaced.
#[derive(Debug)]
pub(crate) struct Several<I> {
    catalogue: Arc<Catalogue>,
    instances: I,
}

impl<I: Instances> Several<I> {
    pub(crate) fn new(instances: I) -> Self {
        let countersets = vec![Arc::new(I::COUNTERSET.clone())];
        Self { catalogue: Arc::new(Catalogue { origin: "Linux".into(), countersets }), instances }
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

    fn find(&mut self, pass: &mut Pass) -> Result<(), SourceError> {
        self.instances.find(pass).map_err(source_error)
    }

    /// Whether there is a row `_Total`: not if there is nothing that it could be the total of.
    fn has_total(&self) -> bool {
        I::HAS_TOTAL && !self.instances.keys().is_empty()
    }
}

impl<I: Instances> Provider for Several<I> {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        Self::known(*counterset)?;
        let mut pass = Pass::enumeration(elapsed_ns());
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

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        Self::known(want.counterset.guid)?;
        let mut pass = Pass::new(want.collection, elapsed_ns());
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
            let mut cells = rows.push(TOTAL_NAME, TOTAL_ID, self.birth_of_total());
            for (column, counter) in want.counters.iter().enumerate() {
                fill(&mut cells, column, self.instances.total(*counter, &mut pass));
            }
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
    use crate::testing::{Got, collect, try_collect};

    /// Any counterset would do.
    #[derive(Debug, Default)]
    struct Scripted {
        keys: Vec<Key>,
        values: Vec<Result<Value, NoValue>>,
        failure: Option<NoValue>,
    }

    impl Instances for Scripted {
        const COUNTERSET: &'static Counterset = &id::COUNTERSET;
        const HAS_TOTAL: bool = true;

        fn find(&mut self, pass: &mut Pass) -> Result<(), NoValue> {
            pass.bytes_read += 7;
            self.failure.clone().map_or(Ok(()), Err)
        }

        fn keys(&self) -> &[Key] {
            &self.keys
        }

        fn value(&mut self, at: usize, _: CounterId, _: &mut Pass) -> Result<Value, NoValue> {
            self.values[at].clone()
        }
    }

    fn scripted(values: Vec<Result<Value, NoValue>>) -> Several<Scripted> {
        let ids = 0..u32::try_from(values.len()).unwrap();
        let keys = ids
            .map(|id| Key { name: format!("n{id}"), id: InstanceId(id), birth: NonZeroU64::new(5) })
            .collect();
        Several::new(Scripted { keys, values, failure: None })
    }

    const COUNTER: CounterId = id::COLLECTIONS_PER_SEC;

    #[test]
    fn totals() {
        let marked = Value { raw: 3, mark: Some(Mark::Held) };
        let none = NoValue::Denied("why".into());
        for (values, want) in [
            (vec![Ok(2.into()), Ok(3.into())], Got::Value(5)),
            (vec![Ok(2.into()), Ok(marked)], Got::Held(5)),
            (vec![Ok(2.into()), Err(none.clone()), Ok(3.into())], Got::None(none)),
            (vec![Ok(u64::MAX.into()), Ok(3.into())], Got::Value(2)),
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
    fn names() {
        for (text, want) in [
            (&b"sda1"[..], "sda1"),
            (b"/a b(c)#1", "/a b(c)#1"),
            (b"\\a\0", "_a_"),
            (b"\xC3\xBC\xFF", "\u{FC}\u{FFFD}"),
        ] {
            assert_eq!(instance_name(text), want);
        }
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

    #[test]
    fn what_cannot_be_listed() {
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
