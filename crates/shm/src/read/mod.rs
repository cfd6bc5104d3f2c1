//! Reader of the files of publishers, as a [`Provider`](perfset_engine::Provider).
//!
//! The owner of a file may write anything to it at any time. So all contents are copied and validated before use, and
//! work is bounded by the bytes that exist. An invalid file, segment or instance affects no other.
//!
//! No file can end this process: if a publisher truncates its file under a reader, only its own rows are lost.
//! Everything except values is copied by system calls and then validated. Values in files of root and of this user
//! are loaded from a mapping into private memory, each as one word. This happens in a child (`guard`), which such a
//! file may end. Files of other users are copied, which is slower, and as exact as copies can be.

mod applications;
mod asking;
pub(crate) mod budget;
mod copied;
mod file;
mod folder;
mod index;
mod lines;
mod loading;
mod stamp;
mod table;
#[cfg(test)]
mod tests;

pub use applications::ApplicationProvider;
