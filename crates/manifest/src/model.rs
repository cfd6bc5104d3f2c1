//! What a manifest says.

use std::fmt;

use perfset_core::{
    Aggregate, Attributes, Counter, CounterType, Counterset, DetailLevel, Guid, InstanceType,
    ProviderIdentity,
};

/// A manifest that breaks no rule: one provider with its countersets.
///
/// **Shape**: a [`Provider`] has [`ManifestSet`]s, a set has [`ManifestCounter`]s, in the order of the file. A counter
/// is perfset's own [`Counter`], and beside it what only a manifest says.
///
/// Source: MS Learn, "Performance Counters Schema".
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Version of the schema.
    pub schema_version: SchemaVersion,
    /// Whose countersets they are.
    pub provider: Provider,
}

impl Manifest {
    /// Bytes that a file may have. Those of Windows itself have less than 1 MiB.
    pub const BYTES_MAX: usize = 16 << 20;

    /// Its countersets as the rest of perfset knows them; the description is the help.
    #[must_use]
    pub fn countersets(&self) -> Vec<Counterset> {
        self.provider.sets.iter().map(|set| set.counterset(&self.provider)).collect()
    }
}

/// Version of the schema: 1.1, or 2.0 where texts have resource ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaVersion {
    /// Before the dot.
    pub major: u32,
    /// Behind it.
    pub minor: u32,
}

impl SchemaVersion {
    /// Texts are numbered by the compiler.
    pub const V1_1: Self = Self { major: 1, minor: 1 };
    /// Texts have their numbers in the manifest.
    pub const V2_0: Self = Self { major: 2, minor: 0 };

    /// Whether texts have resource ids.
    #[must_use]
    pub fn has_ids(self) -> bool {
        self >= Self::V2_0
    }
}

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The provider of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Its key.
    pub guid: Guid,
    /// For people; without one in the file, "Counters".
    pub name: String,
    /// The C variable of its handle; kernel mode may have none.
    pub symbol: Option<String>,
    /// The binary with the texts, on Windows.
    pub application: String,
    /// Where it runs.
    pub mode: Mode,
    /// Whether the generated code takes a callback of the program's own.
    pub has_callback: bool,
    /// Number of the first text resource.
    pub resource_base: Option<u32>,
    /// Its countersets.
    pub sets: Vec<ManifestSet>,
}

/// What a provider without a name is called.
pub(crate) const DEFAULT_NAME: &str = "Counters";

/// Where a provider runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In a program.
    User,
    /// In a driver of Windows.
    Kernel,
}

impl Mode {
    pub(crate) const WORDS: [(&'static str, Self); 2] =
        [("userMode", Self::User), ("kernelMode", Self::Kernel)];
}

/// A counterset of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestSet {
    /// Its key.
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Its help.
    pub description: String,
    /// The C name that its variables begin with.
    pub symbol: String,
    /// Another name, unique in the world.
    pub uri: String,
    /// Resources of name and description.
    pub resources: Resources,
    /// How many instances it may have.
    pub instances: InstanceType,
    /// Structs of a driver that hold the values.
    pub structs: Vec<Struct>,
    /// Its counters.
    pub counters: Vec<ManifestCounter>,
}

impl ManifestSet {
    fn counterset(&self, provider: &Provider) -> Counterset {
        let counters: Vec<Counter> = self.counters.iter().map(|counter| counter.counter.clone()).collect();
        Counterset {
            guid: self.guid,
            name: self.name.clone().into(),
            help: self.description.clone().into(),
            provider: ProviderIdentity { guid: provider.guid, name: provider.name.clone().into() },
            instance_type: self.instances,
            counters: counters.into(),
            translations: Vec::new().into(),
            v1_index: None,
            default_counter: None,
            view_of: None,
            scope: "".into(),
        }
    }
}

/// Numbers of text resources, where schemaVersion asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Of the name; the one that follows has the English name.
    pub name: Option<u32>,
    /// Of the description.
    pub description: Option<u32>,
}

/// A struct of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its C variable.
    pub name: String,
    /// Its C type.
    pub of_type: String,
}

/// A counter of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestCounter {
    /// The counter.
    pub counter: Counter,
    /// The C macro of its id.
    pub symbol: Option<String>,
    /// Another name, unique in the world.
    pub uri: String,
    /// Resources of name and description.
    pub resources: Resources,
    /// The struct of a driver that has its value.
    pub of_struct: Option<String>,
    /// The field there.
    pub field: Option<String>,
}

/// Words for numbers of instances; type 22 has none.
pub(crate) const INSTANCES: [(&str, InstanceType); 5] = [
    ("single", InstanceType::Single),
    ("multiple", InstanceType::Multiple),
    ("globalAggregate", InstanceType::SingleAggregate),
    ("multipleAggregate", InstanceType::MultiAggregate),
    ("globalAggregateHistory", InstanceType::SingleAggregateHistory),
];

/// Words for levels of detail.
pub(crate) const DETAILS: [(&str, DetailLevel); 2] =
    [("standard", DetailLevel::NOVICE), ("advanced", DetailLevel::ADVANCED)];

/// Words for ways to combine instances.
pub(crate) const AGGREGATES: [(&str, Aggregate); 5] = [
    ("undefined", Aggregate::Undefined),
    ("sum", Aggregate::Total),
    ("avg", Aggregate::Avg),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
];

/// Words for attributes of a counter.
pub(crate) const ATTRIBUTES: [(&str, Attributes); 5] = [
    ("reference", Attributes::BY_REFERENCE),
    ("noDisplay", Attributes::NO_DISPLAYABLE),
    ("noDigitGrouping", Attributes::NO_GROUP_SEPARATOR),
    ("displayAsReal", Attributes::DISPLAY_AS_REAL),
    ("displayAsHex", Attributes::DISPLAY_AS_HEX),
];

/// The value of a word.
pub(crate) fn of_word<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// The word of a value, if it has one.
pub(crate) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, known)| known == value).map(|(word, _)| *word)
}

/// Types that have no word in manifests: no value, never defined, or known from text logs only.
const WORDLESS: [CounterType; 3] = [
    CounterType::PERF_COUNTER_NODATA,
    CounterType::PERF_COUNTER_HISTOGRAM_TYPE,
    CounterType::PERF_DOUBLE_RAW,
];

/// The type of a word such as `perf_counter_bulk_count`.
pub(crate) fn type_of_word(word: &str) -> Option<CounterType> {
    type_words().find(|(known, _)| known == word).map(|(_, known)| known)
}

/// The word of a type, if it has one.
pub(crate) fn word_of_type(counter_type: CounterType) -> Option<String> {
    type_words().find(|(_, known)| *known == counter_type).map(|(word, _)| word)
}

/// All types that manifests know, by their words.
pub(crate) fn type_words() -> impl Iterator<Item = (String, CounterType)> {
    let known = CounterType::ALL.iter().filter(|(known, _)| !WORDLESS.contains(known));
    known.map(|(known, name)| (name.to_lowercase(), *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_types() {
        // 38 names are in the schema; one of them, perf_counter_composite, has no published value.
        assert_eq!(type_words().count(), 37);
        assert_eq!(type_of_word("perf_100nsec_timer_inv"), Some(CounterType::PERF_100NSEC_TIMER_INV));
        for none in ["", "PERF_COUNTER_RAWCOUNT", "perf_counter_nodata", "perf_counter_histogram_type"] {
            assert_eq!(type_of_word(none), None, "{none}");
        }
        for none in ["perf_precision_timestamp", "perf_counter_composite", "perf_double_raw"] {
            assert_eq!(type_of_word(none), None, "{none}");
        }
        for (word, known) in type_words() {
            assert_eq!(word_of_type(known), Some(word));
        }
    }
}
