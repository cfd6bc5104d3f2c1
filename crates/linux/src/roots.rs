//! Root directories of the kernel's files: the paths of `/proc` and `/sys`.

use std::path::PathBuf;

/// Paths of the two trees of kernel files, `/proc` and `/sys`. They may belong to another system, such as a
/// container's host, or to fixtures in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Path of the procfs, usually `/proc`.
    pub proc: PathBuf,
    /// Path of the sysfs, usually `/sys`.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}

impl Roots {
    /// Returns `true` if `/proc/self` in these trees is this process: then paths in their files, such as mount
    /// points, are valid here.
    #[must_use]
    pub fn are_own(&self) -> bool {
        self.proc == Self::default().proc
    }

    /// Returns the roots from the environment variables `PERFSET_PROC` and `PERFSET_SYS`; the usual path if a
    /// variable is unset or empty.
    #[must_use]
    pub fn from_env() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = Self::default();
        Self {
            proc: variable("PERFSET_PROC").unwrap_or(usual.proc),
            sys: variable("PERFSET_SYS").unwrap_or(usual.sys),
        }
    }

    /// Returns the path of a file of `/proc/net`, a link that leads to the network namespace of the reader. If `/proc`
    /// is that of another system, such as a container's host, this process has no entry there; then the file of process
    /// 1 is used.
    #[cfg(target_os = "linux")]
    pub(crate) fn net(&self, name: &str) -> PathBuf {
        // A copy of a few files has no process 1: then `net` itself is meant.
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
