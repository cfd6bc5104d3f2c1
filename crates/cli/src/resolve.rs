//! Lookup of the counterset that a user named.

use std::collections::HashSet;
use std::sync::Arc;

use perfset::output::text::escaped;
use perfset::path::nearest;
use perfset::{Counterset, Guid, Machine};

use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;

/// Returns all countersets of a machine, sorted by name.
pub fn countersets(machine: &Machine) -> Vec<Arc<Counterset>> {
    let guids = machine.countersets();
    let mut sets: Vec<_> = guids.iter().filter_map(|guid| machine.counterset(guid).ok()).collect();
    // The exact name decides between names that differ only in case, so that the order is always the same.
    sets.sort_by_cached_key(|set| (set.name.to_lowercase(), set.name.clone()));
    sets
}

/// Finds a counterset of a machine or of logs by GUID, by name, or by a unique part of its name. A unique beginning
/// is preferred to other parts.
pub fn counterset(asked: &QuerySource, text: &str) -> Result<Arc<Counterset>, Failure> {
    let sets = countersets(asked.machine());
    let folded = text.to_lowercase();
    let guid = text.parse::<Guid>().ok();
    let is_exact = |name: &str, set: &Counterset| name == folded || Some(set.guid) == guid;
    let matching = |matches: &dyn Fn(&str, &Counterset) -> bool| -> Vec<_> {
        sets.iter().filter(|set| matches(&set.name.to_lowercase(), set)).collect()
    };
    let candidates = [
        matching(&is_exact),
        matching(&|name, _| name.starts_with(&folded)),
        matching(&|name, _| name.contains(&folded)),
    ];
    if let Some([only]) = candidates.iter().map(Vec::as_slice).find(|found| found.len() == 1) {
        return Ok(Arc::clone(only));
    }
    let [.., parts] = candidates;
    if parts.is_empty() {
        let near = nearest(text, sets.iter().map(|set| &*set.name), 3);
        return Err(no_counterset(asked, text, &near));
    }
    let names: Vec<_> = parts.iter().map(|set| escaped(&set.name)).collect();
    let error = anyhow::anyhow!("\"{}\" is part of several names: {}", escaped(text), names.join(", "));
    Err(Failure::new(Exit::NothingMatched, error))
}

/// Returns the GUIDs of a machine's countersets with these names.
pub fn named<'a>(machine: &Machine, names: impl Iterator<Item = &'a str>) -> Vec<Guid> {
    let names: HashSet<String> = names.map(str::to_lowercase).collect();
    let sets = countersets(machine).into_iter();
    sets.filter(|set| names.contains(&set.name.to_lowercase())).map(|set| set.guid).collect()
}

/// Returns the error for an unknown counterset name.
pub fn no_counterset(asked: &QuerySource, name: &str, nearest: &[impl AsRef<str>]) -> Failure {
    let (all, options) = (asked.machine().countersets().len(), asked.options());
    let all = if all > 0 { format!("\n  perfset list{options} shows all {all}") } else { String::new() };
    nothing_found(asked, &format!("no counterset is named \"{}\"{}{all}", escaped(name), near_line(nearest)))
}

/// Returns the error for a search that found nothing. It includes a problem of the machine, which is the likely
/// reason, and the certain one if the machine has no counterset.
pub fn nothing_found(asked: &QuerySource, what: &str) -> Failure {
    const SHOWN: usize = 3;
    let (machine, mut text) = (asked.machine(), what.to_owned());
    let problems = machine.problems();
    for problem in problems.iter().take(SHOWN) {
        text.push_str(&format!("\n  problem: {}", escaped(&problem.to_string())));
    }
    if problems.len() > SHOWN {
        text.push_str("\n  perfset doctor shows more problems");
    }
    for line in asked.not_shown(None) {
        text.push_str(&format!("\n  {line}"));
    }
    let is_empty = machine.countersets().is_empty();
    let exit = if is_empty { Exit::SourceFailed } else { Exit::NothingMatched };
    Failure::new(exit, anyhow::anyhow!(text))
}

/// Returns the line of an error that proposes similar names; empty if there are none.
pub fn near_line(nearest: &[impl AsRef<str>]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<_> = nearest.iter().map(|name| escaped(name.as_ref())).collect();
    format!("\n  nearest: {}", names.join(", "))
}
