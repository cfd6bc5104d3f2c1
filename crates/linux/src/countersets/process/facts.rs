//! Facts about a process as text: user, command line, executable, control group.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use perfset_core::{Birth, NoValue};
use perfset_engine::{Fact, FactKind, FactOptions};
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};

use super::table::birth;
use crate::provider::{ReadError, unavailable};
use crate::roots::Roots;
use crate::sources::passwd;
use crate::sources::pid::cmdline;
use crate::sources::pid::stat::Stat;
use crate::sources::pid::status::Status;
use crate::sources::text::TextError;
use crate::sources::workload::Workload;

/// Maximum number of bytes that are read from a file about a process.
const MAX_LEN: u64 = 1 << 20;

/// Reader of facts about processes, such as the command line.
#[derive(Debug)]
pub(super) struct ProcessFacts {
    proc: PathBuf,
    /// Path of the user list `/etc/passwd` of the system with these processes.
    passwd: PathBuf,
    /// User id that this program runs as.
    viewer: u32,
}

impl ProcessFacts {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            proc: roots.proc.clone(),
            passwd: roots.proc.with_file_name("etc").join("passwd"),
            viewer: rustix::process::geteuid().as_raw(),
        }
    }

    /// Returns the facts about a process; none if the process has ended or another process has its id now. Without a
    /// birth there are none either, because the process is ambiguous.
    pub(super) fn read(&self, pid: u32, born: Birth, options: FactOptions) -> Vec<Fact> {
        self.open(pid, born).map(|process| self.all(&process, options)).unwrap_or_default()
    }

    /// Opens the directory of a process, if the process has this birth.
    fn open(&self, pid: u32, born: Birth) -> Option<ProcessDir> {
        let path = self.proc.join(pid.to_string());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty()).ok()?;
        let process = ProcessDir { folder, path };
        // Files that are opened through the directory belong to this process, even if its id is used again later.
        let text = process.text("stat").ok()?;
        let start = Stat::parse(&text).ok()?.starttime;
        (born.is_some() && born == birth(start)).then_some(process)
    }

    fn all(&self, process: &ProcessDir, options: FactOptions) -> Vec<Fact> {
        let uid = process.parsed("status", |text| Status::parse(text)?.uid.transpose());
        let uid = uid.and_then(|uid| uid.and_then(|uid| u32::try_from(uid).ok()).ok_or(NoValue::NotGiven));
        let is_shown = options.with_command_lines || self.viewer == 0 || uid == Ok(self.viewer);
        let mut facts = vec![
            Fact::new(FactKind::User, uid.map(|uid| self.user(uid))),
            Fact::new(FactKind::CommandLine, if is_shown { command_line(process) } else { Err(hidden()) }),
            Fact::new(FactKind::Executable, executable(process)),
        ];
        let path = process.parsed("cgroup", |text| {
            crate::sources::pid::cgroup::path(text).map(|path| String::from_utf8_lossy(path).into_owned())
        });
        let workload = path.as_deref().map(Workload::from_path).unwrap_or_default();
        facts.push(Fact::new(FactKind::Cgroup, path));
        let named = [
            (FactKind::Unit, workload.unit),
            (FactKind::Container, workload.container.map(|container| container.shown())),
            (FactKind::Pod, workload.pod),
        ];
        // A process without a unit or a container lacks nothing.
        facts.extend(named.into_iter().filter_map(|(kind, name)| Some(Fact::new(kind, Ok(name?)))));
        facts
    }

    /// Returns the name of a user from the user list, or the number if the name is unknown.
    fn user(&self, uid: u32) -> String {
        let text = read(File::open(&self.passwd)).unwrap_or_default();
        match passwd::name_of(&text, uid) {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => uid.to_string(),
        }
    }
}

/// Directory of one process, kept open while facts are read.
struct ProcessDir {
    folder: OwnedFd,
    path: PathBuf,
}

impl ProcessDir {
    fn text(&self, file: &str) -> Result<Vec<u8>, NoValue> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = openat(&self.folder, file, flags, Mode::empty()).map(File::from);
        read(opened.map_err(io::Error::from)).map_err(|source| self.failed(file, source))
    }

    fn parsed<T>(&self, file: &str, parse: impl FnOnce(&[u8]) -> Result<T, TextError>) -> Result<T, NoValue> {
        let text = self.text(file)?;
        parse(&text).map_err(|error| ReadError::Text { path: self.path.join(file), text: error }.into())
    }

    fn failed(&self, file: &str, source: io::Error) -> NoValue {
        match source.kind() {
            ErrorKind::NotFound => unavailable("the process has none"),
            ErrorKind::PermissionDenied => {
                let path = self.path.join(file);
                NoValue::Denied(
                    format!("{}: run as its user, or grant CAP_SYS_PTRACE", path.display()).into(),
                )
            }
            _ => ReadError::Io { path: self.path.join(file), source }.into(),
        }
    }
}

/// Reads at most `MAX_LEN` bytes of a file about a process.
fn read(file: io::Result<File>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file?.take(MAX_LEN).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the reason that is shown in place of the command line of another user's process.
fn hidden() -> NoValue {
    NoValue::Denied("command lines of other users can contain secrets, and are shown only on request".into())
}

fn command_line(process: &ProcessDir) -> Result<String, NoValue> {
    cmdline::text(&process.text("cmdline")?).ok_or_else(none_of_kernel)
}

fn none_of_kernel() -> NoValue {
    unavailable("threads of the kernel and ended processes have none")
}

fn executable(process: &ProcessDir) -> Result<String, NoValue> {
    let target = readlinkat(&process.folder, "exe", Vec::new()).map_err(io::Error::from);
    match target {
        Ok(target) => Ok(Path::new(std::ffi::OsStr::from_bytes(target.as_bytes())).display().to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(none_of_kernel()),
        Err(error) => Err(process.failed("exe", error)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU64;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::Tree;

    /// Returns the facts about process 300 of a fixture, whose files `change` may change.
    fn facts(
        viewer: u32,
        born: Birth,
        options: FactOptions,
        change: impl FnOnce(&Tree),
    ) -> BTreeMap<&'static str, String> {
        let tree = Tree::copy_of("processes");
        tree.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/:/bin/sh\n");
        tree.write("proc/300/cmdline", "mail\0--password\0hunter 2\0");
        tree.write("proc/300/cgroup", "0::/system.slice/mail.service\n");
        symlink("/usr/bin/mail", tree.path("proc/300/exe")).unwrap();
        change(&tree);
        let facts = ProcessFacts { viewer, ..ProcessFacts::new(&tree.roots()) }.read(300, born, options);
        let text =
            |fact: Fact| (fact.kind.keyword(), fact.text.unwrap_or_else(|reason| format!("- {reason}")));
        facts.into_iter().map(text).collect()
    }

    fn uid() -> u32 {
        let tree = Tree::copy_of("processes");
        let status = Status::parse(tree.text("proc/300/status").as_bytes()).unwrap();
        u32::try_from(status.uid.unwrap().unwrap()).unwrap()
    }

    fn start() -> Birth {
        let tree = Tree::copy_of("processes");
        birth(Stat::parse(tree.text("proc/300/stat").as_bytes()).unwrap().starttime)
    }

    #[test]
    fn facts_of_a_process() {
        let got = facts(uid(), start(), FactOptions::default(), |_| ());
        let want = [
            ("cgroup", "/system.slice/mail.service"),
            ("command_line", "mail --password 'hunter 2'"),
            ("executable", "/usr/bin/mail"),
            ("unit", "mail.service"),
        ];
        for (kind, text) in want {
            assert_eq!(got.get(kind).map(String::as_str), Some(text), "{got:?}");
        }
        assert_eq!(got.get("user").cloned(), Some(uid().to_string()), "a user without a name");
        assert_eq!(got.len(), 5, "{got:?}");
        let named = format!("x:y:1:\ngrace:x:{}:\n", uid());
        let got = facts(0, start(), FactOptions::default(), |tree| tree.write("etc/passwd", &named));
        assert_eq!(got.get("user").map(String::as_str), Some("grace"));
        let got = facts(0, start(), FactOptions::default(), |tree| tree.remove("etc/passwd"));
        assert_eq!(got.get("user").cloned(), Some(uid().to_string()));
    }

    /// Checks that command lines, which can contain secrets, are shown only to their user and to root.
    #[test]
    fn command_lines_are_shown_to_their_user_and_root() {
        for (viewer, with_command_lines, is_shown) in
            [(uid(), false, true), (0, false, true), (uid() + 1, false, false), (uid() + 1, true, true)]
        {
            let options = FactOptions::default().with_command_lines(with_command_lines);
            let got = facts(viewer, start(), options, |_| ());
            assert_eq!(
                got["command_line"].contains("hunter"),
                is_shown,
                "{viewer} {with_command_lines}: {got:?}"
            );
            assert!(is_shown || got["command_line"].starts_with("- denied: "), "{got:?}");
        }
        // Without an owner, it belongs to no user.
        let got =
            facts(uid(), start(), FactOptions::default(), |tree| tree.write("proc/300/status", "Name:\tx\n"));
        assert!(!got["command_line"].contains("hunter"), "{got:?}");
    }

    #[test]
    fn another_process_with_the_same_id_has_no_facts() {
        let other = start().and_then(|birth| birth.checked_add(1));
        assert!(facts(0, other, FactOptions::default(), |_| ()).is_empty());
        assert!(facts(0, NonZeroU64::new(u64::MAX), FactOptions::default(), |_| ()).is_empty());
        assert!(facts(0, None, FactOptions::default(), |_| ()).is_empty(), "an unknown birth");
        let ended = facts(0, start(), FactOptions::default(), |tree| tree.remove("proc/300/stat"));
        assert!(ended.is_empty(), "{ended:?}");
        let torn = facts(0, start(), FactOptions::default(), |tree| tree.write("proc/300/stat", "300 (x"));
        assert!(torn.is_empty(), "{torn:?}");
    }

    /// Checks that a missing or invalid file of a process removes only the fact that it contains.
    #[test]
    fn each_file_fails_alone() {
        for (file, text, kind, want) in [
            (
                "cmdline",
                Some(""),
                "command_line",
                "- unavailable: threads of the kernel and ended processes have none",
            ),
            ("cmdline", None, "command_line", "- unavailable: the process has none"),
            ("cgroup", Some("x\n"), "cgroup", "- "),
            ("cgroup", None, "cgroup", "- unavailable: the process has none"),
            ("exe", None, "executable", "- unavailable: threads of the kernel and ended processes have none"),
            ("status", None, "user", "- unavailable: the process has none"),
            ("status", Some("Uid:\t99999999999\t1\t1\t1\n"), "user", "- "),
        ] {
            let got = facts(0, start(), FactOptions::default(), |tree| {
                tree.remove(&format!("proc/300/{file}"));
                text.iter().for_each(|text| tree.write(&format!("proc/300/{file}"), text));
            });
            assert!(got[kind].starts_with(want), "{file}: {got:?}");
            assert!(got.len() >= 4, "{file}: {got:?}");
        }
    }
}
