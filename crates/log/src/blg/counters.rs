//! Counter list of a binary log: describes the blocks of every sample.

use perfset_core::wire::{Cursor, Why, WireError, length};
use perfset_core::{CounterType, Name};

use super::raw;

/// Entry of the counter list of a binary log. The blocks of every sample are in the order of the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRecord {
    /// Counters and instances that the entry of the counter list covers.
    pub what: EntryScope,
    /// Counter type of the counter that this entry of a counter list covers. The counters of an object have their
    /// types in their blocks.
    pub counter_type: CounterType,
    /// Frequency of the clock that the counter type divides by, in clock ticks per second.
    pub time_base: i64,
    /// Power of ten by which values of the counter list's entry are multiplied for a chart.
    pub default_scale: i32,
    /// Name of the machine whose counters this entry of a counter list covers, with leading backslashes.
    pub machine: String,
    /// Name of the performance object (counterset) that this entry of a counter list covers.
    pub object: String,
    /// Name of the instance that this entry of a counter list covers, or a pattern of such names.
    pub instance: Option<String>,
    /// Name of the parent of the instance that this entry of a counter list covers.
    pub parent: Option<String>,
    /// Index of the covered instance among instances of the same name.
    pub instance_index: u32,
    /// Name of the counter that this entry of a counter list covers.
    pub counter: String,
}

/// Counters and instances covered by an entry of the counter list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryScope {
    /// Entry for a single counter of one instance.
    Counter,
    /// Entry for a single counter of all instances that match a pattern.
    Instances,
    /// Entry for all counters of all instances of an object.
    Object,
    /// Entry of a kind that no known log contains.
    Unknown(u32),
}

impl EntryScope {
    fn from_wire(kind: u32) -> Self {
        match kind {
            0 => Self::Counter,
            1 => Self::Instances,
            0x10 => Self::Object,
            other => Self::Unknown(other),
        }
    }
}

/// Length in bytes of the header of a counter list. The meaning of these 8 bytes is unknown; both known logs have
/// 0x06FF, 0, 8, 2.
const HEADER_LEN: usize = 8;

/// Parses the payload of a counter list record. Returns its entries, and the error that ends them early.
pub(super) fn parse(payload: &[u8]) -> (Vec<CounterRecord>, Option<WireError>) {
    let mut cursor = Cursor::new(payload);
    let mut all = Vec::new();
    let mut fault = cursor.take("counter list", HEADER_LEN).err();
    while fault.is_none() && !cursor.is_empty() {
        match entry(&mut cursor) {
            Ok(entry) => all.push(entry),
            Err(error) => fault = Some(error),
        }
    }
    (all, fault)
}

fn entry(cursor: &mut Cursor<'_>) -> Result<CounterRecord, WireError> {
    const HEADER_LEN: u32 = 52;
    let at = cursor.offset();
    let header: &raw::CounterEntry = cursor.read("counter list entry")?;
    // An offset outside this entry is an error even if the list continues there: B-8.
    let strings = cursor.body("counter list entry, size", at, header.size.get(), HEADER_LEN)?.rest();
    // A negative offset means that there is no text. Texts are found by offset only: some entries are padded.
    let text = |what, offset: i32| match u32::try_from(offset) {
        Err(_) => Ok(None),
        Ok(offset) => match strings.get(length(offset)..) {
            Some(bytes) => Ok(Some(Name::until_nul(bytes).to_string())),
            None => Err(WireError::new(what, at, Why::OffsetOutside { offset, len: strings.len() })),
        },
    };
    Ok(CounterRecord {
        what: EntryScope::from_wire(header.kind.get()),
        counter_type: CounterType(header.counter_type.get()),
        time_base: header.time_base.get(),
        default_scale: header.default_scale.get(),
        machine: text("counter list entry, machine", header.machine.get())?.unwrap_or_default(),
        object: text("counter list entry, object", header.object.get())?.unwrap_or_default(),
        instance: text("counter list entry, instance", header.instance.get())?,
        parent: text("counter list entry, parent", header.parent.get())?,
        instance_index: header.instance_index.get(),
        counter: text("counter list entry, counter", header.counter.get())?.unwrap_or_default(),
    })
}

impl CounterRecord {
    /// Returns the name of the entry's instance with its parent and its index, as in a counter path.
    #[must_use]
    pub fn full_instance(&self) -> Option<String> {
        let mut text = self.instance.clone()?;
        if let Some(parent) = &self.parent {
            text = format!("{parent}/{text}");
        }
        if self.instance_index > 0 {
            text = format!("{text}#{}", self.instance_index);
        }
        Some(text)
    }
}

/// Formats the counter path of the entry as PDH does.
impl std::fmt::Display for CounterRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, r"{}\{}", self.machine, self.object)?;
        if let Some(instance) = self.full_instance() {
            write!(f, "({instance})")?;
        }
        // The entry of a whole object names no counter.
        let counter = if self.counter.is_empty() { "*" } else { &self.counter };
        write!(f, r"\{counter}")
    }
}
