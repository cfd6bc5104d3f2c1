//! Tests that the Rust code of `perfset manifest generate --rust` compiles, and declares what its manifest says.

#![cfg(all(target_os = "linux", feature = "derive"))]

use perfset::manifest::Manifest;
use perfset::publish::Counterset as _;
use perfset::{Attributes, Counter, CounterId, Counterset};

/// Generated code of the test manifest `waves.man`, included as a program would include it. `crates/manifest` tests
/// that these are what is generated now.
#[rustfmt::skip]
#[allow(dead_code, reason = "nobody counts here")]
#[path = "../../../../testdata/manifests/waves.rs"]
mod waves;
#[rustfmt::skip]
#[allow(dead_code, reason = "nobody counts here")]
#[path = "../../../../testdata/manifests/orders.rs"]
mod orders;

/// Returns all properties of a counter that generated code can declare, as text.
fn said(counter: &Counter) -> String {
    let Counter { id, name, help, counter_type, attributes, detail, default_scale, aggregate, .. } = counter;
    let Counter { base, perf_time, perf_freq, multi, .. } = counter;
    // A help is a comment of the field, whose lines are one; the base that a field brings has no words of its own.
    let words = (name, help.split_whitespace().collect::<Vec<_>>());
    let words = (!attributes.contains(Attributes::NO_DISPLAYABLE)).then_some(words);
    let shown = (words, counter_type, attributes, detail, default_scale, aggregate);
    format!("{id:?} {shown:?} {:?}", (base, perf_time, perf_freq, multi))
}

#[test]
fn generated_code_declares_what_the_manifest_says() {
    let waves = include_bytes!("../../../../testdata/manifests/waves.man");
    let orders = include_bytes!("../../../../testdata/manifests/orders.man");
    let sets = |manifest: &[u8]| Manifest::parse(manifest).unwrap().countersets();
    let manifests = [sets(waves), sets(orders)].concat();
    // A text and what is set by reference have no field.
    let none: &[u32] = &[];
    let declared: [(&Counterset, &[u32]); 3] = [
        (waves::Waves::definition().counterset(), none),
        (waves::Gate::definition().counterset(), none),
        (orders::ShopOrders::definition().counterset(), &[9, 10]),
    ];
    assert_eq!(manifests.len(), declared.len());
    for (set, (declared, left_out)) in manifests.iter().zip(declared) {
        let head = |set: &Counterset| (set.guid, set.name.clone(), set.help.clone(), set.instance_type);
        assert_eq!(head(declared), head(set));
        assert_eq!(
            (declared.provider.guid, &declared.provider.name),
            (set.provider.guid, &set.provider.name)
        );
        let is_there = |counter: &&Counter| !left_out.iter().any(|id| counter.id == CounterId(*id));
        let mut want: Vec<_> = set.counters.iter().filter(is_there).map(said).collect();
        let mut found: Vec<_> = declared.counters.iter().map(said).collect();
        want.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, want, "{}", set.name);
    }
}
