//! Reads V2 blocks of counter data.

use std::iter::FusedIterator;

use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::raw;
use super::values::{BlockValue, Values};
use crate::clock::ClockReading;
use crate::counterset::CounterId;
use crate::instance::InstanceId;
use crate::status::Status;
use crate::utf16::Name;
use crate::wire::{Cursor, Why, WireError, length};

/// V2 block of counter data: the result of one collection of a query.
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
    /// Checks the header of a V2 block and creates a view of `dwTotalSize` bytes; later bytes are ignored.
    ///
    /// # Errors
    /// Fails if there are fewer bytes than a header, or fewer than the header requires.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut all = Cursor::new(bytes);
        let header: &raw::DataHeader = all.read("PERF_DATA_HEADER")?;
        let results = all.body("PERF_DATA_HEADER.dwTotalSize", 0, header.total_size.get(), 48)?;
        Ok(Self { header, results })
    }

    /// Returns the clock readings of the collection that the block contains.
    #[must_use]
    pub fn clocks(&self) -> ClockReading {
        ClockReading {
            perf_time: self.header.perf_time.get(),
            time_100ns: self.header.time_100ns.get(),
            perf_freq: self.header.perf_freq.get(),
            system_time: (&self.header.system_time).into(),
        }
    }

    /// Returns the number of query results that the header of the V2 block states.
    #[must_use]
    pub fn result_count(&self) -> u32 {
        self.header.counter_count.get()
    }

    /// Returns an iterator over the query results of the V2 block. After an error the iterator ends.
    #[must_use]
    pub fn results(&self) -> Results<'a> {
        Results { rest: self.results, left: self.result_count() }
    }

    /// Returns the query result at an offset that [`offset`](QueryResult::offset) returned for this block. Another
    /// offset gives `None` or a result without meaning.
    #[must_use]
    pub fn result_starting_at(&self, offset: usize) -> Option<QueryResult<'a>> {
        let mut rest = self.results;
        rest.take("PERF_COUNTER_HEADER", offset.checked_sub(rest.offset())?).ok()?;
        QueryResult::parse(&mut rest).ok()
    }
}

/// Iterator over the query results of a V2 [`Block`].
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

/// Type of a query result in a V2 block, decided by the request of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PerfCounterDataType")]
pub enum CounterDataType {
    /// Error result: the query entry failed, or matched nothing.
    #[doc(alias = "PERF_ERROR_RETURN")]
    Error,
    /// Result with the value of one counter of one instance.
    #[doc(alias = "PERF_SINGLE_COUNTER")]
    SingleCounter,
    /// Result with the values of several counters of one instance.
    #[doc(alias = "PERF_MULTIPLE_COUNTERS")]
    MultipleCounters,
    /// Result with the values of one counter of several instances.
    #[doc(alias = "PERF_MULTIPLE_INSTANCES")]
    MultipleInstances,
    /// Result with the values of several counters of several instances.
    #[doc(alias = "PERF_COUNTERSET")]
    Counterset,
}

impl CounterDataType {
    /// Converts the `dwType` field of a query result; `None` if the value is undefined.
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

    /// Returns the value of the `dwType` field of a query result.
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

    /// Returns the name of this result type in C.
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

/// Result of one query entry in a V2 block.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_COUNTER_HEADER")]
pub struct QueryResult<'a> {
    /// Status of the query entry: 0, or the reason why it failed.
    pub status: Status,
    /// Collected values of the query entry.
    pub body: Body<'a>,
    pub(super) header: &'a raw::CounterHeader,
    pub(super) offset: usize,
    /// Bytes of the query result after the structures of its type.
    pub(super) trailing: Cursor<'a>,
}

/// Collected values of one query entry.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// No values, because the query entry failed: see the status.
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

    /// Returns the position of the values in a query result with one instance whose values take 16 bytes each; `None`
    /// for any other result.
    #[must_use]
    pub fn values_place(&self) -> Option<ValuesPlace> {
        let start = self.offset.checked_add(size_of::<raw::CounterHeader>())?;
        /// Number of bytes of a query result with one cell.
        const OF_ONE: usize = size_of::<(raw::CounterHeader, raw::Cell)>();
        match &self.body {
            Body::SingleCounter(_) if length(self.header.size.get()) == OF_ONE => ValuesPlace::new(start, 1),
            Body::MultipleCounters(ids, values) => {
                ValuesPlace::new(start.checked_add(length(ids.header.size.get()))?, values.cells()?.len())
            }
            _ => None,
        }
    }

    /// Returns the offset of the query result in the V2 block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the type of the query result.
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

/// Counter ids of a query result, in the order of its values.
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

    /// Returns the number of counter ids.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns `true` if there are no counter ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the counter ids, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CounterId> + Clone + 'a {
        self.ids.iter().map(|id| CounterId(id.get()))
    }
}

/// Table of the instances of a query result.
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

    /// Returns the number of instances that the header of the table states.
    #[must_use]
    pub fn instance_count(&self) -> u32 {
        self.header.instance_count.get()
    }

    /// Returns the instance at an offset that [`offset`](Instance::offset) returned for this table. Another offset
    /// gives `None` or an instance without meaning.
    #[must_use]
    pub fn row_starting_at(&self, offset: usize) -> Option<Instance<'a>> {
        let mut rest = self.rows;
        rest.take("PERF_INSTANCE_HEADER", offset.checked_sub(rest.offset())?).ok()?;
        InstanceRows { rest, left: 1, columns: self.columns }.next()?.ok()
    }

    /// Returns an iterator over the instances of the table. After an error the iterator ends.
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

    // Always: a call for each row, and a row that is passed through memory, cost half of a walk.
    #[inline(always)]
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

/// Instance in a V2 block, with its values if it belongs to a query result.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "PERF_INSTANCE_HEADER")]
pub struct Instance<'a> {
    pub(super) header: &'a raw::InstanceHeader,
    pub(super) offset: usize,
    /// Bytes of the instance's name, its NUL and padding.
    pub(super) name_area: &'a [u8],
    values: Values<'a>,
}

impl<'a> Instance<'a> {
    #[inline(always)]
    pub(super) fn parse(rest: &mut Cursor<'a>) -> Result<Self, WireError> {
        let offset = rest.offset();
        let header: &raw::InstanceHeader = rest.read("PERF_INSTANCE_HEADER")?;
        let name_area = rest.body("PERF_INSTANCE_HEADER.Size", offset, header.size.get(), 8)?.rest();
        if !has_nul(name_area) {
            return Err(WireError::new("PERF_INSTANCE_HEADER name", offset.saturating_add(8), Why::NoNul));
        }
        Ok(Self { header, offset, name_area, values: Values::NONE })
    }

    /// Returns the offset of the instance in the V2 block.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the name of the instance.
    #[must_use]
    #[inline]
    pub fn name(&self) -> Name<'a> {
        Name::until_nul(self.name_area)
    }

    /// Returns the id of the instance.
    #[must_use]
    #[inline]
    pub fn id(&self) -> InstanceId {
        InstanceId(self.header.instance_id.get())
    }

    /// Returns the values of the instance, in the order of the result's counter ids.
    #[must_use]
    #[inline]
    pub fn values(&self) -> Values<'a> {
        self.values
    }

    /// Returns the offsets of the instance in its V2 block; `None` if the values are not cells of 16 bytes, or an
    /// offset exceeds 32 bits.
    #[must_use]
    pub fn place(&self) -> Option<InstancePlace> {
        let name_at = self.offset.checked_add(size_of::<raw::InstanceHeader>())?;
        Some(InstancePlace {
            name_at: name_at.try_into().ok()?,
            name_len: self.name().as_bytes().len().try_into().ok()?,
            id: self.id(),
            values: ValuesPlace::new(name_at.checked_add(self.name_area.len())?, self.values.cells()?.len())?,
        })
    }
}

/// Offset and count of an instance's values in a V2 block, to read the values again without another check.
///
/// It also serves other blocks with the same structure: those in which only values changed.
#[derive(Clone, Copy, Debug)]
pub struct ValuesPlace {
    start: u32,
    count: u32,
}

impl ValuesPlace {
    fn new(start: usize, count: usize) -> Option<Self> {
        Some(Self { start: start.try_into().ok()?, count: count.try_into().ok()? })
    }

    /// Reads the values of an instance from the bytes of the V2 block. In a block with another structure the values
    /// have no meaning.
    #[must_use]
    #[inline]
    pub fn read<'a>(&self, block: &'a [u8]) -> Option<Values<'a>> {
        Values::from_prefix(block.get(length(self.start)..)?, length(self.count))
    }
}

/// Offsets of an instance's name and values in a V2 block, to read both again without another check.
#[derive(Clone, Copy, Debug)]
pub struct InstancePlace {
    name_at: u32,
    name_len: u32,
    id: InstanceId,
    values: ValuesPlace,
}

impl InstancePlace {
    /// Returns the id of the instance that has these offsets.
    #[must_use]
    pub fn id(&self) -> InstanceId {
        self.id
    }

    /// Reads name and values of the instance from the bytes of the V2 block. In a block with another structure both
    /// have no meaning.
    #[must_use]
    #[inline]
    pub fn read<'a>(&self, block: &'a [u8]) -> Option<(Name<'a>, Values<'a>)> {
        let name_at = length(self.name_at);
        let name = block.get(name_at..name_at.saturating_add(length(self.name_len)))?;
        Some((Name::whole(name), self.values.read(block)?))
    }
}

/// Returns `true` if the bytes of an instance's name contain a NUL unit: nearly always the last unit, or close to it.
#[inline]
pub(super) fn has_nul(area: &[u8]) -> bool {
    let mut units = area.chunks_exact(2);
    // The last unit first: nearly all names end with the area.
    units.next_back() == Some(&[0, 0]) || units.any(|unit| unit == [0, 0])
}
