//! Bench of many programs that publish counters, each in a file.

use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use perfset_engine::{Provider, Snapshot};
use perfset_shm::publish::{Counterset, PublishedInstance, Publisher};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::snapshot::{Published, name, query};
use super::{COUNTERS, Place, Shared};
use crate::collect::values;
use crate::measure::{Comparison, Report};

const FILES: usize = 1_000;

/// Measures the search for publishing programs that started or ended, and the collection of one instance of each.
pub fn report(rounds: usize) -> Result<Report> {
    // Each program has two descriptors, and all of them are here.
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits })?;
    let mut one_file = Published::<Shared>::new(FILES)?;
    let place = Place::new()?;
    let programs = (0..FILES).map(|row| {
        let publisher = place.publisher()?;
        let instance = publisher.instance(&name(row));
        Ok((publisher, instance))
    });
    let _programs: Vec<(Publisher, PublishedInstance<Shared>)> = programs.collect::<Result<_>>()?;
    sleep(Duration::from_millis(100)); // a folder that changed a moment ago is listed again
    let mut applications = place.applications();
    ensure!(applications.catalogue()?.countersets.len() == 1, "they publish one counterset");
    let mut query = query(&place, Shared::definition().counterset().guid)?;
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot)?;
    ensure!(values(snapshot.block())?.count == FILES * COUNTERS, "each has one instance");
    let comparison = Comparison::new(format!("shm: {FILES} programs, each with a file"), FILES)
        .per("file")
        .variant("Provider::catalogue, nothing is new", || {
            u64::from(black_box(&mut applications).catalogue().is_ok())
        })
        .ns_goal(50.0)
        .variant("Query::collect, an instance of each", || {
            u64::from(query.collect(black_box(&mut snapshot)).is_ok())
        })
        .ns_goal(2_000.0)
        .variant("Query::collect, as many instances of one", || one_file.collect());
    Ok(comparison.run(rounds))
}
