//! Countersets and counters, as registered by any provider.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::counter_type::CounterType;
use crate::guid::Guid;

/// Text of a registration, such as a name: borrowed if built into the library, otherwise owned.
pub type Text = Cow<'static, str>;

const NO_TEXT: Text = Cow::Borrowed("");

/// Id of a counter within its counterset; has no meaning without the counterset's [`Guid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterId(pub u32);

/// Counters that a query requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterFilter {
    /// All counters of the counterset.
    #[doc(alias = "PERF_WILDCARD_COUNTER")]
    All,
    /// The counter with this id.
    One(CounterId),
}

impl CounterFilter {
    const WILDCARD: u32 = 0xFFFF_FFFF;

    /// Converts the `CounterId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn from_wire(id: u32) -> Self {
        match id {
            Self::WILDCARD => Self::All,
            id => Self::One(CounterId(id)),
        }
    }

    /// Returns the `CounterId` field of a PERF_COUNTER_IDENTIFIER.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::All => Self::WILDCARD,
            Self::One(CounterId(id)) => id,
        }
    }
}

/// Counters that share the same instances: a PerfLib V2 counterset.
///
/// **Shape**: counters in registration order, which is the order of every listing and result (R-13, R-33). Built-in
/// countersets are defined in the crate `perfset-catalogue`.
///
/// ```
/// use perfset::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType};
///
/// let requests = Counter::new(CounterId(1), CounterType::PERF_COUNTER_COUNTER)
///     .name("Requests/sec")
///     .help("Requests answered per second, including errors.")
///     .unit("{request}/s");
/// let set = Counterset::new(Guid::from_u128(0x5e7), "My Service", InstanceType::Multiple)
///     .help("Work of my service. Instances are its ports.")
///     .counters([requests]);
/// assert_eq!(set.counter(CounterId(1)).unwrap().shown_name(), "Requests/sec");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Counterset {
    /// GUID that identifies the counterset; the name is only for users.
    pub guid: Guid,
    /// English name of the counterset.
    pub name: Text,
    /// English help text: what the counterset counts and how its instances are named. Empty = none.
    pub help: Text,
    /// GUID and name of the counterset's provider.
    pub provider: ProviderIdentity,
    /// Kind of the counterset by the number of its instances.
    pub instance_type: InstanceType,
    /// All counters of the counterset, in registration order.
    pub counters: Cow<'static, [Counter]>,
    /// Names and help texts of the counterset and its counters in other languages.
    pub translations: Cow<'static, [Translation]>,
    /// Title index of the counterset in the V1 format: even; the index of its help text is the next number.
    pub v1_index: Option<u32>,
    /// Most useful counter of the counterset: V1 blocks and PDH call it the default counter.
    pub default_counter: Option<CounterId>,
    /// Counterset whose values this counterset presents in another form: same counter names, other instances.
    pub view_of: Option<Guid>,
    /// Part of the system that the values cover inside a container, such as the whole machine; empty = not documented.
    pub scope: Text,
}

impl Counterset {
    /// Creates a counterset with a GUID, a name and a kind of instances, without counters or other properties.
    #[must_use]
    pub fn new(guid: Guid, name: impl Into<Text>, instance_type: InstanceType) -> Self {
        Self { name: name.into(), ..Self::unnamed(guid, instance_type) }
    }

    /// Creates a counterset without a name, for readers of formats that contain none.
    #[must_use]
    pub const fn unnamed(guid: Guid, instance_type: InstanceType) -> Self {
        Self {
            guid,
            name: NO_TEXT,
            help: NO_TEXT,
            provider: ProviderIdentity { guid: Guid::NIL, name: NO_TEXT },
            instance_type,
            counters: Cow::Borrowed(&[]),
            translations: Cow::Borrowed(&[]),
            v1_index: None,
            default_counter: None,
            view_of: None,
            scope: NO_TEXT,
        }
    }

    /// Sets the help text of the counterset.
    #[must_use]
    pub fn help(self, help: impl Into<Text>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Sets GUID and name of the counterset's provider.
    #[must_use]
    pub fn provider(self, guid: Guid, name: impl Into<Text>) -> Self {
        Self { provider: ProviderIdentity { guid, name: name.into() }, ..self }
    }

    /// Sets the counters of the counterset, in registration order.
    #[must_use]
    pub fn counters(self, counters: impl IntoIterator<Item = Counter>) -> Self {
        Self { counters: counters.into_iter().collect(), ..self }
    }

    /// Sets names and help texts of the counterset in other languages.
    #[must_use]
    pub fn translations(self, translations: impl IntoIterator<Item = Translation>) -> Self {
        Self { translations: translations.into_iter().collect(), ..self }
    }

    /// Sets the title index of the counterset in the V1 format, an even number.
    #[must_use]
    pub fn v1_index(self, index: impl Into<Option<u32>>) -> Self {
        Self { v1_index: index.into(), ..self }
    }

    /// Sets the most useful counter of the counterset, its default counter.
    #[must_use]
    pub fn default_counter(self, counter: impl Into<Option<CounterId>>) -> Self {
        Self { default_counter: counter.into(), ..self }
    }

    /// Sets the counterset whose values this counterset presents in another form.
    #[must_use]
    pub fn view_of(self, guid: impl Into<Option<Guid>>) -> Self {
        Self { view_of: guid.into(), ..self }
    }

    /// Sets the part of the system that the values cover inside a container, such as the whole machine.
    #[must_use]
    pub fn scope(self, scope: impl Into<Text>) -> Self {
        Self { scope: scope.into(), ..self }
    }

    /// Returns the counter of this counterset with an id; the first one if a registration repeats an id.
    #[must_use]
    pub fn counter(&self, id: CounterId) -> Option<&Counter> {
        self.counters.iter().find(|c| c.id == id)
    }

    /// Returns `true` if the base of a counter is a 32-bit count that passes zero.
    #[must_use]
    pub fn base_wraps(&self, counter: &Counter) -> bool {
        counter.divisor().and_then(|base| self.counter(base)).is_some_and(|base| base.wraps)
    }

    /// Returns the lowest detail level of the counterset's displayable counters (R-48).
    #[must_use]
    pub fn detail(&self) -> DetailLevel {
        let shown = self.counters.iter().filter(|c| !c.attributes.contains(Attributes::NO_DISPLAYABLE));
        shown.map(|c| c.detail).min().unwrap_or(DetailLevel::NOVICE)
    }
}

/// Identity of a counterset's provider: its GUID and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// GUID of the provider.
    pub guid: Guid,
    /// Name of the provider.
    pub name: Text,
}

/// Cost class of a counter: the time that collecting it takes for one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CostClass {
    /// Less than 20 microseconds for one instance.
    #[default]
    Cheap,
    /// Less than 200 microseconds for one instance.
    Moderate,
    /// 200 microseconds or more for one instance: such a counter is read only if a query names it.
    Expensive,
}

impl CostClass {
    /// Returns the cost class of a measured collection time per instance.
    ///
    /// ```
    /// use std::time::Duration;
    /// use perfset::CostClass;
    ///
    /// assert_eq!(CostClass::of(Duration::from_micros(19)), CostClass::Cheap);
    /// assert_eq!(CostClass::of(Duration::from_millis(1)), CostClass::Expensive);
    /// ```
    #[must_use]
    pub const fn of(per_instance: Duration) -> Self {
        match per_instance.as_micros() {
            0..20 => Self::Cheap,
            20..200 => Self::Moderate,
            _ => Self::Expensive,
        }
    }

    /// Returns the keyword of the cost class, as in the catalogue.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Cheap => "cheap",
            Self::Moderate => "moderate",
            Self::Expensive => "expensive",
        }
    }
}

/// Counter of a counterset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Counter {
    /// Id of the counter, unique within its counterset.
    pub id: CounterId,
    /// English name of the counter; some bases have none.
    pub name: Option<Text>,
    /// English help text: meaning, unit, source, difference to Windows. Empty = none.
    pub help: Text,
    /// Counter type, which selects the formula from raw value to formatted value.
    pub counter_type: CounterType,
    /// Display attributes of the counter, such as hidden or hexadecimal.
    pub attributes: Attributes,
    /// Detail level of the counter: its intended audience.
    pub detail: DetailLevel,
    /// Power of ten by which charts multiply the values of the counter, -10..=10. Never applied to a formatted value
    /// by itself.
    pub default_scale: i32,
    /// Id of the counter by which this counter is divided: its base.
    pub base: Option<CounterId>,
    /// Counter that contains the object clock.
    pub perf_time: Option<CounterId>,
    /// Counter that contains the frequency of the object clock.
    pub perf_freq: Option<CounterId>,
    /// Counter that contains the number of items of a multi timer.
    pub multi: Option<CounterId>,
    /// Function that combines the raw values of several instances to an aggregate.
    pub aggregate: Aggregate,
    /// UCUM unit of the formatted value; empty = a plain number.
    pub unit: Text,
    /// `true` if the raw value is truncated to 32 bits and can pass zero once between two samples.
    pub wraps: bool,
    /// `true` if the formatted value is a share of one resource. A share above 100 is a measurement error: it is
    /// limited to 100 and marked [`Capped`](crate::Mark::Capped), except in a sum over instances that add up.
    pub caps: bool,
    /// Cost of collecting the counter.
    pub cost_class: CostClass,
    /// Source of the counter's value; empty = not named. A counter that never has a value has no source, and an
    /// [`availability`](Self::availability).
    pub source: CounterSource,
    /// Reason why the counter sometimes or always has no value; empty = it always has a value.
    pub availability: Text,
    /// Title index of the counter in the V1 format.
    pub v1_index: Option<u32>,
}

impl Counter {
    /// Creates a counter without a name and with default properties.
    #[must_use]
    pub const fn new(id: CounterId, counter_type: CounterType) -> Self {
        Self {
            id,
            name: None,
            help: NO_TEXT,
            counter_type,
            attributes: Attributes(0),
            detail: DetailLevel::NOVICE,
            default_scale: 0,
            base: None,
            perf_time: None,
            perf_freq: None,
            multi: None,
            aggregate: Aggregate::Undefined,
            unit: NO_TEXT,
            wraps: false,
            caps: false,
            cost_class: CostClass::Cheap,
            source: CounterSource { file: NO_TEXT, field: NO_TEXT },
            availability: NO_TEXT,
            v1_index: None,
        }
    }

    /// Creates a counter of a publisher, with default properties. A raw value of 4 bytes is expected to wrap.
    #[must_use]
    pub fn published(id: CounterId, counter_type: CounterType) -> Self {
        Self {
            // PerfLib's functions for 4-byte values add modulo 2^32, so such a counter passes zero without an
            // error (R-43).
            wraps: counter_type.value_len() == 4,
            source: "published by the program".into(),
            ..Self::new(id, counter_type)
        }
    }

    /// Sets the English name of the counter; an empty text means no name.
    #[must_use]
    pub fn name(self, name: impl Into<Text>) -> Self {
        Self { name: Some(name.into()).filter(|name| !name.is_empty()), ..self }
    }

    /// Sets the help text of the counter.
    #[must_use]
    pub fn help(self, help: impl Into<Text>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Sets all display attributes of the counter.
    #[must_use]
    pub fn attributes(self, attributes: Attributes) -> Self {
        Self { attributes, ..self }
    }

    /// Hides the counter from users: the only attribute of a base or a clock.
    #[must_use]
    pub fn hidden(self) -> Self {
        self.attributes(Attributes::NO_DISPLAYABLE)
    }

    /// Sets the detail level of the counter: its intended audience.
    #[must_use]
    pub fn detail(self, detail: DetailLevel) -> Self {
        Self { detail, ..self }
    }

    /// Sets the power of ten by which charts multiply the counter's values.
    #[must_use]
    pub fn default_scale(self, default_scale: i32) -> Self {
        Self { default_scale, ..self }
    }

    /// Sets the counter by which this counter is divided: its base.
    #[must_use]
    pub fn base(self, base: impl Into<Option<CounterId>>) -> Self {
        Self { base: base.into(), ..self }
    }

    /// Sets the counters that contain the object clock and its frequency. A single one of both has no meaning.
    #[must_use]
    pub fn clock(self, time: impl Into<Option<CounterId>>, freq: impl Into<Option<CounterId>>) -> Self {
        Self { perf_time: time.into(), perf_freq: freq.into(), ..self }
    }

    /// Sets the counter that contains the number of items of a multi timer.
    #[must_use]
    pub fn multi(self, multi: impl Into<Option<CounterId>>) -> Self {
        Self { multi: multi.into(), ..self }
    }

    /// Sets the function that combines the raw values of several instances.
    #[must_use]
    pub fn aggregate(self, aggregate: Aggregate) -> Self {
        Self { aggregate, ..self }
    }

    /// Sets the UCUM unit of the counter's formatted value.
    #[must_use]
    pub fn unit(self, unit: impl Into<Text>) -> Self {
        Self { unit: unit.into(), ..self }
    }

    /// Declares with `true` that the raw value has 32 bits and can wrap around to zero.
    #[must_use]
    pub fn wraps(self, wraps: bool) -> Self {
        Self { wraps, ..self }
    }

    /// Declares with `true` that the formatted value is a share of one resource, so that 100 is its maximum.
    #[must_use]
    pub fn caps(self, caps: bool) -> Self {
        Self { caps, ..self }
    }

    /// Sets the cost of collecting the counter.
    #[must_use]
    pub fn cost_class(self, cost_class: CostClass) -> Self {
        Self { cost_class, ..self }
    }

    /// Sets the source of the counter's value: a description, or a file and a field of it.
    #[must_use]
    pub fn source(self, source: impl Into<CounterSource>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// Sets the reason why the counter sometimes or always has no value.
    #[must_use]
    pub fn availability(self, availability: impl Into<Text>) -> Self {
        Self { availability: availability.into(), ..self }
    }

    /// Sets the title index of the counter in the V1 format, an even number.
    #[must_use]
    pub fn v1_index(self, index: impl Into<Option<u32>>) -> Self {
        Self { v1_index: index.into(), ..self }
    }

    /// Returns the name of the counter, or `#` and its id if it has no name. Counter paths accept both.
    #[must_use]
    pub fn shown_name(&self) -> Cow<'_, str> {
        self.name.as_deref().map_or_else(|| format!("#{}", self.id.0).into(), Cow::Borrowed)
    }

    /// Returns the id of the counter that divides this one: the base, or the number of items.
    #[must_use]
    pub fn divisor(&self) -> Option<CounterId> {
        self.base.or(self.multi)
    }

    /// Returns `true` if the counter never has a value on this system: it has no source and a documented reason.
    #[must_use]
    pub fn is_never_there(&self) -> bool {
        self.source.is_empty() && !self.availability.is_empty()
    }

    /// Returns the ids of this counter and of all counters that its formula needs.
    pub fn needed(&self) -> impl Iterator<Item = CounterId> + use<> {
        [Some(self.id), self.base, self.perf_time, self.perf_freq, self.multi].into_iter().flatten()
    }
}

/// Source of a counter's value. The displayed text is `FILE: FIELD`, or the part that is not empty.
///
/// ```
/// use perfset::catalogue::linux_memory;
///
/// let counters = &linux_memory::COUNTERSET.counters;
/// let faults = counters.iter().find(|counter| counter.name.as_deref() == Some("pgfault")).unwrap();
/// assert_eq!((&*faults.source.file, &*faults.source.field), ("/proc/vmstat", "pgfault"));
/// assert_eq!(faults.source.to_string(), "/proc/vmstat: pgfault");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSource {
    /// File from which the value of a counter is read. Capitals stand for the number or name of an instance. A name
    /// without `/` is that of a file in the directory of a control group. Empty = not a file.
    pub file: Text,
    /// Field of the source file, and its conversion; a description if the source is not a file. Empty = the whole
    /// file.
    pub field: Text,
}

impl CounterSource {
    /// Returns `true` if no source of the counter's value is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.file.is_empty() && self.field.is_empty()
    }
}

impl fmt::Display for CounterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.file.is_empty() || self.field.is_empty() { "" } else { ": " };
        write!(f, "{}{between}{}", self.file, self.field)
    }
}

/// Converts the description of a counter's source that is not a file.
impl From<&'static str> for CounterSource {
    fn from(description: &'static str) -> Self {
        Self { file: NO_TEXT, field: description.into() }
    }
}

/// Converts the description of a counter's source that is not a file.
impl From<String> for CounterSource {
    fn from(description: String) -> Self {
        Self { file: NO_TEXT, field: description.into() }
    }
}

/// Names and help texts of a counterset in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Language of a translation, as a Windows language id (LCID).
    pub language: Language,
    /// Name of the counterset in one language.
    pub name: Text,
    /// Help text of the counterset in one language; empty = none.
    pub help: Text,
    /// Names and help texts of counters in one language; a counter can be missing.
    pub counters: Cow<'static, [(CounterId, Text, Text)]>,
}

/// Windows language id (LCID), or the default language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Language(pub u32);

impl Language {
    /// Default language: the configured language of the queried machine.
    pub const DEFAULT: Self = Self(0);
    /// Language id of English, without a region.
    pub const ENGLISH: Self = Self(0x0009);

    /// Returns the primary language, without the region: the low 10 bits of the language id.
    #[must_use]
    pub const fn primary(self) -> u32 {
        self.0 & 0x3FF
    }
}

/// Kind of a counterset by the number of its instances. Stored in the `InstanceType` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstanceType {
    /// Counterset with at most one instance, without a name in queries.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_INSTANCE")]
    Single,
    /// Counterset with any number of instances.
    #[doc(alias = "PERF_COUNTERSET_MULTI_INSTANCES")]
    Multiple,
    /// Counterset with several instances, of which consumers receive only the aggregate.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE")]
    SingleAggregate,
    /// Counterset with several instances and a synthetic `_Total`.
    #[doc(alias = "PERF_COUNTERSET_MULTI_AGGREGATE")]
    MultiAggregate,
    /// Like `SingleAggregate`, with vanished instances still included in the aggregate.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY")]
    SingleAggregateHistory,
    /// Counterset with several instances, in which rows with equal names are merged.
    #[doc(alias = "PERF_COUNTERSET_INSTANCE_AGGREGATE")]
    InstanceAggregate,
}

impl InstanceType {
    /// Converts the `InstanceType` field of a registration; `None` if the value is undefined.
    #[must_use]
    pub const fn from_wire(value: u32) -> Option<Self> {
        Some(match value {
            // The values are flags of perflib.h: 2 multiple, 4 aggregate, 8 history, 16 instance. Other
            // combinations have no name and no meaning.
            0x00 => Self::Single,
            0x02 => Self::Multiple,
            0x04 => Self::SingleAggregate,
            0x06 => Self::MultiAggregate,
            0x0C => Self::SingleAggregateHistory,
            0x16 => Self::InstanceAggregate,
            _ => return None,
        })
    }

    /// Returns the value of the `InstanceType` field of a registration.
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

    /// Returns `true` if query entries for such a counterset name an instance.
    #[must_use]
    pub const fn is_multiple(self) -> bool {
        matches!(self, Self::Multiple | Self::MultiAggregate | Self::InstanceAggregate)
    }
}

/// Function that combines the raw values of several instances to an aggregate. Stored in the `AggregateFunc` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Aggregate {
    /// No aggregation of several instances.
    #[default]
    #[doc(alias = "PERF_AGGREGATE_UNDEFINED")]
    Undefined,
    /// Sum of the raw values of all instances.
    #[doc(alias = "PERF_AGGREGATE_TOTAL")]
    Total,
    /// Mean of the raw values of all instances.
    #[doc(alias = "PERF_AGGREGATE_AVG")]
    Avg,
    /// Minimum of the raw values of all instances.
    #[doc(alias = "PERF_AGGREGATE_MIN")]
    Min,
    /// Maximum of the raw values of all instances.
    #[doc(alias = "PERF_AGGREGATE_MAX")]
    Max,
}

impl Aggregate {
    /// Converts the `AggregateFunc` field of a registration; `None` if the value is undefined.
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

    /// Returns the value of the `AggregateFunc` field of a registration.
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

/// Detail level of a counter: its intended audience; PerfLib V2 uses two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DetailLevel(pub u32);

impl DetailLevel {
    /// Detail level of counters for every user.
    #[doc(alias = "PERF_DETAIL_NOVICE")]
    pub const NOVICE: Self = Self(100);
    /// Detail level of counters for users who know the subject.
    #[doc(alias = "PERF_DETAIL_ADVANCED")]
    pub const ADVANCED: Self = Self(200);
    /// Detail level of counters for users who are experts.
    #[doc(alias = "PERF_DETAIL_EXPERT")]
    pub const EXPERT: Self = Self(300);
    /// Detail level of counters for their developer: the highest level, which includes every counter.
    #[doc(alias = "PERF_DETAIL_WIZARD")]
    pub const WIZARD: Self = Self(400);
}

/// Display attributes of a counter: its `Attrib` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Attributes(pub u64);

impl Attributes {
    /// Attribute: the provider stores the address of the value, not the value.
    #[doc(alias = "PERF_ATTRIB_BY_REFERENCE")]
    pub const BY_REFERENCE: Self = Self(0x01);
    /// Attribute: the counter is a helper (base, time, frequency) and is not displayed.
    #[doc(alias = "PERF_ATTRIB_NO_DISPLAYABLE")]
    pub const NO_DISPLAYABLE: Self = Self(0x02);
    /// Attribute: the value is printed without thousands separators.
    #[doc(alias = "PERF_ATTRIB_NO_GROUP_SEPARATOR")]
    pub const NO_GROUP_SEPARATOR: Self = Self(0x04);
    /// Attribute: the value is printed as a real number.
    #[doc(alias = "PERF_ATTRIB_DISPLAY_AS_REAL")]
    pub const DISPLAY_AS_REAL: Self = Self(0x08);
    /// Attribute: the value is printed in hexadecimal.
    #[doc(alias = "PERF_ATTRIB_DISPLAY_AS_HEX")]
    pub const DISPLAY_AS_HEX: Self = Self(0x10);

    /// Returns `true` if all attribute bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union of two sets of attribute bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns `true` if a registration may give a counter this combination of attributes (R-1).
    #[must_use]
    pub const fn is_allowed(self) -> bool {
        // Only manifests and the catalogue are refused: readers of blocks accept every combination (R-1).
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
