//! Cache of log pairs that have a counter in common.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use perfset_core::utf16::Utf16;

use super::log_reader::{LogEntry, LogEntryKind};

/// Cache of the log pairs with a counter in common; valid while their counter lists stay the same.
#[derive(Debug, Default)]
pub(super) struct Overlaps {
    pairs: HashMap<(usize, usize), CachedOverlap>,
}

#[derive(Debug)]
struct CachedOverlap {
    lists: [Arc<[LogEntry]>; 2],
    is_any: bool,
}

/// Index of a log, and the log's counter list.
pub(super) type Numbered<'a> = (usize, &'a Arc<[LogEntry]>);

impl Overlaps {
    /// Returns `true` if two logs may have values of the same counter, on any machine.
    pub fn is_any(&mut self, (a, of_a): Numbered<'_>, (b, of_b): Numbered<'_>) -> bool {
        // Lists can have 100,000 entries and rarely change, so the result is kept, by pointer.
        if let Some(CachedOverlap { lists: [x, y], is_any }) = self.pairs.get(&(a, b)) {
            // The cached pointers keep their lists alive, so no new list has the address of an old one.
            if Arc::ptr_eq(x, of_a) && Arc::ptr_eq(y, of_b) {
                return *is_any;
            }
        }
        let is_any = Contents::new(of_a).has_any(of_b);
        self.pairs.insert((a, b), CachedOverlap { lists: [Arc::clone(of_a), Arc::clone(of_b)], is_any });
        is_any
    }
}

/// Counters and instances that a log lists, by machine and counterset, with names in upper case.
#[derive(Default)]
struct Contents {
    sets: HashMap<[Utf16; 2], CountersetContents>,
}

#[derive(Default)]
struct CountersetContents {
    is_whole: bool,
    counters: HashMap<Utf16, InstanceNames>,
}

#[derive(Default)]
struct InstanceNames {
    is_wild: bool,
    names: HashSet<Utf16>,
}

fn capitals(name: &str) -> Utf16 {
    Utf16::from(name).capitals()
}

fn set_name(listed: &LogEntry) -> [Utf16; 2] {
    let machine = listed.path.machine.as_deref().unwrap_or_default();
    [capitals(machine), capitals(&listed.path.counterset)]
}

fn instance_name(listed: &LogEntry) -> Utf16 {
    capitals(listed.path.instance.as_deref().unwrap_or_default())
}

impl Contents {
    fn new(list: &[LogEntry]) -> Self {
        let mut contents = Self::default();
        for listed in list {
            let is_wild = match listed.what {
                LogEntryKind::Unknown => continue,
                LogEntryKind::Object => {
                    contents.sets.entry(set_name(listed)).or_default().is_whole = true;
                    continue;
                }
                LogEntryKind::Raw { is_wild, .. } => is_wild,
                LogEntryKind::Formatted | LogEntryKind::Recorded => false,
            };
            let set = contents.sets.entry(set_name(listed)).or_default();
            let instances = set.counters.entry(capitals(&listed.path.counter)).or_default();
            instances.is_wild |= is_wild;
            if !is_wild {
                instances.names.insert(instance_name(listed));
            }
        }
        contents
    }

    fn has_any(&self, list: &[LogEntry]) -> bool {
        list.iter().any(|listed| {
            let Some(set) = self.sets.get(&set_name(listed)) else { return false };
            let instances = || set.counters.get(&capitals(&listed.path.counter));
            match listed.what {
                LogEntryKind::Unknown => false,
                LogEntryKind::Object => true,
                // A whole object has every counter of every instance.
                _ if set.is_whole => true,
                LogEntryKind::Raw { is_wild: true, .. } => instances().is_some(),
                LogEntryKind::Raw { .. } | LogEntryKind::Formatted | LogEntryKind::Recorded => {
                    let name = instance_name(listed);
                    instances().is_some_and(|known| known.is_wild || known.names.contains(&name))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list = |texts: &[&str]| -> Arc<[LogEntry]> {
            let one = |text: &&str| LogEntry::new(text, LogEntryKind::Formatted);
            texts.iter().map(one).collect()
        };
        let object = |text: &str| -> Arc<[LogEntry]> { [LogEntry::new(text, LogEntryKind::Object)].into() };
        for (a, b, want) in [
            (list(&[r"\\H\A(x)\V"]), list(&[r"\\h\a(X)\v"]), true),
            (
                list(&[r"\\H\A(x)\V"]),
                list(&[r"\\H\A(y)\V", r"\\H\A(x)\W", r"\\H\B(x)\V", r"\\G\A(x)\V"]),
                false,
            ),
            (list(&[r"\\H\A(x)\V"]), object(r"\\H\A(*)\*"), true),
            (list(&[r"\\H\A(x)\V"]), object(r"\\H\B(*)\*"), false),
            (object(r"\\H\A(*)\*"), object(r"\\H\A(*)\*"), true),
            (list(&[]), list(&[]), false),
        ] {
            let mut overlaps = Overlaps::default();
            assert_eq!(overlaps.is_any((0, &a), (1, &b)), want, "{a:?} {b:?}");
            assert_eq!(overlaps.is_any((0, &a), (1, &b)), want, "kept");
            assert_eq!(overlaps.is_any((1, &b), (0, &a)), want, "the other way");
            assert!(!overlaps.is_any((0, &a), (1, &list(&[]))), "another list");
        }
    }
}
