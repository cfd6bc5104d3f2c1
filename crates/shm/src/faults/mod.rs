//! What goes wrong: programs that lie, die, stop and fork, and files that are not what they say.

#![allow(clippy::arithmetic_side_effects, reason = "a test may fail")]

mod cut;
mod files;
mod forks;
mod lies;
mod limits;
mod program;
mod stress;
mod tear;
mod words;

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use perfset_core::Text;
use perfset_engine::{Machine, Provider};
use rustix::fs::{FallocateFlags, fallocate};

use crate::publish::{Counterset, Gauge, Instance, Publisher};
use crate::read::Applications;
use crate::tests::{Place, query, raw};
use crate::{layout, lock};

/// What an honest program publishes beside the one that is at fault.
#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Honest", instances = "multiple")]
struct Honest {
    #[counter(name = "Level")]
    level: Gauge,
}

/// An honest program and its only value.
struct Bystander {
    _publisher: Publisher,
    _instance: Instance<Honest>,
}

impl Bystander {
    fn new(place: &Place) -> Self {
        let publisher = place.publisher();
        let instance = publisher.instance::<Honest>("honest");
        instance.level.set(4711);
        Self { _publisher: publisher, _instance: instance }
    }

    /// It is read as if nobody else were there.
    fn is_unharmed(machine: &Machine, after: impl std::fmt::Debug) {
        let rows = raw(&mut query(machine, Honest::GUID));
        assert_eq!(rows, [("honest".into(), 1, Some(4711))], "{after:?}");
    }
}

/// A file that seems to be one of a living program: bytes of our choice, locked.
struct Forged {
    path: PathBuf,
    file: File,
}

impl Forged {
    /// Nobody else may write to it, so it is mapped.
    fn mapped(folder: &Path, name: &str, bytes: &[u8]) -> Self {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;

        let path = folder.join(name);
        let hidden = folder.join("unfinished");
        let mut file =
            File::options().read(true).write(true).create_new(true).mode(0o600).open(&hidden).unwrap();
        if !bytes.is_empty() {
            // Else not every file system knows at once how many blocks it has.
            fallocate(&file, FallocateFlags::empty(), 0, u64::try_from(bytes.len()).unwrap()).unwrap();
        }
        file.write_all(bytes).unwrap();
        lock::take(file.as_fd()).unwrap();
        std::fs::rename(hidden, &path).unwrap();
        Self { path, file }
    }

    /// Its group may write to it, so it is copied.
    fn copied(folder: &Path, name: &str, bytes: &[u8]) -> Self {
        let forged = Self::mapped(folder, name, bytes);
        share(&forged.path);
        forged
    }

    /// Changes some bytes.
    fn patch(&self, at: usize, bytes: &[u8]) {
        use std::os::unix::fs::FileExt;
        self.file.write_all_at(bytes, u64::try_from(at).unwrap()).unwrap();
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // the test may have
    }
}

/// Lets the file's group write to it: readers that open it from now on copy it, as they do strangers' files.
fn share(path: &Path) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o660)).unwrap();
}

/// The rows of a file that is copied begin with its user.
fn own_user() -> String {
    format!("{}/", rustix::process::geteuid().as_raw())
}

/// What the reader says of files that it does not use, or not whole.
fn complaints(applications: &mut Applications) -> Vec<String> {
    let _ = applications.catalogue().unwrap();
    applications.problems().into_iter().map(Text::into_owned).collect()
}

/// Bytes with a word of the header replaced.
fn with_word(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    set_word(&mut bytes, at, value);
    bytes
}

fn set_word(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at * layout::WORD..][..layout::WORD].copy_from_slice(&value.to_ne_bytes());
}

fn get_word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(*bytes[at * layout::WORD..].first_chunk().unwrap())
}

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
