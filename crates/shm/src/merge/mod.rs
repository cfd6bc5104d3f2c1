//! Merging of countersets that several publishers define under one GUID.
//!
//! A counter is identified by its id; its meaning is its type and the counters it is computed with. The registration
//! takes precedence, then the publishers in their order. A new counter is added, and an equal one is served. One with
//! a different meaning is left out; the publisher's other counters stay. So every publisher is visible whatever
//! others publish under its GUID, and no value is shown as another counter's.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use perfset_core::likeness::likeness;
use perfset_core::{Attributes, Counter, CounterId, Counterset, Guid, InstanceType};

use crate::layout::MAX_COUNTERS;

/// Maximum number of counters that untrusted publishers may add to one counterset: each costs a cell in every row.
pub(crate) const OF_STRANGERS: usize = 256;

/// Counterset or counter of a publisher that readers do not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// GUID of the counterset that readers do not serve, or that has the counter.
    pub guid: Guid,
    /// Name of the counterset that is left out or has the counter; a template in C has none.
    pub name: String,
    /// Id and name of the counter that is left out; `None` if the whole counterset is left out.
    pub counter: Option<(CounterId, String)>,
    /// Reason why readers do not serve the counterset or counter.
    pub why: Arc<str>,
}

impl LeftOut {
    /// Creates the record about a counterset that is left out as a whole.
    pub(crate) fn all_of(set: &Counterset, why: impl Into<Arc<str>>) -> Self {
        Self { guid: set.guid, name: set.name.to_string(), counter: None, why: why.into() }
    }

    /// Formats all that is left out of one counterset as one text: the first few counters, and the number of the
    /// others.
    pub(crate) fn text(all: &[Self]) -> String {
        const NAMED: usize = 3;
        let Some(first) = all.first() else { return String::new() };
        let mut text = format!("counterset \"{}\" {}", first.name, first.guid);
        for (at, part) in all.iter().take(NAMED).enumerate() {
            text.push_str(if at == 0 { ": " } else { "; " });
            if let Some((id, name)) = &part.counter {
                text.push_str(&shown(*id, name));
                text.push_str(" is left out: ");
            }
            text.push_str(&part.why);
        }
        match all.len().saturating_sub(NAMED) {
            0 => {}
            more => text.push_str(&format!("; and {more} more of its counters are")),
        }
        text
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Self::text(std::slice::from_ref(self)))
    }
}

fn shown(id: CounterId, name: &str) -> String {
    if name.is_empty() { format!("counter {}", id.0) } else { format!("counter {} \"{name}\"", id.0) }
}

/// Definition of a counterset by one publisher, to be merged with others.
pub(crate) struct Part<'a> {
    pub set: &'a Arc<Counterset>,
    /// Name of the publisher that defines the counterset, for messages.
    pub by: String,
    pub is_trusted: bool,
}

/// Counterset merged from all its definitions.
pub(crate) struct Merged {
    pub set: Arc<Counterset>,
    /// Fit of each publisher's definition, in the order in which the definitions were merged.
    pub fits: Vec<Fitting>,
}

/// Fit of a publisher's definition, or the reason why nothing of the definition is served.
pub(crate) type Fitting = Result<Arc<Fit>, Arc<str>>;

/// Mapping from a publisher's definition to the counterset that is served.
#[derive(Debug, Default)]
pub(crate) struct Fit {
    /// Index of each counter's value in the publisher's instances, ascending by counter id.
    value_indexes: Vec<(CounterId, usize)>,
    /// Counters of the publisher that are not served, each with the reason, ascending by id.
    left_out: Vec<(CounterId, Arc<str>)>,
    /// Messages about counter names of the publisher that are not shown.
    pub renamed: Vec<String>,
}

impl Fit {
    /// Returns the index of a counter's value in the publisher's instances, or the reason why it has no value.
    /// `Err(None)` if the publisher has no such counter.
    pub fn index(&self, id: CounterId) -> Result<usize, Option<&Arc<str>>> {
        if !self.left_out.is_empty() {
            if let Ok(at) = self.left_out.binary_search_by_key(&id, |(id, _)| *id) {
                return Err(self.left_out.get(at).map(|(_, why)| why));
            }
        }
        let at = self.value_indexes.binary_search_by_key(&id, |(id, _)| *id).map_err(|_| None)?;
        self.value_indexes.get(at).map(|(_, place)| *place).ok_or(None)
    }

    /// Returns the counters of the publisher that are not served, with reasons.
    pub fn left_out(&self, set: &Counterset) -> Vec<LeftOut> {
        let part = |(id, why): &(CounterId, Arc<str>)| LeftOut {
            guid: set.guid,
            name: set.name.to_string(),
            counter: Some((*id, set.counter(*id).and_then(|c| c.name.as_deref()).unwrap_or_default().into())),
            why: Arc::clone(why),
        };
        self.left_out.iter().map(part).collect()
    }
}

/// Merges the registration and the publishers' definitions, in their order, into one counterset. `None` if there is
/// no definition.
///
/// A definition without a name is a template, as publishers in C have it: it contains ids and types, without names
/// and relations. Such a publisher adds nothing: its other counters are in no list.
pub(crate) fn merge(registered: Option<&Arc<Counterset>>, parts: &[Part<'_>]) -> Option<Merged> {
    // A template has neither names nor relations, so any other definition is a better base.
    let first = parts.iter().find(|part| is_described(part.set)).or(parts.first());
    let base = registered.or(first.map(|part| part.set))?;
    let by = match registered {
        Some(set) => format!("the registration of {}", set.provider.name),
        None => first.map(|part| part.by.clone()).unwrap_or_default(),
    };
    // The usual case: all publishers have the same version of the program.
    if parts.iter().all(|part| Arc::ptr_eq(part.set, base)) {
        let fit = Arc::new(Fit { value_indexes: places(base, &[]), ..Fit::default() });
        return Some(Merged { set: Arc::clone(base), fits: vec![Ok(fit); parts.len()] });
    }
    let mut union = Union::new(base, by);
    if registered.is_some() {
        union.leave_clocks(parts);
    }
    let mut known: Vec<(&Arc<Counterset>, bool, Fitting)> = Vec::new();
    let mut fits = Vec::with_capacity(parts.len());
    for part in parts {
        // Many publishers have the same definition, so its fit is computed once.
        // Trust is part of the key, because it decides how many counters a publisher may add.
        let is_same = |(set, is_trusted, _): &&(&Arc<Counterset>, bool, Fitting)| {
            Arc::ptr_eq(set, part.set) && *is_trusted == part.is_trusted
        };
        if let Some((.., fit)) = known.iter().find(is_same) {
            fits.push(fit.clone());
            continue;
        }
        let fit = union.add(part).map(Arc::new);
        known.push((part.set, part.is_trusted, fit.clone()));
        fits.push(fit);
    }
    Some(Merged { set: union.finish(), fits })
}

/// Returns `true` if a publisher's definition contains names and relations.
fn is_described(set: &Counterset) -> bool {
    !set.name.is_empty()
}

fn is_single(set: &Counterset) -> bool {
    set.instance_type == InstanceType::Single
}

/// Counters of a counterset merged so far, and the definitions that they are from.
struct Union<'a> {
    base: &'a Arc<Counterset>,
    counters: Vec<Counter>,
    /// Index into `by` for each merged counter: the first definition that contained it.
    owners: Vec<usize>,
    /// Names for messages of the registration and of the merged publishers.
    by: Vec<String>,
    indexes: HashMap<CounterId, usize>,
    /// Id of the first counter of each name in the merged counterset.
    names: HashMap<String, CounterId>,
    is_changed: bool,
    /// Number of counters that untrusted publishers added to the counterset.
    of_strangers: usize,
}

impl<'a> Union<'a> {
    fn new(base: &'a Arc<Counterset>, by: String) -> Self {
        let mut union = Self {
            base,
            counters: base.counters.to_vec(),
            owners: vec![0; base.counters.len()],
            by: vec![by],
            indexes: HashMap::new(),
            names: HashMap::new(),
            is_changed: false,
            of_strangers: 0,
        };
        union.index();
        union
    }

    fn index(&mut self) {
        self.indexes.clear();
        self.names.clear();
        for (at, counter) in self.counters.iter().enumerate() {
            self.indexes.entry(counter.id).or_insert(at);
            if let Some(name) = name_of(counter) {
                self.names.entry(name).or_insert(counter.id);
            }
        }
    }

    fn get(&self, id: CounterId) -> Option<(&Counter, &str)> {
        let at = *self.indexes.get(&id)?;
        let by = self.owners.get(at).and_then(|owner| self.by.get(*owner));
        Some((self.counters.get(at)?, by.map(String::as_str).unwrap_or_default()))
    }

    /// Removes clock counters, and references to them, that a registration has and the publishers' definitions lack.
    /// Such counters use the clock of the collection. An export adds such clocks, because manifests require them. The
    /// first publisher that has the counter decides.
    fn leave_clocks(&mut self, parts: &[Part<'_>]) {
        let clocks = |counter: &Counter| [counter.perf_time, counter.perf_freq];
        let has_clock = |counter: &Counter| clocks(counter).into_iter().any(|clock| clock.is_some());
        if !self.counters.iter().any(has_clock) {
            return;
        }
        let mut left = HashSet::new();
        let mut said: HashSet<CounterId> = HashSet::new();
        let mut seen: Vec<&Arc<Counterset>> = Vec::new();
        for part in parts.iter().filter(|part| is_described(part.set)) {
            if seen.iter().any(|seen| Arc::ptr_eq(seen, part.set)) {
                continue;
            }
            seen.push(part.set);
            for of_program in part.set.counters.iter() {
                let Some(counter) =
                    self.indexes.get(&of_program.id).and_then(|at| self.counters.get_mut(*at))
                else {
                    continue;
                };
                if counter.counter_type == of_program.counter_type
                    && said.insert(counter.id)
                    && has_clock(counter)
                    && !has_clock(of_program)
                {
                    left.extend(clocks(counter).into_iter().flatten());
                    (counter.perf_time, counter.perf_freq) = (None, None);
                    // The publisher now decides the meaning of the counter, so messages name it.
                    if let Some(owner) =
                        self.indexes.get(&of_program.id).and_then(|at| self.owners.get_mut(*at))
                    {
                        *owner = self.by.len();
                    }
                }
            }
            self.by.push(part.by.clone());
        }
        if left.is_empty() {
            return;
        }
        self.is_changed = true;
        let used: HashSet<CounterId> = self
            .counters
            .iter()
            .flat_map(|counter| counter.needed().filter(|id| *id != counter.id))
            .collect();
        let is_hidden = |counter: &Counter| {
            counter.name.is_none() && counter.attributes.contains(Attributes::NO_DISPLAYABLE)
        };
        let is_useless = |counter: &Counter| {
            is_hidden(counter) && left.contains(&counter.id) && !used.contains(&counter.id)
        };
        let all = std::mem::take(&mut self.counters).into_iter().zip(std::mem::take(&mut self.owners));
        (self.counters, self.owners) = all.filter(|(counter, _)| !is_useless(counter)).unzip();
        self.index();
    }

    /// Adds the counters of a publisher's definition to the merged counterset. Returns the reason if nothing of the
    /// definition can be served.
    fn add(&mut self, part: &Part<'_>) -> Result<Fit, Arc<str>> {
        let set = part.set;
        if is_single(set) != is_single(self.base) {
            let (this, other) =
                if is_single(set) { ("one instance", "several") } else { ("several instances", "one") };
            let by = self.by.first().map(String::as_str).unwrap_or_default();
            return Err(format!("the program says that it has {this}, and {by} that it has {other}").into());
        }
        let own_names: HashMap<String, CounterId> = match is_described(set) {
            true => set.counters.iter().filter_map(|counter| Some((name_of(counter)?, counter.id))).collect(),
            false => HashMap::new(),
        };
        let mut left_out: HashMap<CounterId, Arc<str>> = HashMap::new();
        let (mut added, mut renamed) = (Vec::new(), Vec::new());
        for counter in set.counters.iter() {
            // New counters are added at the end: one whose base is left out must not be added.
            let why = match self.get(counter.id) {
                Some((known, by)) => {
                    let why = self.difference(set, counter, known, by, &own_names);
                    if why.is_none() {
                        renamed.extend(other_name(counter, known, by));
                    }
                    why
                }
                None => {
                    let why = self.obstacle(part, counter, added.len());
                    if why.is_none() {
                        added.push(counter);
                    }
                    why
                }
            };
            if let Some(why) = why {
                left_out.insert(counter.id, why.into());
            }
        }
        // A counter computed with a counter that is left out has no value either.
        for counter in set.counters.iter() {
            let lost = counter.needed().find(|id| *id != counter.id && left_out.contains_key(id));
            if let Some(lost) = lost.filter(|_| !left_out.contains_key(&counter.id)) {
                let why = format!("it is computed with counter {}, which is left out", lost.0);
                left_out.insert(counter.id, why.into());
            }
        }
        self.take(part, &added, &left_out);
        let mut left_out: Vec<_> = left_out.into_iter().collect();
        left_out.sort_unstable_by_key(|(id, _)| *id);
        Ok(Fit { value_indexes: places(set, &left_out), left_out, renamed })
    }

    /// Returns the reason why a publisher's counter differs from the known counter with the same id, if it does.
    fn difference(
        &self,
        set: &Counterset,
        counter: &Counter,
        known: &Counter,
        by: &str,
        own_names: &HashMap<String, CounterId>,
    ) -> Option<String> {
        if counter.counter_type != known.counter_type {
            let (this, other) = (counter.counter_type, known.counter_type);
            return Some(format!("the program has it as {this}, and {by} as {other}"));
        }
        if !is_described(set) {
            return None;
        }
        for (this, other, what) in [
            (counter.base, known.base, "base"),
            (counter.multi, known.multi, "number of items"),
            (counter.perf_time, known.perf_time, "clock"),
            (counter.perf_freq, known.perf_freq, "clock's frequency"),
        ] {
            if this != other {
                let named =
                    |id: Option<CounterId>| id.map_or("none".to_owned(), |id| format!("counter {}", id.0));
                let (this, other) = (named(this), named(other));
                return Some(format!("its {what} is {this} in the program, and {other} in {by}"));
            }
        }
        let (this, other) = (name_of(counter)?, name_of(known)?);
        if this == other {
            return None;
        }
        // A different name may be an improvement, unless one of the two names belongs to another id: then the ids
        // were reassigned.
        let name = |counter: &Counter| counter.name.clone().unwrap_or_default();
        if let Some((elsewhere, by)) = self.names.get(&this).and_then(|id| self.get(*id)) {
            return Some(format!(
                "the program calls it \"{}\", which is counter {} of {by}",
                name(counter),
                elsewhere.id.0
            ));
        }
        let moved = own_names.get(&other)?;
        Some(format!("{by} calls it \"{}\", which is counter {} of the program", name(known), moved.0))
    }

    /// Returns the reason why a publisher's new counter cannot be added to the counterset, if there is one.
    fn obstacle(&self, part: &Part<'_>, counter: &Counter, added: usize) -> Option<String> {
        if !is_described(part.set) {
            return Some("it has no name and is not registered".to_owned());
        }
        if let Some((other, by)) = name_of(counter).and_then(|name| self.get(*self.names.get(&name)?)) {
            return Some(format!("its name is that of counter {} of {by}", other.id.0));
        }
        if self.counters.len().saturating_add(added) >= MAX_COUNTERS {
            return Some(format!("the counterset has {MAX_COUNTERS} counters already"));
        }
        if !part.is_trusted && self.of_strangers.saturating_add(added) >= OF_STRANGERS {
            return Some(format!("programs of other users may add {OF_STRANGERS} counters, and have"));
        }
        None
    }

    fn take(&mut self, part: &Part<'_>, added: &[&Counter], left_out: &HashMap<CounterId, Arc<str>>) {
        let owner = self.by.len();
        for counter in added.iter().filter(|counter| !left_out.contains_key(&counter.id)) {
            self.is_changed = true;
            self.indexes.insert(counter.id, self.counters.len());
            if let Some(name) = name_of(counter) {
                self.names.entry(name).or_insert(counter.id);
            }
            self.counters.push((*counter).clone());
            self.owners.push(owner);
            if !part.is_trusted {
                self.of_strangers = self.of_strangers.saturating_add(1);
            }
        }
        self.by.push(part.by.clone());
    }

    fn finish(self) -> Arc<Counterset> {
        // The same `Arc`: callers see by its address that nothing has changed.
        if !self.is_changed {
            return Arc::clone(self.base);
        }
        Arc::new(Counterset::clone(self.base).counters(self.counters))
    }
}

/// Returns the value index of each counter of a publisher that is not left out.
fn places(set: &Counterset, left_out: &[(CounterId, Arc<str>)]) -> Vec<(CounterId, usize)> {
    let is_served = |id: &CounterId| left_out.binary_search_by_key(id, |(id, _)| *id).is_err();
    let counters = set.counters.iter().enumerate().map(|(place, counter)| (counter.id, place));
    let mut places: Vec<_> = counters.filter(|(id, _)| is_served(id)).collect();
    places.sort_unstable();
    places
}

/// Returns the name of a counter in the form used for comparison; `None` if it has no name.
fn name_of(counter: &Counter) -> Option<String> {
    counter.name.as_deref().map(likeness).filter(|name| !name.is_empty())
}

/// Returns a message about a publisher's name of a counter, if another name is shown.
fn other_name(counter: &Counter, known: &Counter, by: &str) -> Option<String> {
    if name_of(counter)? == name_of(known)? {
        return None;
    }
    let (this, other) = (counter.name.as_deref()?, known.name.as_deref()?);
    Some(format!("counter {} \"{this}\" is shown as \"{other}\", as {by} calls it", counter.id.0))
}

#[cfg(test)]
mod tests;
