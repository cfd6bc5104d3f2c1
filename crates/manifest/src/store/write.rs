//! Installation and removal of providers in the store.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use perfset_core::{Guid, Status};

use super::{Claims, Conflict, Owner, RegisteredProvider, Store, file_name};
use crate::model::Manifest;
use crate::problem::Problems;

/// Result of the installation of a provider's manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The manifest is newly registered at this path.
    New(PathBuf),
    /// The same manifest was already registered at this path.
    Before(PathBuf),
}

/// Provider or counterset to remove from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Remove the provider or counterset with this GUID.
    Guid(Guid),
    /// Remove the provider with this name.
    Name(String),
}

/// Result of a removal from the store of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// A provider was removed, whose manifest had this path.
    Provider(PathBuf),
    /// A counterset was removed from a provider that still has others.
    Counterset(PathBuf),
}

/// Reason why no provider was installed in the store, or removed from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The manifest to install breaks rules.
    #[error("{0}")]
    Broken(#[source] Problems),
    /// The manifest to install conflicts with an existing registration.
    #[error("{0}; remove that registration first")]
    AlreadyExists(Conflict),
    /// No registered provider or counterset matches the removal request.
    #[error("no registered provider or counterset has this GUID or name")]
    NotFound,
    /// Several registered providers have the requested name.
    #[error("several providers have this name; use one of their GUIDs: {}", guids(.0))]
    Several(Vec<Guid>),
    /// A file of the store cannot be written or removed.
    #[error("cannot {action} manifest {}", .file.display())]
    Io {
        /// Name of the operation that failed: `write` or `remove`.
        action: &'static str,
        /// Path of the file that cannot be written or removed.
        file: PathBuf,
        /// Error of the system for the failed operation.
        #[source]
        error: io::Error,
    },
}

impl StoreError {
    /// Returns the Windows error code for this error of the store.
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
    /// Installs a provider: registers its manifest in a directory, which is created if it does not exist.
    ///
    /// The file is installed completely or not at all. An existing file of the same provider that registers nothing
    /// is replaced.
    ///
    /// # Errors
    /// If the manifest breaks rules, if it conflicts with a registration of a different manifest, or if the file
    /// cannot be written.
    pub fn install(&mut self, bytes: &[u8], folder: &Path) -> Result<Installed, StoreError> {
        let manifest = Manifest::parse(bytes).map_err(StoreError::Broken)?;
        // Another process may have installed or removed a provider since.
        self.refresh();
        let guid = manifest.provider.guid;
        if let Some(known) = self.list.iter().find(|known| known.manifest == manifest) {
            return Ok(Installed::Before(known.file.clone()));
        }
        if let Some(clash) = self.claims().clash(&manifest) {
            return Err(StoreError::AlreadyExists(clash));
        }
        let file = folder.join(file_name(guid));
        fs::create_dir_all(folder).and_then(|()| replace(&file, bytes)).map_err(failed("write", &file))?;
        self.forget();
        Ok(Installed::New(file))
    }

    /// Removes a registered provider, or a counterset of a provider. Removing the last counterset removes the
    /// provider.
    ///
    /// A provider's GUID also finds a file that registers nothing.
    ///
    /// # Errors
    /// If no provider or counterset matches, or the file cannot be removed or written.
    pub fn remove(&mut self, what: &Removal) -> Result<Removed, StoreError> {
        self.refresh();
        let guid_of = |found: &RegisteredProvider| found.manifest.provider.guid;
        let found = match what {
            Removal::Name(name) => {
                let is_called = |found: &&RegisteredProvider| {
                    found.manifest.provider.name.to_lowercase() == name.to_lowercase()
                };
                let called: Vec<_> = self.list.iter().filter(is_called).collect();
                if called.len() > 1 {
                    return Err(StoreError::Several(called.into_iter().map(guid_of).collect()));
                }
                called.first().map(|found| found.file.clone())
            }
            Removal::Guid(guid) => {
                // A GUID can be that of a provider or of a counterset, and the user does not state which.
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
        fs::remove_file(&file).map_err(failed("remove", &file))?;
        self.forget();
        Ok(Removed::Provider(file))
    }

    /// Rewrites the manifest of a provider without a counterset. Removes the file if no counterset remains. Returns
    /// `None` if no provider has the counterset.
    fn remove_counterset(&mut self, guid: Guid) -> Result<Option<Removed>, StoreError> {
        let has_it =
            |found: &&RegisteredProvider| found.manifest.provider.sets.iter().any(|set| set.guid == guid);
        let Some(found) = self.list.iter().find(has_it) else { return Ok(None) };
        let (file, mut manifest) = (found.file.clone(), found.manifest.clone());
        manifest.provider.sets.retain(|set| set.guid != guid);
        let removed = match manifest.provider.sets.is_empty() {
            true => fs::remove_file(&file).map(|()| Removed::Provider(file.clone())),
            false => replace(&file, manifest.write().as_bytes()).map(|()| Removed::Counterset(file.clone())),
        };
        let action = if manifest.provider.sets.is_empty() { "remove" } else { "write" };
        let removed = removed.map_err(failed(action, &file))?;
        self.forget();
        Ok(Some(removed))
    }

    fn claims(&self) -> Claims {
        let mut claims = Claims::from_catalogue();
        for found in &self.list {
            // Registered providers do not conflict.
            let _ = claims.add(found);
        }
        claims
    }

    /// Discards the stored stamps of the store's directories and reads the directories again.
    fn forget(&mut self) {
        for folder in &mut self.folders {
            folder.stamp = None;
        }
        self.refresh();
    }
}

fn failed(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let file = file.to_owned();
    move |error| StoreError::Io { action, file, error }
}

/// Creates or replaces a manifest file atomically and flushes it to disk.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    // Hidden, so that a reader of the directory does not take it for a manifest. In the same directory,
    // because a rename does not cross file systems.
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let _ = fs::remove_file(&temporary); // left by a process of that number
    let written = write(&temporary, bytes).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary); // what failed is said already
    }
    written.and_then(|()| settle(folder))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // `create_new` follows no link that another user put at this path.
    let mut out = File::options().write(true).create_new(true).open(file)?;
    out.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Every user may read the registrations, whatever the umask is.
        out.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    // The data must be on the disk before the name is: a crash leaves the old or the new manifest.
    out.sync_all()
}

/// Flushes a store directory to disk.
fn settle(folder: &Path) -> io::Result<()> {
    // A rename lasts only once its directory is on the disk. Windows cannot open a directory as a file.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

impl Owner {
    /// Returns the path of the owner's manifest; `None` for the built-in catalogue.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Catalogue { .. } => None,
            Self::Provider { file, .. } => Some(file),
        }
    }
}
