//! What `#[derive(Counterset)]` says of a struct.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use perfset_core::{
    Aggregate, Attributes, Counter, CounterId, CounterType, Counterset, DetailLevel, Guid, InstanceType,
    ProviderIdentity,
};

use super::store::Slot;

/// A counterset as its struct defines it.
#[derive(Clone, Debug)]
pub struct Definition {
    pub(super) counterset: Arc<Counterset>,
    pub(super) stripes: usize,
}

/// What is said of a counter. Made by `#[derive(Counterset)]`.
#[derive(Clone, Copy, Debug)]
pub struct CounterInfo {
    /// Its id.
    pub id: u32,
    /// Its name; a hidden counter may have none.
    pub name: Option<&'static str>,
    /// Its help.
    pub help: &'static str,
    /// Its type, if it is not the field's own.
    pub counter_type: Option<CounterType>,
    /// How it is shown.
    pub attributes: Attributes,
    /// Who it is for.
    pub detail: DetailLevel,
    /// Power of ten for charts.
    pub scale: i32,
    /// How instances are combined.
    pub aggregate: Aggregate,
    /// Its UCUM unit.
    pub unit: &'static str,
    /// The id of the base that the field brings, or of another field that is its base.
    pub base: Option<u32>,
    /// The counter that holds its clock.
    pub perf_time: Option<u32>,
    /// The counter that holds its clock's frequency.
    pub perf_freq: Option<u32>,
    /// The counter that holds the number of its items.
    pub multi: Option<u32>,
}

impl CounterInfo {
    /// One of which nothing is said but its id.
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

/// A kind of counter that a struct can have.
///
/// A field is one counter, or one and the base that it is divided by.
pub trait Field: Sized {
    /// Its counter's type, if nothing else is said.
    const TYPE: CounterType;
    /// The type of the base that it brings.
    const BASE: Option<CounterType> = None;
    /// Bytes of its values; a type that is said must have as many.
    const LEN: u32;

    /// Takes its values: one, and one more for its base.
    fn attach(cells: &mut Cells) -> Self;
}

impl Definition {
    /// A counterset without counters. A name that is not said is empty.
    #[must_use]
    pub fn new(
        guid: Guid,
        name: &'static str,
        help: &'static str,
        provider: (Guid, &'static str),
        instance_type: InstanceType,
        stripes: usize,
    ) -> Self {
        let counterset = Counterset {
            guid,
            name: name.into(),
            help: help.into(),
            provider: ProviderIdentity { guid: provider.0, name: provider.1.into() },
            instance_type,
            counters: (&[]).into(),
            translations: (&[]).into(),
            v1_index: None,
            default_counter: None,
            view_of: None,
            scope: "".into(),
        };
        Self { counterset: Arc::new(counterset), stripes: stripes.min(crate::layout::MAX_STRIPES) }
    }

    /// With the counters of another field.
    #[must_use]
    pub fn field<F: Field>(mut self, info: CounterInfo) -> Self {
        let counter = |info: &CounterInfo, counter_type: CounterType| Counter {
            name: info.name.map(Into::into),
            help: info.help.into(),
            attributes: info.attributes,
            detail: info.detail,
            default_scale: info.scale,
            base: info.base.map(CounterId),
            perf_time: info.perf_time.map(CounterId),
            perf_freq: info.perf_freq.map(CounterId),
            multi: info.multi.map(CounterId),
            aggregate: info.aggregate,
            unit: info.unit.into(),
            ..Counter::published(CounterId(info.id), counter_type)
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

    /// The counterset, as a registration has it.
    #[must_use]
    pub fn counterset(&self) -> &Arc<Counterset> {
        &self.counterset
    }
}

/// The values of an instance, to be taken by its fields one after the other.
#[derive(Debug)]
pub struct Cells {
    slot: Slot,
    next: usize,
}

/// Where one value is.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPlace {
    pub slot: &'static AtomicU64,
    /// From its place in the first row on.
    pub rows: &'static [AtomicU64],
    /// Words from one row to the next.
    pub row: usize,
}

impl Cells {
    pub(super) fn new(slot: Slot) -> Self {
        Self { slot, next: 0 }
    }

    /// The next value. Of more than there are, one that nobody sees.
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
