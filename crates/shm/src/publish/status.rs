//! Status of a publisher: directory, visibility and problems.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::PublishError;
use super::file::File;
use super::mounts::Origin;
use crate::folder::Folders;
use crate::process;
use crate::users::group_name;

/// Inode of the first PID namespace. Source: `PROC_PID_INIT_INO` in the kernel's `include/linux/proc_ns.h`.
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Directory in which a program publishes its counters, users who can see them, and problems. `Display` formats it as
/// a message for users.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishStatus {
    /// Directory that contains the publisher's file; `None` if there is no file.
    pub directory: Option<PathBuf>,
    /// Users whose programs see the program's counters.
    pub visible_to: VisibleTo,
    /// Environment variable that readers must have, with the same value, to search the directory.
    pub needs_variable: Option<&'static str>,
    /// `true` if the program runs in a separate PID namespace, as in a container. Programs outside then see the
    /// counters only if the directory is shared with them.
    pub in_container: bool,
    /// Directories that the publisher tried first, each with the reason why it is not used.
    pub passed_over: Vec<(PathBuf, String)>,
    /// Reasons why some of the program's counters are not published, or not shown by readers.
    /// [`problem`](super::problem) returns only the first reason, and the number of counters that readers leave out.
    /// Here each of these counters has its own [`LeftOut`](PublishError::LeftOut).
    pub problems: Vec<PublishError>,
}

/// Users whose programs see the counters of a publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VisibleTo {
    /// No other program: the counters are visible in this process alone.
    Nobody,
    /// Programs of this system service only: the directory is on a file system that only this service has.
    NoOtherProgram {
        /// Mount point of the file system that only this service has, e.g. `/tmp`.
        mount: PathBuf,
    },
    /// Programs with the same file system mounted there, e.g. those of one mount namespace.
    SameMount {
        /// Mount point of the file system that those programs have, e.g. `/run/perfset`.
        mount: PathBuf,
    },
    /// Programs of this user and of root.
    User {
        /// ID of the user that owns the publisher's file.
        user: u32,
    },
    /// Programs of this user, of root, and of members of a group.
    Group {
        /// ID of the user that owns the publisher's file.
        user: u32,
        /// ID of the group that may read the publisher's file.
        group: u32,
        /// Name of the group that may read the file, if it is known.
        name: Option<String>,
    },
}

impl PublishStatus {
    pub(crate) fn nowhere(problem: Option<PublishError>) -> Self {
        Self {
            directory: None,
            visible_to: VisibleTo::Nobody,
            needs_variable: None,
            in_container: false,
            passed_over: Vec::new(),
            problems: problem.into_iter().collect(),
        }
    }

    pub(super) fn new(
        file: &File,
        folders: &Folders,
        tried: &[(PathBuf, String)],
        mut problems: Vec<PublishError>,
    ) -> Self {
        let passed_over = tried.to_vec();
        let (Some(path), Some(stat)) = (file.path(), file.stat()) else {
            return Self { passed_over, problems, ..Self::nowhere(None) };
        };
        let folder = path.parent().unwrap_or(path);
        let is_there = fs::symlink_metadata(path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (stat.st_dev, stat.st_ino));
        if !is_there {
            let (what, why) = ("it was removed", "a new start of the program makes it anew".to_owned());
            problems.push(PublishError::File { path: path.to_owned(), what, why });
        }
        let visible_to = match (is_there, private_mount(folder)) {
            (false, _) => VisibleTo::Nobody,
            (true, Some(mount)) => within(mount, folders.is_of_machine(folder)),
            (true, None) => readers(folder, stat.st_uid, stat.st_gid, stat.st_mode),
        };
        Self {
            directory: Some(folder.to_owned()),
            visible_to,
            needs_variable: folders.variable_for(folder),
            in_container: ![0, FIRST_PID_NAMESPACE].contains(&process::namespace()),
            passed_over,
            problems,
        }
    }
}

/// Returns the users whose programs see a directory that is on a private mount. Readers with the same mount also
/// search the machine's directory; a temporary directory usually belongs to one service alone.
fn within(mount: PathBuf, is_of_machine: bool) -> VisibleTo {
    if is_of_machine { VisibleTo::SameMount { mount } } else { VisibleTo::NoOtherProgram { mount } }
}

/// Returns the users whose programs may open a file with that owner, group and mode in a directory.
fn readers(folder: &Path, user: u32, group: u32, mode: u32) -> VisibleTo {
    const GROUP_READS: u32 = 0o040;
    const SEARCHED_BY_OTHERS: u32 = 0o011;
    let is_open = fs::metadata(folder).is_ok_and(|folder| folder.mode() & SEARCHED_BY_OTHERS != 0);
    if is_open && mode & GROUP_READS != 0 {
        VisibleTo::Group { user, group, name: group_name(group) }
    } else {
        VisibleTo::User { user }
    }
}

/// Returns the mount point of a directory that the machine's first process does not have under the same name.
fn private_mount(folder: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    let own = Origin::find(&fs::read_to_string("/proc/self/mountinfo").ok()?, &folder)?;
    // The mounts of the first process may be hidden; then only the directory's name tells.
    let first = fs::read_to_string("/proc/1/mountinfo").ok().and_then(|text| Origin::find(&text, &folder));
    let is_private = first.map_or_else(|| own.is_of_a_service(), |first| !own.is_same(&first));
    is_private.then_some(own.mount)
}

impl fmt::Display for VisibleTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => write!(f, "no other program sees these counters"),
            Self::NoOtherProgram { mount } => {
                let mount = mount.display();
                write!(
                    f,
                    "private {mount}: no other program sees these counters; to show them, mount /run/perfset and let \
                     the service write to it: ReadWritePaths=/run/perfset"
                )
            }
            Self::SameMount { mount } => {
                let mount = mount.display();
                write!(
                    f,
                    "private {mount}: only programs with this mount see these counters; to show them to others, give \
                     this program the machine's {mount}"
                )
            }
            Self::User { user: 0 } => write!(f, "only root sees these counters"),
            Self::User { user } => write!(f, "only user {user} and root see these counters"),
            Self::Group { user, group, name } => {
                let name = name.clone().unwrap_or_else(|| group.to_string());
                let who = if *user == 0 { "root".to_owned() } else { format!("user {user}, root") };
                write!(f, "only {who} and members of group {name} see these counters")
            }
        }
    }
}

impl fmt::Display for PublishStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.directory {
            Some(directory) => write!(f, "{}: {}", directory.display(), self.visible_to)?,
            None => write!(
                f,
                "not published: {}; to show them, mount /run/perfset and let the program write to it (a service needs \
                 ReadWritePaths=/run/perfset)",
                self.visible_to
            )?,
        }
        if let Some(variable) = self.needs_variable {
            write!(f, "; readers need the same {variable}")?;
        }
        if self.in_container && self.directory.is_some() {
            write!(f, "; programs outside this container see them only if the directory is shared with it")?;
        }
        let over = self.passed_over.iter().map(|(path, why)| format!("{}: {why}", path.display()));
        if let Some(over) = over.reduce(|all, one| format!("{all}, {one}")) {
            write!(f, "; tried before: {over}")?;
        }
        // A program can have hundreds of counters with the same problem each.
        const NAMED: usize = 5;
        self.problems.iter().take(NAMED).try_for_each(|problem| write!(f, "; problem: {problem}"))?;
        match self.problems.len().saturating_sub(NAMED) {
            0 => Ok(()),
            1 => write!(f, "; and 1 more problem"),
            more => write!(f, "; and {more} more problems"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::LeftOut;
    use crate::tests::Place;

    #[test]
    fn a_directory_of_ones_own_is_seen_by_its_user() {
        let place = Place::new("status");
        let publisher = place.publisher();
        let status = publisher.status();
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(status.directory.as_deref(), Some(place.path()));
        assert_eq!(status.visible_to, VisibleTo::User { user });
        assert_eq!(status.needs_variable, Some("PERFSET_RUNTIME_DIR"));
        assert_eq!((&*status.passed_over, &*status.problems), (&[][..], &[][..]));
        let text = status.to_string();
        let who = if user == 0 { "only root sees".into() } else { format!("only user {user} and root see") };
        assert!(
            text.contains(&format!("{who} these counters; readers need the same PERFSET_RUNTIME_DIR")),
            "{text}"
        );
        std::fs::remove_file(publisher.path().unwrap()).unwrap();
        let status = publisher.status();
        assert_eq!((status.visible_to, status.problems.len()), (VisibleTo::Nobody, 1));
    }

    #[test]
    fn a_directory_that_users_share_is_seen_by_its_group() {
        use std::os::unix::fs::PermissionsExt;
        let place = Place::new("status-shared");
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o3777)).unwrap();
        let publisher = place.publisher();
        let status = publisher.status();
        let group = std::fs::metadata(place.path()).unwrap().gid();
        let VisibleTo::Group { group: found, .. } = status.visible_to else { panic!("{status:?}") };
        assert_eq!(found, group);
        assert!(status.to_string().contains("and members of group "), "{status}");
    }

    #[test]
    fn nowhere_to_publish() {
        let status = super::super::Publisher::in_folders(Folders::only("/proc/nowhere")).status();
        assert_eq!((&status.directory, &status.visible_to), (&None, &VisibleTo::Nobody));
        let text = status.to_string();
        assert!(
            text.starts_with("not published: no other program sees these counters; to show them, mount /run"),
            "{text}"
        );
        assert!(text.contains("; problem: no directory to publish counters in: /proc/nowhere"), "{text}");
    }

    #[test]
    fn texts() {
        let of = |visible_to| PublishStatus {
            directory: Some("/d".into()),
            visible_to,
            ..PublishStatus::nowhere(None)
        };
        let group = VisibleTo::Group { user: 7, group: 9, name: Some("perfset".into()) };
        for (status, text) in [
            (of(VisibleTo::User { user: 0 }), "/d: only root sees these counters"),
            (of(group), "/d: only user 7, root and members of group perfset see these counters"),
            (
                of(within("/tmp".into(), false)),
                "/d: private /tmp: no other program sees these counters; to show them, mount /run/perfset and let the \
                 service write to it: ReadWritePaths=/run/perfset",
            ),
            (
                of(within("/run/perfset".into(), true)),
                "/d: private /run/perfset: only programs with this mount see these counters; to show them to others, \
                 give this program the machine's /run/perfset",
            ),
            (
                PublishStatus { in_container: true, ..of(VisibleTo::User { user: 7 }) },
                "/d: only user 7 and root see these counters; programs outside this container see them only if the \
                 directory is shared with it",
            ),
        ] {
            assert_eq!(status.to_string(), text);
        }
    }

    #[test]
    fn status_names_at_most_five_problems() {
        let part = |id: u32| LeftOut {
            guid: perfset_core::Guid::from_u128(1),
            name: "Orders".into(),
            counter: Some((perfset_core::CounterId(id), format!("c{id}"))),
            why: "x".into(),
        };
        for (count, end) in [
            (5, "counter 5 \"c5\" is left out: x"),
            (6, "; and 1 more problem"),
            (300, "; and 295 more problems"),
        ] {
            let problems = (1..=count).map(|id| PublishError::LeftOut(part(id))).collect();
            let text = PublishStatus { problems, ..PublishStatus::nowhere(None) }.to_string();
            assert!(text.ends_with(end) && text.matches("; problem: ").count() == 5, "{text}");
        }
    }
}
