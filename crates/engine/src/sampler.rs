//! One counter of one instance, collected again and again.

use std::sync::Arc;

use perfset_core::clock::ClockReading;
use perfset_core::counter_type::Clock;
use perfset_core::sample::Clocks;
use perfset_core::{
    Counter, CounterId, Counterset, Identity, InstanceIdFilter, NoValue, RawValue, Sample, Utf16,
};

use crate::error::SourceError;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::pattern::Pattern;
use crate::provider::Want;
use crate::rows::Rows;
use crate::values::ticks;

/// Makes samples of one counter of one instance without a query: what it takes of a counterset is found once.
#[derive(Debug)]
pub struct Sampler<'a> {
    set: Arc<Counterset>,
    identity: Identity<'a>,
    instances: InstanceFilters,
    counter: Counter,
    /// The counter, and those that it is computed with: the columns of `rows`.
    needed: Vec<CounterId>,
    rows: Rows,
    divisor: Option<usize>,
    /// Its own clock, if it has one: which, and where the reading and the ticks a second are.
    own_clock: Option<(Clock, Option<usize>, Option<usize>)>,
}

impl<'a> Sampler<'a> {
    /// For a counter of a counterset and an instance, whatever its birth.
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
        // A hint: the row is looked for by its very name.
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
            own_clock: has_clock.then(|| (clock(), column(counter.perf_time), column(counter.perf_freq))),
        })
    }

    /// The sample that `collect` fills in, with these clocks if the counterset has none of its own.
    ///
    /// # Errors
    /// Why there is none: nothing was collected, no row has its name and id, or there is no value in it.
    pub fn sample(
        &mut self,
        clocks: &ClockReading,
        collect: impl FnOnce(&Want<'_>, &mut Rows) -> Result<(), SourceError>,
    ) -> Result<Sample<'a>, NoValue> {
        let Self { set, identity, instances, counter, needed, rows, divisor, own_clock } = self;
        let want = Want { counterset: set, counters: needed, instances, collection: 0 };
        rows.start();
        let collected = collect(&want, rows);
        rows.end();
        collected.map_err(|error| error.reason())?;
        let is_it =
            |row: &usize| rows.id(*row) == Some(identity.instance_id) && rows.name(*row) == identity.instance;
        let row = (0..rows.len()).find(is_it).ok_or(NoValue::NoInstance)?;
        let number = |column: usize| rows.raw(row, column);
        let raw = number(0).ok_or_else(|| rows.reason(row, 0).cloned().unwrap_or(NoValue::NotGiven))?;
        let clocks = rows.clocks().unwrap_or_else(|| Clocks::from(clocks));
        let ticks = |column: &Option<usize>| ticks(column.and_then(number).map(RawValue::get));
        Ok(Sample {
            identity: Identity { birth: rows.counted_since(row, 0).or_else(|| rows.birth(row)), ..*identity },
            counter: counter.id,
            counter_type: counter.counter_type,
            raw,
            base: divisor.and_then(number),
            wraps: counter.wraps,
            base_wraps: false,
            clocks: match own_clock {
                None => clocks,
                Some((clock, time, freq)) => clocks.with(*clock, ticks(time), ticks(freq)),
            },
        })
    }
}
