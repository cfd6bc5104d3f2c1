//! Paths bound to a source: as few entries of a query as it takes, and values by path.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::{
    Attributes, Counter, CounterFilter, CounterId, Counterset, Guid, InstanceType, Name, NoValue, Status,
};

use super::grammar::CounterPath;
use super::names::nearest;
use super::select::Selector;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::registration::{RegInfo, RegRequest};
use crate::snapshot::{EntryInfo, Snapshot};
use crate::source::{Next, QueryHandle, Source};
use crate::values::Value;

/// Paths that are collected together, and their last two samples.
///
/// A path without wildcards is one entry of the query, and one more if its counter is divided by another. What does
/// not exist yet is no error: a pattern means what is there when it is collected.
///
/// ```
/// use perfset_engine::{Machine, path::PathQuery, testing::FixedClock};
///
/// let mut machine = Machine::new(Box::new(FixedClock::default()));
/// let mut query = PathQuery::open(&mut machine)?;
/// query.add(&mut machine, &r"\Perfset Engine\Collections/sec".parse()?)?;
/// query.collect()?;
/// query.collect()?; // this clock advances one second a reading
/// assert_eq!(query.values()[0].value.value.clone()?.raw, 1.0);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct PathQuery {
    query: Box<dyn QueryHandle>,
    paths: Vec<Bound>,
    /// What is in the query, in its order.
    entries: Vec<Entry>,
    new: Snapshot,
    old: Snapshot,
    samples: u64,
}

impl std::fmt::Debug for PathQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PathQuery").field("paths", &self.paths).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Bound {
    /// Whether a wildcard asks for whatever the counterset has.
    all_counters: bool,
    counters: Vec<CounterId>,
    /// Positions of its entries in the query; without those for bases.
    entries: Vec<usize>,
    /// What the engine's own pattern does not say.
    selector: Option<Selector>,
    /// The instances as they were written, as a block would hold them.
    instance: Vec<u8>,
}

/// One value of one path.
#[derive(Clone, Debug)]
pub struct PathValue<'a> {
    /// Position of the path, in the order of addition.
    pub path: usize,
    /// The value, its counter and its instance.
    pub value: Value<'a>,
    /// Which instance of that name it is, from 0, in this sample. Not an identity.
    pub occurrence: usize,
}

/// A path means nothing on this source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// No counterset has that name.
    #[error("no counterset is named \"{name}\"")]
    NoCounterset {
        /// As it was written.
        name: String,
        /// Names that are near.
        nearest: Vec<String>,
    },
    /// The counterset has no counter of that name.
    #[error("\"{counterset}\" has no counter \"{name}\"")]
    NoCounter {
        /// The counterset's name.
        counterset: String,
        /// As it was written.
        name: String,
        /// Names that are near.
        nearest: Vec<String>,
    },
    /// The counterset has instances, and the path names none.
    #[error("\"{counterset}\" has instances, and the path says not which")]
    NeedsInstance {
        /// The counterset's name.
        counterset: String,
    },
    /// The counterset has one nameless instance, and the path names one.
    #[error("\"{counterset}\" has no instances")]
    NoInstances {
        /// The counterset's name.
        counterset: String,
    },
    /// The query refuses the entry.
    #[error("the query refuses it: {0}")]
    Refused(Status),
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl PathQuery {
    /// A query without paths.
    ///
    /// # Errors
    /// If the source cannot be asked.
    pub fn open(source: &mut dyn Source) -> Result<Self, SourceError> {
        Ok(Self {
            query: source.open()?,
            paths: Vec::new(),
            entries: Vec::new(),
            new: Snapshot::default(),
            old: Snapshot::default(),
            samples: 0,
        })
    }

    /// Binds a path to the source that this query was opened on, and adds it. Returns its position.
    ///
    /// The machine in the path is not looked at: it says which source to open.
    ///
    /// # Errors
    /// If counterset or counter do not exist, or the instance does not fit the counterset.
    pub fn add(&mut self, source: &mut dyn Source, path: &CounterPath) -> Result<usize, BindError> {
        let set = find_counterset(source, &path.counterset)?;
        let counterset = || set.name.to_string();
        let instance = match (set.instance_type, path.instance.as_deref()) {
            (InstanceType::Single, None | Some("" | "*")) => None,
            (InstanceType::Single, Some(_)) => {
                return Err(BindError::NoInstances { counterset: counterset() });
            }
            (_, None | Some("")) => return Err(BindError::NeedsInstance { counterset: counterset() }),
            (_, Some(instance)) => Some(instance),
        };
        let counters = find_counters(&set, &path.counter)?;
        let pattern = instance.map(|text| if Selector::is_plain(text) { text } else { "*" });
        let selector = instance.filter(|text| !Selector::is_plain(text)).map(Selector::new);
        let all_counters = path.counter == "*";
        let written = path.instance.as_deref().unwrap_or_default();
        let instance = written.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut bound = Bound { all_counters, counters: Vec::new(), entries: Vec::new(), selector, instance };
        let entry = |counter| {
            let entry = Entry { counter, ..Entry::all(set.guid) };
            pattern.map_or_else(|| entry.clone(), |pattern| entry.clone().instance(pattern))
        };
        if all_counters {
            bound.entries.push(self.entry(entry(CounterFilter::All))?);
            bound.counters = counters.iter().map(|counter| counter.id).collect();
        } else {
            for counter in counters {
                bound.counters.push(counter.id);
                bound.entries.push(self.entry(entry(CounterFilter::One(counter.id)))?);
                for related in [counter.base, counter.multi].into_iter().flatten() {
                    self.entry(entry(CounterFilter::One(related)))?;
                }
            }
        }
        self.paths.push(bound);
        Ok(self.paths.len().saturating_sub(1))
    }

    /// The position of an entry in the query, where it is now if it was not.
    fn entry(&mut self, entry: Entry) -> Result<usize, BindError> {
        if let Some(at) = self.entries.iter().position(|known| *known == entry) {
            return Ok(at);
        }
        let status = self.query.add(&entry);
        if !status.is_success() {
            return Err(BindError::Refused(status));
        }
        self.entries.push(entry);
        Ok(self.entries.len().saturating_sub(1))
    }

    /// Takes a sample of all paths; the one before stays as the older of two.
    ///
    /// # Errors
    /// If there is nothing to deliver at all.
    pub fn collect(&mut self) -> Result<Next, SourceError> {
        std::mem::swap(&mut self.new, &mut self.old);
        let next = self.query.next(&mut self.new);
        match next {
            Ok(Next::Sample) => self.samples = self.samples.saturating_add(1),
            Ok(Next::End) | Err(_) => std::mem::swap(&mut self.new, &mut self.old),
        }
        next
    }

    /// How many entries the paths take, those for bases included.
    #[must_use]
    pub fn entries_len(&self) -> usize {
        self.entries.len()
    }

    /// The last sample.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.new
    }

    /// The values of the last sample, path by path; in each, counter by counter.
    #[must_use]
    pub fn values(&self) -> Vec<PathValue<'_>> {
        if self.samples == 0 {
            return Vec::new();
        }
        let older = (self.samples > 1).then_some(&self.old);
        let mut by_entry: Vec<Vec<(Value<'_>, usize)>> = vec![Vec::new(); self.entries.len()];
        // Values come row by row: which of its name a row is, is found out at its first counter.
        let first = |info: &EntryInfo| info.counters().next().map(|counter| counter.id);
        let firsts: Vec<Option<CounterId>> = self.new.entries().iter().map(first).collect();
        let mut occurrences: HashMap<(usize, &[u8]), usize> = HashMap::new();
        let mut occurrence = 0;
        self.new.values(older).for_each(|value| {
            let Some(values) = by_entry.get_mut(value.entry) else { return };
            if firsts.get(value.entry) == Some(&Some(value.counter.id)) {
                let seen = occurrences.entry((value.entry, value.instance.as_bytes())).or_default();
                occurrence = *seen;
                *seen = seen.saturating_add(1);
            }
            values.push((value, occurrence));
        });
        let mut all = Vec::new();
        for (path, bound) in self.paths.iter().enumerate() {
            for values in bound.entries.iter().filter_map(|at| by_entry.get(*at)) {
                let before = all.len();
                for (value, occurrence) in values {
                    if bound.means(value, *occurrence) {
                        all.push(PathValue { path, value: value.clone(), occurrence: *occurrence });
                    }
                }
                if all.len() == before {
                    all.extend(bound.nothing(values).map(|value| PathValue { path, value, occurrence: 0 }));
                }
            }
        }
        all
    }
}

impl Bound {
    /// That none of an entry's instances is meant: once a counter, as if the entry itself had found none.
    fn nothing<'a>(&'a self, values: &[(Value<'a>, usize)]) -> impl Iterator<Item = Value<'a>> {
        let wanted = |id: &CounterId| self.counters.contains(id);
        let mut first: Vec<Value<'a>> = Vec::new();
        for (value, _) in values.iter().filter(|(value, _)| wanted(&value.counter.id)) {
            if !first.iter().any(|other| other.counter.id == value.counter.id) {
                first.push(Value {
                    instance: Name::until_nul(&self.instance),
                    instance_id: None,
                    raw: None,
                    base: None,
                    value: Err(NoValue::NoInstance),
                    mark: None,
                    ..value.clone()
                });
            }
        }
        first.into_iter()
    }

    fn means(&self, value: &Value<'_>, occurrence: usize) -> bool {
        if self.all_counters && !self.counters.contains(&value.counter.id) {
            return false; // a helper
        }
        // What failed as a whole has no instances to choose from.
        let failed = value.instance_id.is_none();
        failed || self.selector.as_ref().is_none_or(|s| s.matches(value.instance.units(), occurrence))
    }
}

/// Every counterset of a source.
fn countersets(source: &mut dyn Source) -> Result<Vec<Arc<Counterset>>, SourceError> {
    let mut all = Vec::new();
    for guid in source.countersets()? {
        // One that went away meanwhile is not there.
        if let Ok(RegInfo::Counterset(set)) = source.registration(&guid, RegRequest::Counterset) {
            all.push(set);
        }
    }
    Ok(all)
}

/// By GUID, by English name, by a name in another language.
fn find_counterset(source: &mut dyn Source, name: &str) -> Result<Arc<Counterset>, BindError> {
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

/// By name or pattern, in English or another language, or by `#ID`. Helpers only by their own name or id.
fn find_counters<'a>(set: &'a Counterset, text: &str) -> Result<Vec<&'a Counter>, BindError> {
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

fn same_name(a: &str, b: &str) -> bool {
    crate::pattern::folded(a).eq(crate::pattern::folded(b))
}
