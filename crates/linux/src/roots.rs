//! Where the kernel's files are.

use std::path::{Path, PathBuf};

/// The two trees that the kernel's files are in: others in a container that sees its host's, and in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}

impl Roots {
    /// What the variables `PERFSET_PROC` and `PERFSET_SYS` say; the usual place where one is not set or empty.
    #[must_use]
    pub fn from_env() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = Self::default();
        Self {
            proc: variable("PERFSET_PROC").unwrap_or(usual.proc),
            sys: variable("PERFSET_SYS").unwrap_or(usual.sys),
        }
    }

    /// A file about the network. What `proc/net` shows is the namespace of whoever reads, so that below another root
    /// it is that of the first process: the host's.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux reads files"))]
    pub(crate) fn net(&self, name: &str) -> PathBuf {
        let of_first = self.proc.join("1/net");
        let is_own = self.proc == Path::new("/proc");
        let folder = if is_own || !of_first.exists() { self.proc.join("net") } else { of_first };
        folder.join(name)
    }
}
