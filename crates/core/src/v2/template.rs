//! Description of a counterset by its provider: PERF_COUNTERSET_INFO and its counters.

use zerocopy::FromBytes;

use super::raw;
use crate::counter_type::CounterType;
use crate::counterset::{Attributes, Counter, CounterId, Counterset, DetailLevel, InstanceType};
use crate::guid::Guid;
use crate::wire::{Cursor, Why, WireError, length};

/// Maximum number of counters in a provider's description of a counterset.
pub const MOST_COUNTERS: u32 = 65_536;

/// Checked view of a provider's description of a counterset: a PERF_COUNTERSET_INFO block and its counters.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTERSET_INFO")]
pub struct Template<'a> {
    header: &'a raw::CountersetInfo,
    instance_type: InstanceType,
    counters: &'a [raw::CounterInfo],
}

impl<'a> Template<'a> {
    /// Checks a PERF_COUNTERSET_INFO block; bytes after the counters are ignored, and so are the `Offset` fields.
    ///
    /// # Errors
    /// Fails if there are too few bytes, no counters or too many, two counters with the same id, or an undefined
    /// instance type. Also fails if a value that is not a reference has neither 4 nor 8 bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut all = Cursor::new(bytes);
        let header: &raw::CountersetInfo = all.read("PERF_COUNTERSET_INFO")?;
        let count = header.counter_count.get();
        if count == 0 || count > MOST_COUNTERS {
            let why = Why::OutOfRange { value: count.into(), least: 1, most: MOST_COUNTERS.into() };
            return Err(WireError::new("PERF_COUNTERSET_INFO.NumCounters", 32, why));
        }
        let value = header.instance_type.get();
        let Some(instance_type) = InstanceType::from_wire(value) else {
            let why = Why::Undefined { value };
            return Err(WireError::new("PERF_COUNTERSET_INFO.InstanceType", 36, why));
        };
        let counters = all.take("PERF_COUNTER_INFO", length(count).saturating_mul(32))?;
        let counters = <[raw::CounterInfo]>::ref_from_bytes(counters.rest()).unwrap_or_default();
        // Sorted, because a template can have 65,536 ids: comparing each pair would take two billion steps.
        let mut ids: Vec<u32> = counters.iter().map(|counter| counter.counter_id.get()).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair.first() == pair.last()) {
            let why = Why::Rule("two counters have the same id");
            return Err(WireError::new("PERF_COUNTER_INFO.CounterId", 40, why).by("R-39"));
        }
        for (index, counter) in counters.iter().enumerate() {
            let is_reference = Attributes(counter.attributes.get()).contains(Attributes::BY_REFERENCE);
            let value = counter.size.get();
            // For a value by reference, Size is that of the address.
            if !is_reference && !matches!(value, 4 | 8) {
                let at = index.saturating_mul(32).saturating_add(40 + 16);
                return Err(WireError::new("PERF_COUNTER_INFO.Size", at, Why::Undefined { value }).by("R-39"));
            }
        }
        Ok(Self { header, instance_type, counters })
    }

    /// Returns the number of counters that the provider describes.
    #[must_use]
    pub fn counter_count(&self) -> usize {
        self.counters.len()
    }

    /// Returns the counterset as far as the provider describes it: without names and without relations between
    /// counters.
    #[must_use]
    pub fn counterset(&self) -> Counterset {
        let counter = |info: &raw::CounterInfo| {
            Counter::new(CounterId(info.counter_id.get()), CounterType(info.counter_type.get()))
                .attributes(Attributes(info.attributes.get()))
                .detail(DetailLevel(info.detail_level.get()))
                .default_scale(i32::from_le_bytes(info.scale.to_bytes()))
                .source("published by the program")
        };
        Counterset::unnamed(Guid::from_wire(self.header.guid), self.instance_type)
            .provider(Guid::from_wire(self.header.provider), "")
            .counters(self.counters.iter().map(counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of a PERF_COUNTERSET_INFO block from the documentation of PerfSetCounterSetInfo.
    #[rustfmt::skip]
    const EXAMPLE: [u8; 104] = [
        0xdd, 0xaa, 0xee, 0xff,  0x23, 0xc9, 0x94, 0x47,  0xb6, 0x96, 0x70, 0x57,  0x76, 0x30, 0xb5, 0xcf,
        0xdd, 0xaa, 0xee, 0xff,  0x5a, 0x96, 0xf9, 0x4c,  0x9c, 0x07, 0xfe, 0x25,  0x37, 0x8c, 0x2a, 0x23,
        0x02, 0x00, 0x00, 0x00,  0x02, 0x00, 0x00, 0x00,  0x01, 0x00, 0x00, 0x00,  0x00, 0x00, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x04, 0x00, 0x00, 0x00,  0x64, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x02, 0x00, 0x00, 0x00,  0x00, 0x01, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x08, 0x00, 0x00, 0x00,  0x64, 0x00, 0x00, 0x00,
        0xfd, 0xff, 0xff, 0xff,  0x00, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn the_worked_example() {
        let template = Template::parse(&EXAMPLE).unwrap();
        assert_eq!(template.counter_count(), 2);
        let set = template.counterset();
        assert_eq!(set.guid, "ffeeaadd-c923-4794-b696-70577630b5cf".parse().unwrap());
        assert_eq!(set.provider.guid, "ffeeaadd-965a-4cf9-9c07-fe25378c2a23".parse().unwrap());
        assert_eq!(set.instance_type, InstanceType::Multiple);
        let counters: Vec<_> =
            set.counters.iter().map(|c| (c.id.0, c.counter_type, c.default_scale, c.detail)).collect();
        let novice = DetailLevel::NOVICE;
        assert_eq!(
            counters,
            [
                (1, CounterType::PERF_COUNTER_RAWCOUNT, 0, novice),
                (2, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, -3, novice),
            ]
        );
        assert!(set.name.is_empty() && set.counters.iter().all(|c| c.name.is_none() && c.base.is_none()));
        let longer = [&EXAMPLE[..], &[7; 9]].concat();
        assert_eq!(Template::parse(&longer).unwrap().counterset(), set);
    }

    #[test]
    fn invalid_templates_are_rejected() {
        for len in 0..EXAMPLE.len() {
            assert!(Template::parse(&EXAMPLE[..len]).is_err(), "{len} bytes");
        }
        let with = |at: usize, value: u32| {
            let mut bytes = EXAMPLE;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            Template::parse(&bytes).map(|_| ()).map_err(|error| error.to_string())
        };
        let outside = |value| {
            format!("PERF_COUNTERSET_INFO.NumCounters at byte 32: is {value}, must be from 1 to 65536")
        };
        for (at, value, want) in [
            (32, 0, outside(0)),
            (32, 65_537, outside(65_537)),
            (32, u32::MAX, outside(u32::MAX)),
            (32, 3, "PERF_COUNTER_INFO at byte 40: needs 96 bytes, 64 are left".into()),
            (36, 1, "PERF_COUNTERSET_INFO.InstanceType at byte 36: is 1, which is not defined".into()),
            (36, 8, "PERF_COUNTERSET_INFO.InstanceType at byte 36: is 8, which is not defined".into()),
            (
                72,
                1,
                "PERF_COUNTER_INFO.CounterId at byte 40: breaks R-39: two counters have the same id".into(),
            ),
            (56, 0, "PERF_COUNTER_INFO.Size at byte 56: is 0, which is not defined, R-39".into()),
            (88, 16, "PERF_COUNTER_INFO.Size at byte 88: is 16, which is not defined, R-39".into()),
        ] {
            assert_eq!(with(at, value), Err(want), "{value} at {at}");
        }
        for (at, value) in
            [(36, 0), (36, 4), (36, 22), (32, 1), (56, 8), (68, 77), (100, u32::MAX), (44, u32::MAX)]
        {
            assert_eq!(with(at, value), Ok(()), "{value} at {at}");
        }
        // By reference any size will do.
        let mut reference = EXAMPLE;
        (reference[48], reference[56]) = (1, 32);
        assert!(Template::parse(&reference).is_ok());
    }
}
