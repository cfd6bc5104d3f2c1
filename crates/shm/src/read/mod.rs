//! Reading: the files of other programs as a [`Provider`](perfset_engine::Provider).
//!
//! Whoever owns a file may put anything into it at any time. So nothing is believed before it was copied and checked,
//! work is bounded by the bytes that are there, and what is wrong costs that file, segment or instance and no other.
//!
//! Nobody's files can end this process: a publisher that shortens its file under a reader loses its rows and no more.
//! Everything but values is copied by calls and then checked. Values of files of root and of this user are loaded from
//! a mapping, each as one word, in a child (`guard`) that such a file may end, into memory of this process. Files
//! of others are copied, which takes longer and is exact as far as copies can be.

mod applications;
mod asking;
pub(crate) mod budget;
mod copied;
mod file;
mod folder;
mod index;
mod lines;
mod loading;
mod table;
#[cfg(test)]
mod tests;

pub use applications::Applications;
