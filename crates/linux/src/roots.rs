//! Where the kernel's files are.

use std::path::PathBuf;

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
    /// Whether it is this process that they show as `self`: what they name by a path, such as a mount point, is here.
    #[must_use]
    pub fn are_own(&self) -> bool {
        self.proc == Self::default().proc
    }

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
}
