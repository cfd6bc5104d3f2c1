//! Recordings: everything that was collected, in files of this project's own format.

mod about;
mod block;
mod bytes;
mod files;
mod lock;
mod registration;
mod ring;
mod source;
mod state;
mod table;
mod tick;
mod walk;
mod writer;

pub use about::{Annotation, MissedTicks, RecordingAbout};
pub use block::{BlockHeader, BlockKind, Codec, ReadAt};
pub use bytes::Malformed;
pub use files::RecordingError;
pub use lock::{FolderLock, LockError};
pub use registration::TableDefinition;
pub use ring::RingLimits;
pub use source::{Recording, SeenInstance, is_recording};
pub use walk::{Block, BlockWalker};
pub use writer::{FinishedFile, RecordingWriter, TickPart, WriterOptions};

#[cfg(test)]
mod tests;
