//! Kit of this crate's providers: files that are read once per collection, kept file descriptors, and providers that
//! start a thread at the first request.
//!
//! The portable half is [`perfset_engine::provider`], which every provider can use.

mod files;
mod folder;
mod kept_file;
mod lazy;
mod long_file;
mod value;

pub(crate) use files::{Attribute, Parse, ParsedFile, ReadFiles, SharedFile, SharedParsedFile};
pub(crate) use folder::DirReader;
pub(crate) use kept_file::LOOK_AGAIN_NS;
pub use kept_file::{KeptFile, ReadError, SeqFileKind};
pub(crate) use lazy::LazyProvider;
pub(crate) use long_file::ChunkedFile;
pub(crate) use perfset_engine::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, MarkedRaw, MultiInstanceProvider,
    ProviderGroup, SingleInstanceProvider, TOTAL_ID, TOTAL_NAME, Total, ValueSource, birth_of_total, fill,
    instance_name, reading,
};
pub(crate) use value::{HOLD_SECONDS, id_of_name, unavailable};

use crate::clock::elapsed_ns;

/// Name of the origin of all counter values of this crate.
pub(crate) const ORIGIN: &str = "Linux";

/// Creates the provider of a counterset with one instance; the origin of its values is Linux.
pub(crate) fn single_instance<V: ValueSource>(values: V) -> SingleInstanceProvider<V> {
    SingleInstanceProvider::new(values).origin(ORIGIN).clock(elapsed_ns)
}

/// Creates the provider of a counterset with several instances; the origin of their values is Linux.
pub(crate) fn multi_instance<I: InstanceSource>(instances: I) -> MultiInstanceProvider<I> {
    MultiInstanceProvider::new(instances).origin(ORIGIN).clock(elapsed_ns)
}
