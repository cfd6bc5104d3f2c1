//! Where programs leave their files.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The machine's folder: a file system of its own with limits, where everybody may leave files and nobody may take
/// those of others away. `docs/guides/publish.md` has the unit that mounts it.
const MACHINE: &str = "/run/perfset";

/// The folders that programs leave their files in, and that readers look into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The only folder there is, if one was named.
    only: Option<PathBuf>,
    /// The user's own, made when the user logged in.
    session: Option<PathBuf>,
    user: u32,
}

/// A folder that a reader looks into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToRead {
    pub path: PathBuf,
    /// Whether a link in its place is followed: where anybody may have made it, it is not.
    pub may_be_link: bool,
}

impl Folders {
    /// Those of this user: `PERFSET_RUNTIME_DIR` alone if that is set, else `/run/perfset`,
    /// `$XDG_RUNTIME_DIR/perfset`, and `/tmp/perfset-UID`. In a program with more rights than who started it the
    /// variables do not count.
    #[must_use]
    pub fn from_env() -> Self {
        if has_more_rights() {
            return Self::without_env();
        }
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { only: variable("PERFSET_RUNTIME_DIR"), ..Self::of_session(variable("XDG_RUNTIME_DIR")) }
    }

    /// The same without what the environment says.
    #[must_use]
    pub fn without_env() -> Self {
        Self::of_session(None)
    }

    /// This folder alone.
    #[must_use]
    pub fn only(folder: impl Into<PathBuf>) -> Self {
        Self { only: Some(folder.into()), ..Self::of_session(None) }
    }

    fn of_session(session: Option<PathBuf>) -> Self {
        let session = session.filter(|path| path.is_absolute()).map(|path| path.join("perfset"));
        Self { only: None, session, user: rustix::process::geteuid().as_raw() }
    }

    fn temporary(&self, user: u32) -> PathBuf {
        PathBuf::from(format!("/tmp/perfset-{user}"))
    }

    /// Where a reader looks, whether there is something or not: for this user's and root's files, or for everybody's.
    #[must_use]
    pub(crate) fn to_read(&self, everybody: bool) -> Vec<ToRead> {
        if let Some(only) = &self.only {
            return vec![ToRead { path: only.clone(), may_be_link: true }];
        }
        let mut folders = vec![PathBuf::from(MACHINE)];
        folders.extend(self.session.clone());
        folders.push(self.temporary(self.user));
        if everybody {
            let sessions = children(Path::new("/run/user"), |_| true).map(|path| path.join("perfset"));
            folders.extend(sessions);
            let temporary = |name: &OsStr| name.to_string_lossy().starts_with("perfset-");
            folders.extend(children(Path::new("/tmp"), temporary));
        }
        let mut seen = std::collections::HashSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
        let to_read = |path: PathBuf| ToRead { may_be_link: path == Path::new(MACHINE), path };
        folders.into_iter().map(to_read).collect()
    }

    /// The folder to write to, made if need be; if there is none, which were tried, and why not.
    ///
    /// # Errors
    /// Each folder that was tried, with what is wrong with it.
    pub fn to_write(&self) -> Result<PathBuf, Vec<(PathBuf, io::Error)>> {
        let mut tried = Vec::new();
        let mut attempt = |folder: &Path, usable: io::Result<()>| match usable {
            Ok(()) => true,
            Err(error) => {
                tried.push((folder.to_owned(), error));
                false
            }
        };
        if let Some(only) = &self.only {
            let usable = own_folder(only, self.user).or_else(|_| writable(only));
            return if attempt(only, usable) { Ok(only.clone()) } else { Err(tried) };
        }
        if attempt(Path::new(MACHINE), writable(Path::new(MACHINE))) {
            return Ok(MACHINE.into());
        }
        for folder in self.session.iter().chain([&self.temporary(self.user)]) {
            if attempt(folder, own_folder(folder, self.user)) {
                return Ok(folder.clone());
            }
        }
        Err(tried)
    }
}

/// Whether the program runs with more rights than who started it: then what its environment says does not count.
#[must_use]
pub fn has_more_rights() -> bool {
    #![expect(unsafe_code, reason = "rustix has it for programs without libc only")]
    // SAFETY: it reads what the kernel told the process when it began.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// A folder that exists, and that this process may make files in.
fn writable(folder: &Path) -> io::Result<()> {
    access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    if folder.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// A folder of this user that nobody else may write to, made if it is not there.
fn own_folder(folder: &Path, user: u32) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(folder)?; // somebody else may have made it, or a link
    if !found.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if found.uid() != user || found.mode() & 0o022 != 0 {
        let why = format!("it is user {}'s, of mode {:o}", found.uid(), found.mode() & 0o7777);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

fn children(folder: &Path, wanted: impl Fn(&OsStr) -> bool) -> impl Iterator<Item = PathBuf> {
    const MOST: usize = 4096;
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MOST).flatten();
    entries.filter(move |entry| wanted(&entry.file_name())).map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perfset-folder-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    fn paths(folders: &Folders, everybody: bool) -> Vec<PathBuf> {
        folders.to_read(everybody).into_iter().map(|folder| folder.path).collect()
    }

    #[test]
    fn a_folder_that_was_named_is_the_only_one() {
        let scratch = scratch("only");
        let folders = Folders::only(scratch.join("new"));
        assert_eq!(paths(&folders, true), [scratch.join("new")]);
        assert_eq!(folders.to_write().unwrap(), scratch.join("new"));
        assert_eq!(std::fs::metadata(scratch.join("new")).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(folders.to_write().unwrap(), scratch.join("new"), "it is there already");
        let nowhere = Folders::only(scratch.join("a/b"));
        assert_eq!(nowhere.to_write().unwrap_err()[0].0, scratch.join("a/b"));
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn what_is_not_a_folder_of_ones_own_is_refused() {
        let scratch = scratch("own");
        let user = rustix::process::geteuid().as_raw();
        std::fs::write(scratch.join("file"), "").unwrap();
        symlink(&scratch, scratch.join("link")).unwrap();
        std::fs::create_dir(scratch.join("open")).unwrap();
        std::fs::set_permissions(scratch.join("open"), PermissionsExt::from_mode(0o777)).unwrap();
        for name in ["file", "link", "open"] {
            assert!(own_folder(&scratch.join(name), user).is_err(), "{name}");
        }
        assert!(own_folder(&scratch.join("new"), user + 1).is_err(), "another user's");
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn readers_look_into_all_of_them() {
        let folders = Folders { only: None, session: Some("/run/user/7/perfset".into()), user: 7 };
        let own = ["/run/perfset", "/run/user/7/perfset", "/tmp/perfset-7"].map(PathBuf::from);
        assert_eq!(paths(&folders, false), own);
        assert_eq!(paths(&folders, true)[..3], own);
        let may_be_links: Vec<_> = folders.to_read(false).into_iter().map(|f| f.may_be_link).collect();
        assert_eq!(may_be_links, [true, false, false]);
    }
}
