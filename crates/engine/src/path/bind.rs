//! Binds the names in a counter path to countersets, counters and instances.

use std::sync::Arc;

use perfset_core::pdh::PdhStatus;
use perfset_core::{Attributes, Counter, CounterId, Counterset, Guid, Status, Utf16};

use super::grammar::CounterPath;
use super::names::nearest;
use super::select::Selector;
use crate::error::SourceError;
use crate::query::names_the_one;
use crate::registration::{RegInfo, RegRequest};
use crate::source::Source;

/// Reason that a counter path cannot be bound to a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// No counterset has the name in the path.
    #[error("no counterset is named \"{name}\"")]
    NoCounterset {
        /// Name of the counterset as written in the path.
        name: String,
        /// Counterset names that are similar to the name in the path.
        nearest: Vec<String>,
    },
    /// The counterset has no counter of the name in the path.
    #[error("\"{counterset}\" has no counter \"{name}\"")]
    NoCounter {
        /// Name of the counterset that lacks the counter.
        counterset: String,
        /// Name of the counter as written in the path.
        name: String,
        /// Counter names that are similar to the name in the path.
        nearest: Vec<String>,
    },
    /// The counterset has instances, and the counter path names none.
    #[error("\"{counterset}\" has instances, but the path names none: try '\\{counterset}(*)\\…'")]
    NeedsInstance {
        /// Name of the counterset whose instances the path must name.
        counterset: String,
    },
    /// The counter path names an instance, and the counterset has no instances, or none now.
    #[error("\"{counterset}\" has no instances; the path names one")]
    NoInstances {
        /// Name of the counterset without instances.
        counterset: String,
    },
    /// The counterset has now no instance of the name in the path.
    #[error("\"{counterset}\" has no instance \"{name}\"")]
    NoInstance {
        /// Name of the counterset that lacks the instance.
        counterset: String,
        /// Name of the instance as written in the path.
        name: String,
    },
    /// The query refused the entry for the path, with this code.
    #[error("the query rejects the path: {0}")]
    Refused(Status),
    /// The source to which the path is bound returned an error.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<&BindError> for PdhStatus {
    fn from(error: &BindError) -> Self {
        match error {
            BindError::NoCounterset { .. } => Self::PDH_CSTATUS_NO_OBJECT,
            BindError::NoCounter { .. } => Self::PDH_CSTATUS_NO_COUNTER,
            BindError::NeedsInstance { .. } | BindError::NoInstance { .. } => Self::PDH_CSTATUS_NO_INSTANCE,
            BindError::NoInstances { .. } => Self::PDH_INVALID_PATH,
            BindError::Refused(status) => Self::from(*status),
            BindError::Source(error) => Self::from(error.status()),
        }
    }
}

/// Counterset, counters and instance selection of a counter path, resolved without enumerating instances.
#[derive(Clone, Debug)]
pub struct ResolvedPath {
    /// Counterset that the counter path names.
    pub set: Arc<Counterset>,
    /// Counters that the path selects, in the order of the counterset: a single one, or all that match a pattern.
    pub counters: Vec<CounterId>,
    /// Instance selection as written in the path, for a [`Selector`]. `None` is the nameless instance of a counterset
    /// without instances.
    pub instances: Option<String>,
}

/// Binds a counter path to a source. The machine in the path is ignored: the caller uses it to choose the source.
///
/// # Errors
/// If counterset or counter do not exist, or the instance does not fit the counterset.
pub fn resolve(source: &mut dyn Source, path: &CounterPath) -> Result<ResolvedPath, BindError> {
    let set = find_counterset(source, &path.counterset)?;
    let instances = fitting_instance(&set, path.instance.as_deref())?.map(str::to_owned);
    let counters = find_counters(&set, &path.counter)?.into_iter().map(|counter| counter.id).collect();
    Ok(ResolvedPath { set, counters, instances })
}

/// Returns the instance that a counter path names, if the counterset can have it. `None` is the nameless instance of a
/// counterset without instances.
pub(super) fn fitting_instance<'p>(
    set: &Counterset,
    instance: Option<&'p str>,
) -> Result<Option<&'p str>, BindError> {
    let counterset = || set.name.to_string();
    if !set.instance_type.is_multiple() {
        let is_it = names_the_one(set.instance_type, instance.map(Utf16::from).as_ref());
        return if is_it { Ok(None) } else { Err(BindError::NoInstances { counterset: counterset() }) };
    }
    match instance {
        None | Some("") => Err(BindError::NeedsInstance { counterset: counterset() }),
        Some(instance) => Ok(Some(instance)),
    }
}

/// Returns every counterset of a source.
pub(super) fn countersets(source: &mut dyn Source) -> Result<Vec<Arc<Counterset>>, SourceError> {
    let mut all = Vec::new();
    for guid in source.countersets()? {
        // A counterset that was unregistered meanwhile is skipped.
        if let Ok(RegInfo::Counterset(set)) = source.registration(&guid, RegRequest::Counterset) {
            all.push(set);
        }
    }
    Ok(all)
}

/// Finds a counterset by GUID, by English name, or by a name in another language.
pub(super) fn find_counterset(source: &mut dyn Source, name: &str) -> Result<Arc<Counterset>, BindError> {
    if let Ok(guid) = name.parse::<Guid>() {
        return match source.registration(&guid, RegRequest::Counterset) {
            Ok(RegInfo::Counterset(set)) => Ok(set),
            Ok(_) | Err(SourceError::UnknownCounterset(_)) => {
                Err(BindError::NoCounterset { name: name.to_owned(), nearest: Vec::new() })
            }
            Err(error) => Err(error.into()),
        };
    }
    let all = countersets(source)?;
    let is_name = |other: &str| same_name(name, other);
    // English names of all countersets first: a translation must not hide the name of another counterset.
    let english = all.iter().find(|set| is_name(&set.name));
    let found = english.or_else(|| all.iter().find(|set| set.translations.iter().any(|t| is_name(&t.name))));
    found.cloned().ok_or_else(|| {
        let near = nearest(name, all.iter().map(|set| &*set.name), 3);
        BindError::NoCounterset {
            name: name.to_owned(),
            nearest: near.into_iter().map(str::to_owned).collect(),
        }
    })
}

/// Finds counters of a counterset by name or pattern, in English or another language, or by `#ID`. A counter that is
/// not displayable matches only by its own name or id, not by a pattern.
pub(super) fn find_counters<'a>(set: &'a Counterset, text: &str) -> Result<Vec<&'a Counter>, BindError> {
    let names = |counter: &'a Counter| {
        let translated = set.translations.iter().flat_map(|t| t.counters.iter());
        let translated = translated.filter(|(id, ..)| *id == counter.id).map(|(_, name, _)| &**name);
        counter.name.as_deref().into_iter().chain(translated)
    };
    let exact: Vec<_> =
        set.counters.iter().filter(|c| names(c).any(|name| same_name(text, name))).take(1).collect();
    let by_id = || text.strip_prefix('#')?.parse().ok().map(CounterId).and_then(|id| set.counter(id));
    let by_pattern = || {
        let selector = Selector::new(text);
        let shown = set.counters.iter().filter(|c| !c.attributes.contains(Attributes::NO_DISPLAYABLE));
        shown.filter(|c| names(c).any(|name| selector.matches(name.encode_utf16(), 0))).collect()
    };
    // Exact names first, because there is no escape character: a name may contain `*`, or begin with `#`.
    let found = match (exact.is_empty(), by_id()) {
        (false, _) => exact,
        (true, Some(counter)) => vec![counter],
        (true, None) => by_pattern(),
    };
    if found.is_empty() {
        let all = set.counters.iter().filter_map(|counter| counter.name.as_deref());
        return Err(BindError::NoCounter {
            counterset: set.name.to_string(),
            name: text.to_owned(),
            nearest: nearest(text, all, 3).into_iter().map(str::to_owned).collect(),
        });
    }
    Ok(found)
}

pub(super) fn same_name(a: &str, b: &str) -> bool {
    crate::pattern::folded(a).eq(crate::pattern::folded(b))
}
