//! Title indexes: the numbers that V1 has for names.

use std::collections::{BTreeMap, BTreeSet};

use perfset_core::v1::{Names, name_table};
use perfset_core::{Counter, CounterId, Counterset, Guid, Text, catalogue};

/// Where indexes of applications begin, and where they end: even numbers by a hash of what they name.
const FIRST: u32 = 1 << 17;
const END: u32 = 1 << 20;

/// The last index that every system has, a help's; what is installed has higher ones. `Base Index` in the registry.
pub const BASE_INDEX: u32 = 1_847;
const END_MARKER: &str = "End Marker";

/// The title indexes of countersets and their counters.
///
/// Those of the catalogue are fixed for ever. Any other counterset or counter has an even number from 2^17 to 2^20, by
/// a hash of its GUID and id; clashes are resolved in the order of GUIDs and of registration, each by the next free
/// number. A help text has the number behind its name's.
#[derive(Clone, Debug, Default)]
pub struct Titles {
    indexes: BTreeMap<(Guid, Option<CounterId>), u32>,
    names: BTreeMap<u32, (Text, Text)>,
}

impl Titles {
    /// Numbers all of these, which are in the order of their GUIDs.
    pub fn new<'a>(countersets: impl IntoIterator<Item = &'a Counterset> + Clone) -> Self {
        let mut taken = BTreeSet::new();
        let fixed = |set: &'a Counterset| {
            set.counters.iter().filter_map(|counter| counter.v1_index).chain(set.v1_index)
        };
        for set in countersets.clone() {
            taken.extend(fixed(set));
        }
        let mut titles = Self::default();
        for set in countersets {
            let index = set.v1_index.or_else(|| free(&mut taken, set.guid, None));
            titles.insert((set.guid, None), index, &set.name, &set.help);
            for counter in set.counters.iter() {
                let Some(name) = &counter.name else { continue };
                let index = counter.v1_index.or_else(|| free(&mut taken, set.guid, Some(counter.id)));
                titles.insert((set.guid, Some(counter.id)), index, name, &counter.help);
            }
        }
        titles
    }

    fn insert(&mut self, key: (Guid, Option<CounterId>), index: Option<u32>, name: &Text, help: &Text) {
        // Without an index it is not in V1: there are more counters than numbers for them.
        let Some(index) = index else { return };
        self.indexes.insert(key, index);
        self.names.entry(index).or_insert_with(|| (name.clone(), help.clone()));
    }

    /// The index of a counterset.
    #[must_use]
    pub fn of_counterset(&self, counterset: Guid) -> Option<u32> {
        self.indexes.get(&(counterset, None)).copied()
    }

    /// The index of a counter.
    #[must_use]
    pub fn of_counter(&self, counterset: Guid, counter: &Counter) -> Option<u32> {
        self.indexes.get(&(counterset, Some(counter.id))).copied()
    }

    /// All names, by index.
    #[must_use]
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        for (index, (name, _)) in &self.names {
            names.insert(*index, name.to_string());
        }
        names
    }

    /// The table of names: what `Counter 009` answers. As on Windows it begins with the last index that every system
    /// has, where an end is marked.
    #[must_use]
    pub fn name_table(&self) -> Vec<u8> {
        let mut pairs: BTreeMap<u32, &str> = self.names.iter().map(|(i, (name, _))| (*i, &**name)).collect();
        let last = BASE_INDEX.to_string();
        pairs.insert(1, &last);
        pairs.insert(BASE_INDEX.saturating_sub(1), END_MARKER);
        name_table(pairs)
    }

    /// The table of helps: what `Help 009` answers. Names without a help are not in it.
    #[must_use]
    pub fn help_table(&self) -> Vec<u8> {
        let helps = self.names.iter().map(|(index, (_, help))| (index.saturating_add(1), &**help));
        let mut pairs: BTreeMap<u32, &str> = helps.filter(|(_, help)| !help.is_empty()).collect();
        pairs.insert(BASE_INDEX, END_MARKER);
        name_table(pairs)
    }
}

/// The names that the catalogue knows for the indexes that every Windows has: for blocks without a name table.
///
/// Our own indexes begin at 20,000, where those of another machine name whatever it has installed.
#[must_use]
pub fn windows_names() -> Names {
    const OURS: u32 = 20_000;
    let mut names = Names::default();
    for (index, text) in Titles::new(catalogue::ALL.iter().copied()).names().iter() {
        if index < OURS {
            names.insert(index, text.to_owned());
        }
    }
    names
}

/// The first free number from the one on that the hash gives.
fn free(taken: &mut BTreeSet<u32>, counterset: Guid, counter: Option<CounterId>) -> Option<u32> {
    let count = END.wrapping_sub(FIRST).wrapping_div(2);
    let slot = hash(counterset, counter).checked_rem(count).unwrap_or(0);
    let number = |step: u32| {
        let slot = slot.saturating_add(step).checked_rem(count).unwrap_or(0);
        FIRST.saturating_add(slot.saturating_mul(2))
    };
    let index = (0..count).map(number).find(|index| !taken.contains(index))?;
    taken.insert(index);
    Some(index)
}

/// FNV-1a over the GUID as digits and the counter's id; a counterset itself counts as an id that no counter has.
fn hash(counterset: Guid, counter: Option<CounterId>) -> u32 {
    let id = counter.map_or(u32::MAX, |id| id.0);
    let bytes = counterset.to_u128().to_be_bytes().into_iter().chain(id.to_be_bytes());
    bytes.fold(0x811C_9DC5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
