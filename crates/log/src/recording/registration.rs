//! Registrations: payload of a `set` block, which defines the counterset and the counters of a table.

use std::borrow::Cow;
use std::sync::Arc;

use perfset_catalogue::by_guid;
use perfset_core::{
    Aggregate, Attributes, CostClass, Counter, CounterId, CounterSource, CounterType, Counterset,
    DetailLevel, Guid, InstanceType, Language, ProviderIdentity, Text, Translation,
};

use perfset_engine::ResolvedEntry;

use super::bytes::{Malformed, PayloadCursor, put_int, put_len, put_text, put_uint};
use super::tick::MOST_TABLES;

/// Table of a recording: counters of one counterset, collected together.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDefinition {
    /// Definition of the table's counterset, as it was registered.
    pub counterset: Arc<Counterset>,
    /// Indexes in the counterset of the counters that the table has, ascending.
    pub columns: Vec<usize>,
    /// Time between two collections of the table in milliseconds; 0 = unknown.
    pub interval_ms: u64,
}

impl TableDefinition {
    /// Creates the definition of a recorded table for the counters that a query entry selects; `None` if there is no
    /// counterset.
    #[must_use]
    pub fn of(entry: &ResolvedEntry, interval_ms: u64) -> Option<Self> {
        let counterset = entry.counterset.as_ref()?;
        let mut columns = Vec::new();
        let mut rest = counterset.counters.iter().enumerate();
        for counter in entry.counters() {
            // Both have the same order. A registration can repeat an id.
            columns.push(rest.find(|(_, known)| known.id == counter.id)?.0);
        }
        Some(Self { counterset: Arc::clone(counterset), columns, interval_ms })
    }

    /// Returns the counters of the table, in the order of its columns.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        self.columns.iter().filter_map(|at| self.counterset.counters.get(*at))
    }

    /// Returns the index of the table's column whose counter has the id and the type of `counter`.
    pub(super) fn column(&self, counter: &Counter) -> Option<usize> {
        self.counters().position(|own| (own.id, own.counter_type) == (counter.id, counter.counter_type))
    }
}

/// Maximum number of counters of a counterset, far more than any counterset has.
const MOST_COUNTERS: usize = 100_000;

/// Texts of a counterset that a `set` block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistrationTexts {
    /// Names only: help texts and translations are those of the built-in catalogue.
    OfCatalogue = 0,
    /// All texts of the registration, also those that the catalogue has.
    All = 1,
}

impl RegistrationTexts {
    const fn number(self) -> u8 {
        match self {
            Self::OfCatalogue => 0,
            Self::All => 1,
        }
    }
}

/// Appends the payload of a `set` block. With [`RegistrationTexts::OfCatalogue`] the texts of a built-in counterset are
/// left out.
pub(super) fn put_definition(
    out: &mut Vec<u8>,
    number: usize,
    table: &TableDefinition,
    texts: RegistrationTexts,
) {
    let set = &*table.counterset;
    // A counterset of another version of the catalogue keeps its own texts.
    let texts = match by_guid(set.guid) {
        Some(known) if known == set => texts,
        _ => RegistrationTexts::All,
    };
    put_len(out, number);
    put_uint(out, table.interval_ms);
    out.push(texts.number());
    out.extend_from_slice(&set.guid.to_wire());
    put_text(out, &set.name);
    put_uint(out, set.instance_type.to_wire().into());
    out.extend_from_slice(&set.provider.guid.to_wire());
    put_text(out, &set.provider.name);
    put_optional(out, set.v1_index);
    put_optional(out, set.default_counter.map(|CounterId(id)| id));
    out.extend_from_slice(&set.view_of.unwrap_or(Guid::NIL).to_wire());
    put_text(out, &set.scope);
    put_len(out, set.counters.len());
    set.counters.iter().for_each(|counter| put_counter(out, counter));
    put_len(out, table.columns.len());
    let mut next = 0_usize;
    for column in &table.columns {
        put_len(out, column.saturating_sub(next));
        next = column.saturating_add(1);
    }
    if texts == RegistrationTexts::All {
        put_text(out, &set.help);
        set.counters.iter().for_each(|counter| put_text(out, &counter.help));
        put_len(out, set.translations.len());
        for translation in set.translations.iter() {
            put_uint(out, translation.language.0.into());
            put_text(out, &translation.name);
            put_text(out, &translation.help);
            put_len(out, translation.counters.len());
            for (CounterId(id), name, help) in translation.counters.iter() {
                put_uint(out, (*id).into());
                put_text(out, name);
                put_text(out, help);
            }
        }
    }
}

fn put_optional(out: &mut Vec<u8>, number: Option<u32>) {
    put_uint(out, number.map_or(0, |number| u64::from(number).saturating_add(1)));
}

fn optional(from: &mut PayloadCursor<'_>, what: &str) -> Result<Option<u32>, Malformed> {
    let Some(number) = from.uint(what)?.checked_sub(1) else { return Ok(None) };
    u32::try_from(number).map(Some).map_err(|_| from.error(format!("{what} is too large")))
}

/// Flag of an encoded counter: it has a name.
const NAMED: u64 = 1;
/// Flag of an encoded counter: its raw value can wrap around to zero.
const WRAPS: u64 = 2;
/// Flag of an encoded counter: its formatted value has the maximum 100.
const CAPS: u64 = 4;

fn put_counter(out: &mut Vec<u8>, counter: &Counter) {
    put_uint(out, counter.id.0.into());
    let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
    put_uint(
        out,
        flag(counter.name.is_some(), NAMED) | flag(counter.wraps, WRAPS) | flag(counter.caps, CAPS),
    );
    put_text(out, counter.name.as_deref().unwrap_or_default());
    put_uint(out, counter.counter_type.0.into());
    put_uint(out, counter.attributes.0);
    put_uint(out, counter.detail.0.into());
    put_int(out, counter.default_scale.into());
    for linked in [counter.base, counter.perf_time, counter.perf_freq, counter.multi] {
        put_optional(out, linked.map(|CounterId(id)| id));
    }
    put_uint(out, counter.aggregate.to_wire().into());
    put_text(out, &counter.unit);
    out.push(match counter.cost_class {
        CostClass::Cheap => 0,
        CostClass::Moderate => 1,
        CostClass::Expensive => 2,
    });
    put_text(out, &counter.source.file);
    put_text(out, &counter.source.field);
    put_text(out, &counter.availability);
    put_optional(out, counter.v1_index);
}

/// Minimum number of bytes of a counter in a `set` block.
const COUNTER: usize = 16;

fn counter(from: &mut PayloadCursor<'_>) -> Result<Counter, Malformed> {
    let id = CounterId(from.small("id of a counter")?);
    let flags = from.uint("flags of a counter")?;
    let name = owned(from, "name of a counter")?;
    let counter_type = CounterType(from.small("type of a counter")?);
    let mut counter = Counter::new(id, counter_type)
        .attributes(Attributes(from.uint("attributes of a counter")?))
        .detail(DetailLevel(from.small("detail level of a counter")?));
    let scale = from.int("scale of a counter")?;
    let scale = i32::try_from(scale).map_err(|_| from.error(format!("scale {scale} of a counter")))?;
    let mut linked = || optional(from, "linked counter").map(|id| id.map(CounterId));
    counter = counter.default_scale(scale).base(linked()?).clock(linked()?, linked()?).multi(linked()?);
    let aggregate = from.small("aggregate of a counter")?;
    let aggregate = Aggregate::from_wire(aggregate)
        .ok_or_else(|| from.error(format!("aggregate {aggregate} of a counter")))?;
    let unit = owned(from, "unit of a counter")?;
    let cost_class = match from.byte("cost of a counter")? {
        0 => CostClass::Cheap,
        1 => CostClass::Moderate,
        2 => CostClass::Expensive,
        class => return Err(from.error(format!("cost class {class} of a counter"))),
    };
    let source = CounterSource {
        file: owned(from, "source of a counter")?,
        field: owned(from, "field of a counter's source")?,
    };
    counter = counter
        .aggregate(aggregate)
        .unit(unit)
        .cost_class(cost_class)
        .source(source)
        .availability(owned(from, "availability of a counter")?)
        .v1_index(optional(from, "title index of a counter")?)
        .wraps(flags & WRAPS != 0)
        .caps(flags & CAPS != 0);
    // An empty name is a name here, unlike for a publisher.
    counter.name = (flags & NAMED != 0).then_some(name);
    Ok(counter)
}

fn owned(from: &mut PayloadCursor<'_>, what: &str) -> Result<Text, Malformed> {
    Ok(Cow::Owned(from.text(what)?.to_owned()))
}

/// Reads the payload of a `set` block: the number and the definition of a table.
pub(super) fn definition(payload: &[u8]) -> Result<(usize, TableDefinition), Malformed> {
    let mut from = PayloadCursor::new(payload);
    let number = from.small("number of a table")?;
    if number >= MOST_TABLES {
        return Err(from.error(format!("table {number} is too high")));
    }
    let interval_ms = from.uint("interval of a table")?;
    let texts = from.byte("texts of a counterset")?;
    let guid = from.guid("GUID of a counterset")?;
    let name = owned(&mut from, "name of a counterset")?;
    let instance_type = from.small("instance type of a counterset")?;
    let instance_type = InstanceType::from_wire(instance_type)
        .ok_or_else(|| from.error(format!("instance type {instance_type} of a counterset")))?;
    let provider = ProviderIdentity {
        guid: from.guid("GUID of a provider")?,
        name: owned(&mut from, "name of a provider")?,
    };
    let v1_index = optional(&mut from, "title index of a counterset")?;
    let default_counter = optional(&mut from, "default counter")?.map(CounterId);
    let view_of = Some(from.guid("GUID of the base of a view")?).filter(|guid| *guid != Guid::NIL);
    let scope = owned(&mut from, "scope of a counterset")?;
    // A count is checked against the bytes that are left, before anything is allocated.
    let count = from.count(COUNTER, "counters")?;
    if count > MOST_COUNTERS {
        return Err(from.error(format!("{count} counters of a counterset")));
    }
    let counters = (0..count).map(|_| counter(&mut from)).collect::<Result<Vec<_>, _>>()?;
    let mut set = Counterset::new(guid, name, instance_type)
        .provider(provider.guid, provider.name)
        .v1_index(v1_index)
        .default_counter(default_counter)
        .view_of(view_of)
        .scope(scope)
        .counters(counters);
    // Distances, so that columns are distinct and ascending.
    let mut columns = Vec::new();
    let mut next = 0_usize;
    for _ in 0..from.count(1, "columns")? {
        let column = next.saturating_add(from.small("column")?);
        if column >= count {
            return Err(from.error(format!("column for counter {column} of {count}")));
        }
        columns.push(column);
        next = column.saturating_add(1);
    }
    // Texts come last: most writers leave them out.
    match texts {
        0 => of_catalogue(&mut set),
        1 => read_texts(&mut from, &mut set)?,
        number => return Err(from.error(format!("texts of the unknown kind {number}"))),
    }
    from.end()?;
    Ok((number, TableDefinition { counterset: shared(set), columns, interval_ms }))
}

fn read_texts(from: &mut PayloadCursor<'_>, set: &mut Counterset) -> Result<(), Malformed> {
    set.help = owned(from, "help of a counterset")?;
    for counter in set.counters.to_mut() {
        counter.help = owned(from, "help of a counter")?;
    }
    let mut translations = Vec::new();
    for _ in 0..from.count(4, "translations")? {
        let language = Language(from.small("language")?);
        let name = owned(from, "translated name")?;
        let help = owned(from, "translated help")?;
        let mut counters = Vec::new();
        for _ in 0..from.count(3, "translated counters")? {
            let id = CounterId(from.small("id of a counter")?);
            counters.push((id, owned(from, "translated name")?, owned(from, "translated help")?));
        }
        translations.push(Translation { language, name, help, counters: counters.into() });
    }
    set.translations = translations.into();
    Ok(())
}

/// Adds the help texts and translations of the built-in catalogue to a counterset with the same GUID.
fn of_catalogue(set: &mut Counterset) {
    let Some(known) = by_guid(set.guid) else { return };
    set.help = known.help.clone();
    set.translations = known.translations.clone();
    for counter in set.counters.to_mut() {
        // The catalogue may be of another version than the writer's.
        if let Some(known) = known.counter(counter.id).filter(|known| known.name == counter.name) {
            counter.help = known.help.clone();
        }
    }
}

/// Returns the counterset for sharing, or the equal built-in one, which takes no extra memory.
fn shared(set: Counterset) -> Arc<Counterset> {
    match by_guid(set.guid) {
        Some(known) if *known == set => Arc::new(known.clone()),
        _ => Arc::new(set),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<TableDefinition> {
        let built_in = perfset_catalogue::ALL.iter().map(|set| TableDefinition {
            counterset: Arc::new((*set).clone()),
            columns: (0..set.counters.len()).collect(),
            interval_ms: 1_000,
        });
        let counter = Counter::published(CounterId(u32::MAX), CounterType::PERF_COUNTER_COUNTER)
            .name("\u{e4}\u{1F600}")
            .help("help")
            .base(CounterId(0))
            .multi(CounterId(7))
            .default_scale(-10);
        let published = Counterset::new(Guid::from_u128(5), "Mine", InstanceType::MultiAggregate)
            .help("of the set")
            .counters([counter, Counter::new(CounterId(0), CounterType(0))])
            .translations([Translation {
                language: Language(7),
                name: "Meine".into(),
                help: "Hilfe".into(),
                counters: vec![(CounterId(0), "Name".into(), "Hilfe".into())].into(),
            }]);
        let published = TableDefinition { counterset: Arc::new(published), columns: vec![1], interval_ms: 0 };
        built_in.chain([published]).collect()
    }

    #[test]
    fn definitions_round_trip() {
        for want in all() {
            for texts in [RegistrationTexts::OfCatalogue, RegistrationTexts::All] {
                let mut payload = Vec::new();
                put_definition(&mut payload, 7, &want, texts);
                let (number, got) = definition(&payload).unwrap();
                assert_eq!((number, &got), (7, &want));
            }
        }
    }

    #[test]
    fn damaged_definitions_are_errors() {
        let mut payload = Vec::new();
        put_definition(&mut payload, 7, all().last().unwrap(), RegistrationTexts::All);
        for len in 0..payload.len() {
            assert!(definition(&payload[..len]).is_err(), "{len}");
        }
        for at in 0..payload.len() {
            let mut damaged = payload.clone();
            damaged[at] ^= 0xFF;
            let _ = definition(&damaged);
        }
    }
}
