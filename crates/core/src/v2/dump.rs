//! Blocks as text for people.

use std::fmt::Write;
use std::ops::ControlFlow;

use super::walk::{Event, Format, walk};
use crate::wire::WireError;

/// Writes every field with its offset, one line each; broken rules stand where they were met, with `!`.
///
/// Text of strangers is escaped. The lines before an error are good.
///
/// # Errors
/// The first thing that cannot be read. It is not part of the text.
pub fn dump(format: Format, bytes: &[u8], out: &mut impl Write) -> Result<(), WireError> {
    walk(format, bytes, &mut |event| {
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
            Event::Broken(rule) => writeln!(out, "      ! {rule}"),
        };
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}
