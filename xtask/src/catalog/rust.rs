//! Generator of the Rust tables of the built-in countersets.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::notice;
use super::set::{
    Aggregate, Attribute, CostClass, Counter, Detail, Entry, Instances, Range, Set, Text, Translation,
};

/// Returns the Rust module of one counterset.
pub fn counterset(set: &Set) -> String {
    let entry = &set.entry;
    let symbols: String = entry.counters.iter().map(symbol).collect();
    let rows: String = entry.counters.iter().map(|c| row(c, entry)).collect();
    let translations: String = entry.translations.iter().map(translation).collect();
    let translations = (!translations.is_empty()).then_some(translations);
    format!(
        "// {notice}; change that instead.

//! {name}: ids as constants, and the counterset as a table.

use perfset_core::{{{used}}};

use crate::row::{{counters, row, set}};

/// GUID of the counterset {name}.
pub const GUID: Guid = {guid};
{symbols}
/// Counterset {name}, with its counters.
pub static COUNTERSET: Counterset =
{definition};

static COUNTERS: [Counter; {count}] = counters([
{rows}]);
{translations}",
        notice = notice(&format!("{}.toml", set.stem)),
        name = &*entry.name,
        used = used(set, &rows).join(", "),
        guid = guid(set.guid),
        definition = definition(set),
        count = entry.counters.len(),
        translations = translations.map_or_else(String::new, |all| {
            format!("\nstatic TRANSLATIONS: [Translation; {}] = [\n{all}];\n", entry.translations.len())
        }),
    )
}

/// Returns the Rust module that contains the modules of all countersets.
pub fn index(namespace: Uuid, sets: &[Set]) -> String {
    let modules: String = sets.iter().map(|set| format!("pub mod {};\n", set.module())).collect();
    let all: String = sets.iter().map(|set| format!("&{}::COUNTERSET,", set.module())).collect();
    let former: String = former_v1_indexes(sets).map(|(index, now)| format!("({index}, {now}),")).collect();
    let adding_up = sets.iter().flat_map(|set| {
        let counters = set.entry.counters.iter().filter(|counter| counter.adds_up);
        counters.map(move |counter| format!("({0}::GUID, {0}::{1}),", set.module(), counter.symbol()))
    });
    let ranges = sets.iter().flat_map(|set| {
        let place = move |counter: &Counter| format!("{0}::GUID, {0}::{1}", set.module(), counter.symbol());
        set.entry.counters.iter().filter_map(move |counter| match counter.range {
            Range::Unbounded => None,
            Range::Percent => Some(format!("({}, ValueRange::Percent),", place(counter))),
            Range::PercentOfCpus => Some(format!("({}, ValueRange::PercentOfProcessors),", place(counter))),
        })
    });
    let words: String = sets.iter().map(words).collect();
    format!(
        "// {notice}; change that instead.

//! The countersets, one module each, and what is known of all of them.

use perfset_core::{{CounterId, Counterset, Guid}};

use crate::{{SearchWords, ValueRange}};

{modules}
/// The namespace of the GUIDs that are made of names (UUID version 5).
pub const NAMESPACE: Guid = Guid::from_u128({namespace:#034x});

/// Every built-in counterset, in the order of the modules' names.
pub static ALL: &[&Counterset] = &[{all}];

/// Title indexes of earlier versions, each with the current one of the same name.
pub static FORMER_V1_INDEXES: &[(u32, u32)] = &[{former}];

/// Counters whose sum over several instances has a meaning.
pub(crate) static ADDING_UP: &[(Guid, CounterId)] = &[{adding_up}];

/// Ranges of the counters whose formatted values have an upper limit.
pub(crate) static RANGES: &[(Guid, CounterId, ValueRange)] = &[{ranges}];

/// Words of the countersets, in the order of the modules' names.
pub(crate) static WORDS: &[SearchWords] = &[{words}];
",
        adding_up = adding_up.collect::<String>(),
        ranges = ranges.collect::<String>(),
        notice = notice(""),
        namespace = namespace.as_u128(),
    )
}

/// Returns the source text of the search words of a counterset and its counters, and of the first counter to try.
fn words(set: &Set) -> String {
    let list = |words: &[Text]| words.iter().map(|phrase| format!("{:?},", &**phrase)).collect::<String>();
    let constant = |counter: &Counter| format!("{}::{}", set.module(), counter.symbol());
    let with_words = set.entry.counters.iter().filter(|counter| !counter.words.is_empty());
    let counters: String =
        with_words.map(|counter| format!("({}, &[{}]),", constant(counter), list(&counter.words))).collect();
    let of_set = list(&set.entry.words);
    let first =
        set.entry.first_counter().map_or("None".to_owned(), |first| format!("Some({})", constant(first)));
    let guid = format!("{}::GUID", set.module());
    format!(
        "SearchWords {{ guid: {guid}, first: {first}, counterset: &[{of_set}], counters: &[{counters}] }},"
    )
}

/// Returns pairs of a former V1 title index and the current one of the same name, ascending.
fn former_v1_indexes(sets: &[Set]) -> impl Iterator<Item = (u32, u32)> {
    let pairs = |former: &[u32], now: u32| former.iter().map(|index| (*index, now)).collect::<Vec<_>>();
    let of_set = |set: &Set| {
        let of_counters = set.entry.counters.iter().flat_map(|c| pairs(&c.former_v1_indexes, c.v1_index));
        let own = pairs(&set.entry.former_v1_indexes, set.entry.v1_index);
        own.into_iter().chain(of_counters).collect::<Vec<_>>()
    };
    sets.iter().flat_map(of_set).collect::<BTreeMap<_, _>>().into_iter()
}

/// Returns the types of `perfset_core` that a counterset's generated module uses.
fn used(set: &Set, rows: &str) -> Vec<&'static str> {
    let mut names = vec!["Counter", "CounterId", "CounterType as T", "Counterset", "Guid", "InstanceType"];
    let in_rows = [
        ("Aggregate::", "Aggregate"),
        ("Attributes::", "Attributes"),
        ("CostClass::", "CostClass"),
        ("DetailLevel::", "DetailLevel"),
    ];
    names.extend(in_rows.iter().filter(|(part, _)| rows.contains(part)).map(|(_, name)| *name));
    if !set.entry.translations.is_empty() {
        names.extend(["Language", "Translation"]);
    }
    names.sort_unstable();
    names
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

fn definition(set: &Set) -> String {
    let entry = &set.entry;
    let instance_type = match entry.instances {
        Instances::Single => "Single",
        Instances::Multiple => "Multiple",
    };
    let mut call = Call::new();
    call.put(&format!("set(GUID, {:?}, InstanceType::{instance_type}, {})", &*entry.name, entry.v1_index));
    call.put(&format!(".provider({}, {:?})", guid(set.provider_guid), &*entry.provider.name));
    if let Some(counter) = entry.default_counter() {
        call.put(&format!(".default_counter({})", counter.symbol()));
    }
    if let Some(name) = &entry.view_of {
        call.put(&format!(".view_of(super::{}::GUID)", name.to_lowercase().replace(' ', "_")));
    }
    call.put_text("scope", entry.scope.text());
    call.put_text("help", &entry.help);
    let translations = if entry.translations.is_empty() { "[]" } else { "TRANSLATIONS" };
    call.put(&format!(".of(&COUNTERS, &{translations})"));
    call.0
}

/// Returns the source text of a counter's row in the Rust table. The row has its key, name and type, and calls for
/// all fields that differ from their defaults.
fn row(counter: &Counter, entry: &Entry) -> String {
    let mut call = Call::new();
    call.put(&format!("row({},", counter.symbol()));
    call.put(&format!(" {:?},", counter.name.as_deref().unwrap_or_default()));
    call.put(&format!(" T::{},", counter.counter_type.name));
    call.put(&format!(" {})", counter.v1_index));
    match counter.detail.unwrap_or_default() {
        Detail::Novice => call.put(".detail(DetailLevel::NOVICE)"),
        Detail::Advanced => {}
        Detail::Expert => call.put(".detail(DetailLevel::EXPERT)"),
        Detail::Wizard => call.put(".detail(DetailLevel::WIZARD)"),
    }
    for attribute in &counter.attributes {
        call.put(match attribute {
            Attribute::Reference => ".attribute(Attributes::BY_REFERENCE)",
            Attribute::NoDisplay => ".hidden()",
            Attribute::NoDigitGrouping => ".attribute(Attributes::NO_GROUP_SEPARATOR)",
            Attribute::DisplayAsReal => ".attribute(Attributes::DISPLAY_AS_REAL)",
            Attribute::DisplayAsHex => ".attribute(Attributes::DISPLAY_AS_HEX)",
        });
    }
    let related = |id: Option<u32>| id.and_then(|id| entry.counter(id)).map(Counter::symbol);
    if let Some(base) = related(counter.base) {
        call.put(&format!(".base({base})"));
    }
    if let Some(multi) = related(counter.multi) {
        call.put(&format!(".multi({multi})"));
    }
    if let Some((time, freq)) = related(counter.time).zip(related(counter.freq)) {
        call.put(&format!(".clock({time}, {freq})"));
    }
    if let Some(scale) = counter.scale.filter(|scale| *scale != 0) {
        call.put(&format!(".scale({scale})"));
    }
    match counter.aggregate {
        Aggregate::Undefined => {}
        Aggregate::Sum => call.put(".aggregate(Aggregate::Total)"),
        Aggregate::Avg => call.put(".aggregate(Aggregate::Avg)"),
        Aggregate::Min => call.put(".aggregate(Aggregate::Min)"),
        Aggregate::Max => call.put(".aggregate(Aggregate::Max)"),
    }
    call.put_text("unit", &counter.unit);
    if counter.wraps {
        call.put(".wraps()");
    }
    if counter.caps {
        call.put(".caps()");
    }
    match counter.cost_class {
        CostClass::Cheap => {}
        CostClass::Moderate => call.put(".cost_class(CostClass::Moderate)"),
        CostClass::Expensive => call.put(".cost_class(CostClass::Expensive)"),
    }
    call.put_text("file", &counter.file);
    call.put_text("field", &counter.field);
    call.put_text("availability", &counter.availability);
    call.put_text("help", &counter.whole_help());
    format!("{},\n", call.0)
}

/// Source text of chained calls, with as many calls in a line as fit: `rustfmt` would make a line of each.
struct Call(String);

impl Call {
    const WIDTH: usize = 118;
    const INDENT: usize = 8;

    fn new() -> Self {
        Self(" ".repeat(4))
    }

    /// Appends a part of a chained call to the source text, on a new line if it does not fit into the current one.
    fn put(&mut self, part: &str) {
        if self.column() + part.chars().count() > Self::WIDTH {
            self.break_line(Self::INDENT);
            self.0.push_str(part.trim_start());
        } else {
            self.0.push_str(part);
        }
    }

    /// Appends the call of a builder's method with a text to the source text, unless the text is empty. A long text
    /// is continued on more lines.
    fn put_text(&mut self, method: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let part = format!(".{method}({text:?})");
        if Self::INDENT + part.chars().count() <= Self::WIDTH {
            return self.put(&part);
        }
        self.break_line(Self::INDENT);
        for word in part.split_inclusive(' ') {
            if self.column() + word.chars().count() >= Self::WIDTH {
                self.0.push('\\');
                self.break_line(Self::INDENT + 4);
            }
            self.0.push_str(word);
        }
    }

    fn column(&self) -> usize {
        self.0.lines().last().unwrap_or_default().chars().count()
    }

    fn break_line(&mut self, indent: usize) {
        self.0.push('\n');
        self.0.push_str(&" ".repeat(indent));
    }
}

fn translation(translation: &Translation) -> String {
    let counters = translation.counters.iter();
    let counters = counters.map(|c| format!("(CounterId({}), {}, {}),", c.id, text(&c.name), text(&c.help)));
    let counters: String = counters.collect();
    let (language, name, help) = (translation.language, text(&translation.name), text(&translation.help));
    let counters = format!("std::borrow::Cow::Borrowed(&[{counters}])");
    let fields =
        format!("language: Language({language:#06x}), name: {name}, help: {help}, counters: {counters}");
    format!("    Translation {{ {fields} }},\n")
}

/// Returns a text of a catalogue file as Rust source.
fn text(text: &str) -> String {
    format!("std::borrow::Cow::Borrowed({text:?})")
}

fn guid(guid: uuid::Uuid) -> String {
    let digits = guid.to_string().replace('-', "_");
    format!("Guid::from_u128(0x{digits})")
}
