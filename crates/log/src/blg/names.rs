//! The name table of a machine, as logs of whole objects carry it.

use perfset_core::Name;
use perfset_core::v1::NameTable;

/// The names of objects and counters by title index, and whose they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The machine, with its backslashes.
    pub machine: String,
    /// Index and name in turn, each with its NUL.
    pairs: Vec<u8>,
}

impl Names {
    /// Far more than any system has: Windows' own names take 100 KiB.
    const MOST: usize = 16 << 20;

    /// All that have come so far, for [`v1::Names::read`](perfset_core::v1::Names::read).
    #[must_use]
    pub fn table(&self) -> NameTable<'_> {
        NameTable::new(&self.pairs)
    }

    /// Takes over the payload of a record: the machine's name, then index and name in turn. Whether there was room.
    pub(super) fn add(&mut self, payload: &[u8]) -> bool {
        let machine = Name::until_nul(payload);
        let pairs = match machine.to_string() {
            name if name.starts_with(r"\\") => {
                self.machine = name;
                payload.get(machine.as_bytes().len().saturating_add(2)..).unwrap_or_default()
            }
            // No log seen so far goes on without the machine's name; none says that it may not.
            _ => payload,
        };
        let units = pairs.chunks_exact(2);
        let len = units.clone().rposition(|unit| unit != [0, 0]).map_or(0, |last| last.saturating_add(1));
        let has_room = self.pairs.len().saturating_add(pairs.len()) <= Self::MOST;
        if has_room && len > 0 {
            self.pairs.extend(units.take(len).flatten());
            self.pairs.extend([0, 0]);
        }
        has_room
    }
}
