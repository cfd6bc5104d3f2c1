//! Bench of collecting all published instances of a program into a block.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;

use anyhow::{Result, ensure};
use perfset_core::Guid;
use perfset_engine::{Entry, Query, Snapshot};
use perfset_shm::publish::{PublishedInstance, Publisher};
use prometheus::{Encoder, IntCounterVec, Opts, TextEncoder};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use super::{COUNTERS, Place, Shared, Striped, Ten};
use crate::blocks::Copy;
use crate::collect::{values, warm};
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

const SMALL: usize = 10_000;
const MIDDLE: usize = 100_000;
const LARGE: usize = 1_000_000;

/// Number of rows that each instance of [`Striped`] has.
const STRIPES: usize = 4;

/// Measures snapshots of published instances of several sizes without and with stripes, then beside text outputs.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    for (instances, goal) in [(SMALL, None), (MIDDLE, Some(1.5)), (LARGE, Some(2.2))] {
        out(&report::<Shared>(instances, goal, rounds)?)?;
    }
    for instances in [SMALL, MIDDLE] {
        out(&report::<Striped>(instances, None, rounds)?)?;
    }
    out(&text_report(SMALL, rounds)?)?;
    out(&text_report(MIDDLE, rounds.min(5))?)
}

fn report<T: Ten>(instances: usize, goal: Option<f64>, rounds: usize) -> Result<Report> {
    let mut published = Published::<T>::new(instances)?;
    let block = published.snapshot.block();
    let title = format!(
        "shm: {} of {instances} instances x {COUNTERS} counters, {} bytes",
        T::definition().counterset().name,
        block.len()
    );
    let (mut copy, source) = (Copy::of(block), block.to_vec());
    let comparison = Comparison::new(title, instances * COUNTERS)
        .variant("memcpy of the block", move || copy.copy(&source))
        .reference("memcpy")
        .variant("Query::collect", || published.collect())
        .goal("memcpy", goal);
    Ok(comparison.run(rounds))
}

/// Measures a snapshot of published instances beside the text of the same values, as other crates write it.
fn text_report(instances: usize, rounds: usize) -> Result<Report> {
    type Labels = [(&'static str, String); 1];
    let mut published = Published::<Shared>::new(instances)?;
    let of_prometheus = prometheus::Registry::new();
    let mut of_client = prometheus_client::registry::Registry::default();
    for counter in 0..COUNTERS {
        let name = format!("counter{counter}");
        let all = IntCounterVec::new(Opts::new(&name, "Help"), &["instance"])?;
        let family = Family::<Labels, Counter>::default();
        for row in 0..instances {
            let value = value(row, counter);
            all.with_label_values(&[&self::name(row)]).inc_by(value);
            family.get_or_create(&[("instance", self::name(row))]).inc_by(value);
        }
        of_prometheus.register(Box::new(all))?;
        of_client.register(name, "Help", family);
    }
    let title = format!("shm: {instances} instances x {COUNTERS} counters, beside text");
    let (mut bytes, mut line) = (Vec::new(), String::new());
    let comparison = Comparison::new(title, instances * COUNTERS)
        .variant("prometheus: gather, TextEncoder", || {
            bytes.clear();
            let encoded = TextEncoder::new().encode(&of_prometheus.gather(), &mut bytes);
            u64::from(encoded.is_ok()) + black_box(&bytes).len() as u64
        })
        .variant("prometheus-client: text::encode", || {
            line.clear();
            let encoded = text::encode(&mut line, &of_client);
            u64::from(encoded.is_ok()) + black_box(&line).len() as u64
        })
        .reference("prometheus-client")
        .variant("Query::collect", || published.collect())
        .goal("prometheus-client", 0.033);
    Ok(comparison.run(rounds))
}

/// Published instances of a program in a bench, and the query that collects them.
pub struct Published<T: Ten> {
    query: Query,
    snapshot: Snapshot,
    _instances: Vec<PublishedInstance<T>>,
    _publisher: Publisher,
    _place: Place,
}

impl<T: Ten> Published<T> {
    /// Publishes that many instances with different values, which several threads update together.
    pub fn new(instances: usize) -> Result<Self> {
        let place = Place::new()?;
        let publisher = place.publisher()?;
        let all: Vec<PublishedInstance<T>> =
            (0..instances).map(|row| publisher.instance(&name(row))).collect();
        let at_once = Barrier::new(STRIPES);
        thread::scope(|scope| {
            for part in 0..STRIPES {
                let (all, at_once) = (&all, &at_once);
                scope.spawn(move || {
                    all.first().into_iter().for_each(|one| one.counters()[0].add(0)); // takes a row
                    at_once.wait();
                    for (row, one) in all.iter().enumerate() {
                        for (counter, cell) in one.counters().into_iter().enumerate() {
                            let share = value(row, counter) / STRIPES as u64;
                            let rest = value(row, counter) % STRIPES as u64;
                            cell.add(if part == 0 { share + rest } else { share });
                        }
                    }
                });
            }
        });
        let query = query(&place, T::definition().counterset().guid)?;
        let mut this = Self {
            query,
            snapshot: Snapshot::default(),
            _instances: all,
            _publisher: publisher,
            _place: place,
        };
        this.query.collect(&mut this.snapshot)?;
        let found = values(this.snapshot.block())?;
        let counters = |row: usize| (0..COUNTERS).map(move |counter| value(row, counter));
        let sum: u64 = (0..instances).flat_map(counters).sum();
        ensure!(
            (found.count, found.sum) == (instances * COUNTERS, sum),
            "{found:?} is read, but {} values, {sum} together, were published",
            instances * COUNTERS
        );
        Ok(this)
    }

    /// Collects all published instances once more.
    pub fn collect(&mut self) -> u64 {
        u64::from(self.query.collect(black_box(&mut self.snapshot)).is_ok())
    }
}

/// Returns a query of all published instances of a counterset, collected until all files are open.
pub fn query(place: &Place, guid: Guid) -> Result<Query> {
    let mut query = place.machine().query();
    warm(&mut query, [Entry::all(guid).instance("*")])?;
    Ok(query)
}

/// Returns the name of the published instance with a number.
pub fn name(row: usize) -> String {
    format!("inst{row:06}")
}

fn value(row: usize, counter: usize) -> u64 {
    (row * 100 + counter) as u64
}
