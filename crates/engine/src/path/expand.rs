//! Expands counter paths on a source: one path without wildcards per counter and instance. Also lists the available
//! names.

use std::collections::{HashMap, HashSet};

use perfset_core::pdh::PdhStatus;
use perfset_core::{Attributes, Counter, Counterset, DetailLevel, Utf16};

use super::bind::{BindError, countersets, find_counters, find_counterset, fitting_instance};
use super::grammar::CounterPath;
use super::select::Selector;
use crate::error::SourceError;
use crate::pattern::{Pattern, folded, folded_units};
use crate::source::Source;

/// Parts of a counter path that [`expand`] leaves as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpandOptions {
    /// `true` to leave the counter of the path as written.
    #[doc(alias = "PDH_NOEXPANDCOUNTERS")]
    pub counters: bool,
    /// `true` to leave the instance of the path as written.
    #[doc(alias = "PDH_NOEXPANDINSTANCES")]
    pub instances: bool,
}

/// Expands a counter path to paths without wildcards: instances in the order of the source, counters in that of the
/// counterset. The second and later instances of a name are `name#1`, `name#2`.
///
/// Parent, instance, index and counter can each be a name or a pattern; helpers are omitted.
///
/// ```
/// use perfset::{Machine, path::{ExpandOptions, expand}, testing::FixedClock};
///
/// let mut machine = Machine::new(Box::new(FixedClock::default()));
/// let paths = expand(&mut machine, &r"\perfset engine\collections*".parse()?, ExpandOptions::default())?;
/// assert_eq!(paths[0].to_string(), r"\Perfset Engine\Collections/sec");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If counterset, counter or instance do not exist, or the instance does not fit the counterset. This includes an
/// instance wildcard without instances.
#[doc(alias = "PdhExpandWildCardPath")]
#[doc(alias = "PdhExpandCounterPath")]
pub fn expand(
    source: &mut dyn Source,
    path: &CounterPath,
    unexpanded: ExpandOptions,
) -> Result<Vec<CounterPath>, BindError> {
    let set = find_counterset(source, &path.counterset)?;
    let no_instances = || BindError::NoInstances { counterset: set.name.to_string() };
    // Binding accepts `*` here. Expansion must refuse a wildcard without instances, as in pdh.h (P-18).
    if !set.instance_type.is_multiple() && path.instance.is_some() {
        return Err(no_instances());
    }
    let instances = match fitting_instance(&set, path.instance.as_deref())? {
        None => vec![None],
        Some(text) if unexpanded.instances => vec![Some(text.to_owned())],
        Some(text) => {
            let names = instances(source, &set)?;
            if names.is_empty() {
                return Err(no_instances());
            }
            let meant = meant(&names, text);
            if meant.is_empty() {
                let (counterset, name) = (set.name.to_string(), text.to_owned());
                return Err(BindError::NoInstance { counterset, name });
            }
            meant.into_iter().map(Some).collect()
        }
    };
    let counters = match unexpanded.counters {
        true => vec![path.counter.clone()],
        false => {
            find_counters(&set, &path.counter)?.into_iter().map(|c| c.shown_name().into_owned()).collect()
        }
    };
    let one = |instance: &Option<String>, counter: &String| CounterPath {
        machine: path.machine.clone(),
        counterset: set.name.to_string(),
        instance: instance.clone(),
        counter: counter.clone(),
    };
    Ok(instances.iter().flat_map(|instance| counters.iter().map(move |c| one(instance, c))).collect())
}

/// Checks a counter path on a source: counterset and counter exist, and so does an instance that is named without a
/// wildcard.
///
/// # Errors
/// The status for the problem: an empty text is a wrong argument here.
#[doc(alias = "PdhValidatePath")]
#[doc(alias = "PdhValidatePathEx")]
pub fn validate(source: &mut dyn Source, text: &str) -> Result<(), PdhStatus> {
    // Only here an empty text is a wrong argument: added to a query, it has a code of its own (P-5, P-20).
    if text.is_empty() {
        return Err(PdhStatus::PDH_INVALID_ARGUMENT);
    }
    let path: CounterPath = text.parse().map_err(|error| PdhStatus::from(&error))?;
    validate_path(source, &path).map_err(|error| PdhStatus::from(&error))
}

fn validate_path(source: &mut dyn Source, path: &CounterPath) -> Result<(), BindError> {
    let set = find_counterset(source, &path.counterset)?;
    find_counters(&set, &path.counter)?;
    match fitting_instance(&set, path.instance.as_deref())? {
        Some(text) if !is_pattern(text) && meant(&instances(source, &set)?, text).is_empty() => {
            Err(BindError::NoInstance { counterset: set.name.to_string(), name: text.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Returns the names of the countersets with a displayable counter of this detail level or a lower level, each name
/// once.
///
/// # Errors
/// If the source cannot be read.
#[doc(alias = "PdhEnumObjects")]
pub fn objects(source: &mut dyn Source, detail: DetailLevel) -> Result<Vec<String>, SourceError> {
    let all = countersets(source)?;
    let shown = all.iter().filter(|set| set.detail() <= detail);
    Ok(unique(shown.map(|set| set.name.to_string())))
}

/// Counter and instance names of one counterset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectItems {
    /// Names of the counterset's displayable counters of the requested detail level or below, each once.
    pub counters: Vec<String>,
    /// Names of the counterset's instances, each once; `None` if the counterset has no instances at all.
    pub instances: Option<Vec<String>>,
}

/// Returns the names of a counterset's counters, of this detail level or below, and of its instances.
///
/// # Errors
/// If there is no such counterset, or the source cannot be read.
#[doc(alias = "PdhEnumObjectItems")]
pub fn object_items(
    source: &mut dyn Source,
    object: &str,
    detail: DetailLevel,
) -> Result<ObjectItems, BindError> {
    let set = find_counterset(source, object)?;
    let is_shown = |counter: &&Counter| {
        !counter.attributes.contains(Attributes::NO_DISPLAYABLE) && counter.detail <= detail
    };
    let instances = match set.instance_type.is_multiple() {
        false => None,
        true => Some(unique(instances(source, &set)?.iter().map(ToString::to_string))),
    };
    Ok(ObjectItems {
        counters: unique(set.counters.iter().filter(is_shown).map(|c| c.shown_name().into_owned())),
        instances,
    })
}

/// Returns the current instances of a counterset. Having none is no error.
fn instances(source: &mut dyn Source, set: &Counterset) -> Result<Vec<Utf16>, SourceError> {
    match source.instances(&set.guid) {
        Ok(instances) => Ok(instances.into_iter().map(|instance| instance.name).collect()),
        Err(SourceError::NoInstances(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the instance names that a text selects; the second and later of equal names get an index. A plain name
/// selects only the first.
fn meant(names: &[Utf16], text: &str) -> Vec<String> {
    let (selector, is_name) = (Selector::new(text), Selector::is_plain(text) && !is_pattern(text));
    let mut seen: HashMap<Vec<u16>, usize> = HashMap::new();
    let mut meant = Vec::new();
    for name in names {
        // Occurrences are counted as names are compared, ignoring case.
        let next = seen.entry(folded_units(name.units()).collect()).or_default();
        let occurrence = *next;
        *next = next.saturating_add(1);
        if selector.matches(name.units().iter().copied(), occurrence) && (occurrence == 0 || !is_name) {
            meant.push(with_index(&name.to_string(), occurrence));
        }
    }
    meant
}

/// Returns an instance name, with `#` and its index appended unless the index is 0.
pub(super) fn with_index(name: &str, occurrence: usize) -> String {
    if occurrence == 0 { name.to_owned() } else { format!("{name}#{occurrence}") }
}

/// Returns `true` if a part of a path can select several names: a pattern, alternatives, or an exclusion.
pub(super) fn is_pattern(text: &str) -> bool {
    Pattern::new(&text.into()).has_wildcard() || text.starts_with(['{', '!'])
}

/// Returns each name once, in order of first appearance, ignoring case.
fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: HashSet<Vec<u16>> = HashSet::new();
    names.filter(|name| seen.insert(folded(name).collect())).collect()
}
