//! `perfset dump FILE`: prints a V1 or V2 block or a name table, field by field.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use anyhow::anyhow;
use perfset::output::text::name_of;
use perfset::v1::DataBlock;
use perfset::v2::{Block, BlockFormat};
use perfset::visit::{self, Event, FieldValue, Mode, VisitFn};
use perfset::wire::WireError;
use perfset::{v1, v2};
use serde::Serialize;
use serde_json::json;

use crate::args::{DumpArgs, FormatName};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::records::{ListRecord, RecordWriter};
use crate::terminal;

pub fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let name = name_of(&args.file);
    let bytes = input::read(&args.file)?;
    let kind = match args.kind {
        Some(format) => DumpFormat::from(format),
        None if DataBlock::is_one(&bytes) => DumpFormat::V1,
        None => DumpFormat::V2(BlockFormat::Data),
    };
    // A list may be empty; a block has at least a header.
    if bytes.is_empty() && kind.strict(&bytes).is_err() {
        return Err(input::empty(&args.file));
    }
    let invalid = |text: String| Failure::new(Exit::InvalidData, anyhow!("{name}: {text}"));
    if !args.lenient {
        // A pass of its own: a program that reads the output must not get a part of an invalid block.
        if let Err(error) = kind.strict(&bytes) {
            let hint = kind.hint(&bytes).map(|hint| format!("\n  {hint}")).unwrap_or_default();
            return Err(invalid(format!("not a valid {}: {error}{hint}", kind.name())));
        }
    }
    let end = match RecordWriter::stdout(args.output.format()) {
        Some(mut records) => write_records(kind, &bytes, &mut records)?,
        None => {
            let mut out = BufWriter::new(terminal::stdout());
            let end = write_text(kind, &bytes, &mut out)?;
            out.flush()?;
            end
        }
    };
    end.map_err(|error| invalid(format!("not a valid {}: {error}", kind.name())))?;
    Ok(Exit::Ok)
}

/// Format of the block or table that is dumped.
#[derive(Clone, Copy)]
pub enum DumpFormat {
    V1,
    V2(BlockFormat),
}

impl From<FormatName> for DumpFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::V1 => Self::V1,
            FormatName::Data => Self::V2(BlockFormat::Data),
            FormatName::Identifiers => Self::V2(BlockFormat::Identifiers),
            FormatName::Identities => Self::V2(BlockFormat::Identities),
            FormatName::Instances => Self::V2(BlockFormat::Instances),
            FormatName::Registration => Self::V2(BlockFormat::Registration),
            FormatName::Strings => Self::V2(BlockFormat::Strings),
        }
    }
}

impl DumpFormat {
    fn name(self) -> &'static str {
        match self {
            Self::V1 => "V1 block",
            Self::V2(_) => "V2 block",
        }
    }

    fn walk(self, bytes: &[u8], visit: &mut VisitFn<'_>) -> Result<(), WireError> {
        match self {
            Self::V1 => v1::visit(bytes, visit),
            Self::V2(format) => v2::visit(format, bytes, visit),
        }
    }

    /// Checks a block or table strictly: the first broken rule is an error.
    fn strict(self, bytes: &[u8]) -> Result<(), WireError> {
        let mut first = None;
        self.walk(bytes, &mut |event| match event {
            Event::Broken(rule) => {
                first = Some(rule);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })?;
        first.map_or(Ok(()), Err)
    }

    /// Returns a hint about the data that `--lenient` would show of an invalid block.
    fn hint(self, bytes: &[u8]) -> Option<String> {
        let (readable, all, what) = match self {
            Self::V1 => {
                let (block, _) = v1::read(bytes, Mode::Tolerant).ok()?;
                let is_whole = |object: &v1::Object<'_>| match object.contents() {
                    v1::Contents::Multiple(mut instances) => instances.all(|instance| instance.is_ok()),
                    _ => true,
                };
                (block.objects().flatten().filter(is_whole).count(), block.object_count(), "objects")
            }
            Self::V2(BlockFormat::Data) if is_name_table(bytes) => {
                // A name table is the usual mistake: both files come from `v1 query`.
                return Some("it looks like a name table: perfset v1 names".to_owned());
            }
            Self::V2(BlockFormat::Data) => {
                let block = Block::parse(bytes).ok()?;
                (block.results().flatten().count(), block.result_count(), "results")
            }
            Self::V2(_) => return None,
        };
        Some(format!("{readable} of {all} {what} are intact; --lenient shows as much as possible"))
    }
}

/// Returns `true` if the bytes start with a pair of a name table: a number, and a text that is not a small number.
fn is_name_table(bytes: &[u8]) -> bool {
    let first = v1::NameTable::new(bytes).iter().next();
    // A V2 block of 48 to 57 bytes begins with a digit if its size is read as text. The number after it is a
    // small count, and no letter.
    first.is_some_and(|pair| pair.is_ok_and(|(_, text)| text.units().next().is_some_and(|unit| unit >= 0x20)))
}

/// Writes the dump of a block as text, one structure at a time. The outer error is that of the output.
fn write_text(kind: DumpFormat, bytes: &[u8], out: &mut impl Write) -> io::Result<Result<(), WireError>> {
    let mut text = TextWriter { out, failed: None };
    let end = visit::dump(|visit| kind.walk(bytes, visit), &mut text);
    text.failed.map_or(Ok(end), Err)
}

/// Adapter from text output to a byte writer, which stores the I/O error of the writer.
struct TextWriter<'a, W> {
    out: &'a mut W,
    failed: Option<io::Error>,
}

impl<W: Write> fmt::Write for TextWriter<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            // `fmt::Error` has no cause, so the cause is kept beside it.
            self.failed = Some(error);
            fmt::Error
        })
    }
}

/// Fields of one structure of a dumped block, in the order in which CSV and JSON contain them.
#[derive(Default, Serialize)]
struct Structure {
    structure: &'static str,
    index: Option<usize>,
    #[serde(rename = "at")]
    offset: usize,
    depth: usize,
    fields: Vec<serde_json::Value>,
    broken: Vec<serde_json::Value>,
    unusual: Vec<serde_json::Value>,
}

impl ListRecord for Structure {
    const CSV_HEADER: &'static str = "structure,index,at,depth,fields,broken,unusual";
}

/// Writes the dump of a block as JSON or CSV, one line per structure. The outer error is that of the output.
fn write_records(
    kind: DumpFormat,
    bytes: &[u8],
    records: &mut RecordWriter<impl Write>,
) -> io::Result<Result<(), WireError>> {
    let mut write = |structure: Option<Structure>| match structure {
        Some(structure) => records.push(&structure),
        None => Ok(()),
    };
    let mut current: Option<Structure> = None;
    let mut failed = None;
    let end = kind.walk(bytes, &mut |event| {
        match event {
            Event::Structure { offset, depth, name, index } => {
                // A structure is complete only when the next one begins.
                let next = Structure { structure: name, index, offset, depth, ..Structure::default() };
                if let Err(error) = write(current.replace(next)) {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            }
            Event::Field { offset, name, value, .. } => {
                let text = value.to_string();
                let field = json!({ "name": name, "at": offset, "value": number(&value, &text), "text": text });
                current.iter_mut().for_each(|structure| structure.fields.push(field.clone()));
            }
            Event::CounterValue { offset, position, value, .. } => {
                let text = value.to_string();
                let field =
                    json!({ "counter": position, "at": offset, "value": number(&value, &text), "text": text });
                current.iter_mut().for_each(|structure| structure.fields.push(field.clone()));
            }
            Event::Broken(rule) => {
                current.iter_mut().for_each(|structure| structure.broken.push(problem(&rule)));
            }
            Event::Unusual(remark) => {
                current.iter_mut().for_each(|structure| structure.unusual.push(problem(&remark)));
            }
        }
        ControlFlow::Continue(())
    });
    write(current)?;
    records.finish::<Structure>()?;
    failed.map_or(Ok(end), Err)
}

/// Returns the value of a block's field for JSON: a number if it is numeric.
fn number(value: &FieldValue<'_>, text: &str) -> serde_json::Value {
    match value {
        FieldValue::U32(n) => json!(n),
        FieldValue::I32(n) => json!(n),
        FieldValue::I64(n) => json!(n),
        FieldValue::Status(status) => json!(status.0),
        FieldValue::Kind(kind) => json!(kind.to_wire()),
        FieldValue::CounterType(counter_type) => json!(counter_type.0),
        FieldValue::Attributes(attributes) => json!(attributes.0),
        FieldValue::Value(value) => json!(value.number().map(|number| number.get())),
        FieldValue::Text(name) => json!(name.to_string()),
        FieldValue::InstanceName(name) => json!(name.to_string()),
        _ => json!(text),
    }
}

fn problem(error: &WireError) -> serde_json::Value {
    json!({ "what": error.what, "at": error.offset, "rule": error.rule, "why": error.why.to_string() })
}
