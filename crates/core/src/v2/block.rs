//! Reads V2 blocks of counter data.

use std::iter::FusedIterator;

use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::raw::{self, Cell};
use crate::clock::ClockReading;
use crate::counterset::CounterId;
use crate::instance::InstanceId;
use crate::status::Status;
use crate::utf16::Name;
use crate::value::RawValue;
use crate::wire::{Cursor, Why, WireError, length};

/// Block of counter data: the result of one collection of a query.
///
/// **Shape**: a header with the clocks, followed by one result per entry of the query, in the order of the entries'
/// indexes.
///
/// [`parse`](Self::parse) checks the header, and each step of an iterator checks the item that it returns, so that
/// the getters cannot fail. A view borrows and allocates nothing. Everything that the documents permit is accepted,
/// including forms that perfset would not write.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_DATA_HEADER")]
pub struct Block<'a> {
    pub(super) header: &'a raw::DataHeader,
    pub(super) results: Cursor<'a>,
}

impl<'a> Block<'a> {
    /// Checks the header and creates a view of `dwTotalSize` bytes; later bytes are ignored.
    ///
    /// # Errors
    /// Fails if there are fewer bytes than a header, or fewer than the header requires.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut all = Cursor::new(bytes);
        let header: &raw::DataHeader = all.read("PERF_DATA_HEADER")?;
        let results = all.body("PERF_DATA_HEADER.dwTotalSize", 0, header.total_size.get(), 48)?;
        Ok(Self { header, results })
    }

    /// Returns the clock readings of the collection.
    #[must_use]
    pub fn clocks(&self) -> ClockReading {
        ClockReading {
            perf_time: self.header.perf_time.get(),
            time_100ns: self.header.time_100ns.get(),
            perf_freq: self.header.perf_freq.get(),
            system_time: (&self.header.system_time).into(),
        }
    }

    /// Returns the number of results according to the header.
    #[must_use]
    pub fn result_count(&self) -> u32 {
        self.header.counter_count.get()
    }

    /// Returns the results. After an error the iterator ends.
    #[must_use]
    pub fn results(&self) -> Results<'a> {
        Results { rest: self.results, left: self.result_count() }
    }
}

/// Iterator over the results of a [`Block`].
#[derive(Clone, Debug)]
pub struct Results<'a> {
    pub(super) rest: Cursor<'a>,
    left: u32,
}

impl<'a> Iterator for Results<'a> {
    type Item = Result<QueryResult<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // After an error the position of the next result is unknown.
        let result = QueryResult::parse(&mut self.rest);
        if result.is_err() {
            self.left = 0;
        }
        Some(result)
    }
}

impl FusedIterator for Results<'_> {}

/// Type of a query result, decided by the request of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PerfCounterDataType")]
pub enum CounterDataType {
    /// Error: the entry failed, or matched nothing.
    #[doc(alias = "PERF_ERROR_RETURN")]
    Error,
    /// Value of one counter of one instance.
    #[doc(alias = "PERF_SINGLE_COUNTER")]
    SingleCounter,
    /// Values of several counters of one instance.
    #[doc(alias = "PERF_MULTIPLE_COUNTERS")]
    MultipleCounters,
    /// Values of one counter of several instances.
    #[doc(alias = "PERF_MULTIPLE_INSTANCES")]
    MultipleInstances,
    /// Values of several counters of several instances.
    #[doc(alias = "PERF_COUNTERSET")]
    Counterset,
}

impl CounterDataType {
    /// Converts the `dwType` field; `None` if the value is undefined.
    #[must_use]
    pub const fn from_wire(value: u32) -> Option<Self> {
        Some(match value {
            // perflib.h defines neither 3 nor 5.
            0 => Self::Error,
            1 => Self::SingleCounter,
            2 => Self::MultipleCounters,
            4 => Self::MultipleInstances,
            6 => Self::Counterset,
            _ => return None,
        })
    }

    /// Returns the value of the `dwType` field.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        match self {
            Self::Error => 0,
            Self::SingleCounter => 1,
            Self::MultipleCounters => 2,
            Self::MultipleInstances => 4,
            Self::Counterset => 6,
        }
    }

    /// Returns the name of this type in C.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "PERF_ERROR_RETURN",
            Self::SingleCounter => "PERF_SINGLE_COUNTER",
            Self::MultipleCounters => "PERF_MULTIPLE_COUNTERS",
            Self::MultipleInstances => "PERF_MULTIPLE_INSTANCES",
            Self::Counterset => "PERF_COUNTERSET",
        }
    }
}

/// Result of one entry of a query.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_HEADER")]
pub struct QueryResult<'a> {
    /// Status: 0, or the reason why the entry failed.
    pub status: Status,
    /// Collected values of the entry.
    pub body: Body<'a>,
    pub(super) header: &'a raw::CounterHeader,
    pub(super) offset: usize,
    /// Bytes after the structures of this type.
    pub(super) trailing: Cursor<'a>,
}

/// Collected values of one entry.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// No values: see the status.
    Error,
    /// Value of one counter of one instance.
    SingleCounter(BlockValue<'a>),
    /// Values of several counters of one instance: ids and values in the same order.
    MultipleCounters(Ids<'a>, Values<'a>),
    /// Values of one counter of several instances.
    MultipleInstances(InstanceTable<'a>),
    /// Values of several counters of several instances: each instance has the values in the order of the ids.
    Counterset(Ids<'a>, InstanceTable<'a>),
}

impl<'a> QueryResult<'a> {
    fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let header: &raw::CounterHeader = rest.read("PERF_COUNTER_HEADER")?;
        let size = header.size.get();
        let mut data = rest.body("PERF_COUNTER_HEADER.dwSize", offset.saturating_add(8), size, 16)?;
        let kind = header.kind.get();
        let body = match CounterDataType::from_wire(kind) {
            Some(CounterDataType::Error) => Body::Error,
            Some(CounterDataType::SingleCounter) => {
                Body::SingleCounter(Values::parse(&mut data, 1)?.get(0).unwrap_or(BlockValue::Empty))
            }
            Some(CounterDataType::MultipleCounters) => {
                let ids = Ids::parse(&mut data)?;
                Body::MultipleCounters(ids, Values::parse(&mut data, ids.len())?)
            }
            Some(CounterDataType::MultipleInstances) => {
                Body::MultipleInstances(InstanceTable::parse(&mut data, 1)?)
            }
            Some(CounterDataType::Counterset) => {
                let ids = Ids::parse(&mut data)?;
                Body::Counterset(ids, InstanceTable::parse(&mut data, ids.len())?)
            }
            // Skipping the result would hide values without a reason, so this is an error, as in Microsoft's
            // sample.
            None => {
                let why = Why::Undefined { value: kind };
                return Err(WireError::new("PERF_COUNTER_HEADER.dwType", offset.saturating_add(4), why));
            }
        };
        Ok(Self { status: Status(header.status.get()), body, header, offset, trailing: data })
    }

    /// Returns the type of the result.
    #[must_use]
    pub fn kind(&self) -> CounterDataType {
        match self.body {
            Body::Error => CounterDataType::Error,
            Body::SingleCounter(_) => CounterDataType::SingleCounter,
            Body::MultipleCounters(..) => CounterDataType::MultipleCounters,
            Body::MultipleInstances(_) => CounterDataType::MultipleInstances,
            Body::Counterset(..) => CounterDataType::Counterset,
        }
    }
}

/// Counter ids of a result, in the order of its values.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_MULTI_COUNTERS")]
pub struct Ids<'a> {
    ids: &'a [U32],
    pub(super) header: &'a raw::MultiCounters,
    pub(super) offset: usize,
    pub(super) padding: Cursor<'a>,
}

impl<'a> Ids<'a> {
    fn parse(data: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = data.offset();
        let header: &raw::MultiCounters = data.read("PERF_MULTI_COUNTERS")?;
        // A count is checked against the bytes that are there before anything is allocated or visited.
        let count = header.counter_count.get();
        let mut body = data.body("PERF_MULTI_COUNTERS.dwSize", offset, header.size.get(), 8)?;
        let room = body.rest().len().wrapping_div(4);
        if length(count) > room {
            let why = Why::CountTooLarge { count, room };
            return Err(WireError::new("PERF_MULTI_COUNTERS.dwCounters", offset.saturating_add(4), why));
        }
        // Writers differ in the padding of an odd number of ids, so the rest of `dwSize` is padding of any
        // length.
        let bytes = body.take("PERF_MULTI_COUNTERS ids", length(count).saturating_mul(4))?.rest();
        let ids = <[U32]>::ref_from_bytes(bytes).unwrap_or_default();
        Ok(Self { ids, header, offset, padding: body })
    }

    /// Returns the number of ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns `true` if there are no ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the ids, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CounterId> + Clone + 'a {
        self.ids.iter().map(|id| CounterId(id.get()))
    }
}

/// Instances of a result.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_MULTI_INSTANCES")]
pub struct InstanceTable<'a> {
    columns: usize,
    pub(super) header: &'a raw::MultiInstances,
    pub(super) offset: usize,
    rows: Cursor<'a>,
}

impl<'a> InstanceTable<'a> {
    fn parse(data: &mut Cursor<'a>, columns: usize) -> Result<Self, WireError> {
        let offset = data.offset();
        let header: &raw::MultiInstances = data.read("PERF_MULTI_INSTANCES")?;
        let rows = data.body("PERF_MULTI_INSTANCES.dwTotalSize", offset, header.total_size.get(), 8)?;
        let count = header.instance_count.get();
        let room = rows.rest().len().wrapping_div(8);
        if length(count) > room {
            let why = Why::CountTooLarge { count, room };
            return Err(WireError::new("PERF_MULTI_INSTANCES.dwInstances", offset.saturating_add(4), why));
        }
        Ok(Self { columns, header, offset, rows })
    }

    /// Returns the number of instances according to the header.
    #[must_use]
    pub fn instance_count(&self) -> u32 {
        self.header.instance_count.get()
    }

    /// Returns the instances. After an error the iterator ends.
    #[must_use]
    pub fn rows(&self) -> InstanceRows<'a> {
        InstanceRows { rest: self.rows, left: self.instance_count(), columns: self.columns }
    }
}

/// Iterator over the instances of an [`InstanceTable`].
#[derive(Clone, Debug)]
pub struct InstanceRows<'a> {
    pub(super) rest: Cursor<'a>,
    left: u32,
    columns: usize,
}

impl<'a> Iterator for InstanceRows<'a> {
    type Item = Result<Instance<'a>, WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = Instance::parse(&mut self.rest).and_then(|mut row| {
            row.values = Values::parse(&mut self.rest, self.columns)?;
            Ok(row)
        });
        if row.is_err() {
            self.left = 0;
        }
        Some(row)
    }
}

impl FusedIterator for InstanceRows<'_> {}

/// Instance, with its values if it belongs to a result.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_INSTANCE_HEADER")]
pub struct Instance<'a> {
    pub(super) header: &'a raw::InstanceHeader,
    pub(super) offset: usize,
    /// Name, NUL and padding of the instance.
    pub(super) name_area: &'a [u8],
    values: Values<'a>,
}

impl<'a> Instance<'a> {
    #[inline]
    pub(super) fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let header: &raw::InstanceHeader = rest.read("PERF_INSTANCE_HEADER")?;
        let name_area = rest.body("PERF_INSTANCE_HEADER.Size", offset, header.size.get(), 8)?.rest();
        if !has_nul(name_area) {
            return Err(WireError::new("PERF_INSTANCE_HEADER name", offset.saturating_add(8), Why::NoNul));
        }
        Ok(Self { header, offset, name_area, values: Values(Cells::Uniform(&[])) })
    }

    /// Returns the name of the instance.
    #[must_use]
    pub fn name(&self) -> Name<'a> {
        Name::until_nul(self.name_area)
    }

    /// Returns the id of the instance.
    #[must_use]
    pub fn id(&self) -> InstanceId {
        InstanceId(self.header.instance_id.get())
    }

    /// Returns the values, in the order of the result's ids.
    #[must_use]
    pub fn values(&self) -> Values<'a> {
        self.values
    }
}

/// Returns `true` if there is a NUL unit: nearly always the last unit, or close to it.
#[inline]
pub(super) fn has_nul(area: &[u8]) -> bool {
    let mut units = area.chunks_exact(2);
    // The last unit first: nearly all names end with the area.
    units.next_back() == Some(&[0, 0]) || units.any(|unit| unit == [0, 0])
}

/// Value as stored in a block. The width is that of the block, regardless of the counter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "PERF_COUNTER_DATA")]
pub enum BlockValue<'a> {
    /// Number of 4 bytes.
    U32(u32),
    /// Number of 8 bytes.
    U64(u64),
    /// No bytes: there is no value.
    Empty,
    /// Bytes of any other width: not a number.
    Other(&'a [u8]),
}

impl<'a> BlockValue<'a> {
    /// Returns the number, unless the value is empty or not a number.
    #[must_use]
    #[inline]
    pub fn number(self) -> Option<RawValue> {
        match self {
            Self::U32(n) => Some(RawValue::U32(n)),
            Self::U64(n) => Some(RawValue::U64(n)),
            Self::Empty | Self::Other(_) => None,
        }
    }

    #[inline]
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Self {
        if let Ok(long) = <[u8; 8]>::try_from(bytes) {
            return Self::U64(u64::from_le_bytes(long));
        }
        match <[u8; 4]>::try_from(bytes) {
            Ok(short) => Self::U32(u32::from_le_bytes(short)),
            Err(_) if bytes.is_empty() => Self::Empty,
            Err(_) => Self::Other(bytes),
        }
    }

    /// Reads a cell with 8, 4 or no bytes of data.
    #[inline]
    fn from_cell(cell: &Cell) -> Self {
        match cell.header.data_size.get() {
            8 => Self::U64(cell.value.get()),
            // The upper half is padding, in which a foreign writer may leave anything.
            4 => Self::U32(u32::try_from(cell.value.get() & 0xFFFF_FFFF).unwrap_or(u32::MAX)),
            _ => Self::Empty,
        }
    }
}

impl Cell {
    /// Returns the number, if the cell contains one.
    #[must_use]
    #[inline]
    pub fn number(&self) -> Option<RawValue> {
        BlockValue::from_cell(self).number()
    }
}

/// Checked values: the getters cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a>(Cells<'a>);

#[derive(Clone, Copy, Debug)]
enum Cells<'a> {
    /// Cells that are all numbers of 8 bytes: the layout of nearly every row.
    Long(&'a [Cell]),
    /// Cells that all have 16 bytes, with 8, 4 or no bytes of data: the layout of every block that is written today.
    Uniform(&'a [Cell]),
    /// Cells of different sizes, read one by one by their size fields.
    Walked { bytes: &'a [u8], count: usize },
}

impl<'a> Values<'a> {
    /// Checks `count` PERF_COUNTER_DATA structures.
    ///
    /// First as cells of 16 bytes, whose whole header is one integer; if a cell differs, field by field.
    #[inline]
    fn parse(rest: &mut Cursor<'a>, count: usize) -> Result<Self, WireError> {
        if let Ok((cells, _)) = <[Cell]>::ref_from_prefix_with_elems(rest.rest(), count) {
            // Every cell is examined, because a loop without exits processes several cells at once.
            let differing = cells.iter().fold(0, |bits, cell| bits | (header_of(cell) ^ LONG));
            let values = match differing {
                0 => Some(Cells::Long(cells)),
                bits if bits & !WIDTH_BITS == 0 && !any_too_wide(cells) => Some(Cells::Uniform(cells)),
                _ => None,
            };
            if let Some(values) = values {
                rest.take("PERF_COUNTER_DATA", size_of_val(cells))?;
                return Ok(Self(values));
            }
        }
        Self::parse_walked(rest, count)
    }

    #[cold]
    fn parse_walked(rest: &mut Cursor<'a>, count: usize) -> Result<Self, WireError> {
        let start = *rest;
        for _ in 0..count {
            walked_value(rest)?;
        }
        let bytes = start.rest().get(..rest.offset().saturating_sub(start.offset())).unwrap_or_default();
        Ok(Self(Cells::Walked { bytes, count }))
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            Cells::Long(cells) | Cells::Uniform(cells) => cells.len(),
            Cells::Walked { count, .. } => count,
        }
    }

    /// Returns `true` if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value at a position.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<BlockValue<'a>> {
        match self.0 {
            Cells::Long(cells) | Cells::Uniform(cells) => cells.get(index).map(BlockValue::from_cell),
            Cells::Walked { .. } => self.iter().nth(index),
        }
    }

    /// Returns the values, in order.
    #[must_use]
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter(match self.0 {
            Cells::Long(cells) => Iter::Long(cells.iter()),
            Cells::Uniform(cells) => Iter::Uniform(cells.iter()),
            Cells::Walked { bytes, count } => Iter::Walked { rest: Cursor::new(bytes), left: count },
        })
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = BlockValue<'a>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// Header of a cell of 16 bytes with 8 bytes of data, as one integer.
const LONG: u64 = 16 << 32 | 8;

/// Returns the header of a cell as one integer.
#[inline]
fn header_of(cell: &Cell) -> u64 {
    u64::from_le_bytes(zerocopy::transmute!(cell.header))
}

/// Bits that differ between the headers of cells of 16 bytes with 8, 4 and no bytes of data.
const WIDTH_BITS: u64 = 8 | 4;

/// Returns `true` if a cell has both of those bits set: 12 bytes of data, which do not fit. The cells must differ in
/// those bits only.
#[inline]
fn any_too_wide(cells: &[Cell]) -> bool {
    let both = |cell| header_of(cell) & (header_of(cell) << 1) & 8;
    cells.iter().fold(0, |bits, cell| bits | both(cell)) != 0
}

/// Reads one PERF_COUNTER_DATA structure field by field.
pub(super) fn walked_value<'a>(rest: &mut Cursor<'a>) -> Result<BlockValue<'a>, WireError> {
    let at = rest.offset();
    let header: &raw::CounterData = rest.read("PERF_COUNTER_DATA")?;
    let size = header.size.get();
    let body = rest.body("PERF_COUNTER_DATA.dwSize", at.saturating_add(4), size, 8)?.rest();
    let data_size = header.data_size.get();
    let Some(value) = body.get(..length(data_size)) else {
        let why = Why::SizeTooLarge { size: data_size, left: body.len() };
        return Err(WireError::new("PERF_COUNTER_DATA.dwDataSize", at, why));
    };
    Ok(BlockValue::from_bytes(value))
}

/// Iterator over the values of [`Values`], in order.
#[derive(Clone, Debug)]
pub struct ValuesIter<'a>(Iter<'a>);

#[derive(Clone, Debug)]
enum Iter<'a> {
    Long(std::slice::Iter<'a, Cell>),
    Uniform(std::slice::Iter<'a, Cell>),
    Walked { rest: Cursor<'a>, left: usize },
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = BlockValue<'a>;

    #[inline]
    fn next(&mut self) -> Option<BlockValue<'a>> {
        match &mut self.0 {
            Iter::Long(cells) => cells.next().map(|cell| BlockValue::U64(cell.value.get())),
            Iter::Uniform(cells) => cells.next().map(BlockValue::from_cell),
            Iter::Walked { rest, left } => {
                *left = left.checked_sub(1)?;
                walked_value(rest).ok() // checked before: always there
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = match &self.0 {
            Iter::Long(cells) | Iter::Uniform(cells) => cells.len(),
            Iter::Walked { left, .. } => *left,
        };
        (len, Some(len))
    }

    /// Selects the layout once, not for each value.
    #[inline]
    fn fold<B, F: FnMut(B, BlockValue<'a>) -> B>(self, init: B, mut f: F) -> B {
        match self.0 {
            Iter::Long(cells) => cells.fold(init, |all, cell| f(all, BlockValue::U64(cell.value.get()))),
            Iter::Uniform(cells) => cells.fold(init, |all, cell| f(all, BlockValue::from_cell(cell))),
            Iter::Walked { .. } => {
                let mut all = init;
                for value in self {
                    all = f(all, value);
                }
                all
            }
        }
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}
impl FusedIterator for ValuesIter<'_> {}
