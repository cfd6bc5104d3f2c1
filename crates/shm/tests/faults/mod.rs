//! Fault tests: publishers that lie, die, stop and fork, and invalid files. A module of the unit tests: some of them
//! refuse child processes, set limits or write segments as the library itself does.

#![allow(clippy::arithmetic_side_effects, reason = "a test may fail")]

mod crowd;
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
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use perfset_core::Text;
use perfset_derive::Counterset;
use perfset_engine::{Machine, Provider};
use rustix::fs::{FallocateFlags, fallocate};

use crate::publish::{Gauge, PublishedInstance, Publisher};
use crate::read::ApplicationProvider;
use crate::tests::{Place, query, raw};
use crate::{layout, lock};

/// Counterset that a valid program publishes next to a faulty one.
#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Honest", instances = "multiple")]
struct Honest {
    #[counter(name = "Level")]
    level: Gauge,
}

/// Valid publisher with its only instance, next to a faulty one.
struct Bystander {
    _publisher: Publisher,
    _instance: PublishedInstance<Honest>,
}

impl Bystander {
    fn new(place: &Place) -> Self {
        let publisher = place.publisher();
        let instance = publisher.instance::<Honest>("honest");
        instance.level.set(4711);
        Self { _publisher: publisher, _instance: instance }
    }

    /// Checks that the valid publisher is read as if there were no faulty one.
    fn is_unharmed(machine: &Machine, after: impl std::fmt::Debug) {
        let rows = raw(&mut query(machine, Honest::GUID));
        assert_eq!(rows, [("honest".into(), 1, Some(4711))], "{after:?}");
    }
}

/// Flag that ends a thread beside a test when this value is dropped, also if the test fails: a scope waits for its
/// threads.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Forged file, which seems to belong to a running publisher: bytes chosen by the test, with a lock.
struct Forged {
    path: PathBuf,
    file: File,
}

impl Forged {
    /// Creates a forged file that no other user may write to, so that it is mapped.
    fn mapped(folder: &Path, name: &str, bytes: &[u8]) -> Self {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;

        let path = folder.join(name);
        let hidden = folder.join("unfinished");
        let mut file =
            File::options().read(true).write(true).create_new(true).mode(0o600).open(&hidden).unwrap();
        if !bytes.is_empty() {
            // Otherwise some file systems do not report immediately how many blocks the file has.
            fallocate(&file, FallocateFlags::empty(), 0, u64::try_from(bytes.len()).unwrap()).unwrap();
        }
        file.write_all(bytes).unwrap();
        lock::take(file.as_fd()).unwrap();
        std::fs::rename(hidden, &path).unwrap();
        Self { path, file }
    }

    /// Creates a forged file that its group may write to, so that it is copied.
    fn copied(folder: &Path, name: &str, bytes: &[u8]) -> Self {
        let forged = Self::mapped(folder, name, bytes);
        share(&forged.path);
        forged
    }

    /// Overwrites some bytes of the forged file.
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

/// Lets the group of a file write to it: readers that open it from now on copy it, like files of other users.
fn share(path: &Path) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o660)).unwrap();
}

/// Returns the prefix of the row names of a copied file: the user ID.
fn own_user() -> String {
    format!("{}/", rustix::process::geteuid().as_raw())
}

/// Returns the reader's problems with files that it does not use, or not completely.
fn complaints(applications: &mut ApplicationProvider) -> Vec<String> {
    let _ = applications.catalogue().unwrap();
    applications.problems().into_iter().map(Text::into_owned).collect()
}

/// Returns the bytes of a file with a word of the header replaced.
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

/// Generator of pseudo-random numbers, the same in each run.
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
