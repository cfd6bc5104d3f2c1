//! Completion of counter paths, and of names of countersets and counters.
//!
//! A path is completed part by part: the counterset, the instance, the counter. If only one candidate remains and is
//! not a whole path, its next part is completed at once, because shells end a word that has one candidate.

use std::collections::BTreeSet;
use std::sync::Arc;

use perfset::path::CounterPath;
use perfset::{Attributes, Counter, Counterset};

use super::Candidate;
use crate::operands::ALIASES;

/// Function that returns the names of a counterset's instances.
pub type InstanceNames<'a> = dyn Fn(&Counterset) -> Vec<String> + 'a;

/// Returns the completion candidates for a counter path of which a part was typed.
pub fn candidates(sets: &[Arc<Counterset>], instances: &InstanceNames<'_>, typed: &str) -> Vec<Candidate> {
    let short = ALIASES.iter().filter(|(alias, _)| alias.starts_with(typed));
    // Of each counter, the path that is tried first.
    let first =
        |paths: &[&[&str]]| paths.iter().filter_map(|one| one.first().copied()).collect::<Vec<_>>().join(" ");
    let mut found: Vec<_> = short.map(|(alias, paths)| Candidate::new(*alias, first(paths))).collect();
    let slash = match typed.chars().next() {
        None => '\\',
        Some(slash @ ('\\' | '/')) => slash,
        Some(_) => return found,
    };
    let rest = typed.strip_prefix(slash).unwrap_or_default();
    let mut next = after_slash(sets, instances, slash, rest);
    // Countersets with one counter, and instances with one: at most two parts follow.
    for _ in 0..2 {
        let [only] = next.as_slice() else { break };
        let (true, Some(rest)) = (only.is_partial, only.text.strip_prefix(slash)) else { break };
        next = after_slash(sets, instances, slash, rest);
    }
    found.append(&mut next);
    found
}

/// Returns the completion candidates for the part of a counter path after its first slash.
fn after_slash(
    sets: &[Arc<Counterset>],
    instances: &InstanceNames<'_>,
    slash: char,
    rest: &str,
) -> Vec<Candidate> {
    // The longest name that is complete, because names can contain slashes: Block I/O.
    let behind =
        |set: &'_ Arc<Counterset>| behind_name(rest, &set.name).filter(|end| end.starts_with(['(', slash]));
    let named = sets.iter().filter(|set| behind(set).is_some()).max_by_key(|set| set.name.len());
    let Some((set, behind)) = named.and_then(|set| Some((set, behind(set)?))) else {
        let candidate = |set: &Arc<Counterset>| {
            let end = if set.instance_type.is_multiple() { '(' } else { slash };
            let text = format!("{slash}{}{end}", set.name);
            Candidate { is_partial: true, ..Candidate::new(text, first_sentence(&set.help)) }
        };
        return sets.iter().filter(|set| begins(&set.name, rest)).map(candidate).collect();
    };
    let name = &set.name;
    match (behind.strip_prefix('('), set.instance_type.is_multiple()) {
        (None, _) => {
            let counter = behind.strip_prefix(slash).unwrap_or_default();
            counters(set, &format!("{slash}{name}{slash}"), counter)
        }
        (Some(instance), true) => match instance.split_once(&format!("){slash}")) {
            Some((instance, counter)) => counters(set, &format!("{slash}{name}({instance}){slash}"), counter),
            None => instance_candidates(set, instances, slash, instance),
        },
        (Some(_), false) => Vec::new(),
    }
}

/// Returns the part of a text after a name with which the text begins, ignoring case; `None` if the text begins
/// otherwise.
fn behind_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let end = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(name.chars().count())?;
    let (front, behind) = text.split_at_checked(end)?;
    (front.to_lowercase() == name.to_lowercase()).then_some(behind)
}

/// Returns the completion candidates for a partly typed instance of a counter path, with its brackets.
fn instance_candidates(
    set: &Counterset,
    instances: &InstanceNames<'_>,
    slash: char,
    typed: &str,
) -> Vec<Candidate> {
    let path = |name: &str| format!("{slash}{}({name}){slash}", set.name);
    // A name is offered if a path with it selects the instance: no character has another meaning.
    let is_usable = |name: &String| {
        let parsed = format!("{}x", path(name)).parse::<CounterPath>();
        let is_same =
            parsed.is_ok_and(|parsed| parsed.instance.as_ref() == Some(name) && parsed.counter == "x");
        is_same && !name.is_empty() && !name.contains(['*', '?', '{', '!', '#'])
    };
    // The closing bracket may have been typed.
    let begins_so = |name: &String| begins(&format!("{name}){slash}"), typed);
    let names = instances(set).into_iter().filter(|name| begins_so(name) && is_usable(name));
    let mut names: BTreeSet<String> = names.collect();
    names.extend(Some("*".to_owned()).filter(begins_so));
    names.iter().map(|name| Candidate { is_partial: true, ..Candidate::new(path(name), "") }).collect()
}

/// Returns the completion candidates for the counter of a counter path, or for the last counter of a list in braces.
fn counters(set: &Counterset, before: &str, typed: &str) -> Vec<Candidate> {
    let Some(list) = typed.strip_prefix('{') else {
        let named = counters_named(set, typed).into_iter();
        return named.map(|one| Candidate::new(format!("{before}{}", one.text), one.description)).collect();
    };
    let start = list.rfind(',').map_or(0, |comma| comma.saturating_add(1));
    let (head, last) = list.split_at_checked(start).unwrap_or((list, ""));
    let named = counters_named(set, last);
    // A candidate that is alone would end the word, so both ways to go on are offered.
    let ends: &[(&str, bool)] = if named.len() == 1 { &[(",", true), ("}", false)] } else { &[("", true)] };
    let with_end = |one: Candidate| {
        let before = format!("{before}{{{head}{}", one.text);
        ends.iter().map(move |(end, is_partial)| {
            let text = format!("{before}{end}");
            Candidate { is_partial: *is_partial, ..Candidate::new(text, one.description.clone()) }
        })
    };
    named.into_iter().flat_map(with_end).collect()
}

/// Returns the counters of a counterset whose names begin with the typed text, except those that this system never has.
pub fn counters_named(set: &Counterset, typed: &str) -> Vec<Candidate> {
    let is_shown = |counter: &&Counter| {
        !counter.attributes.contains(Attributes::NO_DISPLAYABLE) && !counter.is_never_there()
    };
    let candidate = |counter: &Counter| {
        let name = counter.name.as_deref().filter(|name| begins(name, typed))?;
        Some(Candidate::new(name, first_sentence(&counter.help)))
    };
    set.counters.iter().filter(is_shown).filter_map(candidate).collect()
}

/// Returns the countersets whose names begin with the typed text, as completion candidates.
pub fn countersets_named(sets: &[Arc<Counterset>], typed: &str) -> Vec<Candidate> {
    let named = sets.iter().filter(|set| begins(&set.name, typed));
    named.map(|set| Candidate::new(&*set.name, first_sentence(&set.help))).collect()
}

/// Returns `true` if the name of a counter or counterset begins with a text, ignoring case.
fn begins(name: &str, typed: &str) -> bool {
    let mut name = name.chars().flat_map(char::to_lowercase);
    typed.chars().flat_map(char::to_lowercase).all(|c| name.next() == Some(c))
}

/// Returns the first sentence of a help text, without its full stop.
fn first_sentence(help: &str) -> &str {
    help.split(". ").next().unwrap_or_default().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts of the candidates for a typed counter path, from some built-in countersets with made-up
    /// instances.
    fn texts(typed: &str) -> Vec<String> {
        let names = [
            "Memory",
            "Block I/O",
            "Processor",
            "Processor Information",
            "LogicalDisk",
            "Process V2",
            "System",
        ];
        let mut sets: Vec<_> = perfset::catalogue::ALL
            .iter()
            .filter(|set| names.contains(&&*set.name))
            .map(|set| Arc::new((*set).clone()))
            .collect();
        sets.sort_by_key(|set| set.name.to_string());
        let instances = |set: &Counterset| {
            let names: &[&str] = match &*set.name {
                "Processor" => &["0", "1", "_Total"],
                "LogicalDisk" => &["/home", "_Total"],
                "Process V2" => {
                    &["a b:1", "it's:2", "a(b):3", "x)\\y:4", "n#1:5", "st*r:6", "bash:7", "bash:7"]
                }
                _ => &["0,0"],
            };
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        candidates(&sets, &instances, typed).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn parts_of_paths() {
        for (typed, want) in [
            // Countersets.
            ("/Proc", &["/Process V2(", "/Processor(", "/Processor Information("][..]),
            (r"\proc", &[r"\Process V2(", r"\Processor(", r"\Processor Information("]),
            // Instances, at once if the counterset is certain.
            (r"\logi", &[r"\LogicalDisk(*)\", r"\LogicalDisk(/home)\", r"\LogicalDisk(_Total)\"]),
            (
                r"\Processor(",
                &[r"\Processor(*)\", r"\Processor(0)\", r"\Processor(1)\", r"\Processor(_Total)\"],
            ),
            ("/LogicalDisk(/home)/% fr", &["/LogicalDisk(/home)/% Free Space"]),
            ("/block i", &["/Block I/O(*)/", "/Block I/O(0,0)/"]),
            ("/Block I/O(*)/reads/", &["/Block I/O(*)/Reads/sec"]),
            // Without instances, there are no brackets.
            (r"\Memory(", &[]),
            // Names that the grammar reads otherwise are not offered, and equal ones once.
            (
                r"\Process V2(",
                &[
                    r"\Process V2(*)\",
                    r"\Process V2(a b:1)\",
                    r"\Process V2(a(b):3)\",
                    r"\Process V2(bash:7)\",
                    r"\Process V2(it's:2)\",
                ],
            ),
            (r"\Process V2(zz", &[]),
            // Counters, at once if the instance is certain.
            (r"\processor(_T", &[r"\Processor(_Total)\% Processor Time", r"\Processor(_Total)\% User Time"]),
            (r"/memory/available b", &["/Memory/Available Bytes"]),
            (r"\Memory\Available B", &[r"\Memory\Available Bytes"]),
            (r"\Processor(*)\% pr", &[r"\Processor(*)\% Processor Time", r"\Processor(*)\% Privileged Time"]),
            (r"\Processor(no such)\% processor", &[r"\Processor(no such)\% Processor Time"]),
            // Lists of counters.
            (
                r"\Processor(*)\{% Idle Time,% pr",
                &[
                    r"\Processor(*)\{% Idle Time,% Processor Time",
                    r"\Processor(*)\{% Idle Time,% Privileged Time",
                ],
            ),
            (r"\Processor(0)\{% id", &[r"\Processor(0)\{% Idle Time,", r"\Processor(0)\{% Idle Time}"]),
            (r"\Processor(0)\{% Idle Time}", &[]),
            // Nothing.
            (r"\No such\", &[]),
            (r"\No such(", &[]),
            (r"\\host\Mem", &[]),
            ("x", &[]),
            // Short names.
            ("c", &["cpu"]),
        ] {
            let got = texts(typed);
            let got: Vec<_> = match typed {
                r"\processor(_T" => got.into_iter().take(2).collect(),
                _ => got,
            };
            assert_eq!(got, want, "{typed}");
        }
        let all = texts("");
        assert!(all.contains(&"cpu".to_owned()) && all.contains(&r"\Memory\".to_owned()), "{all:?}");
    }

    /// Checks that only a whole counter path is a candidate alone: a shell closes the quote behind a single
    /// candidate.
    #[test]
    fn a_candidate_that_is_alone_is_whole() {
        for typed in [r"\Mem", r"\System", r"\LogicalDisk(/home", r"\Processor(0)\% Idl"] {
            let found = texts(typed);
            let is_partial = |text: &String| text.ends_with(['(', '\\']);
            assert!(found.len() != 1 || !is_partial(&found[0]), "{typed}: {found:?}");
        }
    }

    #[test]
    fn every_prefix_of_a_path_is_completed() {
        for path in [
            r"\Processor(_Total)\% Processor Time",
            "/Memory/Available Bytes",
            r"\Process V2(it's:2)\Working Set",
        ] {
            for (at, _) in path.char_indices().skip(1) {
                let found = texts(&path[..at]);
                assert!(
                    found.iter().any(|text| path.starts_with(text.as_str()) || text == path),
                    "{path} at {at}: {found:?}"
                );
            }
        }
    }
}
