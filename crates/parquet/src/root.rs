//! Root of exported files, as users write it: a local directory, or an address in an object store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{ParquetExportError, RootError};
use crate::folder::FolderPlace;
use crate::place::ExportPlace;
#[cfg(any(test, feature = "object-store"))]
use crate::store::StoreRoot;

/// Root of exported files: a local directory, or an address in an object store.
#[derive(Clone, Debug)]
pub struct ExportRoot(RootKind);

#[derive(Clone, Debug)]
enum RootKind {
    Folder(PathBuf),
    #[cfg(any(test, feature = "object-store"))]
    Store(StoreRoot),
}

impl ExportRoot {
    /// Parses the root of exported files as a user writes it: a path, or an address with `s3://`, `az://`, `gs://` or
    /// `file://`.
    ///
    /// # Errors
    /// If the address cannot be used, or its store needs the feature `object-store`. Nothing is opened here.
    pub fn parse(text: &Path) -> Result<Self, RootError> {
        let Some((scheme, rest)) = address(text) else { return Ok(Self::from(text)) };
        match scheme {
            "file" => file_path(rest).map(Self::from),
            "s3" | "az" | "gs" => Self::of_store(scheme, rest),
            _ => Err(RootError::Scheme(scheme.to_owned())),
        }
    }

    #[cfg(feature = "object-store")]
    fn of_store(scheme: &str, rest: &str) -> Result<Self, RootError> {
        StoreRoot::parse(scheme, rest).map(|store| Self(RootKind::Store(store)))
    }

    #[cfg(not(feature = "object-store"))]
    fn of_store(_: &str, _: &str) -> Result<Self, RootError> {
        Err(RootError::Unsupported)
    }

    #[cfg(test)]
    pub(crate) fn store(store: StoreRoot) -> Self {
        Self(RootKind::Store(store))
    }

    /// Returns the local directory that is the root; `None` for an object store.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.0 {
            RootKind::Folder(folder) => Some(folder),
            #[cfg(any(test, feature = "object-store"))]
            RootKind::Store(_) => None,
        }
    }

    /// Opens the root for writing the exported files of one host.
    pub(crate) fn open(
        &self,
        host: &str,
        deadline: Duration,
    ) -> Result<Box<dyn ExportPlace>, ParquetExportError> {
        match &self.0 {
            RootKind::Folder(folder) => {
                let _ = deadline; // of requests, which a directory has none of
                Ok(Box::new(FolderPlace::new(folder, host)))
            }
            #[cfg(any(test, feature = "object-store"))]
            RootKind::Store(store) => Ok(Box::new(store.open(deadline)?)),
        }
    }
}

impl From<&Path> for ExportRoot {
    fn from(folder: &Path) -> Self {
        Self(RootKind::Folder(folder.to_owned()))
    }
}

impl From<PathBuf> for ExportRoot {
    fn from(folder: PathBuf) -> Self {
        Self(RootKind::Folder(folder))
    }
}

/// Splits a root address into its scheme and the rest; `None` for a path.
fn address(text: &Path) -> Option<(&str, &str)> {
    let (scheme, rest) = text.to_str()?.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|c| c.is_ascii_alphanumeric() || b"+-.".contains(&c));
    is_scheme.then_some((scheme, rest))
}

/// Returns the path of a `file://` address.
fn file_path(rest: &str) -> Result<PathBuf, RootError> {
    let wrong =
        || RootError::Address("a file address is file:///PATH, with % and two digits as in URLs".to_owned());
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') || rest.contains(['?', '#']) {
        return Err(wrong());
    }
    let mut bytes = Vec::new();
    let mut parts = rest.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let (digits, text) = part.split_at_checked(2).ok_or_else(wrong)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = u8::from_str_radix(digits, 16).ok().filter(|byte| is_hex && *byte != 0);
        bytes.push(byte.ok_or_else(wrong)?);
        bytes.extend_from_slice(text.as_bytes());
    }
    let path = String::from_utf8(bytes).map_err(|_| wrong())?;
    // On Windows the address of C:\lake is file:///C:/lake.
    let has_drive = cfg!(windows) && path.as_bytes().get(2) == Some(&b':');
    Ok(PathBuf::from(if has_drive { path.trim_start_matches('/') } else { &path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses() {
        let root = |text: &str| ExportRoot::parse(Path::new(text));
        for (text, want) in [
            ("lake", "lake"),
            ("/x/lake", "/x/lake"),
            ("./s3://x", "./s3://x"),
            ("file:///x/a%20b%2525", "/x/a b%25"),
            ("file://localhost/x", "/x"),
        ] {
            assert_eq!(root(text).unwrap().folder(), Some(Path::new(want)), "{text}");
        }
        for bad in [
            "file://lake",
            "file://",
            "file:///x%2",
            "file:///%zz",
            "file:///%+1",
            "file:///%00",
            "file:///a?b",
        ] {
            assert!(matches!(root(bad), Err(RootError::Address(_))), "{bad}");
        }
        for (text, scheme) in [("http://x", "http"), ("S3://x", "S3"), ("hdfs://x/y", "hdfs")] {
            assert_eq!(root(text).unwrap_err(), RootError::Scheme(scheme.to_owned()));
        }
        let store = root("s3://bucket/lake");
        match cfg!(feature = "object-store") {
            true => assert_eq!(store.unwrap().folder(), None),
            false => assert_eq!(store.unwrap_err(), RootError::Unsupported),
        }
    }
}
