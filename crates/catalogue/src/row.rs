//! Rows of the tables. A row has texts that are borrowed and is copied, so that constants can be built from it.

use std::borrow::Cow;
use std::mem::{forget, replace};

use perfset_core::{
    Aggregate, Attributes, CostClass, Counter, CounterId, CounterType, Counterset, DetailLevel, Guid,
    InstanceType, Text, Translation,
};

/// Definition of one counter. Properties that are not set are the most frequent ones of the catalogue.
#[derive(Clone, Copy)]
pub struct Row {
    id: CounterId,
    name: &'static str,
    counter_type: CounterType,
    v1_index: u32,
    help: &'static str,
    file: &'static str,
    field: &'static str,
    availability: &'static str,
    unit: &'static str,
    attributes: Attributes,
    detail: DetailLevel,
    scale: i32,
    base: Option<CounterId>,
    multi: Option<CounterId>,
    clock: Option<(CounterId, CounterId)>,
    aggregate: Aggregate,
    wraps: bool,
    caps: bool,
    cost_class: CostClass,
}

/// Creates the row of a counter. An empty name means that the counter has none.
pub const fn row(id: CounterId, name: &'static str, counter_type: CounterType, v1_index: u32) -> Row {
    Row {
        id,
        name,
        counter_type,
        v1_index,
        help: "",
        file: "",
        field: "",
        availability: "",
        unit: "",
        attributes: Attributes(0),
        detail: DetailLevel::ADVANCED,
        scale: 0,
        base: None,
        multi: None,
        clock: None,
        aggregate: Aggregate::Undefined,
        wraps: false,
        caps: false,
        cost_class: CostClass::Cheap,
    }
}

/// Methods that set a property, each with the meaning of the field of [`Counter`] with the same name.
#[allow(dead_code, reason = "`catalog/` may set every property, and now sets most of them")]
impl Row {
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Sets the name of the file that contains the counter's data.
    pub const fn file(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    /// Sets the field of the file that contains the counter's data.
    pub const fn field(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    pub const fn availability(self, availability: &'static str) -> Self {
        Self { availability, ..self }
    }

    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Adds an attribute to those that the counter has already.
    pub const fn attribute(self, attribute: Attributes) -> Self {
        Self { attributes: self.attributes.with(attribute), ..self }
    }

    pub const fn hidden(self) -> Self {
        self.attribute(Attributes::NO_DISPLAYABLE)
    }

    pub const fn detail(self, detail: DetailLevel) -> Self {
        Self { detail, ..self }
    }

    pub const fn scale(self, scale: i32) -> Self {
        Self { scale, ..self }
    }

    pub const fn base(self, base: CounterId) -> Self {
        Self { base: Some(base), ..self }
    }

    pub const fn multi(self, multi: CounterId) -> Self {
        Self { multi: Some(multi), ..self }
    }

    /// Sets the counters that contain the object clock and its frequency.
    pub const fn clock(self, time: CounterId, freq: CounterId) -> Self {
        Self { clock: Some((time, freq)), ..self }
    }

    pub const fn aggregate(self, aggregate: Aggregate) -> Self {
        Self { aggregate, ..self }
    }

    pub const fn wraps(self) -> Self {
        Self { wraps: true, ..self }
    }

    pub const fn caps(self) -> Self {
        Self { caps: true, ..self }
    }

    pub const fn cost_class(self, cost_class: CostClass) -> Self {
        Self { cost_class, ..self }
    }

    const fn counter(self) -> Counter {
        let mut counter = Counter::new(self.id, self.counter_type);
        if !self.name.is_empty() {
            forget(counter.name.replace(Cow::Borrowed(self.name)));
        }
        put(&mut counter.help, self.help);
        counter.attributes = self.attributes;
        counter.detail = self.detail;
        counter.default_scale = self.scale;
        counter.base = self.base;
        counter.multi = self.multi;
        if let Some((time, freq)) = self.clock {
            (counter.perf_time, counter.perf_freq) = (Some(time), Some(freq));
        }
        counter.aggregate = self.aggregate;
        put(&mut counter.unit, self.unit);
        counter.wraps = self.wraps;
        counter.caps = self.caps;
        counter.cost_class = self.cost_class;
        put(&mut counter.source.file, self.file);
        put(&mut counter.source.field, self.field);
        put(&mut counter.availability, self.availability);
        counter.v1_index = Some(self.v1_index);
        counter
    }
}

/// Replaces a text without dropping it, which a constant cannot do. The replaced text is always a borrowed one.
const fn put(text: &mut Text, new: &'static str) {
    forget(replace(text, Cow::Borrowed(new)));
}

/// Converts rows to the counters that they define.
#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated by the compiler")]
pub const fn counters<const N: usize>(rows: [Row; N]) -> [Counter; N] {
    let mut counters = [const { Counter::new(CounterId(0), CounterType(0)) }; N];
    let mut at = 0;
    while at < N {
        forget(replace(&mut counters[at], rows[at].counter()));
        at += 1;
    }
    counters
}

/// Definition of one counterset, without its counters.
#[derive(Clone, Copy)]
pub struct Set {
    guid: Guid,
    name: &'static str,
    instance_type: InstanceType,
    v1_index: u32,
    help: &'static str,
    provider: (Guid, &'static str),
    default_counter: Option<CounterId>,
    view_of: Option<Guid>,
    scope: &'static str,
}

/// Creates the definition of a counterset.
pub const fn set(guid: Guid, name: &'static str, instance_type: InstanceType, v1_index: u32) -> Set {
    Set {
        guid,
        name,
        instance_type,
        v1_index,
        help: "",
        provider: (Guid::NIL, ""),
        default_counter: None,
        view_of: None,
        scope: "",
    }
}

/// Methods that set a property, each with the meaning of the field of [`Counterset`] with the same name.
impl Set {
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    pub const fn provider(self, guid: Guid, name: &'static str) -> Self {
        Self { provider: (guid, name), ..self }
    }

    pub const fn default_counter(self, counter: CounterId) -> Self {
        Self { default_counter: Some(counter), ..self }
    }

    pub const fn view_of(self, guid: Guid) -> Self {
        Self { view_of: Some(guid), ..self }
    }

    pub const fn scope(self, scope: &'static str) -> Self {
        Self { scope, ..self }
    }

    /// Returns the counterset with these counters and translations.
    pub const fn of(self, counters: &'static [Counter], translations: &'static [Translation]) -> Counterset {
        let mut set = Counterset::unnamed(self.guid, self.instance_type);
        put(&mut set.name, self.name);
        put(&mut set.help, self.help);
        set.provider.guid = self.provider.0;
        put(&mut set.provider.name, self.provider.1);
        forget(replace(&mut set.counters, Cow::Borrowed(counters)));
        forget(replace(&mut set.translations, Cow::Borrowed(translations)));
        set.v1_index = Some(self.v1_index);
        set.default_counter = self.default_counter;
        set.view_of = self.view_of;
        put(&mut set.scope, self.scope);
        set
    }
}
