//! Recordings: everything that was collected, in files of this project's own format.

mod about;
mod block;
mod budget;
mod bytes;
mod closable;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod lock;
mod notes;
mod opening;
mod part;
mod player;
mod registration;
mod ring;
mod seal;
mod seen;
mod segment;
mod series;
mod source;
mod state;
mod stepped;
mod table;
mod tick;
mod ticks;
mod timeline;
mod walk;
mod writer;

pub use about::{Annotation, MissedTicks, RecordingAbout};
pub use block::{BlockHeader, BlockKind, Codec, ReadAt};
pub use bytes::Malformed;
pub use files::RecordingError;
pub use lock::{FolderLock, LockError};
pub use part::{PartOptions, RecordingPart};
pub use player::OTHER_TIMES;
pub use registration::TableDefinition;
pub use ring::RingLimits;
pub use seal::{seal, seal_file, unsealed};
pub use source::{RecordedTick, Recording, is_recording};
pub use stepped::SteppedRecording;
pub use timeline::SeenInstance;
pub use walk::{Block, BlockWalker};
pub use writer::{FinishedFile, RecordingWriter, TickPart, WriterOptions};

#[cfg(test)]
mod tests;
