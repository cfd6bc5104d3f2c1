//! Bench of one thread that updates a published counter.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Result;

use super::mmv::Mmv;
use super::{Place, Shared, Striped};
use crate::measure::{Comparison, Report};

/// Number of updates of the counter in a run.
const UPDATES: usize = 1_000;

/// Measures one update of a published counter, for each way to count.
pub fn report(rounds: usize) -> Result<Report> {
    let place = Place::new()?;
    let publisher = place.publisher()?;
    let (shared, striped) = (publisher.instance::<Shared>("a"), publisher.instance::<Striped>("a"));
    let (own, by_stripes, by_all) = (striped.a.mine(), &striped.b, &shared.a);
    let of_prometheus = prometheus::IntCounter::new("a", "A")?;
    let of_client = prometheus_client::metrics::counter::Counter::<u64>::default();
    let of_metrics = metrics::Counter::from_arc(Arc::new(AtomicU64::new(0)));
    let mmv = Mmv::start(&place.0);
    let without = match &mmv {
        Ok(_) => String::new(),
        Err(why) => format!(". No PCP: {why:#}"),
    };
    let comparison = Comparison::new(format!("shm: an update of one thread{without}"), UPDATES)
        .per("update")
        .variant("prometheus IntCounter::inc", || repeat(|| of_prometheus.inc()))
        .reference("IntCounter")
        .variant("prometheus-client Counter::inc", || repeat(|| _ = of_client.inc()))
        .variant("metrics Counter::increment", || repeat(|| of_metrics.increment(1)))
        .variant("Mine::increment, this thread's row", || repeat(|| own.increment()))
        .goal("IntCounter", 0.5)
        .variant("Counter64::increment, stripes", || repeat(move || by_stripes.increment()))
        .variant("Counter64::increment, no stripes", || repeat(move || by_all.increment()))
        .goal("IntCounter", 1.1)
        .variant("the same, found through its Instance", || repeat(|| shared.b.increment()));
    let comparison = match &mmv {
        Ok(mmv) => comparison.variant("PCP mmv_inc (one thread only)", || repeat(|| mmv.increment())),
        Err(_) => comparison,
    };
    Ok(comparison.run(rounds))
}

#[inline]
fn repeat(update: impl Fn()) -> u64 {
    let update = black_box(update);
    for _ in 0..UPDATES {
        update();
    }
    UPDATES as u64
}
