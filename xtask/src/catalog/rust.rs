//! Rust tables of the built-in countersets, before formatting.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::notice;
use super::set::{Aggregate, Attribute, Counter, Detail, Entry, Instances, Set, Translation};

/// The module of one counterset.
pub fn counterset(set: &Set) -> String {
    let entry = &set.entry;
    let symbols: String = entry.counters.iter().map(symbol).collect();
    let counters: String = entry.counters.iter().map(|c| counter(c, entry)).collect();
    let translations: String = entry.translations.iter().map(translation).collect();
    let instance_type = match entry.instances {
        Instances::Single => "Single",
        Instances::Multiple => "Multiple",
    };
    format!(
        "// {notice}; change that instead.

//! {name}: ids as constants, and the counterset as a table.

use std::borrow::Cow;

use crate::counter_type::CounterType;
use crate::counterset::{{{used}}};
use crate::guid::Guid;

/// Identifies the counterset.
pub const GUID: Guid = {guid};
{symbols}
/// The counterset.
pub static COUNTERSET: Counterset = Counterset {{
    guid: GUID,
    name: {name_text},
    help: {help},
    provider: ProviderIdentity {{ guid: {provider_guid}, name: {provider_name} }},
    instance_type: InstanceType::{instance_type},
    counters: Cow::Borrowed(&COUNTERS),
    translations: Cow::Borrowed(&[{translations}]),
    v1_index: Some({v1_index}),
    default_counter: {default_counter},
    view_of: {view_of},
    scope: {scope},
}};

static COUNTERS: [Counter; {count}] = [{counters}];
",
        notice = notice(&format!("{}.toml", set.stem)),
        name = &*entry.name,
        used = used(set),
        guid = guid(set.guid),
        name_text = text(&entry.name),
        help = text(&entry.help),
        provider_guid = guid(set.provider_guid),
        provider_name = text(&entry.provider.name),
        v1_index = entry.v1_index,
        default_counter = related(entry.default_counter().map(|counter| counter.id), entry),
        view_of = match &entry.view_of {
            Some(name) => format!("Some(super::{}::GUID)", name.to_lowercase().replace(' ', "_")),
            None => "None".to_owned(),
        },
        scope = text(entry.scope.text()),
        count = entry.counters.len(),
    )
}

/// The module above them.
pub fn index(namespace: Uuid, sets: &[Set]) -> String {
    let modules: String = sets.iter().map(|set| format!("pub mod {};\n", set.module())).collect();
    let all: String = sets.iter().map(|set| format!("&{}::COUNTERSET,", set.module())).collect();
    let former: String = former_v1_indexes(sets).map(|(index, now)| format!("({index}, {now}),")).collect();
    let adding_up = sets.iter().flat_map(|set| {
        let counters = set.entry.counters.iter().filter(|counter| counter.adds_up);
        counters.map(move |counter| format!("({0}::GUID, {0}::{1}),", set.module(), counter.symbol()))
    });
    format!(
        "// {notice}; change that instead.

//! The built-in countersets: what is known by itself on every system, to collect it or to read it.
//!
//! **Shape**: one module a counterset, with its GUID and the ids of its counters as constants, for programs that
//! know at build time what they want; [`ALL`] and [`by_guid`] for those that do not.
//!
//! ```
//! use perfset_core::catalogue::{{self, processor_information}};
//!
//! let set = catalogue::by_guid(processor_information::GUID).unwrap();
//! let busy = set.counter(processor_information::PERCENT_PROCESSOR_TIME).unwrap();
//! assert_eq!(busy.name.as_deref(), Some(\"% Processor Time\"));
//! ```

use crate::counterset::{{CounterId, Counterset}};
use crate::guid::Guid;

{modules}
#[cfg(test)]
mod tests;

/// The namespace of the GUIDs that are made of names (UUID version 5).
pub const NAMESPACE: Guid = Guid::from_u128({namespace:#034x});

/// Every built-in counterset, in the order of the modules' names.
pub static ALL: &[&Counterset] = &[{all}];

/// The built-in counterset with that GUID.
#[must_use]
pub fn by_guid(guid: Guid) -> Option<&'static Counterset> {{
    ALL.iter().copied().find(|set| set.guid == guid)
}}

/// Title indexes of earlier versions, each with the current one of the same name.
pub static FORMER_V1_INDEXES: &[(u32, u32)] = &[{former}];

/// Returns the current title index of the name that has this index, or had it in an earlier version.
#[must_use]
pub fn current_v1_index(index: u32) -> u32 {{
    let former = FORMER_V1_INDEXES.iter().find(|(former, _)| *former == index);
    former.map_or(index, |(_, now)| *now)
}}

/// Returns `true` if the sum of a counter over several instances has a meaning.
///
/// Rates of events, and amounts that each instance has for itself, have such a sum. Means, peaks, identifiers and
/// shares of different things have none, and neither have instances that are parts of one another.
#[must_use]
pub fn adds_up(counterset: Guid, counter: CounterId) -> bool {{
    ADDING_UP.contains(&(counterset, counter))
}}

static ADDING_UP: &[(Guid, CounterId)] = &[{adding_up}];
",
        adding_up = adding_up.collect::<String>(),
        notice = notice(""),
        namespace = namespace.as_u128(),
    )
}

/// Returns pairs of a former title index and the current one, ascending.
fn former_v1_indexes(sets: &[Set]) -> impl Iterator<Item = (u32, u32)> {
    let pairs = |former: &[u32], now: u32| former.iter().map(|index| (*index, now)).collect::<Vec<_>>();
    let of_set = |set: &Set| {
        let of_counters = set.entry.counters.iter().flat_map(|c| pairs(&c.former_v1_indexes, c.v1_index));
        let own = pairs(&set.entry.former_v1_indexes, set.entry.v1_index);
        own.into_iter().chain(of_counters).collect::<Vec<_>>()
    };
    sets.iter().flat_map(of_set).collect::<BTreeMap<_, _>>().into_iter()
}

fn used(set: &Set) -> String {
    let mut names = vec!["Aggregate", "Attributes", "Counter", "CounterId", "Counterset", "DetailLevel"];
    names.extend(["InstanceType", "ProviderIdentity"]);
    if !set.entry.translations.is_empty() {
        names.extend(["Language", "Translation"]);
    }
    names.join(", ")
}

fn symbol(counter: &Counter) -> String {
    let name = match &counter.name {
        Some(name) => format!("`{}`", &**name),
        None => "A counter without a name".to_owned(),
    };
    let unit = if counter.unit.is_empty() { String::new() } else { format!(", unit `{}`", &*counter.unit) };
    format!(
        "/// {name}: `{}`{unit}.\npub const {}: CounterId = CounterId({});\n",
        counter.counter_type.name,
        counter.symbol(),
        counter.id
    )
}

fn counter(counter: &Counter, entry: &Entry) -> String {
    let name = match &counter.name {
        Some(name) => format!("Some({})", text(name)),
        None => "None".to_owned(),
    };
    format!(
        "
    Counter {{
        id: {id},
        name: {name},
        help: {help},
        counter_type: CounterType::{counter_type},
        attributes: {attributes},
        detail: DetailLevel::{detail},
        default_scale: {scale},
        base: {base},
        perf_time: {time},
        perf_freq: {freq},
        multi: {multi},
        aggregate: Aggregate::{aggregate},
        unit: {unit},
        wraps: {wraps},
        caps: {caps},
        source: {source},
        availability: {availability},
        v1_index: Some({v1_index}),
    }},",
        id = counter.symbol(),
        help = text(&counter.whole_help()),
        counter_type = counter.counter_type.name,
        attributes = attributes(&counter.attributes),
        detail = match counter.detail.unwrap_or_default() {
            Detail::Novice => "NOVICE",
            Detail::Advanced => "ADVANCED",
            Detail::Expert => "EXPERT",
            Detail::Wizard => "WIZARD",
        },
        scale = counter.scale.unwrap_or_default(),
        base = related(counter.base, entry),
        time = related(counter.time, entry),
        freq = related(counter.freq, entry),
        multi = related(counter.multi, entry),
        aggregate = match counter.aggregate {
            Aggregate::Undefined => "Undefined",
            Aggregate::Sum => "Total",
            Aggregate::Avg => "Avg",
            Aggregate::Min => "Min",
            Aggregate::Max => "Max",
        },
        unit = text(&counter.unit),
        wraps = counter.wraps,
        caps = counter.caps,
        source = text(&counter.source),
        availability = text(&counter.availability),
        v1_index = counter.v1_index,
    )
}

fn translation(translation: &Translation) -> String {
    let counters = translation.counters.iter();
    let counters = counters.map(|c| format!("(CounterId({}), {}, {}),", c.id, text(&c.name), text(&c.help)));
    format!(
        "Translation {{ language: Language({:#06x}), name: {}, help: {}, counters: Cow::Borrowed(&[{}]) }},",
        translation.language,
        text(&translation.name),
        text(&translation.help),
        counters.collect::<String>()
    )
}

fn related(id: Option<u32>, entry: &Entry) -> String {
    let counter = id.and_then(|id| entry.counter(id));
    counter.map_or_else(|| "None".to_owned(), |counter| format!("Some({})", counter.symbol()))
}

fn attributes(attributes: &[Attribute]) -> String {
    let names = attributes.iter().map(|attribute| match attribute {
        Attribute::Reference => "Attributes::BY_REFERENCE",
        Attribute::NoDisplay => "Attributes::NO_DISPLAYABLE",
        Attribute::NoDigitGrouping => "Attributes::NO_GROUP_SEPARATOR",
        Attribute::DisplayAsReal => "Attributes::DISPLAY_AS_REAL",
        Attribute::DisplayAsHex => "Attributes::DISPLAY_AS_HEX",
    });
    let joined = names.map(str::to_owned).reduce(|all, next| format!("{all}.with({next})"));
    joined.unwrap_or_else(|| "Attributes(0)".to_owned())
}

fn guid(guid: uuid::Uuid) -> String {
    let digits = guid.to_string().replace('-', "_");
    format!("Guid::from_u128(0x{digits})")
}

/// A text as a literal, in several where it is long: `rustfmt` breaks none.
fn text(text: &str) -> String {
    const WIDTH: usize = 90;
    let mut parts = vec![String::new()];
    for word in text.split_inclusive(' ') {
        match parts.last_mut() {
            Some(part) if part.len() + word.len() <= WIDTH => part.push_str(word),
            _ => parts.push(word.to_owned()),
        }
    }
    match parts.as_slice() {
        [part] => format!("Cow::Borrowed({part:?})"),
        parts => {
            format!("Cow::Borrowed(concat!({}))", parts.iter().map(|p| format!("{p:?},")).collect::<String>())
        }
    }
}
