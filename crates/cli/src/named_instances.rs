//! Check of instances that counter paths name: a mistyped instance name is an error, as a mistyped counter name is.

use std::collections::HashMap;

use perfset::output::text::escaped;
use perfset::path::{CounterPath, PathValue, Selector, nearest};
use perfset::{Instance, NoValue, SourceError};

use crate::exit::{Exit, Failure};
use crate::query_source::QuerySource;
use crate::resolve::{countersets, near_line};

/// Maximum number of instance names that are compared with a mistyped one: a machine may have 100,000 processes.
const COMPARED: usize = 10_000;

/// Returns the instance that a counter path names, without wildcards and exclusions. Such a path selects nothing only
/// if the instance does not exist; a pattern may select nothing for now.
fn named(path: &CounterPath) -> Option<&str> {
    path.instance.as_deref().filter(|instance| !instance.contains(['*', '?', '!']))
}

/// Returns an error with the nearest names for each path that names an instance which does not exist.
pub fn absent<'p>(asked: &QuerySource, paths: impl IntoIterator<Item = &'p CounterPath>) -> Vec<Failure> {
    paths.into_iter().filter_map(|path| exists(asked, path).err()).collect()
}

fn exists(asked: &QuerySource, path: &CounterPath) -> Result<(), Failure> {
    let Some(name) = named(path) else { return Ok(()) };
    let set = countersets(asked.machine()).into_iter().find(|set| {
        set.name.to_lowercase() == path.counterset.to_lowercase() || path.counterset.parse() == Ok(set.guid)
    });
    // The paths are bound, so the counterset exists.
    let Some(set) = set.filter(|set| set.instance_type.is_multiple()) else { return Ok(()) };
    let instances = match asked.machine().instances(&set.guid) {
        Ok(instances) => instances,
        Err(SourceError::NoInstances(_)) => Vec::new(),
        // The collection has the reason for each value.
        Err(_) => return Ok(()),
    };
    if selects(name, &instances) {
        return Ok(());
    }
    let names: Vec<String> = instances.iter().take(COMPARED).map(|one| one.name.to_string()).collect();
    let near = near_line(&nearest(name, names.iter().map(String::as_str), 3));
    let (name, options) = (escaped(name), asked.options());
    let set_name = escaped(&set.name);
    let mut text = format!("\"{set_name}\" has no instance \"{name}\"{near}");
    match instances.len() {
        0 => text.push_str("\n  it has no instance now"),
        all => text.push_str(&format!("\n  perfset instances '{set_name}'{options} shows all {all}")),
    }
    if matches!(asked, QuerySource::Machine(_)) {
        text.push_str("\n  perfset get --wait waits until it appears");
    }
    for line in asked.not_shown(Some(&set.guid)) {
        text.push_str(&format!("\n  {line}"));
    }
    Err(Failure::new(Exit::NothingMatched, anyhow::anyhow!(text)))
}

/// Returns `true` if the instance part of a counter path selects one of these instances. Instances of one name are
/// numbered.
fn selects(text: &str, instances: &[Instance]) -> bool {
    let selector = Selector::new(text);
    let mut occurrences: HashMap<String, usize> = HashMap::new();
    instances.iter().any(|instance| {
        let name = instance.name.to_string();
        // Paths ignore case, so names that differ only in it are numbered together.
        let occurrence = occurrences.entry(name.to_lowercase()).or_default();
        let is_selected = selector.matches(name.encode_utf16(), *occurrence);
        *occurrence = occurrence.saturating_add(1);
        is_selected
    })
}

/// Counter paths that name an instance which no sample of a log has had so far.
#[derive(Debug)]
pub struct UnseenPaths(Vec<Option<CounterPath>>);

impl UnseenPaths {
    /// Stores the counter paths that name an instance, before the first sample of a log.
    pub fn new(paths: &[CounterPath]) -> Self {
        Self(paths.iter().map(|path| named(path).map(|_| path.clone())).collect())
    }

    /// Removes the counter paths whose instance is in a sample.
    pub fn see(&mut self, values: &[PathValue<'_>]) {
        for value in values.iter().filter(|v| !matches!(v.value.value, Err(NoValue::NoInstance))) {
            if let Some(path) = self.0.get_mut(value.path) {
                *path = None;
            }
        }
    }

    /// Returns an error for each counter path whose instance was in no sample of the log, with the nearest names.
    pub fn finish(self, asked: &QuerySource) -> Vec<Failure> {
        absent(asked, self.0.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::InstanceId;

    #[test]
    fn names_select_instances() {
        let instances = ["a", "b", "A", "c#1"].map(|name| Instance { name: name.into(), id: InstanceId(0) });
        for (text, want) in [
            ("a", true),
            ("B", true),
            ("a#1", true),
            ("a#2", false),
            ("b#1", false),
            ("c#1", true),
            ("c", false),
            ("", false),
            ("{x,b}", true),
            ("{x,y}", false),
        ] {
            assert_eq!(selects(text, &instances), want, "{text}");
        }
    }

    #[test]
    fn patterns_name_no_instance() {
        for (path, want) in [
            (r"\P(a)\C", Some("a")),
            (r"\P(a#1)\C", Some("a#1")),
            (r"\P({a,b})\C", Some("{a,b}")),
            (r"\P(a*)\C", None),
            (r"\P(!a)\C", None),
            (r"\P\C", None),
        ] {
            let path: CounterPath = path.parse().unwrap();
            assert_eq!(named(&path), want, "{path}");
        }
    }
}
