//! Events of visiting a block of any format: structures, fields, violated rules. Also prints them as text.

use std::fmt::{self, Write};
use std::ops::ControlFlow;

use crate::clock::SystemTime;
use crate::code_page::InstanceName;
use crate::counter_type::CounterType;
use crate::counterset::Attributes;
use crate::guid::Guid;
use crate::status::Status;
use crate::utf16::Name;
use crate::v2::{BlockValue, CounterDataType};
use crate::wire::{Why, WireError};

/// Strictness of reading a block: the treatment of violated rules.
///
/// Bytes that cannot be read safely are an error in both modes. Violations of rules that bind only writers (padding,
/// reserved fields, exact sizes) are an error in one mode and ignored in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The first violation of a rule is an error.
    Strict,
    /// Violations of rules are listed and otherwise ignored.
    Tolerant,
}

/// Event during the visit of a block.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Start of a structure of the visited block.
    Structure {
        /// Offset of the structure that starts, from the start of the block.
        offset: usize,
        /// Nesting depth of the structure that starts.
        depth: usize,
        /// Name that Microsoft gives the structure.
        name: &'static str,
        /// Index of the structure among those of the same kind.
        index: Option<usize>,
    },
    /// Field of the structure that was started last.
    Field {
        /// Offset of the visited field from the start of the block.
        offset: usize,
        /// Nesting depth of the structure that contains the field.
        depth: usize,
        /// Name that Microsoft gives the field.
        name: &'static str,
        /// Value of the visited field.
        value: FieldValue<'a>,
    },
    /// Value of a counter, in the structure that was started last.
    CounterValue {
        /// Offset of the counter value from the start of the block.
        offset: usize,
        /// Nesting depth of the structure that contains the counter value.
        depth: usize,
        /// Position of the counter's definition in its object or result.
        position: usize,
        /// Value of the visited counter.
        value: FieldValue<'a>,
    },
    /// Violation of a format rule at this point of the block. Data that cannot be read because of the violation are
    /// not visited.
    Broken(WireError),
    /// Remark on legal and unusual data of the block.
    Unusual(WireError),
}

/// Value of a visited field of a block.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    /// Field with an unsigned number of 32 bits.
    U32(u32),
    /// Field with a signed number of 32 bits.
    I32(i32),
    /// Field with a signed number of 64 bits.
    I64(i64),
    /// Field with an id, or with the constant for all ids.
    IdOrAll(u32),
    /// Field with a Win32 status code.
    Status(Status),
    /// Field with the GUID of a counterset or provider.
    Guid(Guid),
    /// Field with a date and time, UTC or local.
    Time(SystemTime),
    /// Field with the type of a query result.
    Kind(CounterDataType),
    /// Field with the type of a counter.
    CounterType(CounterType),
    /// Field with the attributes of a counter.
    Attributes(Attributes),
    /// Field with a text in UTF-16 code units.
    Text(Name<'a>),
    /// Field with a text of single bytes.
    Ascii(&'a [u8]),
    /// Name of a V1 instance, in the code page of its object.
    InstanceName(InstanceName<'a>),
    /// Value of a counter, as stored in the block.
    Value(BlockValue<'a>),
    /// Field of bytes without a meaning.
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
            // `{:?}` escapes: a name of another program must not send control characters to a terminal.
            Self::Text(name) => write!(f, "{:?}", name.to_string()),
            Self::Ascii(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::InstanceName(name) => write!(f, "{:?}", name.to_string()),
            Self::Value(BlockValue::U32(n)) => write!(f, "{n}"),
            Self::Value(BlockValue::U64(n)) => write!(f, "{n}"),
            Self::Value(BlockValue::Empty) => f.write_str("no value"),
            Self::Value(BlockValue::Other(bytes)) | Self::Bytes(bytes) => {
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

/// Function that receives each event of a visit; `Break` ends the visit.
pub type VisitFn<'v> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'v;

/// Returns the maximum number of rule violations that are listed for a block of `bytes` bytes.
pub(crate) fn most_listed(bytes: usize) -> usize {
    bytes.wrapping_div(64).clamp(4, 1_000)
}

/// Collects the rule violations that a visit of `bytes` bytes reports; in strict mode the first is the error.
pub(crate) fn forgiven(
    mode: Mode,
    bytes: usize,
    walk: impl FnOnce(&mut VisitFn<'_>) -> Result<(), WireError>,
) -> Result<Vec<WireError>, WireError> {
    let most = most_listed(bytes);
    let mut forgiven = Vec::new();
    let mut refused = None;
    walk(&mut |event| {
        if let Event::Broken(rule) = event {
            // Breaking off is no error of the visit, so the rule is returned below.
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

/// Reason for the early end of a visit of a block.
pub(crate) enum Stop {
    /// The caller's function ended the visit early.
    BrokenOff,
    /// The next structure of the block cannot be read.
    Unreadable(WireError),
}

impl Stop {
    /// Converts the end of a visit to the caller's result: a visit that the caller's function ended is not an error.
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

/// State of a running visit of a block, with the visitor that receives its events.
pub(crate) struct Visitor<'b, 'v> {
    /// Bytes of the whole block that is visited.
    pub bytes: &'b [u8],
    visit: &'v mut VisitFn<'v>,
}

/// Offset and depth of the block's structure that is being visited.
#[derive(Clone, Copy)]
pub(crate) struct OpenStruct {
    pub offset: usize,
    pub depth: usize,
}

impl<'b, 'v> Visitor<'b, 'v> {
    pub fn new(bytes: &'b [u8], visit: &'v mut VisitFn<'v>) -> Self {
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
        offset: usize,
        depth: usize,
        index: Option<usize>,
    ) -> Result<OpenStruct, Stop> {
        self.event(Event::Structure { offset, depth, name, index })?;
        Ok(OpenStruct { offset, depth })
    }

    pub fn field(
        &mut self,
        here: OpenStruct,
        offset: usize,
        name: &'static str,
        value: FieldValue<'_>,
    ) -> Result<(), Stop> {
        self.event(Event::Field {
            offset: here.offset.saturating_add(offset),
            depth: here.depth,
            name,
            value,
        })
    }

    pub fn number(
        &mut self,
        here: OpenStruct,
        offset: usize,
        name: &'static str,
        value: u32,
    ) -> Result<(), Stop> {
        self.field(here, offset, name, FieldValue::U32(value))
    }

    pub fn counter_value(
        &mut self,
        here: OpenStruct,
        offset: usize,
        position: usize,
        value: FieldValue<'_>,
    ) -> Result<(), Stop> {
        let at = here.offset.saturating_add(offset);
        self.event(Event::CounterValue { offset: at, depth: here.depth, position, value })
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

/// Prints a visit of a block as text: one line per field, with its offset. Violations are printed where they occur,
/// marked `!`; legal and unusual data are marked `?`.
///
/// Text from untrusted input is escaped. The lines before an error are valid.
///
/// # Errors
/// The error of the visit. It is not part of the text.
pub fn dump(
    walk: impl FnOnce(&mut VisitFn<'_>) -> Result<(), WireError>,
    out: &mut impl Write,
) -> Result<(), WireError> {
    walk(&mut |event| {
        let written = match event {
            Event::Structure { offset, depth, name, index } => {
                let indent = depth.saturating_mul(2);
                match index {
                    Some(i) => writeln!(out, "{offset:06x}  {:indent$}{name} #{i}", ""),
                    None => writeln!(out, "{offset:06x}  {:indent$}{name}", ""),
                }
            }
            Event::Field { offset, depth, name, value } => {
                let indent = depth.saturating_mul(2).saturating_add(2);
                writeln!(out, "{offset:06x}  {:indent$}{name} = {}", "", value)
            }
            Event::CounterValue { offset, depth, position, value } => {
                let indent = depth.saturating_mul(2).saturating_add(2);
                writeln!(out, "{offset:06x}  {:indent$}counter #{position} = {value}", "")
            }
            Event::Broken(rule) => writeln!(out, "      ! {rule}"),
            Event::Unusual(remark) => writeln!(out, "      ? {remark}"),
        };
        // A writer that fails ends the visit. The block is not at fault, so there is no error.
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}
