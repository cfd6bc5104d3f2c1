//! Registry of countersets, query handles, collection.

pub mod clock;
pub mod entry;
pub mod error;
pub mod pattern;
pub mod provider;
pub mod rows;

pub use clock::Clock;
pub use entry::Entry;
pub use error::SourceError;
pub use pattern::Pattern;
pub use provider::{Catalogue, Change, InstanceFilter, Provider, Want};
pub use rows::{Note, Row, Rows};
