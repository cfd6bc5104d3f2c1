//! Selects the greatest values of each counter of a path.

use std::borrow::Borrow;
use std::collections::HashMap;

use perfset_core::CounterId;

use super::query::PathValue;

/// Retains the `most` greatest values of each counter of a path, greatest first. Sums over other instances, and idle
/// instances, are removed if there are other instances.
pub fn keep_greatest<'a, V: Borrow<PathValue<'a>>>(
    values: &mut Vec<V>,
    most: usize,
    number: impl Fn(&PathValue<'a>) -> Option<f64>,
) {
    let number = |v: &V| number(v.borrow()).unwrap_or(f64::NEG_INFINITY);
    // The counters of a path keep their order.
    let mut groups: HashMap<(usize, CounterId), (usize, bool)> = HashMap::new();
    let group = |v: &V| (v.borrow().path, v.borrow().value.counter.id);
    for v in &*values {
        let next = groups.len();
        groups.entry(group(v)).or_insert((next, false)).1 |= !v.borrow().sums_up();
    }
    // Look up each value once, not in each comparison.
    let place = |v: V| {
        let (at, has_others) = groups.get(&group(&v)).copied().unwrap_or_default();
        (!v.borrow().sums_up() || !has_others).then(|| (at, number(&v), v))
    };
    let mut placed: Vec<_> = values.drain(..).filter_map(place).collect();
    placed.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut taken = (usize::MAX, 0_usize);
    values.extend(placed.into_iter().filter_map(|(at, _, v)| {
        taken = if taken.0 == at { (at, taken.1.saturating_add(1)) } else { (at, 1) };
        (taken.1 <= most).then_some(v)
    }));
}
