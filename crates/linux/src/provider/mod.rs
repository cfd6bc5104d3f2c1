//! Kit of this crate's providers: single and several instances, files that are read once per collection, and kept file
//! descriptors.

mod collection;
mod folder;
mod kept_file;
mod lazy;
mod long_file;
mod several;
mod single;
mod together;
mod value;

pub(crate) use collection::{
    Attribute, Collection, CollectionCache, Parse, ParsedFile, SharedFile, SharedParsedFile,
};
pub(crate) use folder::DirReader;
pub(crate) use kept_file::LOOK_AGAIN_NS;
pub use kept_file::{KeptFile, ReadError, SeqFileKind};
pub(crate) use lazy::LazyProvider;
pub(crate) use long_file::ChunkedFile;
pub(crate) use several::{
    InstanceKey, InstanceSource, MultiInstanceProvider, TOTAL_ID, TOTAL_NAME, Total, birth_of_total,
    source_error,
};
pub(crate) use single::{SingleInstanceProvider, ValueSource};
pub(crate) use together::ProviderGroup;
pub(crate) use value::{HOLD_SECONDS, MarkedRaw, fill, hold, instance_name, reading, unavailable};
