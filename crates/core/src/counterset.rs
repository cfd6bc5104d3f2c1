//! Countersets and counters: what a registration says, whoever made it.

use std::borrow::Cow;

use crate::counter_type::CounterType;
use crate::guid::Guid;

/// Text of a registration: in the program for what is built in, owned for what came from elsewhere.
pub type Text = Cow<'static, str>;

/// Identifies one counter inside its counterset; means nothing without the counterset's [`Guid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterId(pub u32);

/// Which counters a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterFilter {
    /// Every counter of the counterset.
    #[doc(alias = "PERF_WILDCARD_COUNTER")]
    All,
    /// One counter.
    One(CounterId),
}

impl CounterFilter {
    const WILDCARD: u32 = 0xFFFF_FFFF;

    /// From the `CounterId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn from_wire(id: u32) -> Self {
        match id {
            Self::WILDCARD => Self::All,
            id => Self::One(CounterId(id)),
        }
    }

    /// The `CounterId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::All => Self::WILDCARD,
            Self::One(CounterId(id)) => id,
        }
    }
}

/// A kind of thing that is counted, with its counters: a PerfLib V2 registration.
///
/// **Shape**: counters in registration order, which is the order of every listing and result.
/// Built-in ones stand in [`catalogue`](crate::catalogue).
#[derive(Clone, Debug, PartialEq)]
pub struct Counterset {
    /// The key. Names are for people.
    pub guid: Guid,
    /// English name.
    pub name: Text,
    /// English help: what it counts and how its instances are named. Empty = none.
    pub help: Text,
    /// Who provides it.
    pub provider: ProviderIdentity,
    /// How many instances it may have.
    pub instance_type: InstanceType,
    /// All counters, in registration order.
    pub counters: Cow<'static, [Counter]>,
    /// Names and help in other languages.
    pub translations: Cow<'static, [Translation]>,
    /// Title index in the V1 format: even, its help is the next number.
    pub v1_index: Option<u32>,
    /// The counter that people want first: what V1 blocks and PDH call the default counter.
    pub default_counter: Option<CounterId>,
    /// The counterset whose values it shows in another shape: counters of the same names, other instances.
    pub view_of: Option<Guid>,
    /// What its numbers cover, seen from a container; empty = not said.
    pub scope: Text,
}

impl Counterset {
    /// The counter with that id. The first one, should a foreign registration repeat an id.
    #[must_use]
    pub fn counter(&self, id: CounterId) -> Option<&Counter> {
        self.counters.iter().find(|c| c.id == id)
    }

    /// The lowest detail level of the counters that are shown.
    #[must_use]
    pub fn detail(&self) -> DetailLevel {
        let shown = self.counters.iter().filter(|c| !c.attributes.contains(Attributes::NO_DISPLAYABLE));
        shown.map(|c| c.detail).min().unwrap_or(DetailLevel::NOVICE)
    }
}

/// Who provides a counterset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// The provider's GUID.
    pub guid: Guid,
    /// The provider's name.
    pub name: Text,
}

/// One counter of a counterset.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The key inside the counterset.
    pub id: CounterId,
    /// English name; some bases have none.
    pub name: Option<Text>,
    /// English help: meaning, unit, source, how it differs from Windows. Empty = none.
    pub help: Text,
    /// How the raw value becomes a number for people.
    pub counter_type: CounterType,
    /// How it is shown.
    pub attributes: Attributes,
    /// Who it is for.
    pub detail: DetailLevel,
    /// Power of ten for charts, -10..=10. Never applied to a formatted value by itself.
    pub default_scale: i32,
    /// The counter that this one is divided by.
    pub base: Option<CounterId>,
    /// The counter that holds the object clock.
    pub perf_time: Option<CounterId>,
    /// The counter that holds the object clock's frequency.
    pub perf_freq: Option<CounterId>,
    /// The counter that holds the number of items.
    pub multi: Option<CounterId>,
    /// How instances are combined.
    pub aggregate: Aggregate,
    /// UCUM unit of the formatted value; empty = a plain number.
    pub unit: Text,
    /// The raw value is truncated to 32 bits and may pass zero once between two samples.
    pub wraps: bool,
    /// `true` if the formatted value is a share of one thing. Above 100 it is an error of measurement: it is cut to 100
    /// and marked [`Capped`](crate::Mark::Capped), except in a sum over instances that
    /// [add up](crate::catalogue::adds_up).
    pub caps: bool,
    /// Where the value comes from, as people of that system name it; empty = there is none, and it never has a value.
    pub source: Text,
    /// Why it may have no value, or never has one; empty = it always has one.
    pub availability: Text,
    /// Title index in the V1 format.
    pub v1_index: Option<u32>,
}

impl Counter {
    /// A counter that has no name and of which nothing else is said.
    #[must_use]
    pub const fn new(id: CounterId, counter_type: CounterType) -> Self {
        const NONE: Text = Cow::Borrowed("");
        Self {
            id,
            name: None,
            help: NONE,
            counter_type,
            attributes: Attributes(0),
            detail: DetailLevel::NOVICE,
            default_scale: 0,
            base: None,
            perf_time: None,
            perf_freq: None,
            multi: None,
            aggregate: Aggregate::Undefined,
            unit: NONE,
            wraps: false,
            caps: false,
            source: NONE,
            availability: NONE,
            v1_index: None,
        }
    }

    /// A counter that a program publishes, of which nothing else is said. One of 4 bytes may pass its end.
    #[must_use]
    pub fn published(id: CounterId, counter_type: CounterType) -> Self {
        Self {
            wraps: counter_type.value_len() == 4,
            source: Cow::Borrowed("published by the program"),
            ..Self::new(id, counter_type)
        }
    }

    /// Its name, or `#` and its id where it has none: what a counter path takes back.
    #[must_use]
    pub fn shown_name(&self) -> Cow<'_, str> {
        self.name.as_deref().map_or_else(|| format!("#{}", self.id.0).into(), Cow::Borrowed)
    }

    /// The counter that this one is divided by: its base, or its number of items.
    #[must_use]
    pub fn divisor(&self) -> Option<CounterId> {
        self.base.or(self.multi)
    }

    /// Whether it has never a value on this system: it has no source, and a reason for that.
    #[must_use]
    pub fn is_never_there(&self) -> bool {
        self.source.is_empty() && !self.availability.is_empty()
    }

    /// It, and the counters that it is computed with.
    pub fn needed(&self) -> impl Iterator<Item = CounterId> + use<> {
        [Some(self.id), self.base, self.perf_time, self.perf_freq, self.multi].into_iter().flatten()
    }
}

/// Names and help of a counterset in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Windows language id (LCID).
    pub language: Language,
    /// Name of the counterset.
    pub name: Text,
    /// Help of the counterset; empty = none.
    pub help: Text,
    /// Names and helps of counters; a counter may be missing.
    pub counters: Cow<'static, [(CounterId, Text, Text)]>,
}

/// A Windows language id (LCID), or the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Language(pub u32);

impl Language {
    /// The configured language of the machine that is asked.
    pub const DEFAULT: Self = Self(0);
    /// English, neutral.
    pub const ENGLISH: Self = Self(0x0009);

    /// The primary language: the low 10 bits.
    #[must_use]
    pub const fn primary(self) -> u32 {
        self.0 & 0x3FF
    }
}

/// How many instances a counterset may have. The numbers are the `InstanceType` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstanceType {
    /// At most one, nameless in queries.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_INSTANCE")]
    Single,
    /// Any number.
    #[doc(alias = "PERF_COUNTERSET_MULTI_INSTANCES")]
    Multiple,
    /// Several, of which consumers see the aggregate.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE")]
    SingleAggregate,
    /// Several, and a synthetic `_Total`.
    #[doc(alias = "PERF_COUNTERSET_MULTI_AGGREGATE")]
    MultiAggregate,
    /// As `SingleAggregate`, and what has vanished stays in the aggregate.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY")]
    SingleAggregateHistory,
    /// Rows of equal name are merged.
    #[doc(alias = "PERF_COUNTERSET_INSTANCE_AGGREGATE")]
    InstanceAggregate,
}

impl InstanceType {
    /// From the `InstanceType` field.
    #[must_use]
    pub const fn from_wire(value: u32) -> Option<Self> {
        Some(match value {
            0x00 => Self::Single,
            0x02 => Self::Multiple,
            0x04 => Self::SingleAggregate,
            0x06 => Self::MultiAggregate,
            0x0C => Self::SingleAggregateHistory,
            0x16 => Self::InstanceAggregate,
            _ => return None,
        })
    }

    /// The `InstanceType` field.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::Single => 0x00,
            Self::Multiple => 0x02,
            Self::SingleAggregate => 0x04,
            Self::MultiAggregate => 0x06,
            Self::SingleAggregateHistory => 0x0C,
            Self::InstanceAggregate => 0x16,
        }
    }

    /// Whether entries name an instance.
    #[must_use]
    pub const fn is_multiple(self) -> bool {
        matches!(self, Self::Multiple | Self::MultiAggregate | Self::InstanceAggregate)
    }
}

/// How raw values of instances are combined. The numbers are the `AggregateFunc` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Aggregate {
    /// No aggregate.
    #[default]
    #[doc(alias = "PERF_AGGREGATE_UNDEFINED")]
    Undefined,
    /// Sum.
    #[doc(alias = "PERF_AGGREGATE_TOTAL")]
    Total,
    /// Mean.
    #[doc(alias = "PERF_AGGREGATE_AVG")]
    Avg,
    /// Least.
    #[doc(alias = "PERF_AGGREGATE_MIN")]
    Min,
    /// Greatest.
    #[doc(alias = "PERF_AGGREGATE_MAX")]
    Max,
}

impl Aggregate {
    /// From the `AggregateFunc` field.
    #[must_use]
    pub const fn from_wire(value: u32) -> Option<Self> {
        Some(match value {
            0 => Self::Undefined,
            1 => Self::Total,
            2 => Self::Avg,
            3 => Self::Min,
            4 => Self::Max,
            _ => return None,
        })
    }

    /// The `AggregateFunc` field.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::Undefined => 0,
            Self::Total => 1,
            Self::Avg => 2,
            Self::Min => 3,
            Self::Max => 4,
        }
    }
}

/// Who a counter is for; V2 uses two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DetailLevel(pub u32);

impl DetailLevel {
    /// For everyone.
    #[doc(alias = "PERF_DETAIL_NOVICE")]
    pub const NOVICE: Self = Self(100);
    /// For who knows the subject.
    #[doc(alias = "PERF_DETAIL_ADVANCED")]
    pub const ADVANCED: Self = Self(200);
    /// For experts.
    #[doc(alias = "PERF_DETAIL_EXPERT")]
    pub const EXPERT: Self = Self(300);
    /// For who wrote it: everything is of this level or one below.
    #[doc(alias = "PERF_DETAIL_WIZARD")]
    pub const WIZARD: Self = Self(400);
}

/// The `Attrib` bits of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Attributes(pub u64);

impl Attributes {
    /// The provider's slot holds the address of the value.
    #[doc(alias = "PERF_ATTRIB_BY_REFERENCE")]
    pub const BY_REFERENCE: Self = Self(0x01);
    /// A helper (base, time, frequency): not shown.
    #[doc(alias = "PERF_ATTRIB_NO_DISPLAYABLE")]
    pub const NO_DISPLAYABLE: Self = Self(0x02);
    /// Printed without separators between thousands.
    #[doc(alias = "PERF_ATTRIB_NO_GROUP_SEPARATOR")]
    pub const NO_GROUP_SEPARATOR: Self = Self(0x04);
    /// Printed as a real number.
    #[doc(alias = "PERF_ATTRIB_DISPLAY_AS_REAL")]
    pub const DISPLAY_AS_REAL: Self = Self(0x08);
    /// Printed in hexadecimal.
    #[doc(alias = "PERF_ATTRIB_DISPLAY_AS_HEX")]
    pub const DISPLAY_AS_HEX: Self = Self(0x10);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a registration may have this combination.
    #[must_use]
    pub const fn is_allowed(self) -> bool {
        let real_or_plain = self.contains(Self::NO_GROUP_SEPARATOR) || self.contains(Self::DISPLAY_AS_REAL);
        let hex = self.contains(Self::DISPLAY_AS_HEX);
        let hidden = self.contains(Self::NO_DISPLAYABLE);
        !(hidden && (real_or_plain || hex)) && !(hex && real_or_plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentinels_stay_on_the_wire() {
        assert_eq!(CounterFilter::from_wire(0xFFFF_FFFF), CounterFilter::All);
        assert_eq!(CounterFilter::from_wire(7), CounterFilter::One(CounterId(7)));
        for id in [0, 7, 0xFFFF_FFFF] {
            assert_eq!(CounterFilter::from_wire(id).to_wire(), id);
        }
    }

    #[test]
    fn instance_types_and_aggregates_go_both_ways() {
        let known: Vec<_> = (0..64).filter(|v| InstanceType::from_wire(*v).is_some()).collect();
        assert_eq!(known, [0, 2, 4, 6, 12, 22]);
        assert!(known.iter().all(|v| InstanceType::from_wire(*v).unwrap().to_wire() == *v));
        assert!((0..5).all(|v| Aggregate::from_wire(v).unwrap().to_wire() == v));
        assert_eq!(Aggregate::from_wire(5), None);
    }

    #[test]
    fn attribute_combinations() {
        for (bits, allowed) in [
            (0x00, true),
            (0x01, true),
            (0x02, true),
            (0x03, true),
            (0x0C, true),
            (0x10, true),
            (0x11, true),
            (0x06, false),
            (0x0A, false),
            (0x12, false),
            (0x14, false),
            (0x18, false),
        ] {
            assert_eq!(Attributes(bits).is_allowed(), allowed, "{bits:#x}");
        }
    }
}
