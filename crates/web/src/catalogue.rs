//! Countersets as JSON: their names, counters and help texts.

use std::sync::Arc;

use axum::http::StatusCode;
use perfset::output::FoundRecord;
use perfset::path::{find, nearest};
use perfset::{Attributes, Counter, Counterset, Guid, Machine, SourceError};
use serde::Serialize;

use crate::answer::{ApiError, to_json};

/// Maximum number of instances of a counterset in a response.
const INSTANCES_MOST: usize = 10_000;
/// Maximum number of counters that a search returns.
const FOUND_MOST: usize = 200;

#[derive(Serialize)]
struct SetJson<'a> {
    name: &'a str,
    guid: String,
    help: &'a str,
    instances: &'static str,
    /// Number of counters of the counterset that users see.
    #[serde(rename = "counters", skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    provider: &'a str,
    detail: &'static str,
    origin: String,
}

impl<'a> SetJson<'a> {
    fn new(machine: &Machine, set: &'a Counterset) -> Self {
        Self {
            name: &set.name,
            guid: set.guid.to_string(),
            help: &set.help,
            instances: if set.instance_type.is_multiple() { "multiple" } else { "single" },
            count: None,
            provider: &set.provider.name,
            detail: detail(set.detail().0),
            origin: machine.origin(&set.guid).unwrap_or_default().into_owned(),
        }
    }
}

#[derive(Serialize)]
struct CountersetJson<'a> {
    #[serde(flatten)]
    set: SetJson<'a>,
    counters: Vec<CounterJson<'a>>,
    instance_names: Vec<InstanceJson>,
    more: usize,
}

#[derive(Serialize)]
struct CounterJson<'a> {
    id: u32,
    name: String,
    help: &'a str,
    unit: &'a str,
    #[serde(rename = "type")]
    counter_type: String,
    scale: i32,
    detail: &'static str,
    availability: &'a str,
    is_available: bool,
    needs_two_samples: bool,
}

impl<'a> CounterJson<'a> {
    fn new(counter: &'a Counter) -> Self {
        Self {
            id: counter.id.0,
            name: counter.shown_name().into_owned(),
            help: &counter.help,
            unit: &counter.unit,
            counter_type: counter.counter_type.to_string(),
            scale: counter.default_scale,
            detail: detail(counter.detail.0),
            availability: &counter.availability,
            is_available: !counter.is_never_there(),
            needs_two_samples: counter.counter_type.needs_two_samples(),
        }
    }
}

#[derive(Serialize)]
struct InstanceJson {
    name: String,
    id: u32,
}

/// Returns the keyword of a detail level, which names the users that a counter is for.
fn detail(level: u32) -> &'static str {
    match level {
        0..=100 => "novice",
        101..=200 => "advanced",
        201..=300 => "expert",
        _ => "wizard",
    }
}

/// Returns all countersets of a machine, sorted by name.
fn all(machine: &Machine) -> Vec<Arc<Counterset>> {
    let guids = machine.countersets();
    let mut sets: Vec<_> = guids.iter().filter_map(|guid| machine.counterset(guid).ok()).collect();
    sets.sort_by_cached_key(|set| (set.name.to_lowercase(), set.name.clone()));
    sets
}

fn shown(set: &Counterset) -> impl Iterator<Item = &Counter> {
    set.counters.iter().filter(|counter| !counter.attributes.contains(Attributes::NO_DISPLAYABLE))
}

/// Returns the countersets whose names contain a text, as JSON.
pub fn countersets(machine: &Machine, filter: &str) -> String {
    #[derive(Serialize)]
    struct Answer<'a> {
        countersets: Vec<SetJson<'a>>,
    }
    let (sets, filter) = (all(machine), filter.to_lowercase());
    let wanted = sets.iter().filter(|set| set.name.to_lowercase().contains(&filter));
    let counted = wanted.map(|set| SetJson { count: Some(shown(set).count()), ..SetJson::new(machine, set) });
    to_json(&Answer { countersets: counted.collect() })
}

/// Finds a counterset of a machine by its name or GUID.
pub fn named(machine: &Machine, name: &str) -> Result<Arc<Counterset>, ApiError> {
    if let Ok(guid) = name.parse::<Guid>() {
        return Ok(machine.counterset(&guid)?);
    }
    let (sets, folded) = (all(machine), name.to_lowercase());
    sets.iter().find(|set| set.name.to_lowercase() == folded).map(Arc::clone).ok_or_else(|| {
        let near = nearest(name, sets.iter().map(|set| &*set.name), 3).join(", ");
        let problem = ApiError::new(StatusCode::NOT_FOUND, format!("no counterset is named \"{name}\""));
        if near.is_empty() { problem } else { problem.hint(format!("nearest: {near}")) }
    })
}

/// Returns the counters and instances of a counterset as JSON; the counterset is given by its name or GUID.
pub fn counterset(machine: &Machine, name: &str) -> Result<String, ApiError> {
    let set = named(machine, name)?;
    let found = match machine.instances(&set.guid) {
        Ok(found) if set.instance_type.is_multiple() => found,
        Ok(_) | Err(SourceError::NoInstances(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let named = found.iter().take(INSTANCES_MOST);
    Ok(to_json(&CountersetJson {
        set: SetJson::new(machine, &set),
        counters: shown(&set).map(CounterJson::new).collect(),
        instance_names: named.map(|one| InstanceJson { name: one.name.to_string(), id: one.id.0 }).collect(),
        more: found.len().saturating_sub(INSTANCES_MOST),
    }))
}

/// Returns the counters that a search finds as JSON, the best ones first.
pub fn found(machine: &Machine, query: &str) -> String {
    #[derive(Serialize)]
    struct Answer<'a> {
        matches: Vec<FoundRecord<'a>>,
        more: usize,
        words: &'a [String],
        unknown: Vec<Unknown<'a>>,
    }
    #[derive(Serialize)]
    struct Unknown<'a> {
        word: &'a str,
        nearest: &'a [String],
    }
    let mut found = find(&all(machine), query);
    found.matches.retain(|found| !found.is_never_there());
    let unknown = found.unknown.iter().map(|one| Unknown { word: &one.word, nearest: &one.nearest });
    to_json(&Answer {
        matches: FoundRecord::all(&found.matches).take(FOUND_MOST).collect(),
        more: found.matches.len().saturating_sub(FOUND_MOST),
        words: &found.words,
        unknown: unknown.collect(),
    })
}
