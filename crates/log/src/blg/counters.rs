//! The counter list: what each block of a sample holds.

use perfset_core::wire::{Cursor, Why, WireError, length};
use perfset_core::{CounterType, Name};

use super::raw;

/// An entry of the counter list. The blocks of every sample are in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Which values there are.
    pub what: What,
    /// The counter's type; that of an object's counters is in its blocks.
    pub counter_type: CounterType,
    /// Ticks of the clock that its type divides by a second.
    pub time_base: i64,
    /// The power of ten that its values are drawn with.
    pub default_scale: i32,
    /// The machine, with its backslashes.
    pub machine: String,
    /// The object.
    pub object: String,
    /// The instance, or a pattern.
    pub instance: Option<String>,
    /// What the instance belongs to.
    pub parent: Option<String>,
    /// Which instance of that name it is.
    pub instance_index: u32,
    /// The counter.
    pub counter: String,
}

/// Which values an entry of the counter list stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// One counter of one instance.
    Counter,
    /// One counter of all instances that a pattern means.
    Instances,
    /// All counters of all instances.
    Object,
    /// Something that no log seen so far has.
    Unknown(u32),
}

impl What {
    fn from_wire(kind: u32) -> Self {
        match kind {
            0 => Self::Counter,
            1 => Self::Instances,
            0x10 => Self::Object,
            other => Self::Unknown(other),
        }
    }
}

/// The meaning of these 8 bytes is unknown; both logs seen have 0x06FF, 0, 8, 2.
const HEADER_LEN: usize = 8;

/// Reads the payload of a counter list record: its entries, and what ends them early.
pub(super) fn parse(payload: &[u8]) -> (Vec<Recorded>, Option<WireError>) {
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

fn entry(cursor: &mut Cursor<'_>) -> Result<Recorded, WireError> {
    const HEADER_LEN: u32 = 52;
    let at = cursor.at();
    let header: &raw::CounterEntry = cursor.read("counter list entry")?;
    let strings = cursor.body("counter list entry, size", at, header.size.get(), HEADER_LEN)?.rest();
    let text = |what, offset: i32| match u32::try_from(offset) {
        Err(_) => Ok(None),
        Ok(offset) => match strings.get(length(offset)..) {
            Some(bytes) => Ok(Some(Name::until_nul(bytes).to_string())),
            None => Err(WireError::new(what, at, Why::OffsetOutside { offset, len: strings.len() })),
        },
    };
    Ok(Recorded {
        what: What::from_wire(header.kind.get()),
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

impl Recorded {
    /// The instance with what it belongs to and which of that name it is, as it stands in a path.
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

/// The path as PDH writes it.
impl std::fmt::Display for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, r"{}\{}", self.machine, self.object)?;
        if let Some(instance) = self.full_instance() {
            write!(f, "({instance})")?;
        }
        let counter = if self.counter.is_empty() { "*" } else { &self.counter };
        write!(f, r"\{counter}")
    }
}
