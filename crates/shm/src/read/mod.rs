//! Reading: the files of other programs as a [`Provider`](perfset_engine::Provider).
//!
//! Whoever owns a file may put anything into it at any time. So nothing is believed before it was copied and checked,
//! work is bounded by the bytes that are there, and what is wrong costs that file, segment or instance and no other.
//!
//! Files of root and of this user are mapped, and each value is loaded as one word: its owner could end this process
//! anyway. Files of others, who could shorten them under a mapping, are copied, which takes longer and is exact as far
//! as copies can be.

mod applications;
mod asking;
pub(crate) mod budget;
mod copied;
mod file;
mod folder;
mod index;
mod table;
#[cfg(test)]
mod tests;

pub use applications::Applications;
