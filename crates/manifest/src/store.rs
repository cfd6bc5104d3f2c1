//! Registered providers: a folder of manifests, one file each.
//!
//! A file is the manifest as it was installed, under the name `<provider GUID>.man`, in small letters and without
//! braces. The folders are read in order, files by their names. A file that shares something with the catalogue or with
//! an earlier file, a provider's GUID, a counterset's GUID or its name, is ignored as a whole. A file that is ignored
//! takes away nothing else, and says why.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use perfset_core::likeness::likeness;
use perfset_core::{Counterset, Guid, catalogue};

use crate::model::Manifest;
use crate::problem::Problems;

mod folders;
mod write;

pub use folders::{install_folder, system_folders};
pub use write::{Installed, Removal, Removed, StoreError};

/// The ending of a manifest's file.
const ENDING: &str = "man";

/// Manifests of a folder that are read; a system has tens.
const FILES: usize = 4_096;

/// The registered providers of a machine, or of folders.
///
/// ```no_run
/// use perfset_manifest::store::{Store, system_folders};
///
/// let mut store = Store::new(system_folders(true));
/// store.refresh();
/// for provider in store.list() {
///     println!("{}: {}", provider.manifest.provider.name, provider.file.display());
/// }
/// ```
#[derive(Debug, Default)]
pub struct Store {
    folders: Vec<Folder>,
    list: Vec<Registered>,
    ignored: Vec<Ignored>,
}

/// A registered provider.
#[derive(Debug)]
pub struct Registered {
    /// Its file.
    pub file: PathBuf,
    /// What it says.
    pub manifest: Manifest,
    /// Its countersets.
    pub countersets: Vec<Arc<Counterset>>,
}

/// A file that registers nothing.
#[derive(Debug)]
pub struct Ignored {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why a file or a folder registers nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It is a link, a pipe, a device, a folder.
    #[error("it is no plain file")]
    NotPlain,
    /// It has more bytes than a manifest may have.
    #[error("it has {0} bytes, more than a manifest may have")]
    Large(u64),
    /// There are too many files.
    #[error("the folder has more than {FILES} manifests")]
    Many,
    /// It is no manifest, or breaks rules.
    #[error("{0}")]
    Broken(#[source] Problems),
    /// It is not called as its provider's GUID asks.
    #[error("a file of this provider is called {0}")]
    Misnamed(String),
    /// It has something that another has already.
    #[error("{0}")]
    Clash(Clash),
}

/// Something that two registrations have, and only one can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// What both have.
    pub what: Claim,
    /// Whose it is.
    pub owner: Owner,
}

impl std::fmt::Display for Clash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} belongs to {}", self.what, self.owner)
    }
}

/// What a registration claims for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// The GUID of a provider.
    Provider(Guid),
    /// The GUID of a counterset.
    Counterset(Guid),
    /// The name of a counterset, [as people see it](likeness).
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

/// Who has a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// What is built in.
    Catalogue {
        /// The provider, or the counterset.
        name: String,
    },
    /// A registered provider.
    Provider {
        /// Its name.
        name: String,
        /// Its GUID.
        guid: Guid,
        /// Its file.
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
    /// A store of folders that exist or not; earlier ones win. Nothing is read before [`refresh`](Self::refresh).
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        let folders = folders.into_iter().map(|path| Folder { path, stamp: None }).collect();
        Self { folders, list: Vec::new(), ignored: Vec::new() }
    }

    /// Reads the folders anew if one of them has changed, and says whether that was so.
    ///
    /// Costs a stat of each folder where nothing has changed: files are replaced, never written over, and a folder
    /// knows when a name in it has changed.
    pub fn refresh(&mut self) -> bool {
        let stamps: Vec<Stamp> = self.folders.iter().map(|folder| Stamp::of(&folder.path)).collect();
        let is_same =
            self.folders.iter().zip(&stamps).all(|(folder, stamp)| folder.stamp.as_ref() == Some(stamp));
        if is_same {
            return false;
        }
        let now = SystemTime::now();
        for (folder, stamp) in self.folders.iter_mut().zip(stamps) {
            folder.stamp = stamp.is_settled(now).then_some(stamp);
        }
        self.read();
        true
    }

    /// Registered providers, in the order of folders and names.
    #[must_use]
    pub fn list(&self) -> &[Registered] {
        &self.list
    }

    /// Files that register nothing.
    #[must_use]
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// Countersets of all registered providers.
    pub fn countersets(&self) -> impl Iterator<Item = &Arc<Counterset>> {
        self.list.iter().flat_map(|registered| &registered.countersets)
    }

    fn read(&mut self) {
        self.list.clear();
        self.ignored.clear();
        let mut claims = Claims::of_catalogue();
        for folder in &self.folders {
            for file in match files(&folder.path) {
                Ok(files) => files,
                Err(why) => {
                    self.ignored.push(Ignored { file: folder.path.clone(), why });
                    continue;
                }
            } {
                match registered(&file).and_then(|found| claims.add(&found).map(|()| found)) {
                    Ok(found) => self.list.push(found),
                    Err(why) => self.ignored.push(Ignored { file, why }),
                }
            }
        }
    }
}

/// Who has which claim.
#[derive(Debug)]
struct Claims(BTreeMap<Claim, Owner>);

impl Claims {
    fn of_catalogue() -> Self {
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

    /// The first of a manifest's claims that someone else has.
    fn clash(&self, manifest: &Manifest) -> Option<Clash> {
        claims(manifest).find_map(|what| {
            let owner = self.0.get(&what)?.clone();
            Some(Clash { what, owner })
        })
    }

    fn add(&mut self, found: &Registered) -> Result<(), Why> {
        if let Some(clash) = self.clash(&found.manifest) {
            return Err(Why::Clash(clash));
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

/// The name of a provider's file.
fn file_name(provider: Guid) -> String {
    format!("{provider}.{ENDING}")
}

/// The manifests of a folder, by name. Hidden files, such as those that are being written, are none.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Why> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Why::Unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(Why::Unreadable)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden || path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        files.push(path);
        if files.len() > FILES {
            return Err(Why::Many);
        }
    }
    files.sort();
    Ok(files)
}

fn registered(file: &Path) -> Result<Registered, Why> {
    let manifest = Manifest::parse(&read_plain(file)?).map_err(Why::Broken)?;
    let name = file_name(manifest.provider.guid);
    if file.file_name().is_none_or(|is| is != name.as_str()) {
        return Err(Why::Misnamed(name));
    }
    let countersets = manifest.countersets().into_iter().map(Arc::new).collect();
    Ok(Registered { file: file.to_owned(), manifest, countersets })
}

/// The bytes of a plain file that is not too large. Never waits, and follows no link.
fn read_plain(file: &Path) -> Result<Vec<u8>, Why> {
    let most = u64::try_from(Manifest::BYTES_MAX).unwrap_or(u64::MAX);
    let is_plain = |about: &Metadata| match (about.is_file(), about.len()) {
        (false, _) => Err(Why::NotPlain),
        (true, len) if len > most => Err(Why::Large(len)),
        (true, _) => Ok(()),
    };
    is_plain(&fs::symlink_metadata(file).map_err(Why::Unreadable)?)?;
    let opened = open(file).map_err(Why::Unreadable)?;
    // It may have become another since.
    is_plain(&opened.metadata().map_err(Why::Unreadable)?)?;
    let mut bytes = Vec::new();
    opened.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(Why::Unreadable)?;
    match u64::try_from(bytes.len()).unwrap_or(u64::MAX) {
        len if len > most => Err(Why::Large(len)),
        _ => Ok(bytes),
    }
}

#[cfg(unix)]
fn open(file: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    File::options().read(true).custom_flags(flags).open(file)
}

#[cfg(not(unix))]
fn open(file: &Path) -> io::Result<File> {
    File::open(file)
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// What it was when it was read, if that can be relied on.
    stamp: Option<Stamp>,
}

/// What changes when a file of a folder comes, goes or is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    identity: (u64, u64),
}

impl Stamp {
    fn of(folder: &Path) -> Self {
        let about = fs::metadata(folder).ok();
        Self {
            modified: about.as_ref().and_then(|about| about.modified().ok()),
            identity: about.as_ref().map(identity).unwrap_or_default(),
        }
    }

    /// Whether a later change will show. The clock of a file system has steps: two changes within one look like one.
    fn is_settled(&self, now: SystemTime) -> bool {
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
