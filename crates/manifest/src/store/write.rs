//! Installing and removing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use perfset_core::{Guid, Status};

use super::{Claims, Clash, Owner, Registered, Store, file_name};
use crate::model::Manifest;
use crate::problem::Problems;

/// What installing has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The manifest is registered now.
    New(PathBuf),
    /// The same manifest was registered there before.
    Before(PathBuf),
}

/// What is to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// A provider or a counterset.
    Guid(Guid),
    /// The provider of that name.
    Name(String),
}

/// What removing has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// A provider is gone.
    Provider(PathBuf),
    /// A counterset is gone, its provider has others.
    Counterset(PathBuf),
}

/// Why nothing was installed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The manifest breaks rules.
    #[error("{0}")]
    Broken(#[source] Problems),
    /// Something of it is registered already.
    #[error("{0}; what is registered is removed first")]
    AlreadyExists(Clash),
    /// There is no such provider or counterset.
    #[error("nothing that is registered has that GUID or name")]
    NotFound,
    /// Several providers have that name.
    #[error("several providers have that name: {}", guids(.0))]
    Several(Vec<Guid>),
    /// A file cannot be written or removed.
    #[error("cannot change {}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

impl StoreError {
    /// Windows' code.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Broken(_) => Status::ERROR_INVALID_DATA,
            Self::AlreadyExists(_) => Status::ERROR_ALREADY_EXISTS,
            Self::NotFound => Status::ERROR_NOT_FOUND,
            Self::Several(_) => Status::ERROR_INVALID_PARAMETER,
            Self::Io { .. } => Status::ERROR_ACCESS_DENIED,
        }
    }
}

fn guids(all: &[Guid]) -> String {
    all.iter().map(|guid| format!("{guid:?}")).collect::<Vec<_>>().join(", ")
}

impl Store {
    /// Registers a manifest in a folder, which is made if it is not there.
    ///
    /// The file comes whole or not at all. A file of that provider there that registers nothing is replaced.
    ///
    /// # Errors
    /// If the manifest is not good, if something of it is registered already and not by the same manifest, or if the
    /// file cannot be written.
    pub fn install(&mut self, bytes: &[u8], folder: &Path) -> Result<Installed, StoreError> {
        let manifest = Manifest::parse(bytes).map_err(StoreError::Broken)?;
        self.refresh();
        let guid = manifest.provider.guid;
        if let Some(known) = self.list.iter().find(|known| known.manifest == manifest) {
            return Ok(Installed::Before(known.file.clone()));
        }
        if let Some(clash) = self.claims().clash(&manifest) {
            return Err(StoreError::AlreadyExists(clash));
        }
        let file = folder.join(file_name(guid));
        fs::create_dir_all(folder).and_then(|()| replace(&file, bytes)).map_err(failed(&file))?;
        self.forget();
        Ok(Installed::New(file))
    }

    /// Removes a provider, or a counterset of one; the last counterset takes the provider with it.
    ///
    /// A provider's GUID also finds a file that registers nothing.
    ///
    /// # Errors
    /// If nothing is called so, or the file cannot be removed or written.
    pub fn remove(&mut self, what: &Removal) -> Result<Removed, StoreError> {
        self.refresh();
        let guid_of = |found: &Registered| found.manifest.provider.guid;
        let found = match what {
            Removal::Name(name) => {
                let is_called =
                    |found: &&Registered| found.manifest.provider.name.to_lowercase() == name.to_lowercase();
                let called: Vec<_> = self.list.iter().filter(is_called).collect();
                if called.len() > 1 {
                    return Err(StoreError::Several(called.into_iter().map(guid_of).collect()));
                }
                called.first().map(|found| found.file.clone())
            }
            Removal::Guid(guid) => {
                if let Some(removed) = self.remove_counterset(*guid)? {
                    return Ok(removed);
                }
                let name = file_name(*guid);
                let is_file = |file: &&PathBuf| file.file_name().is_some_and(|is| is == name.as_str());
                let registered = self.list.iter().map(|found| &found.file);
                registered.chain(self.ignored.iter().map(|ignored| &ignored.file)).find(is_file).cloned()
            }
        };
        let file = found.ok_or(StoreError::NotFound)?;
        fs::remove_file(&file).map_err(failed(&file))?;
        self.forget();
        Ok(Removed::Provider(file))
    }

    /// Writes the manifest anew without that counterset, if it is one of several.
    fn remove_counterset(&mut self, guid: Guid) -> Result<Option<Removed>, StoreError> {
        let has_it = |found: &&Registered| found.manifest.provider.sets.iter().any(|set| set.guid == guid);
        let Some(found) = self.list.iter().find(has_it) else { return Ok(None) };
        let (file, mut manifest) = (found.file.clone(), found.manifest.clone());
        manifest.provider.sets.retain(|set| set.guid != guid);
        let removed = match manifest.provider.sets.is_empty() {
            true => fs::remove_file(&file).map(|()| Removed::Provider(file.clone())),
            false => replace(&file, manifest.write().as_bytes()).map(|()| Removed::Counterset(file.clone())),
        };
        let removed = removed.map_err(failed(&file))?;
        self.forget();
        Ok(Some(removed))
    }

    fn claims(&self) -> Claims {
        let mut claims = Claims::of_catalogue();
        for found in &self.list {
            // What is in the list does not clash.
            let _ = claims.add(found);
        }
        claims
    }

    /// What was read is old: the next refresh reads.
    fn forget(&mut self) {
        for folder in &mut self.folders {
            folder.stamp = None;
        }
        self.refresh();
    }
}

fn failed(file: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let file = file.to_owned();
    |error| StoreError::Io { file, error }
}

/// Puts a file in the place of another, or of none: whole, and on the disk.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&temporary); // left by a process of that number
    let written = write(&temporary, bytes).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary); // what failed is said already
    }
    written.and_then(|()| settle(folder))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut out = File::options().write(true).create_new(true).open(file)?;
    out.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Everyone may know who is registered, whatever the umask is.
        out.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    out.sync_all()
}

/// Has the folder's names on the disk.
fn settle(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

impl Owner {
    /// Where it is registered; nowhere, if it is built in.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Catalogue { .. } => None,
            Self::Provider { file, .. } => Some(file),
        }
    }
}
