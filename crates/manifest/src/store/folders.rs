//! Where providers are registered on this machine.

use std::env;
use std::path::PathBuf;

/// Of packages, then of the administrator.
#[cfg(unix)]
const OF_ALL: [&str; 2] = ["/usr/share/perfset/providers", "/etc/perfset/providers"];

/// The folders of this machine, as they are searched: `/usr/share/perfset/providers`, `/etc/perfset/providers` and
/// `$XDG_DATA_HOME/perfset/providers`, without that variable below `~/.local/share`.
///
/// `trusts_environment`: whether the last one counts. A program with more rights than who started it must not trust it.
#[must_use]
pub fn system_folders(trusts_environment: bool) -> Vec<PathBuf> {
    #[cfg(unix)]
    let mut folders: Vec<PathBuf> = OF_ALL.into_iter().map(PathBuf::from).collect();
    #[cfg(not(unix))]
    let mut folders = Vec::new();
    folders.extend(own_folder().filter(|_| trusts_environment));
    folders
}

/// Where a provider is installed: root's in `/etc/perfset/providers`, another user's in the user's own folder.
#[must_use]
pub fn install_folder() -> Option<PathBuf> {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        return OF_ALL.last().map(PathBuf::from);
    }
    own_folder()
}

/// The user's own; a variable that is no absolute path says nothing.
fn own_folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    #[cfg(unix)]
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    #[cfg(not(unix))]
    let data = absolute("LOCALAPPDATA");
    Some(data?.join("perfset").join("providers"))
}
