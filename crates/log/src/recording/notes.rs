//! Notes: facts about instances as text, such as the command line of a process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use perfset_core::{Guid, Identity, InstanceId, Name};
use perfset_engine::{Fact, FactKind};

use super::block::{BlockKind, Compressor, put_block_of};
use super::bytes::{Malformed, PayloadCursor, put_len, put_text};
use super::table::RowIdentity;
use super::tick::{ROW_KEY, put_row_key, row_key};

/// Maximum number of characters of a fact about an instance; the rest of a longer fact is not stored.
const LONGEST: usize = 1_000;

/// Length in bytes at which a block of notes is full, so that the next notes begin another block.
const BLOCK: usize = 1 << 20;

/// Maximum number of bytes of the notes in a block: [`BLOCK`], and room for one more instance.
pub(super) const MOST_BYTES: u32 = 2 << 20;

/// Known facts about an instance: kinds and texts.
pub(super) type KnownFacts = Vec<(FactKind, String)>;

/// Note of a recording: an instance with the facts known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InstanceNote {
    pub instance: RowIdentity,
    pub facts: KnownFacts,
}

impl InstanceNote {
    /// Returns the approximate number of bytes that the note takes in memory.
    pub fn len(&self) -> usize {
        let texts = self.facts.iter().map(|(_, text)| text.len().saturating_add(40));
        texts.fold(self.instance.name.len().saturating_mul(2).saturating_add(150), usize::saturating_add)
    }
}

/// Notes of a recorder about all instances that are known to the file being written.
#[derive(Debug, Default)]
pub(super) struct RecorderNotes {
    known: HashMap<Guid, HashMap<RowIdentity, KnownFacts>>,
    /// Instances whose notes are not yet in the recording's file.
    pending: Vec<(Guid, RowIdentity)>,
}

impl RecorderNotes {
    /// Reads facts about at most `most` instances for which the recorder has no note yet.
    pub fn add_new<'r>(
        &mut self,
        counterset: Guid,
        rows: impl Iterator<Item = &'r RowIdentity>,
        most: usize,
        read: &mut dyn FnMut(&Identity<'_>) -> Vec<Fact>,
    ) {
        let known = self.known.entry(counterset).or_default();
        let new: Vec<&RowIdentity> = rows.filter(|row| !known.contains_key(*row)).take(most).collect();
        for row in new {
            let name: Vec<u8> = row.name.units().iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let identity = Identity {
                counterset,
                instance: Name::until_nul(&name),
                instance_id: InstanceId(row.id),
                birth: row.birth(),
            };
            let facts = read(&identity).into_iter().filter_map(|fact| Some((fact.kind, fact.text.ok()?)));
            let facts: KnownFacts =
                facts.map(|(kind, text)| (kind, text.chars().take(LONGEST).collect())).collect();
            if !facts.is_empty() {
                self.pending.push((counterset, row.clone()));
            }
            known.insert(row.clone(), facts);
        }
    }

    /// Prepares the notes for a new file: notes of existing instances are written again, notes of ended ones are
    /// forgotten. Facts about instances without a birth, such as disks, are read again: they can change.
    pub fn begin_file(&mut self, is_there: impl Fn(&Guid) -> HashSet<RowIdentity>) {
        self.pending.clear();
        self.forget(is_there);
        for (counterset, known) in &mut self.known {
            known.retain(|row, _| row.birth != 0);
            let with_facts = known.iter().filter(|(_, facts)| !facts.is_empty());
            self.pending.extend(with_facts.map(|(row, _)| (*counterset, row.clone())));
        }
        // The same recording has the same bytes.
        self.pending.sort_unstable();
    }

    /// Forgets the notes about instances that have ended. Notes of the others stay in the file that is written.
    pub fn forget(&mut self, is_there: impl Fn(&Guid) -> HashSet<RowIdentity>) {
        for (counterset, known) in &mut self.known {
            let there = is_there(counterset);
            known.retain(|row, _| there.contains(row));
        }
    }

    /// Appends blocks of the recorder's notes that are not in the file yet.
    pub fn put(&self, out: &mut Vec<u8>, sequence: u64, compressor: &mut Compressor) -> io::Result<()> {
        let mut by_set: BTreeMap<Guid, Vec<InstanceNote>> = BTreeMap::new();
        for (counterset, row) in &self.pending {
            let facts = self.known.get(counterset).and_then(|known| known.get(row));
            let note = facts.map(|facts| InstanceNote { instance: row.clone(), facts: facts.clone() });
            by_set.entry(*counterset).or_default().extend(note);
        }
        for (counterset, notes) in by_set {
            put_notes(out, (sequence, 0), counterset, &notes, compressor)?;
        }
        Ok(())
    }

    /// Marks the pending notes as written to the recording's file.
    pub fn written(&mut self) {
        self.pending.clear();
    }
}

/// Appends blocks with the notes about instances of a counterset; each block has the number of a tick and of an
/// `about` block.
pub(super) fn put_notes(
    out: &mut Vec<u8>,
    (sequence, about): (u64, u8),
    counterset: Guid,
    notes: &[InstanceNote],
    compressor: &mut Compressor,
) -> io::Result<()> {
    let mut left = notes;
    while !left.is_empty() {
        let (mut body, mut count) = (Vec::new(), 0_usize);
        for InstanceNote { instance, facts } in left {
            put_row_key(&mut body, instance);
            put_len(&mut body, facts.len());
            for (kind, text) in facts {
                put_text(&mut body, kind.keyword());
                put_text(&mut body, text);
            }
            count = count.saturating_add(1);
            if body.len() >= BLOCK {
                break;
            }
        }
        left = left.get(count..).unwrap_or_default();
        let mut payload = Vec::new();
        payload.extend_from_slice(&counterset.to_wire());
        put_len(&mut payload, count);
        payload.append(&mut body);
        put_block_of(out, (BlockKind::Notes, about), sequence, &payload, compressor)?;
    }
    Ok(())
}

/// Reads the notes about instances in a block, and the counterset of their instances. Facts of unknown kinds are left
/// out.
pub(super) fn notes(payload: &[u8]) -> Result<(Guid, Vec<InstanceNote>), Malformed> {
    let mut from = PayloadCursor::new(payload);
    let counterset = from.guid("counterset of notes")?;
    let count = from.count(ROW_KEY.saturating_add(1), "notes")?;
    let mut notes = Vec::new();
    for _ in 0..count {
        let instance = row_key(&mut from)?;
        let facts_count = from.count(2, "facts of a note")?;
        let mut facts: KnownFacts = Vec::new();
        for _ in 0..facts_count {
            let (keyword, text) = (from.text("kind of a fact")?, from.text("text of a fact")?);
            let kind = FactKind::from_keyword(keyword);
            let is_new = |kind: &FactKind| !facts.iter().any(|(known, _)| known == kind);
            let kind = kind.filter(is_new);
            facts.extend(kind.map(|kind| (kind, text.chars().take(LONGEST).collect())));
        }
        notes.push(InstanceNote { instance, facts });
    }
    from.end()?;
    Ok((counterset, notes))
}

/// Notes of a recording, read block by block on request, from the newest block back to the oldest.
#[derive(Debug, Default)]
pub(super) struct NotesIndex {
    /// Last tick up to which notes count, as indexes of file and tick; the outer `None` means that no search has been
    /// made.
    pub last: Option<Option<(usize, usize)>>,
    /// Number of files left to read, and number of blocks already read of the last of them; `None` before the first
    /// read.
    left: Option<(usize, usize)>,
    found: HashMap<(Guid, u32, u64), Vec<InstanceNote>>,
    /// Number of bytes that the notes read so far take in memory.
    len: usize,
}

impl NotesIndex {
    /// Maximum number of bytes of a recording's notes that are kept in memory; older notes are not read.
    const MOST: usize = 64 << 20;

    /// Returns the newest facts about an instance. `files` is the number of files that may have some. `read` reads a
    /// block of a file: 0 is the last one; `None` if there are no more.
    pub fn facts(
        &mut self,
        instance: &Identity<'_>,
        files: usize,
        mut read: impl FnMut(usize, usize) -> Option<Vec<(Guid, InstanceNote)>>,
    ) -> Option<&KnownFacts> {
        let key = (instance.counterset, instance.instance_id.0, instance.birth.map_or(0, u64::from));
        let is_it =
            |note: &InstanceNote| note.instance.name.units().iter().copied().eq(instance.instance.units());
        while !self.found.get(&key).is_some_and(|notes| notes.iter().any(is_it)) {
            let (left, block) = self.left.unwrap_or((files, 0));
            let file = left.checked_sub(1).filter(|_| self.len < Self::MOST)?;
            let Some(notes) = read(file, block) else {
                self.left = Some((file, 0));
                continue;
            };
            self.left = Some((left, block.saturating_add(1)));
            // The last note of an instance is the newest.
            for (counterset, note) in notes.into_iter().rev() {
                let row = &note.instance;
                let of_key = self.found.entry((counterset, row.id, row.birth)).or_default();
                // A program that executes others has few names; a hostile file has any number of one id and birth.
                if of_key.len() < 16 && !of_key.iter().any(|known| known.instance.name == row.name) {
                    self.len = self.len.saturating_add(note.len());
                    of_key.push(note);
                }
            }
        }
        self.found.get(&key)?.iter().find(|note| is_it(note)).map(|note| &note.facts)
    }
}

#[cfg(test)]
mod tests {
    use perfset_core::Utf16;
    use proptest::prelude::*;

    use super::super::walk::BlockWalker;
    use super::*;

    fn row(name: &str, id: u32) -> RowIdentity {
        RowIdentity { name: Utf16::from(name), id, birth: 7, owner: Some((1, 2)) }
    }

    /// Returns the notes about instances that these blocks of a recording contain.
    fn read(blocks: &[u8]) -> Vec<(Guid, InstanceNote)> {
        let mut walker = BlockWalker::new(blocks.to_vec()).unwrap();
        let mut all = Vec::new();
        while let Some(block) = walker.next_block().unwrap() {
            let (counterset, notes) = notes(&block.into_payload().unwrap()).unwrap();
            all.extend(notes.into_iter().map(|note| (counterset, note)));
        }
        all
    }

    #[test]
    fn each_instance_is_noted_once_a_file() {
        let (a, b, guid) = (row("a", 1), row("b", 2), Guid::from_u128(5));
        let mut recorder = RecorderNotes::default();
        let mut compressor = Compressor::new(1);
        let mut count = 0;
        let mut facts = |identity: &Identity<'_>| {
            count += 1;
            let text = format!("{} {count}", identity.instance_id.0);
            let refused = perfset_core::NoValue::Denied("no".into());
            vec![Fact::new(FactKind::User, Err(refused)), Fact::new(FactKind::CommandLine, Ok(text))]
        };
        let mut put = |recorder: &mut RecorderNotes| {
            let mut out = Vec::new();
            recorder.put(&mut out, 3, &mut compressor).unwrap();
            recorder.written();
            let notes = read(&out).into_iter();
            let mut notes: Vec<_> =
                notes.map(|(_, note)| (note.instance.name.to_string(), note.facts[0].1.clone())).collect();
            notes.sort();
            notes
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        recorder.add_new(guid, [&a, &b].into_iter(), 1, &mut facts);
        assert_eq!(put(&mut recorder), [pair("a", "1 1")]);
        recorder.add_new(guid, [&a, &b].into_iter(), 9, &mut facts);
        recorder.add_new(guid, [&a, &b].into_iter(), 9, &mut facts);
        assert_eq!(put(&mut recorder), [pair("b", "2 2")]);
        assert_eq!(put(&mut recorder), []);
        // The next file has the notes of those that are there, without reading anything.
        recorder.begin_file(|_| [b.clone()].into());
        assert_eq!(put(&mut recorder), [pair("b", "2 2")]);
        recorder.add_new(guid, [&a, &b].into_iter(), 9, &mut facts);
        assert_eq!(put(&mut recorder), [pair("a", "1 3")]);
    }

    #[test]
    fn ended_instances_are_forgotten() {
        let guid = Guid::from_u128(5);
        let mut recorder = RecorderNotes::default();
        let mut facts = |_: &Identity<'_>| vec![Fact::new(FactKind::User, Ok("root".to_owned()))];
        for id in 0..1_000 {
            let here = row("a", id);
            recorder.add_new(guid, [&here].into_iter(), 9, &mut facts);
            recorder.forget(|_| [here.clone()].into());
        }
        assert_eq!(recorder.known[&guid].len(), 1);
    }

    /// Checks that a file with any number of notes costs limited memory, even during a search for a missing note.
    #[test]
    fn hostile_notes_are_limited() {
        let mut payload = Guid::from_u128(1).to_wire().to_vec();
        put_len(&mut payload, 1);
        put_row_key(&mut payload, &row("a", 1));
        put_len(&mut payload, 40);
        for at in 0..40 {
            put_text(&mut payload, ["user", "unknown"][at % 2]);
            put_text(&mut payload, &"x".repeat(5_000));
        }
        let (counterset, read) = notes(&payload).unwrap();
        assert_eq!(read[0].facts, [(FactKind::User, "x".repeat(LONGEST))]);
        let mut index = NotesIndex::default();
        let name: Vec<u8> = "b".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (instance, birth) = (Name::until_nul(&name), std::num::NonZeroU64::new(7));
        let identity = Identity { counterset, instance, instance_id: InstanceId(1), birth };
        let mut id = 0;
        let endless = |_, _| {
            id += 1;
            let instance = row("a", id);
            Some(vec![(counterset, InstanceNote { instance, facts: read[0].facts.clone() })])
        };
        assert_eq!(index.facts(&identity, 1, endless), None);
        assert!(index.len < NotesIndex::MOST + (1 << 20), "{}", index.len);
    }

    #[test]
    fn long_notes_are_several_blocks() {
        let rows: Vec<_> = (0..3_000).map(|id| row("long", id)).collect();
        let facts = vec![(FactKind::CommandLine, "\u{e4}".repeat(LONGEST))];
        let note = |instance| InstanceNote { instance, facts: facts.clone() };
        let notes: Vec<_> = rows.iter().cloned().map(note).collect();
        let mut out = Vec::new();
        put_notes(&mut out, (0, 0), Guid::from_u128(1), &notes, &mut Compressor::new(1)).unwrap();
        assert_eq!(read(&out).len(), rows.len());
    }

    #[test]
    fn the_newest_note_of_an_instance_counts() {
        let guid = Guid::from_u128(1);
        let note = |name: &str, text: &str| {
            let facts = vec![(FactKind::User, text.to_owned())];
            (guid, InstanceNote { instance: row(name, 1), facts })
        };
        let files = [vec![note("a", "old"), note("c", "c")], vec![note("a", "older"), note("a", "new")]];
        let mut index = NotesIndex::default();
        let mut facts = |name: &str| {
            let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let (instance, birth) = (Name::until_nul(&name), std::num::NonZeroU64::new(7));
            let identity = Identity { counterset: guid, instance, instance_id: InstanceId(1), birth };
            let block = |file: usize, block| (block == 0).then(|| files[file].clone());
            index.facts(&identity, 2, block).map(|facts| facts[0].1.clone())
        };
        assert_eq!(facts("a").as_deref(), Some("new"));
        assert_eq!(facts("c").as_deref(), Some("c"));
        assert_eq!(facts("a").as_deref(), Some("new"));
        assert_eq!(facts("b"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_notes_or_an_error(payload: Vec<u8>) {
            let _ = notes(&payload);
        }
    }

    #[test]
    fn each_cut_is_an_error() {
        let facts = vec![(FactKind::User, "root".to_owned())];
        let (note, mut out) = (InstanceNote { instance: row("a", 1), facts }, Vec::new());
        put_notes(&mut out, (0, 0), Guid::from_u128(1), &[note], &mut Compressor::new(1)).unwrap();
        let mut walker = BlockWalker::new(out).unwrap();
        let payload = walker.next_block().unwrap().unwrap().into_payload().unwrap();
        assert!(notes(&payload).is_ok());
        for len in 0..payload.len() {
            assert!(notes(&payload[..len]).is_err());
        }
    }
}
