//! Benches of published counters: cost of updating, reading and finding them, beside the crates that programs use
//! otherwise.

mod contended;
mod files;
mod instances;
mod mmv;
mod snapshot;
mod update;

use std::fs::{create_dir, remove_dir_all};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, ensure};
use perfset_derive::Counterset;
use perfset_engine::Machine;
use perfset_linux::SystemClock;
use perfset_shm::Folders;
use perfset_shm::publish::{Counter64, Counterset, Publisher};
use perfset_shm::read::ApplicationProvider;

use crate::{Options, Out};

/// Measures published counters: updates by one and by two threads, snapshots, many programs, and instances that come
/// and go.
pub fn reports(options: &Options, out: Out<'_>) -> Result<()> {
    out(&update::report(options.rounds)?)?;
    contended::reports(options, out)?;
    snapshot::reports(options, out)?;
    out(&files::report(options.rounds)?)?;
    out(&instances::report(options.rounds)?)
}

macro_rules! ten {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        struct $name {
            #[counter(name = "A")]
            a: Counter64,
            #[counter(name = "B")]
            b: Counter64,
            #[counter(name = "C")]
            c: Counter64,
            #[counter(name = "D")]
            d: Counter64,
            #[counter(name = "E")]
            e: Counter64,
            #[counter(name = "F")]
            f: Counter64,
            #[counter(name = "G")]
            g: Counter64,
            #[counter(name = "H")]
            h: Counter64,
            #[counter(name = "I")]
            i: Counter64,
            #[counter(name = "J")]
            j: Counter64,
        }

        impl Ten for $name {
            fn counters(&self) -> [&Counter64; COUNTERS] {
                let Self { a, b, c, d, e, f, g, h, i, j } = self;
                [a, b, c, d, e, f, g, h, i, j]
            }
        }
    };
}

/// Number of counters of a published instance in the benches.
const COUNTERS: usize = 10;

/// Published counterset that has [`COUNTERS`] counters.
trait Ten: Counterset {
    fn counters(&self) -> [&Counter64; COUNTERS];
}

ten! {
    /// Counters that all threads share.
    #[derive(Counterset)]
    #[counterset(crate = perfset_shm, provider = "Bench", name = "Bench Shared", instances = "multiple")]
    Shared
}

ten! {
    /// Counters with a row for each of four threads.
    #[derive(Counterset)]
    #[counterset(crate = perfset_shm, provider = "Bench", name = "Bench Striped", instances = "multiple", stripes = 4)]
    Striped
}

/// Directory of this bench in memory (`/dev/shm`), which is removed when this value is dropped.
#[derive(Debug)]
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("perfset-bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = Path::new("/dev/shm").join(name);
        let _ = remove_dir_all(&path); // of a bench that was ended, and had this pid
        create_dir(&path).with_context(|| path.display().to_string())?;
        let place = Self(path);
        ensure!(place.0.is_dir(), "nobody may publish in {}", place.0.display());
        Ok(place)
    }

    fn folders(&self) -> Folders {
        Folders::only(&self.0)
    }

    /// Creates a publisher, as a program does, with its file in the bench's directory.
    fn publisher(&self) -> Result<Publisher> {
        let publisher = Publisher::in_folders(self.folders());
        match publisher.problem() {
            Some(problem) => Err(problem.into()),
            None => Ok(publisher),
        }
    }

    /// Creates the provider that reads the published files in the bench's directory.
    fn applications(&self) -> ApplicationProvider {
        ApplicationProvider::new(&self.folders(), false, Box::new(|| None))
    }

    fn machine(&self) -> Machine {
        let machine = Machine::new(Box::new(SystemClock));
        machine.register(Box::new(self.applications()));
        machine
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.0); // what is left there is in memory until somebody takes it away
    }
}
