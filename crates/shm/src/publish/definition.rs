//! Counterset definitions that `#[derive(Counterset)]` creates from structs.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use perfset_core::{
    Aggregate, Attributes, Counter, CounterId, CounterType, Counterset, DetailLevel, Guid, InstanceType,
};

use super::slots::Slot;

/// Definition of a published counterset, created from its struct.
#[derive(Clone, Debug)]
pub struct Definition {
    pub(super) counterset: Arc<Counterset>,
    pub(super) stripes: usize,
}

/// Properties of a counter field. Created by `#[derive(Counterset)]`.
#[derive(Clone, Copy, Debug)]
pub struct CounterInfo {
    /// Identifier of the described counter, unique in its counterset.
    pub id: u32,
    /// Name of the counter; a hidden counter may have none.
    pub name: Option<&'static str>,
    /// Help text of the counter.
    pub help: &'static str,
    /// Counter type, if it differs from the field's [`TYPE`](CounterField::TYPE).
    pub counter_type: Option<CounterType>,
    /// Display attributes of the counter.
    pub attributes: Attributes,
    /// Detail level: the users for whom the counter is meant.
    pub detail: DetailLevel,
    /// Scale for charts, as a power of ten.
    pub scale: i32,
    /// Method by which values of several instances are aggregated.
    pub aggregate: Aggregate,
    /// UCUM unit of the counter.
    pub unit: &'static str,
    /// Id of the counter's base, which is the base that the field adds or another field.
    pub base: Option<u32>,
    /// Id of the counter that holds the clock by which this counter is measured.
    pub perf_time: Option<u32>,
    /// Id of the counter that holds the frequency of this counter's clock.
    pub perf_freq: Option<u32>,
    /// Id of the counter that holds the number of items by which this counter is divided.
    pub multi: Option<u32>,
}

impl CounterInfo {
    /// Creates the properties of a counter field with the given id and defaults for everything else.
    #[must_use]
    pub const fn new(id: u32) -> Self {
        Self {
            id,
            name: None,
            help: "",
            counter_type: None,
            attributes: Attributes(0),
            detail: DetailLevel::NOVICE,
            scale: 0,
            aggregate: Aggregate::Undefined,
            unit: "",
            base: None,
            perf_time: None,
            perf_freq: None,
            multi: None,
        }
    }
}

/// Type of counter that a struct can contain as a field.
///
/// A field adds one counter, or one counter and the base that it is divided by.
pub trait CounterField: Sized {
    /// Counter type of the field's counter, unless the struct specifies another.
    const TYPE: CounterType;
    /// Counter type of the base that the field adds, if it adds one.
    const BASE: Option<CounterType> = None;
    /// Size in bytes of each value of the field; a type that the struct specifies must have the same size.
    const LEN: u32;

    /// Creates the field from the next values of `cells`: one value, and a second one if the field adds a base.
    fn attach(cells: &mut Cells) -> Self;
}

impl Definition {
    /// Creates the definition of a counterset without counters. Unspecified names are empty strings.
    #[must_use]
    pub fn new(
        guid: Guid,
        name: &'static str,
        help: &'static str,
        provider: (Guid, &'static str),
        instance_type: InstanceType,
        stripes: usize,
    ) -> Self {
        let counterset =
            Counterset::new(guid, name, instance_type).help(help).provider(provider.0, provider.1);
        Self { counterset: Arc::new(counterset), stripes: stripes.min(crate::layout::MAX_STRIPES) }
    }

    /// Adds to the definition the counter of a field, and the counter's base if it has one.
    #[must_use]
    pub fn field<F: CounterField>(mut self, info: CounterInfo) -> Self {
        let counter = |info: &CounterInfo, counter_type: CounterType| {
            let mut counter = Counter::published(CounterId(info.id), counter_type)
                .help(info.help)
                .attributes(info.attributes)
                .detail(info.detail)
                .default_scale(info.scale)
                .base(info.base.map(CounterId))
                .clock(info.perf_time.map(CounterId), info.perf_freq.map(CounterId))
                .multi(info.multi.map(CounterId))
                .aggregate(info.aggregate)
                .unit(info.unit);
            counter.name = info.name.map(Into::into);
            counter
        };
        let base = F::BASE.map(|counter_type| (info.base.unwrap_or(info.id.wrapping_add(1)), counter_type));
        let main = CounterInfo { base: base.map(|(id, _)| id).or(info.base), ..info };
        let set = Arc::make_mut(&mut self.counterset);
        let counters = set.counters.to_mut();
        counters.push(counter(&main, info.counter_type.unwrap_or(F::TYPE)));
        if let Some((id, counter_type)) = base {
            let of_base = CounterInfo {
                attributes: Attributes::NO_DISPLAYABLE,
                detail: info.detail,
                aggregate: info.aggregate,
                ..CounterInfo::new(id)
            };
            counters.push(counter(&of_base, counter_type));
        }
        self
    }

    /// Returns the defined counterset in the form in which it is registered.
    #[must_use]
    pub fn counterset(&self) -> &Arc<Counterset> {
        &self.counterset
    }
}

/// Values of an instance, which its counter fields take one after the other.
#[derive(Debug)]
pub struct Cells {
    slot: Slot,
    next: usize,
}

/// Location of one value of an instance: its word in the slot, and its words in the stripes of threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPlace {
    pub slot: &'static AtomicU64,
    /// Stripes of the instance, beginning with the value's word in the first stripe.
    pub rows: &'static [AtomicU64],
    /// Number of words from one stripe of the instance to the next.
    pub row: usize,
}

impl Cells {
    pub(super) fn new(slot: Slot) -> Self {
        Self { slot, next: 0 }
    }

    /// Returns the location of the next value of the instance. After the last value, returns a word that no reader
    /// sees.
    pub(super) fn next(&mut self) -> CellPlace {
        static NOWHERE: AtomicU64 = AtomicU64::new(0);
        let at = self.next;
        self.next = at.saturating_add(1);
        CellPlace {
            slot: self.slot.values.get(at).unwrap_or(&NOWHERE),
            rows: self.slot.rows.get(at..).unwrap_or_default(),
            row: self.slot.row,
        }
    }
}
