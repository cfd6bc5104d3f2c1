//! Name table in a binary log of whole objects: names of the recorded machine's objects and counters, by title index.

use perfset_core::Name;
use perfset_core::v1::NameTable;

/// Names of objects and counters by title index, and the name of their machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlgNames {
    /// Name of the machine that the name table is from, with its backslashes.
    pub machine: String,
    /// Bytes of the name table: alternating title index and name, each with its NUL.
    pairs: Vec<u8>,
}

impl BlgNames {
    /// Maximum number of bytes of a name table, far more than any system has: Windows' own names take 100 KiB.
    const MOST: usize = 16 << 20;

    /// Returns the table of all names read so far, for [`TitleNames::read`](perfset_core::v1::TitleNames::read).
    #[must_use]
    pub fn table(&self) -> NameTable<'_> {
        NameTable::new(&self.pairs)
    }

    /// Adds the payload of a record to the name table: the machine's name, then alternating index and name. Returns
    /// `true` if there was room.
    pub(super) fn add(&mut self, payload: &[u8]) -> bool {
        let machine = Name::until_nul(payload);
        let pairs = match machine.to_string() {
            name if name.starts_with(r"\\") => {
                self.machine = name;
                payload.get(machine.as_bytes().len().saturating_add(2)..).unwrap_or_default()
            }
            // Every record of known logs begins with the machine's name; whether it is required is unknown.
            _ => payload,
        };
        let units = pairs.chunks_exact(2);
        // A record ends in padding. NULs between two records would be read as a pair without an index, so
        // exactly one remains.
        let len = units.clone().rposition(|unit| unit != [0, 0]).map_or(0, |last| last.saturating_add(1));
        // Without a limit, a hostile log could repeat this record until the memory is full.
        let has_room = self.pairs.len().saturating_add(pairs.len()) <= Self::MOST;
        if has_room && len > 0 {
            self.pairs.extend(units.take(len).flatten());
            self.pairs.extend([0, 0]);
        }
        has_room
    }
}
