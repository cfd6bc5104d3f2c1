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

    /// The file about networks with that name. It tells of the network namespace of who reads it, through `/proc/net`,
    /// a link to the reader's own; where `/proc` is that of another system, such as a container's host, the reader is
    /// not in it, and its first process stands for all.
    #[cfg(target_os = "linux")]
    pub(crate) fn net(&self, name: &str) -> PathBuf {
        let of_first = self.proc.join("1/net");
        let folder = if !self.are_own() && of_first.exists() { of_first } else { self.proc.join("net") };
        folder.join(name)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::testing::Tree;

    #[test]
    fn files_about_networks() {
        assert_eq!(Roots::default().net("snmp"), PathBuf::from("/proc/net/snmp"));
        let tree = Tree::proc_of("two-nodes");
        assert_eq!(tree.roots().net("snmp"), tree.path("proc/net/snmp"));
        tree.write("proc/1/net/dev", "");
        assert_eq!(tree.roots().net("snmp"), tree.path("proc/1/net/snmp"), "of the first process");
    }
}
