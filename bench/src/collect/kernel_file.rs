//! Kernel files that a provider keeps open, and their formats.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Kernel file below `/proc` or `/sys` that a collection reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelFile {
    /// Path of the kernel file.
    pub path: PathBuf,
    /// Number of the kernel file's open file descriptor; empty if the file is not open.
    descriptor: String,
}

/// Format of a kernel file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Format of `/proc/stat`, with one line for each CPU.
    Stat,
    /// Format of `/proc/softirqs` and `/proc/interrupts`: a column for each CPU.
    Columns,
    /// Format of `/proc/meminfo` and `/proc/vmstat`: lines of a name and a number.
    Named,
    /// Format of the list of the CPUs that are online.
    Online,
    /// Format of a kernel attribute that contains numbers, such as a file in `/sys`.
    Numbers,
}

impl KernelFile {
    /// Returns the kernel files that this process has open now and reads in every collection. `/proc/cpuinfo` is not
    /// among them: it is read only every 10 s, so no floor and no peer has to read it either.
    pub fn open_ones() -> io::Result<BTreeSet<Self>> {
        let mut files = BTreeSet::new();
        for descriptor in fs::read_dir("/proc/self/fd")? {
            let descriptor = descriptor?;
            let Ok(path) = fs::read_link(descriptor.path()) else { continue };
            let in_turn = path.ends_with("cpuinfo");
            if path.is_file() && !in_turn && (path.starts_with("/proc") || path.starts_with("/sys")) {
                let descriptor = descriptor.file_name().to_string_lossy().into_owned();
                files.insert(Self { path, descriptor });
            }
        }
        Ok(files)
    }

    /// Creates the description of a kernel file that is not open yet.
    pub fn at(path: &str) -> Self {
        Self { path: path.into(), descriptor: String::new() }
    }

    /// Returns the format of the kernel file, which its name determines.
    pub fn kind(&self) -> Kind {
        match self.path.file_name().and_then(|name| name.to_str()) {
            Some("stat") => Kind::Stat,
            Some("softirqs" | "interrupts") => Kind::Columns,
            Some("meminfo" | "vmstat") => Kind::Named,
            Some("online") => Kind::Online,
            _ => Kind::Numbers,
        }
    }

    /// Returns `true` if the kernel prints the file record by record, so that only an empty read is its end.
    pub fn is_in_records(&self) -> bool {
        const NAMES: [&str; 3] = ["interrupts", "vmstat", "modules"];
        NAMES.iter().any(|name| self.path.ends_with(name))
    }

    /// Returns kernel files with each path only once, because two providers may have opened the same file.
    pub fn once(files: &BTreeSet<Self>) -> BTreeSet<Self> {
        let mut paths = BTreeSet::new();
        files.iter().filter(|file| paths.insert(&file.path)).cloned().collect()
    }

    /// Returns the paths of kernel files as text for a table title; files of the CPUs after the first are only
    /// counted.
    pub fn list(files: &BTreeSet<Self>) -> String {
        let paths = || files.iter().map(|file| file.path.to_string_lossy());
        let is_of_another_cpu = |path: &str| path.contains("/cpu/cpu") && !path.contains("/cpu/cpu0/");
        let mut lines: Vec<_> =
            paths().filter(|path| !is_of_another_cpu(path)).map(|path| format!("    {path}\n")).collect();
        lines.sort();
        match paths().filter(|path| is_of_another_cpu(path)).count() {
            0 => {}
            others => lines.push(format!("    and {others} of the other CPUs\n")),
        }
        lines.concat().trim_end().to_owned()
    }
}
