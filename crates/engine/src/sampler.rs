//! Repeated sampling of one counter of one instance.

use std::sync::Arc;

use perfset_core::clock::ClockReading;
use perfset_core::counter_type::Clock;
use perfset_core::sample::Clocks;
use perfset_core::{
    Birth, Counter, CounterId, Counterset, Identity, InstanceIdFilter, Mark, NoValue, RawValue, Sample, Utf16,
};

use crate::error::SourceError;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::pattern::Pattern;
use crate::provider::CollectRequest;
use crate::rows::Rows;
use crate::values::ticks;

/// Sampler of one counter of one instance without a query: finds the needed parts of the counterset only once.
#[derive(Debug)]
pub struct Sampler<'a> {
    set: Arc<Counterset>,
    identity: Identity<'a>,
    instances: InstanceFilters,
    counter: Counter,
    /// Sampled counter and the other counters of its formula, which are the columns of the rows.
    needed: Vec<CounterId>,
    rows: Rows,
    divisor: Option<usize>,
    base_wraps: bool,
    /// Own clock of the counter, if it has one, with the columns of the clock's reading and of its ticks per second.
    own_clock: Option<(Clock, Option<usize>, Option<usize>)>,
    /// Mark of the last sampled value.
    mark: Option<Mark>,
}

impl<'a> Sampler<'a> {
    /// Creates a sampler for a counter of a counterset and an instance; the instance may have any birth.
    ///
    /// # Errors
    /// [`SourceError::UnknownCounter`].
    pub fn new(
        set: &Arc<Counterset>,
        counter: CounterId,
        identity: Identity<'a>,
    ) -> Result<Self, SourceError> {
        let unknown = SourceError::UnknownCounter { counterset: set.guid, counter };
        let counter = set.counter(counter).ok_or(unknown)?;
        let found: Vec<&Counter> = counter.needed().filter_map(|id| set.counter(id)).collect();
        let column = |id: Option<CounterId>| found.iter().position(|counter| Some(counter.id) == id);
        let has_clock = counter.perf_time.is_some() || counter.perf_freq.is_some();
        let clock = || counter.counter_type.decode().clock;
        // A hint for the source: the row is found by its exact name.
        let pattern = Pattern::new(&Utf16::from(identity.instance));
        let filter = InstanceFilter { pattern, id: InstanceIdFilter::One(identity.instance_id) };
        Ok(Self {
            set: Arc::clone(set),
            identity,
            instances: [filter].into_iter().collect(),
            counter: counter.clone(),
            needed: found.iter().map(|counter| counter.id).collect(),
            rows: Rows::new(found.iter().copied()),
            divisor: column(counter.divisor()),
            base_wraps: set.base_wraps(counter),
            own_clock: has_clock.then(|| (clock(), column(counter.perf_time), column(counter.perf_freq))),
            mark: None,
        })
    }

    /// Returns the sample whose rows `collect` fills in, with the given clocks if the counterset has no clocks itself.
    ///
    /// # Errors
    /// The reason for no sample: nothing was collected, no row has the name and id, or the row has no value.
    pub fn sample(
        &mut self,
        clocks: &ClockReading,
        collect: impl FnOnce(&CollectRequest<'_>, &mut Rows) -> Result<(), SourceError>,
    ) -> Result<Sample<'a>, NoValue> {
        let Self { set, identity, instances, needed, rows, .. } = self;
        self.mark = None;
        let want = CollectRequest::new(set, needed, instances);
        rows.start();
        let collected = collect(&want, rows);
        rows.end();
        collected.map_err(|error| error.reason())?;
        let is_it =
            |row: &usize| rows.id(*row) == Some(identity.instance_id) && rows.name(*row) == identity.instance;
        let row = (0..rows.len()).find(is_it).ok_or(NoValue::NoInstance)?;
        let number = |column: usize| self.rows.raw(row, column);
        let raw = number(0).ok_or_else(|| self.rows.reason(row, 0).cloned().unwrap_or(NoValue::NotGiven))?;
        self.mark = self.rows.mark(row, 0);
        let clocks = self.rows.clocks().unwrap_or_else(|| Clocks::from(clocks));
        let birth = self.rows.counted_since(row, 0).or_else(|| self.rows.birth(row));
        Ok(self.of_numbers(raw, number, birth, clocks))
    }

    /// Returns the mark of the value of the last [`sample`](Self::sample), if it has one.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// Returns the counters that a sample needs: the counter itself, then the other counters of its formula.
    #[must_use]
    pub fn needed(&self) -> &[CounterId] {
        &self.needed
    }

    /// Returns `true` if the requests of this sampler select its instance. The instance name is read as a pattern,
    /// which might not match the name itself.
    #[must_use]
    pub fn selects_itself(&self) -> bool {
        self.instances.wants(self.identity.instance.units(), self.identity.instance_id)
    }

    /// Returns the sample of the instance, made of values in the order of [`needed`](Self::needed) that the caller
    /// has. It equals the sample that [`sample`](Self::sample) returns for a row of these values. `None` if the
    /// counter itself has no value.
    ///
    /// `birth` is that of the row, or the start of the value's count.
    #[must_use]
    pub fn sample_of(
        &self,
        numbers: impl Fn(usize) -> Option<u64>,
        birth: Birth,
        clocks: Clocks,
    ) -> Option<Sample<'a>> {
        let number = |column: usize| self.rows.as_stored(column, numbers(column)?);
        Some(self.of_numbers(number(0)?, number, birth, clocks))
    }

    #[inline]
    fn of_numbers(
        &self,
        raw: RawValue,
        number: impl Fn(usize) -> Option<RawValue>,
        birth: Birth,
        clocks: Clocks,
    ) -> Sample<'a> {
        let ticks = |column: Option<usize>| ticks(column.and_then(&number).map(RawValue::get));
        Sample {
            identity: Identity { birth, ..self.identity },
            counter: self.counter.id,
            counter_type: self.counter.counter_type,
            raw,
            base: self.divisor.and_then(&number),
            wraps: self.counter.wraps,
            base_wraps: self.base_wraps,
            clocks: match self.own_clock {
                None => clocks,
                Some((clock, time, freq)) => clocks.with(clock, ticks(time), ticks(freq)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use perfset_core::{CounterType, Guid, InstanceId, InstanceType, Name};

    use super::*;
    use crate::tests::set;

    /// Checks that a 4-byte base can wrap around zero under an 8-byte value, as in
    /// `tests::pairing::a_base_wraps_by_itself` for a query.
    #[test]
    fn a_base_wraps_by_itself() {
        let set = Arc::new(set(Guid::from_u128(1), InstanceType::Multiple));
        let identity = Identity {
            counterset: set.guid,
            instance: Name::until_nul(b"a\0"),
            instance_id: InstanceId(1),
            birth: None,
        };
        let mut sampler = Sampler::new(&set, CounterId(5), identity).unwrap();
        let mut sample = |value: u64, base: u64| {
            let fill = |want: &CollectRequest<'_>, rows: &mut Rows| {
                assert_eq!(want.counters, [CounterId(5), CounterId(9)]);
                let mut row = rows.push("a", InstanceId(1), None);
                row.set(0, value);
                row.set(1, base);
                Ok(())
            };
            sampler.sample(&ClockReading::default(), fill).unwrap()
        };
        let (old, new) = (sample(5_000, 0xFFFF_FFF0), sample(6_000, 0x10));
        assert_eq!(new.counter_type, CounterType::PERF_AVERAGE_BULK);
        let value = perfset_core::formula::format(Some(&old), &new);
        assert_eq!(value.map(|value| value.raw), Ok(31.25));
    }
}
