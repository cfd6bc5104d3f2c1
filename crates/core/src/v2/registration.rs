//! Registrations of countersets and counters in the V2 byte format: request codes 1 and 2.

use std::iter::FusedIterator;

use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use super::raw;
use crate::counter_type::CounterType;
use crate::counterset::{Aggregate, Attributes, Counter, CounterId, Counterset, DetailLevel, InstanceType};
use crate::guid::Guid;
use crate::wire::{Cursor, Why, WireError, length};

const NONE: u32 = 0xFFFF_FFFF;

/// View of the registration of a counterset: a PERF_COUNTERSET_REG_INFO block and the counters that follow it.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTERSET_REG_INFO")]
pub struct RegistrationInfo<'a> {
    pub(super) header: &'a raw::CountersetRegInfo,
    pub(super) counters: Cursor<'a>,
}

impl<'a> RegistrationInfo<'a> {
    /// Checks the header of a counterset's registration and that all counters are present; later bytes are ignored.
    ///
    /// # Errors
    /// Fails if there are too few bytes, or if a field has an undefined value.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut all = Cursor::new(bytes);
        let header: &raw::CountersetRegInfo = all.read("PERF_COUNTERSET_REG_INFO")?;
        let count = header.counter_count.get();
        let room = all.rest().len().wrapping_div(48);
        if length(count) > room {
            let why = Why::CountTooLarge { count, room };
            return Err(WireError::new("PERF_COUNTERSET_REG_INFO.NumCounters", 24, why));
        }
        let value = header.instance_type.get();
        if InstanceType::from_wire(value).is_none() {
            let why = Why::Undefined { value };
            return Err(WireError::new("PERF_COUNTERSET_REG_INFO.InstanceType", 28, why));
        }
        let counters = all.take("PERF_COUNTER_REG_INFO", length(count).saturating_mul(48))?;
        Ok(Self { header, counters })
    }

    /// Returns the GUID of the counterset.
    #[must_use]
    pub fn guid(&self) -> Guid {
        Guid::from_wire(self.header.guid)
    }

    /// Returns the detail level of the counterset: its intended audience.
    #[must_use]
    pub fn detail(&self) -> DetailLevel {
        DetailLevel(self.header.detail_level.get())
    }

    /// Returns the kind of the counterset by its number of instances.
    #[must_use]
    pub fn instance_type(&self) -> InstanceType {
        InstanceType::from_wire(self.header.instance_type.get()).unwrap_or(InstanceType::Single)
    }

    /// Returns an iterator over the registered counters, in registration order. After an error the iterator ends.
    #[must_use]
    pub fn counters(&self) -> CounterInfos<'a> {
        CounterInfos { rest: self.counters }
    }
}

/// Iterator over the registered counters of a [`RegistrationInfo`].
#[derive(Clone, Debug)]
pub struct CounterInfos<'a> {
    rest: Cursor<'a>,
}

impl<'a> Iterator for CounterInfos<'a> {
    type Item = Result<CounterInfo<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next_item(CounterInfo::read)
    }
}

impl FusedIterator for CounterInfos<'_> {}

/// View of a PERF_COUNTER_REG_INFO block: the registration of a counter.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_REG_INFO")]
pub struct CounterInfo<'a> {
    pub(super) raw: &'a raw::CounterRegInfo,
    pub(super) offset: usize,
}

impl<'a> CounterInfo<'a> {
    /// Reads the registration of a single counter, which request code 2 returns.
    ///
    /// # Errors
    /// Fails if there are too few bytes, or if a field has an undefined value.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        Self::read(&mut Cursor::new(bytes))
    }

    fn read(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let raw: &raw::CounterRegInfo = rest.read("PERF_COUNTER_REG_INFO")?;
        let value = raw.aggregate.get();
        if Aggregate::from_wire(value).is_none() {
            let why = Why::Undefined { value };
            return Err(WireError::new(
                "PERF_COUNTER_REG_INFO.AggregateFunc",
                offset.saturating_add(40),
                why,
            ));
        }
        Ok(Self { raw, offset })
    }

    /// Returns the id of the counter within the counterset.
    #[must_use]
    pub fn id(&self) -> CounterId {
        CounterId(self.raw.counter_id.get())
    }

    /// Returns the counter type, which selects the formula.
    #[must_use]
    pub fn counter_type(&self) -> CounterType {
        CounterType(self.raw.counter_type.get())
    }

    /// Returns the display attributes of the counter.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        Attributes(self.raw.attributes.get())
    }

    /// Returns the detail level of the counter: its intended audience.
    #[must_use]
    pub fn detail(&self) -> DetailLevel {
        DetailLevel(self.raw.detail_level.get())
    }

    /// Returns the power of ten by which charts multiply the counter's values.
    #[must_use]
    pub fn default_scale(&self) -> i32 {
        i32::from_le_bytes(self.raw.default_scale.to_bytes())
    }

    /// Returns the id of the counter by which this counter is divided: its base.
    #[must_use]
    pub fn base(&self) -> Option<CounterId> {
        related(self.raw.base_id)
    }

    /// Returns the id of the counter that contains the object clock.
    #[must_use]
    pub fn perf_time(&self) -> Option<CounterId> {
        related(self.raw.perf_time_id)
    }

    /// Returns the id of the counter that contains the frequency of the object clock.
    #[must_use]
    pub fn perf_freq(&self) -> Option<CounterId> {
        related(self.raw.perf_freq_id)
    }

    /// Returns the id of the counter that contains the number of items of a multi timer.
    #[must_use]
    pub fn multi(&self) -> Option<CounterId> {
        related(self.raw.multi_id)
    }

    /// Returns the function that combines the counter's values of several instances.
    #[must_use]
    pub fn aggregate(&self) -> Aggregate {
        Aggregate::from_wire(self.raw.aggregate.get()).unwrap_or_default()
    }
}

fn related(id: U32) -> Option<CounterId> {
    (id.get() != NONE).then(|| CounterId(id.get()))
}

/// Writes the registration of a counterset: the response to request code 1.
#[must_use]
pub fn counterset_block(counterset: &Counterset) -> Vec<u8> {
    let header = raw::CountersetRegInfo {
        guid: counterset.guid.to_wire(),
        counterset_type: U32::ZERO,
        detail_level: U32::new(counterset.detail().0),
        counter_count: U32::new(u32::try_from(counterset.counters.len()).unwrap_or(u32::MAX)),
        instance_type: U32::new(counterset.instance_type.to_wire()),
    };
    let mut out = header.as_bytes().to_vec();
    for counter in counterset.counters.iter() {
        out.extend_from_slice(&counter_block(counter));
    }
    out
}

/// Writes the registration of a counter: the response to request code 2.
#[must_use]
pub fn counter_block(counter: &Counter) -> Vec<u8> {
    let related = |id: Option<CounterId>| U32::new(id.map_or(NONE, |id| id.0));
    let info = raw::CounterRegInfo {
        counter_id: U32::new(counter.id.0),
        counter_type: U32::new(counter.counter_type.0),
        attributes: U64::new(counter.attributes.0),
        detail_level: U32::new(counter.detail.0),
        default_scale: U32::from_bytes(counter.default_scale.to_le_bytes()),
        base_id: related(counter.base),
        perf_time_id: related(counter.perf_time),
        perf_freq_id: related(counter.perf_freq),
        multi_id: related(counter.multi),
        aggregate: U32::new(counter.aggregate.to_wire()),
        reserved: U32::ZERO,
    };
    info.as_bytes().to_vec()
}
