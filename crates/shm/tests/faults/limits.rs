//! Tests of files of other users: the users who see them without requesting it, and the limits for reading them.

use perfset_engine::Machine;
use perfset_engine::testing::FixedClock;

use super::files::{Victim, genuine};
use super::{Bystander, Forged};
use crate::read::ApplicationProvider;
use crate::read::budget::Budget;
use crate::tests::{Place, query, raw};

/// Publishers' files whose reader acts as another user, so that any user can run the tests. Each file has three
/// instances.
struct OfOthers {
    place: Place,
    files: Vec<Forged>,
}

impl OfOthers {
    fn new(name: &str, count: usize) -> Self {
        let (place, bytes) = (Place::new(name), genuine());
        let forged = |number: usize| {
            let file = Forged::mapped(place.path(), &format!("{number}.pfs"), &bytes);
            if user() == 0 {
                std::os::unix::fs::chown(&file.path, Some(65_534), None).unwrap(); // root is nobody's stranger
            }
            file
        };
        Self { files: (0..count).map(forged).collect(), place }
    }

    fn reader(&self, everybody: bool, groups: &[u32], budget: &Budget) -> Reader {
        let applications = ApplicationProvider::for_user(self.place.path(), user() + 1, everybody);
        let machine = Machine::bare(Box::new(FixedClock::default()));
        machine.register(Box::new(applications.limited(groups, budget)));
        Reader(machine)
    }
}

struct Reader(Machine);

impl Reader {
    /// Returns the number of instances that the reader shows.
    fn rows(&self) -> usize {
        match self.0.counterset(&Victim::GUID) {
            Ok(_) => raw(&mut query(&self.0, Victim::GUID)).iter().filter(|row| row.2.is_some()).count() / 2,
            Err(_) => 0,
        }
    }

    fn not_shown(&self) -> Vec<String> {
        self.0.not_shown(None).into_iter().map(perfset_core::Text::into_owned).collect()
    }

    /// Returns the messages about instances that are not shown, which must all concern the one counterset.
    fn not_shown_of_set(&self) -> Vec<String> {
        let of_set = self.0.not_shown(Some(&Victim::GUID));
        let of_set: Vec<String> = of_set.into_iter().map(perfset_core::Text::into_owned).collect();
        assert_eq!(of_set, self.not_shown());
        assert!(self.0.not_shown(Some(&super::Honest::GUID)).is_empty());
        of_set
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Number of bytes that reading a test file counts against the limit: its header, eight times its definition, and its
/// instances.
const COST: u64 = 8192 + 8 * 4096 + 65_536;

#[test]
fn bytes_of_others_are_limited() {
    let mut others = OfOthers::new("limited-bytes", 3);
    for (limit, rows, said) in [
        (3 * COST, 9, None),
        (3 * COST - 1, 6, Some("0.1 MiB")),
        (COST + 10_000, 3, Some("0.2 MiB")),
        (5000, 0, Some("0.2 MiB")),
    ] {
        let reader = others.reader(true, &[], &Budget::new(limit, 1000));
        assert_eq!(reader.rows(), rows, "{limit} bytes");
        let not_shown = reader.not_shown();
        assert_eq!(not_shown.len(), said.iter().count(), "{limit} bytes: {not_shown:?}");
        if let Some(said) = said {
            assert!(
                not_shown[0].starts_with(&format!("{said} of other users are left out: ")),
                "{not_shown:?}"
            );
        }
    }
    // Bytes that one file does not use are available to another.
    let reader = others.reader(true, &[], &Budget::new(2 * COST, 1000));
    assert_eq!((reader.rows(), reader.not_shown().len()), (6, 1));
    others.files.pop();
    assert_eq!((reader.rows(), reader.not_shown().len()), (6, 0));
}

#[test]
fn instances_of_others_are_limited() {
    let others = OfOthers::new("limited-instances", 3);
    for (limit, said) in
        [(9, None), (8, Some("1 instance of")), (4, Some("5 instances of")), (0, Some("9 inst"))]
    {
        let reader = others.reader(true, &[], &Budget::new(1 << 30, limit));
        assert_eq!(reader.rows(), usize::try_from(limit).unwrap());
        assert_eq!(reader.0.instances(&Victim::GUID).unwrap_or_default().len(), reader.rows());
        let not_shown = reader.not_shown_of_set();
        assert_eq!(not_shown.len(), said.iter().count(), "{not_shown:?}");
        assert!(said.is_none_or(|said| not_shown[0].starts_with(said)), "{not_shown:?}");
    }
}

/// Checks that all readers of a process share one limit for files of other users.
#[test]
fn readers_share_a_limit() {
    let others = OfOthers::new("limited-readers", 2);
    let budget = Budget::new(1 << 30, 8);
    let (one, other) = (others.reader(true, &[], &budget), others.reader(true, &[], &budget));
    assert_eq!((one.rows(), other.rows()), (6, 2));
    drop(one);
    assert_eq!(other.rows(), 6);
}

/// Checks that files of this user and of root are not subject to the limit for files of other users.
#[test]
fn own_files_are_not_limited() {
    let place = Place::new("limited-own");
    let _bystander = Bystander::new(&place);
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.register(Box::new(place.applications().limited(&[], &Budget::new(0, 0))));
    Bystander::is_unharmed(&machine, "a limit of 0");
    assert!(machine.not_shown(None).is_empty());
}

/// Checks that readers that do not request other users' instances see their number.
#[test]
fn hidden_instances_are_counted() {
    let others = OfOthers::new("hidden", 2);
    let reader = others.reader(false, &[], &Budget::new(1 << 30, 100));
    assert_eq!(reader.rows(), 0);
    assert_eq!(reader.not_shown_of_set(), ["6 instances of other users; --all-users includes them"]);
}

/// Checks that members of the group of a shared directory see everything in it without requesting it.
#[test]
fn members_see_all_of_a_shared_directory() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let others = OfOthers::new("members", 1);
    let budget = Budget::new(1 << 30, 100);
    let group = std::fs::metadata(others.place.path()).unwrap().gid();
    let rows = |groups: &[u32]| others.reader(false, groups, &budget).rows();
    assert_eq!(rows(&[group]), 0, "users do not share it");
    std::fs::set_permissions(others.place.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    assert_eq!((rows(&[group + 1]), rows(&[group + 1, group])), (0, 3));
    // The limits apply to members as well.
    let reader = others.reader(false, &[group], &Budget::new(1 << 30, 2));
    assert_eq!((reader.rows(), reader.not_shown().len()), (2, 1));
}
