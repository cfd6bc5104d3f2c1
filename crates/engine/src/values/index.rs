//! Index of a sample: the places of its rows, found once for all of its values.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::sample::Clocks;
use perfset_core::v2::{Block, Instance, InstancePlace};
use perfset_core::{Counter, Name, NoValue};

use super::entry_rows::{
    AllRows, CellIndex, EntryRows, OldRow, ResultCells, ResultRow, aligned, alignment, entry_rows,
};
use super::pairing::Pairing;
use super::{Column, Current, Value};
use crate::pattern::FoldedName;
use crate::snapshot::{ResolvedEntry, Snapshot};

/// A sample and the one before it, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct SamplePair<'a> {
    pub new: &'a Snapshot,
    pub old: Option<&'a Snapshot>,
}

/// Places of the results and rows of two samples, and the older row of each newer one.
///
/// It borrows nothing, so that a query can keep it: for all readings of a sample, and for later samples while the
/// structure of both blocks stays the same.
#[derive(Debug)]
pub(crate) struct SampleIndex {
    of: [Structure; 2],
    entries: Vec<EntryIndex>,
}

/// Structure of a snapshot's block.
#[derive(Debug)]
struct Structure {
    number: u64,
    entries: Option<Arc<[ResolvedEntry]>>,
}

impl Structure {
    fn new(snapshot: Option<&Snapshot>) -> Self {
        Self {
            number: snapshot.map_or(0, |snapshot| snapshot.structure),
            entries: snapshot.map(|snapshot| Arc::clone(&snapshot.entries)),
        }
    }

    fn is_of(&self, snapshot: Option<&Snapshot>) -> bool {
        match (&self.entries, snapshot) {
            (Some(entries), Some(snapshot)) => {
                self.number != 0
                    && self.number == snapshot.structure
                    && Arc::ptr_eq(entries, &snapshot.entries)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

#[derive(Debug, Default)]
struct EntryIndex {
    /// Offset of the result in the newer block.
    new: Option<usize>,
    /// Index of the same entry in the older sample, and the offset of its result.
    old: Option<(usize, Option<usize>)>,
    /// Rows of a table, found when they are needed.
    rows: OnceCell<Vec<RowIndex>>,
}

/// Row of a table.
#[derive(Clone, Copy, Debug)]
struct RowIndex {
    /// Place of the row; `None` if it can only be found by its position.
    place: Option<InstancePlace>,
    /// Position and place of the older row of the same name and id.
    older: Option<(u32, Option<InstancePlace>)>,
    /// Number of rows before with the same name, ignoring case.
    occurrence: u32,
}

impl SampleIndex {
    pub fn new(pair: SamplePair<'_>) -> Self {
        let new = offsets(pair.new);
        let mut entries: Vec<EntryIndex> = Vec::with_capacity(pair.new.entries.len());
        entries.extend(
            (0..pair.new.entries.len())
                .map(|at| EntryIndex { new: new.get(at).copied(), ..EntryIndex::default() }),
        );
        if let Some(old) = pair.old {
            let offsets = offsets(old);
            for (entry, at) in entries.iter_mut().zip(alignment(pair.new, old)) {
                entry.old = at.map(|at| (at, offsets.get(at).copied()));
            }
        }
        Self { of: [Some(pair.new), pair.old].map(Structure::new), entries }
    }

    /// Returns `true` if the index, made of other samples, is right for these, too: their blocks have the structure of
    /// those.
    pub fn fits(&self, pair: SamplePair<'_>) -> bool {
        let [new, old] = &self.of;
        new.is_of(Some(pair.new)) && old.is_of(pair.old)
    }
}

/// Returns the offsets of the results of a block. A result that cannot be read ends them.
fn offsets(snapshot: &Snapshot) -> Vec<usize> {
    let results = Block::parse(&snapshot.block).map(|block| block.results());
    results.into_iter().flatten().map_while(Result::ok).map(|result| result.offset()).collect()
}

/// Finds the rows of a table, and the older row of each.
fn rows_of(new: &EntryRows<'_>, old: Option<&EntryRows<'_>>) -> Vec<RowIndex> {
    let Some(table) = new.table() else { return Vec::new() };
    let place = |row: Instance<'_>| row.place();
    let older_table = old.and_then(EntryRows::table);
    let older: Vec<_> =
        older_table.into_iter().flat_map(|table| table.rows().map_while(Result::ok)).map(place).collect();
    let mut pairing = Pairing::new(old);
    let mut occurrences: HashMap<FoldedName<'_>, u32> = HashMap::new();
    let mut rows = Vec::new();
    for (at, instance) in table.rows().map_while(Result::ok).enumerate() {
        let row = ResultRow::from(instance);
        let paired = old.and_then(|old| pairing.find((at, &row), new, old));
        let seen = occurrences.entry(FoldedName(row.name)).or_default();
        rows.push(RowIndex {
            place: instance.place(),
            older: paired
                .and_then(|OldRow { at, .. }| Some((at.try_into().ok()?, older.get(at).copied().flatten()))),
            occurrence: *seen,
        });
        *seen = seen.saturating_add(1);
    }
    rows.shrink_to_fit(); // kept for a sample or longer
    rows
}

/// Reader of single values of a sample. It keeps the last entry open: many values of one entry are read one after the
/// other.
pub(crate) struct SampleReader<'a> {
    pair: SamplePair<'a>,
    index: &'a SampleIndex,
    open: Option<(usize, EntryReader<'a>)>,
}

impl<'a> SampleReader<'a> {
    /// Creates a reader. The index must [fit](SampleIndex::fits) the samples, or have been made of them.
    pub fn new(pair: SamplePair<'a>, index: &'a SampleIndex) -> Self {
        Self { pair, index, open: None }
    }

    /// Opens an entry; `None` if it has no values.
    pub fn entry(&mut self, entry: usize) -> Option<&mut EntryReader<'a>> {
        if self.open.as_ref().is_none_or(|(at, _)| *at != entry) {
            self.open = Some((entry, EntryReader::new(self.pair, self.index, entry)?));
        }
        self.open.as_mut().map(|(_, reader)| reader)
    }
}

/// Reader of the values of one entry.
pub(crate) struct EntryReader<'a> {
    current: Current<'a>,
    new: AllRows<'a>,
    old: AllRows<'a>,
    /// Blocks of the newer and the older sample.
    blocks: [&'a [u8]; 2],
    /// Rows of a table; `None` if the result is of one instance.
    rows: Option<&'a [RowIndex]>,
    len: usize,
    /// Occurrence of the current row's name.
    occurrence: usize,
}

impl<'a> EntryReader<'a> {
    fn new(pair: SamplePair<'a>, index: &'a SampleIndex, entry: usize) -> Option<Self> {
        let known = index.entries.get(entry)?;
        let info = pair.new.entries.get(entry)?;
        let (new, old) = match info.is_alone {
            true => {
                let new = AllRows::One(entry, rows_at(pair.new, entry, known.new));
                let older = pair.old.zip(known.old);
                (new, AllRows::One(entry, older.and_then(|(old, (at, offset))| rows_at(old, at, offset))))
            }
            false => (
                AllRows::Every(entry_rows(pair.new).into_iter().map(Some).collect()),
                pair.old.map_or(AllRows::NONE, |old| AllRows::Every(aligned(pair.new, old))),
            ),
        };
        let current = Current::new(entry, info, &new, &old)?;
        let own = new.of(entry)?;
        let rows =
            own.table().is_some().then(|| known.rows.get_or_init(|| rows_of(own, old.of(entry))).as_slice());
        let len = rows.map_or_else(|| usize::from(!own.is_empty()), <[RowIndex]>::len);
        let blocks = [&*pair.new.block, pair.old.map(|old| &*old.block).unwrap_or_default()];
        Some(Self { current, new, old, blocks, rows, len, occurrence: 0 })
    }

    /// Returns the number of rows; 0 if the entry failed.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn info(&self) -> &'a ResolvedEntry {
        self.current.info
    }

    /// Returns a counter of the entry by its column.
    pub fn column(&self, at: usize) -> Option<Column<'a>> {
        self.current.column(at)
    }

    /// Moves to a row: the values and properties that are read next are of it.
    pub fn go_to(&mut self, at: usize) {
        let Self { current, new, old, blocks: [block, older_block], rows, occurrence, .. } = self;
        let (Some(own), old_rows) = (new.of(current.entry), old.of(current.entry)) else { return };
        current.row = None;
        let read = |place: &InstancePlace, block: &'a [u8]| {
            let (name, values) = place.read(block)?;
            Some(ResultRow { name, id: Some(place.id()), cells: ResultCells::Several(values) })
        };
        let (row, older) = match rows {
            Some(rows) => {
                let Some(index) = rows.get(at) else { return };
                *occurrence = usize::try_from(index.occurrence).unwrap_or(usize::MAX);
                let row = match &index.place {
                    Some(place) => read(place, block),
                    None => own.get(at),
                };
                let older = index.older.zip(old_rows).and_then(|((at, place), old)| {
                    let at = usize::try_from(at).ok()?;
                    let row = match &place {
                        Some(place) => read(place, older_block),
                        None => old.get(at),
                    };
                    Some(OldRow { at, row: row?, birth: old.birth(at) })
                });
                (row, older)
            }
            None => {
                let row = own.get(at);
                let pair = |row: &ResultRow<'a>| Pairing::new(old_rows).find((at, row), own, old_rows?);
                (row, row.as_ref().and_then(pair))
            }
        };
        let Some(row) = row else { return };
        current.set_row((at, row), older, new, old);
        if let Some(annex) = own.annex.filter(|annex| !annex.notes.is_empty()) {
            let from = annex.notes.partition_point(|((row, _), _)| *row < at);
            current.notes = annex.notes.get(from..).unwrap_or_default();
        }
    }

    /// Returns name and occurrence of the current row; `None` if results of one instance contain no id.
    pub fn instance(&self) -> Option<(Name<'a>, usize)> {
        let row = self.current.row.as_ref()?;
        row.id.map(|_| (row.name, self.occurrence))
    }

    /// Computes the value of a column in the current row, and passes it on with row and occurrence; the reason if the
    /// entry failed.
    #[inline]
    pub fn value<R>(
        &mut self,
        at: usize,
        column: &Column<'a>,
        each: impl FnOnce(Value<'a>, RowPosition) -> R,
    ) -> R {
        let position = RowPosition { row: self.current.row_index, column: at, occurrence: self.occurrence };
        self.current.column = at;
        self.current.value(column, &self.new, &self.old, |value| each(value, position))
    }

    /// Returns a value without an instance: a selection contains none of the rows.
    pub fn nothing(&self, counter: &'a Counter, instance: Name<'a>) -> Value<'a> {
        Value {
            entry: self.current.entry,
            counterset: self.current.set,
            counter,
            instance,
            instance_id: None,
            raw: None,
            base: None,
            value: Err(NoValue::NoInstance),
            mark: None,
        }
    }

    /// Returns the clocks of a column in the current row; `None` if the entry failed.
    pub fn clocks(&self, column: usize) -> Option<Clocks> {
        let Current { info, row, clocks, entry, row_index, .. } = &self.current;
        let related = info.related.get(column)?;
        Some(related.clocks(clocks, row.as_ref()?, *entry, &self.new, *row_index))
    }

    /// Returns `true` if a value of the current row differs from that of the same instance in the older sample.
    pub fn is_new(&self, value: &Value<'_>, column: usize) -> bool {
        self.has_same_numbers(value, column) != Some(true)
    }

    fn has_same_numbers(&self, value: &Value<'_>, column: usize) -> Option<bool> {
        let Current { info, older, entry, row_index, .. } = &self.current;
        let related = info.related.get(column)?;
        let older = older.as_ref()?;
        let birth = |all: &AllRows<'a>, at| all.of(*entry)?.annex?.birth_of(at, column);
        // A value of another instance with the same name is new, even if the numbers are equal (F-28).
        if birth(&self.new, *row_index) != birth(&self.old, older.row_index) {
            return Some(false);
        }
        let number = |place: CellIndex| older.row.number(place, *entry, &self.old, older.row_index).raw();
        let same_base = related.base.is_none_or(|place| number(place) == value.base);
        Some(same_base && older.row.cells.number(column).raw() == value.raw)
    }
}

/// Position of a value in the result of its entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPosition {
    pub row: usize,
    pub column: usize,
    pub occurrence: usize,
}

fn rows_at(snapshot: &Snapshot, entry: usize, offset: Option<usize>) -> Option<EntryRows<'_>> {
    let block = Block::parse(&snapshot.block).ok();
    let result = block.zip(offset).and_then(|(block, offset)| block.result_starting_at(offset));
    Some(EntryRows::new(snapshot, entry, snapshot.entries.get(entry)?, result))
}
