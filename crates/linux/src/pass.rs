//! One collection, and what reads a source at most once in it.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::NoValue;

use crate::folder::Folder;
use crate::kept_file::{KeptFile, LOOK_AGAIN_NS, Printed, ReadError};
use crate::long_file::LongFile;
use crate::sources::attribute;
use crate::sources::named::Number;
use crate::sources::text::TextError;

/// One collection.
#[derive(Debug)]
pub(crate) struct Pass {
    /// Its number: no other collection has it.
    pub(crate) number: u64,
    /// When it began, on the monotonic clock.
    pub(crate) elapsed_ns: u64,
    /// What it has read so far.
    pub(crate) bytes_read: usize,
}

impl Pass {
    pub(crate) fn new(number: u64, elapsed_ns: u64) -> Self {
        Self { number, elapsed_ns, bytes_read: 0 }
    }

    /// One for an enumeration of instances: numbered from above, as collections are from below, so that neither takes
    /// over what the other has read.
    pub(crate) fn enumeration(elapsed_ns: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        Self::new(NEXT.fetch_sub(1, Relaxed), elapsed_ns)
    }

    /// Whether it is time to look again, 10 s after `looked_at_ns` on the monotonic clock; if so, notes that it was
    /// done.
    pub(crate) fn is_due(&self, looked_at_ns: &mut Option<u64>) -> bool {
        let due = looked_at_ns.is_none_or(|at| self.elapsed_ns.saturating_sub(at) >= LOOK_AGAIN_NS);
        if due {
            *looked_at_ns = Some(self.elapsed_ns);
        }
        due
    }

    /// Reads a file and takes from it what is wanted. `absent` is the reason for having no value if it is not there.
    pub(crate) fn read<T>(
        &mut self,
        file: &mut KeptFile,
        absent: &'static str,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, NoValue> {
        let Some(text) = file.read(self.elapsed_ns)? else { return Err(NoValue::Unavailable(absent.into())) };
        self.bytes_read = self.bytes_read.saturating_add(text.len());
        parse(text).map_err(|text| ReadError::Text { path: file.path().to_owned(), text }.into())
    }

    /// Gives a file of any length to `each`, in pieces of whole lines. `absent` as in [`read`](Self::read).
    pub(crate) fn read_in_pieces(
        &mut self,
        file: &mut LongFile,
        absent: &'static str,
        each: impl FnMut(&[u8]) -> Result<(), TextError>,
    ) -> Result<(), NoValue> {
        let Some(len) = file.read(each)? else { return Err(NoValue::Unavailable(absent.into())) };
        self.bytes_read = self.bytes_read.saturating_add(len);
        Ok(())
    }

    /// As [`list`](Self::list), of a folder that need not be there. Whether it is.
    pub(crate) fn list_if_there(
        &mut self,
        folder: &mut Folder,
        mut each: impl FnMut(&[u8]),
    ) -> Result<bool, NoValue> {
        let listed = folder.names(|name| {
            self.bytes_read = self.bytes_read.saturating_add(name.len());
            each(name);
        });
        match listed {
            Ok(()) => Ok(true),
            Err(ReadError::Io { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Gives every name in a folder to `each`. The bytes read are those of the names.
    pub(crate) fn list(&mut self, folder: &mut Folder, mut each: impl FnMut(&[u8])) -> Result<(), NoValue> {
        folder.names(|name| {
            self.bytes_read = self.bytes_read.saturating_add(name.len());
            each(name);
        })?;
        Ok(())
    }
}

/// What a source said in the last collection that asked it.
#[derive(Debug)]
pub(crate) struct Latest<T> {
    pass: u64,
    value: Result<T, NoValue>,
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self { pass: 0, value: Err(NoValue::NotGiven) }
    }
}

impl<T> Latest<T> {
    /// What it says in this collection: asks only if nobody did before.
    pub(crate) fn get(
        &mut self,
        pass: &mut Pass,
        ask: impl FnOnce(&mut Pass) -> Result<T, NoValue>,
    ) -> Result<&T, NoValue> {
        if self.pass != pass.number {
            *self = Self { pass: pass.number, value: ask(pass) };
        }
        self.value.as_ref().map_err(NoValue::clone)
    }
}

/// An attribute of `/sys` that is one number.
#[derive(Debug)]
pub(crate) struct Attribute {
    file: KeptFile,
    absent: &'static str,
    latest: Latest<u64>,
}

impl Attribute {
    /// `keep`: whether its descriptor is kept. `absent`: the reason for having no value if it is not there.
    pub(crate) fn new(path: PathBuf, keep: bool, absent: &'static str) -> Self {
        let file = KeptFile::new(path, Printed::AtOnce).keep(keep);
        Self { file, absent, latest: Latest::default() }
    }

    pub(crate) fn get(&mut self, pass: &mut Pass) -> Result<u64, NoValue> {
        let Self { file, absent, latest } = self;
        latest.get(pass, |pass| pass.read(file, absent, attribute::number)).copied()
    }
}

/// A file that several countersets take something from: read once a collection, by who comes first.
#[derive(Clone, Debug)]
pub(crate) struct SharedFile {
    path: PathBuf,
    latest: Arc<Mutex<(KeptFile, u64)>>,
}

impl SharedFile {
    pub(crate) fn new(path: PathBuf, printed: Printed) -> Self {
        Self::keeping(path, printed, true)
    }

    /// `keep`: whether its descriptor is kept.
    pub(crate) fn keeping(path: PathBuf, printed: Printed, keep: bool) -> Self {
        Self::of(KeptFile::new(path, printed).keep(keep))
    }

    pub(crate) fn of(file: KeptFile) -> Self {
        Self { path: file.path().to_owned(), latest: Arc::new(Mutex::new((file, 0))) }
    }

    /// As [`Pass::read`], but only the first of a collection reads.
    fn read<T>(
        &self,
        pass: &mut Pass,
        absent: &'static str,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, NoValue> {
        // Who panicked while it was locked left a file that can be read all the same.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, read_in) = &mut *latest;
        if *read_in != pass.number {
            *read_in = 0;
            let len = file.read(pass.elapsed_ns)?.map_or(0, <[u8]>::len);
            pass.bytes_read = pass.bytes_read.saturating_add(len);
            *read_in = pass.number;
        }
        let Some(text) = file.text() else { return Err(NoValue::Unavailable(absent.into())) };
        parse(text).map_err(|text| ReadError::Text { path: self.path.clone(), text }.into())
    }
}

/// A [`Table`] that several countersets take something from: read and taken apart once a collection, by who comes
/// first.
#[derive(Debug)]
pub(crate) struct SharedTable<T>(Arc<Mutex<Table<T>>>);

impl<T> Clone for SharedTable<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> SharedTable<T> {
    pub(crate) fn new(table: Table<T>) -> Self {
        Self(Arc::new(Mutex::new(table)))
    }

    /// Nobody else has it meanwhile.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Table<T>> {
        // Who panicked while it was locked left a table that is read again in the next collection.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that feeds several counters.
#[derive(Debug)]
pub(crate) struct Table<T> {
    file: SharedFile,
    absent: &'static str,
    parse: Parse<T>,
    parsed: T,
    latest: Latest<()>,
    /// When it was read, on the monotonic clock.
    read_at_ns: u64,
}

/// Replaces what was taken from a file by what its text says now.
pub(crate) type Parse<T> = fn(&mut T, &[u8]) -> Result<(), TextError>;

impl<T: Default> Table<T> {
    /// `absent`: the reason for having no value if it is not there.
    pub(crate) fn new(path: PathBuf, printed: Printed, absent: &'static str, parse: Parse<T>) -> Self {
        Self::of(SharedFile::new(path, printed), absent, parse)
    }

    /// The same of a file that others read too.
    pub(crate) fn of(file: SharedFile, absent: &'static str, parse: Parse<T>) -> Self {
        let (parsed, latest) = (T::default(), Latest::default());
        Self { file, absent, parse, parsed, latest, read_at_ns: 0 }
    }

    pub(crate) fn get(&mut self, pass: &mut Pass) -> Result<&T, NoValue> {
        let Self { file, absent, parse, parsed, latest, read_at_ns } = self;
        latest.get(pass, |pass| {
            *read_at_ns = pass.elapsed_ns;
            file.read(pass, absent, |text| parse(parsed, text))
        })?;
        Ok(parsed)
    }

    /// As [`get`](Self::get), for what hardly ever changes and costs much: read again after 10 s, in between what was
    /// read then. Whether it was read before.
    pub(crate) fn in_turn(&mut self, pass: &mut Pass) -> Result<(&T, bool), NoValue> {
        let young = pass.elapsed_ns.saturating_sub(self.read_at_ns) < LOOK_AGAIN_NS;
        let reused = self.latest.pass != pass.number && self.latest.value.is_ok() && young;
        if reused {
            return Ok((&self.parsed, true));
        }
        self.get(pass).map(|parsed| (parsed, false))
    }

    /// The number of one of its lines.
    pub(crate) fn number(&mut self, of: impl FnOnce(&T) -> &Number, pass: &mut Pass) -> Result<u64, NoValue> {
        match of(self.get(pass)?) {
            Some(Ok(number)) => Ok(*number),
            Some(Err(text)) => {
                let text = text.clone();
                Err(self.fault(text))
            }
            None => Err(NoValue::Unavailable("this kernel does not report it".into())),
        }
    }

    /// That the file has no line or column of that name: a CPU went offline a moment ago, or the file was cut.
    pub(crate) fn lacks(&self, name: impl Display) -> NoValue {
        NoValue::Failed(format!("{}: nothing about {name}", self.file.path.display()).into())
    }

    /// What is wrong with a part of the file.
    pub(crate) fn fault(&self, text: TextError) -> NoValue {
        ReadError::Text { path: self.file.path.clone(), text }.into()
    }
}
