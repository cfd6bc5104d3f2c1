//! Bench of published instances that begin and end.

use std::cell::RefCell;

use anyhow::Result;
use perfset_shm::publish::{PublishedInstance, Publisher};

use super::snapshot::name;
use super::{Place, Shared, Striped, Ten};
use crate::measure::{Comparison, Report};

/// Number of published instances in a run.
const INSTANCES: usize = 10_000;

/// Measures the start and the end of published instances.
pub fn report(rounds: usize) -> Result<Report> {
    const NS: f64 = 2_000.0;
    let place = Place::new()?;
    let names: Vec<String> = (0..INSTANCES).map(name).collect();
    let (new, shared, striped) =
        (RefCell::new(None), Program::<Shared>::new(&place)?, Program::<Striped>::new(&place)?);
    let comparison = Comparison::new("shm: instances that come and go".to_owned(), INSTANCES)
        .per("instance")
        .variant("made, of a file that has room", || shared.make(&names))
        .before(|| _ = shared.end())
        .ns_goal(NS)
        .variant("made, with stripes", || striped.make(&names))
        .before(|| _ = striped.end())
        .ns_goal(NS)
        .variant("made, of a file that grows for them", || {
            new.borrow().as_ref().map_or(0, |program: &Program<Shared>| program.make(&names))
        })
        .before(|| drop(new.replace(Program::new(&place).ok())))
        .ns_goal(NS)
        .variant("ended", || shared.end())
        .before(|| _ = shared.make(&names))
        .ns_goal(NS);
    Ok(comparison.run(rounds))
}

/// Publishing program whose instances begin and end in large numbers.
struct Program<T: Ten> {
    publisher: Publisher,
    all: RefCell<Vec<PublishedInstance<T>>>,
}

impl<T: Ten> Program<T> {
    fn new(place: &Place) -> Result<Self> {
        Ok(Self { publisher: place.publisher()?, all: RefCell::default() })
    }

    fn make(&self, names: &[String]) -> u64 {
        let mut all = self.all.borrow_mut();
        all.extend(names.iter().map(|name| self.publisher.instance(name)));
        all.len() as u64
    }

    fn end(&self) -> u64 {
        let mut all = self.all.borrow_mut();
        all.clear();
        all.len() as u64
    }
}
