//! Writes V2 blocks of counter data.

use zerocopy::little_endian::{I64, U32};
use zerocopy::{FromBytes, IntoBytes};

use super::CounterDataType;
use super::patch::PatchWriter;
use super::raw::{self, Cell};
use super::rows::TableRows;
use crate::clock::ClockReading;
use crate::counterset::CounterId;
use crate::instance::InstanceId;
use crate::status::Status;
use crate::wire::length;

/// Error: the V2 block would be too large for its size fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the block would be larger than 4 GiB")]
pub struct TooLarge;

/// Writer of a V2 block that [`Block::parse`](super::Block::parse) reads; computes every length.
///
/// The block obeys every rule for writers: sizes, padding, reserved fields, no empty tables, no empty single values.
#[derive(Debug)]
pub struct BlockBuilder {
    out: PatchWriter,
    result_count: u32,
}

impl BlockBuilder {
    /// Starts a V2 block with these collection clocks.
    #[must_use]
    pub fn new(clocks: &ClockReading) -> Self {
        Self::over(Vec::new(), clocks)
    }

    /// Starts a V2 block that overwrites `bytes`. If they contain a block with the same results and instances, only
    /// values change.
    #[must_use]
    pub fn over(bytes: Vec<u8>, clocks: &ClockReading) -> Self {
        let mut out = PatchWriter::new(bytes);
        // Written like values, because the clocks differ in each block and move nothing.
        out.write(data_header(clocks).as_bytes());
        Self { out, result_count: 0 }
    }

    /// Writes the result of a failed query entry.
    pub fn error(&mut self, status: Status) {
        let start = self.begin(CounterDataType::Error, status);
        self.end(start);
    }

    /// Writes a query result with the value of one counter of one instance. If the value is unavailable, the entry
    /// fails.
    pub fn single(&mut self, value: Cell) {
        if value == Cell::EMPTY {
            return self.error(Status::ERROR_NO_DATA);
        }
        let start = self.begin(CounterDataType::SingleCounter, Status::ERROR_SUCCESS);
        self.out.write(value.as_bytes());
        self.end(start);
    }

    /// Writes a query result with the values of several counters of one instance.
    pub fn multiple_counters(&mut self, values: impl IntoIterator<Item = (CounterId, Cell)> + Clone) {
        let start = self.begin(CounterDataType::MultipleCounters, Status::ERROR_SUCCESS);
        self.ids(values.clone().into_iter().map(|(id, _)| id));
        for (_, value) in values {
            self.out.write(value.as_bytes());
        }
        self.end(start);
    }

    /// Starts a query result with one counter of several instances: each row of the table has one value.
    pub fn multiple_instances(&mut self) -> TableBuilder<'_> {
        let start = self.begin(CounterDataType::MultipleInstances, Status::ERROR_SUCCESS);
        self.table(start, 1)
    }

    /// Returns the offset of the next query result, for [`again`](Self::again).
    #[must_use]
    pub fn position(&self) -> usize {
        self.out.offset
    }

    /// Writes one counter of the same instances as in the result at `position`, which also has one counter. Names are
    /// copied unchanged; missing values are those of the copied result.
    pub fn again(&mut self, position: usize, values: impl IntoIterator<Item = Cell>) {
        let before = self.out.bytes.get(position..self.out.offset).unwrap_or_default();
        let size = raw::CounterHeader::ref_from_prefix(before).map_or(0, |(header, _)| header.size.get());
        self.out.repeat(position, length(size).min(before.len()));
        let start = self.out.offset.saturating_sub(length(size));
        self.result_count = self.result_count.saturating_add(1);
        let result = self.out.bytes.get_mut(start..).unwrap_or_default();
        let Some((PatchResult::Table(mut table), _)) = patch(result) else { return };
        for value in values {
            let Some([cell]) = table.row() else { break };
            *cell = value;
        }
    }

    /// Keeps the next query result of the overwritten block, if `fill` can use it: only the values that `fill` writes
    /// change. The caller must know that the result has the right instances.
    ///
    /// Returns `None` if there is no such result or if `fill` returns `None`: the caller must then write the result
    /// in full.
    pub fn keep(&mut self, fill: impl FnOnce(PatchResult<'_>) -> Option<()>) -> Option<()> {
        let (result, size) = patch(self.out.bytes.get_mut(self.out.offset..)?)?;
        // If `fill` returns `None`, the position stays, and the caller writes the result over this one.
        fill(result)?;
        self.out.offset = self.out.offset.saturating_add(size);
        self.result_count = self.result_count.saturating_add(1);
        Some(())
    }

    /// Starts a query result with several counters of several instances: each row has one value per counter id, in
    /// their order.
    pub fn counterset(&mut self, ids: impl IntoIterator<Item = CounterId>) -> TableBuilder<'_> {
        let start = self.begin(CounterDataType::Counterset, Status::ERROR_SUCCESS);
        let columns = self.ids(ids);
        self.table(start, columns)
    }

    /// Returns `true` if the overwritten block had exactly the results and instances that were written so far.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !self.out.is_moved && self.out.offset == self.out.bytes.len()
    }

    /// Returns the bytes of the finished V2 block.
    ///
    /// # Errors
    /// Fails if a size does not fit its field.
    pub fn finish(mut self) -> Result<Vec<u8>, TooLarge> {
        self.out.cut();
        let size = u32::try_from(self.out.offset).map_err(|_| TooLarge)?;
        self.out.put(0, size);
        self.out.put(4, self.result_count);
        Ok(self.out.bytes)
    }

    fn begin(&mut self, kind: CounterDataType, status: Status) -> usize {
        let start = self.out.offset;
        self.out.expect(&status.0.to_le_bytes());
        self.out.expect(&kind.to_wire().to_le_bytes());
        self.out.leave(4); // its size
        self.out.expect(&[0; 4]);
        self.result_count = self.result_count.saturating_add(1);
        start
    }

    fn end(&mut self, start: usize) {
        let size = self.out.size_since(start);
        if self.out.put(start.saturating_add(8), size) {
            self.out.cut(); // what follows does not begin here
        }
    }

    fn table(&mut self, result_start: usize, columns: usize) -> TableBuilder<'_> {
        let start = self.out.offset;
        self.out.leave(8);
        let rows = TableRows::over(std::mem::take(&mut self.out), columns);
        TableBuilder { result_start, start, instance_count: 0, rows, builder: self }
    }

    fn ids(&mut self, ids: impl IntoIterator<Item = CounterId>) -> usize {
        let start = self.out.offset;
        self.out.leave(8);
        let mut count: u32 = 0;
        for id in ids {
            self.out.expect(&id.0.to_le_bytes());
            count = count.saturating_add(1);
        }
        // The padding belongs to `dwSize`, so that the next structure is aligned.
        self.out.pad(start);
        let size = self.out.size_since(start);
        self.out.put(start, size);
        self.out.put(start.saturating_add(4), count);
        length(count)
    }
}

/// Writer of the instances of a query result. The caller must call [`finish`](Self::finish) or [`fail`](Self::fail).
#[derive(Debug)]
pub struct TableBuilder<'a> {
    builder: &'a mut BlockBuilder,
    result_start: usize,
    start: usize,
    /// Rows of the instance table; they own the whole block until the table is finished.
    rows: TableRows,
    instance_count: u32,
}

impl TableBuilder<'_> {
    /// Writes an instance of a query result with its values. Missing values are written as empty; surplus values are
    /// ignored.
    pub fn row(
        &mut self,
        name: impl IntoIterator<Item = u16>,
        id: InstanceId,
        values: impl IntoIterator<Item = Cell>,
    ) {
        let cells = self.rows.row(name, id);
        cells.iter_mut().zip(values).for_each(|(cell, value)| *cell = value);
        self.instance_count = self.instance_count.saturating_add(1);
    }

    /// Lends the rows of the instance table to another writer, which adds rows; [`take_back`](Self::take_back) ends
    /// the loan.
    #[must_use]
    pub fn lend(&mut self) -> TableRows {
        std::mem::take(&mut self.rows)
    }

    /// Takes back the [lent](Self::lend) rows of the table, to which `instances` instances were added.
    pub fn take_back(&mut self, rows: TableRows, instances: usize) {
        self.rows = rows;
        let instances = u32::try_from(instances).unwrap_or(u32::MAX); // the block is too large then
        self.instance_count = self.instance_count.saturating_add(instances);
    }

    /// Finishes the table of instances of a query result. A table without instances is never written: the entry fails
    /// instead.
    pub fn finish(self) {
        if self.instance_count == 0 {
            return self.fail(Status::ERROR_NO_DATA);
        }
        let Self { builder, result_start, start, mut rows, instance_count } = self;
        let size = rows.out.size_since(start);
        rows.out.put(start, size);
        rows.out.put(start.saturating_add(4), instance_count);
        builder.out = rows.out;
        builder.end(result_start);
    }

    /// Discards the table of instances: the query entry fails with this status.
    pub fn fail(self, status: Status) {
        let Self { builder, result_start, rows, .. } = self;
        builder.out = rows.out;
        builder.out.offset = result_start;
        // The result is counted already, and `error` counts it again.
        builder.result_count = builder.result_count.saturating_sub(1);
        builder.error(status);
    }
}

/// Values of an existing query result that can be overwritten.
#[derive(Debug)]
pub enum PatchResult<'a> {
    /// Failed query entry without values.
    Error,
    /// Values of one instance in an existing query result.
    Cells(&'a mut [Cell]),
    /// Values of several instances in an existing query result.
    Table(TablePatch<'a>),
}

/// Returns the query result at the start of `bytes`, which a [`BlockBuilder`] wrote, and its length.
fn patch(bytes: &mut [u8]) -> Option<(PatchResult<'_>, usize)> {
    let (header, _) = raw::CounterHeader::ref_from_prefix(bytes).ok()?;
    let (kind, size) = (CounterDataType::from_wire(header.kind.get())?, length(header.size.get()));
    let data = bytes.get_mut(size_of::<raw::CounterHeader>()..size)?;
    let result = match kind {
        CounterDataType::Error => PatchResult::Error,
        CounterDataType::SingleCounter => PatchResult::Cells(<[Cell]>::mut_from_bytes(data).ok()?),
        CounterDataType::MultipleCounters => {
            PatchResult::Cells(<[Cell]>::mut_from_bytes(skip_ids(data)?.0).ok()?)
        }
        CounterDataType::MultipleInstances => {
            // After PERF_MULTI_INSTANCES, whose numbers stay.
            PatchResult::Table(TablePatch { rest: data.get_mut(8..)?, columns: 1 })
        }
        CounterDataType::Counterset => {
            let (table, columns) = skip_ids(data)?;
            PatchResult::Table(TablePatch { rest: table.get_mut(8..)?, columns })
        }
    };
    Some((result, size))
}

/// Instances of an existing query result, whose values are overwritten in order.
#[derive(Debug)]
pub struct TablePatch<'a> {
    rest: &'a mut [u8],
    columns: usize,
}

impl<'a> TablePatch<'a> {
    /// Returns the values of the next instance, to be overwritten.
    #[must_use]
    #[inline]
    pub fn row(&mut self) -> Option<&'a mut [Cell]> {
        let rest = std::mem::take(&mut self.rest);
        let size = length(raw::InstanceHeader::ref_from_prefix(rest).ok()?.0.size.get());
        let (cells, rest) = <[Cell]>::mut_from_prefix_with_elems(rest.get_mut(size..)?, self.columns).ok()?;
        self.rest = rest;
        Some(cells)
    }
}

fn skip_ids(data: &mut [u8]) -> Option<(&mut [u8], usize)> {
    let (header, _) = raw::MultiCounters::ref_from_prefix(data).ok()?;
    let (size, columns) = (length(header.size.get()), length(header.counter_count.get()));
    Some((data.get_mut(size..)?, columns))
}

/// Overwrites the clock readings of a V2 block.
pub fn set_clocks(block: &mut [u8], clocks: &ClockReading) {
    if let Ok((header, _)) = raw::DataHeader::mut_from_prefix(block) {
        let (total_size, counter_count) = (header.total_size, header.counter_count);
        *header = raw::DataHeader { total_size, counter_count, ..data_header(clocks) };
    }
}

fn data_header(clocks: &ClockReading) -> raw::DataHeader {
    raw::DataHeader {
        total_size: U32::ZERO,
        counter_count: U32::ZERO,
        perf_time: I64::new(clocks.perf_time),
        time_100ns: I64::new(clocks.time_100ns),
        perf_freq: I64::new(clocks.perf_freq),
        system_time: (&clocks.system_time).into(),
    }
}

/// Writes a 4-byte field of a V2 block whose space was reserved.
pub(super) fn put(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at.saturating_add(4)) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}
