//! Visits every field of a V1 block, in byte order, and checks every rule.

use super::block::{Contents, DataBlock, Object};
use super::definition::{Definition, Definitions};
use super::instance::{Instance, Values};
use crate::counter_type::{Size, TextKind, ValueKind};
use crate::utf16::Name;
use crate::v2::BlockValue;
use crate::visit::{Event, FieldValue, Mode, OpenStruct, Stop, VisitFn, Visitor, forgiven};
use crate::wire::{Why, WireError, length};

/// Reads a V1 block and lists the ignored violations: at most one per 64 bytes, and at most 1,000.
///
/// A violation costs nothing, the object that contains it, or the remaining instances of that object. Everything that
/// can be read without it is in the view.
///
/// # Errors
/// Fails if the header cannot be read (R1 to R6, R8); in strict mode also at the first violation.
pub fn read(bytes: &[u8], mode: Mode) -> Result<(DataBlock<'_>, Vec<WireError>), WireError> {
    let forgiven = forgiven(mode, bytes.len(), |each| visit(bytes, each))?;
    Ok((DataBlock::parse(bytes)?, forgiven))
}

/// Visits every field of a V1 block, in byte order, until `visit` breaks off.
///
/// Work is proportional to the number of bytes, and for each value to its definition. Printer, strict reader,
/// property test and fuzz target are all visitors of this function.
///
/// # Errors
/// Fails if the header cannot be read. Every later violation is an [`Event::Broken`], and the visit continues with
/// everything that can be read without it.
pub fn visit(bytes: &[u8], visit: &mut VisitFn<'_>) -> Result<(), WireError> {
    let block = DataBlock::parse(bytes)?;
    Stop::into_result(data(&mut Visitor::new(bytes, visit), &block))
}

fn data(walk: &mut Visitor<'_, '_>, block: &DataBlock<'_>) -> Result<(), Stop> {
    let header = block.header;
    let clocks = block.clocks();
    let here = walk.begin("PERF_DATA_BLOCK", 0, 0, None)?;
    walk.field(here, 0, "Signature", FieldValue::Text(Name::until_nul(&header.signature)))?;
    walk.number(here, 8, "LittleEndian", header.little_endian.get())?;
    walk.number(here, 12, "Version", header.version.get())?;
    walk.number(here, 16, "Revision", header.revision.get())?;
    walk.number(here, 20, "TotalByteLength", header.total_len.get())?;
    let what = "PERF_DATA_BLOCK.TotalByteLength";
    // Samba 4.17 writes a length without the header, which lenient reading corrects.
    walk.rule(!block.is_repaired, 20, what, "R5", "it counts the header")?;
    walk.number(here, 24, "HeaderLength", header.header_len.get())?;
    let aligned = header.header_len.get() & 7 == 0;
    walk.rule(aligned, 24, "PERF_DATA_BLOCK.HeaderLength", "R7", "it is a multiple of 8")?;
    walk.number(here, 28, "NumObjectTypes", block.object_count())?;
    walk.field(here, 32, "DefaultObject", FieldValue::I32(header.default_object.get()))?;
    walk.field(here, 36, "SystemTime", FieldValue::Time(clocks.system_time))?;
    walk.field(here, 56, "PerfTime", FieldValue::I64(clocks.perf_time))?;
    walk.field(here, 64, "PerfFreq", FieldValue::I64(clocks.perf_freq))?;
    walk.field(here, 72, "PerfTime100nSec", FieldValue::I64(clocks.time_100ns))?;
    walk.number(here, 80, "SystemNameLength", header.system_name_len.get())?;
    walk.number(here, 84, "SystemNameOffset", header.system_name_at.get())?;
    let name_at = if header.system_name_len.get() == 0 { 88 } else { length(header.system_name_at.get()) };
    walk.field(here, name_at, "system name", FieldValue::Text(block.system_name()))?;

    let mut objects = block.objects();
    let mut index: usize = 0;
    let mut is_cut = false;
    for next in objects.by_ref() {
        match next {
            Ok(object) => visit_object(walk, &object, index)?,
            Err(error) => {
                is_cut = error.rule == "R10" || error.what == "PERF_OBJECT_TYPE.TotalByteLength";
                walk.event(Event::Broken(error))?;
            }
        }
        index = index.saturating_add(1);
    }
    // If the length of an object is wrong, the end of the objects is unknown: one report is enough.
    let text = "the objects end where the block does";
    walk.rule(is_cut || objects.rest.is_empty(), objects.rest.offset(), "PERF_DATA_BLOCK", "R9", text)
}

fn visit_object(walk: &mut Visitor<'_, '_>, object: &Object<'_>, index: usize) -> Result<(), Stop> {
    let (header, at) = (object.header, object.offset);
    let here = walk.begin("PERF_OBJECT_TYPE", at, 1, Some(index))?;
    unaligned(walk, at, 8, at, "PERF_OBJECT_TYPE")?;
    walk.number(here, 0, "TotalByteLength", header.total_len.get())?;
    let aligned = header.total_len.get() & 7 == 0;
    walk.rule(aligned, at, "PERF_OBJECT_TYPE.TotalByteLength", "R12", "it is a multiple of 8")?;
    walk.number(here, 4, "DefinitionLength", header.definition_len.get())?;
    walk.number(here, 8, "HeaderLength", header.header_len.get())?;
    walk.number(here, 12, "ObjectNameTitleIndex", object.name_index())?;
    walk.number(here, 16, "ObjectNameTitle", header.name_title.get())?;
    walk.number(here, 20, "ObjectHelpTitleIndex", object.help_index())?;
    walk.number(here, 24, "ObjectHelpTitle", header.help_title.get())?;
    walk.number(here, 28, "DetailLevel", object.detail().0)?;
    walk.number(here, 32, "NumCounters", header.counter_count.get())?;
    walk.field(here, 36, "DefaultCounter", FieldValue::I32(header.default_counter.get()))?;
    walk.field(here, 40, "NumInstances", FieldValue::I32(header.instance_count.get()))?;
    walk.number(here, 44, "CodePage", header.code_page.get())?;
    walk.field(here, 48, "PerfTime", FieldValue::I64(object.clock().0))?;
    walk.field(here, 56, "PerfFreq", FieldValue::I64(object.clock().1))?;
    let definitions = object.definitions();
    let mut all = definitions.iter().enumerate().peekable();
    while let Some((position, definition)) = all.next() {
        let has_base = all.peek().is_some_and(|(_, next)| definition.is_followed_by_base(next));
        visit_definition(walk, &definition, position, has_base)?;
    }
    match object.contents() {
        Contents::Single(values) => visit_values(walk, definitions, &values, 2, 0),
        Contents::Multiple(instances) => {
            for (index, instance) in instances.enumerate() {
                match instance {
                    Ok(instance) => visit_instance(walk, definitions, &instance, index)?,
                    Err(error) => walk.event(Event::Broken(error))?,
                }
            }
            Ok(())
        }
        Contents::Metadata { .. } => Ok(()),
    }
}

fn visit_definition(
    walk: &mut Visitor<'_, '_>,
    definition: &Definition<'_>,
    position: usize,
    has_base: bool,
) -> Result<(), Stop> {
    let (raw, at) = (definition.raw, definition.offset);
    let here = walk.begin("PERF_COUNTER_DEFINITION", at, 2, Some(position))?;
    let counter_type = definition.counter_type();
    walk.number(here, 0, "ByteLength", raw.byte_len.get())?;
    walk.number(here, 4, "CounterNameTitleIndex", definition.name_index())?;
    walk.number(here, 8, "CounterNameTitle", raw.name_title.get())?;
    walk.number(here, 12, "CounterHelpTitleIndex", definition.help_index())?;
    walk.number(here, 16, "CounterHelpTitle", raw.help_title.get())?;
    walk.field(here, 20, "DefaultScale", FieldValue::I32(definition.default_scale()))?;
    walk.number(here, 24, "DetailLevel", definition.detail().0)?;
    walk.field(here, 28, "CounterType", FieldValue::CounterType(counter_type))?;
    if counter_type.needs_base() && !has_base {
        let text = match counter_type.decode().multi {
            true => "no number of items follows: it is what stands behind the value",
            false => "no base follows: its values cannot be formatted",
        };
        unusual(walk, here, 28, "PERF_COUNTER_DEFINITION.CounterType", text, "R25")?;
    }
    walk.number(here, 32, "CounterSize", raw.counter_size.get())?;
    let size = raw.counter_size.get();
    // A difference is legal: Samba and Windows Vista store some 4-byte types in 8 bytes (R24).
    let by_type = match counter_type.decode().size {
        Size::Dword => Some(4),
        Size::Large => Some(8),
        Size::Zero | Size::Variable => None,
    };
    let size_text = match by_type {
        Some(_) if !matches!(size, 4 | 8) => Some("a value of such a size is no number"),
        Some(len) if len != size => Some("the size bits of the type say otherwise, and do not count"),
        _ => None,
    };
    if let Some(text) = size_text {
        unusual(walk, here, 32, "PERF_COUNTER_DEFINITION.CounterSize", text, "R24")?;
    }
    walk.number(here, 36, "CounterOffset", raw.counter_at.get())?;
    let what = "PERF_COUNTER_DEFINITION.CounterOffset";
    if definition.value_len() > 0 {
        // The end of a value is checked in each counter block, because their lengths can differ.
        let text = "a value lies behind the length of its counter block";
        walk.rule(definition.value_at() >= 4, at.saturating_add(36), what, "R23", text)?;
        if matches!(definition.value_len(), 4 | 8) {
            unaligned(walk, definition.value_at(), definition.value_len(), at.saturating_add(36), what)?;
        }
    }
    Ok(())
}

fn visit_instance(
    walk: &mut Visitor<'_, '_>,
    definitions: Definitions<'_>,
    instance: &Instance<'_>,
    index: usize,
) -> Result<(), Stop> {
    let (header, at) = (instance.header, instance.offset);
    let here = walk.begin("PERF_INSTANCE_DEFINITION", at, 2, Some(index))?;
    unaligned(walk, at, 8, at, "PERF_INSTANCE_DEFINITION")?;
    walk.number(here, 0, "ByteLength", header.byte_len.get())?;
    walk.number(here, 4, "ParentObjectTitleIndex", header.parent_object.get())?;
    walk.number(here, 8, "ParentObjectInstance", header.parent_instance.get())?;
    walk.field(here, 12, "UniqueID", FieldValue::I32(header.unique_id.get()))?;
    walk.number(here, 16, "NameOffset", header.name_at.get())?;
    walk.number(here, 20, "NameLength", header.name_len.get())?;
    let name_at = if header.name_len.get() == 0 { 24 } else { length(header.name_at.get()) };
    walk.field(here, name_at, "name", FieldValue::InstanceName(instance.name()))?;
    visit_values(walk, definitions, &instance.values(), 3, index)
}

fn visit_values(
    walk: &mut Visitor<'_, '_>,
    definitions: Definitions<'_>,
    values: &Values<'_>,
    depth: usize,
    index: usize,
) -> Result<(), Stop> {
    let at = values.offset;
    let here = walk.begin("PERF_COUNTER_BLOCK", at, depth, Some(index))?;
    unaligned(walk, at, 8, at, "PERF_COUNTER_BLOCK")?;
    let len = values.block_len();
    walk.number(here, 0, "ByteLength", u32::try_from(len).unwrap_or(u32::MAX))?;
    walk.rule(len & 7 == 0, at, "PERF_COUNTER_BLOCK.ByteLength", "R22", "it is a multiple of 8")?;
    // Many texts can share the same bytes: all together are limited to the length of the block.
    let mut text_left = len;
    let mut all = definitions.iter().enumerate().peekable();
    while let Some((position, definition)) = all.next() {
        if definition.value_len() == 0 || definition.value_at() < 4 {
            continue; // it has no value, or that is nowhere, which its definition was blamed for
        }
        if !values.holds(&definition) {
            let why = Why::ValueOutside {
                position,
                offset: definition.offset(),
                needed: definition.value_at().saturating_add(definition.value_len()),
                left: len,
            };
            let what = "PERF_COUNTER_BLOCK.ByteLength";
            walk.event(Event::Broken(WireError::new(what, at, why).by("R23")))?;
            continue;
        }
        let kind = definition.counter_type().decode().kind;
        let value = match (values.value_of(&definition), kind) {
            (BlockValue::Other(bytes), ValueKind::Text(kind)) if bytes.len() <= text_left => {
                text_left = text_left.saturating_sub(bytes.len());
                match kind {
                    TextKind::Unicode => FieldValue::Text(Name::until_nul(bytes)),
                    TextKind::Ascii => {
                        FieldValue::Ascii(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
                    }
                }
            }
            (value, _) => FieldValue::Value(value),
        };
        walk.counter_value(here, definition.value_at(), position, value)?;
        let has_base = all.peek().is_some_and(|(_, next)| definition.is_followed_by_base(next));
        let is_multi = definition.counter_type().needs_base() && definition.counter_type().decode().multi;
        if let Some(items) = values.items_behind(&definition).filter(|_| is_multi && !has_base) {
            let offset = definition.value_at().saturating_add(definition.value_len());
            walk.number(here, offset, "number of items", items)?;
        }
    }
    Ok(())
}

fn unusual(
    walk: &mut Visitor<'_, '_>,
    here: OpenStruct,
    offset: usize,
    what: &'static str,
    text: &'static str,
    rule: &'static str,
) -> Result<(), Stop> {
    let remark = WireError::new(what, here.offset.saturating_add(offset), Why::Unusual(text)).by(rule);
    walk.event(Event::Unusual(remark))
}

/// Reports an unaligned structure or value of a V1 block, which is legal and unusual (R26).
fn unaligned(
    walk: &mut Visitor<'_, '_>,
    offset: usize,
    alignment: usize,
    at: usize,
    what: &'static str,
) -> Result<(), Stop> {
    if offset.checked_rem(alignment) == Some(0) {
        return Ok(());
    }
    let remark = WireError::new(what, at, Why::Unusual("it is not aligned")).by("R26");
    walk.event(Event::Unusual(remark))
}
