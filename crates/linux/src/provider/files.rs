//! Kernel files that a collection reads, at most once if several counters or countersets use them.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::NoValue;
use perfset_engine::provider::{Collection, CollectionCache};

use super::folder::DirReader;
use super::kept_file::{KeptFile, LOOK_AGAIN_NS, ReadError, SeqFileKind};
use super::long_file::ChunkedFile;
use crate::sources::attribute;
use crate::sources::named::Number;
use crate::sources::text::TextError;

/// Methods of a collection that read kernel files.
pub(crate) trait ReadFiles {
    /// Reads and parses a kernel file. `absent` is the reason for an absent file.
    fn read<T>(
        &mut self,
        file: &mut KeptFile,
        absent: &'static str,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, NoValue>;

    /// Calls `each` with the chunks of a kernel file of any length, in whole lines. `absent` has the same meaning as
    /// in [`read`](Self::read).
    fn read_in_pieces(
        &mut self,
        file: &mut ChunkedFile,
        absent: &'static str,
        each: impl FnMut(&[u8]) -> Result<(), TextError>,
    ) -> Result<(), NoValue>;

    /// Lists a directory as [`list`](Self::list) does, if it exists. Returns `true` if the directory exists.
    fn list_if_there(&mut self, folder: &mut DirReader, each: impl FnMut(&[u8])) -> Result<bool, NoValue>;

    /// Calls `each` with every name in a directory. The lengths of the names count as bytes read.
    fn list(&mut self, folder: &mut DirReader, each: impl FnMut(&[u8])) -> Result<(), NoValue>;
}

impl ReadFiles for Collection {
    fn read<T>(
        &mut self,
        file: &mut KeptFile,
        absent: &'static str,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, NoValue> {
        match parse(text(self, file, absent)?) {
            Ok(parsed) => Ok(parsed),
            Err(text) => Err(invalid(file.path(), text)),
        }
    }

    fn read_in_pieces(
        &mut self,
        file: &mut ChunkedFile,
        absent: &'static str,
        each: impl FnMut(&[u8]) -> Result<(), TextError>,
    ) -> Result<(), NoValue> {
        let Some(len) = file.read(each)? else { return Err(NoValue::Unavailable(absent.into())) };
        self.count_bytes_read(len);
        Ok(())
    }

    fn list_if_there(
        &mut self,
        folder: &mut DirReader,
        mut each: impl FnMut(&[u8]),
    ) -> Result<bool, NoValue> {
        let listed = folder.names(|name| {
            self.count_bytes_read(name.len());
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

    fn list(&mut self, folder: &mut DirReader, mut each: impl FnMut(&[u8])) -> Result<(), NoValue> {
        folder.names(|name| {
            self.count_bytes_read(name.len());
            each(name);
        })?;
        Ok(())
    }
}

/// Reads the text of a kernel file. Separate from [`ReadFiles::read`], which is compiled once for each type of
/// result.
fn text<'f>(
    pass: &mut Collection,
    file: &'f mut KeptFile,
    absent: &'static str,
) -> Result<&'f [u8], NoValue> {
    let Some(text) = file.read(pass.elapsed_ns())? else { return Err(NoValue::Unavailable(absent.into())) };
    pass.count_bytes_read(text.len());
    Ok(text)
}

/// Attribute of `/sys` that is one number, read at most once in each collection.
#[derive(Debug)]
pub(crate) struct Attribute {
    file: KeptFile,
    absent: &'static str,
    latest: CollectionCache<u64>,
}

impl Attribute {
    /// Creates the reader of an attribute: a kernel file with one number, which is read once in each collection.
    /// `keep` is `true` if its file descriptor stays open, and `absent` is the reason for no value if the file does
    /// not exist.
    pub(crate) fn new(path: PathBuf, keep: bool, absent: &'static str) -> Self {
        let file = KeptFile::new(path, SeqFileKind::Single).keep(keep);
        Self { file, absent, latest: CollectionCache::default() }
    }

    pub(crate) fn get(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        let Self { file, absent, latest } = self;
        latest.get(pass, |pass| pass.read(file, absent, attribute::number)).copied()
    }
}

/// Kernel file that several countersets parse: read once per collection, at the first request.
#[derive(Clone, Debug)]
pub(crate) struct SharedFile {
    path: PathBuf,
    latest: Arc<Mutex<(KeptFile, u64)>>,
}

impl SharedFile {
    pub(crate) fn new(path: PathBuf, printed: SeqFileKind) -> Self {
        Self::keeping(path, printed, true)
    }

    /// Creates the shared reader of a kernel file, without opening the file. `keep`: `true` if its file descriptor
    /// stays open.
    pub(crate) fn keeping(path: PathBuf, printed: SeqFileKind, keep: bool) -> Self {
        Self::from_file(KeptFile::new(path, printed).keep(keep))
    }

    pub(crate) fn from_file(file: KeptFile) -> Self {
        Self { path: file.path().to_owned(), latest: Arc::new(Mutex::new((file, 0))) }
    }

    /// Reads and parses the shared file as [`ReadFiles::read`] does; only the first call in a collection reads.
    fn read<T>(
        &self,
        pass: &mut Collection,
        absent: &'static str,
        parse: impl FnOnce(&[u8]) -> Result<T, TextError>,
    ) -> Result<T, NoValue> {
        // After a panic of another thread the file can still be read. Parsed under the lock, because the text is in the
        // file's buffer.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let text = Self::text(&mut latest, pass, absent)?;
        parse(text).map_err(|text| invalid(&self.path, text))
    }

    /// Reads the shared file, or returns its text if it was read in this collection already. Separate from
    /// [`read`](Self::read), which is compiled once for each type of result.
    fn text<'f>(
        (file, read_in): &'f mut (KeptFile, u64),
        pass: &mut Collection,
        absent: &'static str,
    ) -> Result<&'f [u8], NoValue> {
        if *read_in != pass.number() {
            // If the reading fails, the next counterset reads again. It must not get the text of an earlier
            // collection.
            *read_in = 0;
            let len = file.read(pass.elapsed_ns())?.map_or(0, <[u8]>::len);
            pass.count_bytes_read(len);
            *read_in = pass.number();
        }
        file.text().ok_or_else(|| NoValue::Unavailable(absent.into()))
    }
}

/// A [`ParsedFile`] that several countersets use: read and parsed once per collection, at the first request.
#[derive(Debug)]
pub(crate) struct SharedParsedFile<T>(Arc<Mutex<ParsedFile<T>>>);

impl<T> Clone for SharedParsedFile<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> SharedParsedFile<T> {
    pub(crate) fn new(table: ParsedFile<T>) -> Self {
        Self(Arc::new(Mutex::new(table)))
    }

    /// Locks the parsed kernel file until the guard is dropped.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ParsedFile<T>> {
        // After a panic of another thread the table is read again in the next collection.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kernel file that several counters use, with the data parsed from it.
#[derive(Debug)]
pub(crate) struct ParsedFile<T> {
    file: SharedFile,
    absent: &'static str,
    parse: Parse<T>,
    parsed: T,
    latest: CollectionCache<()>,
    /// Time at which the kernel file was last read: the monotonic clock, in ns.
    read_at_ns: u64,
}

/// Function that replaces parsed data by the data in a kernel file's current text.
pub(crate) type Parse<T> = fn(&mut T, &[u8]) -> Result<(), TextError>;

impl<T: Default> ParsedFile<T> {
    /// Creates the reader and parser of a kernel file, without reading the file. `absent`: the reason if the file
    /// does not exist.
    pub(crate) fn new(path: PathBuf, printed: SeqFileKind, absent: &'static str, parse: Parse<T>) -> Self {
        Self::from_file(SharedFile::new(path, printed), absent, parse)
    }

    /// Creates the parser of a kernel file that other parsers share. `absent`: the reason if the file does not exist.
    pub(crate) fn from_file(file: SharedFile, absent: &'static str, parse: Parse<T>) -> Self {
        let (parsed, latest) = (T::default(), CollectionCache::default());
        Self { file, absent, parse, parsed, latest, read_at_ns: 0 }
    }

    pub(crate) fn get(&mut self, pass: &mut Collection) -> Result<&T, NoValue> {
        let Self { file, absent, parse, parsed, latest, read_at_ns } = self;
        latest.get(pass, |pass| {
            *read_at_ns = pass.elapsed_ns();
            file.read(pass, absent, |text| parse(parsed, text))
        })?;
        Ok(parsed)
    }

    /// Returns the parsed data as [`get`](Self::get) does, with a periodic refresh, for data that hardly ever changes
    /// and costs much: the file is read again after 10 s. The flag is `true` if the data was read earlier.
    pub(crate) fn in_turn(&mut self, pass: &mut Collection) -> Result<(&T, bool), NoValue> {
        let young = pass.elapsed_ns().saturating_sub(self.read_at_ns) < LOOK_AGAIN_NS;
        // An error is not reused: its cause may have gone. In the collection that read the data, they are not
        // marked.
        let reused = !self.latest.is_of(pass) && self.latest.last().is_ok() && young;
        if reused {
            return Ok((&self.parsed, true));
        }
        self.get(pass).map(|parsed| (parsed, false))
    }

    /// Returns the number in a line of the parsed file.
    pub(crate) fn number(
        &mut self,
        of: impl FnOnce(&T) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        match of(self.get(pass)?) {
            Some(Ok(number)) => Ok(*number),
            Some(Err(text)) => {
                let text = text.clone();
                Err(self.fault(text))
            }
            None => Err(NoValue::Unavailable("this kernel does not report it".into())),
        }
    }

    /// Returns the reason for a missing value whose line or column the kernel file lacks: a CPU went offline a moment
    /// ago, or the file was cut.
    pub(crate) fn lacks(&self, name: impl Display) -> NoValue {
        NoValue::Failed(format!("{}: nothing about {name}", self.file.path.display()).into())
    }

    /// Returns the reason for a missing value: the part of the kernel file that contains the value is invalid.
    pub(crate) fn fault(&self, text: TextError) -> NoValue {
        invalid(&self.file.path, text)
    }
}

/// Returns the reason for a missing value: the text of the kernel file at `path` is invalid.
fn invalid(path: &Path, text: TextError) -> NoValue {
    ReadError::Text { path: path.to_owned(), text }.into()
}
