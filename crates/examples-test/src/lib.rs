//! Runs every example of the crates that `perfset` re-exports, as a doc test of this crate, which depends on `perfset`
//! alone. The name of a failing test contains the file and the line of the example. The page `docs/library.md` is
//! included, too.
//!
//! An example that compiles here compiles in the project of any user. In its own crate it could not name `perfset`,
//! which depends on that crate.

/// Page about the library, whose examples are programs of its users as well.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library {}

#[cfg(doctest)]
include!(concat!(env!("OUT_DIR"), "/examples.rs"));
