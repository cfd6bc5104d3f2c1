//! Directories in which providers are registered on this machine.

use std::env;
use std::path::PathBuf;

/// Directories of registered providers for all users: first that of packages, then that of the administrator.
#[cfg(unix)]
const OF_ALL: [&str; 2] = ["/usr/share/perfset/providers", "/etc/perfset/providers"];

/// Returns the provider directories of this machine, in search order: `/usr/share/perfset/providers`,
/// `/etc/perfset/providers` and `$XDG_DATA_HOME/perfset/providers`. Without that variable, the last one is below
/// `~/.local/share`.
///
/// `trusts_environment`: `true` if the last one is included. A program with elevated privileges must not trust the
/// environment of the user who started it.
#[must_use]
pub fn system_folders(trusts_environment: bool) -> Vec<PathBuf> {
    #[cfg(unix)]
    let mut folders: Vec<PathBuf> = OF_ALL.into_iter().map(PathBuf::from).collect();
    #[cfg(not(unix))]
    let mut folders = Vec::new();
    folders.extend(own_folder().filter(|_| trusts_environment));
    folders
}

/// Returns the directory in which new providers are installed: `/etc/perfset/providers` for root, the user's own
/// directory otherwise.
#[must_use]
pub fn install_folder() -> Option<PathBuf> {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        return OF_ALL.last().map(PathBuf::from);
    }
    own_folder()
}

/// Returns the user's own provider directory. A variable that does not contain an absolute path is ignored.
fn own_folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    #[cfg(unix)]
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    #[cfg(not(unix))]
    let data = absolute("LOCALAPPDATA");
    Some(data?.join("perfset").join("providers"))
}
