//! Visits every field of every V2 structure, in byte order, and checks the rules for writers.

use super::block::{Block, Body, CounterDataType, Ids, Instance, InstanceTable, QueryResult};
use super::identifier::{Identifier, Identifiers};
use super::identity::{CounterIdentity, Identities};
use super::instances::Instances;
use super::registration::{CounterInfo, RegistrationInfo};
use super::strings::StringBlock;
use super::values::{BlockValue, walked_value};
use super::{PERF_MAX_INSTANCE_NAME, align8, raw};
use crate::counterset::CounterFilter;
use crate::utf16::Name;
use crate::visit::{FieldValue, Mode, OpenStruct, Stop, VisitFn, Visitor, forgiven};
use crate::wire::{Cursor, WireError, length};

/// Formats of PerfLib V2 lists and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFormat {
    /// PERF_DATA_HEADER: a block of counter data.
    Data,
    /// PERF_COUNTER_IDENTIFIER list: the entries of a query.
    Identifiers,
    /// PERF_COUNTER_IDENTITY list: requests to control callbacks.
    Identities,
    /// PERF_INSTANCE_HEADER list: an enumeration of instances.
    Instances,
    /// PERF_COUNTERSET_REG_INFO and its counters: a registration.
    Registration,
    /// PERF_STRING_BUFFER_HEADER: names or help texts of counters.
    Strings,
}

impl BlockFormat {
    /// All block formats, each of them once.
    pub const ALL: [Self; 6] =
        [Self::Data, Self::Identifiers, Self::Identities, Self::Instances, Self::Registration, Self::Strings];
}

/// Reads a whole V2 block of counter data and lists the ignored violations: at most one per 64 bytes, and at most
/// 1,000.
///
/// # Errors
/// The first structure that cannot be read; in strict mode also the first violation.
pub fn read(bytes: &[u8], mode: Mode) -> Result<(Block<'_>, Vec<WireError>), WireError> {
    let forgiven = forgiven(mode, bytes.len(), |each| visit(BlockFormat::Data, bytes, each))?;
    Ok((Block::parse(bytes)?, forgiven))
}

/// Visits every field of the V2 block or list in `bytes`, in byte order, until `visit` breaks off.
///
/// Work is proportional to the number of bytes. Printer, strict reader, property test and fuzz target are all
/// visitors of this function.
///
/// # Errors
/// The first structure that cannot be read; everything before it has been visited.
pub fn visit(format: BlockFormat, bytes: &[u8], visit: &mut VisitFn<'_>) -> Result<(), WireError> {
    let mut walk = Visitor::new(bytes, visit);
    let end = match format {
        BlockFormat::Data => walk.data(),
        BlockFormat::Identifiers => walk.identifiers(),
        BlockFormat::Identities => walk.identities(),
        BlockFormat::Instances => walk.instances(),
        BlockFormat::Registration => walk.registration(),
        BlockFormat::Strings => walk.strings(),
    };
    Stop::into_result(end)
}

impl Visitor<'_, '_> {
    fn zero(&mut self, bytes: &[u8], at: usize, what: &'static str) -> Result<(), Stop> {
        // MS-PCQ leaves some padding undefined, so only strict reading refuses other bytes.
        self.rule(
            bytes.iter().all(|byte| *byte == 0),
            at,
            what,
            "R-2",
            "padding and reserved fields are zero",
        )
    }

    fn reserved(
        &mut self,
        here: OpenStruct,
        offset: usize,
        what: &'static str,
        value: u32,
    ) -> Result<(), Stop> {
        self.number(here, offset, "Reserved", value)?;
        self.zero(&value.to_le_bytes(), here.offset.saturating_add(offset), what)
    }

    fn trailing(&mut self, bytes: &[u8], at: usize, what: &'static str) -> Result<(), Stop> {
        self.rule(bytes.is_empty(), at, what, "R-35", "nothing follows the last structure of a block")
    }

    /// Checks text, NUL and zero padding of an instance name: `area` starts `header` bytes into its structure, which
    /// ends at the next multiple of 8.
    fn name_area(&mut self, area: &[u8], header: usize, at: usize, what: &'static str) -> Result<(), Stop> {
        let text = Name::until_nul(area).as_bytes().len();
        let used = text.saturating_add(2);
        let exact = align8(header.saturating_add(used)) == header.saturating_add(area.len());
        self.rule(
            exact,
            at,
            what,
            "the size rule",
            "a name is padded to the next multiple of 8 and no further",
        )?;
        let fits = text.wrapping_div(2) < PERF_MAX_INSTANCE_NAME;
        self.rule(fits, at, what, "PERF_MAX_INSTANCE_NAME", "a name has at most 1023 characters")?;
        self.zero(area.get(used..).unwrap_or_default(), at.saturating_add(used), what)
    }

    fn data(&mut self) -> Result<(), Stop> {
        let block = Block::parse(self.bytes)?;
        let clocks = block.clocks();
        let here = self.begin("PERF_DATA_HEADER", 0, 0, None)?;
        let total = block.header.total_size.get();
        self.number(here, 0, "dwTotalSize", total)?;
        self.rule(
            total & 7 == 0,
            0,
            "PERF_DATA_HEADER.dwTotalSize",
            "the size rule",
            "it is a multiple of 8",
        )?;
        self.number(here, 4, "dwNumCounters", block.result_count())?;
        self.field(here, 8, "PerfTimeStamp", FieldValue::I64(clocks.perf_time))?;
        self.field(here, 16, "PerfTime100NSec", FieldValue::I64(clocks.time_100ns))?;
        self.field(here, 24, "PerfFreq", FieldValue::I64(clocks.perf_freq))?;
        self.field(here, 32, "SystemTime", FieldValue::Time(clocks.system_time))?;
        let mut results = block.results();
        let mut index: usize = 0;
        for result in results.by_ref() {
            self.result(&result?, index)?;
            index = index.saturating_add(1);
        }
        self.trailing(results.rest.rest(), results.rest.offset(), "PERF_DATA_HEADER")
    }

    fn result(&mut self, result: &QueryResult<'_>, index: usize) -> Result<(), Stop> {
        let here = self.begin("PERF_COUNTER_HEADER", result.offset, 1, Some(index))?;
        let header = result.header;
        self.field(here, 0, "dwStatus", FieldValue::Status(result.status))?;
        self.field(here, 4, "dwType", FieldValue::Kind(result.kind()))?;
        self.number(here, 8, "dwSize", header.size.get())?;
        self.reserved(here, 12, "PERF_COUNTER_HEADER.Reserved", header.reserved.get())?;
        let failed = result.kind() == CounterDataType::Error;
        self.rule(
            failed != result.status.is_success(),
            here.offset,
            "PERF_COUNTER_HEADER.dwStatus",
            "the status rule",
            "a failed entry has a code, every other has 0",
        )?;
        match result.body {
            Body::Error => {}
            Body::SingleCounter(value) => {
                self.values(1, here.offset.saturating_add(16), 2)?;
                let empty = value == BlockValue::Empty;
                let text = "a single value that cannot be had is a failed entry";
                self.rule(!empty, here.offset.saturating_add(16), "PERF_COUNTER_DATA", "R-20", text)?;
            }
            Body::MultipleCounters(ids, values) => {
                let end = self.ids(&ids)?;
                self.values(values.len(), end, 2)?;
            }
            Body::MultipleInstances(table) => self.table(&table)?,
            Body::Counterset(ids, table) => {
                self.ids(&ids)?;
                self.table(&table)?;
            }
        }
        self.trailing(result.trailing.rest(), result.trailing.offset(), "PERF_COUNTER_HEADER")
    }

    /// Visits the counter ids of a query result and returns the offset of their end.
    fn ids(&mut self, ids: &Ids<'_>) -> Result<usize, Stop> {
        let here = self.begin("PERF_MULTI_COUNTERS", ids.offset, 2, None)?;
        let size = ids.header.size.get();
        self.number(here, 0, "dwSize", size)?;
        self.number(here, 4, "dwCounters", ids.header.counter_count.get())?;
        for (i, id) in ids.iter().enumerate() {
            self.number(here, i.saturating_mul(4).saturating_add(8), "CounterId", id.0)?;
        }
        let exact = align8(ids.len().saturating_mul(4).saturating_add(8)) == length(size);
        let text = "the size is that of the header and the ids, padded to a multiple of 8";
        self.rule(exact, here.offset, "PERF_MULTI_COUNTERS.dwSize", "R-4", text)?;
        self.zero(ids.padding.rest(), ids.padding.offset(), "PERF_MULTI_COUNTERS")?;
        Ok(here.offset.saturating_add(length(size)))
    }

    fn table(&mut self, table: &InstanceTable<'_>) -> Result<(), Stop> {
        let here = self.begin("PERF_MULTI_INSTANCES", table.offset, 2, None)?;
        self.number(here, 0, "dwTotalSize", table.header.total_size.get())?;
        self.number(here, 4, "dwInstances", table.instance_count())?;
        // Readers accept an empty table. Windows was seen to return an error result instead.
        let text = "a table has at least one instance";
        self.rule(
            table.instance_count() != 0,
            here.offset.saturating_add(4),
            "PERF_MULTI_INSTANCES.dwInstances",
            "R-34",
            text,
        )?;
        let mut rows = table.rows();
        let mut index: usize = 0;
        for row in rows.by_ref() {
            let row = row?;
            self.instance(&row, 3, index)?;
            let values_at = row.offset.saturating_add(8).saturating_add(row.name_area.len());
            self.values(row.values().len(), values_at, 4)?;
            index = index.saturating_add(1);
        }
        self.trailing(rows.rest.rest(), rows.rest.offset(), "PERF_MULTI_INSTANCES")
    }

    fn instance(&mut self, instance: &Instance<'_>, depth: usize, index: usize) -> Result<(), Stop> {
        let here = self.begin("PERF_INSTANCE_HEADER", instance.offset, depth, Some(index))?;
        self.number(here, 0, "Size", instance.header.size.get())?;
        self.number(here, 4, "InstanceId", instance.id().0)?;
        self.field(here, 8, "name", FieldValue::Text(instance.name()))?;
        self.name_area(instance.name_area, 8, here.offset.saturating_add(8), "PERF_INSTANCE_HEADER name")
    }

    /// Visits `count` PERF_COUNTER_DATA blocks that the view has checked.
    fn values(&mut self, count: usize, at: usize, depth: usize) -> Result<(), Stop> {
        let mut rest = Cursor::starting_at(self.bytes, at);
        for index in 0..count {
            let at = rest.offset();
            let header: &raw::CounterData = rest.clone().read("PERF_COUNTER_DATA")?;
            let (data_size, size) = (header.data_size.get(), header.size.get());
            let value = walked_value(&mut rest)?;
            let here = self.begin("PERF_COUNTER_DATA", at, depth, Some(index))?;
            self.number(here, 0, "dwDataSize", data_size)?;
            self.number(here, 4, "dwSize", size)?;
            self.field(here, 8, "value", FieldValue::Value(value))?;
            // A value without bytes has 16 bytes too: Microsoft's sample rejects a smaller `dwSize`.
            let exact = align8(length(data_size).max(1)).saturating_add(8) == length(size);
            let text = "the size is that of the header and the value, padded to a multiple of 8; at least 16";
            self.rule(exact, at.saturating_add(4), "PERF_COUNTER_DATA.dwSize", "R-20", text)?;
            let padding_at = at.saturating_add(8).saturating_add(length(data_size));
            let padding = self.bytes.get(padding_at..rest.offset()).unwrap_or_default();
            self.zero(padding, padding_at, "PERF_COUNTER_DATA")?;
        }
        Ok(())
    }

    fn identifiers(&mut self) -> Result<(), Stop> {
        for (index, identifier) in Identifiers::new(self.bytes).enumerate() {
            self.identifier(&identifier?, index)?;
        }
        Ok(())
    }

    fn identifier(&mut self, identifier: &Identifier<'_>, index: usize) -> Result<(), Stop> {
        let header = identifier.header;
        let here = self.begin("PERF_COUNTER_IDENTIFIER", identifier.offset, 0, Some(index))?;
        self.field(here, 0, "CounterSetGuid", FieldValue::Guid(identifier.counterset()))?;
        self.field(here, 16, "Status", FieldValue::Status(identifier.status()))?;
        self.number(here, 20, "Size", header.size.get())?;
        self.field(here, 24, "CounterId", FieldValue::IdOrAll(header.counter_id.get()))?;
        self.field(here, 28, "InstanceId", FieldValue::IdOrAll(header.instance_id.get()))?;
        self.number(here, 32, "Index", identifier.index())?;
        self.reserved(here, 36, "PERF_COUNTER_IDENTIFIER.Reserved", header.reserved.get())?;
        if let Some(name) = identifier.name()? {
            self.field(here, 40, "name", FieldValue::Text(name))?;
            self.name_area(
                identifier.name_area,
                40,
                here.offset.saturating_add(40),
                "PERF_COUNTER_IDENTIFIER name",
            )?;
        }
        Ok(())
    }

    fn identities(&mut self) -> Result<(), Stop> {
        for (index, identity) in Identities::new(self.bytes).enumerate() {
            self.identity(&identity?, index)?;
        }
        Ok(())
    }

    fn identity(&mut self, identity: &CounterIdentity<'_>, index: usize) -> Result<(), Stop> {
        let header = identity.header;
        let here = self.begin("PERF_COUNTER_IDENTITY", identity.offset, 0, Some(index))?;
        self.field(here, 0, "CounterSetGuid", FieldValue::Guid(identity.counterset()))?;
        self.number(here, 16, "BufferSize", header.buffer_size.get())?;
        self.field(here, 20, "CounterId", FieldValue::IdOrAll(identity.counter().to_wire()))?;
        self.field(here, 24, "InstanceId", FieldValue::IdOrAll(identity.instance_id().to_wire()))?;
        self.number(here, 28, "MachineOffset", header.machine_offset.get())?;
        self.number(here, 32, "NameOffset", header.name_offset.get())?;
        self.reserved(here, 36, "PERF_COUNTER_IDENTITY.Reserved", header.reserved.get())?;
        self.field(
            here,
            length(header.machine_offset.get()),
            "machine",
            FieldValue::Text(identity.machine()),
        )?;
        if let Some(name) = identity.name() {
            self.field(here, length(header.name_offset.get()), "name", FieldValue::Text(name))?;
        }
        let text = "the size is a multiple of 8";
        let aligned = header.buffer_size.get() & 7 == 0;
        self.rule(aligned, here.offset.saturating_add(16), "PERF_COUNTER_IDENTITY.BufferSize", "R-5", text)
    }

    fn instances(&mut self) -> Result<(), Stop> {
        for (index, instance) in Instances::new(self.bytes).enumerate() {
            self.instance(&instance?, 0, index)?;
        }
        Ok(())
    }

    fn registration(&mut self) -> Result<(), Stop> {
        let info = RegistrationInfo::parse(self.bytes)?;
        let here = self.begin("PERF_COUNTERSET_REG_INFO", 0, 0, None)?;
        self.field(here, 0, "CounterSetGuid", FieldValue::Guid(info.guid()))?;
        let unused = info.header.counterset_type.get();
        self.number(here, 16, "CounterSetType", unused)?;
        self.zero(&unused.to_le_bytes(), 16, "PERF_COUNTERSET_REG_INFO.CounterSetType")?;
        self.number(here, 20, "DetailLevel", info.detail().0)?;
        self.number(here, 24, "NumCounters", info.header.counter_count.get())?;
        self.number(here, 28, "InstanceType", info.instance_type().to_wire())?;
        for (index, counter) in info.counters().enumerate() {
            self.counter(&counter?, index)?;
        }
        let end = info.counters.offset().saturating_add(info.counters.rest().len());
        self.trailing(self.bytes.get(end..).unwrap_or_default(), end, "PERF_COUNTERSET_REG_INFO")
    }

    fn counter(&mut self, counter: &CounterInfo<'_>, index: usize) -> Result<(), Stop> {
        let here = self.begin("PERF_COUNTER_REG_INFO", counter.offset, 1, Some(index))?;
        // 0xFFFFFFFF is no counter here, and every counter in a query. Both are printed as `any`.
        let related = |id| {
            FieldValue::IdOrAll(CounterFilter::to_wire(match id {
                Some(id) => CounterFilter::One(id),
                None => CounterFilter::All,
            }))
        };
        self.number(here, 0, "CounterId", counter.id().0)?;
        self.field(here, 4, "Type", FieldValue::CounterType(counter.counter_type()))?;
        self.field(here, 8, "Attrib", FieldValue::Attributes(counter.attributes()))?;
        let allowed = counter.attributes().is_allowed();
        let text = "the attributes go together";
        self.rule(allowed, here.offset.saturating_add(8), "PERF_COUNTER_REG_INFO.Attrib", "R-1", text)?;
        self.number(here, 16, "DetailLevel", counter.detail().0)?;
        self.field(here, 20, "DefaultScale", FieldValue::I32(counter.default_scale()))?;
        self.field(here, 24, "BaseCounterId", related(counter.base()))?;
        self.field(here, 28, "PerfTimeId", related(counter.perf_time()))?;
        self.field(here, 32, "PerfFreqId", related(counter.perf_freq()))?;
        self.field(here, 36, "MultiId", related(counter.multi()))?;
        self.number(here, 40, "AggregateFunc", counter.aggregate().to_wire())?;
        self.reserved(here, 44, "PERF_COUNTER_REG_INFO.Reserved", counter.raw.reserved.get())
    }

    fn strings(&mut self) -> Result<(), Stop> {
        let block = StringBlock::parse(self.bytes)?;
        let here = self.begin("PERF_STRING_BUFFER_HEADER", 0, 0, None)?;
        let size = block.header.size.get();
        self.number(here, 0, "dwSize", size)?;
        self.rule(
            size & 7 == 0,
            0,
            "PERF_STRING_BUFFER_HEADER.dwSize",
            "the size rule",
            "it is a multiple of 8",
        )?;
        self.number(here, 4, "dwCounters", block.header.counter_count.get())?;
        for (index, ((id, string), entry)) in block.iter().zip(block.entries).enumerate() {
            let at = index.saturating_mul(8).saturating_add(8);
            let here = self.begin("PERF_STRING_COUNTER_HEADER", at, 1, Some(index))?;
            self.number(here, 0, "dwCounterId", id.0)?;
            self.field(here, 4, "dwOffset", FieldValue::IdOrAll(entry.offset.get()))?;
            if let Some(string) = string? {
                self.field(here, 4, "string", FieldValue::Text(string))?;
            }
        }
        Ok(())
    }
}
