//! What a walk over a block meets, whatever its format: structures, fields, broken rules; and their look as text.

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use crate::clock::SystemTime;
use crate::counter_type::CounterType;
use crate::counterset::Attributes;
use crate::guid::Guid;
use crate::status::Status;
use crate::utf16::Name;
use crate::v1::InstanceName;
use crate::v2::{Kind, Value};
use crate::wire::{Why, WireError};

/// How to take broken rules.
///
/// What cannot be read safely is an error in both; a rule that only writers have to keep (padding, reserved fields,
/// exact sizes) is an error in one and forgiven in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The first broken rule is an error.
    Strict,
    /// Broken rules are listed.
    Tolerant,
}

/// What a walk meets.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A structure begins.
    Structure {
        /// Its offset.
        at: usize,
        /// How deep it lies in others.
        depth: usize,
        /// Its Microsoft name.
        name: &'static str,
        /// Its position among its like.
        index: Option<usize>,
    },
    /// A field of the structure that began last.
    Field {
        /// Its offset.
        at: usize,
        /// As its structure's.
        depth: usize,
        /// Its Microsoft name.
        name: &'static str,
        /// What it holds.
        value: FieldValue<'a>,
    },
    /// The value of a counter, in the structure that began last.
    CounterValue {
        /// Its offset.
        at: usize,
        /// As its structure's.
        depth: usize,
        /// The position of the counter's definition.
        position: usize,
        /// What it is.
        value: FieldValue<'a>,
    },
    /// A rule that is broken here. What it cost is not visited: nothing, or what could not be read.
    Broken(WireError),
    /// Legal, and unusual.
    Unusual(WireError),
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    /// A number.
    U32(u32),
    /// A signed number.
    I32(i32),
    /// A long number.
    I64(i64),
    /// An id, or what stands for all of them.
    IdOrAll(u32),
    /// A Win32 code.
    Status(Status),
    /// A GUID.
    Guid(Guid),
    /// A date and time.
    Time(SystemTime),
    /// The kind of a result.
    Kind(Kind),
    /// The type of a counter.
    CounterType(CounterType),
    /// The attributes of a counter.
    Attributes(Attributes),
    /// A text.
    Text(Name<'a>),
    /// A text of bytes.
    Ascii(&'a [u8]),
    /// The name of a V1 instance, in its object's code page.
    InstanceName(InstanceName<'a>),
    /// A value.
    Value(Value<'a>),
    /// Bytes without a meaning.
    Bytes(&'a [u8]),
}

impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U32(n) => write!(f, "{n}"),
            Self::I32(n) => write!(f, "{n}"),
            Self::I64(n) => write!(f, "{n}"),
            Self::IdOrAll(0xFFFF_FFFF) => f.write_str("any"),
            Self::IdOrAll(n) => write!(f, "{n}"),
            Self::Status(status) => write!(f, "{status}"),
            Self::Guid(guid) => write!(f, "{guid:?}"),
            Self::Time(time) => write!(f, "{time} (day of week {})", time.day_of_week),
            Self::Kind(kind) => write!(f, "{} ({})", kind.name(), kind.to_wire()),
            Self::CounterType(t) => write!(f, "{t} ({:#010x})", t.0),
            Self::Attributes(Attributes(bits)) => write!(f, "{bits:#x}"),
            Self::Text(name) => write!(f, "{:?}", name.to_string()),
            Self::Ascii(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::InstanceName(name) => write!(f, "{:?}", name.to_string()),
            Self::Value(Value::U32(n)) => write!(f, "{n}"),
            Self::Value(Value::U64(n)) => write!(f, "{n}"),
            Self::Value(Value::Empty) => f.write_str("no value"),
            Self::Value(Value::Other(bytes)) | Self::Bytes(bytes) => {
                const SHOWN: usize = 16;
                for byte in bytes.iter().take(SHOWN) {
                    write!(f, "{byte:02x} ")?;
                }
                let more = if bytes.len() > SHOWN { "... " } else { "" };
                write!(f, "{more}({} bytes)", bytes.len())
            }
        }
    }
}

/// Takes each event of a walk; to break off ends it.
pub type Visit<'v> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'v;

/// How many broken rules are listed for so many bytes: few enough to take little more memory than those.
pub(crate) fn most_listed(bytes: usize) -> usize {
    bytes.wrapping_div(64).clamp(4, 1_000)
}

/// The broken rules of a walk over so many bytes; in strict mode the first is the error.
pub(crate) fn forgiven(
    mode: Mode,
    bytes: usize,
    walk: impl FnOnce(&mut Visit<'_>) -> Result<(), WireError>,
) -> Result<Vec<WireError>, WireError> {
    let most = most_listed(bytes);
    let mut forgiven = Vec::new();
    let mut refused = None;
    walk(&mut |event| {
        if let Event::Broken(rule) = event {
            if mode == Mode::Strict {
                refused = Some(rule);
                return ControlFlow::Break(());
            }
            if forgiven.len() < most {
                forgiven.push(rule);
            }
        }
        ControlFlow::Continue(())
    })?;
    match refused {
        Some(rule) => Err(rule),
        None => Ok(forgiven),
    }
}

/// Why a walk ends early.
pub(crate) enum Stop {
    /// The visitor has enough.
    BrokenOff,
    /// Nothing more can be read.
    Unreadable(WireError),
}

impl Stop {
    /// The end of a walk for its caller: to break off is no error.
    pub fn into_result(end: Result<(), Self>) -> Result<(), WireError> {
        match end {
            Ok(()) | Err(Self::BrokenOff) => Ok(()),
            Err(Self::Unreadable(error)) => Err(error),
        }
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Self::Unreadable(error)
    }
}

/// A walk and its visitor.
pub(crate) struct Walk<'b, 'v> {
    /// The whole block.
    pub bytes: &'b [u8],
    visit: &'v mut Visit<'v>,
}

/// A structure that is being visited.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    pub at: usize,
    pub depth: usize,
}

impl<'b, 'v> Walk<'b, 'v> {
    pub fn new(bytes: &'b [u8], visit: &'v mut Visit<'v>) -> Self {
        Self { bytes, visit }
    }

    pub fn event(&mut self, event: Event<'_>) -> Result<(), Stop> {
        match (self.visit)(event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::BrokenOff),
        }
    }

    pub fn begin(
        &mut self,
        name: &'static str,
        at: usize,
        depth: usize,
        index: Option<usize>,
    ) -> Result<Here, Stop> {
        self.event(Event::Structure { at, depth, name, index })?;
        Ok(Here { at, depth })
    }

    pub fn field(
        &mut self,
        here: Here,
        offset: usize,
        name: &'static str,
        value: FieldValue<'_>,
    ) -> Result<(), Stop> {
        self.event(Event::Field { at: here.at.saturating_add(offset), depth: here.depth, name, value })
    }

    pub fn number(&mut self, here: Here, offset: usize, name: &'static str, value: u32) -> Result<(), Stop> {
        self.field(here, offset, name, FieldValue::U32(value))
    }

    pub fn counter_value(
        &mut self,
        here: Here,
        offset: usize,
        position: usize,
        value: FieldValue<'_>,
    ) -> Result<(), Stop> {
        let at = here.at.saturating_add(offset);
        self.event(Event::CounterValue { at, depth: here.depth, position, value })
    }

    pub fn rule(
        &mut self,
        kept: bool,
        at: usize,
        what: &'static str,
        rule: &'static str,
        text: &'static str,
    ) -> Result<(), Stop> {
        if kept {
            return Ok(());
        }
        self.event(Event::Broken(WireError::new(what, at, Why::Rule(text)).by(rule)))
    }
}

/// Writes a walk as text for people: every field with its offset, a line each; broken rules stand where they were met,
/// with `!`, what is legal and unusual with `?`.
///
/// Text of strangers is escaped. The lines before an error are good.
///
/// # Errors
/// That of the walk. It is not part of the text.
pub fn dump(
    walk: impl FnOnce(&mut Visit<'_>) -> Result<(), WireError>,
    out: &mut impl Write,
) -> Result<(), WireError> {
    walk(&mut |event| {
        let written = match event {
            Event::Structure { at, depth, name, index } => {
                let indent = depth.saturating_mul(2);
                match index {
                    Some(i) => writeln!(out, "{at:06x}  {:indent$}{name} #{i}", ""),
                    None => writeln!(out, "{at:06x}  {:indent$}{name}", ""),
                }
            }
            Event::Field { at, depth, name, value } => {
                let indent = depth.saturating_mul(2).saturating_add(2);
                writeln!(out, "{at:06x}  {:indent$}{name} = {}", "", value)
            }
            Event::CounterValue { at, depth, position, value } => {
                let indent = depth.saturating_mul(2).saturating_add(2);
                writeln!(out, "{at:06x}  {:indent$}counter #{position} = {value}", "")
            }
            Event::Broken(rule) => writeln!(out, "      ! {rule}"),
            Event::Unusual(remark) => writeln!(out, "      ? {remark}"),
        };
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}
