//! Data model of a manifest.

use std::fmt;

use perfset_core::{
    Aggregate, Attributes, Counter, CounterType, Counterset, DetailLevel, Guid, InstanceType,
};

/// Valid manifest: one provider with its countersets.
///
/// **Shape**: a [`Provider`] has [`ManifestSet`]s, a set has [`ManifestCounter`]s, in the order of the file. A
/// manifest counter consists of perfset's [`Counter`] and of facts that only manifests contain.
///
/// Source: MS Learn, "Performance Counters Schema".
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Version of the manifest schema.
    pub schema_version: SchemaVersion,
    /// Provider of the countersets in the manifest.
    pub provider: Provider,
}

impl Manifest {
    /// Maximum number of bytes of a manifest file. The manifests of Windows itself have less than 1 MiB.
    pub const BYTES_MAX: usize = 16 << 20;

    /// Returns the countersets in the type that other parts of perfset use. Their help texts are the descriptions.
    #[must_use]
    pub fn countersets(&self) -> Vec<Counterset> {
        self.provider.sets.iter().map(|set| set.counterset(&self.provider)).collect()
    }
}

/// Version of the manifest schema: 1.1, or 2.0 if texts have resource ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaVersion {
    /// Number before the dot of the schema version.
    pub major: u32,
    /// Number after the dot of the schema version.
    pub minor: u32,
}

impl SchemaVersion {
    /// Schema version 1.1, in which the manifest compiler chooses the resource ids of texts.
    pub const V1_1: Self = Self { major: 1, minor: 1 };
    /// Schema version 2.0, in which the manifest contains the resource ids of texts.
    pub const V2_0: Self = Self { major: 2, minor: 0 };

    /// Returns `true` if texts of this schema version have resource ids.
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

/// Provider of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// GUID that identifies the provider.
    pub guid: Guid,
    /// Display name of the provider; "Counters" if the manifest contains none.
    pub name: String,
    /// Name of the C variable with the provider's handle; optional in kernel mode.
    pub symbol: Option<String>,
    /// Binary file that contains the provider's names and descriptions as resources on Windows.
    pub application: String,
    /// Mode in which the provider runs: in a program or in a driver.
    pub mode: Mode,
    /// `true` if the generated code accepts a callback of the publisher.
    pub has_callback: bool,
    /// Resource id of the first text of the provider.
    pub resource_base: Option<u32>,
    /// Countersets of the provider.
    pub sets: Vec<ManifestSet>,
}

/// Default name of a provider whose manifest contains no name.
pub(crate) const DEFAULT_NAME: &str = "Counters";

/// Mode in which a provider runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// User mode: the provider runs in a program.
    User,
    /// Kernel mode: the provider runs in a driver of Windows.
    Kernel,
}

impl Mode {
    pub(crate) const WORDS: [(&'static str, Self); 2] =
        [("userMode", Self::User), ("kernelMode", Self::Kernel)];
}

/// Counterset of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestSet {
    /// GUID that identifies the counterset.
    pub guid: Guid,
    /// Name of the counterset.
    pub name: String,
    /// Help text of the counterset.
    pub description: String,
    /// Prefix of the names of the counterset's C variables.
    pub symbol: String,
    /// Globally unique alternative name of the counterset.
    pub uri: String,
    /// Resource ids of the counterset's name and description.
    pub resources: Resources,
    /// Number of instances that the counterset may have, and their aggregation.
    pub instances: InstanceType,
    /// Structs of a driver that contain the values of the counters.
    pub structs: Vec<Struct>,
    /// Counters of the counterset.
    pub counters: Vec<ManifestCounter>,
}

impl ManifestSet {
    fn counterset(&self, provider: &Provider) -> Counterset {
        let counters: Vec<Counter> = self.counters.iter().map(|counter| counter.counter.clone()).collect();
        Counterset::new(self.guid, self.name.clone(), self.instances)
            .help(self.description.clone())
            .provider(provider.guid, provider.name.clone())
            .counters(counters)
    }
}

/// Resource ids of name and description, if the schema version requires them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Resource id of the name of a counterset or counter; the next id is that of the English name.
    pub name: Option<u32>,
    /// Resource id of the description of a counterset or counter.
    pub description: Option<u32>,
}

/// Struct of a driver that contains counter values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Name of the C variable that is the driver's struct.
    pub name: String,
    /// Name of the C type of the driver's struct.
    pub of_type: String,
}

/// Counter of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestCounter {
    /// Definition of the counter, as in other parts of perfset.
    pub counter: Counter,
    /// Name of the C macro for the counter's id.
    pub symbol: Option<String>,
    /// Globally unique alternative name of the counter.
    pub uri: String,
    /// Resource ids of the counter's name and description.
    pub resources: Resources,
    /// Name of a driver's struct that contains the value of the counter.
    pub of_struct: Option<String>,
    /// Field of the driver's struct that contains the counter's value.
    pub field: Option<String>,
}

/// Keywords of manifests for the instance types of countersets; instance type 22 has none.
pub(crate) const INSTANCES: [(&str, InstanceType); 5] = [
    ("single", InstanceType::Single),
    ("multiple", InstanceType::Multiple),
    ("globalAggregate", InstanceType::SingleAggregate),
    ("multipleAggregate", InstanceType::MultiAggregate),
    ("globalAggregateHistory", InstanceType::SingleAggregateHistory),
];

/// Keywords of manifests for levels of detail.
pub(crate) const DETAILS: [(&str, DetailLevel); 2] =
    [("standard", DetailLevel::NOVICE), ("advanced", DetailLevel::ADVANCED)];

/// Keywords of manifests for aggregation functions.
pub(crate) const AGGREGATES: [(&str, Aggregate); 5] = [
    ("undefined", Aggregate::Undefined),
    ("sum", Aggregate::Total),
    ("avg", Aggregate::Avg),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
];

/// Keywords of manifests for attributes of a counter.
pub(crate) const ATTRIBUTES: [(&str, Attributes); 5] = [
    ("reference", Attributes::BY_REFERENCE),
    ("noDisplay", Attributes::NO_DISPLAYABLE),
    ("noDigitGrouping", Attributes::NO_GROUP_SEPARATOR),
    ("displayAsReal", Attributes::DISPLAY_AS_REAL),
    ("displayAsHex", Attributes::DISPLAY_AS_HEX),
];

/// Returns the value that a keyword of manifests stands for.
pub(crate) fn from_word<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// Returns the keyword that manifests have for a value, if there is one.
pub(crate) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, known)| known == value).map(|(word, _)| *word)
}

/// Counter types without a keyword in manifests, because they have no value, were never defined, or occur in text logs
/// only.
const WORDLESS: [CounterType; 3] = [
    CounterType::PERF_COUNTER_NODATA,
    CounterType::PERF_COUNTER_HISTOGRAM_TYPE,
    CounterType::PERF_DOUBLE_RAW,
];

/// Returns the counter type of a manifest's keyword such as `perf_counter_bulk_count`.
pub(crate) fn type_of_word(word: &str) -> Option<CounterType> {
    type_words().find(|(known, _)| known == word).map(|(_, known)| known)
}

/// Returns the keyword that manifests have for a counter type, if there is one.
pub(crate) fn word_of_type(counter_type: CounterType) -> Option<String> {
    type_words().find(|(_, known)| *known == counter_type).map(|(word, _)| word)
}

/// Returns all counter types that manifests support, with their keywords.
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
