//! Definitions of tables and memory that the files of a recording's directory share while they are opened.

use std::collections::HashMap;
use std::sync::Arc;

use super::bytes::Malformed;
use super::registration::{TableDefinition, definition};
use super::walk::{Block, ReadWindow};

/// Memory that is reused for each file of a recording's directory while the files are opened.
#[derive(Debug, Default)]
pub(super) struct OpeningMemory {
    pub definitions: KnownDefinitions,
    pub window: ReadWindow,
}

impl OpeningMemory {
    /// Number of bytes of a recording's file that are read at once. They are mostly enough for the small blocks at
    /// the beginning of a file, or for the directory of a segment at its end.
    const WINDOW: usize = 16 << 10;

    /// Creates the memory for opening the files of a recording's directory.
    pub fn of_folder() -> Self {
        Self { window: ReadWindow::new(Self::WINDOW), ..Self::default() }
    }

    /// Takes the read window out of this memory; it is put back after the file was read.
    pub fn take_window(&mut self) -> ReadWindow {
        let empty = ReadWindow::new(self.window.len());
        std::mem::replace(&mut self.window, empty)
    }
}

/// Definitions of tables by their stored bytes, so that definitions common to several files are decompressed and parsed
/// once.
#[derive(Debug, Default)]
pub(super) struct KnownDefinitions {
    /// Table definitions by the checksum, codec and raw length of their blocks.
    known: HashMap<(u32, u8, u32), KnownDefinition>,
    bytes: usize,
}

#[derive(Debug)]
struct KnownDefinition {
    stored: Vec<u8>,
    number: usize,
    table: Arc<TableDefinition>,
}

impl KnownDefinitions {
    /// Maximum number of stored bytes of table definitions that are kept.
    const MOST: usize = 4 << 20;

    /// Returns the number and the definition of the table that a block defines.
    pub fn definition(&mut self, block: Block) -> Result<(usize, Arc<TableDefinition>), Malformed> {
        let form = (crc32fast::hash(block.stored()), block.header.codec, block.header.raw);
        let known = self.known.get(&form).filter(|known| known.stored == block.stored());
        if let Some(KnownDefinition { number, table, .. }) = known {
            return Ok((*number, Arc::clone(table)));
        }
        let stored = block.stored().to_vec();
        let (number, table) = definition(&block.into_payload()?)?;
        let table = Arc::new(table);
        let bytes = self.bytes.saturating_add(stored.len());
        if bytes <= Self::MOST {
            self.bytes = bytes;
            self.known.insert(form, KnownDefinition { stored, number, table: Arc::clone(&table) });
        }
        Ok((number, table))
    }
}
