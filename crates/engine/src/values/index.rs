//! Index of a sample: the offsets of its rows, found once for all of its values.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use perfset_core::sample::Clocks;
use perfset_core::v2::{Block, InstancePlace, InstanceTable, QueryResult, ValuesPlace};
use perfset_core::{Counter, Name, NoValue, Status};

use super::entry_rows::{
    CellIndex, EntryRows, OldRow, ResultCells, ResultHead, ResultRow, aligned, alignment, entry_rows,
    have_same_rows, rows_of,
};
use super::pairing::Pairing;
use super::{Column, Current, Value};
use crate::pattern::FoldedName;
use crate::snapshot::{ResolvedEntry, Snapshot};

/// Snapshots of a sample and of the sample before, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct SamplePair<'a> {
    pub new: &'a Snapshot,
    pub old: Option<&'a Snapshot>,
}

/// Locations of the results and rows in the blocks of two samples, and the older row of each newer row.
///
/// It borrows nothing, so that a query can keep it: for all readings of a sample, and for later samples while the
/// structure of both blocks stays the same.
#[derive(Debug)]
pub(crate) struct SampleIndex {
    of: [Structure; 2],
    entries: Vec<EntryIndex>,
    /// `true` if both samples had the same rows.
    had_same_rows: OnceCell<bool>,
}

/// Identity of the structure of a snapshot's block: two blocks with the same structure differ in values only.
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
    /// Offset of the entry's result in the newer block.
    new: Option<usize>,
    /// Index of the same entry in the older sample, and the offset of that entry's result in the older block.
    old: Option<(usize, Option<usize>)>,
    /// Locations of the rows of the entry's result, found when they are needed.
    rows: OnceCell<ResultIndex>,
}

/// Locations of the rows of a query result.
#[derive(Debug)]
struct ResultIndex {
    status: Status,
    rows: RowsIndex,
    /// `true` if the older sample has rows in its result of the same entry.
    has_older: bool,
    /// `true` if the locations of all rows are known, so that no row must be searched for by its position.
    has_places: bool,
}

#[derive(Debug)]
enum RowsIndex {
    /// Location of the only row, if there is one: where its values are in the newer and the older block.
    One(Option<[Option<ValuesPlace>; 2]>),
    Table(Vec<RowIndex>),
}

/// Location of a row of an instance table.
#[derive(Clone, Copy, Debug)]
struct RowIndex {
    /// Location of the row in the block; `None` if the row can only be found by its position.
    place: Option<InstancePlace>,
    /// Position and location, in the older result, of the row with the same name and id.
    older: Option<(u32, Option<InstancePlace>)>,
    /// Number of earlier rows of the query result with the same name, ignoring case.
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
        Self { of: [Some(pair.new), pair.old].map(Structure::new), entries, had_same_rows: OnceCell::new() }
    }

    /// Returns `true` if two samples have the same rows; see [`Snapshot::has_rows_of`].
    pub fn has_same_rows(&self, pair: SamplePair<'_>) -> bool {
        let SamplePair { new, old: Some(old) } = pair else { return false };
        let have_same = || have_same_rows(new, old);
        // Names and ids are in the blocks, whose structure is that of the samples then. What is beside the blocks can
        // be different now.
        let annexes = || new.annex.entries.iter().zip(&old.annex.entries);
        *self.had_same_rows.get_or_init(have_same) && annexes().all(|(a, b)| a.has_rows_of(b)) || have_same()
    }

    /// Returns `true` if the sample's index has several entries or a table of rows, so that keeping the index saves
    /// work.
    pub fn is_worth_keeping(&self) -> bool {
        let is_table = |entry: &EntryIndex| {
            entry.rows.get().is_some_and(|result| matches!(result.rows, RowsIndex::Table(_)))
        };
        self.entries.len() > 1 || self.entries.iter().any(is_table)
    }

    /// Returns `true` if this index, made of other samples, is valid for these samples too: their blocks have the same
    /// structures.
    pub fn fits(&self, pair: SamplePair<'_>) -> bool {
        let [new, old] = &self.of;
        new.is_of(Some(pair.new)) && old.is_of(pair.old)
    }
}

/// Returns the offsets of the query results of a block. The list ends at a result that cannot be read.
fn offsets(snapshot: &Snapshot) -> Vec<usize> {
    let results = Block::parse(&snapshot.block).map(|block| block.results());
    results.into_iter().flatten().map_while(Result::ok).map(|result| result.offset()).collect()
}

/// Finds the rows of a query result, and for each row the older row of the same instance.
fn rows_of_result(
    new: &EntryRows<'_>,
    places: [Option<ValuesPlace>; 2],
    old: Option<&EntryRows<'_>>,
) -> ResultIndex {
    let has_older = old.is_some_and(|old| !old.is_empty());
    let (rows, has_places) = match new.table() {
        None if new.is_empty() => (RowsIndex::One(None), true),
        None => {
            let [new, older] = places;
            (RowsIndex::One(Some(places)), new.is_some() && (older.is_some() || !has_older))
        }
        Some(table) => {
            let rows = rows_of_table(new, table, old);
            let has_places =
                |row: &RowIndex| row.place.is_some() && row.older.is_none_or(|(_, place)| place.is_some());
            let has_places = rows.iter().all(has_places);
            (RowsIndex::Table(rows), has_places)
        }
    };
    ResultIndex { status: new.head.status, rows, has_older, has_places }
}

fn rows_of_table(
    new: &EntryRows<'_>,
    table: &InstanceTable<'_>,
    old: Option<&EntryRows<'_>>,
) -> Vec<RowIndex> {
    let older_rows = old.and_then(EntryRows::table).map(InstanceTable::rows);
    let older: Vec<_> =
        older_rows.into_iter().flatten().map_while(Result::ok).map(|row| row.place()).collect();
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

/// Reader of single values of a sample. It keeps the last entry open, because callers read many values of one entry in
/// sequence.
pub(crate) struct SampleReader<'a> {
    pair: SamplePair<'a>,
    index: &'a SampleIndex,
    open: Option<EntryReader<'a>>,
}

impl<'a> SampleReader<'a> {
    /// Creates a reader of the values of a sample. The index must [fit](SampleIndex::fits) the samples, or have been
    /// made of them.
    pub fn new(pair: SamplePair<'a>, index: &'a SampleIndex) -> Self {
        Self { pair, index, open: None }
    }

    /// Opens a query entry for reading; `None` if it has no values.
    pub fn entry(&mut self, entry: usize) -> Option<&mut EntryReader<'a>> {
        // A reader is large, and is written where it stays.
        if self.open.as_ref().is_none_or(|reader| reader.current.entry != entry) {
            self.open = EntryReader::new(self.pair, self.index, entry);
        }
        self.open.as_mut()
    }
}

/// Reader of the values of one query entry.
pub(crate) struct EntryReader<'a> {
    current: Current<'a>,
    pair: SamplePair<'a>,
    index: &'a ResultIndex,
    /// Rows of the query entries of the newer sample. Empty unless formulas need other entries or locations of rows
    /// are unknown.
    new: Vec<Option<EntryRows<'a>>>,
    old: Vec<Option<EntryRows<'a>>>,
    /// Number of earlier rows with the same name as the current row.
    occurrence: usize,
}

impl<'a> EntryReader<'a> {
    #[inline]
    fn new(pair: SamplePair<'a>, index: &'a SampleIndex, entry: usize) -> Option<Self> {
        let known = index.entries.get(entry)?;
        let info = pair.new.entries.get(entry)?;
        let set = info.counterset.as_deref()?;
        let older = pair
            .old
            .zip(known.old)
            .and_then(|(old, (at, offset))| Some((old, at, old.entries.get(at)?, offset)));
        let index = known.rows.get_or_init(|| {
            let result = result_at(pair.new, known.new);
            let older = older.map(|(old, at, info, offset)| (old, at, info, result_at(old, offset)));
            let place =
                |result: &Option<QueryResult<'_>>| result.as_ref().and_then(QueryResult::values_place);
            let places = [place(&result), older.as_ref().and_then(|(.., result)| place(result))];
            let older = older.map(|(old, at, info, result)| EntryRows::new(old, at, info, result));
            rows_of_result(&EntryRows::new(pair.new, entry, info, result), places, older.as_ref())
        });
        let head = ResultHead::new(pair.new, entry, info, index.status);
        let old_head = older.map(|(old, at, info, _)| ResultHead::new(old, at, info, Status::ERROR_SUCCESS));
        let current = Current::new((entry, set), head, old_head, index.has_older);
        let mut reader = Self { current, pair, index, new: Vec::new(), old: Vec::new(), occurrence: 0 };
        if !info.is_alone || !index.has_places {
            reader.new = entry_rows(pair.new).into_iter().map(Some).collect();
            reader.old = pair.old.map(|old| aligned(pair.new, old)).unwrap_or_default();
        }
        Some(reader)
    }

    /// Returns the number of rows that the query entry has; 0 if the entry failed.
    pub fn len(&self) -> usize {
        match &self.index.rows {
            RowsIndex::One(row) => usize::from(row.is_some()),
            RowsIndex::Table(rows) => rows.len(),
        }
    }

    pub fn info(&self) -> &'a ResolvedEntry {
        self.current.head.info
    }

    /// Returns a counter of the entry by its column.
    pub fn counter(&self, at: usize) -> Option<&'a Counter> {
        self.current.counter(at)
    }

    /// Returns a counter of the entry by its column, with the data that is the same for all rows.
    pub fn column(&self, at: usize) -> Option<Column<'a>> {
        self.current.column(at)
    }

    /// Moves to a row of the entry, unless it is already the current one. The properties that are read next belong to
    /// this row.
    pub fn stay_at(&mut self, at: usize) {
        if self.current.row.is_none() || self.current.row_index != at {
            self.go_to(at);
        }
    }

    /// Moves to a row of the entry. The values and properties that are read next belong to this row.
    pub fn go_to(&mut self, at: usize) {
        self.current.row = None;
        let Some((row, older)) = self.row(at) else { return };
        self.current.set_row((at, row), older);
        if let Some(annex) = self.current.head.annex.filter(|annex| !annex.notes.is_empty()) {
            let from = annex.notes.partition_point(|((row, _), _)| *row < at);
            self.current.notes = annex.notes.get(from..).unwrap_or_default();
        }
    }

    /// Finds a row of the newer result, and the older row of the same name and id.
    fn row(&mut self, at: usize) -> Option<(ResultRow<'a>, Option<OldRow<'a>>)> {
        let Self { current, pair, index, new, old, occurrence } = self;
        let (block, older_block) = (&pair.new.block, pair.old.map(|old| &*old.block).unwrap_or_default());
        let (own, old_rows) = (rows_of(new, current.entry), rows_of(old, current.entry));
        match &index.rows {
            RowsIndex::Table(rows) => {
                let index = rows.get(at)?;
                *occurrence = usize::try_from(index.occurrence).unwrap_or(usize::MAX);
                let read = |place: &InstancePlace, block: &'a [u8]| {
                    let (name, values) = place.read(block)?;
                    Some(ResultRow { name, id: Some(place.id()), cells: ResultCells::Several(values) })
                };
                let row = match &index.place {
                    Some(place) => read(place, block),
                    None => own?.get(at),
                };
                let older = index.older.and_then(|(at, place)| {
                    let at = usize::try_from(at).ok()?;
                    let row = match &place {
                        Some(place) => read(place, older_block),
                        None => old_rows?.get(at),
                    };
                    Some(OldRow { at, row: row?, birth: current.old_head?.birth(at) })
                });
                Some((row?, older))
            }
            RowsIndex::One(row) => {
                let [place, older_place] = row.as_ref().filter(|_| at == 0)?;
                if !index.has_places {
                    let row = own?.get(at)?;
                    let older = old_rows.and_then(|old| Pairing::new(Some(old)).find((at, &row), own?, old));
                    return Some((row, older));
                }
                let row = current.head.row(ResultCells::Several(place.as_ref()?.read(block)?));
                let old_head = current.old_head.as_ref();
                let older = old_head
                    .zip(older_place.as_ref())
                    .and_then(|(head, place)| Some(head.row(ResultCells::Several(place.read(older_block)?))));
                let birth = old_head.and_then(|head| head.birth(0));
                let older = older.filter(|older| older.is_same(&row));
                Some((row, older.map(|row| OldRow { at: 0, row, birth })))
            }
        }
    }

    /// Returns instance name and occurrence of the current row; `None` if results of one instance contain no id.
    pub fn instance(&self) -> Option<(Name<'a>, usize)> {
        let row = self.current.row.as_ref()?;
        row.id.map(|_| (row.name, self.occurrence))
    }

    /// Computes the value of a column in the current row, and passes it to `each` with its row, column and occurrence.
    /// If the entry failed, the value contains the reason.
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

    /// Returns a missing value of a counter, for an instance selection that contains none of the rows.
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
        let Current { head, row, entry, row_index, .. } = &self.current;
        let related = head.info.related.get(column)?;
        Some(related.clocks(&head.clocks, row.as_ref()?, *entry, &self.new, *row_index))
    }

    /// Returns `true` if a value of the current row differs from that of the same instance in the older sample.
    pub fn is_new(&self, value: &Value<'_>, column: usize) -> bool {
        self.has_same_numbers(value, column) != Some(true)
    }

    fn has_same_numbers(&self, value: &Value<'_>, column: usize) -> Option<bool> {
        let Current { head, old_head, older, entry, row_index, .. } = &self.current;
        let related = head.info.related.get(column)?;
        let older = older.as_ref()?;
        let birth = |head: &ResultHead<'a>, at| head.annex?.birth_of(at, column);
        // A value of another instance with the same name is new, even if the numbers are equal (F-28).
        if birth(head, *row_index) != birth(old_head.as_ref()?, older.row_index) {
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

fn result_at(snapshot: &Snapshot, offset: Option<usize>) -> Option<QueryResult<'_>> {
    Block::parse(&snapshot.block).ok()?.result_starting_at(offset?)
}
