//! A block of counter data, written.

use zerocopy::little_endian::{I64, U32};
use zerocopy::{FromBytes, IntoBytes};

use super::raw::{self, Cell};
use super::{Kind, align8};
use crate::clock::ClockReading;
use crate::counterset::CounterId;
use crate::instance::InstanceId;
use crate::status::Status;
use crate::wire::length;

/// A block would be larger than its size fields can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the block would be larger than 4 GiB")]
pub struct TooLarge;

/// Writes a block that [`Block::parse`](super::Block::parse) reads; computes every length itself.
///
/// What it writes keeps every rule for writers: sizes, padding and reserved fields, no empty tables, no empty single
/// values.
#[derive(Debug)]
pub struct BlockBuilder {
    out: Vec<u8>,
    result_count: u32,
}

impl BlockBuilder {
    /// Begins a block collected at that time.
    #[must_use]
    pub fn new(clocks: &ClockReading) -> Self {
        Self::reuse(Vec::new(), clocks)
    }

    /// As [`new`](Self::new), in a buffer whose contents are not needed any more.
    #[must_use]
    pub fn reuse(mut buffer: Vec<u8>, clocks: &ClockReading) -> Self {
        buffer.clear();
        buffer.extend_from_slice(data_header(clocks).as_bytes());
        Self { out: buffer, result_count: 0 }
    }

    /// The entry failed.
    pub fn error(&mut self, status: Status) {
        let start = self.begin(Kind::Error, status);
        self.end(start);
    }

    /// One counter of one instance. A value that cannot be had makes the entry fail.
    pub fn single(&mut self, value: Cell) {
        if value == Cell::EMPTY {
            return self.error(Status::ERROR_NO_DATA);
        }
        let start = self.begin(Kind::SingleCounter, Status::ERROR_SUCCESS);
        self.out.extend_from_slice(value.as_bytes());
        self.end(start);
    }

    /// Several counters of one instance.
    pub fn multiple_counters(&mut self, values: impl IntoIterator<Item = (CounterId, Cell)> + Clone) {
        let start = self.begin(Kind::MultipleCounters, Status::ERROR_SUCCESS);
        self.ids(values.clone().into_iter().map(|(id, _)| id));
        for (_, value) in values {
            self.out.extend_from_slice(value.as_bytes());
        }
        self.end(start);
    }

    /// One counter of several instances: the table wants one value a row.
    pub fn multiple_instances(&mut self) -> TableBuilder<'_> {
        let start = self.begin(Kind::MultipleInstances, Status::ERROR_SUCCESS);
        self.table(start, 1)
    }

    /// Where the next result begins: for [`again`](Self::again).
    #[must_use]
    pub fn position(&self) -> usize {
        self.out.len()
    }

    /// One counter of the same instances as in the result that begins at `position`, which is of one counter too: names
    /// are copied as they are. Values that are missing stay as they are there.
    pub fn again(&mut self, position: usize, values: impl IntoIterator<Item = Cell>) {
        const HEADERS: usize = size_of::<raw::CounterHeader>() + 8;
        let start = self.out.len();
        let header =
            self.out.get(position..).and_then(|result| raw::CounterHeader::ref_from_prefix(result).ok());
        let size = header.map_or(0, |(header, _)| length(header.size.get()));
        let end = position.saturating_add(size).min(start);
        self.out.extend_from_within(position.min(end)..end);
        self.result_count = self.result_count.saturating_add(1);
        let rest = self.out.get_mut(start.saturating_add(HEADERS)..).unwrap_or_default();
        let mut table = TablePatch { rest, columns: 1 };
        for value in values {
            let Some([cell]) = table.row() else { break };
            *cell = value;
        }
    }

    /// Several counters of several instances: the table wants a value a row for each id, in their order.
    pub fn counterset(&mut self, ids: impl IntoIterator<Item = CounterId>) -> TableBuilder<'_> {
        let start = self.begin(Kind::Counterset, Status::ERROR_SUCCESS);
        let columns = self.ids(ids);
        self.table(start, columns)
    }

    /// The bytes.
    ///
    /// # Errors
    /// If a size does not fit its field.
    pub fn finish(mut self) -> Result<Vec<u8>, TooLarge> {
        let size = u32::try_from(self.out.len()).map_err(|_| TooLarge)?;
        put(&mut self.out, 0, size);
        put(&mut self.out, 4, self.result_count);
        Ok(self.out)
    }

    fn begin(&mut self, kind: Kind, status: Status) -> usize {
        let start = self.out.len();
        let header = raw::CounterHeader {
            status: U32::new(status.0),
            kind: U32::new(kind.to_wire()),
            size: U32::ZERO,
            reserved: U32::ZERO,
        };
        self.out.extend_from_slice(header.as_bytes());
        self.result_count = self.result_count.saturating_add(1);
        start
    }

    fn end(&mut self, start: usize) {
        let size = self.size_since(start);
        put(&mut self.out, start.saturating_add(8), size);
    }

    fn table(&mut self, result_start: usize, columns: usize) -> TableBuilder<'_> {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 8]);
        TableBuilder { result_start, start, columns, instance_count: 0, builder: self }
    }

    fn ids(&mut self, ids: impl IntoIterator<Item = CounterId>) -> usize {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 8]);
        let mut count: u32 = 0;
        for id in ids {
            self.out.extend_from_slice(&id.0.to_le_bytes());
            count = count.saturating_add(1);
        }
        self.pad();
        let size = self.size_since(start);
        put(&mut self.out, start, size);
        put(&mut self.out, start.saturating_add(4), count);
        length(count)
    }

    /// A size for a field. One that does not fit is caught by [`finish`](Self::finish): the whole is larger still.
    fn size_since(&self, start: usize) -> u32 {
        u32::try_from(self.out.len().saturating_sub(start)).unwrap_or(u32::MAX)
    }

    fn pad(&mut self) {
        self.out.resize(align8(self.out.len()), 0);
    }
}

/// Writes the instances of a result.
#[derive(Debug)]
pub struct TableBuilder<'a> {
    builder: &'a mut BlockBuilder,
    result_start: usize,
    start: usize,
    columns: usize,
    instance_count: u32,
}

impl TableBuilder<'_> {
    /// One instance. Values that are missing are written as empty, values too many are left out.
    pub fn row(
        &mut self,
        name: impl IntoIterator<Item = u16>,
        id: InstanceId,
        values: impl IntoIterator<Item = Cell>,
    ) {
        super::instances::write(&mut self.builder.out, name, id);
        let mut values = values.into_iter();
        for _ in 0..self.columns {
            self.builder.out.extend_from_slice(values.next().unwrap_or(Cell::EMPTY).as_bytes());
        }
        self.instance_count = self.instance_count.saturating_add(1);
    }

    /// Ends the table. One without instances is never written: the entry has failed then.
    pub fn finish(self) {
        let Self { builder, result_start, start, instance_count, .. } = self;
        if instance_count == 0 {
            builder.out.truncate(result_start);
            builder.result_count = builder.result_count.saturating_sub(1);
            return builder.error(Status::ERROR_NO_DATA);
        }
        let size = builder.size_since(start);
        put(&mut builder.out, start, size);
        put(&mut builder.out, start.saturating_add(4), instance_count);
        builder.end(result_start);
    }
}

/// Writes values and clocks anew into a block whose results and instances stay as they are.
///
/// The block must have been made by [`BlockBuilder`]; where it is not as expected, `None` says so and the block has to
/// be built anew.
#[derive(Debug)]
pub struct Patch<'a> {
    rest: &'a mut [u8],
}

/// The part of a result that can be written anew.
#[derive(Debug)]
pub enum PatchResult<'a> {
    /// A failed entry: nothing.
    Error,
    /// The values of one instance.
    Cells(&'a mut [Cell]),
    /// The values of several instances.
    Table(TablePatch<'a>),
}

impl<'a> Patch<'a> {
    /// Begins, with the new clocks.
    #[must_use]
    pub fn new(block: &'a mut [u8], clocks: &ClockReading) -> Option<Self> {
        let (header, rest) = raw::DataHeader::mut_from_prefix(block).ok()?;
        let (total_size, counter_count) = (header.total_size, header.counter_count);
        *header = raw::DataHeader { total_size, counter_count, ..data_header(clocks) };
        Some(Self { rest })
    }

    /// The next result.
    #[must_use]
    pub fn result(&mut self) -> Option<PatchResult<'a>> {
        let rest = std::mem::take(&mut self.rest);
        let size = length(raw::CounterHeader::ref_from_prefix(rest).ok()?.0.size.get());
        let (result, rest) = rest.split_at_mut_checked(size)?;
        self.rest = rest;
        let (header, data) = raw::CounterHeader::mut_from_prefix(result).ok()?;
        Some(match Kind::from_wire(header.kind.get())? {
            Kind::Error => PatchResult::Error,
            Kind::SingleCounter => PatchResult::Cells(<[Cell]>::mut_from_bytes(data).ok()?),
            Kind::MultipleCounters => PatchResult::Cells(<[Cell]>::mut_from_bytes(skip_ids(data)?.0).ok()?),
            Kind::MultipleInstances => {
                PatchResult::Table(TablePatch { rest: data.get_mut(8..)?, columns: 1 })
            }
            Kind::Counterset => {
                let (table, columns) = skip_ids(data)?;
                PatchResult::Table(TablePatch { rest: table.get_mut(8..)?, columns })
            }
        })
    }
}

/// The instances of a result, to be written anew in their order.
#[derive(Debug)]
pub struct TablePatch<'a> {
    rest: &'a mut [u8],
    columns: usize,
}

impl<'a> TablePatch<'a> {
    /// The values of the next instance.
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

/// Writes a field that was left open.
pub(super) fn put(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at.saturating_add(4)) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

/// Appends a name, its NUL and zeros up to the next multiple of 8 from `start` on.
pub(super) fn put_name(out: &mut Vec<u8>, start: usize, name: impl IntoIterator<Item = u16>) {
    const UNIT: usize = size_of::<u16>();
    let mut name = name.into_iter();
    let mut piece = [0; 32]; // a unit at a time would cost more than all else
    loop {
        let mut len = 0_usize;
        for (place, unit) in piece.chunks_exact_mut(UNIT).zip(&mut name) {
            place.copy_from_slice(&unit.to_le_bytes());
            len = len.saturating_add(UNIT);
        }
        out.extend_from_slice(piece.get(..len).unwrap_or_default());
        if len < piece.len() {
            break;
        }
    }
    out.extend_from_slice(&[0, 0]);
    let len = align8(out.len().saturating_sub(start));
    out.resize(start.saturating_add(len), 0);
}
