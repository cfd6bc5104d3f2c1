//! Export of countersets as a manifest: adds symbols, URIs and the clocks that manifests require.

use std::collections::BTreeSet;

use perfset_core::{
    Counter, CounterFilter, CounterId, CounterType, Counterset, DetailLevel, ProviderIdentity,
};

use crate::model::{
    INSTANCES, Manifest, ManifestCounter, ManifestSet, Mode, Provider, Resources, SchemaVersion, word_of,
    word_of_type,
};
use crate::problem::Problems;
use crate::relation::{Relation, Requirement};
use crate::symbol::{camel, constant, is_word_of_c};
use crate::xml::is_xml_char;

/// Reason why countersets cannot be exported as a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The list of countersets to export is empty.
    #[error("no counterset to export")]
    Empty,
    /// The countersets have different providers, although a manifest has only one provider.
    #[error("\"{0}\" and \"{1}\" have different providers, but a manifest has only one")]
    Providers(String, String),
    /// No manifest keyword exists for the counterset's number of instances.
    #[error("\"{0}\" merges instances of one name, which a manifest cannot express")]
    Instances(String),
    /// No manifest keyword exists for the type of an exported counter.
    #[error("\"{set}\", counter {}: a manifest cannot express the type {counter_type}", .id.0)]
    Type {
        /// Name of the counterset that has the counter.
        set: String,
        /// Id of the counter whose type has no keyword.
        id: CounterId,
        /// Counter type for which manifests have no keyword.
        counter_type: CounterType,
    },
    /// The exported countersets break other rules of manifests.
    #[error("the manifest would be invalid: {0}")]
    Broken(#[source] Problems),
}

impl Manifest {
    /// Converts countersets of one provider to a manifest.
    ///
    /// Facts without a place in manifests are omitted: units, sources, translations, title indexes. Counters computed
    /// with an object clock get two counters for that clock if they have none, as manifests require.
    ///
    /// # Errors
    /// If the countersets cannot be expressed as one manifest.
    pub fn export(sets: &[Counterset]) -> Result<Self, ExportError> {
        let first = sets.first().ok_or(ExportError::Empty)?;
        if let Some(other) = sets.iter().find(|other| other.provider.guid != first.provider.guid) {
            return Err(ExportError::Providers(first.name.to_string(), other.name.to_string()));
        }
        let ProviderIdentity { guid, name } = &first.provider;
        let mut taken = BTreeSet::new();
        // The suffix prevents a clash with the symbols of countersets.
        let symbol = unique(&mut taken, &format!("{}Provider", camel(name)), "_", guid.to_u128());
        let sets: Vec<ManifestSet> =
            sets.iter().map(|set| counterset(set, &symbol, &mut taken)).collect::<Result<_, _>>()?;
        let manifest = Self {
            schema_version: SchemaVersion::V1_1,
            provider: Provider {
                guid: *guid,
                name: printable(name),
                // The schema requires a binary, and a counterset has none.
                application: format!("{}.exe", camel(name)),
                symbol: Some(symbol),
                mode: Mode::User,
                has_callback: false,
                resource_base: None,
                sets,
            },
        };
        // Written and read again: an exported manifest follows all rules, without separate checks here.
        Self::parse(manifest.write().as_bytes()).map_err(ExportError::Broken)
    }
}

fn counterset(
    set: &Counterset,
    provider: &str,
    taken: &mut BTreeSet<String>,
) -> Result<ManifestSet, ExportError> {
    // Checked before anything is built: a manifest without these instances would describe another counterset.
    if word_of(&INSTANCES, &set.instance_type).is_none() {
        return Err(ExportError::Instances(set.name.to_string()));
    }
    let symbol = unique(taken, &camel(&set.name), "Set", set.guid.to_u128());
    let mut counters: Vec<Counter> = Vec::new();
    for counter in set.counters.iter() {
        if word_of_type(counter.counter_type).is_none() {
            let Counter { id, counter_type, .. } = *counter;
            return Err(ExportError::Type { set: set.name.to_string(), id, counter_type });
        }
        // Manifests have two levels, `standard` and `advanced`; PerfLib V1 has four.
        let is_standard = counter.detail <= DetailLevel::NOVICE;
        let mut exported = Counter::published(counter.id, counter.counter_type)
            .help(printable(&counter.help))
            .detail(if is_standard { DetailLevel::NOVICE } else { DetailLevel::ADVANCED })
            .attributes(counter.attributes)
            .default_scale(counter.default_scale)
            .base(counter.base)
            .clock(counter.perf_time, counter.perf_freq)
            .multi(counter.multi)
            .aggregate(counter.aggregate);
        exported.name = counter.name.as_deref().map(|name| printable(name).into());
        counters.push(exported);
    }
    // Before the symbols are chosen, because it can add counters, which need symbols too.
    add_clocks(&mut counters);
    let uri = format!("{provider}.{symbol}");
    // A name without Latin letters or digits leaves no C name; the symbol of the set is always one.
    let before =
        Some(constant(&set.name)).filter(|words| !words.is_empty()).unwrap_or_else(|| symbol.to_uppercase());
    let entry = |counter: Counter| {
        let word = counter.name.as_deref().map(constant).filter(|word| !word.is_empty());
        let word = word.unwrap_or_else(|| format!("COUNTER_{}", counter.id.0));
        let symbol = unique(taken, &format!("{before}_{word}"), "_", u128::from(counter.id.0));
        ManifestCounter {
            uri: format!("{uri}.{}", counter.id.0),
            symbol: Some(symbol),
            resources: Resources::default(),
            of_struct: None,
            field: None,
            counter,
        }
    };
    Ok(ManifestSet {
        guid: set.guid,
        name: printable(&set.name),
        description: printable(&set.help),
        counters: counters.into_iter().map(entry).collect(),
        symbol,
        uri,
        resources: Resources::default(),
        instances: set.instance_type,
        structs: Vec::new(),
    })
}

/// Assigns a clock counter to counters of a counterset that need one and have none: a clock of another counter, or a
/// new one.
fn add_clocks(counters: &mut Vec<Counter>) {
    for (relation, word) in [(Relation::PerfTime, "time"), (Relation::PerfFreq, "frequency")] {
        let lacks = |counter: &Counter| {
            relation.counter_id(counter).is_none()
                && matches!(relation.needs(counter.counter_type), Requirement::Must(_))
        };
        if !counters.iter().any(lacks) {
            continue;
        }
        // PerfLib has one clock per block, so a clock that the counterset already has serves all counters.
        let shared = counters.iter().find_map(|counter| relation.counter_id(counter));
        let Some(id) = shared.or_else(|| free_id(counters)) else { continue };
        for counter in counters.iter_mut().filter(|counter| lacks(counter)) {
            relation.set(counter, Some(id));
        }
        if shared.is_none() {
            let clock = Counter::published(id, CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
            let help = format!("The {word} of the clock that others are computed with.");
            counters.push(clock.help(help).hidden());
        }
    }
}

/// Returns an unused counter id: the id after the greatest one or, if that is impossible, any free id.
fn free_id(counters: &[Counter]) -> Option<CounterId> {
    let taken: BTreeSet<u32> = counters.iter().map(|counter| counter.id.0).collect();
    let next = taken.last().and_then(|last| last.checked_add(1)).into_iter();
    // The greatest u32 is no id: it is PerfLib's wildcard for counters.
    let is_free = |id: &u32| !taken.contains(id) && CounterFilter::from_wire(*id) != CounterFilter::All;
    next.chain(0..=u32::MAX).find(is_free).map(CounterId)
}

/// Returns an unused C name for a manifest's symbol: the wanted name, or a name with a number appended.
fn unique(taken: &mut BTreeSet<String>, wanted: &str, otherwise: &str, number: u128) -> String {
    let is_good =
        |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !is_word_of_c(name);
    let plain = if is_good(wanted) { wanted.to_owned() } else { format!("{otherwise}{wanted}") };
    // The appended number is an id and not a count: a symbol stays the same if counters before it come or go.
    let mut name = plain.clone();
    let mut number = number;
    while !is_good(&name) || taken.contains(&name) {
        name = format!("{plain}_{number:x}");
        number = number.wrapping_add(1);
    }
    taken.insert(name.clone());
    name
}

/// Replaces the characters of a text that XML does not permit.
fn printable(text: &str) -> String {
    text.chars().map(|c| if is_xml_char(c) { c } else { '\u{FFFD}' }).collect()
}
