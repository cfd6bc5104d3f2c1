//! Title indexes: the numbers that stand for names and help texts in the V1 format.

use std::collections::{BTreeMap, BTreeSet};

use perfset_catalogue as catalogue;
use perfset_core::v1::{TitleNames, name_table};
use perfset_core::{Counter, CounterId, Counterset, Guid, Text};

/// First title index of publishers' countersets and counters, which get even numbers below `END`, by a hash of GUID
/// and id.
const FIRST: u32 = 1 << 17;
const END: u32 = 1 << 20;

/// Last title index that every Windows system has, which is that of a help text; installed countersets have higher
/// indexes. `Base Index` in the registry.
pub const BASE_INDEX: u32 = 1_847;
const END_MARKER: &str = "End Marker";

/// Title indexes of countersets and their counters in the V1 format.
///
/// Indexes of the catalogue never change. Any other counterset or counter has an even number from 2^17 to 2^20, by a
/// hash of its GUID and id. Clashes are resolved in the order of GUIDs and of registration, each by the next free
/// number. The index of a help text is that of the name plus 1.
#[derive(Clone, Debug, Default)]
pub struct Titles {
    indexes: BTreeMap<(Guid, Option<CounterId>), u32>,
    names: BTreeMap<u32, (Text, Text)>,
}

impl Titles {
    /// Assigns title indexes to these countersets, which must be in the order of their GUIDs.
    pub fn new<'a>(countersets: impl IntoIterator<Item = &'a Counterset> + Clone) -> Self {
        let mut taken = BTreeSet::new();
        let fixed = |set: &'a Counterset| {
            set.counters.iter().filter_map(|counter| counter.v1_index).chain(set.v1_index)
        };
        // All fixed indexes first: a computed one must not take the index of a later counterset.
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
        // Without an index the counter is not in V1: there are more counters than numbers for them.
        let Some(index) = index else { return };
        self.indexes.insert(key, index);
        self.names.entry(index).or_insert_with(|| (name.clone(), help.clone()));
    }

    /// Returns the title index of a counterset.
    #[must_use]
    pub fn counterset_title(&self, counterset: Guid) -> Option<u32> {
        self.indexes.get(&(counterset, None)).copied()
    }

    /// Returns the title index of a counter.
    #[must_use]
    pub fn counter_title(&self, counterset: Guid, counter: &Counter) -> Option<u32> {
        self.indexes.get(&(counterset, Some(counter.id))).copied()
    }

    /// Returns the names of countersets and counters by their title indexes.
    #[must_use]
    pub fn names(&self) -> TitleNames {
        let mut names = TitleNames::default();
        for (index, (name, _)) in &self.names {
            names.insert(*index, name.to_string());
        }
        names
    }

    /// Returns the V1 table of names, the response to `Counter 009`. As on Windows it begins with the last index that
    /// every system has, where an end marker is stored.
    #[must_use]
    pub fn name_table(&self) -> Vec<u8> {
        let mut pairs: BTreeMap<u32, &str> = self.names.iter().map(|(i, (name, _))| (*i, &**name)).collect();
        let last = BASE_INDEX.to_string();
        pairs.insert(1, &last);
        pairs.insert(BASE_INDEX.saturating_sub(1), END_MARKER);
        name_table(pairs)
    }

    /// Returns the V1 table of help texts, the response to `Help 009`. Names without a help text are not in it.
    #[must_use]
    pub fn help_table(&self) -> Vec<u8> {
        let helps = self.names.iter().map(|(index, (_, help))| (index.saturating_add(1), &**help));
        let mut pairs: BTreeMap<u32, &str> = helps.filter(|(_, help)| !help.is_empty()).collect();
        pairs.insert(BASE_INDEX, END_MARKER);
        name_table(pairs)
    }
}

/// Returns the catalogue's names of the title indexes that every Windows has, for blocks without a name table.
///
/// This project's own indexes begin at 20,000. On other machines, those indexes belong to whatever is installed
/// there.
#[must_use]
pub fn windows_names() -> TitleNames {
    const OURS: u32 = 20_000;
    let mut names = TitleNames::default();
    for (index, text) in Titles::new(catalogue::ALL.iter().copied()).names().iter() {
        if index < OURS {
            names.insert(index, text.to_owned());
        }
    }
    names
}

/// Returns the first free title index, from the hash of GUID and id upwards.
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

/// Computes the FNV-1a hash over the GUID in big-endian bytes and the counter's id; a counterset itself has an id
/// that no counter has.
fn hash(counterset: Guid, counter: Option<CounterId>) -> u32 {
    // The numbers are documented in docs/v1.md, so this function must not change.
    let id = counter.map_or(u32::MAX, |id| id.0);
    let bytes = counterset.to_u128().to_be_bytes().into_iter().chain(id.to_be_bytes());
    bytes.fold(0x811C_9DC5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
