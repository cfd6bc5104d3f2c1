//! Store of registered providers: directories of manifests, one file each.
//!
//! A file is the manifest as it was installed, under the name `<provider GUID>.man`, in lower case and without
//! braces. Directories are read in order, files by name. A file is ignored as a whole if it conflicts with the
//! catalogue or an earlier file. Conflicts are: the same provider GUID, counterset GUID or counterset name. An
//! ignored file affects no other file, and the reason is available from [`Store::ignored`].

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use perfset_catalogue as catalogue;
use perfset_core::likeness::likeness;
use perfset_core::{Counterset, Guid};

use crate::model::Manifest;
use crate::problem::Problems;

mod folders;
mod write;

pub use folders::{install_folder, system_folders};
pub use write::{Installed, Removal, Removed, StoreError};

/// File extension of manifests, without the dot.
const ENDING: &str = "man";

/// Maximum number of manifests read from a directory of the store; a usual system has tens of them.
const FILES: usize = 4_096;

/// Registered providers of a machine, or of given directories.
///
/// ```no_run
/// use perfset::manifest::store::{Store, system_folders};
///
/// let mut store = Store::new(system_folders(true));
/// store.refresh();
/// for provider in store.list() {
///     println!("{}: {}", provider.manifest.provider.name, provider.file.display());
/// }
/// ```
#[derive(Debug, Default)]
pub struct Store {
    folders: Vec<StoreDir>,
    list: Vec<RegisteredProvider>,
    ignored: Vec<IgnoredFile>,
}

/// Registered provider with its manifest.
#[derive(Debug)]
pub struct RegisteredProvider {
    /// Path of the registered provider's manifest.
    pub file: PathBuf,
    /// Contents of the provider's manifest.
    pub manifest: Manifest,
    /// Countersets of the provider.
    pub countersets: Vec<Arc<Counterset>>,
}

/// File or directory in the store that is ignored, because it registers no provider.
#[derive(Debug)]
pub struct IgnoredFile {
    /// Path of the ignored file or directory.
    pub file: PathBuf,
    /// Reason for ignoring the file or directory.
    pub why: IgnoreReason,
}

/// Reason why a file or a directory of the store registers no provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IgnoreReason {
    /// The manifest or directory cannot be read.
    #[error("reading failed: {0}")]
    Unreadable(#[source] io::Error),
    /// The path of the manifest is not a regular file: it is a link, a pipe, a device or a directory.
    #[error("the path is not a regular file")]
    NotPlain,
    /// The file has more bytes than a manifest may have.
    #[error("the file has {} bytes; a manifest may have at most {}", .0, Manifest::BYTES_MAX)]
    Large(u64),
    /// The directory of the store contains too many manifests.
    #[error("the directory has more than {FILES} manifests")]
    Many,
    /// The file is not a manifest, or breaks rules of manifests.
    #[error("{0}")]
    Broken(#[source] Problems),
    /// The file name differs from the required one, which is derived from the provider's GUID.
    #[error("the file of this provider must be named {0}")]
    Misnamed(String),
    /// The manifest conflicts with an earlier registration.
    #[error("{0}")]
    Clash(Conflict),
}

/// Conflict between two registrations that contain the same GUID or counterset name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// GUID or name that both registrations in conflict contain.
    pub what: Claim,
    /// Existing owner of the GUID or name in conflict.
    pub owner: Owner,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} belongs to {}", self.what, self.owner)
    }
}

/// GUID or name of a provider or counterset that only one registration may contain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// GUID of a registered provider.
    Provider(Guid),
    /// GUID of a registered counterset.
    Counterset(Guid),
    /// Name of a counterset in its [comparison form](likeness), which is the same for names that look the same to
    /// people.
    Name(String),
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Provider(guid) => write!(f, "the provider {guid:?}"),
            Self::Counterset(guid) => write!(f, "the counterset {guid:?}"),
            Self::Name(name) => write!(f, "the counterset name \"{name}\""),
        }
    }
}

/// Owner of a GUID or a name: the built-in catalogue, or a registered provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The built-in catalogue of countersets.
    Catalogue {
        /// Name of the built-in provider or counterset.
        name: String,
    },
    /// A provider that is registered.
    Provider {
        /// Name of the provider that is the owner.
        name: String,
        /// GUID of the provider that is the owner.
        guid: Guid,
        /// Path of the provider's manifest.
        file: PathBuf,
    },
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Catalogue { name } => write!(f, "\"{name}\", which is built in"),
            Self::Provider { name, guid, file } => {
                write!(f, "the provider \"{name}\" {guid:?} of {}", file.display())
            }
        }
    }
}

impl Store {
    /// Creates a store of provider directories, which need not exist; earlier ones take precedence. Nothing is read
    /// before [`refresh`](Self::refresh).
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        let folders = folders.into_iter().map(|path| StoreDir { path, stamp: None }).collect();
        Self { folders, list: Vec::new(), ignored: Vec::new() }
    }

    /// Reads the store's directories again if one of them has changed. Returns `true` if they were read.
    ///
    /// If nothing has changed, the cost is one stat per directory. Files are replaced and never overwritten, and a
    /// directory's modification time shows changes of its names.
    pub fn refresh(&mut self) -> bool {
        // Taken before the files are read: a change during the reading is then seen at the next call.
        let stamps: Vec<DirStamp> = self.folders.iter().map(|folder| DirStamp::read(&folder.path)).collect();
        let is_same =
            self.folders.iter().zip(&stamps).all(|(folder, stamp)| folder.stamp.as_ref() == Some(stamp));
        if is_same {
            return false;
        }
        let now = SystemTime::now();
        for (folder, stamp) in self.folders.iter_mut().zip(stamps) {
            // A stamp that may hide a later change is not stored, so the directory is read again next time.
            folder.stamp = stamp.is_settled(now).then_some(stamp);
        }
        self.read();
        true
    }

    /// Returns the registered providers, in the order of directories and file names.
    #[must_use]
    pub fn list(&self) -> &[RegisteredProvider] {
        &self.list
    }

    /// Returns the files and directories that register no provider.
    #[must_use]
    pub fn ignored(&self) -> &[IgnoredFile] {
        &self.ignored
    }

    /// Returns the countersets of all registered providers.
    pub fn countersets(&self) -> impl Iterator<Item = &Arc<Counterset>> {
        self.list.iter().flat_map(|registered| &registered.countersets)
    }

    fn read(&mut self) {
        self.list.clear();
        self.ignored.clear();
        let mut claims = Claims::from_catalogue();
        for folder in &self.folders {
            for file in match files(&folder.path) {
                Ok(files) => files,
                Err(why) => {
                    self.ignored.push(IgnoredFile { file: folder.path.clone(), why });
                    continue;
                }
            } {
                // Claims are added file by file: an ignored file claims nothing.
                match registered(&file).and_then(|found| claims.add(&found).map(|()| found)) {
                    Ok(found) => self.list.push(found),
                    Err(why) => self.ignored.push(IgnoredFile { file, why }),
                }
            }
        }
    }
}

/// GUIDs and names of all registrations, with their owners.
#[derive(Debug)]
struct Claims(BTreeMap<Claim, Owner>);

impl Claims {
    fn from_catalogue() -> Self {
        let mut claims = BTreeMap::new();
        for set in catalogue::ALL {
            let provider = set.provider.name.to_string();
            claims.insert(Claim::Provider(set.provider.guid), Owner::Catalogue { name: provider });
            let owner = Owner::Catalogue { name: set.name.to_string() };
            claims.insert(Claim::Counterset(set.guid), owner.clone());
            claims.insert(Claim::Name(likeness(&set.name)), owner);
        }
        Self(claims)
    }

    /// Returns the first conflict of a manifest with existing registrations.
    fn clash(&self, manifest: &Manifest) -> Option<Conflict> {
        claims(manifest).find_map(|what| {
            let owner = self.0.get(&what)?.clone();
            Some(Conflict { what, owner })
        })
    }

    fn add(&mut self, found: &RegisteredProvider) -> Result<(), IgnoreReason> {
        if let Some(clash) = self.clash(&found.manifest) {
            return Err(IgnoreReason::Clash(clash));
        }
        let provider = &found.manifest.provider;
        let owner =
            Owner::Provider { name: provider.name.clone(), guid: provider.guid, file: found.file.clone() };
        self.0.extend(claims(&found.manifest).map(|claim| (claim, owner.clone())));
        Ok(())
    }
}

fn claims(manifest: &Manifest) -> impl Iterator<Item = Claim> {
    let provider = &manifest.provider;
    let of_sets =
        |set: &crate::model::ManifestSet| [Claim::Counterset(set.guid), Claim::Name(likeness(&set.name))];
    std::iter::once(Claim::Provider(provider.guid)).chain(provider.sets.iter().flat_map(of_sets))
}

/// Returns the required file name of a provider's manifest in the store.
fn file_name(provider: Guid) -> String {
    format!("{provider}.{ENDING}")
}

/// Returns the paths of the manifests in a directory, sorted by name. Hidden files, such as files being written, are
/// excluded.
fn files(folder: &Path) -> Result<Vec<PathBuf>, IgnoreReason> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(IgnoreReason::Unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(IgnoreReason::Unreadable)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden || path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        files.push(path);
        // An error and not the first files: the order of `read_dir` is arbitrary.
        if files.len() > FILES {
            return Err(IgnoreReason::Many);
        }
    }
    // The order decides conflicts, so it must not depend on the file system.
    files.sort();
    Ok(files)
}

fn registered(file: &Path) -> Result<RegisteredProvider, IgnoreReason> {
    let manifest = Manifest::parse(&read_plain(file)?).map_err(IgnoreReason::Broken)?;
    let name = file_name(manifest.provider.guid);
    // Removal finds the file of a provider by this name.
    if file.file_name().is_none_or(|is| is != name.as_str()) {
        return Err(IgnoreReason::Misnamed(name));
    }
    let countersets = manifest.countersets().into_iter().map(Arc::new).collect();
    Ok(RegisteredProvider { file: file.to_owned(), manifest, countersets })
}

/// Reads a manifest from a regular file, unless the file is too large. Never blocks and follows no symbolic link.
fn read_plain(file: &Path) -> Result<Vec<u8>, IgnoreReason> {
    let most = u64::try_from(Manifest::BYTES_MAX).unwrap_or(u64::MAX);
    let is_plain = |about: &Metadata| match (about.is_file(), about.len()) {
        (false, _) => Err(IgnoreReason::NotPlain),
        (true, len) if len > most => Err(IgnoreReason::Large(len)),
        (true, _) => Ok(()),
    };
    // Examined before it is opened, because opening a device can already have an effect.
    is_plain(&fs::symlink_metadata(file).map_err(IgnoreReason::Unreadable)?)?;
    let opened = open(file).map_err(IgnoreReason::Unreadable)?;
    // The file may have been replaced meanwhile.
    is_plain(&opened.metadata().map_err(IgnoreReason::Unreadable)?)?;
    let mut bytes = Vec::new();
    // The file may grow after it was examined.
    opened.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(IgnoreReason::Unreadable)?;
    match u64::try_from(bytes.len()).unwrap_or(u64::MAX) {
        len if len > most => Err(IgnoreReason::Large(len)),
        _ => Ok(bytes),
    }
}

#[cfg(unix)]
fn open(file: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    // Another process may replace the file before it is opened: a pipe would wait for a writer, and a link
    // could lead anywhere.
    let flags = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    File::options().read(true).custom_flags(flags).open(file)
}

#[cfg(not(unix))]
fn open(file: &Path) -> io::Result<File> {
    File::open(file)
}

#[derive(Debug)]
struct StoreDir {
    path: PathBuf,
    /// Stamp of the store directory at the last reading; `None` if a later change might not be visible.
    stamp: Option<DirStamp>,
}

/// Stamp of a store directory: state that changes when one of its files is added, removed or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DirStamp {
    modified: Option<SystemTime>,
    identity: (u64, u64),
}

impl DirStamp {
    fn read(folder: &Path) -> Self {
        let about = fs::metadata(folder).ok();
        Self {
            modified: about.as_ref().and_then(|about| about.modified().ok()),
            identity: about.as_ref().map(identity).unwrap_or_default(),
        }
    }

    /// Returns `true` if every later change of the directory will change this stamp. File system timestamps have a
    /// limited resolution: two changes within one step look like one.
    fn is_settled(&self, now: SystemTime) -> bool {
        // Above 10 ms, the longest timer tick of Linux (HZ=100), at which file times advance.
        const STEP: Duration = Duration::from_millis(20);
        self.modified.is_none_or(|modified| now.duration_since(modified).is_ok_and(|age| age > STEP))
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
