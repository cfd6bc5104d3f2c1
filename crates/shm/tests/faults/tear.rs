//! Tests that values that change continually are read as whole words.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::{StopAtEnd, own_user, share};
use crate::publish::{Gauge, PublishedInstance};
use crate::tests::{Place, query, raw};
use perfset_derive::Counterset;

/// Counterset whose values lie side by side: copies tear the last value of a piece, wherever that is.
#[derive(Counterset, Debug)]
#[counterset(crate = crate, provider = "Test", name = "Test Torn", instances = "multiple")]
pub struct Torn {
    #[counter(name = "1")]
    a: Gauge,
    #[counter(name = "2")]
    b: Gauge,
    #[counter(name = "3")]
    c: Gauge,
    #[counter(name = "4")]
    d: Gauge,
    #[counter(name = "5")]
    e: Gauge,
    #[counter(name = "6")]
    f: Gauge,
    #[counter(name = "7")]
    g: Gauge,
    #[counter(name = "8")]
    h: Gauge,
}

/// Checks that each value read was stored before: a thread stores 0, `STEP`, 2 `STEP` … (`steps` numbers) into all
/// values. Returns how many values were read, and how many could not be.
fn check<const STEP: u64>(test: &str, is_copied: bool, steps: u64, time: Duration) -> (u64, u64) {
    const INSTANCES: usize = 64;
    let place = Place::new(test);
    let publisher = place.publisher();
    let all: Vec<PublishedInstance<Torn>> =
        (0..INSTANCES).map(|n| publisher.instance(&n.to_string())).collect();
    let mut prefix = String::new();
    if is_copied {
        share(&publisher.path().unwrap());
        prefix = own_user();
    }
    let machine = place.machine();
    let mut query = query(&machine, Torn::GUID);
    let gauges: Vec<&Gauge> = all.iter().map(|instance| &**instance).flat_map(all_of).collect();
    let stop = AtomicBool::new(false);
    let (mut read, mut missing) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut step = 0_u64;
            while !stop.load(Relaxed) {
                step = (step + 1).min(steps);
                let value = step.wrapping_mul(STEP);
                for gauge in &gauges {
                    gauge.set(value);
                }
            }
        });
        let _stopping = StopAtEnd(&stop);
        let start = Instant::now();
        while start.elapsed() < time {
            let rows = raw(&mut query);
            assert_eq!(rows.len(), INSTANCES * 8);
            for (name, counter, value) in rows {
                let Some(value) = value else {
                    missing += 1;
                    continue;
                };
                assert!(name.starts_with(&prefix), "{name}");
                let step = value.wrapping_mul(inverse(STEP));
                assert!(step <= steps, "{value:#x} of {name}, {counter} was never there");
                read += 1;
            }
        }
    });
    (read, missing)
}

pub fn all_of(Torn { a, b, c, d, e, f, g, h }: &Torn) -> [&Gauge; 8] {
    [a, b, c, d, e, f, g, h]
}

/// Returns the multiplicative inverse of an odd number modulo 2^64.
pub const fn inverse(of: u64) -> u64 {
    let mut inverse = of; // right in the lowest 3 bits; each round doubles that
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(of.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

/// Checks reads of a mapped publisher's file while a thread adds steps at which all bytes of a value change.
#[test]
fn nothing_is_torn_where_the_file_is_mapped() {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    assert_eq!(STEP.wrapping_mul(inverse(STEP)), 1);
    let (read, missing) = check::<STEP>("torn-mapped", false, 1 << 40, Duration::from_millis(1_500));
    assert!(read > 10_000 && missing == 0, "{read} read, {missing} missing");
}

/// Checks reads of a copied publisher's file while a thread adds steps at which all bytes of a value change and the
/// value only grows.
#[test]
fn growing_value_is_not_torn_in_copied_file() {
    const STEPS: u64 = 1 << 18;
    const STEP: u64 = (u64::MAX / STEPS) | 1;
    let (read, missing) = check::<STEP>("torn-copied", true, STEPS - 1, Duration::from_millis(1_500));
    assert!(read > 10_000 && missing < read, "{read} read, {missing} missing");
}
